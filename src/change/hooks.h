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

#include <usher/store/operation.h>

#include "core/verbs.h"

struct usher_record;
struct usher__needs_grant;
struct usher__archive_ops;
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

/* ---- parts that one or two nouns have ------------------------------------------------------ */

/* A plan for commands, in steps. */
struct usher__plan_ops {
    size_t size; /* of a plan */
    void (*begin)(void *plan, struct usher_engine *e, const struct usher_operation *commands,
                  struct usher_result *replies, size_t n, int64_t deadline_ms);
    /* The step before is done.  Write the next one, or return false: all are answered. */
    bool (*next)(void *plan, struct usher__step *ret_step);
    /* Free the resources of the plan, at its end or before. */
    void (*leave)(void *plan);
};

/* An index: scopes of the noun @in have an entry for each scope of the noun @of.  Both nouns have
 * it. */
struct usher__index {
    enum usher_noun of, in;
    /* Write the name of the index scope with the entry for @name. */
    void (*part)(const struct usher_text *name, char part[USHER_NAME_MAX + 1]);
    /* Check the entry for @name: see usher__room_directory_check(). */
    enum usher_status (*check)(struct usher_engine *e, const struct usher_text *name, bool repair,
                               const char **ret_fault, bool *ret_repaired);
    /* Return whether @r is an entry for a scope. */
    bool (*is_entry)(const struct usher_record *r);
};

/* The effect of a command on the notices that are being coalesced. */
enum usher__gathering {
    USHER__GATHERING_STAYS, /* nothing */
    USHER__GATHERING_ENDS,  /* they are delivered before */
    USHER__GATHERING_GROWS, /* this may be delivered with them */
    USHER__GATHERING_HIDES  /* the same, and its answer does not include them yet */
};

/* Scopes that clients have copies of (usher/replica.h).  Their notices have `was` and `mark`, and
 * no token.  An answer that is stale by its version or epoch also has the current content.  Notices
 * of clients that come and go may be coalesced. */
struct usher__copied {
    int row_of_all, row_of_notice; /* kinds of rows: a value for all members, and a notice */
    /* The verb of a notice of coalesced changes.  Read the next one in it, at *@at. */
    enum usher_verb together;
    bool (*each)(const struct usher_notice *notice, size_t *at, struct usher_notice *ret_one);
    enum usher__gathering (*gathering)(enum usher_verb verb);
    /* The offsets, in an answer, of the version and the mark up to which a caller was notified. */
    uint16_t since_at, mark_at;
    /* The verb of the last notice of a scope, after which it does not exist.  Return whether a
     * notice with @verb precedes that. */
    enum usher_verb gone;
    bool (*closes)(enum usher_verb verb);
};

/* Settings, statistics and other values of an answer that the tables do not define. */
struct usher__extras {
    /* Return whether the answer has settings or statistics. */
    bool (*has)(const struct usher_operation *op, const struct usher_result *r);
    /* Return the i-th field that `say` writes for an answer to @verb; 0: no more.  NULL: none. */
    uint32_t (*says)(uint32_t verb, size_t i);
    void (*say)(usher__put *put, void *to, const struct usher_operation *op,
                const struct usher_result *r);
};

/* Rows that stand for several. */
struct usher__row_ops {
    size_t (*count)(const struct usher_operation *op, const struct usher_result *r);
    const char *(*next)(const struct usher_operation *op, const struct usher_result *r,
                        struct usher__row_at *at);
};

/* ---- the hooks of a noun -------------------------------------------------------------------- */

struct usher__hooks {
    /* ---- before a command ---- */

    /* Check what the types of the arguments do not define.  Return NULL, or the fault, which is in
     * the argument *@ret_word if that is set. */
    const char *(*fault)(const struct usher_operation *command, const char **ret_word);
    /* Initialise a reply, in place of zeros everywhere. */
    void (*fresh)(struct usher_result *reply);

    /* ---- in place of giving it to the store ---- */

    /* Replaces usher__engine_execute_all() for commands of which some are of this noun.  Without a
     * plan it gets commands of this noun only. */
    void (*execute)(struct usher_engine *e, const struct usher_operation *commands,
                    struct usher_result *replies, size_t n, int64_t deadline_ms);
    const struct usher__plan_ops *plan;      /* the same for asynchronous calls */
    const struct usher__needs_grant *grants; /* of an authority: engine/grant.h */
    const struct usher__index *index;
    const struct usher__archive_ops *archive; /* of one noun: engine/history.h */

    /* ---- after it ---- */

    /* The store has answered. */
    void (*answered)(const struct usher_operation *command, struct usher_result *reply);
    /* Return whether nothing of the command itself was done, because too many expiries had to be
     * done before.  The answer is REFUSED. */
    bool (*unfinished)(const struct usher_result *reply);
    /* Return whether an answer from another process is valid: counts are no more than there can
     * be. */
    bool (*sound)(const struct usher_operation *command, const struct usher_result *reply);

    /* ---- commands of the engine ---- */

    /* Make @c the command that drops a scope, all but the scope.  Return the message if it is
     * refused; NULL: that of the answer. */
    const char *(*drop)(struct usher_operation *c);
    /* The verb that applies expiries; 0: the noun has none. */
    enum usher_verb sweep;

    /* ---- words, in answers and notices ---- */

    /* Return the word of a code, "?" if it is not known. */
    const char *(*state_word)(unsigned code);
    const char *(*why_word)(unsigned code);
    /* Return the kind of the subject of a notice; NULL: none is known. */
    enum usher_subject (*subject)(const struct usher_notice *notice);
    /* Return the word of a state in a notice about @of, or NULL if that has no states. */
    const char *(*told_state)(const struct usher_notice *notice, enum usher_subject of,
                              unsigned state);
    /* Replace *@value, of field @name in the data of a notice, by a readable one, in @to if
     * necessary. */
    void (*told_value)(const struct usher_notice *notice, const struct usher_text *name,
                       struct usher_text *value, char to[USHER__TOLD_VALUE]);
    const struct usher__copied *copied;

    /* ---- the content of a result that the tables do not define (result_fields.h) ---- */

    /* Return whether @f is part of the answer.  USHER__APPLY has the nouns with this hook. */
    bool (*applies)(const struct usher__field *f, const struct usher_operation *op,
                    const struct usher_result *r);
    const struct usher__extras *extras; /* NULL: settings and statistics, if the scope exists */
    const struct usher__row_ops *rows;  /* NULL: each row stands for one */
    /* Make the text @f of other members: of row @row, if the rows before it stand for @before, or
     * of the answer itself (NULL). */
    size_t (*text)(const struct usher__field *f, const struct usher_result *r, const char *row,
                   uint64_t before, char to[USHER__MADE_MAX]);
    /* Write the name of place @i, from 1, of the agent that logged in at @login.  Return false if
     * it has fewer. */
    bool (*place_name)(uint64_t epoch, uint64_t login, int64_t i, char to[USHER__MADE_MAX]);
    /* Write constants for the Lua of the noun, in addition to those of all nouns. */
    void (*lua)(struct usher__out *o);
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
