/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "cli/json_walk.h"

#include <stddef.h>
#include <string.h>

/* Return the end of the string that begins at @at. */
static const char *string_end(const char *at)
{
    for (at++; *at != '\0' && *at != '"'; at++)
        at += *at == '\\' && at[1] != '\0';
    return *at == '"' ? at + 1 : at;
}

const char *usher__json_value_end(const char *at)
{
    unsigned depth = 0;

    do {
        if (*at == '"') {
            at = string_end(at);
            continue;
        }
        depth += *at == '{' || *at == '[';
        if (depth == 0)
            return at + strcspn(at, ",]}");
        depth -= *at == '}' || *at == ']';
        at += *at != '\0';
    } while (*at != '\0' && depth > 0);
    return at;
}

const char *usher__json_first(const char *at)
{
    return (*at == '[' || *at == '{') && at[1] != ']' && at[1] != '}' ? at + 1 : NULL;
}

const char *usher__json_next(const char *at)
{
    at = usher__json_value_end(at);
    return *at == ',' ? at + 1 : NULL;
}

const char *usher__json_member(const char *at)
{
    at = string_end(at);
    return *at == ':' ? at + 1 : at;
}

const char *usher__json_next_member(const char *at)
{
    return usher__json_next(usher__json_member(at));
}

const char *usher__json_find(const char *at, const char *key)
{
    size_t size = strlen(key);

    for (at = usher__json_first(at); at != NULL; at = usher__json_next_member(at))
        if (at[0] == '"' && strncmp(at + 1, key, size) == 0 && at[1 + size] == '"')
            return usher__json_member(at);
    return NULL;
}
