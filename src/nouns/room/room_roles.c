/* SPDX-License-Identifier: MIT */
/* Roles and shares, which are removed with their member.  See room.h. */
#include "config.h"

#include "room.h"

#include <string.h>

/* ---- roles ------------------------------------------------------------------------ */

/* Load role or share @id, after what is due for its holder; vacant or none: id of size 0. */
static enum usher_status load_owned(work *w, uint8_t kind, const struct usher_text *id,
                                    struct usher_record *r)
{
    char name[USHER_NAME_MAX];
    struct usher_text owner = { name, 0 };
    struct usher_record holder;
    enum usher_status status = usher__room_find_value(w, kind, id, r);

    if (status != USHER_OK || r->id.size == 0)
        return status;
    owner.size = r->owner.size;
    memcpy(name, r->owner.data, owner.size);
    status = usher__room_load(w, &owner, &holder);
    if (status != USHER_OK && status != USHER_MISSING)
        return status;
    return usher__room_find_value(w, kind, id, r);
}

/* Count one role or share more or less for member @id. */
static enum usher_status recount(work *w, change *c, const struct usher_text *id, int n, int64_t by)
{
    struct usher_record r;
    enum usher_status status = w->ops->find(w->txn, &w->scope, KIND_MEMBER, id, &r);

    if (status == USHER_OK) {
        r.n[n] += by;
        usher__change_save(c, &r);
    }
    return status == USHER_MISSING ? USHER_OK : status;
}

enum usher_status usher__room_set_role(work *w)
{
    const struct usher_room_args *a = args(w);
    static const struct usher_text holder_word = { "holder", 6 };
    struct usher_record r, member;
    bool vacate = a->member.size == 0;
    change c;
    enum usher_status status;

    if (!usher__room_gate(w, USHER__ROOM_CHANGE))
        return USHER_OK;
    if (!vacate)
        status = usher__room_load_present(w, &a->member, &member);
    else
        status = USHER_OK;
    if (status == USHER_MISSING)
        return usher__room_turn_down(w, USHER_MISSING, not_in);
    if (status == USHER_OK)
        status = load_owned(w, KIND_ROLE, &a->role, &r);
    if (status != USHER_OK)
        return status;
    usher__room_answer_name(w, &r.owner);
    if (a->expected.data != NULL && !usher__text_equal(&a->expected, &r.owner))
        return usher__room_answer(w, USHER_STALE);
    if (usher__text_equal(&a->member, &r.owner))
        return usher__room_answer(w, USHER_SAME);
    if (!vacate && member.n[N_ROLES] >= USHER_ROOM_ROLES_MAX)
        return usher__room_turn_down(w, USHER_FULL, "the member has too many roles (limit 16)");
    if (r.id.size == 0 && w->scope.counts[COUNT_ROLES] >= USHER_ROOM_FIELDS_MAX)
        return usher__room_turn_down(w, USHER_FULL, "the room has too many roles (limit 1000)");
    usher__change_begin(w, &c);
    status = usher__room_tell_fields(w, &c, &holder_word, &a->member);
    if (status == USHER_OK && r.id.size != 0)
        status = recount(w, &c, &r.owner, N_ROLES, -1);
    if (status == USHER_OK && !vacate)
        status = recount(w, &c, &a->member, N_ROLES, 1);
    if (status != USHER_OK)
        return status;
    c.scope->counts[COUNT_ROLES] += (r.id.size == 0) - vacate;
    if (vacate) {
        usher__change_erase(&c, &r);
    } else {
        r.id = a->role;
        r.slots = 4u;
        r.order = r.token = c.scope->version;
        r.owner = a->member;
        usher__change_save(&c, &r);
    }
    r.owner = a->member;
    usher__room_answer_name(w, &a->member);
    usher__room_answer(w, USHER_OK);
    return usher__room_finish(w, &c, 0, 0, &r);
}

enum usher_status usher__room_stale_role(work *w)
{
    struct usher_record r;
    enum usher_status status = load_owned(w, KIND_ROLE, &args(w)->role, &r);

    usher__room_answer(w, USHER_STALE);
    if (status == USHER_OK)
        usher__room_answer_name(w, &r.owner);
    return status;
}

/* ---- shares ----------------------------------------------------------------------- */

enum usher_status usher__room_share(work *w)
{
    const struct usher_room_args *a = args(w);
    struct usher_record r, member;
    bool as_expected = false, changed, full;
    change c;
    enum usher_status status;

    if (!usher__room_gate(w, USHER__ROOM_CHANGE))
        return USHER_OK;
    usher__room_answer_name(w, &a->share);
    member.n[N_SHARES] = 0;
    status = load_owned(w, KIND_SHARE, &a->share, &r);
    if (status == USHER_OK)
        status = usher__room_load_present(w, &a->member, &member);
    if (status == USHER_MISSING)
        return usher__room_turn_down(w, USHER_MISSING, not_in);
    if (status == USHER_OK)
        status =
            usher__room_find_value(w, KIND_SHARE, &a->share, &r); /* its texts may have moved */
    if (status == USHER_OK)
        status = usher__room_expected(w, USHER_ROOM_ROW_SHARE, &r, &as_expected);
    if (status != USHER_OK || !as_expected)
        return status;
    if (r.id.size != 0 && !usher__text_equal(&r.owner, &a->member))
        return usher__room_turn_down(w, USHER_REFUSED, "the share belongs to another member");
    if (r.id.size == 0 && member.n[N_SHARES] >= USHER_ROOM_SHARES_MAX)
        return usher__room_turn_down(w, USHER_FULL, "the member has too many shares (limit 16)");
    status = usher__room_merge(w, false, NULL, &r.data, &changed, &full);
    if (status != USHER_OK || w->reply->status == USHER_UNAVAILABLE)
        return status;
    if (full)
        return usher__room_turn_down(w, USHER_FULL, too_many_fields);
    if (r.id.size != 0 && !changed)
        return usher__room_answer(w, USHER_SAME);
    usher__change_begin(w, &c);
    if (r.id.size == 0) {
        r.id = a->share;
        r.owner = a->member;
        r.slots = 4u;
        r.order = c.scope->version;
        c.scope->counts[COUNT_SHARES]++;
        status = recount(w, &c, &a->member, N_SHARES, 1);
    }
    usher__change_save(&c, &r);
    if (status == USHER_OK)
        status = usher__room_tell_fields(w, &c, NULL, NULL);
    if (status != USHER_OK)
        return status;
    usher__room_answer(w, USHER_OK);
    return usher__room_finish(w, &c, 0, 0, &r);
}

enum usher_status usher__room_unshare(work *w)
{
    struct usher_record r;
    bool as_expected = false;
    change c;
    enum usher_status status;

    if (!usher__room_gate(w, USHER__ROOM_CHANGE))
        return USHER_OK;
    usher__room_answer_name(w, &args(w)->share);
    status = usher__room_find_value(w, KIND_SHARE, &args(w)->share, &r);
    if (status == USHER_OK)
        status = usher__room_expected(w, USHER_ROOM_ROW_SHARE, &r, &as_expected);
    if (status != USHER_OK || !as_expected)
        return status;
    if (r.id.size == 0)
        return usher__room_answer(w, USHER_SAME);
    usher__change_begin(w, &c);
    usher__change_erase(&c, &r);
    c.scope->counts[COUNT_SHARES]--;
    status = recount(w, &c, &r.owner, N_SHARES, -1);
    if (status != USHER_OK)
        return status;
    usher__room_answer(w, USHER_OK);
    return usher__room_finish(w, &c, 0, 0, &r);
}
