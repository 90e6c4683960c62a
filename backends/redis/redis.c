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

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include <hiredis/hiredis.h>

#include "brief.h"
#include "clock.h"
#include "script.h"
#include "store.h"

enum progress { TO_SEND, DONE };

#define ROLE_MS 1000 /* how old may be what is known of the server: its role, which one it is */

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

static char *put(char *at, const char *data, size_t size)
{
    memcpy(at, data, size);
    return at + size;
}

size_t usher__redis_key(const struct usher__redis *r, enum usher_noun noun,
                        const struct usher_text *scope, const char *suffix,
                        char key[USHER__REDIS_KEY_MAX])
{
    const char *word = usher_noun_word(noun);
    char *at = put(key, r->prefix, strlen(r->prefix));

    *at++ = '{';
    at = put(at, scope->data, scope->size);
    *at++ = '}';
    *at++ = ':';
    at = put(at, word, strlen(word));
    at = put(at, suffix, strlen(suffix));
    return (size_t)(at - key);
}

/* ---- the connection ---------------------------------------------------------------- */

static void log_line(const struct usher__redis *r, enum usher_log_level level, const char *line)
{
    if (r->log != NULL)
        r->log(r->log_payload, level, line);
}

/* The value of @field in the text of an INFO, up to the end of the line; "" if there is none. */
static struct usher_text info_field(const struct redisReply *reply, const char *field)
{
    struct usher_text value = { "", 0 };
    size_t n = strlen(field);

    if (reply->type != REDIS_REPLY_STRING)
        return value;
    for (const char *at = reply->str; at != NULL; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (strncmp(at, field, n) == 0 && at[n] == ':') {
            value.data = at + n + 1;
            value.size = strcspn(value.data, "\r\n");
            break;
        }
    }
    return value;
}

static bool is(const struct usher_text *value, const char *word)
{
    return value->size == strlen(word) && memcmp(value->data, word, value->size) == 0;
}

/* Say how durable the server is: @persistence and @memory are sections of its INFO, @fsync the
 * answer to CONFIG GET, which managed services refuse. */
static void describe(const struct usher__redis *r, const struct redisReply *persistence,
                     const struct redisReply *memory, const struct redisReply *fsync)
{
    struct usher_text aof = info_field(persistence, "aof_enabled"),
                      policy = info_field(memory, "maxmemory_policy"), when = { "", 0 };

    if (fsync->type == REDIS_REPLY_ARRAY && fsync->elements == 2 &&
        fsync->element[1]->type == REDIS_REPLY_STRING) {
        when.data = fsync->element[1]->str;
        when.size = fsync->element[1]->len;
    }
    /* volatile-*: keys with a time to live, which ours have not */
    if (policy.size > 7 && memcmp(policy.data, "allkeys", 7) == 0)
        log_line(r, USHER_LOG_WARNING, "redis: maxmemory-policy is allkeys-*: scopes may vanish");
    if (is(&aof, "0"))
        log_line(r, USHER_LOG_WARNING, "redis: appendonly is off: a restart loses commands");
    else if (is(&when, "no"))
        log_line(r, USHER_LOG_INFO, "redis: appendfsync no: a power cut loses half a minute");
    else if (is(&when, "everysec"))
        log_line(r, USHER_LOG_INFO, "redis: appendfsync everysec: a power cut loses a second");
    else if (is(&when, "always"))
        log_line(r, USHER_LOG_INFO, "redis: appendfsync always: answers are on disk");
}

/* Send what has been begun and read the @n answers. */
static enum usher_status asked(struct usher__redis *r, int64_t deadline_ms,
                               struct redisReply **replies, size_t n)
{
    enum usher_status status = usher__redis_conn_flush(r->conn);
    size_t i = 0;

    for (; i < n && status == USHER_OK; i++)
        status = usher__redis_conn_read(r->conn, deadline_ms, &replies[i]);
    if (status == USHER_OK)
        return status;
    for (size_t k = 0; k + 1 < i; k++)
        freeReplyObject(replies[k]);
    return status;
}

static void ask(struct usher__redis *r, const char *command, const char *what)
{
    usher__redis_conn_begin(r->conn, 2);
    usher__redis_conn_arg_str(r->conn, command);
    usher__redis_conn_arg_str(r->conn, what);
}

static int64_t wall_us(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_REALTIME, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/* Of at most @size digits; -1: it is none. */
static int64_t natural(const struct redisReply *reply, size_t size)
{
    int64_t value = 0;

    if (reply->type != REDIS_REPLY_STRING || reply->len == 0 || reply->len > size)
        return -1;
    for (size_t i = 0; i < reply->len; i++) {
        if (reply->str[i] < '0' || reply->str[i] > '9')
            return -1;
        value = value * 10 + (reply->str[i] - '0');
    }
    return value;
}

/* The answer to TIME, which the scripts take theirs from, in microseconds; -1: it is none. */
static int64_t time_of(const struct redisReply *reply)
{
    int64_t s, us;

    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2)
        return -1;
    s = natural(reply->element[0], 12);
    us = natural(reply->element[1], 6);
    return s < 0 || us < 0 ? -1 : s * 1000000 + us;
}

/* The settings and the time of a master that was not asked before; what cannot be read is passed
 * over. */
static enum usher_status look(struct usher__redis *r, int64_t deadline_ms)
{
    struct redisReply *replies[4];
    enum usher_status status;
    int64_t sent, received, time;
    char line[USHER__REDIS_CLOCK_LINE];

    ask(r, "INFO", "persistence");
    ask(r, "INFO", "memory");
    usher__redis_conn_begin(r->conn, 3);
    usher__redis_conn_arg_str(r->conn, "CONFIG");
    usher__redis_conn_arg_str(r->conn, "GET");
    usher__redis_conn_arg_str(r->conn, "appendfsync");
    usher__redis_conn_begin(r->conn, 1);
    usher__redis_conn_arg_str(r->conn, "TIME");
    sent = wall_us();
    status = asked(r, deadline_ms, replies, 4);
    received = wall_us();
    if (status != USHER_OK)
        return status;
    describe(r, replies[0], replies[1], replies[2]);
    time = time_of(replies[3]);
    if (time >= 0 && usher__redis_clock_line(sent, received, time, line))
        log_line(r, USHER_LOG_WARNING, line);
    for (size_t i = 0; i < 4; i++)
        freeReplyObject(replies[i]);
    return USHER_OK;
}

/* The first 12 digits of a replication id, as the scripts make a number of them. */
static uint64_t server_of(const char *identity)
{
    char digits[13];

    (void)snprintf(digits, sizeof digits, "%.12s", identity);
    return strtoull(digits, NULL, 16);
}

/*
 * Is it a master, and which?  A replica answers reads with what was, and names and virtual
 * addresses lead elsewhere after a failover: so it is asked with each connection and again when
 * an answer is older than ROLE_MS.  Of a server that may not be asked it is not known.
 */
static enum usher_status ask_role(struct usher__redis *r, int64_t deadline_ms)
{
    struct redisReply *reply;
    struct usher_text role, identity;
    enum usher_status status;
    bool other;

    ask(r, "INFO", "replication");
    status = asked(r, deadline_ms, &reply, 1);
    if (status != USHER_OK)
        return status;
    role = info_field(reply, "role");
    if (role.size == 0 && r->tells && r->asked_ms == 0)
        log_line(
            r, USHER_LOG_WARNING,
            "redis: the server may not be asked for INFO: whether it is a master is not known");
    if (role.size > 0 && !is(&role, "master")) {
        struct usher_text host = info_field(reply, "master_host"),
                          port = info_field(reply, "master_port");
        char why[160];

        (void)snprintf(why, sizeof why, "the server is a replica of %.*s:%.*s",
                       host.size < 100 ? (int)host.size : 100, host.data,
                       port.size < 8 ? (int)port.size : 8, port.data);
        usher__redis_conn_refuse(r->conn, why);
        freeReplyObject(reply);
        return USHER_UNAVAILABLE;
    }
    identity = info_field(reply, "master_replid");
    other = r->tells && (r->asked_ms == 0 || identity.size != strlen(r->identity) ||
                         memcmp(identity.data, r->identity, identity.size) != 0);
    if (identity.size < sizeof r->identity) {
        memcpy(r->identity, identity.data, identity.size);
        r->identity[identity.size] = '\0';
        r->server = server_of(r->identity);
    }
    freeReplyObject(reply);
    r->asked_ms = usher__redis_clock_ms();
    return other ? look(r, deadline_ms) : USHER_OK;
}

enum usher_status usher__redis_ready(struct usher__redis *r, int64_t deadline_ms)
{
    unsigned demotions = r->demotions != NULL ? atomic_load(r->demotions) : 0;
    enum usher_status status = USHER_OK;
    bool fresh;

    if (demotions != r->demotions_seen)
        usher__redis_conn_discard(r->conn);
    r->demotions_seen = demotions;
    fresh = !usher__redis_conn_is_connected(r->conn);
    if (fresh) {
        status = usher__redis_conn_connect(r->conn, deadline_ms);
        for (size_t i = 0; i < USHER__REDIS_NOUNS; i++) {
            r->script[i].sha[0] = '\0'; /* another server, perhaps */
            r->script[i].may = USHER__REDIS_MAY_NOTHING;
        }
    }
    if (status == USHER_OK && (fresh || usher__redis_clock_ms() - r->asked_ms >= ROLE_MS))
        status = ask_role(r, deadline_ms);
    if (status == USHER_UNKNOWN)
        status = USHER_UNAVAILABLE; /* nothing was touched */
    if (status != USHER_OK)
        usher__redis_conn_discard(r->conn);
    return status;
}

/* ---- scripts ----------------------------------------------------------------------- */

static bool sha_from(struct usher__redis_script *script, const struct redisReply *reply)
{
    if (reply->type != REDIS_REPLY_STRING || reply->len != 40)
        return false;
    for (size_t i = 0; i < 40; i++)
        if (strchr("0123456789abcdef", reply->str[i]) == NULL)
            return false;
    memcpy(script->sha, reply->str, 41);
    return true;
}

static enum usher_status make_script(struct usher__redis *r, enum usher_noun noun)
{
    struct usher__redis_script *script = &r->script[noun];
    size_t size;
    enum usher_status status;

    if (script->text != NULL)
        return USHER_OK;
    status = usher__redis_script(usher_noun_word(noun), NULL, 0, &size);
    if (status != USHER_OK)
        return status;
    script->text = resize(r->alloc, NULL, 0, size + 1);
    if (script->text == NULL)
        return USHER_NOMEM;
    script->size = size;
    return usher__redis_script(usher_noun_word(noun), script->text, size + 1, &size);
}

static enum usher_noun noun_of(const struct usher_command *c)
{
    return (enum usher_noun)((unsigned)c->verb >> 8);
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
    /* Tasks on one scope that are sent as one call of its script: each names the next one,
     * and NONE ends the row.  first[k] begins the one that is sent as number k. */
    uint16_t *next, *first;
    size_t n, left, calls;
    const struct usher_context *context;
};

#define TASKS_MAX 512
#define NONE UINT16_MAX
/* What lua/rights.lua says where it lets nothing pass. */
#define LACKS "NOPERM the user lacks "
/* Commands in one call: the server does nothing else meanwhile. */
#ifdef USHER_HOSTILE
#define CALL_MAX 3
#else
#define CALL_MAX 64
#endif

/* The answer of the script to task @i; NULL: there is none for it. */
static void understood(struct batch *b, size_t i, const struct redisReply *reply)
{
    struct usher_task *task = &b->tasks[i];
    enum usher_status status = USHER_INVALID;

    if (reply != NULL && reply->type == REDIS_REPLY_STRING) {
        if (usher__redis_brief_answer(task->command, reply->str, reply->len, task->reply))
            status = USHER_OK;
        else
            status =
                usher_reply_unpack(task->command, reply->str, reply->len, task->reply, b->context);
    }
    b->progress[i] = DONE;
    if (status == USHER_OK)
        return;
    if (status == USHER_NOMEM && (usher_command_flags(task->command) & USHER_COMMAND_WRITES) == 0)
        usher_reply_fail(task->reply, status, "out of memory");
    else
        usher_reply_fail(task->reply, USHER_UNKNOWN, "redis: the answer is not understood");
}

/* Why the server refused a command on the scope of @c.  Of keys it does not say which. */
static const char *refused_because(struct usher__redis *r, const struct usher_command *c,
                                   const struct redisReply *reply)
{
    const char *noun = usher_noun_word(noun_of(c));
    char why[3 * (USHER__REDIS_PREFIX_MAX + 48)];

    if (strncmp(reply->str, "NOPERM ", 7) != 0 || strstr(reply->str, " access ") == NULL ||
        strstr(reply->str, " key") == NULL)
        return usher__redis_conn_explain(r->conn, reply);
    (void)snprintf(why, sizeof why,
                   "NOPERM the user needs the keys ~%s{*}:%s ~%s{*}:%s:index ~%s{*}:%s:held",
                   r->prefix, noun, r->prefix, noun, r->prefix, noun);
    usher__redis_conn_refuse(r->conn, why);
    return usher__redis_conn_message(r->conn);
}

/* The server's answer to the call of task @i alone or with others (@reply is then one of
 * several): which may be that it is to be sent again. */
static void answered(struct usher__redis *r, struct batch *b, size_t i,
                     const struct redisReply *reply, enum usher__redis_class class)
{
    struct usher_task *task = &b->tasks[i];

    switch (class) {
    case USHER__REDIS_OK:
        understood(b, i, reply);
        break;
    case USHER__REDIS_NOSCRIPT:
        r->script[noun_of(task->command)].sha[0] = '\0';
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
        const char *why = refused_because(r, task->command, reply);

        /* The master that it was is another one now: the connections go. */
        if (strncmp(reply->str, "READONLY", 8) == 0 && r->demotions != NULL)
            atomic_fetch_add(r->demotions, 1);
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
    return noun_of(a) == noun_of(b) && a->scope.size == b->scope.size &&
           memcmp(a->scope.data, b->scope.data, a->scope.size) == 0;
}

static bool reads(const struct usher_command *c)
{
    return (usher_command_flags(c) & USHER_COMMAND_WRITES) == 0;
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
    unsigned flags = usher_command_flags(c);
    bool alike = (flags & USHER_COMMAND_COMMUTES) != 0;

    if ((flags & USHER_COMMAND_REPEATABLE) == 0)
        return false;
    for (size_t k = 0; k < b->n && !reads(c); k++) {
        const struct usher_command *other = b->tasks[k].command;

        if (k != i && !reads(other) && same_scope(c, other) && !(alike && other->verb == c->verb))
            return false;
    }
    return true;
}

/* Put what is to be sent into rows of tasks on one scope. */
static void make_calls(struct batch *b)
{
    bool taken[TASKS_MAX] = { false };

    b->calls = 0;
    for (size_t i = 0; i < b->n; i++) {
        size_t last = i, size = 1;

        if (b->progress[i] != TO_SEND || taken[i])
            continue;
        b->first[b->calls++] = (uint16_t)i;
        for (size_t k = i + 1; k < b->n && k <= i + CALL_MAX && size < CALL_MAX; k++) {
            if (b->progress[k] != TO_SEND || taken[k] ||
                !same_scope(b->tasks[i].command, b->tasks[k].command))
                continue;
            taken[k] = true;
            b->next[last] = (uint16_t)k;
            last = k;
            size++;
        }
        b->next[last] = NONE;
    }
}

static size_t call_size(const struct batch *b, size_t call)
{
    size_t size = 0;

    for (uint16_t i = b->first[call]; i != NONE; i = b->next[i])
        size++;
    return size;
}

/* Room for @size bytes more behind what is packed. */
static bool packed_room(struct usher__redis *r, size_t size)
{
    size_t all = r->packed_n + size;
    unsigned char *more;

    if (all <= r->packed_size)
        return true;
    all += all / 2 + 512;
    more = resize(r->alloc, r->packed, r->packed_size, all);
    if (more == NULL)
        return false;
    r->packed = more;
    r->packed_size = all;
    return true;
}

/* Put @c behind the others: how many values it has, and they.  *@values grows by both. */
static bool pack_command(struct usher__redis *r, const struct usher_command *c,
                         const struct usher_context *context, unsigned *values)
{
    /* verbs that may bring the scope into being bring its epoch along */
    uint64_t epoch = (usher_command_flags(c) & USHER_COMMAND_CREATES) != 0 ? next_random(r) | 1 : 0;
    bool watched = context->notify != NULL;
    unsigned char *at;
    size_t size = usher_command_pack(c, context->now_ms, epoch, watched, NULL, 0);

    if (!packed_room(r, size))
        return false;
    at = r->packed + r->packed_n;
    r->packed_n += usher_command_pack(c, context->now_ms, epoch, watched, at, size);
    /* an array becomes a number, which has as many bytes */
    if (at[0] == 0xdc) {
        at[0] = 0xcd;
        *values += 1u + ((unsigned)at[1] << 8 | at[2]);
    } else {
        at[0] &= 0x0f;
        *values += 1u + at[0];
    }
    return true;
}

static unsigned char *put_number(unsigned char *at, uint64_t value)
{
    *at++ = 0xcf;
    for (int i = 7; i >= 0; i--)
        *at++ = (unsigned char)(value >> (8 * i) & 0xff);
    return at;
}

/* Bytes before the first command. */
#define HEAD 24

/*
 * What the script is given: how many commands, of them plain calls, of them brief, the place where
 * the names of fields begin, how far a time may be ahead, which server it is said to be (0: not
 * known, -1: by hand); the commands; what is read from the hash
 * at once: the header, the settings, the numbers that are hung up.  lua/main.lua adds what other
 * commands begin with.
 */
static bool pack_call(struct usher__redis *r, const struct batch *b, size_t call)
{
    static const char names[] = "\xa4head\xa8settings";
    unsigned n = 0, calls = 0, brief = 0, values = 6, hangups = 0;
    unsigned char *at;

    r->packed_n = HEAD;
    for (uint16_t i = b->first[call]; i != NONE; i = b->next[i], n++) {
        const struct usher_command *c = b->tasks[i].command;

        if (!usher__redis_is_brief(c, b->context)) {
            if (!pack_command(r, c, b->context, &values))
                return false;
            continue;
        }
        if (!packed_room(r, USHER__REDIS_BRIEF_MAX))
            return false;
        brief++;
        if (c->verb == USHER_NUMBER_CALL)
            calls++;
        else
            hangups++;
        r->packed_n +=
            usher__redis_brief(c, b->context, 2 + hangups, r->packed + r->packed_n, &values);
    }
    if (!packed_room(r, sizeof names))
        return false;
    memcpy(r->packed + r->packed_n, names, sizeof names - 1);
    r->packed_n += sizeof names - 1;
    for (uint16_t i = b->first[call]; i != NONE && hangups > 0; i = b->next[i]) {
        const struct usher_command *c = b->tasks[i].command;

        if (!usher__redis_is_brief(c, b->context) || c->verb == USHER_NUMBER_CALL)
            continue;
        if (!packed_room(r, USHER__REDIS_BRIEF_MAX))
            return false;
        r->packed_n += usher__redis_brief_field(c, r->packed + r->packed_n);
        hangups--;
    }
    values++;
    at = r->packed;
    *at++ = (unsigned char)n;
    *at++ = (unsigned char)calls;
    *at++ = (unsigned char)brief;
    *at++ = 0xcd;
    *at++ = (unsigned char)(values >> 8);
    *at++ = (unsigned char)(values & 0xff);
    at = put_number(at, (uint64_t)b->context->skew_ms);
    (void)put_number(at, r->server);
    return true;
}

static bool call_writes(const struct batch *b, size_t call)
{
    uint16_t i = b->first[call];

    while (i != NONE && reads(b->tasks[i].command))
        i = b->next[i];
    return i != NONE;
}

/*
 * What the script has to ask of rights before it does the call (lua/rights.lua), or NULL.  The
 * first calls of a noun on a connection carry the question: so it costs no round trip, nobody comes
 * in between, and it is about the user and the keys of the call.
 */
static const char *question(const struct usher__redis_script *script, const struct batch *b,
                            size_t call)
{
    if (script->may == USHER__REDIS_MAY_WRITE)
        return NULL;
    if (call_writes(b, call))
        return "write";
    return script->may == USHER__REDIS_MAY_READ ? NULL : "read";
}

static bool append_call(struct usher__redis *r, const struct batch *b, size_t call)
{
    const struct usher_command *c = b->tasks[b->first[call]].command;
    const struct usher__redis_script *script = &r->script[noun_of(c)];
    const char *asks = question(script, b, call);
    char key[USHER__REDIS_KEY_MAX];
    size_t size;

    if (!packed_room(r, HEAD) || !pack_call(r, b, call))
        return false;
    usher__redis_conn_begin(r->conn, asks != NULL ? 8 : 7);
    usher__redis_conn_arg(r->conn, "EVALSHA", 7);
    usher__redis_conn_arg(r->conn, script->sha, 40);
    usher__redis_conn_arg(r->conn, "3", 1);
    size = usher__redis_key(r, noun_of(c), &c->scope, "", key);
    usher__redis_conn_arg(r->conn, key, size);
    size = usher__redis_key(r, noun_of(c), &c->scope, ":index", key);
    usher__redis_conn_arg(r->conn, key, size);
    size = usher__redis_key(r, noun_of(c), &c->scope, ":held", key);
    usher__redis_conn_arg(r->conn, key, size);
    usher__redis_conn_arg(r->conn, r->packed, r->packed_n);
    if (asks != NULL)
        usher__redis_conn_arg_str(r->conn, asks);
    return true;
}

/* The answer to a call: to each of its tasks. */
static void call_answered(struct usher__redis *r, struct batch *b, size_t call,
                          const struct redisReply *reply)
{
    struct usher__redis_script *script = &r->script[noun_of(b->tasks[b->first[call]].command)];
    enum usher__redis_class class = usher__redis_classify(reply);
    size_t size = call_size(b, call), k = 0;
    bool several =
        class == USHER__REDIS_OK && reply->type == REDIS_REPLY_ARRAY && reply->elements == size;
    bool writes = call_writes(b, call);
    /* a right to write is missing: those that read are sent again, by themselves */
    bool apart = class == USHER__REDIS_REFUSED && writes &&
                 strncmp(reply->str, LACKS, sizeof LACKS - 1) == 0;

    if (class == USHER__REDIS_OK && writes)
        script->may = USHER__REDIS_MAY_WRITE;
    else if (class == USHER__REDIS_OK && script->may == USHER__REDIS_MAY_NOTHING)
        script->may = USHER__REDIS_MAY_READ;
    for (uint16_t i = b->first[call]; i != NONE; i = b->next[i], k++)
        if (!apart || !reads(b->tasks[i].command))
            answered(r, b, i,
                     several                                 ? reply->element[k]
                     : size == 1 || class != USHER__REDIS_OK ? reply
                                                             : NULL,
                     class);
}

/* Nothing was read for call @call: it may have been applied. */
static void in_doubt(struct usher__redis *r, struct batch *b, size_t call)
{
    for (uint16_t i = b->first[call]; i != NONE; i = b->next[i]) {
        b->doubt[i] = true;
        if (!repeatable(b, i)) {
            fail(&b->tasks[i], &b->progress[i], USHER_UNKNOWN, usher__redis_conn_message(r->conn));
            b->left--;
        }
    }
}

/*
 * Have the server know the script of @noun.  What it refuses (a user without the right to) is
 * the answer to all that is to be sent of that noun, as if it had been sent.
 */
static enum usher_status load_script(struct usher__redis *r, struct batch *b, enum usher_noun noun)
{
    struct usher__redis_script *script = &r->script[noun];
    struct redisReply *reply;
    enum usher__redis_class class;
    enum usher_status status = make_script(r, noun);

    if (status != USHER_OK || script->sha[0] != '\0')
        return status;
    usher__redis_conn_begin(r->conn, 3);
    usher__redis_conn_arg_str(r->conn, "SCRIPT");
    usher__redis_conn_arg_str(r->conn, "LOAD");
    usher__redis_conn_arg(r->conn, script->text, script->size);
    status = usher__redis_conn_flush(r->conn);
    if (status == USHER_OK)
        status = usher__redis_conn_read(r->conn, b->context->deadline_ms, &reply);
    if (status != USHER_OK) {
        usher__redis_conn_discard(r->conn);
        return status == USHER_UNKNOWN ? USHER_UNAVAILABLE : status; /* no scope was touched */
    }
    class = usher__redis_classify(reply);
    if (class == USHER__REDIS_REFUSED) {
        for (size_t i = 0; i < b->n; i++)
            if (b->progress[i] == TO_SEND && noun_of(b->tasks[i].command) == noun)
                answered(r, b, i, reply, class);
    } else if (class != USHER__REDIS_OK || !sha_from(script, reply)) {
        (void)usher__redis_conn_explain(r->conn, reply);
        usher__redis_conn_discard(r->conn);
        status = USHER_UNAVAILABLE;
    }
    freeReplyObject(reply);
    return status;
}

/* Have the server know the scripts of all that is to be sent. */
static enum usher_status load_scripts(struct usher__redis *r, struct batch *b)
{
    enum usher_status status = USHER_OK;

    for (size_t i = 0; i < b->n && status == USHER_OK; i++) {
        enum usher_noun noun = noun_of(b->tasks[i].command);

        if (b->progress[i] == TO_SEND)
            status = load_script(r, b, noun);
        if (status == USHER_OK && b->progress[i] == TO_SEND && r->script[noun].sha[0] == '\0')
            status = USHER_UNAVAILABLE; /* later, perhaps */
    }
    return status;
}

/* Send what is to be sent in one pipeline and read the answers. */
static enum usher_status round_trip(struct usher__redis *r, struct batch *b)
{
    enum usher_status status = load_scripts(r, b);
    if (status != USHER_OK || b->left == 0)
        return status;
    make_calls(b);
    for (size_t k = 0; k < b->calls; k++) {
        if (!append_call(r, b, k)) {
            usher__redis_conn_discard(r->conn);
            return USHER_NOMEM;
        }
    }
    status = usher__redis_conn_flush(r->conn);
    if (status != USHER_OK)
        return status;
    for (size_t k = 0; k < b->calls; k++) {
        struct redisReply *reply;

        if (status == USHER_OK) {
            status = usher__redis_conn_read(r->conn, b->context->deadline_ms, &reply);
            if (status == USHER_OK) {
                call_answered(r, b, k, reply);
                freeReplyObject(reply);
            }
        }
        if (status != USHER_OK && k < usher__redis_conn_unsent_from(r->conn))
            in_doubt(r, b, k);
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

/* Is there a task whose script the server does not know (any more)? */
static bool gone(const struct usher__redis *r, const struct batch *b)
{
    for (size_t i = 0; i < b->n; i++)
        if (b->progress[i] == TO_SEND && r->script[noun_of(b->tasks[i].command)].sha[0] == '\0')
            return true;
    return false;
}

static void execute_some(struct usher__redis *r, struct usher_task *tasks, size_t n,
                         const struct usher_context *context)
{
    enum progress progress[TASKS_MAX];
    bool doubt[TASKS_MAX];
    uint16_t next[TASKS_MAX], first[TASKS_MAX];
    struct batch b = { tasks, progress, doubt, next, first, n, n, 0, context };
    enum usher_status status = USHER_OK;
    char why[USHER__REDIS_MESSAGE_SIZE] = ""; /* what happened before time ran out */

    for (size_t i = 0; i < n; i++) {
        progress[i] = TO_SEND;
        doubt[i] = false;
    }
    for (unsigned tries = 0; b.left > 0; tries++) {
        status = usher__redis_ready(r, context->deadline_ms);
        if (status == USHER_OK) {
            size_t before = b.left;

            status = round_trip(r, &b);
            if (b.left == 0)
                break;
            /* a script was gone: load it and go on at once */
            if (status == USHER_OK && gone(r, &b) && tries < 8)
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

/* ---- lanes ------------------------------------------------------------------------- */

static void lane_free(struct usher__redis *r)
{
    if (r == NULL)
        return;
    if (r->conn != NULL)
        usher__redis_conn_close(r->conn);
    for (size_t i = 0; i < USHER__REDIS_NOUNS; i++)
        if (r->script[i].text != NULL)
            (void)resize(r->alloc, r->script[i].text, r->script[i].size + 1, 0);
    (void)resize(r->alloc, r->packed, r->packed_size, 0);
    memset(r->password, 0, sizeof r->password);
    (void)resize(r->alloc, r, sizeof *r, 0);
}

/* Where the texts of @o are in @from, those of @to are in the same place of @to. */
static const char *moved(const char *text, const struct usher__redis *from,
                         const struct usher__redis *to)
{
    const char *begin = (const char *)from;

    if (text == NULL || text < begin || text >= begin + sizeof *from)
        return text; /* constant */
    return (const char *)to + (text - begin);
}

/* Another lane to the same server.  NULL: no memory. */
static struct usher__redis *lane_like(const struct usher__redis *from)
{
    struct usher__redis *r = resize(from->alloc, NULL, 0, sizeof *r);

    if (r == NULL)
        return NULL;
    *r = *from;
    memset(r->script, 0, sizeof r->script);
    r->packed = NULL;
    r->packed_size = 0;
    r->conn = NULL;
    r->tells = false;
    r->random ^= (uint64_t)(uintptr_t)r;
    r->options.host = moved(from->options.host, from, r);
    r->options.unix_path = moved(from->options.unix_path, from, r);
    r->options.user = moved(from->options.user, from, r);
    r->options.password = moved(from->options.password, from, r);
    r->options.client_name = moved(from->options.client_name, from, r);
    r->options.tls.ca = moved(from->options.tls.ca, from, r);
    r->options.tls.cert = moved(from->options.tls.cert, from, r);
    r->options.tls.key = moved(from->options.tls.key, from, r);
    r->options.tls.name = moved(from->options.tls.name, from, r);
    if (usher__redis_conn_open(r->alloc, &r->options, &r->conn) != USHER_OK) {
        lane_free(r);
        return NULL;
    }
    return r;
}

/* One that nobody uses: there is one, for no more than two ask for it. */
static struct usher__redis *lane_take(struct usher__redis_store *s)
{
    size_t i;

    (void)pthread_mutex_lock(&s->lock);
    i = s->taken[0] ? 1 : 0;
    s->taken[i] = true;
    (void)pthread_mutex_unlock(&s->lock);
    return s->lane[i];
}

static void lane_give(struct usher__redis_store *s, const struct usher__redis *lane)
{
    (void)pthread_mutex_lock(&s->lock);
    s->taken[lane == s->lane[0] ? 0 : 1] = false;
    (void)pthread_mutex_unlock(&s->lock);
}

static void execute(struct usher_store *store, struct usher_task *tasks, size_t n,
                    const struct usher_context *context)
{
    struct usher__redis_store *s = (struct usher__redis_store *)store;
    struct usher__redis *lane;

    if (context->notify != NULL)
        (void)pthread_rwlock_wrlock(&s->order);
    else
        (void)pthread_rwlock_rdlock(&s->order);
    lane = lane_take(s);
    for (size_t from = 0; from < n; from += TASKS_MAX)
        execute_some(lane, tasks + from, n - from < TASKS_MAX ? n - from : TASKS_MAX, context);
    lane_give(s, lane);
    (void)pthread_rwlock_unlock(&s->order);
}

/* ---- open and close ---------------------------------------------------------------- */

static void close_redis(struct usher_store *store)
{
    struct usher__redis_store *s = (struct usher__redis_store *)store;

    lane_free(s->lane[0]);
    lane_free(s->lane[1]);
    if (s->locks) {
        (void)pthread_mutex_destroy(&s->lock);
        (void)pthread_rwlock_destroy(&s->order);
    }
    (void)resize(s->alloc, s, sizeof *s, 0);
}

static const struct usher_store_ops ops = {
    .size = sizeof(struct usher_store_ops),
    .name = "redis",
    .caps = USHER_CAP_DURABLE | USHER_CAP_SHARED | USHER_CAP_TWO,
    .execute = execute,
    .scan = usher__redis_scan,
    .close = close_redis, /* only the descriptors: the server is told nothing */
    .forget = close_redis,
    .mend = usher__redis_mend,
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

/* [user[:password]@]; *@ret_rest is what follows. */
static const char *user(struct usher__redis *r, const char *text, size_t size,
                        struct usher__redis_conn_options *o, const char **ret_rest)
{
    const char *at = NULL, *colon;

    *ret_rest = text;
    for (const char *p = text; p < text + size; p++)
        if (*p == '@')
            at = p;
    if (at == NULL)
        return NULL;
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
    *ret_rest = at + 1;
    return NULL;
}

/* [user[:password]@]host[:port]; IPv6 in brackets. */
static const char *authority(struct usher__redis *r, const char *text, size_t size,
                             struct usher__redis_conn_options *o)
{
    const char *colon, *host, *end = text + size, *fault = user(r, text, size, o, &host);
    int64_t port;

    if (fault != NULL)
        return fault;
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

static bool is_file_option(const char *key)
{
    return strcmp(key, "ca") == 0 || strcmp(key, "cert") == 0 || strcmp(key, "key") == 0;
}

static bool is_tls_option(const char *key)
{
    return is_file_option(key) || strcmp(key, "tls-name") == 0;
}

/* Of `rediss:` only.  What is wrong, or NULL. */
static const char *tls_option(struct usher__redis *r, const struct usher_url_option *option,
                              struct usher__redis_conn_options *o)
{
    size_t size = strlen(option->value);
    bool is_ca = strcmp(option->key, "ca") == 0, is_cert = strcmp(option->key, "cert") == 0;
    char *file = is_ca ? r->ca : is_cert ? r->cert : r->key;

    if (is_file_option(option->key)) {
        if (size == 0 || size >= USHER__REDIS_FILE_MAX)
            return is_ca ? "file of ca=" : is_cert ? "file of cert=" : "file of key=";
        memcpy(file, option->value, size + 1);
        *(is_ca ? &o->tls.ca : is_cert ? &o->tls.cert : &o->tls.key) = file;
        return NULL;
    }
    for (const char *p = option->value; *p != '\0'; p++)
        if (!(*p >= 'a' && *p <= 'z') && !(*p >= 'A' && *p <= 'Z') && !(*p >= '0' && *p <= '9') &&
            strchr(".-_:", *p) == NULL)
            return "name in tls-name=";
    if (size == 0 || size >= sizeof r->tls_name || option->value[0] == '.')
        return "name in tls-name=";
    memcpy(r->tls_name, option->value, size + 1);
    o->tls.name = r->tls_name;
    return NULL;
}

const char *usher__redis_parse(struct usher__redis *r, struct usher_url *url)
{
    struct usher__redis_conn_options *o = &r->options;
    const char *rest = url->rest, *slash, *fault;

    memcpy(r->client_name, "usher", 6);
    o->client_name = r->client_name;
    o->over_tls = strcmp(url->scheme, "rediss") == 0;
    if (strncmp(rest, "//", 2) != 0)
        return "URL (no // after the scheme)";
    rest += 2;
    if (strcmp(url->scheme, "redis+unix") == 0) {
        fault = user(r, rest, strcspn(rest, "/"), o, &rest);
        if (fault != NULL)
            return fault;
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

        if (option->used) /* the engine's own */
            continue;
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
        } else if (o->over_tls && is_tls_option(option->key)) {
            fault = tls_option(r, option, o);
            if (fault != NULL)
                return fault;
        } else if (strcmp(option->key, "timeout") != 0) {
            option->used = false;
        }
    }
    if (o->over_tls && o->tls.key != NULL && o->tls.cert == NULL)
        return "option key= without cert=";
    if (o->over_tls && o->tls.name == NULL)
        o->tls.name = o->host;
    if (o->over_tls && o->tls.name[0] == '.')
        return "host";
    return NULL;
}

enum usher_status usher__redis_open(void *payload, struct usher_url *url,
                                    const struct usher_options *opt, int64_t deadline_ms,
                                    struct usher_store **ret_store, char message[192])
{
    struct usher__redis_store *s = resize(opt->alloc, NULL, 0, sizeof *s);
    struct usher__redis *r = resize(opt->alloc, NULL, 0, sizeof *r);
    const char *fault;
    enum usher_status status;

    (void)payload;
    if (s == NULL || r == NULL) {
        (void)resize(opt->alloc, s, sizeof *s, 0);
        (void)resize(opt->alloc, r, sizeof *r, 0);
        return say(message, USHER_NOMEM, "redis: out of memory");
    }
    memset(s, 0, sizeof *s);
    memset(r, 0, sizeof *r);
    s->base.ops = &ops;
    s->alloc = r->alloc = opt->alloc;
    s->lane[0] = r;
    r->demotions = &s->demotions;
    r->tells = true;
    s->locks = pthread_mutex_init(&s->lock, NULL) == 0;
    if (s->locks && pthread_rwlock_init(&s->order, NULL) != 0) {
        (void)pthread_mutex_destroy(&s->lock);
        s->locks = false;
    }
    r->log = opt->log;
    r->log_payload = opt->payload;
    if (getrandom(&r->random, sizeof r->random, GRND_NONBLOCK) != (ssize_t)sizeof r->random)
        r->random = (uint64_t)usher__redis_clock_ms() ^ (uint64_t)(uintptr_t)r;
    fault = usher__redis_parse(r, url);
    for (size_t i = 0; i < url->n_options && fault == NULL; i++) {
        if (!url->options[i].used) {
            say(message, USHER_INVALID,
                is_tls_option(url->options[i].key) ? "redis: the option `%.40s` is for `rediss:`"
                                                   : "redis: has no option `%.40s`",
                url->options[i].key);
            close_redis(&s->base);
            return USHER_INVALID;
        }
    }
    if (fault != NULL) {
        close_redis(&s->base);
        return say(message, USHER_INVALID, "redis: the %s in the URL is wrong", fault);
    }
    status = s->locks ? usher__redis_conn_open(r->alloc, &r->options, &r->conn) : USHER_NOMEM;
    if (status == USHER_OK) {
        status = usher__redis_ready(r, deadline_ms);
        if (status != USHER_OK)
            say(message, status, "%s", usher__redis_conn_message(r->conn));
        else if ((s->lane[1] = lane_like(r)) == NULL)
            status = say(message, USHER_NOMEM, "redis: out of memory");
    } else {
        say(message, status, "redis: %s", usher_status_text(status));
    }
    if (status != USHER_OK) {
        close_redis(&s->base);
        return status;
    }
    *ret_store = &s->base;
    return USHER_OK;
}
