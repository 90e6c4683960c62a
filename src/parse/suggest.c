/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "parse/suggest.h"

#include <stdbool.h>
#include <string.h>

#define LONGEST 24u

static unsigned least(unsigned a, unsigned b, unsigned c)
{
    a = a < b ? a : b;
    return a < c ? a : c;
}

/* Insertions, deletions, replacements and exchanged neighbours that make @a of @b. */
static unsigned distance(const char *a, size_t n, const char *b, size_t m)
{
    unsigned row[3][LONGEST + 1];
    unsigned *before = row[0], *last = row[1], *this = row[2];

    for (unsigned j = 0; j <= m; j++)
        last[j] = j;
    for (unsigned i = 1; i <= n; i++) {
        unsigned *spare = before;

        this[0] = i;
        for (unsigned j = 1; j <= m; j++) {
            this[j] = least(last[j] + 1, this[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                this[j] = least(this[j], before[j - 2] + 1, this[j]);
        }
        before = last;
        last = this;
        this = spare;
    }
    return last[m];
}

/* Never proposed: a mistyped look must not be answered with a word that erases. */
static bool erases(const char *word)
{
    static const char *const words[] = { "close", "del", "delete", "drop", "void" };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(word, words[i]) == 0)
            return true;
    return false;
}

void usher__closest_try(struct closest *c, const char *candidate)
{
    size_t n = strlen(c->word), m = strlen(candidate);
    unsigned d;

    if (n == 0 || n > LONGEST || m > LONGEST || erases(candidate))
        return;
    d = distance(c->word, n, candidate, m);
    if (d > (m < 4 ? 1u : m < 8 ? 2u : 3u) || (c->best != NULL && d >= c->distance))
        return;
    c->best = candidate;
    c->distance = d;
}
