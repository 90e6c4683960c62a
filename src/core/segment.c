/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "segment.h"

enum usher_status usher__segment_carve(struct usher__segment *g, uint64_t n, uint64_t *ret_first)
{
    uint64_t last = g->next + (n - 1) * g->by;

    USHER_ASSERT(n > 0 && g->by > 0 && last >= g->next);
    if (last > g->limit)
        return USHER_FULL;
    if (last >= g->end)
        return USHER_EMPTY;
    *ret_first = g->next;
    g->next = last + g->by;
    return USHER_OK;
}

uint64_t usher__segment_rest(const struct usher__segment *g, uint64_t most)
{
    uint64_t rest;

    USHER_ASSERT(g->by > 0);
    if (g->next > g->limit)
        return 0;
    rest = (g->limit - g->next) / g->by + 1;
    return rest < most ? rest : most;
}

void usher__segment_extend(struct usher__segment *g, uint64_t n, uint64_t step)
{
    /* where the last segment ended, unless ids were skipped since */
    uint64_t from = g->next >= g->end + g->by ? g->next - g->by + 1 : g->end;
    uint64_t need = g->next + (n - 1) * g->by + 1;

    USHER_ASSERT(n > 0 && g->by > 0 && step > 0);
    g->end = from + step * g->by;
    if (g->end < need)
        g->end = need;
}

int64_t usher__segment_step(int64_t step, int64_t lasted, int64_t life, int64_t least, int64_t most)
{
    if (life > 0 && lasted < life)
        step *= 2;
    else if (life > 0 && lasted / 2 >= life)
        step /= 2;
    if (step > most)
        step = most;
    return step < least ? least : step;
}

uint64_t usher__segment_mark(uint64_t size, unsigned share)
{
    /* without the product, which might not fit */
    uint64_t keep = size / 100 * share + size % 100 * share / 100;

    USHER_ASSERT(share <= 100);
    return size - keep;
}
