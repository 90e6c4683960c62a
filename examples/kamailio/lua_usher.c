/* SPDX-License-Identifier: MIT */
/*
 * lua_usher.c -- usher for Lua 5.1: any command on any store, in some lines.  No line knows a noun.
 *
 *     cc -shared -fPIC lua_usher.c $(pkg-config --cflags --libs usher lua5.1) -o usher.so
 *
 *     local usher = require "usher"
 *     local store = assert(usher.open("sqlite:calls.db", 200))      -- ms that a command may take
 *     local answer = store:call("number", "call", "sales", { owner = "call-17", lease = 30000 })
 *     if answer.status == "ok" then print(answer.number, answer.token) end
 *
 * What must be given and what may be given are the keys of `usher help number call`; durations are
 * milliseconds.  An answer has status and version, message if there is one, the values by their
 * names, and rows, a list, if it has rows.  Nothing here raises an error but what is no text or
 * table where there must be one.
 *
 * A process that is forked opens a store of its own.
 */
#include <lauxlib.h>
#include <lua.h>
#include <string.h>

#include <usher/usher.h>

#define TYPE "usher.store"
#define VALUES_MAX 32

struct store {
    struct usher_engine *engine;
};

int luaopen_usher(lua_State *lua);

static int fails(lua_State *lua, const char *status, const char *message)
{
    lua_newtable(lua);
    lua_pushstring(lua, status);
    lua_setfield(lua, -2, "status");
    lua_pushstring(lua, message);
    lua_setfield(lua, -2, "message");
    return 1;
}

static bool is_text(uint32_t field)
{
    enum usher_type type = usher_about_field(field)->type;

    return type >= USHER_TYPE_TEXT || type == USHER_TYPE_CODE; /* a code by its word */
}

/* The value at the top of the stack. */
static bool value_of(lua_State *lua, uint32_t field, struct usher_value *ret)
{
    size_t size;

    memset(ret, 0, sizeof *ret);
    ret->field = field;
    if (is_text(field) && lua_type(lua, -1) == LUA_TSTRING) {
        ret->text = lua_tolstring(lua, -1, &size);
        ret->size = size < INT32_MAX ? (int32_t)size : INT32_MAX;
        return true;
    }
    ret->number = lua_isboolean(lua, -1) ? lua_toboolean(lua, -1) : (int64_t)lua_tonumber(lua, -1);
    return !is_text(field) && (lua_isboolean(lua, -1) || lua_isnumber(lua, -1));
}

/* A number in the table at @at, for what is a text: the table, which keeps it, gets a text. */
static void as_text(lua_State *lua, int at)
{
    lua_pushvalue(lua, -2);
    lua_pushvalue(lua, -2);
    (void)lua_tostring(lua, -1);
    lua_rawset(lua, at);
    lua_pop(lua, 1);
    lua_pushvalue(lua, -1);
    lua_rawget(lua, at);
}

/* Those in the table at @at.  NULL, or the key that is wrong. */
static const char *values_of(lua_State *lua, int at, uint32_t verb, struct usher_value *values,
                             size_t *ret_n)
{
    if (lua_isnoneornil(lua, at))
        return NULL;
    luaL_checktype(lua, at, LUA_TTABLE);
    for (lua_pushnil(lua); lua_next(lua, at) != 0; lua_pop(lua, 1)) {
        const char *key = lua_type(lua, -2) == LUA_TSTRING ? lua_tostring(lua, -2) : "a list";
        uint32_t field = usher_field_of(verb, key);

        if (field == 0 || *ret_n == VALUES_MAX)
            return key;
        if (is_text(field) && lua_type(lua, -1) == LUA_TNUMBER)
            as_text(lua, at);
        if (!value_of(lua, field, &values[(*ret_n)++]))
            return key;
    }
    return NULL;
}

static void push(lua_State *lua, const struct usher_reply *r, size_t row,
                 const struct usher_value *v)
{
    enum usher_type type = usher_about_field(v->field)->type;
    const char *word = type == USHER_TYPE_CODE ? usher_reply_word(r, row, v->field) : NULL;

    if (v->text != NULL)
        lua_pushlstring(lua, v->text, (size_t)v->size);
    else if (word != NULL)
        lua_pushstring(lua, word);
    else
        lua_pushnumber(lua, (lua_Number)v->number);
}

static void push_values(lua_State *lua, const struct usher_reply *r, size_t row)
{
    size_t n;
    const struct usher_value *values = usher_reply_values(r, row, &n);

    for (size_t i = 0; i < n; i++) {
        push(lua, r, row, &values[i]);
        lua_setfield(lua, -2, usher_about_field(values[i].field)->word);
    }
}

static int push_answer(lua_State *lua, const struct usher_reply *r)
{
    lua_newtable(lua);
    push_values(lua, r, USHER_ANSWER);
    lua_pushstring(lua, usher_status_word(r->status));
    lua_setfield(lua, -2, "status");
    lua_pushnumber(lua, (lua_Number)r->version);
    lua_setfield(lua, -2, "version");
    lua_pushboolean(lua, r->more);
    lua_setfield(lua, -2, "more");
    if (*r->message != '\0') {
        lua_pushstring(lua, r->message);
        lua_setfield(lua, -2, "message");
    }
    if (r->n_rows != 0) {
        lua_newtable(lua);
        for (size_t i = 0; i < r->n_rows; i++) {
            lua_newtable(lua);
            push_values(lua, r, i);
            lua_rawseti(lua, -2, (int)i + 1);
        }
        lua_setfield(lua, -2, "rows");
    }
    return 1;
}

static int call(lua_State *lua)
{
    struct store *s = luaL_checkudata(lua, 1, TYPE);
    const char *noun = luaL_checkstring(lua, 2), *word = luaL_checkstring(lua, 3);
    struct usher_value values[VALUES_MAX];
    struct usher_command c = { 0, 0, NULL, values, 0, NULL };
    struct usher_reply *r;
    size_t size;
    const char *wrong;
    int n;

    c.scope = luaL_checklstring(lua, 4, &size);
    c.scope_size = size < INT32_MAX ? (int32_t)size : INT32_MAX;
    c.verb = usher_verb_of(noun, word);
    lua_settop(lua, 5);
    wrong = c.verb != 0 ? values_of(lua, 5, c.verb, values, &c.n) : word;
    if (wrong != NULL) {
        lua_pushfstring(lua,
                        c.verb != 0 ? "%s is not a key of it, or has a value that it cannot have"
                                    : "there is no command %s",
                        wrong);
        return fails(lua, "invalid", lua_tostring(lua, -1));
    }
    if (s->engine == NULL)
        return fails(lua, "invalid", "the store is closed");
    (void)usher_execute(s->engine, &c, 1, 0, &r);
    if (r == NULL)
        return fails(lua, "unavailable", usher_message());
    n = push_answer(lua, r);
    usher_reply_done(r);
    return n;
}

static int close_store(lua_State *lua)
{
    struct store *s = luaL_checkudata(lua, 1, TYPE);

    if (s->engine != NULL)
        usher_close(s->engine);
    s->engine = NULL;
    return 0;
}

static int open_store(lua_State *lua)
{
    const char *url = luaL_checkstring(lua, 1);
    struct usher_options opt = USHER_OPTIONS_INIT;
    struct store *s;

    opt.timeout_ms = (int64_t)luaL_optnumber(lua, 2, USHER_TIMEOUT_DEFAULT);
    s = lua_newuserdata(lua, sizeof *s);
    s->engine = NULL;
    luaL_getmetatable(lua, TYPE);
    lua_setmetatable(lua, -2);
    if (usher_open(url, &opt, &s->engine) == USHER_OK)
        return 1;
    lua_pushnil(lua);
    lua_pushstring(lua, usher_message());
    return 2;
}

int luaopen_usher(lua_State *lua)
{
    static const luaL_Reg methods[] = { { "call", call },
                                        { "close", close_store },
                                        { NULL, NULL } };
    static const luaL_Reg functions[] = { { "open", open_store }, { NULL, NULL } };

    luaL_newmetatable(lua, TYPE);
    lua_pushcfunction(lua, close_store);
    lua_setfield(lua, -2, "__gc");
    lua_newtable(lua);
    luaL_register(lua, NULL, methods);
    lua_setfield(lua, -2, "__index");
    lua_newtable(lua);
    luaL_register(lua, NULL, functions);
    return 1;
}
