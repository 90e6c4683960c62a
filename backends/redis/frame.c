/* SPDX-License-Identifier: MIT */
/* The scanner of frames: see frame.h. */
#include "config.h"

#include "frame.h"

#include <string.h>

/* The header line of a $ or * is complete. */
static enum usher__redis_frame frame_value(struct usher__redis_scanner *s);

static enum usher__redis_frame frame_header(struct usher__redis_scanner *s)
{
    if (s->line == 0)
        return FRAME_BAD;
    if (s->minus)
        return s->number == 1 ? frame_value(s) : FRAME_BAD; /* -1: nil */
    if (s->type == '$') {
        s->at = s->number > 0 ? AT_BULK : AT_BULK_CR;
        return FRAME_MORE;
    }
    if (s->number == 0)
        return frame_value(s);
    if (s->number > USHER__REDIS_MAX_ELEMENTS - s->elements || s->depth == USHER__REDIS_MAX_DEPTH)
        return FRAME_BAD;
    s->elements += (size_t)s->number;
    s->left[s->depth++] = (size_t)s->number;
    s->at = AT_TYPE;
    return FRAME_MORE;
}

/* A value is complete, and perhaps the arrays of which it is the last element. */
static enum usher__redis_frame frame_value(struct usher__redis_scanner *s)
{
    s->at = AT_TYPE;
    while (s->depth > 0) {
        if (--s->left[s->depth - 1] > 0)
            return FRAME_MORE;
        s->depth--;
    }
    return FRAME_DONE;
}

/* Scan one byte of a line, except its type byte and its end. */
static bool frame_line(struct usher__redis_scanner *s, char ch)
{
    if (ch == '\n' || ++s->line > USHER__REDIS_MAX_LINE)
        return false;
    if (s->type == '+' || s->type == '-')
        return true;
    if (s->type == ':')
        return s->line <= 20; /* hiredis checks the number strictly */
    if (ch == '-' && s->line == 1) {
        s->minus = true;
        return true;
    }
    if (ch < '0' || ch > '9' || (s->line > (s->minus ? 2u : 1u) && s->number == 0))
        return false;
    s->number = s->number * 10 + (uint64_t)(ch - '0');
    return s->number <= USHER__REDIS_MAX_REPLY;
}

/* Scan up to @n bytes, but not beyond the end of a reply. */
enum usher__redis_frame usher__redis_frame_scan(struct usher__redis_scanner *s, const char *p,
                                                size_t n, size_t *ret_used)
{
    enum usher__redis_frame is = FRAME_MORE;
    size_t i = 0;

    while (is == FRAME_MORE && i < n) {
        size_t step = 1;
        char ch = p[i];

        switch (s->at) {
        case AT_TYPE:
            s->type = ch;
            s->minus = false;
            s->number = 0;
            s->line = 0;
            s->at = AT_LINE;
            if (ch == '\0' || strchr("+-:$*", ch) == NULL)
                is = FRAME_BAD;
            break;
        case AT_LINE:
            if (ch == '\r')
                s->at = AT_LINE_END;
            else if (!frame_line(s, ch))
                is = FRAME_BAD;
            break;
        case AT_LINE_END:
            if (ch != '\n')
                is = FRAME_BAD;
            else if (s->type == '$' || s->type == '*')
                is = frame_header(s);
            else
                is = frame_value(s);
            break;
        case AT_BULK:
            step = s->number < n - i ? (size_t)s->number : n - i;
            s->number -= step;
            if (s->number == 0)
                s->at = AT_BULK_CR;
            break;
        case AT_BULK_CR:
            s->at = AT_BULK_LF;
            if (ch != '\r')
                is = FRAME_BAD;
            break;
        case AT_BULK_LF:
            is = ch == '\n' ? frame_value(s) : FRAME_BAD;
            break;
        }
        if (step > USHER__REDIS_MAX_REPLY - s->bytes)
            is = FRAME_BAD;
        else
            s->bytes += step;
        i += step;
    }
    *ret_used = i;
    return is;
}
