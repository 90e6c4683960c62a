/* SPDX-License-Identifier: MIT */
/*
 * Bytes are the answer of a server to a command: the first two choose the noun and the verb,
 * the third whether somebody watches, the rest is what usher_result_unpack() reads.  What must
 * hold:
 *
 *   status    OK, NOMEM or INVALID
 *   safe      names end with a NUL where their size says; rows and notices point into what was
 *             read or into the reply, with sizes in bounds
 *   whole     of an answer that is understood no cut is
 *   pack      a command made of the same bytes takes as many bytes as it says, and no byte
 *             beyond the room it is given is touched
 */
#include "fuzz/fuzz.h"

#include <usher/store/store.h>

#include "core/verbs.h"
#include "change/memory.h"
#include "change/result.h"

static volatile unsigned char sink;

static void touch(const struct usher_text *text, size_t max)
{
    must_hold(text->size <= max, "safe: size");
    must_hold(text->size == 0 || text->data != NULL, "safe: data");
    for (size_t i = 0; i < text->size; i++)
        sink ^= (unsigned char)text->data[i];
}

static void watcher(void *payload, const struct usher_notice *notice)
{
    (void)payload;
    touch(&notice->scope, USHER_NAME_MAX);
    touch(&notice->subject, USHER_NAME_MAX);
    touch(&notice->owner, USHER_NAME_MAX);
    must_hold(usher_verb_word(notice->verb) != NULL, "safe: verb");
}

static void look_at(const struct usher__noun *noun, const struct usher__field *f, const void *base)
{
    const char *at = (const char *)base + f->offset;
    struct usher_text text;
    size_t size;
    int code;

    switch (f->type) {
    case USHER__FIELD_TEXT:
    case USHER__FIELD_VALUE:
        memcpy(&text, at, sizeof text);
        touch(&text, f->type == USHER__FIELD_TEXT ? USHER_NAME_MAX : USHER_VALUE_MAX);
        break;
    case USHER__FIELD_NAME:
        memcpy(&size, at, sizeof size);
        must_hold(size <= USHER_NAME_MAX && strlen(at + sizeof size) == size, "safe: name");
        break;
    case USHER__FIELD_CODE:
        memcpy(&code, at, sizeof code);
        must_hold(code >= 0 && code <= 255, "safe: code");
        break;
    case USHER__FIELD_BOOL:
        must_hold(*(const unsigned char *)at <= 1, "safe: bool");
        break;
    default:
        break;
    }
    (void)noun;
}

static void look_at_reply(const struct usher__noun *noun, enum usher_verb verb,
                          const struct usher_result *reply)
{
    const char *rows;
    size_t n;

    must_hold(reply->status <= USHER_NOMEM, "safe: status");
    must_hold(memchr(reply->message, '\0', sizeof reply->message) != NULL, "safe: message");
    if (reply->status >= USHER_INVALID)
        return;
    for (unsigned i = 0; i < noun->n_outs; i++)
        look_at(noun, &noun->outs[i], reply);
    for (unsigned i = 0; i < noun->n_extras; i++)
        if (noun->extras[i].verb == (unsigned)verb)
            look_at(noun, &noun->extras[i], reply);
    memcpy(&n, (const char *)reply + noun->n_rows_at, sizeof n);
    memcpy(&rows, (const char *)reply + noun->rows_at, sizeof rows);
    for (size_t i = 0; i < n; i++)
        for (unsigned k = 0; k < noun->n_row; k++)
            look_at(noun, &noun->row[k], rows + i * noun->row_size);
}

/* Exactly these bytes, in memory of their own. */
static enum usher_status unpack(const struct usher_operation *command, const uint8_t *data,
                                size_t size, bool watched)
{
    const struct usher__noun *noun = usher__noun((unsigned)command->verb >> 8);
    struct usher_context context = { 0 };
    struct usher_result reply;
    uint8_t *copy = malloc(size + (size == 0));
    enum usher_status status;

    if (copy == NULL)
        return USHER_INVALID;
    if (size != 0)
        memcpy(copy, data, size);
    if (watched)
        context.notify = watcher;
    usher__result_init(&reply, (enum usher_noun)noun->noun, usher__allocator(NULL));
    status = usher_result_unpack(command, copy, size, &reply, &context);
    must_hold(status == USHER_OK || status == USHER_NOMEM || status == USHER_INVALID, "status");
    free(copy); /* what is in the reply is its own */
    if (status == USHER_OK)
        look_at_reply(noun, command->verb, &reply);
    usher_result_fail(&reply, USHER_UNKNOWN, "done");
    usher_result_done(&reply);
    return status;
}

/* Arguments of @command made of @data: texts are all of it, numbers its first bytes. */
static void pack(const struct usher__noun *noun, struct usher_operation *command,
                 const uint8_t *data, size_t size)
{
    unsigned char *to;
    int64_t number = 0;
    size_t need;

    memcpy(&number, data, size < sizeof number ? size : sizeof number);
    for (unsigned i = 0; i < noun->n_args; i++) {
        const struct usher__arg *arg = &noun->args[i];
        struct usher_text text = { (const char *)data, size };
        char *at = (char *)command + arg->offset;

        if ((data[i % size] & 1u) != 0)
            continue;
        if (arg->given == 0)
            memcpy(at, &text, sizeof text);
        else
            memcpy(at, &number, sizeof number);
        command->given |= arg->given;
    }
    need = usher_operation_pack(command, number, (uint64_t)number, true, NULL, 0);
    to = malloc(need + 1);
    if (to == NULL)
        return;
    to[need] = 0x55;
    must_hold(usher_operation_pack(command, number, (uint64_t)number, true, to, need) == need,
              "pack: it takes what it says");
    must_hold(to[need] == 0x55, "pack: no byte beyond");
    memset(to, 0x55, need);
    must_hold(usher_operation_pack(command, number, (uint64_t)number, true, to, need / 2) == need,
              "pack: it counts on");
    for (size_t i = need / 2; i < need; i++)
        must_hold(to[i] == 0x55, "pack: no byte beyond the half");
    free(to);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct usher__noun *noun;
    struct usher_operation command;
    unsigned n = 0;

    if (size < 4)
        return 0;
    while (usher__noun_at(n) != NULL)
        n++;
    noun = usher__noun_at(data[0] % n);
    memset(&command, 0, sizeof command);
    command.verb = (enum usher_verb)noun->verbs[data[1] % noun->n_verbs].verb;
    command.scope.data = "p";
    command.scope.size = 1;
    if (unpack(&command, data + 3, size - 3, (data[2] & 1u) != 0) == USHER_OK)
        for (size_t cut = 0; cut < size - 3; cut += 1 + size / 64)
            must_hold(unpack(&command, data + 3, cut, false) != USHER_OK, "whole");
    pack(noun, &command, data + 3, size - 3);
    return 0;
}
