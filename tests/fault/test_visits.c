/* SPDX-License-Identifier: MIT */
/*
 * Visits are moved from a store into a history on SQLite, or stay within an SQLite store.  None is
 * lost and none is there twice: with killed processes, several that end or move visits, and faults
 * of the file.  Q8 of the specification.  A random test prints its seed; USHER_SEED replays it,
 * USHER_ROUNDS sets how much.
 */
#include "lib/test.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <sqlite3.h>

#include <usher/store/history.h>

#include "lib/calls.h"
#include "lib/util.h"
#include "history_table.h"

static unsigned files;

static void new_path(char to[256])
{
    (void)snprintf(to, 256, "%s/%u.db", test_dir(), files++);
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

/* Open an engine on @store ("memory:", or a path) with the history at @history, or NULL. */
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
        fail_msg("%s: %s", url, usher_message());
    return e;
}

static void queue_make(struct usher_engine *e)
{
    struct usher_queue_result_settings set;

    memset(&set, 0, sizeof set);
    assert_int_equal(
        ask_queue_set(e, "desk", USHER_GIVEN_QUEUE_TTL | USHER_GIVEN_QUEUE_HISTORY, &set),
        USHER_OK);
    assert_int_equal(ask_queue_login(e, "desk", "ann", 1, NULL, 0, NULL), USHER_OK);
}

/* Make a visit of user number @i, from apply to end. */
static enum usher_status visit(struct usher_engine *e, uint64_t i)
{
    char user[32];
    struct ask_queue_seat seat;
    enum usher_status status;

    (void)snprintf(user, sizeof user, "u%" PRIu64, i);
    status = ask_queue_apply(e, "desk", user, NULL, &seat);
    return status == USHER_OK ? ask_queue_leave(e, "desk", user) : status;
}

/* Return the number that @sql selects from the file at @path. */
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

/* Check that the query plan of @sql uses @index. */
static void served_by(sqlite3 *db, const char *sql, const char *index)
{
    char explain[800], plan[600] = "";
    sqlite3_stmt *st = NULL;

    (void)snprintf(explain, sizeof explain, "EXPLAIN QUERY PLAN %s", sql);
    assert_int_equal(sqlite3_prepare_v2(db, explain, -1, &st, NULL), SQLITE_OK);
    while (sqlite3_step(st) == SQLITE_ROW)
        (void)snprintf(plan + strlen(plan), sizeof plan - strlen(plan), "%s\n",
                       (const char *)sqlite3_column_text(st, 3));
    (void)sqlite3_finalize(st);
    if (strstr(plan, index) == NULL)
        fail_msg("%s: not served by %s:\n%s", sql, index, plan);
    if (strstr(sql, "LIMIT") != NULL && strstr(plan, "TEMP B-TREE") != NULL)
        fail_msg("%s: is sorted:\n%s", sql, plan);
}

/* Check that each query of `queue history` uses the index of its filter, and does not sort. */
static void check_indexes(sqlite3 *db)
{
    for (unsigned i = 0; i < 32; i++) {
        struct usher_history_query q = { .queue = { "a", 1 }, .until_ms = INT64_MAX, .max = 10 };
        char sql[USHER__VISITS_SQL];

        if ((i & 1) != 0)
            q.user = (struct usher_text){ "u", 1 };
        if ((i & 2) != 0)
            q.agent = (struct usher_text){ "u", 1 };
        if ((i & 4) != 0)
            q.since_ms = 5;
        if ((i & 8) != 0)
            q.until_ms = 9;
        if ((i & 16) != 0)
            q.before = 7;
        for (int64_t ended_ms = 0; ended_ms < 1 + (int64_t)((i & 3) == 0 && (i & 12) != 0);
             ended_ms++) {
            usher__visits_sql(&q, ended_ms, sql);
            served_by(db, sql,
                      (i & 15) == 0  ? "visit_by_queue"
                      : (i & 3) == 0 ? "visit_by_time"
                      : (i & 3) == 1 ? "visit_by_user"
                      : (i & 3) == 2 ? "visit_by_agent"
                                     : "visit_by_");
        }
    }
}

TEST(a_visit_is_a_row_that_sql_can_read)
{
    char history[256];
    struct usher_engine *e;
    sqlite3 *db = NULL;

    new_path(history);
    e = engine_open("memory:", history);
    queue_make(e);
    assert_int_equal(visit(e, 1), USHER_OK);
    assert_int_equal(visit(e, 2), USHER_OK);
    usher_close(e);
    assert_int_equal(
        ask(history,
            "SELECT count(*) FROM visit WHERE queue = 'desk' AND user = 'u2'"
            " AND agent = 'ann' AND lane = 'default' AND outcome = 'seated'"
            " AND priority = 0 AND room LIKE epoch || '._.1' AND length(epoch) = 16"
            " AND seated_ms = applied_ms AND since_ms = applied_ms"
            " AND wait_ms = 0 AND talk_ms = ended_ms - seated_ms"
            " AND visit = epoch || '.' || (version - 1) AND id = 2 AND typeof(user) = 'text'"),
        1);
    assert_int_equal(sqlite3_open(history, &db), SQLITE_OK);
    served_by(db, "SELECT * FROM visit WHERE user = 'a' ORDER BY ended_ms", "visit_by_user");
    served_by(db, "SELECT * FROM visit WHERE agent = 'a' ORDER BY ended_ms", "visit_by_agent");
    served_by(db, "SELECT * FROM visit WHERE queue = 'a' AND ended_ms > 5", "visit_by_time");
    check_indexes(db);
    (void)sqlite3_close(db);
    /* another store with the same history */
    e = engine_open("memory:", history);
    {
        struct ask_queue_visit_filter filter = { 0 };
        struct usher_result r;

        filter.user = "u1";
        assert_int_equal(ask_queue_history(e, "desk", &filter, NULL, 0, &r), USHER_OK);
        assert_int_equal(r.of.queue.n_rows, 1);
        assert_int_equal(r.of.queue.rows[0].state, USHER_QUEUE_OUTCOME_SEATED);
        assert_int_equal(r.of.queue.rows[0].no, 1);
        assert_int_equal(r.of.queue.rows[0].token,
                         ask(history, "SELECT substr(visit, 18) FROM visit WHERE user = 'u1'"));
        usher_result_done(&r);
        filter.user = NULL;
        filter.agent = "bob";
        assert_int_equal(ask_queue_history(e, "desk", &filter, NULL, 0, &r), USHER_MISSING);
        usher_result_done(&r);
    }
    usher_close(e);
}

/* `where` of a user whose visit the queue does not keep any more. */
static void ended(struct usher_engine *e, const char *user, enum usher_queue_outcome outcome,
                  const char *agent, bool named)
{
    struct usher_queue_answer a = USHER_QUEUE_ANSWER_INIT;

    assert_int_equal(usher_queue_where(e, "desk", user, NULL, &a), USHER_MISSING);
    assert_int_equal(a.outcome, outcome);
    assert_string_equal(a.agent, agent);
    assert_int_equal(a.finished_ms > 0, outcome != USHER_QUEUE_OUTCOME_NONE);
    assert_int_equal(a.visit[0] != '\0', named);
}

TEST(a_history_answers_how_a_visit_ended)
{
    struct usher_queue_answer a = USHER_QUEUE_ANSWER_INIT;
    char history[256];
    struct usher_engine *e;

    new_path(history);
    e = engine_open("memory:", history);
    queue_make(e);
    assert_int_equal(visit(e, 1), USHER_OK);
    usher_close(e);
    e = engine_open("memory:", history);
    queue_make(e);
    /* a visit of another queue of this name has no name in this one */
    ended(e, "u1", USHER_QUEUE_OUTCOME_SEATED, "ann", false);
    ended(e, "u2", USHER_QUEUE_OUTCOME_NONE, "", false);
    assert_int_equal(visit(e, 2), USHER_OK);
    assert_int_equal(usher_queue_drain(e, "desk", NULL, NULL), USHER_OK);
    ended(e, "u2", USHER_QUEUE_OUTCOME_SEATED, "ann", true);
    /* a requeued user waits again: that is no end, and the store has lost the rest */
    assert_int_equal(usher_queue_apply(e, "desk", "u3", NULL, NULL), USHER_OK);
    assert_int_equal(usher_queue_logout(e, "desk", "ann", NULL, NULL), USHER_OK);
    assert_int_equal(usher_queue_where(e, "desk", "u3", NULL, NULL), USHER_OK);
    usher_close(e);
    e = engine_open("memory:", history);
    queue_make(e);
    ended(e, "u3", USHER_QUEUE_OUTCOME_NONE, "", false);
    assert_int_equal(usher_queue_where(e, "desk", "u3", NULL, &a), USHER_MISSING);
    assert_int_equal(a.why, USHER_QUEUE_WHY_LOST);
    usher_close(e);
}

/* The same in the file of a store.  All visits are rows, because the queue keeps none. */
TEST(a_visit_is_a_row_of_its_store_when_it_has_ended)
{
    char store[256];
    struct usher_queue_result_settings set = { .history = 0 };
    struct usher_engine *e;
    sqlite3 *db = NULL;

    new_path(store);
    e = engine_open(store, NULL);
    queue_make(e);
    for (uint64_t i = 0; i < 3; i++) {
        assert_int_equal(visit(e, i), USHER_OK);
        assert_int_equal(ask(store, "SELECT count(*) FROM visit"), i + 1); /* at once */
    }
    assert_int_equal(ask(store, "SELECT count(*) FROM record WHERE list & 15 = 7"), 0);
    assert_int_equal(
        ask(store,
            "SELECT count(*) FROM visit WHERE queue = 'desk' AND user = 'u2'"
            " AND lane = 'default' AND agent = 'ann' AND outcome = 'seated'"
            " AND room = epoch || '.2.1' AND length(epoch) = 16 AND seated_ms = applied_ms"
            " AND since_ms = applied_ms AND priority = 0 AND wait_ms = 0"
            " AND talk_ms = ended_ms - seated_ms AND visit = epoch || '.' || (version - 1) AND id = 3"),
        1);
    assert_int_equal(sqlite3_open(store, &db), SQLITE_OK);
    served_by(db, "SELECT * FROM visit WHERE user = 'a' ORDER BY ended_ms", "visit_by_user");
    served_by(db, "SELECT * FROM visit WHERE agent = 'a' ORDER BY ended_ms", "visit_by_agent");
    served_by(db, "SELECT * FROM visit WHERE queue = 'a' AND ended_ms > 5", "visit_by_time");
    check_indexes(db);
    (void)sqlite3_close(db);
    /* with a separate history no row is removed here, and each is in the history as well */
    usher_close(e);
    {
        char history[256];

        new_path(history);
        e = engine_open(store, history);
        set.history = 1;
        assert_int_equal(ask_queue_set(e, "desk", USHER_GIVEN_QUEUE_HISTORY, &set), USHER_OK);
        for (uint64_t i = 3; i < 6; i++)
            assert_int_equal(visit(e, i), USHER_OK);
        assert_true(USHER_IS_DONE(ask_queue_drain(e, "desk", NULL)));
        usher_close(e);
        assert_int_equal(ask(store, "SELECT count(DISTINCT user) * 100 + count(*) FROM visit"),
                         606);
        assert_int_equal(ask(history, "SELECT count(DISTINCT user) * 100 + count(*) FROM visit"),
                         303);
    }
}

/* Return all visits of "desk" by `queue history`, in pages of @max, a line a visit. */
static char *all_visits(struct usher_engine *e, const char *user, size_t max)
{
    struct ask_queue_visit_filter filter = { 0 };
    char after[USHER_NAME_MAX + 1] = "", *told = calloc(1, 1);
    size_t size = 0;
    struct usher_result r;
    bool more;

    assert_non_null(told);
    filter.user = user;
    do {
        assert_int_equal(
            ask_queue_history(e, "desk", &filter, after[0] != '\0' ? after : NULL, max, &r),
            USHER_OK);
        for (size_t i = 0; i < r.of.queue.n_rows; i++) {
            const struct usher_queue_result_row *v = &r.of.queue.rows[i];
            char line[600];
            int n = snprintf(
                line, sizeof line,
                "%" PRIu64 " %.*s %.*s %.*s %d %" PRId64 " %" PRIu64 ".%" PRId64 " %" PRId64
                " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n",
                v->version, (int)v->user.size, v->user.data, (int)v->lane.size, v->lane.data,
                (int)v->agent.size, v->agent.size != 0 ? v->agent.data : "", v->state, v->priority,
                v->login, v->no, v->since_ms, v->applied_ms, v->matched_ms, v->until_ms, v->wait_ms,
                v->talk_ms);

            told = realloc(told, size + (size_t)n + 1);
            assert_non_null(told);
            memcpy(told + size, line, (size_t)n + 1);
            size += (size_t)n;
        }
        more = r.of.queue.more;
        (void)snprintf(after, sizeof after, "%s", r.of.queue.agent);
        usher_result_done(&r);
    } while (more);
    return told;
}

/* Return a random command, which depends on @seed alone; advance @seed and @now. */
static struct usher_operation any_command(uint64_t *seed, int64_t *now)
{
    static const char *const users[] = { "a", "b", "c", "d", "e", "f", "g", "h" };
    static const char *const agents[] = { "ann", "bob", "cid" };
    static const char *const lanes[] = { "x", "yy" };
    struct usher_operation c;

    memset(&c, 0, sizeof c);
    c.scope = text("desk");
    c.given = USHER_GIVEN_NOW;
    *now += (int64_t)(next_random(seed) % 3 == 0 ? next_random(seed) % 2000 : 0);
    c.now_ms = *now;
    c.arg.queue.user = text(users[next_random(seed) % 8]);
    switch (next_random(seed) % 12) {
    case 0:
        c.verb = USHER_QUEUE_LOGIN;
        c.given |= USHER_GIVEN_QUEUE_CAPACITY;
        c.arg.queue.capacity = 1 + (int64_t)(next_random(seed) % 3);
        break;
    case 1:
        c.verb = next_random(seed) % 4 == 0 ? USHER_QUEUE_LOGOUT : USHER_QUEUE_LOGIN;
        c.given |= c.verb == USHER_QUEUE_LOGIN ? USHER_GIVEN_QUEUE_CAPACITY : 0;
        c.arg.queue.capacity = 1;
        break;
    case 2:
        c.verb = USHER_QUEUE_FREE;
        break;
    case 3:
    case 4:
        c.verb = USHER_QUEUE_LEAVE;
        break;
    default:
        c.verb = USHER_QUEUE_APPLY;
        c.arg.queue.lane = text(lanes[next_random(seed) % 2]);
        c.given |= USHER_GIVEN_QUEUE_PRIORITY;
        c.arg.queue.priority = (int64_t)(next_random(seed) % 3);
    }
    if (c.verb == USHER_QUEUE_LOGIN || c.verb == USHER_QUEUE_LOGOUT || c.verb == USHER_QUEUE_FREE) {
        c.arg.queue.user = text("");
        c.arg.queue.user.data = NULL;
        c.arg.queue.agent = text(agents[next_random(seed) % 3]);
    }
    return c;
}

/* A queue in memory that keeps all visits lists the same as an SQLite store whose queue keeps a
 * varying number of them. */
TEST(a_store_lists_the_visits_that_its_queue_does_not_keep)
{
    const char *given = getenv("USHER_SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    struct usher_engine *e[2];
    char store[256];
    int64_t now = INT64_C(1700000000000);

    print_message("USHER_SEED=%" PRIu64 "\n", seed);
    new_path(store);
    e[0] = engine_open("memory:", NULL);
    e[1] = engine_open(store, NULL);
    for (int k = 0; k < 2400; k++) {
        struct usher_operation c = any_command(&seed, &now), set;
        struct usher_result r[2];

        for (int i = 0; i < 2; i++) {
            if (k % 200 == 0) {
                memset(&set, 0, sizeof set);
                set.scope = c.scope;
                set.verb = USHER_QUEUE_SET;
                set.given = USHER_GIVEN_NOW | USHER_GIVEN_QUEUE_TTL | USHER_GIVEN_QUEUE_HISTORY |
                            USHER_GIVEN_QUEUE_REQUEUE | USHER_GIVEN_QUEUE_MAXWAIT;
                set.now_ms = now;
                set.arg.queue.ttl_ms = 4000;
                set.arg.queue.maxwait_ms = k % 600 == 0 ? 3000 : 0;
                set.arg.queue.requeue =
                    k % 400 == 0 ? USHER_QUEUE_REQUEUE_DROP : USHER_QUEUE_REQUEUE_FRONT;
                set.arg.queue.history = i == 0 ? 1000000 : k % 1000 == 0 ? 40 : k / 200 % 4;
                assert_int_equal(usher_operate(e[i], &set, &r[i], 1), USHER_OK);
                assert_true(USHER_IS_DONE(r[i].status));
                usher_result_done(&r[i]);
            }
            assert_int_equal(usher_operate(e[i], &c, &r[i], 1), USHER_OK);
        }
        assert_int_equal(r[0].status, r[1].status);
        usher_result_done(&r[0]);
        usher_result_done(&r[1]);
    }
    for (int i = 0; i < 2; i++) { /* visits that are left end now, not when they are read */
        struct usher_operation sweep = { .scope = text("desk"), .verb = USHER_QUEUE_SWEEP };
        struct usher_result r;

        sweep.given = USHER_GIVEN_NOW;
        sweep.now_ms = now + 60000;
        do {
            assert_int_equal(usher_operate(e[i], &sweep, &r, 1), USHER_OK);
            assert_true(USHER_IS_DONE(r.status));
            usher_result_done(&r);
        } while (r.status != USHER_SAME);
    }
    for (int k = 0; k < 4; k++) {
        char *one = all_visits(e[0], k == 3 ? "c" : NULL, 0);
        char *other = all_visits(e[1], k == 3 ? "c" : NULL, k == 0 ? 0 : k == 1 ? 7 : 1);

        if (k == 0)
            print_message("%zu bytes of visits\n", strlen(one));
        assert_true(strlen(one) > 2000);
        assert_string_equal(one, other);
        free(one);
        free(other);
    }
    audit(e[1]);
    usher_close(e[0]);
    usher_close(e[1]);
}

/* Visits that ended while the clock was ahead have later ends than the visits after them.  A range
 * of time shows each visit once, whatever the page's length. */
TEST(a_range_of_time_shows_each_visit_once)
{
    char store[256];
    struct usher_queue_result_settings set = { .history = 3 };
    struct usher_engine *e;

    new_path(store);
    e = engine_open(store, NULL);
    queue_make(e);
    for (uint64_t i = 0; i < 3; i++)
        assert_int_equal(visit(e, i), USHER_OK);
    (void)ask(store, "UPDATE visit SET ended_ms = ended_ms + 3600000");
    assert_int_equal(ask_queue_set(e, "desk", USHER_GIVEN_QUEUE_HISTORY, &set), USHER_OK);
    for (uint64_t i = 3; i < 7; i++)
        assert_int_equal(visit(e, i), USHER_OK);
    for (size_t max = 1; max < 9; max++) {
        struct ask_queue_visit_filter filter = { 0 };
        char after[USHER_NAME_MAX + 1] = "", users[64] = "";
        struct usher_result r;
        bool more;

        filter.since_ms = 1;
        do {
            assert_int_equal(
                ask_queue_history(e, "desk", &filter, after[0] != '\0' ? after : NULL, max, &r),
                USHER_OK);
            for (size_t i = 0; i < r.of.queue.n_rows; i++)
                (void)snprintf(users + strlen(users), sizeof users - strlen(users), "%.*s ",
                               (int)r.of.queue.rows[i].user.size, r.of.queue.rows[i].user.data);
            more = r.of.queue.more;
            (void)snprintf(after, sizeof after, "%s", r.of.queue.agent);
            usher_result_done(&r);
        } while (more && strlen(users) < 40);
        assert_string_equal(
            users, "u6 u5 u4 u2 u1 u0 u3 "); /* the three visits of the queue, then by their end */
    }
    usher_close(e);
}

static size_t visits_of(struct usher_engine *e, const char *user, const char *agent)
{
    struct ask_queue_visit_filter filter = { 0 };
    struct usher_result r;
    size_t n;

    filter.user = user;
    filter.agent = agent;
    assert_int_equal(ask_queue_history(e, "desk", &filter, NULL, 0, &r), USHER_OK);
    n = r.of.queue.n_rows;
    usher_result_done(&r);
    return n;
}

TEST(queries_of_visits_use_an_index)
{
    char store[256];
    struct usher_engine *e;
    sqlite3 *db = NULL;

    new_path(store);
    e = engine_open(store, NULL);
    queue_make(e);
    assert_int_equal(visit(e, 7), USHER_OK);
    assert_int_equal(sqlite3_open(store, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db,
                                  "WITH RECURSIVE i(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM i"
                                  " WHERE i < 50000) INSERT INTO visit SELECT NULL,"
                                  " iif(i % 50, 'desk' || i % 50, 'desk'), 'x', i, 'many' || i,"
                                  " 'default', 0, i, i, 'left', NULL, NULL, NULL, i, 0, 0, NULL"
                                  " FROM i",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    for (int analyzed = 0; analyzed < 2; analyzed++) { /* without statistics of SQLite, or with */
        check_indexes(db);
        assert_int_equal(sqlite3_exec(db, "ANALYZE", NULL, NULL, NULL), SQLITE_OK);
    }
    (void)sqlite3_close(db);
    assert_int_equal(visits_of(e, "u7", NULL), 1);
    assert_int_equal(visits_of(e, NULL, "ann"), 1);
    assert_int_equal(visits_of(e, NULL, "nobody"), 0);
    usher_close(e);
}

/* ---- killed -------------------------------------------------------------------------- */

struct diary {
    _Atomic uint64_t begun, acknowledged; /* visits */
};

/* Kill a process that makes visits.  @history NULL: within the store. */
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
        if (history != NULL && i % every == 0 && ask_queue_drain(e, "desk", NULL) >= USHER_INVALID)
            _exit(2);
    }
}

static void killed(bool within)
{
    const char *given = getenv("USHER_SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    int n = (int)budget_of("USHER_ROUNDS", 12);
    struct diary *d =
        mmap(NULL, sizeof *d, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char store[256], other[256], *history = within ? NULL : other, *file = within ? store : other;
    struct usher_engine *e;

    print_message("USHER_SEED=%" PRIu64 "\n", seed);
    assert_true(d != MAP_FAILED);
    new_path(store);
    new_path(other);
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
        { /* the user under way is present, has left, or never applied: now it has left */
            uint64_t last = atomic_load(&d->begun) - 1;
            char user[32];

            (void)snprintf(user, sizeof user, "u%" PRIu64, last);
            if (visit(e, last) == USHER_SAME)
                assert_int_equal(ask_queue_leave(e, "desk", user), USHER_OK);
        }
        atomic_store(&d->acknowledged, atomic_load(&d->begun));
        assert_true(within || USHER_IS_DONE(ask_queue_drain(e, "desk", NULL)));
        usher_close(e);
        assert_int_equal(ask(file, "SELECT count(DISTINCT user) FROM visit"),
                         atomic_load(&d->begun));
        /* no row of a visit is there twice */
        assert_int_equal(ask(file, "SELECT count(*) - count(DISTINCT version) FROM visit"), 0);
    }
    /* acknowledged visits ended once */
    assert_true(ask(file, "SELECT count(*) FROM visit") <= (int64_t)atomic_load(&d->begun) + n);
    assert_int_equal(ask(file, "SELECT count(*) FROM visit"),
                     ask(store, "SELECT count(*) FROM visit"));
    print_message("%" PRIu64 " visits\n", atomic_load(&d->begun));
    (void)munmap(d, sizeof *d);
}

TEST(a_killed_process_loses_and_repeats_no_visit)
{
    killed(false);
}

TEST(a_killed_process_loses_no_row_of_an_ended_visit)
{
    killed(true);
}

/* Several processes write, and one reads. */
TEST(each_visit_is_one_row_when_many_processes_end_visits)
{
    enum { VISITS = 250, CHILDREN = 4 };
    char store[256];
    struct usher_engine *e;
    struct usher_queue_result_settings set = { .history = 30 };
    pid_t children[CHILDREN];
    int left = CHILDREN, reads = 0;

    new_path(store);
    e = engine_open(store, NULL);
    queue_make(e);
    assert_int_equal(ask_queue_set(e, "desk", USHER_GIVEN_QUEUE_HISTORY, &set), USHER_OK);
    usher_close(e);
    for (int i = 0; i < CHILDREN; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            e = engine_open(store, NULL);
            for (int k = 0; k < VISITS; k++)
                if (visit(e, (uint64_t)(i * VISITS + k)) != USHER_OK)
                    _exit(1);
            usher_close(e);
            _exit(0);
        }
    }
    e = engine_open(store, NULL);
    while (left > 0) {
        char *told = all_visits(e, NULL, 1 + (size_t)(reads++ % 50)), *at = told;
        uint64_t last = UINT64_MAX;
        int status = -1;

        while (*at != '\0') { /* each once, latest first */
            uint64_t version = strtoull(at, NULL, 10);

            assert_true(version < last);
            last = version;
            at = strchr(at, '\n') + 1;
        }
        free(told);
        for (int i = 0; i < CHILDREN; i++)
            if (children[i] != 0 && waitpid(children[i], &status, WNOHANG) == children[i]) {
                assert_int_equal(status, 0);
                children[i] = 0;
                left--;
            }
    }
    print_message("read %d times\n", reads);
    usher_close(e);
    assert_int_equal(ask(store, "SELECT count(*) FROM visit"), VISITS * CHILDREN);
    assert_int_equal(ask(store, "SELECT count(DISTINCT user) FROM visit"), VISITS * CHILDREN);
    assert_int_equal(ask(store, "SELECT count(*) FROM visit a JOIN visit b ON b.id = a.id + 1"
                                " WHERE a.version >= b.version"),
                     0);
}

TEST(no_visit_is_there_twice_when_many_processes_move_it)
{
    enum { VISITS = 3000, CHILDREN = 4 };
    char store[256], history[256];
    struct usher_queue_result_settings set = { .archive = 1000000 };
    struct usher_queue_result_statistics stats;
    struct usher_engine *e;
    pid_t children[CHILDREN];

    new_path(store);
    new_path(history);
    e = engine_open(store, NULL);
    queue_make(e);
    assert_int_equal(ask_queue_set(e, "desk", USHER_GIVEN_QUEUE_ARCHIVE, &set), USHER_OK);
    for (uint64_t i = 0; i < VISITS; i += 500) { /* in batches: apply, leave, apply, … */
        static struct usher_operation commands[1000];
        static struct usher_result replies[1000];
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
        assert_int_equal(usher_operate(e, commands, replies, 1000), USHER_OK);
        assert_int_equal(replies[999].status, USHER_OK);
    }
    usher_close(e);
    for (int i = 0; i < CHILDREN; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            enum usher_status status;

            e = engine_open(store, history);
            while ((status = ask_queue_drain(e, "desk", NULL)) == USHER_OK)
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
    /* the order of all rows is that in which the visits ended */
    assert_int_equal(ask(history, "SELECT count(*) FROM visit a JOIN visit b ON b.id = a.id + 1"
                                  " WHERE a.version >= b.version"),
                     0);
    e = engine_open(store, NULL);
    assert_int_equal(ask_queue_stats(e, "desk", NULL, &stats), USHER_OK);
    assert_int_equal(stats.visits, 0);
    usher_close(e);
}

/* ---- the file ------------------------------------------------------------------------ */

TEST(visits_end_while_their_history_is_unreachable)
{
    char store[256], history[300], folder[256];
    struct usher_engine *e;
    struct usher_queue_result_statistics stats;

    new_path(store);
    (void)snprintf(folder, sizeof folder, "%s/later", test_dir());
    (void)snprintf(history, sizeof history, "%s/h.db", folder);
    e = engine_open(store, history);
    queue_make(e);
    n_logged = 0;
    assert_int_equal(visit(e, 0), USHER_OK);
    assert_int_equal(visit(e, 1), USHER_OK);
    assert_int_equal(ask_queue_drain(e, "desk", NULL), USHER_UNAVAILABLE);
    assert_non_null(strstr(usher_message(), "history: cannot be opened: no such directory"));
    assert_int_equal(ask_queue_stats(e, "desk", NULL, &stats), USHER_OK);
    assert_int_equal(stats.visits, 2);
    usher_close(e); /* tries again, and logs the error */
    assert_int_equal(n_logged, 1);
    assert_non_null(strstr(logged, "ended visits stay in the store until it takes them"));
    assert_int_equal(mkdir(folder, 0700), 0);
    e = engine_open(store, history);
    assert_int_equal(visit(e, 2), USHER_OK); /* visits are moved when their queue is used */
    assert_int_equal(ask(history, "SELECT count(*) >= 2 FROM visit"), 1);
    usher_close(e);
    assert_int_equal(ask(history, "SELECT count(DISTINCT user) FROM visit"), 3);
}

TEST(a_foreign_file_is_not_changed)
{
    char store[256], history[256], newer[256];
    struct usher_engine *e;
    sqlite3 *db = NULL;

    new_path(store);
    new_path(history);
    new_path(newer);
    usher_close(engine_open(history, NULL)); /* a store */
    e = engine_open(store, history);
    queue_make(e);
    assert_int_equal(visit(e, 0), USHER_OK);
    assert_int_equal(ask_queue_drain(e, "desk", NULL), USHER_UNAVAILABLE);
    assert_non_null(strstr(usher_message(), "the file does not belong to a history"));
    usher_close(e);
    assert_int_equal(ask(history, "SELECT count(*) FROM visit"), 0);
    e = engine_open(store, newer);
    assert_int_equal(ask_queue_drain(e, "desk", NULL), USHER_OK);
    usher_close(e);
    assert_int_equal(sqlite3_open(newer, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA user_version = 99", NULL, NULL, NULL), SQLITE_OK);
    (void)sqlite3_close(db);
    e = engine_open(store, newer);
    assert_int_equal(visit(e, 1), USHER_OK);
    assert_int_equal(ask_queue_drain(e, "desk", NULL), USHER_UNAVAILABLE);
    assert_non_null(strstr(usher_message(), "the file has the format of"));
    usher_close(e);
    assert_int_equal(ask(newer, "SELECT count(*) FROM visit"), 1);
}

TEST(visits_continue_when_the_disk_is_full)
{
    char history[256];
    struct rlimit limit;
    struct usher_engine *e;
    rlim_t before;
    uint64_t n = 0;

    new_path(history);
    e = engine_open("memory:", history); /* only the history is written */
    queue_make(e);
    assert_int_equal(visit(e, n++), USHER_OK);
    assert_int_equal(ask_queue_drain(e, "desk", NULL), USHER_OK);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    before = limit.rlim_cur;
    (void)signal(SIGXFSZ, SIG_IGN);
    limit.rlim_cur = 300000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    while (n < 20000) { /* until it is full */
        for (int i = 0; i < 500; i++)
            assert_int_equal(visit(e, n++), USHER_OK);
        if (ask_queue_drain(e, "desk", NULL) >= USHER_INVALID)
            break;
    }
    assert_true(n < 20000);
    for (int i = 0; i < 100; i++)
        assert_int_equal(visit(e, n++), USHER_OK);
    {
        struct ask_queue_visit_filter filter = { 0 };
        struct usher_result r;
        char user[32];

        (void)snprintf(user, sizeof user, "u%" PRIu64, n - 1);
        filter.user = user;
        assert_int_equal(ask_queue_history(e, "desk", &filter, NULL, 0, &r), USHER_OK);
        assert_int_equal(r.of.queue.n_rows, 1);
        usher_result_done(&r);
    }
    limit.rlim_cur = before;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(ask_queue_drain(e, "desk", NULL), USHER_OK);
    usher_close(e);
    assert_int_equal(ask(history, "SELECT count(*) FROM visit"), n);
    assert_int_equal(ask(history, "SELECT count(DISTINCT user) FROM visit"), n);
}

/* No command can be stored then.  Acknowledged visits are rows, and others are not. */
TEST(a_full_disk_loses_no_row_of_a_store)
{
    char store[256];
    struct rlimit limit;
    struct usher_engine *e;
    rlim_t before;
    uint64_t n = 0, doubts = 0;
    enum usher_status status = USHER_OK;

    new_path(store);
    e = engine_open(store, NULL);
    queue_make(e);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    before = limit.rlim_cur;
    (void)signal(SIGXFSZ, SIG_IGN);
    limit.rlim_cur = 2000000; /* of the log */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    while (n < 20000 && (status = visit(e, n)) == USHER_OK)
        n++;
    assert_true(status == USHER_UNAVAILABLE || status == USHER_UNKNOWN);
    doubts = status == USHER_UNKNOWN;
    for (int i = 0; i < 5; i++) { /* a seated user stays so until there is space on the disk */
        char user[32];

        (void)snprintf(user, sizeof user, "u%" PRIu64, n);
        status = ask_queue_leave(e, "desk", user);
        assert_true(status == USHER_UNAVAILABLE || status == USHER_UNKNOWN ||
                    status == USHER_MISSING);
        doubts += status == USHER_UNKNOWN;
    }
    limit.rlim_cur = before;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_in_range(ask(store, "SELECT count(*) FROM visit"), n, n + doubts);
    if (visit(e, n) == USHER_SAME) {
        char user[32];

        (void)snprintf(user, sizeof user, "u%" PRIu64, n);
        assert_int_equal(ask_queue_leave(e, "desk", user), USHER_OK);
    }
    usher_close(e);
    print_message("%" PRIu64 " visits\n", n);
    assert_int_equal(ask(store, "SELECT count(DISTINCT user) FROM visit"), n + 1);
    assert_int_equal(ask(store, "SELECT count(*) - count(DISTINCT version) FROM visit"), 0);
}

TEST(a_child_does_not_use_the_history_of_its_parent)
{
    char store[256], history[256];
    struct usher_engine *e;
    pid_t child;
    int status = -1;

    new_path(store);
    new_path(history);
    e = engine_open(store, history);
    queue_make(e);
    assert_int_equal(visit(e, 0), USHER_OK);
    assert_int_equal(ask_queue_drain(e, "desk", NULL), USHER_OK);
    assert_int_equal(visit(e, 1), USHER_OK);
    child = fork();
    if (child == 0) {
        bool told = ask_queue_drain(e, "desk", NULL) == USHER_INVALID;

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

TEST(a_url_of_a_history_is_checked)
{
    struct usher_history *h = NULL;
    struct usher_engine *e = NULL;

    assert_int_equal(usher_history_open("mysql:x", NULL, &h), USHER_INVALID);
    assert_int_equal(usher_history_open("sqlite:", NULL, &h), USHER_INVALID);
    assert_int_equal(usher_history_open(NULL, NULL, &h), USHER_INVALID);
    assert_int_equal(usher_open("memory:?history=mysql:x", NULL, &e), USHER_INVALID);
    assert_non_null(strstr(usher_message(), "a history is sqlite:PATH"));
    assert_int_equal(usher_open("memory:?history=sqlite:/x&nix=1", NULL, &e), USHER_INVALID);
    usher_history_close(NULL);
}
