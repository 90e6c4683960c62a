/* SPDX-License-Identifier: MIT */
/* Memory through the host's allocator, and lines of text for people. */
#ifndef USHER_CHANGE_MEMORY_H
#define USHER_CHANGE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include <usher/store/operation.h>

/* Return @alloc, or if it is NULL the one that calls malloc(). */
const struct usher_allocator *usher__allocator(const struct usher_allocator *alloc);

static inline void *usher__resize(const struct usher_allocator *alloc, void *p, size_t old,
                                  size_t size)
{
    return p == NULL && size == 0 ? NULL : alloc->resize(alloc->payload, p, old, size);
}

/* Copy @from, a struct of the program that begins with its size, to @to, which has @size bytes in
 * this version.  Members that a shorter one lacks are 0.  False: its size is not set, or it is
 * longer and sets members that this version does not have. */
bool usher__struct_take(void *to, size_t size, const void *from);

/* Copy @from without control characters, truncated to @size.  @to may be NULL. */
void usher__copy_line(char *to, size_t size, const char *from);

#endif
