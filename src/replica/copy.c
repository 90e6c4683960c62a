/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "replica/copy.h"

#include <string.h>

#include <usher/store/store.h>

#include "core/pack.h"
#include "core/text.h"
#include "change/memory.h"

#define TABLE_MIN 16u

static bool is_in(unsigned state)
{
    return state >= USHER_ROOM_MEMBER_HERE && state <= USHER_ROOM_MEMBER_OFFLINE;
}

static bool is_open(unsigned state)
{
    return state == USHER_ROOM_STATE_OPEN || state == USHER_ROOM_STATE_LOCKED;
}

/* ---- the table and the lists ------------------------------------------------------ */

void usher__copy_init(struct usher__copy *c, const struct usher_allocator *alloc)
{
    memset(c, 0, sizeof *c);
    c->alloc = alloc;
}

static size_t thing_size(const struct usher__thing *t)
{
    return sizeof *t + t->id_size + 1;
}

static void thing_free(const struct usher__copy *c, struct usher__thing *t)
{
    (void)usher__resize(c->alloc, t->value, t->value_size, 0);
    (void)usher__resize(c->alloc, t, thing_size(t), 0);
}

static void things_clear(struct usher__copy *c)
{
    for (unsigned kind = 0; kind < USHER__THING_KINDS; kind++) {
        struct usher__thing *t = c->first[kind], *behind;

        for (; t != NULL; t = behind) {
            behind = t->behind;
            thing_free(c, t);
        }
        c->first[kind] = c->last[kind] = NULL;
        c->count[kind] = 0;
    }
    /* NOLINTNEXTLINE(bugprone-sizeof-expression) */
    (void)usher__resize(c->alloc, c->table, c->table_size * sizeof *c->table, 0);
    c->table = NULL;
    c->table_size = 0;
    c->n = 0;
}

void usher__copy_clear(struct usher__copy *c)
{
    const struct usher_allocator *alloc = c->alloc;

    things_clear(c);
    usher__copy_init(c, alloc);
}

static struct usher__thing **chain_of(const struct usher__copy *c, uint64_t hash)
{
    return &c->table[hash & (c->table_size - 1)];
}

struct usher__thing *usher__copy_find(const struct usher__copy *c, unsigned kind, const char *id,
                                      size_t size)
{
    uint64_t hash;
    struct usher__thing *t;

    if (c->table == NULL || size == 0)
        return NULL;
    hash = usher__thing_hash(kind, id, size, c->epoch);
    for (t = *chain_of(c, hash); t != NULL; t = t->chain)
        if (t->hash == hash && t->kind == kind && t->id_size == size &&
            memcmp(t->id, id, size) == 0)
            return t;
    return NULL;
}

static bool table_grow(struct usher__copy *c)
{
    size_t size = c->table_size != 0 ? c->table_size * 2 : TABLE_MIN;
    struct usher__thing **old = c->table;
    size_t old_size = c->table_size;
    struct usher__thing **table;

    /* NOLINTNEXTLINE(bugprone-sizeof-expression) */
    if (size > SIZE_MAX / sizeof *table)
        return false;
    /* NOLINTNEXTLINE(bugprone-sizeof-expression) */
    table = usher__resize(c->alloc, NULL, 0, size * sizeof *table);
    if (table == NULL)
        return false;
    for (size_t i = 0; i < size; i++)
        table[i] = NULL;
    c->table = table;
    c->table_size = size;
    for (size_t i = 0; i < old_size; i++) {
        struct usher__thing *t = old[i], *next;

        for (; t != NULL; t = next) {
            next = t->chain;
            t->chain = *chain_of(c, t->hash);
            *chain_of(c, t->hash) = t;
        }
    }
    /* NOLINTNEXTLINE(bugprone-sizeof-expression) */
    (void)usher__resize(c->alloc, old, old_size * sizeof *old, 0);
    return true;
}

/* @id is not there.  NULL: no memory, and nothing has changed that can be seen. */
static struct usher__thing *thing_new(struct usher__copy *c, unsigned kind,
                                      const struct usher_text *id)
{
    struct usher__thing *t;

    if (c->n >= c->table_size && !table_grow(c))
        return NULL;
    t = usher__resize(c->alloc, NULL, 0, sizeof *t + id->size + 1);
    if (t == NULL)
        return NULL;
    memset(t, 0, sizeof *t);
    t->kind = (uint8_t)kind;
    t->id_size = (uint8_t)id->size;
    memcpy(t->id, id->data, id->size);
    t->id[id->size] = '\0';
    t->hash = usher__thing_hash(kind, t->id, t->id_size, c->epoch);
    t->chain = *chain_of(c, t->hash);
    *chain_of(c, t->hash) = t;
    t->before = c->last[kind];
    if (t->before != NULL)
        t->before->behind = t;
    else
        c->first[kind] = t;
    c->last[kind] = t;
    c->count[kind]++;
    c->n++;
    return t;
}

static void hang_off(struct usher__thing *t)
{
    struct usher__thing **at;

    if (t->holder == NULL)
        return;
    for (at = &t->holder->owned; *at != t; at = &(*at)->owned_behind)
        ;
    *at = t->owned_behind;
    t->holder = t->owned_behind = NULL;
}

/* Append to the things of @holder, so that its shares are walked in the order they came. */
static void hang_on(struct usher__thing *t, struct usher__thing *holder)
{
    struct usher__thing **at = &holder->owned;

    while (*at != NULL)
        at = &(*at)->owned_behind;
    *at = t;
    t->holder = holder;
    t->owned_behind = NULL;
}

static void thing_remove(struct usher__copy *c, struct usher__thing *t)
{
    struct usher__thing **at;

    while (t->owned != NULL)
        thing_remove(c, t->owned); /* these own nothing */
    hang_off(t);
    for (at = chain_of(c, t->hash); *at != t; at = &(*at)->chain)
        ;
    *at = t->chain;
    if (t->before != NULL)
        t->before->behind = t->behind;
    else
        c->first[t->kind] = t->behind;
    if (t->behind != NULL)
        t->behind->before = t->before;
    else
        c->last[t->kind] = t->before;
    c->count[t->kind]--;
    c->n--;
    thing_free(c, t);
}

static bool value_set(const struct usher__copy *c, struct usher__thing *t, const void *data,
                      size_t size)
{
    unsigned char *value = NULL;

    if (size != 0) {
        value = usher__resize(c->alloc, NULL, 0, size);
        if (value == NULL)
            return false;
        memcpy(value, data, size);
    }
    (void)usher__resize(c->alloc, t->value, t->value_size, 0);
    t->value = value;
    t->value_size = size;
    return true;
}

/* ---- packed fields ---------------------------------------------------------------- */

bool usher__own_begin(const struct usher_text *packed, bool versions, struct usher_unpacker *u,
                      size_t *ret_n)
{
    size_t each = versions ? 3 : 2;

    *ret_n = 0;
    if (packed->size == 0)
        return true;
    u->at = (const unsigned char *)packed->data;
    u->end = u->at + packed->size;
    if (!usher_unpack_array(u, ret_n) || *ret_n % each != 0)
        return false;
    *ret_n /= each;
    return true;
}

bool usher__own_next(struct usher_unpacker *u, struct usher_text *ret_name,
                     struct usher_text *ret_value, uint64_t *ret_version)
{
    return usher_unpack_text(u, ret_name) && ret_name->size >= 1 &&
           ret_name->size <= USHER_NAME_MAX && usher_unpack_text(u, ret_value) &&
           ret_value->size <= USHER_VALUE_MAX &&
           (ret_version == NULL || usher_unpack_uint(u, ret_version));
}

/* Whether all of @packed is fields. */
static bool own_is(const struct usher_text *packed, bool versions)
{
    struct usher_unpacker u = { NULL, NULL };
    struct usher_text name, value;
    uint64_t version;
    size_t n;

    if (!usher__own_begin(packed, versions, &u, &n))
        return false;
    while (n > 0 && usher__own_next(&u, &name, &value, versions ? &version : NULL))
        n--;
    return n == 0 && u.at == u.end;
}

/* The value of @name among the @n pairs that @u begins with: of two the later.  False: none. */
static bool own_find(struct usher_unpacker u, size_t n, const struct usher_text *name,
                     struct usher_text *ret_value)
{
    struct usher_text other, value;
    bool found = false;

    while (n-- > 0 && usher__own_next(&u, &other, &value, NULL))
        if (usher__text_equal(&other, name)) {
            *ret_value = value;
            found = true;
        }
    return found;
}

/* The same among fields with versions. */
static bool own_has(const struct usher_text *packed, const struct usher_text *name)
{
    struct usher_unpacker u = { NULL, NULL };
    struct usher_text other, value;
    uint64_t version;
    size_t n;

    (void)usher__own_begin(packed, true, &u, &n);
    while (n-- > 0 && usher__own_next(&u, &other, &value, &version))
        if (usher__text_equal(&other, name))
            return true;
    return false;
}

static void own_put(struct usher__packer *p, const struct usher_text *name,
                    const struct usher_text *value, uint64_t version)
{
    usher__pack_text(p, name->data, name->size);
    usher__pack_text(p, value->data, value->size);
    usher__pack_uint(p, version);
}

/*
 * The fields of @t with @pairs set at @version, without the array's head.  A field that has its
 * value already keeps its version, unless a value of all was set since.  Returns the count.
 */
static size_t own_merge(const struct usher__copy *c, const struct usher__thing *t,
                        const struct usher_text *pairs, uint64_t version, struct usher__packer *p)
{
    struct usher_text old = { (const char *)t->value, t->value_size };
    struct usher_unpacker u = { NULL, NULL }, in = { NULL, NULL };
    struct usher_text name, value, set, again;
    uint64_t at;
    size_t n, n_in, count;

    (void)usher__own_begin(pairs, false, &in, &n_in);
    (void)usher__own_begin(&old, true, &u, &n);
    count = n;
    while (n-- > 0 && usher__own_next(&u, &name, &value, &at)) {
        if (own_find(in, n_in, &name, &set)) {
            const struct usher__thing *all =
                t->kind == USHER_ROOM_ROW_MEMBER
                    ? usher__copy_find(c, USHER_ROOM_ROW_ALL, name.data, name.size)
                    : NULL;

            if (!usher__text_equal(&set, &value) || (all != NULL && all->version >= at)) {
                value = set;
                at = version;
            }
        }
        own_put(p, &name, &value, at);
    }
    while (n_in-- > 0 && usher__own_next(&in, &name, &value, NULL))
        if (!own_has(&old, &name) && !own_find(in, n_in, &name, &again)) {
            own_put(p, &name, &value, version);
            count++;
        }
    return count;
}

/* Set those of @t that @pairs names. */
static bool own_set(const struct usher__copy *c, struct usher__thing *t,
                    const struct usher_text *pairs, uint64_t version)
{
    struct usher__packer p = { NULL, 0, 0 };
    unsigned char *value;
    size_t n, size;

    if (pairs->size == 0)
        return true;
    n = own_merge(c, t, pairs, version, &p);
    usher__pack_array(&p, 3 * n);
    size = p.n;
    value = usher__resize(c->alloc, NULL, 0, size);
    if (value == NULL)
        return false;
    p.to = value;
    p.size = size;
    p.n = 0;
    usher__pack_array(&p, 3 * n);
    (void)own_merge(c, t, pairs, version, &p);
    (void)usher__resize(c->alloc, t->value, t->value_size, 0);
    t->value = value;
    t->value_size = size;
    return true;
}

/* ---- rows ------------------------------------------------------------------------- */

void usher__copy_row(const struct usher__thing *t, struct usher_room_result_row *ret_row)
{
    memset(ret_row, 0, sizeof *ret_row);
    ret_row->kind = t->kind;
    ret_row->state = t->state;
    ret_row->id.data = t->id;
    ret_row->id.size = t->id_size;
    if (t->holder != NULL) {
        ret_row->owner.data = t->holder->id;
        ret_row->owner.size = t->holder->id_size;
    }
    ret_row->value.data = (const char *)t->value;
    ret_row->value.size = t->value_size;
    ret_row->version = t->version;
    ret_row->since_ms = t->since_ms;
}

/* A program reads names as strings. */
static bool is_name(const struct usher_text *text)
{
    return text->data != NULL && text->size >= 1 && text->size <= USHER_NAME_MAX &&
           memchr(text->data, '\0', text->size) == NULL;
}

enum usher_status usher__copy_add(struct usher__copy *c, const struct usher_room_result_row *row)
{
    struct usher__thing *t, *holder = NULL;

    if (row->kind < USHER_ROOM_ROW_FIELD || row->kind > USHER_ROOM_ROW_SHARE ||
        !is_name(&row->id) || row->version > c->version)
        return USHER_INVALID;
    t = usher__copy_find(c, (unsigned)row->kind, row->id.data, row->id.size);
    if (t != NULL)
        return row->kind == USHER_ROOM_ROW_ALL && row->version == t->version ? USHER_SAME
                                                                             : USHER_INVALID;
    if (row->kind == USHER_ROOM_ROW_MEMBER &&
        (!is_in((unsigned)row->state) || row->version <= c->after))
        return USHER_INVALID;
    if ((row->kind == USHER_ROOM_ROW_MEMBER || row->kind == USHER_ROOM_ROW_SHARE) &&
        !own_is(&row->value, true))
        return USHER_INVALID;
    if (row->kind == USHER_ROOM_ROW_SHARE) {
        holder = usher__copy_find(c, USHER_ROOM_ROW_MEMBER, row->owner.data, row->owner.size);
        if (holder == NULL)
            return USHER_INVALID;
    }
    t = thing_new(c, (unsigned)row->kind, &row->id);
    if (t == NULL)
        return USHER_NOMEM;
    t->version = row->version;
    /* Roles come before the members who hold them: until then the holder's name is here. */
    if (!value_set(c, t, row->kind == USHER_ROOM_ROW_ROLE ? row->owner.data : row->value.data,
                   row->kind == USHER_ROOM_ROW_ROLE ? row->owner.size : row->value.size)) {
        thing_remove(c, t);
        return USHER_NOMEM;
    }
    if (row->kind == USHER_ROOM_ROW_MEMBER) {
        t->state = (uint8_t)row->state;
        t->since_ms = row->since_ms;
        c->after = row->version;
    }
    if (holder != NULL)
        hang_on(t, holder);
    return USHER_OK;
}

bool usher__copy_finish(struct usher__copy *c)
{
    for (struct usher__thing *t = c->first[USHER_ROOM_ROW_ROLE]; t != NULL; t = t->behind) {
        struct usher__thing *holder =
            usher__copy_find(c, USHER_ROOM_ROW_MEMBER, (const char *)t->value, t->value_size);

        if (holder == NULL)
            return false;
        (void)value_set(c, t, NULL, 0);
        hang_on(t, holder);
    }
    c->partial = false;
    return true;
}

/* ---- notices ---------------------------------------------------------------------- */

/* One pair: a field of the room, which keeps its version if it has that value already, or a
 * value of all. */
static bool put_value(struct usher__copy *c, unsigned kind, const struct usher_text *name,
                      const struct usher_text *value, uint64_t version)
{
    struct usher__thing *t = usher__copy_find(c, kind, name->data, name->size);

    if (t != NULL && kind == USHER_ROOM_ROW_FIELD && t->value_size == value->size &&
        (value->size == 0 || memcmp(t->value, value->data, value->size) == 0))
        return true;
    if (t == NULL)
        t = thing_new(c, kind, name);
    if (t == NULL || !value_set(c, t, value->data, value->size))
        return false;
    t->version = version;
    return true;
}

static enum usher_status apply_values(struct usher__copy *c, const struct usher_notice *n,
                                      unsigned kind)
{
    struct usher_unpacker u = { NULL, NULL };
    struct usher_text name, value;
    size_t left;

    if (!usher__own_begin(&n->data, false, &u, &left) || left == 0)
        return USHER_INVALID;
    for (; left > 0 && usher__own_next(&u, &name, &value, NULL); left--)
        if (!put_value(c, kind, &name, &value, n->version))
            return USHER_NOMEM;
    return USHER_OK;
}

/* In a partial copy: @member has no role any more. */
static void vacate(struct usher__copy *c, const struct usher_text *member)
{
    struct usher__thing *t = c->first[USHER_ROOM_ROW_ROLE], *behind;

    for (; t != NULL; t = behind) {
        struct usher_text holder = { (const char *)t->value, t->value_size };

        behind = t->behind;
        if (usher__text_equal(&holder, member))
            thing_remove(c, t);
    }
}

static enum usher_status apply_member(struct usher__copy *c, const struct usher_notice *n)
{
    struct usher__thing *t =
        usher__copy_find(c, USHER_ROOM_ROW_MEMBER, n->subject.data, n->subject.size);

    if (!is_name(&n->subject) || (t == NULL && is_in(n->from) && !c->partial) ||
        (t != NULL && n->from != t->state) || n->to > USHER_ROOM_MEMBER_BANNED)
        return USHER_INVALID;
    switch (n->verb) {
    case USHER_ROOM_JOIN:
        if (!is_in(n->to))
            return USHER_INVALID;
        break;
    case USHER_ROOM_LEAVE:
    case USHER_ROOM_KICK:
    case USHER_ROOM_EXPIRE:
        if (is_in(n->to))
            return USHER_INVALID;
        break;
    default:
        if ((t == NULL && !c->partial) || !is_in(n->to))
            return USHER_INVALID;
    }
    if (!is_in(n->to)) {
        if (t != NULL)
            thing_remove(c, t);
        if (c->partial)
            vacate(c, &n->subject);
        return USHER_OK;
    }
    if (t == NULL && c->partial) /* a later page has it */
        return USHER_OK;
    if (t == NULL) {
        t = thing_new(c, USHER_ROOM_ROW_MEMBER, &n->subject);
        if (t == NULL)
            return USHER_NOMEM;
        t->version = n->version;
        t->since_ms = n->now_ms;
    }
    t->state = n->to;
    return own_set(c, t, &n->data, n->version) ? USHER_OK : USHER_NOMEM;
}

static enum usher_status apply_role(struct usher__copy *c, const struct usher_notice *n)
{
    struct usher__thing *t =
        usher__copy_find(c, USHER_ROOM_ROW_ROLE, n->subject.data, n->subject.size);
    struct usher__thing *holder =
        usher__copy_find(c, USHER_ROOM_ROW_MEMBER, n->owner.data, n->owner.size);
    bool vacant = n->owner.size == 0;

    if (!is_name(&n->subject) || (!vacant && holder == NULL && !c->partial) ||
        (t == NULL && vacant))
        return USHER_INVALID;
    if (vacant) {
        thing_remove(c, t);
        return USHER_OK;
    }
    if (t == NULL)
        t = thing_new(c, USHER_ROOM_ROW_ROLE, &n->subject);
    if (t == NULL)
        return USHER_NOMEM;
    t->version = n->version;
    if (c->partial)
        return value_set(c, t, n->owner.data, n->owner.size) ? USHER_OK : USHER_NOMEM;
    hang_off(t);
    hang_on(t, holder);
    return USHER_OK;
}

static enum usher_status apply_share(struct usher__copy *c, const struct usher_notice *n)
{
    struct usher__thing *t =
        usher__copy_find(c, USHER_ROOM_ROW_SHARE, n->subject.data, n->subject.size);
    struct usher__thing *holder =
        usher__copy_find(c, USHER_ROOM_ROW_MEMBER, n->owner.data, n->owner.size);

    if (!is_name(&n->subject) || (holder == NULL && (t != NULL || !c->partial)) ||
        (t != NULL && t->holder != holder))
        return USHER_INVALID;
    if (holder == NULL) /* a later page has it */
        return USHER_OK;
    if (t == NULL) {
        t = thing_new(c, USHER_ROOM_ROW_SHARE, &n->subject);
        if (t == NULL)
            return USHER_NOMEM;
        hang_on(t, holder);
        t->version = n->version;
    }
    return own_set(c, t, &n->data, n->version) ? USHER_OK : USHER_NOMEM;
}

static enum usher_status apply_removal(struct usher__copy *c, const struct usher_notice *n,
                                       unsigned kind)
{
    struct usher__thing *t = usher__copy_find(c, kind, n->subject.data, n->subject.size);

    if (t == NULL)
        return c->partial && kind == USHER_ROOM_ROW_SHARE ? USHER_OK : USHER_INVALID;
    thing_remove(c, t);
    return USHER_OK;
}

/* Apply a change of the room itself. */
static enum usher_status apply_state(struct usher__copy *c, const struct usher_notice *n)
{
    bool stays = is_open(n->to);

    if (n->from != (unsigned)c->state || n->to > USHER_ROOM_STATE_CLOSING ||
        stays != (n->verb == USHER_ROOM_OPEN || n->verb == USHER_ROOM_LOCK ||
                  n->verb == USHER_ROOM_UNLOCK))
        return USHER_INVALID;
    if (!stays)
        things_clear(c);
    c->state = (enum usher_room_state)n->to;
    return USHER_OK;
}

static enum usher_status apply(struct usher__copy *c, const struct usher_notice *n)
{
    switch (n->verb) {
    case USHER_ROOM_OPEN:
    case USHER_ROOM_LOCK:
    case USHER_ROOM_UNLOCK:
    case USHER_ROOM_CLOSE:
    case USHER_ROOM_EMPTY:
    case USHER_ROOM_DONE:
        return apply_state(c, n);
    case USHER_ROOM_SET:
        return apply_values(c, n, USHER_ROOM_ROW_FIELD);
    case USHER_ROOM_UNSET:
        return apply_removal(c, n, USHER_ROOM_ROW_FIELD);
    case USHER_ROOM_ALL:
        return apply_values(c, n, USHER_ROOM_ROW_ALL);
    case USHER_ROOM_JOIN:
    case USHER_ROOM_LEAVE:
    case USHER_ROOM_KICK:
    case USHER_ROOM_EXPIRE:
    case USHER_ROOM_FADE:
    case USHER_ROOM_DROP:
    case USHER_ROOM_ALIVE:
    case USHER_ROOM_MEMBER:
        return apply_member(c, n);
    case USHER_ROOM_ROLE:
        return apply_role(c, n);
    case USHER_ROOM_SHARE:
        return apply_share(c, n);
    case USHER_ROOM_UNSHARE:
        return apply_removal(c, n, USHER_ROOM_ROW_SHARE);
    case USHER_ROOM_OUTAGE: /* deadlines, which a copy does not have */
        return USHER_OK;
    default: /* of a newer library */
        return USHER_INVALID;
    }
}

enum usher_status usher__copy_apply(struct usher__copy *c, const struct usher_notice *n)
{
    enum usher_status status = USHER_INVALID;

    /* nil in place of fields: too large for a notice */
    if (own_is(&n->data, false) &&
        (is_open((unsigned)c->state) || n->verb == USHER_ROOM_CLOSE || n->verb == USHER_ROOM_DONE))
        status = apply(c, n);
    if (status == USHER_OK) {
        c->version = n->version;
        c->mark = n->mark;
    }
    return status;
}
