/* SPDX-License-Identifier: MIT */
/* A dispenser as the manager of ids: see dispenser.h. */
#include "config.h"

#include "ids/dispenser.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "engine/engine.h"

static enum usher_status next(struct usher__ids_dispenser *p, int64_t n, struct usher_id_range *ret)
{
    struct usher_id_options opt = USHER_ID_OPTIONS_INIT;
    struct usher_id_answer a = USHER_ID_ANSWER_INIT;
    char request[64];
    enum usher_status status;

    if (p->doubted != 0)
        n = p->doubted; /* repeat the request, whose answer may be cached */
    (void)snprintf(request, sizeof request, "ids-%016" PRIx64 "-%" PRIu64, p->nonce, p->turn);
    opt.request = request;
    status = usher_id_next(p->e, p->name, n, &opt, &a);
    if ((status == USHER_OK || status == USHER_FULL) && a.n != USHER_NONE) {
        ret->first = a.first;
        ret->n = a.n;
        ret->by = a.by;
        ret->token = a.token;
        ret->epoch = a.epoch;
        ret->version = a.version;
    }
    p->doubted = status == USHER_UNKNOWN ? n : 0;
    if (status != USHER_UNKNOWN)
        p->turn++;
    return status;
}

/* Skip the ids of this process: the store has lost them, or the dispenser was deleted and created
 * again. */
static enum usher_status skip_to(struct usher__ids_dispenser *p, int64_t floor)
{
    struct usher_id_options opt = USHER_ID_OPTIONS_INIT;
    enum usher_status status;

    opt.next = floor;
    status = usher_id_set(p->e, p->name, NULL, &opt, NULL);
    /* refused: it is higher by now */
    return status == USHER_SAME || status == USHER_REFUSED ? USHER_OK : status;
}

static enum usher_status reserve(void *payload, int64_t n, int64_t floor, int64_t deadline_ms,
                                 struct usher_id_range *ret, char message[192])
{
    struct usher__ids_dispenser *p = payload;
    enum usher_status status = USHER_OK;

    (void)deadline_ms; /* the engine has its own deadline */
    for (int i = 0; i < 4 && status == USHER_OK; i++) {
        memset(ret, 0, sizeof *ret);
        status = next(p, n, ret);
        if (status == USHER_FULL && ret->n > 0 && ret->first >= floor) {
            n = ret->n; /* the last ones */
            status = USHER_OK;
            continue;
        }
        if (status == USHER_FULL && ret->n > 0)
            status = USHER_OK;
        if (status == USHER_OK && ret->first >= floor)
            return USHER_OK;
        if (status == USHER_OK)
            status = skip_to(p, floor);
    }
    (void)snprintf(message, 192, "%s", usher_message());
    if (status == USHER_OK) {
        (void)snprintf(message, 192, "the dispenser changes faster than it can be read");
        status = USHER_UNAVAILABLE;
    }
    return status;
}

static void release(void *payload, const struct usher_id_range *range)
{
    struct usher_id_options opt = USHER_ID_OPTIONS_INIT;
    struct usher__ids_dispenser *p = payload;

    opt.epoch = range->epoch;
    opt.token = range->token;
    (void)usher_id_return(p->e, p->name, range->first, range->n, &opt, NULL);
}

struct usher_ids_manager usher__ids_dispenser(struct usher__ids_dispenser *d,
                                              struct usher_engine *e, const char *name)
{
    struct usher_ids_manager manager = { reserve, release, d };

    memset(d, 0, sizeof *d);
    d->e = e;
    memcpy(d->name, name, strlen(name) + 1);
    if (getrandom(&d->nonce, sizeof d->nonce, GRND_NONBLOCK) != (ssize_t)sizeof d->nonce)
        d->nonce =
            (uint64_t)usher__monotonic_ns() * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)getpid();
    return manager;
}
