/* SPDX-License-Identifier: MIT */
/* Words into a command, by the tables of core/NOUN_verbs.def. */
#ifndef USHER_PARSE_PARSE_H
#define USHER_PARSE_PARSE_H

#include <stdbool.h>
#include <stdint.h>

#include <usher/usher.h>

#include "core/verbs.h"
#include "parse/suggest.h"

#define PARSE_MESSAGE_MAX 512

/* Decimal digits, a minus where @min is below zero, nothing else; false when it is none or
 * out of range. */
bool usher__parse_int(const char *text, int64_t min, int64_t max, int64_t *ret_value);
bool usher__parse_uint(const char *text, uint64_t *ret_value);

/* A duration in ms, as people say it: 1500, 1500ms, 90s, 5m, 2h, 1d. */
bool usher__parse_span(const char *text, int64_t min, int64_t max, int64_t *ret_ms);
#define PARSE_SPANS "ms, or as 90s, 5m, 2h, 1d"
#define PARSE_NO_SPAN "%s is not a duration from %" PRId64 " to %" PRId64 " " PARSE_SPANS

/* @word as it stands in a message: cut if it is long. */
#define PARSE_QUOTE_MAX 64
const char *usher__quote(char to[PARSE_QUOTE_MAX], const char *word);

/* The name of a scope of @noun in messages: "POOL" is a pool. */
#define PARSE_SCOPE_MAX 16
void usher__scope_word(char to[PARSE_SCOPE_MAX], const struct usher__noun *noun);

/* If @word is KEY=value, and KEY is @key (`_` counts as `-`): where the value begins. */
const char *usher__key_value(const char *word, const char *key);

/* now=MS and req=ID, which every command takes.  *@ret_taken: @word was one of them.  False:
 * it was, and is wrong; @message says how. */
bool usher__parse_common(const char *word, struct usher_operation *command, bool *ret_taken,
                         char message[PARSE_MESSAGE_MAX]);

/* In which way words are arguments. */
enum parse_way {
    PARSE_TYPED, /* by people: KEY=VALUE may stand anywhere; after `--` each word is a name or a
                    field */
    /* By programs: what must be given stands first, in its order, and is taken as it is, whatever
     * it looks like.  Then options, KEY VALUE or KEY=VALUE; a word that is a key is one.  If the
     * verb takes fields, each word after `--` is one. */
    PARSE_PLACED
};

/* NOUN VERB SCOPE …. */
struct parse {
    char *const *word;
    size_t n;
    const char *end;    /* of the last word; the words follow one another.  NULL: no word has a NUL
                         * inside, or … */
    const size_t *size; /* … their sizes; not NULL with PARSE_PLACED */
    enum parse_way way;
    /* Adds words other than nouns, or than verbs of @noun, that a mistyped word may mean.  NULL:
     * none */
    void (*also)(struct closest *closest, const char *noun);
    /* The fields of this command, which are no arguments of the verb: filled by usher__parse(). */
    const struct usher__arg *fields; /* NULL: the verb takes none */
    struct usher_text name[USHER_FIELDS_MAX], value[USHER_FIELDS_MAX];
    size_t n_fields;
};

/* The texts of *@ret_command are the words.  False: wrong, and @message says what. */
bool usher__parse(struct parse *p, struct usher_operation *ret_command,
                  char message[PARSE_MESSAGE_MAX]);

/* After usher__parse(): the bytes that its fields take, and the fields at @to as an argument of
 * @command. */
size_t usher__parse_fields_size(const struct parse *p);
bool usher__parse_fields(const struct parse *p, struct usher_operation *command, unsigned char *to,
                         char message[PARSE_MESSAGE_MAX]);

#endif
