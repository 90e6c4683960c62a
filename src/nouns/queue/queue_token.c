/* SPDX-License-Identifier: MIT */
/* Tokens: the login, visit or match of a command.  See queue_verbs.def. */
#include "config.h"

#include "queue.h"

#include "core/verbs.h"

bool usher__queue_token_missing(const work *w)
{
    enum usher_verb v = w->command->verb;

    return w->scope.settings[SET_STRICT] != 0 && !given(w, USHER_GIVEN_QUEUE_TOKEN) &&
           v != USHER_QUEUE_WHERE && v != USHER_QUEUE_DRAIN &&
           (usher__verb((unsigned)v)->given & USHER_GIVEN_QUEUE_TOKEN) != 0;
}

bool usher__queue_token_other(work *w, bool found, uint64_t current)
{
    uint64_t token = args(w)->token;

    if (!given(w, USHER_GIVEN_QUEUE_TOKEN) || (found && token == current))
        return false;
    if (w->scope.ref != NULL && usher__scope_version_lost(w, token)) {
        (void)usher__say_lost(w, "token");
        return true;
    }
    if (found)
        w->reply->status = USHER_STALE;
    return found;
}

/* Find the token of the login of the agent of the command, or of its last login. */
static enum usher_status login_token(struct run *run, uint64_t *ret)
{
    work *w = run->w;
    struct agent a;
    enum usher_status status = usher__queue_load(run, KIND_AGENT, &args(w)->agent, &a.r);

    if (status == USHER_OK) {
        if (!usher__queue_agent_read(&a))
            return damaged(w);
        *ret = a.token;
    } else if (status == USHER_MISSING && w->command->verb == USHER_QUEUE_LOGOUT) {
        status = usher__queue_absent(w, &a.r);
        *ret = a.r.token;
    }
    return status;
}

enum usher_status usher__queue_token_check(struct run *run, bool *ret_other)
{
    work *w = run->w;
    const struct usher_queue_args *g = args(w);
    enum usher_verb v = w->command->verb;
    bool offer = v == USHER_QUEUE_ACCEPT || v == USHER_QUEUE_REJECT;
    uint64_t current = 0;
    enum usher_status status;

    *ret_other = false;
    if (!given(w, USHER_GIVEN_QUEUE_TOKEN) || v == USHER_QUEUE_FINISH || v == USHER_QUEUE_DRAIN)
        return USHER_OK;
    if (g->user.data != NULL) {
        struct usher_record u;

        status = usher__queue_load(run, KIND_USER, &g->user, &u);
        if (status == USHER_OK)
            current = offer ? u.token : u.order;
    } else {
        status = login_token(run, &current);
    }
    if (status != USHER_OK && status != USHER_MISSING)
        return status;
    *ret_other = usher__queue_token_other(w, status == USHER_OK, current);
    if (*ret_other && w->reply->status == USHER_STALE) {
        usher__queue_answer_names(
            w, g->user.data != NULL && !usher__queue_answers_lane(w) ? &g->user : NULL,
            g->agent.data != NULL ? &g->agent : NULL);
        if (g->user.data != NULL)
            reply_of(w)->index = reply_of(w)->wait_ms = -1;
    }
    return USHER_OK;
}
