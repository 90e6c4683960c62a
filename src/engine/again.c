/* SPDX-License-Identifier: MIT */
/* Retries of tasks that a server did not do, because their scope is on another one by now. */
#include "config.h"

#include "engine/again.h"

#include "core/text.h"
#include "engine/engine.h"
#include "change/result.h"

/* Return whether a command after @tasks[i] on its scope was done, or may have been.  A command in
 * doubt may have been done, too, before it is repeated, but not before one that is in doubt. */
static bool passed(const struct usher_task *tasks, size_t i, size_t n)
{
    const struct usher_operation *c = tasks[i].command;
    bool in_doubt = tasks[i].reply->status == USHER_UNKNOWN;

    for (size_t k = i + 1; k < n; k++)
        if ((tasks[k].again == 0 || (!in_doubt && tasks[k].reply->status == USHER_UNKNOWN)) &&
            (unsigned)tasks[k].command->verb >> 8 == (unsigned)c->verb >> 8 &&
            (tasks[k].reply->status < USHER_INVALID || tasks[k].reply->status == USHER_UNKNOWN) &&
            usher__text_equal(&c->scope, &tasks[k].command->scope))
            return true;
    return false;
}

/* Return the pause before try number @tries.  It is longer each time, with a random part; the first
 * two retries after a redirect have none.  < 0: no time is left for an answer. */
static int64_t pause_ns(unsigned tries, bool later, int64_t deadline_ms)
{
    int64_t now_ns = usher__monotonic_ns(), ms = INT64_C(1) << (tries < 6 ? tries : 6), ns = 0;

    if (later || tries > 2)
        ns = ms * 500000 + (now_ns >> 4) % (ms * 500000);
    /* else its outcome could be unknown */
    return (now_ns + ns) / 1000000 + 5 < deadline_ms ? ns : -1;
}

bool usher__again_begin(struct usher__again *a, const struct usher_allocator *alloc,
                        int64_t deadline_ms, int64_t *ret_pause_ns)
{
    bool later = false;

    a->n_rest = 0;
    for (size_t i = 0; i < a->n; i++) {
        struct usher_task *t = &a->tasks[i];

        if (t->again != 0 && passed(a->tasks, i, a->n)) {
            if (t->reply->status != USHER_UNKNOWN)
                usher_result_fail(t->reply, USHER_UNAVAILABLE,
                                  "not sent again: a later command on the scope was executed");
            t->again = 0;
        }
        if (t->again == 0)
            continue;
        later = later || t->again == USHER_AGAIN_LATER;
        a->rest[a->n_rest] = *t;
        a->rest[a->n_rest++].again = 0;
    }
    if (a->n_rest == 0)
        return false;
    *ret_pause_ns = pause_ns(++a->tries, later, deadline_ms);
    if (*ret_pause_ns < 0) {
        a->n_rest = 0;
        return false;
    }
    for (size_t i = 0; i < a->n_rest; i++) {
        struct usher_result *r = a->rest[i].reply;

        a->doubt[i] = r->status == USHER_UNKNOWN;
        usher_result_done(r);
        usher__result_init(r, (enum usher_noun)((unsigned)a->rest[i].command->verb >> 8), alloc);
    }
    return true;
}

void usher__again_end(struct usher__again *a)
{
    /* a task whose turn has not come has only this try */
    for (size_t i = 0; i < a->n_rest; i++)
        if (a->doubt[i] && a->rest[i].reply->status == USHER_UNAVAILABLE)
            a->rest[i].reply->status = USHER_UNKNOWN;
    /* done tasks stay there for passed() */
    for (size_t i = 0, k = 0; i < a->n; i++)
        if (a->tasks[i].again != 0)
            a->tasks[i] = a->rest[k++];
}
