/* SPDX-License-Identifier: MIT */
/* Opening authorities by URL, and the typed functions that are about them alone. */
#include "config.h"

#include "engine/authority.h"

#include <stdio.h>
#include <string.h>

#include "builtin.h"
#include "engine/engine.h"
#include "change/memory.h"

enum usher_status usher__authority_open(const char *url, const struct usher_allocator *alloc,
                                        struct usher_authority **ret_authority, char message[192])
{
    static const char scheme[] = "sqlite:";

    if (strncmp(url, scheme, sizeof scheme - 1) != 0) {
        (void)snprintf(message, 192, "an authority is sqlite:PATH");
        return USHER_INVALID;
    }
    if (usher__builtin_authority == NULL) {
        (void)snprintf(message, 192, "built without SQLite");
        return USHER_INVALID;
    }
    return usher__builtin_authority(url + sizeof scheme - 1, usher__allocator(alloc), ret_authority,
                                    message);
}

bool usher__authority_sound(const struct usher_authority *a)
{
    const struct usher_authority_ops *ops = a->ops;

    return ops != NULL && ops->size >= sizeof *ops && ops->name != NULL && ops->reserve != NULL &&
           ops->read != NULL && ops->release != NULL && ops->close != NULL;
}

enum usher_status usher_authority_open(const char *url, const struct usher_allocator *alloc,
                                       struct usher_authority **ret_authority)
{
    char why[192] = "";
    enum usher_status status;

    usher__message_clear();
    if (url == NULL || ret_authority == NULL) {
        usher__message_set("authority: %s is NULL", url == NULL ? "url" : "ret_authority");
        return USHER_INVALID;
    }
    status = usher__authority_open(url, alloc, ret_authority, why);
    if (status != USHER_OK)
        usher__message_set("authority: %s", why);
    return status;
}

void usher_authority_close(struct usher_authority *a)
{
    if (a != NULL)
        a->ops->close(a);
}

enum usher_status usher__authority_events(struct usher_authority *a, enum usher_noun noun,
                                          const char *name, uint64_t row, size_t max,
                                          int64_t deadline_ms, usher_authority_event_fn *fn,
                                          void *payload)
{
    struct usher_text text = { name, strlen(name) };
    char why[192] = "";
    enum usher_status status;

    if (a->ops->events == NULL) {
        usher__message_set("authority: this authority has no journal");
        return USHER_INVALID;
    }
    status = a->ops->events(a, noun, &text, row, max != 0 ? max : SIZE_MAX, deadline_ms, fn,
                            payload, why);
    if (status != USHER_OK)
        usher__message_set("authority: %s", why[0] != '\0' ? why : usher_status_text(status));
    return status;
}

enum usher_status usher_authority_events(struct usher_authority *a, enum usher_noun noun,
                                         const char *name, uint64_t row, size_t max,
                                         usher_authority_event_fn *fn, void *payload)
{
    usher__message_clear();
    if (a == NULL || name == NULL || fn == NULL) {
        usher__message_set("authority: an argument is NULL");
        return USHER_INVALID;
    }
    if (strlen(name) > USHER_AUTHORITY_NAME_MAX) {
        usher__message_set("authority: the name is longer than %d bytes", USHER_AUTHORITY_NAME_MAX);
        return USHER_INVALID;
    }
    return usher__authority_events(a, noun, name, row, max,
                                   usher__monotonic_ms() + USHER_TIMEOUT_DEFAULT, fn, payload);
}
