/* SPDX-License-Identifier: MIT */
/* Reads of a room.  See room.h. */
#include "config.h"

#include "room.h"

#include <string.h>

/* Add rows of all records of @kind, by id. */
static enum usher_status add_rows(work *w, uint8_t kind, enum usher_room_row_kind item)
{
    struct usher_record r;
    struct usher_text after = { NULL, 0 };
    enum usher_status status;

    while ((status = w->ops->next(w->txn, &w->scope, kind, &after, &r)) == USHER_OK) {
        after = r.id;
        status = usher__room_add_row(w, item, &r);
        if (status != USHER_OK)
            return status;
    }
    return status == USHER_MISSING ? USHER_OK : status;
}

/* Begin a read.  If *@now is not open there is no such room, which is answered. */
static enum usher_status read_begin(work *w, struct room_now *now)
{
    enum usher_status status = usher__room_check(w, now);

    if (status != USHER_OK)
        return status;
    usher__room_answer(w, now->open ? USHER_OK : USHER_MISSING);
    w->reply->of.room.members = (uint64_t)now->members;
    if (!now->open && state_of(w) != USHER_ROOM_STATE_CLOSED)
        w->reply->of.room.state = USHER_ROOM_STATE_CLOSING;
    return USHER_OK;
}

enum usher_status usher__room_get(work *w)
{
    struct usher_record r;
    struct room_now now;
    enum usher_status status = read_begin(w, &now);

    if (status != USHER_OK || !now.open)
        return status;
    if (args(w)->field.data == NULL)
        return add_rows(w, KIND_FIELD, USHER_ROOM_ROW_FIELD);
    status = usher__room_find_value(w, KIND_FIELD, &args(w)->field, &r);
    if (status == USHER_OK && r.id.size != 0)
        return usher__room_add_row(w, USHER_ROOM_ROW_FIELD, &r);
    w->reply->status = USHER_MISSING;
    return status;
}

enum usher_status usher__room_show(work *w)
{
    struct room_now now;
    enum usher_status status = read_begin(w, &now);

    if (status != USHER_OK || !now.open)
        return status;
    usher__room_settings_from(w, w->scope.settings);
    w->reply->of.room.created_ms = w->scope.counts[COUNT_CREATED];
    return USHER_OK;
}

enum usher_status usher__room_stats(work *w)
{
    struct usher_room_result_statistics *s = &w->reply->of.room.stats;
    const int64_t *counts = w->scope.counts;
    struct room_now now;
    enum usher_status status = read_begin(w, &now);

    if (status != USHER_OK || !now.open)
        return status;
    w->reply->of.room.created_ms = counts[COUNT_CREATED];
    s->capacity = w->scope.settings[SET_CAPACITY];
    s->roles = now.roles;
    s->shares = now.shares;
    s->joined_total = counts[COUNT_JOINED];
    s->lost_total = now.lost;
    s->kicked_total = counts[COUNT_KICKED];
    s->left_total = s->joined_total - now.members - s->lost_total - s->kicked_total;
    s->changes_total = counts[COUNT_LOGGED];
    return USHER_OK;
}

static enum usher_status add_notice(work *w, const struct usher_record *r)
{
    return usher__room_add_row(w, USHER_ROOM_ROW_NOTICE, r);
}

enum usher_status usher__room_changes(work *w)
{
    struct usher_room_result *reply = &w->reply->of.room;
    struct usher__log_asked asked = {
        .since = (uint64_t)args(w)->since,
        .max = given(w, USHER_GIVEN_ROOM_MAX) ? (size_t)args(w)->max : USHER_LIST_DEFAULT,
        .bytes = SIZE_MAX,
        .row = add_notice,
    };
    struct room_now now;
    enum usher_status status = read_begin(w, &now);

    if (status != USHER_OK || !now.open)
        return status;
    reply->count = (uint64_t)w->scope.counts[COUNT_CHANGES];
    reply->since = (uint64_t)w->scope.counts[COUNT_SINCE];
    reply->mark = (uint64_t)w->scope.counts[COUNT_MARK];
    reply->settings.push = w->scope.settings[SET_PUSH];
    return usher__log_read(w, &asked, &reply->more);
}

/* Add rows of member @m and its shares, and their size to *@bytes. */
static enum usher_status add_member(work *w, const struct usher_record *m, size_t *bytes)
{
    struct usher_record r;
    uint64_t order = 0;
    enum usher_status status = usher__room_add_row(w, USHER_ROOM_ROW_MEMBER, m);

    *bytes += ROW_WORK + m->data.size;
    while (status == USHER_OK && m->n[N_SHARES] > 0) {
        status = w->ops->walk(w->txn, &w->scope, KIND_SHARE, 2, &m->id, 0, order, false, &r);
        if (status != USHER_OK)
            break;
        order = r.order;
        *bytes += ROW_WORK + r.data.size;
        status = usher__room_add_row(w, USHER_ROOM_ROW_SHARE, &r);
    }
    return status == USHER_MISSING ? USHER_OK : status;
}

enum usher_status usher__room_snapshot(work *w)
{
    const struct usher_room_args *a = args(w);
    size_t max = given(w, USHER_GIVEN_ROOM_MAX) ? (size_t)a->max : USHER_LIST_DEFAULT;
    struct usher_room_result *reply = &w->reply->of.room;
    size_t bytes = 0, n = 0;
    struct usher_record r;
    enum usher_status status = USHER_OK;

    if (!usher__room_gate(w, USHER__ROOM_CHANGE))
        return USHER_OK;
    usher__room_answer(w, USHER_OK);
    usher__room_answer_point(w);
    reply->since = (uint64_t)a->after;
    if (given(w, USHER_GIVEN_ROOM_SINCE)) {
        struct usher__log_asked asked = { (uint64_t)a->since, max, PAGE_BYTES, add_notice, &bytes };

        status = usher__log_read(w, &asked, &reply->more);
        if (status != USHER_OK || w->reply->status != USHER_OK || reply->more)
            return status;
    }
    if (a->after == 0) {
        status = add_rows(w, KIND_FIELD, USHER_ROOM_ROW_FIELD);
        if (status == USHER_OK)
            status = add_rows(w, KIND_ROLE, USHER_ROOM_ROW_ROLE);
    }
    /* on every page, because the fields of its members depend on them */
    if (status == USHER_OK)
        status = add_rows(w, KIND_ALL, USHER_ROOM_ROW_ALL);
    while (status == USHER_OK && (status = w->ops->walk(w->txn, &w->scope, KIND_MEMBER, 2, NULL, 0,
                                                        reply->since, false, &r)) == USHER_OK) {
        if (n == max || (n > 0 && bytes >= PAGE_BYTES)) {
            reply->more = true;
            return USHER_OK;
        }
        n++;
        reply->since = r.order;
        status = add_member(w, &r, &bytes);
    }
    return status == USHER_MISSING ? USHER_OK : status;
}
