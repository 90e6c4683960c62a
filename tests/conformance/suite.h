/* SPDX-License-Identifier: MIT */
/*
 * suite -- what every store must do.
 *
 * The tests are written once, against usher.h.  A program of a few lines for each store
 * says how to make one: on_memory.c, on_sqlite.c, on_redis.c.  Run one test:
 * ./tests/conformance/on_sqlite 'a_busy*'.
 */
#ifndef USHER_TESTS_SUITE_H
#define USHER_TESTS_SUITE_H

#include <stdbool.h>
#include <stddef.h>

#include <usher/store.h>

#define BACKEND_URL_MAX 1200

struct backend {
    const char *name;
    bool durable; /* what was answered is there when the store is opened again */
    bool shared;  /* several engines may use it at once */
    /* Before all tests.  0, or what main() is to return, a reason printed. */
    int (*start)(void);
    /* The URL of a store with nothing in it, different from those before. */
    bool (*fresh)(char url[BACKEND_URL_MAX]);
    /* After all tests, and after a failed start(). */
    void (*stop)(void);
    /* For stores that the library does not have. */
    const struct usher_driver *drivers;
    /* How many keys or rows there are in the store at @url, seen from outside; NULL: nobody can
     * look into it. */
    size_t (*left)(const char *url);
    bool keeps_visits; /* `queue history` tells of all that ended, not only of those kept */
    /* One test in three is run if this is true (share.h), others each time, or if USHER_THIRD names
     * a third.  NULL: false. */
    bool (*some)(void);
};

/* Run an array of tests. */
#define suite_tests(b, group, tests) \
    suite_group(b, group, tests, sizeof(tests) / sizeof(struct CMUnitTest))
struct CMUnitTest;
int suite_group(const struct backend *b, const char *group, const struct CMUnitTest *tests,
                size_t n);

/* Those of rooms; suite_main() runs them, too. */
int suite_rooms(const struct backend *b);
/* Of replicas of rooms; within suite_main(). */
int suite_replica(const struct backend *b);
/* Of serials; within suite_main(). */
int suite_serial(const struct backend *b);

/* Of serials and ids with an authority, at random; within suite_main(). */
int suite_granted(const struct backend *b);

/* Of scopes that are dropped; within suite_main(). */
int suite_drop(const struct backend *b);

/* Of logs, and who follows them; within suite_main(). */
int suite_news(const struct backend *b);

/* What they do with time; within suite_main(). */
int suite_time(const struct backend *b);

/* The tests whose names match argv[1], or all. */
int suite_ids(const struct backend *b); /* those about ids, of suite_main() */
int suite_main(const struct backend *b, int argc, char **argv);

/* Those of queues, between start() and stop(): suite_main() runs them, too. */
int suite_queue(const struct backend *b);
int suite_queue_agents(const struct backend *b);
int suite_queue_visits(const struct backend *b);
int suite_queue_tokens(const struct backend *b);

#endif
