/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "cli/parse.h"
#include "core/text.h"
#include "lab/replay.h"

#define LINES_MAX 100000
#define SPEED_MAX 1000000
/* Followed by -queue and -room-N. */
#define POOL_MAX (USHER_NAME_MAX - 5 - REPLAY_ROOM_TAIL)

static bool refuse(char message[CLI_MESSAGE_MAX], const char *what, const char *detail)
{
    (void)snprintf(message, CLI_MESSAGE_MAX, "%s %s", what, detail);
    return false;
}

/* "80/20s" */
static bool target(const char *value, struct staffing *ret)
{
    const char *slash = strchr(value, '/');
    char percent[4];

    if (slash == NULL || (size_t)(slash - value) >= sizeof percent ||
        strspn(slash + 1, "0123456789") == strlen(slash + 1)) /* 20 would be 20 ms */
        return false;
    (void)snprintf(percent, sizeof percent, "%.*s", (int)(slash - value), value);
    return usher__parse_int(percent, 1, 100, &ret->percent) &&
           usher__parse_span(slash + 1, 0, USHER_SPAN_MAX, &ret->within_ms);
}

bool usher__replay_option(struct replay_options *o, const char *word, char message[CLI_MESSAGE_MAX])
{
    const char *value;
    char quoted[PARSE_QUOTE_MAX];

    if ((value = usher__key_value(word, "--format")) != NULL) {
        if (strcmp(value, "technion") == 0)
            o->format = CALLS_TECHNION;
        else if (strcmp(value, "csv") == 0)
            o->format = CALLS_CSV;
        else
            return refuse(message, "format", "is not technion or csv");
    } else if ((value = usher__key_value(word, "--report")) != NULL) {
        if (strcmp(value, "text") == 0)
            o->form = REPLAY_TEXT;
        else if (strcmp(value, "json") == 0)
            o->form = REPLAY_JSON;
        else if (strcmp(value, "html") == 0)
            o->form = REPLAY_HTML;
        else
            return refuse(message, "report", "is not text, json or html");
    } else if (strcmp(word, "--strict") == 0) {
        o->strict = true;
    } else if ((value = usher__key_value(word, "--batch")) != NULL) {
        if (!usher__parse_int(value, 1, REPLAY_BATCH_MAX, &o->batch))
            return refuse(message, "batch", "is not a number from 1 to 256");
    } else if ((value = usher__key_value(word, "--agents")) != NULL) {
        o->agents = 0;
        if (strcmp(value, "recorded") != 0 &&
            !usher__parse_int(value, 1, STAFFING_AGENTS_MAX, &o->agents))
            return refuse(message, "agents", "is not `recorded` or a number from 1 to 10000");
    } else if ((value = usher__key_value(word, "--speed")) != NULL) {
        if (!usher__parse_int(value, 1, SPEED_MAX, &o->speed))
            return refuse(message, "speed", "is not a number from 1 to 1000000");
    } else if ((value = usher__key_value(word, "--lines")) != NULL) {
        if (!usher__parse_int(value, 1, LINES_MAX, &o->lines))
            return refuse(message, "lines", "is not a number from 1 to 100000");
    } else if ((value = usher__key_value(word, "--patience")) != NULL) {
        o->measured = strcmp(value, "measured") == 0;
        if (!o->measured && strcmp(value, "recorded") != 0)
            return refuse(message, "patience", "is not recorded or measured");
    } else if ((value = usher__key_value(word, "--seed")) != NULL) {
        if (!usher__parse_uint(value, &o->seed))
            return refuse(message, "seed", "is not a number from 0 to 18446744073709551615");
    } else if ((value = usher__key_value(word, "--target")) != NULL) {
        if (!target(value, &o->target))
            return refuse(message, "target", "is not PERCENT/TIME with a unit, as 80/20s");
    } else if ((value = usher__key_value(word, "--zone")) != NULL) {
        if (!usher__parse_int(value, -1440, 1440, &o->zone_min))
            return refuse(message, "zone", "is not a number from -1440 to 1440");
    } else if ((value = usher__key_value(word, "--pool")) != NULL) {
        const char *fault = usher__scope_fault(value, strlen(value));

        if (fault == NULL && strlen(value) > POOL_MAX)
            fault = "is longer than 239 bytes";
        if (fault != NULL)
            return refuse(message, "pool", fault);
        o->pool = value;
    } else if (o->file == NULL && (word[0] != '-' || word[1] == '\0')) {
        o->file = word;
    } else {
        return refuse(message, usher__quote(quoted, word), "is not an argument of `replay`");
    }
    return true;
}
