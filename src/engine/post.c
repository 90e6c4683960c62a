/* SPDX-License-Identifier: MIT */
/*
 * Posted commands: threads of the caller execute them, and their events are collected.
 *
 * A command is in one of two lists: it waits, or its event is ready to be collected.  One thread at
 * a time takes commands from the front of the first list, executes them as usher_execute() would,
 * and appends them to the second, so all are done in the order of posting.  That thread is in
 * usher_work(), or in usher_collect() while no thread is in usher_work().  For a store with lanes
 * (a cluster) there are several first lists, and each is done in its order.
 *
 * A call of usher_post() allocates two blocks: the commands with their texts and events, and the
 * replies.  Both exist before a command waits, so a posted command is answered even if there is no
 * memory left.  A block is freed with the last of its events.
 *
 * Threads wait in poll(), not for a condition variable.  So a signal handler can wake them by a
 * write, and the host's event loop waits for the same descriptor.  A descriptor is raised and
 * lowered with the lock held, so it is readable exactly while there is something to do.  The one of
 * usher_interrupt(), which cannot take a lock, is lowered by a thread that finds no interruption.
 */
#include "config.h"

#include <usher/command.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/text.h"
#include "engine/door.h"
#include "engine/engine.h"
#include "engine/flight.h"
#include "engine/hear.h"
#include "change/memory.h"
#include "engine/post_parts.h"
#include "encode/reply.h"

#ifdef USHER_HOSTILE
#define BATCH 3 /* commands that are executed together */
#else
#define BATCH 256
#endif
#define BACKLOG 65536
/* ---- lists ------------------------------------------------------------------------------ */

void usher__nodes_append(struct usher__nodes *l, struct usher__node *node)
{
    node->next = NULL;
    if (l->last != NULL)
        l->last->next = node;
    else
        l->first = node;
    l->last = node;
}

static void drop_all(struct usher__nodes *l)
{
    while (l->first != NULL)
        usher_event_done(&take(l)->event);
}

/* ---- work ---- */

static inline bool has_work(const struct usher__post *p, const struct usher__post_lane *l)
{
    return !l->executing && (l->waiting.first != NULL || usher__heard_can_read(p, l));
}

static struct usher__post_lane *work_of_some(struct usher__post *p)
{
    for (unsigned i = 0, at = p->turn; i < p->n_lanes; i++, at++) {
        struct usher__post_lane *l = &p->lane[at < p->n_lanes ? at : at - p->n_lanes];

        if (has_work(p, l))
            return l;
    }
    return NULL;
}

/* Return a lane in which something can be begun, or NULL. */
static inline struct usher__post_lane *work_of(struct usher__post *p)
{
    if (p->n_lanes > 1)
        return work_of_some(p);
    return has_work(p, p->lane) ? p->lane : NULL;
}

/* Return whether something can be begun. */
static bool any_work(struct usher__post *p)
{
    return work_of(p) != NULL || (p->listen_now && !p->listening);
}

/* Called after each change of the work and of the ready events.  With the lock. */
void usher__post_show(struct usher__post *p)
{
    bool work = any_work(p);

    usher__descriptor_set(p, USHER__COLLECT, p->ready.first != NULL || (work && p->workers == 0));
    usher__descriptor_set(p, USHER__WORK, work && p->workers > 0);
}

/* ---- begin and end ------------------------------------------------------------------------ */

#define HOMES_SIZE (USHER__POST_HOMES * sizeof(struct usher__home))

static void post_free(struct usher__post *p)
{
    if (p->homes != NULL)
        (void)usher__resize(p->alloc, p->homes, HOMES_SIZE, 0);
    (void)usher__resize(p->alloc, p, sizeof *p, 0);
}

/* Make as many lanes as the store has, up to USHER__POST_QUEUES, and one more if there are several.
 * In addition there are those for commands that wait for replicas. */
static bool lanes_new(const struct usher_engine *e, struct usher__post *p)
{
    p->n_queues = e->n_lanes < USHER__POST_QUEUES ? (unsigned)e->n_lanes : USHER__POST_QUEUES;
    p->n_lanes = p->n_queues > 1 ? p->n_queues + 1 : 1;
    if (e->replicates) {
        p->replicas = p->n_lanes;
        p->n_lanes += p->n_queues;
    }
    for (unsigned i = 0; i < p->n_lanes; i++)
        p->lane[i].wait.fd = -1;
    if (p->n_lanes == 1)
        return true;
    p->homes = usher__resize(p->alloc, NULL, 0, HOMES_SIZE);
    if (p->homes != NULL)
        memset(p->homes, 0, HOMES_SIZE);
    return p->homes != NULL;
}

void usher__post_close(struct usher__post *p, bool forked)
{
    if (p == NULL)
        return;
    usher__descriptors_close(p);
    if (forked) {
        if (pthread_mutex_trylock(&p->lock) != 0)
            return;
        (void)pthread_mutex_unlock(&p->lock);
    }
    for (unsigned i = 0; i < p->n_lanes; i++) {
        drop_all(&p->lane[i].waiting);
        drop_all(&p->lane[i].batch);
    }
    drop_all(&p->ready);
    usher__heards_drop(p);
    (void)pthread_mutex_destroy(&p->lock);
    post_free(p);
}

static struct usher__post *post_new(const struct usher_engine *e, struct usher__watches *watches)
{
    struct usher__post *p = usher__resize(e->opt.alloc, NULL, 0, sizeof *p);
    bool good;

    if (p == NULL)
        return NULL;
    memset(p, 0, sizeof *p);
    p->e = e;
    p->alloc = e->opt.alloc;
    p->limit = e->opt.backlog != 0 ? e->opt.backlog : BACKLOG;
    p->soonest_ms = p->gaps_ms = INT64_MAX;
    p->watches = watches;
    p->listen_wait.fd = p->fd[USHER__LOOP] = -1;
    good = lanes_new(e, p);
    for (int i = 0; i < USHER__LOOP; i++) {
        p->fd[i] = usher__descriptor_open();
        good = good && p->fd[i] >= 0;
    }
    if (good && HAS_LOOP && e->store->ops->begin != NULL) {
        p->fd[USHER__LOOP] = usher__descriptor_loop(p->fd[USHER__COLLECT]);
        good = p->fd[USHER__LOOP] >= 0;
    }
    if (!good || pthread_mutex_init(&p->lock, NULL) != 0) {
        usher__descriptors_close(p);
        post_free(p);
        return NULL;
    }
    return p;
}

struct usher__post *usher__post_of(struct usher_engine *e, const char *call)
{
    struct usher__post *p = atomic_load(&e->post), *mine;

    if (p != NULL)
        return p;
    mine = post_new(e, &e->watches);
    if (mine == NULL) {
        usher__message_set("%s: out of memory or file descriptors", call);
        return NULL;
    }
    if (atomic_compare_exchange_strong(&e->post, &p, mine))
        return mine;
    usher__post_close(mine, false); /* another thread was first */
    return p;
}

/* ---- post ---------------------------------------------------------------------------------- */

static enum usher_status post_fault(const struct usher_command *commands, size_t n,
                                    int64_t timeout_ms)
{
    const char *fault = NULL;

    if (n == 0 || n > USHER_BATCH_MAX)
        fault = "n is not from 1 to 65536";
    else if (commands == NULL)
        fault = "commands is NULL";
    else if (timeout_ms < 0 || timeout_ms > USHER_SPAN_MAX)
        fault = "timeout_ms is not from 0 to a hundred years";
    if (fault == NULL)
        return USHER_OK;
    usher__message_set("post: %s", fault);
    return USHER_INVALID;
}

struct usher__post_lane *usher__post_lane(struct usher__post *p, unsigned verb,
                                          const struct usher_text *scope)
{
    struct usher_operation op = { .verb = (enum usher_verb)verb, .scope = *scope };
    const struct usher__verb *about = usher__verb(verb);

    if (p->n_queues == 1 || scope->size == 0)
        return p->lane;
    if (about != NULL && (about->flags & USHER__BEYOND) != 0)
        return &p->lane[p->n_queues];
    return &p->lane[usher__engine_lane(p->e, &op) % p->n_queues];
}

static bool waits_for_replicas(const struct usher_command *c)
{
    size_t i = 0;

    while (i < c->n && c->values != NULL &&
           (c->values[i].field != USHER_FIELD_WAIT || c->values[i].number == 0))
        i++;
    return c->values != NULL && i < c->n;
}

/* Return the lane for @c: that of its scope, or that in which commands of its home already wait.  A
 * batch ends with its last command, so commands that wait for replicas have other lanes. */
static struct usher__post_lane *home_of(struct usher__post *p, struct posted *c)
{
    size_t size = text_size(c->command.scope_size, c->command.scope);
    struct usher_text scope = { NULL, 0 };
    struct usher__home *home;

    /* an invalid scope can be answered in any lane */
    if (size != 0 && usher__scope_fault(c->command.scope, size) == NULL) {
        scope = (struct usher_text){ c->command.scope, (uint32_t)size };
        c->home = (unsigned)(XXH3_64bits(c->command.scope, size) % USHER__POST_HOMES);
    }
    home = &p->homes[c->home];
    if (home->n++ == 0) {
        home->lane = (unsigned)(usher__post_lane(p, c->command.verb, &scope) - p->lane);
        if (p->replicas != 0 && waits_for_replicas(&c->command))
            home->lane = p->replicas + home->lane % p->n_queues;
    }
    return &p->lane[home->lane];
}

static struct usher__post_lane *lane_of(struct usher__post *p, struct posted *c)
{
    return p->homes == NULL ? p->lane : home_of(p, c);
}

/* @c was done, or refused. */
static void leave_home(struct usher__post *p, const struct posted *c)
{
    if (p->homes != NULL)
        p->homes[c->home].n--;
}

/* Reserve space for @n more commands. */
static bool reserve(struct usher__post *p, size_t n)
{
    bool is_room;

    (void)pthread_mutex_lock(&p->lock);
    is_room = p->n <= p->limit && n <= p->limit - p->n;
    if (is_room)
        p->n += n;
    (void)pthread_mutex_unlock(&p->lock);
    return is_room;
}

enum usher_status usher_post(struct usher_engine *e, const struct usher_command *commands, size_t n,
                             int64_t timeout_ms)
{
    enum usher_status status = usher__engine_check(e);
    struct usher__post *p;
    struct parcel *parcel;
    struct posted *posted;

    if (status == USHER_OK)
        status = post_fault(commands, n, timeout_ms);
    if (status != USHER_OK)
        return status;
    p = usher__post_of(e, "post");
    if (p == NULL)
        return USHER_NOMEM;
    if (!reserve(p, n)) {
        usher__message_set(
            "post: too many commands are not yet collected: call usher_collect() first");
        return USHER_FULL;
    }
    parcel = usher__parcel_new(e->opt.alloc, commands, n);
    (void)pthread_mutex_lock(&p->lock);
    if (parcel == NULL) {
        p->n -= n;
        (void)pthread_mutex_unlock(&p->lock);
        usher__message_set("post: out of memory");
        return USHER_NOMEM;
    }
    parcel->deadline_ms = usher__monotonic_ms() + (timeout_ms != 0 ? timeout_ms : e->timeout_ms);
    if (parcel->deadline_ms < p->soonest_ms)
        p->soonest_ms = parcel->deadline_ms;
    posted = (struct posted *)(void *)(parcel + 1);
    for (size_t i = 0; i < n; i++)
        usher__nodes_append(&lane_of(p, &posted[i])->waiting, &posted[i].node);
    usher__post_show(p);
    (void)pthread_mutex_unlock(&p->lock);
    return USHER_OK;
}

/* ---- execute -------------------------------------------------------------------------------- */

/* Refuse the commands that wait in @l and have @tag or (@late) no time left.  Return their number.
 * With the lock. */
static size_t refuse_in(struct usher__post *p, struct usher__post_lane *l, const void *tag,
                        bool late, const char *message)
{
    struct usher__nodes kept = { NULL, NULL };
    int64_t now_ms = usher__monotonic_ms();
    size_t n = 0;

    while (l->waiting.first != NULL) {
        struct posted *c = posted_of(take(&l->waiting));

        if (late ? c->of->deadline_ms <= now_ms : tag == NULL || c->command.tag == tag) {
            usher__reply_refuse(c->reply, &c->command, message);
            usher__nodes_append(&p->ready, &c->node);
            leave_home(p, c);
            n++;
            continue;
        }
        usher__nodes_append(&kept, &c->node);
        if (c->of->deadline_ms < p->soonest_ms)
            p->soonest_ms = c->of->deadline_ms;
    }
    l->waiting = kept;
    return n;
}

static size_t refuse(struct usher__post *p, const void *tag, bool late, const char *message)
{
    size_t n = 0;

    p->soonest_ms = INT64_MAX;
    for (unsigned i = 0; i < p->n_lanes; i++)
        n += refuse_in(p, &p->lane[i], tag, late, message);
    return n;
}

/* Return the next time at which something expires, of commands or of watchers. */
static int64_t late_ms(const struct usher__post *p)
{
    int64_t look_ms = usher__heards_ms(p);

    return p->soonest_ms < look_ms ? p->soonest_ms : look_ms;
}

/* Refuse late commands, and let watchers do what is due. */
static void do_late(struct usher_engine *e, struct usher__post *p)
{
    int64_t now_ms;
    bool late, look;

    if (late_ms(p) == INT64_MAX)
        return;
    now_ms = usher__monotonic_ms();
    late = p->soonest_ms <= now_ms;
    look = usher__heards_ms(p) <= now_ms;
    if (late)
        (void)atomic_fetch_add_explicit(
            &e->unavailable, refuse(p, NULL, true, "timed out before it was sent: nothing changed"),
            memory_order_relaxed);
    if (look)
        usher__heards_look(p, now_ms);
    if (late || look)
        usher__post_show(p);
}

/*
 * Move the next batch from the waiting commands into @batch and @entries, and return its size.  The
 * batch has one deadline, that of the command with the least time left, which is *@ret_left_ms.  So
 * a command with more than twice that time waits for the next batch.  *@flies: in, whether the
 * batch must be all asynchronous or all not; out, which of both it is.  With the lock.
 */
static size_t batch_take(const struct usher_engine *e, struct usher__post *p,
                         struct usher__post_lane *l, struct usher__nodes *batch,
                         struct usher__entry *entries, int64_t *ret_left_ms, bool *flies)
{
    int64_t now_ms = usher__monotonic_ms(), least = INT64_MAX, most = 0;
    bool matters = *flies;
    size_t n = 0;

    while (l->waiting.first != NULL && n < BATCH) {
        struct posted *c = posted_of(l->waiting.first);
        int64_t left = c->of->deadline_ms - now_ms;

        left = left > 0 ? left : 1;
        least = left < least ? left : least;
        most = left > most ? left : most;
        if (e->waits && n > 0 && most / 2 > least)
            break;
        if (matters && n > 0 && usher__flies(e, c->command.verb) != *flies)
            break;
        if (matters && n == 0)
            *flies = usher__flies(e, c->command.verb);
        *ret_left_ms = least;
        usher__nodes_append(batch, take(&l->waiting));
        entries[n++] = (struct usher__entry){ &c->command, c->reply };
    }
    if (p->n_lanes == 1 && l->waiting.first == NULL)
        p->soonest_ms = INT64_MAX;
    return n;
}

/* End what is under way in @l; its commands have left the store.  With the lock. */
static void land(struct usher__post *p, struct usher__post_lane *l, bool over)
{
    if (l->reading != NULL)
        usher__reading_end(l->reading, over);
    l->has_read = l->reading != NULL;
    p->n_under_way -= is_under_way(l);
    l->crossing = NULL;
    l->reading = NULL;
    l->executing = false;
}

/* The commands of @batch are done. */
static void batch_done(struct usher__post *p, struct usher__nodes *batch)
{
    for (struct usher__node *node = batch->first; p->homes != NULL && node != NULL;
         node = node->next)
        leave_home(p, posted_of(node));
    append_all(&p->ready, batch);
    *batch = (struct usher__nodes){ NULL, NULL };
}

/* Advance what is under way in @l, which no thread drives, as far as possible without waiting. With
 * the lock, which is released during that. */
void usher__post_go_on(struct usher__post *p, struct usher__post_lane *l)
{
    struct usher_wait wait = { .fd = -1 };
    bool over;

    (void)usher__descriptor_loop_set(p, &l->wait, false);
    l->wait.fd = -1;
    l->going_on = true;
    (void)pthread_mutex_unlock(&p->lock);
    over = l->crossing != NULL ? usher__door_go_on(l->crossing, &wait)
                               : usher__reading_go_on(l->reading, &wait);
    if (over && l->crossing != NULL)
        usher__door_end(l->crossing, true);
    (void)pthread_mutex_lock(&p->lock);
    l->going_on = false;
    if (over) {
        land(p, l, true);
        batch_done(p, &l->batch);
    } else {
        l->wait = wait;
        if (!usher__descriptor_loop_set(p, &l->wait,
                                        true)) /* no memory: check it every millisecond */
            l->wait.until_ms = usher__monotonic_ms() + 1;
    }
    usher__post_show(p);
}

/* Return the time that is left until @until_ms, for poll(). */
int usher__post_ms_until(int64_t until_ms)
{
    int64_t left_ms = until_ms == INT64_MAX ? INT32_MAX : until_ms - usher__monotonic_ms();

    return left_ms > INT32_MAX ? INT32_MAX : left_ms > 0 ? (int)left_ms : 0;
}

/* Write into @fds the descriptors of all that is under way without a thread, at most one for each
 * lane, into @of their lanes, and return their number.  Lower *@until_ms to the first deadline. */
static nfds_t waits_of(struct usher__post *p, struct pollfd *fds, struct usher__post_lane **of,
                       int64_t *until_ms)
{
    nfds_t n = 0;

    for (unsigned i = 0, at = p->turn; i < p->n_lanes; i++, at++) {
        struct usher__post_lane *l = &p->lane[at < p->n_lanes ? at : at - p->n_lanes];

        if (!is_under_way(l) || l->going_on)
            continue;
        if (l->wait.until_ms < *until_ms)
            *until_ms = l->wait.until_ms;
        of[n] = l;
        fds[n++] = (struct pollfd){ l->wait.fd, l->wait.events, 0 };
    }
    return n;
}

static struct usher__post_lane *can_go_on_some(struct usher__post *p)
{
    struct usher__post_lane *of[USHER__POST_LANES];
    struct pollfd fds[USHER__POST_LANES];
    int64_t until_ms = INT64_MAX;
    nfds_t n = waits_of(p, fds, of, &until_ms);

    if (n == 0)
        return NULL;
    for (nfds_t i = 0; usher__post_ms_until(until_ms) == 0 && i < n; i++)
        if (usher__post_ms_until(of[i]->wait.until_ms) == 0)
            return of[i];
    if (poll(fds, n, 0) > 0)
        for (nfds_t i = 0; i < n; i++)
            if (fds[i].revents != 0)
                return of[i];
    return NULL;
}

/* Return a lane in which something is under way without a thread and can continue, or NULL. */
static inline struct usher__post_lane *can_go_on(struct usher__post *p)
{
    return p->n_under_way != 0 ? can_go_on_some(p) : NULL;
}

/* Return whether the listener can continue, and no thread drives it. */
static bool can_listen(const struct usher__post *p)
{
    struct pollfd fd = { p->listen_wait.fd, p->listen_wait.events, 0 };

    if (p->listener == NULL || p->listening)
        return false;
    return p->listen_now || usher__post_ms_until(p->listen_wait.until_ms) == 0 ||
           poll(&fd, 1, 0) > 0;
}

/* Write the descriptor of the listener into @fds, lower *@until_ms to its deadline, and return the
 * number of descriptors. */
static nfds_t listens_for(const struct usher__post *p, struct pollfd *fds, int64_t *until_ms)
{
    if (p->listener == NULL || p->listening)
        return 0;
    if (p->listen_wait.until_ms < *until_ms)
        *until_ms = p->listen_wait.until_ms;
    *fds = (struct pollfd){ p->listen_wait.fd, p->listen_wait.events, 0 };
    return 1;
}

/* Drive the listener.  With the lock, which is released during that. */
static void listen_on(const struct usher_engine *e, struct usher__post *p)
{
    struct usher_wait wait = { .fd = -1, .until_ms = INT64_MAX };

    (void)usher__descriptor_loop_set(p, &p->listen_wait, false);
    p->listen_wait.fd = -1;
    p->listening = true;
    p->listen_now = false;
    (void)pthread_mutex_unlock(&p->lock);
    e->store->ops->listen_go_on(p->listener, &wait);
    (void)pthread_mutex_lock(&p->lock);
    p->listening = false;
    p->listen_wait = wait;
    if (!usher__descriptor_loop_set(p, &p->listen_wait,
                                    true)) /* no memory: check it every millisecond */
        p->listen_wait.until_ms = usher__monotonic_ms() + 1;
    usher__post_show(p);
}

/* Begin an asynchronous batch, or with @n 0 an asynchronous reading of logs.  Return false if there
 * is no memory: then the caller has to wait for it.  With the lock, which is released during
 * that. */
static bool take_off(struct usher_engine *e, struct usher__post *p, struct usher__post_lane *l,
                     const struct usher__nodes *batch, const struct usher__entry *entries, size_t n,
                     int64_t left_ms)
{
    struct usher__crossing *crossing = NULL;

    if (n > 0) {
        (void)pthread_mutex_unlock(&p->lock);
        crossing = usher__door_begin(e, entries, n, left_ms);
        (void)pthread_mutex_lock(&p->lock);
        l->crossing = crossing;
    } else {
        l->reading = usher__reading_begin(e, p, l);
    }
    if (!is_under_way(l))
        return false;
    p->n_under_way++;
    l->batch = *batch;
    usher__post_go_on(p, l);
    return true;
}

/* Execute one batch of the waiting commands of @l, and read logs; with @flies asynchronously if
 * possible.  With the lock, which is released during that. */
static void run(struct usher_engine *e, struct usher__post *p, struct usher__post_lane *l,
                bool flies)
{
    struct usher__entry entries[BATCH];
    struct usher__nodes batch = { NULL, NULL };
    int64_t left_ms = 1;
    bool both = !flies;
    /* if asynchronous, it is one of both, alternately */
    bool reads = flies && usher__heard_can_read(p, l) && (!l->has_read || l->waiting.first == NULL);
    size_t n = reads ? 0 : batch_take(e, p, l, &batch, entries, &left_ms, &flies);

    flies = flies && (!reads || usher__heards_fly(e, l));
    p->turn = (unsigned)(l - p->lane) + 1 < p->n_lanes ? (unsigned)(l - p->lane) + 1 : 0;
    l->executing = true;
    usher__post_show(p);
    if (flies && take_off(e, p, l, &batch, entries, n, left_ms))
        return;
    if (n > 0) {
        (void)pthread_mutex_unlock(&p->lock);
        usher__door_execute(e, entries, n, left_ms);
        (void)pthread_mutex_lock(&p->lock);
        batch_done(p, &batch);
    }
    if ((both || n == 0) && usher__heard_can_read(p, l))
        usher__heards_read(e, p, l);
    l->has_read = n == 0;
    l->executing = false;
    usher__post_show(p);
}

bool usher__post_leave(struct usher__post *p, bool forked)
{
    bool going_on;

    if (p == NULL)
        return true;
    if (forked && pthread_mutex_trylock(&p->lock) != 0)
        return false;
    if (forked)
        (void)pthread_mutex_unlock(&p->lock);
    going_on = p->listening;
    for (unsigned i = 0; i < p->n_lanes; i++)
        going_on = going_on || p->lane[i].going_on;
    if (going_on)
        return false;
    if (p->listener != NULL) {
        if (!forked)
            (void)usher__descriptor_loop_set(p, &p->listen_wait, false);
        p->e->store->ops->listen_end(p->listener);
        p->listener = NULL;
    }
    for (unsigned i = 0; i < p->n_lanes; i++) {
        struct usher__post_lane *l = &p->lane[i];

        if (!forked)
            (void)usher__descriptor_loop_set(p, &l->wait, false);
        if (l->crossing != NULL)
            usher__door_end(l->crossing, false);
        if (is_under_way(l))
            land(p, l, false);
        l->wait.fd = -1;
    }
    return true;
}

/* ---- wait ---------------------------------------------------------------------------------- */

static int64_t until_of(int64_t timeout_ms)
{
    return timeout_ms < 0 || timeout_ms > USHER_SPAN_MAX ? INT64_MAX
                                                         : usher__monotonic_ms() + timeout_ms;
}

/* The descriptor of usher_interrupt() is readable: lower it if waiting is allowed again.  That may
 * also lower it for an interruption that has come since, so check again. */
static void calm(const struct usher_engine *e, const struct usher__post *p)
{
    if (atomic_load(&e->interrupted))
        return;
    usher__descriptor_lower(p->fd[USHER__INTERRUPT]);
    if (atomic_load(&e->interrupted))
        usher__descriptor_raise(p->fd[USHER__INTERRUPT]);
}

/*
 * Wait until @d is readable, something under way can continue, a waiting command reaches its
 * deadline, or it is @until_ms.  Return false without waiting if it is @until_ms already, or
 * usher_interrupt() was called.  With the lock, which is released during that.
 */
static bool wait_for(const struct usher_engine *e, struct usher__post *p, enum usher__descriptor d,
                     int64_t until_ms)
{
    bool loop = d == USHER__COLLECT && p->fd[USHER__LOOP] >= 0;
    struct usher__post_lane *of[USHER__POST_LANES];
    struct pollfd fds[3 + USHER__POST_LANES] = { { p->fd[loop ? USHER__LOOP : d], POLLIN, 0 },
                                                 { p->fd[USHER__INTERRUPT], POLLIN, 0 } };
    int64_t now_ms = usher__monotonic_ms();
    int64_t end_ms = late_ms(p) < until_ms ? late_ms(p) : until_ms;
    int ms = -1;
    nfds_t n;

    if (atomic_load(&e->interrupted) || now_ms >= until_ms)
        return false;
    if (p->fd[USHER__LOOP] >= 0 && end_ms - now_ms > HELP_MS)
        end_ms = now_ms + HELP_MS;
    n = waits_of(p, fds + 2, of, &end_ms);
    n += listens_for(p, fds + 2 + n, &end_ms);
    if (end_ms != INT64_MAX)
        ms = end_ms - now_ms > INT_MAX ? INT_MAX : end_ms > now_ms ? (int)(end_ms - now_ms) : 0;
    (void)pthread_mutex_unlock(&p->lock);
    if (poll(fds, 2 + n, ms) > 0 && fds[1].revents != 0)
        calm(e, p);
    (void)pthread_mutex_lock(&p->lock);
    return true;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* Until there is an event to collect, advance what can continue, and begin waiting commands, at
 * most once for each lane. */
static void lanes_on(struct usher_engine *e, struct usher__post *p)
{
    for (unsigned i = 0; i < p->n_lanes && p->ready.first == NULL; i++) {
        struct usher__post_lane *l = can_go_on(p);

        if (l != NULL)
            usher__post_go_on(p, l);
        l = p->ready.first == NULL && p->workers == 0 ? work_of(p) : NULL;
        if (l != NULL)
            run(e, p, l, p->fd[USHER__LOOP] >= 0);
    }
}

const struct usher_event *usher_collect(struct usher_engine *e, int64_t timeout_ms)
{
    struct usher__node *got = NULL;
    struct usher__post *p;
    int64_t until_ms;

    if (usher__engine_check(e) != USHER_OK)
        return NULL;
    if (timeout_ms == 0 && atomic_load(&e->post) == NULL)
        return NULL; /* nothing was ever posted */
    p = usher__post_of(e, "collect");
    if (p == NULL)
        return NULL;
    until_ms = until_of(timeout_ms);
    (void)pthread_mutex_lock(&p->lock);
    do {
        do_late(e, p);
        lanes_on(e, p);
        if (p->ready.first == NULL && can_listen(p)) {
            listen_on(e, p);
            lanes_on(e, p);
        }
        if (p->ready.first != NULL) {
            got = take(&p->ready);
            if (got->event.kind == USHER_EVENT_REPLY)
                p->n--;
            else
                usher__heard_taken(p, got);
            usher__post_show(p);
        }
    } while (got == NULL && wait_for(e, p, USHER__COLLECT, until_ms));
    (void)pthread_mutex_unlock(&p->lock);
    usher__message_clear(); /* messages of commands are in their replies */
    return got != NULL ? &got->event : NULL;
}

enum usher_status usher_work(struct usher_engine *e, int64_t timeout_ms)
{
    enum usher_status status = usher__engine_check(e);
    struct usher__post *p;
    int64_t until_ms;

    if (status != USHER_OK)
        return status;
    p = usher__post_of(e, "work");
    if (p == NULL)
        return USHER_NOMEM;
    until_ms = until_of(timeout_ms);
    status = USHER_SAME;
    (void)pthread_mutex_lock(&p->lock);
    p->workers++;
    usher__post_show(p);
    for (;;) {
        bool over = timeout_ms >= 0 && status == USHER_OK;
        struct usher__post_lane *l;

        do_late(e, p);
        if (can_listen(p))
            listen_on(e, p);
        l = can_go_on(p);
        if (l != NULL) {
            usher__post_go_on(p, l);
        } else if ((l = work_of(p)) == NULL) {
            if (over || !wait_for(e, p, USHER__WORK, until_ms))
                break;
        } else if (atomic_load(&e->interrupted) || (over && usher__monotonic_ms() >= until_ms)) {
            break;
        } else {
            run(e, p, l, false);
            status = USHER_OK;
        }
    }
    p->workers--;
    usher__post_show(p);
    (void)pthread_mutex_unlock(&p->lock);
    usher__message_clear();
    if (atomic_load(&e->interrupted)) {
        usher__message_set("work: interrupted");
        status = USHER_UNAVAILABLE;
    }
    return status;
}

int usher_fd(struct usher_engine *e)
{
    struct usher__post *p = usher__engine_check(e) == USHER_OK ? usher__post_of(e, "fd") : NULL;

    return p != NULL ? p->fd[p->fd[USHER__LOOP] >= 0 ? USHER__LOOP : USHER__COLLECT] : -1;
}

int64_t usher_timeout(struct usher_engine *e)
{
    struct usher__post *p = usher__engine_check(e) == USHER_OK ? atomic_load(&e->post) : NULL;
    struct usher__post_lane *of[USHER__POST_LANES];
    struct pollfd fds[USHER__POST_LANES];
    int64_t ms = -1, until_ms;

    if (p == NULL)
        return -1;
    (void)pthread_mutex_lock(&p->lock);
    until_ms = late_ms(p);
    (void)waits_of(p, fds, of, &until_ms);
    (void)listens_for(p, fds, &until_ms);
    if (p->ready.first != NULL || (p->workers == 0 && any_work(p)))
        ms = 0;
    else if (until_ms != INT64_MAX)
        ms = usher__post_ms_until(until_ms);
    (void)pthread_mutex_unlock(&p->lock);
    return ms;
}

enum usher_status usher_cancel(struct usher_engine *e, const void *tag)
{
    enum usher_status status = usher__engine_check(e);
    struct usher__post *p;
    size_t n = 0;

    if (status != USHER_OK)
        return status;
    p = atomic_load(&e->post);
    if (p != NULL) {
        (void)pthread_mutex_lock(&p->lock);
        n = refuse(p, tag, false, "cancelled");
        usher__post_show(p);
        (void)pthread_mutex_unlock(&p->lock);
    }
    if (n > 0)
        return USHER_OK;
    usher__message_set("cancel: no command with this tag waits to be sent");
    return USHER_MISSING;
}

void usher_interrupt(struct usher_engine *e, bool on)
{
    int saved = errno;
    const struct usher__post *p;

    if (e == NULL || e->magic != USHER__ENGINE_MAGIC || usher__engine_forked(e))
        return;
    atomic_store(&e->interrupted, on);
    p = atomic_load(&e->post); /* one that is created later reads e->interrupted */
    if (on && p != NULL)
        usher__descriptor_raise(p->fd[USHER__INTERRUPT]);
    errno = saved;
}
