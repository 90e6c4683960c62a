/* SPDX-License-Identifier: MIT */
/*
 * ids -- ids of orders, at the speed of an addition: each process takes segments from the store and
 * hands out their ids itself.
 *
 *     cc ids.c $(pkg-config --cflags --libs usher) -o ids && ./ids sqlite:ids.db
 *
 * Started again, or several times at once, no run prints an id of another one.
 */
#include <inttypes.h>
#include <stdio.h>

#include <usher/usher.h>

#define ORDERS 100000

static int fail(const char *what)
{
    fprintf(stderr, "ids: %s: %s\n", what, usher_message());
    return 1;
}

/* Segments: an id is one atomic addition, in any thread. */
static int from_segments(struct usher_ids *ids, int64_t *ret_last)
{
    struct usher_ids_statistics stats;
    int64_t id, first, before = 0;

    for (int i = 0; i < ORDERS; i++) {
        if (usher_ids_next(ids, &id) != USHER_OK)
            return fail("next");
        if (id <= before) /* ids only grow, and gaps are normal */
            return fail("order");
        if (i == 0)
            printf("the first id is %" PRId64 "\n", id);
        before = id;
    }
    printf("the last id is %" PRId64 "\n", before);
    if (usher_ids_take(ids, 10, 0, &first) != USHER_OK || first <= before)
        return fail("take");
    printf("a batch has ten, from %" PRId64 " on\n", first);
    usher_ids_stats(ids, &stats);
    printf("%" PRIu64 " ids came from %" PRIu64 " segments\n", stats.issued, stats.segments);
    *ret_last = first + 9;
    return 0;
}

/* One command for a range.  Its repeat, with the same request id, returns the same range. */
static int from_store(struct usher_engine *e, int64_t last)
{
    struct usher_id_options opt = USHER_ID_OPTIONS_INIT;
    struct usher_id_answer range = USHER_ID_ANSWER_INIT, again = USHER_ID_ANSWER_INIT;
    char request[40];

    (void)snprintf(request, sizeof request, "import-%" PRId64, last);
    opt.request = request;
    if (!USHER_IS_DONE(usher_id_next(e, "orders", 500, &opt, &range)) ||
        !USHER_IS_DONE(usher_id_next(e, "orders", 500, &opt, &again)))
        return fail("range");
    if (range.first <= last || again.first != range.first)
        return fail("repeat");
    printf("the import has 500, from %" PRId64 " on\n", range.first);
    return 0;
}

int main(int argc, char **argv)
{
    struct usher_engine *e;
    struct usher_ids *ids;
    int64_t last = 0;
    int rc = 1;

    if (usher_open(argc > 1 ? argv[1] : "memory:", NULL, &e) != USHER_OK)
        return fail("open");
    if (USHER_IS_DONE(usher_id_create(e, "orders", NULL, NULL, NULL)) &&
        usher_ids_open(e, "orders", NULL, &ids) == USHER_OK) {
        rc = from_segments(ids, &last);
        usher_ids_close(ids); /* returns the ids that are left, if they are the newest */
        if (rc == 0)
            rc = from_store(e, last);
    } else {
        (void)fail("orders");
    }
    usher_close(e);
    return rc;
}
