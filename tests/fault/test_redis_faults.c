/* SPDX-License-Identifier: MIT */
/*
 * The Redis store with faults of the connection, the server or the data.
 *
 * A proxy in front of a real server breaks one chosen command: its request or its
 * reply, at a chosen byte, or answers in the server's place.  A second engine reads the
 * server directly.  A twin in memory gets the acknowledged commands.  Each time:
 *
 *   answered:     the answer is the twin's; the state, by digest, is the twin's.
 *   repeatable:   a command with a request id, an owner or an idempotent verb is always answered.
 *   unknown:      only if the command was sent; it is applied wholly or not at all, once.
 *   unavailable:  nothing was applied.
 *   in time:      never later than the engine's timeout and a little.
 *   audit:        no fault.
 *
 * USHER_LONG=1 cuts at every byte; else at some.  Seeded by USHER_SEED.
 */
#include "lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/socket.h>
#include <sys/wait.h>

#include <hiredis/hiredis.h>

#include <usher/store/store.h>

#include "engine/engine.h"
#include "lib/net_cut.h"
#include "lib/calls.h"
#include "lib/left_out.h"
#include "lib/command_line.h"
#include "lib/proxy.h"
#include "lib/servers.h"
#include "lib/util.h"
#include "model/compare.h"

#define TIMEOUT 400   /* ms, of an engine whose calls time out */
#define PATIENT 20000 /* ms, of an engine whose calls do not */
#define SLACK 5000    /* ms that a loaded machine may add to a deadline */
#define T0 INT64_C(1700000000000)
/* A part of each call of the script that its loading does not have: the script contains EVALSHA. */
#define CALL "EVALSHA\r\n$40\r\n"

static struct redis_server *server;
static struct proxy *proxy;
static uint64_t seed;

/* ---- small things ------------------------------------------------------------------------ */

static struct usher_engine *open_at(int port, int64_t timeout_ms)
{
    struct usher_options options = USHER_OPTIONS_INIT;
    struct usher_engine *e = NULL;
    char url[64];

    options.timeout_ms = timeout_ms;
    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d?clock=given", port);
    if (usher_open(url, &options, &e) != USHER_OK)
        fail_msg("%s", usher_message());
    return e;
}

/* Make a connection of @e and load the script, so that its next request is a call. */
static void warm(struct usher_engine *e)
{
    int64_t until = clock_ms() + PATIENT;

    /* TIMEOUT may be too short for a loaded machine */
    while (!USHER_IS_DONE(ask_number_add(e, "other", "n", NULL)))
        if (clock_ms() > until)
            fail_msg("%s", usher_message());
}

static struct usher_engine *open_direct(void)
{
    return open_at(redis_server_port(server), PATIENT);
}

static struct usher_engine *open_twin(void)
{
    struct usher_engine *e = NULL;

    assert_int_equal(usher_open("memory:", NULL, &e), USHER_OK);
    return e;
}

static void no_fault(void)
{
    struct proxy_fault f = { .kind = PROXY_NO_FAULT };

    proxy_arm(proxy, &f);
}

static void arm(enum proxy_fault_kind kind, const char *match, unsigned times, const char *reply)
{
    struct proxy_fault f = { .kind = kind, .match = match, .times = times, .reply = reply };

    proxy_arm(proxy, &f);
}

static int setup(void **state)
{
    (void)state;
    no_fault();
    proxy_set_target(proxy, redis_server_port(server));
    proxy_set_drip(proxy, 0);
    proxy_set_blackhole(proxy, false);
    proxy_set_paused(proxy, false);
    proxy_set_refuse(proxy, false);
    proxy_drop(proxy);
    /* a test may have closed the connection to the server */
    (void)redis_do_ok(server, "PING", NULL);
    return redis_do_ok(server, "CONFIG", "SET", "maxmemory", "0", NULL) &&
                   redis_do_ok(server, "CONFIG", "SET", "min-replicas-to-write", "0", NULL) &&
                   redis_do_ok(server, "FLUSHALL", NULL)
               ? 0
               : -1;
}

TEST_EACH(setup, NULL);

static enum usher_noun noun_of(const struct usher_operation *c)
{
    return (enum usher_noun)(c->verb >> 8);
}

/* Store the digest of the scope of @c, whose name ends with a NUL here. */
static void digest_at(struct usher_engine *e, const struct usher_operation *c, char digest[33])
{
    if (usher_digest(e, noun_of(c), c->scope.data, digest) != USHER_OK)
        fail_msg("%s", usher_message());
}

static void digest_of(struct usher_engine *e, const char *pool, char digest[33])
{
    struct usher_operation c = { .verb = USHER_NUMBER_STATS, .scope = { pool, strlen(pool) } };

    digest_at(e, &c, digest);
}

static void assert_is_a_line(const char *message)
{
    assert_string_not_equal(message, "");
    for (const char *m = message; *m != '\0'; m++)
        if ((unsigned char)*m < 0x20 || *m == 0x7f)
            fail_msg("a control character is in: %s", message);
}

static enum usher_status run(struct usher_engine *e, const struct usher_operation *c,
                             struct usher_result *reply)
{
    enum usher_status status = usher_operate(e, c, reply, 1);

    assert_true(status != USHER_INVALID);
    return reply->status;
}

/* Digest the pool at the time of the world, when no hold has ended. */
static struct usher_number_result_statistics stats_of(struct usher_engine *e)
{
    struct usher_operation c;
    struct usher_result reply;

    memset(&c, 0, sizeof c);
    c.verb = USHER_NUMBER_STATS;
    c.scope.data = "p";
    c.scope.size = 1;
    c.given = USHER_GIVEN_NOW;
    c.now_ms = T0 + 20;
    assert_int_equal(run(e, &c, &reply), USHER_OK);
    return reply.of.number.of.stats;
}

static struct usher_number_result_row row_of(struct usher_engine *e, const char *pool,
                                             const char *number)
{
    struct usher_result reply;
    struct usher_number_result_row row;
    enum usher_status status = ask_number_show(e, pool, number, &reply);

    if (status != USHER_OK)
        fail_msg("show %s: %s", number, usher_message());
    row = reply.of.number.rows[0];
    usher_result_done(&reply);
    row.number.data = row.owner.data = row.group.data = NULL; /* gone with the reply */
    return row;
}

/* ---- a world and one command on it --------------------------------------------------------- */

#define TEXT(string)              \
    {                             \
        string, sizeof string - 1 \
    }
#define LINE(verb_, ms, bits, ...)                                                           \
    {                                                                                        \
        .verb = USHER_NUMBER_##verb_, .scope = TEXT("p"), .given = USHER_GIVEN_NOW | (bits), \
        .now_ms = T0 + (ms), __VA_ARGS__                                                     \
    }
#define ARGS(...) .arg = { .number = { __VA_ARGS__ } }
#define REQ(id) .request = TEXT(id)
#define N(id) .number = TEXT(id)

/* n1 in group g, n2, n3 in h, n4: up; n5: down.  n3 is held by ann with token 11; n4's hold has
 * ended when the next command comes, and its rest has not. */
static const struct usher_operation world[] = {
    LINE(SET, 0, USHER_GIVEN_REST, ARGS(.rest_ms = 20)),
    LINE(ADD, 0, 0, ARGS(N("n1"), .group = TEXT("g"))),
    LINE(ADD, 0, 0, ARGS(N("n2"))),
    LINE(ADD, 0, 0, ARGS(N("n3"), .group = TEXT("h"))),
    LINE(ADD, 0, 0, ARGS(N("n4"))),
    LINE(ADD, 0, 0, ARGS(N("n5"))),
    LINE(REG, 0, 0, ARGS(N("n1"))),
    LINE(REG, 0, 0, ARGS(N("n2"))),
    LINE(REG, 0, 0, ARGS(N("n3"))),
    LINE(REG, 0, 0, ARGS(N("n4"))),
    LINE(CALL, 0, USHER_GIVEN_LEASE, ARGS(N("n3"), .owner = TEXT("ann"), .lease_ms = 100000)),
    LINE(CALL, 5, USHER_GIVEN_LEASE, ARGS(N("n4"), .owner = TEXT("zoe"), .lease_ms = 10)),
};
#define WORLD (sizeof world / sizeof *world)

/* Every verb of numbers, in repeatable and other forms. */
static const struct usher_operation targets[] = {
    LINE(ADD, 20, 0, ARGS(N("n6"))),
    LINE(ADD, 20, 0, ARGS(N("n6"), .group = TEXT("g")), REQ("r")),
    LINE(ADD, 20, 0, ARGS(N("n1"))),
    LINE(DEL, 20, 0, ARGS(N("n1"))),
    LINE(DEL, 20, 0, ARGS(N("n3")), REQ("r")),
    LINE(REG, 20, 0, ARGS(N("n5"))),
    LINE(REG, 20, 0, ARGS(N("nowhere"))),
    LINE(UNREG, 20, 0, ARGS(N("n2"))),
    LINE(UNREG, 20, 0, ARGS(N("n3")), REQ("r")),
    LINE(CALL, 20, 0, ARGS(.max = 0)),
    LINE(CALL, 20, 0, ARGS(.owner = TEXT("bob"))),
    LINE(CALL, 20, 0, ARGS(.owner = TEXT("ann"))),
    LINE(CALL, 20, 0, ARGS(.max = 0), REQ("r")),
    LINE(CALL, 20, 0, ARGS(N("n2"))),
    LINE(CALL, 20, 0, ARGS(N("n3"))),
    LINE(CALL, 20, 0, ARGS(.group = TEXT("h")), REQ("r")), /* empty */
    LINE(CALL, 20, USHER_GIVEN_LEASE,
         ARGS(.owner = TEXT("carl"), .group = TEXT("h,g,*"), .sticky = TEXT("peer"),
              .lease_ms = 500)),
    LINE(HANGUP, 20, 0, ARGS(N("n3"))),
    LINE(HANGUP, 20, USHER_GIVEN_TOKEN, ARGS(N("n3"), .token = 11)),
    LINE(HANGUP, 20, USHER_GIVEN_TOKEN, ARGS(N("n3"), .token = 10)),
    LINE(HANGUP, 20, USHER_GIVEN_TOKEN | USHER_GIVEN_REST, ARGS(N("n3"), .token = 11, .rest_ms = 7),
         REQ("r")),
    LINE(RENEW, 20, USHER_GIVEN_TOKEN, ARGS(N("n3"), .token = 11)),
    LINE(RENEW, 20, USHER_GIVEN_TOKEN | USHER_GIVEN_LEASE,
         ARGS(N("n3"), .token = 11, .lease_ms = 5000), REQ("r")),
    /* a lost hold is taken back */
    LINE(RENEW, 20, USHER_GIVEN_TOKEN | USHER_GIVEN_LEASE,
         ARGS(N("n2"), .token = UINT64_C(1) << 52, .owner = TEXT("bob"), .node = TEXT("m1"),
              .lease_ms = 5000)),
    LINE(RENEW, 20, USHER_GIVEN_TOKEN,
         ARGS(N("n5"), .token = UINT64_C(1) << 52, .owner = TEXT("bob"), .node = TEXT("m1")),
         REQ("r")),
    LINE(CALL, 20, USHER_GIVEN_LEASE,
         ARGS(.owner = TEXT("dora"), .node = TEXT("m1"), .lease_ms = 500)),
    LINE(RENEW, 20, USHER_GIVEN_LEASE, ARGS(.node = TEXT("m1"), .lease_ms = 700)),
    LINE(LIST, 20, 0, ARGS(.node = TEXT("m1"))),
    LINE(FREE, 20, 0, ARGS(.node = TEXT("m1")), REQ("f")),
    LINE(FREE, 20, USHER_GIVEN_ALL, ARGS(.all = 1)),
    LINE(LIFT, 20, 0, ARGS(N("n3"))),
    LINE(FREE, 20, 0, ARGS(.owner = TEXT("ann")), REQ("r")),
    LINE(SHOW, 20, 0, ARGS(N("n4"))),
    LINE(LIST, 20, 0, ARGS(.max = 0)),
    LINE(STATS, 20, 0, ARGS(.max = 0)),
    LINE(SET, 20, USHER_GIVEN_ORDER | USHER_GIVEN_DAILY, ARGS(.order = 2, .daily = 9)),
    LINE(SET, 20, USHER_GIVEN_STRICT, ARGS(.strict = 1), REQ("r")),
    LINE(SWEEP, 20, 0, ARGS(.max = 0)),
    LINE(SWEEP, 40, 0, ARGS(.max = 0), REQ("r")),
    LINE(DROP, 20, 0, ARGS(.max = 0)),
    LINE(DROP, 20, USHER_GIVEN_IF_VERSION, ARGS(.if_version = 7)),
};
#define TARGETS (sizeof targets / sizeof *targets)

/* The same for the other nouns.  A line begins with its time. */
#define WORLD_LINES 32 /* at most */
static const char *const queue_world[] = {
    "0 queue set desk ttl=0 wrapup=10",
    "0 queue login desk ann capacity=2", /* 2.1 and 2.2 */
    "0 queue login desk bob lanes=x",    /* 3.1 */
    "0 queue apply desk a",              /* 2.1, token 5 */
    "0 queue apply desk b",
    "0 queue apply desk c",
    "0 queue apply desk d lane=x",
    "5 queue finish desk 3.1", /* its wrap-up is over when the next command comes */
    "5 queue set desk offer=100",
    "5 queue login desk cid lanes=y",
    "5 queue apply desk e lane=y", /* offered to cid */
    "5 queue apply desk f lane=z",
    "0 queue set pull trigger=pull ttl=15",
    "0 queue login pull gone", /* is seated when the next command comes */
    "0 queue apply pull lost",
    "10 queue login pull ann capacity=2",
    "10 queue login pull bob",
    "10 queue apply pull a",
    "10 queue apply pull b priority=1",
    "10 queue apply pull c",
};
static const char *const room_world[] = {
    "0 room open lounge ttl=15 grace=50 capacity=5",
    "0 room join lounge ann name=Ann",
    "0 room join lounge bob",
    "0 room join lounge cid", /* offline when the next command comes */
    "0 room role lounge chair ann",
    "0 room share lounge bob s1 page=1",
    "0 room set lounge topic x",
    "10 room alive lounge ann",
    "10 room alive lounge bob",
};
static const char *const serial_world[] = {
    "0 serial rule order prefix=A width=4 critical=2 batch=5 max=50",
    "0 serial fill order 6",
    "0 serial take order n=2",
    "0 serial rule bill prefix=B width=4 mode=gapfree",
    "0 serial reserve bill owner=x lease=10",   /* free when the next command comes */
    "0 serial reserve bill owner=y lease=1000", /* B0002, token 3 */
    "0 serial reserve bill owner=z lease=1000",
    "0 serial return bill B0003 token=4",
};
static const char *const id_world[] = {
    "0 id create ids step=10", "0 id next ids n=5", /* token 2 */
};
static const char *const others[] = {
    "20 queue set desk ttl=5000",
    "20 queue set desk strategy=level offer=0 req=r",
    "20 queue set pull trigger=auto",
    "20 queue set desk",
    "20 queue login desk dan",
    "20 queue login desk dan lanes=z req=r",
    "20 queue login desk ann",
    "20 queue login desk ann capacity=3",
    "20 queue logout desk ann",
    "20 queue logout desk ann req=r",
    "20 queue logout desk absent",
    "20 queue pause desk ann",
    "20 queue pause desk bob req=r",
    "20 queue ready desk bob",
    "20 queue alive desk agent=ann",
    "20 queue alive desk user=c",
    "20 queue alive pull user=a",
    "20 queue room desk ann",
    "20 queue apply desk g",
    "20 queue apply desk g lane=x priority=3 req=r",
    "20 queue apply desk a",
    "20 queue where desk c",
    "20 queue where desk absent",
    "20 queue leave desk a",
    "20 queue leave desk c req=r",
    "20 queue finish desk 2.1",
    "20 queue finish desk 2.1 user=a req=r",
    "20 queue finish desk 2.1 token=5",
    "20 queue finish desk 2.1 token=4",
    "20 queue accept desk cid e",
    "20 queue accept desk cid e req=r",
    "20 queue reject desk cid e",
    "20 queue reject desk cid e req=r",
    "20 queue pull pull ann",
    "20 queue pull pull ann req=r",
    "20 queue pull desk ann",
    "20 queue match pull",
    "20 queue match pull req=r",
    "20 queue sweep pull",
    "20 queue sweep pull req=r",
    "20 queue list desk",
    "20 queue list desk state=seated",
    "20 queue agents desk",
    "20 queue stats desk",
    "20 queue history desk",
    "20 queue move desk f lane=default priority=2",
    "20 queue move desk f lane=x req=r",
    "20 queue drop desk",
    "20 queue free desk ann",
    "20 queue free desk cid req=r",
    "20 room open lounge capacity=6",
    "20 room open hall req=r",
    "20 room close lounge",
    "20 room lock lounge",
    "20 room unlock lounge",
    "20 room set lounge topic y",
    "20 room set lounge topic y other=z if=x req=r",
    "20 room set lounge topic y if=z",
    "20 room unset lounge topic",
    "20 room get lounge",
    "20 room get lounge field=topic",
    "20 room join lounge dan",
    "20 room join lounge dan name=Dan req=r",
    "20 room join lounge ann",
    "20 room leave lounge ann",
    "20 room leave lounge bob req=r",
    "20 room kick lounge bob",
    "20 room kick lounge bob ban=1000 req=r",
    "20 room alive lounge cid",
    "20 room member lounge ann mood sad",
    "20 room member lounge ann mood sad req=r",
    "20 room all lounge hand up",
    "20 room role lounge chair bob",
    "20 room role lounge chair '' if=ann req=r",
    "20 room share lounge ann s2 page=2",
    "20 room unshare lounge s1",
    "20 room show lounge",
    "20 room snapshot lounge",
    "20 room changes lounge since=3",
    "20 room sweep lounge",
    "20 room sweep lounge ttl=5 req=r",
    "20 serial rule order batch=7",
    "20 serial rule new prefix=N req=r",
    "20 serial fill order 3",
    "20 serial fill order 3 req=r",
    "20 serial take order",
    "20 serial take order n=3 req=r",
    "20 serial check order",
    "20 serial tick order",
    "20 serial tick order req=r",
    "20 serial setmax order 5",
    "20 serial setmax order 5 req=r",
    "20 serial setmaxcur order 30",
    "20 serial parse order A0003",
    "20 serial reserve bill",
    "20 serial reserve bill req=r",
    "20 serial reserve bill owner=y",
    "20 serial renew bill B0002 token=3 req=r",
    "20 serial confirm bill B0002 token=3",
    "20 serial return bill B0002 token=3",
    "20 serial void bill B0002 token=3 req=r",
    "20 serial confirm bill B0002 token=9",
    "20 serial show order",
    "20 serial delete order",
    "20 serial holds bill",
    "20 serial sweep bill",
    "20 serial sweep bill req=r",
    "20 id create new start=7",
    "20 id create ids",
    "20 id next ids",
    "20 id next ids n=20 req=r",
    "20 id show ids",
    "20 id set ids step=20",
    "20 id set ids next=1000 req=r",
    "20 id delete ids",
    "20 id return ids 4 2 token=2",
    "20 id return ids 4 2 token=2 req=r",
};
#define OTHERS (sizeof others / sizeof *others)
#define ALL (TARGETS + OTHERS)

static struct line other_lines[OTHERS];

/* Numbers come first. */
static const struct usher_operation *target_at(size_t i)
{
    return i < TARGETS ? &targets[i] : &other_lines[i - TARGETS].c;
}

/* "20 queue …" */
static void timed_line(struct line *l, const char *text)
{
    line_read(l, strchr(text, ' ') + 1);
    l->c.given |= USHER_GIVEN_NOW;
    l->c.now_ms = T0 + atoi(text);
}

/* The twin's answers to a target, and its states. */
struct expected {
    struct usher_result first, second; /* the second: repeated at once */
    char before[33], after[33], again[33];
};

static void make_world(struct usher_engine *e)
{
    struct usher_result replies[WORLD];

    assert_int_equal(usher_operate(e, world, replies, WORLD), USHER_OK);
    for (size_t i = 0; i < WORLD; i++)
        assert_int_equal(replies[i].status, USHER_OK);
    assert_true(replies[WORLD - 2].of.number.token == 11);
}

static void make_lines(struct usher_engine *e, const char *const *lines, size_t n)
{
    struct line l[WORLD_LINES];
    struct usher_operation commands[WORLD_LINES];
    struct usher_result replies[WORLD_LINES];

    assert_true(n <= WORLD_LINES);
    for (size_t i = 0; i < n; i++) {
        timed_line(&l[i], lines[i]);
        commands[i] = l[i].c;
    }
    assert_int_equal(usher_operate(e, commands, replies, n), USHER_OK);
    for (size_t i = 0; i < n; i++) {
        if (replies[i].status != USHER_OK)
            fail_msg("%s: %s", lines[i], usher_status_word(replies[i].status));
        usher_result_done(&replies[i]);
        line_done(&l[i]);
    }
}

static void make_world_of(struct usher_engine *e, enum usher_noun noun)
{
    switch (noun) {
    case USHER_QUEUE:
        make_lines(e, queue_world, sizeof queue_world / sizeof *queue_world);
        break;
    case USHER_ROOM:
        make_lines(e, room_world, sizeof room_world / sizeof *room_world);
        break;
    case USHER_SERIAL:
        make_lines(e, serial_world, sizeof serial_world / sizeof *serial_world);
        break;
    case USHER_ID:
        make_lines(e, id_world, sizeof id_world / sizeof *id_world);
        break;
    default:
        make_world(e);
        break;
    }
}

static struct expected expect(const struct usher_operation *c)
{
    struct usher_engine *twin = open_twin();
    struct expected x;

    make_world_of(twin, noun_of(c));
    digest_at(twin, c, x.before);
    (void)run(twin, c, &x.first);
    digest_at(twin, c, x.after);
    (void)run(twin, c, &x.second);
    digest_at(twin, c, x.again);
    usher_close(twin);
    return x;
}

static void expected_done(struct expected *x)
{
    usher_result_done(&x->first);
    usher_result_done(&x->second);
}

/* Return whether the answers are equal, except that one may be cached.  Print differences to @f,
 * unless NULL. */
static bool same_answer(const struct usher_operation *c, const struct usher_result *a,
                        const struct usher_result *b, FILE *f)
{
    struct usher_result copy = *a;
    char *x, *y;
    bool same;

    copy.repeated = b->repeated;
    if (noun_of(c) == USHER_NUMBER)
        return replies_equal(c->verb, &copy, b, f);
    if (noun_of(c) == USHER_QUEUE)
        return replies_equal(c->verb, &copy, b, f);
    x = line_answer(c, a);
    y = line_answer(c, b);
    same = a->version == b->version && strcmp(x, y) == 0;
    if (!same && f != NULL)
        (void)fprintf(f, "version %" PRIu64 " %sversion %" PRIu64 " %s", a->version, x, b->version,
                      y);
    free(x);
    free(y);
    return same;
}

enum ran { RAN, DID_NOT_RUN };

/* Execute command @c by @e with the armed fault, in a fresh world; then check the store by @direct.
 * @ran: whether the server executed the first request. */
static void one_case(struct usher_engine *e, struct usher_engine *direct, size_t target,
                     const struct expected *x, enum ran ran, const char *what, size_t at)
{
    const struct usher_operation *c = target_at(target);
    struct usher_result reply;
    char now[33];
    const char *fault = NULL;

    (void)run(e, c, &reply);
    digest_at(direct, c, now);
    if (proxy_fired(proxy) != 1)
        fault = "the fault did not hit";
    else if (reply.status == USHER_UNKNOWN) {
        if (((usher_operation_flags(c) & USHER_OPERATION_REPEATABLE) != 0))
            fault = "a repeatable command is unknown";
        else if (strcmp(now, ran == RAN ? x->after : x->before) != 0)
            fault = "the state is not that of applied once or not at all";
        else if (reply.message[0] == '\0')
            fault = "no message";
    } else if (!same_answer(c, &x->first, &reply, NULL) &&
               !(((usher_operation_flags(c) & USHER_OPERATION_REPEATABLE) != 0) &&
                 same_answer(c, &x->second, &reply, NULL))) {
        fault = "another answer";
    } else if (strcmp(now, x->after) != 0) {
        fault = "the state is not the twin's";
    }
    if (fault != NULL) {
        (void)same_answer(c, &x->first, &reply, stderr);
        fail_msg("target %zu (%s), %s at byte %zu: %s: %s %s", target, usher_verb_word(c->verb),
                 what, at, fault, usher_status_word(reply.status), reply.message);
    }
    usher_result_done(&reply);
    audit(direct);
}

static void fresh_world(struct usher_engine *direct)
{
    no_fault();
    assert_true(redis_do_ok(server, "FLUSHALL", NULL));
    make_world(direct);
}

static void fresh_world_of(struct usher_engine *direct, const struct usher_operation *c)
{
    no_fault();
    assert_true(redis_do_ok(server, "FLUSHALL", NULL));
    make_world_of(direct, noun_of(c));
}

static uint64_t connections(void)
{
    struct proxy_counts counts;

    proxy_count(proxy, &counts);
    return counts.connections;
}

static uint64_t requests(void)
{
    struct proxy_counts counts;

    proxy_count(proxy, &counts);
    return counts.requests;
}

TEST(answers_equal_those_of_the_twin_without_faults)
{
    struct usher_engine *direct = open_direct(), *e = open_at(proxy_port(proxy), PATIENT);

    for (size_t i = 0; i < ALL; i++) {
        struct expected x = expect(target_at(i));
        struct usher_result reply;
        char now[33];

        fresh_world_of(direct, target_at(i));
        digest_at(direct, target_at(i), now);
        assert_string_equal(now, x.before);
        (void)run(e, target_at(i), &reply);
        if (!same_answer(target_at(i), &x.first, &reply, stderr))
            fail_msg("target %zu", i);
        usher_result_done(&reply);
        digest_at(direct, target_at(i), now);
        assert_string_equal(now, x.after);
        if ((usher_operation_flags(target_at(i)) & USHER_OPERATION_REPEATABLE) != 0 &&
            strcmp(x.after, x.again) != 0)
            fail_msg("target %zu (%s) does more when it is repeated", i,
                     usher_verb_word(target_at(i)->verb));
        expected_done(&x);
    }
    usher_close(e);
    usher_close(direct);
}

TEST(a_lost_answer_is_requested_again_or_unknown)
{
    struct usher_engine *direct = open_direct(), *e = open_at(proxy_port(proxy), PATIENT);

    for (size_t i = 0; i < ALL; i++) {
        struct expected x = expect(target_at(i));

        fresh_world_of(direct, target_at(i));
        arm(PROXY_SWALLOW_REPLY, CALL, 1, NULL);
        one_case(e, direct, i, &x, RAN, "swallowed", 0);
        expected_done(&x);
    }
    usher_close(e);
    usher_close(direct);
}

TEST(a_lost_request_is_sent_again_or_unknown)
{
    struct usher_engine *direct = open_direct(), *e = open_at(proxy_port(proxy), PATIENT);

    for (size_t i = 0; i < ALL; i++) {
        struct expected x = expect(target_at(i));

        fresh_world_of(direct, target_at(i));
        arm(PROXY_DROP_REQUEST, CALL, 1, NULL);
        one_case(e, direct, i, &x, DID_NOT_RUN, "dropped", 0);
        expected_done(&x);
    }
    usher_close(e);
    usher_close(direct);
}

TEST(a_connection_lost_before_a_request_is_replaced)
{
    struct usher_engine *direct = open_direct(), *e = open_at(proxy_port(proxy), PATIENT);

    for (size_t i = 0; i < ALL; i++) {
        struct expected x = expect(target_at(i));
        struct usher_result reply;
        char now[33];

        fresh_world_of(direct, target_at(i));
        proxy_drop(proxy);
        (void)run(e, target_at(i), &reply);
        if (!same_answer(target_at(i), &x.first, &reply, stderr))
            fail_msg("target %zu: %s %s", i, usher_status_word(reply.status), reply.message);
        usher_result_done(&reply);
        digest_at(direct, target_at(i), now);
        assert_string_equal(now, x.after);
        expected_done(&x);
    }
    /* audit and digest are commands, too */
    {
        char a[33], b[33];

        proxy_drop(proxy);
        digest_of(e, "p", a);
        proxy_drop(proxy);
        audit(e);
        digest_of(direct, "p", b);
        assert_string_equal(a, b);
    }
    usher_close(e);
    usher_close(direct);
}

/* Commands of more than one call need another connection for the next call anyway, so a cut after
 * the answer to the first one, which is short, is not noticed. */
#define SHORT_ANSWER 1000

static bool has_more_calls(const struct usher_operation *c)
{
    return c->verb == USHER_ROOM_OPEN || c->verb == USHER_ROOM_CLOSE;
}

TEST(any_reply_may_be_cut_at_any_byte)
{
    struct usher_engine *direct = open_direct(), *e = open_at(proxy_port(proxy), PATIENT);
    size_t step = budget_long() ? 1 : 47, cases = 0;
    uint64_t random = seed;

    for (size_t i = 0; i < ALL; i++) {
        struct expected x = expect(target_at(i));
        bool whole = false;

        for (size_t k = next_random(&random) % step; !whole; k += step, cases++) {
            struct proxy_fault f = { .kind = PROXY_CUT_REPLY, .match = CALL, .bytes = k };
            uint64_t before;

            assert_true(k < 10000);
            fresh_world_of(direct, target_at(i));
            before = connections();
            proxy_arm(proxy, &f);
            one_case(e, direct, i, &x, RAN, "reply cut", k);
            whole = connections() == before || (k == 0 && !budget_long() && before == 0) ||
                    (k >= SHORT_ANSWER && has_more_calls(target_at(i)));
            /* After the last byte of the last target no connection is left. */
            if (whole || connections() == before + 1)
                continue;
        }
        /* make a connection for the next one */
        no_fault();
        warm(e);
        expected_done(&x);
    }
    print_message("%zu cases\n", cases);
    usher_close(e);
    usher_close(direct);
}

TEST(any_request_may_be_cut_at_any_byte)
{
    struct usher_engine *direct = open_direct(), *e = open_at(proxy_port(proxy), PATIENT);
    size_t step = budget_long() ? 1 : 89, cases = 0;
    uint64_t random = seed + 1;

    for (size_t i = 0; i < ALL; i++) {
        struct expected x = expect(target_at(i));
        bool whole = false;

        for (size_t k = next_random(&random) % step; !whole; k += step, cases++) {
            struct proxy_fault f = { .kind = PROXY_CUT_REQUEST, .match = CALL, .bytes = k };
            struct proxy_fault all = { .kind = PROXY_CUT_REQUEST,
                                       .match = CALL,
                                       .bytes = SIZE_MAX };
            uint64_t before, cut, uncut;

            /* Count the requests that pass with a cut, and without. */
            assert_true(k < 10000);
            no_fault();
            warm(e);
            fresh_world_of(direct, target_at(i));
            before = requests();
            proxy_arm(proxy, &f);
            {
                struct usher_result reply;

                (void)run(e, target_at(i), &reply);
                usher_result_done(&reply);
                assert_int_equal(proxy_fired(proxy), 1);
            }
            cut = requests() - before;
            no_fault();
            warm(e);
            fresh_world_of(direct, target_at(i));
            before = requests();
            proxy_arm(proxy, &all);
            one_case(e, direct, i, &x, RAN, "request passed", k);
            uncut = requests() - before;
            whole = cut == uncut;
            no_fault();
            warm(e);
            fresh_world_of(direct, target_at(i));
            proxy_arm(proxy, &f);
            one_case(e, direct, i, &x, whole ? RAN : DID_NOT_RUN, "request cut", k);
        }
        expected_done(&x);
    }
    print_message("%zu cases\n", cases);
    usher_close(e);
    usher_close(direct);
}

/* Every answer is lost until the deadline; then the user repeats the command. */
TEST(a_repeat_by_the_user_gets_the_first_answer)
{
    struct usher_engine *direct = open_direct(), *e = open_at(proxy_port(proxy), TIMEOUT);
    struct usher_operation c = LINE(CALL, 20, 0, ARGS(.max = 0), REQ("mine"));
    struct usher_operation owned = LINE(CALL, 20, 0, ARGS(.owner = TEXT("bob")));
    struct usher_result first, second, third;
    char before[33], after[33];

    fresh_world(direct);
    digest_of(direct, "p", before);
    arm(PROXY_SWALLOW_REPLY, CALL, 1000000, NULL);
    assert_int_equal(run(e, &c, &first), USHER_UNKNOWN);
    assert_is_a_line(first.message);
    assert_true(proxy_fired(proxy) > 1); /* the library repeats the command itself */
    no_fault();
    digest_of(direct, "p", after);
    assert_string_not_equal(before, after);
    assert_int_equal(run(e, &c, &second), USHER_OK);
    assert_true(second.repeated);
    assert_int_equal(run(e, &c, &third), USHER_OK);
    assert_true(third.repeated);
    assert_true(replies_equal(c.verb, &second, &third, stderr));
    digest_of(direct, "p", before);
    assert_string_equal(before, after);
    assert_int_equal(stats_of(direct).busy_up, 2); /* ann's and this one */

    arm(PROXY_SWALLOW_REPLY, CALL, 1000000, NULL);
    assert_int_equal(run(e, &owned, &first), USHER_UNKNOWN);
    no_fault();
    assert_int_equal(run(e, &owned, &second), USHER_SAME);
    assert_int_equal(stats_of(direct).busy_up, 3);
    audit(direct);
    usher_close(e);
    usher_close(direct);
}

/* ---- many commands at once --------------------------------------------------------------------
 */

#define BATCH 300 /* in several calls of the script: one has 64 commands at most */

/* Commands that each make a change and can be repeated in any order. */
static void make_batch(struct usher_operation *commands, char names[BATCH][16], char ids[BATCH][16],
                       bool with_ids)
{
    for (size_t i = 0; i < BATCH; i++) {
        struct usher_operation *c = &commands[i];

        memset(c, 0, sizeof *c);
        (void)snprintf(names[i], sizeof names[i], "m%zu", i / 4);
        (void)snprintf(ids[i], sizeof ids[i], "id%zu", i);
        c->verb = i % 4 == 0   ? USHER_NUMBER_ADD
                  : i % 4 == 1 ? USHER_NUMBER_REG
                  : i % 4 == 2 ? USHER_NUMBER_CALL
                               : USHER_NUMBER_HANGUP;
        c->scope.data = "p";
        c->scope.size = 1;
        c->given = USHER_GIVEN_NOW;
        c->now_ms = T0 + 100;
        c->arg.number.number.data = names[i];
        c->arg.number.number.size = strlen(names[i]);
        if (with_ids) {
            c->request.data = ids[i];
            c->request.size = strlen(ids[i]);
        }
    }
}

/* Calls of the script that the batch is sent in. */
static unsigned calls_of_a_batch(struct usher_engine *e, struct usher_engine *direct,
                                 const struct usher_operation *commands,
                                 struct usher_result *replies)
{
    uint64_t before;

    warm(e);
    fresh_world(direct);
    before = requests();
    assert_int_equal(usher_operate(e, commands, replies, BATCH), USHER_OK);
    assert_true(requests() - before > 1 && requests() - before <= BATCH);
    return (unsigned)(requests() - before);
}

TEST(a_batch_with_request_ids_survives_any_fault_at_any_place)
{
    static const enum proxy_fault_kind kinds[] = { PROXY_SWALLOW_REPLY, PROXY_CUT_REPLY,
                                                   PROXY_DROP_REQUEST, PROXY_CUT_REQUEST };
    static struct usher_operation commands[BATCH];
    static struct usher_result expected[BATCH], replies[BATCH];
    static char names[BATCH][16], ids[BATCH][16];
    struct usher_engine *direct = open_direct(), *twin = open_twin(),
                        *e = open_at(proxy_port(proxy), PATIENT);
    uint64_t random = seed + 2;
    char wanted[33], now[33];
    unsigned calls;

    make_batch(commands, names, ids, true);
    calls = calls_of_a_batch(e, direct, commands, replies);
    make_world(twin);
    assert_int_equal(usher_operate(twin, commands, expected, BATCH), USHER_OK);
    digest_of(twin, "p", wanted);
    for (unsigned k = 0; k < 4; k++) {
        for (unsigned skip = 0; skip < calls; skip += budget_long() ? 1 : 1 + calls / 10) {
            size_t n = 0, tail = 0;
            struct proxy_fault f = {
                .kind = kinds[k], .match = CALL, .skip = skip, .bytes = next_random(&random) % 60
            };

            fresh_world(direct);
            proxy_arm(proxy, &f);
            (void)usher_operate(e, commands, replies, BATCH);
            assert_int_equal(proxy_fired(proxy), 1);
            /* Up to the first unknown one, answers are those of the twin. */
            while (n < BATCH && replies[n].status != USHER_UNKNOWN) {
                if (!same_answer(&commands[n], &expected[n], &replies[n], stderr))
                    fail_msg("fault %u at call %u: command %zu differs", k, skip, n);
                n++;
            }
            assert_true(n >= skip);
            while (tail < BATCH && replies[BATCH - 1 - tail].status == USHER_UNKNOWN)
                tail++;
            /* The user repeats the commands, with the same request ids. */
            assert_int_equal(usher_operate(e, commands, replies, BATCH), USHER_OK);
            for (size_t i = 0; i < BATCH; i++)
                assert_int_equal(replies[i].status, USHER_OK);
            /* if no command after the unknown ones was applied, the order is kept */
            if (n + tail == BATCH) {
                for (size_t i = 0; i < BATCH; i++)
                    if (!same_answer(&commands[i], &expected[i], &replies[i], stderr))
                        fail_msg("fault %u at call %u: repeated, command %zu differs", k, skip, i);
                digest_of(direct, "p", now);
                assert_string_equal(now, wanted);
            }
            audit(direct);
        }
    }
    usher_close(e);
    usher_close(twin);
    usher_close(direct);
}

/* Return whether the commands, in their order and without the unavailable ones, have these answers.
 * No answer may be unknown. */
static void answers_are_explained(const struct usher_operation *commands,
                                  const struct usher_result *replies, size_t n,
                                  struct usher_engine *direct, const char *what, unsigned at)
{
    struct usher_engine *twin = open_twin();
    struct usher_result r;
    char wanted[33], now[33];

    make_world(twin);
    for (size_t i = 0; i < n; i++) {
        if (replies[i].status == USHER_UNAVAILABLE)
            continue;
        (void)run(twin, &commands[i], &r);
        if (!same_answer(&commands[i], &r, &replies[i], stderr))
            fail_msg("%s at call %u: the answer to command %zu (%s: %s) does not follow from "
                     "those before",
                     what, at, i, usher_verb_word(commands[i].verb),
                     usher_status_word(replies[i].status));
        usher_result_done(&r);
    }
    digest_of(twin, "p", wanted);
    digest_of(direct, "p", now);
    if (strcmp(wanted, now) != 0)
        fail_msg("%s at call %u: another state", what, at);
    usher_close(twin);
}

TEST(a_refused_command_is_not_applied_after_its_successors)
{
    static const char *const answers[] = {
        "-NOSCRIPT No matching script.\r\n",
        "-BUSY Redis is busy running a script.\r\n",
        "-LOADING Redis is loading the dataset in memory\r\n",
        "-TRYAGAIN Multiple keys request during rehashing of slot\r\n",
        "-OOM command not allowed when used memory > 'maxmemory'.\r\n",
    };
    static struct usher_operation commands[BATCH];
    static struct usher_result replies[BATCH];
    static char names[BATCH][16], ids[BATCH][16];
    struct usher_engine *direct = open_direct(), *e = open_at(proxy_port(proxy), PATIENT);
    unsigned calls;

    make_batch(commands, names, ids, false);
    calls = calls_of_a_batch(e, direct, commands, replies);
    for (size_t k = 0; k < sizeof answers / sizeof *answers; k++) {
        for (unsigned skip = 0; skip < calls; skip += budget_long() ? 1 : 1 + calls / 5) {
            struct proxy_fault f = {
                .kind = PROXY_ANSWER, .match = CALL, .skip = skip, .times = 1, .reply = answers[k]
            };

            fresh_world(direct);
            proxy_arm(proxy, &f);
            (void)usher_operate(e, commands, replies, BATCH);
            assert_int_equal(proxy_fired(proxy), 1);
            answers_are_explained(commands, replies, BATCH, direct, answers[k], skip);
            audit(direct);
        }
    }
    usher_close(e);
    usher_close(direct);
}

/* Both commands are applied and both answers are lost: repeating the first alone would do harm. */
TEST(lost_answers_in_a_pipeline_keep_its_order)
{
    static const struct usher_operation pairs[][2] = {
        { LINE(REG, 100, 0, ARGS(N("n1"))), LINE(UNREG, 100, 0, ARGS(N("n1")), REQ("r")) },
        { LINE(ADD, 100, 0, ARGS(N("n1"))), LINE(DEL, 100, 0, ARGS(N("n1")), REQ("r")) },
        { LINE(CALL, 100, 0, ARGS(.owner = TEXT("bob"))),
          LINE(FREE, 100, 0, ARGS(.owner = TEXT("bob")), REQ("r")) },
        { LINE(CALL, 100, 0, ARGS(.owner = TEXT("bob"), .group = TEXT("g"))),
          LINE(HANGUP, 100, 0, ARGS(N("n1")), REQ("r")) },
        { LINE(DEL, 100, 0, ARGS(N("n9"))), LINE(ADD, 100, 0, ARGS(N("n9")), REQ("r")) },
        { LINE(SET, 100, USHER_GIVEN_REST, ARGS(.rest_ms = 20)),
          LINE(SET, 100, USHER_GIVEN_REST, ARGS(.rest_ms = 30), REQ("r")) },
        /* refused, and not cached: repeated, it would end the later call */
        { LINE(HANGUP, 100, 0, ARGS(N("n1")), REQ("q")),
          LINE(CALL, 100, 0, ARGS(N("n1")), REQ("r")) },
    };
    struct usher_engine *direct = open_direct(), *e = open_at(proxy_port(proxy), PATIENT);

    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
        struct usher_result replies[2];
        struct usher_engine *twin = open_twin();
        char wanted[33], now[33];

        make_world(twin);
        (void)usher_operate(twin, pairs[k], replies, 2);
        digest_of(twin, "p", wanted);
        usher_close(twin);
        fresh_world(direct);
        arm(PROXY_SWALLOW_REPLY, CALL, 1, NULL);
        (void)usher_operate(e, pairs[k], replies, 2);
        assert_int_equal(proxy_fired(proxy), 1);
        digest_of(direct, "p", now);
        /* both were applied, in order, before the answers were lost */
        if (strcmp(now, wanted) != 0)
            fail_msg("pair %zu (%s: %s, %s: %s): the state is not that after both", k,
                     usher_verb_word(pairs[k][0].verb), usher_status_word(replies[0].status),
                     usher_verb_word(pairs[k][1].verb), usher_status_word(replies[1].status));
    }
    usher_close(e);
    usher_close(direct);
}

TEST(a_bulk_command_continues_when_answers_are_lost)
{
    enum { MANY = 300 };
    static const enum usher_verb verbs[] = { USHER_NUMBER_ADD, USHER_NUMBER_REG, USHER_NUMBER_UNREG,
                                             USHER_NUMBER_DEL };
    static char names[MANY][16];
    const char *numbers[MANY];
    struct usher_engine *e = open_at(proxy_port(proxy), PATIENT);
    uint64_t random = seed + 3;

    for (size_t i = 0; i < MANY; i++) {
        (void)snprintf(names[i], sizeof names[i], "b%zu", i);
        numbers[i] = names[i];
    }
    assert_int_equal(ask_number_add(e, "bulk", "first", NULL), USHER_OK);
    for (size_t v = 0; v < 4; v++) {
        struct ask_number_bulk_counts counts;
        struct proxy_fault f = { .kind = v % 2 == 0 ? PROXY_SWALLOW_REPLY : PROXY_CUT_REQUEST,
                                 .match = CALL,
                                 .skip = (unsigned)(next_random(&random) % 3),
                                 .times = 3,
                                 .bytes = 30 };

        proxy_arm(proxy, &f);
        if (ask_number_bulk(e, verbs[v], "bulk", numbers, MANY, NULL, &counts) != USHER_OK)
            fail_msg("%s: %s", usher_verb_word(verbs[v]), usher_message());
        assert_true(proxy_fired(proxy) >= 1);
        assert_true(counts.ok + counts.same == MANY && counts.other == 0);
    }
    no_fault();
    audit(e);
    usher_close(e);
}

/* Return the number of keys of the scope @name. */
static size_t keys_of(const char *name)
{
    char pattern[64];
    redisReply *reply;
    size_t n;

    (void)snprintf(pattern, sizeof pattern, "{%s}*", name);
    reply = redis_do(server, "KEYS", pattern, NULL);
    assert_non_null(reply);
    n = reply->elements;
    freeReplyObject(reply);
    return n;
}

/* Execute @text @many times, with a number for its %u. */
static void make_many(struct usher_engine *e, const char *text, unsigned many)
{
    const char *at = strstr(text, "%u");

    for (unsigned i = 0; i < many; i++) {
        char one[64];
        struct line l;
        struct usher_result reply;

        (void)snprintf(one, sizeof one, "%.*s%u", (int)(at - text), text, i);
        line_read(&l, one);
        assert_int_equal(usher_operate(e, &l.c, &reply, 1), USHER_OK);
        assert_int_equal(reply.status, USHER_OK);
        usher_result_done(&reply);
        line_done(&l);
    }
}

/* The answer of each step is lost in turn: the scope is dropped all the same. */
TEST(a_drop_continues_when_answers_are_lost)
{
    static const struct {
        enum usher_noun noun;
        const char *name, *make;
        unsigned many;
        size_t left; /* keys: the last version of a pool or queue stays */
    } cases[] = {
        { USHER_NUMBER, "pool", "number add pool n%u", 1500, 1 },
        { USHER_ROOM, "hall", "room join hall m%u", 150, 0 },
        { USHER_QUEUE, "desk", "queue login desk a%u", 600, 1 },
    };
    struct usher_engine *e = open_at(proxy_port(proxy), PATIENT), *direct = open_direct();

    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        unsigned fired = 1;

        for (unsigned skip = 0; fired == 1; skip++) {
            struct proxy_fault f = {
                .kind = PROXY_SWALLOW_REPLY, .match = CALL, .skip = skip, .times = 1
            };
            enum usher_status status;

            if (cases[k].noun == USHER_ROOM)
                assert_int_equal(ask_room_open(direct, cases[k].name, NULL), USHER_OK);
            make_many(direct, cases[k].make, cases[k].many);
            warm(e);
            proxy_arm(proxy, &f);
            status = usher_drop(e, cases[k].noun, cases[k].name, NULL);
            if (status == USHER_UNKNOWN && skip == 0) /* it may be another key by now */
                status = usher_drop(e, cases[k].noun, cases[k].name, NULL);
            if (!USHER_IS_DONE(status))
                fail_msg("%s, answer %u: %s", cases[k].name, skip, usher_message());
            fired = proxy_fired(proxy);
            no_fault();
            if (keys_of(cases[k].name) != cases[k].left)
                fail_msg("%s, answer %u: %zu keys are left", cases[k].name, skip,
                         keys_of(cases[k].name));
            assert_true(fired == 1 || skip > 2);
        }
    }
    audit(direct);
    usher_close(e);
    usher_close(direct);
}

TEST(a_batch_may_be_larger_than_all_buffers)
{
    enum { LARGE = 12000 };
    struct usher_operation *commands = calloc(LARGE, sizeof *commands);
    struct usher_result *replies = calloc(LARGE, sizeof *replies);
    char(*names)[USHER_NAME_MAX + 1] = calloc(LARGE, sizeof *names);
    struct usher_engine *e = open_at(proxy_port(proxy), PATIENT);
    struct usher_number_result_statistics stats;

    assert_true(commands != NULL && replies != NULL && names != NULL);
    for (size_t i = 0; i < LARGE; i++) {
        (void)snprintf(names[i], sizeof names[i], "%0250zu", i);
        commands[i].verb = USHER_NUMBER_ADD;
        commands[i].scope.data = "large";
        commands[i].scope.size = 5;
        commands[i].arg.number.number.data = names[i];
        commands[i].arg.number.number.size = 250;
        commands[i].arg.number.group.data = names[0];
        commands[i].arg.number.group.size = 250;
    }
    assert_int_equal(usher_operate(e, commands, replies, LARGE), USHER_OK);
    for (size_t i = 0; i < LARGE; i++)
        assert_int_equal(replies[i].status, USHER_OK);
    assert_int_equal(ask_number_stats(e, "large", &stats), USHER_OK);
    assert_int_equal(stats.total, LARGE);
    audit(e);
    usher_close(e);
    free(names);
    free(replies);
    free(commands);
}

/* ---- time -------------------------------------------------------------------------------------
 */

static void assert_in_time(int64_t began, int64_t timeout)
{
    int64_t took = clock_ms() - began;

    if (took > timeout + SLACK)
        fail_msg("it took %" PRId64 " ms of %" PRId64, took, timeout);
}

TEST(a_command_waits_for_slow_answers_until_the_deadline)
{
    struct usher_engine *e = open_at(proxy_port(proxy), TIMEOUT);
    struct usher_engine *patient = open_at(proxy_port(proxy), PATIENT);
    struct usher_operation call = LINE(CALL, 20, 0, ARGS(.max = 0));
    struct usher_result reply;
    struct usher_engine *direct = open_direct();
    int64_t began;

    fresh_world(direct);
    proxy_set_drip(proxy, 500); /* some 30 ms an answer */
    assert_int_equal(run(patient, &call, &reply), USHER_OK);
    assert_int_equal(run(e, &call, &reply), USHER_OK);
    proxy_set_drip(proxy, 100000); /* some 6 s */
    began = clock_ms();
    assert_int_equal(run(e, &call, &reply), USHER_UNKNOWN);
    assert_in_time(began, TIMEOUT);
    began = clock_ms();
    assert_int_equal(ask_number_add(e, "p", "n6", NULL), USHER_UNAVAILABLE); /* no connection */
    assert_in_time(began, TIMEOUT);
    proxy_set_drip(proxy, 0);
    assert_int_equal(ask_number_add(e, "p", "n6", NULL), USHER_OK);
    audit(e);
    usher_close(patient);
    usher_close(e);
    usher_close(direct);
}

/* Check commands on a server that cannot be reached. */
static void on_unreachable_server(struct usher_engine *e, struct usher_engine *direct, bool sent)
{
    struct usher_operation call = LINE(CALL, 20, 0, ARGS(.max = 0));
    struct usher_operation read = LINE(STATS, 20, 0, ARGS(.max = 0));
    struct usher_result reply;
    char before[33], after[33], none[33];
    uint64_t faults;
    int64_t began = clock_ms();

    digest_of(direct, "p", before);
    assert_int_equal(run(e, &call, &reply), sent ? USHER_UNKNOWN : USHER_UNAVAILABLE);
    assert_is_a_line(reply.message);
    assert_in_time(began, TIMEOUT);
    began = clock_ms();
    assert_true(run(e, &read, &reply) == USHER_UNAVAILABLE || reply.status == USHER_UNKNOWN);
    assert_is_a_line(reply.message);
    assert_in_time(began, TIMEOUT);
    began = clock_ms();
    assert_int_equal(usher_digest(e, USHER_NUMBER, "p", none), USHER_UNAVAILABLE);
    assert_in_time(began, TIMEOUT);
    began = clock_ms();
    assert_int_equal(check_faults(e, NULL, NULL, &faults), USHER_UNAVAILABLE);
    assert_is_a_line(usher_message());
    assert_in_time(began, TIMEOUT);
    digest_of(direct, "p", after);
    assert_string_equal(before, after);
}

TEST(a_call_to_a_black_hole_keeps_its_timeout)
{
    struct usher_engine *e = open_at(proxy_port(proxy), TIMEOUT), *direct = open_direct();

    fresh_world(direct);
    warm(e);
    proxy_set_blackhole(proxy, true);
    on_unreachable_server(e, direct, true);
    proxy_set_blackhole(proxy, false);
    assert_int_equal(ask_number_add(e, "p", "n6", NULL), USHER_OK);
    usher_close(e);
    usher_close(direct);
}

TEST(a_refused_connection_is_unavailable_in_time)
{
    struct usher_engine *e = open_at(proxy_port(proxy), TIMEOUT), *direct = open_direct();

    fresh_world(direct);
    proxy_set_refuse(proxy, true);
    proxy_drop(proxy);
    on_unreachable_server(e, direct, false);
    proxy_set_refuse(proxy, false);
    assert_int_equal(ask_number_add(e, "p", "n6", NULL), USHER_OK);
    /* a connection that is accepted and closed at once */
    proxy_set_target(proxy, 0);
    proxy_drop(proxy);
    on_unreachable_server(e, direct, false);
    proxy_set_target(proxy, redis_server_port(server));
    proxy_drop(proxy);
    assert_int_equal(ask_number_add(e, "p", "n7", NULL), USHER_OK);
    usher_close(e);
    usher_close(direct);
}

struct patient {
    struct usher_engine *e;
    int64_t timeout_ms;
    enum usher_status status;
    _Atomic bool over;
};

static void *add_patiently(void *payload)
{
    const struct usher_value v = USHER_T(USHER_FIELD_NUMBER, "n6");
    const struct usher_command c = { USHER_NUMBER_ADD, USHER_TO_NUL, "p", &v, 1, NULL };
    struct patient *t = payload;
    struct usher_reply *reply;

    (void)usher_execute(t->e, &c, 1, t->timeout_ms, &reply);
    t->status = reply->status;
    usher_reply_done(reply);
    atomic_store(&t->over, true);
    return NULL;
}

static unsigned leaders_of(struct usher_engine *e)
{
    unsigned n;

    (void)pthread_mutex_lock(&e->lanes->lock);
    n = e->lanes->leaders;
    (void)pthread_mutex_unlock(&e->lanes->lock);
    return n;
}

/* Two batches may be under way to the server at a time. */
TEST(a_call_keeps_its_timeout_while_the_server_is_silent)
{
    struct usher_engine *e = open_at(proxy_port(proxy), TIMEOUT);
    struct patient longer[2];
    pthread_t thread[2];

    warm(e);
    proxy_set_blackhole(proxy, true);
    for (int i = 0; i < 2; i++) {
        longer[i] = (struct patient){ .e = e, .timeout_ms = 20 * TIMEOUT };
        assert_int_equal(pthread_create(&thread[i], NULL, add_patiently, &longer[i]), 0);
    }
    while (leaders_of(e) < 2)
        (void)sched_yield();
    for (int i = 0; i < 3; i++) {
        struct patient brief = { .e = e, .timeout_ms = TIMEOUT / 4 };

        (void)add_patiently(&brief);
        assert_true(brief.status == USHER_UNAVAILABLE || brief.status == USHER_UNKNOWN);
        assert_false(atomic_load(&longer[0].over) || atomic_load(&longer[1].over));
    }
    proxy_set_blackhole(proxy, false);
    proxy_drop(proxy);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    usher_close(e);
}

TEST(a_batch_of_any_size_has_one_deadline)
{
    enum { LARGE = 6000 }; /* much more than the engine sends at once */
    struct usher_operation *commands = calloc(LARGE, sizeof *commands);
    struct usher_result *replies = calloc(LARGE, sizeof *replies);
    struct usher_engine *e = open_at(proxy_port(proxy), TIMEOUT);
    int64_t began;

    assert_true(commands != NULL && replies != NULL);
    for (size_t i = 0; i < LARGE; i++) {
        commands[i].verb = USHER_NUMBER_ADD;
        commands[i].scope.data = "p";
        commands[i].scope.size = 1;
        commands[i].arg.number.number.data = "n1";
        commands[i].arg.number.number.size = 2;
    }
    warm(e);
    proxy_set_blackhole(proxy, true);
    began = clock_ms();
    assert_int_equal(usher_operate(e, commands, replies, LARGE), USHER_UNKNOWN);
    assert_in_time(began, TIMEOUT);
    for (size_t i = 0; i < LARGE; i++)
        assert_true(replies[i].status == USHER_UNKNOWN || replies[i].status == USHER_UNAVAILABLE);
    proxy_set_blackhole(proxy, false);
    usher_close(e);
    free(replies);
    free(commands);
}

TEST(a_restarted_server_is_used_again)
{
    struct redis_server_options options = { .aof = REDIS_AOF_ALWAYS };
    struct redis_server *own = redis_server_start(&options);
    struct usher_engine *e, *direct;
    struct ask_number_hold hold;
    int64_t began;

    if (own == NULL)
        fail_msg("%s", redis_reason());
    e = open_at(redis_server_port(own), TIMEOUT);
    direct = open_at(redis_server_port(own), PATIENT);
    make_world(direct);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(redis_server_kill(own, SIGKILL), 0);
        began = clock_ms();
        assert_int_equal(ask_number_call(e, "p", NULL, NULL, &hold), USHER_UNAVAILABLE);
        assert_in_time(began, TIMEOUT);
        assert_is_a_line(usher_message());
        assert_true(redis_server_restart(own));
        assert_int_equal(ask_number_call(e, "p", "bob", NULL, &hold),
                         i == 0 ? USHER_OK : USHER_SAME);
        audit(direct);
    }
    /* stopped, not dead: it executes received requests later */
    assert_int_equal(redis_server_kill(own, SIGSTOP), 0);
    began = clock_ms();
    assert_int_equal(ask_number_free(e, "p", "bob", NULL, NULL), USHER_UNKNOWN);
    assert_in_time(began, TIMEOUT);
    assert_int_equal(redis_server_kill(own, SIGCONT), 0);
    assert_true(redis_do_ok(own, "PING", NULL)); /* after any delay */
    assert_int_equal(ask_number_call(e, "p", "bob", NULL, &hold), USHER_OK);
    audit(direct);
    usher_close(direct);
    usher_close(e);
    redis_server_stop(own);
}

/* ---- refusals of servers ------------------------------------------------------------------------
 */

static const char *const refusals[] = {
    "-LOADING Redis is loading the dataset in memory\r\n",
    "-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.\r\n",
    "-TRYAGAIN Multiple keys request during rehashing of slot\r\n",
    "-CLUSTERDOWN The cluster is down\r\n",
    "-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.\r\n",
    "-READONLY You can't write against a read only replica.\r\n",
    "-OOM command not allowed when used memory > 'maxmemory'.\r\n",
    "-NOREPLICAS Not enough good replicas to write.\r\n",
    "-MISCONF Redis is configured to save RDB snapshots, but cannot persist to disk now.\r\n",
};

TEST(a_refused_command_is_repeated_until_the_deadline)
{
    struct usher_operation call = LINE(CALL, 20, 0, ARGS(.max = 0));
    struct usher_engine *e = open_at(proxy_port(proxy), TIMEOUT / 2), *direct = open_direct();
    struct usher_engine *patient = open_at(proxy_port(proxy), PATIENT);
    struct usher_result reply;
    char before[33], after[33];

    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        fresh_world(direct);
        digest_of(direct, "p", before);
        arm(PROXY_ANSWER, CALL, 1000000, refusals[i]);
        for (int tries = 0;; tries++) {
            int64_t began = clock_ms();
            unsigned fired = proxy_fired(proxy);

            (void)run(e, &call, &reply);
            assert_in_time(began, TIMEOUT);
            assert_is_a_line(reply.message);
            fired = proxy_fired(proxy) - fired;
            if (reply.status == USHER_UNAVAILABLE && fired >= 2)
                break;
            /* on a loaded machine there may be no time for a second one, and the last one may
             * arrive too late */
            if ((reply.status != USHER_UNKNOWN && reply.status != USHER_UNAVAILABLE) || tries == 20)
                fail_msg("%s: asked %u times, %s %s", refusals[i], fired,
                         usher_status_word(reply.status), reply.message);
        }
        digest_of(direct, "p", after);
        assert_string_equal(before, after);
        /* the refusals end: the command is done once */
        arm(PROXY_ANSWER, CALL, 3, refusals[i]);
        assert_int_equal(run(patient, &call, &reply), USHER_OK);
        assert_int_equal(proxy_fired(proxy), 3);
        assert_int_equal(stats_of(direct).busy_up, 2);
        audit(direct);
    }
    usher_close(patient);
    usher_close(e);
    usher_close(direct);
}

TEST(a_permanent_refusal_is_unavailable_at_once)
{
    static const char *const finals[] = {
        "-NOAUTH Authentication required.\r\n",
        "-NOPERM this user has no permissions to run the 'evalsha' command\r\n",
        "-MOVED 3999 127.0.0.1:6381\r\n",
        "-ASK 3999 127.0.0.1:6381\r\n",
        "-CROSSSLOT Keys in request don't hash to the same slot\r\n",
    };
    struct usher_operation call = LINE(CALL, 20, 0, ARGS(.max = 0));
    struct usher_engine *e = open_at(proxy_port(proxy), PATIENT), *direct = open_direct();
    struct usher_result reply;
    char before[33], after[33];

    fresh_world(direct);
    digest_of(direct, "p", before);
    for (size_t i = 0; i < sizeof finals / sizeof *finals; i++) {
        int64_t began = clock_ms();

        arm(PROXY_ANSWER, CALL, 1000000, finals[i]);
        if (run(e, &call, &reply) != USHER_UNAVAILABLE)
            fail_msg("%s: %s", finals[i], usher_status_word(reply.status));
        assert_is_a_line(reply.message);
        assert_in_time(began, 0);
    }
    no_fault();
    digest_of(direct, "p", after);
    assert_string_equal(before, after);
    usher_close(e);
    usher_close(direct);
}

/* The server itself refuses, not the proxy.  Commands that only move records may need no memory. */
TEST(a_server_without_memory_or_replicas_applies_all_or_nothing)
{
    static const char *const settings[][3] = { { "maxmemory", "1", "0" },
                                               { "min-replicas-to-write", "1", "0" } };
    struct usher_engine *e = open_at(redis_server_port(server), 200), *direct = open_direct();

    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        unsigned refused = 0;

        for (size_t t = 0; t < TARGETS; t++) {
            struct usher_operation c = targets[t];
            struct expected x;
            struct usher_result reply;
            char now[33];

            c.now_ms = T0 + 12; /* nothing is due, which would be a change of its own */
            x = expect(&c);
            fresh_world(direct);
            assert_true(redis_do_ok(server, "CONFIG", "SET", settings[i][0], settings[i][1], NULL));
            (void)run(e, &c, &reply);
            digest_of(direct, "p", now); /* reads still work */
            if (reply.status == USHER_UNAVAILABLE) {
                refused++;
                assert_is_a_line(reply.message);
                assert_string_equal(now, x.before);
            } else if (reply.status == USHER_UNKNOWN) {
                /* on a loaded machine the last refusal may arrive too late */
                assert_true(strcmp(now, x.before) == 0 || strcmp(now, x.after) == 0);
            } else {
                if (!same_answer(&c, &x.first, &reply, stderr))
                    fail_msg("%s, target %zu: %s", settings[i][0], t, reply.message);
                assert_string_equal(now, x.after);
            }
            usher_result_done(&reply);
            assert_true(redis_do_ok(server, "CONFIG", "SET", settings[i][0], settings[i][2], NULL));
            audit(direct);
            expected_done(&x);
        }
        print_message("%s: %u of %zu refused\n", settings[i][0], refused, TARGETS);
        assert_true(refused >= 5);
    }
    usher_close(e);
    usher_close(direct);
}

/* ---- lost scripts -------------------------------------------------------------------------------
 */

struct flusher {
    _Atomic bool stop;
    unsigned long flushes;
};

static void *flush_scripts(void *payload)
{
    struct flusher *f = payload;
    redisContext *c = redis_server_connect(server);

    while (c != NULL && !atomic_load(&f->stop)) {
        redisReply *reply = redisCommand(c, "SCRIPT FLUSH");

        if (reply == NULL)
            break;
        freeReplyObject(reply);
        f->flushes++;
    }
    if (c != NULL)
        redisFree(c);
    return NULL;
}

/* Return how often a script was sent to @server. */
static unsigned long loads(void)
{
    static const char *const keys[] = { "cmdstat_script|load:calls=", "cmdstat_eval:calls=" };
    redisReply *reply = redis_do(server, "INFO", "commandstats", NULL);
    unsigned long n = 0;

    assert_true(reply != NULL && reply->type == REDIS_REPLY_STRING);
    for (int i = 0; i < 2; i++) {
        const char *at = strstr(reply->str, keys[i]);

        n += at != NULL ? strtoul(at + strlen(keys[i]), NULL, 10) : 0;
    }
    freeReplyObject(reply);
    return n;
}

/* A server that was restarted or promoted has all its clients connect at once. */
TEST(a_script_is_sent_once_for_all_connections)
{
    struct usher_engine *e;
    unsigned long before;

    e = open_direct();
    assert_int_equal(ask_number_add(e, "sent", "n1", NULL), USHER_OK);
    before = loads();
    for (int i = 0; i < 20; i++) {
        assert_true(redis_do_ok(server, "CLIENT", "KILL", "TYPE", "normal", NULL));
        assert_int_equal(ask_number_del(e, "sent", "n1"), USHER_OK);
        assert_int_equal(ask_number_add(e, "sent", "n1", NULL), USHER_OK);
    }
    assert_int_equal(loads(), before);
    assert_true(redis_do_ok(server, "SCRIPT", "FLUSH", NULL));
    assert_int_equal(ask_number_del(e, "sent", "n1"), USHER_OK);
    assert_true(redis_do_ok(server, "CLIENT", "KILL", "TYPE", "normal", NULL));
    assert_int_equal(ask_number_add(e, "sent", "n1", NULL), USHER_OK);
    assert_int_equal(loads(), before + 1);
    usher_close(e);
}

struct worker {
    struct usher_engine *e;
    unsigned index, rounds;
    char fault[256];
};

static void blame(struct worker *w, const char *what, enum usher_status status)
{
    if (w->fault[0] == '\0')
        (void)snprintf(w->fault, sizeof w->fault, "thread %u: %s: %s: %s", w->index, what,
                       usher_status_word(status), usher_message());
}

/* Use a pool of its own, whose answers are known beforehand. */
static void *work_alone(void *payload)
{
    struct worker *w = payload;
    struct usher_operation commands[20];
    struct usher_result replies[20];
    char pool[16], names[5][8];

    (void)snprintf(pool, sizeof pool, "own%u", w->index);
    for (unsigned round = 0; round < w->rounds && w->fault[0] == '\0'; round++) {
        size_t n = 0;

        for (unsigned i = 0; i < 5; i++) {
            static const enum usher_verb verbs[] = { USHER_NUMBER_ADD, USHER_NUMBER_REG,
                                                     USHER_NUMBER_CALL, USHER_NUMBER_DEL };

            (void)snprintf(names[i], sizeof names[i], "n%u", i);
            for (unsigned v = 0; v < 4; v++, n++) {
                memset(&commands[n], 0, sizeof commands[n]);
                commands[n].verb = verbs[v];
                commands[n].scope.data = pool;
                commands[n].scope.size = strlen(pool);
                commands[n].arg.number.number.data = names[i];
                commands[n].arg.number.number.size = strlen(names[i]);
            }
        }
        (void)usher_operate(w->e, commands, replies, n);
        for (size_t i = 0; i < n; i++)
            if (replies[i].status != USHER_OK)
                blame(w, usher_verb_word(commands[i].verb), replies[i].status);
    }
    return NULL;
}

#define WORKERS 6

TEST(scripts_may_be_flushed_at_any_time)
{
    struct flusher flusher = { .flushes = 0 };
    struct worker workers[WORKERS];
    pthread_t threads[WORKERS], thread;
    struct usher_engine *engines[2] = { open_direct(), open_direct() };

    assert_int_equal(pthread_create(&thread, NULL, flush_scripts, &flusher), 0);
    for (unsigned i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){ engines[i % 2], i, budget_long() ? 2000 : 30, "" };
        assert_int_equal(pthread_create(&threads[i], NULL, work_alone, &workers[i]), 0);
    }
    for (unsigned i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    atomic_store(&flusher.stop, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    for (unsigned i = 0; i < WORKERS; i++)
        if (workers[i].fault[0] != '\0')
            fail_msg("%s", workers[i].fault);
    assert_true(flusher.flushes > 10);
    audit(engines[0]);
    usher_close(engines[0]);
    usher_close(engines[1]);
}

/* ---- a connection that breaks at random under many threads
 * ------------------------------------------ */

#define HOLDS_MAX 4000
#define POOL_NUMBERS 8

struct hold {
    uint64_t token, ended; /* versions; ended 0: at an unknown version */
    int number;
};

struct caller {
    struct usher_engine *e;
    uint64_t random;
    unsigned index, rounds;
    struct hold *holds;
    size_t n_holds;
    _Atomic unsigned long *operations;
    unsigned long unknown, unavailable;
    int64_t longest_ms;
    char fault[256];
};

static enum usher_status timed(struct caller *w, const struct usher_operation *c,
                               struct usher_result *reply)
{
    int64_t began = clock_ms(), took;

    (void)usher_operate(w->e, c, reply, 1);
    took = clock_ms() - began;
    if (took > w->longest_ms)
        w->longest_ms = took;
    atomic_fetch_add(w->operations, 1);
    w->unknown += reply->status == USHER_UNKNOWN;
    w->unavailable += reply->status == USHER_UNAVAILABLE;
    return reply->status;
}

#define BLAME(w, ...)                                                  \
    do {                                                               \
        if ((w)->fault[0] == '\0')                                     \
            (void)snprintf((w)->fault, sizeof(w)->fault, __VA_ARGS__); \
        return NULL;                                                   \
    } while (0)

/* Call and hang up, and repeat each command until its result is known. */
static void *call_and_hang_up(void *payload)
{
    struct caller *w = payload;

    for (unsigned round = 0; round < w->rounds; round++) {
        struct usher_operation c;
        struct usher_result reply;
        struct hold *hold = &w->holds[w->n_holds];
        char owner[32], id[48], number[USHER_NAME_MAX + 1];
        bool may_be_held = false, with_id = next_random(&w->random) % 3 == 0;
        enum usher_status status;

        memset(&c, 0, sizeof c);
        (void)snprintf(owner, sizeof owner, "t%u-%u", w->index, round);
        (void)snprintf(id, sizeof id, "call-%s", owner);
        c.verb = USHER_NUMBER_CALL;
        c.scope.data = "shared";
        c.scope.size = 6;
        c.arg.number.owner.data = owner;
        c.arg.number.owner.size = strlen(owner);
        if (with_id) {
            c.request.data = id;
            c.request.size = strlen(id);
        }
        for (int tries = 0;; tries++) {
            status = timed(w, &c, &reply);
            if (status == USHER_UNKNOWN)
                may_be_held = true;
            else if (status == USHER_EMPTY)
                (void)sched_yield();
            else if (status != USHER_UNAVAILABLE)
                break;
            if (tries == 10000)
                BLAME(w, "thread %u: no answer: %s", w->index, reply.message);
        }
        if (status == USHER_SAME ? with_id && !may_be_held : status != USHER_OK)
            BLAME(w, "thread %u: call: %s %s", w->index, usher_status_word(status), reply.message);
        hold->token = reply.of.number.token;
        hold->number = atoi(reply.of.number.number + 1);
        hold->ended = 0;
        (void)snprintf(number, sizeof number, "%s", reply.of.number.number);

        memset(&c, 0, sizeof c);
        (void)snprintf(id, sizeof id, "hangup-%s", owner);
        c.verb = USHER_NUMBER_HANGUP;
        c.scope.data = "shared";
        c.scope.size = 6;
        c.given = USHER_GIVEN_TOKEN;
        c.arg.number.token = hold->token;
        c.arg.number.number.data = number;
        c.arg.number.number.size = strlen(number);
        if (with_id) {
            c.request.data = id;
            c.request.size = strlen(id);
        }
        for (int tries = 0; tries < 10000; tries++) {
            struct usher_operation show = c;
            bool held;

            status = timed(w, &c, &reply);
            if (status == USHER_OK) {
                hold->ended = reply.version;
                break;
            }
            if (status == USHER_UNAVAILABLE)
                continue; /* not applied: the next command must have this state */
            if (status != USHER_UNKNOWN)
                BLAME(w, "thread %u: hangup: %s %s", w->index, usher_status_word(status),
                      reply.message);
            if (with_id)
                continue;
            show.verb = USHER_NUMBER_SHOW;
            show.given = 0;
            show.request.data = NULL;
            while (timed(w, &show, &reply) != USHER_OK)
                if (++tries == 10000)
                    BLAME(w, "thread %u: show: %s", w->index, reply.message);
            held = reply.of.number.state == USHER_NUMBER_STATE_BUSY_UP &&
                   reply.of.number.token == hold->token;
            usher_result_done(&reply);
            if (!held)
                break;
        }
        w->n_holds++;
    }
    return NULL;
}

struct breaker {
    uint64_t random;
    _Atomic bool stop;
    _Atomic unsigned long *operations;
    unsigned long breaks;
};

/* Break connections in some way every few operations. */
static void *break_things(void *payload)
{
    struct breaker *b = payload;
    redisContext *direct = redis_server_connect(server);
    redisReply *reply;

    while (!atomic_load(&b->stop) && direct != NULL) {
        unsigned long at = atomic_load(b->operations) + next_random(&b->random) % 30;
        struct proxy_fault f = { .match = CALL,
                                 .skip = (unsigned)(next_random(&b->random) % 4),
                                 .times = 1 + (unsigned)(next_random(&b->random) % 2),
                                 .bytes = next_random(&b->random) % 100,
                                 .reply = refusals[next_random(&b->random) % 4] };

        switch (next_random(&b->random) % 9) {
        case 0:
            proxy_drop(proxy);
            break;
        case 1:
            reply = redisCommand(direct, "SCRIPT FLUSH");
            freeReplyObject(reply);
            break;
        case 2:
            reply = redisCommand(direct, "CLIENT KILL TYPE normal SKIPME yes");
            freeReplyObject(reply);
            break;
        case 3:
            f.kind = PROXY_SWALLOW_REPLY;
            break;
        case 4:
            f.kind = PROXY_CUT_REPLY;
            break;
        case 5:
            f.kind = PROXY_DROP_REQUEST;
            break;
        case 6:
            f.kind = PROXY_CUT_REQUEST;
            break;
        case 7:
            f.kind = PROXY_ANSWER;
            break;
        default:
            f.kind = PROXY_SWALLOW_REPLY;
            f.match = NULL; /* perhaps of the handshake */
            break;
        }
        if (f.kind != PROXY_NO_FAULT)
            proxy_arm(proxy, &f);
        b->breaks++;
        while (atomic_load(b->operations) < at && !atomic_load(&b->stop))
            (void)sched_yield();
    }
    if (direct != NULL)
        redisFree(direct);
    return NULL;
}

static int by_number_and_token(const void *a, const void *b)
{
    const struct hold *x = a, *y = b;

    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return x->token < y->token ? -1 : x->token > y->token;
}

TEST(no_number_is_held_twice_while_connections_break)
{
    struct usher_engine *direct = open_direct(), *e = open_at(proxy_port(proxy), 3000);
    unsigned rounds = budget_long() ? HOLDS_MAX / WORKERS : 300;
    struct hold *holds = calloc((size_t)WORKERS * rounds, sizeof *holds);
    struct caller callers[WORKERS];
    struct breaker breaker = { .random = seed + 77 };
    _Atomic unsigned long operations = 0;
    pthread_t threads[WORKERS], thread;
    struct usher_number_result_statistics stats;
    struct usher_operation c = LINE(STATS, 0, 0, ARGS(.max = 0));
    struct usher_result reply;
    unsigned long unknown = 0, unavailable = 0;
    int64_t longest = 0;
    size_t n = 0;

    assert_non_null(holds);
    for (int i = 0; i < POOL_NUMBERS; i++) {
        char number[16];

        (void)snprintf(number, sizeof number, "n%d", i);
        assert_int_equal(ask_number_add(direct, "shared", number, NULL), USHER_OK);
        assert_int_equal(ask_number_reg(direct, "shared", number), USHER_OK);
    }
    breaker.operations = &operations;
    for (unsigned i = 0; i < WORKERS; i++) {
        memset(&callers[i], 0, sizeof callers[i]);
        callers[i].e = e;
        callers[i].index = i;
        callers[i].random = seed + i;
        callers[i].rounds = rounds;
        callers[i].holds = holds + (size_t)i * rounds;
        callers[i].operations = &operations;
        assert_int_equal(pthread_create(&threads[i], NULL, call_and_hang_up, &callers[i]), 0);
    }
    assert_int_equal(pthread_create(&thread, NULL, break_things, &breaker), 0);
    for (unsigned i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    atomic_store(&breaker.stop, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    no_fault();

    for (unsigned i = 0; i < WORKERS; i++) {
        if (callers[i].fault[0] != '\0')
            fail_msg("%s", callers[i].fault);
        unknown += callers[i].unknown;
        unavailable += callers[i].unavailable;
        longest = callers[i].longest_ms > longest ? callers[i].longest_ms : longest;
        n += callers[i].n_holds;
    }
    print_message("%lu operations, %lu breaks, %lu unknown, %lu unavailable, longest %" PRId64
                  " ms\n",
                  atomic_load(&operations), breaker.breaks, unknown, unavailable, longest);
    assert_true(longest <= 3000 + SLACK);
    assert_true(n == (size_t)WORKERS * rounds);
    /* nothing was held twice */
    qsort(holds, n, sizeof *holds, by_number_and_token);
    for (size_t i = 0; i < n; i++) {
        assert_true(holds[i].ended == 0 || holds[i].ended > holds[i].token);
        if (i + 1 < n && holds[i].number == holds[i + 1].number) {
            assert_true(holds[i].token < holds[i + 1].token);
            assert_true(holds[i].ended < holds[i + 1].token);
        }
    }
    /* every change belongs to a recorded hold */
    c.scope.data = "shared";
    c.scope.size = 6;
    c.given = 0;
    assert_int_equal(run(direct, &c, &reply), USHER_OK);
    assert_true(reply.version == 2 * POOL_NUMBERS + 2 * n);
    assert_int_equal(ask_number_stats(direct, "shared", &stats), USHER_OK);
    assert_int_equal(stats.idle_up, POOL_NUMBERS);
    assert_true(stats.calls_today == (int64_t)n);
    audit(direct);
    free(holds);
    usher_close(e);
    usher_close(direct);
}

/* Run audits and digests on the engine of other threads. */
static void *audit_repeatedly(void *payload)
{
    struct worker *w = payload;

    for (unsigned i = 0; i < w->rounds && w->fault[0] == '\0'; i++) {
        uint64_t faults = 1;
        char digest[33];
        enum usher_status status = check_faults(w->e, NULL, NULL, &faults);

        if (status != USHER_OK || faults != 0)
            blame(w, "audit", status);
        status = usher_digest(w->e, USHER_NUMBER, "own0", digest);
        if (status != USHER_OK)
            blame(w, "digest", status);
    }
    return NULL;
}

TEST(an_audit_may_run_during_commands)
{
    struct worker workers[4];
    pthread_t threads[4];
    struct usher_engine *e = open_direct();

    for (unsigned i = 0; i < 4; i++) {
        workers[i] = (struct worker){ e, i, i < 2 ? 40 : 20, "" };
        assert_int_equal(
            pthread_create(&threads[i], NULL, i < 2 ? work_alone : audit_repeatedly, &workers[i]),
            0);
    }
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (unsigned i = 0; i < 4; i++)
        if (workers[i].fault[0] != '\0')
            fail_msg("%s", workers[i].fault);
    usher_close(e);
}

/* The timeout is for one answer of the server, and an audit of many pages may take longer.  One of
 * several tries must show it, because it depends on the clock. */
TEST(a_large_pool_may_take_longer_than_the_timeout)
{
    enum { NUMBERS = 20000, PART = 2000 };
    static struct usher_operation commands[PART];
    static struct usher_result replies[PART];
    static char names[PART][16];
    struct usher_engine *e = open_direct(), *hasty;
    int64_t began, took;
    char digest[33], again[33];
    bool shown = false;

    for (size_t from = 0; from < NUMBERS; from += PART) {
        for (size_t i = 0; i < PART; i++) {
            size_t size = (size_t)snprintf(names[i], sizeof names[i], "%zu", from + i);

            commands[i] = (struct usher_operation)LINE(ADD, 0, 0, .request = { NULL, 0 });
            commands[i].arg.number.number = (struct usher_text){ names[i], size };
        }
        assert_int_equal(usher_operate(e, commands, replies, PART), USHER_OK);
        for (size_t i = 0; i < PART; i++)
            usher_result_done(&replies[i]);
    }
    for (int k = 0; k < 50 && !shown; k++) {
        began = clock_ms();
        digest_of(e, "p", digest);
        took = clock_ms() - began;
        hasty = open_at(redis_server_port(server), took / 4 + 1);
        began = clock_ms();
        shown = usher_digest(hasty, USHER_NUMBER, "p", again) == USHER_OK &&
                clock_ms() - began > took / 4 + 1;
        usher_close(hasty);
    }
    assert_true(shown);
    assert_string_equal(again, digest);
    usher_close(e);
}

/* The identity of the server is queried every second, also after the deadline. */
TEST(many_scopes_may_take_longer_than_the_timeout)
{
    enum { PART = 500, PARTS = 200 };
    static struct usher_operation commands[PART];
    static struct usher_result replies[PART];
    static char names[PART][16];
    struct usher_engine *e = open_direct(), *hasty = open_at(redis_server_port(server), 300);
    int64_t took = 0;

    for (unsigned part = 0; part < PARTS && took < 1500; part++) {
        int64_t began;

        for (size_t i = 0; i < PART; i++) {
            size_t size = (size_t)snprintf(names[i], sizeof names[i], "many%zu", part * PART + i);

            commands[i] = (struct usher_operation)LINE(ADD, 0, 0, .request = { NULL, 0 });
            commands[i].scope = (struct usher_text){ names[i], size };
            commands[i].arg.number.number = (struct usher_text){ names[i], size };
        }
        assert_int_equal(usher_operate(e, commands, replies, PART), USHER_OK);
        for (size_t i = 0; i < PART; i++)
            usher_result_done(&replies[i]);
        began = clock_ms();
        audit(hasty);
        took = clock_ms() - began;
    }
    print_message("the last audit took %" PRId64 " ms\n", took);
    assert_true(took > 1300);
    usher_close(hasty);
    usher_close(e);
    assert_true(redis_do_ok(server, "FLUSHALL", NULL));
}

/* ---- servers that are not Redis
 * ------------------------------------------------------------------------ */

/* A server that sends @text to each client that has sent something. */
struct fake {
    int listener, port;
    pthread_t thread;
    const char *text;
    size_t size;
    bool stays; /* does not close */
    int held[64];
    int n_held;
};

static void *fake_run(void *payload)
{
    struct fake *f = payload;
    char buffer[4096];
    int fd;

    while ((fd = accept(f->listener, NULL, NULL)) >= 0) {
        if (recv(fd, buffer, sizeof buffer, 0) > 0)
            for (size_t at = 0; at < f->size;) {
                ssize_t n = send(fd, f->text + at, f->size - at, MSG_NOSIGNAL);

                if (n <= 0)
                    break;
                at += (size_t)n;
            }
        if (f->stays && f->n_held < 64)
            f->held[f->n_held++] = fd;
        else
            (void)close(fd);
    }
    return NULL;
}

static void fake_start(struct fake *f, const char *text, size_t size, bool stays)
{
    struct sockaddr_in a = { .sin_family = AF_INET };
    socklen_t length = sizeof a;

    memset(f, 0, sizeof *f);
    f->text = text;
    f->size = size;
    f->stays = stays;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    f->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(f->listener >= 0);
    assert_int_equal(bind(f->listener, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(f->listener, 16), 0);
    assert_int_equal(getsockname(f->listener, (struct sockaddr *)&a, &length), 0);
    f->port = ntohs(a.sin_port);
    assert_int_equal(pthread_create(&f->thread, NULL, fake_run, f), 0);
}

static void fake_stop(struct fake *f)
{
    (void)shutdown(f->listener, SHUT_RDWR);
    (void)pthread_join(f->thread, NULL);
    (void)close(f->listener);
    while (f->n_held > 0)
        (void)close(f->held[--f->n_held]);
}

/* Opening fails in time, and the message is one line without the secret. */
static void does_not_open(const char *url, enum usher_status expected, const char *hint)
{
    struct usher_engine *e = NULL;
    int64_t began = clock_ms();
    enum usher_status status = usher_open(url, NULL, &e);

    if (status != expected)
        fail_msg("%s: %s: %s", url, usher_status_word(status), usher_message());
    assert_null(e);
    assert_in_time(began, TIMEOUT);
    assert_is_a_line(usher_message());
    if (strstr(usher_message(), "s3cret") != NULL)
        fail_msg("the password is in: %s", usher_message());
    if (hint != NULL && strstr(usher_message(), hint) == NULL)
        fail_msg("%s is not in: %s", hint, usher_message());
}

TEST(a_server_that_is_not_redis_is_refused)
{
#define SAYS(string) string, sizeof string - 1
    static const struct {
        const char *text;
        size_t size;
    } says[] = {
        { SAYS("") },
        { SAYS("HTTP/1.1 400 Bad Request\r\nContent-Type: text/html\r\n\r\n<html>s3cret</html>") },
        { SAYS("\x15\x03\x03\x00\x02\x02\x46") }, /* TLS: alert, fatal, protocol version */
        { SAYS("\x15\x03\x01\x00\x02\x02\x0a") },
        { SAYS("220 mail ESMTP\r\n") },
        { SAYS("SSH-2.0-OpenSSH_9.2\r\n") },
        { SAYS("\0\0\0\0\0\0\0\0") },
        { SAYS("\xff\xfe\xfd") },
        { SAYS("+") },
        { SAYS("+PONG") },
        { SAYS("-ERR unknown command 'AUTH', with args beginning with: 's3cret' \r\n") },
        { SAYS("-ERR \x1b[2J\x07\r\n-ERR\r\n-ERR\r\n-ERR\r\n") },
        { SAYS("-WRONGPASS invalid username-password pair s3cret\r\n+OK\r\n+OK\r\n+PONG\r\n") },
        { SAYS("+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n") },
        { SAYS("+OK\r\n+OK\r\n+PONG\r\n$40\r\n0123456789abcdef0123456789abcdef0123456\xff\r\n") },
        { SAYS("*-2\r\n") },
        { SAYS("$9223372036854775807\r\n") },
        { SAYS("*1000000000\r\n*1000000000\r\n*1000000000\r\n") },
        { SAYS("*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n") },
        { SAYS(":99999999999999999999999999\r\n") },
        { SAYS("$-1\r\n$-1\r\n$-1\r\n$-1\r\n$-1\r\n$-1\r\n$-1\r\n") },
        { SAYS("*0\r\n*0\r\n*0\r\n*0\r\n*0\r\n*0\r\n*0\r\n") },
        { SAYS("%1\r\n+a\r\n+b\r\n") }, /* RESP3 */
        { SAYS(">2\r\n+a\r\n+b\r\n") },
    };
    struct fake f;
    char url[128], *flood = malloc(1 << 20);

    assert_non_null(flood);
    for (size_t i = 0; i < sizeof says / sizeof *says; i++) {
        for (int stays = 0; stays < 2; stays++) {
            fake_start(&f, says[i].text, says[i].size, stays != 0);
            (void)snprintf(url, sizeof url, "redis://u:s3cret@127.0.0.1:%d?timeout=%d", f.port,
                           stays ? 80 : TIMEOUT);
            does_not_open(url, USHER_UNAVAILABLE, NULL);
            fake_stop(&f);
        }
    }
    memset(flood, '+', 1 << 20);
    fake_start(&f, flood, 1 << 20, false);
    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d?timeout=%d", f.port, TIMEOUT);
    does_not_open(url, USHER_UNAVAILABLE, NULL);
    fake_stop(&f);
    free(flood);
}

TEST(a_wrong_password_user_or_database_is_reported)
{
    static const char *const users[] = { "someone on >s3cret ~* +@all", NULL };
    struct redis_server_options options = { .password = "s3cret", .users = users };
    struct redis_server *own = redis_server_start(&options);
    struct usher_engine *e = NULL;
    int port;
    char url[128];

    if (own == NULL)
        fail_msg("%s", redis_reason());
    port = redis_server_port(own);
#define URL(format) (snprintf(url, sizeof url, "redis://" format "?timeout=%d", port, TIMEOUT), url)
    does_not_open(URL("127.0.0.1:%d"), USHER_UNAVAILABLE, "NOAUTH");
    does_not_open(URL(":wrong@127.0.0.1:%d"), USHER_UNAVAILABLE, "WRONGPASS");
    does_not_open(URL("someone:wrong@127.0.0.1:%d"), USHER_UNAVAILABLE, "WRONGPASS");
    does_not_open(URL("nobody:s3cret@127.0.0.1:%d"), USHER_UNAVAILABLE, "WRONGPASS");
    does_not_open(URL(":s3cret@127.0.0.1:%d/16"), USHER_UNAVAILABLE, "DB index");
    does_not_open(URL(":s3cret@127.0.0.1:%d/999999"), USHER_UNAVAILABLE, "DB index");
    does_not_open(URL("someone@127.0.0.1:%d"), USHER_INVALID, NULL);
    assert_int_equal(usher_open(URL(":s3cret@127.0.0.1:%d/15"), NULL, &e), USHER_OK);
    assert_int_equal(ask_number_add(e, "p", "n", NULL), USHER_OK);
    /* the password changes while it is connected, and then the connection is lost */
    assert_true(redis_do_ok(own, "CONFIG", "SET", "requirepass", "other", NULL));
    assert_int_equal(ask_number_add(e, "p", "n2", NULL), USHER_OK);
    {
        redisReply *reply =
            redis_do(own, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes", NULL);

        assert_non_null(reply);
        freeReplyObject(reply);
    }
    assert_int_equal(ask_number_add(e, "p", "n3", NULL), USHER_UNAVAILABLE);
    assert_is_a_line(usher_message());
    assert_non_null(strstr(usher_message(), "WRONGPASS"));
    assert_null(strstr(usher_message(), "s3cret"));
    assert_true(redis_do_ok(own, "CONFIG", "SET", "requirepass", "s3cret", NULL));
    assert_int_equal(ask_number_add(e, "p", "n3", NULL), USHER_OK);
    usher_close(e);
    assert_int_equal(usher_open(URL("someone:s3cret@127.0.0.1:%d"), NULL, &e), USHER_OK);
    usher_close(e);
    assert_int_equal(usher_open(URL("%%73omeone:s3%%63ret@127.0.0.1:%d"), NULL, &e), USHER_OK);
    usher_close(e);
    assert_int_equal(redis_server_kill(own, SIGKILL), 0);
    does_not_open(URL(":s3cret@127.0.0.1:%d"), USHER_UNAVAILABLE, "refused");
    redis_server_stop(own);
}

TEST(a_command_waits_for_a_server_that_is_loading)
{
    struct usher_engine *e = NULL;
    char url[128];

    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d?timeout=%d", proxy_port(proxy), TIMEOUT);
    arm(PROXY_ANSWER, "PING", 1000000, refusals[0]);
    does_not_open(url, USHER_UNAVAILABLE, "LOADING");
    arm(PROXY_ANSWER, "PING", 3, refusals[0]);
    assert_int_equal(usher_open(url, NULL, &e), USHER_OK);
    assert_int_equal(proxy_fired(proxy), 3);
    usher_close(e);
}

/* ---- wrong answers
 * --------------------------------------------------------------------------------- */

/* Check that all parts of an answer can be read safely. */
static void assert_is_safe(const struct usher_result *r)
{
    const struct usher_number_result *n = &r->of.number;

    assert_true(r->status <= USHER_NOMEM);
    assert_non_null(memchr(r->message, '\0', sizeof r->message));
    if (r->message[0] != '\0')
        assert_is_a_line(r->message);
    assert_true(n->number_size <= USHER_NAME_MAX);
    assert_true(strlen(n->number) == n->number_size);
    assert_non_null(usher_number_state_word(n->state));
    for (size_t i = 0; i < n->n_rows; i++) {
        const struct usher_number_result_row *row = &n->rows[i];

        assert_true(row->number.size <= USHER_NAME_MAX);
        assert_true(row->owner.size <= USHER_NAME_MAX && row->group.size <= USHER_NAME_MAX);
        assert_true(row->number.size == 0 ||
                    memchr(row->number.data, '\0', row->number.size) == NULL);
        assert_non_null(usher_number_state_word(row->state));
    }
}

static void safe_watcher(void *payload, const struct usher_notice *n)
{
    assert_true(n->subject.size <= USHER_NAME_MAX && n->owner.size <= USHER_NAME_MAX);
    assert_non_null(usher_number_state_word((enum usher_number_state)n->from));
    assert_non_null(usher_verb_word(n->verb));
    ++*(unsigned *)payload;
}

/* Execute @c, whose answer is @body.  Return the status. */
static enum usher_status answer_with(struct usher_engine *e, const struct usher_operation *c,
                                     const char *body, size_t size)
{
    struct proxy_fault f = {
        .kind = PROXY_ANSWER, .match = CALL, .times = 1000000, .reply = body, .reply_size = size
    };
    struct usher_result reply;
    enum usher_status status;

    proxy_arm(proxy, &f);
    status = run(e, c, &reply);
    assert_is_safe(&reply);
    if (status == USHER_UNKNOWN || status == USHER_UNAVAILABLE)
        assert_is_a_line(reply.message);
    usher_result_done(&reply);
    return status;
}

static void wrong_answer_is_rejected(struct usher_engine *e, const struct usher_operation *c,
                                     const char *body, size_t size)
{
    enum usher_status status = answer_with(e, c, body, size);

    if (status != USHER_UNKNOWN && status != USHER_UNAVAILABLE)
        fail_msg("%s believes %.200s: %s", usher_verb_word(c->verb), body,
                 usher_status_word(status));
}

static size_t bulk(char *to, const char *text, size_t size)
{
    int n = sprintf(to, "$%zu\r\n", size);

    memcpy(to + n, text, size);
    memcpy(to + n + size, "\r\n", 2);
    return (size_t)n + size + 2;
}

/* A packed piece of an answer: see usher_result_unpack(). */
struct piece {
    const char *bytes;
    size_t size;
};
#define PIECE(text)            \
    {                          \
        text, sizeof(text) - 1 \
    }
#define PIECES(array) (sizeof(array) / sizeof *(array))

static const struct piece answer_pieces[] = {
    PIECE("\xdc\0\x10"), /* how many values follow */
    PIECE("\0"),         /* status */
    PIECE("\xb0"
          "0123456789abcdef"), /* epoch */
    PIECE("\x07"),             /* version */
    PIECE("\x08"),             /* due */
    PIECE("\x05"),             /* now */
    PIECE("\0"),               /* repeated */
    PIECE("\x90"),             /* notices */
    PIECE("\x90"),             /* rows */
    PIECE("\x04"),             /* state */
    PIECE("\0"),               /* why */
    PIECE("\x07"),             /* token */
    PIECE("\0"),               /* until */
    PIECE("\xff"),             /* next */
    PIECE("\0"),               /* count */
    PIECE("\0"),               /* more */
    PIECE("\xa2n1"),           /* number */
};
#define NOTICES 7
#define ROWS 8
static const struct piece row_pieces[] = {
    PIECE("\x91\x9d"),             /* one, of thirteen */
    PIECE("\xa2n1"),               /* number */
    PIECE("\xa5group"),            /* group */
    PIECE("\xa5owner"),            /* owner */
    PIECE("\x04"),                 /* state */
    PIECE("\0"),                   /* resting */
    PIECE("\x07"),                 /* token */
    PIECE("\0"),                   /* until */
    PIECE("\x01"),                 /* calls today */
    PIECE("\xce\x12\x34\x56\x78"), /* used */
    PIECE("\0"),                   /* capped */
    PIECE("\x09"),                 /* age */
    PIECE("\xa4node"),             /* node */
    PIECE("\xa0"),                 /* value */
};
static const struct piece notice_pieces[] = {
    PIECE("\x91\x9a"),             /* one, of ten */
    PIECE("\xcd\x01\x05"),         /* verb: call */
    PIECE("\x07"),                 /* version */
    PIECE("\x02"),                 /* from */
    PIECE("\x04"),                 /* to */
    PIECE("\x07"),                 /* token */
    PIECE("\0"),                   /* until */
    PIECE("\xce\x12\x34\x56\x78"), /* now */
    PIECE("\xa5owner"),            /* owner */
    PIECE("\xa2n1"),               /* subject */
    PIECE("\xa0"),                 /* data */
};

/* Join @pieces, with @by in place of number @at.  Return the size. */
static size_t join(const struct piece *pieces, size_t n, size_t at, const struct piece *by,
                   char *to)
{
    size_t size = 0;

    for (size_t i = 0; i < n; i++) {
        const struct piece *p = i == at ? by : &pieces[i];

        memcpy(to + size, p->bytes, p->size);
        size += p->size;
    }
    return size;
}

static const struct usher_operation lied_to[] = {
    LINE(CALL, 20, 0, ARGS(.max = 0)),
    LINE(HANGUP, 20, 0, ARGS(N("n1"))),
};
static const struct usher_operation lied_to_again[] = {
    /* asked for again until the deadline */
    LINE(SHOW, 20, 0, ARGS(N("n1"))),
    LINE(LIST, 20, 0, ARGS(.max = 0)),
    LINE(STATS, 20, 0, ARGS(.max = 0)),
    LINE(SET, 20, USHER_GIVEN_REST, ARGS(.rest_ms = 1)),
};

TEST(answers_of_the_wrong_type_are_rejected)
{
    static const char *const bodies[] = {
        "+OK\r\n",
        "+hello\r\n",
        ":1\r\n",
        ":-9223372036854775808\r\n",
        "$-1\r\n",
        "$0\r\n\r\n",
        "*-1\r\n",
        "*0\r\n",
        "*1\r\n$-1\r\n",
        "*1\r\n:1\r\n",
        "*1\r\n*0\r\n",
        "*1\r\n*1\r\n$2\r\nok\r\n",
        "*2\r\n$2\r\nok\r\n:1\r\n",
        "*2\r\n$-1\r\n$-1\r\n",
        "*1\r\n$-1\r\n",
        "-ERR\r\n",
        "-\r\n",
        "- \r\n",
        "-ERR Error running script (call to f_0): @user_script:1: oops\r\n",
        "-\x01\x02\x1b[2J\r\n",
        "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n",
        "$5\r\nhello\r\n",
        "$100\r\nhello\r\n", /* never complete */
        "*3\r\n$2\r\nok\r\n",
        "hello\r\n",
        "\r\n",
        "?\r\n",
        "$3\r\nabcde\r\n",
        "*1048577\r\n",
        "*99999999999\r\n",
        "$67108865\r\n",
        ":\r\n",
        ":1x\r\n",
        ":99999999999999999999\r\n",
        "%1\r\n+a\r\n+b\r\n",
        "#t\r\n",
        ",1.5\r\n",
        "_\r\n",
        "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n",
    };
    struct usher_engine *e = open_at(proxy_port(proxy), 200), *direct = open_direct();
    char before[33], after[33];

    fresh_world(direct);
    digest_of(direct, "p", before);
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        for (size_t k = 0; k < 2; k++) {
            if (i % 2 == k) /* not each with both: time */
                wrong_answer_is_rejected(e, &lied_to[k], bodies[i], 0);
        }
        if (budget_long() || i % 4 == 0)
            wrong_answer_is_rejected(e, &lied_to_again[i / 4 % 4], bodies[i], 0);
        no_fault();
        /* afterwards a correct answer is accepted */
        warm(e);
    }
    digest_of(direct, "p", after);
    assert_string_equal(before, after);
    usher_close(e);
    usher_close(direct);
}

TEST(wrong_pieces_of_an_answer_are_rejected)
{
    static char huge[304] = "\xda\x01\x2c";
    /* Types that accept it: a number, a number >= 0, one of a few, an array, a name. */
    enum { INT = 1, UINT = 2, FEW = 4, ARRAY = 8, NAME = 16 };
    static const int kinds[PIECES(answer_pieces)] = { 0,   FEW,   0,     UINT,      UINT, UINT,
                                                      FEW, ARRAY, ARRAY, INT | FEW, INT,  UINT,
                                                      INT, INT,   UINT,  FEW,       NAME };
    const struct {
        struct piece by;
        int kinds;
    } wrong[] = {
        { PIECE(""), ~0 }, /* the next piece takes its place */
        { PIECE("\xc0"), 0 },
        { PIECE("\xc2"), 0 },
        { PIECE("\xc3"), 0 },
        { PIECE("\xc1"), 0 },
        { PIECE("\xc4\x01x"), 0 },
        { PIECE("\xd4\x01x"), 0 },
        { PIECE("\xcb\x3f\xf8\0\0\0\0\0\0"), 0 },
        { PIECE("\xca\x3f\xc0\0\0"), 0 },
        { PIECE("\x81\xa1x\x01"), 0 },
        { PIECE("\xdf\xff\xff\xff\xff"), 0 },
        { PIECE("\xdd\xff\xff\xff\xff"), 0 },
        { PIECE("\xdc\xff\xff"), 0 },
        { PIECE("\xdb\xff\xff\xff\xff"), 0 },
        { PIECE("\xda\xff\xff"), 0 },
        { PIECE("\xd9\xff"), 0 },
        { PIECE("\xbf"), 0 },
        { PIECE("\x9e"), 0 },
        { PIECE("\x91\x01"), 0 },
        { PIECE("\x91\x91\x91\x91\x91\x91\x91\x91"), 0 },
        { PIECE("\xcf\xff\xff\xff\xff\xff\xff\xff\xff"), UINT },
        { PIECE("\xd3\x80\0\0\0\0\0\0\0"), INT },
        { PIECE("\xce\xff\xff\xff\xff"), INT | UINT },
        { PIECE("\xe0"), INT },
        { PIECE("\x7f"), INT | UINT },
        { PIECE("\x0c"), INT | UINT },
        { PIECE("\xa1x"), NAME },
        { PIECE("\xa0"), NAME },
        { PIECE("\xa4n\0n1"), 0 },
        { PIECE("\xa2\xff\xfe"), 0 },
        { PIECE("\xa3n\r\n"), 0 },
        { { huge, 303 }, 0 },
    };
    struct usher_engine *e = open_at(proxy_port(proxy), PATIENT), *direct = open_direct();
    struct usher_engine *hasty = open_at(proxy_port(proxy), 120);
    struct usher_watcher *watch;
    unsigned notices = 0, believed = 0, cases = 0;
    char text[1024], inner[512], body[2048];
    struct piece part = { inner, 0 };
    size_t size;

    memset(huge + 3, 'y', 300);
    fresh_world(direct);
    warm(e);
    warm(hasty);
    /* the right one is accepted */
    size = join(answer_pieces, PIECES(answer_pieces), SIZE_MAX, NULL, text);
    assert_int_equal(answer_with(e, &lied_to[0], body, bulk(body, text, size)), USHER_OK);
    for (size_t w = 0; w < PIECES(wrong); w++) {
        for (size_t i = 0; i < PIECES(answer_pieces); i++) {
            enum usher_status status;

            size = join(answer_pieces, PIECES(answer_pieces), i, &wrong[w].by, text);
            status = answer_with(e, &lied_to[0], body, bulk(body, text, size));
            cases++;
            believed += status == USHER_OK;
            if (status != USHER_UNKNOWN &&
                (wrong[w].by.size == 0 || (wrong[w].kinds & kinds[i]) == 0))
                fail_msg("piece %zu is wrong in way %zu and believed: %s", i, w,
                         usher_status_word(status));
        }
    }
    print_message("%u of %u believed\n", believed, cases);
    /* cut at any byte, and with a byte appended */
    size = join(answer_pieces, PIECES(answer_pieces), SIZE_MAX, NULL, text);
    text[size] = '\0';
    for (size_t cut = 0; cut <= size + 1; cut++)
        if (cut != size)
            assert_int_equal(answer_with(e, &lied_to[0], body, bulk(body, text, cut)),
                             USHER_UNKNOWN);
    /* rows, in answers to reads */
    part.size = join(row_pieces, PIECES(row_pieces), SIZE_MAX, NULL, inner);
    size = join(answer_pieces, PIECES(answer_pieces), ROWS, &part, text);
    assert_int_equal(answer_with(e, &lied_to_again[0], body, bulk(body, text, size)), USHER_OK);
    for (size_t w = 0; w < PIECES(wrong); w += budget_long() ? 1 : 3) {
        for (size_t i = 0; i < PIECES(row_pieces); i += budget_long() ? 1 : 2) {
            part.size = join(row_pieces, PIECES(row_pieces), i, &wrong[w].by, inner);
            size = join(answer_pieces, PIECES(answer_pieces), ROWS, &part, text);
            (void)answer_with(hasty, &lied_to_again[i / 2 % 2], body, bulk(body, text, size));
        }
    }
    /* notices, in answers to changes */
    no_fault();
    assert_int_equal(usher_watch(e, USHER_NUMBER, NULL, safe_watcher, &notices, &watch), USHER_OK);
    part.size = join(notice_pieces, PIECES(notice_pieces), SIZE_MAX, NULL, inner);
    size = join(answer_pieces, PIECES(answer_pieces), NOTICES, &part, text);
    assert_int_equal(answer_with(e, &lied_to[0], body, bulk(body, text, size)), USHER_OK);
    assert_int_equal(notices, 1);
    for (size_t w = 0; w < PIECES(wrong); w++) {
        for (size_t i = 0; i < PIECES(notice_pieces); i++) {
            part.size = join(notice_pieces, PIECES(notice_pieces), i, &wrong[w].by, inner);
            size = join(answer_pieces, PIECES(answer_pieces), NOTICES, &part, text);
            (void)answer_with(e, &lied_to[0], body, bulk(body, text, size));
        }
    }
    no_fault();
    warm(e);
    usher_unwatch(e, watch);
    usher_close(hasty);
    usher_close(e);
    usher_close(direct);
}

/* ---- damaged data
 * --------------------------------------------------------------------- */

#define HASH "{p}:number"
#define INDEX "{p}:number:index"
#define HELD "{p}:number:held"

struct saved {
    redisReply *key[3];
};
static const char *const keys_of_p[] = { HASH, INDEX, HELD };

static redisReply *must(redisReply *reply)
{
    if (reply == NULL)
        fail_msg("%s", redis_reason());
    if (reply->type == REDIS_REPLY_ERROR)
        fail_msg("%s", reply->str);
    return reply;
}

static void save(struct saved *s)
{
    for (int i = 0; i < 3; i++)
        s->key[i] = must(redis_do(server, "DUMP", keys_of_p[i], NULL));
}

static void restore(const struct saved *s)
{
    for (int i = 0; i < 3; i++) {
        const char *argv[] = { "RESTORE", keys_of_p[i], "0", s->key[i]->str, "REPLACE" };
        size_t sizes[] = { 7, strlen(keys_of_p[i]), 1, (size_t)s->key[i]->len, 7 };

        freeReplyObject(must(redis_do_argv(server, 5, argv, sizes)));
    }
}

static void saved_done(struct saved *s)
{
    for (int i = 0; i < 3; i++)
        freeReplyObject(s->key[i]);
}

/* Execute every verb: nothing crashes, every answer is valid, and the connection stays usable. */
static void try_everything(struct usher_engine *e)
{
    uint64_t faults;
    char digest[33];

    for (size_t i = 0; i < TARGETS; i++) {
        struct usher_operation c = targets[i];
        struct usher_result reply;

        c.now_ms = T0 + 1000000; /* all holds and rests expire */
        (void)run(e, &c, &reply);
        assert_is_safe(&reply);
        if (reply.status == USHER_UNKNOWN || reply.status == USHER_UNAVAILABLE)
            assert_is_a_line(reply.message);
        usher_result_done(&reply);
    }
    (void)check_faults(e, NULL, NULL, &faults);
    (void)usher_digest(e, USHER_NUMBER, "p", digest);
}

/* Return whether the damage is found by the audit, or because the audit fails. */
static bool is_found(struct usher_engine *e)
{
    uint64_t faults = 0;
    enum usher_status status = check_faults(e, NULL, NULL, &faults);

    if (status != USHER_OK)
        assert_is_a_line(usher_message());
    return status != USHER_OK || faults > 0;
}

static void put_field(const redisReply *field, const char *value, size_t size)
{
    const char *argv[] = { "HSET", HASH, field->str, value };
    const size_t sizes[] = { 4, sizeof HASH - 1, (size_t)field->len, size };

    freeReplyObject(must(redis_do_argv(server, 4, argv, sizes)));
}

static void put_member(const char *key, bool add, const char *member, size_t size)
{
    const char *argv[] = { add ? "ZADD" : "ZREM", key, add ? "0" : member, member };
    const size_t sizes[] = { 4, strlen(key), add ? 1 : size, size };

    freeReplyObject(must(redis_do_argv(server, add ? 4 : 3, argv, sizes)));
}

TEST(damaged_fields_are_reported)
{
    static char huge[70000];
    static const struct piece wrong[] = {
        PIECE(""),
        PIECE("x"),
        PIECE("\xff"),
        PIECE("busy+up"),
        PIECE("\x90"),
        PIECE("\xc0"),
        PIECE("\xcb\x7f\xf8\0\0\0\0\0\0"),
        PIECE("\xdd\xff\xff\xff\xff"),
        PIECE("\xdb\xff\xff\xff\xff"),
        PIECE("\x9d\xa1x\xa1x\xa1x\xa1x\xa1x\xa1x\xa1x\xa1x\xa1x\xa1x\xa1x\xa1x\xa1x"),
        PIECE("\x96\x01\xa1x\x01\x01\x01\x90"),
        { huge, sizeof huge },
    };
    struct usher_engine *e = open_at(redis_server_port(server), 60), *direct = open_direct();
    struct saved saved;
    struct usher_operation sticky = targets[16];
    struct usher_result reply;
    redisReply *fields;
    uint64_t random = seed + 5;
    unsigned cases = 0, found = 0;

    memset(huge, '7', sizeof huge);
    fresh_world(direct);
    sticky.request.data = "kept";
    sticky.request.size = 4;
    assert_int_equal(run(direct, &sticky, &reply), USHER_OK);
    save(&saved);
    fields = must(redis_do(server, "HGETALL", HASH, NULL));
    assert_true(fields->elements >= 20);
    for (size_t i = 0; i + 1 < fields->elements; i += 2) {
        const redisReply *field = fields->element[i], *value = fields->element[i + 1];
        char text[1024];

        assert_true(value->len > 0 && (size_t)value->len < sizeof text);
        for (size_t w = 0; w < PIECES(wrong); w++) {
            put_field(field, wrong[w].bytes, wrong[w].size);
            if (!is_found(direct))
                fail_msg("%s is wrong in way %zu, and the audit finds nothing", field->str, w);
            if (budget_long() || (i / 2 + w) % 2 == 0)
                try_everything(e);
            restore(&saved);
        }
        /* cut, and with one changed byte */
        for (unsigned k = 0; k < (budget_long() ? 40 : 8); k++) {
            size_t size = (size_t)value->len, at = next_random(&random) % size;

            memcpy(text, value->str, size);
            if (k % 4 == 0)
                size = at;
            else
                text[at] = (char)(text[at] ^ (int)(1 + next_random(&random) % 255));
            put_field(field, text, size);
            cases++;
            found += is_found(direct);
            if (k % 4 == 0 && !is_found(direct))
                fail_msg("%s is cut at %zu, and the audit finds nothing", field->str, at);
            try_everything(e);
            restore(&saved);
        }
        assert_true(redis_do_ok(server, "HDEL", HASH, field->str, NULL));
        if (!is_found(direct) && strcmp(field->str, "settings") != 0 &&
            strcmp(field->str, "head") != 0)
            fail_msg("%s is gone, and the audit finds nothing", field->str);
        try_everything(e);
        restore(&saved);
    }
    print_message("%u of %u found\n", found, cases);
    audit(direct);
    freeReplyObject(fields);
    saved_done(&saved);
    usher_close(e);
    usher_close(direct);
}

/* A record whose fields give an earlier place than the list: a walk that continued after that place
 * would find the record again. */
TEST(a_record_with_a_wrong_place_causes_no_endless_walk)
{
    struct usher_engine *e = open_at(redis_server_port(server), 60), *direct = open_direct();
    const struct usher_operation stats = LINE(STATS, 1000000, 0, ARGS(.max = 0));
    const size_t slots = 11, order = 19, until = 33;
    struct saved saved;
    redisReply *fields;
    unsigned n = 0;

    fresh_world(direct);
    save(&saved);
    fields = must(redis_do(server, "HGETALL", HASH, NULL));
    for (size_t i = 0; i + 1 < fields->elements; i += 2) {
        redisReply *value = fields->element[i + 1];

        if (strncmp(fields->element[i]->str, "1:", 2) != 0 || value->str[slots] == 0)
            continue;
        n++;
        memset(value->str + order, 0, 7);
        put_field(fields->element[i], value->str, (size_t)value->len);
        for (int k = 0; k < 2; k++) {
            struct usher_result reply;

            if (k == 1 && value->str[until + 6] != 0)
                value->str[until + 6]--;
            put_field(fields->element[i], value->str, (size_t)value->len);
            assert_true(is_found(direct));
            (void)run(e, &stats, &reply);
            usher_result_done(&reply);
            assert_true(redis_do_ok(server, "PING", NULL));
            try_everything(e);
            assert_true(redis_do_ok(server, "PING", NULL));
            restore(&saved);
        }
    }
    assert_true(n >= 3);
    audit(direct);
    freeReplyObject(fields);
    saved_done(&saved);
    usher_close(e);
    usher_close(direct);
}

/* A record that cannot be read fails the commands that need it, and no others of the same call. */
TEST(a_damaged_record_fails_only_commands_that_need_it)
{
    static const struct usher_operation commands[] = {
        LINE(REG, 20, 0, ARGS(N("n5"))),
        LINE(ADD, 20, 0, ARGS(N("n6")), REQ("a")),
        LINE(SHOW, 20, 0, ARGS(N("n2"))), /* damaged */
        LINE(UNREG, 20, 0, ARGS(N("n2")), REQ("b")),
        LINE(UNREG, 20, 0, ARGS(N("n1"))),
        LINE(ADD, 20, 0, ARGS(N("n6")), REQ("a")), /* a repeat within the batch */
        LINE(SHOW, 20, 0, ARGS(N("n6"))),
    };
    enum { COMMANDS = sizeof commands / sizeof *commands };
    struct usher_engine *e = open_direct(), *twin = open_twin();

    for (int watched = 0; watched < 2; watched++) {
        struct usher_result replies[COMMANDS], expected;
        struct usher_watcher *watch = NULL;
        unsigned notices = 0;
        redisReply *intact;
        uint64_t faults = 0;
        char wanted[33], now[33];

        usher_close(twin);
        twin = open_twin();
        make_world(twin);
        fresh_world(e);
        intact = must(redis_do(server, "HGET", HASH, "1:n2", NULL));
        assert_int_equal(intact->type, REDIS_REPLY_STRING);
        if (watched == 1)
            assert_int_equal(usher_watch(e, USHER_NUMBER, NULL, safe_watcher, &notices, &watch),
                             USHER_OK);
        assert_true(redis_do_ok(server, "HSET", HASH, "1:n2", "x", NULL));
        (void)usher_operate(e, commands, replies, COMMANDS);
        for (size_t i = 0; i < COMMANDS; i++) {
            if (i == 2 || i == 3) {
                if (replies[i].status != USHER_UNAVAILABLE && replies[i].status != USHER_UNKNOWN)
                    fail_msg("command %zu: %s", i, usher_status_word(replies[i].status));
                assert_is_a_line(replies[i].message);
                continue;
            }
            (void)run(twin, &commands[i], &expected);
            if (!replies_equal(commands[i].verb, &expected, &replies[i], stderr))
                fail_msg("command %zu: %s %s", i, usher_status_word(replies[i].status),
                         replies[i].message);
            usher_result_done(&expected);
            usher_result_done(&replies[i]);
        }
        /* n4's hold ended, n5, n6, n1 */
        assert_int_equal(notices, watched == 1 ? 4 : 0);
        (void)check_faults(e, NULL, NULL, &faults);
        assert_true(faults > 0);
        {
            const char *argv[] = { "HSET", HASH, "1:n2", intact->str };
            const size_t sizes[] = { 4, sizeof HASH - 1, 4, (size_t)intact->len };

            freeReplyObject(must(redis_do_argv(server, 4, argv, sizes)));
        }
        audit(e);
        digest_of(e, "p", now);
        digest_of(twin, "p", wanted);
        assert_string_equal(now, wanted);
        freeReplyObject(intact);
        usher_unwatch(e, watch);
    }
    usher_close(twin);
    usher_close(e);
}

/* A list of the index without a counterpart among the records. */
#define AT7 "\0\0\0\0\0\0\x01"
TEST(a_damaged_index_is_reported)
{
    static const struct piece extra[] = {
        PIECE(""),
        PIECE("!x"),
        PIECE("1"),
        PIECE("1n"),
        PIECE("1nx"),
        PIECE("2nx"),
        PIECE("9nx"),
        PIECE("10"),
        PIECE("10" AT7 AT7),
        PIECE("11" AT7),
        PIECE("12"),
        PIECE("12" AT7),
        PIECE("13" AT7 AT7 "x"),
        PIECE("1a"),
        PIECE("1ag"),
        PIECE("1a\0" AT7 AT7 "n1"),
        PIECE("1ag\0"),
        PIECE("1cann\0"),
        PIECE("1cbob\0" AT7 "n3"),
        PIECE("1d" AT7 AT7 "n1"),
        PIECE("n"),
        PIECE("zzz"),
        PIECE("\xff\xff"),
        PIECE("10" AT7 AT7 "nowhere"),
        PIECE("11" AT7 AT7 "nowhere"),
        PIECE("12" AT7 "nowhere"),
        PIECE("1cbob\0" AT7 "nowhere"),
        PIECE("1ag\0" AT7 AT7 "nowhere"),
        PIECE("40" AT7 AT7 "nowhere"),
        PIECE("30" AT7 AT7 "nowhere"),
    };
    struct usher_engine *e = open_at(redis_server_port(server), 60), *direct = open_direct();
    struct saved saved;
    struct usher_operation sticky = targets[16];
    struct usher_result reply;

    fresh_world(direct);
    sticky.request.data = "kept";
    sticky.request.size = 4;
    assert_int_equal(run(direct, &sticky, &reply), USHER_OK);
    save(&saved);
    for (int k = 1; k < 3; k++) {
        redisReply *members = must(redis_do(server, "ZRANGE", keys_of_p[k], "0", "-1", NULL));

        assert_true(members->elements > 4);
        for (size_t i = 0; i < members->elements; i++) {
            const redisReply *member = members->element[i];

            put_member(keys_of_p[k], false, member->str, (size_t)member->len);
            if (!is_found(direct))
                fail_msg("member %zu (%.2s) is gone, and the audit finds nothing", i, member->str);
            try_everything(e);
            restore(&saved);
            /* in the other set */
            put_member(keys_of_p[k], false, member->str, (size_t)member->len);
            put_member(keys_of_p[3 - k], true, member->str, (size_t)member->len);
            if (!is_found(direct))
                fail_msg("member %zu (%.2s) is elsewhere, and the audit finds nothing", i,
                         member->str);
            try_everything(e);
            restore(&saved);
        }
        for (size_t i = 0; i < PIECES(extra); i++) {
            put_member(keys_of_p[k], true, extra[i].bytes, extra[i].size);
            if (!is_found(direct))
                fail_msg("strange member %zu (%.2s), and the audit finds nothing", i,
                         extra[i].bytes);
            try_everything(e);
            restore(&saved);
        }
        freeReplyObject(members);
    }
    /* keys of another type, or missing keys */
    for (int k = 1; k < 3; k++) {
        assert_true(redis_do_ok(server, "DEL", keys_of_p[k], NULL));
        assert_true(is_found(direct));
        try_everything(e);
        restore(&saved);
    }
    assert_true(redis_do_ok(server, "DEL", HASH, NULL));
    try_everything(e);
    restore(&saved);
    for (int k = 0; k < 3; k++) {
        assert_true(redis_do_ok(server, "FLUSHALL", NULL));
        assert_true(redis_do_ok(server, "SET", keys_of_p[k], "text", NULL));
        assert_true(k > 0 || is_found(direct));
        try_everything(e);
    }
    assert_true(redis_do_ok(server, "FLUSHALL", NULL));
    restore(&saved);
    audit(direct);
    saved_done(&saved);
    usher_close(e);
    usher_close(direct);
}

static bool same_bytes(const redisReply *a, const redisReply *b)
{
    return a->len == b->len && memcmp(a->str, b->str, (size_t)a->len) == 0;
}

/* Return whether both replies have the same groups of @each, in any order: a hash may reorder its
 * fields when it is read. */
static void assert_same_pairs(const redisReply *a, const redisReply *b, size_t each)
{
    assert_true(a->elements == b->elements);
    for (size_t i = 0; i < a->elements; i += each) {
        size_t k = 0;

        while (k < b->elements && !same_bytes(a->element[i], b->element[k]))
            k += each;
        assert_true(k < b->elements);
        for (size_t n = 0; n < each; n++)
            assert_true(same_bytes(a->element[i + n], b->element[k + n]));
    }
}

TEST(an_unknown_format_is_invalid_and_not_changed)
{
    struct usher_engine *e = open_direct();
    redisReply *head, *dump[2][3];
    const char *argv[] = { "HSET", HASH, "head", NULL };
    size_t sizes[] = { 4, sizeof HASH - 1, 4, 0 };
    char other[256], format;

    fresh_world(e);
    head = must(redis_do(server, "HGET", HASH, "head", NULL));
    assert_true(head->len > 2 && (size_t)head->len < sizeof other);
    format = head->str[0];
    memcpy(other, head->str, (size_t)head->len);
    argv[3] = other;
    sizes[3] = (size_t)head->len;
    for (int k = 0; k < 3; k++) {
        const char formats[] = { (char)(format + 1), 0, (char)(format - 1) };

        other[0] = formats[k];
        freeReplyObject(must(redis_do_argv(server, 4, argv, sizes)));
        dump[0][0] = must(redis_do(server, "HGETALL", HASH, NULL));
        dump[0][1] = must(redis_do(server, "ZRANGE", INDEX, "0", "-1", NULL));
        dump[0][2] = must(redis_do(server, "ZRANGE", HELD, "0", "-1", NULL));
        for (size_t i = 0; i < TARGETS; i++) {
            struct usher_result reply;

            if (run(e, &targets[i], &reply) != USHER_INVALID)
                fail_msg("%s: %s", usher_verb_word(targets[i].verb),
                         usher_status_word(reply.status));
            assert_non_null(strstr(reply.message, "format"));
        }
        assert_true(is_found(e));
        dump[1][0] = must(redis_do(server, "HGETALL", HASH, NULL));
        dump[1][1] = must(redis_do(server, "ZRANGE", INDEX, "0", "-1", NULL));
        dump[1][2] = must(redis_do(server, "ZRANGE", HELD, "0", "-1", NULL));
        for (int d = 0; d < 3; d++) {
            assert_same_pairs(dump[0][d], dump[1][d], d == 0 ? 2 : 1);
            freeReplyObject(dump[0][d]);
            freeReplyObject(dump[1][d]);
        }
    }
    other[0] = format;
    freeReplyObject(must(redis_do_argv(server, 4, argv, sizes)));
    audit(e);
    freeReplyObject(head);
    usher_close(e);
}

/* ---- rights
 * ------------------------------------------------------------------------------------------------
 */

/* As documented in backends/redis/README.md. */
#define RIGHTS_KEYS "~{*}:number ~{*}:number:index ~{*}:number:held"
static const char *const rights[] = {
    "+evalsha",        "+script|load",    "+time",       "+hget",   "+hmget", "+hset",
    "+hdel",           "+zadd",           "+zrem",       "+scan",   "+hscan", "+zrangebylex",
    "+zrevrangebylex", "+client|setname", "+config|get", "+exists",
};
#define RIGHTS (sizeof rights / sizeof *rights)

static enum usher_status open_as(const char *leave_out, const char *keys,
                                 struct usher_engine **ret_engine)
{
    const char *argv[RIGHTS + 10] = { "ACL", "SETUSER", "least", "reset", "on", ">s3cret" };
    size_t sizes[RIGHTS + 10];
    char words[128], url[128];
    struct usher_options options = USHER_OPTIONS_INIT;
    int n = 6;

    (void)snprintf(words, sizeof words, "%s", keys);
    for (char *save = NULL, *word = strtok_r(words, " ", &save); word != NULL;
         word = strtok_r(NULL, " ", &save))
        argv[n++] = word;
    for (size_t i = 0; i < RIGHTS; i++)
        if (leave_out == NULL || strcmp(rights[i], leave_out) != 0)
            argv[n++] = rights[i];
    for (int i = 0; i < n; i++)
        sizes[i] = strlen(argv[i]);
    freeReplyObject(must(redis_do_argv(server, n, argv, sizes)));
    options.timeout_ms = PATIENT;
    (void)snprintf(url, sizeof url, "redis://least:s3cret@127.0.0.1:%d?clock=given",
                   redis_server_port(server));
    *ret_engine = NULL;
    return usher_open(url, &options, ret_engine);
}

TEST(the_least_rights_are_enough)
{
    struct usher_engine *e, *direct = open_direct();
    struct usher_watcher *watch;
    unsigned notices = 0;
    char digest[33];

    if (open_as(NULL, RIGHTS_KEYS, &e) != USHER_OK)
        fail_msg("%s", usher_message());
    assert_int_equal(usher_watch(e, USHER_NUMBER, NULL, safe_watcher, &notices, &watch), USHER_OK);
    for (size_t i = 0; i < TARGETS; i++) {
        struct expected x = expect(&targets[i]);
        struct usher_result reply;

        assert_true(redis_do_ok(server, "FLUSHALL", NULL));
        make_world(e);
        (void)run(e, &targets[i], &reply);
        if (!replies_equal(targets[i].verb, &x.first, &reply, stderr))
            fail_msg("target %zu: %s", i, reply.message);
        usher_result_done(&reply);
        digest_of(e, "p", digest);
        assert_string_equal(digest, x.after);
        audit(e);
        expected_done(&x);
    }
    assert_true(redis_do_ok(server, "SCRIPT", "FLUSH", NULL));
    assert_int_equal(ask_number_add(e, "q", "n1", NULL), USHER_OK);
    assert_true(notices > 0);
    usher_unwatch(e, watch);
    usher_close(e);
    usher_close(direct);
}

TEST(a_user_without_one_right_fails_with_its_name)
{
    static const char *const unneeded[] = { "+client|setname", "+config|get", "+time" };
    struct usher_engine *direct = open_direct();

    for (size_t i = 0; i < RIGHTS; i++) {
        struct usher_engine *e;
        enum usher_status status;
        bool failed, needed = true;

        for (size_t k = 0; k < sizeof unneeded / sizeof *unneeded; k++)
            needed = needed && strcmp(rights[i], unneeded[k]) != 0;
        fresh_world(direct);
        status = open_as(rights[i], RIGHTS_KEYS, &e);
        failed = status != USHER_OK;
        if (failed) {
            assert_int_equal(status, USHER_UNAVAILABLE);
            assert_is_a_line(usher_message());
            assert_null(strstr(usher_message(), "s3cret"));
        } else {
            struct usher_number_result_statistics stats;
            uint64_t faults;

            for (size_t t = 0; t < TARGETS; t++) {
                struct usher_operation c = targets[t];
                struct usher_result reply;

                /* nothing is due: each command is one change */
                c.now_ms = T0 + 12;
                if (t % 4 == 0)
                    fresh_world(direct);
                status = run(e, &c, &reply);
                if (status == USHER_UNAVAILABLE || status == USHER_UNKNOWN) {
                    failed = true;
                    assert_is_a_line(reply.message);
                }
                usher_result_done(&reply);
                /* rights are checked before anything is done */
                assert_int_equal(check_faults(direct, NULL, NULL, &faults), USHER_OK);
                if (faults != 0)
                    fail_msg("without %s, %s is done by half: %s", rights[i],
                             usher_verb_word(c.verb), usher_status_word(reply.status));
                if (reply.status == USHER_UNKNOWN)
                    fresh_world(direct);
            }
            /* the server's clock, the other end of the list of idle numbers */
            fresh_world(direct);
            failed = failed || ask_number_stats(e, "p", &stats) != USHER_OK;
            for (int k = 0; k < 2; k++) {
                static const struct usher_operation last[] = {
                    LINE(SET, 12, USHER_GIVEN_ORDER, ARGS(.order = USHER_NUMBER_ORDER_MOST_RECENT)),
                    LINE(CALL, 12, 0, ARGS(.max = 0)),
                };
                struct usher_result reply;

                status = run(e, &last[k], &reply);
                failed = failed || status == USHER_UNAVAILABLE || status == USHER_UNKNOWN;
            }
            fresh_world(direct);
            status = check_faults(e, NULL, NULL, &faults);
            if (status != USHER_OK) {
                failed = true;
                assert_int_equal(status, USHER_UNAVAILABLE);
            }
            usher_close(e);
        }
        if (failed != needed)
            fail_msg("%s: %s", rights[i],
                     needed ? "nothing fails without it" : "something fails without it");
    }
    /* a right is taken away from a connected user: only an unknown command may be half done */
    for (size_t i = 0; i < RIGHTS; i++) {
        struct usher_engine *e;
        char taken[32];

        fresh_world(direct);
        assert_int_equal(open_as(NULL, RIGHTS_KEYS, &e), USHER_OK);
        warm(e);
        (void)snprintf(taken, sizeof taken, "-%s", rights[i] + 1);
        assert_true(redis_do_ok(server, "ACL", "SETUSER", "least", taken, NULL));
        for (size_t t = 0; t < TARGETS; t++) {
            struct usher_operation c = targets[t];
            struct usher_result reply;
            uint64_t faults;

            c.now_ms = T0 + 12;
            (void)run(e, &c, &reply);
            usher_result_done(&reply);
            assert_int_equal(check_faults(direct, NULL, NULL, &faults), USHER_OK);
            if (faults != 0 && reply.status != USHER_UNKNOWN)
                fail_msg("when %s is taken away, %s is done by half: %s", rights[i],
                         usher_verb_word(c.verb), usher_status_word(reply.status));
            if (faults != 0)
                fresh_world(direct);
        }
        usher_close(e);
    }
    /* keys of others */
    {
        struct usher_engine *e;

        assert_int_equal(open_as(NULL, "~other:*", &e), USHER_OK);
        assert_int_equal(ask_number_add(e, "p", "n9", NULL), USHER_UNAVAILABLE);
        assert_is_a_line(usher_message());
        usher_close(e);
    }
    usher_close(direct);
}

/* ---- direct calls -------------------------------------------------------------------- */

static char *script_text(void)
{
    size_t length = 0;
    char *text;

    assert_int_equal(usher_lua("number", NULL, 0, &length), USHER_OK);
    assert_true(length > 1000);
    text = malloc(length + 1);
    assert_non_null(text);
    assert_int_equal(usher_lua("number", text, length + 1, &length), USHER_OK);
    assert_true(strlen(text) == length);
    return text;
}

static redisReply *by_hand(const char *sha, const char *key, const char *verb, const char *number)
{
    redisReply *reply = redis_do(server, "EVALSHA", sha, "1", key, verb, number, NULL);

    return must(reply);
}

/* Check an answer, which is names and values: first the status, then the epoch or the message. */
static void assert_answer(redisReply *reply, const char *word)
{
    assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
    assert_true(reply->elements >= 4 && reply->elements % 2 == 0);
    assert_string_equal(reply->element[0]->str, "status");
    if (strcmp(reply->element[1]->str, word) != 0)
        fail_msg("%s (%s), not %s", reply->element[1]->str, reply->element[3]->str, word);
    assert_string_equal(reply->element[2]->str, strcmp(word, "invalid") == 0 ? "message" : "epoch");
    freeReplyObject(reply);
}

TEST(a_direct_call_of_the_script_works)
{
    char *text = script_text();
    redisReply *sha = must(redis_do(server, "SCRIPT", "LOAD", text, NULL));
    struct usher_engine *e = open_direct(), *twin = open_twin();
    struct usher_number_result_row row;
    redisReply *reply;
    static const char *const renewals[][5] = { { "1", "token", "9", "node", "m" },
                                               { "1", "token", "9", "after", "5" },
                                               { "node", "m", "token", "9" },
                                               { "node", "m", "owner", "a" },
                                               { "owner", "a" } };
    static const char *const slips[][2] = { { "now", "soon" }, { "now", "-1" },  { "req", "" },
                                            { "req", "a\nb" }, { "token", "1" }, { "group", "" } };

    assert_answer(must(redis_do(server, "EVALSHA", sha->str, "1", "{numpool}", "call", NULL)),
                  "empty");
    assert_answer(by_hand(sha->str, "{numpool}", "reg", "123456"), "missing");
    assert_answer(by_hand(sha->str, "{numpool}", "add", "123456"), "ok");
    assert_answer(by_hand(sha->str, "{numpool}", "add", "123456"), "same");
    assert_answer(by_hand(sha->str, "{numpool}", "reg", "123456"), "ok");
    reply = must(redis_do(server, "EVALSHA", sha->str, "1", "{numpool}", "call", NULL));
    assert_string_equal(reply->element[6]->str, "due");
    assert_string_equal(reply->element[8]->str, "now");
    assert_string_equal(reply->element[10]->str, "number");
    assert_string_equal(reply->element[11]->str, "123456");
    assert_answer(reply, "ok");
    assert_answer(by_hand(sha->str, "{numpool}", "call", "123456"), "refused");
    row = row_of(e, "numpool", "123456"); /* the library uses the same pool */
    assert_int_equal(row.state, USHER_NUMBER_STATE_BUSY_UP);
    /* no token of an earlier store can be one of this pool */
    assert_true(row.token > UINT64_C(1) << 20);
    assert_int_equal(ask_number_hangup(e, "numpool", "123456", row.token, -1), USHER_OK);
    reply = must(redis_do(server, "EVALSHA", sha->str, "1", "{numpool}", "call", "123456", "owner",
                          "ann", "lease", "60000", NULL));
    assert_answer(reply, "ok");
    assert_answer(by_hand(sha->str, "{numpool}", "hangup", "123456"), "ok");
    assert_answer(by_hand(sha->str, "{numpool}", "unreg", "123456"), "ok");
    assert_answer(by_hand(sha->str, "{numpool}", "del", "123456"), "ok");
    assert_answer(by_hand(sha->str, "{numpool}", "del", "123456"), "same");
    audit(e);
    /* mistakes of callers */
    assert_answer(by_hand(sha->str, "{numpool}", "", ""), "invalid");
    assert_answer(by_hand(sha->str, "{numpool}", "nosuch", "1"), "invalid");
    assert_answer(by_hand(sha->str, "{numpool}", "add", ""), "invalid");
    assert_answer(by_hand(sha->str, "{numpool}", "add", "a\tb"), "invalid");
    assert_answer(must(redis_do(server, "EVALSHA", sha->str, "1", "{numpool}", NULL)), "invalid");
    assert_answer(must(redis_do(server, "EVALSHA", sha->str, "1", "{numpool}", "add", NULL)),
                  "invalid");
    assert_answer(
        must(redis_do(server, "EVALSHA", sha->str, "1", "{numpool}", "add", "1", "group", NULL)),
        "invalid");
    assert_answer(must(redis_do(server, "EVALSHA", sha->str, "1", "{numpool}", "add", "1", "nosuch",
                                "x", NULL)),
                  "invalid");
    assert_answer(must(redis_do(server, "EVALSHA", sha->str, "1", "{numpool}", "renew", NULL)),
                  "invalid");
    for (size_t i = 0; i < sizeof renewals / sizeof *renewals; i++)
        assert_answer(
            must(redis_do(server, "EVALSHA", sha->str, "1", "{numpool}", "renew", renewals[i][0],
                          renewals[i][1], renewals[i][2], renewals[i][3], renewals[i][4], NULL)),
            "invalid");
    assert_answer(must(redis_do(server, "EVALSHA", sha->str, "1", "{numpool}", "free", NULL)),
                  "invalid");
    assert_answer(must(redis_do(server, "EVALSHA", sha->str, "1", "{numpool}", "list", "owner", "a",
                                "after", "n1", NULL)),
                  "invalid");
    /* keys on any slot, or that do not belong to a scope */
    assert_answer(by_hand(sha->str, "numpool", "add", "1"), "invalid");
    assert_answer(by_hand(sha->str, "{}numpool", "add", "1"), "invalid");
    assert_answer(by_hand(sha->str, "{numpool", "add", "1"), "invalid");
    assert_answer(by_hand(sha->str, "{a}{numpool}", "add", "1"), "invalid");
    assert_answer(by_hand(sha->str, "{numpool}x", "add", "1"), "invalid");
    assert_answer(by_hand(sha->str, "{numpool}", "call", ""), "invalid");
    assert_answer(by_hand(sha->str, "{numpool}", "stats", "1"), "invalid");
    assert_answer(by_hand(sha->str, "{numpool}", "add", "\xff"), "invalid");
    for (size_t i = 0; i < sizeof slips / sizeof *slips; i++)
        assert_answer(must(redis_do(server, "EVALSHA", sha->str, "1", "{numpool}", "add", "1",
                                    slips[i][0], slips[i][1], NULL)),
                      "invalid");
    assert_answer(must(redis_do(server, "EVALSHA", sha->str, "1", "{numpool}", "set", "", "order",
                                "7", NULL)),
                  "invalid");
    audit(e);
    freeReplyObject(sha);
    free(text);
    usher_close(twin);
    usher_close(e);
}

/* ---- a network cut ------------------------------------------------------------------------ */

static struct net_cut network;
static struct redis_server *far; /* at the other end of the network cut */

static int net_cut_end(void **state)
{
    (void)state;
    if (far != NULL) { /* else the network cut may not exist */
        net_cut_enter(&network, 1);
        redis_server_stop(far);
    }
    far = NULL;
    net_cut_done(&network);
    return 0;
}

static struct usher_engine *open_far(int end, int64_t timeout_ms)
{
    struct usher_options options = USHER_OPTIONS_INIT;
    struct usher_engine *e = NULL;
    char url[REDIS_URL_MAX];

    net_cut_enter(&network, end);
    options.timeout_ms = timeout_ms;
    assert_int_equal(usher_open(redis_server_url(far, url), &options, &e), USHER_OK);
    return e;
}

/* A call times out, is repeated, and ends.  The first request must not arrive afterwards: the
 * number would be held, and no client would have its token. */
TEST_WITH(a_request_past_its_deadline_never_arrives_later, NULL, net_cut_end)
{
    struct redis_server_options options = { .address = net_cut_address[1] };
    struct usher_number_result_row row;
    struct ask_number_hold hold;
    struct usher_engine *near, *e;
    enum usher_status status;
    int64_t until_ms;

    net_cut_lay_or_skip(&network);
    options.netns = network.end[1];
    far = redis_server_start(&options);
    assert_non_null(far);
    near = open_far(0, 1700); /* the kernel retransmits several times */
    e = open_far(1, PATIENT);
    assert_true(USHER_IS_DONE(ask_number_add(e, "p", "n", NULL)));
    assert_true(USHER_IS_DONE(ask_number_reg(e, "p", "n")));
    do { /* again, if the machine was too slow to send it in time */
        net_cut_enter(&network, 0);
        warm(near);
        assert_true(net_cut_pull(&network));
        net_cut_enter(&network, 0);
        status = ask_number_call(near, "p", "ann", NULL, &hold);
        assert_true(net_cut_plug(&network));
    } while (status == USHER_UNAVAILABLE);
    assert_int_equal(status, USHER_UNKNOWN);
    net_cut_enter(&network, 1);
    assert_int_equal(ask_number_call(e, "p", "ann", NULL, &hold), USHER_OK);
    assert_int_equal(ask_number_hangup(e, "p", "n", 0, -1), USHER_OK);
    /* TCP sends it again 200, 400, 800 ms after the last time */
    for (until_ms = clock_ms() + 2000; clock_ms() < until_ms;) {
        row = row_of(e, "p", "n");
        assert_int_equal(row.state, USHER_NUMBER_STATE_IDLE_UP);
    }
    usher_close(near);
    usher_close(e);
}

#ifdef __linux__
enum { DONE, FORBIDDEN, NOT_MAPPED };

/* In a process of an ordinary user: make a network cut, or only check its requirements. */
static int by_a_user(bool lay)
{
    struct net_cut c;
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
            _exit(NOT_MAPPED);
        (void)prctl(PR_SET_DUMPABLE, 1); /* else /proc/self is root's */
        if (!lay)
            _exit(system("unshare -Urn ip link set lo up 2>/dev/null") == 0 ? DONE : FORBIDDEN);
        net_cut_prepare();
        _exit(net_cut_lay(&c) ? DONE : FORBIDDEN);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

TEST_WITH(a_network_cut_needs_no_root, NULL, NULL)
{
    int first = by_a_user(false);

    if (first == NOT_MAPPED)
        return; /* this whole program is in a user namespace */
    if (first == FORBIDDEN)
        left_out("no user namespaces for ordinary users here");
    assert_int_equal(by_a_user(true), DONE);
}
#endif

/* ---- main
 * -------------------------------------------------------------------------------------------------------
 */

static int program_begin(void)
{
    const char *given = getenv("USHER_SEED");

    seed = given != NULL ? strtoull(given, NULL, 10) : (uint64_t)clock_ms();
    print_message("USHER_SEED=%" PRIu64 "\n", seed);
    net_cut_prepare();
    server = redis_server_start(NULL);
    if (server == NULL)
        return redis_skip();
    proxy = proxy_start(redis_server_port(server));
    if (proxy == NULL) {
        (void)fprintf(stderr, "no proxy\n");
        return 1;
    }
    for (size_t i = 0; i < OTHERS; i++)
        timed_line(&other_lines[i], others[i]);
    return 0;
}

static void program_end(void)
{
    for (size_t i = 0; i < OTHERS; i++)
        line_done(&other_lines[i]);
    proxy_stop(proxy);
    redis_server_stop(server);
}

TEST_PROGRAM(program_begin, program_end);
