/* SPDX-License-Identifier: MIT */
/* An authority in the memory of a test, which can be made slow, or fail. */
#ifndef USHER_TESTS_NOTARY_H
#define USHER_TESTS_NOTARY_H

#include <usher/authority.h>

#include <pthread.h>
#include <stdatomic.h>

#define NOTARY_NAMES 1024

struct notary {
    struct usher_authority base; /* for usher_options.authority */
    pthread_mutex_t lock;
    struct {
        enum usher_noun noun;
        size_t name_size;
        char name[USHER_AUTHORITY_NAME_MAX];
        struct usher_authority_entry entry;
    } of[NOTARY_NAMES];
    int n;
    atomic_int answer;    /* enum usher_status: what reserve() says instead; OK: what is right */
    atomic_int delay_ms;  /* that reserve() takes */
    atomic_uint requests; /* reserve() for numbers, not for data alone */
};

void notary_init(struct notary *n);
void notary_done(struct notary *n);

#endif
