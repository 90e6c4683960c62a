/* SPDX-License-Identifier: MIT */
/* Histories by URL, and the noun whose scopes have one. */
#include "config.h"

#include "engine/history.h"

#include <stdio.h>
#include <string.h>

#include "builtin.h"
#include "change/memory.h"
#include "change/thread.h"

enum usher_status usher__history_open(const char *url, const struct usher_allocator *alloc,
                                      struct usher_history **ret_history, char message[192])
{
    static const char scheme[] = "sqlite:";

    if (strncmp(url, scheme, sizeof scheme - 1) != 0) {
        (void)snprintf(message, 192, "a history is sqlite:PATH");
        return USHER_INVALID;
    }
    if (usher__builtin_history == NULL) {
        (void)snprintf(message, 192, "built without SQLite");
        return USHER_INVALID;
    }
    return usher__builtin_history(url + sizeof scheme - 1, usher__allocator(alloc), ret_history,
                                  message);
}

bool usher__history_sound(const struct usher_history *h)
{
    const struct usher_history_ops *ops = h->ops;

    return ops != NULL && ops->size >= sizeof *ops && ops->name != NULL && ops->put != NULL &&
           ops->close != NULL;
}

enum usher_status usher_history_open(const char *url, const struct usher_allocator *alloc,
                                     struct usher_history **ret_history)
{
    char why[192] = "";
    enum usher_status status;

    usher__message_clear();
    if (url == NULL || ret_history == NULL) {
        usher__message_set("history: %s is NULL", url == NULL ? "url" : "ret_history");
        return USHER_INVALID;
    }
    status = usher__history_open(url, alloc, ret_history, why);
    if (status != USHER_OK)
        usher__message_set("history: %s", why);
    return status;
}

void usher_history_close(struct usher_history *h)
{
    if (h != NULL)
        h->ops->close(h);
}

const struct usher__archive_ops *usher__archive(void)
{
    unsigned noun = 0;

    while (usher__hooks(noun)->archive == NULL)
        noun++;
    return usher__hooks(noun)->archive;
}
