/* SPDX-License-Identifier: MIT */
/*
 * Execution of commands given as values.  Stores have operations and results; bind.c, reply.c and
 * `answer.c` convert commands to operations, and results to replies and structs.
 */
#include "config.h"

#include "engine/door.h"

#include <string.h>

#include "engine/engine.h"
#include "encode/bind.h"
#include "engine/flight.h"
#include "change/memory.h"
#include "encode/reply.h"
#include "change/result.h"

#ifdef USHER_HOSTILE
#define SLICE 2 /* commands that are converted at a time */
#else
#define SLICE 256
#endif

/* ---- slices ---------------------------------------------------------------------------------- */

enum usher_status usher__door_fault(bool there, size_t n, int64_t timeout_ms)
{
    const char *fault = NULL;

    if (n == 0 || n > USHER_BATCH_MAX)
        fault = "n is not from 1 to 65536";
    else if (!there)
        fault = "commands or ret_replies is NULL";
    else if (timeout_ms < 0 || timeout_ms > USHER_SPAN_MAX)
        fault = "timeout_ms is not from 0 to a hundred years";
    if (fault == NULL)
        return USHER_OK;
    usher__message_set("execute: %s", fault);
    return USHER_INVALID;
}

/* The memory for one slice of a batch. */
struct slice {
    struct usher_operation *ops;
    struct usher_result *results;
    size_t *at; /* the index of the entry of each */
    char (*epochs)[USHER__EPOCH_SIZE];
    struct usher__entry *entries;
    size_t room; /* of each of them */
    void *block; /* NULL: space for one, in here */
    struct {
        struct usher_operation op;
        struct usher_result result;
        size_t at;
        char epoch[USHER__EPOCH_SIZE];
        struct usher__entry entry;
    } one;
};
#define SLICE_SIZE(n)                                                                       \
    ((n) * (sizeof(struct usher_operation) + sizeof(struct usher_result) + sizeof(size_t) + \
            sizeof(struct usher__entry) + USHER__EPOCH_SIZE))

/* Allocate for batches of @n, with @most at a time.  Return false if there is no memory: then there
 * is space for one. */
static bool slice_begin(struct slice *s, const struct usher_allocator *alloc, size_t n, size_t most)
{
    s->room = n < most ? n : most;
    s->block = n > 1 ? usher__resize(alloc, NULL, 0, SLICE_SIZE(s->room)) : NULL;
    if (s->block == NULL) {
        s->room = 1;
        s->ops = &s->one.op;
        s->results = &s->one.result;
        s->at = &s->one.at;
        s->epochs = &s->one.epoch;
        s->entries = &s->one.entry;
        return n == 1;
    }
    s->ops = s->block;
    s->results = (struct usher_result *)(s->ops + s->room);
    s->entries = (struct usher__entry *)(s->results + s->room);
    s->at = (size_t *)(s->entries + s->room);
    s->epochs = (char(*)[USHER__EPOCH_SIZE])(s->at + s->room);
    return true;
}

static void slice_end(const struct slice *s, const struct usher_allocator *alloc)
{
    if (s->block != NULL)
        (void)usher__resize(alloc, s->block, SLICE_SIZE(s->room), 0);
}

/* Convert up to @s->room commands.  Return the number of valid ones; the others are answered. */
static size_t slice_enter(const struct usher_engine *e, const struct slice *s,
                          const struct usher__entry *entries, size_t n)
{
    size_t k = 0;

    for (size_t i = 0; i < n; i++) {
        const struct usher_command *command = entries[i].command;
        struct usher_result *r = &s->results[k];

        usher__result_blank(r, (enum usher_noun)(command->verb >> 8), e->opt.alloc);
        entries[i].reply->verb = command->verb;
        entries[i].reply->tag = command->tag;
        if (usher__operation_of(command, &s->ops[k], s->epochs[k], r) == USHER_OK)
            s->at[k++] = i;
        else
            usher__reply_leave(entries[i].reply, &s->ops[k], r);
    }
    return k;
}

/* Convert @k results back.  Return @worst, or USHER_UNKNOWN if there was no memory for an
 * answer. */
static enum usher_status slice_leave(const struct slice *s, const struct usher__entry *entries,
                                     size_t k, enum usher_status worst)
{
    for (size_t i = 0; i < k; i++) {
        struct usher_reply *reply = entries[s->at[i]].reply;

        usher__reply_leave(reply, &s->ops[i], &s->results[i]);
        usher_result_done(&s->results[i]);
        if (reply->status == USHER_UNKNOWN && worst < USHER_UNKNOWN)
            worst = USHER_UNKNOWN;
    }
    return worst;
}

/* Execute up to @s->room commands.  Return the worst status. */
static enum usher_status slice(struct usher_engine *e, const struct slice *s,
                               const struct usher__entry *entries, size_t n, int64_t timeout_ms)
{
    enum usher_status worst = USHER_OK;
    size_t k = slice_enter(e, s, entries, n);

    if (k > 0)
        worst = usher__engine_operate(e, s->ops, s->results, k, timeout_ms);
    for (size_t i = 0; i < k && worst == USHER_INVALID; i++)
        /* a fault of the engine: the results were not written */
        usher_result_fail(&s->results[i], USHER_INVALID, usher_message());
    return slice_leave(s, entries, k, worst == USHER_INVALID ? USHER_OK : worst);
}

static int64_t left_ms(int64_t until_ms)
{
    int64_t left = until_ms - usher__monotonic_ms();

    return left > 0 ? left : 1;
}

enum usher_status usher_execute(struct usher_engine *e, const struct usher_command *commands,
                                size_t n, int64_t timeout_ms, struct usher_reply **ret_replies)
{
    enum usher_status worst = usher__engine_check(e);
    struct slice s;
    struct usher_reply *replies;
    int64_t until_ms;

    if (worst == USHER_OK)
        worst = usher__door_fault(commands != NULL && ret_replies != NULL, n, timeout_ms);
    if (ret_replies != NULL)
        *ret_replies = NULL;
    if (worst != USHER_OK)
        return worst;
    replies = usher__replies_new(e->opt.alloc, n);
    if (replies == NULL || !slice_begin(&s, e->opt.alloc, n, SLICE)) {
        if (replies != NULL)
            usher__replies_undo(replies);
        usher__message_set("execute: out of memory");
        return USHER_NOMEM;
    }
    until_ms = usher__monotonic_ms() + (timeout_ms != 0 ? timeout_ms : e->timeout_ms);
    for (size_t i = 0; i < n; i++)
        ret_replies[i] = usher__reply_at(replies, i);
    for (size_t from = 0, k; from < n; from += k) {
        enum usher_status status;

        for (k = 0; k < s.room && k < n - from; k++)
            s.entries[k] = (struct usher__entry){ &commands[from + k], ret_replies[from + k] };
        status = slice(e, &s, s.entries, k, left_ms(until_ms));
        worst = status > worst ? status : worst;
    }
    slice_end(&s, e->opt.alloc);
    return worst;
}

void usher__door_execute(struct usher_engine *e, const struct usher__entry *entries, size_t n,
                         int64_t timeout_ms)
{
    int64_t until_ms = usher__monotonic_ms() + timeout_ms;
    struct slice s;

    (void)slice_begin(&s, e->opt.alloc, n, SLICE);
    for (size_t from = 0, k; from < n; from += k) {
        k = n - from < s.room ? n - from : s.room;
        (void)slice(e, &s, entries + from, k, left_ms(until_ms));
    }
    slice_end(&s, e->opt.alloc);
}

/* ---- without waiting
 * --------------------------------------------------------------------------- */

struct usher__crossing {
    struct usher_engine *e;
    struct usher__flight *flight; /* NULL: none of them is valid */
    size_t k;
    struct slice s;
};

struct usher__crossing *usher__door_begin(struct usher_engine *e,
                                          const struct usher__entry *entries, size_t n,
                                          int64_t timeout_ms)
{
    struct usher__crossing *c = usher__resize(e->opt.alloc, NULL, 0, sizeof *c);

    if (c == NULL)
        return NULL;
    c->e = e;
    c->flight = NULL;
    if (slice_begin(&c->s, e->opt.alloc, n, n)) {
        memcpy(c->s.entries, entries, n * sizeof *entries);
        c->k = slice_enter(e, &c->s, entries, n);
        if (c->k == 0)
            return c;
        c->flight = usher__flight_begin(e, c->s.ops, c->s.results, c->k, timeout_ms);
        if (c->flight != NULL)
            return c;
        for (size_t i = 0; i < c->k; i++)
            usher_result_done(&c->s.results[i]);
        slice_end(&c->s, e->opt.alloc);
    }
    (void)usher__resize(e->opt.alloc, c, sizeof *c, 0);
    return NULL;
}

bool usher__door_go_on(struct usher__crossing *c, struct usher_wait *ret_wait)
{
    return c->flight == NULL || usher__flight_go_on(c->flight, ret_wait);
}

void usher__door_end(struct usher__crossing *c, bool over)
{
    if (c->flight != NULL)
        usher__flight_end(c->flight);
    if (over)
        (void)slice_leave(&c->s, c->s.entries, c->k, USHER_OK);
    for (size_t i = 0; i < c->k && !over; i++)
        usher_result_done(&c->s.results[i]);
    slice_end(&c->s, c->e->opt.alloc);
    (void)usher__resize(c->e->opt.alloc, c, sizeof *c, 0);
}
