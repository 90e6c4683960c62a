/* SPDX-License-Identifier: MIT */
/* Ids from an authority: the store may lose everything, and no id comes twice. */
#include "lib/test.h"

#include <usher/store/authority.h>

#define OWN_AUTHORITY_IN_TEST
#include "../../examples/own_authority.c"
#include "lib/calls.h"
#include "lib/util.h"

struct fixture {
    char path[300], url[320];
    struct usher_authority *a;
};

static int set_up(void **state)
{
    static unsigned files;
    struct fixture *f = calloc(1, sizeof *f);
    const char *tmp = getenv("TMPDIR");

    assert_non_null(f);
    (void)snprintf(f->path, sizeof f->path, "%s/usher-ids-authority-%ld-%u.db",
                   tmp != NULL && *tmp != '\0' ? tmp : "/tmp", (long)getpid(), files++);
    (void)snprintf(f->url, sizeof f->url, "sqlite:%s", f->path);
    if (usher_authority_open(f->url, NULL, &f->a) != USHER_OK)
        fail_msg("%s", usher_message());
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    static const char *const tails[] = { "", "-wal", "-shm", "-journal" };
    struct fixture *f = *state;
    char path[320];

    usher_authority_close(f->a);
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        (void)snprintf(path, sizeof path, "%s%s", f->path, tails[i]);
        (void)unlink(path);
    }
    free(f);
    return 0;
}

TEST_EACH(set_up, tear_down);

static struct usher_ids *ids_open(struct usher_ids_authority *of)
{
    struct usher_ids_manager manager = usher_ids_authority_manager(of);
    struct usher_ids_options opt = USHER_IDS_OPTIONS_INIT;
    struct usher_ids *ids = NULL;

    opt.step = 10;
    opt.life_ms = USHER_NONE;
    opt.timeout_ms = 20000;
    if (usher_ids_open_manager(&manager, &opt, &ids) != USHER_OK)
        fail_msg("%s", usher_message());
    return ids;
}

TEST(a_restart_leaves_no_gap)
{
    struct fixture *f = *state;
    struct usher_ids_authority of = { f->a, "orders", 100, 3, 0 };

    for (int64_t i = 0; i < 5; i++) {
        struct usher_ids *ids = ids_open(&of);

        for (int64_t k = 0; k < 17; k++)
            assert_int_equal(next_id(ids), 100 + (i * 17 + k) * 3);
        usher_ids_close(ids);
    }
}

TEST(processes_that_die_leave_gaps_and_repeat_nothing)
{
    struct fixture *f = *state;
    struct usher_ids_authority of = { f->a, "orders", 0, 0, 0 };
    struct usher_ids *ids[8];
    int64_t last = 0;

    for (int i = 0; i < 8; i++) { /* none is closed before all are open */
        ids[i] = ids_open(&of);
        for (int k = 0; k < 7; k++) {
            int64_t id = next_id(ids[i]);

            assert_true(id > last);
            last = id;
        }
    }
    for (int i = 0; i < 8; i++)
        usher_ids_close(ids[i]);
}

TEST(ids_end_at_the_limit)
{
    struct fixture *f = *state;
    struct usher_ids_authority of = { f->a, "few", 5, 4, 49 };
    struct usher_ids *ids = ids_open(&of);
    int64_t id;

    for (int64_t want = 5; want <= 49; want += 4)
        assert_int_equal(next_id(ids), want);
    assert_int_equal(usher_ids_next(ids, &id), USHER_FULL);
    usher_ids_close(ids);
}

/* A store in memory loses everything when it is closed. */
TEST(a_store_that_loses_everything_repeats_nothing)
{
    struct fixture *f = *state;
    struct usher_id_result_settings set = { .step = 20, .by = 2 };
    int64_t last = 0;
    char url[400];

    (void)snprintf(url, sizeof url, "memory:?authority=sqlite:%s", f->path);
    for (int i = 0; i < 50; i++) {
        struct usher_engine *e;

        assert_int_equal(usher_open(url, NULL, &e), USHER_OK);
        if (i == 0)
            assert_int_equal(ask_id_create(e, "fed", USHER_GIVEN_ID_STEP | USHER_GIVEN_ID_BY, &set),
                             USHER_OK);
        for (int k = 0; k < 33; k++) {
            struct usher_id_range r = { .first = -1 };

            assert_int_equal(ask_id_next(e, "fed", 1, NULL, &r), USHER_OK);
            assert_true(r.first > last && r.first % 2 == 1);
            last = r.first;
        }
        audit(e);
        usher_close(e);
    }
    assert_int_equal(last, 49 * 80 + 65);
}

TEST(an_applications_own_tables_are_an_authority)
{
    struct fixture *f = *state;
    char path[320];
    int64_t id = 0, serial = 0;

    (void)snprintf(path, sizeof path, "%s-wal", f->path); /* removed at the end */
    for (int i = 0; i < 20; i++) {
        struct usher_authority *shop = shop_open(path);
        struct usher_options opt = USHER_OPTIONS_INIT;
        struct usher_id_result_settings set = { .step = 10, .limit = 190 };
        struct usher_engine *e;

        assert_non_null(shop);
        opt.authority = shop;
        assert_int_equal(usher_open("memory:", &opt, &e), USHER_OK);
        if (i == 0) { /* in later rounds the authority recreates them */
            struct usher_serial_form form = { .prefix = "SO-" };

            assert_int_equal(
                ask_id_create(e, "i", USHER_GIVEN_ID_STEP | USHER_GIVEN_ID_LIMIT, &set), USHER_OK);
            assert_int_equal(ask_serial_rule(e, "r", USHER_GIVEN_SERIAL_PREFIX, &form), USHER_OK);
        }
        for (int k = 0; k < 3; k++) {
            struct usher_id_range r = { .first = -1 };
            struct usher_result reply;
            enum usher_status status = ask_id_next(e, "i", 1, NULL, &r);

            assert_int_equal(status, i < 19 ? USHER_OK : USHER_FULL);
            if (status == USHER_OK)
                assert_true(r.first == 10 * i + k + 1 && r.first > id);
            id = r.first;
            assert_int_equal(ask_serial_take(e, "r", 1, NULL, &reply), USHER_OK);
            assert_true(reply.of.serial.rows[0].first > serial);
            serial = reply.of.serial.rows[0].first;
            usher_result_done(&reply);
        }
        audit(e);
        usher_close(e);
        usher_authority_close(shop);
    }
    assert_int_equal(serial, 19 * 1001 + 3);
}

TEST(wrong_options_are_reported)
{
    struct fixture *f = *state;
    struct usher_ids_authority wrong[] = { { NULL, "x", 0, 0, 0 },   { f->a, NULL, 0, 0, 0 },
                                           { f->a, "a{b", 0, 0, 0 }, { f->a, "x", -1, 0, 0 },
                                           { f->a, "x", 0, -1, 0 },  { f->a, "x", 0, 0, -1 } };

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct usher_ids_manager manager = usher_ids_authority_manager(&wrong[i]);
        struct usher_ids *ids;

        assert_int_equal(usher_ids_open_manager(&manager, NULL, &ids), USHER_INVALID);
        assert_true(usher_message()[0] != '\0');
    }
}
