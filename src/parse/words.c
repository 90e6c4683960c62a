/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "parse/words.h"

#include <string.h>

#include "core/text.h"

static bool blank(char c)
{
    return c == ' ' || c == '\t';
}

/* The escape after a backslash at @p inside of "…": its byte goes to *@to.  Returns its length, 0
 * if it is none. */
static size_t escape(const char *p, const char *end, char *to)
{
    int high, low;

    if (p == end)
        return 0;
    switch (*p) {
    case '"':
    case '\\':
    case '$':
    case '`':
        *to = *p;
        return 1;
    case 'n':
        *to = '\n';
        return 1;
    case 'r':
        *to = '\r';
        return 1;
    case 't':
        *to = '\t';
        return 1;
    case 'x':
        high = end - p >= 3 ? usher__hex_digit(p[1]) : -1;
        low = high >= 0 ? usher__hex_digit(p[2]) : -1;
        if (low < 0)
            return 0;
        *to = (char)(high * 16 + low);
        return 3;
    default:
        return 0;
    }
}

/* One word from *@from to *@to, with its NUL; both move past it. */
static const char *take(const char **from, const char *end, char **to)
{
    const char *p = *from;
    char *out = *to;
    char quote = '\0';

    for (; p < end && (quote != '\0' || !blank(*p)); p++) {
        char c = *p;

        if (quote == '\0' && (c == '\'' || c == '"')) {
            quote = c;
        } else if (c == quote) { /* never both NUL: the line has none */
            quote = '\0';
        } else if (c == '\\' && quote == '"') {
            size_t n = escape(p + 1, end, &c);

            if (n == 0)
                return "has a backslash in quotes that is not an escape";
            p += n;
            *out++ = c;
        } else if (c == '\\' && quote == '\0') {
            if (++p == end)
                return "ends in a backslash";
            *out++ = *p;
        } else {
            *out++ = c;
        }
    }
    if (quote != '\0')
        return quote == '"' ? "has an open \"" : "has an open '";
    *out++ = '\0';
    *from = p;
    *to = out;
    return NULL;
}

size_t usher__words_count(const char *line, size_t size)
{
    size_t n = 0;

    for (size_t i = 0; i < size; i++)
        n += !blank(line[i]) && (i == 0 || blank(line[i - 1]));
    return n;
}

const char *usher__words_cut(struct words *w, const char *line, size_t size)
{
    const char *end = line + size;
    char *to = w->bytes;

    w->n = 0;
    w->nul = false;
    if (size != 0 && memchr(line, '\0', size) != NULL)
        return "contains a NUL byte";
    if (size != 0 && end[-1] == '\r') /* from a system with CRLF */
        end--;
    while (line < end && blank(*line))
        line++;
    if (line == end || *line == '#')
        return NULL;
    while (line < end) {
        const char *fault = "has too many words";

        if (w->n < w->room) {
            w->word[w->n++] = to;
            fault = take(&line, end, &to);
        }
        if (fault != NULL) {
            w->n = 0;
            return fault;
        }
        w->nul = w->nul || w->word[w->n - 1] + strlen(w->word[w->n - 1]) + 1 != to;
        w->end = to;
        while (line < end && blank(*line))
            line++;
    }
    return NULL;
}
