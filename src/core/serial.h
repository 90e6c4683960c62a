/* SPDX-License-Identifier: MIT */
/*
 * Serials as pure functions: printing and reading them, check digits, periods, how far a rule
 * may count, how many are made ahead.
 */
#ifndef USHER_CORE_SERIAL_H
#define USHER_CORE_SERIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <usher/store/operation.h>

#include "pack.h"
#include "wide.h"

/* The limit of a gap-free rule: its numbers are ranks of records. */
#define USHER__GAPFREE_MAX ((INT64_C(1) << 53) - 1)
#define USHER__GAPFREE_BITS 31 /* bits of a number after its period */

/* A counter as decimal digits. */
static inline void usher__pack_wide(struct usher__packer *p, int64_t value)
{
    char text[USHER__WIDE_TEXT];

    usher__pack_text(p, text, usher__wide_text(value, text));
}

/* All that a serial is printed by: kept as one value, usher__serial_pack(). */
struct usher__serial_format {
    struct usher_text prefix, suffix, date;
    int64_t base, step, width, radix, check, overflow, zone_min;
};

#define USHER__SERIAL_FORMAT_MAX 256 /* bytes of a packed one */

void usher__serial_pack(struct usher__packer *p, const struct usher__serial_format *f);
/* The texts point into @data.  False: it is none, or out of range. */
bool usher__serial_unpack(const struct usher_text *data, struct usher__serial_format *ret);

/* NULL, or what is wrong with a date pattern or with a prefix or suffix. */
const char *usher__serial_date_fault(const char *data, size_t size);
const char *usher__serial_affix_fault(const char *data, size_t size);
/* The finest period (enum usher_serial_reset) that a date pattern distinguishes. */
unsigned usher__serial_date_finest(const struct usher_text *date);

/* The period (day, month, year; else 0) of @now_ms in local time. */
int64_t usher__serial_period(int64_t reset, int64_t now_ms, int64_t zone_min);

/* The period of @of in which @period of @reset lies: @of is @reset or a coarser one. */
int64_t usher__serial_period_within(int64_t reset, int64_t period, int64_t of);

/* The largest k that may be printed when it may be @max. */
int64_t usher__serial_limit(const struct usher__serial_format *f, int64_t max, int64_t mode,
                            int64_t reset);

/* A serial in two parts, so that those of one date share the first: prefix and date, of which it
 * returns the size … */
size_t usher__serial_head(const struct usher__serial_format *f, int64_t at_ms,
                          char to[USHER_SERIAL_TEXT_MAX + 1]);
/* … and after @head bytes of that in @to the number k >= 0, check digit and suffix.  Returns the
 * size of the whole, without a NUL: at most USHER_SERIAL_TEXT_MAX, and 0 when its value is beyond
 * 2^63 - 1. */
size_t usher__serial_tail(const struct usher__serial_format *f, size_t head, int64_t k,
                          char to[USHER_SERIAL_TEXT_MAX + 1]);

/* The number in @text, not looking at date and check digit.  False: it is not of this form. */
bool usher__serial_number(const struct usher__serial_format *f, const struct usher_text *text,
                          int64_t *ret_k);

/* Does @text, which is of this form, begin as one printed at @at_ms?  False for no time there is.
 */
bool usher__serial_dated(const struct usher__serial_format *f, const struct usher_text *text,
                         int64_t at_ms);

/* The number, and the period of its date. */
bool usher__serial_place(const struct usher__serial_format *f, const struct usher_text *text,
                         int64_t reset, int64_t *ret_k, int64_t *ret_period);

/* A time at which @text, which is of this form, is printed: @near_ms if it is one.  The parts that
 * its date lacks are as then; if there is no such date, it is one in January, or of an earlier
 * year. False: there is no such time. */
bool usher__serial_time(const struct usher__serial_format *f, const struct usher_text *text,
                        int64_t near_ms, int64_t *ret_ms);

struct usher__serial_parts {
    struct usher_text date; /* in the text */
    int64_t number, value;
    char check; /* '\0': none */
};
/* NULL, or what is wrong with it. */
const char *usher__serial_parse(const struct usher__serial_format *f, const struct usher_text *text,
                                struct usher__serial_parts *ret_parts);

/* The check character of enum usher_serial_check_digit over the digits (and capitals, where the
 * scheme has them) of @text; '\0' for none. */
char usher__check_character(unsigned check, const char *text, size_t size);

/* How many should be in stock: see usher_serial_settings.critical. */
int64_t usher__serial_target(int64_t critical, int64_t recent, int64_t longterm);

/* Use of the last hour in periods of five minutes, two of them in one number. */
#define USHER__USE_MS INT64_C(300000)
#define USHER__USE_PERIODS 12
#define USHER__USE_BITS 26
#define USHER__USE_MAX ((INT64_C(1) << USHER__USE_BITS) - 1)
/* Forget what is older than an hour at @now_ms.  @bucket is the newest period. */
void usher__use_slide(int64_t *bucket, int64_t use[USHER__USE_PERIODS / 2], int64_t now_ms);
void usher__use_add(int64_t bucket, int64_t use[USHER__USE_PERIODS / 2], int64_t n);
/* The sum of the newest @periods. */
int64_t usher__use_sum(int64_t bucket, const int64_t use[USHER__USE_PERIODS / 2], int periods);

#endif
