/* SPDX-License-Identifier: MIT */
/* A call that waits for scopes which posted commands have: it drives those first. */
#include "config.h"

#include <poll.h>
#include <pthread.h>

#include "change/hooks.h"
#include "core/verbs.h"
#include "engine/hear.h"
#include "engine/post_parts.h"

/* The units (store.h) of the scopes of some commands, as bits. */
struct units {
    uint64_t bits[USHER_UNITS / 64];
};

static unsigned unit_of(const struct usher_engine *e, const char *scope, size_t size)
{
    const struct usher_store_ops *ops = e->store->ops;
    struct usher_text text = { scope, size };

    return ops->unit != NULL ? ops->unit(e->store, &text) % USHER_UNITS : 0;
}

/* Write the units that a command with @verb on a scope needs: that of the scope, and that of its
 * entry in an index.  Return their number. */
static unsigned units_of(const struct usher_engine *e, unsigned verb, const char *scope,
                         size_t size, unsigned ret[2])
{
    const struct usher__verb *about = usher__verb(verb);
    const struct usher__index *index = usher__hooks_of((enum usher_verb)verb)->index;
    char part[USHER_NAME_MAX + 1];
    struct usher_text text = { scope, size };

    ret[0] = unit_of(e, scope, size);
    if (about == NULL || (about->flags & USHER__BEYOND) == 0 || index == NULL)
        return 1;
    index->part(&text, part);
    ret[1] = unit_of(e, part, strlen(part));
    return 2;
}

static void units_add(struct units *u, const struct usher_engine *e, unsigned verb,
                      const char *scope, size_t size)
{
    unsigned unit[2], n = units_of(e, verb, scope, size, unit);

    for (unsigned i = 0; i < n; i++)
        u->bits[unit[i] / 64] |= UINT64_C(1) << (unit[i] % 64);
}

static void units_join(struct units *u, const struct units *with)
{
    for (size_t i = 0; i < USHER_UNITS / 64; i++)
        u->bits[i] |= with->bits[i];
}

static bool units_meet(const struct units *u, const struct units *with)
{
    size_t i = 0;

    while (i < USHER_UNITS / 64 && (u->bits[i] & with->bits[i]) == 0)
        i++;
    return i < USHER_UNITS / 64;
}

/* Write the units of all that is under way in @l.  With the lock. */
static void units_under_way(const struct usher_engine *e, const struct usher__post_lane *l,
                            struct units *ret)
{
    size_t n = l->reading != NULL ? usher__reading_size(l->reading) : 0;
    const struct usher__node *node = l->batch.first;

    memset(ret, 0, sizeof *ret);
    for (size_t i = 0; i < n; i++) {
        const struct usher_operation *op = usher__reading_at(l->reading, i);

        units_add(ret, e, op->verb, op->scope.data, op->scope.size);
    }
    for (; node != NULL; node = node->next) {
        const struct usher_command *c = &((const struct posted *)(const void *)node)->command;

        if (c->scope != NULL)
            units_add(ret, e, c->verb, c->scope, text_size(c->scope_size, c->scope));
    }
}

/*
 * Drive what is under way in @l, as far as possible without waiting, and return 0.  If nothing can
 * be done now, return the time in ms after which to check again, and the descriptor in *@ret.  With
 * the lock, which is released during that.
 */
static int help(struct usher__post *p, struct usher__post_lane *l, int64_t deadline_ms,
                struct pollfd *ret)
{
    int ms;

    if (l->going_on)
        return 1; /* another thread does it */
    *ret = (struct pollfd){ l->wait.fd, l->wait.events, 0 };
    ms = usher__post_ms_until(l->wait.until_ms < deadline_ms ? l->wait.until_ms : deadline_ms);
    if (ms > 0 && poll(ret, 1, 0) <= 0)
        return ms < HELP_MS ? ms : HELP_MS;
    ret->fd = -1;
    usher__post_go_on(p, l);
    return 0;
}

/*
 * Drive the batches and readings of all lanes that have one of @units, and wait until one of them
 * can go on.  Such a batch may itself wait for units that a batch of another lane has, so its units
 * are added to @helped, and the batches on those are driven as well.  Return false if no lane has
 * @units.
 */
static bool help_lanes(const struct usher_engine *e, struct usher__post *p,
                       const struct units *units, struct units *helped, int64_t deadline_ms)
{
    struct pollfd fds[USHER__POST_LANES];
    bool found = false;
    int least_ms = HELP_MS;
    nfds_t n = 0;

    (void)pthread_mutex_lock(&p->lock);
    for (unsigned i = 0; i < p->n_lanes; i++) {
        struct usher__post_lane *l = &p->lane[i];
        struct units of;
        int ms;

        if (!is_under_way(l))
            continue;
        units_under_way(e, l, &of);
        if (!units_meet(&of, helped))
            continue;
        found = found || units_meet(&of, units);
        units_join(helped, &of);
        fds[n] = (struct pollfd){ .fd = -1 };
        ms = help(p, l, deadline_ms, &fds[n++]);
        least_ms = ms < least_ms ? ms : least_ms;
    }
    (void)pthread_mutex_unlock(&p->lock);
    if (found && least_ms > 0)
        (void)poll(fds, n, least_ms);
    return found;
}

void usher__post_settle(struct usher_engine *e, const struct usher_operation *commands, size_t n,
                        int64_t deadline_ms)
{
    struct usher__post *p = atomic_load(&e->post);
    struct units units = { { 0 } }, helped;

    for (size_t i = 0; i < n; i++)
        units_add(&units, e, commands[i].verb, commands[i].scope.data, commands[i].scope.size);
    helped = units;
    while (atomic_load(&e->claiming) != 0 && usher__post_ms_until(deadline_ms) > 0)
        if (!help_lanes(e, p, &units, &helped, deadline_ms))
            break;
    usher__message_clear();
}
