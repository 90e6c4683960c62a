/* SPDX-License-Identifier: MIT */
/*
 * A store made of a record store: runs the steps of each noun inside its transactions.
 *
 * A batch is one transaction.  When it fails, whatever the reason, it is rolled back and
 * its commands are tried again one by one, each in a transaction of its own, so that one
 * command that cannot be applied does not fail the others.
 */
#include "config.h"

#include <usher/store/store.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "core/text.h"
#include "core/verbs.h"
#include "engine/clock.h"
#include "engine/scopes.h"
#include "change/validate.h"
#include "change/memory.h"
#include "engine/store_info.h"
#include "change/work.h"

/* Without this each command costs several calls. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

struct local {
    struct usher_store base;
    struct usher_store_ops ops;
    struct usher_record_store *records;
    const struct usher_allocator *alloc;
    struct usher_record_store_ops
        guarded; /* for validate.h; size 0: no other program can write to it */
};

/* Notices of changes that are not durable yet: sent after the commit, forgotten after a
 * rollback. */
struct pending {
    const struct usher_allocator *alloc;
    const struct usher_context *context;
    char *bytes;
    size_t size, room;
    bool dropped;
};

/* Return the size of a notice with its texts, aligned like the struct. */
static size_t packed_size(const struct usher_notice *n)
{
    size_t size = sizeof *n + n->scope.size + n->subject.size + n->owner.size + n->data.size;

    return (size + sizeof(int64_t) - 1) / sizeof(int64_t) * sizeof(int64_t);
}

static void pending_add(void *payload, const struct usher_notice *n)
{
    struct pending *p = payload;
    size_t need = packed_size(n);
    struct usher_notice copy = *n;
    char *at;

    if (p->room - p->size < need) {
        size_t room = (p->room + need) * 2;
        char *bytes = usher__resize(p->alloc, p->bytes, p->room, room);

        if (bytes == NULL) {
            p->dropped = true;
            return;
        }
        p->bytes = bytes;
        p->room = room;
    }
    USHER_ASSERT(p->room - p->size >= need && need % sizeof(int64_t) == 0);
    at = p->bytes + p->size;
    p->size += need;
    memcpy(at, &copy, sizeof copy);
    at += sizeof copy;
    memcpy(at, n->scope.data, n->scope.size);
    at += n->scope.size;
    if (n->subject.size != 0)
        memcpy(at, n->subject.data, n->subject.size);
    at += n->subject.size;
    if (n->owner.size != 0)
        memcpy(at, n->owner.data, n->owner.size);
    at += n->owner.size;
    if (n->data.size != 0)
        memcpy(at, n->data.data, n->data.size);
}

static void pending_tell(struct pending *p)
{
    for (size_t i = 0; i < p->size;) {
        struct usher_notice n;
        const char *texts = p->bytes + i + sizeof n;

        memcpy(&n, p->bytes + i, sizeof n);
        i += packed_size(&n);
        USHER_ASSERT(i <= p->size);
        n.scope.data = texts;
        n.subject.data = texts + n.scope.size;
        n.owner.data = n.subject.data + n.subject.size;
        n.data.data = n.owner.data + n.owner.size;
        p->context->notify(p->context->payload, &n);
    }
    if (p->dropped) {
        const struct usher_notice any = { .noun = (enum usher_noun)0 };

        p->context->notify(p->context->payload, &any);
        if (p->context->log != NULL)
            p->context->log(p->context->payload, USHER_LOG_WARNING,
                            "out of memory: notices were dropped");
    }
}

/* Never 0, which means a scope that does not exist. */
static uint64_t new_epoch(const void *salt)
{
    uint64_t epoch = 0;
    struct timespec ts;

    if (getrandom(&epoch, sizeof epoch, GRND_NONBLOCK) != (ssize_t)sizeof epoch) {
        (void)clock_gettime(CLOCK_REALTIME, &ts);
        epoch = ((uint64_t)ts.tv_sec * UINT64_C(1000000000) + (uint64_t)ts.tv_nsec) *
                    UINT64_C(0x9e3779b97f4a7c15) ^
                (uint64_t)(uintptr_t)salt;
    }
    return epoch != 0 ? epoch : 1;
}

/* The machine's clock is read once in a transaction, and not at all if no command needs it. */
ALWAYS_INLINE int64_t wall_of(struct usher__work *w)
{
    if (w->wall == 0)
        w->wall = usher__wall_ms();
    return w->wall;
}

/* Read the time of the command, and that of the store's clock; with `clock=given` they are the
 * same. */
ALWAYS_INLINE void clocks_read(struct usher__work *w, const struct usher_operation *command)
{
    const struct usher_context *context = w->context;

    w->said = (command->given & USHER_GIVEN_NOW) != 0 ? command->now_ms
              : context->now_ms != 0                  ? context->now_ms
                                                      : wall_of(w);
    w->clock = context->skew_ms < USHER_TIME_MAX ? wall_of(w) : w->said;
}

ALWAYS_INLINE bool same_scope(const struct usher_operation *a, const struct usher_operation *b)
{
    return (unsigned)a->verb >> 8 == (unsigned)b->verb >> 8 && a->scope.size == b->scope.size &&
           (a->scope.data == b->scope.data || usher__text_equal(&a->scope, &b->scope));
}

static enum usher_status scope_load(struct usher__work *w, const struct usher_operation *command)
{
    enum usher_status status;

    w->scope.name = command->scope;
    w->scope.noun = (uint8_t)((unsigned)command->verb >> 8);
    w->steps = usher__steps(w->scope.noun);
    status = w->ops->scope(w->txn, (enum usher_noun)w->scope.noun, &command->scope, &w->scope);
    w->scope.erase = false;
    w->due_stored = w->scope.due_ms;
    if (status != USHER_MISSING)
        return status;
    usher__scope_fresh(w);
    return USHER_OK;
}

ALWAYS_INLINE void work_begin(struct usher__work *w, const struct local *l,
                              struct usher__validator *g, struct usher_txn *txn,
                              const struct usher_context *context)
{
    w->ops = l->records->ops;
    w->txn = txn;
    w->guarded = l->guarded.size != 0;
    if (w->guarded) {
        g->ops = w->ops;
        g->txn = txn;
        w->ops = &l->guarded;
        w->txn = (struct usher_txn *)(void *)g;
    }
    w->identity = l->records->ops->identity != NULL ? l->records->ops->identity(l->records) : 0;
    w->stored = 0;
    w->context = context;
    w->trouble = g->fault;
    w->command = NULL;
    w->grave = NULL;
    w->hidden = false;
    w->wall = 0;
    w->behind = false;
    w->at_once = (l->records->ops->caps & USHER_CAP_AT_ONCE) != 0;
    w->answer = NULL;
    w->answer_size = 0;
    w->n_buffers = 0;
    memset(w->buffer, 0, sizeof w->buffer);
    memset(w->buffer_size, 0, sizeof w->buffer_size);
}

ALWAYS_INLINE void work_end(struct usher__work *w, const struct local *l)
{
    if (w->answer != NULL)
        (void)usher__resize(l->alloc, w->answer, w->answer_size, 0);
    for (size_t i = 0; i < w->n_buffers; i++)
        if (w->buffer[i] != NULL)
            (void)usher__resize(l->alloc, w->buffer[i], w->buffer_size[i], 0);
}

/* Refuse a time that would put the scope's last time far ahead, because that never goes back. */
static void time_refused(const struct usher__work *w)
{
    char line[192];
    int64_t skew_ms = w->context->skew_ms;

    (void)snprintf(line, sizeof line,
                   "now is %" PRId64 " ms ahead of the store's clock and may be %" PRId64
                   " (skew=; for virtual time: clock=given)",
                   w->said - w->clock, skew_ms);
    usher_result_fail(w->reply, USHER_INVALID, line);
}

/* Run one command inside a transaction; the scope of the last one is loaded already.  A failure of
 * the store is returned, not answered. */
static enum usher_status run(struct usher__work *w, struct usher_task *task)
{
    const struct usher_operation *command = task->command;
    unsigned flags = usher__verb((unsigned)command->verb)->flags;
    enum usher_status status;

    if (w->command == NULL || w->hidden || !same_scope(w->command, command)) {
        status = scope_load(w, command);
        if (status != USHER_OK)
            return status;
        w->fault = w->guarded && w->scope.ref != NULL ? w->steps->scope_fault(&w->scope) : NULL;
        USHER_ASSERT(w->scope.ref == NULL || w->guarded ||
                     w->steps->scope_fault(&w->scope) == NULL);
        usher__scope_loaded(w);
        usher__tombstone_loaded(w);
    }
    w->command = command;
    w->reply = task->reply;
    w->gap_to = 0;
    clocks_read(w, command);
    if (w->fault != NULL) {
        char line[96];

        (void)snprintf(line, sizeof line, "the store is damaged: %s", w->fault);
        usher_result_fail(w->reply, USHER_UNAVAILABLE, line);
        return USHER_OK;
    }
    /* A time that the scope has had already does no harm. */
    if (w->said - w->clock > w->context->skew_ms && w->said > w->scope.clock_ms) {
        time_refused(w);
        return USHER_OK;
    }
    if (usher__tombstone_blocks(w)) {
        bool done;

        status = usher__tombstone_answer(w, &done);
        if (status != USHER_OK || done)
            return status;
    }
    if (w->scope.ref != NULL) {
        w->reply->epoch = w->scope.epoch;
        w->reply->version = usher__scope_public_version(w);
        usher__work_time(w, w->scope.clock_ms);
    } else {
        usher__work_time(w, 0);
        if ((flags & USHER__CREATES) != 0)
            w->scope.epoch = new_epoch(w);
    }
    status = w->steps->run(w);
    if (w->trouble[0] != '\0')
        return USHER_UNAVAILABLE;
    if (status == USHER_OK && (flags & USHER__WRITES) != 0 && usher__due_moved(w))
        status = usher__due_store(w);
    if (status == USHER_OK && w->reply->status < USHER_INVALID) {
        w->reply->due_ms = w->scope.due_ms;
        w->reply->now_ms = usher__work_answered(w);
    }
    return status;
}

static void failed(struct local *l, struct usher_task *task, enum usher_status status,
                   const struct usher__validator *g)
{
    const char *why = g->fault[0] != '\0' ? g->fault : l->records->ops->message(l->records);
    char line[192];

    (void)snprintf(line, sizeof line, "%s: %s", l->records->ops->name,
                   why[0] != '\0' ? why : usher_status_text(status));
    usher_result_fail(task->reply, status, line);
}

static bool any_writes(const struct usher_task *tasks, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((usher__verb((unsigned)tasks[i].command->verb)->flags & USHER__WRITES) != 0)
            return true;
    return false;
}

/* Run all *@n tasks in one transaction, and those that come while it writes.  On OK all are
 * answered. */
static enum usher_status batch(struct local *l, struct usher_task *tasks, size_t *n,
                               const struct usher_context *context, struct usher__validator *g)
{
    bool writes = any_writes(tasks, *n);
    const struct usher_record_store_ops *ops = l->records->ops;
    struct usher_context inner = *context;
    struct pending pending = { l->alloc, context, NULL, 0, 0, false };
    struct usher_txn *txn;
    enum usher_status status;

    g->fault[0] = '\0';
    if (context->notify != NULL) {
        inner.notify = pending_add;
        inner.payload = &pending;
        inner.log = NULL;
    }
    status = ops->begin(l->records, (enum usher_noun)0, NULL, writes, context->deadline_ms, &txn);
    if (status == USHER_OK) {
        struct usher__work w;
        size_t more = *n;

        work_begin(&w, l, g, txn, &inner);
        for (size_t i = 0; more > 0 && status == USHER_OK;) {
            while (i < *n && status == USHER_OK) {
                w.wall = 0;
                status = run(&w, &tasks[i++]);
            }
            more = status == USHER_OK && writes && context->more != NULL
                       ? context->more(context->payload)
                       : 0;
            *n += more;
        }
        if (status == USHER_OK)
            status = ops->commit(txn);
        else
            ops->rollback(txn);
        work_end(&w, l);
    }
    if (status == USHER_OK && context->notify != NULL)
        pending_tell(&pending);
    (void)usher__resize(l->alloc, pending.bytes, pending.room, 0);
    return status;
}

static void execute(struct usher_store *s, struct usher_task *tasks, size_t n,
                    const struct usher_context *context)
{
    struct local *l = (struct local *)s;
    struct usher__validator g;
    enum usher_status status = batch(l, tasks, &n, context, &g);
    struct usher_context single = *context;

    if (status == USHER_OK)
        return;
    single.more = NULL;
    /* After a commit that may have happened, trying again might apply commands twice. */
    for (size_t i = 0; i < n; i++) {
        if (n > 1 && status != USHER_UNKNOWN) {
            enum usher_status alone;
            size_t one = 1;

            usher_result_fail(tasks[i].reply, USHER_OK, "");
            alone = batch(l, &tasks[i], &one, &single, &g);
            if (alone != USHER_OK)
                failed(l, &tasks[i], alone, &g);
        } else {
            failed(l, &tasks[i], status, &g);
        }
    }
}

/* The maximum number of commands on one scope in a transaction, because others wait for its
 * lock. */
#define SHARE_MAX 64
/* The number of later commands for which the store gets a hint. */
#define AHEAD 4

/* Give the store a hint of the record that @command will read, most likely of the scope of @w. */
static void expect(const struct usher__work *w, const struct usher_operation *command)
{
    const struct usher__steps *steps = w->steps;
    struct usher_text id;

    if (steps->sought_at == 0 || w->scope.ref == NULL ||
        (unsigned)command->verb >> 8 != w->scope.noun)
        return;
    memcpy(&id, (const char *)command + steps->sought_at, sizeof id);
    if (id.data != NULL)
        w->ops->expect(w->txn, &w->scope, steps->sought_kind, &id);
}

/* Run tasks from the first on in one transaction, as many as may share it.  Return their count.
 * The last argument is the member of the same name of `struct usher__work`. */
ALWAYS_INLINE size_t share(struct local *l, struct usher_task *tasks, size_t n,
                           const struct usher_context *context, bool *behind)
{
    const struct usher_record_store_ops *ops = l->records->ops;
    const struct usher_operation *first = tasks->command;
    struct usher_txn *txn;
    struct usher__validator g;
    struct usher__work w;
    size_t done = 0, failed_from = 0;
    enum usher_status status = ops->begin(l->records, (enum usher_noun)((unsigned)first->verb >> 8),
                                          &first->scope, true, context->deadline_ms, &txn);

    g.fault[0] = '\0';
    if (status == USHER_OK) {
        work_begin(&w, l, &g, txn, context);
        w.behind = *behind;
        do {
            status = run(&w, &tasks[done++]);
            if (w.ops->expect != NULL && n - done > AHEAD)
                expect(&w, tasks[done + AHEAD].command);
        } while (status == USHER_OK && done < n && done < SHARE_MAX &&
                 same_scope(first, tasks[done].command));
        if (status == USHER_OK) {
            status = ops->commit(txn);
        } else {
            ops->rollback(txn);
            failed_from = done - 1; /* the ones before it were applied */
        }
        *behind = w.behind;
        work_end(&w, l);
    } else {
        done = 1;
    }
    if (status != USHER_OK)
        for (size_t i = failed_from; i < done; i++)
            failed(l, &tasks[i], status, &g);
    return done;
}

/* Execute for stores without rollback: one scope at a time. */
static void execute_each(struct usher_store *s, struct usher_task *tasks, size_t n,
                         const struct usher_context *context)
{
    bool behind = false;

    if (n == 1) /* the most common case, without a loop */
        (void)share((struct local *)s, tasks, 1, context, &behind);
    for (size_t done = 0; n > 1 && done < n;)
        done += share((struct local *)s, tasks + done, n - done, context, &behind);
}

/* The receiver of the items of a scan. */
struct there {
    usher_scan_fn *fn;
    void *payload;
    bool dropped; /* the last scope */
};

/* A dropped scope has no items. */
static enum usher_status show(void *payload, const struct usher_item *item)
{
    struct there *t = payload;

    if (item->kind == USHER_ITEM_SCOPE)
        t->dropped = usher__scope_dropped(item->scope);
    return t->dropped && (item->kind == USHER_ITEM_SCOPE || item->scope == NULL)
               ? USHER_OK
               : t->fn(t->payload, item);
}

static enum usher_status scan(struct usher_store *s, enum usher_noun noun,
                              const struct usher_text *scope, int64_t deadline_ms,
                              usher_scan_fn *fn, void *payload, char message[192])
{
    struct local *l = (struct local *)s;
    struct there there = { fn, payload, false };

    return l->records->ops->scan(l->records, noun, scope, deadline_ms, show, &there, message);
}

/* The receiver of the scopes of a list. */
struct listed {
    struct usher_page *page;
    usher_scan_fn *fn;
    void *payload;
    size_t n; /* scopes of the page so far */
    char last[USHER_CURSOR_MAX + 1];
};

/* Pass a scope on, unless usher_scopes() does not list it.  The one after a full page ends the
 * list. */
static enum usher_status list_one(void *payload, const struct usher_item *item)
{
    struct listed *l = payload;
    const struct usher_scope *s = item->scope;

    if (usher__scope_dropped(s) || !usher__scope_listed(s))
        return USHER_OK;
    if (l->n++ == l->page->max) {
        memcpy(l->page->next, l->last, sizeof l->last);
        return USHER_FULL;
    }
    (void)snprintf(l->last, sizeof l->last, "%s/%.*s", usher_noun_word((enum usher_noun)s->noun),
                   (int)s->name.size, s->name.data);
    return l->fn(l->payload, item);
}

static enum usher_status list(struct usher_store *s, struct usher_page *page, int64_t deadline_ms,
                              usher_scan_fn *fn, void *payload, char message[192])
{
    struct local *l = (struct local *)s;
    struct listed listed = { .page = page, .fn = fn, .payload = payload };
    struct usher_scope after = { .noun = 0 };
    enum usher_status status;
    const char *fault = NULL;
    unsigned noun = 0;

    page->next[0] = '\0';
    if (page->after.size != 0) {
        fault = usher__place_fault(&page->after, &noun, &after.name);
        after.noun = (uint8_t)noun;
    }
    if (fault != NULL) {
        (void)snprintf(message, 192, "after %s", fault);
        return USHER_INVALID;
    }
    status = l->records->ops->list(l->records, page->nouns, noun != 0 ? &after : NULL, deadline_ms,
                                   list_one, &listed, message);
    return status == USHER_FULL ? USHER_OK : status;
}

static enum usher_status nodes(struct usher_store *s, int64_t deadline_ms, usher_node_fn *fn,
                               void *payload, char message[192])
{
    const struct local *l = (const struct local *)s;
    const struct usher_record_store_ops *ops = l->records->ops;
    struct usher_node node;

    (void)deadline_ms;
    message[0] = '\0';
    usher__node_init(&node, ops->name, ops->caps);
    if (ops->identity != NULL)
        node.identity = ops->identity(l->records);
    if (ops->node != NULL)
        ops->node(l->records, &node);
    fn(payload, &node);
    return USHER_OK;
}

static enum usher_status read_log(struct usher_store *s, enum usher_noun noun, const void *which,
                                  int64_t deadline_ms, usher_log_fn *fn, void *payload,
                                  char message[192])
{
    struct local *l = (struct local *)s;

    return l->records->ops->read_log(l->records, noun, which, deadline_ms, fn, payload, message);
}

static void close_local(struct usher_store *s)
{
    struct local *l = (struct local *)s;

    l->records->ops->close(l->records);
    (void)usher__resize(l->alloc, l, sizeof *l, 0);
}

static void forget_local(struct usher_store *s)
{
    struct local *l = (struct local *)s;

    if (l->records->ops->forget != NULL)
        l->records->ops->forget(l->records);
    (void)usher__resize(l->alloc, l, sizeof *l, 0);
}

unsigned usher_kind_flags(enum usher_noun noun, uint8_t kind)
{
    const struct usher__steps *steps = usher__steps((unsigned)noun);
    unsigned flags = 0;

    if (steps == NULL || kind == 0 || kind >= USHER_KINDS)
        return 0;
    if (kind == steps->ranked)
        flags |= USHER_KIND_RANKED;
    if (strchr(steps->listed, '0' + kind) != NULL)
        flags |= USHER_KIND_LISTED;
    if (kind == steps->logged)
        flags |= USHER_KIND_LOGGED;
    return flags;
}

enum usher_status usher_local_store(struct usher_record_store *records,
                                    const struct usher_allocator *alloc,
                                    struct usher_store **ret_store)
{
    const struct usher_record_store_ops *ops;
    struct local *l;

    if (records == NULL || records->ops == NULL || ret_store == NULL)
        return USHER_INVALID;
    ops = records->ops;
    if (ops->size < sizeof *ops || ops->name == NULL || ops->begin == NULL || ops->commit == NULL ||
        ops->rollback == NULL || ops->scope == NULL || ops->find == NULL || ops->walk == NULL ||
        ops->rank == NULL || ops->next == NULL || ops->write == NULL || ops->scan == NULL ||
        ops->list == NULL || ops->message == NULL || ops->close == NULL ||
        (ops->append == NULL) != (ops->read_log == NULL))
        return USHER_INVALID;
    alloc = usher__allocator(alloc);
    l = usher__resize(alloc, NULL, 0, sizeof *l);
    if (l == NULL)
        return USHER_NOMEM;
    memset(l, 0, sizeof *l);
    l->ops.size = sizeof l->ops;
    l->ops.name = ops->name;
    l->ops.caps = ops->caps & ~(unsigned)USHER_CAP_AT_ONCE;
    l->ops.execute = (ops->caps & USHER_CAP_AT_ONCE) != 0 ? execute_each : execute;
    if ((ops->caps & USHER_CAP_THREADS) == 0 && l->ops.execute == execute)
        l->ops.caps |= USHER_CAP_MORE;
    l->ops.scan = scan;
    l->ops.list = list;
    l->ops.nodes = nodes;
    l->ops.close = close_local;
    l->ops.forget = forget_local;
    l->ops.read_log = ops->read_log != NULL ? read_log : NULL;
    if ((ops->caps & (USHER_CAP_DURABLE | USHER_CAP_SHARED)) != 0)
        usher__validator_ops(&l->guarded, ops);
    l->base.ops = &l->ops;
    l->records = records;
    l->alloc = alloc;
    *ret_store = &l->base;
    return USHER_OK;
}
