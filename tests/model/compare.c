/* SPDX-License-Identifier: MIT */
/* See compare.h. */
#include "config.h"

#include "model/compare.h"

#include <inttypes.h>
#include <string.h>

#include "core/verbs.h"

struct diff {
    FILE *f;
    bool equal;
};

static void diff_line(struct diff *d, const char *what, size_t row)
{
    d->equal = false;
    if (d->f == NULL)
        return;
    if (row != SIZE_MAX)
        (void)fprintf(d->f, "    row %zu ", row);
    else
        (void)fputs("    ", d->f);
    (void)fprintf(d->f, "%s: ", what);
}

static void diff_int(struct diff *d, const char *what, size_t row, int64_t a, int64_t b)
{
    if (a == b)
        return;
    diff_line(d, what, row);
    if (d->f != NULL)
        (void)fprintf(d->f, "%" PRId64 " and %" PRId64 "\n", a, b);
}

static void diff_word(struct diff *d, const char *what, size_t row, const char *a, const char *b)
{
    if (strcmp(a, b) == 0)
        return;
    diff_line(d, what, row);
    if (d->f != NULL)
        (void)fprintf(d->f, "%s and %s\n", a, b);
}

static void diff_text(struct diff *d, const char *what, size_t row, struct usher_text a,
                      struct usher_text b)
{
    if (a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0))
        return;
    diff_line(d, what, row);
    if (d->f != NULL)
        (void)fprintf(d->f, "\"%.*s\" and \"%.*s\"\n", (int)a.size, a.data != NULL ? a.data : "",
                      (int)b.size, b.data != NULL ? b.data : "");
}

/* A store may be early: what was to end may have gone.  It is never late.  A model that does not
 * know says 0. */
static void diff_due(struct diff *d, const struct usher_result *a, const struct usher_result *b)
{
    if (a->due_ms != 0 && b->due_ms > a->due_ms && a->status < USHER_INVALID)
        diff_int(d, "due_ms", SIZE_MAX, a->due_ms, b->due_ms);
}

static int64_t number_at(const struct usher_result *r, const struct usher__field *told)
{
    int64_t number;

    memcpy(&number, (const char *)r + told->offset, sizeof number);
    return number;
}

#define INT(field) diff_int(&d, #field, SIZE_MAX, (int64_t)a->field, (int64_t)b->field)
#define OF(field) diff_int(&d, #field, SIZE_MAX, (int64_t)x->field, (int64_t)y->field)
#define ROW(field) diff_int(&d, #field, i, (int64_t)p->field, (int64_t)q->field)

bool replies_equal(enum usher_verb verb, const struct usher_result *a, const struct usher_result *b,
                   FILE *f)
{
    struct diff d = { f, true };
    const struct usher_number_result *x = &a->of.number, *y = &b->of.number;
    bool answered = USHER_IS_DONE(a->status) && a->status == b->status;

    diff_word(&d, "status", SIZE_MAX, usher_status_word(a->status), usher_status_word(b->status));
    INT(repeated);
    INT(version);
    diff_due(&d, a, b);
    diff_word(&d, "epoch", SIZE_MAX, a->epoch != 0 ? "some" : "none",
              b->epoch != 0 ? "some" : "none");
    diff_word(&d, "state", SIZE_MAX, usher_number_state_word(x->state),
              usher_number_state_word(y->state));
    OF(why);
    OF(token);
    OF(until_ms);
    OF(next_ms);
    OF(count);
    OF(more);
    OF(since);
    diff_text(&d, "number", SIZE_MAX, (struct usher_text){ x->number, x->number_size },
              (struct usher_text){ y->number, y->number_size });
    diff_int(&d, "NUL after number", SIZE_MAX, x->number[x->number_size],
             y->number[y->number_size]);
    OF(n_rows);
    for (size_t i = 0; i < x->n_rows && i < y->n_rows; i++) {
        const struct usher_number_result_row *p = &x->rows[i], *q = &y->rows[i];

        diff_text(&d, "number", i, p->number, q->number);
        diff_text(&d, "group", i, p->group, q->group);
        diff_text(&d, "owner", i, p->owner, q->owner);
        diff_word(&d, "state", i, usher_number_state_word(p->state),
                  usher_number_state_word(q->state));
        ROW(resting);
        ROW(token);
        ROW(until_ms);
        ROW(calls_today);
        ROW(used_ms);
        ROW(capped);
        ROW(age_ms);
        diff_text(&d, "node", i, p->node, q->node);
        diff_text(&d, "value", i, p->value, q->value);
    }
    if (verb == USHER_NUMBER_SET && answered) {
        const struct usher__field *told;
        const struct usher__arg *given;

        for (unsigned i = 0; usher__setting(USHER_NUMBER_SET, i, &told, &given); i++)
            diff_int(&d, given->word, SIZE_MAX, number_at(a, told), number_at(b, told));
    }
    if (verb == USHER_NUMBER_STATS && answered) {
        OF(of.stats.total);
        OF(of.stats.idle_up);
        OF(of.stats.idle_down);
        OF(of.stats.busy_up);
        OF(of.stats.busy_down);
        OF(of.stats.resting);
        OF(of.stats.calls_today);
        OF(of.stats.refused_today);
        OF(of.stats.longest_hold_ms);
        OF(of.stats.capped);
    }
    return d.equal;
}

void queue_history_cut(const char *store, const struct usher_operation *c,
                       const struct usher_result *model, struct usher_result *r)
{
    const struct usher_queue_args *g = &c->arg.queue;
    bool by_end = g->user.data == NULL && g->agent.data == NULL &&
                  (((c->given & USHER_GIVEN_QUEUE_SINCE) != 0 && g->since_ms > 0) ||
                   ((c->given & USHER_GIVEN_QUEUE_UNTIL) != 0 && g->until_ms < INT64_MAX));
    const struct usher_queue_result *m = &model->of.queue;
    struct usher_queue_result *q = &r->of.queue;

    if (c->verb != USHER_QUEUE_HISTORY || strcmp(store, "sqlite") != 0 || m->more ||
        q->n_rows < m->n_rows)
        return;
    for (size_t i = m->n_rows > 0 ? m->n_rows : 1; i < q->n_rows; i++)
        if (by_end ? i > m->n_rows && q->rows[i].until_ms > q->rows[i - 1].until_ms
                   : q->rows[i].version >= q->rows[i - 1].version)
            return;
    if (q->n_rows > 0 && r->status == USHER_OK && model->status == USHER_MISSING)
        r->status = USHER_MISSING; /* a queue that was dropped */
    q->n_rows = m->n_rows;
    q->more = false;
    q->agent_size = 0;
    q->agent[0] = '\0';
}

bool queue_replies_equal(enum usher_verb verb, const struct usher_result *a,
                         const struct usher_result *b, FILE *f)
{
    struct diff d = { f, true };
    const struct usher_queue_result *x = &a->of.queue, *y = &b->of.queue;
    bool answered = USHER_IS_DONE(a->status) && a->status == b->status;

    diff_word(&d, "status", SIZE_MAX, usher_status_word(a->status), usher_status_word(b->status));
    INT(repeated);
    INT(version);
    diff_due(&d, a, b);
    diff_word(&d, "epoch", SIZE_MAX, a->epoch != 0 ? "some" : "none",
              b->epoch != 0 ? "some" : "none");
    OF(state);
    OF(place);
    OF(why);
    OF(more);
    OF(index);
    OF(wait_ms);
    OF(until_ms);
    OF(token);
    OF(login);
    OF(no);
    OF(count);
    diff_text(&d, "user", SIZE_MAX, (struct usher_text){ x->user, x->user_size },
              (struct usher_text){ y->user, y->user_size });
    diff_int(&d, "NUL after user", SIZE_MAX, x->user[x->user_size], y->user[y->user_size]);
    diff_text(&d, "agent", SIZE_MAX, (struct usher_text){ x->agent, x->agent_size },
              (struct usher_text){ y->agent, y->agent_size });
    diff_int(&d, "NUL after agent", SIZE_MAX, x->agent[x->agent_size], y->agent[y->agent_size]);
    OF(n_rows);
    for (size_t i = 0; i < x->n_rows && i < y->n_rows; i++) {
        const struct usher_queue_result_row *p = &x->rows[i], *q = &y->rows[i];

        diff_text(&d, "user", i, p->user, q->user);
        diff_text(&d, "agent", i, p->agent, q->agent);
        diff_text(&d, "lane", i, p->lane, q->lane);
        diff_text(&d, "lanes", i, p->lanes, q->lanes);
        ROW(login);
        ROW(no);
        ROW(state);
        ROW(priority);
        ROW(since_ms);
        ROW(applied_ms);
        ROW(matched_ms);
        ROW(until_ms);
        ROW(wait_ms);
        ROW(talk_ms);
        ROW(capacity);
        ROW(used);
        ROW(served);
        ROW(level);
        ROW(version);
        ROW(token);
        diff_text(&d, "value", i, p->value, q->value);
    }
    if (verb == USHER_QUEUE_CHANGES)
        OF(since);
    if (verb == USHER_QUEUE_SET && answered) {
        OF(of.settings.ttl_ms);
        OF(of.settings.trigger);
        OF(of.settings.strategy);
        OF(of.settings.offer_ms);
        OF(of.settings.wrapup_ms);
        OF(of.settings.limit);
        OF(of.settings.maxwait_ms);
        OF(of.settings.grace_ms);
        OF(of.settings.requeue);
        OF(of.settings.history);
        OF(of.settings.zone_min);
        OF(of.settings.service_ms);
        OF(of.settings.requests);
        OF(of.settings.archive);
        OF(of.settings.log);
        OF(of.settings.again_ms);
        OF(of.settings.strict);
    }
    if (verb == USHER_QUEUE_STATS && answered) {
        OF(of.stats.waiting);
        OF(of.stats.away);
        OF(of.stats.offered);
        OF(of.stats.seated);
        OF(of.stats.agents);
        OF(of.stats.idle);
        OF(of.stats.ringing);
        OF(of.stats.busy);
        OF(of.stats.wrapup);
        OF(of.stats.paused);
        OF(of.stats.longest_wait_ms);
        OF(of.stats.longest_since_ms);
        OF(of.stats.seated_today);
        OF(of.stats.abandoned_today);
        OF(of.stats.timeout_today);
        OF(of.stats.finished_today);
        OF(of.stats.service_level);
        OF(of.stats.wait_ms);
        OF(of.stats.talk_ms);
        OF(of.stats.dropped_today);
        OF(of.stats.visits);
    }
    return d.equal;
}

bool room_replies_equal(enum usher_verb verb, const struct usher_result *a,
                        const struct usher_result *b, FILE *f)
{
    struct diff d = { f, true };
    const struct usher_room_result *x = &a->of.room, *y = &b->of.room;

    diff_word(&d, "status", SIZE_MAX, usher_status_word(a->status), usher_status_word(b->status));
    INT(repeated);
    INT(version);
    diff_due(&d, a, b);
    diff_word(&d, "epoch", SIZE_MAX, a->epoch != 0 ? "some" : "none",
              b->epoch != 0 ? "some" : "none");
    OF(state);
    OF(member_state);
    OF(members);
    OF(count);
    /* what watchers have been told of may be less than there is: the rest waits to be told together
     */
    if (verb != USHER_ROOM_ALIVE || y->since >= x->since) {
        OF(since);
        OF(mark);
    }
    OF(until_ms);
    OF(created_ms);
    OF(more);
    diff_text(&d, "name", SIZE_MAX, (struct usher_text){ x->name, x->name_size },
              (struct usher_text){ y->name, y->name_size });
    diff_int(&d, "NUL after name", SIZE_MAX, x->name[x->name_size], y->name[y->name_size]);
    OF(n_rows);
    for (size_t i = 0; i < x->n_rows && i < y->n_rows; i++) {
        const struct usher_room_result_row *p = &x->rows[i], *q = &y->rows[i];

        ROW(kind);
        ROW(state);
        diff_text(&d, "id", i, p->id, q->id);
        diff_text(&d, "owner", i, p->owner, q->owner);
        diff_text(&d, "value", i, p->value, q->value);
        ROW(version);
        ROW(since_ms);
        ROW(seen_ms);
    }
    if (verb == USHER_ROOM_OPEN || verb == USHER_ROOM_SHOW) {
        OF(settings.capacity);
        OF(settings.linger_ms);
        OF(settings.ttl_ms);
        OF(settings.away_ms);
        OF(settings.grace_ms);
        OF(settings.log);
        OF(settings.requests);
        OF(settings.presence_ms);
        OF(settings.push);
    }
    return d.equal;
}

bool notices_equal(const struct usher_notice *a, const struct usher_notice *b, FILE *f)
{
    struct diff d = { f, true };

    INT(noun);
    diff_text(&d, "scope", SIZE_MAX, a->scope, b->scope);
    INT(version);
    INT(now_ms);
    diff_word(&d, "verb", SIZE_MAX, usher_verb_word(a->verb), usher_verb_word(b->verb));
    diff_text(&d, "subject", SIZE_MAX, a->subject, b->subject);
    INT(from);
    INT(to);
    INT(token);
    INT(until_ms);
    diff_text(&d, "owner", SIZE_MAX, a->owner, b->owner);
    diff_text(&d, "data", SIZE_MAX, a->data, b->data);
    INT(was);
    INT(mark);
    return d.equal;
}

void reply_print(FILE *f, enum usher_verb verb, const struct usher_result *r)
{
    const struct usher_number_result *n = &r->of.number;

    (void)fprintf(f,
                  "    %s%s version %" PRIu64 " state %s why %d token %" PRIu64 " until %" PRId64
                  " next %" PRId64 " count %" PRIu64 "%s number \"%s\"",
                  usher_status_word(r->status), r->repeated ? " (repeated)" : "", r->version,
                  usher_number_state_word(n->state), (int)n->why, n->token, n->until_ms, n->next_ms,
                  n->count, n->more ? " more" : "", n->number);
    if (r->message[0] != '\0')
        (void)fprintf(f, " (%s)", r->message);
    (void)fputc('\n', f);
    for (size_t i = 0; i < n->n_rows; i++) {
        const struct usher_number_result_row *row = &n->rows[i];

        (void)fprintf(f,
                      "      \"%.*s\" group \"%.*s\" owner \"%.*s\" %s%s token %" PRIu64
                      " until %" PRId64 " calls %" PRId64 " used %" PRId64 "\n",
                      (int)row->number.size, row->number.data, (int)row->group.size,
                      row->group.data != NULL ? row->group.data : "", (int)row->owner.size,
                      row->owner.data != NULL ? row->owner.data : "",
                      usher_number_state_word(row->state),
                      row->resting  ? " resting"
                      : row->capped ? " capped"
                                    : "",
                      row->token, row->until_ms, row->calls_today, row->used_ms);
    }
    if (!USHER_IS_DONE(r->status))
        return;
    if (verb == USHER_NUMBER_SET) {
        const struct usher__field *told;
        const struct usher__arg *given;

        (void)fprintf(f, "     ");
        for (unsigned i = 0; usher__setting(USHER_NUMBER_SET, i, &told, &given); i++)
            (void)fprintf(f, " %s %" PRId64, given->word, number_at(r, told));
        (void)fprintf(f, "\n");
    }
    if (verb == USHER_NUMBER_STATS) {
        const struct usher_number_result_statistics *s = &n->of.stats;

        (void)fprintf(f,
                      "      total %" PRId64 " idle+up %" PRId64 " idle+down %" PRId64
                      " busy+up %" PRId64 " busy+down %" PRId64 " resting %" PRId64
                      " calls %" PRId64 " refused %" PRId64 " longest %" PRId64 "\n",
                      s->total, s->idle_up, s->idle_down, s->busy_up, s->busy_down, s->resting,
                      s->calls_today, s->refused_today, s->longest_hold_ms);
    }
}

static void queue_row_print(FILE *f, const struct usher_queue_result_row *row)
{
    (void)fprintf(f,
                  "      user \"%.*s\" agent \"%.*s\" lane \"%.*s\" lanes \"%.*s\" room %" PRIu64
                  ".%" PRId64 " state %d priority %" PRId64 " since %" PRId64 " applied %" PRId64
                  " matched %" PRId64 " until %" PRId64 " wait %" PRId64 " talk %" PRId64
                  " capacity %" PRId64 " used %" PRId64 " served %" PRId64 " level %" PRId64 "\n",
                  (int)row->user.size, row->user.data != NULL ? row->user.data : "",
                  (int)row->agent.size, row->agent.data != NULL ? row->agent.data : "",
                  (int)row->lane.size, row->lane.data != NULL ? row->lane.data : "",
                  (int)row->lanes.size, row->lanes.data != NULL ? row->lanes.data : "", row->login,
                  row->no, row->state, row->priority, row->since_ms, row->applied_ms,
                  row->matched_ms, row->until_ms, row->wait_ms, row->talk_ms, row->capacity,
                  row->used, row->served, row->level);
}

void queue_reply_print(FILE *f, enum usher_verb verb, const struct usher_result *r)
{
    const struct usher_queue_result *q = &r->of.queue;

    (void)fprintf(f,
                  "    %s%s version %" PRIu64 " state %d place %d why %d index %" PRId64
                  " wait %" PRId64 " until %" PRId64 " token %" PRIu64 " room %" PRIu64 ".%" PRId64
                  " count %" PRIu64 "%s user \"%s\" agent \"%s\"",
                  usher_status_word(r->status), r->repeated ? " (repeated)" : "", r->version,
                  (int)q->state, (int)q->place, (int)q->why, q->index, q->wait_ms, q->until_ms,
                  q->token, q->login, q->no, q->count, q->more ? " more" : "", q->user, q->agent);
    if (r->message[0] != '\0')
        (void)fprintf(f, " (%s)", r->message);
    (void)fputc('\n', f);
    for (size_t i = 0; i < q->n_rows; i++)
        queue_row_print(f, &q->rows[i]);
    if (verb == USHER_QUEUE_STATS && r->status == USHER_OK) {
        const struct usher_queue_result_statistics *s = &q->of.stats;

        (void)fprintf(f,
                      "      waiting %" PRId64 " away %" PRId64 " offered %" PRId64
                      " seated %" PRId64 " agents %" PRId64 " longest %" PRId64
                      " seated today %" PRId64 " abandoned %" PRId64 " finished %" PRId64 "\n",
                      s->waiting, s->away, s->offered, s->seated, s->agents, s->longest_wait_ms,
                      s->seated_today, s->abandoned_today, s->finished_today);
    }
}

void room_reply_print(FILE *f, enum usher_verb verb, const struct usher_result *r)
{
    const struct usher_room_result *x = &r->of.room;

    (void)verb;
    (void)fprintf(f,
                  "    %s%s version %" PRIu64 " state %d member %d members %" PRIu64
                  " count %" PRIu64 " since %" PRIu64 " until %" PRId64 "%s name \"%s\"",
                  usher_status_word(r->status), r->repeated ? " (repeated)" : "", r->version,
                  (int)x->state, (int)x->member_state, x->members, x->count, x->since, x->until_ms,
                  x->more ? " more" : "", x->name);
    if (r->message[0] != '\0')
        (void)fprintf(f, " (%s)", r->message);
    (void)fputc('\n', f);
    for (size_t i = 0; i < x->n_rows; i++)
        (void)fprintf(
            f, "      row %d \"%.*s\" of \"%.*s\" version %" PRIu64 " %zu bytes\n", x->rows[i].kind,
            (int)x->rows[i].id.size, x->rows[i].id.data != NULL ? x->rows[i].id.data : "",
            (int)x->rows[i].owner.size, x->rows[i].owner.data != NULL ? x->rows[i].owner.data : "",
            x->rows[i].version, x->rows[i].value.size);
}

static const char *state_word(enum usher_noun noun, unsigned code)
{
    static const char *const digits[] = { "0", "1", "2", "3", "4", "5", "6", "7" };

    if (noun == USHER_NUMBER)
        return usher_number_state_word((enum usher_number_state)code);
    return code < sizeof digits / sizeof *digits ? digits[code] : "?";
}

void notice_print(FILE *f, const struct usher_notice *n)
{
    (void)fprintf(f,
                  "    %.*s version %" PRIu64 " at %" PRId64 ": %s \"%.*s\" %s -> %s token %" PRIu64
                  " until %" PRId64 " owner \"%.*s\"\n",
                  (int)n->scope.size, n->scope.data, n->version, n->now_ms,
                  usher_verb_word(n->verb), (int)n->subject.size,
                  n->subject.data != NULL ? n->subject.data : "", state_word(n->noun, n->from),
                  state_word(n->noun, n->to), n->token, n->until_ms, (int)n->owner.size,
                  n->owner.data != NULL ? n->owner.data : "");
}
