/* SPDX-License-Identifier: MIT */
/*
 * The verbs of an id dispenser as steps on a record store.
 *
 * A dispenser has no records but those of request ids and of its log.  Its state is in the scope's
 * counts and settings, so that `next` is one small write.  Without a manager the store manages it:
 * when the segment is used up, `next` makes it longer in the same command.  A managed one issues
 * only the ids that `install` has added.
 */
#include "config.h"

#include "nouns/nouns.h"

#include <stdio.h>
#include <string.h>

#include "core/pack.h"
#include "core/segment.h"
#include "nouns/definition.h"

typedef struct usher__work work;
typedef struct usher__change change;

/* A dispenser consists of its counts and settings; a number of 64 bits is two of them:
 * core/wide.h. */
#define RECORDS_DEF "core/id_records.def"
#include "change/record_names.h"

/* The order of scope.settings. */
enum usher__id_setting {
    USHER__SET_ID_START, /* hi, lo */
    USHER__SET_ID_LIMIT = 2,
    USHER__SET_ID_STEP = 4,
    USHER__SET_ID_BY,
    USHER__SET_ID_STEP_MAX,
    USHER__SET_ID_LIFE,
    USHER__SET_ID_MANAGED,
    USHER__SET_ID_REQUESTS,
    USHER__SET_ID_LOG
};

static void defaults(struct usher_scope *scope)
{
    int64_t *set = scope->settings;

    memset(scope->counts, 0, sizeof scope->counts);
    memset(scope->settings, 0, sizeof scope->settings);
    usher__wide_set(&set[USHER__SET_ID_START], 1);
    usher__wide_set(&set[USHER__SET_ID_LIMIT], USHER_ID_LIMIT_MAX);
    set[USHER__SET_ID_STEP] = USHER_ID_STEP_DEFAULT;
    set[USHER__SET_ID_BY] = 1;
    set[USHER__SET_ID_STEP_MAX] = USHER_ID_STEP_MAX;
    set[USHER__SET_ID_REQUESTS] = USHER__REQUESTS_DEFAULT;
}

static bool there(const work *w)
{
    return w->scope.ref != NULL && w->scope.counts[COUNT_THERE] != 0;
}

static struct usher__segment segment(const struct usher_scope *s)
{
    struct usher__segment g = { usher__wide(&s->counts[COUNT_NEXT]),
                                usher__wide(&s->counts[COUNT_END]),
                                usher__wide(&s->settings[USHER__SET_ID_LIMIT]),
                                (uint64_t)s->settings[USHER__SET_ID_BY] };

    return g;
}

/* Return whether the segment was installed on another store: this may be a copy, which does not
 * have the ids that were issued since. */
static bool is_another(const work *w)
{
    return w->identity != 0 && w->scope.counts[COUNT_STORE] != (int64_t)w->identity;
}

/* Return the highest id, or -1 if there is no segment yet. */
static int64_t max_of(const struct usher__segment *g)
{
    return g->end == 0 ? -1 : (int64_t)(g->end - 1 < g->limit ? g->end - 1 : g->limit);
}

static int64_t next_of(const struct usher__segment *g)
{
    return g->next > g->limit ? -1 : (int64_t)g->next;
}

static enum usher_status answer(work *w, enum usher_status status)
{
    struct usher_id_result *a = &w->reply->of.id;
    struct usher__segment g = segment(&w->scope);

    w->reply->status = status;
    a->next = next_of(&g);
    a->max = max_of(&g);
    a->step = w->scope.counts[COUNT_STEP];
    a->by = w->scope.settings[USHER__SET_ID_BY];
    return USHER_OK;
}

static enum usher_status missing(work *w, enum usher_status status)
{
    w->reply->status = status;
    return USHER_OK;
}

/* Commit @c; counts and answer are complete. */
static enum usher_status finish(work *w, change *c, unsigned from, unsigned to)
{
    enum usher_status status = usher__request_keep(w, c);

    if (status == USHER_OK)
        status = usher__change_commit(w, c, w->command->verb, from, to, NULL);
    return status;
}

/* The same for ids that were issued, returned or installed, which are in the notice. */
static enum usher_status finish_ids(work *w, change *c)
{
    const struct usher_id_result *a = &w->reply->of.id;
    const struct usher__notice_field said[] = { { "first", a->first, NULL }, { "n", a->n, NULL } };
    enum usher_status status = usher__change_data(w, c, said, 2);

    return status == USHER_OK ? finish(w, c, 1, 1) : status;
}

/* The same for settings. */
static enum usher_status finish_settings(work *w, change *c, unsigned from)
{
    enum usher_status status = usher__change_data_settings(w, c);

    return status == USHER_OK ? finish(w, c, from, 1) : status;
}

/* Begin a new segment. */
static void renew(work *w)
{
    int64_t *counts = w->scope.counts;
    const int64_t *set = w->scope.settings;

    if (counts[COUNT_SEGMENTS] > 0) {
        int64_t lasted = w->moment - counts[COUNT_BEGAN];

        counts[COUNT_LASTED] = lasted > 0 ? lasted : 0;
        counts[COUNT_STEP] =
            usher__segment_step(counts[COUNT_STEP], counts[COUNT_LASTED], set[USHER__SET_ID_LIFE],
                                set[USHER__SET_ID_STEP], set[USHER__SET_ID_STEP_MAX]);
    }
    counts[COUNT_SEGMENTS]++;
    counts[COUNT_BEGAN] = w->moment;
}

/* ---- settings --------------------------------------------------------------------- */

static void settings_from(const int64_t *set, struct usher_id_result_settings *s)
{
    s->start = (int64_t)usher__wide(&set[USHER__SET_ID_START]);
    s->step = set[USHER__SET_ID_STEP];
    s->by = set[USHER__SET_ID_BY];
    s->limit = (int64_t)usher__wide(&set[USHER__SET_ID_LIMIT]);
    s->step_max = set[USHER__SET_ID_STEP_MAX];
    s->life_ms = set[USHER__SET_ID_LIFE];
    s->managed = set[USHER__SET_ID_MANAGED];
    s->requests = set[USHER__SET_ID_REQUESTS];
    s->log = set[USHER__SET_ID_LOG];
    s->why = USHER_ID_WHY_NONE;
}

/* Copy the given settings to @set. */
static void settings_take(const struct usher_operation *command, int64_t *set)
{
    const struct usher_id_args *a = &command->arg.id;
    uint64_t given = command->given;

    if ((given & USHER_GIVEN_ID_START) != 0)
        usher__wide_set(&set[USHER__SET_ID_START], (uint64_t)a->start);
    if ((given & USHER_GIVEN_ID_STEP) != 0)
        set[USHER__SET_ID_STEP] = a->step;
    if ((given & USHER_GIVEN_ID_BY) != 0)
        set[USHER__SET_ID_BY] = a->by;
    if ((given & USHER_GIVEN_ID_LIMIT) != 0)
        usher__wide_set(&set[USHER__SET_ID_LIMIT], (uint64_t)a->limit);
    if ((given & USHER_GIVEN_ID_STEP_MAX) != 0)
        set[USHER__SET_ID_STEP_MAX] = a->step_max;
    if ((given & USHER_GIVEN_ID_LIFE) != 0)
        set[USHER__SET_ID_LIFE] = a->life_ms;
    if ((given & USHER_GIVEN_ID_MANAGED) != 0)
        set[USHER__SET_ID_MANAGED] = a->managed;
    if ((given & USHER_GIVEN_ID_REQUESTS) != 0)
        set[USHER__SET_ID_REQUESTS] = a->requests;
    if ((given & USHER_GIVEN_ID_LOG) != 0)
        set[USHER__SET_ID_LOG] = a->log;
}

static enum usher_status create(work *w)
{
    struct usher_scope asked;
    struct usher__segment g;
    int64_t *counts = w->scope.counts;
    change c;

    defaults(&asked);
    settings_take(w->command, asked.settings);
    if (there(w)) {
        settings_from(w->scope.settings, &w->reply->of.id.of.settings);
        return answer(w, memcmp(asked.settings, w->scope.settings, sizeof asked.settings) == 0
                             ? USHER_SAME
                             : USHER_REFUSED);
    }
    usher__change_begin(w, &c);
    memcpy(w->scope.settings, asked.settings, sizeof asked.settings);
    counts[COUNT_THERE] = 1;
    counts[COUNT_STEP] = asked.settings[USHER__SET_ID_STEP];
    g = segment(&w->scope);
    g.next = usher__wide(&asked.settings[USHER__SET_ID_START]);
    g.end = 0;
    if (asked.settings[USHER__SET_ID_MANAGED] == 0) {
        g.end = g.next + ((uint64_t)counts[COUNT_STEP] - 1) * g.by + 1;
        renew(w);
    }
    usher__wide_set(&counts[COUNT_NEXT], g.next);
    usher__wide_set(&counts[COUNT_END], g.end);
    settings_from(w->scope.settings, &w->reply->of.id.of.settings);
    (void)answer(w, USHER_OK);
    return finish_settings(w, &c, 0);
}

/* Return @id, or the first one after it that is start + k * by: ids of another start belong to
 * others. */
static uint64_t on_grid(uint64_t id, const int64_t *set)
{
    uint64_t start = usher__wide(&set[USHER__SET_ID_START]), by = (uint64_t)set[USHER__SET_ID_BY];

    return id + (start % by + by - id % by) % by;
}

static enum usher_status set_refused(work *w, enum usher_id_why why)
{
    settings_from(w->scope.settings, &w->reply->of.id.of.settings);
    w->reply->of.id.of.settings.why = why;
    return answer(w, USHER_REFUSED);
}

static enum usher_status set(work *w)
{
    const struct usher_id_args *a = &w->command->arg.id;
    uint64_t given =
        w->command->given & ~((uint64_t)USHER_GIVEN_NOW | (uint64_t)USHER_GIVEN_ID_IF_VERSION);
    int64_t *counts = w->scope.counts;
    int64_t new[USHER_SETTINGS];
    uint64_t next, to;
    bool raises, new_by;
    change c;

    if (!there(w))
        return missing(w, USHER_MISSING);
    memcpy(new, w->scope.settings, sizeof new);
    settings_take(w->command, new);
    next = usher__wide(&counts[COUNT_NEXT]);
    if ((given & USHER_GIVEN_ID_NEXT) != 0 && (uint64_t)a->next < next)
        return set_refused(w, USHER_ID_WHY_BACK);
    if (new[USHER__SET_ID_BY] % w->scope.settings[USHER__SET_ID_BY] != 0)
        return set_refused(w, USHER_ID_WHY_CLASS);
    to = (given & USHER_GIVEN_ID_NEXT) != 0 ? (uint64_t)a->next : next;
    new_by = new[USHER__SET_ID_BY] != w->scope.settings[USHER__SET_ID_BY];
    if (to != next || new_by)
        to = on_grid(to, new);
    raises = to > next;
    settings_from(new, &w->reply->of.id.of.settings);
    if (!raises && memcmp(new, w->scope.settings, sizeof new) == 0)
        return answer(w, given != 0 ? USHER_SAME : USHER_OK);
    usher__change_begin(w, &c);
    if (new[USHER__SET_ID_STEP] != w->scope.settings[USHER__SET_ID_STEP])
        counts[COUNT_STEP] = new[USHER__SET_ID_STEP];
    memcpy(w->scope.settings, new, sizeof new);
    if (raises)
        usher__wide_set(&counts[COUNT_NEXT], to);
    if (raises || new_by)
        counts[COUNT_TOKEN] = 0; /* `return` cannot reach lower ids */
    (void)answer(w, USHER_OK);
    return finish_settings(w, &c, 1);
}

static enum usher_status delete_dispenser(work *w)
{
    const struct usher_scope was = w->scope;
    int64_t *counts = w->scope.counts;
    change c;

    if (!there(w))
        return missing(w, USHER_SAME);
    usher__change_begin(w, &c);
    defaults(&w->scope);
    counts[COUNT_REQUESTS] = was.counts[COUNT_REQUESTS];
    /* dispensers of the same name share the log, like the versions */
    counts[COUNT_CHANGES] = was.counts[COUNT_CHANGES];
    counts[COUNT_SINCE] = was.counts[COUNT_SINCE];
    w->scope.settings[USHER__SET_ID_LOG] = was.settings[USHER__SET_ID_LOG];
    w->reply->status = USHER_OK;
    return finish(w, &c, 1, 0);
}

/* ---- next, return, install -------------------------------------------------------- */

static enum usher_status next(work *w)
{
    struct usher_id_result *a = &w->reply->of.id;
    uint64_t n = (w->command->given & USHER_GIVEN_ID_N) != 0 ? (uint64_t)w->command->arg.id.n : 1;
    int64_t *counts = w->scope.counts;
    struct usher__segment g;
    uint64_t first = 0;
    change c;
    enum usher_status status;

    if (!there(w))
        return missing(w, USHER_MISSING);
    g = segment(&w->scope);
    status = usher__segment_carve(&g, n, &first);
    if (status == USHER_FULL) {
        a->first = next_of(&g);
        a->n = (int64_t)usher__segment_rest(&g, n);
        return answer(w, USHER_FULL);
    }
    if (w->scope.settings[USHER__SET_ID_MANAGED] != 0 && (status == USHER_EMPTY || is_another(w)))
        return answer(w, USHER_EMPTY);
    usher__change_begin(w, &c);
    if (status == USHER_EMPTY) {
        renew(w);
        usher__segment_extend(&g, n, (uint64_t)counts[COUNT_STEP]);
        (void)usher__segment_carve(&g, n, &first); /* it fits now */
        usher__wide_set(&counts[COUNT_END], g.end);
    }
    usher__wide_set(&counts[COUNT_NEXT], g.next);
    usher__wide_set(&counts[COUNT_ISSUED], usher__wide(&counts[COUNT_ISSUED]) + n);
    counts[COUNT_TOKEN] = (int64_t)c.scope->version;
    a->first = (int64_t)first;
    a->n = (int64_t)n;
    a->token = c.scope->version;
    (void)answer(w, USHER_OK);
    return finish_ids(w, &c);
}

static enum usher_status give_back(work *w)
{
    const struct usher_id_args *args = &w->command->arg.id;
    struct usher_id_result *a = &w->reply->of.id;
    int64_t *counts = w->scope.counts;
    struct usher__segment g;
    uint64_t issued;
    change c;

    if (!there(w))
        return missing(w, USHER_MISSING);
    g = segment(&w->scope);
    issued = usher__wide(&counts[COUNT_ISSUED]);
    a->first = args->first;
    a->n = args->n;
    if (args->token == 0 || args->token != (uint64_t)counts[COUNT_TOKEN] ||
        (uint64_t)args->n > issued || (uint64_t)args->first + (uint64_t)args->n * g.by != g.next) {
        if (args->token != 0 && args->token == (uint64_t)counts[COUNT_BACK] &&
            (uint64_t)args->first == g.next)
            return answer(w, USHER_SAME); /* it was returned already */
        if (usher__scope_version_lost(w, args->token))
            return usher__say_lost(w, "token");
        return answer(w, USHER_STALE);
    }
    usher__change_begin(w, &c);
    usher__wide_set(&counts[COUNT_NEXT], (uint64_t)args->first);
    usher__wide_set(&counts[COUNT_ISSUED], issued - (uint64_t)args->n);
    counts[COUNT_TOKEN] = 0; /* once only */
    counts[COUNT_BACK] = (int64_t)args->token;
    (void)answer(w, USHER_OK);
    return finish_ids(w, &c);
}

static enum usher_status install(work *w)
{
    const struct usher_id_args *args = &w->command->arg.id;
    struct usher_id_result *a = &w->reply->of.id;
    int64_t *counts = w->scope.counts;
    int64_t max = (w->command->given & USHER_GIVEN_ID_MAX) != 0 ? args->max : -1;
    struct usher__segment g;
    change c;

    if (!there(w))
        return missing(w, USHER_MISSING);
    g = segment(&w->scope);
    a->first = args->first;
    a->n = args->n;
    if (w->scope.settings[USHER__SET_ID_MANAGED] == 0)
        return answer(w, USHER_REFUSED);
    if (max != max_of(&g))
        return answer(w, USHER_STALE);
    if ((uint64_t)args->first < g.next || (uint64_t)args->first < g.end)
        return answer(w, USHER_REFUSED);
    usher__change_begin(w, &c);
    renew(w);
    /* the rest of the old one is used first, if the new one follows it */
    if (is_another(w) || g.by != 1 || g.next >= g.end || (uint64_t)args->first != g.end) {
        if (g.next != (uint64_t)args->first)
            counts[COUNT_TOKEN] = 0; /* its ids do not end before this segment */
        g.next = (uint64_t)args->first;
    }
    if (w->identity != 0)
        counts[COUNT_STORE] = (int64_t)w->identity;
    g.end = (uint64_t)args->first + ((uint64_t)args->n - 1) * g.by + 1;
    usher__wide_set(&counts[COUNT_NEXT], g.next);
    usher__wide_set(&counts[COUNT_END], g.end);
    (void)answer(w, USHER_OK);
    return finish_ids(w, &c);
}

/* ---- show ------------------------------------------------------------------------- */

static enum usher_status show(work *w)
{
    const int64_t *counts = w->scope.counts, *set = w->scope.settings;
    struct usher_id_result *a = &w->reply->of.id;
    struct usher_id_result_row row;

    if (!there(w))
        return missing(w, USHER_MISSING);
    (void)answer(w, USHER_OK);
    memset(&row, 0, sizeof row);
    row.next = a->next;
    row.max = a->max;
    row.step = a->step;
    row.start = (int64_t)usher__wide(&set[USHER__SET_ID_START]);
    row.by = a->by;
    row.limit = (int64_t)usher__wide(&set[USHER__SET_ID_LIMIT]);
    row.issued = (int64_t)usher__wide(&counts[COUNT_ISSUED]);
    row.segments = counts[COUNT_SEGMENTS];
    row.began_ms = counts[COUNT_BEGAN];
    row.lasted_ms = counts[COUNT_LASTED];
    row.managed = set[USHER__SET_ID_MANAGED];
    return usher_result_add_row(w->reply, USHER_ID, &row);
}

/* ---- all together ----------------------------------------------------------------- */

static enum usher_status run(work *w)
{
    enum usher_status status;

    if (w->command->verb == USHER_ID_SHOW)
        return show(w);
    if (w->command->verb == USHER_ID_CHANGES)
        return usher__log_changes(w, &w->reply->of.id.since, &w->reply->of.id.more);
    status = usher__request_find(w);
    if (status != USHER_MISSING)
        return status;
    if (usher__other_version(w))
        return USHER_OK;
    switch (w->command->verb) {
    case USHER_ID_CREATE:
        return create(w);
    case USHER_ID_NEXT:
        return next(w);
    case USHER_ID_DELETE:
        return delete_dispenser(w);
    case USHER_ID_RETURN:
        return give_back(w);
    case USHER_ID_INSTALL:
        return install(w);
    default:
        return set(w);
    }
}

/* ---- for the executor, the audit and the digest ----------------------------------- */

/* Return whether the dispenser was deleted. */
static bool gone(const struct usher_scope *scope)
{
    return scope->counts[COUNT_THERE] == 0;
}

static const char *scope_fault(const struct usher_scope *scope)
{
    const int64_t *counts = scope->counts, *set = scope->settings;

    if (!usher__wide_sound(&counts[COUNT_NEXT], USHER__SEGMENT_MAX) ||
        !usher__wide_sound(&counts[COUNT_END], USHER__SEGMENT_MAX) ||
        !usher__wide_sound(&counts[COUNT_ISSUED], USHER__SEGMENT_MAX))
        return "a counter";
    if (!usher__wide_sound(&set[USHER__SET_ID_START], USHER_ID_LIMIT_MAX) ||
        !usher__wide_sound(&set[USHER__SET_ID_LIMIT], USHER_ID_LIMIT_MAX))
        return "a limit";
    if (set[USHER__SET_ID_BY] < 1 || set[USHER__SET_ID_BY] > USHER_ID_BY_MAX ||
        set[USHER__SET_ID_STEP] < 1 || set[USHER__SET_ID_STEP] > USHER_ID_N_MAX ||
        set[USHER__SET_ID_STEP_MAX] < 1 || set[USHER__SET_ID_STEP_MAX] > USHER_ID_N_MAX ||
        (counts[COUNT_THERE] != 0 &&
         (counts[COUNT_STEP] < 1 || counts[COUNT_STEP] > USHER_ID_N_MAX)))
        return "a step";
    if (counts[COUNT_TOKEN] < 0 || (uint64_t)counts[COUNT_TOKEN] > scope->version)
        return "a token";
    if (counts[COUNT_BACK] < 0 || (uint64_t)counts[COUNT_BACK] > scope->version)
        return "a token";
    return set[USHER__SET_ID_LOG] < 0 ? "a setting" : NULL;
}

static const char *record_fault(const struct usher_scope *scope, const struct usher_record *r)
{
    if (r->kind != USHER_KIND_REQUEST && r->kind != KIND_CHANGE)
        return "has an unknown kind";
    if (usher__is_newer(scope, r->order))
        return "is newer than its scope";
    return r->kind == KIND_CHANGE ? usher__log_fault(&usher__id_steps.log, scope, r) : NULL;
}

static void tally(struct usher__tally *t, const struct usher_record *r)
{
    if (r->kind == KIND_CHANGE)
        usher__log_tally(&usher__id_steps.log, t, r);
    else
        t->counts[COUNT_REQUESTS]++;
}

static const char *state_word(unsigned kind, unsigned state)
{
    (void)kind;
    (void)state;
    return NULL;
}

static int64_t granted(const struct usher_scope *scope, const struct usher_record *r,
                       int64_t *ret_period)
{
    struct usher__segment g = segment(scope);

    *ret_period = 0;
    return r == NULL && scope->settings[USHER__SET_ID_MANAGED] != 0 ? max_of(&g) : -1;
}

size_t usher__id_form_pack(const struct usher_id_result_settings *s,
                           unsigned char to[USHER__FORM_MAX])
{
    const int64_t values[] = { s->start,   s->step,    s->by,       s->limit, s->step_max,
                               s->life_ms, s->managed, s->requests, s->log };
    struct usher__packer p;

    p.to = to;
    p.size = USHER__FORM_MAX;
    p.n = 0;
    usher__pack_array(&p, 1 + sizeof values / sizeof *values);
    usher__pack_uint(&p, USHER__ID_FORM);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        usher__pack_int(&p, values[i]);
    return p.n;
}

/* The settings of a new dispenser. */
#define SETTINGS                                                                             \
    (USHER_GIVEN_ID_START | USHER_GIVEN_ID_STEP | USHER_GIVEN_ID_BY | USHER_GIVEN_ID_LIMIT | \
     USHER_GIVEN_ID_STEP_MAX | USHER_GIVEN_ID_LIFE | USHER_GIVEN_ID_MANAGED |                \
     USHER_GIVEN_ID_REQUESTS | USHER_GIVEN_ID_LOG)

bool usher__id_form_unpack(const char *data, size_t size, struct usher_operation *c)
{
    struct usher_id_args *s = &c->arg.id;
    int64_t *const values[] = { &s->start,   &s->step,    &s->by,       &s->limit, &s->step_max,
                                &s->life_ms, &s->managed, &s->requests, &s->log };
    struct usher_unpacker u = usher__unpacker(data, size);
    uint64_t format;
    size_t n;

    if (!usher_unpack_array(&u, &n) || n != 1 + sizeof values / sizeof *values ||
        !usher_unpack_uint(&u, &format) || format != USHER__ID_FORM)
        return false;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (!usher_unpack_int(&u, values[i]))
            return false;
    c->given |= SETTINGS;
    return true;
}

static bool kept(const struct usher_scope *scope, const struct usher_record *r,
                 unsigned char to[USHER__FORM_MAX], size_t *ret_size)
{
    struct usher_id_result_settings s;

    *ret_size = 0;
    if (r != NULL || scope->counts[COUNT_THERE] == 0)
        return false;
    settings_from(scope->settings, &s);
    if (s.managed != 0)
        *ret_size = usher__id_form_pack(&s, to);
    return true;
}

static const char *const kinds[USHER_KINDS] = {
#define RECORD(name, code, word, ...) [code] = (word),
#include RECORDS_DEF
};

static const struct usher__constant constants[] = {
    { "WHY_BACK", USHER_ID_WHY_BACK },
    { "WHY_CLASS", USHER_ID_WHY_CLASS },
    { NULL, 0 },
};

const struct usher__steps usher__id_steps = {
    .defaults = defaults,
    .run = run,
    .gone = gone,
    .scope_fault = scope_fault,
    .record_fault = record_fault,
    .tally = tally,
    .granted = granted,
    .kept = kept,
    .kinds = kinds,
    .state_word = state_word,
    .first = "0:",
    .listed = "",
    .count_names = {
#define COUNT(name, at, text) [at] = #name,
#include RECORDS_DEF
    },
    .setting_names = {
        [USHER__SET_ID_START] = "START",
        [USHER__SET_ID_LIMIT] = "LIMIT",
        [USHER__SET_ID_STEP] = "STEP",
        [USHER__SET_ID_BY] = "BY",
        [USHER__SET_ID_STEP_MAX] = "STEP_MAX",
        [USHER__SET_ID_LIFE] = "LIFE",
        [USHER__SET_ID_MANAGED] = "MANAGED",
        [USHER__SET_ID_REQUESTS] = "REQUESTS",
        [USHER__SET_ID_LOG] = "LOG",
    },
    .constants = constants,
    .log = { KIND_CHANGE, USHER__SET_ID_LOG, COUNT_CHANGES, COUNT_SINCE, 0 },
    .requests = COUNT_REQUESTS,
    .requests_max = USHER__SET_ID_REQUESTS,
    .counted = 1u << COUNT_REQUESTS | 1u << COUNT_CHANGES,
    .statistics = 1u << COUNT_STORE,
};
