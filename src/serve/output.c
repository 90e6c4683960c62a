/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "serve/output.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

#define ROOM_KEPT 65536 /* of what was large once, no more is kept */

void usher__out_done(struct out *o)
{
    (void)usher__cli_resize(o->data, 0);
    memset(o, 0, sizeof *o);
}

char *usher__out_room(struct out *o, size_t size)
{
    if (o->room - o->end >= size)
        return o->data + o->end;
    if (o->from > 0) {
        memmove(o->data, o->data + o->from, o->end - o->from);
        o->end -= o->from;
        o->from = 0;
    }
    if (o->room - o->end < size) {
        size_t wanted = o->end + size, room = o->room > 0 ? o->room : 1024;

        while (room < wanted)
            room *= 2;
        o->data = usher__cli_resize(o->data, room);
        o->room = room;
    }
    return o->data + o->end;
}

void usher__out_wrote(struct out *o, size_t size)
{
    o->from += size;
    if (o->from < o->end)
        return;
    o->from = o->end = 0;
    if (o->room > ROOM_KEPT)
        usher__out_done(o);
}

void usher__out_put(struct out *o, const char *bytes, size_t size)
{
    if (size == 0)
        return;
    memcpy(usher__out_room(o, size), bytes, size);
    o->end += size;
}

void usher__out_print(struct out *o, const char *format, ...)
{
    char few[512];
    va_list ap, again;
    int n;

    va_start(ap, format);
    va_copy(again, ap);
    n = vsnprintf(few, sizeof few, format, ap);
    if (n >= 0 && (size_t)n < sizeof few) {
        usher__out_put(o, few, (size_t)n);
    } else if (n >= 0) {
        (void)vsnprintf(usher__out_room(o, (size_t)n + 1), (size_t)n + 1, format, again);
        o->end += (size_t)n;
    }
    va_end(again);
    va_end(ap);
}

void usher__out_simple(struct out *o, const char *word)
{
    usher__out_print(o, "+%s\r\n", word);
}

/* One line, whatever @message has in it. */
void usher__out_error(struct out *o, const char *word, const char *message)
{
    usher__out_print(o, "-%s ", word);
    for (; *message != '\0'; message++)
        usher__out_put(o, (unsigned char)*message < ' ' ? " " : message, 1);
    usher__out_put(o, "\r\n", 2);
}

void usher__out_text(struct out *o, const char *text, size_t size)
{
    usher__out_print(o, "$%zu\r\n", size);
    usher__out_put(o, text, size);
    usher__out_put(o, "\r\n", 2);
}

void usher__out_word(struct out *o, const char *word)
{
    usher__out_text(o, word, strlen(word));
}

void usher__out_int(struct out *o, int64_t number)
{
    usher__out_print(o, ":%" PRId64 "\r\n", number);
}

void usher__out_array(struct out *o, size_t n)
{
    usher__out_print(o, "*%zu\r\n", n);
}

void usher__out_map(struct out *o, bool resp3, size_t n)
{
    usher__out_print(o, resp3 ? "%%%zu\r\n" : "*%zu\r\n", resp3 ? n : 2 * n);
}

void usher__out_push(struct out *o, bool resp3, size_t n)
{
    usher__out_print(o, "%c%zu\r\n", resp3 ? '>' : '*', n);
}

void usher__out_null(struct out *o, bool resp3)
{
    usher__out_print(o, resp3 ? "_\r\n" : "$-1\r\n");
}
