/* SPDX-License-Identifier: MIT */
/* The events of watchers: copies of notices, and gaps. */
#include "config.h"

#include <string.h>

#include "core/text.h"
#include "change/request_cache.h"
#include "change/memory.h"
#include "engine/hear_parts.h"

static struct told *told_new(struct usher__heard *h, enum usher_event_kind kind, size_t texts)
{
    const struct usher_allocator *alloc = h->p->alloc;
    size_t size = sizeof(struct told) + texts;
    struct told *t = usher__resize(alloc, NULL, 0, size);

    if (t == NULL)
        return NULL;
    memset(t, 0, sizeof *t);
    t->node.event.kind = (uint32_t)kind;
    t->node.event.tag = h->tag;
    t->node.event.notice = &t->notice;
    t->of = h;
    t->alloc = alloc;
    t->size = size;
    return t;
}

void usher__told_free(struct told *t)
{
    if (t != NULL)
        (void)usher__resize(t->alloc, t, t->size, 0);
}

void usher__heard_done(const struct usher_event *event)
{
    usher__told_free(told_of((const struct usher__node *)(const void *)event));
}

/* Copy @text and a NUL to *@at. */
static void copy_text(struct usher_text *text, char **at)
{
    if (text->size != 0)
        memcpy(*at, text->data, text->size);
    (*at)[text->size] = '\0';
    text->data = *at;
    *at += text->size + 1;
}

/* Append an event with @n for @h.  Return false if there is no space or no memory. */
bool usher__heard_append(struct usher__heard *h, const struct usher_notice *n)
{
    struct usher__post *p = h->p;
    struct told *t;
    char *at;

    if (p->n_notices >= p->limit)
        return false;
    t = told_new(h, USHER_EVENT_NOTICE,
                 n->scope.size + n->subject.size + n->owner.size + n->data.size + 4);
    if (t == NULL)
        return false;
    at = t->text;
    t->notice = *n;
    usher__notice_publish(&t->notice);
    copy_text(&t->notice.scope, &at);
    copy_text(&t->notice.subject, &at);
    copy_text(&t->notice.owner, &at);
    copy_text(&t->notice.data, &at);
    USHER_ASSERT(at <= t->text + (t->size - sizeof *t));
    usher__nodes_append(&p->ready, &t->node);
    p->n_notices++;
    return true;
}

/* Allocate a gap with space for the name of any scope. */
struct told *usher__heard_gap_new(struct usher__heard *h)
{
    return told_new(h, USHER_EVENT_GAP, USHER_NAME_MAX + 1);
}

/* Append an event with @gap for @h.  Return false if there is no memory. */
bool usher__heard_append_gap(struct usher__heard *h, const struct usher_notice *gap)
{
    static const struct usher_text none;
    struct told *t = h->spare;
    char *at;

    if (t == NULL)
        t = usher__heard_gap_new(h);
    if (t == NULL)
        return false;
    h->spare = NULL;
    at = t->text;
    t->notice = *gap;
    usher__notice_publish(&t->notice);
    t->notice.subject = t->notice.owner = t->notice.data = none;
    USHER_ASSERT(gap->scope.size <= USHER_NAME_MAX);
    copy_text(&t->notice.scope, &at);
    usher__nodes_append(&h->p->ready, &t->node);
    h->p->n_notices++;
    return true;
}
