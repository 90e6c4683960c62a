/* SPDX-License-Identifier: MIT */
/*
 * number import POOL FILE [up=1] [group=G] [actor=NAME]: one number a line, in batches.  Blanks
 * around it and lines that begin with # are ignored.  A line that is no number, for example one of
 * a table or a sentence, is reported and left out; the others are imported.  An import can be
 * repeated.
 */
#include "config.h"

#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/answer.h"
#include "cli/read_lines.h"
#include "cli/parse.h"
#include "cli/progress.h"
#include "cli/run.h"
#include "core/text.h"

#define BATCH 1024u /* commands */
#define LONGEST 4096u
#define REPORTS 10u /* bad lines that are reported one by one */

struct import {
    struct cli *cli;
    const char *file;
    struct usher_operation model; /* pool, group, now */
    bool up;
    uint64_t added, same, upped, bad;
    char first_bad[160];
    struct usher_operation *commands; /* BATCH, as the next two */
    struct usher_reply **replies;
    char (*names)[USHER_NAME_MAX];
    size_t n;
    uint64_t epoch, version;
    int64_t due_ms, now_ms;
};

/* Return USHER_OK, or the status with which the store failed. */
static enum usher_status flush(struct import *m, char message[CLI_MESSAGE_MAX])
{
    enum usher_status failed = USHER_OK;

    if (m->n == 0)
        return USHER_OK;
    usher__run_execute(m->cli, m->commands, m->replies, m->n);
    for (size_t i = 0; i < m->n; i++) {
        struct usher_reply *r = m->replies[i];

        if (usher__answer_failed(r->status)) {
            if (failed == USHER_OK)
                (void)snprintf(message, CLI_MESSAGE_MAX, "%s",
                               r->message[0] != '\0' ? r->message : usher_status_text(r->status));
            failed = failed == USHER_OK ? r->status : failed;
            usher_reply_done(r);
            continue;
        }
        m->epoch = r->epoch;
        m->version = r->version;
        m->due_ms = r->due_ms;
        m->now_ms = r->now_ms;
        if (m->commands[i].verb == USHER_NUMBER_REG)
            m->upped += r->status == USHER_OK;
        else if (r->status == USHER_OK)
            m->added++;
        else
            m->same++;
        usher_reply_done(r);
    }
    m->n = 0;
    return failed;
}

static void add(struct import *m, const char *number, size_t size)
{
    struct usher_operation *c = &m->commands[m->n];
    char *name = m->names[m->n];

    memcpy(name, number, size);
    *c = m->model;
    c->arg.number.number.data = name;
    c->arg.number.number.size = size;
    m->n++;
    if (m->up) {
        c[1] = *c;
        c[1].verb = USHER_NUMBER_REG;
        c[1].arg.number.group.data = NULL;
        c[1].arg.number.group.size = 0;
        m->n++;
    }
}

/* Return NULL, or the reason why @line is no number.  A store takes any name, but the file may be
 * the wrong one.  A phone number may contain blanks; other names, such as those of SIP, have
 * none. */
static const char *number_fault(const char *line, size_t size)
{
    const char *fault = usher__name_fault(line, size);
    bool blank = false, other = false;

    for (size_t i = 0; fault == NULL && i < size; i++) {
        if (line[i] == ',')
            fault = "contains a comma: the file has one number a line";
        blank = blank || line[i] == ' ';
        other = other || strchr(" +-/.()*#0123456789", line[i]) == NULL;
    }
    return fault == NULL && blank && other ? "contains a blank and is not a phone number" : fault;
}

static void bad(struct import *m, uint64_t line, const char *fault)
{
    if (m->bad++ == 0)
        (void)snprintf(m->first_bad, sizeof m->first_bad, "line %" PRIu64 " %s", line, fault);
    if (m->bad <= REPORTS) {
        fputs("usher: ", stderr);
        usher__plain_text(stderr, m->file, strlen(m->file));
        fprintf(stderr, ":%" PRIu64 ": %s\n", line, fault);
    }
}

static enum usher_status read_all(struct import *m, struct lines *lines, uint64_t total,
                                  char message[CLI_MESSAGE_MAX])
{
    struct progress progress;
    enum usher_status status = USHER_OK;
    char *line;
    size_t size;

    usher__progress_begin(&progress, "import", total > 0 ? "bytes" : "lines");
    while (status == USHER_OK) {
        enum lines_result result = usher__lines_next(lines, true, &line, &size);
        const char *fault;

        if (result == LINES_END || result == LINES_ERROR)
            break;
        while (size > 0 && strchr(" \t\r", line[size - 1]) != NULL && line[size - 1] != '\0')
            size--;
        while (size > 0 && (*line == ' ' || *line == '\t')) {
            line++;
            size--;
        }
        if (result == LINES_LINE && (size == 0 || *line == '#'))
            continue;
        fault = result == LINES_LONG ? "is longer than 255 bytes" : number_fault(line, size);
        if (fault != NULL) {
            bad(m, lines->number, fault);
            continue;
        }
        add(m, line, size);
        if (m->n + 2 > BATCH) {
            status = flush(m, message);
            if (total != 0)
                usher__progress_show(&progress, lines->bytes, total);
            else
                usher__progress_show(&progress, lines->number, 0);
        }
    }
    if (status == USHER_OK)
        status = flush(m, message);
    usher__progress_end(&progress);
    if (status == USHER_OK && lines->error != 0) {
        (void)snprintf(message, CLI_MESSAGE_MAX, "%s: %s", m->file, strerror(lines->error));
        status = USHER_INVALID;
    }
    return status;
}

static int answer(struct import *m)
{
    bool changed = m->added + m->upped > 0;
    enum usher_status status = changed ? USHER_OK : USHER_SAME;
    struct json j = { stdout, false };

    if (!m->cli->json) {
        printf("%s: %" PRIu64 " added, %" PRIu64 " there already, %" PRIu64 " bad lines\n",
               usher_status_word(status), m->added, m->same, m->bad);
        return 0;
    }
    usher__answer_begin(&j, status, m->epoch, m->version, m->due_ms, m->now_ms);
    usher__json_uint(&j, "added", m->added);
    usher__json_uint(&j, "same", m->same);
    usher__json_uint(&j, "bad", m->bad);
    puts("}");
    return 0;
}

/* With an empty file there is no answer of the pool: query its epoch and version. */
static enum usher_status ask(struct import *m, char message[CLI_MESSAGE_MAX])
{
    struct usher_operation c = m->model;
    struct usher_reply *r;
    enum usher_status status;

    memset(&c.arg, 0, sizeof c.arg);
    c.verb = USHER_NUMBER_STATS;
    usher__run_execute(m->cli, &c, &r, 1);
    m->epoch = r->epoch;
    m->version = r->version;
    m->due_ms = r->due_ms;
    m->now_ms = r->now_ms;
    status = usher__answer_failed(r->status) ? r->status : USHER_OK;
    (void)snprintf(message, CLI_MESSAGE_MAX, "%s",
                   r->message[0] != '\0' ? r->message : usher_status_text(r->status));
    usher_reply_done(r);
    return status;
}

static int from_file(struct import *m, int fd)
{
    char message[CLI_MESSAGE_MAX];
    struct lines lines;
    struct stat st;
    uint64_t total = 0;
    enum usher_status status;

    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
        total = (uint64_t)st.st_size;
    m->commands = usher__cli_resize(NULL, BATCH * sizeof *m->commands);
    /* an array of pointers */
    /* NOLINTNEXTLINE(bugprone-sizeof-expression) */
    m->replies = usher__cli_resize(NULL, BATCH * sizeof *m->replies);
    m->names = usher__cli_resize(NULL, BATCH * sizeof *m->names);
    usher__lines_open(&lines, fd, LONGEST);
    status = read_all(m, &lines, total, message);
    usher__lines_close(&lines);
    (void)usher__cli_resize(m->commands, 0);
    (void)usher__cli_resize(m->replies, 0);
    (void)usher__cli_resize(m->names, 0);
    if (m->bad > REPORTS)
        fprintf(stderr, "usher: … and %" PRIu64 " more bad lines\n", m->bad - REPORTS);
    if (status != USHER_OK)
        return usher__cli_fail(m->cli, status, "%s (%" PRIu64 " numbers were added before)",
                               message, m->added);
    if (m->added + m->same == 0) {
        if (m->bad > 0)
            return usher__cli_fail(m->cli, USHER_INVALID,
                                   "no line of the file is a number: %" PRIu64 " bad, %s", m->bad,
                                   m->first_bad);
        status = ask(m, message);
        if (status != USHER_OK)
            return usher__cli_fail(m->cli, status, "%s", message);
    }
    return answer(m);
}

/* Read up=, group= and actor= into @m. */
static bool argument(struct import *m, const char *word, char message[CLI_MESSAGE_MAX])
{
    const char *value = usher__key_value(word, "up");
    const char *fault = NULL;
    char quoted[PARSE_QUOTE_MAX];
    int64_t up = 0;

    if (value != NULL) {
        if (!usher__parse_int(value, 0, 1, &up))
            fault = "up is not a number from 0 to 1";
        m->up = up != 0;
    } else if ((value = usher__key_value(word, "group")) != NULL) {
        m->model.arg.number.group.data = value;
        m->model.arg.number.group.size = strlen(value);
        fault = usher__group_fault(value, strlen(value));
        if (fault != NULL) {
            (void)snprintf(message, CLI_MESSAGE_MAX, "group %s", fault);
            return false;
        }
    } else if ((value = usher__key_value(word, "actor")) != NULL) {
        m->model.arg.number.actor.data = value;
        m->model.arg.number.actor.size = strlen(value);
        fault = usher__name_fault(value, strlen(value));
        if (fault != NULL) {
            (void)snprintf(message, CLI_MESSAGE_MAX, "actor %s", fault);
            return false;
        }
    } else {
        (void)snprintf(message, CLI_MESSAGE_MAX, "`%s` is not an argument of `number import`",
                       usher__quote(quoted, word));
        return false;
    }
    if (fault != NULL)
        (void)snprintf(message, CLI_MESSAGE_MAX, "%s", fault);
    return fault == NULL;
}

int usher__cli_import(struct cli *cli, char *const *words, size_t n)
{
    char message[CLI_MESSAGE_MAX];
    struct import m;
    const char *fault;
    bool taken;
    int fd, rc;

    memset(&m, 0, sizeof m);
    m.cli = cli;
    m.model.verb = USHER_NUMBER_ADD;
    if (n < 3)
        return usher__cli_fail(cli, USHER_INVALID, "pool is missing");
    fault = usher__scope_fault(words[2], strlen(words[2]));
    if (fault != NULL)
        return usher__cli_fail(cli, USHER_INVALID, "pool %s", fault);
    if (n < 4)
        return usher__cli_fail(cli, USHER_INVALID, "file is missing");
    m.model.scope.data = words[2];
    m.model.scope.size = strlen(words[2]);
    m.file = words[3];
    for (size_t i = 4; i < n; i++) {
        if (!usher__parse_common(words[i], &m.model, &taken, message) ||
            (!taken && !argument(&m, words[i], message)))
            return usher__cli_fail(cli, USHER_INVALID, "%s", message);
    }
    /* An import can be repeated without it, and one id cannot identify many commands. */
    m.model.request.data = NULL;
    m.model.request.size = 0;

    fd = STDIN_FILENO;
    if (strcmp(m.file, "-") != 0)
        fd = open(m.file, O_RDONLY | O_CLOEXEC);
    else if (cli->shell)
        return usher__cli_fail(cli, USHER_INVALID,
                               "file - is standard input, which the shell reads");
    if (fd < 0)
        return usher__cli_fail(cli, USHER_INVALID, "file %s: %s", m.file, strerror(errno));
    rc = usher__cli_reach(cli, CLI_WRITES);
    if (rc == 0)
        rc = from_file(&m, fd);
    if (fd != STDIN_FILENO)
        (void)close(fd);
    return rc;
}
