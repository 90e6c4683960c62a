/* SPDX-License-Identifier: MIT */
/* The verbs, arguments and answers of each noun as tables: NOUN_verbs.def. */
#ifndef USHER_CORE_VERBS_H
#define USHER_CORE_VERBS_H

#include <stddef.h>
#include <stdint.h>

#include <usher/store/operation.h>

enum usher__arg_type {
    USHER__ARG_NAME,
    USHER__ARG_GROUP,
    USHER__ARG_GROUPS,
    USHER__ARG_VALUE,
    USHER__ARG_MAYBE,  /* a name or nothing at all */
    USHER__ARG_EPOCH,  /* 16 hex digits */
    USHER__ARG_TEXT,   /* a text that the hook `fault` of the noun accepts */
    USHER__ARG_FIELDS, /* packed fields; the last text */
    USHER__ARG_INT,
    USHER__ARG_TOKEN,
    USHER__ARG_WORD,
    USHER__ARG_WIDE /* an INT that may be beyond 2^53 */
};

struct usher__arg {
    const char *word;
    const char *name; /* of the row: no two of a noun are the same */
    uint8_t type;     /* enum usher__arg_type */
    uint16_t offset;  /* in struct usher_operation */
    uint64_t given;   /* bit, 0 for texts */
    int64_t min, max;
    const char *const *words; /* of a WORD: by value, up to NULL */
    uint16_t code;            /* enum usher_field, 0: of the room directory */
    int64_t standard;         /* when not given, or USHER_NONE */
    const char *help;         /* NULL: that of the field */
};

enum usher__field_type {
    USHER__FIELD_INT,
    USHER__FIELD_UINT,
    USHER__FIELD_CODE,
    USHER__FIELD_BOOL,
    USHER__FIELD_NAME,
    USHER__FIELD_WIDE,  /* int64_t that may be beyond 2^53, or -1 */
    USHER__FIELD_TEXT,  /* struct usher_text: a name, or none */
    USHER__FIELD_VALUE, /* struct usher_text: any bytes */
    /* views only */
    USHER__FIELD_NEXT, /* a NAME, if there is more */
    USHER__FIELD_MADE  /* a text that is made of this and other members */
};

/* A field of a reply or of a row. */
struct usher__field {
    uint8_t type;    /* enum usher__field_type */
    uint8_t told;    /* enum usher_type, of the code */
    uint16_t verb;   /* extras: of this verb only */
    uint16_t offset; /* in struct usher_result or in the row */
    uint16_t code;   /* enum usher_field */
    uint32_t verbs;  /* verbs with it in their answer: bit 0 is the verb with code 1 */
};

/* The value of a key of an answer, if answers are objects. */
enum usher__key_as {
    USHER__AS_VALUE,  /* by the type of the field */
    USHER__AS_NUMBER, /* as a number, whatever its type */
    USHER__AS_EPOCH,  /* as 16 hex digits */
    USHER__AS_SHARE,  /* of 10,000, as a decimal fraction */
    USHER__AS_ECHO,   /* the value or, without one, that of the command */
    USHER__AS_FIRST,  /* of the first row */
    USHER__AS_ROOMS,  /* array: the names of all rooms of the login */
    USHER__AS_LIST,   /* array: the field of each row */
    USHER__AS_ROWS,   /* array: an object for each row */
    USHER__AS_ROW,    /* no key: the keys of the one row, among those of the answer */
    /* of rooms */
    USHER__AS_MAP,      /* object: the name and the field of each row */
    USHER__AS_PACKED,   /* object: of packed fields */
    USHER__AS_MERGED,   /* the same, with the fields of all members that were set later */
    USHER__AS_OWN,      /* object: of packed fields, each an object of its value and version */
    USHER__AS_VERSIONS, /* object: the versions of rows of a kind, by name; if the command
                           has VERSIONS */
    USHER__AS_NOTICES   /* array: an object for each row that is a notice */
};

/* The condition of a key. */
enum usher__key_when {
    USHER__WHEN_EVER,
    USHER__WHEN_IS,  /* the field exists; for a CODE or BOOL: it is one of those codes */
    USHER__WHEN_NOT, /* there is no such field */
    USHER__WHEN_ASKED,
    USHER__WHEN_NOT_ASKED, /* the command had the field, or not */
    USHER__WHEN_AHEAD,
    USHER__WHEN_NOT_AHEAD, /* the command had a version that is still to come, or not */
    USHER__WHEN_ONE_ROW,
    USHER__WHEN_NO_ROW,
    USHER__WHEN_KIND /* for an array or a map: rows of those kinds; for a row: its kind */
};

/* The value of a key if the field has none. */
enum usher__key_none {
    USHER__NONE_NULL, /* 0; null of a text, and of a time if usher__never_zero() */
    USHER__NONE_NIL,
    USHER__NONE_NO_TEXT, /* "" */
    USHER__NONE_LEFT_OUT
};

/* A key of an answer, or of a row of it. */
struct usher__key {
    uint32_t verbs;   /* as in a field */
    uint32_t on;      /* statuses of classes DONE and NO: bit 1 << status */
    uint16_t field;   /* enum usher_field */
    uint8_t as;       /* enum usher__key_as */
    uint8_t none;     /* enum usher__key_none */
    const char *key;  /* NULL: the word of the field, with _ for - */
    uint8_t when;     /* enum usher__key_when */
    uint16_t when_of; /* enum usher_field */
    uint32_t codes;   /* with `when`: bit 1 << code */
};

/* Return whether 0 in @field, a time, is none.  In other times it is a time. */
static inline bool usher__never_zero(uint32_t field)
{
    return field == USHER_FIELD_UNTIL || field == USHER_FIELD_USED;
}

/* An argument that belongs to the answer. */
struct usher__echo {
    uint32_t verbs;
    uint8_t arg; /* its index */
    uint16_t field;
};

/* The fields that a subject of this kind, its state and its owner have in a row with a notice; 0:
 * none. */
struct usher__notice_subject {
    uint8_t kind; /* enum usher_subject; 0 after the last one */
    uint16_t name, state, owner;
};

enum usher__verb_flag {
    USHER__WRITES = 1u << 0,
    USHER__CREATES = 1u << 1,
    USHER__AGAIN = 1u << 2,
    USHER__IF_OWNER = 1u << 3,
    USHER__NEEDS_TOKEN = 1u << 4,
    USHER__COMMUTES = 1u << 5,
    USHER__PLACED = 1u << 6,  /* the first of its keys may be given in its place */
    USHER__READS = 1u << 7,   /* it WRITES expiries, and nothing of its own */
    USHER__NOTICES = 1u << 8, /* its rows are the notices of the scope's log */
    USHER__BEYOND = 1u << 9,  /* it also writes to another scope, before or after */
    USHER__STEPS = 1u << 10,  /* it counts what it did, and is repeated while there is more */
    USHER__ENDS = 1u << 11,   /* the last step erases the scope, and no answer is cached */
    USHER__LISTS = 1u << 12,  /* its rows are alike: for people they are a table */
    USHER__SHOWS = 1u << 13,  /* it shows a scope as a whole: one verb of each noun */
    USHER__FIGURES =
        1u << 14,           /* its answer has statistics to record over time: a verb of each noun */
    USHER__FREES = 1u << 15 /* a store without free memory applies it as well */
};

struct usher__verb {
    uint16_t verb; /* enum usher_verb */
    const char *word;
    uint64_t order; /* required arguments, in the order of args[] */
    uint64_t keys;  /* optional arguments */
    uint64_t texts; /* the texts among them */
    uint64_t empty; /* texts whose fields it does not take */
    uint64_t given; /* bits of usher_operation.given that may be set */
    uint16_t flags;
    const char *help;
};

struct usher__noun {
    uint8_t noun;
    bool hidden; /* no noun of scopes for programs: the engine's own, or … */
    bool whole; /* … that of the store as a whole: its verbs are typed without it, and have no scope
                 */
    const char *word;
    const char *scope;    /* the name of its scopes in help: "POOL" */
    const char *items[3]; /* the content of a scope in words: none, one, several; NULL: none */
    const struct usher__arg *args;
    size_t args_size;      /* of its member of usher_operation.arg */
    unsigned n_args;       /* bit i of the masks above is args[i] */
    const uint8_t *arg_at; /* by enum usher_field, below n_arg_at: 1 + the index of its argument */
    unsigned n_arg_at;
    /* Return the bits of the texts that @command gives. */
    uint64_t (*texts)(const struct usher_operation *command);
    uint64_t token;       /* the bit of the argument of type TOKEN, 0 if it has none */
    uint64_t if_version;  /* the same of if-version, … */
    size_t if_version_at; /* … an int64_t there in struct usher_operation */
    size_t epoch_at;      /* a struct usher_text there; 0: the noun has no such argument */
    const struct usher__verb *verbs;
    unsigned n_verbs;
    /* The fields of the answer. */
    const struct usher__field *outs, *extras, *row;
    unsigned n_outs, n_extras, n_row;
    const uint8_t *out_at; /* by enum usher_field, below n_out_at: 1 + the index of its out */
    unsigned n_out_at;
    size_t more_at;    /* the out MORE, a bool there in struct usher_result; 0: it has none */
    size_t partial_at; /* the same for PARTIAL: with it a failure has rows */
    /* Fields for programs that are made of others. */
    const struct usher__field *views, *row_views;
    unsigned n_views, n_row_views;
    uint32_t extra_verbs, view_verbs, row_verbs; /* verbs with any of the list */
    /* The keys of the answer.  The last one of each is empty: its verbs are 0. */
    const struct usher__key *keys, *row_keys;
    const struct usher__echo *echoes;
    const struct usher__notice_subject *notice_subjects;
    const uint16_t *notice_data;         /* fields that are in the data of notices, up to 0 */
    size_t row_size, n_rows_at, rows_at; /* the last two in struct usher_result */
    size_t reply_size;                   /* of its member of usher_result.of */
};

/* The bit of a verb in the masks of fields and keys. */
#define USHER__VERB_BIT(verb) (1u << (((verb)&0xffu) - 1u))

#define USHER__NOUNS 9                                             /* more than the largest code */
extern const struct usher__noun *const usher__nouns[USHER__NOUNS]; /* by code; NULL: none */

/* Return NULL if there is no such noun or verb. */
static inline const struct usher__noun *usher__noun(unsigned noun)
{
    return noun < USHER__NOUNS ? usher__nouns[noun] : NULL;
}
const struct usher__noun *usher__noun_by_word(const char *word);

/* Return the verb without a scope that is typed as @noun and @word, or with @noun "" as @word;
 * NULL: there is none. */
const struct usher__verb *usher__whole_verb(const char *noun, const char *word);

/* Verbs of a noun are in the order of their codes: noun * 256 + 1, 2, ... */
static inline const struct usher__verb *usher__verb(unsigned verb)
{
    const struct usher__noun *noun = usher__noun(verb >> 8);
    unsigned i = (verb & 0xff) - 1;

    return noun != NULL && i < noun->n_verbs ? &noun->verbs[i] : NULL;
}

/* An iteration over the fields of a noun that belong to the answer to one verb, or to its rows. */
struct usher__result_walk {
    const struct usher__field *lists[3]; /* the last one: settings and statistics */
    unsigned n[3];
    unsigned list, i;
    uint32_t bit;
};

static inline void usher__result_walk_begin(struct usher__result_walk *seen,
                                            const struct usher__noun *noun, uint32_t bit, bool rows)
{
    seen->lists[0] = rows ? noun->row : noun->outs;
    seen->n[0] = !rows ? noun->n_outs : (noun->row_verbs & bit) != 0 ? noun->n_row : 0;
    seen->lists[1] = rows ? noun->row_views : noun->views;
    seen->n[1] = rows ? noun->n_row_views : (noun->view_verbs & bit) != 0 ? noun->n_views : 0;
    seen->lists[2] = noun->extras;
    seen->n[2] = !rows && (noun->extra_verbs & bit) != 0 ? noun->n_extras : 0;
    seen->list = seen->i = 0;
    seen->bit = bit;
}

/* Return the next field, or NULL at the end. */
static inline const struct usher__field *usher__result_walk_next(struct usher__result_walk *seen)
{
    for (; seen->list < 3; seen->list++, seen->i = 0)
        while (seen->i < seen->n[seen->list]) {
            const struct usher__field *f = &seen->lists[seen->list][seen->i++];

            if ((f->verbs & seen->bit) != 0)
                return f;
        }
    return NULL;
}

/* Return whether @command requires a token and has none. */
bool usher__token_missing(const struct usher__noun *noun, const struct usher__verb *verb,
                          const struct usher_operation *command);

/* Return the largest value of @arg of @verb. */
int64_t usher__arg_max(const struct usher__verb *verb, const struct usher__arg *arg);

/* Find the @i-th setting in answers to @verb, as an EXTRA row, whose order is that of
 * scope.settings, and as an argument.  Return false if there are no more. */
bool usher__setting(unsigned verb, unsigned i, const struct usher__field **ret_told,
                    const struct usher__arg **ret_given);

/* Return whether @arg is a duration in ms. */
bool usher__arg_is_span(const struct usher__arg *arg);

/* Return the @i-th noun for programs, or NULL. */
const struct usher__noun *usher__noun_at(unsigned i);

/* Return whether @code, from another process, is a status. */
bool usher__is_status(uint64_t code);

/* Words of codes: index in a NULL-terminated list. */
extern const char *const usher__noun_words[]; /* by enum usher_noun */
extern const char *const usher__order_words[];
extern const char *const usher__scope_mode_words[];
extern const char *const usher__number_list_words[];
extern const char *const usher__check_words[];
extern const char *const usher__reset_words[];
extern const char *const usher__stamp_words[];
extern const char *const usher__mode_words[];
extern const char *const usher__overflow_words[];

/* Return NULL if @data is packed fields (room.h), at most the maximum number, else the fault. */
const char *usher__fields_fault(const char *data, size_t size);
extern const char *const usher__trigger_words[], *const usher__strategy_words[];
extern const char *const usher__requeue_words[], *const usher__user_state_words[];
extern const char *const usher__agent_state_words[], *const usher__place_words[];
extern const char *const usher__outcome_words[];

/* Read the number that @command gives as @field. */
bool usher__operation_number(const struct usher_operation *command, unsigned field,
                             int64_t *ret_number);

#endif
