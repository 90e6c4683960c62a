/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "engine/grant.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/text.h"
#include "change/hooks.h"
#include "change/memory.h"
#include "change/result.h"

/* The maximum number of requests for one command, if other callers use up its grants. */
#define TRIES 16
#define TURNS 16
#define VERIFIED 256

/* The pause after a failure before the next try; doubled each time. */
#define PAUSE_MIN_MS 10
#define PAUSE_MAX_MS 1000

/* A turn to request a grant.  Scopes with the same hash share one, and wait for each other. */
struct turn {
    pthread_mutex_t lock;
    pthread_cond_t over;
    bool taken;
    _Atomic uint64_t times; /* successful grants */
    int64_t pause_ms, try_ms;
    char why[192]; /* of the last failure */
};

/* A reservation that has expired. */
struct expired {
    struct usher_authority_event event;
    char name[USHER_NAME_MAX]; /* event.name */
};

struct usher__asked {
    struct turn turns[TURNS];
    unsigned n_turns;     /* initialised */
    pthread_mutex_t lock; /* of these: */
    struct expired *expired;
    size_t room;
    _Atomic size_t n_expired;
    bool dropped; /* memory ran out */
    /* Scopes that were verified since the engine was opened (hashes; the oldest is forgotten
     * first). */
    _Atomic uint64_t verified[VERIFIED];
    _Atomic unsigned next;
};

/* ---- the state of an engine ------------------------------------------------------------- */

static bool turn_open(struct turn *t)
{
    pthread_condattr_t attr;
    bool good = pthread_condattr_init(&attr) == 0;

    if (!good)
        return false;
    good = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) == 0 &&
           pthread_cond_init(&t->over, &attr) == 0;
    if (good && pthread_mutex_init(&t->lock, NULL) != 0) {
        (void)pthread_cond_destroy(&t->over);
        good = false;
    }
    (void)pthread_condattr_destroy(&attr);
    return good;
}

struct usher__asked *usher__asked_open(const struct usher_allocator *alloc)
{
    struct usher__asked *asked = usher__resize(alloc, NULL, 0, sizeof *asked);

    if (asked == NULL)
        return NULL;
    memset(asked, 0, sizeof *asked);
    if (pthread_mutex_init(&asked->lock, NULL) != 0) {
        (void)usher__resize(alloc, asked, sizeof *asked, 0);
        return NULL;
    }
    while (asked->n_turns < TURNS && turn_open(&asked->turns[asked->n_turns]))
        asked->n_turns++;
    if (asked->n_turns == TURNS)
        return asked;
    usher__asked_close(asked, alloc, false);
    return NULL;
}

void usher__asked_close(struct usher__asked *asked, const struct usher_allocator *alloc,
                        bool forked)
{
    if (asked == NULL)
        return;
    for (unsigned i = 0; i < asked->n_turns && !forked; i++) {
        (void)pthread_cond_destroy(&asked->turns[i].over);
        (void)pthread_mutex_destroy(&asked->turns[i].lock);
    }
    if (!forked)
        (void)pthread_mutex_destroy(&asked->lock);
    (void)usher__resize(alloc, asked->expired, asked->room * sizeof *asked->expired, 0);
    (void)usher__resize(alloc, asked, sizeof *asked, 0);
}

static uint64_t hash_of(const struct usher__ask *a)
{
    const struct usher_text *scope = &a->command->scope;
    uint64_t hash = XXH3_64bits_withSeed(scope->data, scope->size, (uint64_t)a->noun);

    return hash != 0 ? hash : 1;
}

/* ---- one at a time ---------------------------------------------------------------------- */

/* OK: this thread has the turn until turn_end().  SAME: another thread has got a grant since
 * @times. UNAVAILABLE: the deadline is over.  If @pauses, wait for the end of a pause. */
static enum usher_status turn_begin(struct usher__ask *a, struct turn *t, uint64_t times,
                                    bool pauses)
{
    enum usher_status status = USHER_OK;
    int64_t now;

    (void)pthread_mutex_lock(&t->lock);
    while ((now = usher__monotonic_ms()) < a->deadline_ms && atomic_load(&t->times) == times &&
           (t->taken || (pauses && now < t->try_ms))) {
        int64_t until = t->taken || t->try_ms > a->deadline_ms ? a->deadline_ms : t->try_ms;
        struct timespec ts = { (time_t)(until / 1000), (long)(until % 1000 * 1000000) };

        (void)pthread_cond_timedwait(&t->over, &t->lock, &ts);
    }
    if (now >= a->deadline_ms) {
        (void)snprintf(a->why, sizeof a->why, "%s",
                       t->try_ms != 0 ? t->why : "timed out: the authority did not answer");
        status = USHER_UNAVAILABLE;
    } else if (atomic_load(&t->times) != times) {
        status = USHER_SAME;
    } else {
        t->taken = true;
    }
    (void)pthread_mutex_unlock(&t->lock);
    return status;
}

static bool in_pause(struct turn *t)
{
    bool pause;

    (void)pthread_mutex_lock(&t->lock);
    pause = usher__monotonic_ms() < t->try_ms;
    (void)pthread_mutex_unlock(&t->lock);
    return pause;
}

/* Return false if it has to be tried again after a pause. */
static bool turn_end(struct usher__ask *a, struct turn *t, enum usher_status status)
{
    bool again = status == USHER_UNAVAILABLE || status == USHER_UNKNOWN, first;

    (void)pthread_mutex_lock(&t->lock);
    t->taken = false;
    first = again && t->pause_ms == 0;
    if (again) {
        t->pause_ms = t->pause_ms == 0 ? PAUSE_MIN_MS : t->pause_ms * 2;
        t->pause_ms = t->pause_ms < PAUSE_MAX_MS ? t->pause_ms : PAUSE_MAX_MS;
        t->try_ms = usher__monotonic_ms() + t->pause_ms;
        (void)snprintf(t->why, sizeof t->why, "%s",
                       a->why[0] != '\0' ? a->why : usher_status_text(status));
    } else {
        t->pause_ms = t->try_ms = 0;
    }
    if (status == USHER_OK)
        (void)atomic_fetch_add(&t->times, 1);
    (void)pthread_cond_broadcast(&t->over);
    (void)pthread_mutex_unlock(&t->lock);
    if (first)
        usher__grant_log(
            a, USHER_LOG_WARNING,
            "the authority cannot be reached: numbers and ids that it granted before are issued");
    return !again;
}

/* ---- for the nouns ---------------------------------------------------------------------- */

size_t usher__authority_name(char to[USHER_AUTHORITY_NAME_MAX + 1], const struct usher_text *scope,
                             int64_t period)
{
    size_t size = scope->size;

    memcpy(to, scope->data, size);
    if (period != 0)
        size +=
            (size_t)snprintf(to + size, USHER_AUTHORITY_NAME_MAX + 1 - size, "@%" PRId64, period);
    return size;
}

struct usher_text usher__grant_name(struct usher__ask *a, int64_t period)
{
    struct usher_text name = { a->name,
                               usher__authority_name(a->name, &a->command->scope, period) };

    return name;
}

struct usher_operation usher__grant_another(const struct usher__ask *a, enum usher_verb verb)
{
    struct usher_operation c;

    memset(&c, 0, sizeof c);
    c.verb = verb;
    c.scope = a->command->scope;
    c.given = a->command->given & USHER_GIVEN_NOW;
    c.now_ms = a->command->now_ms;
    c.wait = a->command->wait;
    return c;
}

void usher__grant_run(struct usher__ask *a, const struct usher_operation *c,
                      struct usher_result *reply)
{
    usher__engine_execute(a->e, c, reply, a->e->waits ? a->deadline_ms : 0);
}

void usher__grant_fail(const struct usher__ask *a, enum usher_status status,
                       struct usher_result *reply)
{
    char line[192];

    (void)snprintf(line, sizeof line, "authority: %.170s",
                   a->why[0] != '\0' ? a->why : usher_status_text(status));
    usher_result_fail(reply, status == USHER_NOMEM ? status : USHER_UNAVAILABLE, line);
}

enum usher_status usher__grant_reachable(struct usher__ask *a)
{
    struct usher_text name = usher__grant_name(a, 0);
    struct usher_authority_entry entry;
    enum usher_status status =
        a->e->authority->ops->read(a->e->authority, a->noun, &name, a->deadline_ms, &entry, a->why);

    return status == USHER_MISSING ? USHER_OK : status;
}

enum usher_status usher__grant_keep(struct usher__ask *a, int64_t floor,
                                    const struct usher_text *data)
{
    struct usher_authority_want want;
    struct usher_authority_range range;

    memset(&want, 0, sizeof want);
    want.noun = a->noun;
    want.name = usher__grant_name(a, 0);
    want.floor = floor;
    want.limit = INT64_MAX;
    want.data = *data;
    return a->e->authority->ops->reserve(a->e->authority, &want, a->deadline_ms, &range, a->why);
}

enum usher_status usher__grant_raise_to(struct usher__ask *a, int64_t period, int64_t floor)
{
    struct usher_authority_want want;
    struct usher_authority_range range;

    memset(&want, 0, sizeof want);
    want.noun = a->noun;
    want.name = usher__grant_name(a, period);
    want.floor = floor;
    want.limit = INT64_MAX;
    return a->e->authority->ops->reserve(a->e->authority, &want, a->deadline_ms, &range, a->why);
}

void usher__grant_forget(struct usher__ask *a)
{
    uint64_t hash = hash_of(a);

    for (unsigned i = 0; i < VERIFIED; i++) {
        uint64_t mine = hash;

        (void)atomic_compare_exchange_strong(&a->e->asked->verified[i], &mine, 0);
    }
}

static bool verified(struct usher__asked *asked, uint64_t hash)
{
    for (unsigned i = 0; i < VERIFIED; i++)
        if (atomic_load_explicit(&asked->verified[i], memory_order_relaxed) == hash)
            return true;
    return false;
}

enum usher_status usher__grant_verify(struct usher__ask *a, const struct usher__needs_grant *asks,
                                      bool again)
{
    struct usher__asked *asked = a->e->asked;
    uint64_t hash = hash_of(a);
    struct turn *t = &asked->turns[hash % TURNS];
    enum usher_status status;

    /* In a turn, because a grant that another caller has not installed yet looks like a loss. */
    do {
        uint64_t times = atomic_load(&t->times);

        if (!again && verified(asked, hash))
            return USHER_OK;
        if (!again && in_pause(t))
            return USHER_UNAVAILABLE;
        status = turn_begin(a, t, times, false);
    } while (status == USHER_SAME);
    if (status != USHER_OK)
        return status;
    status = asks->verify(a);
    if (status == USHER_OK && !verified(asked, hash)) {
        unsigned i = atomic_fetch_add_explicit(&asked->next, 1, memory_order_relaxed);

        atomic_store_explicit(&asked->verified[i % VERIFIED], hash, memory_order_relaxed);
    }
    (void)turn_end(a, t, status);
    return status;
}

void usher__grant_until_done(struct usher__ask *a, const struct usher__needs_grant *asks,
                             const struct usher_operation *c, struct usher_result *reply)
{
    struct turn *t = &a->e->asked->turns[hash_of(a) % TURNS];
    bool restored = false;

    for (int i = 0; i < TRIES;) {
        uint64_t times = atomic_load(&t->times);
        enum usher_status status;

        usher__grant_run(a, c, reply);
        if (reply->status == USHER_MISSING && !restored) {
            restored = true;
            status = asks->restore(a);
            if (status == USHER_MISSING)
                return;
        } else if (asks->needs(reply)) {
            if (asks->less != NULL && in_pause(t) && asks->less(a, c, reply))
                return;
            status = turn_begin(a, t, times, true);
            if (status == USHER_OK) {
                status = asks->raise(a, c, reply);
                if (turn_end(a, t, status))
                    i++;
                else
                    status = USHER_OK;
            } else if (status == USHER_SAME) {
                status = USHER_OK;
            }
            if (status == USHER_FULL) {
                reply->status = USHER_FULL;
                return;
            }
        } else {
            return;
        }
        if (status != USHER_OK) {
            usher__grant_fail(a, status, reply);
            return;
        }
        usher_result_done(reply);
    }
    (void)snprintf(a->why, sizeof a->why, "other programs use up all grants of the authority");
    usher__result_init(reply, a->noun, a->e->opt.alloc);
    usher__grant_fail(a, USHER_UNAVAILABLE, reply);
}

void usher__grant_log(const struct usher__ask *a, enum usher_log_level level, const char *what)
{
    char line[320];

    (void)snprintf(line, sizeof line, "%s: %s", what, a->why);
    usher__engine_log(a->e, level, line);
}

/* ---- the journal of expired reservations --------------------------------------------------- */

void usher__asked_expired(struct usher__asked *asked, const struct usher_allocator *alloc,
                          const struct usher_notice *notice)
{
    const struct usher__needs_grant *grants = usher__hooks((unsigned)notice->noun)->grants;
    struct usher_authority_event event;
    struct expired *x;
    size_t n;

    if (grants == NULL || grants->expired == NULL || !grants->expired(notice, &event))
        return;
    (void)pthread_mutex_lock(&asked->lock);
    n = atomic_load(&asked->n_expired);
    if (n == asked->room) {
        size_t room = asked->room * 2 + 16;
        struct expired *more =
            usher__resize(alloc, asked->expired, asked->room * sizeof *more, room * sizeof *more);

        if (more != NULL) {
            asked->expired = more;
            asked->room = room;
        }
    }
    if (n < asked->room) {
        x = &asked->expired[n];
        x->event = event;
        memcpy(x->name, event.name.data, event.name.size);
        atomic_store(&asked->n_expired, n + 1);
    } else {
        asked->dropped = true;
    }
    (void)pthread_mutex_unlock(&asked->lock);
}

/* Remove up to @n noted ones. */
static size_t expired_take(struct usher__asked *asked, struct expired *to, size_t n,
                           bool *ret_dropped)
{
    size_t there;

    (void)pthread_mutex_lock(&asked->lock);
    there = atomic_load(&asked->n_expired);
    if (n > there)
        n = there;
    if (n > 0) {
        memcpy(to, asked->expired, n * sizeof *to);
        memmove(asked->expired, asked->expired + n, (there - n) * sizeof *to);
    }
    atomic_store(&asked->n_expired, there - n);
    *ret_dropped = asked->dropped;
    asked->dropped = false;
    (void)pthread_mutex_unlock(&asked->lock);
    return n;
}

void usher__asked_journal(struct usher_engine *e, int64_t deadline_ms)
{
    struct expired taken[16];
    struct usher_authority_event events[16];
    struct usher__ask a;
    bool dropped;
    size_t n;

    if (atomic_load_explicit(&e->asked->n_expired, memory_order_acquire) == 0 ||
        deadline_ms <= usher__monotonic_ms())
        return;
    a.e = e;
    a.why[0] = '\0';
    a.deadline_ms = deadline_ms;
    while ((n = expired_take(e->asked, taken, 16, &dropped)) > 0) {
        for (size_t i = 0; i < n; i++) {
            events[i] = taken[i].event;
            events[i].name.data = taken[i].name;
        }
        if (e->authority->ops->journal(e->authority, events, n, a.deadline_ms, a.why) != USHER_OK)
            usher__grant_log(&a, USHER_LOG_ERROR, "expiries of serials are not in the journal");
    }
    if (dropped) {
        (void)snprintf(a.why, sizeof a.why, "out of memory");
        usher__grant_log(&a, USHER_LOG_ERROR, "expiries of serials are not in the journal");
    }
}

/* ---- commands --------------------------------------------------------------------------- */

bool usher__needs_grant(const struct usher_operation *command)
{
    const struct usher__needs_grant *grants = usher__hooks_of(command->verb)->grants;

    return grants != NULL && grants->concerns(command->verb);
}

void usher__grant_execute(struct usher_engine *e, const struct usher_operation *command,
                          struct usher_result *reply, int64_t deadline_ms)
{
    struct usher__ask a;

    a.e = e;
    a.command = command;
    a.noun = (enum usher_noun)((unsigned)command->verb >> 8);
    a.deadline_ms = deadline_ms;
    a.why[0] = '\0';
    if (command->scope.data == NULL || command->scope.size > USHER_NAME_MAX ||
        usher__scope_fault(command->scope.data, command->scope.size) != NULL)
        usher__grant_run(&a, command, reply); /* the reply has the fault */
    else
        usher__hooks_of(command->verb)->grants->execute(&a, reply);
}
