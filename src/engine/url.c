/* SPDX-License-Identifier: MIT */
/* Store URLs: SCHEME:REST[?key=value[&key=value]…].  Everything in them is hostile. */
#include "config.h"

#include "engine/url.h"

#include <stdio.h>
#include <string.h>

#include "core/text.h"

enum usher_status usher_url_unescape(const char *from, size_t length, char *to, size_t size)
{
    size_t n = 0;

    for (size_t i = 0; i < length; i++) {
        char c = from[i];

        if (c == '%') {
            if (length - i < 3 || usher__hex_digit(from[i + 1]) < 0 ||
                usher__hex_digit(from[i + 2]) < 0)
                return USHER_INVALID;
            c = (char)(usher__hex_digit(from[i + 1]) * 16 + usher__hex_digit(from[i + 2]));
            i += 2;
        }
        if (c == '\0' || n + 1 >= size)
            return USHER_INVALID;
        to[n++] = c;
    }
    if (n >= size)
        return USHER_INVALID;
    to[n] = '\0';
    return USHER_OK;
}

static enum usher_status wrong(char message[192], const char *what)
{
    (void)snprintf(message, 192, "store URL %s", what);
    return USHER_INVALID;
}

enum usher_status usher__url_parse(const char *url, struct usher__url *u, char message[192])
{
    size_t length = strlen(url);
    char *colon, *query;

    memset(&u->url, 0, sizeof u->url);
    if (length >= sizeof u->text)
        return wrong(message, "is longer than 4095 bytes");
    memcpy(u->text, url, length + 1);
    colon = strchr(u->text, ':');
    if (colon == NULL || colon == u->text)
        return wrong(message, "has no scheme (as in `sqlite:usher.db`)");
    *colon = '\0';
    u->url.scheme = u->text;
    u->url.rest = colon + 1;
    u->url.options = u->options;
    query = strchr(colon + 1, '?');
    while (query != NULL) {
        struct usher_url_option *option = &u->options[u->url.n_options];
        char *key, *end, *equals;

        *query = '\0';
        key = query + 1;
        end = key + strcspn(key, "&");
        query = *end != '\0' ? end : NULL;
        if (u->url.n_options == USHER__URL_OPTIONS)
            return wrong(message, "has more than 16 options");
        *end = '\0';
        equals = strchr(key, '=');
        if (equals == NULL || equals == key)
            return wrong(message, "has an option that is not key=value");
        *equals = '\0';
        /* in place: unescaping never makes a text longer */
        if (usher_url_unescape(equals + 1, strlen(equals + 1), equals + 1,
                               strlen(equals + 1) + 1) != USHER_OK)
            return wrong(message, "contains an invalid %XX");
        option->key = key;
        option->value = equals + 1;
        option->used = false;
        for (size_t i = 0; i < u->url.n_options; i++)
            if (strcmp(u->options[i].key, key) == 0)
                return wrong(message, "has an option twice");
        u->url.n_options++;
    }
    return USHER_OK;
}

const char *usher__url_option(struct usher_url *url, const char *key)
{
    for (size_t i = 0; i < url->n_options; i++) {
        if (strcmp(url->options[i].key, key) == 0) {
            url->options[i].used = true;
            return url->options[i].value;
        }
    }
    return NULL;
}

bool usher__decimal(const char *text, int64_t min, int64_t max, int64_t *ret_value)
{
    int64_t value = 0;

    if (text[0] == '\0')
        return false;
    for (size_t i = 0; text[i] != '\0'; i++) {
        if (text[i] < '0' || text[i] > '9' || value > (INT64_MAX - 9) / 10)
            return false;
        value = value * 10 + (text[i] - '0');
    }
    if (value < min || value > max)
        return false;
    *ret_value = value;
    return true;
}
