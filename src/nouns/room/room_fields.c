/* SPDX-License-Identifier: MIT */
/* Fields of a room, of all members, of one.  See room.h. */
#include "config.h"

#include "room.h"

#include <string.h>

#include "core/pack.h"

/* ---- fields ----------------------------------------------------------------------- */

/* Set the data of a notice: @field and @value if they are given, then the command's fields. */
enum usher_status usher__room_tell_fields(work *w, change *c, const struct usher_text *field,
                                          const struct usher_text *value)
{
    static const char too_large[1] = { (char)(unsigned char)0xc0 };
    struct usher_text names[USHER_ROOM_GIVEN_FIELDS_MAX + 1],
        values[USHER_ROOM_GIVEN_FIELDS_MAX + 1];
    struct usher_fields f = usher__fields(&args(w)->fields);
    size_t n = 0;
    uint64_t version;

    if (field != NULL) {
        names[0] = *field;
        values[0] = *value;
        n = 1;
    }
    if (args(w)->fields.data != NULL)
        while (n <= USHER_ROOM_GIVEN_FIELDS_MAX &&
               usher_fields_next(&f, &names[n], &values[n], &version))
            n++;
    if (n == 0)
        return USHER_OK;
    c->data.size = usher_fields_pack(names, values, n, NULL, 0);
    if (c->data.size > USHER_NOTICE_DATA_MAX) {
        c->data.data = too_large;
        c->data.size = sizeof too_large;
        return USHER_OK;
    }
    c->data.data = (const char *)usher__buffer(w, 1, c->data.size);
    if (c->data.data == NULL)
        return USHER_NOMEM;
    (void)usher_fields_pack(names, values, n, (unsigned char *)(uintptr_t)c->data.data,
                            c->data.size);
    return USHER_OK;
}

/* Check `if=` and `if-version=`: whether @now (size 0: none) is the expected value.  If not, the
 * answer is STALE with @now. */
enum usher_status usher__room_expected(work *w, enum usher_room_row_kind kind,
                                       const struct usher_record *now, bool *ret_as_expected)
{
    const struct usher_text *must = &args(w)->expected;

    *ret_as_expected = must->data == NULL || usher__text_equal(must, &now->data);
    if (*ret_as_expected)
        return USHER_OK;
    usher__room_answer(w, USHER_STALE);
    return now->id.size != 0 ? usher__room_add_row(w, kind, now) : USHER_OK;
}

/* Find the value of @field as FIELD or ALL; absent: id of size 0. */
enum usher_status usher__room_find_value(work *w, uint8_t kind, const struct usher_text *field,
                                         struct usher_record *r)
{
    enum usher_status status = w->ops->find(w->txn, &w->scope, kind, field, r);

    if (status == USHER_MISSING) {
        memset(r, 0, sizeof *r);
        r->kind = kind;
        return USHER_OK;
    }
    return status;
}

/* Put @value of @field into @c as FIELD or ALL.  FULL. */
static enum usher_status put_value(work *w, change *c, struct usher_record *r,
                                   const struct usher_text *field, const struct usher_text *value)
{
    int64_t *counts = c->scope->counts;
    int64_t *count = &counts[r->kind == KIND_FIELD ? COUNT_FIELDS : COUNT_ALLS];

    (void)w;
    if (r->id.size == 0)
        ++*count;
    else
        counts[COUNT_BYTES] -= (int64_t)(r->id.size + r->data.size);
    r->id = *field;
    r->data = *value;
    r->order = c->scope->version;
    counts[COUNT_BYTES] += (int64_t)(r->id.size + r->data.size);
    if (*count > USHER_ROOM_FIELDS_MAX || counts[COUNT_BYTES] > USHER_ROOM_BYTES_MAX)
        return USHER_FULL;
    usher__change_save(c, r);
    return USHER_OK;
}

/* Set one field by the command; nothing is done if it has that value already. */
static enum usher_status set_one(work *w, change *c, const struct usher_text *field,
                                 const struct usher_text *value)
{
    struct usher_record r;
    enum usher_status status = usher__room_find_value(w, KIND_FIELD, field, &r);

    if (status != USHER_OK || (r.id.size != 0 && usher__text_equal(&r.data, value)))
        return status;
    return put_value(w, c, &r, field, value);
}

enum usher_status usher__room_set_fields(work *w)
{
    const struct usher_room_args *a = args(w);
    struct usher_scope before = w->scope;
    struct usher_fields f = usher__fields(&a->fields);
    struct usher_text name, value;
    struct usher_record r;
    uint64_t version;
    bool as_expected = false;
    change c;
    enum usher_status status;

    if (!usher__room_gate(w, USHER__ROOM_CHANGE))
        return USHER_OK;
    status = usher__room_find_value(w, KIND_FIELD, &a->field, &r);
    if (status == USHER_OK)
        status = usher__room_expected(w, USHER_ROOM_ROW_FIELD, &r, &as_expected);
    if (status != USHER_OK || !as_expected)
        return status;
    usher__change_begin(w, &c);
    status = set_one(w, &c, &a->field, &a->value);
    if (a->fields.data != NULL)
        while (status == USHER_OK && usher_fields_next(&f, &name, &value, &version))
            status = set_one(w, &c, &name, &value);
    if (status == USHER_FULL || (status == USHER_OK && c.n == 0)) {
        w->scope = before;
        if (status == USHER_FULL)
            return usher__room_turn_down(
                w, USHER_FULL, "the room has too many fields (limit 1000), or too large ones");
        return usher__room_answer(w, USHER_SAME);
    }
    if (status == USHER_OK)
        status = usher__room_tell_fields(w, &c, &a->field, &a->value);
    if (status != USHER_OK)
        return status;
    usher__room_answer(w, USHER_OK);
    memset(&r, 0, sizeof r);
    r.id = a->field;
    return usher__room_finish(w, &c, 0, 0, &r);
}

enum usher_status usher__room_unset(work *w)
{
    struct usher_record r;
    bool as_expected = false;
    change c;
    enum usher_status status;

    if (!usher__room_gate(w, USHER__ROOM_CHANGE))
        return USHER_OK;
    status = usher__room_find_value(w, KIND_FIELD, &args(w)->field, &r);
    if (status == USHER_OK)
        status = usher__room_expected(w, USHER_ROOM_ROW_FIELD, &r, &as_expected);
    if (status != USHER_OK || !as_expected)
        return status;
    if (r.id.size == 0)
        return usher__room_answer(w, USHER_SAME);
    usher__change_begin(w, &c);
    usher__change_erase(&c, &r);
    usher__room_count_out(c.scope->counts, &r);
    usher__room_answer(w, USHER_OK);
    return usher__room_finish(w, &c, 0, 0, &r);
}

enum usher_status usher__room_set_all(work *w)
{
    const struct usher_room_args *a = args(w);
    struct usher_scope before = w->scope;
    struct usher_record r;
    bool as_expected = false;
    change c;
    enum usher_status status;

    if (!usher__room_gate(w, USHER__ROOM_CHANGE))
        return USHER_OK;
    status = usher__room_find_value(w, KIND_ALL, &a->field, &r);
    if (status == USHER_OK)
        status = usher__room_expected(w, USHER_ROOM_ROW_ALL, &r, &as_expected);
    if (status != USHER_OK || !as_expected)
        return status;
    usher__change_begin(w, &c);
    status = put_value(w, &c, &r, &a->field, &a->value);
    if (status == USHER_FULL) {
        w->scope = before;
        return usher__room_turn_down(
            w, USHER_FULL, "the room has too many fields (limit 1000), or too large ones");
    }
    status = usher__room_tell_fields(w, &c, &a->field, &a->value);
    if (status != USHER_OK)
        return status;
    usher__room_answer(w, USHER_OK);
    return usher__room_finish(w, &c, 0, 0, &r);
}

/* ---- fields of members and shares ------------------------------------------------- */

struct entry {
    struct usher_text name, value;
    uint64_t version;
};

/* The fields of a member or a share while they are changed. */
struct fields {
    size_t n;
    bool changed, full;
    struct entry entry[USHER_ROOM_MEMBER_FIELDS_MAX];
};

/* Return false if they cannot be read. */
static bool fields_read(struct fields *all, const struct usher_text *data)
{
    struct usher_fields f = usher__fields(data);

    all->n = 0;
    all->changed = false;
    all->full = false;
    if (data->size == 0)
        return true;
    while (all->n < USHER_ROOM_MEMBER_FIELDS_MAX &&
           usher_fields_next(&f, &all->entry[all->n].name, &all->entry[all->n].value,
                             &all->entry[all->n].version))
        all->n++;
    return f.left == 0;
}

static struct entry *fields_find(struct fields *all, const struct usher_text *name)
{
    for (size_t i = 0; i < all->n; i++)
        if (usher__text_equal(&all->entry[i].name, name))
            return &all->entry[i];
    return NULL;
}

/* Set @name to @value at @version, unless it has that value already; a value of all members that
 * was set later (at @all_version) takes precedence. */
static void fields_set(struct fields *all, const struct usher_text *name,
                       const struct usher_text *value, uint64_t version, uint64_t all_version)
{
    struct entry *e = fields_find(all, name);

    if (e != NULL && e->version > all_version && usher__text_equal(&e->value, value))
        return;
    if (e == NULL) {
        if (all->n == USHER_ROOM_MEMBER_FIELDS_MAX) {
            all->full = true;
            return;
        }
        e = &all->entry[all->n++];
        e->name = *name;
    }
    e->value = *value;
    e->version = version;
    all->changed = true;
}

/* Pack them into buffer 0. */
static enum usher_status fields_write(work *w, struct fields *all, struct usher_text *ret)
{
    for (int pass = 0;; pass++) {
        struct usher__packer p = { pass == 0 ? NULL : w->buffer[0],
                                   pass == 0 ? 0 : w->buffer_size[0], 0 };

        ret->data = (const char *)p.to;
        ret->size = 0;
        if (all->n == 0)
            return USHER_OK;
        usher__pack_array(&p, 3 * all->n);
        for (size_t i = 0; i < all->n; i++) {
            usher__pack_text(&p, all->entry[i].name.data, all->entry[i].name.size);
            usher__pack_text(&p, all->entry[i].value.data, all->entry[i].value.size);
            usher__pack_uint(&p, all->entry[i].version);
        }
        ret->size = p.n;
        if (p.n > USHER_VALUE_MAX)
            all->full = true;
        if (all->full || pass == 1)
            return USHER_OK;
        if (usher__buffer(w, 0, p.n) == NULL)
            return USHER_NOMEM;
    }
}

/*
 * Merge the fields of @data with those that the command sets, at the version of the next change.
 * *@data is then the new text, in a buffer.  @of_member: values of all members apply.
 */
enum usher_status usher__room_merge(work *w, bool of_member, const struct usher_text *field,
                                    struct usher_text *data, bool *ret_changed, bool *ret_full)
{
    const struct usher_room_args *a = args(w);
    struct fields all;
    struct usher_fields f = usher__fields(&a->fields);
    struct usher_text name, value;
    uint64_t version = usher__version_next(w), none;
    bool one = field != NULL;
    enum usher_status status = USHER_OK;

    if (!fields_read(&all, data)) {
        usher_result_fail(w->reply, USHER_UNAVAILABLE, "the store is damaged: packed fields");
        *ret_changed = *ret_full = false;
        return USHER_OK;
    }
    while (one || (a->fields.data != NULL && usher_fields_next(&f, &name, &value, &none))) {
        struct usher_record r;

        if (one) {
            name = *field;
            value = a->value;
            one = false;
        }
        r.order = 0;
        if (of_member)
            status = usher__room_find_value(w, KIND_ALL, &name, &r);
        if (status != USHER_OK)
            return status;
        fields_set(&all, &name, &value, version, r.order);
    }
    status = fields_write(w, &all, data);
    *ret_changed = all.changed;
    *ret_full = all.full;
    return status;
}

/* Find the value of @field for member @r, if @all is that of all members.  Return false if the
 * fields of @r cannot be read. */
static bool value_of(const struct usher_record *r, const struct usher_record *all,
                     const struct usher_text *field, struct usher_record *ret)
{
    struct fields own;
    const struct entry *e;

    if (!fields_read(&own, &r->data))
        return false;
    e = fields_find(&own, field);
    *ret = *all;
    if (e != NULL && e->version > all->order) {
        ret->id = e->name;
        ret->data = e->value;
        ret->order = e->version;
    }
    return true;
}

enum usher_status usher__room_set_member(work *w)
{
    const struct usher_room_args *a = args(w);
    struct usher_record r, all, now;
    bool as_expected, changed, full;
    change c;
    enum usher_status status;

    if (!usher__room_gate(w, USHER__ROOM_CHANGE))
        return USHER_OK;
    usher__room_answer_name(w, &a->member);
    status = usher__room_load_present(w, &a->member, &r);
    if (status == USHER_MISSING)
        return usher__room_turn_down(w, USHER_MISSING, not_in);
    if (status == USHER_OK)
        status = usher__room_find_value(w, KIND_ALL, &a->field, &all);
    if (status != USHER_OK)
        return status;
    if (a->expected.data != NULL && value_of(&r, &all, &a->field, &now)) {
        status = usher__room_expected(w, USHER_ROOM_ROW_FIELD, &now, &as_expected);
        if (status != USHER_OK || !as_expected)
            return status;
    }
    status = usher__room_merge(w, true, &a->field, &r.data, &changed, &full);
    if (status != USHER_OK || w->reply->status == USHER_UNAVAILABLE)
        return status;
    if (full)
        return usher__room_turn_down(w, USHER_FULL, too_many_fields);
    if (!changed)
        return usher__room_answer(w, USHER_SAME);
    usher__change_begin(w, &c);
    usher__change_save(&c, &r);
    status = usher__room_tell_fields(w, &c, &a->field, &a->value);
    if (status != USHER_OK)
        return status;
    usher__room_answer(w, USHER_OK);
    return usher__room_finish(w, &c, r.state, r.state, &r);
}

/* ---- stale ------------------------------------------------------------------------ */

/* Answer with the record of @kind and @id, as a row of @row. */
static enum usher_status stale_field(work *w, uint8_t kind, enum usher_room_row_kind row)
{
    struct usher_record r;
    enum usher_status status = usher__room_find_value(w, kind, &args(w)->field, &r);

    return status == USHER_OK && r.id.size != 0 ? usher__room_add_row(w, row, &r) : status;
}

/* Answer with the state of the member, and with the value of its field if one is named. */
static enum usher_status stale_member(work *w, bool field)
{
    const struct usher_room_args *a = args(w);
    struct usher_record r, all, now;
    enum usher_status status = usher__room_load(w, &a->member, &r);

    usher__room_answer(w, USHER_STALE);
    usher__room_answer_name(w, &a->member);
    if (status != USHER_OK)
        return status == USHER_MISSING ? USHER_OK : status;
    w->reply->of.room.member_state = (enum usher_room_member_state)r.state;
    w->reply->of.room.until_ms = r.until_ms;
    if (!field)
        return USHER_OK;
    status = usher__room_find_value(w, KIND_ALL, &a->field, &all);
    if (status == USHER_OK && value_of(&r, &all, &a->field, &now) && now.id.size != 0)
        status = usher__room_add_row(w, USHER_ROOM_ROW_FIELD, &now);
    return status;
}

enum usher_status usher__room_stale(work *w)
{
    usher__room_answer(w, USHER_STALE);
    switch (w->command->verb) {
    case USHER_ROOM_OPEN:
        usher__room_settings_from(w, w->scope.settings);
        w->reply->of.room.created_ms = w->scope.counts[COUNT_CREATED];
        return USHER_OK;
    case USHER_ROOM_SET:
    case USHER_ROOM_UNSET:
        return stale_field(w, KIND_FIELD, USHER_ROOM_ROW_FIELD);
    case USHER_ROOM_ALL:
        return stale_field(w, KIND_ALL, USHER_ROOM_ROW_ALL);
    case USHER_ROOM_ROLE:
        return usher__room_stale_role(w);
    case USHER_ROOM_JOIN:
    case USHER_ROOM_LEAVE:
    case USHER_ROOM_KICK:
    case USHER_ROOM_ALIVE:
        return stale_member(w, false);
    case USHER_ROOM_MEMBER:
        return stale_member(w, true);
    default:
        return USHER_OK;
    }
}
