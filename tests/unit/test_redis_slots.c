/* SPDX-License-Identifier: MIT */
/*
 * Slots of keys, answers to CLUSTER SLOTS and redirects, as servers give them and as they should
 * not.  Replies are built by hand; where bytes matter they are written down and go through
 * hiredis' reader.  No text that is read has anything after it, so that a sanitizer sees a step
 * beyond.
 *
 *   USHER_TEST_SEED      repeats the random part of a run
 *   USHER_STEPS          how many random replies and redirects; 4000
 *   USHER_SLOT_VECTORS   a file of lines "key,slot,..." with a line of headings: all are compared
 *                        whose keys are without braces
 */
#include "lib/test.h"

#include <hiredis/hiredis.h>

#include "../../backends/redis/slots.h"

#include "lib/util.h"

static unsigned steps(void)
{
    const char *text = getenv("USHER_STEPS");
    unsigned long n = text != NULL ? strtoul(text, NULL, 10) : 4000;

    return n < 1000000 ? (unsigned)n : 1000000;
}

/* ---- memory that is counted and can fail ---- */

static struct memory memory;
static const struct usher_allocator alloc = { memory_resize, &memory };

/* ---- replies by hand; all of them go when the test ends ---- */

struct kept {
    struct kept *next;
};

static struct kept *kept;

static void *keep(size_t size)
{
    struct kept *k = calloc(1, sizeof *k + (size > 0 ? size : 1));

    assert_non_null(k);
    k->next = kept;
    kept = k;
    return k + 1;
}

static int drop_all(void **state)
{
    (void)state;
    while (kept != NULL) {
        struct kept *next = kept->next;

        free(kept);
        kept = next;
    }
    return memory.bytes == 0 ? 0 : -1;
}

TEST_EACH(NULL, drop_all);

static redisReply *of_type(int type)
{
    redisReply *r = keep(sizeof *r);

    r->type = type;
    return r;
}

static redisReply *num(long long v)
{
    redisReply *r = of_type(REDIS_REPLY_INTEGER);

    r->integer = v;
    return r;
}

static redisReply *nil(void)
{
    return of_type(REDIS_REPLY_NIL);
}

static redisReply *text_n(const char *p, size_t n)
{
    redisReply *r = of_type(REDIS_REPLY_STRING);

    r->str = keep(n);
    memcpy(r->str, p, n);
    r->len = n;
    return r;
}

static redisReply *text_reply(const char *s)
{
    return text_n(s, strlen(s));
}

static redisReply *array_n(size_t n)
{
    redisReply *r = of_type(REDIS_REPLY_ARRAY);

    r->elements = n;
    r->element = keep(n * sizeof(redisReply *));
    return r;
}

static redisReply *array_of(size_t n, ...)
{
    redisReply *r = array_n(n);
    va_list args;

    va_start(args, n);
    for (size_t i = 0; i < n; i++)
        r->element[i] = va_arg(args, redisReply *);
    va_end(args);
    return r;
}

#define COUNT(...) (sizeof((redisReply *[]){ __VA_ARGS__ }) / sizeof(redisReply *))
#define LIST(...) array_of(COUNT(__VA_ARGS__), __VA_ARGS__)
#define NONE array_n(0)
#define NODE(host, port) LIST(text_reply(host), num(port))
#define ID_1 "07c37dfeb235213a872192d90877d0cd55635b91"
#define ID_2 "67ed2db8d677e59ec4a4cefb06858cf2a1a89fa1"

/* ---- bytes ---- */

struct bytes {
    char *p;
    size_t n, room;
};

static void put_n(struct bytes *b, const void *p, size_t n)
{
    if (b->n + n > b->room) {
        b->room = (b->n + n) * 2;
        b->p = realloc(b->p, b->room);
        assert_non_null(b->p);
    }
    memcpy(b->p + b->n, p, n);
    b->n += n;
}

static void put_head(struct bytes *b, char type, long long v)
{
    char line[32];

    (void)snprintf(line, sizeof line, "%c%lld\r\n", type, v);
    put_n(b, line, strlen(line));
}

static void put(struct bytes *b, const redisReply *r)
{
    switch (r->type) {
    case REDIS_REPLY_INTEGER:
        put_head(b, ':', r->integer);
        break;
    case REDIS_REPLY_STRING:
        put_head(b, '$', (long long)r->len);
        put_n(b, r->str, r->len);
        put_n(b, "\r\n", 2);
        break;
    case REDIS_REPLY_ARRAY:
        put_head(b, '*', (long long)r->elements);
        for (size_t i = 0; i < r->elements; i++)
            put(b, r->element[i]);
        break;
    default:
        put_n(b, "$-1\r\n", 5);
    }
}

/* hiredis allocates an array as long as it is announced. */
static bool announces_too_much(const struct bytes *b)
{
    for (size_t i = 0; i < b->n; i++) {
        size_t digits = 0;

        if (strchr("*%~>|", b->p[i]) == NULL)
            continue;
        for (size_t k = i + 1; k < b->n && b->p[k] != '\r' && b->p[k] != '\n'; k++)
            digits += b->p[k] >= '0' && b->p[k] <= '9';
        if (digits > 4)
            return true;
    }
    return false;
}

/* NULL: there is no whole reply in it. */
static redisReply *from_bytes(const struct bytes *b)
{
    redisReader *reader = redisReaderCreate();
    void *reply = NULL;

    assert_non_null(reader);
    if (redisReaderFeed(reader, b->p, b->n) != REDIS_OK ||
        redisReaderGetReply(reader, &reply) != REDIS_OK)
        reply = NULL;
    redisReaderFree(reader);
    return reply;
}

/* ---- views ---- */

static const struct usher__redis_address asked = { "10.0.0.9", 7000 };

static void must_be_sound(const struct usher__redis_view *v)
{
    size_t covered = 0, masters = 0;

    assert_true(v->n <= USHER__REDIS_MEMBERS_MAX && v->n <= v->room);
    assert_true((v->members == NULL) == (v->room == 0));
    for (size_t i = 0; i < v->n; i++) {
        const struct usher__redis_member *m = &v->members[i];

        assert_non_null(memchr(m->at.host, '\0', sizeof m->at.host));
        assert_non_null(memchr(m->id, '\0', sizeof m->id));
        assert_true(m->at.host[0] != '\0' && m->at.port != 0);
        for (const char *p = m->at.host; *p != '\0'; p++)
            assert_true(*p > ' ' && *p < 0x7f && *p != '[' && *p != ']');
        for (const char *p = m->id; *p != '\0'; p++)
            assert_true(*p > ' ' && *p < 0x7f);
        masters += m->master;
    }
    for (size_t i = 0; i < v->n && v->n <= 100; i++)
        for (size_t k = 0; k < i; k++)
            assert_false(v->members[i].at.port == v->members[k].at.port &&
                         strcmp(v->members[i].at.host, v->members[k].at.host) == 0);
    for (size_t i = 0; i < USHER__REDIS_SLOTS; i++) {
        if (v->owner[i] == USHER__REDIS_NOBODY)
            continue;
        covered++;
        assert_true(v->owner[i] < v->n);
        assert_true(v->members[v->owner[i]].master);
    }
    assert_true(masters <= USHER__REDIS_MASTERS_MAX);
    assert_int_equal(covered, v->covered);
}

static enum usher_status read_asked(const redisReply *reply, const struct usher__redis_address *at,
                                    struct usher__redis_view **ret)
{
    struct usher__redis_view *const before = *ret;
    enum usher_status status = usher__redis_view_read(&alloc, reply, at, ret);

    if (status == USHER_OK)
        must_be_sound(*ret);
    else
        assert_ptr_equal(*ret, before);
    return status;
}

static struct usher__redis_view *understood(const redisReply *reply)
{
    struct usher__redis_view *v = NULL;

    assert_int_equal(read_asked(reply, &asked, &v), USHER_OK);
    return v;
}

static void not_understood(const redisReply *reply)
{
    struct usher__redis_view *v = NULL;

    assert_int_equal(read_asked(reply, &asked, &v), USHER_INVALID);
    assert_int_equal(memory.bytes, 0);
}

static void drop(struct usher__redis_view *v)
{
    usher__redis_view_free(&alloc, v);
    assert_int_equal(memory.bytes, 0);
}

static const struct usher__redis_member *member_at(const struct usher__redis_view *v,
                                                   const char *host, unsigned port)
{
    for (size_t i = 0; i < v->n; i++)
        if (v->members[i].at.port == port && strcmp(v->members[i].at.host, host) == 0)
            return &v->members[i];
    return NULL;
}

static void owned(const struct usher__redis_view *v, unsigned slot, const char *host, unsigned port)
{
    if (host == NULL) {
        assert_int_equal(v->owner[slot], USHER__REDIS_NOBODY);
        return;
    }
    assert_int_not_equal(v->owner[slot], USHER__REDIS_NOBODY);
    assert_string_equal(v->members[v->owner[slot]].at.host, host);
    assert_int_equal(v->members[v->owner[slot]].at.port, port);
}

/* Require the owner in a view of one range with one node; @host NULL: none. */
static void one_node(redisReply *node, const char *host, unsigned port)
{
    struct usher__redis_view *v = understood(LIST(LIST(num(5), num(6), node)));

    assert_int_equal(v->n, host != NULL);
    assert_int_equal(v->covered, host != NULL ? 2 : 0);
    owned(v, 4, NULL, 0);
    owned(v, 5, host, port);
    owned(v, 6, host, port);
    owned(v, 7, NULL, 0);
    drop(v);
}

static void one_host(const char *p, size_t n, const char *host)
{
    one_node(LIST(text_n(p, n), num(6379)), host, 6379);
}

static void no_host(const char *p, size_t n)
{
    not_understood(LIST(LIST(num(5), num(6), LIST(text_n(p, n), num(6379)))));
    /* a replica is no better */
    not_understood(LIST(LIST(num(5), num(6), NODE("a", 1), LIST(text_n(p, n), num(6379)))));
}

/* ---- tests: slots ---- */

static unsigned crc16_bit_by_bit(const unsigned char *p, size_t n)
{
    unsigned crc = 0;

    for (size_t i = 0; i < n; i++)
        for (unsigned bit = 0x80; bit != 0; bit >>= 1) {
            bool out = (crc & 0x8000) != 0;

            crc = (crc << 1 & 0xffff) ^ (out != ((p[i] & bit) != 0) ? 0x1021U : 0);
        }
    return crc;
}

static unsigned slot_of(const char *key)
{
    char *exact = malloc(strlen(key) + 1);
    unsigned slot;

    assert_non_null(exact);
    memcpy(exact, key, strlen(key) + 1);
    exact = realloc(exact, strlen(key) > 0 ? strlen(key) : 1);
    slot = usher__redis_slot_of_tag(exact, strlen(key));
    free(exact);
    return slot;
}

TEST_WITH(a_slot_is_the_crc_of_the_tag, NULL, NULL)
{
    unsigned char tag[300];

    (void)seed_set();
    assert_int_equal(crc16_bit_by_bit((const unsigned char *)"123456789", 9), 0x31c3);
    assert_int_equal(usher__redis_slot_of_tag("123456789", 9), 0x31c3);
    assert_int_equal(usher__redis_slot_of_tag(NULL, 0), 0);
    for (unsigned i = 0; i < 0x10000; i++) {
        tag[0] = (unsigned char)(i >> 8);
        tag[1] = (unsigned char)i;
        assert_int_equal(usher__redis_slot_of_tag((const char *)tag, 2),
                         crc16_bit_by_bit(tag, 2) & 0x3fff);
    }
    for (unsigned i = 0; i < 20000; i++) {
        size_t n = rnd(sizeof tag + 1);

        for (size_t k = 0; k < n; k++)
            tag[k] = (unsigned char)rnd(256);
        assert_int_equal(usher__redis_slot_of_tag((const char *)tag, n),
                         crc16_bit_by_bit(tag, n) & 0x3fff);
    }
}

TEST_WITH(keys_have_the_slots_that_the_manuals_say, NULL, NULL)
{
    static const struct {
        const char *key;
        unsigned slot;
    } facts[] = {
        { "foo", 12182 },     { "bar", 5061 },      { "hello", 866 },     { "key", 12539 },
        { "mykey", 14687 },   { "somekey", 11058 }, { "a", 15495 },       { "b", 3300 },
        { "c", 7365 },        { "test", 6918 },     { "name", 5798 },     { "age", 741 },
        { "k1", 12706 },      { "k2", 449 },        { "hash_tag", 2515 }, { "123456789", 12739 },
        { "user1000", 3443 },
    };

    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        assert_int_equal(slot_of(facts[i].key), facts[i].slot);
}

TEST_WITH(every_vector_of_a_given_file_agrees, NULL, NULL)
{
    const char *path = getenv("USHER_SLOT_VECTORS");
    char line[512];
    unsigned n = 0;
    FILE *f;

    if (path == NULL) /* there is what is computed above */
        return;
    f = fopen(path, "r");
    assert_non_null(f);
    assert_non_null(fgets(line, sizeof line, f));
    while (fgets(line, sizeof line, f) != NULL) {
        char *comma = strchr(line, ',');

        assert_non_null(comma);
        if (memchr(line, '{', (size_t)(comma - line)) != NULL)
            continue; /* which part of a key counts is not asked here */
        assert_int_equal(usher__redis_slot_of_tag(line, (size_t)(comma - line)),
                         strtoul(comma + 1, NULL, 10));
        n++;
    }
    (void)fclose(f);
    print_message("%u vectors\n", n);
    assert_true(n > 0);
}

/* ---- tests: views ---- */

TEST(an_answer_names_masters_and_replicas)
{
    /* as Redis 7.0 gives it */
    redisReply *reply = LIST(
        LIST(num(0), num(5460), LIST(text_reply("127.0.0.1"), num(30001), text_reply(ID_1), NONE),
             LIST(text_reply("127.0.0.1"), num(30004), text_reply(ID_2), NONE)),
        LIST(num(5461), num(10922), LIST(text_reply("127.0.0.1"), num(30002)),
             NODE("127.0.0.1", 30005)),
        LIST(num(10923), num(16383), LIST(text_reply("127.0.0.1"), num(30003), nil())));
    struct usher__redis_view *v = understood(reply);

    assert_int_equal(v->n, 5);
    assert_int_equal(v->covered, USHER__REDIS_SLOTS);
    owned(v, 0, "127.0.0.1", 30001);
    owned(v, 5460, "127.0.0.1", 30001);
    owned(v, 5461, "127.0.0.1", 30002);
    owned(v, 10922, "127.0.0.1", 30002);
    owned(v, 10923, "127.0.0.1", 30003);
    owned(v, 16383, "127.0.0.1", 30003);
    assert_true(member_at(v, "127.0.0.1", 30001)->master);
    assert_string_equal(member_at(v, "127.0.0.1", 30001)->id, ID_1);
    assert_false(member_at(v, "127.0.0.1", 30004)->master);
    assert_string_equal(member_at(v, "127.0.0.1", 30004)->id, ID_2);
    assert_false(member_at(v, "127.0.0.1", 30005)->master);
    assert_string_equal(member_at(v, "127.0.0.1", 30002)->id, "");
    assert_string_equal(member_at(v, "127.0.0.1", 30003)->id, "");
    drop(v);
}

TEST(no_ranges_are_a_view_that_covers_nothing)
{
    struct usher__redis_view *v = understood(NONE);

    assert_int_equal(v->n, 0);
    assert_int_equal(v->covered, 0);
    owned(v, 0, NULL, 0);
    owned(v, 16383, NULL, 0);
    drop(v);
    usher__redis_view_free(&alloc, NULL);
}

TEST(slots_in_gaps_have_no_owner)
{
    struct usher__redis_view *v =
        understood(LIST(LIST(num(0), num(3), NODE("a", 1)), LIST(num(7), num(12), NODE("b", 1)),
                        LIST(num(16383), num(16383), NODE("a", 1))));

    assert_int_equal(v->covered, 11);
    assert_int_equal(v->n, 2);
    owned(v, 3, "a", 1);
    owned(v, 4, NULL, 0);
    owned(v, 6, NULL, 0);
    owned(v, 7, "b", 1);
    owned(v, 12, "b", 1);
    owned(v, 13, NULL, 0);
    owned(v, 16383, "a", 1);
    drop(v);
}

TEST(later_of_two_overlapping_ranges_wins)
{
    struct usher__redis_view *v =
        understood(LIST(LIST(num(0), num(100), NODE("a", 1)), LIST(num(50), num(60), NODE("b", 1)),
                        LIST(num(58), num(70), NODE("c", 1)),
                        LIST(num(80), num(90), LIST(text_reply("?"), num(1)))));

    owned(v, 49, "a", 1);
    owned(v, 50, "b", 1);
    owned(v, 57, "b", 1);
    owned(v, 58, "c", 1);
    owned(v, 70, "c", 1);
    owned(v, 71, "a", 1);
    owned(v, 80, NULL, 0); /* of an unknown owner */
    owned(v, 91, "a", 1);
    assert_int_equal(v->covered, 101 - 11);
    drop(v);
}

TEST(missing_host_is_that_of_the_queried_node)
{
    static const struct usher__redis_address file = { "", 0 };
    struct usher__redis_view *v = NULL;

    one_node(LIST(nil(), num(7001)), "10.0.0.9", 7001);
    one_node(LIST(text_reply(""), num(7001)), "10.0.0.9", 7001);
    one_node(LIST(nil(), num(0)), NULL, 0);
    /* over a socket file there is none */
    assert_int_equal(
        read_asked(LIST(LIST(num(5), num(6), LIST(nil(), num(7001)), NODE("a", 1))), &file, &v),
        USHER_OK);
    assert_int_equal(v->n, 1);
    assert_int_equal(v->covered, 0);
    drop(v);
}

TEST(hosts_are_addresses_of_both_families_and_names)
{
    char longest[USHER__REDIS_HOST_MAX];

    one_host("::1", 3, "::1");
    one_host("2001:db8:0:0:1:0:0:1", 20, "2001:db8:0:0:1:0:0:1");
    one_host("fe80::1%eth0", 12, "fe80::1%eth0");
    one_host("[::1]", 5, "::1"); /* some proxies */
    one_host("redis-0.redis.svc.cluster.local", 31, "redis-0.redis.svc.cluster.local");
    one_host("x", 1, "x");
    memset(longest, 'h', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    one_host(longest, sizeof longest - 1, longest);
    one_node(LIST(text_reply("a"), num(1)), "a", 1);
    one_node(LIST(text_reply("a"), num(65535)), "a", 65535);
}

TEST(a_host_that_cannot_be_one_spoils_the_answer)
{
    char longer[USHER__REDIS_HOST_MAX];

    memset(longer, 'h', sizeof longer);
    no_host(longer, sizeof longer);
    no_host("a\0b", 3);
    no_host("\0", 1);
    no_host("a b", 3);
    no_host(" ", 1);
    no_host("a\n", 2);
    no_host("a\r\nb", 4);
    no_host("\x7f", 1);
    no_host("\xc3\xa4", 2);
    no_host("[]", 2);
    no_host("[", 1);
    no_host("]", 1);
    no_host("[::1", 4);
    no_host("::1]", 4);
    no_host("[[::1]]", 7);
    for (unsigned c = 0; c < 256; c++) {
        char byte = (char)c;

        if (c <= ' ' || c >= 0x7f || c == '[' || c == ']')
            no_host(&byte, 1);
        else if (c != '?')
            one_host(&byte, 1, (char[]){ byte, '\0' });
    }
}

TEST(node_without_a_known_name_is_left_out)
{
    struct usher__redis_view *v = understood(LIST(
        LIST(num(0), num(99), LIST(text_reply("?"), num(7001), text_reply(ID_1)), NODE("b", 2)),
        LIST(num(100), num(199), NODE("c", 3), NODE("?", 4), NODE("d", 0), NODE("e", 5))));

    assert_int_equal(v->n, 3);
    assert_int_equal(v->covered, 100);
    owned(v, 0, NULL, 0);
    owned(v, 100, "c", 3);
    assert_false(member_at(v, "b", 2)->master);
    assert_false(member_at(v, "e", 5)->master);
    drop(v);
    one_node(NODE("?", 1), NULL, 0);
    one_node(NODE("d", 0), NULL, 0);
}

TEST(unknown_fields_of_a_node_are_ignored)
{
    redisReply *strange = of_type(99);

    /* Redis 7 with names */
    one_node(LIST(text_reply("redis-0"), num(6379), text_reply(ID_1),
                  LIST(text_reply("ip"), text_reply("10.0.0.1"))),
             "redis-0", 6379);
    one_node(LIST(text_reply("redis-0"), num(6379), text_reply(ID_1), NONE, num(7), nil(), strange),
             "redis-0", 6379);
    one_node(LIST(text_reply("redis-0"), num(6379), text_reply(ID_1), NULL), "redis-0", 6379);
}

/* The address in the fields of a node, which may be anything. */
TEST(the_address_of_a_node_with_a_name_is_kept)
{
    redisReply *strange = of_type(99);
    const struct {
        redisReply *fields;
        const char *ip;
    } rows[] = {
        { LIST(text_reply("ip"), text_reply("10.0.0.1")), "10.0.0.1" },
        { LIST(text_reply("hostname"), text_reply("x"), text_reply("ip"), text_reply("::1")),
          "::1" },
        { LIST(text_reply("hostname"), text_reply("ip"), text_reply("x"), text_reply("y")), "" },
        { LIST(text_reply("ip"), text_reply("10.0.0.1 10.0.0.2")), "" },
        { LIST(text_reply("ip"), text_n("10.0.0.1\0", 9)), "" },
        { LIST(text_reply("ip"), text_reply("1234567890123456789012345678901234567890123456")),
          "" },
        { LIST(text_reply("ip"), nil()), "" },
        { LIST(text_reply("ip"), num(1)), "" },
        { LIST(text_reply("ip")), "" },
        { LIST(strange, text_reply("10.0.0.1")), "" },
        { LIST(text_reply("ipv"), text_reply("10.0.0.1")), "" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct usher__redis_view *v = understood(
            LIST(LIST(num(0), num(1),
                      LIST(text_reply("redis-0"), num(6379), text_reply(ID_1), rows[i].fields))));

        assert_string_equal(member_at(v, "redis-0", 6379)->ip, rows[i].ip);
        drop(v);
    }
}

/* Answers of Sentinels, and what is none. */
TEST(the_address_of_a_master_is_read_from_a_sentinel)
{
    struct usher__redis_address at = { .port = 7 };
    char longest[USHER__REDIS_HOST_MAX + 1];
    redisReply *bad[18];
    size_t n = 0;

    assert_true(usher__redis_sentinel_read(LIST(text_reply("10.0.0.1"), text_reply("6379")), &at));
    assert_string_equal(at.host, "10.0.0.1");
    assert_int_equal(at.port, 6379);
    assert_true(usher__redis_sentinel_read(LIST(text_reply("[::1]"), text_reply("65535")), &at));
    assert_string_equal(at.host, "::1");
    assert_int_equal(at.port, 65535);
    memset(longest, 'h', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    bad[n++] = nil();
    bad[n++] = NONE;
    bad[n++] = text_reply("10.0.0.1");
    bad[n++] = LIST(text_reply("10.0.0.1"));
    bad[n++] = LIST(text_reply("10.0.0.1"), text_reply("6379"), text_reply("x"));
    bad[n++] = LIST(text_reply("10.0.0.1"), num(6379));
    bad[n++] = LIST(nil(), text_reply("6379"));
    bad[n++] = LIST(text_reply("10.0.0.1"), nil());
    bad[n++] = LIST(text_reply(""), text_reply("6379"));
    bad[n++] = LIST(text_reply("?"), text_reply("6379"));
    bad[n++] = LIST(text_reply("a b"), text_reply("6379"));
    bad[n++] = LIST(text_n("a\0b", 3), text_reply("6379"));
    bad[n++] = LIST(text_reply(longest), text_reply("6379"));
    bad[n++] = LIST(text_reply("10.0.0.1"), text_reply("0"));
    bad[n++] = LIST(text_reply("10.0.0.1"), text_reply("65536"));
    bad[n++] = LIST(text_reply("10.0.0.1"), text_reply("-1"));
    bad[n++] = LIST(text_reply("10.0.0.1"), text_reply("6379 "));
    bad[n++] = LIST(text_reply("10.0.0.1"), text_reply(""));
    assert_int_equal(n, sizeof bad / sizeof *bad);
    for (size_t i = 0; i < n; i++) {
        if (usher__redis_sentinel_read(bad[i], &at))
            fail_msg("answer %zu is understood", i);
        assert_string_equal(at.host, "::1");
        assert_int_equal(at.port, 65535);
    }
}

TEST(each_address_is_listed_once_and_the_master_wins)
{
    redisReply *id_1 = text_reply(ID_1), *id_2 = text_reply(ID_2);
    struct usher__redis_view *v = understood(
        LIST(LIST(num(0), num(1), NODE("a", 1), LIST(text_reply("b"), num(1), id_1), NODE("a", 1)),
             LIST(num(2), num(3), LIST(text_reply("b"), num(1), id_2),
                  LIST(text_reply("a"), num(1), id_1)),
             LIST(num(4), num(5), NODE("a", 2), LIST(text_reply("b"), num(1), id_1), NODE("c", 1)),
             LIST(num(6), num(7), NODE("a", 1), LIST(text_reply("c"), num(1), id_1)),
             LIST(num(8), num(9), NODE("a", 1), LIST(text_reply("c"), num(1), id_2), NODE("c", 1)),
             LIST(num(10), num(11), LIST(nil(), num(7000), id_1)),
             LIST(num(12), num(13), LIST(text_reply("10.0.0.9"), num(7000), id_2))));

    assert_int_equal(v->n, 5);
    assert_true(member_at(v, "a", 1)->master);
    assert_string_equal(member_at(v, "a", 1)->id, ID_1);
    assert_true(member_at(v, "b", 1)->master);
    assert_string_equal(member_at(v, "b", 1)->id, ID_2); /* of the master, not of the replica */
    assert_true(member_at(v, "a", 2)->master);
    assert_false(member_at(v, "c", 1)->master);
    assert_string_equal(member_at(v, "c", 1)->id, ID_2);
    assert_string_equal(member_at(v, "10.0.0.9", 7000)->id, ID_2);
    owned(v, 0, "a", 1);
    owned(v, 2, "b", 1);
    owned(v, 4, "a", 2);
    owned(v, 10, "10.0.0.9", 7000);
    owned(v, 12, "10.0.0.9", 7000);
    drop(v);
}

static redisReply *range(redisReply *begin, redisReply *end, redisReply *node)
{
    return LIST(LIST(num(0), num(1), NODE("good", 1)), LIST(begin, end, node));
}

TEST(ranges_beyond_the_slots_spoil_the_answer)
{
    not_understood(range(num(0), num(16384), NODE("a", 1)));
    not_understood(range(num(16384), num(16384), NODE("a", 1)));
    not_understood(range(num(-1), num(5), NODE("a", 1)));
    not_understood(range(num(6), num(5), NODE("a", 1)));
    not_understood(range(num(16383), num(0), NODE("a", 1)));
    not_understood(range(num(INT64_MIN), num(INT64_MAX), NODE("a", 1)));
    not_understood(range(num(0), num(INT64_C(1) << 32), NODE("a", 1)));
    not_understood(range(num(INT64_C(1) << 32), num(5), NODE("a", 1)));
}

TEST(anything_of_another_type_spoils_the_answer)
{
    redisReply *good = LIST(LIST(num(0), num(1), NODE("good", 1)));
    redisReply *strange[7];
    int type[7] = { REDIS_REPLY_STRING,
                    REDIS_REPLY_ARRAY,
                    REDIS_REPLY_INTEGER,
                    REDIS_REPLY_NIL,
                    REDIS_REPLY_STATUS,
                    REDIS_REPLY_ERROR,
                    99 };

    drop(understood(good));
    not_understood(NULL);
    for (size_t i = 0; i < 7; i++) {
        redisReply *s = strange[i] = type[i] == REDIS_REPLY_STRING  ? text_reply("7")
                                     : type[i] == REDIS_REPLY_ARRAY ? LIST(num(7), num(7))
                                                                    : of_type(type[i]);
        bool is_text, is_number = type[i] == REDIS_REPLY_INTEGER;

        if (type[i] == REDIS_REPLY_STATUS || type[i] == REDIS_REPLY_ERROR || type[i] == 99) {
            s->str = keep(1);
            s->str[0] = '7';
            s->len = 1;
        }
        is_text = type[i] == REDIS_REPLY_STRING || type[i] == REDIS_REPLY_STATUS;
        s->integer = 1;
        not_understood(s);
        not_understood(LIST(s));
        not_understood(LIST(good->element[0], s));
        if (!is_number) {
            not_understood(range(s, num(1), NODE("a", 1)));
            not_understood(range(num(1), s, NODE("a", 1)));
            not_understood(range(num(1), num(1), LIST(text_reply("a"), s)));
        }
        not_understood(range(num(1), num(1), s));
        not_understood(LIST(LIST(num(0), num(1), NODE("a", 1), s)));
        if (!is_text && type[i] != REDIS_REPLY_NIL) {
            not_understood(range(num(1), num(1), LIST(s, num(1))));
            not_understood(range(num(1), num(1), LIST(text_reply("a"), num(1), s)));
        }
    }
    not_understood(range(num(1), num(1), LIST(of_type(REDIS_REPLY_STRING), num(1))));
    not_understood(
        range(num(1), num(1), LIST(text_reply("a"), num(1), of_type(REDIS_REPLY_STRING))));
    not_understood(range(NULL, num(1), NODE("a", 1)));
    not_understood(range(num(1), NULL, NODE("a", 1)));
    not_understood(range(num(1), num(1), NULL));
    not_understood(range(num(1), num(1), LIST(NULL, num(1))));
    not_understood(range(num(1), num(1), LIST(text_reply("a"), NULL)));
    not_understood(range(num(1), num(1), LIST(text_reply("a"), num(1), NULL)));
    not_understood(LIST(good->element[0], NULL));
}

TEST(too_few_elements_spoil_the_answer)
{
    not_understood(LIST(NONE));
    not_understood(LIST(LIST(num(0))));
    not_understood(LIST(LIST(num(0), num(1))));
    not_understood(range(num(0), num(1), NONE));
    not_understood(range(num(0), num(1), LIST(text_reply("a"))));
    not_understood(LIST(LIST(num(0), num(1), NODE("a", 1), NONE)));
    not_understood(LIST(LIST(num(0), num(1), NODE("a", 1), LIST(text_reply("a")))));
}

TEST(ports_and_ids_that_cannot_be_spoil_the_answer)
{
    not_understood(range(num(0), num(1), NODE("a", -1)));
    not_understood(range(num(0), num(1), NODE("a", 65536)));
    not_understood(range(num(0), num(1), NODE("a", INT64_C(0x100000001))));
    not_understood(range(num(0), num(1), NODE("?", 65536)));
    not_understood(range(num(0), num(1), LIST(text_reply("a"), num(1), text_reply(ID_1 "0"))));
    not_understood(range(num(0), num(1), LIST(text_reply("a"), num(1), text_n("a\0", 2))));
    not_understood(range(num(0), num(1), LIST(text_reply("a"), num(1), text_reply("a b"))));
    not_understood(range(num(0), num(1), LIST(text_reply("a"), num(1), text_reply("\n"))));
    one_node(LIST(text_reply("a"), num(1), text_reply("")), "a", 1);
    one_node(LIST(text_reply("a"), num(1), text_reply("short")), "a", 1);
}

/* @replicas of each. */
static redisReply *many(size_t masters, size_t replicas)
{
    redisReply *reply = array_n(masters), *host = text_reply("a");

    for (size_t i = 0; i < masters; i++) {
        redisReply *r = reply->element[i] = array_n(3 + replicas);

        r->element[0] = r->element[1] = num((long long)i);
        for (size_t k = 0; k <= replicas; k++)
            r->element[2 + k] = LIST(host, num((long long)(60000 - i * (replicas + 1) - k)));
    }
    return reply;
}

TEST(members_of_an_answer_are_limited)
{
    struct usher__redis_view *v;
    redisReply *ranges;

    v = understood(many(1000, 3));
    assert_int_equal(v->n, USHER__REDIS_MEMBERS_MAX);
    assert_int_equal(v->covered, 1000);
    for (unsigned i = 0; i < 1000; i++)
        owned(v, i, "a", 60000 - i * 4);
    drop(v);
    not_understood(many(1001, 0));
    not_understood(many(1000, 4));
    not_understood(many(1, 4000));
    v = understood(many(1, 3999));
    drop(v);

    ranges = array_n(USHER__REDIS_SLOTS + 1);
    for (size_t i = 0; i <= USHER__REDIS_SLOTS; i++)
        ranges->element[i] =
            LIST(num((long long)(i % USHER__REDIS_SLOTS)), num((long long)(i % USHER__REDIS_SLOTS)),
                 NODE("a", 1 + (long long)i % 2));
    not_understood(ranges);
    ranges->elements--;
    v = understood(ranges);
    assert_int_equal(v->n, 2);
    assert_int_equal(v->covered, USHER__REDIS_SLOTS);
    owned(v, 16383, "a", 2);
    drop(v);
}

TEST(without_memory_nothing_is_kept)
{
    redisReply *reply = many(40, 1);
    struct usher__redis_view *v = NULL;
    enum usher_status status;
    unsigned failed = 0;

    for (size_t n = 1;; n++) {
        memory.calls = 0;
        memory.fail_at = n;
        status = read_asked(reply, &asked, &v);
        memory.fail_at = 0;
        if (status == USHER_OK)
            break;
        assert_int_equal(status, USHER_NOMEM);
        assert_int_equal(memory.bytes, 0);
        failed++;
    }
    assert_true(failed >= 4);
    assert_int_equal(v->n, 80);
    drop(v);
}

/* ---- random answers against a simple reading of them ---- */

struct simple_node {
    char host[40]; /* "-": nil */
    unsigned port;
    const char *id; /* NULL: none */
};

struct simple_member {
    const char *host;
    unsigned port;
    bool master;
};

static redisReply *random_view(struct simple_member members[64], size_t *ret_n,
                               const struct simple_member *owner[USHER__REDIS_SLOTS])
{
    static const char *const hosts[] = { "-", "", "?", "10.0.0.9", "10.0.0.8", "::1", "redis-1" };
    struct simple_node nodes[12];
    size_t n_nodes = 1 + rnd(12), n_ranges = rnd(40), n = 0;
    redisReply *reply = array_n(n_ranges);

    for (size_t i = 0; i < n_nodes; i++) {
        (void)snprintf(nodes[i].host, sizeof nodes[i].host, "%s", hosts[rnd(7)]);
        nodes[i].port = rnd(8) == 0 ? 0 : 7000 + (unsigned)rnd(4);
        nodes[i].id = rnd(2) == 0 ? NULL : ID_1;
    }
    for (size_t i = 0; i < USHER__REDIS_SLOTS; i++)
        owner[i] = NULL;
    for (size_t i = 0; i < n_ranges; i++) {
        size_t begin = rnd(USHER__REDIS_SLOTS), end = begin + rnd(USHER__REDIS_SLOTS - begin);
        size_t n_here = 1 + rnd(4);
        redisReply *r = reply->element[i] = array_n(2 + n_here);

        r->element[0] = num((long long)begin);
        r->element[1] = num((long long)end);
        for (size_t k = 0; k < n_here; k++) {
            const struct simple_node *node = &nodes[rnd(n_nodes)];
            redisReply *host = strcmp(node->host, "-") == 0 ? nil() : text_reply(node->host);
            redisReply *port = num(node->port);
            const char *name =
                strcmp(node->host, "-") == 0 || node->host[0] == '\0' ? asked.host : node->host;
            size_t at = 0;

            r->element[2 + k] =
                node->id == NULL ? LIST(host, port) : LIST(host, port, text_reply(node->id));
            if (strcmp(name, "?") == 0 || node->port == 0) {
                if (k == 0)
                    for (size_t slot = begin; slot <= end; slot++)
                        owner[slot] = NULL;
                continue;
            }
            for (size_t h = 0; h < 7; h++) /* a name that stays */
                if (strcmp(name, hosts[h]) == 0)
                    name = hosts[h];
            while (at < n &&
                   (members[at].port != node->port || strcmp(members[at].host, name) != 0))
                at++;
            if (at == n)
                members[n++] = (struct simple_member){ name, node->port, false };
            if (k > 0)
                continue;
            members[at].master = true;
            for (size_t slot = begin; slot <= end; slot++)
                owner[slot] = &members[at];
        }
    }
    *ret_n = n;
    return reply;
}

TEST(random_answers_are_read_as_a_simple_reader_does)
{
    static const struct simple_member *owner[USHER__REDIS_SLOTS];
    struct simple_member members[64];

    (void)seed_set();
    for (unsigned i = 0; i < steps() / 10; i++) {
        size_t n;
        redisReply *by_hand = random_view(members, &n, owner), *reply;
        struct bytes b = { NULL, 0, 0 };
        struct usher__redis_view *v;

        put(&b, by_hand);
        reply = from_bytes(&b);
        assert_non_null(reply);
        v = understood(reply);
        assert_int_equal(v->n, n);
        for (size_t k = 0; k < n; k++) {
            const struct usher__redis_member *m = member_at(v, members[k].host, members[k].port);

            assert_non_null(m);
            assert_int_equal(m->master, members[k].master);
        }
        for (unsigned slot = 0; slot < USHER__REDIS_SLOTS; slot++)
            if ((owner[slot] == NULL) != (v->owner[slot] == USHER__REDIS_NOBODY) ||
                owner[slot] != NULL)
                owned(v, slot, owner[slot] != NULL ? owner[slot]->host : NULL,
                      owner[slot] != NULL ? owner[slot]->port : 0);
        drop(v);
        freeReplyObject(reply);
        free(b.p);
        (void)drop_all(state);
    }
}

static void mutate(struct bytes *b)
{
    static const char interesting[] = "*$:+-_%~0123456789?[]\r\n \t";
    size_t changes = 1 + rnd(4);

    for (size_t i = 0; i < changes && b->n > 0; i++) {
        size_t at = rnd(b->n), n = 1 + rnd(b->n - at < 12 ? b->n - at : 12);
        char again[12];

        switch (rnd(5)) {
        case 0:
            b->p[at] = (char)rnd(256);
            break;
        case 1:
        case 2:
            b->p[at] = interesting[rnd(sizeof interesting - 1)];
            break;
        case 3: /* drop some */
            memmove(b->p + at, b->p + at + n, b->n - at - n);
            b->n -= n;
            break;
        default: /* say some twice */
            memcpy(again, b->p + at, n);
            put_n(b, again, n);
            memmove(b->p + at + n, b->p + at, b->n - at - n);
            memcpy(b->p + at, again, n);
        }
    }
}

TEST(damaged_answer_is_refused_or_valid)
{
    static const struct simple_member *owner[USHER__REDIS_SLOTS];
    struct simple_member members[64];
    unsigned whole = 0, good = 0;

    (void)seed_set();
    for (unsigned i = 0; i < steps(); i++) {
        struct bytes b = { NULL, 0, 0 };
        redisReply *reply;
        size_t n;

        put(&b, random_view(members, &n, owner));
        mutate(&b);
        reply = announces_too_much(&b) ? NULL : from_bytes(&b);
        if (reply != NULL) {
            struct usher__redis_view *v = NULL;
            enum usher_status status = read_asked(reply, &asked, &v);

            whole++;
            good += status == USHER_OK;
            assert_true(status == USHER_OK || status == USHER_INVALID);
            if (status == USHER_OK)
                drop(v);
            assert_int_equal(memory.bytes, 0);
            freeReplyObject(reply);
        }
        free(b.p);
        (void)drop_all(state);
    }
    print_message("%u whole replies, %u understood\n", whole, good);
}

/* ---- tests: redirects ---- */

static bool read_redirect(const char *p, size_t n, const struct usher__redis_address *at,
                          unsigned *ret_slot, struct usher__redis_address *ret_to)
{
    char *exact = malloc(n > 0 ? n : 1);
    bool good;

    assert_non_null(exact);
    if (n > 0)
        memcpy(exact, p, n);
    good = usher__redis_redirect_read(exact, n, at, ret_slot, ret_to);
    free(exact);
    if (good) {
        assert_true(*ret_slot < USHER__REDIS_SLOTS && ret_to->port != 0);
        assert_non_null(memchr(ret_to->host, '\0', sizeof ret_to->host));
        assert_true(ret_to->host[0] != '\0');
        for (const char *q = ret_to->host; *q != '\0'; q++)
            assert_true(*q > ' ' && *q < 0x7f && *q != '[' && *q != ']');
    }
    return good;
}

static void leads(const char *words, unsigned slot, const char *host, unsigned port)
{
    struct usher__redis_address to;
    unsigned got;

    memset(&to, 'x', sizeof to);
    if (!read_redirect(words, strlen(words), &asked, &got, &to))
        fail_msg("not understood: %s", words);
    assert_int_equal(got, slot);
    assert_string_equal(to.host, host);
    assert_int_equal(to.port, port);
}

static void leads_nowhere_n(const char *p, size_t n, const struct usher__redis_address *at)
{
    struct usher__redis_address to, before;
    unsigned slot = 4711;

    memset(&to, 'x', sizeof to);
    before = to;
    if (read_redirect(p, n, at, &slot, &to))
        fail_msg("understood: %.*s", (int)n, p);
    assert_int_equal(slot, 4711);
    assert_memory_equal(&to, &before, sizeof to);
}

static void leads_nowhere(const char *words)
{
    leads_nowhere_n(words, strlen(words), &asked);
}

TEST_WITH(a_redirect_names_slot_and_address, NULL, NULL)
{
    leads("MOVED 3999 127.0.0.1:6381", 3999, "127.0.0.1", 6381);
    leads("ASK 3999 127.0.0.1:6381", 3999, "127.0.0.1", 6381);
    leads("MOVED 0 a:1", 0, "a", 1);
    leads("ASK 16383 a:65535", 16383, "a", 65535);
    leads("MOVED 3999 redis-0.redis.svc.cluster.local:6379", 3999,
          "redis-0.redis.svc.cluster.local", 6379);
}

TEST_WITH(redirect_has_its_port_after_the_last_colon, NULL, NULL)
{
    leads("MOVED 3999 ::1:6381", 3999, "::1", 6381);
    leads("MOVED 3999 2001:db8:0:0:1:0:0:1:6381", 3999, "2001:db8:0:0:1:0:0:1", 6381);
    leads("ASK 3999 [::1]:6381", 3999, "::1", 6381);
    leads("ASK 3999 [fe80::1%eth0]:6381", 3999, "fe80::1%eth0", 6381);
}

TEST_WITH(redirect_without_a_host_is_to_the_queried_node, NULL, NULL)
{
    static const struct usher__redis_address file = { "", 0 };
    struct usher__redis_address at = { "::1", 7000 };
    unsigned slot;

    leads("MOVED 3999 :6381", 3999, "10.0.0.9", 6381);
    leads("ASK 3999 :6381", 3999, "10.0.0.9", 6381);
    leads_nowhere_n("MOVED 3999 :6381", 16, &file);
    /* the answer may take the place of the question */
    assert_true(read_redirect("MOVED 3999 :6381", 16, &at, &slot, &at));
    assert_string_equal(at.host, "::1");
    assert_int_equal(at.port, 6381);
}

TEST_WITH(truncated_redirect_is_refused, NULL, NULL)
{
    static const char moved[] = "MOVED 3999 127.0.0.1:6381", ask[] = "ASK 3999 [::1]:6381";

    leads_nowhere_n(NULL, 0, &asked);
    for (size_t n = 0; n <= sizeof moved - 1 - 4; n++)
        leads_nowhere_n(moved, n, &asked);
    for (size_t n = 0; n <= sizeof ask - 1 - 4; n++)
        leads_nowhere_n(ask, n, &asked);
}

TEST_WITH(text_that_is_no_redirect_is_refused, NULL, NULL)
{
    static const char *const junk[] = {
        "",
        " ",
        "MOVED",
        "MOVED ",
        "moved 3999 a:1",
        "MOVEDX 3999 a:1",
        "-MOVED 3999 a:1",
        " MOVED 3999 a:1",
        "ASKING 3999 a:1",
        "TRYAGAIN Multiple keys request during rehashing of slot",
        "CLUSTERDOWN Hash slot not served",
        "ERR MOVED 3999 a:1",
        "MOVED 16384 a:1",
        "MOVED 99999 a:1",
        "MOVED 100000 a:1",
        "MOVED 4294967296 a:1",
        "MOVED 18446744073709551616 a:1",
        "MOVED 000001 a:1",
        "MOVED -1 a:1",
        "MOVED +1 a:1",
        "MOVED 0x1 a:1",
        "MOVED x a:1",
        "MOVED  a:1",
        "MOVED a:1",
        "MOVED  3999 a:1",
        "MOVED 3999  a:1",
        "MOVED 3999\ta:1",
        "MOVED 3999a:1",
        "MOVED 3999:1",
        "MOVED 3999 6381",
        "MOVED 3999 a",
        "MOVED 3999 a:",
        "MOVED 3999 :",
        "MOVED 3999 a:0",
        "MOVED 3999 a:65536",
        "MOVED 3999 a:99999",
        "MOVED 3999 a:100001",
        "MOVED 3999 a:4294967297",
        "MOVED 3999 a:-1",
        "MOVED 3999 a:+1",
        "MOVED 3999 a: 1",
        "MOVED 3999 a:1 ",
        "MOVED 3999 a:1\n",
        "MOVED 3999 a:1x",
        "MOVED 3999 a:1 b:2",
        "MOVED 3999 a b:2",
        "MOVED 3999 a\r\n:2",
        "MOVED 3999 \x7f:2",
        "MOVED 3999 \xc3\xa4:2",
        "MOVED 3999 ?:2",
        "ASK 3 [?]:6",
        "MOVED 3999 []:2",
        "MOVED 3999 [:2",
        "MOVED 3999 ]:2",
        "MOVED 3999 [::1:2",
        "MOVED 3999 ::1]:2",
        "MOVED 3999 [::1]",
        "MOVED 3999 [::1]x:2",
        "MOVED 3999 [[::1]]:2",
    };

    for (size_t i = 0; i < sizeof junk / sizeof *junk; i++)
        leads_nowhere(junk[i]);
    leads_nowhere_n("MOVED 3999 a\0b:1", 16, &asked);
    leads_nowhere_n("MOVED 3999 a:1\0", 15, &asked);
    leads_nowhere_n("MOVED\0003999 a:1", 14, &asked);
}

TEST_WITH(redirect_with_a_host_too_long_is_refused, NULL, NULL)
{
    char words[400] = "MOVED 3999 ", host[USHER__REDIS_HOST_MAX];

    memset(host, 'h', sizeof host);
    host[sizeof host - 1] = '\0';
    (void)snprintf(words, sizeof words, "MOVED 3999 %s:1", host);
    leads(words, 3999, host, 1);
    (void)snprintf(words, sizeof words, "MOVED 3999 [%s]:1", host);
    leads(words, 3999, host, 1);
    (void)snprintf(words, sizeof words, "MOVED 3999 %sh:1", host);
    leads_nowhere(words);
    (void)snprintf(words, sizeof words, "MOVED 3999 [%sh]:1", host);
    leads_nowhere(words);
}

/* A redirect that is understood means the same when it is written again. */
TEST_WITH(damaged_redirect_is_refused_or_valid, NULL, NULL)
{
    static const char *const good[] = { "MOVED 3999 127.0.0.1:6381", "ASK 1 [2001:db8::1]:6381",
                                        "MOVED 16383 redis-0.redis:65535", "ASK 9 :1",
                                        "MOVED 65 ::1:65" };
    unsigned understood = 0;

    (void)seed_set();
    for (unsigned i = 0; i < steps() * 10; i++) {
        const char *from = good[rnd(sizeof good / sizeof *good)];
        struct bytes b = { NULL, 0, 0 };
        struct usher__redis_address to, again;
        unsigned slot, slot_again;

        put_n(&b, from, strlen(from));
        mutate(&b);
        if (read_redirect(b.p, b.n, &asked, &slot, &to)) {
            char words[400];

            understood++;
            (void)snprintf(words, sizeof words, "ASK %u [%s]:%u", slot, to.host, to.port);
            assert_true(read_redirect(words, strlen(words), &asked, &slot_again, &again));
            assert_int_equal(slot, slot_again);
            assert_string_equal(to.host, again.host);
            assert_int_equal(to.port, again.port);
        }
        free(b.p);
    }
    print_message("%u understood\n", understood);
}
