/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "wide.h"

#include <string.h>

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
