/* SPDX-License-Identifier: MIT */
/*
 * Rows of replies.  One block holds them: a head, the rows, then their texts.  It grows by
 * being copied to a larger one, with the texts' addresses moved along.
 */
#include "config.h"

#include <usher/store/store.h>

#include <string.h>

#include "core/verbs.h"
#include "change/memory.h"
#include "change/hooks.h"
#include "change/result.h"
#include "change/work.h"

/* The rows follow it, then the texts. */
struct block {
    size_t rows, room_rows;
    size_t text, room_text;
};

static char *rows_of(struct block *b)
{
    return (char *)(b + 1);
}

static char *texts_of(struct block *b, size_t room_rows, size_t row_size)
{
    return rows_of(b) + room_rows * row_size;
}

static struct usher_text *text_at(char *row, const struct usher__field *field)
{
    return (struct usher_text *)(void *)(row + field->offset);
}

static void rows_set(struct usher_result *reply, const struct usher__noun *noun, size_t n,
                     const void *rows)
{
    memcpy((char *)reply + noun->n_rows_at, &n, sizeof n);
    memcpy((char *)reply + noun->rows_at, &rows, sizeof rows);
}

static struct block *grow(struct usher_result *reply, const struct usher__noun *noun, size_t text)
{
    struct block *old = reply->block, *b;
    size_t rows = old != NULL ? old->rows : 0, used = old != NULL ? old->text : 0;
    size_t room_rows = old != NULL ? old->room_rows : 0;
    size_t room_text = old != NULL ? old->room_text : 0;
    size_t size;

    if (rows == room_rows)
        room_rows = room_rows != 0 ? room_rows * 2 : 1;
    if (room_text - used < text)
        room_text = room_text * 2 + text;
    size = sizeof *b + room_rows * noun->row_size + room_text;
    b = usher__resize(reply->alloc, NULL, 0, size);
    if (b == NULL)
        return NULL;
    b->rows = rows;
    b->room_rows = room_rows;
    b->text = used;
    b->room_text = room_text;
    if (old != NULL) {
        char *from = texts_of(old, old->room_rows, noun->row_size);
        char *to = texts_of(b, room_rows, noun->row_size);

        memcpy(rows_of(b), rows_of(old), rows * noun->row_size);
        memcpy(to, from, used);
        for (size_t i = 0; i < rows; i++) {
            for (unsigned k = 0; k < noun->n_row; k++) {
                struct usher_text *t;

                if (noun->row[k].type < USHER__FIELD_TEXT)
                    continue;
                t = text_at(rows_of(b) + i * noun->row_size, &noun->row[k]);
                if (t->size != 0)
                    t->data = to + (t->data - from);
            }
        }
        (void)usher__resize(reply->alloc, old, reply->block_size, 0);
    }
    reply->block = b;
    reply->block_size = size;
    return b;
}

enum usher_status usher_result_add_row(struct usher_result *reply, enum usher_noun code,
                                       const void *row)
{
    const struct usher__noun *noun = usher__noun((unsigned)code);
    struct block *b = reply->block;
    size_t text = 0;
    char *to;

    if (noun == NULL)
        return USHER_INVALID;
    USHER_ASSERT(code == reply->noun);
    USHER_ASSERT(b == NULL || (b->rows <= b->room_rows && b->text <= b->room_text));
    for (unsigned k = 0; k < noun->n_row; k++)
        if (noun->row[k].type >= USHER__FIELD_TEXT)
            text += text_at((char *)(uintptr_t)row, &noun->row[k])->size;
    if (b == NULL || b->rows == b->room_rows || b->room_text - b->text < text)
        b = grow(reply, noun, text);
    if (b == NULL)
        return USHER_NOMEM;
    USHER_ASSERT(b->rows < b->room_rows && b->room_text - b->text >= text);
    to = rows_of(b) + b->rows++ * noun->row_size;
    memcpy(to, row, noun->row_size);
    for (unsigned k = 0; k < noun->n_row; k++) {
        struct usher_text *t;

        if (noun->row[k].type < USHER__FIELD_TEXT)
            continue;
        t = text_at(to, &noun->row[k]);
        if (t->size == 0) {
            t->data = NULL;
            continue;
        }
        t->data = memcpy(texts_of(b, b->room_rows, noun->row_size) + b->text, t->data, t->size);
        b->text += t->size;
    }
    rows_set(reply, noun, b->rows, rows_of(b));
    return USHER_OK;
}

void usher_result_done(struct usher_result *reply)
{
    if (reply == NULL || reply->block == NULL)
        return;
    (void)usher__resize(reply->alloc, reply->block, reply->block_size, 0);
    reply->block = NULL;
    reply->block_size = 0;
    rows_set(reply, usher__noun((unsigned)reply->noun), 0, NULL);
}

void usher__result_init(struct usher_result *reply, enum usher_noun noun,
                        const struct usher_allocator *alloc)
{
    const struct usher__noun *known = usher__noun((unsigned)noun);
    void (*fresh)(struct usher_result *) = usher__hooks((unsigned)noun)->fresh;

    memset(reply, 0, offsetof(struct usher_result, of));
    reply->noun = noun;
    reply->due_ms = USHER_NEVER;
    if (fresh != NULL)
        fresh(reply);
    else
        memset(&reply->of, 0, known != NULL ? known->reply_size : sizeof reply->of);
    reply->message[0] = '\0';
    reply->block = NULL;
    reply->block_size = 0;
    reply->alloc = alloc;
}

void usher_result_fail(struct usher_result *reply, enum usher_status status, const char *message)
{
    usher_result_done(reply);
    usher__result_init(reply, reply->noun, reply->alloc);
    reply->status = status;
    usher__copy_line(reply->message, sizeof reply->message, message);
}

/* Return whether @command, of a noun with the argument, gives an owner. */
static bool has_owner(const struct usher_operation *command)
{
    const struct usher__noun *noun = usher__noun((unsigned)command->verb >> 8);
    struct usher_text text;

    memcpy(&text, (const char *)command + noun->args[noun->arg_at[USHER_FIELD_OWNER] - 1].offset,
           sizeof text);
    return text.data != NULL;
}

unsigned usher_operation_flags(const struct usher_operation *command)
{
    const struct usher__verb *verb = usher__verb((unsigned)command->verb);
    unsigned noun = (unsigned)command->verb >> 8, flags = 0;
    bool kept; /* without a scope there is no cached answer */

    if (verb == NULL)
        return 0;
    if ((verb->flags & USHER__WRITES) != 0)
        flags |= USHER_OPERATION_WRITES;
    if ((verb->flags & USHER__CREATES) != 0)
        flags |= USHER_OPERATION_CREATES;
    if ((verb->flags & USHER__COMMUTES) != 0)
        flags |= USHER_OPERATION_COMMUTES;
    if (usher__steps(noun) == NULL) /* of the store as a whole */
        return flags | ((verb->flags & USHER__AGAIN) != 0 ? USHER_OPERATION_REPEATABLE : 0u);
    kept = command->request.data != NULL && command->verb != usher__steps(noun)->drop_verb;
    /* a repeat would find the version that the first one made */
    if ((command->given & usher__noun(noun)->if_version) != 0 && !kept &&
        (verb->flags & USHER__READS) == 0)
        return flags & ~(unsigned)USHER_OPERATION_COMMUTES;
    if (kept || (verb->flags & USHER__AGAIN) != 0 ||
        ((verb->flags & USHER__IF_OWNER) != 0 && has_owner(command)))
        flags |= USHER_OPERATION_REPEATABLE;
    return flags;
}
