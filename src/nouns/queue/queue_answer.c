/* SPDX-License-Identifier: MIT */
/* The answers of the verbs of a queue about one agent or one user. */
#include "config.h"

#include "queue.h"

#include <string.h>

static void name_put(size_t *size, char *to, const struct usher_text *from)
{
    *size = from->size;
    if (from->size != 0)
        memcpy(to, from->data, from->size);
    to[from->size] = '\0';
}

void usher__queue_answer_names(work *w, const struct usher_text *user,
                               const struct usher_text *agent)
{
    struct usher_queue_result *q = reply_of(w);

    if (user != NULL)
        name_put(&q->user_size, q->user, user);
    if (agent != NULL)
        name_put(&q->agent_size, q->agent, agent);
}

void usher__queue_answer_agent(work *w, enum usher_status status, const struct usher_record *r)
{
    struct usher_queue_result *q = reply_of(w);
    struct agent a;

    a.r = *r;
    w->reply->status = status;
    q->state = shown(r);
    q->login = r->state != USHER_QUEUE_AGENT_GONE ? r->order : 0;
    q->no = r->state != USHER_QUEUE_AGENT_GONE ? r->n[A_CAPACITY] : 0;
    q->token = r->state != USHER_QUEUE_AGENT_GONE && usher__queue_agent_read(&a) ? a.token : 0;
    usher__queue_answer_names(w, NULL, &r->id);
}

enum usher_status usher__queue_answer_no_agent(work *w, enum usher_status status,
                                               const struct usher_text *id)
{
    w->reply->status = status;
    usher__queue_answer_names(w, NULL, id);
    return USHER_OK;
}

int64_t usher__queue_user_until(const struct usher_record *u)
{
    switch (u->state) {
    case USHER_QUEUE_USER_WAITING:
        return u->n[U_PATIENCE];
    case USHER_QUEUE_USER_OFFERED:
        return u->n[U_END];
    case USHER_QUEUE_USER_AWAY:
        return nearer(u->n[U_END], u->n[U_PATIENCE]);
    default:
        return 0;
    }
}

struct usher_queue_result_row usher__queue_user_row(const struct usher_record *u)
{
    return (struct usher_queue_result_row){
        .user = u->id,
        .lane = u->group,
        .state = u->state,
        .priority = u->n[U_PRIORITY],
        .since_ms = u->n[U_SINCE],
        .applied_ms = u->n[U_APPLIED],
        .matched_ms = u->n[U_MATCHED],
        .until_ms = usher__queue_user_until(u),
        .no = u->n[U_NO],
        .token = u->token,
    };
}

enum usher_status usher__queue_login_of(work *w, const struct usher_text *id, uint64_t *ret)
{
    struct usher_record r;
    enum usher_status status = w->ops->find(w->txn, &w->scope, KIND_AGENT, id, &r);

    if (status == USHER_MISSING)
        return damaged(w);
    if (status == USHER_OK)
        *ret = r.order;
    return status;
}

/* Answer with the place of @u, a waiting user. */
static enum usher_status answer_waiting(work *w, const struct usher_record *u, const struct lane *l)
{
    struct usher_queue_result *q = reply_of(w);
    uint64_t before = 0;
    int64_t stored = l->r.n[USHER_QUEUE_USER_WAITING - 1] - (u->ref == NULL);
    enum usher_status status = USHER_OK;

    /* a new user is counted already, but not stored */
    if (stored > 0)
        status =
            w->ops->rank(w->txn, &w->scope, KIND_USER, 0, &u->group, u->rank, u->order, &before);
    q->index = (int64_t)before;
    if (w->command->verb != USHER_QUEUE_APPLY && w->command->verb != USHER_QUEUE_MOVE)
        q->waiting = l->r.n[L_WAITING];
    if (status == USHER_OK && figure(l, F_PACE) != 0) {
        int64_t idle = lasted(figure(l, F_LAST), usher__work_at(w));

        status = usher__queue_served(w, &u->group);
        if (status == USHER_OK) {
            q->wait_ms = (q->index + 1) * figure(l, F_PACE) / 16;
            if (q->wait_ms < idle)
                q->wait_ms = idle;
        }
    }
    return status == USHER_MISSING ? USHER_OK : status;
}

bool usher__queue_answers_lane(const work *w)
{
    return w->command->verb == USHER_QUEUE_WHERE || w->command->verb == USHER_QUEUE_ALIVE;
}

enum usher_status usher__queue_answer_user(work *w, enum usher_status status,
                                           const struct usher_record *u, uint64_t login,
                                           struct lane *l)
{
    static const uint8_t places[] = { USHER_QUEUE_PLACE_NONE, USHER_QUEUE_PLACE_QUEUE,
                                      USHER_QUEUE_PLACE_OFFER, USHER_QUEUE_PLACE_ROOM,
                                      USHER_QUEUE_PLACE_AWAY };
    struct usher_queue_result *q = reply_of(w);

    w->reply->status = status;
    q->count = u->order; /* the token of the visit */
    q->place = (enum usher_queue_place)places[u->state];
    q->index = -1;
    q->wait_ms = -1;
    q->since_ms = u->n[U_SINCE];
    usher__queue_answer_names(w, usher__queue_answers_lane(w) ? &u->group : &u->id, &u->owner);
    if (u->state == USHER_QUEUE_USER_OFFERED || u->state == USHER_QUEUE_USER_SEATED) {
        q->token = u->token;
        q->no = u->n[U_NO];
        q->login = login;
        q->until_ms = u->n[U_END];
        return login != 0 ? USHER_OK : usher__queue_login_of(w, &u->owner, &q->login);
    }
    if (u->state == USHER_QUEUE_USER_WAITING) {
        struct queue_change qc;
        enum usher_status read = USHER_OK;

        usher__queue_change_init(&qc);
        if (l == NULL)
            read = usher__queue_lane_hold(w, &qc, &u->group, &l);
        return read == USHER_OK ? answer_waiting(w, u, l) : read;
    }
    return USHER_OK;
}

enum usher_status usher__queue_answer_gone(work *w, enum usher_status status,
                                           const struct usher_text *user)
{
    struct usher_queue_result *q = reply_of(w);

    w->reply->status = status;
    q->index = -1;
    q->wait_ms = -1;
    if (!usher__queue_answers_lane(w))
        usher__queue_answer_names(w, user, NULL);
    return USHER_OK;
}

/* Return whether the store has lost changes of the queue. */
static bool has_lost(const work *w)
{
    for (unsigned i = 0; i < w->scope.n_gaps; i++)
        if (w->scope.gaps[i].last != 0) /* else it had none before */
            return true;
    return false;
}

enum usher_status usher__queue_answer_ended(work *w, const struct usher_text *user)
{
    struct usher_queue_result *q = reply_of(w);
    struct usher_record v;
    enum usher_status status = USHER_MISSING;

    (void)usher__queue_answer_gone(w, USHER_MISSING, user);
    if (w->scope.ref != NULL)
        status =
            w->ops->walk(w->txn, &w->scope, KIND_VISIT, 0, user, UINT64_MAX, UINT64_MAX, true, &v);
    if (status == USHER_MISSING && has_lost(w))
        q->why = USHER_QUEUE_WHY_LOST;
    if (status != USHER_OK)
        return status == USHER_MISSING ? USHER_OK : status;
    if (v.state == USHER_QUEUE_OUTCOME_REQUEUED) { /* it waited again */
        q->why = USHER_QUEUE_WHY_LOST;
        return USHER_OK;
    }
    q->outcome = (enum usher_queue_outcome)v.state;
    q->until_ms = v.n[VISIT_END];
    q->token = (uint64_t)v.n[VISIT_TOKEN];
    usher__queue_answer_names(w, NULL, &v.owner);
    return USHER_OK;
}
