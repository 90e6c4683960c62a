/* SPDX-License-Identifier: MIT */
/*
 * Visits on their way from a store into a history on SQLite: none is lost and none is there
 * twice, whoever is killed, however many move them, and whatever becomes of the file.  Q8 of the
 * specification.  A random test prints its seed; USHER_SEED replays it, USHER_ROUNDS sets how much.
 */
#include "config.h"

#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include <usher/history.h>
#include <usher/usher.h>

#include "lib/share.h"

static char directory[200];
static unsigned files;

static void new_path(char to[256])
{
    (void)snprintf(to, 256, "%s/%u.db", directory, files++);
}

static char logged[512];
static unsigned n_logged;

static void log_line(void *payload, enum usher_log_level level, const char *line)
{
    (void)payload;
    (void)level;
    (void)snprintf(logged, sizeof logged, "%s", line);
    n_logged++;
}

/* An engine on @store ("memory:", or a path) with the history at @history, or NULL. */
static struct usher_engine *engine_open(const char *store, const char *history)
{
    struct usher_options opt = USHER_OPTIONS_INIT;
    struct usher_engine *e = NULL;
    char url[600];

    (void)snprintf(url, sizeof url, "%s%s?timeout=60000%s%s", store[0] == '/' ? "sqlite:" : "",
                   store, history != NULL ? "&history=sqlite:" : "",
                   history != NULL ? history : "");
    opt.log = log_line;
    if (usher_open(url, &opt, &e) != USHER_OK)
        fail_msg("%s: %s", url, usher_message(NULL));
    return e;
}

static void queue_make(struct usher_engine *e)
{
    struct usher_queue_settings set;

    memset(&set, 0, sizeof set);
    assert_int_equal(
        usher_queue_set(e, "desk", USHER_GIVEN_QUEUE_TTL | USHER_GIVEN_QUEUE_HISTORY, &set),
        USHER_OK);
    assert_int_equal(usher_queue_login(e, "desk", "ann", 1, NULL, 0, NULL), USHER_OK);
}

/* The visit of user number @i, from apply to end. */
static enum usher_status visit(struct usher_engine *e, uint64_t i)
{
    char user[32];
    struct usher_seat seat;
    enum usher_status status;

    (void)snprintf(user, sizeof user, "u%" PRIu64, i);
    status = usher_queue_apply(e, "desk", user, NULL, &seat);
    return status == USHER_OK ? usher_queue_leave(e, "desk", user) : status;
}

/* What @sql says of the file at @path. */
static int64_t ask(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *st = NULL;
    int64_t value = -1;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
    if (sqlite3_step(st) == SQLITE_ROW)
        value = sqlite3_column_int64(st, 0);
    (void)sqlite3_finalize(st);
    (void)sqlite3_close(db);
    return value;
}

/* The plan of @sql has @index in it. */
static void served_by(sqlite3 *db, const char *sql, const char *index)
{
    char explain[300], plan[600] = "";
    sqlite3_stmt *st = NULL;

    (void)snprintf(explain, sizeof explain, "EXPLAIN QUERY PLAN %s", sql);
    assert_int_equal(sqlite3_prepare_v2(db, explain, -1, &st, NULL), SQLITE_OK);
    while (sqlite3_step(st) == SQLITE_ROW)
        (void)snprintf(plan + strlen(plan), sizeof plan - strlen(plan), "%s\n",
                       (const char *)sqlite3_column_text(st, 3));
    (void)sqlite3_finalize(st);
    if (strstr(plan, index) == NULL)
        fail_msg("%s: not served by %s:\n%s", sql, index, plan);
}

static void a_visit_is_a_row_that_sql_can_ask_for(void **state)
{
    char history[256];
    struct usher_engine *e;
    sqlite3 *db = NULL;

    (void)state;
    new_path(history);
    e = engine_open("memory:", history);
    queue_make(e);
    assert_int_equal(visit(e, 1), USHER_OK);
    assert_int_equal(visit(e, 2), USHER_OK);
    usher_close(e);
    assert_int_equal(ask(history, "SELECT count(*) FROM visit WHERE queue = 'desk' AND user = 'u2'"
                                  " AND agent = 'ann' AND lane = 'default' AND outcome = 'seated'"
                                  " AND priority = 0 AND room LIKE '_.1' AND length(epoch) = 16"
                                  " AND seated_ms = applied_ms AND since_ms = applied_ms"
                                  " AND wait_ms = 0 AND talk_ms = ended_ms - seated_ms"
                                  " AND id = 2 AND typeof(user) = 'text'"),
                     1);
    assert_int_equal(sqlite3_open(history, &db), SQLITE_OK);
    served_by(db, "SELECT * FROM visit WHERE user = 'a' ORDER BY ended_ms", "visit_by_user");
    served_by(db, "SELECT * FROM visit WHERE agent = 'a' ORDER BY ended_ms", "visit_by_agent");
    served_by(db, "SELECT * FROM visit WHERE queue = 'a' AND ended_ms > 5", "visit_by_time");
    served_by(db, "SELECT * FROM visit WHERE queue = 'a' ORDER BY id DESC", "visit_by_queue");
    (void)sqlite3_close(db);
    /* the store is another one, and the history is still the same */
    e = engine_open("memory:", history);
    {
        struct usher_visit_filter filter = USHER_VISIT_FILTER_INIT;
        struct usher_reply r;

        filter.user = "u1";
        assert_int_equal(usher_queue_history(e, "desk", &filter, NULL, 0, &r), USHER_OK);
        assert_int_equal(r.of.queue.n_rows, 1);
        assert_int_equal(r.of.queue.rows[0].state, USHER_OUTCOME_SEATED);
        assert_int_equal(r.of.queue.rows[0].no, 1);
        usher_reply_done(&r);
        filter.user = NULL;
        filter.agent = "bob";
        assert_int_equal(usher_queue_history(e, "desk", &filter, NULL, 0, &r), USHER_MISSING);
        usher_reply_done(&r);
    }
    usher_close(e);
}

/* The same by SQL of a store's file, which a file of the format before gets as it is opened. */
static void visits_that_a_store_keeps_are_rows_of_a_view(void **state)
{
    static const char sql[] =
        "SELECT count(*) FROM visit WHERE queue = 'desk' AND user = 'u2' AND lane = 'default'"
        " AND agent = 'ann' AND outcome = 'seated' AND room LIKE '_.1' AND length(epoch) = 16"
        " AND seated_ms = applied_ms AND wait_ms = 0 AND talk_ms = ended_ms - seated_ms";
    char store[256];
    struct usher_queue_settings set = { .history = 2 };
    struct usher_engine *e;
    sqlite3 *db = NULL;

    (void)state;
    new_path(store);
    e = engine_open(store, NULL);
    queue_make(e);
    assert_int_equal(usher_queue_set(e, "desk", USHER_GIVEN_QUEUE_HISTORY, &set), USHER_OK);
    for (uint64_t i = 0; i < 3; i++)
        assert_int_equal(visit(e, i), USHER_OK);
    usher_close(e);
    assert_int_equal(ask(store, sql), 1);
    assert_int_equal(ask(store, "SELECT count(*) FROM visit"), 2);
    assert_int_equal(sqlite3_open(store, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "DROP VIEW visit; PRAGMA user_version = 2", NULL, NULL, NULL),
                     SQLITE_OK);
    (void)sqlite3_close(db);
    usher_close(engine_open(store, NULL));
    assert_int_equal(ask(store, sql), 1);
}

/* ---- killed -------------------------------------------------------------------------- */

struct diary {
    _Atomic uint64_t begun, acknowledged; /* visits */
};

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static void child_works(const char *store, const char *history, struct diary *d, uint64_t every)
{
    struct usher_engine *e;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    e = engine_open(store, history);
    for (;;) {
        uint64_t i = atomic_load(&d->acknowledged);
        enum usher_status status;

        atomic_store(&d->begun, i + 1);
        status = visit(e, i);
        if (status != USHER_OK)
            _exit(1);
        atomic_store(&d->acknowledged, i + 1);
        if (i % every == 0 && usher_queue_drain(e, "desk", NULL) >= USHER_INVALID)
            _exit(2);
    }
}

static void who_is_killed_loses_no_visit_and_puts_none_twice(void **state)
{
    const char *given = getenv("USHER_SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    int n = (int)share_of("USHER_ROUNDS", 12);
    struct diary *d =
        mmap(NULL, sizeof *d, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char store[256], history[256];
    struct usher_engine *e;

    (void)state;
    print_message("USHER_SEED=%" PRIu64 "\n", seed);
    assert_true(d != MAP_FAILED);
    new_path(store);
    new_path(history);
    e = engine_open(store, NULL);
    queue_make(e);
    usher_close(e);
    for (int round = 0; round < n; round++) {
        struct timespec nap = { 0, (long)(next_random(&seed) % 60000000) + 1000000 };
        uint64_t every = 1 + next_random(&seed) % 4, before = atomic_load(&d->acknowledged);
        pid_t child = fork();
        int status;

        if (child == 0)
            child_works(store, history, d, every);
        while (atomic_load(&d->acknowledged) == before && waitpid(child, &status, WNOHANG) == 0)
            ; /* it has begun */
        (void)nanosleep(&nap, NULL);
        (void)kill(child, SIGKILL);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        e = engine_open(store, history);
        { /* who was under way is here, has been here, or never was: now it has been */
            uint64_t last = atomic_load(&d->begun) - 1;
            char user[32];

            (void)snprintf(user, sizeof user, "u%" PRIu64, last);
            if (visit(e, last) == USHER_SAME)
                assert_int_equal(usher_queue_leave(e, "desk", user), USHER_OK);
        }
        atomic_store(&d->acknowledged, atomic_load(&d->begun));
        assert_true(usher_queue_drain(e, "desk", NULL) <= USHER_SAME);
        usher_close(e);
        assert_int_equal(ask(history, "SELECT count(DISTINCT user) FROM visit"),
                         atomic_load(&d->begun));
        /* no row of a visit is there twice */
        assert_int_equal(ask(history, "SELECT count(*) - count(DISTINCT version) FROM visit"), 0);
    }
    /* those that nobody doubted ended once */
    assert_true(ask(history, "SELECT count(*) FROM visit") <= (int64_t)atomic_load(&d->begun) + n);
    print_message("%" PRIu64 " visits\n", atomic_load(&d->begun));
    (void)munmap(d, sizeof *d);
}

static void many_move_the_same_visits_and_none_is_there_twice(void **state)
{
    enum { VISITS = 3000, CHILDREN = 4 };
    char store[256], history[256];
    struct usher_queue_settings set = { .archive = 1000000 };
    struct usher_queue_stats stats;
    struct usher_engine *e;
    pid_t children[CHILDREN];

    (void)state;
    new_path(store);
    new_path(history);
    e = engine_open(store, NULL);
    queue_make(e);
    assert_int_equal(usher_queue_set(e, "desk", USHER_GIVEN_QUEUE_ARCHIVE, &set), USHER_OK);
    for (uint64_t i = 0; i < VISITS; i += 500) { /* in batches: apply, leave, apply, … */
        static struct usher_command commands[1000];
        static struct usher_reply replies[1000];
        static char users[500][32];

        memset(commands, 0, sizeof commands);
        for (size_t k = 0; k < 1000; k++) {
            char *user = users[k / 2];

            (void)snprintf(user, sizeof users[0], "u%zu", (size_t)i + k / 2);
            commands[k].verb = k % 2 == 0 ? USHER_QUEUE_APPLY : USHER_QUEUE_LEAVE;
            commands[k].scope.data = "desk";
            commands[k].scope.size = 4;
            commands[k].arg.queue.user.data = user;
            commands[k].arg.queue.user.size = strlen(user);
        }
        assert_int_equal(usher_execute(e, commands, replies, 1000), USHER_OK);
        assert_int_equal(replies[999].status, USHER_OK);
    }
    usher_close(e);
    for (int i = 0; i < CHILDREN; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            enum usher_status status;

            e = engine_open(store, history);
            while ((status = usher_queue_drain(e, "desk", NULL)) == USHER_OK)
                ;
            usher_close(e);
            _exit(status == USHER_SAME ? 0 : 1);
        }
    }
    for (int i = 0; i < CHILDREN; i++) {
        int status = -1;

        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(ask(history, "SELECT count(*) FROM visit"), VISITS);
    assert_int_equal(ask(history, "SELECT count(DISTINCT user) FROM visit"), VISITS);
    /* in the order in which they ended, whoever put them there */
    assert_int_equal(ask(history, "SELECT count(*) FROM visit a JOIN visit b ON b.id = a.id + 1"
                                  " WHERE a.version >= b.version"),
                     0);
    e = engine_open(store, NULL);
    assert_int_equal(usher_queue_stats(e, "desk", NULL, &stats), USHER_OK);
    assert_int_equal(stats.visits, 0);
    usher_close(e);
}

/* ---- the file ------------------------------------------------------------------------ */

static void visits_end_although_their_history_cannot_be_reached(void **state)
{
    char store[256], history[300], folder[256];
    struct usher_engine *e;
    struct usher_queue_stats stats;

    (void)state;
    new_path(store);
    (void)snprintf(folder, sizeof folder, "%s/later", directory);
    (void)snprintf(history, sizeof history, "%s/h.db", folder);
    e = engine_open(store, history);
    queue_make(e);
    n_logged = 0;
    assert_int_equal(visit(e, 0), USHER_OK);
    assert_int_equal(visit(e, 1), USHER_OK);
    assert_int_equal(usher_queue_drain(e, "desk", NULL), USHER_UNAVAILABLE);
    assert_non_null(strstr(usher_message(NULL), "history: cannot be opened: no such directory"));
    assert_int_equal(usher_queue_stats(e, "desk", NULL, &stats), USHER_OK);
    assert_int_equal(stats.visits, 2);
    usher_close(e); /* tries once more, and says so */
    assert_int_equal(n_logged, 1);
    assert_non_null(strstr(logged, "ended visits stay in the store until it takes them"));
    assert_int_equal(mkdir(folder, 0700), 0);
    e = engine_open(store, history);
    assert_int_equal(visit(e, 2), USHER_OK); /* as a queue is met, it is emptied */
    assert_int_equal(ask(history, "SELECT count(*) >= 2 FROM visit"), 1);
    usher_close(e);
    assert_int_equal(ask(history, "SELECT count(DISTINCT user) FROM visit"), 3);
}

static void a_file_of_others_is_left_alone(void **state)
{
    char store[256], history[256], newer[256];
    struct usher_engine *e;
    sqlite3 *db = NULL;

    (void)state;
    new_path(store);
    new_path(history);
    new_path(newer);
    usher_close(engine_open(history, NULL)); /* a store */
    e = engine_open(store, history);
    queue_make(e);
    assert_int_equal(visit(e, 0), USHER_OK);
    assert_int_equal(usher_queue_drain(e, "desk", NULL), USHER_UNAVAILABLE);
    assert_non_null(strstr(usher_message(NULL), "the file is not that of a history"));
    usher_close(e);
    assert_int_equal(ask(history, "SELECT count(*) FROM sqlite_master WHERE name = 'visit'"
                                  " AND type = 'table'"),
                     0);
    e = engine_open(store, newer);
    assert_int_equal(usher_queue_drain(e, "desk", NULL), USHER_OK);
    usher_close(e);
    assert_int_equal(sqlite3_open(newer, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA user_version = 99", NULL, NULL, NULL), SQLITE_OK);
    (void)sqlite3_close(db);
    e = engine_open(store, newer);
    assert_int_equal(visit(e, 1), USHER_OK);
    assert_int_equal(usher_queue_drain(e, "desk", NULL), USHER_UNAVAILABLE);
    assert_non_null(strstr(usher_message(NULL), "the file is of a newer usher"));
    usher_close(e);
    assert_int_equal(ask(newer, "SELECT count(*) FROM visit"), 1);
}

static void a_full_disk_stops_no_visit(void **state)
{
    char history[256];
    struct rlimit limit;
    struct usher_engine *e;
    rlim_t before;
    uint64_t n = 0;

    (void)state;
    new_path(history);
    e = engine_open("memory:", history); /* so that the history alone is written to */
    queue_make(e);
    assert_int_equal(visit(e, n++), USHER_OK);
    assert_int_equal(usher_queue_drain(e, "desk", NULL), USHER_OK);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    before = limit.rlim_cur;
    (void)signal(SIGXFSZ, SIG_IGN);
    limit.rlim_cur = 300000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    while (n < 20000) { /* until it is full */
        for (int i = 0; i < 500; i++)
            assert_int_equal(visit(e, n++), USHER_OK);
        if (usher_queue_drain(e, "desk", NULL) >= USHER_INVALID)
            break;
    }
    assert_true(n < 20000);
    for (int i = 0; i < 100; i++)
        assert_int_equal(visit(e, n++), USHER_OK);
    {
        struct usher_visit_filter filter = USHER_VISIT_FILTER_INIT;
        struct usher_reply r;
        char user[32];

        (void)snprintf(user, sizeof user, "u%" PRIu64, n - 1);
        filter.user = user;
        assert_int_equal(usher_queue_history(e, "desk", &filter, NULL, 0, &r), USHER_OK);
        assert_int_equal(r.of.queue.n_rows, 1);
        usher_reply_done(&r);
    }
    limit.rlim_cur = before;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(usher_queue_drain(e, "desk", NULL), USHER_OK);
    usher_close(e);
    assert_int_equal(ask(history, "SELECT count(*) FROM visit"), n);
    assert_int_equal(ask(history, "SELECT count(DISTINCT user) FROM visit"), n);
}

static void a_child_of_fork_leaves_its_parents_history_alone(void **state)
{
    char store[256], history[256];
    struct usher_engine *e;
    pid_t child;
    int status = -1;

    (void)state;
    new_path(store);
    new_path(history);
    e = engine_open(store, history);
    queue_make(e);
    assert_int_equal(visit(e, 0), USHER_OK);
    assert_int_equal(usher_queue_drain(e, "desk", NULL), USHER_OK);
    assert_int_equal(visit(e, 1), USHER_OK);
    child = fork();
    if (child == 0) {
        bool told = usher_queue_drain(e, "desk", NULL) == USHER_INVALID;

        usher_close(e);
        e = engine_open(store, history);
        _exit(told && visit(e, 2) == USHER_OK && (usher_close(e), true) ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(visit(e, 3), USHER_OK);
    usher_close(e);
    assert_int_equal(ask(history, "SELECT count(DISTINCT user) FROM visit"), 4);
}

static void a_url_of_a_history_is_checked(void **state)
{
    struct usher_history *h = NULL;
    struct usher_engine *e = NULL;

    (void)state;
    assert_int_equal(usher_history_open("mysql:x", NULL, &h), USHER_INVALID);
    assert_int_equal(usher_history_open("sqlite:", NULL, &h), USHER_INVALID);
    assert_int_equal(usher_history_open(NULL, NULL, &h), USHER_INVALID);
    assert_int_equal(usher_open("memory:?history=mysql:x", NULL, &e), USHER_INVALID);
    assert_non_null(strstr(usher_message(NULL), "a history is sqlite:PATH"));
    assert_int_equal(usher_open("memory:?history=sqlite:/x&nix=1", NULL, &e), USHER_INVALID);
    usher_history_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_url_of_a_history_is_checked),
        cmocka_unit_test(a_visit_is_a_row_that_sql_can_ask_for),
        cmocka_unit_test(visits_that_a_store_keeps_are_rows_of_a_view),
        cmocka_unit_test(who_is_killed_loses_no_visit_and_puts_none_twice),
        cmocka_unit_test(many_move_the_same_visits_and_none_is_there_twice),
        cmocka_unit_test(visits_end_although_their_history_cannot_be_reached),
        cmocka_unit_test(a_file_of_others_is_left_alone),
        cmocka_unit_test(a_full_disk_stops_no_visit),
        cmocka_unit_test(a_child_of_fork_leaves_its_parents_history_alone),
    };
    const char *tmp = getenv("TMPDIR");
    char command[256];
    int rc;

    (void)snprintf(directory, sizeof directory, "%s/usher-visits.XXXXXX",
                   tmp != NULL ? tmp : "/tmp");
    if (mkdtemp(directory) == NULL)
        return 1;
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    (void)snprintf(command, sizeof command, "rm -rf '%s'", directory);
    return system(command) != 0 ? 1 : rc;
}
