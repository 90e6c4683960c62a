/* SPDX-License-Identifier: MIT */
/* The rules of names. */
#ifndef USHER_CORE_TEXT_H
#define USHER_CORE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <usher/usher.h>

/* NULL: @data is a name.  Else what is wrong with it: "is empty", … */
const char *usher__name_fault(const char *data, size_t size);

/* The same for the name of a scope: no braces, for Redis places keys by what is in them. */
const char *usher__scope_fault(const char *data, size_t size);

/* The same for one group: no comma, not "*". */
const char *usher__group_fault(const char *data, size_t size);

/* The same for a list "A,B,*" of groups. */
const char *usher__groups_fault(const char *data, size_t size);

/* 16 hex digits, as an epoch is answered. */
const char *usher__epoch_fault(const char *data, size_t size);

/* Take the next group off @list (at most USHER_NUMBER_GROUPS_MAX); false when there is none. */
bool usher__groups_next(struct usher_text *list, struct usher_text *ret_group);

/* Decimal digits of a number below 2^53, and nothing else. */
bool usher__text_token(const struct usher_text *text, uint64_t *ret);

/* Length of the UTF-8 sequence at @text (controls are fine), 0 if there is none. */
size_t usher__utf8_length(const char *text, size_t left);

bool usher__is_utf8(const char *text, size_t size);

/* The next character of @text as it stands in a string of JSON.  A byte that is not UTF-8 becomes
 * \u00NN, which loses what it was: values are written in another way (struct form, bytes).  Returns
 * how many bytes of @text it was. */
#define USHER__JSON_PIECE 6
size_t usher__json_piece(const char *text, size_t left, char to[USHER__JSON_PIECE],
                         size_t *ret_size);

static inline bool usher__text_equal(const struct usher_text *a, const struct usher_text *b)
{
    return a->size == b->size && (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

/* Copies @from to @at, where *@to is then.  Returns the byte after it. */
static inline char *usher__text_copy(struct usher_text *to, const struct usher_text *from, char *at)
{
    to->data = at;
    to->size = from->size;
    if (from->size != 0)
        memcpy(at, from->data, from->size);
    return at + from->size;
}

/* FNV-1a of @text: the first of several begins with USHER__HASH, each other with the one before. */
#define USHER__HASH UINT32_C(2166136261)
static inline uint32_t usher__text_hash(uint32_t hash, const struct usher_text *text)
{
    for (size_t i = 0; i < text->size; i++)
        hash = (hash ^ (unsigned char)text->data[i]) * UINT32_C(16777619);
    return hash;
}

/* 16 hexadecimal digits of @value; returns their end. */
static inline char *usher__hex_put(char *to, uint64_t value)
{
    for (int shift = 60; shift >= 0; shift -= 4)
        *to++ = "0123456789abcdef"[value >> shift & 15u];
    return to;
}

/* -1: it is none. */
static inline int usher__hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

#endif
