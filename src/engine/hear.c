/* SPDX-License-Identifier: MIT */
/*
 * Watchers whose notices are collected as events.
 *
 * A watcher gets a notice when its store reports a change, after the commit and before the answer
 * to the command that made it.  The notice is copied and becomes an event in the list that also
 * contains the replies.  If there is no space or no memory for it, it becomes a gap.  While a gap
 * is pending the watcher gets no other event, so that the gap is at the position of the missing
 * notices.  The gap is appended when half of the space is free again, so that there is one gap and
 * not many.
 *
 * A watcher with USHER_WATCH_SINCE follows a log.  It has the version of its last notice, and
 * appends a notice only if that follows this version.  Otherwise it is out of date.  Then notices
 * are not kept, because the log contains all of them, and the thread that executes posted commands
 * reads the log, too.  Notices that come during the reading show whether the log has to be read
 * again.  So a full backlog, a lack of memory, or a change of another process costs one reading of
 * the log, and there is a gap only if the log does not reach back.
 *
 * At the beginning, and at times later, the log is read though nothing is known to be missing.  A
 * notice that follows is appended then, too, and an answer that is older than it is not used.  So
 * the changes of the engine itself arrive from a scope without a log.
 *
 * With USHER_WATCH_ALL it also follows what other engines change, if the store is shared with other
 * processes.  It reads the log every EVERY_MS.
 * If the store publishes the changes of its scope (an answer of the log has the setting `push`), it
 * subscribes to them.  Then it reads the log when its subscription begins, when a version is
 * published that it does not have, and every CHECK_MS.  While the subscription is interrupted it
 * reads the log every EVERY_MS.
 *
 * A watcher with USHER_WATCH_TEND has its scope swept when something is due.  Each notice and each
 * answer to a sweep contains that time.  The earliest one counts until the next sweep.  A sweep
 * that comes too early does no harm, and its answer contains the right time.
 */
#include "config.h"

#include "engine/hear.h"

#include <string.h>

#include "core/changes.h"
#include "core/text.h"
#include "core/verbs.h"
#include "engine/timers.h"
#include "engine/engine.h"
#include "engine/flight.h"
#include "change/memory.h"
#include "change/hooks.h"
#include "change/result.h"
#include "change/work.h"
#include "engine/watch.h"
#include "engine/hear_parts.h"

#ifdef USHER_HOSTILE
#define READS 2 /* logs that are read together */
#define PAGE 3  /* notices of each */
#else
#define READS 8
#define PAGE 100
#endif
#define EVERY_MS 500  /* interval of reading a log that other engines may write to */
#define CHECK_MS 5000 /* the same with a subscription, because messages may be lost */

/* ---- lists ---------------------------------------------------------------------------------- */

enum list { BEHIND, GAPS };

static void heards_append(struct usher__heards *l, enum list which, struct usher__heard *h)
{
    h->then[which] = NULL;
    if (l->last != NULL)
        l->last->then[which] = h;
    else
        l->first = h;
    l->last = h;
}

static struct usher__heard *heards_take(struct usher__heards *l, enum list which)
{
    struct usher__heard *h = l->first;

    USHER_ASSERT(h != NULL);
    l->first = h->then[which];
    if (l->first == NULL)
        l->last = NULL;
    return h;
}

static void heards_without(struct usher__heards *l, enum list which, const struct usher__heard *h)
{
    struct usher__heards kept = { NULL, NULL };

    while (l->first != NULL) {
        struct usher__heard *one = heards_take(l, which);

        if (one != h)
            heards_append(&kept, which, one);
    }
    *l = kept;
}

/* ---- gaps ----------------------------------------------------------------------------------- */

/* Append the pending gaps for which there is space again. */
static void gaps_tell(struct usher__post *p)
{
    while (p->gaps.first != NULL && p->n_notices <= p->limit / 2) {
        struct usher__heard *h = p->gaps.first;

        if (!usher__heard_append_gap(h, &h->gap)) {
            p->gaps_ms = usher__monotonic_ms() + RETRY_MS;
            return;
        }
        h->missed = false;
        (void)heards_take(&p->gaps, GAPS);
    }
}

/* Add @n to the pending gap of @h. */
static void miss(struct usher__heard *h, const struct usher_notice *n)
{
    struct usher_notice *gap = &h->gap;

    if (!h->missed) {
        memset(gap, 0, sizeof *gap);
        gap->noun = n->scope.size != 0 ? n->noun : h->noun;
        gap->scope = (struct usher_text){ h->gap_scope, n->scope.size };
        if (n->scope.size != 0)
            memcpy(h->gap_scope, n->scope.data, n->scope.size);
        gap->epoch = n->epoch;
        gap->before = n->before;
        gap->version = n->version;
        gap->mark = n->mark;
        h->missed = true;
        heards_append(&h->p->gaps, GAPS, h);
    } else if (gap->noun != n->noun || !usher__text_equal(&gap->scope, &n->scope)) {
        /* a gap of several scopes is one of any scope */
        gap->noun = h->noun;
        gap->scope.size = 0;
        gap->epoch = gap->before = gap->version = gap->mark = 0;
    } else if (gap->epoch != n->epoch || gap->version == 0 || n->version == 0) {
        gap->epoch = gap->before = gap->version = gap->mark = 0;
    } else {
        gap->version = n->version;
        gap->mark = n->mark;
    }
    gaps_tell(h->p);
}

/* ---- follow a log --------------------------------------------------------------------------- */

/* Return the verb of its next command: to read its log, or to sweep its scope. */
static unsigned verb_of(const struct usher__heard *h)
{
    return h->sweeps ? (unsigned)usher__hooks((unsigned)h->noun)->sweep
                     : usher__changes_verb(h->noun)->verb;
}

/* Return the lane of that command. */
static struct usher__post_lane *lane_of(const struct usher__heard *h)
{
    struct usher_text scope = { h->scope, (uint32_t)h->scope_size };

    return usher__post_lane(h->p, verb_of(h), &scope);
}

/* List @h as one with a command to execute. */
void usher__heard_list(struct usher__heard *h)
{
    if (h->listed || h->reading)
        return;
    h->listed = true;
    h->lane = lane_of(h);
    heards_append(&h->lane->behind, BEHIND, h);
}

static void be_behind(struct usher__heard *h)
{
    h->current = false;
    look_at(h, INT64_MAX);
    usher__heard_list(h);
}

static void try_later(struct usher__heard *h)
{
    h->current = false;
    look_at(h, usher__monotonic_ms() + RETRY_MS);
}

static void be_current(struct usher__heard *h)
{
    int64_t wait_ms = h->subscribed ? CHECK_MS : h->every_ms != 0 ? h->every_ms : h->first_ms;

    h->current = true;
    h->first_ms = 0;
    look_at(h, wait_ms != 0 ? usher__monotonic_ms() + wait_ms : INT64_MAX);
}

/* Return whether a notice of coalesced changes contains all changes from the first to the last. */
static bool is_whole(const struct usher_notice *n)
{
    const struct usher__copied *copied = usher__hooks((unsigned)n->noun)->copied;
    struct usher_notice one;
    uint64_t version = n->before;
    size_t at = 0;

    if (copied == NULL || n->verb != copied->together)
        return true;
    while (copied->each(n, &at, &one)) {
        if (one.before != version)
            return false;
        version = one.version;
    }
    return version == n->version;
}

static bool is_known(const struct place *to, const struct usher_notice *n)
{
    return n->version <= to->version &&
           usher__changes_go_on(n->epoch, n->version, to->epoch, to->version);
}

static bool follows_on(const struct place *to, const struct usher_notice *n)
{
    return n->before == to->version &&
           (to->epoch == 0 || usher__changes_go_on(to->epoch, to->version, n->epoch, n->version)) &&
           (to->mark == 0 || n->was == to->mark) && is_whole(n);
}

/* @n was appended: advance @h to it. */
static void go_on(struct usher__heard *h, const struct usher_notice *n)
{
    static const struct place none;
    const struct usher__copied *copied = usher__hooks((unsigned)n->noun)->copied;

    if (copied != NULL && n->verb == copied->gone)
        h->place = none; /* a scope that is created now has another history */
    else
        h->place = (struct place){ n->epoch, n->version, n->mark };
    h->closing = copied != NULL && copied->closes(n->verb);
}

/* Note that there are changes up to @version that were not read. */
static void newer(struct usher__heard *h, uint64_t epoch, uint64_t version)
{
    h->newer = true;
    h->newest = (struct place){ epoch, version, 0 };
}

/* Return whether @n may be a change of the setting `push`. */
static bool may_change_push(const struct usher__heard *h, const struct usher_notice *n)
{
    return h->may_listen && (usher__changes_set_push((unsigned)n->verb) ||
                             n->verb == usher__steps((unsigned)n->noun)->drop_verb);
}

static void follow(struct usher__heard *h, const struct usher_notice *n)
{
    if (is_known(&h->place, n))
        return;
    if (follows_on(&h->place, n) && usher__heard_append(h, n)) {
        go_on(h, n);
        h->ahead = true;
        if (may_change_push(h, n))
            be_behind(h); /* the answer contains the setting */
        return;
    }
    newer(h, n->epoch, n->version);
    if (h->current)
        be_behind(h);
}

/* ---- listen to the store
 * ------------------------------------------------------------------------------ */

/* Process a message of the store's listener.  Called without a lock. */
static void published(void *payload, enum usher_noun noun, const struct usher_text *scope,
                      enum usher_listen_event event, uint64_t version)
{
    usher__watches_published(payload, noun, scope, event, version);
}

/* Add @h to the followers of the store's listener, or (@on false) remove it.  Without memory the
 * log is read every half second, and this is tried after each reading. */
static void set_listening(struct usher__heard *h, bool on)
{
    struct usher__post *p = h->p;
    const struct usher_store_ops *ops = p->e->store->ops;
    struct usher_text scope = { h->scope, h->scope_size };

    if (!h->may_listen || h->listens == on)
        return;
    if (p->listener == NULL)
        p->listener = ops->listen(p->e->store, published, p->watches);
    if (p->listener == NULL || !ops->listen_to(p->listener, h->noun, &scope, on))
        return;
    h->listens = on;
    h->subscribed = false;
    p->listen_now = true;
}

/* Make @h read its log again. */
static void be_out_of_date(struct usher__heard *h, uint64_t version)
{
    if (h->current)
        be_behind(h);
    else
        newer(h, h->place.epoch, version);
}

void usher__heard_published(struct usher__heard *h, enum usher_listen_event event, uint64_t version)
{
    struct usher__post *p = h->p;
    int64_t next_ms = usher__monotonic_ms() + h->every_ms;
    bool again; /* a version below the last one: another scope of this name */

    (void)pthread_mutex_lock(&p->lock);
    if (h->listens && event == USHER_LISTEN_VERSION) {
        again = version < h->published;
        h->published = version;
        if (again || version > h->place.version)
            be_out_of_date(h, again ? UINT64_MAX : version);
    } else if (h->listens) {
        h->subscribed = event == USHER_LISTEN_ON;
        h->published = 0;
        if (h->subscribed)
            be_out_of_date(h, UINT64_MAX);
        else if (h->current && next_ms < h->look_ms)
            look_at(h, next_ms);
    }
    usher__post_show(p);
    (void)pthread_mutex_unlock(&p->lock);
}

/* ---- read a log ---------------------------------------------------------------------------- */

/* Append a gap up to @version of @epoch, where the mark is @mark, and advance @h to it. */
static bool skip(struct usher__heard *h, uint64_t epoch, uint64_t version, uint64_t mark)
{
    struct usher_notice gap;

    memset(&gap, 0, sizeof gap);
    gap.noun = h->noun;
    gap.scope = (struct usher_text){ h->scope, h->scope_size };
    gap.epoch = epoch;
    gap.before = h->place.version;
    gap.version = version;
    gap.mark = mark;
    if (!usher__heard_append_gap(h, &gap))
        return false;
    h->place = (struct place){ epoch, version, mark };
    h->closing = false;
    return true;
}

/* The next step after an answer: none, another reading at once, or one later. */
enum then { CURRENT, AGAIN, LATER };

static enum then read_rows(struct usher__heard *h, const struct usher_result *r)
{
    struct usher_text scope = { h->scope, h->scope_size };
    struct usher__changes changes;

    usher__changes_of(r, &changes);
    for (size_t i = 0; i < changes.n; i++) {
        struct usher_text value = usher__changes_value(r, i);
        struct usher_notice n;

        if (usher_notice_read(h->noun, &scope, r->epoch, &value, &n) != USHER_OK)
            return LATER;
        /* another history with the same versions */
        if (h->place.mark != 0 && n.was != h->place.mark && !skip(h, r->epoch, n.before, n.was))
            return LATER;
        if (!usher__heard_append(h, &n))
            return h->p->n_notices >= h->p->limit ? AGAIN : LATER;
        go_on(h, &n);
    }
    if (changes.more)
        return AGAIN;
    if (h->place.mark != 0 && h->place.version == r->version && changes.mark != h->place.mark &&
        !skip(h, r->epoch, r->version, changes.mark))
        return LATER;
    h->place = (struct place){ r->epoch, r->version, changes.mark };
    return CURRENT;
}

/* Return whether @r contains that changes are published. */
static bool is_published(const struct usher_result *r)
{
    struct usher__changes changes;

    usher__changes_of(r, &changes);
    return (r->status == USHER_OK || r->status == USHER_STALE || r->status == USHER_REFUSED) &&
           changes.pushes;
}

static enum then read_answer(struct usher__heard *h, const struct usher_result *r)
{
    static const struct place none;
    bool other = h->place.epoch != 0 &&
                 !usher__changes_go_on(h->place.epoch, h->place.version, r->epoch, r->version);
    struct usher__changes changes;

    switch (r->status) {
    case USHER_MISSING: /* no gap if the last notice was that its room closes */
        if ((h->place.epoch != 0 || h->place.version != 0) && !h->closing && !skip(h, 0, 0, 0))
            return LATER;
        h->place = none;
        return CURRENT;
    case USHER_OK:
    case USHER_REFUSED: /* there is no log any more: a gap for what was not read */
    case USHER_STALE:
        if (other) { /* read the new scope from its beginning */
            if (h->closing)
                h->place = (struct place){ r->epoch, 0, 0 };
            else if (!skip(h, r->epoch, 0, 0))
                return LATER;
            h->closing = false;
            return AGAIN;
        }
        if (r->status == USHER_OK)
            return read_rows(h, r);
        if (h->place.version == r->version && r->status == USHER_REFUSED) {
            h->place.epoch = r->epoch;
            return CURRENT;
        }
        usher__changes_of(r, &changes);
        return skip(h, r->epoch, r->version, changes.mark) ? CURRENT : LATER;
    case USHER_LOST: /* continue after the last version that is not lost */
        if (r->version >= h->place.version || !skip(h, r->epoch, r->version, 0))
            return LATER;
        return AGAIN;
    default:
        return LATER;
    }
}

/* Use nothing of an answer that is older than the last notice. */
static enum then pass_over(const struct usher__heard *h, const struct usher_result *r)
{
    bool older = (r->status == USHER_OK || r->status == USHER_REFUSED) &&
                 r->version <= h->place.version &&
                 usher__changes_go_on(r->epoch, r->version, h->place.epoch, h->place.version);

    return r->status >= USHER_INVALID ? LATER : older ? CURRENT : AGAIN;
}

static void heard_free(struct usher__heard *h)
{
    usher__told_free(h->spare);
    (void)usher__resize(h->p->alloc, h, sizeof *h, 0);
}

static void read_done(struct usher__heard *h, const struct usher_result *r)
{
    enum then then;

    h->reading = false;
    if (h->dead) {
        heard_free(h);
        return;
    }
    if (h->sweeping) {
        h->sweeping = false;
        usher__heard_swept(h, r);
        return;
    }
    if (h->tends && r->status < USHER_INVALID) {
        usher__heard_set_clock(h, r->now_ms);
        usher__heard_tend(h, r->due_ms, 0);
    }
    then = h->ahead ? pass_over(h, r) : read_answer(h, r);
    if (r->status < USHER_INVALID)
        set_listening(h, is_published(r));
    if (then == CURRENT && h->newer &&
        !(h->newest.version <= h->place.version &&
          usher__changes_go_on(h->newest.epoch, h->newest.version, h->place.epoch,
                               h->place.version)))
        then = AGAIN;
    if (then == CURRENT)
        be_current(h);
    else if (then == AGAIN)
        be_behind(h);
    else
        try_later(h);
    if (h->sweeps)
        usher__heard_list(h);
}

static void read_command(struct usher__heard *h, struct usher_operation *c, size_t max)
{
    struct usher_text scope = { h->scope, h->scope_size };

    h->listed = false;
    h->reading = true;
    if (h->sweeps) {
        usher__heard_sweep_command(h, c);
        return;
    }
    h->newer = h->ahead = false;
    usher__changes_ask(c, h->noun, &scope, h->place.version, max);
}

bool usher__heard_can_read(const struct usher__post *p, const struct usher__post_lane *l)
{
    return l->behind.first != NULL && p->n_notices < p->limit;
}

bool usher__heards_fly(const struct usher_engine *e, const struct usher__post_lane *l)
{
    const struct usher__heard *h = l->behind.first;

    for (size_t i = 0; h != NULL && i < READS; i++, h = h->then[BEHIND])
        if (!usher__flies(e, verb_of(h)))
            return false;
    return true;
}

/* Logs that are being read, and scopes that are being swept. */
struct usher__reading {
    struct usher__post *p;
    struct usher__flight *flight; /* NULL: the thread waits for the answers */
    size_t n;
    size_t asked[READS];
    struct usher__heard *heards[READS];
    struct usher_operation commands[READS];
    struct usher_result results[READS];
};

static void reading_take(struct usher__post *p, struct usher__post_lane *l,
                         struct usher__reading *r)
{
    r->p = p;
    r->flight = NULL;
    r->n = 0;
    for (; r->n < READS && usher__heard_can_read(p, l); r->n++) {
        size_t room = p->limit - p->n_notices;

        r->asked[r->n] = l->behind.first->sweeps ? 0 : room < PAGE ? room : PAGE;
        p->n_notices += r->asked[r->n];
        r->heards[r->n] = heards_take(&l->behind, BEHIND);
        usher__result_blank(&r->results[r->n], r->heards[r->n]->noun, p->alloc);
        read_command(r->heards[r->n], &r->commands[r->n], r->asked[r->n]);
    }
}

static void reading_done(struct usher__reading *r, bool over)
{
    for (size_t i = 0; i < r->n; i++) {
        r->p->n_notices -= r->asked[i];
        if (!over)
            r->results[i].status = USHER_UNAVAILABLE; /* it is read again */
        read_done(r->heards[i], &r->results[i]);
    }
    gaps_tell(r->p);
    for (size_t i = 0; i < r->n; i++)
        usher_result_done(&r->results[i]);
}

void usher__heards_read(struct usher_engine *e, struct usher__post *p, struct usher__post_lane *l)
{
    struct usher__reading r;
    enum usher_status status;

    reading_take(p, l, &r);
    usher__post_show(p);
    (void)pthread_mutex_unlock(&p->lock);
    status = usher__engine_operate(e, r.commands, r.results, r.n, 0);
    (void)pthread_mutex_lock(&p->lock);
    /* INVALID would mean that nothing was done; it does not occur, because the engine is valid */
    reading_done(&r, status != USHER_INVALID);
}

struct usher__reading *usher__reading_begin(struct usher_engine *e, struct usher__post *p,
                                            struct usher__post_lane *l)
{
    struct usher__reading *r = usher__resize(p->alloc, NULL, 0, sizeof *r);

    if (r == NULL)
        return NULL;
    reading_take(p, l, r);
    (void)pthread_mutex_unlock(&p->lock);
    r->flight = usher__flight_begin(e, r->commands, r->results, r->n, e->timeout_ms);
    (void)pthread_mutex_lock(&p->lock);
    if (r->flight != NULL)
        return r;
    usher__reading_end(r, false);
    return NULL;
}

bool usher__reading_go_on(struct usher__reading *r, struct usher_wait *ret_wait)
{
    return usher__flight_go_on(r->flight, ret_wait);
}

void usher__reading_end(struct usher__reading *r, bool over)
{
    if (r->flight != NULL)
        usher__flight_end(r->flight);
    reading_done(r, over);
    (void)usher__resize(r->p->alloc, r, sizeof *r, 0);
}

size_t usher__reading_size(const struct usher__reading *r)
{
    return r->n;
}

const struct usher_operation *usher__reading_at(const struct usher__reading *r, size_t i)
{
    return &r->commands[i];
}

int64_t usher__heards_ms(const struct usher__post *p)
{
    int64_t ms = usher__timers_ms(&p->heards);

    return ms < p->gaps_ms ? ms : p->gaps_ms;
}

void usher__heards_look(struct usher__post *p, int64_t now_ms)
{
    while (usher__timers_ms(&p->heards) <= now_ms) {
        struct usher__heard *h = heard_of(p->heards.heap[0].of);

        if (h->look_ms <= now_ms)
            be_behind(h);
        if (h->tend_ms <= now_ms) {
            int64_t due_ms = h->due_ms;

            usher__heard_tend_not(h);
            if (due_ms > usher__heard_store_ms(h)) {
                usher__heard_tend(h, due_ms, 0);
            } else {
                h->sweeps = true;
                usher__heard_list(h);
            }
        }
    }
    p->gaps_ms = INT64_MAX;
    gaps_tell(p);
}

void usher__heard_taken(struct usher__post *p, const struct usher__node *node)
{
    (void)node;
    p->n_notices--;
    gaps_tell(p);
}

/* ---- notices -------------------------------------------------------------------------------- */

void usher__heard_notice(struct usher__heard *h, const struct usher_notice *n)
{
    struct usher__post *p = h->p;

    (void)pthread_mutex_lock(&p->lock);
    if (h->tends) {
        h->told = n->version;
        usher__heard_tend(h, n->due_ms, 0);
    }
    if (h->follows && n->verb != USHER_NOTICE_LOST)
        follow(h, n);
    else if ((h->missed || !usher__heard_append(h, n)) && !h->follows)
        miss(h, n);
    usher__post_show(p);
    (void)pthread_mutex_unlock(&p->lock);
}

void usher__heard_doubt(struct usher__heard *h, const struct usher_notice *n)
{
    struct usher__post *p = h->p;

    (void)pthread_mutex_lock(&p->lock);
    if (h->tends)
        usher__heard_sweep_in(h, 0);
    if (!h->follows)
        miss(h, n);
    else if (h->current)
        be_behind(h);
    else
        newer(h, n->epoch, UINT64_MAX); /* the answer that is being read may be older */
    usher__post_show(p);
    (void)pthread_mutex_unlock(&p->lock);
}

/* ---- begin and end --------------------------------------------------------------------------- */

struct usher__heard *usher__heard_new(struct usher__post *p, const struct usher__hearing *how)
{
    struct usher__heard *h = usher__resize(p->alloc, NULL, 0, sizeof *h);
    bool good;

    if (h == NULL)
        return NULL;
    memset(h, 0, sizeof *h);
    h->p = p;
    h->tag = how->tag;
    h->noun = how->noun;
    h->look_ms = h->tend_ms = INT64_MAX;
    h->due_ms = USHER_NEVER;
    h->early_ms = EARLY_MS;
    if (how->scope != NULL) {
        h->scope_size = strlen(how->scope);
        memcpy(h->scope, how->scope, h->scope_size);
    }
    h->spare = usher__heard_gap_new(h);
    if (h->spare == NULL) {
        heard_free(h);
        return NULL;
    }
    h->follows = (how->flags & USHER_WATCH_SINCE) != 0;
    h->tends = (how->flags & USHER_WATCH_TEND) != 0;
    h->place.version = how->since;
    if ((how->flags & USHER_WATCH_ALL) != 0 && (p->e->store->ops->caps & USHER_CAP_SHARED) != 0)
        h->every_ms = EVERY_MS;
    h->first_ms = how->under_way_ms;
    h->may_listen = h->every_ms != 0 && p->fd[USHER__LOOP] >= 0 &&
                    p->e->store->ops->listen != NULL && usher__changes_pushes(h->noun);
    (void)pthread_mutex_lock(&p->lock);
    good = usher__timers_add(&p->heards, p->alloc, &h->due);
    (void)pthread_mutex_unlock(&p->lock);
    if (good)
        return h;
    heard_free(h);
    return NULL;
}

void usher__heard_begin(struct usher__heard *h)
{
    struct usher__post *p = h->p;

    (void)pthread_mutex_lock(&p->lock);
    if (h->follows)
        be_behind(h);
    if (h->tends)
        usher__heard_sweep_in(h, 0);
    usher__post_show(p);
    (void)pthread_mutex_unlock(&p->lock);
}

/* Remove the events of @h from the ready events. */
static void ready_without(struct usher__post *p, const struct usher__heard *h)
{
    struct usher__node *node = p->ready.first;

    p->ready = (struct usher__nodes){ NULL, NULL };
    while (node != NULL) {
        struct usher__node *next = node->next;

        if (node->event.kind != USHER_EVENT_REPLY && told_of(node)->of == h) {
            usher__told_free(told_of(node));
            p->n_notices--;
        } else {
            usher__nodes_append(&p->ready, node);
        }
        node = next;
    }
}

void usher__heard_remove(struct usher__heard *h)
{
    struct usher__post *p = h->p;

    (void)pthread_mutex_lock(&p->lock);
    ready_without(p, h);
    set_listening(h, false);
    if (h->listed)
        heards_without(&h->lane->behind, BEHIND, h);
    heards_without(&p->gaps, GAPS, h);
    usher__timers_remove(&p->heards, &h->due);
    if (h->reading)
        h->dead = true;
    else
        heard_free(h);
    gaps_tell(p);
    usher__post_show(p);
    (void)pthread_mutex_unlock(&p->lock);
}

void usher__heards_drop(struct usher__post *p)
{
    for (size_t i = 0; i < p->heards.n; i++)
        heard_free(heard_of(p->heards.heap[i].of));
    usher__timers_free(&p->heards, p->alloc);
}
