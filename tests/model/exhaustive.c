/* SPDX-License-Identifier: MIT */
/* See exhaustive.h. */
#include "lib/test.h"

#include "model/exhaustive.h"

#include "lib/stores.h"
#include "model/compare.h"
#include "model/gen.h"

#define BATCH 512
#define SCOPES_OPEN 2000 /* scopes in a store before it is emptied */
#define TOUR 200
#define TABLE (1 << 20)
#define WAY 64
#define NOWHERE SIZE_MAX

static const struct exhaustive *noun;

/* ---- worlds ------------------------------------------------------------------------ */

struct state {
    void *m;       /* until it is explored */
    size_t from;   /* the state before; NOWHERE: the first */
    size_t symbol; /* that led here */
    char key[EXHAUSTIVE_KEY];
    bool *changes; /* by symbol: the command changes something */
};

struct world {
    unsigned i;
    char *alphabet; /* of command_size each */
    size_t n_symbols;
    struct usher_operation first[EXHAUSTIVE_FIRST];
    size_t n_first;
    struct state *states;
    size_t n, room;
    size_t *table;     /* of indices + 1, by key */
    uint64_t commands; /* tried on the model */
};

static struct world *worlds;

/* USHER_WORLD=heartbeats: only that one, to look for something by hand. */
static bool takes_part(unsigned i)
{
    const char *only = getenv("USHER_WORLD");

    return only == NULL || strcmp(only, noun->worlds[i]) == 0;
}

static void *symbol_at(const struct world *w, size_t k)
{
    return w->alphabet + k * noun->model->command_size;
}

static int64_t clock_of(const void *m)
{
    uint64_t version;
    int64_t clock;

    noun->now(m, &version, &clock);
    return clock;
}

static uint64_t version_of(const void *m)
{
    uint64_t version;
    int64_t clock;

    noun->now(m, &version, &clock);
    return version;
}

/* @symbol may be changed: texts of the command can lie in it. */
static struct usher_operation resolved(void *symbol, const void *m)
{
    struct usher_operation c = noun->resolve(m, symbol);

    c.now_ms += clock_of(m);
    return c;
}

/* ---- states ------------------------------------------------------------------------ */

static size_t *place(const struct world *w, const char *key)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    size_t i;

    for (const char *p = key; *p != '\0'; p++)
        hash = (hash ^ (unsigned char)*p) * UINT64_C(1099511628211);
    for (i = hash % TABLE; w->table[i] != 0; i = (i + 1) % TABLE)
        if (strcmp(w->states[w->table[i] - 1].key, key) == 0)
            break;
    return &w->table[i];
}

/* Takes @m if the state is new, closes it if not. */
static void reached(struct world *w, void *m, const char *key, size_t from, size_t symbol)
{
    size_t *at = place(w, key);
    struct state *s;

    if (*at != 0) {
        noun->model->close(m);
        return;
    }
    assert_true(w->n < TABLE / 2);
    if (w->n == w->room) {
        w->room = w->room * 2 + 256;
        w->states = realloc(w->states, w->room * sizeof *w->states);
        assert_non_null(w->states);
    }
    s = &w->states[w->n];
    memset(s, 0, sizeof *s);
    s->m = m;
    s->from = from;
    s->symbol = symbol;
    (void)snprintf(s->key, sizeof s->key, "%s", key);
    *at = ++w->n;
}

/* The way to state @i, the last step first: how many. */
static size_t way_to(const struct world *w, size_t i, size_t way[WAY])
{
    size_t n = 0;

    for (; w->states[i].from != NOWHERE; i = w->states[i].from) {
        assert_true(n < WAY);
        way[n++] = w->states[i].symbol;
    }
    return n;
}

/* ---- invariants of the model ------------------------------------------------------- */

static void hear(void *payload, const struct usher_notice *notice)
{
    struct exhaustive_heard *h = payload;

    h->n++;
    h->by_itself += noun->by_itself(notice->verb);
    h->dense &= h->last == 0 || notice->version == h->last + 1;
    h->last = notice->version;
}

static void print_line(const struct usher_operation *c)
{
    (void)fprintf(stderr, "  ");
    gen_print(stderr, c);
    (void)fprintf(stderr, "\n");
}

static void print_way(const struct world *w, size_t i, const struct usher_operation *last)
{
    void *m = noun->model->open(NULL, NULL), *symbol = malloc(noun->model->command_size);
    size_t way[WAY], n = way_to(w, i, way);
    struct usher_operation c;
    struct usher_result r;

    assert_non_null(symbol);
    (void)fprintf(stderr, "\n%s:\n", noun->worlds[w->i]);
    for (size_t k = 0; k < w->n_first + n; k++) {
        if (k < w->n_first) {
            c = w->first[k];
        } else {
            memcpy(symbol, symbol_at(w, way[n - 1 - (k - w->n_first)]), noun->model->command_size);
            c = resolved(symbol, m);
        }
        print_line(&c);
        noun->model->execute(m, &c, &r);
        noun->model->reply_done(&r);
    }
    print_line(last);
    noun->model->close(m);
    free(symbol);
}

static const char *step_fault(const struct exhaustive_step *s)
{
    uint64_t before = version_of(s->before), after = version_of(s->after);
    const struct exhaustive_heard *h = s->heard;
    const char *fault = noun->model->fault(s->after);

    if (fault != NULL)
        return fault;
    if (after != before + h->n || !h->dense || (h->n > 0 && h->last != after) ||
        (s->r->status < USHER_INVALID && s->r->version != after))
        return "version";
    if (s->r->status != USHER_OK && h->n != h->by_itself)
        return "refusal";
    return noun->fault(s);
}

static void explore(struct world *w, unsigned i)
{
    const struct noun_model *model = noun->model;
    void *m = model->open(NULL, NULL), *symbol = malloc(model->command_size);
    char key[EXHAUSTIVE_KEY];
    struct usher_result r;

    w->i = i;
    w->table = calloc(TABLE, sizeof *w->table);
    w->alphabet = calloc(EXHAUSTIVE_SYMBOLS, model->command_size);
    assert_non_null(w->table);
    assert_non_null(w->alphabet);
    assert_non_null(symbol);
    w->n_symbols = noun->alphabet(i, w->alphabet);
    w->n_first = noun->first(i, w->first);
    for (size_t k = 0; k < w->n_first; k++) {
        model->execute(m, &w->first[k], &r);
        assert_int_equal(r.status, USHER_OK);
        model->reply_done(&r);
    }
    noun->key(i, m, key);
    reached(w, m, key, NOWHERE, 0);
    for (size_t at = 0; at < w->n; at++) {
        void *before = w->states[at].m;

        w->states[at].changes = calloc(w->n_symbols, sizeof *w->states[at].changes);
        assert_non_null(w->states[at].changes);
        for (size_t k = 0; k < w->n_symbols; k++) {
            struct exhaustive_heard h = { 0, 0, 0, true };
            struct usher_operation c;
            struct exhaustive_step step = { before, NULL, false, &c, &r, &h };
            const char *fault;

            step.after = m = model->copy(before, hear, &h);
            memcpy(symbol, symbol_at(w, k), model->command_size);
            c = resolved(symbol, before);
            model->execute(m, &c, &r);
            noun->key(i, m, key);
            step.changed = strcmp(key, w->states[at].key) != 0;
            fault = step_fault(&step);
            model->reply_done(&r);
            w->commands++;
            if (fault != NULL) {
                print_way(w, at, &c);
                fail_msg("the model breaks: %s", fault);
            }
            w->states[at].changes[k] = h.n > 0 || step.changed;
            if (step.changed)
                reached(w, m, key, at, k); /* no command is executed on it, so there is no notice */
            else
                model->close(m);
        }
        w->states[at].m = NULL;
        model->close(before);
    }
    free(symbol);
}

static void the_model_keeps_its_invariants(void **state)
{
    uint64_t states = 0, commands = 0;

    (void)state;
    for (unsigned i = 0; i < noun->n_worlds; i++) {
        print_message("%s: %zu states, %" PRIu64 " commands\n", noun->worlds[i], worlds[i].n,
                      worlds[i].commands);
        states += worlds[i].n;
        commands += worlds[i].commands;
    }
    print_message("%" PRIu64 " states, %" PRIu64 " commands\n", states, commands);
}

/* ---- stores ------------------------------------------------------------------------ */

/* Commands on their way to a store, with what they should be answered. */
struct runner {
    const struct test_store *store;
    struct usher_engine *e;
    unsigned scopes; /* since the store was empty */
    char names[BATCH][16];
    char *symbols; /* BATCH of them: texts of the commands may lie in them */
    struct usher_operation c[BATCH];
    struct usher_result want[BATCH], got[BATCH];
    unsigned flushes;               /* every second one has a watcher */
    uint64_t versions[SCOPES_OPEN]; /* by scope, of its last notice in this flush; 0: none */
    uint64_t notices;
    unsigned looks;
    size_t n;
    char name[16];
    /* for messages */
    const struct world *world;
    size_t state;
};

/* Notices of a scope come in order, and none is left out. */
static void hear_in_order(void *payload, const struct usher_notice *n)
{
    struct runner *r = payload;
    unsigned i = 0; /* of a scope "p7" */

    if (n->verb == USHER_NOTICE_LOST) /* is no change */
        return;
    for (size_t k = 1; k < n->scope.size; k++)
        i = i * 10 + (unsigned)(n->scope.data[k] - '0');
    assert_true(i < SCOPES_OPEN);
    if (r->versions[i] != 0 && n->version != r->versions[i] + 1)
        fail_msg("%s: a notice of version %" PRIu64 " follows that of %" PRIu64, r->store->name,
                 n->version, r->versions[i]);
    r->versions[i] = n->version;
    r->notices++;
}

static void runner_differs(const struct runner *r, size_t i)
{
    enum usher_verb verb = r->c[i].verb;

    (void)fprintf(stderr, "\n%s, %s, about state %zu (%s):\n", r->store->name,
                  noun->worlds[r->world->i], r->state, r->world->states[r->state].key);
    for (size_t k = 0; k <= i; k++)
        if (strcmp(r->names[k], r->names[i]) == 0) {
            (void)fprintf(stderr, "  ");
            gen_print(stderr, &r->c[k]);
            (void)fprintf(stderr, "    # %s\n", usher_status_word(r->got[k].status));
        }
    (void)replies_equal(verb, &r->want[i], &r->got[i], stderr);
    (void)fprintf(stderr, "  the model:\n");
    reply_print(stderr, verb, &r->want[i]);
    (void)fprintf(stderr, "  %s:\n", r->store->name);
    reply_print(stderr, verb, &r->got[i]);
}

static void runner_flush(struct runner *r)
{
    struct usher_watcher *watch = NULL;
    bool equal = true;

    if (r->n == 0)
        return;
    if (r->flushes++ % 2 == 0) {
        memset(r->versions, 0, sizeof r->versions);
        assert_int_equal(usher_watch(r->e, noun->model->noun, NULL, hear_in_order, r, &watch),
                         USHER_OK);
    }
    {
        enum usher_status status = usher_operate(r->e, r->c, r->got, r->n);

        if (status != USHER_OK && status != USHER_LOST)
            fail_msg("%s: %s", r->store->name, usher_message());
    }
    if (watch != NULL)
        usher_unwatch(r->e, watch);
    for (size_t i = 0; i < r->n && equal; i++) {
        queue_history_cut(r->store->name, &r->c[i], &r->want[i], &r->got[i]);
        equal = replies_equal(r->c[i].verb, &r->want[i], &r->got[i], NULL);
        if (!equal)
            runner_differs(r, i);
    }
    for (size_t i = 0; i < r->n; i++) {
        usher_result_done(&r->got[i]);
        noun->model->reply_done(&r->want[i]);
    }
    r->n = 0;
    if (!equal)
        fail();
}

static void audit_line(void *payload, const char *line)
{
    (void)payload;
    (void)fprintf(stderr, "%s\n", line);
}

static void runner_close(struct runner *r)
{
    struct usher_check_result found;

    if (r->e == NULL)
        return;
    runner_flush(r);
    assert_int_equal(usher_check(r->e, NULL, audit_line, NULL, &found), USHER_OK);
    assert_int_equal(found.faults, 0);
    usher_close(r->e);
    r->e = NULL;
}

static void runner_scope(struct runner *r)
{
    if (r->e == NULL || r->scopes == SCOPES_OPEN) {
        char url[STORE_URL_MAX];
        struct usher_options opt = USHER_OPTIONS_INIT;

        opt.clock_given = true;
        runner_close(r);
        if (!r->store->fresh(url) || usher_open(url, &opt, &r->e) != USHER_OK)
            fail_msg("%s: %s", r->store->name, usher_message());
        r->scopes = 0;
    }
    (void)snprintf(r->name, sizeof r->name, "p%u", r->scopes++);
}

/* To the scope at work, and to @m, whose answer is wanted.  @symbol, or else @c. */
static void runner_push(struct runner *r, const void *symbol, const struct usher_operation *c,
                        void *m)
{
    char *own;

    if (r->n == BATCH)
        runner_flush(r);
    own = r->symbols + r->n * noun->model->command_size;
    if (symbol != NULL) {
        memcpy(own, symbol, noun->model->command_size);
        r->c[r->n] = resolved(own, m);
    } else {
        r->c[r->n] = *c;
    }
    noun->model->execute(m, &r->c[r->n], &r->want[r->n]);
    memcpy(r->names[r->n], r->name, sizeof r->name);
    r->c[r->n].scope.data = r->names[r->n];
    r->c[r->n].scope.size = strlen(r->name);
    r->n++;
}

static void runner_look(struct runner *r, void *m)
{
    struct usher_operation c = noun->look(r->looks++);

    c.given |= USHER_GIVEN_NOW;
    c.now_ms = clock_of(m);
    runner_push(r, NULL, &c, m);
}

/* In a fresh scope to state @i; the model that came along. */
static void *runner_walk(struct runner *r, size_t i)
{
    void *m = noun->model->open(NULL, NULL);
    const struct world *w = r->world;
    size_t way[WAY], n = way_to(w, i, way);

    runner_scope(r);
    for (size_t k = 0; k < w->n_first; k++)
        runner_push(r, NULL, &w->first[k], m);
    while (n-- > 0)
        runner_push(r, symbol_at(w, way[n]), NULL, m);
    return m;
}

/* The commands of a world as they are tried. */
struct trial {
    const struct world *w;
    bool *seen;     /* by state: those that change nothing have been tried */
    size_t *cursor; /* by state: symbols below it that change something have been tried */
    uint64_t tried;
};

/* Walk from state @s on, in one scope: in a new state all commands that change nothing, then one
 * command that changes something and was not tried there, and so on from the state it leads to. */
static void tour(struct runner *r, struct trial *t, size_t s)
{
    const struct world *w = t->w;
    void *m;
    char key[EXHAUSTIVE_KEY];
    size_t *at;

    r->state = s;
    m = runner_walk(r, s);
    for (unsigned steps = 0; steps < TOUR; steps++) {
        const bool *changes = w->states[s].changes;

        r->state = s;
        for (size_t k = 0; k < w->n_symbols && !t->seen[s]; k++)
            if (!changes[k]) {
                runner_push(r, symbol_at(w, k), NULL, m);
                t->tried++;
            }
        t->seen[s] = true;
        while (t->cursor[s] < w->n_symbols && !changes[t->cursor[s]])
            t->cursor[s]++;
        if (t->cursor[s] == w->n_symbols)
            break;
        runner_push(r, symbol_at(w, t->cursor[s]++), NULL, m);
        runner_look(r, m);
        t->tried++;
        noun->key(w->i, m, key);
        at = place(w, key);
        if (*at == 0)
            break; /* where it matters what the key leaves out: see there */
        s = *at - 1;
    }
    noun->model->close(m);
}

static double seconds(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Every command from every state of @w, until @end (0: to the end): how many were tried. */
static uint64_t try_world(struct runner *r, const struct world *w, double end)
{
    struct trial t = { w, calloc(w->n, sizeof *t.seen), calloc(w->n, sizeof *t.cursor), 0 };
    /* a prime that does not divide the number: every state once, in a mixed order */
    size_t stride = w->n % 7919 != 0 ? 7919 : 7907, at = 0;

    assert_non_null(t.seen);
    assert_non_null(t.cursor);
    r->world = w;
    for (size_t i = 0; i < w->n; i++, at = (at + stride) % w->n)
        while (t.cursor[at] < w->n_symbols && (end <= 0 || t.tried == 0 || seconds() < end))
            tour(r, &t, at);
    runner_flush(r);
    free(t.seen);
    free(t.cursor);
    return t.tried;
}

/* In seconds, 0: as long as it takes. */
static double limit_of(double given)
{
    if (budget_long())
        return 0;
    /* A slow build, such as a sanitizer's, has time for a part only; other builds test the whole.
     */
    if (budget_slow() && (given <= 0 || given > 8))
        return 8;
    return budget_short() ? given / 2 : given;
}

static void try_store(const char *name, double seconds_given)
{
    struct runner *r = calloc(1, sizeof *r);
    double limit = limit_of(seconds_given);
    double start = seconds();
    uint64_t tried = 0, n = 0;

    assert_non_null(r);
    r->store = stores_named(name);
    if (r->store == NULL) {
        free(r);
        stores_skip(name);
    }
    r->symbols = calloc(BATCH, noun->model->command_size);
    assert_non_null(r->symbols);
    for (unsigned k = 0; k < noun->n_worlds; k++) {
        if (!takes_part(k))
            continue;
        n += worlds[k].commands;
        tried +=
            try_world(r, &worlds[k],
                      limit > 0 ? start + limit * (double)(k + 1) / (double)noun->n_worlds : 0);
    }
    runner_close(r);
    print_message("%s: %" PRIu64 " of %" PRIu64 " commands, %.1f s\n", name, tried, n,
                  seconds() - start);
    assert_true(r->notices > 0);
    if (limit <= 0)
        assert_int_equal(tried, n);
    free(r->symbols);
    free(r);
}

static void every_state_in_memory(void **state)
{
    (void)state;
    try_store("memory", 0);
}

#ifdef USHER_WITH_SQLITE
static void states_in_sqlite(void **state)
{
    (void)state;
    try_store("sqlite", noun->seconds_sqlite);
}
#endif

#ifdef USHER_WITH_REDIS
static void states_in_redis(void **state)
{
    (void)state;
    try_store("redis", noun->seconds_redis);
}
#endif

static int set_up(void **state)
{
    (void)state;
    worlds = calloc(noun->n_worlds, sizeof *worlds);
    assert_non_null(worlds);
    for (unsigned i = 0; i < noun->n_worlds; i++)
        if (takes_part(i))
            explore(&worlds[i], i);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (unsigned i = 0; i < noun->n_worlds; i++) {
        for (size_t k = 0; k < worlds[i].n; k++)
            free(worlds[i].states[k].changes);
        free(worlds[i].states);
        free(worlds[i].alphabet);
        free(worlds[i].table);
    }
    free(worlds);
    return 0;
}

int exhaustive_main(const struct exhaustive *of, int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_model_keeps_its_invariants),
        cmocka_unit_test(every_state_in_memory),
#ifdef USHER_WITH_SQLITE
        cmocka_unit_test(states_in_sqlite),
#endif
#ifdef USHER_WITH_REDIS
        cmocka_unit_test(states_in_redis),
#endif
    };
    int rc;

    noun = of;
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    rc = stores_start();
    if (rc == 0)
        rc = cmocka_run_group_tests_name(noun->name, tests, set_up, tear_down);
    stores_stop();
    return rc;
}
