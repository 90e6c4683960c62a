/* SPDX-License-Identifier: MIT */
/*
 * P10, P11, P13: queue, room and serials in memory against what one would write for one program.
 * Time is given by hand, so that deadlines come when the row is about them.
 */
#include "config.h"

#include "bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <usher/queue.h>
#include <usher/replica.h>
#include <usher/room.h>
#include <usher/serial.h>

#include "floor_nouns.h"
#include "lib/calls.h"
#include "lib/util.h"

#define BATCH 64u

/* All that a batch may answer is that it was done. */
static void execute(struct usher_engine *e, const struct usher_operation *commands,
                    struct usher_result *replies, size_t n)
{
    if (usher_operate(e, commands, replies, n) != USHER_OK)
        bench_die("%s", usher_message());
    for (size_t i = 0; i < n; i++)
        if (replies[i].status != USHER_OK)
            bench_die("%s %s", usher_status_word(replies[i].status), replies[i].message);
}

static struct usher_engine *open_at(int64_t *now)
{
    struct usher_options opt = USHER_OPTIONS_INIT;

    opt.now_ms = clock_of;
    opt.payload = now;
    *now = INT64_C(1700000000000);
    return bench_open("memory:", &opt);
}

/* ---- P10 -------------------------------------------------------------------------- */

#define QUEUE "line"
#define LANES 8u
#define AGENTS 1000u

struct queue {
    struct usher_engine *e;
    struct floor_queue *floor;
    uint64_t came, floor_came; /* users so far */
    unsigned agent, floor_agent;
    size_t waiting;
    char lanes[LANES][BENCH_NAME], rooms[AGENTS][USHER_QUEUE_ROOM_MAX];
    char names[BATCH][BENCH_NAME];
    struct usher_operation commands[2 * BATCH];
    struct usher_result replies[2 * BATCH];
};

static void user_name(uint64_t i, char name[BENCH_NAME])
{
    (void)snprintf(name, BENCH_NAME, "caller-%010" PRIu64, i);
}

/* BATCH users come, and as many agents finish a visit and have the next user. */
static uint64_t visits(void *world, unsigned thread)
{
    struct queue *w = world;

    (void)thread;
    for (unsigned i = 0; i < BATCH; i++) {
        struct usher_operation *apply = &w->commands[2 * i], *finish = apply + 1;

        user_name(w->came, w->names[i]);
        apply->arg.queue.user = text(w->names[i]);
        apply->arg.queue.lane = text(w->lanes[w->came++ % LANES]);
        finish->arg.queue.room = text(w->rooms[w->agent++ % AGENTS]);
    }
    execute(w->e, w->commands, w->replies, (size_t)2 * BATCH);
    return BATCH;
}

static uint64_t floor_visits(void *world, unsigned thread)
{
    struct queue *w = world;

    (void)thread;
    for (unsigned i = 0; i < BATCH; i++) {
        char name[BENCH_NAME];
        uint64_t place;

        user_name(w->floor_came, name);
        if (!floor_queue_apply(w->floor, name, w->floor_came++ % LANES, &place) ||
            !floor_queue_finish(w->floor, w->floor_agent++ % AGENTS, name))
            bench_die("the floor has no user");
    }
    return BATCH;
}

static double visits_side(void *world, double seconds)
{
    return bench_alone(visits, world, seconds);
}

static double floor_visits_side(void *world, double seconds)
{
    return bench_alone(floor_visits, world, seconds);
}

/* Query the positions of users in the middle of the queue. */
static uint64_t places(void *world, unsigned thread)
{
    struct queue *w = world;

    (void)thread;
    for (unsigned i = 0; i < BATCH; i++) {
        char name[BENCH_NAME];
        struct ask_queue_seat seat;

        user_name(w->came - w->waiting / 2 + i * 7 % (w->waiting / 4), name);
        if (ask_queue_where(w->e, QUEUE, name, &seat) != USHER_OK || seat.index < 0)
            bench_die("%s does not wait: %s", name, usher_message());
    }
    return BATCH;
}

static double places_side(void *world, double seconds)
{
    return bench_alone(places, world, seconds);
}

static struct queue *queue_new(size_t waiting)
{
    struct queue *w = bench_alloc(1, sizeof *w);
    struct usher_queue_result_settings settings = { .ttl_ms = 0 };

    w->waiting = waiting;
    w->e = bench_open("memory:", NULL);
    w->floor = floor_queue_new(waiting + (size_t)2 * AGENTS, LANES, AGENTS);
    if (ask_queue_set(w->e, QUEUE, USHER_GIVEN_QUEUE_TTL, &settings) != USHER_OK)
        bench_die("%s", usher_message());
    for (unsigned i = 0; i < LANES; i++)
        (void)snprintf(w->lanes[i], sizeof w->lanes[i], "lane-%u", i);
    for (unsigned i = 0; i < AGENTS; i++) {
        unsigned one = i % LANES, other = (i + 1) % LANES;
        char name[BENCH_NAME], lanes[2 * BENCH_NAME];
        uint64_t login;

        (void)snprintf(name, sizeof name, "agent-%04u", i);
        (void)snprintf(lanes, sizeof lanes, "lane-%u,lane-%u", one, other);
        if (ask_queue_login(w->e, QUEUE, name, 1, lanes, 0, &login) != USHER_OK)
            bench_die("%s", usher_message());
        (void)snprintf(w->rooms[i], sizeof w->rooms[i], "%" PRIu64 ".1", login);
        floor_queue_login(w->floor, i, one, other);
    }
    for (unsigned i = 0; i < BATCH; i++) {
        w->commands[2 * i].verb = USHER_QUEUE_APPLY;
        w->commands[2 * i + 1].verb = USHER_QUEUE_FINISH;
        w->commands[2 * i].scope = w->commands[2 * i + 1].scope = text(QUEUE);
    }
    while (w->came < waiting + AGENTS) {
        struct ask_queue_apply_options opt = { 0 };
        struct ask_queue_seat seat;
        char name[BENCH_NAME];

        user_name(w->came, name);
        opt.lane = w->lanes[w->came++ % LANES];
        if (ask_queue_apply(w->e, QUEUE, name, &opt, &seat) != USHER_OK)
            bench_die("%s", usher_message());
    }
    while (w->floor_came < waiting + AGENTS) {
        char name[BENCH_NAME];
        uint64_t place;

        user_name(w->floor_came, name);
        (void)floor_queue_apply(w->floor, name, w->floor_came % LANES, &place);
        if (w->floor_came++ < AGENTS)
            (void)floor_queue_finish(w->floor, w->floor_agent++, name);
    }
    return w;
}

static void queue_free(struct queue *w)
{
    usher_close(w->e);
    floor_queue_free(w->floor);
    free(w);
}

void bench_queue(struct bench *b)
{
    static const struct bench_line ratio = {
        "P10",        "queue in memory: apply, seat, finish; 1,000 agents",
        "visits/s",   "structs, table and lists",
        BENCH_NO_BAR, 0
    };
    static const struct bench_line speed = { "P10",          "the same: visits a second",
                                             "visits/s",     "",
                                             BENCH_AT_LEAST, 1e6 };
    static const struct bench_line place = { "P10",         "position of one who waits",
                                             "positions/s", "where 1,000 wait",
                                             BENCH_AT_MOST, 5 };
    struct queue *large = queue_new(b->quick ? 20000 : 1000000), *small = queue_new(1000);
    struct bench_result result;

    result = bench_compare(b, &ratio, (struct bench_run){ visits_side, large },
                           (struct bench_run){ floor_visits_side, large });
    bench_value(b, &speed, result.ours);
    (void)bench_compare(b, &place, (struct bench_run){ places_side, large },
                        (struct bench_run){ places_side, small });
    queue_free(large);
    queue_free(small);
}

/* ---- P11 -------------------------------------------------------------------------- */

#define ROOM "hall"
#define TTL 15000

struct room {
    struct usher_engine *e;
    struct floor_room *floor;
    int64_t now;
    size_t n, next, floor_next;
    unsigned count;
    uint64_t values;
    char (*names)[BENCH_NAME];
    struct usher_operation commands[BATCH];
    struct usher_result replies[BATCH];
};

/* Advance the clock so that each member sends a heartbeat once in a third of its TTL. */
static void room_tick(struct room *w)
{
    if (w->next % (w->n / (TTL / 3) + 1) == 0)
        w->now++;
}

static uint64_t beats(void *world, unsigned thread)
{
    struct room *w = world;

    (void)thread;
    for (unsigned i = 0; i < BATCH; i++) {
        room_tick(w);
        w->commands[i].arg.room.member = text(w->names[w->next]);
        w->next = w->next + 1 < w->n ? w->next + 1 : 0;
    }
    execute(w->e, w->commands, w->replies, BATCH);
    return BATCH;
}

static uint64_t beats_one(void *world, unsigned thread)
{
    struct room *w = world;

    (void)thread;
    for (unsigned i = 0; i < BATCH; i++) {
        room_tick(w);
        if (ask_room_alive(w->e, ROOM, w->names[w->next], NULL, NULL, NULL) != USHER_OK)
            bench_die("%s", usher_message());
        w->next = w->next + 1 < w->n ? w->next + 1 : 0;
    }
    return BATCH;
}

static uint64_t floor_beats(void *world, unsigned thread)
{
    struct room *w = world;

    (void)thread;
    for (unsigned i = 0; i < BATCH; i++) {
        if (!floor_room_alive(w->floor, w->names[w->floor_next], w->now))
            bench_die("the floor has lost a member");
        w->floor_next = w->floor_next + 1 < w->n ? w->floor_next + 1 : 0;
    }
    return BATCH;
}

static double beats_side(void *world, double seconds)
{
    return bench_alone(beats, world, seconds);
}

static double beats_one_side(void *world, double seconds)
{
    return bench_alone(beats_one, world, seconds);
}

static double floor_beats_side(void *world, double seconds)
{
    return bench_alone(floor_beats, world, seconds);
}

static void join(struct room *w, size_t i)
{
    if (ask_room_join(w->e, ROOM, w->names[i], NULL) != USHER_OK)
        bench_die("%s", usher_message());
}

static struct room *room_new(size_t n, bool floor)
{
    struct room *w = bench_alloc(1, sizeof *w);
    struct usher_room_result_settings settings = { .ttl_ms = TTL, .log = 100 };

    w->n = n;
    w->e = open_at(&w->now);
    w->names = bench_alloc(n, sizeof *w->names);
    if (ask_room_open(w->e, ROOM, &settings) != USHER_OK)
        bench_die("%s", usher_message());
    if (floor)
        w->floor = floor_room_new(n);
    for (w->next = 0; w->next < n; w->next++) {
        (void)snprintf(w->names[w->next], sizeof w->names[w->next], "member-%07zu", w->next);
        room_tick(w);
        join(w, w->next);
        if (floor)
            floor_room_join(w->floor, w->names[w->next], w->now);
    }
    w->next = 0;
    for (unsigned i = 0; i < BATCH; i++) {
        w->commands[i].verb = USHER_ROOM_ALIVE;
        w->commands[i].scope = text(ROOM);
    }
    return w;
}

static void room_free(struct room *w)
{
    usher_close(w->e);
    if (w->floor != NULL)
        floor_room_free(w->floor);
    free(w->names);
    free(w);
}

static void beat_from(struct room *w, size_t first, int64_t span_ms)
{
    for (size_t i = first; i < w->n; i++) {
        if (span_ms != 0 && i % (w->n / (size_t)span_ms + 1) == 0)
            w->now++;
        if (ask_room_alive(w->e, ROOM, w->names[i], NULL, NULL, NULL) != USHER_OK)
            bench_die("%s", usher_message());
    }
}

/* One of a hundred members sends no more heartbeats and is swept out; then all come back.  Only the
 * sweep is timed: expired members a second. */
static double sweep_side(void *world, double seconds)
{
    struct room *w = world;
    size_t part = w->n / 100;
    double used = 0;
    uint64_t n = 0;

    beat_from(w, 0, 0);
    do {
        struct usher_result reply;
        uint64_t expired = 0;
        double begin;
        bool more;

        for (int i = 0; i < 2; i++) { /* 14 s at most, and 18.5 s at the sweep */
            w->now += TTL * 3 / 10;
            beat_from(w, part, TTL / 6);
        }
        w->now += TTL * 3 / 10;
        begin = bench_now(CLOCK_THREAD_CPUTIME_ID);
        do {
            if (ask_room_sweep(w->e, ROOM, 0, &reply) != USHER_OK)
                bench_die("%s", usher_message());
            expired += reply.of.room.count;
            more = reply.of.room.more;
            usher_result_done(&reply);
        } while (more);
        used += bench_now(CLOCK_THREAD_CPUTIME_ID) - begin;
        if (expired != part)
            bench_die("%" PRIu64 " members have gone, not %zu", expired, part);
        n += expired;
        for (size_t i = 0; i < part; i++)
            join(w, i);
    } while (used < seconds / 100);
    return (double)n / used;
}

static uint64_t snapshots(void *world, unsigned thread)
{
    struct room *w = world;
    uint64_t after = 0, n = 0;
    bool more;

    (void)thread;
    do {
        struct usher_result reply;

        if (ask_room_snapshot(w->e, ROOM, after, 0, 1000, &reply) != USHER_OK)
            bench_die("%s", usher_message());
        for (size_t i = 0; i < reply.of.room.n_rows; i++)
            n += reply.of.room.rows[i].kind == USHER_ROOM_ROW_MEMBER;
        more = reply.of.room.more;
        after = reply.of.room.since;
        usher_result_done(&reply);
    } while (more);
    if (n != w->n)
        bench_die("a snapshot has %" PRIu64 " members, not %zu", n, w->n);
    return n;
}

static double snapshots_side(void *world, double seconds)
{
    return bench_alone(snapshots, world, seconds);
}

static uint64_t alls(void *world, unsigned thread)
{
    struct room *w = world;

    (void)thread;
    for (unsigned i = 0; i < BATCH; i++) {
        char value[BENCH_NAME];
        struct usher_text t;

        (void)snprintf(value, sizeof value, "%" PRIu64, w->values++);
        t = text(value);
        if (ask_room_all(w->e, ROOM, "mode", &t) != USHER_OK)
            bench_die("%s", usher_message());
    }
    return BATCH;
}

static double alls_side(void *world, double seconds)
{
    return bench_alone(alls, world, seconds);
}

/* ---- a copy over a network, of a room that changes during the copy ---- */

#define COPY_MEMBERS 20000u
#define COPY_ANSWER_MS 20.0
#define COPY_CHANGES 50.0 /* a second */

static void until(double when)
{
    double left = when - bench_now(CLOCK_MONOTONIC);
    struct timespec pause;

    if (left <= 0)
        return;
    pause.tv_sec = (time_t)left;
    pause.tv_nsec = (long)((left - (double)pause.tv_sec) * 1e9);
    (void)nanosleep(&pause, NULL);
}

/* Let members leave and join until the number of changes is that of the elapsed time. */
static void copy_change(struct room *w, double began, double changes)
{
    while ((double)w->count < (bench_now(CLOCK_MONOTONIC) - began) * changes) {
        const char *name = w->names[(w->count++ * 7919u) % w->n];

        if (ask_room_leave(w->e, ROOM, name) == USHER_SAME &&
            ask_room_join(w->e, ROOM, name, NULL) != USHER_OK)
            bench_die("%s", usher_message());
    }
}

/* Return the seconds until the copy is current.  Each query takes COPY_ANSWER_MS, half of it to get
 * there. */
static double copy_seconds(struct room *w, double changes)
{
    struct usher_replica *r;
    char digest[33], copy[33];
    double began = bench_now(CLOCK_MONOTONIC), at = began;

    w->count = 0;
    if (usher_replica_open(ROOM, NULL, &r) != USHER_OK)
        bench_die("out of memory");
    while (!usher_replica_current(r)) {
        struct usher_replica_question q;
        struct usher_result reply;

        usher_replica_ask(r, &q);
        at = bench_now(CLOCK_MONOTONIC);
        until(at + COPY_ANSWER_MS / 2000);
        copy_change(w, began, changes);
        memset(&reply, 0, sizeof reply);
        if (q.kind == USHER_REPLICA_PULL)
            (void)ask_room_snapshot(w->e, ROOM, q.after, q.since, 1000, &reply);
        else
            (void)ask_room_changes(w->e, ROOM, q.since, 0, &reply);
        until(at + COPY_ANSWER_MS / 1000);
        (void)replica_take(r, &q, &reply);
        usher_result_done(&reply);
    }
    at = bench_now(CLOCK_MONOTONIC) - began;
    if (usher_room_digest(w->e, ROOM, NULL, NULL, digest) != USHER_OK ||
        usher_replica_digest(r, copy) != USHER_OK || strcmp(digest, copy) != 0)
        bench_die("the copy is not the room");
    usher_replica_close(r);
    return at;
}

/* ---- a meeting: all receive each change of one ---- */

#define MEETING 50u

static void count_notice(void *payload, const struct usher_notice *notice)
{
    struct room *w = payload;

    if (notice->verb == USHER_ROOM_MEMBER)
        w->count++;
}

static uint64_t changes(void *world, unsigned thread)
{
    struct room *w = world;

    (void)thread;
    w->count = 0;
    for (unsigned i = 0; i < BATCH; i++) {
        char value[BENCH_NAME];
        struct usher_text t;

        (void)snprintf(value, sizeof value, "%" PRIu64, w->values++);
        t = text(value);
        if (ask_room_member(w->e, ROOM, w->names[i % MEETING], "hand", &t, NULL) != USHER_OK)
            bench_die("%s", usher_message());
    }
    if (w->count != BATCH * MEETING)
        bench_die("%u notices of %u came", w->count, BATCH * MEETING);
    return BATCH;
}

static double changes_side(void *world, double seconds)
{
    return bench_alone(changes, world, seconds);
}

/* The longest step, in ms of processor time, in which a room of @n members closes. */
static double closing(size_t n)
{
    struct room *w = room_new(n, false);
    struct usher_operation c = { .verb = USHER_ROOM_CLOSE, .scope = text(ROOM) };
    struct usher_result reply;
    double worst = 0;

    do {
        double begin = bench_now(CLOCK_THREAD_CPUTIME_ID), step;

        execute(w->e, &c, &reply, 1);
        step = bench_now(CLOCK_THREAD_CPUTIME_ID) - begin;
        if (step > worst)
            worst = step;
    } while (reply.of.room.more);
    room_free(w);
    return worst * 1e3;
}

static struct bench_spread once(double value)
{
    return (struct bench_spread){ value, value, value };
}

static void meeting(struct bench *b)
{
    static const struct bench_line line = {
        "P11", "a meeting of 50, each change sent to all", "changes/s", "", BENCH_AT_LEAST, 1000
    };
    struct room *w = room_new(MEETING, false);
    struct usher_watcher *watches[MEETING];
    struct bench_run run = { changes_side, w };
    double speeds[BENCH_ROUNDS_MAX][BENCH_SIDES_MAX], values[BENCH_ROUNDS_MAX];

    for (unsigned i = 0; i < MEETING; i++)
        if (usher_watch(w->e, USHER_ROOM, ROOM, count_notice, w, &watches[i]) != USHER_OK)
            bench_die("%s", usher_message());
    bench_rounds(b, &run, 1, speeds);
    for (unsigned r = 0; r < b->rounds; r++)
        values[r] = speeds[r][0];
    bench_value(b, &line, bench_spread(values, b->rounds));
    for (unsigned i = 0; i < MEETING; i++)
        usher_unwatch(w->e, watches[i]);
    room_free(w);
}

void bench_room(struct bench *b)
{
    static const struct bench_line batches = {
        "P11",        "room in memory: heartbeats in turn, in batches of 64",
        "beats/s",    "structs, table and list",
        BENCH_NO_BAR, 0
    };
    static const struct bench_line one = { "P11",        "the same one by one",
                                           "beats/s",    "structs, table and list",
                                           BENCH_NO_BAR, 0 };
    static const struct bench_line speed = { "P11",          "heartbeats a second in batches",
                                             "beats/s",      "",
                                             BENCH_AT_LEAST, 3e6 };
    static const struct bench_line sweep = { "P11",         "sweep of one member in a hundred",
                                             "expired/s",   "the same with 10,000 members",
                                             BENCH_AT_MOST, 5 };
    static const struct bench_line all = { "P11",         "a value for all members",
                                           "commands/s",  "the same with 10,000 members",
                                           BENCH_AT_MOST, 2 };
    static const struct bench_line snapshot = { "P11",        "snapshots of 10,000 members",
                                                "members/s",  "",
                                                BENCH_NO_BAR, 0 };
    static const struct bench_line close = { "P11",        "closing a room: its longest step",
                                             "ms",         "",
                                             BENCH_NO_BAR, 0 };
    size_t n = b->quick ? 20000 : 1000000;
    struct room *large = room_new(n, true), *small = room_new(10000, false);
    struct bench_run run = { snapshots_side, small };
    double speeds[BENCH_ROUNDS_MAX][BENCH_SIDES_MAX], values[BENCH_ROUNDS_MAX];
    struct bench_result result;

    result = bench_compare(b, &batches, (struct bench_run){ beats_side, large },
                           (struct bench_run){ floor_beats_side, large });
    bench_value(b, &speed, result.ours);
    (void)bench_compare(b, &one, (struct bench_run){ beats_one_side, large },
                        (struct bench_run){ floor_beats_side, large });
    (void)bench_compare(b, &sweep, (struct bench_run){ sweep_side, large },
                        (struct bench_run){ sweep_side, small });
    (void)bench_compare(b, &all, (struct bench_run){ alls_side, large },
                        (struct bench_run){ alls_side, small });
    bench_rounds(b, &run, 1, speeds);
    for (unsigned r = 0; r < b->rounds; r++)
        values[r] = speeds[r][0];
    bench_value(b, &snapshot, bench_spread(values, b->rounds));
    room_free(large);
    room_free(small);
    meeting(b);
    bench_value(b, &close, once(closing(n)));
}

/* ---- P18 -------------------------------------------------------------------------- */

void bench_copy(struct bench *b)
{
    static const struct bench_line busy = { "P18",
                                            "copy of a room of 20,000, 50 changes a second",
                                            "of a quiet copy",
                                            "",
                                            BENCH_AT_MOST,
                                            1.2 };
    struct room *w = room_new(b->quick ? COPY_MEMBERS / 10 : COPY_MEMBERS, false);
    double values[BENCH_ROUNDS_MAX];

    for (unsigned r = 0; r < b->rounds; r++) {
        double quiet = copy_seconds(w, 0);

        values[r] = copy_seconds(w, COPY_CHANGES) / quiet;
    }
    bench_value(b, &busy, bench_spread(values, b->rounds));
    room_free(w);
}

/* ---- P13 -------------------------------------------------------------------------- */

struct serials {
    struct usher_engine *e;
    bool waits; /* for a server: by the clock */
    int64_t batch, floor_at;
    char texts[1000 * (USHER_SERIAL_TEXT_MAX + 1)];
};

static uint64_t takes(void *world, unsigned thread)
{
    struct serials *w = world;
    struct usher_result reply;
    uint64_t n;

    (void)thread;
    if (ask_serial_take(w->e, "invoice", w->batch, NULL, &reply) != USHER_OK)
        bench_die("%s", usher_message());
    n = usher_serial_texts(&reply, 0, w->texts, sizeof w->texts);
    if (n != (uint64_t)w->batch)
        bench_die("%" PRIu64 " serials printed, not %" PRId64, n, w->batch);
    usher_result_done(&reply);
    return n;
}

static uint64_t floor_takes(void *world, unsigned thread)
{
    struct serials *w = world;
    time_t now = time(NULL);
    struct tm tm;
    char date[BENCH_NAME], *at = w->texts;

    (void)thread;
    if (gmtime_r(&now, &tm) == NULL || strftime(date, sizeof date, "%Y%m%d-", &tm) == 0)
        bench_die("strftime");
    for (int64_t i = 0; i < w->batch; i++)
        at += snprintf(at, USHER_SERIAL_TEXT_MAX + 1, "INV-%s%012" PRId64, date, ++w->floor_at) + 1;
    return (uint64_t)w->batch;
}

static double takes_side(void *world, double seconds)
{
    const struct serials *w = world;

    return (w->waits ? bench_waiting : bench_alone)(takes, world, seconds);
}

static double floor_takes_side(void *world, double seconds)
{
    return bench_alone(floor_takes, world, seconds);
}

void bench_serials_on(struct bench *b, const char *url, const char *store, bool waits,
                      int64_t batch, double limit)
{
    char what[96];
    const struct bench_line ratio = { "P13", what, "serials/s", "snprintf()", BENCH_NO_BAR, 0 };
    const struct bench_line speed = { "P13", what, "serials/s", "", BENCH_AT_LEAST, limit };
    struct serials *w = bench_alloc(1, sizeof *w);
    struct usher_serial_form form = { .prefix = "INV-", .date = "%Y%m%d-", .width = 12 };
    struct bench_result result;

    w->e = bench_open(url, NULL);
    w->waits = waits;
    w->batch = batch;
    if (ask_serial_rule(w->e, "invoice",
                        USHER_GIVEN_SERIAL_PREFIX | USHER_GIVEN_SERIAL_DATE |
                            USHER_GIVEN_SERIAL_WIDTH,
                        &form) != USHER_OK)
        bench_die("%s", usher_message());
    (void)snprintf(what, sizeof what, "serials in %s, taken and printed in batches of %" PRId64,
                   store, batch);
    result = bench_compare(b, &ratio, (struct bench_run){ takes_side, w },
                           (struct bench_run){ floor_takes_side, w });
    (void)snprintf(what, sizeof what, "the same: serials a second");
    bench_value(b, &speed, result.ours);
    usher_close(w->e);
    free(w);
}

void bench_serials(struct bench *b)
{
    bench_serials_on(b, "memory:", "memory", false, 1000, 10e6);
}
