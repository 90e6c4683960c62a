/* SPDX-License-Identifier: MIT */
/* Decodes keys, fields and members into scopes, records and entries, in the formats of
 * lua/common.lua. */
#include "config.h"

#include "scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool usher__redis_scope_of(const struct usher__redis *r, enum usher_noun noun,
                           const struct redisReply *key, struct usher_text *ret)
{
    static const char *const suffixes[] = { "", ":index", ":held" };
    size_t before = strlen(r->prefix) + 1, size = 0;

    if (key->type != REDIS_REPLY_STRING || (size_t)key->len <= before ||
        memcmp(key->str, r->prefix, before - 1) != 0 || key->str[before - 1] != '{')
        return false;
    for (size_t i = 0; i < 3 && size == 0; i++) {
        char tail[32];
        size_t after =
            (size_t)snprintf(tail, sizeof tail, "}:%s%s", usher_noun_word(noun), suffixes[i]);

        if ((size_t)key->len > before + after &&
            memcmp(key->str + key->len - after, tail, after) == 0)
            size = (size_t)key->len - before - after;
    }
    if (size == 0)
        return false;
    ret->data = key->str + before;
    ret->size = size;
    return size <= USHER_NAME_MAX && memchr(ret->data, '}', size) == NULL;
}

struct usher_text usher__redis_text_of(const struct redisReply *reply)
{
    struct usher_text text = { NULL, 0 };

    if (reply->type == REDIS_REPLY_STRING) {
        text.data = reply->str;
        text.size = (size_t)reply->len;
    }
    return text;
}

/* Take a number of @bytes bytes from @text, the highest first. */
static bool take_number(struct usher_text *text, size_t bytes, uint64_t *ret)
{
    uint64_t value = 0;

    if (text->size < bytes)
        return false;
    for (size_t i = 0; i < bytes; i++)
        value = value << 8 | (unsigned char)text->data[i];
    text->data += bytes;
    text->size -= bytes;
    *ret = value;
    return true;
}

/* Likewise for a signed number, of 7 bytes. */
static bool take_signed(struct usher_text *text, int64_t *ret)
{
    const uint64_t sign = UINT64_C(1) << (8 * USHER__REDIS_NUMBER - 1);
    uint64_t value;

    if (!take_number(text, USHER__REDIS_NUMBER, &value))
        return false;
    *ret = (value & sign) != 0 ? (int64_t)value - (int64_t)(sign << 1) : (int64_t)value;
    return true;
}

/* Take a text up to a NUL. */
static bool take_name(struct usher_text *text, struct usher_text *ret)
{
    const char *end = text->size != 0 ? memchr(text->data, '\0', text->size) : NULL;

    if (end == NULL || end - text->data > USHER_NAME_MAX)
        return false;
    ret->data = text->data;
    ret->size = (size_t)(end - text->data);
    text->data = end + 1;
    text->size -= ret->size + 1;
    return true;
}

static bool epoch_read(const struct usher_text *text, uint64_t *ret)
{
    uint64_t epoch = 0;

    if (text->size != 16)
        return false;
    for (size_t i = 0; i < 16; i++) {
        char c = text->data[i];
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;

        if (digit < 0)
            return false;
        epoch = epoch << 4 | (uint64_t)digit;
    }
    *ret = epoch;
    return true;
}

static bool ints_read(struct usher_text *text, int64_t *to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!take_signed(text, &to[i]))
            return false;
    return true;
}

bool usher__redis_is_marked(const struct usher_text *head)
{
    return head->size == USHER__REDIS_HEAD + USHER__REDIS_MARK;
}

bool usher__redis_head_read(struct usher_text text, int64_t known, struct usher_scope *s)
{
    struct usher_text epoch;
    uint64_t format, clock;
    int64_t due;

    if (usher__redis_is_marked(&text))
        text.size = USHER__REDIS_HEAD;
    if (!take_number(&text, 1, &format) || (int64_t)format != known || text.size < 16)
        return false;
    epoch.data = text.data;
    epoch.size = 16;
    text.data += 16;
    text.size -= 16;
    if (!epoch_read(&epoch, &s->epoch) || !take_number(&text, USHER__REDIS_NUMBER, &s->version) ||
        !take_number(&text, USHER__REDIS_NUMBER, &clock) || !take_signed(&text, &due) ||
        !take_number(&text, USHER__REDIS_NUMBER, &s->writer) ||
        !ints_read(&text, s->counts, USHER_COUNTS) || text.size != 0)
        return false;
    s->clock_ms = (int64_t)clock;
    s->due_ms = due >= 0 ? due : INT64_MAX;
    return true;
}

bool usher__redis_gaps_read(struct usher_text text, struct usher_scope *s)
{
    s->n_gaps = 0;
    while (text.size > 0) {
        struct usher_gap *gap = &s->gaps[s->n_gaps];

        if (s->n_gaps++ == USHER_GAPS || !take_number(&text, USHER__REDIS_NUMBER, &gap->last) ||
            !take_number(&text, USHER__REDIS_NUMBER, &gap->first))
            return false;
    }
    return true;
}

bool usher__redis_defaults_read(const char *text, struct usher_scope *s)
{
    if (text == NULL || *text++ != '{')
        return false;
    for (int i = 0; i < USHER_SETTINGS; i++) {
        char *end;

        s->settings[i] = strtoll(text, &end, 10);
        if (end == text)
            return false;
        text = *end == ',' ? end + 1 : end;
    }
    return *text == '}';
}

bool usher__redis_settings_read(struct usher_text text, struct usher_scope *s)
{
    return ints_read(&text, s->settings, USHER_SETTINGS) && text.size == 0;
}

/* Flag in the byte of the slots: n4 to n7 follow. */
#define MORE 128u

/* Take the first word of a record; @words as in usher_table(). */
static bool take_word(struct usher_text *text, const char *words, unsigned kind, unsigned state)
{
    if (text->size < USHER__REDIS_WORD || state >= USHER__REDIS_STATES ||
        memcmp(text->data,
               words + (((size_t)kind - 1) * USHER__REDIS_STATES + state) * USHER__REDIS_WORD,
               USHER__REDIS_WORD) != 0)
        return false;
    text->data += USHER__REDIS_WORD;
    text->size -= USHER__REDIS_WORD;
    return true;
}

bool usher__redis_record_read(const char *words, const struct redisReply *field,
                              const struct redisReply *value, struct usher_record *r)
{
    struct usher_text name = usher__redis_text_of(field), text = usher__redis_text_of(value);
    uint64_t state, slots, until;

    memset(r, 0, sizeof *r);
    if (name.size < 3 || name.size > USHER_NAME_MAX + 2 || name.data[1] != ':' ||
        name.data[0] < '1' || name.data[0] >= '0' + USHER_KINDS)
        return false;
    r->kind = (uint8_t)(name.data[0] - '0');
    r->id.data = name.data + 2;
    r->id.size = name.size - 2;
    if (text.size <= USHER__REDIS_WORD ||
        !take_word(&text, words, r->kind, (unsigned char)text.data[USHER__REDIS_WORD]) ||
        !take_number(&text, 1, &state) || !take_number(&text, 1, &slots) ||
        !take_number(&text, USHER__REDIS_NUMBER, &r->rank) ||
        !take_number(&text, USHER__REDIS_NUMBER, &r->order) ||
        !take_number(&text, USHER__REDIS_NUMBER, &r->token) ||
        !take_number(&text, USHER__REDIS_NUMBER, &until) ||
        !ints_read(&text, r->n, (slots & MORE) != 0 ? USHER_NUMBERS : 4) ||
        !take_name(&text, &r->owner) || !take_name(&text, &r->group) || text.size > USHER_VALUE_MAX)
        return false;
    r->state = (uint8_t)state;
    r->slots = (uint8_t)(slots & ~(uint64_t)MORE);
    r->until_ms = (int64_t)until;
    if (text.size != 0)
        r->data = text;
    return true;
}

bool usher__redis_entry_read(struct usher_text text, struct usher_entry *e)
{
    char list;

    memset(e, 0, sizeof *e);
    if (text.size < 2 || text.data[0] < '1' || text.data[0] >= '0' + USHER_KINDS)
        return false;
    e->kind = (uint8_t)(text.data[0] - '0');
    list = text.data[1];
    text.data += 2;
    text.size -= 2;
    if (list >= 'a' && list <= 'c') {
        const char *end = memchr(text.data, '\0', text.size);

        if (end == NULL || end == text.data || end - text.data > USHER_NAME_MAX)
            return false;
        e->by.data = text.data;
        e->by.size = (size_t)(end - text.data);
        text.data = end + 1;
        text.size -= e->by.size + 1;
        list = (char)(list - 'a' + '0');
    }
    if (list < '0' || list > '2')
        return false;
    e->slot = (uint8_t)(list - '0');
    if ((e->slot != 2 && !take_number(&text, 7, &e->hi)) || !take_number(&text, 7, &e->order) ||
        text.size == 0 || text.size > USHER_NAME_MAX)
        return false;
    e->id = text;
    return true;
}
