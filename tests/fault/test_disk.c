/* SPDX-License-Identifier: MIT */
/*
 * SQLite on a disk that fails and on one that loses power.
 *
 * The same script of commands first runs undisturbed and notes the digest of the pool at
 * each version.  Then for n = 1, 2, …
 *
 *   - the n-th call of the file system fails, once or from then on;
 *   - power goes off instead of the n-th write or sync, and comes back to a disk that has
 *     kept nothing of what was not synced, all, some, or torn pieces in another order.
 *
 * Afterwards the version is the last one acknowledged, or one more when a command was under
 * way and may have been applied; the digest is the one noted for that version; the audit is
 * clean; the rest of the script runs to the same end.
 */
#include "config.h"

#include <usher/usher.h>

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/disk.h"

#define URL "sqlite:/disk/pool.db"
#define NOW INT64_C(1700000000000)

struct line {
    enum usher_verb verb;
    const char *number, *owner, *request;
    int64_t lease;
};

/* Each changes something, by exactly one version. */
static const struct line script[] = {
    { USHER_NUMBER_ADD, "n1", NULL, NULL, 0 },       { USHER_NUMBER_ADD, "n2", NULL, "r1", 0 },
    { USHER_NUMBER_REG, "n1", NULL, NULL, 0 },       { USHER_NUMBER_REG, "n2", NULL, NULL, 0 },
    { USHER_NUMBER_CALL, NULL, "ann", NULL, 60000 }, { USHER_NUMBER_CALL, NULL, NULL, "r2", 0 },
    { USHER_NUMBER_HANGUP, "n1", NULL, NULL, 0 },    { USHER_NUMBER_UNREG, "n2", NULL, NULL, 0 },
    { USHER_NUMBER_CALL, NULL, "bob", NULL, 0 },     { USHER_NUMBER_DEL, "n2", NULL, NULL, 0 },
    { USHER_NUMBER_HANGUP, "n1", NULL, "r3", 0 },
};
#define LINES ((unsigned)(sizeof script / sizeof *script))

static char noted[LINES + 1][33]; /* by version */

static struct usher_text text(const char *string)
{
    struct usher_text t = { string, string != NULL ? strlen(string) : 0 };

    return t;
}

static enum usher_status run(struct usher_engine *e, unsigned i)
{
    const struct line *l = &script[i];
    struct usher_command c;
    struct usher_reply reply;

    memset(&c, 0, sizeof c);
    c.verb = l->verb;
    c.scope = text("p");
    c.given = USHER_GIVEN_NOW;
    c.now_ms = NOW + (int64_t)i;
    c.request = text(l->request);
    c.arg.number.number = text(l->number);
    c.arg.number.owner = text(l->owner);
    if (l->lease != 0) {
        c.given |= USHER_GIVEN_LEASE;
        c.arg.number.lease_ms = l->lease;
    }
    (void)usher_execute(e, &c, &reply, 1);
    if (reply.status == USHER_OK)
        assert_true(reply.version == i + 1);
    return reply.status;
}

static uint64_t version_of(struct usher_engine *e)
{
    struct usher_command c;
    struct usher_reply reply;

    memset(&c, 0, sizeof c);
    c.verb = USHER_NUMBER_STATS;
    c.scope = text("p");
    (void)usher_execute(e, &c, &reply, 1);
    assert_true(reply.status == USHER_OK || reply.status == USHER_MISSING);
    return reply.version;
}

static void digest(struct usher_engine *e, char d[33])
{
    if (usher_digest(e, USHER_NUMBER, "p", d) != USHER_OK)
        fail_msg("%s", usher_message(e));
}

static struct usher_engine *open_store(void)
{
    struct usher_engine *e = NULL;

    if (usher_open(URL, NULL, &e) != USHER_OK)
        fail_msg("%s", usher_message(NULL));
    return e;
}

static void note_all(void)
{
    struct usher_engine *e;

    disk_wipe();
    e = open_store();
    digest(e, noted[0]);
    for (unsigned i = 0; i < LINES; i++) {
        assert_int_equal(run(e, i), USHER_OK);
        digest(e, noted[i + 1]);
    }
    usher_close(e);
}

/* The store is as it was at one of the versions from @least to @most; returns which. */
static unsigned check(struct usher_engine *e, unsigned least, unsigned most)
{
    uint64_t version = version_of(e), faults = 1;
    char d[33];

    if (version < least || version > most)
        fail_msg("version %" PRIu64 ", not from %u to %u", version, least, most);
    digest(e, d);
    assert_string_equal(d, noted[version]);
    assert_int_equal(usher_audit(e, NULL, NULL, &faults), USHER_OK);
    assert_true(faults == 0);
    return (unsigned)version;
}

static void finish(struct usher_engine *e, unsigned from)
{
    for (; from < LINES; from++)
        assert_int_equal(run(e, from), USHER_OK);
    (void)check(e, LINES, LINES);
}

/* ---- calls that fail --------------------------------------------------------------- */

/* Of the last change that was told. */
static void hear(void *payload, const struct usher_notice *notice)
{
    *(uint64_t *)payload = notice->version;
}

/* Returns whether the n-th call of the file system was reached. */
static bool with_failure(unsigned n, bool for_ever)
{
    struct usher_engine *e = NULL;
    struct usher_watch *watch = NULL;
    unsigned done = 0;
    uint64_t told = 0;
    enum usher_status status;
    bool fired = false;

    disk_wipe();
    disk_count(true);
    disk_fail(n, for_ever);
    status = usher_open(URL, NULL, &e);
    if (status != USHER_OK) {
        fired = disk_fired();
        assert_true(fired);
        assert_int_equal(status, USHER_UNAVAILABLE);
        disk_fail(0, false);
        e = open_store();
    }
    assert_int_equal(usher_watch(e, USHER_NUMBER, NULL, hear, &told, &watch), USHER_OK);
    while (done < LINES) {
        disk_count(true);
        status = run(e, done);
        disk_count(false);
        if (status == USHER_OK) {
            done++;
            assert_true(told == done);
            continue;
        }
        fired |= disk_fired();
        assert_true(fired);
        assert_true(status == USHER_UNAVAILABLE || status == USHER_UNKNOWN);
        disk_fail(0, false);
        done = check(e, done, status == USHER_UNKNOWN ? done + 1 : done);
        assert_true(told <= done); /* nothing that did not happen */
        if (for_ever) {            /* the host gives up and starts anew */
            usher_unwatch(e, watch);
            usher_close(e);
            e = open_store();
            assert_int_equal(usher_watch(e, USHER_NUMBER, NULL, hear, &told, &watch), USHER_OK);
            done = check(e, done, done);
        }
    }
    (void)check(e, LINES, LINES);
    usher_unwatch(e, watch);
    disk_count(true);
    usher_close(e);
    disk_count(false);
    fired |= disk_fired();
    disk_fail(0, false);
    e = open_store();
    (void)check(e, LINES, LINES);
    usher_close(e);
    return fired;
}

static void any_call_of_the_file_system_may_fail_once(void **state)
{
    unsigned n = 1;

    (void)state;
    note_all();
    while (with_failure(n, false))
        n++;
    print_message("%u calls\n", n - 1);
    assert_true(n > 50);
}

static void any_call_of_the_file_system_and_all_after_it_may_fail(void **state)
{
    unsigned n = 1;

    (void)state;
    note_all();
    while (with_failure(n, true))
        n++;
    assert_true(n > 50);
}

/* ---- power ------------------------------------------------------------------------- */

static bool with_crash(unsigned n, enum disk_loss loss, uint64_t seed)
{
    struct usher_engine *e = NULL;
    unsigned done = 0;
    enum usher_status status;
    bool fired;

    disk_wipe();
    disk_count(true);
    disk_cut(n);
    status = usher_open(URL, NULL, &e);
    if (status == USHER_OK) {
        while (done < LINES && (status = run(e, done)) == USHER_OK)
            done++;
        usher_close(e);
    }
    fired = disk_fired();
    disk_crash(loss, seed);
    e = open_store();
    done = check(e, done, status == USHER_UNKNOWN ? done + 1 : done);
    finish(e, done);
    usher_close(e);
    return fired;
}

static void power_may_fail_at_any_write(void **state)
{
    static const enum disk_loss losses[] = { DISK_KEEPS_NOTHING, DISK_KEEPS_ALL, DISK_KEEPS_SOME,
                                             DISK_TEARS };
    const char *patterns = getenv("USHER_PATTERNS");
    uint64_t seeds = patterns != NULL ? strtoull(patterns, NULL, 10) : 1;
    unsigned n = 1;
    bool fired;

    (void)state;
    note_all();
    do {
        fired = false;
        for (unsigned k = 0; k < 4; k++)
            for (uint64_t seed = 1; seed <= (k >= 2 ? seeds : 1); seed++)
                fired |= with_crash(n, losses[k], n * 1000 + seed);
        n++;
    } while (fired);
    print_message("%u writes\n", n - 2);
    assert_true(n > 20);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_call_of_the_file_system_may_fail_once),
        cmocka_unit_test(any_call_of_the_file_system_and_all_after_it_may_fail),
        cmocka_unit_test(power_may_fail_at_any_write),
    };
    int failed;

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    disk_install();
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    disk_wipe();
    return failed;
}
