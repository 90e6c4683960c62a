/* SPDX-License-Identifier: MIT */
/* Memory through the host's allocator, and lines of text for people. */
#ifndef USHER_ENGINE_MEMORY_H
#define USHER_ENGINE_MEMORY_H

#include <stddef.h>

#include <usher/operation.h>

/* @alloc, or the one that calls malloc when it is NULL. */
const struct usher_allocator *usher__allocator(const struct usher_allocator *alloc);

static inline void *usher__resize(const struct usher_allocator *alloc, void *p, size_t old,
                                  size_t size)
{
    return p == NULL && size == 0 ? NULL : alloc->resize(alloc->payload, p, old, size);
}

/* Copy @from, cut to fit, without control characters.  @to may be NULL. */
void usher__copy_line(char *to, size_t size, const char *from);

#endif
