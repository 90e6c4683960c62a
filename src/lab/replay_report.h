/* SPDX-License-Identifier: MIT */
/* The forms of a report on a replay. */
#ifndef USHER_LAB_REPLAY_REPORT_H
#define USHER_LAB_REPLAY_REPORT_H

#include "cli/json.h"
#include "lab/replay.h"
#include "lab/series.h"

void usher__series_json(struct json *j, const struct series *s);
void usher__report_html(FILE *out, const char *file, const struct calls *c,
                        const struct replay_result *result);

#endif
