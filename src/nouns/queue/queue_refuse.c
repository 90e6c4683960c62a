/* SPDX-License-Identifier: MIT */
/* Refusals: agents that do not get a user again for some time.  See queue.h. */
#include "config.h"

#include "queue.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/sha1.h"
#include "core/text.h"
#include "core/wide.h"

#define KEY_MAX 24                /* bytes of a key */
#define ID_MAX (KEY_MAX + 1 + 16) /* bytes of the id of a refusal */

_Static_assert(FORGET_MAX < USHER_CHANGE_MAX, "a step is a change");

static struct usher_text refusal_id(char to[ID_MAX], const struct usher_text *key,
                                    const struct usher_text *agent)
{
    struct usher_text id = { to, 0 };

    id.size = (size_t)snprintf(to, ID_MAX, "%.*s.%013" PRIx64, (int)key->size, key->data,
                               usher__sha1_52(agent->data, agent->size));
    return id;
}

enum usher_status usher__queue_refused(work *w, const struct usher_record *u,
                                       const struct usher_text *agent, struct usher_record *r)
{
    char buffer[ID_MAX];
    struct usher_text id;

    if (u->data.size == 0)
        return USHER_MISSING;
    if (u->data.size >= KEY_MAX)
        return damaged(w);
    id = refusal_id(buffer, &u->data, agent);
    return w->ops->find(w->txn, &w->scope, KIND_REFUSAL, &id, r);
}

enum usher_status usher__queue_refuse(work *w, struct queue_change *qc, struct usher_record *u,
                                      const struct usher_text *agent, int64_t at)
{
    char *id = (char *)qc->user_data, *key = id + ID_MAX;
    struct usher_record r;
    enum usher_status status = usher__queue_refused(w, u, agent, &r);

    if (status != USHER_OK && status != USHER_MISSING)
        return status;
    if (u->data.size == 0) {
        u->data.data = key;
        u->data.size = usher__wide_text((int64_t)qc->c.scope->version, key);
    }
    if (status == USHER_MISSING) {
        memset(&r, 0, sizeof r);
        r.kind = KIND_REFUSAL;
        r.id = refusal_id(id, &u->data, agent);
        r.group = u->data;
        r.owner = *agent;
        r.data = u->id;
    }
    r.order = qc->c.scope->version;
    r.n[R_AT] = at;
    r.until_ms = at + w->scope.settings[SET_ASK_AGAIN];
    r.rank = 0;
    r.slots = USHER__LIST_DUE | USHER__LIST_HELD;
    usher__change_save(&qc->c, &r);
    return USHER_OK;
}

enum usher_status usher__queue_refuse_no_more(work *w, struct queue_change *qc,
                                              const struct usher_record *u,
                                              const struct usher_text *agent)
{
    struct usher_record r;
    enum usher_status status = usher__queue_refused(w, u, agent, &r);

    if (status == USHER_OK)
        usher__change_erase(&qc->c, &r);
    return status == USHER_MISSING ? USHER_OK : status;
}

/* Erase up to @max refusals of @key.  *@ret_left: there are others. */
static enum usher_status refusals_erase(work *w, struct usher__change *c,
                                        const struct usher_text *key, int max, bool *ret_left)
{
    int n = 0;

    for (uint8_t slot = 0; slot < 2; slot++) {
        uint64_t hi = 0, order = 0;

        for (;;) {
            struct usher_record r;
            enum usher_status status =
                w->ops->walk(w->txn, &w->scope, KIND_REFUSAL, slot, key, hi, order, false, &r);

            if (status == USHER_MISSING)
                break;
            *ret_left = status == USHER_OK && n == max;
            if (status != USHER_OK || *ret_left)
                return status;
            usher__change_erase(c, &r);
            n++;
            hi = slot == 0 ? r.rank : (uint64_t)r.until_ms;
            order = r.order;
        }
    }
    *ret_left = false;
    return USHER_OK;
}

enum usher_status usher__queue_forget(work *w, struct queue_change *qc,
                                      const struct usher_record *u, int64_t at)
{
    bool left;
    enum usher_status status;

    if (u->data.size == 0)
        return USHER_OK;
    status = refusals_erase(w, &qc->c, &u->data, FORGET_AT_ONCE, &left);
    if (status == USHER_OK && left) {
        struct usher_record r = { .kind = KIND_REFUSAL, .state = R_FORGOTTEN };

        r.id = u->data;
        r.order = qc->c.scope->version;
        r.until_ms = at > 0 ? at : 1;
        r.slots = USHER__LIST_DUE;
        usher__change_save(&qc->c, &r);
    }
    return status;
}

static struct usher_text search_id(char to[KEY_MAX], uint64_t login)
{
    struct usher_text id = { to, 1 };

    to[0] = '?';
    id.size += usher__wide_text((int64_t)login, to + 1);
    return id;
}

enum usher_status usher__queue_search_later(work *w, uint64_t login, const struct search *search)
{
    char buffer[KEY_MAX];
    struct usher_text id = search_id(buffer, login);
    struct usher__change c;
    struct usher_record r;
    enum usher_status status = w->ops->find(w->txn, &w->scope, KIND_REFUSAL, &id, &r);

    if (status == USHER_MISSING) {
        memset(&r, 0, sizeof r);
        r.kind = KIND_REFUSAL;
        r.state = R_SEARCH;
        r.id = id;
        r.token = r.order = login;
    } else if (status != USHER_OK) {
        return status;
    }
    r.n[R_AT] = (int64_t)search->rank;
    r.n[R_ORDER] = (int64_t)search->order;
    r.n[R_REFUSALS] = search->refusals;
    r.until_ms = w->moment > 0 ? w->moment : 1;
    r.slots = USHER__LIST_DUE;
    usher__change_begin_quietly(w, &c);
    usher__change_save(&c, &r);
    return usher__change_write(w, &c);
}

/* The agent of @r may get the user again. */
static enum usher_status may_again(struct run *run, struct usher_record *r)
{
    work *w = run->w;
    struct usher__change c;
    struct usher_record u;
    enum usher_status status;

    r->rank = (uint64_t)r->n[R_AT];
    r->until_ms = 0;
    r->slots = USHER__LIST_READY | USHER__LIST_HELD;
    usher__change_begin_quietly(w, &c);
    usher__change_save(&c, r);
    status = w->ops->find(w->txn, &w->scope, KIND_USER, &r->data, &u);
    if (status == USHER_OK && usher__text_equal(&u.data, &r->group))
        usher__queue_pending_user(run, &u);
    return status == USHER_OK || status == USHER_MISSING ? usher__change_write(w, &c) : status;
}

/* Erase some refusals of the key @r->id, and @r after the last of them. */
static enum usher_status forget_more(work *w, const struct usher_record *r)
{
    struct usher__change c;
    bool left;
    enum usher_status status;

    usher__change_begin_quietly(w, &c);
    status = refusals_erase(w, &c, &r->id, FORGET_MAX, &left);
    if (status == USHER_OK && !left)
        usher__change_erase(&c, r);
    return status == USHER_OK ? usher__change_write(w, &c) : status;
}

static enum usher_status search_on(struct run *run, const struct usher_record *r)
{
    work *w = run->w;
    struct search search = { r->n[R_REFUSALS] != 0, (uint64_t)r->n[R_AT], (uint64_t)r->n[R_ORDER] };
    uint64_t login = r->token;
    struct usher__change c;
    enum usher_status status;

    usher__change_begin_quietly(w, &c);
    usher__change_erase(&c, r);
    status = usher__change_write(w, &c);
    if (status != USHER_OK || !automatic(w->scope.settings))
        return status;
    return usher__queue_match_agent(run, login, USHER_QUEUE_CAPACITY_MAX, &search);
}

enum usher_status usher__queue_expire_refusal(struct run *run, struct usher_record *r)
{
    switch (r->state) {
    case R_REFUSED:
        return may_again(run, r);
    case R_FORGOTTEN:
        return forget_more(run->w, r);
    default:
        return search_on(run, r);
    }
}

const char *usher__queue_refusal_fault(const struct usher_record *r)
{
    bool pends = r->until_ms != 0;
    unsigned slots = pends ? USHER__LIST_DUE : USHER__LIST_READY;

    if (r->state > R_REASON)
        return "has an unknown state";
    if (r->state == R_REASON)
        return r->slots != USHER__LIST_READY || r->data.size == 0 || r->data.size > USHER_NAME_MAX
                   ? "is no reason of a mode"
                   : NULL;
    if (r->state != R_REFUSED)
        return r->slots != USHER__LIST_DUE || !pends ? "is not in the list of deadlines" : NULL;
    if (r->group.size == 0 || r->owner.size == 0 || r->data.size == 0)
        return "names no user or no agent";
    return r->slots != (slots | USHER__LIST_HELD) || r->rank != (pends ? 0 : (uint64_t)r->n[R_AT])
               ? "is in lists that do not match its state"
               : NULL;
}
