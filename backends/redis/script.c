/* SPDX-License-Identifier: MIT */
/* A script is: constants from the C tables, lua/common.lua, lua/NOUN.lua. */
#include "config.h"

#include "script.h"

#include <string.h>

#include "lua_text.h"

/* Append @text as far as there is room; *@at goes on counting. */
static void append(char *buffer, size_t size, size_t *at, const char *text)
{
    size_t length = strlen(text);

    if (*at < size) {
        size_t n = size - *at - 1 < length ? size - *at - 1 : length;

        memcpy(buffer + *at, text, n);
        buffer[*at + n] = '\0';
    }
    *at += length;
}

enum usher_status usher__redis_script(const char *noun, char *buffer, size_t size,
                                      size_t *ret_length)
{
    const struct usher__redis_lua_text *text;
    size_t at;
    enum usher_status status = usher_table(noun, USHER_TABLE_LUA, buffer, size, &at);

    if (status != USHER_OK)
        return status;
    for (text = usher__redis_lua_texts; text->name != NULL; text++)
        if (strcmp(text->name, "common") == 0 || strcmp(text->name, noun) == 0)
            append(buffer, size, &at, text->text);
    *ret_length = at;
    return USHER_OK;
}
