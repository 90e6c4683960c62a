/* SPDX-License-Identifier: MIT */
/*
 * Scopes of Redis with one of their three keys missing, or with lists that differ from the records.
 * No command answers from the remaining keys; `check` reports the damage and `check --repair`
 * repairs it.  Each key then has the members that it had before.
 */
#include "lib/test.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include <usher/command.h>

#include "nouns/room/room_directory.h"
#include "lib/calls.h"
#include "lib/command_line.h"
#include "lib/expect.h"
#include "lib/servers.h"
#include "lib/util.h"

static struct redis_server *server;
static struct usher_engine *engine;

static int one_server(void **state)
{
    const struct redis_server_options options = { 0 };
    char url[128];

    (void)state;
    server = redis_server_start(&options);
    if (server == NULL)
        return -1;
    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d?timeout=60000&clock=given",
                   redis_server_port(server));
    return usher_open(url, NULL, &engine) == USHER_OK ? 0 : -1;
}

static int no_server(void **state)
{
    (void)state;
    usher_close(engine);
    redis_server_stop(server);
    return 0;
}

TEST_EACH(one_server, no_server);

static redisReply *must(redisReply *reply)
{
    if (reply == NULL)
        fail_msg("%s", redis_reason());
    if (reply->type == REDIS_REPLY_ERROR)
        fail_msg("%s", reply->str);
    return reply;
}

/* The values of the three keys of a scope. */
struct keys {
    char name[3][64];
    redisReply *value[3];
};

static void keys_of(struct keys *k, const char *noun, const char *scope)
{
    static const char *const suffixes[] = { "", ":index", ":held" };

    for (int i = 0; i < 3; i++)
        (void)snprintf(k->name[i], sizeof k->name[i], "{%s}:%s%s", scope, noun, suffixes[i]);
}

static void keys_save(struct keys *k)
{
    for (int i = 0; i < 3; i++)
        k->value[i] = must(redis_do(server, "DUMP", k->name[i], NULL));
}

static void key_restore(const struct keys *k, int i)
{
    const char *argv[] = { "RESTORE", k->name[i], "0", k->value[i]->str, "REPLACE" };
    const size_t sizes[] = { 7, strlen(k->name[i]), 1, (size_t)k->value[i]->len, 7 };

    freeReplyObject(must(redis_do_argv(server, 5, argv, sizes)));
}

static void keys_done(struct keys *k)
{
    for (int i = 0; i < 3; i++)
        freeReplyObject(k->value[i]);
}

static bool is_there(const char *key)
{
    redisReply *reply = must(redis_do(server, "EXISTS", key, NULL));
    bool there = reply->integer != 0;

    freeReplyObject(reply);
    return there;
}

/* The lines of an audit. */
struct report {
    char text[8192];
};

static void add_line(void *payload, const char *line)
{
    struct report *t = payload;
    size_t n = strlen(t->text);

    (void)snprintf(t->text + n, sizeof t->text - n, "%s\n", line);
}

static struct usher_check_result check(const struct usher_check_options *opt, struct report *t)
{
    struct usher_check_result found;

    memset(t, 0, sizeof *t);
    if (usher_check(engine, opt, add_line, t, &found) != USHER_OK)
        fail_msg("check: %s", usher_message());
    return found;
}

static void sound(void)
{
    struct report t;

    if (check(NULL, &t).faults != 0)
        fail_msg("%s", t.text);
}

/* A scope of each noun, with entries that are ready, due, held and listed, and its verbs. */
static struct noun {
    enum usher_noun noun;
    const char *scope, *make[16], *verbs[40]; /* verbs_of_the_tables() adds the missing verbs */
} nouns[] = {
    { USHER_NUMBER,
      "p",
      { "number add p 101 group=g", "number reg p 101", "number add p 102", "number reg p 102",
        "number add p 103", "number reg p 103", "number add p 104 group=g",
        "number call p number=101 owner=ann lease=3600000 req=r1",
        "number call p number=102 owner=bob node=here", "number set p sticky=3600000 log=5" },
      { "number call p owner=carl",
        "number hangup p 101",
        "number call p",
        "number call p owner=ann",
        "number call p owner=carl group=g",
        "number call p number=103",
        "number call p sticky=x",
        "number call p owner=carl req=new",
        "number call p owner=ann req=r1",
        "number hangup p 101 rest=5",
        "number hangup p 101 token=1",
        "number add p 105",
        "number add p 101",
        "number del p 103",
        "number reg p 104",
        "number unreg p 103",
        "number renew p 101 token=1 lease=5000",
        "number renew p node=here lease=5000",
        "number renew p 103 token=4503599627370496 owner=carl node=here",
        "number free p owner=ann",
        "number free p all=1",
        "number show p 101",
        "number show p 999",
        "number list p",
        "number list p owner=ann",
        "number list p state=busy",
        "number stats p",
        "number set p",
        "number set p rest=5",
        "number sweep p",
        "number lift p 103",
        "number changes p",
        "number changes p since=9",
        "number set p log=0" } },
    { USHER_QUEUE,
      "q",
      { "queue set q history=10 strategy=random log=5", "queue login q ann lanes=a",
        "queue apply q u1 lane=a", "queue apply q u2 lane=a", "queue apply q u3 lane=a req=r1" },
      { "queue set q",
        "queue set q ttl=5000",
        "queue login q bob",
        "queue logout q ann",
        "queue pause q ann",
        "queue ready q ann",
        "queue alive q agent=ann",
        "queue alive q user=u2",
        "queue room q ann",
        "queue apply q u4 lane=a",
        "queue apply q u2",
        "queue where q u2",
        "queue where q nobody",
        "queue leave q u2",
        "queue finish q 2.1",
        "queue accept q ann u1",
        "queue reject q ann u1",
        "queue pull q ann",
        "queue match q",
        "queue sweep q",
        "queue list q",
        "queue agents q",
        "queue stats q",
        "queue history q",
        "queue move q u2 lane=b",
        "queue free q ann",
        "queue drain q",
        "queue changes q",
        "queue changes q since=6",
        "queue set q log=0" } },
    { USHER_ROOM,
      "r",
      { "room open r log=10", "room join r ann name=Ann", "room join r bob", "room set r title x",
        "room role r chair ann", "room share r ann board", "room kick r bob ban=3600000 req=r1" },
      { "room close r",
        "room lock r",
        "room unlock r",
        "room set r title y",
        "room unset r title",
        "room get r",
        "room get r title",
        "room join r carl",
        "room join r bob",
        "room leave r ann",
        "room kick r ann",
        "room alive r ann",
        "room member r ann colour red",
        "room all r muted 1",
        "room role r chair ''",
        "room share r ann film",
        "room unshare r board",
        "room show r",
        "room snapshot r",
        "room changes r",
        "room sweep r",
        "room open r",
        "room open r log=20" } },
    { USHER_SERIAL,
      "s",
      { "serial rule s prefix=B width=6 mode=gapfree log=4",
        "serial reserve s owner=ann lease=3600000",
        "serial reserve s owner=bob lease=3600000 req=r1", "serial return s B000002 token=3",
        "serial rule s authority=1", "serial grant s 5 9" /* 3 to 5 are lost */ },
      { "serial rule s",
        "serial rule s width=7",
        "serial fill s 5",
        "serial take s n=2",
        "serial check s",
        "serial tick s",
        "serial setmax s 5",
        "serial setmaxcur s 50",
        "serial parse s B000001",
        "serial reserve s owner=carl",
        "serial reserve s owner=ann",
        "serial renew s B000001 token=2",
        "serial confirm s B000001 token=2",
        "serial return s B000001 token=2",
        "serial void s B000001 token=2",
        "serial confirm s B000003 token=6",
        "serial void s B000004 token=6 n=2",
        "serial show s",
        "serial show s B000001",
        "serial show s B000004",
        "serial delete s",
        "serial holds s",
        "serial sweep s",
        "serial grant s 0 10",
        "serial changes s",
        "serial changes s since=3",
        "serial rule s log=0" } },
    { USHER_ID,
      "i",
      { "id create i step=10 log=2", "id next i n=3", "id next i n=2 req=r1" },
      { "id create i", "id next i", "id next i n=5", "id show i", "id set i", "id set i step=20",
        "id delete i", "id return i 1 1 token=2", "id install i 100 10", "id changes i",
        "id changes i since=2", "id set i log=0" } },
};
#define NOUNS (sizeof nouns / sizeof *nouns)

static void make(const struct noun *n, struct keys *k, char digest[33])
{
    assert_true(redis_do_ok(server, "FLUSHALL", NULL));
    for (size_t i = 0; i < sizeof n->make / sizeof *n->make && n->make[i] != NULL; i++)
        expect_ok(engine, "%s", n->make[i]);
    sound();
    keys_of(k, usher_noun_word(n->noun), n->scope);
    assert_int_equal(usher_digest(engine, n->noun, n->scope, digest), USHER_OK);
}

static void same_digest(const struct noun *n, const char *digest)
{
    char now[33];

    assert_int_equal(usher_digest(engine, n->noun, n->scope, now), USHER_OK);
    assert_string_equal(now, digest);
}

/* Each verb without a line above gets one with its required arguments, so that new verbs are
 * tested. conformance/suite_drop.c tests `drop`. */
static void verbs_of_the_tables(void)
{
    static char texts[40][128];
    unsigned n_texts = 0;

    for (uint32_t verb = 0; (verb = usher_next_verb(verb)) != 0;) {
        struct noun *n = nouns;
        bool tried = strcmp(usher_verb_word((enum usher_verb)verb), "drop") == 0;
        size_t i = 0;

        if (verb >> 8 == USHER_STORE) /* of no scope; or a digest, for same_digest() */
            continue;
        while (n < nouns + NOUNS && (uint32_t)n->noun != verb >> 8)
            n++;
        assert_true(n < nouns + NOUNS);
        for (; n->verbs[i] != NULL; i++) {
            struct line l;

            line_read(&l, n->verbs[i]);
            tried = tried || (uint32_t)l.c.verb == verb;
            line_done(&l);
        }
        if (tried)
            continue;
        assert_true(i < 39 && n_texts < 40);
        line_of_verb(texts[n_texts], sizeof texts[0], verb, n->scope);
        n->verbs[i] = texts[n_texts++];
    }
}

/* Check that @text is refused with a message about the damage that names the missing @part. */
static void is_damage(const char *text, const char *part)
{
    struct usher_result r = expect(engine, USHER_UNAVAILABLE, "%s", text);

    if (strstr(r.message, "the store is damaged: ") == NULL || strstr(r.message, part) == NULL ||
        strstr(r.message, "usher check --repair") == NULL)
        fail_msg("%s: %s", text, r.message);
}

static void ignore(void *payload, const struct usher_notice *n)
{
    (void)payload;
    (void)n;
}

/* The digest of a scope with a missing list is that of before; without the hash there is none. */
TEST(no_verb_answers_from_a_damaged_scope)
{
    static const char *const parts[] = { "the hash ", ":index ", ":held " };

    for (const struct noun *n = nouns; n < nouns + NOUNS; n++) {
        struct keys k;
        char digest[33], now[33];

        make(n, &k, digest);
        keys_save(&k);
        for (int i = 0; i < 3; i++) {
            struct usher_watcher *watch;

            assert_true(redis_do_ok(server, "DEL", k.name[i], NULL));
            for (size_t v = 0; v < 40 && n->verbs[v] != NULL; v++)
                is_damage(n->verbs[v], parts[i]);
            /* a watcher turns off the fast path */
            assert_int_equal(usher_watch(engine, n->noun, n->scope, ignore, NULL, &watch),
                             USHER_OK);
            for (size_t v = 0; v < 3; v++)
                is_damage(n->verbs[v], parts[i]);
            usher_unwatch(engine, watch);
            assert_int_equal(usher_digest(engine, n->noun, n->scope, now),
                             i == 0 ? USHER_UNAVAILABLE : USHER_OK);
            assert_true(i == 0 || strcmp(now, digest) == 0);
            /* nothing was written */
            assert_false(is_there(k.name[i]));
            key_restore(&k, i);
            sound();
            same_digest(n, digest);
        }
        assert_true(redis_do_ok(server, "DEL", k.name[1], k.name[2], NULL));
        is_damage(n->verbs[0], "the keys :index and :held ");
        keys_done(&k);
    }
}

TEST(no_batch_or_direct_call_answers_from_a_damaged_scope)
{
    struct keys k;
    char digest[33], *text;
    size_t size;
    struct line l[3];
    struct usher_operation c[3];
    struct usher_result r[3];
    redisReply *reply;

    make(&nouns[0], &k, digest);
    keys_save(&k);
    line_read(&l[0], "number call p owner=x");
    line_read(&l[1], "number hangup p 102");
    line_read(&l[2], "number stats p");
    for (int i = 0; i < 3; i++)
        c[i] = l[i].c;
    assert_int_equal(usher_lua("number", NULL, 0, &size), USHER_OK);
    text = malloc(size + 1);
    assert_non_null(text);
    assert_int_equal(usher_lua("number", text, size + 1, &size), USHER_OK);
    for (int i = 0; i < 3; i++) {
        assert_true(redis_do_ok(server, "DEL", k.name[i], NULL));
        (void)usher_operate(engine, c, r, 3);
        for (int m = 0; m < 3; m++) {
            assert_int_equal(r[m].status, USHER_UNAVAILABLE);
            assert_non_null(strstr(r[m].message, "damaged"));
            usher_result_done(&r[m]);
        }
        reply = must(redis_do(server, "EVAL", text, "1", "{p}", "call", NULL));
        assert_true(reply->type == REDIS_REPLY_ARRAY && reply->elements == 4);
        assert_string_equal(reply->element[1]->str, "unavailable");
        assert_non_null(strstr(reply->element[3]->str, "damaged"));
        freeReplyObject(reply);
        assert_false(is_there(k.name[i]));
        key_restore(&k, i);
    }
    sound();
    same_digest(&nouns[0], digest);
    for (int i = 0; i < 3; i++)
        line_done(&l[i]);
    keys_done(&k);
    free(text);
}

static redisReply *members(const char *key)
{
    return must(redis_do(server, "ZRANGE", key, "0", "-1", "WITHSCORES", NULL));
}

static void same_members(const redisReply *a, const char *key)
{
    redisReply *b = members(key);

    assert_int_equal(a->elements, b->elements);
    for (size_t i = 0; i < a->elements; i++) {
        assert_int_equal(a->element[i]->len, b->element[i]->len);
        assert_memory_equal(a->element[i]->str, b->element[i]->str, (size_t)a->element[i]->len);
    }
    freeReplyObject(b);
}

/* Check that the damage is found and repaired, and that the keys are as before. */
static void check_repair(const struct noun *n, const struct keys *k, const char *digest,
                         redisReply *const lists[2], const char *found_by, const char *said)
{
    struct report t;
    struct usher_check_result found = check(NULL, &t);

    assert_true(found.faults > 0 && found.repaired == 0);
    if (strstr(t.text, found_by) == NULL)
        fail_msg("no `%s` in: %s", found_by, t.text);
    found = check(&repairing, &t);
    assert_true(found.faults > 0);
    if (found.repaired != found.faults || strstr(t.text, said) == NULL)
        fail_msg("%" PRIu64 " of %" PRIu64 " repaired, no `%s` in: %s", found.repaired,
                 found.faults, said, t.text);
    sound();
    same_digest(n, digest);
    for (int i = 0; i < 2; i++)
        same_members(lists[i], k->name[1 + i]);
}

TEST(missing_lists_are_rebuilt_from_the_records)
{
    for (const struct noun *n = nouns; n < nouns + NOUNS; n++) {
        struct keys k;
        redisReply *lists[2];
        char digest[33];

        make(n, &k, digest);
        for (int i = 0; i < 2; i++)
            lists[i] = members(k.name[1 + i]);
        assert_true(redis_do_ok(server, "DEL", k.name[1], NULL));
        check_repair(n, &k, digest, lists, "its key :index is gone",
                     "repaired, :index was missing: ");
        assert_true(redis_do_ok(server, "DEL", k.name[2], NULL));
        check_repair(n, &k, digest, lists, "its key :held is gone",
                     "repaired, :held was missing: ");
        assert_true(redis_do_ok(server, "DEL", k.name[1], k.name[2], NULL));
        check_repair(n, &k, digest, lists, "its key :held is gone",
                     "repaired, :index was missing, :held was missing: ");
        for (int i = 0; i < 2; i++)
            freeReplyObject(lists[i]);
    }
}

/* Lists as an older library left them: it continued to write with the rest of the list missing. */
static void check_wrong_lists(const struct noun *n, const struct keys *k, const char *digest,
                              redisReply *const lists[2])
{
    static const char strange[] = "12\0\0\0\0\0\0\x01nowhere";

    for (int i = 0; i < 2; i++) {
        for (size_t m = 0; m < lists[i]->elements; m += 2) {
            const redisReply *member = lists[i]->element[m];
            const char *rem[] = { "ZREM", k->name[1 + i], member->str };
            const size_t sizes[] = { 4, strlen(k->name[1 + i]), (size_t)member->len };

            freeReplyObject(must(redis_do_argv(server, 3, rem, sizes)));
            check_repair(n, k, digest, lists, n->scope,
                         "repaired: 1 entries added to the lists, 0 removed");
        }
        {
            const char *add[] = { "ZADD", k->name[1 + i], "0", strange };
            const size_t sizes[] = { 4, strlen(k->name[1 + i]), 1, sizeof strange - 1 };

            freeReplyObject(must(redis_do_argv(server, 4, add, sizes)));
            check_repair(n, k, digest, lists, n->scope,
                         "repaired: 0 entries added to the lists, 1 removed");
        }
    }
}

/* Lost serials are in one list only, and are found by it alone. */
TEST(lists_of_lost_serials_are_repaired)
{
    const struct noun *n = &nouns[3];
    struct keys k;
    redisReply *lists[2];
    char digest[33];
    size_t ranges = 0;

    assert_int_equal(n->noun, USHER_SERIAL);
    make(n, &k, digest);
    for (int i = 0; i < 2; i++)
        lists[i] = members(k.name[1 + i]);
    for (size_t m = 0; m < lists[0]->elements; m += 2)
        ranges += memcmp(lists[0]->element[m]->str, "60", 2) == 0;
    assert_int_equal(ranges, 1);
    check_wrong_lists(n, &k, digest, lists);
    /* repaired serials can be ended */
    expect_ok(engine, "serial void s B000004 token=6 n=2");
    expect_ok(engine, "serial confirm s B000003 token=6");
    sound();
    for (int i = 0; i < 2; i++)
        freeReplyObject(lists[i]);
}

TEST(wrong_lists_are_repaired)
{
    const struct noun *n = &nouns[0];
    struct keys k;
    redisReply *lists[2], *head;
    char digest[33];

    make(n, &k, digest);
    for (int i = 0; i < 2; i++)
        lists[i] = members(k.name[1 + i]);
    check_wrong_lists(n, &k, digest, lists);
    /* a count, and the time when something is due (which may be late only) */
    head = must(redis_do(server, "HGET", k.name[0], "head", NULL));
    for (int what = 0; what < 2; what++) {
        const char *argv[] = { "HSET", k.name[0], "head", head->str };
        const size_t sizes[] = { 4, strlen(k.name[0]), 4, (size_t)head->len };

        assert_int_equal(head->len, 213);
        if (what == 0)
            head->str[45 + 7 * 5 + 6]++; /* the count of resting numbers */
        else
            memset(head->str + 31, 0xff, 7);
        freeReplyObject(must(redis_do_argv(server, 4, argv, sizes)));
        check_repair(n, &k, digest, lists, what == 0 ? "count 5 " : "is due before",
                     "repaired: 0 entries");
        if (what == 0)
            head->str[45 + 7 * 5 + 6]--;
    }
    freeReplyObject(head);
    for (int i = 0; i < 2; i++)
        freeReplyObject(lists[i]);
}

/* Lists alone cannot be repaired: the repair reports the scope as lost and removes the lists. */
TEST(a_scope_without_its_hash_is_lost)
{
    for (const struct noun *n = nouns; n < nouns + NOUNS; n++) {
        struct keys k;
        struct report t;
        struct usher_check_result found;
        char digest[33];

        make(n, &k, digest);
        assert_true(redis_do_ok(server, "DEL", k.name[0], NULL));
        found = check(NULL, &t);
        assert_true(found.faults == 1 && strstr(t.text, "its hash is missing") != NULL);
        assert_true(is_there(k.name[1]));
        found = check(&repairing, &t);
        assert_true(found.faults > 0 && found.repaired == found.faults);
        assert_non_null(strstr(t.text, "the scope is lost: "));
        for (int i = 0; i < 3; i++)
            assert_false(is_there(k.name[i]));
        sound();
        for (size_t i = 0; i < sizeof n->make / sizeof *n->make && n->make[i] != NULL; i++)
            expect_ok(engine, "%s", n->make[i]);
        sound();
        /* a hash without a header still has records: a person must decide about it */
        assert_true(redis_do_ok(server, "HDEL", k.name[0], "head", NULL));
        is_damage(n->verbs[0], "the hash ");
        found = check(&repairing, &t);
        assert_true(found.faults > 0 && found.repaired < found.faults);
        assert_non_null(strstr(t.text, "its header is missing"));
        assert_non_null(strstr(t.text, "could not be repaired: "));
        for (int i = 0; i < 3; i++)
            assert_true(is_there(k.name[i]));
    }
}

/* The process of a repair was killed: commands are refused until the repair is repeated. */
TEST(a_repair_is_repeated_after_its_process_was_killed)
{
    const struct noun *n = &nouns[0];
    struct keys k;
    redisReply *lists[2], *head;
    char digest[33], marked[229];

    make(n, &k, digest);
    for (int i = 0; i < 2; i++)
        lists[i] = members(k.name[1 + i]);
    head = must(redis_do(server, "HGET", k.name[0], "head", NULL));
    assert_int_equal(head->len, 213);
    memcpy(marked, head->str, 213);
    memset(marked + 213, 'x', 16);
    for (int gone = 0; gone < 2; gone++) {
        const char *argv[] = { "HSET", k.name[0], "head", marked };
        const size_t sizes[] = { 4, strlen(k.name[0]), 4, sizeof marked };

        freeReplyObject(must(redis_do_argv(server, 4, argv, sizes)));
        if (gone != 0)
            assert_true(redis_do_ok(server, "DEL", k.name[1], NULL));
        for (size_t v = 0; v < 40 && n->verbs[v] != NULL; v++)
            is_damage(n->verbs[v], "has begun to repair");
        check_repair(n, &k, digest, lists, "a repair of it is under way, or was interrupted",
                     "repaired");
    }
    freeReplyObject(head);
    for (int i = 0; i < 2; i++)
        freeReplyObject(lists[i]);
}

/* Rooms may be missing in the damaged index, or are not known to be there.  The check of the other
 * scopes continues. */
TEST(the_index_of_rooms_is_repaired)
{
    const struct noun *n = &nouns[2];
    struct keys k, room;
    redisReply *found_keys;
    char digest[33], scope[16];

    for (int i = 0; i < 3; i++) {
        struct usher_check_result found;
        struct usher_result r;
        struct report t;

        make(n, &room, digest);
        found_keys = must(redis_do(server, "KEYS", "{p*}:rooms", NULL));
        assert_int_equal(found_keys->elements, 1);
        (void)snprintf(scope, sizeof scope, "%.3s", found_keys->element[0]->str + 1);
        freeReplyObject(found_keys);
        keys_of(&k, "rooms", scope);
        assert_true(redis_do_ok(server, "DEL", k.name[i], NULL));
        assert_int_equal(usher__room_list(engine, NULL, 0, 0, -1, &r), USHER_UNAVAILABLE);
        assert_non_null(strstr(r.message, "the store is damaged: "));
        usher_result_done(&r);
        assert_int_equal(usher__room_patrol(engine, "w", 0, 0, 0, -1, &r), USHER_UNAVAILABLE);
        usher_result_done(&r);
        assert_false(is_there(k.name[i]));
        found = check(NULL, &t);
        assert_true(found.faults > 0);
        found = check(&repairing, &t);
        if (found.faults == 0 || found.faults != found.repaired)
            fail_msg("%s", t.text);
        sound();
        same_digest(n, digest);
        assert_int_equal(usher__room_list(engine, NULL, 0, 0, -1, &r), USHER_OK);
        assert_int_equal(r.of.room.n_rows, 1);
        usher_result_done(&r);
    }
}

/* ---- during other commands ---------------------------------------------------------- */

#define CALLERS 2
#define ROUNDS 12

static atomic_bool over;

struct caller {
    pthread_t thread;
    unsigned id, refused;
    atomic_uint calls;
    atomic_bool failed;
    char wrong[256];
};

/* Each caller uses one of ten numbers, so a free number always exists. */
static void *calls(void *payload)
{
    struct caller *c = payload;
    char owner[32];

    while (!atomic_load(&over)) {
        struct ask_number_hold hold;
        enum usher_status status;

        (void)snprintf(owner, sizeof owner, "o%u-%u", c->id, atomic_load(&c->calls));
        do
            status = ask_number_call(engine, "p", owner, NULL, &hold);
        while (status == USHER_UNAVAILABLE && ++c->refused != 0 && !atomic_load(&over));
        if (status == USHER_UNAVAILABLE)
            break;
        if (status != USHER_OK) {
            (void)snprintf(c->wrong, sizeof c->wrong, "call: %.200s", usher_message());
            break;
        }
        do
            status = ask_number_hangup(engine, "p", hold.number, hold.token, -1);
        while (status == USHER_UNAVAILABLE && ++c->refused != 0 && !atomic_load(&over));
        if (status != USHER_OK && status != USHER_UNAVAILABLE)
            (void)snprintf(c->wrong, sizeof c->wrong, "hangup: %.200s", usher_message());
        if (c->wrong[0] != '\0')
            break;
        atomic_fetch_add(&c->calls, 1);
    }
    atomic_store(&c->failed, c->wrong[0] != '\0');
    return NULL;
}

static void *repairs(void *payload)
{
    struct usher_check_result found;

    (void)payload;
    while (!atomic_load(&over))
        (void)usher_check(engine, &repairing, NULL, NULL, &found);
    return NULL;
}

/* Two threads repair and two call while keys are removed: no answer is wrong. */
TEST(answers_are_right_while_two_repairs_run)
{
    struct caller callers[CALLERS];
    pthread_t repairers[2];
    struct usher_check_result found;
    struct report t;

    assert_true(redis_do_ok(server, "FLUSHALL", NULL));
    for (int i = 101; i < 111; i++) {
        char text[64];

        (void)snprintf(text, sizeof text, "number add p %d", i);
        expect_ok(engine, "%s", text);
        (void)snprintf(text, sizeof text, "number reg p %d", i);
        expect_ok(engine, "%s", text);
    }
    atomic_store(&over, false);
    memset(callers, 0, sizeof callers);
    for (unsigned i = 0; i < CALLERS; i++) {
        callers[i].id = i;
        assert_int_equal(pthread_create(&callers[i].thread, NULL, calls, &callers[i]), 0);
    }
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&repairers[i], NULL, repairs, NULL), 0);
    for (int round = 0; round < ROUNDS; round++) {
        const char *key = round % 2 == 0 ? "{p}:number:index" : "{p}:number:held";

        assert_true(redis_do_ok(server, "DEL", key, NULL));
        /* the repairers restore the key, and calls continue */
        for (unsigned i = 0; i < CALLERS; i++) {
            unsigned before = atomic_load(&callers[i].calls);

            while (atomic_load(&callers[i].calls) < before + 20 && !atomic_load(&callers[i].failed))
                (void)sched_yield();
        }
    }
    atomic_store(&over, true);
    for (unsigned i = 0; i < CALLERS; i++)
        (void)pthread_join(callers[i].thread, NULL);
    for (int i = 0; i < 2; i++)
        (void)pthread_join(repairers[i], NULL);
    for (unsigned i = 0; i < CALLERS; i++)
        if (callers[i].wrong[0] != '\0')
            fail_msg("%s", callers[i].wrong);
    found = check(&repairing, &t);
    if (found.faults != found.repaired)
        fail_msg("%s", t.text);
    sound();
    print_message("%u and %u calls, %u and %u times refused\n", atomic_load(&callers[0].calls),
                  atomic_load(&callers[1].calls), callers[0].refused, callers[1].refused);
}

static int program_begin(void)
{
    verbs_of_the_tables();
    return redis_needed();
}

TEST_PROGRAM(program_begin, NULL);
