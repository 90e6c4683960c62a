/* SPDX-License-Identifier: MIT */
/*
 * Bytes are a store URL.  It is opened as it is, unless it names a store that would make
 * files or reach for the network, and once more behind "fuzz:", a driver of ours that takes
 * what the parser hands it.  What must hold:
 *
 *   word     a refusal has a message of one line
 *   parts    the parts add up to the URL: rest and options have no NUL, `?' or `&' in the
 *            wrong place
 *   shorter  unescaping never makes a text longer, and keeps what has no % in it
 *   redis    what Redis takes of it, read as `redis:`, `rediss:`, `redis+unix:` and with
 *            Sentinels, without connecting, is within its bounds, and TLS always has a name to ask
 * for
 */
#include "fuzz/fuzz.h"

#include <usher/store/store.h>

#ifdef USHER_WITH_REDIS
#include "engine/url.h"
#include "store.h"
#endif

#include <strings.h>

static void unescape(const char *text)
{
    size_t size = strlen(text);
    char *to = malloc(size + 1);

    if (to == NULL)
        return;
    if (usher_url_unescape(text, size, to, size + 1) == USHER_OK) {
        must_hold(strlen(to) <= size, "shorter");
        if (strchr(text, '%') == NULL)
            must_hold(strcmp(to, text) == 0, "shorter: nothing to replace");
    } else {
        must_hold(strchr(text, '%') != NULL, "shorter: nothing can be wrong without a %");
    }
    if (size > 0)
        must_hold(usher_url_unescape(text, size, to, 0) == USHER_INVALID, "no room");
    free(to);
}

/* Uses every option whose value has an even length. */
static enum usher_status take(void *payload, struct usher_url *url, const struct usher_options *opt,
                              int64_t deadline_ms, struct usher_store **ret_store,
                              char message[192])
{
    (void)payload;
    (void)opt;
    (void)deadline_ms;
    (void)ret_store;
    must_hold(strcmp(url->scheme, "fuzz") == 0, "parts: scheme");
    must_hold(strchr(url->rest, '?') == NULL, "parts: rest");
    unescape(url->rest);
    for (size_t i = 0; i < url->n_options; i++) {
        must_hold(url->options[i].key[0] != '\0', "parts: a key is not empty");
        must_hold(strpbrk(url->options[i].key, "&=") == NULL, "parts: a key is a key");
        url->options[i].used = strlen(url->options[i].value) % 2 == 0;
    }
    (void)snprintf(message, 192, "taken");
    return USHER_UNAVAILABLE;
}

static void try_to_open(const char *url)
{
    static const struct usher_driver driver = { "fuzz", take, NULL, NULL };
    struct usher_options opt = USHER_OPTIONS_INIT;
    struct usher_engine *e = NULL;
    enum usher_status status;

    opt.drivers = &driver;
    status = usher_open(url, &opt, &e);
    if (status == USHER_OK) {
        usher_close(e);
        return;
    }
    must_hold(e == NULL, "nothing is given on failure");
    must_hold(usher_message()[0] != '\0', "word: a message");
    must_hold(strchr(usher_message(), '\n') == NULL, "word: one line");
}

#ifdef USHER_WITH_REDIS
static void within(const char *text, size_t size)
{
    must_hold(text == NULL || strlen(text) < size, "redis: bounds");
}

static void read_as_redis(const char *scheme, const char *rest, size_t size)
{
    struct usher__redis *r = calloc(1, sizeof *r);
    struct usher__url *u = calloc(1, sizeof *u);
    char *text = malloc(strlen(scheme) + size + 1), message[192];
    const struct usher__redis_conn_options *o = &r->options;

    if (r == NULL || u == NULL || text == NULL)
        abort();
    memcpy(text, scheme, strlen(scheme));
    memcpy(text + strlen(scheme), rest, size + 1);
    if (usher__url_parse(text, u, message) == USHER_OK && usher__redis_parse(r, &u->url) == NULL) {
        bool over_tls = strncmp(scheme, "rediss", 6) == 0;

        must_hold((o->unix_path != NULL) != (o->host != NULL), "redis: one place");
        within(o->host, sizeof r->host);
        within(o->user, sizeof r->user);
        within(o->password, sizeof r->password);
        within(r->sentinel, sizeof r->sentinel);
        must_hold((r->sentinel[0] != '\0') == (strstr(scheme, "+sentinel") != NULL),
                  "redis: Sentinels by the scheme");
        within(o->tls.ca, sizeof r->ca);
        within(o->tls.cert, sizeof r->cert);
        within(o->tls.key, sizeof r->key);
        must_hold(o->over_tls == over_tls, "redis: TLS by its scheme");
        must_hold((o->tls.name != NULL) == over_tls, "redis: TLS has a name");
        must_hold(!over_tls || (o->tls.name[0] != '\0' && o->tls.name[0] != '.'),
                  "redis: the name is one");
        must_hold(over_tls || (o->tls.ca == NULL && o->tls.cert == NULL),
                  "redis: no TLS, no files");
        must_hold(o->tls.key == NULL || o->tls.cert != NULL, "redis: a key has a certificate");
    }
    free(text);
    free(u);
    free(r);
}
#endif

static bool reaches_out(const char *url)
{
    return strncasecmp(url, "redis", 5) == 0 || strncasecmp(url, "sqlite", 6) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *url = malloc(size + sizeof "fuzz:");

    if (url == NULL)
        return 0;
    memcpy(url, "fuzz:", 5);
    if (size > 0)
        memcpy(url + 5, data, size);
    url[5 + size] = '\0';
    try_to_open(url);
    if (!reaches_out(url + 5))
        try_to_open(url + 5);
#ifdef USHER_WITH_REDIS
    {
        const char *rest = strstr(url + 5, "//"); /* behind a scheme, if there is one */

        rest = rest != NULL ? rest : url + 5;
        read_as_redis("redis:", rest, strlen(rest));
        read_as_redis("rediss:", rest, strlen(rest));
        read_as_redis("redis+unix:", rest, strlen(rest));
        read_as_redis("redis+sentinel:", rest, strlen(rest));
        read_as_redis("rediss+sentinel:", rest, strlen(rest));
    }
#endif
    free(url);
    return 0;
}
