/* SPDX-License-Identifier: MIT */
/*
 * The heap of what is due (engine/timers.h): which is first and when is compared with a look at
 * all, through random times, additions and removals; without memory nothing changes. Seeded by
 * USHER_SEED.
 */
#include "lib/test.h"

#include "engine/timers.h"
#include "model/gen.h"

#define MANY 300

struct one {
    struct usher__timer due;
    int64_t ms;
    bool there;
};

static bool refuses;

static void *resize(void *payload, void *p, size_t old, size_t size)
{
    (void)payload;
    (void)old;
    if (size == 0) {
        free(p);
        return NULL;
    }
    return refuses ? NULL : realloc(p, size);
}

static const struct usher_allocator alloc = { .resize = resize };

static void look(const struct usher__timers *l, const struct one *all, size_t n)
{
    int64_t first = INT64_MAX;

    for (size_t i = 0; i < MANY; i++)
        if (all[i].there && all[i].ms < first)
            first = all[i].ms;
    assert_int_equal(l->n, n);
    assert_true(usher__timers_ms(l) == first);
    for (size_t i = 0; i < l->n; i++) {
        const struct one *one = (const struct one *)(const void *)l->heap[i].of;

        assert_true(one->there && one->due.at == i && l->heap[i].ms == one->ms);
        assert_true(i == 0 || l->heap[(i - 1) / 2].ms <= l->heap[i].ms);
    }
}

TEST(the_earliest_timer_is_first)
{
    static struct one all[MANY];
    struct usher__timers l = { NULL, 0, 0 };
    const char *given = getenv("USHER_SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    struct rng rng;
    size_t n = 0;

    print_message("USHER_SEED=%" PRIu64 "\n", seed);
    rng_seed(&rng, seed);
    look(&l, all, 0);
    for (unsigned step = 0; step < 20000; step++) {
        struct one *one = &all[rng_below(&rng, MANY)];

        if (!one->there) {
            one->there = usher__timers_add(&l, &alloc, &one->due);
            assert_true(one->there);
            one->ms = INT64_MAX;
            n++;
        } else if (rng_chance(&rng, 20)) {
            usher__timers_remove(&l, &one->due);
            one->there = false;
            n--;
        } else {
            one->ms = rng_chance(&rng, 10) ? INT64_MAX : (int64_t)rng_below(&rng, 50);
            usher__timers_set(&l, &one->due, one->ms);
        }
        look(&l, all, n);
    }
    usher__timers_free(&l, &alloc);
}

TEST(without_memory_nothing_changes)
{
    static struct one all[MANY];
    struct usher__timers l = { NULL, 0, 0 };
    size_t n = 0;

    refuses = true;
    assert_false(usher__timers_add(&l, &alloc, &all[0].due));
    look(&l, all, 0);
    refuses = false;
    for (; n == 0 || n < l.room; n++) {
        all[n].there = usher__timers_add(&l, &alloc, &all[n].due);
        all[n].ms = 100 - (int64_t)n;
        usher__timers_set(&l, &all[n].due, all[n].ms);
    }
    refuses = true;
    assert_false(usher__timers_add(&l, &alloc, &all[n].due));
    look(&l, all, n);
    refuses = false;
    usher__timers_free(&l, &alloc);
}
