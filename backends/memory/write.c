/* SPDX-License-Identifier: MIT */
/* The write of the store `memory:`.  It first gets all the memory that it could need, and from then
 * on cannot fail. */
#include "config.h"

#include "shards.h"

#define LARGE 4096 /* bytes, for glibc */

static void *keyed_new(const struct usher_allocator *alloc, size_t offset,
                       const struct usher_text *key, uint32_t hash)
{
    char *object = resize(alloc, NULL, 0, keyed_size(offset, key->size));
    struct usher__table_head *head;

    if (object == NULL)
        return NULL;
    memset(object, 0, offset);
    head = (struct usher__table_head *)(void *)(object + offset);
    head->hash = hash;
    head->len = (uint16_t)key->size;
    memcpy(head->bytes, key->data, key->size);
    return object;
}

static int compare(const struct usher_text *text, const struct usher__table_head *head)
{
    size_t n = text->size < head->len ? text->size : head->len;
    int order = n != 0 ? memcmp(text->data, head->bytes, n) : 0;

    if (order != 0)
        return order;
    return (text->size > head->len) - (text->size < head->len);
}

/* The sign of a text against the id of a record, in byte order. */
static int compare_id(const void *probe, const void *ref)
{
    return compare(probe, &((const struct record *)ref)->head);
}

int usher__memory_compare_scope(const void *probe, const void *ref)
{
    return compare(probe, &((const struct scope *)ref)->head);
}

/* ---- kinds of records --------------------------------------------------------------- */

/* The records of kind @k in @s, created if they are not there: most rooms have few kinds, and there
 * are many rooms.  NULL: no memory. */
static struct kind *__attribute__((noinline))
kind_new(struct scope *s, unsigned k, const struct shard *shard)
{
    const struct usher_allocator *alloc = shard->memory->alloc;
    uint64_t seed = shard->scopes[0].seed;
    struct kind *kind;
    unsigned flags;

    USHER_ASSERT(k >= 1 && k < USHER_KINDS);
    kind = resize(alloc, NULL, 0, sizeof *kind);
    if (kind == NULL)
        return NULL;
    flags = usher_kind_flags((enum usher_noun)s->noun, (uint8_t)k);
    memset(kind, 0, sizeof *kind);
    usher__table_init(&kind->ids, alloc, offsetof(struct record, head), seed);
    usher__table_init(&kind->owners.table, alloc, offsetof(struct name, head), seed);
    usher__table_init(&kind->groups.table, alloc, offsetof(struct name, head), seed);
    kind->groups.counted = (flags & USHER_KIND_RANKED) != 0;
    kind->unordered = (flags & USHER_KIND_LISTED) == 0;
    usher__tree_init(&kind->by_id, compare_id);
    for (unsigned i = 0; i < USHER_SLOTS; i++)
        usher__tree_init(&kind->slot[i], NULL);
    s->kinds[k] = kind;
    return kind;
}

static inline struct kind *kind_make(struct scope *s, unsigned k, const struct shard *shard)
{
    return s->kinds[k] != NULL ? s->kinds[k] : kind_new(s, k, shard);
}

/* ---- write ------------------------------------------------------------------------ */

/* The memory that one write needs, all allocated before anything is changed. */
struct plan {
    struct kind *kind;          /* NULL: it could not be made */
    struct record *record;      /* to be changed or erased; NULL: nothing to do */
    struct name *owner, *group; /* each with a reference if the record has another now */
    char *data;                 /* with the numbers that are seldom used; maybe as it is */
    const char *aside;          /* what is to be put there; NULL: it is there */
    size_t data_size;
    unsigned leaves, joins; /* slots, by bit */
    bool fresh;             /* @record is new */
    bool more;              /* it has some of the numbers that are seldom used */
};

/* Data that will replace data of the same size, kept until the old data are not needed any more. */
struct aside {
    size_t n;
    char bytes[ASIDE];
};

static struct name *__attribute__((noinline))
name_new(struct shard *shard, struct names *names, const struct usher_text *text)
{
    struct name *name;

    if (!usher__table_reserve(&names->table, 1))
        return NULL;
    name = keyed_new(shard->memory->alloc, offsetof(struct name, head), text,
                     usher__table_hash(&names->table, text->data, text->size));
    if (name == NULL)
        return NULL;
    shard->found = name;
    usher__tree_init(&name->list[0], names->counted ? usher__tree_counted : NULL);
    usher__tree_init(&name->list[1], NULL);
    (void)usher__table_insert(&names->table, name);
    return name;
}

/* The name of @text, made if need be, with a reference.  NULL: no memory. */
static struct name *name_ref(struct shard *shard, struct names *names,
                             const struct usher_text *text)
{
    struct name *name = name_find(shard, names, text);

    if (name == NULL)
        name = name_new(shard, names, text);
    if (name != NULL)
        name->refs++;
    return name;
}

/* The name that a record will carry which carries @old, or NULL.  False: no memory. */
static inline bool name_plan(struct shard *shard, struct names *names, struct name *old,
                             const struct usher_text *text, struct name **ret_name)
{
    if (text->size == 0)
        *ret_name = NULL;
    else if (old != NULL && text->data == (const char *)old->head.bytes &&
             text->size == old->head.len)
        *ret_name = old; /* as record_show() gave it */
    else
        return (*ret_name = name_ref(shard, names, text)) != NULL;
    return true;
}

static void spare_first_drop(struct shard *shard, struct names *names)
{
    struct name *name = names->first_spare;

    USHER_ASSERT(name != NULL && name->spare && names->n_spare > 0);
    names->first_spare = name->next_spare;
    if (names->first_spare == NULL)
        names->last_spare = NULL;
    names->n_spare--;
    name->spare = false;
    if (name->refs == 0) {
        (void)usher__table_erase(&names->table, name);
        (void)resize(shard->memory->alloc, name, NAME_SIZE(name->head.len), 0);
    }
}

static void name_unref(struct shard *shard, struct kind *kind, struct names *names,
                       struct name *name)
{
    size_t limit = usher__table_count(&kind->ids) / 2;

    USHER_ASSERT(name->refs > 0);
    if (--name->refs > 0 || name->spare)
        return;
    name->spare = true;
    name->next_spare = NULL;
    if (names->last_spare != NULL)
        names->last_spare->next_spare = name;
    else
        names->first_spare = name;
    names->last_spare = name;
    names->n_spare++;
    while (names->n_spare > (limit < SPARE_NAMES ? limit : SPARE_NAMES))
        spare_first_drop(shard, names);
}

/* @r carries @to from now on instead of @from, which may be the same. */
static inline void name_swap(struct shard *shard, struct kind *kind, struct names *names,
                             struct name *from, const struct name *to)
{
    if (from != to && from != NULL)
        name_unref(shard, kind, names, from);
}

/* The number of @slot's order that is not the version. */
static uint64_t hi_of(unsigned slot, uint64_t rank, int64_t until_ms)
{
    return slot == 0 ? rank : slot == 1 ? (uint64_t)until_ms : 0;
}

static struct usher__tree *name_list(struct name *owner, struct name *group, unsigned slot)
{
    if (slot == 2)
        return owner != NULL ? &owner->list[0] : NULL;
    return group != NULL ? &group->list[slot] : NULL;
}

/* The slots that @r leaves or joins, or in which it changes its place, when it becomes @to
 * as @p says. */
static unsigned moves(const struct record *r, const struct usher_record *to, const struct plan *p)
{
    unsigned either = r->slots | to->slots, slots = r->slots ^ to->slots;

    if (r->order != to->order)
        return either;
    if (r->rank != to->rank)
        slots |= 1u << 0;
    if (r->until_ms != to->until_ms)
        slots |= 1u << 1;
    if (r->group != p->group)
        slots |= 1u << 0 | 1u << 1;
    if (r->owner != p->owner)
        slots |= 1u << 2;
    return slots & either;
}

static unsigned take_bit(unsigned *bits)
{
    unsigned bit = (unsigned)__builtin_ctz(*bits);

    *bits &= *bits - 1;
    return bit;
}

/* A record to be.  NULL: no memory. */
static struct record *__attribute__((noinline))
record_new(struct shard *shard, struct kind *kind, const struct usher_text *id)
{
    /* a change may make as many as it has writes */
    if (!usher__table_reserve(&kind->ids, USHER_CHANGE_MAX))
        return NULL;
    return keyed_new(shard->memory->alloc, offsetof(struct record, head), id,
                     usher__table_hash(&kind->ids, id->data, id->size));
}

static bool has_more(const struct usher_record *r)
{
    int64_t any = 0;

    for (int i = FEW; i < USHER_NUMBERS; i++)
        any |= r->n[i];
    return any != 0;
}

/* Other data than there are: those of the same size take the place of these. */
static bool __attribute__((noinline))
data_plan_new(struct shard *shard, const struct usher_record *from, struct plan *p,
              struct aside *aside)
{
    const struct record *r = p->record;
    size_t more = p->more ? MORE_SIZE : 0;

    if (p->data_size == r->data_size && from->data.size <= ASIDE - aside->n) {
        p->aside = aside->bytes + aside->n;
        if (from->data.size != 0)
            memcpy(aside->bytes + aside->n, from->data.data, from->data.size);
        aside->n += from->data.size;
        return true;
    }
    p->data = NULL;
    if (p->data_size == 0)
        return true;
    p->data = resize(shard->memory->alloc, NULL, 0, p->data_size);
    if (p->data != NULL && from->data.size != 0)
        memcpy(p->data + more, from->data.data, from->data.size);
    return p->data != NULL;
}

/* The data with the numbers before them, which are written by apply().  Data that are still as
 * record_show() gave them stay where they are. */
static inline bool data_plan(struct shard *shard, const struct usher_record *from, struct plan *p,
                             struct aside *aside)
{
    const struct record *r = p->record;
    size_t more;

    p->more = has_more(from);
    more = p->more ? MORE_SIZE : 0;
    p->data_size = more + from->data.size;
    p->data = r->data;
    return (p->data_size == r->data_size && p->more == r->more &&
            (from->data.size == 0 || from->data.data == r->data + more)) ||
           data_plan_new(shard, from, p, aside);
}

static inline size_t lists_need(const struct kind *kind, const struct plan *p)
{
    size_t nodes = 0;

    for (unsigned slots = p->joins; slots != 0;) {
        unsigned slot = take_bit(&slots);
        const struct usher__tree *list = name_list(p->owner, p->group, slot);

        nodes += usher__tree_need(&kind->slot[slot], 1);
        if (list != NULL)
            nodes += usher__tree_need(list, 1);
    }
    return nodes;
}

/* Adds to *@nodes what the trees may need. */
static bool plan_one(struct shard *shard, struct scope *s, const struct usher_write *write,
                     struct plan *p, size_t *nodes, struct aside *aside)
{
    const struct usher_record *to = &write->record;
    struct kind *kind = kind_make(s, to->kind, shard);
    struct record *r = to->ref;
    unsigned slots;

    p->kind = kind;
    if (kind == NULL)
        return false;
    p->record = r;
    p->fresh = false;
    if (write->erase) {
        p->leaves = r != NULL ? r->slots : 0;
        return true;
    }
    if (r == NULL) {
        p->record = r = record_new(shard, kind, &to->id);
        if (r == NULL)
            return false;
        p->fresh = true;
        if (!kind->unordered)
            *nodes += usher__tree_need(&kind->by_id, 1);
    }
    p->owner = r->owner; /* for unplan() */
    p->group = r->group;
    p->data = r->data;
    p->aside = NULL;
    if (!name_plan(shard, &kind->owners, r->owner, &to->owner, &p->owner) ||
        !name_plan(shard, &kind->groups, r->group, &to->group, &p->group) ||
        !data_plan(shard, to, p, aside))
        return false;
    slots = moves(r, to, p);
    p->leaves = slots & r->slots;
    p->joins = slots & to->slots;
    *nodes += lists_need(kind, p);
    return true;
}

static void unplan(struct shard *shard, const struct usher_write *write, struct plan *p)
{
    const struct usher_allocator *alloc = shard->memory->alloc;
    struct kind *kind = p->kind;

    if (kind == NULL || p->record == NULL || write->erase)
        return;
    name_swap(shard, kind, &kind->owners, p->owner, p->record->owner);
    name_swap(shard, kind, &kind->groups, p->group, p->record->group);
    if (p->data != p->record->data)
        (void)resize(alloc, p->data, p->data_size, 0);
    if (p->fresh)
        record_free(alloc, p->record);
}

/* From here on nothing can fail: lists and records agree, and there is room. */
static inline void must(bool done)
{
    USHER_ASSERT(done);
}

static void lists_leave(struct shard *shard, struct kind *kind, const struct record *r,
                        unsigned slots)
{
    while (slots != 0) {
        unsigned slot = take_bit(&slots);
        union usher__tree_key key = usher__tree_key(hi_of(slot, r->rank, r->until_ms), r->order);
        struct usher__tree *list = name_list(r->owner, r->group, slot);

        must(usher__tree_erase(&kind->slot[slot], &shard->pool, key));
        if (list != NULL)
            must(usher__tree_erase(list, &shard->pool, key));
    }
}

static void lists_join(struct shard *shard, struct kind *kind, struct record *r, unsigned slots)
{
    while (slots != 0) {
        unsigned slot = take_bit(&slots);
        union usher__tree_key key = usher__tree_key(hi_of(slot, r->rank, r->until_ms), r->order);
        struct usher__tree *list = name_list(r->owner, r->group, slot);

        must(usher__tree_insert(&kind->slot[slot], &shard->pool, key, r) == USHER__TREE_PUT);
        if (list != NULL)
            must(usher__tree_insert(list, &shard->pool, key, r) == USHER__TREE_PUT);
    }
}

static void record_insert(struct shard *shard, struct kind *kind, struct record *r)
{
    struct usher_text id = text_of(&r->head);

    must(usher__table_insert(&kind->ids, r));
    if (!kind->unordered)
        (void)usher__tree_insert(&kind->by_id, &shard->pool, usher__tree_probe(&id), r);
}

/* glibc keeps small pieces of memory that were freed apart, and joins all there are at once when it
 * is next asked for a large one: 30 ms after 600,000.  So it is asked when they are few. */
static void join_free(struct shard *shard)
{
    const struct usher_allocator *alloc = shard->memory->alloc;

    if (++shard->erased == ERASED_MAX) {
        (void)resize(alloc, resize(alloc, NULL, 0, LARGE), LARGE, 0);
        shard->erased = 0;
    }
}

static void record_erase(struct shard *shard, struct kind *kind, struct record *r)
{
    struct usher_text id = text_of(&r->head);

    if (!kind->unordered)
        must(usher__tree_erase(&kind->by_id, &shard->pool, usher__tree_probe(&id)));
    must(usher__table_erase(&kind->ids, r));
    name_swap(shard, kind, &kind->owners, r->owner, NULL);
    name_swap(shard, kind, &kind->groups, r->group, NULL);
    record_free(shard->memory->alloc, r);
    join_free(shard);
}

static void apply(struct shard *shard, const struct usher_write *write, const struct plan *p)
{
    const struct usher_record *to = &write->record;
    struct kind *kind = p->kind;
    struct record *r = p->record;

    if (r == NULL)
        return; /* erased before it was ever stored */
    USHER_ASSERT(p->fresh || r->kind == to->kind);
    lists_leave(shard, kind, r, p->leaves);
    if (write->erase) {
        record_erase(shard, kind, r);
        return;
    }
    if (p->fresh)
        record_insert(shard, kind, r);
    name_swap(shard, kind, &kind->owners, r->owner, p->owner);
    name_swap(shard, kind, &kind->groups, r->group, p->group);
    if (r->data != p->data)
        (void)resize(shard->memory->alloc, r->data, r->data_size, 0);
    r->kind = to->kind;
    r->state = to->state;
    r->slots = to->slots;
    r->rank = to->rank;
    r->order = to->order;
    r->token = to->token;
    r->until_ms = to->until_ms;
    memcpy(r->n, to->n, sizeof r->n);
    if (p->more)
        memcpy(p->data, to->n + FEW, MORE_SIZE);
    if (p->aside != NULL)
        memcpy(p->data + (p->more ? MORE_SIZE : 0), p->aside, to->data.size);
    r->more = p->more;
    r->owner = p->owner;
    r->group = p->group;
    r->data = p->data;
    r->data_size = (uint32_t)p->data_size;
    lists_join(shard, kind, r, p->joins);
}

/* Add @s to the names in order.  False: no memory. */
static bool order_join(struct order *order, struct scope *s)
{
    struct usher_text name = text_of(&s->head);
    bool good;

    (void)pthread_mutex_lock(&order->lock);
    good = usher__tree_reserve(&order->pool, usher__tree_need(&order->names, 1));
    if (good)
        (void)usher__tree_insert(&order->names, &order->pool, usher__tree_probe(&name), s);
    (void)pthread_mutex_unlock(&order->lock);
    return good;
}

/* list() no longer reads the name of @s. */
static void order_leave(struct order *order, const struct scope *s)
{
    struct usher_text name = text_of(&s->head);

    (void)pthread_mutex_lock(&order->lock);
    (void)usher__tree_erase(&order->names, &order->pool, usher__tree_probe(&name));
    usher__tree_pool_trim(&order->pool, 0);
    (void)pthread_mutex_unlock(&order->lock);
}

static struct order *order_of(const struct shard *shard, const struct scope *s)
{
    return &shard->memory->orders[s->noun % NOUNS];
}

/* A scope to be.  Its name is listed from here on; list() finds no scope of it before the write has
 * made one.  NULL: no memory. */
static struct scope *scope_new(struct shard *shard, const struct usher_scope *scope)
{
    struct usher__table *scopes = &shard->scopes[scope->noun % NOUNS];
    struct scope *s;

    if (!usher__table_reserve(scopes, 1))
        return NULL;
    s = keyed_new(shard->memory->alloc, offsetof(struct scope, head), &scope->name, shard->hash);
    if (s == NULL)
        return NULL;
    s->noun = scope->noun; /* kind_new() needs it, before the first change is made */
    if (!order_join(order_of(shard, s), s)) {
        usher__memory_scope_free(s, shard);
        return NULL;
    }
    return s;
}

static void scope_store(struct scope *s, const struct usher_scope *from)
{
    USHER_ASSERT(from->version >= s->version || from->epoch != s->epoch);
    s->noun = from->noun;
    s->epoch = from->epoch;
    s->version = from->version;
    s->clock_ms = from->clock_ms;
    s->due_ms = from->due_ms;
    memcpy(s->counts, from->counts, sizeof s->counts);
    memcpy(s->settings, from->settings, sizeof s->settings);
}

/* Nothing of @s is left, nor spare memory that it had. */
static void scope_erase(struct shard *shard, struct scope *s)
{
    struct usher__table *scopes = &shard->scopes[s->noun % NOUNS];

    (void)usher__table_erase(scopes, s);
    usher__table_trim(scopes);
    shard->recent = NULL;
    order_leave(order_of(shard, s), s);
    usher__memory_scope_free(s, shard);
    usher__tree_pool_trim(&shard->pool, 0);
}

/* There is no memory for a change that was planned up to here. */
static enum usher_status __attribute__((noinline))
write_nothing(struct shard *shard, const struct usher_scope *scope, struct scope *s,
              const struct usher_write *writes, struct plan *plans, size_t planned)
{
    while (planned-- > 0)
        unplan(shard, &writes[planned], &plans[planned]);
    if (scope->ref == NULL) {
        order_leave(order_of(shard, s), s);
        usher__memory_scope_free(s, shard);
    }
    return USHER_NOMEM;
}

enum usher_status usher__memory_write(struct usher_txn *txn, struct usher_scope *scope,
                                      const struct usher_write *writes, size_t n)
{
    struct shard *shard = shard_of(txn);
    struct scope *s = scope->ref != NULL ? scope->ref : scope_new(shard, scope);
    struct plan plans[USHER_CHANGE_MAX];
    struct aside aside;
    size_t nodes = 0, planned = 0;
    bool ok = true;

    if (s == NULL)
        return USHER_NOMEM;
    USHER_ASSERT(n <= USHER_CHANGE_MAX && is_locked(shard));
    aside.n = 0;
    while (planned < n && ok) {
        ok = plan_one(shard, s, &writes[planned], &plans[planned], &nodes, &aside);
        planned++;
    }
    shard->sought_in = NULL;
    if (!ok || !usher__tree_reserve(&shard->pool, nodes))
        return write_nothing(shard, scope, s, writes, plans, planned);

    for (size_t i = 0; i < n; i++)
        apply(shard, &writes[i], &plans[i]);
    /* not before: it takes back what was reserved */
    for (size_t i = 0; i < n; i++)
        if (writes[i].erase)
            usher__table_trim(&plans[i].kind->ids);
    if (scope->erase) {
        scope_erase(shard, s);
        scope->ref = NULL;
        return USHER_OK;
    }
    scope_store(s, scope);
    if (scope->ref == NULL) {
        (void)usher__table_insert(&shard->scopes[scope->noun % NOUNS], s);
        scope->ref = s;
    }
    if (shard->pool.n / 2 > SPARE_NODES)
        usher__tree_pool_trim(&shard->pool, SPARE_NODES);
    return USHER_OK;
}
