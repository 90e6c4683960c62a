/* SPDX-License-Identifier: MIT */
/*
 * random_commands -- seeded commands of every noun, made from the library's own tables of verbs.
 *
 * Every verb of the tables is spoken, and each argument gets a value by its type and its word:
 * few names, so that commands meet; what earlier answers said (tokens, versions, rooms, serials,
 * cursors), or something beside it; times and limits of all sizes, up to where numbers end.  A verb
 * that is added needs no code here; an argument with a word that random_commands.c does not know
 * ends the test.
 *
 * One seed gives the same commands as long as the answers are the same.
 */
#ifndef USHER_MODEL_RANDOM_COMMANDS_H
#define USHER_MODEL_RANDOM_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <usher/store/operation.h>

/* Scopes of one noun; names of a scope begin with the noun's word. */
#define RANDOM_SCOPES 3
/* Bits of nouns: 1 << enum usher_noun. */
#define RANDOM_ALL 0x7eu
/* The index of rooms is the engine's own; partitions of other names than it uses. */
#define RANDOM_SPOKEN (RANDOM_ALL & ~(1u << USHER_ROOMS))

struct random_options {
    uint64_t seed;
    unsigned nouns;    /* bits */
    unsigned requests; /* percent of the commands that have a request id */
    unsigned extremes; /* percent of the numbers that are at an end of what may be */
    unsigned wrong;    /* per thousand of the arguments that are wrong */
    bool timeless;     /* commands without a time of their own as well */
    bool authority;    /* rules and dispensers may ask an authority, or have a manager */
    bool presence;     /* rooms are opened with coalesced notices */
    bool least;        /* max=1 wherever there may be one */
};

struct random_commands;

struct random_commands *random_open(const struct random_options *opt);
void random_close(struct random_commands *b);

/* A command with what its texts point to.  Not to be moved. */
struct random_command {
    struct usher_operation c;
    bool epoch; /* its argument `epoch` is that of the store that is asked: random_resolve() */
    char texts[6][USHER_NAME_MAX + 2];
    unsigned char fields[1024];
};

void random_next(struct random_commands *b, struct random_command *ret);

/* One of this verb. */
void random_verb(struct random_commands *b, unsigned verb, struct random_command *ret);

/* The answers of one store: epochs are its own. */
struct random_listener {
    uint64_t epochs[8][RANDOM_SCOPES];
};
/* The command as it is for the store with @ear. */
void random_resolve(struct random_command *c, const struct random_listener *ear);
void random_listen(struct random_listener *ear, const struct usher_operation *c,
                   const struct usher_result *r);
/* Learn for later commands from an answer, of one store only. */
void random_learn(struct random_commands *b, const struct usher_operation *c,
                  const struct usher_result *r);

/* The time of the last command. */
int64_t random_now(const struct random_commands *b);

/* Scope @i of @noun. */
const char *random_scope(enum usher_noun noun, unsigned i);

/* All that two answers to @c say but for their epochs, and of failures their fields.  Else writes
 * what differs to @f (NULL: none). */
bool random_same(const struct usher_operation *c, const struct usher_result *a,
                 const struct usher_result *b, FILE *f);

/* Print the fields of @r that random_same() compares.  Texts are cut after @most bytes. */
void random_print(FILE *f, const struct usher_operation *c, const struct usher_result *r,
                  size_t most);
/* Replace an epoch that no dispenser has by one that is written in every text. */
void random_epoch_mend(struct random_command *b);

#endif
