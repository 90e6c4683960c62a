/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "cli/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <usher/store/store.h>

#include "cli/answer.h"
#include "cli/csv.h"
#include "cli/parse.h"
#include "cli/remote.h"
#include "cli/silence.h"
#include "cli/table.h"
#include "core/verbs.h"

void usher__run_batch(struct usher_engine *e, const struct usher_operation *commands,
                      struct usher_result *replies, size_t n)
{
    memset(replies, 0, n * sizeof *replies);
    if (usher_operate(e, commands, replies, n) != USHER_INVALID)
        return;
    /* the call itself was invalid, and the replies were not written */
    for (size_t i = 0; i < n; i++) {
        replies[i].status = USHER_INVALID;
        (void)snprintf(replies[i].message, sizeof replies[i].message, "%s", usher_message());
    }
}

enum cli_use usher__run_use(const struct usher_operation *command)
{
    const struct usher__verb *verb = usher__verb((unsigned)command->verb);

    /* a read also applies expiries, but that does not make it a command that writes */
    return (verb->flags & (USHER__WRITES | USHER__READS)) == USHER__WRITES ? CLI_WRITES : CLI_LOOKS;
}

/* Return whether @command lists all scopes: without max=, all pages. */
static bool lists_all(const struct usher_operation *command)
{
    return command->verb == USHER_STORE_SCOPES && (command->given & USHER_GIVEN_STORE_MAX) == 0;
}

bool usher__run_has_steps(const struct usher_operation *command)
{
    const struct usher__verb *verb = usher__verb((unsigned)command->verb);
    bool one = (verb->flags & USHER__PLACED) != 0 &&
               (usher__noun((unsigned)command->verb >> 8)->texts(command) & 1u) != 0;
    int64_t max;

    if (lists_all(command))
        return true;
    return (verb->flags & USHER__STEPS) != 0 && !one &&
           (command->request.data == NULL || (verb->flags & USHER__ENDS) != 0) &&
           !usher__operation_number(command, USHER_FIELD_MAX, &max);
}

void usher__run_steps_begin(struct run_steps *s, const struct usher_operation *command)
{
    memset(s, 0, sizeof *s);
    s->next = *command;
}

/* Return the member of @reply for @field. */
static void *told(const struct usher__noun *noun, struct usher_result *reply, unsigned field)
{
    return (char *)reply + noun->outs[noun->out_at[field] - 1].offset;
}

/* Continue a verb with pages after the page of @reply. */
static void go_on(struct run_steps *s, const struct usher__noun *noun,
                  const struct usher_result *reply)
{
    for (unsigned i = 0; i < noun->n_views; i++) {
        const struct usher__field *view = &noun->views[i];
        const char *at = (const char *)reply + view->offset;
        struct usher_text after = { s->after, 0 };

        if (view->type != USHER__FIELD_NEXT || (view->verbs & USHER__VERB_BIT(s->next.verb)) == 0)
            continue;
        memcpy(&after.size, at, sizeof after.size);
        memcpy(s->after, at + sizeof after.size, after.size + 1);
        memcpy((char *)&s->next + noun->args[noun->arg_at[view->code] - 1].offset, &after,
               sizeof after);
    }
}

bool usher__run_steps_end(struct run_steps *s, struct usher_result *reply)
{
    const struct usher__noun *noun = usher__noun((unsigned)s->next.verb >> 8);
    bool ends = (usher__verb((unsigned)s->next.verb)->flags & USHER__ENDS) != 0;
    const bool *more;
    uint64_t *count;

    if (!USHER_IS_DONE(reply->status))
        return true;
    if (ends && reply->status == USHER_SAME && s->begun) /* another client did the last step */
        memcpy(reply, s->head, sizeof s->head);
    more = told(noun, reply, USHER_FIELD_MORE);
    count = told(noun, reply, USHER_FIELD_COUNT);
    s->total += *count;
    *count = s->total;
    if (s->total > 0)
        reply->status = USHER_OK;
    if (!*more)
        return true;
    memcpy(s->head, reply, sizeof s->head);
    s->begun = true;
    s->next.given &= ~noun->if_version; /* the first step has checked it */
    go_on(s, noun, reply);
    usher_result_done(reply);
    return false;
}

/* The order of scopes: by noun, then by name. */
static int by_place(const void *a, const void *b)
{
    const struct usher_text *x = &((const struct usher_store_result_row *)a)->name;
    const struct usher_text *y = &((const struct usher_store_result_row *)b)->name;
    size_t n = x->size < y->size ? x->size : y->size;
    unsigned noun_x = 0, noun_y = 0;
    const struct usher__noun *noun;
    int order = memcmp(x->data, y->data, n);

    for (unsigned i = 0; (noun = usher__noun_at(i)) != NULL; i++) {
        size_t size = strlen(noun->word);

        noun_x = x->size > size && memcmp(x->data, noun->word, size) == 0 && x->data[size] == '/'
                     ? i
                     : noun_x;
        noun_y = y->size > size && memcmp(y->data, noun->word, size) == 0 && y->data[size] == '/'
                     ? i
                     : noun_y;
    }
    if (noun_x != noun_y)
        return noun_x < noun_y ? -1 : 1;
    return order != 0 ? order : (x->size > y->size) - (x->size < y->size);
}

/* Sort the rows, and remove those that came twice. */
static void sort_rows(struct usher_store_result *of)
{
    struct usher_store_result_row *rows = (struct usher_store_result_row *)(uintptr_t)of->rows;
    size_t n = 0;

    if (of->n_rows > 1)
        qsort(rows, of->n_rows, sizeof *rows, by_place);
    for (size_t i = 0; i < of->n_rows; i++)
        if (n == 0 || by_place(&rows[i], &rows[n - 1]) != 0)
            rows[n++] = rows[i];
    of->n_rows = n;
}

/* Return whether there are rows: it has not failed, or with some of the answer. */
static bool is_there(const struct usher_result *result)
{
    return !usher__answer_failed(result->status) || result->of.store.partial;
}

/* List all scopes: the rows of all pages in one answer.  A page that is not complete is no reason
 * to end. */
static void run_pages(struct usher_engine *e, const struct usher_operation *command,
                      struct usher_result *all)
{
    struct usher_operation next = *command;
    struct usher_result page;
    char after[sizeof page.of.store.after];
    bool more = true;

    next.given |= USHER_GIVEN_STORE_MAX;
    next.arg.store.max = USHER_LIST_MAX;
    usher__run_batch(e, &next, all, 1);
    while (is_there(all) && more && all->of.store.after_size > 0) {
        memcpy(after, all->of.store.after, sizeof after);
        next.arg.store.after = (struct usher_text){ after, all->of.store.after_size };
        all->of.store.after_size = 0;
        usher__run_batch(e, &next, &page, 1);
        more = is_there(&page);
        for (size_t i = 0; more && i < page.of.store.n_rows; i++)
            more = usher_result_add_row(all, USHER_STORE, &page.of.store.rows[i]) == USHER_OK;
        if (more) {
            all->of.store.after_size = page.of.store.after_size;
            memcpy(all->of.store.after, page.of.store.after, sizeof page.of.store.after);
        }
        if (page.status != USHER_OK) { /* the first reason counts */
            if (all->status == USHER_OK)
                memcpy(all->message, page.message, sizeof all->message);
            all->status = page.status;
            all->of.store.partial = true;
        }
        usher_result_done(&page);
    }
    if (all->of.store.after_size == 0)
        all->of.store.more = false;
    sort_rows(&all->of.store);
}

void usher__run_steps(struct usher_engine *e, const struct usher_operation *command,
                      struct usher_result *ret_reply)
{
    struct run_steps s;

    if (lists_all(command)) {
        run_pages(e, command, ret_reply);
        return;
    }
    usher__run_steps_begin(&s, command);
    do
        usher__run_batch(e, &s.next, ret_reply, 1);
    while (!usher__run_steps_end(&s, ret_reply));
}

void usher__run_execute(struct cli *cli, const struct usher_operation *commands,
                        struct usher_reply **ret_replies, size_t n)
{
    struct usher_result *results;

    if (cli->remote != NULL) {
        usher__remote_execute(cli->remote, commands, ret_replies, n);
    } else {
        results = usher__cli_resize(NULL, n * sizeof *results);
        if (n == 1 && usher__run_has_steps(commands))
            usher__run_steps(cli->engine, commands, results);
        else
            usher__run_batch(cli->engine, commands, results, n);
        for (size_t i = 0; i < n; i++) {
            ret_replies[i] = usher_reply_of(&commands[i], &results[i]);
            usher_result_done(&results[i]);
        }
        (void)usher__cli_resize(results, 0);
    }
    for (size_t i = 0; i < n; i++)
        if (ret_replies[i] == NULL) {
            fputs("usher: nomem: out of memory\n", stderr);
            exit(usher__cli_exit_code(USHER_NOMEM));
        }
}

static void fail(const struct cli *cli, const struct usher_reply *reply)
{
    (void)usher__cli_fail(cli, reply->status, "%s",
                          reply->message[0] != '\0' ? reply->message
                                                    : usher_status_text(reply->status));
}

int usher__run_answer(const struct cli *cli, const struct usher_operation *command,
                      struct usher_reply *reply)
{
    int rc = usher__cli_exit_code(reply->status);

    if (cli->json)
        usher__answer_reply(stdout, reply);
    else if (!usher__answer_there(reply))
        fail(cli, reply);
    else if (isatty(STDOUT_FILENO) != 1 || !usher__cli_table_answer(stdout, command, reply))
        usher__answer_plain(stdout, command, reply);
    if (!cli->json && usher__answer_there(reply) && usher__answer_failed(reply->status)) {
        fflush(stdout);
        fail(cli, reply); /* report that it is not all */
    }
    usher_reply_done(reply);
    return rc;
}

int usher__cli_run(struct cli *cli, char *const *words, size_t n)
{
    const struct cli_verb *verb = n >= 2 ? usher__cli_verb(words[0], words[1]) : NULL;
    char message[CLI_MESSAGE_MAX];
    struct usher_operation command;
    struct usher_reply *reply;
    unsigned char *block;
    int rc;

    if (cli->csv && !cli->shell && verb != NULL && verb->run != NULL) {
        (void)snprintf(message, sizeof message, "%s %s", words[0], words[1]);
        return usher__csv_refuse(cli, message);
    }
    if (verb != NULL && verb->run != NULL)
        return verb->run(cli, words, n);
    if (cli->csv && !cli->shell)
        return usher__csv_run(cli, words, n);
    if (!usher__parse_command(words, n, &command, &block, message)) {
        free(block);
        return usher__cli_fail(cli, USHER_INVALID, "%s", message);
    }
    if (cli->csv && usher__csv_has_rows(&command)) { /* .mode csv: others answer in words */
        free(block);
        return usher__csv_run(cli, words, n);
    }
    rc = usher__cli_reach(cli, usher__run_use(&command));
    if (rc == 0) {
        usher__run_execute(cli, &command, &reply, 1);
        rc = usher__run_answer(cli, &command, reply);
        if (rc == 0)
            usher__cli_silence(cli, &command);
    }
    free(block);
    return rc;
}
