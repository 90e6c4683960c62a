/* SPDX-License-Identifier: MIT */
/* The forms of answers and notices: see forms.h. */
#include "config.h"

#include "encode/forms.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"

static void put(struct usher__writer *w, const char *data, size_t size)
{
    usher__pack_raw(&w->to, data, size);
}

static void put_word(struct usher__writer *w, const char *text)
{
    put(w, text, strlen(text));
}

/* ---- as JSON ------------------------------------------------------------------------------- */

#define EXACT_MAX (UINT64_C(1) << 53) /* readers use doubles: larger numbers are strings */

static void json_begin(struct usher__writer *w, bool map)
{
    put_word(w, map ? "{" : "[");
}

static void json_end(struct usher__writer *w, bool map)
{
    put_word(w, map ? "}" : "]");
}

static void json_text(struct usher__writer *w, const char *text, size_t size)
{
    char piece[USHER__JSON_PIECE];
    size_t n;

    put(w, "\"", 1);
    for (size_t i = 0; i < size; put(w, piece, n))
        i += usher__json_piece(text + i, size - i, piece, &n);
    put(w, "\"", 1);
}

/* Write {"b64":"…"} if it is not UTF-8: a string would be read as another value. */
static void json_bytes(struct usher__writer *w, const char *data, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    if (usher__is_utf8(data, size)) {
        json_text(w, data, size);
        return;
    }
    put_word(w, "{\"b64\":\"");
    for (size_t i = 0; i < size; i += 3) {
        size_t n = size - i < 3 ? size - i : 3;
        char four[4] = { '=', '=', '=', '=' };
        unsigned bits = 0;

        for (size_t k = 0; k < 3; k++)
            bits = bits << 8 | (k < n ? (unsigned char)data[i + k] : 0u);
        for (size_t k = 0; k <= n; k++)
            four[k] = digits[bits >> (18 - 6 * k) & 63u];
        put(w, four, sizeof four);
    }
    put_word(w, "\"}");
}

static void json_element(struct usher__writer *w)
{
    if (w->level[w->depth].n > 1)
        put(w, ",", 1);
}

static void json_key(struct usher__writer *w, const char *text, size_t size)
{
    json_element(w);
    json_text(w, text, size);
    put(w, ":", 1);
}

static void json_number(struct usher__writer *w, uint64_t size, bool minus)
{
    const char *quote = size > EXACT_MAX ? "\"" : "";
    char digits[24];

    (void)snprintf(digits, sizeof digits, "%s%s%" PRIu64 "%s", quote, minus ? "-" : "", size,
                   quote);
    put_word(w, digits);
}

static void json_token(struct usher__writer *w, uint64_t token)
{
    char digits[24];

    (void)snprintf(digits, sizeof digits, "\"%" PRIu64 "\"", token);
    put_word(w, digits);
}

static void json_share(struct usher__writer *w, int64_t parts)
{
    char digits[40];

    (void)snprintf(digits, sizeof digits, "%" PRId64 ".%04" PRId64, parts / 10000, parts % 10000);
    put_word(w, digits);
}

static void json_constant(struct usher__writer *w, enum usher__constant which)
{
    put_word(w, which == NIL_VALUE ? "null" : which == TRUE_VALUE ? "true" : "false");
}

static const struct usher__form json = {
    json_begin,  json_end,   json_key,   json_element,  json_text, json_bytes,
    json_number, json_token, json_share, json_constant, NULL,
};

/* ---- as MessagePack ------------------------------------------------------------------------ */

static void packed_begin(struct usher__writer *w, bool map)
{
    (void)w;
    (void)map;
}

/* Insert the count in front of the elements. */
static void packed_end(struct usher__writer *w, bool map)
{
    unsigned char head[5];
    struct usher__packer p = { head, sizeof head, 0 };

    if (map)
        usher__pack_map(&p, w->level[w->depth].n);
    else
        usher__pack_array(&p, w->level[w->depth].n);
    usher__pack_insert(&w->to, w->level[w->depth].at, head, p.n);
}

static void packed_text(struct usher__writer *w, const char *text, size_t size)
{
    usher__pack_text(&w->to, text, size);
}

static void packed_element(struct usher__writer *w)
{
    (void)w;
}

static void packed_bytes(struct usher__writer *w, const char *data, size_t size)
{
    usher__pack_bytes(&w->to, data, size);
}

static void packed_number(struct usher__writer *w, uint64_t size, bool minus)
{
    if (minus)
        usher__pack_int(&w->to, -(int64_t)(size - 1) - 1);
    else
        usher__pack_uint(&w->to, size);
}

static void packed_token(struct usher__writer *w, uint64_t token)
{
    usher__pack_uint(&w->to, token);
}

static void packed_share(struct usher__writer *w, int64_t parts)
{
    usher__pack_double(&w->to, (double)parts / 10000);
}

static void packed_constant(struct usher__writer *w, enum usher__constant which)
{
    if (which == NIL_VALUE)
        usher__pack_nil(&w->to);
    else
        usher__pack_bool(&w->to, which == TRUE_VALUE);
}

static const struct usher__form packed_form = {
    packed_begin,  packed_end,   packed_text,  packed_element,  packed_text, packed_bytes,
    packed_number, packed_token, packed_share, packed_constant, NULL,
};

/* ---- as RESP ------------------------------------------------------------------------------- */

/* Write the line that begins a value: "$5", ":7". */
static size_t resp_line(char to[24], char sign, uint64_t size, bool minus)
{
    char digits[24], *at = digits + sizeof digits;
    size_t n;

    *--at = '\n';
    *--at = '\r';
    do
        *--at = (char)('0' + size % 10);
    while ((size /= 10) != 0);
    if (minus)
        *--at = '-';
    *--at = sign;
    n = (size_t)(digits + sizeof digits - at);
    memcpy(to, at, n);
    return n;
}

static void resp_put_line(struct usher__writer *w, char sign, uint64_t size, bool minus)
{
    char line[24];

    put(w, line, resp_line(line, sign, size, minus));
}

static void resp_begin(struct usher__writer *w, bool map)
{
    (void)w;
    (void)map;
}

static void resp_insert(struct usher__writer *w, char sign, size_t n)
{
    char line[24];
    size_t size = resp_line(line, sign, n, false);

    usher__pack_insert(&w->to, w->level[w->depth].at, line, size);
}

static void resp2_end(struct usher__writer *w, bool map)
{
    resp_insert(w, '*', w->level[w->depth].n * (map ? 2 : 1));
}

static void resp3_end(struct usher__writer *w, bool map)
{
    resp_insert(w, map ? '%' : '*', w->level[w->depth].n);
}

static void resp_text(struct usher__writer *w, const char *text, size_t size)
{
    resp_put_line(w, '$', size, false);
    put(w, text, size);
    put(w, "\r\n", 2);
}

static void resp_element(struct usher__writer *w)
{
    (void)w;
}

static void resp_number(struct usher__writer *w, uint64_t size, bool minus)
{
    char digits[24];

    if (size <= EXACT_MAX) {
        resp_put_line(w, ':', size, minus);
        return;
    }
    (void)snprintf(digits, sizeof digits, "%s%" PRIu64, minus ? "-" : "", size);
    resp_text(w, digits, strlen(digits));
}

static void resp_token(struct usher__writer *w, uint64_t token)
{
    char digits[24];

    (void)snprintf(digits, sizeof digits, "%" PRIu64, token);
    resp_text(w, digits, strlen(digits));
}

static void resp2_share(struct usher__writer *w, int64_t parts)
{
    char digits[48];

    (void)snprintf(digits, sizeof digits, "%" PRId64 ".%04" PRId64, parts / 10000, parts % 10000);
    resp_text(w, digits, strlen(digits));
}

static void resp3_share(struct usher__writer *w, int64_t parts)
{
    put(w, ",", 1);
    json_share(w, parts);
    put(w, "\r\n", 2);
}

static void resp2_constant(struct usher__writer *w, enum usher__constant which)
{
    put_word(w, which == NIL_VALUE ? "$-1\r\n" : which == TRUE_VALUE ? ":1\r\n" : ":0\r\n");
}

static void resp3_constant(struct usher__writer *w, enum usher__constant which)
{
    put_word(w, which == NIL_VALUE ? "_\r\n" : which == TRUE_VALUE ? "#t\r\n" : "#f\r\n");
}

/* Write an error: its first word is the kind, and if something is lost, the second one is the last
 * version that is not lost. */
static void resp_failed(struct usher__writer *w, const struct usher_reply *reply)
{
    put(w, "-", 1);
    for (const char *c = usher_status_word(reply->status); *c != '\0'; c++)
        put(w, &(char){ (char)(*c - 'a' + 'A') }, 1);
    if (reply->status == USHER_LOST) {
        char digits[24];

        (void)snprintf(digits, sizeof digits, " %" PRIu64, reply->version);
        put_word(w, digits);
    }
    put(w, " ", 1);
    for (const char *c = usher__message_of(reply); *c != '\0'; c++)
        put(w, (unsigned char)*c < ' ' ? " " : c, 1);
    put(w, "\r\n", 2);
}

static const struct usher__form resp2 = {
    resp_begin,  resp2_end,  resp_text,   resp_element,   resp_text,   resp_text,
    resp_number, resp_token, resp2_share, resp2_constant, resp_failed,
};

static const struct usher__form resp3 = {
    resp_begin,  resp3_end,  resp_text,   resp_element,   resp_text,   resp_text,
    resp_number, resp_token, resp3_share, resp3_constant, resp_failed,
};

const struct usher__form *usher__form_of(enum usher_form form)
{
    static const struct usher__form *const forms[] = {
        [USHER_FORM_JSON] = &json,
        [USHER_FORM_PACKED] = &packed_form,
        [USHER_FORM_RESP2] = &resp2,
        [USHER_FORM_RESP3] = &resp3,
    };

    return (unsigned)form <= USHER_FORM_RESP3 ? forms[form] : NULL;
}
