/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "engine/memory.h"

#include <stdlib.h>

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
