/* SPDX-License-Identifier: MIT */
/*
 * The room directory: the open rooms, and when they are due for a patrol.
 *
 * A room is one scope, the directory is others: 64 partitions by the hash of the room's name.  So
 * no scope is hot, and on Redis Cluster they are spread; but a room and its entry do not change
 * together.  The rule instead is: *a room that is open has an entry*, even if a client dies between
 * two steps.
 *
 *  - Before a room is opened its entry is put (OPENING), afterwards put again (OPEN).  Each put
 *    gives the entry another token.
 *  - An entry is dropped only after the room was found missing, under the token that it had before
 *    that read, and not while it is OPENING, unless that has been so for a minute; it becomes
 *    DOUBTED instead.
 *  - A client whose second put finds the entry DOUBTED, or gone, reads the room again, because it
 *    may have been closed since.  So does a client that would drop an entry that was put since.
 *
 * So an entry may be left over by a client that dies or gets no answer, but is never missing.  The
 * next `close` of the room and `patrol` find entries that are left over; `list` shows only rooms
 * that it has read.
 *
 * A patrol hands out due rooms under a lease.  The next patrol of the same worker reports that it
 * is done with those it had: they are due again after the interval.  The rooms of a worker that
 * does not return are due when its lease ends.
 */
#include "config.h"

#include "nouns/room/room_directory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "core/verbs.h"
#include "engine/check.h"
#include "engine/engine.h"
#include "change/memory.h"
#include "encode/reply.h"
#include "change/result.h"
#include "nouns/room/room_plan.h"
#include "engine/scopes.h"
#include "encode/result_fields.h"

#define PARTITIONS 64
#define EVERY_DEFAULT 60000
#define LEASE_DEFAULT 30000

/* ---- one command on a partition ---------------------------------------------------- */

unsigned usher__room_partition_of(const struct usher_text *room)
{
    uint32_t hash = usher__text_hash(USHER__HASH, room);

    return (hash ^ hash >> 16) % PARTITIONS;
}

void usher__room_partition(const struct usher_text *room, char name[USHER__ROOM_PARTITION])
{
    (void)snprintf(name, USHER__ROOM_PARTITION, "p%02u",
                   usher__room_partition_of(room) % PARTITIONS);
}

void usher__room_asked(struct usher__room_asked *a, enum usher_verb verb, unsigned partition,
                       const struct usher_operation *of)
{
    memset(&a->c, 0, sizeof a->c);
    a->c.verb = verb;
    (void)snprintf(a->scope, sizeof a->scope, "p%02u", partition % PARTITIONS);
    a->c.scope.data = a->scope;
    a->c.scope.size = 3;
    if (of != NULL && (of->given & USHER_GIVEN_NOW) != 0) {
        a->c.given = USHER_GIVEN_NOW;
        a->c.now_ms = of->now_ms;
    }
}

/* @timeout_ms 0: the engine's. */
static enum usher_status ask(struct usher_engine *e, int64_t timeout_ms,
                             const struct usher__room_asked *a, struct usher_result *reply)
{
    (void)usher__engine_operate(e, &a->c, reply, 1, timeout_ms);
    return reply->status;
}

/* ---- list --------------------------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
    const struct usher_rooms_row *x = *(const struct usher_rooms_row *const *)a;
    const struct usher_rooms_row *y = *(const struct usher_rooms_row *const *)b;
    size_t n = x->room.size < y->room.size ? x->room.size : y->room.size;
    int order;

    if (x->created_ms != y->created_ms)
        return x->created_ms < y->created_ms ? -1 : 1;
    order = memcmp(x->room.data, y->room.data, n);
    return order != 0 ? order : (x->room.size > y->room.size) - (x->room.size < y->room.size);
}

static enum usher_status add(struct usher_result *reply, const struct usher_rooms_row *from)
{
    struct usher_room_result_row row;

    memset(&row, 0, sizeof row);
    row.kind = USHER_ROOM_ROW_ROOM;
    row.id = from->room;
    row.since_ms = from->created_ms;
    return usher_result_add_row(reply, USHER_ROOM, &row);
}

/*
 * The scopes that a call on many scopes does not see: it waits once for a server that does not
 * answer, and skips its other scopes.  After this number of silent servers it skips all.
 */
#define SILENT_MAX 64

struct unseen {
    int64_t timeout_ms;        /* of each answer; 0: the engine's */
    unsigned lane[SILENT_MAX]; /* lanes that do not answer */
    size_t lanes, partitions, rooms;
    char why[192]; /* of the first */
};

/* @command got no answer: count it in *@count. */
static void miss(const struct usher_engine *e, struct unseen *u,
                 const struct usher_operation *command, const struct usher_result *reply,
                 size_t *count)
{
    if (u->partitions + u->rooms == 0)
        (void)snprintf(u->why, sizeof u->why, "%s", reply->message);
    if (u->lanes < SILENT_MAX)
        u->lane[u->lanes++] = usher__engine_lane(e, command);
    ++*count;
}

/* Return whether @command is for a lane that did not answer, and count it in *@count. */
static bool passes_over(const struct usher_engine *e, const struct unseen *u,
                        const struct usher_operation *command, size_t *count)
{
    unsigned lane = u->lanes > 0 ? usher__engine_lane(e, command) : 0;
    size_t i = 0;

    while (i < u->lanes && u->lane[i] != lane)
        i++;
    if (i == u->lanes && i < SILENT_MAX)
        return false;
    ++*count;
    return true;
}

static bool no_answer(enum usher_status status)
{
    return status == USHER_UNAVAILABLE || status == USHER_UNKNOWN;
}

/* The number of rooms that are read together. */
#define LOOK 64

struct look {
    struct usher_operation commands[LOOK];
    struct usher_result replies[LOOK];
};

/* Add those of the @n rooms of @rows that are open now as rows of @reply: an entry may be left
 * over, or its room may be about to be erased. */
static enum usher_status add_open(struct usher_engine *e, const struct usher_rooms_row *const *rows,
                                  size_t n, const struct usher_operation *of, struct look *look,
                                  struct unseen *u, struct usher_result *reply)
{
    const struct usher_rooms_row *asked[LOOK];
    enum usher_status status = USHER_OK;
    size_t n_asked = 0;

    for (size_t i = 0; i < n; i++) {
        struct usher_operation *c = &look->commands[n_asked];

        memset(c, 0, sizeof *c);
        c->verb = USHER_ROOM_SHOW;
        c->scope = rows[i]->room;
        c->given = of->given & USHER_GIVEN_NOW;
        c->now_ms = of->now_ms;
        if (!passes_over(e, u, c, &u->rooms))
            asked[n_asked++] = rows[i];
    }
    if (n_asked > 0)
        (void)usher__engine_operate(e, look->commands, look->replies, n_asked, u->timeout_ms);
    for (size_t i = 0; i < n_asked; i++) {
        const struct usher_result *r = &look->replies[i];

        if (status == USHER_OK && no_answer(r->status)) {
            miss(e, u, &look->commands[i], r, &u->rooms);
        } else if (status == USHER_OK && r->status >= USHER_INVALID) {
            status = r->status;
            (void)snprintf(reply->message, sizeof reply->message, "%s", r->message);
        } else if (status == USHER_OK && r->status == USHER_OK) {
            status = add(reply, asked[i]);
        }
        usher_result_done(&look->replies[i]);
    }
    return status;
}

/* Return the end of the shortest page: after it, a partition may have rooms that are not on its
 * page. */
static int64_t horizon(const struct usher_result *pages, bool *ret_more)
{
    int64_t end = INT64_MAX;

    *ret_more = false;
    for (unsigned p = 0; p < PARTITIONS; p++) {
        const struct usher_rooms_result *r = &pages[p].of.rooms;

        if (!r->more || r->n_rows == 0)
            continue;
        *ret_more = true;
        if (r->rows[r->n_rows - 1].created_ms < end)
            end = r->rows[r->n_rows - 1].created_ms;
    }
    return end;
}

/*
 * A page of a partition ends after USHER_PAGE_MAX rooms, even between rooms of one time.  Add the
 * rest of that time to @page, the answer to @a.  A page whose rooms were all listed before is
 * followed by the next one.
 */
static enum usher_status complete(struct usher_engine *e, struct usher__room_asked *a,
                                  struct usher_result *page, struct unseen *u, char why[192])
{
    struct usher_rooms_result *r = &page->of.rooms;
    struct usher_rooms_args *args = &a->c.arg.rooms;
    enum usher_status status = page->status;

    while (status < USHER_INVALID && r->more && (r->token != 0 || r->n_rows == 0)) {
        struct usher_result rest;

        a->c.given |= USHER_GIVEN_ROOMS_CREATED | USHER_GIVEN_ROOMS_TOKEN;
        args->token = (int64_t)r->token;
        if (r->n_rows > 0)
            args->created_ms = r->rows[r->n_rows - 1].created_ms;
        if (r->token == 0 && args->after.data == NULL)
            break; /* no valid page is like that */
        if (r->token == 0) {
            a->c.given &= ~(unsigned)USHER_GIVEN_ROOMS_TOKEN;
            args->created_ms++;
            args->after.data = NULL;
        }
        status = ask(e, u->timeout_ms, a, &rest);
        if (no_answer(status))
            miss(e, u, &a->c, &rest, &u->partitions);
        else if (status >= USHER_INVALID)
            (void)snprintf(why, 192, "%s", rest.message);
        for (size_t i = 0; status < USHER_INVALID && i < rest.of.rooms.n_rows; i++)
            status = usher_result_add_row(page, USHER_ROOMS, &rest.of.rooms.rows[i]);
        r->more =
            rest.of.rooms.more && (rest.of.rooms.token == 0 || rest.of.rooms.token > r->token);
        r->token = rest.of.rooms.token;
        usher_result_done(&rest);
    }
    return status < USHER_INVALID || no_answer(status) ? USHER_OK : status;
}

/* Merge the pages of all partitions. */
static enum usher_status merge(struct usher_engine *e, const struct usher_result *pages, size_t max,
                               const struct usher_operation *of, struct unseen *u,
                               struct usher_result *reply)
{
    const struct usher_rooms_row **rows;
    struct look *look;
    size_t n = 0, at = 0, size;
    bool more;
    int64_t end = horizon(pages, &more);
    enum usher_status status = USHER_OK;

    for (unsigned p = 0; p < PARTITIONS; p++)
        n += pages[p].of.rooms.n_rows;
    if (n == 0)
        return USHER_OK;
    /* NOLINTNEXTLINE(bugprone-sizeof-expression) */
    size = sizeof *look + n * sizeof *rows;
    look = usher__resize(e->opt.alloc, NULL, 0, size);
    if (look == NULL)
        return USHER_NOMEM;
    rows = (const struct usher_rooms_row **)(look + 1);
    for (unsigned p = 0; p < PARTITIONS; p++)
        for (size_t i = 0; i < pages[p].of.rooms.n_rows; i++)
            rows[at++] = &pages[p].of.rooms.rows[i];
    /* NOLINTNEXTLINE(bugprone-sizeof-expression) */
    qsort(rows, n, sizeof *rows, by_time);
    for (; rows[n - 1]->created_ms > end; n--)
        ;
    for (at = 0; at < n && reply->of.room.n_rows < max && status == USHER_OK;) {
        size_t some = max - reply->of.room.n_rows;

        some = some < LOOK ? some : LOOK;
        some = some < n - at ? some : n - at;
        status = add_open(e, rows + at, some, of, look, u, reply);
        at += some;
    }
    reply->of.room.more = more || at < n;
    if (reply->of.room.more) {
        const struct usher_rooms_row *last = rows[at - 1];

        reply->of.room.name_size = last->room.size;
        memcpy(reply->of.room.name, last->room.data, last->room.size);
        reply->of.room.name[last->room.size] = '\0';
        reply->of.room.created_ms = last->created_ms;
    }
    (void)usher__resize(e->opt.alloc, look, size, 0);
    return status;
}

/* @reply is to be given out.  False: it cannot be. */
static enum usher_status reply_begin(struct usher_engine *e, struct usher_result *reply)
{
    enum usher_status status = usher__engine_check(e);

    if (reply == NULL) {
        usher__message_set("room: ret_reply is NULL");
        return USHER_INVALID;
    }
    usher__result_init(reply, USHER_ROOM,
                       status == USHER_OK ? e->opt.alloc : usher__allocator(NULL));
    reply->status = status;
    return status;
}

static enum usher_status fault(const char *verb, const char *what, struct usher_result *reply)
{
    char line[160];

    (void)snprintf(line, sizeof line, "room %s: %s", verb, what);
    usher_result_fail(reply, USHER_INVALID, line);
    usher__message_set("%s", line);
    return USHER_INVALID;
}

static enum usher_status finish(const char *verb, enum usher_status status, const char *why,
                                struct usher_result *reply)
{
    char line[192];

    if (status == USHER_OK)
        return reply->status;
    (void)snprintf(line, sizeof line, "%.190s", why[0] != '\0' ? why : usher_status_text(status));
    usher_result_fail(reply, status, line);
    usher__message_set("room %s: %s", verb, line);
    return status;
}

/* Answer with the part that was seen, marked as partial. */
static enum usher_status finish_partly(const char *verb, const struct unseen *u,
                                       struct usher_result *reply)
{
    if (u->partitions + u->rooms == 0)
        return reply->status;
    reply->status = USHER_UNAVAILABLE;
    reply->of.room.partial = true;
    (void)snprintf(reply->message, sizeof reply->message,
                   "incomplete (not read: %zu of %d parts of the index, %zu rooms): %.100s",
                   u->partitions, PARTITIONS, u->rooms, u->why);
    usher__message_set("room %s: %s", verb, reply->message);
    return reply->status;
}

/* Read the pages of all partitions.  Not OK: there is no result; *@why has the reason. */
static enum usher_status ask_all(struct usher_engine *e, const struct usher_operation *commands,
                                 struct usher_result *pages, struct unseen *u, char why[192])
{
    enum usher_status status = USHER_OK;

    (void)usher__engine_operate(e, commands, pages, PARTITIONS, u->timeout_ms);
    for (unsigned p = 0; p < PARTITIONS && status == USHER_OK; p++) {
        if (no_answer(pages[p].status))
            miss(e, u, &commands[p], &pages[p], &u->partitions);
        if (pages[p].status >= USHER_INVALID &&
            (!no_answer(pages[p].status) || u->partitions == PARTITIONS)) {
            status = pages[p].status;
            (void)snprintf(why, 192, "%s", pages[p].message);
        }
    }
    return status;
}

static enum usher_status list(struct usher_engine *e, int64_t timeout_ms, const char *after,
                              int64_t created_ms, size_t max, int64_t now_ms,
                              struct usher_result *ret_reply)
{
    struct usher__room_asked *a;
    struct usher_operation of;
    struct usher_operation *commands;
    struct usher_result *pages;
    struct usher_text name = { after, after != NULL ? strlen(after) : 0 };
    size_t size = PARTITIONS * (sizeof *a + sizeof *commands + sizeof *pages);
    struct unseen unseen;
    char why[192] = "";
    enum usher_status status = reply_begin(e, ret_reply);

    if (status != USHER_OK)
        return status;
    if (max > USHER_LIST_MAX || created_ms < 0 || created_ms > USHER_TIME_MAX ||
        now_ms > USHER_TIME_MAX)
        return fault("list", "max, created or now is out of range", ret_reply);
    if (after != NULL && usher__scope_fault(name.data, name.size) != NULL)
        return fault("list", "after is not a name", ret_reply);
    max = max == 0 ? USHER_LIST_DEFAULT : max < USHER_PAGE_MAX ? max : USHER_PAGE_MAX;
    a = usher__resize(e->opt.alloc, NULL, 0, size);
    if (a == NULL)
        return finish("list", USHER_NOMEM, "", ret_reply);
    commands = (struct usher_operation *)(a + PARTITIONS);
    pages = (struct usher_result *)(commands + PARTITIONS);
    if (after != NULL && created_ms == 0) {
        usher__room_asked(a, USHER_ROOMS_FIND, usher__room_partition_of(&name), NULL);
        a->c.arg.rooms.room = name;
        status = ask(e, timeout_ms, a, pages);
        if (status == USHER_OK)
            created_ms = pages->of.rooms.rows->created_ms;
        else if (status == USHER_MISSING)
            ret_reply->status = USHER_MISSING;
        (void)snprintf(why, sizeof why, "%s", pages->message);
        usher_result_done(pages);
        if (status != USHER_OK) {
            (void)usher__resize(e->opt.alloc, a, size, 0);
            return status == USHER_MISSING ? status : finish("list", status, why, ret_reply);
        }
    }
    for (unsigned p = 0; p < PARTITIONS; p++) {
        usher__room_asked(&a[p], USHER_ROOMS_LIST, p, NULL);
        a[p].c.given |= USHER_GIVEN_ROOMS_MAX;
        a[p].c.arg.rooms.max = (int64_t)max;
        if (after != NULL) {
            a[p].c.given |= USHER_GIVEN_ROOMS_CREATED;
            a[p].c.arg.rooms.created_ms = created_ms;
            a[p].c.arg.rooms.after = name;
        }
        commands[p] = a[p].c;
    }
    memset(&unseen, 0, sizeof unseen);
    unseen.timeout_ms = timeout_ms;
    status = ask_all(e, commands, pages, &unseen, why);
    for (unsigned p = 0; p < PARTITIONS && status == USHER_OK; p++)
        status = complete(e, &a[p], &pages[p], &unseen, why);
    memset(&of, 0, sizeof of);
    if (now_ms >= 0) {
        of.given = USHER_GIVEN_NOW;
        of.now_ms = now_ms;
    }
    if (status == USHER_OK) {
        status = merge(e, pages, max, &of, &unseen, ret_reply);
        (void)snprintf(why, sizeof why, "%s", ret_reply->message);
    }
    for (unsigned p = 0; p < PARTITIONS; p++)
        usher_result_done(&pages[p]);
    (void)usher__resize(e->opt.alloc, a, size, 0);
    return status == USHER_OK ? finish_partly("list", &unseen, ret_reply)
                              : finish("list", status, why, ret_reply);
}

enum usher_status usher__room_list(struct usher_engine *e, const char *after, int64_t created_ms,
                                   size_t max, int64_t now_ms, struct usher_result *ret_reply)
{
    return list(e, 0, after, created_ms, max, now_ms, ret_reply);
}

/* ---- patrol ------------------------------------------------------------------------- */

/* The maximum number of erasing steps of one visit to a room. */
#define VISIT_STEPS 20

/* Sweep the room of @c once, which also continues to erase it.  Return its state after that, and
 * whether it exists. */
static enum usher_room_state sweep(struct usher_engine *e, const struct usher_operation *c,
                                   struct unseen *u, bool *ret_failed)
{
    struct usher_result reply;
    enum usher_room_state state;

    *ret_failed = true;
    if (passes_over(e, u, c, &u->rooms))
        return USHER_ROOM_STATE_OPEN;
    (void)usher__engine_operate(e, c, &reply, 1, u->timeout_ms);
    if (no_answer(reply.status))
        miss(e, u, c, &reply, &u->rooms);
    *ret_failed = reply.status >= USHER_INVALID;
    state = *ret_failed ? USHER_ROOM_STATE_OPEN : reply.of.room.state;
    usher_result_done(&reply);
    return state;
}

/* Apply what is due in a room that was handed out.  Return false if there is no such room. */
static bool visit(struct usher_engine *e, const struct usher_operation *of,
                  const struct usher_rooms_row *row, struct unseen *u)
{
    struct usher_operation c;
    enum usher_room_state state;
    bool there, failed;

    memset(&c, 0, sizeof c);
    c.verb = USHER_ROOM_SWEEP;
    c.scope = row->room;
    c.given = of->given & USHER_GIVEN_NOW;
    c.now_ms = of->now_ms;
    state = sweep(e, &c, u, &failed);
    for (int i = 1; state == USHER_ROOM_STATE_CLOSING && i < VISIT_STEPS; i++)
        state = sweep(e, &c, u, &failed);
    there = state == USHER_ROOM_STATE_OPEN || state == USHER_ROOM_STATE_LOCKED;
    if (!there)
        usher__room_tidy(e, &c);
    else if (row->state != USHER_ROOMS_OPEN && !failed)
        usher__room_put(e, &c, row->created_ms); /* its opener did not get that far */
    return there;
}

/* Claim at most @max rooms in partition @p, in bounded steps. */
static enum usher_status claim(struct usher_engine *e, const struct usher_operation *of, unsigned p,
                               size_t max, struct unseen *u, struct usher_result *reply)
{
    struct usher__room_asked a;
    struct usher_result page;
    enum usher_status status;
    bool more;

    usher__room_asked(&a, USHER_ROOMS_CLAIM, p, of);
    a.c.given |= USHER_GIVEN_ROOMS_MAX | USHER_GIVEN_ROOMS_EVERY | USHER_GIVEN_ROOMS_LEASE;
    a.c.arg.rooms = of->arg.rooms;
    a.c.arg.rooms.max = (int64_t)max;
    do {
        if (passes_over(e, u, &a.c, &u->partitions))
            return USHER_OK;
        status = ask(e, u->timeout_ms, &a, &page);
        if (no_answer(status))
            miss(e, u, &a.c, &page, &u->partitions);
        if (status < USHER_INVALID || (no_answer(status) && u->partitions < PARTITIONS))
            status = USHER_OK;
        else
            (void)snprintf(reply->message, sizeof reply->message, "%s", page.message);
        for (size_t i = 0; i < page.of.rooms.n_rows && status == USHER_OK; i++)
            if (visit(e, of, &page.of.rooms.rows[i], u))
                status = add(reply, &page.of.rooms.rows[i]);
        more = page.of.rooms.more;
        a.c.arg.rooms.max -= (int64_t)page.of.rooms.n_rows;
        /* once rooms were claimed, what the worker had before is done */
        if (page.of.rooms.n_rows > 0)
            a.c.given |= USHER_GIVEN_ROOMS_TOKEN;
        usher_result_done(&page);
    } while (more && status == USHER_OK);
    return status;
}

static enum usher_status patrol(struct usher_engine *e, int64_t timeout_ms, const char *worker,
                                size_t batch, int64_t every_ms, int64_t lease_ms, int64_t now_ms,
                                struct usher_result *ret_reply)
{
    struct usher_text name = { worker, worker != NULL ? strlen(worker) : 0 };
    struct usher_operation of;
    struct unseen unseen;
    char why[192];
    unsigned from;
    enum usher_status status = reply_begin(e, ret_reply);

    if (status != USHER_OK)
        return status;
    if (worker == NULL || usher__name_fault(name.data, name.size) != NULL)
        return fault("patrol", "worker is not a name", ret_reply);
    batch = batch == 0 ? USHER_LIST_DEFAULT : batch;
    every_ms = every_ms == 0 ? EVERY_DEFAULT : every_ms;
    lease_ms = lease_ms == 0 ? LEASE_DEFAULT : lease_ms;
    if (batch > USHER_LIST_MAX || every_ms < 1 || every_ms > USHER_SPAN_MAX || lease_ms < 1 ||
        lease_ms > USHER_SPAN_MAX || now_ms > USHER_TIME_MAX)
        return fault("patrol", "batch, every, lease or now is out of range", ret_reply);
    memset(&of, 0, sizeof of);
    if (now_ms >= 0) {
        of.given = USHER_GIVEN_NOW;
        of.now_ms = now_ms;
    }
    of.arg.rooms.worker = name;
    of.arg.rooms.every_ms = every_ms;
    of.arg.rooms.lease_ms = lease_ms;
    /* workers begin at different places, so that they seldom meet */
    from = usher__room_partition_of(&name);
    memset(&unseen, 0, sizeof unseen);
    unseen.timeout_ms = timeout_ms;
    for (unsigned i = 0; i < PARTITIONS && status == USHER_OK; i++)
        status = claim(e, &of, from + i, batch - ret_reply->of.room.n_rows, &unseen, ret_reply);
    if (status == USHER_OK && unseen.partitions == PARTITIONS)
        status = USHER_UNAVAILABLE;
    (void)snprintf(why, sizeof why, "%s",
                   ret_reply->message[0] != '\0' ? ret_reply->message : unseen.why);
    return status == USHER_OK ? finish_partly("patrol", &unseen, ret_reply)
                              : finish("patrol", status, why, ret_reply);
}

enum usher_status usher__room_patrol(struct usher_engine *e, const char *worker, size_t batch,
                                     int64_t every_ms, int64_t lease_ms, int64_t now_ms,
                                     struct usher_result *ret_reply)
{
    return patrol(e, 0, worker, batch, every_ms, lease_ms, now_ms, ret_reply);
}

/* ---- check -------------------------------------------------------------------------- */

/* A check needs no time: at this one nothing is due, and an engine's clock that is ahead of the
 * store's is not used. */
#define NOTHING_DUE_MS 1

/* Answers of the store about one room and, before, about its entry. */
struct said {
    enum usher_status status;
    bool entry, there, open;
    int state; /* of the entry */
    uint64_t token, epoch;
    int64_t created_ms;
};

static struct said hear(struct usher_engine *e, const struct usher_text *room)
{
    struct said said;
    struct usher__room_asked a;
    struct usher_operation c;
    struct usher_result reply;

    memset(&said, 0, sizeof said);
    usher__room_asked(&a, USHER_ROOMS_FIND, usher__room_partition_of(room), NULL);
    a.c.arg.rooms.room = *room;
    a.c.given |= USHER_GIVEN_NOW;
    a.c.now_ms = NOTHING_DUE_MS;
    said.status = ask(e, 0, &a, &reply);
    if (said.status == USHER_OK && reply.of.rooms.n_rows == 1) {
        said.entry = true;
        said.state = reply.of.rooms.rows->state;
        said.token = reply.of.rooms.rows->token;
    }
    usher_result_done(&reply);
    if (said.status >= USHER_INVALID)
        return said;
    memset(&c, 0, sizeof c);
    c.verb = USHER_ROOM_SHOW;
    c.scope = *room;
    c.given = USHER_GIVEN_NOW;
    c.now_ms = NOTHING_DUE_MS;
    (void)usher_operate(e, &c, &reply, 1);
    said.status = reply.status < USHER_INVALID ? USHER_OK : reply.status;
    said.open = reply.status == USHER_OK;
    said.there = said.open || reply.epoch != 0;
    said.epoch = reply.epoch;
    said.created_ms = reply.of.room.created_ms;
    usher_result_done(&reply);
    return said;
}

enum usher_status usher__room_directory_check(struct usher_engine *e, const struct usher_text *room,
                                              bool repair, const char **ret_fault,
                                              bool *ret_repaired)
{
    struct said first = hear(e, room), then;
    struct usher__room_asked a;
    struct usher_result reply;
    enum usher_status status;

    *ret_fault = NULL;
    *ret_repaired = false;
    if (first.status >= USHER_INVALID || first.entry == first.there)
        return first.status >= USHER_INVALID ? first.status : USHER_OK;
    then = hear(e, room);
    if (then.status >= USHER_INVALID)
        return then.status;
    if (first.there && then.there && !then.entry && first.epoch == then.epoch)
        *ret_fault = "is not in the index of rooms";
    else if (first.entry && then.entry && !then.there && first.token == then.token &&
             first.state == USHER_ROOMS_OPEN)
        *ret_fault = "is in the index of rooms, but there is no such room";
    if (*ret_fault == NULL || !repair)
        return USHER_OK;
    usher__room_asked(&a, then.entry ? USHER_ROOMS_DROP : USHER_ROOMS_PUT,
                      usher__room_partition_of(room), NULL);
    a.c.arg.rooms.room = *room;
    if (then.entry) {
        a.c.given |= USHER_GIVEN_ROOMS_TOKEN;
        a.c.arg.rooms.token = (int64_t)then.token;
    } else if (then.open) { /* else a patrol continues to erase it */
        a.c.given |= USHER_GIVEN_ROOMS_CREATED;
        a.c.arg.rooms.created_ms = then.created_ms;
    }
    status = ask(e, 0, &a, &reply);
    usher_result_done(&reply);
    *ret_repaired = status == USHER_OK;
    return status >= USHER_INVALID ? status : USHER_OK;
}

/* ---- the same as replies --------------------------------------------------------------------- */

static void say_where(usher__put *put, void *to, const struct usher_result *r)
{
    const struct usher_room_result *room = &r->of.room;

    if (!room->more)
        return;
    usher__put_text(put, to, USHER_FIELD_NAME, room->name, room->name_size);
    usher__put_number(put, to, USHER_FIELD_CREATED, room->created_ms);
}

static void say_room(usher__put *put, void *to, const struct usher_result *r, size_t i)
{
    const struct usher_room_result_row *row = &r->of.room.rows[i];

    usher__put_number(put, to, USHER_FIELD_KIND, row->kind);
    usher__put_text(put, to, USHER_FIELD_NAME, row->id.data, row->id.size);
    usher__put_number(put, to, USHER_FIELD_SINCE, row->since_ms);
}

/* Make a reply of @r, which is freed. */
static enum usher_status rooms_reply(struct usher_engine *e, struct usher_result *r,
                                     enum usher_status status, struct usher_reply **ret)
{
    const struct usher__listing list = { USHER_ROOM_SHOW, r->of.room.n_rows, r->of.room.more,
                                         say_where, say_room };

    *ret = usher__reply_of_list(e->opt.alloc, r, &list);
    if (*ret == NULL) {
        usher__message_set("room: %s", usher__not_kept);
        status = USHER_NOMEM;
    }
    usher_result_done(r);
    return status;
}

/* Check the arguments of @verb; *@ret_opt are its options. */
static enum usher_status rooms_check(struct usher_engine *e, const char *verb,
                                     const struct usher_list_options *opt, unsigned takes,
                                     struct usher_list_options *ret_opt, struct usher_reply **ret)
{
    enum usher_status status = usher__engine_check(e);
    const char *fault;

    if (ret != NULL)
        *ret = NULL;
    if (status != USHER_OK)
        return status;
    fault = usher__list_options(e, opt, takes, ret_opt);
    if (fault == NULL && ret == NULL)
        fault = "ret_reply is NULL";
    if (fault == NULL)
        return USHER_OK;
    usher__message_set("room %s: %s", verb, fault);
    return USHER_INVALID;
}

enum usher_status usher_room_list(struct usher_engine *e, const struct usher_list_options *opt,
                                  struct usher_reply **ret_reply)
{
    struct usher_list_options o;
    enum usher_status status = rooms_check(
        e, "list", opt, USHER__LIST_NOW | USHER__LIST_MAX | USHER__LIST_AFTER | USHER__LIST_CREATED,
        &o, ret_reply);
    struct usher_result r;

    if (status != USHER_OK)
        return status;
    status = list(e, o.timeout_ms, o.after, o.created_ms, (size_t)o.max,
                  o.now_ms != 0 ? o.now_ms : -1, &r);
    return rooms_reply(e, &r, status, ret_reply);
}

enum usher_status usher_room_patrol(struct usher_engine *e, const char *worker,
                                    const struct usher_list_options *opt,
                                    struct usher_reply **ret_reply)
{
    struct usher_list_options o;
    enum usher_status status = rooms_check(
        e, "patrol", opt, USHER__LIST_NOW | USHER__LIST_MAX | USHER__LIST_PATROL, &o, ret_reply);
    struct usher_result r;

    if (status != USHER_OK)
        return status;
    status = patrol(e, o.timeout_ms, worker, (size_t)o.max, o.every_ms, o.lease_ms,
                    o.now_ms != 0 ? o.now_ms : -1, &r);
    return rooms_reply(e, &r, status, ret_reply);
}
