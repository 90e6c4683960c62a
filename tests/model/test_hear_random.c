/* SPDX-License-Identifier: MIT */
/*
 * A random walk of a room, and a copy of it that is made from events alone: notices of a watcher
 * with `since`, gaps, and replies to what the copy asks, which is posted.  Whenever all events are
 * collected the copy has the digest of the room.  During the walk the room closes and opens, its
 * log is short, few events may wait, and another engine writes to it.
 *
 * A second watcher, without a log, gets each change of its engine once, before the reply.
 *
 * USHER_SEED, USHER_STEPS.
 */
#include "lib/test.h"

#include <poll.h>

#include <usher/command.h>
#include <usher/replica.h>

#include "lib/calls.h"
#include "lib/hooks.h"
#include "lib/command_line.h"
#include "lib/stores.h"
#include "model/gen.h"

#define ROOM "lobby"
#define FEED ((void *)1)
#define LIVE ((void *)2)
#define ASKED ((void *)3)
#define POSTED ((void *)4)

struct walk {
    struct rng rng;
    uint64_t seed;
    struct hooks hooks;
    struct usher_engine *e, *other; /* other NULL: the store is of one engine only */
    struct usher_replica *r;
    uint64_t ticket;
    bool asks;

    /* the last of FEED's notices: 0,0 is none, or no room */
    uint64_t epoch, version;
    bool closing;                      /* a notice reported that the room is */
    uint64_t live_epoch, live_version; /* LIVE: the last one */
    bool live_whole;                   /* no gap since */
    unsigned n_posted;                 /* and not answered, but for what the copy asks for */
    unsigned long notices, gaps, pulls, checks, lives;
};

static void collect(struct walk *w, bool all);

/* When too many are posted, some are collected first. */
static void post(struct walk *w, const struct usher_command *c, int64_t timeout_ms)
{
    enum usher_status status = usher_post(w->e, c, 1, timeout_ms);

    while (status == USHER_FULL) {
        collect(w, false);
        status = usher_post(w->e, c, 1, timeout_ms);
    }
    assert_int_equal(status, USHER_OK);
}

static void do_line(struct walk *w, struct usher_engine *e)
{
    static const char *const lines[] = {
        "room set lobby f%u v%u",      "room set lobby f%u v%u", "room unset lobby f%u",
        "room join lobby m%u k=v%u",   "room join lobby m%u",    "room leave lobby m%u",
        "room kick lobby m%u",         "room all lobby f%u v%u", "room member lobby m%u k v%u",
        "room role lobby r%u m%u",     "room lock lobby",        "room unlock lobby",
        "room share lobby m%u s%u",    "room unshare lobby s%u", "room alive lobby m%u",
        "room sweep lobby ttl=100000",
    };
    char line[96];
    struct usher_result r;

    if (rng_below(&w->rng, 150) == 0) {
        assert_true(USHER_IS_DONE(ask_room_close(e, ROOM)));
        return;
    }
    if (rng_below(&w->rng, 40) == 0)
        (void)snprintf(line, sizeof line, "room open lobby log=%u presence=%u",
                       1 + (unsigned)rng_below(&w->rng, 40),
                       rng_chance(&w->rng, 50) ? 0 : 1 + (unsigned)rng_below(&w->rng, 2000));
    else {
        const char *format = lines[rng_below(&w->rng, sizeof lines / sizeof *lines)];
        unsigned a = (unsigned)rng_below(&w->rng, 4), b = (unsigned)rng_below(&w->rng, 4);

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        (void)snprintf(line, sizeof line, format, a, b);
#pragma GCC diagnostic pop
    }
    if (rng_chance(&w->rng, 50) || e != w->e) {
        enum usher_status status = line_execute(e, &r, "%s", line);

        if (status > USHER_INVALID)
            fail_msg("seed %" PRIu64 ": %s: %s", w->seed, line, r.message);
        usher_result_done(&r);
    } else {
        struct usher_value v[] = { USHER_T(USHER_FIELD_FIELD, "posted"),
                                   USHER_T(USHER_FIELD_VALUE, "0"), USHER_N(USHER_FIELD_WAIT, 1) };
        bool waits = rng_below(&w->rng, 200) == 0; /* for a replica, and Redis has none */
        struct usher_command c = { USHER_ROOM_SET, USHER_TO_NUL, ROOM, v, waits ? 3 : 2, POSTED };
        char value[24];

        (void)snprintf(value, sizeof value, "%u", (unsigned)rng_below(&w->rng, 1000));
        v[1].text = value;
        post(w, &c, waits ? 300 : 0);
        w->n_posted++;
    }
}

/* Post what the copy asks for. */
static void ask(struct walk *w)
{
    struct usher_replica_question q;
    struct usher_value v[2];
    struct usher_command c = { USHER_ROOM_CHANGES, USHER_TO_NUL, ROOM, v, 0, ASKED };

    if (w->asks || usher_replica_missing(w->r) == USHER_REPLICA_IGNORE)
        return;
    usher_replica_ask(w->r, &q);
    v[c.n++] = (struct usher_value)USHER_N(USHER_FIELD_SINCE_VERSION, (int64_t)q.since);
    if (q.kind == USHER_REPLICA_PULL) {
        c.verb = USHER_ROOM_SNAPSHOT;
        v[c.n++] = (struct usher_value)USHER_N(USHER_FIELD_AFTER, (int64_t)q.after);
        if (q.since == 0 && q.after == 0)
            c.n = 0;
        w->pulls++;
    }
    w->ticket = q.ticket;
    w->asks = true;
    post(w, &c, 0);
}

/* As at the other end of a network. */
static void feed_bytes(struct walk *w, const struct usher_event *event)
{
    static unsigned char bytes[32768];
    size_t size = usher_event_pack(event, bytes, sizeof bytes);
    struct usher_notice n;
    uint32_t kind;

    assert_true(size <= sizeof bytes);
    assert_int_equal(usher_event_unpack(bytes, size, &kind, &n), USHER_OK);
    assert_int_equal(kind, USHER_EVENT_NOTICE);
    (void)usher_replica_notice(w->r, &n);
}

static void feed(struct walk *w, const struct usher_event *event)
{
    const struct usher_notice *n = event->notice;

    if (event->kind == USHER_EVENT_GAP) {
        w->gaps++;
        if (n->before != w->version && !(w->closing && n->before == 0))
            fail_msg("seed %" PRIu64 ": a gap behind %" PRIu64 ", not %" PRIu64, w->seed, n->before,
                     w->version);
        w->closing = false;
        (void)usher_replica_heartbeat(w->r, n->epoch, n->version, n->mark);
        w->epoch = n->epoch;
        w->version = n->version;
        return;
    }
    w->notices++;
    if (n->verb == USHER_NOTICE_LOST)
        return;
    if (w->closing && n->epoch != w->epoch) /* the end of what closes may be left out */
        w->epoch = w->version = 0;
    if (n->before != w->version || (w->epoch != 0 && n->epoch != w->epoch))
        fail_msg("seed %" PRIu64 ": %" PRIu64 " follows on %" PRIu64 ", not on %" PRIu64, w->seed,
                 n->version, n->before, w->version);
    feed_bytes(w, event);
    w->epoch = n->epoch;
    w->version = n->version;
    w->closing = n->verb == USHER_ROOM_CLOSE || n->verb == USHER_ROOM_EMPTY;
    if (n->verb == USHER_ROOM_DONE)
        w->epoch = w->version = 0;
}

static void live(struct walk *w, const struct usher_event *event)
{
    const struct usher_notice *n = event->notice;

    if (event->kind == USHER_EVENT_GAP) {
        w->live_whole = false;
        return;
    }
    w->lives++;
    assert_true(n->epoch != w->live_epoch || n->version > w->live_version);
    if (w->other == NULL && w->live_whole && n->epoch == w->live_epoch)
        assert_int_equal(n->before, w->live_version);
    w->live_whole = true;
    w->live_epoch = n->epoch;
    w->live_version = n->version;
}

static void collect(struct walk *w, bool all)
{
    do {
        const struct usher_event *event = usher_collect(w->e, 0);

        if (event == NULL) {
            if (usher_timeout(w->e) != 0)
                break;
            continue;
        }
        if (event->tag == FEED) {
            feed(w, event);
        } else if (event->tag == LIVE) {
            live(w, event);
        } else if (event->tag == ASKED) {
            w->asks = false;
            (void)usher_replica_answer(w->r, w->ticket, event->reply);
        } else {
            assert_ptr_equal(event->tag, POSTED);
            w->n_posted--;
            /* some have 300 ms only */
            assert_true(event->reply->status != USHER_INVALID &&
                        event->reply->status != USHER_NOMEM);
        }
        usher_event_done(event);
        ask(w);
    } while (all || rng_below(&w->rng, 10) != 0);
}

static bool is_older(const struct walk *w, uint64_t epoch, uint64_t version)
{
    return w->version != version || w->epoch != epoch || !usher_replica_current(w->r);
}

/* All that is there is collected: the copy is the room. */
static void check(struct walk *w)
{
    char digest[33] = "", copy[33] = "";
    uint64_t epoch = 0, version = 0;
    struct usher_result r;

    /* sends coalesced notices, and returns the changes of the other engine */
    (void)line_execute(w->e, &r, "room open lobby");
    usher_result_done(&r);
    (void)line_execute(w->e, &r, "room set lobby check %" PRIu64, (uint64_t)w->checks++);
    usher_result_done(&r);
    for (int tries = 0; tries == 0 || (tries < 1000 && is_older(w, epoch, version)); tries++) {
        struct pollfd fd = { usher_fd(w->e), POLLIN, 0 };

        if (tries > 0) /* what a server is asked for is on its way */
            (void)poll(&fd, 1, 10);
        collect(w, true);
        if (usher_room_digest(w->e, ROOM, &epoch, &version, digest) != USHER_OK)
            fail_msg("seed %" PRIu64 ": digest: %s", w->seed, usher_message());
    }
    if (is_older(w, epoch, version))
        fail_msg("seed %" PRIu64 ": told %" PRIu64 " of %" PRIx64 ", the room has %" PRIu64
                 " of %" PRIx64 "; current: %d",
                 w->seed, w->version, w->epoch, version, epoch, usher_replica_current(w->r));
    assert_int_equal(usher_replica_digest(w->r, copy), USHER_OK);
    if (strcmp(digest, copy) != 0)
        fail_msg("seed %" PRIu64 ": another digest at %" PRIu64, w->seed, version);
}

static void walk(const struct test_store *store, uint64_t seed, uint64_t steps, struct walk *sum)
{
    struct usher_options opt = USHER_OPTIONS_INIT;
    struct usher_watcher *fed, *lives;
    struct usher_result result;
    char url[STORE_URL_MAX];
    struct walk w;

    memset(&w, 0, sizeof w);
    w.seed = seed;
    rng_seed(&w.rng, seed);
    hooks_alloc(&w.hooks, &opt);
    opt.backlog = rng_chance(&w.rng, 50) ? 1 + (size_t)rng_below(&w.rng, 8) : 1000;
    assert_true(store->fresh(url));
    if (strcmp(store->name, "sqlite") == 0 && strchr(url, '?') == NULL)
        (void)strncat(url, "?sync=off", sizeof url - strlen(url) - 1);
    assert_int_equal(usher_open(url, &opt, &w.e), USHER_OK);
    if (strcmp(store->name, "memory") != 0 && rng_chance(&w.rng, 70))
        assert_int_equal(usher_open(url, NULL, &w.other), USHER_OK);
    assert_int_equal(usher_replica_open(ROOM, NULL, &w.r), USHER_OK);
    if (rng_chance(&w.rng, 50)) {
        (void)line_execute(w.e, &result, "room open lobby log=30");
        usher_result_done(&result);
        for (unsigned i = 0; i < 25; i++)
            do_line(&w, w.e);
        /* commands without an answer when a watcher without a log begins may not reach it */
        for (unsigned i = 0; i < 1000 && w.n_posted > 0; i++) {
            struct pollfd fd = { usher_fd(w.e), POLLIN, 0 };

            (void)poll(&fd, 1, 10);
            collect(&w, true);
        }
        assert_int_equal(w.n_posted, 0);
    }
    assert_int_equal(
        usher_watch_events(w.e, USHER_ROOM, ROOM,
                           USHER_WATCH_SINCE | (rng_chance(&w.rng, 20) ? USHER_WATCH_ALL : 0), 0,
                           FEED, &fed),
        USHER_OK);
    assert_int_equal(usher_watch_events(w.e, USHER_ROOM, NULL, 0, 0, LIVE, &lives), USHER_OK);
    ask(&w);
    for (uint64_t i = 0; i < steps; i++) {
        uint64_t dice = rng_below(&w.rng, 100);

        if (dice < 3)
            check(&w);
        else if (dice < 15)
            collect(&w, false);
        else
            do_line(&w, w.other != NULL && dice > 75 ? w.other : w.e);
    }
    check(&w);
    usher_unwatch(w.e, fed);
    usher_unwatch(w.e, lives);
    usher_replica_close(w.r);
    usher_close(w.other);
    usher_close(w.e);
    assert_null(hooks_fault(&w.hooks));
    sum->notices += w.notices;
    sum->gaps += w.gaps;
    sum->pulls += w.pulls;
    sum->checks += w.checks;
    sum->lives += w.lives;
}

static void walks(const char *name)
{
    const struct test_store *store = stores_named(name);
    uint64_t given = number_from("USHER_SEED", 0), steps = budget_of("USHER_STEPS", 20000);
    struct walk sum;

    if (store == NULL) {
        stores_skip(name);
        return;
    }
    memset(&sum, 0, sizeof sum);
    if (given != 0) {
        walk(store, given, 400, &sum);
        return;
    }
    for (uint64_t i = 0; i < steps / 400 + 1; i++)
        walk(store, (uint64_t)time(NULL) * 1000 + i, 400, &sum);
    print_message("%s: %lu checks, %lu notices, %lu gaps, %lu pulls; %lu without a log\n", name,
                  sum.checks, sum.notices, sum.gaps, sum.pulls, sum.lives);
    assert_true(sum.checks > 0 && sum.notices > 0 && sum.lives > 0);
}

TEST(copy_made_from_events_equals_the_room_on_memory)
{
    walks("memory");
}

TEST(copy_made_from_events_equals_the_room_on_sqlite)
{
    walks("sqlite");
}

TEST(copy_made_from_events_equals_the_room_on_redis)
{
    walks("redis");
}

TEST_PROGRAM(stores_start, stores_stop);
