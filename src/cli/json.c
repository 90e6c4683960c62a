/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "cli/json.h"

#include <inttypes.h>
#include <string.h>

#include "core/text.h"

#define EXACT_MAX (INT64_C(1) << 53)

void usher__json_string(FILE *out, const char *text, size_t size)
{
    char piece[USHER__JSON_PIECE];
    size_t n;

    putc('"', out);
    for (size_t i = 0; i < size; fwrite(piece, 1, n, out))
        i += usher__json_piece(text + i, size - i, piece, &n);
    putc('"', out);
}

void usher__plain_text(FILE *out, const char *text, size_t size)
{
    for (size_t i = 0; i < size;) {
        unsigned char c = (unsigned char)text[i];
        size_t n = usher__utf8_length(text + i, size - i);

        /* U+0080..9F control terminals, too */
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

void usher__json_open(struct json *j, const char *key)
{
    if (key != NULL)
        usher__json_key(j, key);
    else if (j->comma)
        putc(',', j->out);
    putc('{', j->out);
    j->comma = false;
}

void usher__json_close(struct json *j)
{
    putc('}', j->out);
    j->comma = true;
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
