/* SPDX-License-Identifier: MIT */
/*
 * The store `memory:`: records of this process, gone with it.
 *
 * Scopes are spread over shards by the hash of their names; a transaction holds the lock
 * of one shard.  A scope keeps the records of each kind in a table by id, in a tree by
 * id, and in one tree a slot; texts that lists are made for (owner, group) are kept
 * once, as a `name` with the trees of its lists.
 *
 * write() is all or nothing without an undo: it first gets all the memory that it could
 * need and resolves all texts (which may point into records that it is about to change),
 * and from then on cannot fail.
 *
 * Everything is owned by its scope, a scope by its shard.
 */
#include "config.h"

#include "memory.h"

#include <pthread.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "shards.h"

#define CACHE_LINE 64

/* ---- scopes ----------------------------------------------------------------------- */

static void names_done(struct names *names, struct shard *shard)
{
    uint64_t cursor = 0;
    struct name *name;

    while ((name = usher__table_next(&names->table, &cursor)) != NULL) {
        usher__tree_done(&name->list[0], &shard->pool);
        usher__tree_done(&name->list[1], &shard->pool);
        (void)resize(shard->memory->alloc, name, NAME_SIZE(name->head.len), 0);
    }
    usher__table_done(&names->table);
}

void usher__memory_scope_free(struct scope *s, struct shard *shard)
{
    const struct usher_allocator *alloc = shard->memory->alloc;

    for (unsigned k = 0; k < USHER_KINDS; k++) {
        struct kind *kind = s->kinds[k];
        uint64_t cursor = 0;
        struct record *r;

        if (kind == NULL)
            continue;
        usher__tree_done(&kind->by_id, &shard->pool);
        for (unsigned i = 0; i < USHER_SLOTS; i++)
            usher__tree_done(&kind->slot[i], &shard->pool);
        while ((r = usher__table_next(&kind->ids, &cursor)) != NULL)
            record_free(alloc, r);
        usher__table_done(&kind->ids);
        names_done(&kind->owners, shard);
        names_done(&kind->groups, shard);
        (void)resize(alloc, kind, sizeof *kind, 0);
    }
    (void)resize(alloc, s, SCOPE_SIZE(s->head.len), 0);
}

/* ---- locks ------------------------------------------------------------------------ */

/* Some tens of ns of doing nothing, so that the other thread of a processor gets on. */
static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#else
    __asm__ volatile("");
#endif
}

/* With pauses of 11 ns: after 3, 6 and 11 us. */
#define RELAX_FIRST 256u
#define RELAX_LAST 1024u

/*
 * A command takes well under a microsecond, much less than a sleep and a wake-up, and the thread
 * that has the lock has in its cache all that another processor would first have to fetch.  So a
 * thread that finds the lock taken pauses for as long as several commands take, a few times, before
 * it sleeps.
 */
static void __attribute__((noinline)) lock_taken(struct shard *shard)
{
    for (unsigned n = RELAX_FIRST; n <= RELAX_LAST; n *= 2) {
        for (unsigned i = 0; i < n; i++)
            relax();
        if (pthread_mutex_trylock(&shard->lock) == 0)
            return;
    }
    (void)pthread_mutex_lock(&shard->lock);
}

static inline void lock(struct shard *shard)
{
    if (pthread_mutex_trylock(&shard->lock) != 0)
        lock_taken(shard);
}

/* ---- transactions and reads ------------------------------------------------------- */

static enum usher_status begin(struct usher_record_store *s, enum usher_noun noun,
                               const struct usher_text *scope, bool write, int64_t deadline_ms,
                               struct usher_txn **ret_txn)
{
    struct memory *m = (struct memory *)s;
    uint32_t hash = usher__table_hash(&m->shards[0].scopes[0], scope->data, scope->size);
    /* not the low bits: the tables use them */
    struct shard *shard = &m->shards[(hash >> 16) % SHARDS];

    (void)noun;
    (void)write;
    (void)deadline_ms; /* no thread holds a lock for long */
    USHER_ASSERT(shard->ready);
    lock(shard);
    shard->hash = hash;
    shard->sought_in = NULL;
    *ret_txn = (struct usher_txn *)(void *)shard;
    return USHER_OK;
}

static enum usher_status commit(struct usher_txn *txn)
{
    USHER_ASSERT(is_locked(shard_of(txn)));
    (void)pthread_mutex_unlock(&shard_of(txn)->lock);
    return USHER_OK;
}

static void rollback(struct usher_txn *txn)
{
    USHER_ASSERT(is_locked(shard_of(txn)));
    (void)pthread_mutex_unlock(&shard_of(txn)->lock);
}

static enum usher_status __attribute__((noinline))
find_other(struct shard *shard, enum usher_noun noun, const struct usher_text *name,
           struct usher_scope *ret_scope)
{
    const struct scope *s = usher__table_find(&shard->scopes[(unsigned)noun % NOUNS], name->data,
                                              name->size, shard->hash);

    if (s == NULL)
        return USHER_MISSING;
    shard->recent = s;
    scope_show(s, ret_scope);
    return USHER_OK;
}

static enum usher_status find_scope(struct usher_txn *txn, enum usher_noun noun,
                                    const struct usher_text *name, struct usher_scope *ret_scope)
{
    const struct shard *shard = shard_of(txn);
    const struct scope *s = shard->recent;

    if (s == NULL || s->head.hash != shard->hash || s->noun != (unsigned)noun ||
        s->head.len != name->size || memcmp(s->head.bytes, name->data, name->size) != 0)
        return find_other(shard_of(txn), noun, name, ret_scope);
    scope_show(s, ret_scope);
    return USHER_OK;
}

/* In a small table nothing is far away. */
static void expect(struct usher_txn *txn, const struct usher_scope *scope, uint8_t kind,
                   const struct usher_text *id)
{
    const struct kind *k = kind_of(scope, kind);

    (void)txn;
    if (k != NULL && usher__table_count(&k->ids) >= EXPECTED)
        __builtin_prefetch(
            usher__table_place(&k->ids, usher__table_hash(&k->ids, id->data, id->size)));
}

static enum usher_status find(struct usher_txn *txn, const struct usher_scope *scope, uint8_t kind,
                              const struct usher_text *id, struct usher_record *ret_record)
{
    const struct kind *k = kind_of(scope, kind);
    const struct usher__table *ids;
    const struct record *r;

    (void)txn;
    if (k == NULL)
        return USHER_MISSING;
    ids = &k->ids;
    r = usher__table_find(ids, id->data, id->size, usher__table_hash(ids, id->data, id->size));
    if (r == NULL)
        return USHER_MISSING;
    record_show(r, kind, ret_record);
    return USHER_OK;
}

/* The list of slot @slot for the text @by; NULL: it is empty. */
static const struct usher__tree *list_of(struct shard *shard, const struct kind *kind, uint8_t slot,
                                         const struct usher_text *by)
{
    const struct name *name;

    if (by == NULL || usher__tree_count(&kind->slot[slot]) == 0)
        return &kind->slot[slot];
    name = name_find(shard, slot == 2 ? &kind->owners : &kind->groups, by);
    return name != NULL ? &name->list[slot == 2 ? 0 : slot] : NULL;
}

static enum usher_status walk(struct usher_txn *txn, const struct usher_scope *scope, uint8_t kind,
                              uint8_t slot, const struct usher_text *by, uint64_t after_hi,
                              uint64_t after_order, bool back, struct usher_record *ret_record)
{
    const struct kind *k = kind_of(scope, kind);
    const struct usher__tree *list = k != NULL ? list_of(shard_of(txn), k, slot, by) : NULL;
    struct usher__tree_entry entry;
    bool there;

    USHER_ASSERT(slot < USHER_SLOTS);
    if (list == NULL)
        return USHER_MISSING;
    if (!back)
        there = after_hi == 0 && after_order == 0
                    ? usher__tree_first(list, &entry)
                    : usher__tree_next(list, usher__tree_key(after_hi, after_order), &entry);
    else
        there = after_hi == UINT64_MAX
                    ? usher__tree_last(list, &entry)
                    : usher__tree_prev(list, usher__tree_key(after_hi, after_order), &entry);
    if (!there)
        return USHER_MISSING;
    if (!back && after_hi == 0) {
        /* the first one mostly leaves the list, and one who is held goes altogether */
        const char *second = usher__tree_second(list);

        if (second != NULL) {
            __builtin_prefetch(second);
            __builtin_prefetch(second + CACHE_LINE);
        }
        if (slot == 2)
            __builtin_prefetch(
                usher__table_place(&k->ids, ((const struct record *)entry.ref)->head.hash));
    }
    record_show(entry.ref, kind, ret_record);
    return USHER_OK;
}

static enum usher_status rank(struct usher_txn *txn, const struct usher_scope *scope, uint8_t kind,
                              uint8_t slot, const struct usher_text *by, uint64_t hi,
                              uint64_t order, uint64_t *ret)
{
    const struct kind *k = kind_of(scope, kind);
    const struct usher__tree *list = k != NULL ? list_of(shard_of(txn), k, slot, by) : NULL;

    USHER_ASSERT(slot == 0 && by != NULL && (k == NULL || k->groups.counted));
    *ret = list != NULL ? usher__tree_rank(list, usher__tree_key(hi, order)) : 0;
    return USHER_OK;
}

/* Make the order by id of @kind.  False: no memory; it is as before. */
static bool order_by_id(struct shard *shard, struct kind *kind)
{
    uint64_t cursor = 0;
    struct record *r;

    if (!kind->unordered)
        return true;
    while ((r = usher__table_next(&kind->ids, &cursor)) != NULL) {
        struct usher_text id = text_of(&r->head);

        if (!usher__tree_reserve(&shard->pool, usher__tree_need(&kind->by_id, 1))) {
            usher__tree_done(&kind->by_id, &shard->pool);
            return false;
        }
        (void)usher__tree_insert(&kind->by_id, &shard->pool, usher__tree_probe(&id), r);
    }
    kind->unordered = false;
    return true;
}

static enum usher_status next(struct usher_txn *txn, const struct usher_scope *scope, uint8_t kind,
                              const struct usher_text *after, struct usher_record *ret_record)
{
    struct kind *k = ((struct scope *)scope->ref)->kinds[kind];
    const struct usher__tree *by_id;
    struct usher__tree_entry entry;

    if (k == NULL)
        return USHER_MISSING;
    if (!order_by_id(shard_of(txn), k))
        return USHER_NOMEM;
    by_id = &k->by_id;
    if (after->size == 0 ? !usher__tree_first(by_id, &entry)
                         : !usher__tree_next(by_id, usher__tree_probe(after), &entry))
        return USHER_MISSING;
    record_show(entry.ref, kind, ret_record);
    return USHER_OK;
}

/* ---- scan ------------------------------------------------------------------------- */

static enum usher_status scan_list(const struct usher__tree *list, struct usher_entry *entry,
                                   usher_scan_fn *fn, void *payload)
{
    struct usher_item item = { .kind = USHER_ITEM_ENTRY, .entry = entry };
    struct usher__tree_entry page[64];
    union usher__tree_key after = usher__tree_key(0, 0);
    size_t n;

    do {
        n = usher__tree_page(list, after.lo != 0 || after.hi != 0 ? &after : NULL, page, 64);
        for (size_t i = 0; i < n; i++) {
            enum usher_status status;

            entry->hi = page[i].hi;
            entry->order = page[i].lo;
            entry->id = text_of(&((const struct record *)page[i].ref)->head);
            status = fn(payload, &item);
            if (status != USHER_OK)
                return status;
            after = usher__tree_key(page[i].hi, page[i].lo);
        }
    } while (n == 64);
    return USHER_OK;
}

static enum usher_status scan_names(const struct usher__table *names, struct usher_entry *entry,
                                    unsigned first, unsigned last, usher_scan_fn *fn, void *payload)
{
    uint64_t cursor = 0;
    const struct name *name;

    while ((name = usher__table_next(names, &cursor)) != NULL) {
        entry->by = text_of(&name->head);
        for (unsigned slot = first; slot <= last; slot++) {
            enum usher_status status;

            entry->slot = (uint8_t)slot;
            status = scan_list(&name->list[slot - first], entry, fn, payload);
            if (status != USHER_OK)
                return status;
        }
    }
    return USHER_OK;
}

static enum usher_status scan_records(struct shard *shard, struct kind *kind, uint8_t k,
                                      usher_scan_fn *fn, void *payload)
{
    struct usher__tree_entry page[64];
    struct usher_text id = { NULL, 0 };
    union usher__tree_key after = usher__tree_probe(&id);
    bool unordered = kind->unordered;
    enum usher_status status = USHER_OK;
    size_t n;

    if (!order_by_id(shard, kind))
        return USHER_NOMEM;
    do {
        n = usher__tree_page(&kind->by_id, id.size != 0 ? &after : NULL, page, 64);
        for (size_t i = 0; i < n && status == USHER_OK; i++) {
            struct usher_record r;
            struct usher_item item = { .kind = USHER_ITEM_RECORD, .record = &r };

            record_show(page[i].ref, k, &r);
            status = fn(payload, &item);
            id = r.id;
        }
    } while (n == 64 && status == USHER_OK);
    if (unordered) {
        usher__tree_done(&kind->by_id, &shard->pool);
        kind->unordered = true;
    }
    return status;
}

static enum usher_status scan_scope(struct shard *shard, struct scope *s, usher_scan_fn *fn,
                                    void *payload)
{
    struct usher_scope shown = { .name = text_of(&s->head) };
    struct usher_item item = { .kind = USHER_ITEM_SCOPE, .scope = &shown };
    enum usher_status status;

    scope_show(s, &shown);
    status = fn(payload, &item);
    for (unsigned k = 1; k < USHER_KINDS && status == USHER_OK; k++)
        if (s->kinds[k] != NULL)
            status = scan_records(shard, s->kinds[k], (uint8_t)k, fn, payload);
    for (unsigned k = 1; k < USHER_KINDS && status == USHER_OK; k++) {
        const struct kind *kind = s->kinds[k];
        struct usher_entry entry = { .kind = (uint8_t)k };

        if (kind == NULL)
            continue;
        for (unsigned slot = 0; slot < USHER_SLOTS && status == USHER_OK; slot++) {
            entry.slot = (uint8_t)slot;
            status = scan_list(&kind->slot[slot], &entry, fn, payload);
        }
        if (status == USHER_OK)
            status = scan_names(&kind->groups.table, &entry, 0, 1, fn, payload);
        if (status == USHER_OK)
            status = scan_names(&kind->owners.table, &entry, 2, 2, fn, payload);
    }
    return status;
}

static enum usher_status scan(struct usher_record_store *store, enum usher_noun noun,
                              const struct usher_text *scope, int64_t deadline_ms,
                              usher_scan_fn *fn, void *payload, char line[192])
{
    struct memory *m = (struct memory *)store;
    enum usher_status status = USHER_OK;

    (void)deadline_ms;
    line[0] = '\0';
    for (unsigned i = 0; i < SHARDS && status == USHER_OK; i++) {
        struct shard *shard = &m->shards[i];

        lock(shard);
        for (unsigned k = 0; k < NOUNS && status == USHER_OK; k++) {
            uint64_t cursor = 0;
            struct scope *s;

            if ((unsigned)noun != 0 && k != (unsigned)noun)
                continue;
            while (status == USHER_OK &&
                   (s = usher__table_next(&shard->scopes[k], &cursor)) != NULL)
                if (scope == NULL || (s->head.len == scope->size &&
                                      memcmp(s->head.bytes, scope->data, scope->size) == 0))
                    status = scan_scope(shard, s, fn, payload);
        }
        (void)pthread_mutex_unlock(&shard->lock);
    }
    return status;
}

/* ---- list ------------------------------------------------------------------------- */

#define NAMES_AT_ONCE 64

/* Names of scopes, copied: a scope may be erased as soon as the order is not locked. */
struct names_page {
    size_t n;
    size_t size[NAMES_AT_ONCE];
    char name[NAMES_AT_ONCE][USHER_NAME_MAX];
};

/* Copy the names after @after (size 0: the first ones). */
static void names_after(struct order *order, const struct usher_text *after,
                        struct names_page *page)
{
    struct usher__tree_entry entry[NAMES_AT_ONCE];
    union usher__tree_key key = usher__tree_probe(after);

    (void)pthread_mutex_lock(&order->lock);
    page->n = usher__tree_page(&order->names, after->size != 0 ? &key : NULL, entry, NAMES_AT_ONCE);
    for (size_t i = 0; i < page->n; i++) {
        struct usher_text name = text_of(&((const struct scope *)entry[i].ref)->head);

        page->size[i] = name.size;
        memcpy(page->name[i], name.data, name.size);
    }
    (void)pthread_mutex_unlock(&order->lock);
}

/* Show the scope @name, unless it was erased. */
static enum usher_status list_scope(struct memory *m, unsigned noun, const struct usher_text *name,
                                    usher_scan_fn *fn, void *payload)
{
    struct usher_scope shown = { .name = *name };
    struct usher_item item = { .kind = USHER_ITEM_SCOPE, .scope = &shown };
    struct usher_txn *txn;
    enum usher_status status;

    (void)begin(&m->base, (enum usher_noun)noun, name, false, 0, &txn);
    status = find_scope(txn, (enum usher_noun)noun, name, &shown);
    rollback(txn);
    return status == USHER_OK ? fn(payload, &item) : USHER_OK;
}

static enum usher_status list(struct usher_record_store *store, unsigned nouns,
                              const struct usher_scope *from, int64_t deadline_ms,
                              usher_scan_fn *fn, void *payload, char line[192])
{
    struct memory *m = (struct memory *)store;
    enum usher_status status = USHER_OK;
    struct names_page page;
    char last[USHER_NAME_MAX];

    (void)deadline_ms;
    line[0] = '\0';
    for (unsigned k = from != NULL ? from->noun : 0; k < NOUNS && status == USHER_OK; k++) {
        struct usher_text after = { last, 0 };

        if ((nouns >> k & 1u) == 0)
            continue;
        if (from != NULL && from->noun == k)
            after = from->name;
        do {
            names_after(&m->orders[k], &after, &page);
            for (size_t i = 0; i < page.n && status == USHER_OK; i++) {
                struct usher_text name = { page.name[i], page.size[i] };

                status = list_scope(m, k, &name, fn, payload);
            }
            after.data = last;
            if (page.n > 0) {
                after.size = page.size[page.n - 1];
                memcpy(last, page.name[page.n - 1], after.size);
            }
        } while (page.n == NAMES_AT_ONCE && status == USHER_OK);
    }
    return status;
}

/* ---- open and close --------------------------------------------------------------- */

static const char *message(struct usher_record_store *s)
{
    (void)s;
    return "";
}

static void close_memory(struct usher_record_store *store)
{
    struct memory *m = (struct memory *)store;

    for (unsigned i = 0; i < SHARDS; i++) {
        struct shard *shard = &m->shards[i];

        if (!shard->ready)
            continue;
        for (unsigned k = 0; k < NOUNS; k++) {
            uint64_t cursor = 0;
            struct scope *s;

            while ((s = usher__table_next(&shard->scopes[k], &cursor)) != NULL)
                usher__memory_scope_free(s, shard);
            usher__table_done(&shard->scopes[k]);
        }
        usher__tree_pool_done(&shard->pool);
        (void)pthread_mutex_destroy(&shard->lock);
    }
    for (unsigned k = 0; k < NOUNS; k++) {
        struct order *order = &m->orders[k];

        if (!order->ready)
            continue;
        usher__tree_done(&order->names, &order->pool);
        usher__tree_pool_done(&order->pool);
        (void)pthread_mutex_destroy(&order->lock);
    }
    (void)resize(m->alloc, m->block, m->block_size, 0);
}

static const struct usher_record_store_ops ops = {
    .size = sizeof(struct usher_record_store_ops),
    .name = "memory",
    .caps = USHER_CAP_THREADS | USHER_CAP_AT_ONCE | USHER_CAP_INSTANT,
    .begin = begin,
    .commit = commit,
    .rollback = rollback,
    .scope = find_scope,
    .find = find,
    .walk = walk,
    .rank = rank,
    .next = next,
    .write = usher__memory_write,
    .scan = scan,
    .list = list,
    .message = message,
    .close = close_memory,
    .forget = close_memory,
    .expect = expect,
};

/* A random seed, so that an attacker cannot choose names that fall into one bucket. */
static uint64_t random_seed(const void *salt)
{
    uint64_t seed;
    struct timespec ts;

    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) == (ssize_t)sizeof seed)
        return seed;
    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_nsec * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)(uintptr_t)salt;
}

static enum usher_status memory_new(const struct usher_allocator *alloc,
                                    struct usher_record_store **ret_store)
{
    size_t size = sizeof(struct memory) + _Alignof(struct memory);
    char *block = resize(alloc, NULL, 0, size);
    struct memory *m;
    uint64_t seed;

    if (block == NULL)
        return USHER_NOMEM;
    m = (struct memory *)(void *)(((uintptr_t)block + _Alignof(struct memory) - 1) /
                                  _Alignof(struct memory) * _Alignof(struct memory));
    memset(m, 0, sizeof *m);
    m->base.ops = &ops;
    m->alloc = alloc;
    m->block = block;
    m->block_size = size;
    seed = random_seed(m);
    for (unsigned k = 0; k < NOUNS; k++) {
        struct order *order = &m->orders[k];

        if (pthread_mutex_init(&order->lock, NULL) != 0) {
            close_memory(&m->base);
            return USHER_NOMEM;
        }
        order->ready = true;
        usher__tree_pool_init(&order->pool, alloc);
        usher__tree_init(&order->names, usher__memory_compare_scope);
    }
    for (unsigned i = 0; i < SHARDS; i++) {
        struct shard *shard = &m->shards[i];

        if (pthread_mutex_init(&shard->lock, NULL) != 0) {
            close_memory(&m->base);
            return USHER_NOMEM;
        }
        shard->ready = true;
        shard->memory = m;
        usher__tree_pool_init(&shard->pool, alloc);
        for (unsigned k = 0; k < NOUNS; k++)
            usher__table_init(&shard->scopes[k], alloc, offsetof(struct scope, head), seed);
    }
    *ret_store = &m->base;
    return USHER_OK;
}

enum usher_status usher__memory_open(void *payload, struct usher_url *url,
                                     const struct usher_options *opt, int64_t deadline_ms,
                                     struct usher_store **ret_store, char message_line[192])
{
    struct usher_record_store *records;
    enum usher_status status;

    (void)payload;
    (void)deadline_ms;
    if (url->rest[0] != '\0') {
        static const char text[] = "memory: nothing may follow the colon";

        memcpy(message_line, text, sizeof text);
        return USHER_INVALID;
    }
    status = memory_new(opt->alloc, &records);
    if (status != USHER_OK)
        return status;
    status = usher_local_store(records, opt->alloc, ret_store);
    if (status != USHER_OK)
        records->ops->close(records);
    return status;
}
