/* SPDX-License-Identifier: MIT */
/*
 * Commands from words, answers to text (usher/command.h): every type as it is written, the whole of
 * it or a part, in each form; every verb of every noun; every argument of every verb, read as help
 * shows it; what is wrong is refused by name; a room that is too small is left alone.
 */
#include "lib/test.h"

#include <usher/command.h>

#include "core/text.h"
#include "core/verbs.h"
#include "lib/command_line.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static struct usher_engine *e;

static int opened(void)
{
    struct usher_options opt = USHER_OPTIONS_INIT;

    opt.clock_given = true;
    return usher_open("memory:", &opt, &e) == USHER_OK ? 0 : 1;
}

static void closed(void)
{
    usher_close(e);
}

TEST_PROGRAM(opened, closed);

static struct usher_reply *ask(const char *line, int64_t now_ms)
{
    char words[512];
    uint64_t room[512];
    struct usher_command command;
    struct usher_reply *reply;
    int n = snprintf(words, sizeof words, "%s now=%" PRId64, line, now_ms);

    if (usher_command_parse(words, (size_t)n, room, sizeof room, &command) != USHER_OK)
        fail_msg("%s: %s", words, usher_message());
    (void)usher_execute(e, &command, 1, 0, &reply);
    assert_non_null(reply);
    return reply;
}

/* The answer with E for the epoch.  The caller frees it. */
static char *written(const struct usher_reply *reply)
{
    size_t n = usher_reply_write(reply, USHER_FORM_JSON, NULL, 0);
    char *text = malloc(n + 1), epoch[17];

    assert_non_null(text);
    assert_int_equal(usher_reply_write(reply, USHER_FORM_JSON, text, n + 1), n);
    assert_int_equal(strlen(text), n);
    (void)snprintf(epoch, sizeof epoch, "%016" PRIx64, reply->epoch);
    for (char *at = text; (at = strstr(at, epoch)) != NULL; *at = 'E')
        memmove(at + 1, at + 16, strlen(at + 16) + 1);
    return text;
}

/* ---- one form against another ------------------------------------------------------------- */

/* The rest of both texts. */
struct both {
    const char *json, *resp;
    bool resp3;
};

static int64_t line_of(struct both *b, char sign)
{
    char *end;
    int64_t number;

    if (*b->resp != sign)
        fail_msg("%.40s is not %c for %.40s", b->resp, sign, b->json);
    number = strtoll(b->resp + 1, &end, 10);
    assert_memory_equal(end, "\r\n", 2);
    b->resp = end + 2;
    return number;
}

static void same_word(struct both *b, const char *json, const char *resp)
{
    assert_memory_equal(b->json, json, strlen(json));
    assert_memory_equal(b->resp, resp, strlen(resp));
    b->json += strlen(json);
    b->resp += strlen(resp);
}

static const char b64[] = "{\"b64\":\"";

static bool is_b64(const char *json)
{
    return strncmp(json, b64, strlen(b64)) == 0;
}

/* The bytes are not UTF-8. */
static void same_b64(struct both *b)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    int64_t size = line_of(b, '$');
    unsigned bits = 0;
    int n = 0;

    assert_false(usher__is_utf8(b->resp, (size_t)size));
    for (b->json += strlen(b64); *b->json != '"' && *b->json != '='; b->json++) {
        bits = bits << 6 | (unsigned)(strchr(digits, *b->json) - digits);
        n += 6;
        if (n >= 8) {
            n -= 8;
            assert_in_range(size--, 1, INT64_MAX);
            assert_int_equal((unsigned char)*b->resp++, bits >> n & 255u);
        }
    }
    assert_int_equal(size, 0);
    assert_int_equal(bits & ((1u << n) - 1), 0);
    b->json += strspn(b->json, "=");
    same_word(b, "\"}", "\r\n");
}

/* A text, or what is one in RESP2 only. */
static void same_text(struct both *b, bool quoted)
{
    int64_t size = line_of(b, '$');
    const char *end = b->resp + size;
    char piece[USHER__JSON_PIECE];
    size_t n;

    b->json += quoted;
    while (b->resp < end) {
        b->resp += usher__json_piece(b->resp, (size_t)(end - b->resp), piece, &n);
        assert_memory_equal(b->json, piece, n);
        b->json += n;
    }
    b->json += quoted;
    assert_memory_equal(b->resp, "\r\n", 2);
    b->resp += 2;
}

static void same_number(struct both *b)
{
    size_t size = strspn(b->json, "-0123456789.");

    if (memchr(b->json, '.', size) == NULL) {
        int64_t number = line_of(b, ':');

        assert_int_equal(number, strtoll(b->json, NULL, 10));
        b->json += size;
    } else if (!b->resp3) {
        same_text(b, false);
    } else {
        assert_int_equal(*b->resp, ',');
        assert_memory_equal(b->resp + 1, b->json, size);
        b->resp += 1 + size;
        b->json += size;
        same_word(b, "", "\r\n");
    }
}

static void same(struct both *b)
{
    bool map = *b->json == '{', pairs = map && !b->resp3;
    int64_t n, i = 0;

    if (is_b64(b->json)) {
        same_b64(b);
        return;
    }
    switch (*b->json) {
    case '{':
    case '[':
        n = line_of(b, map && b->resp3 ? '%' : '*');
        b->json++;
        while (*b->json != '}' && *b->json != ']') {
            if (map) {
                same_text(b, true);
                b->json++; /* the colon */
            }
            same(b);
            b->json += *b->json == ',';
            i++;
        }
        b->json++;
        assert_int_equal(n, pairs ? 2 * i : i);
        break;
    case '"':
        same_text(b, true);
        break;
    case 'n':
        same_word(b, "null", b->resp3 ? "_\r\n" : "$-1\r\n");
        break;
    case 't':
        same_word(b, "true", b->resp3 ? "#t\r\n" : ":1\r\n");
        break;
    case 'f':
        same_word(b, "false", b->resp3 ? "#f\r\n" : ":0\r\n");
        break;
    default:
        same_number(b);
        break;
    }
}

static char *in_form(const struct usher_reply *reply, enum usher_form form)
{
    size_t n = usher_reply_write(reply, form, NULL, 0);
    char *text = malloc(n + 1);

    assert_non_null(text);
    assert_int_equal(usher_reply_write(reply, form, text, n + 1), n);
    return text;
}

static void forms_are_the_same(const struct usher_reply *reply)
{
    char *json = in_form(reply, USHER_FORM_JSON);

    for (enum usher_form form = USHER_FORM_RESP2; form <= USHER_FORM_RESP3; form++) {
        char *resp = in_form(reply, form);
        struct both b = { json, resp, form == USHER_FORM_RESP3 };

        if (reply->status < USHER_INVALID) {
            same(&b);
            assert_int_equal(*b.json, '\0');
            assert_int_equal(*b.resp, '\0');
        } else {
            assert_int_equal(*resp, '-');
            assert_ptr_equal(strstr(resp, "\r\n"), resp + strlen(resp) - 2);
        }
        free(resp);
    }
    free(json);
}

static void says(const char *line, int64_t now_ms, const char *wanted)
{
    struct usher_reply *reply = ask(line, now_ms);
    char *text = written(reply);

    if (strstr(text, wanted) == NULL)
        fail_msg("%s: %s, not %s", line, text, wanted);
    free(text);
    forms_are_the_same(reply);
    usher_reply_done(reply);
}

/* ---- answers ------------------------------------------------------------------------------ */

TEST(each_type_is_written)
{
    says("number add p 100", 1000,
         "{\"status\":\"ok\",\"epoch\":\"E\",\"version\":1,\"due\":null,\"state\":\"idle+down\"}");
    says("number reg p 100", 1000, ",\"state\":\"idle+up\"}");
    /* codes, durations, minutes, and a setting that is 0 or 1 */
    says("number set p zone=-60 strict=1 sticky=2h", 1000,
         ",\"order\":\"longest-idle\",\"lease\":0,\"rest\":0,\"daily\":0,\"zone\":-60,\"strict\":1,"
         "\"sticky\":7200000,\"sticky_max\":10000,\"requests\":10000");
    /* a token is a string */
    says(
        "number call p owner=ann lease=5s", 1000,
        ",\"due\":6000,\"now\":1000,\"number\":\"100\",\"token\":\"4\",\"until\":6000,\"state\":\"busy+up\"}");
    says("number call p", 1000, ",\"why\":\"busy\",\"next\":6000}");
    says("number call p number=100", 1000,
         ",\"number\":\"100\",\"state\":\"busy+up\",\"why\":\"busy\",\"next\":6000}");
    /* no name is null */
    says("number list p", 2000,
         ",\"numbers\":[{\"number\":\"100\",\"state\":\"busy+up\",\"group\":null,\"owner\":\"ann\","
         "\"token\":\"4\",\"until\":6000,\"calls_today\":1,\"used\":1000,\"resting\":false,"
         "\"capped\":false,\"age\":1000,\"node\":null}],\"next\":null}");
    says("number free p all=1 req=r1 wait=1", 2000, ",\"freed\":1,\"more\":false,\"replicas\":0}");
    says("number free p all=1 req=r1", 2000, ",\"freed\":1,\"more\":false,\"repeated\":true}");
    says(
        "number renew p 100 token=999", 2000,
        "{\"status\":\"lost\",\"message\":\"the token was issued by a history that the store has lost\",\"from\":5}");
    says("number show q 1", 2000,
         "{\"status\":\"missing\",\"epoch\":\"E\",\"version\":0,\"due\":null,\"number\":\"1\","
         "\"state\":\"nodata\"}");
    /* beyond 2^53 */
    says("id create d start=9007199254740992", 1000,
         ",\"next\":9007199254740992,\"max\":\"9007199254741503\",\"step\":512,");
    says("id next d", 1000, ",\"first\":9007199254740992,\"n\":1,\"by\":1,\"token\":\"2\"}");
    says("id next d", 1000, ",\"first\":\"9007199254740993\",\"n\":1,\"by\":1,\"token\":\"3\"}");
    /* names that are made, and a share */
    says("queue login q ann capacity=2", 1000,
         ",\"agent\":\"ann\",\"state\":\"idle\",\"rooms\":[\"E.1.1\",\"E.1.2\"],\"token\":\"1\"}");
    says("queue apply q bob", 1000, ",\"place\":\"room\",\"room\":\"E.1.1\",\"agent\":\"ann\",");
    says("queue stats q", 1000, ",\"service_level\":1.0000,\"timeout_today\":0,");
    /* a text of no bytes */
    says("serial rule plain prefix=A", 1000, ",\"prefix\":\"A\",");
    says("serial fill plain 1", 1000, ",\"made\":1,");
    says("serial parse plain A1", 1000, ",\"check\":\"\",");
    /* any bytes */
    says("room open r", 1000, ",\"state\":\"open\",\"capacity\":0,");
    says("room set r f \"a\\\"b\\\\\\x00\\x1b\\x7f\xc3\xa9\"", 1000,
         ",\"value\":\"a\\\"b\\\\\\u0000\\u001b\x7f\xc3\xa9\"}");
    says("room set r g ''", 1000, ",\"value\":\"\"}");
    says("room get r h", 1000, ",\"value\":null}");
    says("room changes r since=2", 1000,
         ",\"notices\":[{\"scope\":\"room/r\",\"epoch\":\"E\",\"version\":3,\"verb\":\"set\","
         "\"subject\":\"g\",\"from\":null,\"to\":null,\"data\":{\"g\":\"\"},\"owner\":null,"
         "\"time\":1000,\"was\":");
    says("room changes r since=9", 1000, ",\"from\":null,\"message\":\"");
}

/* A byte is no letter: what is not UTF-8 is not a string. */
TEST(no_two_values_are_written_alike)
{
    says("room open bin log=9", 1000, ",\"state\":\"open\",");
    says("room set bin a \xc3\xbf", 1000, ",\"value\":\"\xc3\xbf\"}");
    says("room set bin b \"\\xff\"", 1000, ",\"value\":{\"b64\":\"/w==\"}}");
    says("room set bin c \"\\xff\\x00\"", 1000, ",\"value\":{\"b64\":\"/wA=\"}}");
    says("room set bin d \"\xc3\xa9\\xfe\"", 1000, ",\"value\":{\"b64\":\"w6n+\"}}");
    says("room set bin e \"\xed\xa0\x80z\"", 1000, ",\"value\":{\"b64\":\"7aCAeg==\"}}");
    says("room set bin f '{\"b64\":\"/w==\"}'", 1000, ",\"value\":\"{\\\"b64\\\":\\\"/w==\\\"}\"}");
    says("room get bin b", 1000, ",\"value\":{\"b64\":\"/w==\"}}");
    says("room get bin", 1000,
         "\"a\":\"\xc3\xbf\",\"b\":{\"b64\":\"/w==\"},\"c\":{\"b64\":\"/wA=\"},");
    says("room changes bin since=2", 1000, ",\"data\":{\"b\":{\"b64\":\"/w==\"}},");
    says("room join bin ann \"x=\\xff\"", 1000, ",\"state\":\"here\"");
    says("room member bin ann \"x=\\xfe\"", 1000, ",\"value\":{\"b64\":\"/g==\"}}");
    says("room snapshot bin", 1000, "\"x\":{\"b64\":\"/g==\"}");
    says("room set bin b x \"if=\\xfe\"", 1000, ",\"value\":{\"b64\":\"/w==\"}}");
}

/* Characters at which some readers end a line (Python's splitlines()) are escaped, in names too. */
TEST(an_object_is_one_line_for_all_readers)
{
    static const char *const raw[] = { "\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9" };
    struct usher_reply *reply;
    char *text;

    says("room open ends log=9", 1000, ",\"state\":\"open\",");
    says("room set ends f \"a\xc2\x85\xe2\x80\xa7\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa\xc2\x86\"",
         1000, ",\"value\":\"a\\u0085\xe2\x80\xa7\\u2028\\u2029\xe2\x80\xaa\xc2\x86\"}");
    says("room set ends \"n\xe2\x80\xa8\" 1", 1000, ",\"value\":\"1\"}");
    reply = ask("room changes ends", 1000);
    text = in_form(reply, USHER_FORM_JSON);
    assert_non_null(strstr(text, "\"n\\u2028\":\"1\""));
    for (size_t i = 0; i < sizeof raw / sizeof *raw; i++)
        assert_null(strstr(text, raw[i]));
    free(text);
    usher_reply_done(reply);
}

static void part_is_written(const struct usher_reply *reply, enum usher_form form)
{
    size_t n = usher_reply_write(reply, form, NULL, 0);
    char whole[512], part[512];

    assert_in_range(n, 30, sizeof whole - 2);
    assert_int_equal(usher_reply_write(reply, form, whole, sizeof whole), n);
    for (size_t size = 0; size <= n + 1; size++) {
        memset(part, '#', sizeof part);
        assert_int_equal(usher_reply_write(reply, form, part, size), n);
        if (size > 0) {
            assert_memory_equal(part, whole, size - 1);
            assert_int_equal(part[size - 1], '\0');
        }
        assert_int_equal(part[size], '#');
    }
}

TEST(reply_is_truncated_to_the_buffer)
{
    struct usher_reply *reply = ask("number list p", 1000);
    char part[16];

    part_is_written(reply, USHER_FORM_JSON);
    part_is_written(reply, USHER_FORM_PACKED);
    part_is_written(reply, USHER_FORM_RESP2);
    part_is_written(reply, USHER_FORM_RESP3);
    assert_int_equal(usher_reply_write(NULL, USHER_FORM_JSON, part, sizeof part), 0);
    assert_string_equal(part, "");
    assert_int_equal(usher_reply_write(reply, (enum usher_form)99, part, sizeof part), 0);
    usher_reply_done(reply);
    assert_null(usher_reply_of(NULL, NULL));
}

static bool has(const char *in, size_t size, const char *bytes, size_t n)
{
    while (size >= n && memcmp(in, bytes, n) != 0) {
        in++;
        size--;
    }
    return size >= n;
}

#define PACKS(line, bytes) packs(line, bytes, sizeof(bytes) - 1)

static void packs(const char *line, const char *bytes, size_t n)
{
    struct usher_reply *reply = ask(line, 1000);
    char packed[2048];
    size_t size = usher_reply_write(reply, USHER_FORM_PACKED, packed, sizeof packed);

    assert_in_range(size, 1, sizeof packed);
    if (!has(packed, size, bytes, n))
        fail_msg("%s", line);
    usher_reply_done(reply);
}

/* Types that JSON does not distinguish; tests/model/test_door.c reads all others. */
TEST(each_type_is_packed)
{
    PACKS("number add q 100", "\x85\xa6status\xa2ok\xa5"
                              "epoch\xb0");
    PACKS("number reg q 100", "\xa5state\xa7idle+up");
    PACKS("number call q owner=7", "\xa6number\xa3"
                                   "100\xa5token\x03\xa5until\xc0");
    PACKS("number list q", "\xa7numbers\x91\x8c\xa6number\xa3"
                           "100");
    PACKS("number list q", "\xa5owner\xa1"
                           "7\xa5token\x03");
    PACKS("number list q", "\xa7resting\xc2\xa6"
                           "capped\xc2");
    PACKS("queue login p ann", "\xa5rooms\x91\xb4");
    PACKS("queue apply p bob", "\xa5place\xa4room");
    PACKS("queue stats p", "\xadservice_level\xcb\x3f\xf0\0\0\0\0\0\0");
    PACKS("id create q start=9007199254740993", "\xa4next\xcf\0\x20\0\0\0\0\0\x01");
    PACKS("room open q", "\xa4"
                         "push\x00");
    PACKS("room set q f \"\\xff\\x00\"", "\xa5value\xc4\x02\xff\0");
    PACKS("room get q g", "\xa5value\xc0");
    PACKS("room get q", "\xa6"
                        "fields\x81\xa1"
                        "f\xc4\x02\xff\0");
    PACKS("room changes q since=1", "\xa4"
                                    "data\x81\xa1"
                                    "f\xc4\x02\xff\0\xa5owner\xc0");
}

TEST(a_notice_is_written)
{
    char scope[2 * USHER_NAME_MAX], to[512] = "";
    struct usher_notice n = {
        .noun = USHER_NUMBER, .verb = USHER_NUMBER_ADD, .version = 1, .until_ms = USHER_NONE
    };
    size_t size;

    memset(scope, 'x', sizeof scope);
    n.scope.data = "a\"b";
    n.scope.size = 3;
    size = usher_notice_write(&n, USHER_FORM_JSON, to, sizeof to);
    assert_int_equal(size, strlen(to));
    assert_memory_equal(to, "{\"scope\":\"number/a\\\"b\",\"epoch\":\"", 32);
    assert_in_range(usher_notice_write(&n, USHER_FORM_PACKED, to, sizeof to), 1, sizeof to);
    assert_memory_equal(to,
                        "\x8a\xa5scope\xaanumber/a\"b\xa5"
                        "epoch\xb0"
                        "0000",
                        29);
    n.scope.data = scope; /* of no name */
    n.scope.size = sizeof scope;
    assert_in_range(usher_notice_write(&n, USHER_FORM_JSON, to, sizeof to), 1, sizeof to);
    assert_int_equal(strspn(strchr(to, 'x'), "x"), USHER_NAME_MAX);
    assert_int_equal(usher_notice_write(NULL, USHER_FORM_PACKED, to, sizeof to), 0);
}

TEST(failed_command_is_a_resp_error)
{
    struct usher_reply *reply = ask("number renew p 100 token=999", 2000);
    char *text = in_form(reply, USHER_FORM_RESP3);

    assert_string_equal(text,
                        "-LOST 5 the token was issued by a history that the store has lost\r\n");
    free(text);
    usher_reply_done(reply);
}

/* ---- every verb --------------------------------------------------------------------------- */

static const char *const lines[] = {
    "number add a 1",
    "number reg a 1",
    "number unreg a 1",
    "number reg a 1",
    "number set a rest=5s",
    "number call a owner=ann lease=5000",
    "number renew a 1 token=6",
    "number hangup a 1 token=6",
    "number lift a 1",
    "number free a all=1",
    "number show a 1",
    "number list a",
    "number stats a",
    "number sweep a",
    "number del a 1",
    "id create a step=10",
    "id next a n=2",
    "id return a 2 1 token=2",
    "id show a",
    "id set a next=50",
    "id install a 1 5",
    "id delete a",
    "room open a ttl=60s",
    "room join a ann name=Ann",
    "room set a topic x",
    "room get a",
    "room member a ann name ''",
    "room all a name fine",
    "room all a mood fine",
    "room role a chair ann",
    "room share a ann board url=x",
    "room alive a ann",
    "room snapshot a since=2",
    "room changes a",
    "room show a",
    "room unset a topic",
    "room unshare a board",
    "room lock a",
    "room unlock a",
    "room kick a ann ban=1000",
    "room leave a ann",
    "room sweep a",
    "room close a",
    "serial rule a prefix=A- width=3 check=luhn max=20",
    "serial fill a 3",
    "serial take a n=2",
    "serial check a",
    "serial tick a",
    "serial setmax a 5",
    "serial setmaxcur a 50",
    "serial parse a A-0018",
    "serial show a",
    "serial grant a 0 10",
    "serial delete a",
    "serial rule g mode=gapfree lease=1m",
    "serial reserve g owner=ann",
    "serial show g 1",
    "serial holds g",
    "serial renew g 1 token=2 lease=2m",
    "serial confirm g 1 token=2",
    "serial reserve g",
    "serial return g 2 token=4",
    "serial reserve g",
    "serial void g 2 token=6",
    "serial sweep g",
    "queue set a offer=10s",
    "queue login a ann capacity=2 lanes=a,b",
    "queue apply a u1 lane=a",
    "queue accept a ann u1",
    "queue apply a u2 lane=b",
    "queue reject a ann u2",
    "queue where a u2",
    "queue alive a user=u1",
    "queue alive a agent=ann",
    "queue move a u2 priority=3",
    "queue list a",
    "queue pull a ann",
    "queue match a",
    "queue room a ann",
    "queue agents a",
    "queue pause a ann",
    "queue ready a ann",
    "queue leave a u2",
    "queue finish a 2.1",
    "queue stats a",
    "queue free a ann",
    "queue sweep a",
    "queue history a",
    "queue drain a",
    "queue logout a ann",
    "queue set a offer=5s if-version=1",
    "queue drop a",
    "number set a daily=1 if-version=1",
    "number set a log=5",
    "number changes a",
    "queue changes a",
    "serial changes a",
    "id changes a",
    "number drop a",
};

/* Brackets in pairs, strings that end, nothing after the object. */
static bool is_object(const char *p)
{
    char open[16];
    size_t depth = 0;

    do {
        if (*p == '"') {
            for (p++; *p != '"'; p++)
                if ((unsigned char)*p < ' ' || (*p == '\\' && *++p == '\0'))
                    return false;
        } else if (*p == '{' || *p == '[') {
            if (depth == sizeof open)
                return false;
            open[depth++] = *p == '{' ? '}' : ']';
        } else if ((*p == '}' || *p == ']') && open[--depth] != *p) {
            return false;
        } else if ((unsigned char)*p <= ' ') {
            return false;
        }
        p++;
    } while (depth > 0);
    return *p == '\0';
}

static bool spoken[USHER__NOUNS][64];

static void is_written(const char *line)
{
    struct usher_reply *reply = ask(line, 1000);
    char *text = written(reply);

    if (!is_object(text) || strncmp(text, "{\"status\":\"", 11) != 0)
        fail_msg("%s: %s", line, text);
    if (reply->status < USHER_INVALID) {
        size_t n;

        spoken[reply->verb >> 8][reply->verb & 63] = true;
        (void)usher_reply_values(reply, USHER_ANSWER, &n);
        if (strstr(text, "\"?\"") != NULL)
            fail_msg("%s: a word is not known: %s", line, text);
    }
    free(text);
    forms_are_the_same(reply);
    usher_reply_done(reply);
}

/* On what is there: whichever verbs there are. */
TEST(every_verb_is_written)
{
    char line[256];

    for (size_t i = 0; i < COUNT(lines); i++)
        is_written(lines[i]);
    is_written("number add b x");
    is_written("queue apply b x");
    is_written("room open b");
    is_written("serial rule b");
    is_written("id create b");
    for (uint32_t verb = 0; (verb = usher_next_verb(verb)) != 0;)
        if (!spoken[verb >> 8][verb & 63] && verb != USHER_SERIAL_GRANT &&
            verb != USHER_STORE_SERIAL_JOURNAL) { /* there is no authority */
            line_of_verb(line, sizeof line, verb, "b");
            is_written(line);
            if (!spoken[verb >> 8][verb & 63])
                fail_msg("%s is not a command", line);
        }
}

/* ---- commands ----------------------------------------------------------------------------- */

static const struct usher_value *value_of(const struct usher_command *c, uint32_t field)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->values[i].field == field)
            return &c->values[i];
    return NULL;
}

/* Return a value of @arg as it is typed, and as a number. */
static const char *typed(const struct usher__arg *arg, int64_t *ret_number)
{
    *ret_number = 0;
    switch (arg->type) {
    case USHER__ARG_WORD:
        *ret_number = arg->max;
        return arg->words[arg->max];
    case USHER__ARG_INT:
    case USHER__ARG_WIDE:
        *ret_number = usher__arg_is_span(arg) ? 90000 : arg->min > 1 ? 10 : 1;
        return usher__arg_is_span(arg) ? "90s" : arg->min > 1 ? "10" : "1";
    case USHER__ARG_TOKEN:
        *ret_number = -1;
        return "18446744073709551615";
    default:
        if (arg->code != USHER_FIELD_EPOCH)
            return "x";
        *ret_number = 0x0123456789abcdef;
        return "0123456789abcdef";
    }
}

TEST(every_argument_is_read)
{
    for (uint32_t code = 0; (code = usher_next_verb(code)) != 0;) {
        const struct usher__noun *noun = usher__noun(code >> 8);
        const struct usher__verb *verb = usher__verb(code);
        char line[1024];
        uint64_t room[512];
        struct usher_command c;
        bool whole = noun->whole;
        size_t n =
            (size_t)(whole ? snprintf(line, sizeof line, "%s", verb->word)
                           : snprintf(line, sizeof line, "%s %s scope", noun->word, verb->word));
        size_t values = whole ? 2 : 3;

        for (unsigned i = 0; i < noun->n_args; i++) {
            const struct usher__arg *arg = &noun->args[i];
            bool key = (verb->order >> i & 1u) == 0;
            int64_t number;

            if (((verb->order | verb->keys) >> i & 1u) == 0)
                continue;
            values++;
            if (arg->type == USHER__ARG_FIELDS)
                n += (size_t)snprintf(line + n, sizeof line - n, " some=thing");
            else
                n += (size_t)snprintf(line + n, sizeof line - n, " %s%s%s", key ? arg->word : "",
                                      key ? "=" : "", typed(arg, &number));
        }
        n += (size_t)snprintf(line + n, sizeof line - n, " req=r1 now=7%s", whole ? "" : " wait=2");
        if (usher_command_parse(line, n, room, sizeof room, &c) != USHER_OK)
            fail_msg("%s: %s", line, usher_message());
        assert_int_equal(c.verb, code);
        assert_int_equal(c.scope_size, whole ? 0 : 5);
        assert_true(whole || strcmp(c.scope, "scope") == 0);
        assert_null(c.tag);
        assert_int_equal(c.n, values);
        for (unsigned i = 0; i < noun->n_args; i++) {
            const struct usher_value *v = value_of(&c, noun->args[i].code);
            int64_t number;
            const char *word = typed(&noun->args[i], &number);

            if (((verb->order | verb->keys) >> i & 1u) == 0)
                continue;
            assert_non_null(v);
            if (noun->args[i].type == USHER__ARG_FIELDS)
                assert_int_equal(v->size, 1 + 5 + 6);
            else if (noun->args[i].given != 0 || noun->args[i].code == USHER_FIELD_EPOCH)
                assert_int_equal(v->number, number);
            else
                assert_string_equal(v->text, word);
        }
        assert_int_equal(value_of(&c, USHER_FIELD_NOW)->number, 7);
        assert_true(whole || value_of(&c, USHER_FIELD_WAIT)->number == 2);
        assert_string_equal(value_of(&c, USHER_FIELD_REQUEST)->text, "r1");
        /* no byte less, and nothing after it is touched */
        for (size_t size = 0; size < sizeof room; size++) {
            memset(room, 0x55, sizeof room);
            if (usher_command_parse(line, n, room, size, &c) == USHER_OK)
                break;
            assert_string_equal(usher_message(), "command: room is too small");
            for (size_t i = size; i < sizeof room; i++)
                assert_int_equal(((unsigned char *)room)[i], 0x55);
        }
    }
}

TEST(wrong_lines_are_refused_by_name)
{
    static const struct {
        const char *line, *message;
    } wrong[] = {
        { "", "line has no command" },
        { "# number add p 1", "line has no command" },
        { "number 'add p 1", "line has an open '" },
        { "numbr add p 1", "unknown command `numbr`; did you mean `number`?" },
        { "rooms list p", "unknown command `rooms`; did you mean `room`?" },
        { "number", "verb is missing: usher number VERB POOL …" },
        { "number ad p 1", "`number` has no verb `ad`; did you mean `add`?" },
        { "number add", "pool is missing" },
        { "number add p", "number is missing" },
        { "number add {p} 1", "pool contains a brace" },
        { "number add p 1 2", "`2`: too many arguments for `number add`" },
        { "number add p 1 grup=A",
          "grup is not an argument of `number add`; did you mean group=?" },
        { "number add p gruop=A", "gruop is not an argument of `number add`; did you mean group=? "
                                  "After `--` it is a name" },
        { "number call lease_=5",
          "lease_ is not an argument of `number call`; did you mean lease=? "
          "After `--` it is a name" },
        { "number add -- p", "number is missing" },
        { "number add p 1 -- group=A", "`group=A`: too many arguments for `number add`" },
        { "number add p 1 group=A group=A", "group is given twice" },
        { "number add p 1 group=A,B", NULL },
        { "number call p lease=5y",
          "lease is not a duration from 0 to 3153600000000 ms, or as 90s, 5m, 2h, 1d" },
        { "number renew p 1", "token is missing" },
        { "number set p order=first", "order is none of longest-idle, most-recent, random" },
        { "id return d 1 1 epoch=7 token=1", "epoch is not 16 hex digits" },
        { "number add p 1 now=-1", NULL },
        { "number add p 1 wait=0", "wait is not a number from 1 to 255" },
    };
    struct usher_command c;
    uint64_t room[256];

    for (size_t i = 0; i < COUNT(wrong); i++) {
        size_t n = strlen(wrong[i].line);

        assert_int_equal(usher_command_parse(wrong[i].line, n, room, sizeof room, &c),
                         USHER_INVALID);
        if (wrong[i].message != NULL)
            assert_string_equal(usher_message(), wrong[i].message);
    }
    assert_int_equal(usher_command_parse(NULL, 0, room, sizeof room, &c), USHER_INVALID);
    assert_int_equal(usher_command_parse("", 0, NULL, 0, &c), USHER_INVALID);
    assert_int_equal(usher_command_parse("", 0, room, sizeof room, NULL), USHER_INVALID);
}

/* After `--` no word is an option. */
TEST(words_after_a_dash_are_no_options)
{
    static const struct {
        const char *line, *scope, *name;
    } good[] = {
        { "number add p -- gruop=A", "p", "gruop=A" },
        { "number add p -- group=A", "p", "group=A" },
        { "number add -- now=1 req=2", "now=1", "req=2" },
        { "number add p -- --", "p", "--" },
        { "number add p prefix=+49", "p", "prefix=+49" }, /* like no argument */
    };
    struct usher_command c;
    uint64_t room[256];

    for (size_t i = 0; i < COUNT(good); i++) {
        if (usher_command_parse(good[i].line, strlen(good[i].line), room, sizeof room, &c) !=
            USHER_OK)
            fail_msg("%s: %s", good[i].line, usher_message());
        assert_string_equal(c.scope, good[i].scope);
        assert_int_equal(c.n, 1);
        assert_string_equal(c.values[0].text, good[i].name);
    }
    assert_int_equal(usher_command_parse("room set r -- if=5 log=7", 24, room, sizeof room, &c),
                     USHER_OK);
    assert_memory_equal(value_of(&c, USHER_FIELD_FIELD)->text, "if=", 3);
    assert_int_equal(value_of(&c, USHER_FIELD_FIELD)->size, 2);
    assert_memory_equal(value_of(&c, USHER_FIELD_VALUE)->text, "5", 2);
    assert_non_null(value_of(&c, USHER_FIELD_FIELDS));
    assert_null(value_of(&c, USHER_FIELD_IF));
}

/* The verb that takes fields as KEY=VALUE, a line of it that may go on, and all its options. */
static const struct {
    const char *verb, *line, *options;
} with_fields[] = {
    { "set", "room set r f v", "field value if if-version epoch req now wait" },
    { "join", "room join r m", "member if-version epoch req now wait" },
    { "member", "room member r m f v", "member field value if if-version epoch req now wait" },
    { "share", "room share r m s", "member share if-version epoch req now wait" },
};

/* No fields either: a later version may have options of these names. */
static const char reserved[] = "session hidden first life alone lobby heir";

static bool is_option(const char *options, const char *word)
{
    size_t n = strlen(word);

    for (const char *at = options; (at = strstr(at, word)) != NULL; at += n)
        if ((at == options || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0'))
            return true;
    return false;
}

/* Is WORD=1 after @line a field? */
static bool is_field(const char *line, const char *word)
{
    char whole[128];
    uint64_t room[256];
    struct usher_command c;
    const struct usher_value *fields;
    int n = snprintf(whole, sizeof whole, "%s %s=1", line, word);

    if (usher_command_parse(whole, (size_t)n, room, sizeof room, &c) != USHER_OK)
        return false; /* it is read as an option that is given already, or is not 1 */
    fields = value_of(&c, USHER_FIELD_FIELDS);
    return fields != NULL &&
           has(fields->text, (size_t)fields->size, word, strlen(word)); /* packed as it is */
}

/*
 * These lists never grow.  A program calls its fields as it likes: an option that is added here
 * would take the field of that name away from it, without an error.  A new option of these verbs
 * is read only in a line that has `--`, which no line with such a field needs today.
 */
TEST(the_options_beside_fields_are_a_closed_list)
{
    const struct usher_field_about *about;
    uint32_t verb = 0, field;
    size_t n = 0, n_words = 0;

    while ((verb = usher_next_verb(verb)) != 0) {
        bool fields = false;

        for (size_t i = 0; (field = usher_verb_takes(verb, i, NULL)) != 0; i++)
            fields = fields || field == USHER_FIELD_FIELDS;
        n += fields;
    }
    assert_int_equal(n, COUNT(with_fields));
    for (size_t i = 0; i < COUNT(with_fields); i++) {
        verb = usher_verb_of("room", with_fields[i].verb);
        for (size_t k = 0; (field = usher_verb_takes(verb, k, NULL)) != 0; k++) {
            about = usher_about_field(field);
            if (field != USHER_FIELD_FIELDS && !is_option(with_fields[i].options, about->word))
                fail_msg("%s= is a new option of `room %s`", about->word, with_fields[i].verb);
        }
        /* the words of all options of all verbs */
        n_words = 0;
        for (uint32_t all = 0; (all = usher_next_verb(all)) != 0;)
            for (size_t k = 0; (field = usher_verb_takes(all, k, NULL)) != 0; k++, n_words++) {
                about = usher_about_field(field);
                if (is_field(with_fields[i].line, about->word) ==
                    (is_option(with_fields[i].options, about->word) ||
                     is_option(reserved, about->word)))
                    fail_msg("%s %s=1", with_fields[i].line, about->word);
            }
        assert_in_range(n_words, 300, 100000);
    }
}

/* A line has no end but its size; twice that and 2 KiB are enough. */
TEST(long_line_needs_at_most_twice_its_size)
{
    char line[40000];
    size_t n = (size_t)snprintf(line, sizeof line, "room join r ann");
    unsigned char *room;
    struct usher_command c;

    for (int i = 0; i < 32; i++) {
        n += (size_t)snprintf(line + n, sizeof line - n, " f%d=", i);
        memset(line + n, 'x', 1000);
        n += 1000;
    }
    line[n] = 'y';
    room = malloc(2 * n + 2048);
    assert_non_null(room);
    /* wherever it is */
    for (size_t at = 0; at < 8; at++) {
        assert_int_equal(usher_command_parse(line, n, room + at, 2 * n + 2048 - at, &c), USHER_OK);
        assert_int_equal((uintptr_t)c.values % sizeof(int64_t), 0);
        assert_in_range(value_of(&c, USHER_FIELD_FIELDS)->size, 32000, 33000);
    }
    free(room);
}
