/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "top/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <wchar.h>

#include "core/text.h"

#define GLYPH_MAX 12

const char *usher__top_sign(enum sign sign, bool ascii)
{
    static const char *const signs[SIGNS][2] = {
        [SIGN_ALARM] = { "▲", "!" },  [SIGN_WARNING] = { "◆", "*" },
        [SIGN_BUSY] = { "█", "#" },   [SIGN_REST] = { "▒", ":" },
        [SIGN_CAPPED] = { "+", "+" }, [SIGN_DOWN] = { "░", "-" },
        [SIGN_FREE] = { "·", "." },   [SIGN_NONE] = { "–", "-" },
        [SIGN_MORE] = { "…", "~" },   [SIGN_DOT] = { " · ", " . " },
        [SIGN_CURSOR] = { "◂", "<" }, [SIGN_FOREVER] = { "∞", "inf" },
        [SIGN_ARROW] = { "→", "->" }, [SIGN_LINE] = { "─", "-" },
    };

    return signs[sign][ascii];
}

void usher__top_ink(struct out *to, enum ink ink)
{
    char byte = (char)ink;

    usher__out_put(to, &byte, 1);
}

void usher__top_put(struct out *to, const char *text)
{
    usher__out_put(to, text, strlen(text));
}

void usher__top_blanks(struct out *to, size_t n)
{
    for (; n > 0; n--)
        usher__out_put(to, " ", 1);
}

/* ---- characters ---------------------------------------------------------------------------- */

/* Return the code of the @size bytes at @text, which are UTF-8. */
static uint32_t code_of(const char *text, size_t size)
{
    uint32_t code = (unsigned char)*text;

    if (size > 1)
        code &= 0x7fu >> size;
    for (size_t i = 1; i < size; i++)
        code = code << 6 | ((unsigned char)text[i] & 0x3fu);
    return code;
}

/* Return whether the character would change the direction of the text, or is not seen. */
static bool is_hidden(uint32_t code)
{
    return (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2060 && code <= 0x206f) || code == 0xfeff || (code >= 0x80 && code < 0xa0);
}

/* Write the next character of @text as it is shown to @glyph, and its columns to *@ret_width.
 * Return its bytes in @text. */
static size_t next(const char *text, size_t left, bool ascii, char glyph[GLYPH_MAX],
                   size_t *ret_width)
{
    size_t size = usher__utf8_length(text, left);
    uint32_t code = size > 0 ? code_of(text, size) : 0;
    int width;

    if (size == 0 || code < 0x20 || code == 0x7f) {
        *ret_width = (size_t)snprintf(glyph, GLYPH_MAX, "\\x%02x", (unsigned char)*text);
        return size > 0 ? size : 1;
    }
    if (is_hidden(code)) {
        *ret_width = (size_t)snprintf(glyph, GLYPH_MAX, "\\u%04" PRIx32, code);
        return size;
    }
    width = code < 0x80 ? 1 : ascii ? -1 : wcwidth((wchar_t)code);
    if (width < 0) { /* this terminal cannot show it */
        memcpy(glyph, "?", 2);
        *ret_width = 1;
        return size;
    }
    memcpy(glyph, text, size);
    glyph[size] = '\0';
    *ret_width = (size_t)width;
    return size;
}

size_t usher__top_width(const char *text, bool ascii)
{
    size_t all = 0, left = strlen(text), width;
    char glyph[GLYPH_MAX];

    while (left > 0) {
        size_t size = next(text, left, ascii, glyph, &width);

        all += width;
        text += size;
        left -= size;
    }
    return all;
}

void usher__top_cell(struct out *to, const char *text, size_t width, bool right, bool ascii)
{
    size_t all = usher__top_width(text, ascii), left = strlen(text), used = 0, one;
    bool cut = all > width;
    char glyph[GLYPH_MAX];

    if (width == 0)
        return;
    if (right && !cut)
        usher__top_blanks(to, width - all);
    while (left > 0) {
        size_t size = next(text, left, ascii, glyph, &one);

        if (cut && used + one > width - 1)
            break;
        usher__top_put(to, glyph);
        used += one;
        text += size;
        left -= size;
    }
    if (cut) {
        usher__top_put(to, usher__top_sign(SIGN_MORE, ascii));
        used++;
    }
    if (!right || cut)
        usher__top_blanks(to, width - used);
}

/* ---- figures ------------------------------------------------------------------------------- */

const char *usher__top_number(char to[TOP_TEXT_MAX], int64_t number, bool ascii)
{
    double n = (double)number;

    if (number < 1000)
        (void)snprintf(to, TOP_TEXT_MAX, "%" PRId64, number);
    else if (number < 100000)
        (void)snprintf(to, TOP_TEXT_MAX, "%" PRId64 " %03" PRId64, number / 1000, number % 1000);
    else if (number < 1000000)
        (void)snprintf(to, TOP_TEXT_MAX, "%" PRId64 "k", number / 1000);
    else if (number < INT64_C(1000000000))
        (void)snprintf(to, TOP_TEXT_MAX, "%.1fM", n / 1e6);
    else if (number < INT64_C(1000000000000000))
        (void)snprintf(to, TOP_TEXT_MAX, "%.0fG", n / 1e9);
    else
        (void)snprintf(to, TOP_TEXT_MAX, "%s", usher__top_sign(SIGN_FOREVER, ascii));
    return to;
}

const char *usher__top_span(char to[TOP_TEXT_MAX], int64_t ms, bool ascii)
{
    int64_t s = ms > 0 ? ms / 1000 : 0;

    if (s < 3600)
        (void)snprintf(to, TOP_TEXT_MAX, "%" PRId64 ":%02" PRId64, s / 60, s % 60);
    else if (s < 86400)
        (void)snprintf(to, TOP_TEXT_MAX, "%" PRId64 "h%02" PRId64, s / 3600, s / 60 % 60);
    else if (s < 8640000)
        (void)snprintf(to, TOP_TEXT_MAX, "%" PRId64 "d%" PRId64 "h", s / 86400, s / 3600 % 24);
    else
        (void)snprintf(to, TOP_TEXT_MAX, "%s", usher__top_sign(SIGN_FOREVER, ascii));
    return to;
}

const char *usher__top_clock(char to[TOP_TEXT_MAX], int64_t ms, int zone)
{
    int64_t s = (ms / 1000 + (int64_t)zone * 60) % 86400;

    if (s < 0)
        s += 86400;
    (void)snprintf(to, TOP_TEXT_MAX, "%02d:%02d:%02d", (int)(s / 3600), (int)(s / 60 % 60),
                   (int)(s % 60));
    return to;
}

/* ---- drawings ------------------------------------------------------------------------------ */

void usher__top_bar(struct out *to, const struct part *parts, size_t n, int64_t total, size_t width,
                    bool ascii)
{
    size_t left = width - 2;

    usher__out_put(to, "[", 1);
    for (size_t i = 0; i < n && total > 0; i++) {
        double exact = (double)parts[i].n / (double)total * (double)(width - 2);
        size_t size = exact > 0 ? (size_t)(exact + 0.5) : 0;

        if (parts[i].n > 0 && size == 0)
            size = 1;
        size = size < left ? size : left;
        left -= size;
        usher__top_ink(to, parts[i].ink);
        for (; size > 0; size--)
            usher__top_put(to, usher__top_sign(parts[i].sign, ascii));
    }
    usher__top_ink(to, INK_DIM);
    for (; left > 0; left--)
        usher__top_put(to, usher__top_sign(SIGN_FREE, ascii));
    usher__top_ink(to, INK_PLAIN);
    usher__out_put(to, "]", 1);
}

void usher__top_line(struct out *to, const int32_t *value, size_t n, size_t width, bool ascii)
{
    static const char *const heights[2][9] = {
        { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" },
        { " ", ".", ".", "-", "-", "=", "=", "#", "#" },
    };
    size_t each = (n + width - 1) / (width > 0 ? width : 1), used;
    int32_t most = 4;

    each = each > 0 ? each : 1;
    for (size_t i = 0; i < n; i++)
        most = value[i] > most ? value[i] : most;
    used = (n + each - 1) / each;
    usher__top_blanks(to, width - used); /* the last minute is at the right */
    for (size_t i = 0; i < n; i += each) {
        int32_t highest = -1;
        size_t height;

        for (size_t k = i; k < n && k < i + each; k++)
            highest = value[k] > highest ? value[k] : highest;
        height = highest > 0 ? ((size_t)highest * 8 + (size_t)most / 2) / (size_t)most : 0;
        usher__top_put(to, heights[ascii][highest > 0 && height == 0 ? 1 : height]);
    }
}
