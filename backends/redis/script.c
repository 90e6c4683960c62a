/* SPDX-License-Identifier: MIT */
/*
 * A script is lua/begin.lua, common.lua, NOUN.lua with all NOUN_*.lua and main.lua.  A line
 * `--@WORD` in them is replaced by NOUN_WORD.lua or else WORD.lua, if there is one (NOUN_fast*.lua
 * stand nowhere else), and K.NAME by the value of the C tables: constants cost nothing when the
 * script is run.
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

static bool is(const char *name, const char *text, size_t size)
{
    return strlen(name) == size && memcmp(name, text, size) == 0;
}

/* NOUN_WORD, or else WORD.  NULL: there is neither. */
static const char *text_of(const char *noun, const char *word, size_t size)
{
    const struct usher__redis_lua_text *found = NULL;
    size_t n = strlen(noun);

    for (const struct usher__redis_lua_text *t = usher__redis_lua_texts; t->name != NULL; t++) {
        if (strncmp(t->name, noun, n) == 0 && t->name[n] == '_' && is(t->name + n + 1, word, size))
            return t->text;
        if (is(t->name, word, size))
            found = t;
    }
    return found != NULL ? found->text : NULL;
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
        if (size == 0)
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

/* Is @name NOUN, or NOUN_PART with a part that does not begin with "fast"? */
static bool is_of(const char *name, const char *noun)
{
    size_t n = strlen(noun);

    return strncmp(name, noun, n) == 0 &&
           (name[n] == '\0' || (name[n] == '_' && strncmp(name + n, "_fast", 5) != 0));
}

/* @text with what its marks name, and theirs.  False: as append_filled(). */
static bool append_part(struct out *o, const char *text, const char *noun, const char *constants)
{
    static const char mark[] = "--@";
    const char *at;

    while ((at = strstr(text, mark)) != NULL) {
        const char *word = at + sizeof mark - 1, *end = strchr(word, '\n');
        const char *part;

        if (end == NULL || !append_filled(o, text, (size_t)(at - text), constants))
            return false;
        part = text_of(noun, word, (size_t)(end - word));
        if (part != NULL && !append_part(o, part, noun, constants))
            return false;
        text = end + 1;
    }
    return append_filled(o, text, strlen(text), constants);
}

enum usher_status usher__redis_script(const char *noun, char *buffer, size_t size,
                                      size_t *ret_length)
{
    static const char header[] = "-- SPDX-License-Identifier: MIT\n"
                                 "-- Of usher's backends/redis/lua, where the comments are.\n";
    const char *begin = text_of(noun, "begin", 5), *common = text_of(noun, "common", 6);
    const char *end = text_of(noun, "main", 4);
    char constants[CONSTANTS_MAX];
    struct out o = { NULL, size, 0 };
    size_t n;
    bool any = false;
    enum usher_status status = usher_table(noun, USHER_TABLE_LUA, constants, sizeof constants, &n);

    o.to = buffer;
    if (status != USHER_OK)
        return status;
    append(&o, header, sizeof header - 1);
    if (n >= sizeof constants || begin == NULL || common == NULL || end == NULL ||
        !append_part(&o, begin, noun, constants) || !append_part(&o, common, noun, constants))
        return USHER_INVALID;
    for (const struct usher__redis_lua_text *t = usher__redis_lua_texts; t->name != NULL; t++) {
        if (!is_of(t->name, noun))
            continue;
        if (!append_part(&o, t->text, noun, constants))
            return USHER_INVALID;
        any = true;
    }
    if (!any || !append_part(&o, end, noun, constants))
        return USHER_INVALID;
    *ret_length = o.length;
    return USHER_OK;
}

/* A value of @constants without its quotes, into @room bytes. */
static bool take_value(const char *constants, const char *name, char *value, size_t room)
{
    size_t size;
    const char *found = value_of(constants, name, strlen(name), &size);

    if (found == NULL || size >= room)
        return false;
    if (size >= 2 && found[0] == '\'') {
        found++;
        size -= 2;
    }
    memcpy(value, found, size);
    value[size] = '\0';
    return true;
}

bool usher__redis_tables_of(enum usher_noun noun, struct usher__redis_tables *t)
{
    char constants[CONSTANTS_MAX];
    size_t n;

    t->noun = (enum usher_noun)0;
    if (usher_table(usher_noun_word(noun), USHER_TABLE_LUA, constants, sizeof constants, &n) !=
            USHER_OK ||
        n >= sizeof constants || !take_value(constants, "FORMAT", t->format, sizeof t->format) ||
        !take_value(constants, "PERMANENT", t->permanent, sizeof t->permanent) ||
        !take_value(constants, "WORDS", t->words, sizeof t->words) ||
        !take_value(constants, "DEFAULTS", t->defaults, sizeof t->defaults) ||
        !take_value(constants, "LISTED", t->listed, sizeof t->listed))
        return false;
    t->noun = noun;
    return true;
}
