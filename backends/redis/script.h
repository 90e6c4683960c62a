/* SPDX-License-Identifier: MIT */
#ifndef USHER_REDIS_SCRIPT_H
#define USHER_REDIS_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>

#include <usher/usher.h>

/* Write the whole script of @noun that the library runs, in the way of usher_lua(). */
enum usher_status usher__redis_script(const char *noun, char *buffer, size_t size,
                                      size_t *ret_length);

/* Likewise for direct calls, with json=1: the text of usher_lua(). */
enum usher_status usher__redis_direct_script(const char *noun, char *buffer, size_t size,
                                             size_t *ret_length);

#define USHER__REDIS_CONSTANT_MAX 1024

/* The constants of a noun that a scan needs for each scope, without quotes.  They are kept (struct
 * usher__redis), because to print the tables takes 1.3 million instructions. */
struct usher__redis_tables {
    enum usher_noun noun; /* 0: unknown */
    char format[24];
    char permanent[USHER__REDIS_CONSTANT_MAX], words[USHER__REDIS_CONSTANT_MAX];
    char defaults[USHER__REDIS_CONSTANT_MAX], listed[USHER__REDIS_CONSTANT_MAX];
};

/* Read the constants.  Return false if one is missing. */
bool usher__redis_tables_of(enum usher_noun noun, struct usher__redis_tables *t);

#endif
