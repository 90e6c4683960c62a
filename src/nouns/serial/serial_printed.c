/* SPDX-License-Identifier: MIT */
/* Find the number that a printed serial has.  See serial.h. */
#include "config.h"

#include "serial.h"

/* Return whether @serial is the printed form of @r. */
bool usher__serial_tells(const struct usher_record *r, const struct usher_text *serial)
{
    struct usher__serial_format f;
    int64_t number = 0;

    return usher__serial_unpack(&r->data, &f) && usher__serial_number(&f, serial, &number) &&
           number == pair(r->n + N_NUMBER) && usher__serial_dated(&f, serial, r->n[N_STAMP]);
}

/* Return whether @serial is number @k printed by @format.  *@at_ms is then its time; parts that the
 * date does not contain are not changed. */
bool usher__serial_printed_by(const struct usher_text *format, const struct usher_text *serial,
                              int64_t k, int64_t *at_ms)
{
    struct usher__serial_format f;
    int64_t number;

    return usher__serial_unpack(format, &f) && usher__serial_number(&f, serial, &number) &&
           number == k && usher__serial_time(&f, serial, *at_ms, at_ms);
}

/* Find the number of @serial by the format that it had when it was lost.  A number that token
 * @claim has settled since is found as well, so that a repeat is `same`.  MISSING. */
static enum usher_status lost_by_format(work *w, const struct usher_text *serial, int64_t claim,
                                        int64_t *ret_k, int64_t *ret_period)
{
    struct usher__serial_format f;
    struct usher_record r;
    uint64_t hi = 0, order = 0;
    enum usher_status status = USHER_OK;

    for (int i = 0; i < USHER__STEP_MAX; i++) {
        status = w->ops->walk(w->txn, &w->scope, KIND_LOST, READY, NULL, hi, order, false, &r);
        if (status != USHER_OK)
            break;
        if (usher__serial_unpack(&r.data, &f) &&
            usher__serial_place(&f, serial, w->scope.settings[SET_RESET], ret_k, ret_period) &&
            *ret_period == r.n[N_PERIOD] && *ret_k >= pair(r.n + N_NUMBER) &&
            *ret_k <= pair(r.n + N_UPTO))
            return USHER_OK;
        hi = r.rank;
        order = r.order;
    }
    if (status != USHER_OK && status != USHER_MISSING)
        return status;
    hi = order = UINT64_MAX;
    for (int i = 0; i < USHER__STEP_MAX && claim != 0; i++) {
        status = w->ops->walk(w->txn, &w->scope, KIND_END, READY, NULL, hi, order, true, &r);
        if (status != USHER_OK)
            return status;
        if (r.n[N_CLAIM] == claim && usher__serial_tells(&r, serial)) {
            *ret_k = pair(r.n + N_NUMBER);
            *ret_period = r.n[N_PERIOD];
            return USHER_OK;
        }
        hi = 0;
        order = r.order;
    }
    return USHER_MISSING;
}

/* Find the hold, or else the end, whose printed form was @serial, although the format may have
 * changed. It is the oldest hold, or the newest end, or MISSING. */
static enum usher_status by_older_format(work *w, const struct usher_text *serial,
                                         struct usher_record *r)
{
    enum usher_status status = USHER_MISSING;

    for (int ended = 0; ended < 2; ended++) {
        uint64_t hi = ended ? UINT64_MAX : 0, order = hi;

        for (int i = 0; i < USHER__STEP_MAX; i++) {
            status = w->ops->walk(w->txn, &w->scope, ended ? KIND_END : KIND_HOLD,
                                  ended ? READY : HELD, NULL, hi, order, ended != 0, r);
            if (status == USHER_MISSING)
                break;
            if (status != USHER_OK || usher__serial_tells(r, serial))
                return status;
            hi = 0;
            order = r->order;
        }
    }
    return USHER_MISSING;
}

/* Find the number that the command names: as the rule prints now, or as one was printed that is
 * held, has ended or is lost; or was lost, and was settled by token @claim (0: none).  On MISSING
 * the reply has the reason. */
enum usher_status usher__serial_named(work *w, const struct state *s, int64_t claim, int64_t *ret_k,
                                      int64_t *ret_period)
{
    const struct usher_text *serial = &w->command->arg.serial.serial;
    struct usher__serial_format f;
    struct usher_record r;
    enum usher_status status;

    if (!usher__serial_unpack(&s->rule.data, &f))
        return usher__serial_damaged(w);
    if (usher__serial_place(&f, serial, w->scope.settings[SET_RESET], ret_k, ret_period))
        return USHER_OK;
    status = queued(w) ? USHER_MISSING : by_older_format(w, serial, &r);
    if (status == USHER_OK) {
        *ret_k = pair(r.n + N_NUMBER);
        *ret_period = r.n[N_PERIOD];
    } else if (status == USHER_MISSING && !queued(w)) {
        status = lost_by_format(w, serial, claim, ret_k, ret_period);
    }
    if (status == USHER_MISSING)
        usher_result_fail(w->reply, USHER_INVALID, "serial does not match this rule");
    return status;
}
