/* SPDX-License-Identifier: MIT */
/*
 * Extensions: a module (whiteboard, teaching, chat) that keeps things of its own in rooms.
 *
 * An extension has a name.  Its data are ordinary fields and shares of the room, with names that
 * begin with that name and a full stop; the rest of the library has no code for extensions.  So all
 * rules of rooms hold for them: versions, notices, the log, snapshots, replicas, limits, and every
 * rule of erasing:
 *
 *  - A field of an extension stays until it is unset or the room closes.
 *  - An object belongs to a member, as a share, and is removed in the same version as the member,
 *    in every case.  (Use a field for data that stay when their creator leaves.)
 *  - At the end of a room nothing of it is left.
 *
 * The extension gets events of its own fields and objects, of members that left, and of rooms that
 * closed.  Changes of its engine come without a call, on the thread that makes them.  Give notices
 * of other processes (`room changes`) to usher_extension_hear(); after usher_extension_unwatch(),
 * give it all of them, as events (usher_watch_events(), command.h).
 *
 * Names of extensions are names (usher.h) of at most USHER_EXTENSION_NAME_MAX bytes without a
 * full stop.  The name of a field or object and the prefix are at most USHER_NAME_MAX bytes
 * together.  Two users of one name are one extension.
 *
 * Threads: any.  Since 0.1.
 */
#ifndef USHER_EXTENSION_H
#define USHER_EXTENSION_H

#include <usher/usher.h>

#ifdef __cplusplus
extern "C" {
#endif

#define USHER_EXTENSION_NAME_MAX 64

struct usher_extension;

enum usher_extension_what {
    USHER_EXTENSION_SET,    /* a field has a new value */
    USHER_EXTENSION_UNSET,  /* a field is gone */
    USHER_EXTENSION_MADE,   /* an object was created, or has new values */
    USHER_EXTENSION_GONE,   /* an object was removed, but not its member */
    USHER_EXTENSION_LEFT,   /* a member is gone, with all its objects */
    USHER_EXTENSION_CLOSED, /* a room is gone, with its contents */
    USHER_EXTENSION_UNTOLD, /* the change was too large for a notice: read the room again */
    USHER_EXTENSION_WHAT__WIDE = 0x7fffffff
};

struct usher_extension_event {
    enum usher_extension_what what;
    struct usher_text room;
    struct usher_text name;  /* field or object without the prefix; LEFT: the member */
    struct usher_text owner; /* MADE: the member that owns it */
    struct usher_text
        value; /* SET: the value; MADE: fields that were set, for usher_fields_next() */
    const struct usher_notice *notice;
};

/* Texts live during the call.  May use the engine. */
typedef void usher_extension_fn(void *payload, const struct usher_extension_event *event);

/**
 * Open the extension @name in all rooms of @e.  @fn (may be NULL) is called like a watcher:
 * usher_watch().  Nothing is stored by this.  USHER_OK, USHER_INVALID, USHER_NOMEM.
 */
USHER_API enum usher_status usher_room_extend(struct usher_engine *e, const char *name,
                                              usher_extension_fn *fn, void *payload,
                                              struct usher_extension **ret_extension);

/** Close @x; its data in the rooms stay.  Call this before the engine is closed, and not from @fn
 *  (then it does nothing and sets usher_message()).  NULL is allowed. */
USHER_API void usher_extension_close(struct usher_extension *x);

/** Make @x receive only the notices of usher_extension_hear() from now on.  When this returns @fn
 * is not running, unless called from @fn.  Since 0.1. */
USHER_API void usher_extension_unwatch(struct usher_extension *x);

/** Process a notice of an event, or of another process.  Notices that do not concern @x are
 *  ignored. */
USHER_API void usher_extension_hear(struct usher_extension *x, const struct usher_notice *notice);

/** Return whether @id (of a row or notice) is a field or object of @x.  *@ret_name is the part of
 *  @id without the prefix. */
USHER_API bool usher_extension_owns(const struct usher_extension *x, const struct usher_text *id,
                                    struct usher_text *ret_name);

/** Set a field of @x, as usher_room_set(). */
USHER_API enum usher_status usher_extension_set(struct usher_extension *x, const char *room,
                                                const char *field, const struct usher_text *value,
                                                const struct usher_text *expected);

/** Remove field @field of @x.  USHER_OK; USHER_SAME: there was none; USHER_MISSING. */
USHER_API enum usher_status usher_extension_unset(struct usher_extension *x, const char *room,
                                                  const char *field);

/** Get one field of @x, as usher_room_get(). */
USHER_API enum usher_status usher_extension_get(struct usher_extension *x, const char *room,
                                                const char *field, struct usher_reply **ret_reply);

/** Create @object of @member, or set some of its fields, as usher_room_share(). */
USHER_API enum usher_status usher_extension_share(struct usher_extension *x, const char *room,
                                                  const char *member, const char *object,
                                                  const struct usher_text *fields);

/** Remove @object, as usher_room_unshare(). */
USHER_API enum usher_status usher_extension_unshare(struct usher_extension *x, const char *room,
                                                    const char *object);

#ifdef __cplusplus
}
#endif

#endif
