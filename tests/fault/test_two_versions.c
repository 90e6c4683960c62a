/* SPDX-License-Identifier: MIT */
/*
 * Two engines on one server, one of an older library, whose script does not have a setting that the
 * other one has made.
 */
#include "lib/test.h"

#include "lib/command_line.h"
#include "lib/servers.h"
#include "lib/util.h"

TEST_SERVER(server);

/* The library calls the second function in place of the first, which is named as the third
 * (--wrap). */
enum usher_status usher__redis_script(const char *noun, char *buffer, size_t size,
                                      size_t *ret_length);
enum usher_status __wrap_usher__redis_script(const char *noun, char *buffer, size_t size,
                                             size_t *ret_length);
enum usher_status __real_usher__redis_script(const char *noun, char *buffer, size_t size,
                                             size_t *ret_length);

static bool older; /* scripts are loaded as by a library without lease-max= */

enum usher_status __wrap_usher__redis_script(const char *noun, char *buffer, size_t size,
                                             size_t *ret_length)
{
    static const char end_of[] = "function S.end_of(", begin[] = "S.set[";
    enum usher_status status = __real_usher__redis_script(noun, buffer, size, ret_length);
    char setting[32] = "";
    char *at;

    if (status != USHER_OK || !older || strcmp(noun, "number") != 0 || size <= *ret_length)
        return status;
    /* the first setting of that function is lease-max=, which is 0 for the older library */
    at = strstr(buffer, end_of);
    at = at != NULL ? strstr(at, begin) : NULL;
    if (at == NULL || sscanf(at, "%31[^]]]", setting) != 1)
        fail_msg("what an older library does not know is not where it was");
    for (at = strstr(buffer, setting); at != NULL; at = strstr(at, setting)) {
        memset(at, ' ', strlen(setting) + 1); /* and the bracket */
        *at = '0';
    }
    return USHER_OK;
}

#define T INT64_C(1000000) /* times are given */

static struct usher_engine *of_library(bool is_older)
{
    struct usher_options options = USHER_OPTIONS_INIT;
    struct usher_engine *e;
    struct usher_result r;
    char url[REDIS_URL_MAX];

    options.clock_given = true;
    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d", redis_server_port(server));
    assert_int_equal(usher_open(url, &options, &e), USHER_OK);
    older = is_older;
    (void)line_execute(e, &r, "number show p 1"); /* loads the script */
    usher_result_done(&r);
    older = false;
    return e;
}

#define held(e, want, at, until, ...) line_execute_hold(e, T, want, at, until, __VA_ARGS__)

static int64_t longest(struct usher_engine *e, const char *settings, int64_t at)
{
    struct usher_result r;
    int64_t ms;

    line_execute(e, &r, "number set p %s now=%" PRId64, settings, T + at);
    assert_int_equal(r.status, USHER_OK);
    ms = r.of.number.of.settings.lease_max_ms;
    usher_result_done(&r);
    return ms;
}

/* Two libraries on one pool: the older one grants any lease, but keeps the setting that it does not
 * have.  The newer one ends each hold in time, for both. */
TEST(an_older_library_keeps_a_longest_hold)
{
    struct usher_engine *old, *new;
    uint64_t ann, bob, carl;
    struct usher_result r;

    assert_true(redis_do_ok(server, "FLUSHALL", NULL));
    old = of_library(true);
    new = of_library(false);
    for (int i = 1; i <= 3; i++) {
        line_execute(old, &r, "number add p %d now=%" PRId64, i, T);
        assert_int_equal(r.status, USHER_OK);
        line_execute(new, &r, "number reg p %d now=%" PRId64, i, T);
        assert_int_equal(r.status, USHER_OK);
    }
    assert_true(longest(new, "lease-max=1000", 0) == 1000);
    /* both on the fast path of their scripts */
    ann = held(old, USHER_OK, 0, 0, "call p owner=ann");
    bob = held(new, USHER_OK, 0, 1000, "call p owner=bob");
    carl = held(old, USHER_OK, 100, 0, "call p owner=carl node=pbx");
    (void)longest(old, "rest=10", 100);
    assert_true(longest(new, "", 100) == 1000);
    (void)held(old, USHER_SAME, 200, 0, "renew p 1 token=%" PRIu64, ann);
    (void)held(new, USHER_SAME, 200, 1000, "renew p 1 token=%" PRIu64, ann);
    (void)held(old, USHER_OK, 300, 5300, "renew p 2 token=%" PRIu64 " lease=5000", bob);
    (void)held(new, USHER_OK, 400, 1000, "renew p 2 token=%" PRIu64 " lease=5000", bob);
    (void)held(old, USHER_OK, 500, 5500, "renew p 2 token=%" PRIu64 " lease=5000", bob);
    (void)held(old, USHER_SAME, 1005, 0, "renew p 1 token=%" PRIu64, ann);
    /* the next command of the newer library ends the holds of ann and bob, and carl's is younger */
    held(new, USHER_OK, 1050, 2050, "call p owner=eve number=1");
    (void)held(old, USHER_STALE, 1050, 0, "renew p 1 token=%" PRIu64, ann);
    (void)held(new, USHER_REFUSED, 1050, 0, "renew p 2 token=%" PRIu64, bob);
    (void)held(old, USHER_SAME, 1060, 0, "renew p 3 token=%" PRIu64, carl);
    line_execute(new, &r, "number renew p node=pbx now=%" PRId64, T + 1060);
    assert_true(r.status == USHER_SAME && r.of.number.count == 0);
    usher_result_done(&r);
    (void)held(new, USHER_SAME, 1060, 1100, "renew p 3 token=%" PRIu64, carl);
    (void)held(new, USHER_REFUSED, 1200, 0, "renew p 3 token=%" PRIu64, carl);
    (void)held(old, USHER_REFUSED, 1200, 0, "renew p 3 token=%" PRIu64, carl);
    held(old, USHER_OK, 1200, 0, "call p owner=fay number=3");
    audit(new);
    usher_close(old);
    usher_close(new);
}
