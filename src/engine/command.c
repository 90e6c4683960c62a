/* SPDX-License-Identifier: MIT */
/* Parse a line of words into a command with values. */
#include "config.h"

#include <usher/command.h>

#include <stdalign.h>
#include <string.h>

#include "core/verbs.h"
#include "engine/engine.h"
#include "parse/parse.h"
#include "parse/words.h"

#define WORDS_MAX 64 /* more than any verb has arguments */
#define COMMON 3     /* REQUEST, NOW, WAIT */

struct room {
    char *at;
    size_t left;
};

/* Return NULL if there is not enough space. */
static void *take(struct room *r, size_t size, size_t align)
{
    size_t skip = (align - (uintptr_t)r->at % align) % align;
    char *at;

    if (r->left < skip || r->left - skip < size)
        return NULL;
    at = r->at + skip;
    r->at = at + size;
    r->left -= skip + size;
    return at;
}

static enum usher_status wrong(const char *message)
{
    usher__message_set("%s", message);
    return USHER_INVALID;
}

static enum usher_status full(void)
{
    usher__message_set("command: room is too small");
    return USHER_FULL;
}

/* Read the 16 hex digits of an epoch. */
static bool epoch_of(const struct usher_text *text, int64_t *ret)
{
    uint64_t epoch = 0;

    for (size_t i = 0; i < text->size; i++) {
        unsigned c = (unsigned char)text->data[i];

        if ((c < '0' || c > '9') && (c < 'a' || c > 'f'))
            return false;
        epoch = epoch << 4 | (c <= '9' ? c - '0' : c - 'a' + 10);
    }
    *ret = (int64_t)epoch;
    return text->size == 16;
}

static void give(struct usher_value *v, uint32_t field, int64_t number,
                 const struct usher_text *text)
{
    v->field = field;
    v->number = number;
    v->text = text != NULL ? text->data : NULL;
    v->size = text != NULL ? (int32_t)text->size : 0;
}

/* Read the value of @arg in @op.  Return false if it has none, or, with *@ret_fault, an invalid
 * one. */
static bool given(const struct usher_operation *op, const struct usher__arg *arg,
                  struct usher_value *ret, const char **ret_fault)
{
    const char *at = (const char *)op + arg->offset;
    struct usher_text text;
    int64_t number;

    if (arg->given != 0) {
        memcpy(&number, at, sizeof number);
        give(ret, arg->code, number, NULL);
        return (op->given & arg->given) != 0;
    }
    memcpy(&text, at, sizeof text);
    if (text.data == NULL)
        return false;
    give(ret, arg->code, 0, &text);
    if (arg->type != USHER__ARG_EPOCH)
        return true;
    if (!epoch_of(&text, &number)) {
        *ret_fault = "epoch is not 16 hex digits";
        return false;
    }
    give(ret, arg->code, number, NULL);
    return true;
}

/* Return the values of @op; NULL without a fault: no space for them. */
static struct usher_value *values_of(const struct usher_operation *op, struct room *room,
                                     size_t *ret_n, const char **ret_fault)
{
    const struct usher__noun *noun = usher__noun((unsigned)op->verb >> 8);
    const struct usher__verb *verb = usher__verb((unsigned)op->verb);
    struct usher_value few[64 + COMMON], *to;
    size_t n = 0;

    for (uint64_t bits = verb->order | verb->keys; bits != 0; bits &= bits - 1)
        n += given(op, &noun->args[__builtin_ctzll(bits)], &few[n], ret_fault);
    if (op->request.data != NULL)
        give(&few[n++], USHER_FIELD_REQUEST, 0, &op->request);
    if ((op->given & USHER_GIVEN_NOW) != 0)
        give(&few[n++], USHER_FIELD_NOW, op->now_ms, NULL);
    if (op->wait != 0)
        give(&few[n++], USHER_FIELD_WAIT, op->wait, NULL);
    to = *ret_fault == NULL ? take(room, n * sizeof *to, alignof(struct usher_value)) : NULL;
    *ret_n = n;
    return to != NULL && n > 0 ? memcpy(to, few, n * sizeof *to) : to;
}

enum usher_status usher_command_parse(const char *line, size_t line_size, void *room, size_t size,
                                      struct usher_command *ret_command)
{
    struct room left = { room, size };
    char message[PARSE_MESSAGE_MAX], *word[WORDS_MAX];
    struct words w = { .word = word, .room = WORDS_MAX };
    struct parse p = { .word = word };
    struct usher_operation op;
    const char *fault = NULL;
    struct usher_value *values;
    unsigned char *fields;
    size_t n;

    if (line == NULL || room == NULL || ret_command == NULL)
        return wrong("command: line, room or ret_command is NULL");
    w.size = line_size < size ? USHER__WORDS_BYTES(line_size) : 0;
    w.bytes = w.size > 0 ? take(&left, w.size, 1) : NULL;
    if (w.bytes == NULL)
        return full();
    fault = usher__words_cut(&w, line, line_size);
    if (fault != NULL || w.n == 0) {
        usher__message_set("line %s", fault != NULL ? fault : "has no command");
        return USHER_INVALID;
    }
    p.n = w.n;
    p.end = w.end;
    if (!usher__parse(&p, &op, message))
        return wrong(message);
    n = usher__parse_fields_size(&p);
    fields = take(&left, n, 1);
    if (fields == NULL)
        return full();
    if (!usher__parse_fields(&p, &op, fields, message))
        return wrong(message);
    values = values_of(&op, &left, &n, &fault);
    if (fault != NULL)
        return wrong(fault);
    if (values == NULL)
        return full();
    ret_command->verb = (uint32_t)op.verb;
    ret_command->scope = op.scope.data;
    ret_command->scope_size = (int32_t)op.scope.size;
    ret_command->values = values;
    ret_command->n = n;
    ret_command->tag = NULL;
    return USHER_OK;
}
