/* SPDX-License-Identifier: MIT */
/*
 * Answers and notices as text.  Which keys an answer has, in which order and when, is told by the
 * KEY rows of core/NOUN_verbs.def; nothing of it knows a verb.
 */
#include "config.h"

#include <usher/command.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "core/verbs.h"
#include "engine/door.h"

#define EXACT_MAX (UINT64_C(1) << 53) /* readers keep doubles: what is beyond is a string */

/* ---- JSON and RESP ------------------------------------------------------------------------ */

/*
 * The walk below says what there is: a map begins, a key, a text, a number, it ends.  What that
 * looks like in a form is decided here and nowhere else.  RESP has the number of its elements in
 * front of a map, which is known when the map ends; so it is put in there then, and what came
 * behind moves up.  Moving up loses nothing that fits: what is cut off was beyond the end before.
 */
struct writer {
    char *to;
    size_t size, n; /* n: so many bytes it is, or would be */
    enum usher_form form;
    size_t count; /* keys of the innermost map, or elements of the innermost array, so far */
};

/* A map or an array that has begun. */
struct level {
    size_t at, count; /* where; and `count` of what it is in */
    bool map;
};

static void put(struct writer *w, const char *text, size_t size)
{
    if (w->n < w->size)
        memcpy(w->to + w->n, text, size < w->size - w->n ? size : w->size - w->n);
    w->n += size;
}

static void put_word(struct writer *w, const char *text)
{
    put(w, text, strlen(text));
}

/* @size bytes at @at, where something stands already. */
static void put_before(struct writer *w, size_t at, const char *text, size_t size)
{
    size_t kept = w->n < w->size ? w->n : w->size; /* of it all */

    if (at + size < w->size) {
        size_t behind = kept - at < w->size - at - size ? kept - at : w->size - at - size;

        memmove(w->to + at + size, w->to + at, behind);
    }
    if (at < w->size)
        memcpy(w->to + at, text, size < w->size - at ? size : w->size - at);
    w->n += size;
}

#define LINE_MAX 24 /* a sign, 20 digits and a minus, \r\n */

/* The line of RESP that begins a value: "$5", ":7".  It ends where @to does. */
static const char *line_of(char to[LINE_MAX], char sign, int64_t number, size_t *ret_size)
{
    size_t at = LINE_MAX;
    uint64_t rest = number < 0 ? -(uint64_t)number : (uint64_t)number;

    to[--at] = '\n';
    to[--at] = '\r';
    do
        to[--at] = (char)('0' + rest % 10);
    while ((rest /= 10) != 0);
    if (number < 0)
        to[--at] = '-';
    to[--at] = sign;
    *ret_size = LINE_MAX - at;
    return to + at;
}

static void put_line(struct writer *w, char sign, int64_t number)
{
    char line[LINE_MAX];
    size_t size;
    const char *at = line_of(line, sign, number, &size);

    put(w, at, size);
}

/* Two texts as one. */
static void string_of(struct writer *w, const struct usher_text *first,
                      const struct usher_text *second)
{
    const struct usher_text *const of[] = { first, second };
    char piece[USHER__JSON_PIECE];
    size_t n;

    if (w->form != USHER_FORM_JSON) {
        put_line(w, '$', (int64_t)(first->size + second->size));
        for (size_t k = 0; k < 2; k++)
            if (of[k]->size != 0)
                put(w, of[k]->data, of[k]->size);
        put(w, "\r\n", 2);
        return;
    }
    put(w, "\"", 1);
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < of[k]->size; put(w, piece, n))
            i += usher__json_piece(of[k]->data + i, of[k]->size - i, piece, &n);
    put(w, "\"", 1);
}

static void string(struct writer *w, const char *text, size_t size)
{
    static const struct usher_text nothing = { NULL, 0 };
    struct usher_text t = { text, size };

    string_of(w, &t, &nothing);
}

static void text(struct writer *w, const struct usher_text *t)
{
    string(w, t->data, t->size);
}

static void null_put(struct writer *w)
{
    put_word(w, w->form == USHER_FORM_JSON    ? "null"
                : w->form == USHER_FORM_RESP3 ? "_\r\n"
                                              : "$-1\r\n");
}

static void bool_put(struct writer *w, bool is)
{
    if (w->form == USHER_FORM_JSON)
        put_word(w, is ? "true" : "false");
    else if (w->form == USHER_FORM_RESP3)
        put_word(w, is ? "#t\r\n" : "#f\r\n");
    else
        put_line(w, ':', is);
}

static void text_or_null(struct writer *w, const struct usher_text *t)
{
    if (t->size != 0)
        text(w, t);
    else
        null_put(w);
}

/* Digits as a text, or as a number. */
static void digits_put(struct writer *w, const char *digits, bool quoted)
{
    if (quoted)
        string(w, digits, strlen(digits));
    else
        put_word(w, digits);
}

static void uint_as(struct writer *w, uint64_t number, bool quoted)
{
    char digits[24];

    if (w->form != USHER_FORM_JSON && !quoted) {
        put_line(w, ':', (int64_t)number);
        return;
    }
    (void)snprintf(digits, sizeof digits, "%" PRIu64, number);
    digits_put(w, digits, quoted);
}

static void uint_put(struct writer *w, uint64_t number)
{
    uint_as(w, number, number > EXACT_MAX);
}

static void int_put(struct writer *w, int64_t number)
{
    char digits[24];
    uint64_t size = number < 0 ? -(uint64_t)number : (uint64_t)number;

    if (w->form != USHER_FORM_JSON && size <= EXACT_MAX) {
        put_line(w, ':', number);
        return;
    }
    (void)snprintf(digits, sizeof digits, "%" PRId64, number);
    digits_put(w, digits, size > EXACT_MAX);
}

/* A decimal fraction, of 10,000. */
static void share_put(struct writer *w, int64_t number)
{
    char digits[48];
    bool line = w->form == USHER_FORM_RESP3;

    (void)snprintf(digits, sizeof digits, "%s%" PRId64 ".%04" PRId64 "%s", line ? "," : "",
                   number / 10000, number % 10000, line ? "\r\n" : "");
    digits_put(w, digits, w->form == USHER_FORM_RESP2);
}

static void epoch_put(struct writer *w, uint64_t epoch)
{
    static const char hex[] = "0123456789abcdef";
    char digits[16];

    for (size_t i = 0; i < sizeof digits; i++)
        digits[i] = hex[epoch >> (60 - 4 * i) & 15u];
    string(w, digits, sizeof digits);
}

/* One behind the other, in a map or an array. */
static void next(struct writer *w)
{
    if (w->count++ > 0 && w->form == USHER_FORM_JSON)
        put(w, ",", 1);
}

static void key_text(struct writer *w, const struct usher_text *key)
{
    next(w);
    text(w, key);
    if (w->form == USHER_FORM_JSON)
        put(w, ":", 1);
}

static void key(struct writer *w, const char *word)
{
    struct usher_text t = { word, strlen(word) };

    key_text(w, &t);
}

static void key_word(struct writer *w, const char *word, const char *value)
{
    key(w, word);
    string(w, value, strlen(value));
}

static struct level begin(struct writer *w, bool map)
{
    struct level l = { w->n, w->count, map };

    w->count = 0;
    if (w->form == USHER_FORM_JSON)
        put(w, map ? "{" : "[", 1);
    return l;
}

static void end(struct writer *w, const struct level *l)
{
    bool pairs = l->map && w->form == USHER_FORM_RESP2;
    char line[LINE_MAX];
    const char *at;
    size_t size;

    if (w->form == USHER_FORM_JSON) {
        put(w, l->map ? "}" : "]", 1);
    } else {
        at = line_of(line, l->map && !pairs ? '%' : '*', (int64_t)(pairs ? 2 * w->count : w->count),
                     &size);
        put_before(w, l->at, at, size);
    }
    w->count = l->count;
}

static bool is_form(enum usher_form form)
{
    return form >= USHER_FORM_JSON && form <= USHER_FORM_RESP3;
}

static size_t finish(struct writer *w)
{
    if (w->size > 0)
        w->to[w->n < w->size ? w->n : w->size - 1] = '\0';
    return w->n;
}

/* ---- packed fields ------------------------------------------------------------------------ */

static struct usher_fields fields_of(const struct usher_text *packed)
{
    struct usher_fields f;

    memset(&f, 0, sizeof f);
    f.at = (const unsigned char *)packed->data;
    f.end = f.at != NULL ? f.at + packed->size : f.at;
    return f;
}

static void packed(struct writer *w, const struct usher_text *data)
{
    struct usher_fields f = fields_of(data);
    struct usher_text name, value;
    struct level l;
    uint64_t version;

    if (data->size == 1 && (unsigned char)data->data[0] == 0xc0) { /* too large to be told */
        null_put(w);
        return;
    }
    l = begin(w, true);
    while (data->size != 0 && usher_fields_next(&f, &name, &value, &version)) {
        key_text(w, &name);
        text(w, &value);
    }
    end(w, &l);
}

/* ---- notices ------------------------------------------------------------------------------ */

/* NULL: the change is of nothing that has a state. */
static const char *state_word(const struct usher_notice *n, unsigned state)
{
    switch (n->noun) {
    case USHER_NUMBER:
        return n->subject.size != 0 && n->verb != USHER_NOTICE_LOST
                   ? usher_number_state_word((enum usher_number_state)state)
                   : NULL;
    case USHER_QUEUE:
        if (n->subject.size == 0 || n->verb == USHER_NOTICE_LOST)
            return NULL;
        return n->token != 0 && n->owner.size == 0
                   ? usher_queue_agent_state_word((enum usher_queue_agent_state)state)
                   : usher_queue_user_state_word((enum usher_queue_user_state)state);
    default:
        break;
    }
    switch (n->verb) {
    case USHER_ROOM_OPEN:
    case USHER_ROOM_CLOSE:
    case USHER_ROOM_LOCK:
    case USHER_ROOM_UNLOCK:
    case USHER_ROOM_EMPTY:
    case USHER_ROOM_DONE:
        return usher_room_state_word((enum usher_room_state)state);
    case USHER_ROOM_JOIN:
    case USHER_ROOM_LEAVE:
    case USHER_ROOM_KICK:
    case USHER_ROOM_ALIVE:
    case USHER_ROOM_MEMBER:
    case USHER_ROOM_FADE:
    case USHER_ROOM_DROP:
    case USHER_ROOM_EXPIRE:
        return usher_room_member_state_word((enum usher_room_member_state)state);
    default:
        return NULL;
    }
}

static void key_state(struct writer *w, const char *word, const char *state)
{
    struct usher_text t = { state, state != NULL ? strlen(state) : 0 };

    key(w, word);
    text_or_null(w, &t);
}

static void notice(struct writer *w, const struct usher_notice *n, bool within);

/* What is told together. */
static void presence(struct writer *w, const struct usher_notice *n)
{
    struct level l = begin(w, false);
    struct usher_notice one;
    size_t at = 0;

    while (usher_room_presence(n, &at, &one))
        if (one.verb != USHER_ROOM_PRESENCE) {
            next(w);
            notice(w, &one, true);
        }
    end(w, &l);
}

/* @within: of another one, which has been told together with others. */
static void notice(struct writer *w, const struct usher_notice *n, bool within)
{
    static const struct usher_text nothing = { NULL, 0 };
    struct level l = begin(w, true);
    bool room = n->noun == USHER_ROOM;
    char noun[16];
    struct usher_text t = { noun, 0 };

    t.size = (size_t)snprintf(noun, sizeof noun, "%s/", usher_noun_word(n->noun));
    key(w, "scope");
    string_of(w, &t, &n->scope);
    key(w, "epoch");
    epoch_put(w, n->epoch);
    key(w, "version");
    uint_put(w, n->version);
    if (n->before + 1 != n->version) { /* of several, or where the store changed hands */
        key(w, "before");
        uint_put(w, n->before);
    }
    key_word(w, "verb", usher_verb_word(n->verb));
    key(w, "subject");
    text_or_null(w, &n->subject);
    key_state(w, "from", state_word(n, n->from));
    key_state(w, "to", state_word(n, n->to));
    key(w, "data");
    if (room && n->verb == USHER_ROOM_PRESENCE && !within)
        presence(w, n);
    else
        packed(w, room ? &n->data : &nothing);
    key(w, "owner");
    text_or_null(w, &n->owner);
    key(w, "time");
    int_put(w, n->now_ms);
    if (room) {
        key(w, "was");
        uint_put(w, n->was);
        key(w, "mark");
        uint_put(w, n->mark);
    }
    end(w, &l);
}

size_t usher_notice_write(const struct usher_notice *n, enum usher_form form,
                          char *to /* NOLINT(readability-non-const-parameter) */, size_t size)
{
    struct writer w = { to, to != NULL ? size : 0, 0, form, 0 };

    if (n != NULL && is_form(form))
        notice(&w, n, false);
    return finish(&w);
}

/* ---- values of a reply -------------------------------------------------------------------- */

/* An answer, a row of it, or what the command said. */
struct values {
    const struct usher_value *of;
    size_t n;
};

struct answer {
    const struct usher_reply *reply;
    const struct usher__noun *noun;
    uint32_t verb; /* the bit */
    struct values own, asked;
};

static struct values row_of(const struct answer *a, size_t i)
{
    struct values row = { NULL, 0 };

    row.of = usher_reply_values(a->reply, i, &row.n);
    return row;
}

static const struct usher_value *find(const struct values *values, uint32_t field)
{
    for (size_t i = 0; i < values->n; i++)
        if (values->of[i].field == field)
            return &values->of[i];
    return NULL;
}

static struct usher_text text_of(const struct values *values, uint32_t field)
{
    const struct usher_value *v = find(values, field);
    struct usher_text t = { NULL, 0 };

    if (v != NULL && v->text != NULL) {
        t.data = v->text;
        t.size = (size_t)v->size;
    }
    return t;
}

static int64_t number_of(const struct values *values, uint32_t field)
{
    const struct usher_value *v = find(values, field);

    return v != NULL ? v->number : 0;
}

static bool among(const struct values *values, const struct usher__key *k)
{
    const struct usher_value *v = find(values, k->when_of);

    return v != NULL && (v->text != NULL || k->codes == UINT32_MAX ||
                         ((uint64_t)v->number < 32 && (k->codes >> v->number & 1u) != 0));
}

static bool applies(const struct answer *a, const struct values *values, const struct usher__key *k)
{
    if ((k->verbs & a->verb) == 0 || (k->on >> a->reply->status & 1u) == 0)
        return false;
    switch (k->when) {
    case USHER__WHEN_IS:
        return among(values, k);
    case USHER__WHEN_NOT:
        return find(values, k->when_of) == NULL;
    case USHER__WHEN_ASKED:
        return find(&a->asked, k->when_of) != NULL;
    case USHER__WHEN_NOT_ASKED:
        return find(&a->asked, k->when_of) == NULL;
    case USHER__WHEN_AHEAD:
        return (uint64_t)number_of(&a->asked, k->when_of) > a->reply->version;
    case USHER__WHEN_NOT_AHEAD:
        return (uint64_t)number_of(&a->asked, k->when_of) <= a->reply->version;
    case USHER__WHEN_ONE_ROW:
        return a->reply->n_rows == 1;
    case USHER__WHEN_NO_ROW:
        return a->reply->n_rows != 1;
    case USHER__WHEN_KIND: /* of an answer it chooses rows */
        return values == &a->own || among(values, k);
    default:
        return true;
    }
}

/* Row @i of the answer to one of the keys of it.  False: it is for another one. */
static bool chosen(const struct answer *a, size_t i, const struct usher__key *k,
                   struct values *ret_row)
{
    *ret_row = row_of(a, i);
    return k->when != USHER__WHEN_KIND || among(ret_row, k);
}

/* ---- keys --------------------------------------------------------------------------------- */

static void code_put(struct writer *w, const struct answer *a, uint32_t field, int64_t code)
{
    const char *word = usher_code_word((enum usher_noun)a->noun->noun, field, code);

    word = word != NULL ? word : "?";
    string(w, word, strlen(word));
}

/* @v may be NULL: there is none. */
static void value_put(struct writer *w, const struct answer *a, const struct usher__key *k,
                      const struct usher_value *v)
{
    enum usher_type type = usher_about_field(k->field)->type;
    int64_t number = v != NULL ? v->number : 0;

    if (v == NULL && k->none != NULL) { /* what is left out does not come here */
        if (*k->none == *USHER__NO_TEXT)
            string(w, "", 0);
        else
            null_put(w);
    } else if (type >= USHER_TYPE_TEXT) {
        if (v == NULL || (v->size == 0 && type == USHER_TYPE_TEXT))
            null_put(w);
        else
            string(w, v->text, (size_t)v->size);
    } else if (k->as == USHER__AS_SHARE) {
        share_put(w, number);
    } else if (k->as == USHER__AS_NUMBER) {
        uint_put(w, (uint64_t)number);
    } else if (type == USHER_TYPE_TOKEN) {
        uint_as(w, (uint64_t)number, true); /* compared, not counted with */
    } else if (type == USHER_TYPE_CODE) {
        code_put(w, a, k->field, number);
    } else if (type == USHER_TYPE_BOOL) {
        bool_put(w, number != 0);
    } else {
        int_put(w, number);
    }
}

static void rooms(struct writer *w, const struct answer *a)
{
    int64_t n = number_of(&a->own, USHER_FIELD_ROOMS);
    char name[USHER_QUEUE_ROOM_MAX];
    struct level l = begin(w, false);

    for (int64_t i = 1; i <= n && i <= USHER_QUEUE_CAPACITY_MAX; i++) {
        next(w);
        (void)usher_queue_room_name(name, a->reply->epoch,
                                    (uint64_t)number_of(&a->own, USHER_FIELD_LOGIN), i);
        string(w, name, strlen(name));
    }
    end(w, &l);
}

static void map(struct writer *w, const struct answer *a, const struct usher__key *k)
{
    struct values row;
    struct level l = begin(w, true);

    for (size_t i = 0; i < a->reply->n_rows; i++)
        if (chosen(a, i, k, &row)) {
            struct usher_text name = text_of(&row, USHER_FIELD_NAME);
            struct usher_text value = text_of(&row, k->field);

            key_text(w, &name);
            text(w, &value);
        }
    end(w, &l);
}

/* The value of all members for @name, set after @version; NULL: there is none. */
static bool later_of_all(const struct answer *a, const struct usher_text *name, uint64_t version,
                         struct usher_text *ret_value)
{
    for (size_t i = 0; i < a->reply->n_rows; i++) {
        struct values row = row_of(a, i);
        struct usher_text id = text_of(&row, USHER_FIELD_NAME);

        if (number_of(&row, USHER_FIELD_KIND) == USHER_ROOM_ROW_ALL &&
            usher__text_equal(&id, name) &&
            (uint64_t)number_of(&row, USHER_FIELD_VERSION) > version) {
            *ret_value = text_of(&row, USHER_FIELD_VALUE);
            return true;
        }
    }
    return false;
}

/* What counts for a member: of its own fields and those of all, what was set last. */
static void merged(struct writer *w, const struct answer *a, const struct usher_text *own)
{
    struct usher_fields f = fields_of(own);
    struct usher_text name, value, all;
    struct level l = begin(w, true);
    uint64_t version;

    while (own->size != 0 && usher_fields_next(&f, &name, &value, &version)) {
        key_text(w, &name);
        text(w, later_of_all(a, &name, version, &all) ? &all : &value);
    }
    for (size_t i = 0; i < a->reply->n_rows; i++) {
        struct values row = row_of(a, i);
        struct usher_text id = text_of(&row, USHER_FIELD_NAME);
        bool has = false;

        if (number_of(&row, USHER_FIELD_KIND) != USHER_ROOM_ROW_ALL)
            continue;
        f = fields_of(own);
        while (!has && own->size != 0 && usher_fields_next(&f, &name, &value, &version))
            has = usher__text_equal(&name, &id);
        if (!has) {
            value = text_of(&row, USHER_FIELD_VALUE);
            key_text(w, &id);
            text(w, &value);
        }
    }
    end(w, &l);
}

static void notices(struct writer *w, const struct answer *a)
{
    struct usher_text scope = text_of(&a->asked, USHER__ECHO_SCOPE);
    struct level l = begin(w, false);

    for (size_t i = 0; i < a->reply->n_rows; i++) {
        struct values row = row_of(a, i);
        struct usher_room_result_row r = {
            .kind = (uint8_t)number_of(&row, USHER_FIELD_KIND),
            .id = text_of(&row, USHER_FIELD_NAME),
            .owner = text_of(&row, USHER_FIELD_OWNER),
            .value = text_of(&row, USHER_FIELD_VALUE),
            .version = (uint64_t)number_of(&row, USHER_FIELD_VERSION),
        };
        struct usher_notice n;

        if (usher_room_notice(&r, &scope, a->reply->epoch, &n) == USHER_OK) {
            next(w);
            notice(w, &n, false);
        }
    }
    end(w, &l);
}

static void key_put(struct writer *w, const struct answer *a, const struct values *values,
                    const struct usher__key *k);

static void row_keys(struct writer *w, const struct answer *a, const struct values *row)
{
    for (const struct usher__key *k = a->noun->row_keys; k->verbs != 0; k++)
        key_put(w, a, row, k);
}

static void rows(struct writer *w, const struct answer *a, const struct usher__key *k)
{
    struct level all = begin(w, false);
    struct values row;

    for (size_t i = 0; i < a->reply->n_rows; i++)
        if (chosen(a, i, k, &row)) {
            next(w);
            if (k->as == USHER__AS_LIST) {
                value_put(w, a, k, find(&row, k->field));
            } else {
                struct level one = begin(w, true);

                row_keys(w, a, &row);
                end(w, &one);
            }
        }
    end(w, &all);
}

/* The word of the field has _ for -. */
static void key_field(struct writer *w, const struct usher__key *k)
{
    const char *word = k->key != NULL ? k->key : usher_about_field(k->field)->word;
    char name[40];
    struct usher_text t = { name, 0 };

    for (; word[t.size] != '\0' && t.size < sizeof name; t.size++)
        name[t.size] = word[t.size] == '-' ? '_' : word[t.size];
    key_text(w, &t);
}

/* @k of an answer or of a row, if it applies. */
static void key_put(struct writer *w, const struct answer *a, const struct values *values,
                    const struct usher__key *k)
{
    const struct usher_value *v = find(values, k->field);
    struct values row;

    if (v == NULL && k->as == USHER__AS_ECHO)
        v = find(&a->asked, k->field);
    if (!applies(a, values, k) || (v == NULL && k->none != NULL && *k->none == '\0'))
        return;
    if (k->as == USHER__AS_ROW) {
        row = row_of(a, 0);
        row_keys(w, a, &row);
        return;
    }
    key_field(w, k);
    switch (k->as) {
    case USHER__AS_FIRST:
        row = row_of(a, 0);
        value_put(w, a, k, a->reply->n_rows == 1 ? find(&row, k->field) : NULL);
        break;
    case USHER__AS_ROOMS:
        rooms(w, a);
        break;
    case USHER__AS_LIST:
    case USHER__AS_ROWS:
        rows(w, a, k);
        break;
    case USHER__AS_MAP:
        map(w, a, k);
        break;
    case USHER__AS_PACKED:
    case USHER__AS_MERGED: {
        struct usher_text t = text_of(values, k->field);

        if (k->as == USHER__AS_PACKED)
            packed(w, &t);
        else
            merged(w, a, &t);
        break;
    }
    case USHER__AS_NOTICES:
        notices(w, a);
        break;
    default:
        value_put(w, a, k, v);
        break;
    }
}

/* ---- the whole ---------------------------------------------------------------------------- */

static const char *message_of(const struct usher_reply *reply)
{
    return reply->message[0] != '\0' ? reply->message : usher_status_text(reply->status);
}

static void failed(struct writer *w, const struct usher_reply *reply)
{
    key_word(w, "message", message_of(reply));
    if (reply->status == USHER_LOST) {
        key(w, "from");
        uint_put(w, reply->version);
    }
}

/* In RESP what failed is an error: its first word says how, and where something is lost the
 * second one from where on. */
static void error(struct writer *w, const struct usher_reply *reply)
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
    for (const char *c = message_of(reply); *c != '\0'; c++)
        put(w, (unsigned char)*c < ' ' ? " " : c, 1);
    put(w, "\r\n", 2);
}

static void answered(struct writer *w, const struct usher_reply *reply)
{
    struct answer a = { .reply = reply, .noun = usher__noun(reply->verb >> 8) };

    a.verb = USHER__VERB_BIT(reply->verb);
    a.own.of = usher_reply_values(reply, USHER_ANSWER, &a.own.n);
    a.asked.of = usher__reply_asked(reply, &a.asked.n);
    key(w, "epoch");
    epoch_put(w, reply->epoch);
    key(w, "version");
    uint_put(w, reply->version);
    key(w, "due");
    if (reply->due_ms != USHER_NEVER)
        int_put(w, reply->due_ms);
    else
        null_put(w);
    if (find(&a.asked, USHER_FIELD_IF_VERSION) == NULL) /* else that is all */
        for (const struct usher__key *k = a.noun->keys; k->verbs != 0; k++)
            key_put(w, &a, &a.own, k);
    if (reply->message[0] != '\0')
        key_word(w, "message", reply->message);
    if (reply->repeated) {
        key(w, "repeated");
        bool_put(w, true);
    }
    if (find(&a.asked, USHER_FIELD_WAIT) != NULL) {
        key(w, "replicas");
        uint_put(w, reply->replicas);
    }
}

size_t usher_reply_write(const struct usher_reply *reply, enum usher_form form,
                         char *to /* NOLINT(readability-non-const-parameter) */, size_t size)
{
    struct writer w = { to, to != NULL ? size : 0, 0, form, 0 };
    struct level l;
    bool is_failed;

    if (reply == NULL || !is_form(form))
        return finish(&w);
    is_failed = USHER_CLASS_OF(reply->status) >= USHER_CLASS_WRONG;
    if (is_failed && form != USHER_FORM_JSON) {
        error(&w, reply);
        return finish(&w);
    }
    l = begin(&w, true);
    key_word(&w, "status", usher_status_word(reply->status));
    if (is_failed)
        failed(&w, reply);
    else
        answered(&w, reply);
    end(&w, &l);
    return finish(&w);
}
