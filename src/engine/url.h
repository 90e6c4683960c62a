/* SPDX-License-Identifier: MIT */
#ifndef USHER_ENGINE_URL_H
#define USHER_ENGINE_URL_H

#include <usher/store/store.h>

#define USHER__URL_MAX 4096
#define USHER__URL_OPTIONS 16

/* A parsed URL; the pointers in `url` point into `text`. */
struct usher__url {
    struct usher_url url;
    struct usher_url_option options[USHER__URL_OPTIONS];
    char text[USHER__URL_MAX];
};

/* Return USHER_OK, or USHER_INVALID with a message. */
enum usher_status usher__url_parse(const char *url, struct usher__url *u, char message[192]);

/* Return the value of option @key and mark it as used, or NULL if it is not given. */
const char *usher__url_option(struct usher_url *url, const char *key);

/* Read a decimal number from @min to @max, which must be all of @text. */
bool usher__decimal(const char *text, int64_t min, int64_t max, int64_t *ret_value);

#endif
