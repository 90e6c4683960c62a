/* SPDX-License-Identifier: MIT */
/*
 * test -- what every test program includes, in place of config.h: the headers that most of them
 * need, and functions that register themselves.
 *
 *     TEST(a_busy_number_is_refused)
 *     {
 *         ...
 *     }
 *
 * A test is static and takes `void **state`, as in cmocka.  lib/test.c has the main() of all
 * programs.  It runs the tests of a file in the order of their lines, or those whose names match
 * the first argument ('a_busy*').
 */
#ifndef USHER_TESTS_TEST_H
#define USHER_TESTS_TEST_H

#include "config.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <usher/store/operation.h>

#include "lib/budget.h"

/* Options of a list: LIST_OF(.max = 7). */
#define LIST_OF(...) \
    (&(const struct usher_list_options){ .size = sizeof(struct usher_list_options), __VA_ARGS__ })

/* A constructor: linker sections would need one spelling for each object format, and sanitizers put
 * space between their members. */
#define TEST_AT_START(id) __attribute__((constructor)) static void test_##id##_at_start(void)

/* Define the test @name, with the fixture of TEST_EACH() if its file has one. */
#define TEST(name) TEST_ROW(name, NULL, NULL, .each = true)

/* Define the test @name with a fixture of its own.  NULL: none. */
#define TEST_WITH(name, setup, teardown) TEST_ROW(name, setup, teardown, .each = false)

/* Define a test that runs only if test_offer() names all bits of @needs. */
#define TEST_NEEDS(name, needed) TEST_ROW(name, NULL, NULL, .each = true, .needs = (needed))

#define TEST_ROW(name, setup, teardown, ...)                                       \
    static void name(void **state);                                                \
    TEST_AT_START(name)                                                            \
    {                                                                              \
        static struct test row = { .unit = { #name, name, setup, teardown, NULL }, \
                                   .file = __FILE__,                               \
                                   .line = __LINE__,                               \
                                   __VA_ARGS__ };                                  \
                                                                                   \
        test_add(&row);                                                            \
    }                                                                              \
    static void name(__attribute__((unused)) void **state)

/* Set the fixture of every TEST() and TEST_NEEDS() of this file. */
#define TEST_EACH(setup, teardown)                \
    TEST_AT_START(each)                           \
    {                                             \
        test_each(__FILE__, (setup), (teardown)); \
    }                                             \
    struct test

/*
 * Set what a program does before and after its tests.  Each may be NULL.  @begin returns 0 or the
 * exit status of the program, such as that of redis_skip(); then no test runs.  @end is called in
 * both cases, so it must accept what @begin left undone.
 */
#define TEST_PROGRAM(begin, end)      \
    TEST_AT_START(program)            \
    {                                 \
        test_program((begin), (end)); \
    }                                 \
    struct test

/* A registered test.  It must stay until the program ends. */
struct test {
    struct CMUnitTest unit;
    const char *file;
    int line;
    bool each;      /* takes the fixture of TEST_EACH() */
    unsigned needs; /* bits of test_offer() */
    struct test *next;
};

void test_add(struct test *t);
void test_each(const char *file, CMFixtureFunction setup, CMFixtureFunction teardown);
void test_program(int (*begin)(void), void (*end)(void));

/* Called by @begin: run the tests that need other bits than @offered no more. */
void test_offer(unsigned offered);

/* The path of a directory of this program, at most 60 bytes.  The first call makes it, and must not
 * be in a child of fork().  It is removed with its content after @end, and by test_dir_remove(),
 * which may be the teardown of a test. */
const char *test_dir(void);
int test_dir_remove(void **state);

/* Called by @begin: run one test in three, beginning at number @which % 3. */
void test_third(uint64_t which);

#endif
