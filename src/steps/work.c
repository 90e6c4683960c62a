/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "work.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"

enum usher_status usher__change_commit(struct usher__work *w, struct usher__change *c,
                                       enum usher_verb verb, unsigned from, unsigned to,
                                       const struct usher_record *r)
{
    struct usher_notice notice;
    char subject[USHER_NAME_MAX], owner[USHER_NAME_MAX];
    enum usher_status status;

    if (w->context->notify != NULL) {
        /* write() may free what the texts of @r point to */
        memset(&notice, 0, sizeof notice);
        notice.noun = (enum usher_noun)c->scope->noun;
        notice.scope = c->scope->name;
        notice.version = c->scope->version;
        notice.now_ms = w->now;
        notice.verb = verb;
        notice.from = (uint8_t)from;
        notice.to = (uint8_t)to;
        if (r != NULL) {
            notice.token = r->token;
            notice.until_ms = r->until_ms;
            notice.subject.data = memcpy(subject, r->id.data, r->id.size);
            notice.subject.size = r->id.size;
            if (r->owner.size != 0) {
                notice.owner.data = memcpy(owner, r->owner.data, r->owner.size);
                notice.owner.size = r->owner.size;
            }
        }
    }
    status = w->ops->write(w->txn, c->scope, c->writes, c->n);
    if (status != USHER_OK)
        return status;
    w->reply->epoch = c->scope->epoch;
    w->reply->version = c->scope->version;
    if (w->context->notify != NULL) {
        notice.epoch = c->scope->epoch;
        w->context->notify(w->context->payload, &notice);
    }
    return USHER_OK;
}

enum usher_status usher__change_remember(struct usher__work *w, struct usher__change *c,
                                         struct usher_record *r, int64_t *count, int64_t limit)
{
    struct usher_record old;
    uint64_t behind = 0;

    if (r->ref == NULL)
        ++*count;
    for (int erased = 0; erased < 2;) {
        enum usher_status status =
            w->ops->walk(w->txn, &w->scope, r->kind, 0, NULL, 0, behind, false, &old);

        if (status == USHER_MISSING)
            break;
        if (status != USHER_OK)
            return status;
        behind = old.order;
        if (r->ref != NULL && usher__text_equal(&old.id, &r->id))
            continue;
        if (*count <= limit && old.until_ms > w->now)
            break;
        usher__change_erase(c, &old);
        --*count;
        erased++;
    }
    r->slots = 1u;
    r->rank = 0;
    r->order = c->scope->version;
    usher__change_save(c, r);
    return USHER_OK;
}

enum usher_status usher__request_keep(struct usher__work *w, struct usher__change *c,
                                      int64_t *count, int64_t limit)
{
    struct usher_record r;
    enum usher_status status;

    if (w->command->request.data == NULL)
        return USHER_OK;
    /* It may be there still: too old to be answered, or kept by an earlier step. */
    status = USHER_MISSING;
    if (w->scope.ref != NULL)
        status = w->ops->find(w->txn, &w->scope, USHER_KIND_REQUEST, &w->command->request, &r);
    if (status == USHER_MISSING) {
        memset(&r, 0, sizeof r);
        r.kind = USHER_KIND_REQUEST;
    } else if (status != USHER_OK) {
        return status;
    }
    r.id = w->command->request;
    r.until_ms = w->now + USHER__REQUEST_MS;
    r.data.data = c->answer;
    r.data.size = usher__number_reply_write(w->command, w->reply, c->scope->version, c->answer);
    if (w->scope.ref == NULL) { /* nothing there to walk over */
        r.slots = 1u;
        r.order = c->scope->version;
        usher__change_save(c, &r);
        ++*count;
        return USHER_OK;
    }
    return usher__change_remember(w, c, &r, count, limit);
}

enum usher_status usher__request_find(struct usher__work *w)
{
    struct usher_record r;
    unsigned verb;
    enum usher_status status;

    if (w->command->request.data == NULL || w->scope.ref == NULL)
        return USHER_MISSING;
    status = w->ops->find(w->txn, &w->scope, USHER_KIND_REQUEST, &w->command->request, &r);
    if (status != USHER_OK)
        return status;
    if (r.until_ms <= w->now)
        return USHER_MISSING;
    if (!usher__number_reply_read(&r.data, w->reply, &verb))
        return usher__say(w->reply, USHER_UNAVAILABLE, "a kept answer cannot be read");
    if (verb != (unsigned)w->command->verb) {
        char line[64];

        (void)snprintf(line, sizeof line, "request id was used for `%s`",
                       usher_verb_word((enum usher_verb)verb));
        usher_reply_fail(w->reply, USHER_INVALID, line);
        return USHER_OK;
    }
    w->reply->repeated = true;
    return USHER_OK;
}

enum usher_status usher__say(struct usher_reply *reply, enum usher_status status,
                             const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(reply->message, sizeof reply->message, format, ap);
    va_end(ap);
    reply->status = status;
    return status;
}
