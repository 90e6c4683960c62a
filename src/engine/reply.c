/* SPDX-License-Identifier: MIT */
/*
 * Rows of replies.  One block holds them: a head, the rows, then their texts.  It grows by
 * being copied to a larger one, with the texts' addresses moved along.
 */
#include "config.h"

#include <usher/store.h>

#include <string.h>

#include "core/verbs.h"
#include "engine/memory.h"
#include "engine/reply.h"

struct block {
    size_t rows, room_rows;
    size_t text, room_text;
    struct usher_number_row row[];
};

static char *texts_of(struct block *b, size_t room_rows)
{
    return (char *)(b->row + room_rows);
}

static void move_text(struct usher_text *t, const char *from, const char *to)
{
    if (t->size != 0)
        t->data = to + (t->data - from);
}

static struct block *grow(struct usher_reply *reply, size_t text)
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
    size = sizeof *b + room_rows * sizeof b->row[0] + room_text;
    b = usher__resize(reply->alloc, NULL, 0, size);
    if (b == NULL)
        return NULL;
    b->rows = rows;
    b->room_rows = room_rows;
    b->text = used;
    b->room_text = room_text;
    if (old != NULL) {
        char *from = texts_of(old, old->room_rows), *to = texts_of(b, room_rows);

        memcpy(b->row, old->row, rows * sizeof b->row[0]);
        memcpy(to, from, used);
        for (size_t i = 0; i < rows; i++) {
            move_text(&b->row[i].number, from, to);
            move_text(&b->row[i].group, from, to);
            move_text(&b->row[i].owner, from, to);
        }
        (void)usher__resize(reply->alloc, old, reply->block_size, 0);
    }
    reply->block = b;
    reply->block_size = size;
    reply->of.number.rows = b->row;
    return b;
}

static void put(struct block *b, struct usher_text *to, const struct usher_text *from)
{
    to->data = NULL;
    to->size = from->size;
    if (from->size != 0) {
        to->data = memcpy(texts_of(b, b->room_rows) + b->text, from->data, from->size);
        b->text += from->size;
    }
}

enum usher_status usher_reply_add_row(struct usher_reply *reply, const struct usher_number_row *row)
{
    struct block *b = reply->block;
    size_t text = row->number.size + row->group.size + row->owner.size;
    struct usher_number_row *to;

    if (b == NULL || b->rows == b->room_rows || b->room_text - b->text < text)
        b = grow(reply, text);
    if (b == NULL)
        return USHER_NOMEM;
    to = &b->row[b->rows++];
    *to = *row;
    put(b, &to->number, &row->number);
    put(b, &to->group, &row->group);
    put(b, &to->owner, &row->owner);
    reply->of.number.n_rows = b->rows;
    return USHER_OK;
}

void usher_reply_done(struct usher_reply *reply)
{
    if (reply == NULL || reply->block == NULL)
        return;
    (void)usher__resize(reply->alloc, reply->block, reply->block_size, 0);
    reply->block = NULL;
    reply->block_size = 0;
    reply->of.number.rows = NULL;
    reply->of.number.n_rows = 0;
}

/* All but the texts, which are long and have a size or a NUL. */
void usher__reply_init(struct usher_reply *reply, const struct usher_allocator *alloc)
{
    struct usher_number_reply *n = &reply->of.number;

    memset(reply, 0, offsetof(struct usher_reply, of));
    memset(n, 0, offsetof(struct usher_number_reply, number) + 1);
    n->why = USHER_WHY_GIVEN;
    n->next_ms = -1;
    n->n_rows = 0;
    n->rows = NULL;
    memset(&n->of, 0, sizeof n->of);
    reply->message[0] = '\0';
    reply->block = NULL;
    reply->block_size = 0;
    reply->alloc = alloc;
}

void usher_reply_fail(struct usher_reply *reply, enum usher_status status, const char *message)
{
    usher_reply_done(reply);
    usher__reply_init(reply, reply->alloc);
    reply->status = status;
    usher__copy_line(reply->message, sizeof reply->message, message);
}

bool usher_command_repeatable(const struct usher_command *command)
{
    const struct usher__verb *verb = usher__verb((unsigned)command->verb);

    if (verb == NULL)
        return false;
    return command->request.data != NULL || (verb->flags & USHER__AGAIN) != 0 ||
           ((verb->flags & USHER__IF_OWNER) != 0 && command->arg.number.owner.data != NULL);
}
