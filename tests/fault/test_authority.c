/* SPDX-License-Identifier: MIT */
/*
 * The authority, and serials and ids after a loss of the store: none is issued twice.
 * S8, S9 and S13 of the specification.
 */
#include "lib/test.h"

#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <usher/store/authority.h>

#include "lib/calls.h"
#include "lib/servers.h"
#include "lib/util.h"

TEST_SERVER(server);
static unsigned files;

static int64_t deadline(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + 10000;
}

static const char *new_file(void)
{
    static char path[256];

    (void)snprintf(path, sizeof path, "%s/%u.db", test_dir(), files++);
    return path;
}

static struct usher_authority *open_authority(const char *path)
{
    struct usher_authority *a = NULL;
    char url[300];

    (void)snprintf(url, sizeof url, "sqlite:%s", path);
    assert_int_equal(usher_authority_open(url, NULL, &a), USHER_OK);
    return a;
}

static enum usher_status reserve(struct usher_authority *a, const char *name, int64_t floor,
                                 int64_t n, int64_t limit, struct usher_authority_range *range)
{
    struct usher_authority_want want;
    char why[192] = "";

    memset(&want, 0, sizeof want);
    want.noun = USHER_SERIAL;
    want.name = text(name);
    want.floor = floor;
    want.n = n;
    want.limit = limit;
    return a->ops->reserve(a, &want, deadline(), range, why);
}

static int64_t max_of(struct usher_authority *a, const char *name)
{
    struct usher_authority_entry entry;
    struct usher_text t = text(name);
    char why[192] = "";

    if (a->ops->read(a, USHER_SERIAL, &t, deadline(), &entry, why) != USHER_OK)
        return -1;
    return entry.max;
}

/* ---- the authority alone ------------------------------------------------------------ */

TEST(a_range_begins_at_or_after_the_maximum_of_its_name)
{
    const char *path = new_file();
    struct usher_authority *a = open_authority(path), *b = open_authority(path);
    struct usher_authority_range r = { -1, -1 };
    struct usher_text name = text("r");
    char why[192] = "";

    assert_int_equal(max_of(a, "r"), -1);
    assert_int_equal(reserve(a, "r", 0, 10, INT64_MAX, &r), USHER_OK);
    assert_true(r.from == 0 && r.to == 10);
    assert_int_equal(reserve(b, "r", 0, 5, INT64_MAX, &r), USHER_OK);
    assert_true(r.from == 10 && r.to == 15);
    assert_int_equal(reserve(a, "r", 100, 5, INT64_MAX, &r), USHER_OK);
    assert_true(r.from == 100 && r.to == 105);
    assert_int_equal(reserve(a, "r", 50, 0, INT64_MAX, &r), USHER_OK);
    assert_true(r.from == 105 && r.to == 105);
    assert_int_equal(reserve(a, "r", 0, 100, 110, &r), USHER_OK); /* fewer than requested */
    assert_true(r.from == 105 && r.to == 110);
    assert_int_equal(reserve(a, "r", 0, 100, 110, &r), USHER_FULL);
    assert_int_equal(reserve(a, "r", INT64_MAX - 3, INT64_MAX, INT64_MAX, &r), USHER_OK);
    assert_true(r.to == INT64_MAX);
    assert_int_equal(reserve(a, "r", 0, 1, INT64_MAX, &r), USHER_FULL);
    /* a range can be released while it is the newest */
    assert_int_equal(a->ops->release(a, USHER_SERIAL, &name, 111, INT64_MAX - 1, deadline(), why),
                     USHER_STALE);
    assert_int_equal(
        a->ops->release(a, USHER_SERIAL, &name, INT64_MAX - 3, INT64_MAX, deadline(), why),
        USHER_OK);
    assert_true(max_of(b, "r") == INT64_MAX - 3);
    name = text("other");
    assert_int_equal(a->ops->release(a, USHER_SERIAL, &name, 0, 1, deadline(), why), USHER_MISSING);
    usher_authority_close(a);
    usher_authority_close(b);
}

struct requester {
    const char *path;
    struct usher_authority *a;
    int64_t from[200], to[200];
};

static void *requester_run(void *payload)
{
    struct requester *k = payload;

    for (int i = 0; i < 200; i++) {
        struct usher_authority_range r = { 0, 0 };

        if (reserve(k->a, "r", 0, 1 + i % 5, INT64_MAX, &r) == USHER_OK) {
            k->from[i] = r.from;
            k->to[i] = r.to;
        }
    }
    return NULL;
}

TEST(ranges_of_many_threads_and_connections_are_disjoint)
{
    static struct requester requesters[8];
    static unsigned char seen[8 * 600 + 1];
    const char *path = new_file();
    struct usher_authority *a[2] = { open_authority(path), open_authority(path) };
    pthread_t threads[8];
    int64_t total = 0;

    for (int i = 0; i < 8; i++) {
        requesters[i].a = a[i % 2];
        assert_int_equal(pthread_create(&threads[i], NULL, requester_run, &requesters[i]), 0);
    }
    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < 8; i++)
        for (int k = 0; k < 200; k++)
            for (int64_t n = requesters[i].from[k]; n < requesters[i].to[k]; n++, total++)
                assert_int_equal(seen[n]++, 0);
    assert_int_equal(total, 8 * 600);
    assert_int_equal(max_of(a[0], "r"), total);
    usher_authority_close(a[0]);
    usher_authority_close(a[1]);
}

/* Ranges that the authority granted are in its file after kill -9. */
TEST(a_killed_process_keeps_the_ranges_it_was_granted)
{
    const char *path = new_file();
    struct usher_authority *a;

    for (int round = 0; round < 20; round++) {
        int64_t taken_so_far = 0, got;
        int fds[2];
        pid_t child;

        assert_int_equal(pipe(fds), 0);
        child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            struct usher_authority_range r;

            a = open_authority(path);
            while (reserve(a, "r", 0, 3, INT64_MAX, &r) == USHER_OK)
                if (write(fds[1], &r.to, sizeof r.to) != (ssize_t)sizeof r.to)
                    break;
            _exit(0);
        }
        (void)close(fds[1]);
        for (int i = 0; i < 10 + round; i++)
            assert_int_equal(read(fds[0], &taken_so_far, sizeof taken_so_far), sizeof taken_so_far);
        assert_int_equal(kill(child, SIGKILL), 0);
        while (read(fds[0], &got, sizeof got) == (ssize_t)sizeof got)
            taken_so_far = got;
        assert_int_equal(waitpid(child, NULL, 0), child);
        (void)close(fds[0]);
        a = open_authority(path);
        assert_true(max_of(a, "r") >= taken_so_far);
        usher_authority_close(a);
    }
}

static void no_event(void *payload, const struct usher_authority_event *event)
{
    (void)payload;
    (void)event;
    fail();
}

TEST(names_have_a_maximum_size)
{
    struct usher_authority *a = open_authority(new_file());
    char name[USHER_AUTHORITY_NAME_MAX + 2];
    struct usher_authority_range r;

    memset(name, 'n', sizeof name);
    name[USHER_AUTHORITY_NAME_MAX + 1] = '\0';
    assert_int_equal(usher_authority_events(a, USHER_SERIAL, name, 0, 0, no_event, NULL),
                     USHER_INVALID);
    name[USHER_AUTHORITY_NAME_MAX] = '\0';
    assert_int_equal(usher_authority_events(a, USHER_SERIAL, name, 0, 0, no_event, NULL), USHER_OK);
    assert_int_equal(reserve(a, name, 0, 7, INT64_MAX, &r), USHER_OK);
    assert_int_equal(max_of(a, name), 7);
    name[USHER_AUTHORITY_NAME_MAX - 1] = '\0';
    assert_int_equal(max_of(a, name), -1);
    usher_authority_close(a);
}

TEST(a_foreign_file_is_not_changed)
{
    struct usher_authority *a;
    struct usher_authority_range r;
    const char *path = new_file();
    struct usher_engine *e;
    char url[300];
    FILE *f;

    assert_int_equal(usher_authority_open("redis://x", NULL, &a), USHER_INVALID);
    assert_int_equal(usher_authority_open("sqlite:", NULL, &a), USHER_INVALID);
    a = open_authority("/nonexistent/authority.db");
    assert_int_equal(reserve(a, "r", 0, 1, INT64_MAX, &r), USHER_UNAVAILABLE);
    usher_authority_close(a);
    (void)snprintf(url, sizeof url, "sqlite:%s", path); /* a store's */
    assert_int_equal(usher_open(url, NULL, &e), USHER_OK);
    usher_close(e);
    a = open_authority(path);
    assert_int_equal(reserve(a, "r", 0, 1, INT64_MAX, &r), USHER_UNAVAILABLE);
    usher_authority_close(a);
    path = new_file();
    f = fopen(path, "w");
    assert_non_null(f);
    for (int i = 0; i < 2000; i++)
        (void)fputs("this is no database ", f);
    assert_int_equal(fclose(f), 0);
    a = open_authority(path);
    assert_int_equal(reserve(a, "r", 0, 1, INT64_MAX, &r), USHER_UNAVAILABLE);
    usher_authority_close(a);
}

/* ---- serials ------------------------------------------------------------------------ */

/* Every serial ever issued: each must be new. */
#define SEEN_MAX 4000000
static unsigned char *seen;

static int64_t taken(struct usher_engine *e, const char *rule, int64_t n)
{
    struct usher_result r;
    int64_t count;
    enum usher_status status = ask_serial_take(e, rule, n, NULL, &r);

    if (status != USHER_OK)
        fail_msg("take: %s: %s", usher_status_word(status), usher_message());
    for (size_t i = 0; i < r.of.serial.n_rows; i++)
        for (int64_t k = 0; k < r.of.serial.rows[i].n; k++) {
            int64_t number = r.of.serial.rows[i].first + k;

            assert_true(number > 0 && number < SEEN_MAX);
            if (seen[number]++ != 0)
                fail_msg("serial %" PRId64 " came twice", number);
        }
    count = r.of.serial.count;
    usher_result_done(&r);
    return count;
}

static struct usher_engine *engine_with(const char *store, const char *authority)
{
    struct usher_engine *e = NULL;
    char url[1600];

    (void)snprintf(url, sizeof url, "%s?authority=sqlite:%s&journal=1&clock=given", store,
                   authority);
    if (usher_open(url, NULL, &e) != USHER_OK)
        fail_msg("%s: %s", url, usher_message());
    return e;
}

static void seen_begin(void)
{
    free(seen);
    seen = calloc(SEEN_MAX, 1);
    assert_non_null(seen);
}

static void make_rule(struct usher_engine *e, const char *name)
{
    struct usher_serial_form form;

    memset(&form, 0, sizeof form);
    (void)snprintf(form.prefix, sizeof form.prefix, "P");
    form.critical = 20;
    form.batch = 50;
    assert_int_equal(ask_serial_rule(e, name,
                                     USHER_GIVEN_SERIAL_PREFIX | USHER_GIVEN_SERIAL_CRITICAL |
                                         USHER_GIVEN_SERIAL_BATCH,
                                     &form),
                     USHER_OK);
    assert_int_equal(form.authority, 1);
}

/* Empty the server and its dump. */
static void empty_server(void)
{
    assert_true(redis_do_ok(server, "FLUSHALL", NULL));
    assert_true(redis_do_ok(server, "SAVE", NULL));
}

TEST(no_serial_comes_twice_when_redis_is_wiped)
{
    char authority[256], url[REDIS_URL_MAX];
    struct usher_engine *e, *other;
    struct usher_serial_form form;
    int64_t total = 0;

    (void)snprintf(authority, sizeof authority, "%s", new_file());
    empty_server();
    e = engine_with(redis_server_url(server, url), authority);
    other = engine_with(redis_server_url(server, url), authority);
    seen_begin();
    make_rule(e, "r");
    for (int round = 0; round < 18; round++) {
        for (int i = 0; i < 30; i++)
            total += taken(i % 2 == 0 ? e : other, "r", 1 + i * 277 % 3700);
        if (round % 3 == 0) {
            assert_true(redis_do_ok(server, "FLUSHALL", NULL));
        } else if (round % 3 == 1) {
            assert_int_equal(redis_server_kill(server, SIGKILL), 0);
            assert_true(redis_server_restart(server));
        }
    }
    assert_true(total > 900000);
    /* the rule is as it was */
    assert_int_equal(ask_serial_rule(e, "r", 0, &form), USHER_OK);
    assert_string_equal(form.prefix, "P");
    assert_int_equal(form.critical, 20);
    assert_int_equal(form.batch, 50);
    audit(e);
    usher_close(e);
    usher_close(other);
}

TEST(no_serial_comes_twice_when_redis_starts_from_an_old_dump)
{
    char authority[256], url[REDIS_URL_MAX];
    struct usher_engine *e, *other;

    (void)snprintf(authority, sizeof authority, "%s", new_file());
    empty_server();
    e = engine_with(redis_server_url(server, url), authority);
    other = engine_with(redis_server_url(server, url), authority);
    seen_begin();
    make_rule(e, "r");
    for (int round = 0; round < 12; round++) {
        for (int i = 0; i < 10; i++)
            (void)taken(e, "r", 5);
        assert_true(redis_do_ok(server, "SAVE", NULL));
        /* within the granted range, and beyond it */
        for (int i = 0; i < (round % 2 == 0 ? 5 : 500); i++)
            (void)taken(i % 2 == 0 ? e : other, "r", 5);
        assert_int_equal(redis_server_kill(server, SIGKILL), 0);
        assert_true(redis_server_restart(server));
        (void)taken(round % 4 < 2 ? e : other, "r", 1);
    }
    audit(e);
    usher_close(e);
    usher_close(other);
}

static void wait_for_copy(struct redis_server *replica)
{
    redisReply *reply;

    assert_true(redis_server_wait_info(replica, "replication", "master_link_status:up", 10000));
    /* WAIT waits for the writes of its own connection */
    assert_true(redis_do_ok(server, "SET", "mark", "1", NULL));
    assert_true(redis_do_ok(server, "DEL", "mark", NULL));
    reply = redis_do(server, "WAIT", "1", "10000", NULL);
    assert_non_null(reply);
    assert_int_equal(reply->integer, 1);
    freeReplyObject(reply);
}

TEST(no_serial_comes_twice_when_a_lagging_replica_takes_over)
{
    static const char *const lines[] = { "repl-diskless-sync-delay 0", NULL };
    struct redis_server_options opt;
    struct redis_server *replica;
    struct usher_engine *e;
    char authority[256], url[REDIS_URL_MAX];

    (void)snprintf(authority, sizeof authority, "%s", new_file());
    empty_server();
    memset(&opt, 0, sizeof opt);
    opt.replica_of = server;
    opt.config = lines;
    replica = redis_server_start(&opt);
    if (replica == NULL)
        fail_msg("%s", redis_reason());
    seen_begin();
    e = engine_with(redis_server_url(server, url), authority);
    make_rule(e, "r");
    (void)taken(e, "r", 100);
    wait_for_copy(replica);
    /* from now on the replica receives nothing; later it becomes the server */
    assert_true(redis_do_ok(replica, "REPLICAOF", "NO", "ONE", NULL));
    for (int i = 0; i < 50; i++)
        (void)taken(e, "r", 3);
    usher_close(e);
    e = engine_with(redis_server_url(replica, url), authority);
    for (int i = 0; i < 50; i++)
        (void)taken(e, "r", 3);
    audit(e);
    usher_close(e);
    redis_server_stop(replica);
}

/* ---- ids ------------------------------------------------------------------------------- */

/* The ids of a segment: each loss skips the rest of one segment. */
#define ID_STEP 100

static int64_t id_highest, id_count, id_losses;

static void id_taken(struct usher_engine *e, int64_t n)
{
    struct usher_id_range r = { .first = -1 };
    enum usher_status status = ask_id_next(e, "i", n, NULL, &r);

    if (status != USHER_OK)
        fail_msg("next: %s: %s", usher_status_word(status), usher_message());
    if (r.first <= id_highest)
        fail_msg("id %" PRId64 " after %" PRId64, r.first, id_highest);
    id_highest = r.first + n - 1;
    id_count += n;
}

static void ids_begin(struct usher_engine *e)
{
    struct usher_id_result_settings set = { .step = ID_STEP };

    id_highest = id_count = id_losses = 0;
    assert_int_equal(ask_id_create(e, "i", USHER_GIVEN_ID_STEP, &set), USHER_OK);
}

static void id_gaps_are_bounded(void)
{
    assert_in_range(id_highest - id_count, 0, id_losses * ID_STEP);
}

TEST(no_id_comes_twice_when_redis_is_wiped)
{
    char authority[256], url[REDIS_URL_MAX];
    struct usher_engine *e, *other;
    struct usher_id_result_row row;

    (void)snprintf(authority, sizeof authority, "%s", new_file());
    empty_server();
    e = engine_with(redis_server_url(server, url), authority);
    other = engine_with(redis_server_url(server, url), authority);
    ids_begin(e);
    for (int round = 0; round < 12; round++) {
        for (int i = 0; i < 77; i++)
            id_taken(i % 2 == 0 ? e : other, 1 + i % 3);
        id_losses++;
        if (round % 2 == 0) {
            assert_true(redis_do_ok(server, "FLUSHALL", NULL));
        } else {
            assert_int_equal(redis_server_kill(server, SIGKILL), 0);
            assert_true(redis_server_restart(server));
        }
    }
    id_taken(e, 1);
    id_gaps_are_bounded();
    assert_int_equal(ask_id_show(e, "i", &row), USHER_OK);
    assert_int_equal(row.step, ID_STEP); /* it is as it was */
    audit(e);
    usher_close(e);
    usher_close(other);
}

/* S25: the period continues after the loss. */
TEST(a_loss_leaves_most_of_a_bounded_period)
{
    char authority[256], url[REDIS_URL_MAX], text[USHER_SERIAL_TEXT_MAX + 1];
    struct usher_serial_form form;
    struct usher_result r;
    struct usher_engine *e;

    (void)snprintf(authority, sizeof authority, "%s", new_file());
    empty_server();
    e = engine_with(redis_server_url(server, url), authority);
    memset(&form, 0, sizeof form);
    form.width = 3;
    form.authority = 1;
    assert_int_equal(
        ask_serial_rule(e, "short", USHER_GIVEN_SERIAL_WIDTH | USHER_GIVEN_SERIAL_AUTHORITY, &form),
        USHER_OK);
    for (int64_t i = 0, most = 999, last = 0; i < 3; i++) {
        assert_int_equal(ask_serial_take(e, "short", 3, NULL, &r), USHER_OK);
        assert_int_equal(r.of.serial.rows[0].first, last + 1);
        assert_true(usher_serial_text(&r, 2, text, sizeof text) == 3);
        usher_result_done(&r);
        last += (most - last) / 8;
        empty_server();
    }
    usher_close(e);
}

/* Epoch and segment are the same: only the version is older. */
TEST(no_id_comes_twice_when_redis_goes_back_within_a_segment)
{
    char authority[256], url[REDIS_URL_MAX];
    struct usher_engine *e, *other;

    (void)snprintf(authority, sizeof authority, "%s", new_file());
    empty_server();
    e = engine_with(redis_server_url(server, url), authority);
    other = engine_with(redis_server_url(server, url), authority);
    ids_begin(e);
    for (int round = 0; round < 12; round++) {
        for (int i = 0; i < 10; i++)
            id_taken(e, 2);
        assert_true(redis_do_ok(server, "SAVE", NULL));
        for (int i = 0; i < (round % 2 == 0 ? 5 : 500); i++)
            id_taken(i % 2 == 0 ? e : other, 1);
        assert_int_equal(redis_server_kill(server, SIGKILL), 0);
        assert_true(redis_server_restart(server));
        id_losses++;
        id_taken(round % 4 < 2 ? e : other, 1);
        if (round == 5) { /* an engine that has not used the scope before */
            usher_close(other);
            other = engine_with(redis_server_url(server, url), authority);
        }
    }
    id_gaps_are_bounded();
    audit(e);
    usher_close(e);
    usher_close(other);
}

/* The replica takes over; then the old server becomes its replica, and takes over again with the
 * copied data.  Its run id does not change. */
TEST(no_id_comes_twice_when_lagging_replicas_take_turns)
{
    static const char *const lines[] = { "repl-diskless-sync-delay 0", NULL };
    struct redis_server_options opt;
    struct redis_server *replica;
    struct usher_engine *e;
    char authority[256], url[REDIS_URL_MAX], port[16];

    (void)snprintf(authority, sizeof authority, "%s", new_file());
    empty_server();
    memset(&opt, 0, sizeof opt);
    opt.replica_of = server;
    opt.config = lines;
    replica = redis_server_start(&opt);
    if (replica == NULL)
        fail_msg("%s", redis_reason());
    /* a server that gets its first replica takes a new replication id, which costs a segment */
    wait_for_copy(replica);
    e = engine_with(redis_server_url(server, url), authority);
    ids_begin(e);
    id_taken(e, 10);
    wait_for_copy(replica);
    assert_true(redis_do_ok(replica, "REPLICAOF", "NO", "ONE", NULL));
    id_taken(e, 20); /* these did not reach the replica */
    usher_close(e);
    /* no client writes to it until the old server has its copy again */
    (void)snprintf(port, sizeof port, "%d", redis_server_port(replica));
    assert_true(redis_do_ok(server, "REPLICAOF", "127.0.0.1", port, NULL));
    assert_true(redis_server_wait_info(server, "replication", "master_link_status:up", 10000));
    assert_true(redis_do_ok(server, "REPLICAOF", "NO", "ONE", NULL));
    e = engine_with(redis_server_url(server, url), authority);
    id_losses++;
    id_taken(e, 1);
    usher_close(e);
    e = engine_with(redis_server_url(replica, url), authority);
    id_losses++;
    for (int i = 0; i < 150; i++)
        id_taken(e, 1);
    id_gaps_are_bounded();
    audit(e);
    usher_close(e);
    redis_server_stop(replica);
}

TEST(no_serial_comes_twice_when_a_file_is_put_back)
{
    char authority[256], path[256], url[300], command[1600];
    struct usher_engine *e;

    (void)snprintf(authority, sizeof authority, "%s", new_file());
    (void)snprintf(path, sizeof path, "%s", new_file());
    (void)snprintf(url, sizeof url, "sqlite:%s", path);
    seen_begin();
    e = engine_with(url, authority);
    make_rule(e, "r");
    (void)taken(e, "r", 1500);
    usher_close(e);
    (void)snprintf(command, sizeof command, "cp '%s' '%s.old'", path, path);
    assert_int_equal(system(command), 0);
    e = engine_with(url, authority);
    for (int i = 0; i < 300; i++)
        (void)taken(e, "r", 10);
    usher_close(e);
    (void)snprintf(command, sizeof command, "rm -f '%s' '%s-wal' '%s-shm'; mv '%s.old' '%s'", path,
                   path, path, path, path);
    assert_int_equal(system(command), 0);
    e = engine_with(url, authority);
    for (int i = 0; i < 300; i++)
        (void)taken(e, "r", 10);
    audit(e);
    usher_close(e);
}

TEST(a_new_day_has_a_maximum_of_its_own)
{
    char authority[256];
    struct usher_engine *e;
    struct usher_serial_form form;
    struct usher_authority *a;
    const int64_t day = INT64_C(86400000);

    (void)snprintf(authority, sizeof authority, "%s", new_file());
    memset(&form, 0, sizeof form);
    for (int lost = 0; lost < 3; lost++) {
        e = engine_with("memory:", authority); /* empty each time */
        if (lost == 0) {
            (void)snprintf(form.date, sizeof form.date, "%%Y%%m%%d-");
            form.reset = USHER_SERIAL_RESET_DAY;
            assert_int_equal(
                ask_serial_rule(e, "d", USHER_GIVEN_SERIAL_DATE | USHER_GIVEN_SERIAL_RESET, &form),
                USHER_OK);
        }
        for (int i = 1; i <= 3; i++) {
            struct usher_operation c;
            struct usher_result r;
            char serial[USHER_SERIAL_TEXT_MAX + 1], want[64];

            memset(&c, 0, sizeof c);
            c.verb = USHER_SERIAL_TAKE;
            c.scope = text("d");
            c.given = USHER_GIVEN_NOW;
            c.now_ms = (47485 + i) * day; /* 2100-01-04 and on */
            assert_int_equal(usher_operate(e, &c, &r, 1), USHER_OK);
            assert_int_equal(r.status, USHER_OK);
            (void)usher_serial_text(&r, 0, serial, sizeof serial);
            (void)snprintf(want, sizeof want, "210001%02d-%d", 4 + i, lost * 1001 + 1);
            assert_string_equal(serial, want);
            usher_result_done(&r);
        }
        usher_close(e);
    }
    a = open_authority(authority);
    assert_int_equal(max_of(a, "d@47486"), 3003);
    usher_authority_close(a);
}

/* S9: the authority is away. */
TEST(serials_are_taken_while_the_authority_is_away)
{
    char authority[256], away[300], url[300];
    struct usher_authority *a;
    struct usher_serial_stock stock;
    struct usher_engine *e, *later;
    struct usher_result r;
    int64_t max;

    (void)snprintf(authority, sizeof authority, "%s/away/a.db", test_dir());
    (void)snprintf(away, sizeof away, "%s/away", test_dir());
    assert_int_equal(mkdir(away, 0700), 0);
    (void)snprintf(url, sizeof url, "sqlite:%s", new_file());
    seen_begin();
    e = engine_with(url, authority);
    make_rule(e, "r");
    (void)taken(e, "r", 1);
    usher_close(e);
    (void)snprintf(authority + strlen(authority), sizeof authority - strlen(authority),
                   "&timeout=200"); /* the time that a command waits for the authority */
    {
        char gone[320];

        (void)snprintf(gone, sizeof gone, "%s/gone", test_dir());
        assert_int_equal(rename(away, gone), 0);
        later = engine_with(url, authority);
        (void)taken(later, "r", 500);                   /* within the granted range */
        assert_int_equal(taken(later, "r", 5000), 500); /* the rest of the range, without waiting */
        assert_int_equal(ask_serial_take(later, "r", 5000, NULL, &r), USHER_UNAVAILABLE);
        assert_non_null(strstr(usher_message(), "authority"));
        /* skipped numbers must be reported to the authority */
        assert_int_equal(ask_serial_setmaxcur(later, "r", 2000), USHER_UNAVAILABLE);
        /* without a grant serials continue only if `setmax` raises their maximum */
        assert_int_equal(ask_serial_take(later, "r", 1, NULL, &r), USHER_UNAVAILABLE);
        {
            struct usher_serial_form form;

            memset(&form, 0, sizeof form);
            form.max = 2000;
            assert_int_equal(ask_serial_rule(later, "r", USHER_GIVEN_SERIAL_MAX, &form),
                             USHER_UNAVAILABLE); /* the rule may be in the authority only */
            /* by an engine without an authority */
            usher_close(later);
            assert_int_equal(usher_open(url, NULL, &later), USHER_OK);
            assert_int_equal(ask_serial_rule(later, "r", USHER_GIVEN_SERIAL_MAX, &form), USHER_OK);
            usher_close(later);
            later = engine_with(url, authority);
        }
        assert_int_equal(ask_serial_setmax(later, "r", 3000, &max), USHER_OK);
        assert_int_equal(max, 5000);
        (void)taken(later, "r", 2900);
        assert_int_equal(ask_serial_check(later, "r", &stock), USHER_OK);
        assert_int_equal(stock.debt, 4001);
        assert_int_equal(rename(gone, away), 0); /* back */
    }
    (void)ask_serial_tick(later, "r");
    assert_int_equal(ask_serial_check(later, "r", &stock), USHER_OK);
    assert_int_equal(stock.debt, 0);
    *strchr(authority, '&') = '\0';
    a = open_authority(authority);
    assert_true(max_of(a, "r") >= 4001);
    usher_authority_close(a);
    (void)taken(later, "r", 50);
    audit(later);
    usher_close(later);
}

/* Lose all data of the store at @url, and store its next URL there. */
static void lose(char url[REDIS_URL_MAX])
{
    if (strncmp(url, "redis:", 6) == 0)
        empty_server();
    else
        (void)snprintf(url, REDIS_URL_MAX, "sqlite:%s", new_file());
}

/* The first command reports to the authority what a store issued without it, what the store
 * skipped, and a change of the period. */
TEST(an_authority_gets_numbers_that_were_issued_without_it)
{
    struct usher_serial_form form, dated;
    struct usher_engine *e;

    memset(&form, 0, sizeof form);
    form.authority = 1;
    form.start = 1;
    for (int i = 0; i < 10; i++) {
        char authority[256], url[REDIS_URL_MAX];
        struct usher_result r;
        int64_t first = 0;

        dated = form;
        (void)snprintf(dated.date, sizeof dated.date, "%%Y-");
        dated.reset = USHER_SERIAL_RESET_YEAR;
        (void)snprintf(authority, sizeof authority, "%s", new_file());
        if (i % 2 == 0)
            (void)snprintf(url, sizeof url, "sqlite:%s", new_file());
        else
            (void)redis_server_url(server, url);
        empty_server();
        seen_begin();
        if (i < 8)
            assert_int_equal(usher_open(url, NULL, &e), USHER_OK);
        else
            e = engine_with(url, authority);
        assert_int_equal(ask_serial_rule(e, "r",
                                         i / 2 == 1
                                             ? USHER_GIVEN_SERIAL_DATE | USHER_GIVEN_SERIAL_RESET
                                             : USHER_GIVEN_SERIAL_BATCH,
                                         (form.batch = 10, dated.batch = 10, &dated)),
                         USHER_OK);
        (void)taken(e, "r", 5000);
        usher_close(e);
        e = engine_with(url, authority);
        if (i / 2 < 2) {
            assert_int_equal(ask_serial_rule(e, "r", USHER_GIVEN_SERIAL_AUTHORITY, &form),
                             USHER_OK);
            first = 5001;
        } else if (i / 2 == 2) { /* by an engine without an authority, then used by one with it */
            usher_close(e);
            assert_int_equal(usher_open(url, NULL, &e), USHER_OK);
            assert_int_equal(ask_serial_rule(e, "r", USHER_GIVEN_SERIAL_AUTHORITY, &form),
                             USHER_OK);
            usher_close(e);
            e = engine_with(url, authority);
            (void)taken(e, "r", 1);
            first = 5001;
        } else if (i / 2 == 3) {
            assert_int_equal(ask_serial_rule(e, "r", USHER_GIVEN_SERIAL_AUTHORITY, &form),
                             USHER_OK);
            (void)taken(e, "r", 1);
            assert_int_equal(ask_serial_setmaxcur(e, "r", 50000), USHER_OK);
            first = 50001;
        } else { /* the issued numbers belong to this period from now on */
            (void)snprintf(dated.date, sizeof dated.date, "%%Y-");
            assert_int_equal(
                ask_serial_rule(e, "r", USHER_GIVEN_SERIAL_DATE | USHER_GIVEN_SERIAL_RESET, &dated),
                USHER_OK);
            audit(e);
            first = 5001;
        }
        usher_close(e);
        lose(url);
        e = engine_with(url, authority);
        memset(&r, 0, sizeof r);
        if (ask_serial_take(e, "r", 1, NULL, &r) != USHER_OK || r.of.serial.rows->first < first)
            fail_msg("case %d: %" PRId64 " instead of at least %" PRId64 " (%s)", i,
                     r.of.serial.n_rows == 1 ? r.of.serial.rows->first : -1, first,
                     usher_message());
        usher_result_done(&r);
        audit(e);
        usher_close(e);
    }
}

/* It has granted more than a later maximum allows; then the store is lost. */
TEST(a_rule_is_used_up_if_the_authority_is_beyond_its_maximum)
{
    char authority[256], url[REDIS_URL_MAX];
    struct usher_serial_form form;
    struct usher_engine *e;
    struct usher_result r;

    (void)snprintf(authority, sizeof authority, "%s", new_file());
    for (int i = 0; i < 2; i++) {
        char name[8] = { (char)('a' + i), '\0' };

        if (i == 0)
            (void)snprintf(url, sizeof url, "sqlite:%s", new_file());
        else
            (void)redis_server_url(server, url);
        empty_server();
        seen_begin();
        e = engine_with(url, authority);
        make_rule(e, name);
        (void)taken(e, name, 10);
        form.max = 500;
        assert_int_equal(ask_serial_rule(e, name, USHER_GIVEN_SERIAL_MAX, &form), USHER_OK);
        usher_close(e);
        lose(url);
        e = engine_with(url, authority);
        assert_int_equal(ask_serial_take(e, name, 1, NULL, &r), USHER_EMPTY);
        audit(e);
        assert_int_equal(ask_serial_setmax(e, name, 5000, NULL), USHER_OK);
        assert_int_equal(ask_serial_take(e, name, 1, NULL, &r), USHER_OK);
        assert_true(r.of.serial.rows->first > 1000); /* after those granted before the loss */
        usher_result_done(&r);
        audit(e);
        usher_close(e);
    }
}

static int64_t clock_now;

static int64_t store_clock(void *payload)
{
    (void)payload;
    return clock_now;
}

/* Take a serial of "p", which begins again with each @reset and prints @date; it is @want. */
static void one_more(struct usher_engine *e, int64_t reset, const char *date, bool gap_free,
                     const char *want)
{
    struct usher_serial_form form;
    char text[USHER_SERIAL_TEXT_MAX + 1];

    memset(&form, 0, sizeof form);
    (void)snprintf(form.date, sizeof form.date, "%s", date);
    form.reset = reset;
    form.mode = gap_free ? USHER_SERIAL_MODE_GAPFREE : USHER_SERIAL_MODE_QUEUE;
    assert_true(USHER_IS_DONE(ask_serial_rule(
        e, "p", USHER_GIVEN_SERIAL_RESET | USHER_GIVEN_SERIAL_DATE | USHER_GIVEN_SERIAL_MODE,
        &form)));
    if (gap_free) {
        struct ask_serial_hold hold;

        assert_int_equal(ask_serial_reserve(e, "p", NULL, -1, NULL, &hold), USHER_OK);
        assert_int_equal(ask_serial_confirm(e, "p", hold.serial, hold.token), USHER_OK);
        memcpy(text, hold.serial, sizeof text);
    } else {
        struct usher_result r;

        assert_int_equal(ask_serial_take(e, "p", 1, NULL, &r), USHER_OK);
        (void)usher_serial_text(&r, 0, text, sizeof text);
        usher_result_done(&r);
    }
    if (want != NULL)
        assert_string_equal(text, want);
}

static void is_not_twice(void *payload, const struct usher_authority_event *event)
{
    (void)payload;
    assert_false(event->twice);
}

/* S21: reset goes finer and back, with an authority and its journal. */
TEST(a_reset_that_goes_back_repeats_nothing)
{
    const int64_t day = INT64_C(86400000);

    for (int gap_free = 0; gap_free < 2; gap_free++) {
        struct usher_options opt = USHER_OPTIONS_INIT;
        struct usher_engine *e = NULL;
        char url[1600], file[256];

        (void)snprintf(file, sizeof file, "%s", new_file());
        (void)snprintf(url, sizeof url, "sqlite:%s?authority=sqlite:%s&journal=1&clock=given",
                       new_file(), file);
        opt.now_ms = store_clock;
        clock_now = 19787 * day; /* 2024-03-05 */
        assert_int_equal(usher_open(url, &opt, &e), USHER_OK);
        for (int i = 1; i <= 2; i++)
            one_more(e, USHER_SERIAL_RESET_MONTH, "%Y%m-", gap_free,
                     i == 1 ? "202403-1" : "202403-2");
        one_more(e, USHER_SERIAL_RESET_DAY, "%Y%m%d-", gap_free, "20240305-3");
        clock_now += day;
        one_more(e, USHER_SERIAL_RESET_DAY, "%Y%m%d-", gap_free, "20240306-1");
        /* in mode queue the numbers granted for the month are not used for the day */
        one_more(e, USHER_SERIAL_RESET_MONTH, "%Y%m-", gap_free,
                 gap_free ? "202403-4" : "202403-1002");
        one_more(e, USHER_SERIAL_RESET_NONE, "", gap_free, NULL);
        one_more(e, USHER_SERIAL_RESET_DAY, "%Y%m%d-", gap_free, NULL);
        assert_int_equal(usher_serial_journal(e, "p", NULL, is_not_twice, NULL), USHER_OK);
        audit(e);
        usher_close(e);
    }
}

/* Numbers that were counted by one period are not given out by another one after a loss. */
TEST(a_lost_rule_is_compared_before_its_period_changes)
{
    char authority[256], url[REDIS_URL_MAX];
    struct usher_serial_form form;
    struct usher_engine *e;
    struct usher_result r;

    (void)snprintf(authority, sizeof authority, "%s", new_file());
    (void)snprintf(url, sizeof url, "sqlite:%s", new_file());
    seen_begin();
    memset(&form, 0, sizeof form);
    for (int i = 0; i < 3; i++) {
        e = engine_with(url, authority);
        if (i == 0) {
            make_rule(e, "r");
        } else {
            (void)snprintf(form.date, sizeof form.date, "%%Y%%m%%d-");
            form.reset = i == 1 ? USHER_SERIAL_RESET_YEAR : USHER_SERIAL_RESET_MONTH;
            assert_int_equal(
                ask_serial_rule(e, "r", USHER_GIVEN_SERIAL_RESET | USHER_GIVEN_SERIAL_DATE, &form),
                USHER_OK);
        }
        for (int k = 0; k < 3; k++)
            (void)taken(e, "r", 100);
        audit(e);
        if (i == 1) /* deleted, and made again in the next round */
            assert_int_equal(ask_serial_delete(e, "r"), USHER_OK);
        usher_close(e);
        lose(url);
    }
    /* a rule that is deleted while the store does not have it stays deleted */
    e = engine_with(url, authority);
    assert_int_equal(ask_serial_delete(e, "r"), USHER_OK);
    usher_close(e);
    lose(url);
    e = engine_with(url, authority);
    assert_int_equal(ask_serial_take(e, "r", 1, NULL, &r), USHER_MISSING);
    usher_close(e);
}

/* Any command on a rule that only the authority has, even one that only reads, recreates it. */
TEST(a_lost_rule_is_made_again_before_a_default_one)
{
    char authority[256], url[REDIS_URL_MAX];
    struct usher_engine *e;
    struct usher_operation c;
    struct usher_result r;

    (void)snprintf(authority, sizeof authority, "%s", new_file());
    (void)snprintf(url, sizeof url, "sqlite:%s", new_file());
    seen_begin();
    e = engine_with(url, authority);
    make_rule(e, "r");
    usher_close(e);
    lose(url);
    e = engine_with(url, authority);
    memset(&c, 0, sizeof c);
    c.verb = USHER_SERIAL_RULE;
    c.scope = text("r");
    assert_int_equal(usher_operate(e, &c, &r, 1), USHER_OK);
    assert_int_equal(r.status, USHER_OK);
    assert_int_equal(r.of.serial.of.settings.critical, 20);
    usher_result_done(&r);
    c.scope = text("new");
    assert_int_equal(usher_operate(e, &c, &r, 1), USHER_OK);
    assert_int_equal(r.status, USHER_OK);
    assert_int_equal(r.of.serial.of.settings.critical, 0);
    assert_int_equal(r.of.serial.of.settings.authority, 1);
    usher_result_done(&r);
    audit(e);
    usher_close(e);
}

static void count_fault(void *payload, const char *line)
{
    char(*lines)[2][160] = payload;

    for (int i = 0; i < 2; i++)
        if ((*lines)[i][0] == '\0') {
            (void)snprintf((*lines)[i], sizeof(*lines)[i], "%s", line);
            break;
        }
}

TEST(an_audit_compares_a_store_with_its_authority)
{
    char authority[256], other[256], url[300], lines[2][160] = { "", "" };
    struct usher_engine *e;
    uint64_t faults = 0;

    (void)snprintf(authority, sizeof authority, "%s", new_file());
    (void)snprintf(other, sizeof other, "%s", new_file());
    (void)snprintf(url, sizeof url, "sqlite:%s", new_file());
    seen_begin();
    e = engine_with(url, authority);
    make_rule(e, "r");
    ids_begin(e);
    (void)taken(e, "r", 5);
    id_taken(e, 5);
    audit(e);
    usher_close(e);
    /* by an authority that has lost its grants */
    e = engine_with(url, other);
    assert_int_equal(check_faults(e, count_fault, lines, &faults), USHER_OK);
    assert_int_equal(faults, 2);
    assert_string_equal(lines[0], "serial/r: numbers up to 1005 may be issued, but the "
                                  "authority's maximum is 0");
    assert_string_equal(lines[1], "id/i: numbers up to 100 may be issued, but the "
                                  "authority's maximum is 0");
    (void)taken(e, "r", 5); /* raises the maximum */
    id_taken(e, 5);
    audit(e);
    usher_close(e);
    e = engine_with(url, "/nonexistent/authority.db");
    assert_int_equal(check_faults(e, NULL, NULL, &faults), USHER_UNAVAILABLE);
    assert_non_null(strstr(usher_message(), "authority"));
    usher_close(e);
}

struct life {
    char lines[20][64];
    int n;
};

static void life_add(void *payload, const struct usher_authority_event *event)
{
    struct life *life = payload;

    if (life->n < 20)
        (void)snprintf(life->lines[life->n++], sizeof *life->lines,
                       "%s %" PRId64 " %" PRId64 " %.*s %.*s", usher_verb_word(event->verb),
                       event->first, event->n, (int)event->text.size,
                       event->text.size != 0 ? event->text.data : "", (int)event->owner.size,
                       event->owner.size != 0 ? event->owner.data : "");
}

TEST(the_journal_has_each_event_of_a_number)
{
    static const char *const want[] = { "reserve 1 1 I1 ann", "reserve 2 1 I2 bob",
                                        "return 1 1 I1 ",     "confirm 2 1 I2 bob",
                                        "reserve 1 1 I1 cid", "void 1 1 I1 cid" };
    char authority[256];
    struct usher_serial_form form;
    struct ask_serial_hold x, y;
    struct usher_authority *a;
    struct usher_engine *e;
    struct life life;

    (void)snprintf(authority, sizeof authority, "%s", new_file());
    e = engine_with("memory:", authority);
    memset(&form, 0, sizeof form);
    (void)snprintf(form.prefix, sizeof form.prefix, "I");
    form.mode = USHER_SERIAL_MODE_GAPFREE;
    assert_int_equal(
        ask_serial_rule(e, "i", USHER_GIVEN_SERIAL_PREFIX | USHER_GIVEN_SERIAL_MODE, &form),
        USHER_OK);
    assert_int_equal(ask_serial_reserve(e, "i", "ann", 0, NULL, &x), USHER_OK);
    assert_int_equal(ask_serial_reserve(e, "i", "bob", 0, NULL, &y), USHER_OK);
    assert_int_equal(ask_serial_return(e, "i", x.serial, x.token), USHER_OK);
    assert_int_equal(ask_serial_confirm(e, "i", y.serial, y.token), USHER_OK);
    assert_int_equal(ask_serial_reserve(e, "i", "cid", 0, NULL, &x), USHER_OK);
    assert_int_equal(ask_serial_void(e, "i", x.serial, x.token), USHER_OK);
    usher_close(e);
    a = open_authority(authority);
    memset(&life, 0, sizeof life);
    assert_int_equal(usher_authority_events(a, USHER_SERIAL, "i", 0, 0, life_add, &life), USHER_OK);
    assert_int_equal(life.n, 6);
    for (int i = 0; i < 6; i++)
        assert_string_equal(life.lines[i], want[i]);
    assert_int_equal(max_of(a, "i"), 2); /* a lost store would leave no gap */
    usher_authority_close(a);
}

/* Append the event to a list of lines. */
static void taken_add(void *payload, const struct usher_authority_event *event)
{
    struct life *life = payload;

    if (life->n < 20)
        (void)snprintf(
            life->lines[life->n++], sizeof *life->lines, "%" PRIu64 " %s %.*s %" PRIu64 " %d",
            event->row, usher_verb_word(event->verb), (int)event->text.size,
            event->text.size != 0 ? event->text.data : "", event->version, event->epoch != 0);
}

/* In another store versions start at 1 again; row numbers continue.  A repeat is the same event. */
TEST(the_journal_keeps_its_order_over_losses)
{
    static const char *const want[] = { "1 take I1 2 1", "2 take I3 3 1", "3 take I1003 3 1",
                                        "4 take I1004 4 1", "5 take I2001 7 1" };
    char authority[256];
    struct usher_serial_form form;
    struct usher_engine *e;
    struct usher_result r;
    struct life life;

    (void)snprintf(authority, sizeof authority, "%s", new_file());
    memset(&form, 0, sizeof form);
    (void)snprintf(form.prefix, sizeof form.prefix, "I");
    for (int i = 0; i < 2; i++) {
        e = engine_with("memory:", authority);
        if (i == 0)
            assert_int_equal(ask_serial_rule(e, "i", USHER_GIVEN_SERIAL_PREFIX, &form), USHER_OK);
        for (int k = 0; k < 2; k++) {
            assert_int_equal(
                ask_serial_take(e, "i", k == 0 && i == 0 ? 2 : 1, k == 0 ? "a" : "b", &r),
                USHER_OK);
            usher_result_done(&r);
        }
        if (i == 1) { /* another epoch, and the first answer again */
            assert_int_equal(ask_serial_setmaxcur(e, "i", 2000), USHER_OK);
            assert_int_equal(ask_serial_take(e, "i", 1, "b", &r), USHER_OK);
            assert_true(r.repeated);
            usher_result_done(&r);
            assert_int_equal(ask_serial_take(e, "i", 1, NULL, &r), USHER_OK);
            usher_result_done(&r);
        }
        memset(&life, 0, sizeof life);
        assert_int_equal(usher_serial_journal(e, "i", NULL, taken_add, &life), USHER_OK);
        for (int k = 0; k < life.n; k++)
            if (strncmp(life.lines[k], want[k], strlen(want[k]) - 4) != 0)
                fail_msg("%s instead of %s", life.lines[k], want[k]);
        assert_int_equal(life.n, i == 0 ? 2 : 5);
        if (i == 1) {
            memset(&life, 0, sizeof life);
            assert_int_equal(
                usher_serial_journal(e, "i", LIST_OF(.row = 2, .max = 2), taken_add, &life),
                USHER_OK);
            assert_int_equal(life.n, 2);
            assert_memory_equal(life.lines[0], "3 take I1003 ", 13);
            memset(&life, 0, sizeof life);
            assert_int_equal(usher_serial_journal(e, "nobody", NULL, taken_add, &life), USHER_OK);
            assert_int_equal(life.n, 0);
        }
        usher_close(e);
    }
    assert_int_equal(usher_open("memory:", NULL, &e), USHER_OK);
    assert_int_equal(usher_serial_journal(e, "i", NULL, taken_add, &life), USHER_INVALID);
    assert_non_null(strstr(usher_message(), "no authority"));
    usher_close(e);
}

TEST(the_journal_has_reservations_that_expired)
{
    static const char *const want[] = { "reserve 1 1 I20040228-1 ann",
                                        "reserve 2 1 I20040228-2 bob",
                                        "expire 1 1  ",
                                        "reserve 1 1 I20040228-1 cid",
                                        "expire 2 1  ",
                                        "expire 1 1  ",
                                        "reserve 1 1 I20040228-1 dan",
                                        "expire 1 1  " };
    const int64_t day = 12476; /* 2004-02-28 */
    char authority[256], url[300], redis[REDIS_URL_MAX];
    const char *const urls[] = { "memory:", url, redis_server_url(server, redis) };

    empty_server();
    (void)snprintf(url, sizeof url, "sqlite:%s", new_file());
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        struct usher_serial_form form;
        struct usher_authority *a;
        struct usher_engine *e;
        struct usher_result r;
        struct life life;
        const struct {
            enum usher_verb verb;
            int64_t minute;
            const char *owner;
        } steps[] = {
            { USHER_SERIAL_RESERVE, 0, "ann" }, /* for an hour each */
            { USHER_SERIAL_RESERVE, 1, "bob" },
            { USHER_SERIAL_RESERVE, 60, "cid" }, /* ann's goes to cid */
            { USHER_SERIAL_SWEEP, 61, NULL },    /* bob's */
            { USHER_SERIAL_TAKE, 180, NULL },    /* is refused, but meets cid's */
            { USHER_SERIAL_RESERVE, 190, "dan" },
            { USHER_SERIAL_CONFIRM, 300, NULL }, /* is invalid, but meets dan's */
        };

        (void)snprintf(authority, sizeof authority, "%s", new_file());
        e = engine_with(urls[i], authority);
        memset(&form, 0, sizeof form);
        (void)snprintf(form.prefix, sizeof form.prefix, "I");
        (void)snprintf(form.date, sizeof form.date, "%%Y%%m%%d-");
        form.mode = USHER_SERIAL_MODE_GAPFREE;
        form.reset = USHER_SERIAL_RESET_DAY;
        form.lease_ms = 3600000;
        for (size_t k = 0; k <= sizeof steps / sizeof *steps; k++) {
            struct usher_operation c;

            memset(&c, 0, sizeof c);
            c.scope = text("i");
            c.given = USHER_GIVEN_NOW;
            if (k == 0) {
                c.verb = USHER_SERIAL_RULE;
                c.given |=
                    USHER_GIVEN_SERIAL_MODE | USHER_GIVEN_SERIAL_RESET | USHER_GIVEN_SERIAL_LEASE;
                c.arg.serial.prefix = text(form.prefix);
                c.arg.serial.date = text(form.date);
                c.arg.serial.mode = form.mode;
                c.arg.serial.reset = form.reset;
                c.arg.serial.lease_ms = form.lease_ms;
                c.now_ms = day * 86400000;
            } else {
                c.verb = steps[k - 1].verb;
                c.now_ms = day * 86400000 + steps[k - 1].minute * 60000;
                if (steps[k - 1].owner != NULL)
                    c.arg.serial.owner = text(steps[k - 1].owner);
                if (c.verb == USHER_SERIAL_CONFIRM) {
                    c.arg.serial.serial = text("nonsense");
                    c.given |= USHER_GIVEN_SERIAL_TOKEN;
                }
            }
            assert_int_equal(usher_operate(e, &c, &r, 1), USHER_OK);
            assert_int_equal(r.status, c.verb == USHER_SERIAL_TAKE      ? USHER_REFUSED
                                       : c.verb == USHER_SERIAL_CONFIRM ? USHER_INVALID
                                                                        : USHER_OK);
            usher_result_done(&r);
        }
        audit(e);
        usher_close(e);
        a = open_authority(authority);
        memset(&life, 0, sizeof life);
        assert_int_equal(usher_authority_events(a, USHER_SERIAL, "i", 0, 0, life_add, &life),
                         USHER_OK);
        for (int k = 0; k < 8; k++)
            assert_string_equal(life.lines[k], want[k]);
        assert_int_equal(life.n, 8);
        usher_authority_close(a);
    }
}

/* ---- kill -9 ------------------------------------------------------------------------------ */

/* An authority whose process dies with its @dies_at-th request: before the commit, or with
 * @after_commit after it, before the store has its answer.  A request waits while @holds_back. */
struct killer {
    struct usher_authority base;
    struct usher_authority *inner;
    unsigned dies_at, requests;
    bool after_commit;
    _Atomic bool holds_back, committed;
};

static enum usher_status killer_reserve(struct usher_authority *a,
                                        const struct usher_authority_want *want,
                                        int64_t deadline_ms,
                                        struct usher_authority_range *ret_range, char message[192])
{
    struct killer *k = (struct killer *)a;
    bool dies = want->n > 0 && ++k->requests == k->dies_at;
    enum usher_status status;

    if (dies && !k->after_commit)
        (void)kill(getpid(), SIGKILL);
    status = k->inner->ops->reserve(k->inner, want, deadline_ms, ret_range, message);
    if (dies)
        (void)kill(getpid(), SIGKILL);
    k->committed = true;
    while (k->holds_back)
        (void)usleep(1000);
    return status;
}

static enum usher_status killer_read(struct usher_authority *a, enum usher_noun noun,
                                     const struct usher_text *name, int64_t deadline_ms,
                                     struct usher_authority_entry *ret_entry, char message[192])
{
    struct killer *k = (struct killer *)a;

    return k->inner->ops->read(k->inner, noun, name, deadline_ms, ret_entry, message);
}

static enum usher_status killer_release(struct usher_authority *a, enum usher_noun noun,
                                        const struct usher_text *name, int64_t from, int64_t to,
                                        int64_t deadline_ms, char message[192])
{
    struct killer *k = (struct killer *)a;

    return k->inner->ops->release(k->inner, noun, name, from, to, deadline_ms, message);
}

static void killer_close(struct usher_authority *a)
{
    usher_authority_close(((struct killer *)a)->inner);
}

static const struct usher_authority_ops killer_ops = {
    .size = sizeof(struct usher_authority_ops),
    .name = "killer",
    .reserve = killer_reserve,
    .read = killer_read,
    .release = killer_release,
    .close = killer_close,
};

/* In a child: take until the process is killed; write the last serial and id to @fd each time. */
static void take_until_killed(const char *url, const char *authority, unsigned dies_at,
                              bool after_commit, int fd)
{
    struct usher_options opt = USHER_OPTIONS_INIT;
    struct killer k = { .base.ops = &killer_ops, .dies_at = dies_at, .after_commit = after_commit };
    struct usher_engine *e;
    int64_t taken_so_far[2] = { 0, 0 };

    k.inner = open_authority(authority);
    opt.authority = &k.base;
    if (usher_open(url, &opt, &e) != USHER_OK)
        _exit(1);
    for (int i = 0; i < 1000; i++) {
        struct usher_id_range range;
        struct usher_result r;

        if (ask_serial_take(e, "r", 400, NULL, &r) != USHER_OK)
            _exit(2);
        taken_so_far[0] = r.of.serial.rows[0].first + 399;
        usher_result_done(&r);
        if (write(fd, taken_so_far, sizeof taken_so_far) != (ssize_t)sizeof taken_so_far)
            _exit(3);
        if (ask_id_next(e, "i", 40, NULL, &range) != USHER_OK)
            _exit(4);
        taken_so_far[1] = range.first + 39;
        if (write(fd, taken_so_far, sizeof taken_so_far) != (ssize_t)sizeof taken_so_far)
            _exit(5);
    }
    _exit(6);
}

TEST(a_process_killed_between_authority_and_store_repeats_nothing)
{
    char authority[256], url[300], redis[REDIS_URL_MAX];
    const char *const urls[] = { url, redis_server_url(server, redis) };

    empty_server();
    (void)snprintf(url, sizeof url, "sqlite:%s", new_file());
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        int64_t highest[2] = { 0, 0 };
        struct usher_engine *e;

        (void)snprintf(authority, sizeof authority, "%s", new_file());
        e = engine_with(urls[i], authority);
        make_rule(e, "r");
        ids_begin(e);
        usher_close(e);
        for (unsigned round = 0; round < 16; round++) {
            int64_t taken_so_far[2];
            int fds[2], status;
            pid_t child;

            assert_int_equal(pipe(fds), 0);
            child = fork();
            assert_true(child >= 0);
            if (child == 0)
                take_until_killed(urls[i], authority, 1 + round / 2, round % 2 != 0, fds[1]);
            (void)close(fds[1]);
            while (read(fds[0], taken_so_far, sizeof taken_so_far) == (ssize_t)sizeof taken_so_far)
                for (int k = 0; k < 2; k++)
                    if (taken_so_far[k] != 0) {
                        assert_true(taken_so_far[k] >= highest[k]);
                        highest[k] = taken_so_far[k];
                    }
            (void)close(fds[0]);
            assert_int_equal(waitpid(child, &status, 0), child);
            assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
            e = engine_with(urls[i], authority);
            {
                struct usher_id_range range;
                struct usher_result r;

                assert_int_equal(ask_serial_take(e, "r", 1, NULL, &r), USHER_OK);
                assert_true(r.of.serial.rows[0].first > highest[0]);
                highest[0] = r.of.serial.rows[0].first;
                usher_result_done(&r);
                assert_int_equal(ask_id_next(e, "i", 1, NULL, &range), USHER_OK);
                assert_true(range.first > highest[1]);
                highest[1] = range.first;
            }
            audit(e);
            usher_close(e);
        }
    }
}

struct reserver {
    struct usher_engine *e;
    const char *owner;
    enum usher_status status;
    _Atomic bool done;
};

static void *reserve_one(void *payload)
{
    struct reserver *r = payload;
    struct ask_serial_hold hold;

    r->status = ask_serial_reserve(r->e, "g", r->owner, -1, NULL, &hold);
    r->done = true;
    return NULL;
}

/* Two engines request ranges at the same moment, and the one with the lower number writes to the
 * store later. */
TEST(no_number_is_lost_when_grants_arrive_out_of_order)
{
    struct usher_options opt = USHER_OPTIONS_INIT;
    struct killer slow = { .base.ops = &killer_ops };
    struct reserver first = { .owner = "first" }, second = { .owner = "second" };
    char authority[256], store[300];
    struct usher_serial_form form;
    struct usher_result r;
    pthread_t threads[2];

    (void)snprintf(authority, sizeof authority, "%s", new_file());
    (void)snprintf(store, sizeof store, "sqlite:%s", new_file());
    slow.inner = open_authority(authority);
    opt.authority = &slow.base;
    assert_int_equal(usher_open(store, &opt, &first.e), USHER_OK);
    second.e = engine_with(store, authority);
    memset(&form, 0, sizeof form);
    form.mode = USHER_SERIAL_MODE_GAPFREE;
    assert_int_equal(ask_serial_rule(first.e, "g", USHER_GIVEN_SERIAL_MODE, &form), USHER_OK);
    /* each has compared the store with the authority, and number 1 is held */
    assert_int_equal(
        ask_serial_reserve(second.e, "g", "ann", -1, NULL, &(struct ask_serial_hold){ 0 }),
        USHER_OK);
    assert_int_equal(
        ask_serial_reserve(first.e, "g", "ann", -1, NULL, &(struct ask_serial_hold){ 0 }),
        USHER_SAME);
    slow.committed = false;
    slow.holds_back = true;
    assert_int_equal(pthread_create(&threads[0], NULL, reserve_one, &first), 0);
    while (!slow.committed)
        (void)usleep(1000);
    assert_int_equal(pthread_create(&threads[1], NULL, reserve_one, &second), 0);
    while (max_of(slow.inner, "g") < 3)
        (void)usleep(1000);
    /* an engine that does not wait for the lower number is done by now */
    for (int i = 0; i < 50 && !second.done; i++)
        (void)usleep(1000);
    slow.holds_back = false;
    assert_int_equal(pthread_join(threads[0], NULL), 0);
    assert_int_equal(pthread_join(threads[1], NULL), 0);
    assert_int_equal(first.status, USHER_OK);
    assert_int_equal(second.status, USHER_OK);
    assert_int_equal(ask_serial_holds(first.e, "g", NULL, 0, &r), USHER_OK);
    assert_int_equal(r.of.serial.n_rows, 3);
    for (size_t i = 0; i < r.of.serial.n_rows; i++)
        assert_int_equal(r.of.serial.rows[i].state, USHER_SERIAL_STATE_HELD);
    usher_result_done(&r);
    usher_close(first.e);
    usher_close(second.e);
    usher_authority_close(&slow.base);
}

TEST(a_deleted_rule_does_not_come_back)
{
    char authority[256];
    struct usher_engine *e;
    struct usher_result r;

    (void)snprintf(authority, sizeof authority, "%s", new_file());
    seen_begin();
    e = engine_with("memory:", authority);
    make_rule(e, "r");
    (void)taken(e, "r", 3);
    assert_int_equal(ask_serial_delete(e, "r"), USHER_OK);
    assert_int_equal(ask_serial_take(e, "r", 1, NULL, &r), USHER_MISSING);
    usher_close(e);
    e = engine_with("memory:", authority);
    assert_int_equal(ask_serial_take(e, "r", 1, NULL, &r), USHER_MISSING);
    make_rule(e, "r"); /* made again on an empty store: numbers continue after the granted ones */
    (void)taken(e, "r", 3);
    usher_close(e);
}

/* For a dispenser that is made again, `create` and `show` return the id that `next` then issues. */
TEST(a_recreated_dispenser_returns_its_next_id)
{
    static const struct usher_id_result_settings set = { .start = 2, .by = 3, .step = 10 };
    const uint64_t given = USHER_GIVEN_ID_START | USHER_GIVEN_ID_BY | USHER_GIVEN_ID_STEP;
    struct usher_engine *e;
    struct usher_operation c;
    struct usher_id_range range;
    struct usher_id_result_row row;
    struct usher_result r;
    char authority[256];

    (void)snprintf(authority, sizeof authority, "%s", new_file());
    e = engine_with("memory:", authority);
    assert_int_equal(ask_id_create(e, "i", given, &set), USHER_OK);
    assert_int_equal(ask_id_show(e, "i", &row), USHER_OK);
    assert_int_equal(row.next, 2);
    assert_int_equal(ask_id_next(e, "i", 4, NULL, &range), USHER_OK);
    assert_int_equal(ask_id_delete(e, "i"), USHER_OK);
    memset(&c, 0, sizeof c);
    c.verb = USHER_ID_CREATE;
    c.scope = text("i");
    c.given = given;
    c.arg.id.start = 2;
    c.arg.id.by = 3;
    c.arg.id.step = 10;
    assert_int_equal(usher_operate(e, &c, &r, 1), USHER_OK);
    assert_int_equal(r.of.id.next, 32);
    usher_result_done(&r);
    assert_int_equal(ask_id_show(e, "i", &row), USHER_OK);
    assert_int_equal(row.next, 32);
    assert_int_equal(ask_id_next(e, "i", 1, NULL, &range), USHER_OK);
    assert_int_equal(range.first, 32);
    usher_close(e);
}
