/* SPDX-License-Identifier: MIT */
/*
 * A script is lua/prologue.lua, common.lua, NOUN.lua with all NOUN_*.lua and dispatch.lua.  A line
 * `--@WORD` in them is replaced by NOUN_WORD.lua or else WORD.lua, if there is one (NOUN_fast*.lua
 * and NOUN_json.lua stand nowhere else), and K.NAME by the value of the C tables: constants cost
 * nothing when the script is run.  `--@direct*` is replaced only in the text for direct calls,
 * because the library never runs that part.
 */
#include "config.h"

#include "script.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lua_text.h"

#define LIBRARY_MAX 16384 /* bytes of the text of constants: a call may have a stack of 64 KiB */
#define DIRECT_MAX 28672  /* with those of JSON */
#define CONSTANTS 384     /* as many as a noun may have */

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

/* The constants of a noun, by name. */
struct constant {
    const char *name;
    uint16_t name_size, value_at, value_size; /* value_at is an offset from name */
};
struct constants {
    struct constant of[CONSTANTS];
    size_t n;
};

static int by_name(const void *a, const void *b)
{
    const struct constant *x = a, *y = b;

    if (x->name_size != y->name_size)
        return x->name_size < y->name_size ? -1 : 1;
    return memcmp(x->name, y->name, x->name_size);
}

/* Each line "local NAME = VALUE" of the tables is one.  USHER_INVALID: there are too many. */
static enum usher_status constants_of(const char *noun, enum usher_table_format format, char *text,
                                      size_t room, struct constants *c)
{
    static const char local[] = "local ", is[] = " = ";
    const size_t begin = sizeof local - 1, between = sizeof is - 1;
    const char *line = text, *end;
    size_t size;
    enum usher_status status = usher_table(noun, format, text, room, &size);

    if (status != USHER_OK)
        return status;
    if (size >= room)
        return USHER_INVALID;
    c->n = 0;
    for (; (end = memchr(line, '\n', size)) != NULL; line = end + 1) {
        size_t length = (size_t)(end - line), n = 0;

        size -= length + 1;
        if (length <= begin || memcmp(line, local, begin) != 0)
            continue;
        while (in_name(line[begin + n]))
            n++;
        if (n == 0 || length < begin + n + between || memcmp(line + begin + n, is, between) != 0)
            continue;
        if (c->n == CONSTANTS)
            return USHER_INVALID;
        c->of[c->n].name = line + begin;
        c->of[c->n].name_size = (uint16_t)n;
        c->of[c->n].value_at = (uint16_t)(n + between);
        c->of[c->n++].value_size = (uint16_t)(length - begin - n - between);
    }
    qsort(c->of, c->n, sizeof c->of[0], by_name);
    return USHER_OK;
}

/* Return the constant @name, or NULL. */
static const struct constant *constant(const struct constants *c, const char *name, size_t size)
{
    const struct constant key = { name, (uint16_t)size, 0, 0 };

    return size > UINT16_MAX ? NULL : bsearch(&key, c->of, c->n, sizeof c->of[0], by_name);
}

static bool is(const char *name, const char *text, size_t size)
{
    return strlen(name) == size && memcmp(name, text, size) == 0;
}

/* Return the text of NOUN_WORD, or else of WORD, or NULL. */
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

/* Append @text with the values of K.NAME.  Return false if a constant does not exist. */
static bool append_filled(struct out *o, const char *text, size_t length,
                          const struct constants *constants)
{
    const char *from = text, *end = text + length;

    for (const char *p = text; p < end; p++) {
        const struct constant *c;
        size_t size = 0;

        if (p[0] != 'K' || p[1] != '.' || (p > text && (in_name(p[-1]) || p[-1] == '.')))
            continue;
        while (in_name(p[2 + size]))
            size++;
        if (size == 0)
            continue;
        c = constant(constants, p + 2, size);
        if (c == NULL)
            return false;
        append(o, from, (size_t)(p - from));
        append(o, c->name + c->value_at, c->value_size);
        p += 1 + size;
        from = p + 1;
    }
    append(o, from, (size_t)(end - from));
    return true;
}

/* Return whether @name is NOUN, or NOUN_PART with a part that is not only for a mark. */
static bool is_of(const char *name, const char *noun)
{
    static const char *const at_marks[] = { "_fast", "_json", "_direct" };
    size_t n = strlen(noun);

    if (strncmp(name, noun, n) != 0)
        return false;
    for (size_t i = 0; i < sizeof at_marks / sizeof *at_marks; i++)
        if (strncmp(name + n, at_marks[i], strlen(at_marks[i])) == 0)
            return false;
    return name[n] == '\0' || name[n] == '_';
}

/* Append @text with the parts that its marks name, recursively.  Fails as append_filled(). */
static bool append_part(struct out *o, const char *text, const char *noun,
                        const struct constants *constants, bool direct)
{
    static const char mark[] = "--@", only[] = "direct";
    const char *at;

    while ((at = strstr(text, mark)) != NULL) {
        const char *word = at + sizeof mark - 1, *end = strchr(word, '\n');
        const char *part;

        if (end == NULL || !append_filled(o, text, (size_t)(at - text), constants))
            return false;
        part = direct || strncmp(word, only, sizeof only - 1) != 0
                   ? text_of(noun, word, (size_t)(end - word))
                   : NULL;
        if (part != NULL && !append_part(o, part, noun, constants, direct))
            return false;
        text = end + 1;
    }
    return append_filled(o, text, strlen(text), constants);
}

/* @constants has the constants of @noun. */
static enum usher_status script(const char *noun, bool direct, const struct constants *constants,
                                char *buffer, size_t size, size_t *ret_length)
{
    static const char header[] = "-- SPDX-License-Identifier: MIT\n"
                                 "-- From backends/redis/lua of usher, where the comments are.\n";
    const char *begin = text_of(noun, "prologue", 8), *common = text_of(noun, "common", 6);
    const char *end = text_of(noun, "dispatch", 8);
    struct out o = { NULL, size, 0 };
    bool any = false;

    o.to = buffer;
    append(&o, header, sizeof header - 1);
    if (begin == NULL || common == NULL || end == NULL ||
        !append_part(&o, begin, noun, constants, direct) ||
        !append_part(&o, common, noun, constants, direct))
        return USHER_INVALID;
    for (const struct usher__redis_lua_text *t = usher__redis_lua_texts; t->name != NULL; t++) {
        if (!is_of(t->name, noun))
            continue;
        if (!append_part(&o, t->text, noun, constants, direct))
            return USHER_INVALID;
        any = true;
    }
    if (!any || !append_part(&o, end, noun, constants, direct))
        return USHER_INVALID;
    *ret_length = o.length;
    return USHER_OK;
}

enum usher_status usher__redis_script(const char *noun, char *buffer, size_t size,
                                      size_t *ret_length)
{
    struct constants c;
    char text[LIBRARY_MAX];
    enum usher_status status = constants_of(noun, USHER_TABLE_LUA, text, sizeof text, &c);

    return status == USHER_OK ? script(noun, false, &c, buffer, size, ret_length) : status;
}

enum usher_status usher__redis_direct_script(const char *noun, char *buffer, size_t size,
                                             size_t *ret_length)
{
    struct constants c;
    char text[DIRECT_MAX];
    enum usher_status status = constants_of(noun, USHER_TABLE_LUA_DIRECT, text, sizeof text, &c);

    return status == USHER_OK ? script(noun, true, &c, buffer, size, ret_length) : status;
}

/* Copy a value of @constants without its quotes to @room bytes. */
static bool take_value(const struct constants *constants, const char *name, char *value,
                       size_t room)
{
    const struct constant *c = constant(constants, name, strlen(name));
    bool quoted = c != NULL && c->value_size >= 2 && c->name[c->value_at] == '\'';
    size_t size;

    if (c == NULL || c->value_size >= room)
        return false;
    size = c->value_size - (quoted ? 2u : 0u);
    memcpy(value, c->name + c->value_at + (quoted ? 1 : 0), size);
    value[size] = '\0';
    return true;
}

bool usher__redis_tables_of(enum usher_noun noun, struct usher__redis_tables *t)
{
    struct constants constants;
    char text[LIBRARY_MAX];

    t->noun = (enum usher_noun)0;
    if (constants_of(usher_noun_word(noun), USHER_TABLE_LUA, text, sizeof text, &constants) !=
            USHER_OK ||
        !take_value(&constants, "FORMAT", t->format, sizeof t->format) ||
        !take_value(&constants, "PERMANENT", t->permanent, sizeof t->permanent) ||
        !take_value(&constants, "WORDS", t->words, sizeof t->words) ||
        !take_value(&constants, "DEFAULTS", t->defaults, sizeof t->defaults) ||
        !take_value(&constants, "LISTED", t->listed, sizeof t->listed))
        return false;
    t->noun = noun;
    return true;
}
