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
#include "engine/reply.h"

#define EXACT_MAX (UINT64_C(1) << 53) /* readers keep doubles: what is beyond is a string */

/* ---- JSON --------------------------------------------------------------------------------- */

struct writer {
    char *to;
    size_t size, n; /* n: so many bytes it is, or would be */
    bool comma;     /* before the next key or element */
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

static void string(struct writer *w, const char *text, size_t size)
{
    char piece[USHER__JSON_PIECE];
    size_t n;

    put(w, "\"", 1);
    for (size_t i = 0; i < size; put(w, piece, n))
        i += usher__json_piece(text + i, size - i, piece, &n);
    put(w, "\"", 1);
}

static void text(struct writer *w, const struct usher_text *t)
{
    string(w, t->data, t->size);
}

static void text_or_null(struct writer *w, const struct usher_text *t)
{
    if (t->size != 0)
        text(w, t);
    else
        put_word(w, "null");
}

static void uint_as(struct writer *w, uint64_t number, bool quoted)
{
    char digits[24];

    (void)snprintf(digits, sizeof digits, quoted ? "\"%" PRIu64 "\"" : "%" PRIu64, number);
    put_word(w, digits);
}

static void uint_put(struct writer *w, uint64_t number)
{
    uint_as(w, number, number > EXACT_MAX);
}

static void int_put(struct writer *w, int64_t number)
{
    char digits[24];
    uint64_t size = number < 0 ? -(uint64_t)number : (uint64_t)number;

    (void)snprintf(digits, sizeof digits, size > EXACT_MAX ? "\"%" PRId64 "\"" : "%" PRId64,
                   number);
    put_word(w, digits);
}

static void epoch_put(struct writer *w, uint64_t epoch)
{
    char digits[24];

    (void)snprintf(digits, sizeof digits, "\"%016" PRIx64 "\"", epoch);
    put_word(w, digits);
}

/* One behind the other, in an object or an array. */
static void next(struct writer *w)
{
    if (w->comma)
        put(w, ",", 1);
    w->comma = true;
}

static void key_text(struct writer *w, const struct usher_text *key)
{
    next(w);
    text(w, key);
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

/* An object or array begins: "{", "[". */
static void begin(struct writer *w, const char *bracket)
{
    put_word(w, bracket);
    w->comma = false;
}

static void end(struct writer *w, const char *bracket)
{
    put_word(w, bracket);
    w->comma = true;
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
    uint64_t version;

    if (data->size == 1 && (unsigned char)data->data[0] == 0xc0) { /* too large to be told */
        put_word(w, "null");
        return;
    }
    begin(w, "{");
    while (data->size != 0 && usher_fields_next(&f, &name, &value, &version)) {
        key_text(w, &name);
        text(w, &value);
    }
    end(w, "}");
}

/* ---- notices ------------------------------------------------------------------------------ */

/* NULL: the change is of nothing that has a state. */
static const char *state_word(const struct usher_notice *n, unsigned state)
{
    switch (usher_notice_subject(n)) {
    case USHER_SUBJECT_NUMBER:
        return usher_number_state_word((enum usher_number_state)state);
    case USHER_SUBJECT_AGENT:
        return usher_queue_agent_state_word((enum usher_queue_agent_state)state);
    case USHER_SUBJECT_USER:
        return usher_queue_user_state_word((enum usher_queue_user_state)state);
    case USHER_SUBJECT_MEMBER:
        return usher_room_member_state_word((enum usher_room_member_state)state);
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
    struct usher_notice one;
    size_t at = 0;

    begin(w, "[");
    while (usher_room_presence(n, &at, &one))
        if (one.verb != USHER_ROOM_PRESENCE) {
            next(w);
            notice(w, &one, true);
        }
    end(w, "]");
}

/* @within: of another one, which has been told together with others. */
static void notice(struct writer *w, const struct usher_notice *n, bool within)
{
    static const struct usher_text nothing = { NULL, 0 };
    bool room = n->noun == USHER_ROOM;

    begin(w, "{");
    key(w, "scope");
    put(w, "\"", 1);
    put_word(w, usher_noun_word(n->noun));
    put(w, "/", 1);
    for (size_t i = 0; i < n->scope.size; i++) { /* a name: UTF-8 without controls */
        if (n->scope.data[i] == '"' || n->scope.data[i] == '\\')
            put(w, "\\", 1);
        put(w, &n->scope.data[i], 1);
    }
    put(w, "\"", 1);
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
        packed(w, room || n->noun == USHER_NUMBER ? &n->data : &nothing);
    key(w, "owner");
    text_or_null(w, &n->owner);
    key(w, "time");
    int_put(w, n->now_ms);
    if (!room && n->token != 0) {
        key(w, "token");
        put(w, "\"", 1);
        uint_put(w, n->token);
        put(w, "\"", 1);
    }
    if (!room && n->until_ms != 0) {
        key(w, "until");
        int_put(w, n->until_ms);
    }
    if (room) {
        key(w, "was");
        uint_put(w, n->was);
        key(w, "mark");
        uint_put(w, n->mark);
    }
    end(w, "}");
}

size_t usher_notice_write(const struct usher_notice *n, enum usher_form form,
                          char *to /* NOLINT(readability-non-const-parameter) */, size_t size)
{
    struct writer w = { to, to != NULL ? size : 0, 0, false };

    if (n != NULL && form == USHER_FORM_JSON)
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

    if (v == NULL && k->none != NULL) {
        put_word(w, k->none);
    } else if (type >= USHER_TYPE_TEXT) {
        if (v == NULL || (v->size == 0 && type == USHER_TYPE_TEXT))
            put_word(w, "null");
        else
            string(w, v->text, (size_t)v->size);
    } else if (k->as == USHER__AS_SHARE) {
        char digits[40];

        (void)snprintf(digits, sizeof digits, "%" PRId64 ".%04" PRId64, number / 10000,
                       number % 10000);
        put_word(w, digits);
    } else if (k->as == USHER__AS_NUMBER) {
        uint_put(w, (uint64_t)number);
    } else if (type == USHER_TYPE_TOKEN) {
        uint_as(w, (uint64_t)number, true); /* compared, not counted with */
    } else if (type == USHER_TYPE_CODE) {
        code_put(w, a, k->field, number);
    } else if (type == USHER_TYPE_BOOL) {
        put_word(w, number != 0 ? "true" : "false");
    } else {
        int_put(w, number);
    }
}

static void rooms(struct writer *w, const struct answer *a)
{
    int64_t n = number_of(&a->own, USHER_FIELD_ROOMS);
    char name[USHER_QUEUE_ROOM_MAX];

    begin(w, "[");
    for (int64_t i = 1; i <= n && i <= USHER_QUEUE_CAPACITY_MAX; i++) {
        next(w);
        (void)usher_queue_room_name(name, a->reply->epoch,
                                    (uint64_t)number_of(&a->own, USHER_FIELD_LOGIN), i);
        string(w, name, strlen(name));
    }
    end(w, "]");
}

static void map(struct writer *w, const struct answer *a, const struct usher__key *k)
{
    struct values row;

    begin(w, "{");
    for (size_t i = 0; i < a->reply->n_rows; i++)
        if (chosen(a, i, k, &row)) {
            struct usher_text name = text_of(&row, USHER_FIELD_NAME);
            struct usher_text value = text_of(&row, k->field);

            key_text(w, &name);
            text(w, &value);
        }
    end(w, "}");
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
    uint64_t version;

    begin(w, "{");
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
    end(w, "}");
}

static void notices(struct writer *w, const struct answer *a)
{
    struct usher_text scope = text_of(&a->asked, USHER__ECHO_SCOPE);

    begin(w, "[");
    for (size_t i = 0; i < a->reply->n_rows; i++) {
        struct values row = row_of(a, i);
        const struct usher_value *kind = find(&row, USHER_FIELD_KIND);
        struct usher_text value = text_of(&row, USHER_FIELD_VALUE);
        struct usher_notice n;

        if ((kind == NULL || kind->number == USHER_ROOM_ROW_NOTICE) &&
            usher_notice_read((enum usher_noun)a->noun->noun, &scope, a->reply->epoch, &value,
                              &n) == USHER_OK) {
            next(w);
            notice(w, &n, false);
        }
    }
    end(w, "]");
}

static void key_put(struct writer *w, const struct answer *a, const struct values *values,
                    const struct usher__key *k);

static void row_keys(struct writer *w, const struct answer *a, const struct values *row)
{
    for (const struct usher__key *k = a->noun->row_keys; k->verbs != 0; k++)
        key_put(w, a, row, k);
}

/* @k of an answer or of a row, if it applies. */
static void key_put(struct writer *w, const struct answer *a, const struct values *values,
                    const struct usher__key *k)
{
    const struct usher_value *v = find(values, k->field);
    char word[40];
    struct values row;
    size_t n;

    if (v == NULL && k->as == USHER__AS_ECHO)
        v = find(&a->asked, k->field);
    if (!applies(a, values, k) || (v == NULL && k->none != NULL && *k->none == '\0'))
        return;
    if (k->as == USHER__AS_ROW) {
        row = row_of(a, 0);
        row_keys(w, a, &row);
        return;
    }
    n = (size_t)snprintf(word, sizeof word, "%s",
                         k->key != NULL ? k->key : usher_about_field(k->field)->word);
    for (size_t i = 0; i < n && i < sizeof word; i++)
        word[i] = word[i] == '-' ? '_' : word[i];
    key(w, word);
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
        begin(w, "[");
        for (size_t i = 0; i < a->reply->n_rows; i++)
            if (chosen(a, i, k, &row)) {
                next(w);
                if (k->as == USHER__AS_LIST) {
                    value_put(w, a, k, find(&row, k->field));
                    continue;
                }
                begin(w, "{");
                row_keys(w, a, &row);
                end(w, "}");
            }
        end(w, "]");
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

static void failed(struct writer *w, const struct usher_reply *reply)
{
    key_word(w, "message",
             reply->message[0] != '\0' ? reply->message : usher_status_text(reply->status));
    if (reply->status == USHER_LOST) {
        key(w, "from");
        uint_put(w, reply->version);
    }
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
        put_word(w, "null");
    if (find(&a.asked, USHER_FIELD_IF_VERSION) == NULL) /* else that is all */
        for (const struct usher__key *k = a.noun->keys; k->verbs != 0; k++)
            key_put(w, &a, &a.own, k);
    if (reply->message[0] != '\0')
        key_word(w, "message", reply->message);
    if (reply->repeated) {
        key(w, "repeated");
        put_word(w, "true");
    }
    if (find(&a.asked, USHER_FIELD_WAIT) != NULL) {
        key(w, "replicas");
        uint_put(w, reply->replicas);
    }
}

size_t usher_reply_write(const struct usher_reply *reply, enum usher_form form,
                         char *to /* NOLINT(readability-non-const-parameter) */, size_t size)
{
    struct writer w = { to, to != NULL ? size : 0, 0, false };

    if (reply != NULL && form == USHER_FORM_JSON) {
        begin(&w, "{");
        key_word(&w, "status", usher_status_word(reply->status));
        if (USHER_CLASS_OF(reply->status) >= USHER_CLASS_WRONG)
            failed(&w, reply);
        else
            answered(&w, reply);
        end(&w, "}");
    }
    return finish(&w);
}
