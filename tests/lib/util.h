/* SPDX-License-Identifier: MIT */
/* util -- clocks, random numbers, texts and engines, as most tests need them. */
#ifndef USHER_TESTS_UTIL_H
#define USHER_TESTS_UTIL_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <usher/store/store.h>

/* The monotonic clock. */
int64_t clock_ms(void);
int64_t clock_us(void);
int64_t clock_ns(void);
void rest_us(long us);

/* The next random number of @state (splitmix64), and one below @n. */
uint64_t next_random(uint64_t *state);
uint64_t random_below(uint64_t *state, uint64_t n);

/* Take the seed of rnd() from USHER_TEST_SEED, else from the process, and print it.  Returns 0:
 * it may be the beginning of a TEST_PROGRAM(). */
int seed_set(void);
/* A number below @n that follows from that seed. */
uint64_t rnd(uint64_t n);

/* @s may be NULL. */
static inline struct usher_text text(const char *s)
{
    struct usher_text t = { s, s != NULL ? strlen(s) : 0 };

    return t;
}

static inline bool text_equal(const struct usher_text *a, const struct usher_text *b)
{
    return a->size == b->size && (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

static inline bool text_is(struct usher_text t, const char *want)
{
    struct usher_text other = text(want);

    return text_equal(&t, &other);
}

/* The test fails if @t is not @want. */
void assert_text(struct usher_text t, const char *want);

/* The clock of an engine whose payload is the address of an int64_t. */
int64_t clock_of(void *payload);

/* An engine on @url; @options may be NULL.  The test fails without one. */
struct usher_engine *engine_on_url(const char *url, const struct usher_options *options);

/* Prints a line of an audit. */
void print_fault(void *payload, const char *line);

/* The audit of @e finds nothing.  Prints what it finds. */
void audit(struct usher_engine *e);

/* usher_check() without options; *@ret_faults is the number of faults, on USHER_OK only. */
enum usher_status check_faults(struct usher_engine *e, usher_check_fn *fn, void *payload,
                               uint64_t *ret_faults);
/* Options of usher_check(). */
extern const struct usher_check_options repairing;

/* The next id of @ids, or the test fails. */
int64_t next_id(struct usher_ids *ids);

/* An allocator that counts, that can fail once, and that always moves and overwrites blocks. */
struct memory {
    size_t bytes, calls;
    size_t fail_at; /* number of the call that fails, from 1; 0: none */
};
void *memory_resize(void *payload, void *p, size_t old, size_t size);

/* Methods of a store that has nothing. */
enum usher_status scan_nothing(struct usher_store *s, enum usher_noun noun,
                               const struct usher_text *scope, int64_t deadline_ms,
                               usher_scan_fn *fn, void *payload, char message[192]);
enum usher_status list_nothing(struct usher_store *s, struct usher_page *page, int64_t deadline_ms,
                               usher_scan_fn *fn, void *payload, char message[192]);
void close_nothing(struct usher_store *s);

#endif
