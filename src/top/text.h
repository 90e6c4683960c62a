/* SPDX-License-Identifier: MIT */
/*
 * Text for a terminal: cells of a width, figures with their units, small drawings.
 *
 * A line is bytes of UTF-8 or ASCII.  A byte from 1 to INKS changes the ink of what follows: no
 * text of a store contains such a byte, because controls are shown as \xNN.
 */
#ifndef USHER_TOP_TEXT_H
#define USHER_TOP_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "serve/output.h"

enum ink {
    INK_PLAIN = 1,
    INK_BOLD,
    INK_DIM,
    INK_REVERSE, /* the cursor, the head */
    INK_WARNING,
    INK_ALARM,
    INK_BUSY, /* parts of a bar */
    INK_REST,
    INK_DOWN,
    INKS
};

/* The signs, in UTF-8 and in ASCII. */
enum sign {
    SIGN_ALARM,
    SIGN_WARNING,
    SIGN_BUSY,
    SIGN_REST,
    SIGN_CAPPED,
    SIGN_DOWN,
    SIGN_FREE,
    SIGN_NONE,
    SIGN_MORE,
    SIGN_DOT,
    SIGN_CURSOR,
    SIGN_FOREVER,
    SIGN_ARROW,
    SIGN_LINE,
    SIGNS
};

const char *usher__top_sign(enum sign sign, bool ascii);
void usher__top_ink(struct out *to, enum ink ink);
void usher__top_put(struct out *to, const char *text);

/* Return the columns that @text takes. */
size_t usher__top_width(const char *text, bool ascii);
/* Append @text in exactly @width columns: cut with a sign, or filled with blanks. */
void usher__top_cell(struct out *to, const char *text, size_t width, bool right, bool ascii);
/* Append @n blanks. */
void usher__top_blanks(struct out *to, size_t n);

#define TOP_TEXT_MAX 32
/* 7, 1 810, 304k, 1.2M */
const char *usher__top_number(char to[TOP_TEXT_MAX], int64_t number, bool ascii);
/* 0:07, 12:40, 3h05, 2d4h */
const char *usher__top_span(char to[TOP_TEXT_MAX], int64_t ms, bool ascii);
/* 11:00:00 in a @zone of minutes east of UTC */
const char *usher__top_clock(char to[TOP_TEXT_MAX], int64_t ms, int zone);

struct part {
    enum sign sign;
    enum ink ink;
    int64_t n;
};
/* Append [███▒··] in @width columns: parts of @total. */
void usher__top_bar(struct out *to, const struct part *parts, size_t n, int64_t total, size_t width,
                    bool ascii);
/* Append the last minutes of @value in @width columns; less than 0 is not known. */
void usher__top_line(struct out *to, const int32_t *value, size_t n, size_t width, bool ascii);

#endif
