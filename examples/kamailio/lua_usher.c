/* SPDX-License-Identifier: MIT */
/*
 * usher for Lua (5.1 and later), so for Kamailio's app_lua: any command of any noun.
 *
 *     cc -shared -fPIC lua_usher.c -o usher.so \
 *         $(pkg-config --cflags lua5.1) $(pkg-config --cflags --libs usher)
 *
 *     local usher = require "usher"
 *     local e = usher.open("sqlite:calls.db", { timeout = 500 })
 *     local args = { owner = "call-17", lease = 60000 }
 *     local a, status, message = e:call("number", "call", "lines", args)
 *     if a then dial(a.number) end
 *
 * A command that was done returns a table: its fields, status, version, and rows as a[1], a[2], …
 * Any other returns nil, the status word, the message, and the table if there was an answer (`why`
 * and `next` of an empty call).  Tokens are strings, because Lua 5.1 keeps 53 bits of a number.
 *
 * The only error thrown is Lua's own "not enough memory", and no call takes longer than the
 * timeout, connecting included.  The first call of a process opens the store, so a server may load
 * its script and then fork.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <lauxlib.h>
#include <lua.h>

#include <usher/usher.h>

#define ENGINE "usher.engine"
#define VALUES_MAX 32
#define WORD_MAX 32
#define TIMEOUT_MAX 60000
#define EXACT ((lua_Number)USHER_EXACT_MAX)

int luaopen_usher(lua_State *L);

struct handle {
    struct usher_engine *engine; /* NULL: to be opened */
    pid_t pid;                   /* of the process that opened it */
    int64_t timeout_ms;
    char url[];
};

static int64_t now_ms(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* nil, the status, why. */
static int no(lua_State *L, enum usher_status status, const char *message)
{
    lua_pushnil(L);
    lua_pushstring(L, usher_status_word(status));
    lua_pushstring(L, message);
    return 3;
}

static int invalid(lua_State *L, const char *format, const char *word)
{
    char text[USHER_MESSAGE_MAX];

    (void)snprintf(text, sizeof text, format, word);
    return no(L, USHER_INVALID, text);
}

/* ---- what is given -------------------------------------------------------------------------- */

/* luaL_checkudata() would throw. */
static struct handle *handle_of(lua_State *L)
{
    void *p = lua_touserdata(L, 1);
    bool ours = false;

    if (p != NULL && lua_getmetatable(L, 1)) {
        luaL_getmetatable(L, ENGINE);
        ours = lua_rawequal(L, -1, -2);
        lua_pop(L, 2);
    }
    return ours ? p : NULL;
}

/* Words may be in capitals, as to `usher serve`.  "": none, or no text. */
static const char *word_at(lua_State *L, int at, char word[WORD_MAX])
{
    const char *s = lua_type(L, at) == LUA_TSTRING ? lua_tostring(L, at) : "";
    size_t n = strlen(s);

    word[0] = '\0';
    for (size_t i = 0; i <= n && n < WORD_MAX; i++)
        word[i] = (char)(s[i] >= 'A' && s[i] <= 'Z' ? s[i] - 'A' + 'a' : s[i]);
    return word;
}

/* The value on top of the stack.  NULL, or what is wrong with it. */
static const char *value_of(lua_State *L, uint32_t field, struct usher_value *ret)
{
    enum usher_type type = usher_about_field(field)->type;
    bool text = type >= USHER_TYPE_TEXT;
    lua_Number n;
    size_t size;
    char *end;

    *ret = (struct usher_value){ field, 0, 0, NULL };
    switch (lua_type(L, -1)) {
    case LUA_TBOOLEAN:
        ret->number = lua_toboolean(L, -1);
        return text ? "%s must be a text" : NULL;
    case LUA_TNUMBER:
        n = lua_tonumber(L, -1);
        if (text)
            return "%s must be a text"; /* +49301 as a number would lose its plus */
        if (!(n >= -EXACT && n <= EXACT) || n != (lua_Number)(int64_t)n)
            return "%s is not a whole number that Lua stores exactly";
        ret->number = (int64_t)n;
        return NULL;
    case LUA_TSTRING:
        ret->text = lua_tolstring(L, -1, &size); /* lives in the table as long as the call */
        if (size > USHER_VALUE_MAX)
            return "%s is too long";
        ret->size = (int32_t)size;
        if (text || type == USHER_TYPE_CODE || size == 0)
            return NULL;
        /* what is no number is given as it is: the library says what is wrong */
        ret->number = *ret->text == '-' ? strtoll(ret->text, &end, 10)
                                        : (int64_t)strtoull(ret->text, &end, 10);
        if (*end == '\0') {
            ret->size = 0;
            ret->text = NULL;
        }
        return NULL;
    default:
        return "%s must be a text or a number";
    }
}

/* Those of the table at @at; false: what is wrong has been pushed. */
static bool values_at(lua_State *L, int at, uint32_t verb, struct usher_value *values,
                      size_t *ret_n)
{
    *ret_n = 0;
    if (lua_isnoneornil(L, at))
        return true;
    if (!lua_istable(L, at)) {
        (void)invalid(L, "%s must be a table", "arguments");
        return false;
    }
    lua_pushnil(L);
    while (lua_next(L, at) != 0) {
        const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "a list";
        uint32_t field = usher_field_of(verb, key);
        const char *wrong = field == 0             ? "%s is not an argument"
                            : *ret_n == VALUES_MAX ? "%s is one argument too many"
                                                   : value_of(L, field, &values[*ret_n]);

        if (wrong != NULL) {
            (void)invalid(L, wrong, key);
            return false;
        }
        ++*ret_n;
        lua_pop(L, 1);
    }
    return true;
}

/* ---- what is answered ----------------------------------------------------------------------- */

static void push_number(lua_State *L, int64_t n)
{
    char text[24];

    if (n >= -USHER_EXACT_MAX && n <= USHER_EXACT_MAX) {
        lua_pushnumber(L, (lua_Number)n);
    } else {
        (void)snprintf(text, sizeof text, "%" PRId64, n);
        lua_pushstring(L, text);
    }
}

static void push_value(lua_State *L, const struct usher_reply *r, size_t row,
                       const struct usher_value *v)
{
    const char *word = usher_reply_word(r, row, v->field);
    enum usher_type type = usher_about_field(v->field)->type;
    char text[24];

    if (v->text != NULL) {
        lua_pushlstring(L, v->text, (size_t)v->size);
    } else if (word != NULL) {
        lua_pushstring(L, word);
    } else if (type == USHER_TYPE_TOKEN) {
        (void)snprintf(text, sizeof text, "%" PRIu64, (uint64_t)v->number);
        lua_pushstring(L, text);
    } else if (type == USHER_TYPE_BOOL) {
        lua_pushboolean(L, v->number != 0);
    } else {
        push_number(L, v->number);
    }
}

/* Into the table on top of the stack. */
static void fill(lua_State *L, const struct usher_reply *r, size_t row)
{
    size_t n;
    const struct usher_value *v = usher_reply_values(r, row, &n);

    for (size_t i = 0; i < n; i++) {
        push_value(L, r, row, &v[i]);
        lua_setfield(L, -2, usher_about_field(v[i].field)->word);
    }
}

/* The reply as a table.  Called by lua_pcall(), so the reply is freed if Lua is out of memory. */
static int table_of(lua_State *L)
{
    const struct usher_reply *r = lua_touserdata(L, 1);

    lua_newtable(L);
    fill(L, r, USHER_ANSWER);
    for (size_t i = 0; i < r->n_rows; i++) {
        lua_newtable(L);
        fill(L, r, i);
        lua_rawseti(L, -2, (int)i + 1);
    }
    push_number(L, (int64_t)r->version);
    lua_setfield(L, -2, "version");
    lua_pushstring(L, usher_status_word(r->status));
    lua_setfield(L, -2, "status");
    lua_pushboolean(L, r->more);
    lua_setfield(L, -2, "more");
    if (r->due_ms != USHER_NEVER) {
        push_number(L, r->due_ms);
        lua_setfield(L, -2, "due");
        push_number(L, r->now_ms);
        lua_setfield(L, -2, "now");
    }
    if (USHER_IS_DONE(r->status))
        return 1;
    (void)no(L, r->status, r->message);
    lua_pushvalue(L, -4);
    return 4;
}

/* ---- the functions -------------------------------------------------------------------------- */

static enum usher_status ready(struct handle *h)
{
    struct usher_options opt = USHER_OPTIONS_INIT;
    enum usher_status status;

    if (h->engine != NULL && h->pid != getpid()) { /* the parent's: closed before one is opened */
        usher_close(h->engine);
        h->engine = NULL;
    }
    if (h->engine != NULL)
        return USHER_OK;
    opt.timeout_ms = h->timeout_ms;
    status = usher_open(h->url, &opt, &h->engine);
    if (status != USHER_OK)
        h->engine = NULL;
    h->pid = getpid();
    return status;
}

/* e:call(noun, verb, scope, {key = value, …}) */
static int call(lua_State *L)
{
    struct usher_value values[VALUES_MAX];
    struct usher_command c = { 0, 0, NULL, values, 0, NULL };
    struct handle *h = handle_of(L);
    char noun[WORD_MAX], verb[WORD_MAX];
    struct usher_reply *reply = NULL;
    enum usher_status status;
    int64_t begun = now_ms(), left;
    size_t size;
    int top;

    lua_settop(L, 5);
    if (h == NULL)
        return invalid(L, "%s: no engine; write e:call(…)", "call");
    c.verb = usher_verb_of(word_at(L, 2, noun), word_at(L, 3, verb));
    if (c.verb == 0)
        return invalid(L, "unknown command (%s)", verb);
    if (lua_type(L, 4) != LUA_TSTRING)
        return invalid(L, "%s: the scope must be a text", verb);
    c.scope = lua_tolstring(L, 4, &size);
    if (size > USHER_NAME_MAX)
        return invalid(L, "%s: the scope is too long", verb);
    c.scope_size = (int32_t)size;
    if (!values_at(L, 5, c.verb, values, &c.n))
        return 3;
    if ((status = ready(h)) != USHER_OK)
        return no(L, status, usher_message());
    /* now, because it may throw */
    lua_pushcfunction(L, table_of);
    top = lua_gettop(L);
    left = h->timeout_ms - (now_ms() - begun);
    (void)usher_execute(h->engine, &c, 1, left > 0 ? left : 1, &reply);
    if (reply == NULL)
        return no(L, USHER_INVALID, usher_message());
    lua_pushlightuserdata(L, reply);
    if (lua_pcall(L, 1, LUA_MULTRET, 0) != 0) {
        usher_reply_done(reply);
        return no(L, USHER_UNKNOWN, "out of memory for the answer");
    }
    usher_reply_done(reply);
    return lua_gettop(L) - top + 1;
}

static int closed(lua_State *L)
{
    struct handle *h = handle_of(L);

    if (h != NULL) {
        usher_close(h->engine);
        h->engine = NULL;
    }
    return 0;
}

/* usher.open(url, {timeout = ms}): looks at no store yet, so it fails for what is wrong only. */
static int open_(lua_State *L)
{
    const char *url = lua_type(L, 1) == LUA_TSTRING ? lua_tostring(L, 1) : NULL;
    lua_Number timeout = USHER_TIMEOUT_DEFAULT;
    struct handle *h;

    lua_settop(L, 2);
    if (url == NULL)
        return invalid(L, "%s: the URL must be a text", "open");
    if (lua_istable(L, 2)) {
        lua_getfield(L, 2, "timeout");
        if (!lua_isnil(L, -1))
            timeout = lua_tonumber(L, -1);
    }
    if (!(timeout >= 1 && timeout <= TIMEOUT_MAX))
        return invalid(L, "%s is not a number of milliseconds from 1 to 60000", "timeout");
    h = lua_newuserdata(L, sizeof *h + strlen(url) + 1);
    h->engine = NULL;
    h->timeout_ms = (int64_t)timeout;
    memcpy(h->url, url, strlen(url) + 1);
    luaL_getmetatable(L, ENGINE);
    lua_setmetatable(L, -2);
    return 1;
}

int luaopen_usher(lua_State *L)
{
    luaL_newmetatable(L, ENGINE);
    lua_pushvalue(L, -1);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, call);
    lua_setfield(L, -2, "call");
    lua_pushcfunction(L, closed);
    lua_setfield(L, -2, "close");
    lua_pushcfunction(L, closed);
    lua_setfield(L, -2, "__gc");
    lua_newtable(L);
    lua_pushcfunction(L, open_);
    lua_setfield(L, -2, "open");
    return 1;
}
