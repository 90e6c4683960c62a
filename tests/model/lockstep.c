/* SPDX-License-Identifier: MIT */
/* See lockstep.h. */
#include "lib/test.h"

#include "model/lockstep.h"

#include "core/text.h"
#include "core/verbs.h"
#include "lib/hooks.h"
#include "lib/stores.h"
#include "lib/util.h"
#include "model/compare.h"
#include "model/gen.h"

#define BATCH_MAX 64
#define SCOPES_MAX 8
#define SHRINK_SECONDS 30

static const struct lockstep *noun;

/* ---- notices ----------------------------------------------------------------------- */

struct notice_copy {
    struct usher_notice n;
    char scope[USHER_NAME_MAX], subject[USHER_NAME_MAX], owner[USHER_NAME_MAX];
    char *data;
};

struct notice_list {
    struct notice_copy *all;
    size_t n, room;
    size_t lost; /* notices of what was answered USHER_LOST: in no order with the others */
};

static void keep(struct usher_text *t, char to[USHER_NAME_MAX])
{
    if (t->size > 0)
        memcpy(to, t->data, t->size);
    t->data = NULL; /* the array may move: see notice_at() */
}

static void take_notice(void *payload, const struct usher_notice *notice)
{
    struct notice_list *h = payload;
    struct usher_notice one;
    struct notice_copy *at;
    size_t from = 0;

    if (notice->verb == USHER_ROOM_PRESENCE) {
        while (usher_room_presence(notice, &from, &one))
            take_notice(payload, &one);
        return;
    }
    if (notice->verb == USHER_NOTICE_LOST) {
        h->lost++;
        return;
    }
    if (h->n == h->room) {
        h->room = h->room * 2 + 64;
        h->all = realloc(h->all, h->room * sizeof *h->all);
        if (h->all == NULL)
            abort();
    }
    at = &h->all[h->n++];
    at->n = *notice;
    keep(&at->n.scope, at->scope);
    keep(&at->n.subject, at->subject);
    keep(&at->n.owner, at->owner);
    at->data = malloc(notice->data.size + 1);
    if (at->data == NULL)
        abort();
    if (notice->data.size > 0)
        memcpy(at->data, notice->data.data, notice->data.size);
}

static void forget(struct notice_list *h)
{
    for (; h->n > 0; h->n--)
        free(h->all[h->n - 1].data);
}

/* The notice of @scope at or after *@i; false: no more. */
static bool notice_at(const struct notice_list *h, const char *scope, size_t *i,
                      struct usher_notice *ret)
{
    for (; *i < h->n; ++*i) {
        const struct notice_copy *at = &h->all[*i];

        if (at->n.scope.size != strlen(scope) || memcmp(at->scope, scope, strlen(scope)) != 0)
            continue;
        *ret = at->n;
        ret->scope.data = at->scope;
        ret->subject.data = at->subject;
        ret->owner.data = at->owner;
        ret->data.data = at->data;
        ++*i;
        return true;
    }
    return false;
}

/* ---- a run ------------------------------------------------------------------------- */

struct target {
    const struct test_store *store;
    struct usher_engine *e, *twin; /* twin: a second one on the same store, or NULL */
    struct usher_watcher *watch, *twin_watch;
    struct notice_list notices; /* of both: commands are one after the other */
    struct hooks hooks;
    bool twins_turn;
    uint64_t epochs[SCOPES_MAX], of_model[SCOPES_MAX]; /* of the scopes, as last seen */
};

struct world {
    uint64_t seed;
    void *gen;
    char *commands; /* of noun->model->command_size each */
    size_t n;
    size_t batch;        /* commands of one usher_operate() */
    size_t digest_every; /* batches */
    bool watched;
    bool hooked; /* with an allocator, a trace and a log that look closely */
    bool twins;  /* every other batch goes to a second engine, where stores are shared */
};

static char *command_at(char *list, size_t i)
{
    return list + i * noun->model->command_size;
}

static void commands_copy(char *to, const char *from, size_t n)
{
    if (n > 0)
        memcpy(to, from, n * noun->model->command_size);
}

static void say(FILE *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(FILE *f, const char *format, ...)
{
    va_list args;

    if (f == NULL)
        return;
    va_start(args, format);
    (void)vfprintf(f, format, args);
    va_end(args);
}

/* False: memory was not given back. */
static bool targets_close(struct target *t, FILE *f)
{
    bool right = true;

    for (unsigned i = 0; i < n_stores; i++) {
        const char *fault;

        if (t[i].watch != NULL)
            usher_unwatch(t[i].e, t[i].watch);
        if (t[i].twin_watch != NULL)
            usher_unwatch(t[i].twin, t[i].twin_watch);
        usher_close(t[i].twin);
        usher_close(t[i].e);
        forget(&t[i].notices);
        free(t[i].notices.all);
        fault = hooks_fault(&t[i].hooks);
        if (fault != NULL) {
            say(f, "%s: %s\n", stores[i].name, fault);
            right = false;
        }
    }
    return right;
}

static bool watch(const struct world *w, struct target *t, struct usher_engine *e,
                  struct usher_watcher **ret)
{
    return !w->watched ||
           usher_watch(e, noun->model->noun, NULL, take_notice, &t->notices, ret) == USHER_OK;
}

static bool targets_open(const struct world *w, struct target *t, FILE *f)
{
    memset(t, 0, STORES_MAX * sizeof *t);
    for (unsigned i = 0; i < n_stores; i++) {
        char url[STORE_URL_MAX];
        struct usher_options opt = USHER_OPTIONS_INIT;

        opt.clock_given = true;
        t[i].store = &stores[i];
        if (w->hooked)
            hooks_set(&t[i].hooks, &opt);
        if (!stores[i].fresh(url) || usher_open(url, &opt, &t[i].e) != USHER_OK ||
            !watch(w, &t[i], t[i].e, &t[i].watch) ||
            (w->twins && strcmp(stores[i].name, "memory") != 0 &&
             (usher_open(url, &opt, &t[i].twin) != USHER_OK ||
              !watch(w, &t[i], t[i].twin, &t[i].twin_watch)))) {
            say(f, "%s: cannot be opened: %s\n", stores[i].name, usher_message());
            return false;
        }
    }
    return true;
}

/* *@ret_waiting is set if @t has yet to send some of them. */
static bool same_notices(const struct world *w, const struct target *t,
                         const struct notice_list *model, bool *ret_waiting, FILE *f)
{
    if (t->notices.lost != model->lost) {
        say(f, "%s reports a loss %zu times, and the model %zu times\n", t->store->name,
            t->notices.lost, model->lost);
        return false;
    }
    for (unsigned k = 0; k < noun->gen_scopes(w->gen); k++) {
        size_t i = 0, j = 0;

        for (;;) {
            struct usher_notice a, b;
            bool has_a = notice_at(model, noun->gen_scope(w->gen, k), &i, &a);
            bool has_b = notice_at(&t->notices, noun->gen_scope(w->gen, k), &j, &b);

            if (!has_a && !has_b)
                break;
            if (has_a && a.until_ms == 0) /* a model, like a store, has no other word for none */
                a.until_ms = USHER_NONE;
            if (has_a && !has_b && a.wait_ms > 0) {
                *ret_waiting = true; /* to be coalesced with later ones */
                continue;
            }
            if (has_a && has_b && notices_equal(&a, &b, NULL))
                continue;
            say(f, "notices of the model and of %s differ\n", t->store->name);
            if (f != NULL && has_a && has_b)
                (void)notices_equal(&a, &b, f);
            if (f != NULL && has_a)
                notice_print(f, &a);
            if (f != NULL && has_b)
                notice_print(f, &b);
            return false;
        }
    }
    return true;
}

static bool same_digests(const struct world *w, const struct target *t, FILE *f)
{
    for (unsigned k = 0; k < noun->gen_scopes(w->gen); k++) {
        char first[33], other[33];

        for (unsigned i = 0; i < n_stores; i++) {
            if (usher_digest(t[i].e, noun->model->noun, noun->gen_scope(w->gen, k),
                             i == 0 ? first : other) != USHER_OK) {
                say(f, "%s: no digest: %s\n", t[i].store->name, usher_message());
                return false;
            }
            if (i > 0 && strcmp(first, other) != 0) {
                say(f, "digests of scope %u: %s %s, %s %s\n", k, t[0].store->name, first,
                    t[i].store->name, other);
                return false;
            }
        }
    }
    return true;
}

/* One epoch as long as the model has one, and then another one. */
static bool same_epoch(const struct world *w, struct target *t, const struct usher_operation *c,
                       const struct usher_result *model, const struct usher_result *r)
{
    for (unsigned k = 0; k < noun->gen_scopes(w->gen); k++) {
        const char *name = noun->gen_scope(w->gen, k);

        if (r->epoch == 0 || c->scope.size != strlen(name) ||
            memcmp(c->scope.data, name, c->scope.size) != 0)
            continue;
        if ((t->epochs[k] == r->epoch) != (t->of_model[k] == model->epoch))
            return false;
        t->epochs[k] = r->epoch;
        t->of_model[k] = model->epoch;
    }
    return true;
}

static void audit_line(void *payload, const char *line)
{
    say(payload, "    %s\n", line);
}

static bool all_audits_clean(const struct target *t, FILE *f)
{
    for (unsigned i = 0; i < n_stores; i++) {
        uint64_t faults = 0;

        if (check_faults(t[i].e, audit_line, f, &faults) != USHER_OK) {
            say(f, "%s: no audit: %s\n", t[i].store->name, usher_message());
            return false;
        }
        if (faults != 0) {
            say(f, "%s: the audit found faults\n", t[i].store->name);
            return false;
        }
    }
    return true;
}

/* The epoch that @c gives, which is one of the model's, as the store has it: another one than that
 * of the scope becomes one that no scope has. */
static struct usher_text *epoch_in(struct usher_operation *c)
{
    size_t at = usher__noun((unsigned)noun->model->noun)->epoch_at;

    return at != 0 ? (struct usher_text *)(void *)((char *)c + at) : NULL;
}

static bool has_epoch(const struct usher_operation *c)
{
    const struct usher_text *epoch = epoch_in((struct usher_operation *)(uintptr_t)c);

    return epoch != NULL && epoch->data != NULL &&
           usher__epoch_fault(epoch->data, epoch->size) == NULL;
}

static void own_epoch(const struct world *w, const struct target *t, struct usher_operation *c,
                      char to[17])
{
    struct usher_text *epoch = epoch_in(c);
    uint64_t of_model = strtoull(epoch->data, NULL, 16), own = UINT64_MAX;

    for (unsigned k = 0; k < noun->gen_scopes(w->gen); k++)
        if (c->scope.size == strlen(noun->gen_scope(w->gen, k)) &&
            memcmp(c->scope.data, noun->gen_scope(w->gen, k), c->scope.size) == 0 &&
            t->epochs[k] != 0 && t->of_model[k] == of_model)
            own = t->epochs[k];
    (void)snprintf(to, 17, "%016" PRIx64, own);
    epoch->data = to;
}

/* The messages of the first store to the commands of a batch. */
static char by_first[BATCH_MAX][sizeof((struct usher_result *)NULL)->message];

/* Some commands of a batch on one store, compared with what the model answered: the index of the
 * first one that is answered otherwise, or @n. */
static size_t run_some(const struct world *w, struct target *t,
                       const struct usher_operation *commands, const struct usher_result *model,
                       char (*said)[sizeof *by_first], size_t n, FILE *f)
{
    static struct usher_result replies[BATCH_MAX];
    struct usher_engine *e = t->twin != NULL && t->twins_turn ? t->twin : t->e;
    struct usher_operation own;
    char epoch[17];
    size_t bad = n;

    t->twins_turn = !t->twins_turn;
    own = commands[0];
    if (has_epoch(&own)) {
        own_epoch(w, t, &own, epoch);
        commands = &own;
    }
    if (usher_operate(e, commands, replies, n) == USHER_INVALID) {
        say(f, "%s: usher_operate() refuses: %s\n", t->store->name, usher_message());
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        queue_history_cut(t->store->name, &commands[i], &model[i], &replies[i]);
        if (bad == n && (!replies_equal(commands[i].verb, &model[i], &replies[i], NULL) ||
                         !same_epoch(w, t, &commands[i], &model[i], &replies[i]))) {
            bad = i;
            say(f, "answers of the model and of %s differ (or an epoch changed)\n", t->store->name);
            if (f != NULL) {
                (void)replies_equal(commands[i].verb, &model[i], &replies[i], f);
                say(f, "  the model:\n");
                reply_print(f, commands[i].verb, &model[i]);
                say(f, "  %s:\n", t->store->name);
                reply_print(f, commands[i].verb, &replies[i]);
            }
        }
        if (t->store == stores) {
            memcpy(said[i], replies[i].message, sizeof said[i]);
        } else if (bad == n && replies[i].status < USHER_INVALID &&
                   strcmp(said[i], replies[i].message) != 0) {
            bad = i;
            say(f, "%s says `%s`, but %s `%s`\n", stores[0].name, said[i], t->store->name,
                replies[i].message);
        }
        usher_result_done(&replies[i]);
    }
    return bad;
}

/* A command with an epoch goes alone: an answer to an earlier command may be the first with that
 * epoch. */
static size_t run_batch(const struct world *w, struct target *t,
                        const struct usher_operation *commands, const struct usher_result *model,
                        size_t n, FILE *f)
{
    for (size_t from = 0, k; from < n; from += k) {
        size_t i;

        for (k = 1; from + k < n && !has_epoch(&commands[from]) && !has_epoch(&commands[from + k]);)
            k++;
        i = run_some(w, t, commands + from, model + from, by_first + from, k, f);
        if (i < k)
            return from + i;
    }
    return n;
}

/* Do histories and figures add up? */
static bool sums_right(const void *m, FILE *f)
{
    const char *wrong = noun->model->sums != NULL ? noun->model->sums(m) : NULL;

    if (wrong != NULL)
        say(f, "it does not add up that %s\n", wrong);
    return wrong == NULL;
}

/* After a walk: compare the histories and statistics of the stores with the model's. */
static bool last_looks_same(const struct world *w, struct target *t, void *m, FILE *f)
{
    static struct usher_operation c;
    struct usher_result model;
    bool same = true;

    for (unsigned k = 0; noun->last_look != NULL && same && k < noun->gen_scopes(w->gen); k++)
        for (unsigned i = 0; same && noun->last_look(w->gen, k, i, &c); i++) {
            noun->model->execute(m, &c, &model);
            for (unsigned s = 0; same && s < n_stores; s++)
                same = run_batch(w, &t[s], &c, &model, 1, f) == 1;
            noun->model->reply_done(&model);
        }
    return same;
}

/* Returns the index of the command at which something was wrong, or @n. */
static size_t run(const struct world *w, char *list, size_t n, size_t batch, FILE *f)
{
    static struct usher_operation commands[BATCH_MAX];
    static struct usher_result model[BATCH_MAX];
    struct target targets[STORES_MAX];
    struct notice_list notices = { NULL, 0, 0, 0 };
    void *m = noun->model->open(w->watched ? take_notice : NULL, &notices);
    size_t bad = n, batches = 0;

    if (!targets_open(w, targets, f)) {
        (void)targets_close(targets, f);
        noun->model->close(m);
        return 0;
    }
    for (size_t at = 0, k; at < n && bad == n; at += k) {
        bool waiting = false;

        k = n - at < batch ? n - at : batch;
        for (size_t i = 0; i < k; i++) {
            const char *fault;

            commands[i] = noun->model->resolve(m, command_at(list, at + i));
            noun->model->execute(m, &commands[i], &model[i]);
            notices.lost += model[i].status == USHER_LOST;
            fault = noun->model->fault(m);
            if (fault != NULL && bad == n) {
                say(f, "the model is wrong, for %s\n", fault);
                bad = at + i;
            }
        }
        for (unsigned s = 0; s < n_stores && bad == n; s++) {
            size_t i = run_batch(w, &targets[s], commands, model, k, f);

            if (i < k)
                bad = at + i;
            else if (w->watched && !same_notices(w, &targets[s], &notices, &waiting, f))
                bad = at + k - 1;
        }
        for (size_t i = 0; i < k; i++)
            noun->model->reply_done(&model[i]);
        if (!waiting) {
            forget(&notices);
            for (unsigned s = 0; s < n_stores; s++)
                forget(&targets[s].notices);
        }
        if (bad == n && ++batches % w->digest_every == 0 &&
            (!same_digests(w, targets, f) || !sums_right(m, f)))
            bad = at + k - 1;
    }
    if (bad == n && n > 0 &&
        (!sums_right(m, f) || !last_looks_same(w, targets, m, f) || !same_digests(w, targets, f) ||
         !all_audits_clean(targets, f)))
        bad = n - 1;
    if (!targets_close(targets, f) && bad == n && n > 0)
        bad = n - 1;
    noun->model->close(m);
    forget(&notices);
    free(notices.all);
    return bad;
}

/* ---- smaller and smaller ----------------------------------------------------------- */

static void print_commands(const struct world *w, char *list, size_t from, size_t to, FILE *f)
{
    void *m = noun->model->open(NULL, NULL);

    (void)w;
    for (size_t i = 0; i < to; i++) {
        struct usher_operation c = noun->model->resolve(m, command_at(list, i));
        struct usher_result r;

        noun->model->execute(m, &c, &r);
        if (i >= from) {
            say(f, "  ");
            gen_print(f, &c);
            say(f, "    # %s\n", usher_status_word(r.status));
        }
        noun->model->reply_done(&r);
    }
    noun->model->close(m);
}

static void shrink(const struct world *w, size_t bad, FILE *f)
{
    size_t n = bad + 1, batch = 1, chunk;
    char *now = calloc(n, noun->model->command_size), *less = calloc(n, noun->model->command_size);
    time_t end = time(NULL) + SHRINK_SECONDS;

    if (now == NULL || less == NULL)
        abort();
    commands_copy(now, w->commands, n);
    bad = run(w, now, n, 1, NULL);
    if (bad == n) {
        batch = w->batch;
        bad = run(w, now, n, batch, NULL);
    }
    if (bad == n) {
        say(f, "it does not fail again\n");
        free(now);
        free(less);
        return;
    }
    n = bad + 1;
    for (chunk = n / 2 > 0 ? n / 2 : 1; time(NULL) < end;) {
        bool smaller = false;

        for (size_t at = 0; at < n && time(NULL) < end;) {
            size_t cut = n - at < chunk ? n - at : chunk, left = n - cut;

            commands_copy(less, now, at);
            commands_copy(command_at(less, at), command_at(now, at + cut), left - at);
            bad = left > 0 ? run(w, less, left, batch, NULL) : left;
            if (bad < left) { /* still fails without them, perhaps earlier */
                n = bad + 1;
                commands_copy(now, less, n);
                smaller = true;
            } else {
                at += cut;
            }
        }
        if (!smaller && chunk == 1)
            break;
        if (!smaller || chunk > n)
            chunk = chunk > 1 ? chunk / 2 : 1;
    }
    say(f, "\n%zu commands that fail, %zu at once:\n", n, batch);
    print_commands(w, now, 0, n, f);
    (void)run(w, now, n, batch, f);
    free(now);
    free(less);
}

/* ---- worlds ------------------------------------------------------------------------ */

static void world_open(struct world *w, uint64_t seed)
{
    struct rng r;

    rng_seed(&r, ~seed);
    w->seed = seed;
    w->gen = noun->gen_open(seed);
    if (rng_chance(&r, 60)) {
        w->n = 20 + (size_t)rng_below(&r, 200);
        w->batch = 1;
        w->digest_every = 1;
    } else {
        w->n = 2000;
        w->batch = 1 + (size_t)rng_below(&r, BATCH_MAX);
        w->digest_every = 4;
    }
    w->commands = calloc(w->n, noun->model->command_size);
    if (w->commands == NULL)
        abort();
    for (size_t i = 0; i < w->n; i++)
        noun->gen_next(w->gen, command_at(w->commands, i));
    w->watched = rng_chance(&r, noun->watched);
    w->hooked = rng_chance(&r, 30);
    /* each engine delays the notices of its own watchers of rooms: not in one order */
    w->twins = noun->model->noun != USHER_ROOM && rng_chance(&r, 30);
}

static void world_close(struct world *w)
{
    free(w->commands);
    noun->gen_close(w->gen);
}

static void all_stores_answer_like_the_model(void **state)
{
    uint64_t seed = number_from("USHER_SEED", noun->seed), steps = 0;
    uint64_t most = budget_of("USHER_STEPS", budget_long() ? noun->steps_long : noun->steps);
    unsigned worlds = 0;

    (void)state;
    for (; steps < most; seed++, worlds++) {
        struct world w;
        size_t bad;

        world_open(&w, seed);
        bad = run(&w, w.commands, w.n, w.batch, NULL);
        if (bad < w.n) {
            (void)fprintf(stderr,
                          "\nUSHER_SEED=%" PRIu64 " (%s; batches of %zu%s%s%s): command %zu:\n",
                          seed, noun->gen_about(w.gen), w.batch, w.watched ? ", watched" : "",
                          w.hooked ? ", with hooks" : "", w.twins ? ", by two engines" : "", bad);
            (void)run(&w, w.commands, w.n, w.batch, stderr);
            (void)fprintf(stderr, "the last commands up to it:\n");
            print_commands(&w, w.commands, bad >= 19 ? bad - 19 : 0, bad + 1, stderr);
            shrink(&w, bad, stderr);
            world_close(&w);
            fail();
        }
        steps += w.n;
        world_close(&w);
    }
    print_message("%u worlds, %" PRIu64 " commands on each of %u stores:", worlds, steps, n_stores);
    for (unsigned i = 0; i < n_stores; i++)
        print_message(" %s", stores[i].name);
    print_message("\n");
}

/* Without it the worlds above are only half of the test. */
static void redis_takes_part(void **state)
{
    (void)state;
    if (stores_named("redis") == NULL)
        stores_skip("redis");
}

int lockstep_main(const struct lockstep *of)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_stores_answer_like_the_model),
        cmocka_unit_test(redis_takes_part),
    };
    int rc;

    noun = of;
    rc = stores_start();
    if (rc != 0)
        return rc;
    print_message("USHER_SEED=%" PRIu64 "\n", number_from("USHER_SEED", noun->seed));
    rc = cmocka_run_group_tests_name(noun->name, tests, NULL, NULL);
    stores_stop();
    return rc;
}
