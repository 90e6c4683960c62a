/* SPDX-License-Identifier: MIT */
/*
 * The record store on SQLite against an array that does the same, and against everything
 * that can be wrong with a file.
 *
 * Faults come from a VFS ("faulty") that passes everything on to the real one and fails at calls
 * that a test chooses.  Each test has a directory of its own, which is removed when it has passed.
 * USHER_TEST_SEED repeats the random part of a run.
 */
#include "lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <sqlite3.h>

#include "data/sqlite_format_14.h"
#include "change/memory.h"
#include "change/result.h"
#include "lib/calls.h"
#include "lib/util.h"
#include "records.h"
#include "sqlite.h"
#include "statements.h"

/* Kinds of what the tests store as a queue's. */
enum { PLAIN = 1, RANKED = 3 };

#define LONG 60000          /* ms; a test that gets there has failed */
#undef SHORT                /* of texts that are remembered */
#define LOG_LIMIT (4 << 20) /* bytes of the write-ahead log of an idle store */
#define SHORT 60            /* ms; of waits that must end by their deadline */

/* The message of a failing scan. */
static char scan_message[192];

/* ---- a directory and stores in it ---- */

struct place {
    char dir[64];
    char path[96];
    char message[192];
};

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static int set_up(void **state)
{
    struct place *p = calloc(1, sizeof *p);
    const char *tmp = getenv("TMPDIR");

    if (p == NULL)
        return -1;
    (void)snprintf(p->dir, sizeof p->dir, "%.40s/usher-XXXXXX", tmp != NULL ? tmp : "/tmp");
    if (mkdtemp(p->dir) == NULL)
        return -1;
    (void)snprintf(p->path, sizeof p->path, "%s/pool.db", p->dir);
    *state = p;
    return 0;
}

static int tear_down(void **state)
{
    struct place *p = *state;
    int failed = nftw(p->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);

    free(p);
    return failed;
}

TEST_EACH(set_up, tear_down);

static struct usher_record_store *open_at(struct place *p)
{
    struct usher_record_store *s = NULL;

    p->message[0] = '\0';
    if (usher__sqlite_records(p->path, USHER__SYNC_OFF, NULL, clock_ms() + LONG, &s, p->message) !=
        USHER_OK)
        fail_msg("open: %s", p->message);
    return s;
}

/* Opening must fail with @status, and say @what. */
static void refuses(struct place *p, enum usher_status status, const char *what)
{
    struct usher_record_store *s = NULL;

    p->message[0] = '\0';
    assert_int_equal(
        usher__sqlite_records(p->path, USHER__SYNC_FULL, NULL, clock_ms() + SHORT, &s, p->message),
        status);
    assert_null(s);
    if (strstr(p->message, what) == NULL)
        fail_msg("says \"%s\", not \"%s\"", p->message, what);
    assert_null(strchr(p->message, '\n'));
}

static struct usher_txn *begin(struct usher_record_store *s, bool write)
{
    struct usher_txn *t = NULL;

    if (s->ops->begin(s, (enum usher_noun)0, NULL, write, clock_ms() + LONG, &t) != USHER_OK)
        fail_msg("begin: %s", s->ops->message(s));
    return t;
}

static void commit(struct usher_record_store *s, struct usher_txn *t)
{
    if (s->ops->commit(t) != USHER_OK)
        fail_msg("commit: %s", s->ops->message(s));
}

static struct usher_scope new_scope(const char *name)
{
    struct usher_scope s;

    memset(&s, 0, sizeof s);
    s.noun = USHER_QUEUE;
    s.name = text(name);
    s.epoch = UINT64_C(0xfedcba9876543210);
    s.version = 1;
    s.clock_ms = 1000;
    s.due_ms = INT64_MAX;
    return s;
}

static struct usher_record new_record(const char *id)
{
    struct usher_record r;

    memset(&r, 0, sizeof r);
    r.kind = PLAIN;
    r.state = USHER_NUMBER_STATE_IDLE_UP;
    r.slots = 1;
    r.rank = UINT64_C(1) << 32;
    r.order = 1;
    r.id = text(id);
    return r;
}

static struct usher_scope scope_of(struct usher_record_store *s, struct usher_txn *t,
                                   const char *name)
{
    struct usher_text n = text(name);
    struct usher_scope scope;

    memset(&scope, 0, sizeof scope);
    scope.name = n;
    if (s->ops->scope(t, USHER_QUEUE, &n, &scope) != USHER_OK)
        fail_msg("scope: %s", s->ops->message(s));
    assert_ptr_equal(scope.name.data, n.data);
    return scope;
}

/* Write one record into the scope @name, which is made if need be. */
static enum usher_status put(struct usher_record_store *s, const char *name,
                             const struct usher_record *r)
{
    struct usher_text n = text(name);
    struct usher_write w = { false, *r };
    struct usher_scope scope = new_scope(name);
    struct usher_txn *t = NULL;
    enum usher_status status =
        s->ops->begin(s, (enum usher_noun)0, NULL, true, clock_ms() + LONG, &t);

    if (status != USHER_OK)
        return status;
    status = s->ops->scope(t, USHER_QUEUE, &n, &scope);
    if (status == USHER_MISSING)
        scope = new_scope(name);
    if (status == USHER_OK || status == USHER_MISSING)
        status = s->ops->write(t, &scope, &w, 1);
    if (status != USHER_OK) {
        s->ops->rollback(t);
        return status;
    }
    return s->ops->commit(t);
}

/* Read one; its numbers, for its texts are gone on return. */
static enum usher_status get_of(struct usher_record_store *s, enum usher_noun noun,
                                const char *name, const char *id, struct usher_record *ret)
{
    struct usher_text n = text(name), i = text(id);
    struct usher_scope scope;
    struct usher_txn *t = NULL;
    enum usher_status status =
        s->ops->begin(s, (enum usher_noun)0, NULL, false, clock_ms() + LONG, &t);

    if (status != USHER_OK)
        return status;
    scope.name = n;
    status = s->ops->scope(t, noun, &n, &scope);
    if (status == USHER_OK)
        status = s->ops->find(t, &scope, PLAIN, &i, ret);
    if (status == USHER_OK || status == USHER_MISSING)
        commit(s, t);
    else
        s->ops->rollback(t);
    return status;
}

static enum usher_status get(struct usher_record_store *s, const char *name, const char *id,
                             struct usher_record *ret)
{
    return get_of(s, USHER_QUEUE, name, id, ret);
}

/* Open the file as any other program does. */
static sqlite3 *raw(struct place *p)
{
    sqlite3 *db;

    assert_int_equal(sqlite3_open(p->path, &db), SQLITE_OK);
    (void)sqlite3_busy_timeout(db, LONG);
    return db;
}

static void sql(sqlite3 *db, const char *statements)
{
    char *error = NULL;

    if (sqlite3_exec(db, statements, NULL, NULL, &error) != SQLITE_OK)
        fail_msg("%s: %s", statements, error);
}

static void raw_sql(struct place *p, const char *statements)
{
    sqlite3 *db = raw(p);

    sql(db, statements);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void raw_text(sqlite3 *db, const char *query, char *to, size_t size)
{
    sqlite3_stmt *st;

    if (sqlite3_prepare_v2(db, query, -1, &st, NULL) != SQLITE_OK)
        fail_msg("%s: %s", query, sqlite3_errmsg(db));
    assert_int_equal(sqlite3_step(st), SQLITE_ROW);
    (void)snprintf(to, size, "%s",
                   sqlite3_column_text(st, 0) != NULL ? (const char *)sqlite3_column_text(st, 0)
                                                      : "");
    (void)sqlite3_finalize(st);
}

/* All bytes of a file; the caller frees them. */
static char *bytes_of(const char *path, size_t *ret_size)
{
    struct stat st;
    int fd = open(path, O_RDONLY);
    char *bytes;

    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    bytes = malloc((size_t)st.st_size + 1);
    assert_non_null(bytes);
    assert_int_equal(read(fd, bytes, (size_t)st.st_size), st.st_size);
    (void)close(fd);
    *ret_size = (size_t)st.st_size;
    return bytes;
}

static void write_file(const char *path, const char *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
    (void)close(fd);
}

/* ---- the contract, against a model ---- */

#define IDS 24
#define MODEL_SCOPES 2
#define DATA_MAX 300

struct model_record {
    bool there;
    struct usher_record r; /* ref not used; texts below */
    char id[8], data[DATA_MAX];
};

struct model {
    struct usher_scope scopes[MODEL_SCOPES];
    struct model_record records[MODEL_SCOPES][USHER_KINDS][IDS];
};

static const char *const names[MODEL_SCOPES] = { "desk", "Büro" };
static const char *const owners[] = { "", "ann", "bob" };
static const char *const groups[] = { "", "east", "w" };

static void model_init(struct model *m)
{
    memset(m, 0, sizeof *m);
    for (unsigned s = 0; s < MODEL_SCOPES; s++)
        m->scopes[s].version = 0;
}

static void model_copy(struct model *to, const struct model *from)
{
    *to = *from;
    for (unsigned s = 0; s < MODEL_SCOPES; s++) {
        for (unsigned k = 1; k < USHER_KINDS; k++) {
            for (unsigned i = 0; i < IDS; i++) {
                struct model_record *r = &to->records[s][k][i];

                r->r.id.data = r->id;
                r->r.data.data = r->data;
            }
        }
    }
}

static uint64_t hi_of(const struct usher_record *r, unsigned slot)
{
    return slot == 0 ? r->rank : slot == 1 ? (uint64_t)r->until_ms : 0;
}

static void same_record(const struct usher_record *a, const struct usher_record *b)
{
    assert_true(text_equal(&a->id, &b->id));
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->state, b->state);
    assert_int_equal(a->slots, b->slots);
    assert_true(a->rank == b->rank && a->order == b->order && a->token == b->token);
    assert_true(a->until_ms == b->until_ms);
    assert_memory_equal(a->n, b->n, sizeof a->n);
    assert_true(text_equal(&a->owner, &b->owner));
    assert_true(text_equal(&a->group, &b->group));
    assert_true(text_equal(&a->data, &b->data));
}

/* Return the record of the model after (hi, order) in a list, or the last one before. */
static const struct usher_record *model_walk(const struct model *m, unsigned s, unsigned k,
                                             unsigned slot, const struct usher_text *by,
                                             uint64_t hi, uint64_t order, bool back)
{
    const struct usher_record *best = NULL;

    for (unsigned i = 0; i < IDS; i++) {
        const struct model_record *mr = &m->records[s][k][i];
        const struct usher_record *r = &mr->r;
        uint64_t h = hi_of(r, slot);

        if (!mr->there || (r->slots >> slot & 1u) == 0 ||
            (by != NULL && !text_equal(by, slot == 2 ? &r->owner : &r->group)))
            continue;
        if (back ? h > hi || (h == hi && r->order >= order)
                 : h < hi || (h == hi && r->order <= order))
            continue;
        if (best == NULL ||
            (hi_of(best, slot) < h || (hi_of(best, slot) == h && best->order < r->order)) == back)
            best = r;
    }
    return best;
}

static void check_walk(struct usher_record_store *st, struct usher_txn *t, const struct model *m,
                       unsigned s, const struct usher_scope *scope, unsigned k, unsigned slot,
                       const struct usher_text *by, uint64_t hi, uint64_t order, bool back,
                       unsigned steps)
{
    while (steps-- > 0) {
        const struct usher_record *want = model_walk(m, s, k, slot, by, hi, order, back);
        struct usher_record r;
        enum usher_status status =
            st->ops->walk(t, scope, (uint8_t)k, (uint8_t)slot, by, hi, order, back, &r);

        if (want == NULL) {
            assert_int_equal(status, USHER_MISSING);
            return;
        }
        if (status != USHER_OK)
            fail_msg("walk: %s", st->ops->message(st));
        same_record(&r, want);
        hi = hi_of(&r, slot);
        order = r.order;
    }
}

/* How many of the model stand before (hi, order) among the ready ones of a group. */
static uint64_t model_rank(const struct model *m, unsigned s, const struct usher_text *by,
                           uint64_t hi, uint64_t order)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < IDS; i++) {
        const struct model_record *mr = &m->records[s][RANKED][i];
        const struct usher_record *r = &mr->r;

        n += mr->there && (r->slots & 1u) != 0 && text_equal(by, &r->group) &&
             (r->rank < hi || (r->rank == hi && r->order < order));
    }
    return n;
}

static uint64_t rank_of(struct usher_record_store *st, struct usher_txn *t,
                        const struct usher_scope *scope, const struct usher_text *by, uint64_t hi,
                        uint64_t order)
{
    uint64_t n = UINT64_MAX;

    if (st->ops->rank(t, scope, RANKED, 0, by, hi, order, &n) != USHER_OK)
        fail_msg("rank: %s", st->ops->message(st));
    return n;
}

static void check_next(struct usher_record_store *st, struct usher_txn *t, const struct model *m,
                       unsigned s, const struct usher_scope *scope, unsigned k)
{
    struct usher_text after = { NULL, 0 };
    struct usher_record r;

    for (unsigned i = 0; i < IDS; i++) {
        if (!m->records[s][k][i].there)
            continue;
        assert_int_equal(st->ops->next(t, scope, (uint8_t)k, &after, &r), USHER_OK);
        same_record(&r, &m->records[s][k][i].r);
        after = r.id;
    }
    assert_int_equal(st->ops->next(t, scope, (uint8_t)k, &after, &r), USHER_MISSING);
}

static void check_scope(struct usher_record_store *st, struct usher_txn *t, const struct model *m,
                        unsigned s, bool all)
{
    const struct usher_scope *want = &m->scopes[s];
    struct usher_text name = text(names[s]);
    struct usher_scope scope;
    enum usher_status status;

    memset(&scope, 0, sizeof scope);
    scope.name = name;
    status = st->ops->scope(t, USHER_QUEUE, &name, &scope);
    if (want->version == 0) {
        assert_int_equal(status, USHER_MISSING);
        return;
    }
    assert_int_equal(status, USHER_OK);
    assert_true(scope.epoch == want->epoch && scope.version == want->version);
    assert_true(scope.clock_ms == want->clock_ms && scope.due_ms == want->due_ms);
    assert_memory_equal(scope.counts, want->counts, sizeof scope.counts);
    assert_memory_equal(scope.settings, want->settings, sizeof scope.settings);
    for (unsigned b = 1; b < 3; b++) {
        struct usher_text by = text(groups[b]);

        for (int i = 0; i < 4; i++) {
            uint64_t hi = i < 3 ? rnd(4) : UINT64_C(1) << 32, order = rnd(want->version * 8 + 8);

            assert_int_equal(rank_of(st, t, &scope, &by, hi, order),
                             model_rank(m, s, &by, hi, order));
        }
    }
    for (unsigned k = 1; k < USHER_KINDS; k++) {
        if (!all && rnd(3) != 0)
            continue;
        check_next(st, t, m, s, &scope, k);
        for (unsigned slot = 0; slot < USHER_SLOTS; slot++) {
            const char *const *texts = slot == 2 ? owners : groups;

            for (unsigned b = 0; b < 4; b++) {
                struct usher_text by = text(b < 3 ? texts[b] : "nobody");
                const struct usher_text *of = b == 0 ? NULL : &by;

                check_walk(st, t, m, s, &scope, k, slot, of, 0, 0, false, IDS);
                check_walk(st, t, m, s, &scope, k, slot, of, UINT64_MAX, UINT64_MAX, true, IDS);
                check_walk(st, t, m, s, &scope, k, slot, of, rnd(4), rnd(want->version * 8 + 8),
                           rnd(2) != 0, 3);
            }
        }
    }
}

/* Change @mr at random: sometimes all of it, sometimes what stands in no index. */
static void shake(struct model_record *mr, uint64_t version)
{
    struct usher_record *r = &mr->r;
    bool fresh = !mr->there;

    if (fresh || rnd(2) != 0) {
        r->slots = (uint8_t)rnd(8);
        r->rank = rnd(4) != 0 ? UINT64_C(1) << 32 : rnd(4);
        r->order = version;
        r->owner = text(owners[rnd(3)]);
    }
    if (fresh || rnd(2) != 0)
        r->until_ms = (int64_t)rnd(5);
    if (fresh || rnd(8) == 0)
        r->group = text(groups[rnd(3)]);
    if (fresh || rnd(8) == 0) {
        r->data.size = rnd(3) == 0 ? rnd(DATA_MAX) : 0;
        for (size_t i = 0; i < r->data.size; i++)
            mr->data[i] = (char)rnd(256);
    }
    r->state = (uint8_t)rnd(5);
    r->token = rnd(version + 1);
    for (int i = 0; i < 4; i++)
        r->n[i] = (int64_t)rnd(2000) - 1000;
}

/* One change of scope @s, to the model and by @t. */
static void change(struct usher_record_store *st, struct usher_txn *t, struct model *m, unsigned s)
{
    struct usher_write writes[USHER_CHANGE_MAX];
    struct usher_scope *scope = &m->scopes[s];
    struct usher_text name = text(names[s]);
    struct usher_scope old;
    size_t n = 0, max = rnd(6);
    enum usher_status status;

    memset(&old, 0, sizeof old);
    status = st->ops->scope(t, USHER_QUEUE, &name, &old);
    assert_int_equal(status, scope->version == 0 ? USHER_MISSING : USHER_OK);
    if (scope->version == 0)
        scope->epoch = rnd(UINT64_MAX) + 1;
    scope->noun = USHER_QUEUE;
    scope->name = name;
    scope->ref = status == USHER_OK ? old.ref : NULL;
    scope->version++;
    scope->clock_ms++;
    scope->due_ms = rnd(2) != 0 ? INT64_MAX : (int64_t)rnd(1000);
    scope->counts[rnd(USHER_COUNTS)] = (int64_t)rnd(1000) - 500;
    if (rnd(4) == 0)
        scope->settings[rnd(USHER_SETTINGS)] = (int64_t)rnd(1000);

    for (unsigned i = (unsigned)rnd(IDS); n < max && i < IDS; i += 1 + (unsigned)rnd(4)) {
        unsigned k = 1 + (unsigned)rnd(USHER_KINDS - 1);
        struct model_record *mr = &m->records[s][k][i];
        struct usher_record r;

        memset(&r, 0, sizeof r);
        if (mr->there && rnd(3) == 0 && mr->r.slots != 0) {
            unsigned slot = (mr->r.slots & 1) != 0 ? 0 : (mr->r.slots & 2) != 0 ? 1 : 2;

            /* as the first one after its predecessor */
            assert_int_equal(st->ops->walk(t, &old, (uint8_t)k, (uint8_t)slot, NULL,
                                           hi_of(&mr->r, slot), mr->r.order - 1, false, &r),
                             USHER_OK);
            same_record(&r, &mr->r);
        } else if (status == USHER_OK) {
            struct usher_text id = mr->r.id;

            if (id.size == 0)
                id = text("none");
            assert_int_equal(st->ops->find(t, &old, (uint8_t)k, &id, &r),
                             mr->there ? USHER_OK : USHER_MISSING);
            if (mr->there)
                same_record(&r, &mr->r);
        }
        writes[n].erase = mr->there && rnd(4) == 0;
        if (!mr->there) {
            memset(&mr->r, 0, sizeof mr->r);
            (void)snprintf(mr->id, sizeof mr->id, "n%c%s", 'a' + (int)i, i % 3 ? "" : "é");
            mr->r.id = text(mr->id);
            mr->r.kind = (uint8_t)k;
            mr->r.data.data = mr->data;
        }
        if (!writes[n].erase)
            shake(mr, scope->version * 8 + n);
        writes[n].record = mr->r;
        writes[n].record.ref = mr->there ? r.ref : NULL;
        mr->there = !writes[n].erase;
        n++;
    }
    if (st->ops->write(t, scope, writes, n) != USHER_OK)
        fail_msg("write: %s", st->ops->message(st));
    assert_non_null(scope->ref);
}

struct seen_items {
    const struct model *m;
    unsigned scopes, records, entries;
    unsigned s, last_kind;
    char last_id[USHER_NAME_MAX];
    size_t last_size;
};

static unsigned model_scope(const struct usher_scope *s)
{
    for (unsigned i = 0; i < MODEL_SCOPES; i++) {
        struct usher_text name = text(names[i]);

        if (text_equal(&name, &s->name))
            return i;
    }
    fail_msg("an unknown scope");
    return 0;
}

static enum usher_status see(void *payload, const struct usher_item *item)
{
    struct seen_items *v = payload;

    if (item->kind == USHER_ITEM_SCOPE) {
        v->s = model_scope(item->scope);
        v->scopes++;
        v->last_kind = 0;
        assert_true(item->scope->epoch == v->m->scopes[v->s].epoch);
        assert_true(item->scope->version == v->m->scopes[v->s].version);
    } else if (item->kind == USHER_ITEM_RECORD) {
        const struct usher_record *r = item->record;
        bool found = false;

        v->records++;
        assert_true(r->kind >= v->last_kind);
        if (r->kind == v->last_kind)
            assert_true(memcmp(v->last_id, r->id.data,
                               r->id.size < v->last_size ? r->id.size : v->last_size) <= 0);
        v->last_kind = r->kind;
        v->last_size = r->id.size;
        memcpy(v->last_id, r->id.data, r->id.size);
        for (unsigned i = 0; i < IDS && !found; i++) {
            const struct model_record *mr = &v->m->records[v->s][r->kind][i];

            found = mr->there && text_equal(&mr->r.id, &r->id);
            if (found)
                same_record(r, &mr->r);
        }
        assert_true(found);
    } else {
        const struct usher_entry *e = item->entry;
        bool found = false;

        assert_int_equal(item->kind, USHER_ITEM_ENTRY);
        v->entries++;
        for (unsigned i = 0; i < IDS && !found; i++) {
            const struct model_record *mr = &v->m->records[v->s][e->kind][i];
            const struct usher_text *by = e->slot == 2 ? &mr->r.owner : &mr->r.group;

            found = mr->there && text_equal(&mr->r.id, &e->id) &&
                    (mr->r.slots >> e->slot & 1u) != 0 && e->order == mr->r.order &&
                    e->hi == hi_of(&mr->r, e->slot) && (e->by.size == 0 || text_equal(by, &e->by));
        }
        assert_true(found);
    }
    return USHER_OK;
}

static void check_scan(struct usher_record_store *st, const struct model *m)
{
    struct seen_items v = { .m = m };
    unsigned records = 0, entries = 0, scopes = 0;

    for (unsigned s = 0; s < MODEL_SCOPES; s++) {
        scopes += m->scopes[s].version != 0;
        for (unsigned k = 1; k < USHER_KINDS; k++) {
            for (unsigned i = 0; i < IDS; i++) {
                const struct usher_record *r = &m->records[s][k][i].r;

                if (!m->records[s][k][i].there)
                    continue;
                records++;
                for (unsigned slot = 0; slot < USHER_SLOTS; slot++)
                    if ((r->slots >> slot & 1u) != 0)
                        entries += (slot == 2 ? r->owner.size : r->group.size) != 0 ? 2 : 1;
            }
        }
    }
    if (st->ops->scan(st, (enum usher_noun)0, NULL, clock_ms() + LONG, see, &v, scan_message) !=
        USHER_OK)
        fail_msg("scan: %s", st->ops->message(st));
    assert_int_equal(v.scopes, scopes);
    assert_int_equal(v.records, records);
    assert_int_equal(v.entries, entries);
}

/* Two connections take turns at random, so that neither may trust what it remembers. */
TEST(two_connections_agree_with_an_array)
{
    struct place *p = *state;
    struct usher_record_store *stores[2] = { open_at(p), open_at(p) };
    struct model *m = malloc(sizeof *m), *before = malloc(sizeof *before);

    assert_non_null(m);
    assert_non_null(before);
    model_init(m);
    for (int round = 0; round < 800; round++) {
        struct usher_record_store *s = stores[rnd(2)];
        struct usher_txn *t = begin(s, true);

        model_copy(before, m);
        for (uint64_t n = rnd(4); n > 0; n--) {
            change(s, t, m, (unsigned)rnd(MODEL_SCOPES));
            check_scope(s, t, m, (unsigned)rnd(MODEL_SCOPES), false);
        }
        if (rnd(4) == 0) {
            s->ops->rollback(t);
            model_copy(m, before);
        } else {
            commit(s, t);
        }
        s = stores[rnd(2)];
        t = begin(s, rnd(2) != 0);
        check_scope(s, t, m, (unsigned)rnd(MODEL_SCOPES), round % 50 == 0);
        commit(s, t);
        if (round % 50 == 0)
            check_scan(s, m);
    }
    check_scan(stores[0], m);
    free(before);
    free(m);
    stores[0]->ops->close(stores[0]);
    stores[1]->ops->close(stores[1]);
}

TEST(texts_live_until_the_next_write)
{
    struct place *p = *state;
    struct usher_record_store *s = open_at(p);
    struct usher_record r = new_record("one"), found[40];
    struct usher_write w = { false, r };
    struct usher_scope scope = new_scope("desk");
    struct usher_txn *t = begin(s, true);
    struct usher_text ids[40];
    char id[40][16];
    char big[1000];

    memset(big, 'x', sizeof big);
    for (int i = 0; i < 40; i++) {
        (void)snprintf(id[i], sizeof id[i], "n%02d", i);
        ids[i] = text(id[i]);
        w.record.id = ids[i];
        w.record.order = (uint64_t)i + 1;
        w.record.data.data = big; /* more than one block of the arena */
        w.record.data.size = sizeof big;
        assert_int_equal(s->ops->write(t, &scope, &w, 1), USHER_OK);
    }
    for (int i = 0; i < 40; i++)
        assert_int_equal(s->ops->find(t, &scope, PLAIN, &ids[i], &found[i]), USHER_OK);
    for (int i = 0; i < 40; i++) {
        assert_true(text_equal(&found[i].id, &ids[i]));
        assert_memory_equal(found[i].data.data, big, sizeof big);
    }
    /* a change may be made of them */
    w.record = found[3];
    w.record.owner = found[7].id;
    assert_int_equal(s->ops->write(t, &scope, &w, 1), USHER_OK);
    commit(s, t);
    t = begin(s, false);
    scope = scope_of(s, t, "desk");
    assert_int_equal(s->ops->find(t, &scope, PLAIN, &ids[3], &r), USHER_OK);
    assert_true(text_equal(&r.owner, &ids[7]));
    assert_int_equal(r.data.size, sizeof big);
    commit(s, t);
    s->ops->close(s);
}

TEST(the_longest_texts_come_back_as_they_were)
{
    struct place *p = *state;
    struct usher_record_store *s = open_at(p);
    char name[USHER_NAME_MAX + 1], *data = malloc(USHER_VALUE_MAX);
    struct usher_record r, found;

    assert_non_null(data);
    for (int i = 0; i < USHER_NAME_MAX; i += 3)
        memcpy(name + i, "\xe2\x82\xac", 3); /* € */
    name[USHER_NAME_MAX] = '\0';
    for (int i = 0; i < USHER_VALUE_MAX; i++)
        data[i] = (char)rnd(256);
    data[0] = '\0';
    r = new_record(name);
    r.owner = r.group = r.id;
    r.slots = 7;
    r.rank = r.order = r.token = (UINT64_C(1) << 53) - 1;
    r.until_ms = USHER_TIME_MAX + USHER_SPAN_MAX;
    r.data.data = data;
    r.data.size = USHER_VALUE_MAX;
    assert_int_equal(put(s, name, &r), USHER_OK);
    s->ops->close(s);
    s = open_at(p);
    struct usher_txn *t = begin(s, false);
    struct usher_scope scope = scope_of(s, t, name);

    assert_int_equal(s->ops->find(t, &scope, PLAIN, &r.id, &found), USHER_OK);
    same_record(&found, &r);
    assert_int_equal(s->ops->walk(t, &scope, PLAIN, 2, &r.id, 0, 0, false, &found), USHER_OK);
    same_record(&found, &r);
    commit(s, t);
    free(data);
    s->ops->close(s);
}

TEST(a_rollback_leaves_nothing)
{
    struct place *p = *state;
    struct usher_record_store *s = open_at(p);
    struct usher_record r = new_record("one"), found;
    struct usher_text desk = text("desk"), bar = text("bar");
    struct usher_scope scope, other = new_scope("bar");
    struct usher_write w;
    struct usher_txn *t;

    assert_int_equal(put(s, "desk", &r), USHER_OK);
    t = begin(s, true);
    scope = scope_of(s, t, "desk");
    assert_int_equal(s->ops->find(t, &scope, PLAIN, &r.id, &w.record), USHER_OK);
    w.erase = false;
    w.record.state = USHER_NUMBER_STATE_BUSY_UP;
    scope.version = 9;
    scope.settings[0] = 5;
    assert_int_equal(s->ops->write(t, &scope, &w, 1), USHER_OK);
    w.record = r;
    assert_int_equal(s->ops->write(t, &other, &w, 1), USHER_OK);
    s->ops->rollback(t);

    t = begin(s, true);
    scope = scope_of(s, t, "desk");
    assert_int_equal(scope.version, 1);
    assert_int_equal(scope.settings[0], 0);
    assert_int_equal(s->ops->find(t, &scope, PLAIN, &r.id, &found), USHER_OK);
    same_record(&found, &r);
    assert_int_equal(s->ops->scope(t, USHER_QUEUE, &bar, &other), USHER_MISSING);
    commit(s, t);
    t = begin(s, false);
    assert_int_equal(s->ops->scope(t, USHER_QUEUE, &desk, &scope), USHER_OK);
    s->ops->rollback(t);
    s->ops->close(s);
}

TEST(a_change_that_fails_cannot_be_committed)
{
    struct place *p = *state;
    struct usher_record_store *s = open_at(p);
    struct usher_record r = new_record("one"), found;
    struct usher_write w[2] = { { false, r }, { false, r } };
    struct usher_scope scope;
    struct usher_txn *t;

    assert_int_equal(put(s, "desk", &r), USHER_OK);
    t = begin(s, true);
    scope = scope_of(s, t, "desk");
    w[0].record.id = text("two");
    assert_int_equal(s->ops->write(t, &scope, w, 2), USHER_UNAVAILABLE); /* one is there */
    assert_non_null(strstr(s->ops->message(s), "corrupt"));
    assert_int_equal(s->ops->commit(t), USHER_UNAVAILABLE);
    assert_int_equal(get(s, "desk", "two", &found), USHER_MISSING);
    /* a row that is gone */
    t = begin(s, true);
    scope = scope_of(s, t, "desk");
    w[0].record.ref = (void *)(uintptr_t)4711;
    assert_int_equal(s->ops->write(t, &scope, w, 1), USHER_UNAVAILABLE);
    s->ops->rollback(t);
    assert_int_equal(put(s, "desk", &w[1].record), USHER_UNAVAILABLE);
    s->ops->close(s);
}

TEST(record_that_could_not_be_read_again_is_not_written)
{
    struct place *p = *state;
    struct usher_record_store *s = open_at(p);
    char name[USHER_NAME_MAX + 2];
    struct usher_record found;

    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    for (int i = 0; i < 9; i++) {
        struct usher_record r = new_record("one");
        struct usher_scope scope = new_scope("desk");
        struct usher_write w;
        struct usher_txn *t = begin(s, true);

        if (i == 0)
            r.n[3] = INT64_MAX;
        else if (i == 1)
            r.order = 0;
        else if (i == 2)
            r.until_ms = -1;
        else if (i == 3)
            r.token = UINT64_MAX;
        else if (i == 4)
            r.owner = text(name);
        else if (i == 5)
            scope.epoch = 0;
        else if (i == 6)
            scope.settings[11] = INT64_MIN;
        else if (i == 7)
            scope.version = UINT64_C(1) << 60;
        else
            scope.name = text(name);
        w.erase = false;
        w.record = r;
        assert_int_equal(s->ops->write(t, &scope, &w, 1), USHER_UNAVAILABLE);
        assert_non_null(strstr(s->ops->message(s), "too large"));
        s->ops->rollback(t);
    }
    assert_int_equal(get(s, "desk", "one", &found), USHER_MISSING);
    s->ops->close(s);
}

TEST(more_scopes_than_the_cache_holds_are_read)
{
    struct place *p = *state;
    struct usher_record_store *s = open_at(p);
    struct usher_txn *t = begin(s, true);
    char names_of[300][16];

    for (int round = 1; round <= 3; round++) {
        for (int i = 0; i < 300; i++) {
            struct usher_scope scope;

            (void)snprintf(names_of[i], sizeof names_of[i], "p%d", i);
            if (round == 1) {
                scope = new_scope(names_of[i]);
                scope.clock_ms = i;
            } else {
                scope = scope_of(s, t, names_of[i]);
                assert_int_equal(scope.version, round - 1);
                assert_int_equal(scope.clock_ms, i);
                assert_int_equal(scope.settings[1], (round - 1) / 2 * i);
            }
            scope.version = (uint64_t)round;
            scope.settings[1] = round / 2 * i;
            assert_int_equal(s->ops->write(t, &scope, NULL, 0), USHER_OK);
        }
        if (round == 2) {
            commit(s, t);
            t = begin(s, true);
        }
    }
    commit(s, t);
    s->ops->close(s);
    s = open_at(p);
    t = begin(s, false);
    for (int i = 0; i < 300; i++)
        assert_int_equal(scope_of(s, t, names_of[i]).version, 3);
    commit(s, t);
    s->ops->close(s);
}

/* ---- plans ---- */

static const struct {
    const char *text, *via;
} statements[] = {
#define X(name, text, via) { text, via },
    STATEMENTS(X)
#undef X
};
enum { STATEMENTS_N = sizeof statements / sizeof *statements };

TEST(every_statement_is_served_by_its_index)
{
    struct place *p = *state;
    struct usher_record_store *s = open_at(p);
    sqlite3 *db = raw(p);
    char explain[1200], want[64];
    unsigned n = 0;

    for (unsigned i = 0; i < STATEMENTS_N; i++) {
        const char *statement = statements[i].text, *via = statements[i].via;
        sqlite3_stmt *st;
        const char *by = via; /* of a join: "one, and another" */
        int rc;

        (void)snprintf(explain, sizeof explain, "EXPLAIN QUERY PLAN %s", statement);
        if (sqlite3_prepare_v2(db, explain, -1, &st, NULL) != SQLITE_OK)
            fail_msg("%s: %s", statement, sqlite3_errmsg(db));
        while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
            const char *plan = (const char *)sqlite3_column_text(st, 3);

            if (by == NULL)
                fail_msg("%s: %s", statement, plan);
            if (strcmp(by, "rowid") == 0)
                (void)snprintf(want, sizeof want, "INTEGER PRIMARY KEY");
            else if (strcmp(by, "primary key") == 0)
                (void)snprintf(want, sizeof want, " PRIMARY KEY");
            else
                (void)snprintf(want, sizeof want, " INDEX %.*s", (int)strcspn(by, ","), by);
            if (strstr(plan, want) == NULL || strstr(plan, "TEMP B-TREE") != NULL)
                fail_msg("%s: %s", statement, plan);
            /* only the look at any one row of scope begins at the first */
            if (strncmp(plan, "SEARCH", 6) != 0 && strcmp(statement, "SELECT 1 FROM scope") != 0)
                fail_msg("%s: %s", statement, plan);
            by = strchr(by, ',') != NULL ? strchr(by, ',') + strlen(", and ") : NULL;
        }
        assert_int_equal(rc, SQLITE_DONE);
        assert_null(by);
        n += via != NULL;
        (void)sqlite3_finalize(st);
    }
    assert_true(n > 20);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    s->ops->close(s);
}

/* Return the count of trees that SQLite opens for writing by @statement. */
static unsigned opened_by(sqlite3 *db, const char *statement)
{
    char explain[1200];
    sqlite3_stmt *st;
    unsigned n = 0;

    (void)snprintf(explain, sizeof explain, "EXPLAIN %s", statement);
    if (sqlite3_prepare_v2(db, explain, -1, &st, NULL) != SQLITE_OK)
        fail_msg("%s: %s", statement, sqlite3_errmsg(db));
    while (sqlite3_step(st) == SQLITE_ROW)
        n += strcmp((const char *)sqlite3_column_text(st, 1), "OpenWrite") == 0;
    (void)sqlite3_finalize(st);
    return n;
}

/* The table, and both lists of each kind of which something is set. */
TEST(a_change_opens_no_list_that_stays_as_it_is)
{
    struct place *p = *state;
    struct usher_record_store *s = open_at(p);
    sqlite3 *db = raw(p);
    unsigned n = 0;

    for (unsigned i = 0; i < STATEMENTS_N; i++) {
        const char *statement = statements[i].text;
        unsigned want = 1;

        if (strncmp(statement, "UPDATE record SET", 17) != 0)
            continue;
        want += strstr(statement, " slots = ") != NULL ? 4 : 0;
        want += strstr(statement, " until_ms = ") != NULL ? 2 : 0;
        if (opened_by(db, statement) != want)
            fail_msg("%s: not %u", statement, want);
        n++;
    }
    assert_int_equal(n, 5);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    s->ops->close(s);
}

/* ---- others ---- */

TEST(a_writer_waits_for_another_until_its_deadline)
{
    struct place *p = *state;
    struct usher_record_store *a = open_at(p), *b = open_at(p);
    struct usher_record r = new_record("one"), found;
    struct usher_txn *t, *u = NULL;
    int64_t from;

    assert_int_equal(put(a, "desk", &r), USHER_OK);
    t = begin(a, true);
    from = clock_ms();
    assert_int_equal(b->ops->begin(b, (enum usher_noun)0, NULL, true, from + SHORT, &u),
                     USHER_UNAVAILABLE);
    assert_true(clock_ms() - from >= SHORT - 1);
    assert_true(clock_ms() - from < LONG / 2);
    assert_non_null(strstr(b->ops->message(b), "locked"));
    /* readers do not wait */
    assert_int_equal(get(b, "desk", "one", &found), USHER_OK);
    commit(a, t);
    u = begin(b, true);
    assert_string_equal(b->ops->message(b), "");
    commit(b, u);
    a->ops->close(a);
    b->ops->close(b);
}

struct waiter {
    struct usher_record_store *store;
    sem_t about_to;
    bool done;
};

static void *write_as_well(void *payload)
{
    struct waiter *w = payload;
    struct usher_txn *t = NULL;

    (void)sem_post(&w->about_to);
    w->done = w->store->ops->begin(w->store, (enum usher_noun)0, NULL, true, clock_ms() + LONG,
                                   &t) == USHER_OK &&
              w->store->ops->commit(t) == USHER_OK;
    return NULL;
}

TEST(a_writer_that_waits_gets_its_turn)
{
    struct place *p = *state;
    struct usher_record_store *a = open_at(p);
    struct waiter w = { .store = open_at(p) };

    assert_int_equal(sem_init(&w.about_to, 0, 0), 0);
    for (int i = 0; i < 5; i++) {
        struct usher_txn *t = begin(a, true);
        pthread_t thread;

        w.done = false;
        assert_int_equal(pthread_create(&thread, NULL, write_as_well, &w), 0);
        assert_int_equal(sem_wait(&w.about_to), 0);
        commit(a, t);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_true(w.done);
    }
    (void)sem_destroy(&w.about_to);
    a->ops->close(a);
    w.store->ops->close(w.store);
}

TEST(writes_of_another_connection_are_read)
{
    struct place *p = *state;
    struct usher_record_store *a = open_at(p), *b = open_at(p);
    struct usher_record r = new_record("one"), found;
    struct usher_txn *t;

    assert_int_equal(put(a, "desk", &r), USHER_OK);
    for (int i = 0; i < 20; i++) {
        struct usher_record_store *s = i % 2 == 0 ? a : b;
        struct usher_scope scope;
        struct usher_write w = { false, r };

        t = begin(s, true);
        scope = scope_of(s, t, "desk");
        assert_int_equal(scope.version, i + 1);
        assert_int_equal(s->ops->find(t, &scope, PLAIN, &r.id, &w.record), USHER_OK);
        assert_int_equal(w.record.n[0], i);
        w.record.n[0]++;
        scope.version++;
        assert_int_equal(s->ops->write(t, &scope, &w, 1), USHER_OK);
        commit(s, t);
        assert_int_equal(get(a, "desk", "one", &found), USHER_OK);
        assert_int_equal(found.n[0], i + 1);
    }
    a->ops->close(a);
    b->ops->close(b);
}

TEST(a_reader_sees_one_moment)
{
    struct place *p = *state;
    struct usher_record_store *a = open_at(p), *b = open_at(p);
    struct usher_record r = new_record("one"), found;
    struct usher_scope scope;
    struct usher_txn *t;

    assert_int_equal(put(a, "desk", &r), USHER_OK);
    t = begin(b, false);
    r.id = text("two");
    r.order = 2;
    assert_int_equal(put(a, "desk", &r), USHER_OK);
    scope = scope_of(b, t, "desk");
    assert_int_equal(b->ops->find(t, &scope, PLAIN, &r.id, &found), USHER_MISSING);
    commit(b, t);
    assert_int_equal(get(b, "desk", "two", &found), USHER_OK);
    a->ops->close(a);
    b->ops->close(b);
}

/* In a child: one transaction after the other adds 1. */
static int add_ones(struct place *p, int times)
{
    struct usher_record_store *s = open_at(p);
    struct usher_text one = text("one");

    for (int i = 0; i < times; i++) {
        struct usher_txn *t = begin(s, true);
        struct usher_scope scope = scope_of(s, t, "desk");
        struct usher_write w = { .erase = false };

        if (s->ops->find(t, &scope, PLAIN, &one, &w.record) != USHER_OK)
            return 1;
        w.record.n[0]++;
        scope.version++;
        if (s->ops->write(t, &scope, &w, 1) != USHER_OK || s->ops->commit(t) != USHER_OK)
            return 1;
    }
    s->ops->close(s);
    return 0;
}

/* A failed assertion ends the child. */
static pid_t fork_child(void)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0)
        (void)setenv("CMOCKA_TEST_ABORT", "1", 1);
    return pid;
}

static void wait_for(pid_t pid)
{
    int status = -1;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

TEST(processes_lose_no_change_of_each_other)
{
    struct place *p = *state;
    struct usher_record_store *s = open_at(p);
    struct usher_record r = new_record("one"), found;
    pid_t pids[3];

    assert_int_equal(put(s, "desk", &r), USHER_OK);
    s->ops->close(s);
    for (int i = 0; i < 3; i++) {
        pids[i] = fork_child();
        if (pids[i] == 0)
            _exit(add_ones(p, 200));
    }
    for (int i = 0; i < 3; i++)
        wait_for(pids[i]);
    s = open_at(p);
    assert_int_equal(get(s, "desk", "one", &found), USHER_OK);
    assert_int_equal(found.n[0], 600);
    s->ops->close(s);
}

TEST(processes_may_make_the_file_at_once)
{
    struct place *p = *state;
    struct usher_record found;

    for (int round = 0; round < 15; round++) {
        struct usher_record_store *s;
        int go[2];
        pid_t pids[4];
        char name[16];

        (void)snprintf(p->path, sizeof p->path, "%s/new%d.db", p->dir, round);
        assert_int_equal(pipe(go), 0);
        for (int i = 0; i < 4; i++) {
            pids[i] = fork_child();
            if (pids[i] == 0) {
                struct usher_record r = new_record("one");
                char byte;

                (void)close(go[1]);
                (void)!read(go[0], &byte, 1); /* until all are there */
                (void)snprintf(name, sizeof name, "p%d", i);
                s = open_at(p);
                if (put(s, name, &r) != USHER_OK)
                    _exit(1);
                s->ops->close(s);
                _exit(0);
            }
        }
        (void)close(go[0]);
        (void)close(go[1]);
        for (int i = 0; i < 4; i++)
            wait_for(pids[i]);
        s = open_at(p);
        for (int i = 0; i < 4; i++) {
            (void)snprintf(name, sizeof name, "p%d", i);
            assert_int_equal(get(s, name, "one", &found), USHER_OK);
        }
        s->ops->close(s);
    }
}

/* ---- scan ---- */

struct stopper {
    struct usher_record_store *writer;
    unsigned items;
    enum usher_status answer;
};

static enum usher_status stop_at_third(void *payload, const struct usher_item *item)
{
    struct stopper *st = payload;
    struct usher_record r = new_record("three");

    (void)item;
    r.order = 3;
    /* a write during the scan is not waited for, and not seen */
    if (st->items == 0 && st->writer != NULL)
        assert_int_equal(put(st->writer, "desk", &r), USHER_OK);
    return ++st->items == 3 ? st->answer : USHER_OK;
}

TEST(scan_blocks_no_writer_and_stops_on_request)
{
    struct place *p = *state;
    struct usher_record_store *s = open_at(p);
    struct usher_record r = new_record("one");
    struct usher_text desk = text("desk"), bar = text("bar");
    struct stopper st = { .writer = s, .answer = USHER_OK };

    assert_int_equal(put(s, "desk", &r), USHER_OK);
    r.id = text("two");
    r.order = 2;
    assert_int_equal(put(s, "desk", &r), USHER_OK);
    assert_int_equal(put(s, "bar", &r), USHER_OK);
    assert_int_equal(
        s->ops->scan(s, USHER_QUEUE, &desk, clock_ms() + LONG, stop_at_third, &st, scan_message),
        USHER_OK);
    assert_int_equal(st.items, 1 + 2 + 2);

    st = (struct stopper){ .answer = USHER_NOMEM };
    assert_int_equal(s->ops->scan(s, (enum usher_noun)0, NULL, clock_ms() + LONG, stop_at_third,
                                  &st, scan_message),
                     USHER_NOMEM);
    assert_int_equal(st.items, 3);

    st = (struct stopper){ .answer = USHER_OK };
    assert_int_equal(s->ops->scan(s, (enum usher_noun)0, &bar, clock_ms() + LONG, stop_at_third,
                                  &st, scan_message),
                     USHER_OK);
    assert_int_equal(st.items, 3);
    st.items = 0;
    assert_int_equal(s->ops->scan(s, (enum usher_noun)7, NULL, clock_ms() + LONG, stop_at_third,
                                  &st, scan_message),
                     USHER_OK);
    assert_int_equal(st.items, 0);
    s->ops->close(s);
}

static enum usher_status count_entries(void *payload, const struct usher_item *item)
{
    *(unsigned *)payload += item->kind == USHER_ITEM_ENTRY;
    return USHER_OK;
}

/* Take an index out of the schema, change the table, and put it back. */
TEST(an_index_that_disagrees_is_noticed)
{
    struct place *p = *state;
    struct usher_record_store *s = open_at(p);
    struct usher_record r = new_record("one"), found;
    struct usher_scope scope;
    struct usher_txn *t;
    unsigned entries = 0;

    assert_int_equal(put(s, "desk", &r), USHER_OK);
    s->ops->close(s);
    raw_sql(p, "CREATE TABLE saved AS SELECT * FROM sqlite_master WHERE name = 'record_ready';"
               "PRAGMA writable_schema = ON;"
               "DELETE FROM sqlite_master WHERE name = 'record_ready'");
    raw_sql(p, "UPDATE record SET slots = 4, state = 4");
    raw_sql(p, "PRAGMA writable_schema = ON;"
               "INSERT INTO sqlite_master SELECT * FROM saved;"
               "DROP TABLE saved");
    s = open_at(p);
    t = begin(s, true);
    scope = scope_of(s, t, "desk");
    assert_int_equal(s->ops->walk(t, &scope, PLAIN, 0, NULL, 0, 0, false, &found),
                     USHER_UNAVAILABLE);
    assert_non_null(strstr(s->ops->message(s), "disagree"));
    s->ops->rollback(t);
    assert_int_equal(s->ops->scan(s, USHER_QUEUE, NULL, clock_ms() + LONG, count_entries, &entries,
                                  scan_message),
                     USHER_OK);
    assert_int_equal(entries, 2); /* the old one and the new one */
    s->ops->close(s);
}

/* ---- places in long lists ---- */

#define MANY 2500

/* A list to query with rank(): its records, and their places. */
struct long_list {
    bool there[MANY];
    uint64_t hi[MANY], order[MANY];
};

/* Record @i joins the list, moves in it, or leaves it, in a change of its own. */
static void list_change(struct usher_record_store *s, struct usher_txn *t,
                        struct usher_scope *scope, struct long_list *l, unsigned i, bool there)
{
    struct usher_write w;
    struct usher_record r, found;
    char id[16];

    (void)snprintf(id, sizeof id, "u%u", i);
    r = new_record(id);
    r.kind = RANKED;
    r.group = text("east");
    scope->version++;
    l->hi[i] = r.rank = rnd(5);
    l->order[i] = r.order = scope->version;
    if (scope->ref != NULL && s->ops->find(t, scope, r.kind, &r.id, &found) == USHER_OK)
        r.ref = found.ref;
    assert_true((r.ref != NULL) == l->there[i]);
    l->there[i] = there;
    w.erase = !there && rnd(2) != 0;
    if (!there && !w.erase) /* another list, or none */
        r.group = text(rnd(2) != 0 ? "west" : "");
    w.record = r;
    assert_int_equal(s->ops->write(t, scope, &w, 1), USHER_OK);
    if (!there && !w.erase) {
        w.erase = true;
        scope->version++;
        assert_int_equal(s->ops->find(t, scope, r.kind, &r.id, &w.record), USHER_OK);
        assert_int_equal(s->ops->write(t, scope, &w, 1), USHER_OK);
    }
}

static void list_check(struct usher_record_store *s, struct usher_txn *t,
                       const struct usher_scope *scope, const struct long_list *l)
{
    struct usher_text by = text("east"), other = text("west");

    for (int k = 0; k < 100; k++) {
        unsigned at = (unsigned)rnd(MANY);
        uint64_t want = 0;

        for (unsigned i = 0; i < MANY; i++)
            want += l->there[i] &&
                    (l->hi[i] < l->hi[at] || (l->hi[i] == l->hi[at] && l->order[i] < l->order[at]));
        assert_int_equal(rank_of(s, t, scope, &by, l->hi[at], l->order[at]), want);
    }
    assert_int_equal(rank_of(s, t, scope, &other, 5, 1), 0);
}

struct faults {
    unsigned n;
    char text[128];
};

static enum usher_status count_faults(void *payload, const struct usher_item *item)
{
    struct faults *f = payload;

    if (item->kind == USHER_ITEM_FAULT) {
        f->n++;
        (void)snprintf(f->text, sizeof f->text, "%s", item->fault);
    }
    return USHER_OK;
}

static unsigned faults_of(struct usher_record_store *s)
{
    struct faults f = { 0, "" };

    if (s->ops->scan(s, (enum usher_noun)0, NULL, clock_ms() + LONG, count_faults, &f,
                     scan_message) != USHER_OK)
        fail_msg("scan: %s", scan_message);
    if (f.n != 0)
        assert_non_null(strstr(f.text, "places"));
    return f.n;
}

TEST(rank_in_a_long_list_is_computed_from_counts)
{
    static const char *const wrong[] = {
        "UPDATE place SET n = n + 1 WHERE rowid_of = 1",
        "UPDATE place SET n = n - 1 WHERE n > 1",
        "UPDATE place SET n = n + 2 WHERE rowid_of = 2",
        "DELETE FROM place WHERE rowid_of = 1",
        "UPDATE place SET ord = ord + 1000000 WHERE rowid_of = 2",
        "INSERT INTO place SELECT list, 'west', 0, 0, 7 FROM place LIMIT 1",
        "DELETE FROM place",
    };
    struct place *p = *state;
    struct usher_record_store *s = open_at(p);
    struct long_list *l = calloc(1, sizeof *l);
    struct usher_scope scope = new_scope("desk");
    struct usher_txn *t = begin(s, true);
    char stretches[16];
    sqlite3 *db;

    assert_non_null(l);
    for (unsigned i = 0; i < MANY; i++)
        list_change(s, t, &scope, l, i, true);
    list_check(s, t, &scope, l);
    for (unsigned i = 0; i < MANY; i++)
        if (rnd(3) == 0)
            list_change(s, t, &scope, l, (unsigned)rnd(MANY), rnd(2) != 0 || !l->there[i]);
    list_check(s, t, &scope, l);
    commit(s, t);
    assert_int_equal(faults_of(s), 0);
    db = raw(p);
    raw_text(db, "SELECT count(*) FROM place", stretches, sizeof stretches);
    assert_true(atoi(stretches) >= 4);

    /* what is wrong is seen */
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char statement[200];
        const char *of = strstr(wrong[i], "rowid_of");

        sql(db, "CREATE TABLE saved AS SELECT * FROM place");
        if (of != NULL)
            (void)snprintf(statement, sizeof statement,
                           "%.*s(hi, ord) = (SELECT hi, ord FROM saved LIMIT 1 OFFSET %d)",
                           (int)(of - wrong[i]), wrong[i], atoi(of + strlen("rowid_of = ")));
        else
            (void)snprintf(statement, sizeof statement, "%s", wrong[i]);
        sql(db, statement);
        if (faults_of(s) != 1)
            fail_msg("not seen: %s", wrong[i]);
        sql(db, "DELETE FROM place; INSERT INTO place SELECT * FROM saved; DROP TABLE saved");
        assert_int_equal(faults_of(s), 0);
    }
    assert_int_equal(sqlite3_close(db), SQLITE_OK);

    /* and goes when all are gone */
    t = begin(s, true);
    scope = scope_of(s, t, "desk");
    for (unsigned i = 0; i < MANY; i++)
        if (l->there[i])
            list_change(s, t, &scope, l, i, false);
    commit(s, t);
    assert_int_equal(faults_of(s), 0);
    db = raw(p);
    raw_text(db, "SELECT count(*) FROM place", stretches, sizeof stretches);
    assert_string_equal(stretches, "0");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    s->ops->close(s);
    free(l);
}

/* ---- who stands first ---- */

#define CROWD 150
#define HOLDERS 60

/* Numbers of one pool, as they should be. */
struct crowd {
    struct usher_record r[CROWD];
    char id[CROWD][40], owner[HOLDERS][16];
    uint64_t version;
    uint64_t seldom; /* how seldom one comes in before those who wait */
};

static bool listed(const struct usher_record *r, unsigned slot, const struct usher_text *by)
{
    return (r->slots >> slot & 1u) != 0 &&
           (by == NULL || text_equal(by, slot == 2 ? &r->owner : &r->group));
}

/* Ask for the first one of a list, and compare; its index, or CROWD. */
static size_t first_of(struct usher_record_store *s, struct usher_txn *t,
                       const struct usher_scope *scope, const struct crowd *c, unsigned slot,
                       const char *by, struct usher_record *ret)
{
    struct usher_text n = text(by != NULL ? by : "");
    const struct usher_text *of = by != NULL ? &n : NULL;
    size_t want = CROWD;
    enum usher_status status;

    for (size_t i = 0; i < CROWD; i++)
        if (listed(&c->r[i], slot, of) && (want == CROWD ||
                                           (slot == 0 && (c->r[i].rank < c->r[want].rank ||
                                                          (c->r[i].rank == c->r[want].rank &&
                                                           c->r[i].order < c->r[want].order))) ||
                                           (slot == 2 && c->r[i].order < c->r[want].order)))
            want = i;
    status = s->ops->walk(t, scope, PLAIN, (uint8_t)slot, of, 0, 0, false, ret);
    assert_int_equal(status, want == CROWD ? USHER_MISSING : USHER_OK);
    if (want != CROWD)
        same_record(ret, &c->r[want]);
    return want;
}

/* Write number @i as @to says, or out of the pool. */
static void crowd_write(struct usher_record_store *s, struct usher_txn *t,
                        struct usher_scope *scope, struct crowd *c, size_t i,
                        const struct usher_record *to)
{
    struct usher_write w = { to == NULL, to != NULL ? *to : c->r[i] };

    if (rnd(2) == 0 && c->r[i].ref != NULL) { /* by a number that was read, or not */
        struct usher_record was;

        assert_int_equal(s->ops->find(t, scope, PLAIN, &c->r[i].id, &was), USHER_OK);
    }
    scope->version = c->version;
    assert_int_equal(s->ops->write(t, scope, &w, 1), USHER_OK);
    if (to == NULL)
        c->r[i].slots = 0;
    else
        c->r[i] = *to;
    c->r[i].ref = NULL;
    if (to != NULL) {
        struct usher_record is;

        assert_int_equal(s->ops->find(t, scope, PLAIN, &to->id, &is), USHER_OK);
        c->r[i].ref = is.ref;
    }
}

static void crowd_step(struct usher_record_store *s, struct usher_txn *t, struct usher_scope *scope,
                       struct crowd *c)
{
    static const char *const group[] = { "", "east", "west" };
    struct usher_record r;
    size_t i = rnd(CROWD);
    unsigned what = (unsigned)rnd(16);

    if (what < 10) { /* the first one is taken */
        size_t k = first_of(s, t, scope, c, 0, what < 6 ? NULL : group[1 + what % 2], &r);

        i = k != CROWD ? k : i;
    }
    r = c->r[i];
    r.state = USHER_NUMBER_STATE_IDLE_UP;
    r.order = ++c->version;
    if (r.ref == NULL) {
        r = new_record(c->id[i]);
        r.order = c->version;
        r.group = text(group[rnd(3)]);
    } else if (what == 15) {
        crowd_write(s, t, scope, c, i, NULL);
        return;
    } else if (r.slots != 1 && rnd(4) != 0) {
        r.slots = 1;
        r.owner.size = 0;
    } else if (what < 13) {
        r.slots = 4;
        r.owner = text(c->owner[rnd(HOLDERS)]);
    } else {
        r.slots = (uint8_t)rnd(8);
        r.group = text(group[rnd(3)]);
        r.owner = text(c->owner[rnd(HOLDERS)]);
    }
    r.rank = rnd(c->seldom) != 0 ? UINT64_C(1) << 32 : rnd(5);
    crowd_write(s, t, scope, c, i, &r);
}

/* The first records are cached.  After any change, by this connection or another, and even after a
 * rollback, the record returned as the first is the first. */
TEST(the_cached_first_record_is_the_first)
{
    struct place *p = *state;
    struct usher_record_store *a = open_at(p), *b = open_at(p);
    struct crowd *c = calloc(2, sizeof *c);
    struct usher_record r = new_record("first");

    assert_non_null(c);
    assert_int_equal(put(a, "desk", &r), USHER_OK);
    for (size_t i = 0; i < CROWD; i++) {
        (void)snprintf(c->id[i], sizeof c->id[i], i == 0 ? "first" : "number %zu", i);
        c->r[i].id = text(c->id[i]);
    }
    for (size_t i = 0; i < HOLDERS; i++)
        (void)snprintf(c->owner[i], sizeof c->owner[i], "holder %zu", i);
    c->r[0] = r;
    c->r[0].id = text(c->id[0]);
    c->version = 1;
    assert_int_equal(get(a, "desk", "first", &r), USHER_OK);
    c->r[0].ref = r.ref;
    for (int round = 0; round < 800; round++) {
        struct usher_record_store *s = rnd(32) == 0 ? b : a;
        struct usher_txn *t = begin(s, true);
        struct usher_scope scope = scope_of(s, t, "desk");

        c->seldom = round % 2 == 0 ? 16 : 1000;
        c[1] = c[0];
        for (size_t n = rnd(40); n > 0; n--) {
            crowd_step(s, t, &scope, c);
            (void)first_of(s, t, &scope, c, 0, NULL, &r);
            (void)first_of(s, t, &scope, c, 0, "east", &r);
            (void)first_of(s, t, &scope, c, 2, c->owner[rnd(HOLDERS)], &r);
            (void)first_of(s, t, &scope, c, 2, c->owner[rnd(HOLDERS)], &r);
        }
        if (rnd(16) == 0) {
            s->ops->rollback(t);
            memcpy(c[0].r, c[1].r, sizeof c->r);
            c[0].version = c[1].version;
        } else {
            commit(s, t);
        }
    }
    free(c);
    a->ops->close(a);
    b->ops->close(b);
}

static struct usher_engine *engine_at(struct place *p)
{
    char url[128];
    struct usher_engine *e = NULL;

    (void)snprintf(url, sizeof url, "sqlite:%s", p->path);
    if (usher_open(url, NULL, &e) != USHER_OK)
        fail_msg("%s", usher_message());
    return e;
}

struct timed {
    struct usher_engine *e;
    int64_t timeout_ms;
    enum usher_status status;
    _Atomic bool over;
};

static void *add_timed(void *payload)
{
    const struct usher_value v = USHER_T(USHER_FIELD_NUMBER, "1");
    const struct usher_command c = { USHER_NUMBER_ADD, USHER_TO_NUL, "desk", &v, 1, NULL };
    struct timed *t = payload;
    struct usher_reply *reply;

    (void)usher_execute(t->e, &c, 1, t->timeout_ms, &reply);
    t->status = reply->status;
    usher_reply_done(reply);
    atomic_store(&t->over, true);
    return NULL;
}

TEST(a_call_keeps_its_timeout_while_the_file_is_locked)
{
    struct place *p = *state;
    struct timed longer = { .e = engine_at(p), .timeout_ms = LONG / 4 };
    sqlite3 *db = raw(p);
    pthread_t thread;

    sql(db, "BEGIN IMMEDIATE");
    assert_int_equal(pthread_create(&thread, NULL, add_timed, &longer), 0);
    for (int i = 0; i < 4; i++) { /* the first may be the one that waits in the store */
        struct timed brief = { .e = longer.e, .timeout_ms = SHORT };

        (void)add_timed(&brief);
        assert_int_equal(brief.status, USHER_UNAVAILABLE);
        assert_false(atomic_load(&longer.over));
    }
    sql(db, "ROLLBACK");
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(longer.status, USHER_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    usher_close(longer.e);
}

static uint64_t faults_found(struct usher_engine *e)
{
    uint64_t found = UINT64_MAX;

    assert_int_equal(check_faults(e, NULL, NULL, &found), USHER_OK);
    return found;
}

TEST(audit_checks_rank_pages)
{
    struct place *p = *state;
    struct usher_engine *e = engine_at(p);
    struct ask_queue_seat seat;
    sqlite3 *db;

    assert_int_equal(ask_queue_login(e, "desk", "ann", 1, NULL, 0, NULL), USHER_OK);
    for (int i = 0; i < 4; i++) {
        char user[8];

        (void)snprintf(user, sizeof user, "u%d", i);
        assert_int_equal(ask_queue_apply(e, "desk", user, NULL, &seat), USHER_OK);
    }
    assert_int_equal(seat.place, USHER_QUEUE_PLACE_QUEUE);
    assert_int_equal(seat.index, 2);
    assert_int_equal(faults_found(e), 0);
    db = raw(p);
    sql(db, "UPDATE place SET n = 4");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_int_equal(faults_found(e), 1);
    usher_close(e);
}

/* ---- visits ---- */

/* Write the users of the visits of queue "desk", latest first; its clock is fixed. */
static void visitors(struct usher_engine *e, char *to, size_t size)
{
    struct usher_operation c;
    struct usher_result r;
    size_t n = 0;

    memset(&c, 0, sizeof c);
    c.verb = USHER_QUEUE_HISTORY;
    c.scope = text("desk");
    c.given = USHER_GIVEN_NOW;
    c.now_ms = 1;
    if (usher_operate(e, &c, &r, 1) != USHER_OK || r.status != USHER_OK)
        fail_msg("%s", usher_message());
    to[0] = '\0';
    for (size_t i = 0; i < r.of.queue.n_rows; i++)
        n += (size_t)snprintf(to + n, size - n, "%.*s ", (int)r.of.queue.rows[i].user.size,
                              r.of.queue.rows[i].user.data);
    usher_result_done(&r);
}

#define U31 "abcdefghijklmnopqrstuvwxyz-is31"
#define U41 "abcdefghijklmnopqrstuvwxyz0123456789-long"

/* An administrator may delete rows and add indices; other changes are noticed. */
TEST(rows_of_visits_may_be_deleted_but_not_changed)
{
    static const char *const wrong[] = { "user = 'who'", "lane = 'x'",       "priority = 1",
                                         "since_ms = 1", "applied_ms = 1",   "outcome = 'lost'",
                                         "agent = NULL", "room = '2.2'",     "seated_ms = NULL",
                                         "ended_ms = 1", "wait_ms = 123456", "talk_ms = -1" };
    struct place *p = *state;
    struct usher_engine *e;
    char got[800], statement[200];
    sqlite3 *db;

    raw_sql(p, sqlite_format_14);
    e = engine_at(p);
    db = raw(p);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        sql(db, "CREATE TABLE saved AS SELECT * FROM visit");
        (void)snprintf(statement, sizeof statement, "UPDATE visit SET %s WHERE version = 15",
                       wrong[i]);
        sql(db, statement);
        assert_int_equal(faults_found(e), 1);
        sql(db, "DELETE FROM visit; INSERT INTO visit SELECT * FROM saved; DROP TABLE saved");
        assert_int_equal(faults_found(e), 0);
    }
    sql(db, "DELETE FROM visit WHERE ended_ms < 1700000080000; CREATE INDEX mine ON visit(lane)");
    assert_int_equal(faults_found(e), 0);
    {
        struct usher_queue_result_settings set = { .history = 0 };

        assert_int_equal(ask_queue_set(e, "desk", USHER_GIVEN_QUEUE_HISTORY, &set), USHER_OK);
        visitors(e, got, sizeof got); /* the queue has its own still */
        assert_string_equal(got, U31 " " U41 " c a b u2 u3 u1 ");
        assert_int_equal(ask_queue_login(e, "desk", "bob", 1, NULL, 0, NULL), USHER_OK);
        for (int i = 0; i < 8; i++) {
            struct ask_queue_seat seat;

            assert_int_equal(ask_queue_apply(e, "desk", "new", NULL, &seat), USHER_OK);
            assert_int_equal(ask_queue_leave(e, "desk", "new"), USHER_OK);
        }
        visitors(e, got, sizeof got);
        assert_string_equal(got, "new new new new new new new new " U31 " " U41 " c a ");
    }
    /* what is none of ours is an answer */
    sql(db, "UPDATE visit SET user = '' WHERE version = 15");
    {
        struct usher_result r;

        assert_int_equal(ask_queue_history(e, "desk", NULL, NULL, 0, &r), USHER_UNAVAILABLE);
        usher_result_done(&r);
        assert_non_null(strstr(usher_message(), "corrupt file: a visit"));
    }
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    usher_close(e);
}

/* ---- files that are not what they should be ---- */

TEST(a_file_of_something_else_is_left_alone)
{
    static const char *const foreign[] = {
        "CREATE TABLE t(x); INSERT INTO t VALUES('theirs');",
        "PRAGMA application_id = 7;",
        "PRAGMA user_version = 7;",
        "PRAGMA journal_mode = WAL; PRAGMA application_id = 7; CREATE TABLE t(x);",
        "PRAGMA application_id = 1970497650; CREATE TABLE t(x);",
    };
    struct place *p = *state;

    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        size_t size, size_after;
        char *bytes, *bytes_after;

        (void)snprintf(p->path, sizeof p->path, "%s/other%zu.db", p->dir, i);
        raw_sql(p, foreign[i]);
        bytes = bytes_of(p->path, &size);
        refuses(p, USHER_INVALID, "another program");
        bytes_after = bytes_of(p->path, &size_after);
        assert_int_equal(size, size_after);
        assert_memory_equal(bytes, bytes_after, size);
        free(bytes);
        free(bytes_after);
    }
}

/* Until 0.1 there is one format; from then on, older ones are brought up to date. */
TEST(a_file_of_another_format_is_refused_and_left_alone)
{
    static const char *const marks[][2] = {
        { "PRAGMA user_version = 5", "before 0.1 (5)" },
        { "PRAGMA user_version = 99",
          "has format 99, and this version reads up to 14: use a newer usher" },
    };
    struct place *p = *state;
    struct usher_record_store *s = open_at(p);

    s->ops->close(s);
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        size_t size, size_after;
        char *bytes, *bytes_after;

        raw_sql(p, marks[i][0]);
        bytes = bytes_of(p->path, &size);
        refuses(p, USHER_INVALID, marks[i][1]);
        bytes_after = bytes_of(p->path, &size_after);
        assert_int_equal(size, size_after);
        assert_memory_equal(bytes, bytes_after, size);
        free(bytes);
        free(bytes_after);
    }
}

TEST(a_file_that_is_no_database_is_not_written)
{
    struct place *p = *state;
    char line[8192], *bytes;
    size_t size;

    memset(line, 'n', sizeof line);
    write_file(p->path, line, sizeof line);
    refuses(p, USHER_INVALID, "not a database");
    bytes = bytes_of(p->path, &size);
    assert_int_equal(size, sizeof line);
    assert_memory_equal(bytes, line, size);
    free(bytes);
    write_file(p->path, "short\n", 6);
    refuses(p, USHER_INVALID, "not a database");
}

TEST(an_empty_file_becomes_ours)
{
    struct place *p = *state;
    struct usher_record_store *s;
    sqlite3 *db;
    char value[32];

    write_file(p->path, "", 0);
    s = open_at(p);
    db = raw(p);
    raw_text(db, "PRAGMA application_id", value, sizeof value);
    assert_string_equal(value, "1970497650"); /* "ushr" */
    raw_text(db, "PRAGMA user_version", value, sizeof value);
    assert_string_equal(value, "14");
    raw_text(db, "PRAGMA journal_mode", value, sizeof value);
    assert_string_equal(value, "wal");
    raw_text(db, "PRAGMA integrity_check", value, sizeof value);
    assert_string_equal(value, "ok");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    s->ops->close(s);
    assert_int_equal(access(p->path, F_OK), 0);
    (void)snprintf(p->message, sizeof p->message, "%s-wal", p->path);
    assert_int_equal(access(p->message, F_OK), -1); /* closed, it is one file */
}

TEST(a_file_that_cannot_be_opened_says_why)
{
    struct place *p = *state;

    (void)snprintf(p->path, sizeof p->path, "%s/none/pool.db", p->dir);
    refuses(p, USHER_UNAVAILABLE, "no such directory");
    (void)snprintf(p->path, sizeof p->path, "%s", p->dir);
    refuses(p, USHER_UNAVAILABLE, "cannot be opened");
}

/* In a child that root's rights are taken from. */
TEST(a_read_only_file_says_so)
{
    struct place *p = *state;
    struct usher_record_store *s = open_at(p);
    pid_t pid;

    s->ops->close(s);
    assert_int_equal(chmod(p->dir, 0777), 0);
    assert_int_equal(chmod(p->path, 0444), 0);
    pid = fork_child();
    if (pid == 0) {
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
            _exit(1);
        refuses(p, USHER_UNAVAILABLE, "read-only");
        /* nor can a log be made where nothing may be made */
        (void)snprintf(p->path, sizeof p->path, "/proc/pool.db");
        refuses(p, USHER_UNAVAILABLE, "cannot be opened");
        _exit(0);
    }
    wait_for(pid);
}

TEST(a_locked_file_is_waited_for_until_the_deadline)
{
    struct place *p = *state;
    sqlite3 *db = raw(p);

    sql(db, "PRAGMA locking_mode = EXCLUSIVE; CREATE TABLE t(x); BEGIN EXCLUSIVE");
    refuses(p, USHER_UNAVAILABLE, "locked");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* With any damaged page there is no crash, and each command has an answer. */
TEST(damaged_page_causes_no_crash)
{
    struct place *p = *state;
    struct usher_record_store *s = open_at(p);
    struct usher_record r, found;
    char *bytes, *damaged;
    size_t size;
    unsigned failures = 0;

    for (int i = 0; i < 200; i++) {
        char id[16];

        (void)snprintf(id, sizeof id, "number%d", i);
        r = new_record(id);
        r.order = (uint64_t)i + 1;
        r.group = text("g");
        r.owner = text(id);
        r.slots = 7;
        assert_int_equal(put(s, "desk", &r), USHER_OK);
    }
    s->ops->close(s);
    bytes = bytes_of(p->path, &size);
    damaged = malloc(size);
    assert_non_null(damaged);
    for (int round = 0; round < 150; round++) {
        unsigned entries = 0;
        enum usher_status status;
        size_t length = size;

        memcpy(damaged, bytes, size);
        if (round % 10 == 9)
            length = 1 + rnd(size - 1); /* cut off */
        else
            for (uint64_t n = 1 + rnd(40); n > 0; n--)
                damaged[rnd(4) == 0 ? rnd(size) : rnd(size / 4096) * 4096 + rnd(120)] =
                    (char)rnd(256);
        write_file(p->path, damaged, length);
        s = NULL;
        p->message[0] = '\0';
        status = usher__sqlite_records(p->path, USHER__SYNC_OFF, NULL, clock_ms() + SHORT, &s,
                                       p->message);
        if (status == USHER_OK) {
            status = s->ops->scan(s, (enum usher_noun)0, NULL, clock_ms() + SHORT, count_entries,
                                  &entries, scan_message);
            assert_true(status == USHER_OK || status == USHER_UNAVAILABLE);
            failures += status != USHER_OK;
            for (int i = 0; i < 5; i++) {
                char id[16];

                (void)snprintf(id, sizeof id, "number%d", (int)rnd(200));
                status = get(s, "desk", id, &found);
                assert_true(status == USHER_OK || status == USHER_MISSING ||
                            status == USHER_UNAVAILABLE);
                if (status == USHER_UNAVAILABLE)
                    assert_true(s->ops->message(s)[0] != '\0');
                found = new_record(id);
                found.id = text("new");
                found.order = 1000;
                status = put(s, "desk", &found);
                assert_true(status == USHER_OK || status == USHER_UNAVAILABLE ||
                            status == USHER_UNKNOWN);
            }
            s->ops->close(s);
        } else {
            failures++;
            assert_true(status == USHER_UNAVAILABLE || status == USHER_INVALID);
            assert_true(p->message[0] != '\0');
        }
        (void)unlink(p->path);
        (void)snprintf(p->message, sizeof p->message, "%s-wal", p->path);
        (void)unlink(p->message);
        (void)snprintf(p->message, sizeof p->message, "%s-shm", p->path);
        (void)unlink(p->message);
    }
    assert_true(failures > 20);
    free(damaged);
    free(bytes);
}

/* Two cells of an index's only page change places. */
TEST(an_index_out_of_order_is_not_followed)
{
    static const char *const indices[] = { "scope_name", "record_id", "record_ready",
                                           "record_held_by" };
    struct place *p = *state;

    for (size_t i = 0; i < sizeof indices / sizeof *indices; i++) {
        struct usher_record_store *s;
        struct usher_record r = new_record("one");
        char query[96], root[16], *bytes, *page, swap[2];
        unsigned entries = 0;
        size_t size, offset;
        sqlite3 *db;

        (void)snprintf(p->path, sizeof p->path, "%s/%zu.db", p->dir, i);
        s = open_at(p);
        r.slots = 7;
        r.owner = text("ann");
        assert_int_equal(put(s, "desk", &r), USHER_OK);
        r.id = text("two");
        r.order = 2;
        assert_int_equal(put(s, "desk", &r), USHER_OK);
        assert_int_equal(put(s, "easy", &r), USHER_OK);
        s->ops->close(s);
        db = raw(p);
        (void)snprintf(query, sizeof query, "SELECT rootpage FROM sqlite_master WHERE name = '%s'",
                       indices[i]);
        raw_text(db, query, root, sizeof root);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
        bytes = bytes_of(p->path, &size);
        offset = (size_t)(atoi(root) - 1) * 4096;
        assert_true(offset + 4096 <= size);
        page = bytes + offset + 8; /* after the header of a leaf */
        memcpy(swap, page, 2);
        memcpy(page, page + 2, 2);
        memcpy(page + 2, swap, 2);
        write_file(p->path, bytes, size);
        free(bytes);
        s = open_at(p);
        assert_int_equal(s->ops->scan(s, (enum usher_noun)0, NULL, clock_ms() + LONG, count_entries,
                                      &entries, scan_message),
                         USHER_UNAVAILABLE);
        assert_non_null(strstr(scan_message, "corrupt"));
        s->ops->close(s);
    }
}

TEST(impossible_values_are_corrupt)
{
    static const char *const records[] = {
        "UPDATE record SET ord = -1",
        "UPDATE record SET ord = 0",
        "UPDATE record SET ord = 1 << 60",
        "UPDATE record SET rank = -5",
        "UPDATE record SET token = -1",
        "UPDATE record SET until_ms = -1",
        "UPDATE record SET until_ms = 9223372036854775807",
        "UPDATE record SET n3 = -9223372036854775807",
        "UPDATE record SET state = 256",
        "UPDATE record SET slots = 9",
        "UPDATE record SET slots = 3", /* due, and not among the due ones */
        "UPDATE record SET slots = 3, due = ord + 1",
        "UPDATE record SET due = ord",
        "UPDATE record SET owner = CAST(zeroblob(256) AS TEXT)",
        "UPDATE record SET grp = CAST(zeroblob(256) AS TEXT)",
        "UPDATE record SET data = zeroblob(65537)",
        "UPDATE record SET data = zeroblob(2000000)",
        "UPDATE record SET id = ''",
        "UPDATE record SET id = CAST(zeroblob(100000) AS TEXT)",
        "UPDATE record SET ref = -1",
        "UPDATE record SET ref = 9223372036854775807",
    };
    static const char *const scopes[] = {
        "UPDATE scope SET epoch = 0",
        "UPDATE scope SET version = -1",
        "UPDATE scope SET clock_ms = -1",
        "UPDATE scope SET clock_ms = 9223372036854775807",
        "UPDATE scope SET due_ms = -1",
        "UPDATE scope SET c3 = 9223372036854775807",
        "UPDATE scope SET s11 = -9223372036854775807",
    };
    struct place *p = *state;

    for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
        struct usher_record r = new_record("one"), found;
        struct usher_record_store *s;
        struct usher_scope scope;
        struct usher_txn *t;

        (void)snprintf(p->path, sizeof p->path, "%s/r%zu.db", p->dir, i);
        s = open_at(p);
        assert_int_equal(put(s, "desk", &r), USHER_OK);
        raw_sql(p, records[i]);
        t = begin(s, true);
        scope = scope_of(s, t, "desk");
        assert_int_equal(s->ops->walk(t, &scope, PLAIN, 0, NULL, 0, 0, false, &found),
                         USHER_UNAVAILABLE);
        if (strstr(s->ops->message(s), "corrupt") == NULL)
            fail_msg("%s: %s", records[i], s->ops->message(s));
        s->ops->rollback(t);
        s->ops->close(s);
    }
    for (size_t i = 0; i < sizeof scopes / sizeof *scopes; i++) {
        struct usher_record r = new_record("one"), found;
        struct usher_record_store *s;

        (void)snprintf(p->path, sizeof p->path, "%s/s%zu.db", p->dir, i);
        s = open_at(p);
        assert_int_equal(put(s, "desk", &r), USHER_OK);
        raw_sql(p, scopes[i]);
        assert_int_equal(get(s, "desk", "one", &found), USHER_UNAVAILABLE);
        if (strstr(s->ops->message(s), "corrupt") == NULL)
            fail_msg("%s: %s", scopes[i], s->ops->message(s));
        s->ops->close(s);
    }
}

TEST(a_hostile_schema_does_nothing)
{
    struct place *p = *state;
    struct usher_record_store *s = open_at(p);
    struct usher_record r = new_record("one"), found;

    assert_int_equal(put(s, "desk", &r), USHER_OK);
    s->ops->close(s);
    raw_sql(p, "CREATE TRIGGER t AFTER INSERT ON record BEGIN DELETE FROM record; END;"
               "CREATE TRIGGER u AFTER UPDATE ON scope BEGIN DELETE FROM scope; END");
    s = open_at(p);
    r.id = text("two");
    r.order = 2;
    assert_int_equal(put(s, "desk", &r), USHER_OK);
    assert_int_equal(get(s, "desk", "one", &found), USHER_OK);
    s->ops->close(s);
    raw_sql(p, "ALTER TABLE record RENAME TO other;"
               "CREATE VIEW record AS SELECT * FROM other");
    s = open_at(p);
    assert_int_equal(get(s, "desk", "one", &found), USHER_UNAVAILABLE);
    assert_true(s->ops->message(s)[0] != '\0');
    s->ops->close(s);
}

TEST(a_file_that_was_moved_is_not_written)
{
    struct place *p = *state;
    struct usher_record_store *s = open_at(p);
    struct usher_record r = new_record("one");
    struct usher_txn *t = NULL;
    char to[128];

    assert_int_equal(put(s, "desk", &r), USHER_OK);
    (void)snprintf(to, sizeof to, "%s/elsewhere.db", p->dir);
    assert_int_equal(rename(p->path, to), 0);
    for (int write = 0; write < 2; write++) {
        assert_int_equal(
            s->ops->begin(s, (enum usher_noun)0, NULL, write != 0, clock_ms() + LONG, &t),
            USHER_UNAVAILABLE);
        assert_non_null(strstr(s->ops->message(s), "moved"));
    }
    assert_int_equal(
        s->ops->scan(s, (enum usher_noun)0, NULL, clock_ms() + LONG, see, NULL, scan_message),
        USHER_UNAVAILABLE);
    assert_int_equal(rename(to, p->path), 0);
    commit(s, begin(s, true));
    s->ops->close(s);
}

/* The next transaction of @s (with @reads also one that reads) fails, and its message has @words.
 */
static void begins_not(struct usher_record_store *s, bool reads, const char *words)
{
    struct usher_txn *t = NULL;

    for (int write = !reads; write < 2; write++) {
        assert_int_equal(
            s->ops->begin(s, (enum usher_noun)0, NULL, write != 0, clock_ms() + LONG, &t),
            USHER_UNAVAILABLE);
        if (strstr(s->ops->message(s), words) == NULL)
            fail_msg("\"%s\" has no \"%s\"", s->ops->message(s), words);
    }
}

/* At once, and when nothing was made or removed in the directory for so long that its time alone
 * is looked at. */
TEST(a_store_notices_that_its_wal_or_shm_is_gone)
{
    static const char *const parts[] = { "-wal", "-shm" };
    struct place *p = *state;

    for (unsigned i = 0; i < 5; i++) {
        const char *part = parts[i % 2];
        struct usher_record_store *s;
        struct usher_record r = new_record("one");
        char path[128], other[128];
        int64_t until = clock_ms() + LONG;

        (void)snprintf(p->path, sizeof p->path, "%s/part%u.db", p->dir, i);
        (void)snprintf(path, sizeof path, "%s%s", p->path, part);
        (void)snprintf(other, sizeof other, "%s/other", p->dir);
        s = open_at(p);
        assert_int_equal(put(s, "desk", &r), USHER_OK);
        while (i == 4 && !((struct sqlite *)s)->intact.settled) {
            commit(s, begin(s, true));
            assert_true(clock_ms() < until);
        }
        if (i % 4 < 2) {
            assert_int_equal(unlink(path), 0);
        } else {
            write_file(other, "", 0);
            assert_int_equal(rename(other, path), 0);
        }
        begins_not(s, true, part);
        begins_not(s, true, "was moved, deleted or replaced");
        assert_int_equal(
            s->ops->scan(s, (enum usher_noun)0, NULL, clock_ms() + LONG, see, NULL, scan_message),
            USHER_UNAVAILABLE);
        s->ops->close(s);
    }
}

/* As when an operator removes FILE-shm under a server: the next process makes another one. */
TEST(no_number_goes_out_twice_when_the_shm_is_gone)
{
    struct place *p = *state;
    struct usher_engine *e = engine_at(p);
    struct usher_number_answer answer = USHER_NUMBER_ANSWER_INIT;
    char path[128], number[16];
    pid_t pid;

    for (int i = 0; i < 5; i++) {
        (void)snprintf(number, sizeof number, "n%d", i);
        assert_int_equal(ask_number_add(e, "desk", number, NULL), USHER_OK);
        assert_int_equal(ask_number_reg(e, "desk", number), USHER_OK);
    }
    assert_int_equal(usher_number_call(e, "desk", "a", NULL, &answer), USHER_OK);
    (void)snprintf(path, sizeof path, "%s-shm", p->path);
    assert_int_equal(unlink(path), 0);
    pid = fork_child();
    if (pid == 0) {
        struct usher_engine *other = engine_at(p);

        _exit(usher_number_call(other, "desk", "b", NULL, &answer) != USHER_OK);
    }
    wait_for(pid);
    assert_int_equal(usher_number_call(e, "desk", "c", NULL, &answer), USHER_UNAVAILABLE);
    assert_non_null(strstr(answer.message, "pool.db-shm"));
    usher_close(e);
}

TEST(a_store_notices_a_copy_written_over_its_file)
{
    struct place *p = *state;
    struct usher_record_store *s = open_at(p);
    struct usher_record r = new_record("one"), found;
    sqlite3 *db = raw(p);
    struct stat before, after;
    char *copy, name[16];
    size_t size;

    /* checkpoints of others are nothing to notice */
    for (int i = 0; i < 30; i++) {
        (void)snprintf(name, sizeof name, "desk%d", i);
        assert_int_equal(put(s, name, &r), USHER_OK);
        sql(db, i % 3 == 0   ? "PRAGMA wal_checkpoint(PASSIVE)"
                : i % 3 == 1 ? "PRAGMA wal_checkpoint(RESTART)"
                             : "PRAGMA wal_checkpoint(TRUNCATE)");
        assert_int_equal(get(s, name, "one", &found), USHER_OK);
    }
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    copy = bytes_of(p->path, &size);
    assert_int_equal(put(s, "desk", &r), USHER_OK);
    assert_int_equal(stat(p->path, &before), 0);
    do { /* file systems have coarse clocks */
        write_file(p->path, copy, size);
        assert_int_equal(stat(p->path, &after), 0);
    } while (before.st_mtim.tv_sec == after.st_mtim.tv_sec &&
             before.st_mtim.tv_nsec == after.st_mtim.tv_nsec);
    begins_not(s, false, "was written by another program");
    free(copy);
    s->ops->close(s);
}

/* As `.restore` of sqlite3 puts it back. */
TEST(a_store_notices_a_copy_restored_into_its_file)
{
    struct place *p = *state;
    struct usher_engine *e = engine_at(p);
    struct usher_number_answer answer = USHER_NUMBER_ANSWER_INIT;
    char path[128];
    sqlite3 *db, *copy;
    sqlite3_backup *b;

    (void)snprintf(path, sizeof path, "%s/copy.db", p->dir);
    assert_int_equal(ask_number_add(e, "desk", "1", NULL), USHER_OK);
    for (int back = 0; back < 2; back++) {
        db = raw(p);
        assert_int_equal(sqlite3_open(path, &copy), SQLITE_OK);
        b = back ? sqlite3_backup_init(db, "main", copy, "main")
                 : sqlite3_backup_init(copy, "main", db, "main");
        assert_non_null(b);
        assert_int_equal(sqlite3_backup_step(b, -1), SQLITE_DONE);
        assert_int_equal(sqlite3_backup_finish(b), SQLITE_OK);
        assert_int_equal(sqlite3_close(copy), SQLITE_OK);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
        if (!back)
            assert_int_equal(ask_number_reg(e, "desk", "1"), USHER_OK);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(usher_number_call(e, "desk", "a", NULL, &answer), USHER_UNAVAILABLE);
        assert_non_null(strstr(answer.message, "an older copy was put into the file"));
    }
    assert_int_equal(ask_number_add(e, "other", "1", NULL), USHER_UNAVAILABLE);
    usher_close(e);
}

/* A reader keeps the write-ahead log growing.  When it has gone, the log becomes small again,
 * although the store stays open. */
TEST(a_long_reader_leaves_no_large_log)
{
    struct place *p = *state;
    struct usher_engine *e = engine_at(p);
    sqlite3 *reader = raw(p);
    struct stat log;
    char path[128], number[16];
    int n = 0;

    (void)snprintf(path, sizeof path, "%s-wal", p->path);
    sql(reader, "BEGIN; SELECT count(*) FROM sqlite_master");
    do {
        (void)snprintf(number, sizeof number, "n%d", n++);
        assert_int_equal(ask_number_add(e, "desk", number, NULL), USHER_OK);
        assert_int_equal(stat(path, &log), 0);
    } while (log.st_size < 2 * LOG_LIMIT);
    sql(reader, "COMMIT");
    for (int i = 0; i < 2; i++) { /* the first write copies the log into the file */
        (void)snprintf(number, sizeof number, "n%d", n++);
        assert_int_equal(ask_number_add(e, "desk", number, NULL), USHER_OK);
    }
    assert_int_equal(stat(path, &log), 0);
    assert_in_range(log.st_size, 1, LOG_LIMIT);
    assert_int_equal(sqlite3_close(reader), SQLITE_OK);
    usher_close(e);
}

/* ---- a VFS that fails ---- */

enum call { CALL_WRITE, CALL_SYNC, CALLS };

/* The calls that fail: the @at-th of each kind on the log, counted from 1, and if @on all after it.
 */
static struct {
    int at[CALLS], rc[CALLS], count[CALLS];
    bool on;
    bool no_shm; /* the VFS cannot share memory */
} faults;

struct faulty_file {
    sqlite3_file base;
    bool log;
    sqlite3_file *real; /* right after this struct */
};

static sqlite3_file *real_of(sqlite3_file *f)
{
    return ((struct faulty_file *)f)->real;
}

static int fault(sqlite3_file *f, enum call call)
{
    if (!((struct faulty_file *)f)->log || faults.at[call] == 0)
        return SQLITE_OK;
    faults.count[call]++;
    if (faults.count[call] == faults.at[call] ||
        (faults.on && faults.count[call] > faults.at[call]))
        return faults.rc[call];
    return SQLITE_OK;
}

#define PASS(name, params, args)                   \
    static int faulty_##name params                \
    {                                              \
        return real_of(f)->pMethods->x##name args; \
    }
PASS(Close, (sqlite3_file * f), (real_of(f)))
PASS(Read, (sqlite3_file * f, void *b, int n, sqlite3_int64 o), (real_of(f), b, n, o))
PASS(Truncate, (sqlite3_file * f, sqlite3_int64 n), (real_of(f), n))
PASS(FileSize, (sqlite3_file * f, sqlite3_int64 *n), (real_of(f), n))
PASS(Lock, (sqlite3_file * f, int l), (real_of(f), l))
PASS(Unlock, (sqlite3_file * f, int l), (real_of(f), l))
PASS(CheckReservedLock, (sqlite3_file * f, int *r), (real_of(f), r))
PASS(FileControl, (sqlite3_file * f, int op, void *a), (real_of(f), op, a))
PASS(SectorSize, (sqlite3_file * f), (real_of(f)))
PASS(DeviceCharacteristics, (sqlite3_file * f), (real_of(f)))
PASS(ShmMap, (sqlite3_file * f, int p, int n, int e, void volatile **v), (real_of(f), p, n, e, v))
PASS(ShmLock, (sqlite3_file * f, int o, int n, int l), (real_of(f), o, n, l))
PASS(ShmUnmap, (sqlite3_file * f, int d), (real_of(f), d))

static void faulty_ShmBarrier(sqlite3_file *f)
{
    real_of(f)->pMethods->xShmBarrier(real_of(f));
}

static int faulty_Write(sqlite3_file *f, const void *b, int n, sqlite3_int64 o)
{
    int rc = fault(f, CALL_WRITE);

    if (rc != SQLITE_OK) /* half of it gets there */
        (void)real_of(f)->pMethods->xWrite(real_of(f), b, n / 2, o);
    return rc != SQLITE_OK ? rc : real_of(f)->pMethods->xWrite(real_of(f), b, n, o);
}

static int faulty_Sync(sqlite3_file *f, int flags)
{
    int rc = fault(f, CALL_SYNC);

    return rc != SQLITE_OK ? rc : real_of(f)->pMethods->xSync(real_of(f), flags);
}

static const sqlite3_io_methods faulty_methods = {
    .iVersion = 2,
    .xClose = faulty_Close,
    .xRead = faulty_Read,
    .xWrite = faulty_Write,
    .xTruncate = faulty_Truncate,
    .xSync = faulty_Sync,
    .xFileSize = faulty_FileSize,
    .xLock = faulty_Lock,
    .xUnlock = faulty_Unlock,
    .xCheckReservedLock = faulty_CheckReservedLock,
    .xFileControl = faulty_FileControl,
    .xSectorSize = faulty_SectorSize,
    .xDeviceCharacteristics = faulty_DeviceCharacteristics,
    .xShmMap = faulty_ShmMap,
    .xShmLock = faulty_ShmLock,
    .xShmBarrier = faulty_ShmBarrier,
    .xShmUnmap = faulty_ShmUnmap,
};

static sqlite3_vfs *real_vfs, faulty_vfs;
static sqlite3_io_methods no_shm_methods;

static int faulty_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *out)
{
    struct faulty_file *ff = (struct faulty_file *)f;
    int rc;

    (void)vfs;
    ff->real = (sqlite3_file *)(void *)(ff + 1);
    ff->log = (flags & SQLITE_OPEN_WAL) != 0;
    rc = real_vfs->xOpen(real_vfs, name, ff->real, flags, out);
    ff->base.pMethods = ff->real->pMethods == NULL ? NULL
                        : faults.no_shm            ? &no_shm_methods
                                                   : &faulty_methods;
    return rc;
}

static int faulty_set_up(void **state)
{
    memset(&faults, 0, sizeof faults);
    no_shm_methods = faulty_methods;
    no_shm_methods.iVersion = 1;
    real_vfs = sqlite3_vfs_find(NULL);
    faulty_vfs = *real_vfs;
    faulty_vfs.zName = "faulty";
    faulty_vfs.szOsFile = (int)sizeof(struct faulty_file) + real_vfs->szOsFile;
    faulty_vfs.xOpen = faulty_open;
    return sqlite3_vfs_register(&faulty_vfs, 1) == SQLITE_OK ? set_up(state) : -1;
}

static int faulty_tear_down(void **state)
{
    (void)sqlite3_vfs_unregister(&faulty_vfs);
    (void)sqlite3_vfs_register(real_vfs, 1);
    return tear_down(state);
}

static void fail_at(enum call call, int at, int rc, bool on)
{
    memset(&faults, 0, sizeof faults);
    faults.at[call] = at;
    faults.rc[call] = rc;
    faults.on = on;
}

static struct usher_record_store *open_full(struct place *p)
{
    struct usher_record_store *s = NULL;

    if (usher__sqlite_records(p->path, USHER__SYNC_FULL, NULL, clock_ms() + LONG, &s, p->message) !=
        USHER_OK)
        fail_msg("open: %s", p->message);
    return s;
}

TEST_WITH(file_is_refused_where_memory_cannot_be_shared, faulty_set_up, faulty_tear_down)
{
    struct place *p = *state;

    faults.no_shm = true;
    refuses(p, USHER_UNAVAILABLE, "cannot share memory");
}

/* Return whether the file has @id, as if all processes were killed now. */
static bool killed_now_has(struct place *p, const char *id)
{
    static const char *const parts[] = { "", "-wal" };
    struct place image = *p;
    struct usher_record_store *s;
    struct usher_record found;
    enum usher_status status;
    char from[128], to[128];

    (void)snprintf(image.path, sizeof image.path, "%s/image.db", p->dir);
    for (int i = 0; i < 2; i++) {
        char *bytes;
        size_t size;

        (void)snprintf(from, sizeof from, "%s%s", p->path, parts[i]);
        (void)snprintf(to, sizeof to, "%s%s", image.path, parts[i]);
        bytes = bytes_of(from, &size);
        write_file(to, bytes, size);
        free(bytes);
    }
    s = open_at(&image);
    status = get(s, "desk", id, &found);
    assert_true(status == USHER_OK || status == USHER_MISSING);
    s->ops->close(s);
    return status == USHER_OK;
}

/* Each write and each sync of a transaction fails in each way: what is said to have been
 * left out is not there, also after all processes were killed, and the next one succeeds. */
TEST_WITH(failed_commit_reports_its_outcome, faulty_set_up, faulty_tear_down)
{
    static const struct {
        enum call call;
        int rc;
        bool known; /* all failures are sure to have left it out */
        const char *text;
    } cases[] = {
        { CALL_WRITE, SQLITE_FULL, true, "no space" },
        { CALL_WRITE, SQLITE_IOERR_WRITE, false, "disk I/O error" },
        { CALL_SYNC, SQLITE_IOERR_FSYNC, false, "disk I/O error" },
    };
    struct place *p = *state;
    struct usher_record_store *s = open_full(p);
    struct usher_record one = new_record("one"), found;
    unsigned unknown = 0, n = 0;

    assert_int_equal(put(s, "desk", &one), USHER_OK);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        for (int at = 1;; at++) {
            struct usher_record r;
            enum usher_status status;
            char id[16];
            bool fired;

            (void)snprintf(id, sizeof id, "n%zu-%d", c, at);
            r = new_record(id);
            r.order = ++n + 1;
            fail_at(cases[c].call, at, cases[c].rc, rnd(2) != 0);
            status = put(s, "desk", &r);
            fired = faults.count[cases[c].call] >= at;
            fail_at(cases[c].call, 0, 0, false);
            if (!fired) {
                assert_int_equal(status, USHER_OK);
                assert_true(killed_now_has(p, id));
                assert_true(at > 1);
                break;
            }
            if (cases[c].known)
                assert_int_equal(status, USHER_UNAVAILABLE);
            assert_true(status == USHER_UNAVAILABLE || status == USHER_UNKNOWN);
            assert_non_null(strstr(s->ops->message(s), cases[c].text));
            if (status == USHER_UNAVAILABLE)
                assert_false(killed_now_has(p, id));
            unknown += status == USHER_UNKNOWN;
            assert_int_equal(get(s, "desk", id, &found), USHER_MISSING);
            r.id = text("after");
            assert_int_equal(put(s, "desk", &r), USHER_OK);
            assert_false(killed_now_has(p, id));
            found = r;
            {
                struct usher_txn *t = begin(s, true);
                struct usher_scope scope = scope_of(s, t, "desk");
                struct usher_write w = { .erase = true };

                assert_int_equal(s->ops->find(t, &scope, PLAIN, &r.id, &w.record), USHER_OK);
                assert_int_equal(s->ops->write(t, &scope, &w, 1), USHER_OK);
                commit(s, t);
            }
        }
    }
    assert_true(unknown > 0);
    s->ops->close(s);
}

/* More than SQLite's cache holds; the first failure. */
static enum usher_status fill(struct usher_record_store *s, struct usher_txn *t, const char *data)
{
    struct usher_scope scope = scope_of(s, t, "desk");
    enum usher_status status = USHER_OK;

    for (int i = 0; i < 320 && status == USHER_OK; i++) {
        char id[16];
        struct usher_write w = { .erase = false };

        (void)snprintf(id, sizeof id, "n%d", i);
        w.record = new_record(id);
        w.record.order = (uint64_t)i + 2;
        w.record.data.data = data;
        w.record.data.size = USHER_VALUE_MAX;
        status = s->ops->write(t, &scope, &w, 1);
    }
    return status;
}

TEST_WITH(a_large_transaction_fails_as_a_whole, faulty_set_up, faulty_tear_down)
{
    struct place *p = *state;
    struct usher_record_store *s = open_full(p);
    char *data = calloc(1, USHER_VALUE_MAX);
    struct usher_record r = new_record("one"), found;
    struct usher_txn *t;
    int early;

    assert_non_null(data);
    assert_int_equal(put(s, "desk", &r), USHER_OK);
    fail_at(CALL_WRITE, INT_MAX, SQLITE_FULL, true);
    t = begin(s, true);
    assert_int_equal(fill(s, t, data), USHER_OK);
    early = faults.count[CALL_WRITE];
    assert_true(early > 0); /* before the commit */
    s->ops->rollback(t);
    for (int round = 0; round < 4; round++) {
        enum usher_status status;

        t = begin(s, true);
        fail_at(CALL_WRITE,
                round == 0   ? 1
                : round == 1 ? early / 2
                : round == 2 ? early
                             : early + 1,
                SQLITE_FULL, true);
        status = fill(s, t, data);
        assert_int_equal(status, round < 3 ? USHER_UNAVAILABLE : USHER_OK);
        if (status == USHER_OK)
            status = s->ops->commit(t);
        else
            s->ops->rollback(t);
        fail_at(CALL_WRITE, 0, 0, false);
        assert_int_equal(status, USHER_UNAVAILABLE);
        assert_non_null(strstr(s->ops->message(s), "no space"));
        assert_int_equal(get(s, "desk", "n1", &found), USHER_MISSING);
        assert_int_equal(get(s, "desk", "one", &found), USHER_OK);
        assert_false(killed_now_has(p, "n1"));
    }
    t = begin(s, true);
    assert_int_equal(fill(s, t, data), USHER_OK);
    commit(s, t);
    assert_int_equal(get(s, "desk", "n319", &found), USHER_OK);
    free(data);
    s->ops->close(s);
}

/* ---- opening by URL ---- */

static enum usher_status open_url(const char *rest, const char *sync, struct place *p,
                                  struct usher_store **ret)
{
    struct usher_url_option option = { "sync", sync, false };
    struct usher_url url = { "sqlite", rest, &option, sync != NULL ? 1 : 0 };
    enum usher_status status;

    *ret = NULL;
    p->message[0] = '\0';
    status = usher__sqlite_open(NULL, &url, NULL, clock_ms() + SHORT, ret, p->message);
    if (status == USHER_OK && sync != NULL)
        assert_true(option.used);
    assert_true((status == USHER_OK) == (*ret != NULL));
    assert_true((status == USHER_OK) == (p->message[0] == '\0'));
    return status;
}

/* Commands of which the store is given the first; the others come while it is at work, and then
 * a call of the file system fails once. */
struct latecomers {
    struct usher_task tasks[3];
    struct usher_operation commands[3];
    struct usher_result replies[3];
    enum call call;
    int rc, asked;
};

static size_t come_late(void *payload)
{
    struct latecomers *l = payload;

    if (l->asked == 0)
        fail_at(l->call, 1, l->rc, false);
    return l->asked++ == 0 ? 2 : 0;
}

TEST_WITH(each_caller_of_a_failed_batch_gets_its_status, faulty_set_up, faulty_tear_down)
{
    /* what the disk did not confirm may have happened; what found no space did not, and each is
     * tried again alone */
    static const struct {
        const char *pool;
        enum call call;
        int rc;
        enum usher_status status;
    } cases[] = {
        { "unknown", CALL_SYNC, SQLITE_IOERR_FSYNC, USHER_UNKNOWN },
        { "again", CALL_WRITE, SQLITE_FULL, USHER_OK },
    };
    static const char *const ids[] = { "n1", "n2", "n3" };
    struct place *p = *state;

    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct usher_record_store *records = open_full(p);
        struct latecomers l;
        struct usher_context context;
        struct usher_record found;
        struct usher_store *s;

        assert_int_equal(usher_local_store(records, NULL, &s), USHER_OK);
        memset(&l, 0, sizeof l);
        memset(&context, 0, sizeof context);
        l.call = cases[k].call;
        l.rc = cases[k].rc;
        context.deadline_ms = clock_ms() + LONG;
        context.more = come_late;
        context.payload = &l;
        for (int i = 0; i < 3; i++) {
            l.commands[i].verb = USHER_NUMBER_ADD;
            l.commands[i].scope = text(cases[k].pool);
            l.commands[i].arg.number.number = text(ids[i]);
            l.tasks[i].command = &l.commands[i];
            l.tasks[i].reply = &l.replies[i];
            usher__result_init(&l.replies[i], USHER_NUMBER, usher__allocator(NULL));
        }
        s->ops->execute(s, l.tasks, 1, &context);
        fail_at(CALL_WRITE, 0, 0, false);
        assert_int_equal(l.asked, 2);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(l.replies[i].status, cases[k].status);
            if (cases[k].status == USHER_OK) {
                assert_int_equal(l.replies[i].version, i + 1);
                assert_int_equal(get_of(records, USHER_NUMBER, cases[k].pool, ids[i], &found),
                                 USHER_OK);
            }
        }
        s->ops->close(s);
    }
}

TEST(a_url_names_the_file_and_how_to_sync)
{
    static const char *const syncs[] = { "full", "normal", "off", NULL };
    struct place *p = *state;
    struct usher_store *s;
    char rest[128];

    for (int i = 0; i < 4; i++) {
        (void)snprintf(rest, sizeof rest, "%s/with%%20space%d.db", p->dir, i);
        assert_int_equal(open_url(rest, syncs[i], p, &s), USHER_OK);
        assert_string_equal(s->ops->name, "sqlite");
        assert_int_equal(s->ops->caps, USHER_CAP_DURABLE | USHER_CAP_SHARED | USHER_CAP_MORE);
        s->ops->close(s);
        (void)snprintf(rest, sizeof rest, "%s/with space%d.db", p->dir, i);
        assert_int_equal(access(rest, F_OK), 0);
    }
    (void)snprintf(rest, sizeof rest, "%s/none/pool.db", p->dir);
    assert_int_equal(open_url(rest, NULL, p, &s), USHER_UNAVAILABLE);
    assert_non_null(strstr(p->message, rest));
    assert_non_null(strstr(p->message, "no such directory"));
    assert_int_equal(open_url(p->path, "twice", p, &s), USHER_INVALID);
    assert_non_null(strstr(p->message, "sync"));
    for (int known = 0; known < 2; known++) {
        struct usher_url_option option = { "timeout", "1", known != 0 }; /* used by the engine */
        struct usher_url url = { "sqlite", p->path, &option, 1 };

        assert_int_equal(usher__sqlite_open(NULL, &url, NULL, clock_ms() + LONG, &s, p->message),
                         known != 0 ? USHER_OK : USHER_INVALID);
        assert_int_equal(access(p->path, F_OK), known != 0 ? 0 : -1);
        if (known != 0)
            s->ops->close(s);
    }
    assert_int_equal(open_url("", NULL, p, &s), USHER_INVALID);
    assert_int_equal(open_url("a%zz", NULL, p, &s), USHER_INVALID);
    assert_int_equal(open_url("a%00b", NULL, p, &s), USHER_INVALID);
}

/* In a child, because the working directory belongs to the process. */
TEST(special_names_of_sqlite_are_plain_files)
{
    static const char *const odd[] = { ":memory:", "file:x", "file:y%3Fmode=memory", "-" };
    static const char *const files[] = { ":memory:", "file:x", "file:y?mode=memory", "-" };
    struct place *p = *state;
    pid_t pid = fork_child();

    if (pid == 0) {
        if (chdir(p->dir) != 0)
            _exit(1);
        for (int i = 0; i < 4; i++) {
            struct usher_store *s;

            if (open_url(odd[i], NULL, p, &s) != USHER_OK)
                _exit(2);
            if (chdir("/") != 0) /* scan() opens the file again */
                _exit(1);
            if (s->ops->scan(s, (enum usher_noun)0, NULL, clock_ms() + LONG, see, NULL,
                             p->message) != USHER_OK)
                _exit(3);
            s->ops->close(s);
            if (chdir(p->dir) != 0 || access(files[i], F_OK) != 0)
                _exit(4);
        }
        _exit(0);
    }
    wait_for(pid);
}

/* ---- for people ---- */

TEST(views_use_the_words_of_the_library)
{
    struct place *p = *state;
    struct usher_record_store *s = open_at(p);
    sqlite3 *db;
    char got[128], want[160];

    for (int i = 1; i <= 4; i++) {
        struct usher_record r;
        char id[16];

        (void)snprintf(id, sizeof id, "n%d", i);
        r = new_record(id);
        r.state = (uint8_t)i;
        r.order = (uint64_t)i;
        r.token = (uint64_t)i * 10;
        r.until_ms = i == 4 ? 1700000000123 : 0;
        r.group = text(i == 2 ? "east" : "");
        r.owner = text(i == 4 ? "ann" : "");
        assert_int_equal(put(s, "desk", &r), USHER_OK);
    }
    db = raw(p);
    sql(db, "UPDATE scope SET noun = 1");
    for (int i = 1; i <= 4; i++) {
        char query[200];

        (void)snprintf(query, sizeof query,
                       "SELECT pool || '|' || number || '|' || state || '|' || "
                       "ifnull(\"group\", '-') || '|' || ifnull(owner, '-') || '|' || token "
                       "|| '|' || ifnull(until, '-') FROM number_number WHERE number = 'n%d'",
                       i);
        raw_text(db, query, got, sizeof got);
        (void)snprintf(want, sizeof want, "desk|n%d|%s|%s|%s|%d|%s", i,
                       usher_number_state_word((enum usher_number_state)i), i == 2 ? "east" : "-",
                       i == 4 ? "ann" : "-", i * 10, i == 4 ? "2023-11-14 22:13:20.123" : "-");
        assert_string_equal(got, want);
    }
    for (int i = 1; i <= 3; i++) {
        char update[80];

        (void)snprintf(update, sizeof update, "UPDATE scope SET s0 = %d", i);
        sql(db, update);
        raw_text(db, "SELECT \"order\" FROM pool WHERE pool = 'desk'", got, sizeof got);
        assert_string_equal(got, usher_number_order_word((enum usher_number_order)i));
    }
    raw_text(db, "SELECT epoch FROM pool", got, sizeof got);
    assert_string_equal(got, "fedcba9876543210");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    s->ops->close(s);
}

/* src/core/NOUN_records.def has their columns. */
TEST(the_views_name_the_numbers_of_records)
{
    static const struct {
        int noun;
        uint8_t kind;
        const char *query, *want;
    } rows[] = {
        { 1, 1, "calls || ' ' || calls_day || ' ' || used FROM number_number",
          "101 1970-04-13 1970-01-01 00:00:00.103" },
        { 1, 2, "total || ' ' || busy_up || ' ' || resting FROM number_group", "101 102 103" },
        { 1, 3, "pool || ' ' || peer || ' ' || number FROM number_sticky", "desk one bob" },
        { 1, 4, "noun || ' ' || name || ' ' || request || ' ' || answer FROM request",
          "number desk one data" },
        { 1, 7, "noun || ' ' || version || ' ' || before || ' ' || notice FROM change",
          "number 0 101 data" },
        { 2, 1, "queue || ' ' || agent || ' ' || state || ' ' || capacity FROM queue_agent",
          "desk one offered 101" },
        { 2, 3, "user || ' ' || agent || ' ' || priority || ' ' || room FROM queue_user",
          "one bob 102 106" },
        { 3, 1, "member || ' ' || state || ' ' || roles FROM room_member", "one away 102" },
        { 3, 7, "room || ' ' || field || ' ' || value FROM room_all_value", "desk one data" },
        { 4, 3, "rule || ' ' || number || ' ' || period || ' ' || owner FROM serial_hold",
          "desk 101000000102 103 bob" },
        { 4, 6, "state || ' ' || first || ' ' || last FROM serial_lost",
          "returned 101000000102 105000000106" },
        { 5, 7, "noun || ' ' || before FROM change", "id 101" },
        { 6, 1, "room || ' ' || state || ' ' || worker FROM rooms_entry", "one open bob" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct place *p = *state;
        struct usher_record_store *s = open_at(p);
        struct usher_record r = new_record("one");
        sqlite3 *db;
        char text_of[200], got[128];

        r.kind = rows[i].kind;
        r.owner = text("bob");
        r.data = text("data");
        for (int k = 0; k < 8; k++)
            r.n[k] = 101 + k;
        assert_int_equal(put(s, "desk", &r), USHER_OK);
        db = raw(p);
        (void)snprintf(text_of, sizeof text_of, "UPDATE scope SET noun = %d", rows[i].noun);
        sql(db, text_of);
        (void)snprintf(text_of, sizeof text_of, "SELECT %s", rows[i].query);
        raw_text(db, text_of, got, sizeof got);
        assert_string_equal(got, rows[i].want);
        sql(db, "DELETE FROM record; DELETE FROM scope");
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
        s->ops->close(s);
    }
}

TEST(every_view_can_be_read)
{
    struct place *p = *state;
    struct usher_record_store *s = open_at(p);
    sqlite3 *db = raw(p);
    char name[80], query[160], got[32];
    int n = 0;

    for (;; n++) {
        (void)snprintf(query, sizeof query,
                       "SELECT coalesce((SELECT name FROM sqlite_master WHERE type = 'view' "
                       "LIMIT 1 OFFSET %d), '')",
                       n);
        raw_text(db, query, name, sizeof name);
        if (name[0] == '\0')
            break;
        (void)snprintf(query, sizeof query, "SELECT count(*) FROM (SELECT * FROM %s)", name);
        raw_text(db, query, got, sizeof got);
        assert_string_equal(got, "0");
    }
    assert_true(n > 8);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    s->ops->close(s);
}

/* ---- the host ---- */

TEST(each_failing_allocation_is_survived)
{
    struct place *p = *state;
    struct memory m = { 0 };
    struct usher_allocator alloc = { memory_resize, &m };

    for (size_t at = 1;; at++) {
        struct usher_record_store *s = NULL;
        struct usher_record r = new_record("one"), found;
        enum usher_status status;

        m = (struct memory){ 0, 0, at };
        r.order = at;
        status = usher__sqlite_records(p->path, USHER__SYNC_OFF, &alloc, clock_ms() + LONG, &s,
                                       p->message);
        if (status == USHER_OK) {
            status = get(s, "desk", "one", &found);
            if (status == USHER_MISSING)
                status = put(s, "desk", &r);
            if (status == USHER_OK)
                status = get(s, "desk", "one", &found);
            if (status == USHER_NOMEM)
                assert_string_equal(s->ops->message(s), "out of memory");
            m.fail_at = 0;
            if (status != USHER_OK)
                assert_int_equal(get(s, "desk", "one", &found) == USHER_MISSING, at == 1);
            s->ops->close(s);
        }
        assert_int_equal(m.bytes, 0);
        if (m.calls < at && status == USHER_OK)
            break;
        assert_int_equal(status, USHER_NOMEM);
        assert_true(at < 100);
    }
}

/* No assertions: they cannot be made on another thread. */
static void *on_a_small_stack(void *payload)
{
    struct place *p = payload;
    struct usher_record_store *s = NULL;
    struct usher_record r = new_record("one"), found;
    unsigned entries = 0;
    bool done;

    if (usher__sqlite_records(p->path, USHER__SYNC_FULL, NULL, clock_ms() + LONG, &s, p->message) !=
        USHER_OK)
        return NULL;
    done = put(s, "desk", &r) == USHER_OK && get(s, "desk", "one", &found) == USHER_OK &&
           s->ops->scan(s, (enum usher_noun)0, NULL, clock_ms() + LONG, count_entries, &entries,
                        scan_message) == USHER_OK &&
           entries == 1;
    s->ops->close(s);
    return done ? p : NULL;
}

TEST(stack_of_64_kib_is_enough)
{
    struct place *p = *state;
    pthread_attr_t attr;
    pthread_t thread;
    void *done = NULL;

    assert_int_equal(pthread_attr_init(&attr), 0);
    assert_int_equal(pthread_attr_setstacksize(&attr, 65536), 0);
    assert_int_equal(pthread_create(&thread, &attr, on_a_small_stack, p), 0);
    assert_int_equal(pthread_join(thread, &done), 0);
    assert_ptr_equal(done, p);
    (void)pthread_attr_destroy(&attr);
}

TEST_PROGRAM(seed_set, NULL);
