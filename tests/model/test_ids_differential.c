/* SPDX-License-Identifier: MIT */
/*
 * The same seeded id commands on a small model and on every store, in lockstep: after each
 * command the replies are equal field by field, and now and then so are the digests.
 *
 * The model below is written independently from include/usher/ids.h, with 128-bit numbers, and
 * knows nothing of how the stores keep a counter.  Numbers come in clusters: at every power of ten,
 * at 2^53, at 2^63.  A world is USHER_SEED + i; USHER_STEPS is how many commands there are in all.
 */
#include "lib/test.h"

#include "core/verbs.h"
#include "model/gen.h"
#include "model/packer.h"
#include "lib/util.h"
#ifdef USHER_WITH_REDIS
#include "lib/servers.h"
#endif

__extension__ typedef __int128 wide;

#define STEPS_DEFAULT 16000
#define STEPS_LONG 3400000
#define SEED_DEFAULT 20240301
#define WORLD 400
#define NAMES 3
#define REQUESTS 6
#define STORES_MAX 3

/* ---- the model -------------------------------------------------------------------- */

struct ids_model {
    bool there, was; /* was: the scope exists, perhaps deleted */
    uint64_t version;
    int64_t clock;
    int64_t moment;                       /* of the command: the store's clock, which is given */
    wide next, end, limit, start, issued; /* end: 0 none, else 1 more than max */
    int64_t by, step, step_now, step_max, life, managed, requests, keep;
    int64_t segments, began, lasted;
    uint64_t token;
    uint64_t back;        /* token of the last return */
    struct model_log log; /* `keep` notices */
    struct {
        bool kept;
        int64_t until;
        struct usher_operation asked;
        struct usher_result reply;
    } request[REQUESTS];
};

static int64_t model_max(const struct ids_model *m)
{
    if (m->end == 0)
        return -1;
    return (int64_t)(m->end - 1 < m->limit ? m->end - 1 : m->limit);
}

static void model_say(const struct ids_model *m, struct usher_result *r, enum usher_status status)
{
    struct usher_id_result *a = &r->of.id;

    r->status = status;
    if (!m->there)
        return;
    a->next = m->next > m->limit ? -1 : (int64_t)m->next;
    a->max = model_max(m);
    a->step = m->step_now;
    a->by = m->by;
}

static void model_settings(const struct ids_model *m, struct usher_result *r)
{
    r->of.id.of.settings = (struct usher_id_result_settings){ .start = (int64_t)m->start,
                                                              .step = m->step,
                                                              .by = m->by,
                                                              .limit = (int64_t)m->limit,
                                                              .step_max = m->step_max,
                                                              .life_ms = m->life,
                                                              .managed = m->managed,
                                                              .requests = m->requests,
                                                              .log = m->keep };
}

static void model_renew(struct ids_model *m)
{
    if (m->segments++ > 0) {
        m->lasted = m->moment > m->began ? m->moment - m->began : 0;
        if (m->life > 0 && m->lasted < m->life)
            m->step_now *= 2;
        else if (m->life > 0 && m->lasted >= 2 * m->life)
            m->step_now /= 2;
        if (m->step_now > m->step_max)
            m->step_now = m->step_max;
        if (m->step_now < m->step)
            m->step_now = m->step;
    }
    m->began = m->moment;
}

static void model_take(struct ids_model *m, const struct usher_operation *c)
{
    const struct usher_id_args *a = &c->arg.id;

    if ((c->given & USHER_GIVEN_ID_START) != 0)
        m->start = a->start;
    if ((c->given & USHER_GIVEN_ID_STEP) != 0)
        m->step = a->step;
    if ((c->given & USHER_GIVEN_ID_BY) != 0)
        m->by = a->by;
    if ((c->given & USHER_GIVEN_ID_LIMIT) != 0)
        m->limit = a->limit;
    if ((c->given & USHER_GIVEN_ID_STEP_MAX) != 0)
        m->step_max = a->step_max;
    if ((c->given & USHER_GIVEN_ID_LIFE) != 0)
        m->life = a->life_ms;
    if ((c->given & USHER_GIVEN_ID_MANAGED) != 0)
        m->managed = a->managed;
    if ((c->given & USHER_GIVEN_ID_REQUESTS) != 0)
        m->requests = a->requests;
    if ((c->given & USHER_GIVEN_ID_LOG) != 0)
        m->keep = a->log;
}

static void model_defaults(struct ids_model *m)
{
    struct ids_model clean;

    memset(&clean, 0, sizeof clean);
    clean.was = m->was;
    clean.version = m->version;
    clean.clock = m->clock;
    clean.moment = m->moment;
    memcpy(clean.request, m->request, sizeof clean.request);
    clean.log = m->log;
    clean.start = 1;
    clean.limit = INT64_MAX;
    clean.by = 1;
    clean.step = 512;
    clean.step_max = 1000000;
    clean.requests = 10000;
    *m = clean;
}

static bool same_settings(const struct ids_model *a, const struct ids_model *b)
{
    return a->start == b->start && a->step == b->step && a->by == b->by && a->limit == b->limit &&
           a->step_max == b->step_max && a->life == b->life && a->managed == b->managed &&
           a->requests == b->requests && a->keep == b->keep;
}

/* A new answer takes the place of at most two that are no longer valid, the oldest first.  They do
 * not come back when a later command has an earlier time. */
static void forget_two(struct ids_model *m, int request)
{
    for (int n = 0; n < 2; n++) {
        int oldest = -1;

        for (int i = 0; i < REQUESTS; i++)
            if (m->request[i].kept && i != request &&
                (oldest < 0 || m->request[i].reply.version < m->request[oldest].reply.version))
                oldest = i;
        if (oldest < 0 || m->request[oldest].until > m->moment)
            return;
        m->request[oldest].kept = false;
    }
}

/* True: something changed. */
static bool model_verb(struct ids_model *m, const struct usher_operation *c, struct usher_result *r,
                       struct usher_id_result_row *row)
{
    const struct usher_id_args *a = &c->arg.id;
    struct usher_id_result *out = &r->of.id;
    struct ids_model asked = *m;
    wide n = (c->given & USHER_GIVEN_ID_N) != 0 ? a->n : 1, last;

    if (c->verb == USHER_ID_CREATE) {
        model_defaults(&asked);
        model_take(&asked, c);
        if (m->there) {
            model_settings(m, r);
            model_say(m, r, same_settings(m, &asked) ? USHER_SAME : USHER_REFUSED);
            return false;
        }
        asked.there = asked.was = true;
        asked.step_now = asked.step;
        asked.next = asked.start;
        if (asked.managed == 0) {
            asked.end = asked.start + (wide)(asked.step - 1) * asked.by + 1;
            model_renew(&asked);
        }
        *m = asked;
        model_settings(m, r);
        model_say(m, r, USHER_OK);
        return true;
    }
    if (c->verb == USHER_ID_CHANGES) {
        size_t max = (c->given & USHER_GIVEN_ID_MOST) != 0 ? (size_t)a->most : 100, i = 0;

        r->status = USHER_MISSING;
        if (!m->was)
            return false;
        out->since = m->log.since;
        r->status = model_log_read(&m->log, m->keep, m->version, (uint64_t)a->since, &i);
        for (; r->status == USHER_OK && i < m->log.n && out->n_rows < max; i++) {
            struct usher_id_result_row *to = &row[out->n_rows++];

            memset(to, 0, sizeof *to);
            to->value = (struct usher_text){ m->log.notices[i].packed, m->log.notices[i].size };
        }
        out->more = r->status == USHER_OK && i < m->log.n;
        out->rows = row;
        return false;
    }
    if (!m->there) {
        r->status = c->verb == USHER_ID_DELETE ? USHER_SAME : USHER_MISSING;
        return false;
    }
    switch (c->verb) {
    case USHER_ID_DELETE:
        asked.keep = m->keep;
        model_defaults(m);
        m->keep = asked.keep;
        r->status = USHER_OK;
        return true;
    case USHER_ID_SHOW:
        model_say(m, r, USHER_OK);
        *row = (struct usher_id_result_row){ out->next,          out->max,    out->step,
                                             (int64_t)m->start,  m->by,       (int64_t)m->limit,
                                             (int64_t)m->issued, m->segments, m->began,
                                             m->lasted,          m->managed,  { NULL, 0 } };
        out->n_rows = 1;
        out->rows = row;
        return false;
    case USHER_ID_SET:
        model_take(&asked, c);
        if ((c->given & USHER_GIVEN_ID_NEXT) != 0)
            asked.next = a->next;
        if (asked.next < m->next || asked.by / m->by * m->by != asked.by) {
            model_settings(m, r);
            out->of.settings.why = asked.next < m->next ? USHER_ID_WHY_BACK : USHER_ID_WHY_CLASS;
            model_say(m, r, USHER_REFUSED);
            return false;
        }
        if (asked.next > m->next || asked.by != m->by) /* of its start, for good */
            while ((asked.next - asked.start) % asked.by != 0)
                asked.next++;
        model_settings(&asked, r);
        if (same_settings(m, &asked) && asked.next == m->next) {
            model_say(m, r, (c->given & ~(uint64_t)USHER_GIVEN_NOW) != 0 ? USHER_SAME : USHER_OK);
            return false;
        }
        if (asked.step != m->step)
            asked.step_now = asked.step;
        if (asked.next > m->next || asked.by != m->by)
            asked.token = 0;
        *m = asked;
        model_say(m, r, USHER_OK);
        return true;
    case USHER_ID_NEXT:
        last = m->next + (n - 1) * m->by;
        if (last > m->limit) {
            out->first = m->next > m->limit ? -1 : (int64_t)m->next;
            out->n = m->next > m->limit ? 0 : (int64_t)((m->limit - m->next) / m->by + 1);
            model_say(m, r, USHER_FULL);
            return false;
        }
        if (last >= m->end && m->managed != 0) {
            model_say(m, r, USHER_EMPTY);
            return false;
        }
        if (last >= m->end) {
            wide from = m->next >= m->end + m->by ? m->next - m->by + 1 : m->end;

            model_renew(m);
            m->end = from + (wide)m->step_now * m->by;
            if (m->end <= last)
                m->end = last + 1;
        }
        out->first = (int64_t)m->next;
        out->n = (int64_t)n;
        out->token = m->token = m->version + 1;
        m->next = last + m->by;
        m->issued += n;
        model_say(m, r, USHER_OK);
        return true;
    case USHER_ID_RETURN:
        out->first = a->first;
        out->n = a->n;
        if (a->token == 0 || a->token != m->token || a->n > m->issued ||
            a->first + (wide)a->n * m->by != m->next) {
            if (a->token != 0 && a->token == m->back && a->first == m->next) {
                model_say(m, r, USHER_SAME);
                return false;
            }
            if (a->token > m->version) {
                r->status = USHER_LOST;
                return false;
            }
            model_say(m, r, USHER_STALE);
            return false;
        }
        m->next = a->first;
        m->issued -= a->n;
        m->token = 0;
        m->back = a->token;
        model_say(m, r, USHER_OK);
        return true;
    default:
        out->first = a->first;
        out->n = a->n;
        if (m->managed == 0) {
            model_say(m, r, USHER_REFUSED);
            return false;
        }
        if (((c->given & USHER_GIVEN_ID_MAX) != 0 ? a->max : -1) != model_max(m)) {
            model_say(m, r, USHER_STALE);
            return false;
        }
        if (a->first < m->next || a->first < m->end) {
            model_say(m, r, USHER_REFUSED);
            return false;
        }
        model_renew(m);
        if (m->by != 1 || m->next >= m->end || a->first != m->end) {
            if (m->next != a->first)
                m->token = 0;
            m->next = a->first;
        }
        m->end = a->first + (wide)(a->n - 1) * m->by + 1;
        model_say(m, r, USHER_OK);
        return true;
    }
}

/* The notice of what @c has just changed, and answers with @r, as the log keeps it. */
static void model_tell(struct ids_model *m, bool there, const struct usher_operation *c,
                       const struct usher_result *r)
{
    const struct usher_id_args *a = &c->arg.id;
    const struct {
        uint64_t bit;
        const char *word;
        int64_t value;
    } all[] = {
        { USHER_GIVEN_ID_START, "start", a->start },
        { USHER_GIVEN_ID_STEP, "step", a->step },
        { USHER_GIVEN_ID_BY, "by", a->by },
        { USHER_GIVEN_ID_LIMIT, "limit", a->limit },
        { USHER_GIVEN_ID_STEP_MAX, "step-max", a->step_max },
        { USHER_GIVEN_ID_LIFE, "life", a->life_ms },
        { USHER_GIVEN_ID_MANAGED, "managed", a->managed },
        { USHER_GIVEN_ID_NEXT, "next", a->next },
        { USHER_GIVEN_ID_REQUESTS, "requests", a->requests },
        { USHER_GIVEN_ID_LOG, "log", a->log },
    };
    struct usher_notice n;
    struct packed data = { NULL, 0, 0 };
    size_t given = 0;

    memset(&n, 0, sizeof n);
    n.version = m->version;
    n.before = n.version - 1;
    n.now_ms = m->clock;
    n.verb = c->verb;
    n.from = there;
    n.to = m->there;
    if (c->verb == USHER_ID_CREATE || c->verb == USHER_ID_SET) {
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            given += (c->given & all[i].bit) != 0;
        put_array(&data, 2 * given);
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            if ((c->given & all[i].bit) != 0)
                put_said(&data, all[i].word, all[i].value);
    } else if (c->verb != USHER_ID_DELETE) {
        put_array(&data, 4);
        put_said(&data, "first", r->of.id.first);
        put_said(&data, "n", r->of.id.n);
    }
    n.data = (struct usher_text){ (const char *)data.at, data.n };
    model_log_keep(&m->log, m->keep, &n);
    free(data.at);
}

/* The same verb with the same arguments?  (Texts are constants.) */
static bool same_question(const struct usher_operation *one, const struct usher_operation *two)
{
    const struct usher_id_args *a = &one->arg.id, *b = &two->arg.id;

    return one->verb == two->verb &&
           ((one->given ^ two->given) & ~(uint64_t)USHER_GIVEN_NOW) == 0 && a->n == b->n &&
           a->first == b->first && a->token == b->token && a->start == b->start &&
           a->step == b->step && a->by == b->by && a->limit == b->limit &&
           a->step_max == b->step_max && a->life_ms == b->life_ms && a->managed == b->managed &&
           a->next == b->next && a->max == b->max && a->log == b->log;
}

static void ids_execute(struct ids_model *m, const struct usher_operation *c,
                        struct usher_result *r, struct usher_id_result_row *row)
{
    int request = c->request.data != NULL ? c->request.data[1] - '0' : -1;
    int64_t clock = m->clock;
    bool there = m->there;

    memset(r, 0, sizeof *r);
    m->moment = c->now_ms;
    m->clock = c->now_ms > m->clock ? c->now_ms : m->clock;
    if (c->verb != USHER_ID_SHOW && c->verb != USHER_ID_CHANGES && m->was && request >= 0 &&
        m->request[request].kept && m->request[request].until > m->moment) {
        m->clock = clock;
        *r = m->request[request].reply;
        r->repeated = true;
        if (!same_question(&m->request[request].asked, c)) {
            memset(r, 0, sizeof *r);
            r->status = USHER_INVALID;
        }
        return;
    }
    if (c->arg.id.epoch.data != NULL && (m->was || c->verb == USHER_ID_CREATE)) {
        m->clock = clock;
        r->status = m->was ? USHER_STALE : USHER_MISSING; /* it is one that no dispenser has */
        r->version = m->version;
        return;
    }
    if (model_verb(m, c, r, row)) {
        r->version = ++m->version;
        model_tell(m, there, c, r);
        if (request >= 0) {
            forget_two(m, request);
            m->request[request].kept = true;
            m->request[request].until = m->moment + 3600000;
            m->request[request].asked = *c;
            m->request[request].reply = *r;
        }
        return;
    }
    m->clock = clock;
    r->version = m->version;
}

/* ---- comparing -------------------------------------------------------------------- */

static bool same_field(const struct usher__field *f, const void *a, const void *b)
{
    const struct usher_text *one = (const void *)((const char *)a + f->offset),
                            *two = (const void *)((const char *)b + f->offset);
    size_t size = f->type == USHER__FIELD_CODE   ? sizeof(int)
                  : f->type == USHER__FIELD_BOOL ? sizeof(bool)
                                                 : sizeof(int64_t);

    if (f->type >= USHER__FIELD_TEXT)
        return one->size == two->size &&
               (one->size == 0 || memcmp(one->data, two->data, one->size) == 0);
    return memcmp((const char *)a + f->offset, (const char *)b + f->offset, size) == 0;
}

static const char *difference(enum usher_verb verb, const struct usher_result *a,
                              const struct usher_result *b)
{
    static char text[64];
    const struct usher__noun *noun = usher__noun(USHER_ID);

    if (a->status != b->status)
        return "status";
    if (a->status >= USHER_INVALID)
        return NULL;
    if (a->version != b->version)
        return "version";
    if (a->repeated != b->repeated)
        return "repeated";
    for (unsigned i = 0; i < noun->n_outs; i++)
        if (!same_field(&noun->outs[i], a, b)) {
            (void)snprintf(text, sizeof text, "field %u", i);
            return text;
        }
    for (unsigned i = 0; i < noun->n_extras; i++)
        if (noun->extras[i].verb == (unsigned)verb && !same_field(&noun->extras[i], a, b)) {
            (void)snprintf(text, sizeof text, "setting %u", i);
            return text;
        }
    if (a->of.id.n_rows != b->of.id.n_rows)
        return "rows";
    for (size_t k = 0; k < a->of.id.n_rows; k++)
        for (unsigned i = 0; i < noun->n_row; i++)
            if (!same_field(&noun->row[i], &a->of.id.rows[k], &b->of.id.rows[k])) {
                (void)snprintf(text, sizeof text, "field %u of row %zu", i, k);
                return text;
            }
    return NULL;
}

/* ---- commands --------------------------------------------------------------------- */

static const char *const names[NAMES] = { "orders", "users", "tickets" };
static const char *const requests[REQUESTS] = { "r0", "r1", "r2", "r3", "r4", "r5" };

/* Near a place where something may go wrong. */
static int64_t landmark(struct rng *r)
{
    int64_t at = 1, off = (int64_t)rng_below(r, 9) - 4;

    switch (rng_below(r, 4)) {
    case 0:
        at = INT64_C(1) << 53;
        break;
    case 1:
        at = INT64_MAX - (int64_t)rng_below(r, 2000) - 4;
        break;
    default:
        for (uint64_t n = rng_below(r, 19); n > 0; n--)
            at *= 10;
        break;
    }
    return at + off < 0 ? 0 : at + off;
}

static int64_t some_n(struct rng *r)
{
    switch (rng_below(r, 6)) {
    case 0:
        return 1 + (int64_t)rng_below(r, 600);
    case 1:
        return (int64_t)rng_below(r, 1000) == 0 ? USHER_ID_N_MAX
                                                : 1 + (int64_t)rng_below(r, 1000000000);
    default:
        return 1 + (int64_t)rng_below(r, 4);
    }
}

static void make(struct rng *r, const struct ids_model *models, int64_t *now,
                 struct usher_operation *c, unsigned *ret_name)
{
    unsigned name = (unsigned)rng_below(r, NAMES);
    const struct ids_model *m = &models[name];
    struct usher_id_args *a = &c->arg.id;
    static const enum usher_verb verbs[] = { USHER_ID_CREATE,  USHER_ID_NEXT,    USHER_ID_NEXT,
                                             USHER_ID_NEXT,    USHER_ID_NEXT,    USHER_ID_SHOW,
                                             USHER_ID_SET,     USHER_ID_RETURN,  USHER_ID_RETURN,
                                             USHER_ID_INSTALL, USHER_ID_INSTALL, USHER_ID_CHANGES };

    memset(c, 0, sizeof *c);
    *ret_name = name;
    c->scope = text(names[name]);
    c->verb = verbs[rng_below(r, sizeof verbs / sizeof *verbs)];
    if (rng_chance(r, 1))
        c->verb = USHER_ID_DELETE;
    *now += rng_chance(r, 3) ? -(int64_t)rng_below(r, 5000) : (int64_t)rng_below(r, 1500);
    if (rng_chance(r, 1))
        *now += 3600000;
    c->given = USHER_GIVEN_NOW;
    c->now_ms = *now;
    if (rng_chance(r, 15))
        c->request = text(requests[rng_below(r, REQUESTS)]);
    switch (c->verb) {
    case USHER_ID_CREATE:
    case USHER_ID_SET:
        if (c->verb == USHER_ID_CREATE && rng_chance(r, 60)) {
            c->given |= USHER_GIVEN_ID_START;
            a->start = landmark(r);
        }
        if (c->verb == USHER_ID_CREATE && rng_chance(r, 40)) {
            c->given |= USHER_GIVEN_ID_MANAGED;
            a->managed = (int64_t)rng_below(r, 2);
        }
        if (rng_chance(r, 50)) {
            c->given |= USHER_GIVEN_ID_STEP;
            a->step = some_n(r);
        }
        if (rng_chance(r, 25)) {
            c->given |= USHER_GIVEN_ID_BY;
            a->by = rng_chance(r, 20) ? USHER_ID_BY_MAX : 1 + (int64_t)rng_below(r, 7);
            if (m->there && c->verb == USHER_ID_SET && rng_chance(r, 70) && m->by < 1000)
                a->by = m->by * (1 + (int64_t)rng_below(r, 3));
        }
        if (rng_chance(r, 20)) {
            c->given |= USHER_GIVEN_ID_LIMIT;
            a->limit = landmark(r);
        }
        if (rng_chance(r, 25)) {
            c->given |= USHER_GIVEN_ID_LIFE;
            a->life_ms = (int64_t)rng_below(r, 3000);
        }
        if (rng_chance(r, 15)) {
            c->given |= USHER_GIVEN_ID_STEP_MAX;
            a->step_max = some_n(r);
        }
        if (rng_chance(r, c->verb == USHER_ID_CREATE ? 60 : 15)) {
            c->given |= USHER_GIVEN_ID_LOG;
            a->log = (int64_t)rng_below(r, 8);
        }
        if (c->verb == USHER_ID_SET && rng_chance(r, 30)) {
            c->given |= USHER_GIVEN_ID_NEXT;
            a->next = rng_chance(r, 50) && m->next < INT64_MAX - 100
                          ? (int64_t)m->next + (int64_t)rng_below(r, 100)
                          : landmark(r);
        }
        break;
    case USHER_ID_CHANGES:
        if (rng_chance(r, 80)) {
            c->given |= USHER_GIVEN_ID_SINCE;
            a->since = (int64_t)(m->log.since + rng_below(r, 9)) - 1;
            if (a->since < 0)
                a->since = 0;
        }
        if (rng_chance(r, 40)) {
            c->given |= USHER_GIVEN_ID_MOST;
            a->most = 1 + (int64_t)rng_below(r, 3);
        }
        break;
    case USHER_ID_NEXT:
        if (rng_chance(r, 60)) {
            c->given |= USHER_GIVEN_ID_N;
            a->n = some_n(r);
        }
        break;
    case USHER_ID_RETURN:
        c->given |= USHER_GIVEN_ID_FIRST | USHER_GIVEN_ID_N | USHER_GIVEN_ID_TOKEN;
        a->n = some_n(r);
        a->token = rng_chance(r, 90) ? m->token : m->token + 1;
        if (rng_chance(r, 20))
            a->token = m->back;
        {
            bool repeat = a->token == m->back && rng_chance(r, 50);
            wide first =
                repeat ? m->next : m->next - (wide)a->n * m->by + (rng_chance(r, 10) ? 1 : 0);

            a->first = first < 0 || first > INT64_MAX ? 7 : (int64_t)first;
        }
        break;
    case USHER_ID_INSTALL:
        c->given |= USHER_GIVEN_ID_FIRST | USHER_GIVEN_ID_N;
        a->n = some_n(r);
        {
            wide first = (m->end > m->next ? m->end : m->next) + (int64_t)rng_below(r, 3) - 1;

            a->first = first < 0 || first > INT64_MAX ? 7 : (int64_t)first;
        }
        if (rng_chance(r, 10))
            a->first = landmark(r);
        if (model_max(m) >= 0 && rng_chance(r, 95)) {
            c->given |= USHER_GIVEN_ID_MAX;
            a->max = model_max(m);
        }
        break;
    default:
        break;
    }
    if (c->verb != USHER_ID_SHOW && c->verb != USHER_ID_CHANGES && rng_chance(r, 4))
        a->epoch = text("0123456789abcdef");
}

static void print_command(const struct usher_operation *c)
{
    const struct usher_id_args *a = &c->arg.id;

    print_error("id %s %s given=%" PRIx64 " now=%" PRId64 " req=%s n=%" PRId64 " first=%" PRId64
                " token=%" PRIu64 " start=%" PRId64 " step=%" PRId64 " by=%" PRId64
                " limit=%" PRId64 " step_max=%" PRId64 " life=%" PRId64 " managed=%" PRId64
                " next=%" PRId64 " max=%" PRId64 " log=%" PRId64 " since=%" PRId64 "\n",
                usher_verb_word(c->verb), c->scope.data, c->given, c->now_ms,
                c->request.data != NULL ? c->request.data : "", a->n, a->first, a->token, a->start,
                a->step, a->by, a->limit, a->step_max, a->life_ms, a->managed, a->next, a->max,
                a->log, a->since);
}

static void print_reply(const char *who, const struct usher_result *r)
{
    const struct usher_id_result *a = &r->of.id;

    print_error("  %s: %s version %" PRIu64 " first %" PRId64 " n %" PRId64 " next %" PRId64
                " max %" PRId64 " step %" PRId64 " by %" PRId64 " token %" PRIu64 " %s\n",
                who, usher_status_word(r->status), r->version, a->first, a->n, a->next, a->max,
                a->step, a->by, a->token, r->message);
}

/* ---- worlds ----------------------------------------------------------------------- */

struct store {
    const char *name;
    char url[512];
};
static struct store stores[STORES_MAX];
static unsigned n_stores;
static unsigned files;
#ifdef USHER_WITH_REDIS
static struct redis_server *server;
#endif

static void fresh(struct store *s)
{
    if (strcmp(s->name, "sqlite") == 0)
        (void)snprintf(s->url, sizeof s->url, "sqlite:%s/%u.db?sync=off", test_dir(), ++files);
#ifdef USHER_WITH_REDIS
    if (strcmp(s->name, "redis") == 0) {
        char url[REDIS_URL_MAX];

        assert_true(redis_do_ok(server, "FLUSHALL", NULL));
        (void)snprintf(s->url, sizeof s->url, "%s", redis_server_url(server, url));
    }
#endif
}

static void print_fault_of(void *payload, const char *line)
{
    print_error("%s: %s\n", (const char *)payload, line);
}

static void run_world(uint64_t seed)
{
    struct ids_model models[NAMES];
    struct usher_engine *e[STORES_MAX];
    struct rng r;
    int64_t now = INT64_C(1700000000000);

    rng_seed(&r, seed);
    for (unsigned i = 0; i < NAMES; i++) {
        memset(&models[i], 0, sizeof models[i]);
        model_defaults(&models[i]);
    }
    for (unsigned i = 0; i < n_stores; i++) {
        struct usher_options opt = USHER_OPTIONS_INIT;

        opt.clock_given = true;
        fresh(&stores[i]);
        if (usher_open(stores[i].url, &opt, &e[i]) != USHER_OK)
            fail_msg("%s: %s", stores[i].url, usher_message());
    }
    for (unsigned step = 0; step < WORLD; step++) {
        struct usher_operation c;
        struct usher_result want, got;
        struct usher_id_result_row rows[16]; /* more than a log has here */
        unsigned name;

        make(&r, models, &now, &c, &name);
        if (c.verb == USHER_ID_CREATE && (c.given & USHER_GIVEN_ID_LIMIT) != 0 &&
            c.arg.id.limit < ((c.given & USHER_GIVEN_ID_START) != 0 ? c.arg.id.start : 1))
            continue; /* invalid */
        ids_execute(&models[name], &c, &want, rows);
        for (unsigned i = 0; i < n_stores; i++) {
            const char *what;

            what = usher_operate(e[i], &c, &got, 1) ==
                           (want.status == USHER_LOST ? USHER_LOST : USHER_OK)
                       ? difference(c.verb, &want, &got)
                       : "what was returned";
            if (what != NULL) {
                print_error("USHER_SEED=%" PRIu64 ", command %u on %s: %s differs\n", seed, step,
                            stores[i].name, what);
                print_command(&c);
                print_reply("model", &want);
                print_reply(stores[i].name, &got);
                fail();
            }
            usher_result_done(&got);
        }
        if (step % 8 == 0 || step + 1 == WORLD) {
            char first[33], other[33];

            assert_int_equal(usher_digest(e[0], USHER_ID, names[name], first), USHER_OK);
            for (unsigned i = 1; i < n_stores; i++) {
                assert_int_equal(usher_digest(e[i], USHER_ID, names[name], other), USHER_OK);
                if (strcmp(first, other) != 0)
                    fail_msg("USHER_SEED=%" PRIu64 ", command %u: digests of %s and %s differ",
                             seed, step, stores[0].name, stores[i].name);
            }
        }
    }
    for (unsigned i = 0; i < NAMES; i++)
        model_log_done(&models[i].log);
    for (unsigned i = 0; i < n_stores; i++) {
        uint64_t faults = UINT64_MAX;

        assert_int_equal(
            check_faults(e[i], print_fault_of, (void *)(uintptr_t)stores[i].name, &faults),
            USHER_OK);
        assert_int_equal(faults, 0);
        usher_close(e[i]);
        if (strcmp(stores[i].name, "sqlite") == 0) {
            static const char *const tails[] = { "", "-wal", "-shm" };
            char path[300];

            for (size_t k = 0; k < sizeof tails / sizeof *tails; k++) {
                (void)snprintf(path, sizeof path, "%s/%u.db%s", test_dir(), files, tails[k]);
                (void)unlink(path);
            }
        }
    }
}

TEST(all_stores_answer_like_the_model)
{
    uint64_t seed = number_from("USHER_SEED", SEED_DEFAULT), steps = 0;
    uint64_t most = budget_of("USHER_STEPS", budget_long() ? STEPS_LONG : STEPS_DEFAULT);

    for (; steps < most; steps += WORLD)
        run_world(seed++);
    print_message("%" PRIu64 " commands on each of %u stores\n", steps, n_stores);
}

TEST(redis_takes_part)
{
    for (unsigned i = 0; i < n_stores; i++)
        if (strcmp(stores[i].name, "redis") == 0)
            return;
    if (getenv("USHER_NO_SKIP") != NULL)
        fail_msg("no Redis server");
    skip();
}

static int program_begin(void)
{
    stores[n_stores++] = (struct store){ "memory", "memory:" };
#ifdef USHER_WITH_SQLITE
    stores[n_stores++] = (struct store){ "sqlite", "" };
#endif
#ifdef USHER_WITH_REDIS
    server = redis_server_start(NULL);
    if (server != NULL)
        stores[n_stores++] = (struct store){ "redis", "" };
    else
        print_message("without Redis: %s\n", redis_reason());
#endif
    print_message("USHER_SEED=%" PRIu64 "\n", number_from("USHER_SEED", SEED_DEFAULT));
    return 0;
}

static void program_end(void)
{
#ifdef USHER_WITH_REDIS
    redis_server_stop(server);
#endif
}

TEST_PROGRAM(program_begin, program_end);
