/* SPDX-License-Identifier: MIT */
/* The transition tables as text: for people, for pictures, and for the Redis script. */
#include "config.h"

#include <usher/usher.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/number.h"
#include "core/verbs.h"
#include "engine/engine.h"
#include "steps/work.h"
#ifdef USHER_WITH_REDIS
#include "../backends/redis/script.h"
#endif

/* A text that may be longer than the room for it; `length` goes on counting. */
struct out {
    char *to;
    size_t size, length;
};

static void put(struct out *o, const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 2, 3)))
#endif
    ;

static void put(struct out *o, const char *format, ...)
{
    size_t used = o->length < o->size ? o->length : o->size;
    va_list ap;
    int n;

    va_start(ap, format);
    n = vsnprintf(o->size > used ? o->to + used : NULL, o->size - used, format, ap);
    va_end(ap);
    if (n > 0)
        o->length += (size_t)n;
}

/* ---- for people -------------------------------------------------------------------- */

static void number_markdown(struct out *o)
{
    struct usher__number_row row;

    put(o, "| state | meaning |\n| --- | --- |\n");
    for (unsigned s = 0; s < USHER__NUMBER_STATES; s++)
        put(o, "| %s | %s |\n", usher_number_state_word((enum usher_number_state)s),
            usher__number_state_text(s));
    put(o, "\n| event | meaning |\n| --- | --- |\n");
    for (unsigned e = 0; e < USHER__NUMBER_EVENTS; e++)
        put(o, "| %s | %s |\n", usher__number_event_word(e), usher__number_event_text(e));
    put(o, "\n| from | event | by whom | to | status | why |\n"
           "| --- | --- | --- | --- | --- | --- |\n");
    for (unsigned i = 0; usher__number_row(i, &row); i++)
        put(o, "| %s | %s | %s | %s | %s | %s |\n",
            usher_number_state_word((enum usher_number_state)row.from),
            usher__number_event_word(row.event), usher__claim_word(row.claim),
            usher_number_state_word((enum usher_number_state)row.to),
            usher_status_word((enum usher_status)row.status), row.why);
}

/* Does row @row lead from @from to @to and change something? */
static bool leads(const struct usher__number_row *row, unsigned from, unsigned to)
{
    return row->from == from && row->to == to && row->status == USHER_OK;
}

/* The events that lead from one state to another, on one arrow. */
static void number_dot(struct out *o)
{
    put(o, "digraph number {\n    rankdir=LR;\n    node [shape=box, style=rounded];\n");
    for (unsigned s = 0; s < USHER__NUMBER_STATES; s++)
        put(o, "    \"%s\" [tooltip=\"%s\"];\n",
            usher_number_state_word((enum usher_number_state)s), usher__number_state_text(s));
    for (unsigned from = 0; from < USHER__NUMBER_STATES; from++) {
        for (unsigned to = 0; to < USHER__NUMBER_STATES; to++) {
            struct usher__number_row row;
            unsigned said = USHER__NUMBER_EVENTS;

            for (unsigned i = 0; usher__number_row(i, &row); i++) {
                if (!leads(&row, from, to) || row.event == said)
                    continue;
                if (said == USHER__NUMBER_EVENTS)
                    put(o, "    \"%s\" -> \"%s\" [label=\"",
                        usher_number_state_word((enum usher_number_state)from),
                        usher_number_state_word((enum usher_number_state)to));
                else
                    put(o, ", ");
                put(o, "%s", usher__number_event_word(row.event));
                said = row.event;
            }
            if (said != USHER__NUMBER_EVENTS)
                put(o, "\"];\n");
        }
    }
    put(o, "}\n");
}

/* ---- for Lua ----------------------------------------------------------------------- */

/* Upper case, with _ for +: the name of a constant. */
static void put_name(struct out *o, const char *word)
{
    for (; *word != '\0'; word++)
        put(o, "%c", *word == '+' ? '_' : *word >= 'a' && *word <= 'z' ? *word - 32 : *word);
}

static char kind_letter(const struct usher__arg *arg)
{
    if (arg->given == 0)
        return 't';
    return arg->type == USHER__ARG_TOKEN ? 'k' : arg->min < 0 ? 'z' : 'n';
}

/* One script, one key a meaning: `sticky` of a call and of the settings are two. */
static const char *script_key(const struct usher__arg *arg)
{
    return arg->given == USHER_GIVEN_STICKY_MS ? "sticky-ms" : arg->word;
}

/*
 * Constants, made anew at every call of the script: so tables are strings, looked up by
 * position.  Words stand in columns of fixed width; a move is two characters, the state
 * from '0' and the status from 'A'.
 */
static void number_lua(struct out *o)
{
    const struct usher__noun *noun = usher__noun(USHER_NUMBER);

    put(o, "local NOUN = '%s'\nlocal STATES = '", noun->word);
    for (unsigned s = 0; s < USHER__NUMBER_STATES; s++)
        put(o, "%-10s", usher_number_state_word((enum usher_number_state)s));
    put(o, "'\nlocal STATUSES = '");
    for (unsigned s = 0; s <= USHER_NOMEM; s++)
        put(o, "%-12s", usher_status_word((enum usher_status)s));
    put(o, "'\nlocal WHYS = '");
    for (unsigned w = 0; w <= USHER_WHY_RESTING; w++)
        put(o, "%-8s", usher_number_why_word((enum usher_number_why)w));
    put(o, "'\nlocal VERBS = '");
    for (unsigned i = 0; i < noun->n_verbs; i++)
        put(o, " %s=%u", noun->verbs[i].word, noun->verbs[i].verb);
    put(o, " '\nlocal ARGUMENTS = ' now=n req=t epoch=t watch=n");
    for (unsigned i = 0; i < noun->n_args; i++)
        put(o, " %s=%c", script_key(&noun->args[i]), kind_letter(&noun->args[i]));
    put(o, "'\nlocal MOVES = '");
    for (unsigned s = 0; s < USHER__NUMBER_STATES; s++)
        for (unsigned e = 0; e < USHER__NUMBER_EVENTS; e++)
            for (unsigned c = 0; c < USHER__CLAIMS; c++) {
                struct usher__number_move m = usher__number_move(s, e, c);

                put(o, "%c%c", '0' + m.to, 'A' + m.status);
            }
    put(o, "'\nlocal EVENTS, CLAIMS = %d, %d\n", USHER__NUMBER_EVENTS, USHER__CLAIMS);
    for (unsigned s = 0; s < USHER__NUMBER_STATES; s++) {
        put(o, "local ");
        put_name(o, usher_number_state_word((enum usher_number_state)s));
        put(o, " = %u\n", s);
    }
    for (unsigned e = 0; e < USHER__NUMBER_EVENTS; e++) {
        put(o, "local ");
        put_name(o, usher__number_event_word(e));
        put(o, " = %u\n", e);
    }
    for (unsigned c = 0; c < USHER__CLAIMS; c++) {
        put(o, "local ");
        put_name(o, c == USHER__CLAIM_RESTING ? "resting" : usher__claim_word(c));
        put(o, " = %u\n", c);
    }
    put(o, "local QUEUED = '%llu'\nlocal REQUEST_MS = %lld\nlocal DRAW_STEPS = %d\n",
        (unsigned long long)USHER__RANK_QUEUED, (long long)USHER__REQUEST_MS, USHER__DRAW_STEPS);
}

/* ------------------------------------------------------------------------------------ */

static enum usher_status arguments(const char *call, const char *noun, const char *buffer,
                                   size_t size, const size_t *ret_length)
{
    usher__message_set("%s", "");
    if (noun == NULL || ret_length == NULL || (buffer == NULL && size != 0)) {
        usher__message_set("%s: an argument is NULL", call);
        return USHER_INVALID;
    }
    if (usher__noun_by_word(noun) == NULL) {
        usher__message_set("%s: noun is not known: %.40s", call, noun);
        return USHER_INVALID;
    }
    return USHER_OK;
}

enum usher_status usher_table(const char *noun, enum usher_table_format format, char *buffer,
                              size_t size, size_t *ret_length)
{
    struct out o = { buffer, size, 0 };
    enum usher_status status = arguments("table", noun, buffer, size, ret_length);

    if (status != USHER_OK)
        return status;
    if (size > 0)
        buffer[0] = '\0';
    switch (format) {
    case USHER_TABLE_MARKDOWN:
        number_markdown(&o);
        break;
    case USHER_TABLE_DOT:
        number_dot(&o);
        break;
    case USHER_TABLE_LUA:
        number_lua(&o);
        break;
    default:
        usher__message_set("table: format is not known");
        return USHER_INVALID;
    }
    *ret_length = o.length;
    return USHER_OK;
}

enum usher_status usher_lua(const char *noun, char *buffer, size_t size, size_t *ret_length)
{
    enum usher_status status = arguments("lua", noun, buffer, size, ret_length);

    if (status != USHER_OK)
        return status;
#ifdef USHER_WITH_REDIS
    return usher__redis_script(noun, buffer, size, ret_length);
#else
    usher__message_set("lua: built without Redis");
    return USHER_INVALID;
#endif
}
