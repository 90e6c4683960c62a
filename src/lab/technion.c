/* SPDX-License-Identifier: MIT */
/*
 * Call centre records of the Technion's "Anonymous Bank" (Guedj and Mandelbaum): 17 columns
 * between tabs.  A call holds its line from vru_entry to the later of vru_exit and q_exit;
 * 0:00:00 means that it did not happen.  Times of day without a zone are taken for UTC.
 *
 * As they are, the records have rows that are no calls (PHANTOM), exits some seconds before
 * their entry, and exits past midnight under the date of the entry.
 */
#include "config.h"

#include "lab/calls.h"

#include <string.h>

#include "core/text.h"

static const char *const technion_columns[] = {
    "vru+line",  "call_id",   "customer_id", "priority", "type",   "date",
    "vru_entry", "vru_exit",  "vru_time",    "q_start",  "q_exit", "q_time",
    "outcome",   "ser_start", "ser_exit",    "ser_time", "server",
};
enum {
    TECHNION_LINE,
    TECHNION_PRIORITY = 3,
    TECHNION_TYPE,
    TECHNION_DATE,
    TECHNION_ENTRY,
    TECHNION_EXIT,
    TECHNION_QUEUE_START = 9,
    TECHNION_QUEUE_EXIT,
    TECHNION_OUTCOME = 12,
    TECHNION_SERVICE_TIME = 15,
    TECHNION_SERVER,
    TECHNION_COLUMNS
};

#define DAY_S INT64_C(86400)

bool usher__technion_is(const char *row, size_t size)
{
    static const char begin[] = "vru+line\t";

    return size >= sizeof begin - 1 && memcmp(row, begin, sizeof begin - 1) == 0;
}

static bool technion_word(const struct usher_text *field, const char *word)
{
    return field->size == strlen(word) && memcmp(field->data, word, field->size) == 0;
}

const char *usher__technion_header(const struct usher_text *fields, size_t n)
{
    if (n != TECHNION_COLUMNS)
        return "the header has not the 17 columns of a Technion file";
    for (size_t i = 0; i < n; i++)
        if (!technion_word(&fields[i], technion_columns[i]))
            return "the header has not the columns of a Technion file";
    return NULL;
}

/* @n digits at @p. */
static bool technion_digits(const char *p, size_t n, int64_t *ret)
{
    *ret = 0;
    for (size_t i = 0; i < n; i++) {
        if (p[i] < '0' || p[i] > '9')
            return false;
        *ret = *ret * 10 + (p[i] - '0');
    }
    return true;
}

/* H:MM:SS or HH:MM:SS. */
static bool technion_time(const struct usher_text *field, int64_t *ret_s)
{
    const char *p = field->data;
    size_t hours; /* digits of the hour */
    int64_t h, m, s;

    if (field->size != 7 && field->size != 8)
        return false;
    hours = field->size - 6;
    if (!technion_digits(p, hours, &h) || p[hours] != ':' ||
        !technion_digits(p + hours + 1, 2, &m) || p[hours + 3] != ':' ||
        !technion_digits(p + hours + 4, 2, &s) || h > 23 || m > 59 || s > 59)
        return false;
    *ret_s = h * 3600 + m * 60 + s;
    return true;
}

/* yymmdd */
static bool technion_date(const struct usher_text *field, int64_t *ret_day)
{
    int64_t y, m, d;

    return field->size == 6 && technion_digits(field->data, 2, &y) &&
           technion_digits(field->data + 2, 2, &m) && technion_digits(field->data + 4, 2, &d) &&
           usher__calls_day(y >= 70 ? 1900 + y : 2000 + y, m, d, ret_day);
}

/* An exit more than half a day before the entry was on the next day. */
static int64_t technion_after(int64_t entry, int64_t exit)
{
    return exit < entry - DAY_S / 2 ? exit + DAY_S : exit;
}

/* At most 7 digits. */
static bool technion_number(const struct usher_text *field, int64_t *ret)
{
    return field->size >= 1 && field->size <= 7 && technion_digits(field->data, field->size, ret);
}

/*
 * The caller and the agents.  @entry is when the call came in, @exit when the voice unit let
 * it go, in seconds of day @day.  A caller that is served without waiting has no queue entry.  A
 * caller that hangs up has one, or hung up before the queue.
 */
static const char *technion_queue(struct calls *c, const struct usher_text *fields, int64_t day,
                                  int64_t entry, int64_t exit, struct call *call)
{
    const struct usher_text *type = &fields[TECHNION_TYPE], *server = &fields[TECHNION_SERVER];
    bool served = technion_word(&fields[TECHNION_OUTCOME], "AGENT");
    int64_t priority, start = 0, end = 0, service;

    if (!technion_number(&fields[TECHNION_PRIORITY], &priority) ||
        priority > USHER_QUEUE_PRIORITY_MAX)
        return "priority is not a number from 0 to 1000";
    if (!technion_time(&fields[TECHNION_QUEUE_START], &start))
        return "q_start is not h:mm:ss";
    if (!technion_number(&fields[TECHNION_SERVICE_TIME], &service))
        return "ser_time is not a number";
    if (usher__name_fault(type->data, type->size) != NULL ||
        memchr(type->data, ',', type->size) != NULL || (type->size == 1 && type->data[0] == '*'))
        return "type is not the name of one lane";
    if (usher__name_fault(server->data, server->size) != NULL)
        return "server is empty, too long or not UTF-8 without control characters";
    (void)technion_time(&fields[TECHNION_QUEUE_EXIT], &end);

    call->priority = (uint16_t)priority;
    call->lane = usher__calls_index(&c->lanes, type->data, type->size);
    call->served = served;
    call->waited = start != 0;
    c->services = c->outcomes = true;
    if (start != 0) {
        start = technion_after(entry, start);
        end = technion_after(start, end);
        call->queue_ms = (day * DAY_S + start) * 1000;
        call->wait_ms = end > start ? (end - start) * 1000 : 0;
    } else if (served) {
        call->queue_ms = (day * DAY_S + (exit > entry ? exit : entry)) * 1000;
        call->wait_ms = 0;
    }
    if (!served) {
        call->patience_ms = call->wait_ms;
        return NULL;
    }
    call->service_ms = service * 1000;
    if (!technion_word(server, "NO_SERVER"))
        call->agent = usher__calls_index(&c->agents, server->data, server->size);
    return NULL;
}

const char *usher__technion_row(struct calls *c, const struct usher_text *fields, size_t n,
                                uint64_t row)
{
    int64_t day, entry, exit, vru_exit, queue_exit;
    struct call *call;
    const char *fault;

    (void)n; /* is TECHNION_COLUMNS */
    if (technion_word(&fields[TECHNION_OUTCOME], "PHANTOM")) {
        c->left_out++;
        return NULL;
    }
    if (!technion_word(&fields[TECHNION_OUTCOME], "AGENT") &&
        !technion_word(&fields[TECHNION_OUTCOME], "HANG"))
        return "outcome is none of AGENT, HANG, PHANTOM";
    if (!technion_date(&fields[TECHNION_DATE], &day))
        return "date is not yymmdd";
    if (!technion_time(&fields[TECHNION_ENTRY], &entry))
        return "vru_entry is not h:mm:ss";
    if (!technion_time(&fields[TECHNION_EXIT], &exit))
        return "vru_exit is not h:mm:ss";
    if (!technion_time(&fields[TECHNION_QUEUE_EXIT], &queue_exit))
        return "q_exit is not h:mm:ss";

    if (exit < entry && technion_after(entry, exit) == exit)
        c->backwards++; /* the queue's exit may still be after the entry */
    exit = vru_exit = technion_after(entry, exit);
    if (queue_exit != 0 && technion_after(entry, queue_exit) > exit)
        exit = technion_after(entry, queue_exit);
    if (exit < entry)
        exit = entry;
    if (exit >= DAY_S)
        c->midnight++;
    fault = usher__calls_add(c, fields[TECHNION_LINE].data, fields[TECHNION_LINE].size,
                             (day * DAY_S + entry) * 1000, (day * DAY_S + exit) * 1000, row, &call);
    return fault == NULL ? technion_queue(c, fields, day, entry, vru_exit, call) : fault;
}
