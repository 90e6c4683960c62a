/* SPDX-License-Identifier: MIT */
/* cmsgpack of a real server and src/core/pack.c: the same bytes for the same values, and each
 * reads what the other wrote; the brief commands and answers of backends/redis/number_fast.c. */
#include "lib/test.h"

#include "../../backends/redis/number_fast.h"
#include "core/pack.h"
#include "lib/servers.h"
#include "lib/util.h"

TEST_SERVER(server);

static redisReply *eval(const char *script, const void *arg, size_t size)
{
    const char *argv[] = { "EVAL", script, "0", arg };
    const size_t sizes[] = { 4, strlen(script), 1, size };
    redisReply *reply = redis_do_argv(server, 4, argv, sizes);

    assert_non_null(reply);
    if (reply->type == REDIS_REPLY_ERROR)
        fail_msg("%s", reply->str);
    return reply;
}

static void assert_same(const redisReply *reply, const void *data, size_t size)
{
    assert_int_equal(reply->type, REDIS_REPLY_STRING);
    assert_true(reply->len == size);
    assert_memory_equal(reply->str, data, size);
}

/* Lua's numbers are exact up to 2^53. */
TEST(integers_are_the_same_bytes)
{
    const int64_t limit = INT64_C(1) << 53;
    uint64_t random = 7;

    for (int round = 0; round < 3000; round++) {
        unsigned bits = (unsigned)round % 54;
        int64_t value = (INT64_C(1) << bits) + round / 54 % 5 - 2;
        unsigned char mine[16];
        struct usher__packer p = { mine, sizeof mine, 0 };
        char digits[24];
        redisReply *reply;

        if (round > 1500)
            value = (int64_t)(next_random(&random) >> (11 + round % 50));
        if (round % 2 == 1)
            value = -value;
        if (value >= limit || value <= -limit)
            continue;
        usher__pack_int(&p, value);
        (void)snprintf(digits, sizeof digits, "%lld", (long long)value);
        reply = eval("return cmsgpack.pack(tonumber(ARGV[1]))", digits, strlen(digits));
        if (reply->len != p.n || memcmp(reply->str, mine, p.n) != 0)
            fail_msg("%s is packed differently", digits);
        freeReplyObject(reply);
        reply = eval("return string.format('%.0f', cmsgpack.unpack(ARGV[1]))", mine, p.n);
        assert_string_equal(reply->str, digits);
        freeReplyObject(reply);
    }
}

TEST(texts_and_arrays_are_the_same_bytes)
{
    static const size_t sizes[] = { 0,   1,   2,   15,    16,    17,    31,   32,
                                    255, 256, 257, 65534, 65535, 65536, 70000 };
    static char text[70000];
    static unsigned char mine[80000];

    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)(i * 7);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct usher__packer p = { mine, sizeof mine, 0 };
        char digits[24];
        redisReply *reply;

        usher__pack_text(&p, text, sizes[i]);
        reply = eval("return cmsgpack.pack(ARGV[1])", text, sizes[i]);
        assert_same(reply, mine, p.n);
        freeReplyObject(reply);

        p.n = 0;
        usher__pack_array(&p, sizes[i]);
        for (size_t k = 0; k < sizes[i]; k++)
            usher__pack_uint(&p, k % 100);
        (void)snprintf(digits, sizeof digits, "%zu", sizes[i]);
        reply = eval("local a = {} for i = 1, tonumber(ARGV[1]) do a[i] = (i - 1) % 100 end "
                     "return cmsgpack.pack(a)",
                     digits, strlen(digits));
        assert_same(reply, mine, p.n); /* an empty table is an array, too */
        freeReplyObject(reply);
    }
}

/* nil is what false is not: commands use it for what is not given. */
TEST(nil_is_read_as_nil)
{
    unsigned char mine[8];
    struct usher__packer p = { mine, sizeof mine, 0 };
    redisReply *reply;

    usher__pack_array(&p, 3);
    usher__pack_uint(&p, 1);
    usher__pack_nil(&p);
    usher__pack_uint(&p, 3);
    reply = eval("local a = cmsgpack.unpack(ARGV[1]) "
                 "return a[1] == 1 and a[2] == nil and a[3] == 3 and 1 or 0",
                 mine, p.n);
    assert_int_equal(reply->integer, 1);
    freeReplyObject(reply);
}

static struct usher_text name_of(const char *name)
{
    return (struct usher_text){ name, strlen(name) };
}

/* Everything of a brief command, in the order of number_fast.h, `nil' for what is not given. */
static void expect_brief(const struct usher_operation *c, int64_t now_ms, unsigned place,
                         const char *expected)
{
    const struct usher_context context = { .now_ms = now_ms };
    unsigned char mine[USHER__REDIS_FAST_MAX + 1];
    unsigned values = 5;
    redisReply *reply;
    size_t size;

    assert_true(usher__redis_is_fast(c, &context));
    memset(mine, 0x55, sizeof mine);
    size = usher__redis_fast(c, &context, place, mine, &values);
    assert_true(size < sizeof mine);
    assert_int_equal(mine[size], 0x55);
    assert_int_equal(values, 5 + 7);
    reply =
        eval("local a, out = {cmsgpack.unpack(ARGV[1])}, '' "
             "for i = 1, 7 do local v = a[i] "
             "if type(v) == 'number' then v = string.format('%.0f', v) end "
             "out = out .. (i > 1 and '|' or '') .. string.gsub(tostring(v), '[%z\\1-\\31\\255]', "
             "function(c) return string.format('<%d>', string.byte(c)) end) end return out",
             mine, size);
    assert_string_equal(reply->str, expected);
    freeReplyObject(reply);
}

TEST(short_form_commands_are_read_by_the_server)
{
    struct usher_operation c = { .verb = USHER_NUMBER_CALL };
    char longest[USHER_NAME_MAX + 1], expected[4 * USHER_NAME_MAX];

    c.arg.number.owner = name_of("ann");
    expect_brief(&c, 0, 3, "6|1|nil|nil|ann|[1cann<0>|(1cann<0><255>");
    c.given = USHER_GIVEN_LEASE;
    c.arg.number.lease_ms = 3153600000000;
    expect_brief(&c, 253402300799999, 3,
                 "6|1|253402300799999|3153600000000|ann|[1cann<0>|(1cann<0><255>");
    c.given = USHER_GIVEN_NOW;
    c.now_ms = 77;
    memset(longest, 'x', USHER_NAME_MAX);
    longest[USHER_NAME_MAX] = '\0';
    c.arg.number.owner = name_of(longest);
    (void)snprintf(expected, sizeof expected, "6|1|77|nil|%s|[1c%s<0>|(1c%s<0><255>", longest,
                   longest, longest);
    expect_brief(&c, 5, 3, expected);

    memset(&c, 0, sizeof c);
    c.verb = USHER_NUMBER_HANGUP;
    c.arg.number.number = name_of("n1");
    expect_brief(&c, 0, 3, "6|2|nil|nil|nil|n1|3");
    c.given = USHER_GIVEN_TOKEN;
    c.arg.number.token = UINT64_C(0x41424344454647);
    expect_brief(&c, 0, 66, "6|2|nil|ABCDEFG|12ABCDEFGn1|n1|66");
    c.arg.number.number = name_of(longest);
    (void)snprintf(expected, sizeof expected, "6|2|nil|ABCDEFG|12ABCDEFG%s|%s|66", longest,
                   longest);
    expect_brief(&c, 0, 66, expected);
}

static void notify(void *payload, const struct usher_notice *notice)
{
    (void)payload;
    (void)notice;
}

TEST(a_command_with_options_has_no_short_form)
{
    const struct usher_context context = { 0 }, watched = { .notify = notify };
    struct usher_operation c, plain = { .verb = USHER_NUMBER_CALL };
    const struct usher_text name = name_of("x");

    plain.arg.number.owner = name;
    assert_true(usher__redis_is_fast(&plain, &context));
    assert_false(usher__redis_is_fast(&plain, &watched));
#define NOT_BRIEF(change)                                 \
    do {                                                  \
        c = plain;                                        \
        change;                                           \
        assert_false(usher__redis_is_fast(&c, &context)); \
    } while (0)
    NOT_BRIEF(c.verb = USHER_NUMBER_RENEW);
    NOT_BRIEF(c.request = name);
    NOT_BRIEF(c.given = USHER_GIVEN_NOW); /* 1970 */
    NOT_BRIEF(c.arg.number.owner.data = NULL);
    NOT_BRIEF(c.arg.number.number = name);
    NOT_BRIEF(c.arg.number.group = name);
    NOT_BRIEF(c.arg.number.sticky = name);
    memset(&plain, 0, sizeof plain);
    plain.verb = USHER_NUMBER_HANGUP;
    plain.arg.number.number = name;
    plain.given = USHER_GIVEN_TOKEN;
    plain.arg.number.token = (UINT64_C(1) << 56) - 1;
    assert_true(usher__redis_is_fast(&plain, &context));
    NOT_BRIEF(c.given |= USHER_GIVEN_REST);
    NOT_BRIEF(c.arg.number.token++); /* has no room */
#undef NOT_BRIEF
}

TEST(short_answers_are_read_whole_or_refused)
{
    static const char called[] = "\1"
                                 "00000000000000ff"
                                 "\0\0\0\0\0\1\2"
                                 "\0\0\0\0\0\1\4"
                                 "\0\0\0\0\0\1\1"
                                 "\0\0\0\0\0\2\1"
                                 "n1";
    static const char hung_up[] = "\2"
                                  "00000000000000ff"
                                  "\0\0\0\0\0\1\3"
                                  "\377\377\377\377\377\377\377"
                                  "\0\0\0\0\0\1\0"
                                  "\0\0\0\0\0\1\2";
    struct usher_operation call = { .verb = USHER_NUMBER_CALL };
    struct usher_operation hangup = { .verb = USHER_NUMBER_HANGUP };
    struct usher_result r = { 0 };
    char bad[sizeof called + USHER_NAME_MAX];

    hangup.arg.number.number = name_of("n2");
    assert_true(usher__redis_fast_answer(&call, called, sizeof called - 1, &r));
    assert_int_equal(r.status, USHER_OK);
    assert_int_equal(r.epoch, 255);
    assert_int_equal(r.version, 258);
    assert_true(r.due_ms == 260 && r.now_ms == 257);
    assert_int_equal(r.of.number.state, USHER_NUMBER_STATE_BUSY_UP);
    assert_int_equal(r.of.number.token, 258);
    assert_int_equal(r.of.number.until_ms, 513);
    assert_int_equal(r.of.number.next_ms, -1);
    assert_string_equal(r.of.number.number, "n1");
    assert_true(usher__redis_fast_answer(&hangup, hung_up, sizeof hung_up - 1, &r));
    assert_int_equal(r.version, 259);
    assert_true(r.due_ms == USHER_NEVER && r.now_ms == 256);
    assert_int_equal(r.of.number.state, USHER_NUMBER_STATE_IDLE_UP);
    assert_int_equal(r.of.number.token, 258);
    assert_int_equal(r.of.number.until_ms, 0);
    assert_string_equal(r.of.number.number, "n2");

    for (size_t size = 0; size < sizeof called - 2; size++)
        assert_false(usher__redis_fast_answer(&call, called, size, &r));
    for (size_t size = 0; size < sizeof hung_up; size++)
        if (size != sizeof hung_up - 1)
            assert_false(usher__redis_fast_answer(&hangup, hung_up, size, &r));
    assert_false(usher__redis_fast_answer(&hangup, called, sizeof called - 1, &r));
    assert_false(usher__redis_fast_answer(&call, hung_up, sizeof hung_up - 1, &r));
    for (size_t i = 1; i < 17; i++) {
        memcpy(bad, called, sizeof called);
        bad[i] = i % 2 == 0 ? 'g' : '\0';
        assert_false(usher__redis_fast_answer(&call, bad, sizeof called - 1, &r));
    }
    memcpy(bad, called, sizeof called);
    bad[sizeof called - 2] = '\0'; /* in a name */
    assert_false(usher__redis_fast_answer(&call, bad, sizeof called - 1, &r));
    memset(bad + sizeof called - 3, 'n', USHER_NAME_MAX + 1);
    assert_true(usher__redis_fast_answer(&call, bad, sizeof called - 3 + USHER_NAME_MAX, &r));
    assert_false(usher__redis_fast_answer(&call, bad, sizeof called - 2 + USHER_NAME_MAX, &r));
}
