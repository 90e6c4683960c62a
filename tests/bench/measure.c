/* SPDX-License-Identifier: MIT */
/* Rounds, figures and their lines, and what the rows share.  See bench.h. */
#include "config.h"

#include "bench.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void bench_die(const char *format, ...)
{
    va_list ap;

    fputs("bench: ", stderr);
    va_start(ap, format);
    (void)vfprintf(stderr, format, ap);
    va_end(ap);
    fputc('\n', stderr);
    exit(1);
}

void *bench_alloc(size_t n, size_t size)
{
    void *p = calloc(n, size);

    if (p == NULL)
        bench_die("out of memory");
    return p;
}

double bench_now(clockid_t clock)
{
    struct timespec ts;

    if (clock_gettime(clock, &ts) != 0)
        bench_die("clock_gettime: %s", strerror(errno));
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* ---- rounds ----------------------------------------------------------------------- */

void bench_rounds(const struct bench *b, const struct bench_run *runs, size_t n,
                  double speeds[BENCH_ROUNDS_MAX][BENCH_SIDES_MAX])
{
    for (size_t i = 0; i < n; i++) /* caches, files, connections: warm for all */
        (void)runs[i].side(runs[i].world, b->seconds / 4);
    for (unsigned r = 0; r < b->rounds; r++)
        for (size_t k = 0; k < n; k++) {
            size_t i = r % 2 == 0 ? k : n - 1 - k;

            speeds[r][i] = runs[i].side(runs[i].world, b->seconds);
        }
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

struct bench_spread bench_spread(const double *values, size_t n)
{
    double sorted[BENCH_ROUNDS_MAX];

    memcpy(sorted, values, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, compare_doubles);
    return (struct bench_spread){ (sorted[n / 2] + sorted[(n - 1) / 2]) / 2, sorted[0],
                                  sorted[n - 1] };
}

struct bench_result bench_compare(struct bench *b, const struct bench_line *line,
                                  struct bench_run ours, struct bench_run floor)
{
    double speeds[BENCH_ROUNDS_MAX][BENCH_SIDES_MAX];
    double o[BENCH_ROUNDS_MAX], f[BENCH_ROUNDS_MAX], ratio[BENCH_ROUNDS_MAX];
    const struct bench_run runs[] = { ours, floor };
    struct bench_result result;

    bench_rounds(b, runs, 2, speeds);
    for (unsigned r = 0; r < b->rounds; r++) {
        o[r] = speeds[r][0];
        f[r] = speeds[r][1];
        ratio[r] = line->bar == BENCH_AT_MOST ? f[r] / o[r] : o[r] / f[r];
    }
    result.ours = bench_spread(o, b->rounds);
    result.floor = bench_spread(f, b->rounds);
    result.ratio = bench_spread(ratio, b->rounds);
    bench_report(b, line, &result);
    return result;
}

/* ---- lines ------------------------------------------------------------------------ */

/* Four digits and a letter: 12.34 M. */
static const char *human(double x, char text[16])
{
    const char *unit = "";

    if (x >= 999.5e3) {
        x /= 1e6;
        unit = " M";
    } else if (x >= 9999.5) {
        x /= 1e3;
        unit = " k";
    }
    (void)snprintf(text, 16, "%.4g%s", x, unit);
    return text;
}

static bool passes(const struct bench_line *line, double value)
{
    return line->bar == BENCH_NO_BAR ||
           (line->bar == BENCH_AT_LEAST ? value >= line->limit : value <= line->limit);
}

static void print_bar(const struct bench_line *line, double value)
{
    if (line->bar != BENCH_NO_BAR)
        printf("  %s %g: %s", line->bar == BENCH_AT_LEAST ? "at least" : "at most", line->limit,
               passes(line, value) ? "yes" : "NO");
}

static void print_json(const struct bench_line *line, const char *name,
                       const struct bench_spread *s)
{
    (void)line;
    printf(",\"%s\":{\"median\":%.6g,\"min\":%.6g,\"max\":%.6g}", name, s->median, s->least,
           s->most);
}

static void json_begin(const struct bench_line *line)
{
    printf("{\"row\":\"%s\",\"what\":\"%s\",\"unit\":\"%s\"", line->row, line->what, line->unit);
}

static void json_end(const struct bench_line *line, double value)
{
    if (line->bar != BENCH_NO_BAR)
        printf(",\"bar\":\"%s %g\",\"passes\":%s",
               line->bar == BENCH_AT_LEAST ? "at least" : "at most", line->limit,
               passes(line, value) ? "true" : "false");
    puts("}");
}

void bench_report(struct bench *b, const struct bench_line *line, const struct bench_result *result)
{
    char ours[16], floor[16];

    b->short_of += !passes(line, result->ratio.median);
    if (b->json) {
        json_begin(line);
        printf(",\"floor_is\":\"%s\",\"ratio_of\":\"%s\"", line->floor,
               line->bar == BENCH_AT_MOST ? "time" : "speed");
        print_json(line, "ours", &result->ours);
        print_json(line, "floor", &result->floor);
        print_json(line, "ratio", &result->ratio);
        json_end(line, result->ratio.median);
        return;
    }
    printf("%-4s %s\n     %s %s; %s: %s; ratio of %s %.3g (%.3g to %.3g)", line->row, line->what,
           human(result->ours.median, ours), line->unit, line->floor,
           human(result->floor.median, floor), line->bar == BENCH_AT_MOST ? "times" : "speeds",
           result->ratio.median, result->ratio.least, result->ratio.most);
    print_bar(line, result->ratio.median);
    putchar('\n');
}

void bench_value(struct bench *b, const struct bench_line *line, struct bench_spread value)
{
    char text[16];

    b->short_of += !passes(line, value.median);
    if (b->json) {
        json_begin(line);
        print_json(line, "value", &value);
        json_end(line, value.median);
        return;
    }
    printf("%-4s %s\n     %s %s", line->row, line->what, human(value.median, text), line->unit);
    if (value.least < value.most)
        printf(" (%.4g to %.4g)", value.least, value.most);
    print_bar(line, value.median);
    putchar('\n');
}

void bench_skip(struct bench *b, const char *row, const char *why)
{
    b->skipped++;
    if (b->json)
        printf("{\"row\":\"%s\",\"skipped\":\"%s\"}\n", row, why);
    else
        printf("%-4s SKIPPED: %s\n", row, why);
}

/* ---- work ------------------------------------------------------------------------- */

static double work_until(clockid_t clock, bench_worker *worker, void *world, double seconds)
{
    double begin = bench_now(clock), now;
    uint64_t n = 0;

    do {
        n += worker(world, 0);
        now = bench_now(clock);
    } while (now - begin < seconds);
    return (double)n / (now - begin);
}

double bench_alone(bench_worker *worker, void *world, double seconds)
{
    return work_until(CLOCK_THREAD_CPUTIME_ID, worker, world, seconds);
}

double bench_waiting(bench_worker *worker, void *world, double seconds)
{
    return work_until(CLOCK_MONOTONIC, worker, world, seconds);
}

struct crew {
    bench_worker *worker;
    atomic_bool stop;
    pthread_barrier_t start;
};

struct member {
    struct crew *crew;
    void *world;
    unsigned i;
    uint64_t n;
    pthread_t thread;
};

static void *member_run(void *arg)
{
    struct member *m = arg;

    (void)pthread_barrier_wait(&m->crew->start);
    while (!atomic_load_explicit(&m->crew->stop, memory_order_relaxed))
        m->n += m->crew->worker(m->world, m->i);
    return NULL;
}

double bench_threads(bench_worker *worker, void *const *worlds, unsigned n, double seconds)
{
    struct crew crew = { .worker = worker, .stop = false };
    struct member *members = bench_alloc(n, sizeof *members);
    struct timespec ts = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };
    double begin, end;
    uint64_t total = 0;

    if (pthread_barrier_init(&crew.start, NULL, n + 1) != 0)
        bench_die("pthread_barrier_init");
    for (unsigned i = 0; i < n; i++) {
        members[i] = (struct member){ .crew = &crew, .world = worlds[i], .i = i };
        if (pthread_create(&members[i].thread, NULL, member_run, &members[i]) != 0)
            bench_die("pthread_create");
    }
    (void)pthread_barrier_wait(&crew.start);
    begin = bench_now(CLOCK_MONOTONIC);
    while (nanosleep(&ts, &ts) != 0 && errno == EINTR)
        ;
    atomic_store(&crew.stop, true);
    for (unsigned i = 0; i < n; i++) {
        (void)pthread_join(members[i].thread, NULL);
        total += members[i].n;
    }
    end = bench_now(CLOCK_MONOTONIC);
    (void)pthread_barrier_destroy(&crew.start);
    free(members);
    return (double)total / (end - begin);
}

struct bench_owners *bench_owners(unsigned team, unsigned n)
{
    struct bench_owners *owners = bench_alloc(1, sizeof *owners + (size_t)n * BENCH_NAME);

    owners->n = n;
    for (unsigned i = 0; i < n; i++)
        (void)snprintf(owners->name[i], BENCH_NAME, "agent-%u-%04u", team, i);
    return owners;
}

void bench_number(size_t i, char name[BENCH_NAME])
{
    (void)snprintf(name, BENCH_NAME, "%012zu", (size_t)13800000000 + i);
}

struct usher_engine *bench_open(const char *url, const struct usher_options *opt)
{
    struct usher_engine *e;

    if (usher_open(url, opt, &e) != USHER_OK)
        bench_die("%s: %s", url, usher_message());
    return e;
}

#define FILL 4096u

void bench_fill(struct usher_engine *e, const char *pool, size_t n)
{
    static const enum usher_verb verbs[] = { USHER_NUMBER_ADD, USHER_NUMBER_REG };
    struct usher_operation *commands = bench_alloc(FILL, sizeof *commands);
    struct usher_result *replies = bench_alloc(FILL, sizeof *replies);
    char(*names)[BENCH_NAME] = bench_alloc(FILL / 2, BENCH_NAME);

    for (size_t from = 0; from < n; from += FILL / 2) {
        unsigned k = 0;

        for (size_t i = from; i < n && i < from + FILL / 2; i++) {
            bench_number(i, names[i - from]);
            for (unsigned v = 0; v < 2; v++) {
                struct usher_operation *c = &commands[k++];

                c->verb = verbs[v];
                c->scope = (struct usher_text){ pool, strlen(pool) };
                c->arg.number.number =
                    (struct usher_text){ names[i - from], strlen(names[i - from]) };
            }
        }
        if (usher_operate(e, commands, replies, k) != USHER_OK)
            bench_die("cannot fill the pool: %s", usher_message());
        for (unsigned i = 0; i < k; i++)
            if (replies[i].status != USHER_OK)
                bench_die("cannot fill the pool: %s: %s", usher_status_word(replies[i].status),
                          replies[i].message);
    }
    free(commands);
    free(replies);
    free(names);
}

uint64_t bench_pair(void *world, unsigned thread)
{
    struct bench_pool *p = world;
    struct usher_number_answer a = USHER_NUMBER_ANSWER_INIT;

    (void)thread;
    if (usher_number_call(p->e, p->name, bench_next(p->owners), NULL, &a) != USHER_OK ||
        usher_number_hangup(p->e, p->name, a.number, a.token, NULL, NULL) != USHER_OK)
        bench_die("%s", usher_message());
    return 2;
}

uint64_t bench_pairs(void *world, unsigned thread)
{
    uint64_t n = 0;

    for (int i = 0; i < 64; i++)
        n += bench_pair(world, thread);
    return n;
}

const char *bench_path(char path[256], const char *name)
{
    const char *dir = getenv("TMPDIR");

    if (dir == NULL || *dir == '\0')
        dir = "/tmp";
    if (snprintf(path, 256, "%s/usher-bench-%ld-%s", dir, (long)getpid(), name) >= 256)
        bench_die("$TMPDIR is too long");
    return path;
}

void bench_unlink(const char *path)
{
    static const char *const ends[] = { "", "-wal", "-shm", "-journal" };
    char name[300];

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        (void)snprintf(name, sizeof name, "%s%s", path, ends[i]);
        if (unlink(name) != 0 && errno != ENOENT)
            bench_die("%s: %s", name, strerror(errno));
    }
}
