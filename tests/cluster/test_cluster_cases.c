/* SPDX-License-Identifier: MIT */
/*
 * Faults between a client and a Redis Cluster, on fake nodes whose answers a test sets.  A case
 * checks the answer of the caller and the requests that each node got.  R6 to R9, R13 and R15 of
 * the specification of the Redis store; the cases are known bugs of other clients.
 */
#include "lib/test.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include <usher/command.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "change/memory.h"
#include "engine/post.h"
#include "change/result.h"
#include "nouns/room/room_directory.h"
#include "lib/calls.h"
#include "lib/fake.h"
#include "lib/command_line.h"
#include "lib/util.h"

#define LONG 5000 /* ms, a deadline that is not reached */
#define SHORT (budget_slow() ? 1600 : 400)
#define BATCH_MAX 80
/* ms that a call may take beyond its deadline: 50, and what a busy machine adds */
#define OVER 3000
#define OVER_AT_BEST (budget_slow() ? 1000 : 250) /* the best of several tries */
#define SCOPE_MAX 16
#define TEXT_MAX 96

/* ---- a cluster and its callers ---- */

static struct fake *cluster_of(int nodes)
{
    struct fake *f = fake_start(nodes);

    assert_non_null(f);
    return f;
}

static struct usher_engine *engine_at(const char *url, int64_t timeout_ms)
{
    struct usher_options opt = USHER_OPTIONS_INIT;
    struct usher_engine *e = NULL;

    opt.timeout_ms = timeout_ms;
    if (usher_open(url, &opt, &e) != USHER_OK)
        fail_msg("%s: %s", url, usher_message());
    return e;
}

static struct usher_engine *engine_on(const struct fake *f, int64_t timeout_ms)
{
    char url[FAKE_URL_MAX];

    return engine_at(fake_url(f, url), timeout_ms);
}

/* Open an engine whose URL has only this node. */
static struct usher_engine *engine_by(const struct fake *f, int node, int64_t timeout_ms)
{
    char url[64];

    (void)snprintf(url, sizeof url, "redis+cluster://127.0.0.1:%d", fake_port(f, node));
    return engine_at(url, timeout_ms);
}

/* Write the name of scope @i of those with slots on @node of @nodes (see fake_start()). */
static const char *scope_at(int node, int nodes, int i, char name[SCOPE_MAX])
{
    for (int k = 0; i >= 0; k++) {
        (void)snprintf(name, SCOPE_MAX, "s%d", k);
        if (fake_slot(name) >= node * FAKE_SLOTS / nodes &&
            fake_slot(name) < (node + 1) * FAKE_SLOTS / nodes)
            i--;
    }
    return name;
}

/* For test_cluster_posted.c: commands are posted, and a thread that waits for some of them collects
 * all. */
#ifdef POSTED

struct one {
    struct usher_result *r;
    atomic_bool there;
};

/* Return false if the event is not of an awaited command. */
static bool store_reply(const struct usher_event *event)
{
    struct one *one = event->tag;
    bool replies = event->kind == USHER_EVENT_REPLY;

    if (replies) {
        usher__result_init(one->r, USHER_NUMBER, usher__allocator(NULL));
        one->r->status = event->reply->status;
        one->r->epoch = event->reply->epoch;
        one->r->version = event->reply->version;
        (void)snprintf(one->r->message, sizeof one->r->message, "%s", event->reply->message);
    }
    usher_event_done(event);
    if (replies)
        atomic_store(&one->there, true);
    return replies;
}

static void operate(struct usher_engine *e, char (*text)[TEXT_MAX], struct usher_result *r,
                    size_t n)
{
    struct one one[BATCH_MAX];
    struct usher_command c;
    char room[2048 + 2 * TEXT_MAX];

    for (size_t i = 0; i < n; i++) {
        one[i].r = &r[i];
        atomic_init(&one[i].there, false);
        assert_int_equal(usher_command_parse(text[i], strlen(text[i]), room, sizeof room, &c),
                         USHER_OK);
        c.tag = &one[i];
        assert_int_equal(usher_post(e, &c, 1, 0), USHER_OK);
    }
    for (size_t i = 0; i < n; i++)
        while (!atomic_load(&one[i].there)) {
            const struct usher_event *event = usher_collect(e, 10);

            if (event != NULL)
                (void)store_reply(event);
        }
}

#else

static void operate(struct usher_engine *e, char (*text)[TEXT_MAX], struct usher_result *r,
                    size_t n)
{
    struct usher_operation c[BATCH_MAX];
    struct line l[BATCH_MAX];

    memset(c, 0, sizeof c);
    for (size_t i = 0; i < n; i++) {
        line_read(&l[i], text[i]);
        c[i] = l[i].c;
    }
    (void)usher_operate(e, c, r, n);
    for (size_t i = 0; i < n; i++)
        line_done(&l[i]);
}

#endif

static enum usher_status done(struct usher_engine *e, const char *text, struct usher_result *r)
{
    char one[1][TEXT_MAX];

    (void)snprintf(one[0], TEXT_MAX, "%s", text);
    operate(e, one, r, 1);
    return r->status;
}

/* Return the node that executed it. */
static int must(struct usher_engine *e, const char *text)
{
    struct usher_result r;
    int node;

    if (done(e, text, &r) != USHER_OK)
        fail_msg("%s: %s (%s)", text, usher_status_word(r.status), r.message);
    node = (int)r.epoch - 1;
    usher_result_done(&r);
    return node;
}

static void must_be(struct usher_engine *e, const char *text, enum usher_status status)
{
    struct usher_result r;

    if (done(e, text, &r) != status)
        fail_msg("%s: %s (%s)", text, usher_status_word(r.status), r.message);
    usher_result_done(&r);
}

static int add(struct usher_engine *e, const char *scope)
{
    char text[64];

    (void)snprintf(text, sizeof text, "number add %s 1", scope);
    return must(e, text);
}

static void add_is(struct usher_engine *e, const char *scope, enum usher_status status)
{
    char text[64];

    (void)snprintf(text, sizeof text, "number add %s 1", scope);
    must_be(e, text, status);
}

/* Several commands of one usher_operate(). */
struct many {
    char text[BATCH_MAX][TEXT_MAX];
    struct usher_result r[BATCH_MAX];
    size_t n;
};

static void many_put(struct many *m, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void many_put(struct many *m, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(m->text[m->n++], TEXT_MAX, format, args);
    va_end(args);
}

static void many_do(struct many *m, struct usher_engine *e)
{
    operate(e, m->text, m->r, m->n);
}

static void many_is(const struct many *m, size_t i, enum usher_status status)
{
    if (m->r[i].status != status)
        fail_msg("%zu: %s (%s)", i, usher_status_word(m->r[i].status), m->r[i].message);
}

static void many_done(struct many *m)
{
    for (size_t i = 0; i < m->n; i++) {
        usher_result_done(&m->r[i]);
    }
    m->n = 0;
}

/* A thread that calls at the same time. */
struct caller {
    pthread_t thread;
    struct usher_engine *e;
    struct many m;
};

static void *call(void *payload)
{
    struct caller *c = payload;

    many_do(&c->m, c->e);
    return NULL;
}

static void caller_start(struct caller *c, struct usher_engine *e)
{
    c->e = e;
    assert_int_equal(pthread_create(&c->thread, NULL, call, c), 0);
}

/* Check that each EVALSHA to @node follows directly on an ASKING of its connection. */
static void assert_each_asks(struct fake *f, int node)
{
    const char *line, *before = "";

    for (unsigned i = 0; (line = fake_line(f, node, i)) != NULL; before = line, i++) {
        size_t n = strcspn(line, " ");

        if (strncmp(line + n, " EVAL", 5) == 0 && /* or EVALSHA */
            (strncmp(before, line, n) != 0 || strcmp(before + n, " ASKING") != 0))
            fail_msg("\"%s\" comes after \"%s\"", line, before);
    }
}

/* From now on @node answers `number add` on @scope with @version. */
static void answers_are(struct fake *f, int node, const char *scope, uint64_t version)
{
    char with[SCOPE_MAX + 16], answer[FAKE_ANSWER_MAX];
    struct fake_rule r = { .match = "EVALSHA", .with = with, .action = FAKE_REPLY, .text = answer };

    (void)snprintf(with, sizeof with, "{%s}:number", scope);
    r.size = fake_answer(USHER_NUMBER_ADD, FAKE_EPOCH(node), version, answer);
    fake_rule(f, node, &r);
}

static void rule_of(struct fake *f, int node, const char *match, unsigned times,
                    enum fake_action action)
{
    const struct fake_rule r = { .match = match, .times = times, .action = action };

    fake_rule(f, node, &r);
}

/* ---- ASK ---- */

TEST(ask_redirects_one_command_only)
{
    struct fake *f = cluster_of(3);
    struct usher_engine *e = engine_on(f, LONG);
    char scope[SCOPE_MAX];
    unsigned maps;

    scope_at(0, 3, 0, scope);
    fake_migrate(f, fake_slot(scope), 0, 1);
    maps = fake_seen(f, FAKE_ALL, "CLUSTER SLOTS");
    for (unsigned i = 1; i <= 3; i++) {
        assert_int_equal(add(e, scope), 1);
        assert_int_equal(fake_seen(f, 0, "EVALSHA"), i);
        assert_int_equal(fake_seen(f, 1, "EVALSHA"), i);
        assert_int_equal(fake_seen(f, 1, "ASKING"), i);
    }
    assert_each_asks(f, 1);
    assert_int_equal(fake_seen(f, 0, "ASKING"), 0);
    assert_int_equal(fake_seen(f, 2, "EVALSHA"), 0);
    /* the owner of the slot has not changed, so the map is not requested */
    assert_int_equal(fake_seen(f, FAKE_ALL, "CLUSTER SLOTS"), maps);
    usher_close(e);
    fake_stop(f);
}

TEST(asking_and_the_command_are_sent_together)
{
    struct fake *f = cluster_of(2);
    struct usher_engine *e = engine_on(f, LONG);
    struct caller c = { .m = { .n = 0 } };
    char scope[SCOPE_MAX];

    scope_at(0, 2, 0, scope);
    fake_migrate(f, fake_slot(scope), 0, 1);
    rule_of(f, 1, "ASKING", 1, FAKE_HOLD);
    many_put(&c.m, "number add %s 1", scope);
    caller_start(&c, e);
    assert_true(fake_wait_seen(f, 1, "EVALSHA", 1, LONG)); /* though ASKING is not answered */
    fake_release(f, 1);
    (void)pthread_join(c.thread, NULL);
    many_is(&c.m, 0, USHER_OK);
    assert_int_equal(fake_seen(f, 1, "EVALSHA"), 1);
    many_done(&c.m);
    usher_close(e);
    fake_stop(f);
}

TEST(each_command_to_an_importing_slot_has_its_asking)
{
    struct fake *f = cluster_of(2);
    struct usher_engine *e = engine_on(f, LONG);
    struct many m = { .n = 0 };
    char scope[SCOPE_MAX], name[SCOPE_MAX];

    scope_at(0, 2, 0, scope);
    for (int k = 0; m.n < 3; k++) {
        (void)snprintf(name, sizeof name, "s%d", k);
        if (fake_slot(name) == fake_slot(scope))
            many_put(&m, "number add %s 1", name);
    }
    fake_migrate(f, fake_slot(scope), 0, 1);
    many_do(&m, e);
    for (size_t i = 0; i < 3; i++) {
        many_is(&m, i, USHER_OK);
        assert_true(m.r[i].epoch == FAKE_EPOCH(1));
    }
    assert_int_equal(fake_seen(f, 0, "EVALSHA"), 3);
    assert_int_equal(fake_seen(f, 1, "EVALSHA"), 3);
    assert_int_equal(fake_seen(f, 1, "ASKING"), 3);
    assert_each_asks(f, 1);
    many_done(&m);
    usher_close(e);
    fake_stop(f);
}

TEST(a_script_is_loaded_with_another_asking)
{
    struct fake *f = cluster_of(2);
    struct usher_engine *e = engine_on(f, LONG);
    char scope[SCOPE_MAX];

    scope_at(0, 2, 0, scope);
    fake_migrate(f, fake_slot(scope), 0, 1);
    fake_error(f, 1, "EVALSHA", 1, "NOSCRIPT No matching script. Please use EVAL.");
    assert_int_equal(add(e, scope), 1);
    assert_int_equal(fake_seen(f, 1, "EVALSHA"), 1);
    assert_int_equal(fake_seen(f, 1, "ASKING"), 2);
    assert_int_equal(fake_seen(f, 1, "EVAL"), 1);
    assert_each_asks(f, 1);
    usher_close(e);
    fake_stop(f);
}

/* ---- MOVED ---- */

TEST(moved_is_followed_and_remembered)
{
    struct fake *f = cluster_of(2);
    struct usher_engine *e = engine_on(f, LONG);
    char scope[SCOPE_MAX];

    scope_at(0, 2, 0, scope);
    fake_migrated(f, fake_slot(scope), 1);
    fake_error(f, FAKE_ALL, "CLUSTER SLOTS", 0,
               "ERR not now"); /* so the map does not have the new owner */
    for (int i = 0; i < 3; i++)
        assert_int_equal(add(e, scope), 1);
    assert_int_equal(fake_seen(f, 0, "EVALSHA"), 1);
    assert_int_equal(fake_seen(f, 1, "EVALSHA"), 3);
    assert_int_equal(fake_seen(f, 1, "ASKING"), 0);
    usher_close(e);
    fake_stop(f);
}

TEST(moved_to_the_same_node_opens_a_new_connection)
{
    struct fake *f = cluster_of(2);
    struct usher_engine *e = engine_on(f, LONG);
    char scope[SCOPE_MAX];
    unsigned connections;

    scope_at(0, 2, 0, scope);
    assert_int_equal(add(e, scope), 0);
    connections = fake_connections(f, 0);
    fake_error(f, 0, "EVALSHA", 1, "MOVED %d 127.0.0.1:%d", fake_slot(scope), fake_port(f, 0));
    assert_int_equal(add(e, scope), 0);
    assert_int_equal(fake_seen(f, 0, "EVALSHA"), 3);
    assert_true(fake_connections(f, 0) > connections);
    usher_close(e);

    /* if the new connection gets MOVED, too, there is a pause between tries */
    e = engine_on(f, SHORT);
    fake_forget(f, FAKE_ALL);
    fake_error(f, 0, "EVALSHA", 0, "MOVED %d 127.0.0.1:%d", fake_slot(scope), fake_port(f, 0));
    add_is(e, scope, USHER_UNAVAILABLE);
    assert_in_range(fake_seen(f, 0, "EVALSHA"), 3, budget_slow() ? 60 : 20);
    usher_close(e);
    fake_stop(f);
}

TEST(two_nodes_that_redirect_to_each_other_get_few_requests)
{
    static const char *const words[] = { "MOVED", "ASK" };

    const int64_t wait = budget_slow() ? 2000 : 500; /* includes the time to connect */

    for (int i = 0; i < 2; i++) {
        struct fake *f = cluster_of(2);
        struct usher_engine *e = engine_on(f, wait);
        char scope[SCOPE_MAX];
        int64_t from;

        scope_at(0, 2, 0, scope);
        fake_error(f, 0, "EVALSHA", 0, "%s %d 127.0.0.1:%d", words[i], fake_slot(scope),
                   fake_port(f, 1));
        fake_error(f, 1, "EVALSHA", 0, "MOVED %d 127.0.0.1:%d", fake_slot(scope), fake_port(f, 0));
        from = clock_ms();
        add_is(e, scope, USHER_UNAVAILABLE);
        assert_true(clock_ms() - from <= wait + OVER);
        assert_in_range(fake_seen(f, FAKE_ALL, "EVALSHA"), 6, budget_slow() ? 60 : 26);
        usher_close(e);
        /* until they agree */
        fake_clear(f, FAKE_ALL);
        e = engine_on(f, LONG);
        fake_error(f, 0, "EVALSHA", 4, "MOVED %d 127.0.0.1:%d", fake_slot(scope), fake_port(f, 1));
        assert_int_equal(add(e, scope), 0);
        usher_close(e);
        fake_stop(f);
    }
}

TEST(moved_to_a_node_that_is_down_requests_the_map)
{
    struct fake *f = cluster_of(3);
    struct usher_engine *e = engine_on(f, LONG);
    char scope[SCOPE_MAX];
    int64_t from = clock_ms();

    scope_at(0, 3, 0, scope);
    fake_migrated(f, fake_slot(scope), 1);
    fake_down(f, 2, true);
    fake_error(f, 0, "EVALSHA", 0, "MOVED %d 127.0.0.1:%d", fake_slot(scope), fake_port(f, 2));
    assert_int_equal(add(e, scope), 1);
    assert_true(clock_ms() - from < 2500);
    assert_true(fake_seen(f, 0, "EVALSHA") < 20);
    usher_close(e);
    fake_stop(f);
}

TEST(an_incomplete_redirect_is_ignored)
{
    static const char *const texts[] = {
        "MOVED",
        "MOVED 12",
        "MOVED 12 ",
        "MOVED 12 127.0.0.1",
        "MOVED 12 :",
        "MOVED 99999 a:1",
        "MOVED 12 127.0.0.1:",
        "MOVED 12 127.0.0.1:0",
        "MOVED -1 a:6379",
        "ASK 12 ?:6379",
        "ASK",
    };
    struct fake *f = cluster_of(2);
    struct usher_engine *e = engine_on(f, LONG);
    char scope[SCOPE_MAX];

    scope_at(0, 2, 0, scope);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        fake_error(f, 0, "EVALSHA", 1, "%s", texts[i]);
        assert_int_equal(add(e, scope), 0);
    }
    assert_int_equal(fake_seen(f, 1, "EVALSHA"), 0);
    assert_int_equal(fake_seen(f, 0, "EVALSHA"), 2 * (sizeof texts / sizeof *texts));
    usher_close(e);
    fake_stop(f);
}

/* ---- the map ---- */

/* From now on @node answers with a map with one master at @host. */
static void view_is(struct fake *f, int node, const char *range, const char *host, int of,
                    const char *id)
{
    char text[400];
    const struct fake_rule r = { .match = "CLUSTER SLOTS", .action = FAKE_REPLY, .text = text };

    (void)snprintf(text, sizeof text,
                   "*1\r\n*3\r\n%s*4\r\n%s:%d\r\n$40\r\n%s\r\n*2\r\n$8\r\nhostname\r\n"
                   "$9\r\nlocalhost\r\n",
                   range, host, fake_port(f, of), id);
    fake_rule(f, node, &r);
}

#define WHOLE ":0\r\n:16383\r\n"

TEST(all_forms_of_hosts_are_parsed)
{
    static const char *const in_views[] = { "$-1\r\n", "$0\r\n\r\n", "$9\r\nlocalhost\r\n",
                                            "$16\r\n::ffff:127.0.0.1\r\n" };
    static const char *const in_redirects[] = { "", "localhost", "::ffff:127.0.0.1",
                                                "[::ffff:127.0.0.1]" };

    for (size_t i = 0; i < 4; i++) {
        struct fake *f = cluster_of(2);
        struct usher_engine *e;

        fake_give(f, FAKE_ALL, 0, FAKE_SLOTS - 1, 1);
        view_is(f, 0, WHOLE, in_views[i], 1, fake_id(f, 1));
        e = engine_by(f, 0, LONG);
        assert_int_equal(add(e, "desk"), 1);
        assert_int_equal(fake_seen(f, 0, "EVALSHA"), 0);
        fake_give(f, FAKE_ALL, 0, FAKE_SLOTS - 1, 0);
        fake_error(f, 1, "EVALSHA", 1, "MOVED %d %s:%d", fake_slot("desk"), in_redirects[i],
                   fake_port(f, 0));
        assert_int_equal(add(e, "desk"), 0);
        assert_int_equal(fake_seen(f, 1, "EVALSHA"), 2);
        usher_close(e);
        fake_stop(f);
    }
}

TEST(an_impossible_map_is_rejected)
{
    static const char *const views[] = { "*0\r\n",
                                         "+OK\r\n",
                                         "*1\r\n:1\r\n",
                                         "*1\r\n*3\r\n:0\r\n:16384\r\n*2\r\n$-1\r\n:7000\r\n",
                                         "*1\r\n*3\r\n:9\r\n:3\r\n*2\r\n$-1\r\n:7000\r\n",
                                         "*1\r\n*3\r\n:-1\r\n:3\r\n*2\r\n$-1\r\n:7000\r\n" };

    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        struct fake *f = cluster_of(2);
        struct fake_rule r = { .match = "CLUSTER SLOTS", .action = FAKE_REPLY, .text = views[i] };
        struct usher_engine *e = NULL;
        char url[64], scope[SCOPE_MAX];

        fake_rule(f, 0, &r);
        (void)snprintf(url, sizeof url, "redis+cluster://127.0.0.1:%d?timeout=500",
                       fake_port(f, 0));
        assert_int_equal(usher_open(url, NULL, &e), USHER_UNAVAILABLE);
        e = engine_on(f, LONG); /* the map of the next node is requested */
        assert_int_equal(add(e, scope_at(0, 2, 0, scope)), 0);
        assert_int_equal(add(e, scope_at(1, 2, 0, scope)), 1);
        usher_close(e);
        fake_stop(f);
    }
}

TEST(a_slot_missing_in_the_map_is_requested_from_any_node)
{
    struct fake *f = cluster_of(2);
    struct usher_engine *e;
    char scope[SCOPE_MAX];

    view_is(f, 0, ":0\r\n:10\r\n", "$-1\r\n", 0, fake_id(f, 0));
    e = engine_by(f, 0, LONG);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(add(e, scope_at(0, 2, i, scope)), 0);
        assert_int_equal(add(e, scope_at(1, 2, i, scope)), 1);
    }
    usher_close(e);
    fake_stop(f);
}

TEST(another_cluster_at_an_old_address_gets_no_command)
{
    struct fake *f = cluster_of(3);
    struct usher_engine *e = engine_on(f, SHORT);
    const char *other = "00000000000000000000000000000000000000ab";
    const struct fake_rule id = { .match = "CLUSTER MYID",
                                  .action = FAKE_REPLY,
                                  .text = "$40\r\n00000000000000000000000000000000000000ab\r\n" };
    char scope[3][SCOPE_MAX], text[64];
    struct usher_result r;

    for (int i = 0; i < 3; i++)
        assert_int_equal(add(e, scope_at(i, 3, 0, scope[i])), i);
    (void)snprintf(text, sizeof text, "number add %s 1", scope[0]);
    /* another cluster, whose node has all slots */
    fake_give(f, 0, 0, FAKE_SLOTS - 1, 0);
    fake_rule(f, 0, &id);
    view_is(f, 0, WHOLE, "$-1\r\n", 0, other);
    fake_drop(f, 0);
    fake_forget(f, FAKE_ALL);
    for (int i = 0; i < 4; i++) {
        add_is(e, scope[0], USHER_UNAVAILABLE);
        assert_int_equal(add(e, scope[1]), 1);
        assert_int_equal(add(e, scope[2]), 2);
    }
    assert_int_equal(fake_seen(f, 0, "EVALSHA"), 0);
    /* the slots have a new owner */
    fake_give(f, 1, 0, FAKE_SLOTS / 3 + 1, 2);
    fake_give(f, 2, 0, FAKE_SLOTS / 3 + 1, 2);
    for (int64_t from = clock_ms(); done(e, text, &r) != USHER_OK; usher_result_done(&r))
        assert_true(clock_ms() - from < 2000);
    assert_true(r.epoch == FAKE_EPOCH(2));
    usher_result_done(&r);
    assert_int_equal(fake_seen(f, 0, "EVALSHA"), 0);
    usher_close(e);
    fake_stop(f);
}

TEST(moved_requests_the_map)
{
    struct fake *f = cluster_of(2);
    struct usher_engine *e = engine_on(f, LONG);
    char scope[SCOPE_MAX], other[SCOPE_MAX];
    unsigned maps;
    int64_t from;

    scope_at(1, 2, 0, other);
    for (int i = 0; i < 2; i++) { /* the second time soon after the first request */
        maps = fake_seen(f, FAKE_ALL, "CLUSTER SLOTS");
        scope_at(0, 2, i, scope);
        fake_migrated(f, fake_slot(scope), 1);
        from = clock_ms();
        assert_int_equal(add(e, scope), 1);
        while (fake_seen(f, FAKE_ALL, "CLUSTER SLOTS") == maps) {
            assert_int_equal(add(e, other), 1);
            assert_true(clock_ms() - from < 1500);
            (void)fake_wait_seen(f, FAKE_ALL, "CLUSTER SLOTS", maps + 1, 5);
        }
    }
    usher_close(e);
    fake_stop(f);
}

TEST(nodes_of_the_url_are_tried_when_all_known_are_gone)
{
    struct fake *f = cluster_of(5);
    struct usher_engine *e;

    fake_give(f, FAKE_ALL, 0, FAKE_SLOTS - 1, 1);
    fake_give(f, FAKE_ALL, 9000, FAKE_SLOTS - 1, 2);
    e = engine_by(f, 0, LONG);
    assert_in_range(add(e, "desk"), 1, 2);
    fake_give(f, FAKE_ALL, 0, FAKE_SLOTS - 1, 3);
    fake_give(f, FAKE_ALL, 9000, FAKE_SLOTS - 1, 4);
    fake_down(f, 1, true);
    fake_down(f, 2, true);
    assert_in_range(add(e, "desk"), 3, 4);
    assert_int_equal(fake_seen(f, 0, "EVALSHA"), 0);
    usher_close(e);
    fake_stop(f);
}

TEST(slots_of_a_loading_node_are_requested_from_others)
{
    /* at a command, and at the begin of a connection */
    for (int i = 0; i < 4; i++) {
        struct fake *f = cluster_of(3);
        struct usher_engine *e = engine_by(f, 1, LONG);
        char scope[SCOPE_MAX];
        int64_t from = clock_ms();

        scope_at(0, 3, 0, scope);
        if (i == 3)
            rule_of(f, 0, NULL, 0, FAKE_SILENT);
        else
            fake_error(f, 0, i == 1 ? "PING" : "EVALSHA", 0, "%s",
                       i == 2 ? "MASTERDOWN Link with MASTER is down"
                              : "LOADING Redis is loading the dataset in memory");
        fake_give(f, FAKE_ALL, 0, FAKE_SLOTS / 3, 1);
        assert_int_equal(add(e, scope), 1);
        assert_true(clock_ms() - from < 2500);
        assert_true(fake_seen(f, 0, "EVALSHA") < 30);
        usher_close(e);
        fake_stop(f);
    }
}

TEST(a_redirect_keeps_the_deadline)
{
    static const char *const words[] = { "ASK", "MOVED" };

    for (int i = 0; i < 4; i++) {
        struct fake *f = cluster_of(3);
        struct usher_engine *e = engine_on(f, 400);
        char scope[SCOPE_MAX];
        int64_t from;

        scope_at(0, 3, 0, scope);
        fake_error(f, 0, "EVALSHA", 0, "%s %d 127.0.0.1:%d", words[i % 2], fake_slot(scope),
                   fake_port(f, 1));
        if (i < 2)
            rule_of(f, 1, NULL, 0, FAKE_SILENT);
        else
            fake_down(f, 1, true);
        from = clock_ms();
        add_is(e, scope, USHER_UNAVAILABLE);
        assert_true(clock_ms() - from <= 400 + OVER);
        assert_int_equal(fake_seen(f, 1, "EVALSHA"), 0);
        usher_close(e);
        fake_stop(f);
    }
}

TEST(a_map_request_leaves_time_for_the_command)
{
    struct fake *f = cluster_of(2);
    struct usher_engine *e = engine_on(f, 1500);
    char scope[SCOPE_MAX], moved[SCOPE_MAX];

    scope_at(1, 2, 0, scope);
    assert_int_equal(add(e, scope), 1);
    /* a reason to request the map, and no node answers it */
    rule_of(f, FAKE_ALL, "CLUSTER SLOTS", 0, FAKE_SILENT);
    scope_at(0, 2, 0, moved);
    fake_migrated(f, fake_slot(moved), 1);
    assert_int_equal(add(e, moved), 1);
    assert_int_equal(add(e, scope), 1);
    assert_int_equal(add(e, scope), 1);
    assert_true(fake_seen(f, FAKE_ALL, "CLUSTER SLOTS") >= 2);
    usher_close(e);
    fake_stop(f);
}

struct storm {
    pthread_t thread;
    struct usher_engine *e;
    int64_t until_ms;
    int i;
    unsigned n;
};

static void *blow(void *payload)
{
    struct storm *s = payload;
    char scope[SCOPE_MAX], text[64];
    struct usher_result r;

    scope_at(s->i % 2, 2, s->i, scope);
    (void)snprintf(text, sizeof text, "number add %s 1", scope);
    while (clock_ms() < s->until_ms) {
        s->n += done(s->e, text, &r) == USHER_OK;
        usher_result_done(&r);
    }
    return NULL;
}

TEST(many_redirects_cause_few_map_requests)
{
    struct fake *f = cluster_of(2);
    struct usher_engine *e = engine_on(f, 1000);
    struct storm s[16];
    int64_t until = clock_ms() + 2300;
    unsigned n = 0;

    fake_forget(f, FAKE_ALL);
    for (int i = 0; i < 16; i++) {
        char scope[SCOPE_MAX], with[SCOPE_MAX + 2];
        struct fake_rule r = { .match = "EVALSHA", .with = with, .action = FAKE_ERROR };
        char text[64];

        /* the owner of each scope redirects it to the other node, which then has it */
        scope_at(i % 2, 2, i, scope);
        (void)snprintf(with, sizeof with, "{%s}", scope);
        (void)snprintf(text, sizeof text, "MOVED %d 127.0.0.1:%d", fake_slot(scope),
                       fake_port(f, 1 - i % 2));
        r.text = text;
        fake_rule(f, i % 2, &r);
        fake_give(f, 1 - i % 2, fake_slot(scope), fake_slot(scope), 1 - i % 2);
        fake_give(f, i % 2, fake_slot(scope), fake_slot(scope), i % 2);
        s[i] = (struct storm){ .e = e, .until_ms = until, .i = i };
        assert_int_equal(pthread_create(&s[i].thread, NULL, blow, &s[i]), 0);
    }
    for (int i = 0; i < 16; i++) {
        (void)pthread_join(s[i].thread, NULL);
        n += s[i].n;
    }
    assert_true(n > 16);
    assert_in_range(fake_seen(f, FAKE_ALL, "CLUSTER SLOTS"), 1, 3);
    usher_close(e);
    fake_stop(f);
}

/* ---- batches ---- */

TEST(a_redirect_in_a_pipeline_mixes_no_answers)
{
    struct fake *f = cluster_of(2);
    struct usher_engine *e = engine_on(f, LONG);
    struct many m = { .n = 0 };
    char scope[SCOPE_MAX];

    for (int i = 0; i < 6; i++) {
        scope_at(0, 2, i, scope);
        if (i == 2 || i == 4) {
            struct fake_rule r = { .match = "EVALSHA", .with = scope, .action = FAKE_ERROR };
            char text[64];

            (void)snprintf(text, sizeof text, "%s %d 127.0.0.1:%d", i == 2 ? "MOVED" : "ASK",
                           fake_slot(scope), fake_port(f, 1));
            r.text = text;
            fake_rule(f, 0, &r);
            if (i == 2)
                fake_give(f, FAKE_ALL, fake_slot(scope), fake_slot(scope), 1);
        }
        answers_are(f, i == 2 || i == 4, scope, 100 + (uint64_t)i);
        many_put(&m, "number add %s 1", scope);
    }
    many_do(&m, e);
    for (size_t i = 0; i < 6; i++) {
        many_is(&m, i, USHER_OK);
        assert_true(m.r[i].version == 100 + i);
        assert_true(m.r[i].epoch == FAKE_EPOCH(i == 2 || i == 4));
    }
    assert_int_equal(fake_seen(f, 0, "EVALSHA"), 6);
    assert_int_equal(fake_seen(f, 1, "EVALSHA"), 2);
    assert_int_equal(fake_seen(f, 1, "ASKING"), 1);
    many_done(&m);
    usher_close(e);
    fake_stop(f);
}

#ifndef POSTED /* when posted, one batch at a time is under way to a node */
TEST(a_pending_answer_outlives_a_change_of_the_map)
{
    struct fake *f = cluster_of(2);
    struct usher_engine *e = engine_on(f, LONG);
    struct caller c = { .m = { .n = 0 } };
    char scope[SCOPE_MAX], other[SCOPE_MAX];

    scope_at(0, 2, 0, scope);
    scope_at(0, 2, 1, other);
    answers_are(f, 1, other, 77);
    rule_of(f, 0, "EVALSHA", 1, FAKE_HOLD);
    many_put(&c.m, "number add %s 1", scope);
    caller_start(&c, e);
    assert_true(fake_wait_seen(f, 0, "EVALSHA", 1, LONG));
    /* all slots move, and another caller's redirect updates the map */
    fake_give(f, FAKE_ALL, 0, FAKE_SLOTS - 1, 1);
    assert_int_equal(add(e, other), 1);
    assert_int_equal(add(e, other), 1);
    assert_true(fake_seen(f, FAKE_ALL, "CLUSTER SLOTS") >= 2);
    fake_release(f, 0);
    (void)pthread_join(c.thread, NULL);
    many_is(&c.m, 0, USHER_OK);
    assert_true(c.m.r[0].epoch == FAKE_EPOCH(0) && c.m.r[0].version == 1);
    many_done(&c.m);
    usher_close(e);
    fake_stop(f);
}
#endif

TEST(nodes_may_answer_in_any_order)
{
    struct fake *f = cluster_of(3);
    struct usher_engine *e = engine_on(f, LONG);
    struct caller c = { .m = { .n = 0 } };
    char scope[SCOPE_MAX];

    for (int i = 0; i < 9; i++) {
        answers_are(f, i % 3, scope_at(i % 3, 3, i / 3, scope), 100 + (uint64_t)i);
        many_put(&c.m, "number add %s 1", scope);
    }
    rule_of(f, 0, "SCRIPT", 0, FAKE_PASS);
    fake_clear(f, 0);
    rule_of(f, 0, "EVALSHA", 1, FAKE_HOLD);
    caller_start(&c, e);
    for (int i = 0; i < 3; i++)
        assert_true(fake_wait_seen(f, i, "EVALSHA", 3, LONG)); /* before the first one answers */
    fake_release(f, 0);
    (void)pthread_join(c.thread, NULL);
    for (size_t i = 0; i < 9; i++) {
        many_is(&c.m, i, USHER_OK);
        assert_true(c.m.r[i].epoch == FAKE_EPOCH(i % 3));
        assert_true(c.m.r[i].version == (i % 3 == 0 ? i / 3 + 1 : 100 + i));
    }
    many_done(&c.m);
    usher_close(e);
    fake_stop(f);
}

TEST(two_of_three_nodes_answer_when_one_breaks)
{
    static const enum fake_action ends[] = { FAKE_CLOSE, FAKE_RESET };

    for (int i = 0; i < 2; i++) {
        struct fake *f = cluster_of(3);
        struct usher_engine *e = engine_on(f, LONG);
        struct many m = { .n = 0 };
        char scope[SCOPE_MAX];

        for (int k = 0; k < 3; k++)
            (void)add(e, scope_at(k, 3, 0, scope));
        fake_forget(f, FAKE_ALL);
        rule_of(f, 1, "EVALSHA", 1, ends[i]);
        for (int k = 0; k < 6; k++)
            many_put(&m, "number %s %s%s", k < 3 ? "add" : "call", scope_at(k % 3, 3, k / 3, scope),
                     k < 3 ? " 1" : "");
        many_do(&m, e);
        for (size_t k = 0; k < 6; k++)
            many_is(&m, k, k == 4 ? USHER_UNKNOWN : USHER_OK);
        assert_int_equal(fake_seen(f, 0, "EVALSHA"), 2);
        assert_int_equal(fake_seen(f, 2, "EVALSHA"), 2);
        /* the repeatable command was repeated, the other one not */
        assert_int_equal(fake_seen(f, 1, "EVALSHA"), 2 - i);
        many_done(&m);
        usher_close(e);
        fake_stop(f);
    }
}

/* Return false if the machine was too slow for a verdict. */
static bool one_node_is_silent(const char *word)
{
    struct fake *f = cluster_of(3);
    struct usher_engine *e = engine_by(f, 2, SHORT);
    struct many m = { .n = 0 };
    char scope[SCOPE_MAX];
    int64_t from;
    bool in_time;

    rule_of(f, 0, word, 0, FAKE_SILENT);
    /* a script that another node has is not loaded: a call carries its text */
    if (strcmp(word, "SCRIPT") == 0) {
        fake_error(f, 0, "EVALSHA", 0, "NOSCRIPT No matching script. Please use EVAL.");
        rule_of(f, 0, "EVAL", 0, FAKE_SILENT);
    }
    for (int k = 0; k < 3; k++)
        many_put(&m, "number add %s 1", scope_at(k, 3, 0, scope));
    from = clock_ms();
    many_do(&m, e);
    in_time = clock_ms() - from <= SHORT + OVER_AT_BEST;
    if (in_time) {
        if (strcmp(word, "SCRIPT") != 0 || m.r[0].status != USHER_UNKNOWN) /* EVAL was sent */
            many_is(&m, 0, strcmp(word, "EVALSHA") == 0 ? USHER_UNKNOWN : USHER_UNAVAILABLE);
        many_is(&m, 1, USHER_OK);
        many_is(&m, 2, USHER_OK);
    }
    many_done(&m);
    usher_close(e);
    fake_stop(f);
    return in_time;
}

TEST(a_silent_node_leaves_time_for_the_others)
{
    static const char *const words[] = { "PING", "CLUSTER MYID", "INFO", "SCRIPT", "EVALSHA" };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        unsigned tries = 1;

        while (!one_node_is_silent(words[i]))
            assert_true(tries++ < 20);
    }
}

#ifndef POSTED

static void ignore_notice(void *payload, const struct usher_notice *notice)
{
    (void)payload;
    (void)notice;
}

/* With a watcher a scope is in one batch at a time, but not until other nodes of the batch have
 * answered. */
TEST(an_answered_scope_is_released_before_other_nodes_answer)
{
    struct fake *f = cluster_of(3);
    struct usher_engine *e = engine_on(f, 4 * SHORT);
    struct usher_watcher *watcher;
    char scope[SCOPE_MAX], silent[SCOPE_MAX];
    struct caller c = { .m = { .n = 0 } };
    int64_t from = clock_ms();

    assert_int_equal(usher_watch(e, USHER_NUMBER, NULL, ignore_notice, NULL, &watcher), USHER_OK);
    rule_of(f, 2, "EVALSHA", 0, FAKE_SILENT);
    many_put(&c.m, "number add %s 1", scope_at(0, 3, 0, scope));
    many_put(&c.m, "number add %s 1", scope_at(2, 3, 0, silent));
    caller_start(&c, e);
    while (fake_seen(f, 0, "EVALSHA") == 0 || fake_seen(f, 2, "EVALSHA") == 0)
        assert_true(clock_ms() - from < 4 * SHORT);
    assert_int_equal(add(e, scope), 0);
    assert_true(clock_ms() - from < 2 * SHORT);
    (void)pthread_join(c.thread, NULL);
    many_is(&c.m, 0, USHER_OK);
    many_is(&c.m, 1, USHER_UNKNOWN);
    assert_true(clock_ms() - from >= 4 * SHORT - 100);
    many_done(&c.m);
    usher_unwatch(e, watcher);
    usher_close(e);
    fake_stop(f);
}

#endif

TEST(only_a_repeatable_command_is_sent_again)
{
    struct fake *f = cluster_of(2);
    struct usher_engine *e = engine_on(f, LONG);
    char scope[SCOPE_MAX], text[64];

    scope_at(0, 2, 0, scope);
    (void)snprintf(text, sizeof text, "number call %s", scope);
    rule_of(f, 0, "EVALSHA", 1, FAKE_CLOSE);
    must_be(e, text, USHER_UNKNOWN);
    assert_int_equal(fake_seen(f, 0, "EVALSHA"), 1);
    rule_of(f, 0, "EVALSHA", 1, FAKE_CLOSE);
    (void)snprintf(text, sizeof text, "number call %s req=r1", scope);
    assert_int_equal(must(e, text), 0);
    assert_int_equal(fake_seen(f, 0, "EVALSHA"), 3);
    /* it stays unknown if the slot has moved to a node that does not serve it */
    usher_close(e);
    e = engine_on(f, 2000);
    rule_of(f, 0, "EVALSHA", 1, FAKE_CLOSE);
    fake_migrated(f, fake_slot(scope), 1);
    fake_error(f, 1, "EVALSHA", 0, "CLUSTERDOWN The cluster is down");
    must_be(e, text, USHER_UNKNOWN);
    usher_close(e);
    fake_stop(f);
}

TEST(a_refused_command_is_not_executed_after_its_successor)
{
    static const enum fake_action behind[] = { FAKE_PASS, FAKE_CLOSE };

    for (int i = 0; i < 2; i++) {
        struct fake *f = cluster_of(2);
        struct usher_engine *e = engine_on(f, LONG);
        struct many m = { .n = 0 };
        char scope[SCOPE_MAX];

        scope_at(0, 2, 0, scope);
        (void)add(e, scope);
        for (int k = 0; k < BATCH_MAX; k++)
            many_put(&m, "number add %s %d", scope, k);
        /* the commands of one call are refused, and later ones are not */
        fake_error(f, 0, "EVALSHA", 1, "MOVED %d 127.0.0.1:%d", fake_slot(scope), fake_port(f, 1));
        rule_of(f, 0, "EVALSHA", 1, behind[i]);
        fake_give(f, i == 0 ? 1 : FAKE_ALL, fake_slot(scope), fake_slot(scope), 1);
        many_do(&m, e);
        for (size_t k = 0; k < 64; k++)
            many_is(&m, k, USHER_UNAVAILABLE);
        for (size_t k = 64; k < BATCH_MAX; k++)
            many_is(&m, k, USHER_OK);
        assert_int_equal(fake_seen(f, 0, "EVALSHA"), 3);
        assert_int_equal(fake_seen(f, 1, "EVALSHA"), (unsigned)i);
        many_done(&m);
        usher_close(e);
        fake_stop(f);
    }
}

/* ---- a master and its replicas ---- */

TEST(a_new_master_is_found_among_the_hosts)
{
    struct fake *f = cluster_of(3);
    struct usher_engine *e;
    char url[128];

    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d",
                   fake_port(f, 0), fake_port(f, 1), fake_port(f, 2));
    for (int i = 0; i < 3; i++)
        fake_give(f, i, 0, FAKE_SLOTS - 1, i); /* none of them redirects */
    fake_follow(f, 0, 1);
    fake_follow(f, 2, 1);
    e = engine_at(url, LONG);
    assert_int_equal(add(e, "desk"), 1);
    /* the third one is promoted: the old master is a replica now */
    fake_follow(f, 2, FAKE_NO_NODE);
    fake_follow(f, 1, 2);
    fake_follow(f, 0, 2);
    fake_error(f, 1, "EVALSHA", 0, "READONLY You can't write against a read only replica.");
    assert_int_equal(add(e, "desk"), 2);
    assert_int_equal(add(e, "desk"), 2);
    assert_int_equal(fake_seen(f, 0, "EVALSHA"), 0);
    assert_int_equal(fake_seen(f, 1, "EVALSHA"), 2);
    /* the first one is promoted, and the third is gone */
    fake_follow(f, 0, FAKE_NO_NODE);
    fake_down(f, 2, true);
    assert_int_equal(add(e, "desk"), 0);
    usher_close(e);
    fake_stop(f);
}

/* ---- posted commands ---- */

#ifdef POSTED

/* Run one iteration of a loop; store the duration of the longest call, in us. */
struct loop {
    struct usher_engine *e;
    struct usher_result r[BATCH_MAX];
    struct one one[BATCH_MAX];
    size_t n, there;
    int64_t longest_us;
};

static void loop_post(struct loop *l, const char *scope, int64_t timeout_ms)
{
    const struct usher_value v = USHER_T(USHER_FIELD_NUMBER, "1");
    const struct usher_command c = { USHER_NUMBER_ADD, USHER_TO_NUL, scope, &v, 1, &l->one[l->n] };
    int64_t from = clock_us();

    assert_true(l->n < BATCH_MAX);
    l->one[l->n].r = &l->r[l->n];
    atomic_init(&l->one[l->n].there, false);
    assert_int_equal(usher_post(l->e, &c, 1, timeout_ms), USHER_OK);
    l->longest_us = clock_us() - from > l->longest_us ? clock_us() - from : l->longest_us;
    l->n++;
}

static void loop_turn(struct loop *l)
{
    int64_t timeout_ms = usher_timeout(l->e), from;
    struct pollfd fd = { usher_fd(l->e), POLLIN, 0 };
    const struct usher_event *event;

    (void)poll(&fd, 1, timeout_ms == 0 ? 0 : 1);
    do {
        from = clock_us();
        event = usher_collect(l->e, 0);
        l->longest_us = clock_us() - from > l->longest_us ? clock_us() - from : l->longest_us;
        if (event != NULL)
            l->there += store_reply(event);
    } while (event != NULL);
}

/* Run the loop until @n answers have come; fail after LONG. */
static void loop_until(struct loop *l, size_t n)
{
    int64_t until = clock_ms() + LONG;

    while (l->there < n && clock_ms() < until)
        loop_turn(l);
    assert_int_equal(l->there, n);
}

static void loop_done(struct loop *l)
{
    for (size_t i = 0; i < l->n; i++)
        if (atomic_load(&l->one[i].there))
            usher_result_done(&l->r[i]);
    l->n = l->there = 0;
}

/* The loop connects to the silent node, requests its slots and reads a log, and is not blocked. */
TEST(a_silent_node_delays_only_its_own_scopes)
{
    const int64_t wait = budget_slow() ? 4000 : 2000;

    for (int i = 0; i < 3; i++) {
        struct fake *f = cluster_of(3);
        struct loop l = { .e = engine_on(f, LONG) };
        char mine[SCOPE_MAX], scope[SCOPE_MAX];
        struct usher_watcher *watcher;
        int64_t from;

        scope_at(2, 3, 0, mine);
        if (i == 0)
            assert_int_equal(add(l.e, mine), 2); /* it is connected */
        if (i < 2)
            rule_of(f, 2, NULL, 0, FAKE_SILENT);
        else
            fake_down(f, 2, true);
        from = clock_ms();
        if (i == 0) { /* the command is sent, and the log is read after it */
            loop_post(&l, mine, wait);
            loop_turn(&l);
        }
        assert_int_equal(usher_watch_events(l.e, USHER_NUMBER, mine,
                                            USHER_WATCH_SINCE | USHER_WATCH_ALL, 0, NULL, &watcher),
                         USHER_OK);
        loop_turn(&l);
        if (i > 0) {
            from = clock_ms();
            loop_post(&l, mine, wait);
            loop_turn(&l);
        }
        for (int k = 0; k < 20; k++) {
            loop_post(&l, scope_at(k % 2, 3, k, scope), LONG);
            loop_turn(&l);
        }
        loop_until(&l, 20);
        assert_true(clock_ms() - from < wait);
        assert_false(atomic_load(&l.one[0].there));
        for (size_t k = 1; k <= 20; k++)
            assert_int_equal(l.r[k].status, USHER_OK);
        loop_until(&l, 21);
        assert_true(l.r[0].status == USHER_UNAVAILABLE ||
                    (i == 0 && l.r[0].status == USHER_UNKNOWN));
        assert_in_range(clock_ms() - from, wait - 100, wait + OVER);
        print_message("longest %" PRId64 " us\n", l.longest_us);
        /* a call that waited would take until then; the bound allows for a loaded machine */
        assert_in_range(l.longest_us, 0, wait * 1000 / 3);
        loop_done(&l);
        usher_close(l.e);
        fake_stop(f);
    }
}

/* A room of node @node whose entry in the index is on node 2 of three. */
static const char *room_with_entry(int node, char name[SCOPE_MAX])
{
    for (int i = 0;; i++) {
        char part[USHER__ROOM_PARTITION];
        struct usher_text text;

        scope_at(node, 3, i, name);
        text = (struct usher_text){ name, (uint32_t)strlen(name) };
        usher__room_partition(&text, part);
        if (fake_slot(part) >= 2 * FAKE_SLOTS / 3)
            return name;
    }
}

/* A scope of node @node that is not @name. */
static const char *scope_not(int node, const char *name)
{
    static char scope[SCOPE_MAX];

    for (int i = 0; strcmp(scope_at(node, 3, i, scope), name) == 0; i++)
        ;
    return scope;
}

/* Add a number by a blocking call, with less time than the posted commands have. */
static void add_by_call(struct usher_engine *e, const char *scope)
{
    const struct usher_value v = USHER_T(USHER_FIELD_NUMBER, "1");
    const struct usher_command c = { USHER_NUMBER_ADD, USHER_TO_NUL, scope, &v, 1, NULL };
    struct usher_reply *reply;

    (void)usher_execute(e, &c, 1, LONG, &reply);
    if (reply->status != USHER_OK)
        fail_msg("%s: %s (%s)", scope, usher_status_word(reply->status), reply->message);
    usher_reply_done(reply);
}

/* The silent node has the scope of a log that is read, and the directory entry of a room that is on
 * another node. */
TEST(a_silent_node_delays_no_log_or_room_of_another_node)
{
    struct fake *f = cluster_of(3);
    struct loop l = { .e = engine_on(f, LONG) };
    char scope[SCOPE_MAX], room[SCOPE_MAX];
    const struct usher_command open = {
        USHER_ROOM_OPEN, USHER_TO_NUL, room_with_entry(0, room), NULL, 0, &l.one[0]
    };
    struct usher_watcher *mine, *others;
    unsigned asked;

    rule_of(f, 2, NULL, 0, FAKE_SILENT);
    (void)add(l.e, scope_at(0, 3, 0, scope));
    assert_int_equal(usher_watch_events(l.e, USHER_NUMBER, scope_at(2, 3, 0, scope),
                                        USHER_WATCH_SINCE, 0, NULL, &mine),
                     USHER_OK);
    l.one[0].r = &l.r[0];
    l.n = 1;
    assert_int_equal(usher_post(l.e, &open, 1, LONG), USHER_OK);
    loop_turn(&l);
    for (int i = 0, k = 0; k < 4; i++) {
        if (strcmp(scope_at(0, 3, i, scope), room) == 0)
            continue; /* a scope of the same name waits for the room */
        loop_post(&l, scope, LONG);
        loop_turn(&l);
        k++;
    }
    loop_until(&l, 4);
    assert_false(atomic_load(&l.one[0].there));
    asked = fake_seen(f, 0, "EVALSHA");
    assert_int_equal(
        usher_watch_events(l.e, USHER_NUMBER, scope, USHER_WATCH_SINCE, 0, NULL, &others),
        USHER_OK);
    for (int64_t until = clock_ms() + LONG / 2;
         fake_seen(f, 0, "EVALSHA") == asked && clock_ms() < until;)
        loop_turn(&l);
    assert_true(fake_seen(f, 0, "EVALSHA") > asked);
    assert_false(atomic_load(&l.one[0].there));
    loop_done(&l);
    usher_close(l.e);
    fake_stop(f);
}

/* With a watcher a posted batch has its scopes to itself.  A call waits for such a batch only if it
 * has a slot of the call: here a command, a log that is read, and a room whose entry is on the
 * silent node. */
TEST(a_call_does_not_wait_for_a_node_it_does_not_need)
{
    for (int i = 0; i < 3; i++) {
        struct fake *f = cluster_of(3);
        struct loop l = { .e = engine_on(f, LONG) };
        char mine[SCOPE_MAX], room[SCOPE_MAX];
        const struct usher_command open = {
            USHER_ROOM_OPEN, USHER_TO_NUL, room_with_entry(0, room), NULL, 0, &l.one[0]
        };
        struct usher_watcher *watcher;

        scope_at(2, 3, 0, mine);
        add_by_call(l.e, mine);
        add_by_call(l.e, scope_not(0, room));
        assert_int_equal(usher_watch_events(l.e, USHER_NUMBER, i == 1 ? mine : NULL,
                                            i == 1 ? USHER_WATCH_SINCE | USHER_WATCH_ALL : 0, 0,
                                            NULL, &watcher),
                         USHER_OK);
        rule_of(f, 2, NULL, 0, FAKE_SILENT);
        l.one[0].r = &l.r[0];
        l.n = 1;
        if (i == 2)
            assert_int_equal(usher_post(l.e, &open, 1, 10 * LONG), USHER_OK);
        if (i == 0) {
            l.n = 0;
            loop_post(&l, mine, 10 * LONG);
        }
        loop_turn(&l);
        for (int k = 0; k < 5; k++)
            add_by_call(l.e, scope_not(0, room));
        assert_false(atomic_load(&l.one[0].there));
        loop_done(&l);
        usher_close(l.e);
        fake_stop(f);
    }
}

/* The caller is the only thread that could complete it. */
TEST(a_call_completes_a_posted_command_of_its_slot)
{
    struct fake *f = cluster_of(3);
    struct loop l = { .e = engine_on(f, LONG) };
    char posted[SCOPE_MAX], called[SCOPE_MAX];
    struct usher_watcher *watcher;

    scope_at(0, 3, 0, posted);
    for (int i = 0; i == 0 || fake_slot(called) != fake_slot(posted); i++)
        (void)snprintf(called, sizeof called, "t%d", i);
    add_by_call(l.e, posted);
    assert_int_equal(usher_watch_events(l.e, USHER_NUMBER, NULL, 0, 0, NULL, &watcher), USHER_OK);
    for (int i = 0; i < 5; i++) {
        loop_post(&l, posted, LONG);
        loop_turn(&l);
        add_by_call(l.e, called);
    }
    loop_until(&l, 5);
    loop_done(&l);
    usher_close(l.e);
    fake_stop(f);
}

/* All slots move to another node: later commands of a scope wait for earlier ones. */
TEST(a_scope_that_moves_keeps_its_order)
{
    struct fake *f = cluster_of(3);
    struct loop l = { .e = engine_on(f, LONG) };
    char scope[SCOPE_MAX], other[SCOPE_MAX], with[SCOPE_MAX + 2];
    struct fake_rule held = { .match = "EVALSHA", .with = with, .times = 1, .action = FAKE_HOLD };
    unsigned seen;

    scope_at(0, 3, 0, scope);
    scope_at(2, 3, 0, other);
    (void)snprintf(with, sizeof with, "{%s}", scope);
    fake_rule(f, 0, &held);
    loop_post(&l, scope, LONG);
    while (fake_seen(f, 0, "EVALSHA") == 0)
        loop_turn(&l);
    fake_give(f, FAKE_ALL, 0, FAKE_SLOTS - 1, 1);
    loop_post(&l, other, LONG); /* its node redirects it */
    loop_until(&l, 1);
    loop_post(&l, other, LONG); /* by now the map is current */
    loop_until(&l, 2);
    assert_int_equal(l.r[2].epoch, FAKE_EPOCH(1));
    seen = fake_seen(f, FAKE_ALL, "EVALSHA");
    loop_post(&l, scope, LONG);
    for (int i = 0; i < 20; i++)
        loop_turn(&l);
    assert_int_equal(fake_seen(f, FAKE_ALL, "EVALSHA"), seen);
    fake_release(f, 0);
    loop_until(&l, 4);
    assert_int_equal(l.r[0].epoch, FAKE_EPOCH(0));
    assert_int_equal(l.r[3].epoch, FAKE_EPOCH(1));
    assert_int_equal(l.r[0].status, USHER_OK);
    assert_int_equal(l.r[3].status, USHER_OK);
    /* now the scope is on node 1, where one batch is under way at a time */
    scope_at(1, 3, 0, other);
    (void)snprintf(with, sizeof with, "{%s}", other);
    fake_rule(f, 1, &held);
    loop_post(&l, other, LONG);
    seen = fake_seen(f, 1, "EVALSHA");
    while (fake_seen(f, 1, "EVALSHA") == seen)
        loop_turn(&l);
    loop_post(&l, scope, LONG);
    for (int i = 0; i < 20; i++)
        loop_turn(&l);
    assert_int_equal(fake_seen(f, FAKE_ALL, "EVALSHA"), seen + 3); /* and two of node 0, 2 */
    fake_release(f, 1);
    loop_until(&l, 6);
    loop_done(&l);
    usher_close(l.e);
    fake_stop(f);
}

/* A scope of node 1 in the same ordering slot as @scope, after which it is posted: both are in one
 * batch, for two nodes. */
static void scope_beside(const char *scope, char name[SCOPE_MAX])
{
    uint64_t home = XXH3_64bits(scope, strlen(scope)) % USHER__POST_HOMES;

    for (int i = 0;; i++) {
        (void)snprintf(name, SCOPE_MAX, "t%d", i);
        if (XXH3_64bits(name, strlen(name)) % USHER__POST_HOMES == home &&
            fake_slot(name) >= FAKE_SLOTS / 3 + 1 && fake_slot(name) < 2 * (FAKE_SLOTS / 3))
            return;
    }
}

/* Close, also in a child of fork(), which leaves the parent's batches alone: a batch on two nodes,
 * a batch redirected to a third one, and one that waits for its slots. */
TEST(close_abandons_batches_under_way)
{
    for (int i = 0; i < 6; i++) {
        struct fake *f = cluster_of(3);
        struct loop l = { .e = engine_on(f, LONG) };
        char scope[SCOPE_MAX], other[SCOPE_MAX];
        bool forks = i >= 3;
        int how = -1;

        scope_at(0, 3, 0, scope);
        scope_beside(scope, other);
        assert_int_equal(add(l.e, scope), 0);
        assert_int_equal(add(l.e, other), 1);
        if (i % 3 == 1)
            fake_give(f, FAKE_ALL, 0, FAKE_SLOTS - 1, 2);
        rule_of(f, i % 3 == 1 ? 2 : FAKE_ALL, i % 3 == 2 ? "CLUSTER SLOTS" : "EVALSHA", 0,
                FAKE_HOLD);
        if (i % 3 == 2)
            fake_error(f, 0, "EVALSHA", 1, "MOVED %d 127.0.0.1:%d", fake_slot(scope),
                       fake_port(f, 1));
        loop_post(&l, scope, LONG);
        loop_post(&l, other, LONG);
        for (int k = 0; k < 20; k++)
            loop_turn(&l);
        for (int k = 0; k < 2 && i % 3 == 0; k++)
            assert_int_equal(fake_seen(f, k, "EVALSHA"), 2); /* neither side waits for the other */
        if (forks) {
            pid_t child = fork();

            assert_true(child >= 0);
            if (child == 0) {
                usher_close(l.e);
                _exit(0);
            }
            assert_int_equal(waitpid(child, &how, 0), child);
            assert_int_equal(how, 0);
            fake_clear(f, FAKE_ALL);
            fake_release(f, FAKE_ALL);
            loop_until(&l, 2);
            assert_int_equal(l.r[0].status, USHER_OK);
            assert_int_equal(l.r[1].status, USHER_OK);
        }
        loop_done(&l);
        usher_close(l.e);
        fake_stop(f);
    }
}

#endif
