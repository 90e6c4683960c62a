/* SPDX-License-Identifier: MIT */
/*
 * The parts that the Redis script has in common with C, and its needs on a server: the tables, the
 * draw of random order, direct calls by a person, and the rights of a user
 * (backends/redis/README.md).  The differential test compares its verbs.
 */
#include "lib/test.h"

#include <usher/command.h>
#include <usher/store/store.h>

#include "cli/cli.h"
#include "cli/parse.h"
#include "parse/words.h"
#include "core/number.h"
#include "core/verbs.h"
#include "nouns/number/number.h"
#include "nouns/room/room_directory.h"
#include "lib/calls.h"
#include "lib/servers.h"
#include "lib/util.h"

TEST_SERVER(server);

static enum usher_status lua_text(bool table, char *to, size_t size, size_t *ret_length)
{
    return table ? usher_table("number", USHER_TABLE_LUA, to, size, ret_length)
                 : usher_lua("number", to, size, ret_length);
}

/* The constants, or the whole script.  The caller frees it. */
static char *text_of(bool table)
{
    size_t length, again;
    char *to;

    assert_int_equal(lua_text(table, NULL, 0, &length), USHER_OK);
    to = malloc(length + 1);
    assert_non_null(to);
    assert_int_equal(lua_text(table, to, length + 1, &again), USHER_OK);
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

/* From @begin up to the next @end, which is among it.  @size bytes long. */
static const char *part_of(const char *all, const char *begin, const char *end, int *ret_size)
{
    const char *from = strstr(all, begin), *to = from != NULL ? strstr(from, end) : NULL;

    assert_non_null(to);
    *ret_size = (int)(to - from) + (int)strlen(end);
    return from;
}

/* S.move() and S.slots() of common.lua, called with what the constants say. */
TEST(c_and_lua_have_the_same_moves)
{
    static const char moves[] = "local NUMBER_MOVES = ", lists[] = "local NUMBER_LISTS = ";
    const struct usher__machine *m = &usher__number_machine;
    char *table = text_of(true), *all = text_of(false), script[4096];
    int size[4];
    const char *part[4] = { part_of(all, "function S.move(", "\nend\n", &size[0]),
                            part_of(all, "function S.slots(", "\nend\n", &size[1]),
                            part_of(table, moves, "\n", &size[2]),
                            part_of(table, lists, "\n", &size[3]) };
    int n_moves = sizeof moves - 1, n_lists = sizeof lists - 1;

    (void)snprintf(script, sizeof script,
                   "local S, byte = {}, string.byte\n%.*s%.*s"
                   "local from, event, guard, ends = string.match(ARGV[1], '(.) (%%d+) (.) (.)')\n"
                   "local lists = S.slots(%.*s, from, tonumber(ends))\n"
                   "local good, to, status = pcall(S.move, %.*s, from, event, guard)\n"
                   "return good and to .. ' ' .. status .. ' ' .. lists or 'none ' .. lists",
                   size[0], part[0], size[1], part[1], size[3] - n_lists - 1, part[3] + n_lists,
                   size[2] - n_moves - 1, part[2] + n_moves);
    for (unsigned k = 0; k < 2 * m->n_states * m->n_events * m->n_guards; k++) {
        unsigned ends = k % 2, guard = k / 2 % m->n_guards;
        unsigned event = k / 2 / m->n_guards % m->n_events,
                 from = k / 2 / m->n_guards / m->n_events;
        struct usher__move move = usher__machine_move(m, from, event, guard);
        unsigned slots = usher__machine_lists(m, from, ends);
        char arg[40], expected[40];
        redisReply *reply;

        (void)snprintf(arg, sizeof arg, "%u %u %u %u", from, event, guard, ends);
        if (move.row)
            (void)snprintf(expected, sizeof expected, "%u %u %u", move.to, move.status, slots);
        else
            (void)snprintf(expected, sizeof expected, "none %u", slots);
        reply = eval(script, arg);
        assert_string_equal(reply->str, expected);
        freeReplyObject(reply);
    }
    free(all);
    free(table);
}

/* So one that is added later does, too: it has the place after the last one. */
TEST(every_setting_but_outages_and_push_turns_the_fast_path_off)
{
    static const char begin[] = "local later = ", end[] = "plain = plain";
    char *all = text_of(false), script[1024], arg[40 * USHER_SETTINGS];
    int size;
    const char *off = part_of(all, begin, end, &size);
    int64_t set[USHER_SETTINGS] = { 0 };
    const struct usher__field *told;
    const struct usher__arg *given;

    for (unsigned i = 0; usher__setting(USHER_NUMBER_SET, i, &told, &given); i++)
        set[i] = given->standard;
    (void)snprintf(
        script, sizeof script,
        "local sub, settings, plain = string.sub, ''\n"
        "for s in string.gmatch(ARGV[1], '%%d+') do settings = settings .. struct.pack('>i7', s) end\n"
        "%.*s\nreturn usual and 'off' or 'on'",
        size, off);
    for (int i = USHER__SET_REQUESTS + 1; i < USHER_SETTINGS; i++) {
        bool may = i == USHER__SET_OUTAGE || i == USHER__SET_PUSH ||
                   i >= USHER_SETTINGS - 2; /* the last outage */
        redisReply *reply;

        arg[0] = '\0';
        for (int k = 0; k < USHER_SETTINGS; k++) {
            size_t n = strlen(arg);

            (void)snprintf(arg + n, sizeof arg - n, "%" PRId64 " ", set[k] + (k == i));
        }
        reply = eval(script, arg);
        assert_string_equal(reply->str, may ? "off" : "on");
        freeReplyObject(reply);
    }
    free(all);
}

TEST(c_and_lua_draw_the_same_numbers)
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
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements < 12)
        fail_msg("%s: %s", verb, reply->str != NULL ? reply->str : "no array");
    assert_string_equal(reply->element[0]->str, "status");
    assert_string_equal(reply->element[1]->str, status);
    assert_string_equal(reply->element[6]->str, "due");
    assert_string_equal(reply->element[8]->str, "now");
    assert_string_equal(reply->element[10]->str, "number");
    assert_string_equal(reply->element[11]->str, shown);
    freeReplyObject(reply);
}

TEST(the_script_can_be_called_directly)
{
    char *script = text_of(false), url[REDIS_URL_MAX];
    redisReply *sha = redis_do(server, "SCRIPT", "LOAD", script, NULL), *reply;
    struct usher_engine *e;
    struct ask_number_hold hold;

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
    assert_int_equal(ask_number_call(e, "desk", "ann", NULL, &hold), USHER_OK);
    assert_string_equal(hold.number, "123456");
    audit(e);
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

static const char *const rights[] = { "+evalsha",        "+script|load", "+time", "+hget",
                                      "+hmget",          "+hset",        "+hdel", "+hscan",
                                      "+zadd",           "+zrem",        "+scan", "+zrangebylex",
                                      "+zrevrangebylex", "+exists" };
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
    struct usher_number_result_settings set = { 0 };
    struct ask_number_call_options opt = { 0 };
    struct usher_number_result_statistics stats;
    struct usher_result reply;
    struct ask_number_hold hold;
    uint64_t n;
    char digest[33];

    opt.sticky = "callee";
    opt.request = "request";
    set.order = USHER_NUMBER_ORDER_MOST_RECENT;
    if (ask_number_set(e, "p", USHER_GIVEN_ORDER, &set) != USHER_OK)
        return "set";
    if (ask_number_add(e, "p", "1", "north") != USHER_OK || ask_number_reg(e, "p", "1") != USHER_OK)
        return "add";
    if (ask_number_call(e, "p", "ann", &opt, &hold) != USHER_OK)
        return "call";
    if (ask_number_renew(e, "p", "1", hold.token, 60000, NULL) != USHER_OK)
        return "renew";
    if (ask_number_show(e, "p", "1", &reply) != USHER_OK)
        return "show";
    usher_result_done(&reply);
    if (ask_number_list(e, "p", -1, NULL, NULL, 0, &reply) != USHER_OK)
        return "list";
    usher_result_done(&reply);
    if (ask_number_stats(e, "p", &stats) != USHER_OK)
        return "stats";
    if (ask_number_hangup(e, "p", "1", hold.token, -1) != USHER_OK)
        return "hangup";
    if (ask_number_sweep(e, "p", &n) != USHER_SAME || ask_number_free_all(e, "p", &n) != USHER_SAME)
        return "sweep";
    if (check_faults(e, NULL, NULL, &n) != USHER_OK || n != 0)
        return "audit";
    if (usher_digest(e, USHER_NUMBER, "p", digest) != USHER_OK)
        return "digest";
    if (ask_number_del(e, "p", "1") != USHER_OK)
        return "del";
    return NULL;
}

/* Commands that a right is missing for may be tried until the deadline, @timeout_ms. */
static const char *try_all(unsigned timeout_ms)
{
    char url[128];
    struct usher_engine *e;
    const char *what = "open";

    (void)snprintf(url, sizeof url, "redis://desk:secret@127.0.0.1:%d?prefix=t:&timeout=%u",
                   redis_server_port(server), timeout_ms);
    assert_true(redis_do_ok(server, "FLUSHALL", NULL));
    if (usher_open(url, NULL, &e) == USHER_OK) {
        what = failure(e);
        usher_close(e);
    }
    return what;
}

TEST(the_documented_rights_are_enough)
{
    const char *what;

    grant(RIGHTS);
    what = try_all(60000);
    if (what != NULL)
        fail_msg("%s: %s", what, usher_message());
}

TEST(each_documented_right_is_needed)
{
    for (size_t i = 0; i < RIGHTS; i++) {
        /* without +time the client's clock does */
        bool goes = strcmp(rights[i], "+time") == 0;

        grant(i);
        if ((try_all(goes ? 60000 : 400) == NULL) != goes)
            fail_msg("%s is not needed", rights[i]);
    }
}

/* ---- rights of the other nouns ---- */

/* The further rights of a user of a noun (NULL: none), and commands that need them all. */
static const struct least {
    const char *keys[6], *more, *lines[24];
    enum usher_noun noun;
} leasts[] = {
    { { "~t:{*}:number", "~t:{*}:number:index", "~t:{*}:number:held" },
      NULL,
      { "number set q order=random sticky=60000", "number add q 1 group=north", "number add q 2",
        "number reg q 1", "number call q owner=ann sticky=peer lease=60000 req=r1",
        "number call q owner=ann", "number renew q 1 token=5 lease=90000", "number show q 1",
        "number list q", "number list q owner=ann", "number stats q", "number hangup q 1 rest=5000",
        "number lift q 1", "number unreg q 1", "number free q all=1", "number sweep q",
        "number del q 1" },
      USHER_NUMBER },
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
    (void)snprintf(url, sizeof url,
                   "redis://desk:secret@127.0.0.1:%d?prefix=t:&timeout=20000&clock=given",
                   redis_server_port(server));
    if (usher_open(url, NULL, &e) != USHER_OK)
        fail_msg("%s", usher_message());
    return e;
}

/* The parser's further words: none here. */
const struct cli_program usher__cli_programs[] = { { .word = NULL } };
const struct cli_verb usher__cli_verbs[] = { { .word = NULL } };

/* As the program does; @message says what was answered, *@ret_writes what the verb may do. */
static enum usher_status say_it(struct usher_engine *e, const char *line, char message[192],
                                bool *ret_writes)
{
    struct usher_operation c;
    struct usher_result reply;
    struct words w = { 0 };
    unsigned char *block = NULL;
    char wrong[CLI_MESSAGE_MAX];
    enum usher_status status;

    if (usher__words_split(&w, line, strlen(line)) != NULL ||
        !usher__parse_command(w.word, w.n, &c, &block, wrong))
        fail_msg("%s: %s", line, wrong);
    *ret_writes = (usher_operation_flags(&c) & USHER_OPERATION_WRITES) != 0;
    (void)usher_operate(e, &c, &reply, 1);
    status = reply.status;
    memcpy(message, reply.message, sizeof reply.message);
    usher_result_done(&reply);
    free(block);
    usher__words_done(&w);
    return status;
}

static enum usher_status say(struct usher_engine *e, const char *line, char message[192])
{
    bool writes;

    return say_it(e, line, message, &writes);
}

TEST(the_documented_rights_of_each_noun_are_enough)
{
    for (const struct least *l = leasts; l < leasts + LEASTS; l++) {
        struct usher_engine *e = open_least(l, true, NULL);
        struct usher_result reply;
        char message[192], digest[33];

        for (size_t i = 0; l->lines[i] != NULL; i++) {
            enum usher_status status = say(e, l->lines[i], message);

            if (!USHER_IS_DONE(status) && status != USHER_EMPTY)
                fail_msg("%s: %s %s", l->lines[i], usher_status_word(status), message);
        }
        if (l->noun == USHER_ROOM) {
            assert_int_equal(ask_room_open(e, "hall", NULL), USHER_OK);
            assert_int_equal(usher__room_list(e, NULL, 0, 0, -1, &reply), USHER_OK);
            usher_result_done(&reply);
            assert_int_equal(usher__room_patrol(e, "w", 0, 0, 0, -1, &reply), USHER_OK);
            usher_result_done(&reply);
            assert_int_equal(ask_room_close(e, "hall"), USHER_OK);
        }
        audit(e);
        assert_true(usher_digest(e, l->noun, "q", digest) <= USHER_MISSING);
        usher_close(e);
    }
}

TEST(each_noun_needs_its_own_right)
{
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

/* At once, though there is time; and again when it may: by either right. */
TEST(missing_right_to_load_scripts_is_reported_at_once)
{
    for (const struct least *l = leasts; l < leasts + LEASTS; l++) {
        struct usher_engine *e = open_least(l, true, "+script|load");
        struct timespec begin, end;
        char message[192];

        assert_true(redis_do_ok(server, "SCRIPT", "FLUSH", NULL));
        (void)clock_gettime(CLOCK_MONOTONIC, &begin);
        assert_int_equal(say(e, l->lines[0], message), USHER_UNAVAILABLE);
        (void)clock_gettime(CLOCK_MONOTONIC, &end);
        if (strstr(message, "NOPERM") == NULL || strstr(message, "eval") == NULL)
            fail_msg("%s", message);
        assert_true(end.tv_sec - begin.tv_sec < 10);
        assert_true(redis_do_ok(server, "ACL", "SETUSER", "desk",
                                (l - leasts) % 2 == 0 ? "+script|load" : "+eval", NULL));
        assert_int_equal(say(e, l->lines[0], message), USHER_OK);
        usher_close(e);
    }
}

/* ---- rights that are missing ---- */

static struct usher_engine *open_admin(void)
{
    struct usher_engine *e;
    char url[128];

    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d?prefix=t:&timeout=20000&clock=given",
                   redis_server_port(server));
    if (usher_open(url, NULL, &e) != USHER_OK)
        fail_msg("%s", usher_message());
    return e;
}

/* All that is stored under keys like @keys, as 40 digits. */
static void stored(const char *keys, char digest[41])
{
    static const char script[] =
        "local all = redis.call('KEYS', ARGV[1])\n"
        "table.sort(all)\n"
        "for i, key in ipairs(all) do\n"
        "    local of = {}\n"
        "    if redis.call('TYPE', key).ok == 'hash' then\n"
        "        local pairs = redis.call('HGETALL', key)\n"
        "        for k = 1, #pairs, 2 do of[#of + 1] = pairs[k] .. '=' .. pairs[k + 1] end\n"
        "        table.sort(of)\n"
        "    else\n"
        "        of = redis.call('ZRANGE', key, '0', '-1', 'WITHSCORES')\n"
        "    end\n"
        "    all[i] = key .. '=' .. table.concat(of, ' ')\n"
        "end\n"
        "return redis.sha1hex(table.concat(all, ' '))";
    redisReply *reply = redis_do(server, "EVAL", script, "0", keys, NULL);

    assert_non_null(reply);
    if (reply->type != REDIS_REPLY_STRING)
        fail_msg("%s", reply->str);
    (void)snprintf(digest, 41, "%s", reply->str);
    freeReplyObject(reply);
}

/* "+zadd" as it is named: by the script, or by the server where it is missing at the door. */
static void named(const char *right, char name[64])
{
    bool at_door = strcmp(right, "+evalsha") == 0 || strcmp(right, "+script|load") == 0;
    const char *before = at_door ? "the '" : "the user lacks the right to ";
    size_t n = strlen(before);

    /* the text of the script is sent in another way, which is refused as well */
    if (strcmp(right, "+script|load") == 0)
        right = "+eval";
    (void)snprintf(name, 64, "%s%s", before, right + 1);
    for (; !at_door && name[n] != '\0'; n++)
        if (name[n] >= 'a' && name[n] <= 'z')
            name[n] = (char)(name[n] - 'a' + 'A');
}

/* Does only what writes need it? */
static bool is_to_write(const char *right)
{
    static const char *const words[] = { "+hset", "+hdel", "+zadd", "+zrem", "+del" };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(right, words[i]) == 0)
            return true;
    return false;
}

/*
 * Run each line on @e, whose user lacks the right: the answer names @name, and nothing is written.
 * Then run it as a user with the right, so that each line finds what it needs.  Lines that need no
 * @right pass.
 */
static void refused_by_name(const struct least *l, struct usher_engine *e,
                            struct usher_engine *admin, const char *right, const char *name,
                            bool some)
{
    unsigned refused = 0;

    for (size_t i = 0; l->lines[i] != NULL; i++) {
        /* a failed open of a room may leave a directory entry, which then is ignored */
        const char *keys = l->noun == USHER_ROOM && right[0] == '~' ? "t:{q}:*" : "*";
        char message[192], before[41], after[41];
        enum usher_status status;
        bool writes;

        stored(keys, before);
        status = say_it(e, l->lines[i], message, &writes);
        if (status == USHER_UNAVAILABLE) {
            refused++;
            if (strstr(message, "NOPERM ") == NULL || strstr(message, name) == NULL)
                fail_msg("%s without %s: %s", l->lines[i], right, message);
        } else if (status == USHER_UNKNOWN || (!some && (writes || !is_to_write(right)))) {
            fail_msg("%s without %s: %s %s", l->lines[i], right, usher_status_word(status),
                     message);
        }
        stored(keys, after);
        if ((status == USHER_UNAVAILABLE || !writes) && strcmp(before, after) != 0)
            fail_msg("%s without %s: it is written", l->lines[i], right);
        status = say(admin, l->lines[i], message);
        if (!USHER_IS_DONE(status) && status != USHER_EMPTY)
            fail_msg("%s: %s %s", l->lines[i], usher_status_word(status), message);
    }
    assert_true(refused > 0);
    audit(admin);
}

TEST(a_right_that_is_missing_is_named_and_nothing_is_written)
{
    struct usher_engine *admin = open_admin();

    for (const struct least *l = leasts; l < leasts + LEASTS; l++) {
        for (size_t i = 0; i <= RIGHTS; i++) {
            const char *right = i < RIGHTS ? rights[i] : l->more;
            struct usher_engine *e;
            uint64_t faults;
            char name[64];

            /* without TIME the client's clock does */
            if (right == NULL || strcmp(right, "+time") == 0)
                continue;
            e = open_least(l, i < RIGHTS, right);
            named(right, name);
            if (strcmp(right, "+scan") == 0 || strcmp(right, "+hscan") == 0) {
                char message[192];

                /* what no command needs: the audit says so */
                assert_int_equal(say(e, l->lines[0], message), USHER_OK);
                assert_int_equal(check_faults(e, NULL, NULL, &faults), USHER_UNAVAILABLE);
                (void)snprintf(name, sizeof name, "'%s'", right + 1);
                if (strstr(usher_message(), name) == NULL)
                    fail_msg("%s: %s", right, usher_message());
            } else {
                /* what only grants need is asked for by them */
                refused_by_name(l, e, admin, right, name, strcmp(right, "+info") == 0);
            }
            usher_close(e);
        }
    }
    usher_close(admin);
}

TEST(a_key_that_is_missing_is_named_and_nothing_is_written)
{
    struct usher_engine *admin = open_admin();

    for (const struct least *l = leasts; l < leasts + LEASTS; l++) {
        for (size_t without = 0; without < 6 && l->keys[without] != NULL; without++) {
            struct usher_engine *e = open_least(l, true, NULL);

            assert_true(redis_do_ok(server, "ACL", "SETUSER", "desk", "resetkeys", NULL));
            for (size_t i = 0; i < 6 && l->keys[i] != NULL; i++)
                if (i != without)
                    assert_true(redis_do_ok(server, "ACL", "SETUSER", "desk", l->keys[i], NULL));
            refused_by_name(l, e, admin, l->keys[without], l->keys[without],
                            l->noun == USHER_ROOM /* the index is not for all of them */);
            usher_close(e);
        }
    }
    usher_close(admin);
}

/* The user desk, for numbers, but for rights to write. */
static struct usher_engine *open_reader(void)
{
    struct usher_engine *e = open_least(&leasts[0], true, NULL);

    assert_true(
        redis_do_ok(server, "ACL", "SETUSER", "desk", "-hset", "-hdel", "-zadd", "-zrem", NULL));
    return e;
}

TEST(a_user_with_read_rights_can_read)
{
    static const char *const world[] = { "number add q 1", "number reg q 1",
                                         "number call q owner=ann lease=60000" };
    struct usher_engine *e = open_reader(), *admin = open_admin();
    char message[192], before[41], after[41];

    for (size_t i = 0; i < sizeof world / sizeof *world; i++)
        assert_int_equal(say(admin, world[i], message), USHER_OK);
    stored("*", before);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(say(e, "number show q 1", message), USHER_OK);
        assert_int_equal(say(e, "number stats q", message), USHER_OK);
        assert_int_equal(say(e, "number list q owner=ann", message), USHER_OK);
        assert_int_equal(say(e, "number sweep q", message), USHER_UNAVAILABLE);
        assert_non_null(strstr(message, "lacks the right to HDEL"));
    }
    stored("*", after);
    assert_string_equal(before, after);
    usher_close(admin);
    usher_close(e);
}

TEST(reads_are_answered_in_a_batch_with_refused_writes)
{
    struct usher_engine *e = open_reader(), *admin = open_admin();
    struct usher_operation c[3];
    struct usher_result reply[3];
    char message[192];

    assert_int_equal(say(admin, "number add q 1", message), USHER_OK);
    memset(c, 0, sizeof c);
    for (size_t i = 0; i < 3; i++)
        c[i].scope = (struct usher_text){ "q", 1 };
    c[0].verb = c[2].verb = USHER_NUMBER_STATS;
    c[1].verb = USHER_NUMBER_ADD;
    c[1].arg.number.number = (struct usher_text){ "2", 1 };
    (void)usher_operate(e, c, reply, 3);
    assert_int_equal(reply[0].status, USHER_OK);
    assert_int_equal(reply[1].status, USHER_UNAVAILABLE);
    assert_non_null(strstr(reply[1].message, "lacks the right to HDEL"));
    assert_int_equal(reply[2].status, USHER_OK);
    assert_int_equal(reply[2].of.number.of.stats.total, 1);
    for (size_t i = 0; i < 3; i++)
        usher_result_done(&reply[i]);
    usher_close(admin);
    usher_close(e);
}

TEST(a_right_that_is_given_is_noticed_at_once)
{
    struct usher_engine *e = open_reader();
    char message[192];

    assert_int_equal(say(e, "number add q 1", message), USHER_UNAVAILABLE);
    assert_true(redis_do_ok(server, "ACL", "SETUSER", "desk", "+hset", "+hdel", "+zadd", NULL));
    assert_int_equal(say(e, "number add q 1", message), USHER_UNAVAILABLE);
    assert_non_null(strstr(message, "lacks the right to ZREM"));
    assert_true(redis_do_ok(server, "ACL", "SETUSER", "desk", "+zrem", NULL));
    assert_int_equal(say(e, "number add q 1", message), USHER_OK);
    usher_close(e);
}

/* How many words the last EVALSHA had, and how many there were since the log was reset. */
static size_t words_of_last_call(size_t *ret_calls)
{
    redisReply *log = redis_do(server, "SLOWLOG", "GET", "-1", NULL);
    size_t words = 0;

    *ret_calls = 0;
    assert_non_null(log);
    for (size_t i = log->elements; i-- > 0;) {
        const redisReply *call = log->element[i]->element[3];

        if (strcmp(call->element[0]->str, "EVALSHA") != 0)
            continue;
        ++*ret_calls;
        words = call->elements;
    }
    freeReplyObject(log);
    return words;
}

TEST(rights_are_checked_once_without_a_further_call)
{
    struct usher_engine *e = open_least(&leasts[0], true, NULL);
    char message[192], line[32];
    size_t calls;

    assert_true(redis_do_ok(server, "CONFIG", "SET", "slowlog-log-slower-than", "0", NULL));
    assert_true(redis_do_ok(server, "CONFIG", "SET", "slowlog-max-len", "1000", NULL));
    assert_true(redis_do_ok(server, "SLOWLOG", "RESET", NULL));
    for (unsigned i = 1; i <= 3; i++) {
        (void)snprintf(line, sizeof line, "number add q %u", i);
        assert_int_equal(say(e, line, message), USHER_OK);
        /* EVALSHA sha 3 key key key commands */
        assert_int_equal(words_of_last_call(&calls), i == 1 ? 8 : 7);
        assert_int_equal(calls, i);
    }
    /* another connection is asked for itself */
    assert_true(redis_do_ok(server, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes", NULL));
    assert_true(redis_do_ok(server, "SLOWLOG", "RESET", NULL));
    assert_int_equal(say(e, "number add q 1", message), USHER_SAME);
    assert_int_equal(words_of_last_call(&calls), 8);
    assert_int_equal(say(e, "number add q 1", message), USHER_SAME);
    assert_int_equal(words_of_last_call(&calls), 7);
    assert_int_equal(calls, 2);
    assert_true(redis_do_ok(server, "CONFIG", "SET", "slowlog-log-slower-than", "-1", NULL));
    usher_close(e);
}

#define DECLARED "t:{q}:number t:{q}:number:index t:{q}:number:held"

TEST(a_direct_call_needs_the_same_rights)
{
    char *script = text_of(false);
    struct usher_engine *e = open_reader();
    redisReply *sha = redis_do(server, "SCRIPT", "LOAD", script, NULL), *reply;
    redisContext *desk = redis_server_connect(server);
    char before[41], after[41];

    assert_non_null(sha);
    assert_non_null(desk);
    freeReplyObject(redisCommand(desk, "AUTH desk secret"));
    stored("*", before);
    /* the declared keys are those that the library needs, the one key is another */
    reply = redisCommand(desk, "EVALSHA %s 3 " DECLARED " add 1", sha->str);
    assert_non_null(reply);
    assert_int_equal(reply->type, REDIS_REPLY_ERROR);
    assert_string_equal(reply->str, "NOPERM the user lacks the right to HDEL on t:{q}:number");
    freeReplyObject(reply);
    reply = redisCommand(desk, "EVALSHA %s 3 " DECLARED " stats", sha->str);
    assert_non_null(reply);
    assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
    freeReplyObject(reply);
    reply = redisCommand(desk, "EVALSHA %s 1 t:{q} stats", sha->str);
    assert_non_null(reply);
    assert_int_equal(reply->type, REDIS_REPLY_ERROR);
    assert_non_null(strstr(reply->str, "NOPERM"));
    freeReplyObject(reply);
    assert_true(redis_do_ok(server, "ACL", "SETUSER", "desk", "~t:{*}", "+cluster|info", NULL));
    reply = redisCommand(desk, "EVALSHA %s 1 t:{q} add 1", sha->str);
    assert_non_null(reply);
    assert_int_equal(reply->type, REDIS_REPLY_ERROR);
    assert_string_equal(reply->str, "NOPERM the user lacks the right to HDEL on t:{q}:number");
    freeReplyObject(reply);
    stored("*", after);
    assert_string_equal(before, after);
    reply = redisCommand(desk, "EVALSHA %s 1 t:{q} stats", sha->str);
    assert_non_null(reply);
    assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
    freeReplyObject(reply);
    redisFree(desk);
    freeReplyObject(sha);
    free(script);
    usher_close(e);
}

/* The script of @noun, in which @with stands for redis.acl_check_cmd.  The caller frees it. */
static char *with_check(const char *noun, const char *with)
{
    static const char called[] = "redis.acl_check_cmd";
    size_t length, size = strlen(with);
    char *script, *all, *to, *from;
    unsigned n = 0;

    assert_int_equal(usher_lua(noun, NULL, 0, &length), USHER_OK);
    script = malloc(length + 1);
    all = malloc(length + 8 * size + 1);
    assert_true(script != NULL && all != NULL);
    assert_int_equal(usher_lua(noun, script, length + 1, &length), USHER_OK);
    from = script;
    to = all;
    for (char *at; (at = strstr(from, called)) != NULL; from = at + sizeof called - 1) {
        assert_true(n++ < 8);
        memcpy(to, from, (size_t)(at - from));
        to += at - from;
        memcpy(to, with, size);
        to += size;
    }
    assert_true(n > 0);
    memcpy(to, from, strlen(from) + 1);
    free(script);
    return all;
}

/* A direct call of @noun's script, which checks the rights to read and to write, with @check. */
static void assert_checked_by(const char *noun, const char *check, const char *const *words)
{
    char *script = with_check(noun, check), keys[3][40];
    redisReply *reply;

    (void)snprintf(keys[0], sizeof keys[0], "t:{q}:%s", noun);
    (void)snprintf(keys[1], sizeof keys[1], "t:{q}:%s:index", noun);
    (void)snprintf(keys[2], sizeof keys[2], "t:{q}:%s:held", noun);
    assert_true(redis_do_ok(server, "FLUSHALL", NULL));
    reply = redis_do(server, "EVAL", script, "3", keys[0], keys[1], keys[2], words[0], words[1],
                     words[2], NULL);
    assert_non_null(reply);
    if (reply->type != REDIS_REPLY_ARRAY)
        fail_msg("%s %s: %s", noun, words[0], reply->str);
    if (strcmp(reply->element[1]->str, "ok") != 0)
        fail_msg("%s %s: %s", noun, words[0], reply->element[1]->str);
    freeReplyObject(reply);
    free(script);
}

static const struct first {
    const char *noun, *words[3]; /* what makes a scope */
} firsts[] = {
    { "number", { "add", "1" } }, { "queue", { "set", "limit", "10" } },  { "room", { "open" } },
    { "rooms", { "put", "1" } },  { "serial", { "rule", "width", "4" } }, { "id", { "create" } }
};
#define FIRSTS (sizeof firsts / sizeof *firsts)

/* As a server since the fix of March 2026 does: a sample with a wrong number of arguments is an
 * error. */
TEST(rights_are_checked_with_whole_sample_calls)
{
    static const char strict[] = "(function(...)"
                                 " local info = redis.call('COMMAND', 'INFO', (...))[1]"
                                 " local n, arity = select('#', ...), info[2]"
                                 " if arity >= 0 and n ~= arity or n < -arity then"
                                 " redis.call('SET', 't:wrong', (...))"
                                 " error('ERR Wrong number of args for redis.acl_check_cmd()') end"
                                 " redis.call('SET', 't:asked', (...))"
                                 " return redis.acl_check_cmd(...) end)";

    for (const struct first *f = firsts; f < firsts + FIRSTS; f++) {
        redisReply *wrong;

        assert_checked_by(f->noun, strict, f->words);
        wrong = redis_do(server, "GET", "t:wrong", NULL);
        assert_non_null(wrong);
        if (wrong->type != REDIS_REPLY_NIL)
            fail_msg("%s: %s is asked with a wrong number of arguments", f->noun, wrong->str);
        freeReplyObject(wrong);
        wrong = redis_do(server, "GET", "t:asked", NULL);
        assert_non_null(wrong);
        assert_int_equal(wrong->type, REDIS_REPLY_STRING);
        freeReplyObject(wrong);
    }
}

TEST(failed_check_of_a_right_refuses_nothing)
{
    for (const struct first *f = firsts; f < firsts + FIRSTS; f++)
        assert_checked_by(f->noun, "(function() error('ERR no such question') end)", f->words);
}

/* After such an error a node of Valkey 9.1 fails every script until it is restarted. */
TEST(no_script_names_keys_of_two_slots)
{
    for (const struct first *f = firsts; f < firsts + FIRSTS; f++) {
        char *script = with_check(f->noun, "redis.acl_check_cmd");

        for (const char *at = script; (at = strchr(at, '{')) != NULL; at++) {
            /* a tag that stands in the text itself: only the example of a message */
            size_t n = strspn(at + 1, "abcdefghijklmnopqrstuvwxyz0123456789");

            if (n > 0 && at[1 + n] == '}' && at[2 + n] != '%' && at > script && at[-1] == '\'' &&
                strncmp(at, "{desk}", 6) != 0)
                fail_msg("%s: the script names a key %.12s", f->noun, at);
        }
        free(script);
    }
}

/* Redis 6.2: as if there were none. */
TEST(script_works_without_acl_check_cmd)
{
    char *script = text_of(false);
    redisReply *reply;
    unsigned n = 0;

    assert_true(redis_do_ok(server, "FLUSHALL", NULL));
    for (char *at = script; (at = strstr(at, ".acl_check_cmd")) != NULL; n++)
        memcpy(at, ".not_check_cmd", 14);
    assert_true(n > 0);
    reply = redis_do(server, "EVAL", script, "1", "t:{q}", "add", "1", NULL);
    assert_non_null(reply);
    if (reply->type != REDIS_REPLY_ARRAY)
        fail_msg("%s", reply->str);
    assert_string_equal(reply->element[1]->str, "ok");
    freeReplyObject(reply);
    free(script);
}

/* A script asks for each command that it calls, but for those that it can do without, and for
 * PERSIST, which is the first write of the one command that needs it. */
TEST(rights_for_every_command_of_scripts_are_checked)
{
    static const char *const nouns[] = { "number", "queue", "room", "rooms", "serial", "id" };
    static const char begin[] = "call('";
    size_t length;

    for (size_t i = 0; i < sizeof nouns / sizeof *nouns; i++) {
        const char *lists, *end, *asked;
        char *script;

        assert_int_equal(usher_lua(nouns[i], NULL, 0, &length), USHER_OK);
        script = malloc(length + 1);
        assert_non_null(script);
        assert_int_equal(usher_lua(nouns[i], script, length + 1, &length), USHER_OK);
        lists = strstr(script, "local to_read = ");
        assert_non_null(lists);
        end = strstr(lists, "local why = ");
        assert_non_null(end);
        for (const char *at = script; (at = strstr(at, begin)) != NULL;) {
            char word[24] = "";

            at += sizeof begin - 1;
            (void)snprintf(word, sizeof word, "%.*s", (int)strcspn(at, "'"), at);
            asked = strstr(lists, word);
            if (strcmp(word, "INFO") != 0 && strcmp(word, "CLUSTER") != 0 &&
                strcmp(word, "TIME") != 0 && strcmp(word, "PERSIST") != 0 &&
                (asked == NULL || asked > end))
                fail_msg("%s: %s is called, but not asked for", nouns[i], word);
        }
        free(script);
    }
}

TEST(a_user_cannot_reach_other_keys)
{
    char url[128];
    struct usher_engine *e;

    grant(RIGHTS);
    (void)snprintf(url, sizeof url, "redis://desk:secret@127.0.0.1:%d?prefix=u:&timeout=400",
                   redis_server_port(server));
    assert_true(redis_do_ok(server, "FLUSHALL", NULL));
    if (usher_open(url, NULL, &e) == USHER_OK) {
        assert_int_not_equal(ask_number_add(e, "p", "1", NULL), USHER_OK);
        usher_close(e);
    }
}

/* ---- a full memory ---- */

/* Each line with the status that it has when the memory is full; before that the lines of `begin`
 * are said. */
static const struct full {
    const char *begin[8];
    struct {
        const char *line;
        enum usher_status status;
    } then[12];
} fulls[] = {
    { { "number add q 1", "number add q 2", "number add q 3", "number reg q 1", "number reg q 2",
        "number call q owner=ann lease=60000", "number call q owner=bob" },
      { { "number add q 4", USHER_UNAVAILABLE },
        { "number renew q 1 token=6", USHER_OK },
        { "number renew q 1 token=6 lease=90000", USHER_OK },
        { "number unreg q 2", USHER_OK },
        { "number hangup q 2 token=7", USHER_OK },
        { "number hangup q 1 token=6", USHER_OK },
        { "number del q 3", USHER_OK } } },
    { { "queue login q ann capacity=1", "queue apply q u1", "queue apply q u2", "queue apply q u3",
        "queue apply q u4" },
      { { "queue apply q u5", USHER_UNAVAILABLE },
        { "queue alive q agent=ann", USHER_OK },
        { "queue alive q user=u2", USHER_OK },
        { "queue where q u3", USHER_OK },
        { "queue finish q 1.1", USHER_OK },
        { "queue leave q u4", USHER_OK },
        { "queue logout q ann", USHER_OK },
        { "queue leave q u2", USHER_OK } } },
    { { "room open q ttl=60000", "room join q ann", "room join q bob", "room share q ann board" },
      { { "room join q eve", USHER_UNAVAILABLE },
        { "room alive q ann", USHER_OK },
        { "room unshare q board", USHER_OK },
        { "room leave q ann", USHER_OK },
        { "room close q", USHER_OK } } },
    { { "serial rule q mode=gapfree", "serial reserve q", "serial reserve q", "serial reserve q" },
      { { "serial reserve q", USHER_UNAVAILABLE },
        { "serial confirm q 1 token=2", USHER_OK },
        { "serial return q 2 token=3", USHER_OK },
        { "serial void q 3 token=4", USHER_OK } } },
    { { "serial rule q", "serial take q" },
      { { "serial take q", USHER_UNAVAILABLE }, { "serial delete q", USHER_OK } } },
    { { "id create q step=10", "id next q n=3" },
      { { "id next q", USHER_UNAVAILABLE },
        { "id return q 1 3 token=2", USHER_OK },
        { "id delete q", USHER_OK } } },
};
#define FULLS (sizeof fulls / sizeof *fulls)

static void fill_memory(bool full)
{
    assert_true(redis_do_ok(server, "CONFIG", "SET", "maxmemory", full ? "100000" : "0", NULL));
}

static struct usher_engine *open_with(const char *options)
{
    struct usher_engine *e;
    char url[128];

    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d?prefix=t:&clock=given&%s",
                   redis_server_port(server), options);
    if (usher_open(url, NULL, &e) != USHER_OK)
        fail_msg("%s", usher_message());
    return e;
}

/* They keep or give back what they hold; what would take more is refused. */
TEST(holders_continue_when_the_memory_is_full)
{
    /* a command that is refused is tried until its deadline */
    struct usher_engine *e = open_with("timeout=500"), *check = open_with("timeout=60000");

    for (const struct full *f = fulls; f < fulls + FULLS; f++) {
        char message[192];

        assert_true(redis_do_ok(server, "FLUSHALL", NULL));
        for (size_t i = 0; f->begin[i] != NULL; i++)
            assert_true(USHER_IS_DONE(say(check, f->begin[i], message)) ||
                        strncmp(f->begin[i], "queue apply", 11) == 0);
        fill_memory(true);
        for (size_t i = 0; f->then[i].line != NULL; i++) {
            bool refused = f->then[i].status == USHER_UNAVAILABLE;
            enum usher_status status;

            /* a deadline may come before the server's words, or while a try is under way */
            do
                status = say(refused ? e : check, f->then[i].line, message);
            while (refused && (status == USHER_UNKNOWN ||
                               (status == USHER_UNAVAILABLE && strstr(message, "OOM") == NULL)));
            if (status != f->then[i].status &&
                !(USHER_IS_DONE(status) && f->then[i].status == USHER_OK))
                fail_msg("%s: %s %s", f->then[i].line, usher_status_word(status), message);
        }
        fill_memory(false);
        audit(check);
    }
    usher_close(check);
    usher_close(e);
}

/* A caller and holders in one call of the script, with a full memory.  The caller is refused until
 * the deadline.  False: a holder was refused, too, or the deadline came before the first try. */
static bool holders_go_on_beside_a_caller(unsigned timeout_ms)
{
    static const char *const lines[] = { "number add q 4", "number call q owner=eve",
                                         "number hangup q 2 token=7", "number renew q 1 token=6" };
    struct usher_engine *e, *check = open_with("timeout=60000");
    const struct full *f = fulls;
    struct usher_operation c[4];
    struct usher_result r[4];
    struct words w[4];
    char wrong[CLI_MESSAGE_MAX], message[192], timeout[32];
    bool go_on;

    (void)snprintf(timeout, sizeof timeout, "timeout=%u", timeout_ms);
    e = open_with(timeout);
    assert_true(redis_do_ok(server, "FLUSHALL", NULL));
    for (size_t i = 0; f->begin[i] != NULL; i++)
        assert_int_equal(say(check, f->begin[i], message), USHER_OK);
    memset(w, 0, sizeof w);
    for (size_t i = 0; i < 4; i++) {
        unsigned char *block = NULL;

        assert_null(usher__words_split(&w[i], lines[i], strlen(lines[i])));
        assert_true(usher__parse_command(w[i].word, w[i].n, &c[i], &block, wrong));
        assert_null(block);
    }
    fill_memory(true);
    (void)usher_operate(e, c, r, 4);
    fill_memory(false);
    assert_true(r[0].status == USHER_UNAVAILABLE || r[0].status == USHER_UNKNOWN);
    go_on = USHER_IS_DONE(r[2].status) && USHER_IS_DONE(r[3].status);
    for (size_t i = 0; i < 4; i++) {
        usher_result_done(&r[i]);
        usher__words_done(&w[i]);
    }
    audit(check);
    usher_close(check);
    usher_close(e);
    return go_on;
}

TEST(a_full_memory_refuses_no_holder_beside_a_caller)
{
    assert_true(holders_go_on_beside_a_caller(500) || holders_go_on_beside_a_caller(5000) ||
                holders_go_on_beside_a_caller(50000));
}

/* How often the server was asked for @command since its statistics were reset. */
static long calls_of(const char *command)
{
    redisReply *info = redis_do(server, "INFO", "commandstats", NULL);
    char words[40];
    const char *at;
    long n = 0;

    assert_non_null(info);
    assert_int_equal(info->type, REDIS_REPLY_STRING);
    (void)snprintf(words, sizeof words, "cmdstat_%s:calls=", command);
    at = strstr(info->str, words);
    if (at != NULL)
        n = strtol(at + strlen(words), NULL, 10);
    freeReplyObject(info);
    return n;
}

static void count_scope(void *payload, const struct usher_scope_info *info)
{
    (void)info;
    ++*(unsigned *)payload;
}

TEST(scopes_of_all_nouns_are_found_by_one_scan)
{
    struct usher_engine *e = open_admin();
    char message[192], line[40];
    unsigned n = 0;

    assert_true(redis_do_ok(server, "FLUSHALL", NULL));
    for (int i = 0; i < 100; i++) {
        (void)snprintf(line, sizeof line, "number add q%d 1", i);
        assert_int_equal(say(e, line, message), USHER_OK);
        (void)snprintf(line, sizeof line, "id create q%d", i);
        assert_int_equal(say(e, line, message), USHER_OK);
    }
    assert_true(redis_do_ok(server, "CONFIG", "RESETSTAT", NULL));
    assert_int_equal(usher_scopes(e, NULL, count_scope, &n, NULL), USHER_OK);
    assert_int_equal(n, 100); /* a page */
    assert_in_range(calls_of("scan"), 1, 3);
    assert_int_equal(calls_of("hmget"), 100);
    usher_close(e);
}

/* The names that a list has shown: name i is there if seen[i] > 0. */
#define SEEN 40
struct seen {
    unsigned seen[SEEN], n;
};

static void see_scope(void *payload, const struct usher_scope_info *info)
{
    struct seen *s = payload;
    char name[32]; /* the text has no NUL */
    unsigned i;

    s->n++;
    (void)snprintf(name, sizeof name, "%.*s", (int)info->name.size, info->name.data);
    if (sscanf(name, "stay%u", &i) == 1 && i < SEEN)
        s->seen[i]++;
}

static void all_seen(const struct seen *s, const char *when)
{
    for (unsigned i = 0; i < SEEN; i++)
        if (s->seen[i] == 0)
            fail_msg("%s: stay%u is missing", when, i);
}

static void next_page(struct usher_engine *e, int64_t max, struct seen *s,
                      char next[USHER_CURSOR_MAX + 1])
{
    char after[USHER_CURSOR_MAX + 1];

    memcpy(after, next, sizeof after);
    if (usher_scopes(e, LIST_OF(.max = max, .after = after[0] != '\0' ? after : NULL), see_scope, s,
                     next) != USHER_OK)
        fail_msg("%s", usher_message());
}

/* Add (or remove) @n keys, so that the server makes its hash table larger (or smaller). */
static void fill_keys(bool add, int n)
{
    static const char *const scripts[] = {
        "for i = 1, ARGV[1] do redis.call('DEL', 't:{fill' .. i .. '}:number') end",
        "for i = 1, ARGV[1] do redis.call('HSET', 't:{fill' .. i .. '}:number', 'x', 1) end"
    };
    char number[16];

    (void)snprintf(number, sizeof number, "%d", n);
    freeReplyObject(eval(scripts[add], number));
}

static void make_stays(struct usher_engine *e)
{
    char message[192], line[40];

    assert_true(redis_do_ok(server, "FLUSHALL", NULL));
    for (int i = 0; i < SEEN; i++) {
        (void)snprintf(line, sizeof line, "number add stay%d 1", i);
        assert_int_equal(say(e, line, message), USHER_OK);
    }
}

/* A table of keys that grows and shrinks between the pages, of which most end within a reply. */
TEST(pages_of_scopes_are_right_when_a_table_is_resized)
{
    struct usher_engine *e = open_admin();

    for (unsigned round = 0; round < 24; round++) {
        char next[USHER_CURSOR_MAX + 1] = "";
        struct seen s = { .n = 0 };
        unsigned pages = 0;

        make_stays(e);
        if (round % 2 != 0)
            fill_keys(true, 3000);
        do {
            next_page(e, 1 + round % 5, &s, next);
            if (pages == round / 2 + 1)
                fill_keys(round % 2 == 0, 3000);
            assert_true(++pages < 5000);
        } while (next[0] != '\0');
        all_seen(&s, round % 2 != 0 ? "smaller" : "larger");
    }
    assert_true(redis_do_ok(server, "FLUSHALL", NULL));
    usher_close(e);
}

/* The hash tables of another process have another order: a cursor of the former one is of no use.
 */
TEST(pages_of_scopes_begin_again_after_a_restart)
{
    struct usher_engine *e = open_admin();

    for (unsigned round = 0; round < 4; round++) {
        char next[USHER_CURSOR_MAX + 1] = "";
        struct seen s = { .n = 0 };

        make_stays(e);
        for (unsigned pages = 0; pages < 4 + round; pages++)
            next_page(e, 5, &s, next);
        assert_true(next[0] != '\0' && s.n < SEEN);
        assert_true(redis_do_ok(server, "SAVE", NULL));
        assert_true(redis_server_restart(server));
        do
            next_page(e, 5, &s, next);
        while (next[0] != '\0');
        all_seen(&s, "restarted");
    }
    usher_close(e);
}

/* A header that is damaged is reported, and the other scopes are listed. */
TEST(a_scope_that_cannot_be_read_does_not_end_a_page)
{
    struct usher_engine *e = open_admin();
    struct seen s = { .n = 0 };
    char next[USHER_CURSOR_MAX + 1];

    make_stays(e);
    assert_true(redis_do_ok(server, "HSET", "t:{broken}:number", "head", "xx", NULL));
    assert_true(redis_do_ok(server, "HSET", "t:{none}:number", "x", "xx", NULL));
    assert_int_equal(usher_scopes(e, NULL, see_scope, &s, next), USHER_UNAVAILABLE);
    assert_non_null(strstr(usher_message(), "number broken: its header cannot be read"));
    assert_int_equal(s.n, SEEN);
    assert_string_equal(next, "");
    assert_true(redis_do_ok(server, "FLUSHALL", NULL));
    usher_close(e);
}

/* Return how often the server has read from its clients, about: one that sends much in one write is
 * read in pieces of 16 KiB. */
static long reads_of_server(void)
{
    redisReply *info = redis_do(server, "INFO", "stats", NULL);
    const char *at = info != NULL ? strstr(info->str, "total_reads_processed:") : NULL;
    long n = at != NULL ? strtol(at + strlen("total_reads_processed:"), NULL, 10) : 0;

    freeReplyObject(info);
    return n;
}

static int64_t cpu_us(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/* Each scope is read by five commands, and many of them in one round trip. */
static void check_many(struct usher_engine *e, unsigned n)
{
    struct usher_check_result found;
    int64_t begin_us;
    long reads;

    assert_true(redis_do_ok(server, "CONFIG", "RESETSTAT", NULL));
    reads = reads_of_server();
    begin_us = cpu_us();
    if (usher_check(e, NULL, NULL, NULL, &found) != USHER_OK)
        fail_msg("%s", usher_message());
    print_message("check: %.1f us of the client for a scope, %ld reads of the server\n",
                  (double)(cpu_us() - begin_us) / n, reads_of_server() - reads);
    assert_int_equal(found.scopes, n);
    assert_int_equal(calls_of("hmget"), 2L * n);
    assert_true(reads_of_server() - reads < n / 4);
}

/* P23: the cost of a page is that of its own scopes, whatever the store has besides. */
TEST(cost_of_a_page_of_scopes_depends_on_its_rows)
{
    enum { MANY = 100000 };
    static const int64_t sizes[] = { 100, 1000, 10000 };
    static const char make[] =
        "local of = redis.call('HGETALL', 't:{stay0}:number') "
        "for i = 1, ARGV[1] do local k = 't:{many' .. i .. '}:number' "
        "redis.call('HSET', k, unpack(of)) "
        "redis.call('ZADD', k .. ':index', 0, '!') redis.call('ZADD', k .. ':held', 0, '!') end";
    struct usher_engine *e = open_admin();
    char number[16];

    make_stays(e);
    (void)snprintf(number, sizeof number, "%d", MANY);
    freeReplyObject(eval(make, number));
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        char next[USHER_CURSOR_MAX + 1] = "";
        struct seen s = { .n = 0 };
        unsigned pages = 0;
        int64_t begin_us;

        assert_true(redis_do_ok(server, "CONFIG", "RESETSTAT", NULL));
        next_page(e, sizes[k], &s, next);
        assert_int_equal(s.n, sizes[k]);
        assert_int_equal(calls_of("hmget"), sizes[k]);
        assert_true(calls_of("scan") <= (sizes[k] > 1000 ? 24 : 4));
        begin_us = cpu_us();
        do {
            unsigned n = s.n;

            next_page(e, sizes[k], &s, next);
            pages++;
            assert_true(s.n - n <= (unsigned)sizes[k]);
        } while (next[0] != '\0');
        print_message("pages of %d: %u more, %ld SCAN, %.1f us of the client for a scope\n",
                      (int)sizes[k], pages, calls_of("scan"), (double)(cpu_us() - begin_us) / MANY);
        all_seen(&s, "many");
        assert_in_range(s.n, MANY + SEEN, MANY + SEEN + MANY / 100);
        assert_true(pages <= MANY / sizes[k] + MANY / sizes[k] / 10 + 2);
        /* each key is walked once */
        assert_true(calls_of("hmget") <= MANY + SEEN + MANY / 100);
    }
    check_many(e, MANY + SEEN);
    assert_true(redis_do_ok(server, "FLUSHALL", NULL));
    usher_close(e);
}

/* The rights of usher-redis(7) for all nouns, but SCAN and HSCAN as @scan and @hscan say. */
static void grant_walker(bool scan, bool hscan)
{
    static const char *const nouns[] = { "number", "queue", "room", "rooms", "serial", "id" };
    static const char *const more[] = { "+zlexcount", "+del", "+info" };
    char keys[3][32];

    assert_true(redis_do_ok(server, "ACL", "SETUSER", "walker", "reset", "on", ">secret", NULL));
    for (size_t i = 0; i < sizeof nouns / sizeof *nouns; i++) {
        (void)snprintf(keys[0], sizeof keys[0], "~t:{*}:%s", nouns[i]);
        (void)snprintf(keys[1], sizeof keys[1], "~t:{*}:%s:index", nouns[i]);
        (void)snprintf(keys[2], sizeof keys[2], "~t:{*}:%s:held", nouns[i]);
        assert_true(
            redis_do_ok(server, "ACL", "SETUSER", "walker", keys[0], keys[1], keys[2], NULL));
    }
    for (size_t i = 0; i < RIGHTS; i++)
        if (strcmp(rights[i], "+scan") != 0 && strcmp(rights[i], "+hscan") != 0)
            assert_true(redis_do_ok(server, "ACL", "SETUSER", "walker", rights[i], NULL));
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        assert_true(redis_do_ok(server, "ACL", "SETUSER", "walker", more[i], NULL));
    if (scan)
        assert_true(redis_do_ok(server, "ACL", "SETUSER", "walker", "+scan", NULL));
    if (hscan)
        assert_true(redis_do_ok(server, "ACL", "SETUSER", "walker", "+hscan", NULL));
}

static enum usher_status walk(struct usher_engine *e, const char *what)
{
    struct usher_check_result found;
    struct usher_reply *reply;
    struct usher_command c;
    uint64_t room[512];
    enum usher_status status;

    if (strcmp(what, "check") == 0)
        return usher_check(e, NULL, NULL, NULL, &found);
    if (strcmp(what, "check --repair") == 0)
        return usher_check(e, &repairing, NULL, NULL, &found);
    if (strcmp(what, "drop") == 0)
        return usher_drop(e, USHER_NUMBER, "gone", NULL);
    assert_int_equal(usher_command_parse(what, strlen(what), room, sizeof room, &c), USHER_OK);
    (void)usher_execute(e, &c, 1, 0, &reply);
    assert_non_null(reply);
    status = reply->status;
    usher_reply_done(reply);
    return status;
}

/* SCAN and HSCAN: each command needs the rights that usher-redis(7) has for it, and no more. */
TEST(walks_over_the_store_need_the_right_to_scan)
{
    static const struct {
        const char *what;
        bool scan, hscan; /* it needs them */
    } walks[] = {
        { "scopes", true, false },          { "scopes number", true, false },
        { "serial list", true, true },      { "check", true, true },
        { "check --repair", true, true },   { "number digest p", false, true },
        { "queue digest q", false, true },  { "room digest hall", false, false },
        { "serial digest s", false, true }, { "id digest d", false, true },
        { "room list", false, false },      { "room patrol w", false, false },
        { "drop", false, false },
    };
    static const char *const world[] = { "number add p 1", "queue login q ann", "room open hall",
                                         "serial rule s", "id create d" };
    struct usher_engine *e, *admin = open_admin();
    char message[192], url[128];

    (void)snprintf(url, sizeof url,
                   "redis://walker:secret@127.0.0.1:%d?prefix=t:&timeout=20000&clock=given",
                   redis_server_port(server));
    assert_true(redis_do_ok(server, "FLUSHALL", NULL));
    for (size_t i = 0; i < sizeof world / sizeof *world; i++)
        assert_int_equal(say(admin, world[i], message), USHER_OK);
    for (int granted = 0; granted < 4; granted++) {
        bool scan = (granted & 1) != 0, hscan = (granted & 2) != 0;

        grant_walker(scan, hscan);
        assert_int_equal(usher_open(url, NULL, &e), USHER_OK);
        for (size_t i = 0; i < sizeof walks / sizeof *walks; i++) {
            bool may = (scan || !walks[i].scan) && (hscan || !walks[i].hscan);
            enum usher_status status;

            assert_int_equal(say(admin, "number add gone 1", message), USHER_OK);
            status = walk(e, walks[i].what);
            if (status != (may ? USHER_OK : USHER_UNAVAILABLE))
                fail_msg("%s, scan %d, hscan %d: %s", walks[i].what, scan, hscan,
                         usher_status_word(status));
            (void)say(admin, "number del gone 1", message);
        }
        usher_close(e);
    }
    usher_close(admin);
}
