/* SPDX-License-Identifier: MIT */
/*
 * parts -- what the models have in common: arrays that grow, names, what a name may be, and
 * draws.  Written for the tests; nothing of the library is in it.
 */
#ifndef USHER_TESTS_PARTS_H
#define USHER_TESTS_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <usher/usher.h>

#include "model/model.h"

static inline void *grown(void *array, size_t n, size_t size)
{
    void *p = realloc(array, (n + 1) * size);

    if (p == NULL)
        abort();
    memset((char *)p + n * size, 0, size);
    return p;
}

static inline void removed(void *array, size_t *n, size_t size, size_t at)
{
    char *p = array;

    memmove(p + at * size, p + (at + 1) * size, (*n - at - 1) * size);
    --*n;
}

static inline void *copied(const void *array, size_t n, size_t size)
{
    void *p = malloc(n * size + 1);

    if (p == NULL)
        abort();
    if (n > 0)
        memcpy(p, array, n * size);
    return p;
}

/* ---- texts ------------------------------------------------------------------------- */

static inline struct model_text text_of(const char *data, size_t size)
{
    struct model_text t;

    memset(&t, 0, sizeof t);
    if (data != NULL) {
        t.size = size;
        memcpy(t.data, data, size);
    }
    return t;
}

static inline bool is(const struct model_text *t, const char *data, size_t size)
{
    return t->size == size && memcmp(t->data, data, size) == 0;
}

static inline bool same_text(const struct model_text *a, const struct model_text *b)
{
    return is(a, b->data, b->size);
}

/* Byte order; a name before those that begin with it. */
static inline int text_compare(const struct model_text *a, const struct model_text *b)
{
    int c = memcmp(a->data, b->data, a->size < b->size ? a->size : b->size);

    return c != 0 ? c : (a->size > b->size) - (a->size < b->size);
}

static inline struct usher_text text_out(const struct model_text *t)
{
    struct usher_text out = { t->data, t->size };

    return out;
}

/* ---- are the arguments right? ------------------------------------------------------ */

/* Decodes code point by code point, then looks whether it may be and was written short. */
static inline bool is_name(const char *data, size_t size)
{
    size_t i = 0;

    if (size < 1 || size > USHER_NAME_MAX)
        return false;
    while (i < size) {
        unsigned char c = (unsigned char)data[i++];
        unsigned more = c < 0x80    ? 0
                        : c >= 0xf8 ? 9
                        : c >= 0xf0 ? 3
                        : c >= 0xe0 ? 2
                        : c >= 0xc0 ? 1
                                    : 9;
        unsigned long code;

        if (more == 9)
            return false;
        code = more == 0 ? c : c & (0x3fu >> more);
        for (unsigned k = 0; k < more; k++) {
            if (i == size || ((unsigned char)data[i] & 0xc0) != 0x80)
                return false;
            code = code << 6 | ((unsigned char)data[i++] & 0x3fu);
        }
        if ((more == 1 && code < 0x80) || (more == 2 && code < 0x800) ||
            (more == 3 && code < 0x10000))
            return false; /* overlong */
        if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
            return false;
        if (code < 0x20 || (code >= 0x7f && code <= 0x9f))
            return false; /* a control character */
    }
    return true;
}

static inline bool has(const char *data, size_t size, char c)
{
    return memchr(data, c, size) != NULL;
}

static inline bool is_scope(const char *data, size_t size)
{
    return is_name(data, size) && !has(data, size, '{') && !has(data, size, '}');
}

static inline bool is_group(const char *data, size_t size)
{
    return is_name(data, size) && !has(data, size, ',') && !(size == 1 && data[0] == '*');
}

/* The @i-th group of a list, from 0. */
static inline bool group_at(const struct usher_text *list, size_t i, struct usher_text *ret)
{
    const char *p = list->data, *end = list->data + list->size, *comma;

    for (;;) {
        comma = memchr(p, ',', (size_t)(end - p));
        if (i == 0) {
            ret->data = p;
            ret->size = (size_t)((comma != NULL ? comma : end) - p);
            return true;
        }
        if (comma == NULL)
            return false;
        p = comma + 1;
        i--;
    }
}

static inline bool is_groups(const char *data, size_t size)
{
    struct usher_text list = { data, size }, g;
    size_t n = 0;

    if (size < 1 || size > USHER_LIST_TEXT_MAX)
        return false;
    for (; group_at(&list, n, &g); n++)
        if (!is_name(g.data, g.size))
            return false;
    return n <= USHER_NUMBER_GROUPS_MAX;
}

static inline uint32_t mixed(uint32_t x)
{
    x = (x ^ x >> 16) * UINT32_C(0x85ebca6b);
    x = (x ^ x >> 13) * UINT32_C(0xc2b2ae35);
    return x ^ x >> 16;
}

static inline uint32_t draw(uint64_t version)
{
    return mixed((uint32_t)version ^ mixed((uint32_t)(version >> 32) + UINT32_C(0x9e3779b9)));
}

#endif
