/* SPDX-License-Identifier: MIT */
/*
 * A changed ttl or maxwait applies to present agents and users: before anything else is applied,
 * their deadlines are changed in bounded steps, without a version and a notice.
 *
 * A record has the progress of that: KIND_REFUSAL, state LIMITS, id "?".  Agents come first, in the
 * order of their logins; then waiting users, by place; users in a room, by apply; users that are
 * away, by deadline.
 */
#include "config.h"

#include "queue.h"

/* The lists, and bits of L_CHANGED. */
enum { AGENTS, WAITING, IN_ROOMS, AWAY, LISTS };
enum { TTL = 1, MAXWAIT = 2 };

static const struct usher_text limits_id = { "?", 1 };

void usher__queue_limits_change(work *w, struct usher__change *c, const int64_t new[USHER_SETTINGS])
{
    const int64_t *old = w->scope.settings;
    struct usher_record r = { .kind = KIND_REFUSAL, .state = R_LIMITS, .id = limits_id };
    int64_t there = 0;

    r.n[L_CHANGED] = (new[SET_TTL] != old[SET_TTL] ? TTL : 0) |
                     (new[SET_MAXWAIT] != old[SET_MAXWAIT] ? MAXWAIT : 0);
    for (int i = 1; i < COUNT_LANES; i++)
        there += w->scope.counts[i];
    if (r.n[L_CHANGED] == 0 || there == 0)
        return;
    r.n[L_AT] = w->moment;
    r.n[L_TTL] = old[SET_TTL];
    r.order = c->scope->version;
    r.until_ms = w->moment > 0 ? w->moment : 1;
    r.slots = USHER__LIST_DUE;
    usher__change_save(c, &r);
    c->scope->counts[COUNT_OLD] |= OLD_LIMITS;
}

/* Return the new deadline of a heartbeat, instead of @beat. */
static int64_t beat_anew(const work *w, const struct usher_record *limits, int64_t beat)
{
    int64_t ttl = w->scope.settings[SET_TTL], before = limits->n[L_TTL];

    if ((limits->n[L_CHANGED] & TTL) == 0)
        return beat;
    if (ttl == 0)
        return 0;
    return beat != 0 && ttl > before ? beat + (ttl - before) : limits->n[L_AT] + ttl;
}

/* Return the new end of the patience of @u, which begins with its waiting time.  If it is over
 * already, @u leaves right after the change, and users leave in the order of their arrival. */
static int64_t patience_anew(const work *w, const struct usher_record *limits,
                             const struct usher_record *u)
{
    int64_t maxwait = w->scope.settings[SET_MAXWAIT], at = u->n[U_APPLIED] + maxwait;
    bool waits = u->state == USHER_QUEUE_USER_WAITING || u->state == USHER_QUEUE_USER_AWAY;

    if ((limits->n[L_CHANGED] & MAXWAIT) == 0)
        return u->n[U_PATIENCE];
    if (maxwait == 0)
        return 0;
    return waits && at <= limits->n[L_AT] ? limits->n[L_AT] + 1 : at;
}

/* Find the next record of the list of @limits, or MISSING at its end. */
static enum usher_status next(work *w, const struct usher_record *limits, struct usher_record *r)
{
    static const struct {
        uint8_t kind, slot;
    } lists[LISTS] = { { KIND_AGENT, 2 }, { KIND_USER, 0 }, { KIND_USER, 2 }, { KIND_USER, 1 } };
    int64_t list = limits->n[L_LIST];

    if ((list == AGENTS && (limits->n[L_CHANGED] & TTL) == 0) ||
        (list == AWAY && ((limits->n[L_CHANGED] & MAXWAIT) == 0 ||
                          w->scope.counts[COUNT_USERS + USHER_QUEUE_USER_AWAY] == 0)))
        return USHER_MISSING;
    return w->ops->walk(w->txn, &w->scope, lists[list].kind, lists[list].slot, NULL,
                        (uint64_t)limits->n[L_RANK], (uint64_t)limits->n[L_ORDER], false, r);
}

/* Change the deadlines of @r, a record of @c, and advance @limits over it. */
static void limit(work *w, struct usher__change *c, struct usher_record *limits,
                  struct usher_record *r)
{
    int64_t list = limits->n[L_LIST];

    limits->n[L_RANK] = list == WAITING ? (int64_t)r->rank : list == AWAY ? r->until_ms : 0;
    limits->n[L_ORDER] = (int64_t)r->order;
    if (list == AGENTS) {
        r->n[A_BEAT] = beat_anew(w, limits, r->n[A_BEAT]);
        usher__queue_agent_settle(r);
    } else if ((list == AWAY) != (r->state == USHER_QUEUE_USER_AWAY)) {
        return;
    } else {
        if (list != AWAY)
            r->n[U_BEAT] = beat_anew(w, limits, r->n[U_BEAT]);
        r->n[U_PATIENCE] = patience_anew(w, limits, r);
        usher__queue_user_settle(r, r->state);
    }
    usher__change_save(c, r);
}

enum usher_status usher__queue_limits_reach(work *w, int64_t max)
{
    enum usher_status status = USHER_OK;

    while (status == USHER_OK && max > 0 && (w->scope.counts[COUNT_OLD] & OLD_LIMITS) != 0) {
        struct usher_record limits;
        struct usher__change c;

        status = w->ops->find(w->txn, &w->scope, KIND_REFUSAL, &limits_id, &limits);
        if (status != USHER_OK)
            return status == USHER_MISSING ? damaged(w) : status;
        usher__change_begin_quietly(w, &c);
        while (status == USHER_OK && max > 0 && c.n < USHER_CHANGE_MAX - 1 &&
               limits.n[L_LIST] < LISTS) {
            struct usher_record *r = usher__change_next(&c);

            status = next(w, &limits, r);
            if (status == USHER_OK) {
                limit(w, &c, &limits, r);
                max--;
            } else if (status == USHER_MISSING) {
                limits.n[L_LIST]++;
                limits.n[L_RANK] = limits.n[L_ORDER] = 0;
                status = USHER_OK;
            }
        }
        if (limits.n[L_LIST] == LISTS) {
            usher__change_erase(&c, &limits);
            c.scope->counts[COUNT_OLD] &= ~(int64_t)OLD_LIMITS;
        } else {
            usher__change_save(&c, &limits);
        }
        if (status == USHER_OK)
            status = usher__change_write(w, &c);
    }
    return status;
}
