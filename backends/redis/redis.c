/* SPDX-License-Identifier: MIT */
/*
 * The store `redis:`: opening and closing it.  The execution of tasks is in batch.c and pipeline.c.
 */
#include "config.h"

#include "redis.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "batch.h"
#include "listen.h"
#include "store.h"

static enum usher_status say(char message[192], enum usher_status status, const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 3, 4)))
#endif
    ;

static enum usher_status say(char message[192], enum usher_status status, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(message, 192, format, ap);
    va_end(ap);
    return status;
}

static char *put(char *at, const char *data, size_t size)
{
    memcpy(at, data, size);
    return at + size;
}

size_t usher__redis_key(const struct usher__redis *r, enum usher_noun noun,
                        const struct usher_text *scope, const char *suffix,
                        char key[USHER__REDIS_KEY_MAX])
{
    const char *word = usher_noun_word(noun);
    char *at = put(key, r->prefix, strlen(r->prefix));

    *at++ = '{';
    at = put(at, scope->data, scope->size);
    *at++ = '}';
    *at++ = ':';
    at = put(at, word, strlen(word));
    at = put(at, suffix, strlen(suffix));
    return (size_t)(at - key);
}

/* ---- open and close ---------------------------------------------------------------- */

static void close_redis(struct usher_store *store)
{
    struct usher__redis_store *s = (struct usher__redis_store *)store;

    usher__redis_nodes_free(s);
    usher__redis_map_free(s);
    usher__redis_free(s->like);
    if (s->locks) {
        (void)pthread_mutex_destroy(&s->lock);
        (void)pthread_cond_destroy(&s->released);
    }
    for (size_t i = 0; i < USHER__REDIS_NOUNS; i++)
        if (s->script[i].text != NULL)
            (void)usher__redis_resize(s->alloc, s->script[i].text, s->script[i].size + 1, 0);
    (void)usher__redis_resize(s->alloc, s, sizeof *s, 0);
}

static const struct usher_store_ops one_server = {
    .size = sizeof(struct usher_store_ops),
    .name = "redis",
    .caps = USHER_CAP_DURABLE | USHER_CAP_SHARED | USHER_CAP_TWO | USHER_CAP_REPLICAS,
    .execute = usher__redis_execute,
    .scan = usher__redis_scan,
    .list = usher__redis_list,
    .close = close_redis, /* only closes descriptors: no command is sent */
    .forget = close_redis,
    .repair = usher__redis_repair,
    .nodes = usher__redis_nodes,
    .begin = usher__redis_begin,
    .go_on = usher__redis_go_on,
    .leave = usher__redis_leave,
    .unit = usher__redis_unit,
    .listen = usher__redis_listen,
    .listen_to = usher__redis_listen_to,
    .listen_go_on = usher__redis_listen_go_on,
    .listen_end = usher__redis_listen_end,
};

static const struct usher_store_ops cluster = {
    .size = sizeof(struct usher_store_ops),
    .name = "redis",
    .caps =
        USHER_CAP_DURABLE | USHER_CAP_SHARED | USHER_CAP_TWO | USHER_CAP_LANES | USHER_CAP_REPLICAS,
    .execute = usher__redis_execute,
    .scan = usher__redis_scan,
    .list = usher__redis_list,
    .close = close_redis,
    .forget = close_redis,
    .repair = usher__redis_repair,
    .nodes = usher__redis_nodes,
    .lanes = USHER__REDIS_NODES_MAX,
    .route = usher__redis_route,
    .refresh = usher__redis_refresh,
    .begin = usher__redis_begin,
    .go_on = usher__redis_go_on,
    .leave = usher__redis_leave,
    .unit = usher__redis_unit,
    .listen = usher__redis_listen,
    .listen_to = usher__redis_listen_to,
    .listen_go_on = usher__redis_listen_go_on,
    .listen_end = usher__redis_listen_end,
};

/* Make the first connection and keep it, so that a wrong URL or missing server is reported by open.
 */
static enum usher_status first_connection(struct usher__redis_store *s, int64_t deadline_ms,
                                          char message[192])
{
    struct usher__redis_node *node;
    struct usher__redis *r;
    enum usher_status status;

    if (usher__redis_node_at(s, &s->like->hosts[0]) == USHER__REDIS_NODES_MAX)
        return USHER_NOMEM;
    node = s->node[0];
    r = usher__redis_take(s, node);
    if (r == NULL)
        return USHER_NOMEM;
    /* Sentinels may return the address of a server that has just failed */
    for (unsigned tries = 0;; tries++) {
        status = usher__redis_handshake(r, deadline_ms);
        if (status != USHER_UNAVAILABLE || !r->named || !usher__redis_pause(r, tries, deadline_ms))
            break;
    }
    if (status != USHER_OK)
        say(message, status, "%s", usher__redis_conn_message(r->conn));
    usher__redis_give(r);
    return status;
}

/* The condition needs a clock for deadlines. */
static bool locks_init(struct usher__redis_store *s)
{
    pthread_condattr_t attr;
    bool good;

    if (pthread_condattr_init(&attr) != 0)
        return false;
    good = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) == 0 &&
           pthread_mutex_init(&s->lock, NULL) == 0;
    if (good && pthread_cond_init(&s->released, &attr) != 0) {
        (void)pthread_mutex_destroy(&s->lock);
        good = false;
    }
    (void)pthread_condattr_destroy(&attr);
    return good;
}

static enum usher_status store_new(const struct usher_options *opt, struct usher__redis_store **ret)
{
    struct usher__redis_store *s = usher__redis_resize(opt->alloc, NULL, 0, sizeof *s);
    struct usher__redis *r = usher__redis_resize(opt->alloc, NULL, 0, sizeof *r);

    if (s == NULL || r == NULL) {
        (void)usher__redis_resize(opt->alloc, s, sizeof *s, 0);
        (void)usher__redis_resize(opt->alloc, r, sizeof *r, 0);
        return USHER_NOMEM;
    }
    memset(s, 0, sizeof *s);
    memset(r, 0, sizeof *r);
    s->alloc = r->alloc = opt->alloc;
    s->like = r;
    r->store = s;
    s->locks = locks_init(s);
    r->log = opt->log;
    r->log_payload = opt->payload;
    r->ask_password = opt->password;
    if (getrandom(&r->random, sizeof r->random, GRND_NONBLOCK) != (ssize_t)sizeof r->random)
        r->random = (uint64_t)usher__redis_clock_ms() ^ (uint64_t)(uintptr_t)r;
    *ret = s;
    return USHER_OK;
}

enum usher_status usher__redis_open(void *payload, struct usher_url *url,
                                    const struct usher_options *opt, int64_t deadline_ms,
                                    struct usher_store **ret_store, char message[192])
{
    struct usher__redis_store *s;
    bool is_cluster = strstr(url->scheme, "+cluster") != NULL;
    const char *fault;
    enum usher_status status = store_new(opt, &s);

    (void)payload;
    if (status != USHER_OK)
        return say(message, USHER_NOMEM, "redis: out of memory");
    s->base.ops = is_cluster ? &cluster : &one_server;
    fault = usher__redis_parse(s->like, url);
    for (size_t i = 0; i < url->n_options && fault == NULL; i++) {
        if (!url->options[i].used) {
            say(message, USHER_INVALID,
                usher__redis_is_tls_option(url->options[i].key)
                    ? "redis: the option `%.40s` is for `rediss:`"
                    : "redis: has no option `%.40s`",
                url->options[i].key);
            close_redis(&s->base);
            return USHER_INVALID;
        }
    }
    if (fault != NULL) {
        close_redis(&s->base);
        return say(message, USHER_INVALID, "redis: the %s in the URL is wrong", fault);
    }
    message[0] = '\0';
    status = s->locks ? usher__redis_conn_open(opt->alloc, &s->like->options, &s->like->conn)
                      : USHER_NOMEM; /* this checks the URL; it is never connected */
    if (status == USHER_OK)
        status = is_cluster ? usher__redis_map_open(s, deadline_ms, message)
                            : first_connection(s, deadline_ms, message);
    if (status != USHER_OK) {
        if (message[0] == '\0')
            say(message, status, "redis: %s", usher_status_text(status));
        close_redis(&s->base);
        return status;
    }
    *ret_store = &s->base;
    return USHER_OK;
}
