/* SPDX-License-Identifier: MIT */
/* Execute commands and print their answers. */
#ifndef USHER_CLI_RUN_H
#define USHER_CLI_RUN_H

#include <usher/store/operation.h>

#include "cli/cli.h"

/* As usher_operate(), but every reply is filled in, also on failure. */
void usher__run_batch(struct usher_engine *e, const struct usher_operation *commands,
                      struct usher_result *replies, size_t n);

/* Return whether @command writes; one that only reads creates no store. */
enum cli_use usher__run_use(const struct usher_operation *command);

/* Some verbs work in steps (USHER__STEPS); without a request id (whose repeat would be answered
 * with the first step) or a number of one's own, all of them are one command here. */
bool usher__run_has_steps(const struct usher_operation *command);
/* The list of scopes without max= is one command, too: all of its pages together. */
void usher__run_steps(struct usher_engine *e, const struct usher_operation *command,
                      struct usher_result *ret_reply);

/* The same, one step at a time, so that the caller can do something between two steps.  @s must
 * not move. */
struct run_steps {
    struct usher_operation next; /* to be executed */
    uint64_t total;
    char after[USHER_NAME_MAX + 1];
    bool begun;
    unsigned char head[offsetof(struct usher_result, of)]; /* of the answer to the last one */
};
void usher__run_steps_begin(struct run_steps *s, const struct usher_operation *command);
/* Process @reply to `next`.  Return true if it is now the answer to the whole command, or false if
 * it was released and there is a next step. */
bool usher__run_steps_end(struct run_steps *s, struct usher_result *reply);

/* Execute commands on the store of @cli, or of its server.  Each has a reply, which the caller
 * releases.  All steps of a verb that has steps are executed. */
void usher__run_execute(struct cli *cli, const struct usher_operation *commands,
                        struct usher_reply **ret_replies, size_t n);

/* Print the answer, release it, and return its exit code. */
int usher__run_answer(const struct cli *cli, const struct usher_operation *command,
                      struct usher_reply *reply);

#endif
