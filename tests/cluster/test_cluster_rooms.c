/* SPDX-License-Identifier: MIT */
/*
 * Rooms on a cluster, which are in one scope each and in the index, another scope, mostly on
 * another master.  Threads on one engine open, fill and close rooms while slots of rooms and of the
 * index move and masters change, with a watcher on all rooms and one on one of them.
 *
 *   order:    notices of a room come in the order of versions, each after the one before.  A gap is
 *             a change whose answer did not come.  A new life of a room begins at version 0.
 *   same:     a watcher of one room receives the same notices of it as a watcher of all rooms.
 *   index:    in the end the open rooms are listed, and the check finds no fault.  If a command
 *             failed or was lost, a repair comes first.
 *
 * budget_rounds() is the number of rounds; a round has the seed USHER_SEED + its number.
 *
 * And rooms that are swept while a node is silent, which has the room or its entry.
 */
#include "lib/test.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include <usher/command.h>

#include "nouns/room/room_directory.h"
#include "lib/command_line.h"
#include "lib/expect.h"
#include "lib/servers.h"
#include "lib/util.h"

#define MASTERS 3
#define NODES 6
#define THREADS 8
#define ROOMS 24
#define MOVES 3 /* rooms whose slots move, with their parts of the index */
#define TIMEOUT_MS (budget_slow() ? 8000 : 1500)
#define PATIENCE_MS 60000

/* The notices of a room that a watcher has received. */
struct received {
    uint64_t epoch, version;
    uint64_t notices, lives, gaps;
    uint64_t sum; /* of versions, to compare with another watcher */
};

struct caller {
    uint64_t random;
    pthread_t thread;
    _Atomic unsigned calls;
    unsigned failed, lost;
    char bad[256];
};

static struct redis_cluster *cluster;
static char url[REDIS_URL_MAX];
static struct usher_engine *engine;
static struct caller callers[THREADS];
static unsigned running; /* of them */
static _Atomic bool stop;

static struct {
    const char *what;
    uint64_t seed, random;
    bool loses;
    pthread_mutex_t lock; /* of what follows */
    struct received of[ROOMS], alone;
    char bad[256];
} now = { .lock = PTHREAD_MUTEX_INITIALIZER };

#define wrong(...)                                                                      \
    do {                                                                                \
        print_error("%s, USHER_SEED=%" PRIu64 " USHER_ROUNDS=1: ", now.what, now.seed); \
        print_error(__VA_ARGS__);                                                       \
        fail_msg(" ");                                                                  \
    } while (0)

static unsigned below(uint64_t *random, unsigned n)
{
    uint64_t z = (*random += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (unsigned)((z ^ (z >> 31)) % n);
}

/* ---- watchers --------------------------------------------------------------------------- */

static void count_notice(struct received *h, const struct usher_notice *n)
{
    bool begins = n->epoch != h->epoch;

    if (n->verb == USHER_NOTICE_LOST)
        return;
    if (!begins && n->version <= h->version && now.bad[0] == '\0')
        (void)snprintf(now.bad, sizeof now.bad,
                       "room %.*s: version %" PRIu64 " comes after %" PRIu64, (int)n->scope.size,
                       n->scope.data, n->version, h->version);
    h->gaps += n->before != (begins ? 0 : h->version);
    h->lives += begins;
    h->notices++;
    h->sum += n->version ^ n->epoch;
    h->epoch = n->epoch;
    h->version = n->version;
}

static void on_notice_of_all(void *payload, const struct usher_notice *n)
{
    unsigned i = 0;

    (void)payload;
    for (size_t k = 4; k < n->scope.size; k++) /* after "hall" */
        i = i * 10 + (unsigned)(n->scope.data[k] - '0');
    (void)pthread_mutex_lock(&now.lock);
    if (i < ROOMS)
        count_notice(&now.of[i], n);
    (void)pthread_mutex_unlock(&now.lock);
}

static void on_notice_of_one(void *payload, const struct usher_notice *n)
{
    (void)payload;
    (void)pthread_mutex_lock(&now.lock);
    count_notice(&now.alone, n);
    (void)pthread_mutex_unlock(&now.lock);
}

/* ---- callers ---------------------------------------------------------------------------- */

static void *caller_main(void *payload)
{
    struct caller *c = payload;

    while (!atomic_load(&stop)) {
        unsigned what = below(&c->random, 100), room = below(&c->random, ROOMS);
        unsigned member = below(&c->random, 5);
        struct usher_result r;
        enum usher_status status;
        char text[96];

        if (what < 20)
            (void)snprintf(text, sizeof text, "room open hall%u", room);
        else if (what < 45)
            (void)snprintf(text, sizeof text, "room join hall%u m%u", room, member);
        else if (what < 70)
            (void)snprintf(text, sizeof text, "room set hall%u f v%u", room, c->calls);
        else if (what < 85)
            (void)snprintf(text, sizeof text, "room leave hall%u m%u", room, member);
        else if (what < 97)
            (void)snprintf(text, sizeof text, "room close hall%u", room);
        else
            text[0] = '\0';
        status = text[0] != '\0' ? line_execute(engine, &r, "%s", text)
                                 : usher__room_list(engine, NULL, 0, ROOMS, -1, &r);
        c->failed += status == USHER_UNAVAILABLE || status == USHER_UNKNOWN;
        c->lost += status == USHER_LOST;
        if ((status == USHER_INVALID || status == USHER_NOMEM) && c->bad[0] == '\0')
            (void)snprintf(c->bad, sizeof c->bad, "%s: %s (%.100s)", text,
                           usher_status_word(status), r.message);
        usher_result_done(&r);
        atomic_fetch_add(&c->calls, 1);
        rest_us(budget_slow() ? 5000 : 1000);
    }
    return NULL;
}

/* End callers that a failed test has left. */
static int callers_end(void **state)
{
    (void)state;
    atomic_store(&stop, true);
    while (running > 0)
        (void)pthread_join(callers[--running].thread, NULL);
    return 0;
}

TEST_EACH(NULL, callers_end);

static void wait_calls(unsigned n)
{
    unsigned have[THREADS];
    int64_t end_ms = clock_ms() + PATIENCE_MS;

    for (unsigned i = 0; i < THREADS; i++)
        have[i] = atomic_load(&callers[i].calls);
    for (unsigned i = 0; i < THREADS; i++)
        while (atomic_load(&callers[i].calls) < have[i] + n) {
            if (clock_ms() > end_ms)
                wrong("caller %u does not get on\n", i);
            rest_us(2000);
        }
}

/* ---- operations on the cluster ---------------------------------------------------------- */

/* Move a slot to the next master, and back. */
static void move_slot_and_back(int slot)
{
    struct redis_server *from = redis_cluster_owner(cluster, cluster->node[0], slot), *to = NULL;

    assert_non_null(from);
    for (int other = 0; to == NULL || to == from; other++)
        to = redis_cluster_owner(cluster, cluster->node[0], other * (16384 / MASTERS) + 100);
    for (int i = 0; i < 2; i++) {
        struct redis_move move = { cluster, i == 0 ? from : to, i == 0 ? to : from, slot, "", "" };

        assert_true(redis_move_begin(&move));
        wait_calls(4);
        assert_true(redis_move_end(&move));
        wait_calls(4);
    }
}

static void slots_move(void)
{
    for (int i = 0; i < MOVES; i++) {
        char name[16], part[USHER__ROOM_PARTITION];
        int n = snprintf(name, sizeof name, "hall%u", below(&now.random, ROOMS));
        struct usher_text room = { name, (size_t)n };

        usher__room_partition(&room, part);
        move_slot_and_back(redis_cluster_slot(cluster, name));
        move_slot_and_back(redis_cluster_slot(cluster, part));
    }
}

static void masters_are_handed_over(void)
{
    for (int i = 0; i < MASTERS; i++) {
        struct redis_server *master =
            redis_cluster_owner(cluster, cluster->node[0], i * (16384 / MASTERS) + 100);

        assert_non_null(master);
        if (!redis_cluster_hand_over(cluster, master, PATIENCE_MS))
            wrong("%s\n", redis_reason());
        wait_calls(10);
    }
}

static void a_master_dies(void)
{
    struct redis_server *master = redis_cluster_owner(
        cluster, cluster->node[0], (int)below(&now.random, MASTERS) * (16384 / MASTERS) + 100);
    struct redis_server *heir = redis_cluster_replica_of(cluster, master);

    assert_non_null(heir);
    assert_int_equal(redis_server_kill(master, SIGKILL), 0);
    assert_true(redis_server_wait_info(heir, "replication", "role:master", PATIENCE_MS));
    assert_true(redis_cluster_wait_ok(cluster, PATIENCE_MS));
    wait_calls(10);
    assert_true(redis_server_restart(master));
}

/* ---- afterwards ------------------------------------------------------------------------- */

static void print_line(void *payload, const char *line)
{
    (void)payload;
    print_message("  %s\n", line);
}

/* Check the index.  @calm: all commands were answered, also those of the engine on the index, and
 * nothing was lost. */
static void check_index(bool calm)
{
    struct usher_options options = USHER_OPTIONS_INIT;
    struct usher_check_result found = { 0 };
    struct usher_engine *e;
    struct usher_result list;
    unsigned open = 0;

    options.timeout_ms = PATIENCE_MS;
    assert_int_equal(usher_open(url, &options, &e), USHER_OK);
    if (!calm)
        assert_int_equal(usher_check(e, &repairing, NULL, NULL, &found), USHER_OK);
    assert_int_equal(usher_check(e, NULL, print_line, NULL, &found), USHER_OK);
    if (found.faults != 0 || found.partial)
        wrong("%" PRIu64 " faults\n", found.faults);
    assert_int_equal(usher__room_list(e, NULL, 0, 2 * ROOMS, -1, &list), USHER_OK);
    for (unsigned i = 0; i < ROOMS; i++) {
        char name[16];
        int size = snprintf(name, sizeof name, "hall%u", i);
        struct usher_result r;
        unsigned times = 0;
        enum usher_status status = line_execute(e, &r, "room show %s", name);

        for (size_t k = 0; k < list.of.room.n_rows; k++)
            times += list.of.room.rows[k].id.size == (size_t)size &&
                     memcmp(list.of.room.rows[k].id.data, name, (size_t)size) == 0;
        if (times != (status == USHER_OK))
            wrong("%s is listed %u times: %s\n", name, times, usher_status_word(status));
        open += times;
        usher_result_done(&r);
    }
    assert_int_equal(list.of.room.n_rows, open);
    usher_result_done(&list);
    usher_close(e);
}

static void check_notices(unsigned failed)
{
    uint64_t notices = 0, lives = 0, gaps = 0;

    if (now.bad[0] != '\0')
        wrong("%s\n", now.bad);
    for (unsigned i = 0; i < ROOMS; i++) {
        notices += now.of[i].notices;
        lives += now.of[i].lives;
        gaps += now.of[i].gaps;
    }
    print_message("%s, seed %" PRIu64 ": %" PRIu64 " notices of %" PRIu64 " lives, %" PRIu64
                  " gaps, %u calls failed\n",
                  now.what, now.seed, notices, lives, gaps, failed);
    if (notices < 10 * (uint64_t)ROOMS || lives < 2 * (uint64_t)ROOMS)
        wrong("too few notices\n");
    if (!now.loses && gaps > failed)
        wrong("%" PRIu64 " gaps, though only %u calls failed\n", gaps, failed);
    if (memcmp(&now.of[0], &now.alone, sizeof now.alone) != 0)
        wrong("the watchers got %" PRIu64 " and %" PRIu64 " notices of hall0\n", now.of[0].notices,
              now.alone.notices);
}

static void one_round(void (*change)(void))
{
    struct usher_options options = USHER_OPTIONS_INIT;
    struct usher_watcher *all, *one;
    uint64_t unknown = 0, unavailable = 0; /* including commands on the index */
    unsigned failed = 0, lost = 0;

    for (int i = 0; i < cluster->nodes; i++)
        if (redis_do_ok(cluster->node[i], "READWRITE", NULL)) /* a replica refuses it */
            freeReplyObject(redis_do(cluster->node[i], "FLUSHALL", NULL));
    memset(now.of, 0, sizeof now.of);
    memset(&now.alone, 0, sizeof now.alone);
    now.bad[0] = '\0';
    options.timeout_ms = TIMEOUT_MS;
    assert_int_equal(usher_open(url, &options, &engine), USHER_OK);
    assert_int_equal(usher_watch(engine, USHER_ROOM, NULL, on_notice_of_all, NULL, &all), USHER_OK);
    assert_int_equal(usher_watch(engine, USHER_ROOM, "hall0", on_notice_of_one, NULL, &one),
                     USHER_OK);
    atomic_store(&stop, false);
    memset(callers, 0, sizeof callers);
    for (running = 0; running < THREADS; running++) {
        callers[running].random = now.seed * THREADS + running;
        assert_int_equal(
            pthread_create(&callers[running].thread, NULL, caller_main, &callers[running]), 0);
    }
    wait_calls(60);
    change();
    wait_calls(60);
    (void)callers_end(NULL);
    for (unsigned i = 0; i < THREADS; i++) {
        if (callers[i].bad[0] != '\0')
            wrong("caller %u: %s\n", i, callers[i].bad);
        failed += callers[i].failed;
        lost += callers[i].lost;
    }
    usher_unwatch(engine, all);
    usher_unwatch(engine, one);
    assert_int_equal(usher_failures(engine, &unknown, &unavailable), USHER_OK);
    usher_close(engine);
    if (!now.loses && lost > 0)
        wrong("%u calls got the answer lost\n", lost);
    check_notices(failed);
    print_message("  %" PRIu64 " commands were unknown, %" PRIu64 " unavailable\n", unknown,
                  unavailable);
    check_index(unknown + unavailable == 0 && !now.loses);
}

static void rounds(const char *what, void (*change)(void), bool loses)
{
    uint64_t seed = number_from("USHER_SEED", 20261123);
    uint64_t n = budget_rounds();

    for (uint64_t i = 0; i < n; i++) {
        now.what = what;
        now.seed = now.random = seed + i;
        now.loses = loses;
        if (!redis_cluster_wait_whole(cluster, PATIENCE_MS) ||
            !redis_cluster_wait_agreed(cluster, PATIENCE_MS))
            wrong("%s\n", redis_reason());
        one_round(change);
    }
}

TEST(notices_come_in_order_while_slots_move)
{
    rounds("slots move", slots_move, false);
}

TEST(notices_come_in_order_while_masters_change)
{
    rounds("masters are handed over", masters_are_handed_over, false);
}

TEST(the_index_is_right_after_a_master_died)
{
    rounds("a master dies", a_master_dies, true);
}

/* ---- rooms that are swept ----------------------------------------------------------------- */

/* Another cluster, whose nodes do not take each other for dead. */
static struct redis_cluster *patient;

static unsigned node_of(const char *scope)
{
    return (unsigned)(redis_cluster_slot(cluster, scope) * MASTERS / 16384);
}

/* Write the name of room @i of those on node @room with entries on node @entry. */
static void room_on(unsigned room, unsigned entry, unsigned i, char name[16])
{
    for (unsigned k = 0;; k++) {
        char part[USHER__ROOM_PARTITION];
        struct usher_text text = { name, (size_t)snprintf(name, 16, "den%u", k) };

        usher__room_partition(&text, part);
        if (node_of(name) == room && node_of(part) == entry && i-- == 0)
            return;
    }
}

static void pool_on(unsigned node, char name[16])
{
    for (unsigned k = 0; k == 0 || node_of(name) != node; k++)
        (void)snprintf(name, 16, "pool%u", k);
}

static void sweep_by_watcher(struct usher_engine *e, enum usher_noun noun, const char *scope)
{
    struct usher_watcher *watcher;

    assert_int_equal(usher_watch_events(e, noun, scope, USHER_WATCH_TEND, 0, NULL, &watcher),
                     USHER_OK);
}

/* Collect events until the notice @verb of @scope; ignore others. */
static void wait_notice(struct usher_engine *e, enum usher_verb verb, const char *scope)
{
    int64_t end_ms = clock_ms() + PATIENCE_MS;

    while (clock_ms() < end_ms) {
        const struct usher_event *event = usher_collect(e, 100);
        const struct usher_notice *n = event != NULL ? event->notice : NULL;
        bool is = n != NULL && n->verb == verb && n->scope.size == strlen(scope) &&
                  memcmp(n->scope.data, scope, n->scope.size) == 0;

        usher_event_done(event);
        if (is)
            return;
    }
    fail_msg("%s of %s does not come", usher_verb_word(verb), scope);
}

/* Post a command without waiting for its answer. */
static void post(struct usher_engine *e, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void post(struct usher_engine *e, const char *format, ...)
{
    struct usher_command c;
    char text[96], room[4096];
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    assert_int_equal(usher_command_parse(text, strlen(text), room, sizeof room, &c), USHER_OK);
    assert_int_equal(usher_post(e, &c, 1, 0), USHER_OK);
}

static void open_with_one(struct usher_engine *e, const char *room)
{
    expect_ok(e, "room open %s linger=50", room);
    expect_ok(e, "room join %s ann", room);
    sweep_by_watcher(e, USHER_ROOM, room);
}

static unsigned listed(struct usher_engine *e)
{
    struct usher_result list;
    unsigned n;

    assert_int_equal(usher__room_list(e, NULL, 0, ROOMS, -1, &list), USHER_OK);
    n = (unsigned)list.of.room.n_rows;
    usher_result_done(&list);
    return n;
}

static int patient_start(void **state)
{
    static const char *const config[] = { "cluster-node-timeout 60000",
                                          "cluster-require-full-coverage no", NULL };
    struct redis_server_options options = { .config = config };

    (void)state;
    patient = redis_cluster_start(MASTERS, 0, &options);
    return patient != NULL ? 0 : -1;
}

static int patient_stop(void **state)
{
    (void)state;
    for (int i = 0; patient != NULL && i < MASTERS; i++)
        (void)redis_server_kill(patient->node[i], SIGCONT);
    redis_cluster_stop(patient);
    patient = NULL;
    return 0;
}

/*
 * A room closes in time although its entry is on a silent node.  Other scopes are swept, too, also
 * those that become due while that node is waited for.  The entry that is left over lists no room.
 * A room on the node itself closes when the node answers again.
 */
TEST_WITH(a_room_is_swept_while_a_node_is_silent, patient_start, patient_stop)
{
    struct usher_options options = USHER_OPTIONS_INIT;
    struct usher_check_result found = { 0 };
    char far[16], near[16], on_it[16], pool[16], at[REDIS_URL_MAX];
    struct usher_engine *e, *other;
    enum usher_status status;
    struct usher_result r;

    room_on(0, 2, 0, far);
    room_on(0, 1, 0, near);
    room_on(2, 1, 0, on_it);
    pool_on(0, pool);
    options.timeout_ms = TIMEOUT_MS;
    assert_int_equal(usher_open(redis_cluster_url(patient, at), &options, &e), USHER_OK);
    options.timeout_ms = PATIENCE_MS;
    assert_int_equal(usher_open(at, &options, &other), USHER_OK);
    expect_ok(e, "number add %s 1", pool);
    expect_ok(e, "number reg %s 1", pool);
    sweep_by_watcher(e, USHER_NUMBER, pool);
    open_with_one(e, on_it);
    open_with_one(e, far);
    open_with_one(e, near);
    assert_int_equal(listed(other), 3);
    expect_ok(e, "room leave %s ann", on_it);
    assert_int_equal(redis_server_kill(patient->node[2], SIGSTOP), 0);
    /* At first all are swept in one batch, which waits for that node.  Scopes that become due in
     * this time are swept after it, and once more, because that batch waits for the entry. */
    post(e, "room leave %s ann", far);
    wait_notice(e, USHER_ROOM_EMPTY, far);
    post(e, "room leave %s ann", near);
    post(e, "number call %s owner=ann lease=50", pool);
    wait_notice(e, USHER_NUMBER_EXPIRE, pool);
    wait_notice(e, USHER_ROOM_EMPTY, near);
    assert_int_equal(redis_server_kill(patient->node[2], SIGCONT), 0);
    do { /* there are no notices of the sweep that the node executed when it continued */
        usher_event_done(usher_collect(e, 10));
        status = line_execute(other, &r, "room show %s", on_it);
        usher_result_done(&r);
    } while (status == USHER_OK);
    assert_int_equal(status, USHER_MISSING);
    assert_int_equal(listed(other), 0);
    /* their entries may be left, because each is dropped after the answer of another node */
    assert_int_equal(usher_check(other, &repairing, NULL, NULL, &found), USHER_OK);
    assert_true(found.faults <= 3);
    assert_int_equal(usher_check(other, NULL, print_line, NULL, &found), USHER_OK);
    assert_true(found.faults == 0 && !found.partial);
    usher_close(e);
    usher_close(other);
}

static int program_begin(void)
{
    static const char *const config[] = { "cluster-node-timeout 2000", NULL };
    struct redis_server_options options = { .config = config };

    cluster = redis_cluster_start(MASTERS, NODES - MASTERS, &options);
    if (cluster == NULL)
        return redis_skip();
    (void)redis_cluster_url(cluster, url);
    return 0;
}

static void program_end(void)
{
    redis_cluster_stop(cluster);
}

TEST_PROGRAM(program_begin, program_end);
