/* SPDX-License-Identifier: MIT */
/* Commands in the words of `usher serve`, from the tables of verbs: the required arguments in their
 * order, then the others by their keys, then fields after `--`. */
#include "config.h"

#include "cli/remote_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "core/pack.h"
#include "core/verbs.h"

char *usher__bytes_space(struct bytes *b, size_t size)
{
    if (b->from > 0) {
        memmove(b->data, b->data + b->from, b->end - b->from);
        b->end -= b->from;
        b->from = 0;
    }
    if (b->room - b->end < size) {
        b->room = 2 * (b->end + size);
        b->data = usher__cli_resize(b->data, b->room);
    }
    return b->data + b->end;
}

static void put(struct bytes *b, const void *data, size_t size)
{
    char *at = usher__bytes_space(b, size);

    if (size > 0)
        memcpy(at, data, size);
    b->end += size;
}

void usher__bytes_put(struct bytes *b, const char *text)
{
    put(b, text, strlen(text));
}

void usher__bytes_word(struct bytes *b, const char *text, size_t size)
{
    char head[32];

    (void)snprintf(head, sizeof head, "$%zu\r\n", size);
    usher__bytes_put(b, head);
    put(b, text, size);
    put(b, "\r\n", 2);
}

/* The words of a command are counted before they are written. */
struct words_out {
    struct bytes *to; /* NULL: only count */
    size_t n;
};

static void word(struct words_out *w, const char *text, size_t size)
{
    w->n++;
    if (w->to != NULL)
        usher__bytes_word(w->to, text, size);
}

static void word_of(struct words_out *w, const char *text)
{
    word(w, text, strlen(text));
}

/* Write the value of @arg. */
static void value(struct words_out *w, const struct usher_operation *op,
                  const struct usher__arg *arg)
{
    const char *at = (const char *)op + arg->offset;
    struct usher_text text;
    char digits[24];
    uint64_t token;
    int64_t number;

    if (arg->type == USHER__ARG_TOKEN) {
        memcpy(&token, at, sizeof token);
        (void)snprintf(digits, sizeof digits, "%" PRIu64, token);
        word_of(w, digits);
    } else if (arg->given != 0) {
        memcpy(&number, at, sizeof number);
        (void)snprintf(digits, sizeof digits, "%" PRId64, number);
        word_of(w, arg->type == USHER__ARG_WORD ? arg->words[number] : digits);
    } else {
        memcpy(&text, at, sizeof text);
        word(w, text.data, text.size);
    }
}

static bool is_given(const struct usher_operation *op, const struct usher__arg *arg)
{
    struct usher_text text;

    if (arg->given != 0)
        return (op->given & arg->given) != 0;
    memcpy(&text, (const char *)op + arg->offset, sizeof text);
    return text.data != NULL;
}

static void fields(struct words_out *w, const struct usher_operation *op,
                   const struct usher__arg *arg)
{
    struct usher_text packed, name, of_name;
    struct usher_fields f;
    uint64_t version;

    memcpy(&packed, (const char *)op + arg->offset, sizeof packed);
    f = usher__fields(&packed);
    word_of(w, "--");
    while (usher_fields_next(&f, &name, &of_name, &version)) {
        size_t size = name.size + 1 + of_name.size;
        char *both = usher__cli_resize(NULL, size + 1);

        memcpy(both, name.data, name.size);
        both[name.size] = '=';
        if (of_name.size > 0)
            memcpy(both + name.size + 1, of_name.data, of_name.size);
        word(w, both, size);
        (void)usher__cli_resize(both, 0);
    }
}

static void command_words(struct words_out *w, const struct usher_operation *op)
{
    const struct usher__noun *noun = usher__noun((unsigned)op->verb >> 8);
    const struct usher__verb *verb = usher__verb((unsigned)op->verb);
    const struct usher__arg *packed = NULL;
    char digits[24];

    if (noun->whole) {
        size_t first = strcspn(verb->word, " ");

        word(w, verb->word, first);
        if (verb->word[first] != '\0')
            word_of(w, verb->word + first + 1);
    } else {
        word_of(w, noun->word);
        word_of(w, verb->word);
        word(w, op->scope.data, op->scope.size);
    }
    for (unsigned i = 0; i < noun->n_args; i++)
        if ((verb->order >> i & 1u) != 0)
            value(w, op, &noun->args[i]);
    for (unsigned i = 0; i < noun->n_args; i++) {
        const struct usher__arg *arg = &noun->args[i];

        if ((verb->keys >> i & 1u) == 0 || !is_given(op, arg))
            continue;
        if (arg->type == USHER__ARG_FIELDS) {
            packed = arg;
            continue;
        }
        word_of(w, arg->word);
        value(w, op, arg);
    }
    if ((op->given & USHER_GIVEN_NOW) != 0) {
        (void)snprintf(digits, sizeof digits, "%" PRId64, op->now_ms);
        word_of(w, "now");
        word_of(w, digits);
    }
    if (op->request.data != NULL) {
        word_of(w, "req");
        word(w, op->request.data, op->request.size);
    }
    if (op->wait != 0) {
        (void)snprintf(digits, sizeof digits, "%u", (unsigned)op->wait);
        word_of(w, "wait");
        word_of(w, digits);
    }
    if (packed != NULL)
        fields(w, op, packed);
}

void usher__bytes_command(struct bytes *to, const struct usher_operation *op)
{
    struct words_out w = { NULL, 0 };
    char head[32];

    command_words(&w, op);
    (void)snprintf(head, sizeof head, "*%zu\r\n", w.n);
    usher__bytes_put(to, head);
    w.to = to;
    command_words(&w, op);
}
