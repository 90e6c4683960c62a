/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "floor_redis.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static const char *const scripts[FLOOR_SCRIPTS] = {
    [FLOOR_NOOP] = "return 1",

    /* KEYS: free, numbers, owners */
    [FLOOR_SMALL] =
        "if ARGV[1] == 'call' then\n"
        "  local number = redis.call('HGET', KEYS[3], ARGV[2])\n"
        "  if number then return {number, redis.call('HGET', KEYS[2], number)} end\n"
        "  number = redis.call('ZPOPMIN', KEYS[1])[1]\n"
        "  if not number then return false end\n"
        "  local token = redis.call('HINCRBY', KEYS[2], '', 1)\n"
        "  redis.call('HSET', KEYS[2], number, token .. ' ' .. ARGV[2])\n"
        "  redis.call('HSET', KEYS[3], ARGV[2], number)\n"
        "  return {number, tostring(token)}\n"
        "end\n"
        "local token, owner = string.match(redis.call('HGET', KEYS[2], ARGV[2]) or '',\n"
        "                                  '^(%d+) (.*)$')\n"
        "if token ~= ARGV[3] then return 0 end\n"
        "redis.call('HSET', KEYS[2], ARGV[2], '')\n"
        "redis.call('HDEL', KEYS[3], owner)\n"
        "redis.call('ZADD', KEYS[1], redis.call('HINCRBY', KEYS[2], '', 1), ARGV[2])\n"
        "return 1\n",

    /* KEYS: free, states */
    [FLOOR_SEED] =
        "local number = ARGV[2]\n"
        "if ARGV[1] == 'call' then\n"
        "  number = redis.call('LINDEX', KEYS[1], 0)\n"
        "  if not number then return false end\n"
        "end\n"
        "local json = redis.call('HGET', KEYS[2], number)\n"
        "if not json then return 0 end\n"
        "local state = cjson.decode(json)\n"
        "if ARGV[1] == 'call' and state.callstate == 0 and state.regstate == 1 then\n"
        "  state.callstate = 1\n"
        "  redis.call('HSET', KEYS[2], number, cjson.encode(state))\n"
        "  redis.call('LREM', KEYS[1], -1, number)\n"
        "  return {number, '0'}\n"
        "elseif ARGV[1] == 'hangup' and state.callstate == 1 and state.regstate == 1 then\n"
        "  state.callstate = 0\n"
        "  redis.call('HSET', KEYS[2], number, cjson.encode(state))\n"
        "  redis.call('RPUSH', KEYS[1], number)\n"
        "  return 1\n"
        "end\n"
        "return 0\n",

    /* KEYS: seen, users, wait */
    [FLOOR_PLACE] =
        "local t = redis.call('TIME')\n"
        "local now = t[1] * 1000 + math.floor(t[2] / 1000)\n"
        "if not redis.call('ZSCORE', KEYS[1], ARGV[1]) then return false end\n"
        "redis.call('ZADD', KEYS[1], now + 30000, ARGV[1])\n"
        "return {redis.call('HGET', KEYS[2], ARGV[1]), redis.call('ZRANK', KEYS[3], ARGV[1])}\n",

    /* KEYS: seen, version */
    [FLOOR_ALIVE] = "local t = redis.call('TIME')\n"
                    "local now = t[1] * 1000 + math.floor(t[2] / 1000)\n"
                    "if not redis.call('ZSCORE', KEYS[1], ARGV[1]) then return false end\n"
                    "redis.call('ZADD', KEYS[1], now + 30000, ARGV[1])\n"
                    "return redis.call('GET', KEYS[2])\n",

    /* KEYS: rule */
    [FLOOR_SERIAL] = "local n = redis.call('HINCRBY', KEYS[1], 'cur', 1)\n"
                     "if n > tonumber(redis.call('HGET', KEYS[1], 'max')) then\n"
                     "  redis.call('HINCRBY', KEYS[1], 'cur', -1)\n"
                     "  return false\n"
                     "end\n"
                     "return redis.call('HGET', KEYS[1], 'prefix') .. string.format('%06d', n)\n",

    /* KEYS: cur */
    [FLOOR_ID] = "return redis.call('INCRBY', KEYS[1], 1)\n",
};

/* The parts of keys after the scope, which is in braces. */
static const char *const parts[FLOOR_SCRIPTS][3] = {
    [FLOOR_PLACE] = { "seen", "users", "wait" },
    [FLOOR_ALIVE] = { "seen", "version" },
    [FLOOR_SERIAL] = { "rule" },
    [FLOOR_ID] = { "cur" },
};

static redisReply *get(struct floor_redis *f)
{
    void *reply;

    if (redisGetReply(f->c, &reply) != REDIS_OK)
        bench_die("raw Redis: %s", f->c->errstr);
    if (((redisReply *)reply)->type == REDIS_REPLY_ERROR)
        bench_die("raw Redis: %s", ((redisReply *)reply)->str);
    return reply;
}

static void send(struct floor_redis *f, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    if (redisvAppendCommand(f->c, format, ap) != REDIS_OK)
        bench_die("raw Redis: %s", f->c->errstr);
    va_end(ap);
}

void floor_redis_open(struct floor_redis *f, redisContext *c)
{
    f->c = c;
    for (int i = 0; i < FLOOR_SCRIPTS; i++) {
        redisReply *r;

        send(f, "SCRIPT LOAD %s", scripts[i]);
        r = get(f);
        if (r->type != REDIS_REPLY_STRING || r->len != 40)
            bench_die("raw Redis: SCRIPT LOAD gave no hash");
        memcpy(f->sha[i], r->str, 41);
        freeReplyObject(r);
    }
}

void floor_redis_fill(struct floor_redis *f, enum floor_script script, const char *pool, size_t n)
{
    for (size_t from = 0; from < n; from += 500) {
        size_t sent = 0;

        for (size_t i = from; i < n && i < from + 500; i++, sent += 2) {
            char number[BENCH_NAME];

            bench_number(i, number);
            if (script == FLOOR_SEED) {
                send(f, "HSET {%s}:numstate %s {\"callstate\":0,\"regstate\":1}", pool, number);
                send(f, "RPUSH {%s}:idle:up %s", pool, number);
            } else {
                send(f, "HSET {%s}:numbers %s %s", pool, number, "");
                send(f, "ZADD {%s}:free 0 %s", pool, number);
            }
        }
        for (; sent > 0; sent--)
            freeReplyObject(get(f));
    }
}

void floor_redis_noop(struct floor_redis *f, const char *pool)
{
    send(f, "EVALSHA %s 1 {%s}:free", f->sha[FLOOR_NOOP], pool);
    freeReplyObject(get(f));
}

void floor_redis_make(struct floor_redis *f, enum floor_script script, const char *scope)
{
    size_t sent = 3;

    send(f, "SET {%s}:version 100", scope);
    send(f, "HSET {%s}:rule cur 0 max 999999999 prefix inv-", scope);
    send(f, "SET {%s}:cur 0", scope);
    if (script == FLOOR_PLACE || script == FLOOR_ALIVE)
        for (int i = 0; i < 100; i++, sent += 3) {
            send(f, "ZADD {%s}:seen 0 u%d", scope, i);
            send(f, "HSET {%s}:users u%d waiting", scope, i);
            send(f, "ZADD {%s}:wait %d u%d", scope, i, i);
        }
    for (; sent > 0; sent--)
        freeReplyObject(get(f));
}

void floor_redis_run(struct floor_redis *f, enum floor_script script, const char *scope,
                     const char *user)
{
    char keys[3][64], count[2] = { '0', '\0' };
    const char *argv[7] = { "EVALSHA", f->sha[script], count };
    redisReply *r;
    int argc = 3;

    for (int i = 0; i < 3 && parts[script][i] != NULL; i++) {
        (void)snprintf(keys[i], sizeof keys[i], "{%s}:%s", scope, parts[script][i]);
        argv[argc++] = keys[i];
        count[0]++;
    }
    argv[argc++] = user;
    if (redisAppendCommandArgv(f->c, argc, argv, NULL) != REDIS_OK)
        bench_die("raw Redis: %s", f->c->errstr);
    r = get(f);
    if (r->type == REDIS_REPLY_NIL)
        bench_die("raw Redis: a small script found nothing");
    freeReplyObject(r);
}

void floor_redis_send_call(struct floor_redis *f, enum floor_script script, const char *pool,
                           const char *owner)
{
    if (script == FLOOR_SEED)
        send(f, "EVALSHA %s 2 {%s}:idle:up {%s}:numstate call", f->sha[script], pool, pool);
    else
        send(f, "EVALSHA %s 3 {%s}:free {%s}:numbers {%s}:owners call %s", f->sha[script], pool,
             pool, pool, owner);
}

void floor_redis_send_hangup(struct floor_redis *f, enum floor_script script, const char *pool,
                             const struct floor_hold *hold)
{
    if (script == FLOOR_SEED)
        send(f, "EVALSHA %s 2 {%s}:idle:up {%s}:numstate hangup %s", f->sha[script], pool, pool,
             hold->number);
    else
        send(f, "EVALSHA %s 3 {%s}:free {%s}:numbers {%s}:owners hangup %s %llu", f->sha[script],
             pool, pool, pool, hold->number, (unsigned long long)hold->token);
}

void floor_redis_get_hold(struct floor_redis *f, struct floor_hold *ret_hold)
{
    redisReply *r = get(f);

    if (r->type != REDIS_REPLY_ARRAY || r->elements != 2 ||
        r->element[0]->type != REDIS_REPLY_STRING || r->element[0]->len >= FLOOR_NAME ||
        r->element[1]->type != REDIS_REPLY_STRING)
        bench_die("raw Redis: a call got nothing");
    memcpy(ret_hold->number, r->element[0]->str, r->element[0]->len + 1);
    ret_hold->token = strtoull(r->element[1]->str, NULL, 10);
    freeReplyObject(r);
}

void floor_redis_get_done(struct floor_redis *f)
{
    redisReply *r = get(f);

    if (r->type != REDIS_REPLY_INTEGER || r->integer != 1)
        bench_die("raw Redis: a hangup was refused");
    freeReplyObject(r);
}

void floor_redis_call(struct floor_redis *f, enum floor_script script, const char *pool,
                      const char *owner, struct floor_hold *ret_hold)
{
    floor_redis_send_call(f, script, pool, owner);
    floor_redis_get_hold(f, ret_hold);
}

void floor_redis_hangup(struct floor_redis *f, enum floor_script script, const char *pool,
                        const struct floor_hold *hold)
{
    floor_redis_send_hangup(f, script, pool, hold);
    floor_redis_get_done(f);
}

/* Return the number of @key in the section @section of INFO. */
static double info(redisContext *c, const char *section, const char *key)
{
    struct floor_redis f = { .c = c };
    redisReply *r;
    const char *at;
    double value;

    send(&f, "INFO %s", section);
    r = get(&f);
    at = r->type == REDIS_REPLY_STRING ? strstr(r->str, key) : NULL;
    if (at == NULL)
        bench_die("raw Redis: INFO %s has no %s", section, key);
    value = strtod(at + strlen(key), NULL);
    freeReplyObject(r);
    return value;
}

double floor_redis_cpu(redisContext *c)
{
    return info(c, "cpu", "used_cpu_user:") + info(c, "cpu", "used_cpu_sys:");
}

double floor_redis_scripts(redisContext *c)
{
    double calls = info(c, "commandstats", "cmdstat_evalsha:calls=");
    char key[64];

    (void)snprintf(key, sizeof key, "cmdstat_evalsha:calls=%.0f,usec=", calls);
    return info(c, "commandstats", key) * 1e-6;
}
