/* SPDX-License-Identifier: MIT */
/*
 * P4 to P6: the store in SQLite against raw prepared statements; and its row of P10, the position
 * of one of many waiting users.  Both files are in the same folder ($TMPDIR or /tmp); whether it is
 * a disk decides what the figures mean.
 */
#include "config.h"

#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "floor_sqlite.h"
#include "lib/calls.h"

#define POOL "desk"
#define CALLERS 64u

struct raw {
    struct floor_sqlite *db;
    struct bench_owners *owners;
    char path[256];
};

static void raw_open(struct raw *w, size_t n)
{
    w->db = floor_sqlite_open(bench_path(w->path, "raw.db"), n);
    w->owners = bench_owners(0, 1000);
}

static void raw_close(struct raw *w)
{
    floor_sqlite_close(w->db);
    free(w->owners);
    bench_unlink(w->path);
}

static uint64_t raw_pair(void *world, unsigned thread)
{
    struct raw *w = world;
    struct floor_hold hold;

    (void)thread;
    floor_sqlite_begin(w->db);
    floor_sqlite_call(w->db, bench_next(w->owners), &hold);
    floor_sqlite_commit(w->db);
    floor_sqlite_begin(w->db);
    floor_sqlite_hangup(w->db, hold.number, hold.token);
    floor_sqlite_commit(w->db);
    return 1;
}

/* 64 calls in one transaction, their hangups in the next. */
static uint64_t raw_pairs(void *world, unsigned thread)
{
    struct raw *w = world;
    struct floor_hold hold[CALLERS];

    (void)thread;
    floor_sqlite_begin(w->db);
    for (unsigned i = 0; i < CALLERS; i++)
        floor_sqlite_call(w->db, bench_next(w->owners), &hold[i]);
    floor_sqlite_commit(w->db);
    floor_sqlite_begin(w->db);
    for (unsigned i = 0; i < CALLERS; i++)
        floor_sqlite_hangup(w->db, hold[i].number, hold[i].token);
    floor_sqlite_commit(w->db);
    return CALLERS;
}

static double raw_side(void *world, double seconds)
{
    return bench_waiting(raw_pair, world, seconds);
}

static double raw_batch_side(void *world, double seconds)
{
    return bench_waiting(raw_pairs, world, seconds);
}

/* ---- ours ------------------------------------------------------------------------- */

struct file {
    struct usher_engine *e;
    struct bench_pool pool[CALLERS];
    char path[256];
};

static void file_open(struct file *w, const char *name, size_t n)
{
    char url[300];

    (void)bench_path(w->path, name);
    bench_unlink(w->path);
    (void)snprintf(url, sizeof url, "sqlite:%s?sync=off", w->path);
    w->e = bench_open(url, NULL);
    bench_fill(w->e, POOL, n);
    usher_close(w->e);
    (void)snprintf(url, sizeof url, "sqlite:%s?timeout=60000", w->path);
    w->e = bench_open(url, NULL);
    for (unsigned i = 0; i < CALLERS; i++)
        w->pool[i] = (struct bench_pool){ w->e, POOL, bench_owners(i, 16) };
}

static void file_close(struct file *w)
{
    usher_close(w->e);
    for (unsigned i = 0; i < CALLERS; i++)
        free(w->pool[i].owners);
    bench_unlink(w->path);
}

static double one_side(void *world, double seconds)
{
    struct file *w = world;

    return bench_waiting(bench_pair, &w->pool[0], seconds) / 2;
}

static double many_side(void *world, double seconds)
{
    struct file *w = world;
    void *worlds[CALLERS];

    for (unsigned i = 0; i < CALLERS; i++)
        worlds[i] = &w->pool[i];
    return bench_threads(bench_pair, worlds, CALLERS, seconds) / 2;
}

void bench_sqlite_one(struct bench *b)
{
    static const struct bench_line line = {
        "P4",           "SQLite, durable: one caller, 10,000 numbers",
        "pairs/s",      "raw statements, a transaction each",
        BENCH_AT_LEAST, 0.9
    };
    struct file ours;
    struct raw raw;

    file_open(&ours, "usher.db", 10000);
    raw_open(&raw, 10000);
    (void)bench_compare(b, &line, (struct bench_run){ one_side, &ours },
                        (struct bench_run){ raw_side, &raw });
    raw_close(&raw);
    file_close(&ours);
}

void bench_sqlite_many(struct bench *b)
{
    static const struct bench_line line = {
        "P5",           "SQLite, durable: 64 callers, 10,000 numbers",
        "pairs/s",      "raw statements, 64 a transaction",
        BENCH_AT_LEAST, 0.7
    };
    static const struct bench_line gain = {
        "P5", "SQLite, durable: 64 callers against one", "pairs/s", "one caller", BENCH_AT_LEAST, 12
    };
    struct file ours;
    struct raw raw;

    file_open(&ours, "usher.db", 10000);
    raw_open(&raw, 10000);
    (void)bench_compare(b, &line, (struct bench_run){ many_side, &ours },
                        (struct bench_run){ raw_batch_side, &raw });
    (void)bench_compare(b, &gain, (struct bench_run){ many_side, &ours },
                        (struct bench_run){ one_side, &ours });
    raw_close(&raw);
    file_close(&ours);
}

void bench_sqlite_sizes(struct bench *b)
{
    char what[2][96];
    const struct bench_line one = { "P6",           what[0], "pairs/s", "the same with 10,000",
                                    BENCH_AT_LEAST, 0.8 };
    const struct bench_line many = { "P6",           what[1], "pairs/s", "the same with 10,000",
                                     BENCH_AT_LEAST, 0.8 };
    size_t n = b->quick ? 50000 : 1000000;
    struct file small, large;

    (void)snprintf(what[0], sizeof what[0], "SQLite, durable: one caller, %zu numbers", n);
    (void)snprintf(what[1], sizeof what[1], "SQLite, durable: 64 callers, %zu numbers", n);
    file_open(&small, "small.db", 10000);
    file_open(&large, "large.db", n);
    (void)bench_compare(b, &one, (struct bench_run){ one_side, &large },
                        (struct bench_run){ one_side, &small });
    (void)bench_compare(b, &many, (struct bench_run){ many_side, &large },
                        (struct bench_run){ many_side, &small });
    file_close(&large);
    file_close(&small);
}

/* ---- places in a queue ------------------------------------------------------------ */

#define QUEUE "line"

struct line {
    struct usher_engine *e;
    size_t n;      /* waiting users */
    size_t at;     /* the last one whose position was queried */
    unsigned step; /* the distance from that to the next one */
};

static void line_fill(struct usher_engine *e, size_t n)
{
    enum { MANY = 1024 };
    struct usher_queue_result_settings forever = { .ttl_ms = 0 };
    struct usher_operation *commands = bench_alloc(MANY, sizeof *commands);
    struct usher_result *replies = bench_alloc(MANY, sizeof *replies);
    char(*names)[BENCH_NAME] = bench_alloc(MANY, BENCH_NAME);

    if (ask_queue_set(e, QUEUE, USHER_GIVEN_QUEUE_TTL, &forever) != USHER_OK ||
        ask_queue_login(e, QUEUE, "ann", 1, NULL, 0, NULL) != USHER_OK)
        bench_die("%s", usher_message());
    for (size_t from = 0; from <= n; from += MANY) { /* one of them gets the room */
        size_t k = n + 1 - from < MANY ? n + 1 - from : MANY;

        for (size_t i = 0; i < k; i++) {
            bench_number(from + i, names[i]);
            commands[i].verb = USHER_QUEUE_APPLY;
            commands[i].scope = (struct usher_text){ QUEUE, strlen(QUEUE) };
            commands[i].arg.queue.user = (struct usher_text){ names[i], strlen(names[i]) };
        }
        if (usher_operate(e, commands, replies, k) != USHER_OK)
            bench_die("cannot fill the queue: %s", usher_message());
    }
    free(commands);
    free(replies);
    free(names);
}

static uint64_t line_ask(void *world, unsigned thread)
{
    struct line *w = world;
    struct ask_queue_seat seat;
    char name[BENCH_NAME];

    (void)thread;
    w->at = (w->at + w->step) % w->n;
    bench_number(w->at + 1, name);
    if (ask_queue_where(w->e, QUEUE, name, &seat) != USHER_OK || seat.index != (int64_t)w->at)
        bench_die("a user is not at its position: %s", usher_message());
    return 1;
}

void bench_sqlite_places(struct bench *b)
{
    char path[256], url[300], what[80];
    const struct bench_line line = { "P10", what, "ms", "", BENCH_AT_MOST, 1 };
    struct line w = { .n = b->quick ? 10000 : 100000, .step = 7919 };
    double ms[BENCH_ROUNDS_MAX];

    (void)snprintf(what, sizeof what, "SQLite, durable: the position of one of %zu users", w.n);
    (void)bench_path(path, "line.db");
    bench_unlink(path);
    (void)snprintf(url, sizeof url, "sqlite:%s?sync=off", path);
    w.e = bench_open(url, NULL);
    line_fill(w.e, w.n);
    usher_close(w.e);
    (void)snprintf(url, sizeof url, "sqlite:%s", path);
    w.e = bench_open(url, NULL);
    for (unsigned r = 0; r < b->rounds; r++)
        ms[r] = 1000 / bench_waiting(line_ask, &w, b->seconds);
    bench_value(b, &line, bench_spread(ms, b->rounds));
    usher_close(w.e);
    bench_unlink(path);
}
