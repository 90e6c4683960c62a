/* SPDX-License-Identifier: MIT */
/* The block with the commands of one call of usher_post(). */
#include "config.h"

#include <limits.h>

#include "change/memory.h"
#include "encode/reply.h"
#include "engine/hear.h"
#include "engine/post_parts.h"

/* More than there are fields.  A command has each field at most once, so the fault of a longer one
 * is among the first. */
#define VALUES_MAX 256

static size_t values_of(const struct usher_command *c)
{
    if (c->values == NULL)
        return 0;
    return c->n < VALUES_MAX ? c->n : VALUES_MAX;
}

/* Return the size of the block for them, or 0 if it exceeds the address space. */
static size_t parcel_size(const struct usher_command *commands, size_t n)
{
    size_t size = sizeof(struct parcel) + n * sizeof(struct posted);
    bool over = false;

    for (size_t i = 0; i < n; i++) {
        const struct usher_command *c = &commands[i];
        size_t n_values = values_of(c);

        over = over || __builtin_add_overflow(size, n_values * sizeof *c->values, &size) ||
               __builtin_add_overflow(size, text_size(c->scope_size, c->scope), &size);
        for (size_t k = 0; k < n_values; k++)
            over = over || __builtin_add_overflow(
                               size, text_size(c->values[k].size, c->values[k].text), &size);
    }
    return over ? 0 : size;
}

/* Copy the text *@text of *@size to *@at.  An invalid one stays invalid. */
static void copy_text(const char **text, int32_t *size, char **at)
{
    size_t n = text_size(*size, *text);

    if (*text == NULL)
        return;
    if (n != 0)
        memcpy(*at, *text, n);
    *text = *at;
    if (*size >= USHER_TO_NUL)
        *size = (int32_t)n;
    *at += n;
}

static void parcel_fill(struct parcel *parcel, const struct usher_command *commands, size_t n,
                        struct usher_reply *replies)
{
    struct posted *posted = (struct posted *)(void *)(parcel + 1);
    struct usher_value *values = (struct usher_value *)(void *)(posted + n);
    char *at;
    size_t n_values = 0;

    for (size_t i = 0; i < n; i++)
        n_values += values_of(&commands[i]);
    at = (char *)(values + n_values);
    for (size_t i = 0; i < n; i++) {
        struct posted *c = &posted[i];

        memset(c, 0, sizeof *c);
        c->of = parcel;
        c->reply = usher__reply_at(replies, i);
        c->node.event.kind = USHER_EVENT_REPLY;
        c->node.event.tag = commands[i].tag;
        c->node.event.reply = c->reply;
        c->command = commands[i];
        copy_text(&c->command.scope, &c->command.scope_size, &at);
        if (c->command.values == NULL)
            continue;
        c->command.n = values_of(&commands[i]);
        c->command.values = values;
        for (size_t k = 0; k < c->command.n; k++, values++) {
            *values = commands[i].values[k];
            copy_text(&values->text, &values->size, &at);
        }
    }
}

struct parcel *usher__parcel_new(const struct usher_allocator *alloc,
                                 const struct usher_command *commands, size_t n)
{
    size_t size = parcel_size(commands, n);
    struct parcel *parcel = size != 0 ? usher__resize(alloc, NULL, 0, size) : NULL;
    struct usher_reply *replies = parcel != NULL ? usher__replies_new(alloc, n) : NULL;

    if (replies == NULL) {
        if (parcel != NULL)
            (void)usher__resize(alloc, parcel, size, 0);
        return NULL;
    }
    parcel->alloc = alloc;
    atomic_init(&parcel->left, n);
    parcel->size = size;
    parcel_fill(parcel, commands, n, replies);
    return parcel;
}

void usher_event_done(const struct usher_event *event)
{
    struct posted *c;
    struct parcel *parcel;

    if (event == NULL)
        return;
    if (event->kind != USHER_EVENT_REPLY) {
        usher__heard_done(event);
        return;
    }
    c = posted_of((struct usher__node *)(uintptr_t)event);
    parcel = c->of;
    usher_reply_done(c->reply);
    if (atomic_fetch_sub_explicit(&parcel->left, 1, memory_order_acq_rel) == 1)
        (void)usher__resize(parcel->alloc, parcel, parcel->size, 0);
}
