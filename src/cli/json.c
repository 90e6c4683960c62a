/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "cli/json.h"

#include <inttypes.h>
#include <string.h>

#define EXACT_MAX (INT64_C(1) << 53)

/* Table 3-7 of the Unicode standard, as the smallest and largest second byte. */
size_t usher__utf8_length(const char *p, size_t left)
{
    unsigned char c = (unsigned char)p[0];
    unsigned char low = 0x80, high = 0xbf;
    size_t n;

    if (c < 0x80)
        return 1;
    if (c < 0xc2 || c > 0xf4)
        return 0;
    n = c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    if (left < n)
        return 0;
    if (c == 0xe0)
        low = 0xa0;
    else if (c == 0xed)
        high = 0x9f;
    else if (c == 0xf0)
        low = 0x90;
    else if (c == 0xf4)
        high = 0x8f;
    if ((unsigned char)p[1] < low || (unsigned char)p[1] > high)
        return 0;
    for (size_t i = 2; i < n; i++)
        if (((unsigned char)p[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

void usher__json_string(FILE *out, const char *text, size_t size)
{
    putc('"', out);
    for (size_t i = 0; i < size;) {
        unsigned char c = (unsigned char)text[i];
        size_t n = usher__utf8_length(text + i, size - i);

        if (n == 0 || c < 0x20) {
            fprintf(out, "\\u%04x", c);
            n = 1;
        } else if (c == '"' || c == '\\') {
            putc('\\', out);
            putc(c, out);
        } else {
            fwrite(text + i, 1, n, out);
        }
        i += n;
    }
    putc('"', out);
}

void usher__plain_text(FILE *out, const char *text, size_t size)
{
    for (size_t i = 0; i < size;) {
        unsigned char c = (unsigned char)text[i];
        size_t n = usher__utf8_length(text + i, size - i);

        /* U+0080..9F steer terminals, too */
        if (n == 0 || c < 0x20 || c == 0x7f) {
            fprintf(out, "\\x%02x", c);
            n = 1;
        } else if (n == 2 && c == 0xc2 && (unsigned char)text[i + 1] < 0xa0) {
            fprintf(out, "\\xc2\\x%02x", (unsigned char)text[i + 1]);
        } else {
            fwrite(text + i, 1, n, out);
        }
        i += n;
    }
}

void usher__json_key(struct json *j, const char *key)
{
    if (j->comma)
        putc(',', j->out);
    j->comma = true;
    fprintf(j->out, "\"%s\":", key);
}

void usher__json_text(struct json *j, const char *key, const char *text)
{
    usher__json_key(j, key);
    usher__json_string(j->out, text, strlen(text));
}

void usher__json_name(struct json *j, const char *key, const struct usher_text *text)
{
    usher__json_key(j, key);
    if (text->data == NULL || text->size == 0)
        fputs("null", j->out);
    else
        usher__json_string(j->out, text->data, text->size);
}

void usher__json_bool(struct json *j, const char *key, bool value)
{
    usher__json_key(j, key);
    fputs(value ? "true" : "false", j->out);
}

void usher__json_int(struct json *j, const char *key, int64_t value)
{
    bool exact = value >= -EXACT_MAX && value <= EXACT_MAX;

    usher__json_key(j, key);
    fprintf(j->out, exact ? "%" PRId64 : "\"%" PRId64 "\"", value);
}

void usher__json_uint(struct json *j, const char *key, uint64_t value)
{
    usher__json_key(j, key);
    fprintf(j->out, value <= (uint64_t)EXACT_MAX ? "%" PRIu64 : "\"%" PRIu64 "\"", value);
}
