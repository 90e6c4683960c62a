/* SPDX-License-Identifier: MIT */
#include "text.h"

#define ONES UINT64_C(0x0101010101010101)
#define HIGHS UINT64_C(0x8080808080808080)

/* A bit in each byte of @x that is 0. */
static uint64_t zeroes(uint64_t x)
{
    return (x - ONES) & ~x & HIGHS;
}

/* Eight bytes at once: none is < 0x20, 0x7f, or >= 0x80. */
static bool plain8(uint64_t x)
{
    return ((x | (x - ONES * 0x20) | ((x ^ ONES * 0x7f) - ONES)) & HIGHS) == 0;
}

static uint64_t load8(const char *p)
{
    uint64_t x;

    memcpy(&x, p, sizeof x);
    return x;
}

/* The last eight bytes.  If there are fewer, some come twice, or blanks are added: that does not
 * change whether all or any bytes have a property. */
static inline uint64_t tail8(const char *data, size_t size)
{
    uint32_t low, high;

    if (size >= 8)
        return load8(data + size - 8);
    if (size < 4)
        return (ONES * ' ') << 24 | (uint64_t)(unsigned char)data[size - 1] << 16 |
               (uint64_t)(unsigned char)data[size / 2] << 8 | (unsigned char)data[0];
    memcpy(&low, data, 4);
    memcpy(&high, data + size - 4, 4);
    return (uint64_t)high << 32 | low;
}

/* Table 3-7 of the Unicode standard: no overlong forms, no surrogates. */
size_t usher__utf8_length(const char *text, size_t left)
{
    const unsigned char *p = (const unsigned char *)text;
    unsigned c = p[0];

    if (c < 0x80)
        return 1;
    if (c < 0xc2 || left < 2 || (p[1] & 0xc0) != 0x80)
        return 0;
    if (c < 0xe0)
        return 2;
    if (left < 3 || (p[2] & 0xc0) != 0x80)
        return 0;
    if (c < 0xf0)
        return (c == 0xe0 && p[1] < 0xa0) || (c == 0xed && p[1] >= 0xa0) ? 0 : 3;
    if (c > 0xf4 || left < 4 || (p[3] & 0xc0) != 0x80)
        return 0;
    return (c == 0xf0 && p[1] < 0x90) || (c == 0xf4 && p[1] >= 0x90) ? 0 : 4;
}

bool usher__is_utf8(const char *text, size_t size)
{
    size_t n = 1;

    for (size_t i = 0; i < size && n != 0; i += n)
        n = usher__utf8_length(text + i, size - i);
    return n != 0;
}

/* The character as \uNNNN where it may not stand in a line of JSON: a control, a byte that is not
 * UTF-8 (@n is 0), or U+0085, U+2028 and U+2029, where some readers end a line.  Else 0. */
static unsigned escaped(const unsigned char *p, size_t n)
{
    if (n <= 1)
        return n == 0 || p[0] < 0x20 ? 0x10000u | p[0] : 0;
    if (n == 2)
        return p[0] == 0xc2 && p[1] == 0x85 ? 0x10085u : 0;
    if (n == 3 && p[0] == 0xe2 && p[1] == 0x80 && (p[2] & 0xfe) == 0xa8)
        return 0x12028u | (p[2] & 1u);
    return 0;
}

size_t usher__json_piece(const char *text, size_t left, char to[USHER__JSON_PIECE],
                         size_t *ret_size)
{
    static const char digits[] = "0123456789abcdef";
    unsigned c = (unsigned char)text[0];
    size_t n = usher__utf8_length(text, left);
    unsigned code = escaped((const unsigned char *)text, n);

    if (code != 0) {
        to[0] = '\\';
        to[1] = 'u';
        for (unsigned i = 0; i < 4; i++)
            to[2 + i] = digits[code >> (12 - 4 * i) & 15u];
        *ret_size = 6;
        return n != 0 ? n : 1;
    }
    if (c == '"' || c == '\\') {
        to[0] = '\\';
        to[1] = (char)c;
        *ret_size = 2;
        return 1;
    }
    memcpy(to, text, n);
    *ret_size = n;
    return n;
}

/* U+0000..1F, U+007F..9F */
static bool control(const unsigned char *p)
{
    return p[0] < 0x20 || p[0] == 0x7f || (p[0] == 0xc2 && p[1] < 0xa0);
}

/* Valid UTF-8 without control characters. */
static bool __attribute__((noinline)) clean_utf8(const char *data, size_t size)
{
    for (size_t i = 0; i < size;) {
        size_t n = usher__utf8_length(data + i, size - i);

        if (n == 0 || control((const unsigned char *)data + i))
            return false;
        i += n;
    }
    return true;
}

/* The same, fast for what is ASCII only.  Not empty. */
static inline bool clean(const char *data, size_t size)
{
    bool plain = plain8(tail8(data, size));

    for (size_t i = 0; i + 8 < size; i += 8)
        plain &= plain8(load8(data + i));
    return plain || clean_utf8(data, size);
}

/* Is @a or @b one of the bytes, which are not none? */
static inline bool has(const char *data, size_t size, char a, char b)
{
    uint64_t every_a = ONES * (unsigned char)a, every_b = ONES * (unsigned char)b;
    uint64_t x = tail8(data, size), found = zeroes(x ^ every_a) | zeroes(x ^ every_b);

    for (size_t i = 0; i + 8 < size; i += 8) {
        x = load8(data + i);
        found |= zeroes(x ^ every_a) | zeroes(x ^ every_b);
    }
    return found != 0;
}

static inline const char *name_fault(const char *data, size_t size)
{
    if (size == 0)
        return "is empty";
    if (size > USHER_NAME_MAX)
        return "is longer than 255 bytes";
    if (!clean(data, size))
        return "contains invalid UTF-8 or a control character";
    return NULL;
}

const char *usher__name_fault(const char *data, size_t size)
{
    return name_fault(data, size);
}

const char *usher__scope_fault(const char *data, size_t size)
{
    const char *fault = name_fault(data, size);

    if (fault == NULL && has(data, size, '{', '}'))
        fault = "contains a brace";
    return fault;
}

/* Later commands give a colon, and a star at the end, a meaning of their own. */
static const char *reserved_fault(const char *data, size_t size)
{
    if (has(data, size, ':', ':'))
        return "contains a colon, which is reserved";
    if (size > 1 && data[size - 1] == '*')
        return "ends in *, which is reserved";
    return NULL;
}

const char *usher__group_fault(const char *data, size_t size)
{
    const char *fault = usher__name_fault(data, size);

    if (fault == NULL && has(data, size, ',', ','))
        fault = "contains a comma";
    if (fault == NULL && size == 1 && data[0] == '*')
        fault = "must not be *, which means any";
    return fault != NULL ? fault : reserved_fault(data, size);
}

bool usher__groups_next(struct usher_text *list, struct usher_text *ret_group)
{
    const char *comma;

    if (list->data == NULL)
        return false;
    comma = memchr(list->data, ',', list->size);
    ret_group->data = list->data;
    if (comma == NULL) {
        ret_group->size = list->size;
        list->data = NULL;
        list->size = 0;
    } else {
        ret_group->size = (size_t)(comma - list->data);
        list->size -= ret_group->size + 1;
        list->data = comma + 1;
    }
    return true;
}

const char *usher__groups_fault(const char *data, size_t size)
{
    struct usher_text list = { data, size }, group;
    unsigned n = 0;

    if (size == 0)
        return "is empty";
    if (size > USHER_LIST_TEXT_MAX)
        return "is longer than 4096 bytes";
    while (usher__groups_next(&list, &group)) {
        const char *fault = usher__name_fault(group.data, group.size);

        if (fault == NULL)
            fault = reserved_fault(group.data, group.size);
        if (fault != NULL)
            return group.size == 0 ? "contains an empty name" : fault;
        if (++n > USHER_NUMBER_GROUPS_MAX)
            return "has more than 16 names";
    }
    return NULL;
}

const char *usher__epoch_fault(const char *data, size_t size)
{
    bool digits = size == 16;

    for (size_t i = 0; i < size && digits; i++)
        digits = (data[i] >= '0' && data[i] <= '9') || (data[i] >= 'a' && data[i] <= 'f');
    return digits ? NULL : "is not 16 hex digits";
}

bool usher__text_token(const struct usher_text *text, uint64_t *ret)
{
    uint64_t value = 0;

    if (text->size == 0 || text->size > 16)
        return false;
    for (size_t i = 0; i < text->size; i++) {
        if (text->data[i] < '0' || text->data[i] > '9')
            return false;
        value = value * 10 + (uint64_t)(text->data[i] - '0');
    }
    *ret = value;
    return value <= USHER_EXACT_MAX;
}
