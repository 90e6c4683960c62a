/* SPDX-License-Identifier: MIT */
/* Values of a result that are no field of a table: those that logs keep as bytes, and those of the
 * hooks of its noun. */
#include "config.h"

#include "encode/result_fields.h"

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
    if (i >= 2)
        return 0;
    return hooks->copied != NULL ? marks[i] : whose[i];
}

const struct usher__field *usher__result_notices(const struct usher__noun *noun, uint32_t verb)
{
    for (unsigned k = 0; k < noun->n_row; k++)
        if (noun->row[k].code == USHER_FIELD_VALUE &&
            (noun->row[k].verbs & USHER__VERB_BIT(verb)) != 0)
            return &noun->row[k];
    return NULL;
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
    if (usher_notice_read(r->noun, &op->scope, r->epoch, &value, &n) != USHER_OK)
        return;
    usher__put_number(put, to, USHER_FIELD_VERB, n.verb);
    if (n.subject.size != 0)
        usher__put_text(put, to, USHER_FIELD_SUBJECT, n.subject.data, n.subject.size);
    usher__put_number(put, to, USHER_FIELD_BEFORE, (int64_t)n.before);
    usher__put_number(put, to, USHER_FIELD_FROM_STATE, n.from);
    usher__put_number(put, to, USHER_FIELD_TO_STATE, n.to);
    if (n.token != 0)
        usher__put_number(put, to, USHER_FIELD_TOKEN, (int64_t)n.token);
    if (n.until_ms != 0)
        usher__put_number(put, to, USHER_FIELD_UNTIL, n.until_ms);
    usher__put_text(put, to, USHER_FIELD_DATA, n.data.data, n.data.size);
    usher__put_number(put, to, USHER_FIELD_TIME, n.now_ms);
    if (usher__hooks((unsigned)r->noun)->copied != NULL) {
        usher__put_number(put, to, USHER_FIELD_WAS, (int64_t)n.was);
        usher__put_number(put, to, USHER_FIELD_MARK, (int64_t)n.mark);
        return;
    }
    if (n.owner.size != 0)
        usher__put_text(put, to, USHER_FIELD_OWNER, n.owner.data, n.owner.size);
    usher__put_number(put, to, USHER_FIELD_VERSION, (int64_t)n.version);
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
