/* SPDX-License-Identifier: MIT */
/*
 * What the Redis script must have in common with the C side, and what it needs of a server:
 * the tables, the draw of random order, the form in which a person calls it, and the rights
 * of a user (backends/redis/README.md).  That its verbs do the same is for the differential
 * test.
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include <usher/usher.h>

#include "cli/cli.h"
#include "cli/parse.h"
#include "cli/words.h"
#include "core/number.h"
#include "lib/servers.h"

static struct redis_server *server;

static enum usher_status text(bool table, char *to, size_t size, size_t *ret_length)
{
    return table ? usher_table("number", USHER_TABLE_LUA, to, size, ret_length)
                 : usher_lua("number", to, size, ret_length);
}

/* The constants, or the whole script.  The caller frees it. */
static char *text_of(bool table)
{
    size_t length, again;
    char *to;

    assert_int_equal(text(table, NULL, 0, &length), USHER_OK);
    to = malloc(length + 1);
    assert_non_null(to);
    assert_int_equal(text(table, to, length + 1, &again), USHER_OK);
    assert_int_equal(again, length);
    assert_int_equal(strlen(to), length);
    return to;
}

static redisReply *eval(const char *script, const char *arg)
{
    redisReply *reply = redis_do(server, "EVAL", script, "0", arg, NULL);

    assert_non_null(reply);
    if (reply->type == REDIS_REPLY_ERROR)
        fail_msg("%s", reply->str);
    return reply;
}

static void both_sides_have_the_same_moves(void **state)
{
    static const char tail[] =
        "\nlocal from, event, claim = string.match(ARGV[1], '(%d+) (%d+) (%d+)')"
        "\nlocal i = ((from * EVENTS + event) * CLAIMS + claim) * 2 + 1"
        "\nlocal to, status = string.byte(MOVES, i) - 48, string.byte(MOVES, i + 1) - 65"
        "\nreturn string.match(string.sub(STATES, to * 10 + 1, to * 10 + 10), '^%S+') .. ' ' .."
        " string.match(string.sub(STATUSES, status * 12 + 1, status * 12 + 12), '^%S+')";
    char *table = text_of(true);
    char *script = malloc(strlen(table) + sizeof tail);

    (void)state;
    assert_non_null(script);
    strcpy(script, table);
    strcat(script, tail);
    for (unsigned s = 0; s < USHER__NUMBER_STATES; s++) {
        for (unsigned e = 0; e < USHER__NUMBER_EVENTS; e++) {
            for (unsigned c = 0; c < USHER__CLAIMS; c++) {
                struct usher__number_move move = usher__number_move(s, e, c);
                char arg[40], expected[40];
                redisReply *reply;

                (void)snprintf(arg, sizeof arg, "%u %u %u", s, e, c);
                (void)snprintf(expected, sizeof expected, "%s %s",
                               usher_number_state_word((enum usher_number_state)move.to),
                               usher_status_word((enum usher_status)move.status));
                reply = eval(script, arg);
                assert_string_equal(reply->str, expected);
                freeReplyObject(reply);
            }
        }
    }
    free(script);
    free(table);
}

static void both_sides_draw_the_same(void **state)
{
    static const char begin[] = "function S.draw(", end[] = "\nend\n";
    static const uint64_t edges[] = { 0,
                                      1,
                                      2,
                                      65535,
                                      65536,
                                      UINT32_MAX - 1,
                                      UINT32_MAX,
                                      UINT64_C(1) << 32,
                                      (UINT64_C(1) << 32) + 1,
                                      UINT64_C(0x61c8864700000000),
                                      (UINT64_C(1) << 53) - 1 };
    char *all = text_of(false);
    const char *from = strstr(all, begin);
    const char *to = from != NULL ? strstr(from, end) : NULL;
    uint64_t version = 88172645463325252;
    char script[4096];

    (void)state;
    assert_non_null(to);
    /* the rank, and the step of a draw: usher__draw() and usher__draw_step() */
    (void)snprintf(script, sizeof script,
                   "local S, floor = {}, math.floor\n%.*s%slocal v = tonumber(ARGV[1])\n"
                   "return string.format('%%.0f %%.0f', S.draw(v, 0), S.draw(v, 2097152) %% %lu)",
                   (int)(to - from), from, end, (unsigned long)USHER__DRAW_STEPS);
    for (size_t i = 0; i < 500; i++) {
        uint64_t v = i < sizeof edges / sizeof *edges ? edges[i] : version >> (11 + i % 53);
        char arg[24], expected[48];
        redisReply *reply;

        v &= (UINT64_C(1) << 53) - 1;
        version ^= version << 13;
        version ^= version >> 7;
        version ^= version << 17;
        (void)snprintf(arg, sizeof arg, "%llu", (unsigned long long)v);
        (void)snprintf(expected, sizeof expected, "%lu %lu", (unsigned long)usher__draw(v),
                       (unsigned long)usher__draw_step(v));
        reply = eval(script, arg);
        assert_string_equal(reply->str, expected);
        freeReplyObject(reply);
    }
    free(all);
}

/* As a person types it: EVALSHA sha 1 {pool} verb number.  The answer is names and values. */
static void expect_by_hand(const char *sha, const char *verb, const char *number,
                           const char *status, const char *shown)
{
    redisReply *reply = number != NULL
                            ? redis_do(server, "EVALSHA", sha, "1", "{desk}", verb, number, NULL)
                            : redis_do(server, "EVALSHA", sha, "1", "{desk}", verb, NULL);

    assert_non_null(reply);
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements < 8)
        fail_msg("%s: %s", verb, reply->str != NULL ? reply->str : "no array");
    assert_string_equal(reply->element[0]->str, "status");
    assert_string_equal(reply->element[1]->str, status);
    assert_string_equal(reply->element[6]->str, "number");
    assert_string_equal(reply->element[7]->str, shown);
    freeReplyObject(reply);
}

static void it_can_be_called_by_hand(void **state)
{
    char *script = text_of(false), url[REDIS_URL_MAX];
    redisReply *sha = redis_do(server, "SCRIPT", "LOAD", script, NULL), *reply;
    struct usher_engine *e;
    struct usher_hold hold;
    uint64_t faults;

    (void)state;
    assert_non_null(sha);
    assert_int_equal(sha->type, REDIS_REPLY_STRING);
    expect_by_hand(sha->str, "add", "123456", "ok", "123456");
    expect_by_hand(sha->str, "add", "123456", "same", "123456");
    expect_by_hand(sha->str, "call", NULL, "empty", "");
    expect_by_hand(sha->str, "reg", "123456", "ok", "123456");
    expect_by_hand(sha->str, "call", NULL, "ok", "123456");
    expect_by_hand(sha->str, "unreg", "123456", "ok", "123456");
    expect_by_hand(sha->str, "hangup", "123456", "ok", "123456");
    expect_by_hand(sha->str, "reg", "123456", "ok", "123456");

    /* a pool made by hand is one like any other */
    assert_int_equal(usher_open(redis_server_url(server, url), NULL, &e), USHER_OK);
    assert_int_equal(usher_number_call(e, "desk", "ann", NULL, &hold), USHER_OK);
    assert_string_equal(hold.number, "123456");
    assert_int_equal(usher_audit(e, NULL, NULL, &faults), USHER_OK);
    assert_int_equal(faults, 0);
    usher_close(e);

    reply = redis_do(server, "EVALSHA", sha->str, "1", "{desk}", "fly", "123456", NULL);
    assert_non_null(reply);
    assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
    assert_string_equal(reply->element[1]->str, "invalid");
    freeReplyObject(reply);
    freeReplyObject(sha);
    free(script);
}

/* ---- rights ---- */

static const char *const rights[] = { "+evalsha",       "+script|load", "+time", "+hget",
                                      "+hmget",         "+hset",        "+hdel", "+hscan",
                                      "+zadd",          "+zrem",        "+scan", "+zrangebylex",
                                      "+zrevrangebylex" };
#define RIGHTS (sizeof rights / sizeof *rights)

/* User "desk", for pools under the prefix "t:", with all rights but number @without. */
static void grant(size_t without)
{
    assert_true(redis_do_ok(server, "ACL", "SETUSER", "desk", "reset", "on", ">secret",
                            "~t:{*}:number", "~t:{*}:number:index", "~t:{*}:number:held", NULL));
    for (size_t i = 0; i < RIGHTS; i++)
        if (i != without)
            assert_true(redis_do_ok(server, "ACL", "SETUSER", "desk", rights[i], NULL));
}

/* Everything that a user may do; the first thing that failed, or NULL. */
static const char *failure(struct usher_engine *e)
{
    struct usher_number_settings set = { 0 };
    struct usher_call_options opt = USHER_CALL_OPTIONS_INIT;
    struct usher_number_stats stats;
    struct usher_reply reply;
    struct usher_hold hold;
    uint64_t n;
    char digest[33];

    opt.sticky = "callee";
    opt.request = "request";
    set.order = USHER_ORDER_MOST_RECENT;
    if (usher_number_set(e, "p", USHER_GIVEN_ORDER, &set) != USHER_OK)
        return "set";
    if (usher_number_add(e, "p", "1", "north") != USHER_OK ||
        usher_number_reg(e, "p", "1") != USHER_OK)
        return "add";
    if (usher_number_call(e, "p", "ann", &opt, &hold) != USHER_OK)
        return "call";
    if (usher_number_renew(e, "p", "1", hold.token, 60000, NULL) != USHER_OK)
        return "renew";
    if (usher_number_show(e, "p", "1", &reply) != USHER_OK)
        return "show";
    usher_reply_done(&reply);
    if (usher_number_list(e, "p", -1, NULL, NULL, 0, &reply) != USHER_OK)
        return "list";
    usher_reply_done(&reply);
    if (usher_number_stats(e, "p", &stats) != USHER_OK)
        return "stats";
    if (usher_number_hangup(e, "p", "1", hold.token, -1) != USHER_OK)
        return "hangup";
    if (usher_number_sweep(e, "p", &n) != USHER_SAME ||
        usher_number_free(e, "p", NULL, NULL, &n) != USHER_SAME)
        return "sweep";
    if (usher_audit(e, NULL, NULL, &n) != USHER_OK || n != 0)
        return "audit";
    if (usher_digest(e, USHER_NUMBER, "p", digest) != USHER_OK)
        return "digest";
    if (usher_number_del(e, "p", "1") != USHER_OK)
        return "del";
    return NULL;
}

static const char *try_all(void)
{
    char url[128];
    struct usher_engine *e;
    const char *what = "open";

    (void)snprintf(url, sizeof url, "redis://desk:secret@127.0.0.1:%d?prefix=t:&timeout=400",
                   redis_server_port(server));
    assert_true(redis_do_ok(server, "FLUSHALL", NULL));
    if (usher_open(url, NULL, &e) == USHER_OK) {
        what = failure(e);
        usher_close(e);
    }
    return what;
}

static void the_documented_rights_are_enough(void **state)
{
    const char *what;

    (void)state;
    grant(RIGHTS);
    what = try_all();
    if (what != NULL)
        fail_msg("%s: %s", what, usher_message(NULL));
}

static void none_of_the_documented_rights_is_superfluous(void **state)
{
    (void)state;
    for (size_t i = 0; i < RIGHTS; i++) {
        grant(i);
        if (try_all() == NULL)
            fail_msg("%s is not needed", rights[i]);
    }
}

/* ---- rights of the other nouns ---- */

/* What a user of a noun needs besides (NULL: nothing), and commands that need it all. */
static const struct least {
    const char *keys[6], *more, *lines[24];
    enum usher_noun noun;
} leasts[] = {
    { { "~t:{*}:queue", "~t:{*}:queue:index", "~t:{*}:queue:held" },
      "+zlexcount",
      { "queue set q strategy=random history=10", "queue login q ann lanes=a,b capacity=2",
        "queue apply q u1 lane=a req=r1", "queue apply q u1 lane=a req=r1",
        "queue apply q u2 lane=a", "queue apply q u3 lane=a", "queue apply q u4 lane=a priority=1",
        "queue where q u4", "queue alive q agent=ann", "queue move q u4 lane=b",
        "queue finish q 2.1", "queue list q", "queue agents q", "queue stats q", "queue history q",
        "queue leave q u3", "queue free q ann", "queue logout q ann", "queue sweep q" },
      USHER_QUEUE },
    { { "~t:{*}:room", "~t:{*}:room:index", "~t:{*}:room:held", "~t:{*}:rooms",
        "~t:{*}:rooms:index", "~t:{*}:rooms:held" },
      "+del",
      { "room open q log=10", "room join q ann name=Ann", "room join q bob", "room set q title x",
        "room member q ann colour red", "room all q muted 1", "room role q chair ann",
        "room share q ann board", "room alive q bob", "room snapshot q", "room changes q",
        "room unset q title", "room kick q bob ban=1000", "room leave q ann", "room sweep q",
        "room close q" },
      USHER_ROOM },
    { { "~t:{*}:serial", "~t:{*}:serial:index", "~t:{*}:serial:held" },
      "+info",
      { "serial rule q width=4 authority=1 stamp=fill", "serial grant q 0 100", "serial fill q 5",
        "serial take q n=3 req=r1", "serial check q", "serial tick q", "serial setmaxcur q 50",
        "serial show q", "serial delete q" },
      USHER_SERIAL },
    { { "~t:{*}:serial", "~t:{*}:serial:index", "~t:{*}:serial:held" },
      NULL,
      { "serial rule q width=4 mode=gapfree", "serial reserve q owner=ann",
        "serial reserve q req=r1", "serial return q 0002 token=3", "serial confirm q 0001 token=2",
        "serial holds q", "serial sweep q" },
      USHER_SERIAL },
    { { "~t:{*}:id", "~t:{*}:id:index", "~t:{*}:id:held" },
      NULL,
      { "id create q step=10", "id next q", "id next q n=5 req=r1", "id next q n=5 req=r1",
        "id show q", "id set q step=20", "id delete q" },
      USHER_ID },
    { { "~t:{*}:id", "~t:{*}:id:index", "~t:{*}:id:held" },
      "+info",
      { "id create q managed=1", "id install q 1 100", "id next q", "id show q" },
      USHER_ID },
};
#define LEASTS (sizeof leasts / sizeof *leasts)

static struct usher_engine *open_least(const struct least *l, bool more, const char *without)
{
    struct usher_engine *e;
    char url[128];

    assert_true(redis_do_ok(server, "FLUSHALL", NULL));
    assert_true(redis_do_ok(server, "ACL", "SETUSER", "desk", "reset", "on", ">secret", NULL));
    for (size_t i = 0; i < 6 && l->keys[i] != NULL; i++)
        assert_true(redis_do_ok(server, "ACL", "SETUSER", "desk", l->keys[i], NULL));
    for (size_t i = 0; i < RIGHTS; i++)
        if (without == NULL || strcmp(rights[i], without) != 0)
            assert_true(redis_do_ok(server, "ACL", "SETUSER", "desk", rights[i], NULL));
    if (more && l->more != NULL)
        assert_true(redis_do_ok(server, "ACL", "SETUSER", "desk", l->more, NULL));
    (void)snprintf(url, sizeof url, "redis://desk:secret@127.0.0.1:%d?prefix=t:&timeout=20000",
                   redis_server_port(server));
    if (usher_open(url, NULL, &e) != USHER_OK)
        fail_msg("%s", usher_message(NULL));
    return e;
}

/* What the parser knows besides: nothing here. */
const struct cli_program usher__cli_programs[] = { { .word = NULL } };
const struct cli_verb usher__cli_verbs[] = { { .word = NULL } };

/* As the program does; @message says what was answered. */
static enum usher_status say(struct usher_engine *e, const char *line, char message[192])
{
    struct usher_command c;
    struct usher_reply reply;
    struct words w = { 0 };
    unsigned char *block = NULL;
    char wrong[CLI_MESSAGE_MAX];
    enum usher_status status;

    if (usher__words_split(&w, line, strlen(line)) != NULL ||
        !usher__parse_command(w.word, w.n, &c, &block, wrong))
        fail_msg("%s: %s", line, wrong);
    (void)usher_execute(e, &c, &reply, 1);
    status = reply.status;
    memcpy(message, reply.message, sizeof reply.message);
    usher_reply_done(&reply);
    free(block);
    usher__words_done(&w);
    return status;
}

static void the_documented_rights_of_each_noun_are_enough(void **state)
{
    (void)state;
    for (const struct least *l = leasts; l < leasts + LEASTS; l++) {
        struct usher_engine *e = open_least(l, true, NULL);
        struct usher_reply reply;
        uint64_t faults;
        char message[192], digest[33];

        for (size_t i = 0; l->lines[i] != NULL; i++) {
            enum usher_status status = say(e, l->lines[i], message);

            if (status != USHER_OK && status != USHER_SAME && status != USHER_EMPTY)
                fail_msg("%s: %s %s", l->lines[i], usher_status_word(status), message);
        }
        if (l->noun == USHER_ROOM) {
            assert_int_equal(usher_room_open(e, "hall", NULL), USHER_OK);
            assert_int_equal(usher_room_list(e, NULL, 0, 0, -1, &reply), USHER_OK);
            usher_reply_done(&reply);
            assert_int_equal(usher_room_patrol(e, "w", 0, 0, 0, -1, &reply), USHER_OK);
            usher_reply_done(&reply);
            assert_int_equal(usher_room_close(e, "hall"), USHER_OK);
        }
        assert_int_equal(usher_audit(e, NULL, NULL, &faults), USHER_OK);
        assert_int_equal(faults, 0);
        assert_true(usher_digest(e, l->noun, "q", digest) <= USHER_MISSING);
        usher_close(e);
    }
}

static void each_noun_needs_its_own_right(void **state)
{
    (void)state;
    for (const struct least *l = leasts; l < leasts + LEASTS; l++) {
        struct usher_engine *e = open_least(l, false, NULL);
        bool failed = l->more == NULL;
        char message[192];

        for (size_t i = 0; l->lines[i] != NULL && !failed; i++) {
            enum usher_status status = say(e, l->lines[i], message);

            failed = status == USHER_UNAVAILABLE || status == USHER_UNKNOWN;
        }
        if (!failed)
            fail_msg("%s is not needed", l->more);
        usher_close(e);
    }
}

/* At once, though there is time; and again when it may. */
static void a_user_who_cannot_load_a_script_is_told_at_once(void **state)
{
    (void)state;
    for (const struct least *l = leasts; l < leasts + LEASTS; l++) {
        struct usher_engine *e = open_least(l, true, "+script|load");
        struct timespec begin, end;
        char message[192];

        assert_true(redis_do_ok(server, "SCRIPT", "FLUSH", NULL));
        (void)clock_gettime(CLOCK_MONOTONIC, &begin);
        assert_int_equal(say(e, l->lines[0], message), USHER_UNAVAILABLE);
        (void)clock_gettime(CLOCK_MONOTONIC, &end);
        if (strstr(message, "NOPERM") == NULL || strstr(message, "script|load") == NULL)
            fail_msg("%s", message);
        assert_true(end.tv_sec - begin.tv_sec < 10);
        assert_true(redis_do_ok(server, "ACL", "SETUSER", "desk", "+script|load", NULL));
        assert_int_equal(say(e, l->lines[0], message), USHER_OK);
        usher_close(e);
    }
}

static void a_user_cannot_reach_other_keys(void **state)
{
    char url[128];
    struct usher_engine *e;

    (void)state;
    grant(RIGHTS);
    (void)snprintf(url, sizeof url, "redis://desk:secret@127.0.0.1:%d?prefix=u:&timeout=400",
                   redis_server_port(server));
    assert_true(redis_do_ok(server, "FLUSHALL", NULL));
    if (usher_open(url, NULL, &e) == USHER_OK) {
        assert_int_not_equal(usher_number_add(e, "p", "1", NULL), USHER_OK);
        usher_close(e);
    }
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_sides_have_the_same_moves),
        cmocka_unit_test(both_sides_draw_the_same),
        cmocka_unit_test(it_can_be_called_by_hand),
        cmocka_unit_test(the_documented_rights_are_enough),
        cmocka_unit_test(none_of_the_documented_rights_is_superfluous),
        cmocka_unit_test(the_documented_rights_of_each_noun_are_enough),
        cmocka_unit_test(each_noun_needs_its_own_right),
        cmocka_unit_test(a_user_who_cannot_load_a_script_is_told_at_once),
        cmocka_unit_test(a_user_cannot_reach_other_keys),
    };
    static const struct redis_server_options options;
    int rc;

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    server = redis_server_start(&options);
    if (server == NULL)
        return redis_skip();
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    redis_server_stop(server);
    return rc;
}
