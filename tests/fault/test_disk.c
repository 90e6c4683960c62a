/* SPDX-License-Identifier: MIT */
/*
 * SQLite on a disk that fails and on one that loses power.
 *
 * The same script of commands of each noun (lib/script.h) first runs undisturbed, and the state
 * after each command is noted.  Then for n = 1, 2, …
 *
 *   - the n-th call of the file system fails, once or from then on;
 *   - power goes off instead of the n-th write or sync, and comes back to a disk that has
 *     kept none of the unsynced writes, all, some, or incomplete ones in another order.
 *
 * Afterwards the store is as after the last acknowledged command, or as after the next one if that
 * was under way and may have been applied.  Every notice is of a change that happened, the audit is
 * clean, and the rest of the script is answered as before and ends the same.
 *
 * USHER_PATTERNS=N tries N patterns of each loss; by default it is one.  Without it and
 * USHER_LONG=1 it is a share with nouns other than numbers: the losses in turn, one a write; every
 * third call fails (fewer under a sanitizer); three lines of the script follow the failed one.
 */
#include "lib/test.h"

#include <usher/usher.h>

#include "lib/disk.h"
#include "lib/script.h"

#define URL "sqlite:/disk/store.db"

static struct script_notes notes; /* of the script of this run */

static struct usher_engine *open_store(void)
{
    struct usher_engine *e = NULL;

    if (usher_open(URL, NULL, &e) != USHER_OK)
        fail_msg("%s", usher_message());
    return e;
}

/* Return whether this run tries all faults, not a share of them. */
static bool wholly(const struct script *s)
{
    return s->noun == USHER_NUMBER || getenv("USHER_PATTERNS") != NULL || budget_long();
}

/* Return the line up to which the script continues after a fault, when @done lines are done. */
static unsigned end_of(const struct script *s, unsigned done)
{
    return wholly(s) || done + 3 > notes.n ? notes.n : done + 3;
}

static void note_all(const struct script *s)
{
    struct usher_engine *e;

    disk_wipe();
    e = open_store();
    script_record(e, s, &notes);
    usher_close(e);
}

static void finish(struct usher_engine *e, const struct script *s, unsigned from)
{
    unsigned end = end_of(s, from);

    for (; from < end; from++)
        assert_int_equal(script_run(e, s, from, &notes), USHER_OK);
    (void)script_check(e, s, &notes, end, end);
}

/* ---- calls that fail --------------------------------------------------------------- */

static struct usher_watcher *listen(struct usher_engine *e, const struct script *s, uint64_t *told)
{
    struct usher_watcher *watch = NULL;

    assert_int_equal(usher_watch(e, s->noun, NULL, script_take_notice, told, &watch), USHER_OK);
    return watch;
}

/* Return whether the n-th call of the file system was reached. */
static bool with_failure(const struct script *s, unsigned n, bool for_ever)
{
    struct usher_engine *e = NULL;
    struct usher_watcher *watch;
    unsigned done = 0, end = notes.n;
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
        end = end_of(s, 0);
        e = open_store();
    }
    watch = listen(e, s, &told);
    while (done < end) {
        unsigned was = done;

        disk_count(true);
        status = script_run(e, s, done, &notes);
        disk_count(false);
        if (status == USHER_OK) {
            done++;
            assert_true(told == notes.last_version[done]);
            continue;
        }
        fired |= disk_fired();
        assert_true(fired);
        assert_true(status == USHER_UNAVAILABLE || status == USHER_UNKNOWN);
        disk_fail(0, false);
        done = script_check(e, s, &notes, done, status == USHER_UNKNOWN ? done + 1 : done);
        assert_true(told == notes.last_version[was] || told == notes.last_version[done]);
        told = notes.last_version[done];
        end = end_of(s, done);
        if (for_ever) { /* the host gives up and opens the store again */
            usher_unwatch(e, watch);
            usher_close(e);
            e = open_store();
            watch = listen(e, s, &told);
            (void)script_check(e, s, &notes, done, done);
        }
    }
    (void)script_check(e, s, &notes, end, end);
    usher_unwatch(e, watch);
    disk_count(true);
    usher_close(e);
    disk_count(false);
    fired |= disk_fired();
    disk_fail(0, false);
    e = open_store();
    (void)script_check(e, s, &notes, end, end);
    usher_close(e);
    return fired;
}

/* Return n, where every n-th call fails. */
static unsigned step_of(const struct script *s)
{
    if (budget_long())
        return 1;
    if (budget_slow())
        return wholly(s) ? 3 : 13;
    if (budget_short())
        return wholly(s) ? 2 : 5;
    return wholly(s) ? 1 : 3;
}

static void each_call_fails(bool for_ever)
{
    for (unsigned k = 0; k < SCRIPTS; k++) {
        unsigned step = step_of(&scripts[k]), n = for_ever && step > 1 ? 2 : 1;

        note_all(&scripts[k]);
        while (with_failure(&scripts[k], n, for_ever))
            n += step;
        print_message("%s: %u calls\n", scripts[k].scope, n - 1);
        assert_true(n > 50);
    }
}

TEST(any_call_of_the_file_system_may_fail_once)
{
    each_call_fails(false);
}

TEST(any_call_of_the_file_system_and_all_after_it_may_fail)
{
    each_call_fails(true);
}

/* ---- power ------------------------------------------------------------------------- */

static bool with_crash(const struct script *s, unsigned n, enum disk_loss loss, uint64_t seed)
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
        while (done < notes.n && (status = script_run(e, s, done, &notes)) == USHER_OK)
            done++;
        usher_close(e);
    }
    fired = disk_fired();
    disk_crash(loss, seed);
    e = open_store();
    done = script_check(e, s, &notes, done, status == USHER_UNKNOWN ? done + 1 : done);
    finish(e, s, done);
    usher_close(e);
    return fired;
}

TEST(power_may_fail_at_any_write)
{
    static const enum disk_loss losses[] = { DISK_KEEPS_NOTHING, DISK_KEEPS_ALL, DISK_KEEPS_SOME,
                                             DISK_TEARS };
    uint64_t seeds = number_from("USHER_PATTERNS", 1);

    for (unsigned j = 0; j < SCRIPTS; j++) {
        bool fired, all = wholly(&scripts[j]);
        unsigned n = 1;

        note_all(&scripts[j]);
        do {
            fired = false;
            for (unsigned k = 0; k < 4; k++) {
                if (!all && k != n % 4)
                    continue;
                for (uint64_t seed = 1; seed <= (k >= 2 ? seeds : 1); seed++)
                    fired |= with_crash(&scripts[j], n, losses[k], n * 1000 + seed);
            }
            n += budget_slow() || budget_short() ? 3 : 1; /* the losses in turn all the same */
        } while (fired);
        print_message("%s: some %u writes\n", scripts[j].scope, n - 2);
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
