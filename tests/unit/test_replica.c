/* SPDX-License-Identifier: MIT */
/*
 * The rules by which a replica keeps its copy, one test each, with notices and answers made by
 * hand.  tests/model/test_replica_random.c has a real leader.
 */
#include "lib/test.h"

#include <usher/replica.h>

#include "core/pack.h"
#include "lib/calls.h"
#include "lib/util.h"
#include "change/request_cache.h"

#define EPOCH UINT64_C(0x1122334455667788)
#define OTHER UINT64_C(0x99)
#define ROWS_MAX 16

enum { IGNORE = USHER_REPLICA_IGNORE, APPLY, REPLAY, PULL };

/* ---- memory that can fail ---- */

/* ---- a world: one replica, and what its leader would say ---- */

struct world {
    struct memory memory;
    struct usher_allocator alloc;
    struct usher_replica *r;
    struct usher_result reply;
    struct usher_room_result_row rows[ROWS_MAX];
    unsigned char bytes[ROWS_MAX][600];
    struct usher_replica_question asked; /* the last question */
};

static int setup(void **state)
{
    struct world *w = calloc(1, sizeof *w);

    assert_non_null(w);
    w->alloc.resize = memory_resize;
    w->alloc.payload = &w->memory;
    assert_int_equal(usher_replica_open("r", &w->alloc, &w->r), USHER_OK);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;

    usher_replica_close(w->r);
    assert_int_equal(w->memory.bytes, 0);
    free(w);
    return 0;
}

TEST_EACH(setup, teardown);

/* "a=1 b=2", packed; each word of it with @version if that is not 0. */
static struct usher_text pack(unsigned char *to, size_t size, const char *words, uint64_t version)
{
    struct usher__packer p = { to, size, 0 };
    struct usher_text packed = { (const char *)to, 0 };
    size_t n = 0;

    if (*words == '\0')
        return text(NULL);
    for (const char *at = words; at != NULL; at = strchr(at + 1, ' '))
        n++;
    usher__pack_array(&p, n * (version != 0 ? 3 : 2));
    while (n-- > 0) {
        size_t name = strcspn(words, "="), value = strcspn(words + name + 1, " ");

        usher__pack_text(&p, words, name);
        usher__pack_text(&p, words + name + 1, value);
        if (version != 0)
            usher__pack_uint(&p, version);
        words += name + value + 2;
    }
    assert_true(p.n <= size);
    packed.size = p.n;
    return packed;
}

/* A notice of the room. */
struct room_change {
    uint64_t version;
    enum usher_verb verb;
    const char *subject, *owner, *data; /* NULL: none */
    unsigned from, to;
    uint64_t epoch; /* 0: EPOCH */
    int64_t now_ms;
    uint64_t was, mark; /* 0: those of the course that all tests begin with */
};

/* Return the history hash of @version in that history. */
static uint64_t mark_of(uint64_t version)
{
    return version != 0 ? 1000 + version : 0;
}

static struct usher_notice notice(const struct room_change *t, unsigned char *to, size_t size)
{
    struct usher_notice n;

    memset(&n, 0, sizeof n);
    n.noun = USHER_ROOM;
    n.scope = text("r");
    n.epoch = t->epoch != 0 ? t->epoch : EPOCH;
    n.version = t->version;
    n.now_ms = t->now_ms != 0 ? t->now_ms : 1000 + (int64_t)t->version;
    n.verb = t->verb;
    n.subject = text(t->subject);
    n.owner = text(t->owner);
    n.from = (uint8_t)t->from;
    n.to = (uint8_t)t->to;
    if (t->data != NULL)
        n.data = pack(to, size, t->data, 0);
    n.was = t->was != 0 ? t->was : mark_of(t->version - 1);
    n.mark = t->mark != 0 ? t->mark : mark_of(t->version);
    if (n.verb == USHER_ROOM_CLOSE || n.verb == USHER_ROOM_DONE)
        n.mark = 0;
    if (n.verb == USHER_ROOM_DONE)
        n.was = 0;
    return n;
}

static int receive(struct world *w, const struct room_change *t)
{
    unsigned char bytes[512];
    struct usher_notice n = notice(t, bytes, sizeof bytes);

    return (int)usher_replica_notice(w->r, &n);
}

#define RECEIVE(w, ...) receive(w, &(const struct room_change){ __VA_ARGS__ })
/* The notice of @version that sets field `f` to @v, a word like "f=1". */
#define RECEIVE_SET(w, version, v) RECEIVE(w, version, USHER_ROOM_SET, .data = v)

static int beat(struct world *w, uint64_t epoch, uint64_t version)
{
    return (int)usher_replica_heartbeat(w->r, epoch, version, mark_of(version));
}

static void ask_for(struct world *w, int kind)
{
    usher_replica_ask(w->r, &w->asked);
    assert_int_equal(w->asked.kind, kind);
}

static void ask_since(struct world *w, uint64_t since)
{
    ask_for(w, REPLAY);
    assert_int_equal(w->asked.since, since);
}

static struct usher_room_result *reply(struct world *w, enum usher_status status, uint64_t epoch,
                                       uint64_t version)
{
    memset(&w->reply, 0, sizeof w->reply);
    w->reply.status = status;
    w->reply.noun = USHER_ROOM;
    w->reply.epoch = epoch;
    w->reply.version = version;
    w->reply.of.room.state = USHER_ROOM_STATE_OPEN;
    w->reply.of.room.rows = w->rows;
    w->reply.of.room.mark = status == USHER_MISSING ? 0 : mark_of(version);
    return &w->reply.of.room;
}

static struct usher_room_result_row *add_row(struct world *w, int kind, const char *id,
                                             const char *owner, uint64_t version)
{
    struct usher_room_result_row *row = &w->rows[w->reply.of.room.n_rows];

    assert_true(w->reply.of.room.n_rows < ROWS_MAX);
    memset(row, 0, sizeof *row);
    row->kind = kind;
    row->id = text(id);
    row->owner = text(owner);
    row->version = version;
    if (kind == USHER_ROOM_ROW_MEMBER)
        row->state = USHER_ROOM_MEMBER_HERE;
    w->reply.of.room.n_rows++;
    return row;
}

static void add_value(struct world *w, int kind, const char *id, const char *value,
                      uint64_t version)
{
    add_row(w, kind, id, NULL, version)->value = text(value);
}

/* @fields as "a=1 b=2", all of @version. */
static void add_own(struct world *w, int kind, const char *id, const char *owner,
                    const char *fields, uint64_t version)
{
    size_t i = w->reply.of.room.n_rows;

    add_row(w, kind, id, owner, version)->value =
        pack(w->bytes[i], sizeof w->bytes[i], fields, version);
}

/* A row of `changes`. */
static void add_notice(struct world *w, const struct room_change *t)
{
    size_t i = w->reply.of.room.n_rows;
    unsigned char data[512];
    struct usher_notice n = notice(t, data, sizeof data);
    struct usher__packer p = { w->bytes[i], sizeof w->bytes[i], 0 };
    struct usher_room_result_row *row = add_row(w, USHER_ROOM_ROW_NOTICE, "", NULL, t->version);

    usher__notice_pack(&p, &n);
    assert_true(p.n <= sizeof w->bytes[i]);
    row->value.data = (const char *)w->bytes[i];
    row->value.size = p.n;
}

#define ADD_SET(w, v, word) \
    add_notice(w, &(const struct room_change){ v, USHER_ROOM_SET, .data = word })

static int answer(struct world *w)
{
    return (int)replica_take(w->r, &w->asked, &w->reply);
}

/* At version 10: fields f=0 g=0, mic=on for all, ann (here, name=Ann) with role host and share
 * board, bob. */
static void known_rows(struct world *w, uint64_t epoch, uint64_t version)
{
    (void)reply(w, USHER_OK, epoch, version);
    add_value(w, USHER_ROOM_ROW_FIELD, "f", "0", 2);
    add_value(w, USHER_ROOM_ROW_FIELD, "g", "0", 2);
    add_value(w, USHER_ROOM_ROW_ALL, "mic", "on", 8);
    add_row(w, USHER_ROOM_ROW_ROLE, "host", "ann", 5);
    add_own(w, USHER_ROOM_ROW_MEMBER, "ann", NULL, "name=Ann", 3);
    add_own(w, USHER_ROOM_ROW_SHARE, "board", "ann", "page=1", 6);
    add_own(w, USHER_ROOM_ROW_MEMBER, "bob", NULL, "", 4);
}

static void know(struct world *w)
{
    ask_for(w, PULL);
    known_rows(w, EPOCH, 10);
    assert_int_equal(answer(w), APPLY);
    assert_true(usher_replica_current(w->r));
}

static struct usher_replica_about about(const struct world *w)
{
    struct usher_replica_about a = USHER_REPLICA_ABOUT_INIT;

    usher_replica_show(w->r, &a);
    return a;
}

static void assert_version(const struct world *w, uint64_t version)
{
    assert_int_equal(about(w).version, version);
}

static void assert_value(const struct world *w, enum usher_room_row_kind kind, const char *id,
                         const char *value)
{
    struct usher_room_row row = USHER_ROOM_ROW_INIT;

    if (value == NULL) {
        assert_false(usher_replica_find(w->r, kind, id, &row));
        return;
    }
    assert_true(usher_replica_find(w->r, kind, id, &row));
    assert_int_equal(row.value.size, strlen(value));
    assert_memory_equal(row.value.data, value, row.value.size);
}

#define assert_field(w, id, value) assert_value(w, USHER_ROOM_ROW_FIELD, id, value)

static void assert_counts(const struct world *w, const char *member, const char *field,
                          const char *value)
{
    struct usher_text got;

    if (value == NULL) {
        assert_false(usher_replica_value(w->r, member, field, &got));
        return;
    }
    assert_true(usher_replica_value(w->r, member, field, &got));
    assert_int_equal(got.size, strlen(value));
    assert_memory_equal(got.data, value, got.size);
}

/* ---- snapshots ---- */

TEST(a_name_that_no_room_can_have_is_invalid)
{
    struct usher_replica *r;

    assert_int_equal(usher_replica_open("", NULL, &r), USHER_INVALID);
    assert_int_equal(usher_replica_open("a{b", NULL, &r), USHER_INVALID);
    assert_int_equal(usher_replica_open(NULL, NULL, &r), USHER_INVALID);
    assert_int_equal(usher_replica_open("r", NULL, NULL), USHER_INVALID);
    usher_replica_close(NULL);
}

TEST(a_new_replica_wants_a_snapshot)
{
    struct world *w = *state;
    struct usher_replica_question q;
    char digest[33];

    assert_false(usher_replica_current(w->r));
    assert_false(about(w).known);
    assert_int_equal(usher_replica_digest(w->r, digest), USHER_MISSING);
    usher_replica_ask(w->r, &q);
    assert_int_equal(q.kind, PULL);
    assert_true(q.after == 0 && q.since == 0);
}

TEST(a_snapshot_is_the_copy)
{
    static const struct {
        int kind;
        const char *id, *owner;
    } walk[] = {
        { USHER_ROOM_ROW_FIELD, "f", "" },    { USHER_ROOM_ROW_FIELD, "g", "" },
        { USHER_ROOM_ROW_ALL, "mic", "" },    { USHER_ROOM_ROW_ROLE, "host", "ann" },
        { USHER_ROOM_ROW_MEMBER, "ann", "" }, { USHER_ROOM_ROW_SHARE, "board", "ann" },
        { USHER_ROOM_ROW_MEMBER, "bob", "" },
    };
    struct world *w = *state;
    struct usher_room_row row = USHER_ROOM_ROW_INIT;
    const void *at = NULL;

    know(w);
    for (size_t i = 0; i < sizeof walk / sizeof *walk; i++) {
        assert_true(usher_replica_walk(w->r, &at, &row));
        assert_int_equal(row.kind, walk[i].kind);
        assert_string_equal(row.name, walk[i].id);
        assert_string_equal(row.owner != NULL ? row.owner : "", walk[i].owner);
    }
    assert_false(usher_replica_walk(w->r, &at, &row));
    assert_int_equal(about(w).fields, 2);
    assert_int_equal(about(w).alls, 1);
    assert_int_equal(about(w).roles, 1);
    assert_int_equal(about(w).members, 2);
    assert_int_equal(about(w).shares, 1);
    assert_int_equal(about(w).state, USHER_ROOM_STATE_OPEN);
    assert_true(about(w).epoch == EPOCH);
    assert_version(w, 10);
}

/* Give the reply another page, of members that joined after @after. */
static void more(struct world *w, uint64_t after)
{
    w->reply.of.room.more = true;
    w->reply.of.room.since = after;
}

TEST(pages_are_put_together)
{
    struct world *w = *state;
    struct usher_replica_question q;

    ask_for(w, PULL);
    known_rows(w, EPOCH, 10);
    more(w, 4);
    assert_int_equal(answer(w), PULL);
    assert_false(about(w).known);
    usher_replica_ask(w->r, &q);
    assert_int_equal(q.kind, PULL);
    assert_int_equal(q.after, 4);
    assert_int_equal(q.since, 10);
    w->asked = q;
    (void)reply(w, USHER_OK, EPOCH, 10);
    add_value(w, USHER_ROOM_ROW_ALL, "mic", "on", 8); /* each page has them */
    add_own(w, USHER_ROOM_ROW_MEMBER, "cid", NULL, "", 7);
    assert_int_equal(answer(w), APPLY);
    assert_int_equal(about(w).alls, 1);
    assert_true(usher_replica_current(w->r));
    assert_int_equal(about(w).members, 3);
}

TEST(the_old_copy_stays_until_the_new_one_is_whole)
{
    struct world *w = *state;

    know(w);
    assert_int_equal(beat(w, OTHER, 3), PULL);
    ask_for(w, PULL);
    (void)reply(w, USHER_OK, OTHER, 3);
    add_own(w, USHER_ROOM_ROW_MEMBER, "zoe", NULL, "", 2);
    more(w, 2);
    assert_int_equal(answer(w), PULL);
    assert_int_equal(about(w).members, 2);
    assert_true(about(w).epoch == EPOCH);
    assert_false(usher_replica_current(w->r));
    ask_for(w, PULL);
    (void)reply(w, USHER_OK, OTHER, 3);
    assert_int_equal(answer(w), APPLY);
    assert_int_equal(about(w).members, 1);
    assert_true(usher_replica_current(w->r));
}

static void first_page(struct world *w)
{
    ask_for(w, PULL);
    known_rows(w, EPOCH, 10);
    more(w, 4);
    assert_int_equal(answer(w), PULL);
    ask_for(w, PULL);
}

static void assert_restarts(struct world *w)
{
    struct usher_replica_question q;

    assert_int_equal(answer(w), PULL);
    assert_false(about(w).known);
    usher_replica_ask(w->r, &q);
    assert_true(q.after == 0 && q.since == 0);
    w->asked = q;
}

TEST(page_without_its_changes_restarts_the_copy)
{
    struct world *w = *state;

    first_page(w);
    (void)reply(w, USHER_OK, EPOCH, 11);
    assert_restarts(w);
    known_rows(w, EPOCH, 11);
    assert_int_equal(answer(w), APPLY);
    assert_version(w, 11);
}

TEST(page_of_another_epoch_restarts_the_copy)
{
    struct world *w = *state;

    first_page(w);
    (void)reply(w, USHER_OK, OTHER, 10);
    assert_restarts(w);
}

TEST(log_too_short_for_a_page_restarts_the_copy)
{
    struct world *w = *state;

    first_page(w);
    (void)reply(w, USHER_STALE, EPOCH, 11);
    assert_restarts(w);
}

TEST(page_of_another_history_restarts_the_copy)
{
    struct world *w = *state;

    first_page(w); /* the store fell, and came to the same version */
    reply(w, USHER_OK, EPOCH, 10)->mark = 77;
    assert_restarts(w);
    known_rows(w, EPOCH, 10);
    more(w, 4);
    assert_int_equal(answer(w), PULL);
    ask_for(w, PULL);
    (void)reply(w, USHER_OK, EPOCH, 12); /* or to a later one */
    add_notice(w, &(const struct room_change){ 11, USHER_ROOM_SET, .data = "f=1", .was = 77 });
    ADD_SET(w, 12, "f=2");
    assert_restarts(w);
    known_rows(w, EPOCH, 10);
    more(w, 4);
    assert_int_equal(answer(w), PULL);
    ask_for(w, PULL);
    (void)reply(w, USHER_OK, EPOCH, 11); /* the change is not the one that the room has made */
    add_notice(w, &(const struct room_change){ 11, USHER_ROOM_SET, .data = "f=1", .mark = 77 });
    assert_restarts(w);
    assert_int_equal(beat(w, EPOCH, 8), IGNORE); /* late, or a rollback: the next page decides */
    known_rows(w, EPOCH, 10);
    assert_int_equal(answer(w), APPLY);
    assert_true(usher_replica_current(w->r));
}

TEST(changes_between_two_pages_are_made_in_what_is_there)
{
    struct world *w = *state;

    first_page(w);
    (void)reply(w, USHER_OK, EPOCH, 18);
    add_notice(w, &(const struct room_change){ 11, USHER_ROOM_LEAVE, .subject = "bob", .from = 1,
                                               .to = 0 });
    add_notice(
        w, &(const struct room_change){ 12, USHER_ROOM_ROLE, .subject = "host", .owner = "cid" });
    add_notice(w, &(const struct room_change){ 13, USHER_ROOM_JOIN, .subject = "bob", .from = 0,
                                               .to = 1 });
    add_notice(w, &(const struct room_change){ 14, USHER_ROOM_MEMBER, .subject = "ann", .from = 1,
                                               .to = 1, .data = "mic=x" });
    add_notice(w, &(const struct room_change){ 15, USHER_ROOM_MEMBER, .subject = "cid", .from = 1,
                                               .to = 1, .data = "mic=y" });
    add_notice(
        w, &(const struct room_change){ 16, USHER_ROOM_ALL, .subject = "mic", .data = "mic=z" });
    ADD_SET(w, 17, "f=7");
    add_notice(w, &(const struct room_change){ 18, USHER_ROOM_LOCK, .from = 1, .to = 2 });
    w->reply.of.room.state = USHER_ROOM_STATE_LOCKED;
    add_value(w, USHER_ROOM_ROW_ALL, "mic", "z", 16);
    add_own(w, USHER_ROOM_ROW_MEMBER, "cid", NULL, "mic=y", 7);
    add_own(w, USHER_ROOM_ROW_MEMBER, "bob", NULL, "", 13);
    assert_int_equal(answer(w), APPLY);
    assert_true(usher_replica_current(w->r));
    assert_version(w, 18);
    assert_int_equal(about(w).members, 3);
    assert_int_equal(about(w).state, USHER_ROOM_STATE_LOCKED);
    assert_field(w, "f", "7");
    assert_counts(w, "ann", "mic", "z");
    assert_counts(w, "bob", "mic", "z");
    /* the role came to who stood on the later page */
    assert_int_equal(RECEIVE(w, 19, USHER_ROOM_LEAVE, .subject = "cid", .from = 1, .to = 0), APPLY);
    assert_int_equal(about(w).roles, 0);
}

TEST(a_member_that_leaves_between_pages_takes_its_shares)
{
    struct world *w = *state;

    first_page(w);
    (void)reply(w, USHER_OK, EPOCH, 16);
    /* a role and a share of a member whose page has not come, and who leaves before it comes */
    add_notice(
        w, &(const struct room_change){ 11, USHER_ROOM_ROLE, .subject = "scribe", .owner = "cid" });
    add_notice(w, &(const struct room_change){ 12, USHER_ROOM_SHARE, .subject = "screen",
                                               .owner = "cid" });
    add_notice(w, &(const struct room_change){ 13, USHER_ROOM_KICK, .subject = "cid", .from = 1,
                                               .to = 4 });
    /* a share that one loses and another one has */
    add_notice(w, &(const struct room_change){ 14, USHER_ROOM_UNSHARE, .subject = "board" });
    add_notice(
        w, &(const struct room_change){ 15, USHER_ROOM_SHARE, .subject = "board", .owner = "dan" });
    add_notice(w, &(const struct room_change){ 16, USHER_ROOM_LEAVE, .subject = "ann", .from = 1,
                                               .to = 0 });
    add_own(w, USHER_ROOM_ROW_MEMBER, "dan", NULL, "", 9);
    add_own(w, USHER_ROOM_ROW_SHARE, "board", "dan", "", 15);
    assert_int_equal(answer(w), APPLY);
    assert_version(w, 16);
    assert_int_equal(about(w).members, 2);
    assert_int_equal(about(w).roles, 0);
    assert_int_equal(about(w).shares, 1);
    assert_value(w, USHER_ROOM_ROW_MEMBER, "bob", "");
    assert_value(w, USHER_ROOM_ROW_MEMBER, "ann", NULL);
}

TEST(changes_that_fill_a_page_are_followed_by_others)
{
    struct world *w = *state;
    struct usher_replica_question q;

    first_page(w);
    (void)reply(w, USHER_OK, EPOCH, 13);
    ADD_SET(w, 11, "f=1");
    ADD_SET(w, 12, "f=2");
    more(w, 4);
    assert_int_equal(answer(w), PULL);
    usher_replica_ask(w->r, &q);
    assert_true(q.after == 4 && q.since == 12);
    w->asked = q;
    (void)reply(w, USHER_OK, EPOCH, 13);
    ADD_SET(w, 13, "f=3");
    assert_int_equal(answer(w), APPLY);
    assert_version(w, 13);
    assert_field(w, "f", "3");
    assert_true(usher_replica_current(w->r));
}

TEST(an_answer_that_comes_twice_is_ignored)
{
    struct world *w = *state;

    ask_for(w, PULL);
    known_rows(w, EPOCH, 10);
    assert_int_equal(answer(w), APPLY);
    assert_int_equal(answer(w), IGNORE);
    assert_int_equal(about(w).members, 2);
}

TEST(answer_to_an_older_query_is_ignored)
{
    struct world *w = *state;
    struct usher_replica_question old;

    ask_for(w, PULL);
    old = w->asked;
    ask_for(w, PULL);
    known_rows(w, EPOCH, 10);
    assert_int_equal(replica_take(w->r, &old, &w->reply), IGNORE);
    assert_false(about(w).known);
    assert_int_equal(answer(w), APPLY);
}

TEST(impossible_rows_restart_the_copy)
{
    struct world *w = *state;

    for (int wrong = 0; wrong < 8; wrong++) {
        ask_for(w, PULL);
        known_rows(w, EPOCH, 10);
        switch (wrong) {
        case 0: /* twice */
            add_value(w, USHER_ROOM_ROW_FIELD, "f", "0", 2);
            break;
        case 1: /* of no member */
            add_own(w, USHER_ROOM_ROW_SHARE, "screen", "eve", "", 2);
            break;
        case 2:
            add_row(w, USHER_ROOM_ROW_ROLE, "guest", "eve", 2);
            break;
        case 3: /* no fields */
            add_row(w, USHER_ROOM_ROW_MEMBER, "eve", NULL, 2)->value = text("abc");
            break;
        case 4: /* newer than the room */
            add_value(w, USHER_ROOM_ROW_FIELD, "h", "0", 11);
            break;
        case 6: /* another value of all */
            add_value(w, USHER_ROOM_ROW_ALL, "mic", "off", 9);
            break;
        case 5: /* no such kind */
            add_value(w, 77, "h", "0", 2);
            break;
        default: /* for ever */
            more(w, 0);
        }
        assert_restarts(w);
    }
    known_rows(w, EPOCH, 10);
    assert_int_equal(answer(w), APPLY);
}

TEST(failed_query_is_repeated)
{
    struct world *w = *state;

    ask_for(w, PULL);
    (void)reply(w, USHER_UNAVAILABLE, 0, 0);
    assert_int_equal(answer(w), PULL);
    know(w);
    assert_int_equal(beat(w, EPOCH, 12), REPLAY);
    ask_for(w, REPLAY);
    (void)reply(w, USHER_UNKNOWN, 0, 0);
    assert_int_equal(answer(w), REPLAY);
}

/* ---- notices ---- */

TEST(the_next_notice_is_applied)
{
    struct world *w = *state;

    know(w);
    assert_int_equal(RECEIVE_SET(w, 11, "f=1"), APPLY);
    assert_field(w, "f", "1");
    assert_version(w, 11);
    assert_true(usher_replica_current(w->r));
}

TEST(a_notice_that_comes_twice_is_ignored)
{
    struct world *w = *state;

    know(w);
    assert_int_equal(RECEIVE_SET(w, 11, "f=1"), APPLY);
    assert_int_equal(RECEIVE_SET(w, 12, "f=2"), APPLY);
    assert_int_equal(RECEIVE_SET(w, 11, "f=1"), IGNORE);
    assert_int_equal(RECEIVE_SET(w, 12, "f=2"), IGNORE);
    assert_field(w, "f", "2");
    assert_true(usher_replica_current(w->r));
    /* one that is older than the snapshot may be the first after a rollback */
    assert_int_equal(RECEIVE_SET(w, 7, "f=9"), REPLAY);
    ask_since(w, 12);
    (void)reply(w, USHER_OK, EPOCH, 12);
    assert_int_equal(answer(w), IGNORE);
    assert_field(w, "f", "2");
    assert_true(usher_replica_current(w->r));
}

TEST(notices_of_other_rooms_are_ignored)
{
    struct world *w = *state;
    struct usher_notice n;

    know(w);
    n = notice(&(const struct room_change){ 11, USHER_ROOM_LOCK, .from = 1, .to = 2 }, NULL, 0);
    n.scope = text("s");
    assert_int_equal(usher_replica_notice(w->r, &n), IGNORE);
    n.scope = text("r");
    n.noun = USHER_NUMBER;
    assert_int_equal(usher_replica_notice(w->r, &n), IGNORE);
    n.noun = USHER_ROOM;
    assert_int_equal(usher_replica_notice(w->r, &n), APPLY);
}

TEST(gap_requests_the_missing_changes)
{
    struct world *w = *state;

    know(w);
    assert_int_equal(RECEIVE_SET(w, 13, "f=3"), REPLAY);
    assert_false(usher_replica_current(w->r));
    assert_field(w, "f", "0");
    ask_since(w, 10);
    (void)reply(w, USHER_OK, EPOCH, 13);
    ADD_SET(w, 11, "f=1");
    ADD_SET(w, 12, "g=2");
    ADD_SET(w, 13, "f=3");
    assert_int_equal(answer(w), APPLY);
    assert_true(usher_replica_current(w->r));
    assert_field(w, "f", "3");
    assert_field(w, "g", "2");
}

TEST(query_is_requested_once)
{
    struct world *w = *state;

    know(w);
    assert_int_equal(RECEIVE_SET(w, 13, "f=3"), REPLAY);
    assert_int_equal(RECEIVE_SET(w, 14, "f=4"), REPLAY); /* not yet asked */
    ask_since(w, 10);
    assert_int_equal(RECEIVE_SET(w, 15, "f=5"), IGNORE);
    assert_int_equal(beat(w, EPOCH, 15), IGNORE);
    assert_int_equal(usher_replica_missing(w->r), REPLAY);
}

TEST(notices_out_of_order_are_put_in_order)
{
    struct world *w = *state;

    know(w);
    assert_int_equal(RECEIVE_SET(w, 13, "f=3"), REPLAY);
    assert_int_equal(RECEIVE_SET(w, 12, "f=2"), REPLAY);
    assert_int_equal(RECEIVE_SET(w, 12, "f=2"), REPLAY);
    assert_int_equal(about(w).early, 2);
    assert_int_equal(RECEIVE_SET(w, 11, "f=1"), APPLY);
    assert_version(w, 13);
    assert_int_equal(about(w).early, 0);
    assert_field(w, "f", "3");
    assert_true(usher_replica_current(w->r));
}

TEST(the_answer_to_a_gap_that_closed_is_ignored)
{
    struct world *w = *state;

    know(w);
    assert_int_equal(RECEIVE_SET(w, 12, "f=2"), REPLAY);
    ask_since(w, 10);
    assert_int_equal(RECEIVE_SET(w, 11, "f=1"), APPLY);
    assert_true(usher_replica_current(w->r));
    (void)reply(w, USHER_STALE, EPOCH, 12);
    assert_int_equal(answer(w), IGNORE);
    assert_true(usher_replica_current(w->r));
}

TEST(changes_beyond_one_answer_are_requested)
{
    struct world *w = *state;

    know(w);
    assert_int_equal(beat(w, EPOCH, 12), REPLAY);
    ask_since(w, 10);
    reply(w, USHER_OK, EPOCH, 12)->more = true;
    ADD_SET(w, 11, "f=1");
    assert_int_equal(answer(w), REPLAY);
    assert_version(w, 11);
    ask_since(w, 11);
    (void)reply(w, USHER_OK, EPOCH, 12);
    ADD_SET(w, 12, "f=2");
    assert_int_equal(answer(w), APPLY);
    assert_true(usher_replica_current(w->r));
}

TEST(log_too_short_requests_a_snapshot)
{
    struct world *w = *state;

    know(w);
    assert_int_equal(RECEIVE_SET(w, 300, "f=3"), REPLAY);
    ask_since(w, 10);
    (void)reply(w, USHER_STALE, EPOCH, 300);
    assert_int_equal(answer(w), PULL);
    ask_for(w, PULL);
    known_rows(w, EPOCH, 300);
    assert_int_equal(answer(w), APPLY);
    assert_version(w, 300);
    assert_true(usher_replica_current(w->r));
}

TEST(changes_with_a_gap_or_no_notices_request_a_snapshot)
{
    struct world *w = *state;

    for (int wrong = 0; wrong < 4; wrong++) {
        know(w);
        assert_int_equal(beat(w, EPOCH, 12), REPLAY);
        ask_since(w, 10);
        (void)reply(w, USHER_OK, EPOCH, 12);
        if (wrong == 0)
            ADD_SET(w, 12, "f=2");
        else if (wrong == 1)
            add_value(w, USHER_ROOM_ROW_NOTICE, "", "rubbish", 11);
        else if (wrong == 2)
            add_value(w, USHER_ROOM_ROW_FIELD, "f", "2", 11);
        assert_int_equal(answer(w), PULL);
        assert_version(w, 10);
    }
}

TEST(early_notices_are_bounded)
{
    struct world *w = *state;
    size_t before;

    know(w);
    for (uint64_t v = 12; v < 12 + USHER_REPLICA_EARLY_MAX; v++)
        assert_int_equal(RECEIVE_SET(w, v, "f=1"), REPLAY);
    assert_int_equal(about(w).early, USHER_REPLICA_EARLY_MAX);
    before = w->memory.bytes;
    for (uint64_t v = 100; v < 1100; v++)
        assert_int_equal(RECEIVE_SET(w, v, "f=2"), REPLAY);
    assert_int_equal(w->memory.bytes, before);
    /* those kept are used, those not kept are missing */
    assert_int_equal(RECEIVE_SET(w, 11, "f=0"), REPLAY);
    assert_version(w, 11 + USHER_REPLICA_EARLY_MAX);
    assert_false(usher_replica_current(w->r));
}

TEST(early_notices_are_bounded_in_bytes)
{
    struct world *w = *state;
    static char large[USHER_NOTICE_DATA_MAX];
    struct usher_notice n =
        notice(&(const struct room_change){ 12, USHER_ROOM_SET, .data = NULL }, NULL, 0);
    size_t before;

    know(w);
    before = w->memory.bytes;
    n.data.data = large;
    n.data.size = sizeof large;
    for (n.version = 12; n.version < 76; n.version++)
        assert_int_equal(usher_replica_notice(w->r, &n), REPLAY);
    assert_true(w->memory.bytes - before <= USHER_REPLICA_EARLY_BYTES_MAX + 64 * 256);
    assert_true(about(w).early < 64);
}

TEST(notices_received_while_pulling_are_not_lost)
{
    struct world *w = *state;

    assert_int_equal(RECEIVE_SET(w, 9, "f=9"), PULL);
    ask_for(w, PULL);
    assert_int_equal(RECEIVE_SET(w, 12, "f=2"), IGNORE);
    assert_int_equal(RECEIVE_SET(w, 11, "f=1"), IGNORE);
    known_rows(w, EPOCH, 10);
    assert_int_equal(answer(w), APPLY);
    assert_version(w, 12);
    assert_field(w, "f", "2");
    assert_true(usher_replica_current(w->r));
}

TEST(notice_without_its_data_requests_a_snapshot)
{
    struct world *w = *state;
    struct usher_notice n =
        notice(&(const struct room_change){ 11, USHER_ROOM_SET, .data = NULL }, NULL, 0);

    know(w);
    n.data.data = "\xc0";
    n.data.size = 1;
    assert_int_equal(usher_replica_notice(w->r, &n), PULL);
    assert_version(w, 10);
    assert_field(w, "f", "0");
}

/* Receive @n coalesced changes as versions @first to @last. */
static int receive_coalesced(struct world *w, uint64_t first, uint64_t last,
                             const struct room_change *t, size_t n, size_t cut)
{
    unsigned char packed[2048], data[512];
    struct usher__packer p = { packed, sizeof packed, 0 };
    struct usher_notice range =
        notice(&(const struct room_change){ last, USHER_ROOM_PRESENCE, .to = 0 }, NULL, 0);

    for (size_t i = 0; i < n; i++) {
        struct usher_notice one = notice(&t[i], data, sizeof data);

        usher__notice_pack(&p, &one);
    }
    assert_true(p.n <= sizeof packed && p.n > cut);
    range.token = first;
    range.data.data = (const char *)packed;
    range.data.size = p.n - cut;
    return (int)usher_replica_notice(w->r, &range);
}

TEST(coalesced_notices_are_applied_one_by_one)
{
    struct world *w = *state;
    const struct room_change t[] = {
        { 11, USHER_ROOM_JOIN, .subject = "eve", .data = "mic=on", .from = 0, .to = 1 },
        { 12, USHER_ROOM_LEAVE, .subject = "bob", .from = 1, .to = 0 },
        { 13, USHER_ROOM_LEAVE, .subject = "eve", .from = 1, .to = 0 },
    };

    know(w);
    assert_int_equal(receive_coalesced(w, 12, 13, &t[1], 2, 0), REPLAY); /* 11 is missing */
    assert_version(w, 10);
    assert_int_equal(receive_coalesced(w, 11, 11, &t[0], 1, 0), APPLY); /* and there it is */
    assert_version(w, 13);
    assert_true(usher_replica_current(w->r));
    assert_int_equal(receive_coalesced(w, 11, 13, t, 3, 0), IGNORE); /* again */
    assert_true(usher_replica_current(w->r));
}

TEST(part_of_a_coalesced_notice_is_requested)
{
    struct world *w = *state;
    const struct room_change t[] = {
        { 11, USHER_ROOM_LEAVE, .subject = "bob", .from = 1, .to = 0 },
        { 13, USHER_ROOM_JOIN, .subject = "eve", .from = 0, .to = 1 },
        { 12, USHER_ROOM_PRESENCE, .to = 0 },
    };

    know(w);
    assert_int_equal(receive_coalesced(w, 11, 12, t, 1, 0), REPLAY); /* one of two */
    assert_version(w, 11);
    assert_int_equal(receive_coalesced(w, 11, 13, t, 2, 0), REPLAY); /* 12 is missing */
    assert_version(w, 11);
    assert_int_equal(receive_coalesced(w, 11, 14, &t[1], 1, 3), REPLAY); /* cut off */
    assert_int_equal(receive_coalesced(w, 12, 12, &t[2], 1, 0), REPLAY); /* in itself */
    assert_int_equal(receive_coalesced(w, 0, 12, &t[2], 1, 0), REPLAY);
    assert_version(w, 11);
    ask_since(w, 11);
}

TEST(an_impossible_notice_requests_a_snapshot)
{
    static const struct room_change wrong[] = {
        { 11, USHER_ROOM_SWEEP, .to = 0 }, /* a verb it does not know */
        { 11, (enum usher_verb)0x3ff, .to = 0 },
        { 11, USHER_ROOM_OPEN, .from = 0, .to = 1 },
        { 11, USHER_ROOM_UNLOCK, .from = 2, .to = 1 }, /* it is not locked */
        { 11, USHER_ROOM_DONE, .from = 3, .to = 0 },
        { 11, USHER_ROOM_JOIN, .subject = "ann", .from = 0, .to = 1 }, /* she is in */
        { 11, USHER_ROOM_FADE, .subject = "ann", .from = 3, .to = 2 },
        { 11, USHER_ROOM_LEAVE, .subject = "eve", .from = 1, .to = 0 },
        { 11, USHER_ROOM_MEMBER, .subject = "eve", .from = 1, .to = 1, .data = "a=1" },
        { 11, USHER_ROOM_ROLE, .subject = "host", .owner = "eve" },
        { 11, USHER_ROOM_ROLE, .subject = "guest" },
        { 11, USHER_ROOM_SHARE, .subject = "board", .owner = "bob" },
        { 11, USHER_ROOM_SHARE, .subject = "screen", .owner = "eve" },
        { 11, USHER_ROOM_UNSHARE, .subject = "screen" },
        { 11, USHER_ROOM_UNSET, .subject = "h" },
        { 11, USHER_ROOM_SET, .to = 0 },
        { 11, USHER_ROOM_ALL, .to = 0 },
    };
    struct world *w = *state;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char before[33], after[33];

        know(w);
        assert_int_equal(usher_replica_digest(w->r, before), USHER_OK);
        assert_int_equal(receive(w, &wrong[i]), PULL);
        assert_int_equal(usher_replica_digest(w->r, after), USHER_OK);
        assert_string_equal(before, after);
        assert_false(usher_replica_current(w->r));
    }
}

/* ---- heartbeats, epochs, falls ---- */

TEST(a_heartbeat_of_the_same_version_changes_nothing)
{
    struct world *w = *state;

    know(w);
    assert_int_equal(beat(w, EPOCH, 10), IGNORE);
    assert_true(usher_replica_current(w->r));
}

TEST(heartbeat_ahead_requests_the_missing_changes)
{
    struct world *w = *state;

    know(w);
    assert_int_equal(beat(w, EPOCH, 11), REPLAY);
    assert_false(usher_replica_current(w->r));
    ask_since(w, 10);
    (void)reply(w, USHER_OK, EPOCH, 11);
    ADD_SET(w, 11, "f=1");
    assert_int_equal(answer(w), APPLY);
    assert_true(usher_replica_current(w->r));
}

TEST(another_epoch_requests_a_snapshot)
{
    struct world *w = *state;

    know(w);
    assert_int_equal(beat(w, OTHER, 10), PULL);
    know(w);
    assert_int_equal(beat(w, OTHER, 10), PULL);
    ask_for(w, PULL);
    assert_int_equal(RECEIVE(w, 11, USHER_ROOM_SET, .data = "f=1", .epoch = OTHER), IGNORE);
    known_rows(w, OTHER, 10);
    assert_int_equal(answer(w), APPLY); /* and the notice after it */
    assert_version(w, 11);
    assert_true(usher_replica_current(w->r));
    assert_int_equal(RECEIVE(w, 12, USHER_ROOM_SET, .data = "f=2"), PULL);
}

TEST(another_epoch_during_a_pull_pulls_again)
{
    struct world *w = *state;

    ask_for(w, PULL);
    assert_int_equal(beat(w, OTHER, 2), IGNORE);
    known_rows(w, EPOCH, 10);
    assert_int_equal(answer(w), PULL); /* the answer may be older than that */
    assert_true(about(w).known);
    assert_false(usher_replica_current(w->r));
    ask_for(w, PULL);
    known_rows(w, OTHER, 10);
    assert_int_equal(answer(w), APPLY);
    assert_true(usher_replica_current(w->r));
}

TEST(two_epochs_during_a_pull_pull_again)
{
    struct world *w = *state;

    ask_for(w, PULL);
    assert_int_equal(beat(w, OTHER, 2), IGNORE);
    assert_int_equal(beat(w, EPOCH, 10), IGNORE);
    known_rows(w, EPOCH, 10);
    assert_int_equal(answer(w), PULL);
    assert_false(usher_replica_current(w->r));
}

TEST(doubt_from_before_the_query_is_settled)
{
    struct world *w = *state;

    know(w);
    assert_int_equal(beat(w, OTHER, 2), PULL);
    ask_for(w, PULL);
    known_rows(w, EPOCH, 10); /* that heartbeat was late */
    assert_int_equal(answer(w), APPLY);
    assert_true(usher_replica_current(w->r));
}

/* Applied: 11 f=1, 12 f=2, 13 f=3. */
static void follow_three(struct world *w)
{
    know(w);
    assert_int_equal(RECEIVE_SET(w, 11, "f=1"), APPLY);
    assert_int_equal(RECEIVE_SET(w, 12, "f=2"), APPLY);
    assert_int_equal(RECEIVE_SET(w, 13, "f=3"), APPLY);
}

TEST(late_heartbeat_is_settled_by_changes)
{
    struct world *w = *state;

    follow_three(w);
    assert_int_equal(beat(w, EPOCH, 11), REPLAY);
    assert_false(usher_replica_current(w->r));
    ask_since(w, 13);
    (void)reply(w, USHER_OK, EPOCH, 13);
    assert_int_equal(answer(w), IGNORE);
    assert_true(usher_replica_current(w->r));
}

TEST(doubt_that_came_after_the_query_stays)
{
    struct world *w = *state;

    follow_three(w);
    assert_int_equal(beat(w, EPOCH, 12), REPLAY);
    ask_since(w, 13);
    assert_int_equal(beat(w, EPOCH, 12), IGNORE);
    (void)reply(w, USHER_OK, EPOCH, 13);
    assert_int_equal(answer(w), REPLAY);
    assert_false(usher_replica_current(w->r));
}

TEST(nothing_is_applied_while_a_rollback_is_possible)
{
    struct world *w = *state;

    follow_three(w);
    assert_int_equal(beat(w, EPOCH, 12), REPLAY);
    assert_version(w, 13);
    ask_since(w, 13);
    assert_int_equal(RECEIVE_SET(w, 14, "f=4"), IGNORE);
    assert_version(w, 13);
    (void)reply(w, USHER_OK, EPOCH, 13); /* made before 14 */
    assert_int_equal(answer(w), APPLY);
    assert_version(w, 14);
    assert_true(usher_replica_current(w->r));
}

TEST(lower_version_requests_a_snapshot)
{
    struct world *w = *state;

    follow_three(w);
    assert_int_equal(beat(w, EPOCH, 12), REPLAY);
    ask_since(w, 13);
    (void)reply(w, USHER_STALE, EPOCH, 12);
    assert_int_equal(answer(w), PULL);
    ask_for(w, PULL);
    known_rows(w, EPOCH, 12);
    assert_int_equal(answer(w), APPLY);
    assert_version(w, 12);
    assert_true(usher_replica_current(w->r));
}

TEST(rollback_is_noticed_when_versions_have_caught_up)
{
    struct world *w = *state;

    follow_three(w);
    assert_int_equal(beat(w, EPOCH, 12), REPLAY);
    ask_since(w, 13);
    (void)reply(w, USHER_OK, EPOCH, 14);
    add_notice(w, &(const struct room_change){ 14, USHER_ROOM_SET, .data = "g=8", .was = 77 });
    assert_int_equal(answer(w), PULL);
    assert_field(w, "g", "0");
    /* or have just done so */
    follow_three(w);
    assert_int_equal(beat(w, EPOCH, 12), REPLAY);
    ask_since(w, 13);
    reply(w, USHER_OK, EPOCH, 13)->mark = 77;
    assert_int_equal(answer(w), PULL);
}

TEST(early_notices_above_a_heartbeat_are_not_trusted)
{
    struct world *w = *state;

    know(w);
    assert_int_equal(RECEIVE_SET(w, 12, "f=2"), REPLAY);
    assert_int_equal(RECEIVE_SET(w, 13, "f=3"), REPLAY);
    assert_int_equal(beat(w, EPOCH, 10), REPLAY);
    assert_int_equal(about(w).early, 0);
    assert_int_equal(RECEIVE_SET(w, 11, "g=1"), REPLAY); /* perhaps the first of another course */
    assert_version(w, 11);
    assert_false(usher_replica_current(w->r));
    ask_since(w, 11);
    (void)reply(w, USHER_OK, EPOCH, 13);
    ADD_SET(w, 12, "g=2");
    ADD_SET(w, 13, "g=3");
    assert_int_equal(answer(w), APPLY);
    assert_field(w, "f", "0");
    assert_field(w, "g", "3");
}

TEST(rollback_far_beyond_known_versions_is_queried)
{
    struct world *w = *state;

    know(w);
    for (uint64_t v = 11; v < 11 + 2 * USHER_REPLICA_KNOWN_MAX; v++)
        assert_int_equal(RECEIVE_SET(w, v, "f=1"), APPLY);
    assert_int_equal(beat(w, EPOCH, 20), REPLAY);
    assert_false(usher_replica_current(w->r));
    ask_since(w, 10 + 2 * USHER_REPLICA_KNOWN_MAX);
    (void)reply(w, USHER_STALE, EPOCH, 20);
    assert_int_equal(answer(w), PULL);
}

TEST(heartbeat_of_another_history_requests_a_snapshot)
{
    struct world *w = *state;

    for (uint64_t v = 12; v <= 13; v++) {
        follow_three(w);
        assert_int_equal(usher_replica_heartbeat(w->r, EPOCH, v, 77), PULL);
        assert_false(usher_replica_current(w->r));
        ask_for(w, PULL);
        known_rows(w, EPOCH, 13); /* the answer settles it, whatever it is */
        assert_int_equal(answer(w), APPLY);
        assert_true(usher_replica_current(w->r));
        assert_int_equal(usher_replica_heartbeat(w->r, EPOCH, 13, 0), PULL); /* of none */
    }
}

/* The store rolled back; the replica missed all notices until its versions were ahead again. */
TEST(a_notice_of_another_history_is_not_applied)
{
    struct world *w = *state;

    follow_three(w);
    assert_int_equal(RECEIVE(w, 14, USHER_ROOM_SET, .data = "g=4", .was = 77, .mark = 78), PULL);
    assert_version(w, 13);
    assert_field(w, "g", "0");
    assert_false(usher_replica_current(w->r));
    /* one that comes early is found out when its turn has come */
    follow_three(w);
    assert_int_equal(RECEIVE(w, 15, USHER_ROOM_SET, .data = "g=4", .was = 77, .mark = 78), REPLAY);
    assert_int_equal(RECEIVE_SET(w, 14, "f=4"), REPLAY);
    assert_version(w, 14);
    ask_since(w, 14);
    (void)reply(w, USHER_OK, EPOCH, 15);
    add_notice(
        w, &(const struct room_change){ 15, USHER_ROOM_SET, .data = "g=4", .was = 77, .mark = 78 });
    assert_int_equal(answer(w), PULL);
}

/* A notice received after a query may be of a later history than the answer. */
TEST(another_history_during_a_pull_pulls_again)
{
    struct world *w = *state;

    ask_for(w, PULL);
    assert_int_equal(usher_replica_heartbeat(w->r, EPOCH, 10, 77), IGNORE);
    known_rows(w, EPOCH, 10);
    assert_int_equal(answer(w), PULL);
    ask_for(w, PULL);
    known_rows(w, EPOCH, 10);
    w->reply.of.room.mark = 77;
    assert_int_equal(answer(w), APPLY);
    assert_true(usher_replica_current(w->r));
}

TEST(another_notice_of_a_known_version_pulls)
{
    struct world *w = *state;

    follow_three(w);
    assert_int_equal(RECEIVE(w, 12, USHER_ROOM_SET, .data = "g=2", .mark = 77), PULL);
    assert_false(usher_replica_current(w->r));
}

TEST(another_early_notice_of_one_version_pulls)
{
    struct world *w = *state;

    know(w);
    assert_int_equal(RECEIVE_SET(w, 12, "f=2"), REPLAY);
    assert_int_equal(RECEIVE(w, 12, USHER_ROOM_SET, .data = "g=2", .mark = 77), PULL);
    /* and the same while it is pulled */
    ask_for(w, PULL);
    assert_int_equal(RECEIVE_SET(w, 14, "f=2"), IGNORE);
    assert_int_equal(RECEIVE(w, 14, USHER_ROOM_SET, .data = "g=2", .mark = 77), IGNORE);
    known_rows(w, EPOCH, 13);
    assert_int_equal(answer(w), PULL);
}

TEST(an_answer_that_differs_from_an_early_notice_pulls)
{
    struct world *w = *state;

    know(w);
    assert_int_equal(RECEIVE_SET(w, 12, "f=2"), REPLAY);
    ask_since(w, 10);
    (void)reply(w, USHER_OK, EPOCH, 12);
    ADD_SET(w, 11, "f=1");
    add_notice(w, &(const struct room_change){ 12, USHER_ROOM_SET, .data = "g=2", .mark = 77 });
    assert_int_equal(answer(w), PULL);
}

TEST(store_below_the_last_notice_was_rolled_back)
{
    struct world *w = *state;

    know(w);
    assert_int_equal(RECEIVE_SET(w, 20, "f=2"), REPLAY);
    ask_since(w, 10);
    (void)reply(w, USHER_OK, EPOCH, 11); /* it had 20 before it was asked */
    ADD_SET(w, 11, "f=1");
    assert_int_equal(answer(w), PULL);
    ask_for(w, PULL);
    known_rows(w, EPOCH, 19);
    assert_int_equal(answer(w), APPLY); /* 20 was of the other course */
    assert_version(w, 19);
    assert_int_equal(about(w).early, 0);
    assert_true(usher_replica_current(w->r));
}

TEST(digest_shows_a_difference_that_notices_did_not)
{
    struct world *w = *state;
    char digest[33];

    know(w);
    assert_int_equal(usher_replica_digest(w->r, digest), USHER_OK);
    assert_int_equal(usher_replica_check(w->r, EPOCH, 10, digest), IGNORE);
    assert_true(usher_replica_current(w->r));
    assert_int_equal(usher_replica_check(w->r, EPOCH, 11, digest), REPLAY);
    assert_int_equal(usher_replica_check(w->r, OTHER, 10, digest), PULL);
    know(w);
    digest[0] = digest[0] == '0' ? '1' : '0';
    assert_int_equal(usher_replica_check(w->r, EPOCH, 10, digest), PULL);
    assert_false(usher_replica_current(w->r));
}

/* ---- what notices do ---- */

TEST(fields_are_set_and_unset)
{
    struct world *w = *state;
    struct usher_room_row row = USHER_ROOM_ROW_INIT;

    know(w);
    assert_int_equal(RECEIVE_SET(w, 11, "f=1 g=0 h=2"), APPLY);
    assert_field(w, "f", "1");
    assert_field(w, "h", "2");
    assert_true(usher_replica_find(w->r, USHER_ROOM_ROW_FIELD, "g", &row));
    assert_int_equal(row.version, 2); /* it had that value already */
    assert_true(usher_replica_find(w->r, USHER_ROOM_ROW_FIELD, "f", &row));
    assert_int_equal(row.version, 11);
    assert_int_equal(RECEIVE(w, 12, USHER_ROOM_UNSET, .subject = "f"), APPLY);
    assert_field(w, "f", NULL);
    assert_int_equal(RECEIVE_SET(w, 13, "f="), APPLY);
    assert_field(w, "f", "");
}

TEST(a_member_comes_changes_and_goes)
{
    struct world *w = *state;
    struct usher_room_row row = USHER_ROOM_ROW_INIT;

    know(w);
    assert_int_equal(RECEIVE(w, 11, USHER_ROOM_JOIN, .subject = "cid", .to = 1, .data = "name=Cid"),
                     APPLY);
    assert_counts(w, "cid", "name", "Cid");
    assert_true(usher_replica_find(w->r, USHER_ROOM_ROW_MEMBER, "cid", &row));
    assert_int_equal(row.version, 11);
    assert_int_equal(row.since_ms, 1011);
    assert_int_equal(RECEIVE(w, 12, USHER_ROOM_FADE, .subject = "cid", .from = 1, .to = 2), APPLY);
    assert_int_equal(RECEIVE(w, 13, USHER_ROOM_DROP, .subject = "cid", .from = 2, .to = 3), APPLY);
    assert_true(usher_replica_find(w->r, USHER_ROOM_ROW_MEMBER, "cid", &row));
    assert_int_equal(row.member_state, USHER_ROOM_MEMBER_OFFLINE);
    assert_int_equal(RECEIVE(w, 14, USHER_ROOM_ALIVE, .subject = "cid", .from = 3, .to = 1), APPLY);
    assert_int_equal(
        RECEIVE(w, 15, USHER_ROOM_MEMBER, .subject = "cid", .from = 1, .to = 1, .data = "age=3"),
        APPLY);
    assert_counts(w, "cid", "name", "Cid");
    assert_counts(w, "cid", "age", "3");
    assert_int_equal(
        RECEIVE(w, 16, USHER_ROOM_JOIN, .subject = "cid", .from = 1, .to = 1, .data = "age=4"),
        APPLY);
    assert_true(usher_replica_find(w->r, USHER_ROOM_ROW_MEMBER, "cid", &row));
    assert_int_equal(row.version, 11);
    assert_counts(w, "cid", "age", "4");
    assert_int_equal(RECEIVE(w, 17, USHER_ROOM_EXPIRE, .subject = "cid", .from = 1, .to = 0),
                     APPLY);
    assert_counts(w, "cid", "name", NULL);
    assert_int_equal(about(w).members, 2);
    /* an absent member is banned: nothing to be seen */
    assert_int_equal(RECEIVE(w, 18, USHER_ROOM_KICK, .subject = "cid", .from = 0, .to = 4), APPLY);
    assert_int_equal(RECEIVE(w, 19, USHER_ROOM_KICK, .subject = "cid", .from = 4, .to = 0), APPLY);
    assert_int_equal(about(w).members, 2);
}

TEST(roles_and_shares_go_with_their_member)
{
    struct world *w = *state;

    know(w);
    assert_int_equal(RECEIVE(w, 11, USHER_ROOM_ROLE, .subject = "scribe", .owner = "ann"), APPLY);
    assert_int_equal(
        RECEIVE(w, 12, USHER_ROOM_SHARE, .subject = "screen", .owner = "ann", .data = "x=1"),
        APPLY);
    assert_int_equal(RECEIVE(w, 13, USHER_ROOM_ROLE, .subject = "host", .owner = "bob"), APPLY);
    assert_int_equal(RECEIVE(w, 14, USHER_ROOM_KICK, .subject = "ann", .from = 1, .to = 4), APPLY);
    assert_int_equal(about(w).roles, 1);
    assert_int_equal(about(w).shares, 0);
    assert_value(w, USHER_ROOM_ROW_ROLE, "host", "");
    assert_value(w, USHER_ROOM_ROW_ROLE, "scribe", NULL);
    assert_int_equal(RECEIVE(w, 15, USHER_ROOM_ROLE, .subject = "host"), APPLY);
    assert_int_equal(about(w).roles, 0);
}

TEST(a_share_changes_and_goes)
{
    struct world *w = *state;
    struct usher_room_row row = USHER_ROOM_ROW_INIT;

    know(w);
    assert_int_equal(
        RECEIVE(w, 11, USHER_ROOM_SHARE, .subject = "board", .owner = "ann", .data = "page=2"),
        APPLY);
    assert_true(usher_replica_find(w->r, USHER_ROOM_ROW_SHARE, "board", &row));
    assert_int_equal(row.version, 6); /* made then */
    assert_int_equal(RECEIVE(w, 12, USHER_ROOM_UNSHARE, .subject = "board"), APPLY);
    assert_value(w, USHER_ROOM_ROW_SHARE, "board", NULL);
}

TEST(the_later_version_of_a_field_counts)
{
    struct world *w = *state;

    know(w);
    assert_counts(w, "ann", "mic", "on"); /* that of all */
    assert_int_equal(
        RECEIVE(w, 11, USHER_ROOM_MEMBER, .subject = "ann", .from = 1, .to = 1, .data = "mic=mine"),
        APPLY);
    assert_counts(w, "ann", "mic", "mine");
    assert_counts(w, "bob", "mic", "on");
    assert_int_equal(RECEIVE(w, 12, USHER_ROOM_ALL, .subject = "mic", .data = "mic=off"), APPLY);
    assert_counts(w, "ann", "mic", "off");
    assert_int_equal(RECEIVE(w, 13, USHER_ROOM_JOIN, .subject = "cid", .to = 1), APPLY);
    assert_counts(w, "cid", "mic", "off");
    /* the same own value again: now it is later */
    assert_int_equal(
        RECEIVE(w, 14, USHER_ROOM_MEMBER, .subject = "ann", .from = 1, .to = 1, .data = "mic=mine"),
        APPLY);
    assert_counts(w, "ann", "mic", "mine");
    assert_counts(w, "ann", "nothing", NULL);
    assert_counts(w, "nobody", "mic", NULL);
}

TEST(lock_and_unlock_are_applied)
{
    struct world *w = *state;

    know(w);
    assert_int_equal(RECEIVE(w, 11, USHER_ROOM_LOCK, .from = 1, .to = 2), APPLY);
    assert_int_equal(about(w).state, USHER_ROOM_STATE_LOCKED);
    assert_int_equal(RECEIVE(w, 12, USHER_ROOM_OPEN, .from = 2, .to = 2), APPLY); /* settings */
    assert_int_equal(RECEIVE(w, 13, USHER_ROOM_UNLOCK, .from = 2, .to = 1), APPLY);
    assert_int_equal(about(w).state, USHER_ROOM_STATE_OPEN);
}

TEST(a_room_that_closes_is_empty)
{
    struct world *w = *state;
    char digest[33];

    know(w);
    assert_int_equal(RECEIVE(w, 11, USHER_ROOM_CLOSE, .from = 1, .to = 3), APPLY);
    assert_int_equal(about(w).members + about(w).fields + about(w).alls, 0);
    assert_int_equal(about(w).state, USHER_ROOM_STATE_CLOSING);
    assert_int_equal(usher_replica_digest(w->r, digest), USHER_MISSING);
    assert_true(usher_replica_current(w->r));
    assert_int_equal(RECEIVE(w, 12, USHER_ROOM_DONE, .from = 3, .to = 0), APPLY);
    assert_int_equal(about(w).state, USHER_ROOM_STATE_CLOSED);
    assert_int_equal(RECEIVE_SET(w, 13, "f=1"), PULL); /* of no room */
}

TEST(a_room_that_is_missing_is_empty)
{
    struct world *w = *state;

    know(w);
    assert_int_equal(beat(w, 0, 0), PULL);
    ask_for(w, PULL);
    reply(w, USHER_MISSING, 0, 0)->state = USHER_ROOM_STATE_CLOSED;
    assert_int_equal(answer(w), APPLY);
    assert_true(about(w).known);
    assert_int_equal(about(w).state, USHER_ROOM_STATE_CLOSED);
    assert_int_equal(about(w).members, 0);
    assert_true(usher_replica_current(w->r));
    assert_int_equal(beat(w, 0, 0), IGNORE);
    /* opened again */
    assert_int_equal(RECEIVE(w, 1, USHER_ROOM_OPEN, .from = 0, .to = 1, .epoch = OTHER), PULL);
    ask_for(w, PULL);
    (void)reply(w, USHER_OK, OTHER, 1);
    assert_int_equal(answer(w), APPLY);
    assert_true(usher_replica_current(w->r));
}

TEST(a_room_found_closing_ends)
{
    struct world *w = *state;

    ask_for(w, PULL);
    reply(w, USHER_MISSING, EPOCH, 20)->state = USHER_ROOM_STATE_CLOSING;
    assert_int_equal(answer(w), APPLY);
    assert_int_equal(about(w).state, USHER_ROOM_STATE_CLOSING);
    assert_int_equal(RECEIVE(w, 21, USHER_ROOM_DONE, .from = 3, .to = 0), APPLY);
    assert_true(usher_replica_current(w->r));
}

/* ---- digests ---- */

TEST(copies_of_one_state_have_one_digest)
{
    struct world *w = *state;
    char first[33], second[33];

    know(w);
    assert_int_equal(RECEIVE_SET(w, 11, "h=1"), APPLY);
    assert_int_equal(RECEIVE(w, 12, USHER_ROOM_JOIN, .subject = "cid", .to = 1, .data = "b=2 a=1"),
                     APPLY);
    assert_int_equal(usher_replica_digest(w->r, first), USHER_OK);
    assert_int_equal(strlen(first), 32);
    assert_int_equal(beat(w, OTHER, 1), PULL);
    ask_for(w, PULL);
    (void)reply(w, USHER_OK, OTHER, 12);
    add_value(w, USHER_ROOM_ROW_FIELD, "h", "1", 11);
    add_value(w, USHER_ROOM_ROW_FIELD, "g", "0", 2);
    add_value(w, USHER_ROOM_ROW_FIELD, "f", "0", 2);
    add_value(w, USHER_ROOM_ROW_ALL, "mic", "on", 8);
    add_row(w, USHER_ROOM_ROW_ROLE, "host", "ann", 5);
    add_own(w, USHER_ROOM_ROW_MEMBER, "ann", NULL, "name=Ann", 3);
    add_own(w, USHER_ROOM_ROW_SHARE, "board", "ann", "page=1", 6);
    add_own(w, USHER_ROOM_ROW_MEMBER, "bob", NULL, "", 4);
    add_own(w, USHER_ROOM_ROW_MEMBER, "cid", NULL, "a=1 b=2", 12);
    assert_int_equal(answer(w), APPLY);
    assert_int_equal(usher_replica_digest(w->r, second), USHER_OK);
    assert_string_equal(first, second);
}

TEST(digest_covers_every_visible_change)
{
    static const struct room_change change[] = {
        { 11, USHER_ROOM_SET, .data = "f=1" },
        { 11, USHER_ROOM_SET, .data = "h=0" },
        { 11, USHER_ROOM_UNSET, .subject = "f" },
        { 11, USHER_ROOM_ALL, .subject = "mic", .data = "mic=off" },
        { 11, USHER_ROOM_ALL, .subject = "mic", .data = "mic=on" },
        { 11, USHER_ROOM_ROLE, .subject = "host", .owner = "bob" },
        { 11, USHER_ROOM_ROLE, .subject = "host" },
        { 11, USHER_ROOM_JOIN, .subject = "cid", .to = 1 },
        { 11, USHER_ROOM_FADE, .subject = "ann", .from = 1, .to = 2 },
        { 11, USHER_ROOM_LEAVE, .subject = "bob", .from = 1, .to = 0 },
        { 11, USHER_ROOM_MEMBER, .subject = "ann", .from = 1, .to = 1, .data = "name=A" },
        { 11, USHER_ROOM_MEMBER, .subject = "bob", .from = 1, .to = 1, .data = "name=Ann" },
        { 11, USHER_ROOM_SHARE, .subject = "board", .owner = "ann", .data = "page=2" },
        { 11, USHER_ROOM_SHARE, .subject = "page", .owner = "bob" },
        { 11, USHER_ROOM_UNSHARE, .subject = "board" },
        { 11, USHER_ROOM_LOCK, .from = 1, .to = 2 },
        { 11, USHER_ROOM_OPEN, .from = 1, .to = 1 }, /* but for the version: nothing */
    };
    enum { N = sizeof change / sizeof *change };
    struct world *w = *state;
    char digest[N][33];

    for (size_t i = 0; i < N; i++) {
        know(w);
        assert_int_equal(receive(w, &change[i]), APPLY);
        assert_int_equal(usher_replica_digest(w->r, digest[i]), USHER_OK);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(digest[k], digest[i]);
        assert_int_equal(beat(w, OTHER, 1), PULL);
    }
}

TEST(overridden_value_is_not_in_the_digest)
{
    struct world *w = *state;
    char with[33], without[33];

    ask_for(w, PULL);
    (void)reply(w, USHER_OK, EPOCH, 10);
    add_value(w, USHER_ROOM_ROW_ALL, "mic", "on", 8);
    add_own(w, USHER_ROOM_ROW_MEMBER, "ann", NULL, "", 3);
    assert_int_equal(answer(w), APPLY);
    assert_int_equal(usher_replica_digest(w->r, without), USHER_OK);
    assert_int_equal(beat(w, OTHER, 1), PULL);
    ask_for(w, PULL);
    (void)reply(w, USHER_OK, EPOCH, 10);
    add_value(w, USHER_ROOM_ROW_ALL, "mic", "on", 8);
    add_own(w, USHER_ROOM_ROW_MEMBER, "ann", NULL, "mic=off", 3);
    assert_int_equal(answer(w), APPLY);
    assert_int_equal(usher_replica_digest(w->r, with), USHER_OK);
    assert_string_equal(with, without);
}

/* ---- memory ---- */

/* All that allocates, with answers to whatever it asks; ends current at version 14 as long as
 * there is memory again. */
static void live(struct world *w)
{
    static const struct room_change room_change[] = {
        { 11, USHER_ROOM_JOIN, .subject = "cid", .to = 1, .data = "a=1 b=2" },
        { 12, USHER_ROOM_SHARE, .subject = "screen", .owner = "ann", .data = "x=1" },
        { 13, USHER_ROOM_SET, .data = "f=1 new=2" },
        { 14, USHER_ROOM_ROLE, .subject = "scribe", .owner = "ann" },
    };
    static const unsigned order[] = { 1, 0, 3, 2 };

    if (!about(w).known) {
        ask_for(w, PULL);
        known_rows(w, EPOCH, 10);
        (void)answer(w);
    }
    for (size_t i = 0; i < 4; i++)
        (void)receive(w, &room_change[order[i]]);
    for (int i = 0; i < 4 && !usher_replica_current(w->r); i++) {
        struct usher_replica_question q;

        usher_replica_ask(w->r, &q);
        w->asked = q;
        if (q.kind == USHER_REPLICA_PULL) {
            known_rows(w, EPOCH, 10);
        } else {
            (void)reply(w, USHER_OK, EPOCH, 14);
            for (uint64_t v = q.since + 1; v <= 14; v++)
                add_notice(w, &room_change[v - 11]);
        }
        (void)answer(w);
    }
}

TEST(replica_pulls_again_when_memory_runs_out)
{
    struct world *w = *state;
    struct usher_replica *r = w->r;
    char whole[33], digest[33];
    bool failed = true;

    live(w);
    assert_int_equal(beat(w, EPOCH, 14), IGNORE);
    assert_int_equal(usher_replica_digest(w->r, whole), USHER_OK);
    for (size_t n = 1; failed; n++) {
        w->memory.calls = 0;
        w->memory.fail_at = n;
        if (usher_replica_open("r", &w->alloc, &w->r) == USHER_NOMEM) {
            assert_int_equal(n, 1);
            w->r = r;
            continue;
        }
        live(w);
        failed = w->memory.calls >= n;
        w->memory.fail_at = 0;
        if (beat(w, EPOCH, 14) != USHER_REPLICA_IGNORE)
            live(w);
        assert_true(usher_replica_current(w->r));
        assert_int_equal(usher_replica_digest(w->r, digest), USHER_OK);
        assert_string_equal(digest, whole);
        usher_replica_close(w->r);
        w->r = r;
    }
}
