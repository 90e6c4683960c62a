/* SPDX-License-Identifier: MIT */
/*
 * usher shell: one command a line, one object a line.  A person at a terminal gets the answers that
 * the commands print outside of the shell.
 *
 * Lines that are already there are executed as one batch, which is one transaction or one
 * pipeline of the store.  The answers and their order are the same.  No command waits for a line
 * that has not arrived, so that a program can use the shell through two pipes.  With -e a line may
 * stop the next one, so each is executed alone.
 */
#include "config.h"

#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/csv.h"
#include "cli/editor.h"
#include "cli/read_lines.h"
#include "cli/parse.h"
#include "cli/run.h"
#include "cli/silence.h"
#include "parse/words.h"

#define BATCH 256u
#define LINE_BYTES (1u << 20)  /* maximum of one line */
#define BATCH_BYTES (1u << 20) /* maximum of all lines that wait */

struct shell {
    struct cli *cli;
    struct words waiting[BATCH];
    struct usher_operation commands[BATCH];
    struct usher_reply *replies[BATCH];
    unsigned char *blocks[BATCH]; /* of the commands */
    size_t n, bytes;
    bool stop; /* -e, and a line was not ok */
    int rc;
};

static void done(struct shell *sh, int rc)
{
    if (rc != 0 && sh->cli->strict) {
        sh->stop = true;
        sh->rc = rc;
    }
}

static enum cli_use use_of(const struct shell *sh)
{
    for (size_t i = 0; i < sh->n; i++)
        if (usher__run_use(&sh->commands[i]) == CLI_WRITES)
            return CLI_WRITES;
    return CLI_LOOKS;
}

static void flush(struct shell *sh)
{
    size_t failed = 0;
    int rc;

    /* a store that cannot be created is reported for each line */
    while (failed < sh->n && (rc = usher__cli_reach(sh->cli, use_of(sh))) != 0) {
        done(sh, rc);
        failed++;
    }
    if (failed == 0 && sh->n > 0) {
        usher__run_execute(sh->cli, sh->commands, sh->replies, sh->n);
        for (size_t i = 0; i < sh->n; i++) {
            rc = usher__run_answer(sh->cli, &sh->commands[i], sh->replies[i]);
            if (rc == 0)
                usher__cli_silence(sh->cli, &sh->commands[i]);
            done(sh, rc);
        }
    }
    for (size_t i = 0; i < sh->n; i++)
        free(sh->blocks[i]);
    sh->n = sh->bytes = 0;
    fflush(stdout);
}

static void fail(struct shell *sh, const char *message)
{
    flush(sh);
    done(sh, usher__cli_fail(sh->cli, USHER_INVALID, "%s", message));
}

/* Choose the form of the answers that follow. */
static void choose_mode(struct shell *sh, const struct words *w)
{
    char quoted[PARSE_QUOTE_MAX], message[CLI_MESSAGE_MAX];
    const char *word = w->n == 2 ? w->word[1] : "";
    bool json = strcmp(word, "json") == 0, csv = strcmp(word, "csv") == 0;

    flush(sh);
    if (json || csv || strcmp(word, "text") == 0) {
        sh->cli->json = json;
        sh->cli->csv = csv;
    } else {
        (void)snprintf(message, sizeof message, "`%s` is not a mode: text, json and csv are",
                       usher__quote(quoted, word));
        fail(sh, message);
    }
}

/* Run a line that is no single command of the store, outside of a batch.  Return false if it is
 * one. */
static bool special(struct shell *sh, const struct words *w)
{
    const struct cli_program *p = usher__cli_programs;

    while (p->word != NULL && strcmp(p->word, w->word[0]) != 0)
        p++;
    if (w->nul &&
        (p->word != NULL || (w->n >= 2 && usher__cli_verb(w->word[0], w->word[1]) != NULL))) {
        fail(sh, "line contains a NUL byte");
        return true;
    }
    if (strcmp(w->word[0], SHELL_MODE) == 0) {
        choose_mode(sh, w);
        return true;
    }
    if (p->word != NULL) {
        flush(sh);
        done(sh, p->run(sh->cli, w->word, w->n));
        return true;
    }
    if (w->n >= 2 && usher__cli_verb(w->word[0], w->word[1]) != NULL) {
        flush(sh);
        done(sh, usher__cli_run(sh->cli, w->word, w->n));
        return true;
    }
    return false;
}

static void take(struct shell *sh, const char *line, size_t size)
{
    struct words *w = &sh->waiting[sh->n];
    struct usher_operation *command = &sh->commands[sh->n];
    char message[CLI_MESSAGE_MAX];
    unsigned char *block = NULL;
    const char *fault = usher__words_split(w, line, size);

    if (fault != NULL) {
        (void)snprintf(message, sizeof message, "line %s", fault);
        fail(sh, message);
    } else if (w->n == 0 || special(sh, w)) {
        return;
    } else if (!usher__parse_words(w, command, &block, message)) {
        free(block);
        fail(sh, message);
    } else if (usher__run_has_steps(command) || (sh->cli->csv && usher__csv_has_rows(command))) {
        free(block);
        flush(sh); /* the words of @w do not change */
        done(sh, usher__cli_run(sh->cli, w->word, w->n));
    } else {
        sh->blocks[sh->n++] = block;
        sh->bytes += size;
        if (sh->n == BATCH || sh->bytes > BATCH_BYTES || sh->cli->strict)
            flush(sh);
    }
}

static void from_file(struct shell *sh)
{
    struct lines lines;
    char *line;
    size_t size;

    usher__lines_open(&lines, STDIN_FILENO, LINE_BYTES);
    while (!sh->stop) {
        enum lines_result result = usher__lines_next(&lines, sh->n == 0, &line, &size);

        if (result == LINES_END)
            break;
        if (result == LINES_LINE) {
            take(sh, line, size);
        } else if (result == LINES_LONG) {
            fail(sh, "line is longer than 1048576 bytes");
        } else if (result == LINES_ERROR) {
            flush(sh);
            sh->rc = usher__cli_fail(sh->cli, USHER_INVALID, "standard input: %s",
                                     strerror(lines.error));
            break;
        } else {
            flush(sh);
        }
        if (sh->n == 0)
            fflush(stdout);
    }
    flush(sh);
    usher__lines_close(&lines);
}

static void from_terminal(struct shell *sh, struct editor *editor)
{
    const char *line;
    size_t size;

    while (!sh->stop && (line = usher__editor_line(editor, &size)) != NULL) {
        if ((size == 4 && (memcmp(line, "quit", 4) == 0 || memcmp(line, "exit", 4) == 0)))
            break;
        take(sh, line, size);
        flush(sh);
    }
}

int usher__cli_shell(struct cli *cli)
{
    struct shell *sh = usher__cli_resize(NULL, sizeof *sh);
    struct editor *editor = NULL;
    int rc;

    memset(sh, 0, sizeof *sh);
    sh->cli = cli;
    if (isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1)
        editor = usher__editor_open(cli);
    cli->terminal = editor != NULL;
    if (cli->terminal && cli->stands_in)
        fputs("There is no such store yet: the first command that writes creates it.\n", stderr);
    if (editor != NULL)
        from_terminal(sh, editor);
    else
        from_file(sh);
    usher__editor_close(editor);
    for (size_t i = 0; i < BATCH; i++)
        usher__words_done(&sh->waiting[i]);
    rc = sh->rc;
    (void)usher__cli_resize(sh, 0);
    return rc;
}
