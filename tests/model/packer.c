/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "model/packer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void put_byte(struct packed *p, unsigned b)
{
    if (p->n == p->room) {
        p->room = p->room * 2 + 64;
        p->at = realloc(p->at, p->room);
        if (p->at == NULL)
            abort();
    }
    p->at[p->n++] = (unsigned char)b;
}

static void put_big(struct packed *p, unsigned tag, uint64_t value, unsigned bytes)
{
    put_byte(p, tag);
    while (bytes-- > 0)
        put_byte(p, (unsigned)(value >> (8 * bytes)) & 0xff);
}

void put_uint(struct packed *p, uint64_t value)
{
    if (value < 128)
        put_byte(p, (unsigned)value);
    else if (value < 256)
        put_big(p, 0xcc, value, 1);
    else if (value < 65536)
        put_big(p, 0xcd, value, 2);
    else if (value < UINT64_C(1) << 32)
        put_big(p, 0xce, value, 4);
    else
        put_big(p, 0xcf, value, 8);
}

void put_text(struct packed *p, const struct usher_text *t)
{
    if (t->size < 32)
        put_byte(p, 0xa0 | (unsigned)t->size);
    else if (t->size < 256)
        put_big(p, 0xd9, t->size, 1);
    else if (t->size < 65536)
        put_big(p, 0xda, t->size, 2);
    else
        put_big(p, 0xdb, t->size, 4);
    for (size_t i = 0; i < t->size; i++)
        put_byte(p, (unsigned char)t->data[i]);
}

void put_array(struct packed *p, size_t n)
{
    if (n < 16)
        put_byte(p, 0x90 | (unsigned)n);
    else
        put_big(p, 0xdc, n, 2);
}

void put_notice(struct packed *p, const struct usher_notice *n)
{
    put_array(p, 12);
    put_uint(p, (uint64_t)n->verb);
    if (n->noun == USHER_ROOM && n->before + 1 != n->version) {
        put_array(p, 2);
        put_uint(p, n->version);
        put_uint(p, n->before);
    } else {
        put_uint(p, n->version);
    }
    put_uint(p, n->from);
    put_uint(p, n->to);
    put_uint(p, n->token);
    put_uint(p, (uint64_t)n->until_ms);
    put_uint(p, (uint64_t)n->now_ms);
    put_text(p, &n->owner);
    put_text(p, &n->subject);
    put_text(p, &n->data);
    put_uint(p, n->was);
    put_uint(p, n->mark);
}

void put_said(struct packed *p, const char *name, int64_t value)
{
    struct usher_text word = { name, strlen(name) };
    char digits[24];
    struct usher_text text = { digits, 0 };

    text.size = (size_t)sprintf(digits, "%" PRId64, value);
    put_text(p, &word);
    put_text(p, &text);
}

void put_given(struct packed *p, uint64_t given, const struct said *all, size_t n,
               const struct usher_text *reason, const struct usher_text *actor)
{
    const struct usher_text words[] = { { "reason", 6 }, { "actor", 5 } };
    const struct usher_text *texts[] = { reason, actor };
    size_t n_given = 0;

    for (int i = 0; i < 2; i++)
        n_given += texts[i] != NULL && texts[i]->data != NULL;

    for (size_t i = 0; i < n; i++)
        n_given += (given & all[i].bit) != 0;
    put_array(p, 2 * n_given);
    for (size_t i = 0; i < n; i++)
        if ((given & all[i].bit) != 0)
            put_said(p, all[i].word, all[i].value);
    for (int i = 0; i < 2; i++)
        if (texts[i] != NULL && texts[i]->data != NULL) {
            put_text(p, &words[i]);
            put_text(p, texts[i]);
        }
}

void model_log_keep(struct model_log *log, int64_t most, const struct usher_notice *n)
{
    struct packed packed = { NULL, 0, 0 };
    struct model_logged *to;
    size_t gone = 0;

    if (most == 0 && log->n <= 2) {
        if (log->n > 0)
            log->since = log->notices[log->n - 1].version;
        log->n = 0;
        return;
    }
    if (log->n == 0)
        log->since = n->before;
    put_notice(&packed, n);
    log->notices = realloc(log->notices, (log->n + 1) * sizeof *log->notices);
    if (log->notices == NULL || packed.n > sizeof log->notices->packed)
        abort();
    to = &log->notices[log->n++];
    to->version = n->version;
    to->size = packed.n;
    memcpy(to->packed, packed.at, packed.n);
    free(packed.at);
    while (gone < 2 && log->n - gone > (size_t)most)
        gone++;
    log->n -= gone;
    if (gone > 0)
        log->since = log->notices[gone - 1].version;
    memmove(log->notices, log->notices + gone, log->n * sizeof *log->notices);
}

struct model_log model_log_copy(const struct model_log *log)
{
    struct model_log copy = *log;

    copy.notices = NULL;
    if (log->n > 0) {
        copy.notices = malloc(log->n * sizeof *copy.notices);
        if (copy.notices == NULL)
            abort();
        memcpy(copy.notices, log->notices, log->n * sizeof *copy.notices);
    }
    return copy;
}

void model_log_done(struct model_log *log)
{
    free(log->notices);
    log->notices = NULL;
    log->n = 0;
}

enum usher_status model_log_read(const struct model_log *log, int64_t most, uint64_t version,
                                 uint64_t since, size_t *ret_from)
{
    size_t i = 0;

    if (most == 0 && log->n == 0)
        return USHER_REFUSED;
    if (since < log->since || since > version)
        return USHER_STALE;
    while (i < log->n && log->notices[i].version <= since)
        i++;
    *ret_from = i;
    return USHER_OK;
}
