/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "number_fast.h"

#include <string.h>

bool usher__redis_is_fast(const struct usher_operation *c, const struct usher_context *context)
{
    const struct usher_number_args *a = &c->arg.number;

    /* the time 0 would mean the server's clock here */
    if (c->request.data != NULL || context->notify != NULL ||
        (c->given & USHER_GIVEN_IF_VERSION) != 0 || a->epoch.data != NULL ||
        ((c->given & USHER_GIVEN_NOW) != 0 && c->now_ms == 0))
        return false;
    if (c->verb == USHER_NUMBER_CALL)
        return a->owner.data != NULL && a->number.data == NULL && a->group.data == NULL &&
               a->sticky.data == NULL && a->node.data == NULL;
    return c->verb == USHER_NUMBER_HANGUP && (c->given & USHER_GIVEN_REST) == 0 &&
           ((c->given & USHER_GIVEN_TOKEN) == 0 || a->token >> 56 == 0);
}

static unsigned char *put_int(unsigned char *to, int64_t value)
{
    *to++ = 0xcf;
    for (int i = 7; i >= 0; i--)
        *to++ = (unsigned char)((uint64_t)value >> (8 * i) & 0xff);
    return to;
}

static unsigned char *put(unsigned char *to, const void *data, size_t size)
{
    memcpy(to, data, size);
    return to + size;
}

static unsigned char *put_size(unsigned char *to, size_t size)
{
    *to++ = 0xda;
    *to++ = (unsigned char)(size >> 8);
    *to++ = (unsigned char)(size & 0xff);
    return to;
}

/* Write @before, @name and @after as one text. */
static unsigned char *put_text(unsigned char *to, const char *before, size_t n_before,
                               const struct usher_text *name, const char *after, size_t n_after)
{
    to = put_size(to, n_before + name->size + n_after);
    to = put(to, before, n_before);
    to = put(to, name->data, name->size);
    return put(to, after, n_after);
}

size_t usher__redis_fast(const struct usher_operation *c, const struct usher_context *context,
                         unsigned place, unsigned char to[USHER__REDIS_FAST_MAX], unsigned *values)
{
    const struct usher_number_args *a = &c->arg.number;
    bool call = c->verb == USHER_NUMBER_CALL;
    int64_t now = (c->given & USHER_GIVEN_NOW) != 0 ? c->now_ms : context->now_ms;
    unsigned char *at = to;

    *at++ = 6;
    *at++ = call ? 1 : 2;
    at = now != 0 ? put_int(at, now) : put(at, "\xc0", 1);
    if (call) {
        at = (c->given & USHER_GIVEN_LEASE) != 0 ? put_int(at, a->lease_ms) : put(at, "\xc0", 1);
        at = put_text(at, "", 0, &a->owner, "", 0);
        at = put_text(at, "[1c", 3, &a->owner, "\0", 1);
        at = put_text(at, "(1c", 3, &a->owner, "\0\377", 2);
    } else {
        if ((c->given & USHER_GIVEN_TOKEN) != 0) {
            char held[9] = "12";

            for (int i = 0; i < 7; i++)
                held[2 + i] = (char)(a->token >> (8 * (6 - i)) & 0xff);
            at = put(put_size(at, 7), held + 2, 7);
            at = put_text(at, held, 9, &a->number, "", 0);
        } else {
            at = put(at, "\xc0\xc0", 2);
        }
        at = put_text(at, "", 0, &a->number, "", 0);
        *at++ = (unsigned char)place;
    }
    *values += 7;
    return (size_t)(at - to);
}

size_t usher__redis_fast_field(const struct usher_operation *c,
                               unsigned char to[USHER__REDIS_FAST_MAX])
{
    return (size_t)(put_text(to, "1:", 2, &c->arg.number.number, "", 0) - to);
}

/* ---- answers ---------------------------------------------------------------------- */

static uint64_t bytes_read(const char *from)
{
    uint64_t value = 0;

    for (int i = 0; i < 7; i++)
        value = value << 8 | (unsigned char)from[i];
    return value;
}

static bool epoch_read(const char *from, uint64_t *ret)
{
    uint64_t value = 0;

    for (int i = 0; i < 16; i++) {
        const char *digits = "0123456789abcdef";
        const char *digit = from[i] != '\0' ? strchr(digits, from[i]) : NULL;

        if (digit == NULL)
            return false;
        value = value << 4 | (uint64_t)(digit - digits);
    }
    *ret = value;
    return true;
}

#define DUE_AT (1 + 16 + 7)
#define NOW_AT (DUE_AT + 7)
#define MORE_AT (NOW_AT + 7) /* a call: when it ends; a hangup: its token */
#define NUMBER_AT (MORE_AT + 7)
#define NOTHING_DUE (UINT64_MAX >> 8)

bool usher__redis_fast_answer(const struct usher_operation *c, const char *data, size_t size,
                              struct usher_result *reply)
{
    bool call = c->verb == USHER_NUMBER_CALL;
    struct usher_number_result *n = &reply->of.number;
    struct usher_text number = c->arg.number.number;
    uint64_t epoch, due;

    if (size < NUMBER_AT || (!call && c->verb != USHER_NUMBER_HANGUP) ||
        data[0] != (call ? 1 : 2) || !epoch_read(data + 1, &epoch))
        return false;
    if (call)
        number = (struct usher_text){ data + NUMBER_AT, size - NUMBER_AT };
    else if (size != NUMBER_AT)
        return false;
    if (number.size == 0 || number.size > USHER_NAME_MAX ||
        memchr(number.data, '\0', number.size) != NULL)
        return false;
    due = bytes_read(data + DUE_AT);
    reply->status = USHER_OK;
    reply->repeated = false;
    reply->epoch = epoch;
    reply->version = bytes_read(data + 17);
    reply->due_ms = due != NOTHING_DUE ? (int64_t)due : USHER_NEVER;
    reply->now_ms = (int64_t)bytes_read(data + NOW_AT);
    n->state = call ? USHER_NUMBER_STATE_BUSY_UP : USHER_NUMBER_STATE_IDLE_UP;
    n->why = USHER_NUMBER_WHY_NONE;
    n->token = call ? reply->version : bytes_read(data + MORE_AT);
    n->until_ms = call ? (int64_t)bytes_read(data + MORE_AT) : 0;
    n->next_ms = -1;
    n->count = 0;
    n->more = false;
    n->number_size = number.size;
    memcpy(n->number, number.data, number.size);
    n->number[number.size] = '\0';
    return true;
}
