/* SPDX-License-Identifier: MIT */
/*
 * Move visits that have ended from the store into a history, and read them from that or from a
 * history within the store, which has them from their end on.
 *
 * A page of the oldest visits is read from the store by `drain`, put into the history in one
 * transaction, and dropped by the `drain` that reads the next page.  That drops up to the version
 * of the last one, and only visits that had ended by then (a store that went back in time issues
 * versions again).  If several engines do it at the same time, a visit is put twice, which has no
 * effect.
 */
#include "config.h"

#include "engine/history.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "engine/engine.h"
#include "change/memory.h"
#include "nouns/definition.h"

#ifdef USHER_HOSTILE
#define PAGE 2
#else
#define PAGE 1000
#endif
/* The pause between two moves after commands on one queue, and after a failed one. */
#define EVERY_MS 1000
/* How long a command waits for a locked history, at most. */
#define WAIT_MS 200
#define BUCKETS 64

/* A queue on which this engine has executed commands. */
struct met {
    struct met *next;
    uint64_t epoch;   /* when `archive` was read last; 0: not yet */
    uint64_t version; /* at the last complete move */
    int64_t at_ms;    /* CLOCK_MONOTONIC, of the last try */
    bool busy;        /* a thread moves its visits */
    bool changed;     /* since the last complete move */
    size_t size;
    char name[];
};

struct usher__archive {
    struct usher_history base; /* first member: the engine has a pointer to it */
    struct usher_history_ops ops;
    struct usher_history *own; /* the application's, or the URL's */
    struct usher_engine *e;
    const struct usher_allocator *alloc;
    pthread_mutex_t lock; /* of all below */
    int64_t failed_ms;    /* of the last failure; 0: the last move succeeded */
    struct met *buckets[BUCKETS];
};

/* ---- the history of the application ----------------------------------------------------- */

/* Its functions are called through these, as in engine/callout.h. */

static struct usher__archive *archive_of(struct usher_history *h)
{
    return (struct usher__archive *)(void *)h;
}

static enum usher_status leave(struct usher__inside *here, enum usher_status status)
{
    usher__callout_end(here);
    return status;
}

static struct usher_history *enter(struct usher__inside *here, struct usher_history *h)
{
    usher__callout_begin(here, archive_of(h)->e);
    return archive_of(h)->own;
}

static enum usher_status callout_put(struct usher_history *h, const struct usher_text *queue,
                                     uint64_t epoch, const struct usher_queue_result_row *visits,
                                     size_t n, int64_t deadline_ms, char message[192])
{
    struct usher__inside here;
    struct usher_history *own = enter(&here, h);

    return leave(&here, own->ops->put(own, queue, epoch, visits, n, deadline_ms, message));
}

static enum usher_status callout_read(struct usher_history *h,
                                      const struct usher_history_query *query, int64_t deadline_ms,
                                      usher_history_fn *fn, void *payload, char message[192])
{
    struct usher__inside here;
    struct usher_history *own = enter(&here, h);

    return leave(&here, own->ops->read(own, query, deadline_ms, fn, payload, message));
}

static void callout_close(struct usher_history *h)
{
    struct usher__inside here;
    struct usher_history *own = enter(&here, h);

    own->ops->close(own);
    usher__callout_end(&here);
}

static void callout_forget(struct usher_history *h)
{
    struct usher_history *own = archive_of(h)->own;

    own->ops->forget(own);
}

/* ---- queues that were met ------------------------------------------------------------- */

static struct usher__archive *create(struct usher_engine *e, struct usher_history *own)
{
    const struct usher_allocator *alloc = e->opt.alloc;
    struct usher__archive *a = usher__resize(alloc, NULL, 0, sizeof *a);
    const struct usher_history_ops *of = own->ops;

    if (a == NULL)
        return NULL;
    memset(a, 0, sizeof *a);
    a->alloc = alloc;
    if (pthread_mutex_init(&a->lock, NULL) != 0) {
        (void)usher__resize(alloc, a, sizeof *a, 0);
        return NULL;
    }
    a->ops = (struct usher_history_ops){
        .size = sizeof a->ops,
        .name = of->name,
        .put = callout_put,
        .read = of->read != NULL ? callout_read : NULL,
        .close = callout_close,
        .forget = of->forget != NULL ? callout_forget : NULL,
    };
    a->base.ops = &a->ops;
    a->own = own;
    a->e = e;
    e->history = &a->base;
    return a;
}

static void destroy(struct usher__archive *a)
{
    for (size_t i = 0; i < BUCKETS; i++)
        while (a->buckets[i] != NULL) {
            struct met *m = a->buckets[i];

            a->buckets[i] = m->next;
            (void)usher__resize(a->alloc, m, sizeof *m + m->size, 0);
        }
    (void)pthread_mutex_destroy(&a->lock);
    (void)usher__resize(a->alloc, a, sizeof *a, 0);
}

/* Find the entry of @queue, under the lock.  NULL: none, or with @make no memory. */
static struct met *met_find(struct usher__archive *a, const struct usher_text *queue, bool make)
{
    uint32_t h = usher__text_hash(USHER__HASH, queue);
    struct met *m;

    for (m = a->buckets[h % BUCKETS]; m != NULL; m = m->next)
        if (m->size == queue->size && memcmp(m->name, queue->data, m->size) == 0)
            return m;
    if (!make)
        return NULL;
    m = usher__resize(a->alloc, NULL, 0, sizeof *m + queue->size);
    if (m != NULL) {
        memset(m, 0, sizeof *m);
        m->size = queue->size;
        memcpy(m->name, queue->data, m->size);
        m->next = a->buckets[h % BUCKETS];
        a->buckets[h % BUCKETS] = m;
    }
    return m;
}

/* Mark, under the lock, that this thread moves its visits.  Later visits are a change again. */
static void met_take(struct met *m)
{
    m->busy = true;
    m->changed = false;
}

static bool of_queue(const struct usher_operation *command)
{
    return (unsigned)command->verb >> 8 == USHER_QUEUE && command->scope.data != NULL;
}

static bool first_seen(struct usher_engine *e, const struct usher_operation *command)
{
    bool known;

    if (command->scope.data == NULL)
        return false;
    (void)pthread_mutex_lock(&e->archive->lock);
    known = met_find(e->archive, &command->scope, false) != NULL;
    (void)pthread_mutex_unlock(&e->archive->lock);
    return !known;
}

/* ---- moving --------------------------------------------------------------------------- */

/* One move, of one or more pages. */
struct move {
    struct usher_engine *e;
    struct usher_text queue;
    int64_t deadline_ms; /* of the store */
    int64_t wait_ms;     /* time of the history for each page */
    uint64_t epoch, version;
    uint64_t moved;
    char why[192];
};

static void command_init(const struct move *m, struct usher_operation *c, enum usher_verb verb)
{
    memset(c, 0, sizeof *c);
    c->verb = verb;
    c->scope = m->queue;
}

/* Execute only @c on the store. */
static enum usher_status run(struct move *m, const struct usher_operation *c,
                             struct usher_result *r)
{
    usher__engine_execute(m->e, c, r, m->e->waits ? m->deadline_ms : 0);
    m->epoch = r->epoch;
    m->version = r->version;
    if (r->status >= USHER_INVALID)
        (void)snprintf(m->why, sizeof m->why, "%.190s",
                       r->message[0] != '\0' ? r->message : usher_status_text(r->status));
    return r->status;
}

/* Change the setting, so that the store drops visits only by `drain`. */
static enum usher_status keep_all(struct move *m, const struct usher_operation *like)
{
    struct usher_operation c;
    struct usher_result r;
    enum usher_status status;

    command_init(m, &c, USHER_QUEUE_SET);
    c.given = like->given & USHER_GIVEN_NOW;
    c.now_ms = like->now_ms;
    status = run(m, &c, &r);
    usher_result_done(&r); /* the reason of the mode is a row */
    if (status != USHER_OK || r.of.queue.of.settings.archive != 0)
        return status;
    c.given |= USHER_GIVEN_QUEUE_ARCHIVE;
    c.arg.queue.archive = USHER_QUEUE_ARCHIVE_DEFAULT;
    status = run(m, &c, &r);
    usher_result_done(&r);
    return status == USHER_SAME ? USHER_OK : status;
}

/* Put the visits of @r into the history; @c gets the last of them. */
static enum usher_status put(struct move *m, const struct usher_result *r,
                             struct usher_operation *c)
{
    struct usher_history *h = m->e->history;
    const struct usher_queue_result *q = &r->of.queue;
    int64_t deadline_ms = usher__monotonic_ms() + m->wait_ms;
    enum usher_status status =
        h->ops->put(h, &m->queue, r->epoch, q->rows, q->n_rows, deadline_ms, m->why);

    if (status != USHER_OK)
        return status;
    c->given = USHER_GIVEN_QUEUE_MAX | USHER_GIVEN_QUEUE_TOKEN | USHER_GIVEN_QUEUE_UNTIL;
    c->arg.queue.token = q->rows[q->n_rows - 1].version;
    c->arg.queue.until_ms = 0;
    for (size_t i = 0; i < q->n_rows; i++)
        if (q->rows[i].until_ms > c->arg.queue.until_ms)
            c->arg.queue.until_ms = q->rows[i].until_ms;
    return USHER_OK;
}

/* Move all visits.  Return USHER_OK, USHER_MISSING (no such queue), or a failure, with m->why. */
static enum usher_status move_all(struct move *m)
{
    struct usher_operation c;

    command_init(m, &c, USHER_QUEUE_DRAIN);
    c.given = USHER_GIVEN_QUEUE_MAX;
    c.arg.queue.max = PAGE;
    for (;;) {
        struct usher_result r;
        enum usher_status status = run(m, &c, &r);

        m->moved += status == USHER_OK ? r.of.queue.count : 0;
        if (status == USHER_OK && r.of.queue.n_rows > 0)
            status = put(m, &r, &c);
        else if (status == USHER_OK)
            status = USHER_SAME;
        usher_result_done(&r);
        if (status != USHER_OK)
            return status == USHER_SAME ? USHER_OK : status;
        if (m->deadline_ms <= usher__monotonic_ms()) {
            (void)snprintf(m->why, sizeof m->why, "timed out: not all ended visits were moved");
            return USHER_UNAVAILABLE;
        }
    }
}

/* Without a lock; @entry belongs to this thread (busy).  @like: has the time. */
static enum usher_status move_queue(struct move *m, struct met *entry,
                                    const struct usher_operation *like)
{
    struct usher__archive *a = m->e->archive;
    uint64_t epoch = 0;
    enum usher_status status = USHER_OK;

    if (like != NULL && (entry->epoch == 0 || entry->epoch != m->epoch)) {
        status = keep_all(m, like);
        epoch = status == USHER_OK ? m->epoch : 0;
    }
    if (status == USHER_OK)
        status = move_all(m);
    (void)pthread_mutex_lock(&a->lock);
    if (epoch != 0)
        entry->epoch = epoch;
    if (status == USHER_OK) {
        entry->version = m->version;
        a->failed_ms = 0;
    } else if (status >= USHER_INVALID) {
        entry->changed = true;
    }
    entry->at_ms = usher__monotonic_ms();
    entry->busy = false;
    (void)pthread_mutex_unlock(&a->lock);
    return status;
}

/* Log a failed move after a command, the first time. */
static void failed(struct usher_engine *e, const struct move *m, enum usher_status status)
{
    struct usher__archive *a = e->archive;
    bool first;

    (void)pthread_mutex_lock(&a->lock);
    first = a->failed_ms == 0;
    a->failed_ms = usher__monotonic_ms();
    (void)pthread_mutex_unlock(&a->lock);
    if (first) {
        char line[320];

        (void)snprintf(line, sizeof line,
                       "history: %.180s; ended visits stay in the store until it takes them",
                       m->why[0] != '\0' ? m->why : usher_status_text(status));
        usher__engine_log(e, USHER_LOG_WARNING, line);
    }
}

/* Read @reply to @command, and return the entry of its queue if it has to be moved now. */
static struct met *look(struct usher__archive *a, const struct usher_operation *command,
                        const struct usher_result *reply)
{
    bool urgent = command->verb == USHER_QUEUE_APPLY && reply->status == USHER_FULL &&
                  reply->of.queue.why == USHER_QUEUE_WHY_HISTORY;
    int64_t now;
    struct met *m;

    (void)pthread_mutex_lock(&a->lock);
    m = met_find(a, &command->scope, true);
    if (m == NULL || m->busy) {
        if (m != NULL)
            m->changed = true;
        m = NULL;
    } else {
        m->changed = m->changed || m->epoch != reply->epoch || reply->version > m->version;
        if (m->changed || urgent) {
            now = usher__monotonic_ms();
            if (a->failed_ms != 0 && now - a->failed_ms < EVERY_MS)
                m = NULL;
            else if (!urgent && m->epoch == reply->epoch && now - m->at_ms < EVERY_MS)
                m = NULL;
        } else {
            m = NULL;
        }
        if (m != NULL)
            met_take(m);
    }
    (void)pthread_mutex_unlock(&a->lock);
    return m;
}

/* Add the end of @visit, the last one of its user, to an answer. */
static enum usher_status end_add(void *payload, const struct usher_queue_result_row *visit,
                                 int64_t place)
{
    struct usher_result *r = payload;
    struct usher_queue_result *q = &r->of.queue;

    (void)place;
    if (visit->state == USHER_QUEUE_OUTCOME_REQUEUED) { /* the user waited again */
        q->why = USHER_QUEUE_WHY_LOST;
        return USHER_OK;
    }
    q->why = USHER_QUEUE_WHY_NONE;
    q->outcome = (enum usher_queue_outcome)visit->state;
    q->until_ms = visit->until_ms;
    q->token = visit->epoch == 0 || visit->epoch == r->epoch ? visit->token : 0;
    q->agent_size = visit->agent.size;
    if (visit->agent.size != 0)
        memcpy(q->agent, visit->agent.data, visit->agent.size);
    q->agent[q->agent_size] = '\0';
    return USHER_OK;
}

/* Look in the history for the last visit of a user that the queue does not keep.  Without a history
 * that answers, the answer stays as it is. */
static void end_find(struct usher_engine *e, const struct usher_operation *command,
                     struct usher_result *r, int64_t deadline_ms)
{
    struct usher_history *h = e->history;
    struct usher_history_query query = {
        .queue = command->scope, .user = command->arg.queue.user, .until_ms = INT64_MAX, .max = 1
    };
    char why[192] = "";

    if (r->status == USHER_MISSING && query.user.data != NULL && h->ops->read != NULL &&
        r->of.queue.outcome == USHER_QUEUE_OUTCOME_NONE &&
        (command->verb == USHER_QUEUE_WHERE || command->verb == USHER_QUEUE_ALIVE ||
         command->verb == USHER_QUEUE_LEAVE))
        (void)h->ops->read(h, &query, deadline_ms, end_add, r, why);
}

static void after(struct usher_engine *e, const struct usher_operation *commands,
                  struct usher_result *replies, size_t n, int64_t deadline_ms)
{
    for (size_t i = 0; i < n; i++) {
        struct usher_result *r = &replies[i];
        struct move m = { .e = e };
        struct met *entry;
        enum usher_status status;

        if (!of_queue(&commands[i]) || r->epoch == 0 || r->status >= USHER_INVALID)
            continue;
        end_find(e, &commands[i], r, deadline_ms);
        if (i + 1 < n && r->status != USHER_FULL && of_queue(&commands[i + 1]) &&
            usher__text_equal(&commands[i].scope, &commands[i + 1].scope))
            continue; /* a later command of the queue follows */
        entry = look(e->archive, &commands[i], r);
        if (entry == NULL)
            continue;
        m.queue = commands[i].scope;
        m.deadline_ms = deadline_ms;
        m.wait_ms = WAIT_MS;
        m.epoch = r->epoch;
        status = move_queue(&m, entry, &commands[i]);
        if (status >= USHER_INVALID)
            failed(e, &m, status);
        if (m.moved > 0 && r->status == USHER_FULL && r->of.queue.why == USHER_QUEUE_WHY_HISTORY) {
            usher_result_done(r); /* there is space for it now */
            usher__engine_execute(e, &commands[i], r, e->waits ? deadline_ms : 0);
        }
    }
}

static void finish(struct usher_engine *e)
{
    struct usher__archive *a = e->archive;
    int64_t deadline_ms = usher__monotonic_ms() + e->timeout_ms;

    for (size_t i = 0; i < BUCKETS; i++)
        for (struct met *entry = a->buckets[i]; entry != NULL; entry = entry->next) {
            struct move m = { .e = e };
            enum usher_status status;

            if (!entry->changed)
                continue;
            met_take(entry);
            m.queue.data = entry->name;
            m.queue.size = entry->size;
            m.deadline_ms = deadline_ms;
            m.wait_ms = e->timeout_ms;
            status = move_queue(&m, entry, NULL);
            if (status >= USHER_INVALID) {
                failed(e, &m, status);
                return;
            }
        }
}

/* ---- drain and history ---------------------------------------------------------------- */

static bool owns(const struct usher_engine *e, const struct usher_operation *command)
{
    if (command->verb == USHER_QUEUE_HISTORY)
        return e->history != NULL || e->store->ops->read_log != NULL;
    return e->history != NULL && command->verb == USHER_QUEUE_DRAIN &&
           (command->given & ~(uint64_t)USHER_GIVEN_NOW) == 0;
}

static void fail(struct usher_result *reply, enum usher_status status, const char *why)
{
    char line[192];

    (void)snprintf(line, sizeof line, "history: %.180s",
                   why[0] != '\0' ? why : usher_status_text(status));
    usher_result_done(reply);
    usher_result_fail(reply, status == USHER_NOMEM ? status : USHER_UNAVAILABLE, line);
}

static void drain(struct usher_engine *e, const struct usher_operation *command,
                  struct usher_result *reply, int64_t deadline_ms)
{
    struct usher__archive *a = e->archive;
    struct move m = { .e = e, .queue = command->scope };
    struct usher_operation c;
    struct met *entry;
    enum usher_status status;

    m.deadline_ms = deadline_ms;
    m.wait_ms = deadline_ms - usher__monotonic_ms();
    /* check that it exists */
    command_init(&m, &c, USHER_QUEUE_DRAIN);
    c.given = USHER_GIVEN_QUEUE_MAX;
    c.arg.queue.max = 1;
    usher__engine_execute(e, &c, reply, e->waits ? m.deadline_ms : 0);
    if (reply->epoch == 0 || reply->status >= USHER_INVALID)
        return;
    m.epoch = reply->epoch;
    (void)pthread_mutex_lock(&a->lock);
    entry = met_find(a, &command->scope, true);
    if (entry != NULL && entry->busy)
        entry = NULL; /* two threads do no harm */
    else if (entry != NULL)
        met_take(entry);
    (void)pthread_mutex_unlock(&a->lock);
    status = entry != NULL ? move_queue(&m, entry, command) : move_all(&m);
    usher_result_done(reply);
    usher_result_fail(reply, USHER_OK, "");
    reply->epoch = m.epoch;
    reply->version = m.version;
    reply->of.queue.count = m.moved;
    reply->of.queue.more = status >= USHER_INVALID;
    reply->status = status != USHER_OK ? status : m.moved > 0 ? USHER_OK : USHER_SAME;
    if (status >= USHER_INVALID)
        fail(reply, status, m.why);
}

/* Rows of the history after those of the store. */
struct reading {
    struct usher_result *reply;
    size_t left;
    int64_t last; /* place of the last row sent; 0: none */
    bool more;
};

static enum usher_status add(void *payload, const struct usher_queue_result_row *visit,
                             int64_t place)
{
    struct reading *r = payload;

    if (r->left == 0) {
        r->more = true;
        return USHER_OK;
    }
    r->left--;
    r->last = place;
    return usher_result_add_row(r->reply, USHER_QUEUE, visit);
}

static enum usher_status add_logged(void *payload, const void *row, int64_t place)
{
    return add(payload, row, place);
}

/* Read the engine's history, or else the one in its store. */
static enum usher_status read_visits(struct usher_engine *e,
                                     const struct usher_history_query *query, int64_t deadline_ms,
                                     struct reading *reading, char why[192])
{
    struct usher_history *h = e->history;

    if (h == NULL)
        return e->store->ops->read_log(e->store, USHER_QUEUE, query, deadline_ms, add_logged,
                                       reading, why);
    return h->ops->read != NULL ? h->ops->read(h, query, deadline_ms, add, reading, why) : USHER_OK;
}

/* Read the end of a page.  "0.VERSION": in the store; "1.PLACE.VERSION": in the history, after the
 * visits of the store down to VERSION (0: none).  Return false if it is neither. */
static bool after_read(const struct usher_text *after, bool *ret_there, int64_t *ret_place,
                       uint64_t *ret_version)
{
    uint64_t part[3] = { 0, 0, 0 };
    size_t last = 0, digits = 0;

    for (size_t i = 0; i < after->size; i++) {
        char c = after->data[i];

        if (c == '.' && digits > 0 && last < 2) {
            last++;
            digits = 0;
        } else if (c >= '0' && c <= '9' && digits < 16) {
            part[last] = part[last] * 10 + (unsigned)(c - '0');
            digits++;
        } else {
            return false;
        }
    }
    *ret_there = part[0] == 1;
    *ret_place = *ret_there ? (int64_t)part[1] : 0;
    *ret_version = part[last];
    return digits > 0 && part[0] <= 1 && last == part[0] + 1;
}

static void history(struct usher_engine *e, const struct usher_operation *command,
                    struct usher_result *reply, int64_t deadline_ms)
{
    const struct usher_queue_args *g = &command->arg.queue;
    struct usher_queue_result *q = &reply->of.queue;
    struct usher_history_query query = { .queue = command->scope, .until_ms = INT64_MAX };
    struct usher_operation c = *command;
    struct reading reading = { .reply = reply };
    char why[192] = "";
    bool there = false;
    enum usher_status status;

    if (!after_read(&g->after, &there, &query.before, &query.version))
        there = false;
    if (there) { /* all rows of the store are sent */
        c.arg.queue.after.data = "0.1";
        c.arg.queue.after.size = 3;
    }
    usher__engine_execute(e, &c, reply, e->waits ? deadline_ms : 0);
    if (reply->status >= USHER_INVALID || q->more)
        return;
    query.user = g->user;
    query.agent = g->agent;
    if ((command->given & USHER_GIVEN_QUEUE_SINCE) != 0)
        query.since_ms = g->since_ms;
    if ((command->given & USHER_GIVEN_QUEUE_UNTIL) != 0)
        query.until_ms = g->until_ms;
    reading.left =
        (command->given & USHER_GIVEN_QUEUE_MAX) != 0 ? (size_t)g->max : USHER_LIST_DEFAULT;
    reading.left -= q->n_rows;
    query.max = reading.left + 1;
    /* The visits that were read from the store are in the history, or may be by now.  Each page of
     * the history leaves them out: in a range of time they may come late, if the clock was set
     * back. */
    query.epoch = reply->epoch;
    if (q->n_rows > 0)
        query.version = q->rows[q->n_rows - 1].version;
    status = read_visits(e, &query, deadline_ms, &reading, why);
    if (status != USHER_OK) {
        fail(reply, status, why);
        return;
    }
    if (reading.more) {
        q->more = true;
        q->agent_size =
            (size_t)(reading.last != 0
                         ? snprintf(q->agent, sizeof q->agent, "1.%" PRId64 ".%" PRIu64,
                                    reading.last, query.version)
                         : snprintf(q->agent, sizeof q->agent, "0.%" PRIu64, query.version));
    }
    if (reply->status == USHER_MISSING && (there || q->n_rows > 0))
        reply->status = USHER_OK; /* it existed before */
}

static void execute(struct usher_engine *e, const struct usher_operation *command,
                    struct usher_result *reply, int64_t deadline_ms)
{
    if (command->verb == USHER_QUEUE_HISTORY)
        history(e, command, reply, deadline_ms);
    else
        drain(e, command, reply, deadline_ms);
}

const struct usher__archive_ops usher__queue_archive = {
    .create = create,
    .destroy = destroy,
    .owns = owns,
    .execute = execute,
    .first_seen = first_seen,
    .after = after,
    .finish = finish,
};
