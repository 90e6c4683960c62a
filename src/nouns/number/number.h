/* SPDX-License-Identifier: MIT */
/* The layout of the scope and the records of a number pool: see number.c. */
#ifndef USHER_NUMBER_NUMBER_H
#define USHER_NUMBER_NUMBER_H

#include <usher/store/operation.h>
#include <usher/store/store.h>

/* The kinds, numbers and counts. */
#define RECORDS_DEF "core/number_records.def"
#include "change/record_names.h"

enum usher__number_setting {
#define SETTING_SET(field) USHER__SET_##field,
#define SETTING_STATS(field)
#define SETTING_CHANGES(field)
#define EXTRA(verb, type, member, field) SETTING_##verb(field)
#include "core/number_verbs.def"
#undef SETTING_SET
#undef SETTING_STATS
#undef SETTING_CHANGES
    USHER__SETTINGS,
    /* Set by no command: the last outage.  They are at the end, so that they stay where they are
     * when a setting is added. */
    USHER__SET_OUTAGE_FROM = USHER_SETTINGS - 2,
    USHER__SET_OUTAGE_TO
};

_Static_assert((int)USHER__SETTINGS <= (int)USHER__SET_OUTAGE_FROM, "settings do not overlap");

/* Return whether `list` lists holds, oldest first, and continues after a token. */
static inline bool usher__number_lists_holds(const struct usher_operation *command)
{
    const struct usher_number_args *a = &command->arg.number;

    return a->owner.data != NULL || a->node.data != NULL ||
           ((command->given & USHER_GIVEN_STATE) != 0 && a->state >= USHER_NUMBER_STATE_BUSY_DOWN);
}

#endif
