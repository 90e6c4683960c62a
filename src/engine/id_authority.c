/* SPDX-License-Identifier: MIT */
/*
 * An authority as the manager of ids.  Its maximum of a name counts integers, not ids: a segment of
 * n ids is n * by integers wide, so that every segment begins on the grid of start and by.
 */
#include "config.h"

#include <usher/authority.h>

#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "engine/engine.h"

static struct usher_text name_of(const struct usher_ids_authority *of)
{
    struct usher_text name = { of->name, of->name != NULL ? strlen(of->name) : 0 };

    return name;
}

static int64_t by_of(const struct usher_ids_authority *of)
{
    return of->by != 0 ? of->by : 1;
}

static const char *fault_of(const struct usher_ids_authority *of)
{
    if (of->authority == NULL || of->name == NULL ||
        usher__scope_fault(of->name, strlen(of->name)) != NULL)
        return "the authority or the name is wrong";
    if (of->by < 0 || of->by > USHER_ID_BY_MAX || of->start < 0 || of->limit < 0)
        return "start, by or limit is out of range";
    return NULL;
}

static enum usher_status reserve(void *payload, int64_t n, int64_t floor, int64_t deadline_ms,
                                 struct usher_id_range *ret, char message[192])
{
    const struct usher_ids_authority *of = payload;
    const char *fault = fault_of(of);
    int64_t by = by_of(of), start = of->start != 0 ? of->start : 1;
    struct usher_authority_want want;
    struct usher_authority_range range;
    enum usher_status status;

    if (fault != NULL || n < 1 || n > USHER_ID_N_MAX) {
        (void)snprintf(message, 192, "%s", fault != NULL ? fault : "n is out of range");
        return USHER_INVALID;
    }
    if (floor > start) /* up to the grid */
        start += (floor - start) / by * by + ((floor - start) % by != 0 ? by : 0);
    memset(&want, 0, sizeof want);
    want.noun = USHER_ID;
    want.name = name_of(of);
    want.floor = start - 1;
    want.n = n * by;
    want.limit = of->limit != 0 ? of->limit : USHER_ID_MAX;
    memset(&range, 0, sizeof range);
    status = of->authority->ops->reserve(of->authority, &want, deadline_ms, &range, message);
    if (status != USHER_OK)
        return status;
    /* one at the limit needs no room for the distance behind it */
    ret->first = range.from + 1;
    ret->n = (range.to - range.from + by - 1) / by;
    if (ret->n > n)
        ret->n = n;
    ret->by = by;
    return USHER_OK;
}

static void release(void *payload, const struct usher_id_range *range)
{
    const struct usher_ids_authority *of = payload;
    struct usher_text name = name_of(of);
    char message[192];

    (void)of->authority->ops->release(of->authority, USHER_ID, &name, range->first - 1,
                                      range->first - 1 + range->n * range->by,
                                      usher__monotonic_ms() + USHER_TIMEOUT_DEFAULT, message);
}

struct usher_ids_manager usher_ids_authority_manager(struct usher_ids_authority *of)
{
    struct usher_ids_manager manager = { reserve, release, of };

    return manager;
}
