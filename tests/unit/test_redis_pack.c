/* SPDX-License-Identifier: MIT */
/* cmsgpack of a real server and src/core/pack.c: the same bytes for the same values, and each
 * reads what the other wrote. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/pack.h"
#include "lib/servers.h"

static struct redis_server *server;

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

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
static void integers_are_the_same_bytes(void **state)
{
    const int64_t limit = INT64_C(1) << 53;
    uint64_t random = 7;

    (void)state;
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

static void texts_and_arrays_are_the_same_bytes(void **state)
{
    static const size_t sizes[] = { 0,   1,   2,   15,    16,    17,    31,   32,
                                    255, 256, 257, 65534, 65535, 65536, 70000 };
    static char text[70000];
    static unsigned char mine[80000];

    (void)state;
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
static void nil_is_read_as_nil(void **state)
{
    unsigned char mine[8];
    struct usher__packer p = { mine, sizeof mine, 0 };
    redisReply *reply;

    (void)state;
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

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_the_same_bytes),
        cmocka_unit_test(texts_and_arrays_are_the_same_bytes),
        cmocka_unit_test(nil_is_read_as_nil),
    };
    int rc;

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    server = redis_server_start(NULL);
    if (server == NULL)
        return redis_skip();
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    redis_server_stop(server);
    return rc;
}
