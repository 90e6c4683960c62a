/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "serve/thresholds.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "parse/parse.h"

enum unit { SECONDS, PERCENT, COUNT };
enum side { ABOVE, BELOW };

#define VALUE_MAX INT64_C(1000000000)

static const struct about {
    const char *name;
    enum unit unit;
    enum side side;
    int64_t warning, alarm;
} all[THRESHOLDS] = {
#define THRESHOLD(code, name, unit, side, warning, alarm, meaning) \
    { name, unit, side, warning, alarm },
#include "serve/thresholds.def"
};

void usher__thresholds_begin(struct thresholds *t)
{
    for (unsigned i = 0; i < THRESHOLDS; i++) {
        t->at[i][LEVEL_NONE] = 0;
        t->at[i][LEVEL_WARNING] = all[i].warning;
        t->at[i][LEVEL_ALARM] = all[i].alarm;
    }
}

/* Return the threshold that @word names, or THRESHOLDS. */
static unsigned find(const char *word)
{
    unsigned i = 0;

    for (; i < THRESHOLDS; i++) {
        size_t size = strlen(all[i].name);

        if (strncmp(word, all[i].name, size) == 0 && word[size] == '=')
            break;
    }
    return i;
}

bool usher__thresholds_has(const char *word)
{
    return find(word) < THRESHOLDS;
}

/* Read one value, as on the wallboard: a duration without a unit is in seconds. */
static bool value(const char *text, size_t size, enum unit unit, int64_t *ret)
{
    char copy[32];
    int64_t ms;

    if (size == 0 || size >= sizeof copy)
        return false;
    memcpy(copy, text, size);
    copy[size] = '\0';
    if (usher__parse_int(copy, 0, VALUE_MAX, ret))
        return true;
    if (unit != SECONDS || !usher__parse_span(copy, 0, VALUE_MAX * 1000, &ms))
        return false;
    if (ms % 1000 != 0)
        return false;
    *ret = ms / 1000;
    return true;
}

const char *usher__thresholds_set(struct thresholds *t, const char *word)
{
    unsigned i = find(word);
    const char *first = word + strlen(all[i].name) + 1, *comma = strchr(first, ',');

    if (comma == NULL ||
        !value(first, (size_t)(comma - first), all[i].unit, &t->at[i][LEVEL_WARNING]) ||
        !value(comma + 1, strlen(comma + 1), all[i].unit, &t->at[i][LEVEL_ALARM]))
        return all[i].unit == SECONDS ? "is not WARNING,ALARM in seconds or with s, m, h, d, as in "
                                        "wait=60s,3m"
                                      : "is not WARNING,ALARM, two whole numbers, as in free=15,5";
    if (t->at[i][LEVEL_WARNING] > 0 && t->at[i][LEVEL_ALARM] > 0 &&
        t->at[i][LEVEL_WARNING] != t->at[i][LEVEL_ALARM] &&
        (t->at[i][LEVEL_WARNING] > t->at[i][LEVEL_ALARM]) == (all[i].side == ABOVE))
        return all[i].side == ABOVE ? "has an alarm below the warning"
                                    : "has an alarm above the warning";
    return NULL;
}

enum level usher__thresholds_level(const struct thresholds *t, enum threshold code, int64_t part,
                                   int64_t whole)
{
    double number = (double)part * (all[code].unit == PERCENT ? 100 : 1) / (double)whole;

    for (enum level level = LEVEL_ALARM; level > LEVEL_NONE; level--) {
        int64_t at = t->at[code][level];

        if (all[code].side == ABOVE ? at > 0 && number >= (double)at : number < (double)at)
            return level;
    }
    return LEVEL_NONE;
}

void usher__thresholds_json(struct out *to)
{
    for (unsigned i = 0; i < THRESHOLDS; i++)
        usher__out_print(to, "%c\"%s\":[%" PRId64 ",%" PRId64 "]", i == 0 ? '{' : ',', all[i].name,
                         all[i].warning, all[i].alarm);
    usher__out_put(to, "}", 1);
}
