/* SPDX-License-Identifier: MIT */
/*
 * A command is one call of a script (lua/); all commands for one server are one pipeline.
 *
 * A task is answered, or surely not sent, or in doubt (sent, and the connection broke).  A task
 * that was not sent, or that the server refused before the script wrote anything, is sent again
 * until the deadline; in a cluster the waiting thread sends it, because its scope may have moved by
 * then.  A task in doubt is sent again only if that cannot have an effect twice; else it is
 * UNKNOWN.
 */
#include "config.h"

#include "pipeline.h"

#include <stdio.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "clock.h"
#include "number_fast.h"

typedef struct usher__redis_calls pipeline;

#define NONE UINT16_MAX
/* The error of lua/rights.lua if it refuses a call. */
#define LACKS "NOPERM the user lacks "
/* The beginning of the error that lua/dispatch.lua returns if the server refuses TIME to scripts.
 */
#define NO_TIME "NOTIME "
/* Commands in one call: the server does nothing else during it. */
#ifdef USHER_HOSTILE
#define CALL_MAX 3
#else
#define CALL_MAX 64
#endif

static uint64_t next_random(struct usher__redis *r)
{
    uint64_t z = (r->random += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Set when the next try begins.  Return false if the deadline is near. */
static bool pause_until(struct usher__redis *r, unsigned tries, int64_t deadline_ms,
                        int64_t *ret_until_ms)
{
    int64_t now_ms = usher__redis_clock_ms();
    int64_t longest = tries < 6 ? INT64_C(1) << tries : 64;
    int64_t wait = 1 + (int64_t)(next_random(r) % (uint64_t)longest);

    *ret_until_ms = now_ms + wait;
    /* a command that is sent without time for its answer would be in doubt */
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

static enum usher_noun noun_of(const struct usher_operation *c)
{
    return (enum usher_noun)((unsigned)c->verb >> 8);
}

/* ---- answers ----------------------------------------------------------------------- */

static void fail(pipeline *b, size_t i, enum usher_status status, const char *why)
{
    usher_result_fail(b->tasks[i].reply, status, why);
    b->done[i] = true;
}

/* Use the answer of the script to task @i; NULL: the call had no answer for it. */
static void understood(pipeline *b, size_t i, const struct redisReply *reply)
{
    struct usher_task *task = &b->tasks[i];
    enum usher_status status = USHER_INVALID;

    USHER_ASSERT(i < b->n && !b->done[i]); /* an answer for each, once */
    if (reply != NULL && reply->type == REDIS_REPLY_STRING) {
        if (usher__redis_fast_answer(task->command, reply->str, reply->len, task->reply))
            status = USHER_OK;
        else
            status =
                usher_result_unpack(task->command, reply->str, reply->len, task->reply, b->context);
    }
    b->done[i] = true;
    if (status == USHER_OK)
        return;
    if (status == USHER_NOMEM &&
        (usher_operation_flags(task->command) & USHER_OPERATION_WRITES) == 0)
        usher_result_fail(task->reply, status, "out of memory");
    else
        usher_result_fail(task->reply, USHER_UNKNOWN, "redis: malformed reply");
}

/* The reason why the server refused a command on the scope of @c.  The server names no keys. */
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

static bool same_scope(const struct usher_operation *a, const struct usher_operation *b)
{
    return noun_of(a) == noun_of(b) && a->scope.size == b->scope.size &&
           memcmp(a->scope.data, b->scope.data, a->scope.size) == 0;
}

static bool reads(const struct usher_operation *c)
{
    return (usher_operation_flags(c) & USHER_OPERATION_WRITES) == 0;
}

/* Return the status of task @i if it cannot be sent again.  A read has changed nothing. */
static enum usher_status not_done(const pipeline *b, size_t i)
{
    return b->doubt[i] && !reads(b->tasks[i].command) ? USHER_UNKNOWN : USHER_UNAVAILABLE;
}

/* The thread that waits for task @i sends it to the node in @reply. */
static void redirected(struct usher__redis *r, pipeline *b, size_t i,
                       const struct redisReply *reply, bool asks)
{
    struct usher_task *task = &b->tasks[i];
    unsigned number = usher__redis_redirected(r, reply, asks);

    fail(b, i, not_done(b, i), usher__redis_conn_explain(r->conn, reply));
    task->again = number < USHER__REDIS_NODES_MAX ? USHER_AGAIN_NOW : USHER_AGAIN_LATER;
    task->state = b->doubt[i] ? USHER__REDIS_DOUBT : 0;
    if (asks && number < USHER__REDIS_NODES_MAX) {
        task->state |= USHER__REDIS_ASKING;
        task->lane = (uint16_t)number;
    }
}

/* The server does not have the script of task @i: its text is sent with the next try, by EVAL, or
 * by SCRIPT LOAD if the server refuses EVAL. */
static void missing(struct usher__redis *r, pipeline *b, size_t i)
{
    enum usher_noun noun = noun_of(b->tasks[i].command);
    struct usher__redis_loaded *script = &r->script[noun];

    if ((b->refused >> noun & 1) != 0) {
        fail(b, i, USHER_UNAVAILABLE, b->refusal);
        return;
    }
    script->missing = !r->no_eval;
    if (r->no_eval)
        script->sha[0] = '\0';
    b->at_once = true;
}

/* Use the server's answer to task @i, or to its part of a call with several tasks.  Depending on
 * the answer the task is sent again. */
static void answered(struct usher__redis *r, pipeline *b, size_t i, const struct redisReply *reply,
                     enum usher__redis_class class)
{
    struct usher_task *task = &b->tasks[i];

    switch (class) {
    case USHER__REDIS_OK:
        understood(b, i, reply);
        break;
    case USHER__REDIS_NOSCRIPT:
        missing(r, b, i);
        break;
    case USHER__REDIS_RETRY:
        (void)usher__redis_conn_explain(r->conn, reply);
        if (strncmp(reply->str, "TRYAGAIN", 8) != 0 && strncmp(reply->str, "BUSY", 4) != 0)
            usher__redis_doubt(r->store);
        break;
    case USHER__REDIS_SCRIPT_ERROR:
        fail(b, i, USHER_UNKNOWN, usher__redis_conn_explain(r->conn, reply));
        break;
    case USHER__REDIS_MOVED:
    case USHER__REDIS_ASK:
        if (r->store->map == NULL)
            fail(b, i, USHER_UNAVAILABLE,
                 "redis: the server is a node of a cluster: use redis+cluster://");
        else
            redirected(r, b, i, reply, class == USHER__REDIS_ASK);
        break;
    default: { /* refused: some of it may pass */
        const char *why = refused_because(r, task->command, reply);

        /* The server is no master any more: close its connections. */
        if (strncmp(reply->str, "READONLY", 8) == 0) {
            atomic_fetch_add(&r->node->demotions, 1);
            usher__redis_doubt(r->store);
        }
        if (strncmp(reply->str, "READONLY", 8) != 0 && strncmp(reply->str, "OOM", 3) != 0 &&
            strncmp(reply->str, "MISCONF", 7) != 0)
            fail(b, i, USHER_UNAVAILABLE, why);
        break;
    }
    }
    USHER_ASSERT(!b->done[i] || b->left > 0);
    b->left -= b->done[i];
}

/*
 * Keep the order of commands on a scope: a refused command is not sent again if a later command on
 * the same scope has been answered, or may have been applied.  Its answer is that it was not
 * applied.
 */
static void keep_order(pipeline *b)
{
    for (size_t i = 0; i < b->n && b->left > 0; i++) {
        bool passed = false;

        if (b->done[i] || b->doubt[i])
            continue;
        for (size_t k = i + 1; k < b->n && !passed; k++)
            passed = (b->doubt[k] || (b->done[k] && b->tasks[k].reply->status <= USHER_STALE)) &&
                     same_scope(b->tasks[i].command, b->tasks[k].command);
        if (passed) {
            fail(b, i, USHER_UNAVAILABLE,
                 "redis: not sent again: a later command on the pool was executed");
            b->left--;
        }
    }
}

/*
 * Return whether task @i can be sent again although it may have been applied.  It cannot if a
 * command of another kind on its scope was sent with it: the repeat of the first would come after
 * the effect of the second, and a second with a request id is not applied again.
 */
static bool repeatable(const pipeline *b, size_t i)
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

/* Group the tasks to be sent into calls on one scope each. */
static void make_calls(pipeline *b)
{
    bool taken[USHER__REDIS_TASKS_MAX] = { false };

    b->calls = 0;
    for (size_t i = 0; i < b->n; i++) {
        size_t last = i, size = 1;

        if (b->done[i] || taken[i])
            continue;
        b->first[b->calls++] = (uint16_t)i;
        for (size_t k = i + 1; k < b->n && k <= i + CALL_MAX && size < CALL_MAX; k++) {
            if (b->done[k] || taken[k] || !same_scope(b->tasks[i].command, b->tasks[k].command))
                continue;
            taken[k] = true;
            b->next[last] = (uint16_t)k;
            last = k;
            size++;
        }
        b->next[last] = NONE;
    }
}

static size_t call_size(const pipeline *b, size_t call)
{
    size_t size = 0;

    for (uint16_t i = b->first[call]; i != NONE; i = b->next[i])
        size++;
    return size;
}

/* Make space for @size more bytes after the packed ones. */
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

/* Append @c: the count of its values, and the values.  *@values grows by both. */
static bool pack_command(struct usher__redis *r, const struct usher_operation *c,
                         const struct usher_context *context, unsigned *values)
{
    /* verbs that may create the scope contain its epoch */
    uint64_t epoch =
        (usher_operation_flags(c) & USHER_OPERATION_CREATES) != 0 ? next_random(r) | 1 : 0;
    bool watched = context->notify != NULL;
    unsigned char *at;
    size_t size = usher_operation_pack(c, context->now_ms, epoch, watched, NULL, 0);

    if (!packed_room(r, size))
        return false;
    at = r->packed + r->packed_n;
    r->packed_n += usher_operation_pack(c, context->now_ms, epoch, watched, at, size);
    /* replace the array header by a number of the same size */
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
 * Pack the arguments of the script: the counts of commands, of those of the fast path without a
 * record, and of those of the fast path; the index of the first field name; the limit by which a
 * time may be ahead; the expected server (0: unknown, -1: a direct call); the commands; and the
 * fields that are read from the hash first: the header, the settings, the records of commands of
 * the fast path.  lua/dispatch.lua adds the first records of other commands.
 */
static bool pack_call(struct usher__redis *r, const pipeline *b, size_t call)
{
    static const char names[] = "\xa4head\xa8settings";
    unsigned n = 0, brief = 0, values = 6, records = 0, left;
    unsigned char *at;

    r->packed_n = HEAD;
    for (uint16_t i = b->first[call]; i != NONE; i = b->next[i], n++) {
        const struct usher_operation *c = b->tasks[i].command;

        if (!usher__redis_is_fast(c, b->context)) {
            if (!pack_command(r, c, b->context, &values))
                return false;
            continue;
        }
        if (!packed_room(r, USHER__REDIS_FAST_MAX))
            return false;
        brief++;
        if (usher__redis_fast_reads(c))
            records++;
        r->packed_n +=
            usher__redis_fast(c, b->context, 2 + records, r->packed + r->packed_n, &values);
    }
    if (!packed_room(r, sizeof names))
        return false;
    memcpy(r->packed + r->packed_n, names, sizeof names - 1);
    r->packed_n += sizeof names - 1;
    left = records;
    for (uint16_t i = b->first[call]; i != NONE && left > 0; i = b->next[i]) {
        const struct usher_operation *c = b->tasks[i].command;

        if (!usher__redis_is_fast(c, b->context) || !usher__redis_fast_reads(c))
            continue;
        if (!packed_room(r, USHER__REDIS_FAST_MAX))
            return false;
        r->packed_n += usher__redis_fast_field(c, r->packed + r->packed_n);
        left--;
    }
    values++;
    at = r->packed;
    *at++ = (unsigned char)n;
    *at++ = (unsigned char)(brief - records);
    *at++ = (unsigned char)brief;
    *at++ = 0xcd;
    *at++ = (unsigned char)(values >> 8);
    *at++ = (unsigned char)(values & 0xff);
    at = put_number(at, (uint64_t)b->context->skew_ms);
    (void)put_number(at, r->server);
    return true;
}

static bool call_writes(const pipeline *b, size_t call)
{
    uint16_t i = b->first[call];

    while (i != NONE && reads(b->tasks[i].command))
        i = b->next[i];
    return i != NONE;
}

/*
 * Return which rights the script must check before it does the call (lua/rights.lua), or NULL.  The
 * first calls of a noun on a connection contain the check.  So it costs no round trip, no other
 * command comes in between, and it is made with the user and the keys of the call.
 */
static const char *question(const struct usher__redis_loaded *script, const pipeline *b,
                            size_t call)
{
    if (script->may == USHER__REDIS_MAY_WRITE)
        return NULL;
    if (call_writes(b, call))
        return "write";
    return script->may == USHER__REDIS_MAY_READ ? NULL : "read";
}

/* Return whether a call on the scope of @call precedes it in the pipeline, because that one was
 * full or
 * @call was out of its range: see make_calls().  If that call leaves expiries that are due, its
 * commands are deferred, and so must be those of @call: the script then applies none.  *@ret_ms:
 * the latest time of the commands before it, 0 if they have none. */
static bool follows_another(const pipeline *b, size_t call, int64_t *ret_ms)
{
    const struct usher_operation *c = b->tasks[b->first[call]].command;
    bool follows = false;

    *ret_ms = 0;
    for (size_t i = 0; i < call && b->first[i] + CALL_MAX <= b->first[call]; i++) {
        if (!same_scope(c, b->tasks[b->first[i]].command))
            continue;
        follows = true;
        for (uint16_t k = b->first[i]; k != NONE; k = b->next[k]) {
            const struct usher_operation *before = b->tasks[k].command;

            if ((before->given & USHER_GIVEN_NOW) != 0 && before->now_ms > *ret_ms)
                *ret_ms = before->now_ms;
        }
    }
    return follows;
}

static bool append_call(struct usher__redis *r, pipeline *b, size_t call)
{
    const struct usher_operation *c = b->tasks[b->first[call]].command;
    const struct usher__redis_loaded *script = &r->script[noun_of(c)];
    const char *asks = question(script, b, call);
    int64_t before_ms;
    bool follows = follows_another(b, call, &before_ms);
    bool whole = script->missing && (b->texts >> noun_of(c) & 1) == 0;
    unsigned more = r->no_time ? 3 : follows ? 2 : asks != NULL ? 1 : 0;
    struct usher_text text;
    char key[USHER__REDIS_KEY_MAX];
    size_t size;

    if (!packed_room(r, HEAD) || !pack_call(r, b, call) ||
        (whole && usher__redis_text(r, noun_of(c), &text) != USHER_OK))
        return false;
    b->asks[call] = false;
    for (uint16_t i = b->first[call]; i != NONE; i = b->next[i])
        b->asks[call] = b->asks[call] || (b->tasks[i].state & USHER__REDIS_ASKING) != 0;
    if (b->asks[call]) { /* holds for one command */
        usher__redis_conn_begin(r->conn, 1);
        usher__redis_conn_arg(r->conn, "ASKING", 6);
    }
    usher__redis_conn_begin(r->conn, 7 + more);
    if (whole) { /* later calls of the noun find the script */
        usher__redis_conn_arg(r->conn, "EVAL", 4);
        usher__redis_conn_arg(r->conn, text.data, text.size);
        b->texts |= 1u << noun_of(c);
        b->carrier[noun_of(c)] = (uint16_t)call;
    } else {
        usher__redis_conn_arg(r->conn, "EVALSHA", 7);
        usher__redis_conn_arg(r->conn, script->sha, 40);
    }
    usher__redis_conn_arg(r->conn, "3", 1);
    size = usher__redis_key(r, noun_of(c), &c->scope, "", key);
    usher__redis_conn_arg(r->conn, key, size);
    size = usher__redis_key(r, noun_of(c), &c->scope, ":index", key);
    usher__redis_conn_arg(r->conn, key, size);
    size = usher__redis_key(r, noun_of(c), &c->scope, ":held", key);
    usher__redis_conn_arg(r->conn, key, size);
    usher__redis_conn_arg(r->conn, r->packed, r->packed_n);
    if (more > 0)
        usher__redis_conn_arg_str(r->conn, asks != NULL ? asks : "");
    if (follows)
        usher__redis_conn_arg_i64(r->conn, before_ms);
    else if (more > 1)
        usher__redis_conn_arg(r->conn, "", 0);
    if (r->no_time)
        usher__redis_conn_arg_i64(r->conn, usher__redis_wall_us());
    return true;
}

/* The server refuses TIME to scripts: send all calls again with the time of this machine's clock,
 * and use it for later calls of this connection. */
static void goes_by_own_clock(struct usher__redis *r, pipeline *b)
{
    r->no_time = true;
    b->at_once = true;
    if (!atomic_exchange(&r->store->told_no_time, true))
        usher__redis_log(
            r, USHER_LOG_WARNING,
            "redis: scripts may not read the server's clock (TIME): commands without now= "
            "have the time of this machine's clock");
}

/* Return whether EVAL itself is refused, and not a key or a command of the script. */
static bool refuses_eval(const struct redisReply *reply)
{
    return strstr(reply->str, "eval") != NULL || strstr(reply->str, "EVAL") != NULL;
}

/* The server refuses EVAL and SCRIPT: answer the later calls of @noun with @why.  The next batch
 * tries both again. */
static void no_way(struct usher__redis *r, pipeline *b, enum usher_noun noun, const char *why)
{
    b->refused |= 1u << noun;
    (void)snprintf(b->refusal, sizeof b->refusal, "%s", why);
    r->no_eval = r->no_script = r->script[noun].missing = false;
    r->script[noun].sha[0] = '\0';
}

/* Use the answer to a call: pass its parts to the tasks. */
static void call_answered(struct usher__redis *r, pipeline *b, size_t call,
                          const struct redisReply *reply)
{
    struct usher__redis_loaded *script = &r->script[noun_of(b->tasks[b->first[call]].command)];
    enum usher__redis_class class = usher__redis_classify(reply);
    size_t size = call_size(b, call), k = 0;
    bool several =
        class == USHER__REDIS_OK && reply->type == REDIS_REPLY_ARRAY && reply->elements == size;
    bool writes = call_writes(b, call);
    enum usher_noun noun = noun_of(b->tasks[b->first[call]].command);
    bool carries = (b->texts >> noun & 1) != 0 && b->carrier[noun] == call;
    bool denied = carries && class == USHER__REDIS_REFUSED && refuses_eval(reply);
    /* a right to write is missing: send the reading ones again, without the others */
    bool apart = class == USHER__REDIS_REFUSED && writes &&
                 strncmp(reply->str, LACKS, sizeof LACKS - 1) == 0;

    if (reply->type == REDIS_REPLY_ERROR && !b->own_clock &&
        strncmp(reply->str, NO_TIME, sizeof NO_TIME - 1) == 0) {
        script->missing = false; /* it has run */
        goes_by_own_clock(r, b);
        return;
    }
    if (denied) {
        r->no_eval = true;
        if (!r->no_script)
            class = USHER__REDIS_NOSCRIPT;
    }
    if (class == USHER__REDIS_OK)
        script->missing = false;
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
    if (denied && r->no_script)
        no_way(r, b, noun, usher__redis_conn_message(r->conn));
}

/* No answer to call @call was read: it may have been applied. */
static void in_doubt(struct usher__redis *r, pipeline *b, size_t call)
{
    for (uint16_t i = b->first[call]; i != NONE; i = b->next[i]) {
        b->doubt[i] = true;
        if (!repeatable(b, i)) {
            fail(b, i, not_done(b, i), usher__redis_conn_message(r->conn));
            b->left--;
        }
    }
}

/* Return the nouns of the tasks to be sent. */
static unsigned nouns_of(const pipeline *b)
{
    unsigned nouns = 0;

    for (size_t i = 0; i < b->n; i++)
        if (!b->done[i])
            nouns |= 1u << noun_of(b->tasks[i].command);
    return nouns;
}

/*
 * Call usher__redis_prepare() for @b.  If the server refuses SCRIPT, as some proxies do, a call
 * contains the text of the script.  If it refuses EVAL, too, this refusal is the answer to all
 * tasks of the noun, as if they had been sent.
 */
static enum usher_status prepare(struct usher__redis *r, pipeline *b, int64_t deadline_ms)
{
    for (;;) {
        unsigned nouns = nouns_of(b);
        enum usher_status status = usher__redis_prepare(r, nouns, deadline_ms);

        if (status != USHER_REFUSED)
            return status;
        if (!r->no_eval) {
            usher__redis_replies_free(r);
            r->no_script = true;
            status = usher__redis_name_script(r, r->loads);
            if (status != USHER_OK)
                return status;
            continue;
        }
        r->no_eval = false;
        for (size_t i = 0; i < b->n; i++)
            if (!b->done[i] && noun_of(b->tasks[i].command) == r->loads)
                answered(r, b, i, r->replies[0], USHER__REDIS_REFUSED);
        usher__redis_replies_free(r);
        if ((nouns_of(b) >> r->loads & 1) != 0)
            return USHER_UNAVAILABLE; /* later, perhaps */
    }
}

/* Send all open tasks in one pipeline, on a prepared connection. */
static enum usher_status send_calls(struct usher__redis *r, pipeline *b)
{
    enum usher_status status;

    b->calls = b->at = b->request = 0;
    b->lost = USHER_OK;
    b->texts = b->refused = 0;
    b->at_once = false;
    b->own_clock = r->no_time;
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

/* Read the answer to the next request.  Return false if it has not arrived yet.  If it cannot
 * arrive,
 * @b->lost is set. */
static bool next_answer(struct usher__redis *r, pipeline *b, struct redisReply **ret)
{
    if (b->lost == USHER_OK)
        b->lost = usher__redis_conn_next(r->conn, ret);
    if (b->lost != USHER__REDIS_WAITS)
        return true;
    b->lost = USHER_OK;
    return false;
}

/* A user without the right to ASKING is redirected again: the answer to ASKING has the reason. */
static bool denied(const struct redisReply *asking, const struct redisReply *reply)
{
    return asking != NULL && usher__redis_classify(asking) == USHER__REDIS_REFUSED &&
           usher__redis_classify(reply) == USHER__REDIS_MOVED;
}

/* Read the answers that have arrived.  The status is that of the connection. */
static enum usher_status read_answers(struct usher__redis *r, pipeline *b)
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

/* End the retries here; in a cluster the waiting thread continues them. */
static void give_up(const struct usher__redis *r, pipeline *b, enum usher_status status,
                    const char *why)
{
    bool again = r->store->map != NULL && status != USHER_NOMEM && status != USHER_INVALID;

    for (size_t i = 0; i < b->n; i++) {
        struct usher_task *task = &b->tasks[i];
        const struct usher__redis_loaded *script;

        if (b->done[i])
            continue;
        fail(b, i, status == USHER_NOMEM && !b->doubt[i] ? USHER_NOMEM : not_done(b, i),
             why[0] != '\0' ? why : "redis: no answer before the deadline");
        if (!again)
            continue;
        /* the next try sends a missing script */
        script = &r->script[noun_of(task->command)];
        task->again = status == USHER_OK && (script->missing || script->sha[0] == '\0')
                          ? USHER_AGAIN_NOW
                          : USHER_AGAIN_LATER;
        task->state = b->doubt[i] ? USHER__REDIS_DOUBT : 0;
    }
}

/* ---- the pipeline ---------------------------------------------------------------------- */

void usher__redis_pipeline_begin(struct usher__redis_pipeline *t, struct usher__redis *r,
                                 struct usher_task *tasks, size_t n,
                                 const struct usher_context *context)
{
    t->r = r;
    t->stage = USHER__REDIS_PREPARING;
    t->tries = 0;
    t->late = false;
    t->status = USHER_OK;
    t->why[0] = '\0';
    t->b.tasks = tasks;
    t->b.n = t->b.left = n;
    t->b.calls = t->b.at = t->b.request = 0;
    t->b.texts = t->b.refused = 0;
    t->b.own_clock = t->b.at_once = false;
    t->b.context = context;
    t->b.lost = USHER_OK;
    t->b.asked = false;
    t->b.asking = NULL;
    for (size_t i = 0; i < n; i++) {
        t->b.done[i] = false;
        t->b.doubt[i] = (tasks[i].state & USHER__REDIS_DOUBT) != 0;
    }
}

/* Send the tasks, or send them again.  Return false to wait. */
static bool pipeline_send(struct usher__redis_pipeline *t)
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
        t->stage = USHER__REDIS_READING;
    return true;
}

/* Read the answers.  Return false to wait. */
static bool pipeline_read(struct usher__redis_pipeline *t)
{
    t->status = read_answers(t->r, &t->b);
    if (t->status != USHER__REDIS_WAITS)
        return true;
    /* Read once more for bytes that have already arrived, but not for those that follow. */
    if (!t->late) {
        t->late = usher__redis_clock_ms() >= t->b.context->deadline_ms;
        return false;
    }
    t->b.lost = usher__redis_conn_late(t->r->conn);
    t->status = read_answers(t->r, &t->b);
    return true;
}

/* A try is over.  Return whether there is another one. */
static bool pipeline_again(struct usher__redis_pipeline *t)
{
    struct usher__redis *r = t->r;
    int64_t deadline_ms = t->b.context->deadline_ms;
    bool was_sent = t->stage == USHER__REDIS_READING;

    t->stage = USHER__REDIS_PREPARING;
    if (t->b.left == 0)
        return false;
    if (t->status == USHER_OK && t->tries < 8 && t->b.at_once) {
        t->tries++;
        return true;
    }
    if (was_sent && t->b.left < t->before)
        t->tries = 0;
    if (t->status != USHER_OK)
        usher__redis_doubt(r->store);
    if (t->why[0] == '\0' || usher__redis_clock_ms() < deadline_ms ||
        usher__redis_conn_said_why(r->conn))
        (void)snprintf(t->why, sizeof t->why, "%s", usher__redis_conn_message(r->conn));
    t->stage = USHER__REDIS_PAUSING;
    return t->status != USHER_NOMEM && t->status != USHER_INVALID && r->store->map == NULL &&
           pause_until(r, t->tries++, deadline_ms, &t->until_ms);
}

bool usher__redis_pipeline_continue(struct usher__redis_pipeline *t, struct usher_wait *ret)
{
    int64_t deadline_ms = t->b.context->deadline_ms;

    do {
        if (t->stage == USHER__REDIS_PAUSING && usher__redis_clock_ms() < t->until_ms) {
            *ret = (struct usher_wait){ .fd = -1, .until_ms = t->until_ms };
            return false;
        }
        if (t->stage != USHER__REDIS_READING)
            t->stage = USHER__REDIS_PREPARING;
        if ((t->stage == USHER__REDIS_PREPARING && !pipeline_send(t)) ||
            (t->stage == USHER__REDIS_READING && !pipeline_read(t))) {
            usher__redis_wants(t->r, ret);
            ret->until_ms = deadline_ms < ret->until_ms ? deadline_ms : ret->until_ms;
            return false;
        }
    } while (pipeline_again(t));
    give_up(t->r, &t->b, t->status,
            t->why[0] != '\0' ? t->why : usher__redis_conn_message(t->r->conn));
    return true;
}

void usher__redis_pipeline_release(struct usher__redis_pipeline *t)
{
    freeReplyObject(t->b.asking);
    t->b.asking = NULL;
    usher__redis_conn_discard(t->r->conn);
}
