/* SPDX-License-Identifier: MIT */
/*
 * workload -- random commands, as lines (command_line.h), to a few scopes of every noun, that often
 * meet; and what answers have for later ones: tokens, rooms.
 */
#ifndef USHER_LIB_WORKLOAD_H
#define USHER_LIB_WORKLOAD_H

#include <stdint.h>

#include <usher/store/operation.h>

#define CHATTER_LINE 160
#define CHATTER_NAMES 6 /* of a kind */
#define CHATTER_T0 INT64_C(1700000000000)

/* What one who talks knows.  Plain data. */
struct chatter {
    uint64_t number[CHATTER_NAMES], login[CHATTER_NAMES]; /* tokens of holds, logins of agents */
    char serial[USHER_SERIAL_TEXT_MAX + 1];
    uint64_t serial_token;
    int64_t id, id_n;
    uint64_t id_token;
};

unsigned chatter_below(uint64_t *random, unsigned n);

struct chatter_scope {
    enum usher_noun noun;
    const char *name;
    void (*line)(char to[CHATTER_LINE], const struct chatter *c, uint64_t *random);
};
enum { CHATTER_SCOPES = 6 };
extern const struct chatter_scope chatter_scopes[CHATTER_SCOPES];

/* Lines that make them all. */
extern const char *const chatter_begin[];
extern const unsigned chatter_n_begin;

void chatter_put(char to[CHATTER_LINE], const char *format, ...)
    __attribute__((format(printf, 2, 3))); /* behind what is there */
void chatter_learn(struct chatter *c, const struct usher_operation *command,
                   const struct usher_result *r);

#endif
