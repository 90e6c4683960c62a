/* SPDX-License-Identifier: MIT */
/* An authority in the memory of a test, which can be made slow, or fail.  Its journal has room for
 * FAKE_AUTHORITY_EVENTS. */
#ifndef USHER_LIB_FAKE_AUTHORITY_H
#define USHER_LIB_FAKE_AUTHORITY_H

#include <usher/store/authority.h>

#include <pthread.h>
#include <stdatomic.h>

#define FAKE_AUTHORITY_NAMES 1024
#define FAKE_AUTHORITY_EVENTS 256

struct fake_authority {
    struct usher_authority base; /* for usher_options.authority */
    pthread_mutex_t lock;
    struct {
        enum usher_noun noun;
        size_t name_size;
        char name[USHER_AUTHORITY_NAME_MAX];
        struct usher_authority_entry entry;
    } of[FAKE_AUTHORITY_NAMES];
    int n;
    struct fake_authority_event {
        struct usher_authority_event event; /* its texts are these: */
        char name[USHER_NAME_MAX], owner[USHER_NAME_MAX], text[USHER_SERIAL_TEXT_MAX];
    } * events; /* the journal */
    size_t n_events;
    atomic_int answer;    /* enum usher_status: that reserve() returns; OK: the right one */
    atomic_int delay_ms;  /* the time that reserve() takes */
    atomic_uint requests; /* reserve() for numbers, not for data alone */
};

void fake_authority_init(struct fake_authority *n);
void fake_authority_done(struct fake_authority *n);

#endif
