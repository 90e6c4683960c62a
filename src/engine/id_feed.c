/* SPDX-License-Identifier: MIT */
/*
 * A managed dispenser of a store, fed from a manager.
 *
 * `next` is one round trip as long as the store has a segment.  When it says `empty`, one thread
 * asks the manager and installs what it gave; the others wait for it.  That lock only saves work:
 * two processes may ask at the same time, `install` compares what the store has with what was
 * seen, one of them wins, and the other's segment is a gap.
 *
 * The manager has committed a segment before the store gets it, so a store that forgot anything
 * is healed by a segment: it lies above all that was ever given out.  Forgotten has a store whose
 * dispenser is missing, has another epoch, or a version no higher than one seen before the
 * command was sent.
 */
#include "config.h"

#include <usher/usher.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/text.h"
#include "engine/engine.h"
#include "engine/memory.h"

#define PAUSE_MIN_MS 10
#define PAUSE_MAX_MS 1000

struct usher_id_feed {
    struct usher_engine *e;
    char name[USHER_NAME_MAX + 1];
    struct usher_ids_manager manager;
    uint32_t given;
    struct usher_id_settings settings;
    pthread_mutex_t lock;
    pthread_cond_t came;
    bool refilling;
    uint64_t epoch, version; /* the highest seen; 0: none */
    uint64_t fed;            /* version of the store behind the last refill */
    int64_t pause_ms, try_ms;
    enum usher_status failure;
    char why[192];
};

static int64_t now_ms(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void wait_until(struct usher_id_feed *f, int64_t until_ms)
{
    struct timespec ts;

    ts.tv_sec = (time_t)(until_ms / 1000);
    ts.tv_nsec = (long)(until_ms % 1000 * 1000000);
    (void)pthread_cond_timedwait(&f->came, &f->lock, &ts);
}

static bool final(enum usher_status status)
{
    return status == USHER_FULL || status == USHER_REFUSED || status == USHER_INVALID ||
           status == USHER_LOST || status == USHER_MISSING;
}

static enum usher_status wrong(const char *message)
{
    usher__message_set("id feed: %s", message);
    return USHER_INVALID;
}

static enum usher_status execute(struct usher_id_feed *f, struct usher_command *c,
                                 enum usher_verb verb, struct usher_reply *reply)
{
    enum usher_status status;

    memset(reply, 0, sizeof *reply);
    c->verb = verb;
    c->scope.data = f->name;
    c->scope.size = strlen(f->name);
    status = usher_execute(f->e, c, reply, 1);
    if (status == USHER_INVALID)
        return status; /* the engine itself */
    usher_reply_done(reply);
    return reply->status;
}

/* ---- refilling: one thread at a time, without the lock ---------------------------- */

/* The store's dispenser as it is; made, if it is not there. */
static enum usher_status look(struct usher_id_feed *f, struct usher_reply *reply)
{
    struct usher_command c;
    enum usher_status status;

    for (int i = 0; i < 3; i++) {
        memset(&c, 0, sizeof c);
        status = execute(f, &c, USHER_ID_SHOW, reply);
        if (status != USHER_MISSING)
            return status;
        status = usher_id_create(f->e, f->name, f->given, &f->settings);
        if (status != USHER_OK && status != USHER_SAME && status != USHER_REFUSED)
            return status;
    }
    return USHER_UNAVAILABLE; /* made and deleted in turns */
}

/* Skip what the store thinks it has below @first. */
static enum usher_status raise_to(struct usher_id_feed *f, int64_t first, struct usher_reply *reply)
{
    struct usher_command c;

    memset(&c, 0, sizeof c);
    c.given = USHER_GIVEN_ID_NEXT;
    c.arg.id.next = first;
    return execute(f, &c, USHER_ID_SET, reply);
}

/* Get a segment that has @n ids and put it into the store.  @forgot: the store has forgotten
 * something, and what it has is not to be used.  *@ret_version is the store's behind it. */
static enum usher_status refill(struct usher_id_feed *f, int64_t n, bool forgot,
                                int64_t deadline_ms, uint64_t *ret_epoch, uint64_t *ret_version,
                                char why[192])
{
    struct usher_reply reply;
    struct usher_id_range range;
    struct usher_command c;
    struct usher_id_reply now;
    char epoch[17];
    enum usher_status status = look(f, &reply);

    if (status != USHER_OK) {
        (void)snprintf(why, 192, "%s", usher_message(f->e));
        return status;
    }
    now = reply.of.id;
    memset(&range, 0, sizeof range);
    status =
        f->manager.reserve(f->manager.payload, n > now.step ? n : now.step,
                           now.next > now.max ? now.next : now.max + 1, deadline_ms, &range, why);
    why[191] = '\0';
    if (status != USHER_OK)
        return status;
    if (range.by != now.by || range.n < 1 || range.first < 0) {
        (void)snprintf(why, 192, "the manager gave no ids that are %" PRId64 " apart", now.by);
        return USHER_REFUSED;
    }
    memset(&c, 0, sizeof c);
    (void)snprintf(epoch, sizeof epoch, "%016" PRIx64, reply.epoch);
    c.arg.id.epoch.data = epoch;
    c.arg.id.epoch.size = 16;
    c.given = USHER_GIVEN_ID_FIRST | USHER_GIVEN_ID_N | (now.max >= 0 ? USHER_GIVEN_ID_MAX : 0u);
    c.arg.id.first = range.first;
    c.arg.id.n = range.n;
    c.arg.id.max = now.max;
    status = execute(f, &c, USHER_ID_INSTALL, &reply);
    if (status == USHER_OK && forgot) {
        status = raise_to(f, range.first, &reply);
        if (status == USHER_SAME || status == USHER_REFUSED) /* there, or beyond it */
            status = USHER_OK;
    }
    /* another process was there first, and has put its own in */
    if (status == USHER_STALE && !forgot)
        status = USHER_OK;
    if (status == USHER_STALE || status == USHER_MISSING)
        status = USHER_UNAVAILABLE; /* not healed for sure, or deleted meanwhile: once more */
    if (status == USHER_OK) {
        *ret_epoch = reply.epoch;
        *ret_version = reply.version;
    } else if (reply.message[0] != '\0') {
        (void)snprintf(why, 192, "%s", reply.message);
    } else {
        (void)snprintf(why, 192, "install: %s", usher_status_text(status));
    }
    return status;
}

/* With the lock.  @seen: version of the answer that said that a segment is needed.  OK: try
 * again. */
static enum usher_status need(struct usher_id_feed *f, int64_t n, bool forgot, uint64_t seen_epoch,
                              uint64_t seen, int64_t deadline_ms)
{
    uint64_t epoch = 0, version = 0;
    char why[192] = "";
    int64_t now = now_ms();
    enum usher_status status;

    if (f->fed != 0 && f->epoch == seen_epoch && f->fed > seen)
        return USHER_OK; /* that answer is older than the last refill */
    if (now >= deadline_ms) {
        if (f->failure == USHER_OK)
            (void)snprintf(f->why, sizeof f->why, "no segment came in time");
        return f->failure != USHER_OK ? f->failure : USHER_UNAVAILABLE;
    }
    if (f->refilling) {
        wait_until(f, deadline_ms);
        return USHER_OK;
    }
    if (f->failure != USHER_OK && now < f->try_ms) {
        if (final(f->failure))
            return f->failure;
        wait_until(f, f->try_ms < deadline_ms ? f->try_ms : deadline_ms);
        return USHER_OK;
    }
    f->refilling = true;
    (void)pthread_mutex_unlock(&f->lock);
    status = refill(f, n, forgot, deadline_ms, &epoch, &version, why);
    (void)pthread_mutex_lock(&f->lock);
    f->refilling = false;
    f->failure = status;
    if (status == USHER_OK) {
        f->pause_ms = 0;
        if (epoch != f->epoch || forgot || version > f->version) {
            f->epoch = epoch;
            f->version = version;
        }
        f->fed = version;
    } else {
        memcpy(f->why, why, sizeof f->why);
        f->pause_ms = f->pause_ms == 0 ? PAUSE_MIN_MS : f->pause_ms * 2;
        if (f->pause_ms > PAUSE_MAX_MS)
            f->pause_ms = PAUSE_MAX_MS;
        f->try_ms = now_ms() + f->pause_ms;
    }
    (void)pthread_cond_broadcast(&f->came);
    return final(status) ? status : USHER_OK;
}

/* ---- for callers ------------------------------------------------------------------ */

enum usher_status usher_id_feed_next(struct usher_id_feed *f, int64_t n, const char *request,
                                     int64_t timeout_ms, struct usher_id_range *ret_range)
{
    int64_t deadline_ms;
    enum usher_status status;

    if (f == NULL || ret_range == NULL || timeout_ms < 0 || timeout_ms > USHER_SPAN_MAX)
        return wrong("feed, ret_range or timeout_ms is wrong");
    status = usher__engine_check(f->e); /* before the lock, which a fork may have left locked */
    if (status != USHER_OK)
        return status;
    deadline_ms = now_ms() + (timeout_ms != 0 ? timeout_ms : USHER_TIMEOUT_DEFAULT);
    for (;;) {
        struct usher_command c;
        struct usher_reply reply;
        uint64_t epoch, version;
        bool forgot;

        (void)pthread_mutex_lock(&f->lock);
        epoch = f->epoch;
        version = f->version;
        (void)pthread_mutex_unlock(&f->lock);
        memset(&c, 0, sizeof c);
        c.request.data = request;
        c.request.size = request != NULL ? strlen(request) : 0;
        c.given = USHER_GIVEN_ID_N;
        c.arg.id.n = n;
        status = execute(f, &c, USHER_ID_NEXT, &reply);
        if (status != USHER_OK && status != USHER_EMPTY && status != USHER_MISSING &&
            status != USHER_FULL) {
            if (reply.message[0] != '\0')
                usher__message_set("id feed: %s", reply.message);
            return status;
        }
        forgot = status == USHER_MISSING;
        if (epoch != 0 && !reply.repeated)
            forgot = forgot || reply.epoch != epoch || reply.version < version ||
                     (status == USHER_OK && reply.version == version);
        if (!forgot && (status == USHER_OK || status == USHER_FULL)) {
            (void)pthread_mutex_lock(&f->lock);
            if (f->epoch == 0 || (f->epoch == reply.epoch && f->version < reply.version)) {
                f->epoch = reply.epoch;
                f->version = reply.version;
            }
            (void)pthread_mutex_unlock(&f->lock);
            ret_range->first = reply.of.id.first;
            ret_range->n = reply.of.id.n;
            ret_range->by = reply.of.id.by;
            ret_range->token = reply.of.id.token;
            ret_range->epoch = reply.epoch;
            ret_range->version = reply.version;
            if (status == USHER_FULL)
                usher__message_set("id feed: %s", usher_status_text(status));
            return status;
        }
        if (forgot) /* the repeat must not get what is not to be used */
            request = NULL;
        (void)pthread_mutex_lock(&f->lock);
        /* healed by another thread meanwhile? */
        if (forgot && epoch != 0 && (f->epoch != epoch || f->version < version))
            status = USHER_OK;
        else
            status =
                need(f, n, forgot, reply.epoch, forgot ? UINT64_MAX : reply.version, deadline_ms);
        if (status != USHER_OK)
            usher__message_set("id feed: %s", f->why);
        (void)pthread_mutex_unlock(&f->lock);
        if (status != USHER_OK)
            return status;
    }
}

enum usher_status usher_id_feed_open(struct usher_engine *e, const char *name, uint32_t given,
                                     const struct usher_id_settings *settings,
                                     const struct usher_ids_manager *manager,
                                     struct usher_id_feed **ret_feed)
{
    enum usher_status status = usher__engine_check(e);
    pthread_condattr_t attr;
    struct usher_id_feed *f;
    bool ok;

    if (status != USHER_OK)
        return status;
    if (name == NULL || usher__scope_fault(name, strlen(name)) != NULL || manager == NULL ||
        manager->reserve == NULL || ret_feed == NULL || (settings == NULL && given != 0))
        return wrong("name, settings, manager or ret_feed is wrong");
    f = usher__resize(e->opt.alloc, NULL, 0, sizeof *f);
    if (f == NULL) {
        usher__message_set("id feed: out of memory");
        return USHER_NOMEM;
    }
    memset(f, 0, sizeof *f);
    f->e = e;
    memcpy(f->name, name, strlen(name) + 1);
    f->manager = *manager;
    if (settings != NULL)
        f->settings = *settings;
    f->given = given | USHER_GIVEN_ID_MANAGED;
    f->settings.managed = 1;
    ok = pthread_condattr_init(&attr) == 0;
    ok = ok && pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) == 0 &&
         pthread_mutex_init(&f->lock, NULL) == 0 && pthread_cond_init(&f->came, &attr) == 0;
    (void)pthread_condattr_destroy(&attr);
    status = ok ? usher_id_create(e, name, f->given, &f->settings) : USHER_NOMEM;
    if (status == USHER_OK || status == USHER_SAME) {
        *ret_feed = f;
        return USHER_OK;
    }
    usher_id_feed_close(f);
    return status;
}

void usher_id_feed_close(struct usher_id_feed *f)
{
    if (f == NULL)
        return;
    (void)pthread_cond_destroy(&f->came);
    (void)pthread_mutex_destroy(&f->lock);
    (void)usher__resize(f->e->opt.alloc, f, sizeof *f, 0);
}
