/* SPDX-License-Identifier: MIT */
/*
 * 64 clients take serials and ids while the store is lost repeatedly, and the authority is away or
 * slow for a time: no number is issued twice, and the count of skipped numbers is bounded.
 *
 * Losses are triggered by the count of taken numbers, not by time: clients run a bit ahead of a
 * loss, and wait there.  USHER_OPS is the count in all: a twentieth of it are serials, half of it
 * are ids (make check-long: 10^6 and 10^7).
 */
#include "lib/test.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include <usher/store/authority.h>

#include "lib/calls.h"
#include "lib/stores.h"
#include "lib/util.h"
#ifdef USHER_WITH_REDIS
#include "lib/servers.h"
#endif

#define CLIENTS 64
#define SERIALS_MOST 40 /* of one take */
#define IDS_MOST 400
#define ID_STEP 512
/* src/nouns/serial/serial_authority.c: granted beyond the request */
#define AHEAD 1000

static int64_t serials_wanted, ids_wanted;

/* ---- an authority that can be away, before the one on SQLite ---------------------------- */

struct gate {
    struct usher_authority base;
    struct usher_authority *inner;
    atomic_bool away;
    atomic_int slow_ms;
    atomic_uint refused; /* requests that found it away */
    /* Ranges that may be gaps, by noun: when a deadline ended, the store did not know whether one
     * was granted, or could not release one that it refused. */
    atomic_uint gaps[USHER_ID + 1];
};

static void be_slow(struct gate *g)
{
    int slow = atomic_load(&g->slow_ms);
    struct timespec ts = { 0, (long)slow * 1000000 };

    if (slow > 0)
        (void)nanosleep(&ts, NULL);
}

static bool closed(struct gate *g, char message[192])
{
    if (!atomic_load(&g->away))
        return false;
    (void)atomic_fetch_add(&g->refused, 1);
    (void)snprintf(message, 192, "it is away");
    return true;
}

static enum usher_status gate_reserve(struct usher_authority *a,
                                      const struct usher_authority_want *want, int64_t deadline_ms,
                                      struct usher_authority_range *ret_range, char message[192])
{
    struct gate *g = (struct gate *)a;
    enum usher_status status = USHER_UNAVAILABLE;

    if (!closed(g, message))
        status = g->inner->ops->reserve(g->inner, want, deadline_ms, ret_range, message);
    be_slow(g); /* the range is granted and its answer is late */
    if (status == USHER_UNKNOWN)
        (void)atomic_fetch_add(&g->gaps[want->noun], 1);
    return status;
}

static enum usher_status gate_read(struct usher_authority *a, enum usher_noun noun,
                                   const struct usher_text *name, int64_t deadline_ms,
                                   struct usher_authority_entry *ret_entry, char message[192])
{
    struct gate *g = (struct gate *)a;

    return closed(g, message)
               ? USHER_UNAVAILABLE
               : g->inner->ops->read(g->inner, noun, name, deadline_ms, ret_entry, message);
}

static enum usher_status gate_release(struct usher_authority *a, enum usher_noun noun,
                                      const struct usher_text *name, int64_t from, int64_t to,
                                      int64_t deadline_ms, char message[192])
{
    struct gate *g = (struct gate *)a;
    enum usher_status status = USHER_UNAVAILABLE;

    if (!closed(g, message))
        status = g->inner->ops->release(g->inner, noun, name, from, to, deadline_ms, message);
    if (status != USHER_OK)
        (void)atomic_fetch_add(&g->gaps[noun], 1);
    return status;
}

static void gate_close(struct usher_authority *a)
{
    usher_authority_close(((struct gate *)a)->inner);
}

static const struct usher_authority_ops gate_ops = {
    .size = sizeof(struct usher_authority_ops),
    .name = "gate",
    .reserve = gate_reserve,
    .read = gate_read,
    .release = gate_release,
    .close = gate_close,
};

/* ---- clients ------------------------------------------------------------------------------ */

struct seen {
    _Atomic uint64_t *bits;
    int64_t room;
    _Atomic int64_t n, highest;
    _Atomic int64_t unknown; /* requested without an answer: they may be gaps */
};

struct world {
    struct usher_engine *e;
    struct gate gate;
    struct seen serials, ids;
    atomic_uint failed; /* commands that had a typed error */
    atomic_bool wrong;
    char what[128];
    unsigned losses;
    atomic_int limit; /* of 100: up to here may be taken for now */
    pthread_mutex_t lock;
    pthread_cond_t moved, more; /* something was taken, or failed; the limit was raised */
};

struct client {
    struct world *w;
    uint64_t random;
    pthread_t thread;
};

static void is_wrong(struct world *w, const char *what, int64_t number)
{
    if (!atomic_exchange(&w->wrong, true))
        (void)snprintf(w->what, sizeof w->what, "%s: %" PRId64, what, number);
    (void)pthread_mutex_lock(&w->lock);
    (void)pthread_cond_broadcast(&w->moved);
    (void)pthread_cond_broadcast(&w->more);
    (void)pthread_mutex_unlock(&w->lock);
}

static void see(struct world *w, struct seen *s, int64_t first, int64_t n, const char *what)
{
    int64_t last = first + n - 1, highest = atomic_load(&s->highest);

    if (first < 1 || last >= s->room) {
        is_wrong(w, what, first);
        return;
    }
    for (int64_t i = first; i <= last; i++)
        if ((atomic_fetch_or(&s->bits[i / 64], UINT64_C(1) << (i % 64)) >> (i % 64) & 1) != 0)
            is_wrong(w, what, i);
    while (highest < last && !atomic_compare_exchange_weak(&s->highest, &highest, last))
        ;
    (void)atomic_fetch_add(&s->n, n);
}

/* Return whether more of @s may be taken, of which @wanted are taken in all. */
static bool may(struct world *w, struct seen *s, int64_t wanted)
{
    return atomic_load(&s->n) * 100 < wanted * atomic_load(&w->limit);
}

static void take_serials(struct client *c)
{
    struct world *w = c->w;
    int64_t n = 1 + (int64_t)(next_random(&c->random) % SERIALS_MOST);
    struct usher_result r;
    enum usher_status status = ask_serial_take(w->e, "r", n, NULL, &r);

    if (status == USHER_OK) {
        for (size_t i = 0; i < r.of.serial.n_rows; i++)
            see(w, &w->serials, r.of.serial.rows[i].first, r.of.serial.rows[i].n, "serial");
        usher_result_done(&r);
    } else if (status == USHER_UNKNOWN) {
        (void)atomic_fetch_add(&w->serials.unknown, n + AHEAD); /* the grant, perhaps */
    }
    if (status == USHER_UNAVAILABLE || status == USHER_UNKNOWN)
        (void)atomic_fetch_add(&w->failed, 1);
    else if (status != USHER_OK)
        is_wrong(w, usher_message(), (int64_t)status);
}

static void take_ids(struct client *c)
{
    struct world *w = c->w;
    int64_t n = 1 + (int64_t)(next_random(&c->random) % IDS_MOST);
    struct usher_id_range r = { .first = -1 };
    enum usher_status status = ask_id_next(w->e, "i", n, NULL, &r);

    if (status == USHER_OK)
        see(w, &w->ids, r.first, r.n, "id");
    else if (status == USHER_UNKNOWN)
        (void)atomic_fetch_add(&w->ids.unknown, n + ID_STEP);
    if (status == USHER_UNAVAILABLE || status == USHER_UNKNOWN)
        (void)atomic_fetch_add(&w->failed, 1);
    else if (status != USHER_OK)
        is_wrong(w, usher_message(), (int64_t)status);
}

static void *be_client(void *payload)
{
    struct client *c = payload;
    struct world *w = c->w;

    for (;;) {
        bool serials = may(w, &w->serials, serials_wanted), ids = may(w, &w->ids, ids_wanted);

        if (serials && (!ids || (next_random(&c->random) & 1) != 0))
            take_serials(c);
        else if (ids)
            take_ids(c);
        (void)pthread_mutex_lock(&w->lock);
        (void)pthread_cond_signal(&w->moved);
        while (!atomic_load(&w->wrong) && atomic_load(&w->limit) < 100 &&
               !may(w, &w->serials, serials_wanted) && !may(w, &w->ids, ids_wanted))
            (void)pthread_cond_wait(&w->more, &w->lock);
        (void)pthread_mutex_unlock(&w->lock);
        if (atomic_load(&w->wrong) ||
            (atomic_load(&w->limit) == 100 && !may(w, &w->serials, serials_wanted) &&
             !may(w, &w->ids, ids_wanted)))
            return NULL;
    }
}

/* The caller holds the lock. */
static void raise_limit(struct world *w, int64_t to)
{
    if (to > atomic_load(&w->limit))
        atomic_store(&w->limit, (int)to);
    (void)pthread_cond_broadcast(&w->more);
}

/* Wait until @part of 100 of both were taken. */
static void wait_until(struct world *w, int64_t part)
{
    (void)pthread_mutex_lock(&w->lock);
    raise_limit(w, part + 3);
    while (!atomic_load(&w->wrong) && (atomic_load(&w->serials.n) * 100 < serials_wanted * part ||
                                       atomic_load(&w->ids.n) * 100 < ids_wanted * part))
        (void)pthread_cond_wait(&w->moved, &w->lock);
    (void)pthread_mutex_unlock(&w->lock);
}

/* Wait until @n more commands have failed.  Fewer than ten of 100 were granted before. */
static void wait_for_failures(struct world *w, int64_t part, unsigned n)
{
    unsigned failed = atomic_load(&w->failed);

    (void)pthread_mutex_lock(&w->lock);
    raise_limit(w, part + 10);
    while (!atomic_load(&w->wrong) && atomic_load(&w->failed) < failed + n)
        (void)pthread_cond_wait(&w->moved, &w->lock);
    (void)pthread_mutex_unlock(&w->lock);
}

/* ---- events ------------------------------------------------------------------------------- */

/* Stop the authority from @part on; then slow it down for a while. */
static void stop_and_slow_authority(struct world *w, int64_t part)
{
    wait_until(w, part);
    atomic_store(&w->gate.away, true);
    wait_for_failures(w, part, CLIENTS); /* errors at the deadlines */
    atomic_store(&w->gate.slow_ms, 5);
    atomic_store(&w->gate.away, false);
    wait_until(w, part + 3);
    atomic_store(&w->gate.slow_ms, 0);
}

#ifdef USHER_WITH_REDIS
static struct redis_server *server, *replica;

static void attach(struct redis_server *follower, const struct redis_server *to)
{
    char port[16];

    (void)snprintf(port, sizeof port, "%d", redis_server_port(to));
    assert_true(redis_do_ok(follower, "REPLICAOF", "127.0.0.1", port, NULL));
    assert_true(redis_server_wait_info(follower, "replication", "master_link_status:up", 60000));
}

/* Replace the server by its replica, at the same address.  The last writes did not reach it. */
static void lagging_replica_takes_over(struct world *w, int64_t part)
{
    attach(replica, server);
    assert_true(redis_do_ok(replica, "REPLICAOF", "NO", "ONE", NULL));
    wait_until(w, part);
    attach(server, replica);
    assert_true(redis_do_ok(server, "REPLICAOF", "NO", "ONE", NULL));
    w->losses += 2; /* its first replica costs one, too */
}

static void lose_redis_in_all_ways(struct world *w)
{
    for (int round = 0; round < 2; round++) {
        int64_t part = 10 + 40 * round;

        wait_until(w, part);
        assert_true(redis_do_ok(server, "FLUSHALL", NULL)); /* wiped */
        w->losses++;
        wait_until(w, part + 6);
        /* the server may still send a copy to the replica */
        assert_true(
            redis_server_wait_info(server, "persistence", "rdb_bgsave_in_progress:0", 60000));
        assert_true(redis_do_ok(server, "SAVE", NULL));
        wait_until(w, part + 12);
        assert_int_equal(redis_server_kill(server, SIGKILL), 0); /* and an old dump */
        assert_true(redis_server_restart(server));
        w->losses++;
        wait_until(w, part + 18);
        lagging_replica_takes_over(w, part + 24);
        stop_and_slow_authority(w, part + 30);
    }
}
#endif

static void nothing_is_lost_but_the_authority(struct world *w)
{
    for (int64_t part = 20; part <= 80; part += 30)
        stop_and_slow_authority(w, part);
}

static void seen_init(struct seen *s, int64_t wanted)
{
    memset(s, 0, sizeof *s);
    s->room = 2 * wanted + 1000000;
    s->bits = calloc((size_t)(s->room / 64 + 1), sizeof *s->bits);
    assert_non_null(s->bits);
}

static void run(const char *name, const char *url, void (*happen)(struct world *w))
{
    static struct client clients[CLIENTS];
    static struct world w;
    struct usher_options opt = USHER_OPTIONS_INIT;
    struct usher_id_result_settings set = { .step = ID_STEP };
    struct usher_serial_form form;
    const char *seed = getenv("USHER_SEED"), *tmp = getenv("TMPDIR");
    uint64_t random = seed != NULL ? strtoull(seed, NULL, 10) : (uint64_t)time(NULL);
    char path[300], authority[320], command[1000];
    int64_t skipped, bound;

    print_message("%s: USHER_SEED=%" PRIu64 "\n", name, random);
    memset(&w, 0, sizeof w);
    seen_init(&w.serials, serials_wanted);
    seen_init(&w.ids, ids_wanted);
    assert_int_equal(pthread_mutex_init(&w.lock, NULL), 0);
    assert_int_equal(pthread_cond_init(&w.moved, NULL), 0);
    assert_int_equal(pthread_cond_init(&w.more, NULL), 0);
    (void)snprintf(path, sizeof path, "%s/usher-losses-%ld.db",
                   tmp != NULL && *tmp != '\0' ? tmp : "/tmp", (long)getpid());
    (void)snprintf(authority, sizeof authority, "sqlite:%s", path);
    (void)snprintf(command, sizeof command, "rm -f '%s' '%s-wal' '%s-shm'", path, path, path);
    assert_int_equal(system(command), 0); /* of a test that failed */
    assert_int_equal(usher_authority_open(authority, NULL, &w.gate.inner), USHER_OK);
    w.gate.base.ops = &gate_ops;
    opt.authority = &w.gate.base;
    opt.timeout_ms = 2000;
    if (usher_open(url, &opt, &w.e) != USHER_OK)
        fail_msg("%s: %s", url, usher_message());
    assert_int_equal(ask_id_create(w.e, "i", USHER_GIVEN_ID_STEP, &set), USHER_OK);
    memset(&form, 0, sizeof form);
    (void)snprintf(form.prefix, sizeof form.prefix, "S");
    assert_int_equal(ask_serial_rule(w.e, "r", USHER_GIVEN_SERIAL_PREFIX, &form), USHER_OK);
    /* while clients use the scopes for the first time; longer than a wait for another process */
    atomic_store(&w.gate.slow_ms, 50);
    for (int i = 0; i < CLIENTS; i++) {
        clients[i].w = &w;
        clients[i].random = next_random(&random);
        assert_int_equal(pthread_create(&clients[i].thread, NULL, be_client, &clients[i]), 0);
    }
    wait_until(&w, 2);
    atomic_store(&w.gate.slow_ms, 0);
    happen(&w);
    (void)pthread_mutex_lock(&w.lock);
    raise_limit(&w, 100);
    (void)pthread_mutex_unlock(&w.lock);
    for (int i = 0; i < CLIENTS; i++)
        assert_int_equal(pthread_join(clients[i].thread, NULL), 0);
    if (w.wrong)
        fail_msg("came twice, or was not to come: %s", w.what);
    /* The largest number of skipped values: the rest of a grant for each loss, and requests without
     * answer. */
    skipped = w.serials.highest - w.serials.n;
    bound = (int64_t)(w.losses + w.gate.gaps[USHER_SERIAL]) * (AHEAD + SERIALS_MOST) +
            w.serials.unknown;
    print_message("%s: %" PRId64 " serials, %" PRId64 " skipped (%" PRId64 " at most)\n", name,
                  w.serials.n, skipped, bound);
    assert_in_range(skipped, 0, bound);
    skipped = w.ids.highest - w.ids.n;
    /* the rest of a segment that is too small for a command is not lost: it is issued first */
    bound = (int64_t)(w.losses + w.gate.gaps[USHER_ID]) * (ID_STEP + IDS_MOST) + w.ids.unknown;
    print_message("%s: %" PRId64 " ids, %" PRId64 " skipped (%" PRId64 " at most); %u losses, %u "
                  "errors, %u requests refused\n",
                  name, w.ids.n, skipped, bound, w.losses, w.failed, w.gate.refused);
    assert_in_range(skipped, 0, bound);
    assert_true(w.failed >= CLIENTS);
    /* requests to a dead authority come after 10, 20, 40 … 1000 ms, one at a time for each scope */
    assert_in_range(w.gate.refused, 1, 3 * (2 * 20 + CLIENTS));
    audit(w.e);
    usher_close(w.e);
    usher_authority_close(w.gate.inner);
    (void)pthread_cond_destroy(&w.moved);
    (void)pthread_cond_destroy(&w.more);
    (void)pthread_mutex_destroy(&w.lock);
    free((void *)w.serials.bits);
    free((void *)w.ids.bits);
    assert_int_equal(system(command), 0);
}

static void on_store(const char *name)
{
    const struct test_store *store = stores_named(name);
    char url[STORE_URL_MAX];

    if (store == NULL) {
        stores_skip(name);
        return;
    }
    assert_true(store->fresh(url));
    run(name, url, nothing_is_lost_but_the_authority);
}

TEST(clients_take_from_memory_while_the_authority_is_away)
{
    on_store("memory");
}

TEST(clients_take_from_sqlite_while_the_authority_is_away)
{
    on_store("sqlite");
}

TEST(clients_take_from_redis_while_it_loses_data)
{
#ifdef USHER_WITH_REDIS
    static const char *const lines[] = { "repl-diskless-sync-delay 0", NULL };
    struct redis_server_options opt;
    char url[REDIS_URL_MAX];

    memset(&opt, 0, sizeof opt);
    opt.config = lines;
    if (stores_named("redis") == NULL) {
        stores_skip("redis");
        return;
    }
    server = redis_server_start(&opt);
    replica = redis_server_start(&opt);
    if (server == NULL || replica == NULL)
        fail_msg("%s", redis_reason());
    run("redis", redis_server_url(server, url), lose_redis_in_all_ways);
    redis_server_stop(replica);
    redis_server_stop(server);
#else
    stores_skip("redis");
#endif
}

static int program_begin(void)
{
    int64_t n = (int64_t)number_from("USHER_OPS", 400000);

    serials_wanted = n / 20 > 20000 ? n / 20 : 20000;
    ids_wanted = n / 2 > 20000 ? n / 2 : 20000;
    return stores_start();
}

TEST_PROGRAM(program_begin, stores_stop);
