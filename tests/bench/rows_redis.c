/* SPDX-License-Identifier: MIT */
/*
 * P7 to P9, P13, P22: the store in Redis against scripts called by hand.  One server, started here,
 * without persistence; all connections are TCP on the loopback interface.
 */
#include "config.h"

#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <usher/command.h>
#include <usher/ids.h>
#include <usher/queue.h>
#include <usher/room.h>
#include <usher/serial.h>

#include "floor_redis.h"
#include "lib/servers.h"

#define CALLERS 64u

/* NULL, after a skip. */
static struct redis_server *server_start(struct bench *b, const char *row)
{
    const struct redis_server_options opt = { .aof = REDIS_AOF_OFF };
    struct redis_server *server = redis_server_start(&opt);

    if (server == NULL)
        bench_skip(b, row, redis_reason());
    return server;
}

static redisContext *connect_to(const struct redis_server *server)
{
    redisContext *c = redis_server_connect(server);

    if (c == NULL)
        bench_die("%s", redis_reason());
    return c;
}

/* ---- ours ------------------------------------------------------------------------- */

struct ours {
    struct usher_engine *e;
    struct bench_pool pool[CALLERS];
};

static void ours_open(struct ours *w, const struct redis_server *server, const char *pool, size_t n)
{
    char url[REDIS_URL_MAX];

    w->e = bench_open(redis_server_url(server, url), NULL);
    bench_fill(w->e, pool, n);
    for (unsigned i = 0; i < CALLERS; i++)
        w->pool[i] = (struct bench_pool){ w->e, pool, bench_owners(i, 16) };
}

static void ours_close(struct ours *w)
{
    usher_close(w->e);
    for (unsigned i = 0; i < CALLERS; i++)
        free(w->pool[i].owners);
}

static double one_side(void *world, double seconds)
{
    struct ours *w = world;

    return bench_waiting(bench_pair, &w->pool[0], seconds);
}

static double many_side(void *world, double seconds)
{
    struct ours *w = world;
    void *worlds[CALLERS];

    for (unsigned i = 0; i < CALLERS; i++)
        worlds[i] = &w->pool[i];
    return bench_threads(bench_pair, worlds, CALLERS, seconds);
}

/* ---- by hand ---------------------------------------------------------------------- */

struct raw {
    enum floor_script script;
    const char *pool;
    struct floor_redis redis;
    struct bench_owners *owners;
};

struct raws {
    struct raw raw[CALLERS];
};

static uint64_t raw_pair(void *world, unsigned thread)
{
    struct raw *w = world;
    struct floor_hold hold;

    (void)thread;
    if (w->script == FLOOR_NOOP) {
        floor_redis_noop(&w->redis, w->pool);
        floor_redis_noop(&w->redis, w->pool);
    } else {
        floor_redis_call(&w->redis, w->script, w->pool, bench_next(w->owners), &hold);
        floor_redis_hangup(&w->redis, w->script, w->pool, &hold);
    }
    return 2;
}

/* 16 calls in one pipeline, their hangups in the next. */
static uint64_t raw_pipeline(void *world, unsigned thread)
{
    struct raw *w = world;
    struct floor_hold hold[16];

    (void)thread;
    for (int i = 0; i < 16; i++)
        floor_redis_send_call(&w->redis, w->script, w->pool, bench_next(w->owners));
    for (int i = 0; i < 16; i++)
        floor_redis_get_hold(&w->redis, &hold[i]);
    for (int i = 0; i < 16; i++)
        floor_redis_send_hangup(&w->redis, w->script, w->pool, &hold[i]);
    for (int i = 0; i < 16; i++)
        floor_redis_get_done(&w->redis);
    return 32;
}

static double raw_one_side(void *world, double seconds)
{
    struct raws *w = world;

    return bench_waiting(raw_pair, &w->raw[0], seconds);
}

static double raw_many_side(void *world, double seconds)
{
    struct raws *w = world;
    void *worlds[CALLERS];

    for (unsigned i = 0; i < CALLERS; i++)
        worlds[i] = &w->raw[i];
    return bench_threads(raw_pair, worlds, CALLERS, seconds);
}

/* Several connections, each with a pipeline of 16. */
#define PIPELINES 4u

static double raw_pipelines_side(void *world, double seconds)
{
    struct raws *w = world;
    void *worlds[PIPELINES];

    for (unsigned i = 0; i < PIPELINES; i++)
        worlds[i] = &w->raw[i];
    return bench_threads(raw_pipeline, worlds, PIPELINES, seconds);
}

static void raws_open(struct raws *w, const struct redis_server *server, enum floor_script script,
                      const char *pool, size_t n)
{
    for (unsigned i = 0; i < CALLERS; i++) {
        w->raw[i] = (struct raw){ .script = script, .pool = pool, .owners = bench_owners(i, 16) };
        floor_redis_open(&w->raw[i].redis, connect_to(server));
    }
    if (script != FLOOR_NOOP)
        floor_redis_fill(&w->raw[0].redis, script, pool, n);
}

static void raws_close(struct raws *w)
{
    for (unsigned i = 0; i < CALLERS; i++) {
        redisFree(w->raw[i].redis.c);
        free(w->raw[i].owners);
    }
}

/* ---- the server's time ------------------------------------------------------------ */

/* Any side, as operations a second of the server's own processor time, or of the time that it
 * spends in scripts. */
struct watched {
    struct bench_run run;
    redisContext *c;
    double (*used)(redisContext *c);
};

static double watched_side(void *world, double seconds)
{
    struct watched *w = world;
    double before = w->used(w->c), begin = bench_now(CLOCK_MONOTONIC);
    double speed = w->run.side(w->run.world, seconds);
    double elapsed = bench_now(CLOCK_MONOTONIC) - begin;

    return speed * elapsed / (w->used(w->c) - before);
}

/* ---- rows ------------------------------------------------------------------------- */

/* The commonest verbs of the other nouns, by one caller. */
struct usual {
    const char *what;
    enum floor_script script;
    enum usher_status (*ours)(struct usher_engine *e, const char *user);
    struct usher_engine *e;
    struct floor_redis floor;
    unsigned at;
};

static enum usher_status place(struct usher_engine *e, const char *user)
{
    struct usher_queue_options opt = USHER_QUEUE_OPTIONS_INIT;
    struct usher_reply *reply;
    enum usher_status status;

    opt.user = user;
    status = usher_queue_alive(e, "desk", &opt, &reply);
    usher_reply_done(reply);
    return status;
}

static enum usher_status member_alive(struct usher_engine *e, const char *user)
{
    struct usher_room_answer answer = USHER_ROOM_ANSWER_INIT;

    return usher_room_alive(e, "desk", user, NULL, &answer);
}

static enum usher_status serial(struct usher_engine *e, const char *user)
{
    struct usher_reply *reply;
    enum usher_status status = usher_serial_take(e, "desk", 1, NULL, &reply);

    (void)user;
    usher_reply_done(reply);
    return status;
}

static enum usher_status id(struct usher_engine *e, const char *user)
{
    struct usher_id_answer answer = USHER_ID_ANSWER_INIT;

    (void)user;
    return usher_id_next(e, "desk", 1, NULL, &answer);
}

static void usual_make(struct usher_engine *e)
{
    struct usher_serial_settings rule = USHER_SERIAL_SETTINGS_INIT;
    enum usher_status status = usher_queue_login(e, "desk", "agent", NULL, NULL);

    rule.prefix = "inv-";
    rule.width = 6;
    if (status == USHER_OK)
        status = usher_room_open(e, "desk", NULL, NULL, NULL);
    if (status == USHER_OK)
        status = usher_serial_set(e, "desk", &rule, NULL, NULL);
    if (status == USHER_OK)
        status = usher_id_create(e, "desk", NULL, NULL, NULL);
    for (int i = 0; i < 100 && status == USHER_OK; i++) {
        char user[BENCH_NAME];

        (void)snprintf(user, sizeof user, "u%d", i);
        status = usher_queue_apply(e, "desk", user, NULL, NULL);
        if (status == USHER_OK)
            status = usher_room_join(e, "desk", user, NULL, NULL);
    }
    if (status != USHER_OK)
        bench_die("%s", usher_message());
}

static uint64_t usual_ours(void *world, unsigned thread)
{
    struct usual *w = world;
    char user[BENCH_NAME];

    (void)thread;
    (void)snprintf(user, sizeof user, "u%u", w->at++ % 100);
    if (w->ours(w->e, user) > USHER_SAME)
        bench_die("%s: %s", w->what, usher_message());
    return 1;
}

static uint64_t usual_floor(void *world, unsigned thread)
{
    struct usual *w = world;
    char user[BENCH_NAME];

    (void)thread;
    (void)snprintf(user, sizeof user, "u%u", w->at++ % 100);
    floor_redis_run(&w->floor, w->script, "floor", user);
    return 1;
}

static double usual_ours_side(void *world, double seconds)
{
    return bench_waiting(usual_ours, world, seconds);
}

static double usual_floor_side(void *world, double seconds)
{
    return bench_waiting(usual_floor, world, seconds);
}

static void usual_rows(struct bench *b, struct usher_engine *e, struct floor_redis floor)
{
    struct usual verbs[] = {
        { "heartbeat of a waiting user, and its position", FLOOR_PLACE, place, e, floor, 0 },
        { "a member is alive", FLOOR_ALIVE, member_alive, e, floor, 0 },
        { "a serial", FLOOR_SERIAL, serial, e, floor, 0 },
        { "an id", FLOOR_ID, id, e, floor, 0 },
    };

    usual_make(e);
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        struct watched ours = { { usual_ours_side, &verbs[i] }, floor.c, floor_redis_cpu };
        struct watched by_hand = { { usual_floor_side, &verbs[i] }, floor.c, floor_redis_cpu };
        char what[96];
        const struct bench_line line = { "P7",          what, "commands/s", "its smallest script",
                                         BENCH_AT_MOST, 2.5 };

        (void)snprintf(what, sizeof what, "Redis, by the server's processor time: %s",
                       verbs[i].what);
        floor_redis_make(&verbs[i].floor, verbs[i].script, "floor");
        (void)bench_compare(b, &line, (struct bench_run){ watched_side, &ours },
                            (struct bench_run){ watched_side, &by_hand });
    }
}

void bench_redis_one(struct bench *b)
{
    static const struct bench_line noops = { "P7",         "Redis: one caller, 10,000 numbers",
                                             "commands/s", "EVALSHA of a no-op",
                                             BENCH_NO_BAR, 0 };
    static const struct bench_line smalls = { "P7",           "Redis: one caller, 10,000 numbers",
                                              "commands/s",   "a small script",
                                              BENCH_AT_LEAST, 0.9 };
    static const struct bench_line cpu = {
        "P7",          "Redis, by the server's processor time: the same",
        "commands/s",  "the small script",
        BENCH_AT_MOST, 1.5
    };
    struct redis_server *server = server_start(b, "P7");
    struct ours ours;
    struct raws noop, small;
    struct watched of_ours, of_small;

    if (server == NULL)
        return;
    ours_open(&ours, server, "desk", 10000);
    raws_open(&noop, server, FLOOR_NOOP, "noop", 0);
    raws_open(&small, server, FLOOR_SMALL, "small", 10000);
    (void)bench_compare(b, &noops, (struct bench_run){ one_side, &ours },
                        (struct bench_run){ raw_one_side, &noop });
    (void)bench_compare(b, &smalls, (struct bench_run){ one_side, &ours },
                        (struct bench_run){ raw_one_side, &small });
    of_ours = (struct watched){ { one_side, &ours }, noop.raw[0].redis.c, floor_redis_cpu };
    of_small = (struct watched){ { raw_one_side, &small }, noop.raw[0].redis.c, floor_redis_cpu };
    (void)bench_compare(b, &cpu, (struct bench_run){ watched_side, &of_ours },
                        (struct bench_run){ watched_side, &of_small });
    usual_rows(b, ours.e, noop.raw[0].redis);
    raws_close(&small);
    raws_close(&noop);
    ours_close(&ours);
    redis_server_stop(server);
}

void bench_redis_many(struct bench *b)
{
    static const struct bench_line noops = { "P8",         "Redis: 64 callers, 10,000 numbers",
                                             "commands/s", "64 connections, EVALSHA of a no-op",
                                             BENCH_NO_BAR, 0 };
    static const struct bench_line smalls = { "P8",           "Redis: 64 callers, 10,000 numbers",
                                              "commands/s",   "64 connections, a small script",
                                              BENCH_AT_LEAST, 3 };
    static const struct bench_line cpu = {
        "P8",          "Redis: commands a second of the server's processor time",
        "commands/s",  "the small script in pipelines",
        BENCH_AT_MOST, 1
    };
    static const struct bench_line scripts = {
        "P8",         "Redis: commands a second of time in the script",
        "commands/s", "the small script",
        BENCH_NO_BAR, 0
    };
    struct redis_server *server = server_start(b, "P8");
    struct ours ours;
    struct raws noop, small;
    struct watched of_ours, of_small;

    if (server == NULL)
        return;
    ours_open(&ours, server, "desk", 10000);
    raws_open(&noop, server, FLOOR_NOOP, "noop", 0);
    raws_open(&small, server, FLOOR_SMALL, "small", 10000);
    (void)bench_compare(b, &smalls, (struct bench_run){ many_side, &ours },
                        (struct bench_run){ raw_many_side, &small });
    (void)bench_compare(b, &noops, (struct bench_run){ many_side, &ours },
                        (struct bench_run){ raw_many_side, &noop });
    of_ours = (struct watched){ { many_side, &ours }, noop.raw[0].redis.c, floor_redis_cpu };
    of_small =
        (struct watched){ { raw_pipelines_side, &small }, noop.raw[0].redis.c, floor_redis_cpu };
    (void)bench_compare(b, &cpu, (struct bench_run){ watched_side, &of_ours },
                        (struct bench_run){ watched_side, &of_small });
    of_ours.used = of_small.used = floor_redis_scripts;
    (void)bench_compare(b, &scripts, (struct bench_run){ watched_side, &of_ours },
                        (struct bench_run){ watched_side, &of_small });
    raws_close(&small);
    raws_close(&noop);
    ours_close(&ours);
    redis_server_stop(server);
}

/* Ours with @n numbers against the script of the seed with as many. */
static void against_seed(struct bench *b, struct redis_server *server, size_t n, double limit)
{
    char what[96], pool[32];
    const struct bench_line line = { "P9",           what,
                                     "commands/s",   "the seed's script, 64 connections",
                                     BENCH_AT_LEAST, limit };
    struct ours ours;
    struct raws seed;

    (void)snprintf(what, sizeof what, "Redis: 64 callers, %zu numbers", n);
    (void)snprintf(pool, sizeof pool, "seed-%zu", n);
    ours_open(&ours, server, pool, n);
    raws_open(&seed, server, FLOOR_SEED, pool, n);
    (void)bench_compare(b, &line, (struct bench_run){ many_side, &ours },
                        (struct bench_run){ raw_many_side, &seed });
    raws_close(&seed);
    ours_close(&ours);
}

void bench_redis_sizes(struct bench *b)
{
    char what[96];
    const struct bench_line line = { "P9",           what, "commands/s", "the same with 100",
                                     BENCH_AT_LEAST, 0.8 };
    struct redis_server *server = server_start(b, "P9");
    size_t n = b->quick ? 10000 : 1000000;
    struct ours small, large;

    if (server == NULL)
        return;
    ours_open(&small, server, "small", 100);
    ours_open(&large, server, "large", n);
    (void)snprintf(what, sizeof what, "Redis: 64 callers, %zu numbers", n);
    (void)bench_compare(b, &line, (struct bench_run){ many_side, &large },
                        (struct bench_run){ many_side, &small });
    (void)snprintf(what, sizeof what, "Redis: one caller, %zu numbers", n);
    (void)bench_compare(b, &line, (struct bench_run){ one_side, &large },
                        (struct bench_run){ one_side, &small });
    ours_close(&large);
    ours_close(&small);
    against_seed(b, server, 100, 1.3);
    if (!b->quick)
        against_seed(b, server, 100000, 100);
    redis_server_stop(server);
}

void bench_redis_serials(struct bench *b)
{
    struct redis_server *server = server_start(b, "P13");
    char url[REDIS_URL_MAX];

    if (server == NULL)
        return;
    bench_serials_on(b, redis_server_url(server, url), "Redis", true, 100, 500000);
    redis_server_stop(server);
}

/* ---- followers -------------------------------------------------------------------- */

#define CHANGES_MAX 400

/* A room, an engine that changes it, and another one that follows it. */
struct pair {
    const char *room;
    struct usher_engine *a, *b;
    uint64_t n;                  /* changes so far */
    int64_t pause_ms;            /* before each, at most */
    double seconds[CHANGES_MAX]; /* from the answer to the notice, of the last ones */
};

/* One change, and its notice. */
static uint64_t change_and_notice(void *world, unsigned thread)
{
    struct pair *p = world;
    char text[24];
    struct usher_text value = { text, 0 };
    struct usher_room_answer answer = USHER_ROOM_ANSWER_INIT;
    bool received = false;
    double began;

    (void)thread;
    if (p->pause_ms != 0) {
        struct timespec pause = { 0, (long)(p->n * 7919 % (uint64_t)p->pause_ms) * 1000000 };

        (void)nanosleep(&pause, NULL);
    }
    value.size = (size_t)snprintf(text, sizeof text, "%llu", (unsigned long long)p->n);
    if (usher_room_set(p->a, p->room, "f", &value, NULL, &answer) != USHER_OK)
        bench_die("%s: %s", p->room, usher_message());
    began = bench_now(CLOCK_MONOTONIC);
    while (!received) {
        const struct usher_event *event = usher_collect(p->b, 10000);

        if (event == NULL || event->kind != USHER_EVENT_NOTICE)
            bench_die("%s: no notice", p->room);
        received = event->notice->version == answer.version;
        usher_event_done(event);
    }
    p->seconds[p->n++ % CHANGES_MAX] = bench_now(CLOCK_MONOTONIC) - began;
    return 1;
}

static double notices_side(void *world, double seconds)
{
    return bench_waiting(change_and_notice, world, seconds);
}

static int compare(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* The median of the last changes, the least and the most, in milliseconds. */
static struct bench_spread latency(struct pair *p)
{
    size_t n = p->n < CHANGES_MAX ? (size_t)p->n : CHANGES_MAX;

    qsort(p->seconds, n, sizeof *p->seconds, compare);
    return (struct bench_spread){ p->seconds[n / 2] * 1000, p->seconds[0] * 1000,
                                  p->seconds[n - 1] * 1000 };
}

static void pair_open(struct pair *p, struct redis_server *server, const char *room, int64_t push)
{
    struct usher_room_settings settings = USHER_ROOM_SETTINGS_INIT;
    struct usher_reply *reply;
    struct usher_watcher *watcher;
    char url[REDIS_URL_MAX], channel[64];
    long long subscribers = 0;

    memset(p, 0, sizeof *p);
    p->room = room;
    p->a = bench_open(redis_server_url(server, url), NULL);
    p->b = bench_open(url, NULL);
    settings.push = push;
    if (usher_room_open(p->a, room, &settings, NULL, &reply) != USHER_OK ||
        usher_watch_events(p->b, USHER_ROOM, room, USHER_WATCH_SINCE | USHER_WATCH_ALL,
                           reply->version, NULL, &watcher) != USHER_OK)
        bench_die("%s: %s", room, usher_message());
    usher_reply_done(reply);
    (void)snprintf(channel, sizeof channel, "{%s}:room", room);
    while (subscribers != push) {
        redisReply *r = redis_do(server, "PUBSUB", "NUMSUB", channel, NULL);

        if (r == NULL || r->type != REDIS_REPLY_ARRAY || r->elements != 2)
            bench_die("%s", redis_reason());
        subscribers = r->element[1]->integer;
        freeReplyObject(r);
        usher_event_done(usher_collect(p->b, 1));
    }
}

static void pair_close(struct pair *p)
{
    usher_close(p->b);
    usher_close(p->a);
}

/* A small script, and a message to a connection that subscribes. */
struct messages {
    struct raw raw;
    redisContext *subscriber;
};

static uint64_t script_and_message(void *world, unsigned thread)
{
    struct messages *w = world;
    redisReply *r = NULL;

    (void)thread;
    floor_redis_noop(&w->raw.redis, w->raw.pool);
    freeReplyObject(redisCommand(w->raw.redis.c, "PUBLISH floor 1"));
    if (redisGetReply(w->subscriber, (void **)&r) != REDIS_OK)
        bench_die("no message");
    freeReplyObject(r);
    return 1;
}

static double messages_side(void *world, double seconds)
{
    return bench_waiting(script_and_message, world, seconds);
}

void bench_redis_followers(struct bench *b)
{
    static const struct bench_line rate = {
        "P22",        "Redis: a change and its notice elsewhere",
        "notices/s",  "a script, PUBLISH and a subscriber",
        BENCH_NO_BAR, 0
    };
    static const struct bench_line pushed = { "P22",        "from answer to notice, push=1",
                                              "ms",         "",
                                              BENCH_NO_BAR, 0 };
    static const struct bench_line polled = { "P22",        "from answer to notice, push=0",
                                              "ms",         "",
                                              BENCH_NO_BAR, 0 };
    struct redis_server *server = server_start(b, "P22");
    struct messages messages = { .subscriber = NULL };
    struct pair pair;

    if (server == NULL)
        return;
    messages.raw.pool = "floor";
    floor_redis_open(&messages.raw.redis, connect_to(server));
    messages.subscriber = connect_to(server);
    freeReplyObject(redisCommand(messages.subscriber, "SUBSCRIBE floor"));
    pair_open(&pair, server, "pushed", 1);
    (void)bench_compare(b, &rate, (struct bench_run){ notices_side, &pair },
                        (struct bench_run){ messages_side, &messages });
    bench_value(b, &pushed, latency(&pair));
    pair_close(&pair);
    pair_open(&pair, server, "polled", 0);
    pair.pause_ms = 500;
    for (int i = b->quick ? 3 : 40; i > 0; i--)
        (void)change_and_notice(&pair, 0);
    bench_value(b, &polled, latency(&pair));
    pair_close(&pair);
    redisFree(messages.subscriber);
    redisFree(messages.raw.redis.c);
    redis_server_stop(server);
}
