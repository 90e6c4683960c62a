/* SPDX-License-Identifier: MIT */
/* Bytes that grow, and the server's own answers among them. */
#ifndef USHER_SERVE_OUTPUT_H
#define USHER_SERVE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero it first, usher__out_done() at last. */
struct out {
    char *data;
    size_t room, from, end; /* those from `from` to `end` are to be written */
};

static inline size_t usher__out_size(const struct out *o)
{
    return o->end - o->from;
}

void usher__out_done(struct out *o);
/* At least @size bytes after the end; they count when `end` is moved. */
char *usher__out_room(struct out *o, size_t size);
/* The first @size of them are written. */
void usher__out_wrote(struct out *o, size_t size);
void usher__out_put(struct out *o, const char *bytes, size_t size);
void usher__out_print(struct out *o, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* RESP: "+OK", "-ERR why", a text, a number, and the beginning of an array, a map, a push. */
void usher__out_simple(struct out *o, const char *word);
void usher__out_error(struct out *o, const char *word, const char *message);
void usher__out_text(struct out *o, const char *text, size_t size);
void usher__out_word(struct out *o, const char *word);
void usher__out_int(struct out *o, int64_t number);
void usher__out_array(struct out *o, size_t n);
void usher__out_map(struct out *o, bool resp3, size_t n);
void usher__out_push(struct out *o, bool resp3, size_t n);
void usher__out_null(struct out *o, bool resp3);

#endif
