/* SPDX-License-Identifier: MIT */
/*
 * lua_text -- the files of lua/ as strings.  lua_text.c is made by embed-lua.sh from the list
 * REDIS_LUA of Makefile.am, in that order.  Static memory.
 */
#ifndef USHER_BACKENDS_REDIS_LUA_TEXT_H
#define USHER_BACKENDS_REDIS_LUA_TEXT_H

struct usher__redis_lua_text {
    const char *name; /* "number" for lua/number.lua; NULL ends the array */
    const char *text;
};

extern const struct usher__redis_lua_text usher__redis_lua_texts[];

#endif
