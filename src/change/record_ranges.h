/* SPDX-License-Identifier: MIT */
/* The ranges of the numbers of records with RECORDS_DEF: for the file of a noun that has its
 * record_fault(). */
#define NO_MIN INT64_MIN
#define NO_MAX INT64_MAX

/* Return NULL, or which number of @r is out of its range. */
static inline const char *range_fault(const struct usher_record *r)
{
#define N(kind_name, name, at, type, word, min, max, text)                     \
    if (r->kind == KIND_##kind_name &&                                         \
        !usher__record_n_valid(&r->n[at], USHER__RECORD_##type, (min), (max))) \
        return "has an invalid number: " word;
#define AS(kind_name, name, at, type, word, min, max, text) \
    N(kind_name, name, at, type, word, min, max, text)
#include RECORDS_DEF
    return NULL;
}

#undef NO_MIN
#undef NO_MAX
