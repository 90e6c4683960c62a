/* SPDX-License-Identifier: MIT */
/*
 * The hooks of a noun: code of the engine in addition to giving its commands to the store.  Each
 * noun has one such struct; the engine uses it and names no noun (tests/check-nouns.sh).  Members
 * that a noun does not need are NULL or 0.
 */
#ifndef USHER_CHANGE_HOOKS_H
#define USHER_CHANGE_HOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <usher/operation.h>

#include "core/verbs.h"

struct usher_record;
struct usher__needs_grant;
struct usher__out; /* export.h */

/* A step of commands that the store does not get as they are. */
struct usher__step {
    const struct usher_operation *commands;
    struct usher_result *replies;
    size_t n; /* 0: a pause, in which other commands use the store */
    int64_t deadline_ms;
    int64_t pause_ns;
};

typedef void usher__put(void *to, const struct usher_value *value);

/* The nouns with the hook `applies`, as bits.  It is called for each field of each answer, so this
 * is a constant for the compiler. */
#define USHER__APPLY (1u << USHER_QUEUE)

/* The maximum size of the record of a scope in an authority (nouns/definition.h). */
#define USHER__FORM_MAX 512

/* The maximum size of a text that is made of other members, with its NUL. */
#define USHER__MADE_MAX 256

/* The position of the next row, in order from the first. */
struct usher__row_at {
    size_t i;        /* index in the result */
    int64_t within;  /* how many of the rows that it stands for were read */
    uint64_t before; /* how many the rows before it stand for */
    uint64_t room[16];
};

#define USHER__TOLD_VALUE 64

enum usher__gathering {
    USHER__GATHERING_STAYS, /* nothing */
    USHER__GATHERING_ENDS,  /* they are delivered before */
    USHER__GATHERING_GROWS, /* this may be delivered with them */
    USHER__GATHERING_HIDES  /* the same, and its answer does not include them yet */
};

struct usher__hooks {
    /* Check what the types of the arguments do not define.  Return NULL, or the fault, which is in
     * the argument *@ret_word if that is set. */
    const char *(*fault)(const struct usher_operation *command, const char **ret_word);
    /* Return whether an answer from another process is valid: counts are no more than there can
     * be. */
    bool (*sound)(const struct usher_operation *command, const struct usher_result *reply);
    /* Initialise a reply, in place of zeros everywhere. */
    void (*fresh)(struct usher_result *reply);
    /* The store has answered. */
    void (*answered)(const struct usher_operation *command, struct usher_result *reply);
    /* Replaces usher__engine_execute_all() for commands of which some are of this noun. */
    void (*execute)(struct usher_engine *e, const struct usher_operation *commands,
                    struct usher_result *replies, size_t n, int64_t deadline_ms);
    bool alone; /* `execute` gets commands of this noun only, and there is no plan for them */
    /* The same for asynchronous calls, in steps.  A plan has @plan_size bytes.  `next` is called
     * when the step before is done, and writes the next one, or returns false: all are answered.
     * `leave` frees the resources of the plan, at its end or before. */
    size_t plan_size;
    void (*plan)(void *plan, struct usher_engine *e, const struct usher_operation *commands,
                 struct usher_result *replies, size_t n, int64_t deadline_ms);
    bool (*next)(void *plan, struct usher__step *ret_step);
    void (*leave)(void *plan);
    /* Return the word of a code, "?" if it is not known. */
    const char *(*state_word)(unsigned code), *(*why_word)(unsigned code);
    /* Return the kind of the subject of a notice; NULL: none is known. */
    enum usher_subject (*subject)(const struct usher_notice *notice);
    /* The offset of the reason in struct usher_result, an enum.  With the reason why_due nothing of
     * the command itself was done, because too many expiries had to be done before. */
    uint16_t why_at;
    uint32_t why_due;
    /* The same for a noun without reasons. */
    bool (*unfinished)(const struct usher_result *reply);
    /* The offset of a text in struct usher_operation: with it a repeated verb that is
     * USHER__IF_OWNER has the same outcome. */
    uint16_t owner_at;
    /* An answer that is stale by its version or epoch also has the current content. */
    bool stale_has_all;
    /* The verb that drops a scope; the message if it is refused. */
    enum usher_verb drop;
    uint64_t drop_given; /* the arguments that it has, which are 0 */
    const char *drop_refused;
    /* The verb that applies expiries; 0: the noun has none. */
    enum usher_verb sweep;
    /* For a noun whose commands need grants of an authority: engine/grant.h. */
    const struct usher__needs_grant *grants;

    /* ---- the content of a result that the tables do not define (result_fields.h) ---- */

    /* Return whether @f is part of the answer.  USHER__APPLY has the nouns with this hook. */
    bool (*applies)(const struct usher__field *f, const struct usher_operation *op,
                    const struct usher_result *r);
    /* Return whether the answer has settings or statistics; NULL: if the scope exists. */
    bool (*has_extras)(const struct usher_operation *op, const struct usher_result *r);
    /* Return the i-th field that `say` writes for an answer to @verb; 0: no more. */
    uint32_t (*says)(uint32_t verb, size_t i);
    void (*say)(usher__put *put, void *to, const struct usher_operation *op,
                const struct usher_result *r);
    /* Return the number of rows, and the next row, of a result whose rows stand for several; NULL:
     * each stands for one. */
    size_t (*rows)(const struct usher_operation *op, const struct usher_result *r);
    const char *(*row)(const struct usher_operation *op, const struct usher_result *r,
                       struct usher__row_at *at);
    /* Make a text of other members: of row @row, if the rows before it stand for @before, or of the
     * answer itself (NULL). */
    size_t (*text)(const struct usher_result *r, const char *row, uint64_t before,
                   char to[USHER__MADE_MAX]);
    /* Write the name of place @i, from 1, of the agent that logged in at @login.  Return false if
     * it has fewer. */
    bool (*place_name)(uint64_t epoch, uint64_t login, int64_t i, char to[USHER__MADE_MAX]);
    /* Kinds of rows: a value for all members, and a notice. */
    int row_of_all, row_of_notice;

    /* ---- notices ---- */

    /* Return the word of a state in a notice about @of, or NULL if that has no states. */
    const char *(*told_state)(const struct usher_notice *notice, enum usher_subject of,
                              unsigned state);
    /* May be NULL.  Replace *@value, of field @name in the data of a notice, by a readable one, in
     * @to if necessary. */
    void (*told_value)(const struct usher_notice *notice, const struct usher_text *name,
                       struct usher_text *value, char to[USHER__TOLD_VALUE]);
    bool marks; /* notices have `was` and `mark`, and no token */
    /* The verb of a notice of coalesced changes; iterate over them as usher_room_presence()
     * does. */
    enum usher_verb together;
    bool (*each)(const struct usher_notice *notice, size_t *at, struct usher_notice *ret_one);
    /* The effect of a command on the notices that are being coalesced.  The offsets, in an answer,
     * of the version and the mark up to which a caller was notified. */
    enum usher__gathering (*gathering)(enum usher_verb verb);
    uint16_t since_at, mark_at;
    /* The verb of the last notice of a scope, after which it does not exist.  Return whether a
     * notice with @verb precedes that. */
    enum usher_verb gone;
    bool (*closes)(enum usher_verb verb);

    /* ---- scripts and audits ---- */

    /* Write constants for the Lua of the noun, in addition to those of all nouns. */
    void (*lua)(struct usher__out *o);
    /* Another noun, whose scopes are an index of the scopes of this one; the name of the index
     * scope for @name; a check of its entry for @name, see usher__room_directory_check(). */
    enum usher_noun index;
    void (*index_part)(const struct usher_text *name, char part[USHER_NAME_MAX + 1]);
    enum usher_status (*index_check)(struct usher_engine *e, const struct usher_text *name,
                                     bool repair, const char **ret_fault, bool *ret_repaired);
    /* For an index: return whether @r is an entry for a scope. */
    bool (*is_entry)(const struct usher_record *r);
};

extern const struct usher__hooks usher__number_hooks, usher__queue_hooks, usher__room_hooks,
    usher__rooms_hooks, usher__serial_hooks, usher__id_hooks, usher__store_hooks;

void usher__number_lua(struct usher__out *o); /* number_lua.c */

extern const struct usher__hooks *const usher__noun_hooks[USHER__NOUNS]; /* none is NULL */

/* Return the hooks of @noun; for an unknown noun those without any hook. */
static inline const struct usher__hooks *usher__hooks(unsigned noun)
{
    return usher__noun_hooks[noun < USHER__NOUNS ? noun : 0];
}

static inline const struct usher__hooks *usher__hooks_of(enum usher_verb verb)
{
    return usher__hooks((unsigned)verb >> 8);
}

#endif
