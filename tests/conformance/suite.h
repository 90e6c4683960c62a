/* SPDX-License-Identifier: MIT */
/*
 * suite -- what every store must do.
 *
 * The tests are written once, against usher.h, in suite*.c.  A program of a few lines for each
 * store says how to make one: on_memory.c, on_sqlite.c, on_redis.c.  Run one test:
 * ./tests/conformance/on_sqlite 'a_busy*'.
 */
#ifndef USHER_TESTS_SUITE_H
#define USHER_TESTS_SUITE_H

#include <stdbool.h>
#include <stddef.h>

#include <usher/store/store.h>

#define BACKEND_URL_MAX 1200

struct backend {
    const char *name;
    bool durable; /* what was answered is there when the store is opened again */
    bool shared;  /* several engines may use it at once */
    /* Before all tests.  Returns 0, or the exit status of the program after it printed a reason. */
    int (*start)(void);
    /* The URL of a store with nothing in it, different from those before. */
    bool (*fresh)(char url[BACKEND_URL_MAX]);
    /* After all tests, and after a failed start(). */
    void (*stop)(void);
    /* For stores that the library does not have. */
    const struct usher_driver *drivers;
    /* Return the count of keys or rows in the store at @url, seen from outside; NULL if no other
     * program can read it. */
    size_t (*left)(const char *url);
    bool keeps_visits; /* `queue history` returns all ended visits, not only the kept ones */
    /* One test in three is run if this is true (budget.h), others each time, or if USHER_THIRD
     * names a third.  NULL: false. */
    bool (*some)(void);
};

/* The store of this program, in on_NAME.c. */
extern const struct backend under_test;

/* Stores that a test needs: TEST_NEEDS(). */
#define NEEDS_SHARED 1U
#define NEEDS_DURABLE 2U

#endif
