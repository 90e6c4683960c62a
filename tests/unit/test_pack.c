/* SPDX-License-Identifier: MIT */
/* MessagePack: what is written is read again, and nothing else is; the lengths that a text
 * claims are not believed.  That Redis writes the same bytes is in test_redis_pack.c. */
#include "lib/test.h"

#include "core/pack.h"
#include "lib/util.h"

#define ROOM 70000

static unsigned char bytes[ROOM];

static struct usher__packer packer(void)
{
    struct usher__packer p = { bytes, sizeof bytes, 0 };

    return p;
}

static struct usher_unpacker unpacker(const struct usher__packer *p)
{
    struct usher_unpacker u = { bytes, bytes + p->n };

    return u;
}

static void assert_bytes(const struct usher__packer *p, const char *expected, size_t size)
{
    assert_true(p->n == size);
    assert_memory_equal(bytes, expected, size);
}
#define WRITES(call, text)                        \
    do {                                          \
        struct usher__packer p = packer();        \
        call;                                     \
        assert_bytes(&p, text, sizeof(text) - 1); \
    } while (0)

TEST(each_value_has_its_shortest_form)
{
    WRITES(usher__pack_nil(&p), "\xc0");
    WRITES(usher__pack_uint(&p, 0), "\0");
    WRITES(usher__pack_uint(&p, 127), "\x7f");
    WRITES(usher__pack_uint(&p, 128), "\xcc\x80");
    WRITES(usher__pack_uint(&p, 255), "\xcc\xff");
    WRITES(usher__pack_uint(&p, 256), "\xcd\x01\0");
    WRITES(usher__pack_uint(&p, 65535), "\xcd\xff\xff");
    WRITES(usher__pack_uint(&p, 65536), "\xce\0\x01\0\0");
    WRITES(usher__pack_uint(&p, UINT32_MAX), "\xce\xff\xff\xff\xff");
    WRITES(usher__pack_uint(&p, UINT64_C(1) << 32), "\xcf\0\0\0\x01\0\0\0\0");
    WRITES(usher__pack_uint(&p, UINT64_MAX), "\xcf\xff\xff\xff\xff\xff\xff\xff\xff");
    WRITES(usher__pack_int(&p, 1), "\x01");
    WRITES(usher__pack_int(&p, INT64_MAX), "\xcf\x7f\xff\xff\xff\xff\xff\xff\xff");
    WRITES(usher__pack_int(&p, -1), "\xff");
    WRITES(usher__pack_int(&p, -32), "\xe0");
    WRITES(usher__pack_int(&p, -33), "\xd0\xdf");
    WRITES(usher__pack_int(&p, -128), "\xd0\x80");
    WRITES(usher__pack_int(&p, -129), "\xd1\xff\x7f");
    WRITES(usher__pack_int(&p, -32768), "\xd1\x80\0");
    WRITES(usher__pack_int(&p, -32769), "\xd2\xff\xff\x7f\xff");
    WRITES(usher__pack_int(&p, INT32_MIN), "\xd2\x80\0\0\0");
    WRITES(usher__pack_int(&p, (int64_t)INT32_MIN - 1), "\xd3\xff\xff\xff\xff\x7f\xff\xff\xff");
    WRITES(usher__pack_int(&p, INT64_MIN), "\xd3\x80\0\0\0\0\0\0\0");
    WRITES(usher__pack_text(&p, NULL, 0), "\xa0");
    WRITES(usher__pack_text(&p, "ab", 2), "\xa2"
                                          "ab");
    WRITES(usher__pack_array(&p, 0), "\x90");
    WRITES(usher__pack_array(&p, 15), "\x9f");
    WRITES(usher__pack_array(&p, 16), "\xdc\0\x10");
    WRITES(usher__pack_array(&p, 65535), "\xdc\xff\xff");
    WRITES(usher__pack_array(&p, 65536), "\xdd\0\x01\0\0");
}

TEST(texts_have_a_length_of_one_to_five_bytes)
{
    static const struct {
        size_t size;
        const char *head;
        size_t head_size;
    } cases[] = {
        { 31, "\xbf", 1 },        { 32, "\xd9\x20", 2 },        { 255, "\xd9\xff", 2 },
        { 256, "\xda\x01\0", 3 }, { 65535, "\xda\xff\xff", 3 }, { 65536, "\xdb\0\x01\0\0", 5 }
    };
    static char text[65536];

    memset(text, 'x', sizeof text);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct usher__packer p = packer();
        struct usher_unpacker u;
        struct usher_text read;

        usher__pack_text(&p, text, cases[i].size);
        assert_true(p.n == cases[i].head_size + cases[i].size);
        assert_memory_equal(bytes, cases[i].head, cases[i].head_size);
        assert_memory_equal(bytes + cases[i].head_size, text, cases[i].size);
        u = unpacker(&p);
        assert_true(usher_unpack_text(&u, &read));
        assert_true(read.size == cases[i].size && u.at == u.end);
    }
}

/* One of the values that the forms differ at, or any. */
static uint64_t some_number(uint64_t *random)
{
    uint64_t bits = next_random(random) % 65;
    uint64_t value = bits == 64 ? next_random(random) : next_random(random) >> (63 - bits % 64);

    return next_random(random) % 4 == 0 ? (UINT64_C(1) << (bits % 64)) - next_random(random) % 2
                                        : value;
}

enum { TYPE_UINT, TYPE_INT, TYPE_TEXT, TYPE_ARRAY, TYPES };

static bool read_as(struct usher_unpacker *u, unsigned type, uint64_t *number,
                    struct usher_text *text)
{
    int64_t i = 0;
    size_t n = 0;
    bool good;

    switch (type) {
    case TYPE_UINT:
        return usher_unpack_uint(u, number);
    case TYPE_INT:
        good = usher_unpack_int(u, &i);
        *number = (uint64_t)i;
        return good;
    case TYPE_TEXT:
        return usher_unpack_text(u, text);
    default:
        good = usher_unpack_array(u, &n);
        *number = n;
        return good;
    }
}

TEST(packed_values_are_read_again)
{
    uint64_t random = 1;

    for (int round = 0; round < 20000; round++) {
        struct usher__packer p = packer();
        struct usher_unpacker u;
        uint64_t number = some_number(&random), got = 0;
        unsigned type = (unsigned)(next_random(&random) % TYPES);
        char text[300];
        size_t size = next_random(&random) % sizeof text;
        struct usher_text read = { NULL, 0 };

        memset(text, (int)(number & 0xff), size);
        switch (type) {
        case TYPE_UINT:
            usher__pack_uint(&p, number);
            break;
        case TYPE_INT:
            usher__pack_int(&p, (int64_t)number);
            break;
        case TYPE_TEXT:
            usher__pack_text(&p, text, size);
            break;
        default:
            number &= 0xffff;
            usher__pack_array(&p, (size_t)number);
            /* it is only believed if there is a byte for each */
            for (uint64_t i = 0; i < number; i++)
                bytes[p.n + i] = 0xc0;
            break;
        }
        /* every cut of it is refused, and the reader stays where it was */
        for (size_t cut = 0; cut < p.n && cut < 12; cut++) {
            struct usher_unpacker c = { bytes, bytes + (cut < 6 ? cut : p.n - (cut - 5)) };
            const unsigned char *end = c.end;

            assert_false(read_as(&c, type, &got, &read));
            assert_true(c.at == bytes && c.end == end);
        }
        u = unpacker(&p);
        if (type == TYPE_ARRAY)
            u.end += number;
        assert_true(read_as(&u, type, &got, &read));
        assert_true(u.at == bytes + p.n);
        if (type == TYPE_TEXT) {
            assert_true(read.size == size);
            assert_memory_equal(read.data, text, size);
        } else {
            assert_true(got == number);
        }
        /* integers are integers, whichever function wrote them; nothing else is taken */
        for (unsigned other = 0; other < TYPES; other++) {
            uint64_t again = 0;
            bool good, both = type <= TYPE_INT && other <= TYPE_INT;

            u = unpacker(&p);
            if (type == TYPE_ARRAY)
                u.end += number;
            good = read_as(&u, other, &again, &read);
            if (both)
                assert_true(good == ((number >> 63) == 0 || type == other));
            else
                assert_true(good == (type == other));
            if (good && both)
                assert_true(again == number);
            assert_true(good || u.at == bytes);
        }
    }
}

TEST(lengths_beyond_the_buffer_are_refused)
{
    static const unsigned char heads[][9] = {
        { 0xdd, 0xff, 0xff, 0xff, 0xff },
        { 0xdc, 0xff, 0xff },
        { 0x9f },
        { 0xdd, 0, 0, 0, 9 },
        { 0xdb, 0xff, 0xff, 0xff, 0xff },
        { 0xda, 0xff, 0xff },
        { 0xbf },
        { 0xdb, 0, 0, 0, 9 },
        { 0xd9, 0xff },
        { 0xdb, 0x80, 0, 0, 0 },
    };

    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        for (size_t size = 0; size <= sizeof heads[0]; size++) {
            /* of exactly this size, so that the sanitizer finds an overrun */
            unsigned char *copy = malloc(size + (size == 0));
            struct usher_unpacker u = { copy, copy + size };
            struct usher_text text;
            size_t n;

            assert_non_null(copy);
            memcpy(copy, heads[i], size);
            assert_false(usher_unpack_array(&u, &n));
            assert_false(usher_unpack_text(&u, &text));
            assert_true(u.at == copy);
            free(copy);
        }
    }
}

/* No byte that begins a float, a map, raw bytes, an extension or a truth value is anything. */
TEST(other_kinds_of_values_are_refused)
{
    for (unsigned code = 0; code <= 0xff; code++) {
        unsigned char value[64];
        struct usher_unpacker u = { value, value + sizeof value };
        struct usher_text text;
        uint64_t number;
        int64_t i;
        size_t n;
        bool is_uint = code <= 0x7f || (code >= 0xcc && code <= 0xcf);
        bool is_int = is_uint || code >= 0xe0 || (code >= 0xd0 && code <= 0xd3);
        bool is_text = (code >= 0xa0 && code <= 0xbf) || (code >= 0xd9 && code <= 0xdb);
        bool is_array = (code >= 0x90 && code <= 0x9f) || code == 0xdc || code == 0xdd;

        memset(value, 0, sizeof value);
        value[0] = (unsigned char)code;
        assert_true(usher_unpack_int(&u, &i) == is_int);
        u.at = value;
        /* the signed forms of what is not negative are fine */
        assert_true(usher_unpack_uint(&u, &number) == (is_int && code < 0xe0));
        u.at = value;
        assert_true(usher_unpack_text(&u, &text) == is_text);
        u.at = value;
        assert_true(usher_unpack_array(&u, &n) == is_array);
    }
}

TEST(a_packer_without_space_only_counts)
{
    char text[40];

    memset(text, 'x', sizeof text);
    for (size_t size = 0; size < 60; size++) {
        struct usher__packer p = { bytes, size, 0 };

        memset(bytes, 0x55, 80);
        usher__pack_array(&p, 4);
        usher__pack_uint(&p, UINT64_MAX);
        usher__pack_text(&p, text, sizeof text);
        usher__pack_int(&p, -1);
        usher__pack_nil(&p);
        assert_true(p.n == 1 + 9 + 2 + sizeof text + 1 + 1);
        for (size_t i = size; i < 80; i++)
            if (i >= size)
                assert_int_equal(bytes[i], size >= p.n && i < p.n ? bytes[i] : 0x55);
    }
}
