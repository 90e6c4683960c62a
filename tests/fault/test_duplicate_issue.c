/* SPDX-License-Identifier: MIT */
/*
 * A number that is issued a second time.  A store that is put back from a copy does not do it if
 * the loss can be noticed; if it cannot, the journal reports the number.  Correct histories are not
 * reported.  S17 of the specification.
 *
 * Stores: own (rollback, in memory), SQLite, Redis.  Authorities: SQLite, and the one of tests/lib.
 */
#include "lib/test.h"

#include <pthread.h>
#include <signal.h>

#include <sqlite3.h>

#include <usher/store/authority.h>

#include "lib/calls.h"
#include "lib/rollback_store.h"
#include "lib/command_line.h"
#include "lib/fake_authority.h"
#include "lib/servers.h"
#include "lib/util.h"

/* 2023-12-28 10:00 UTC */
#define MORNING (INT64_C(1703721600000) + INT64_C(36000000))
#define DAY INT64_C(86400000)

TEST_SERVER(server);
static unsigned files;

/* ---- a store, its authority, and a copy of it ---------------------------------------------- */

struct logged {
    pthread_mutex_t lock;
    unsigned errors;
    char line[400]; /* the last error */
};

#define PATIENCE_MS 60000

struct world {
    const char *name;
    char url[REDIS_URL_MAX + 300], path[256], authority[256];
    struct usher_engine *e;
    struct usher_options opt;
    struct usher_authority *own; /* instead of the file */
    struct logged logged;
    struct rollback_copy *copy;
    uint64_t which;
    int64_t now;
};

static int64_t now_of(void *payload)
{
    return ((const struct world *)payload)->now;
}

static void note(void *payload, enum usher_log_level level, const char *line)
{
    struct world *w = payload;

    if (level != USHER_LOG_ERROR)
        return;
    (void)pthread_mutex_lock(&w->logged.lock);
    w->logged.errors++;
    (void)snprintf(w->logged.line, sizeof w->logged.line, "%s", line);
    (void)pthread_mutex_unlock(&w->logged.lock);
}

static struct usher_engine *engine_of(struct world *w)
{
    struct usher_engine *e = NULL;

    if (usher_open(w->url, &w->opt, &e) != USHER_OK)
        fail_msg("%s: %s", w->url, usher_message());
    return e;
}

/* @own NULL: an authority in a file. */
static void world_open(struct world *w, const char *name, struct usher_authority *own)
{
    char url[REDIS_URL_MAX], with[300] = "";

    memset(w, 0, sizeof *w);
    w->name = name;
    w->now = MORNING;
    w->opt = (struct usher_options)USHER_OPTIONS_INIT;
    w->opt.drivers = &rollback_driver;
    w->opt.clock_given = true;
    w->opt.timeout_ms = PATIENCE_MS; /* long, so that a loaded machine causes no failure */
    w->opt.now_ms = now_of;
    w->opt.log = note;
    w->opt.payload = w;
    w->opt.authority = own;
    w->opt.journal = true;
    w->own = own;
    (void)pthread_mutex_init(&w->logged.lock, NULL);
    (void)snprintf(w->path, sizeof w->path, "%s/%u.db", test_dir(), files++);
    (void)snprintf(w->authority, sizeof w->authority, "%s/%u.db", test_dir(), files++);
    if (own == NULL)
        (void)snprintf(with, sizeof with, "?authority=sqlite:%s", w->authority);
    if (strcmp(name, "redis") == 0) {
        assert_true(redis_do_ok(server, "FLUSHALL", NULL));
        (void)snprintf(w->url, sizeof w->url, "%s%s", redis_server_url(server, url), with);
    } else if (strcmp(name, "sqlite") == 0) {
        (void)snprintf(w->url, sizeof w->url, "sqlite:%s%s", w->path, with);
    } else {
        (void)snprintf(w->url, sizeof w->url, "rollback:%s", with);
    }
    w->e = engine_of(w);
    if (strcmp(name, "rollback") == 0) {
        struct rollback_copy *copy = rollback_copy();

        w->which = 100;
        rollback_become(copy, w->which);
        rollback_free(copy);
    }
}

static void world_close(struct world *w)
{
    usher_close(w->e);
    rollback_free(w->copy);
    (void)pthread_mutex_destroy(&w->logged.lock);
}

/* Run "cp" or "mv" on the files whose names begin with that of the store. */
static void file(const struct world *w, const char *command, const char *from, const char *to)
{
    char line[1200];

    (void)snprintf(line, sizeof line, "%s '%s%s' '%s%s'", command, w->path, from, w->path, to);
    assert_int_equal(system(line), 0);
}

static void script(const char *text)
{
    assert_true(redis_do_ok(server, "EVAL", text, "0", NULL));
}

static void back_up(struct world *w)
{
    if (strcmp(w->name, "redis") == 0) {
        script("for _, k in ipairs(redis.call('KEYS', '{*')) do"
               " redis.call('COPY', k, 'old:' .. k, 'REPLACE') end");
        assert_true(redis_do_ok(server, "SAVE", NULL));
    } else if (strcmp(w->name, "sqlite") == 0) {
        usher_close(w->e); /* all is in the file then */
        file(w, "cp", "", ".old");
        w->e = engine_of(w);
    } else {
        rollback_free(w->copy);
        w->copy = rollback_copy();
        assert_non_null(w->copy);
    }
}

/* Put the store back from its copy.  @unseen: in a way that cannot be noticed. */
static void put_back(struct world *w, bool unseen)
{
    if (strcmp(w->name, "redis") == 0) {
        if (unseen) {
            script("for _, k in ipairs(redis.call('KEYS', '{*')) do redis.call('DEL', k) end"
                   " for _, k in ipairs(redis.call('KEYS', 'old:*')) do"
                   " redis.call('COPY', k, string.sub(k, 5), 'REPLACE') end");
        } else {
            assert_int_equal(redis_server_kill(server, SIGKILL), 0);
            assert_true(redis_server_restart(server));
        }
    } else if (strcmp(w->name, "sqlite") == 0) {
        usher_close(w->e);
        file(w, "cp", ".old", unseen ? "" : ".new"); /* over it; or another file */
        if (!unseen)
            file(w, "mv", ".new", "");
        w->e = engine_of(w);
    } else {
        rollback_become(w->copy, unseen ? w->which : ++w->which);
    }
}

static enum usher_status run(struct world *w, struct usher_result *r, const char *line)
{
    enum usher_status status = line_execute(w->e, r, "%s", line);

    if (status >= USHER_INVALID)
        fail_msg("%s: %s: %s: %s", w->name, line, usher_status_word(status), r->message);
    return status;
}

static void must(struct world *w, enum usher_status status, const char *line)
{
    struct usher_result r;

    if (run(w, &r, line) != status)
        fail_msg("%s: %s: %s", w->name, line, usher_status_word(r.status));
    usher_result_done(&r);
}

/* Execute @line; return the number of the first serial that it issues. */
static int64_t issue(struct world *w, const char *line, uint64_t *ret_token)
{
    struct usher_result r;
    int64_t number;

    if (run(w, &r, line) != USHER_OK)
        fail_msg("%s: %s: %s", w->name, line, usher_status_word(r.status));
    number = r.of.serial.rows[0].first;
    if (ret_token != NULL)
        *ret_token = r.of.serial.token;
    usher_result_done(&r);
    return number;
}

static void end_serial(struct world *w, const char *verb, const char *serial, uint64_t token)
{
    char line[100];

    (void)snprintf(line, sizeof line, "serial %s g %s token=%" PRIu64, verb, serial, token);
    must(w, USHER_OK, line);
}

struct lines {
    char line[12][300];
    unsigned n;
};

static void add_line(void *payload, const char *line)
{
    struct lines *to = payload;

    if (to->n < 12)
        (void)snprintf(to->line[to->n], sizeof to->line[to->n], "%s", line);
    to->n++;
}

static uint64_t faults(struct world *w, struct lines *lines)
{
    uint64_t n = UINT64_MAX;

    memset(lines, 0, sizeof *lines);
    if (check_faults(w->e, add_line, lines, &n) != USHER_OK)
        fail_msg("%s: %s", w->name, usher_message());
    return n;
}

static void check_no_fault(struct world *w)
{
    struct lines lines;

    if (faults(w, &lines) != 0)
        fail_msg("%s: %s", w->name, lines.line[0]);
    if (w->logged.errors != 0)
        fail_msg("%s: %s", w->name, w->logged.line);
}

static const char *const stores[] = { "rollback", "sqlite", "redis" };
#define EACH_STORE(name)                                                             \
    for (size_t name##_i = 0; name##_i < sizeof stores / sizeof *stores; name##_i++) \
        for (const char *name = stores[name##_i]; name != NULL; name = NULL)

/* ---- put back -------------------------------------------------------------------------------- */

/* The numbers are within the granted range, so the authority's maximum cannot show the loss. */
TEST(a_store_put_back_from_a_copy_repeats_nothing)
{
    EACH_STORE(name)
    {
        struct world w;
        struct usher_result r;
        uint64_t token, lost;
        int64_t id;

        world_open(&w, name, NULL);
        must(&w, USHER_OK, "serial rule q prefix=Q critical=5 batch=10");
        must(&w, USHER_OK, "serial rule g prefix=G mode=gapfree");
        must(&w, USHER_OK, "id create i step=100");
        assert_int_equal(issue(&w, "serial take q n=2", NULL), 1);
        assert_int_equal(issue(&w, "serial reserve g", &token), 1);
        end_serial(&w, "return", "G1", token);
        must(&w, USHER_OK, "id next i n=2");
        back_up(&w);
        w.now += 1000;
        assert_int_equal(issue(&w, "serial take q n=3 req=order-7", NULL), 3);
        assert_int_equal(issue(&w, "serial reserve g", &lost), 1);
        end_serial(&w, "confirm", "G1", lost);
        assert_int_equal(run(&w, &r, "id next i n=3"), USHER_OK);
        id = r.of.id.first + 2;
        usher_result_done(&r);
        put_back(&w, false);
        w.now += 1000;
        assert_true(issue(&w, "serial take q n=3 req=order-8", NULL) > 5);
        assert_true(issue(&w, "serial take q req=order-7", NULL) >
                    8); /* it is not known any more */
        assert_true(issue(&w, "serial reserve g", &token) > 1);
        must(&w, USHER_OK, "serial fill q 3");
        must(&w, USHER_OK, "serial tick q");
        assert_int_equal(run(&w, &r, "id next i"), USHER_OK);
        assert_true(r.of.id.first > id);
        usher_result_done(&r);
        check_no_fault(&w);
        world_close(&w);
    }
}

/* If the loss cannot be noticed, both issues are in the journal. */
TEST(the_journal_reports_an_issue_that_a_store_repeats)
{
    for (int own = 0; own < 2; own++) {
        EACH_STORE(name)
        {
            struct world w;
            struct lines lines;
            struct fake_authority n;
            uint64_t token;

            fake_authority_init(&n);
            world_open(&w, name, own ? &n.base : NULL);
            must(&w, USHER_OK, "serial rule q prefix=Q");
            must(&w, USHER_OK, "serial rule g prefix=G mode=gapfree");
            assert_int_equal(issue(&w, "serial take q n=2", NULL), 1);
            assert_int_equal(issue(&w, "serial reserve g", &token), 1);
            end_serial(&w, "return", "G1", token);
            back_up(&w);
            w.now += 1000;
            assert_int_equal(issue(&w, "serial take q n=3 req=order-7", NULL), 3);
            assert_int_equal(issue(&w, "serial reserve g", &token), 1); /* as it should be */
            end_serial(&w, "confirm", "G1", token);
            check_no_fault(&w);
            put_back(&w, true);
            w.now += 1000;
            assert_int_equal(issue(&w, "serial take q n=3 req=order-8", NULL), 3);
            assert_int_equal(w.logged.errors, 1);
            assert_non_null(strstr(w.logged.line, "serial/q: issued a second time: of numbers 3 "
                                                  "to 5"));
            assert_int_equal(issue(&w, "serial take q n=3 req=order-8", NULL), 3); /* again */
            assert_int_equal(w.logged.errors, 1);
            assert_int_equal(issue(&w, "serial take q", NULL), 6);
            assert_int_equal(w.logged.errors, 1);
            assert_int_equal(issue(&w, "serial reserve g", NULL), 1);
            assert_int_equal(w.logged.errors, 2);
            assert_non_null(
                strstr(w.logged.line, "serial/g: issued a second time: number 1, row "));
            assert_int_equal(faults(&w, &lines), 2);
            if (strncmp(
                    lines.line[0],
                    "serial/q: of numbers 3 to 5 some were issued or settled a second time: row ",
                    64) != 0)
                fail_msg("%s: %s", name, lines.line[0]);
            world_close(&w);
            fake_authority_done(&n);
        }
    }
}

struct seen {
    int twice, n;
};

static void count_twice(void *payload, const struct usher_authority_event *event)
{
    struct seen *seen = payload;

    seen->n++;
    seen->twice += event->twice;
}

/* Periods, debt, request ids, two engines: all in correct use. */
TEST(the_journal_reports_nothing_without_a_fault)
{
    for (int own = 0; own < 2; own++)
        EACH_STORE(name)
        {
            struct world w;
            struct fake_authority n;
            struct seen seen = { 0, 0 };
            uint64_t token, old;

            fake_authority_init(&n);
            world_open(&w, name, own ? &n.base : NULL);
            w.now = MORNING + DAY / 2 + DAY / 12 - 600000; /* ten minutes to midnight */
            must(&w, USHER_OK, "serial rule d date=%Y%m%d- reset=day");
            must(&w, USHER_OK, "serial rule g date=%Y%m%d- reset=day mode=gapfree lease=60000");
            assert_int_equal(issue(&w, "serial take d n=3 req=a", NULL), 1);
            assert_int_equal(issue(&w, "serial take d req=b", NULL), 4);
            assert_int_equal(issue(&w, "serial reserve g", &old), 1);
            end_serial(&w, "return", "20231228-1", old);
            assert_int_equal(issue(&w, "serial reserve g", &old), 1);
            end_serial(&w, "return", "20231228-1", old);
            w.now += 1200000;
            assert_int_equal(issue(&w, "serial take d n=3", NULL), 1);
            assert_int_equal(issue(&w, "serial take d n=3 req=a", NULL), 1); /* of yesterday */
            /* yesterday's number is not issued again, but today's with the same number is */
            assert_int_equal(issue(&w, "serial reserve g", &token), 1);
            end_serial(&w, "confirm", "20231229-1", token);
            end_serial(&w, "void", "20231228-1", old);
            assert_int_equal(issue(&w, "serial reserve g", &token), 2);
            w.now += 60000; /* it has expired, which is noticed by an engine without a journal */
            {
                struct usher_options opt = w.opt;
                struct usher_engine *e = w.e;

                w.opt.journal = false;
                w.opt.authority = NULL;
                if (strcmp(name, "rollback") != 0) {
                    char *with = strchr(w.url, '?');

                    if (with != NULL)
                        *with = '\0';
                    w.e = engine_of(&w);
                    if (with != NULL)
                        *with = '?';
                    must(&w, USHER_OK, "serial sweep g");
                    usher_close(w.e);
                }
                w.opt = opt;
                w.e = e;
            }
            assert_int_equal(issue(&w, "serial reserve g", &token), 2);
            end_serial(&w, "void", "20231229-2", token);
            /* another epoch, and the answer to a repeat */
            must(&w, USHER_OK, "serial setmaxcur d 100");
            assert_int_equal(issue(&w, "serial take d req=b", NULL), 4);
            assert_int_equal(issue(&w, "serial take d", NULL), 101);
            check_no_fault(&w);
            assert_int_equal(usher_serial_journal(w.e, "d", NULL, count_twice, &seen), USHER_OK);
            assert_int_equal(seen.n, 4); /* repeats are not journaled */
            assert_int_equal(seen.twice, 0);
            if (own) { /* the authority is away: the debt is paid when it is back */
                atomic_store(&n.answer, USHER_UNAVAILABLE);
                usher_close(w.e);
                w.opt.timeout_ms = budget_slow() ? 2000 : 500; /* the whole debt is paid */
                if (strcmp(name, "rollback") != 0) {
                    w.e = engine_of(&w);
                    must(&w, USHER_OK, "serial setmax d 2000");
                    assert_true(issue(&w, "serial take d n=1500", NULL) > 101);
                    usher_close(w.e);
                    assert_int_equal(w.logged.errors, 1); /* that it is not in the journal */
                    w.logged.errors = 0;
                    atomic_store(&n.answer, USHER_OK);
                    w.opt.timeout_ms = PATIENCE_MS;
                    w.e = engine_of(&w);
                    must(&w, USHER_OK, "serial tick d");
                    assert_true(issue(&w, "serial take d n=1500", NULL) > 1601);
                    check_no_fault(&w);
                    usher_close(w.e);
                }
                w.opt.timeout_ms = PATIENCE_MS;
                w.e = NULL;
            }
            world_close(&w);
            fake_authority_done(&n);
        }
}

struct engine_of_two {
    struct usher_engine *e;
    unsigned seed;
    const char *failed; /* at what */
};

static void *one_of_two(void *payload)
{
    struct engine_of_two *two = payload;

    for (int i = 0; i < 150 && two->failed == NULL; i++) {
        struct ask_serial_hold hold;
        struct usher_result r;

        if (ask_serial_take(two->e, "q", 1 + rand_r(&two->seed) % 4, NULL, &r) != USHER_OK)
            two->failed = "take";
        usher_result_done(&r);
        if (ask_serial_reserve(two->e, "g", NULL, 0, NULL, &hold) != USHER_OK)
            two->failed = "reserve";
        else if (rand_r(&two->seed) % 3 == 0)
            two->failed = ask_serial_confirm(two->e, "g", hold.serial, hold.token) == USHER_OK
                              ? two->failed
                              : "confirm";
        else if (ask_serial_return(two->e, "g", hold.serial, hold.token) != USHER_OK)
            two->failed = "return";
    }
    return NULL;
}

/* A number that one engine returns goes to the other at once, and the journal may have its next
 * issue before the return. */
TEST(two_engines_with_one_journal_report_nothing)
{
    for (size_t i = 1; i < sizeof stores / sizeof *stores; i++) {
        struct engine_of_two two[2];
        struct world w;
        pthread_t threads[2];

        world_open(&w, stores[i], NULL);
        must(&w, USHER_OK, "serial rule q critical=3");
        must(&w, USHER_OK, "serial rule g prefix=G mode=gapfree");
        for (unsigned k = 0; k < 2; k++) {
            two[k].failed = NULL;
            two[k].e = k == 0 ? w.e : engine_of(&w);
            two[k].seed = k + 1;
            assert_int_equal(pthread_create(&threads[k], NULL, one_of_two, &two[k]), 0);
        }
        for (unsigned k = 0; k < 2; k++) {
            assert_int_equal(pthread_join(threads[k], NULL), 0);
            if (two[k].failed != NULL)
                fail_msg("%s: %s", w.name, two[k].failed);
        }
        usher_close(two[1].e);
        { /* the lines logged until then depend on how long a return takes to the journal */
            struct lines lines;

            if (faults(&w, &lines) != 0)
                fail_msg("%s: %s", w.name, lines.line[0]);
        }
        world_close(&w);
    }
}

/* The journal has the end of each hold: none, or that of the last renewal. */
TEST(holds_without_a_lease_or_renewed_are_not_issued_again)
{
    static const char *const holds[] = { "serial reserve g lease=0",
                                         "serial reserve g owner=ann lease=1000" };

    for (int own = 0; own < 2; own++)
        for (int k = 0; k < 4; k++)
            EACH_STORE(name)
            {
                struct world w;
                struct fake_authority n;
                uint64_t token;

                fake_authority_init(&n);
                world_open(&w, name, own ? &n.base : NULL);
                must(&w, USHER_OK, "serial rule g prefix=G mode=gapfree");
                assert_int_equal(issue(&w, "serial reserve g", &token), 1); /* and is granted */
                end_serial(&w, "return", "G1", token);
                back_up(&w);
                w.now += 1000;
                assert_int_equal(issue(&w, holds[k > 0], &token), 1);
                if (k == 1) {
                    char line[100];

                    (void)snprintf(line, sizeof line,
                                   "serial renew g G1 token=%" PRIu64 " lease=60000", token);
                    must(&w, USHER_OK, line);
                } else if (k == 2) {
                    must(&w, USHER_OK, "serial reserve g owner=ann lease=60000");
                }
                w.now += 30000;
                put_back(&w, true);
                assert_int_equal(w.logged.errors, 0);
                assert_int_equal(issue(&w, "serial reserve g", NULL), 1);
                assert_int_equal(w.logged.errors, k < 3);
                world_close(&w);
                fake_authority_done(&n);
            }
}

/* ---- the journal alone ----------------------------------------------------------------------- */

/* TAKE first n … as in a table. */
struct entry {
    enum usher_verb verb;
    int64_t period, first, n;
    uint64_t epoch, version;
    int64_t now_ms, until_ms;
    bool again, is_new, twice; /* the last two: the expected result */
};

static struct usher_authority_event event_of(const struct entry *x, const char *rule)
{
    struct usher_authority_event event;

    memset(&event, 0, sizeof event);
    event.noun = USHER_SERIAL;
    event.verb = x->verb;
    event.name = text(rule);
    event.period = x->period;
    event.first = x->first;
    event.n = x->n;
    event.epoch = x->epoch;
    event.version = x->version;
    event.now_ms = x->now_ms;
    event.until_ms = x->until_ms;
    event.again = x->again;
    event.text = text("S");
    return event;
}

static int64_t deadline(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + 10000;
}

static struct usher_authority *file_authority(void)
{
    struct usher_authority *a = NULL;
    char url[300];

    (void)snprintf(url, sizeof url, "sqlite:%s/%u.db", test_dir(), files++);
    assert_int_equal(usher_authority_open(url, NULL, &a), USHER_OK);
    return a;
}

static int twice_of(struct usher_authority *a)
{
    struct seen seen = { 0, 0 };
    char why[192] = "";

    assert_int_equal(a->ops->twice(a, deadline(), count_twice, &seen, why), USHER_OK);
    assert_int_equal(seen.twice, seen.n);
    return seen.n;
}

#define TAKE USHER_SERIAL_TAKE
#define RESERVE USHER_SERIAL_RESERVE
#define RETURN USHER_SERIAL_RETURN
#define CONFIRM USHER_SERIAL_CONFIRM
#define VOID USHER_SERIAL_VOID
#define EXPIRE USHER_SERIAL_EXPIRE
#define RENEW USHER_SERIAL_RENEW

/* The epoch of the rule after it was made again. */
#define ANOTHER (UINT64_C(1) << 40)

TEST(a_journal_distinguishes_an_issue_from_its_repeat)
{
    static const struct entry entries[] = {
        { TAKE, 0, 1, 10, 1, 1, 100, 0, false, true, false },
        { TAKE, 0, 1, 10, 1, 1, 100, 0, false, false, false }, /* written again */
        { TAKE, 0, 1, 10, 2, 1, 100, 0, true, false, false },  /* the answer, in another epoch */
        { TAKE, 0, 1, 10, 1, 1, 101, 0, false, true, true }, /* the same version, at another time */
        { TAKE, 0, 11, 5, 1, 2, 102, 0, false, true, false },
        { TAKE, 1, 11, 5, 1, 3, 103, 0, false, true, false }, /* of another period */
        { TAKE, 0, 30, 10, 1, 5, 104, 0, false, true, false },
        { TAKE, 0, 20, 10, 1, 4, 104, 0, false, true, false }, /* by another engine, and late */
        { TAKE, 0, 29, 1, 2, 1, 105, 0, false, true, true },
        { TAKE, 0, 40, 1, 2, 2, 105, 0, false, true, false },
        { TAKE, 0, 41, 100, 2, 3, 106, 0, false, true, false },
        { TAKE, 0, 50, 2, 2, 4, 107, 0, false, true, true },  /* within */
        { TAKE, 0, 60, 1, 2, 5, 108, 0, false, true, true },  /* after that, and within */
        { TAKE, 0, 140, 9, 2, 6, 109, 0, false, true, true }, /* the last one of them */
        { TAKE, 0, 149, 1, 2, 7, 109, 0, false, true, false },
        { TAKE, 0, 200, 1, 2, 8, 110, 0, false, true, false },
        { TAKE, 0, 190, 50, 2, 9, 111, 0, false, true, true }, /* includes others */
        { TAKE, 0, 220, 1, 2, 10, 112, 0, false, true, true }, /* within one that includes others */
        { TAKE, 0, 240, 1, 3, 11, 113, 0, true, true, false }, /* a repeat, journaled first */
        { TAKE, 0, 240, 1, 2, 11, 113, 0, false, true, false }, /* its first issue */
        { RESERVE, 0, 500, 1, 2, 20, 100, 200, false, true, false },
        { RESERVE, 0, 500, 1, 2, 20, 100, 200, false, false, false },
        { RETURN, 0, 500, 1, 2, 21, 110, 0, false, true, false },
        { RETURN, 0, 500, 1, 2, 21, 120, 0, true, false, false },
        { RESERVE, 0, 500, 1, 2, 22, 130, 200, false, true, false },
        { EXPIRE, 0, 500, 1, 2, 23, 200, 0, false, true, false },
        { RESERVE, 0, 500, 1, 2, 24, 201, 300, false, true, false },
        { RESERVE, 0, 500, 1, 2, 26, 300, 400, false, true, false }, /* its end was not reported */
        { CONFIRM, 0, 500, 1, 2, 27, 310, 0, false, true, false },
        { RESERVE, 0, 500, 1, 2, 28, 900, 999, false, true, true },
        { RESERVE, 0, 501, 1, 2, 30, 100, 200, false, true, false },
        { VOID, 0, 501, 1, 2, 31, 110, 0, false, true, false },
        { RESERVE, 0, 501, 1, 2, 32, 900, 999, false, true, true },
        { RESERVE, 0, 502, 1, 2, 40, 100, 200, false, true, false },
        { RESERVE, 0, 502, 1, 2, 41, 150, 250, false, true, true }, /* while it is held */
        { RESERVE, 0, 60, 1, 2, 42, 900, 999, false, true, true },
        { RESERVE, 0, 139, 1, 2, 43, 900, 999, false, true, true }, /* taken with others */
        { TAKE, 0, 499, 2, 2, 44, 901, 0, false, true, true },      /* reserved before */
        { CONFIRM, 0, 500, 1, 2, 45, 910, 0, false, true, true },   /* confirmed before */
        { CONFIRM, 0, 500, 1, 3, 45, 910, 0, true, false, false },  /* a repeat of that */
        { CONFIRM, 0, 510, 4, 2, 46, 911, 0, false, true, false },
        { CONFIRM, 0, 515, 1, 2, 47, 912, 0, false, true, false },
        { CONFIRM, 0, 512, 1, 2, 48, 913, 0, false, true, true },  /* within */
        { CONFIRM, 0, 514, 2, 2, 49, 914, 0, false, true, true },  /* the last one of them */
        { CONFIRM, 0, 508, 3, 2, 50, 915, 0, false, true, true },  /* the first one of them */
        { CONFIRM, 1, 500, 1, 2, 51, 916, 0, false, true, false }, /* of another period */
        /* A renewal moves the end, a hold without a lease has none, and neither is an issue. */
        { RESERVE, 0, 520, 1, 2, 52, 100, 200, false, true, false },
        { RENEW, 0, 520, 1, 2, 53, 150, 400, false, true, false },
        { RENEW, 0, 520, 1, 2, 53, 150, 400, true, false, false },
        { RESERVE, 0, 520, 1, 2, 54, 300, 500, false, true, true }, /* it is held until 400 */
        { RESERVE, 0, 521, 1, 2, 55, 100, 200, false, true, false },
        { RENEW, 0, 521, 1, 2, 56, 150, 180, false, true, false },
        { RESERVE, 0, 521, 1, 2, 57, 190, 300, false, true, false }, /* it was held until 180 */
        { RESERVE, 0, 522, 1, 2, 58, 100, USHER_NEVER, false, true, false },
        { RESERVE, 0, 522, 1, 2, 59, 999, 1100, false, true, true },
        { CONFIRM, 0, 523, 1, 2, 60, 100, 0, false, true, false },
        { RENEW, 0, 523, 1, 2, 61, 110, 300, false, true, false }, /* by another master */
        /* Two masters: one has confirmed what the other one ends, and its versions are smaller. */
        { RESERVE, 0, 600, 1, 2, 60, 1000, 1100, false, true, false },
        { EXPIRE, 0, 600, 1, 2, 61, 1100, 0, false, true, false },
        { RESERVE, 0, 600, 1, 2, 62, 1100, 1900, false, true, false },
        { CONFIRM, 0, 600, 1, 2, 63, 1120, 0, false, true, false },
        { RETURN, 0, 600, 1, 2, 961, 1110, 0, false, true, true },
        { RETURN, 0, 600, 1, 2, 961, 1110, 0, true, false, false },
        { RESERVE, 0, 601, 1, 2, 64, 1000, 1100, false, true, false },
        { VOID, 0, 601, 1, 2, 962, 1010, 0, false, true, false },
        { CONFIRM, 0, 601, 1, 2, 65, 1020, 0, false, true, true }, /* the end was first */
        { RESERVE, 0, 602, 1, 2, 66, 1000, 1100, false, true, false },
        { CONFIRM, 0, 602, 1, 2, 69, 1120, 0, false, true, false },
        { EXPIRE, 0, 602, 1, 2, 67, 1100, 0, false, true, false }, /* before its last reserve */
        { EXPIRE, 0, 602, 1, ANOTHER, 70, 1100, 0, false, true, false },
        /* A store loses the confirm, takes the next epoch, and ends the number; the journal gets
         * the two in this order, or in the other one. */
        { RESERVE, 0, 603, 1, 2, 71, 1000, 1100, false, true, false },
        { CONFIRM, 0, 603, 1, 2, 72, 1010, 0, false, true, false },
        { RETURN, 0, 603, 1, 3, 980, 1020, 0, false, true, true },
        { RESERVE, 0, 604, 1, 2, 73, 1000, 1100, false, true, false },
        { RETURN, 0, 604, 1, 3, 981, 1020, 0, false, true, false },
        { CONFIRM, 0, 604, 1, 2, 74, 1010, 0, false, true, true },
    };
    struct fake_authority n;

    fake_authority_init(&n);
    for (int own = 0; own < 2; own++) {
        struct usher_authority *a = own ? &n.base : file_authority();
        int twice = 0;

        for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
            const struct entry *x = &entries[i];
            struct usher_authority_event event = event_of(x, "r");
            char why[192] = "";

            assert_int_equal(a->ops->journal(a, &event, 1, deadline(), why), USHER_OK);
            if ((event.row != 0) != x->is_new || event.twice != x->twice)
                fail_msg("%s, entry %zu: row %" PRIu64 ", twice %d", a->ops->name, i, event.row,
                         event.twice);
            twice += x->twice;
        }
        assert_int_equal(twice_of(a), twice);
        { /* of another rule */
            struct usher_authority_event event = event_of(&entries[3], "s");
            char why[192] = "";

            assert_int_equal(a->ops->journal(a, &event, 1, deadline(), why), USHER_OK);
            assert_false(event.twice);
        }
        usher_authority_close(a);
    }
    fake_authority_done(&n);
}

/* Instructions of SQLite's statements, of the whole program. */
static unsigned long n_steps;

int __real_sqlite3_step(sqlite3_stmt *st);
int __wrap_sqlite3_step(sqlite3_stmt *st);

int __wrap_sqlite3_step(sqlite3_stmt *st)
{
    int rc = __real_sqlite3_step(st);

    n_steps += (unsigned long)sqlite3_stmt_status(st, SQLITE_STMTSTATUS_VM_STEP, 1);
    return rc;
}

/* The cost of a return does not depend on earlier returns of the number. */
TEST(a_return_costs_the_same_each_time)
{
    struct usher_authority *a = file_authority();
    unsigned long first = 0;

    for (unsigned i = 0; i < 300; i++) {
        struct entry x = { RESERVE, 0, 7, 1, 1, 2 * i + 1, 10 * i, 10 * i + 5, false, true, false };
        struct usher_authority_event event = event_of(&x, "r");
        unsigned long before;
        char why[192] = "";

        assert_int_equal(a->ops->journal(a, &event, 1, deadline(), why), USHER_OK);
        x = (struct entry){ RETURN, 0, 7, 1, 1, 2 * i + 2, 10 * i + 1, 0, false, true, false };
        event = event_of(&x, "r");
        before = n_steps;
        assert_int_equal(a->ops->journal(a, &event, 1, deadline(), why), USHER_OK);
        if (i == 1)
            first = n_steps - before;
        assert_true(i <= 1 || n_steps - before <= first);
    }
    assert_true(first > 0);
    usher_authority_close(a);
}

/* The return by one engine is journaled after the reserve by another engine that got the number. */
TEST(a_late_end_clears_the_report_of_a_reserve)
{
    static const struct entry entries[] = {
        { RESERVE, 0, 1, 1, 1, 10, 100, 200, false, true, false },
        { RESERVE, 0, 1, 1, 1, 12, 110, 210, false, true, true },
        { RETURN, 0, 1, 1, 1, 11, 110, 0, false, true, false },
        { RESERVE, 0, 2, 1, 1, 20, 100, 200, false, true, false },
        { RESERVE, 0, 2, 1, 1, 22, 110, 210, false, true, true },
        { RETURN, 0, 2, 1, 1, 23, 110, 0, false, true, false }, /* of the second one, first */
        { RETURN, 0, 2, 1, 1, 21, 110, 0, false, true, false },
    };
    struct fake_authority n;

    fake_authority_init(&n);
    for (int own = 0; own < 2; own++) {
        struct usher_authority *a = own ? &n.base : file_authority();

        for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
            struct usher_authority_event event = event_of(&entries[i], "r");
            char why[192] = "";

            assert_int_equal(a->ops->journal(a, &event, 1, deadline(), why), USHER_OK);
            assert_int_equal(event.twice, entries[i].twice);
            assert_int_equal(twice_of(a), i == 1 || i == 4 || i == 5);
        }
        usher_authority_close(a);
    }
    fake_authority_done(&n);
}

/* The journal with indexes, and the one that checks each number. */
TEST(both_journals_report_the_same_issues)
{
    uint64_t seed = number_from("USHER_SEED", budget_long() ? (uint64_t)time(NULL) : 5);
    unsigned rounds = budget_long() ? 400 : 20, twice = 0;
    unsigned dice = (unsigned)seed;

    print_message("USHER_SEED=%" PRIu64 "\n", seed);
    for (unsigned round = 0; round < rounds; round++) {
        struct usher_authority *a = file_authority();
        struct fake_authority n;

        fake_authority_init(&n);
        for (unsigned i = 0; i < FAKE_AUTHORITY_EVENTS; i++) {
            static const enum usher_verb verbs[] = {
                RESERVE, RETURN, CONFIRM, VOID, EXPIRE, RENEW
            };
            /* a rule has one mode; a fifth of its numbers are small, so they repeat */
            bool gapfree = round % 2 == 0;
            struct entry x = { gapfree ? verbs[rand_r(&dice) % 6] : TAKE,
                               rand_r(&dice) % 2,
                               1 + rand_r(&dice) % (gapfree                  ? 12
                                                    : rand_r(&dice) % 5 == 0 ? 50
                                                                             : 9000),
                               gapfree ? 1 : 1 + rand_r(&dice) % (rand_r(&dice) % 9 == 0 ? 900 : 9),
                               1 + (unsigned)rand_r(&dice) % 2,
                               1 + (unsigned)rand_r(&dice) % 300,
                               rand_r(&dice) % 1000,
                               0,
                               rand_r(&dice) % 9 == 0,
                               false,
                               false };
            struct usher_authority_event here, there;
            char why[192] = "";

            x.until_ms = x.verb != RESERVE && x.verb != RENEW ? USHER_NONE
                         : rand_r(&dice) % 9 == 0             ? USHER_NEVER
                                                              : x.now_ms + rand_r(&dice) % 500;
            here = event_of(&x, "r");
            there = here;
            assert_int_equal(a->ops->journal(a, &here, 1, deadline(), why), USHER_OK);
            assert_int_equal(n.base.ops->journal(&n.base, &there, 1, deadline(), why), USHER_OK);
            if (here.twice != there.twice || (here.row == 0) != (there.row == 0))
                fail_msg("round %u, event %u: row %" PRIu64 " twice %d, but %" PRIu64 " and %d",
                         round, i, here.row, here.twice, there.row, there.twice);
            twice += here.twice;
        }
        assert_int_equal(twice_of(a), twice_of(&n.base));
        usher_authority_close(a);
        fake_authority_done(&n);
    }
    assert_true(twice > rounds);
}

/* An owner whose confirm was lost reserves again and gets another number, with each authority and
 * journal.  A second confirm is reported, and no verb fails on numbers that were returned. */
TEST(an_owner_gets_another_number_after_a_loss)
{
    for (int own = 0; own < 2; own++)
        EACH_STORE(name)
        {
            struct world w;
            struct fake_authority n;
            struct lines lines;
            struct seen seen = { 0, 0 };
            struct usher_result r;
            uint64_t first, second, third;
            char line[100];

            fake_authority_init(&n);
            world_open(&w, name, own ? &n.base : NULL);
            must(&w, USHER_OK, "serial rule g prefix=G mode=gapfree lease=60000");
            assert_int_equal(issue(&w, "serial reserve g owner=server1", &first), 1);
            assert_int_equal(issue(&w, "serial reserve g owner=server2", &second), 2);
            end_serial(&w, "return", "G2", second);
            back_up(&w);
            end_serial(&w, "confirm", "G1", first); /* which is lost */
            put_back(&w, false);
            w.now += 120000; /* the hold does not expire */
            assert_true(issue(&w, "serial reserve g owner=server1", &third) > 2);
            must(&w, USHER_SAME, "serial reserve g owner=server1");
            must(&w, USHER_OK, "serial rule g prefix=H");
            (void)snprintf(line, sizeof line, "serial confirm g G2 token=%" PRIu64, second);
            must(&w, USHER_STALE, line);
            line_execute(w.e, &r, "serial show g G777");
            assert_int_equal(r.status, USHER_INVALID);
            usher_result_done(&r);
            line_execute(w.e, &r, "serial holds g");
            assert_int_equal(r.of.serial.rows[0].state, USHER_SERIAL_STATE_DOUBT);
            usher_result_done(&r);
            assert_int_equal(w.logged.errors, 0);
            assert_int_equal(faults(&w, &lines), 0);
            end_serial(&w, "confirm", "G1", first);
            assert_int_equal(w.logged.errors, 1);
            assert_non_null(
                strstr(w.logged.line, "serial/g: confirmed a second time: number 1, row "));
            assert_int_equal(usher_serial_journal(w.e, "g", NULL, count_twice, &seen), USHER_OK);
            assert_int_equal(seen.twice, 1);
            assert_int_equal(faults(&w, &lines), 1);
            world_close(&w);
            fake_authority_done(&n);
        }
}

/* Rows of the journal for numbers in doubt that a person ends. */
TEST(the_journal_has_numbers_in_doubt_that_a_person_ends)
{
    EACH_STORE(name)
    {
        struct world w;
        struct seen seen = { 0, 0 };
        struct usher_result r;
        char line[100];

        world_open(&w, name, NULL);
        must(&w, USHER_OK, "serial rule g mode=gapfree lease=60000");
        for (int i = 0; i < 40; i++)
            assert_int_equal(issue(&w, "serial reserve g", NULL), i + 1);
        back_up(&w);
        put_back(&w, false);
        line_execute(w.e, &r, "serial holds g doubt=1 n=50");
        assert_int_equal(r.of.serial.n_rows, 40);
        (void)snprintf(line, sizeof line, "serial void g doubt=1 before=%" PRIu64, r.version);
        usher_result_done(&r);
        must(&w, USHER_OK, line);
        must(&w, USHER_OK, line);
        must(&w, USHER_SAME, line);
        assert_int_equal(usher_serial_journal(w.e, "g", NULL, count_twice, &seen), USHER_OK);
        assert_int_equal(seen.n, 80);
        assert_int_equal(seen.twice, 0);
        check_no_fault(&w);
        world_close(&w);
    }
}

/* The end of a number that was returned before a loss is stored once, for any later value of
 * `requests`. */
TEST(a_returned_number_has_one_end_after_a_loss)
{
    EACH_STORE(name)
    {
        struct world w;
        uint64_t token = 0;

        world_open(&w, name, NULL);
        must(&w, USHER_OK, "serial rule g requests=5 mode=gapfree lease=0");
        for (int i = 0; i < 6; i++)
            assert_int_equal(issue(&w, "serial reserve g", &token), i + 1);
        end_serial(&w, "return", "6", token);
        must(&w, USHER_OK, "serial rule g requests=7");
        back_up(&w);
        put_back(&w, false);
        assert_true(issue(&w, "serial reserve g", NULL) > 6);
        must(&w, USHER_OK, "serial rule g requests=2");
        must(&w, USHER_OK, "serial rule g requests=50");
        check_no_fault(&w);
        world_close(&w);
    }
}

/* ---- entries of the authority -------------------------------------------------------------- */

static void edit(const struct world *w, const char *sql)
{
    sqlite3 *db;
    char *why = NULL;

    assert_int_equal(sqlite3_open(w->authority, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
        fail_msg("%s: %s", sql, why);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static bool reports(const struct lines *lines, const char *what)
{
    for (unsigned i = 0; i < lines->n && i < 12; i++)
        if (strstr(lines->line[i], what) != NULL)
            return true;
    return false;
}

TEST(a_check_compares_the_store_with_its_authority)
{
    EACH_STORE(name)
    {
        struct world w, without;
        struct lines lines;

        world_open(&w, name, NULL);
        must(&w, USHER_OK, "serial rule q prefix=Q");
        must(&w, USHER_OK, "serial rule r prefix=R");
        must(&w, USHER_OK, "id create i step=10");
        (void)issue(&w, "serial take q", NULL);
        must(&w, USHER_OK, "id next i");
        assert_int_equal(faults(&w, &lines), 0);
        assert_int_equal(lines.n, 0);
        if (strcmp(name, "rollback") != 0) { /* changed by an engine without the authority */
            without = w;
            *strchr(without.url, '?') = '\0';
            without.opt.journal = false;
            without.e = engine_of(&without);
            must(&without, USHER_OK, "serial rule q prefix=X");
            must(&without, USHER_OK, "id set i step=20");
            must(&without, USHER_OK, "serial rule new authority=1");
            usher_close(without.e);
            assert_int_equal(faults(&w, &lines), 0);
            assert_true(reports(&lines, "serial/q: differs from its entry in the authority"));
            assert_true(reports(&lines, "id/i: differs from its entry in the authority"));
            assert_true(reports(&lines, "serial/new: the authority does not have it yet"));
            usher_close(w.e); /* an engine that uses them reports them to the authority */
            w.e = engine_of(&w);
            (void)issue(&w, "serial take q", NULL);
            (void)issue(&w, "serial take new", NULL);
            must(&w, USHER_OK, "id next i");
            assert_int_equal(faults(&w, &lines), 0);
            assert_int_equal(lines.n, 0);
        }
        /* entries that no engine has written */
        edit(&w, "UPDATE maximum SET data = x'c1ffff' WHERE name = x'72'");
        edit(&w, "UPDATE maximum SET max = 0 WHERE name = x'69'");
        assert_int_equal(faults(&w, &lines), 2);
        assert_true(reports(&lines, "serial/r: its entry in the authority cannot be read"));
        assert_true(reports(&lines, "id/i: numbers up to "));
        must(&w, USHER_OK, "serial rule r suffix=-"); /* reports the rule again */
        edit(&w,
             "PRAGMA ignore_check_constraints = 1;"
             "UPDATE maximum SET max = -5, data = zeroblob(100000) WHERE name = x'72';"
             "INSERT INTO maximum VALUES (4, x'0a1b', 'many', 7.5), (4, zeroblob(4000), 1, x'00'),"
             " (5, '', 1, x'00'), (77, x'7a', 1, x'00');"
             "INSERT INTO journal VALUES (NULL, 4, x'72', 0, -9223372036854775807, 9e99, 'x',"
             " 1e300, -1, -1, 'e', zeroblob(3000), x'00', 'far', 1),"
             " (NULL, 4, 'r', 0, 7, -1, 99999, -1, 'never', 1, 1, x'', 5, 1, 2),"
             " (9223372036854775807, 99, zeroblob(999), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1)");
        assert_true(faults(&w, &lines) >= 6);
        assert_true(reports(&lines, "a name of the authority "));
        {
            struct seen seen = { 0, 0 };
            struct usher_result r;

            assert_int_equal(usher_serial_journal(w.e, "r", NULL, count_twice, &seen), USHER_OK);
            assert_true(seen.n >= 1);
            (void)line_execute(w.e, &r, "serial take r n=3"); /* in a row by chance */
            usher_result_done(&r);
        }
        world_close(&w);
    }
}

/* A lost rule is no fault of the store: the rule is recreated when it is used. */
TEST(a_check_lists_lost_rules_without_a_fault)
{
    for (int own = 0; own < 2; own++)
        EACH_STORE(name)
        {
            struct world w;
            struct lines lines;
            struct fake_authority n;

            fake_authority_init(&n);
            world_open(&w, name, own ? &n.base : NULL);
            back_up(&w);
            must(&w, USHER_OK, "serial rule q prefix=Q");
            must(&w, USHER_OK, "serial rule gone prefix=G");
            must(&w, USHER_OK, "serial delete gone");
            must(&w, USHER_OK, "id create i step=10");
            (void)issue(&w, "serial take q", NULL);
            must(&w, USHER_OK, "id next i");
            put_back(&w, true);
            assert_int_equal(faults(&w, &lines), 0);
            assert_int_equal(lines.n, 2);
            assert_true(reports(&lines, "serial/q: the authority has it and the store does not"));
            assert_true(reports(&lines, "id/i: the authority has it and the store does not"));
            assert_true(issue(&w, "serial take q", NULL) > 1);
            must(&w, USHER_OK, "id next i");
            assert_int_equal(faults(&w, &lines), 0);
            assert_int_equal(lines.n, 0);
            world_close(&w);
            fake_authority_done(&n);
        }
}
