/* SPDX-License-Identifier: MIT */
/* Write JSON objects, key by key, and bytes that are safe to print. */
#ifndef USHER_CLI_JSON_H
#define USHER_CLI_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <usher/usher.h>

/* @text as a JSON string.  Bytes that are not UTF-8 become \u00NN: not for
 * values that can be any bytes. */
void usher__json_string(FILE *out, const char *text, size_t size);

/* For people: @text with controls and what is not UTF-8 as \xNN. */
void usher__plain_text(FILE *out, const char *text, size_t size);

/* A writer of one object or array; starts as {out}. */
struct json {
    FILE *out;
    bool comma;
};

void usher__json_key(struct json *j, const char *key);
/* An object within, by @key, or the next of an array (NULL); close() ends it. */
void usher__json_open(struct json *j, const char *key);
void usher__json_close(struct json *j);
void usher__json_text(struct json *j, const char *key, const char *text);
/* NULL data or size 0: null. */
void usher__json_name(struct json *j, const char *key, const struct usher_text *text);
void usher__json_bool(struct json *j, const char *key, bool value);
/* Beyond 2^53 as a string: readers keep doubles. */
void usher__json_int(struct json *j, const char *key, int64_t value);
void usher__json_uint(struct json *j, const char *key, uint64_t value);

#endif
