/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "fake_authority.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/util.h"

/* Under the lock.  NULL: it is not there. */
static struct usher_authority_entry *find(struct fake_authority *n, enum usher_noun noun,
                                          const struct usher_text *name)
{
    for (int i = 0; i < n->n; i++)
        if (n->of[i].noun == noun && n->of[i].name_size == name->size &&
            memcmp(n->of[i].name, name->data, name->size) == 0)
            return &n->of[i].entry;
    return NULL;
}

static struct usher_authority_entry *make(struct fake_authority *n, enum usher_noun noun,
                                          const struct usher_text *name)
{
    if (n->n == FAKE_AUTHORITY_NAMES)
        return NULL;
    n->of[n->n].noun = noun;
    n->of[n->n].name_size = name->size;
    memcpy(n->of[n->n].name, name->data, name->size);
    n->of[n->n].entry.max = 0;
    n->of[n->n].entry.data_size = 0;
    return &n->of[n->n++].entry;
}

static enum usher_status reserve(struct usher_authority *a, const struct usher_authority_want *want,
                                 int64_t deadline_ms, struct usher_authority_range *ret_range,
                                 char message[192])
{
    struct fake_authority *n = (struct fake_authority *)a;
    int delay = atomic_load(&n->delay_ms);
    struct timespec ts = { delay / 1000, (long)(delay % 1000) * 1000000 };
    enum usher_status status = (enum usher_status)atomic_load(&n->answer);
    struct usher_authority_entry *entry;
    int64_t from, to;

    (void)deadline_ms;
    if (want->n > 0)
        (void)atomic_fetch_add(&n->requests, 1);
    if (delay > 0)
        (void)nanosleep(&ts, NULL);
    if (status != USHER_OK) {
        (void)snprintf(message, 192, "the authority is out");
        return status;
    }
    (void)pthread_mutex_lock(&n->lock);
    entry = find(n, want->noun, &want->name);
    if (entry == NULL)
        entry = make(n, want->noun, &want->name);
    if (entry == NULL) {
        (void)pthread_mutex_unlock(&n->lock);
        return USHER_NOMEM;
    }
    from = to = entry->max > want->floor ? entry->max : want->floor;
    if (from < want->limit)
        to = want->n < want->limit - from ? from + want->n : want->limit;
    else if (want->n > 0)
        status = USHER_FULL;
    entry->max = to;
    if (want->data.data != NULL) {
        entry->data_size = want->data.size;
        memcpy(entry->data, want->data.data, want->data.size);
    }
    if (status == USHER_OK) {
        ret_range->from = from;
        ret_range->to = to;
    }
    (void)pthread_mutex_unlock(&n->lock);
    return status;
}

static enum usher_status read_entry(struct usher_authority *a, enum usher_noun noun,
                                    const struct usher_text *name, int64_t deadline_ms,
                                    struct usher_authority_entry *ret_entry, char message[192])
{
    struct fake_authority *n = (struct fake_authority *)a;
    enum usher_status status = (enum usher_status)atomic_load(&n->answer);
    const struct usher_authority_entry *entry;

    (void)deadline_ms;
    if (status != USHER_OK) {
        (void)snprintf(message, 192, "the authority is out");
        return USHER_UNAVAILABLE;
    }
    (void)pthread_mutex_lock(&n->lock);
    entry = find(n, noun, name);
    if (entry != NULL)
        *ret_entry = *entry;
    (void)pthread_mutex_unlock(&n->lock);
    return entry != NULL ? USHER_OK : USHER_MISSING;
}

static enum usher_status release(struct usher_authority *a, enum usher_noun noun,
                                 const struct usher_text *name, int64_t from, int64_t to,
                                 int64_t deadline_ms, char message[192])
{
    struct fake_authority *n = (struct fake_authority *)a;
    struct usher_authority_entry *entry;
    enum usher_status status = USHER_MISSING;

    (void)deadline_ms;
    (void)message;
    (void)pthread_mutex_lock(&n->lock);
    entry = find(n, noun, name);
    if (entry != NULL)
        status = entry->max == to ? USHER_OK : USHER_STALE;
    if (status == USHER_OK)
        entry->max = from;
    (void)pthread_mutex_unlock(&n->lock);
    return status;
}

/* ---- the journal ------------------------------------------------------------------------ */

static bool is_issue(const struct usher_authority_event *e)
{
    return e->verb == USHER_SERIAL_TAKE || e->verb == USHER_SERIAL_RESERVE;
}

static bool is_known(const struct fake_authority *n, const struct usher_authority_event *e)
{
    for (size_t i = 0; i < n->n_events; i++) {
        const struct usher_authority_event *o = &n->events[i].event;

        if (o->noun == e->noun && text_equal(&o->name, &e->name) && o->verb == e->verb &&
            o->first == e->first && o->version == e->version &&
            (o->epoch == e->epoch || e->again) && (o->now_ms == e->now_ms || !is_issue(e)))
            return true;
    }
    return false;
}

static bool is_end(const struct usher_authority_event *e)
{
    return e->verb == USHER_SERIAL_RETURN || e->verb == USHER_SERIAL_VOID ||
           e->verb == USHER_SERIAL_EXPIRE;
}

/* Two confirms, or in one rule a confirm and an end that has a later version.  A rule that is made
 * again has an epoch by chance. */
static bool both_settle(const struct usher_authority_event *a,
                        const struct usher_authority_event *b)
{
    if (a->verb != USHER_SERIAL_CONFIRM)
        return b->verb == USHER_SERIAL_CONFIRM && both_settle(b, a);
    if (b->verb == USHER_SERIAL_CONFIRM)
        return true;
    return is_end(b) && a->epoch - b->epoch + (UINT64_C(1) << 31) < UINT64_C(1) << 32 &&
           a->version < b->version;
}

/* A number of @e was settled before, by another change. */
static bool is_settled(const struct fake_authority *n, const struct usher_authority_event *e)
{
    for (size_t i = 0; i < n->n_events; i++) {
        const struct usher_authority_event *o = &n->events[i].event;

        if (o->noun == e->noun && text_equal(&o->name, &e->name) && o->period == e->period &&
            both_settle(o, e) && o->first < e->first + e->n && e->first < o->first + o->n &&
            (o->version != e->version || o->first != e->first))
            return true;
    }
    return false;
}

/* Number by number: the last event of each. */
static bool is_twice(const struct fake_authority *n, const struct usher_authority_event *e)
{
    if (is_settled(n, e))
        return true;
    for (int64_t k = e->first; is_issue(e) && k < e->first + e->n; k++) {
        const struct usher_authority_event *o = NULL;

        for (size_t i = 0; i < n->n_events; i++) {
            const struct usher_authority_event *at = &n->events[i].event;

            if (at->noun == e->noun && text_equal(&at->name, &e->name) && at->period == e->period &&
                at->first <= k && k < at->first + at->n)
                o = at;
        }
        if (o == NULL || (o->version == e->version && o->first == e->first && o->n == e->n &&
                          o->now_ms == e->now_ms))
            continue;
        if (e->verb == USHER_SERIAL_TAKE ||
            (o->verb == USHER_SERIAL_RESERVE || o->verb == USHER_SERIAL_RENEW
                 ? o->until_ms > e->now_ms
                 : o->verb != USHER_SERIAL_RETURN && o->verb != USHER_SERIAL_EXPIRE))
            return true;
    }
    return false;
}

/* An end that is late makes the reserve right that followed it. */
static void settle(struct fake_authority *n, const struct usher_authority_event *e)
{
    struct usher_authority_event *next = NULL;
    const struct usher_authority_event *last = NULL;

    if (e->verb != USHER_SERIAL_RETURN && e->verb != USHER_SERIAL_EXPIRE)
        return;
    for (size_t i = 0; i < n->n_events; i++) {
        struct usher_authority_event *o = &n->events[i].event;

        if (o->noun != e->noun || !text_equal(&o->name, &e->name) || o->period != e->period ||
            o->first != e->first)
            continue;
        last = o;
        if (o->twice && o->verb == USHER_SERIAL_RESERVE && o->n == 1 && o->version > e->version &&
            (next == NULL || o->version < next->version))
            next = o;
    }
    if (next != NULL && last->version > e->version)
        next->twice = false;
}

static struct usher_text kept_text(const struct usher_text *text, char *to)
{
    struct usher_text kept = { to, text->size };

    if (text->size != 0)
        memcpy(to, text->data, text->size);
    return kept;
}

static enum usher_status journal(struct usher_authority *a, struct usher_authority_event *events,
                                 size_t n_events, int64_t deadline_ms, char message[192])
{
    struct fake_authority *n = (struct fake_authority *)a;
    enum usher_status status = (enum usher_status)atomic_load(&n->answer);

    (void)deadline_ms;
    if (status != USHER_OK) {
        (void)snprintf(message, 192, "the authority is out");
        return USHER_UNAVAILABLE;
    }
    (void)pthread_mutex_lock(&n->lock);
    if (n->events == NULL)
        n->events = calloc(FAKE_AUTHORITY_EVENTS, sizeof *n->events);
    for (size_t i = 0; i < n_events; i++) {
        struct usher_authority_event *e = &events[i];
        struct fake_authority_event *to;

        e->row = 0;
        e->twice = false;
        if (n->events == NULL || n->n_events == FAKE_AUTHORITY_EVENTS) {
            status = USHER_NOMEM;
            break;
        }
        if (is_known(n, e))
            continue;
        e->twice = is_twice(n, e);
        settle(n, e);
        e->row = n->n_events + 1;
        to = &n->events[n->n_events++];
        to->event = *e;
        to->event.name = kept_text(&e->name, to->name);
        to->event.owner = kept_text(&e->owner, to->owner);
        to->event.text = kept_text(&e->text, to->text);
    }
    (void)pthread_mutex_unlock(&n->lock);
    return status;
}

static enum usher_status events(struct usher_authority *a, enum usher_noun noun,
                                const struct usher_text *name, uint64_t row, size_t max,
                                int64_t deadline_ms, usher_authority_event_fn *fn, void *payload,
                                char message[192])
{
    struct fake_authority *n = (struct fake_authority *)a;

    (void)deadline_ms, (void)message;
    (void)pthread_mutex_lock(&n->lock);
    for (size_t i = 0; i < n->n_events && max > 0; i++) {
        const struct usher_authority_event *e = &n->events[i].event;

        if (e->noun == noun && text_equal(&e->name, name) && e->row > row) {
            fn(payload, e);
            max--;
        }
    }
    (void)pthread_mutex_unlock(&n->lock);
    return USHER_OK;
}

static enum usher_status twice(struct usher_authority *a, int64_t deadline_ms,
                               usher_authority_event_fn *fn, void *payload, char message[192])
{
    struct fake_authority *n = (struct fake_authority *)a;

    (void)deadline_ms, (void)message;
    (void)pthread_mutex_lock(&n->lock);
    for (size_t i = 0; i < n->n_events; i++)
        if (n->events[i].event.twice)
            fn(payload, &n->events[i].event);
    (void)pthread_mutex_unlock(&n->lock);
    return USHER_OK;
}

static enum usher_status entries(struct usher_authority *a, enum usher_noun noun,
                                 int64_t deadline_ms, usher_authority_entry_fn *fn, void *payload,
                                 char message[192])
{
    struct fake_authority *n = (struct fake_authority *)a;

    (void)deadline_ms, (void)message;
    (void)pthread_mutex_lock(&n->lock);
    for (int i = 0; i < n->n; i++) {
        struct usher_text name = { n->of[i].name, n->of[i].name_size };

        if (n->of[i].noun == noun && n->of[i].entry.data_size != 0)
            fn(payload, &name, &n->of[i].entry);
    }
    (void)pthread_mutex_unlock(&n->lock);
    return USHER_OK;
}

static void close_authority(struct usher_authority *a)
{
    (void)a; /* the test's */
}

static const struct usher_authority_ops ops = {
    .size = sizeof(struct usher_authority_ops),
    .name = "fake",
    .reserve = reserve,
    .read = read_entry,
    .release = release,
    .journal = journal,
    .close = close_authority,
    .events = events,
    .twice = twice,
    .entries = entries,
};

void fake_authority_init(struct fake_authority *n)
{
    memset(n, 0, sizeof *n);
    n->base.ops = &ops;
    (void)pthread_mutex_init(&n->lock, NULL);
}

void fake_authority_done(struct fake_authority *n)
{
    (void)pthread_mutex_destroy(&n->lock);
    free(n->events);
}
