/* SPDX-License-Identifier: MIT */
/*
 * Every verb with every hook on every store.
 *
 * A world is a store, a set of hooks, and a walk that gives each verb of the tables several times
 * (random_commands.h), in batches, with the functions that are more than a command in between. Each
 * hook is alone in a world first; then come sets of about half of them, until every two have been
 * together with every verb (USHER_LONG=1: every three).  At the end of each world:
 *
 *   coverage:  every verb was executed in it; on each store every verb has done something.
 *   audit:     the store, and its authority, have no fault.
 *   notices:   a single watcher receives versions that follow on each other.
 *   memory:    every block was given back, with the size that it has.
 *   trace:     each command was traced.
 *
 * Other tests below: hooks and watchers may make some calls, and others are refused with a message.
 */
#include "lib/test.h"

#include <usher/store/history.h>
#include <usher/store/authority.h>
#include <usher/extension.h>
#include <usher/replica.h>

#include "core/verbs.h"
#include "nouns/room/room_directory.h"
#include "lib/calls.h"
#include "lib/rollback_store.h"
#include "lib/hooks.h"
#include "lib/fake_authority.h"
#include "lib/stores.h"
#include "model/random_commands.h"
#include "model/gen.h"

#define NOUNS 7
#define BATCH_MAX 64

#define HOOKS(X)                                                    \
    X(WATCHER, "a watcher of everything")                           \
    X(WATCHER_OF_ONE, "a watcher of one scope")                     \
    X(WATCHER_NESTS, "a watcher that commands and stops watching")  \
    X(TRACE, "trace")                                               \
    X(LOG, "log")                                                   \
    X(ALLOC, "an allocator of its own")                             \
    X(ALLOC_FAILS, "an allocator that fails now and then")          \
    X(CLOCK, "a clock of its own, which jumps")                     \
    X(REQUESTS, "request ids")                                      \
    X(HISTORY, "a history")                                         \
    X(AUTHORITY, "an authority")                                    \
    X(JOURNAL, "an authority with a journal")                       \
    X(EXTENSION, "an extension")                                    \
    X(PRESENCE, "rooms that coalesce notices of joins and leaves")  \
    X(LEAST, "max=1")                                               \
    X(BATCH, "batches of 64")                                       \
    X(SECOND, "a second engine on the same store, watched as well") \
    X(SECOND_CLOSES, "a second engine that is closed and opened")   \
    X(REPLICA, "replicas of rooms")                                 \
    X(HANDS, "a store that is taken over, if it can be")            \
    X(IDS, "ids of a dispenser in the process")

enum hook {
#define X(name, text) HOOK_##name,
    HOOKS(X)
#undef X
        N_HOOKS
};

static const char *const hook_texts[] = {
#define X(name, text) text,
    HOOKS(X)
#undef X
};

#define HOOK(name) (UINT32_C(1) << HOOK_##name)

/* ---- stores ------------------------------------------------------------------------- */

static bool own_fresh(char url[STORE_URL_MAX])
{
    (void)snprintf(url, STORE_URL_MAX, "rollback:");
    return true;
}

static const struct test_store own_store = { "own", own_fresh };

/* Those of stores.h, and one of an application. */
static const struct test_store *store_at(unsigned i)
{
    return i < n_stores ? &stores[i] : &own_store;
}

#ifdef USHER_WITH_SQLITE
static unsigned files;

/* A file beside the stores. */
static void file_new(char to[128], const char *what)
{
    (void)snprintf(to, 128, "sqlite:%s/%u-%s.db", test_dir(), files++, what);
}

static void file_remove(const char *url)
{
    static const char *const tails[] = { "", "-wal", "-shm", "-journal" };
    char path[STORE_URL_MAX];

    for (size_t i = 0; url[0] != '\0' && i < sizeof tails / sizeof *tails; i++) {
        (void)snprintf(path, sizeof path, "%.120s%s", url + strlen("sqlite:"), tails[i]);
        (void)unlink(path);
    }
}
#endif

/* ---- a world ------------------------------------------------------------------------ */

struct last_received {
    uint64_t epoch, version;
};

struct world {
    uint32_t on; /* bits of HOOK() */
    uint64_t seed;
    const struct test_store *store;
    struct random_commands *b;
    struct rng rng;
    struct hooks hooks;
    struct usher_options opt;
    char url[STORE_URL_MAX], authority_url[128], history_url[128];
    struct usher_authority *authority;
    struct usher_history *history;
    struct usher_engine *e, *second;
    struct usher_watcher *all, *one, *nests, *of_second;
    struct usher_extension *extension;
    struct usher_replica *replicas[RANDOM_SCOPES];
    int64_t clock;
    struct random_listener ear;
    struct last_received last[NOUNS][RANDOM_SCOPES];
    unsigned nested;
    unsigned long notices, opened, commands; /* opened: rooms, by the first engine */
    bool dense;                              /* received versions have no gaps */
    char bad[200];                           /* what was wrong with a notice */
    unsigned given[NOUNS][64];
};

static bool is_on(const struct world *w, uint32_t hooks)
{
    return (w->on & hooks) != 0;
}

static int64_t clock_of(void *payload)
{
    struct hooks *h = payload; /* the payload of all hooks */
    struct world *w = (struct world *)(void *)((char *)h - offsetof(struct world, hooks));

    /* mostly on, now and then back */
    w->clock += rng_chance(&w->rng, 3) ? -5000 : (int64_t)rng_below(&w->rng, 30);
    return w->clock;
}

static unsigned long failures; /* of the allocators that fail */
static unsigned answered[STORES_MAX + 1][NOUNS][64][USHER_NOMEM + 1];

static void given(struct world *w, const struct usher_operation *c, const struct usher_result *r)
{
    unsigned store = 0;

    while (store_at(store) != w->store)
        store++;
    w->given[(unsigned)c->verb >> 8][(unsigned)c->verb & 63]++;
    answered[store][(unsigned)c->verb >> 8][(unsigned)c->verb & 63][r->status]++;
}

/* Commands of @n, on @e. */
static void give(struct world *w, struct usher_engine *e, struct random_command *list, size_t n)
{
    static struct usher_operation commands[BATCH_MAX];
    static struct usher_result replies[BATCH_MAX];
    static bool busy; /* a watcher has its own */
    struct usher_result one;
    bool nested = busy;

    if (nested)
        n = 1;
    busy = true;
    if (nested) {
        random_resolve(&list[0], &w->ear);
        assert_int_not_equal(usher_operate(e, &list[0].c, &one, 1), USHER_INVALID);
        random_listen(&w->ear, &list[0].c, &one);
        w->hooks.read += hooks_read_reply(&list[0].c, &one);
        usher_result_done(&one);
        w->commands += list[0].c.verb >> 8 != USHER_ROOMS;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        random_resolve(&list[i], &w->ear);
        commands[i] = list[i].c;
        if (getenv("USHER_VERBOSE") != NULL) {
            gen_print(stderr, &commands[i]);
            (void)fputc('\n', stderr);
        }
    }
    if (usher_operate(e, commands, replies, n) == USHER_INVALID)
        fail_msg("usher_operate: %s", usher_message());
    for (size_t i = 0; i < n; i++) {
        random_listen(&w->ear, &commands[i], &replies[i]);
        random_learn(w->b, &commands[i], &replies[i]);
        given(w, &commands[i], &replies[i]);
        w->hooks.read += hooks_read_reply(&commands[i], &replies[i]);
        w->opened +=
            e == w->e && commands[i].verb == USHER_ROOM_OPEN && replies[i].status == USHER_OK;
        if (!is_on(w, HOOK(ALLOC_FAILS) | HOOK(AUTHORITY) | HOOK(JOURNAL)) &&
            replies[i].status > USHER_INVALID && replies[i].status != USHER_LOST) {
            (void)fputs("  ", stderr);
            gen_print(stderr, &commands[i]);
            fail_msg("\n%s: %s", usher_status_word(replies[i].status), replies[i].message);
        }
        usher_result_done(&replies[i]);
        w->commands += (unsigned)commands[i].verb >> 8 != USHER_ROOMS; /* not traced */
    }
    busy = false;
}

static void on_notice(void *payload, const struct usher_notice *n)
{
    struct world *w = payload;

    w->notices++;
    w->hooks.read += hooks_read_notice(n);
    for (unsigned i = 0; i < RANDOM_SCOPES; i++) {
        struct last_received *h = &w->last[n->noun][i];

        if (n->scope.size != strlen(random_scope(n->noun, i)) ||
            memcmp(n->scope.data, random_scope(n->noun, i), n->scope.size) != 0)
            continue;
        if (getenv("USHER_VERBOSE") != NULL)
            (void)fprintf(stderr, "  %s %016" PRIx64 " %" PRIu64 " %s\n", random_scope(n->noun, i),
                          n->epoch, n->version, usher_verb_word(n->verb));
        if (n->verb == USHER_NOTICE_LOST && h->epoch == n->epoch) {
            /* no change; it follows the notices of its batch and names a version of one before */
            if (w->dense && n->version > h->version && w->bad[0] == '\0')
                (void)snprintf(w->bad, sizeof w->bad,
                               "%s: up to version %" PRIu64 " nothing is lost, and %" PRIu64
                               " is the last one received",
                               random_scope(n->noun, i), n->version, h->version);
            if (n->noun == USHER_ROOM && w->replicas[i] != NULL)
                (void)usher_replica_notice(w->replicas[i], n);
            continue;
        }
        if (w->dense && h->epoch == n->epoch && n->before != h->version && w->bad[0] == '\0')
            (void)snprintf(w->bad, sizeof w->bad,
                           "%s: `%s` of version %" PRIu64 " is received after %" PRIu64
                           ", and follows on %" PRIu64,
                           random_scope(n->noun, i), usher_verb_word(n->verb), n->version,
                           h->version, n->before);
        h->epoch = n->epoch;
        h->version = n->version;
        if (n->noun == USHER_ROOM && w->replicas[i] != NULL)
            (void)usher_replica_notice(w->replicas[i], n);
    }
}

/* Execute commands within the watcher, and stop watching for a while. */
static void on_notice_command(void *payload, const struct usher_notice *n)
{
    struct world *w = payload;
    static struct random_command c;

    w->hooks.read += hooks_read_notice(n);
    if (w->nested >= 200)
        return;
    w->nested++;
    if (rng_chance(&w->rng, 20)) {
        random_next(w->b, &c);
        give(w, w->e, &c, 1);
    }
    if (rng_chance(&w->rng, 10) && w->nests != NULL) {
        struct usher_watcher *me = w->nests;

        w->nests = NULL;
        usher_unwatch(w->e, me);
    } else if (rng_chance(&w->rng, 10) && w->one != NULL) {
        usher_unwatch(w->e, w->one);
        w->one = NULL;
    }
    w->hooks.read += hooks_read_notice(n); /* it is still there */
}

static void on_extension_event(void *payload, const struct usher_extension_event *event)
{
    struct world *w = payload;

    w->hooks.read += hooks_read_notice(event->notice);
    if (event->value.data != NULL && event->value.size > 0)
        w->hooks.read += (unsigned char)event->value.data[event->value.size - 1];
}

static void line_print(void *payload, const char *line)
{
    struct world *w = payload;
    bool *faulty = &w->dense; /* not needed any more */

    /* Clients have used verbs of an authority there. */
    if (is_on(w, HOOK(AUTHORITY) | HOOK(JOURNAL)) && strstr(line, "authority's maximum") != NULL &&
        (strncmp(line, "serial/", 7) == 0 || strncmp(line, "id/", 3) == 0))
        return;
    /* A second engine in memory has a store of its own: without an authority both begin at 1. */
    if ((w->store == &own_store || strcmp(w->store->name, "memory") == 0) &&
        is_on(w, HOOK(SECOND) | HOOK(SECOND_CLOSES)) && strstr(line, " a second time") != NULL)
        return;
    /* reported, and no fault */
    if (strstr(line, "differs from its entry in the authority") != NULL ||
        strstr(line, "the authority does not have it yet") != NULL ||
        strstr(line, "the authority has it and the store does not") != NULL)
        return;
    /* the second look at a room that has gone may have had no memory: see room_directory.c */
    if (is_on(w, HOOK(ALLOC_FAILS)) &&
        strstr(line, "is in the index of rooms, but there is no such room") != NULL)
        return;
    print_error("  %s\n", line);
    *faulty = true;
}

static bool opened(struct world *w, struct usher_engine **ret)
{
    /* with little memory it may take several times */
    for (int i = 0; i < 200; i++) {
        enum usher_status status = usher_open(w->url, &w->opt, ret);

        if (status == USHER_OK)
            return true;
        if (!is_on(w, HOOK(ALLOC_FAILS)))
            fail_msg("%s: %s", w->url, usher_message());
    }
    return false;
}

static void watch(struct world *w, struct usher_engine *e, const char *scope, usher_watch_fn *fn,
                  struct usher_watcher **ret)
{
    if (usher_watch(e, USHER_ROOM, scope, fn, w, ret) != USHER_OK)
        *ret = NULL; /* no memory */
}

static void world_open(struct world *w, const struct test_store *store, uint32_t on, uint64_t seed,
                       unsigned nouns)
{
    struct random_options source = { .seed = seed, .nouns = nouns, .wrong = 3, .extremes = 2 };

    memset(w, 0, sizeof *w);
    w->on = on;
    w->seed = seed;
    w->store = store;
    rng_seed(&w->rng, ~seed);
    source.requests = is_on(w, HOOK(REQUESTS)) ? 60 : 0;
    source.presence = is_on(w, HOOK(PRESENCE));
    source.least = is_on(w, HOOK(LEAST));
    source.authority = is_on(w, HOOK(AUTHORITY) | HOOK(JOURNAL));
    source.timeless = is_on(w, HOOK(CLOCK));
    w->b = random_open(&source);
    w->clock = random_now(w->b);
    w->opt = (struct usher_options)USHER_OPTIONS_INIT;
    w->opt.drivers = &rollback_driver;
    w->opt.clock_given = true;
    w->opt.payload = &w->hooks;
    if (is_on(w, HOOK(ALLOC) | HOOK(ALLOC_FAILS)))
        hooks_alloc(&w->hooks, &w->opt);
    if (is_on(w, HOOK(TRACE)))
        hooks_trace(&w->hooks, &w->opt);
    if (is_on(w, HOOK(LOG)))
        hooks_log(&w->hooks, &w->opt);
    if (is_on(w, HOOK(CLOCK)))
        w->opt.now_ms = clock_of;
#ifdef USHER_WITH_SQLITE
    if (is_on(w, HOOK(AUTHORITY) | HOOK(JOURNAL))) {
        file_new(w->authority_url, "authority");
        assert_int_equal(usher_authority_open(w->authority_url, w->opt.alloc, &w->authority),
                         USHER_OK);
        w->opt.authority = w->authority;
        w->opt.journal = is_on(w, HOOK(JOURNAL));
    }
    if (is_on(w, HOOK(HISTORY))) {
        file_new(w->history_url, "history");
        assert_int_equal(usher_history_open(w->history_url, w->opt.alloc, &w->history), USHER_OK);
        w->opt.history = w->history;
    }
#endif
    assert_true(store->fresh(w->url));
    if (is_on(w, HOOK(ALLOC_FAILS)))
        w->hooks.fail_every = 10 + (unsigned)rng_below(&w->rng, 60);
    assert_true(opened(w, &w->e));
    w->dense = is_on(w, HOOK(WATCHER)) &&
               !is_on(w, HOOK(ALLOC_FAILS) | HOOK(SECOND) | HOOK(SECOND_CLOSES));
    if (is_on(w, HOOK(WATCHER) | HOOK(REPLICA)))
        watch(w, w->e, NULL, on_notice, &w->all);
    if (is_on(w, HOOK(EXTENSION)) &&
        usher_room_extend(w->e, "wb", on_extension_event, w, &w->extension) != USHER_OK)
        w->extension = NULL;
    for (unsigned i = 0; i < RANDOM_SCOPES && is_on(w, HOOK(REPLICA)); i++)
        if (usher_replica_open(random_scope(USHER_ROOM, i), w->opt.alloc, &w->replicas[i]) !=
            USHER_OK)
            w->replicas[i] = NULL;
}

/* Open or close the second engine. */
static void second_turn(struct world *w)
{
    if (w->second != NULL && is_on(w, HOOK(SECOND_CLOSES)) && rng_chance(&w->rng, 20)) {
        if (w->of_second != NULL && rng_chance(&w->rng, 50))
            usher_unwatch(w->second, w->of_second); /* else the engine closes it */
        w->of_second = NULL;
        usher_close(w->second);
        w->second = NULL;
    }
    if (w->second == NULL && is_on(w, HOOK(SECOND) | HOOK(SECOND_CLOSES)) &&
        rng_chance(&w->rng, 50) && opened(w, &w->second) && is_on(w, HOOK(WATCHER)))
        watch(w, w->second, NULL, on_notice, &w->of_second);
}

/* Make a call that is more than one command, or none. */
static void others(struct world *w)
{
    struct usher_engine *e = w->second != NULL && rng_chance(&w->rng, 40) ? w->second : w->e;
    enum usher_noun noun = (enum usher_noun)(1 + rng_below(&w->rng, NOUNS - 2));
    const char *scope = random_scope(noun, (unsigned)rng_below(&w->rng, RANDOM_SCOPES));
    struct usher_result r;
    char digest[33];
    uint64_t epoch, version;

    switch (rng_below(&w->rng, 9)) {
    case 0:
        (void)usher__room_patrol(e, rng_chance(&w->rng, 50) ? "ann" : "bob", is_on(w, HOOK(LEAST)),
                                 1000, 500, random_now(w->b), &r);
        break;
    case 1:
        (void)usher__room_list(e, NULL, 0, is_on(w, HOOK(LEAST)), -1, &r);
        break;
    case 2:
        (void)usher_digest(e, noun, scope, digest);
        return;
    case 3:
        (void)usher_room_digest(e, random_scope(USHER_ROOM, 0), &epoch, &version, digest);
        return;
    case 4:
        (void)ask_room_sweep(e, random_scope(USHER_ROOM, 0), 0, &r);
        break;
    case 5: {
        static const char *const numbers[] = { "b1", "b2", "n1" };

        (void)ask_number_bulk(e, rng_chance(&w->rng, 50) ? USHER_NUMBER_ADD : USHER_NUMBER_DEL,
                              random_scope(USHER_NUMBER, 0), numbers, 3, NULL, NULL);
        return;
    }
    case 6:
        (void)ask_number_free_all(e, random_scope(USHER_NUMBER, 1), NULL);
        return;
    case 7:
        if (w->extension != NULL) {
            struct usher_text value = { "v", 1 };

            (void)usher_extension_set(w->extension, random_scope(USHER_ROOM, 0), "mark", &value,
                                      NULL);
            (void)usher_extension_unset(w->extension, random_scope(USHER_ROOM, 0), "mark");
        }
        return;
    default:
        if (is_on(w, HOOK(IDS)) && !is_on(w, HOOK(ALLOC_FAILS))) {
            struct usher_ids_options opt = USHER_IDS_OPTIONS_INIT;
            struct usher_ids *ids;
            int64_t first;

            opt.timeout_ms = 50;
            if (usher_ids_open(e, random_scope(USHER_ID, 0), &opt, &ids) != USHER_OK)
                return;
            (void)usher_ids_next(ids, &first);
            usher_ids_close(ids);
        }
        return;
    }
    usher_result_done(&r);
}

/* Execute the query that the replica needs. */
static void replicas_ask(struct world *w)
{
    for (unsigned i = 0; i < RANDOM_SCOPES; i++) {
        struct usher_replica_question q;
        struct usher_result r;

        if (w->replicas[i] == NULL || usher_replica_missing(w->replicas[i]) == USHER_REPLICA_IGNORE)
            continue;
        usher_replica_ask(w->replicas[i], &q);
        if (q.kind == USHER_REPLICA_REPLAY)
            (void)ask_room_changes(w->e, random_scope(USHER_ROOM, i), q.since, 0, &r);
        else if (q.kind == USHER_REPLICA_PULL)
            (void)ask_room_snapshot(w->e, random_scope(USHER_ROOM, i), q.after, q.since, 0, &r);
        else
            continue;
        (void)replica_take(w->replicas[i], &q, &r);
        usher_result_done(&r);
    }
}

static void watchers_turn(struct world *w)
{
    if (is_on(w, HOOK(WATCHER_OF_ONE)) && w->one == NULL)
        watch(w, w->e, random_scope(USHER_ROOM, 0), on_notice_command, &w->one);
    if (is_on(w, HOOK(WATCHER_NESTS)) && w->nests == NULL)
        watch(w, w->e, NULL, on_notice_command, &w->nests);
    w->nested = is_on(w, HOOK(WATCHER_NESTS)) ? 0 : 200;
}

static void world_close(struct world *w, unsigned nouns)
{
    struct usher_check_result found;

    w->hooks.fail_every = 0;
    if (w->bad[0] != '\0')
        fail_msg("%s", w->bad);
    w->dense = false;
    if (usher_check(w->e, NULL, line_print, w, &found) != USHER_OK)
        fail_msg("no audit: %s", usher_message());
    if (w->dense)
        fail_msg("the audit found faults");
    if (is_on(w, HOOK(TRACE)))
        assert_true(atomic_load(&w->hooks.traced) >= w->commands);
    if (is_on(w, HOOK(WATCHER)) && w->all != NULL && nouns == RANDOM_ALL)
        assert_true(w->notices > 0 || w->opened < (is_on(w, HOOK(ALLOC_FAILS)) ? 4 : 1));
    for (unsigned code = 1; code < NOUNS; code++)
        for (unsigned i = 0; (nouns >> code & 1u) != 0 && i < usher__noun(code)->n_verbs; i++)
            if (w->given[code][usher__noun(code)->verbs[i].verb & 63] == 0)
                fail_msg("%s %s was not given", usher__noun(code)->word,
                         usher__noun(code)->verbs[i].word);
    if (w->second != NULL) {
        if (w->of_second != NULL)
            usher_unwatch(w->second, w->of_second);
        usher_close(w->second);
    }
    usher_extension_close(w->extension);
    /* closing the engine ends its watchers */
    if (w->all != NULL && rng_chance(&w->rng, 50))
        usher_unwatch(w->e, w->all);
    usher_close(w->e);
    for (unsigned i = 0; i < RANDOM_SCOPES; i++)
        usher_replica_close(w->replicas[i]);
    usher_authority_close(w->authority);
    usher_history_close(w->history);
    failures += atomic_load(&w->hooks.failed);
    if (hooks_fault(&w->hooks) != NULL)
        fail_msg("%s", hooks_fault(&w->hooks));
#ifdef USHER_WITH_SQLITE
    file_remove(w->authority_url);
    file_remove(w->history_url);
#endif
    random_close(w->b);
}

/* Each verb of @nouns @rounds times, in any order. */
static void world_run(const struct test_store *store, uint32_t on, uint64_t seed, unsigned nouns,
                      unsigned rounds)
{
    static struct random_command list[BATCH_MAX];
    static struct world w;
    static unsigned verbs[NOUNS * 64];
    unsigned n_verbs = 0;

    world_open(&w, store, on, seed, nouns);
    for (unsigned code = 1; code < NOUNS; code++)
        for (unsigned i = 0; (nouns >> code & 1u) != 0 && i < usher__noun(code)->n_verbs; i++)
            verbs[n_verbs++] = usher__noun(code)->verbs[i].verb;
    for (unsigned round = 0; round <= rounds; round++) {
        for (unsigned i = n_verbs - 1; i > 0; i--) {
            unsigned k = (unsigned)rng_below(&w.rng, i + 1), verb = verbs[i];

            verbs[i] = verbs[k];
            verbs[k] = verb;
        }
        for (size_t at = 0, k; at < n_verbs; at += k) {
            size_t most = is_on(&w, HOOK(BATCH)) ? BATCH_MAX : 1;

            k = n_verbs - at < most ? n_verbs - at : most;
            for (size_t i = 0; i < k; i++) {
                if (round == 0) /* what there is to work on */
                    random_next(w.b, &list[i]);
                else
                    random_verb(w.b, verbs[at + i], &list[i]);
            }
            if (is_on(&w, HOOK(HANDS)) && rng_chance(&w.rng, 6))
                rollback_change_identity();
            watchers_turn(&w);
            second_turn(&w);
            give(&w, w.second != NULL && rng_chance(&w.rng, 50) ? w.second : w.e, list, k);
            if (rng_chance(&w.rng, 6) || k > 1)
                others(&w);
            if (is_on(&w, HOOK(REPLICA)) && rng_chance(&w.rng, 10))
                replicas_ask(&w);
        }
    }
    world_close(&w, nouns);
}

static struct {
    const struct test_store *store;
    uint32_t on;
    uint64_t seed;
} now;

/* Run a world.  Its parameters stay in `now` for world_say() if it fails. */
static void world(const struct test_store *store, uint32_t on, uint64_t seed, unsigned nouns,
                  unsigned rounds)
{
    now.store = store;
    now.on = on;
    now.seed = seed;
    world_run(store, on, seed, nouns, rounds);
    now.store = NULL;
}

static int world_say(void **state)
{
    (void)state;
    if (now.store == NULL)
        return 0;
    print_error("USHER_STORES=%s USHER_HOOKS=%#" PRIx32 " USHER_SEED=%" PRIu64 ":\n",
                now.store->name, now.on, now.seed);
    for (unsigned i = 0; i < N_HOOKS; i++)
        if ((now.on >> i & 1u) != 0)
            print_error("  with %s\n", hook_texts[i]);
    return 0;
}

static uint32_t possible(void)
{
    uint32_t all = (UINT32_C(1) << N_HOOKS) - 1;

#ifndef USHER_WITH_SQLITE
    all &= ~(HOOK(HISTORY) | HOOK(AUTHORITY) | HOOK(JOURNAL));
#endif
    return all;
}

static uint64_t first_seed(void)
{
    return number_from("USHER_SEED", 16);
}

TEST_WITH(every_verb_with_each_hook, NULL, world_say)
{
    uint32_t given_hooks = (uint32_t)number_from("USHER_HOOKS", 0);
    /* fewer would leave verbs out */
    unsigned rounds = (unsigned)number_from("USHER_ROUNDS", budget_slow() ? 1 : 4);

    for (unsigned s = 0; s <= n_stores; s++) {
        if (given_hooks != 0) {
            world(store_at(s), given_hooks, first_seed(), RANDOM_ALL, rounds);
            continue;
        }
        for (unsigned i = 0; i < N_HOOKS; i++)
            if ((possible() >> i & 1u) != 0)
                world(store_at(s), UINT32_C(1) << i, first_seed() + i, RANDOM_ALL,
                      rounds > 0 ? rounds : 1);
    }
}

/* Return whether some set of @size hooks has not been together.  Then draw a set with two or three
 * of them. */
static bool together[N_HOOKS][N_HOOKS][N_HOOKS];

static bool not_together(bool three, uint32_t *ret)
{
    for (unsigned a = 0; a < N_HOOKS; a++) {
        for (unsigned b = a; b < N_HOOKS; b++) {
            for (unsigned c = b; c < (three ? N_HOOKS : b + 1); c++) {
                uint32_t set = UINT32_C(1) << a | UINT32_C(1) << b | UINT32_C(1) << c;

                if (!together[a][b][c] && (set & ~possible()) == 0) {
                    *ret = set;
                    return true;
                }
            }
        }
    }
    return false;
}

TEST_WITH(every_verb_with_every_two_hooks, NULL, world_say)
{
    struct rng r;
    unsigned worlds = 0;
    uint64_t seed = first_seed() + 1000;

    if (number_from("USHER_HOOKS", 0) != 0)
        return;
    for (unsigned s = 0; s <= n_stores; s++) {
        uint32_t on;

        rng_seed(&r, seed);
        memset(together, 0, sizeof together);
        while (not_together(budget_long(), &on)) {
            on |= (uint32_t)rng_next(&r) & (uint32_t)rng_next(&r) & possible();
            for (unsigned a = 0; a < N_HOOKS; a++)
                for (unsigned b = a; b < N_HOOKS; b++)
                    for (unsigned c = b; c < N_HOOKS; c++)
                        together[a][b][c] |=
                            (on >> a & 1u) != 0 && (on >> b & 1u) != 0 && (on >> c & 1u) != 0;
            world(store_at(s), on, seed++, RANDOM_ALL, 1);
            worlds++;
        }
    }
    assert_true(failures > worlds);
    print_message("%u worlds, %lu allocations failed\n", worlds, failures);
}

static const struct usher__verb *idle_verb(unsigned store)
{
    for (unsigned code = 1; code < NOUNS; code++) {
        const struct usher__noun *noun = usher__noun(code);

        for (unsigned i = 0; i < noun->n_verbs; i++)
            if (answered[store][code][noun->verbs[i].verb & 63][USHER_OK] == 0)
                return &noun->verbs[i];
    }
    return NULL;
}

/* In the previous worlds, and if necessary in some more of one noun. */
TEST_WITH(every_verb_did_something_on_every_store, NULL, world_say)
{
    uint64_t seed = first_seed() + 2000;

    if (number_from("USHER_HOOKS", 0) != 0)
        return;
    for (unsigned s = 0; s <= n_stores; s++) {
        const struct usher__verb *idle;

        for (unsigned i = 0; i < 2000 && (idle = idle_verb(s)) != NULL; i++) {
            uint32_t on = HOOK(WATCHER) | HOOK(AUTHORITY);

            world(store_at(s), on & possible(), seed++, 1u << (idle->verb >> 8), 30);
        }
        if ((idle = idle_verb(s)) != NULL)
            fail_msg("%s: %s %s was never answered ok", store_at(s)->name,
                     usher_noun_word((enum usher_noun)(idle->verb >> 8)), idle->word);
    }
}

/* ---- required arguments ------------------------------------------------------------- */

TEST(an_argument_that_is_missing_is_named)
{
    struct random_options opt = { .seed = 5, .nouns = RANDOM_ALL };
    struct random_commands *b = random_open(&opt);
    struct random_command c;

    for (unsigned s = 0; s <= n_stores; s++) {
        struct usher_options options = USHER_OPTIONS_INIT;
        struct usher_engine *e;
        char url[STORE_URL_MAX];

        options.drivers = &rollback_driver;
        options.clock_given = true;
        assert_true(store_at(s)->fresh(url));
        assert_int_equal(usher_open(url, &options, &e), USHER_OK);
        for (unsigned code = 1; code < NOUNS; code++) {
            const struct usher__noun *noun = usher__noun(code);

            for (unsigned i = 0; i < noun->n_verbs; i++) {
                for (unsigned k = 0; k < noun->n_args; k++) {
                    const struct usher__arg *arg = &noun->args[k];
                    struct usher_result r;
                    char line[64];

                    if ((noun->verbs[i].order >> k & 1u) == 0)
                        continue;
                    do
                        random_verb(b, noun->verbs[i].verb, &c);
                    while (c.c.request.data != NULL);
                    memset((char *)&c.c + arg->offset, 0,
                           arg->given != 0 ? sizeof(int64_t) : sizeof(struct usher_text));
                    c.c.given &= ~arg->given;
                    assert_int_equal(usher_operate(e, &c.c, &r, 1), USHER_OK);
                    (void)snprintf(line, sizeof line, "%s is missing", arg->word);
                    if (r.status != USHER_INVALID || strcmp(r.message, line) != 0)
                        fail_msg("%s %s without %s: %s, %s", noun->word, noun->verbs[i].word,
                                 arg->word, usher_status_word(r.status), r.message);
                }
            }
        }
        usher_close(e);
    }
    random_close(b);
}

/* ---- what is not allowed ------------------------------------------------------------ */

struct intruder {
    struct usher_engine *e, *other;
    struct usher_extension *x;
    unsigned refused, asked, closes;
    bool may; /* this one is a watcher */
};

/* Use the engine that calls it. */
static void intrude(struct intruder *i)
{
    struct usher_check_result found;
    char digest[33];

    if (i->e == NULL)
        return; /* being opened */
    i->asked += 3;
    i->refused += ask_number_add(i->e, "p", "n2", NULL) == USHER_INVALID &&
                  strstr(usher_message(), "must not call the engine") != NULL;
    i->refused += usher_digest(i->e, USHER_NUMBER, "p", digest) == USHER_INVALID;
    i->refused += usher_check(i->e, NULL, NULL, NULL, &found) == USHER_INVALID;
    usher_close(i->e);
    i->closes += strstr(usher_message(), "stays open") != NULL;
    /* calls of another engine are allowed */
    if (i->other != NULL)
        assert_true(ask_number_reg(i->other, "p", "n1") <= USHER_MISSING);
}

static int64_t intruding_clock(void *payload)
{
    intrude(payload);
    return INT64_C(1690000000000);
}

static void intruding_log(void *payload, enum usher_log_level level, const char *line)
{
    (void)level;
    (void)line;
    intrude(payload);
}

static void intruding_trace(void *payload, const struct usher_operation *c,
                            const struct usher_result *r)
{
    (void)c;
    (void)r;
    intrude(payload);
}

TEST(hooks_that_use_their_engine_are_refused)
{
    for (unsigned s = 0; s <= n_stores; s++) {
        for (unsigned kind = 0; kind < 2; kind++) {
            struct usher_options opt = USHER_OPTIONS_INIT;
            struct intruder i = { NULL, NULL, NULL, 0, 0, 0, false };
            struct usher_engine *e;
            char url[STORE_URL_MAX];

            opt.drivers = &rollback_driver;
            opt.payload = &i;
            opt.clock_given = true;
            opt.log = intruding_log;
            if (kind == 0)
                opt.now_ms = intruding_clock;
            else
                opt.trace = intruding_trace;
            assert_int_equal(usher_open("memory:", NULL, &i.other), USHER_OK);
            assert_true(store_at(s)->fresh(url));
            assert_int_equal(usher_open(url, &opt, &e), USHER_OK);
            i.e = e;
            assert_int_equal(ask_number_add(e, "p", "n1", NULL), USHER_OK);
            assert_string_equal(usher_message(), ""); /* without the messages of the hook's calls */
            assert_true(i.asked > 0);
            assert_int_equal(i.refused, i.asked);
            assert_int_equal(i.closes * 3, i.asked);
            assert_int_equal(ask_number_call(e, "p", NULL, NULL, &(struct ask_number_hold){ 0 }),
                             USHER_EMPTY);
            assert_string_not_equal(usher_message(), "");
            i.e = NULL;
            usher_close(e);
            usher_close(i.other);
        }
    }
}

/* An authority, with a journal, and a history that use the engine they belong to. */
struct intruding_sides {
    struct usher_authority authority; /* first */
    struct usher_history history;
    struct fake_authority fake;
    struct intruder *i;
    unsigned called[8];
};

enum side_call { RESERVES, READS, RELEASES, JOURNALS, TELLS, PUTS, TELLS_VISITS, CLOSES };

static struct usher_authority *intruded(struct usher_authority *a, enum side_call call)
{
    struct intruding_sides *s = (struct intruding_sides *)(void *)a;

    s->called[call]++;
    intrude(s->i);
    return &s->fake.base;
}

static struct intruding_sides *intruded_history(struct usher_history *h, enum side_call call)
{
    struct intruding_sides *s =
        (struct intruding_sides *)(void *)((char *)h - offsetof(struct intruding_sides, history));

    s->called[call]++;
    intrude(s->i);
    return s;
}

static enum usher_status side_reserve(struct usher_authority *a,
                                      const struct usher_authority_want *want, int64_t deadline_ms,
                                      struct usher_authority_range *ret_range, char message[192])
{
    a = intruded(a, RESERVES);
    return a->ops->reserve(a, want, deadline_ms, ret_range, message);
}

static enum usher_status side_read(struct usher_authority *a, enum usher_noun noun,
                                   const struct usher_text *name, int64_t deadline_ms,
                                   struct usher_authority_entry *ret_entry, char message[192])
{
    a = intruded(a, READS);
    return a->ops->read(a, noun, name, deadline_ms, ret_entry, message);
}

static enum usher_status side_release(struct usher_authority *a, enum usher_noun noun,
                                      const struct usher_text *name, int64_t from, int64_t to,
                                      int64_t deadline_ms, char message[192])
{
    a = intruded(a, RELEASES);
    return a->ops->release(a, noun, name, from, to, deadline_ms, message);
}

static enum usher_status side_journal(struct usher_authority *a,
                                      struct usher_authority_event *events, size_t n,
                                      int64_t deadline_ms, char message[192])
{
    a = intruded(a, JOURNALS);
    return a->ops->journal(a, events, n, deadline_ms, message);
}

static enum usher_status side_twice(struct usher_authority *a, int64_t deadline_ms,
                                    usher_authority_event_fn *fn, void *payload, char message[192])
{
    (void)intruded(a, TELLS);
    (void)deadline_ms;
    (void)fn;
    (void)payload;
    (void)message;
    return USHER_OK;
}

/* Return one event, for any arguments. */
static enum usher_status side_events(struct usher_authority *a, enum usher_noun noun,
                                     const struct usher_text *name, uint64_t row, size_t max,
                                     int64_t deadline_ms, usher_authority_event_fn *fn,
                                     void *payload, char message[192])
{
    const struct usher_authority_event event = { .noun = noun, .name = *name };

    (void)intruded(a, TELLS);
    (void)row;
    (void)max;
    (void)deadline_ms;
    (void)message;
    fn(payload, &event);
    return USHER_OK;
}

static void side_close(struct usher_authority *a)
{
    (void)intruded(a, CLOSES);
}

static enum usher_status side_put(struct usher_history *h, const struct usher_text *queue,
                                  uint64_t epoch, const struct usher_queue_result_row *visits,
                                  size_t n, int64_t deadline_ms, char message[192])
{
    (void)intruded_history(h, PUTS);
    (void)queue;
    (void)epoch;
    (void)visits;
    (void)n;
    (void)deadline_ms;
    (void)message;
    return USHER_OK;
}

static enum usher_status side_visits(struct usher_history *h,
                                     const struct usher_history_query *query, int64_t deadline_ms,
                                     usher_history_fn *fn, void *payload, char message[192])
{
    (void)intruded_history(h, TELLS_VISITS);
    (void)query;
    (void)deadline_ms;
    (void)fn;
    (void)payload;
    (void)message;
    return USHER_OK;
}

static void side_history_close(struct usher_history *h)
{
    (void)intruded_history(h, CLOSES);
}

static const struct usher_authority_ops side_authority_ops = {
    .size = sizeof side_authority_ops,
    .name = "intruder",
    .reserve = side_reserve,
    .read = side_read,
    .release = side_release,
    .journal = side_journal,
    .close = side_close,
    .events = side_events,
    .twice = side_twice,
};

static const struct usher_history_ops side_history_ops = {
    .size = sizeof side_history_ops,
    .name = "intruder",
    .put = side_put,
    .read = side_visits,
    .close = side_history_close,
};

static void intruding_fault(void *payload, const char *line)
{
    (void)line;
    intrude(payload);
}

static void intruding_event(void *payload, const struct usher_authority_event *event)
{
    (void)event;
    intrude(payload);
}

TEST(callouts_that_use_their_engine_are_refused)
{
    static struct intruding_sides s;

    for (unsigned k = 0; k <= n_stores; k++) {
        struct usher_options opt = USHER_OPTIONS_INIT;
        struct usher_serial_form rule = { .authority = 1 };
        struct usher_id_result_settings settings = { .managed = 1 };
        struct intruder i = { NULL, NULL, NULL, 0, 0, 0, false };
        struct ask_queue_seat seat;
        struct usher_id_range ids;
        struct usher_engine *e;
        struct usher_result r;
        char url[STORE_URL_MAX];
        struct usher_check_result found;

        memset(&s, 0, sizeof s);
        fake_authority_init(&s.fake);
        s.authority.ops = &side_authority_ops;
        s.history.ops = &side_history_ops;
        s.i = &i;
        opt.drivers = &rollback_driver;
        opt.authority = &s.authority;
        opt.history = &s.history;
        opt.journal = true;
        assert_int_equal(usher_open("memory:", NULL, &i.other), USHER_OK);
        assert_true(store_at(k)->fresh(url));
        assert_int_equal(usher_open(url, &opt, &e), USHER_OK);
        i.e = e;
        assert_int_equal(ask_serial_rule(e, "q", USHER_GIVEN_SERIAL_AUTHORITY, &rule), USHER_OK);
        assert_int_equal(ask_serial_take(e, "q", 3, NULL, &r), USHER_OK);
        usher_result_done(&r);
        assert_int_equal(ask_id_create(e, "d", USHER_GIVEN_ID_MANAGED, &settings), USHER_OK);
        assert_int_equal(ask_id_next(e, "d", 3, NULL, &ids), USHER_OK);
        assert_int_equal(ask_queue_login(e, "desk", "bob", 1, NULL, 0, NULL), USHER_OK);
        assert_int_equal(ask_queue_apply(e, "desk", "ann", NULL, &seat), USHER_OK);
        assert_int_equal(ask_queue_leave(e, "desk", "ann"), USHER_OK);
        (void)ask_queue_drain(e, "desk", NULL);
        assert_int_equal(ask_queue_history(e, "desk", NULL, NULL, 0, &r), USHER_OK);
        usher_result_done(&r);
        assert_int_equal(usher_check(e, NULL, intruding_fault, &i, &found), USHER_OK);
        assert_int_equal(usher_serial_journal(e, "q", NULL, intruding_event, &i), USHER_OK);
        for (unsigned c = 0; c < CLOSES; c++)
            if (s.called[c] == 0 && c != RELEASES)
                fail_msg("%s: call %u was not made", store_at(k)->name, c);
        assert_true(i.asked > 0);
        assert_int_equal(i.refused, i.asked);
        assert_int_equal(i.closes * 3, i.asked);
        i.e = NULL;
        usher_close(e);
        usher_close(i.other);
        fake_authority_done(&s.fake);
    }
}

/* A watcher may use the engine; closing it is refused. */
static void closing_watcher(void *payload, const struct usher_notice *n)
{
    struct intruder *i = payload;

    i->asked++;
    usher_close(i->e);
    i->refused += strstr(usher_message(), "stays open") != NULL;
    if (n->noun == USHER_NUMBER && n->verb == USHER_NUMBER_ADD)
        assert_int_equal(ask_number_reg(i->e, "p", "n1"), USHER_OK);
    usher_close(i->other); /* closing another one is allowed */
    i->other = NULL;
}

static void closing_extension(void *payload, const struct usher_extension_event *event)
{
    struct intruder *i = payload;

    (void)event;
    i->asked++;
    usher_extension_close(i->x);
    i->refused += strstr(usher_message(), "it stays") != NULL;
}

TEST(an_engine_is_not_closed_by_its_own_watcher)
{
    for (unsigned s = 0; s <= n_stores; s++) {
        struct usher_options opt = USHER_OPTIONS_INIT;
        struct intruder i = { NULL, NULL, NULL, 0, 0, 0, true };
        struct usher_text value = { "v", 1 };
        struct usher_watcher *watch;
        char url[STORE_URL_MAX];

        opt.drivers = &rollback_driver;
        assert_true(store_at(s)->fresh(url));
        assert_int_equal(usher_open(url, &opt, &i.e), USHER_OK);
        assert_int_equal(usher_open(url, &opt, &i.other), USHER_OK);
        assert_int_equal(usher_watch(i.e, USHER_NUMBER, NULL, closing_watcher, &i, &watch),
                         USHER_OK);
        assert_int_equal(ask_number_add(i.e, "p", "n1", NULL), USHER_OK);
        assert_int_equal(i.asked, 2); /* of the add, and of its own */
        assert_int_equal(i.refused, 2);
        assert_null(i.other);
        usher_unwatch(i.e, watch);
        assert_int_equal(ask_room_open(i.e, "r", NULL), USHER_OK);
        i.asked = i.refused = 0;
        assert_int_equal(usher_room_extend(i.e, "wb", closing_extension, &i, &i.x), USHER_OK);
        assert_int_equal(usher_extension_set(i.x, "r", "mark", &value, NULL), USHER_OK);
        assert_int_equal(i.asked, 1);
        assert_int_equal(i.refused, 1);
        usher_extension_close(i.x);
        usher_close(i.e);
    }
}

TEST_PROGRAM(stores_start, stores_stop);
