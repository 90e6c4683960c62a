/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "change/memory.h"

#include <stdlib.h>
#include <string.h>

#ifdef USHER_HOSTILE

/* Fill freed and new memory with bytes that no code expects, and move each block that grows or
 * shrinks. */
#define FREED 0xdd
#define FRESH 0xa5

static void fill(void *p, int byte, size_t size)
{
    memset(p, byte, size);
    __asm__ volatile("" : : "r"(p) : "memory"); /* although no code should read it */
}

static void *resize_malloc(void *payload, void *p, size_t old, size_t size)
{
    void *to = size != 0 ? malloc(size) : NULL;

    (void)payload;
    if (size != 0 && to == NULL)
        return NULL;
    if (to != NULL)
        fill(to, FRESH, size);
    if (p != NULL) {
        if (to != NULL)
            memcpy(to, p, old < size ? old : size);
        fill(p, FREED, old);
        free(p);
    }
    return to;
}

#else

static void *resize_malloc(void *payload, void *p, size_t old, size_t size)
{
    (void)payload;
    (void)old;
    if (size == 0) {
        free(p);
        return NULL;
    }
    return realloc(p, size);
}

#endif

static const struct usher_allocator malloc_allocator = { resize_malloc, NULL };

const struct usher_allocator *usher__allocator(const struct usher_allocator *alloc)
{
    return alloc != NULL ? alloc : &malloc_allocator;
}

void usher__copy_line(char *to, size_t size, const char *from)
{
    size_t i = 0;

    if (to == NULL || size == 0)
        return;
    for (; from[i] != '\0' && i + 1 < size; i++)
        to[i] = (unsigned char)from[i] < 0x20 || from[i] == 0x7f ? ' ' : from[i];
    to[i] = '\0';
}

#define STRUCT_MAX 65536 /* maximum size in a later version */

bool usher__struct_take(void *to, size_t size, const void *from)
{
    size_t given;

    memcpy(&given, from, sizeof given);
    if (given < sizeof given || given > STRUCT_MAX)
        return false;
    for (size_t i = size; i < given; i++)
        if (((const char *)from)[i] != 0)
            return false;
    memset(to, 0, size);
    memcpy(to, from, given < size ? given : size);
    return true;
}
