/* SPDX-License-Identifier: MIT */
/*
 * A real cluster of three masters and three replicas under load, while something is done to it.
 *
 * Processes with several threads each take numbers, gap-free serials, ids and visits, and set a
 * field of a room by compare-and-set, on scopes that lie on each master.  Each thread, a client,
 * keeps a journal of its answers, in memory that outlives it.  At the same time an operator moves
 * slots, hands masters over, kills them, stops them, cuts one off together with one of the
 * processes (net_cut.h), restarts everything, adds a node and takes it away.  Afterwards:
 *
 *   once:     if two clients had a thing at the same time, one of them has lost it.  If a value was
 *             replaced twice, one replacement is lost.  No token was issued twice.
 *   lost:     a thing with the answer `lost` is lost.  A thing that a master confirmed existed, or
 *             was lost together with that master's answer.
 *   prefix:   the lost versions of a scope are the last ones of a master, and no later one is kept.
 *   held:     each number in a call was issued to a client, and was not given back.
 *   nothing:  if nothing can be lost, no answer is `lost`.
 *   in time:  no call takes longer than its deadline, 50 ms, and the delay that the machine causes
 *             in a thread that only sleeps.
 *   calm:     no call fails before the event, or if it begins 2 s after the cluster is ok again.
 *   valid:    the audit of all masters finds no fault.
 *
 * One process has a library of another version: its scripts have other texts, and so other hashes.
 * When the load has ended, the store is queried for each version that a client got: is it lost?
 * budget_rounds() is the number of rounds; a round has the seed USHER_SEED + its number.
 */
#include "lib/test.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "lib/net_cut.h"
#include "lib/calls.h"
#include "lib/command_line.h"
#include "lib/servers.h"
#include "lib/trail.h"
#include "lib/util.h"

#define MASTERS 3
#define NODES 6
#define PROCESSES 8
#define THREADS 2
#define CLIENTS (PROCESSES * THREADS)
#define ENTRIES 16384 /* in one journal */
#define HOLDS 6       /* holds of a client at once */
#define NUMBERS 12    /* of each pool */
#define AGENTS 4      /* of each queue */
#define SCOPES 3      /* of each noun: one on each master, at first */
#define WARM_CALLS 25 /* of each client, before */
#define CALM_CALLS 40 /* and after it, in succession without a failure */
#define CALM_MS 2000  /* until then calls may fail */
#define LATE_MS 50    /* a call may return this long after its deadline */
#define PATIENCE_MS 60000
#define JUMP (UINT64_C(1) << 20) /* between the versions of two masters, at least */
#define NEVER INT64_MAX

enum noun { NUMBER, BILL, IDS, ROOM, VISIT, NOUNS };

static const char *const letter[NOUNS] = { "p", "b", "i", "r", "q" };

enum act {
    TAKE, /* issued */
    SHOW, /* renewed, or another use of its token */
    GIVE  /* and given back: hung up, confirmed, finished */
};

/* An answer to a client. */
struct entry {
    int64_t begin_us, end_us;
    int64_t until_us;        /* of TAKE: when the client first tried to give it back, else NEVER */
    uint64_t token, version; /* of the thing; of the answer */
    int64_t first;           /* of ids */
    uint8_t noun, scope, act, status;
    bool returned;  /* GIVE of a bill: it may be issued again */
    bool confirmed; /* TAKE of a bill: it was confirmed */
    bool back;      /* TAKE: of a lost thing */
    char id[24];    /* a number, bill, room of an agent, value */
    char other[24]; /* an owner, the value before */
};

/* A thing of a client. */
struct hold {
    struct entry *taken; /* NULL: a waiting user */
    unsigned scope;
    char user[24];
};

/* The answers to one client, in memory that its process shares with ours. */
struct journal {
    _Atomic size_t n;
    _Atomic unsigned calls,
        calm_calls; /* in all; since the cluster is calm, and since the last failure */
    _Atomic unsigned unavailable, unknown, lost;
    _Atomic int64_t over_us;     /* the most that a call took beyond its deadline */
    _Atomic int64_t failed_us;   /* the end of the last call that failed */
    char slowest[160], bad[320]; /* "": nothing */
    struct entry entry[ENTRIES];
};

struct shared {
    _Atomic bool stop;
    _Atomic int64_t change_us, calm_us; /* 0: not yet */
    _Atomic int64_t late_us;            /* the delay of a thread that only sleeps */
    _Atomic unsigned ready;
    struct trail trail[PROCESSES]; /* kept after a call that must not fail */
    struct journal of[CLIENTS];
};

struct client {
    unsigned number;
    uint64_t random;
    struct usher_engine *e;
    int64_t timeout_ms;
    struct journal *j;
    unsigned names; /* so that no name is used twice */
    struct hold hold[HOLDS];
    size_t n_hold;
    char value[SCOPES][24]; /* the last known value of each room's field */
};

static struct shared *shared;
static struct redis_cluster *cluster;
static char url[REDIS_URL_MAX];
static char scope_name[NOUNS][SCOPES][16];
static int scope_slot[NOUNS][SCOPES];
static pid_t child[PROCESSES];
static struct net_cut network;

static struct {
    const char *what;
    uint64_t seed, random;
    bool loses;
    bool apart; /* one master and every other process are at the first end of the network cut */
} now;

/* ---- another version of the library --------------------------------------------------------- */

/* The library calls the second function in place of the first, which is named as the third
 * (--wrap). */
enum usher_status usher__redis_script(const char *noun, char *buffer, size_t size,
                                      size_t *ret_length);
enum usher_status __wrap_usher__redis_script(const char *noun, char *buffer, size_t size,
                                             size_t *ret_length);
enum usher_status __real_usher__redis_script(const char *noun, char *buffer, size_t size,
                                             size_t *ret_length);

static bool other_version; /* of this process */

enum usher_status __wrap_usher__redis_script(const char *noun, char *buffer, size_t size,
                                             size_t *ret_length)
{
    static const char more[] = "-- of another version\n";
    enum usher_status status = __real_usher__redis_script(noun, buffer, size, ret_length);

    if (status != USHER_OK || !other_version)
        return status;
    if (size > *ret_length + sizeof more - 1)
        memcpy(buffer + *ret_length, more, sizeof more);
    *ret_length += sizeof more - 1;
    return USHER_OK;
}

/* ---- small things ------------------------------------------------------------------------ */

static unsigned below(uint64_t *random, unsigned n)
{
    return (unsigned)(next_random(random) % n);
}

static bool failed(enum usher_status status)
{
    return status == USHER_UNAVAILABLE || status == USHER_UNKNOWN;
}

static bool done(enum usher_status status)
{
    return USHER_IS_DONE(status);
}

/* Print the kept trails, or, if no process has kept its own, all of them. */
static void print_trails(void)
{
    bool any = false;

    for (unsigned i = 0; i < PROCESSES; i++)
        any = any || atomic_load(&shared->trail[i].kept);
    for (unsigned i = 0; i < PROCESSES; i++)
        if (!any || atomic_load(&shared->trail[i].kept)) {
            fprintf(stderr, "the last calls of process %u%s:\n", i,
                    any ? ", until it was wrong" : "");
            trail_print(&shared->trail[i], stderr);
        }
}

#define wrong(...)                                                                      \
    do {                                                                                \
        print_error("%s, USHER_SEED=%" PRIu64 " USHER_ROUNDS=1: ", now.what, now.seed); \
        print_error(__VA_ARGS__);                                                       \
        print_trails();                                                                 \
        fail_msg(" ");                                                                  \
    } while (0)

/* ---- a client ---------------------------------------------------------------------------- */

static struct trail *trail_of(const struct client *c)
{
    return &shared->trail[c->number / THREADS];
}

static void bad(struct client *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void bad(struct client *c, const char *format, ...)
{
    va_list ap;

    trail_keep(trail_of(c));
    if (c->j->bad[0] != '\0')
        return;
    va_start(ap, format);
    (void)vsnprintf(c->j->bad, sizeof c->j->bad, format, ap);
    va_end(ap);
}

/* Count a call from @begin_us to @end_us, and check its time and status. */
static void count(struct client *c, const char *text, enum usher_status status, const char *message,
                  int64_t begin_us, int64_t end_us)
{
    int64_t calm_us = atomic_load(&shared->calm_us), change_us = atomic_load(&shared->change_us);
    int64_t over_us = end_us - begin_us - c->timeout_ms * 1000;

    atomic_fetch_add(&c->j->calls, 1);
    if (over_us > atomic_load(&c->j->over_us)) {
        atomic_store(&c->j->over_us, over_us);
        if (over_us > LATE_MS * 1000 + atomic_load(&shared->late_us))
            trail_keep(trail_of(c));
        (void)snprintf(c->j->slowest, sizeof c->j->slowest, "%s: %s (%.80s)", text,
                       usher_status_word(status), message);
    }
    if (status == USHER_LOST)
        atomic_fetch_add(&c->j->lost, 1);
    if (status == USHER_LOST && !now.loses)
        bad(c, "%s: %s, though nothing can be lost", text, message);
    if (status == USHER_INVALID || status == USHER_NOMEM)
        bad(c, "%s: %s (%s)", text, usher_status_word(status), message);
    if (failed(status))
        trail_add(trail_of(c), "client %u: %s: %s after %" PRId64 " ms of %" PRId64, c->number,
                  text, usher_status_word(status), (end_us - begin_us) / 1000, c->timeout_ms);
    if (!failed(status)) {
        if (calm_us != 0 && begin_us >= calm_us)
            atomic_fetch_add(&c->j->calm_calls, 1);
        return;
    }
    atomic_fetch_add(status == USHER_UNKNOWN ? &c->j->unknown : &c->j->unavailable, 1);
    atomic_store(&c->j->failed_us, end_us);
    atomic_store(&c->j->calm_calls, 0);
    if (change_us == 0 || end_us < change_us)
        bad(c, "%s: %s (%s), before anything was done", text, usher_status_word(status), message);
    if (calm_us != 0 && begin_us > calm_us + CALM_MS * 1000 + atomic_load(&shared->late_us))
        bad(c, "%s: %s (%s), begun %" PRId64 " ms after all was well again", text,
            usher_status_word(status), message, (begin_us - calm_us) / 1000);
}

/* Execute a command, and repeat it while it fails.  Store the time of the first try in
 * *@ret_first_us, and in *@ret_unsure whether an earlier try may have been applied.  The caller
 * owns the reply. */
static enum usher_status ask(struct client *c, struct usher_result *r, int64_t *ret_first_us,
                             bool *ret_unsure, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
static enum usher_status ask(struct client *c, struct usher_result *r, int64_t *ret_first_us,
                             bool *ret_unsure, const char *format, ...)
{
    enum usher_status status;
    char text[256];
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    *ret_unsure = false;
    *ret_first_us = clock_us();
    for (int64_t begin_us = *ret_first_us;; begin_us = clock_us()) {
        status = line_execute(c->e, r, "%s", text);
        count(c, text, status, r->message, begin_us, clock_us());
        if (!failed(status) || atomic_load(&shared->stop))
            return status;
        *ret_unsure = *ret_unsure || status == USHER_UNKNOWN;
        usher_result_done(r);
        rest_us(2000);
    }
}

static struct entry *note(struct client *c, enum noun noun, unsigned scope, enum act act,
                          enum usher_status status, const struct usher_result *r, int64_t begin_us)
{
    size_t n = atomic_load(&c->j->n);
    struct entry *t = &c->j->entry[n];

    memset(t, 0, sizeof *t);
    t->begin_us = begin_us;
    t->end_us = clock_us();
    t->until_us = NEVER;
    t->noun = (uint8_t)noun;
    t->scope = (uint8_t)scope;
    t->act = (uint8_t)act;
    t->status = (uint8_t)status;
    t->version = r->version;
    atomic_store(&c->j->n, n + 1);
    return t;
}

/* Note a command on the thing of @taken. */
static struct entry *note_of(struct client *c, const struct entry *taken, enum act act,
                             enum usher_status status, const struct usher_result *r,
                             int64_t begin_us)
{
    struct entry *t = note(c, (enum noun)taken->noun, taken->scope, act, status, r, begin_us);

    t->token = taken->token;
    t->first = taken->first;
    memcpy(t->id, taken->id, sizeof t->id);
    memcpy(t->other, taken->other, sizeof t->other);
    return t;
}

static void hold_add(struct client *c, struct entry *taken, unsigned scope, const char *user)
{
    struct hold *h = &c->hold[c->n_hold++];

    h->taken = taken;
    h->scope = scope;
    (void)snprintf(h->user, sizeof h->user, "%s", user);
}

static void hold_drop(struct client *c, struct hold *h)
{
    *h = c->hold[--c->n_hold];
}

static void name_new(struct client *c, char name[24])
{
    (void)snprintf(name, 24, "c%u-%u", c->number, c->names++);
}

static void take_number(struct client *c, unsigned scope)
{
    struct usher_result r;
    int64_t begin_us;
    char owner[24];
    bool unsure;
    enum usher_status status;

    name_new(c, owner);
    status =
        ask(c, &r, &begin_us, &unsure, "number call %s owner=%s", scope_name[NUMBER][scope], owner);
    if (done(status)) {
        struct entry *t = note(c, NUMBER, scope, TAKE, status, &r, begin_us);

        t->token = r.of.number.token;
        (void)snprintf(t->id, sizeof t->id, "%.20s", r.of.number.number);
        memcpy(t->other, owner, sizeof owner);
        hold_add(c, t, scope, "");
    } else if (failed(status)) { /* the last try: the user may have a room now */
        memcpy(note(c, NUMBER, scope, TAKE, status, &r, begin_us)->other, owner, sizeof owner);
    } else if (status != USHER_EMPTY) {
        bad(c, "number call: %s (%s)", usher_status_word(status), r.message);
    }
    usher_result_done(&r);
}

static void take_bill(struct client *c, unsigned scope)
{
    struct usher_result r;
    int64_t begin_us;
    char owner[24];
    bool unsure;
    enum usher_status status;

    name_new(c, owner);
    status = ask(c, &r, &begin_us, &unsure, "serial reserve %s owner=%s lease=36000000 req=%s",
                 scope_name[BILL][scope], owner, owner);
    if (status == USHER_OK) {
        struct entry *t = note(c, BILL, scope, TAKE, status, &r, begin_us);

        t->token = r.of.serial.token;
        t->first = r.of.serial.rows[0].first;
        (void)snprintf(t->id, sizeof t->id, "B%06" PRId64, t->first);
        memcpy(t->other, owner, sizeof owner);
        hold_add(c, t, scope, "");
    } else if (!failed(status)) {
        bad(c, "serial reserve: %s (%s)", usher_status_word(status), r.message);
    }
    usher_result_done(&r);
}

static void take_ids(struct client *c, unsigned scope)
{
    struct usher_result r;
    int64_t begin_us;
    char request[24];
    bool unsure;
    enum usher_status status;

    name_new(c, request);
    status =
        ask(c, &r, &begin_us, &unsure, "id next %s n=3 req=%s", scope_name[IDS][scope], request);
    if (status == USHER_OK) {
        struct entry *t = note(c, IDS, scope, TAKE, status, &r, begin_us);

        t->token = r.of.id.token;
        t->first = r.of.id.first;
    } else if (!failed(status)) {
        bad(c, "id next: %s (%s)", usher_status_word(status), r.message);
    }
    usher_result_done(&r);
}

/* Replace the known value of the field; if it is unknown, read it. */
static void set_field(struct client *c, unsigned scope)
{
    const char *name = scope_name[ROOM][scope];
    char *value = c->value[scope], wanted[24];
    struct usher_result r;
    int64_t begin_us, end_us;
    enum usher_status status;
    bool unsure;

    if (value[0] == '\0') {
        status = ask(c, &r, &begin_us, &unsure, "room get %s f", name);
        if (status == USHER_OK && r.of.room.n_rows == 1)
            (void)snprintf(value, 24, "%.*s", (int)r.of.room.rows[0].value.size,
                           r.of.room.rows[0].value.data);
        else if (!failed(status))
            bad(c, "room get: %s (%s)", usher_status_word(status), r.message);
        usher_result_done(&r);
        return;
    }
    name_new(c, wanted);
    begin_us = clock_us();
    status = line_execute(c->e, &r, "room set %s f %s if=%s", name, wanted, value);
    end_us = clock_us();
    count(c, "room set", status, r.message, begin_us, end_us);
    if (done(status) || status == USHER_UNKNOWN) {
        struct entry *t = note(c, ROOM, scope, TAKE, status, &r, begin_us);

        t->token = r.version;
        memcpy(t->id, wanted, sizeof wanted);
        memcpy(t->other, value, sizeof t->other);
    } else if (status != USHER_STALE && !failed(status)) {
        bad(c, "room set: %s (%s)", usher_status_word(status), r.message);
    }
    if (done(status))
        memcpy(value, wanted, sizeof wanted);
    else
        value[0] = '\0';
    usher_result_done(&r);
}

/* Note that @user has the room in @r. */
static struct entry *seated(struct client *c, unsigned scope, const char *user,
                            enum usher_status status, const struct usher_result *r,
                            int64_t begin_us)
{
    struct entry *t = note(c, VISIT, scope, TAKE, status, r, begin_us);

    t->token = r->of.queue.token;
    (void)snprintf(t->id, sizeof t->id, "%" PRIu64 ".%" PRId64, r->of.queue.login, r->of.queue.no);
    (void)snprintf(t->other, sizeof t->other, "%s", user);
    return t;
}

static void apply(struct client *c, unsigned scope)
{
    struct usher_result r;
    int64_t begin_us;
    bool unsure;
    char user[24];
    enum usher_status status;

    name_new(c, user);
    status = ask(c, &r, &begin_us, &unsure, "queue apply %s %s", scope_name[VISIT][scope], user);
    if (done(status) && r.of.queue.place == USHER_QUEUE_PLACE_ROOM)
        hold_add(c, seated(c, scope, user, status, &r, begin_us), scope, user);
    else if (done(status))
        hold_add(c, NULL, scope, user);
    else if (!failed(status))
        bad(c, "queue apply: %s (%s)", usher_status_word(status), r.message);
    usher_result_done(&r);
}

static void check_place(struct client *c, struct hold *h)
{
    bool leaves = below(&c->random, 4) == 0, unsure;
    struct usher_result r;
    int64_t begin_us;
    enum usher_status status =
        ask(c, &r, &begin_us, &unsure, "queue %s %s %s", leaves ? "leave" : "where",
            scope_name[VISIT][h->scope], h->user);

    if (failed(status)) {
        ;
    } else if (status == USHER_MISSING || status == USHER_LOST) {
        if (!now.loses && !(leaves && unsure))
            bad(c, "queue %s of %s, which waits: %s", leaves ? "leave" : "where", h->user,
                usher_status_word(status));
        hold_drop(c, h);
    } else if (leaves) {
        hold_drop(c, h);
    } else if (r.of.queue.place == USHER_QUEUE_PLACE_ROOM) {
        h->taken = seated(c, h->scope, h->user, status, &r, begin_us);
    }
    usher_result_done(&r);
}

/* The owner of a lost number takes it back, if no other client has it. */
static void take_back(struct client *c, struct hold *h)
{
    const struct entry *t = h->taken;
    struct usher_result r;
    int64_t begin_us;
    bool unsure;
    enum usher_status status =
        ask(c, &r, &begin_us, &unsure, "number renew %s %s token=%" PRIu64 " owner=%s",
            scope_name[NUMBER][h->scope], t->id, t->token, t->other);

    if (done(status)) {
        struct entry *back = note_of(c, t, TAKE, status, &r, begin_us);

        back->token = r.of.number.token;
        back->back = true;
        h->taken = back;
    } else if (failed(status)) { /* the last try */
        memcpy(note(c, NUMBER, h->scope, TAKE, status, &r, begin_us)->other, t->other,
               sizeof t->other);
    } else {
        if (status != USHER_LOST)
            bad(c, "%s is taken back: %s (%s)", t->id, usher_status_word(status), r.message);
        hold_drop(c, h);
    }
    usher_result_done(&r);
}

static void renew(struct client *c, struct hold *h)
{
    const struct entry *t = h->taken;
    struct usher_result r;
    int64_t begin_us;
    bool unsure;
    enum usher_status status = ask(c, &r, &begin_us, &unsure, "number renew %s %s token=%" PRIu64,
                                   scope_name[NUMBER][h->scope], t->id, t->token);

    if (!failed(status))
        (void)note_of(c, t, SHOW, status, &r, begin_us);
    if (!failed(status) && !done(status) && status != USHER_LOST)
        bad(c, "%s with token %" PRIu64 " is renewed: %s (%s)", t->id, t->token,
            usher_status_word(status), r.message);
    usher_result_done(&r);
    if (status != USHER_LOST)
        return;
    if (below(&c->random, 2) == 0)
        take_back(c, h);
    else
        hold_drop(c, h);
}

/* Renew several holds in one batch, on any nodes. */
static void renew_all(struct client *c)
{
    struct usher_operation commands[HOLDS];
    struct usher_result replies[HOLDS];
    struct line lines[HOLDS];
    struct hold *of[HOLDS];
    size_t n = 0;
    int64_t begin_us, end_us;

    for (size_t i = 0; i < c->n_hold; i++) {
        const struct entry *t = c->hold[i].taken;
        char text[128];

        if (t == NULL || t->noun != NUMBER)
            continue;
        (void)snprintf(text, sizeof text, "number renew %s %s token=%" PRIu64,
                       scope_name[NUMBER][t->scope], t->id, t->token);
        line_read(&lines[n], text);
        commands[n] = lines[n].c;
        of[n++] = &c->hold[i];
    }
    if (n == 0)
        return;
    begin_us = clock_us();
    (void)usher_operate(c->e, commands, replies, n);
    end_us = clock_us();
    for (size_t i = n; i-- > 0;) {
        enum usher_status status = replies[i].status;

        count(c, "number renew, of several", status, replies[i].message, begin_us, end_us);
        if (!failed(status))
            (void)note_of(c, of[i]->taken, SHOW, status, &replies[i], begin_us);
        if (!failed(status) && !done(status) && status != USHER_LOST)
            bad(c, "%s with token %" PRIu64 " is renewed: %s (%s)", of[i]->taken->id,
                of[i]->taken->token, usher_status_word(status), replies[i].message);
        usher_result_done(&replies[i]);
        line_done(&lines[i]);
        if (status == USHER_LOST)
            hold_drop(c, of[i]); /* later holds have been checked */
    }
}

static void give_back(struct client *c, struct hold *h)
{
    static const char *const verb[NOUNS] = {
        [NUMBER] = "number hangup", [BILL] = "serial confirm", [VISIT] = "queue finish"
    };
    struct entry *t = h->taken, *given;
    bool returns = t->noun == BILL && below(&c->random, 4) == 0, unsure;
    struct usher_result r;
    int64_t begin_us;
    enum usher_status status;

    t->until_us = clock_us();
    status = ask(c, &r, &begin_us, &unsure, "%s %s %s token=%" PRIu64,
                 returns ? "serial return" : verb[t->noun], scope_name[t->noun][t->scope], t->id,
                 t->token);
    if (t->noun == BILL && !returns)
        t->until_us = NEVER;
    if (!failed(status)) {
        given = note_of(c, t, GIVE, status, &r, begin_us);
        given->returned = returns;
        t->confirmed = t->noun == BILL && !returns && done(status);
        if (!done(status) && status != USHER_LOST && !unsure)
            bad(c, "%s %s %s with token %" PRIu64 " is given back: %s (%s)", letter[t->noun],
                scope_name[t->noun][t->scope], t->id, t->token, usher_status_word(status),
                r.message);
    }
    usher_result_done(&r);
    hold_drop(c, h);
}

static void turn(struct client *c)
{
    unsigned what = below(&c->random, 100), scope = below(&c->random, SCOPES);
    bool full = c->n_hold == HOLDS;
    struct hold *h;

    if (what < 8)
        take_ids(c, scope);
    else if (what < 24)
        set_field(c, scope);
    else if (what < 30)
        renew_all(c);
    else if (!full && what < 45)
        take_number(c, scope);
    else if (!full && what < 53)
        take_bill(c, scope);
    else if (!full && what < 65)
        apply(c, scope);
    else if (c->n_hold > 0) {
        h = &c->hold[below(&c->random, (unsigned)c->n_hold)];
        if (h->taken == NULL)
            check_place(c, h);
        else if (h->taken->noun == NUMBER && below(&c->random, 3) != 0)
            renew(c, h);
        else
            give_back(c, h);
    }
}

/* Only read, because the journal is full. */
static void read_only(struct client *c)
{
    struct usher_result r;
    int64_t begin_us;
    bool unsure;

    (void)ask(c, &r, &begin_us, &unsure, "number stats %s",
              scope_name[NUMBER][below(&c->random, SCOPES)]);
    usher_result_done(&r);
}

static void *client_main(void *payload)
{
    struct client *c = payload;

    while (!atomic_load(&shared->stop)) {
        size_t n = atomic_load(&c->j->n);

        if (n + HOLDS + 2 < ENTRIES)
            turn(c);
        else
            read_only(c);
        rest_us(1000 + (long)n / 4); /* slower as the journal fills */
    }
    return NULL;
}

/* Measure the delay of a thread that only sleeps. */
static void *pulse_main(void *payload)
{
    (void)payload;
    while (!atomic_load(&shared->stop)) {
        int64_t begin_us = clock_us(), late_us;

        rest_us(5000);
        late_us = clock_us() - begin_us - 5000;
        if (late_us > atomic_load(&shared->late_us))
            atomic_store(&shared->late_us, late_us);
    }
    return NULL;
}

static int process(unsigned number, uint64_t seed)
{
    static struct client clients[THREADS];
    struct usher_options options = USHER_OPTIONS_INIT;
    struct usher_engine *e;
    pthread_t thread[THREADS], pulse;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (now.apart)
        net_cut_enter(&network, number % 2);
    other_version = number % 2 == 1;
    options.timeout_ms = (number % 2 == 0 ? 1000 : 2500) * (budget_slow() ? 4 : 1);
    trail_hooks(&shared->trail[number], &options);
    if (usher_open(url, &options, &e) != USHER_OK) {
        (void)snprintf(shared->of[number * THREADS].bad, sizeof shared->of[0].bad, "open: %s",
                       usher_message());
        return 1;
    }
    if (pthread_create(&pulse, NULL, pulse_main, NULL) != 0)
        return 1;
    for (unsigned i = 0; i < THREADS; i++) {
        struct client *c = &clients[i];

        memset(c, 0, sizeof *c);
        c->number = number * THREADS + i;
        c->random = seed + c->number * 7919;
        c->e = e;
        c->timeout_ms = options.timeout_ms;
        c->j = &shared->of[c->number];
        if (pthread_create(&thread[i], NULL, client_main, c) != 0)
            return 1;
    }
    for (unsigned i = 0; i < THREADS; i++)
        (void)pthread_join(thread[i], NULL);
    (void)pthread_join(pulse, NULL);
    usher_close(e);
    return 0;
}

/* ---- the load, from outside --------------------------------------------------------------- */

/* Fail if a process has ended. */
static void check_children(void)
{
    for (unsigned i = 0; i < PROCESSES; i++) {
        int status;

        if (child[i] == 0 || waitpid(child[i], &status, WNOHANG) != child[i])
            continue;
        child[i] = 0;
        wrong("process %u ended: status %#x, %s\n", i, (unsigned)status,
              shared->of[i * THREADS].bad);
    }
}

static void check_failures(void)
{
    for (unsigned i = 0; i < CLIENTS; i++)
        if (shared->of[i].bad[0] != '\0')
            wrong("client %u: %s\n", i, shared->of[i].bad);
}

/* Wait until each client has made @n calls, in all or since the cluster is calm. */
static void wait_calls(unsigned n, bool calm)
{
    int64_t end_us = clock_us() + PATIENCE_MS * 1000;

    for (unsigned i = 0; i < CLIENTS;) {
        struct journal *j = &shared->of[i];

        check_children();
        check_failures();
        if (clock_us() > end_us)
            wrong("client %u does not get on\n", i);
        if (atomic_load(calm ? &j->calm_calls : &j->calls) >= n)
            i++;
        else
            rest_us(2000);
    }
}

static void load_begin(void)
{
    memset(shared, 0, offsetof(struct shared, of));
    for (unsigned i = 0; i < CLIENTS; i++)
        memset(&shared->of[i], 0, offsetof(struct journal, entry));
    for (unsigned i = 0; i < PROCESSES; i++) {
        uint64_t seed = next_random(&now.random);

        child[i] = fork();
        assert_true(child[i] >= 0);
        if (child[i] == 0)
            _exit(process(i, seed));
    }
    wait_calls(WARM_CALLS, false);
    atomic_store(&shared->change_us, clock_us());
}

static void load_end(void)
{
    int64_t calm_us = clock_us(), last_us = 0, over_us = -NEVER;
    unsigned calls = 0, unavailable = 0, unknown = 0, lost = 0;
    const struct journal *slowest = NULL;

    atomic_store(&shared->calm_us, calm_us);
    wait_calls(CALM_CALLS, true);
    atomic_store(&shared->stop, true);
    for (unsigned i = 0; i < PROCESSES; i++) {
        int status;

        assert_true(waitpid(child[i], &status, 0) == child[i]);
        child[i] = 0;
        if (status != 0)
            wrong("process %u ended: status %#x\n", i, (unsigned)status);
    }
    check_failures();
    for (unsigned i = 0; i < CLIENTS; i++) {
        const struct journal *j = &shared->of[i];

        calls += atomic_load(&j->calls);
        unavailable += atomic_load(&j->unavailable);
        unknown += atomic_load(&j->unknown);
        lost += atomic_load(&j->lost);
        if (atomic_load(&j->failed_us) > last_us)
            last_us = atomic_load(&j->failed_us);
        if (slowest == NULL || atomic_load(&j->over_us) > over_us) {
            slowest = j;
            over_us = atomic_load(&j->over_us);
        }
    }
    print_message("%s, seed %" PRIu64 ": %u calls, %u unavailable, %u unknown, %u lost, in %" PRId64
                  " ms; the last failure %" PRId64 " ms after; the worst %" PRId64
                  " ms beyond its deadline; the machine %" PRId64 " ms late\n",
                  now.what, now.seed, calls, unavailable, unknown, lost,
                  (calm_us - atomic_load(&shared->change_us)) / 1000,
                  last_us != 0 ? (last_us - calm_us) / 1000 : 0, over_us / 1000,
                  atomic_load(&shared->late_us) / 1000);
    if (over_us > LATE_MS * 1000 + atomic_load(&shared->late_us))
        wrong("a call took %" PRId64 " ms longer than its deadline: %s\n", over_us / 1000,
              slowest->slowest);
}

static void children_kill(void)
{
    for (unsigned i = 0; i < PROCESSES; i++) {
        int status;

        if (child[i] == 0)
            continue;
        (void)kill(child[i], SIGKILL);
        (void)waitpid(child[i], &status, 0);
        child[i] = 0;
    }
}

/* ---- the oracle -------------------------------------------------------------------------- */

static struct usher_engine *opened(void)
{
    struct usher_options options = USHER_OPTIONS_INIT;
    struct usher_engine *e;

    options.timeout_ms = 30000;
    if (usher_open(url, &options, &e) != USHER_OK)
        wrong("%s: %s\n", url, usher_message());
    return e;
}

/* A version in an answer to a client, and whether it is lost. */
struct known {
    uint64_t version;
    const struct entry *from;
    uint8_t noun, scope;
    bool lost;
};

static struct known *known;
static size_t n_known;

static int known_compare(const void *a, const void *b)
{
    const struct known *x = a, *y = b;

    if (x->noun != y->noun)
        return x->noun < y->noun ? -1 : 1;
    if (x->scope != y->scope)
        return x->scope < y->scope ? -1 : 1;
    return x->version < y->version ? -1 : x->version > y->version;
}

static struct known *known_find(enum noun noun, unsigned scope, uint64_t version)
{
    struct known key = { .version = version, .noun = (uint8_t)noun, .scope = (uint8_t)scope };

    return bsearch(&key, known, n_known, sizeof key, known_compare);
}

static bool is_lost(const struct entry *t, uint64_t version)
{
    const struct known *k = known_find((enum noun)t->noun, t->scope, version);

    assert_non_null(k);
    return k->lost;
}

/* Write a command that presents the version @k as a token, of a thing that is not held any more or
 * of its own.  It changes nothing, except that it ends a visit that is not over. */
static void known_line(const struct known *k, struct line *line)
{
    const char *name = scope_name[k->noun][k->scope];
    char text[160];

    switch (k->noun) {
    case NUMBER:
        (void)snprintf(text, sizeof text, "number renew %s 100 token=%" PRIu64, name, k->version);
        break;
    case BILL:
        (void)snprintf(text, sizeof text, "serial return %s B000001 token=%" PRIu64, name,
                       k->version);
        break;
    case IDS:
        (void)snprintf(text, sizeof text, "id return %s 1 1 token=%" PRIu64, name, k->version);
        break;
    case ROOM:
        (void)snprintf(text, sizeof text, "room changes %s since=%" PRIu64 " max=1", name,
                       k->version);
        break;
    default:
        (void)snprintf(text, sizeof text, "queue finish %s %s token=%" PRIu64, name, k->from->id,
                       k->version);
        break;
    }
    line_read(line, text);
}

#define AT_ONCE 128

static void query_lost_versions(struct usher_engine *e)
{
    struct usher_operation commands[AT_ONCE];
    static struct usher_result replies[AT_ONCE];
    static struct line lines[AT_ONCE];

    for (size_t from = 0; from < n_known; from += AT_ONCE) {
        size_t n = n_known - from < AT_ONCE ? n_known - from : AT_ONCE;

        for (size_t i = 0; i < n; i++) {
            known_line(&known[from + i], &lines[i]);
            commands[i] = lines[i].c;
        }
        (void)usher_operate(e, commands, replies, n);
        for (size_t i = 0; i < n; i++) {
            struct known *k = &known[from + i];

            k->lost = replies[i].status == USHER_LOST;
            if (replies[i].status >= USHER_INVALID && !k->lost)
                wrong("%s, version %" PRIu64 ": %s (%s)\n", scope_name[k->noun][k->scope],
                      k->version, usher_status_word(replies[i].status), replies[i].message);
            if (k->lost && replies[i].version >= k->version)
                wrong("%s: version %" PRIu64 " is lost, and %" PRIu64 " is not\n",
                      scope_name[k->noun][k->scope], k->version, replies[i].version);
            usher_result_done(&replies[i]);
            line_done(&lines[i]);
        }
    }
}

static void know(const struct entry *t, uint64_t version)
{
    struct known *k = &known[n_known++];

    k->version = version;
    k->from = t;
    k->noun = t->noun;
    k->scope = t->scope;
    k->lost = false;
}

/* Collect every version of the journals, once each. */
static void gather_versions(void)
{
    size_t n = 0;

    for (unsigned i = 0; i < CLIENTS; i++)
        n += atomic_load(&shared->of[i].n);
    known = calloc(2 * n + 1, sizeof *known);
    assert_non_null(known);
    n_known = 0;
    for (unsigned i = 0; i < CLIENTS; i++) {
        const struct journal *j = &shared->of[i];

        for (const struct entry *t = j->entry; t < j->entry + atomic_load(&j->n); t++) {
            if (failed((enum usher_status)t->status))
                continue;
            know(t, t->token);
            if (t->status != USHER_LOST)
                know(t, t->version);
        }
    }
    qsort(known, n_known, sizeof *known, known_compare);
    n = 0;
    for (size_t i = 0; i < n_known; i++)
        if (i == 0 || known_compare(&known[i], &known[n - 1]) != 0)
            known[n++] = known[i];
    n_known = n;
}

/* Check that the lost versions of a scope are the last ones of a master. */
static void check_lost_is_suffix(void)
{
    for (size_t i = 1; i < n_known; i++) {
        const struct known *a = &known[i - 1], *b = &known[i];

        if (a->noun == b->noun && a->scope == b->scope && a->lost && !b->lost &&
            b->version - a->version < JUMP)
            wrong("%s: version %" PRIu64 " is lost, and %" PRIu64 ", which came later, is not\n",
                  scope_name[a->noun][a->scope], a->version, b->version);
    }
}

struct taken {
    const struct entry *t;
    bool lost;
};

static int taken_compare(const void *a, const void *b)
{
    const struct entry *x = ((const struct taken *)a)->t, *y = ((const struct taken *)b)->t;
    int order;

    if (x->noun != y->noun)
        return x->noun < y->noun ? -1 : 1;
    if (x->scope != y->scope)
        return x->scope < y->scope ? -1 : 1;
    if (x->noun == IDS)
        return x->first < y->first ? -1 : x->first > y->first;
    order = x->noun == ROOM ? strcmp(x->other, y->other) : strcmp(x->id, y->id);
    return order != 0 ? order : x->token < y->token ? -1 : x->token > y->token;
}

/* Return whether @a and @b, of one scope, are of the same thing. */
static bool same_thing(const struct entry *a, const struct entry *b)
{
    if (a->noun == IDS)
        return a->first < b->first + 3 && b->first < a->first + 3;
    return strcmp(a->noun == ROOM ? a->other : a->id, b->noun == ROOM ? b->other : b->id) == 0;
}

/* Return whether both certainly had it at the same time. */
static bool together(const struct entry *a, const struct entry *b)
{
    int64_t begin_us = a->end_us > b->end_us ? a->end_us : b->end_us;

    return begin_us < a->until_us && begin_us < b->until_us;
}

/* Print all answers about the thing of @t. */
static void print_all_of(const struct entry *t)
{
    static const char *const acts[] = { "take", "show", "give" };

    for (unsigned i = 0; i < CLIENTS; i++) {
        const struct journal *j = &shared->of[i];

        for (const struct entry *o = j->entry; o < j->entry + atomic_load(&j->n); o++)
            if (o->noun == t->noun && o->scope == t->scope && strcmp(o->id, t->id) == 0)
                print_error("client %u, %" PRId64 " to %" PRId64
                            " us: %s%s of %s: %s, token %" PRIu64 ", version %" PRIu64 "%s\n",
                            i, o->begin_us - atomic_load(&shared->change_us),
                            o->end_us - atomic_load(&shared->change_us), acts[o->act],
                            o->returned ? ", return" : "", o->other,
                            usher_status_word((enum usher_status)o->status), o->token, o->version,
                            failed((enum usher_status)o->status) ? ""
                            : is_lost(o, o->token)               ? ", lost"
                                                                 : "");
    }
}

static void check_one_holder(const struct taken *taken, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct entry *a = taken[i].t;

        for (size_t k = i + 1; k < n; k++) {
            const struct entry *b = taken[k].t;

            if (a->noun != b->noun || a->scope != b->scope || !same_thing(a, b))
                break;
            if (a->noun != IDS && a->noun != ROOM && a->token == b->token &&
                strcmp(a->other, b->other) != 0)
                wrong("%s: %s was given to %s and %s with the same token\n",
                      scope_name[a->noun][a->scope], a->id, a->other, b->other);
            if (a->token != b->token && together(a, b) && !taken[i].lost && !taken[k].lost) {
                print_all_of(a);
                wrong("%s: %s%s (%" PRId64 "), token %" PRIu64 " of %s and %" PRIu64
                      " of %s: both had it, and neither lost it\n",
                      scope_name[a->noun][a->scope], letter[a->noun], a->id, a->first, a->token,
                      a->other, b->token, b->other);
            }
        }
    }
}

/* Return whether @t confirms or returns a lost bill that no other client has.  A confirmed bill is
 * not issued again. */
static bool settled(const struct entry *t, const struct taken *taken, size_t n)
{
    if (t->noun != BILL || t->act != GIVE)
        return false;
    for (size_t i = 0; i < n; i++) {
        const struct entry *o = taken[i].t;

        if (o->noun != BILL || o->scope != t->scope || taken[i].lost || o->token == t->token ||
            strcmp(o->id, t->id) != 0)
            continue;
        if (o->end_us < t->begin_us && t->end_us < o->until_us)
            return false;
        if (!t->returned && o->begin_us > t->end_us)
            return false;
    }
    return true;
}

static void check_answers(const struct taken *taken, size_t n)
{
    for (unsigned i = 0; i < CLIENTS; i++) {
        const struct journal *j = &shared->of[i];

        for (const struct entry *t = j->entry; t < j->entry + atomic_load(&j->n); t++) {
            const char *name = scope_name[t->noun][t->scope];

            if (t->act == TAKE)
                continue;
            if (t->status == USHER_LOST && !is_lost(t, t->token)) {
                print_all_of(t);
                wrong("client %u got the answer that %s of %s, token %" PRIu64
                      ", is lost, and it is not\n",
                      i, t->id, name, t->token);
            }
            if (done((enum usher_status)t->status) && is_lost(t, t->token) &&
                !is_lost(t, t->version) && !settled(t, taken, n)) {
                print_all_of(t);
                wrong("client %u got the answer that %s of %s, token %" PRIu64
                      ", is its own, at version %" PRIu64 ", and it is lost\n",
                      i, t->id, name, t->token, t->version);
            }
        }
    }
}

/* Check that each number in a call was issued to a client that has not given it back, and that each
 * number of a client is in a call. */
static void check_held(struct usher_engine *e)
{
    for (unsigned scope = 0; scope < SCOPES; scope++) {
        struct usher_result r;
        size_t held = 0;

        if (line_execute(e, &r, "number list %s", scope_name[NUMBER][scope]) != USHER_OK)
            wrong("number list: %s\n", r.message);
        for (unsigned i = 0; i < CLIENTS; i++) {
            const struct journal *j = &shared->of[i];

            for (const struct entry *t = j->entry; t < j->entry + atomic_load(&j->n); t++) {
                bool there = false;

                if (t->noun != NUMBER || t->scope != scope || t->act != TAKE ||
                    failed((enum usher_status)t->status) || t->until_us != NEVER ||
                    is_lost(t, t->token))
                    continue;
                for (size_t k = 0; k < r.of.number.n_rows; k++) {
                    const struct usher_number_result_row *row = &r.of.number.rows[k];

                    there = there ||
                            (row->token == t->token && row->state == USHER_NUMBER_STATE_BUSY_UP &&
                             row->number.size == strlen(t->id) &&
                             memcmp(row->number.data, t->id, row->number.size) == 0);
                }
                if (!there)
                    wrong("client %u has %s of %s, token %" PRIu64
                          ", and the store knows nothing of it\n",
                          i, t->id, scope_name[NUMBER][scope], t->token);
                held++;
            }
        }
        for (size_t k = 0; k < r.of.number.n_rows; k++) {
            const struct usher_number_result_row *row = &r.of.number.rows[k];
            bool issued = false;

            for (unsigned i = 0; i < CLIENTS && row->state == USHER_NUMBER_STATE_BUSY_UP && !issued;
                 i++) {
                const struct journal *j = &shared->of[i];

                for (const struct entry *t = j->entry; t < j->entry + atomic_load(&j->n); t++)
                    issued = issued ||
                             (t->noun == NUMBER && t->scope == scope && t->act == TAKE &&
                              (t->token == row->token || failed((enum usher_status)t->status)) &&
                              row->owner.size == strlen(t->other) &&
                              memcmp(row->owner.data, t->other, row->owner.size) == 0);
            }
            if (row->state == USHER_NUMBER_STATE_BUSY_UP && !issued)
                wrong("%s: %.*s is in a call of %.*s, token %" PRIu64 ", and no client got it\n",
                      scope_name[NUMBER][scope], (int)row->number.size, row->number.data,
                      (int)row->owner.size, row->owner.data, row->token);
        }
        usher_result_done(&r);
    }
}

static void check_journals(void)
{
    struct usher_engine *e = opened();
    uint64_t faults = 1;
    struct taken *taken;
    size_t n = 0, lost = 0;

    if (check_faults(e, print_fault, NULL, &faults) != USHER_OK)
        wrong("audit: %s\n", usher_message());
    if (faults != 0)
        wrong("%" PRIu64 " faults\n", faults);
    gather_versions();
    query_lost_versions(e);
    for (size_t i = 0; i < n_known; i++)
        lost += known[i].lost;
    if (lost != 0 && !now.loses)
        wrong("%zu versions are lost, though nothing can be\n", lost);
    check_lost_is_suffix();
    check_held(e);
    taken = calloc(n_known + 1, sizeof *taken);
    assert_non_null(taken);
    for (unsigned i = 0; i < CLIENTS; i++) {
        const struct journal *j = &shared->of[i];

        for (const struct entry *t = j->entry; t < j->entry + atomic_load(&j->n); t++) {
            if (t->act != TAKE || failed((enum usher_status)t->status))
                continue;
            assert_true(n <= n_known);
            taken[n].t = t;
            taken[n++].lost = is_lost(t, t->token);
        }
    }
    qsort(taken, n, sizeof *taken, taken_compare);
    check_one_holder(taken, n);
    check_answers(taken, n);
    print_message("  %zu things taken, %zu versions in answers, of which %zu are lost\n", n,
                  n_known, lost);
    free(taken);
    free(known);
    known = NULL;
    usher_close(e);
}

/* ---- the cluster --------------------------------------------------------------------------- */

static bool info_has(struct redis_server *s, const char *section, const char *text)
{
    redisReply *r = redis_do(s, "INFO", section, NULL);
    bool has = r != NULL && r->type == REDIS_REPLY_STRING && strstr(r->str, text) != NULL;

    freeReplyObject(r);
    return has;
}

static bool is_master(struct redis_server *s)
{
    return info_has(s, "replication", "role:master");
}

/* Return the master of scope @k of each noun. */
static struct redis_server *master_of(unsigned scope)
{
    struct redis_server *s = NULL;

    for (int i = 0; i < cluster->nodes && s == NULL; i++)
        if (redis_server_pid(cluster->node[i]) != 0)
            s = redis_cluster_owner(cluster, cluster->node[i], scope_slot[NUMBER][scope]);
    assert_non_null(s);
    return s;
}

static struct redis_server *replica_of(struct redis_server *master)
{
    struct redis_server *replica = redis_cluster_replica_of(cluster, master);

    if (replica == NULL)
        wrong("%s\n", redis_reason());
    return replica;
}

static void all_run(void)
{
    for (int i = 0; i < cluster->nodes; i++)
        if (redis_server_pid(cluster->node[i]) == 0)
            assert_true(redis_server_restart(cluster->node[i]));
}

/* Wait until all nodes run and agree, and each replica has its master's data. */
static void wait_whole(void)
{
    int64_t end_us = clock_us() + PATIENCE_MS * 1000;

    if (!redis_cluster_wait_ok(cluster, PATIENCE_MS))
        wrong("%s\n", redis_reason());
    assert_true(redis_cluster_wait_agreed(cluster, PATIENCE_MS));
    for (int i = 0; i < cluster->nodes; i++) {
        while (is_master(cluster->node[i])
                   ? !info_has(cluster->node[i], "replication", "state=online")
                   : !info_has(cluster->node[i], "replication", "master_link_status:up")) {
            if (clock_us() > end_us)
                wrong("node %d is alone\n", redis_server_port(cluster->node[i]));
            rest_us(2000);
        }
    }
}

static void node_timeout(const char *ms)
{
    for (int i = 0; i < cluster->nodes; i++)
        assert_true(
            redis_do_ok(cluster->node[i], "CONFIG", "SET", "cluster-node-timeout", ms, NULL));
}

/* Long enough that a slow node is not taken for dead, and short enough that a dead one soon is. For
 * twice this time nodes do not vote again for a replica of the same master. */
#define TIMEOUT_LONG "3000"

static void node_timeout_long(void)
{
    node_timeout(TIMEOUT_LONG);
}

static void node_timeout_short(void)
{
    node_timeout("1000");
}

static void must(struct usher_engine *e, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void must(struct usher_engine *e, const char *format, ...)
{
    struct usher_result r;
    char text[256];
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    if (!USHER_IS_DONE(line_execute(e, &r, "%s", text)))
        wrong("%s: %s (%s)\n", text, usher_status_word(r.status), r.message);
    usher_result_done(&r);
}

/* Confirm the first number: later uses of it, with any token, change nothing. */
static void settle_first_bill(struct usher_engine *e, const char *name)
{
    struct usher_result r;

    if (line_execute(e, &r, "serial reserve %s lease=36000000", name) != USHER_OK)
        wrong("serial reserve: %s\n", r.message);
    must(e, "serial confirm %s B000001 token=%" PRIu64, name, r.of.serial.token);
    usher_result_done(&r);
}

/* Make scopes of each noun on each master, and wait until the replicas have them. */
static void furnish(void)
{
    struct usher_engine *e;

    for (int i = 0; i < cluster->nodes; i++)
        if (is_master(cluster->node[i]))
            assert_true(redis_do_ok(cluster->node[i], "FLUSHALL", NULL));
    e = opened();
    for (unsigned k = 0; k < SCOPES; k++) {
        for (int i = 0; i < NUMBERS; i++) {
            must(e, "number add %s %d", scope_name[NUMBER][k], 101 + i);
            must(e, "number reg %s %d", scope_name[NUMBER][k], 101 + i);
        }
        must(e, "number add %s 100",
             scope_name[NUMBER][k]); /* used by known_line(), and never issued */
        must(e, "serial rule %s prefix=B width=6 mode=gapfree", scope_name[BILL][k]);
        settle_first_bill(e, scope_name[BILL][k]);
        must(e, "id create %s", scope_name[IDS][k]);
        must(e, "room open %s log=10000", scope_name[ROOM][k]);
        must(e, "room set %s f begin", scope_name[ROOM][k]);
        must(e, "queue set %s ttl=0", scope_name[VISIT][k]);
        for (int i = 0; i < AGENTS; i++)
            must(e, "queue login %s agent%d", scope_name[VISIT][k], i);
    }
    usher_close(e);
    /* WAIT waits for the writes of its own connection */
    for (unsigned k = 0; k < SCOPES; k++) {
        struct redis_server *master = master_of(k);
        char key[32];
        redisReply *r;

        (void)snprintf(key, sizeof key, "{%.15s}marker", scope_name[NUMBER][k]);
        assert_true(redis_do_ok(master, "SET", key, "1", NULL));
        assert_true(redis_do_ok(master, "DEL", key, NULL));
        r = redis_do(master, "WAIT", "1", "60000", NULL);
        assert_true(r != NULL && r->type == REDIS_REPLY_INTEGER && r->integer >= 1);
        freeReplyObject(r);
    }
}

/* Choose names with slots in the first, second, and last third. */
static void name_scopes(void)
{
    for (unsigned noun = 0; noun < NOUNS; noun++) {
        unsigned k = 0;

        for (int i = 0; k < SCOPES; i++) {
            char *name = scope_name[noun][k], key[24];
            redisReply *r;

            (void)snprintf(name, 16, "%s%d", letter[noun], i);
            (void)snprintf(key, sizeof key, "{%.15s}", name);
            r = redis_do(cluster->node[0], "CLUSTER", "KEYSLOT", key, NULL);
            assert_true(r != NULL && r->type == REDIS_REPLY_INTEGER);
            scope_slot[noun][k] = (int)r->integer;
            freeReplyObject(r);
            if ((unsigned)(scope_slot[noun][k] * MASTERS / 16384) == k)
                k++;
        }
    }
}

/* ---- operations on the cluster ------------------------------------------------------------ */

/* Do nothing, but check that each master has the scripts of both versions for each noun. */
static void nothing(void)
{
    static const char field[] = "number_of_cached_scripts:";

    for (unsigned k = 0; k < MASTERS; k++) {
        redisReply *r = redis_do(master_of(k), "INFO", "memory", NULL);
        const char *at = r != NULL && r->type == REDIS_REPLY_STRING ? strstr(r->str, field) : NULL;
        long n = at != NULL ? strtol(at + sizeof field - 1, NULL, 10) : 0;

        freeReplyObject(r);
        if (n < 2 * (long)NOUNS)
            wrong("master %u has %ld scripts\n", k, n);
    }
}

/* Move the slots of the scopes of a master to another; at first two of three keys of each scope. */
static void move_slots(struct redis_server *from, struct redis_server *to, unsigned third)
{
    struct redis_move move[NOUNS];

    for (unsigned noun = 0; noun < NOUNS; noun++) {
        move[noun] = (struct redis_move){ cluster, from, to, scope_slot[noun][third], "", "" };
        assert_true(redis_move_begin(&move[noun]));
    }
    wait_calls(atomic_load(&shared->of[0].calls) + 5, false);
    for (unsigned noun = 0; noun < NOUNS; noun++)
        assert_true(redis_move_end(&move[noun]));
}

static void reshard(void)
{
    unsigned third = below(&now.random, MASTERS);
    struct redis_server *from = master_of(third), *to = master_of((third + 1) % MASTERS);

    move_slots(from, to, third);
    move_slots(to, from, third);
}

/* The master waits for its replica, so nothing is lost. */
static void hand_over(struct redis_server *from)
{
    if (!redis_cluster_hand_over(cluster, from, PATIENCE_MS))
        wrong("%s\n", redis_reason());
}

static void failover(void)
{
    for (unsigned i = 0; i < MASTERS; i++)
        hand_over(master_of(i));
    assert_true(redis_cluster_wait_ok(cluster, PATIENCE_MS));
}

/* Kill a master; in two of three rounds its replica lacks the last commands. */
static void kill_master(void)
{
    struct redis_server *master = master_of(below(&now.random, MASTERS)),
                        *heir = replica_of(master);
    bool lags = below(&now.random, 3) != 0;

    if (lags) {
        assert_int_equal(redis_server_kill(heir, SIGSTOP), 0);
        assert_true(redis_do_ok(master, "CLIENT", "KILL", "TYPE", "replica", NULL));
        wait_calls(atomic_load(&shared->of[0].calls) + 15, false);
    }
    assert_int_equal(redis_server_kill(master, SIGKILL), 0);
    if (lags)
        assert_int_equal(redis_server_kill(heir, SIGCONT), 0);
    assert_true(redis_server_wait_info(heir, "replication", "role:master", PATIENCE_MS));
    assert_true(redis_cluster_wait_ok(cluster, PATIENCE_MS));
}

/* Stop a master until its replica has taken over; then it continues, at first still as a master. */
static void stop_master(void)
{
    struct redis_server *master = master_of(below(&now.random, MASTERS)),
                        *heir = replica_of(master);

    assert_int_equal(redis_server_kill(master, SIGSTOP), 0);
    assert_true(redis_server_wait_info(heir, "replication", "role:master", PATIENCE_MS));
    assert_true(redis_cluster_wait_ok(cluster, PATIENCE_MS));
    assert_int_equal(redis_server_kill(master, SIGCONT), 0);
    assert_true(redis_server_wait_info(master, "replication", "role:slave", PATIENCE_MS));
    assert_true(redis_cluster_wait_ok(cluster, PATIENCE_MS));
}

static void flush_scripts(void)
{
    for (int i = 0; i < 10; i++) {
        for (unsigned k = 0; k < MASTERS; k++)
            assert_true(redis_do_ok(master_of(k), "SCRIPT", "FLUSH", NULL));
        wait_calls(atomic_load(&shared->of[below(&now.random, CLIENTS)].calls) + 2, false);
    }
}

static void rolling_restart(void)
{
    for (int i = 0; i < cluster->nodes; i++) {
        struct redis_server *s = cluster->node[i];

        if (is_master(s))
            hand_over(s);
        assert_int_equal(redis_server_kill(s, SIGTERM), 0);
        assert_true(redis_server_restart(s));
        /* CONFIG SET is lost by the restart */
        assert_true(redis_do_ok(s, "CONFIG", "SET", "cluster-node-timeout", TIMEOUT_LONG, NULL));
        wait_whole();
    }
}

/* Add a master without replica, give it slots for a while, and remove it. */
static void add_and_remove(void)
{
    struct redis_server_options options = { .cluster = true };
    struct redis_server *added = redis_server_start(&options), **nodes = cluster->node,
                        *all[NODES + 1];
    unsigned third = below(&now.random, MASTERS);
    struct redis_server *from = master_of(third);
    char port[16], id[41];

    assert_non_null(added);
    assert_true(redis_do_ok(added, "CONFIG", "SET", "cluster-node-timeout", TIMEOUT_LONG, NULL));
    (void)snprintf(port, sizeof port, "%d", redis_server_port(added));
    assert_true(redis_do_ok(from, "CLUSTER", "MEET", "127.0.0.1", port, NULL));
    memcpy(all, nodes, NODES * sizeof *all);
    all[NODES] = added;
    cluster->node = all;
    cluster->nodes++;
    assert_true(redis_cluster_wait_ok(cluster, PATIENCE_MS));
    for (int i = 0; i < cluster->nodes; i++)
        assert_true(redis_node_wait_info(cluster->node[i], "cluster_known_nodes:7", PATIENCE_MS));
    move_slots(from, added, third);
    wait_calls(atomic_load(&shared->of[0].calls) + 20, false);
    move_slots(added, from, third);
    assert_true(redis_node_id(added, id));
    cluster->node = nodes;
    cluster->nodes--;
    redis_server_stop(added);
    for (int i = 0; i < cluster->nodes; i++)
        assert_true(redis_do_ok(cluster->node[i], "CLUSTER", "FORGET", id, NULL));
    assert_true(redis_cluster_wait_ok(cluster, PATIENCE_MS));
}

/* The first master, alone with one process, serves that until it notices; the others have another
 * in its place by then.  Connections are not closed: requests just have no answer. */
static void cut_off(void)
{
    struct redis_server *master = cluster->node[0], *heir = replica_of(master);

    assert_true(net_cut_pull(&network));
    net_cut_enter(&network, 1);
    assert_true(redis_server_wait_info(heir, "replication", "role:master", PATIENCE_MS));
    assert_true(redis_node_wait_info(heir, "cluster_state:ok", PATIENCE_MS));
    assert_true(redis_node_wait_info(master, "cluster_state:fail", PATIENCE_MS));
    assert_true(net_cut_plug(&network));
    net_cut_enter(&network, 1);
    assert_true(redis_server_wait_info(master, "replication", "role:slave", PATIENCE_MS));
    assert_true(redis_cluster_wait_ok(cluster, PATIENCE_MS));
}

/* ---- rounds ------------------------------------------------------------------------------- */

static void one_round(const char *what, void (*change)(void), bool loses, uint64_t number)
{
    now.what = what;
    now.seed = now.random = number_from("USHER_SEED", 20261123) + number;
    now.loses = loses;
    all_run();
    node_timeout_long();
    wait_whole();
    furnish();
    if (loses)
        node_timeout_short();
    load_begin();
    change();
    load_end();
    all_run();
    node_timeout_long();
    wait_whole();
    check_journals();
}

static void rounds(const char *what, void (*change)(void), bool loses)
{
    for (uint64_t i = 0; i < budget_rounds(); i++)
        one_round(what, change, loses, i);
}

/* Restart nodes that the previous test has killed. */
static int restart_dead_nodes(void **state)
{
    (void)state;
    for (int i = 0; i < cluster->nodes; i++)
        if (redis_server_pid(cluster->node[i]) == 0 && !redis_server_restart(cluster->node[i]))
            return -1;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    children_kill();
    for (int i = 0; i < cluster->nodes; i++)
        if (redis_server_pid(cluster->node[i]) != 0)
            (void)redis_server_kill(cluster->node[i], SIGCONT);
    return 0;
}

TEST_EACH(restart_dead_nodes, tear_down);

#define ROUNDS_OF(name, change, text, loses) \
    TEST(name)                               \
    {                                        \
        rounds(text, change, loses);         \
    }

ROUNDS_OF(nothing_is_done, nothing, "nothing is done", false)
ROUNDS_OF(busy_slots_move_and_come_back, reshard, "slots move", false)
ROUNDS_OF(all_masters_are_handed_over, failover, "masters are handed over", false)
ROUNDS_OF(a_master_is_killed, kill_master, "a master is killed", true)
ROUNDS_OF(a_master_is_stopped_and_continued, stop_master, "a master is stopped", true)
static struct redis_cluster *usual_cluster; /* while another cluster is used */

static void use_usual_cluster(void)
{
    if (usual_cluster == NULL)
        return;
    redis_cluster_stop(cluster);
    cluster = usual_cluster;
    usual_cluster = NULL;
    (void)redis_cluster_url(cluster, url);
}

static int restore_network(void **state)
{
    (void)tear_down(state);
    use_usual_cluster();
    now.apart = false;
    net_cut_done(&network);
    return 0;
}

/* Each round has a cluster of its own, because a node could count votes of an earlier election. */
static void cut_off_once(uint64_t number)
{
    struct redis_server_options options = { .cluster = true };
    struct redis_server *node[NODES];
    struct redis_cluster *apart;

    for (int i = 0; i < NODES; i++) {
        options.address = net_cut_address[i > 0];
        options.netns = network.end[i > 0];
        node[i] = redis_server_start(&options);
    }
    apart = redis_cluster_of(MASTERS, NODES - MASTERS, node, true);
    if (apart == NULL)
        fail_msg("%s", redis_reason());
    usual_cluster = cluster;
    cluster = apart;
    (void)redis_cluster_url(cluster, url);
    net_cut_enter(&network, 1);
    one_round("a master is cut off", cut_off, true, number);
    use_usual_cluster();
}

TEST_WITH(a_master_is_cut_off, restart_dead_nodes, restore_network)
{
    net_cut_lay_or_skip(&network);
    now.apart = true;
    for (uint64_t i = 0; i < budget_rounds(); i++)
        cut_off_once(i);
}

ROUNDS_OF(scripts_are_flushed, flush_scripts, "scripts are flushed", false)
ROUNDS_OF(all_nodes_are_restarted, rolling_restart, "nodes are restarted", false)
ROUNDS_OF(a_node_is_added_and_removed, add_and_remove, "a node comes and goes", false)

/* A process that fails keeps its last calls and its log. */
TEST_WITH(the_last_calls_are_kept, NULL, NULL)
{
    struct usher_options options = USHER_OPTIONS_INIT;
    struct trail *t = &shared->trail[1];
    struct client c = { .number = THREADS, .j = &shared->of[THREADS] };
    struct usher_engine *e;
    struct usher_result r;
    char *text = NULL;
    size_t size = 0;
    FILE *out;

    trail_hooks(t, &options);
    assert_int_equal(usher_open("memory:", &options, &e), USHER_OK);
    for (int i = 0; i < 200; i++) {
        (void)line_execute(e, &r, "number add p %d", i);
        usher_result_done(&r);
        if (i == 99)
            options.log(options.payload, USHER_LOG_WARNING, "a master is gone");
        if (i == 150)
            bad(&c, "wrong");
    }
    usher_close(e);
    out = open_memstream(&text, &size);
    assert_non_null(out);
    trail_print(t, out);
    assert_int_equal(fclose(out), 0);
    /* 64 lines up to the call that was wrong, 151 calls and a line of the log */
    assert_null(strstr(text, "version 88\n"));
    assert_non_null(strstr(text, "number/p add: ok, version 89\n"));
    assert_non_null(strstr(text, ": log "));
    assert_non_null(strstr(text, "a master is gone\n"));
    assert_non_null(strstr(text, "       0.000 ms before: number/p add: ok, version 151\n"));
    assert_null(strstr(text, "version 152\n"));
    free(text);
}

static int program_begin(void)
{
    net_cut_prepare();
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    cluster = shared != MAP_FAILED ? redis_cluster_start(MASTERS, NODES - MASTERS, NULL) : NULL;
    if (cluster == NULL)
        return redis_skip();
    (void)redis_cluster_url(cluster, url);
    name_scopes();
    return 0;
}

static void program_end(void)
{
    redis_cluster_stop(cluster);
}

TEST_PROGRAM(program_begin, program_end);
