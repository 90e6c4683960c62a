/* SPDX-License-Identifier: MIT */
/*
 * A batch: its tasks are sent to all servers that have their scopes at the same time, and the tasks
 * of one server do not wait for those of another.
 *
 * begin(), go_on() and leave() do not wait.  execute() does the same steps with poll() in between.
 * In a cluster begin() refreshes the map if necessary; before execute() the engine does so.
 */
#include "config.h"

#include "batch.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <hiredis/hiredis.h>

#include "pipeline.h"

#define CLAIMED "redis: no answer before the deadline: another batch of this engine has the scope"
/* The answer to WAIT can come 100 ms after its timeout (hz 10). */
#define WAIT_BACK_MS 120

/* A node batch: the tasks for one server. */
struct node_batch {
    struct node_batch *next;
    struct usher_task *tasks;
    size_t n;
    enum { ON_ITS_WAY, WITH_REPLICAS, OVER } stage;
    struct usher_wait wait; /* the event that it waits for */
    bool in_loop;           /* that event is in the loop of the batch */
    bool let_go;            /* the locks of its slots were released */
    /* The indexes of copied tasks in the batch; NULL: the tasks are not copies. */
    const uint16_t *where;
    struct usher__redis_pipeline pipeline;
};

struct usher_batch {
    struct usher__redis_store *s;
    struct usher_task *tasks;
    size_t n;
    const struct usher_context *context;
    enum { TO_CLAIM, TO_LOOK, TO_GO, UNDER_WAY } stage;
    bool claimed, partly;                     /* its slots are locked; except those in `let_go` */
    uint64_t let_go[USHER__REDIS_SLOTS / 64]; /* valid if `partly` */
    struct usher__redis_refresh *refresh;     /* NULL: no refresh of the map */
    int loop; /* readable while one of several node batches can continue; or -1 */
    struct node_batch *node_batches;
    struct node_batch one; /* for a batch with one server */
};

/* ---- servers ----------------------------------------------------------------------- */

static void begins(struct usher__redis_node *node)
{
    if (atomic_fetch_add(&node->under_way, 1) == 0)
        atomic_store(&node->heard_ms, usher__redis_clock_ms());
}

static void ends(struct usher__redis_node *node, enum usher_status status)
{
    atomic_store(&node->mute, status == USHER_UNAVAILABLE || status == USHER_UNKNOWN);
    atomic_store(&node->heard_ms, usher__redis_clock_ms());
    atomic_fetch_sub(&node->under_way, 1);
}

static void no_memory(struct usher_task *tasks, size_t n)
{
    for (size_t i = 0; i < n; i++)
        usher_result_fail(tasks[i].reply, USHER_NOMEM, "redis: out of memory");
}

/* ---- replicas ---------------------------------------------------------------------- */

/* Return whether @task was applied and waits for replicas. */
static bool waits(const struct usher_task *task)
{
    return task->command->wait > 0 && task->reply->status < USHER_INVALID;
}

/* Return the timeout of WAIT if @left is left: the answer must arrive before the deadline. */
static int64_t wait_ms(int64_t left)
{
    int64_t back = left / 10 > WAIT_BACK_MS ? left / 10 : WAIT_BACK_MS;

    return left - (back < left / 2 ? back : left / 2);
}

/*
 * Send WAIT for the largest number of replicas that a task requests.  WAIT concerns the commands of
 * its connection and blocks it, so the node batch keeps the connection until the answer arrives.
 * Return false if no task requests replicas, or WAIT cannot be sent.
 */
static bool ask_replicas(const struct node_batch *l, int64_t deadline_ms)
{
    struct usher__redis_conn *conn = l->pipeline.r->conn;
    uint32_t most = 0;
    int64_t ms;

    for (size_t i = 0; i < l->n; i++)
        if (waits(&l->tasks[i]) && l->tasks[i].command->wait > most)
            most = l->tasks[i].command->wait;
    if (most == 0 || !usher__redis_conn_is_connected(conn))
        return false;
    ms = wait_ms(deadline_ms - usher__redis_clock_ms());
    if (ms <= 0)
        return false;
    usher__redis_conn_begin(conn, 3);
    usher__redis_conn_arg_str(conn, "WAIT");
    usher__redis_conn_arg_i64(conn, most);
    usher__redis_conn_arg_i64(conn, ms);
    return usher__redis_conn_flush(conn) == USHER_OK;
}

/* Set the count of replicas from @reply, which may be NULL.  A failure does not change the status
 * of the tasks, because they were applied. */
static void replicas_told(const struct node_batch *l, struct redisReply *reply)
{
    struct usher__redis_conn *conn = l->pipeline.r->conn;
    uint32_t replicas = 0;
    const char *why = "";

    if (reply == NULL) {
        why = usher__redis_conn_message(conn);
        usher__redis_conn_discard(conn);
    } else if (reply->type == REDIS_REPLY_INTEGER && reply->integer >= 0) {
        replicas = reply->integer < UINT32_MAX ? (uint32_t)reply->integer : UINT32_MAX;
    } else {
        why = usher__redis_conn_explain(conn, reply);
    }
    for (size_t i = 0; i < l->n; i++) {
        struct usher_result *to = l->tasks[i].reply;

        if (!waits(&l->tasks[i]))
            continue;
        to->replicas = replicas;
        if (why[0] != '\0' && to->message[0] == '\0')
            (void)snprintf(to->message, sizeof to->message, "%s", why);
    }
    freeReplyObject(reply);
}

/* ---- a node batch --------------------------------------------------------------------- */

static void node_batch_begin(struct node_batch *l, struct usher__redis_store *s,
                             struct usher__redis_node *node, const struct usher_context *context)
{
    struct usher__redis *r = usher__redis_take(s, node);

    l->in_loop = l->let_go = false;
    l->stage = r != NULL ? ON_ITS_WAY : OVER;
    if (r == NULL) {
        no_memory(l->tasks, l->n);
        return;
    }
    begins(node);
    usher__redis_pipeline_begin(&l->pipeline, r, l->tasks, l->n, context);
}

/* The node batch has its answers and does not wait for replicas. */
static void node_batch_over(struct node_batch *l)
{
    usher__redis_give(l->pipeline.r);
    l->stage = OVER;
}

/* Read the answer to WAIT.  Return false if it has not arrived yet. */
static bool node_batch_replicas(struct node_batch *l, int64_t deadline_ms)
{
    struct usher__redis *r = l->pipeline.r;
    struct redisReply *reply = NULL;
    enum usher_status status = usher__redis_conn_next(r->conn, &reply);

    if (status == USHER__REDIS_WAITS && usher__redis_clock_ms() < deadline_ms) {
        usher__redis_wants(r, &l->wait);
        l->wait.until_ms = deadline_ms;
        return false;
    }
    if (status == USHER__REDIS_WAITS)
        (void)usher__redis_conn_late(r->conn);
    replicas_told(l, reply);
    return true;
}

static void node_batch_continue(struct node_batch *l, int64_t deadline_ms)
{
    if (l->stage == ON_ITS_WAY) {
        if (!usher__redis_pipeline_continue(&l->pipeline, &l->wait))
            return;
        ends(l->pipeline.r->node, l->pipeline.status);
        if (!ask_replicas(l, deadline_ms)) {
            node_batch_over(l);
            return;
        }
        l->stage = WITH_REPLICAS;
    }
    if (l->stage == WITH_REPLICAS && node_batch_replicas(l, deadline_ms))
        node_batch_over(l);
}

static void node_batch_release(struct node_batch *l)
{
    if (l->stage == ON_ITS_WAY)
        ends(l->pipeline.r->node, USHER_UNAVAILABLE);
    if (l->stage == OVER)
        return;
    usher__redis_pipeline_release(&l->pipeline);
    node_batch_over(l);
}

/* ---- node batches --------------------------------------------------------------------- */

static size_t node_batch_size(size_t n)
{
    return sizeof(struct node_batch) + n * (sizeof(struct usher_task) + sizeof(uint16_t));
}

/* Make a node batch with copies of the tasks that are not @taken and have the lane of @first.
 * Return NULL without memory; the tasks then have this status. */
static struct node_batch *node_batch_new(struct usher_batch *b, size_t first, bool *taken)
{
    struct node_batch *l;
    struct usher_task *tasks;
    uint16_t *where;
    size_t n = 0;

    for (size_t i = first; i < b->n; i++)
        n += !taken[i] && b->tasks[i].lane == b->tasks[first].lane;
    l = usher__redis_resize(b->s->alloc, NULL, 0, node_batch_size(n));
    tasks = l != NULL ? (struct usher_task *)(void *)(l + 1) : NULL;
    where = l != NULL ? (uint16_t *)(void *)(tasks + n) : NULL;
    for (size_t i = first, k = 0; k < n; i++) {
        if (taken[i] || b->tasks[i].lane != b->tasks[first].lane)
            continue;
        taken[i] = true;
        if (l != NULL) {
            tasks[k] = b->tasks[i];
            where[k] = (uint16_t)i;
        } else {
            no_memory(&b->tasks[i], 1);
        }
        k++;
    }
    if (l == NULL)
        return NULL;
    l->tasks = tasks;
    l->where = where;
    l->n = n;
    return l;
}

static bool one_lane(const struct usher_batch *b)
{
    size_t i = 1;

    while (i < b->n && b->tasks[i].lane == b->tasks[0].lane)
        i++;
    return i >= b->n;
}

static void node_batches_begin(struct usher_batch *b)
{
    struct usher__redis_store *s = b->s;
    bool taken[USHER__REDIS_TASKS_MAX] = { false };
    struct node_batch **end = &b->node_batches;

    if (s->map == NULL || one_lane(b)) {
        b->one.tasks = b->tasks;
        b->one.n = b->n;
        b->one.where = NULL;
        b->one.next = NULL;
        b->node_batches = &b->one;
        node_batch_begin(&b->one, s, s->node[s->map == NULL ? 0 : b->tasks->lane], b->context);
        return;
    }
    for (size_t i = 0; i < b->n; i++) {
        if (taken[i])
            continue;
        *end = node_batch_new(b, i, taken);
        if (*end == NULL)
            continue;
        node_batch_begin(*end, s, s->node[b->tasks[i].lane], b->context);
        end = &(*end)->next;
        *end = NULL;
    }
}

/* The node batches are over: copy their results back. */
static void node_batches_end(struct usher_batch *b)
{
    while (b->node_batches != NULL) {
        struct node_batch *l = b->node_batches;

        b->node_batches = l->next;
        if (l->where == NULL)
            continue;
        for (size_t i = 0; i < l->n; i++)
            b->tasks[l->where[i]] = l->tasks[i];
        (void)usher__redis_resize(b->s->alloc, l, node_batch_size(l->n), 0);
    }
}

/* ---- whose the scopes are ----------------------------------------------------------- */

static void slots_add(uint64_t slots[USHER__REDIS_SLOTS / 64], const struct usher_task *tasks,
                      size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct usher_text *scope = &tasks[i].command->scope;
        unsigned slot = usher__redis_slot_of_tag(scope->data, scope->size);

        slots[slot / 64] |= UINT64_C(1) << (slot % 64);
    }
}

static void release_rest(const struct usher_batch *b)
{
    uint64_t slots[USHER__REDIS_SLOTS / 64] = { 0 };

    slots_add(slots, b->tasks, b->n);
    for (size_t i = 0; i < USHER__REDIS_SLOTS / 64; i++)
        slots[i] &= ~b->let_go[i];
    usher__redis_release_slots(b->s, slots);
}

static void release(struct usher_batch *b)
{
    if (b->claimed && b->partly)
        release_rest(b);
    else if (b->claimed)
        usher__redis_release(b->s, b->tasks, b->n);
    b->claimed = false;
}

/* Release the slots of servers that have answered, while the batch waits for others.  A slot that
 * moves may have tasks at two servers; it is released when both have answered. */
static void release_answered(struct usher_batch *b)
{
    uint64_t slots[USHER__REDIS_SLOTS / 64] = { 0 }, waits_for[USHER__REDIS_SLOTS / 64] = { 0 };
    bool any = false;

    for (struct node_batch *l = b->node_batches; l != NULL; l = l->next)
        if (l->stage == ON_ITS_WAY) {
            slots_add(waits_for, l->tasks, l->n);
        } else if (!l->let_go) {
            slots_add(slots, l->tasks, l->n);
            any = l->let_go = true;
        }
    if (!any)
        return;
    if (!b->partly)
        memset(b->let_go, 0, sizeof b->let_go);
    b->partly = true;
    for (size_t i = 0; i < USHER__REDIS_SLOTS / 64; i++) {
        slots[i] &= ~(waits_for[i] | b->let_go[i]);
        b->let_go[i] |= slots[i];
    }
    usher__redis_release_slots(b->s, slots);
}

/* Continue all node batches.  Return true if all are over. */
static bool node_batches_go_on(struct usher_batch *b)
{
    bool answered = true, some = false, over = true;

    for (struct node_batch *l = b->node_batches; l != NULL; l = l->next) {
        if (l->stage != OVER)
            node_batch_continue(l, b->context->deadline_ms);
        answered = answered && l->stage != ON_ITS_WAY;
        some = some || (l->stage != ON_ITS_WAY && !l->let_go);
        over = over && l->stage == OVER;
    }
    if (answered) /* while the batch waits for replicas, other commands can use the scopes */
        release(b);
    else if (some && b->claimed) /* or while it waits for other servers */
        release_answered(b);
    return over;
}

/* ---- waiting ----------------------------------------------------------------------- */

static void batch_init(struct usher_batch *b, struct usher__redis_store *s,
                       struct usher_task *tasks, size_t n, const struct usher_context *context)
{
    b->s = s;
    b->tasks = tasks;
    b->n = n;
    b->context = context;
    b->claimed = b->partly = false;
    b->refresh = NULL;
    b->loop = -1;
    b->node_batches = NULL;
}

static void wait_for_legs(const struct usher_batch *b)
{
    struct pollfd fds[USHER__REDIS_TASKS_MAX];
    int64_t until_ms = INT64_MAX;
    nfds_t n = 0;

    for (const struct node_batch *l = b->node_batches; l != NULL; l = l->next) {
        if (l->stage == OVER)
            continue;
        fds[n++] = (struct pollfd){ .fd = l->wait.fd, .events = l->wait.events };
        if (l->wait.until_ms < until_ms)
            until_ms = l->wait.until_ms;
    }
    usher__redis_wait_some(fds, n, until_ms);
}

static void execute_some(struct usher__redis_store *s, struct usher_task *tasks, size_t n,
                         const struct usher_context *context)
{
    struct usher_batch b;

    batch_init(&b, s, tasks, n, context);
    if (context->notify != NULL) {
        b.claimed = usher__redis_claim(s, tasks, n, context->deadline_ms);
        if (!b.claimed) {
            for (size_t i = 0; i < n; i++)
                usher_result_fail(tasks[i].reply, USHER_UNAVAILABLE, CLAIMED);
            return;
        }
    }
    node_batches_begin(&b);
    while (!node_batches_go_on(&b))
        wait_for_legs(&b);
    node_batches_end(&b);
}

void usher__redis_execute(struct usher_store *store, struct usher_task *tasks, size_t n,
                          const struct usher_context *context)
{
    struct usher__redis_store *s = (struct usher__redis_store *)store;

    for (size_t from = 0, k; from < n; from += k) {
        k = n - from < USHER__REDIS_TASKS_MAX ? n - from : USHER__REDIS_TASKS_MAX;
        execute_some(s, tasks + from, k, context);
    }
}

/* ---- not waiting ------------------------------------------------------------------- */

struct usher_batch *usher__redis_begin(struct usher_store *store, struct usher_task *tasks,
                                       size_t n, const struct usher_context *context)
{
    struct usher__redis_store *s = (struct usher__redis_store *)store;
    struct usher_batch *b = usher__redis_resize(s->alloc, NULL, 0, sizeof *b);

    if (b == NULL)
        return NULL;
    USHER_ASSERT(n <= USHER__REDIS_TASKS_MAX);
    batch_init(b, s, tasks, n, context);
    b->stage = context->notify != NULL ? TO_CLAIM : TO_LOOK;
    if (s->map != NULL)
        b->refresh = usher__redis_refresh_begin(s, context->deadline_ms);
    return b;
}

/* Lock the slots of the batch, or end the batch after its deadline.  Return false if another batch
 * has them; the lock is tried again after a moment. */
static bool batch_claim(struct usher_batch *b, struct usher_wait *ret)
{
    int64_t now_ms = usher__redis_clock_ms();

    b->claimed = usher__redis_claim(b->s, b->tasks, b->n, -1);
    if (b->claimed)
        return true;
    if (now_ms < b->context->deadline_ms) {
        *ret = (struct usher_wait){ .fd = -1, .until_ms = now_ms + 1 };
        return false;
    }
    for (size_t i = 0; i < b->n; i++)
        usher_result_fail(b->tasks[i].reply, USHER_UNAVAILABLE, CLAIMED);
    return true;
}

/* Add @l to the loop of the batch, or remove it.  It must not be there while it runs, because it
 * may close its socket, which a child of fork() may still have open.  Return false if the loop
 * cannot watch it. */
static bool loop_set(const struct usher_batch *b, struct node_batch *l, bool waits_there)
{
    return usher__redis_loop_set(b->loop, &l->wait, &l->in_loop, waits_there);
}

/* Set what the batch waits for: the one open node batch, or the first event of several. */
static void node_batches_wait(struct usher_batch *b, struct usher_wait *ret)
{
    size_t n = 0;
    bool all = true;

    for (const struct node_batch *l = b->node_batches; l != NULL; l = l->next) {
        if (l->stage == OVER)
            continue;
        if (n++ == 0)
            *ret = l->wait;
        else if (l->wait.until_ms < ret->until_ms)
            ret->until_ms = l->wait.until_ms;
    }
    if (n < 2)
        return;
    if (b->loop < 0)
        b->loop = usher__redis_loop_open();
    for (struct node_batch *l = b->node_batches; l != NULL; l = l->next)
        if (l->stage != OVER)
            all = b->loop >= 0 && loop_set(b, l, true) && all;
    ret->fd = b->loop;
    ret->events = POLLIN;
    if (!all) /* without memory or descriptors they are polled */
        ret->until_ms = usher__redis_clock_ms() + 1;
}

static void route(struct usher_batch *b)
{
    for (size_t i = 0; b->s->map != NULL && i < b->n; i++) {
        b->tasks[i].again = 0;
        b->tasks[i].lane = (uint16_t)usher__redis_route(&b->s->base, &b->tasks[i]);
    }
}

static bool batch_go_on(struct usher_batch *b, struct usher_wait *ret)
{
    if (b->stage == TO_CLAIM) {
        if (!batch_claim(b, ret))
            return false;
        if (!b->claimed)
            return true;
        b->stage = TO_LOOK;
    }
    if (b->stage == TO_LOOK) {
        if (b->refresh != NULL && !usher__redis_refresh_continue(b->refresh, ret))
            return false;
        usher__redis_refresh_end(b->refresh);
        b->refresh = NULL;
        b->stage = TO_GO;
    }
    if (b->stage == TO_GO) {
        route(b);
        node_batches_begin(b);
        b->stage = UNDER_WAY;
    }
    for (struct node_batch *l = b->node_batches; l != NULL; l = l->next)
        (void)loop_set(b, l, false);
    if (node_batches_go_on(b))
        return true;
    node_batches_wait(b, ret);
    return false;
}

static void batch_free(struct usher_batch *b)
{
    if (b->loop >= 0)
        (void)close(b->loop);
    usher__redis_refresh_end(b->refresh);
    release(b);
    node_batches_end(b);
    (void)usher__redis_resize(b->s->alloc, b, sizeof *b, 0);
}

bool usher__redis_go_on(struct usher_store *store, struct usher_batch *b, struct usher_wait *ret)
{
    (void)store;
    if (!batch_go_on(b, ret))
        return false;
    batch_free(b);
    return true;
}

void usher__redis_leave(struct usher_store *store, struct usher_batch *b)
{
    (void)store;
    /* a child of fork() shares the loop with its parent, so nothing is removed from it */
    if (b->loop >= 0)
        (void)close(b->loop);
    b->loop = -1;
    for (struct node_batch *l = b->node_batches; l != NULL; l = l->next)
        node_batch_release(l);
    batch_free(b);
}
