/* SPDX-License-Identifier: MIT */
/* See test.h.  All state is of the program: constructors fill it before main() begins. */
#include "lib/test.h"

#include <limits.h>

#define FILES_MAX 32

static struct test *tests;
static struct fixture {
    const char *file;
    CMFixtureFunction setup, teardown;
} fixtures[FILES_MAX];
static size_t n_fixtures;
static int (*program_begin)(void);
static void (*program_end)(void);
static unsigned offers = UINT_MAX;
static bool in_thirds;
static size_t third;
static pid_t main_process;
static char dir[64];

/* Compilers order the constructors of a file as they like, and linkers keep those of one file
 * together. */
void test_add(struct test *t)
{
    struct test **at = &tests;

    while (*at != NULL && (strcmp((*at)->file, t->file) != 0 || (*at)->line < t->line))
        at = &(*at)->next;
    t->next = *at;
    *at = t;
}

void test_each(const char *file, CMFixtureFunction setup, CMFixtureFunction teardown)
{
    if (n_fixtures == FILES_MAX)
        abort();
    fixtures[n_fixtures++] = (struct fixture){ file, setup, teardown };
}

void test_program(int (*begin)(void), void (*end)(void))
{
    program_begin = begin;
    program_end = end;
}

void test_offer(unsigned offered)
{
    offers = offered;
}

void test_third(uint64_t which)
{
    in_thirds = true;
    third = which % 3;
}

const char *test_dir(void)
{
    const char *tmp = getenv("TMPDIR");

    if (dir[0] != '\0')
        return dir;
    (void)snprintf(dir, sizeof dir, "%s/usher-test-XXXXXX",
                   tmp != NULL && *tmp != '\0' && strlen(tmp) <= 40 ? tmp : "/tmp");
    if (getpid() != main_process || mkdtemp(dir) == NULL) {
        perror(dir);
        abort();
    }
    return dir;
}

int test_dir_remove(void **state)
{
    char command[128];

    (void)state;
    if (dir[0] == '\0')
        return 0;
    (void)snprintf(command, sizeof command, "rm -rf '%s'", dir);
    dir[0] = '\0';
    return system(command) != 0;
}

static struct CMUnitTest unit_of(const struct test *t)
{
    struct CMUnitTest unit = t->unit;

    for (size_t i = 0; t->each && i < n_fixtures; i++)
        if (strcmp(fixtures[i].file, t->file) == 0) {
            unit.setup_func = fixtures[i].setup;
            unit.teardown_func = fixtures[i].teardown;
        }
    return unit;
}

/* Return 1 if a test failed, because cmocka's count may be 77, which is a skip, or 256. */
static int run(const char *program)
{
    const char *slash = strrchr(program, '/');
    struct CMUnitTest *units;
    size_t n = 0, seen = 0;
    int failed;

    for (const struct test *t = tests; t != NULL; t = t->next)
        n++;
    units = calloc(n + 1, sizeof *units);
    if (units == NULL)
        return 1;
    n = 0;
    for (const struct test *t = tests; t != NULL; t = t->next)
        if ((t->needs & ~offers) == 0 && (!in_thirds || seen++ % 3 == third))
            units[n++] = unit_of(t);
    failed = _cmocka_run_group_tests(slash != NULL ? slash + 1 : program, units, n, NULL, NULL);
    free(units);
    return failed != 0;
}

int main(int argc, char **argv)
{
    int rc;

    main_process = getpid();
    rc = program_begin != NULL ? program_begin() : 0;
    if (rc == 0) {
        if (argc > 1)
            cmocka_set_test_filter(argv[1]);
        rc = run(argv[0]);
    }
    if (program_end != NULL)
        program_end();
    if (test_dir_remove(NULL) != 0 && rc == 0)
        rc = 1;
    return rc;
}
