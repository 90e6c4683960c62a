/* SPDX-License-Identifier: MIT */
/* usher_drop(): erase a scope, step by step. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/text.h"
#include "core/verbs.h"
#include "engine/engine.h"
#include "encode/bind.h"
#include "encode/result_fields.h"

/* A step whose answer was lost is repeated, at most this number of times in a row. */
#define TRIES 3
/* The maximum pause after a step, in which other commands use the store. */
#define PAUSE_MAX_NS 100000000

static void pause_for(int64_t ns)
{
    struct timespec ts = { 0, (long)(ns < PAUSE_MAX_NS ? ns : PAUSE_MAX_NS) };

    (void)nanosleep(&ts, NULL);
}

/* Return the number of records that the step with @reply erased; *@ret_more: there are more. */
static int64_t erased(enum usher_verb drop, const struct usher_result *reply, bool *ret_more)
{
    const struct usher__noun *noun = usher__noun((unsigned)reply->noun);
    unsigned at = USHER_FIELD_COUNT < noun->n_out_at ? noun->out_at[USHER_FIELD_COUNT] : 0;
    const struct usher__field *count = at != 0 ? &noun->outs[at - 1] : NULL;
    int64_t n = 1;

    *ret_more = usher__result_more(reply);
    if (count != NULL && (count->verbs & USHER__VERB_BIT((unsigned)drop)) != 0)
        memcpy(&n, (const char *)reply + count->offset, sizeof n);
    return n;
}

/* Restrict further steps to that scope, so that one that was created since is not erased. */
static void only_this(struct usher_operation *c, const struct usher_result *is,
                      char epoch[USHER__EPOCH_SIZE])
{
    const struct usher__noun *noun = usher__noun((unsigned)c->verb >> 8);
    int64_t version = (int64_t)is->version;
    struct usher_text text = { epoch, 0 };

    c->given |= noun->if_version;
    memcpy((char *)c + noun->if_version_at, &version, sizeof version);
    text.size = (size_t)snprintf(epoch, USHER__EPOCH_SIZE, "%016" PRIx64, is->epoch);
    memcpy((char *)c + noun->epoch_at, &text, sizeof text);
}

static void explain(const struct usher_operation *c, enum usher_status status, const char *refused,
                    const char *why)
{
    if (status == USHER_REFUSED && refused != NULL)
        why = refused;
    usher__message_set("drop %s/%.100s: %s",
                       usher_noun_word((enum usher_noun)((unsigned)c->verb >> 8)), c->scope.data,
                       why[0] != '\0' ? why : usher_status_text(status));
}

enum usher_status usher_drop(struct usher_engine *e, enum usher_noun noun, const char *scope,
                             int64_t *ret_items)
{
    const char *(*make)(struct usher_operation *) = usher__hooks((unsigned)noun)->drop;
    const char *refused;
    struct usher_operation c;
    char epoch[USHER__EPOCH_SIZE];
    int64_t items = 0;
    bool begun = false, more = false;
    unsigned tries = 0;
    enum usher_status status = usher__engine_check(e);

    if (ret_items != NULL)
        *ret_items = 0;
    if (status != USHER_OK)
        return status;
    if (scope == NULL || make == NULL) {
        usher__message_set("drop: %s", scope == NULL ? "scope is NULL" : "no such noun");
        return USHER_INVALID;
    }
    memset(&c, 0, sizeof c);
    refused = make(&c);
    c.scope.data = scope;
    c.scope.size = strlen(scope);
    do {
        struct usher_result reply;
        int64_t began_ns = e->waits ? usher__monotonic_ns() : 0;

        status = usher_operate(e, &c, &reply, 1);
        if (status == USHER_INVALID)
            return status; /* a fault of the engine: the reply was not written */
        status = reply.status;
        more = false;
        if (status == USHER_OK) {
            items += erased(c.verb, &reply, &more);
            only_this(&c, &reply, epoch);
            begun = true;
            tries = 0;
        } else if (status == USHER_UNKNOWN && begun && ++tries < TRIES) {
            more = true;
        } else if (begun &&
                   (status == USHER_SAME || status == USHER_STALE || status == USHER_LOST)) {
            status = USHER_OK; /* another client did the last step, and may have created it again */
        } else if (status != USHER_SAME) {
            explain(&c, status, refused, reply.message);
        }
        usher_result_done(&reply);
        if (more && e->waits)
            pause_for(usher__monotonic_ns() - began_ns);
    } while (more);
    if (ret_items != NULL)
        *ret_items = items;
    return status;
}
