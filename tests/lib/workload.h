/* SPDX-License-Identifier: MIT */
/*
 * workload -- random commands, as lines (command_line.h), on a few scopes of every noun, with many
 * conflicts; later commands use the tokens and rooms of earlier answers.
 */
#ifndef USHER_LIB_WORKLOAD_H
#define USHER_LIB_WORKLOAD_H

#include <stdint.h>

#include <usher/store/operation.h>

#define WORKLOAD_LINE 160
#define WORKLOAD_NAMES 6 /* of a kind */
#define WORKLOAD_T0 INT64_C(1700000000000)

/* The state of one client: the tokens and texts it received.  Plain data. */
struct workload {
    uint64_t number[WORKLOAD_NAMES], login[WORKLOAD_NAMES]; /* tokens of holds, logins of agents */
    char serial[USHER_SERIAL_TEXT_MAX + 1];
    uint64_t serial_token;
    int64_t id, id_n;
    uint64_t id_token;
};

unsigned workload_below(uint64_t *random, unsigned n);

struct workload_scope {
    enum usher_noun noun;
    const char *name;
    void (*line)(char to[WORKLOAD_LINE], const struct workload *c, uint64_t *random);
};
enum { WORKLOAD_SCOPES = 6 };
extern const struct workload_scope workload_scopes[WORKLOAD_SCOPES];

/* Lines that make them all. */
extern const char *const workload_begin[];
extern const unsigned workload_n_begin;

void workload_put(char to[WORKLOAD_LINE], const char *format, ...)
    __attribute__((format(printf, 2, 3))); /* appends to the line */
void workload_learn(struct workload *c, const struct usher_operation *command,
                    const struct usher_result *r);

#endif
