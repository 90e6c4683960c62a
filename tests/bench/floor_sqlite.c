/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "floor_sqlite.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sqlite3.h>

#include "bench.h"

/* Not RETURNING: SQLite 3.40 makes a table for it each time. */
#define STATEMENTS(X)                                                                  \
    X(BEGIN, "BEGIN IMMEDIATE")                                                        \
    X(COMMIT, "COMMIT")                                                                \
    X(HELD, "SELECT number, token FROM number WHERE owner = ?1")                       \
    X(FREE, "SELECT number FROM number WHERE busy = 0 ORDER BY ord LIMIT 1")           \
    X(LOOK, "SELECT busy, token FROM number WHERE number = ?1")                        \
    X(NOW, "SELECT version FROM pool")                                                 \
    X(RAISE, "UPDATE pool SET version = ?1")                                           \
    X(TAKE, "UPDATE number SET busy = 1, owner = ?2, token = ?3, ord = ?3, used = ?4," \
            " calls = calls + 1 WHERE number = ?1")                                    \
    X(RELEASE, "UPDATE number SET busy = 0, owner = NULL, ord = ?2 WHERE number = ?1") \
    X(ADD, "INSERT INTO number VALUES(?1, 0, NULL, 0, ?2, 0, 0)")

enum {
#define X(name, text) name,
    STATEMENTS(X)
#undef X
        N_STATEMENTS
};

static const char *const texts[] = {
#define X(name, text) [name] = (text),
    STATEMENTS(X)
#undef X
};

struct floor_sqlite {
    sqlite3 *db;
    sqlite3_stmt *statement[N_STATEMENTS];
};

static void die(struct floor_sqlite *f)
{
    bench_die("raw statements: %s", sqlite3_errmsg(f->db));
}

/* One row or none. */
static bool step(struct floor_sqlite *f, int i)
{
    int rc = sqlite3_step(f->statement[i]);

    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        die(f);
    return rc == SQLITE_ROW;
}

/* Before the next bindings. */
static void reset(struct floor_sqlite *f, int i)
{
    (void)sqlite3_reset(f->statement[i]);
}

static void run(struct floor_sqlite *f, int i)
{
    (void)step(f, i);
    reset(f, i);
}

static void bind_text(struct floor_sqlite *f, int i, int at, const char *text)
{
    if (sqlite3_bind_text(f->statement[i], at, text, -1, SQLITE_STATIC) != SQLITE_OK)
        die(f);
}

static void bind_int(struct floor_sqlite *f, int i, int at, int64_t value)
{
    if (sqlite3_bind_int64(f->statement[i], at, value) != SQLITE_OK)
        die(f);
}

static int64_t version_next(struct floor_sqlite *f)
{
    int64_t version;

    if (!step(f, NOW))
        die(f);
    version = sqlite3_column_int64(f->statement[NOW], 0) + 1;
    reset(f, NOW);
    bind_int(f, RAISE, 1, version);
    run(f, RAISE);
    return version;
}

struct floor_sqlite *floor_sqlite_open(const char *path, size_t n)
{
    struct floor_sqlite *f = bench_alloc(1, sizeof *f);

    bench_unlink(path);
    if (sqlite3_open(path, &f->db) != SQLITE_OK ||
        sqlite3_exec(f->db,
                     "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                     "CREATE TABLE number(number TEXT PRIMARY KEY, busy INTEGER, owner TEXT,"
                     " token INTEGER, ord INTEGER, used INTEGER, calls INTEGER) WITHOUT ROWID;"
                     "CREATE INDEX free ON number(ord) WHERE busy = 0;"
                     "CREATE INDEX held ON number(owner) WHERE owner IS NOT NULL;"
                     "CREATE TABLE pool(version INTEGER); INSERT INTO pool VALUES(0);",
                     NULL, NULL, NULL) != SQLITE_OK)
        die(f);
    for (int i = 0; i < N_STATEMENTS; i++)
        if (sqlite3_prepare_v3(f->db, texts[i], -1, SQLITE_PREPARE_PERSISTENT, &f->statement[i],
                               NULL) != SQLITE_OK)
            die(f);
    floor_sqlite_begin(f);
    for (size_t i = 0; i < n; i++) {
        char number[BENCH_NAME];

        bench_number(i, number);
        bind_text(f, ADD, 1, number);
        bind_int(f, ADD, 2, version_next(f));
        run(f, ADD);
    }
    floor_sqlite_commit(f);
    return f;
}

void floor_sqlite_close(struct floor_sqlite *f)
{
    for (int i = 0; i < N_STATEMENTS; i++)
        (void)sqlite3_finalize(f->statement[i]);
    (void)sqlite3_close(f->db);
    free(f);
}

void floor_sqlite_begin(struct floor_sqlite *f)
{
    run(f, BEGIN);
}

void floor_sqlite_commit(struct floor_sqlite *f)
{
    run(f, COMMIT);
}

static void copy_number(struct floor_sqlite *f, int i, struct floor_hold *ret_hold)
{
    const char *number = (const char *)sqlite3_column_text(f->statement[i], 0);

    if (number == NULL || strlen(number) >= FLOOR_NAME)
        die(f);
    memcpy(ret_hold->number, number, strlen(number) + 1);
}

void floor_sqlite_call(struct floor_sqlite *f, const char *owner, struct floor_hold *ret_hold)
{
    bool held;

    bind_text(f, HELD, 1, owner);
    held = step(f, HELD);
    if (held) {
        copy_number(f, HELD, ret_hold);
        ret_hold->token = (uint64_t)sqlite3_column_int64(f->statement[HELD], 1);
    }
    reset(f, HELD);
    if (held)
        return;
    if (!step(f, FREE))
        die(f);
    copy_number(f, FREE, ret_hold);
    reset(f, FREE);
    ret_hold->token = (uint64_t)version_next(f);
    bind_text(f, TAKE, 1, ret_hold->number);
    bind_text(f, TAKE, 2, owner);
    bind_int(f, TAKE, 3, (int64_t)ret_hold->token);
    bind_int(f, TAKE, 4, (int64_t)(bench_now(CLOCK_REALTIME) * 1000));
    run(f, TAKE);
}

void floor_sqlite_hangup(struct floor_sqlite *f, const char *number, uint64_t token)
{
    bool ours;

    bind_text(f, LOOK, 1, number);
    ours = step(f, LOOK) && sqlite3_column_int(f->statement[LOOK], 0) == 1 &&
           (uint64_t)sqlite3_column_int64(f->statement[LOOK], 1) == token;
    reset(f, LOOK);
    if (!ours)
        die(f);
    bind_text(f, RELEASE, 1, number);
    bind_int(f, RELEASE, 2, version_next(f));
    run(f, RELEASE);
}
