/* SPDX-License-Identifier: MIT */
/*
 * The hints that a store which locks one scope at a time gets of a batch before its commands, and
 * the transactions that a store gets by its capabilities.
 *
 * The record store here has one scope without records, and records the hints.
 */
#include "lib/test.h"

#include <usher/store/store.h>

#define COMMANDS 20u
#define NAME 24

struct hint {
    uint8_t kind;
    size_t found; /* how often find() had been asked by then */
    char id[NAME];
};

struct fake {
    struct usher_record_store base;
    struct usher_record_store_ops ops;
    size_t n_expected, n_found, n_begun, n_named; /* transactions; those of one scope */
    struct hint expected[COMMANDS], found[COMMANDS];
};

static struct fake fake;

static void record_hint(struct hint *list, size_t *n, uint8_t kind, const struct usher_text *id)
{
    struct hint *h = &list[(*n)++];

    assert_true(*n <= COMMANDS && id->size < NAME);
    h->kind = kind;
    h->found = fake.n_found;
    memcpy(h->id, id->data, id->size);
    h->id[id->size] = '\0';
}

static enum usher_status begin(struct usher_record_store *s, enum usher_noun noun,
                               const struct usher_text *scope, bool write, int64_t deadline_ms,
                               struct usher_txn **ret_txn)
{
    (void)noun, (void)write, (void)deadline_ms;
    fake.n_begun++;
    fake.n_named += scope != NULL;
    *ret_txn = (struct usher_txn *)(void *)s;
    return USHER_OK;
}

static enum usher_status commit(struct usher_txn *txn)
{
    (void)txn;
    return USHER_OK;
}

static void rollback(struct usher_txn *txn)
{
    (void)txn;
}

static enum usher_status scope_show(struct usher_txn *txn, enum usher_noun noun,
                                    const struct usher_text *name, struct usher_scope *ret_scope)
{
    struct usher_text kept = *name;

    (void)txn;
    memset(ret_scope, 0, sizeof *ret_scope);
    ret_scope->noun = (uint8_t)noun;
    ret_scope->name = kept;
    ret_scope->epoch = 1;
    ret_scope->version = 1;
    ret_scope->due_ms = INT64_MAX;
    ret_scope->ref = &fake;
    for (unsigned i = 0; i < sizeof ret_scope->settings / sizeof *ret_scope->settings; i++)
        ret_scope->settings[i] = 1; /* what every setting may be */
    return USHER_OK;
}

static enum usher_status find(struct usher_txn *txn, const struct usher_scope *scope, uint8_t kind,
                              const struct usher_text *id, struct usher_record *ret_record)
{
    (void)txn, (void)scope, (void)ret_record;
    record_hint(fake.found, &fake.n_found, kind, id);
    return USHER_MISSING;
}

static void expect(struct usher_txn *txn, const struct usher_scope *scope, uint8_t kind,
                   const struct usher_text *id)
{
    (void)txn;
    assert_ptr_equal(scope->ref, &fake);
    record_hint(fake.expected, &fake.n_expected, kind, id);
}

static enum usher_status walk(struct usher_txn *txn, const struct usher_scope *scope, uint8_t kind,
                              uint8_t slot, const struct usher_text *by, uint64_t after_hi,
                              uint64_t after_order, bool back, struct usher_record *ret_record)
{
    (void)txn, (void)scope, (void)kind, (void)slot, (void)by, (void)after_hi, (void)after_order;
    (void)back, (void)ret_record;
    return USHER_MISSING;
}

static enum usher_status rank(struct usher_txn *txn, const struct usher_scope *scope, uint8_t kind,
                              uint8_t slot, const struct usher_text *by, uint64_t hi,
                              uint64_t order, uint64_t *ret)
{
    (void)txn, (void)scope, (void)kind, (void)slot, (void)by, (void)hi, (void)order;
    *ret = 0;
    return USHER_OK;
}

static enum usher_status next(struct usher_txn *txn, const struct usher_scope *scope, uint8_t kind,
                              const struct usher_text *after, struct usher_record *ret_record)
{
    (void)txn, (void)scope, (void)kind, (void)after, (void)ret_record;
    return USHER_MISSING;
}

static enum usher_status write_change(struct usher_txn *txn, struct usher_scope *scope,
                                      const struct usher_write *writes, size_t n)
{
    (void)txn, (void)scope, (void)writes, (void)n;
    return USHER_NOMEM; /* nothing here writes */
}

static enum usher_status scan(struct usher_record_store *s, enum usher_noun noun,
                              const struct usher_text *scope, int64_t deadline_ms,
                              usher_scan_fn *fn, void *payload, char message[192])
{
    (void)s, (void)noun, (void)scope, (void)deadline_ms, (void)fn, (void)payload, (void)message;
    return USHER_OK;
}

static enum usher_status list(struct usher_record_store *s, unsigned nouns,
                              const struct usher_scope *after, int64_t deadline_ms,
                              usher_scan_fn *fn, void *payload, char message[192])
{
    (void)s, (void)nouns, (void)after, (void)deadline_ms, (void)fn, (void)payload, (void)message;
    return USHER_OK;
}

static const char *message(struct usher_record_store *s)
{
    (void)s;
    return "";
}

static void close_fake(struct usher_record_store *s)
{
    (void)s;
}

static const struct usher_record_store_ops fake_ops = {
    .size = sizeof(struct usher_record_store_ops),
    .name = "fake",
    .caps = USHER_CAP_THREADS | USHER_CAP_AT_ONCE | USHER_CAP_INSTANT,
    .begin = begin,
    .commit = commit,
    .rollback = rollback,
    .scope = scope_show,
    .find = find,
    .walk = walk,
    .rank = rank,
    .next = next,
    .write = write_change,
    .scan = scan,
    .list = list,
    .message = message,
    .close = close_fake,
    .expect = expect,
};

static struct usher_engine *fake_open(bool expects)
{
    struct usher_store *store;
    struct usher_engine *e;

    memset(&fake, 0, sizeof fake);
    fake.ops = fake_ops;
    if (!expects)
        fake.ops.expect = NULL;
    fake.base.ops = &fake.ops;
    assert_int_equal(usher_local_store(&fake.base, NULL, &store), USHER_OK);
    assert_int_equal(usher_open_store(store, NULL, &e), USHER_OK);
    return e;
}

/* COMMANDS of @verb, each about a name of its own, at once; all find nothing. */
static void ask(struct usher_engine *e, enum usher_verb verb, char names[COMMANDS][NAME])
{
    static struct usher_operation commands[COMMANDS];
    static struct usher_result replies[COMMANDS];

    memset(commands, 0, sizeof commands);
    for (unsigned i = 0; i < COMMANDS; i++) {
        struct usher_operation *c = &commands[i];

        (void)snprintf(names[i], NAME, "name-%u", i);
        c->verb = verb;
        c->scope = (struct usher_text){ "desk", 4 };
        if (verb == USHER_NUMBER_SHOW)
            c->arg.number.number = (struct usher_text){ names[i], strlen(names[i]) };
        else
            c->arg.queue.user = (struct usher_text){ names[i], strlen(names[i]) };
    }
    assert_int_equal(usher_operate(e, commands, replies, COMMANDS), USHER_OK);
    for (unsigned i = 0; i < COMMANDS; i++) {
        assert_int_equal(replies[i].status, USHER_MISSING);
        assert_string_equal(fake.found[i].id, names[i]);
    }
    assert_int_equal(fake.n_found, COMMANDS);
}

TEST(store_gets_hints_of_the_records_of_a_batch)
{
    static const enum usher_verb verbs[] = { USHER_NUMBER_SHOW, USHER_QUEUE_WHERE };

    for (unsigned v = 0; v < sizeof verbs / sizeof *verbs; v++) {
        struct usher_engine *e = fake_open(true);
        char names[COMMANDS][NAME];
        size_t first;

        ask(e, verbs[v], names);
        assert_in_range(fake.n_expected, COMMANDS / 2, COMMANDS - 1);
        first = COMMANDS - fake.n_expected; /* those at the beginning are on at once */
        for (size_t i = 0; i < fake.n_expected; i++) {
            assert_string_equal(fake.expected[i].id, names[first + i]);
            assert_int_equal(fake.expected[i].kind, fake.found[first + i].kind);
            /* some commands before it is asked, and only once it has been asked at all */
            assert_in_range(fake.expected[i].found, 1, first + i - 1);
        }
        usher_close(e);
    }
}

TEST(store_without_expect_gets_no_hints)
{
    struct usher_engine *e = fake_open(false);
    char names[COMMANDS][NAME];

    ask(e, USHER_QUEUE_WHERE, names);
    assert_int_equal(fake.n_expected, 0);
    usher_close(e);
}

/* Several threads, or nothing taken back: each is said by itself. */
TEST(batch_begins_one_transaction_for_any_capabilities)
{
    static const struct {
        unsigned caps;
        size_t begun, named;
    } stores[] = {
        { 0, 1, 0 },
        { USHER_CAP_THREADS, 1, 0 },
        { USHER_CAP_AT_ONCE, 1, 1 },
        { USHER_CAP_THREADS | USHER_CAP_AT_ONCE, 1, 1 },
    };

    for (size_t i = 0; i < sizeof stores / sizeof *stores; i++) {
        struct usher_store *store;
        struct usher_engine *e;
        char names[COMMANDS][NAME];

        memset(&fake, 0, sizeof fake);
        fake.ops = fake_ops;
        fake.ops.expect = NULL;
        fake.ops.caps = stores[i].caps;
        fake.base.ops = &fake.ops;
        assert_int_equal(usher_local_store(&fake.base, NULL, &store), USHER_OK);
        assert_int_equal(store->ops->caps & USHER_CAP_THREADS, stores[i].caps & USHER_CAP_THREADS);
        assert_int_equal((store->ops->caps & USHER_CAP_MORE) != 0, stores[i].caps == 0);
        assert_int_equal(usher_open_store(store, NULL, &e), USHER_OK);
        ask(e, USHER_NUMBER_SHOW, names);
        assert_int_equal(fake.n_begun, stores[i].begun);
        assert_int_equal(fake.n_named, stores[i].named);
        usher_close(e);
    }
}
