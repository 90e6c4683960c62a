/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "cli/words.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool blank(char c)
{
    return c == ' ' || c == '\t';
}

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

static const char *add(struct words *w, char *word)
{
    if (w->n == w->room) {
        size_t room = w->room != 0 ? w->room * 2 : 16;
        char **more = realloc(w->word, room * sizeof *more);

        if (more == NULL)
            return "is too long for the memory there is";
        w->word = more;
        w->room = room;
    }
    w->word[w->n++] = word;
    return NULL;
}

/* The escape behind a backslash at @p inside of "…": its byte goes to *@to.  Returns how many
 * bytes it has, 0 if it is none. */
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
        high = end - p >= 3 ? hex(p[1]) : -1;
        low = high >= 0 ? hex(p[2]) : -1;
        if (low < 0)
            return 0;
        *to = (char)(high * 16 + low);
        return 3;
    default:
        return 0;
    }
}

/* One word from *@from to *@to, with its NUL; both move behind it. */
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
                return "has a backslash in quotes that begins no escape";
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

const char *usher__words_split(struct words *w, const char *line, size_t size)
{
    const char *end = line + size;
    const char *fault;
    char *to;

    w->n = 0;
    w->nul = false;
    if (size != 0 && memchr(line, '\0', size) != NULL)
        return "has a NUL byte in it";
    if (size != 0 && end[-1] == '\r') /* from a system with CRLF */
        end--;
    while (line < end && blank(*line))
        line++;
    if (line == end || *line == '#')
        return NULL;
    if (w->size < size + 1) { /* a word and its NUL are no longer than it was with its blank */
        char *bytes = realloc(w->bytes, size + 1);

        if (bytes == NULL)
            return "is too long for the memory there is";
        w->bytes = bytes;
        w->size = size + 1;
    }
    to = w->bytes;
    while (line < end) {
        fault = add(w, to);
        if (fault == NULL)
            fault = take(&line, end, &to);
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

void usher__words_done(struct words *w)
{
    free(w->word);
    free(w->bytes);
    memset(w, 0, sizeof *w);
}
