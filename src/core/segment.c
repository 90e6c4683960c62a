/* SPDX-License-Identifier: MIT */
#include "segment.h"

#include <string.h>

bool usher__wide_sound(int64_t hi, int64_t lo)
{
    return hi >= 0 && hi < USHER__WIDE_HI_MAX && lo >= 0 && lo < (int64_t)USHER__WIDE_BASE;
}

unsigned usher__wide_text(int64_t value, char to[USHER__WIDE_TEXT])
{
    char digits[USHER__WIDE_TEXT] = "";
    unsigned n = 0, size = 0;

    if (value < 0) {
        memcpy(to, "-1", 3);
        return 2;
    }
    do
        digits[n++] = (char)('0' + value % 10);
    while ((value /= 10) != 0);
    while (n > 0)
        to[size++] = digits[--n];
    to[size] = '\0';
    return size;
}

bool usher__wide_read(const char *text, size_t size, int64_t *ret_value)
{
    uint64_t value = 0;

    if (size == 2 && memcmp(text, "-1", 2) == 0) {
        *ret_value = -1;
        return true;
    }
    if (size == 0 || size > 19 || (size > 1 && text[0] == '0'))
        return false;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        value = value * 10 + (uint64_t)(text[i] - '0'); /* 19 digits fit into 64 bits */
    }
    if (value > (uint64_t)INT64_MAX)
        return false;
    *ret_value = (int64_t)value;
    return true;
}

enum usher_status usher__segment_carve(struct usher__segment *g, uint64_t n, uint64_t *ret_first)
{
    uint64_t last = g->next + (n - 1) * g->by;

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

    return size - keep;
}
