/* SPDX-License-Identifier: MIT */
/* What a result says that no field of a table says by itself: names that are made of numbers, the
 * form of serials, what logs keep as bytes; and what of it holds for which command.
 */
#include "config.h"

#include "engine/see.h"

#include "engine/reply.h"

static const uint32_t form_fields[] = {
    USHER_FIELD_PREFIX, USHER_FIELD_SUFFIX,   USHER_FIELD_DATE,  USHER_FIELD_WIDTH,
    USHER_FIELD_BASE,   USHER_FIELD_STEP,     USHER_FIELD_RADIX, USHER_FIELD_CHECK,
    USHER_FIELD_ZONE,   USHER_FIELD_OVERFLOW,
};
static const uint32_t part_fields[] = { USHER_FIELD_PREFIX,     USHER_FIELD_DATE,
                                        USHER_FIELD_SUFFIX,     USHER_FIELD_NUMBER_MADE,
                                        USHER_FIELD_TEXT_VALUE, USHER_FIELD_CHECK_DIGIT };
static const uint32_t notice_fields[] = { USHER_FIELD_VERB,     USHER_FIELD_SUBJECT,
                                          USHER_FIELD_BEFORE,   USHER_FIELD_FROM_STATE,
                                          USHER_FIELD_TO_STATE, USHER_FIELD_TOKEN,
                                          USHER_FIELD_UNTIL,    USHER_FIELD_DATA,
                                          USHER_FIELD_TIME };
/* Only rooms have marks; and a row of theirs has an owner and a version besides. */
static const uint32_t marks[] = { USHER_FIELD_WAS, USHER_FIELD_MARK };
static const uint32_t whose[] = { USHER_FIELD_OWNER, USHER_FIELD_VERSION };
#define NOTICE_FIELDS (sizeof notice_fields / sizeof *notice_fields)

uint32_t usher__seen_more(uint32_t verb, bool rows, size_t i)
{
    const uint32_t *list = NULL;
    size_t n = 0;

    if (!rows && (verb == USHER_SERIAL_RULE || verb == USHER_SERIAL_SHOW)) {
        list = form_fields;
        n = sizeof form_fields / sizeof *form_fields;
    } else if (!rows && verb == USHER_SERIAL_PARSE) {
        list = part_fields;
        n = sizeof part_fields / sizeof *part_fields;
    } else if (rows && usher__see_is_changes(verb)) {
        if (i >= NOTICE_FIELDS) {
            list = verb == USHER_ROOM_CHANGES ? marks : whose;
            i -= NOTICE_FIELDS;
            n = 2;
        } else {
            list = notice_fields;
            n = NOTICE_FIELDS;
        }
    }
    return i < n ? list[i] : 0;
}

bool usher__see_more_of(const struct usher_result *r)
{
    const struct usher__noun *noun = usher__noun((unsigned)r->noun);
    unsigned at = noun->n_out_at > USHER_FIELD_MORE ? noun->out_at[USHER_FIELD_MORE] : 0;
    bool more = false;

    if (at != 0)
        memcpy(&more, (const char *)r + noun->outs[at - 1].offset, sizeof more);
    return more;
}

void usher__see_room(usher__put *put, void *to, uint64_t epoch, uint64_t login, int64_t no)
{
    char name[USHER_QUEUE_ROOM_MAX];

    if (no != 0 && *usher_queue_room_name(name, epoch, login, no) != '\0')
        usher__put_text(put, to, USHER_FIELD_ROOM, name, strlen(name));
}

void usher__see_form(usher__put *put, void *to, const struct usher_operation *op,
                     const struct usher_result *r)
{
    struct usher_serial_form f;

    if (!usher_serial_form_of(r, &f))
        return;
    usher__put_text(put, to, USHER_FIELD_PREFIX, f.prefix, strlen(f.prefix));
    usher__put_text(put, to, USHER_FIELD_SUFFIX, f.suffix, strlen(f.suffix));
    if (op->verb == USHER_SERIAL_PARSE) {
        const struct usher_serial_parts *p = &r->of.serial.of.parts;
        char check = (char)p->check;

        usher__put_text(put, to, USHER_FIELD_DATE, op->arg.serial.serial.data + p->date_at,
                        (size_t)p->date_size);
        usher__put_number(put, to, USHER_FIELD_NUMBER_MADE, p->number);
        usher__put_number(put, to, USHER_FIELD_TEXT_VALUE, p->value);
        if (check != '\0')
            usher__put_text(put, to, USHER_FIELD_CHECK_DIGIT, &check, 1);
        return;
    }
    usher__put_text(put, to, USHER_FIELD_DATE, f.date, strlen(f.date));
    usher__put_number(put, to, USHER_FIELD_WIDTH, f.width);
    usher__put_number(put, to, USHER_FIELD_BASE, f.base);
    usher__put_number(put, to, USHER_FIELD_STEP, f.step);
    usher__put_number(put, to, USHER_FIELD_RADIX, f.radix);
    usher__put_number(put, to, USHER_FIELD_CHECK, f.check);
    usher__put_number(put, to, USHER_FIELD_ZONE, f.zone_min);
    usher__put_number(put, to, USHER_FIELD_OVERFLOW, f.overflow);
}

void usher__see_notice(usher__put *put, void *to, const struct usher_operation *op,
                       const struct usher_result *r, const char *base)
{
    const struct usher__noun *noun = usher__noun((unsigned)r->noun);
    struct usher_text value = { NULL, 0 };
    struct usher_notice n;

    for (unsigned k = 0; k < noun->n_row; k++)
        if (noun->row[k].code == USHER_FIELD_VALUE)
            memcpy(&value, base + noun->row[k].offset, sizeof value);
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
    if (r->noun == USHER_ROOM) {
        usher__put_number(put, to, USHER_FIELD_WAS, (int64_t)n.was);
        usher__put_number(put, to, USHER_FIELD_MARK, (int64_t)n.mark);
        return;
    }
    if (n.owner.size != 0)
        usher__put_text(put, to, USHER_FIELD_OWNER, n.owner.data, n.owner.size);
    usher__put_number(put, to, USHER_FIELD_VERSION, (int64_t)n.version);
}

/* The rule itself is asked for. */
bool usher__see_is_rule(const struct usher_operation *op)
{
    return op->verb == USHER_SERIAL_RULE || op->verb == USHER_SERIAL_PARSE ||
           (op->verb == USHER_SERIAL_SHOW && op->arg.serial.serial.data == NULL);
}

/* A verb of a queue may be of an agent or of a user, and the result has fields of both. */
bool usher__see_applies(const struct usher__field *f, const struct usher_operation *op,
                        const struct usher_queue_result *q)
{
    bool agent = op->arg.queue.agent.data != NULL;

    switch (f->code) {
    case USHER_FIELD_ROOM:
        return op->verb != USHER_QUEUE_ALIVE || !agent;
    case USHER_FIELD_LOGIN:
    case USHER_FIELD_ROOMS:
        return q->login != 0 && agent;
    case USHER_FIELD_AGENT_STATE:
        return agent || q->state != USHER_QUEUE_AGENT_GONE;
    case USHER_FIELD_INDEX:
    case USHER_FIELD_WAIT_MS:
        return q->place != USHER_QUEUE_PLACE_NONE;
    default:
        return true;
    }
}

/* Settings and figures are those of what is there. */
bool usher__see_extras(const struct usher_operation *op, const struct usher_result *r)
{
    return r->status != USHER_MISSING &&
           (op->verb != USHER_SERIAL_SHOW || usher__see_is_rule(op)) &&
           (op->verb != USHER_ROOM_OPEN || USHER_IS_DONE(r->status));
}

/* Rows as a program sees them: the rows of a result, but of serials that were taken one each. */
size_t usher__see_rows(const struct usher_operation *op, const struct usher_result *r)
{
    const struct usher__noun *noun = usher__noun((unsigned)r->noun);
    size_t n;

    memcpy(&n, (const char *)r + noun->n_rows_at, sizeof n);
    /* a rule is shown by a row of no numbers, in which only its form is */
    if (usher__see_is_rule(op))
        return 0;
    if (op->verb == USHER_SERIAL_TAKE) {
        size_t all = 0;

        for (size_t i = 0; i < n; i++)
            all += (size_t)r->of.serial.rows[i].n;
        return all;
    }
    return n;
}
