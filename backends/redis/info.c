/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "info.h"

#include <stdio.h>
#include <string.h>

#include <hiredis/hiredis.h>

struct usher_text usher__redis_info(const struct redisReply *reply, const char *field)
{
    struct usher_text value = { "", 0 };
    size_t n = strlen(field);

    if (reply == NULL || reply->type != REDIS_REPLY_STRING)
        return value;
    for (const char *at = reply->str; at != NULL; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (strncmp(at, field, n) == 0 && at[n] == ':') {
            value.data = at + n + 1;
            value.size = strcspn(value.data, "\r\n");
            break;
        }
    }
    return value;
}

bool usher__redis_info_is(const struct usher_text *value, const char *word)
{
    return value->size == strlen(word) && memcmp(value->data, word, value->size) == 0;
}

/* Other products have redis_version, too: the version of Redis with which they are compatible.
 * KeyDB's redis_version is its own version, and its INFO has a section that Redis does not have. */
void usher__redis_software(const struct redisReply *info, char to[USHER__REDIS_SOFTWARE_MAX])
{
    static const struct {
        const char *name, *field;
    } products[] = {
        { "Redict", "redict_version" },
        { "Valkey", "valkey_version" },
        { "Dragonfly", "dragonfly_version" },
    };
    const char *name = usher__redis_info(info, "mvcc_depth").size > 0 ? "KeyDB" : "Redis";
    struct usher_text version = usher__redis_info(info, "redis_version");

    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        struct usher_text its = usher__redis_info(info, products[i].field);

        if (its.size > 0) {
            name = products[i].name;
            version = its;
            break;
        }
    }
    to[0] = '\0';
    if (version.size > 0)
        (void)snprintf(to, USHER__REDIS_SOFTWARE_MAX, "%s %.*s", name,
                       version.size < 40 ? (int)version.size : 40, version.data);
}

int64_t usher__redis_natural(const struct usher_text *text)
{
    int64_t value = 0;

    if (text->size == 0 || text->size > 18)
        return -1;
    for (size_t i = 0; i < text->size; i++) {
        if (text->data[i] < '0' || text->data[i] > '9')
            return -1;
        value = value * 10 + (text->data[i] - '0');
    }
    return value;
}

/* Return a number of at most @size digits, or -1. */
static int64_t natural(const struct redisReply *reply, size_t size)
{
    struct usher_text text = { reply->str, reply->len };

    return reply->type != REDIS_REPLY_STRING || text.size > size ? -1 : usher__redis_natural(&text);
}

int64_t usher__redis_time(const struct redisReply *reply)
{
    int64_t s, us;

    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2)
        return -1;
    s = natural(reply->element[0], 12);
    us = natural(reply->element[1], 6);
    return s < 0 || us < 0 ? -1 : s * 1000000 + us;
}

enum usher_durability usher__redis_durability(const struct redisReply *info,
                                              const struct redisReply *fsync)
{
    struct usher_text aof = usher__redis_info(info, "aof_enabled"), when = { "", 0 };

    if (usher__redis_info_is(&aof, "0"))
        return USHER_DURABILITY_SNAPSHOT;
    if (!usher__redis_info_is(&aof, "1"))
        return USHER_DURABILITY_UNKNOWN;
    if (fsync->type == REDIS_REPLY_ARRAY && fsync->elements == 2 &&
        fsync->element[1]->type == REDIS_REPLY_STRING) {
        when.data = fsync->element[1]->str;
        when.size = fsync->element[1]->len;
    }
    return usher__redis_info_is(&when, "always")     ? USHER_DURABILITY_DISK
           : usher__redis_info_is(&when, "everysec") ? USHER_DURABILITY_SECOND
                                                     : USHER_DURABILITY_FILE;
}

bool usher__redis_evicts(const struct redisReply *info)
{
    struct usher_text policy = usher__redis_info(info, "maxmemory_policy");

    /* volatile-* evicts only keys with a time to live */
    return policy.size > 7 && memcmp(policy.data, "allkeys", 7) == 0;
}

/* Return the value of @key in "key=value,key=value". */
static struct usher_text part_of(const struct usher_text *line, const char *key)
{
    struct usher_text value = { "", 0 };
    size_t n = strlen(key), at = 0;

    while (at < line->size) {
        const char *from = line->data + at;
        const char *comma = memchr(from, ',', line->size - at);
        size_t size = comma != NULL ? (size_t)(comma - from) : line->size - at;

        if (size > n && memcmp(from, key, n) == 0 && from[n] == '=') {
            value.data = from + n + 1;
            value.size = size - n - 1;
            break;
        }
        at += size + 1;
    }
    return value;
}

bool usher__redis_replica(const struct redisReply *info, unsigned i, struct usher_node *node,
                          char address[USHER__REDIS_ADDRESS_MAX])
{
    char field[24];
    struct usher_text line, ip, port, state, offset, lag, mine;
    int64_t has, behind, of_master;

    (void)snprintf(field, sizeof field, "slave%u", i);
    line = usher__redis_info(info, field);
    ip = part_of(&line, "ip");
    port = part_of(&line, "port");
    if (ip.size == 0 || usher__redis_natural(&port) < 0)
        return false;
    state = part_of(&line, "state");
    offset = part_of(&line, "offset");
    lag = part_of(&line, "lag");
    mine = usher__redis_info(info, "master_repl_offset");
    has = usher__redis_natural(&offset);
    of_master = usher__redis_natural(&mine);
    behind = usher__redis_natural(&lag);
    (void)snprintf(address, USHER__REDIS_ADDRESS_MAX, "%.*s:%.*s",
                   ip.size < 256 ? (int)ip.size : 256, ip.data, (int)port.size, port.data);
    node->role = USHER_NODE_REPLICA;
    node->address.data = address;
    node->address.size = strlen(address);
    node->answers = usher__redis_info_is(&state, "online");
    if (!node->answers)
        node->why = state;
    /* -1: it has not requested data yet */
    node->lag_bytes = has >= 0 && of_master >= has && node->answers ? of_master - has : USHER_NONE;
    node->lag_ms = behind >= 0 && node->answers ? behind * 1000 : USHER_NONE;
    return true;
}
