/* SPDX-License-Identifier: MIT */
/*
 * kill -9 at random moments: of the program on SQLite and on Redis, of the server (AOF, every
 * write synced).
 *
 * A child gives random commands to scopes of every noun, some at once, and notes each command and
 * its answer in shared memory.  It, or its server, is killed.  Its parent has a twin, which is a
 * memory store and executes the acknowledged commands.  Then, with a fresh engine:
 *
 *   - acknowledged commands are applied, and no others: the digest of each scope is the twin's;
 *   - commands under way are applied wholly or not at all: the digest is the twin's after the first
 *     few of those that were on their way to that scope;
 *   - the answers were the twin's, and the audit is clean.
 *
 * If anything is held twice, seated in two rooms, issued again or lost, the digest differs.
 * With clock=given versions and tokens begin at 1 in each store, so the twin has the same ones.
 * tests/crash/test_rollback_oracle.c tests those that begin at the time of day.
 *
 * USHER_ROUNDS is the number of rounds.  A run prints its seed, and a round that fails its
 * commands.
 */
#include "lib/test.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "lib/workload.h"
#include "lib/command_line.h"
#include "lib/util.h"
#ifdef USHER_WITH_REDIS
#include "lib/servers.h"
#endif

#define NOTES 4096         /* of one life */
#define BATCH 3            /* at once, at most */
#define DEADLINE_MS 120000 /* long enough for a loaded machine */

struct note {
    char line[WORKLOAD_LINE];
    unsigned scope;
    enum usher_status status; /* once it is acknowledged */
    uint64_t version;
};

/* The commands of the child, readable by its parent after its death. */
struct diary {
    _Atomic unsigned begun;        /* notes up to here may have been tried */
    _Atomic unsigned acknowledged; /* those up to here were answered */
    struct note notes[NOTES];
    /* For the next commands, also of the next child. */
    uint64_t requests;
    int64_t now;
    struct workload known;
};

/* The state of a round, printed if it fails. */
static struct {
    const char *at; /* NULL: no round runs */
    int left;
    uint64_t seed; /* of the child */
    const struct diary *diary;
} now;

static uint64_t seed_of_run(void)
{
    const char *given = getenv("USHER_SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : (uint64_t)clock_ms();

    print_message("USHER_SEED=%" PRIu64 "\n", seed);
    return seed;
}

static int rounds(void)
{
    return (int)budget_of("USHER_ROUNDS", 200);
}

/* ---- a life --------------------------------------------------------------------------- */

static void note_make(struct diary *d, struct note *n, uint64_t *random)
{
    n->scope = workload_below(random, WORKLOAD_SCOPES);
    n->line[0] = '\0';
    workload_scopes[n->scope].line(n->line, &d->known, random);
    if (workload_below(random, 3) == 0)
        d->now += workload_below(random, 400);
    workload_put(n->line, " now=%" PRId64, d->now);
    if (workload_below(random, 6) == 0) /* sometimes an earlier one */
        workload_put(n->line, " req=r%" PRIu64, d->requests += workload_below(random, 8) != 0);
}

/* The child: execute commands until it is killed, or its store is gone. */
static void live(const char *url, struct diary *d, uint64_t seed)
{
    struct usher_options options = USHER_OPTIONS_INIT;
    struct usher_engine *e;
    uint64_t random = seed;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    options.timeout_ms = DEADLINE_MS;
    options.clock_given = true;
    if (usher_open(url, &options, &e) != USHER_OK)
        _exit(1);
    for (unsigned done = 0; done + BATCH <= NOTES;) {
        struct line lines[BATCH];
        struct usher_operation commands[BATCH];
        struct usher_result replies[BATCH];
        unsigned n = 1 + workload_below(&random, BATCH);

        for (unsigned i = 0; i < n; i++) {
            note_make(d, &d->notes[done + i], &random);
            line_read(&lines[i], d->notes[done + i].line);
            commands[i] = lines[i].c;
        }
        atomic_store(&d->begun, done + n);
        if (usher_operate(e, commands, replies, n) != USHER_OK)
            _exit(0); /* some of them may have been applied */
        for (unsigned i = 0; i < n; i++) {
            d->notes[done + i].status = replies[i].status;
            d->notes[done + i].version = replies[i].version;
            workload_learn(&d->known, &commands[i], &replies[i]);
            usher_result_done(&replies[i]);
            line_done(&lines[i]);
        }
        done += n;
        atomic_store(&d->acknowledged, done);
    }
    _exit(0);
}

/* ---- comparison of the store and the diary ------------------------------------------- */

static struct usher_engine *open_store(const char *url)
{
    struct usher_options options = USHER_OPTIONS_INIT;
    struct usher_engine *e;

    options.timeout_ms = DEADLINE_MS;
    options.clock_given = true;
    if (usher_open(url, &options, &e) != USHER_OK)
        fail_msg("%s", usher_message());
    return e;
}

static void execute_on_twin(struct usher_engine *e, const char *text, enum usher_status *ret_status,
                            uint64_t *ret_version)
{
    struct line line;
    struct usher_result reply;
    enum usher_status status;

    line_read(&line, text);
    status = usher_operate(e, &line.c, &reply, 1);
    if (status != USHER_OK && status != USHER_LOST)
        fail_msg("%s: %s", text, reply.message);
    *ret_status = reply.status;
    *ret_version = reply.version;
    usher_result_done(&reply);
    line_done(&line);
}

static void digest_of(struct usher_engine *e, unsigned scope, char digest[33])
{
    if (usher_digest(e, workload_scopes[scope].noun, workload_scopes[scope].name, digest) !=
        USHER_OK)
        fail_msg("digest: %s", usher_message());
}

static bool alike(struct usher_engine *e, struct usher_engine *twin, unsigned scope)
{
    char here[33], there[33];

    digest_of(e, scope, here);
    digest_of(twin, scope, there);
    return strcmp(here, there) == 0;
}

/* Close the room at the time in @at, and repeat until nothing is left of it. */
static void close_whole(struct usher_engine *e, unsigned scope, const char *at)
{
    char text[128];
    struct line line;
    struct usher_result reply;
    bool closing = true;

    for (unsigned i = 0; closing; i++) {
        (void)snprintf(text, sizeof text, "room %s %s %.*s", i == 0 ? "close" : "sweep",
                       workload_scopes[scope].name, (int)strcspn(at, " "), at);
        line_read(&line, text);
        if (usher_operate(e, &line.c, &reply, 1) != USHER_OK || i == 10000)
            fail_msg("%s: %s", text, reply.message);
        closing = reply.of.room.state == USHER_ROOM_STATE_CLOSING;
        usher_result_done(&reply);
        line_done(&line);
    }
}

/*
 * Opening and closing a room are several steps of the store, each atomic.  A process that is killed
 * between two of them leaves a room that is neither as before nor as after the command: it is
 * closing, and can be closed like any other.
 */
static bool closes_alike(struct usher_engine *e, struct usher_engine *twin, unsigned scope,
                         const struct diary *d, unsigned from, unsigned to)
{
    const char *at = NULL;

    for (unsigned i = from; i < to; i++)
        if (d->notes[i].scope == scope && (strncmp(d->notes[i].line, "room open ", 10) == 0 ||
                                           strncmp(d->notes[i].line, "room close ", 11) == 0))
            at = strstr(d->notes[i].line, "now=");
    if (at == NULL)
        return false;
    close_whole(e, scope, at);
    close_whole(twin, scope, at);
    return alike(e, twin, scope);
}

/* Print a scope of a store, to show how two stores differ. */
static void describe(const char *which, struct usher_engine *e, unsigned scope)
{
    static const char *const reads[] = { [USHER_NUMBER] = "stats",
                                         [USHER_QUEUE] = "stats",
                                         [USHER_ROOM] = "snapshot",
                                         [USHER_SERIAL] = "show",
                                         [USHER_ID] = "show" };
    enum usher_noun noun = workload_scopes[scope].noun;
    char text[128], digest[33];
    struct usher_result reply;
    struct line line;

    (void)snprintf(text, sizeof text, "%s %s %s", usher_noun_word(noun), reads[noun],
                   workload_scopes[scope].name);
    line_read(&line, text);
    (void)usher_operate(e, &line.c, &reply, 1);
    print_error("%s: %s: %s, version %" PRIu64 ", epoch %" PRIx64, which, text,
                usher_status_word(reply.status), reply.version, reply.epoch);
    if (noun == USHER_ROOM) {
        print_error(", state %d, %zu rows:", (int)reply.of.room.state, reply.of.room.n_rows);
        for (size_t i = 0; i < reply.of.room.n_rows; i++)
            print_error(" %d:%.*s", (int)reply.of.room.rows[i].kind,
                        (int)reply.of.room.rows[i].id.size, reply.of.room.rows[i].id.data);
    }
    print_error("\n");
    usher_result_done(&reply);
    line_done(&line);
    digest_of(e, scope, digest);
    print_error("digest %s\n", digest);
}

/* Commands under way when a process was killed, over a run. */
static unsigned applied, not_applied;

static void compare_with_twin(const char *url, struct usher_engine *twin, struct diary *d)
{
    struct usher_engine *e = open_store(url);
    unsigned acknowledged = atomic_load(&d->acknowledged), begun = atomic_load(&d->begun);
    uint64_t version, faults = 1;
    struct usher_check_result found;
    enum usher_status status;

    now.at = "the twin executes the acknowledged commands";
    for (unsigned i = 0; i < acknowledged; i++) {
        const struct note *n = &d->notes[i];

        execute_on_twin(twin, n->line, &status, &version);
        if (status != n->status || version != n->version)
            fail_msg("%s: said %s, version %" PRIu64 "; the twin %s, version %" PRIu64, n->line,
                     usher_status_word(n->status), n->version, usher_status_word(status), version);
    }
    now.at = "digests are compared";
    for (unsigned k = 0; k < WORKLOAD_SCOPES; k++) {
        bool same = alike(e, twin, k);

        for (unsigned i = acknowledged; i < begun; i++) {
            if (d->notes[i].scope != k)
                continue;
            if (same) {
                not_applied++;
                break;
            }
            execute_on_twin(twin, d->notes[i].line, &status, &version);
            applied++;
            same = alike(e, twin, k);
        }
        if (same || closes_alike(e, twin, k, d, acknowledged, begun))
            continue;
        for (unsigned i = 0; i < begun; i++)
            if (d->notes[i].scope == k)
                print_error("%s %s\n", i < acknowledged ? "acknowledged" : "under way",
                            d->notes[i].line);
        describe("the store", e, k);
        describe("the twin", twin, k);
        fail_msg("%s %s is not as the dead had it", usher_noun_word(workload_scopes[k].noun),
                 workload_scopes[k].name);
    }
    now.at = "the store is checked and mended";
    /* a room and its entry in the index are not written atomically: an entry without a room may be
     * left over */
    if (usher_check(e, &repairing, print_fault, NULL, &found) != USHER_OK)
        fail_msg("check: %s", usher_message());
    assert_int_equal(found.repaired, found.faults);
    now.at = "the store is audited";
    if (check_faults(e, print_fault, NULL, &faults) != USHER_OK)
        fail_msg("audit: %s", usher_message());
    assert_true(faults == 0);
    usher_close(e);
    now.at = NULL;
}

static struct usher_engine *prepare(const char *url)
{
    struct usher_engine *e = open_store(url), *twin = open_store("memory:");
    enum usher_status status;
    uint64_t version;

    for (unsigned i = 0; i < workload_n_begin; i++) {
        char line[WORKLOAD_LINE] = "";

        workload_put(line, "%s now=%" PRId64, workload_begin[i], WORKLOAD_T0);
        execute_on_twin(e, line, &status, &version);
        assert_int_equal(status, USHER_OK);
        execute_on_twin(twin, line, &status, &version);
        assert_int_equal(status, USHER_OK);
    }
    usher_close(e);
    return twin;
}

static struct diary *diary_new(void)
{
    struct diary *d =
        mmap(NULL, sizeof(struct diary), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_true(d != MAP_FAILED);
    d->now = WORKLOAD_T0;
    applied = not_applied = 0;
    return d;
}

static pid_t child_new(const char *url, struct diary *d, uint64_t seed, int left)
{
    pid_t pid;

    now.at = "the child lives";
    now.left = left;
    now.seed = seed;
    now.diary = d;
    atomic_store(&d->acknowledged, 0);
    atomic_store(&d->begun, 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        live(url, d, seed);
    return pid;
}

/* Wait for @n acknowledged commands, and a little longer that depends on @spins.  Return whether
 * the child still lives: it ends if the store is too slow. */
static bool wait_for(const struct diary *d, pid_t pid, unsigned n, uint64_t spins)
{
    int64_t end = clock_ms() + DEADLINE_MS;

    while (atomic_load(&d->acknowledged) < n) {
        int status;

        if (clock_ms() >= end)
            fail_msg("the child has not done %u commands in %d ms", n, DEADLINE_MS);
        if (waitpid(pid, &status, WNOHANG) == pid) {
            if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
                fail_msg("the child ended by itself: status %#x", (unsigned)status);
            return false;
        }
        (void)sched_yield();
    }
    for (volatile uint64_t i = 0; i < spins; i = i + 1) {
    }
    return true;
}

static void kill_child(pid_t pid)
{
    int status;

    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_true(waitpid(pid, &status, 0) == pid);
}

#ifdef USHER_WITH_SQLITE
TEST(a_killed_program_leaves_no_half_command_in_sqlite)
{
    char url[128];
    struct diary *d = diary_new();
    struct usher_engine *twin;
    uint64_t random = seed_of_run();

    (void)snprintf(url, sizeof url, "sqlite:%s/pool.db", test_dir());
    twin = prepare(url);
    for (int i = rounds(); i > 0; i--) {
        pid_t pid = child_new(url, d, next_random(&random), i);

        if (wait_for(d, pid, workload_below(&random, 40), next_random(&random) % 200000))
            kill_child(pid);
        compare_with_twin(url, twin, d);
    }
    print_message("of what was under way %u applied, %u not\n", applied, not_applied);
    usher_close(twin);
    (void)munmap(d, sizeof *d);
}
#endif

#ifdef USHER_WITH_REDIS
static struct redis_server *server;

/* The server executes received requests of the killed process. */
TEST(a_killed_program_leaves_no_half_command_in_redis)
{
    char url[REDIS_URL_MAX];
    struct diary *d = diary_new();
    struct usher_engine *twin;
    uint64_t random = seed_of_run();

    assert_true(redis_do_ok(server, "FLUSHALL", NULL));
    (void)redis_server_url(server, url);
    twin = prepare(url);
    for (int i = (rounds() + 3) / 4; i > 0; i--) {
        pid_t pid = child_new(url, d, next_random(&random), i);

        if (wait_for(d, pid, workload_below(&random, 60), next_random(&random) % 200000))
            kill_child(pid);
        now.at = "the server goes on with what it was sent";
        assert_true(
            redis_server_wait_info(server, "clients", "connected_clients:1\r", DEADLINE_MS));
        compare_with_twin(url, twin, d);
    }
    print_message("of what was under way %u applied, %u not\n", applied, not_applied);
    usher_close(twin);
    (void)munmap(d, sizeof *d);
}

/* A server that starts reads all earlier writes.  After thousands of rounds this takes seconds, and
 * on a busy machine a minute. */
static void forget_old_writes(void)
{
    now.at = "the server rewrites its file";
    assert_true(redis_do_ok(server, "BGREWRITEAOF", NULL));
    assert_true(
        redis_server_wait_info(server, "persistence", "aof_rewrite_in_progress:0\r", DEADLINE_MS));
    assert_true(redis_server_wait_info(server, "persistence", "aof_last_bgrewrite_status:ok\r",
                                       DEADLINE_MS));
}

TEST(a_killed_redis_keeps_all_acknowledged_commands)
{
    char url[REDIS_URL_MAX];
    struct diary *d = diary_new();
    struct usher_engine *twin;
    uint64_t random = seed_of_run();

    (void)redis_server_url(server, url);
    for (int i = rounds(); i > 0; i--) {
        pid_t pid;
        bool lives;

        /* On a restarted server versions jump, unlike the twin's: both begin empty. */
        assert_true(redis_do_ok(server, "FLUSHALL", NULL));
        twin = prepare(url);

        if (i % 100 == 0)
            forget_old_writes();
        pid = child_new(url, d, next_random(&random), i);
        lives = wait_for(d, pid, workload_below(&random, 60), next_random(&random) % 200000);
        now.at = "the server is killed";
        assert_int_equal(redis_server_kill(server, SIGKILL), 0);
        if (lives)
            kill_child(pid); /* it would wait for the server */
        now.at = "the server is started again";
        assert_true(redis_server_restart(server));
        /* Killed within a call, the server may have written a part of it.  It cuts that off after
         * MULTI, which stays open: a later start applies the following writes in part
         * (backends/redis/README.md).  The operator must have the file rewritten. */
        if (redis_server_logged(server, "Truncating the AOF"))
            forget_old_writes();
        compare_with_twin(url, twin, d);
        usher_close(twin);
    }
    print_message("of what was under way %u applied, %u not\n", applied, not_applied);
    (void)munmap(d, sizeof *d);
}
#endif

/* After each test: print the state of a round that failed. */
static int print_round(void **state)
{
    (void)state;
    if (now.at == NULL)
        return 0;
    print_error("%d rounds were left, seed of the child %" PRIu64 ", when this was under way: %s\n",
                now.left, now.seed, now.at);
    for (unsigned i = 0; i < atomic_load(&now.diary->begun); i++) {
        const struct note *n = &now.diary->notes[i];
        bool acknowledged = i < atomic_load(&now.diary->acknowledged);

        print_error("%s version %" PRIu64 ": %s\n",
                    acknowledged ? usher_status_word(n->status) : "under way,",
                    acknowledged ? n->version : 0, n->line);
    }
#ifdef USHER_WITH_REDIS
    redis_server_print_log(server);
#endif
    now.at = NULL;
    return 0;
}

TEST_EACH(NULL, print_round);

#ifdef USHER_WITH_REDIS
static int program_begin(void)
{
    struct redis_server_options options = { .aof = REDIS_AOF_ALWAYS };

    server = redis_server_start(&options);
    return server != NULL ? 0 : redis_skip();
}

static void program_end(void)
{
    redis_server_stop(server);
}

TEST_PROGRAM(program_begin, program_end);
#endif
