/* SPDX-License-Identifier: MIT */
/* How many records a command looks for: the same number with few of everything and with many. */
#include "lib/test.h"

#include <usher/usher.h>

#include "lib/rollback_store.h"

/* How many records `apply` looks for when its lane is new, in a queue of @lanes lanes with users.
 */
static unsigned long looks_of_a_new_lane(int lanes)
{
    struct usher_options options = USHER_OPTIONS_INIT;
    struct usher_engine *e = NULL;
    struct usher_queue_options opt = USHER_QUEUE_OPTIONS_INIT;
    char user[16], lane[16];
    unsigned long before;

    opt.lane = lane;
    options.drivers = &rollback_driver;
    assert_int_equal(usher_open("rollback:", &options, &e), USHER_OK);
    assert_int_equal(usher_queue_login(e, "q", "ann", NULL, NULL), USHER_OK);
    for (int i = 0; i < lanes; i++) {
        (void)snprintf(user, sizeof user, "u%d", i);
        (void)snprintf(lane, sizeof lane, "l%d", i);
        assert_int_equal(usher_queue_apply(e, "q", user, &opt, NULL), USHER_OK);
    }
    before = rollback_lookups();
    (void)snprintf(lane, sizeof lane, "new");
    assert_int_equal(usher_queue_apply(e, "q", "new", &opt, NULL), USHER_OK);
    before = rollback_lookups() - before;
    usher_close(e);
    return before;
}

TEST(a_user_in_a_new_lane_walks_past_no_other_lane)
{
    assert_int_equal(looks_of_a_new_lane(300), looks_of_a_new_lane(3));
}
