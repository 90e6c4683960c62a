/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lab/heap.h"

#include <stdbool.h>
#include <string.h>

#include "cli/cli.h"

static bool before(const struct heap_entry *a, const struct heap_entry *b)
{
    return a->at_ms != b->at_ms ? a->at_ms < b->at_ms : a->key < b->key;
}

void usher__heap_push(struct heap *h, int64_t at_ms, uint64_t key)
{
    struct heap_entry e = { at_ms, key };
    size_t i = h->n++;

    if (h->n > h->room) {
        h->room = h->room * 2 + 64;
        h->entry = usher__cli_resize(h->entry, h->room * sizeof *h->entry);
    }
    for (; i > 0 && before(&e, &h->entry[(i - 1) / 2]); i = (i - 1) / 2)
        h->entry[i] = h->entry[(i - 1) / 2];
    h->entry[i] = e;
}

struct heap_entry usher__heap_pop(struct heap *h)
{
    struct heap_entry top = h->entry[0], last = h->entry[--h->n];
    size_t i = 0;

    for (;;) {
        size_t child = 2 * i + 1;

        if (child >= h->n)
            break;
        if (child + 1 < h->n && before(&h->entry[child + 1], &h->entry[child]))
            child++;
        if (!before(&h->entry[child], &last))
            break;
        h->entry[i] = h->entry[child];
        i = child;
    }
    h->entry[i] = last;
    return top;
}

void usher__heap_done(struct heap *h)
{
    (void)usher__cli_resize(h->entry, 0);
    memset(h, 0, sizeof *h);
}
