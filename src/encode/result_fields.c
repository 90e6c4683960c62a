/* SPDX-License-Identifier: MIT */
/* Values of a result that are no field of a table: those that logs keep as bytes, and those of the
 * hooks of its noun. */
#include "config.h"

#include "encode/result_fields.h"

#include <stdlib.h>

#include "core/pack.h"
#include "encode/reply.h"

static const uint32_t notice_fields[] = { USHER_FIELD_VERB,     USHER_FIELD_SUBJECT,
                                          USHER_FIELD_BEFORE,   USHER_FIELD_FROM_STATE,
                                          USHER_FIELD_TO_STATE, USHER_FIELD_TOKEN,
                                          USHER_FIELD_UNTIL,    USHER_FIELD_DATA,
                                          USHER_FIELD_TIME };
/* The fields after those. */
static const uint32_t marks[] = { USHER_FIELD_WAS, USHER_FIELD_MARK };
static const uint32_t whose[] = { USHER_FIELD_OWNER, USHER_FIELD_VERSION };
#define NOTICE_FIELDS (sizeof notice_fields / sizeof *notice_fields)
/* Maximum fields that a row of `changes` has in the table and of its notice. */
#define OF_NOTICE_MAX 32

/* Return whether @f is one of the @n fields of @list. */
static bool is_in(const uint32_t *list, size_t n, uint32_t f)
{
    while (n > 0)
        if (list[--n] == f)
            return true;
    return false;
}

/* Return the @i-th field that a row has of the subject and the data of its notice; 0: no more.
 * Fields that the table of rows has for the verb @bit are left out. */
static uint32_t of_notice(const struct usher__noun *noun, uint32_t bit, size_t i)
{
    uint32_t fields[OF_NOTICE_MAX];
    size_t n, n_table = 0;

    for (unsigned k = 0; k < noun->n_row; k++)
        if ((noun->row[k].verbs & bit) != 0 && n_table < OF_NOTICE_MAX)
            fields[n_table++] = noun->row[k].code;
    n = n_table;
    for (const struct usher__notice_subject *s = noun->notice_subjects; s->kind != 0; s++) {
        const uint32_t of[] = { s->name, s->state, s->owner };

        for (size_t k = 0; k < 3; k++)
            if (of[k] != 0 && n < OF_NOTICE_MAX && !is_in(fields, n, of[k]))
                fields[n++] = of[k];
    }
    for (const uint16_t *f = noun->notice_data; *f != 0; f++)
        if (n < OF_NOTICE_MAX && !is_in(fields, n, *f))
            fields[n++] = *f;
    return i < n - n_table ? fields[n_table + i] : 0;
}

uint32_t usher__result_extra(uint32_t verb, bool rows, size_t i)
{
    const struct usher__hooks *hooks = usher__hooks(verb >> 8);

    if (!rows)
        return hooks->extras != NULL && hooks->extras->says != NULL ? hooks->extras->says(verb, i)
                                                                    : 0;
    if (!usher__verb_is_changes(verb))
        return 0;
    if (i < NOTICE_FIELDS)
        return notice_fields[i];
    i -= NOTICE_FIELDS;
    if (i < 2)
        return hooks->copied != NULL ? marks[i] : whose[i];
    return of_notice(usher__noun(verb >> 8), USHER__VERB_BIT(verb), i - 2);
}

const struct usher__field *usher__result_notices(const struct usher__noun *noun, uint32_t verb)
{
    for (unsigned k = 0; k < noun->n_row; k++)
        if (noun->row[k].code == USHER_FIELD_VALUE &&
            (noun->row[k].verbs & USHER__VERB_BIT(verb)) != 0)
            return &noun->row[k];
    return NULL;
}

/* Return whether @name is that of @field in data: its name in small letters, or its word. */
static bool is_named(uint32_t field, const struct usher_text *name)
{
    const struct usher_field_about *about = usher_about_field(field);
    size_t i = 0;

    if (strlen(about->word) == name->size && memcmp(about->word, name->data, name->size) == 0)
        return true;
    for (; i < name->size && about->name[i] != '\0'; i++) {
        char c = about->name[i];

        if ((c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c) != name->data[i])
            return false;
    }
    return i == name->size && about->name[i] == '\0';
}

/* Put the value of @field, of @noun, that data have as the text @value: words of codes, and
 * digits. */
static void put_data(usher__put *put, void *to, enum usher_noun noun, uint32_t field,
                     const struct usher_text *value)
{
    enum usher_type type = usher_about_field(field)->type;
    char text[USHER_NAME_MAX + 1], *end;
    const char *word;
    int64_t number;

    if (type >= USHER_TYPE_TEXT) {
        usher__put_text(put, to, field, value->data, value->size);
        return;
    }
    if (value->size == 0 || value->size > USHER_NAME_MAX)
        return;
    memcpy(text, value->data, value->size);
    text[value->size] = '\0';
    for (int64_t code = 0; type == USHER_TYPE_CODE && code <= UINT8_MAX; code++) {
        word = usher_code_word(noun, field, code);
        if (word != NULL && strcmp(word, text) == 0) {
            usher__put_number(put, to, field, code);
            return;
        }
    }
    number = strtoll(text, &end, 10);
    if (type != USHER_TYPE_CODE && *end == '\0')
        usher__put_number(put, to, field, number);
}

/* Put the fields that are in the data of @n.  A field that comes twice is put once. */
static void put_all_data(usher__put *put, void *to, const struct usher_notice *n,
                         const struct usher__noun *noun)
{
    const struct usher__hooks *hooks = usher__hooks(noun->noun);
    struct usher_fields f = usher__fields(&n->data);
    struct usher_text name, value;
    char whole[USHER__TOLD_VALUE];
    uint64_t version, done = 0;

    while (usher_fields_next(&f, &name, &value, &version))
        for (size_t i = 0; noun->notice_data[i] != 0; i++)
            if ((done >> i & 1u) == 0 && is_named(noun->notice_data[i], &name)) {
                done |= UINT64_C(1) << i;
                if (hooks->told_value != NULL)
                    hooks->told_value(n, &name, &value, whole);
                put_data(put, to, n->noun, noun->notice_data[i], &value);
            }
}

void usher__result_put_notice(usher__put *put, void *to, const struct usher_notice *n)
{
    const struct usher__noun *noun = usher__noun((unsigned)n->noun);
    const struct usher__notice_subject *s = noun->notice_subjects;
    bool marked = usher__hooks(noun->noun)->copied != NULL;

    usher__put_number(put, to, USHER_FIELD_VERB, n->verb);
    if (n->subject.size != 0)
        usher__put_text(put, to, USHER_FIELD_SUBJECT, n->subject.data, n->subject.size);
    usher__put_number(put, to, USHER_FIELD_BEFORE, (int64_t)n->before);
    usher__put_number(put, to, USHER_FIELD_FROM_STATE, n->from);
    usher__put_number(put, to, USHER_FIELD_TO_STATE, n->to);
    if (n->token != 0)
        usher__put_number(put, to, USHER_FIELD_TOKEN, (int64_t)n->token);
    if (n->until_ms != USHER_NONE)
        usher__put_number(put, to, USHER_FIELD_UNTIL, n->until_ms);
    usher__put_text(put, to, USHER_FIELD_DATA, n->data.data, n->data.size);
    usher__put_number(put, to, USHER_FIELD_TIME, n->now_ms);
    if (marked) {
        usher__put_number(put, to, USHER_FIELD_WAS, (int64_t)n->was);
        usher__put_number(put, to, USHER_FIELD_MARK, (int64_t)n->mark);
    } else {
        if (n->owner.size != 0)
            usher__put_text(put, to, USHER_FIELD_OWNER, n->owner.data, n->owner.size);
        usher__put_number(put, to, USHER_FIELD_VERSION, (int64_t)n->version);
    }
    while (s->kind != 0 && s->kind != (uint8_t)usher_notice_subject(n))
        s++;
    if (s->kind != 0) {
        if (s->name != 0)
            usher__put_text(put, to, s->name, n->subject.data, n->subject.size);
        if (s->state != 0)
            usher__put_number(put, to, s->state, n->to);
        if (s->owner != 0 && n->owner.size != 0)
            usher__put_text(put, to, s->owner, n->owner.data, n->owner.size);
    }
    put_all_data(put, to, n, noun);
}

void usher__result_notice(usher__put *put, void *to, const struct usher_operation *op,
                          const struct usher_result *r, const char *base)
{
    const struct usher__field *field =
        usher__result_notices(usher__noun((unsigned)r->noun), (uint32_t)op->verb);
    struct usher_text value = { NULL, 0 };
    struct usher_notice n;

    if (field != NULL)
        memcpy(&value, base + field->offset, sizeof value);
    if (usher_notice_read(r->noun, &op->scope, r->epoch, &value, &n) == USHER_OK)
        usher__result_put_notice(put, to, &n);
}

/* Settings and statistics exist with the scope. */
bool usher__result_has_extras(const struct usher_operation *op, const struct usher_result *r)
{
    const struct usher__extras *extras = usher__hooks((unsigned)r->noun)->extras;

    return r->status != USHER_MISSING && (extras == NULL || extras->has(op, r));
}

size_t usher__result_rows(const struct usher_operation *op, const struct usher_result *r)
{
    const struct usher__hooks *hooks = usher__hooks((unsigned)r->noun);
    size_t n;

    if (hooks->rows != NULL)
        return hooks->rows->count(op, r);
    memcpy(&n, (const char *)r + usher__noun((unsigned)r->noun)->n_rows_at, sizeof n);
    return n;
}
