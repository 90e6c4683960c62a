/* SPDX-License-Identifier: MIT */
/* The rule itself: create, change, show, delete.  See serial.h. */
#include "config.h"

#include "serial.h"

#include <string.h>

void usher__serial_settings_of(const int64_t *set, struct usher_serial_result_settings *n)
{
    n->start = pair(set + SET_START);
    n->critical = set[SET_CRITICAL];
    n->batch = set[SET_BATCH];
    n->reset = set[SET_RESET];
    n->stamp = set[SET_STAMP];
    n->mode = set[SET_MODE];
    n->lease_ms = set[SET_LEASE];
    n->requests = set[SET_REQUESTS];
    n->authority = set[SET_AUTHORITY];
    n->log = set[SET_LOG];
    n->push = set[SET_PUSH];
}

static void say_rule(work *w, enum usher_status what, const int64_t *set, const struct state *s)
{
    usher__serial_answer(w, what, s);
    w->reply->of.serial.max = pair(set + SET_MAX);
    usher__serial_settings_of(set, &w->reply->of.serial.of.settings);
}

static enum usher_status answer_rule(work *w, enum usher_status what, const int64_t *set,
                                     const struct state *s)
{
    say_rule(w, what, set, s);
    return usher__serial_add_row(w, s, 0, 0, w->now);
}

static enum usher_status show_number(work *w, const struct state *s)
{
    struct usher_record r;
    int64_t number, period;
    enum usher_status status = usher__serial_named(w, s, 0, &number, &period);

    if (status == USHER_OK && number < low(w->scope.settings)) {
        usher_result_fail(w->reply, USHER_INVALID,
                          "serial does not match this rule: its number is below start");
        return USHER_MISSING;
    }
    if (status == USHER_OK)
        status = usher__serial_standing(w, s, number, period, &r);
    if (status != USHER_OK)
        return status;
    w->reply->of.serial.token = r.token;
    w->reply->of.serial.until_ms = r.until_ms;
    return usher__serial_add_hold(w, s, &r);
}

enum usher_status usher__serial_show(work *w)
{
    struct state s;
    bool number =
        w->command->verb == USHER_SERIAL_SHOW && w->command->arg.serial.serial.data != NULL;
    enum usher_status status = usher__serial_load(w, &s);

    if (status == USHER_MISSING && w->scope.ref != NULL && w->scope.settings[SET_RULE] == 0) {
        /* for the engine: if an authority has granted more, a rule was lost */
        status = w->ops->find(w->txn, &w->scope, KIND_PAST, &past_id, &s.past);
        if (status == USHER_OK)
            w->reply->of.serial.granted = pair(s.past.n + N_GRANTED);
        return status == USHER_OK ? USHER_MISSING : status;
    }
    if (status != USHER_OK)
        return status;
    w->reply->of.serial.of.settings.made = counted(w, s.cur);
    say_rule(w, USHER_OK, w->scope.settings, &s);
    return number ? show_number(w, &s) : usher__serial_add_row(w, &s, 0, 0, w->now);
}

static void overlay(const work *w, struct usher__serial_format *f, int64_t *set)
{
    const struct usher_serial_args *a = &w->command->arg.serial;
    const struct {
        uint64_t bit;
        int64_t value, *to;
    } numbers[] = {
        { USHER_GIVEN_SERIAL_BASE, a->base, &f->base },
        { USHER_GIVEN_SERIAL_STEP, a->step, &f->step },
        { USHER_GIVEN_SERIAL_WIDTH, a->width, &f->width },
        { USHER_GIVEN_SERIAL_RADIX, a->radix, &f->radix },
        { USHER_GIVEN_SERIAL_CHECK, a->check, &f->check },
        { USHER_GIVEN_SERIAL_OVERFLOW, a->overflow, &f->overflow },
        { USHER_GIVEN_SERIAL_ZONE, a->zone_min, &f->zone_min },
        { USHER_GIVEN_SERIAL_ZONE, a->zone_min, &set[SET_ZONE] },
        { USHER_GIVEN_SERIAL_CRITICAL, a->critical, &set[SET_CRITICAL] },
        { USHER_GIVEN_SERIAL_BATCH, a->batch, &set[SET_BATCH] },
        { USHER_GIVEN_SERIAL_RESET, a->reset, &set[SET_RESET] },
        { USHER_GIVEN_SERIAL_STAMP, a->stamp, &set[SET_STAMP] },
        { USHER_GIVEN_SERIAL_MODE, a->mode, &set[SET_MODE] },
        { USHER_GIVEN_SERIAL_LEASE, a->lease_ms, &set[SET_LEASE] },
        { USHER_GIVEN_SERIAL_REQUESTS, a->requests, &set[SET_REQUESTS] },
        { USHER_GIVEN_SERIAL_AUTHORITY, a->authority, &set[SET_AUTHORITY] },
        { USHER_GIVEN_SERIAL_LOG, a->log, &set[SET_LOG] },
        { USHER_GIVEN_SERIAL_PUSH, a->push, &set[SET_PUSH] },
    };

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (given(w, numbers[i].bit))
            *numbers[i].to = numbers[i].value;
    if (given(w, USHER_GIVEN_SERIAL_START))
        set_pair(set + SET_START, a->start);
    if (given(w, USHER_GIVEN_SERIAL_MAX))
        set_pair(set + SET_MAX, a->max);
    if (a->prefix.data != NULL)
        f->prefix = a->prefix;
    if (a->suffix.data != NULL)
        f->suffix = a->suffix;
    if (a->date.data != NULL)
        f->date = a->date;
}

/* Return the fault of a rule that is invalid by itself. */
static const char *rule_fault(const struct usher__serial_format *f, const int64_t *set)
{
    unsigned finest = usher__serial_date_finest(&f->date);

    if (f->check != USHER_SERIAL_CHECK_NONE && f->check != USHER_SERIAL_CHECK_MOD37_2 &&
        f->radix != 10)
        return "check needs radix=10, unless it is mod37-2";
    if (set[SET_RESET] != USHER_SERIAL_RESET_NONE &&
        (finest == USHER_SERIAL_RESET_NONE || finest > set[SET_RESET]))
        return "reset needs a date that differs between its periods";
    return NULL;
}

/* Return whether a day would repeat: the same number may be printed in each period. */
static bool day_goes_back(const work *w, int64_t from_min, int64_t to_min)
{
    return usher__serial_period(USHER_SERIAL_RESET_DAY, w->now, to_min) <
           usher__serial_period(USHER_SERIAL_RESET_DAY, w->now, from_min);
}

/* A rule that is created or changed. */
struct making {
    bool exists, made,
        used;     /* the rule before: it exists; numbers of it were, or may have been, made */
    bool moved;   /* its days begin at another time */
    bool entered; /* another period begins with it */
    struct usher__serial_format was, f;
    int64_t set[USHER_SETTINGS], start;
    int64_t given; /* the last number issued in the period before, 0 for none */
    struct state s;
};

/* Return whether the command sets anything; if not, it is a read. */
static bool says(const work *w)
{
    const uint64_t not_settings =
        (uint64_t)USHER_GIVEN_NOW | (uint64_t)USHER_GIVEN_SERIAL_IF_VERSION;
    const struct usher_serial_args *a = &w->command->arg.serial;

    return (w->command->given & ~not_settings) != 0 || a->prefix.data != NULL ||
           a->suffix.data != NULL || a->date.data != NULL;
}

/* Load the rule as it was before.  On MISSING the reply has the reason. */
static enum usher_status rule_before(work *w, struct making *m)
{
    struct state *s = &m->s;
    enum usher_status status;

    memset(s, 0, sizeof *s);
    memset(&m->was, 0, sizeof m->was);
    m->was.step = 1;
    m->was.radix = 10;
    m->was.overflow = USHER_SERIAL_OVERFLOW_REFUSE;
    memcpy(m->set, w->scope.settings, sizeof m->set);
    if (m->exists) {
        status = usher__serial_load(w, s);
        if (status != USHER_OK)
            return status;
        if (!usher__serial_unpack(&s->rule.data, &m->was))
            return usher__serial_damaged(w);
        m->given = counted(w, s->taken) ? s->taken : 0;
        m->made = counted(w, s->cur);
        m->used = (past(w) & USED) != 0;
        return USHER_OK;
    }
    s->rule.kind = KIND_RULE;
    s->rule.id = rule_id;
    s->cur = w->scope.ref != NULL ? pair(w->scope.counts + COUNT_CUR) : 0;
    s->period = w->scope.counts[COUNT_PERIOD];
    m->given = s->cur;
    m->made = s->cur > 0;
    m->used = m->set[SET_RESET] != USHER_SERIAL_RESET_NONE; /* delete leaves the rule so */
    m->set[SET_RESET] = USHER_SERIAL_RESET_NONE;
    m->set[SET_ZONE] = 0;
    m->set[SET_LOG] = m->set[SET_PUSH] = 0; /* and how its changes are followed */
    return USHER_OK;
}

/* Apply the arguments of the command. */
static void rule_said(const work *w, struct making *m)
{
    const int64_t *old = w->scope.settings;
    int64_t *set = m->set;

    m->f = m->was;
    overlay(w, &m->f, set);
    m->start = pair(set + SET_START);
    m->entered = false;
    set[SET_RULE] = 1 + (m->used ? USED : 0);
    if (m->made && (m->start != pair(old + SET_START) || (past(w) & MADE) != 0))
        set[SET_RULE] += MADE;
    /* Without a date the zone is not used: that of the last printed day stays stored. */
    if (m->f.date.size != 0)
        set[SET_ZONE] = m->f.zone_min;
    else if ((m->made || m->used) && day_goes_back(w, old[SET_ZONE], m->f.zone_min))
        set[SET_ZONE] = old[SET_ZONE];
    m->moved = set[SET_ZONE] != old[SET_ZONE] && m->f.date.size != 0;
    if (m->made || m->used) {
        int64_t lowest = pair(old + SET_LOW) != 0 ? pair(old + SET_LOW) : pair(old + SET_START);

        set_pair(set + SET_LOW, lowest < m->start ? lowest : 0);
    }
}

/* Return the reason why numbers that were made forbid the change; @any of them are lost.  While
 * numbers of a past period are lost, the values that they were made with must not change, because
 * the holder of one must still be able to name it. */
static enum usher_serial_why rule_denied(const work *w, const struct making *m, bool any)
{
    const struct usher__serial_format *f = &m->f, *was = &m->was;
    const int64_t *old = w->scope.settings, *set = m->set;

    /* A coarser reset may return to numbers of earlier periods. */
    if (m->exists && (m->made || m->used || any) &&
        (f->base != was->base || f->step != was->step || f->radix != was->radix ||
         (f->check != USHER_SERIAL_CHECK_NONE) != (was->check != USHER_SERIAL_CHECK_NONE)))
        return USHER_SERIAL_WHY_KEPT;
    if (m->exists && (m->made || any) && set[SET_MODE] != old[SET_MODE])
        return USHER_SERIAL_WHY_KEPT;
    if (m->exists && (set[SET_RESET] != old[SET_RESET] || m->moved) && (any || any_open(w)))
        return USHER_SERIAL_WHY_HELD;
    if (m->moved && (m->made || m->used) && day_goes_back(w, old[SET_ZONE], set[SET_ZONE]))
        return USHER_SERIAL_WHY_BACK;
    return USHER_SERIAL_WHY_NONE;
}

/* Set the period of the rule, its counter and its limit.  *@ret_room is false if the limit is below
 * the counter. */
static enum usher_status rule_goes_on(work *w, struct making *m, bool *ret_room)
{
    const int64_t *old = w->scope.settings;
    int64_t *set = m->set, highest;
    struct state *s = &m->s;
    enum usher_status status = USHER_OK;

    m->entered =
        !m->exists || set[SET_RESET] != old[SET_RESET] ||
        (m->moved && usher__serial_period(set[SET_RESET], w->now, set[SET_ZONE]) > s->period);
    if (m->entered) {
        status = usher__serial_enter(w, s, set, m->given, &highest);
        set[SET_RULE] = 1 + (m->given != 0 || m->used ? USED : 0) + (highest > 0 ? MADE : 0);
    } else if (!m->made) {
        s->taken = s->cur = m->start - 1;
    }
    s->limit = usher__serial_limit(&m->f, pair(set + SET_MAX), set[SET_MODE], set[SET_RESET]);
    set_pair(set + SET_LIMIT, s->limit);
    *ret_room = s->limit >= s->cur && s->limit >= m->start - 1;
    return status;
}

static enum usher_status rule_write(work *w, struct making *m)
{
    const int64_t *old = w->scope.settings;
    unsigned char packed[USHER__SERIAL_FORMAT_MAX];
    struct usher__packer p = { packed, sizeof packed, 0 };
    struct state *s = &m->s;
    bool restamped = m->exists && (m->set[SET_STAMP] != old[SET_STAMP] || m->moved || m->entered);
    char id[24];
    change c;
    enum usher_status status = USHER_OK;

    usher__serial_pack(&p, &m->f);
    if (m->exists && memcmp(m->set, old, sizeof m->set) == 0 && p.n == s->rule.data.size &&
        memcmp(packed, s->rule.data.data, p.n) == 0)
        return answer_rule(w, USHER_SAME, m->set, s);
    usher__change_begin(w, &c);
    memcpy(c.scope->settings, m->set, sizeof m->set);
    usher__serial_put_counters(&c, s);
    if (m->entered)
        usher__serial_put_past(&c, s);
    s->rule.data.data = (const char *)packed;
    s->rule.data.size = p.n;
    usher__serial_put_rule(&c, s);
    if (restamped)
        status = usher__serial_drop_fills(w, &c);
    if (status != USHER_OK)
        return status;
    if (restamped && m->set[SET_STAMP] == USHER_SERIAL_STAMP_FILL && s->cur > s->taken)
        usher__serial_add_fill(w, &c, s->cur, id);
    status = answer_rule(w, USHER_OK, m->set, s);
    if (status == USHER_OK)
        status = usher__change_data_settings(w, &c);
    return status == USHER_OK ? usher__serial_finish(w, &c, NULL, 0, 0) : status;
}

enum usher_status usher__serial_rule(work *w)
{
    struct making m;
    const char *fault;
    enum usher_serial_why why;
    bool any = false, room = true;
    enum usher_status status;

    m.exists = w->scope.ref != NULL && w->scope.settings[SET_RULE] != 0;
    if (m.exists && !says(w))
        return usher__serial_show(w);
    status = rule_before(w, &m);
    if (status != USHER_OK)
        return status;
    rule_said(w, &m);
    fault = rule_fault(&m.f, m.set);
    if (fault != NULL) {
        usher_result_fail(w->reply, USHER_INVALID, fault);
        return USHER_OK;
    }
    if (m.exists)
        status = usher__serial_lost_any(w, &any);
    if (status != USHER_OK)
        return status;
    why = rule_denied(w, &m, any);
    if (why == USHER_SERIAL_WHY_NONE)
        status = rule_goes_on(w, &m, &room);
    if (status != USHER_OK)
        return status;
    if (!room)
        why = USHER_SERIAL_WHY_ROOM;
    return why == USHER_SERIAL_WHY_NONE ? rule_write(w, &m)
                                        : usher__serial_turned_down(w, USHER_REFUSED, why, &m.s);
}

/* A deleted rule is stored as one that begins again each day, without a format.  One that is
 * created again continues after all numbers of its period, and makes again those that were not
 * taken. */
enum usher_status usher__serial_delete_rule(work *w)
{
    struct usher_scope fresh;
    int64_t highest;
    struct state s;
    bool any, made;
    change c;
    enum usher_status status;

    if (w->scope.ref == NULL || w->scope.settings[SET_RULE] == 0) {
        w->reply->status = USHER_SAME;
        return USHER_OK;
    }
    status = usher__serial_load(w, &s);
    if (status != USHER_OK)
        return status;
    status = usher__serial_lost_any(w, &any);
    if (status != USHER_OK)
        return status;
    if (any || any_open(w))
        return usher__serial_turned_down(w, USHER_REFUSED, USHER_SERIAL_WHY_HELD, &s);
    made = counted(w, s.taken);
    usher__serial_defaults(&fresh);
    if (made || (past(w) & USED) != 0) {
        fresh.settings[SET_ZONE] = w->scope.settings[SET_ZONE];
        fresh.settings[SET_RESET] = USHER_SERIAL_RESET_DAY; /* marks it: see usher__serial_rule() */
        set_pair(fresh.settings + SET_LOW, low(w->scope.settings));
    }
    /* rules of the same name share the log, like the versions */
    fresh.settings[SET_LOG] = w->scope.settings[SET_LOG];
    fresh.settings[SET_PUSH] = w->scope.settings[SET_PUSH];
    status = usher__serial_enter(w, &s, fresh.settings, made ? s.taken : 0, &highest);
    if (status != USHER_OK)
        return status;
    usher__change_begin(w, &c);
    status = usher__serial_drop_fills(w, &c);
    if (status != USHER_OK)
        return status;
    usher__serial_put_counters(&c, &s);
    usher__serial_put_past(&c, &s);
    usher__change_erase(&c, &s.rule);
    memcpy(c.scope->settings, fresh.settings, sizeof fresh.settings);
    usher__serial_answer(w, USHER_OK, &s);
    return usher__serial_finish(w, &c, NULL, 0, 0);
}
