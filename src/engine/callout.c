/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "engine/callout.h"

#include "engine/engine.h"

static enum usher_status leave(struct usher__inside *here, enum usher_status status)
{
    usher__callout_end(here);
    return status;
}

static struct usher__authority_callout *callout_of(struct usher_authority *a)
{
    return (struct usher__authority_callout *)(void *)a;
}

static struct usher_authority *a_enter(struct usher__inside *here, struct usher_authority *a)
{
    usher__callout_begin(here, callout_of(a)->e);
    return callout_of(a)->own;
}

static enum usher_status a_reserve(struct usher_authority *a,
                                   const struct usher_authority_want *want, int64_t deadline_ms,
                                   struct usher_authority_range *ret_range, char message[192])
{
    struct usher__inside here;
    struct usher_authority *own = a_enter(&here, a);

    return leave(&here, own->ops->reserve(own, want, deadline_ms, ret_range, message));
}

static enum usher_status a_read(struct usher_authority *a, enum usher_noun noun,
                                const struct usher_text *name, int64_t deadline_ms,
                                struct usher_authority_entry *ret_entry, char message[192])
{
    struct usher__inside here;
    struct usher_authority *own = a_enter(&here, a);

    return leave(&here, own->ops->read(own, noun, name, deadline_ms, ret_entry, message));
}

static enum usher_status a_release(struct usher_authority *a, enum usher_noun noun,
                                   const struct usher_text *name, int64_t from, int64_t to,
                                   int64_t deadline_ms, char message[192])
{
    struct usher__inside here;
    struct usher_authority *own = a_enter(&here, a);

    return leave(&here, own->ops->release(own, noun, name, from, to, deadline_ms, message));
}

static enum usher_status a_journal(struct usher_authority *a, struct usher_authority_event *events,
                                   size_t n, int64_t deadline_ms, char message[192])
{
    struct usher__inside here;
    struct usher_authority *own = a_enter(&here, a);

    return leave(&here, own->ops->journal(own, events, n, deadline_ms, message));
}

static void a_close(struct usher_authority *a)
{
    struct usher__inside here;
    struct usher_authority *own = a_enter(&here, a);

    own->ops->close(own);
    usher__callout_end(&here);
}

static void a_forget(struct usher_authority *a)
{
    struct usher_authority *own = callout_of(a)->own;

    own->ops->forget(own);
}

static enum usher_status a_events(struct usher_authority *a, enum usher_noun noun,
                                  const struct usher_text *name, uint64_t row, size_t max,
                                  int64_t deadline_ms, usher_authority_event_fn *fn, void *payload,
                                  char message[192])
{
    struct usher__inside here;
    struct usher_authority *own = a_enter(&here, a);

    return leave(&here,
                 own->ops->events(own, noun, name, row, max, deadline_ms, fn, payload, message));
}

static enum usher_status a_twice(struct usher_authority *a, int64_t deadline_ms,
                                 usher_authority_event_fn *fn, void *payload, char message[192])
{
    struct usher__inside here;
    struct usher_authority *own = a_enter(&here, a);

    return leave(&here, own->ops->twice(own, deadline_ms, fn, payload, message));
}

static enum usher_status a_entries(struct usher_authority *a, enum usher_noun noun,
                                   int64_t deadline_ms, usher_authority_entry_fn *fn, void *payload,
                                   char message[192])
{
    struct usher__inside here;
    struct usher_authority *own = a_enter(&here, a);

    return leave(&here, own->ops->entries(own, noun, deadline_ms, fn, payload, message));
}

struct usher_authority *usher__authority_callout(struct usher__authority_callout *callout,
                                                 struct usher_engine *e,
                                                 struct usher_authority *own)
{
    const struct usher_authority_ops *of = own->ops;

    callout->ops = (struct usher_authority_ops){
        .size = sizeof callout->ops,
        .name = of->name,
        .reserve = a_reserve,
        .read = a_read,
        .release = a_release,
        .journal = of->journal != NULL ? a_journal : NULL,
        .close = a_close,
        .forget = of->forget != NULL ? a_forget : NULL,
        .events = of->events != NULL ? a_events : NULL,
        .twice = of->twice != NULL ? a_twice : NULL,
        .entries = of->entries != NULL ? a_entries : NULL,
    };
    callout->base.ops = &callout->ops;
    callout->own = own;
    callout->e = e;
    return &callout->base;
}
