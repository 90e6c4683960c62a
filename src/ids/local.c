/* SPDX-License-Identifier: MIT */
/* Sub-ranges of ids, one for a thread, which takes from it without a locked addition. */
#include "config.h"

#include <usher/ids.h>

#include <sys/mman.h>

#include "ids/inner.h"

enum usher_status usher_ids_local_more(struct usher_ids_local *local, int64_t *ret_id)
{
    struct usher_ids *ids = local != NULL ? local->ids : NULL;
    struct inner *p;
    struct call c = { .taken = NONE };
    uint64_t end, cur;

    if (ids == NULL)
        return wrong("the sub-range is NULL, or was made before a fork");
    p = enter(ids);
    if (p == NULL)
        return USHER_INVALID;
    if (ret_id == NULL)
        return wrong("ret_id is NULL");
    end = __atomic_load_n(&ids->head.end, __ATOMIC_ACQUIRE);
    cur = counter(ids);
    c.got.end = c.got.first = 0;
    while (cur < end) {
        uint64_t n = (end - cur) / p->by;

        n = n < p->chunk ? n : p->chunk;
        if (n == 0)
            break;
        if (counter_move(ids, &cur, cur + n * p->by)) {
            c.got.first = cur;
            c.got.end = cur + n * p->by;
            break;
        }
    }
    if (c.got.first == c.got.end) {
        enum usher_status status;

        (void)pthread_mutex_lock(&p->lock);
        for (unsigned i = 0; i < p->n_scraps; i++) {
            if (p->scraps[i].first < local->head.next)
                continue; /* this thread had larger ones */
            c.got = p->scraps[i];
            p->scraps[i] = p->scraps[--p->n_scraps];
            break;
        }
        (void)pthread_mutex_unlock(&p->lock);
        c.n = p->wiped ? p->chunk : 1;
        status = c.got.first != c.got.end ? USHER_OK : usher__ids_run(ids, p, &c, 0);
        if (status != USHER_OK)
            return status;
    }
    *ret_id = (int64_t)c.got.first;
    local->head.by = p->by;
    local->head.next = c.got.first + p->by;
    local->head.end = c.got.end;
    return USHER_OK;
}

enum usher_status usher_ids_local_open(struct usher_ids *ids, struct usher_ids_local **ret_local)
{
    struct inner *p = enter(ids);
    struct usher_ids_local *local;
    bool wiped;

    if (p == NULL)
        return USHER_INVALID;
    if (ret_local == NULL)
        return wrong("ret_local is NULL");
    local = usher__ids_map(p->page, p->page, &wiped);
    if (local != NULL && p->wiped && !wiped) {
        (void)munmap(local, p->page);
        local = NULL;
    }
    if (local == NULL) {
        usher__message_set("ids: out of memory");
        return USHER_NOMEM;
    }
    local->ids = ids;
    *ret_local = local;
    return USHER_OK;
}

void usher_ids_local_close(struct usher_ids_local *local)
{
    struct inner *p;
    struct span rest;

    if (local == NULL)
        return;
    p = local->ids != NULL ? enter(local->ids) : NULL;
    rest.first = local->head.next;
    rest.end = local->head.end;
    if (p != NULL && rest.first < rest.end) {
        uint64_t cur = rest.end;

        (void)pthread_mutex_lock(&p->lock);
        /* the newest: the counter goes back to its value without it */
        if (!within(&p->now, rest.first, p->by) || !counter_move(local->ids, &cur, rest.first)) {
            if (p->n_scraps < SCRAPS)
                p->scraps[p->n_scraps++] = rest;
            else
                p->lost += (rest.end - rest.first) / p->by;
        }
        (void)pthread_mutex_unlock(&p->lock);
    }
    (void)munmap(local, page_size());
}
