/* SPDX-License-Identifier: MIT */
/*
 * The program `usher`: it makes commands of words, and lines of answers.  The verbs and their
 * arguments are in core/NOUN_verbs.def; the library executes them.
 *
 * The program runs one command and ends, so it uses malloc(), and ends when there is no memory
 * (exit 3): see usher__cli_resize().
 */
#ifndef USHER_CLI_CLI_H
#define USHER_CLI_CLI_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include <usher/store/operation.h>

#include "parse/parse.h"

#define SHELL_MODE ".mode" /* text, json or csv: a line of the shell */
#define CLI_STORE_DEFAULT "sqlite:usher.db"
#define CLI_MESSAGE_MAX PARSE_MESSAGE_MAX

struct remote;

struct cli {
    const char *store;           /* a URL; never printed, it may hold a password */
    bool json;                   /* --json, or a shell whose input is no terminal */
    bool csv;                    /* --csv */
    bool shell;                  /* commands are lines of standard input */
    bool terminal;               /* and they are edited at a terminal */
    bool strict;                 /* -e */
    bool clock_given;            /* times come from a record */
    int64_t timeout_ms;          /* of the store; 0: that of its URL, or the library's */
    bool notices;                /* print notices of the library's log: for more than one command */
    bool serves;                 /* lines of the log have the time */
    struct usher_engine *engine; /* NULL until usher__cli_open() */
    bool stands_in;              /* engine is an empty one: the store does not exist yet */
    struct remote *remote;       /* the server whose store it is; NULL: none, or not connected */
};

/* Resize @p, or end the program if there is no memory.  Size 0 frees. */
void *usher__cli_resize(void *p, size_t size);

/* Exit code for @status, as in `usher help exit`. */
int usher__cli_exit_code(enum usher_status status);

/* Open the store, if it is not open.  It is opened as late as possible, so that wrong words create
 * no database.  Commands that only read do not create one either: if it does not exist, they report
 * that it is missing, and in the shell, where a later line may write, that it is empty.  Return 0,
 * or print an error and return the exit code. */
enum cli_use { CLI_LOOKS, CLI_WRITES };
int usher__cli_open(struct cli *cli, enum cli_use use);
/* The same, or connect to the server that has the store. */
int usher__cli_reach(struct cli *cli, enum cli_use use);
/* Connect to it.  USHER_OK, or the reason is in @message. */
enum usher_status usher__cli_connect(struct cli *cli, char message[CLI_MESSAGE_MAX]);
/* As usher__cli_open(), but print nothing: if it is not USHER_OK, usher_message() has the reason.
 */
enum usher_status usher__cli_try(struct cli *cli, enum cli_use use);

/*
 * Report a failure: as an object on standard output with JSON, else as a line on standard
 * error.  Return the exit code.
 */
int usher__cli_fail(const struct cli *cli, enum usher_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Print a line of a log to standard error, after the time. */
void usher__cli_log(const char *format, va_list ap) __attribute__((format(printf, 1, 0)));

/* Report that the store is missing, with @message.  Return the exit code. */
int usher__cli_missing(const struct cli *cli, const char *message);

/* Execute one command in words (words[0] is the noun).  Return the exit code. */
int usher__cli_run(struct cli *cli, char *const *words, size_t n);

/* The other commands; words[0] is the command itself.  They return exit codes. */
int usher__cli_shell(struct cli *cli);
int usher__cli_import(struct cli *cli, char *const *words, size_t n);
int usher__cli_lua(struct cli *cli, char *const *words, size_t n);
int usher__cli_tables(struct cli *cli, char *const *words, size_t n);
int usher__cli_complete(struct cli *cli, char *const *words, size_t n);
int usher__cli_check(struct cli *cli, char *const *words, size_t n);
int usher__cli_drop(struct cli *cli, char *const *words, size_t n);
int usher__cli_status(struct cli *cli, char *const *words, size_t n);
int usher__cli_version(struct cli *cli, char *const *words, size_t n);
int usher__cli_watch(struct cli *cli, char *const *words, size_t n);
int usher__cli_serve(struct cli *cli, char *const *words, size_t n);

int usher__cli_help(struct cli *cli, char *const *words, size_t n);

/* A command that is called by one word. */
struct cli_program {
    const char *word;
    int (*run)(struct cli *cli, char *const *words, size_t n);
    const char *usage; /* after the word */
    const char *help;  /* the help of the command has more lines after the first */
};
extern const struct cli_program usher__cli_programs[]; /* ends with word NULL */

/* Verbs that consist of several commands of a store.  They are implemented in the program, or, if
 * run is NULL, in the library, whose tables have the usage and the help. */
struct cli_verb {
    const char *noun, *word;
    int (*run)(struct cli *cli, char *const *words, size_t n);
    const char *usage, *help; /* the help of the verb has more lines after the first */
};
extern const struct cli_verb usher__cli_verbs[]; /* ends with word NULL */
const struct cli_verb *usher__cli_verb(const char *noun, const char *word);

#endif
