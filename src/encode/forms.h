/* SPDX-License-Identifier: MIT */
/* Forms of answers and notices as bytes: JSON, MessagePack, RESP2 and RESP3 (forms.c). */
#ifndef USHER_ENCODE_FORMS_H
#define USHER_ENCODE_FORMS_H

#include <usher/command.h>

#include "core/pack.h"

#define DEPTH_MAX 8 /* answer, notices, notice, presence, notice, data */

struct usher__writer {
    const struct usher__form *form;
    struct usher__packer to; /* n: the size, also if it does not fit */
    unsigned depth;
    struct {
        size_t at; /* its beginning */
        size_t n;  /* keys or elements so far */
    } level[DEPTH_MAX];
};

enum { ARRAY, MAP };

enum usher__constant { NIL_VALUE, FALSE_VALUE, TRUE_VALUE };

/*
 * One form.  A value in an array follows element(), a value in a map follows key().  Both are
 * called after level[depth].n was counted, and end() before the level is left, so that a form with
 * counts in front can insert them then.
 */
struct usher__form {
    void (*begin)(struct usher__writer *w, bool map);
    void (*end)(struct usher__writer *w, bool map);
    void (*key)(struct usher__writer *w, const char *text, size_t size);
    void (*element)(struct usher__writer *w);
    void (*text)(struct usher__writer *w, const char *text, size_t size);  /* UTF-8 */
    void (*bytes)(struct usher__writer *w, const char *data, size_t size); /* any */
    void (*number)(struct usher__writer *w, uint64_t size, bool minus);
    void (*token)(struct usher__writer *w, uint64_t token); /* an identifier, not a number */
    void (*share)(struct usher__writer *w, int64_t parts);  /* of 10,000 */
    void (*constant)(struct usher__writer *w, enum usher__constant which);
    void (*failed)(struct usher__writer *w, const struct usher_reply *reply); /* NULL: as a map */
};

/* Return NULL if there is no such form. */
const struct usher__form *usher__form_of(enum usher_form form);

static inline const char *usher__message_of(const struct usher_reply *reply)
{
    return reply->message[0] != '\0' ? reply->message : usher_status_text(reply->status);
}

#endif
