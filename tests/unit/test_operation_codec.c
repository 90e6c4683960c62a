/* SPDX-License-Identifier: MIT */
/* Commands and answers as bytes: store.h.  Hostile answers: tests/fuzz/fuzz_answer.c, and by a
 * whole engine tests/fault/test_redis_faults.c. */
#include "lib/test.h"

#include <usher/store/store.h>

#include "core/pack.h"
#include "change/memory.h"
#include "change/result.h"
#include "change/request_cache.h"

#define TEXT(string)              \
    {                             \
        string, sizeof string - 1 \
    }
#define BYTES(string) string, sizeof(string) - 1

static void assert_packs(const struct usher_operation *c, int64_t now, uint64_t epoch, bool notices,
                         const char *expected, size_t size)
{
    unsigned char to[256];

    memset(to, 0x55, sizeof to);
    assert_true(usher_operation_pack(c, now, epoch, notices, to, sizeof to) == size);
    assert_memory_equal(to, expected, size);
    assert_int_equal(to[size], 0x55);
    for (size_t room = 0; room < size; room++) {
        memset(to, 0x55, sizeof to);
        assert_true(usher_operation_pack(c, now, epoch, notices, to, room) == size);
        for (size_t i = room; i < size; i++)
            assert_int_equal(to[i], 0x55);
    }
}

TEST(a_command_is_an_array_without_nils_at_its_end)
{
    struct usher_operation c;
    uint64_t print;
    char want[40];

    memset(&c, 0, sizeof c);
    c.scope.data = "p"; /* the scope is the key's: it is not packed */
    c.scope.size = 1;
    c.verb = USHER_NUMBER_STATS;
    assert_packs(&c, 0, 0, false, BYTES("\x95\xcd\x01\x0b\xc0\xc0\xc0\0"));
    assert_packs(&c, 5, 0, true, BYTES("\x95\xcd\x01\x0b\x05\xc0\xc0\x01"));
    c.given = USHER_GIVEN_NOW; /* that of the command counts */
    c.now_ms = 7;
    assert_packs(&c, 5, 0, false, BYTES("\x95\xcd\x01\x0b\x07\xc0\xc0\0"));

    c.verb = USHER_NUMBER_CALL;
    c.given = 0;
    c.arg.number.owner.data = "ann";
    c.arg.number.owner.size = 3;
    assert_packs(&c, 0, 0, false,
                 BYTES("\x98\xcd\x01\x05\xc0\xc0\xc0\0\xc0\xc0\xa3"
                       "ann"));
    c.request.data = "r1";
    c.request.size = 2;
    print = usher__operation_fingerprint(&c);
    assert_true(print >> 32 != 0 && print >> 53 == 0);
    memcpy(want,
           "\x98\xcd\x01\x05\xc0\xa2r1\xb0"
           "00000000000000ab"
           "\0\xcf",
           27);
    for (int i = 0; i < 8; i++)
        want[27 + i] = (char)(print >> (56 - 8 * i) & 0xff);
    memcpy(want + 35,
           "\xc0\xa3"
           "ann",
           5);
    assert_packs(&c, 0, 0xab, false, want, sizeof want);
}

TEST(numbers_and_texts_that_the_verb_does_not_take_are_left_out)
{
    struct usher_operation c;

    memset(&c, 0, sizeof c);
    c.verb = USHER_NUMBER_HANGUP;
    c.arg.number.number.data = "1";
    c.arg.number.number.size = 1;
    c.arg.number.owner.data = "nobody"; /* not an argument of hangup */
    c.arg.number.owner.size = 6;
    c.given = USHER_GIVEN_TOKEN | USHER_GIVEN_REST;
    c.arg.number.token = UINT64_MAX;
    c.arg.number.rest_ms = 300;
    assert_packs(&c, 0, 0, false,
                 BYTES("\x9f\xcd\x01\x06\xc0\xc0\xc0\0\xc0\xa1"
                       "1"
                       "\xc0\xc0\xc0\xc0\xc0"
                       "\xcf\0\x20\0\0\0\0\0\0\xc0\xcd\x01\x2c"));
}

/* "group" is two arguments that share a field: one of add, one of call. */
TEST(a_field_of_two_arguments_is_packed_once)
{
    struct usher_operation c;

    memset(&c, 0, sizeof c);
    c.arg.number.group.data = "g";
    c.arg.number.group.size = 1;
    c.verb = USHER_NUMBER_CALL;
    assert_packs(&c, 0, 0, false, BYTES("\x9a\xcd\x01\x05\xc0\xc0\xc0\0\xc0\xc0\xc0\xc0\xa1g"));
    c.verb = USHER_NUMBER_ADD;
    c.arg.number.number = c.arg.number.group;
    assert_packs(&c, 0, 0, false, BYTES("\x99\xcd\x01\x01\xc0\xc0\xc0\0\xc0\xa1g\xc0\xa1g"));
}

/* ---- answers ---- */

static unsigned n_notices;

static void take_notice(void *payload, const struct usher_notice *n)
{
    (void)payload;
    n_notices++;
    assert_true(n->epoch == UINT64_C(0x0123456789abcdef));
    assert_int_equal(n->noun, USHER_NUMBER);
    assert_int_equal(n->scope.size, 4);
}

static const char call_answer[] = "\xdc\0\x10\0\xb0"
                                  "0123456789abcdef\x09\x2b\x29\0"
                                  "\x91\x9a\xcd\x01\x05\x09\x02\x04\x09\0\x2a\xa3"
                                  "ann\xa2n1\xa0"
                                  "\x91\x9d\xa2n1\xa0\xa3"
                                  "ann\x04\0\x09\0\x01\x2a\0\x07\xa0\xa0"
                                  "\x04\0\x09\0\xff\0\0\xa2n1";

static enum usher_status unpack(enum usher_verb verb, const char *data, size_t size,
                                struct usher_result *reply)
{
    struct usher_operation c;
    struct usher_context context;

    memset(&c, 0, sizeof c);
    memset(&context, 0, sizeof context);
    c.verb = verb;
    c.scope.data = "desk";
    c.scope.size = 4;
    context.notify = take_notice;
    usher__result_init(reply, USHER_NUMBER, usher__allocator(NULL));
    return usher_result_unpack(&c, data, size, reply, &context);
}

TEST(an_answer_has_notices_rows_and_fields)
{
    struct usher_result r;

    n_notices = 0;
    assert_int_equal(unpack(USHER_NUMBER_CALL, BYTES(call_answer), &r), USHER_OK);
    assert_int_equal(n_notices, 1);
    assert_int_equal(r.status, USHER_OK);
    assert_false(r.repeated);
    assert_true(r.epoch == UINT64_C(0x0123456789abcdef) && r.version == 9);
    assert_true(r.due_ms == 43 && r.now_ms == 41);
    assert_int_equal(r.of.number.state, USHER_NUMBER_STATE_BUSY_UP);
    assert_true(r.of.number.token == 9 && r.of.number.next_ms == -1);
    assert_string_equal(r.of.number.number, "n1");
    assert_int_equal(r.of.number.n_rows, 1);
    assert_int_equal(r.of.number.rows[0].owner.size, 3);
    assert_memory_equal(r.of.number.rows[0].owner.data, "ann", 3);
    assert_int_equal(r.of.number.rows[0].group.size, 0);
    assert_true(r.of.number.rows[0].used_ms == 42);
    usher_result_done(&r);
}

TEST(answer_of_another_length_is_invalid)
{
    struct usher_result r;
    char longer[sizeof call_answer + 1];

    for (size_t size = 0; size < sizeof call_answer - 1; size++) {
        assert_int_equal(unpack(USHER_NUMBER_CALL, call_answer, size, &r), USHER_INVALID);
        usher_result_fail(&r, USHER_UNKNOWN, "");
    }
    memcpy(longer, call_answer, sizeof call_answer);
    assert_int_equal(unpack(USHER_NUMBER_CALL, longer, sizeof call_answer, &r), USHER_INVALID);
    usher_result_fail(&r, USHER_UNKNOWN, "");
    /* stats has ten values more */
    assert_int_equal(unpack(USHER_NUMBER_STATS, BYTES(call_answer), &r), USHER_INVALID);
    usher_result_fail(&r, USHER_UNKNOWN, "");
    for (unsigned n = 0; n < 32; n++) {
        memcpy(longer, call_answer, sizeof call_answer);
        longer[2] = (char)n;
        assert_int_equal(unpack(USHER_NUMBER_CALL, longer, sizeof call_answer - 1, &r),
                         n == 16 ? USHER_OK : USHER_INVALID);
        usher_result_fail(&r, USHER_UNKNOWN, "");
    }
}

TEST(a_failure_has_a_message_of_one_line)
{
    char text[400] = "\x92\x30\xda\x01\x2c";
    struct usher_result r;

    assert_int_equal(unpack(USHER_NUMBER_CALL,
                            BYTES("\x92\x30\xa4"
                                  "oops"),
                            &r),
                     USHER_OK);
    assert_int_equal(r.status, USHER_UNAVAILABLE);
    assert_string_equal(r.message, "oops");
    assert_int_equal(unpack(USHER_NUMBER_CALL,
                            BYTES("\x92\x30\xa4"
                                  "a\nb\x7f"),
                            &r),
                     USHER_OK);
    assert_string_equal(r.message, "a?b?");
    memset(text + 5, 'x', 300);
    assert_int_equal(unpack(USHER_NUMBER_CALL, text, 305, &r), USHER_OK);
    assert_int_equal(strlen(r.message), sizeof r.message - 1);
    assert_int_equal(unpack(USHER_NUMBER_CALL,
                            BYTES("\x92\x11\xa4"
                                  "oops"),
                            &r),
                     USHER_INVALID);
    assert_int_equal(unpack(USHER_NUMBER_CALL,
                            BYTES("\x92\x25\xa4" /* between two that there are */
                                  "oops"),
                            &r),
                     USHER_INVALID);
    assert_int_equal(unpack(USHER_NUMBER_CALL,
                            BYTES("\x92\x34\xa4"
                                  "oops"),
                            &r),
                     USHER_INVALID);
    assert_int_equal(unpack(USHER_NUMBER_CALL,
                            BYTES("\x93\x30\xa4"
                                  "oops\0"),
                            &r),
                     USHER_INVALID);
}

TEST(failed_answer_has_notices_of_earlier_changes)
{
    static const char answer[] = "\x94\x20\xa2no\xb0"
                                 "0123456789abcdef"
                                 "\x92\x9a\xcd\x01\x0e\x09\x02\x04\x09\0\x2a\xa3"
                                 "ann\xa2n1\xa0"
                                 "\x9a\xcd\x01\x0e\x0a\x02\x04\x09\0\x2a\xa0\xa2n2\xa0";
    struct usher_result r;
    char longer[sizeof answer + 1];

    n_notices = 0;
    assert_int_equal(unpack(USHER_NUMBER_CALL, BYTES(answer), &r), USHER_OK);
    assert_int_equal(n_notices, 2);
    assert_int_equal(r.status, USHER_INVALID);
    assert_string_equal(r.message, "no");
    assert_true(r.epoch == 0 && r.version == 0); /* it is about no version */
    for (size_t size = 0; size < sizeof answer - 1; size++)
        assert_int_equal(unpack(USHER_NUMBER_CALL, answer, size, &r), USHER_INVALID);
    memcpy(longer, answer, sizeof answer);
    assert_int_equal(unpack(USHER_NUMBER_CALL, longer, sizeof answer, &r), USHER_INVALID);
    for (unsigned n = 0; n < 16; n++) { /* neither fewer values nor more */
        longer[0] = (char)(0x90 + n);
        assert_int_equal(unpack(USHER_NUMBER_CALL, longer, sizeof answer - 1, &r),
                         n == 4 ? USHER_OK : USHER_INVALID);
    }
}

static uint64_t notice_epochs[4];

static void take_epoch(void *payload, const struct usher_notice *n)
{
    unsigned *at = payload;

    assert_true(*at < 4);
    notice_epochs[(*at)++] = n->epoch;
}

TEST(text_among_notices_is_the_epoch_of_later_ones)
{
    static const char answer[] = "\x94\x20\xa2no\xb0"
                                 "0123456789abcdef"
                                 "\x95\xb0"
                                 "00000000000000aa"
                                 "\x9a\xcd\x01\x0e\x09\x02\x04\x09\0\x2a\xa0\xa2n1\xa0"
                                 "\x9a\xcd\x01\x0e\x0a\x02\x04\x09\0\x2a\xa0\xa2n2\xa0"
                                 "\xb0"
                                 "0123456789abcdef"
                                 "\x9a\xcd\x01\x0e\x01\x02\x04\x09\0\x2a\xa0\xa2n1\xa0";
    struct usher_operation c;
    struct usher_context context;
    struct usher_result r;
    char copy[sizeof answer];
    unsigned n = 0;

    memset(&c, 0, sizeof c);
    memset(&context, 0, sizeof context);
    c.verb = USHER_NUMBER_CALL;
    c.scope.data = "desk";
    c.scope.size = 4;
    context.notify = take_epoch;
    context.payload = &n;
    usher__result_init(&r, USHER_NUMBER, usher__allocator(NULL));
    assert_int_equal(usher_result_unpack(&c, BYTES(answer), &r, &context), USHER_OK);
    assert_int_equal(n, 3);
    assert_true(notice_epochs[0] == 0xaa && notice_epochs[1] == 0xaa);
    assert_true(notice_epochs[2] == UINT64_C(0x0123456789abcdef));
    memcpy(copy, answer, sizeof answer);
    copy[24] = 'g'; /* no digit */
    n = 0;
    assert_int_equal(usher_result_unpack(&c, copy, sizeof answer - 1, &r, &context), USHER_INVALID);
    assert_int_equal(n, 0);
}

TEST(answer_with_any_changed_byte_is_valid_or_refused)
{
    struct usher_result r;

    for (size_t at = 0; at < sizeof call_answer - 1; at++) {
        for (unsigned value = 0; value < 256; value++) {
            char *copy = malloc(sizeof call_answer - 1);
            enum usher_status status;

            assert_non_null(copy);
            memcpy(copy, call_answer, sizeof call_answer - 1);
            /* not the epoch and the scope's noun, which take_notice() reads */
            if (at < 5 || at >= 21)
                copy[at] = (char)value;
            status = unpack(USHER_NUMBER_CALL, copy, sizeof call_answer - 1, &r);
            assert_true(status == USHER_OK || status == USHER_INVALID);
            free(copy);
            if (status == USHER_OK)
                assert_int_equal(strlen(r.of.number.number), r.of.number.number_size);
            usher_result_fail(&r, USHER_UNKNOWN, "");
        }
    }
}
