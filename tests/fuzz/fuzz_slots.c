/* SPDX-License-Identifier: MIT */
/*
 * Bytes are what a node of a cluster says: the text of a redirect, and the answer to CLUSTER SLOTS
 * as hiredis' reader takes it.  What must hold:
 *
 *   bounds     slots are below 16384, ports are not 0, hosts and ids end, are not too long and
 *              of bytes that an address may have
 *   owners     whoever owns a slot is a member and a master; `covered' counts them
 *   once       no two members have the same address
 *   same       a redirect that is understood says the same when it is written down again
 *   memory     what was taken is given back, and was told its size
 */
#include "fuzz/fuzz.h"

#include <hiredis/hiredis.h>

#include "../../backends/redis/slots.h"

static const struct usher__redis_address asked = { "10.0.0.9", 7000 };

static void *resize(void *payload, void *p, size_t old, size_t size)
{
    size_t *bytes = payload;
    void *q = NULL;

    must_hold(*bytes >= old && (p == NULL) == (old == 0), "memory: size");
    if (size == 0)
        free(p);
    else if ((q = realloc(p, size)) == NULL)
        abort();
    *bytes = *bytes - old + size;
    return q;
}

static void word(const char *text, size_t room)
{
    const char *end = memchr(text, '\0', room);

    must_hold(end != NULL, "bounds: end");
    for (; text < end; text++)
        must_hold(*text > ' ' && *text < 0x7f && *text != '[' && *text != ']', "bounds: bytes");
}

static void address(const struct usher__redis_address *at)
{
    word(at->host, sizeof at->host);
    must_hold(at->host[0] != '\0' && at->port != 0, "bounds: address");
}

static void redirect(const char *text, size_t size)
{
    struct usher__redis_address to, again;
    unsigned slot, slot_again;
    char line[400];

    if (!usher__redis_redirect_read(text, size, &asked, &slot, &to))
        return;
    address(&to);
    must_hold(slot < USHER__REDIS_SLOTS, "bounds: slot");
    (void)snprintf(line, sizeof line, "MOVED %u %s:%u", slot, to.host, to.port);
    must_hold(usher__redis_redirect_read(line, strlen(line), &asked, &slot_again, &again) &&
                  slot_again == slot && again.port == to.port && strcmp(again.host, to.host) == 0,
              "same");
}

static void look_at(const struct usher__redis_view *v)
{
    size_t covered = 0;

    must_hold(v->n <= v->room && v->n <= USHER__REDIS_MEMBERS_MAX, "bounds: members");
    for (size_t i = 0; i < v->n; i++) {
        address(&v->members[i].at);
        must_hold(memchr(v->members[i].id, '\0', sizeof v->members[i].id) != NULL, "bounds: id");
        for (size_t k = 0; k < i; k++)
            must_hold(v->members[i].at.port != v->members[k].at.port ||
                          strcmp(v->members[i].at.host, v->members[k].at.host) != 0,
                      "once");
    }
    for (size_t i = 0; i < USHER__REDIS_SLOTS; i++) {
        if (v->owner[i] == USHER__REDIS_NOBODY)
            continue;
        covered++;
        must_hold(v->owner[i] < v->n && v->members[v->owner[i]].master, "owners");
    }
    must_hold(covered == v->covered, "owners: covered");
}

static void view(const redisReply *reply)
{
    struct usher__redis_view *v = NULL;
    size_t bytes = 0;
    const struct usher_allocator alloc = { resize, &bytes };
    enum usher_status status = usher__redis_view_read(&alloc, reply, &asked, &v);

    must_hold(status == USHER_OK || status == USHER_INVALID, "status");
    must_hold((v != NULL) == (status == USHER_OK), "a view if it is understood");
    if (v != NULL)
        look_at(v);
    usher__redis_view_free(&alloc, v);
    must_hold(bytes == 0, "memory: given back");
}

/* hiredis allocates an array as long as it is announced: the connection has its own limits, and
 * this is not about them. */
static bool announces_too_much(const char *p, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        size_t digits = 0;

        if (strchr("*%~>|", p[i]) == NULL)
            continue;
        for (size_t k = i + 1; k < size && p[k] != '\r' && p[k] != '\n'; k++)
            digits += p[k] >= '0' && p[k] <= '9';
        if (digits > 4)
            return true;
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    redisReader *reader;
    void *reply = NULL;

    redirect(text, size);
    if (size == 0 || announces_too_much(text, size))
        return 0;
    reader = redisReaderCreate();
    if (reader == NULL)
        abort();
    if (redisReaderFeed(reader, text, size) == REDIS_OK &&
        redisReaderGetReply(reader, &reply) == REDIS_OK && reply != NULL) {
        const redisReply *r = reply;

        if (r->type == REDIS_REPLY_ERROR)
            redirect(r->str, r->len);
        view(r);
        freeReplyObject(reply);
    }
    redisReaderFree(reader);
    return 0;
}
