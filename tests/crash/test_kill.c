/* SPDX-License-Identifier: MIT */
/*
 * kill -9 at random moments: of the program on SQLite, of the server on Redis (AOF, every
 * write synced).
 *
 * A child calls and hangs up on one pool and notes in shared memory what it is about to do
 * and what was answered.  It, or its server, is killed.  Then, with a fresh engine:
 *
 *   - everything acknowledged is there;
 *   - what was under way is there wholly or not at all: the version is the last one
 *     acknowledged, or one more, and the numbers are as that says;
 *   - the audit is clean, nothing is held twice, and the dead child's holds can be freed.
 *
 * USHER_ROUNDS sets how often; a run prints its seed.
 */
#include "config.h"

#include <usher/usher.h>

#include <inttypes.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#ifdef USHER_WITH_REDIS
#include "lib/servers.h"
#endif

#define NUMBERS 6
#define DEADLINE_MS 30000

/* What the child knows, readable by its parent after its death. */
struct diary {
    _Atomic uint64_t acknowledged;   /* operations */
    _Atomic uint64_t version;        /* of the last one */
    _Atomic int doing;               /* number index to hang up, -1: a call */
    _Atomic uint64_t token[NUMBERS]; /* 0: not held */
};

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static int64_t clock_ms(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static uint64_t seed_of_run(void)
{
    const char *given = getenv("USHER_SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : (uint64_t)clock_ms();

    print_message("USHER_SEED=%" PRIu64 "\n", seed);
    return seed;
}

static int rounds(void)
{
    const char *given = getenv("USHER_ROUNDS");

    return given != NULL ? atoi(given) : 200;
}

/* The child: until it is killed, or its store is gone. */
static void live(const char *url, struct diary *d, uint64_t seed)
{
    struct usher_options options = USHER_OPTIONS_INIT;
    struct usher_engine *e;
    uint64_t random = seed;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    options.timeout_ms = 300; /* with the server gone, do not insist */
    if (usher_open(url, &options, &e) != USHER_OK)
        _exit(1);
    for (;;) {
        int index = (int)(next_random(&random) % NUMBERS);
        struct usher_hold hold;
        char number[8];
        enum usher_status status;

        if (atomic_load(&d->token[index]) != 0) {
            (void)snprintf(number, sizeof number, "n%d", index);
            atomic_store(&d->doing, index);
            status = usher_number_hangup(e, "p", number, atomic_load(&d->token[index]), -1);
            if (status != USHER_OK)
                _exit(0);
            atomic_store(&d->token[index], 0);
            atomic_fetch_add(&d->version, 1);
        } else {
            atomic_store(&d->doing, -1);
            status = usher_number_call(e, "p", NULL, NULL, &hold);
            if (status == USHER_EMPTY)
                continue;
            if (status != USHER_OK)
                _exit(0);
            atomic_store(&d->token[atoi(hold.number + 1)], hold.token);
            atomic_store(&d->version, hold.version);
        }
        atomic_fetch_add(&d->acknowledged, 1);
    }
}

static struct usher_engine *open_store(const char *url)
{
    struct usher_options options = USHER_OPTIONS_INIT;
    struct usher_engine *e;

    options.timeout_ms = DEADLINE_MS;
    if (usher_open(url, &options, &e) != USHER_OK)
        fail_msg("%s", usher_message(NULL));
    return e;
}

static void prepare(const char *url, struct diary *d)
{
    struct usher_engine *e = open_store(url);

    for (int i = 0; i < NUMBERS; i++) {
        char number[8];

        (void)snprintf(number, sizeof number, "n%d", i);
        assert_int_equal(usher_number_add(e, "p", number, NULL), USHER_OK);
        assert_int_equal(usher_number_reg(e, "p", number), USHER_OK);
    }
    atomic_store(&d->version, 2 * NUMBERS);
    usher_close(e);
}

static uint64_t version_of(struct usher_engine *e)
{
    struct usher_command c;
    struct usher_reply reply;

    memset(&c, 0, sizeof c);
    c.verb = USHER_NUMBER_STATS;
    c.scope.data = "p";
    c.scope.size = 1;
    assert_int_equal(usher_execute(e, &c, &reply, 1), USHER_OK);
    assert_int_equal(reply.status, USHER_OK);
    return reply.version;
}

/* The store against the diary of the dead. */
static void compare(struct usher_engine *e, const struct diary *d)
{
    uint64_t version = version_of(e), last = atomic_load(&d->version);
    struct usher_reply list;
    int doing = atomic_load(&d->doing), differences = 0;

    if (version != last && version != last + 1)
        fail_msg("version %" PRIu64 ", acknowledged %" PRIu64, version, last);
    assert_int_equal(usher_number_list(e, "p", -1, NULL, NULL, 0, &list), USHER_OK);
    assert_int_equal(list.of.number.n_rows, NUMBERS);
    for (int i = 0; i < NUMBERS; i++) {
        const struct usher_number_row *row = &list.of.number.rows[i];
        uint64_t token = atomic_load(&d->token[i]);
        bool is_busy = row->state == USHER_NUMBER_BUSY_UP;

        if (is_busy == (token != 0) && (!is_busy || row->token == token))
            continue;
        differences++;
        if (is_busy) /* the call under way was applied */
            assert_true(doing == -1 && token == 0 && row->token == version);
        else /* the hangup under way was */
            assert_int_equal(doing, i);
    }
    usher_reply_done(&list);
    assert_int_equal(differences, (int)(version - last));
}

static void settle(const char *url, struct diary *d)
{
    struct usher_engine *e = open_store(url);
    enum usher_status status;
    uint64_t faults = 1;

    compare(e, d);
    assert_int_equal(usher_audit(e, NULL, NULL, &faults), USHER_OK);
    assert_true(faults == 0);
    status = usher_number_free(e, "p", NULL, NULL, NULL);
    assert_true(status == USHER_OK || status == USHER_SAME);
    for (int i = 0; i < NUMBERS; i++)
        atomic_store(&d->token[i], 0);
    atomic_store(&d->version, version_of(e));
    usher_close(e);
}

static struct diary *diary_new(void)
{
    void *d =
        mmap(NULL, sizeof(struct diary), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_true(d != MAP_FAILED);
    return d;
}

static pid_t child_new(const char *url, struct diary *d, uint64_t seed)
{
    pid_t pid;

    atomic_store(&d->acknowledged, 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        live(url, d, seed);
    return pid;
}

/* Wait for @n acknowledged operations, and a little more that depends on @spins.  Says whether
 * the child still lives: one to which the store is slow gives up by itself. */
static bool wait_for(const struct diary *d, pid_t pid, uint64_t n, uint64_t spins)
{
    int64_t end = clock_ms() + DEADLINE_MS;

    while (atomic_load(&d->acknowledged) < n) {
        int status;

        assert_true(clock_ms() < end);
        if (waitpid(pid, &status, WNOHANG) == pid)
            return false;
        (void)sched_yield();
    }
    for (volatile uint64_t i = 0; i < spins; i = i + 1) {
    }
    return true;
}

#ifdef USHER_WITH_SQLITE
static void a_killed_program_leaves_sqlite_whole(void **state)
{
    char dir[] = "/tmp/usher-kill.XXXXXX", url[128], command[128];
    struct diary *d = diary_new();
    uint64_t random = seed_of_run();

    (void)state;
    assert_non_null(mkdtemp(dir));
    (void)snprintf(url, sizeof url, "sqlite:%s/pool.db", dir);
    prepare(url, d);
    settle(url, d);
    for (int i = rounds(); i > 0; i--) {
        pid_t pid = child_new(url, d, next_random(&random));
        int status;

        if (wait_for(d, pid, next_random(&random) % 40, next_random(&random) % 200000)) {
            assert_int_equal(kill(pid, SIGKILL), 0);
            assert_true(waitpid(pid, &status, 0) == pid);
        }
        settle(url, d);
    }
    (void)munmap(d, sizeof *d);
    (void)snprintf(command, sizeof command, "rm -rf %s", dir);
    assert_int_equal(system(command), 0);
}
#endif

#ifdef USHER_WITH_REDIS
static struct redis_server *server;

static void a_killed_redis_comes_back_with_all_it_acknowledged(void **state)
{
    char url[REDIS_URL_MAX];
    struct diary *d = diary_new();
    uint64_t random = seed_of_run();

    (void)state;
    (void)redis_server_url(server, url);
    prepare(url, d);
    settle(url, d);
    for (int i = rounds(); i > 0; i--) {
        pid_t pid = child_new(url, d, next_random(&random));
        int status;

        bool lives = wait_for(d, pid, next_random(&random) % 60, next_random(&random) % 200000);

        assert_int_equal(redis_server_kill(server, SIGKILL), 0);
        if (lives)
            assert_true(waitpid(pid, &status, 0) == pid);
        assert_true(redis_server_restart(server));
        settle(url, d);
    }
    (void)munmap(d, sizeof *d);
}
#endif

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
#ifdef USHER_WITH_SQLITE
        cmocka_unit_test(a_killed_program_leaves_sqlite_whole),
#endif
#ifdef USHER_WITH_REDIS
        cmocka_unit_test(a_killed_redis_comes_back_with_all_it_acknowledged),
#endif
    };
    int failed;

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
#ifdef USHER_WITH_REDIS
    {
        struct redis_server_options options = { .aof = REDIS_AOF_ALWAYS };

        server = redis_server_start(&options);
        if (server == NULL)
            return redis_skip();
    }
#endif
    failed = cmocka_run_group_tests(tests, NULL, NULL);
#ifdef USHER_WITH_REDIS
    redis_server_stop(server);
#endif
    return failed;
}
