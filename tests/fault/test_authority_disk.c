/* SPDX-License-Identifier: MIT */
/*
 * The authority on a disk that fails and on one that loses power: no number is issued twice.
 *
 * For n = 1, 2, … the n-th call of the file system fails, once or from then on; or power goes off
 * instead of the n-th write or sync.  Serials and ids are taken during the fault and after it, from
 * a store that loses everything (memory), so that only the authority has the issued numbers, or
 * from a store on the same disk.
 */
#include "lib/test.h"

#include "lib/calls.h"
#include "lib/disk.h"
#include "lib/util.h"

static const char *const urls[] = {
    "memory:?authority=sqlite:/disk/authority.db&journal=1",
    "sqlite:/disk/store.db?authority=sqlite:/disk/authority.db&journal=1",
};

/* The serials and ids that were issued. */
struct given {
    int64_t serial, id; /* the highest */
    unsigned failures;
};

static char why[256]; /* the last failure */

static bool is_failure(enum usher_status status)
{
    bool failed = status == USHER_UNAVAILABLE || status == USHER_UNKNOWN;

    if (failed)
        (void)snprintf(why, sizeof why, "%s", usher_message());
    return failed;
}

/* Return false if the rule does not exist and cannot be made. */
static bool make(struct usher_engine *e, struct given *g)
{
    struct usher_id_result_settings set = { .step = 300 };
    struct usher_serial_form form;
    enum usher_status rule, id;

    memset(&form, 0, sizeof form);
    (void)snprintf(form.prefix, sizeof form.prefix, "P");
    rule = ask_serial_rule(e, "r", USHER_GIVEN_SERIAL_PREFIX, &form);
    id = ask_id_create(e, "i", USHER_GIVEN_ID_STEP, &set);
    assert_true(USHER_IS_DONE(rule) || is_failure(rule));
    assert_true(USHER_IS_DONE(id) || is_failure(id));
    g->failures += is_failure(rule) || is_failure(id);
    return !is_failure(rule) && !is_failure(id);
}

static void take(struct usher_engine *e, struct given *g)
{
    struct usher_id_range range = { .first = -1 };
    struct usher_result r;
    enum usher_status status = ask_serial_take(e, "r", 600, NULL, &r);

    if (status == USHER_OK) {
        assert_int_equal(r.of.serial.n_rows, 1);
        if (r.of.serial.rows[0].first <= g->serial)
            fail_msg("serial %" PRId64 " behind %" PRId64, r.of.serial.rows[0].first, g->serial);
        g->serial = r.of.serial.rows[0].first + r.of.serial.rows[0].n - 1;
        usher_result_done(&r);
    } else {
        assert_true(is_failure(status) || status == USHER_MISSING);
        g->failures++;
    }
    status = ask_id_next(e, "i", 200, NULL, &range);
    if (status == USHER_OK) {
        if (range.first <= g->id)
            fail_msg("id %" PRId64 " behind %" PRId64, range.first, g->id);
        g->id = range.first + 199;
    } else {
        assert_true(is_failure(status) || status == USHER_MISSING);
        g->failures++;
    }
}

static void work(struct usher_engine *e, struct given *g, unsigned rounds)
{
    if (make(e, g))
        for (unsigned i = 0; i < rounds && g->failures < 3; i++)
            take(e, g);
}

/* Open an engine with a timeout of @timeout_ms, which is short for faults that do not end. */
static struct usher_engine *open_engine(const char *url, int64_t timeout_ms)
{
    struct usher_options opt = USHER_OPTIONS_INIT;
    struct usher_engine *e = NULL;
    enum usher_status status;

    opt.timeout_ms = timeout_ms;
    status = usher_open(url, &opt, &e);

    assert_true(status == USHER_OK || is_failure(status));
    return status == USHER_OK ? e : NULL;
}

/* Check that all works again without faults. */
static void work_without_faults(const char *url, struct given *g)
{
    struct usher_engine *e = open_engine(url, 60000);

    assert_non_null(e);
    g->failures = 0;
    work(e, g, 4);
    if (g->failures != 0)
        fail_msg("%s", why);
    audit(e);
    usher_close(e);
}

static bool with_failure(const char *url, unsigned n, bool for_ever)
{
    struct given g = { 0, 0, 0 };
    struct usher_engine *e;
    bool fired;

    disk_wipe();
    disk_count(true);
    disk_fail(n, for_ever);
    e = open_engine(url, 10);
    if (e != NULL)
        work(e, &g, 4);
    fired = disk_fired();
    disk_count(false);
    disk_fail(0, false);
    if (e != NULL) { /* in the same process */
        if (make(e, &g))
            take(e, &g);
        usher_close(e);
    }
    work_without_faults(url, &g);
    work_without_faults(url, &g);
    return fired;
}

TEST(any_call_of_the_authoritys_file_system_may_fail)
{
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++)
        for (int for_ever = 0; for_ever < 2; for_ever++) {
            unsigned n = 1;

            while (with_failure(urls[i], n, for_ever != 0))
                n += budget_slow() ? 11 : budget_short() ? 3 : 1;
            print_message("%u calls\n", n - 1);
            assert_true(n > 50);
        }
}

static bool with_crash(const char *url, unsigned n, enum disk_loss loss, uint64_t seed)
{
    struct given g = { 0, 0, 0 };
    struct usher_engine *e;
    bool fired;

    disk_wipe();
    disk_count(true);
    disk_cut(n);
    e = open_engine(url, 10);
    if (e != NULL) {
        work(e, &g, 4);
        usher_close(e);
    }
    fired = disk_fired();
    disk_crash(loss, seed);
    work_without_faults(url, &g);
    work_without_faults(url, &g);
    return fired;
}

TEST(power_may_fail_at_any_write_of_the_authority)
{
    static const enum disk_loss losses[] = { DISK_KEEPS_NOTHING, DISK_KEEPS_ALL, DISK_KEEPS_SOME,
                                             DISK_TEARS };
    uint64_t seeds = number_from("USHER_PATTERNS", 1);

    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        unsigned n = 1;
        bool fired;

        do {
            fired = false;
            for (unsigned k = 0; k < 4; k++)
                for (uint64_t seed = 1; seed <= (k >= 2 ? seeds : 1); seed++)
                    fired |= with_crash(urls[i], n, losses[k], n * 1000 + seed);
            n += budget_slow() || budget_short() ? 2 : 1;
        } while (fired);
        print_message("%u writes\n", n - 2);
        assert_true(n > 20);
    }
}

static int program_begin(void)
{
    disk_install();
    return 0;
}

static void program_end(void)
{
    disk_wipe();
}

TEST_PROGRAM(program_begin, program_end);
