/* SPDX-License-Identifier: MIT */
/*
 * Figures of lanes: of today, of its quarter hours, and of the life of the queue.
 *
 * The data of a lane are the figures of its day.  The first change of a new quarter hour also
 * writes a second record, `earlier`.  All other changes only write the lane, which they write in
 * any case.  The record has the figures of all days before, in the layout of the lane.  A part for
 * each quarter hour of the day that has ended follows: the figures of the day at its end, F_QUARTER
 * to F_TALK.  So a quarter hour is a difference of two parts, and the life is the figures of all
 * days before and those of the day.  The id is a comma, which no lane contains, and the order of
 * the lane.  The record of order 0 has the sums of lanes that were removed.
 *
 * A day begins with the first event after its local midnight.  An event with an earlier time (a
 * deadline, a clock that was set back) counts in the present day and quarter hour, so that no
 * figure gets lost.  A day of a lane lasts 24 hours at most, whatever happens to the zone: the
 * midnight before an event is less than 24 hours before it, and never before that of the day.
 */
#include "config.h"

#include "queue.h"

#include "core/number.h"
#include "core/wide.h"

int64_t usher__queue_day(const struct usher_scope *s, int64_t at)
{
    int64_t zone = s->settings[SET_ZONE];

    return usher__day(at, zone) * (DAY_MS / 60000) - zone + DAY_SHIFT;
}

enum usher_status usher__queue_earlier(work *w, uint64_t order, struct earlier *e)
{
    struct usher_text id = { e->id, 1 };
    enum usher_status status;

    e->id[0] = ',';
    id.size += usher__wide_text((int64_t)order, e->id + 1);
    status = w->ops->find(w->txn, &w->scope, KIND_LANE, &id, &e->r);
    if (status == USHER_MISSING) {
        memset(&e->r, 0, sizeof e->r);
        e->r.kind = KIND_LANE;
        e->r.state = LANE_EARLIER;
        e->r.id = id;
        e->r.data.size = FIGURES_BYTES;
        memset(e->data, 0, FIGURES_BYTES);
    } else if (status != USHER_OK) {
        return status;
    } else if (e->r.data.size < FIGURES_BYTES || e->r.data.size > sizeof e->data) {
        return damaged(w);
    } else {
        memcpy(e->data, e->r.data.data, e->r.data.size);
    }
    e->r.data.data = (const char *)e->data;
    return USHER_OK;
}

/* Add the figures of @l to those of the days before. */
static void day_add(struct earlier *e, const struct lane *l)
{
    for (int i = COUNTED; i < FIGURES; i++)
        figure_put(e->data, i, figure_of(e->data, i) + figure(l, i));
}

/* End the quarter hour of @l, and with @day its day. */
static enum usher_status turn(work *w, struct lane *l, bool day)
{
    struct earlier *e = &l->earlier;

    if (figure(l, F_DAY) == 0) /* a new lane: it has counted nothing */
        return USHER_OK;
    if (!l->turned) {
        enum usher_status status = usher__queue_earlier(w, l->r.order, e);

        if (status != USHER_OK)
            return status;
        l->turned = true;
    }
    if (day) {
        day_add(e, l);
        for (int i = COUNTED; i < FIGURES; i++)
            figure_set(l, i, 0);
        e->r.data.size = FIGURES_BYTES;
    } else if (e->r.data.size + QUARTER_BYTES <= sizeof e->data) {
        memcpy(e->data + e->r.data.size, l->r.data.data + (size_t)F_QUARTER * FIGURE_BYTES,
               QUARTER_BYTES);
        e->r.data.size += QUARTER_BYTES;
    }
    return USHER_OK;
}

enum usher_status usher__queue_figures_at(work *w, struct lane *l, int64_t at)
{
    int64_t day = usher__queue_day(&w->scope, at), quarter = at / QUARTER_MS;
    bool new_day = day > figure(l, F_DAY);
    enum usher_status status;

    if (!new_day && quarter <= figure(l, F_QUARTER))
        return USHER_OK;
    status = turn(w, l, new_day);
    if (new_day)
        figure_set(l, F_DAY, day);
    figure_set(l, F_QUARTER, quarter);
    return status;
}

enum usher_status usher__queue_count_seated(work *w, struct lane *l, int64_t at, int64_t wait)
{
    int i = 0;
    enum usher_status status = usher__queue_figures_at(w, l, at);

    while (i < USHER__WAIT_BOUNDS && wait > usher__wait_bounds[i] * 1000)
        i++;
    figure_add(l, F_WAITS + i, 1);
    figure_add(l, F_SEATED, 1);
    figure_add(l, F_WAIT, wait);
    if (wait <= w->scope.settings[SET_SERVICE])
        figure_add(l, F_WITHIN, 1);
    return status;
}

enum usher_status usher__queue_count_ended(work *w, struct lane *l, const struct usher_record *u,
                                           enum usher_queue_outcome outcome, int64_t at)
{
    enum usher_status status = usher__queue_figures_at(w, l, at);

    if (u->state == USHER_QUEUE_USER_SEATED) {
        figure_add(l, F_FINISHED, 1);
        figure_add(l, F_TALK, lasted(u->n[U_MATCHED], at));
    } else if (outcome == USHER_QUEUE_OUTCOME_TIMEOUT) {
        figure_add(l, F_TIMEOUT, 1);
    } else {
        figure_add(l, F_ABANDONED, 1);
        if (lasted(u->n[U_APPLIED], at) <= w->scope.settings[SET_SERVICE])
            figure_add(l, F_ABANDONED_WITHIN, 1);
    }
    if (outcome == USHER_QUEUE_OUTCOME_DROPPED)
        figure_add(l, F_DROPPED, 1);
    return status;
}

enum usher_status usher__queue_lane_remove(work *w, struct queue_change *qc)
{
    struct lane *l = &qc->over;
    struct earlier *sums = &qc->removed;
    enum usher_status status = usher__queue_earlier(w, l->r.order, &l->earlier);

    if (status == USHER_OK)
        status = usher__queue_earlier(w, 0, sums);
    if (status != USHER_OK)
        return status;
    if (l->r.data.size != FIGURES_BYTES)
        return damaged(w);
    day_add(sums, l);
    for (int i = COUNTED; i < FIGURES; i++)
        figure_put(sums->data, i, figure_of(sums->data, i) + figure_of(l->earlier.data, i));
    usher__change_save(&qc->c, &sums->r);
    if (l->earlier.r.ref != NULL)
        usher__change_erase(&qc->c, &l->earlier.r);
    usher__change_erase(&qc->c, &l->r);
    qc->c.scope->counts[COUNT_LANES]--;
    return USHER_OK;
}

enum usher_status usher__queue_lane_next(work *w, const struct usher_text *after,
                                         struct usher_record *r)
{
    static const struct usher_text last = { ",:", 2 }; /* after the ids of earlier figures */
    enum usher_status status = w->ops->next(w->txn, &w->scope, KIND_LANE, after, r);

    if (status == USHER_OK && r->state == LANE_EARLIER)
        status = w->ops->next(w->txn, &w->scope, KIND_LANE, &last, r);
    return status;
}
