/* SPDX-License-Identifier: MIT */
/* See util.h. */
#include "lib/test.h"

#include "lib/util.h"

#include <usher/ids.h>

int64_t clock_ns(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int64_t clock_us(void)
{
    return clock_ns() / 1000;
}

int64_t clock_ms(void)
{
    return clock_ns() / 1000000;
}

void rest_us(long us)
{
    struct timespec ts = { 0, us * 1000 };

    (void)nanosleep(&ts, NULL);
}

uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint64_t random_below(uint64_t *state, uint64_t n)
{
    return next_random(state) % n;
}

static uint64_t seed_state;

int seed_set(void)
{
    const char *seed = getenv("USHER_TEST_SEED");

    seed_state = seed != NULL ? strtoull(seed, NULL, 0) : (uint64_t)getpid() * 2654435761u;
    print_message("USHER_TEST_SEED=%" PRIu64 "\n", seed_state);
    return 0;
}

uint64_t rnd(uint64_t n)
{
    return random_below(&seed_state, n);
}

void assert_text(struct usher_text t, const char *want)
{
    if (!text_is(t, want))
        fail_msg("\"%.*s\" instead of \"%s\"", (int)t.size, t.data != NULL ? t.data : "", want);
}

int64_t clock_of(void *payload)
{
    return *(const int64_t *)payload;
}

struct usher_engine *engine_on_url(const char *url, const struct usher_options *options)
{
    struct usher_engine *e = NULL;

    if (usher_open(url, options, &e) != USHER_OK)
        fail_msg("%s: %s", url, usher_message());
    return e;
}

void print_fault(void *payload, const char *line)
{
    (void)payload;
    print_error("audit: %s\n", line);
}

void audit(struct usher_engine *e)
{
    uint64_t faults = UINT64_MAX;

    if (check_faults(e, print_fault, NULL, &faults) != USHER_OK)
        fail_msg("%s", usher_message());
    assert_int_equal(faults, 0);
}

enum usher_status check_faults(struct usher_engine *e, usher_check_fn *fn, void *payload,
                               uint64_t *ret_faults)
{
    struct usher_check_result found;
    enum usher_status status = usher_check(e, NULL, fn, payload, &found);

    if (status == USHER_OK)
        *ret_faults = found.faults;
    return status;
}

const struct usher_check_options repairing = { .size = sizeof repairing, .repair = true };

int64_t next_id(struct usher_ids *ids)
{
    int64_t id = -1;

    if (usher_ids_next(ids, &id) != USHER_OK)
        fail_msg("%s", usher_message());
    return id;
}

void *memory_resize(void *payload, void *p, size_t old, size_t size)
{
    struct memory *m = payload;
    void *q = NULL;

    assert_true(m->bytes >= old);
    assert_true((p == NULL) == (old == 0));
    if (size != 0) {
        if (++m->calls == m->fail_at)
            return NULL;
        q = malloc(size);
        assert_non_null(q);
        memset(q, 0xa5, size);
    }
    if (p != NULL) {
        if (q != NULL)
            memcpy(q, p, old < size ? old : size);
        memset(p, 0xdb, old);
        free(p);
    }
    m->bytes = m->bytes - old + size;
    return q;
}

enum usher_status scan_nothing(struct usher_store *s, enum usher_noun noun,
                               const struct usher_text *scope, int64_t deadline_ms,
                               usher_scan_fn *fn, void *payload, char message[192])
{
    (void)s;
    (void)noun;
    (void)scope;
    (void)deadline_ms;
    (void)fn;
    (void)payload;
    (void)message;
    return USHER_OK;
}

enum usher_status list_nothing(struct usher_store *s, struct usher_page *page, int64_t deadline_ms,
                               usher_scan_fn *fn, void *payload, char message[192])
{
    (void)s;
    (void)deadline_ms;
    (void)fn;
    (void)payload;
    (void)message;
    page->next[0] = '\0';
    return USHER_OK;
}

void close_nothing(struct usher_store *s)
{
    (void)s;
}
