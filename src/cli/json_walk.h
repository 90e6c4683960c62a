/* SPDX-License-Identifier: MIT */
/* Walk through JSON that the library has written: no fault in it is reported. */
#ifndef USHER_CLI_JSON_WALK_H
#define USHER_CLI_JSON_WALK_H

/* Return the end of the value that begins at @at. */
const char *usher__json_value_end(const char *at);
/* Return the first value or member within the array or object at @at, or NULL. */
const char *usher__json_first(const char *at);
/* Return the value after the one at @at, or NULL. */
const char *usher__json_next(const char *at);
/* Return the value of the member that begins at @at, with a key. */
const char *usher__json_member(const char *at);
/* Return the next member after the one at @at, or NULL. */
const char *usher__json_next_member(const char *at);
/* Return the value of @key in the object at @at, or NULL. */
const char *usher__json_find(const char *at, const char *key);

#endif
