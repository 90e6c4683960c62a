/* SPDX-License-Identifier: MIT */
/*
 * Commands that take long: lists and digests, which are many commands of the store, and `status`,
 * `drop` and `check`.  A thread executes each (worker.c), and its client waits.
 *
 * The words are copied, because a client may go before its command is done; then there is nothing
 * to answer.
 */
#include "config.h"

#include "serve/serve.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <usher/store/store.h>

#include "cli/modes.h"
#include "cli/node_keys.h"
#include "core/text.h"
#include "core/verbs.h"
#include "parse/parse.h"

#define FAULTS_MAX 100u /* that an answer lists */

struct task {
    struct work work;
    struct server *server;
    uint64_t client;
    bool resp3, packed;
    void (*run)(struct task *t);
    struct usher_operation op;
    struct usher_check_options check;
    enum usher_noun noun; /* to drop: of the scope … */
    const char *name;     /* … and its name */
    enum usher_status status;
    char message[192]; /* of a failure */
    struct out answer;
    /* rows of the answer, while it is written */
    struct out rows;
    size_t n_rows;
    bool answers; /* a node does */
    char *bytes;  /* of the words */
    char **word;
    size_t *size;
};

/* ---- runs, on the thread ------------------------------------------------------------------ */

static void run_list(struct task *t)
{
    struct usher_result result;

    /* the program lists all scopes, as it does on a store */
    if (t->packed && usher__run_has_steps(&t->op))
        usher__run_steps(t->server->cli->engine, &t->op, &result);
    else
        usher__run_batch(t->server->cli->engine, &t->op, &result, 1);
    t->status = result.status;
    (void)snprintf(t->message, sizeof t->message, "%s", result.message);
    usher__serve_answer(&t->answer, t->resp3, t->packed, &t->op, &result);
    usher_result_done(&result);
}

/* The answer of a failure. */
static void fail(struct task *t, enum usher_status status, const char *message)
{
    char word[16];
    size_t i = 0;

    for (const char *c = usher_status_word(status); *c != '\0' && i < sizeof word - 1; c++)
        word[i++] = (char)(*c - 'a' + 'A');
    word[i] = '\0';
    t->status = status;
    (void)snprintf(t->message, sizeof t->message, "%s", message);
    usher__out_error(&t->answer, word, message);
}

static void key_int(struct task *t, const char *key, int64_t number)
{
    usher__out_word(&t->answer, key);
    usher__out_int(&t->answer, number);
}

static void key_bool(struct out *o, bool resp3, const char *key, bool yes)
{
    usher__out_word(o, key);
    if (resp3)
        usher__out_print(o, "#%c\r\n", yes ? 't' : 'f');
    else
        usher__out_int(o, yes);
}

static void key_rows(struct task *t, const char *key)
{
    usher__out_word(&t->answer, key);
    usher__out_array(&t->answer, t->n_rows);
    usher__out_put(&t->answer, t->rows.data, usher__out_size(&t->rows));
}

static void begin(struct task *t, enum usher_status status, size_t keys)
{
    t->status = status;
    usher__out_map(&t->answer, t->resp3, keys);
    usher__out_word(&t->answer, "status");
    usher__out_word(&t->answer, usher_status_word(status));
}

static void show_node(void *payload, const struct usher_node *node)
{
    struct task *t = payload;
    struct node_value values[NODE_KEYS_MAX];
    size_t n = usher__node_values(node, values);

    t->n_rows++;
    t->answers = t->answers || node->answers;
    usher__out_map(&t->rows, t->resp3, n);
    for (size_t i = 0; i < n; i++) {
        const struct node_value *v = &values[i];

        if (v->type == NODE_BOOL) {
            key_bool(&t->rows, t->resp3, v->key, v->number != 0);
            continue;
        }
        usher__out_word(&t->rows, v->key);
        if (v->type == NODE_TEXT)
            usher__out_text(&t->rows, v->text.data, v->text.size);
        else
            usher__out_int(&t->rows, v->number);
    }
}

static void show_mode(void *payload, const struct mode_of *m)
{
    struct task *t = payload;

    t->n_rows++;
    usher__out_map(&t->rows, t->resp3, m->reason.size > 0 ? 3 : 2);
    usher__out_word(&t->rows, "scope");
    usher__out_text(&t->rows, m->scope.data, m->scope.size);
    usher__out_word(&t->rows, "mode");
    usher__out_word(&t->rows, m->mode);
    if (m->reason.size > 0) {
        usher__out_word(&t->rows, "reason");
        usher__out_text(&t->rows, m->reason.data, m->reason.size);
    }
}

static void run_status(struct task *t)
{
    enum usher_status status = usher_nodes(t->server->cli->engine, NULL, show_node, t);
    bool bad = status != USHER_OK, partial;
    uint64_t unknown = 0, unavailable = 0;

    if (bad && status != USHER_UNAVAILABLE) {
        fail(t, status, usher_message());
        return;
    }
    begin(t, status, bad ? 7 : 6);
    if (bad) {
        usher__out_word(&t->answer, "message");
        usher__out_word(&t->answer, usher_message());
    }
    (void)usher_failures(t->server->cli->engine, &unknown, &unavailable);
    key_int(t, "unknown", (int64_t)unknown);
    key_int(t, "unavailable", (int64_t)unavailable);
    key_rows(t, "nodes");
    usher__out_done(&t->rows);
    t->n_rows = 0;
    partial = !t->answers || !usher__modes(t->server->cli->engine, show_mode, t);
    key_rows(t, "modes");
    key_bool(&t->answer, t->resp3, "modes_partial", partial);
}

static void show_fault(void *payload, const char *line)
{
    struct task *t = payload;

    if (t->n_rows == FAULTS_MAX)
        return;
    t->n_rows++;
    usher__out_word(&t->rows, line);
}

static void run_check(struct task *t)
{
    struct usher_check_result found = { .partial = false };
    enum usher_status status =
        usher_check(t->server->cli->engine, &t->check, show_fault, t, &found);

    if (status != USHER_OK && !found.partial) {
        fail(t, status, usher_message());
        return;
    }
    if (status == USHER_OK && found.faults > found.repaired)
        status = USHER_REFUSED;
    begin(t, status, found.partial ? 7 : 6);
    key_int(t, "faults", (int64_t)found.faults);
    key_int(t, "repaired", (int64_t)found.repaired);
    key_int(t, "scopes", (int64_t)found.scopes);
    key_rows(t, "found");
    key_bool(&t->answer, t->resp3, "partial", found.partial);
    if (found.partial) {
        usher__out_word(&t->answer, "message");
        usher__out_word(&t->answer, usher_message());
    }
}

static void run_drop(struct task *t)
{
    int64_t dropped = 0;
    enum usher_status status = usher_drop(t->server->cli->engine, t->noun, t->name, &dropped);

    if (!USHER_IS_DONE(status)) {
        fail(t, status, usher_message());
        return;
    }
    begin(t, status, 2);
    key_int(t, "dropped", dropped);
}

static void run(struct work *w)
{
    struct task *t = (struct task *)(void *)w;

    t->run(t);
}

/* ---- words -------------------------------------------------------------------------------- */

/* Return whether @word is a command that is no list. */
static bool is_other(const char *word)
{
    return strcmp(word, "check") == 0 || strcmp(word, "drop") == 0 || strcmp(word, "status") == 0;
}

/* Return NULL, or what is wrong with the words of `status`, `check` or `drop`. */
static const char *arguments(struct task *t, const struct resp_command *command)
{
    bool check = strcmp(command->word[0], "check") == 0;
    const struct usher__noun *noun;
    const char *slash;

    t->run = check ? run_check : run_status;
    if (strcmp(command->word[0], "drop") != 0) {
        t->check.repair = check && command->n == 2 && strcasecmp(command->word[1], "--repair") == 0;
        return command->n == 1 || t->check.repair ? NULL
               : check                            ? "check has one argument: --repair"
                                                  : "status has no arguments";
    }
    t->run = run_drop;
    slash = command->n > 1 ? strchr(command->word[1], '/') : NULL;
    if (slash == NULL || strlen(command->word[1]) != command->size[1])
        return "drop needs NOUN/NAME";
    for (unsigned i = 0; (noun = usher__noun_at(i)) != NULL; i++)
        if (!noun->hidden && strlen(noun->word) == (size_t)(slash - command->word[1]) &&
            memcmp(noun->word, command->word[1], strlen(noun->word)) == 0)
            t->noun = (enum usher_noun)noun->noun;
    t->name = slash + 1;
    if ((unsigned)t->noun == 0 || usher__scope_fault(t->name, strlen(t->name)) != NULL)
        return "drop needs NOUN/NAME";
    return command->n == 3 && strcasecmp(command->word[2], "--yes") == 0
               ? NULL
               : "to erase the scope, add --yes";
}

/* Return false with the reason in @message. */
static bool parse(struct task *t, struct resp_command *command, char message[PARSE_MESSAGE_MAX])
{
    struct parse p = {
        .word = command->word, .n = command->n, .size = command->size, .way = PARSE_PLACED
    };
    const char *fault;

    usher__serve_lower(command, 1);
    if (!is_other(command->word[0])) {
        t->run = run_list;
        if (usher__whole_verb("", command->word[0]) == NULL)
            usher__serve_lower(command, 2); /* names of scopes stay as they are */
        return usher__parse(&p, &t->op, message);
    }
    fault = arguments(t, command);
    if (fault != NULL)
        (void)snprintf(message, PARSE_MESSAGE_MAX, "%s", fault);
    return fault == NULL;
}

/* Copy @command into the memory of @t. */
static struct resp_command copy(struct task *t, const struct resp_command *command)
{
    struct resp_command to = { NULL, NULL, command->n };
    size_t all = 0;
    char *at;

    for (size_t i = 0; i < command->n; i++)
        all += command->size[i] + 1;
    at = t->bytes = usher__cli_resize(NULL, all);
    to.word = t->word = usher__cli_resize(NULL, command->n * sizeof *to.word);
    to.size = t->size = usher__cli_resize(NULL, command->n * sizeof *to.size);
    for (size_t i = 0; i < command->n; i++) {
        to.word[i] = memcpy(at, command->word[i], command->size[i] + 1);
        to.size[i] = command->size[i];
        at += command->size[i] + 1;
    }
    return to;
}

static void task_free(struct task *t)
{
    usher__out_done(&t->answer);
    usher__out_done(&t->rows);
    (void)usher__cli_resize(t->bytes, 0);
    /* arrays of pointers and of sizes: not what they point to */
    (void)usher__cli_resize((void *)t->word, 0);
    (void)usher__cli_resize(t->size, 0);
    (void)usher__cli_resize(t, 0);
}

/* Does the first word, or do the first two, name such a command? */
bool usher__serve_is_task(const struct resp_command *command)
{
    char noun[16] = "", word[16] = "";
    struct resp_command low = { (char *[]){ noun, word }, NULL, 2 };

    if (command->size[0] >= sizeof noun || (command->n > 1 && command->size[1] >= sizeof word))
        low.n = 1;
    if (command->size[0] >= sizeof noun)
        return false;
    memcpy(noun, command->word[0], command->size[0]);
    if (low.n > 1 && command->n > 1)
        memcpy(word, command->word[1], command->size[1]);
    usher__serve_lower(&low, 2);
    return is_other(noun) || usher__whole_verb("", noun) != NULL ||
           usher__whole_verb(noun, word) != NULL;
}

/* ---- in the loop -------------------------------------------------------------------------- */

static void done(struct server *s, struct work *w)
{
    struct task *t = (struct task *)(void *)w;

    for (size_t i = 0; w->ran && i < s->n_clients; i++) {
        struct client *c = s->clients[i];

        if (c->id != t->client)
            continue;
        usher__out_put(&c->out, t->answer.data, usher__out_size(&t->answer));
        c->waits = false;
        c->ready = !c->closing && c->end - c->from >= c->need;
    }
    usher__serve_failure(s, t->status, t->message);
    if (t->run == run_list)
        usher__figures_count(&s->figures, (uint32_t)t->op.verb, t->status);
    else
        s->figures.commands++;
    task_free(t);
}

void usher__serve_task(struct server *s, struct client *c, const struct resp_command *command)
{
    struct task *t = usher__cli_resize(NULL, sizeof *t);
    char message[PARSE_MESSAGE_MAX];
    struct resp_command words;

    memset(t, 0, sizeof *t);
    t->server = s;
    t->client = c->id;
    t->resp3 = c->resp3;
    t->packed = c->packed;
    t->check = (struct usher_check_options)USHER_CHECK_OPTIONS_INIT;
    t->work.run = run;
    t->work.done = done;
    words = copy(t, command);
    if (!parse(t, &words, message)) {
        usher__out_error(&c->out, "INVALID", message);
        usher__figures_count(&s->figures, 0, USHER_INVALID);
        task_free(t);
    } else if (usher__serve_work(s, t->run == run_check ? SERVE_CHECKS : SERVE_LISTS, &t->work)) {
        c->waits = true;
    } else {
        usher__out_error(&c->out, "UNAVAILABLE", "no thread can be created");
        task_free(t);
    }
}
