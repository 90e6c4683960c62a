/* SPDX-License-Identifier: MIT */
/*
 * The cost of each verb, counted and not timed: the records that a command reads from its store
 * and writes, in worlds with 10 and with 1,000 of everything.  A verb whose count grows by more
 * than its bound walks over what it has no use for.
 *
 * The store is `memory:`; `usher_local_store()` is wrapped by the linker, so that each operation of
 * the record store is counted.
 */
#include "lib/test.h"

#include <usher/store/store.h>
#include <usher/usher.h>

#include "core/verbs.h"
#include "lib/command_line.h"

#define DAY INT64_C(86400000)
#define NOW (20000 * DAY + DAY / 2)
#define FEW 10
#define MANY 1000

/* ---- a record store that counts ------------------------------------------------------ */

static const struct usher_record_store_ops *real;
static struct usher_record_store_ops counting;
static uint64_t counted;

enum usher_status __real_usher_local_store(struct usher_record_store *records,
                                           const struct usher_allocator *alloc,
                                           struct usher_store **ret_store);
enum usher_status __wrap_usher_local_store(struct usher_record_store *records,
                                           const struct usher_allocator *alloc,
                                           struct usher_store **ret_store);

static enum usher_status find(struct usher_txn *txn, const struct usher_scope *scope, uint8_t kind,
                              const struct usher_text *id, struct usher_record *ret_record)
{
    counted++;
    return real->find(txn, scope, kind, id, ret_record);
}

static enum usher_status walk(struct usher_txn *txn, const struct usher_scope *scope, uint8_t kind,
                              uint8_t slot, const struct usher_text *by, uint64_t after_hi,
                              uint64_t after_order, bool back, struct usher_record *ret_record)
{
    counted++;
    return real->walk(txn, scope, kind, slot, by, after_hi, after_order, back, ret_record);
}

static enum usher_status rank(struct usher_txn *txn, const struct usher_scope *scope, uint8_t kind,
                              uint8_t slot, const struct usher_text *by, uint64_t hi,
                              uint64_t order, uint64_t *ret)
{
    counted++;
    return real->rank(txn, scope, kind, slot, by, hi, order, ret);
}

static enum usher_status next(struct usher_txn *txn, const struct usher_scope *scope, uint8_t kind,
                              const struct usher_text *after, struct usher_record *ret_record)
{
    counted++;
    return real->next(txn, scope, kind, after, ret_record);
}

static enum usher_status write_change(struct usher_txn *txn, struct usher_scope *scope,
                                      const struct usher_write *writes, size_t n)
{
    counted += 1 + n;
    return real->write(txn, scope, writes, n);
}

enum usher_status __wrap_usher_local_store(struct usher_record_store *records,
                                           const struct usher_allocator *alloc,
                                           struct usher_store **ret_store)
{
    real = records->ops;
    counting = *real;
    counting.find = find;
    counting.walk = walk;
    counting.rank = rank;
    counting.next = next;
    counting.write = write_change;
    records->ops = &counting;
    return __real_usher_local_store(records, alloc, ret_store);
}

/* ---- worlds with @n of everything ---------------------------------------------------- */

static struct usher_engine *e;
static int64_t now;

static void __attribute__((format(printf, 1, 2))) must(const char *format, ...)
{
    char line[512], all[600];
    struct usher_result r;
    va_list args;

    va_start(args, format);
    (void)vsnprintf(line, sizeof line, format, args);
    va_end(args);
    (void)snprintf(all, sizeof all, "%s now=%" PRId64, line, now);
    (void)line_execute(e, &r, "%s", all);
    if (!USHER_IS_DONE(r.status) && r.status != USHER_EMPTY)
        fail_msg("%s: %s %s", all, usher_status_word(r.status), r.message);
    usher_result_done(&r);
}

/* Numbers that have had their calls of the day, each in a group of its own; held; resting; idle. */
static void numbers(unsigned n)
{
    must("number set p daily=1 log=%u requests=%u sticky-max=%u", n, n, n);
    for (unsigned i = 0; i < n; i++) {
        must("number add p c%u group=g%u", i, i);
        must("number reg p c%u", i);
        must("number call p owner=x%u group=g%u sticky=peer%u req=q%u", i, i, i, i);
        must("number hangup p c%u", i);
    }
    for (unsigned i = 0; i < n; i++) {
        must("number add p h%u", i);
        must("number reg p h%u", i);
        must("number call p number=h%u owner=o%u node=m", i, i);
    }
    for (unsigned i = 0; i < n; i++) {
        must("number add p r%u group=rest", i);
        must("number reg p r%u", i);
        must("number call p number=r%u", i);
        must("number hangup p r%u rest=%u", i, i < n / 2 ? 1000000 : 172800000);
    }
    for (unsigned i = 0; i < n; i++) {
        must("number add p d%u", i);
        must("number del p d%u", i);
        must("number add p f%u", i);
        must("number reg p f%u", i);
    }
}

/* Agents with a user each, agents that are open, users that wait in lanes of their own and in one
 * lane, users that all open agents have refused, ended visits. */
static void queues(unsigned n)
{
    must("queue set q ttl=0 trigger=auto offer=1000000 history=%u log=%u requests=%u", n, n, n);
    for (unsigned i = 0; i < n; i++) {
        must("queue login q busy%u lanes=A", i);
        must("queue apply q seated%u lane=A req=s%u", i, i);
        must("queue accept q busy%u seated%u", i, i);
    }
    for (unsigned i = 0; i < n; i++)
        must("queue apply q w%u lane=A", i);
    for (unsigned i = 0; i < (n < 900 ? n : 900); i++) {
        must("queue login q lone lanes=L%u", i);
        must("queue pause q lone");
        must("queue apply q l%u lane=L%u", i, i);
        must("queue logout q lone");
    }
    for (unsigned i = 0; i < n; i++) {
        must("queue login q old lanes=B");
        must("queue apply q gone%u lane=B", i);
        must("queue leave q gone%u", i);
    }
    must("queue logout q old");
    for (unsigned i = 0; i < n; i++)
        must("queue login q open%u lanes=C", i);
    for (unsigned i = 0; i < n; i++) {
        must("queue login q away%u lanes=D", i);
        must("queue pause q away%u", i);
    }
}

/* Members with roles, shares and fields; a log; other rooms in the directory. */
static void rooms(unsigned n)
{
    must("room open r log=%u requests=%u", n, n);
    for (unsigned i = 0; i < n; i++) {
        must("room set r f%u x req=s%u", i, i);
        must("room join r m%u x=1", i);
        must("room role r role%u m%u", i, i);
        must("room share r m%u share%u", i, i);
    }
    for (unsigned i = 0; i < n; i++)
        must("room open other%u", i);
}

/* Numbers that are held, returned, used; requests; a log. */
static void serials(unsigned n)
{
    must("serial rule s mode=gapfree max=1000000 lease=1000000 log=%u requests=%u", n, n);
    for (unsigned i = 0; i < 3 * n; i++)
        must("serial reserve s owner=o%u req=r%u", i, i);
    for (unsigned i = n; i < 3 * n; i++)
        must("serial %s s %u token=%u", i < 2 * n ? "return" : "void", i + 1, i + 2);
    must("serial rule t max=1000000 batch=%u log=%u", n, n);
    for (unsigned i = 0; i < n; i++)
        must("serial take t req=t%u", i);
    must("id create d log=%u requests=%u", n, n);
    must("id create managed managed=1 log=%u", n);
    for (unsigned i = 0; i < n; i++)
        must("id next d req=%u", i);
}

/* ---- commands ------------------------------------------------------------------------ */

/*
 * The commands in their order, once in each world.  @more is the number of further records that are
 * read or written with 1,000 of everything, compared with 10.  If it is not 0, the documents name
 * the reason: rows of a page, or a bounded step.
 */
struct command {
    const char *line;
    unsigned more;
};
#define PAGE (3 * 100) /* a page has 100 rows, of up to three records each */
#define CHANGES 3000   /* a step of numbers makes up to 64 changes */
#define STEP 14000     /* a step makes up to 1,000 changes */
#define ON_WAY 60      /* a command judges 8 numbers on its way */
#define JUDGED 1000    /* a step judges 128 numbers */

static const struct command commands[] = {
    { "number add p new", 0 },
    { "number del p f1", 0 },
    { "number reg p new", 0 },
    { "number unreg p f2", 0 },
    { "number call p owner=n1", 0 },
    { "number call p owner=o5", 0 },
    { "number call p number=c3", 0 },
    { "number call p number=h3 owner=n2", 0 },
    { "number call p group=g1,g2,g3", 0 },
    { "number call p group=rest", 3 * 64 },
    { "number call p owner=n3 sticky=peer3", 0 },
    { "number hangup p h1 token=5", 0 },
    { "number hangup p h1", 0 },
    { "number renew p h2 token=5", 0 },
    { "number renew p node=m lease=5000000", CHANGES },
    { "number free p owner=o3", 0 },
    { "number free p number=h4", 0 },
    { "number lift p r1", 0 },
    { "number move p f3 group=g1", 0 },
    { "number show p c1", 0 },
    { "number list p", PAGE },
    { "number list p state=idle+down max=1", 5 * MANY }, /* it looks at USHER_PAGE_MAX at most */
    { "number list p owner=o5", 0 },
    { "number list p node=m", PAGE },
    { "number list p state=busy", PAGE },
    { "number stats p", 0 },
    { "number changes p since=999999", 0 },
    { "number set p strict=0 log=0", 8 },
    { "number set p lease-max=10000000", 0 },
    { "number set p daily=2", JUDGED },
    { "number sweep p", JUDGED },
    { "number call p owner=n5", ON_WAY },
    { "number free p node=m", CHANGES },
    { "queue set q grace=1", 0 },
    { "queue login q new lanes=A", 0 },
    { "queue where q w5", 0 },
    { "queue where q new", 0 },
    { "queue alive q user=w5", 0 },
    { "queue alive q agent=busy1", 0 },
    { "queue room q busy1", 0 },
    { "queue apply q another lane=A", 0 },
    { "queue apply q another2 lane=NEW", 0 },
    { "queue apply q another3 lane=C", 0 },
    { "queue move q w5 priority=1", 0 },
    { "queue leave q w6", 0 },
    { "queue pause q open2", 0 },
    { "queue ready q open2", 0 },
    { "queue finish q busy2", 0 },
    { "queue free q busy3", 0 },
    { "queue accept q open1 another3", 0 },
    { "queue reject q open1 another3", 0 },
    { "queue pull q away1", 0 },
    { "queue match q", STEP },
    { "queue list q", PAGE },
    { "queue list q lane=A", PAGE },
    { "queue list q state=seated", PAGE },
    { "queue agents q", 10 * 100 },
    { "queue stats q", 5 * MANY },        /* a row for each lane */
    { "queue stats q lane=A", 2 * MANY }, /* each agent of the lane */
    { "queue stats q lane=L1", 0 },
    { "queue lanes q", 10 * MANY }, /* a row for each lane, with a search for its longest wait */
    { "queue intervals q", 5 * MANY },
    { "queue waits q", 5 * MANY },
    { "queue history q", PAGE },
    { "queue history q user=gone1", MANY }, /* the visits that are kept */
    { "queue changes q since=999999", 0 },
    { "queue drain q max=10", 60 },
    { "queue logout q away2", 0 },
    { "queue logout q busy4", 0 },
    { "queue sweep q", STEP },
    { "room set r f1 y", 0 },
    { "room unset r f2", 0 },
    { "room get r f1", 0 },
    { "room get r", 5 * MANY }, /* all fields */
    { "room join r new", 0 },
    { "room alive r m1", 0 },
    { "room member r m1 x 2", 0 },
    { "room all r x 3", 0 },
    { "room role r role1 m2", 0 },
    { "room share r m1 s", 0 },
    { "room unshare r s", 0 },
    { "room leave r m3", 0 },
    { "room kick r m4 ban=1000", 0 },
    { "room lock r", 0 },
    { "room unlock r", 0 },
    { "room show r", 0 },
    { "room stats r", 0 },
    { "room snapshot r", 3 * MANY }, /* a page */
    { "room changes r since=999999", 0 },
    { "room sweep r", 0 },
    { "room open new", 0 },
    { "room close new", 0 },
    { "serial parse t 1", 0 },
    { "serial rule t width=9", 0 },
    { "serial fill t 1", 0 },
    { "serial take t", 0 },
    { "serial check t", 0 },
    { "serial tick t", 0 },
    { "serial setmax t 1", 0 },
    { "serial setmaxcur t 100000", 0 },
    { "serial grant t 0 1", 0 }, /* `invalid`: the rule has no authority */
    { "serial reserve s owner=new", 0 },
    { "serial renew s 1 token=2", 0 },
    { "serial confirm s 1 token=2", 0 },
    { "serial return s 2 token=3", 0 },
    { "serial void s 3 token=4", 0 },
    { "serial show s", 0 },
    { "serial show s 4", 0 },
    { "serial holds s", PAGE },
    { "serial holds s owner=o5", 0 },
    { "serial changes s since=999999", 0 },
    { "serial sweep s", 0 },
    { "serial delete t", 3 * MANY }, /* what is kept of it goes with it */
    { "id next d", 0 },
    { "id show d", 0 },
    { "id set d step=2", 0 },
    { "id return d 5 1 token=1", 0 },
    { "id install managed 1 10", 0 },
    { "id changes d since=999999", 0 },
    { "id create d2", 0 },
    { "id delete d", 3 * MANY },
    { "room close r", STEP },
    { "number drop p", STEP },
    { "queue drop q", STEP },
};
#define COMMANDS (sizeof commands / sizeof *commands)

static unsigned answered[2][COMMANDS];
static uint64_t counts[2][COMMANDS];

static uint64_t count_of(const char *line, unsigned *ret_status)
{
    struct usher_result r;
    uint64_t n;

    counted = 0;
    *ret_status = (unsigned)line_execute(e, &r, "%s now=%" PRId64, line, now);
    n = counted;
    if (*ret_status >= USHER_INVALID && *ret_status != USHER_LOST &&
        strncmp(line, "serial grant ", 13) != 0)
        fail_msg("%s: %s %s", line, usher_status_word((enum usher_status) * ret_status), r.message);
    usher_result_done(&r);
    return n;
}

static void world(unsigned n)
{
    now = NOW;
    assert_int_equal(usher_open("memory:?clock=given", NULL, &e), USHER_OK);
    numbers(n);
    queues(n);
    rooms(n);
    serials(n);
}

TEST(no_verb_reads_records_that_it_does_not_need)
{
    unsigned bad = 0;

    for (unsigned w = 0; w < 2; w++) {
        world(w == 0 ? FEW : MANY);
        for (size_t i = 0; i < COMMANDS; i++)
            counts[w][i] = count_of(commands[i].line, &answered[w][i]);
        usher_close(e);
    }
    for (size_t i = 0; i < COMMANDS; i++)
        if (counts[1][i] > counts[0][i] + commands[i].more + 3) {
            print_error("%s: %" PRIu64 " with %d, %" PRIu64 " with %d (%s, %s)\n", commands[i].line,
                        counts[0][i], FEW, counts[1][i], MANY,
                        usher_status_word((enum usher_status)answered[0][i]),
                        usher_status_word((enum usher_status)answered[1][i]));
            bad++;
        }
    assert_int_equal(bad, 0);
}

/* A day later all numbers that stood aside are free again, and `stats` walks over none of them. */
TEST(statistics_cost_the_same_on_the_next_day)
{
    uint64_t n[2];
    unsigned status;

    for (unsigned w = 0; w < 2; w++) {
        now = NOW;
        assert_int_equal(usher_open("memory:?clock=given", NULL, &e), USHER_OK);
        must("number set p daily=1");
        for (unsigned i = 0; i < (w == 0 ? FEW : MANY); i++) {
            must("number add p c%u", i);
            must("number reg p c%u", i);
            must("number call p number=c%u", i);
            must("number hangup p c%u", i);
        }
        now += DAY;
        n[w] = count_of("number stats p", &status);
        usher_close(e);
    }
    if (n[1] > n[0] + 3)
        fail_msg("stats: %" PRIu64 " with %d, %" PRIu64 " with %d", n[0], FEW, n[1], MANY);
}

static uint64_t allocated; /* times */

static void *resize_counted(void *payload, void *p, size_t old, size_t size)
{
    (void)payload, (void)old;
    if (size == 0) {
        free(p);
        return NULL;
    }
    allocated++;
    return realloc(p, size);
}

/* The memory store keeps the order by name from the first record on: who lists first does not make
 * it for all records. */
TEST(the_first_list_makes_no_order)
{
    static const char *const filled[][2] = {
        { "number add p n", "number list p max=1" },
        { "queue login q a", "queue agents q max=1" },
    };
    const struct usher_allocator alloc = { resize_counted, NULL };
    struct usher_options options = USHER_OPTIONS_INIT;

    options.alloc = &alloc;
    now = NOW;
    for (size_t i = 0; i < sizeof filled / sizeof *filled; i++) {
        uint64_t n[2];

        for (int w = 0; w < 2; w++) {
            assert_int_equal(usher_open("memory:", &options, &e), USHER_OK);
            for (unsigned k = 0; k < (w == 0 ? FEW : MANY); k++)
                must("%s%u", filled[i][0], k);
            allocated = 0;
            must("%s", filled[i][1]);
            n[w] = allocated;
            usher_close(e);
        }
        if (n[1] > n[0] + 3)
            fail_msg("%s: %" PRIu64 " allocations with %d, %" PRIu64 " with %d", filled[i][1], n[0],
                     FEW, n[1], MANY);
    }
}

/* By the tables: a new verb has to be counted, too. */
TEST(every_verb_is_counted)
{
    for (unsigned k = 0; k < USHER__NOUNS; k++) {
        const struct usher__noun *noun = usher__noun(k);

        if (noun == NULL || noun->hidden) /* the directory of rooms: `room open`, `room close` */
            continue;
        for (unsigned v = 0; v < noun->n_verbs; v++) {
            char want[64];
            bool found = false;

            (void)snprintf(want, sizeof want, "%s %s ", noun->word, noun->verbs[v].word);
            for (size_t i = 0; i < COMMANDS && !found; i++)
                found = strncmp(commands[i].line, want, strlen(want)) == 0;
            if (!found)
                fail_msg("no command of `%s' is counted", want);
        }
    }
}
