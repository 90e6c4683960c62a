/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "change/thread.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <usher/usher.h>

#include "change/memory.h"

_Thread_local struct usher__thread usher__this_thread;

void usher__callout_begin(struct usher__inside *here, const struct usher_engine *e)
{
    struct usher__thread *t = &usher__this_thread; /* read once, because finding it costs a call */

    here->e = e;
    here->outer = t->inside;
    here->thread = t;
    here->message[0] = '\0';
    if (t->message[0] != '\0')
        memcpy(here->message, t->message, sizeof t->message);
    t->inside = here;
}

void usher__callout_end(const struct usher__inside *here)
{
    struct usher__thread *t = here->thread;

    t->inside = here->outer;
    if (here->message[0] != '\0')
        memcpy(t->message, here->message, sizeof t->message);
    else
        t->message[0] = '\0';
}

bool usher__is_inside(const struct usher__thread *t, const struct usher_engine *e)
{
    const struct usher__inside *at = t->inside;

    while (at != NULL && at->e != e)
        at = at->outer;
    return at != NULL;
}

void usher__message_clear(void)
{
    usher__this_thread.message[0] = '\0';
}

void usher__message_set(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(usher__this_thread.message, sizeof usher__this_thread.message, format, ap);
    va_end(ap);
    /* one line, whatever a URL or a name contains */
    usher__copy_line(usher__this_thread.message, sizeof usher__this_thread.message,
                     usher__this_thread.message);
}

const char *usher_message(void)
{
    return usher__this_thread.message;
}
