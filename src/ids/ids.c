/* SPDX-License-Identifier: MIT */
/*
 * Ids that the process hands out itself.
 *
 * Callers share one counter, `next`.  A call adds to it and so has the id that it finds there,
 * if that is below `end`.  `end` was read before the addition, and the counter was put at or
 * beyond the beginning of a segment before that segment's end was published; so an id below an
 * end belongs to that segment, even if the end is an old one by then.  There is nothing else to
 * check, and no segment object that a late reader might find reused.
 *
 * The published `end` is first the mark at which the next segment should be fetched, so that
 * callers need no check of their own; then the segment's end; then, when all is used up, 0, so that
 * callers come here before they add.  Everything below is under one lock, and rare.  An id that was
 * taken by addition at or past the published end is looked up in the known segments (the current
 * one and the last few, and the next when it comes, which may follow this one); if it is in none,
 * the caller takes another.
 *
 * The counter is on a page that the kernel wipes in the child of a fork, so a child comes here,
 * too, and gets an error.  Without such a page no end is ever published.
 */
#include "config.h"

#include <usher/store/operation.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "change/memory.h"
#include "core/segment.h"
#include "core/text.h"
#include "ids/inner.h"

#define PAUSE_MIN_MS 10
#define PAUSE_MAX_MS 1000
#define LIFE_MS 1000
#define SHARE 50
#define CHUNK 256
/* The assumed time, in the statistics, of a call that did not come here. */
#define FAST_NS 64

/* ---- the counter ------------------------------------------------------------------ */

static void publish(struct usher_ids *ids, struct inner *p, uint64_t end)
{
    p->published = p->wiped ? end : 0;
    __atomic_store_n(&ids->head.end, p->published, __ATOMIC_RELEASE);
}

/* Return whether @id, which was taken by addition, is in a segment that is or was in use. */
static bool known(const struct inner *p, uint64_t id)
{
    if (within(&p->now, id, p->by))
        return true;
    for (unsigned i = 0; i < PAST; i++)
        if (within(&p->past[i], id, p->by))
            return true;
    return false;
}

/* Make the spare segment the current one.  The rest of the old one is skipped. */
static void install(struct usher_ids *ids, struct inner *p)
{
    uint64_t first = (uint64_t)p->spare.first, n = (uint64_t)p->spare.n;
    uint64_t cur = counter(ids), to;
    int64_t now = now_ns();

    /* no thread adds below the mark any more: it comes here and waits for the lock */
    publish(ids, p, 0);
    cur = counter(ids);
    do {
        to = cur;
        if (cur < first)
            to = first;
        else if ((cur - first) % p->by != 0) /* on another grid */
            to = cur + p->by - (cur - first) % p->by;
    } while (to != cur && !counter_move(ids, &cur, to));
    if (cur < p->now.end)
        p->skipped += (p->now.end - cur) / p->by;
    if (p->segments > 1) {
        uint64_t used = (p->now.end - p->now.first) / p->by - p->skipped;
        int64_t took = now - p->began_ns;

        p->spent += used;
        p->lost += p->skipped;
        p->segment_ms = took / 1000000;
        p->rate = took > 0 ? (double)used * 1e9 / (double)took : 0;
        if (p->life_ms > 0)
            p->step =
                usher__segment_step(p->step, p->segment_ms, p->life_ms, p->step_least, p->step_max);
    }
    p->skipped = 0;
    p->began_ns = now;
    p->past[p->n_past++ % PAST] = p->now;
    p->now.first = first;
    p->now.end = first + n * p->by;
    p->token = p->spare.token;
    p->range_epoch = p->spare.epoch;
    p->spare.n = 0;
    p->mark = p->share == 0 ? p->now.end : first + usher__segment_mark(n, p->share) * p->by;
    publish(ids, p, p->mark);
}

/* ---- the manager ------------------------------------------------------------------ */

static bool final(enum usher_status status)
{
    return status == USHER_FULL || status == USHER_MISSING || status == USHER_REFUSED ||
           status == USHER_INVALID || status == USHER_LOST;
}

static enum usher_status no(struct inner *p, enum usher_status status, const char *why)
{
    (void)snprintf(p->why, sizeof p->why, "%s", why);
    return status;
}

static enum usher_status fit_to_use(struct inner *p, const struct usher_id_range *r)
{
    if (r->n < 1 || r->first < 0 || r->by < 1 || r->by > USHER_ID_BY_MAX || r->n > USHER_ID_N_MAX ||
        (uint64_t)r->first + (uint64_t)(r->n - 1) * (uint64_t)r->by > (uint64_t)USHER_ID_LIMIT_MAX)
        return no(p, USHER_INVALID, "the manager returned no range of ids");
    if (p->by != 0 && (uint64_t)r->by != p->by)
        return no(p, USHER_REFUSED, "the distance of ids (by) has changed: close and open again");
    if ((uint64_t)r->first < p->top)
        return no(p, USHER_LOST, "the manager returned ids that it had returned before");
    return USHER_OK;
}

/* Request a segment of @n and wait for it, without the lock.  It becomes the spare one. */
static enum usher_status refill(struct inner *p, int64_t n, int64_t deadline_ns)
{
    struct usher_id_range range;
    char why[192] = "";
    int64_t floor = (int64_t)p->top;
    enum usher_status status;

    memset(&range, 0, sizeof range);
    p->refilling = true;
    p->asked = false;
    (void)pthread_mutex_unlock(&p->lock);
    status = p->manager.reserve(p->manager.payload, n, floor, deadline_ns / 1000000, &range, why);
    (void)pthread_mutex_lock(&p->lock);
    p->refilling = false;
    why[sizeof why - 1] = '\0';
    if (status == USHER_OK)
        status = fit_to_use(p, &range);
    else
        (void)no(p, status, why[0] != '\0' ? why : usher_status_text(status));
    if (status == USHER_OK) {
        if (p->by == 0) /* other threads read it without the lock */
            p->by = (uint64_t)range.by;
        p->spare = range;
        p->top = (uint64_t)range.first + (uint64_t)range.n * p->by;
        p->segments++;
        p->pause_ms = 0;
    } else {
        p->failures++;
        p->pause_ms = p->pause_ms == 0 ? PAUSE_MIN_MS : p->pause_ms * 2;
        if (p->pause_ms > PAUSE_MAX_MS)
            p->pause_ms = PAUSE_MAX_MS;
        p->try_ns = now_ns() + p->pause_ms * 1000000;
    }
    p->failure = status;
    (void)pthread_cond_broadcast(&p->came);
    return status;
}

static void wait_for(struct inner *p, pthread_cond_t *cond, int64_t until_ns)
{
    struct timespec ts;

    ts.tv_sec = (time_t)(until_ns / 1000000000);
    ts.tv_nsec = (long)(until_ns % 1000000000);
    (void)pthread_cond_timedwait(cond, &p->lock, &ts);
}

/* ---- calls that addition did not serve -------------------------------------------- */

/* Serve @c from the known segments.  Return false if they do not suffice. */
static bool serve(struct usher_ids *ids, struct inner *p, struct call *c)
{
    uint64_t cur;

    if (c->taken != NONE) {
        if (known(p, c->taken)) {
            c->got.first = c->taken;
            c->got.end = c->taken + p->by;
            return true;
        }
        if (c->taken >= p->now.end)
            return false; /* it may be in the next one */
        c->taken = NONE;
    }
    cur = counter(ids);
    while (cur < p->now.end) {
        uint64_t n = (p->now.end - cur) / p->by;

        if (n > c->n)
            n = c->n;
        if (n == 0 || (c->exact && n < c->n))
            return false;
        c->got.first = cur;
        c->got.end = cur + n * p->by;
        if (counter_move(ids, &cur, c->got.end))
            return true;
    }
    return false;
}

/* The current segment does not suffice: get another one.  OK: try again. */
static enum usher_status more(struct usher_ids *ids, struct inner *p, struct call *c)
{
    int64_t need = c->exact ? (int64_t)c->n : 1;
    int64_t now;

    if (p->spare.n >= need) {
        install(ids, p);
        return USHER_OK;
    }
    if (p->spare.n > 0) { /* too short for this call */
        p->lost += (uint64_t)p->spare.n;
        p->spare.n = 0;
    }
    if (counter(ids) >= p->now.end && p->published != 0)
        publish(ids, p, 0);
    now = now_ns();
    if (now >= c->deadline_ns)
        return p->failure != USHER_OK
                   ? p->failure
                   : no(p, USHER_UNAVAILABLE, "timed out: no segment was installed");
    if (p->want < need)
        p->want = need;
    c->waited = true;
    if (p->refilling || (p->background && p->refillers > 0)) {
        if (!p->refilling) {
            if (now < p->try_ns && final(p->failure))
                return p->failure;
            p->asked = true;
            (void)pthread_cond_signal(&p->wanted);
        }
        wait_for(p, &p->came, c->deadline_ns);
        return USHER_OK;
    }
    if (p->failure != USHER_OK && now < p->try_ns) {
        if (final(p->failure))
            return p->failure;
        wait_for(p, &p->came, p->try_ns < c->deadline_ns ? p->try_ns : c->deadline_ns);
        return USHER_OK;
    }
    need = p->step > p->want ? p->step : p->want;
    p->want = 0;
    {
        enum usher_status status = refill(p, need, c->deadline_ns);

        return final(status) ? status : USHER_OK;
    }
}

/* Fetch the next segment if it is time.  With the lock. */
static void look_ahead(struct usher_ids *ids, struct inner *p)
{
    uint64_t cur = counter(ids), rest;

    if (p->share == 0 || cur < p->mark || p->now.first == p->now.end)
        return;
    if (p->published != 0 && p->published < p->now.end)
        publish(ids, p, p->now.end);
    if (p->spare.n > 0 || p->refilling)
        return;
    if (p->background) {
        p->asked = true;
        (void)pthread_cond_signal(&p->wanted);
        return;
    }
    if (p->failure == USHER_OK || now_ns() >= p->try_ns)
        (void)refill(p, p->step, now_ns() + p->timeout_ms * 1000000);
    cur = counter(ids);
    if (p->failure != USHER_OK && p->spare.n == 0 && cur < p->now.end) {
        /* again when half of the rest is used, because no caller comes here before */
        rest = (p->now.end - cur) / p->by;
        p->mark = cur + (rest / 2 + 1) * p->by;
        if (p->mark < p->now.end)
            publish(ids, p, p->mark);
    }
}

static void note(struct inner *p, const struct call *c, int64_t began)
{
    uint64_t ns = (uint64_t)(now_ns() - began), rest = ns;
    unsigned bucket = 0;

    while ((rest >>= 1) != 0)
        bucket++;
    p->buckets[bucket]++;
    if (!c->waited)
        return;
    p->waits++;
    p->waited_ns += ns;
    if (ns > p->longest_ns)
        p->longest_ns = ns;
}

enum usher_status usher__ids_run(struct usher_ids *ids, struct inner *p, struct call *c,
                                 int64_t timeout_ms)
{
    int64_t began = now_ns();
    enum usher_status status = USHER_OK;

    if (timeout_ms == 0)
        timeout_ms = p->timeout_ms;
    c->deadline_ns = began + timeout_ms * 1000000;
    (void)pthread_mutex_lock(&p->lock);
    while (!serve(ids, p, c)) {
        status = more(ids, p, c);
        if (status != USHER_OK)
            break;
    }
    if (status == USHER_OK)
        look_ahead(ids, p);
    else
        usher__message_set("ids: %s", p->why);
    note(p, c, began);
    (void)pthread_mutex_unlock(&p->lock);
    return status;
}

enum usher_status usher_ids_more(struct usher_ids *ids, uint64_t taken, int64_t *ret_id)
{
    struct inner *p = enter(ids);
    struct call c = { .taken = taken, .n = 1, .exact = true };
    enum usher_status status;

    if (p == NULL)
        return USHER_INVALID;
    if (ret_id == NULL)
        return wrong("ret_id is NULL");
    status = usher__ids_run(ids, p, &c, 0);
    if (status == USHER_OK)
        *ret_id = (int64_t)c.got.first;
    return status;
}

enum usher_status usher_ids_take(struct usher_ids *ids, int64_t n, int64_t timeout_ms,
                                 int64_t *ret_first)
{
    struct inner *p = enter(ids);
    struct call c = { .taken = NONE, .n = (uint64_t)n, .exact = true };
    uint64_t end, cur;
    enum usher_status status;

    if (p == NULL)
        return USHER_INVALID;
    if (n < 1 || n > USHER_ID_N_MAX || timeout_ms < 0 || timeout_ms > USHER_SPAN_MAX ||
        ret_first == NULL)
        return wrong("n or timeout_ms is out of range, or ret_first is NULL");
    /* as below, without the lock */
    end = __atomic_load_n(&ids->head.end, __ATOMIC_ACQUIRE);
    cur = counter(ids);
    while (cur < end && (uint64_t)n <= (end - cur) / p->by) {
        if (counter_move(ids, &cur, cur + (uint64_t)n * p->by)) {
            *ret_first = (int64_t)cur;
            return USHER_OK;
        }
    }
    status = usher__ids_run(ids, p, &c, timeout_ms);
    if (status == USHER_OK)
        *ret_first = (int64_t)c.got.first;
    return status;
}

/* ---- refill by other threads ----------------------------------------------------- */

enum usher_status usher_ids_refill(struct usher_ids *ids, int64_t timeout_ms)
{
    struct inner *p = enter(ids);
    int64_t deadline, now, until;
    enum usher_status status = USHER_SAME;

    if (p == NULL)
        return USHER_INVALID;
    if (timeout_ms < 0 || timeout_ms > USHER_SPAN_MAX)
        return wrong("timeout_ms is out of range");
    now = now_ns();
    deadline = now + timeout_ms * 1000000;
    (void)pthread_mutex_lock(&p->lock);
    p->refillers++;
    for (;;) {
        bool paused = p->failure != USHER_OK && now < p->try_ns;

        if (p->stopped) {
            status = USHER_REFUSED;
            break;
        }
        if (p->asked && !p->refilling && p->spare.n > 0 && p->want <= p->spare.n)
            p->asked = false;
        if (p->asked && !p->refilling && !paused) {
            int64_t n = p->step > p->want ? p->step : p->want;

            p->want = 0;
            status = refill(p, n, now + p->timeout_ms * 1000000);
            if (status != USHER_OK) {
                p->asked = true; /* still */
                usher__message_set("ids: %s", p->why);
            }
            break;
        }
        if (now >= deadline)
            break;
        until = p->asked && !p->refilling && p->try_ns < deadline ? p->try_ns : deadline;
        wait_for(p, &p->wanted, until);
        now = now_ns();
    }
    p->refillers--;
    /* callers must not wait for a refiller that is gone */
    (void)pthread_cond_broadcast(&p->came);
    (void)pthread_mutex_unlock(&p->lock);
    return status;
}

void usher_ids_stop(struct usher_ids *ids)
{
    struct inner *p = enter(ids);

    if (p == NULL)
        return;
    (void)pthread_mutex_lock(&p->lock);
    p->stopped = true;
    p->background = false;
    (void)pthread_cond_broadcast(&p->wanted);
    (void)pthread_cond_broadcast(&p->came);
    (void)pthread_mutex_unlock(&p->lock);
}

/* ---- statistics ------------------------------------------------------------------- */

enum usher_status usher_ids_stats(struct usher_ids *ids, struct usher_ids_statistics *ret)
{
    struct inner *p = enter(ids);
    uint64_t cur, scraps = 0, slowest = 0;

    if (p == NULL)
        return USHER_INVALID;
    if (ret == NULL)
        return wrong("ret is NULL");
    memset(ret, 0, sizeof *ret);
    (void)pthread_mutex_lock(&p->lock);
    cur = counter(ids);
    if (cur > p->now.end)
        cur = p->now.end;
    for (unsigned i = 0; i < p->n_scraps; i++)
        scraps += (p->scraps[i].end - p->scraps[i].first) / p->by;
    ret->issued = p->spent + (cur - p->now.first) / p->by - scraps;
    ret->lost = p->lost;
    ret->segments = p->segments;
    ret->failures = p->failures;
    ret->waits = p->waits;
    ret->waited_us = p->waited_ns / 1000;
    ret->longest_us = p->longest_ns / 1000;
    ret->step = p->step;
    ret->left = (int64_t)((p->now.end - cur) / p->by + scraps) + p->spare.n;
    ret->segment_ms = p->segment_ms;
    ret->rate = p->rate;
    ret->p9999_ns = FAST_NS;
    for (int i = BUCKETS; i-- > 6;) {
        slowest += p->buckets[i];
        if (slowest > ret->issued / 10000) {
            ret->p9999_ns = i < 63 ? UINT64_C(2) << i : UINT64_MAX;
            break;
        }
    }
    (void)pthread_mutex_unlock(&p->lock);
    return USHER_OK;
}

/* ---- open and close --------------------------------------------------------------- */

/* Return the rest, if it is contiguous with the last segment. */
static void give_back(struct usher_ids *ids, struct inner *p)
{
    struct usher_id_range rest = p->spare;
    uint64_t cur = counter(ids);

    if (p->manager.release == NULL || p->by == 0)
        return;
    rest.by = (int64_t)p->by;
    if (p->spare.n > 0 && (uint64_t)p->spare.first == p->now.end && cur <= p->top) {
        rest.first = (int64_t)cur; /* the rest of both segments */
        rest.n = (int64_t)((p->top - cur) / p->by);
    } else if (p->spare.n == 0 && cur < p->now.end) {
        rest.first = (int64_t)cur;
        rest.n = (int64_t)((p->now.end - cur) / p->by);
        rest.token = p->token;
        rest.epoch = p->range_epoch;
    }
    if (rest.n > 0)
        p->manager.release(p->manager.payload, &rest);
}

void *usher__ids_map(size_t size, size_t wiped, bool *ret_wiped)
{
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (at == MAP_FAILED)
        return NULL;
#ifdef MADV_WIPEONFORK
    *ret_wiped = madvise(at, wiped, MADV_WIPEONFORK) == 0;
#else
    (void)wiped;
    *ret_wiped = false;
#endif
    return at;
}

/* Free it, also if it is half-open. */
static void ids_free(struct usher_ids *ids, struct inner *p)
{
    p->magic = 0;
    (void)pthread_cond_destroy(&p->came);
    (void)pthread_cond_destroy(&p->wanted);
    (void)pthread_mutex_destroy(&p->lock);
    (void)munmap(ids, p->size);
}

void usher_ids_close(struct usher_ids *ids)
{
    struct inner *p;

    if (ids == NULL)
        return;
    p = inner_of(ids);
    if (p->magic != MAGIC)
        return;
    if (p->wiped ? ids->page == 0 : p->pid != getpid()) {
        /* the lock may be held by a thread that is not in this process */
        (void)munmap(ids, p->size);
        return;
    }
    give_back(ids, p);
    ids_free(ids, p);
}

static const char *options_take(struct inner *p, const struct usher_ids_options *opt)
{
    struct usher_ids_options o = USHER_IDS_OPTIONS_INIT;

    if (opt != NULL && !usher__struct_take(&o, sizeof o, opt))
        return "options.size is not set by USHER_IDS_OPTIONS_INIT, or options have members that this "
               "version does not know";
    if (o.step < 0 || o.step > USHER_ID_N_MAX || o.step_max < 0 || o.step_max > USHER_ID_N_MAX)
        return "options.step or step_max is out of range";
    if ((o.share != USHER_NONE && (o.share < 0 || o.share > 99)) || o.chunk < 0 ||
        o.chunk > USHER_ID_N_MAX ||
        (o.life_ms != USHER_NONE && (o.life_ms < 0 || o.life_ms > USHER_SPAN_MAX)) ||
        o.timeout_ms < 0 || o.timeout_ms > USHER_SPAN_MAX / 1000)
        return "options.share, chunk, life_ms or timeout_ms is out of range";
    p->step = o.step;
    p->step_max = o.step_max != 0 ? o.step_max : USHER_ID_STEP_MAX;
    p->life_ms = o.life_ms != 0 ? o.life_ms : LIFE_MS;
    p->share = o.share == USHER_NONE ? 0 : o.share == 0 ? SHARE : (unsigned)o.share;
    p->chunk = o.chunk != 0 ? (uint64_t)o.chunk : CHUNK;
    p->timeout_ms = o.timeout_ms != 0 ? o.timeout_ms : USHER_TIMEOUT_DEFAULT;
    p->background = o.background;
    return NULL;
}

static enum usher_status locks_init(struct inner *p)
{
    pthread_condattr_t attr;
    bool ok = pthread_condattr_init(&attr) == 0;

    ok = ok && pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) == 0 &&
         pthread_mutex_init(&p->lock, NULL) == 0 && pthread_cond_init(&p->came, &attr) == 0 &&
         pthread_cond_init(&p->wanted, &attr) == 0;
    (void)pthread_condattr_destroy(&attr);
    return ok ? USHER_OK : USHER_NOMEM;
}

static enum usher_status ids_new(const struct usher_ids_options *opt, struct usher_ids **ret_ids,
                                 struct inner **ret_inner)
{
    size_t page = page_size();
    size_t size = page + (sizeof(struct inner) + page - 1) / page * page;
    bool wiped;
    struct usher_ids *ids = usher__ids_map(size, page, &wiped);
    struct inner *p;
    const char *fault;

    if (ids == NULL) {
        usher__message_set("ids: out of memory");
        return USHER_NOMEM;
    }
    p = inner_of(ids);
    p->page = page;
    p->size = size;
    p->wiped = wiped;
    p->pid = getpid();
    p->segment_ms = USHER_NONE;
    fault = options_take(p, opt);
    if (fault != NULL || locks_init(p) != USHER_OK) {
        (void)munmap(ids, size);
        if (fault != NULL)
            return wrong(fault);
        usher__message_set("ids: out of memory");
        return USHER_NOMEM;
    }
    ids->page = page;
    p->magic = MAGIC;
    *ret_ids = ids;
    *ret_inner = p;
    return USHER_OK;
}

/* Take the first segment. */
static enum usher_status begin(struct usher_ids *ids, struct inner *p)
{
    enum usher_status status;

    if (p->step == 0)
        p->step = USHER_ID_STEP_DEFAULT;
    p->step_least = p->step;
    if (p->step_max < p->step)
        p->step_max = p->step;
    (void)pthread_mutex_lock(&p->lock);
    status = refill(p, p->step, now_ns() + p->timeout_ms * 1000000);
    if (status == USHER_OK) {
        __atomic_store_n(&ids->head.next, (uint64_t)p->spare.first, __ATOMIC_RELAXED);
        ids->head.by = p->by;
        p->now.first = p->now.end = (uint64_t)p->spare.first;
        install(ids, p);
    } else {
        usher__message_set("ids: %s", p->why);
    }
    (void)pthread_mutex_unlock(&p->lock);
    return status;
}

enum usher_status usher_ids_open_manager(const struct usher_ids_manager *manager,
                                         const struct usher_ids_options *opt,
                                         struct usher_ids **ret_ids)
{
    struct usher_ids *ids;
    struct inner *p;
    enum usher_status status;

    usher__message_clear();
    if (manager == NULL || manager->reserve == NULL || ret_ids == NULL)
        return wrong("manager, its reserve or ret_ids is NULL");
    status = ids_new(opt, &ids, &p);
    if (status != USHER_OK)
        return status;
    p->manager = *manager;
    status = begin(ids, p);
    if (status == USHER_OK)
        *ret_ids = ids;
    else
        ids_free(ids, p);
    return status;
}

enum usher_status usher_ids_open(struct usher_engine *e, const char *name,
                                 const struct usher_ids_options *opt, struct usher_ids **ret_ids)
{
    struct usher_ids *ids;
    struct inner *p;
    struct usher_id_row row = USHER_ID_ROW_INIT;
    struct usher_reply *reply;
    enum usher_status status = usher__engine_check(e);

    if (status != USHER_OK)
        return status;
    if (name == NULL || ret_ids == NULL || usher__scope_fault(name, strlen(name)) != NULL)
        return wrong("name is invalid, or name or ret_ids is NULL");
    status = ids_new(opt, &ids, &p);
    if (status != USHER_OK)
        return status;
    p->manager = usher__ids_dispenser(&p->dispenser, e, name);
    if (p->step == 0) {
        status = usher_id_stats(e, name, NULL, &reply);
        if (usher_id_row_of(reply, 0, &row))
            p->step = row.step;
        usher_reply_done(reply);
    }
    if (status == USHER_OK)
        status = begin(ids, p);
    if (status == USHER_OK)
        *ret_ids = ids;
    else
        ids_free(ids, p);
    return status;
}
