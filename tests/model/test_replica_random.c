/* SPDX-License-Identifier: MIT */
/*
 * Replicas of a room whose leader is an engine on memory, with channels between that lose, repeat
 * and reorder, and a store that rolls back to an older state.
 *
 * A leader keeps its commands.  A failover makes a new engine from some of the first of them: under
 * a new epoch (the engine noticed it), or under the same one (it did not).  In the latter case the
 * connections break and messages in flight are lost.  Then each replica gets the current version
 * before anything else, as a client that connects again; or no replica gets it, and the versions
 * catch up.
 *
 * Every other world has a store whose writer changes (lib/rollback_store.h).  So its versions jump,
 * with and without a loss, and a failover is to one of some copies of it that were kept, half the
 * time under the same engine.
 *
 * Pages of a snapshot are small, and the room changes between them.
 *
 * Invariants, by name:
 *   whole    a copy is what the leader was at that epoch and version, current or not.
 *   honest   a replica that has the leader's last version and reports current has its digest.
 *   equal    when all is quiet, every replica becomes current, and is equal.
 *   no more  if nothing is lost or late, a replica pulls only when it must.
 *
 * World i of a run has the seed USHER_SEED + i; USHER_STEPS is the number of events of all.
 */
#include "lib/test.h"

#include <usher/replica.h>

#include "lib/calls.h"
#include "lib/rollback_store.h"
#include "lib/util.h"

#define ROOM "r"
#define REPLICAS 4
#define CHANNEL_MAX 96
#define WORLD_EVENTS 2000
#define STEPS_DEFAULT 100000
#define SEED_DEFAULT 20260711
#define SAVED_MAX 6
#define SEEN_MAX 8192 /* (epoch, version, digest) of one world */

/* ---- one command, so that it can be run again --------------------------------------- */

struct op {
    enum usher_verb verb;
    uint64_t given;
    int64_t now, ban, since, log, ttl, away, grace, linger, capacity, presence, max;
    char member[4], name[4]; /* field, role or share */
    char value[8];           /* "": none */
    bool large, has_value;
    unsigned char fields[64];
    size_t fields_size;
};

static char large_value[USHER_NOTICE_DATA_MAX + 100];

static void op_command(const struct op *op, struct usher_operation *c)
{
    struct usher_room_args *a = &c->arg.room;

    memset(c, 0, sizeof *c);
    c->verb = op->verb;
    c->given = op->given | USHER_GIVEN_NOW;
    c->now_ms = op->now;
    c->scope = text(ROOM);
    a->ban_ms = op->ban;
    a->log = op->log;
    a->ttl_ms = op->ttl;
    a->away_ms = op->away;
    a->grace_ms = op->grace;
    a->linger_ms = op->linger;
    a->capacity = op->capacity;
    a->presence_ms = op->presence;
    a->max = op->max;
    if (op->member[0] != '\0' || op->verb == USHER_ROOM_ROLE)
        a->member = text(op->member);
    if (op->verb == USHER_ROOM_ROLE)
        a->role = text(op->name);
    else if (op->verb == USHER_ROOM_SHARE || op->verb == USHER_ROOM_UNSHARE)
        a->share = text(op->name);
    else if (op->name[0] != '\0')
        a->field = text(op->name);
    if (op->has_value)
        a->value =
            op->large ? (struct usher_text){ large_value, sizeof large_value } : text(op->value);
    if (op->fields_size != 0)
        a->fields = (struct usher_text){ (const char *)op->fields, op->fields_size };
}

/* ---- the world ----------------------------------------------------------------------- */

enum message_kind { NOTICE, HEARTBEAT, QUESTION, ANSWER };

struct message {
    unsigned refs;
    enum message_kind kind;
    struct usher_notice notice;    /* its texts are in bytes */
    uint64_t epoch, version, mark; /* HEARTBEAT */
    struct usher_replica_question question;
    struct usher_result reply;
    char bytes[];
};

/* The digest of the leader at each version; "" in the middle of a command: unknown. */
struct seen {
    uint64_t epoch, version;
    char digest[33];
    uint64_t mark; /* with a digest */
};

enum faults { NONE, NEW_EPOCHS, SAME_EPOCH, UNSEEN };

struct world {
    uint64_t seed, random;
    enum faults faults;
    /* in 1/256 */
    unsigned loss, again;
    unsigned window; /* how far a message may overtake others */

    struct usher_engine *e;
    struct usher_watcher *watch;
    int64_t now;
    uint64_t mask_real, mask_shown; /* a store that fell under the same epoch shows this one */
    bool hands;                     /* the store changes hands */
    struct rollback_copy *saved[SAVED_MAX];
    struct op *op;
    size_t n_ops, room_ops;
    bool done, opened; /* seen in notices while a command ran */
    bool missing;      /* there is no room */
    bool together;     /* it coalesces notices of joins and leaves, or did */

    struct usher_replica *r[REPLICAS];
    bool asked[REPLICAS];
    struct message *channel[REPLICAS][CHANNEL_MAX];
    size_t in_flight[REPLICAS];

    struct seen *seen;
    size_t n_seen;
    bool listening;
    uint64_t noted; /* versions of the room up to this one */
};

/* The counts of all worlds. */
static struct {
    uint64_t events, commands, notices, ranges, failovers, hands, lost, pulls, pages, replays;
    uint64_t applied, checked;
} sum;

static bool chance(struct world *w, unsigned of_256)
{
    return random_below(&w->random, 256) < of_256;
}

static uint64_t shown(const struct world *w, uint64_t epoch)
{
    return epoch != 0 && epoch == w->mask_real ? w->mask_shown : epoch;
}

#define must_hold(w, good, ...)                                                      \
    do {                                                                             \
        if (!(good)) {                                                               \
            print_error("seed %" PRIu64 ": ", (w)->seed);                            \
            print_error(__VA_ARGS__);                                                \
            fail_msg("repeat with USHER_SEED=%" PRIu64 " USHER_STEPS=1", (w)->seed); \
        }                                                                            \
    } while (0)

/* ---- channels ------------------------------------------------------------------------ */

static struct message *message_new(enum message_kind kind, size_t bytes)
{
    struct message *m = calloc(1, sizeof *m + bytes);

    assert_non_null(m);
    m->kind = kind;
    m->refs = 1;
    return m;
}

static void message_drop(struct message *m)
{
    if (--m->refs != 0)
        return;
    if (m->kind == ANSWER)
        usher_result_done(&m->reply);
    free(m);
}

static void channel_take(struct world *w, unsigned i, size_t at)
{
    message_drop(w->channel[i][at]);
    w->in_flight[i]--;
    memmove(&w->channel[i][at], &w->channel[i][at + 1],
            (w->in_flight[i] - at) * sizeof w->channel[i][at]);
}

static void channel_clear(struct world *w, unsigned i)
{
    while (w->in_flight[i] > 0)
        channel_take(w, i, 0);
}

/* Takes its own reference. */
static void channel_send(struct world *w, unsigned i, struct message *m)
{
    if (chance(w, w->loss))
        return;
    if (w->in_flight[i] == CHANNEL_MAX)
        channel_take(w, i, 0);
    m->refs++;
    w->channel[i][w->in_flight[i]++] = m;
}

static char *put_text(struct usher_text *to, const struct usher_text *from, char *at)
{
    to->data = at;
    to->size = from->size;
    if (from->size != 0)
        memcpy(at, from->data, from->size);
    return at + from->size;
}

/* There was a room of this version; what it was like is not known yet. */
static void note(struct world *w, uint64_t epoch, uint64_t version)
{
    w->seen[w->n_seen % SEEN_MAX] = (struct seen){ shown(w, epoch), version, "", 0 };
    w->n_seen++;
}

static void take_notice(void *payload, const struct usher_notice *n)
{
    struct world *w = payload;
    struct message *m;
    char *at;

    if (n->verb == USHER_NOTICE_LOST) /* is no change */
        return;
    m = message_new(NOTICE, n->scope.size + n->subject.size + n->owner.size + n->data.size);
    at = m->bytes;

    m->notice = *n;
    m->notice.epoch = shown(w, n->epoch);
    at = put_text(&m->notice.scope, &n->scope, at);
    at = put_text(&m->notice.subject, &n->subject, at);
    at = put_text(&m->notice.owner, &n->owner, at);
    (void)put_text(&m->notice.data, &n->data, at);
    for (unsigned i = 0; i < REPLICAS; i++)
        channel_send(w, i, m);
    message_drop(m);
    sum.notices++;
    sum.ranges += n->verb == USHER_ROOM_PRESENCE;
    if (n->verb != USHER_ROOM_PRESENCE) { /* those were noted when they were made */
        note(w, n->epoch, n->version);
        w->noted = n->verb == USHER_ROOM_DONE ? 0 : n->version;
    }
    if (n->verb == USHER_ROOM_DONE)
        w->done = true;
    w->opened = n->verb != USHER_ROOM_DONE;
}

/* ---- the leader ---------------------------------------------------------------------- */

static int64_t world_clock(void *payload)
{
    return ((struct world *)payload)->now;
}

static void leader_open(struct world *w)
{
    struct usher_options opt = USHER_OPTIONS_INIT;

    opt.now_ms = world_clock;
    opt.payload = w;
    opt.drivers = &rollback_driver;
    assert_int_equal(usher_open(w->hands ? "rollback:" : "memory:", &opt, &w->e), USHER_OK);
}

static void leader_listen(struct world *w)
{
    assert_int_equal(usher_watch(w->e, USHER_ROOM, ROOM, take_notice, w, &w->watch), USHER_OK);
    w->listening = true;
}

/* Run @op and keep it; *@ret_reply (may be NULL) is the caller's. */
static enum usher_status leader_run(struct world *w, const struct op *op,
                                    struct usher_result *ret_reply)
{
    struct usher_operation c;
    struct usher_result reply;
    enum usher_status status;

    w->done = w->opened = false;
    op_command(op, &c);
    memset(&reply, 0, sizeof reply);
    (void)usher_operate(w->e, &c, &reply, 1);
    status = reply.status;
    must_hold(w, status < USHER_INVALID, "%s: %s\n", usher_verb_word(op->verb), reply.message);
    if (reply.version > w->noted + SEEN_MAX) /* none in between */
        w->noted = reply.version - 1;
    for (; w->listening && (!w->done || w->opened) && w->noted < reply.version; w->noted++)
        note(w, reply.epoch, w->noted + 1); /* notified later, if at all */
    if (w->done)
        w->n_ops = 0; /* a room that is opened again is another one */
    if (!w->done || w->opened) {
        if (w->n_ops == w->room_ops) {
            w->room_ops = w->room_ops * 2 + 64;
            w->op = realloc(w->op, w->room_ops * sizeof *w->op);
            assert_non_null(w->op);
        }
        w->op[w->n_ops++] = *op;
    }
    w->missing = status == USHER_MISSING && reply.epoch == 0;
    reply.epoch = shown(w, reply.epoch);
    if (ret_reply != NULL)
        *ret_reply = reply;
    else
        usher_result_done(&reply);
    sum.commands++;
    return status;
}

/* Return the state of the leader, with all due expiries applied. */
static enum usher_status leader_now(struct world *w, uint64_t *ret_epoch, uint64_t *ret_version,
                                    uint64_t *ret_mark)
{
    struct op op;
    struct usher_result reply;
    enum usher_status status;

    memset(&op, 0, sizeof op);
    op.verb = USHER_ROOM_SNAPSHOT;
    op.now = w->now;
    op.given = USHER_GIVEN_ROOM_MAX;
    op.max = 1;
    status = leader_run(w, &op, &reply);
    *ret_epoch = reply.epoch;
    *ret_version = reply.version;
    *ret_mark = reply.of.room.mark;
    usher_result_done(&reply);
    return status;
}

static bool leader_digest(struct world *w, struct seen *ret)
{
    enum usher_status status = leader_now(w, &ret->epoch, &ret->version, &ret->mark);
    uint64_t epoch, version;

    if (status != USHER_OK)
        return false;
    status = usher_room_digest(w->e, ROOM, &epoch, &version, ret->digest);
    must_hold(w, status == USHER_OK, "digest: %s\n", usher_message());
    must_hold(w, shown(w, epoch) == ret->epoch && version == ret->version, "digest: moved\n");
    return true;
}

static void leader_remember(struct world *w)
{
    struct seen now, *last;

    /* a read of a room with coalesced notices sends them: not each time */
    if (w->together && random_below(&w->random, 4) != 0)
        return;
    if (!leader_digest(w, &now))
        return;
    last = &w->seen[(w->n_seen + SEEN_MAX - 1) % SEEN_MAX];
    if (last->epoch != now.epoch || last->version != now.version)
        last = &w->seen[w->n_seen++ % SEEN_MAX];
    *last = now;
}

static void put_fields(struct world *w, struct op *op, unsigned n)
{
    struct usher_text names[3], values[3];
    char name[3][4], value[3][4];
    unsigned first = (unsigned)random_below(&w->random, 5);

    if (n == 0)
        return;
    for (unsigned i = 0; i < n; i++) {
        (void)snprintf(name[i], sizeof name[i], "f%u", (first + i) % 5);
        (void)snprintf(value[i], sizeof value[i], "%u", (unsigned)random_below(&w->random, 3));
        names[i] = text(name[i]);
        values[i] = text(value[i]);
    }
    op->fields_size = usher_fields_pack(names, values, n, op->fields, sizeof op->fields);
    assert_true(op->fields_size <= sizeof op->fields);
}

static void open_op(struct world *w, struct op *op)
{
    static const int64_t logs[] = { 1, 5, 20, 256, 256 }; /* each is copied in `rollback:` */

    op->verb = USHER_ROOM_OPEN;
    op->given = USHER_GIVEN_ROOM_LOG | USHER_GIVEN_ROOM_TTL | USHER_GIVEN_ROOM_AWAY |
                USHER_GIVEN_ROOM_GRACE | USHER_GIVEN_ROOM_LINGER | USHER_GIVEN_ROOM_CAPACITY |
                USHER_GIVEN_ROOM_PRESENCE;
    op->log = w->faults == NONE ? 256 : logs[random_below(&w->random, w->hands ? 3 : 5)];
    op->ttl = random_below(&w->random, 2) == 0 ? 0 : 300;
    op->away = random_below(&w->random, 2) == 0 ? 0 : 100;
    op->grace = random_below(&w->random, 2) == 0 ? 0 : 200;
    op->linger = random_below(&w->random, 6) == 0 ? 500 : 0;
    op->capacity = random_below(&w->random, 3) == 0 ? 4 : 0;
    op->presence =
        random_below(&w->random, 2) == 0 ? 0 : 20 + (int64_t)random_below(&w->random, 200);
    w->together = op->presence > 0;
}

static void random_op(struct world *w, struct op *op)
{
    unsigned which = (unsigned)random_below(&w->random, 100);

    memset(op, 0, sizeof *op);
    w->now += (int64_t)random_below(&w->random, 20);
    op->now = w->now;
    if (w->missing && random_below(&w->random, 4) == 0) {
        open_op(w, op);
        return;
    }
    (void)snprintf(op->member, sizeof op->member, "m%u", (unsigned)random_below(&w->random, 7));
    if (which < 20) {
        op->verb = USHER_ROOM_JOIN;
        put_fields(w, op, (unsigned)random_below(&w->random, 3));
    } else if (which < 30) {
        op->verb = USHER_ROOM_ALIVE;
    } else if (which < 37) {
        op->verb = USHER_ROOM_LEAVE;
    } else if (which < 41) {
        op->verb = USHER_ROOM_KICK;
        if (random_below(&w->random, 2) == 0) {
            op->given = USHER_GIVEN_ROOM_BAN;
            op->ban = (int64_t)random_below(&w->random, 3) * 50;
        }
    } else if (which < 53 || (which < 70 && which >= 65) || (which < 80 && which >= 75)) {
        op->verb = which < 53 ? USHER_ROOM_MEMBER : which < 70 ? USHER_ROOM_SET : USHER_ROOM_ALL;
        if (op->verb != USHER_ROOM_MEMBER)
            op->member[0] = '\0';
        (void)snprintf(op->name, sizeof op->name, "f%u", (unsigned)random_below(&w->random, 5));
        (void)snprintf(op->value, sizeof op->value, "%u", (unsigned)random_below(&w->random, 3));
        op->has_value = true;
        op->large = random_below(&w->random, 64) == 0;
    } else if (which < 65) {
        op->verb = USHER_ROOM_SHARE;
        (void)snprintf(op->name, sizeof op->name, "s%u", (unsigned)random_below(&w->random, 5));
        put_fields(w, op, (unsigned)random_below(&w->random, 3));
    } else if (which < 75) {
        op->verb = USHER_ROOM_ROLE;
        (void)snprintf(op->name, sizeof op->name, "r%u", (unsigned)random_below(&w->random, 3));
        if (random_below(&w->random, 4) == 0)
            op->member[0] = '\0';
    } else {
        op->member[0] = '\0';
        if (which < 84) {
            op->verb = USHER_ROOM_UNSET;
            (void)snprintf(op->name, sizeof op->name, "f%u", (unsigned)random_below(&w->random, 5));
        } else if (which < 90) {
            op->verb = USHER_ROOM_UNSHARE;
            (void)snprintf(op->name, sizeof op->name, "s%u", (unsigned)random_below(&w->random, 5));
        } else if (which < 94) {
            op->verb = which < 91 ? USHER_ROOM_LOCK : USHER_ROOM_UNLOCK;
        } else if (which < 96) {
            op->verb = USHER_ROOM_SWEEP;
        } else if (which < 99 || random_below(&w->random, 4) != 0) {
            open_op(w, op);
        } else {
            op->verb = USHER_ROOM_CLOSE;
        }
    }
}

static void took(struct world *w, unsigned i, enum usher_replica_next next);

/* The store is put back to what it was when a copy was kept. */
static void put_back(struct world *w)
{
    const struct rollback_copy *copy = w->saved[random_below(&w->random, SAVED_MAX)];
    struct usher_result reply;

    if (copy == NULL)
        return;
    if (random_below(&w->random, 2) == 0) {
        usher_unwatch(w->e, w->watch);
        w->listening = false;
        usher_close(w->e);
        leader_open(w);
    }
    rollback_to(copy);
    for (unsigned i = 0; i < REPLICAS; i++)
        channel_clear(w, i);
    memset(&reply, 0, sizeof reply);
    (void)ask_room_changes(w->e, ROOM, 0, 1, &reply);
    w->noted = reply.epoch != 0 ? reply.version : 0;
    w->missing = reply.epoch == 0;
    sum.failovers++;
    if (!w->listening)
        leader_listen(w);
    if (w->faults != UNSEEN)
        for (unsigned i = 0; i < REPLICAS; i++)
            took(w, i,
                 usher_replica_heartbeat(w->r[i], reply.epoch, reply.version, reply.of.room.mark));
    usher_result_done(&reply);
    leader_remember(w);
}

/* A copy is kept, or another store takes over with all that there is. */
static void change_hands(struct world *w)
{
    unsigned i = (unsigned)random_below(&w->random, SAVED_MAX);

    if (random_below(&w->random, 30) == 0) {
        rollback_free(w->saved[i]);
        w->saved[i] = rollback_copy();
        assert_non_null(w->saved[i]);
    }
    if (random_below(&w->random, 60) == 0) {
        rollback_change_identity();
        sum.hands++;
    }
}

/* The store falls back to what it was after some of its commands. */
static void failover(struct world *w)
{
    bool same =
        w->faults == UNSEEN || (w->faults == SAME_EPOCH && random_below(&w->random, 2) == 0);
    uint64_t epoch, version, mark, real;
    size_t n = w->n_ops;
    struct usher_result reply;

    if (n < 2)
        return;
    (void)leader_now(w, &epoch, &version, &mark);
    n = w->n_ops; /* if there is a room */
    if (n < 2 || epoch == 0)
        return;
    if (n > 31 && random_below(&w->random, 4) != 0)
        n = n - 31 + (size_t)random_below(&w->random, 31);
    else
        n = 1 + (size_t)random_below(&w->random, n - 1);
    usher_unwatch(w->e, w->watch);
    w->listening = false;
    usher_close(w->e);
    leader_open(w);
    w->n_ops = 0;
    w->mask_real = 0;
    for (size_t i = 0; i < n; i++) {
        struct op op = w->op[i];

        (void)leader_run(w, &op, NULL);
    }
    assert_int_equal(w->n_ops, n);
    memset(&reply, 0, sizeof reply);
    (void)ask_room_changes(w->e, ROOM, USHER_EXACT_MAX, 1, &reply);
    real = reply.epoch;
    mark = reply.of.room.mark;
    version = reply.version; /* nothing that is due by now was applied: it is below the others' */
    usher_result_done(&reply);
    if (same && real != 0) {
        w->mask_real = real;
        w->mask_shown = epoch;
    }
    w->noted = real != 0 ? version : 0;
    leader_listen(w);
    sum.failovers++;
    if (same)
        for (unsigned i = 0; i < REPLICAS; i++)
            channel_clear(w, i);
    if (same && w->faults != UNSEEN)
        for (unsigned i = 0; i < REPLICAS; i++)
            took(w, i, usher_replica_heartbeat(w->r[i], shown(w, real), version, mark));
    leader_remember(w);
}

/* ---- replicas ------------------------------------------------------------------------ */

static bool is_open(const struct usher_replica_about *a)
{
    return a->known && (a->state == USHER_ROOM_STATE_OPEN || a->state == USHER_ROOM_STATE_LOCKED);
}

/* whole */
static void check_copy(struct world *w, unsigned i)
{
    struct usher_replica_about about = USHER_REPLICA_ABOUT_INIT;
    bool some = false, unknown = false;
    char digest[33];

    usher_replica_show(w->r[i], &about);
    if (!is_open(&about))
        return;
    assert_int_equal(usher_replica_digest(w->r[i], digest), USHER_OK);
    for (size_t n = w->n_seen; n > 0 && n + SEEN_MAX > w->n_seen; n--) {
        const struct seen *s = &w->seen[(n - 1) % SEEN_MAX];

        if (s->epoch != about.epoch || s->version != about.version)
            continue;
        if (strcmp(s->digest, digest) == 0) {
            sum.checked++;
            return;
        }
        some = true;
        unknown = unknown || s->digest[0] == '\0';
    }
    must_hold(w, !some || unknown, "whole: replica %u at version %" PRIu64 "\n", i, about.version);
}

static void took(struct world *w, unsigned i, enum usher_replica_next next)
{
    struct usher_replica_about about = USHER_REPLICA_ABOUT_INIT;

    if (next == USHER_REPLICA_APPLY)
        sum.applied++;
    usher_replica_show(w->r[i], &about);
    must_hold(w,
              (next == USHER_REPLICA_PULL || next == USHER_REPLICA_REPLAY) <=
                  !usher_replica_current(w->r[i]),
              "asks for more, and is current\n");
    must_hold(w, about.early <= USHER_REPLICA_EARLY_MAX, "too many early notices\n");
    check_copy(w, i);
}

/* honest: a heartbeat that is not late. */
static void receive_version(struct world *w, unsigned i)
{
    struct usher_replica_about about = USHER_REPLICA_ABOUT_INIT;
    struct seen now;
    char digest[33];
    bool open = leader_digest(w, &now);

    if (!open)
        (void)leader_now(w, &now.epoch, &now.version, &now.mark);
    took(w, i, usher_replica_heartbeat(w->r[i], now.epoch, now.version, now.mark));
    if (!usher_replica_current(w->r[i]))
        return;
    usher_replica_show(w->r[i], &about);
    must_hold(w, is_open(&about) == open, "honest: replica %u, open or not\n", i);
    if (!open)
        return;
    must_hold(w, about.epoch == now.epoch && about.version == now.version,
              "honest: replica %u says that %" PRIu64 " is %" PRIu64 "\n", i, about.version,
              now.version);
    assert_int_equal(usher_replica_digest(w->r[i], digest), USHER_OK);
    must_hold(w, strcmp(digest, now.digest) == 0, "honest: replica %u is another room\n", i);
}

static struct message *ask(struct world *w, unsigned i)
{
    struct message *m = message_new(QUESTION, 0);

    usher_replica_ask(w->r[i], &m->question);
    if (m->question.kind == USHER_REPLICA_PULL)
        sum.pulls += m->question.after == 0;
    else
        sum.replays++;
    return m;
}

static struct message *reply_to(struct world *w, const struct message *q)
{
    struct message *m = message_new(ANSWER, 0);
    uint64_t epoch, version, mark;

    m->question = q->question;
    (void)leader_now(w, &epoch, &version, &mark);
    if (q->question.kind == USHER_REPLICA_PULL)
        (void)ask_room_snapshot(
            w->e, ROOM, q->question.after, q->question.since,
            random_below(&w->random, 4) != 0 ? 1 + random_below(&w->random, 3) : 0, &m->reply);
    else
        (void)ask_room_changes(w->e, ROOM, q->question.since, random_below(&w->random, 8),
                               &m->reply);
    sum.lost += m->reply.status == USHER_LOST;
    sum.pages += q->question.after != 0 && m->reply.status == USHER_OK &&
                 m->reply.version > q->question.since;
    m->reply.epoch = shown(w, m->reply.epoch);
    return m;
}

static void deliver(struct world *w, unsigned i, struct message *m)
{
    struct message *answer;

    switch (m->kind) {
    case NOTICE:
        took(w, i, usher_replica_notice(w->r[i], &m->notice));
        break;
    case HEARTBEAT:
        took(w, i, usher_replica_heartbeat(w->r[i], m->epoch, m->version, m->mark));
        break;
    case QUESTION:
        answer = reply_to(w, m);
        channel_send(w, i, answer);
        message_drop(answer);
        break;
    default:
        w->asked[i] = false;
        took(w, i, replica_take(w->r[i], &m->question, &m->reply));
    }
}

static void deliver_one(struct world *w, unsigned i)
{
    size_t n = w->in_flight[i], at;
    struct message *m;

    if (n == 0)
        return;
    at = (size_t)random_below(&w->random, n < w->window ? n : w->window);
    m = w->channel[i][at];
    m->refs++;
    if (!chance(w, w->again))
        channel_take(w, i, at);
    deliver(w, i, m);
    message_drop(m);
}

/* Questions and answers until there are none; a hundred are too many. */
static void settle(struct world *w, unsigned i)
{
    for (int turn = 0; turn < 100 && !usher_replica_current(w->r[i]); turn++) {
        struct message *q = ask(w, i), *answer = reply_to(w, q);

        took(w, i, replica_take(w->r[i], &q->question, &answer->reply));
        message_drop(q);
        message_drop(answer);
    }
}

/* no more: in order and complete, a notice is applied, unless it does not say how. */
static void deliver_in_order(struct world *w, unsigned i)
{
    while (w->in_flight[i] > 0) {
        struct message *m = w->channel[i][0];
        struct usher_replica_about about = USHER_REPLICA_ABOUT_INIT;
        enum usher_replica_next next;
        bool could = usher_replica_current(w->r[i]);

        usher_replica_show(w->r[i], &about);
        could = could && m->notice.epoch == about.epoch && m->notice.before == about.version &&
                m->notice.data.size != 1;
        next = usher_replica_notice(w->r[i], &m->notice);
        must_hold(w, !could || next == USHER_REPLICA_APPLY,
                  "no more: a notice of %s asks for more\n", usher_verb_word(m->notice.verb));
        channel_take(w, i, 0);
        took(w, i, next);
        settle(w, i);
        must_hold(w, usher_replica_current(w->r[i]), "no more: it asks for ever\n");
    }
}

/* ---- events -------------------------------------------------------------------------- */

static void event(struct world *w)
{
    unsigned which = (unsigned)random_below(&w->random, 1000),
             i = (unsigned)random_below(&w->random, REPLICAS);
    struct message *m;
    struct op op;

    sum.events++;
    if (w->hands)
        change_hands(w);
    if (w->faults == NONE) {
        random_op(w, &op);
        (void)leader_run(w, &op, NULL);
        leader_remember(w);
        for (i = 0; i < REPLICAS; i++)
            deliver_in_order(w, i);
    } else if (which < 250) {
        random_op(w, &op);
        (void)leader_run(w, &op, NULL);
        leader_remember(w);
    } else if (which < 850) {
        for (unsigned n = (unsigned)random_below(&w->random, 6); n > 0; n--)
            deliver_one(w, i);
    } else if (which < 940) {
        /* again, if the answer takes too long */
        if (usher_replica_missing(w->r[i]) == USHER_REPLICA_IGNORE ||
            (w->asked[i] && random_below(&w->random, 8) != 0))
            return;
        m = ask(w, i);
        w->asked[i] = true;
        channel_send(w, i, m);
        message_drop(m);
    } else if (which < 970) {
        m = message_new(HEARTBEAT, 0);
        (void)leader_now(w, &m->epoch, &m->version, &m->mark);
        for (i = 0; i < REPLICAS; i++)
            channel_send(w, i, m);
        message_drop(m);
    } else if (which < 994) {
        receive_version(w, i);
    } else if (w->hands) {
        put_back(w);
    } else {
        failover(w);
    }
}

/* equal */
static void calm(struct world *w, unsigned i)
{
    struct usher_replica_about about = USHER_REPLICA_ABOUT_INIT;
    struct seen now;
    char digest[33];
    bool open;

    channel_clear(w, i);
    w->asked[i] = false;
    open = leader_digest(w, &now);
    if (open && random_below(&w->random, 2) == 0)
        (void)usher_replica_check(w->r[i], now.epoch, now.version, now.digest);
    else
        receive_version(w, i);
    settle(w, i);
    must_hold(w, usher_replica_current(w->r[i]), "equal: replica %u asks for ever\n", i);
    usher_replica_show(w->r[i], &about);
    must_hold(w, is_open(&about) == open, "equal: replica %u, open or not\n", i);
    if (!open)
        return;
    must_hold(w, about.epoch == now.epoch && about.version == now.version,
              "equal: replica %u is at %" PRIu64 ", not %" PRIu64 "\n", i, about.version,
              now.version);
    assert_int_equal(usher_replica_digest(w->r[i], digest), USHER_OK);
    must_hold(w, strcmp(digest, now.digest) == 0, "equal: replica %u\n", i);
}

static void world_run(uint64_t seed, enum faults faults, uint64_t events)
{
    struct world *w = calloc(1, sizeof *w);
    uint64_t faulty;
    struct op op;

    assert_non_null(w);
    w->seed = w->random = seed;
    w->faults = faults;
    w->hands = faults != NEW_EPOCHS && seed % 2 != 0;
    w->now = 1000000;
    w->window = 1;
    if (faults != NONE) {
        w->loss = (unsigned)random_below(&w->random, 4) * 20;
        w->again = (unsigned)random_below(&w->random, 3) * 20;
        w->window = 1 + (unsigned)random_below(&w->random, 12);
    }
    w->seen = calloc(SEEN_MAX, sizeof *w->seen);
    assert_non_null(w->seen);
    leader_open(w);
    leader_listen(w);
    for (unsigned i = 0; i < REPLICAS; i++)
        assert_int_equal(usher_replica_open(ROOM, NULL, &w->r[i]), USHER_OK);
    memset(&op, 0, sizeof op);
    op.now = w->now;
    open_op(w, &op);
    (void)leader_run(w, &op, NULL);
    leader_remember(w);
    for (uint64_t n = 0; n < events; n++) {
        event(w);
        if (n % 500 == 499)
            calm(w, (unsigned)random_below(&w->random, REPLICAS));
    }
    for (unsigned i = 0; i < REPLICAS; i++)
        calm(w, i);
    assert_int_equal(check_faults(w->e, NULL, NULL, &faulty), USHER_OK);
    must_hold(w, faulty == 0, "audit\n");
    for (unsigned i = 0; i < REPLICAS; i++)
        usher_replica_close(w->r[i]);
    usher_unwatch(w->e, w->watch);
    usher_close(w->e);
    for (unsigned i = 0; i < SAVED_MAX; i++)
        rollback_free(w->saved[i]);
    free(w->op);
    free(w->seen);
    free(w);
}

static void worlds(enum faults faults, unsigned share)
{
    uint64_t seed = number_from("USHER_SEED", SEED_DEFAULT);
    uint64_t steps = budget_of("USHER_STEPS", STEPS_DEFAULT) * share / 100;

    memset(&sum, 0, sizeof sum);
    print_message("seed %" PRIu64 "\n", seed);
    do {
        world_run(seed++, faults, WORLD_EVENTS);
    } while (sum.events < steps);
    print_message("%" PRIu64 " events, %" PRIu64 " commands, %" PRIu64 " notices, %" PRIu64
                  " failovers, %" PRIu64 " other hands, %" PRIu64 " told together; %" PRIu64
                  " pulls, %" PRIu64 " pages with changes, %" PRIu64 " replays, %" PRIu64
                  " of what is lost, %" PRIu64 " applied, %" PRIu64 " copies compared\n",
                  sum.events, sum.commands, sum.notices, sum.failovers, sum.hands, sum.ranges,
                  sum.pulls, sum.pages, sum.replays, sum.lost, sum.applied, sum.checked);
}

/* ---- tests --------------------------------------------------------------------------- */

TEST(without_loss_every_notice_is_applied)
{
    worlds(NONE, 10);
}

TEST(replicas_follow_through_loss_and_failover)
{
    worlds(NEW_EPOCHS, 35);
}

TEST(replicas_notice_a_rollback)
{
    worlds(SAME_EPOCH, 25);
}

TEST(unnoticed_rollback_misleads_no_replica)
{
    worlds(UNSEEN, 30);
}

/* ---- small worlds -------------------------------------------------------------------- */

/*
 * Every history of up to SMALL changes, a rollback to each place in it, and every history with
 * which the store continues, under the same epoch and at the same time.  A replica that has all
 * notices of the first history gets each subset of the later ones.  It must not report to be
 * current when it is not: neither after the last notice nor after the last version.  And after its
 * next query it equals the room.
 */
#define SMALL 3
#define SYMBOLS 3

struct small {
    struct usher_engine *e;
    struct message *messages[8];
    size_t n;
};

static void take_small_notice(void *payload, const struct usher_notice *n)
{
    struct small *s = payload;
    struct message *m =
        message_new(NOTICE, n->scope.size + n->subject.size + n->owner.size + n->data.size);
    char *at = m->bytes;

    m->notice = *n;
    m->notice.epoch = 1;
    at = put_text(&m->notice.scope, &n->scope, at);
    at = put_text(&m->notice.subject, &n->subject, at);
    at = put_text(&m->notice.owner, &n->owner, at);
    (void)put_text(&m->notice.data, &n->data, at);
    assert_true(s->n < sizeof s->messages / sizeof *s->messages);
    s->messages[s->n++] = m;
}

static int64_t small_clock(void *payload)
{
    (void)payload;
    return 1000000;
}

static void small_change(struct small *s, unsigned symbol)
{
    struct usher_text value = text(symbol == 0 ? "1" : "2");

    if (symbol < 2)
        (void)ask_room_set(s->e, ROOM, "f", &value, NULL);
    else if (ask_room_join(s->e, ROOM, "ann", NULL) == USHER_SAME)
        (void)ask_room_leave(s->e, ROOM, "ann");
}

/* The room with the first @n of @course, an open one first. */
static void small_open(struct small *s, const unsigned *course, size_t n)
{
    struct usher_options opt = USHER_OPTIONS_INIT;
    struct usher_watcher *watch;

    memset(s, 0, sizeof *s);
    opt.now_ms = small_clock;
    assert_int_equal(usher_open("memory:", &opt, &s->e), USHER_OK);
    assert_int_equal(usher_watch(s->e, USHER_ROOM, ROOM, take_small_notice, s, &watch), USHER_OK);
    assert_int_equal(ask_room_open(s->e, ROOM, NULL), USHER_OK);
    for (size_t i = 0; i < n; i++)
        small_change(s, course[i]);
}

static void small_close(struct small *s)
{
    usher_close(s->e);
    while (s->n > 0)
        message_drop(s->messages[--s->n]);
}

/* Ask @s until there is nothing to ask for. */
static void small_ask(const struct small *s, struct usher_replica *r)
{
    for (int i = 0; i < 10 && !usher_replica_current(r); i++) {
        struct usher_replica_question q;
        struct usher_result reply;

        memset(&reply, 0, sizeof reply);
        usher_replica_ask(r, &q);
        if (q.kind == USHER_REPLICA_PULL)
            (void)ask_room_snapshot(s->e, ROOM, q.after, q.since, 1, &reply);
        else
            (void)ask_room_changes(s->e, ROOM, q.since, 1, &reply);
        reply.epoch = 1;
        (void)replica_take(r, &q, &reply);
        usher_result_done(&reply);
    }
    assert_true(usher_replica_current(r));
}

static bool small_equal(const struct small *s, const struct usher_replica *r)
{
    char digest[33], copy[33];

    assert_int_equal(usher_room_digest(s->e, ROOM, NULL, NULL, digest), USHER_OK);
    assert_int_equal(usher_replica_digest(r, copy), USHER_OK);
    return strcmp(digest, copy) == 0;
}

/* @after was rolled back to where it and @before are the same.  The replica gets the notices from
 * @from on that the bits of @which name, and with @beats a heartbeat. */
static void small_world(const struct small *before, const struct small *after, size_t from,
                        unsigned which, bool beats)
{
    struct usher_replica *r;
    struct usher_result reply;
    bool last = beats || (after->n > from && (which >> (after->n - from - 1) & 1u) != 0);

    /* a repeated change looks like a late one: only a heartbeat shows the difference */
    for (size_t i = 0; !beats && after->n > 0 && i < before->n; i++)
        last =
            last && before->messages[i]->notice.mark != after->messages[after->n - 1]->notice.mark;

    assert_int_equal(usher_replica_open(ROOM, NULL, &r), USHER_OK);
    small_ask(before, r);
    assert_true(small_equal(before, r));
    for (size_t i = from; i < after->n; i++)
        if ((which >> (i - from) & 1u) != 0)
            (void)usher_replica_notice(r, &after->messages[i]->notice);
    memset(&reply, 0, sizeof reply);
    assert_int_equal(ask_room_changes(after->e, ROOM, 0, 1, &reply), USHER_OK);
    if (beats)
        (void)usher_replica_heartbeat(r, 1, reply.version, reply.of.room.mark);
    if (last && usher_replica_current(r) && !small_equal(after, r))
        fail_msg("it says that it is current, and is not");
    if (!beats)
        (void)usher_replica_heartbeat(r, 1, reply.version, reply.of.room.mark);
    usher_result_done(&reply);
    small_ask(after, r);
    assert_true(small_equal(after, r));
    usher_replica_close(r);
    sum.events++;
}

/* The history with the number @i of those of @n changes. */
static void small_course(unsigned *to, size_t n, unsigned i)
{
    for (; n > 0; n--, i /= SYMBOLS)
        *to++ = i % SYMBOLS;
}

static unsigned power(size_t n)
{
    return n == 0 ? 1 : SYMBOLS * power(n - 1);
}

static void small_worlds_of(const unsigned *course, size_t n, size_t kept)
{
    unsigned other[2 * SMALL];
    struct small before, after;

    small_open(&before, course, n);
    memcpy(other, course, kept * sizeof *course);
    for (size_t more = 0; more <= SMALL; more++) {
        for (unsigned i = 0; i < power(more); i++) {
            size_t from;

            small_course(other + kept, more, i);
            small_open(&after, other, kept);
            from = after.n;
            for (size_t k = 0; k < more; k++)
                small_change(&after, other[kept + k]);
            for (unsigned which = 0; which < 1u << (after.n - from); which++) {
                small_world(&before, &after, from, which, false);
                small_world(&before, &after, from, which, true);
            }
            small_close(&after);
        }
    }
    small_close(&before);
}

TEST(no_small_world_misleads_a_replica)
{
    unsigned course[SMALL];

    memset(&sum, 0, sizeof sum);
    for (size_t n = 0; n <= SMALL; n++)
        for (unsigned i = 0; i < power(n); i++)
            for (size_t kept = 0; kept <= n; kept++) {
                small_course(course, n, i);
                small_worlds_of(course, n, kept);
            }
    print_message("%" PRIu64 " small worlds\n", sum.events);
}

/*
 * Every way in which a room of a few members, each on a page of its own, is changed between its
 * pages by a few changes of a few kinds.
 */
#define PAGED 4

static void paged_change(struct usher_engine *e, unsigned symbol)
{
    static const char *const who[] = { "ann", "bob", "cid" };
    const char *member = who[symbol % 3];
    struct usher_text value = text("1");

    switch (symbol / 3) {
    case 0: /* leaves, or joins again: after all pages */
        if (ask_room_leave(e, ROOM, member) == USHER_SAME)
            (void)ask_room_join(e, ROOM, member, NULL);
        break;
    case 1:
        (void)ask_room_role(e, ROOM, "host", member, NULL);
        break;
    case 2: /* one share, now of this one, now of that one */
        if (ask_room_share(e, ROOM, member, "board", NULL) != USHER_OK)
            (void)ask_room_unshare(e, ROOM, "board");
        break;
    default:
        (void)ask_room_member(e, ROOM, member, "f", &value, NULL);
        (void)ask_room_all(e, ROOM, "f", &value);
    }
}

#define PAGED_SYMBOLS 12u

/* @code: a change, or none, between each two pages. */
static void paged_world(unsigned code)
{
    struct small s = { NULL, { NULL }, 0 };
    struct usher_options opt = USHER_OPTIONS_INIT;
    struct usher_replica *r;

    opt.now_ms = small_clock;
    assert_int_equal(usher_open("memory:", &opt, &s.e), USHER_OK);
    assert_int_equal(ask_room_open(s.e, ROOM, NULL), USHER_OK);
    for (unsigned i = 0; i < 3; i++) /* all join; bob has the role and the share */
        paged_change(s.e, i);
    paged_change(s.e, 4);
    paged_change(s.e, 7);
    assert_int_equal(usher_replica_open(ROOM, NULL, &r), USHER_OK);
    for (int turn = 0; turn < 20 && !usher_replica_current(r); turn++) {
        struct usher_replica_question q;
        struct usher_result reply;

        memset(&reply, 0, sizeof reply);
        usher_replica_ask(r, &q);
        assert_true(q.kind == USHER_REPLICA_PULL && (q.after != 0 || turn == 0));
        (void)ask_room_snapshot(s.e, ROOM, q.after, q.since, 1, &reply);
        reply.epoch = 1;
        (void)replica_take(r, &q, &reply);
        usher_result_done(&reply);
        if (!usher_replica_current(r) && code % (PAGED_SYMBOLS + 1) != 0)
            paged_change(s.e, code % (PAGED_SYMBOLS + 1) - 1);
        code /= PAGED_SYMBOLS + 1;
    }
    assert_true(usher_replica_current(r));
    assert_true(small_equal(&s, r));
    usher_replica_close(r);
    usher_close(s.e);
    sum.events++;
}

TEST(pages_with_changes_between_them_equal_the_room)
{
    unsigned n = 1;

    memset(&sum, 0, sizeof sum);
    for (int i = 0; i < PAGED; i++)
        n *= PAGED_SYMBOLS + 1;
    for (unsigned code = 0; code < n; code++)
        paged_world(code);
    print_message("%" PRIu64 " rooms\n", sum.events);
}

static int program_begin(void)
{
    memset(large_value, 'x', sizeof large_value);
    return 0;
}

TEST_PROGRAM(program_begin, NULL);
