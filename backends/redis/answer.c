/* SPDX-License-Identifier: MIT */
/*
 * What the script answers (lua/number.lua, at its end):
 *
 *   a line     status epoch version state why token until next count more repeated rest
 *   an array   such a line, then rows of numbers, or notices of changes
 *   an array   "invalid", message
 *
 * Nothing of it is trusted.
 */
#include "config.h"

#include "store.h"

#include <string.h>

#include <hiredis/hiredis.h>

bool usher__redis_take_word(struct usher_text *text, struct usher_text *ret)
{
    const char *blank;

    if (text->size == 0)
        return false;
    blank = memchr(text->data, ' ', text->size);
    ret->data = text->data;
    ret->size = blank != NULL ? (size_t)(blank - text->data) : text->size;
    if (ret->size == 0)
        return false;
    text->data += ret->size;
    text->size -= ret->size;
    if (text->size > 0) {
        text->data++;
        text->size--;
    }
    return true;
}

static bool word_int(const struct usher_text *word, int64_t *ret)
{
    size_t i = word->size > 1 && word->data[0] == '-';
    bool minus = i != 0;
    int64_t value = 0;

    if (word->size - i > 18)
        return false;
    for (; i < word->size; i++) {
        if (word->data[i] < '0' || word->data[i] > '9')
            return false;
        value = value * 10 + (word->data[i] - '0');
    }
    *ret = minus ? -value : value;
    return true;
}

bool usher__redis_take_int(struct usher_text *text, int64_t *ret)
{
    struct usher_text word;

    return usher__redis_take_word(text, &word) && word_int(&word, ret);
}

/* Names have no control characters, so neither have answers but for the tabs between. */
static bool clean(const struct usher_text *text)
{
    for (size_t i = 0; i < text->size; i++)
        if ((unsigned char)text->data[i] < 0x20 || text->data[i] == 0x7f)
            return false;
    return true;
}

static bool is(const struct usher_text *text, const char *word)
{
    return text->size == strlen(word) && memcmp(text->data, word, text->size) == 0;
}

int usher__redis_state(const struct usher_text *word)
{
    for (int i = USHER_NUMBER_NODATA; i <= USHER_NUMBER_BUSY_UP; i++)
        if (is(word, usher_number_state_word((enum usher_number_state)i)))
            return i;
    return -1;
}

static bool take_status(struct usher_text *text, enum usher_status *ret)
{
    struct usher_text word;

    if (!usher__redis_take_word(text, &word))
        return false;
    for (int i = USHER_OK; i <= USHER_STALE; i++) {
        if (is(&word, usher_status_word((enum usher_status)i))) {
            *ret = (enum usher_status)i;
            return true;
        }
    }
    return false;
}

static bool take_epoch(struct usher_text *text, uint64_t *ret)
{
    struct usher_text word;
    uint64_t epoch = 0;

    if (!usher__redis_take_word(text, &word) || word.size != 16)
        return false;
    for (size_t i = 0; i < 16; i++) {
        char c = word.data[i];
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;

        if (digit < 0)
            return false;
        epoch = epoch << 4 | (uint64_t)digit;
    }
    *ret = epoch;
    return true;
}

static bool take_state(struct usher_text *text, enum usher_number_state *ret)
{
    struct usher_text word;
    int state;

    if (!usher__redis_take_word(text, &word) || (state = usher__redis_state(&word)) < 0)
        return false;
    *ret = (enum usher_number_state)state;
    return true;
}

static bool take_why(struct usher_text *text, enum usher_number_why *ret)
{
    struct usher_text word;

    if (!usher__redis_take_word(text, &word))
        return false;
    if (is(&word, "-")) {
        *ret = USHER_WHY_GIVEN;
        return true;
    }
    for (int i = USHER_WHY_NONE; i <= USHER_WHY_RESTING; i++) {
        if (is(&word, usher_number_why_word((enum usher_number_why)i))) {
            *ret = (enum usher_number_why)i;
            return true;
        }
    }
    return false;
}

static bool take_unsigned(struct usher_text *text, uint64_t *ret)
{
    int64_t value;

    if (!usher__redis_take_int(text, &value) || value < 0)
        return false;
    *ret = (uint64_t)value;
    return true;
}

/* Take the bytes up to a tab off @text: at most a name. */
static bool take_field(struct usher_text *text, struct usher_text *ret)
{
    const char *tab = text->size != 0 ? memchr(text->data, '\t', text->size) : NULL;

    if (tab == NULL || (size_t)(tab - text->data) > USHER_NAME_MAX)
        return false;
    ret->data = text->data;
    ret->size = (size_t)(tab - text->data);
    text->data = tab + 1;
    text->size -= ret->size + 1;
    return true;
}

static bool take_settings(struct usher_text *text, struct usher_number_settings *s)
{
    return usher__redis_take_int(text, &s->order) && usher__redis_take_int(text, &s->lease_ms) &&
           usher__redis_take_int(text, &s->rest_ms) && usher__redis_take_int(text, &s->daily) &&
           usher__redis_take_int(text, &s->zone_min) && usher__redis_take_int(text, &s->strict) &&
           usher__redis_take_int(text, &s->sticky_ms) &&
           usher__redis_take_int(text, &s->sticky_max) && usher__redis_take_int(text, &s->requests);
}

static bool take_stats(struct usher_text *text, struct usher_number_stats *s)
{
    return usher__redis_take_int(text, &s->total) && usher__redis_take_int(text, &s->idle_up) &&
           usher__redis_take_int(text, &s->idle_down) && usher__redis_take_int(text, &s->busy_up) &&
           usher__redis_take_int(text, &s->busy_down) && usher__redis_take_int(text, &s->resting) &&
           usher__redis_take_int(text, &s->calls_today) &&
           usher__redis_take_int(text, &s->refused_today) &&
           usher__redis_take_int(text, &s->longest_hold_ms);
}

static bool answer_line(enum usher_verb verb, struct usher_text text, struct usher_reply *reply)
{
    struct usher_number_reply *n = &reply->of.number;
    uint64_t more, repeated;

    if (!take_status(&text, &reply->status) || !take_epoch(&text, &reply->epoch) ||
        !take_unsigned(&text, &reply->version) || !take_state(&text, &n->state) ||
        !take_why(&text, &n->why) || !take_unsigned(&text, &n->token) ||
        !usher__redis_take_int(&text, &n->until_ms) || !usher__redis_take_int(&text, &n->next_ms) ||
        !take_unsigned(&text, &n->count) || !take_unsigned(&text, &more) ||
        !take_unsigned(&text, &repeated))
        return false;
    n->more = more != 0;
    reply->repeated = repeated != 0;
    if (verb == USHER_NUMBER_SET)
        return take_settings(&text, &n->of.settings);
    if (verb == USHER_NUMBER_STATS)
        return reply->status != USHER_OK || take_stats(&text, &n->of.stats);
    if (text.size > USHER_NAME_MAX || !clean(&text))
        return false;
    if (text.size != 0)
        memcpy(n->number, text.data, text.size);
    n->number[text.size] = '\0';
    n->number_size = text.size;
    return true;
}

static bool answer_row(struct usher_text text, struct usher_reply *reply, bool *nomem)
{
    struct usher_number_row row;
    struct usher_text words;

    memset(&row, 0, sizeof row);
    /* the words end at the first tab */
    if (text.size == 0 || memchr(text.data, '\t', text.size) == NULL)
        return false;
    words.data = text.data;
    words.size = (size_t)((const char *)memchr(text.data, '\t', text.size) - text.data);
    text.data += words.size + 1;
    text.size -= words.size + 1;
    if (!take_state(&words, &row.state) || !take_unsigned(&words, &row.token) ||
        !usher__redis_take_int(&words, &row.until_ms) ||
        !usher__redis_take_int(&words, &row.calls_today) ||
        !usher__redis_take_int(&words, &row.used_ms) || !take_field(&text, &row.group) ||
        !take_field(&text, &row.owner) || text.size == 0 || text.size > USHER_NAME_MAX ||
        !clean(&text) || !clean(&row.group) || !clean(&row.owner))
        return false;
    row.number = text;
    row.resting = row.state == USHER_NUMBER_IDLE_UP && row.until_ms != 0;
    *nomem = usher_reply_add_row(reply, &row) != USHER_OK;
    return !*nomem;
}

static enum usher_verb verb_of(const struct usher_text *word)
{
    for (int v = USHER_NUMBER_ADD; v <= USHER_NUMBER_REST; v++)
        if (is(word, usher_verb_word((enum usher_verb)v)))
            return (enum usher_verb)v;
    return (enum usher_verb)0;
}

static bool tell(const struct usher_command *command, struct usher_text text, uint64_t epoch,
                 const struct usher_context *context)
{
    struct usher_notice notice;
    struct usher_text words, word;
    int64_t from, to;

    memset(&notice, 0, sizeof notice);
    if (text.size == 0 || memchr(text.data, '\t', text.size) == NULL)
        return false;
    words.data = text.data;
    words.size = (size_t)((const char *)memchr(text.data, '\t', text.size) - text.data);
    text.data += words.size + 1;
    text.size -= words.size + 1;
    if (!usher__redis_take_word(&words, &word) || !take_unsigned(&words, &notice.version) ||
        !usher__redis_take_int(&words, &from) || !usher__redis_take_int(&words, &to) ||
        !take_unsigned(&words, &notice.token) || !usher__redis_take_int(&words, &notice.until_ms) ||
        !usher__redis_take_int(&words, &notice.now_ms) || !take_field(&text, &notice.owner) ||
        text.size > USHER_NAME_MAX || from < 0 || from > USHER_NUMBER_BUSY_UP || to < 0 ||
        to > USHER_NUMBER_BUSY_UP)
        return false;
    notice.noun = USHER_NUMBER;
    notice.scope = command->scope;
    notice.epoch = epoch;
    notice.verb = verb_of(&word);
    notice.from = (uint8_t)from;
    notice.to = (uint8_t)to;
    notice.subject = text;
    if (notice.owner.size == 0)
        notice.owner.data = NULL;
    if (context->notify != NULL)
        context->notify(context->payload, &notice);
    return true;
}

static struct usher_text text_of(const struct redisReply *from)
{
    struct usher_text text = { from->str, (size_t)from->len };

    return text;
}

bool usher__redis_answer(const struct usher_command *command, const struct redisReply *from,
                         struct usher_reply *reply, const struct usher_context *context)
{
    struct usher_text first;
    bool nomem = false;

    if (from->type == REDIS_REPLY_STRING)
        return answer_line(command->verb, text_of(from), reply);
    if (from->type != REDIS_REPLY_ARRAY || from->elements == 0)
        return false;
    for (size_t i = 0; i < from->elements; i++)
        if (from->element[i]->type != REDIS_REPLY_STRING)
            return false;
    first = text_of(from->element[0]);
    if (is(&first, "invalid")) {
        usher_reply_fail(reply, USHER_INVALID, from->elements > 1 ? from->element[1]->str : "");
        return true;
    }
    if (!answer_line(command->verb, first, reply))
        return false;
    for (size_t i = 1; i < from->elements; i++) {
        struct usher_text text = text_of(from->element[i]);
        bool rows = command->verb == USHER_NUMBER_SHOW || command->verb == USHER_NUMBER_LIST;

        if (rows ? !answer_row(text, reply, &nomem) : !tell(command, text, reply->epoch, context)) {
            if (!nomem)
                return false;
            /* reads only: nothing was applied */
            usher_reply_fail(reply, USHER_NOMEM, "out of memory");
            return true;
        }
    }
    return true;
}
