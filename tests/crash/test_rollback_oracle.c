/* SPDX-License-Identifier: MIT */
/*
 * The oracle of loss: clients of a store that goes back in time, and of one that does not.
 *
 * Four clients, each with an engine of its own, take numbers, serials, ids and agents and change
 * a room, and note each hold with its version.  Then something happens to the store, and each
 * client uses its holds.  The version of each scope in the store is read before any other write, so
 * the oracle is exact:
 *
 *   lost:     holds after that version are answered `lost`, before the next write and after many.
 *   kept:     holds up to that version are not, and later ones neither.
 *   new:      no token is issued twice.
 *   once:     if several clients have a number, at most one can renew it.
 *   back:     a client takes a lost number back if no other client got it since; it is then a call
 *             of the node that the client names.  The same client can confirm a lost bill.
 *   valid:    the store has no fault.
 *
 * The ways to lose something: a replica that lags is promoted; two masters; those, and back again;
 * a cluster whose master is cut off (net_cut.h) and goes on until it notices; everysec and kill -9;
 * an older dump; an older file.  Those that lose nothing, after which no answer may be `lost`:
 * the first replica, a freed backlog, a failover without loss, slots of a cluster that move
 * to another master and back, a restart by SIGTERM and by SIGKILL, a copy of a file in its place.
 *
 * USHER_ROUNDS (3; make check-long: 200) of each; a round has the seed USHER_SEED + its number.
 */
#include "lib/test.h"

#include <signal.h>

#include "lib/command_line.h"
#include "lib/util.h"
#ifdef USHER_WITH_REDIS
#include "lib/net_cut.h"
#include "lib/servers.h"
#endif

#define CLIENTS 4
#define THINGS_MAX 512

enum kind { NUMBER, BILL, IDS, ROOM, LOGIN, KINDS };

/* Commands whose answers have the version of each kind's scope. */
static const char *const reads[KINDS] = { "number stats p", "serial show bill", "id show ids",
                                          "room show lobby", "queue stats desk" };

struct thing {
    enum kind kind;
    unsigned client, branch;
    bool over;              /* given back */
    char id[32], owner[32]; /* of a number */
    uint64_t token;         /* = the version that it was given at */
};

struct world {
    uint64_t seed, random;
    const char *what;
    char url[256];
    struct usher_engine *client[CLIENTS];
    unsigned first, last; /* the clients that take part */
    unsigned branch;      /* of the store's history: 0 before the event, 1 after it */
    struct thing thing[THINGS_MAX];
    size_t n;
    unsigned agents;
    bool apart;  /* clients 0 and 1 are at one end of the network cut, 2 and 3 at the other */
    bool may_go; /* the store may become unavailable, and */
    bool gone;   /* is unavailable */
    bool looked, wiped;
    uint64_t survived[KINDS]; /* of branch 0 */
    uint64_t lost, kept, back;
};

#define wrong(w, ...)                                                                     \
    do {                                                                                  \
        print_error("%s, USHER_SEED=%" PRIu64 " USHER_ROUNDS=1: ", (w)->what, (w)->seed); \
        print_error(__VA_ARGS__);                                                         \
        fail_msg(" ");                                                                    \
    } while (0)

#ifdef USHER_WITH_REDIS
static struct net_cut network;
#endif

/* Enter the network of client @i. */
static void enter_network_of(const struct world *w, unsigned i)
{
#ifdef USHER_WITH_REDIS
    if (w->apart)
        net_cut_enter(&network, i < CLIENTS / 2 ? 0 : 1);
#else
    (void)w;
    (void)i;
#endif
}

static struct usher_engine *client(const struct world *w, unsigned i)
{
    enter_network_of(w, i);
    return w->client[i];
}

/* Return whether @status is from a store that is cut off and has noticed it; nothing was issued
 * then. */
static bool is_gone(struct world *w, enum usher_status status)
{
    w->gone = w->gone || (w->may_go && (status == USHER_UNAVAILABLE || status == USHER_UNKNOWN));
    return w->gone;
}

/* ---- commands ---------------------------------------------------------------------------- */

static void must(struct world *w, struct usher_engine *e, const char *text)
{
    struct usher_result r;

    if (!USHER_IS_DONE(line_execute(e, &r, "%s", text)))
        wrong(w, "%s: %s (%s)\n", text, usher_status_word(r.status), r.message);
    usher_result_done(&r);
}

static struct usher_engine *opened(struct world *w)
{
    struct usher_options options = USHER_OPTIONS_INIT;
    struct usher_engine *e;

    options.timeout_ms = 30000;
    if (usher_open(w->url, &options, &e) != USHER_OK)
        wrong(w, "%s: %s\n", w->url, usher_message());
    return e;
}

static void open_clients(struct world *w, unsigned first, unsigned last)
{
    for (unsigned i = first; i <= last; i++) {
        enter_network_of(w, i);
        w->client[i] = opened(w);
    }
}

static void close_clients(struct world *w)
{
    for (unsigned i = 0; i < CLIENTS; i++) {
        usher_close(w->client[i]);
        w->client[i] = NULL;
    }
}

/* Execute a command in each client, because a dead connection fails the next one. */
static void reconnect_clients(struct world *w)
{
    for (unsigned i = 0; i < CLIENTS; i++) {
        enum usher_status status;
        struct usher_result r;
        int tries = 0;

        do {
            status = line_execute(client(w, i), &r, "number stats p");
            usher_result_done(&r);
        } while (status != USHER_OK && ++tries < 20);
        if (status != USHER_OK)
            wrong(w, "client %u finds no store\n", i);
    }
}

/* Set up the scopes, as an application does when it starts. */
static void set_up(struct world *w)
{
    char text[64];

    for (int i = 0; i < 40; i++) {
        (void)snprintf(text, sizeof text, "number add p %d", 100 + i);
        must(w, client(w, 0), text);
        (void)snprintf(text, sizeof text, "number reg p %d", 100 + i);
        must(w, client(w, 0), text);
    }
    must(w, client(w, 0), "queue set desk ttl=0");
    must(w, client(w, 0), "serial rule bill prefix=B width=6 mode=gapfree");
    must(w, client(w, 0), "id create ids");
    must(w, client(w, 0), "room open lobby log=10000");
}

static void begin(struct world *w)
{
    open_clients(w, 0, CLIENTS - 1);
    w->first = 0;
    w->last = CLIENTS - 1;
    set_up(w);
}

/* Read the version of each scope, before anything is written after the event. */
static void read_versions(struct world *w)
{
    struct usher_engine *e = opened(w);

    for (unsigned k = 0; k < KINDS; k++) {
        struct usher_result r;

        if (line_execute(e, &r, "%s", reads[k]) != USHER_OK)
            wrong(w, "%s: %s (%s)\n", reads[k], usher_status_word(r.status), r.message);
        w->survived[k] = r.version;
        usher_result_done(&r);
    }
    w->looked = true;
    usher_close(e);
}

/* ---- commands of clients ----------------------------------------------------------------- */

static void note(struct world *w, unsigned client, enum kind kind, uint64_t token, const char *id)
{
    struct thing *t = &w->thing[w->n++];

    assert_true(w->n < THINGS_MAX);
    memset(t, 0, sizeof *t);
    t->kind = kind;
    t->client = client;
    t->branch = w->branch;
    t->token = token;
    (void)snprintf(t->id, sizeof t->id, "%s", id);
    for (const struct thing *o = w->thing; o < t; o++)
        if (o->kind == kind && o->token == token)
            wrong(w, "%s and %s have the token %" PRIu64 "\n", o->id, id, token);
}

static void take(struct world *w, unsigned i)
{
    struct usher_engine *e = client(w, i);
    enum kind kind = (enum kind)random_below(&w->random, KINDS);
    struct usher_result r;
    enum usher_status status;
    char id[32];

    switch (kind) {
    case NUMBER:
        (void)snprintf(id, sizeof id, "c%u-%u", i, w->agents++);
        status = line_execute(e, &r, "number call p owner=%s", id);
        if (status == USHER_OK) {
            note(w, i, kind, r.of.number.token, r.of.number.number);
            (void)snprintf(w->thing[w->n - 1].owner, sizeof w->thing->owner, "%s", id);
        }
        break;
    case BILL:
        status =
            line_execute(e, &r, "serial reserve bill owner=c%u-%u lease=36000000", i, w->agents++);
        if (status == USHER_OK) {
            (void)snprintf(id, sizeof id, "B%06" PRId64, r.of.serial.rows[0].first);
            note(w, i, kind, r.of.serial.token, id);
        }
        break;
    case IDS:
        status = line_execute(e, &r, "id next ids n=3");
        if (status == USHER_OK) {
            (void)snprintf(id, sizeof id, "%" PRId64, r.of.id.first);
            note(w, i, kind, r.of.id.token, id);
        }
        break;
    case ROOM:
        status = line_execute(e, &r, "room set lobby f %" PRIu64,
                              random_below(&w->random, UINT64_C(1) << 40));
        if (status == USHER_OK)
            note(w, i, kind, r.version, "");
        break;
    default:
        (void)snprintf(id, sizeof id, "b%u-%u", w->branch, w->agents++);
        status = line_execute(e, &r, "queue login desk %s", id);
        if (status == USHER_OK) {
            note(w, i, LOGIN, r.version, "");
            (void)snprintf(w->thing[w->n - 1].id, sizeof w->thing->id, "%" PRIu64 ".1",
                           r.of.queue.login);
            usher_result_done(&r);
            status = line_execute(e, &r, "queue apply desk u-%s", id); /* gets the free room */
            /* the room exists from then on */
            w->thing[w->n - 1].token = r.version;
            if (status != USHER_OK)
                w->n--;
        }
        break;
    }
    if (status != USHER_OK && status != USHER_EMPTY && !is_gone(w, status))
        wrong(w, "client %u: %s (%s)\n", i, usher_status_word(status), r.message);
    usher_result_done(&r);
}

/* Use the hold @t.  @again: so that it can be used again; return MISSING if it cannot. */
static enum usher_status show(struct world *w, const struct thing *t, bool again)
{
    struct usher_engine *e = client(w, t->client);
    enum usher_status status = USHER_MISSING;
    struct usher_result r;

    memset(&r, 0, sizeof r);
    if (t->kind == ROOM)
        status = line_execute(e, &r, "room changes lobby since=%" PRIu64 " max=1", t->token);
    else if (t->kind == NUMBER)
        status = line_execute(e, &r, "number renew p %s token=%" PRIu64 " lease=36000000", t->id,
                              t->token);
    else if (again)
        return USHER_MISSING;
    else if (t->kind == BILL)
        status = line_execute(e, &r, "serial confirm bill %s token=%" PRIu64, t->id, t->token);
    else if (t->kind == IDS)
        status = line_execute(e, &r, "id return ids %s 3 token=%" PRIu64, t->id, t->token);
    else
        status = line_execute(e, &r, "queue finish desk %s", t->id);
    if (status >= USHER_INVALID && status != USHER_LOST && !is_gone(w, status))
        wrong(w, "%s is shown: %s (%s)\n", t->id, usher_status_word(status), r.message);
    usher_result_done(&r);
    /* a closed and opened room has the same name, so its earlier versions are stale */
    return w->wiped && t->kind == ROOM && status == USHER_STALE ? USHER_LOST : status;
}

static void give_back(struct world *w, struct thing *t)
{
    struct usher_result r;
    enum usher_status status;

    if (t->kind == NUMBER) {
        status = line_execute(client(w, t->client), &r, "number hangup p %s token=%" PRIu64, t->id,
                              t->token);
        if (status != USHER_OK && !is_gone(w, status))
            wrong(w, "%s is hung up: %s (%s)\n", t->id, usher_status_word(status), r.message);
        usher_result_done(&r);
    } else if (t->kind == BILL) {
        if (show(w, t, false) != USHER_OK && !w->gone)
            wrong(w, "%s is not confirmed\n", t->id);
    } else {
        return;
    }
    t->over = !w->gone;
}

/* Take @n things, and sometimes give back one of those taken since @from. */
static void play(struct world *w, unsigned n, size_t from)
{
    while (n-- > 0 && !w->gone) {
        unsigned i = w->first + (unsigned)random_below(&w->random, w->last - w->first + 1);

        take(w, i);
        if (random_below(&w->random, 3) == 0 && w->n > from) {
            struct thing *t = &w->thing[from + random_below(&w->random, w->n - from)];

            if (!t->over && t->branch == w->branch)
                give_back(w, t);
        }
    }
}

/* ---- the oracle -------------------------------------------------------------------------- */

static bool is_lost(const struct world *w, const struct thing *t)
{
    return w->looked && t->branch == 0 && t->token > w->survived[t->kind];
}

/* Return whether another client has the lost number of @t for a call, or its lost bill, even if
 * that is confirmed. */
static bool is_taken(const struct world *w, const struct thing *t)
{
    for (size_t k = 0; k < w->n; k++) {
        const struct thing *other = &w->thing[k];

        if (other->kind == t->kind && (t->kind == BILL || !other->over) &&
            strcmp(other->id, t->id) == 0 && !is_lost(w, other))
            return true;
    }
    return false;
}

/* Check the @status of using @t.  A lost bill that no other client has can be confirmed. */
static void check_status(struct world *w, struct thing *t, enum usher_status status)
{
    bool lost = is_lost(w, t), settled = lost && t->kind == BILL && !is_taken(w, t);

    if (settled ? status != USHER_OK : lost != (status == USHER_LOST))
        wrong(w, "%s %s given at version %" PRIu64 " (branch %u; the store has %" PRIu64 "): %s\n",
              reads[t->kind], t->id, t->token, t->branch, w->survived[t->kind],
              usher_status_word(status));
    w->lost += lost && !settled;
    w->back += settled;
    w->kept += !lost;
}

static void show_all(struct world *w, bool again)
{
    size_t begin_at = (size_t)random_below(&w->random, w->n);

    for (size_t i = 0; i < w->n; i++) {
        struct thing *t = &w->thing[(begin_at + i) % w->n];
        enum usher_status status;

        if (t->over || (again && random_below(&w->random, 2) == 0))
            continue;
        status = show(w, t, again);
        if (status != USHER_MISSING || !again)
            check_status(w, t, status);
        if (t->kind == NUMBER && USHER_IS_DONE(status))
            for (size_t k = 0; k < w->n; k++)
                if (&w->thing[k] != t && !w->thing[k].over && w->thing[k].kind == NUMBER &&
                    strcmp(w->thing[k].id, t->id) == 0 &&
                    USHER_IS_DONE(show(w, &w->thing[k], true)))
                    wrong(w, "%s is held twice\n", t->id);
    }
}

/* Take each lost number back, in rotated order. */
static void take_back(struct world *w)
{
    struct usher_engine *e = w->client[0];
    size_t begin_at = (size_t)random_below(&w->random, w->n), n = 0;
    struct usher_result r;

    for (size_t i = 0; i < w->n; i++) {
        struct thing *t = &w->thing[(begin_at + i) % w->n];
        enum usher_status status, want;

        if (t->kind != NUMBER || t->over || !is_lost(w, t))
            continue;
        want = is_taken(w, t) ? USHER_LOST : USHER_OK;
        status = line_execute(w->client[t->client], &r,
                              "number renew p %s token=%" PRIu64 " owner=%s node=m lease=36000000",
                              t->id, t->token, t->owner);
        if (status != want)
            wrong(w, "%s is taken back: %s (%s)\n", t->id, usher_status_word(status), r.message);
        if (status == USHER_OK) {
            t->token = r.of.number.token;
            t->branch = 1;
            n++;
        }
        usher_result_done(&r);
    }
    if (line_execute(e, &r, "number list p node=m") != USHER_OK || r.of.number.n_rows != n)
        wrong(w, "of %zu numbers taken back %zu are of their node\n", n, r.of.number.n_rows);
    usher_result_done(&r);
    w->back += n;
}

/* Check all holds, when the store has its final state and all clients use it. */
static void end(struct world *w)
{
    uint64_t faults = 1;

    w->first = 0;
    w->last = CLIENTS - 1;
    w->branch = 1;
    show_all(w, true);
    play(w, 30, w->n);
    show_all(w, true);
    take_back(w);
    show_all(w, false);
    assert_int_equal(check_faults(client(w, 0), print_fault, NULL, &faults), USHER_OK);
    if (faults != 0)
        wrong(w, "%" PRIu64 " faults\n", faults);
    close_clients(w);
}

/* ---- rounds ------------------------------------------------------------------------------ */

/* Run the rounds.  Return the number of answers `lost`. */
static uint64_t rounds(const char *what, void (*one)(struct world *), bool loses)
{
    static struct world w;
    uint64_t seed = number_from("USHER_SEED", 20261122), lost = 0, kept = 0, back = 0;
    /* USHER_ROUNDS of check-long is for rounds that take less than a second */
    uint64_t n = budget_long() ? 200 : budget_of("USHER_ROUNDS", 3);

    for (uint64_t i = 0; i < n; i++) {
        memset(&w, 0, sizeof w);
        w.seed = w.random = seed + i;
        w.what = what;
        one(&w);
        lost += w.lost;
        kept += w.kept;
        back += w.back;
    }
    print_message("%s: %" PRIu64 " rounds, %" PRIu64 " answers of a loss, %" PRIu64 " not; %" PRIu64
                  " numbers and bills taken back\n",
                  what, n, lost, kept, back);
    assert_true(kept > 0);
    if (!loses)
        assert_true(lost == 0);
    return lost;
}

#ifdef USHER_WITH_SQLITE
static void in_dir(const char *command)
{
    char text[256];

    (void)snprintf(text, sizeof text, "cd %s && %s", test_dir(), command);
    assert_int_equal(system(text), 0);
}

static void file_begin(struct world *w)
{
    in_dir("rm -f s.db* copy");
    (void)snprintf(w->url, sizeof w->url, "sqlite:%s/s.db", test_dir());
    begin(w);
    play(w, 30, 0);
    close_clients(w);
    in_dir("cp s.db copy");
    open_clients(w, 0, CLIENTS - 1);
}

static void older_file(struct world *w)
{
    file_begin(w);
    play(w, 30, w->n);
    close_clients(w);
    in_dir("mv copy s.db");
    read_versions(w);
    open_clients(w, 0, CLIENTS - 1);
    end(w);
}

static void whole_file(struct world *w)
{
    file_begin(w);
    play(w, 30, w->n);
    close_clients(w);
    in_dir("cp s.db copy && mv copy s.db");
    open_clients(w, 0, CLIENTS - 1);
    end(w);
}

TEST_WITH(an_older_file, NULL, test_dir_remove)
{
    (void)rounds("an older file", older_file, true);
}

TEST_WITH(a_complete_copy, NULL, test_dir_remove)
{
    (void)rounds("a complete copy", whole_file, false);
}
#endif

#ifdef USHER_WITH_REDIS
static struct redis_server *a, *b;

static void server_begin(struct world *w, enum redis_aof aof, bool two)
{
    /* a replica is made at once */
    static const char *const config[] = { "repl-diskless-sync-delay 0", NULL };
    struct redis_server_options options = { .aof = aof, .config = config };

    a = redis_server_start(&options);
    b = two ? redis_server_start(&options) : NULL;
    assert_true(a != NULL && (b != NULL) == two);
    (void)snprintf(w->url, sizeof w->url, "redis://127.0.0.1:%d", redis_server_port(a));
    begin(w);
    play(w, 30, 0);
}

static void server_end(void)
{
    redis_server_stop(a);
    redis_server_stop(b);
    a = b = NULL;
}

static void replicate(struct redis_server *to, struct redis_server *from)
{
    char port[16];

    (void)snprintf(port, sizeof port, "%d", redis_server_port(from));
    assert_true(redis_do_ok(to, "REPLICAOF", "127.0.0.1", port, NULL));
    assert_true(redis_server_wait_info(to, "replication", "master_link_status:up", 60000));
}

/* Wait until the replica has all writes. */
static void caught_up(struct redis_server *from)
{
    redisReply *r;

    assert_true(redis_do_ok(from, "SET", "marker", "1", NULL));
    r = redis_do(from, "WAIT", "1", "60000", NULL);
    assert_true(r != NULL && r->type == REDIS_REPLY_INTEGER && r->integer == 1);
    freeReplyObject(r);
}

static void promote(struct redis_server *s)
{
    assert_true(redis_do_ok(s, "REPLICAOF", "NO", "ONE", NULL));
}

static void move_to(struct world *w, const struct redis_server *s)
{
    (void)snprintf(w->url, sizeof w->url, "redis://127.0.0.1:%d", redis_server_port(s));
}

static void lagging_replica(struct world *w)
{
    server_begin(w, REDIS_AOF_OFF, true);
    replicate(b, a);
    play(w, 10, w->n);
    caught_up(a);
    assert_int_equal(redis_server_kill(b, SIGSTOP), 0);
    assert_true(redis_do_ok(a, "CLIENT", "KILL", "TYPE", "replica", NULL));
    play(w, 20, w->n);
    assert_int_equal(redis_server_kill(a, SIGKILL), 0);
    assert_int_equal(redis_server_kill(b, SIGCONT), 0);
    promote(b);
    close_clients(w);
    move_to(w, b);
    read_versions(w);
    open_clients(w, 0, CLIENTS - 1);
    end(w);
    server_end();
}

/* Both masters serve: @a clients 0 and 1, @b clients 2 and 3. */
static void split(struct world *w)
{
    server_begin(w, REDIS_AOF_OFF, true);
    replicate(b, a);
    caught_up(a);
    promote(b);
    move_to(w, b);
    read_versions(w);
    for (unsigned i = 2; i < CLIENTS; i++) {
        usher_close(w->client[i]);
        w->client[i] = opened(w);
    }
    for (int i = 0; i < 6; i++) {
        w->branch = i % 2 == 0 ? 0 : 1;
        w->first = w->branch * 2;
        w->last = w->first + 1;
        play(w, 6, w->n);
    }
    w->branch = 1;
}

static void two_masters(struct world *w)
{
    split(w);
    replicate(a, b); /* discards the data of @a */
    for (unsigned i = 0; i < 2; i++) {
        usher_close(w->client[i]);
        w->client[i] = opened(w);
    }
    end(w);
    server_end();
}

static void there_and_back(struct world *w)
{
    split(w);
    replicate(a, b);
    caught_up(b);
    promote(a);
    assert_int_equal(redis_server_kill(b, SIGKILL), 0);
    /* An open connection would not notice the event: it checks the server once a second, and all
     * this takes less (backends/redis/README.md). */
    close_clients(w);
    move_to(w, a);
    open_clients(w, 0, CLIENTS - 1);
    end(w);
    server_end();
}

/* The server is killed and started again with the writes that are on disk. */
static void killed(struct world *w)
{
    play(w, 30, w->n);
    assert_int_equal(redis_server_kill(a, SIGKILL), 0);
    assert_true(redis_server_restart(a));
    read_versions(w);
    reconnect_clients(w);
    end(w);
    server_end();
}

static void everysec_killed(struct world *w)
{
    server_begin(w, REDIS_AOF_EVERYSEC, false);
    killed(w);
}

static void older_dump(struct world *w)
{
    server_begin(w, REDIS_AOF_OFF, false);
    assert_true(redis_do_ok(a, "SAVE", NULL));
    killed(w);
}

/* The server loses all data, and the application sets everything up again, as at each start: no
 * earlier token may be valid then. */
static void wiped(struct world *w)
{
    bool kill9 = random_below(&w->random, 2) == 0;

    server_begin(w, REDIS_AOF_OFF, false);
    if (kill9) {
        close_clients(w);
        assert_int_equal(redis_server_kill(a, SIGKILL), 0);
        assert_true(redis_server_restart(a));
        open_clients(w, 0, CLIENTS - 1);
    } else {
        assert_true(redis_do_ok(a, "FLUSHALL", NULL));
    }
    assert_int_equal(redis_server_keys(a), 0);
    w->looked = w->wiped = true; /* nothing of branch 0 survives */
    set_up(w);
    end(w);
    server_end();
}

static void first_replica(struct world *w)
{
    server_begin(w, REDIS_AOF_OFF, true);
    replicate(b, a);
    end(w);
    server_end();
}

static void freed_backlog(struct world *w)
{
    server_begin(w, REDIS_AOF_OFF, true);
    assert_true(redis_do_ok(a, "CONFIG", "SET", "repl-backlog-ttl", "1", NULL));
    replicate(b, a);
    play(w, 10, w->n);
    promote(b);
    assert_true(redis_server_wait_info(a, "replication", "repl_backlog_active:0", 60000));
    end(w);
    server_end();
}

static void clean_failover(struct world *w)
{
    server_begin(w, REDIS_AOF_OFF, true);
    replicate(b, a);
    play(w, 20, w->n);
    caught_up(a);
    promote(b);
    assert_int_equal(redis_server_kill(a, random_below(&w->random, 2) == 0 ? SIGKILL : SIGTERM), 0);
    close_clients(w);
    move_to(w, b);
    open_clients(w, 0, CLIENTS - 1);
    end(w);
    server_end();
}

static void restart(struct world *w)
{
    bool kill9 = random_below(&w->random, 2) == 0;

    server_begin(w, kill9 ? REDIS_AOF_ALWAYS : REDIS_AOF_EVERYSEC, false);
    assert_int_equal(redis_server_kill(a, kill9 ? SIGKILL : SIGTERM), 0);
    assert_true(redis_server_restart(a));
    reconnect_clients(w);
    end(w);
    server_end();
}

/* ---- a cluster ---------------------------------------------------------------------------- */

/* Three masters, of which the first has all slots but two, so a client of a single server can use
 * it alone. */
#define MASTERS 3
#define CLUSTER_SLOTS 16384
#define SLOTS_MOVED_MAX 64

static struct redis_cluster *cluster;

static void serve(struct world *w, const struct redis_server *s)
{
    char url[REDIS_URL_MAX];

    (void)snprintf(w->url, sizeof w->url, "%s", redis_server_url(s, url));
}

static void move_clients_to(struct world *w, const struct redis_server *s)
{
    close_clients(w);
    serve(w, s);
    open_clients(w, 0, CLIENTS - 1);
}

static void cluster_begin(struct world *w, struct redis_server **node, int replicas)
{
    cluster = redis_cluster_of(MASTERS, replicas, node, false);
    if (cluster == NULL)
        fail_msg("%s", redis_reason());
    serve(w, cluster->node[0]);
    begin(w);
    play(w, 30, 0);
}

static int cluster_end(void **state)
{
    (void)state;
    redis_cluster_stop(cluster);
    cluster = NULL;
    return 0;
}

/* The store is unavailable to client @i.  If the deadline ends between a request and its answer,
 * the status is unknown and the client tries again. */
static void must_be_unavailable(struct world *w, unsigned i)
{
    struct usher_options options = USHER_OPTIONS_INIT;
    enum usher_status status = USHER_UNKNOWN;

    enter_network_of(w, i);
    options.timeout_ms = 500;
    for (int tries = 0; tries < 20 && status == USHER_UNKNOWN; tries++) {
        struct usher_engine *e = NULL;
        struct usher_result r;

        status = usher_open(w->url, &options, &e);
        if (status == USHER_OK) {
            status = line_execute(e, &r, "number call p owner=absent");
            usher_result_done(&r);
        }
        usher_close(e);
    }
    if (status != USHER_UNAVAILABLE)
        wrong(w, "cut off: %s\n", usher_status_word(status));
}

/* Fail over without loss: the master waits for its replica. */
static void hand_over(struct redis_server *from, struct redis_server *to)
{
    bool done = false;

    assert_true(redis_cluster_wait_whole(cluster, 60000));
    /* a failover that takes 5 s fails */
    for (int tries = 0; tries < 10 && !done; tries++) {
        freeReplyObject(redis_do(to, "CLUSTER", "FAILOVER", NULL));
        done = redis_server_wait_info(to, "replication", "role:master", 6000);
    }
    assert_true(done);
    assert_true(redis_server_wait_info(from, "replication", "role:slave", 60000));
    assert_true(redis_node_wait_info(to, "cluster_state:ok", 60000));
}

/* The master is cut off from all but clients 0 and 1, and serves them until it notices; its
 * replica is elected by the other masters and serves 2 and 3.  Then the network is whole again. */
static void cut_off(struct world *w)
{
    /* no replica takes over before the master is cut off, also on a slow machine */
    static const char *const config[] = { "cluster-node-timeout 2000",
                                          "cluster-replica-no-failover yes", NULL };
    struct redis_server_options options = { .cluster = true, .config = config };
    struct redis_server *node[MASTERS + 1], *master, *heir;

    for (int i = 0; i < MASTERS + 1; i++) {
        options.address = net_cut_address[i > 0];
        options.netns = network.end[i > 0];
        node[i] = redis_server_start(&options);
    }
    w->apart = true;
    cluster_begin(w, node, 1);
    master = cluster->node[0];
    heir = cluster->node[MASTERS];

    assert_true(net_cut_pull(&network));
    assert_true(redis_do_ok(heir, "CONFIG", "SET", "cluster-replica-no-failover", "no", NULL));
    w->last = 1;
    w->may_go = true;
    play(w, 24, w->n);
    w->may_go = w->gone = false;
    assert_true(redis_node_wait_info(master, "cluster_state:fail", 60000));
    must_be_unavailable(w, 0);

    assert_true(redis_server_wait_info(heir, "replication", "role:master", 60000));
    assert_true(redis_node_wait_info(heir, "cluster_state:ok", 60000));
    serve(w, heir);
    enter_network_of(w, 2);
    read_versions(w);
    w->branch = 1;
    w->first = 2;
    w->last = 3;
    for (unsigned i = w->first; i <= w->last; i++) {
        usher_close(w->client[i]);
        w->client[i] = opened(w);
    }
    play(w, 24, w->n);

    assert_true(net_cut_plug(&network));
    assert_true(redis_server_wait_info(master, "replication", "role:slave", 60000));
    assert_true(redis_server_wait_info(master, "replication", "master_link_status:up", 60000));
    serve(w, master);
    must_be_unavailable(w, 0);
    move_clients_to(w, heir);
    show_all(w, true);
    w->first = 0;
    play(w, 12, w->n);
    /* fail over back to the master that was cut off */
    hand_over(heir, master);
    move_clients_to(w, master);
    end(w);
    (void)cluster_end(NULL);
}

static int net_cut_end(void **state)
{
    (void)cluster_end(state);
    net_cut_done(&network);
    return 0;
}

TEST_WITH(a_master_is_cut_off, NULL, net_cut_end)
{
    net_cut_lay_or_skip(&network);
    assert_true(rounds("a master is cut off", cut_off, true) > 0);
}

/* Move every slot with keys to @target while the source serves. */
static void move_slots_to(struct world *w, struct redis_server *source, struct redis_server *target)
{
    struct redis_move move[SLOTS_MOVED_MAX];
    redisReply *keys = redis_do(source, "KEYS", "*", NULL);
    bool moves[CLUSTER_SLOTS] = { false };
    size_t n = 0;

    assert_true(keys != NULL && keys->type == REDIS_REPLY_ARRAY && keys->elements > 0);
    for (size_t i = 0; i < keys->elements; i++) {
        redisReply *r = redis_do(source, "CLUSTER", "KEYSLOT", keys->element[i]->str, NULL);

        assert_true(r != NULL && r->type == REDIS_REPLY_INTEGER);
        if (!moves[r->integer]) {
            assert_true(n < SLOTS_MOVED_MAX);
            move[n++] = (struct redis_move){ cluster, source, target, (int)r->integer, "", "" };
        }
        moves[r->integer] = true;
        freeReplyObject(r);
    }
    freeReplyObject(keys);
    for (size_t i = 0; i < n; i++)
        assert_true(redis_move_begin(&move[i]));
    play(w, 6, 0);
    for (size_t i = 0; i < n; i++)
        assert_true(redis_move_end(&move[i]));
    must_be_unavailable(w, 0);
    move_clients_to(w, target);
}

static void migrated(struct world *w)
{
    struct redis_server_options options = { .cluster = true };
    struct redis_server *node[MASTERS];

    for (int i = 0; i < MASTERS; i++)
        node[i] = redis_server_start(&options);
    cluster_begin(w, node, 0);
    for (int i = 0; i < 3; i++) {
        move_slots_to(w, cluster->node[i % 2], cluster->node[1 - i % 2]);
        show_all(w, true);
        if (i > 0)
            play(w, 6, 0);
    }
    end(w);
    (void)cluster_end(NULL);
}

#define ROUNDS_OF(name, one, text, loses) \
    TEST(name)                            \
    {                                     \
        (void)rounds(text, one, loses);   \
    }

ROUNDS_OF(a_lagging_replica_is_promoted, lagging_replica, "a lagging replica is promoted", true)
ROUNDS_OF(two_masters_serve, two_masters, "two masters", true)
ROUNDS_OF(two_masters_and_a_switch_back, there_and_back, "two masters and a switch back", true)
ROUNDS_OF(everysec_and_kill, everysec_killed, "everysec and kill -9", true)
ROUNDS_OF(an_older_dump, older_dump, "an older dump", true)
ROUNDS_OF(a_wiped_server, wiped, "a wiped server", true)
ROUNDS_OF(the_first_replica, first_replica, "the first replica", false)
ROUNDS_OF(a_freed_backlog, freed_backlog, "a freed backlog", false)
ROUNDS_OF(a_failover_without_loss, clean_failover, "a failover without loss", false)
TEST_WITH(slots_move_and_come_back, NULL, cluster_end)
{
    (void)rounds("slots move and come back", migrated, false);
}
ROUNDS_OF(a_restart_without_loss, restart, "a restart without loss", false)
#endif

#ifdef USHER_WITH_REDIS
static int program_begin(void)
{
    net_cut_prepare();
    return 0;
}

TEST_PROGRAM(program_begin, NULL);
#endif
