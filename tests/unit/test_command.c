/* SPDX-License-Identifier: MIT */
/*
 * Commands as values (usher/command.h): what is wrong is refused by name and does nothing; a batch
 * of right and wrong ones; memory that ends; replies in other hands; lists page by page; the tables
 * of fields and verbs agree with each other; a timeout of a call is kept.
 */
#include "lib/test.h"

#include <usher/command.h>
#include <usher/store/history.h>

#include <pthread.h>
#include <signal.h>

#include "core/verbs.h"
#include "lib/util.h"
#ifdef USHER_WITH_REDIS
#include "lib/fake_authority.h"
#include "lib/servers.h"
#include "lib/stores.h"
#endif

#define NOW INT64_C(4000000000000)
#define F(name) USHER_FIELD_##name
#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- memory that is counted, and ends ------------------------------------------------------ */

struct faulty {
    unsigned long n, fail_at;
    bool for_ever, fired;
    size_t bytes, peak;
    pthread_mutex_t lock;
};

static void *faulty_resize(void *payload, void *p, size_t old, size_t size)
{
    struct faulty *f = payload;
    void *q = NULL;

    (void)pthread_mutex_lock(&f->lock);
    if (size == 0) {
        f->bytes -= old;
        free(p);
    } else if (f->fail_at != 0 && (++f->n == f->fail_at || (f->for_ever && f->n > f->fail_at))) {
        f->fired = true;
    } else {
        q = realloc(p, size);
        f->bytes += size - old;
        f->peak = f->bytes > f->peak ? f->bytes : f->peak;
    }
    (void)pthread_mutex_unlock(&f->lock);
    return q;
}

static void arm(struct faulty *f, unsigned long nth, bool for_ever)
{
    f->n = 0;
    f->fail_at = nth;
    f->for_ever = for_ever;
    f->fired = false;
}

static struct faulty heap = { .lock = PTHREAD_MUTEX_INITIALIZER };
static const struct usher_allocator alloc = { faulty_resize, &heap };

static struct usher_engine *opened(void)
{
    struct usher_options opt = USHER_OPTIONS_INIT;
    struct usher_engine *e;

    opt.alloc = &alloc;
    opt.clock_given = true;
    assert_int_equal(usher_open("memory:", &opt, &e), USHER_OK);
    return e;
}

static void closed(struct usher_engine *e)
{
    usher_close(e);
    assert_true(heap.bytes == 0);
}

/* One command, given in full. */
static struct usher_reply *say(struct usher_engine *e, uint32_t verb, const char *scope, size_t n,
                               const struct usher_value *values)
{
    struct usher_command c = { verb, USHER_TO_NUL, scope, values, n, &heap };
    struct usher_reply *reply = NULL;

    assert_int_equal(usher_execute(e, &c, 1, 0, &reply), USHER_OK);
    assert_non_null(reply);
    assert_ptr_equal(reply->tag, &heap);
    assert_int_equal(reply->verb, verb);
    return reply;
}
#define SAY(e, verb, scope, ...)                                                    \
    say(e, verb, scope,                                                             \
        sizeof((struct usher_value[]){ __VA_ARGS__ }) / sizeof(struct usher_value), \
        (struct usher_value[]){ __VA_ARGS__ })

static void done(struct usher_reply *reply, enum usher_status status)
{
    if (reply->status != status)
        fail_msg("%s: %s", usher_status_word(reply->status), reply->message);
    usher_reply_done(reply);
}

static void digest(struct usher_engine *e, char to[33])
{
    assert_int_equal(usher_digest(e, USHER_NUMBER, "p", to), USHER_OK);
}

/* ---- what is wrong --------------------------------------------------------------------------- */

static const char long_name[USHER_NAME_MAX + 2] = "x";

/* Each is refused with this message. */
static const struct {
    uint32_t verb;
    int32_t scope_size;
    const char *scope;
    size_t n;
    struct usher_value values[3];
    const char *message;
} wrongs[] = {
    { 0, -1, "p", 0, { { 0, 0, 0, NULL } }, "verb is unknown" },
    { 0x1ff, -1, "p", 0, { { 0, 0, 0, NULL } }, "verb is unknown" },
    { 0x100, -1, "p", 0, { { 0, 0, 0, NULL } }, "verb is unknown" },
    { UINT32_MAX, -1, "p", 0, { { 0, 0, 0, NULL } }, "verb is unknown" },
    { USHER_NUMBER_ADD | 0x10000u, -1, "p", 0, { { 0, 0, 0, NULL } }, "verb is unknown" },
    { USHER_NUMBER_EXPIRE, -1, "p", 0, { { 0, 0, 0, NULL } }, "verb is unknown" },
    { USHER_ROOMS_PUT, -1, "p", 1, { USHER_T(F(ROOM), "r") }, "verb is unknown" },
    { USHER_ROOMS_FIND, -1, "p", 1, { USHER_T(F(ROOM), "r") }, "verb is unknown" },
    { USHER_NUMBER_ADD, -1, "p", 1, { USHER_T(9999, "n9") }, "a field is unknown" },
    { USHER_NUMBER_ADD, -1, "p", 1, { USHER_T(0, "n9") }, "a field is unknown" },
    { USHER_NUMBER_ADD,
      -1,
      "p",
      2,
      { USHER_T(F(NUMBER), "n9"), USHER_N(F(LEASE), 1) },
      "lease (LEASE) is not an argument of `add`" },
    { USHER_NUMBER_CALL,
      -1,
      "p",
      1,
      { USHER_T(F(GROUP), "g") },
      "group (GROUP) is not an argument of `call`" },
    { USHER_NUMBER_ADD,
      -1,
      "p",
      2,
      { USHER_T(F(NUMBER), "n9"), USHER_T(F(NUMBER), "n8") },
      "number is given twice" },
    { USHER_NUMBER_ADD,
      -1,
      "p",
      3,
      { USHER_T(F(NUMBER), "n9"), USHER_N(F(NOW), NOW), USHER_N(F(NOW), NOW) },
      "now is given twice" },
    { USHER_NUMBER_ADD, -1, "p", 1, { USHER_N(F(NUMBER), 9) }, "number must be a text" },
    { USHER_NUMBER_CALL,
      -1,
      "p",
      1,
      { USHER_T(F(LEASE), "9") },
      "lease must be a number, not a text" },
    { USHER_NUMBER_ADD, -1, "p", 1, { { F(NUMBER), -2, 0, "n9" } }, "number has an invalid size" },
    { USHER_NUMBER_SET,
      -1,
      "p",
      1,
      { { F(ORDER), INT32_MIN, 0, "random" } },
      "order has an invalid size" },
    { USHER_NUMBER_ADD,
      -2,
      "p",
      1,
      { USHER_T(F(NUMBER), "n9") },
      "name of the scope has an invalid size" },
    { USHER_NUMBER_ADD, -1, NULL, 1, { USHER_T(F(NUMBER), "n9") }, "name of the scope is missing" },
    { USHER_NUMBER_ADD, -1, "", 1, { USHER_T(F(NUMBER), "n9") }, "name of the scope" },
    { USHER_NUMBER_ADD, 3, "p\0q", 1, { USHER_T(F(NUMBER), "n9") }, "name of the scope" },
    { USHER_NUMBER_ADD,
      sizeof long_name - 1,
      long_name,
      1,
      { USHER_T(F(NUMBER), "n9") },
      "name of the scope" },
    { USHER_NUMBER_ADD,
      -1,
      "p",
      1,
      { { F(NUMBER), sizeof long_name - 1, 0, long_name } },
      "number " },
    { USHER_NUMBER_ADD, -1, "p", 1, { { F(NUMBER), INT32_MAX, 0, "n9" } }, "number " },
    { USHER_NUMBER_ADD, -1, "p", 1, { { F(NUMBER), 4, 0, "n9\0x" } }, "number " },
    { USHER_NUMBER_ADD, -1, "p", 0, { { 0, 0, 0, NULL } }, "number is missing" },
    { USHER_NUMBER_ADD,
      -1,
      "p",
      2,
      { USHER_T(F(NUMBER), "n9"), { F(REQUEST), 0, 0, "" } },
      "req " },
    { USHER_NUMBER_ADD,
      -1,
      "p",
      2,
      { USHER_T(F(NUMBER), "n9"), USHER_N(F(REQUEST), 1) },
      "req must be a text" },
    { USHER_NUMBER_ADD,
      -1,
      "p",
      2,
      { USHER_T(F(NUMBER), "n9"), USHER_T(F(NOW), "1") },
      "now must be a number, not a text" },
    { USHER_NUMBER_ADD,
      -1,
      "p",
      2,
      { USHER_T(F(NUMBER), "n9"), USHER_N(F(NOW), -1) },
      "now is not " },
    { USHER_NUMBER_ADD,
      -1,
      "p",
      2,
      { USHER_T(F(NUMBER), "n9"), USHER_N(F(WAIT), 256) },
      "wait is not from 0 to 255" },
    { USHER_NUMBER_ADD,
      -1,
      "p",
      2,
      { USHER_T(F(NUMBER), "n9"), USHER_N(F(WAIT), -1) },
      "wait is not from 0 to 255" },
    { USHER_NUMBER_SET,
      -1,
      "p",
      1,
      { USHER_T(F(ORDER), "randomly") },
      "order is not one of its words" },
    { USHER_NUMBER_SET,
      -1,
      "p",
      1,
      { { F(ORDER), 5, 0, "random" } },
      "order is not one of its words" },
    { USHER_NUMBER_SET, -1, "p", 1, { USHER_T(F(ORDER), "") }, "order is not one of its words" },
    { USHER_NUMBER_SET, -1, "p", 1, { USHER_N(F(ORDER), 4) }, "order is not from 1 to 3" },
    { USHER_NUMBER_SET, -1, "p", 1, { USHER_N(F(STRICT), 2) }, "strict is not from 0 to 1" },
    { USHER_ID_RETURN,
      -1,
      "p",
      1,
      { USHER_T(F(EPOCH), "00") },
      "epoch must be a number, not a text" },
};

static void make_pool(struct usher_engine *e)
{
    done(SAY(e, USHER_NUMBER_ADD, "p", USHER_T(F(NUMBER), "n1"), USHER_N(F(NOW), NOW)), USHER_OK);
    done(SAY(e, USHER_NUMBER_REG, "p", USHER_T(F(NUMBER), "n1"), USHER_N(F(NOW), NOW)), USHER_OK);
}

TEST(wrong_values_are_refused_by_name)
{
    struct usher_engine *e = opened();
    char before[33], after[33];

    make_pool(e);
    digest(e, before);
    for (size_t i = 0; i < COUNT(wrongs); i++) {
        struct usher_command c = { wrongs[i].verb,   wrongs[i].scope_size, wrongs[i].scope,
                                   wrongs[i].values, wrongs[i].n,          &heap };
        struct usher_reply *reply;

        assert_int_equal(usher_execute(e, &c, 1, 0, &reply), USHER_OK);
        if (reply->status != USHER_INVALID ||
            strncmp(reply->message, wrongs[i].message, strlen(wrongs[i].message)) != 0)
            fail_msg("%zu: %s `%s`, not `%s`", i, usher_status_word(reply->status), reply->message,
                     wrongs[i].message);
        assert_ptr_equal(reply->tag, &heap);
        assert_true(reply->n == 0 && reply->n_rows == 0 && !reply->more && reply->epoch == 0);
        usher_reply_done(reply);
    }
    digest(e, after);
    assert_string_equal(before, after);
    {
        struct usher_command c = { USHER_NUMBER_ADD, -1, "p", NULL, 1, NULL };
        struct usher_reply *reply;

        assert_int_equal(usher_execute(e, &c, 1, 0, &reply), USHER_OK);
        assert_string_equal(reply->message, "values are NULL");
        usher_reply_done(reply);
    }
    closed(e);
}

TEST(wrong_call_executes_nothing)
{
    static struct usher_command commands[USHER_BATCH_MAX + 1];
    static struct usher_reply *replies[USHER_BATCH_MAX + 1];
    struct usher_engine *e = opened();

    commands[0] = (struct usher_command){ USHER_NUMBER_STATS, -1, "p", NULL, 0, NULL };
    replies[0] = (struct usher_reply *)(void *)commands;
    assert_int_equal(usher_execute(NULL, commands, 1, 0, replies), USHER_INVALID);
    assert_null(replies[0]);
    assert_int_equal(usher_execute(e, NULL, 1, 0, replies), USHER_INVALID);
    assert_string_equal(usher_message(), "execute: commands or ret_replies is NULL");
    assert_int_equal(usher_execute(e, commands, 1, 0, NULL), USHER_INVALID);
    assert_string_equal(usher_message(), "execute: commands or ret_replies is NULL");
    assert_int_equal(usher_execute(e, commands, 0, 0, replies), USHER_INVALID);
    assert_string_equal(usher_message(), "execute: n is not from 1 to 65536");
    assert_int_equal(usher_execute(e, commands, USHER_BATCH_MAX + 1, 0, replies), USHER_INVALID);
    assert_string_equal(usher_message(), "execute: n is not from 1 to 65536");
    assert_int_equal(usher_execute(e, commands, 1, -1, replies), USHER_INVALID);
    assert_int_equal(usher_execute(e, commands, 1, USHER_SPAN_MAX + 1, replies), USHER_INVALID);
    assert_string_equal(usher_message(), "execute: timeout_ms is not from 0 to a hundred years");
    assert_null(replies[0]);
    assert_int_equal(usher_execute(e, commands, 1, USHER_SPAN_MAX, replies), USHER_OK);
    assert_int_equal(replies[0]->status, USHER_MISSING);
    assert_true(replies[0]->n == 0 && replies[0]->n_rows == 0);
    usher_reply_done(replies[0]);
    usher_reply_done(NULL);
    closed(e);
}

/* Why @line is wrong; "": it is right. */
static const char *parsed(const char *line)
{
    unsigned char room[8192];
    struct usher_command c;

    return usher_command_parse(line, strlen(line), room, sizeof room, &c) == USHER_OK
               ? ""
               : usher_message();
}

/* The verbs of rooms that take fields: each word that is no field without `--`.  This list never
 * grows, or a program that was written before would send its field as an option. */
TEST(reserved_words_are_not_taken_as_fields)
{
    static const struct {
        const char *line, *words;
    } verbs[] = {
        { "room set r a 1", " field value if if-version epoch now req wait " },
        { "room join r ann", " member if-version epoch now req wait " },
        { "room member r ann a 1", " member field value if if-version epoch now req wait " },
        { "room share r ann screen", " member share if-version epoch now req wait " },
    };
    static const char reserved[] = " session hidden first life alone lobby heir ";
    char line[256], want[256], word[64];

    for (size_t v = 0; v < COUNT(verbs); v++) {
        for (unsigned noun = 0; usher__noun_at(noun) != NULL; noun++) {
            const struct usher__noun *of = usher__noun_at(noun);

            for (unsigned i = 0; i < of->n_args + 10; i++) {
                static const char *const others[] = { "now",   "req",  "wait",  "session", "hidden",
                                                      "first", "life", "alone", "lobby",   "heir" };
                const char *key = i < of->n_args ? of->args[i].word : others[i - of->n_args];
                bool option, is_reserved;
                const char *why;

                (void)snprintf(word, sizeof word, " %s ", key);
                option = strstr(verbs[v].words, word) != NULL;
                is_reserved = strstr(reserved, word) != NULL;
                if (strcmp(key, "if") == 0) /* any bytes are right, but once */
                    (void)snprintf(line, sizeof line, "%s if=1 if=2", verbs[v].line);
                else
                    (void)snprintf(line, sizeof line, "%s %s=\1", verbs[v].line, key);
                why = parsed(line);
                (void)snprintf(want, sizeof want,
                               "%s= is reserved; put it after -- to use it as a field", key);
                if (is_reserved)
                    assert_string_equal(why, want);
                else if (option != (why[0] != '\0') && (option || strcmp(key, "if") != 0))
                    fail_msg("%s: %s", line, why);
                (void)snprintf(line, sizeof line, "%s -- %s=\1", verbs[v].line, key);
                assert_string_equal(parsed(line), "");
            }
        }
    }
}

/* ---- what is right ----------------------------------------------------------------------------
 */

TEST(words_numbers_and_sizes)
{
    static const char name[] = { 'n', '7', 'x', 'y' };
    struct usher_engine *e = opened();
    struct usher_reply *r;
    size_t size;

    r = SAY(e, USHER_NUMBER_SET, "p", USHER_T(F(ORDER), "random"), USHER_N(F(NOW), NOW));
    assert_int_equal(usher_reply_int(r, USHER_ANSWER, F(ORDER)), USHER_NUMBER_ORDER_RANDOM);
    assert_string_equal(usher_reply_word(r, USHER_ANSWER, F(ORDER)), "random");
    assert_null(usher_reply_word(r, USHER_ANSWER, F(LEASE)));
    assert_null(usher_reply_text(r, USHER_ANSWER, F(ORDER), NULL));
    assert_true(usher_reply_int(r, USHER_ANSWER, F(OWNER)) == USHER_NONE);
    assert_true(usher_reply_int(r, 0, F(ORDER)) == USHER_NONE);
    done(r, USHER_OK);
    r = SAY(e, USHER_NUMBER_SET, "p", USHER_N(F(ORDER), USHER_NUMBER_ORDER_MOST_RECENT));
    assert_string_equal(usher_reply_word(r, USHER_ANSWER, F(ORDER)), "most-recent");
    done(r, USHER_OK);
    done(SAY(e, USHER_NUMBER_SET, "p", { F(ORDER), 6, 0, "random behind it" }), USHER_OK);
    done(SAY(e, USHER_NUMBER_ADD, "p", { F(NUMBER), 2, 0, name }), USHER_OK);
    r = SAY(e, USHER_NUMBER_SHOW, "p", USHER_T(F(NUMBER), "n7"));
    assert_true(r->n_rows == 1);
    assert_string_equal(usher_reply_text(r, 0, F(NUMBER), &size), "n7");
    assert_true(size == 2);
    done(r, USHER_OK);
    /* a range is given back with the epoch of the reply */
    done(SAY(e, USHER_ID_CREATE, "i", USHER_N(F(NOW), NOW)), USHER_OK);
    r = SAY(e, USHER_ID_NEXT, "i", USHER_N(F(N), 10), USHER_N(F(NOW), NOW));
    assert_int_equal(r->status, USHER_OK);
    done(SAY(e, USHER_ID_RETURN, "i",
             USHER_N(F(FIRST), usher_reply_int(r, USHER_ANSWER, F(FIRST)) + 5), USHER_N(F(N), 5),
             USHER_N(F(EPOCH), (int64_t)(r->epoch ^ 1)),
             USHER_N(F(TOKEN), usher_reply_int(r, USHER_ANSWER, F(TOKEN)))),
         USHER_STALE);
    done(SAY(e, USHER_ID_RETURN, "i",
             USHER_N(F(FIRST), usher_reply_int(r, USHER_ANSWER, F(FIRST)) + 5), USHER_N(F(N), 5),
             USHER_N(F(EPOCH), (int64_t)r->epoch),
             USHER_N(F(TOKEN), usher_reply_int(r, USHER_ANSWER, F(TOKEN)))),
         USHER_OK);
    usher_reply_done(r);
    closed(e);
}

/* Only what applies is there. */
TEST(answer_has_only_the_fields_of_its_subject)
{
    struct usher_engine *e = opened();
    struct usher_reply *r;

    done(SAY(e, USHER_QUEUE_SET, "q", USHER_T(F(TRIGGER), "auto"), USHER_N(F(NOW), NOW)), USHER_OK);
    done(SAY(e, USHER_QUEUE_LOGIN, "q", USHER_T(F(AGENT), "a"), USHER_N(F(CAPACITY), 2)), USHER_OK);
    r = SAY(e, USHER_QUEUE_ALIVE, "q", USHER_T(F(AGENT), "a"));
    assert_null(usher_reply_text(r, USHER_ANSWER, F(ROOM), NULL));
    assert_int_equal(usher_reply_int(r, USHER_ANSWER, F(ROOMS)), 2);
    assert_string_equal(usher_reply_word(r, USHER_ANSWER, F(AGENT_STATE)), "idle");
    usher_reply_done(r);
    r = SAY(e, USHER_QUEUE_WHERE, "q", USHER_T(F(USER), "nobody"));
    assert_int_equal(r->status, USHER_MISSING);
    assert_true(usher_reply_int(r, USHER_ANSWER, F(INDEX)) == USHER_NONE);
    usher_reply_done(r);
    r = SAY(e, USHER_QUEUE_APPLY, "q", USHER_T(F(USER), "u"));
    assert_non_null(usher_reply_text(r, USHER_ANSWER, F(ROOM), NULL));
    assert_string_equal(usher_reply_word(r, USHER_ANSWER, F(PLACE)), "room");
    usher_reply_done(r);
    r = SAY(e, USHER_QUEUE_ALIVE, "q", USHER_T(F(USER), "u"));
    assert_non_null(usher_reply_text(r, USHER_ANSWER, F(ROOM), NULL));
    assert_true(usher_reply_int(r, USHER_ANSWER, F(AGENT_STATE)) == USHER_NONE);
    assert_true(usher_reply_int(r, USHER_ANSWER, F(ROOMS)) == USHER_NONE);
    usher_reply_done(r);
    done(SAY(e, USHER_SERIAL_RULE, "s", USHER_T(F(MODE), "gapfree"), USHER_T(F(PREFIX), "A-"),
             USHER_N(F(NOW), NOW)),
         USHER_OK);
    done(SAY(e, USHER_SERIAL_RESERVE, "s", USHER_T(F(OWNER), "o")), USHER_OK);
    r = SAY(e, USHER_SERIAL_SHOW, "s", USHER_T(F(SERIAL), "A-1"));
    assert_int_equal(r->status, USHER_OK);
    assert_true(usher_reply_int(r, USHER_ANSWER, F(START)) == USHER_NONE);
    assert_string_equal(usher_reply_text(r, 0, F(SERIAL), NULL), "A-1");
    usher_reply_done(r);
    r = SAY(e, USHER_SERIAL_PARSE, "s", USHER_T(F(SERIAL), "A-1"));
    assert_int_equal(usher_reply_int(r, USHER_ANSWER, F(NUMBER_MADE)), 1);
    done(r, USHER_OK);
    r = SAY(e, USHER_SERIAL_SHOW, "no such rule", USHER_N(F(NOW), NOW));
    assert_true(r->status == USHER_MISSING && r->n == 0);
    usher_reply_done(r);
    closed(e);
}

TEST(valid_commands_among_wrong_ones_are_done)
{
    enum { N = 1000 };
    static struct usher_command commands[N];
    static struct usher_value values[N][2];
    static struct usher_reply *replies[N];
    static char names[N][16];
    static int tags[N];
    struct usher_engine *e = opened();
    uint64_t version = 0;

    for (int i = 0; i < N; i++) {
        bool wrong = i % 3 == 1 || (i > 300 && i < 600);

        (void)snprintf(names[i], sizeof names[i], "n%d", i);
        values[i][0] = (struct usher_value)USHER_T(wrong ? F(OWNER) : F(NUMBER), names[i]);
        values[i][1] = (struct usher_value)USHER_N(F(NOW), NOW);
        commands[i] = (struct usher_command){ USHER_NUMBER_ADD, 1, "pool", values[i], 2, &tags[i] };
    }
    assert_int_equal(usher_execute(e, commands, N, 0, replies), USHER_OK);
    for (int i = 0; i < N; i++) {
        bool wrong = i % 3 == 1 || (i > 300 && i < 600);

        assert_int_equal(replies[i]->status, wrong ? USHER_INVALID : USHER_OK);
        assert_ptr_equal(replies[i]->tag, &tags[i]);
        if (!wrong) /* in order */
            assert_true(replies[i]->version == ++version);
        usher_reply_done(replies[i]);
    }
    closed(e);
}

/* ---- memory -------------------------------------------------------------------------------------
 */

static void *give_back(void *payload)
{
    struct usher_reply **replies = payload;

    for (int i = 0; i < 400; i++)
        usher_reply_done(replies[i]);
    return NULL;
}

TEST(replies_are_released_by_any_thread)
{
    enum { N = 1600 };
    static struct usher_command commands[N];
    static struct usher_reply *replies[N], *mixed[N];
    struct usher_value value = USHER_T(F(NUMBER), "n1");
    struct usher_engine *e = opened();
    pthread_t threads[4];

    make_pool(e);
    for (int i = 0; i < N; i++)
        commands[i] = (struct usher_command){ USHER_NUMBER_SHOW, -1, "p", &value, 1, NULL };
    assert_int_equal(usher_execute(e, commands, N, 0, replies), USHER_OK);
    for (int i = 0; i < N; i++)
        mixed[i] = replies[i * 7 % N];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, give_back, mixed + i * 400), 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    closed(e);
}

/* Make two calls; the second must get its answer, whatever happened to the first. */
static bool with_too_little(size_t n, unsigned long nth, bool for_ever)
{
    static char names[3][80];
    struct usher_value values[3][2];
    struct usher_command commands[4];
    struct usher_reply *replies[4] = { NULL, NULL, NULL, NULL };
    struct usher_engine *e = opened();
    enum usher_status status;
    char before[33], after[33];
    bool fired;

    make_pool(e);
    for (int i = 0; i < 3; i++) {
        (void)memset(names[i], 'n', sizeof names[i] - 1);
        names[i][0] = (char)('a' + i);
        values[i][0] = (struct usher_value)USHER_T(F(NUMBER), names[i]);
        values[i][1] = (struct usher_value)USHER_T(F(GROUP), "a group that has a long name");
        commands[i] = (struct usher_command){ USHER_NUMBER_ADD, -1, "p", values[i], 2, NULL };
    }
    commands[3] = (struct usher_command){ USHER_NUMBER_LIST, -1, "p", NULL, 0, NULL };
    if (n == 1)
        commands[0] = commands[3];
    digest(e, before);
    arm(&heap, nth, for_ever);
    status = usher_execute(e, commands, n, 0, replies);
    if (replies[0] == NULL)
        assert_string_equal(usher_message(), "execute: out of memory");
    fired = heap.fired;
    arm(&heap, 0, false);
    digest(e, after);
    if (replies[0] == NULL) {
        assert_true(fired && status == USHER_NOMEM);
        assert_string_equal(before, after);
    }
    for (size_t i = 0; i < n && replies[0] != NULL; i++) {
        const struct usher_reply *r = replies[i];

        assert_non_null(r);
        assert_true(r->status == USHER_OK || r->status == USHER_UNKNOWN ||
                    r->status == USHER_NOMEM);
        assert_true(r->status <= status);
        if (r->status != USHER_OK) {
            assert_true(fired && r->n == 0 && r->n_rows == 0);
            assert_string_not_equal(r->message, "");
        }
        if (r->status == USHER_OK && commands[i].verb == USHER_NUMBER_LIST)
            assert_true(r->n_rows > 0);
        if (commands[i].verb == USHER_NUMBER_ADD) { /* what is said is so */
            struct usher_reply *show = SAY(e, USHER_NUMBER_SHOW, "p", USHER_T(F(NUMBER), names[i]));

            assert_true(r->status == USHER_NOMEM ? show->status == USHER_MISSING
                                                 : show->status == USHER_OK);
            usher_reply_done(show);
        }
    }
    for (size_t i = 0; i < n && replies[0] != NULL; i++)
        usher_reply_done(replies[n - 1 - i]);
    closed(e);
    return fired;
}

TEST(reply_is_returned_when_memory_runs_out)
{
    for (int for_ever = 0; for_ever <= 1; for_ever++) {
        for (unsigned long nth = 1; with_too_little(1, nth, for_ever != 0); nth++)
            ;
        for (unsigned long nth = 1; with_too_little(4, nth, for_ever != 0); nth++)
            ;
    }
}

TEST(a_large_batch_takes_little_memory)
{
    static struct usher_command commands[USHER_BATCH_MAX];
    static struct usher_value values[USHER_BATCH_MAX];
    static struct usher_reply *replies[USHER_BATCH_MAX];
    static char names[USHER_BATCH_MAX][8];
    static const uint32_t verbs[] = { USHER_NUMBER_ADD, USHER_NUMBER_REG, USHER_NUMBER_CALL };
    struct usher_engine *e = opened();
    char line[100];

    for (size_t k = 0; k < 3; k++) {
        size_t before = heap.bytes, after, with, peak;

        for (size_t i = 0; i < USHER_BATCH_MAX; i++) {
            (void)snprintf(names[i], sizeof names[i], "n%zu", i);
            values[i] = (struct usher_value)USHER_T(k == 2 ? F(OWNER) : F(NUMBER), names[i]);
            commands[i] = (struct usher_command){ verbs[k], -1, "p", &values[i], 1, NULL };
        }
        heap.peak = before;
        assert_int_equal(usher_execute(e, commands, USHER_BATCH_MAX, 0, replies), USHER_OK);
        with = heap.bytes;
        peak = heap.peak;
        for (size_t i = 0; i < USHER_BATCH_MAX; i++) {
            assert_int_equal(replies[i]->status, USHER_OK);
            usher_reply_done(replies[i]);
        }
        after = heap.bytes;
        (void)snprintf(line, sizeof line, "%s: replies %.1f MB, at most %.1f MB above what stays",
                       usher_verb_word((enum usher_verb)verbs[k]), (double)(with - after) / 1e6,
                       (double)(peak - after) / 1e6);
        print_message("%s\n", line);
        assert_true(with - after <= 160 * USHER_BATCH_MAX);
    }
    closed(e);
}

/* ---- pages
 * --------------------------------------------------------------------------------------- */

/* All rows of a list, @max a page; @field is another one in each row. */
static size_t pages(struct usher_engine *e, uint32_t verb, const char *scope, int64_t max,
                    uint32_t field, const struct usher_value *with)
{
    static char seen[100][USHER_NAME_MAX + 1];
    char after[USHER_NAME_MAX + 1] = "";
    size_t n = 0;
    bool more = true;

    while (more) {
        struct usher_value values[3] = { USHER_N(F(MAX), max) };
        size_t k = 1;
        struct usher_reply *r;

        if (with != NULL)
            values[k++] = *with;
        if (after[0] != '\0')
            values[k++] = (struct usher_value)USHER_T(F(AFTER), after);
        r = say(e, verb, scope, k, values);
        assert_int_equal(r->status, USHER_OK);
        assert_true(r->n_rows <= (size_t)max);
        for (size_t i = 0; i < r->n_rows; i++) {
            assert_true(n < COUNT(seen));
            (void)snprintf(seen[n], sizeof seen[n], "%s", usher_reply_text(r, i, field, NULL));
            for (size_t m = 0; m < n; m++)
                assert_string_not_equal(seen[m], seen[n]);
            n++;
        }
        more = r->more;
        assert_true(more == (usher_reply_text(r, USHER_ANSWER, F(AFTER), NULL) != NULL));
        if (more)
            (void)snprintf(after, sizeof after, "%s",
                           usher_reply_text(r, USHER_ANSWER, F(AFTER), NULL));
        usher_reply_done(r);
    }
    return n;
}

TEST(lists_are_read_page_by_page)
{
    const struct usher_value busy = USHER_T(F(STATE), "busy"), node = USHER_T(F(NODE), "k");
    const struct usher_value seated = USHER_T(F(STATE), "seated");
    struct usher_engine *e = opened();
    char name[16];

    for (int i = 0; i < 40; i++) {
        (void)snprintf(name, sizeof name, "n%02d", i);
        done(SAY(e, USHER_NUMBER_ADD, "p", USHER_T(F(NUMBER), name), USHER_N(F(NOW), NOW)),
             USHER_OK);
        if (i % 2 != 0)
            continue;
        done(SAY(e, USHER_NUMBER_REG, "p", USHER_T(F(NUMBER), name)), USHER_OK);
        done(SAY(e, USHER_NUMBER_CALL, "p", USHER_T(F(OWNER), name), USHER_T(F(NODE), "k")),
             USHER_OK);
        done(SAY(e, USHER_QUEUE_LOGIN, "q", USHER_T(F(AGENT), name), USHER_N(F(NOW), NOW)),
             USHER_OK);
    }
    assert_int_equal(pages(e, USHER_NUMBER_LIST, "p", 7, F(NUMBER), NULL), 40);
    assert_int_equal(pages(e, USHER_NUMBER_LIST, "p", 20, F(NUMBER), NULL), 40);
    assert_int_equal(pages(e, USHER_NUMBER_LIST, "p", 3, F(NUMBER), &busy), 20);
    assert_int_equal(pages(e, USHER_NUMBER_LIST, "p", 3, F(OWNER), &node), 20);
    assert_int_equal(pages(e, USHER_QUEUE_AGENTS, "q", 6, F(AGENT), NULL), 20);
    for (int i = 0; i < 50; i++) {
        (void)snprintf(name, sizeof name, "u%02d", i);
        done(SAY(e, USHER_QUEUE_APPLY, "q", USHER_T(F(USER), name), USHER_N(F(NOW), NOW + i)),
             USHER_OK);
    }
    assert_int_equal(pages(e, USHER_QUEUE_LIST, "q", 4, F(USER), NULL), 30);
    assert_int_equal(pages(e, USHER_QUEUE_LIST, "q", 4, F(USER), &seated), 20);
    for (int i = 20; i < 50; i++) {
        (void)snprintf(name, sizeof name, "u%02d", i);
        done(SAY(e, USHER_QUEUE_LEAVE, "q", USHER_T(F(USER), name)), USHER_OK);
    }
    assert_int_equal(pages(e, USHER_QUEUE_HISTORY, "q", 4, F(USER), NULL), 30);
    closed(e);
}

/* The calls of a node are more than one command renews. */
TEST(calls_of_a_node_are_renewed_page_by_page)
{
    enum { N = 2500 };
    struct usher_engine *e = opened();
    char name[16], after[USHER_NAME_MAX + 1] = "";
    int64_t all = 0;
    int pages_read = 0;
    bool more = true;

    for (int i = 0; i < N; i++) {
        (void)snprintf(name, sizeof name, "n%d", i);
        done(SAY(e, USHER_NUMBER_ADD, "p", USHER_T(F(NUMBER), name), USHER_N(F(NOW), NOW)),
             USHER_OK);
        done(SAY(e, USHER_NUMBER_REG, "p", USHER_T(F(NUMBER), name)), USHER_OK);
        done(SAY(e, USHER_NUMBER_CALL, "p", USHER_T(F(NODE), "k"), USHER_N(F(NOW), NOW)), USHER_OK);
    }
    for (; more; pages_read++) {
        struct usher_value values[] = { USHER_T(F(NODE), "k"), USHER_N(F(LEASE), 90000),
                                        USHER_N(F(NOW), NOW + 1), USHER_T(F(AFTER), after) };
        struct usher_reply *r = say(e, USHER_NUMBER_RENEW, "p", after[0] != '\0' ? 4 : 3, values);

        assert_int_equal(r->status, USHER_OK);
        all += usher_reply_int(r, USHER_ANSWER, F(COUNT));
        more = r->more;
        if (more)
            (void)snprintf(after, sizeof after, "%s",
                           usher_reply_text(r, USHER_ANSWER, F(AFTER), NULL));
        usher_reply_done(r);
    }
    assert_int_equal(all, N);
    assert_true(pages_read > 1);
    closed(e);
}

/* ---- tables
 * ---------------------------------------------------------------------------------------- */

static bool type_fits(const struct usher__arg *arg, enum usher_type type)
{
    switch (arg->type) {
    case USHER__ARG_NAME:
    case USHER__ARG_GROUP:
    case USHER__ARG_GROUPS:
    case USHER__ARG_TEXT:
        return type == USHER_TYPE_TEXT;
    case USHER__ARG_EPOCH:
        return type == USHER_TYPE_TOKEN;
    case USHER__ARG_VALUE:
    case USHER__ARG_MAYBE:
    case USHER__ARG_FIELDS:
        return type == USHER_TYPE_BYTES;
    case USHER__ARG_TOKEN:
        return type == USHER_TYPE_TOKEN;
    case USHER__ARG_WORD:
        return type == USHER_TYPE_CODE;
    default:
        return type < USHER_TYPE_TEXT && type != USHER_TYPE_CODE && type != USHER_TYPE_TOKEN;
    }
}

TEST(verb_and_field_tables_agree)
{
    static bool used[1024];
    unsigned verbs = 0, nouns = 0;

    assert_null(usher_about_field(0));
    for (uint32_t verb = usher_next_verb(0), last = 0; verb != 0; verb = usher_next_verb(verb)) {
        struct usher_verb_about a = { .size = sizeof a };
        const struct usher__verb *v = usher__verb(verb);
        const struct usher__noun *noun = usher__noun(verb >> 8);
        unsigned must = 0;
        uint32_t field;
        bool needed;

        verbs++;
        nouns += verb >> 8 != last >> 8;
        assert_true(verb > last && verb >> 8 != USHER_ROOMS);
        last = verb;
        assert_true(usher_about_verb(verb, &a));
        assert_int_equal(usher_verb_of(a.noun, a.word), verb);
        assert_true(a.verb == verb && a.help[0] != '\0');
        assert_true(((a.flags & USHER_VERB_WHOLE) != 0) == (verb >> 8 == USHER_STORE));
        assert_true(((a.flags & USHER_VERB_WRITES) != 0) == ((v->flags & USHER__WRITES) != 0));
        for (size_t i = 0; (field = usher_verb_takes(verb, i, &needed)) != 0; i++) {
            const struct usher_field_about *about = usher_about_field(field);

            assert_non_null(about);
            if (usher_field_of(verb, about->word) != field)
                fail_msg("%s %s: two fields are called %s", a.noun, a.word, about->word);
            must += needed;
            assert_true(needed == (must == i + 1)); /* those first */
            for (size_t k = 0; k < i; k++)
                assert_true(usher_verb_takes(verb, k, NULL) != field);
            used[field] = true;
        }
        assert_int_equal(must, __builtin_popcountll(v->order));
        for (uint64_t bits = v->order | v->keys; bits != 0; bits &= bits - 1) {
            const struct usher__arg *arg = &noun->args[__builtin_ctzll(bits)];

            if (!type_fits(arg, usher_about_field(arg->code)->type))
                fail_msg("%s %s: the type of %s does not fit", a.noun, a.word, arg->word);
            assert_string_equal(usher_about_field(arg->code)->word, arg->word);
            for (int64_t code = arg->min; arg->type == USHER__ARG_WORD && code <= arg->max; code++)
                assert_string_equal(usher_code_word((enum usher_noun)noun->noun, arg->code, code),
                                    arg->words[code]);
        }
        for (int rows = 0; rows <= 1; rows++)
            for (size_t i = 0; (field = usher_verb_tells(verb, rows != 0, i)) != 0; i++) {
                assert_non_null(usher_about_field(field));
                for (size_t k = 0; k < i; k++)
                    if (usher_verb_tells(verb, rows != 0, k) == field)
                        fail_msg("%s %s tells %s twice", a.noun, a.word,
                                 usher_about_field(field)->name);
                used[field] = true;
            }
        assert_int_equal(usher_field_of(verb, "no such word"), 0);
        assert_int_equal(usher_field_of(verb, NULL), 0);
    }
    assert_int_equal(nouns, 6);
    for (unsigned noun = 1; noun <= USHER_STORE; noun++)
        if (noun != USHER_ROOMS && usher__noun(noun) != NULL)
            verbs -= usher__noun(noun)->n_verbs;
    assert_int_equal(verbs, 0);
    for (uint32_t field = 1; usher_about_field(field) != NULL; field++) {
        const struct usher_field_about *about = usher_about_field(field);

        assert_int_equal(about->field, field);
        if (!used[field] && field != F(FORM))
            fail_msg("no verb has a use for %s", about->name);
    }
    assert_false(usher_about_verb(USHER_ROOMS_PUT, &(struct usher_verb_about){ .size = 64 }));
    assert_false(usher_about_verb(USHER_NUMBER_ADD, NULL));
    assert_int_equal(usher_verb_of("rooms", "put"), 0);
    assert_int_equal(usher_verb_of("number", "put"), 0);
    assert_int_equal(usher_verb_of(NULL, "put"), 0);
    assert_int_equal(usher_verb_of(NULL, "scopes"), USHER_STORE_SCOPES);
    assert_int_equal(usher_verb_of("", "scopes"), USHER_STORE_SCOPES);
    assert_int_equal(usher_verb_of("", "room list"), 0);
    assert_int_equal(usher_verb_of("store", "scopes"), 0);
    assert_int_equal(usher_verb_of("room", "scopes"), 0);
    assert_int_equal(usher_verb_of("room", "list"), USHER_STORE_ROOM_LIST);
    assert_int_equal(usher_verb_of("room", NULL), 0);
    assert_int_equal(usher_verb_takes(USHER_ROOMS_PUT, 0, NULL), 0);
    assert_int_equal(usher_verb_tells(USHER_ROOMS_PUT, false, 0), 0);
    assert_int_equal(usher_next_verb(UINT32_MAX), 0);
    assert_int_equal(usher_next_verb(USHER_NUMBER_EXPIRE), USHER_QUEUE_SET);
}

/* The least that @verb must be given, but for @but.  Returns how many. */
static size_t least_of(uint32_t verb, uint32_t but, struct usher_value *values)
{
    struct usher_argument_about about = { .size = sizeof about };
    uint32_t field;
    size_t n = 0;
    bool must;

    for (size_t i = 0; (field = usher_verb_takes(verb, i, &must)) != 0 && must; i++) {
        assert_true(usher_about_argument(verb, field, &about) && about.must);
        if (field == but)
            continue;
        values[n] = (struct usher_value){ .field = field, .number = about.min };
        if (usher_about_field(field)->type >= USHER_TYPE_TEXT)
            values[n] = (struct usher_value)USHER_T(field, "x");
        n++;
    }
    return n;
}

static void out_of_range(struct usher_engine *e, uint32_t verb, uint32_t field, int64_t number)
{
    struct usher_value values[8];
    struct usher_command command = { .verb = verb, .scope = "x", .scope_size = USHER_TO_NUL };
    struct usher_reply *reply;
    char told[64];

    if (usher__noun(verb >> 8)->whole)
        command.scope = NULL;
    command.values = values;
    command.n = least_of(verb, field, values);
    values[command.n++] = (struct usher_value){ .field = field, .number = number };
    (void)usher_execute(e, &command, 1, 0, &reply);
    (void)snprintf(told, sizeof told, "%s is not ", usher_about_field(field)->word);
    if (reply->status != USHER_INVALID || strstr(reply->message, told) == NULL)
        fail_msg("%x %s=%" PRId64 ": %s", verb, told, number, reply->message);
    usher_reply_done(reply);
}

/* Ranges are kept. */
TEST(arguments_have_their_help_and_ranges)
{
    struct usher_argument_about about = { .size = sizeof about };
    struct usher_engine *e = opened();
    unsigned ranges = 0;
    uint32_t field;

    for (uint32_t verb = 0; (verb = usher_next_verb(verb)) != 0;)
        for (size_t i = 0; (field = usher_verb_takes(verb, i, NULL)) != 0; i++) {
            enum usher_type type = usher_about_field(field)->type;

            if (field == F(REQUEST) || field == F(NOW) || field == F(WAIT)) {
                assert_false(usher_about_argument(verb, field, &about));
                continue;
            }
            assert_true(usher_about_argument(verb, field, &about));
            assert_true(about.field == field && about.help[0] != '\0');
            if (type >= USHER_TYPE_TOKEN) {
                assert_true(about.min == 0 && about.max == 0 && about.standard == USHER_NONE);
                continue;
            }
            ranges++;
            assert_true(about.standard == USHER_NONE ||
                        (about.standard >= about.min && about.standard <= about.max));
            if (about.min > INT64_MIN + 1)
                out_of_range(e, verb, field, about.min - 1);
            if (about.max < INT64_MAX)
                out_of_range(e, verb, field, about.max + 1);
        }
    assert_in_range(ranges, 80, 1000);
    assert_true(usher_about_argument(USHER_SERIAL_TAKE, F(N), &about));
    assert_int_equal(about.max, USHER_SERIAL_TAKE_MAX);
    assert_false(usher_about_argument(USHER_NUMBER_ADD, F(LEASE), &about));
    assert_false(usher_about_argument(USHER_ROOMS_PUT, F(ROOM), &about));
    assert_false(usher_about_argument(USHER_NUMBER_CALL, F(LEASE), NULL));
    about.size = sizeof about.size - 1;
    assert_false(usher_about_argument(USHER_NUMBER_CALL, F(LEASE), &about));
    about.size = offsetof(struct usher_argument_about, max);
    about.max = 7;
    assert_true(usher_about_argument(USHER_NUMBER_CALL, F(LEASE), &about));
    assert_true(about.size == offsetof(struct usher_argument_about, max) && about.max == 7);
    usher_close(e);
}

/* A scope made without settings has the documented defaults. */
TEST(settings_have_the_documented_defaults)
{
    static const struct {
        uint32_t verb, field; /* which one makes it, as it is by itself */
    } made[] = { { USHER_NUMBER_SET, F(REST) },
                 { USHER_QUEUE_SET, F(GRACE) },
                 { USHER_ROOM_OPEN, 0 },
                 { USHER_SERIAL_RULE, 0 },
                 { USHER_ID_CREATE, 0 } };
    struct usher_argument_about about = { .size = sizeof about };
    struct usher_engine *e = opened();
    unsigned defaults = 0;
    uint32_t field;

    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        struct usher_value value = { .field = made[i].field };
        struct usher_command command = { .verb = made[i].verb,
                                         .scope = "defaults",
                                         .scope_size = USHER_TO_NUL,
                                         .values = &value,
                                         .n = made[i].field != 0 };
        struct usher_reply *reply;

        (void)usher_execute(e, &command, 1, 0, &reply);
        assert_int_equal(reply->status, USHER_OK);
        for (size_t k = 0; (field = usher_verb_takes(command.verb, k, NULL)) != 0; k++) {
            uint32_t told =
                field == F(STEP) && command.verb == USHER_ID_CREATE ? F(STEP_FIRST) : field;

            if (!usher_about_argument(command.verb, field, &about) || field == F(IF_VERSION) ||
                usher_about_field(field)->type >= USHER_TYPE_TOKEN)
                continue;
            if (usher_reply_int(reply, USHER_ANSWER, told) != about.standard)
                fail_msg("%s is %" PRId64, usher_about_field(field)->name,
                         usher_reply_int(reply, USHER_ANSWER, told));
            defaults++;
        }
        usher_reply_done(reply);
    }
    assert_in_range(defaults, 40, 1000);
    usher_close(e);
}

/* A field in a table is stored as what its type says. */
TEST(field_types_are_those_stored)
{
    for (unsigned code = 1; code < USHER_ROOMS; code++) {
        const struct usher__noun *noun = usher__noun(code);
        const struct usher__field *lists[] = { noun->outs, noun->extras, noun->row, noun->views,
                                               noun->row_views };
        const unsigned n[] = { noun->n_outs, noun->n_extras, noun->n_row, noun->n_views,
                               noun->n_row_views };

        for (unsigned list = 0; list < 5; list++)
            for (unsigned i = 0; i < n[list]; i++) {
                const struct usher__field *f = &lists[list][i];
                enum usher_type type = usher_about_field(f->code)->type;
                bool text = f->type == USHER__FIELD_NAME || f->type >= USHER__FIELD_TEXT;

                if ((type >= USHER_TYPE_TEXT) != text ||
                    (f->type == USHER__FIELD_BOOL && type != USHER_TYPE_BOOL) ||
                    (f->type == USHER__FIELD_CODE && type != USHER_TYPE_CODE))
                    fail_msg("%s %s is stored otherwise", noun->word,
                             usher_about_field(f->code)->name);
            }
    }
}

/* ---- time
 * ------------------------------------------------------------------------------------------- */

#ifdef USHER_WITH_REDIS
#define TIMEOUT 300
#define PATIENT 20000 /* of the engine: a call that takes half of it has not looked at its own */

static void in_time(struct usher_engine *e, const struct usher_command *commands, size_t n)
{
    static struct usher_reply *replies[1000];
    int64_t began = clock_ms();
    enum usher_status status = usher_execute(e, commands, n, TIMEOUT, replies);

    assert_true(status == USHER_UNAVAILABLE || status == USHER_UNKNOWN);
    assert_true(clock_ms() - began < PATIENT / 2);
    for (size_t i = 0; i < n; i++) {
        assert_true(replies[i]->status >= USHER_UNAVAILABLE);
        assert_string_not_equal(replies[i]->message, "");
        usher_reply_done(replies[i]);
    }
}

TEST(a_timeout_of_the_call_is_kept)
{
    static struct usher_command commands[1000];
    struct usher_value number = USHER_T(F(NUMBER), "n1"), agent = USHER_T(F(AGENT), "a");
    struct redis_server *server = redis_server_start(NULL);
    struct usher_options opt = USHER_OPTIONS_INIT;
    struct usher_history *history;
    struct fake_authority authority;
    char url[REDIS_URL_MAX];

    if (server == NULL)
        stores_skip("redis");
    fake_authority_init(&authority);
#ifdef USHER_WITH_SQLITE
    (void)snprintf(url, sizeof url, "sqlite:%s/visits.db", redis_server_dir(server));
    assert_int_equal(usher_history_open(url, NULL, &history), USHER_OK);
#else
    history = NULL;
#endif
    for (int sides = 0; sides <= 1; sides++) {
        struct usher_engine *e;

        opt.timeout_ms = PATIENT;
        opt.authority = sides ? &authority.base : NULL;
        opt.journal = sides;
        opt.history = sides ? history : NULL;
        assert_int_equal(usher_open(redis_server_url(server, url), &opt, &e), USHER_OK);
        commands[0] = (struct usher_command){ USHER_NUMBER_ADD, -1, "p", &number, 1, NULL };
        commands[1] = (struct usher_command){ USHER_ROOM_OPEN, -1, "r", NULL, 0, NULL };
        commands[2] = (struct usher_command){ USHER_QUEUE_LOGIN, -1, "q", &agent, 1, NULL };
        commands[3] = (struct usher_command){ USHER_SERIAL_TAKE, -1, "s", NULL, 0, NULL };
        commands[4] = (struct usher_command){ USHER_QUEUE_DRAIN, -1, "q", NULL, 0, NULL };
        assert_int_equal(redis_server_kill(server, SIGSTOP), 0);
        for (int i = 0; i < 5; i++)
            in_time(e, &commands[i], 1);
        in_time(e, commands, 5);
        for (int i = 5; i < 1000; i++)
            commands[i] = commands[i % 5];
        in_time(e, commands, 1000);
        assert_int_equal(redis_server_kill(server, SIGCONT), 0);
        assert_true(redis_do_ok(server, "PING", NULL));
        usher_close(e);
    }
    usher_history_close(history);
    fake_authority_done(&authority);
    redis_server_stop(server);
}
#endif
