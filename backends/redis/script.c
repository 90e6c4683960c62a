/* SPDX-License-Identifier: MIT */
/*
 * A script is lua/begin.lua, common.lua, NOUN.lua with all NOUN_*.lua and main.lua.
 * NOUN_fast.lua, if there is one, comes into the middle of the last.  The values of the C tables
 * are put in where the texts say K.NAME: constants cost nothing when the script is run.
 */
#include "config.h"

#include "script.h"

#include <string.h>

#include "lua_text.h"

/* Of the constants' text. */
#define CONSTANTS_MAX 16384

struct out {
    char *to;
    size_t size, length;
};

static void append(struct out *o, const char *text, size_t length)
{
    if (o->length < o->size) {
        size_t room = o->size - o->length - 1, n = room < length ? room : length;

        memcpy(o->to + o->length, text, n);
        o->to[o->length + n] = '\0';
    }
    o->length += length;
}

static bool in_name(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* The value behind "local NAME = ", up to the end of the line. */
static const char *value_of(const char *constants, const char *name, size_t size, size_t *ret_size)
{
    static const char local[] = "local ";

    for (const char *line = constants; *line != '\0';) {
        const char *end = strchr(line, '\n');
        const char *word = line + sizeof local - 1;

        if (end == NULL)
            break;
        if (strncmp(line, local, sizeof local - 1) == 0 && strncmp(word, name, size) == 0 &&
            strncmp(word + size, " = ", 3) == 0) {
            *ret_size = (size_t)(end - (word + size + 3));
            return word + size + 3;
        }
        line = end + 1;
    }
    return NULL;
}

/* NULL: there is none. */
static const char *text_of(const char *name, const char *suffix)
{
    size_t n = strlen(name);

    for (const struct usher__redis_lua_text *t = usher__redis_lua_texts; t->name != NULL; t++)
        if (strncmp(t->name, name, n) == 0 && strcmp(t->name + n, suffix) == 0)
            return t->text;
    return NULL;
}

/* False: there is a K.NAME that no constant is for. */
static bool append_filled(struct out *o, const char *text, size_t length, const char *constants)
{
    const char *from = text, *end = text + length;

    for (const char *p = text; p < end; p++) {
        const char *value;
        size_t size = 0, value_size;

        if (p[0] != 'K' || p[1] != '.' || (p > text && (in_name(p[-1]) || p[-1] == '.')))
            continue;
        while (in_name(p[2 + size]))
            size++;
        if (size == 0 || (size == 4 && memcmp(p + 2, "NAME", 4) == 0)) /* in a comment */
            continue;
        value = value_of(constants, p + 2, size, &value_size);
        if (value == NULL)
            return false;
        append(o, from, (size_t)(p - from));
        append(o, value, value_size);
        p += 1 + size;
        from = p + 1;
    }
    append(o, from, (size_t)(end - from));
    return true;
}

/* Is @name NOUN, or NOUN_PART with a part other than "fast"? */
static bool is_of(const char *name, const char *noun)
{
    size_t n = strlen(noun);

    return strncmp(name, noun, n) == 0 &&
           (name[n] == '\0' || (name[n] == '_' && strcmp(name + n, "_fast") != 0));
}

enum usher_status usher__redis_script(const char *noun, char *buffer, size_t size,
                                      size_t *ret_length)
{
    static const char mark[] = "--@fast\n";
    const char *begin = text_of("begin", ""), *common = text_of("common", "");
    const char *fast = text_of(noun, "_fast"), *end = text_of("main", ""), *at;
    char constants[CONSTANTS_MAX];
    struct out o = { NULL, size, 0 };
    size_t n;
    bool any = false;
    enum usher_status status = usher_table(noun, USHER_TABLE_LUA, constants, sizeof constants, &n);

    o.to = buffer;
    if (status != USHER_OK)
        return status;
    if (n >= sizeof constants || begin == NULL || common == NULL || end == NULL ||
        !append_filled(&o, begin, strlen(begin), constants) ||
        !append_filled(&o, common, strlen(common), constants))
        return USHER_INVALID;
    for (const struct usher__redis_lua_text *t = usher__redis_lua_texts; t->name != NULL; t++) {
        if (!is_of(t->name, noun))
            continue;
        if (!append_filled(&o, t->text, strlen(t->text), constants))
            return USHER_INVALID;
        any = true;
    }
    at = strstr(end, mark);
    if (!any || at == NULL || !append_filled(&o, end, (size_t)(at - end), constants) ||
        (fast != NULL && !append_filled(&o, fast, strlen(fast), constants)) ||
        !append_filled(&o, at + sizeof mark - 1, strlen(at + sizeof mark - 1), constants))
        return USHER_INVALID;
    *ret_length = o.length;
    return USHER_OK;
}

bool usher__redis_constant(const char *noun, const char *name,
                           char value[USHER__REDIS_CONSTANT_MAX])
{
    char constants[CONSTANTS_MAX];
    const char *found;
    size_t n, size;

    if (usher_table(noun, USHER_TABLE_LUA, constants, sizeof constants, &n) != USHER_OK ||
        n >= sizeof constants)
        return false;
    found = value_of(constants, name, strlen(name), &size);
    if (found == NULL || size >= USHER__REDIS_CONSTANT_MAX)
        return false;
    if (size >= 2 && found[0] == '\'') {
        found++;
        size -= 2;
    }
    memcpy(value, found, size);
    value[size] = '\0';
    return true;
}
