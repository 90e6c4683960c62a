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

typedef void usher__put(void *to, const struct usher_value *value);

/* Which nouns have the hook `applies`, a bit each: that is asked of each field of each answer, so
 * it is known when these are compiled. */
#define USHER__APPLY (1u << USHER_QUEUE)

/* A text that is made of other members, with its NUL. */
#define USHER__MADE_MAX 256

/* Which row is told next, in order from the first. */
struct usher__row_at {
    size_t i;        /* of the result */
    int64_t within;  /* what that stands for, one by one: so many were told */
    uint64_t before; /* so many stand in the rows before it */
    uint64_t room[16];
};

#define USHER__TOLD_VALUE 64

enum usher__gathering {
    USHER__GATHERING_STAYS, /* nothing */
    USHER__GATHERING_ENDS,  /* they are told before */
    USHER__GATHERING_GROWS, /* this may be told with them */
    USHER__GATHERING_HIDES  /* the same, and its answer knows nothing of them yet */
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
    bool alone; /* it is given commands of this noun only, and no plan is made of them */
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
    /* The same of a noun without reasons. */
    bool (*unfinished)(const struct usher_result *reply);
    /* In struct usher_operation, a text: with it a verb that is USHER__IF_OWNER comes out the same.
     */
    uint16_t owner_at;
    /* An answer that is stale by its version or epoch also has what there is now. */
    bool stale_has_all;
    /* The verb by which a scope goes; what it means if it is refused. */
    enum usher_verb drop;
    uint64_t drop_given; /* the arguments that it then has: they are 0 */
    const char *drop_refused;
    /* The verb that applies what is due; 0: nothing ever is. */
    enum usher_verb sweep;
    /* A notice with it is for the journal of an authority. */
    enum usher_verb expires;

    /* ---- what is told (see.h): of a result besides what the tables say ---- */

    /* Is @f part of the answer?  USHER__APPLY says which nouns have it. */
    bool (*applies)(const struct usher__field *f, const struct usher_operation *op,
                    const struct usher_result *r);
    /* Are settings or figures?  NULL: of what is there. */
    bool (*has_extras)(const struct usher_operation *op, const struct usher_result *r);
    /* The i-th field that `say` tells of an answer to @verb; 0: no more. */
    uint32_t (*says)(uint32_t verb, size_t i);
    void (*say)(usher__put *put, void *to, const struct usher_operation *op,
                const struct usher_result *r);
    /* How many rows there are, and the next one, of a result whose rows are not told one each;
     * NULL: they are. */
    size_t (*rows)(const struct usher_operation *op, const struct usher_result *r);
    const char *(*row)(const struct usher_operation *op, const struct usher_result *r,
                       struct usher__row_at *at);
    /* A text that is made of other members: of row @row, with @before in those before it, or of the
     * answer itself (NULL). */
    size_t (*text)(const struct usher_result *r, const char *row, uint64_t before,
                   char to[USHER__MADE_MAX]);
    /* The name of place @i, from 1, of who logged in at @login.  False: it has not so many. */
    bool (*place_name)(uint64_t epoch, uint64_t login, int64_t i, char to[USHER__MADE_MAX]);
    /* Kinds of rows: what is set for all, and a notice. */
    int row_of_all, row_of_notice;

    /* ---- notices ---- */

    /* The word of a state in it, which is about @of; NULL: it is of nothing that has a state. */
    const char *(*told_state)(const struct usher_notice *notice, enum usher_subject of,
                              unsigned state);
    /* May be NULL.  Replace *@value, of field @name in the data of a notice, by what a user sees;
     * @to has room for it. */
    void (*told_value)(const struct usher_notice *notice, const struct usher_text *name,
                       struct usher_text *value, char to[USHER__TOLD_VALUE]);
    bool marks; /* `was` and `mark` are set, and no token */
    /* The verb of several that are told together; each of them, as usher_room_presence() does. */
    enum usher_verb together;
    bool (*each)(const struct usher_notice *notice, size_t *at, struct usher_notice *ret_one);
    /* What a command means for those that wait to be told together; where an answer says up to
     * which version, and at which mark, a caller was told. */
    enum usher__gathering (*gathering)(enum usher_verb verb);
    uint16_t since_at, mark_at;
    /* The verb of the last notice of a scope, which is gone with it; does one with @verb end it
     * soon? */
    enum usher_verb gone;
    bool (*closes)(enum usher_verb verb);

    /* ---- scripts, and what is audited ---- */

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
    usher__rooms_hooks, usher__serial_hooks, usher__id_hooks, usher__store_hooks;

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
