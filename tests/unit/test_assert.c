/* SPDX-License-Identifier: MIT */
/* Builds with checks abort on a broken assumption, and hostile builds poison freed memory; other
 * builds do neither. */
#include "lib/test.h"

#include <signal.h>
#include <sys/wait.h>

#include "core/segment.h"
#include "change/memory.h"

/* The status of a child that asks for no number of a segment. */
static int break_an_assumption(void)
{
    int status;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        struct usher__segment g = { .next = 5, .end = 9, .limit = 9, .by = 1 };
        uint64_t first;

        (void)signal(SIGABRT, SIG_DFL);
        (void)freopen("/dev/null", "w", stderr);
        (void)usher__segment_carve(&g, 0, &first);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

TEST(broken_assumption_aborts_builds_with_checks)
{
    int status = break_an_assumption();

#ifdef USHER_ASSERTS
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
#else
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
#endif
}

static bool asked;

static bool ask(void)
{
    asked = true;
    return true;
}

TEST(assumption_costs_nothing_in_builds_without_checks)
{
    asked = false;
    USHER_ASSERT(ask());
#ifdef USHER_ASSERTS
    assert_true(asked);
#else
    assert_false(asked);
#endif
}

TEST(a_grown_block_keeps_its_bytes_and_the_rest_is_poisoned)
{
    const struct usher_allocator *alloc = usher__allocator(NULL);
    unsigned char *p = alloc->resize(alloc->payload, NULL, 0, 40);

    assert_non_null(p);
    memset(p, 7, 40);
    p = alloc->resize(alloc->payload, p, 40, 80);
    assert_non_null(p);
    for (int i = 0; i < 40; i++)
        assert_int_equal(p[i], 7);
#ifdef USHER_HOSTILE
    for (int i = 40; i < 80; i++)
        assert_int_equal(p[i], 0xa5);
#endif
    p = alloc->resize(alloc->payload, p, 80, 3);
    assert_non_null(p);
    assert_int_equal(p[2], 7);
    assert_null(alloc->resize(alloc->payload, p, 3, 0));
}
