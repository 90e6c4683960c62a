/* SPDX-License-Identifier: MIT */
/* Writing of tables as text: into a buffer that may be too small. */
#ifndef USHER_CHANGE_PRINT_H
#define USHER_CHANGE_PRINT_H

#include <stddef.h>

/* A text that may be longer than its buffer; `length` counts all of it. */
struct usher__out {
    char *to;
    size_t size, length;
};

void usher__print(struct usher__out *o, const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 2, 3)))
#endif
    ;

/* Begin a line of Lua, `local NAME`: @before and @word in upper case, with _ for + and -. */
void usher__print_name(struct usher__out *o, const char *before, const char *word);
/* Write one with a number: `local NAME = value`. */
void usher__print_int(struct usher__out *o, const char *before, const char *word, long long value);

#endif
