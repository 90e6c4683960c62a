/* SPDX-License-Identifier: MIT */
/*
 * The program `usher`: words in, commands out; answers in, lines out.  What verbs there are
 * and what they take comes from core/NOUN_verbs.def; what they do is the library's business.
 *
 * The program runs one thing and ends, so memory comes from malloc() and running out of it
 * ends the program (exit 3): see usher__cli_resize().
 */
#ifndef USHER_CLI_CLI_H
#define USHER_CLI_CLI_H

#include <stdbool.h>
#include <stdio.h>

#include <usher/operation.h>

#include "words/parse.h"

#define CLI_STORE_DEFAULT "sqlite:usher.db"
#define CLI_MESSAGE_MAX PARSE_MESSAGE_MAX

struct cli {
    const char *store; /* a URL; never printed, it may hold a password */
    bool json;
    bool shell;                  /* commands are lines of standard input */
    bool terminal;               /* and a person types them */
    bool strict;                 /* -e */
    bool clock_given;            /* times are those of a record */
    bool notices;                /* of the library are told: it is more than one command */
    struct usher_engine *engine; /* NULL until usher__cli_open() */
    bool stands_in;              /* it is not the store, which is yet to be made */
};

/* Memory that is there: ends the program otherwise.  Size 0 frees. */
void *usher__cli_resize(void *p, size_t size);

/* Exit code for @status, as in `usher help exit`. */
int usher__cli_exit_code(enum usher_status status);

/* Open the store, if it is not open: as late as possible, for wrong words should not make a
 * database.  Nor do those who only look: without a store they are told that it is missing, and in
 * the shell, where somebody may write later, that it is empty.  Returns 0, or the exit code when
 * it has said what is wrong. */
enum cli_use { CLI_LOOKS, CLI_WRITES };
int usher__cli_open(struct cli *cli, enum cli_use use);
/* The same, but it prints nothing: usher_message() says why it is not USHER_OK. */
enum usher_status usher__cli_try(struct cli *cli, enum cli_use use);

/*
 * Say that nothing came of it: an object on standard output with --json and in the shell,
 * else a line on standard error.  Returns the exit code.
 */
int usher__cli_fail(const struct cli *cli, enum usher_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Report that the store is missing, with @message.  Returns the exit code. */
int usher__cli_missing(const struct cli *cli, const char *message);

/* One command in words (words[0] is the noun).  Returns the exit code. */
int usher__cli_run(struct cli *cli, char *const *words, size_t n);

/* The other things it can do; words[0] is the command itself.  They return exit codes. */
int usher__cli_shell(struct cli *cli);
int usher__cli_import(struct cli *cli, char *const *words, size_t n);
int usher__cli_lua(struct cli *cli, char *const *words, size_t n);
int usher__cli_tables(struct cli *cli, char *const *words, size_t n);
int usher__cli_check(struct cli *cli, char *const *words, size_t n);
int usher__cli_drop(struct cli *cli, char *const *words, size_t n);
int usher__cli_status(struct cli *cli, char *const *words, size_t n);
int usher__cli_version(struct cli *cli, char *const *words, size_t n);
int usher__cli_watch(struct cli *cli, char *const *words, size_t n);
int usher__cli_serve(struct cli *cli, char *const *words, size_t n);

int usher__cli_help(struct cli *cli, char *const *words, size_t n);

/* What is called by one word. */
struct cli_program {
    const char *word;
    int (*run)(struct cli *cli, char *const *words, size_t n);
    const char *usage; /* behind the word */
    const char *help;  /* help of itself has more lines behind the first */
};
extern const struct cli_program usher__cli_programs[]; /* ends with word NULL */

/* Verbs that are not commands of a store but made of them: here, or, with run NULL, by the library,
 * whose tables have the usage and the help. */
struct cli_verb {
    const char *noun, *word;
    int (*run)(struct cli *cli, char *const *words, size_t n);
    const char *usage, *help; /* help of itself has more lines behind the first */
};
extern const struct cli_verb usher__cli_verbs[]; /* ends with word NULL */
const struct cli_verb *usher__cli_verb(const char *noun, const char *word);

#endif
