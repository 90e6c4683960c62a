/* SPDX-License-Identifier: MIT */
/* Watchers whose scopes are swept when something is due. */
#include "config.h"

#include <string.h>

#include "change/hooks.h"
#include "engine/clock.h"
#include "engine/hear_parts.h"

static int64_t clock_ms(const struct usher_engine *e)
{
    struct usher__inside here;
    int64_t ms;

    if (e->opt.now_ms == NULL)
        return usher__wall_ms();
    usher__callout_begin(&here, e);
    ms = e->opt.now_ms(e->opt.payload);
    usher__callout_end(&here);
    return ms;
}

/* Return the time of the store's clock, as far as it is known. */
int64_t usher__heard_store_ms(const struct usher__heard *h)
{
    return clock_ms(h->p->e) + h->ahead_ms;
}

/* Set the store's clock from an answer to a command of the engine's own; 0: it failed.  The time of
 * a notice cannot be used, because the command of the change may have had another time (now=). */
void usher__heard_set_clock(struct usher__heard *h, int64_t now_ms)
{
    if (now_ms != 0)
        h->ahead_ms = now_ms - clock_ms(h->p->e);
}

static void tend_in(struct usher__heard *h, int64_t ms)
{
    int64_t at_ms = usher__monotonic_ms() + ms;

    if (at_ms < h->tend_ms)
        tend_at(h, at_ms);
}

/* Sweep in @ms, whether something is due or not. */
void usher__heard_sweep_in(struct usher__heard *h, int64_t ms)
{
    h->due_ms = 0;
    tend_in(h, ms);
}

/* Forget the time: the next sweep depends on later notices and answers. */
void usher__heard_tend_not(struct usher__heard *h)
{
    h->due_ms = USHER_NEVER;
    tend_at(h, INT64_MAX);
}

/* Sweep at @due_ms (0: not known), before which nothing is due, but not before @least_ms from
 * now. */
void usher__heard_tend(struct usher__heard *h, int64_t due_ms, int64_t least_ms)
{
    int64_t left_ms = 0;

    if (due_ms == USHER_NEVER)
        return;
    if (due_ms < h->due_ms)
        h->due_ms = due_ms;
    /* both clocks are read in whole milliseconds: one more, so that it is not too early */
    if (due_ms != 0)
        left_ms = due_ms - usher__heard_store_ms(h) + 1;
    if (left_ms > LOOK_MS)
        left_ms = LOOK_MS;
    tend_in(h, left_ms > least_ms ? left_ms : least_ms);
}

void usher__heard_swept(struct usher__heard *h, const struct usher_result *r)
{
    /* the answer replaces the times of notices that came before it */
    if (USHER_IS_DONE(r->status) && h->told <= r->version)
        usher__heard_tend_not(h);
    usher__heard_set_clock(h, r->now_ms);
    switch (r->status) {
    case USHER_OK:
        h->early_ms = EARLY_MS;
        usher__heard_tend(h, r->due_ms, 0);
        break;
    case USHER_SAME:
        h->early_ms = r->due_ms > usher__heard_store_ms(h) ? EARLY_MS : 2 * h->early_ms;
        if (h->early_ms > LOOK_MS)
            h->early_ms = LOOK_MS;
        usher__heard_tend(h, r->due_ms, h->early_ms);
        break;
    case USHER_MISSING: /* there is a notice when it is created */
        break;
    default:
        usher__heard_sweep_in(h, RETRY_MS);
        break;
    }
    /* more became due during the sweep, or its log still has to be read */
    if (h->sweeps || (h->follows && !h->current && h->look_ms == INT64_MAX))
        usher__heard_list(h);
}

void usher__heard_sweep_command(struct usher__heard *h, struct usher_operation *c)
{
    memset(c, 0, sizeof *c);
    c->verb = usher__hooks((unsigned)h->noun)->sweep;
    c->scope = (struct usher_text){ h->scope, h->scope_size };
    h->sweeps = false;
    h->sweeping = true;
}
