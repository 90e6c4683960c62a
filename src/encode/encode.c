/* SPDX-License-Identifier: MIT */
/*
 * Answers and notices as bytes in several forms.  The KEY rows of core/NOUN_verbs.def define the
 * keys of an answer, their order and conditions; this code depends on no verb.  It iterates over
 * the rows and puts maps, arrays, keys and values, and a form (forms.h) writes each of these.
 */
#include "config.h"

#include <usher/command.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "core/verbs.h"
#include "change/hooks.h"
#include "encode/forms.h"
#include "encode/reply.h"

/* ---- of any form --------------------------------------------------------------------------- */

static void begin(struct usher__writer *w, bool map)
{
    w->depth++;
    w->level[w->depth].at = w->to.n;
    w->level[w->depth].n = 0;
    w->form->begin(w, map);
}

static void end(struct usher__writer *w, bool map)
{
    w->form->end(w, map);
    w->depth--;
}

static void element(struct usher__writer *w)
{
    w->level[w->depth].n++;
    w->form->element(w);
}

static void key_text(struct usher__writer *w, const struct usher_text *key)
{
    w->level[w->depth].n++;
    w->form->key(w, key->data, key->size);
}

static void key(struct usher__writer *w, const char *word)
{
    struct usher_text t = { word, strlen(word) };

    key_text(w, &t);
}

static void word_put(struct usher__writer *w, const char *word)
{
    w->form->text(w, word, strlen(word));
}

static void bytes_put(struct usher__writer *w, const struct usher_text *t)
{
    w->form->bytes(w, t->data, t->size);
}

static void nil_put(struct usher__writer *w)
{
    w->form->constant(w, NIL_VALUE);
}

static void text_or_nil(struct usher__writer *w, const struct usher_text *t)
{
    if (t->size != 0)
        w->form->text(w, t->data, t->size);
    else
        nil_put(w);
}

static void uint_put(struct usher__writer *w, uint64_t number)
{
    w->form->number(w, number, false);
}

static void int_put(struct usher__writer *w, int64_t number)
{
    w->form->number(w, number < 0 ? -(uint64_t)number : (uint64_t)number, number < 0);
}

static void epoch_put(struct usher__writer *w, uint64_t epoch)
{
    char digits[24];

    (void)snprintf(digits, sizeof digits, "%016" PRIx64, epoch);
    word_put(w, digits);
}

static void key_word(struct usher__writer *w, const char *word, const char *value)
{
    key(w, word);
    word_put(w, value);
}

static struct usher__writer writer(enum usher_form form, char *to, size_t size)
{
    struct usher__writer w = { .form = usher__form_of(form) };

    w.to.to = (unsigned char *)to;
    w.to.size = to != NULL ? size : 0;
    return w;
}

static size_t finish(struct usher__writer *w)
{
    if (w->to.size > 0)
        w->to.to[w->to.n < w->to.size ? w->to.n : w->to.size - 1] = '\0';
    return w->to.n;
}

/* ---- packed fields ------------------------------------------------------------------------ */

/* Write packed fields.  @n: the notice with @data; NULL: none. */
static void packed(struct usher__writer *w, const struct usher_text *data,
                   const struct usher_notice *n)
{
    const struct usher__hooks *hooks = n != NULL ? usher__hooks((unsigned)n->noun) : NULL;
    struct usher_fields f = usher__fields(data);
    struct usher_text name, value;
    char whole[USHER__TOLD_VALUE];
    uint64_t version;

    if (data->size == 1 && (unsigned char)data->data[0] == 0xc0) { /* too large for a notice */
        nil_put(w);
        return;
    }
    begin(w, MAP);
    while (data->size != 0 && usher_fields_next(&f, &name, &value, &version)) {
        if (hooks != NULL && hooks->told_value != NULL)
            hooks->told_value(n, &name, &value, whole);
        key_text(w, &name);
        bytes_put(w, &value);
    }
    end(w, MAP);
}

/* ---- notices ------------------------------------------------------------------------------ */

/* Return NULL if the subject of the change has no state. */
static const char *state_word(const struct usher_notice *n, unsigned state)
{
    const struct usher__hooks *hooks = usher__hooks((unsigned)n->noun);

    return hooks->told_state != NULL ? hooks->told_state(n, usher_notice_subject(n), state) : NULL;
}

static void key_state(struct usher__writer *w, const char *word, const char *state)
{
    struct usher_text t = { state, state != NULL ? strlen(state) : 0 };

    key(w, word);
    text_or_nil(w, &t);
}

static void notice(struct usher__writer *w, const struct usher_notice *n, bool within);

/* Write coalesced notices. */
static void together(struct usher__writer *w, const struct usher_notice *n,
                     const struct usher__copied *copied)
{
    struct usher_notice one;
    size_t at = 0;

    begin(w, ARRAY);
    while (copied->each(n, &at, &one))
        if (one.verb != copied->together) {
            element(w);
            notice(w, &one, true);
        }
    end(w, ARRAY);
}

/* Write a notice.  @within: it is one of the coalesced notices of another. */
static void notice(struct usher__writer *w, const struct usher_notice *n, bool within)
{
    const struct usher__copied *copied = usher__hooks((unsigned)n->noun)->copied;
    char scope[16 + USHER_NAME_MAX];

    (void)snprintf(scope, sizeof scope, "%s/%.*s", usher_noun_word(n->noun),
                   n->scope.size < USHER_NAME_MAX ? (int)n->scope.size : USHER_NAME_MAX,
                   n->scope.data);
    begin(w, MAP);
    key_word(w, "scope", scope);
    key(w, "epoch");
    epoch_put(w, n->epoch);
    key(w, "version");
    uint_put(w, n->version);
    if (n->before + 1 != n->version) { /* of several changes, or after a takeover */
        key(w, "before");
        uint_put(w, n->before);
    }
    key_word(w, "verb", usher_verb_word(n->verb));
    key(w, "subject");
    text_or_nil(w, &n->subject);
    key_state(w, "from", state_word(n, n->from));
    key_state(w, "to", state_word(n, n->to));
    key(w, "data");
    if (copied != NULL && n->verb == copied->together && !within)
        together(w, n, copied);
    else
        packed(w, &n->data, n);
    key(w, "owner");
    text_or_nil(w, &n->owner);
    key(w, "time");
    int_put(w, n->now_ms);
    if (copied == NULL && n->token != 0) {
        key(w, "token");
        w->form->token(w, n->token);
    }
    if (copied == NULL && n->until_ms != USHER_NONE) {
        key(w, "until");
        int_put(w, n->until_ms);
    }
    if (copied != NULL) {
        key(w, "was");
        uint_put(w, n->was);
        key(w, "mark");
        uint_put(w, n->mark);
    }
    end(w, MAP);
}

size_t usher_notice_write(const struct usher_notice *n, enum usher_form form, char *to, size_t size)
{
    struct usher__writer w = writer(form, to, size);

    if (n != NULL && w.form != NULL)
        notice(&w, n, false);
    return finish(&w);
}

/* ---- values of a reply -------------------------------------------------------------------- */

/* The values of an answer, of a row of it, or of the command. */
struct values {
    const struct usher_value *of;
    size_t n;
};

struct answer {
    const struct usher_reply *reply;
    const struct usher__noun *noun;
    uint32_t verb; /* the bit */
    bool partial;  /* it failed in part, and has the rest */
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

static struct usher_text value_text(const struct usher_value *v)
{
    struct usher_text t = { NULL, 0 };

    if (v != NULL && v->text != NULL) {
        t.data = v->text;
        t.size = (size_t)v->size;
    }
    return t;
}

static struct usher_text text_of(const struct values *values, uint32_t field)
{
    return value_text(find(values, field));
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
    if ((k->verbs & a->verb) == 0 || (!a->partial && (k->on >> a->reply->status & 1u) == 0) ||
        (k->as == USHER__AS_VERSIONS && find(&a->asked, USHER_FIELD_VERSIONS) == NULL))
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
    case USHER__WHEN_KIND: /* for an answer it selects rows */
        return values == &a->own || among(values, k);
    default:
        return true;
    }
}

/* Return whether row @i of the answer belongs to the key @k. */
static bool chosen(const struct answer *a, size_t i, const struct usher__key *k,
                   struct values *ret_row)
{
    *ret_row = row_of(a, i);
    return k->when != USHER__WHEN_KIND || among(ret_row, k);
}

/* ---- keys --------------------------------------------------------------------------------- */

static void code_put(struct usher__writer *w, const struct answer *a, uint32_t field, int64_t code)
{
    const char *word = usher_code_word((enum usher_noun)a->noun->noun, field, code);

    word_put(w, word != NULL ? word : "?");
}

static void none_put(struct usher__writer *w, uint8_t none)
{
    if (none == USHER__NONE_NIL)
        nil_put(w);
    else
        word_put(w, "");
}

static void text_put(struct usher__writer *w, const struct usher_value *v, bool any)
{
    struct usher_text t = value_text(v);

    if (v == NULL || !any)
        text_or_nil(w, &t);
    else
        bytes_put(w, &t);
}

/* Put a value; @v is NULL if there is none. */
static void value_put(struct usher__writer *w, const struct answer *a, const struct usher__key *k,
                      const struct usher_value *v)
{
    enum usher_type type = usher_about_field(k->field)->type;
    int64_t number = v != NULL ? v->number : 0;

    if (v == NULL && k->none != USHER__NONE_NULL)
        none_put(w, k->none);
    else if (type >= USHER_TYPE_TEXT)
        text_put(w, v, type == USHER_TYPE_BYTES);
    else if (k->as == USHER__AS_SHARE)
        w->form->share(w, number);
    else if (k->as == USHER__AS_NUMBER)
        uint_put(w, (uint64_t)number);
    else if (k->as == USHER__AS_EPOCH)
        epoch_put(w, (uint64_t)number);
    else if (type == USHER_TYPE_TOKEN)
        w->form->token(w, (uint64_t)number);
    else if (type == USHER_TYPE_CODE)
        code_put(w, a, k->field, number);
    else if (type == USHER_TYPE_BOOL)
        w->form->constant(w, number != 0 ? TRUE_VALUE : FALSE_VALUE);
    else if (v == NULL && usher__never_zero(k->field))
        nil_put(w);
    else
        int_put(w, number);
}

static void rooms(struct usher__writer *w, const struct answer *a)
{
    const struct usher__hooks *hooks = usher__hooks(a->noun->noun);
    int64_t n = number_of(&a->own, USHER_FIELD_ROOMS);
    uint64_t login = (uint64_t)number_of(&a->own, USHER_FIELD_LOGIN);
    char name[USHER__MADE_MAX];

    begin(w, ARRAY);
    for (int64_t i = 1; i <= n && hooks->place_name(a->reply->epoch, login, i, name); i++) {
        element(w);
        word_put(w, name);
    }
    end(w, ARRAY);
}

static void map(struct usher__writer *w, const struct answer *a, const struct usher__key *k)
{
    struct values row;

    begin(w, MAP);
    for (size_t i = 0; i < a->reply->n_rows; i++)
        if (chosen(a, i, k, &row)) {
            struct usher_text name = text_of(&row, USHER_FIELD_NAME);
            struct usher_text value = text_of(&row, k->field);

            key_text(w, &name);
            if (k->as == USHER__AS_VERSIONS)
                uint_put(w, (uint64_t)number_of(&row, k->field));
            else
                bytes_put(w, &value);
        }
    end(w, MAP);
}

static void own_fields(struct usher__writer *w, const struct usher_text *own)
{
    struct usher_fields f = usher__fields(own);
    struct usher_text name, value;
    uint64_t version;

    begin(w, MAP);
    while (own->size != 0 && usher_fields_next(&f, &name, &value, &version)) {
        key_text(w, &name);
        begin(w, MAP);
        key(w, "value");
        bytes_put(w, &value);
        key(w, "version");
        uint_put(w, version);
        end(w, MAP);
    }
    end(w, MAP);
}

static bool is_of_all(const struct answer *a, const struct values *row)
{
    const struct usher__copied *copied = usher__hooks(a->noun->noun)->copied;

    return copied != NULL && number_of(row, USHER_FIELD_KIND) == copied->row_of_all;
}

/* Return whether there is a value of all members for @name that was set after @version. */
static bool later_of_all(const struct answer *a, const struct usher_text *name, uint64_t version,
                         struct usher_text *ret_value)
{
    for (size_t i = 0; i < a->reply->n_rows; i++) {
        struct values row = row_of(a, i);
        struct usher_text id = text_of(&row, USHER_FIELD_NAME);

        if (is_of_all(a, &row) && usher__text_equal(&id, name) &&
            (uint64_t)number_of(&row, USHER_FIELD_VERSION) > version) {
            *ret_value = text_of(&row, USHER_FIELD_VALUE);
            return true;
        }
    }
    return false;
}

/* Put the fields of a member: of its own fields and those of all members, those set last. */
static void merged(struct usher__writer *w, const struct answer *a, const struct usher_text *own)
{
    struct usher_fields f = usher__fields(own);
    struct usher_text name, value, all;
    uint64_t version;

    begin(w, MAP);
    while (own->size != 0 && usher_fields_next(&f, &name, &value, &version)) {
        key_text(w, &name);
        bytes_put(w, later_of_all(a, &name, version, &all) ? &all : &value);
    }
    for (size_t i = 0; i < a->reply->n_rows; i++) {
        struct values row = row_of(a, i);
        struct usher_text id = text_of(&row, USHER_FIELD_NAME);
        bool has = false;

        if (!is_of_all(a, &row))
            continue;
        f = usher__fields(own);
        while (!has && own->size != 0 && usher_fields_next(&f, &name, &value, &version))
            has = usher__text_equal(&name, &id);
        if (!has) {
            value = text_of(&row, USHER_FIELD_VALUE);
            key_text(w, &id);
            bytes_put(w, &value);
        }
    }
    end(w, MAP);
}

static void notices(struct usher__writer *w, const struct answer *a)
{
    const struct usher__copied *copied = usher__hooks(a->noun->noun)->copied;
    struct usher_text scope = text_of(&a->asked, USHER__ECHO_SCOPE);

    begin(w, ARRAY);
    for (size_t i = 0; i < a->reply->n_rows; i++) {
        struct values row = row_of(a, i);
        const struct usher_value *kind = find(&row, USHER_FIELD_KIND);
        struct usher_text value = text_of(&row, USHER_FIELD_VALUE);
        struct usher_notice n;

        if ((kind == NULL || (copied != NULL && kind->number == copied->row_of_notice)) &&
            usher_notice_read((enum usher_noun)a->noun->noun, &scope, a->reply->epoch, &value,
                              &n) == USHER_OK) {
            element(w);
            notice(w, &n, false);
        }
    }
    end(w, ARRAY);
}

static void key_put(struct usher__writer *w, const struct answer *a, const struct values *values,
                    const struct usher__key *k);

static void row_keys(struct usher__writer *w, const struct answer *a, const struct values *row)
{
    for (const struct usher__key *k = a->noun->row_keys; k->verbs != 0; k++)
        key_put(w, a, row, k);
}

/* Put a key: the word of the field with _ for -. */
static void key_field(struct usher__writer *w, const struct usher__key *k)
{
    const char *word = k->key != NULL ? k->key : usher_about_field(k->field)->word;
    char name[40];
    struct usher_text t = { name, 0 };

    for (; word[t.size] != '\0' && t.size < sizeof name; t.size++)
        name[t.size] = word[t.size] == '-' ? '_' : word[t.size];
    key_text(w, &t);
}

/* Put @k of an answer or of a row, if it applies. */
static void key_put(struct usher__writer *w, const struct answer *a, const struct values *values,
                    const struct usher__key *k)
{
    const struct usher_value *v = find(values, k->field);
    struct values row;

    if (v == NULL && k->as == USHER__AS_ECHO)
        v = find(&a->asked, k->field);
    if (!applies(a, values, k) || (v == NULL && k->none == USHER__NONE_LEFT_OUT))
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
        value_put(w, a, k, a->reply->n_rows > 0 ? find(&row, k->field) : NULL);
        break;
    case USHER__AS_ROOMS:
        rooms(w, a);
        break;
    case USHER__AS_LIST:
    case USHER__AS_ROWS:
        begin(w, ARRAY);
        for (size_t i = 0; i < a->reply->n_rows; i++)
            if (chosen(a, i, k, &row)) {
                element(w);
                if (k->as == USHER__AS_LIST) {
                    value_put(w, a, k, find(&row, k->field));
                    continue;
                }
                begin(w, MAP);
                row_keys(w, a, &row);
                end(w, MAP);
            }
        end(w, ARRAY);
        break;
    case USHER__AS_MAP:
    case USHER__AS_VERSIONS:
        map(w, a, k);
        break;
    case USHER__AS_PACKED:
    case USHER__AS_OWN:
    case USHER__AS_MERGED: {
        struct usher_text t = text_of(values, k->field);

        if (k->as == USHER__AS_PACKED)
            packed(w, &t, NULL);
        else if (k->as == USHER__AS_OWN)
            own_fields(w, &t);
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

static void failed(struct usher__writer *w, const struct usher_reply *reply)
{
    key_word(w, "message", usher__message_of(reply));
    if (reply->status == USHER_LOST) {
        key(w, "from");
        uint_put(w, reply->version);
    }
}

static void answered(struct usher__writer *w, const struct usher_reply *reply, bool partial)
{
    struct answer a = { .reply = reply, .noun = usher__noun(reply->verb >> 8), .partial = partial };

    a.verb = USHER__VERB_BIT(reply->verb);
    a.own.of = usher_reply_values(reply, USHER_ANSWER, &a.own.n);
    a.asked.of = usher__reply_asked(reply, &a.asked.n);
    key(w, "epoch");
    epoch_put(w, reply->epoch);
    key(w, "version");
    uint_put(w, reply->version);
    key(w, "due");
    if (reply->due_ms != USHER_NEVER) {
        int_put(w, reply->due_ms);
        key(w, "now");
        int_put(w, reply->now_ms);
    } else {
        nil_put(w);
    }
    if (partial)
        key_word(w, "message", usher__message_of(reply));
    if (find(&a.asked, USHER_FIELD_IF_VERSION) == NULL) /* else there is nothing more */
        for (const struct usher__key *k = a.noun->keys; k->verbs != 0; k++)
            key_put(w, &a, &a.own, k);
    if (reply->message[0] != '\0' && !partial)
        key_word(w, "message", reply->message);
    if (reply->repeated) {
        key(w, "repeated");
        w->form->constant(w, TRUE_VALUE);
    }
    if (find(&a.asked, USHER_FIELD_WAIT) != NULL) {
        key(w, "replicas");
        uint_put(w, reply->replicas);
    }
}

size_t usher_reply_write(const struct usher_reply *reply, enum usher_form form, char *to,
                         size_t size)
{
    struct usher__writer w = writer(form, to, size);
    bool is_failed, partial;

    if (reply == NULL || w.form == NULL)
        return finish(&w);
    partial = usher_reply_int(reply, USHER_ANSWER, USHER_FIELD_PARTIAL) == 1;
    is_failed = USHER_CLASS_OF(reply->status) >= USHER_CLASS_WRONG && !partial;
    if (is_failed && w.form->failed != NULL) {
        w.form->failed(&w, reply);
        return finish(&w);
    }
    begin(&w, MAP);
    key_word(&w, "status", usher_status_word(reply->status));
    if (is_failed)
        failed(&w, reply);
    else
        answered(&w, reply, partial && USHER_CLASS_OF(reply->status) >= USHER_CLASS_WRONG);
    end(&w, MAP);
    return finish(&w);
}
