/* SPDX-License-Identifier: MIT */
/*
 * P14, the recorded month, and P15, the size of the library and how long a store takes to
 * open.
 *
 * The month is ../shared/data/technion_bank_feb1999.tsv beside the project's root
 * ($top_srcdir, else the current folder, else $USHER_DATA names the file), and is skipped
 * where it is absent.  The program is $USHER, else ./usher; the shared library is in
 * .libs of the folder of the build ($top_builddir, else the current folder).
 */
#include "config.h"

#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef USHER_WITH_REDIS
#include "floor_redis.h"
#include "lib/servers.h"
#endif

extern char **environ;

static const char *or_env(const char *name, const char *otherwise)
{
    const char *value = getenv(name);

    return value != NULL && *value != '\0' ? value : otherwise;
}

/* Run a program with its output thrown away; its exit status, or -1. */
static int run(const char *const *argv)
{
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status, error;

    if (posix_spawn_file_actions_init(&actions) != 0 ||
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0) != 0 ||
        posix_spawn_file_actions_adddup2(&actions, 1, 2) != 0)
        bench_die("out of memory");
    error = posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (error != 0)
        return -1;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            bench_die("waitpid: %s", strerror(errno));
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- P14 -------------------------------------------------------------------------- */

static bool replay(const char *store, const char *file, double *ret_seconds)
{
    const char *const argv[] = {
        or_env("USHER", "./usher"), "-s", store, "replay", file, "--report=json", NULL
    };
    double begin = bench_now(CLOCK_MONOTONIC);
    int status = run(argv);

    *ret_seconds = bench_now(CLOCK_MONOTONIC) - begin;
    return status == 0;
}

static void replay_row(struct bench *b, const char *what, double limit, const char *store,
                       const char *path, const char *file)
{
    const struct bench_line line = { "P14", what, "s", "", BENCH_AT_MOST, limit };
    double seconds[BENCH_ROUNDS_MAX];
    unsigned rounds = b->rounds < 5 ? b->rounds : 5;

    for (unsigned r = 0; r < rounds; r++) {
        if (path != NULL)
            bench_unlink(path);
        if (!replay(store, file, &seconds[r])) {
            bench_skip(b, "P14", "usher replay failed (is the program built?)");
            return;
        }
    }
    bench_value(b, &line, bench_spread(seconds, rounds));
}

void bench_replay(struct bench *b)
{
    char beside[512], path[256], url[300];
    const char *file;

    (void)snprintf(beside, sizeof beside, "%s/../shared/data/technion_bank_feb1999.tsv",
                   or_env("top_srcdir", "."));
    file = or_env("USHER_DATA", beside);
    if (access(file, R_OK) != 0) {
        bench_skip(b, "P14", "the recorded month is not here (USHER_DATA=FILE)");
        return;
    }
    replay_row(b, "replay of the recorded month: memory", 1, "memory:", NULL, file);
#ifdef USHER_WITH_SQLITE
    (void)bench_path(path, "replay.db");
    (void)snprintf(url, sizeof url, "sqlite:%s", path);
    replay_row(b, "replay of the recorded month: SQLite, durable", 10, url, path, file);
    bench_unlink(path);
#else
    (void)path, (void)url;
    bench_skip(b, "P14", "built without SQLite");
#endif
#ifdef USHER_WITH_REDIS
    {
        const struct redis_server_options opt = { .aof = REDIS_AOF_OFF };
        struct redis_server *server = redis_server_start(&opt);
        char redis[REDIS_URL_MAX];

        if (server == NULL) {
            bench_skip(b, "P14", redis_reason());
            return;
        }
        replay_row(b, "replay of the recorded month: Redis", 20, redis_server_url(server, redis),
                   NULL, file);
        redis_server_stop(server);
    }
#else
    bench_skip(b, "P14", "built without Redis");
#endif
}

/* ---- P15 -------------------------------------------------------------------------- */

static void size_row(struct bench *b)
{
#ifdef USHER_WITH_REDIS
    static const double most = 800;
#else
    static const double most = 480;
#endif
    const struct bench_line line = { "P15",         "the shared library, stripped",
                                     "KiB",         "",
                                     BENCH_AT_MOST, most };
    char library[512], stripped[256];
    const char *const argv[] = { "strip", "-o", stripped, library, NULL };
    struct stat st;
    double kib;

    (void)snprintf(library, sizeof library, "%s/.libs/libusher.so", or_env("top_builddir", "."));
    (void)bench_path(stripped, "libusher.so");
    if (access(library, R_OK) != 0) {
        bench_skip(b, "P15", "no shared library was built here");
        return;
    }
    if (run(argv) != 0 || stat(stripped, &st) != 0) {
        bench_skip(b, "P15", "strip is missing or failed");
        return;
    }
    bench_unlink(stripped);
    kib = (double)st.st_size / 1024;
    bench_value(b, &line, (struct bench_spread){ kib, kib, kib });
}

struct opened {
    const char *url;
    double ms[BENCH_ROUNDS_MAX];
};

static void open_once(struct opened *o, unsigned round)
{
    double begin = bench_now(CLOCK_MONOTONIC);
    struct usher_engine *e = bench_open(o->url, NULL);

    o->ms[round] = (bench_now(CLOCK_MONOTONIC) - begin) * 1000;
    usher_close(e);
}

static void open_row(struct bench *b, const char *what, double limit, const char *url)
{
    const struct bench_line line = { "P15", what, "ms", "", BENCH_AT_MOST, limit };
    struct opened o = { .url = url };

    open_once(&o, 0);
    for (unsigned r = 0; r < b->rounds; r++)
        open_once(&o, r);
    bench_value(b, &line, bench_spread(o.ms, b->rounds));
}

#ifdef USHER_WITH_REDIS
/* By hand: connect, load our script, and one more round trip. */
static double connect_and_load(const struct redis_server *server, const char *lua, size_t size)
{
    double begin = bench_now(CLOCK_MONOTONIC), ms;
    redisContext *c = redis_server_connect(server);
    redisReply *load = c != NULL ? redisCommand(c, "SCRIPT LOAD %b", lua, size) : NULL;
    redisReply *ping = load != NULL ? redisCommand(c, "PING") : NULL;

    ms = (bench_now(CLOCK_MONOTONIC) - begin) * 1000;
    if (ping == NULL || load->type != REDIS_REPLY_STRING)
        bench_die("raw Redis: connect or SCRIPT LOAD failed");
    freeReplyObject(load);
    freeReplyObject(ping);
    redisFree(c);
    return ms;
}

static void open_redis_row(struct bench *b)
{
    /* The median of rounds is of times here, so ours : floor. */
    static const struct bench_line line = {
        "P15",         "open of Redis",
        "opens/s",     "connect, load the script, one round trip",
        BENCH_AT_MOST, 1.5
    };
    const struct redis_server_options opt = { .aof = REDIS_AOF_OFF };
    struct redis_server *server = redis_server_start(&opt);
    char url[REDIS_URL_MAX], *lua;
    struct opened o;
    double ours[BENCH_ROUNDS_MAX], floor[BENCH_ROUNDS_MAX], ratio[BENCH_ROUNDS_MAX];
    struct bench_result result;
    size_t size = 0;

    if (server == NULL) {
        bench_skip(b, "P15", redis_reason());
        return;
    }
    o.url = redis_server_url(server, url);
    (void)usher_lua("number", NULL, 0, &size);
    lua = bench_alloc(size + 1, 1);
    if (usher_lua("number", lua, size + 1, &size) != USHER_OK)
        bench_die("usher_lua: %s", usher_message());
    open_once(&o, 0);
    for (unsigned r = 0; r < b->rounds; r++) {
        open_once(&o, r);
        floor[r] = 1000 / connect_and_load(server, lua, size);
        ours[r] = 1000 / o.ms[r];
        ratio[r] = floor[r] / ours[r];
    }
    result.ours = bench_spread(ours, b->rounds);
    result.floor = bench_spread(floor, b->rounds);
    result.ratio = bench_spread(ratio, b->rounds);
    bench_report(b, &line, &result);
    free(lua);
    redis_server_stop(server);
}
#endif

void bench_start(struct bench *b)
{
    size_row(b);
    open_row(b, "open of memory", 1, "memory:");
#ifdef USHER_WITH_SQLITE
    {
        char path[256], url[300];

        (void)bench_path(path, "open.db");
        (void)snprintf(url, sizeof url, "sqlite:%s", path);
        bench_unlink(path);
        open_row(b, "open of SQLite, a file that is there", 10, url);
        bench_unlink(path);
    }
#else
    bench_skip(b, "P15", "built without SQLite");
#endif
#ifdef USHER_WITH_REDIS
    open_redis_row(b);
#else
    bench_skip(b, "P15", "built without Redis");
#endif
}
