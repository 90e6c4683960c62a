/* SPDX-License-Identifier: MIT */
/*
 * All stores get the same commands of every noun (random_commands.h) and must return the same
 * answers.  There is no model, so verbs that no model has are compared as well.
 *
 * Invariants, by name:
 *   answers   each store answers each command as the first one does, but for epochs.
 *   notices   a watcher gets the same notices of each scope.
 *   digests   all stores have the same digest of each scope.
 *   audit     no store has a fault in the end.
 *
 * World i of a run has the seed USHER_SEED + i (and with USHER_NOUNS, bits, only these nouns).  A
 * failing world is made smaller and printed in the words of the command line.
 *
 * With USHER_DIGESTS=FILE the program only runs USHER_STEPS commands of each noun, and writes a
 * line to FILE for each world: hashes of its commands, answers, notices and last states
 * (tests/yardstick.sh).
 */
#include "lib/test.h"

#include "core/verbs.h"
#include "lib/stores.h"
#include "lib/util.h"
#include "model/random_commands.h"
#include "model/compare.h"
#include "model/gen.h"

#define NOUNS 7
#define BATCH_MAX 64
#define SHRINK_SECONDS 20

struct world {
    struct random_options opt;
    struct random_command **commands;
    size_t n, batch, digest_every;
};

/* The notices of one scope, one after the other. */
struct notice_text {
    FILE *f;
    char *text;
    size_t size, seen;
    uint64_t epoch;
    unsigned epochs; /* the number of epochs so far */
};

struct target {
    const struct test_store *store;
    struct usher_engine *e;
    struct usher_watcher *watch;
    struct random_listener ear;
    uint64_t lost; /* notices of what was answered USHER_LOST */
    struct notice_text notices[NOUNS][RANDOM_SCOPES];
};

static void text_put(FILE *f, const struct usher_text *t)
{
    (void)fprintf(f, " %zu:", t->size);
    if (t->size > 0)
        (void)fwrite(t->data, 1, t->size, f);
}

static void take_notice(void *payload, const struct usher_notice *n)
{
    struct target *t = payload;

    if (n->verb == USHER_NOTICE_LOST) { /* in no order with the changes of its batch */
        t->lost++;
        return;
    }
    for (unsigned i = 0; i < RANDOM_SCOPES; i++) {
        const char *scope = random_scope(n->noun, i);
        FILE *f = t->notices[n->noun][i].f;

        if (n->scope.size != strlen(scope) || memcmp(n->scope.data, scope, n->scope.size) != 0)
            continue;
        if (t->notices[n->noun][i].epoch != n->epoch) {
            t->notices[n->noun][i].epoch = n->epoch;
            t->notices[n->noun][i].epochs++;
        }
        (void)fprintf(f,
                      "epoch %u version %" PRIu64 " %s %d-%d token %" PRIu64 " until %" PRId64
                      " now %" PRId64,
                      t->notices[n->noun][i].epochs, n->version, usher_verb_word(n->verb), n->from,
                      n->to, n->token, n->until_ms, n->now_ms);
        text_put(f, &n->subject);
        text_put(f, &n->owner);
        text_put(f, &n->data);
        (void)fputc('\n', f);
    }
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

static void targets_close(struct target *targets)
{
    for (unsigned i = 0; i < n_stores; i++) {
        struct target *t = &targets[i];

        if (t->watch != NULL)
            usher_unwatch(t->e, t->watch);
        usher_close(t->e);
        for (unsigned noun = 0; noun < NOUNS; noun++) {
            for (unsigned k = 0; k < RANDOM_SCOPES; k++) {
                if (t->notices[noun][k].f != NULL)
                    (void)fclose(t->notices[noun][k].f);
                free(t->notices[noun][k].text);
            }
        }
    }
}

static bool targets_open(struct target *targets, FILE *f)
{
    memset(targets, 0, STORES_MAX * sizeof *targets);
    for (unsigned i = 0; i < n_stores; i++) {
        struct target *t = &targets[i];
        struct usher_options opt = USHER_OPTIONS_INIT;
        char url[STORE_URL_MAX];

        opt.clock_given = true;
        t->store = &stores[i];
        for (unsigned noun = 1; noun < NOUNS; noun++) {
            for (unsigned k = 0; k < RANDOM_SCOPES; k++) {
                t->notices[noun][k].f =
                    open_memstream(&t->notices[noun][k].text, &t->notices[noun][k].size);
                if (t->notices[noun][k].f == NULL)
                    abort();
            }
        }
        if (!stores[i].fresh(url) || usher_open(url, &opt, &t->e) != USHER_OK ||
            usher_watch(t->e, (enum usher_noun)0, NULL, take_notice, t, &t->watch) != USHER_OK) {
            say(f, "%s: cannot be opened: %s\n", stores[i].name, usher_message());
            return false;
        }
    }
    return true;
}

static bool notices_same(struct target *targets, unsigned with, FILE *f)
{
    if (targets[0].lost != targets[with].lost) {
        say(f, "%s tells %" PRIu64 " times that something is lost, %s %" PRIu64 " times\n",
            targets[0].store->name, targets[0].lost, targets[with].store->name, targets[with].lost);
        return false;
    }
    for (unsigned noun = 1; noun < NOUNS; noun++) {
        for (unsigned k = 0; k < RANDOM_SCOPES; k++) {
            struct notice_text *a = &targets[0].notices[noun][k],
                               *b = &targets[with].notices[noun][k];
            size_t from = b->seen;

            (void)fflush(a->f);
            (void)fflush(b->f);
            b->seen = b->size;
            if (a->size == b->size && memcmp(a->text + from, b->text + from, a->size - from) == 0)
                continue;
            say(f, "notices of %s: %s:\n%s  %s:\n%s", random_scope((enum usher_noun)noun, k),
                targets[0].store->name, a->text + from, targets[with].store->name, b->text + from);
            return false;
        }
    }
    return true;
}

static bool digests_same(struct target *targets, FILE *f)
{
    for (unsigned noun = 1; noun < NOUNS; noun++) {
        for (unsigned k = 0; k < RANDOM_SCOPES; k++) {
            char first[33], other[33];

            for (unsigned i = 0; i < n_stores; i++) {
                if (usher_digest(targets[i].e, (enum usher_noun)noun,
                                 random_scope((enum usher_noun)noun, k),
                                 i == 0 ? first : other) != USHER_OK) {
                    say(f, "%s: no digest: %s\n", stores[i].name, usher_message());
                    return false;
                }
                if (i > 0 && strcmp(first, other) != 0) {
                    say(f, "digests of %s: %s %s, %s %s\n", random_scope((enum usher_noun)noun, k),
                        stores[0].name, first, stores[i].name, other);
                    return false;
                }
            }
        }
    }
    return true;
}

static void audit_line(void *payload, const char *line)
{
    say(payload, "    %s\n", line);
}

static bool audits_clean(struct target *targets, FILE *f)
{
    for (unsigned i = 0; i < n_stores; i++) {
        uint64_t faults = 0;

        if (check_faults(targets[i].e, audit_line, f, &faults) != USHER_OK || faults != 0) {
            say(f, "%s: %" PRIu64 " faults: %s\n", stores[i].name, faults, usher_message());
            return false;
        }
    }
    return true;
}

/* The @n commands on @t. */
static bool batch_run(struct target *t, struct random_command **list, size_t n,
                      struct usher_result *replies, FILE *f)
{
    static struct usher_operation commands[BATCH_MAX];

    for (size_t i = 0; i < n; i++) {
        random_resolve(list[i], &t->ear);
        commands[i] = list[i]->c;
    }
    if (usher_operate(t->e, commands, replies, n) == USHER_INVALID) {
        say(f, "%s: usher_operate() refuses: %s\n", t->store->name, usher_message());
        return false;
    }
    for (size_t i = 0; i < n; i++)
        random_listen(&t->ear, &commands[i], &replies[i]);
    return true;
}

/* In a batch: the last version of watchers, which a heartbeat returns, depends on the number of
 * later commands that the engine gives to the store with it. */
static void heartbeat_cut(const struct usher_operation *c, size_t n,
                          const struct usher_result *first, struct usher_result *other)
{
    if (c->verb != USHER_ROOM_ALIVE || n == 1 || other->of.room.since > other->version)
        return;
    other->of.room.since = first->of.room.since;
    other->of.room.mark = first->of.room.mark;
}

/* The hashes of one world, for USHER_DIGESTS. */
static struct {
    FILE *f; /* NULL: nothing is hashed */
    uint64_t commands, answers, notices, states;
} digest;

static uint64_t text_hash(uint64_t hash, FILE *f, char **text, size_t *size)
{
    (void)fclose(f);
    hash = gen_hash(hash, *text, *size);
    free(*text);
    return hash;
}

static void batch_hash(struct random_command **list, size_t n, const struct usher_result *replies)
{
    char *text = NULL;
    size_t size = 0;

    for (size_t i = 0; i < n; i++) {
        FILE *f = open_memstream(&text, &size);

        if (f == NULL)
            abort();
        if (!list[i]->epoch) /* which every store draws for itself */
            gen_print(f, &list[i]->c);
        digest.commands = text_hash(digest.commands, f, &text, &size);
        f = open_memstream(&text, &size);
        if (f == NULL)
            abort();
        random_print(f, &list[i]->c, &replies[i], SIZE_MAX);
        digest.answers = text_hash(digest.answers, f, &text, &size);
    }
}

/* All stores have sent the same notices, and have the same digests. */
static void end_hash(struct target *t)
{
    for (unsigned noun = 1; noun < NOUNS; noun++) {
        for (unsigned k = 0; k < RANDOM_SCOPES; k++) {
            struct notice_text *notices = &t->notices[noun][k];
            char state[33];

            if (usher_digest(t->e, (enum usher_noun)noun, random_scope((enum usher_noun)noun, k),
                             state) != USHER_OK)
                fail_msg("no digest: %s", usher_message());
            digest.states = gen_hash(digest.states, state, strlen(state));
            (void)fflush(notices->f);
            digest.notices = gen_hash(digest.notices, notices->text, notices->size);
        }
    }
}

static unsigned answered[NOUNS][64][USHER_NOMEM + 1]; /* by verb and status, by the first store */

/* The index of the command at which something was wrong, or @n. */
static size_t run(const struct world *w, struct random_command **list, size_t n, size_t batch,
                  FILE *f)
{
    static struct usher_result first[BATCH_MAX], replies[BATCH_MAX];
    struct target *targets = calloc(STORES_MAX, sizeof *targets);
    size_t bad = n, batches = 0;

    if (targets == NULL)
        abort();
    if (!targets_open(targets, f))
        bad = 0;
    for (size_t at = 0, k; at < n && bad == n; at += k) {
        k = n - at < batch ? n - at : batch;
        if (!batch_run(&targets[0], list + at, k, first, f)) {
            bad = at;
            break;
        }
        for (size_t i = 0; i < k; i++)
            answered[(unsigned)list[at + i]->c.verb >> 8][(unsigned)list[at + i]->c.verb & 63]
                    [first[i].status]++;
        if (digest.f != NULL)
            batch_hash(list + at, k, first);
        for (unsigned s = 1; s < n_stores && bad == n; s++) {
            if (!batch_run(&targets[s], list + at, k, replies, f)) {
                bad = at;
                break;
            }
            for (size_t i = 0; i < k; i++) {
                const struct usher_operation *c = &list[at + i]->c;

                queue_history_cut(stores[s].name, c, &first[i], &replies[i]);
                heartbeat_cut(c, k, &first[i], &replies[i]);
                if (bad == n && !random_same(c, &first[i], &replies[i], NULL)) {
                    bad = at + i;
                    say(f, "%s and %s answer otherwise:\n", stores[0].name, stores[s].name);
                    if (f != NULL)
                        (void)random_same(c, &first[i], &replies[i], f);
                }
                usher_result_done(&replies[i]);
            }
            if (bad == n && !notices_same(targets, s, f))
                bad = at + k - 1;
        }
        for (size_t i = 0; i < k; i++)
            usher_result_done(&first[i]);
        if (bad == n && ++batches % w->digest_every == 0 && !digests_same(targets, f))
            bad = at + k - 1;
    }
    if (bad == n && n > 0 && (!digests_same(targets, f) || !audits_clean(targets, f)))
        bad = n - 1;
    if (bad == n && digest.f != NULL)
        end_hash(&targets[0]);
    targets_close(targets);
    free(targets);
    return bad;
}

static void commands_print(struct random_command **list, size_t from, size_t to, FILE *f)
{
    for (size_t i = from; i < to; i++) {
        say(f, "  ");
        gen_print(f, &list[i]->c);
        say(f, "\n");
    }
}

static void shrink(const struct world *w, size_t bad, FILE *f)
{
    size_t n = (bad / w->batch + 1) * w->batch, batch = 1;
    struct random_command **now = calloc(n, sizeof *now), **less = calloc(n, sizeof *less);
    time_t end = time(NULL) + SHRINK_SECONDS;

    if (now == NULL || less == NULL)
        abort();
    if (n > w->n)
        n = w->n;
    memcpy(now, w->commands, n * sizeof *now);
    bad = run(w, now, n, batch, NULL);
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
    for (size_t chunk = n / 2 > 0 ? n / 2 : 1; time(NULL) < end;) {
        bool smaller = false;

        for (size_t at = 0; at < n && time(NULL) < end;) {
            size_t cut = n - at < chunk ? n - at : chunk, left = n - cut;

            memcpy(less, now, at * sizeof *now);
            memcpy(less + at, now + at + cut, (left - at) * sizeof *now);
            bad = left > 0 ? run(w, less, left, batch, NULL) : left;
            if (bad < left) {
                n = bad + 1;
                memcpy(now, less, n * sizeof *now);
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
    commands_print(now, 0, n, f);
    (void)run(w, now, n, batch, f);
    free(now);
    free(less);
}

/* The commands are made from the answers of a memory store. */
static void world_open(struct world *w, uint64_t seed, unsigned nouns)
{
    static const unsigned extremes[] = { 0, 0, 2, 20 };
    static struct usher_operation commands[BATCH_MAX];
    static struct usher_result replies[BATCH_MAX];
    struct usher_engine *e;
    struct random_listener ear;
    struct random_commands *b;
    struct rng r;

    rng_seed(&r, ~seed);
    memset(&ear, 0, sizeof ear);
    memset(w, 0, sizeof *w);
    w->opt.seed = seed;
    w->opt.nouns = nouns != 0           ? nouns
                   : rng_chance(&r, 40) ? RANDOM_ALL
                   : rng_chance(&r, 30) ? 1u << USHER_QUEUE
                                        : 1u << (1 + rng_below(&r, NOUNS - 1));
    w->opt.requests = (unsigned)rng_below(&r, 3) * 15;
    w->opt.extremes = extremes[rng_below(&r, 4)];
    w->opt.wrong = (unsigned)rng_below(&r, 3) * 5;
    w->opt.presence = rng_chance(&r, 30);
    w->opt.least = rng_chance(&r, 20);
    w->n = rng_chance(&r, 60) ? 100 + (size_t)rng_below(&r, 300) : 3000;
    w->batch = rng_chance(&r, 50) ? 1 : 1 + (size_t)rng_below(&r, BATCH_MAX);
    w->digest_every = w->n < 1000 ? 16 : 100;
    w->commands = calloc(w->n, sizeof *w->commands);
    b = random_open(&w->opt);
    if (w->commands == NULL || usher_open("memory:?clock=given", NULL, &e) != USHER_OK)
        abort();
    for (size_t at = 0, k; at < w->n; at += k) {
        k = w->n - at < w->batch ? w->n - at : w->batch;
        for (size_t i = 0; i < k; i++) {
            w->commands[at + i] = calloc(1, sizeof **w->commands);
            if (w->commands[at + i] == NULL)
                abort();
            random_next(b, w->commands[at + i]);
            random_resolve(w->commands[at + i], &ear);
            commands[i] = w->commands[at + i]->c;
        }
        (void)usher_operate(e, commands, replies, k);
        for (size_t i = 0; i < k; i++) {
            random_listen(&ear, &commands[i], &replies[i]);
            random_learn(b, &commands[i], &replies[i]);
            usher_result_done(&replies[i]);
        }
    }
    usher_close(e);
    random_close(b);
}

static void world_close(struct world *w)
{
    for (size_t i = 0; i < w->n; i++)
        free(w->commands[i]);
    free(w->commands);
}

/* Returns how many commands it had. */
static size_t world_run(uint64_t seed, unsigned nouns)
{
    struct world w;
    size_t bad, n;

    world_open(&w, seed, nouns);
    n = w.n;
    bad = run(&w, w.commands, w.n, w.batch, NULL);
    if (bad < w.n) {
        (void)fprintf(stderr,
                      "\nUSHER_SEED=%" PRIu64 " (nouns %#x, batches of %zu): command %zu:\n", seed,
                      nouns, w.batch, bad);
        (void)run(&w, w.commands, w.n, w.batch, stderr);
        (void)fprintf(stderr, "the last commands up to it:\n");
        commands_print(w.commands, bad >= 9 ? bad - 9 : 0, bad + 1, stderr);
        shrink(&w, bad, stderr);
    }
    world_close(&w);
    if (bad < n)
        fail();
    return n;
}

/* A verb that was never answered `ok`; NULL: there is none. */
static const struct usher__verb *idle_verb(void)
{
    for (unsigned code = 1; code < NOUNS; code++) {
        const struct usher__noun *noun = usher__noun(code);

        for (unsigned i = 0; i < noun->n_verbs; i++)
            /* of no use but to an authority, and without one stores say so in words of their own */
            if (noun->verbs[i].verb != USHER_SERIAL_GRANT &&
                answered[code][noun->verbs[i].verb & 63][USHER_OK] == 0)
                return &noun->verbs[i];
    }
    return NULL;
}

static void write_digests(void)
{
    uint64_t most = number_from("USHER_STEPS", 10000);

    for (unsigned noun = 1; noun < NOUNS; noun++) {
        uint64_t seed = number_from("USHER_SEED", 7070), steps = 0;

        for (; steps < most; seed++) {
            size_t n;

            digest.commands = digest.answers = digest.notices = digest.states = GEN_HASH;
            n = world_run(seed, 1u << noun);
            steps += n;
            (void)fprintf(digest.f,
                          "%s seed=%" PRIu64 " n=%zu commands=%016" PRIx64 " answers=%016" PRIx64
                          " notices=%016" PRIx64 " states=%016" PRIx64 "\n",
                          usher_noun_word((enum usher_noun)noun), seed, n, digest.commands,
                          digest.answers, digest.notices, digest.states);
        }
    }
    for (unsigned i = 0; i < n_stores; i++)
        (void)fprintf(digest.f, "alike on %s\n", stores[i].name);
    assert_int_equal(fclose(digest.f), 0);
}

TEST(all_stores_answer_the_same)
{
    uint64_t seed = number_from("USHER_SEED", 7070), steps = 0;
    uint64_t most = budget_of("USHER_STEPS", budget_long() ? 2000000 : 30000);
    unsigned nouns = (unsigned)number_from("USHER_NOUNS", 0), worlds = 0;
    const struct usher__verb *idle;

    if (digest.f != NULL) {
        write_digests();
        return;
    }
    for (; steps < most; seed++, worlds++)
        steps += world_run(seed, nouns);
    /* every verb does something, if need be in worlds of its noun alone */
    if (nouns == 0 && most >= 1000)
        for (unsigned i = 0; i < 200 && (idle = idle_verb()) != NULL; i++, worlds++)
            steps += world_run(seed++, 1u << (idle->verb >> 8));
    print_message("%u worlds, %" PRIu64 " commands on each of %u stores\n", worlds, steps,
                  n_stores);
    idle = nouns == 0 && most >= 1000 ? idle_verb() : NULL;
    if (idle != NULL)
        fail_msg("%s %s was never answered ok", usher_noun_word((enum usher_noun)(idle->verb >> 8)),
                 idle->word);
}

/* Without it the worlds above are only half of the test. */
TEST(redis_takes_part)
{
    if (digest.f == NULL && stores_named("redis") == NULL)
        stores_skip("redis");
}

static int program_begin(void)
{
    const char *name = getenv("USHER_DIGESTS");

    if (name != NULL && (digest.f = fopen(name, "w")) == NULL) {
        perror(name);
        return 1;
    }
    print_message("USHER_SEED=%" PRIu64 "\n", number_from("USHER_SEED", 7070));
    return stores_start();
}

TEST_PROGRAM(program_begin, stores_stop);
