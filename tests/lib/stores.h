/* SPDX-License-Identifier: MIT */
/*
 * stores -- every store that this build has, for tests that do the same on all of them:
 * memory, SQLite in a directory of its own, a Redis server.
 *
 * USHER_STORES=memory,sqlite leaves the others out, to look for something by hand.
 */
#ifndef USHER_TESTS_STORES_H
#define USHER_TESTS_STORES_H

#include <stdbool.h>

#include <usher/usher.h>

#define STORES_MAX 3
#define STORE_URL_MAX 1200

struct test_store {
    const char *name;
    /* Write the URL of an empty store.  The previous store's content is gone. */
    bool (*fresh)(char url[STORE_URL_MAX]);
};

/* Filled in by stores_start(). */
extern struct test_store stores[STORES_MAX];
extern unsigned n_stores;

/* Return 0, or the exit status for main().  A missing Redis server is reported and left out. */
int stores_start(void);
void stores_stop(void);

/* Return the store of that name, or NULL. */
const struct test_store *stores_named(const char *name);

/* End a test on the missing store @name: skip it, or fail where no test may be skipped
 * (USHER_NO_SKIP). */
void stores_skip(const char *name);

/* An engine with a given clock on an empty store.  The test fails without one. */
struct usher_engine *engine_on_store(const struct test_store *store);

#endif
