/* SPDX-License-Identifier: MIT */
/*
 * budget -- the number of steps of a test without an end.  An environment variable may give it.
 * Else it is as much as CI has time for (USHER_EACH=2), half of that in `make check`, and a quarter
 * where everything is slower (a sanitizer, USHER_WRAPPER).
 */
#ifndef USHER_LIB_BUDGET_H
#define USHER_LIB_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

/* Return the number in the environment variable @variable, or @otherwise. */
uint64_t number_from(const char *variable, uint64_t otherwise);

/* Return the number in the environment variable @variable, or @n or its share. */
uint64_t budget_of(const char *variable, uint64_t n);

/* Return the number of rounds of a cluster test, each with another seed: 200 with USHER_LONG; else
 * that of USHER_ROUNDS or USHER_EACH, else 1. */
uint64_t budget_rounds(void);

/* Return whether everything takes longer here, and whether within USHER_WRAPPER (valgrind). */
bool budget_slow(void);
bool budget_wrapped(void);

/* Return whether USHER_LONG=1 asks for complete tests. */
bool budget_long(void);

/* Return whether this is `make check`: neither CI (USHER_EACH=2) nor a long run. */
bool budget_short(void);

#endif
