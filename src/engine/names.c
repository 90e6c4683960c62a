/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "engine/names.h"

#include <stdlib.h>
#include <string.h>

#include "change/memory.h"

enum usher_status usher__names_add(const struct usher_allocator *alloc, struct usher__names *names,
                                   const struct usher_text *name)
{
    if (names->room - names->size < 1 + name->size) {
        size_t room = 2 * names->room + 1 + USHER_NAME_MAX;
        unsigned char *bytes = usher__resize(alloc, names->bytes, names->room, room);

        if (bytes == NULL)
            return USHER_NOMEM;
        names->bytes = bytes;
        names->room = room;
    }
    names->bytes[names->size++] = (unsigned char)name->size;
    memcpy(names->bytes + names->size, name->data, name->size);
    names->size += name->size;
    names->n++;
    return USHER_OK;
}

void usher__names_done(const struct usher_allocator *alloc, const struct usher__names *names)
{
    (void)usher__resize(alloc, names->bytes, names->room, 0);
}

int usher__names_order(const void *a, const void *b)
{
    const unsigned char *x = *(const unsigned char *const *)a,
                        *y = *(const unsigned char *const *)b;
    int order = memcmp(x + 1, y + 1, *x < *y ? *x : *y);

    return order != 0 ? order : (*x > *y) - (*x < *y);
}

void usher__names_list(const struct usher__names *names, const unsigned char **to)
{
    const unsigned char *at = names->bytes;

    for (size_t i = 0; i < names->n; i++, at += 1 + *at)
        to[i] = at;
    /* NOLINTNEXTLINE(bugprone-sizeof-expression) */
    qsort(to, names->n, sizeof *to, usher__names_order);
}
