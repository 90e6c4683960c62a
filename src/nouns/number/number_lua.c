/* SPDX-License-Identifier: MIT */
/* Constants for the Lua of numbers, in addition to those of all nouns. */
#include "config.h"

#include <usher/store/store.h>

#include "core/machine.h"
#include "core/number.h"
#include "change/hooks.h"
#include "change/print.h"
#include "change/work.h"
#include "nouns/number/number.h"

/* Return whether @event leads from @from to @to, with and without the token or the owner. */
static bool leads(unsigned from, unsigned event, unsigned to)
{
    static const unsigned guards[] = { USHER__ANY, USHER__NUMBER_IF_HOLDER };
    bool all = true;

    for (int i = 0; i < 2; i++) {
        struct usher__move move =
            usher__machine_move(&usher__number_machine, from, event, guards[i]);

        all = all && move.row && move.status == USHER_OK && move.to == to;
    }
    return all;
}

static bool stands_in(unsigned state, unsigned lists, unsigned lists_due)
{
    return usher__machine_lists(&usher__number_machine, state, 0) == lists &&
           usher__machine_lists(&usher__number_machine, state, 1) == lists_due;
}

/*
 * Return whether the fast path (number_fast.lua) agrees with the table.  It implements four rows,
 * and the lists of two states: a free number is taken (by any owner), and its owner or the holder
 * of its token returns it, and no other.  If the table differs, no command uses the fast path.
 */
static bool short_way(void)
{
    unsigned idle = USHER_NUMBER_STATE_IDLE_UP, busy = USHER_NUMBER_STATE_BUSY_UP;

    return leads(idle, USHER__NUMBER_CALL, busy) && leads(busy, USHER__NUMBER_HANGUP, idle) &&
           stands_in(idle, USHER__LIST_READY, USHER__LIST_DUE) &&
           stands_in(busy, USHER__LIST_HELD, USHER__LIST_HELD | USHER__LIST_DUE);
}

/* Write the beginnings of records, such as HEAD_IDLE_UP: word and code. */
static void heads_lua(struct usher__out *o)
{
    const struct usher__machine *m = &usher__number_machine;

    for (unsigned s = 0; s < m->n_states; s++) {
        usher__print_name(o, "HEAD_", m->state_words[s]);
        usher__print(o, " = '%-10s\\%u'\n", m->state_words[s], s);
    }
}

/* Write SETTINGS_@name, packed: the defaults of all settings after requests=, with @push.  Those of
 * outages are left out, because they do not prevent the fast path while nothing is due.  So another
 * value of a later setting does. */
static void settings_lua(struct usher__out *o, const char *name, int64_t push)
{
    int64_t settings[USHER_SETTINGS];

    usher__settings_default(USHER_NUMBER_SET, settings);
    settings[USHER__SET_PUSH] = push;
    usher__print(o, "local SETTINGS_%s = '", name);
    for (unsigned i = USHER__SET_REQUESTS + 1; i < USHER_SETTINGS; i++)
        if (i != USHER__SET_OUTAGE && i < USHER__SET_OUTAGE_FROM)
            usher__print(o, "\\0\\0\\0\\0\\0\\0\\%u", (unsigned)settings[i]);
    usher__print(o, "'\n");
}

void usher__number_lua(struct usher__out *o)
{
    usher__print(o, "local SHORT_WAY = %s\nlocal WHYS = '", short_way() ? "true" : "false");
    for (unsigned w = 0; w <= USHER_NUMBER_WHY_STOPPED; w++)
        usher__print(o, "%-10s", usher_number_why_word((enum usher_number_why)w));
    usher__print(o, "'\n");
    heads_lua(o);
    usher__print(o, "local QUEUED_BYTES = '");
    for (int shift = 48; shift >= 0; shift -= 8)
        usher__print(o, "\\%u", (unsigned)(USHER__RANK_QUEUED >> shift & 255u));
    usher__print(o, "'\n");
    settings_lua(o, "OFF", 0);
    settings_lua(o, "PUSH", 1);
    usher__print_int(o, "OUTAGE_", "FIRST", 7LL * USHER__SET_OUTAGE + 1);
    usher__print_int(o, "OUTAGE_", "LAST", 7LL * (USHER__SET_OUTAGE + 1));
    usher__print_int(o, "OUTAGE_", "FROM", 7LL * USHER__SET_OUTAGE_FROM + 1);
    /* two codes whose names are not their words in capitals */
    usher__print_int(o, "WHY_", "NONE", USHER_NUMBER_WHY_NONE);
    usher__print_int(o, "WHY_", "NO_NUMBER", USHER_NUMBER_WHY_NO_NUMBER);
    for (unsigned w = USHER_NUMBER_WHY_BUSY; w <= USHER_NUMBER_WHY_STOPPED; w++)
        usher__print_int(o, "WHY_", usher_number_why_word((enum usher_number_why)w), w);
}
