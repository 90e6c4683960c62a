/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "serial.h"

#include <string.h>

#include "number.h"
#include "text.h"

/* ---- check digits ------------------------------------------------------------------ */

/* The dihedral group of ten and its permutation, for Verhoeff's scheme. */
static const uint8_t dihedral[10][10] = {
    { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 }, { 1, 2, 3, 4, 0, 6, 7, 8, 9, 5 },
    { 2, 3, 4, 0, 1, 7, 8, 9, 5, 6 }, { 3, 4, 0, 1, 2, 8, 9, 5, 6, 7 },
    { 4, 0, 1, 2, 3, 9, 5, 6, 7, 8 }, { 5, 9, 8, 7, 6, 0, 4, 3, 2, 1 },
    { 6, 5, 9, 8, 7, 1, 0, 4, 3, 2 }, { 7, 6, 5, 9, 8, 2, 1, 0, 4, 3 },
    { 8, 7, 6, 5, 9, 3, 2, 1, 0, 4 }, { 9, 8, 7, 6, 5, 4, 3, 2, 1, 0 },
};
static const uint8_t permutation[8][10] = {
    { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 }, { 1, 5, 7, 6, 2, 8, 3, 0, 9, 4 },
    { 5, 8, 0, 3, 7, 9, 6, 1, 4, 2 }, { 8, 9, 1, 6, 0, 4, 3, 5, 2, 7 },
    { 9, 4, 5, 3, 1, 2, 6, 8, 7, 0 }, { 4, 2, 8, 6, 5, 7, 3, 9, 0, 1 },
    { 2, 7, 9, 3, 8, 0, 6, 4, 1, 5 }, { 7, 0, 4, 6, 9, 1, 3, 2, 5, 8 },
};
static const uint8_t inverse[10] = { 0, 4, 3, 2, 1, 5, 6, 7, 8, 9 };

/* Damm's quasigroup of order ten. */
static const uint8_t quasigroup[10][10] = {
    { 0, 3, 1, 7, 5, 9, 8, 6, 4, 2 }, { 7, 0, 9, 2, 1, 5, 4, 8, 6, 3 },
    { 4, 2, 0, 6, 8, 7, 1, 3, 5, 9 }, { 1, 7, 5, 0, 9, 8, 3, 4, 2, 6 },
    { 6, 1, 2, 3, 0, 4, 5, 9, 7, 8 }, { 3, 6, 7, 4, 2, 0, 9, 5, 8, 1 },
    { 5, 8, 6, 9, 7, 2, 0, 1, 3, 4 }, { 8, 9, 4, 5, 3, 6, 2, 0, 1, 7 },
    { 9, 4, 3, 8, 6, 1, 7, 2, 0, 5 }, { 2, 5, 8, 1, 4, 3, 6, 7, 9, 0 },
};

static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/* -1: none in @radix. */
static int digit_of(char c, int radix)
{
    int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'Z' ? c - 'A' + 10 : -1;

    return digit < radix ? digit : -1;
}

/* ISO 7064, pure system with radix 2. */
static char iso7064(const char *text, size_t size, int modulus, int radix, const char *alphabet)
{
    int p = 0;

    for (size_t i = 0; i < size; i++) {
        int digit = digit_of(text[i], radix);

        if (digit >= 0)
            p = (p + digit) * 2 % modulus;
    }
    return alphabet[(modulus + 1 - p) % modulus];
}

static char luhn(const char *text, size_t size)
{
    int sum = 0;
    bool twice = true;

    for (size_t i = size; i-- > 0;) {
        int digit = digit_of(text[i], 10);

        if (digit < 0)
            continue;
        sum += twice ? digit * 2 - (digit > 4 ? 9 : 0) : digit;
        twice = !twice;
    }
    return digits[(10 - sum % 10) % 10];
}

static char damm(const char *text, size_t size)
{
    unsigned state = 0;

    for (size_t i = 0; i < size; i++) {
        int digit = digit_of(text[i], 10);

        if (digit >= 0)
            state = quasigroup[state][digit];
    }
    return digits[state];
}

static char verhoeff(const char *text, size_t size)
{
    unsigned state = 0, place = 1;

    for (size_t i = size; i-- > 0;) {
        int digit = digit_of(text[i], 10);

        if (digit >= 0)
            state = dihedral[state][permutation[place++ % 8][digit]];
    }
    return digits[inverse[state]];
}

char usher__check_character(unsigned check, const char *text, size_t size)
{
    switch (check) {
    case USHER_SERIAL_CHECK_LUHN:
        return luhn(text, size);
    case USHER_SERIAL_CHECK_MOD11_2:
        return iso7064(text, size, 11, 10, "0123456789X");
    case USHER_SERIAL_CHECK_MOD37_2:
        return iso7064(text, size, 37, 36, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ*");
    case USHER_SERIAL_CHECK_DAMM:
        return damm(text, size);
    case USHER_SERIAL_CHECK_VERHOEFF:
        return verhoeff(text, size);
    default:
        return '\0';
    }
}

/* ---- dates -------------------------------------------------------------------------- */

#define DAY INT64_C(86400000)

struct date {
    int64_t year;
    int month, day, of_year; /* from 1 */
    int hour, minute, second;
};

/* A date of the proleptic Gregorian calendar from the days since 1970-01-01. */
static void civil(int64_t days, struct date *d)
{
    int64_t z = days + 719468; /* days since 0000-03-01, of eras of 400 years */
    int64_t era = (z >= 0 ? z : z - 146096) / 146097;
    int64_t of_era = z - era * 146097;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100); /* from March on */
    int64_t month = (5 * of_year + 2) / 153;
    bool leap;

    d->day = (int)(of_year - (153 * month + 2) / 5 + 1);
    d->month = (int)(month < 10 ? month + 3 : month - 9);
    d->year = year + era * 400 + (d->month <= 2);
    leap = (d->year % 4 == 0 && d->year % 100 != 0) || d->year % 400 == 0;
    d->of_year = (int)(d->month <= 2 ? of_year - 305 : of_year + 60 + leap);
}

static int64_t local(int64_t at_ms, int64_t zone_min)
{
    int64_t ms = at_ms + zone_min * 60000;

    return ms < USHER_TIME_MAX ? ms : USHER_TIME_MAX; /* years have four digits */
}

static void date_of(int64_t at_ms, int64_t zone_min, struct date *d)
{
    int64_t ms = local(at_ms, zone_min);
    int64_t days = usher__day(ms, 0);
    int64_t second = (ms - days * DAY) / 1000;

    civil(days, d);
    d->hour = (int)(second / 3600);
    d->minute = (int)(second / 60 % 60);
    d->second = (int)(second % 60);
}

int64_t usher__serial_period(int64_t reset, int64_t now_ms, int64_t zone_min)
{
    int64_t days = usher__day(local(now_ms, zone_min), 0);
    struct date d;

    if (reset == USHER_SERIAL_RESET_DAY)
        return days;
    if (reset != USHER_SERIAL_RESET_MONTH && reset != USHER_SERIAL_RESET_YEAR)
        return 0;
    civil(days, &d);
    return reset == USHER_SERIAL_RESET_MONTH ? d.year * 12 + d.month - 1 : d.year;
}

int64_t usher__serial_period_within(int64_t reset, int64_t period, int64_t of)
{
    struct date d;

    if (of == USHER_SERIAL_RESET_NONE)
        return 0;
    if (of == reset)
        return period;
    if (reset == USHER_SERIAL_RESET_MONTH)
        return period / 12;
    civil(period, &d);
    return of == USHER_SERIAL_RESET_MONTH ? d.year * 12 + d.month - 1 : d.year;
}

const char *usher__serial_affix_fault(const char *data, size_t size)
{
    if (size == 0)
        return NULL;
    if (size > USHER_SERIAL_AFFIX_MAX)
        return "has more than 48 bytes";
    return usher__name_fault(data, size);
}

const char *usher__serial_date_fault(const char *data, size_t size)
{
    const char *fault = usher__serial_affix_fault(data, size);

    if (fault != NULL)
        return fault;
    for (size_t i = 0; i < size; i++) {
        if (data[i] != '%')
            continue;
        i++;
        /* NOLINTNEXTLINE(bugprone-not-null-terminated-result) */
        if (i == size || memchr("YymdHMSj%", data[i], 9) == NULL)
            return "has a % that is not %Y, %y, %m, %d, %j, %H, %M, %S or %%";
    }
    return NULL;
}

unsigned usher__serial_date_finest(const struct usher_text *date)
{
    bool year = false, month = false, day = false, of_year = false;

    for (size_t i = 0; i + 1 < date->size; i++) {
        if (date->data[i] != '%')
            continue;
        i++;
        year = year || date->data[i] == 'Y' || date->data[i] == 'y';
        month = month || date->data[i] == 'm';
        day = day || date->data[i] == 'd';
        of_year = of_year || date->data[i] == 'j';
    }
    if (!year)
        return USHER_SERIAL_RESET_NONE;
    return of_year || (month && day) ? USHER_SERIAL_RESET_DAY
           : month                   ? USHER_SERIAL_RESET_MONTH
                                     : USHER_SERIAL_RESET_YEAR;
}

/* The field of a letter after %: the count of its digits, and its value. */
static int field(char letter, const struct date *d, int64_t *ret_value)
{
    switch (letter) {
    case 'Y':
        *ret_value = d->year;
        return 4;
    case 'y':
        *ret_value = d->year % 100;
        return 2;
    case 'm':
        *ret_value = d->month;
        return 2;
    case 'd':
        *ret_value = d->day;
        return 2;
    case 'j':
        *ret_value = d->of_year;
        return 3;
    case 'H':
        *ret_value = d->hour;
        return 2;
    case 'M':
        *ret_value = d->minute;
        return 2;
    case 'S':
        *ret_value = d->second;
        return 2;
    default:
        return 0; /* %% */
    }
}

static size_t date_print(const struct usher_text *pattern, const struct date *d, char *to)
{
    size_t n = 0;

    for (size_t i = 0; i < pattern->size; i++) {
        int64_t value = 0;
        int width;

        if (pattern->data[i] != '%') {
            to[n++] = pattern->data[i];
            continue;
        }
        i++;
        width = field(pattern->data[i], d, &value);
        if (width == 0)
            to[n++] = '%';
        for (int k = width; k-- > 0; value /= 10)
            to[n + (size_t)k] = digits[value % 10];
        n += (size_t)width;
    }
    return n;
}

/* How many bytes a date takes: always the same. */
static size_t date_size(const struct usher_text *pattern)
{
    size_t n = 0;

    for (size_t i = 0; i < pattern->size; i++) {
        struct date d = { 0, 0, 0, 0, 0, 0, 0 };
        int64_t value;
        int width = 1;

        if (pattern->data[i] == '%') {
            i++;
            width = field(pattern->data[i], &d, &value);
        }
        n += width != 0 ? (size_t)width : 1;
    }
    return n;
}

/* Is @text such a date?  Its parts are in *@ret, 0 for the others. */
static bool date_reads(const struct usher_text *pattern, const char *text, struct date *ret)
{
    static const struct {
        char letter;
        int min, max;
    } ranges[] = { { 'm', 1, 12 }, { 'd', 1, 31 }, { 'j', 1, 366 },
                   { 'H', 0, 23 }, { 'M', 0, 59 }, { 'S', 0, 59 } };

    memset(ret, 0, sizeof *ret);
    for (size_t i = 0; i < pattern->size; i++) {
        struct date d = { 0, 0, 0, 0, 0, 0, 0 };
        int64_t value = 0, unused;
        int width;

        if (pattern->data[i] != '%') {
            if (*text++ != pattern->data[i])
                return false;
            continue;
        }
        i++;
        width = field(pattern->data[i], &d, &unused);
        if (width == 0 && *text++ != '%')
            return false;
        for (int k = 0; k < width; k++, text++) {
            int digit = digit_of(*text, 10);

            if (digit < 0)
                return false;
            value = value * 10 + digit;
        }
        for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++)
            if (ranges[r].letter == pattern->data[i] &&
                (value < ranges[r].min || value > ranges[r].max))
                return false;
        switch (pattern->data[i]) {
        case 'Y':
            ret->year = value;
            break;
        case 'y': /* of this century */
            ret->year = 2000 + value;
            break;
        case 'm':
            ret->month = (int)value;
            break;
        case 'd':
            ret->day = (int)value;
            break;
        case 'j':
            ret->of_year = (int)value;
            break;
        case 'H':
            ret->hour = (int)value;
            break;
        case 'M':
            ret->minute = (int)value;
            break;
        case 'S':
            ret->second = (int)value;
            break;
        default:
            break;
        }
    }
    return true;
}

/* Days from 1970-01-01 to that of @year. */
static int64_t days_to_year(int64_t year)
{
    int64_t before = year - 1; /* years that are over, from 1 on */

    return 365 * (year - 1970) + before / 4 - before / 100 + before / 400 - (492 - 19 + 4);
}

/* The period that a date is of. */
static int64_t date_period(int64_t reset, const struct date *d)
{
    int64_t days = days_to_year(d->year);

    if (d->of_year > 0) {
        days += d->of_year - 1;
    } else if (d->month > 0) {
        struct date first;

        for (int month = 1; month < d->month; month++) { /* the last day of each */
            days += 28;
            do
                civil(days, &first);
            while (first.month == month && ++days);
        }
        days += d->day > 0 ? d->day - 1 : 0;
    }
    return usher__serial_period(reset, days * INT64_C(86400000), 0);
}

/* ---- the format --------------------------------------------------------------------- */

void usher__serial_pack(struct usher__packer *p, const struct usher__serial_format *f)
{
    usher__pack_array(p, 10);
    usher__pack_text(p, f->prefix.data, f->prefix.size);
    usher__pack_text(p, f->suffix.data, f->suffix.size);
    usher__pack_text(p, f->date.data, f->date.size);
    usher__pack_wide(p, f->base);
    usher__pack_int(p, f->step);
    usher__pack_int(p, f->width);
    usher__pack_int(p, f->radix);
    usher__pack_int(p, f->check);
    usher__pack_int(p, f->overflow);
    usher__pack_int(p, f->zone_min);
}

static bool unpack_int(struct usher_unpacker *u, int64_t min, int64_t max, int64_t *ret)
{
    return usher_unpack_int(u, ret) && *ret >= min && *ret <= max;
}

static bool unpack_affix(struct usher_unpacker *u, struct usher_text *ret)
{
    return usher_unpack_text(u, ret) && usher__serial_affix_fault(ret->data, ret->size) == NULL;
}

bool usher__serial_unpack(const struct usher_text *data, struct usher__serial_format *ret)
{
    struct usher_unpacker u = usher__unpacker(data->data, data->size);
    struct usher_text base;
    size_t n;

    return usher_unpack_array(&u, &n) && n == 10 && unpack_affix(&u, &ret->prefix) &&
           unpack_affix(&u, &ret->suffix) && unpack_affix(&u, &ret->date) &&
           usher__serial_date_fault(ret->date.data, ret->date.size) == NULL &&
           usher_unpack_text(&u, &base) && usher__wide_read(base.data, base.size, &ret->base) &&
           ret->base >= 0 && unpack_int(&u, 1, USHER_SERIAL_STEP_MAX, &ret->step) &&
           unpack_int(&u, 0, USHER_SERIAL_WIDTH_MAX, &ret->width) &&
           unpack_int(&u, 10, 36, &ret->radix) &&
           unpack_int(&u, 0, USHER_SERIAL_CHECK_VERHOEFF, &ret->check) &&
           unpack_int(&u, USHER_SERIAL_OVERFLOW_REFUSE, USHER_SERIAL_OVERFLOW_WIDEN,
                      &ret->overflow) &&
           unpack_int(&u, -1440, 1440, &ret->zone_min);
}

int64_t usher__serial_limit(const struct usher__serial_format *f, int64_t max, int64_t mode,
                            int64_t reset)
{
    int64_t most = INT64_MAX, limit;

    if (f->width > 0 && f->overflow == USHER_SERIAL_OVERFLOW_REFUSE) {
        int64_t power = 1;

        for (int64_t i = 0; i < f->width && power != INT64_MAX; i++)
            power = power > INT64_MAX / f->radix ? INT64_MAX : power * f->radix;
        most = power == INT64_MAX ? power : power - 1;
    }
    limit = most < f->base ? 0 : (most - f->base) / f->step;
    if (mode == USHER_SERIAL_MODE_GAPFREE) {
        int64_t ranks = reset != USHER_SERIAL_RESET_NONE ? (INT64_C(1) << USHER__GAPFREE_BITS) - 1
                                                         : USHER__GAPFREE_MAX;

        limit = limit < ranks ? limit : ranks;
    }
    return limit < max ? limit : max;
}

size_t usher__serial_head(const struct usher__serial_format *f, int64_t at_ms,
                          char to[USHER_SERIAL_TEXT_MAX + 1])
{
    struct date d;

    if (f->prefix.size != 0)
        memcpy(to, f->prefix.data, f->prefix.size);
    if (f->date.size == 0)
        return f->prefix.size;
    date_of(at_ms, f->zone_min, &d);
    return f->prefix.size + date_print(&f->date, &d, to + f->prefix.size);
}

size_t usher__serial_tail(const struct usher__serial_format *f, size_t head, int64_t k,
                          char to[USHER_SERIAL_TEXT_MAX + 1])
{
    char reversed[64];
    size_t n = head, begin = f->prefix.size, width = 0;
    uint64_t value, radix = (uint64_t)f->radix;

    if (k < 0 || k > (INT64_MAX - f->base) / f->step)
        return 0;
    value = (uint64_t)(f->base + k * f->step);
    if (radix == 10) { /* known to the compiler it is a multiplication */
        do
            reversed[width++] = (char)('0' + value % 10);
        while ((value /= 10) != 0);
    } else {
        do
            reversed[width++] = digits[value % radix];
        while ((value /= radix) != 0);
    }
    while (width < (size_t)f->width)
        reversed[width++] = '0';
    while (width > 0)
        to[n++] = reversed[--width];
    if (f->check != USHER_SERIAL_CHECK_NONE) {
        to[n] = usher__check_character((unsigned)f->check, to + begin, n - begin);
        n++;
    }
    if (f->suffix.size != 0)
        memcpy(to + n, f->suffix.data, f->suffix.size);
    return n + f->suffix.size;
}

/* Find date, number and check digit in @text. */
static bool locate(const struct usher__serial_format *f, const struct usher_text *text,
                   size_t *ret_date, size_t *ret_number, size_t *ret_size)
{
    size_t date = date_size(&f->date), check = f->check != USHER_SERIAL_CHECK_NONE;
    size_t around = f->prefix.size + f->suffix.size + date + check;

    if (text->size <= around ||
        (f->prefix.size != 0 && memcmp(text->data, f->prefix.data, f->prefix.size) != 0) ||
        (f->suffix.size != 0 &&
         memcmp(text->data + text->size - f->suffix.size, f->suffix.data, f->suffix.size) != 0))
        return false;
    *ret_date = f->prefix.size;
    *ret_number = f->prefix.size + date;
    *ret_size = text->size - around;
    return true;
}

static bool value_read(const struct usher__serial_format *f, const char *text, size_t size,
                       int64_t *ret)
{
    int64_t value = 0;

    /* as it is printed: zeroes up to the width, none beyond */
    if (size < (size_t)f->width || (size > (size_t)f->width && size > 1 && text[0] == '0'))
        return false;
    for (size_t i = 0; i < size; i++) {
        int digit = digit_of(text[i], (int)f->radix);

        if (digit < 0 || value > (INT64_MAX - digit) / f->radix)
            return false;
        value = value * f->radix + digit;
    }
    *ret = value;
    return true;
}

bool usher__serial_number(const struct usher__serial_format *f, const struct usher_text *text,
                          int64_t *ret_k)
{
    size_t date, number, size;
    int64_t value;

    if (!locate(f, text, &date, &number, &size) ||
        !value_read(f, text->data + number, size, &value) || value < f->base ||
        (value - f->base) % f->step != 0)
        return false;
    *ret_k = (value - f->base) / f->step;
    return true;
}

bool usher__serial_dated(const struct usher__serial_format *f, const struct usher_text *text,
                         int64_t at_ms)
{
    char head[USHER_SERIAL_TEXT_MAX + 1];
    size_t n;

    if (at_ms < 0 || at_ms > USHER_TIME_MAX) /* of a record that is damaged */
        return false;
    n = usher__serial_head(f, at_ms, head);
    return text->size >= n && memcmp(text->data, head, n) == 0;
}

bool usher__serial_place(const struct usher__serial_format *f, const struct usher_text *text,
                         int64_t reset, int64_t *ret_k, int64_t *ret_period)
{
    size_t date, number, size;
    struct date when;

    if (!usher__serial_number(f, text, ret_k) || !locate(f, text, &date, &number, &size) ||
        !date_reads(&f->date, text->data + date, &when))
        return false;
    *ret_period = reset != USHER_SERIAL_RESET_NONE ? date_period(reset, &when) : 0;
    return true;
}

bool usher__serial_time(const struct usher__serial_format *f, const struct usher_text *text,
                        int64_t near_ms, int64_t *ret_ms)
{
    size_t date, number, size;
    struct date when, near;
    bool any_year;

    *ret_ms = near_ms;
    if (usher__serial_dated(f, text, near_ms))
        return true;
    if (!locate(f, text, &date, &number, &size) || !date_reads(&f->date, text->data + date, &when))
        return false;
    civil(usher__serial_period(USHER_SERIAL_RESET_DAY, near_ms, f->zone_min), &near);
    any_year = when.year == 0;
    if (when.month == 0 && when.of_year == 0) {
        if (any_year && when.day == 0)
            when.day = near.day;
        when.month = any_year && when.day <= 28 ? near.month : 1; /* which has every day */
    }
    for (int years = 0;; years++) { /* to the last leap year */
        if (any_year)
            when.year = near.year - years;
        *ret_ms = date_period(USHER_SERIAL_RESET_DAY, &when) * INT64_C(86400000) +
                  ((when.hour * INT64_C(60) + when.minute - f->zone_min) * 60 + when.second) * 1000;
        if (usher__serial_dated(f, text, *ret_ms))
            return true;
        if (!any_year || years == 8)
            return false;
    }
}

const char *usher__serial_parse(const struct usher__serial_format *f, const struct usher_text *text,
                                struct usher__serial_parts *ret_parts)
{
    size_t date, number, size;
    struct date when;

    if (!locate(f, text, &date, &number, &size))
        return "serial does not match this rule: prefix, suffix or length differ";
    if (!date_reads(&f->date, text->data + date, &when))
        return "serial does not match this rule: its date does not exist";
    if (!value_read(f, text->data + number, size, &ret_parts->value))
        return "serial does not match this rule: its number does not exist";
    if (!usher__serial_number(f, text, &ret_parts->number))
        return "serial does not match this rule: base and step do not produce its number";
    ret_parts->check = '\0';
    if (f->check != USHER_SERIAL_CHECK_NONE) {
        ret_parts->check = text->data[number + size];
        if (ret_parts->check !=
            usher__check_character((unsigned)f->check, text->data + date, number + size - date))
            return "serial has a wrong check digit";
    }
    ret_parts->date.data = text->data + date;
    ret_parts->date.size = number - date;
    return NULL;
}

/* ---- demand ------------------------------------------------------------------------- */

int64_t usher__serial_target(int64_t critical, int64_t recent, int64_t longterm)
{
    int64_t before = longterm - recent;
    int64_t next = recent > before ? recent + (recent - before) : recent;

    return critical + (next > 1 ? next : 1);
}

static int64_t use_get(const int64_t use[USHER__USE_PERIODS / 2], int64_t bucket)
{
    int64_t i = bucket % USHER__USE_PERIODS;

    return i % 2 == 0 ? use[i / 2] & USHER__USE_MAX : use[i / 2] >> USHER__USE_BITS;
}

static void use_set(int64_t use[USHER__USE_PERIODS / 2], int64_t bucket, int64_t n)
{
    int64_t i = bucket % USHER__USE_PERIODS, *at = &use[i / 2];

    if (i % 2 == 0)
        *at = (*at >> USHER__USE_BITS << USHER__USE_BITS) + n;
    else
        *at = (*at & USHER__USE_MAX) + (n << USHER__USE_BITS);
}

void usher__use_slide(int64_t *bucket, int64_t use[USHER__USE_PERIODS / 2], int64_t now_ms)
{
    int64_t now = now_ms / USHER__USE_MS;

    if (now - *bucket >= USHER__USE_PERIODS) {
        memset(use, 0, USHER__USE_PERIODS / 2 * sizeof *use);
        *bucket = now;
    }
    while (*bucket < now)
        use_set(use, ++*bucket, 0);
}

void usher__use_add(int64_t bucket, int64_t use[USHER__USE_PERIODS / 2], int64_t n)
{
    int64_t had = use_get(use, bucket);

    use_set(use, bucket, n < USHER__USE_MAX - had ? had + n : USHER__USE_MAX);
}

int64_t usher__use_sum(int64_t bucket, const int64_t use[USHER__USE_PERIODS / 2], int periods)
{
    int64_t sum = 0;

    for (int64_t i = bucket; i >= 0 && i > bucket - periods; i--)
        sum += use_get(use, i);
    return sum;
}
