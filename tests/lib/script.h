/* SPDX-License-Identifier: MIT */
/*
 * script -- a short fixed script of commands for each noun that touches every kind of record it
 * has, and what is there after each command when nothing fails: for tests in which everything fails
 * once.
 */
#ifndef USHER_TESTS_SCRIPT_H
#define USHER_TESTS_SCRIPT_H

#include <stdbool.h>
#include <stdint.h>

#include <usher/usher.h>

#define SCRIPT_LINES 32
#define SCRIPT_ANSWER 1024

struct script {
    enum usher_noun noun;
    const char *scope;
    /* As in command_line.h, followed by NULL.  Each is answered `ok` and changes something.  Tokens
     * and rooms in them are versions of earlier commands. */
    const char *lines[SCRIPT_LINES + 1];
};

enum { SCRIPTS = 6 };
extern const struct script scripts[SCRIPTS];

/* Before the first line, and after each of the @n lines. */
struct script_notes {
    unsigned n;
    char digest[SCRIPT_LINES + 1][33];
    /* [i + 1]: with line i */
    uint64_t last_version[SCRIPT_LINES + 1]; /* version of the last notice so far */
    bool ended[SCRIPT_LINES + 1];            /* something ended by itself, or with something else */
    char answer[SCRIPT_LINES + 1][SCRIPT_ANSWER];
    char visits[SCRIPT_LINES + 1][SCRIPT_ANSWER]; /* of a queue: the rows of `history` */
};

/* Execute a line that is not of a script. */
enum usher_status script_execute(struct usher_engine *e, const char *text);

/* Execute line @i.  If it returns `ok`, @notes (may be NULL) must have the same answer. */
enum usher_status script_run(struct usher_engine *e, const struct script *s, unsigned i,
                             const struct script_notes *notes);

/* Execute all of @s on @e, which has an empty store, and record the results in @notes. */
void script_record(struct usher_engine *e, const struct script *s, struct script_notes *notes);

/* Require that the audit finds nothing except directory entries of rooms that are gone: the client
 * that erased such a room had no memory or disk for the next step. */
void script_audit(struct usher_engine *e);

/* Require that the store is valid and in the state after some number of lines from @least to @most.
 * Returns that number. */
unsigned script_check(struct usher_engine *e, const struct script *s,
                      const struct script_notes *notes, unsigned least, unsigned most);

/* Take a notice of usher_watch(): the payload is the uint64_t that gets its version. */
void script_take_notice(void *payload, const struct usher_notice *notice);

#endif
