/* SPDX-License-Identifier: MIT */
/*
 * The verbs of a number pool as steps on a record store: load, use the core's tables, save.  Here
 * is what all of them use (a change of one number, expiries, changed limits), and add, del, reg,
 * unreg.
 *
 * The records are in src/core/number_records.def.  A day counts the numbers over the cap with calls
 * of that day; a node has a list of its holds, and the number has the node's name in its data.
 */
#include "config.h"

#include "number_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The change of own_record() was begun. */
static inline void begun(work *w, move *m)
{
    const struct usher_record *r = own_record(m);

    m->from = r->state;
    m->node = r->data;
    m->was_over_cap = over_cap(r);
    m->day = r->n[N_DAY];
    memset(m->n, 0, sizeof m->n);
    m->c.owner = r->owner;
    if (m->from != USHER_NUMBER_STATE_NODATA) {
        count(w->scope.counts, r, -1);
        count_group(m->n, r, -1);
    }
}

void usher__number_begin(work *w, move *m)
{
    usher__change_begin(w, &m->c);
    begun(w, m);
}

/* Count @by more numbers over the cap with calls of @day, whose name is written into @name. */
static enum usher_status save_day(work *w, move *m, int64_t day, int64_t by, char name[24])
{
    struct usher_record *of = usher__change_next(&m->c);
    struct usher_text id = { name, 0 };
    enum usher_status status;

    id.size = (size_t)snprintf(name, sizeof m->days[0], "%" PRId64, day);
    status = w->ops->find(w->txn, &w->scope, KIND_DAY, &id, of);
    if (status == USHER_MISSING) {
        memset(of, 0, sizeof *of);
        of->kind = KIND_DAY;
        of->id = id;
        of->slots = 1u;
        of->order = usher__number_rank_capped(day, 0, false);
    } else if (status != USHER_OK) {
        return status;
    }
    of->n[N_CAPPED] += by;
    if (of->n[N_CAPPED] == 0)
        usher__change_erase(&m->c, of);
    else
        usher__change_save(&m->c, of);
    return USHER_OK;
}

/* own_record() has its final values: update the counts of numbers over the cap. */
static enum usher_status __attribute__((noinline)) save_days(work *w, move *m)
{
    const struct usher_record *r = own_record(m);
    bool is_over_cap = over_cap(r);
    int64_t day = r->n[N_DAY];
    enum usher_status status = USHER_OK;

    if (m->was_over_cap && is_over_cap && m->day == day)
        return USHER_OK;
    if (m->was_over_cap)
        status = save_day(w, m, m->day, -1, m->days[0]);
    if (status == USHER_OK && is_over_cap)
        status = save_day(w, m, day, 1, m->days[1]);
    return status;
}

enum usher_status usher__number_save_group(work *w, move *m, const struct usher_text *name)
{
    struct usher_record *group = usher__change_next(&m->c);
    enum usher_status status = USHER_MISSING;

    if (w->scope.ref != NULL)
        status = w->ops->find(w->txn, &w->scope, KIND_GROUP, name, group);
    if (status == USHER_MISSING) {
        memset(group, 0, sizeof *group);
        group->kind = KIND_GROUP;
        group->id = *name;
    } else if (status != USHER_OK) {
        return status;
    }
    for (int i = 0; i < 3; i++)
        group->n[i] += m->n[i];
    if (group->n[N_TOTAL] == 0)
        usher__change_erase(&m->c, group);
    else
        usher__change_save(&m->c, group);
    return USHER_OK;
}

/* The call begins: add it to the list of @node. */
void usher__number_join_node(move *m, const struct usher_text *node)
{
    struct usher_record *of = usher__change_next(&m->c);

    memset(of, 0, sizeof *of);
    of->kind = KIND_NODE;
    of->id = own_record(m)->id;
    of->owner = *node;
    of->order = of->token = own_record(m)->token;
    of->slots = 1u << USHER__NUMBER_HELD;
    usher__change_save(&m->c, of);
}

/* The call is over: remove it from the list of its node. */
static enum usher_status __attribute__((noinline)) leave_node(work *w, move *m)
{
    struct usher_record *of = usher__change_next(&m->c);
    enum usher_status status = w->ops->find(w->txn, &w->scope, KIND_NODE, &own_record(m)->id, of);

    if (status == USHER_OK)
        usher__change_erase(&m->c, of);
    return status == USHER_MISSING ? USHER_OK : status;
}

/* Keep scope.due_ms a lower bound. */
void usher__number_due_at(work *w, int64_t at)
{
    if (at < w->scope.due_ms)
        w->scope.due_ms = at;
}

/* The hold of own_record() is over.  If it was the oldest one, the limit of the next one is due
 * next; after a clock was set back that may be an earlier time. */
static enum usher_status __attribute__((noinline)) limit_next(work *w, move *m)
{
    struct usher_record first;
    enum usher_status status = usher__number_first_limited(w, 0, &first);

    if (status == USHER_OK && usher__text_equal(&first.id, &own_record(m)->id))
        status = usher__number_first_limited(w, first.order, &first);
    if (status == USHER_OK)
        usher__number_due_at(w, limit_end(&w->scope, &first));
    return status == USHER_MISSING ? USHER_OK : status;
}

/* Save it in the change; in state NODATA it is deleted from the pool. */
enum usher_status usher__number_save(work *w, move *m)
{
    struct usher_record *r = own_record(m);

    bool left = r->data.size != 0 && !busy(r->state); /* its node */
    bool limits = w->scope.settings[USHER__SET_LEASE_MAX] != 0;
    enum usher_status status = USHER_OK;

    if (left)
        r->data.size = 0;
    if (r->state != USHER_NUMBER_STATE_NODATA) {
        count(w->scope.counts, r, 1);
        count_group(m->n, r, 1);
        usher__change_save(&m->c, r);
        if (over_cap(r))
            usher__number_due_at(w, usher__day_end(w->now, w->scope.settings[USHER__SET_ZONE]));
        if (limits && busy(r->state))
            usher__number_due_at(w, limit_end(&w->scope, r));
    } else {
        r->rank = 0;
        usher__change_erase(&m->c, r);
    }
    if (m->was_over_cap || over_cap(r))
        status = save_days(w, m);
    if (status == USHER_OK && limits && busy(m->from) && !busy(r->state))
        status = limit_next(w, m);
    if (status == USHER_OK && r->group.size != 0 && (m->n[0] != 0 || m->n[1] != 0 || m->n[2] != 0))
        status = usher__number_save_group(w, m, &r->group);
    return status == USHER_OK && left ? leave_node(w, m) : status;
}

/* Set the end of the hold by `lease-max`, or after an outage, in its notice. */
static enum usher_status __attribute__((noinline))
commit_ending(work *w, move *m, enum usher_verb verb)
{
    struct usher_record told = *own_record(m);

    told.until_ms = end_of(w, &told);
    return usher__change_commit(w, &m->c, verb, m->from, told.state, &told);
}

/* Add data to the notice of @m: the group of the number; the node of a call, or of a hold that has
 * ended; the peer of a call; whether the lease or `lease-max` ended a hold that has expired; the
 * actor of the command. */
static enum usher_status __attribute__((noinline)) add_data(work *w, move *m, enum usher_verb verb)
{
    const struct usher_record *r = own_record(m);
    const struct usher_text *peer = &w->command->arg.number.sticky;
    const struct usher_text *node = r->data.size != 0 ? &r->data : &m->node;
    const struct usher_text *actor = &w->command->arg.number.actor;
    struct usher_text ended = { "lease", 5 };
    struct usher__notice_field said[5];
    size_t n = 0;

    if (r->group.size != 0)
        said[n++] = (struct usher__notice_field){ "group", 0, &r->group };
    if (node->size != 0)
        said[n++] = (struct usher__notice_field){ "node", 0, node };
    if (verb == USHER_NUMBER_CALL && peer->data != NULL)
        said[n++] = (struct usher__notice_field){ "peer", 0, peer };
    if (verb == USHER_NUMBER_EXPIRE && busy(m->from)) {
        if (m->limited)
            ended = (struct usher_text){ "lease-max", 9 };
        said[n++] = (struct usher__notice_field){ "ended", 0, &ended };
    }
    if (verb == w->command->verb && actor->data != NULL)
        said[n++] = (struct usher__notice_field){ "actor", 0, actor };
    return n != 0 ? usher__change_data(w, &m->c, said, n) : USHER_OK;
}

enum usher_status usher__number_commit(work *w, move *m, enum usher_verb verb)
{
    const struct usher_record *r = own_record(m);

    if (usher__change_observed(w, &m->c)) {
        enum usher_status status = add_data(w, m, verb);

        if (status != USHER_OK)
            return status;
    }
    if (busy(r->state) && (w->scope.settings[USHER__SET_LEASE_MAX] != 0 ||
                           (w->gap_to != 0 && r->until_ms <= w->gap_to)))
        return commit_ending(w, m, verb);
    return usher__change_commit(w, &m->c, verb, m->from, r->state, r);
}

/* Commit a change without a cached answer: an expiry, or one of several changes of a command. */
enum usher_status usher__number_save_and_commit(work *w, move *m, enum usher_verb verb)
{
    enum usher_status status = usher__number_save(w, m);

    return status == USHER_OK ? usher__number_commit(w, m, verb) : status;
}

/* Store the end of the lease of @m that an outage has moved: like a heartbeat, this has no version
 * and no notice. */
static enum usher_status __attribute__((noinline)) put_off(work *w, move *m)
{
    struct usher_record *r = own_record(m);
    enum usher_status status;

    usher__change_begin_quietly(w, &m->c);
    begun(w, m);
    r->until_ms = lease_end(w, r);
    status = usher__number_save(w, m);
    return status == USHER_OK ? usher__change_write(w, &m->c) : status;
}

/* @m is due: it expires, which is a change of its own, or an outage has moved its lease. */
enum usher_status usher__number_expire_one(work *w, move *m)
{
    if (!due(w, own_record(m)))
        return put_off(w, m);
    usher__number_begin(w, m);
    m->limited = busy(m->from) && end_of(w, own_record(m)) != lease_end(w, own_record(m));
    w->scope.counts[COUNT_EXPIRED] += busy(m->from);
    expire(w, own_record(m), w->scope.version);
    return usher__number_save_and_commit(w, m, USHER_NUMBER_EXPIRE);
}

/* Apply the current settings to @m, which is free: whether it rests, and whether it is over the
 * cap.  That follows from the settings, so it has no version and no notice, and the number keeps
 * its order. */
enum usher_status usher__number_judge_one(work *w, move *m)
{
    struct usher_record *r = own_record(m);
    bool idle = (r->slots & 1u << USHER__NUMBER_IDLE) != 0;
    bool drawn = !idle         ? drawn_now(w)
                 : over_cap(r) ? usher__number_rank_drawn(r->rank)
                               : r->rank < USHER__RANK_QUEUED;
    enum usher_status status;

    usher__change_begin_quietly(w, &m->c);
    begun(w, m);
    r->until_ms = rests_until(w, r);
    r->slots = usher__machine_lists(&usher__number_machine, r->state, r->until_ms);
    r->rank = (r->slots & 1u << USHER__NUMBER_IDLE) != 0 ? rank_of(w, r, drawn) : 0;
    status = usher__number_save(w, m);
    return status == USHER_OK ? usher__change_write(w, &m->c) : status;
}

/* Return whether the place of @r agrees with the settings. */
bool usher__number_is_right(const work *w, const struct usher_record *r)
{
    return !rests_otherwise(w, r) && ((r->slots & 1u << USHER__NUMBER_IDLE) == 0 ||
                                      over_cap(r) == reached_cap(&w->scope, r, w->now));
}

/* Find the next number of the list, and store the position after it.  MISSING. */
static enum usher_status judge_next(work *w, struct usher_record *r)
{
    int64_t *at = &w->scope.counts[COUNT_JUDGE], *hi = &w->scope.counts[COUNT_JUDGE_HI];
    int64_t lists = *at & JUDGE_RESTS;
    unsigned slot = lists == JUDGE_RESTS ? USHER__NUMBER_DUE : USHER__NUMBER_IDLE;
    enum usher_status status = w->ops->walk(w->txn, &w->scope, KIND_NUMBER, (uint8_t)slot, NULL,
                                            (uint64_t)*hi, (uint64_t)*at >> 2, false, r);

    if (status == USHER_OK) {
        *at = (int64_t)(r->order << 2) + lists;
        *hi = slot == USHER__NUMBER_DUE ? r->until_ms : (int64_t)r->rank;
    } else if (status == USHER_MISSING) {
        *at = lists == JUDGE_BOTH ? JUDGE_RESTS : JUDGED;
        *hi = 0;
    }
    return status;
}

/* Continue to apply a changed setting, to at most *@left numbers. */
enum usher_status usher__number_judge(work *w, int *left)
{
    move m;
    const struct usher_record *r = own_record(&m);
    enum usher_status status = USHER_OK;

    if (is_judged(w))
        return USHER_OK;
    while (status == USHER_OK && !is_judged(w) && *left > 0) {
        status = judge_next(w, own_record(&m));
        if (status == USHER_MISSING) {
            status = USHER_OK;
            continue;
        }
        --*left;
        if (status == USHER_OK && !due(w, r) && !usher__number_is_right(w, r))
            status = usher__number_judge_one(w, &m);
    }
    if (status != USHER_OK)
        return status;
    usher__change_begin_quietly(w, &m.c);
    return usher__change_write(w, &m.c);
}

enum usher_status usher__number_walk_idle(work *w, const struct usher_text *group, uint64_t rank,
                                          uint64_t order, bool back, struct usher_record *r)
{
    return w->ops->walk(w->txn, &w->scope, KIND_NUMBER, USHER__NUMBER_IDLE, group, rank, order,
                        back, r);
}

/*
 * Find the first number of @group (NULL: any) that is stored as over the cap although it is below
 * the cap now.  They are in order of day and calls: if one is over the cap, so are all others of
 * its day.  MISSING.
 */
enum usher_status usher__number_first_over_cap(work *w, const struct usher_text *group,
                                               struct usher_record *r)
{
    enum usher_status status = USHER_MISSING;

    if (w->scope.counts[COUNT_CAPPED] != 0)
        status = usher__number_walk_idle(w, group, USHER__RANK_CAPPED, 0, false, r);
    while (status == USHER_OK &&
           reached_cap(&w->scope, r, w->now)) /* at most 1 + DAYS_AHEAD days */
        status = usher__number_walk_idle(
            w, group, usher__number_rank_capped(r->n[N_DAY] + 1, 0, false), 0, false, r);
    return status;
}

/* Count the numbers that are stored as over the cap and still are. */
enum usher_status usher__number_count_capped(work *w, int64_t *ret)
{
    int64_t today = usher__day(w->now, w->scope.settings[USHER__SET_ZONE]);

    *ret = 0;
    if (w->scope.settings[USHER__SET_DAILY] == 0)
        return USHER_OK; /* the setting is still being applied to numbers over the cap */
    for (int64_t day = today; day <= today + DAYS_AHEAD && *ret < w->scope.counts[COUNT_CAPPED];
         day++) {
        struct usher_record of;
        char name[24];
        struct usher_text id = { name, 0 };
        enum usher_status status;

        id.size = (size_t)snprintf(name, sizeof name, "%" PRId64, day);
        status = w->ops->find(w->txn, &w->scope, KIND_DAY, &id, &of);
        if (status == USHER_OK)
            *ret += of.n[N_CAPPED];
        else if (status != USHER_MISSING)
            return status;
    }
    return USHER_OK;
}

/* Find the oldest hold, if `lease-max` limits holds.  MISSING. */
enum usher_status usher__number_first_limited(work *w, uint64_t order, struct usher_record *r)
{
    if (w->scope.settings[USHER__SET_LEASE_MAX] == 0)
        return USHER_MISSING;
    return w->ops->walk(w->txn, &w->scope, KIND_NUMBER, USHER__NUMBER_HELD, NULL, 0, order, false,
                        r);
}

/* Find the first number of @group (NULL: any) whose lease or rest is over, or the first of all
 * holds that `lease-max` ends.  MISSING: nothing is due; *@ret_due is then when something will
 * be. */
enum usher_status usher__number_first_due(work *w, const struct usher_text *group, int64_t *ret_due,
                                          struct usher_record *r)
{
    struct usher_record limited;
    enum usher_status status =
        w->ops->walk(w->txn, &w->scope, KIND_NUMBER, USHER__NUMBER_DUE, group, 0, 0, false, r);
    enum usher_status by_limit;

    *ret_due = status == USHER_OK ? r->until_ms : INT64_MAX;
    if (status != USHER_OK && status != USHER_MISSING)
        return status;
    by_limit = usher__number_first_limited(w, 0, &limited);
    if (by_limit == USHER_OK && limit_end(&w->scope, &limited) < *ret_due) {
        *ret_due = limit_end(&w->scope, &limited);
        *r = limited;
    } else if (by_limit != USHER_OK && by_limit != USHER_MISSING) {
        return by_limit;
    }
    return *ret_due <= w->moment ? USHER_OK : USHER_MISSING;
}

/* Nothing is due before @next.  Apply a changed setting to up to @judges numbers, and store when
 * the scope is due. */
static enum usher_status none_due(work *w, int64_t next, int judges, bool *ret_more)
{
    int64_t n_capped;
    int left = judges;
    enum usher_status status;

    w->scope.due_ms = next; /* a changed setting may make an earlier one */
    status = usher__number_judge(w, &left);
    if (usher__work_stops(w, status, 1)) {
        *ret_more = true;
        return USHER_OK;
    }
    if (status == USHER_OK)
        status = usher__number_count_capped(w, &n_capped);
    if (status != USHER_OK)
        return status;
    if (n_capped != 0)
        usher__number_due_at(w, usher__day_end(w->now, w->scope.settings[USHER__SET_ZONE]));
    if (!is_judged(w)) {
        usher__number_due_at(w, w->moment);
        *ret_more = true;
        w->behind = judges == JUDGE_MAX;
    }
    return USHER_OK;
}

/* Apply up to @max expiries, then a changed setting to up to @judges numbers; *@ret_n: the number
 * of expiries. */
enum usher_status usher__number_expire_due(work *w, int64_t max, int judges, uint64_t *ret_n,
                                           bool *ret_more)
{
    move m;
    int64_t next;
    bool over;
    enum usher_status status;

    *ret_n = 0;
    *ret_more = false;
    /* holds end by the moment, and days by `now`: due_ms is a lower bound of both */
    for (int64_t n = 0; w->scope.due_ms <= w->now; n++) {
        status = usher__number_first_due(w, NULL, &next, own_record(&m));
        if (status == USHER_MISSING)
            return none_due(w, next, judges, ret_more);
        if (status != USHER_OK)
            return status;
        if (n >= max) {
            *ret_more = w->behind = true;
            break;
        }
        over = due(w, own_record(&m));
        status = usher__number_expire_one(w, &m);
        if (usher__work_stops(w, status, (uint64_t)n)) {
            *ret_more = true;
            break;
        }
        if (status != USHER_OK)
            return status;
        *ret_n += over;
    }
    return USHER_OK;
}

/* Find number @id, and apply its due expiries and a changed setting; one that is not in the pool is
 * NODATA. */
enum usher_status usher__number_load(work *w, const struct usher_text *id, move *m)
{
    struct usher_record *r = own_record(m);
    enum usher_status status = USHER_MISSING;

    while (w->scope.ref != NULL) {
        status = w->ops->find(w->txn, &w->scope, KIND_NUMBER, id, r);
        if (status != USHER_OK)
            break;
        if (due(w, r))
            status = usher__number_expire_one(w, m);
        else if (rests_otherwise(w, r))
            status = usher__number_judge_one(w, m);
        else
            break;
        if (status != USHER_OK)
            return status;
    }
    if (status != USHER_MISSING)
        return status;
    memset(r, 0, sizeof *r);
    r->kind = KIND_NUMBER;
    r->id = *id;
    r->n[N_LEASE] = RESTED;
    return USHER_OK;
}

/* ---- replies ---------------------------------------------------------------------- */

/* Answer about a number that is not in the pool. */
void usher__number_answer_nodata(work *w, enum usher_status status)
{
    const struct usher_text *number = &w->command->arg.number.number;
    struct usher_record r;

    memset(&r, 0, sizeof r);
    r.id = *number;
    answer(w, status, &r);
}

/* Commit with the cached answer for a repeat of the command. */
enum usher_status usher__number_keep_and_commit(work *w, move *m)
{
    enum usher_status status = usher__request_keep(w, &m->c);

    return status == USHER_OK ? usher__number_commit(w, m, w->command->verb) : status;
}

/* Commit the change of the command, and answer with the number as it is then. */
enum usher_status usher__number_finish(work *w, move *m)
{
    enum usher_status status = usher__number_save(w, m);

    answer(w, USHER_OK, own_record(m));
    return status == USHER_OK ? usher__number_keep_and_commit(w, m) : status;
}

/* ---- add, del, reg, unreg --------------------------------------------------------- */

/* The number is deleted: store its calls of the day, because it may be added again. */
static enum usher_status past_keep(work *w, move *m)
{
    const struct usher_record *r = own_record(m);
    struct usher_record past;

    if (calls_on(&w->scope, r, w->now) == 0)
        return USHER_OK;
    memset(&past, 0, sizeof past);
    past.kind = KIND_PAST;
    past.id = r->id;
    past.until_ms = USHER__FOREVER;
    past.n[N_CALLS] = r->n[N_CALLS];
    past.n[N_DAY] = r->n[N_DAY];
    past.n[N_USED] = r->n[N_USED];
    return usher__change_remember(w, &m->c, &past, &w->scope.counts[COUNT_PAST], PAST_MAX);
}

/* The number is added: read the calls that it had today if it was in the pool before. */
static enum usher_status past_recall(work *w, move *m)
{
    struct usher_record *r = own_record(m), *past = usher__change_next(&m->c);
    enum usher_status status;

    if (w->scope.counts[COUNT_PAST] == 0)
        return USHER_OK;
    status = w->ops->find(w->txn, &w->scope, KIND_PAST, &r->id, past);
    if (status != USHER_OK)
        return status == USHER_MISSING ? USHER_OK : status;
    if (calls_on(&w->scope, past, w->now) != 0) {
        r->n[N_CALLS] = past->n[N_CALLS];
        r->n[N_DAY] = past->n[N_DAY];
        r->n[N_USED] = past->n[N_USED];
    }
    usher__change_erase(&m->c, past);
    w->scope.counts[COUNT_PAST]--;
    return USHER_OK;
}

enum usher_status usher__number_simple(work *w, unsigned event)
{
    const struct usher_number_args *a = &w->command->arg.number;
    struct usher__move to;
    move m;
    struct usher_record *r = own_record(&m);
    enum usher_status status = usher__number_load(w, &a->number, &m);

    if (status != USHER_OK)
        return status;
    if (r->state == USHER_NUMBER_STATE_NODATA && a->group.data != NULL)
        r->group = a->group;
    to = move_of(w, r, event, USHER__ANY);
    if (to.status != USHER_OK) {
        answer(w, (enum usher_status)to.status, r);
        return USHER_OK;
    }
    usher__number_begin(w, &m);
    if (to.to == USHER_NUMBER_STATE_NODATA) {
        r->state = to.to;
        w->scope.counts[COUNT_FREED] += busy(m.from);
        status = usher__number_save(w, &m);
        if (status == USHER_OK)
            status = past_keep(w, &m);
        usher__number_answer_nodata(w, USHER_OK);
        return status == USHER_OK ? usher__number_keep_and_commit(w, &m) : status;
    }
    set_state(w, r, to.to, r->until_ms, w->scope.version);
    if (m.from != USHER_NUMBER_STATE_NODATA)
        return usher__number_finish(w, &m);
    r->order = w->scope.version;
    status = usher__number_save(w, &m);
    if (status == USHER_OK)
        status = past_recall(w, &m);
    answer(w, USHER_OK, r);
    return status == USHER_OK ? usher__number_keep_and_commit(w, &m) : status;
}
