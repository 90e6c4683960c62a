/* SPDX-License-Identifier: MIT */
/*
 * slots -- see slots.h for the contract.
 *
 * A reply is a tree made by hiredis, of any shape and of any size within the limits of conn.h.  The
 * type of each element is checked before it is used.  A server must not be able to make this slow:
 * members are found by binary search in a sorted index (a hash could be made to collide), and there
 * are at most as many ranges as slots.
 */
#include "config.h"

#include <string.h>

#include <hiredis/hiredis.h>

#include "slots.h"

#define MEMBERS_FIRST ((size_t)16)

/* ---- slots ------------------------------------------------------------------------- */

/* CRC16 XMODEM: polynomial 0x1021, from 0, highest bit first. */
/* clang-format off */
static const uint16_t crc16_table[256] = {
    0x0000, 0x1021, 0x2042, 0x3063, 0x4084, 0x50a5, 0x60c6, 0x70e7,
    0x8108, 0x9129, 0xa14a, 0xb16b, 0xc18c, 0xd1ad, 0xe1ce, 0xf1ef,
    0x1231, 0x0210, 0x3273, 0x2252, 0x52b5, 0x4294, 0x72f7, 0x62d6,
    0x9339, 0x8318, 0xb37b, 0xa35a, 0xd3bd, 0xc39c, 0xf3ff, 0xe3de,
    0x2462, 0x3443, 0x0420, 0x1401, 0x64e6, 0x74c7, 0x44a4, 0x5485,
    0xa56a, 0xb54b, 0x8528, 0x9509, 0xe5ee, 0xf5cf, 0xc5ac, 0xd58d,
    0x3653, 0x2672, 0x1611, 0x0630, 0x76d7, 0x66f6, 0x5695, 0x46b4,
    0xb75b, 0xa77a, 0x9719, 0x8738, 0xf7df, 0xe7fe, 0xd79d, 0xc7bc,
    0x48c4, 0x58e5, 0x6886, 0x78a7, 0x0840, 0x1861, 0x2802, 0x3823,
    0xc9cc, 0xd9ed, 0xe98e, 0xf9af, 0x8948, 0x9969, 0xa90a, 0xb92b,
    0x5af5, 0x4ad4, 0x7ab7, 0x6a96, 0x1a71, 0x0a50, 0x3a33, 0x2a12,
    0xdbfd, 0xcbdc, 0xfbbf, 0xeb9e, 0x9b79, 0x8b58, 0xbb3b, 0xab1a,
    0x6ca6, 0x7c87, 0x4ce4, 0x5cc5, 0x2c22, 0x3c03, 0x0c60, 0x1c41,
    0xedae, 0xfd8f, 0xcdec, 0xddcd, 0xad2a, 0xbd0b, 0x8d68, 0x9d49,
    0x7e97, 0x6eb6, 0x5ed5, 0x4ef4, 0x3e13, 0x2e32, 0x1e51, 0x0e70,
    0xff9f, 0xefbe, 0xdfdd, 0xcffc, 0xbf1b, 0xaf3a, 0x9f59, 0x8f78,
    0x9188, 0x81a9, 0xb1ca, 0xa1eb, 0xd10c, 0xc12d, 0xf14e, 0xe16f,
    0x1080, 0x00a1, 0x30c2, 0x20e3, 0x5004, 0x4025, 0x7046, 0x6067,
    0x83b9, 0x9398, 0xa3fb, 0xb3da, 0xc33d, 0xd31c, 0xe37f, 0xf35e,
    0x02b1, 0x1290, 0x22f3, 0x32d2, 0x4235, 0x5214, 0x6277, 0x7256,
    0xb5ea, 0xa5cb, 0x95a8, 0x8589, 0xf56e, 0xe54f, 0xd52c, 0xc50d,
    0x34e2, 0x24c3, 0x14a0, 0x0481, 0x7466, 0x6447, 0x5424, 0x4405,
    0xa7db, 0xb7fa, 0x8799, 0x97b8, 0xe75f, 0xf77e, 0xc71d, 0xd73c,
    0x26d3, 0x36f2, 0x0691, 0x16b0, 0x6657, 0x7676, 0x4615, 0x5634,
    0xd94c, 0xc96d, 0xf90e, 0xe92f, 0x99c8, 0x89e9, 0xb98a, 0xa9ab,
    0x5844, 0x4865, 0x7806, 0x6827, 0x18c0, 0x08e1, 0x3882, 0x28a3,
    0xcb7d, 0xdb5c, 0xeb3f, 0xfb1e, 0x8bf9, 0x9bd8, 0xabbb, 0xbb9a,
    0x4a75, 0x5a54, 0x6a37, 0x7a16, 0x0af1, 0x1ad0, 0x2ab3, 0x3a92,
    0xfd2e, 0xed0f, 0xdd6c, 0xcd4d, 0xbdaa, 0xad8b, 0x9de8, 0x8dc9,
    0x7c26, 0x6c07, 0x5c64, 0x4c45, 0x3ca2, 0x2c83, 0x1ce0, 0x0cc1,
    0xef1f, 0xff3e, 0xcf5d, 0xdf7c, 0xaf9b, 0xbfba, 0x8fd9, 0x9ff8,
    0x6e17, 0x7e36, 0x4e55, 0x5e74, 0x2e93, 0x3eb2, 0x0ed1, 0x1ef0,
};
/* clang-format on */

unsigned usher__redis_slot_of_tag(const char *tag, size_t size)
{
    unsigned crc = 0;

    for (size_t i = 0; i < size; i++)
        crc = (crc << 8 & 0xffff) ^ crc16_table[crc >> 8 ^ (unsigned char)tag[i]];
    return crc % USHER__REDIS_SLOTS;
}

/* ---- addresses --------------------------------------------------------------------- */

/* Return whether @p is printable ASCII without space: messages and getaddrinfo() use it. */
static bool is_word(const char *p, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (p[i] <= 0x20 || p[i] >= 0x7f)
            return false;
    return true;
}

enum host { HOST_GOOD, HOST_UNKNOWN, HOST_BAD };

/* Read a host.  @to is written only if it is valid. */
static enum host host_read(const char *p, size_t size, const struct usher__redis_address *asked,
                           char to[USHER__REDIS_HOST_MAX])
{
    if (size == 0) {
        if (asked->host[0] == '\0') /* connected by a socket file */
            return HOST_UNKNOWN;
        memcpy(to, asked->host, USHER__REDIS_HOST_MAX);
        return HOST_GOOD;
    }
    if (size == 1 && p[0] == '?')
        return HOST_UNKNOWN;
    if (p[0] == '[' && p[size - 1] == ']') {
        p++;
        size -= 2;
    }
    if (size == 0 || size >= USHER__REDIS_HOST_MAX || !is_word(p, size) ||
        memchr(p, '[', size) != NULL || memchr(p, ']', size) != NULL ||
        (size == 1 && p[0] == '?')) /* in brackets it is no address */
        return HOST_BAD;
    memcpy(to, p, size);
    to[size] = '\0';
    return HOST_GOOD;
}

static int address_compare(const struct usher__redis_address *a,
                           const struct usher__redis_address *b)
{
    if (a->port != b->port)
        return a->port < b->port ? -1 : 1;
    return strcmp(a->host, b->host);
}

/* ---- views ------------------------------------------------------------------------- */

struct reading {
    const struct usher_allocator *alloc;
    const struct usher__redis_address *asked;
    struct usher__redis_view *view;
    uint16_t order[USHER__REDIS_MEMBERS_MAX]; /* of view->members by address */
};

void usher__redis_view_free(const struct usher_allocator *alloc, struct usher__redis_view *v)
{
    if (v == NULL)
        return;
    if (v->members != NULL)
        alloc->resize(alloc->payload, v->members, v->room * sizeof *v->members, 0);
    alloc->resize(alloc->payload, v, sizeof *v, 0);
}

/* Return the index in the order that @at has or would have. */
static size_t order_find(const struct reading *r, const struct usher__redis_address *at)
{
    const struct usher__redis_view *v = r->view;
    size_t low = 0, high = v->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (address_compare(&v->members[r->order[middle]].at, at) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static enum usher_status members_grow(struct reading *r)
{
    struct usher__redis_view *v = r->view;
    size_t room = v->room == 0 ? MEMBERS_FIRST : v->room * 2;
    struct usher__redis_member *members;

    if (v->n < v->room)
        return USHER_OK;
    members = r->alloc->resize(r->alloc->payload, v->members, v->room * sizeof *members,
                               room * sizeof *members);
    if (members == NULL)
        return USHER_NOMEM;
    v->members = members;
    v->room = room;
    return USHER_OK;
}

static enum usher_status member_put(struct reading *r, const struct usher__redis_member *member,
                                    uint16_t *ret_index)
{
    struct usher__redis_view *v = r->view;
    size_t at = order_find(r, &member->at);
    struct usher__redis_member *old;
    enum usher_status status;

    if (at < v->n && address_compare(&v->members[r->order[at]].at, &member->at) == 0) {
        old = &v->members[r->order[at]];
        if (member->id[0] != '\0' && (member->master || !old->master || old->id[0] == '\0'))
            memcpy(old->id, member->id, sizeof old->id);
        if (member->ip[0] != '\0')
            memcpy(old->ip, member->ip, sizeof old->ip);
        old->master = old->master || member->master;
        *ret_index = r->order[at];
        return USHER_OK;
    }
    if (v->n == USHER__REDIS_MEMBERS_MAX)
        return USHER_INVALID;
    status = members_grow(r);
    if (status != USHER_OK)
        return status;
    memmove(&r->order[at + 1], &r->order[at], (v->n - at) * sizeof r->order[0]);
    r->order[at] = *ret_index = (uint16_t)v->n;
    v->members[v->n++] = *member;
    return USHER_OK;
}

static bool is_text(const redisReply *reply)
{
    return reply != NULL && reply->str != NULL &&
           (reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_STATUS);
}

static bool is_nil(const redisReply *reply)
{
    return reply != NULL && reply->type == REDIS_REPLY_NIL;
}

static bool is_integer(const redisReply *reply, long long min, long long max)
{
    return reply != NULL && reply->type == REDIS_REPLY_INTEGER && reply->integer >= min &&
           reply->integer <= max;
}

static bool is_array(const redisReply *reply, size_t min)
{
    return reply != NULL && reply->type == REDIS_REPLY_ARRAY && reply->elements >= min;
}

/* Write the value of "ip" to @to.  @fields is a name, its value, a name, its value. */
static void ip_read(const redisReply *fields, char to[USHER__REDIS_IP_MAX])
{
    for (size_t i = 0; is_array(fields, 2) && i + 1 < fields->elements; i += 2) {
        const redisReply *name = fields->element[i], *ip = fields->element[i + 1];

        if (!is_text(name) || !is_text(ip) || name->len != 2 || memcmp(name->str, "ip", 2) != 0 ||
            ip->len >= USHER__REDIS_IP_MAX || !is_word(ip->str, ip->len))
            continue;
        memcpy(to, ip->str, ip->len);
        to[ip->len] = '\0';
    }
}

/* Read a node of a range: host, port, perhaps an id and further fields.  *@ret_index is not changed
 * if the node is left out. */
static enum usher_status node_read(struct reading *r, const redisReply *node, bool master,
                                   uint16_t *ret_index)
{
    struct usher__redis_member member = { .master = master };
    const redisReply *host, *port, *id;
    enum host is;

    if (!is_array(node, 2))
        return USHER_INVALID;
    host = node->element[0];
    port = node->element[1];
    id = node->elements > 2 ? node->element[2] : NULL;
    if ((!is_text(host) && !is_nil(host)) || !is_integer(port, 0, UINT16_MAX))
        return USHER_INVALID;
    if (node->elements > 2 && !is_nil(id)) {
        if (!is_text(id) || id->len >= sizeof member.id || !is_word(id->str, id->len))
            return USHER_INVALID;
        memcpy(member.id, id->str, id->len);
    }
    is = host_read(host->str, is_nil(host) ? 0 : host->len, r->asked, member.at.host);
    if (is == HOST_BAD)
        return USHER_INVALID;
    if (is == HOST_UNKNOWN || port->integer == 0)
        return USHER_OK;
    member.at.port = (uint16_t)port->integer;
    if (node->elements > 3)
        ip_read(node->element[3], member.ip);
    return member_put(r, &member, ret_index);
}

/* Read a range: the first slot, the last slot, the master, its replicas. */
static enum usher_status range_read(struct reading *r, const redisReply *range)
{
    uint16_t owner = USHER__REDIS_NOBODY, replica;
    enum usher_status status;

    if (!is_array(range, 3) || !is_integer(range->element[0], 0, USHER__REDIS_SLOTS - 1) ||
        !is_integer(range->element[1], range->element[0]->integer, USHER__REDIS_SLOTS - 1))
        return USHER_INVALID;
    status = node_read(r, range->element[2], true, &owner);
    for (size_t i = 3; i < range->elements && status == USHER_OK; i++)
        status = node_read(r, range->element[i], false, &replica);
    if (status != USHER_OK)
        return status;
    for (long long slot = range->element[0]->integer; slot <= range->element[1]->integer; slot++)
        r->view->owner[slot] = owner;
    return USHER_OK;
}

static enum usher_status ranges_read(struct reading *r, const redisReply *reply)
{
    struct usher__redis_view *v = r->view;
    enum usher_status status = USHER_OK;
    size_t masters = 0;

    v->n = v->room = v->covered = 0;
    v->members = NULL;
    for (size_t i = 0; i < USHER__REDIS_SLOTS; i++)
        v->owner[i] = USHER__REDIS_NOBODY;
    if (!is_array(reply, 0) || reply->elements > USHER__REDIS_SLOTS)
        return USHER_INVALID;
    for (size_t i = 0; i < reply->elements && status == USHER_OK; i++)
        status = range_read(r, reply->element[i]);
    if (status != USHER_OK)
        return status;
    for (size_t i = 0; i < v->n; i++)
        masters += v->members[i].master;
    if (masters > USHER__REDIS_MASTERS_MAX)
        return USHER_INVALID;
    for (size_t i = 0; i < USHER__REDIS_SLOTS; i++)
        v->covered += v->owner[i] != USHER__REDIS_NOBODY;
    return USHER_OK;
}

enum usher_status usher__redis_view_read(const struct usher_allocator *alloc,
                                         const struct redisReply *reply,
                                         const struct usher__redis_address *asked,
                                         struct usher__redis_view **ret)
{
    enum usher_status status = USHER_NOMEM;
    struct usher__redis_view *v;
    struct reading *r;

    v = alloc->resize(alloc->payload, NULL, 0, sizeof *v);
    if (v == NULL)
        return USHER_NOMEM;
    v->members = NULL;
    r = alloc->resize(alloc->payload, NULL, 0, sizeof *r);
    if (r != NULL) {
        r->alloc = alloc;
        r->asked = asked;
        r->view = v;
        status = ranges_read(r, reply);
        alloc->resize(alloc->payload, r, sizeof *r, 0);
    }
    if (status == USHER_OK)
        *ret = v;
    else
        usher__redis_view_free(alloc, v);
    return status;
}

/* ---- redirects --------------------------------------------------------------------- */

struct rest {
    const char *p;
    size_t size;
};

static bool skip(struct rest *r, const char *word)
{
    size_t n = strlen(word);

    if (r->size < n || memcmp(r->p, word, n) != 0)
        return false;
    r->p += n;
    r->size -= n;
    return true;
}

/* Read a number of up to five digits. */
static bool number_read(struct rest *r, unsigned max, unsigned *ret)
{
    unsigned v = 0;
    size_t n = 0;

    for (; n < r->size && r->p[n] >= '0' && r->p[n] <= '9'; n++) {
        if (n == 5)
            return false;
        v = v * 10 + (unsigned)(r->p[n] - '0');
    }
    if (n == 0 || v > max)
        return false;
    r->p += n;
    r->size -= n;
    *ret = v;
    return true;
}

bool usher__redis_redirect_read(const char *text, size_t size,
                                const struct usher__redis_address *asked, unsigned *ret_slot,
                                struct usher__redis_address *ret_to)
{
    struct usher__redis_address to = { .port = 0 };
    struct rest r = { text, size }, port;
    unsigned slot, number;
    size_t colon;

    if (!skip(&r, "MOVED ") && !skip(&r, "ASK "))
        return false;
    if (!number_read(&r, USHER__REDIS_SLOTS - 1, &slot) || !skip(&r, " "))
        return false;
    for (colon = r.size; colon > 0 && r.p[colon - 1] != ':';)
        colon--;
    if (colon == 0)
        return false;
    port.p = r.p + colon;
    port.size = r.size - colon;
    if (!number_read(&port, UINT16_MAX, &number) || port.size > 0 || number == 0 ||
        host_read(r.p, colon - 1, asked, to.host) != HOST_GOOD)
        return false;
    to.port = (uint16_t)number;
    *ret_slot = slot;
    *ret_to = to;
    return true;
}

bool usher__redis_sentinel_read(const struct redisReply *reply, struct usher__redis_address *ret)
{
    static const struct usher__redis_address nobody;
    struct usher__redis_address at = { .port = 0 };
    struct rest port;
    unsigned number;

    if (!is_array(reply, 2) || reply->elements != 2 || !is_text(reply->element[0]) ||
        !is_text(reply->element[1]))
        return false;
    port.p = reply->element[1]->str;
    port.size = reply->element[1]->len;
    if (!number_read(&port, UINT16_MAX, &number) || port.size > 0 || number == 0 ||
        host_read(reply->element[0]->str, reply->element[0]->len, &nobody, at.host) != HOST_GOOD)
        return false;
    at.port = (uint16_t)number;
    *ret = at;
    return true;
}
