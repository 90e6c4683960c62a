/* SPDX-License-Identifier: MIT */
/* Answers of the store as one line: an object, or words for people. */
#ifndef USHER_CLI_ANSWER_H
#define USHER_CLI_ANSWER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <usher/store/operation.h>

#include "cli/json.h"

/* Did a store or the arguments fail, so that there is a message and no more? */
bool usher__answer_failed(enum usher_status status);

/* Is there more than a message: has it not failed, or with some of the answer? */
bool usher__answer_there(const struct usher_reply *reply);

/* {"status":…,"epoch":…,"version":…,"due":… and no end yet */
void usher__answer_begin(struct json *j, enum usher_status status, uint64_t epoch, uint64_t version,
                         int64_t due_ms, int64_t now_ms);

void usher__answer_json(FILE *out, const struct usher_operation *command,
                        const struct usher_result *reply);
void usher__answer_reply(FILE *out, const struct usher_reply *reply);
void usher__answer_plain(FILE *out, const struct usher_operation *command,
                         const struct usher_reply *reply);

/* A notice as an object. */
void usher__answer_notice(FILE *out, const struct usher_notice *notice);

/* A moment as 2026-11-21T06:38:00.000Z. */
#define CLI_TIME_MAX 40
const char *usher__time_text(char to[CLI_TIME_MAX], int64_t ms);
/* A duration in its largest unit, as 350 ms, 12 s or 3 min. */
const char *usher__span_text(char to[CLI_TIME_MAX], int64_t ms);

#endif
