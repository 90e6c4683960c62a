/* SPDX-License-Identifier: MIT */
/* Define the function ROWS: the numbers of RECORDS_DEF, as rows. */
static size_t ROWS(struct row *to)
{
    enum {
#define RECORD(name, code, ...) KIND_##name = (code),
#include RECORDS_DEF
    };
    size_t n = 0;

#define N(kind, name, at, type, word, min, max, text) \
    to[n++] = (struct row){ KIND_##kind, at, USHER__RECORD_##type, word, min, max };
#define AS(kind, name, at, type, word, min, max, text) N(kind, name, at, type, word, min, max, text)
#include RECORDS_DEF
    return n;
}
