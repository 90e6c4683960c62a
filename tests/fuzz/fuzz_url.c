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
 */
#include "config.h"

#include <usher/store.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must_hold(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "does not hold: %s\n", what);
    abort();
}

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
    must_hold(usher_message(NULL)[0] != '\0', "word: a message");
    must_hold(strchr(usher_message(NULL), '\n') == NULL, "word: one line");
}

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
    free(url);
    return 0;
}
