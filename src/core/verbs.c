/* SPDX-License-Identifier: MIT */
#include "verbs.h"

#include <string.h>

enum number_arg {
#define ARG(noun, name, word, type, field, given, min, max) noun##_##name,
#include "verbs.def"
    NUMBER_ARGS
};

#define USHER_GIVEN_0 0

static const struct usher__arg number_args[] = {
#define ARG(noun, name, word, type, field, given, min, max)       \
    { word,                                                       \
      USHER__ARG_##type,                                          \
      (uint16_t)offsetof(struct usher_command, arg.number.field), \
      (uint32_t)USHER_GIVEN_##given,                              \
      min,                                                        \
      max },
#include "verbs.def"
};

#define A(name) (1u << NUMBER_##name)
#define WRITES USHER__WRITES
#define CREATES USHER__CREATES
#define AGAIN USHER__AGAIN
#define IF_OWNER USHER__IF_OWNER
#define NEEDS_TOKEN USHER__NEEDS_TOKEN

enum {
    TEXTS = A(NUMBER) | A(OWNER) | A(GROUP) | A(GROUPS) | A(STICKY) | A(AFTER),
    SHARED = A(GROUP) | A(GROUPS), /* one field */
};

#define EMPTY(mask) (TEXTS & ~(mask) & ~((mask)&SHARED ? (uint32_t)SHARED : 0))

#define GIVEN(mask, name) ((mask)&A(name) ? (uint32_t)USHER_GIVEN_##name : 0)
#define GIVENS(mask)                                                                              \
    (USHER_GIVEN_NOW | GIVEN(mask, TOKEN) | GIVEN(mask, LEASE) | GIVEN(mask, REST) |              \
     GIVEN(mask, STATE) | GIVEN(mask, MAX) | GIVEN(mask, ORDER) | GIVEN(mask, DAILY) |            \
     GIVEN(mask, ZONE) | GIVEN(mask, STRICT) | GIVEN(mask, STICKY_MS) | GIVEN(mask, STICKY_MAX) | \
     GIVEN(mask, REQUESTS))

static const struct usher__verb number_verbs[] = {
#define VERB(noun, name, word, order, keys, flags, help) \
    { USHER_##noun##_##name,                             \
      word,                                              \
      order,                                             \
      keys,                                              \
      ((order) | (keys)) & TEXTS,                        \
      EMPTY((order) | (keys)),                           \
      GIVENS((order) | (keys)),                          \
      flags,                                             \
      help },
#include "verbs.def"
};

static uint32_t number_texts(const struct usher_command *command)
{
    const char *at = (const char *)command;
    uint32_t given = 0;

#define ARG(noun, name, word, type, field, bit, min, max)                              \
    if (USHER_GIVEN_##bit == 0 &&                                                      \
        ((const struct usher_text *)(const void *)(at + offsetof(struct usher_command, \
                                                                 arg.number.field)))   \
                ->data != NULL)                                                        \
        given |= A(name);
#include "verbs.def"
    return given;
}

static const struct usher__noun nouns[] = {
    { USHER_NUMBER, "number", "POOL", number_args, NUMBER_ARGS, number_texts, number_verbs,
      sizeof number_verbs / sizeof *number_verbs },
};

const char *const usher__order_words[] = { "longest-idle", "most-recent", "random", NULL };

const struct usher__noun *usher__noun_at(unsigned i)
{
    return i < sizeof nouns / sizeof *nouns ? &nouns[i] : NULL;
}

const struct usher__noun *usher__noun(unsigned noun)
{
    return noun >= 1 ? usher__noun_at(noun - 1) : NULL;
}

const struct usher__noun *usher__noun_by_word(const char *word)
{
    const struct usher__noun *noun;

    for (unsigned i = 0; (noun = usher__noun_at(i)) != NULL; i++)
        if (strcmp(noun->word, word) == 0)
            return noun;
    return NULL;
}

/* Verbs of a noun stand in the order of their codes: noun * 256 + 1, 2, … */
const struct usher__verb *usher__verb(unsigned verb)
{
    const struct usher__noun *noun = usher__noun(verb >> 8);
    unsigned i = (verb & 0xff) - 1;

    return noun != NULL && i < noun->n_verbs ? &noun->verbs[i] : NULL;
}

const char *usher_verb_word(enum usher_verb verb)
{
    const struct usher__verb *v = usher__verb((unsigned)verb);

    if (verb == USHER_NUMBER_EXPIRE)
        return "expire";
    if (verb == USHER_NUMBER_REST)
        return "rest";
    return v != NULL ? v->word : "?";
}

const char *usher_noun_word(enum usher_noun noun)
{
    const struct usher__noun *n = usher__noun((unsigned)noun);

    return n != NULL ? n->word : "?";
}

static const char *const status_words[] = {
#define X(name, code, word, text) [code] = word,
    USHER_STATUS_MAP(X)
#undef X
};
static const char *const status_texts[] = {
#define X(name, code, word, text) [code] = text,
    USHER_STATUS_MAP(X)
#undef X
};
static const char *const why_words[] = { "none", "busy", "down", "resting" };

#define WORD(words, i) ((unsigned)(i) < sizeof(words) / sizeof *(words) ? (words)[i] : "?")

const char *usher_status_word(enum usher_status status)
{
    return WORD(status_words, status);
}

const char *usher_status_text(enum usher_status status)
{
    return WORD(status_texts, status);
}

const char *usher_number_why_word(enum usher_number_why why)
{
    return WORD(why_words, why);
}

const char *usher_number_order_word(enum usher_number_order order)
{
    return (unsigned)order < 3 ? usher__order_words[order] : "?";
}
