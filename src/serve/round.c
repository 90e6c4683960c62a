/* SPDX-License-Identifier: MIT */
/*
 * A round: whole commands of all clients, one batch, answers in each client's order.
 *
 * A client's commands follow one another in the batch until there is one that must not: of the
 * server's own, or one that is done in steps, which is the last one of the client until it is done.
 * Between two steps the commands of others are done, so closing a large room delays no client.
 */
#include "config.h"

#include "serve/serve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <usher/store/store.h>

#include "core/verbs.h"
#include "parse/parse.h"

#define PAGE_BYTES ((size_t)1048576) /* the library ends a page there */
#define TEXTS_BYTES ((size_t)2048)   /* of an answer besides values: names and numbers */

/* ---- commands ----------------------------------------------------------------------------- */

/* NOUN and VERB in any case. */
void usher__serve_lower(const struct resp_command *command, size_t n)
{
    for (size_t i = 0; i < command->n && i < n; i++)
        for (char *c = command->word[i]; *c != '\0'; c++)
            if (*c >= 'A' && *c <= 'Z')
                *c = (char)(*c - 'A' + 'a');
}

static struct job *job(struct server *s, struct client *c)
{
    struct job *j = &s->jobs[s->n_jobs++];

    memset(j, 0, sizeof *j);
    j->client = c;
    return j;
}

static void wrong(struct job *j, const char *message)
{
    size_t size = strlen(message) + 1;

    j->kind = JOB_WRONG;
    j->fault = memcpy(usher__cli_resize(NULL, size), message, size);
}

/* Is it a command of the shell that is none of the store? */
static bool is_elsewhere(const struct resp_command *command)
{
    const struct cli_program *p = usher__cli_programs;

    while (p->word != NULL && strcmp(p->word, command->word[0]) != 0)
        p++;
    return p->word != NULL ||
           (command->n >= 2 && usher__cli_verb(command->word[0], command->word[1]) != NULL);
}

/* How many bytes its answer has at most, about: a page of a list, or a value if the noun has
 * values. */
static size_t answer_of(const struct usher_operation *op)
{
    const struct usher__noun *noun = usher__noun((unsigned)op->verb >> 8);
    const struct usher__verb *verb = usher__verb((unsigned)op->verb);
    bool values = noun->n_arg_at > USHER_FIELD_VALUE && noun->arg_at[USHER_FIELD_VALUE] != 0;
    size_t one = values ? USHER_VALUE_MAX + TEXTS_BYTES : TEXTS_BYTES, all;
    bool list = false;
    int64_t max = 0;

    for (unsigned i = 0; i < noun->n_args; i++)
        if (noun->args[i].code == USHER_FIELD_MAX && (verb->keys >> i & 1u) != 0) {
            list = true;
            if ((op->given & noun->args[i].given) != 0)
                memcpy(&max, (const char *)op + noun->args[i].offset, sizeof max);
        }
    if (!list)
        return one;
    all = (max <= 0 || max > USHER_PAGE_MAX ? (size_t)USHER_PAGE_MAX : (size_t)max) * one;
    return all < PAGE_BYTES + one ? all : PAGE_BYTES + one;
}

/* A command of the store. */
static void store_command(struct server *s, struct client *c, const struct resp_command *command)
{
    struct job *j = job(s, c);
    struct usher_operation *op = &s->ops[s->n_ops];
    struct parse p = {
        .word = command->word, .n = command->n, .size = command->size, .way = PARSE_PLACED
    };
    char message[PARSE_MESSAGE_MAX];
    size_t size;

    usher__serve_lower(command, 2);
    if (!usher__parse(&p, op, message)) {
        wrong(j, is_elsewhere(command) ? "not served: run this command with the program usher"
                                       : message);
        return;
    }
    size = usher__parse_fields_size(&p);
    if (size > 0)
        j->block = usher__cli_resize(NULL, size);
    if (!usher__parse_fields(&p, op, j->block, message)) {
        wrong(j, message);
        return;
    }
    j->op = s->n_ops++;
    size = answer_of(op);
    s->answers += size;
    c->answers += size;
    if (usher__run_has_steps(op)) {
        c->steps = usher__cli_resize(NULL, sizeof *c->steps);
        usher__run_steps_begin(c->steps, op);
        j->kind = JOB_STEP;
    }
}

/* A command of the server itself, after others of this round. */
static void own_later(struct server *s, struct client *c, const struct resp_command *command)
{
    struct job *j = job(s, c);

    j->kind = JOB_OWN;
    j->own.n = command->n;
    j->own.word = memcpy(usher__cli_resize(NULL, command->n * sizeof *j->own.word), command->word,
                         command->n * sizeof *j->own.word);
    j->own.size = memcpy(usher__cli_resize(NULL, command->n * sizeof *j->own.size), command->size,
                         command->n * sizeof *j->own.size);
}

/* The next step of a command that was begun in a round before. */
static void go_on(struct server *s, struct client *c)
{
    struct job *j = job(s, c);

    s->ops[s->n_ops] = c->steps->next;
    j->op = s->n_ops++;
    j->kind = JOB_STEP;
}

static void protocol_error(struct server *s, struct client *c, const char *fault)
{
    char message[128];

    (void)snprintf(message, sizeof message, "Protocol error: %s", fault);
    usher__out_error(&c->out, "ERR", message);
    s->figures.protocol++;
    c->closing = true;
    usher__serve_say("client %llu closed: protocol error: %s", (unsigned long long)c->id, fault);
}

/* A browser that was talked into sending something here. */
static bool is_http(const struct resp_command *command)
{
    return command->n == 3 && strncmp(command->word[2], "HTTP/", 5) == 0;
}

/* The next command of @c, of which there are @jobs before it in this round.  False: that was the
 * last one for this round. */
static bool take(struct server *s, struct client *c, bool jobs)
{
    struct resp_command command = { s->word, s->size, 0 };
    char *at = c->in + c->from;
    bool line = *at != '*';
    const char *fault;
    size_t size;

    switch (usher__resp_parse(at, c->end - c->from,
                              c->known ? &s->limits.command : &s->limits.unknown, s->line, &command,
                              &size, &fault)) {
    case RESP_MORE:
        c->need = size;
        return false;
    case RESP_FAULT:
        protocol_error(s, c, fault);
        return false;
    default:
        break;
    }
    c->need = 1;
    c->from += size;
    if (line && is_http(&command)) {
        protocol_error(s, c, "this port speaks the Redis protocol, not HTTP");
        return false;
    }
    if (command.n == 0)
        return true;
    if (usher__serve_is_own(c, &command)) {
        if (jobs)
            own_later(s, c, &command);
        else
            usher__serve_own(s, c, &command);
        return !jobs;
    }
    store_command(s, c, &command);
    return c->steps == NULL;
}

/* Large answers fill a round before it has as many commands as there may be: all of them are in
 * memory at a time. */
static bool is_full(const struct server *s)
{
    return s->n_jobs == SERVE_BATCH || s->answers >= SERVE_ROUND;
}

/* Its answers are written before more of its commands are done. */
static bool has_enough(const struct server *s, const struct client *c)
{
    return usher__out_size(&c->out) + c->answers >= s->limits.out / 2;
}

/* As many as there are, and there is room for. */
static void turn(struct server *s, struct client *c)
{
    size_t begin = s->n_jobs;
    bool more = true;

    c->answers = 0;
    if (c->steps != NULL) {
        go_on(s, c);
        return;
    }
    while (more && !c->closing && !c->waits && c->end - c->from >= c->need && !is_full(s) &&
           !has_enough(s, c))
        more = take(s, c, s->n_jobs > begin);
    c->ready = !c->closing && c->end - c->from >= c->need;
}

/* ---- answers ------------------------------------------------------------------------------ */

static void pack(struct out *o, const struct usher_reply *reply)
{
    size_t size = usher_reply_pack(reply, NULL, 0);

    usher__out_print(o, "$%zu\r\n", size);
    (void)usher_reply_pack(reply, (unsigned char *)usher__out_room(o, size), size);
    o->end += size;
    usher__out_put(o, "\r\n", 2);
}

void usher__serve_answer(struct out *o, bool resp3, bool packed, const struct usher_operation *op,
                         const struct usher_result *result)
{
    enum usher_form form = resp3 ? USHER_FORM_RESP3 : USHER_FORM_RESP2;
    struct usher_reply *reply;
    size_t n;

    reply = usher_reply_of(op, result);
    if (reply == NULL) {
        usher__out_error(o, "NOMEM", usher_status_text(USHER_NOMEM));
        return;
    }
    if (packed) {
        pack(o, reply);
    } else {
        (void)usher__out_room(o, SERVE_ANSWER);
        n = usher_reply_write(reply, form, o->data + o->end, o->room - o->end);
        if (n >= o->room - o->end)
            (void)usher_reply_write(reply, form, usher__out_room(o, n + 1), n + 1);
        o->end += n;
    }
    usher_reply_done(reply);
}

void usher__serve_failure(struct server *s, enum usher_status status, const char *message)
{
    if (status == USHER_UNAVAILABLE && s->gone[0] == '\0' &&
        strstr(message, USHER_STORE_GONE) != NULL)
        (void)snprintf(s->gone, sizeof s->gone, "%s", message);
}

/* False: there is a step to come, and no answer yet. */
static bool store_answer(struct server *s, struct job *j)
{
    struct usher_result *result = &s->results[j->op];
    struct client *c = j->client;
    struct usher_operation *op = &s->ops[j->op];

    usher__serve_failure(s, result->status, result->message);
    if (j->kind == JOB_STEP && !usher__run_steps_end(c->steps, result)) {
        c->ready = true;
        return false;
    }
    usher__figures_count(&s->figures, (uint32_t)op->verb, result->status);
    usher__serve_answer(&c->out, c->resp3, c->packed, op, result);
    usher_result_done(result);
    if (j->kind == JOB_STEP)
        c->steps = usher__cli_resize(c->steps, 0);
    return true;
}

static void finish(struct server *s, struct job *j)
{
    switch (j->kind) {
    case JOB_WRONG:
        usher__figures_count(&s->figures, 0, USHER_INVALID);
        usher__out_error(&j->client->out, "INVALID", j->fault);
        (void)usher__cli_resize(j->fault, 0);
        break;
    case JOB_OWN:
        usher__serve_own(s, j->client, &j->own);
        /* arrays of pointers and of sizes: not what they point to */
        (void)usher__cli_resize((void *)j->own.word, 0);
        (void)usher__cli_resize(j->own.size, 0);
        break;
    default:
        (void)store_answer(s, j);
        break;
    }
    (void)usher__cli_resize(j->block, 0);
}

/* Forgets the commands that were taken. */
static void forget_taken(struct client *c)
{
    if (c->steps != NULL || c->from == 0)
        return;
    memmove(c->in, c->in + c->from, c->end - c->from);
    c->end -= c->from;
    c->from = 0;
    if (c->end == 0 && c->in_room > (size_t)2 * SERVE_READ) { /* that was a large one */
        c->in = usher__cli_resize(c->in, 0);
        c->in_room = 0;
    }
}

void usher__serve_round(struct server *s, int64_t began_us)
{
    s->n_jobs = s->n_ops = s->answers = 0;
    for (size_t i = 0; i < s->n_clients && !is_full(s); i++) {
        struct client *c = s->clients[(s->first + i) % s->n_clients];

        if (c->ready && !c->gone && !c->waits && !usher__serve_is_stuck(s, c))
            turn(s, c);
    }
    s->first++; /* the first client of this round is the last of the next */
    if (s->n_ops > 0) {
        usher__run_batch(s->cli->engine, s->ops, s->results, s->n_ops);
        for (size_t i = 0; i < s->n_ops; i++)
            usher__serve_tend(s, &s->ops[i], &s->results[i]);
        s->figures.rounds++;
    }
    usher__serve_tell(s); /* of a change before its answer */
    for (size_t i = 0; i < s->n_jobs; i++)
        finish(s, &s->jobs[i]);
    if (s->n_ops > 0)
        usher__figures_took(&s->figures, usher__serve_now_us() - began_us, s->n_ops);
    for (size_t i = 0; i < s->n_clients; i++)
        forget_taken(s->clients[i]);
}
