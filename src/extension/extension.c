/* SPDX-License-Identifier: MIT */
/* Extensions of rooms: names with a prefix, and a watcher that selects changes of them. */
#include "config.h"

#include <usher/extension.h>

#include <string.h>

#include "core/pack.h"
#include "core/text.h"
#include "engine/engine.h"
#include "change/memory.h"
#include "change/result.h"

struct usher_extension {
    struct usher_engine *e;
    usher_extension_fn *fn;
    void *payload;
    struct usher_watcher *watch;
    size_t prefix_size;
    char prefix[USHER_EXTENSION_NAME_MAX + 2]; /* name, full stop, NUL */
};

/* ---- notices --------------------------------------------------------------------- */

bool usher_extension_owns(const struct usher_extension *x, const struct usher_text *id,
                          struct usher_text *ret_name)
{
    if (id->size <= x->prefix_size || memcmp(id->data, x->prefix, x->prefix_size) != 0)
        return false;
    ret_name->data = id->data + x->prefix_size;
    ret_name->size = id->size - x->prefix_size;
    return true;
}

static bool untold(const struct usher_text *data)
{
    return data->size == 1 && (unsigned char)data->data[0] == 0xc0; /* nil */
}

static void tell(const struct usher_extension *x, struct usher_extension_event *event,
                 enum usher_extension_what what)
{
    event->what = what;
    x->fn(x->payload, event);
}

static void tell_fields(const struct usher_extension *x, struct usher_extension_event *event)
{
    const struct usher_text *data = &event->notice->data;
    struct usher_fields f;
    struct usher_text field, value;
    uint64_t version;

    if (untold(data))
        tell(x, event, USHER_EXTENSION_UNTOLD);
    if (data->size <= 1)
        return;
    f = usher__fields(data);
    while (usher_fields_next(&f, &field, &value, &version))
        if (usher_extension_owns(x, &field, &event->name)) {
            event->value = value;
            tell(x, event, USHER_EXTENSION_SET);
        }
}

static bool was_in(const struct usher_notice *n)
{
    return n->from >= USHER_ROOM_MEMBER_HERE && n->from <= USHER_ROOM_MEMBER_OFFLINE;
}

void usher_extension_hear(struct usher_extension *x, const struct usher_notice *n)
{
    struct usher_extension_event event;
    bool own;

    if (x->fn == NULL || n->noun != USHER_ROOM)
        return;
    memset(&event, 0, sizeof event);
    event.room = n->scope;
    event.notice = n;
    own = usher_extension_owns(x, &n->subject, &event.name);
    switch (n->verb) {
    case USHER_ROOM_SET:
        tell_fields(x, &event);
        break;
    case USHER_ROOM_UNSET:
        if (own)
            tell(x, &event, USHER_EXTENSION_UNSET);
        break;
    case USHER_ROOM_SHARE:
        event.owner = n->owner;
        event.value = n->data;
        if (own)
            tell(x, &event, untold(&n->data) ? USHER_EXTENSION_UNTOLD : USHER_EXTENSION_MADE);
        break;
    case USHER_ROOM_UNSHARE:
        if (own)
            tell(x, &event, USHER_EXTENSION_GONE);
        break;
    case USHER_ROOM_LEAVE:
    case USHER_ROOM_KICK:
    case USHER_ROOM_EXPIRE:
        event.name = n->subject;
        if (was_in(n))
            tell(x, &event, USHER_EXTENSION_LEFT);
        break;
    case USHER_ROOM_PRESENCE: {
        struct usher_notice one;
        size_t at = 0;

        while (usher_room_presence(n, &at, &one))
            usher_extension_hear(x, &one);
        break;
    }
    case USHER_ROOM_CLOSE:
    case USHER_ROOM_EMPTY:
        event.name = (struct usher_text){ NULL, 0 };
        tell(x, &event, USHER_EXTENSION_CLOSED);
        break;
    default:
        break;
    }
}

static void heard(void *payload, const struct usher_notice *notice)
{
    usher_extension_hear(payload, notice);
}

/* ---- open, close ------------------------------------------------------------------ */

enum usher_status usher_room_extend(struct usher_engine *e, const char *name,
                                    usher_extension_fn *fn, void *payload,
                                    struct usher_extension **ret_extension)
{
    enum usher_status status = usher__engine_check(e);
    const char *wrong = NULL;
    struct usher_extension *x;
    size_t size;

    if (status != USHER_OK)
        return status;
    size = name != NULL ? strlen(name) : 0;
    if (ret_extension == NULL)
        wrong = "ret_extension is NULL";
    else if (name == NULL || usher__name_fault(name, size) != NULL || strchr(name, '.') != NULL ||
             size > USHER_EXTENSION_NAME_MAX)
        wrong = "name is not 1 to 64 bytes of UTF-8 without controls and full stops";
    if (wrong != NULL) {
        usher__message_set("room extend: %s", wrong);
        return USHER_INVALID;
    }
    x = usher__resize(e->opt.alloc, NULL, 0, sizeof *x);
    if (x == NULL) {
        usher__message_set("room extend: %s", usher_status_text(USHER_NOMEM));
        return USHER_NOMEM;
    }
    memset(x, 0, sizeof *x);
    x->e = e;
    x->fn = fn;
    x->payload = payload;
    memcpy(x->prefix, name, size);
    x->prefix[size] = '.';
    x->prefix_size = size + 1;
    if (fn != NULL)
        status = usher_watch(e, USHER_ROOM, NULL, heard, x, &x->watch);
    if (status != USHER_OK) {
        (void)usher__resize(e->opt.alloc, x, sizeof *x, 0);
        return status;
    }
    *ret_extension = x;
    return USHER_OK;
}

void usher_extension_unwatch(struct usher_extension *x)
{
    struct usher_watcher *watch = x->watch;

    x->watch = NULL;
    usher_unwatch(x->e, watch);
}

void usher_extension_close(struct usher_extension *x)
{
    if (x == NULL)
        return;
    if (x->watch != NULL && usher__watches_on(&x->e->watches, x->watch)) {
        usher__message_set(
            "extension close: called by the extension's own function: it stays open");
        return;
    }
    if (x->watch != NULL)
        usher_unwatch(x->e, x->watch);
    (void)usher__resize(x->e->opt.alloc, x, sizeof *x, 0);
}

/* ---- fields and objects ----------------------------------------------------------- */

/* Write the prefix and @name.  Return false if @name is NULL or empty, or if they are too long. */
static bool full_name(const struct usher_extension *x, const char *name, const char *what,
                      char to[USHER_NAME_MAX + 1])
{
    size_t size = name != NULL ? strlen(name) : 0;

    if (size == 0 || size > USHER_NAME_MAX - x->prefix_size) {
        usher__message_set("extension: %s is empty, or too long with the extension's name", what);
        return false;
    }
    memcpy(to, x->prefix, x->prefix_size);
    memcpy(to + x->prefix_size, name, size + 1);
    return true;
}

enum usher_status usher_extension_set(struct usher_extension *x, const char *room,
                                      const char *field, const struct usher_text *value,
                                      const struct usher_text *expected)
{
    struct usher_room_options opt = USHER_ROOM_OPTIONS_INIT;
    char full[USHER_NAME_MAX + 1];

    if (!full_name(x, field, "field", full))
        return USHER_INVALID;
    if (expected != NULL)
        opt.expected = *expected;
    return usher_room_set(x->e, room, full, value, &opt, NULL);
}

enum usher_status usher_extension_unset(struct usher_extension *x, const char *room,
                                        const char *field)
{
    char full[USHER_NAME_MAX + 1];

    if (!full_name(x, field, "field", full))
        return USHER_INVALID;
    return usher_room_unset(x->e, room, full, NULL, NULL);
}

enum usher_status usher_extension_get(struct usher_extension *x, const char *room,
                                      const char *field, struct usher_reply **ret_reply)
{
    char full[USHER_NAME_MAX + 1];

    if (ret_reply != NULL)
        *ret_reply = NULL;
    if (!full_name(x, field, "field", full))
        return USHER_INVALID;
    return usher_room_get(x->e, room, full, NULL, ret_reply);
}

enum usher_status usher_extension_share(struct usher_extension *x, const char *room,
                                        const char *member, const char *object,
                                        const struct usher_text *fields)
{
    struct usher_room_options opt = USHER_ROOM_OPTIONS_INIT;
    char full[USHER_NAME_MAX + 1];

    if (!full_name(x, object, "object", full))
        return USHER_INVALID;
    if (fields != NULL)
        opt.fields = *fields;
    return usher_room_share(x->e, room, member, full, &opt, NULL);
}

enum usher_status usher_extension_unshare(struct usher_extension *x, const char *room,
                                          const char *object)
{
    char full[USHER_NAME_MAX + 1];

    if (!full_name(x, object, "object", full))
        return USHER_INVALID;
    return usher_room_unshare(x->e, room, full, NULL, NULL);
}
