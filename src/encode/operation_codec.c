/* SPDX-License-Identifier: MIT */
/* Commands and answers as bytes, for stores that execute them in another process: store.h. */
#include "config.h"

#include <usher/store/store.h>

#include <stdio.h>
#include <string.h>

#include "core/pack.h"
#include "core/wide.h"
#include "core/text.h"
#include "core/verbs.h"
#include "change/hooks.h"
#include "change/request_cache.h"

/* ---- commands --------------------------------------------------------------------- */

/* Return the text at @arg, which is one; an argument of another type is shorter. */
static struct usher_text text_of(const struct usher_operation *command,
                                 const struct usher__arg *arg)
{
    struct usher_text text;

    USHER_ASSERT(arg->given == 0);
    memcpy(&text, (const char *)command + arg->offset, sizeof text);
    return text;
}

static bool is_given(const struct usher_operation *command, const struct usher__arg *arg)
{
    return arg->given != 0 ? (command->given & arg->given) != 0
                           : text_of(command, arg).data != NULL;
}

size_t usher_operation_pack(const struct usher_operation *command, int64_t now_ms, uint64_t epoch,
                            bool notices, unsigned char *to, size_t size)
{
    const struct usher__noun *noun = usher__noun((unsigned)command->verb >> 8);
    const struct usher__verb *verb = usher__verb((unsigned)command->verb);
    struct usher__packer p = { NULL, size, 0 };
    uint64_t takes = verb->order | verb->keys;
    unsigned n = 0;

    p.to = to;
    for (unsigned i = 0; i < noun->n_args; i++)
        if ((takes >> i & 1u) != 0 && is_given(command, &noun->args[i]))
            n = i + 1;
    usher__pack_array(&p, n > 0 || command->request.data != NULL ? 6 + n : 5);
    usher__pack_uint(&p, (unsigned)command->verb);
    if ((command->given & USHER_GIVEN_NOW) != 0)
        usher__pack_int(&p, command->now_ms);
    else if (now_ms != 0)
        usher__pack_int(&p, now_ms);
    else
        usher__pack_nil(&p);
    if (command->request.data != NULL)
        usher__pack_text(&p, command->request.data, command->request.size);
    else
        usher__pack_nil(&p);
    if (epoch != 0) {
        char digits[17];

        (void)snprintf(digits, sizeof digits, "%016llx", (unsigned long long)epoch);
        usher__pack_text(&p, digits, 16);
    } else {
        usher__pack_nil(&p);
    }
    usher__pack_uint(&p, notices);
    if (command->request.data != NULL)
        usher__pack_uint(&p, usher__operation_fingerprint(command));
    else if (n > 0)
        usher__pack_nil(&p);
    for (unsigned i = 0; i < n; i++) {
        const struct usher__arg *arg = &noun->args[i];
        const char *at = (const char *)command + arg->offset;
        char digits[USHER__WIDE_TEXT];
        struct usher_text text;
        int64_t number;
        uint64_t token;

        memcpy(&number, at, sizeof number);
        memcpy(&token, at, sizeof token);
        if ((takes >> i & 1u) == 0 || !is_given(command, arg)) {
            usher__pack_nil(&p);
            continue;
        }
        if (arg->given == 0) {
            text = text_of(command, arg);
            usher__pack_text(&p, text.data, text.size);
        } else if (arg->type == USHER__ARG_TOKEN) {
            /* no scope has a larger token, so only those that are exact in Lua are sent as they
             * are */
            usher__pack_uint(&p, token <= USHER_EXACT_MAX ? token : USHER_EXACT_MAX + 1);
        } else if (arg->type == USHER__ARG_WIDE) {
            usher__pack_text(&p, digits, usher__wide_text(number, digits));
        } else {
            usher__pack_int(&p, number);
        }
    }
    return p.n;
}

/* ---- answers ---------------------------------------------------------------------- */

static bool hex_read(const struct usher_text *text, uint64_t *ret)
{
    uint64_t value = 0;

    if (text->size != 16)
        return false;
    for (size_t i = 0; i < 16; i++) {
        char c = text->data[i];
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;

        if (digit < 0)
            return false;
        value = value << 4 | (uint64_t)digit;
    }
    *ret = value;
    return true;
}

/* Read the notices.  @due_ms: the due of the scope after the command; 0: not known. */
static bool notices_read(struct usher_unpacker *u, const struct usher_operation *command,
                         uint64_t epoch, int64_t due_ms, const struct usher_context *context)
{
    struct usher_notice notice;
    size_t n;

    if (!usher_unpack_array(u, &n))
        return false;
    for (size_t i = 0; i < n; i++) {
        struct usher_text digits;

        if (usher_unpack_text(u, &digits)) { /* the epoch of the notices after it */
            if (!hex_read(&digits, &epoch))
                return false;
            continue;
        }
        memset(&notice, 0, sizeof notice);
        if (!usher__notice_unpack(u, &notice))
            return false;
        notice.noun = (enum usher_noun)((unsigned)command->verb >> 8);
        notice.scope = command->scope;
        notice.epoch = epoch;
        notice.due_ms = due_ms;
        if (context->notify != NULL)
            context->notify(context->payload, &notice);
    }
    return true;
}

static bool message_read(struct usher_unpacker *u, struct usher_result *reply)
{
    struct usher_text text;

    if (!usher_unpack_text(u, &text))
        return false;
    (void)snprintf(reply->message, sizeof reply->message, "%.*s",
                   (int)(text.size < sizeof reply->message ? text.size : sizeof reply->message),
                   text.data);
    for (char *c = reply->message; *c != '\0'; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    return true;
}

/* Read a failure.  @n: the number of values, with the status. */
static enum usher_status failure_read(struct usher_unpacker *u, size_t n, enum usher_status status,
                                      const struct usher_operation *command,
                                      struct usher_result *reply,
                                      const struct usher_context *context)
{
    char line[sizeof reply->message];
    struct usher_text digits;
    uint64_t epoch = 0, version = 0;

    if ((n != 2 && n != 4 && n != 5) || (n == 5) != (status == USHER_LOST) ||
        !message_read(u, reply))
        return USHER_INVALID;
    if (n > 2 && (!usher_unpack_text(u, &digits) || !hex_read(&digits, &epoch) ||
                  !notices_read(u, command, epoch, 0, context)))
        return USHER_INVALID;
    if ((n == 5 && !usher_unpack_uint(u, &version)) || u->at != u->end)
        return USHER_INVALID;
    memcpy(line, reply->message, sizeof line);
    usher_result_fail(reply, status, line);
    if (status == USHER_LOST) {
        reply->epoch = epoch;
        reply->version = version;
    }
    return USHER_OK;
}

enum usher_status usher_result_unpack(const struct usher_operation *command, const void *data,
                                      size_t size, struct usher_result *reply,
                                      const struct usher_context *context)
{
    const struct usher__noun *noun = usher__noun((unsigned)command->verb >> 8);
    const struct usher__hooks *hooks = usher__hooks_of(command->verb);
    struct usher_unpacker u = usher__unpacker(data, size);
    struct usher_text epoch;
    int64_t repeated, due, now;
    uint64_t code;
    size_t n;
    bool has_why;
    enum usher_status status;

    if (!usher_unpack_array(&u, &n) || !usher_unpack_uint(&u, &code) || !usher__is_status(code))
        return USHER_INVALID;
    if (code >= USHER_INVALID)
        return failure_read(&u, n, (enum usher_status)code, command, reply, context);
    has_why = n == 9 + usher__fields_count(noun, command->verb);
    if (n != 8 + usher__fields_count(noun, command->verb) + has_why ||
        !usher_unpack_text(&u, &epoch) || !hex_read(&epoch, &reply->epoch) ||
        !usher_unpack_uint(&u, &reply->version) || !usher_unpack_int(&u, &due) || due < -1 ||
        due > USHER_EXACT_MAX || !usher_unpack_int(&u, &now) || now < 0 || now > USHER_EXACT_MAX ||
        !usher_unpack_int(&u, &repeated) || repeated < 0 || repeated > 1)
        return USHER_INVALID;
    reply->status = (enum usher_status)code;
    reply->repeated = repeated == 1;
    reply->due_ms = due >= 0 ? due : USHER_NEVER;
    reply->now_ms = now;
    /* notify before the rest is parsed, because the changes were made in any case */
    if (!notices_read(&u, command, reply->epoch, reply->due_ms, context))
        return USHER_INVALID;
    status = usher__rows_unpack(&u, noun, reply);
    if (status != USHER_OK)
        return status == USHER_NOMEM ? status : USHER_INVALID;
    if (!usher__fields_unpack(&u, noun, command->verb, reply) ||
        (has_why && !message_read(&u, reply)) ||
        (hooks->sound != NULL && !hooks->sound(command, reply)))
        return USHER_INVALID;
    return u.at == u.end ? USHER_OK : USHER_INVALID;
}
