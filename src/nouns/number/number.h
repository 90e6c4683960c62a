/* SPDX-License-Identifier: MIT */
/* The layout of the scope and the records of a number pool: see number.c. */
#ifndef USHER_NUMBER_NUMBER_H
#define USHER_NUMBER_NUMBER_H

#include <usher/operation.h>

enum usher__number_kind {
    USHER__KIND_NUMBER = 1,
    USHER__KIND_GROUP = 2, /* counts of one group of numbers */
    USHER__KIND_STICKY = 3 /* the number last used for a peer */
};

/* The order of scope.counts.  1..4 are states. */
enum usher__number_count {
    USHER__COUNT_RESTING = 5,
    USHER__COUNT_STICKY,
    USHER__COUNT_REQUESTS,
    USHER__COUNT_CALLS, /* of the day below */
    USHER__COUNT_CALLS_DAY,
    USHER__COUNT_REFUSED, /* a statistic: changes without a version, not in the digest */
    USHER__COUNT_REFUSED_DAY,
    USHER__COUNT_CAPPED, /* numbers over the cap, which are last in the idle list */
    USHER__COUNT_PAST,
    USHER__COUNT_CHANGES, /* of the log */
    USHER__COUNT_SINCE,
    USHER__COUNT_LIMITED,    /* when `lease-max` was last set, */
    USHER__COUNT_LIMITED_AT, /* and the version of that */
    USHER__COUNT_JUDGE,      /* how far a changed setting was applied to numbers: see number.c */
    USHER__COUNT_JUDGE_HI
};

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
    /* set by no command: the last outage */
    USHER__SET_OUTAGE_FROM = USHER__SETTINGS,
    USHER__SET_OUTAGE_TO
};

/* record.n of a number. */
enum usher__number_n {
    USHER__N_CALLS, /* of day N_DAY */
    USHER__N_DAY,
    USHER__N_USED, /* when the last call began */
    USHER__N_LEASE /* of the hold; of a free number: how its last call ended, see number.c */
};

/* record.n of a group. */
enum usher__group_n { USHER__N_TOTAL, USHER__N_BUSY_UP, USHER__N_RESTING };

/* Return whether `list` lists holds, oldest first, and continues after a token. */
static inline bool usher__number_lists_holds(const struct usher_operation *command)
{
    const struct usher_number_args *a = &command->arg.number;

    return a->owner.data != NULL || a->node.data != NULL ||
           ((command->given & USHER_GIVEN_STATE) != 0 && a->state >= USHER_NUMBER_STATE_BUSY_DOWN);
}

#endif
