/* SPDX-License-Identifier: MIT */
/*
 * nouns -- the models with one interface, for tests that are written once for all nouns
 * (lockstep.h, exhaustive.h, history.h).
 */
#ifndef USHER_TESTS_NOUNS_H
#define USHER_TESTS_NOUNS_H

#include <stdbool.h>
#include <stddef.h>

#include <usher/store/operation.h>

typedef void noun_notify(void *payload, const struct usher_notice *notice);

struct noun_model {
    enum usher_noun noun;
    void *(*open)(noun_notify *notify, void *payload);
    void *(*copy)(const void *model, noun_notify *notify, void *payload);
    void (*close)(void *model);
    size_t command_size; /* of a command whose meaning depends on the state: gen.h, queue_gen.h */
    /* Return the command as it is now; its texts may be in @command. */
    struct usher_operation (*resolve)(const void *model, void *command);
    void (*execute)(void *model, const struct usher_operation *c, struct usher_result *r);
    void (*reply_done)(struct usher_result *r);
    const char *(*fault)(const void *model); /* NULL, or the invariant that does not hold */
    /* NULL, or what does not add up; may be NULL.  Dearer than fault(). */
    const char *(*sums)(const void *model);
};

extern const struct noun_model number_noun, queue_noun, room_noun;

#endif
