/* SPDX-License-Identifier: MIT */
/* The verbs of a queue together: settings, and the steps of every command. */
#include "config.h"

#include "queue.h"

#include <string.h>

#include "core/number.h"
#include "core/text.h"
#include "nouns/nouns.h"

/* ---- settings --------------------------------------------------------------------- */

/* See usher__defer(). */
static enum usher_status defer(work *w)
{
    reply_of(w)->why = USHER_QUEUE_WHY_DUE;
    reply_of(w)->more = true;
    return usher__defer(w);
}

/* @reason: that of the mode, or NULL: it is not changed. */
static enum usher_status settings_write(work *w, const int64_t new[USHER_SETTINGS],
                                        const struct usher__reason *reason)
{
    struct usher__change c;
    enum usher_status status;

    usher__change_begin(w, &c);
    if (new[SET_STRATEGY] != c.scope->settings[SET_STRATEGY])
        c.scope->counts[COUNT_OLD] |= OLD_RANKS;
    usher__queue_limits_change(w, &c, new);
    memcpy(c.scope->settings, new, USHER_SETTINGS * sizeof *new);
    if (reason != NULL)
        usher__reason_save(&c, reason);
    status = usher__change_data_settings(w, &c);
    return status == USHER_OK ? usher__change_commit(w, &c, USHER_QUEUE_SET, 0, 0, NULL) : status;
}

/* Adapt some records to changed settings.  COUNT_OLD is 0 when all are. */
static enum usher_status reach(work *w)
{
    enum usher_status status = usher__queue_rank_anew(w, RANKED_MAX);

    return status == USHER_OK ? usher__queue_limits_reach(w, RANKED_MAX) : status;
}

/*
 * Before trigger=auto is set, or mode=stopped ends: set the rest of @new, then match all waiting
 * users, because with trigger=auto no user waits that an agent could take.  *@ret_left: there are
 * more than one command matches.
 */
static enum usher_status wait_no_more(struct run *run, const int64_t new[USHER_SETTINGS],
                                      bool *ret_left)
{
    work *w = run->w;
    int64_t others[USHER_SETTINGS];
    enum usher_status status = USHER_OK;

    memcpy(others, new, sizeof others);
    others[SET_TRIGGER] = w->scope.settings[SET_TRIGGER];
    others[SET_SCOPE_MODE] = w->scope.settings[SET_SCOPE_MODE];
    if (memcmp(others, w->scope.settings, sizeof others) != 0)
        status = settings_write(w, others, NULL);
    if (status == USHER_OK)
        status = reach(w);
    *ret_left = w->scope.counts[COUNT_OLD] != 0;
    if (status == USHER_OK && !*ret_left) {
        status = usher__queue_match(run);
        *ret_left = reply_of(w)->more;
    }
    return status;
}

/* Load the reason of the mode as it is after the command, which sets @new. */
static enum usher_status reason_load(work *w, const int64_t new[USHER_SETTINGS],
                                     struct usher__reason *reason)
{
    return usher__reason_load(w, KIND_REFUSAL, R_REASON, &args(w)->reason,
                              new[SET_SCOPE_MODE] != w->scope.settings[SET_SCOPE_MODE], reason);
}

static enum usher_status set(struct run *run)
{
    work *w = run->w;
    int64_t new[USHER_SETTINGS];
    bool given = usher__settings_given(w, USHER_QUEUE_SET, new);
    struct usher__reason reason;
    bool left = false;
    enum usher_status status = reason_load(w, new, &reason);

    if (status != USHER_OK)
        return status;
    given |= args(w)->reason.data != NULL;
    usher__settings_tell(w, USHER_QUEUE_SET, new);
    if (!given || (w->scope.ref != NULL && !reason.changes &&
                   memcmp(new, w->scope.settings, sizeof new) == 0)) {
        w->reply->status = given ? USHER_SAME : w->scope.ref != NULL ? USHER_OK : USHER_MISSING;
        return usher__queue_tell_reason(w, &reason);
    }
    if (!automatic(w->scope.settings) && automatic(new))
        status = wait_no_more(run, new, &left);
    if (status != USHER_OK)
        return status;
    if (left) {
        memset(&reply_of(w)->of, 0, sizeof reply_of(w)->of);
        return defer(w);
    }
    w->reply->status = USHER_OK;
    status = reason_load(w, new, &reason); /* again: a match may have moved its text */
    if (status == USHER_OK)
        status = usher__queue_tell_reason(w, &reason);
    if (status == USHER_OK)
        status = settings_write(w, new, &reason);
    if (status != USHER_OK)
        return status;
    status = reach(w); /* the next commands do the rest */
    return usher__work_stops(w, status, 1) ? USHER_OK : status;
}

/* Refuse the drop while visits are not in the history yet, so that they are not lost. */
static enum usher_status drop(work *w)
{
    struct usher_queue_result *q = reply_of(w);
    int64_t n = w->scope.counts[COUNT_VISITS];

    if (w->scope.ref != NULL && w->scope.settings[SET_ARCHIVE] != 0 && n > 0 &&
        !usher__other_version(w)) {
        q->why = USHER_QUEUE_WHY_HISTORY;
        usher__say(w->reply, USHER_REFUSED,
                   "%lld ended visits are not yet in the history: drain them, or set archive=0",
                   (long long)n);
        return USHER_OK;
    }
    return usher__drop(w, &q->count, &q->more);
}

/* ---- all together ----------------------------------------------------------------- */

/* A command of an agent is a heartbeat, whether it succeeds or not. */
static enum usher_status alive_first(struct run *run)
{
    struct usher_record r;
    enum usher_status status;

    switch (run->w->command->verb) {
    case USHER_QUEUE_ACCEPT:
    case USHER_QUEUE_REJECT:
    case USHER_QUEUE_PAUSE:
    case USHER_QUEUE_PULL:
    case USHER_QUEUE_READY:
        break;
    default:
        return USHER_OK;
    }
    status = usher__queue_load(run, KIND_AGENT, &args(run->w)->agent, &r);
    if (status == USHER_OK)
        status = usher__queue_agent_alive(run, &r);
    return status == USHER_MISSING ? USHER_OK : status;
}

static enum usher_status verb(struct run *run)
{
    work *w = run->w;

    switch (w->command->verb) {
    case USHER_QUEUE_SET:
        return set(run);
    case USHER_QUEUE_LOGIN:
        return usher__queue_login(run);
    case USHER_QUEUE_LOGOUT:
        return usher__queue_logout(run);
    case USHER_QUEUE_PAUSE:
        return usher__queue_agent_verb(run, USHER__AGENT_PAUSE);
    case USHER_QUEUE_READY:
        return usher__queue_agent_verb(run, USHER__AGENT_READY);
    case USHER_QUEUE_ALIVE:
        return args(w)->agent.data != NULL ? usher__queue_room(run, true)
                                           : usher__queue_where(run, true);
    case USHER_QUEUE_ROOM:
        return usher__queue_room(run, false);
    case USHER_QUEUE_APPLY:
        return usher__queue_apply(run);
    case USHER_QUEUE_WHERE:
        return usher__queue_where(run, false);
    case USHER_QUEUE_LEAVE:
        return usher__queue_leave(run);
    case USHER_QUEUE_FINISH:
        return usher__queue_finish(run);
    case USHER_QUEUE_ACCEPT:
        return usher__queue_accept_or_reject(run, true);
    case USHER_QUEUE_REJECT:
        return usher__queue_accept_or_reject(run, false);
    case USHER_QUEUE_PULL:
        run->matched_rows = true;
        return usher__queue_pull(run);
    case USHER_QUEUE_MATCH:
        run->matched_rows = true;
        if (w->scope.settings[SET_SCOPE_MODE] == USHER_SCOPE_MODE_STOPPED) {
            w->reply->status = USHER_SAME;
            return USHER_OK;
        }
        return usher__queue_match(run);
    case USHER_QUEUE_LIST:
        return usher__queue_list(w);
    case USHER_QUEUE_AGENTS:
        return usher__queue_agents(w);
    case USHER_QUEUE_STATS:
        return usher__queue_stats(w);
    case USHER_QUEUE_INTERVALS:
        return usher__queue_intervals(w);
    case USHER_QUEUE_WAITS:
        return usher__queue_waits(w);
    case USHER_QUEUE_LANES:
        return usher__queue_lanes(w);
    case USHER_QUEUE_HISTORY:
        return usher__queue_history(w);
    case USHER_QUEUE_DRAIN:
        return usher__queue_drain(w);
    case USHER_QUEUE_MOVE:
        return usher__queue_move(run);
    default:
        return usher__queue_free(run);
    }
}

/* Update the answer of the agent of a verb, which has got a user since. */
static enum usher_status agent_now(work *w)
{
    struct usher_queue_result *q = reply_of(w);
    struct usher_text id = { q->agent, q->agent_size };
    struct usher_record r;
    enum usher_status status;

    switch (w->command->verb) {
    case USHER_QUEUE_LOGIN:
    case USHER_QUEUE_READY:
    case USHER_QUEUE_FREE:
    case USHER_QUEUE_LEAVE:
    case USHER_QUEUE_FINISH:
    case USHER_QUEUE_REJECT:
        break;
    default:
        return USHER_OK;
    }
    if (id.size == 0)
        return USHER_OK;
    status = w->ops->find(w->txn, &w->scope, KIND_AGENT, &id, &r);
    if (status == USHER_OK)
        q->state = shown(&r);
    return status == USHER_MISSING ? USHER_OK : status;
}

/* Return the fault of arguments that depends on the time, or on the form of a text, or NULL.
 * Checked before anything is applied, so that `invalid` changes nothing. */
static const char *arguments_fault(const work *w)
{
    const struct usher_queue_args *g = args(w);
    enum usher_verb v = w->command->verb;
    uint64_t hi, order;

    if (usher__queue_token_missing(w))
        return "token is missing: the queue is strict";
    if ((v == USHER_QUEUE_APPLY || v == USHER_QUEUE_LOGIN) && w->now > USHER_QUEUE_TIME_MAX)
        return "now is later than a queue can store";
    if ((v == USHER_QUEUE_APPLY || v == USHER_QUEUE_MOVE) && given(w, USHER_GIVEN_QUEUE_SINCE) &&
        g->since_ms > w->now)
        return "since is in the future";
    /* offered and seated users, and visits, are listed by their order alone */
    if ((v == USHER_QUEUE_LIST || v == USHER_QUEUE_HISTORY) && g->after.data != NULL &&
        (!usher__cursor(&g->after, &hi, &order) ||
         (hi != 0 && (v == USHER_QUEUE_HISTORY || (given(w, USHER_GIVEN_QUEUE_STATE) &&
                                                   (g->state == USHER_QUEUE_USER_OFFERED ||
                                                    g->state == USHER_QUEUE_USER_SEATED))))))
        return "after is not the `next` of a page";
    return NULL;
}

static enum usher_status run(work *w)
{
    struct pending pending;
    struct run run = { .w = w, .pending = &pending };
    enum usher_verb v = w->command->verb;
    uint64_t n = 0, version;
    bool more = false;
    const char *fault;
    int64_t max = USHER__EXPIRE_MAX;
    enum usher_status status;

    if (w->behind)
        return defer(w);
    if (v == USHER_QUEUE_CHANGES) {
        reply_of(w)->of.settings.push = w->scope.settings[SET_PUSH];
        return usher__log_changes(w, &reply_of(w)->since, &reply_of(w)->more);
    }
    status = usher__request_find(w);
    if (status != USHER_MISSING)
        return status;
    status = USHER_OK;
    fault = arguments_fault(w);
    if (fault != NULL) {
        usher_result_fail(w->reply, USHER_INVALID, fault);
        return USHER_OK;
    }
    if (v == USHER_QUEUE_DROP)
        return drop(w);
    pending.n_agents = pending.n_users = 0;
    version = w->scope.version;
    if (v == USHER_QUEUE_SWEEP) {
        if (usher__other_version(w))
            return USHER_OK;
        run.matched_rows = true;
        max = usher__sweep_max(given(w, USHER_GIVEN_QUEUE_MAX), args(w)->max);
    }
    if (w->scope.counts[COUNT_OLD] != 0) {
        status = reach(w);
        if (status != USHER_OK)
            return status;
        if (w->scope.counts[COUNT_OLD] != 0)
            return defer(w);
    }
    if (w->scope.ref != NULL && w->scope.due_ms <= w->moment && v != USHER_QUEUE_DRAIN) {
        int64_t now = w->now;

        status = usher__queue_expire_due(&run, max, &n, &more);
        w->now = now;
        if (status != USHER_OK)
            return status;
        if (more && v != USHER_QUEUE_SWEEP)
            return defer(w);
    }
    if (v != USHER_QUEUE_SWEEP && usher__other_version(w))
        return USHER_OK;
    if (v == USHER_QUEUE_SWEEP) {
        w->reply->status = w->scope.ref == NULL          ? USHER_MISSING
                           : w->scope.version != version ? USHER_OK
                                                         : USHER_SAME;
        reply_of(w)->count = n;
        reply_of(w)->more = w->behind = more;
    } else {
        bool other;

        version = w->scope.version;
        run.n_matched = 0;
        status = usher__queue_token_check(&run, &other);
        if (status != USHER_OK || other)
            return status;
        status = alive_first(&run);
        if (status == USHER_OK)
            status = verb(&run);
        n = run.n_matched;
        if (status == USHER_OK)
            status = usher__queue_settle(&run);
        if (status == USHER_OK && run.n_matched > n)
            status = agent_now(w);
    }
    if (status == USHER_OK && w->reply->status == USHER_OK && w->scope.version != version)
        status = usher__request_keep_last(w);
    return status;
}

/* ---- for the executor, the audit and the digest ------------------------------------ */

static void defaults(struct usher_scope *scope)
{
    memset(scope->counts, 0, sizeof scope->counts);
    usher__settings_default(USHER_QUEUE_SET, scope->settings);
}

static const char *state_word(unsigned kind, unsigned state)
{
    if (kind == KIND_AGENT)
        return usher_queue_agent_state_word((enum usher_queue_agent_state)state);
    return kind == KIND_USER ? usher_queue_user_state_word((enum usher_queue_user_state)state)
                             : NULL;
}

static const char *const kinds[USHER_KINDS] = {
#define RECORD(name, code, word, ...) [code] = (word),
#include RECORDS_DEF
};

static const struct usher__constant constants[] = {
    { "V_EXPIRE", USHER_QUEUE_EXPIRE },
    { "V_REQUEUE", USHER_QUEUE_REQUEUE },
    { "V_OUTAGE", USHER_QUEUE_OUTAGE },
    { "WHY_NO_AGENT", USHER_QUEUE_WHY_NO_AGENT },
    { "WHY_NO_USER", USHER_QUEUE_WHY_NO_USER },
    { "WHY_HISTORY", USHER_QUEUE_WHY_HISTORY },
    { "WHY_DUE", USHER_QUEUE_WHY_DUE },
    { "WHY_CLOSED", USHER_QUEUE_WHY_CLOSED },
    { "WHY_STOPPED", USHER_QUEUE_WHY_STOPPED },
    { "WHY_LOST", USHER_QUEUE_WHY_LOST },
    { "PLACE_ROOM", USHER_QUEUE_PLACE_ROOM },
    { "PLACE_OFFER", USHER_QUEUE_PLACE_OFFER },
    { "PLACE_QUEUE", USHER_QUEUE_PLACE_QUEUE },
    { "PLACE_AWAY", USHER_QUEUE_PLACE_AWAY },
    { "OUTCOME_SEATED", USHER_QUEUE_OUTCOME_SEATED },
    { "OUTCOME_LEFT", USHER_QUEUE_OUTCOME_LEFT },
    { "OUTCOME_LOST", USHER_QUEUE_OUTCOME_LOST },
    { "OUTCOME_TIMEOUT", USHER_QUEUE_OUTCOME_TIMEOUT },
    { "OUTCOME_DROPPED", USHER_QUEUE_OUTCOME_DROPPED },
    { "OUTCOME_CUT", USHER_QUEUE_OUTCOME_CUT },
    { "OUTCOME_FREED", USHER_QUEUE_OUTCOME_FREED },
    { "OUTCOME_REQUEUED", USHER_QUEUE_OUTCOME_REQUEUED },
    { "R_REFUSED", R_REFUSED },
    { "R_FORGOTTEN", R_FORGOTTEN },
    { "R_SEARCH", R_SEARCH },
    { "R_LIMITS", R_LIMITS },
    { "R_REASON", R_REASON },
    { "PATIENCE_LEFT", USHER_QUEUE_PATIENCE_LEFT },
    { "DRAW_STEPS", USHER__DRAW_STEPS },
    { "RANKED_MAX", RANKED_MAX },
    { "OLD_RANKS", OLD_RANKS },
    { "OLD_LIMITS", OLD_LIMITS },
    { "FIGURES", FIGURES },
    { "STATS", STATS },
    { "AGENT_PAUSING", USHER_QUEUE_AGENT_PAUSING },
    { "RANKS", RANKS },
    { "ABSENT_MAX", ABSENT_MAX },
    { "CAPACITY_MAX", USHER_QUEUE_CAPACITY_MAX },
    { "PRIORITY_MAX", USHER_QUEUE_PRIORITY_MAX },
    { "LANES_MAX", USHER_QUEUE_LANES_MAX },
    { "FORGET_AT_ONCE", FORGET_AT_ONCE },
    { "FORGET_MAX", FORGET_MAX },
    { "PLACE_MAX", USHER_QUEUE_TIME_MAX },
    { "FOREVER", USHER__FOREVER },
    { "CHANGE_MAX", USHER_CHANGE_MAX },
    { "DAY_SHIFT", DAY_SHIFT },
    { "QUARTERS_MAX", QUARTERS_MAX },
    { "QUARTER_BYTES", (int64_t)QUARTER_BYTES },
    { "FIGURES_BYTES", (int64_t)FIGURES_BYTES },
    { "LANE_EARLIER", LANE_EARLIER },
    { NULL, 0 },
};

static int64_t beat(const struct usher_scope *scope)
{
    return scope->settings[SET_TTL];
}

static int64_t life_ends(const struct usher_scope *scope, const struct usher_record *r)
{
    (void)scope;
    if (r->kind == KIND_AGENT)
        return r->n[A_BEAT];
    return r->state == USHER_QUEUE_USER_AWAY ? r->n[U_END] : r->n[U_BEAT];
}

static const struct usher__lives lives = {
    .kinds = { KIND_AGENT, KIND_USER },
    .from = COUNT_OUTAGE_FROM,
    .to = COUNT_OUTAGE_TO,
    .verb = USHER_QUEUE_OUTAGE,
    .beat = beat,
    .deadline = life_ends,
};

const struct usher__steps usher__queue_steps = {
    .defaults = defaults,
    .run = run,
    .scope_fault = usher__queue_scope_fault,
    .record_fault = usher__queue_record_fault,
    .tally = usher__queue_tally,
    .lives = &lives,
    .kinds = kinds,
    .state_word = state_word,
    .sought_at = offsetof(struct usher_operation, arg.queue.user),
    .sought_kind = KIND_USER,
    .drops = "1323303132405063" "70809091",
    .drop_verb = USHER_QUEUE_DROP,
    .defer = defer,
    .first = "1:",
    .listed = "126",
    .ranked = KIND_USER,
    .logged = KIND_VISIT,
    .count_names = {
#define COUNT(name, at, text) [at] = #name,
#include RECORDS_DEF
    },
    .settings_verb = USHER_QUEUE_SET,
    .constants = constants,
    .log = { KIND_CHANGE, SET_LOG, COUNT_CHANGES, COUNT_SINCE, 0 },
    .requests = COUNT_REQUESTS,
    .requests_max = SET_REQUESTS,
    .counted = (((1u << (COUNT_ABSENT + 1)) - 1) & ~1u) | 1u << COUNT_FOR_ALL |
               1u << COUNT_CHANGES,
    .items = 0x3fe, /* agents and users, by state */
    .statistics = 0,
};
