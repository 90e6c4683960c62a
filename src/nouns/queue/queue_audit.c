/* SPDX-License-Identifier: MIT */
/* Faults in the records of a queue, and totals for the audit and the digest. */
#include "config.h"

#include "queue.h"

#include <inttypes.h>

#include "core/text.h"
#include "change/record_ranges.h"
#include "nouns/nouns.h"

/* In minutes; checked because others can write to the store, and days are computed with it. */
#define ZONE_MAX 1440

const char *usher__queue_scope_fault(const struct usher_scope *scope)
{
    int64_t zone = scope->settings[SET_ZONE];

    for (int i = 0; i < SETTINGS; i++)
        if (i != SET_ZONE && (scope->settings[i] < 0 || scope->settings[i] > USHER_SPAN_MAX))
            return "a setting";
    if (scope->settings[SET_TRIGGER] < USHER_QUEUE_TRIGGER_AUTO ||
        scope->settings[SET_TRIGGER] > USHER_QUEUE_TRIGGER_PULL ||
        scope->settings[SET_SCOPE_MODE] < USHER_SCOPE_MODE_OPEN ||
        scope->settings[SET_SCOPE_MODE] > USHER_SCOPE_MODE_STOPPED ||
        scope->settings[SET_STRATEGY] < USHER_QUEUE_STRATEGY_LONGEST_IDLE ||
        scope->settings[SET_STRATEGY] > USHER_QUEUE_STRATEGY_RANDOM ||
        scope->settings[SET_REQUEUE] < USHER_QUEUE_REQUEUE_FRONT ||
        scope->settings[SET_REQUEUE] > USHER_QUEUE_REQUEUE_DROP)
        return "a setting";
    return zone < -ZONE_MAX || zone > ZONE_MAX ? "a time zone" : NULL;
}

static const char *agent_fault(const struct usher_scope *scope, const struct usher_record *r)
{
    struct agent a;
    int64_t n = 0;

    if (r->state == USHER_QUEUE_AGENT_GONE || r->state > USHER_QUEUE_AGENT_PAUSED)
        return "has an unknown state";
    a.r = *r;
    if (!usher__queue_agent_read(&a))
        return "has rooms that cannot be read";
    if (a.token < r->order || usher__is_newer(scope, a.token))
        return "has an invalid session";
    for (int64_t i = 0; i < r->n[A_CAPACITY]; i++)
        n += a.rooms[i].size != 0;
    if (a.reason.size > USHER_NAME_MAX ||
        (a.reason.size != 0 && r->state != USHER_QUEUE_AGENT_PAUSED && !asked(r)))
        return "has a reason without a pause";
    if (n != used(r))
        return "has counts that do not match its rooms";
    usher__queue_agent_settle(&a.r);
    if (r->until_ms != a.r.until_ms || r->slots != a.r.slots)
        return "is in lists that do not match its state";
    switch (r->state) {
    case USHER_QUEUE_AGENT_IDLE:
        return n != 0 || r->n[A_OFFERS] != 0 || r->n[A_WRAP] != 0
                   ? "is idle and has users, offers or a wrap-up"
                   : NULL;
    case USHER_QUEUE_AGENT_OFFERED:
        return r->n[A_SEATED] != 0 || (n == 0 && !goes(r))
                   ? "has the state offered without an offer"
                   : NULL;
    case USHER_QUEUE_AGENT_BUSY:
        return r->n[A_SEATED] == 0 && !goes(r) ? "is busy without a user" : NULL;
    case USHER_QUEUE_AGENT_WRAPUP:
        return n != 0 || r->n[A_WRAP] == 0 ? "is in wrap-up without an end" : NULL;
    case USHER_QUEUE_AGENT_PAUSED:
        return n != 0 || r->n[A_OFFERS] != 0 || r->n[A_WRAP] != 0 ? "is paused and has users"
                                                                  : NULL;
    default:
        return "has an unknown state";
    }
}

static const char *user_fault(const struct usher_record *r)
{
    struct usher_record should = *r;

    if (r->state == USHER_QUEUE_USER_GONE || r->state > USHER_QUEUE_USER_AWAY)
        return "has an unknown state";
    usher__queue_user_settle(&should, r->state);
    if (should.slots != r->slots || should.rank != r->rank || should.until_ms != r->until_ms)
        return "is in lists that do not match its state";
    if ((r->owner.size != 0) != (r->n[U_NO] != 0) || should.owner.size != r->owner.size)
        return "has a room without an agent, or an agent without a room";
    if (r->state == USHER_QUEUE_USER_OFFERED && r->n[U_END] == 0)
        return "is offered without an end";
    if (r->state == USHER_QUEUE_USER_AWAY && r->n[U_END] == 0)
        return "is away without an end";
    return r->group.size == 0 ? "is in no lane" : NULL;
}

static const char *lane_fault(const struct usher_record *r)
{
    if (r->state > LANE_EARLIER ||
        (r->state == LANE_EARLIER) != (r->id.size != 0 && r->id.data[0] == ','))
        return "has an unknown state";
    if (r->slots != (r->state == LANE_NOW ? 1 : 0))
        return "is in lists that do not match its state";
    if (r->data.size != FIGURES_BYTES &&
        (r->state == LANE_NOW || r->data.size < FIGURES_BYTES || r->data.size > EARLIER_MAX ||
         (r->data.size - FIGURES_BYTES) % QUARTER_BYTES != 0))
        return "has figures that cannot be read";
    return NULL;
}

const char *usher__queue_record_fault(const struct usher_scope *scope, const struct usher_record *r)
{
    const char *range = range_fault(r);

    if (usher__is_newer(scope, r->kind == KIND_LINK ? r->order / 16 : r->order) ||
        usher__is_newer(scope, r->token))
        return "is newer than its scope";
    if (range != NULL)
        return range;
    switch (r->kind) {
    case KIND_AGENT:
        return agent_fault(scope, r);
    case KIND_LINK:
        if (r->slots == 4u)
            return r->group.size == 0 || r->owner.size == 0 ? "names no agent or no lane" : NULL;
        if (scope != NULL && r->slots != 0 && (scope->counts[COUNT_OLD] & OLD_RANKS) == 0 &&
            r->rank / RANKS != (uint64_t)scope->settings[SET_STRATEGY])
            return "is ranked by a strategy that is not in force";
        return r->slots > 1 || r->group.size == 0 || r->owner.size == 0 ||
                       (r->slots == 0 && r->rank != 0)
                   ? "is not a valid link of an agent and a lane"
                   : NULL;
    case KIND_USER:
        return user_fault(r);
    case KIND_LANE:
        return lane_fault(r);
    case KIND_ABSENT:
        if (r->data.size > USHER_NAME_MAX || (r->data.size != 0 && r->n[ABSENT_UNTIL] != 0))
            return "has a reason without a pause";
        return r->slots != 1 ? "is in lists that do not match its state" : NULL;
    case KIND_VISIT:
        if (r->group.size == 0 || r->data.size == 0 || r->data.size > USHER_NAME_MAX)
            return "has no user or no lane";
        /* fall through */
    case USHER_KIND_REQUEST:
        return r->slots != 1 ? "is in lists that do not match its state" : NULL;
    case KIND_REFUSAL:
        return usher__queue_refusal_fault(r);
    case KIND_CHANGE:
        return usher__log_fault(&usher__queue_steps.log, scope, r);
    default:
        return "has an unknown kind";
    }
}

/* Return LOGIN of the id of a link. */
static uint32_t link_login(const struct usher_text *id)
{
    uint64_t login = 0;

    for (size_t i = 0; i < id->size && id->data[i] >= '0' && id->data[i] <= '9'; i++)
        login = login * 10 + (unsigned)(id->data[i] - '0');
    return (uint32_t)login;
}

/* Return 31 bits of the texts; different sets have different sums with very high probability. */
static int64_t text_hash(uint32_t h, const struct usher_text *text)
{
    return usher__text_hash(h, text) >> 1;
}

void usher__queue_tally(struct usher__tally *t, const struct usher_record *r)
{
    switch (r->kind) {
    case KIND_AGENT: {
        struct agent a;

        if (r->state > USHER_QUEUE_AGENT_PAUSED)
            break;
        t->counts[r->state]++;
        a.r = *r;
        if (!usher__queue_agent_read(&a))
            break;
        for (int64_t i = 0; i < r->n[A_CAPACITY]; i++)
            if (a.rooms[i].size != 0)
                t->sums[0] +=
                    text_hash((uint32_t)(text_hash((uint32_t)i + 1, &r->id)), &a.rooms[i]);
        t->counts[COUNT_FOR_ALL] += usher__text_equal(&a.lanes[0], &all_lanes);
        for (size_t i = 0; i < a.n_lanes; i++) {
            t->sum[4] += text_hash((uint32_t)text_hash((uint32_t)r->order, &r->id), &a.lanes[i]);
            t->sum[2] += text_hash(is_open(r) ? 3 : 1, &a.lanes[i]);
            t->sum[3] += text_hash((uint32_t)r->order, &r->id);
        }
        break;
    }
    case KIND_LINK:
        if (r->slots == 4u) {
            t->sums[4] +=
                text_hash((uint32_t)text_hash((uint32_t)(r->order / 16), &r->group), &r->owner);
            break;
        }
        t->sums[2] += text_hash(r->slots != 0 ? 3 : 1, &r->group);
        t->sums[3] += text_hash(link_login(&r->id), &r->owner);
        break;
    case KIND_USER:
        if (r->state > USHER_QUEUE_USER_AWAY)
            break;
        t->counts[COUNT_USERS + r->state]++;
        t->sum[1] += text_hash(r->state, &r->group);
        if (r->owner.size != 0)
            t->sum[0] += text_hash((uint32_t)(text_hash((uint32_t)r->n[U_NO], &r->owner)), &r->id);
        break;
    case KIND_LANE:
        if (r->state == LANE_EARLIER)
            break;
        t->counts[COUNT_LANES]++;
        for (uint32_t state = USHER_QUEUE_USER_WAITING; state <= USHER_QUEUE_USER_AWAY; state++)
            usher__tally_add(&t->sums[1], r->n[state - 1], text_hash(state, &r->id));
        break;
    case KIND_VISIT:
        t->counts[COUNT_VISITS]++;
        break;
    case KIND_CHANGE:
        usher__log_tally(&usher__queue_steps.log, t, r);
        break;
    case KIND_REFUSAL:
        break;
    case KIND_ABSENT:
        t->counts[COUNT_ABSENT]++;
        break;
    default:
        t->counts[COUNT_REQUESTS]++;
        break;
    }
}
