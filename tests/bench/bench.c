/* SPDX-License-Identifier: MIT */
/*
 * bench [--quick] [--json] [--rounds=N] [--seconds=S] [ROW...]
 *
 * The rows of the speed table, all of them unless some are named.
 */
#include "config.h"

#include "bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static const struct row {
    const char *name;
    void (*run)(struct bench *b);
    const char *needs; /* a store that may not be built in */
} rows[] = {
    { "P1", bench_memory_one, NULL },
    { "P2", bench_memory_sizes, NULL },
    { "P3", bench_memory_threads, NULL },
#ifdef USHER_WITH_SQLITE
    { "P4", bench_sqlite_one, NULL },
    { "P5", bench_sqlite_many, NULL },
    { "P6", bench_sqlite_sizes, NULL },
    { "P10", bench_sqlite_places, NULL },
#else
    { "P4", NULL, "SQLite" },
    { "P5", NULL, "SQLite" },
    { "P6", NULL, "SQLite" },
    { "P10", NULL, "SQLite" },
#endif
#ifdef USHER_WITH_REDIS
    { "P7", bench_redis_one, NULL },
    { "P8", bench_redis_many, NULL },
    { "P9", bench_redis_sizes, NULL },
#else
    { "P7", NULL, "Redis" },
    { "P8", NULL, "Redis" },
    { "P9", NULL, "Redis" },
#endif
    { "P10", bench_queue, NULL },
    { "P11", bench_room, NULL },
    { "P12", bench_ids, NULL },
    { "P13", bench_serials, NULL },
#ifdef USHER_WITH_REDIS
    { "P13", bench_redis_serials, NULL },
#else
    { "P13", NULL, "Redis" },
#endif
    { "P14", bench_replay, NULL },
    { "P15", bench_start, NULL },
#ifdef USHER_WITH_REDIS
    { "P17", bench_cluster, NULL },
#else
    { "P17", NULL, "Redis" },
#endif
    { "P18", bench_copy, NULL },
    { "P19", bench_serve, NULL },
    { "P20", bench_closing, NULL },
    { "P21", bench_due, NULL },
#ifdef USHER_WITH_REDIS
    { "P22", bench_redis_followers, NULL },
#else
    { "P22", NULL, "Redis" },
#endif
    { "P23", bench_scopes, NULL },
};
#define N_ROWS (sizeof rows / sizeof *rows)

static bool wanted(const struct row *row, char *const *names)
{
    if (*names == NULL)
        return true;
    for (; *names != NULL; names++)
        if (strcmp(*names, row->name) == 0)
            return true;
    return false;
}

static bool known(const char *name)
{
    for (size_t i = 0; i < N_ROWS; i++)
        if (strcmp(rows[i].name, name) == 0)
            return true;
    return false;
}

static int usage(const char *fault)
{
    fprintf(stderr,
            "bench: %s\n"
            "usage: bench [--quick] [--json] [--rounds=N] [--seconds=S] [ROW...]\n"
            "rows:",
            fault);
    for (size_t i = 0; i < N_ROWS; i++)
        fprintf(stderr, " %s", rows[i].name);
    fputc('\n', stderr);
    return 2;
}

static bool option(struct bench *b, const char *arg)
{
    char *end;

    if (strcmp(arg, "--quick") == 0) {
        b->quick = true;
        b->rounds = 3;
        b->seconds = 0.05;
    } else if (strcmp(arg, "--json") == 0) {
        b->json = true;
    } else if (strncmp(arg, "--rounds=", 9) == 0) {
        b->rounds = (unsigned)strtoul(arg + 9, &end, 10);
        return *end == '\0' && b->rounds >= 1 && b->rounds <= BENCH_ROUNDS_MAX;
    } else if (strncmp(arg, "--seconds=", 10) == 0) {
        b->seconds = strtod(arg + 10, &end);
        return *end == '\0' && b->seconds > 0 && b->seconds <= 3600;
    } else {
        return false;
    }
    return true;
}

static void machine(const struct bench *b)
{
    struct utsname system;
    char line[256], model[128] = "?";
    FILE *f = fopen("/proc/cpuinfo", "r");

    if (uname(&system) != 0)
        bench_die("uname: %s", strerror(errno));
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (sscanf(line, "model name : %127[^\n]", model) == 1)
            break;
    if (f != NULL)
        (void)fclose(f);
    if (!b->json)
        printf("usher %s, %s, %ld processors, %s %s, %u rounds of %g s\n", usher_version(), model,
               sysconf(_SC_NPROCESSORS_ONLN), system.sysname, system.release, b->rounds,
               b->seconds);
}

int main(int argc, char **argv)
{
    struct bench b = { .rounds = 7, .seconds = 0.5 };
    int i = 1;

    for (; i < argc && argv[i][0] == '-'; i++)
        if (!option(&b, argv[i]))
            return usage("an option is not known or out of range");
    for (int j = i; j < argc; j++)
        if (!known(argv[j]))
            return usage("a row is not known");
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    machine(&b);
    for (size_t r = 0; r < N_ROWS; r++) {
        char why[64];

        if (!wanted(&rows[r], argv + i))
            continue;
        if (rows[r].run != NULL) {
            rows[r].run(&b);
        } else {
            (void)snprintf(why, sizeof why, "built without %s", rows[r].needs);
            bench_skip(&b, rows[r].name, why);
        }
    }
    if (!b.json)
        printf("%u short of the bar, %u skipped\n", b.short_of, b.skipped);
    return 0;
}
