/* SPDX-License-Identifier: MIT */
/* See model.h.  Every array grows by one and shrinks by moving its tail. */
#include "config.h"

#include "model/model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/gen.h"
#include "model/packer.h"
#include "model/parts.h"

#define MINUTE INT64_C(60000)
#define DAY INT64_C(86400000)
#define REQUEST_AGE INT64_C(3600000)
#define EXPIRE_MOST 64 /* expiries that a command applies on its way */
#define DUE_LOOK 64    /* due numbers that are looked at for `next` */
#define DROP_MOST 240  /* records erased by a step of `drop` */
#define JUDGE_MOST 128 /* numbers that a step judges by a changed setting */
#define JUDGE_WAY 8    /* and a command that is about something else, on its way */
#define AGAIN 1000     /* a status: the engine gives the command again */
#define STEP_MOST 64   /* numbers freed by `free`, expired by `sweep` if it names no max */

static bool in(const struct usher_operation *c, uint64_t bit, int64_t value, int64_t min,
               int64_t max)
{
    return (c->given & bit) == 0 || (value >= min && value <= max);
}

/* Letters for arguments: n number, o owner, g group, s sticky, a after, d node, w actor, m reason.
 */
static bool texts_only(const struct usher_number_args *a, const char *which)
{
    return (a->number.data == NULL || strchr(which, 'n') != NULL) &&
           (a->owner.data == NULL || strchr(which, 'o') != NULL) &&
           (a->group.data == NULL || strchr(which, 'g') != NULL) &&
           (a->sticky.data == NULL || strchr(which, 's') != NULL) &&
           (a->after.data == NULL || strchr(which, 'a') != NULL) &&
           (a->node.data == NULL || strchr(which, 'd') != NULL) &&
           (a->actor.data == NULL || strchr(which, 'w') != NULL) &&
           (a->reason.data == NULL || strchr(which, 'm') != NULL);
}

static bool name_or_none(const struct usher_text *t)
{
    return t->data == NULL || is_name(t->data, t->size);
}

/* A version as it is printed. */
static bool is_token(const struct usher_text *t)
{
    static const char most[] = "9007199254740991";

    for (size_t i = 0; i < t->size; i++)
        if (strchr("0123456789", t->data[i]) == NULL || t->data[i] == '\0')
            return false;
    return t->size < sizeof most - 1 ||
           (t->size == sizeof most - 1 && memcmp(t->data, most, t->size) <= 0);
}

static uint64_t token_in(const struct usher_text *t)
{
    uint64_t token = 0;

    for (size_t i = 0; i < t->size; i++)
        token = token * 10 + (uint64_t)(t->data[i] - '0');
    return token;
}

/* The list is one of calls, not of numbers. */
static bool of_calls(const struct usher_operation *c)
{
    const struct usher_number_args *a = &c->arg.number;

    return a->owner.data != NULL || a->node.data != NULL ||
           ((c->given & USHER_GIVEN_STATE) != 0 && a->state > USHER_NUMBER_STATE_IDLE_UP);
}

static bool writes(enum usher_verb verb)
{
    return verb != USHER_NUMBER_SHOW && verb != USHER_NUMBER_LIST && verb != USHER_NUMBER_STATS &&
           verb != USHER_NUMBER_CHANGES;
}

static bool arguments_right(const struct usher_operation *c)
{
    const struct usher_number_args *a = &c->arg.number;
    const uint32_t settings =
        USHER_GIVEN_ORDER | USHER_GIVEN_LEASE | USHER_GIVEN_REST | USHER_GIVEN_DAILY |
        USHER_GIVEN_ZONE | USHER_GIVEN_STRICT | USHER_GIVEN_STICKY_MS | USHER_GIVEN_STICKY_MAX |
        USHER_GIVEN_REQUESTS | USHER_GIVEN_GAP | USHER_GIVEN_LOG | USHER_GIVEN_LEASE_MAX |
        USHER_GIVEN_OUTAGE | USHER_GIVEN_MODE | USHER_GIVEN_PUSH;
    const char *texts = "";
    uint64_t may = 0;

    if (c->scope.data == NULL || !is_scope(c->scope.data, c->scope.size))
        return false;
    if (!name_or_none(&c->request) || !name_or_none(&a->number) || !name_or_none(&a->owner) ||
        !name_or_none(&a->sticky) || !name_or_none(&a->after) || !name_or_none(&a->node) ||
        !name_or_none(&a->actor) || !name_or_none(&a->reason))
        return false;
    if (!in(c, USHER_GIVEN_NOW, c->now_ms, 0, USHER_TIME_MAX) ||
        !in(c, USHER_GIVEN_LEASE, a->lease_ms, 0, USHER_SPAN_MAX) ||
        !in(c, USHER_GIVEN_REST, a->rest_ms, 0, USHER_SPAN_MAX) ||
        !in(c, USHER_GIVEN_STATE, a->state, 1, 5) || !in(c, USHER_GIVEN_ALL, a->all, 1, 1) ||
        !in(c, USHER_GIVEN_MAX, a->max, 1, USHER_LIST_MAX) ||
        !in(c, USHER_GIVEN_ORDER, a->order, 1, 3) ||
        !in(c, USHER_GIVEN_DAILY, a->daily, 0, 1000000000) ||
        !in(c, USHER_GIVEN_ZONE, a->zone_min, -1440, 1440) ||
        !in(c, USHER_GIVEN_STRICT, a->strict, 0, 1) ||
        !in(c, USHER_GIVEN_STICKY_MS, a->sticky_ms, 0, USHER_SPAN_MAX) ||
        !in(c, USHER_GIVEN_STICKY_MAX, a->sticky_max, 0, 1000000) ||
        !in(c, USHER_GIVEN_REQUESTS, a->requests, 1, 1000000) ||
        !in(c, USHER_GIVEN_GAP, a->gap_ms, 0, USHER_SPAN_MAX) ||
        !in(c, USHER_GIVEN_LOG, a->log, 0, 100000) ||
        !in(c, USHER_GIVEN_LEASE_MAX, a->lease_max_ms, 0, USHER_SPAN_MAX) ||
        !in(c, USHER_GIVEN_OUTAGE, a->outage_ms, 0, USHER_SPAN_MAX) ||
        !in(c, USHER_GIVEN_MODE, a->mode, 1, 3) || !in(c, USHER_GIVEN_PUSH, a->push, 0, 1) ||
        !in(c, USHER_GIVEN_SINCE, a->since, 0, USHER_EXACT_MAX) ||
        !in(c, USHER_GIVEN_IF_VERSION, a->if_version, 1, USHER_EXACT_MAX))
        return false;
    switch (c->verb) {
    case USHER_NUMBER_ADD:
    case USHER_NUMBER_MOVE:
        texts = "ngw";
        if (a->group.data != NULL && !is_group(a->group.data, a->group.size))
            return false;
        break;
    case USHER_NUMBER_DEL:
    case USHER_NUMBER_REG:
    case USHER_NUMBER_UNREG:
    case USHER_NUMBER_LIFT:
        texts = "nw";
        break;
    case USHER_NUMBER_SHOW:
        texts = "n";
        break;
    case USHER_NUMBER_CALL:
        texts = "nogsd";
        may = USHER_GIVEN_LEASE;
        if (a->group.data != NULL &&
            (a->number.data != NULL || !is_groups(a->group.data, a->group.size)))
            return false;
        break;
    case USHER_NUMBER_HANGUP:
        texts = "n";
        may = USHER_GIVEN_TOKEN | USHER_GIVEN_REST;
        break;
    case USHER_NUMBER_RENEW:
        texts = a->number.data == NULL ? "da" : a->owner.data != NULL ? "nod" : "n";
        may = USHER_GIVEN_LEASE | (a->number.data != NULL ? USHER_GIVEN_TOKEN : 0);
        if (a->number.data != NULL
                ? (c->given & USHER_GIVEN_TOKEN) == 0
                : a->node.data == NULL || (a->after.data != NULL && !is_token(&a->after)))
            return false;
        break;
    case USHER_NUMBER_FREE:
        texts = "nodw";
        may = USHER_GIVEN_ALL;
        if (a->owner.data != NULL && a->node.data != NULL)
            return false;
        if (((c->given & USHER_GIVEN_ALL) != 0) ==
            (a->owner.data != NULL || a->node.data != NULL || a->number.data != NULL))
            return false;
        break;
    case USHER_NUMBER_LIST:
        texts = "oad";
        may = USHER_GIVEN_STATE | USHER_GIVEN_MAX;
        if (a->owner.data != NULL && a->node.data != NULL)
            return false;
        if (of_calls(c) && a->after.data != NULL && !is_token(&a->after))
            return false;
        break;
    case USHER_NUMBER_STATS:
        break;
    case USHER_NUMBER_CHANGES:
        may = USHER_GIVEN_SINCE | USHER_GIVEN_MAX;
        break;
    case USHER_NUMBER_SET:
        texts = "wm";
        may = settings;
        break;
    case USHER_NUMBER_SWEEP:
        may = USHER_GIVEN_MAX;
        break;
    case USHER_NUMBER_DROP:
        texts = "w";
        break;
    default: /* no command */
        return false;
    }
    if (writes(c->verb))
        may |= USHER_GIVEN_IF_VERSION;
    if (!texts_only(a, texts) || (c->given & ~(may | USHER_GIVEN_NOW)) != 0)
        return false;
    /* All that take one number need it, but for these. */
    return strchr(texts, 'n') == NULL || a->number.data != NULL || c->verb == USHER_NUMBER_CALL ||
           c->verb == USHER_NUMBER_FREE || c->verb == USHER_NUMBER_RENEW;
}

/* ---- days and order ---------------------------------------------------------------- */

static int64_t day_of(const struct model_pool *p, int64_t at)
{
    int64_t local = at + p->set.zone_min * MINUTE;
    int64_t day = 0;

    if (local < 0)
        while (day * DAY > local) /* zones are a day at most: at most two steps */
            day--;
    else
        day = local / DAY;
    return day;
}

static int64_t midnight_after(const struct model_pool *p, int64_t at)
{
    return (day_of(p, at) + 1) * DAY - p->set.zone_min * MINUTE;
}

/* ---- one number -------------------------------------------------------------------- */

enum usher_number_state model_state(const struct model_number *n)
{
    if (n->busy)
        return n->up ? USHER_NUMBER_STATE_BUSY_UP : USHER_NUMBER_STATE_BUSY_DOWN;
    return n->up ? USHER_NUMBER_STATE_IDLE_UP : USHER_NUMBER_STATE_IDLE_DOWN;
}

static bool resting(const struct model_number *n)
{
    return !n->busy && n->until != 0;
}

/* Stands in the idle list: a call may take it. */
static bool free_now(const struct model_number *n)
{
    return !n->busy && n->up && n->until == 0;
}

static bool capped(const struct model_pool *p, const struct model_number *n, int64_t at)
{
    return p->set.daily > 0 && n->day >= day_of(p, at) && n->calls >= p->set.daily;
}

/* The same without the limit of the pool.  An outage moves what ended in it. */
static int64_t lease_end(const struct model_pool *p, const struct model_number *n)
{
    bool away = n->busy && n->until > p->seen_from && n->until <= p->seen_to;

    return away ? p->seen_to + p->set.outage_ms : n->until;
}

/* When its hold or its rest ends; 0: never.  The pool may limit holds, but it ends none before the
 * limit was set. */
static int64_t end_of(const struct model_pool *p, const struct model_number *n)
{
    int64_t limit = n->used + p->set.lease_max_ms, lease = lease_end(p, n);

    if (!n->busy || p->set.lease_max_ms == 0)
        return lease;
    if (n->token < p->limited_at && limit < p->limited)
        limit = p->limited;
    return lease != 0 && lease < limit ? lease : limit;
}

/* When a number that is not busy has rested, by the settings as they are. */
static int64_t rested(const struct model_pool *p, const struct model_number *n)
{
    int64_t rest = n->ended + (n->rest >= 0 ? n->rest : p->set.rest_ms);
    int64_t gap = p->set.gap_ms > 0 ? n->used + p->set.gap_ms : 0;

    return !n->had ? 0 : rest > gap ? rest : gap;
}

/* In which order the numbers of the idle list are given out. */
static bool offered_before(const struct model_pool *p, const struct model_number *a,
                           const struct model_number *b)
{
    if (a->drawn != b->drawn) /* those of the other kind of order go first */
        return a->drawn != (p->set.order == USHER_NUMBER_ORDER_RANDOM);
    if (a->drawn && draw(a->order) != draw(b->order))
        return draw(a->order) < draw(b->order);
    if (!a->drawn && p->set.order == USHER_NUMBER_ORDER_MOST_RECENT)
        return a->order > b->order;
    return a->order < b->order;
}

/* ---- pools ------------------------------------------------------------------------- */

struct model *model_open(void)
{
    return grown(NULL, 0, sizeof(struct model));
}

static struct model_pool pool_copy(const struct model_pool *p)
{
    struct model_pool q = *p;

    q.numbers = copied(p->numbers, p->n_numbers, sizeof *p->numbers);
    q.past = copied(p->past, p->n_past, sizeof *p->past);
    q.stickies = copied(p->stickies, p->n_stickies, sizeof *p->stickies);
    q.requests = copied(p->requests, p->n_requests, sizeof *p->requests);
    q.log = model_log_copy(&p->log);
    return q;
}

static void pool_done(struct model_pool *p)
{
    free(p->numbers);
    free(p->past);
    free(p->stickies);
    free(p->requests);
    model_log_done(&p->log);
}

struct model *model_copy(const struct model *m)
{
    struct model *copy = model_open();

    for (size_t i = 0; i < m->n_pools; i++) {
        copy->pools = grown(copy->pools, i, sizeof *copy->pools);
        copy->pools[i] = pool_copy(&m->pools[i]);
        copy->n_pools++;
    }
    return copy;
}

void model_close(struct model *m)
{
    for (size_t i = 0; i < m->n_pools; i++)
        pool_done(&m->pools[i]);
    free(m->pools);
    free(m);
}

static struct model_pool *pool_find(const struct model *m, const char *name, size_t size)
{
    for (size_t i = 0; i < m->n_pools; i++)
        if (is(&m->pools[i].name, name, size))
            return &m->pools[i];
    return NULL;
}

static struct model_number *number_find(const struct model_pool *p, const char *id, size_t size)
{
    for (size_t i = 0; i < p->n_numbers; i++)
        if (is(&p->numbers[i].id, id, size))
            return &p->numbers[i];
    return NULL;
}

const struct model_pool *model_pool(const struct model *m, const char *name, size_t size)
{
    return pool_find(m, name, size);
}

const struct model_number *model_number(const struct model_pool *p, const char *id, size_t size)
{
    return number_find(p, id, size);
}

/* ---- a command at work ------------------------------------------------------------- */

struct work {
    struct model *m;
    struct model_pool *p;            /* reads: as it is with all due expiries applied */
    const struct model_pool *stored; /* as it is without */
    const struct usher_operation *c;
    const struct usher_number_args *a;
    struct usher_result *r;
    int64_t now;     /* orders and stamps */
    int64_t moment;  /* ends what is due and begins deadlines: the store's clock, which is given */
    uint64_t before; /* the version of the pool before the command */
};

static int64_t held_for(const struct work *w, const struct model_number *n)
{
    return w->moment > n->used ? w->moment - n->used : 0;
}

/* Pack the data of a notice of `set`. */
static void given_put(struct packed *to, const struct usher_operation *c)
{
    const struct usher_number_args *a = &c->arg.number;
    const struct said all[] = {
        { USHER_GIVEN_LEASE, "lease", a->lease_ms },
        { USHER_GIVEN_REST, "rest", a->rest_ms },
        { USHER_GIVEN_ORDER, "order", a->order },
        { USHER_GIVEN_DAILY, "daily", a->daily },
        { USHER_GIVEN_ZONE, "zone", a->zone_min },
        { USHER_GIVEN_STRICT, "strict", a->strict },
        { USHER_GIVEN_STICKY_MS, "sticky", a->sticky_ms },
        { USHER_GIVEN_STICKY_MAX, "sticky-max", a->sticky_max },
        { USHER_GIVEN_REQUESTS, "requests", a->requests },
        { USHER_GIVEN_GAP, "gap", a->gap_ms },
        { USHER_GIVEN_LOG, "log", a->log },
        { USHER_GIVEN_LEASE_MAX, "lease-max", a->lease_max_ms },
        { USHER_GIVEN_OUTAGE, "outage", a->outage_ms },
        { USHER_GIVEN_MODE, "mode", a->mode },
        { USHER_GIVEN_PUSH, "push", a->push },
    };

    put_given(to, c->given, all, sizeof all / sizeof *all, &a->reason, &a->actor);
}

static void said_put(struct packed *to, const char *name, struct usher_text value)
{
    struct usher_text word = { name, strlen(name) };

    put_text(to, &word);
    put_text(to, &value);
}

/* The data of a notice of @n: its group, @node, the peer of a call, and what @ended a hold that has
 * expired (NULL: none has). */
static void number_put(struct packed *to, const struct work *w, enum usher_verb verb,
                       const struct model_number *n, const struct model_text *node,
                       const char *ended)
{
    const struct usher_text *peer = &w->c->arg.number.sticky;
    bool called = verb == USHER_NUMBER_CALL && peer->data != NULL;
    const struct usher_text *actor = &w->c->arg.number.actor;
    bool by = verb == w->c->verb && actor->data != NULL;
    size_t k = (n->group.size != 0 ? 2u : 0) + (node->size != 0 ? 2u : 0) + (called ? 2u : 0) +
               (ended != NULL ? 2u : 0) + (by ? 2u : 0);

    if (k == 0)
        return;
    put_array(to, k);
    if (n->group.size != 0)
        said_put(to, "group", text_out(&n->group));
    if (node->size != 0)
        said_put(to, "node", text_out(node));
    if (called)
        said_put(to, "peer", *peer);
    if (ended != NULL)
        said_put(to, "ended", (struct usher_text){ ended, strlen(ended) });
    if (by)
        said_put(to, "actor", *actor);
}

/* The change that has just been made to @n (NULL: to the pool itself), which was @owner's, carried
 * by @node; @ended: what ended its hold by itself. */
static void changed_of(struct work *w, enum usher_verb verb, enum usher_number_state from,
                       enum usher_number_state to, const struct model_number *n,
                       const struct model_text *owner, const struct model_text *node,
                       const char *ended)
{
    struct packed data = { NULL, 0, 0 };
    struct usher_notice notice;

    w->p->version++;
    w->p->clock = w->now;
    memset(&notice, 0, sizeof notice);
    notice.noun = USHER_NUMBER;
    notice.scope = text_out(&w->p->name);
    notice.epoch = w->p->epoch;
    notice.version = w->p->version;
    notice.before = notice.version - 1;
    notice.now_ms = w->now;
    notice.verb = verb;
    notice.from = (uint8_t)from;
    notice.to = (uint8_t)to;
    if (verb == USHER_NUMBER_SET) {
        given_put(&data, w->c);
        notice.data = (struct usher_text){ (const char *)data.at, data.n };
    } else if (verb == USHER_NUMBER_DROP && w->c->arg.number.actor.data != NULL) {
        put_given(&data, 0, NULL, 0, NULL, &w->c->arg.number.actor);
        notice.data = (struct usher_text){ (const char *)data.at, data.n };
    } else if (verb == USHER_NUMBER_OUTAGE) {
        const struct said gap[] = { { 1, "from", w->p->out_from }, { 1, "to", w->p->out_to } };

        put_given(&data, 1, gap, 2, NULL, NULL);
        notice.data = (struct usher_text){ (const char *)data.at, data.n };
    }
    if (n != NULL) {
        notice.subject = text_out(&n->id);
        notice.token = n->token;
        notice.until_ms = end_of(w->p, n);
        notice.owner = text_out(owner);
        number_put(&data, w, verb, n, node, ended);
        notice.data = (struct usher_text){ (const char *)data.at, data.n };
    }
    model_log_keep(&w->p->log, w->p->set.log, &notice);
    if (w->m->notify != NULL)
        w->m->notify(w->m->payload, &notice);
    free(data.at);
}

static void changed(struct work *w, enum usher_verb verb, enum usher_number_state from,
                    enum usher_number_state to, const struct model_number *n)
{
    changed_of(w, verb, from, to, n, n != NULL ? &n->owner : NULL, n != NULL ? &n->node : NULL,
               NULL);
}

/* It joins the idle list with the change that is about to be made. */
static void joins(struct work *w, struct model_number *n)
{
    n->order = w->p->version + 1;
    n->drawn = w->p->set.order == USHER_NUMBER_ORDER_RANDOM;
    n->aside = capped(w->p, n, w->now);
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Does the limit of the pool end the hold on @n, and not its lease? */
static bool limited(const struct model_pool *p, const struct model_number *n)
{
    return end_of(p, n) != n->until;
}

/* The hold on @n ended at @at; @rest < 0: it rests as the pool says. */
static void ends(struct work *w, struct model_number *n, int64_t at, int64_t rest,
                 enum usher_verb verb)
{
    enum usher_number_state from = model_state(n);
    struct model_text owner = n->owner, node = n->node;
    const char *ended = !n->busy || verb != USHER_NUMBER_EXPIRE ? NULL
                        : end_of(w->p, n) != lease_end(w->p, n) ? "lease-max"
                                                                : "lease";

    if (n->busy) /* else its rest is another one */
        *(verb == USHER_NUMBER_HANGUP ? &w->p->hung_up
          : verb == USHER_NUMBER_FREE ? &w->p->freed
                                      : &w->p->expired) += 1;
    n->had = n->busy; /* if not, a command ends the rest */
    n->ended = at;
    n->rest = rest;
    n->busy = false;
    n->owner = n->node = text_of(NULL, 0);
    n->lease = 0;
    n->until = rested(w->p, n) > at ? rested(w->p, n) : 0;
    if (free_now(n))
        joins(w, n);
    changed_of(w, verb, from, model_state(n), n, &owner, &node, ended);
}

/* Return whether @n is of the group.  "*" or NULL: of any. */
static bool in_group(const struct model_number *n, const struct usher_text *group)
{
    return group == NULL || (group->size == 1 && group->data[0] == '*') ||
           is(&n->group, group->data, group->size);
}

static int64_t limit_of(const struct model_pool *p, const struct model_number *n)
{
    int64_t limit = n->used + p->set.lease_max_ms;

    return n->token < p->limited_at ? later(limit, p->limited) : limit;
}

/* The oldest hold, if the pool limits them; NULL. */
static struct model_number *first_limited(struct model_pool *p)
{
    struct model_number *oldest = NULL;

    for (size_t i = 0; i < p->n_numbers && p->set.lease_max_ms != 0; i++)
        if (p->numbers[i].busy && (oldest == NULL || p->numbers[i].token < oldest->token))
            oldest = &p->numbers[i];
    return oldest;
}

/* The number of @group (NULL: any) whose lease or rest is to end first, or the oldest hold, if its
 * limit is earlier: limits end holds in their order.  *@ret_at: when.  NULL: none has an end. */
static struct model_number *first_due(struct model_pool *p, const struct usher_text *group,
                                      int64_t *ret_at)
{
    struct model_number *first = NULL, *oldest = first_limited(p);

    for (size_t i = 0; i < p->n_numbers; i++) {
        struct model_number *n = &p->numbers[i];

        if (n->until != 0 && in_group(n, group) &&
            (first == NULL || n->until < first->until ||
             (n->until == first->until && n->order < first->order)))
            first = n;
    }
    *ret_at = first != NULL ? first->until : USHER_NEVER;
    if (oldest != NULL && (first == NULL || limit_of(p, oldest) < *ret_at)) {
        *ret_at = limit_of(p, oldest);
        return oldest;
    }
    return first;
}

static void expire_one(struct work *w, struct model_number *n)
{
    if (end_of(w->p, n) > w->moment) {
        n->until = lease_end(w->p, n);
        return;
    }
    if (n->busy) {
        ends(w, n, end_of(w->p, n), -1, USHER_NUMBER_EXPIRE);
        return;
    }
    /* it may have to rest for longer since it was last looked at */
    n->until = rested(w->p, n) > n->until ? rested(w->p, n) : 0;
    if (free_now(n))
        joins(w, n);
    changed(w, USHER_NUMBER_EXPIRE, model_state(n), model_state(n), n);
}

static bool is_due(const struct work *w, const struct model_number *n)
{
    return end_of(w->p, n) != 0 && end_of(w->p, n) <= w->moment;
}

static int64_t rests_until(const struct work *w, const struct model_number *n)
{
    int64_t until = rested(w->p, n);

    /* a clock that is set back brings no rest back */
    return until > (n->until != 0 ? w->moment : w->now) ? until : 0;
}

/* It is as the settings say now, which is no change. */
static void judge_one(struct work *w, struct model_number *n)
{
    bool was = free_now(n);

    n->until = rests_until(w, n);
    if (free_now(n) && !was)
        n->drawn = w->p->set.order == USHER_NUMBER_ORDER_RANDOM;
    n->aside = free_now(n) && capped(w->p, n, w->now);
}

/* It rests as the settings say. */
static void rest_anew(struct work *w, struct model_number *n)
{
    if (!n->busy && n->until != rests_until(w, n))
        judge_one(w, n);
}

static bool is_right(const struct work *w, const struct model_number *n)
{
    return n->busy ||
           (n->until == rests_until(w, n) && (!free_now(n) || n->aside == capped(w->p, n, w->now)));
}

/* Numbers that stand aside are in order of days and calls, those that drew no place first. */
static uint64_t rank_aside(const struct model_number *n)
{
    return (((uint64_t)(n->day + 8) << 30) + (uint64_t)n->calls) * 2 + n->drawn;
}

/* Its place in the list that is walked, or false. */
static bool judged_at(const struct model_pool *p, const struct model_number *n, uint64_t *hi)
{
    if (p->judge == MODEL_JUDGE_RESTS) {
        *hi = (uint64_t)n->until;
        return n->until != 0;
    }
    *hi = n->aside ? rank_aside(n) : n->drawn ? draw(n->order) : UINT64_C(1) << 32;
    return free_now(n);
}

/* Judge up to @left numbers; how many are left. */
static int judge(struct work *w, int left)
{
    struct model_pool *p = w->p;

    while (p->judge != MODEL_JUDGED && left > 0) {
        struct model_number *next = NULL;
        uint64_t hi = 0, at;

        for (size_t i = 0; i < p->n_numbers; i++) {
            struct model_number *n = &p->numbers[i];

            if (!judged_at(p, n, &at) || at < p->judge_hi ||
                (at == p->judge_hi && n->order <= p->judge_order))
                continue;
            if (next == NULL || at < hi || (at == hi && n->order < next->order)) {
                next = n;
                hi = at;
            }
        }
        p->judge_hi = hi;
        p->judge_order = next != NULL ? next->order : 0;
        if (next == NULL) {
            p->judge = p->judge == MODEL_JUDGE_BOTH ? MODEL_JUDGE_RESTS : MODEL_JUDGED;
            continue;
        }
        left--;
        if (!is_due(w, next) && !is_right(w, next))
            judge_one(w, next);
    }
    return left;
}

/* A number that is looked at has its own due expiries applied, however many others there
 * are that a command has no time for. */
static void up_to_date(struct work *w, struct model_number *n)
{
    while (n != NULL && is_due(w, n))
        expire_one(w, n);
    if (n != NULL)
        rest_anew(w, n);
}

/* The first number of @group that stands aside and need not any more; NULL. */
static struct model_number *first_back(const struct work *w, const struct usher_text *group)
{
    struct model_number *first = NULL;

    for (size_t i = 0; i < w->p->n_numbers; i++) {
        struct model_number *n = &w->p->numbers[i];

        if (!free_now(n) || !n->aside || capped(w->p, n, w->now) || !in_group(n, group))
            continue;
        if (first == NULL || rank_aside(n) < rank_aside(first) ||
            (rank_aside(n) == rank_aside(first) && n->order < first->order))
            first = n;
    }
    return first;
}

/* At most @most of what is due, and then @judges numbers are judged; returns how many ended. */
static uint64_t expire(struct work *w, uint64_t most, int judges)
{
    uint64_t done = 0;
    struct model_number *n;
    int64_t at;

    for (; (n = first_due(w->p, NULL, &at)) != NULL && at <= w->moment; most--) {
        if (most == 0)
            return done;
        done += is_due(w, n);
        expire_one(w, n);
    }
    (void)judge(w, judges);
    return done;
}

/* Is this the end of an outage: longer than half of `outage=`, and two leases ended in it?  It
 * moves no lease that the one before has moved. */
static void outage(struct work *w, bool says)
{
    struct model_pool *p = w->p;
    int64_t half = p->set.outage_ms / 2, from = p->clock;
    unsigned ended = 0;

    p->seen_from = p->seen_to = 0;
    if (p->set.outage_ms == 0 || !p->exists)
        return;
    p->seen_from = p->out_from;
    p->seen_to = p->out_to;
    if (w->moment - p->clock <= half)
        return;
    if (p->out_to != 0)
        from = later(from, p->out_to + p->set.outage_ms);
    for (size_t i = 0; i < p->n_numbers; i++)
        ended +=
            p->numbers[i].busy && p->numbers[i].until > from && p->numbers[i].until <= w->moment;
    if (ended < 2)
        return;
    p->seen_from = from;
    p->seen_to = w->moment;
    if (!says)
        return;
    p->out_from = from;
    p->out_to = w->moment;
    changed(w, USHER_NUMBER_OUTAGE, 0, 0, NULL);
}

/* ---- memories ---------------------------------------------------------------------- */

static void remember_peer(struct work *w, const struct model_number *n)
{
    struct model_pool *p = w->p;
    struct model_sticky *s;
    const struct usher_text *peer = &w->a->sticky;

    if (peer->data == NULL || p->set.sticky_ms == 0 || p->set.sticky_max == 0)
        return;
    for (size_t i = 0; i < p->n_stickies; i++)
        if (is(&p->stickies[i].peer, peer->data, peer->size)) {
            removed(p->stickies, &p->n_stickies, sizeof *p->stickies, i);
            break;
        }
    p->stickies = grown(p->stickies, p->n_stickies, sizeof *p->stickies);
    s = &p->stickies[p->n_stickies++];
    s->peer = text_of(peer->data, peer->size);
    s->number = n->id;
    s->until = w->moment + p->set.sticky_ms;
    for (int k = 0; k < 2; k++)
        if (p->n_stickies > 1 &&
            ((int64_t)p->n_stickies > p->set.sticky_max || p->stickies[0].until <= w->moment))
            removed(p->stickies, &p->n_stickies, sizeof *p->stickies, 0);
}

/* The answer is complete. */
static void remember_request(struct work *w)
{
    struct model_pool *p = w->p;
    struct model_request *q;
    const struct usher_text *id = &w->c->request;

    if (id->data == NULL)
        return;
    for (size_t i = 0; i < p->n_requests; i++)
        if (is(&p->requests[i].id, id->data, id->size)) {
            removed(p->requests, &p->n_requests, sizeof *p->requests, i);
            break;
        }
    p->requests = grown(p->requests, p->n_requests, sizeof *p->requests);
    q = &p->requests[p->n_requests++];
    q->id = text_of(id->data, id->size);
    q->asked = gen_asked(w->c);
    q->at = w->moment;
    q->answer = *w->r;
    if (w->c->verb == USHER_NUMBER_SET)
        q->reason = p->reason;
    for (int k = 0; k < 2; k++)
        if (p->n_requests > 1 && ((int64_t)p->n_requests > p->set.requests ||
                                  p->requests[0].at + REQUEST_AGE <= w->moment))
            removed(p->requests, &p->n_requests, sizeof *p->requests, 0);
}

/* ---- verbs that write -------------------------------------------------------------- */

/* The answer is about @n as it is now; NULL: about the given number, which is not there. */
static enum usher_status tell(struct work *w, enum usher_status status,
                              const struct model_number *n)
{
    struct usher_number_result *r = &w->r->of.number;
    struct model_text id = n != NULL ? n->id : text_of(w->a->number.data, w->a->number.size);

    r->state = n != NULL ? model_state(n) : USHER_NUMBER_STATE_NODATA;
    r->token = n != NULL ? n->token : 0;
    r->until_ms = n != NULL ? end_of(w->p, n) : 0;
    r->number_size = id.size;
    memcpy(r->number, id.data, sizeof r->number);
    return status;
}

static const char *kept(const struct model_text *t)
{
    return memcpy(grown(NULL, t->size, 1), t->data, t->size);
}

/* The reason of the mode is a row. */
static void tell_reason(struct work *w, const struct model_text *reason)
{
    struct usher_number_result *r = &w->r->of.number;
    struct usher_number_result_row *row;

    if (reason->size == 0)
        return;
    w->r->block = grown(w->r->block, r->n_rows, sizeof *row);
    r->rows = w->r->block;
    row = (struct usher_number_result_row *)w->r->block + r->n_rows++;
    memset(row, 0, sizeof *row);
    row->owner = (struct usher_text){ kept(reason), reason->size };
}

/* It is another hold: its owner and its deadline, and not its token. */
static enum usher_status tell_stale(struct work *w, const struct model_number *n)
{
    struct usher_number_result *r = &w->r->of.number;
    struct usher_number_result_row *row;

    (void)tell(w, USHER_STALE, n);
    r->token = 0;
    w->r->block = grown(w->r->block, r->n_rows, sizeof *row);
    r->rows = w->r->block;
    row = (struct usher_number_result_row *)w->r->block + r->n_rows++;
    memset(row, 0, sizeof *row);
    row->number = (struct usher_text){ kept(&n->id), n->id.size };
    row->owner = (struct usher_text){ kept(&n->owner), n->owner.size };
    row->state = model_state(n);
    row->until_ms = end_of(w->p, n);
    return USHER_STALE;
}

/* The page ends with the call that has @token. */
static void go_on_behind(struct usher_number_result *r, uint64_t token)
{
    r->number_size =
        (size_t)snprintf(r->number, sizeof r->number, "%llu", (unsigned long long)token);
}

static enum usher_status verb_add(struct work *w, struct model_number *n)
{
    if (n != NULL)
        return tell(w, USHER_SAME, n);
    w->p->exists = true;
    w->p->numbers = grown(w->p->numbers, w->p->n_numbers, sizeof *n);
    n = &w->p->numbers[w->p->n_numbers++];
    n->id = text_of(w->a->number.data, w->a->number.size);
    n->group = text_of(w->a->group.data, w->a->group.size);
    for (size_t i = 0; i < w->p->n_past; i++) {
        const struct model_past *past = &w->p->past[i];

        if (!same_text(&past->id, &n->id))
            continue;
        if (past->day >= day_of(w->p, w->now)) {
            n->calls = past->calls;
            n->day = past->day;
            n->used = past->used;
        }
        removed(w->p->past, &w->p->n_past, sizeof *past, i);
        break;
    }
    changed(w, w->c->verb, USHER_NUMBER_STATE_NODATA, USHER_NUMBER_STATE_IDLE_DOWN, n);
    return tell(w, USHER_OK, n);
}

static enum usher_status verb_del(struct work *w, struct model_number *n)
{
    enum usher_number_state from;
    struct model_number gone;

    if (n == NULL)
        return tell(w, USHER_SAME, NULL);
    gone = *n;
    from = model_state(n);
    w->p->freed += n->busy;
    if (n->calls > 0 && n->day >= day_of(w->p, w->now)) {
        struct model_past *past;

        w->p->past = grown(w->p->past, w->p->n_past, sizeof *past);
        past = &w->p->past[w->p->n_past++];
        past->id = n->id;
        past->calls = n->calls;
        past->day = n->day;
        past->used = n->used;
    }
    removed(w->p->numbers, &w->p->n_numbers, sizeof *n, (size_t)(n - w->p->numbers));
    gone.busy = false;
    changed(w, w->c->verb, from, USHER_NUMBER_STATE_NODATA, &gone);
    return tell(w, USHER_OK, NULL);
}

static enum usher_status verb_reg(struct work *w, struct model_number *n, bool up)
{
    enum usher_number_state from;

    if (n == NULL)
        return tell(w, USHER_MISSING, NULL);
    from = model_state(n);
    if (n->up == up)
        return tell(w, USHER_SAME, n);
    n->up = up;
    if (free_now(n))
        joins(w, n);
    changed(w, w->c->verb, from, model_state(n), n);
    return tell(w, USHER_OK, n);
}

/* @n, which is held, is held for @lease from now on. */
static void hold(struct work *w, struct model_number *n, int64_t lease)
{
    n->lease = lease;
    n->until = n->lease == 0 ? 0 : w->moment + n->lease;
}

static enum usher_status take(struct work *w, struct model_number *n)
{
    struct model_pool *p = w->p;
    int64_t today = day_of(p, w->now);
    int64_t lease = w->c->given & USHER_GIVEN_LEASE ? w->a->lease_ms : p->set.lease_ms;
    enum usher_number_state from = model_state(n);

    n->busy = true;
    p->begun++;
    n->owner = text_of(w->a->owner.data, w->a->owner.size);
    n->node = text_of(w->a->node.data, w->a->node.size);
    n->token = n->order = p->version + 1;
    n->calls = n->day >= today ? n->calls + 1 : 1;
    n->day = later(n->day, today);
    n->used = w->moment;
    hold(w, n, lease);
    p->calls = p->calls_day >= today ? p->calls + 1 : 1;
    p->calls_day = later(p->calls_day, today);
    remember_peer(w, n);
    changed(w, w->c->verb, from, model_state(n), n);
    return tell(w, USHER_OK, n);
}

static void refused(struct work *w)
{
    int64_t today = day_of(w->p, w->now);

    w->p->turned_down++;
    w->p->refused = w->p->refused_day >= today ? w->p->refused + 1 : 1;
    if (w->p->refused_day < today)
        w->p->refused_day = today;
}

static bool in_groups(const struct model_number *n, const struct usher_text *groups)
{
    struct usher_text g;

    if (groups->data == NULL)
        return true;
    for (size_t i = 0; group_at(groups, i, &g); i++)
        if (in_group(n, &g))
            return true;
    return false;
}

static bool names_any(const struct usher_text *groups)
{
    struct usher_text g;

    for (size_t i = 0; group_at(groups, i, &g); i++)
        if (g.size == 1 && g.data[0] == '*')
            return true;
    return false;
}

/* Draw one of the @n numbers in @circle, which are on places of a circle that they drew when they
 * became idle: the k-th after a place that is drawn now, where k is drawn as well. */
static struct model_number *drawn_from(const struct work *w, struct model_number **circle, size_t n)
{
    uint64_t version = w->p->version + 1;
    uint32_t place = draw(version);
    size_t k = draw(version + (UINT64_C(1) << 53)) % 16, first = 0;

    for (size_t i = 1; i < n; i++)
        for (size_t j = i; j > 0 && offered_before(w->p, circle[j], circle[j - 1]); j--) {
            struct model_number *swap = circle[j];

            circle[j] = circle[j - 1];
            circle[j - 1] = swap;
        }
    while (first < n && draw(circle[first]->order) < place)
        first++;
    return circle[(first + k) % n];
}

/* The first of @group that is offered: free, and not aside; NULL. */
static struct model_number *first_offered(struct work *w, const struct usher_text *group)
{
    struct model_number *head = NULL, **idle = NULL;
    size_t n_idle = 0;

    for (size_t i = 0; i < w->p->n_numbers; i++) {
        struct model_number *n = &w->p->numbers[i];

        if (!free_now(n) || n->aside || !in_group(n, group))
            continue;
        if (head == NULL || offered_before(w->p, n, head))
            head = n;
        idle = grown(idle, n_idle, sizeof *idle);
        idle[n_idle++] = n;
    }
    if (head != NULL && head->drawn && w->p->set.order == USHER_NUMBER_ORDER_RANDOM)
        head = drawn_from(w, idle, n_idle);
    free(idle);
    return head;
}

/* The number that a call on @group gets, NULL if none.  *@left < 0: the call is to come again. */
static struct model_number *pick(struct work *w, const struct usher_text *group, int *left)
{
    for (;;) {
        struct model_number *n = first_offered(w, group);
        bool due = false;
        int64_t at;

        if (n == NULL)
            n = first_back(w, group);
        if (n != NULL && (w->p->judge == MODEL_JUDGED || is_right(w, n)))
            return n;
        if (n == NULL) {
            n = first_due(w->p, group, &at);
            due = n != NULL && at <= w->moment;
            if (!due) {
                if (w->p->judge == MODEL_JUDGED)
                    return NULL;
                *left = *left > 0 ? judge(w, *left) : -1;
                if (*left < 0)
                    return NULL;
                continue;
            }
        }
        if (--*left < 0)
            return NULL;
        if (due)
            expire_one(w, n);
        else
            judge_one(w, n);
    }
}

/* When a number that is up, whose hold or rest ends at @at, gets free by itself; -1: never. */
static int64_t free_again(const struct model_pool *p, const struct model_number *n, int64_t at,
                          int64_t now)
{
    if (at == 0) {
        if (n->busy)
            return -1;
        at = now;
    } else if (n->busy) {
        at = p->set.gap_ms > 0 ? later(at + p->set.rest_ms, n->used + p->set.gap_ms)
                               : at + p->set.rest_ms;
    }
    return capped(p, n, at) ? midnight_after(p, at) : at;
}

static int64_t soonest(int64_t a, int64_t b)
{
    return a < 0 || b < a ? b : a;
}

/* A hold or a rest that ends by itself. */
struct end {
    const struct model_number *n;
    int64_t at;
};

/* Write the ends of @group in order; those by the limit come after the others of the same time.
 * Returns how many. */
static size_t all_ends(struct model_pool *p, const struct usher_text *group, struct end *ends)
{
    struct model_pool rest = pool_copy(p);
    int64_t limit = 0;
    size_t n = 0;

    for (size_t i = 0; i < p->n_numbers; i++)
        if (p->numbers[i].until != 0 && !limited(p, &p->numbers[i]) &&
            in_group(&p->numbers[i], group))
            ends[n++] = (struct end){ &p->numbers[i], p->numbers[i].until };
    for (size_t i = 1; i < n; i++)
        for (size_t j = i;
             j > 0 && (ends[j].at < ends[j - 1].at ||
                       (ends[j].at == ends[j - 1].at && ends[j].n->order < ends[j - 1].n->order));
             j--) {
            struct end swap = ends[j];

            ends[j] = ends[j - 1];
            ends[j - 1] = swap;
        }
    for (struct model_number *k; (k = first_limited(&rest)) != NULL;) {
        const struct model_number *here = number_find(p, k->id.data, k->id.size);
        size_t to = n;

        limit = later(limit, limit_of(p, here));
        removed(rest.numbers, &rest.n_numbers, sizeof *k, (size_t)(k - rest.numbers));
        if (!limited(p, here) || !in_group(here, group))
            continue;
        for (; to > 0 && ends[to - 1].at > limit; to--)
            ends[to] = ends[to - 1];
        ends[to] = (struct end){ here, limit };
        n++;
    }
    pool_done(&rest);
    return n;
}

/*
 * Return when a number of @group gets free, or @next if that is before; -1: none does by itself.
 * If more than DUE_LOOK end before and free none: the end of the next one.
 */
static int64_t next_free(struct work *w, const struct usher_text *group, int64_t next)
{
    struct model_pool *p = w->p;
    struct end *ends = grown(NULL, p->n_numbers, sizeof *ends);
    size_t n = all_ends(p, group, ends), rests = 0;
    bool held = false; /* found a hold whose end frees it */

    for (size_t i = 0; i < p->n_numbers; i++)
        rests += resting(&p->numbers[i]) && p->numbers[i].up && in_group(&p->numbers[i], group);
    for (size_t i = 0; i < n; i++) {
        const struct model_number *k = ends[i].n;
        int64_t at = ends[i].at, soon = at + p->set.rest_ms;

        if ((next >= 0 && at >= next) || (held && rests == 0))
            break;
        if (i == DUE_LOOK) {
            next = at;
            break;
        }
        rests -= resting(k) && k->up;
        if (!k->up)
            continue;
        next = soonest(next, free_again(p, k, at, w->moment));
        held |= k->busy && free_again(p, k, at, w->moment) == soon;
    }
    free(ends);
    return next;
}

/* Why a call that begins is turned away, whatever is free. */
static enum usher_number_why shut(const struct work *w)
{
    int64_t mode = w->p->exists ? w->p->set.mode : USHER_SCOPE_MODE_OPEN;

    return mode == USHER_SCOPE_MODE_OPEN     ? USHER_NUMBER_WHY_NONE
           : mode == USHER_SCOPE_MODE_CLOSED ? USHER_NUMBER_WHY_CLOSED
                                             : USHER_NUMBER_WHY_STOPPED;
}

static enum usher_status nothing_free(struct work *w)
{
    const struct usher_text *groups = &w->a->group;
    struct usher_number_result *r = &w->r->of.number;
    struct usher_text g;
    size_t total = 0, busy_up = 0, rest = 0, have_had = 0;

    for (size_t i = 0; i < w->p->n_numbers; i++) {
        const struct model_number *n = &w->p->numbers[i];

        if (!in_groups(n, groups))
            continue;
        total++;
        busy_up += n->busy && n->up;
        rest += resting(n) && n->up;
        if (free_now(n)) {
            have_had++;
            r->next_ms = soonest(r->next_ms, midnight_after(w->p, w->now));
        }
    }
    r->why = total == 0     ? USHER_NUMBER_WHY_NO_NUMBER
             : busy_up > 0  ? USHER_NUMBER_WHY_BUSY
             : rest > 0     ? USHER_NUMBER_WHY_RESTING
             : have_had > 0 ? USHER_NUMBER_WHY_CAPPED
                            : USHER_NUMBER_WHY_DOWN;
    if (groups->data == NULL || names_any(groups))
        r->next_ms = next_free(w, NULL, r->next_ms);
    else
        for (size_t i = 0; group_at(groups, i, &g); i++)
            r->next_ms = next_free(w, &g, r->next_ms);
    if (w->p->exists)
        refused(w);
    return USHER_EMPTY;
}

static enum usher_status call_given(struct work *w, struct model_number *n)
{
    struct usher_number_result *r = &w->r->of.number;

    if (n == NULL)
        return tell(w, USHER_MISSING, NULL);
    if (n->busy) {
        if (w->a->owner.data != NULL && is(&n->owner, w->a->owner.data, w->a->owner.size))
            return tell(w, USHER_SAME, n);
    }
    if (shut(w) != USHER_NUMBER_WHY_NONE) {
        r->why = shut(w);
    } else if (n->busy) {
        r->why = USHER_NUMBER_WHY_BUSY;
    } else if (!n->up) {
        r->why = USHER_NUMBER_WHY_DOWN;
    } else {
        if (n->until == 0 && !capped(w->p, n, w->now))
            return take(w, n);
        r->why = n->until != 0 ? USHER_NUMBER_WHY_RESTING : USHER_NUMBER_WHY_CAPPED;
    }
    r->next_ms = n->up && shut(w) == USHER_NUMBER_WHY_NONE
                     ? free_again(w->p, n, end_of(w->p, n), w->moment)
                     : -1;
    refused(w);
    (void)tell(w, USHER_REFUSED, n);
    r->token = 0; /* of another owner */
    return USHER_REFUSED;
}

static struct model_number *oldest_of_owner(struct work *w, int *left)
{
    for (;;) {
        struct model_number *oldest = NULL;

        for (size_t i = 0; i < w->p->n_numbers; i++) {
            struct model_number *n = &w->p->numbers[i];

            if (n->busy && is(&n->owner, w->a->owner.data, w->a->owner.size) &&
                (oldest == NULL || n->order < oldest->order))
                oldest = n;
        }
        if (oldest == NULL || !is_due(w, oldest))
            return oldest;
        if (--*left < 0)
            return NULL;
        expire_one(w, oldest); /* then it is the owner's no more; its rest may be due, too */
    }
}

static enum usher_status verb_call(struct work *w, struct model_number *given)
{
    struct model_pool *p = w->p;
    const struct usher_text *owner = &w->a->owner, *groups = &w->a->group;
    struct model_number *n = NULL;
    struct usher_text g;
    int left = JUDGE_MOST;

    if (w->a->number.data != NULL)
        return call_given(w, given);
    if (owner->data != NULL && (n = oldest_of_owner(w, &left)) != NULL)
        return tell(w, USHER_SAME, n);
    if (left < 0)
        return AGAIN;
    if (shut(w) != USHER_NUMBER_WHY_NONE) {
        refused(w);
        w->r->of.number.why = shut(w);
        return USHER_EMPTY;
    }
    if (w->a->sticky.data != NULL)
        for (size_t i = 0; i < p->n_stickies; i++) {
            const struct model_sticky *s = &p->stickies[i];

            if (!is(&s->peer, w->a->sticky.data, w->a->sticky.size) || s->until <= w->moment)
                continue;
            n = number_find(p, s->number.data, s->number.size);
            up_to_date(w, n);
            if (n != NULL && free_now(n) && !capped(p, n, w->now) && in_groups(n, groups))
                return take(w, n);
        }
    n = NULL;
    if (groups->data == NULL)
        n = pick(w, NULL, &left);
    else
        for (size_t i = 0; n == NULL && left >= 0 && group_at(groups, i, &g); i++)
            n = pick(w, &g, &left);
    if (left < 0)
        return AGAIN;
    return n != NULL ? take(w, n) : nothing_free(w);
}

/* The token is none that was ever given out here. */
static bool from_nowhere(const struct work *w, const struct model_number *n)
{
    return (w->c->given & USHER_GIVEN_TOKEN) != 0 && w->p->exists &&
           (n == NULL || w->a->token != n->token) && w->a->token > w->p->version;
}

static enum usher_status verb_hangup(struct work *w, struct model_number *n)
{
    bool token = (w->c->given & USHER_GIVEN_TOKEN) != 0;
    bool again; /* not the call, but the rest after it is to end */

    if (from_nowhere(w, n))
        return USHER_LOST;
    if (n == NULL)
        return tell(w, USHER_MISSING, NULL);
    again = resting(n) && (w->c->given & USHER_GIVEN_REST) != 0 && w->a->rest_ms == 0;
    if (!n->busy && !again)
        return tell(w, USHER_REFUSED, n);
    if (token && w->a->token != n->token)
        return tell_stale(w, n);
    if (!token && w->p->set.strict)
        return tell(w, USHER_REFUSED, n);
    ends(w, n, w->moment, w->c->given & USHER_GIVEN_REST ? w->a->rest_ms : -1, w->c->verb);
    return tell(w, USHER_OK, n);
}

static enum usher_status verb_lift(struct work *w, struct model_number *n)
{
    if (n == NULL)
        return tell(w, USHER_MISSING, NULL);
    if (!resting(n))
        return tell(w, USHER_SAME, n);
    n->until = 0;
    n->had = false;
    if (free_now(n))
        joins(w, n);
    changed(w, w->c->verb, model_state(n), model_state(n), n);
    return tell(w, USHER_OK, n);
}

static enum usher_status verb_move(struct work *w, struct model_number *n)
{
    const struct usher_text *to = &w->a->group;

    if (n == NULL)
        return tell(w, USHER_MISSING, NULL);
    if (to->data == NULL ? n->group.size == 0 : is(&n->group, to->data, to->size))
        return tell(w, USHER_SAME, n);
    n->group = text_of(to->data, to->size);
    changed(w, w->c->verb, model_state(n), model_state(n), n);
    return tell(w, USHER_OK, n);
}

/* true: its hold ends at another time now. */
static bool extended(struct work *w, struct model_number *n)
{
    int64_t lease = n->lease, until = n->until;

    hold(w, n, w->c->given & USHER_GIVEN_LEASE ? w->a->lease_ms : lease);
    if (n->lease == lease && n->until == until)
        return false;
    changed(w, w->c->verb, model_state(n), model_state(n), n);
    return true;
}

/* Return the oldest hold of the node after that with token @after, or NULL. */
static struct model_number *next_of_node(struct work *w, uint64_t after)
{
    struct model_number *next = NULL;

    for (size_t i = 0; i < w->p->n_numbers; i++) {
        struct model_number *n = &w->p->numbers[i];

        if (n->busy && is(&n->node, w->a->node.data, w->a->node.size) && n->token > after &&
            (next == NULL || n->token < next->token))
            next = n;
    }
    return next;
}

static enum usher_status renew_node(struct work *w)
{
    struct usher_number_result *r = &w->r->of.number;
    uint64_t after = w->a->after.data != NULL ? token_in(&w->a->after) : 0;
    struct model_number *n;

    if (!w->p->exists)
        return USHER_MISSING;
    for (int looked = 0; (n = next_of_node(w, after)) != NULL; looked++) {
        if (looked == STEP_MOST) {
            r->more = true;
            go_on_behind(r, after);
            break;
        }
        after = n->token;
        if (is_due(w, n))
            expire_one(w, n);
        else if (extended(w, n))
            r->count++;
    }
    return r->count > 0 ? USHER_OK : USHER_SAME;
}

static enum usher_status verb_renew(struct work *w, struct model_number *n)
{
    if (w->a->number.data == NULL)
        return renew_node(w);
    if (from_nowhere(w, n)) {
        if (n == NULL || w->a->owner.data == NULL)
            return USHER_LOST;
        if (!n->busy)
            return take(w, n);
        if (!is(&n->owner, w->a->owner.data, w->a->owner.size))
            return USHER_LOST;
        return tell(w, extended(w, n) ? USHER_OK : USHER_SAME, n);
    }
    if (n == NULL)
        return tell(w, USHER_MISSING, NULL);
    if (!n->busy)
        return tell(w, USHER_REFUSED, n);
    if (w->a->token != n->token)
        return tell_stale(w, n);
    return tell(w, extended(w, n) ? USHER_OK : USHER_SAME, n);
}

static bool free_applies(const struct work *w, const struct model_number *n)
{
    const struct usher_text *owner = &w->a->owner, *number = &w->a->number, *node = &w->a->node;

    return n->busy && (node->data == NULL || is(&n->node, node->data, node->size)) &&
           (owner->data == NULL || is(&n->owner, owner->data, owner->size)) &&
           (number->data == NULL || is(&n->id, number->data, number->size));
}

/* The oldest hold that `free` is to end. */
static struct model_number *oldest_to_free(struct work *w)
{
    struct model_number *oldest = NULL;

    for (size_t i = 0; i < w->p->n_numbers; i++) {
        struct model_number *n = &w->p->numbers[i];

        if (free_applies(w, n) && (oldest == NULL || n->order < oldest->order))
            oldest = n;
    }
    return oldest;
}

static enum usher_status verb_free(struct work *w, struct model_number *given)
{
    struct usher_number_result *r = &w->r->of.number;
    struct model_number *n;

    if (w->a->number.data != NULL && given == NULL)
        return tell(w, USHER_MISSING, NULL);
    if (!w->p->exists)
        return USHER_MISSING;
    while (r->count < STEP_MOST && (n = oldest_to_free(w)) != NULL) {
        ends(w, n, w->moment, -1, w->c->verb);
        r->count++;
    }
    r->more = oldest_to_free(w) != NULL;
    if (given != NULL)
        (void)tell(w, USHER_OK, given);
    return r->count > 0 ? USHER_OK : USHER_SAME;
}

static enum usher_status verb_sweep(struct work *w)
{
    struct usher_number_result *r = &w->r->of.number;
    const struct model_number *n;
    uint64_t most = STEP_MOST;
    int64_t at;

    if (!w->p->exists)
        return USHER_MISSING;
    if ((w->c->given & USHER_GIVEN_MAX) != 0 && w->a->max < STEP_MOST)
        most = (uint64_t)w->a->max;
    r->count = expire(w, most, JUDGE_MOST);
    n = first_due(w->p, NULL, &at);
    r->more = (n != NULL && at <= w->moment) || w->p->judge != MODEL_JUDGED;
    return w->p->version != w->before ? USHER_OK : USHER_SAME;
}

/* The settings were @before: the limits among them are those of all numbers, without a change of
 * each. */
static void reach(struct work *w, const struct usher_number_result_settings *before)
{
    struct model_pool *p = w->p;
    const struct usher_number_result_settings *s = &p->set;
    bool rests = s->rest_ms != before->rest_ms || s->gap_ms != before->gap_ms;
    bool longer = s->rest_ms > before->rest_ms || s->gap_ms > before->gap_ms;
    bool zone = s->daily != 0 && s->zone_min != before->zone_min;
    bool cap = s->daily != before->daily || zone;

    if (p->calls != 0 && (rests || cap)) {
        p->judge = p->judge != MODEL_JUDGED ? MODEL_JUDGE_BOTH
                   : !longer && !cap        ? MODEL_JUDGE_RESTS
                   : rests                  ? MODEL_JUDGE_BOTH
                                            : MODEL_JUDGE_IDLE;
        p->judge_hi = p->judge_order = 0;
        if (p->judge == MODEL_JUDGE_IDLE && !zone &&
            (s->daily == 0 || (before->daily != 0 && s->daily > before->daily)))
            p->judge_hi = (UINT64_C(1) << 32) + 1; /* a higher cap only frees */
    }
    (void)expire(w, EXPIRE_MOST, JUDGE_MOST);
}

static enum usher_status verb_set(struct work *w)
{
    struct usher_number_result_settings *s = &w->p->set, before = *s;
    const struct usher_number_args *a = w->a;
    uint64_t given = w->c->given & ~(uint64_t)(USHER_GIVEN_NOW | USHER_GIVEN_IF_VERSION);
    const struct model_text reason = w->p->reason;

    if (given == 0 && a->reason.data == NULL && !w->p->exists)
        return USHER_MISSING;
    if (given & USHER_GIVEN_ORDER)
        s->order = a->order;
    if (given & USHER_GIVEN_LEASE)
        s->lease_ms = a->lease_ms;
    if (given & USHER_GIVEN_REST)
        s->rest_ms = a->rest_ms;
    if (given & USHER_GIVEN_DAILY)
        s->daily = a->daily;
    if (given & USHER_GIVEN_ZONE) {
        w->p->zoned |= s->zone_min != a->zone_min;
        s->zone_min = a->zone_min;
    }
    if (given & USHER_GIVEN_STRICT)
        s->strict = a->strict;
    if (given & USHER_GIVEN_STICKY_MS)
        s->sticky_ms = a->sticky_ms;
    if (given & USHER_GIVEN_STICKY_MAX)
        s->sticky_max = a->sticky_max;
    if (given & USHER_GIVEN_REQUESTS)
        s->requests = a->requests;
    if (given & USHER_GIVEN_GAP)
        s->gap_ms = a->gap_ms;
    if (given & USHER_GIVEN_LOG)
        s->log = a->log;
    if (given & USHER_GIVEN_LEASE_MAX)
        s->lease_max_ms = a->lease_max_ms;
    if (given & USHER_GIVEN_OUTAGE)
        s->outage_ms = a->outage_ms;
    if (given & USHER_GIVEN_MODE)
        s->mode = a->mode;
    if (given & USHER_GIVEN_PUSH)
        s->push = a->push;
    w->r->of.number.of.settings = *s;
    if (a->reason.data != NULL)
        w->p->reason = text_of(a->reason.data, a->reason.size);
    else if (s->mode != before.mode)
        w->p->reason = text_of(NULL, 0);
    tell_reason(w, &w->p->reason);
    if (given == 0 && a->reason.data == NULL)
        return USHER_OK; /* a read */
    if (w->p->exists && memcmp(s, &before, sizeof before) == 0 && same_text(&w->p->reason, &reason))
        return USHER_SAME;
    w->p->exists = true;
    if (s->lease_max_ms != before.lease_max_ms) {
        w->p->limited = w->moment;
        w->p->limited_at = w->p->version + 1;
    }
    changed(w, w->c->verb, 0, 0, NULL);
    reach(w, &before);
    return USHER_OK;
}

/* ---- verbs that read --------------------------------------------------------------- */

static void add_row(struct work *w, const struct model_number *n)
{
    struct usher_number_result *r = &w->r->of.number;
    struct usher_number_result_row *row;

    w->r->block = grown(w->r->block, r->n_rows, sizeof *row);
    r->rows = w->r->block;
    row = (struct usher_number_result_row *)w->r->block + r->n_rows++;
    row->number = (struct usher_text){ kept(&n->id), n->id.size };
    row->group = (struct usher_text){ kept(&n->group), n->group.size };
    row->owner = (struct usher_text){ kept(&n->owner), n->owner.size };
    row->state = model_state(n);
    row->resting = resting(n) && n->up; /* one that is down rests, too, but to no end */
    row->token = n->token;
    row->until_ms = end_of(w->p, n);
    row->calls_today = n->day >= day_of(w->p, w->now) ? n->calls : 0;
    row->used_ms = n->used;
    row->age_ms = n->busy ? held_for(w, n) : 0;
    row->node = (struct usher_text){ kept(&n->node), n->node.size };
    row->value = (struct usher_text){ NULL, 0 };
    row->capped = n->up && !n->busy && capped(w->p, n, w->now);
}

static enum usher_status verb_show(struct work *w, const struct model_number *n)
{
    if (n == NULL)
        return tell(w, USHER_MISSING, NULL);
    add_row(w, n);
    return tell(w, USHER_OK, n);
}

/* The next number to look at: in byte order, or the holds from the oldest on, overdue ones too. */
static const struct model_number *list_next(const struct work *w, const struct model_text *after,
                                            uint64_t order)
{
    const struct model_pool *p = w->stored;
    const struct usher_text *owner = &w->a->owner, *node = &w->a->node;
    const struct model_number *next = NULL;

    for (size_t i = 0; i < p->n_numbers; i++) {
        const struct model_number *n = &p->numbers[i];

        if (of_calls(w->c)) {
            if (n->busy && (owner->data == NULL || is(&n->owner, owner->data, owner->size)) &&
                (node->data == NULL || is(&n->node, node->data, node->size)) && n->order > order &&
                (next == NULL || n->order < next->order))
                next = n;
        } else if (text_compare(&n->id, after) > 0 &&
                   (next == NULL || text_compare(&n->id, &next->id) < 0)) {
            next = n;
        }
    }
    return next;
}

/* `more` says that there are numbers that have not been looked at. */
static enum usher_status verb_list(struct work *w)
{
    struct usher_number_result *r = &w->r->of.number;
    const struct usher_number_args *a = w->a;
    struct model_text after = text_of(a->after.data, a->after.size);
    size_t most = w->c->given & USHER_GIVEN_MAX ? (size_t)a->max : USHER_LIST_DEFAULT;
    const struct model_number *next, *n;
    uint64_t order = of_calls(w->c) && a->after.data != NULL ? token_in(&a->after) : 0;
    int looked = 0;

    if (!w->p->exists)
        return USHER_MISSING;
    while ((next = list_next(w, &after, order)) != NULL) {
        if (r->n_rows == most || looked++ == USHER_PAGE_MAX) {
            r->more = true;
            r->number_size = after.size;
            memcpy(r->number, after.data, sizeof r->number);
            if (of_calls(w->c))
                go_on_behind(r, order);
            break;
        }
        after = next->id;
        order = next->order;
        n = number_find(w->p, next->id.data, next->id.size);
        if (((w->c->given & USHER_GIVEN_STATE) == 0 || (int64_t)model_state(n) == a->state ||
             a->state == USHER_NUMBER_STATE_BUSY) &&
            (!of_calls(w->c) || n->busy))
            add_row(w, n);
    }
    return USHER_OK;
}

static enum usher_status verb_stats(struct work *w)
{
    const struct model_pool *p = w->p;
    struct usher_number_result_statistics *s = &w->r->of.number.of.stats;
    const struct model_number *oldest = NULL;
    int64_t today = day_of(p, w->now);

    if (!p->exists)
        return USHER_MISSING;
    s->mode = p->set.mode;
    tell_reason(w, &p->reason);
    for (size_t i = 0; i < p->n_numbers; i++) {
        const struct model_number *n = &p->numbers[i];

        s->total++;
        s->idle_up += !n->busy && n->up;
        s->idle_down += !n->busy && !n->up;
        s->busy_up += n->busy && n->up;
        s->busy_down += n->busy && !n->up;
        s->resting += resting(n) && n->up;
        s->capped += p->set.daily > 0 && free_now(n) && n->aside && n->day >= today;
        if (n->busy && (oldest == NULL || n->token < oldest->token))
            oldest = n;
    }
    s->longest_hold_ms = oldest != NULL ? held_for(w, oldest) : 0;
    w->r->of.number.more = p->judge != MODEL_JUDGED;
    s->calls_today = p->calls_day >= today ? p->calls : 0;
    s->refused_today = p->refused_day >= today ? p->refused : 0;
    s->calls_total = (int64_t)p->begun;
    s->refused_total = (int64_t)p->turned_down;
    s->hangups_total = (int64_t)p->hung_up;
    s->expired_total = (int64_t)p->expired;
    s->freed_total = (int64_t)p->freed;
    return USHER_OK;
}

static void settings_default(struct model_pool *p)
{
    memset(&p->set, 0, sizeof p->set);
    p->set.order = USHER_NUMBER_ORDER_LONGEST_IDLE;
    p->set.mode = USHER_SCOPE_MODE_OPEN;
    p->set.sticky_ms = 7 * DAY;
    p->set.sticky_max = 10000;
    p->set.requests = 10000;
}

static size_t records_of(const struct model_pool *p)
{
    size_t n =
        p->n_numbers + p->n_stickies + p->n_past + p->n_requests + p->log.n + (p->reason.size != 0);

    for (size_t i = 0; i < p->n_numbers; i++) {
        const struct model_number *a = &p->numbers[i];
        bool first = a->group.size != 0;

        for (size_t k = 0; k < i && first; k++)
            first = !is(&p->numbers[k].group, a->group.data, a->group.size);
        n += first;
        n += a->busy && a->node.size != 0;
        first = free_now(a) && a->aside;
        for (size_t k = 0; k < i && first; k++)
            first =
                !free_now(&p->numbers[k]) || !p->numbers[k].aside || p->numbers[k].day != a->day;
        n += first; /* its day */
    }
    return n;
}

static enum usher_status verb_drop(struct work *w)
{
    struct model_pool *p = w->p;
    size_t n;

    if (!p->exists)
        return USHER_SAME;
    if ((w->c->given & USHER_GIVEN_IF_VERSION) != 0 && (uint64_t)w->a->if_version != p->version)
        return USHER_STALE;
    if (!p->dropping) {
        p->dropping = true;
        p->left = records_of(p);
        pool_done(p);
        p->numbers = NULL;
        p->past = NULL;
        p->stickies = NULL;
        p->requests = NULL;
        memset(&p->log, 0, sizeof p->log);
        p->n_numbers = p->n_past = p->n_stickies = p->n_requests = 0;
        p->calls = p->calls_day = p->refused = p->refused_day = 0;
        p->reason = text_of(NULL, 0);
        p->begun = p->hung_up = p->expired = p->freed = p->turned_down = 0;
        p->limited = 0;
        p->limited_at = 0;
        p->out_from = p->out_to = 0;
        p->judge = MODEL_JUDGED;
        settings_default(p);
        changed(w, USHER_NUMBER_DROP, USHER_NUMBER_STATE_NODATA, USHER_NUMBER_STATE_NODATA, NULL);
    }
    n = p->left < DROP_MOST ? p->left : DROP_MOST;
    p->left -= n;
    if (n < DROP_MOST) {
        p->exists = p->dropping = false;
        p->clock = 0;
    }
    w->r->of.number.count = n;
    w->r->of.number.more = p->dropping;
    return USHER_OK;
}

static enum usher_status verb_changes(struct work *w)
{
    const struct model_pool *p = w->stored;
    struct usher_number_result *r = &w->r->of.number;
    size_t max = (w->c->given & USHER_GIVEN_MAX) != 0 ? (size_t)w->a->max : 100;
    enum usher_status status;
    size_t i = 0;

    if (!p->exists)
        return USHER_MISSING;
    r->since = p->log.since;
    r->of.settings.push = p->set.push;
    status = model_log_read(&p->log, p->set.log, p->version, (uint64_t)w->a->since, &i);
    for (; status == USHER_OK && i < p->log.n; i++) {
        const struct model_logged *l = &p->log.notices[i];
        struct usher_number_result_row *row;

        if (r->n_rows == max) {
            r->more = true;
            break;
        }
        w->r->block = grown(w->r->block, r->n_rows, sizeof *row);
        r->rows = w->r->block;
        row = (struct usher_number_result_row *)w->r->block + r->n_rows++;
        memset(row, 0, sizeof *row);
        row->value.size = l->size;
        row->value.data = memcpy(grown(NULL, l->size, 1), l->packed, l->size);
    }
    return status;
}

/* ---- dispatch ---------------------------------------------------------------------- */

static enum usher_status answer(struct work *w)
{
    struct model_number *n =
        w->a->number.data != NULL ? number_find(w->p, w->a->number.data, w->a->number.size) : NULL;

    up_to_date(w, n);
    switch (w->c->verb) {
    case USHER_NUMBER_ADD:
        return verb_add(w, n);
    case USHER_NUMBER_DEL:
        return verb_del(w, n);
    case USHER_NUMBER_REG:
        return verb_reg(w, n, true);
    case USHER_NUMBER_UNREG:
        return verb_reg(w, n, false);
    case USHER_NUMBER_CALL:
        return verb_call(w, n);
    case USHER_NUMBER_HANGUP:
        return verb_hangup(w, n);
    case USHER_NUMBER_RENEW:
        return verb_renew(w, n);
    case USHER_NUMBER_LIFT:
        return verb_lift(w, n);
    case USHER_NUMBER_MOVE:
        return verb_move(w, n);
    case USHER_NUMBER_FREE:
        return verb_free(w, n);
    case USHER_NUMBER_SET:
        return verb_set(w);
    case USHER_NUMBER_SWEEP:
        return verb_sweep(w);
    case USHER_NUMBER_SHOW:
        return verb_show(w, n);
    case USHER_NUMBER_LIST:
        return verb_list(w);
    case USHER_NUMBER_STATS:
        return verb_stats(w);
    case USHER_NUMBER_CHANGES:
        return verb_changes(w);
    default:
        abort(); /* arguments_right() */
    }
}

/* It is to be done at one version alone, and that is not this one: answered. */
static bool other_version(struct work *w)
{
    bool makes = w->c->verb == USHER_NUMBER_ADD || w->c->verb == USHER_NUMBER_SET;

    if ((w->c->given & USHER_GIVEN_IF_VERSION) == 0 ||
        (w->p->exists ? (uint64_t)w->a->if_version == w->p->version : !makes))
        return false;
    w->r->status = w->p->exists ? USHER_STALE : USHER_MISSING;
    return true;
}

static void execute(struct work *w)
{
    struct usher_result *r = w->r;
    const struct usher_text *id = &w->c->request;
    uint64_t version = w->p->version;

    if (id->data != NULL)
        for (size_t i = 0; i < w->p->n_requests; i++) {
            const struct model_request *q = &w->p->requests[i];

            if (!is(&q->id, id->data, id->size) || q->at + REQUEST_AGE <= w->moment)
                continue;
            if (q->asked != gen_asked(w->c)) {
                r->status = USHER_INVALID; /* as all of them: about no version */
                r->version = r->epoch = 0;
                return;
            }
            *r = q->answer;
            r->repeated = true;
            if (w->c->verb == USHER_NUMBER_SET) {
                r->block = NULL;
                r->of.number.rows = NULL;
                r->of.number.n_rows = 0;
                tell_reason(w, &q->reason);
            }
            return;
        }
    if (w->c->verb == USHER_NUMBER_DROP) {
        bool there = w->p->exists;

        r->status = verb_drop(w);
        r->version = there ? w->p->version : 0;
        if (there && !w->p->exists)
            w->p->epoch++;
        return;
    }
    w->before = version;
    do {
        outage(w, true);
        if (w->c->verb != USHER_NUMBER_SWEEP) { /* which answers for an outage itself */
            expire(w, EXPIRE_MOST, JUDGE_WAY);
            version = w->p->version;
        }
        if (other_version(w)) {
            r->version = w->p->exists ? w->p->version : 0;
            return;
        }
        r->status = answer(w);
    } while ((int)r->status == AGAIN);
    r->version = w->p->exists ? w->p->version : 0;
    r->epoch = w->p->exists ? w->p->epoch : 0;
    if (r->status == USHER_OK && w->p->version > version)
        remember_request(w);
}

/* When something of @p ends by itself, as it is stored. */
static int64_t due_of(struct model_pool *p)
{
    int64_t at;

    (void)first_due(p, NULL, &at);
    return at;
}

void model_execute(struct model *m, const struct usher_operation *c, struct usher_result *r)
{
    struct model nobody = { NULL, 0, NULL, NULL };
    struct model_pool *p, copy;
    bool hidden;
    struct work w = { m, NULL, NULL, c, &c->arg.number, r, c->now_ms, c->now_ms, 0 };

    memset(r, 0, sizeof *r);
    r->of.number.why = USHER_NUMBER_WHY_NONE;
    r->of.number.next_ms = -1;
    if (!arguments_right(c)) {
        r->status = USHER_INVALID;
        return;
    }
    p = pool_find(m, c->scope.data, c->scope.size);
    if (p == NULL) {
        m->pools = grown(m->pools, m->n_pools, sizeof *m->pools);
        p = &m->pools[m->n_pools++];
        p->name = text_of(c->scope.data, c->scope.size);
        p->epoch = 1;
        settings_default(p);
    }
    if (p->dropping && (c->verb == USHER_NUMBER_ADD || c->verb == USHER_NUMBER_SET)) {
        p->exists = p->dropping = false; /* as the rest is erased first */
        p->epoch++;
        p->clock = 0;
    }
    hidden = p->dropping && c->verb != USHER_NUMBER_DROP;
    if (hidden)
        p->exists = false;
    w.p = p;
    w.stored = p;
    if (w.now < p->clock)
        w.now = p->clock;
    r->version = p->exists ? p->version : 0;
    r->epoch = p->exists ? p->epoch : 0;
    if (writes(c->verb)) {
        execute(&w);
        r->due_ms = due_of(p);
        p->exists = p->exists || hidden;
        return;
    }
    r->due_ms = due_of(p);
    copy = pool_copy(p);
    w.stored = p;
    w.p = &copy;
    w.m = &nobody;
    outage(&w, false);
    (void)expire(&w, UINT64_MAX, 0);
    for (size_t i = 0; i < copy.n_numbers && c->verb != USHER_NUMBER_STATS; i++)
        up_to_date(&w, &copy.numbers[i]); /* figures count the others as they were judged last */
    r->status = answer(&w);
    pool_done(&copy);
    p->exists = p->exists || hidden;
}

void model_reply_done(struct usher_result *r)
{
    struct usher_number_result_row *rows = r->block;

    if (rows == NULL)
        return;
    for (size_t i = 0; i < r->of.number.n_rows; i++) {
        free((void *)(uintptr_t)rows[i].number.data);
        free((void *)(uintptr_t)rows[i].group.data);
        free((void *)(uintptr_t)rows[i].owner.data);
        free((void *)(uintptr_t)rows[i].node.data);
        free((void *)(uintptr_t)rows[i].value.data);
    }
    free(rows);
    r->block = NULL;
    r->of.number.rows = NULL;
    r->of.number.n_rows = 0;
}

/* ---- invariants -------------------------------------------------------------------- */

static const char *pool_fault(const struct model_pool *p)
{
    if (!p->exists)
        return p->n_numbers + p->n_stickies + p->n_requests == 0
                   ? NULL
                   : "a pool that does not exist is empty";
    if (p->version == 0)
        return "a pool that exists has a version";
    for (size_t i = 0; i < p->n_numbers; i++) {
        const struct model_number *n = &p->numbers[i];

        if (n->token > p->version || n->order > p->version)
            return "no token or order is of a version to come";
        if (n->busy && n->token != n->order)
            return "a hold's token is its place among the holds";
        if (n->busy && (n->until != 0) != (n->lease > 0))
            return "a hold has a deadline if and only if it has a lease";
        if (!n->busy && (n->owner.size != 0 || n->node.size != 0 || n->lease != 0))
            return "only holds have owners, nodes and leases";
        if (n->used > p->clock)
            return "no call began in the future";
        for (size_t j = 0; j < i; j++) {
            const struct model_number *o = &p->numbers[j];

            if (same_text(&n->id, &o->id))
                return "a number is in a pool once";
            if (n->token != 0 && n->token == o->token)
                return "no token is given twice";
            if (free_now(n) && free_now(o) && n->order == o->order)
                return "no two numbers share a place in the idle list";
        }
    }
    return NULL;
}

static const char *pool_sums_fault(const struct model_pool *p)
{
    uint64_t busy = 0;
    int64_t calls = 0;

    for (size_t i = 0; i < p->n_numbers; i++) {
        busy += p->numbers[i].busy;
        calls += p->numbers[i].day == p->calls_day ? p->numbers[i].calls : 0;
    }
    for (size_t i = 0; i < p->n_past; i++)
        calls += p->past[i].day == p->calls_day ? p->past[i].calls : 0;
    if (p->begun != p->hung_up + p->expired + p->freed + busy)
        return "each hold ends once, or goes on";
    if (!p->zoned && p->calls_day == day_of(p, p->clock) && calls != p->calls)
        return "the calls of the day are those of the numbers";
    return NULL;
}

const char *model_sums(const struct model *m)
{
    const char *found = NULL;

    for (size_t i = 0; i < m->n_pools && found == NULL; i++)
        found = pool_sums_fault(&m->pools[i]);
    return found;
}

const char *model_fault(const struct model *m)
{
    for (size_t i = 0; i < m->n_pools; i++) {
        const char *fault = pool_fault(&m->pools[i]);

        if (fault != NULL)
            return fault;
    }
    return NULL;
}
