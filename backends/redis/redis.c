/* SPDX-License-Identifier: MIT */
/*
 * The store `redis:`: a command is one call of a script (lua/), a batch is one pipeline.
 *
 * A task is answered, or not sent for sure, or in doubt (sent, and the connection broke).
 * What was not sent, and what the server refused before the script wrote anything, is sent
 * again until the deadline.  What is in doubt is sent again only if that cannot have an
 * effect twice; else it is UNKNOWN.
 *
 * One connection, one thread at a time: the engine sees to it.
 */
#include "config.h"

#include "redis.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include <hiredis/hiredis.h>

#include "script.h"
#include "store.h"

enum progress { TO_SEND, DONE };

static void *resize(const struct usher_allocator *alloc, void *p, size_t old, size_t size)
{
    return p == NULL && size == 0 ? NULL : alloc->resize(alloc->payload, p, old, size);
}

static enum usher_status say(char message[192], enum usher_status status, const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 3, 4)))
#endif
    ;

#include <stdarg.h>
static enum usher_status say(char message[192], enum usher_status status, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(message, 192, format, ap);
    va_end(ap);
    return status;
}

static uint64_t next_random(struct usher__redis *r)
{
    uint64_t z = (r->random += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

bool usher__redis_pause(struct usher__redis *r, unsigned tries, int64_t deadline_ms)
{
    int64_t left = deadline_ms - usher__redis_clock_ms();
    int64_t longest = tries < 6 ? INT64_C(1) << tries : 64;
    int64_t wait = 1 + (int64_t)(next_random(r) % (uint64_t)longest);

    if (left <= wait + 5) /* what is sent without time for its answer ends in doubt */
        return false;
    (void)poll(NULL, 0, (int)wait);
    return true;
}

size_t usher__redis_key(const struct usher__redis *r, const struct usher_text *scope,
                        const char *suffix, char key[USHER__REDIS_KEY_MAX])
{
    return (size_t)snprintf(key, USHER__REDIS_KEY_MAX, "%s{%.*s}:number%s", r->prefix,
                            (int)scope->size, scope->data, suffix);
}

/* ---- the connection ---------------------------------------------------------------- */

static void log_line(const struct usher__redis *r, enum usher_log_level level, const char *line)
{
    if (r->log != NULL)
        r->log(r->log_payload, level, line);
}

/* The value of a CONFIG GET, "" if it is not permitted or not known. */
static const char *config_value(const struct redisReply *reply)
{
    if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
        reply->element[1]->type == REDIS_REPLY_STRING)
        return reply->element[1]->str;
    return "";
}

/* Say once how durable the server is. */
static void describe(struct usher__redis *r, const char *appendonly, const char *fsync,
                     const char *policy)
{
    if (r->looked)
        return;
    r->looked = true;
    if (policy[0] != '\0' && strcmp(policy, "noeviction") != 0)
        log_line(r, USHER_LOG_WARNING,
                 "redis: maxmemory-policy is not noeviction: pools may vanish");
    if (strcmp(appendonly, "no") == 0)
        log_line(r, USHER_LOG_WARNING, "redis: appendonly is off: a restart loses commands");
    else if (strcmp(fsync, "everysec") == 0)
        log_line(r, USHER_LOG_INFO, "redis: appendfsync everysec: a power cut loses a second");
    else if (strcmp(fsync, "always") == 0)
        log_line(r, USHER_LOG_INFO, "redis: appendfsync always: answers are on disk");
}

static void ask_config(struct usher__redis *r, const char *name)
{
    usher__redis_conn_begin(r->conn, 3);
    usher__redis_conn_arg_str(r->conn, "CONFIG");
    usher__redis_conn_arg_str(r->conn, "GET");
    usher__redis_conn_arg_str(r->conn, name);
}

static bool sha_from(struct usher__redis *r, const struct redisReply *reply)
{
    if (reply->type != REDIS_REPLY_STRING || reply->len != 40)
        return false;
    for (size_t i = 0; i < 40; i++)
        if (strchr("0123456789abcdef", reply->str[i]) == NULL)
            return false;
    memcpy(r->sha, reply->str, 41);
    return true;
}

/* Load the script, and look at the server's settings the first time. */
static enum usher_status load_script(struct usher__redis *r, int64_t deadline_ms)
{
    char values[3][16] = { "", "", "" };
    size_t n = r->looked ? 1 : 4;
    enum usher_status status;

    usher__redis_conn_begin(r->conn, 3);
    usher__redis_conn_arg_str(r->conn, "SCRIPT");
    usher__redis_conn_arg_str(r->conn, "LOAD");
    usher__redis_conn_arg(r->conn, r->script, r->script_size);
    if (n > 1) {
        ask_config(r, "appendonly");
        ask_config(r, "appendfsync");
        ask_config(r, "maxmemory-policy");
    }
    status = usher__redis_conn_flush(r->conn);
    for (size_t i = 0; i < n && status == USHER_OK; i++) {
        struct redisReply *reply;

        status = usher__redis_conn_read(r->conn, deadline_ms, &reply);
        if (status != USHER_OK)
            break;
        if (i > 0)
            (void)snprintf(values[i - 1], sizeof values[0], "%.15s", config_value(reply));
        else if (!sha_from(r, reply)) {
            (void)usher__redis_conn_explain(r->conn, reply);
            status = USHER_UNAVAILABLE;
        }
        freeReplyObject(reply);
    }
    if (status == USHER_UNKNOWN)
        status = USHER_UNAVAILABLE; /* of the pools nothing was touched */
    if (status != USHER_OK) {
        r->sha[0] = '\0';
        usher__redis_conn_discard(r->conn);
        return status;
    }
    if (n > 1)
        describe(r, values[0], values[1], values[2]);
    return USHER_OK;
}

enum usher_status usher__redis_ready(struct usher__redis *r, int64_t deadline_ms)
{
    if (!usher__redis_conn_is_connected(r->conn)) {
        enum usher_status status = usher__redis_conn_connect(r->conn, deadline_ms);

        if (status != USHER_OK)
            return status;
        r->sha[0] = '\0'; /* another server, perhaps */
    }
    return r->sha[0] != '\0' ? USHER_OK : load_script(r, deadline_ms);
}

/* ---- a command as words ------------------------------------------------------------ */

/* Counts the words, or writes them. */
struct words {
    struct usher__redis_conn *conn; /* NULL: only count */
    size_t n;
};

static void word(struct words *w, const void *data, size_t size)
{
    w->n++;
    if (w->conn != NULL)
        usher__redis_conn_arg(w->conn, data, size);
}

static void pair_text(struct words *w, const char *key, const struct usher_text *text)
{
    if (text->data == NULL)
        return;
    word(w, key, strlen(key));
    word(w, text->data, text->size);
}

static void pair_int(struct words *w, const char *key, bool given, int64_t value)
{
    char digits[24];
    int n;

    if (!given)
        return;
    n = snprintf(digits, sizeof digits, "%" PRId64, value);
    word(w, key, strlen(key));
    word(w, digits, (size_t)n);
}

static void pairs(struct words *w, const struct usher_command *c,
                  const struct usher_context *context, uint64_t epoch)
{
    const struct usher_number_args *a = &c->arg.number;
    const char *name = usher_verb_word(c->verb);

    word(w, name, strlen(name));
    word(w, a->number.data != NULL ? a->number.data : "", a->number.size);
    if ((c->given & USHER_GIVEN_NOW) != 0)
        pair_int(w, "now", true, c->now_ms);
    else
        pair_int(w, "now", context->now_ms != 0, context->now_ms);
    pair_text(w, "req", &c->request);
    pair_text(w, "owner", &a->owner);
    pair_text(w, "group", &a->group);
    pair_text(w, "sticky", &a->sticky);
    pair_text(w, "after", &a->after);
    if ((c->given & USHER_GIVEN_TOKEN) != 0) {
        char digits[24];
        int n = snprintf(digits, sizeof digits, "%" PRIu64, a->token);

        word(w, "token", 5);
        word(w, digits, (size_t)n);
    }
    pair_int(w, "lease", (c->given & USHER_GIVEN_LEASE) != 0, a->lease_ms);
    pair_int(w, "rest", (c->given & USHER_GIVEN_REST) != 0, a->rest_ms);
    pair_int(w, "state", (c->given & USHER_GIVEN_STATE) != 0, a->state);
    pair_int(w, "max", (c->given & USHER_GIVEN_MAX) != 0, a->max);
    pair_int(w, "order", (c->given & USHER_GIVEN_ORDER) != 0, a->order);
    pair_int(w, "daily", (c->given & USHER_GIVEN_DAILY) != 0, a->daily);
    pair_int(w, "zone", (c->given & USHER_GIVEN_ZONE) != 0, a->zone_min);
    pair_int(w, "strict", (c->given & USHER_GIVEN_STRICT) != 0, a->strict);
    pair_int(w, "sticky-ms", (c->given & USHER_GIVEN_STICKY_MS) != 0, a->sticky_ms);
    pair_int(w, "sticky-max", (c->given & USHER_GIVEN_STICKY_MAX) != 0, a->sticky_max);
    pair_int(w, "requests", (c->given & USHER_GIVEN_REQUESTS) != 0, a->requests);
    if (epoch != 0) {
        char digits[17];

        (void)snprintf(digits, sizeof digits, "%016" PRIx64, epoch);
        word(w, "epoch", 5);
        word(w, digits, 16);
    }
    if (context->notify != NULL) {
        word(w, "watch", 5);
        word(w, "1", 1);
    }
}

static void append_command(struct usher__redis *r, const struct usher_command *c,
                           const struct usher_context *context)
{
    struct words count = { NULL, 0 }, write = { r->conn, 0 };
    char key[USHER__REDIS_KEY_MAX];
    size_t size;
    /* verbs that may bring the pool into being bring its epoch along */
    uint64_t epoch =
        c->verb == USHER_NUMBER_ADD || c->verb == USHER_NUMBER_SET ? next_random(r) | 1 : 0;

    pairs(&count, c, context, epoch);
    usher__redis_conn_begin(r->conn, 5 + count.n);
    usher__redis_conn_arg(r->conn, "EVALSHA", 7);
    usher__redis_conn_arg(r->conn, r->sha, 40);
    usher__redis_conn_arg(r->conn, "2", 1);
    size = usher__redis_key(r, &c->scope, "", key);
    usher__redis_conn_arg(r->conn, key, size);
    size = usher__redis_key(r, &c->scope, ":index", key);
    usher__redis_conn_arg(r->conn, key, size);
    pairs(&write, c, context, epoch);
}

/* ---- execute ----------------------------------------------------------------------- */

static void fail(struct usher_task *task, enum progress *progress, enum usher_status status,
                 const char *why)
{
    usher_reply_fail(task->reply, status, why);
    *progress = DONE;
}

/* One batch as it is being worked on. */
struct batch {
    struct usher_task *tasks;
    enum progress *progress;
    bool *doubt; /* sent and not answered, some time */
    size_t n, left;
    const struct usher_context *context;
};

/* The server's answer to task @i, which may be that it is to be sent again. */
static void answered(struct usher__redis *r, struct batch *b, size_t i,
                     const struct redisReply *reply)
{
    struct usher_task *task = &b->tasks[i];

    switch (usher__redis_classify(reply)) {
    case USHER__REDIS_OK:
        if (!usher__redis_answer(task->command, reply, task->reply, b->context))
            fail(task, &b->progress[i], USHER_UNKNOWN, "redis: the answer is not understood");
        b->progress[i] = DONE;
        break;
    case USHER__REDIS_NOSCRIPT:
        r->sha[0] = '\0';
        break;
    case USHER__REDIS_RETRY:
        (void)usher__redis_conn_explain(r->conn, reply);
        break;
    case USHER__REDIS_SCRIPT_ERROR:
        fail(task, &b->progress[i], USHER_UNKNOWN, usher__redis_conn_explain(r->conn, reply));
        break;
    case USHER__REDIS_MOVED:
    case USHER__REDIS_ASK:
        fail(task, &b->progress[i], USHER_UNAVAILABLE,
             "redis: the server is a node of a cluster, which needs a later version");
        break;
    default: { /* refused: some of it may pass */
        const char *why = usher__redis_conn_explain(r->conn, reply);

        if (strncmp(reply->str, "READONLY", 8) != 0 && strncmp(reply->str, "OOM", 3) != 0 &&
            strncmp(reply->str, "MISCONF", 7) != 0)
            fail(task, &b->progress[i], USHER_UNAVAILABLE, why);
        break;
    }
    }
    b->left -= b->progress[i] == DONE;
}

static bool same_scope(const struct usher_command *a, const struct usher_command *b)
{
    return a->scope.size == b->scope.size &&
           memcmp(a->scope.data, b->scope.data, a->scope.size) == 0;
}

static bool reads(const struct usher_command *c)
{
    return c->verb == USHER_NUMBER_SHOW || c->verb == USHER_NUMBER_LIST ||
           c->verb == USHER_NUMBER_STATS;
}

/*
 * Order on a scope is kept: what the server refused is not sent again when a command behind
 * it on the same scope has been answered, or may have been applied; it was not applied
 * itself, and is answered so.
 */
static void keep_order(struct batch *b)
{
    for (size_t i = 0; i < b->n && b->left > 0; i++) {
        bool passed = false;

        if (b->progress[i] != TO_SEND || b->doubt[i])
            continue;
        for (size_t k = i + 1; k < b->n && !passed; k++)
            passed = (b->doubt[k] ||
                      (b->progress[k] == DONE && b->tasks[k].reply->status <= USHER_STALE)) &&
                     same_scope(b->tasks[i].command, b->tasks[k].command);
        if (passed) {
            fail(&b->tasks[i], &b->progress[i], USHER_UNAVAILABLE,
                 "redis: refused, while a later command on the pool was not");
            b->left--;
        }
    }
}

/*
 * May task @i be sent again though it may have been applied?  Not if another command on its
 * scope was under way with it that is not of the same kind: the repeat of the first comes
 * after the effect of the second, and a second with a request id is not applied again.
 */
static bool repeatable(const struct batch *b, size_t i)
{
    const struct usher_command *c = b->tasks[i].command;
    bool alike = c->verb == USHER_NUMBER_ADD || c->verb == USHER_NUMBER_DEL ||
                 c->verb == USHER_NUMBER_REG || c->verb == USHER_NUMBER_UNREG ||
                 c->verb == USHER_NUMBER_CALL;

    if (!usher_command_repeatable(c))
        return false;
    for (size_t k = 0; k < b->n && !reads(c); k++) {
        const struct usher_command *other = b->tasks[k].command;

        if (k != i && !reads(other) && same_scope(c, other) && !(alike && other->verb == c->verb))
            return false;
    }
    return true;
}

/* Send what is to be sent in one pipeline and read the answers. */
static enum usher_status round_trip(struct usher__redis *r, struct batch *b)
{
    enum usher_status status;
    size_t sent = 0;

    for (size_t i = 0; i < b->n; i++)
        if (b->progress[i] == TO_SEND)
            append_command(r, b->tasks[i].command, b->context);
    status = usher__redis_conn_flush(r->conn);
    if (status != USHER_OK)
        return status;
    for (size_t i = 0; i < b->n; i++) {
        struct redisReply *reply;

        if (b->progress[i] != TO_SEND)
            continue;
        if (status == USHER_OK) {
            status = usher__redis_conn_read(r->conn, b->context->deadline_ms, &reply);
            if (status == USHER_OK) {
                answered(r, b, i, reply);
                freeReplyObject(reply);
            }
        }
        if (status != USHER_OK && sent < usher__redis_conn_unsent_from(r->conn)) {
            b->doubt[i] = true;
            if (!repeatable(b, i)) {
                fail(&b->tasks[i], &b->progress[i], USHER_UNKNOWN,
                     usher__redis_conn_message(r->conn));
                b->left--;
            }
        }
        sent++;
    }
    keep_order(b);
    return status;
}

/* Time is over for what was to be sent again. */
static void give_up(struct batch *b, enum usher_status status, const char *why)
{
    for (size_t i = 0; i < b->n; i++)
        if (b->progress[i] == TO_SEND)
            fail(&b->tasks[i], &b->progress[i],
                 b->doubt[i]             ? USHER_UNKNOWN
                 : status == USHER_NOMEM ? USHER_NOMEM
                                         : USHER_UNAVAILABLE,
                 why[0] != '\0' ? why : "redis: no answer before the deadline");
}

#define TASKS_MAX 512

static void execute_some(struct usher__redis *r, struct usher_task *tasks, size_t n,
                         const struct usher_context *context)
{
    enum progress progress[TASKS_MAX];
    bool doubt[TASKS_MAX];
    struct batch b = { tasks, progress, doubt, n, n, context };
    enum usher_status status = USHER_OK;
    char why[USHER__REDIS_MESSAGE_SIZE] = ""; /* what happened before time ran out */

    for (size_t i = 0; i < n; i++) {
        progress[i] = TO_SEND;
        doubt[i] = false;
    }
    for (unsigned tries = 0; b.left > 0; tries++) {
        status = usher__redis_ready(r, context->deadline_ms);
        if (status == USHER_OK) {
            bool loaded = r->sha[0] != '\0';
            size_t before = b.left;

            status = round_trip(r, &b);
            if (b.left == 0)
                break;
            /* the script was gone: load it and go on at once */
            if (status == USHER_OK && loaded && r->sha[0] == '\0' && tries < 8)
                continue;
            if (b.left < before)
                tries = 0;
        }
        if (why[0] == '\0' || usher__redis_clock_ms() < context->deadline_ms)
            (void)snprintf(why, sizeof why, "%s", usher__redis_conn_message(r->conn));
        if (status == USHER_NOMEM || status == USHER_INVALID ||
            !usher__redis_pause(r, tries, context->deadline_ms))
            break;
    }
    give_up(&b, status, why[0] != '\0' ? why : usher__redis_conn_message(r->conn));
}

static void execute(struct usher_store *s, struct usher_task *tasks, size_t n,
                    const struct usher_context *context)
{
    struct usher__redis *r = (struct usher__redis *)s;

    for (size_t from = 0; from < n; from += TASKS_MAX)
        execute_some(r, tasks + from, n - from < TASKS_MAX ? n - from : TASKS_MAX, context);
}

/* ---- open and close ---------------------------------------------------------------- */

static void close_redis(struct usher_store *s)
{
    struct usher__redis *r = (struct usher__redis *)s;

    if (r->conn != NULL)
        usher__redis_conn_close(r->conn);
    (void)resize(r->alloc, r->script, r->script_size + 1, 0);
    memset(r->password, 0, sizeof r->password);
    (void)resize(r->alloc, r, sizeof *r, 0);
}

static const struct usher_store_ops ops = {
    .size = sizeof(struct usher_store_ops),
    .name = "redis",
    .caps = USHER_CAP_DURABLE | USHER_CAP_SHARED,
    .execute = execute,
    .scan = usher__redis_scan,
    .close = close_redis, /* only the descriptor: the server is told nothing */
    .forget = close_redis,
};

static bool decimal(const char *text, size_t size, int64_t max, int64_t *ret)
{
    int64_t value = 0;

    if (size == 0 || size > 9)
        return false;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        value = value * 10 + (text[i] - '0');
    }
    *ret = value;
    return value <= max;
}

static bool part(const char *from, size_t size, char *to, size_t room)
{
    return usher_url_unescape(from, size, to, room) == USHER_OK;
}

/* [user[:password]@]host[:port]; IPv6 in brackets. */
static const char *authority(struct usher__redis *r, const char *text, size_t size,
                             struct usher__redis_conn_options *o)
{
    const char *at = NULL, *colon, *host = text, *end = text + size;
    int64_t port;

    for (const char *p = text; p < end; p++)
        if (*p == '@')
            at = p;
    if (at != NULL) {
        colon = memchr(text, ':', (size_t)(at - text));
        if (!part(text, (size_t)((colon != NULL ? colon : at) - text), r->user, sizeof r->user))
            return "user";
        if (colon != NULL &&
            !part(colon + 1, (size_t)(at - colon - 1), r->password, sizeof r->password))
            return "password";
        if (r->user[0] != '\0')
            o->user = r->user;
        if (colon != NULL)
            o->password = r->password;
        host = at + 1;
    }
    if (host < end && *host == '[') {
        const char *close = memchr(host, ']', (size_t)(end - host));

        if (close == NULL || close == host + 1 ||
            !part(host + 1, (size_t)(close - host - 1), r->host, sizeof r->host))
            return "host";
        colon = close + 1 < end ? close + 1 : NULL;
        if (colon != NULL && *colon != ':')
            return "host";
    } else {
        colon = memchr(host, ':', (size_t)(end - host));
        if (!part(host, (size_t)((colon != NULL ? colon : end) - host), r->host, sizeof r->host))
            return "host";
    }
    for (const char *p = r->host; *p != '\0'; p++)
        if ((unsigned char)*p <= 0x20 || *p == 0x7f)
            return "host";
    o->host = r->host[0] != '\0' ? r->host : "127.0.0.1";
    o->port = 6379;
    if (colon != NULL) {
        if (!decimal(colon + 1, (size_t)(end - colon - 1), 65535, &port) || port == 0)
            return "port";
        o->port = (uint16_t)port;
    }
    return NULL;
}

/* What in the URL is wrong, or NULL. */
static const char *parse(struct usher__redis *r, struct usher_url *url,
                         struct usher__redis_conn_options *o)
{
    const char *rest = url->rest, *slash, *fault;

    if (strncmp(rest, "//", 2) != 0)
        return "URL (no // after the scheme)";
    rest += 2;
    if (strcmp(url->scheme, "redis+unix") == 0) {
        if (!part(rest, strlen(rest), r->host, sizeof r->host) || r->host[0] != '/')
            return "path of the socket";
        o->unix_path = r->host;
    } else {
        slash = strchr(rest, '/');
        fault = authority(r, rest, slash != NULL ? (size_t)(slash - rest) : strlen(rest), o);
        if (fault != NULL)
            return fault;
        if (slash != NULL && slash[1] != '\0' &&
            !decimal(slash + 1, strlen(slash + 1), 1000000, &o->db))
            return "number of the database";
    }
    for (size_t i = 0; i < url->n_options; i++) {
        struct usher_url_option *option = &url->options[i];

        option->used = true;
        if (strcmp(option->key, "db") == 0) {
            if (o->db != 0 || !decimal(option->value, strlen(option->value), 1000000, &o->db))
                return "number of the database";
        } else if (strcmp(option->key, "prefix") == 0) {
            size_t size = strlen(option->value);

            for (const char *p = option->value; *p != '\0'; p++)
                if ((unsigned char)*p < 0x21 || *p == 0x7f || *p == '{' || *p == '}')
                    return "prefix";
            if (size > USHER__REDIS_PREFIX_MAX)
                return "prefix";
            memcpy(r->prefix, option->value, size + 1);
        } else if (strcmp(option->key, "name") == 0) {
            size_t size = strlen(option->value);

            for (const char *p = option->value; *p != '\0'; p++)
                if (*p < 0x21 || *p > 0x7e)
                    return "name";
            if (size == 0 || size >= sizeof r->client_name)
                return "name";
            memcpy(r->client_name, option->value, size + 1);
        } else if (strcmp(option->key, "timeout") != 0) {
            option->used = false;
        }
    }
    o->client_name = r->client_name;
    return NULL;
}

static enum usher_status make_script(struct usher__redis *r)
{
    size_t size;
    enum usher_status status = usher__redis_script("number", NULL, 0, &size);

    if (status != USHER_OK)
        return status;
    r->script = resize(r->alloc, NULL, 0, size + 1);
    if (r->script == NULL)
        return USHER_NOMEM;
    r->script_size = size;
    return usher__redis_script("number", r->script, size + 1, &size);
}

enum usher_status usher__redis_open(void *payload, struct usher_url *url,
                                    const struct usher_options *opt, int64_t deadline_ms,
                                    struct usher_store **ret_store, char message[192])
{
    struct usher__redis *r = resize(opt->alloc, NULL, 0, sizeof *r);
    const char *fault;
    enum usher_status status;

    (void)payload;
    if (r == NULL)
        return say(message, USHER_NOMEM, "redis: out of memory");
    memset(r, 0, sizeof *r);
    r->base.ops = &ops;
    r->alloc = opt->alloc;
    r->log = opt->log;
    r->log_payload = opt->payload;
    memcpy(r->client_name, "usher", 6);
    if (getrandom(&r->random, sizeof r->random, GRND_NONBLOCK) != (ssize_t)sizeof r->random)
        r->random = (uint64_t)usher__redis_clock_ms() ^ (uint64_t)(uintptr_t)r;
    fault = parse(r, url, &r->options);
    for (size_t i = 0; i < url->n_options && fault == NULL; i++) {
        if (!url->options[i].used) {
            say(message, USHER_INVALID, "redis: has no option `%.40s`", url->options[i].key);
            close_redis(&r->base);
            return USHER_INVALID;
        }
    }
    if (fault != NULL) {
        close_redis(&r->base);
        return say(message, USHER_INVALID, "redis: the %s in the URL is wrong", fault);
    }
    status = make_script(r);
    if (status == USHER_OK)
        status = usher__redis_conn_open(r->alloc, &r->options, &r->conn);
    if (status == USHER_OK) {
        status = usher__redis_ready(r, deadline_ms);
        if (status != USHER_OK)
            say(message, status, "%s", usher__redis_conn_message(r->conn));
    } else {
        say(message, status, "redis: %s", usher_status_text(status));
    }
    if (status != USHER_OK) {
        close_redis(&r->base);
        return status;
    }
    *ret_store = &r->base;
    return USHER_OK;
}
