/* SPDX-License-Identifier: MIT */
/*
 * The bytes are messages to a replica: notices, heartbeats and answers that no leader would give,
 * and memory that runs out.  What must hold after each:
 *
 *   whole    roles and shares have a member; the walk shows each thing once, as many as counted
 *   known    without a copy there is nothing
 *   asks     it is current, or has a question
 *   bounded  early notices are
 *   again    the same copy has the same digest
 *   memory   all is given back in the end
 */
#include "fuzz/fuzz.h"

#include <usher/replica.h>

#include "change/request_cache.h"

#define NOTICE_MAX 1024
#define ROWS_MAX 8
#define TOGETHER_MAX 2048

struct memory {
    size_t bytes;
    unsigned fail_in; /* the allocation that fails, from 1; 0: none */
};

static void *resize(void *payload, void *p, size_t old, size_t size)
{
    struct memory *m = payload;
    void *q;

    if (size == 0) {
        must_hold(m->bytes >= old, "memory: more is given back than was taken");
        m->bytes -= old;
        free(p);
        return NULL;
    }
    if (m->fail_in > 0 && --m->fail_in == 0)
        return NULL;
    q = realloc(p, size);
    must_hold(q != NULL, "memory: none");
    m->bytes += size - old;
    return q;
}

struct input {
    const uint8_t *at, *end;
};

static unsigned byte(struct input *in)
{
    return in->at < in->end ? *in->at++ : 0;
}

/* Up to 255 bytes of the input, where they stand. */
static struct usher_text bytes(struct input *in)
{
    size_t size = byte(in), left = (size_t)(in->end - in->at);
    struct usher_text t = { (const char *)in->at, size < left ? size : left };

    in->at += t.size;
    return t;
}

/* One of a few names, so that they meet; or any bytes. */
static struct usher_text name(struct input *in)
{
    static const char names[] = "abcdef";
    unsigned which = byte(in) % 8;
    struct usher_text t = { names + which, 1 };

    if (which == 6)
        return (struct usher_text){ NULL, 0 };
    return which == 7 ? bytes(in) : t;
}

/* Packed fields that are right as often as not. */
static struct usher_text value(struct input *in)
{
    static const char none[] = "\x90",
                      pair[] = "\x92\xa1"
                               "a\xa1"
                               "1",
                      triple[] = "\x93\xa1"
                                 "b\xa1"
                                 "2\x01",
                      nil[] = "\xc0";
    switch (byte(in) % 8) {
    case 0:
        return (struct usher_text){ none, 1 };
    case 1:
    case 2:
        return (struct usher_text){ pair, sizeof pair - 1 };
    case 3:
    case 4:
        return (struct usher_text){ triple, sizeof triple - 1 };
    case 5:
        return (struct usher_text){ nil, 1 };
    case 6:
        return (struct usher_text){ NULL, 0 };
    default:
        return bytes(in);
    }
}

/* Near what the replica has, mostly. */
static uint64_t version(struct input *in, const struct usher_replica *r)
{
    struct usher_replica_about about = USHER_REPLICA_ABOUT_INIT;
    unsigned b = byte(in);

    usher_replica_show(r, &about);
    if (b >= 250)
        return UINT64_MAX >> (b - 250);
    return about.version + b % 8 < 3 ? b % 8 : about.version + b % 8 - 3;
}

/* That of the one course of events, mostly. */
static uint64_t mark(struct input *in, uint64_t of)
{
    unsigned b = byte(in);

    return b < 8 ? b : of * 2 + 1000;
}

/* The versions up to that of @range, or others, in one notice; perhaps not all of it. */
static void hear_together(struct input *in, struct usher_replica *r, struct usher_notice *range)
{
    unsigned char packed[TOGETHER_MAX];
    struct usher__packer p = { packed, sizeof packed, 0 };
    unsigned cut;

    range->token = range->version - range->from;
    for (unsigned i = 0; i <= range->from; i++) {
        struct usher_notice n;

        memset(&n, 0, sizeof n);
        n.version = range->token + i + (byte(in) % 16 == 0);
        n.verb = (enum usher_verb)(USHER_ROOM_OPEN + byte(in) % 32);
        n.subject = name(in);
        n.owner = name(in);
        n.data = value(in);
        n.from = (uint8_t)(byte(in) % 6);
        n.to = (uint8_t)(byte(in) % 6);
        n.was = mark(in, n.version - 1);
        n.mark = mark(in, n.version);
        usher__notice_pack(&p, &n);
    }
    cut = byte(in) % 16 == 0 ? byte(in) : 0;
    if (p.n > sizeof packed)
        return;
    range->data = (struct usher_text){ (const char *)packed, p.n > cut ? p.n - cut : 0 };
    (void)usher_replica_notice(r, range);
}

static void hear(struct input *in, struct usher_replica *r)
{
    struct usher_notice n;

    memset(&n, 0, sizeof n);
    n.noun = USHER_ROOM;
    n.scope = (struct usher_text){ "r", 1 };
    n.version = version(in, r);
    n.epoch = byte(in) % 16 == 0 ? byte(in) : 7;
    n.verb = (enum usher_verb)(USHER_ROOM_OPEN + byte(in) % 32);
    n.subject = name(in);
    n.owner = name(in);
    n.data = value(in);
    n.from = (uint8_t)(byte(in) % 6);
    n.to = (uint8_t)(byte(in) % 6);
    n.was = mark(in, n.version - 1);
    n.mark = mark(in, n.version);
    if (n.verb == USHER_ROOM_PRESENCE) {
        hear_together(in, r, &n);
        return;
    }
    (void)usher_replica_notice(r, &n);
}

static void beat(struct input *in, struct usher_replica *r)
{
    uint64_t epoch = byte(in) % 8 == 0 ? byte(in) : 7, v = version(in, r);

    (void)usher_replica_heartbeat(r, epoch, v, mark(in, v));
}

/* A row of `changes`, or of a page of a snapshot. */
static struct usher_text packed_notice(struct input *in, const struct usher_replica *r,
                                       unsigned char to[NOTICE_MAX])
{
    struct usher__packer p = { to, NOTICE_MAX, 0 };
    struct usher_notice n;

    memset(&n, 0, sizeof n);
    n.version = version(in, r);
    n.verb = (enum usher_verb)(USHER_ROOM_OPEN + byte(in) % 32);
    n.subject = name(in);
    n.owner = name(in);
    n.data = value(in);
    n.from = (uint8_t)(byte(in) % 6);
    n.to = (uint8_t)(byte(in) % 6);
    n.was = mark(in, n.version - 1);
    n.mark = mark(in, n.version);
    usher__notice_pack(&p, &n);
    return (struct usher_text){ (const char *)to, p.n <= NOTICE_MAX ? p.n : 0 };
}

/* Give @result to @r: in bytes, of which one may be another. */
static void deliver(struct input *in, struct usher_replica *r,
                    const struct usher_replica_question *q, const struct usher_result *result)
{
    struct usher_operation c;
    struct usher_reply *reply, *sent = NULL;
    unsigned char *packed;
    size_t size;

    memset(&c, 0, sizeof c);
    c.verb = q->kind == USHER_REPLICA_REPLAY ? USHER_ROOM_CHANGES : USHER_ROOM_SNAPSHOT;
    c.scope = (struct usher_text){ "r", 1 };
    reply = usher_reply_of(&c, result);
    must_hold(reply != NULL, "reply");
    size = usher_reply_pack(reply, NULL, 0);
    packed = malloc(size);
    must_hold(packed != NULL && usher_reply_pack(reply, packed, size) == size, "reply: its size");
    if (byte(in) % 16 == 0)
        packed[byte(in) % size] = (unsigned char)byte(in);
    (void)usher_reply_unpack(packed, size, &sent);
    (void)usher_replica_answer(r, q->ticket, sent);
    usher_reply_done(sent);
    usher_reply_done(reply);
    free(packed);
}

static void answer(struct input *in, struct usher_replica *r,
                   const struct usher_replica_question *q)
{
    static const enum usher_status statuses[] = { USHER_OK,      USHER_OK,         USHER_OK,
                                                  USHER_OK,      USHER_SAME,       USHER_STALE,
                                                  USHER_MISSING, USHER_UNAVAILABLE };
    struct usher_room_result_row rows[ROWS_MAX];
    struct usher_result reply;
    struct usher_room_result *room = &reply.of.room;
    unsigned char packed[ROWS_MAX][NOTICE_MAX];

    memset(&reply, 0, sizeof reply);
    memset(rows, 0, sizeof rows);
    reply.noun = USHER_ROOM;
    reply.status = statuses[byte(in) % 8];
    reply.epoch = byte(in) % 16 == 0 ? byte(in) : 7;
    reply.version = version(in, r);
    room->state = (enum usher_room_state)(byte(in) % 8 == 0 ? byte(in) % 5 : 1);
    room->more = byte(in) % 4 == 0;
    room->mark = mark(in, reply.version);
    room->since = byte(in) % 8;
    room->n_rows = byte(in) % (ROWS_MAX + 1);
    room->rows = rows;
    for (size_t i = 0; i < room->n_rows; i++) {
        rows[i].kind = (int)(byte(in) % 8);
        rows[i].id = name(in);
        rows[i].owner = name(in);
        rows[i].value = value(in);
        rows[i].version = byte(in) % 4;
        rows[i].state = (int)(byte(in) % 5);
        if (rows[i].kind == USHER_ROOM_ROW_NOTICE && byte(in) % 8 != 0)
            rows[i].value = packed_notice(in, r, packed[i]);
    }
    deliver(in, r, q, &reply);
}

static void look(const struct usher_replica *r)
{
    struct usher_replica_about about = USHER_REPLICA_ABOUT_INIT;
    uint64_t n[USHER_ROOM_ROW_NOTICE + 1] = { 0 };
    struct usher_room_row row = USHER_ROOM_ROW_INIT, other = USHER_ROOM_ROW_INIT;
    struct usher_text text;
    const void *at = NULL;
    char digest[33], again[33];
    enum usher_status status;

    usher_replica_show(r, &about);
    while (usher_replica_walk(r, &at, &row)) {
        must_hold(row.kind >= USHER_ROOM_ROW_FIELD && row.kind <= USHER_ROOM_ROW_SHARE,
                  "whole: kind");
        n[row.kind]++;
        must_hold(usher_replica_find(r, (enum usher_room_row_kind)row.kind, row.name, &other),
                  "whole: found by its name");
        if (row.kind == USHER_ROOM_ROW_ROLE || row.kind == USHER_ROOM_ROW_SHARE)
            must_hold(row.owner != NULL, "whole: it has a member");
        if (row.kind == USHER_ROOM_ROW_MEMBER)
            (void)usher_replica_value(r, row.name, "a", &text);
        must_hold((uint64_t)row.version <= about.version, "whole: version");
    }
    must_hold(n[USHER_ROOM_ROW_FIELD] == about.fields && n[USHER_ROOM_ROW_ALL] == about.alls &&
                  n[USHER_ROOM_ROW_ROLE] == about.roles &&
                  n[USHER_ROOM_ROW_MEMBER] == about.members &&
                  n[USHER_ROOM_ROW_SHARE] == about.shares,
              "whole: as many as counted");
    must_hold(about.known || (about.version == 0 && n[USHER_ROOM_ROW_FIELD] == 0), "known");
    must_hold(about.known || !usher_replica_current(r), "known: current");
    must_hold(usher_replica_current(r) == (usher_replica_missing(r) == USHER_REPLICA_IGNORE),
              "asks");
    must_hold(about.early <= USHER_REPLICA_EARLY_MAX, "bounded");
    status = usher_replica_digest(r, digest);
    must_hold(usher_replica_digest(r, again) == status, "again: status");
    must_hold(status != USHER_OK || strcmp(digest, again) == 0, "again");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = { data, data + size };
    struct memory memory = { 0, 0 };
    struct usher_allocator alloc = { resize, &memory };
    struct usher_replica_question q = { 0 }, old = { 0 };
    struct usher_replica *r;

    must_hold(usher_replica_open("r", &alloc, &r) == USHER_OK, "open");
    while (in.at < in.end) {
        switch (byte(&in) % 8) {
        case 0:
        case 1:
        case 2:
            hear(&in, r);
            break;
        case 3:
            beat(&in, r);
            break;
        case 4:
        case 5:
            old = q;
            usher_replica_ask(r, &q);
            must_hold((q.kind == USHER_REPLICA_IGNORE) == usher_replica_current(r), "asks: kind");
            answer(&in, r, &q);
            break;
        case 6:
            answer(&in, r, byte(&in) % 2 == 0 ? &old : &q);
            break;
        default:
            memory.fail_in = byte(&in) % 8;
        }
        look(r);
    }
    usher_replica_close(r);
    must_hold(memory.bytes == 0, "memory");
    return 0;
}
