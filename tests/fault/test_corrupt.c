/* SPDX-License-Identifier: MIT */
/*
 * A store that a person has edited.  For any content of the file, or of the keys of Redis, each
 * command returns an answer soon; so do the audit and the digest.  The edits write values that
 * are likely to do harm: other types, states and kinds that do not exist, the ends of each range,
 * the value of another row.
 *
 * A round is a copy of a store with something of every noun, one to three edits, and all verbs.
 * USHER_ROUNDS is the number of rounds, USHER_SEED the first seed: a round that fails prints its
 * seed.
 */
#include "lib/test.h"

#include <sqlite3.h>

#include "lib/command_line.h"
#include "lib/stores.h"
#include "model/gen.h"
#include "lib/util.h"
#ifdef USHER_WITH_REDIS
#include "lib/servers.h"
#endif

#define NOW "1700000000000"
#define TIMEOUT_MS 3000 /* of one command, on edited data */
#define MEMORY_MAX ((size_t)64 << 20)
#define PATIENCE_MS 60000 /* of this test: a command ends with its timeout or before */

static struct rng rng;
static uint64_t seed;

static const char *const before[] = {
    "number add p 1 group=a",
    "number add p 2 group=a",
    "number add p 3 group=b",
    "number add p 4",
    "number reg p 1",
    "number reg p 2",
    "number reg p 3",
    "number set p daily=3 rest=1000",
    "number call p owner=o1 lease=60000 sticky=x req=q1",
    "number call p owner=o2 group=b",
    "number call p number=2 owner=o1 lease=5000",
    "number hangup p 2",
    "queue set q offer=5000 wrapup=1000 maxwait=900000 grace=1000",
    "queue login q ann lanes=a,b capacity=2",
    "queue login q bob lanes=b",
    "queue login q cat",
    "queue apply q u1 lane=a",
    "queue accept q ann u1",
    "queue apply q u2 lane=b priority=3 req=q1",
    "queue apply q u3 lane=a",
    "queue apply q u4 lane=a",
    "queue apply q u5 lane=b",
    "queue apply q u6 lane=b",
    "queue reject q bob u2",
    "queue leave q u1",
    "queue pause q cat",
    "room open r capacity=9 ttl=60000 away=30000 grace=5000 linger=60000",
    "room set r topic hi req=q1",
    "room join r ann name=Ann",
    "room join r bob",
    "room join r cat",
    "room member r ann hand up",
    "room all r mute 1",
    "room role r speaker ann",
    "room share r ann screen url=x",
    "room kick r cat ban=60000",
    "room open r2",
    "serial rule s prefix=A date=%Y%m%d- width=4 batch=5 critical=2 max=100 reset=day check=luhn",
    "serial take s n=3 req=q1",
    "serial rule d stamp=fill date=%d batch=3",
    "serial take d",
    "serial rule g mode=gapfree prefix=G lease=60000",
    "serial reserve g owner=o1",
    "serial reserve g owner=o2",
    "serial reserve g owner=o3",
    "serial rule g authority=1",
    "serial grant g 9 12", /* 4 to 9 are lost */
    "id create i step=10 limit=1000",
    "id next i n=3 req=q1",
};

static const char *const after[] = {
    "number stats p",
    "number list p",
    "number list p owner=o1",
    "number show p 1",
    "number call p owner=o1 req=q1",
    "number call p owner=o9 group=a,*",
    "number call p number=4",
    "number hangup p 3",
    "number reg p 4",
    "number unreg p 1",
    "number free p owner=o1",
    "number del p 2",
    "number add p 5 group=b",
    "number sweep p",
    "queue stats q",
    "queue stats q lane=b",
    "queue list q",
    "queue list q lane=a",
    "queue agents q",
    "queue history q",
    "queue where q u2",
    "queue where q u5",
    "queue room q ann",
    "queue alive q agent=bob",
    "queue alive q user=u3",
    "queue accept q ann u3",
    "queue reject q ann u4",
    "queue finish q 14.1",
    "queue leave q u3",
    "queue move q u6 lane=a",
    "queue pull q bob",
    "queue match q",
    "queue ready q cat",
    "queue set q strategy=level",
    "queue free q ann",
    "queue login q bob lanes=b",
    "queue apply q u2 lane=b priority=3 req=q1",
    "queue apply q u7 lane=c",
    "queue logout q ann",
    "queue drain q",
    "queue sweep q",
    "room show r",
    "room snapshot r",
    "room changes r since=0",
    "room get r",
    "room get r topic",
    "room set r topic hi req=q1",
    "room set r topic bye if=hi",
    "room member r ann hand down",
    "room alive r bob",
    "room role r speaker bob if=ann",
    "room share r bob other",
    "room unshare r screen",
    "room unset r topic",
    "room lock r",
    "room unlock r",
    "room kick r bob ban=0",
    "room leave r ann",
    "room join r dan",
    "room all r mute 0",
    "room sweep r",
    "room close r",
    "room open r",
    "serial show s",
    "serial check s",
    "serial take s n=3",
    "serial take s req=q1",
    "serial fill s 5",
    "serial tick s",
    "serial setmax s 5",
    "serial setmaxcur s 5000",
    "serial rule s zone=60",
    "serial parse s A0001",
    "serial take d",
    "serial rule d date=%m",
    "serial show g",
    "serial reserve g owner=o1",
    "serial reserve g owner=o9",
    "serial renew g G1 token=2 lease=9s",
    "serial confirm g G1 token=2",
    "serial return g G2 token=3",
    "serial void g G3 token=4",
    "serial show g G5",
    "serial holds g",
    "serial holds g n=1",
    "serial confirm g G5 token=6",
    "serial confirm g G5 token=6",
    "serial void g G7 token=6 n=2",
    "serial return g G9 token=6 req=q1",
    "serial void g G6 token=6 n=9",
    "serial confirm g G15 token=4503599627370496", /* 11 to 14 are lost as well */
    "serial void g G12 token=4503599627370496 n=2",
    "serial rule g prefix=H",
    "serial show g G11",
    "serial confirm g G11 token=4503599627370496",
    "serial confirm g G5 token=6",
    "serial rule g prefix=G",
    "serial show g G9223372036854775807",
    "serial grant g 20 25",
    "serial reserve g owner=o9",
    "serial holds g",
    "serial rule g reset=year date=%Y",
    "serial delete g",
    "serial sweep g",
    "serial delete s",
    "id show i",
    "id next i n=9",
    "id set i limit=2000",
    "id next i req=q1",
    "id delete i",
    /* an hour later: all leases and timeouts have ended */
    "number stats p now=1700003600000",
    "number sweep p now=1700003600000",
    "queue stats q now=1700003600000",
    "queue sweep q now=1700003600000",
    "room snapshot r2 now=1700003600000",
    "room sweep r now=1700003600000",
    "serial sweep g now=1700003600000",
};

/* A number of an edited file is not used as the size of an allocation. */
static void *measured(void *payload, void *old, size_t old_size, size_t size)
{
    (void)payload;
    (void)old_size;
    if (size > MEMORY_MAX)
        fail_msg("seed %" PRIu64 ": %zu bytes at once", seed, size);
    if (size == 0) {
        free(old);
        return NULL;
    }
    return realloc(old, size);
}

static const struct usher_allocator measuring = { .resize = measured };

static struct usher_engine *engine_open(const char *url, int64_t timeout_ms)
{
    struct usher_options opt = USHER_OPTIONS_INIT;
    struct usher_engine *e = NULL;

    opt.clock_given = true;
    opt.timeout_ms = timeout_ms;
    opt.alloc = &measuring;
    return usher_open(url, &opt, &e) == USHER_OK ? e : NULL;
}

#ifdef USHER_WITH_REDIS

static redisContext *redis; /* for the tests of keys; NULL before */

static redisReply *asked(const char *format, ...)
{
    redisReply *reply;
    va_list ap;

    va_start(ap, format);
    reply = redisvCommand(redis, format, ap);
    va_end(ap);
    assert_non_null(reply);
    return reply;
}

/* No script may still run after @line has returned: it would block every client of the server. */
static void check_no_script_runs(const char *line)
{
    redisReply *reply;

    if (redis == NULL)
        return;
    reply = asked("PING");
    if (reply->type != REDIS_REPLY_STATUS)
        fail_msg("seed %" PRIu64 ", after %s: %s", seed, line, reply->str);
    freeReplyObject(reply);
}

#else

static void check_no_script_runs(const char *line)
{
    (void)line;
}

#endif

static void line_do(struct usher_engine *e, const char *text, bool must)
{
    int64_t began = clock_ms();
    struct usher_result r;
    struct line l;
    char line[256];

    (void)snprintf(line, sizeof line, "%s%s", text,
                   strstr(text, " now=") != NULL ? "" : " now=" NOW);
    line_read(&l, line);
    if (usher_operate(e, &l.c, &r, 1) == USHER_INVALID) {
        fail_msg("%s: %s", line, usher_message());
    } else {
        char *answer = line_answer(&l.c, &r); /* the message is printable */

        if (must && !USHER_IS_DONE(r.status))
            fail_msg("%s: %s", line, answer);
        free(answer);
    }
    usher_result_done(&r);
    line_done(&l);
    check_no_script_runs(line);
    if (clock_ms() - began > PATIENCE_MS)
        fail_msg("seed %" PRIu64 ": %s took %" PRId64 " ms", seed, line, clock_ms() - began);
}

/* Make scopes of each noun. */
static void base_make(const char *url)
{
    struct usher_engine *e = engine_open(url, PATIENCE_MS);

    assert_non_null(e);
    for (size_t i = 0; i < sizeof before / sizeof *before; i++)
        line_do(e, before[i], strstr(before[i], "reject") == NULL);
    audit(e);
    usher_close(e);
}

static void store_use(const char *url)
{
    struct usher_engine *e = engine_open(url, TIMEOUT_MS);
    static const char *const scopes[] = { "p", "q", "r", "s", "i" };
    uint64_t faults, epoch, version;
    char digest[33];

    if (e == NULL) /* and that is an answer */
        return;
    (void)check_faults(e, NULL, NULL, &faults);
    for (int n = 0; n < 5; n++)
        (void)usher_digest(e, (enum usher_noun)(n + 1), scopes[n], digest);
    (void)usher_room_digest(e, "r", &epoch, &version, digest);
    for (size_t i = 0; i < sizeof after / sizeof *after; i++)
        line_do(e, after[i], false);
    (void)check_faults(e, NULL, NULL, &faults);
    usher_close(e);
}

static void rounds_begin(uint64_t *ret_first, uint64_t *ret_n)
{
    *ret_n = budget_of("USHER_ROUNDS", 120);
    *ret_first = number_from("USHER_SEED", (uint64_t)time(NULL));
    print_message("seeds %" PRIu64 " to %" PRIu64 "\n", *ret_first, *ret_first + *ret_n - 1);
}

static void round_begin(uint64_t with)
{
    seed = with;
    rng_seed(&rng, with);
}

/* ---- SQLite ------------------------------------------------------------------------- */

static char *bytes_read(const char *path, size_t *ret_size)
{
    FILE *f = fopen(path, "rb");
    char *bytes;
    long size;

    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    size = ftell(f);
    assert_true(size > 0);
    rewind(f);
    bytes = malloc((size_t)size);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, (size_t)size, f), (size_t)size);
    (void)fclose(f);
    *ret_size = (size_t)size;
    return bytes;
}

static void bytes_write(const char *path, const char *bytes, size_t size)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

/* Write SQL for a value that the library does not write. */
static const char *value(const char *table, const char *column, char to[512])
{
    static const char *const values[] = {
        "NULL",
        "-1",
        "0",
        "1",
        "2",
        "6",
        "7",
        "9",
        "10",
        "127",
        "250",
        "255",
        "256",
        "65536",
        "2147483648",
        "0.5",
        "1e300",
        "'x'",
        "''",
        "' '",
        "x'9f'",
        "x'00'",
        "x'dcffff'",
        "zeroblob(70000)",
        "'-1'",
        "1 << 52",
        "(1 << 53) - 1",
        "1 << 53",
        "1 << 62",
        "9223372036854775807",
        "-9223372036854775807 - 1",
        "hex(zeroblob(200))",
    };
    const uint64_t n = sizeof values / sizeof *values;
    uint64_t which = rng_below(&rng, n + 8);

    if (which < n)
        return values[which];
    switch (which - n) {
    case 0:
    case 1: /* that of another row */
        (void)snprintf(to, 512, "(SELECT \"%s\" FROM \"%s\" ORDER BY random() LIMIT 1)", column,
                       table);
        break;
    case 2:
        (void)snprintf(to, 512, "\"%s\" + 1", column);
        break;
    case 3:
        (void)snprintf(to, 512, "\"%s\" - 1", column);
        break;
    case 4: /* one changed byte */
        (void)snprintf(to, 512,
                       "CAST(substr(\"%s\", 1, %d) || x'%02x' || substr(\"%s\", %d) AS BLOB)",
                       column, (int)rng_below(&rng, 8), (unsigned)rng_below(&rng, 256), column,
                       (int)rng_below(&rng, 8) + 2);
        break;
    case 5:
        (void)snprintf(to, 512, "substr(\"%s\", 1, %d)", column, (int)rng_below(&rng, 6));
        break;
    case 6:
        (void)snprintf(to, 512, "\"%s\" || x'%02x'", column, (unsigned)rng_below(&rng, 256));
        break;
    default:
        (void)snprintf(to, 512, "%" PRIu64, rng_below(&rng, 300));
    }
    return to;
}

static void one_text(sqlite3 *db, const char *sql, char to[128])
{
    sqlite3_stmt *st = NULL;

    to[0] = '\0';
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
    if (sqlite3_step(st) == SQLITE_ROW && sqlite3_column_text(st, 0) != NULL)
        (void)snprintf(to, 128, "%s", (const char *)sqlite3_column_text(st, 0));
    (void)sqlite3_finalize(st);
}

/* Edit the file.  A constraint may refuse the edit, and the file does not change. */
static void edit(sqlite3 *db)
{
    char sql[1400], table[128], column[128], row[128], of[512];

    /* most rows are records */
    if (rng_chance(&rng, 70))
        (void)snprintf(table, sizeof table, "%s", rng_chance(&rng, 75) ? "record" : "scope");
    else
        one_text(db,
                 "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY random() LIMIT 1",
                 table);
    (void)snprintf(sql, sizeof sql,
                   "SELECT name FROM pragma_table_info('%s') ORDER BY random() LIMIT 1", table);
    one_text(db, sql, column);
    (void)snprintf(sql, sizeof sql, "SELECT _rowid_ FROM \"%s\" ORDER BY random() LIMIT 1", table);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
        /* a table without rowids: all rows */
        (void)snprintf(sql, sizeof sql, "UPDATE \"%s\" SET \"%s\" = %s", table, column,
                       value(table, column, of));
    } else {
        one_text(db, sql, row);
        if (rng_chance(&rng, 8))
            (void)snprintf(sql, sizeof sql, "DELETE FROM \"%s\" WHERE _rowid_ = %s", table, row);
        else
            (void)snprintf(sql, sizeof sql, "UPDATE \"%s\" SET \"%s\" = %s WHERE _rowid_ = %s",
                           table, column, value(table, column, of), row);
    }
    (void)sqlite3_exec(db, sql, NULL, NULL, NULL);
    if (getenv("USHER_TELL") != NULL)
        print_message("  %s\n", sql);
}

/* random() of SQL is to be that of the seed. */
static void random_of_seed(sqlite3_context *c, int n, sqlite3_value **values)
{
    (void)n;
    (void)values;
    sqlite3_result_int64(c, (sqlite3_int64)(rng_next(&rng) >> 1));
}

/* Return the bytes of a store with scopes of each noun.  NULL: there is no SQLite. */
static char *file_base(char url[STORE_URL_MAX], char path[STORE_URL_MAX], size_t *ret_size)
{
    const struct test_store *store = stores_named("sqlite");
    sqlite3 *db = NULL;

    if (store == NULL) {
        stores_skip("sqlite");
        return NULL;
    }
    assert_true(store->fresh(url));
    base_make(url);
    (void)snprintf(path, STORE_URL_MAX, "%s", url + strlen("sqlite:"));
    path[strcspn(path, "?")] = '\0';
    /* the store was replaced once, so future numbers may be lost as well */
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db,
                                  "UPDATE scope SET gaps = x'00000000000000010000000000000002'"
                                  " WHERE noun = 4 AND name = 'g'",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_changes(db), 1);
    assert_int_equal(sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL),
                     SQLITE_OK);
    (void)sqlite3_close(db);
    return bytes_read(path, ret_size);
}

/* Replace the file by these bytes, and remove its journals. */
static void file_put(const char *path, const char *bytes, size_t size)
{
    char side[STORE_URL_MAX + 8];

    for (int k = 0; k < 2; k++) {
        (void)snprintf(side, sizeof side, "%s-%s", path, k == 0 ? "wal" : "shm");
        (void)unlink(side);
    }
    bytes_write(path, bytes, size);
}

TEST(commands_on_an_edited_file_return_answers)
{
    char url[STORE_URL_MAX], path[STORE_URL_MAX], *base;
    uint64_t first, n;
    size_t size;

    base = file_base(url, path, &size);
    if (base == NULL)
        return;
    rounds_begin(&first, &n);
    for (uint64_t i = 0; i < n; i++) {
        sqlite3 *db = NULL;

        round_begin(first + i);
        file_put(path, base, size);
        assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
        assert_int_equal(
            sqlite3_create_function(db, "random", 0, SQLITE_UTF8, NULL, random_of_seed, NULL, NULL),
            SQLITE_OK);
        if (getenv("USHER_TELL") != NULL)
            print_message("seed %" PRIu64 "\n", seed);
        for (uint64_t k = rng_below(&rng, 3) + 1; k > 0; k--)
            edit(db);
        (void)sqlite3_close(db);
        store_use(url);
    }
    free(base);
}

/* The answer names the edited record, and the store does not change. */
TEST(an_edit_is_named_as_damage)
{
    static const struct {
        const char *sql, *line, *what;
    } edits[] = {
        { "UPDATE record SET state = 0 WHERE id = 'u6'", "queue leave q u6",
          "user u6 has an unknown" },
        { "UPDATE record SET state = 9 WHERE id = 'u6'", "queue leave q u6",
          "user u6 has an unknown" },
        { "UPDATE record SET state = 250 WHERE id = 'bob' AND list % 8 = 1", "queue pause q bob",
          "agent bob" },
        { "UPDATE record SET state = 250 WHERE id = '4'", "number reg p 4",
          "number 4 has an unknown" },
        { "UPDATE record SET state = 250 WHERE id = 'ann'", "room alive r ann",
          "member ann has an unknown" },
        { "UPDATE record SET id = x'9f' WHERE id = 'bob'", "room snapshot r", "a record" },
        { "UPDATE record SET id = x'dcffff' WHERE id = '3'", "number list p", "a record" },
        { "UPDATE scope SET s10 = 99 WHERE noun = 4 AND name = 's'", "serial show s", "a setting" },
        { "UPDATE scope SET s11 = 7 WHERE noun = 4 AND name = 's'", "serial show s", "a setting" },
        { "UPDATE scope SET s13 = 0 WHERE noun = 4 AND name = 's'", "serial show s", "a setting" },
        { "UPDATE scope SET c7 = -1 WHERE noun = 4 AND name = 's'", "serial take s", "a count" },
        { "UPDATE scope SET s0 = 7 WHERE noun = 1 AND name = 'p'", "number call p", "an order" },
        { "UPDATE scope SET s2 = 7 WHERE noun = 2 AND name = 'q'", "queue stats q", "a setting" },
        /* the end of a wrap-up is due and cannot be saved */
        { "DELETE FROM record WHERE list % 8 = 2 AND owner = 'ann'",
          "queue sweep q now=1700000002000", "an agent cannot be read" },
        /* 4 to 9 of g are lost */
        { "UPDATE record SET state = 3 WHERE id = '4' AND list % 8 = 6", "serial show g G5",
          "lost 4 has an unknown state" },
        { "UPDATE record SET n1 = 0 WHERE id = '4' AND list % 8 = 6", "serial confirm g G5 token=6",
          "lost 4 has an invalid number: first" },
        { "UPDATE record SET n5 = 3 WHERE id = '4' AND list % 8 = 6", "serial confirm g G5 token=6",
          "lost 4 has numbers out of range" },
        { "UPDATE record SET n4 = 9007200 WHERE id = '4' AND list % 8 = 6",
          "serial void g G5 token=6 n=5", "lost 4 has an invalid number: last" },
        { "UPDATE record SET n4 = 9007199, n5 = 254740992 WHERE id = '4' AND list % 8 = 6",
          "serial holds g", "lost 4 has an invalid number: last" },
        { "UPDATE record SET n5 = -1 WHERE id = '4' AND list % 8 = 6", "serial holds g",
          "lost 4 has an invalid number: last" },
        { "UPDATE record SET rank = 3 WHERE id = '4' AND list % 8 = 6", "serial holds g",
          "lost 4 is not in the order" },
        { "UPDATE record SET id = '5' WHERE id = '4' AND list % 8 = 6", "serial holds g",
          "lost 5 is not in the order" },
        /* faults that only the audit finds */
        { "UPDATE record SET n1 = 5 WHERE id = '4' AND list % 8 = 6", "serial holds g", NULL },
        { "UPDATE record SET n2 = 7 WHERE id = '4' AND list % 8 = 6", "serial holds g", NULL },
        { "UPDATE record SET n5 = 10 WHERE id = '4' AND list % 8 = 6", "serial holds g", NULL },
        /* gaps: versions in a gap would be reported as lost; the audit reports the gap */
        { "UPDATE scope SET gaps = x'00000000000000020000000000000001' WHERE noun = 1",
          "number stats p", NULL },
        { "UPDATE scope SET gaps = x'00000000000000010000000000999999' WHERE noun = 1",
          "number stats p", NULL },
        { "UPDATE scope SET gaps = x'0000000000000001000000000000000500000000000000030000000000000006'"
          " WHERE noun = 1",
          "number stats p", NULL },
    };
    char url[STORE_URL_MAX], path[STORE_URL_MAX], *base;
    size_t size;

    base = file_base(url, path, &size);
    if (base == NULL)
        return;
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        struct usher_engine *e;
        struct usher_result r;
        struct line l;
        sqlite3 *db = NULL;
        char line[128];
        uint64_t faults = 0;

        file_put(path, base, size);
        assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, edits[i].sql, NULL, NULL, NULL), SQLITE_OK);
        assert_true(sqlite3_changes(db) > 0);
        (void)sqlite3_close(db);
        e = engine_open(url, PATIENCE_MS);
        assert_non_null(e);
        (void)snprintf(line, sizeof line, "%s%s", edits[i].line,
                       strstr(edits[i].line, " now=") != NULL ? "" : " now=" NOW);
        line_read(&l, line);
        assert_int_not_equal(usher_operate(e, &l.c, &r, 1), USHER_INVALID);
        if (edits[i].what != NULL &&
            (r.status != USHER_UNAVAILABLE ||
             (strstr(r.message, "damaged") == NULL && strstr(r.message, "corrupt") == NULL) ||
             strstr(r.message, edits[i].what) == NULL))
            fail_msg("%s; %s: %s, %s", edits[i].sql, line, usher_status_word(r.status), r.message);
        usher_result_done(&r);
        line_done(&l);
        if (check_faults(e, NULL, NULL, &faults) == USHER_OK)
            assert_true(faults > 0);
        usher_close(e);
    }
    free(base);
}

/* One byte of the file is changed. */
TEST(commands_on_a_file_with_a_wrong_byte_return_answers)
{
    char url[STORE_URL_MAX], path[STORE_URL_MAX], *base, *copy;
    uint64_t first, n;
    size_t size;

    base = file_base(url, path, &size);
    if (base == NULL)
        return;
    copy = malloc(size);
    assert_non_null(copy);
    rounds_begin(&first, &n);
    for (uint64_t i = 0; i < n / 2; i++) {
        round_begin(first + i);
        memcpy(copy, base, size);
        for (uint64_t k = rng_below(&rng, 4) + 1; k > 0; k--)
            copy[rng_below(&rng, size)] = (char)rng_below(&rng, 256);
        file_put(path, copy, rng_chance(&rng, 10) ? (size_t)rng_below(&rng, size) : size);
        store_use(url);
    }
    free(copy);
    free(base);
}

/* ---- Redis -------------------------------------------------------------------------- */

#ifdef USHER_WITH_REDIS

/* Make a store with scopes of each noun, and a connection `redis`.  False: there is no server. */
static bool redis_begin(char url[STORE_URL_MAX])
{
    const struct test_store *store = stores_named("redis");
    int port = 0;

    if (store == NULL) {
        stores_skip("redis");
        return false;
    }
    assert_true(store->fresh(url));
    assert_int_equal(sscanf(url, "redis://127.0.0.1:%d", &port), 1);
    redis = redisConnect("127.0.0.1", port);
    assert_true(redis != NULL && redis->err == 0);
    base_make(url);
    freeReplyObject(asked("HSET {g}:serial gaps %b", "\0\0\0\0\0\0\1\0\0\0\0\0\0\2", (size_t)14));
    return true;
}

/* Write another text instead of @text into @to. */
static size_t bent(const char *text, size_t size, char *to, size_t room)
{
    size_t n = size < room - 16 ? size : room - 16;

    memcpy(to, text, n);
    switch (rng_below(&rng, 6)) {
    case 0:
        return rng_below(&rng, n + 1);
    case 1:
        to[n] = (char)rng_below(&rng, 256);
        return n + 1;
    case 2: /* a number of seven bytes at its end */
        if (n > 12) {
            size_t at = rng_below(&rng, n - 7);

            memset(to + at, rng_chance(&rng, 50) ? 0xff : 0, 7);
        }
        return n;
    case 3: /* where states and slots are */
        if (n > 12)
            to[10 + rng_below(&rng, 2)] = (char)rng_below(&rng, 256);
        return n;
    default:
        for (uint64_t k = rng_below(&rng, 3) + 1; k > 0 && n > 0; k--)
            to[rng_below(&rng, n)] = (char)rng_below(&rng, 256);
        return n;
    }
}

/* Sort keys and fields, because their order depends on the server and not on the seed. */
static int by_name(const void *a, const void *b)
{
    return strcmp((*(redisReply *const *)a)->str, (*(redisReply *const *)b)->str);
}

static void pairs_sort(redisReply *all)
{
    qsort(all->element, all->elements / 2, 2 * sizeof *all->element, by_name);
}

static void key_edit(void)
{
    redisReply *keys = asked("KEYS *"), *key, *type, *all;
    char to[4096];

    if (keys->type != REDIS_REPLY_ARRAY)
        fail_msg("seed %" PRIu64 ": %s", seed, keys->str);
    if (keys->elements == 0) { /* earlier edits have removed all */
        freeReplyObject(keys);
        return;
    }
    qsort(keys->element, keys->elements, sizeof *keys->element, by_name);
    key = keys->element[rng_below(&rng, keys->elements)];
    type = asked("TYPE %b", key->str, key->len);
    if (rng_chance(&rng, 4) || strcmp(type->str, "string") == 0) {
        freeReplyObject(asked("DEL %b", key->str, key->len));
    } else if (rng_chance(&rng, 3)) {
        freeReplyObject(asked("SET %b x", key->str, key->len));
    } else if (strcmp(type->str, "hash") == 0) {
        uint64_t field;

        all = asked("HGETALL %b", key->str, key->len);
        pairs_sort(all);
        field = rng_below(&rng, all->elements / 2) * 2;
        if (rng_chance(&rng, 10)) {
            freeReplyObject(asked("HDEL %b %b", key->str, key->len, all->element[field]->str,
                                  all->element[field]->len));
        } else {
            const redisReply *of = all->element[field + 1];
            size_t n;

            if (rng_chance(&rng, 10)) /* that of another field */
                of = all->element[rng_below(&rng, all->elements / 2) * 2 + 1];
            n = bent(of->str, of->len, to, sizeof to);
            freeReplyObject(asked("HSET %b %b %b", key->str, key->len, all->element[field]->str,
                                  all->element[field]->len, to, n));
        }
        freeReplyObject(all);
    } else {
        const redisReply *member;
        size_t n;

        all = asked("ZRANGE %b 0 -1", key->str, key->len);
        member = all->element[rng_below(&rng, all->elements)];
        n = bent(member->str, member->len, to, sizeof to);
        if (rng_chance(&rng, 60))
            freeReplyObject(asked("ZREM %b %b", key->str, key->len, member->str, member->len));
        freeReplyObject(
            asked("ZADD %b %d %b", key->str, key->len, rng_chance(&rng, 90) ? 0 : 1, to, n));
        freeReplyObject(all);
    }
    freeReplyObject(type);
    freeReplyObject(keys);
}

/* Numbers of a record that a script uses as counts, and their places in its bytes.  With impossible
 * numbers no script runs too long, and none changes the scope. */
TEST(an_impossible_number_in_a_key_is_damage)
{
    static const struct {
        const char *key, *field;
        size_t at; /* of its bytes */
        const char *line, *bytes;
        size_t size;
    } edits[] = {
#define HUGE_BYTES "\x3f\x3f\x3f\x3f\x3f\x3f\x3f", 7
        { "{q}:queue", "1:ann", 40, "queue agents q", HUGE_BYTES },
        { "{q}:queue", "1:ann", 40, "queue room q ann", HUGE_BYTES },
        { "{q}:queue", "1:ann", 40, "queue logout q ann", HUGE_BYTES },
        { "{q}:queue", "1:ann", 47, "queue free q ann", HUGE_BYTES },
        /* the newest period of its use counts, the seventh count after the header */
        { "{d}:serial", "head", 45 + 6 * 7, "serial take d", HUGE_BYTES },
        { "{d}:serial", "head", 45 + 6 * 7, "serial tick d", "\377\377\377\377\377\377\377", 7 },
        { "{d}:serial", "head", 45 + 9 * 7, "serial take d", "\377\377\377\377\377\377\377", 7 },
        /* 4 to 9 of g are lost: its state, rank, first, period, last */
        { "{g}:serial", "6:4", 10, "serial confirm g G5 token=6", "\3", 1 },
        { "{g}:serial", "6:4", 40, "serial confirm g G5 token=6", HUGE_BYTES },
        { "{g}:serial", "6:4", 40, "serial holds g", "\377\377\377\377\377\377\377", 7 },
        { "{g}:serial", "6:4", 47, "serial confirm g G5 token=6", "\0\0\0\0\0\0\0", 7 },
        { "{g}:serial", "6:4", 47, "serial return g G5 token=6", "\0\0\0\0\0\0\5", 7 },
        { "{g}:serial", "6:4", 47, "serial void g G5 token=6 n=2", HUGE_BYTES },
        { "{g}:serial", "6:4", 54, "serial show g G5", "\0\0\0\0\0\0\7", 7 },
        { "{g}:serial", "6:4", 68, "serial confirm g G5 token=6", HUGE_BYTES },
        { "{g}:serial", "6:4", 68, "serial holds g", HUGE_BYTES },
        { "{g}:serial", "6:4", 75, "serial confirm g G5 token=6", HUGE_BYTES },
        { "{g}:serial", "6:4", 75, "serial show g G5", "\0\0\0\0\0\0\3", 7 },
        { "{g}:serial", "6:4", 75, "serial holds g", "\377\377\377\377\377\377\377", 7 },
#undef HUGE_BYTES
    };
    char url[STORE_URL_MAX];

    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        struct usher_engine *e;
        struct usher_result r;
        struct line l;
        redisReply *record, *after_it;
        char line[128];
        uint64_t faults = 0;

        if (!redis_begin(url))
            return;
        record = asked("HGET %s %s", edits[i].key, edits[i].field);
        assert_int_equal(record->type, REDIS_REPLY_STRING);
        assert_true(record->len > edits[i].at + edits[i].size);
        memcpy(record->str + edits[i].at, edits[i].bytes, edits[i].size);
        freeReplyObject(
            asked("HSET %s %s %b", edits[i].key, edits[i].field, record->str, record->len));
        e = engine_open(url, PATIENCE_MS);
        assert_non_null(e);
        (void)snprintf(line, sizeof line, "%s now=" NOW, edits[i].line);
        line_read(&l, line);
        (void)usher_operate(e, &l.c, &r, 1);
        if (r.status < USHER_UNAVAILABLE || strstr(r.message, "damaged") == NULL)
            fail_msg("%s, %s at %zu: %s, %s", line, edits[i].field, edits[i].at,
                     usher_status_word(r.status), r.message);
        check_no_script_runs(line);
        usher_result_done(&r);
        line_done(&l);
        after_it = asked("HGET %s %s", edits[i].key, edits[i].field);
        assert_int_equal(after_it->len, record->len);
        assert_memory_equal(after_it->str, record->str, record->len);
        freeReplyObject(after_it);
        freeReplyObject(record);
        if (check_faults(e, NULL, NULL, &faults) == USHER_OK)
            assert_true(faults > 0);
        usher_close(e);
        redisFree(redis);
        redis = NULL;
    }
}

/* Versions in a gap would be reported as lost to their holders. */
TEST(impossible_gaps_in_a_key_are_found)
{
    static const struct {
        const char *gaps; /* pairs of seven bytes: the last version before, the first after */
        size_t size;
        bool sound;
    } edits[] = {
        { "\0\0\0\0\0\0\1\0\0\0\0\0\0\2", 14, true },
        { "\0\0\0\0\0\0\2\0\0\0\0\0\0\1", 14, false },
        { "\0\0\0\0\0\0\1\0\0\0\0\7\7\7", 14, false },
        { "\0\0\0\0\0\0\1\0\0\0\0\0\0\5\0\0\0\0\0\0\3\0\0\0\0\0\0\6", 28, false },
    };
    char url[STORE_URL_MAX];

    if (!redis_begin(url))
        return;
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        struct usher_engine *e = engine_open(url, PATIENCE_MS);
        uint64_t faults = 99;

        assert_non_null(e);
        freeReplyObject(asked("HSET {p}:number gaps %b", edits[i].gaps, edits[i].size));
        assert_int_equal(check_faults(e, NULL, NULL, &faults), USHER_OK);
        assert_int_equal(faults, edits[i].sound ? 0 : 1);
        usher_close(e);
    }
    redisFree(redis);
    redis = NULL;
}

TEST(commands_on_edited_keys_return_answers)
{
    char url[STORE_URL_MAX];
    uint64_t first, n;
    redisReply *keys;
    char **dump;
    size_t *sizes;

    if (!redis_begin(url))
        return;
    keys = asked("KEYS *");
    dump = calloc(keys->elements, sizeof *dump);
    sizes = calloc(keys->elements, sizeof *sizes);
    assert_true(dump != NULL && sizes != NULL);
    for (size_t k = 0; k < keys->elements; k++) {
        redisReply *one = asked("DUMP %b", keys->element[k]->str, keys->element[k]->len);

        dump[k] = malloc(one->len);
        assert_non_null(dump[k]);
        memcpy(dump[k], one->str, one->len);
        sizes[k] = one->len;
        freeReplyObject(one);
    }
    rounds_begin(&first, &n);
    for (uint64_t i = 0; i < n; i++) {
        round_begin(first + i);
        if (getenv("USHER_TELL") != NULL)
            print_message("seed %" PRIu64 "\n", seed);
        freeReplyObject(asked("FLUSHALL"));
        for (size_t k = 0; k < keys->elements; k++)
            freeReplyObject(asked("RESTORE %b 0 %b", keys->element[k]->str, keys->element[k]->len,
                                  dump[k], sizes[k]));
        for (uint64_t k = rng_below(&rng, 3) + 1; k > 0; k--)
            key_edit();
        store_use(url);
    }
    for (size_t k = 0; k < keys->elements; k++)
        free(dump[k]);
    free(dump);
    free(sizes);
    freeReplyObject(keys);
    redisFree(redis);
    redis = NULL;
}

#endif

TEST_PROGRAM(stores_start, stores_stop);
