/* SPDX-License-Identifier: MIT */
/* When a scope is a warning and when an alarm: the values of thresholds.def, or those of a user. */
#ifndef USHER_SERVE_THRESHOLDS_H
#define USHER_SERVE_THRESHOLDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "serve/output.h"

enum threshold {
#define THRESHOLD(code, name, unit, side, warning, alarm, meaning) THRESHOLD_##code,
#include "serve/thresholds.def"
    THRESHOLDS
};

enum level { LEVEL_NONE, LEVEL_WARNING, LEVEL_ALARM, LEVELS };

struct thresholds {
    int64_t at[THRESHOLDS][LEVELS]; /* in the unit of each; [0] is not used */
};

/* Set all to their defaults. */
void usher__thresholds_begin(struct thresholds *t);
/* Return whether @word has the name of a threshold and =. */
bool usher__thresholds_has(const char *word);
/* Take @word, as in wait=60s,180s.  Return NULL, or the fault in it. */
const char *usher__thresholds_set(struct thresholds *t, const char *word);
/* Return the level of @part / @whole, in the unit of the threshold or, of PERCENT, as a share. */
enum level usher__thresholds_level(const struct thresholds *t, enum threshold code, int64_t part,
                                   int64_t whole);
/* Append the defaults as an object of JSON. */
void usher__thresholds_json(struct out *to);

#endif
