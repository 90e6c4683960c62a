/* SPDX-License-Identifier: MIT */
/*
 * bench -- the rows of the speed table, each against a floor measured in the same run.
 *
 * A side does the work of one row one way, for about the given time, and returns how many
 * operations a second it did.  Sides are run in turns, round after round, so that whatever
 * else the machine does meets all of them; a ratio is made within each round, and the median
 * of the rounds is printed with the smallest and the largest.
 *
 * Nothing here can fail halfway: what goes wrong ends the program with a message.
 */
#ifndef USHER_BENCH_BENCH_H
#define USHER_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <usher/store/operation.h>

#define BENCH_ROUNDS_MAX 99
#define BENCH_SIDES_MAX 4

struct bench {
    bool quick; /* small pools, short rounds: does it work at all? */
    bool json;
    unsigned rounds;
    double seconds; /* of one side in one round */
    unsigned short_of, skipped;
};

/* How a ratio or value is compared with its bar. */
enum bench_bar { BENCH_NO_BAR, BENCH_AT_LEAST, BENCH_AT_MOST };

struct bench_line {
    const char *row;   /* "P1" */
    const char *what;  /* in a few words */
    const char *unit;  /* "commands/s" */
    const char *floor; /* what it is compared with */
    enum bench_bar bar;
    double limit; /* AT_LEAST: of ours : floor; AT_MOST: of floor : ours, that is of times */
};

typedef double bench_side(void *world, double seconds);

struct bench_run {
    bench_side *side;
    void *world;
};

/* Median, smallest, largest. */
struct bench_spread {
    double median, least, most;
};

struct bench_result {
    struct bench_spread ours, floor, ratio;
};

/* Run each of @runs in every round; the speed of run i in round r goes to speeds[r][i]. */
void bench_rounds(const struct bench *b, const struct bench_run *runs, size_t n,
                  double speeds[BENCH_ROUNDS_MAX][BENCH_SIDES_MAX]);

struct bench_spread bench_spread(const double *values, size_t n);

/* Print one line, and note whether it is short of its bar. */
void bench_report(struct bench *b, const struct bench_line *line,
                  const struct bench_result *result);

/* Both: ours against floor. */
struct bench_result bench_compare(struct bench *b, const struct bench_line *line,
                                  struct bench_run ours, struct bench_run floor);

/* A figure without a floor: its bar is for the value itself. */
void bench_value(struct bench *b, const struct bench_line *line, struct bench_spread value);

/* Loudly. */
void bench_skip(struct bench *b, const char *row, const char *why);

/* ---- tools ---- */

/* Does some of the work and returns how many operations that was. */
typedef uint64_t bench_worker(void *world, unsigned thread);

/* Operations a second: of this thread by its own processor time (what other programs do
 * does not count); by the clock; of @n threads, each with its world, by the clock. */
double bench_alone(bench_worker *worker, void *world, double seconds);
double bench_waiting(bench_worker *worker, void *world, double seconds);
double bench_threads(bench_worker *worker, void *const *worlds, unsigned n, double seconds);

double bench_now(clockid_t clock);

/* Prints "bench: " and the line, and ends the program. */
void bench_die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* Memory or the end. */
void *bench_alloc(size_t n, size_t size);

#define BENCH_NAME 32
void bench_number(size_t i, char name[BENCH_NAME]);

/* The owners of calls: @n agents of team @team, in turn.  The caller owns the struct. */
struct bench_owners {
    unsigned n, turn;
    char name[][BENCH_NAME];
};
struct bench_owners *bench_owners(unsigned team, unsigned n);

static inline const char *bench_next(struct bench_owners *owners)
{
    const char *name = owners->name[owners->turn];

    owners->turn = owners->turn + 1 < owners->n ? owners->turn + 1 : 0;
    return name;
}

/* An engine; @opt may be NULL. */
struct usher_engine *bench_open(const char *url, const struct usher_options *opt);

/* @n numbers, added and registered. */
void bench_fill(struct usher_engine *e, const char *pool, size_t n);

/* A pool that is called. */
struct bench_pool {
    struct usher_engine *e;
    const char *name;
    struct bench_owners *owners;
};

/* Workers on a struct bench_pool: one call and its hangup; the same 64 times. */
bench_worker bench_pair, bench_pairs;

/* A path for a file of a store in $TMPDIR (or /tmp), different on each call. */
const char *bench_path(char path[256], const char *name);
/* Remove it with what SQLite puts beside it. */
void bench_unlink(const char *path);

/* Serials of a rule in the store at @url (called @store), taken in batches and printed; @limit: how
 * many a second there should be; @waits: for a server. */
void bench_serials_on(struct bench *b, const char *url, const char *store, bool waits,
                      int64_t batch, double limit);

/* ---- rows ---- */

void bench_memory_one(struct bench *b);   /* P1 */
void bench_memory_sizes(struct bench *b); /* P2 */
void bench_memory_threads(struct bench *b);
void bench_sqlite_one(struct bench *b); /* P4 */
void bench_sqlite_many(struct bench *b);
void bench_sqlite_sizes(struct bench *b);
void bench_sqlite_places(struct bench *b); /* P10 */
void bench_redis_one(struct bench *b);     /* P7 */
void bench_redis_many(struct bench *b);
void bench_redis_sizes(struct bench *b);
void bench_cluster(struct bench *b); /* P17 */
void bench_queue(struct bench *b);   /* P10 */
void bench_room(struct bench *b);    /* P11 */
void bench_copy(struct bench *b);    /* P18 */
void bench_serve(struct bench *b);   /* P19 */
void bench_closing(struct bench *b); /* P20 */
void bench_due(struct bench *b);     /* P21 */
void bench_ids(struct bench *b);     /* P12 */
void bench_serials(struct bench *b);
void bench_redis_serials(struct bench *b);
void bench_redis_followers(struct bench *b); /* P22 */
void bench_scopes(struct bench *b);          /* P23 */
void bench_replay(struct bench *b);          /* P14 */
void bench_start(struct bench *b);

#endif
