/* SPDX-License-Identifier: MIT */
/*
 * What the engine does for a noun besides handing its commands to the store.  Each noun has one of
 * these; the engine asks for what it needs and names none of them (tests/check-nouns.sh).  Members
 * that a noun has no use for are NULL or 0.
 */
#ifndef USHER_ENGINE_NOUNS_H
#define USHER_ENGINE_NOUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <usher/operation.h>

#include "core/verbs.h"

struct usher_record;
struct usher__out; /* tables.h */

/* A step of what commands are that the store does not get as they are. */
struct usher__step {
    const struct usher_operation *commands;
    struct usher_result *replies;
    size_t n; /* 0: leave the store to others for so long */
    int64_t deadline_ms;
    int64_t pause_ns;
};

struct usher__hooks {
    /* What the types of the arguments do not say: NULL, or what is wrong, of the argument
     * *@ret_word if that is set. */
    const char *(*fault)(const struct usher_operation *command, const char **ret_word);
    /* Of an answer that came from elsewhere: what a caller counts up to is no more than there can
     * be. */
    bool (*sound)(const struct usher_operation *command, const struct usher_result *reply);
    /* A reply is fresh: in place of zeros everywhere. */
    void (*fresh)(struct usher_result *reply);
    /* The store has answered. */
    void (*answered)(const struct usher_operation *command, struct usher_result *reply);
    /* In place of usher__engine_execute_all(), for commands of which some are of this noun. */
    void (*execute)(struct usher_engine *e, const struct usher_operation *commands,
                    struct usher_result *replies, size_t n, int64_t deadline_ms);
    /* The same for who does not wait, in steps.  A plan has @plan_size bytes; `next`, when the step
     * before is done, says which one is next, or false: all are answered; `leave` gives back what
     * the plan has, at its end or before. */
    size_t plan_size;
    void (*plan)(void *plan, struct usher_engine *e, const struct usher_operation *commands,
                 struct usher_result *replies, size_t n, int64_t deadline_ms);
    bool (*next)(void *plan, struct usher__step *ret_step);
    void (*leave)(void *plan);
    /* Words of codes; "?" of one that is not known. */
    const char *(*state_word)(unsigned code), *(*why_word)(unsigned code);
    /* What a notice with a subject is about; NULL: nothing that is known. */
    enum usher_subject (*subject)(const struct usher_notice *notice);
    /* In struct usher_result, an enum: with this reason nothing of the command itself was done, for
     * there was too much to be done before. */
    uint16_t why_at;
    uint32_t why_due;
    /* In struct usher_operation, a text: with it a verb that is USHER__IF_OWNER comes out the same.
     */
    uint16_t owner_at;
    /* The verb by which a scope goes; in struct usher_result, how many records went with the step
     * and whether there are more; what it means if it is refused. */
    enum usher_verb drop;
    uint16_t dropped_at, more_at;
    const char *drop_refused;
    /* A notice with it is for the journal of an authority. */
    enum usher_verb expires;
    /* Constants for the Lua of the noun, beside those that all have. */
    void (*lua)(struct usher__out *o);
    /* Can a scope be made again from what an authority keeps of it? */
    bool (*form_reads)(const char *data, size_t size);
    /* Another noun, whose scopes are an index of this one's, and the name of that in which @name
     * stands; do they agree about @name, as usher__room_index_check() says? */
    enum usher_noun index;
    void (*index_part)(const struct usher_text *name, char part[USHER_NAME_MAX + 1]);
    enum usher_status (*index_check)(struct usher_engine *e, const struct usher_text *name,
                                     bool repair, const char **ret_fault, bool *ret_repaired);
    /* Of an index: does @r say that there is such a scope? */
    bool (*is_entry)(const struct usher_record *r);
};

extern const struct usher__hooks usher__number_hooks, usher__queue_hooks, usher__room_hooks,
    usher__rooms_hooks, usher__serial_hooks, usher__id_hooks;

void usher__number_lua(struct usher__out *o); /* number_tables.c */

extern const struct usher__hooks *const usher__noun_hooks[USHER__NOUNS]; /* none is NULL */

/* Of a noun that is not known: nothing. */
static inline const struct usher__hooks *usher__hooks(unsigned noun)
{
    return usher__noun_hooks[noun < USHER__NOUNS ? noun : 0];
}

static inline const struct usher__hooks *usher__hooks_of(enum usher_verb verb)
{
    return usher__hooks((unsigned)verb >> 8);
}

#endif
