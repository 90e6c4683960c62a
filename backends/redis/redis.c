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
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include <hiredis/hiredis.h>

#include "brief.h"
#include "clock.h"
#include "info.h"
#include "script.h"
#include "store.h"

enum progress { TO_SEND, DONE };

#define CLAIMED "redis: no answer before the deadline: the scope is in another batch"
/* WAIT that has run out is answered up to 100 ms later (hz 10). */
#define WAIT_BACK_MS 120

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

/* Until when to wait before trying again; false when the deadline is near. */
static bool pause_until(struct usher__redis *r, unsigned tries, int64_t deadline_ms,
                        int64_t *ret_until_ms)
{
    int64_t now_ms = usher__redis_clock_ms();
    int64_t longest = tries < 6 ? INT64_C(1) << tries : 64;
    int64_t wait = 1 + (int64_t)(next_random(r) % (uint64_t)longest);

    *ret_until_ms = now_ms + wait;
    /* what is sent without time for its answer ends in doubt */
    return deadline_ms - now_ms > wait + 5;
}

bool usher__redis_pause(struct usher__redis *r, unsigned tries, int64_t deadline_ms)
{
    struct usher_wait wait = { .fd = -1 };

    if (!pause_until(r, tries, deadline_ms, &wait.until_ms))
        return false;
    usher__redis_wait(&wait, INT64_MAX);
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

static enum usher_noun noun_of(const struct usher_operation *c)
{
    return (enum usher_noun)((unsigned)c->verb >> 8);
}

/* ---- execute ----------------------------------------------------------------------- */

static void fail(struct usher_task *task, enum progress *progress, enum usher_status status,
                 const char *why)
{
    usher_result_fail(task->reply, status, why);
    *progress = DONE;
}

/* One batch as it is being worked on. */
struct batch {
    struct usher_task *tasks;
    enum progress *progress;
    bool *doubt; /* sent and not answered, some time */
    bool *asks;  /* the call of that number begins with ASKING */
    /* Tasks on one scope that are sent as one call of its script: each names the next one,
     * and NONE ends the row.  first[k] begins the one that is sent as number k. */
    uint16_t *next, *first;
    size_t n, left, calls;
    const struct usher_context *context;
    /* The answer that is read next: to which call, which request; `lost`, not OK: none comes. */
    size_t at, request;
    enum usher_status lost;
    bool asked;                /* the one to ASKING was read: */
    struct redisReply *asking; /* it */
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

    USHER_ASSERT(i < b->n && b->progress[i] != DONE); /* an answer for each, once */
    if (reply != NULL && reply->type == REDIS_REPLY_STRING) {
        if (usher__redis_brief_answer(task->command, reply->str, reply->len, task->reply))
            status = USHER_OK;
        else
            status =
                usher_result_unpack(task->command, reply->str, reply->len, task->reply, b->context);
    }
    b->progress[i] = DONE;
    if (status == USHER_OK)
        return;
    if (status == USHER_NOMEM &&
        (usher_operation_flags(task->command) & USHER_OPERATION_WRITES) == 0)
        usher_result_fail(task->reply, status, "out of memory");
    else
        usher_result_fail(task->reply, USHER_UNKNOWN, "redis: the answer is not understood");
}

/* Why the server refused a command on the scope of @c.  Of keys it does not say which. */
static const char *refused_because(struct usher__redis *r, const struct usher_operation *c,
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

/* Whoever waits for task @i sends it to where @reply says. */
static void redirected(struct usher__redis *r, struct batch *b, size_t i,
                       const struct redisReply *reply, bool asks)
{
    struct usher_task *task = &b->tasks[i];
    unsigned number = usher__redis_redirected(r, reply, asks);

    fail(task, &b->progress[i], b->doubt[i] ? USHER_UNKNOWN : USHER_UNAVAILABLE,
         usher__redis_conn_explain(r->conn, reply));
    task->again = number < USHER__REDIS_NODES_MAX ? USHER_AGAIN_NOW : USHER_AGAIN_LATER;
    task->state = b->doubt[i] ? USHER__REDIS_DOUBT : 0;
    if (asks && number < USHER__REDIS_NODES_MAX) {
        task->state |= USHER__REDIS_ASKING;
        task->lane = (uint16_t)number;
    }
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
        if (strncmp(reply->str, "TRYAGAIN", 8) != 0 && strncmp(reply->str, "BUSY", 4) != 0)
            usher__redis_doubt(r->store);
        break;
    case USHER__REDIS_SCRIPT_ERROR:
        fail(task, &b->progress[i], USHER_UNKNOWN, usher__redis_conn_explain(r->conn, reply));
        break;
    case USHER__REDIS_MOVED:
    case USHER__REDIS_ASK:
        if (r->store->map == NULL)
            fail(task, &b->progress[i], USHER_UNAVAILABLE,
                 "redis: the server is a node of a cluster: use redis+cluster://");
        else
            redirected(r, b, i, reply, class == USHER__REDIS_ASK);
        break;
    default: { /* refused: some of it may pass */
        const char *why = refused_because(r, task->command, reply);

        /* The master that it was is another one now: the connections go. */
        if (strncmp(reply->str, "READONLY", 8) == 0) {
            atomic_fetch_add(&r->node->demotions, 1);
            usher__redis_doubt(r->store);
        }
        if (strncmp(reply->str, "READONLY", 8) != 0 && strncmp(reply->str, "OOM", 3) != 0 &&
            strncmp(reply->str, "MISCONF", 7) != 0)
            fail(task, &b->progress[i], USHER_UNAVAILABLE, why);
        break;
    }
    }
    USHER_ASSERT(b->progress[i] != DONE || b->left > 0);
    b->left -= b->progress[i] == DONE;
}

static bool same_scope(const struct usher_operation *a, const struct usher_operation *b)
{
    return noun_of(a) == noun_of(b) && a->scope.size == b->scope.size &&
           memcmp(a->scope.data, b->scope.data, a->scope.size) == 0;
}

static bool reads(const struct usher_operation *c)
{
    return (usher_operation_flags(c) & USHER_OPERATION_WRITES) == 0;
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
    const struct usher_operation *c = b->tasks[i].command;
    unsigned flags = usher_operation_flags(c);
    bool alike = (flags & USHER_OPERATION_COMMUTES) != 0;

    if ((flags & USHER_OPERATION_REPEATABLE) == 0)
        return false;
    for (size_t k = 0; k < b->n && !reads(c); k++) {
        const struct usher_operation *other = b->tasks[k].command;

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
    more = usher__redis_resize(r->alloc, r->packed, r->packed_size, all);
    if (more == NULL)
        return false;
    r->packed = more;
    r->packed_size = all;
    return true;
}

/* Put @c behind the others: how many values it has, and they.  *@values grows by both. */
static bool pack_command(struct usher__redis *r, const struct usher_operation *c,
                         const struct usher_context *context, unsigned *values)
{
    /* verbs that may bring the scope into being bring its epoch along */
    uint64_t epoch =
        (usher_operation_flags(c) & USHER_OPERATION_CREATES) != 0 ? next_random(r) | 1 : 0;
    bool watched = context->notify != NULL;
    unsigned char *at;
    size_t size = usher_operation_pack(c, context->now_ms, epoch, watched, NULL, 0);

    if (!packed_room(r, size))
        return false;
    at = r->packed + r->packed_n;
    r->packed_n += usher_operation_pack(c, context->now_ms, epoch, watched, at, size);
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
        const struct usher_operation *c = b->tasks[i].command;

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
        const struct usher_operation *c = b->tasks[i].command;

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
static const char *question(const struct usher__redis_loaded *script, const struct batch *b,
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
    const struct usher_operation *c = b->tasks[b->first[call]].command;
    const struct usher__redis_loaded *script = &r->script[noun_of(c)];
    const char *asks = question(script, b, call);
    char key[USHER__REDIS_KEY_MAX];
    size_t size;

    if (!packed_room(r, HEAD) || !pack_call(r, b, call))
        return false;
    b->asks[call] = false;
    for (uint16_t i = b->first[call]; i != NONE; i = b->next[i])
        b->asks[call] = b->asks[call] || (b->tasks[i].state & USHER__REDIS_ASKING) != 0;
    if (b->asks[call]) { /* holds for one command */
        usher__redis_conn_begin(r->conn, 1);
        usher__redis_conn_arg(r->conn, "ASKING", 6);
    }
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
    struct usher__redis_loaded *script = &r->script[noun_of(b->tasks[b->first[call]].command)];
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

/* The nouns of what is to be sent. */
static unsigned nouns_of(const struct batch *b)
{
    unsigned nouns = 0;

    for (size_t i = 0; i < b->n; i++)
        if (b->progress[i] == TO_SEND)
            nouns |= 1u << noun_of(b->tasks[i].command);
    return nouns;
}

/*
 * usher__redis_prepare() for @b.  A script that the server refuses (to a user without the right to
 * it) is the answer to all that is to be sent of its noun, as if it had been sent.
 */
static enum usher_status prepare(struct usher__redis *r, struct batch *b, int64_t deadline_ms)
{
    for (;;) {
        unsigned nouns = nouns_of(b);
        enum usher_status status = usher__redis_prepare(r, nouns, deadline_ms);

        if (status != USHER_REFUSED)
            return status;
        for (size_t i = 0; i < b->n; i++)
            if (b->progress[i] == TO_SEND && noun_of(b->tasks[i].command) == r->loads)
                answered(r, b, i, r->replies[0], USHER__REDIS_REFUSED);
        usher__redis_replies_free(r);
        if ((nouns_of(b) >> r->loads & 1) != 0)
            return USHER_UNAVAILABLE; /* later, perhaps */
    }
}

/* Send what is to be sent in one pipeline, to a connection that is prepared. */
static enum usher_status send_calls(struct usher__redis *r, struct batch *b)
{
    enum usher_status status;

    b->calls = b->at = b->request = 0;
    b->lost = USHER_OK;
    if (b->left == 0)
        return USHER_OK;
    make_calls(b);
    for (size_t k = 0; k < b->calls; k++) {
        if (!append_call(r, b, k)) {
            usher__redis_conn_discard(r->conn);
            b->calls = 0;
            return USHER_NOMEM;
        }
    }
    status = usher__redis_conn_flush(r->conn);
    if (status != USHER_OK)
        b->calls = 0; /* none of them was sent */
    return status;
}

/* The answer to the next of the requests that were sent.  false: it is not there yet; else
 * @b->lost, if there is none. */
static bool next_answer(struct usher__redis *r, struct batch *b, struct redisReply **ret)
{
    if (b->lost == USHER_OK)
        b->lost = usher__redis_conn_next(r->conn, ret);
    if (b->lost != USHER__REDIS_WAITS)
        return true;
    b->lost = USHER_OK;
    return false;
}

/* Who may not say ASKING is sent back: why is in the answer to that. */
static bool denied(const struct redisReply *asking, const struct redisReply *reply)
{
    return asking != NULL && usher__redis_classify(asking) == USHER__REDIS_REFUSED &&
           usher__redis_classify(reply) == USHER__REDIS_MOVED;
}

/* Read what there is of the answers to what was sent.  The status is of the connection. */
static enum usher_status read_answers(struct usher__redis *r, struct batch *b)
{
    for (; b->at < b->calls; b->at++) {
        struct redisReply *reply = NULL;

        if (b->asks[b->at] && !b->asked) {
            if (!next_answer(r, b, &b->asking))
                return USHER__REDIS_WAITS;
            b->asked = true;
            b->request++;
        }
        if (!next_answer(r, b, &reply))
            return USHER__REDIS_WAITS;
        if (b->lost == USHER_OK)
            call_answered(r, b, b->at, denied(b->asking, reply) ? b->asking : reply);
        else if (b->request < usher__redis_conn_unsent_from(r->conn))
            in_doubt(r, b, b->at);
        freeReplyObject(reply);
        freeReplyObject(b->asking);
        b->asking = NULL;
        b->asked = false;
        b->request++;
    }
    keep_order(b);
    if (r->drop)
        usher__redis_conn_discard(r->conn);
    r->drop = false;
    return b->lost;
}

/* Is there a task whose script the server does not know (any more)? */
static bool gone(const struct usher__redis *r, const struct batch *b)
{
    for (size_t i = 0; i < b->n; i++)
        if (b->progress[i] == TO_SEND && r->script[noun_of(b->tasks[i].command)].sha[0] == '\0')
            return true;
    return false;
}

/* Nothing more is done here for what was to be sent again; with a cluster who waits for it does. */
static void give_up(const struct usher__redis *r, struct batch *b, enum usher_status status,
                    const char *why)
{
    bool again = r->store->map != NULL && status != USHER_NOMEM && status != USHER_INVALID;

    for (size_t i = 0; i < b->n; i++) {
        struct usher_task *task = &b->tasks[i];

        if (b->progress[i] != TO_SEND)
            continue;
        fail(task, &b->progress[i],
             b->doubt[i]             ? USHER_UNKNOWN
             : status == USHER_NOMEM ? USHER_NOMEM
                                     : USHER_UNAVAILABLE,
             why[0] != '\0' ? why : "redis: no answer before the deadline");
        if (!again)
            continue;
        /* a script that is not there is loaded by the next try */
        task->again = status == USHER_OK && r->script[noun_of(task->command)].sha[0] == '\0'
                          ? USHER_AGAIN_NOW
                          : USHER_AGAIN_LATER;
        task->state = b->doubt[i] ? USHER__REDIS_DOUBT : 0;
    }
}

/* What is as long as a batch. */
struct room {
    enum progress progress[TASKS_MAX];
    bool doubt[TASKS_MAX], asks[TASKS_MAX];
    uint16_t next[TASKS_MAX], first[TASKS_MAX];
};

static struct batch batch_of(struct room *room, size_t from, struct usher_task *tasks, size_t n,
                             const struct usher_context *context)
{
    struct batch b = { tasks,
                       room->progress + from,
                       room->doubt + from,
                       room->asks + from,
                       room->next + from,
                       room->first + from,
                       n,
                       n,
                       0,
                       context,
                       0,
                       0,
                       USHER_OK,
                       false,
                       NULL };

    for (size_t i = 0; i < n; i++) {
        b.progress[i] = TO_SEND;
        b.doubt[i] = (tasks[i].state & USHER__REDIS_DOUBT) != 0;
    }
    return b;
}

/* A batch on its way to one server and back. */
struct trip {
    struct usher__redis *r;
    enum { PREPARING, READING, PAUSING } stage;
    unsigned tries;
    size_t before; /* what was left when this try was sent */
    bool late;     /* the deadline was over before */
    int64_t until_ms;
    enum usher_status status;
    char why[USHER__REDIS_MESSAGE_SIZE]; /* what happened before time ran out */
    struct batch b;
    struct room room;
};

static void trip_begin(struct trip *t, struct usher__redis *r, struct usher_task *tasks, size_t n,
                       const struct usher_context *context)
{
    t->r = r;
    t->stage = PREPARING;
    t->tries = 0;
    t->late = false;
    t->status = USHER_OK;
    t->why[0] = '\0';
    t->b = batch_of(&t->room, 0, tasks, n, context);
}

/* It has to be sent, or sent again.  false: it waits. */
static bool trip_send(struct trip *t)
{
    int64_t deadline_ms = t->b.context->deadline_ms;

    t->status = prepare(t->r, &t->b, deadline_ms);
    if (t->status == USHER__REDIS_WAITS) {
        if (usher__redis_clock_ms() < deadline_ms)
            return false;
        usher__redis_conn_slow(t->r->conn);
        t->status = USHER_UNAVAILABLE;
    }
    t->before = t->b.left;
    if (t->status == USHER_OK)
        t->status = send_calls(t->r, &t->b);
    if (t->status == USHER_OK)
        t->stage = READING;
    return true;
}

/* It was sent.  false: it waits. */
static bool trip_read(struct trip *t)
{
    t->status = read_answers(t->r, &t->b);
    if (t->status != USHER__REDIS_WAITS)
        return true;
    /* Once more for what has arrived already; not for what drips in. */
    if (!t->late) {
        t->late = usher__redis_clock_ms() >= t->b.context->deadline_ms;
        return false;
    }
    t->b.lost = usher__redis_conn_late(t->r->conn);
    t->status = read_answers(t->r, &t->b);
    return true;
}

/* This try has come to its end: is there to be another one? */
static bool trip_again(struct trip *t)
{
    struct usher__redis *r = t->r;
    int64_t deadline_ms = t->b.context->deadline_ms;
    bool was_sent = t->stage == READING;

    t->stage = PREPARING;
    if (t->b.left == 0)
        return false;
    /* a script was gone: load it and go on at once */
    if (t->status == USHER_OK && t->tries < 8 && gone(r, &t->b)) {
        t->tries++;
        return true;
    }
    if (was_sent && t->b.left < t->before)
        t->tries = 0;
    if (t->status != USHER_OK)
        usher__redis_doubt(r->store);
    if (t->why[0] == '\0' || usher__redis_clock_ms() < deadline_ms)
        (void)snprintf(t->why, sizeof t->why, "%s", usher__redis_conn_message(r->conn));
    t->stage = PAUSING;
    return t->status != USHER_NOMEM && t->status != USHER_INVALID && r->store->map == NULL &&
           pause_until(r, t->tries++, deadline_ms, &t->until_ms);
}

/* Go on without waiting.  true: all is answered; false: it waits for *@ret. */
static bool trip_go_on(struct trip *t, struct usher_wait *ret)
{
    int64_t deadline_ms = t->b.context->deadline_ms;

    do {
        if (t->stage == PAUSING && usher__redis_clock_ms() < t->until_ms) {
            *ret = (struct usher_wait){ .fd = -1, .until_ms = t->until_ms };
            return false;
        }
        if (t->stage != READING)
            t->stage = PREPARING;
        if ((t->stage == PREPARING && !trip_send(t)) || (t->stage == READING && !trip_read(t))) {
            usher__redis_wants(t->r, ret);
            ret->until_ms = deadline_ms < ret->until_ms ? deadline_ms : ret->until_ms;
            return false;
        }
    } while (trip_again(t));
    give_up(t->r, &t->b, t->status,
            t->why[0] != '\0' ? t->why : usher__redis_conn_message(t->r->conn));
    return true;
}

/* Take it to its end. */
static enum usher_status trip_finish(struct trip *t)
{
    struct usher_wait wait;

    while (!trip_go_on(t, &wait))
        usher__redis_wait(&wait, INT64_MAX);
    return t->status;
}

/* ---- nodes ------------------------------------------------------------------------- */

static void begins(struct usher__redis_node *node)
{
    if (atomic_fetch_add(&node->under_way, 1) == 0)
        atomic_store(&node->heard_ms, usher__redis_clock_ms());
}

static void ends(struct usher__redis_node *node, enum usher_status status)
{
    atomic_store(&node->mute, status == USHER_UNAVAILABLE || status == USHER_UNKNOWN);
    atomic_store(&node->heard_ms, usher__redis_clock_ms());
    atomic_fetch_sub(&node->under_way, 1);
}

static void no_memory(struct usher_task *tasks, size_t n)
{
    for (size_t i = 0; i < n; i++)
        usher_result_fail(tasks[i].reply, USHER_NOMEM, "redis: out of memory");
}

/* ---- replicas ---------------------------------------------------------------------- */

/*
 * WAIT is about what was done on its own connection, and holds that up: so a connection is kept by
 * the thread whose command asks for replicas until they have answered.  By then its scopes are
 * released.
 */
struct kept {
    struct usher__redis *first;
};

/* @kept NULL: nobody waits. */
static void give_or_keep(struct usher__redis *r, struct kept *kept)
{
    if (kept == NULL) {
        usher__redis_give(r);
        return;
    }
    r->next = kept->first;
    kept->first = r;
}

static bool any_wait(const struct usher_task *tasks, size_t n)
{
    size_t i = 0;

    while (i < n && tasks[i].command->wait == 0)
        i++;
    return i < n;
}

/* Was @task done by the server of @r, and does it wait? */
static bool waits_on(const struct usher__redis *r, const struct usher_task *task)
{
    const struct usher__redis_store *s = r->store;

    return task->command->wait > 0 && task->reply->status < USHER_INVALID &&
           (s->map == NULL || s->node[task->lane] == r->node);
}

/* Ask for as many replicas as one of @tasks does.  false: none does, or it cannot be asked. */
static bool send_wait(struct usher__redis *r, const struct usher_task *tasks, size_t n, int64_t ms)
{
    char replicas[12], time[24];
    uint32_t most = 0;

    for (size_t i = 0; i < n; i++)
        if (waits_on(r, &tasks[i]) && tasks[i].command->wait > most)
            most = tasks[i].command->wait;
    if (most == 0 || ms <= 0 || !usher__redis_conn_is_connected(r->conn))
        return false;
    (void)snprintf(replicas, sizeof replicas, "%" PRIu32, most);
    (void)snprintf(time, sizeof time, "%" PRId64, ms);
    usher__redis_conn_begin(r->conn, 3);
    usher__redis_conn_arg_str(r->conn, "WAIT");
    usher__redis_conn_arg_str(r->conn, replicas);
    usher__redis_conn_arg_str(r->conn, time);
    return usher__redis_conn_flush(r->conn) == USHER_OK;
}

/* The answer, or NULL: there is none.  What was done stays done, whatever is said of the
 * replicas. */
static void replicas_told(struct usher__redis *r, struct usher_task *tasks, size_t n,
                          struct redisReply *reply)
{
    uint32_t replicas = 0;
    const char *why = "";

    if (reply == NULL) {
        why = usher__redis_conn_message(r->conn);
        usher__redis_conn_discard(r->conn);
    } else if (reply->type == REDIS_REPLY_INTEGER && reply->integer >= 0) {
        replicas = reply->integer < UINT32_MAX ? (uint32_t)reply->integer : UINT32_MAX;
    } else {
        why = usher__redis_conn_explain(r->conn, reply);
    }
    for (size_t i = 0; i < n; i++) {
        if (!waits_on(r, &tasks[i]))
            continue;
        tasks[i].reply->replicas = replicas;
        if (why[0] != '\0' && tasks[i].reply->message[0] == '\0')
            (void)snprintf(tasks[i].reply->message, sizeof tasks[i].reply->message, "%s", why);
    }
    freeReplyObject(reply);
}

/* How long the server may wait, of @left: what it says then must be back in time. */
static int64_t wait_ms(int64_t left)
{
    int64_t back = left / 10 > WAIT_BACK_MS ? left / 10 : WAIT_BACK_MS;

    return left - (back < left / 2 ? back : left / 2);
}

/* On all connections at once. */
static void wait_for_replicas(struct kept *kept, struct usher_task *tasks, size_t n,
                              int64_t deadline_ms)
{
    int64_t ms = wait_ms(deadline_ms - usher__redis_clock_ms());

    for (struct usher__redis *r = kept->first; r != NULL; r = r->next)
        r->waits = send_wait(r, tasks, n, ms);
    while (kept->first != NULL) {
        struct usher__redis *r = kept->first;

        kept->first = r->next;
        if (r->waits) {
            struct redisReply *reply = NULL;

            (void)usher__redis_conn_read(r->conn, deadline_ms, &reply);
            replicas_told(r, tasks, n, reply);
        }
        usher__redis_give(r);
    }
}

/* ---- one server, or several -------------------------------------------------------- */

static void execute_on(struct usher__redis_store *s, struct usher__redis_node *node,
                       struct usher_task *tasks, size_t n, const struct usher_context *context,
                       struct kept *kept)
{
    struct usher__redis *r = usher__redis_take(s, node);
    struct trip t;

    if (r == NULL) {
        no_memory(tasks, n);
        return;
    }
    begins(node);
    trip_begin(&t, r, tasks, n, context);
    ends(node, trip_finish(&t));
    give_or_keep(r, kept);
}

#define PARTS_MAX 32

/* The tasks for one node, of those that are for several. */
struct part {
    struct usher__redis *r;
    struct batch b;
    enum usher_status status;
};

/* Connect and send; of the time that is left one that is slow has no more than its share. */
static void part_begin(struct part *p, size_t n_left)
{
    int64_t now_ms = usher__redis_clock_ms(), left = p->b.context->deadline_ms - now_ms;
    int64_t until_ms = now_ms + left / (int64_t)n_left;

    while ((p->status = prepare(p->r, &p->b, until_ms)) == USHER__REDIS_WAITS)
        if (!usher__redis_wait_for(p->r, until_ms)) {
            p->status = USHER_UNAVAILABLE;
            break;
        }
    if (p->status == USHER_OK)
        p->status = send_calls(p->r, &p->b);
}

static void part_end(struct part *p, struct kept *kept)
{
    bool late = false;

    while (p->status == USHER_OK && (p->status = read_answers(p->r, &p->b)) == USHER__REDIS_WAITS) {
        p->status = USHER_OK;
        if (!usher__redis_conn_wait(p->r->conn, p->b.context->deadline_ms, &late))
            p->b.lost = usher__redis_conn_late(p->r->conn);
    }
    if (p->status != USHER_OK)
        usher__redis_doubt(p->r->store);
    give_up(p->r, &p->b, p->status, usher__redis_conn_message(p->r->conn));
    ends(p->r->node, p->status);
    give_or_keep(p->r, kept);
}

/*
 * To all nodes first, then from all nodes: what others have answered is there, whatever the time,
 * when one of them has not.  Those that are to be connected to come last.
 */
static void execute_parts(struct part *parts, size_t n, struct kept *kept)
{
    bool connected[PARTS_MAX];
    size_t n_left = n;

    for (size_t i = 0; i < n; i++) {
        begins(parts[i].r->node);
        connected[i] = usher__redis_conn_is_connected(parts[i].r->conn);
    }
    for (size_t i = 0; i < n; i++)
        if (connected[i])
            part_begin(&parts[i], n_left--);
    for (size_t i = 0; i < n; i++)
        if (!connected[i])
            part_begin(&parts[i], n_left--);
    for (size_t i = 0; i < n; i++)
        part_end(&parts[i], kept);
}

/* Tasks of several lanes: each node at once. */
static void execute_lanes(struct usher__redis_store *s, struct usher_task *tasks, size_t n,
                          const struct usher_context *context, struct kept *kept)
{
    struct usher_task sorted[TASKS_MAX];
    uint16_t where[TASKS_MAX];
    bool done[TASKS_MAX] = { false };
    struct part parts[PARTS_MAX];
    struct room room;
    size_t from = 0, begin = 0, n_parts = 0;

    while (from < n) {
        size_t first = 0, k = from;
        struct usher__redis *r;

        while (done[first])
            first++;
        for (size_t i = first; i < n; i++) {
            if (done[i] || tasks[i].lane != tasks[first].lane)
                continue;
            done[i] = true;
            where[k] = (uint16_t)i;
            sorted[k++] = tasks[i];
        }
        r = usher__redis_take(s, s->node[tasks[first].lane]);
        if (r == NULL) {
            no_memory(sorted + from, k - from);
        } else {
            parts[n_parts].r = r;
            parts[n_parts].status = USHER_OK;
            parts[n_parts++].b = batch_of(&room, from, sorted + from, k - from, context);
        }
        from = k;
        if (n_parts < PARTS_MAX && from < n)
            continue;
        execute_parts(parts, n_parts, kept);
        for (; begin < from; begin++)
            tasks[where[begin]] = sorted[begin];
        n_parts = 0;
    }
}

static bool one_lane(const struct usher_task *tasks, size_t n)
{
    size_t i = 1;

    while (i < n && tasks[i].lane == tasks[0].lane)
        i++;
    return i >= n;
}

static void execute_chunk(struct usher__redis_store *s, struct usher_task *tasks, size_t n,
                          const struct usher_context *context)
{
    struct kept kept = { NULL }, *keeps = any_wait(tasks, n) ? &kept : NULL;

    if (context->notify != NULL && !usher__redis_claim(s, tasks, n, context->deadline_ms)) {
        for (size_t i = 0; i < n; i++)
            usher_result_fail(tasks[i].reply, USHER_UNAVAILABLE, CLAIMED);
        return;
    }
    if (s->map == NULL || one_lane(tasks, n))
        execute_on(s, s->node[s->map == NULL ? 0 : tasks->lane], tasks, n, context, keeps);
    else
        execute_lanes(s, tasks, n, context, keeps);
    if (context->notify != NULL)
        usher__redis_release(s, tasks, n);
    if (kept.first != NULL)
        wait_for_replicas(&kept, tasks, n, context->deadline_ms);
}

static void execute(struct usher_store *store, struct usher_task *tasks, size_t n,
                    const struct usher_context *context)
{
    struct usher__redis_store *s = (struct usher__redis_store *)store;

    for (size_t from = 0; from < n; from += TASKS_MAX)
        execute_chunk(s, tasks + from, n - from < TASKS_MAX ? n - from : TASKS_MAX, context);
}

/* ---- one server, without waiting ---------------------------------------------------- */

struct usher_batch {
    struct usher_task *tasks;
    size_t n;
    const struct usher_context *context;
    enum { TO_CLAIM, TO_GO, ON_ITS_WAY, WITH_REPLICAS } stage;
    bool claimed;
    struct trip trip; /* its connection: NULL in the first two stages */
};

static struct usher_batch *begin_batch(struct usher_store *store, struct usher_task *tasks,
                                       size_t n, const struct usher_context *context)
{
    const struct usher__redis_store *s = (const struct usher__redis_store *)store;
    struct usher_batch *b = usher__redis_resize(s->alloc, NULL, 0, sizeof *b);

    if (b == NULL)
        return NULL;
    b->tasks = tasks;
    b->n = n;
    b->context = context;
    b->stage = context->notify != NULL ? TO_CLAIM : TO_GO;
    b->claimed = false;
    b->trip.r = NULL;
    return b;
}

/* Give back what it has, but for itself. */
static void batch_done(struct usher__redis_store *s, struct usher_batch *b)
{
    if (b->claimed)
        usher__redis_release(s, b->tasks, b->n);
    b->claimed = false;
    if (b->trip.r != NULL)
        usher__redis_give(b->trip.r);
    b->trip.r = NULL;
}

/* Its scopes are its own, or it is over.  false: they are another one's; it looks again in a
 * moment. */
static bool batch_claim(struct usher__redis_store *s, struct usher_batch *b, struct usher_wait *ret)
{
    int64_t now_ms = usher__redis_clock_ms();

    b->claimed = usher__redis_claim(s, b->tasks, b->n, -1);
    if (b->claimed)
        return true;
    if (now_ms < b->context->deadline_ms) {
        *ret = (struct usher_wait){ .fd = -1, .until_ms = now_ms + 1 };
        return false;
    }
    for (size_t i = 0; i < b->n; i++)
        usher_result_fail(b->tasks[i].reply, USHER_UNAVAILABLE, CLAIMED);
    return true;
}

/* It has its answers.  true: and nothing is asked of replicas. */
static bool batch_answered(struct usher__redis_store *s, struct usher_batch *b)
{
    struct usher__redis *r = b->trip.r;
    int64_t left_ms = b->context->deadline_ms - usher__redis_clock_ms();

    ends(r->node, b->trip.status);
    if (!any_wait(b->tasks, b->n) || !send_wait(r, b->tasks, b->n, wait_ms(left_ms)))
        return true;
    if (b->claimed)
        usher__redis_release(s, b->tasks, b->n);
    b->claimed = false;
    b->stage = WITH_REPLICAS;
    return false;
}

/* false: the replicas have not answered yet. */
static bool batch_replicas(const struct usher_batch *b, struct usher_wait *ret)
{
    struct usher__redis *r = b->trip.r;
    struct redisReply *reply = NULL;
    enum usher_status status = usher__redis_conn_next(r->conn, &reply);

    if (status == USHER__REDIS_WAITS && usher__redis_clock_ms() < b->context->deadline_ms) {
        usher__redis_wants(r, ret);
        ret->until_ms = b->context->deadline_ms;
        return false;
    }
    if (status == USHER__REDIS_WAITS)
        (void)usher__redis_conn_late(r->conn);
    replicas_told(r, b->tasks, b->n, reply);
    return true;
}

static bool batch_go_on(struct usher__redis_store *s, struct usher_batch *b, struct usher_wait *ret)
{
    if (b->stage == TO_CLAIM) {
        if (!batch_claim(s, b, ret))
            return false;
        if (!b->claimed)
            return true;
        b->stage = TO_GO;
    }
    if (b->stage == TO_GO) {
        struct usher__redis *r = usher__redis_take(s, s->node[0]);

        if (r == NULL) {
            no_memory(b->tasks, b->n);
            return true;
        }
        begins(r->node);
        trip_begin(&b->trip, r, b->tasks, b->n, b->context);
        b->stage = ON_ITS_WAY;
    }
    if (b->stage == ON_ITS_WAY) {
        if (!trip_go_on(&b->trip, ret))
            return false;
        if (batch_answered(s, b))
            return true;
    }
    return batch_replicas(b, ret);
}

static bool go_on_batch(struct usher_store *store, struct usher_batch *b, struct usher_wait *ret)
{
    struct usher__redis_store *s = (struct usher__redis_store *)store;

    if (!batch_go_on(s, b, ret))
        return false;
    batch_done(s, b);
    (void)usher__redis_resize(s->alloc, b, sizeof *b, 0);
    return true;
}

static void leave_batch(struct usher_store *store, struct usher_batch *b)
{
    struct usher__redis_store *s = (struct usher__redis_store *)store;

    if (b->trip.r != NULL) {
        freeReplyObject(b->trip.b.asking);
        usher__redis_conn_discard(b->trip.r->conn); /* what was sent on it is answered to nobody */
        ends(b->trip.r->node, USHER_UNAVAILABLE);
    }
    batch_done(s, b);
    (void)usher__redis_resize(s->alloc, b, sizeof *b, 0);
}

/* ---- open and close ---------------------------------------------------------------- */

static void close_redis(struct usher_store *store)
{
    struct usher__redis_store *s = (struct usher__redis_store *)store;

    usher__redis_nodes_free(s);
    usher__redis_map_free(s);
    usher__redis_free(s->like);
    if (s->locks) {
        (void)pthread_mutex_destroy(&s->lock);
        (void)pthread_cond_destroy(&s->released);
    }
    for (size_t i = 0; i < USHER__REDIS_NOUNS; i++)
        if (s->script[i].text != NULL)
            (void)usher__redis_resize(s->alloc, s->script[i].text, s->script[i].size + 1, 0);
    (void)usher__redis_resize(s->alloc, s, sizeof *s, 0);
}

static const struct usher_store_ops one_server = {
    .size = sizeof(struct usher_store_ops),
    .name = "redis",
    .caps = USHER_CAP_DURABLE | USHER_CAP_SHARED | USHER_CAP_TWO | USHER_CAP_REPLICAS,
    .execute = execute,
    .scan = usher__redis_scan,
    .close = close_redis, /* only the descriptors: the server is told nothing */
    .forget = close_redis,
    .mend = usher__redis_mend,
    .nodes = usher__redis_nodes,
    .begin = begin_batch,
    .go_on = go_on_batch,
    .leave = leave_batch,
};

static const struct usher_store_ops cluster = {
    .size = sizeof(struct usher_store_ops),
    .name = "redis",
    .caps =
        USHER_CAP_DURABLE | USHER_CAP_SHARED | USHER_CAP_TWO | USHER_CAP_LANES | USHER_CAP_REPLICAS,
    .execute = execute,
    .scan = usher__redis_scan,
    .close = close_redis,
    .forget = close_redis,
    .mend = usher__redis_mend,
    .nodes = usher__redis_nodes,
    .lanes = USHER__REDIS_NODES_MAX,
    .route = usher__redis_route,
    .look = usher__redis_look,
};

/* A connection, which is kept: that there is one is known then. */
static enum usher_status first_connection(struct usher__redis_store *s, int64_t deadline_ms,
                                          char message[192])
{
    struct usher__redis_node *node;
    struct usher__redis *r;
    enum usher_status status;

    if (usher__redis_node_at(s, &s->like->hosts[0]) == USHER__REDIS_NODES_MAX)
        return USHER_NOMEM;
    node = s->node[0];
    r = usher__redis_take(s, node);
    if (r == NULL)
        return USHER_NOMEM;
    status = usher__redis_ready(r, deadline_ms);
    if (status != USHER_OK)
        say(message, status, "%s", usher__redis_conn_message(r->conn));
    usher__redis_give(r);
    return status;
}

/* The condition is waited for until a deadline. */
static bool locks_init(struct usher__redis_store *s)
{
    pthread_condattr_t attr;
    bool good;

    if (pthread_condattr_init(&attr) != 0)
        return false;
    good = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) == 0 &&
           pthread_mutex_init(&s->lock, NULL) == 0;
    if (good && pthread_cond_init(&s->released, &attr) != 0) {
        (void)pthread_mutex_destroy(&s->lock);
        good = false;
    }
    (void)pthread_condattr_destroy(&attr);
    return good;
}

static enum usher_status store_new(const struct usher_options *opt, struct usher__redis_store **ret)
{
    struct usher__redis_store *s = usher__redis_resize(opt->alloc, NULL, 0, sizeof *s);
    struct usher__redis *r = usher__redis_resize(opt->alloc, NULL, 0, sizeof *r);

    if (s == NULL || r == NULL) {
        (void)usher__redis_resize(opt->alloc, s, sizeof *s, 0);
        (void)usher__redis_resize(opt->alloc, r, sizeof *r, 0);
        return USHER_NOMEM;
    }
    memset(s, 0, sizeof *s);
    memset(r, 0, sizeof *r);
    s->alloc = r->alloc = opt->alloc;
    s->like = r;
    r->store = s;
    s->locks = locks_init(s);
    r->log = opt->log;
    r->log_payload = opt->payload;
    r->ask_password = opt->password;
    if (getrandom(&r->random, sizeof r->random, GRND_NONBLOCK) != (ssize_t)sizeof r->random)
        r->random = (uint64_t)usher__redis_clock_ms() ^ (uint64_t)(uintptr_t)r;
    *ret = s;
    return USHER_OK;
}

enum usher_status usher__redis_open(void *payload, struct usher_url *url,
                                    const struct usher_options *opt, int64_t deadline_ms,
                                    struct usher_store **ret_store, char message[192])
{
    struct usher__redis_store *s;
    bool is_cluster = strstr(url->scheme, "+cluster") != NULL;
    const char *fault;
    enum usher_status status = store_new(opt, &s);

    (void)payload;
    if (status != USHER_OK)
        return say(message, USHER_NOMEM, "redis: out of memory");
    s->base.ops = is_cluster ? &cluster : &one_server;
    fault = usher__redis_parse(s->like, url);
    for (size_t i = 0; i < url->n_options && fault == NULL; i++) {
        if (!url->options[i].used) {
            say(message, USHER_INVALID,
                usher__redis_is_tls_option(url->options[i].key)
                    ? "redis: the option `%.40s` is for `rediss:`"
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
    message[0] = '\0';
    status = s->locks ? usher__redis_conn_open(opt->alloc, &s->like->options, &s->like->conn)
                      : USHER_NOMEM; /* and never connected: is the URL one? */
    if (status == USHER_OK)
        status = is_cluster ? usher__redis_map_open(s, deadline_ms, message)
                            : first_connection(s, deadline_ms, message);
    if (status != USHER_OK) {
        if (message[0] == '\0')
            say(message, status, "redis: %s", usher_status_text(status));
        close_redis(&s->base);
        return status;
    }
    *ret_store = &s->base;
    return USHER_OK;
}
