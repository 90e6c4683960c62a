/* SPDX-License-Identifier: MIT */
/* The rows of src/core/NOUN_records.def: places of numbers, and their ranges in record_fault(). */
#include "lib/test.h"

#include "change/work.h"
#include "core/serial.h"

#define NO_MIN INT64_MIN
#define NO_MAX INT64_MAX
#define ROWS_MAX 64

struct row {
    uint8_t kind;
    unsigned at;
    enum usher__record_type type;
    const char *word;
    int64_t min, max;
};

#define RECORDS_DEF "core/number_records.def"
#define ROWS number_rows
#include "record_rows.h"
#undef RECORDS_DEF
#undef ROWS

#define RECORDS_DEF "core/queue_records.def"
#define ROWS queue_rows
#include "record_rows.h"
#undef RECORDS_DEF
#undef ROWS

#define RECORDS_DEF "core/room_records.def"
#define ROWS room_rows
#include "record_rows.h"
#undef RECORDS_DEF
#undef ROWS

#define RECORDS_DEF "core/rooms_records.def"
#define ROWS rooms_rows
#include "record_rows.h"
#undef RECORDS_DEF
#undef ROWS

#define RECORDS_DEF "core/serial_records.def"
#define ROWS serial_rows
#include "record_rows.h"
#undef RECORDS_DEF
#undef ROWS

static const struct {
    enum usher_noun noun;
    size_t (*rows)(struct row *to);
} nouns[] = {
    { USHER_NUMBER, number_rows }, { USHER_QUEUE, queue_rows },   { USHER_ROOM, room_rows },
    { USHER_ROOMS, rooms_rows },   { USHER_SERIAL, serial_rows },
};

static unsigned width(const struct row *row)
{
    return row->type == USHER__RECORD_WIDE ? 2 : 1;
}

/* Set the number of @row: a pair has its low part after it. */
static void set(struct usher_record *r, const struct row *row, int64_t value)
{
    if (row->type == USHER__RECORD_WIDE)
        usher__wide_set(&r->n[row->at], (uint64_t)value);
    else
        r->n[row->at] = value;
}

static int64_t least(const struct row *row)
{
    return row->min != NO_MIN ? row->min : 0;
}

/* Return whether the fault of @r is the range of @row. */
static bool is_out(enum usher_noun noun, const struct usher_record *r, const struct row *row)
{
    const char *fault = usher__steps(noun)->record_fault(NULL, r);
    char want[80];

    (void)snprintf(want, sizeof want, "has an invalid number: %s", row->word);
    return fault != NULL && strcmp(fault, want) == 0;
}

TEST(no_two_numbers_of_a_record_kind_share_an_index)
{
    for (size_t i = 0; i < sizeof nouns / sizeof *nouns; i++) {
        struct row rows[ROWS_MAX];
        size_t n = nouns[i].rows(rows);
        unsigned taken[USHER_KINDS] = { 0 };

        assert_in_range(n, 1, ROWS_MAX);
        for (size_t k = 0; k < n; k++)
            for (unsigned at = rows[k].at; at < rows[k].at + width(&rows[k]); at++) {
                assert_in_range(at, 0, 7);
                assert_int_equal(taken[rows[k].kind] >> at & 1u, 0);
                taken[rows[k].kind] |= 1u << at;
            }
    }
}

static void check_range(enum usher_noun noun, const struct row *rows, size_t n,
                        const struct row *row)
{
    struct usher_record r;

    memset(&r, 0, sizeof r);
    r.kind = row->kind;
    for (size_t k = 0; k < n; k++)
        if (rows[k].kind == row->kind)
            set(&r, &rows[k], least(&rows[k]));
    assert_false(is_out(noun, &r, row));
    if (row->type == USHER__RECORD_WIDE) {
        r.n[row->at + 1] = (int64_t)USHER__WIDE_BASE;
        assert_true(is_out(noun, &r, row));
        r.n[row->at + 1] = -1;
        assert_true(is_out(noun, &r, row));
        set(&r, row, least(row));
        r.n[row->at] = -1;
        assert_true(is_out(noun, &r, row));
    } else if (row->min != NO_MIN) {
        set(&r, row, row->min - 1);
        assert_true(is_out(noun, &r, row));
    }
    if (row->max != NO_MAX) {
        set(&r, row, row->max);
        assert_false(is_out(noun, &r, row));
        set(&r, row, row->max + 1);
        assert_true(is_out(noun, &r, row));
    }
}

TEST(a_number_out_of_its_range_is_a_fault)
{
    for (size_t i = 0; i < sizeof nouns / sizeof *nouns; i++) {
        struct row rows[ROWS_MAX];
        size_t n = nouns[i].rows(rows);

        for (size_t k = 0; k < n; k++)
            if (strcmp(rows[k].word, "before") != 0) /* of a notice: usher__log_fault() */
                check_range(nouns[i].noun, rows, n, &rows[k]);
    }
}
