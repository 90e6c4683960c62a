/* SPDX-License-Identifier: MIT */
/*
 * Every verb that the library lists is called by values alone: in a batch, posted, and as a line.
 * Verbs of the store as a whole (src/nouns/store/store.c) return what the functions of C return.
 */
#include "lib/test.h"

#include <usher/command.h>
#include <usher/room.h>

#include <usher/store/store.h>

#include "change/memory.h"
#include "change/result.h"
#include "lib/util.h"

#define F(name) USHER_FIELD_##name
#define COUNT(array) (sizeof(array) / sizeof *(array))

static struct usher_reply *execute(struct usher_engine *e, uint32_t verb, const char *scope,
                                   const struct usher_value *values, size_t n)
{
    const struct usher_command c = { verb, USHER_TO_NUL, scope, values, n, NULL };
    struct usher_reply *reply = NULL;

    (void)usher_execute(e, &c, 1, 0, &reply);
    assert_non_null(reply);
    assert_int_equal(reply->verb, verb);
    return reply;
}

static struct usher_reply *said(struct usher_engine *e, const char *line)
{
    uint64_t room[512];
    struct usher_command c;
    struct usher_reply *reply = NULL;

    if (usher_command_parse(line, strlen(line), room, sizeof room, &c) != USHER_OK)
        fail_msg("%s: %s", line, usher_message());
    (void)usher_execute(e, &c, 1, 0, &reply);
    assert_non_null(reply);
    return reply;
}

/* @line is answered with @status; then the answer as JSON, from its first key that is its own, is
 * @json (NULL: anything). */
static void answered(struct usher_engine *e, const char *line, enum usher_status status,
                     const char *json)
{
    struct usher_reply *reply = said(e, line);
    char text[2048], *own;

    if (reply->status != status)
        fail_msg("%s: %s %s", line, usher_status_word(reply->status), reply->message);
    assert_in_range(usher_reply_write(reply, USHER_FORM_JSON, text, sizeof text), 1,
                    sizeof text - 1);
    own = strstr(text, "\"due\":null,");
    if (json != NULL && (own == NULL || strcmp(own + 11, json) != 0))
        fail_msg("%s: %s", line, text);
    usher_reply_done(reply);
}

static void done(struct usher_engine *e, const char *line)
{
    answered(e, line, USHER_OK, NULL);
}

/* The arguments that @verb must have. */
static size_t least(uint32_t verb, struct usher_value *values)
{
    struct usher_argument_about about = { .size = sizeof about };
    uint32_t field;
    bool must;
    size_t n = 0;

    for (size_t i = 0; (field = usher_verb_takes(verb, i, &must)) != 0 && must; i++) {
        assert_true(usher_about_argument(verb, field, &about));
        values[n] = (struct usher_value){ .field = field, .number = about.min };
        if (usher_about_field(field)->type >= USHER_TYPE_TEXT)
            values[n] = (struct usher_value)USHER_T(field, "x");
        n++;
    }
    return n;
}

/* No verb is refused as one that is not known, or for want of a scope. */
TEST(each_verb_is_called_by_values)
{
    struct usher_engine *e = engine_on_url("memory:", NULL);
    struct usher_verb_about about = { .size = sizeof about };
    struct usher_command all[256];
    struct usher_value values[256][8];
    struct usher_reply *replies[256];
    size_t n = 0, whole = 0;

    for (uint32_t verb = 0; (verb = usher_next_verb(verb)) != 0; n++) {
        struct usher_command *c = &all[n];

        assert_true(n < COUNT(all) && usher_about_verb(verb, &about));
        *c = (struct usher_command){ .verb = verb, .scope_size = USHER_TO_NUL };
        if ((about.flags & USHER_VERB_WHOLE) == 0)
            c->scope = "x";
        whole += (about.flags & USHER_VERB_WHOLE) != 0;
        c->values = values[n];
        c->n = least(verb, values[n]);
        c->tag = c;
        assert_int_equal(usher_verb_of(about.noun, about.word), verb);
        usher_reply_done(execute(e, verb, c->scope, c->values, c->n));
    }
    assert_true(whole >= 10 && n > 80);
    assert_true(usher_execute(e, all, n, 0, replies) <= USHER_OK);
    for (size_t i = 0; i < n; i++) {
        const char *line = replies[i]->message;

        assert_int_equal(replies[i]->verb, all[i].verb);
        if (strstr(line, "verb") != NULL || strstr(line, "scope") != NULL)
            fail_msg("%x: %s", all[i].verb, line);
        usher_reply_done(replies[i]);
    }
    /* the same later, in the order of posting */
    assert_int_equal(usher_post(e, all, n, 0), USHER_OK);
    for (size_t i = 0; i < n; i++) {
        const struct usher_event *event = usher_collect(e, 0);

        assert_non_null(event);
        assert_int_equal(event->kind, USHER_EVENT_REPLY);
        assert_ptr_equal(event->tag, &all[i]);
        assert_int_equal(event->reply->verb, all[i].verb);
        usher_event_done(event);
    }
    usher_close(e);
}

TEST(lists_have_their_rows)
{
    struct usher_engine *e = engine_on_url("memory:?clock=given", NULL);
    struct usher_reply *reply;

    answered(e, "room list", USHER_OK,
             "\"rooms\":[],\"next\":null,\"more\":false,\"partial\":false}");
    done(e, "room open b now=1000");
    done(e, "room open a linger=9000 now=1000");
    done(e, "room open c now=1000");
    done(e, "number add p 1 now=1000");
    done(e, "number add p 2 now=1000");
    done(e, "serial rule s now=1000");
    answered(e, "room list now=1000", USHER_OK,
             "\"rooms\":[\"a\",\"b\",\"c\"],\"next\":null,\"more\":false,\"partial\":false}");
    answered(e, "room list max=2 now=1000", USHER_OK,
             "\"rooms\":[\"a\",\"b\"],\"next\":\"b\",\"more\":true,\"created\":1000,"
             "\"partial\":false}");
    answered(e, "room list after=b created=1000 now=1000", USHER_OK,
             "\"rooms\":[\"c\"],\"next\":null,\"more\":false,\"partial\":false}");
    answered(e, "room list after=zz", USHER_MISSING,
             "\"rooms\":[],\"next\":null,\"more\":false,\"partial\":false}");
    answered(e, "serial list", USHER_OK, "\"rules\":[\"s\"]}");
    /* a patrol has the rooms once */
    reply = said(e, "room patrol w1 batch=2 every=1d now=2000");
    assert_int_equal(reply->n_rows, 2);
    assert_int_equal(usher_reply_int(reply, 0, F(SINCE)), 1000);
    usher_reply_done(reply);
    reply = said(e, "room patrol w2 now=2000");
    assert_int_equal(reply->n_rows, 1);
    usher_reply_done(reply);
    /* scopes, in pages */
    reply = said(e, "scopes");
    assert_int_equal(reply->n_rows, 5);
    assert_string_equal(usher_reply_text(reply, 0, F(SCOPE), NULL), "number/p");
    assert_int_equal(usher_reply_int(reply, 0, F(ITEMS)), 2);
    assert_int_equal(usher_reply_int(reply, 0, F(VERSION)), 2);
    assert_true(usher_reply_int(reply, 0, F(EPOCH)) != USHER_NONE);
    assert_int_equal(usher_reply_int(reply, 0, F(DUE)), USHER_NONE);
    assert_string_equal(usher_reply_text(reply, 1, F(SCOPE), NULL), "room/a");
    assert_int_equal(usher_reply_int(reply, 1, F(DUE)), 10000);
    usher_reply_done(reply);
    reply = said(e, "scopes room max=2");
    assert_true(reply->n_rows == 2 && reply->more);
    assert_string_equal(usher_reply_text(reply, USHER_ANSWER, F(AFTER), NULL), "room/b");
    usher_reply_done(reply);
    reply = said(e, "scopes after=room/b");
    assert_true(reply->n_rows == 2 && !reply->more);
    assert_string_equal(usher_reply_text(reply, 1, F(SCOPE), NULL), "serial/s");
    assert_null(usher_reply_text(reply, USHER_ANSWER, F(AFTER), NULL));
    usher_reply_done(reply);
    usher_close(e);
}

TEST(digests_are_those_of_the_functions)
{
    static const struct {
        const char *make, *line;
        enum usher_noun noun;
    } scopes[] = {
        { "number add x 1", "number digest x", USHER_NUMBER },
        { "queue login x ann", "queue digest x", USHER_QUEUE },
        { "room open x", "room digest x", USHER_ROOM },
        { "serial rule x", "serial digest x", USHER_SERIAL },
        { "id create x", "id digest x", USHER_ID },
    };
    struct usher_engine *e = engine_on_url("memory:", NULL);
    char digest[33];
    uint64_t epoch, version;

    answered(e, "room digest x", USHER_MISSING, NULL);
    for (size_t i = 0; i < COUNT(scopes); i++) {
        struct usher_reply *reply;

        done(e, scopes[i].make);
        reply = said(e, scopes[i].line);
        assert_int_equal(reply->status, USHER_OK);
        if (scopes[i].noun == USHER_ROOM)
            assert_int_equal(usher_room_digest(e, "x", &epoch, &version, digest), USHER_OK);
        else
            assert_int_equal(usher_digest(e, scopes[i].noun, "x", digest), USHER_OK);
        assert_string_equal(usher_reply_text(reply, USHER_ANSWER, F(DIGEST), NULL), digest);
        assert_true(reply->epoch != 0 && reply->version > 0);
        usher_reply_done(reply);
    }
    usher_close(e);
}

#ifdef USHER_WITH_SQLITE
TEST(the_journal_is_read_in_pages)
{
    char url[256];
    struct usher_engine *e;
    struct usher_reply *reply;
    int64_t next;

    (void)snprintf(url, sizeof url, "memory:?authority=sqlite:%s/a.db&journal=1", test_dir());
    e = engine_on_url(url, NULL);
    done(e, "serial rule r mode=gapfree prefix=R");
    done(e, "serial reserve r owner=ann");
    done(e, "serial reserve r owner=bob");
    done(e, "serial reserve r");
    reply = said(e, "serial journal r max=2");
    assert_true(reply->n_rows == 2 && reply->more);
    assert_string_equal(usher_reply_text(reply, 0, F(SERIAL), NULL), "R1");
    assert_string_equal(usher_reply_text(reply, 1, F(OWNER), NULL), "bob");
    assert_string_equal(usher_reply_word(reply, 0, F(VERB)), "reserve");
    assert_int_equal(usher_reply_int(reply, 0, F(NUMBER_MADE)), 1);
    assert_int_equal(usher_reply_int(reply, 0, F(TWICE)), 0);
    next = usher_reply_int(reply, USHER_ANSWER, F(NEXT));
    assert_int_equal(next, usher_reply_int(reply, 1, F(ROW)));
    usher_reply_done(reply);
    reply = execute(
        e, USHER_STORE_SERIAL_JOURNAL, NULL,
        (const struct usher_value[]){ USHER_T(F(RULE), "r"), USHER_N(F(SINCE_VERSION), next) }, 2);
    assert_true(reply->n_rows == 1 && !reply->more);
    assert_string_equal(usher_reply_text(reply, 0, F(SERIAL), NULL), "R3");
    usher_reply_done(reply);
    usher_close(e);
}
#endif

TEST(wrong_arguments_are_refused_by_name)
{
    static const struct {
        uint32_t verb;
        const char *scope;
        struct usher_value value;
        size_t n;
        const char *message;
    } wrong[] = {
        { USHER_STORE_ROOM_LIST, "r", { 0 }, 0, "`room list` has no scope" },
        { USHER_STORE_SCOPES, NULL, USHER_T(F(AFTER), "p"), 1, "scopes: after is not NOUN/NAME" },
        { USHER_STORE_SCOPES, NULL, USHER_T(F(AFTER), "rooms/p"), 1,
          "scopes: after is not NOUN/NAME" },
        { USHER_STORE_SCOPES, NULL, USHER_T(F(AFTER), "room/"), 1, "scopes: after is empty" },
        { USHER_STORE_SCOPES, NULL, USHER_N(F(NOUN), 6), 1, "noun is not from 1 to 5" },
        { USHER_STORE_SCOPES, NULL, USHER_N(F(MAX), 0), 1, "max is not from 1 to 10000" },
        { USHER_STORE_SCOPES, NULL, USHER_N(F(WAIT), 1), 1, "wait is not an argument of `scopes`" },
        { USHER_STORE_ROOM_LIST, NULL, USHER_T(F(AFTER), "a{b"), 1, "after contains a brace" },
        { USHER_STORE_ROOM_LIST,
          NULL,
          { F(AFTER), 3, 0, "a\0b" },
          1,
          "after contains invalid UTF-8 or a control character" },
        { USHER_STORE_ROOM_PATROL, NULL, { 0 }, 0, "worker is missing" },
        { USHER_STORE_SERIAL_JOURNAL, NULL, { 0 }, 0, "rule is missing" },
        { USHER_STORE_SERIAL_JOURNAL, NULL, USHER_T(F(RULE), "{"), 1, "rule contains a brace" },
        { USHER_STORE_SERIAL_JOURNAL, NULL, USHER_T(F(RULE), "r"), 1,
          "serial journal: the store has no authority, which keeps the journal" },
        { USHER_STORE_ID_DIGEST, NULL, USHER_T(F(SCOPE), ""), 1, "scope is empty" },
        { USHER_STORE_SERIAL_LIST, NULL, USHER_N(F(MAX), 1), 1,
          "max (MAX) is not an argument of `serial list`" },
    };
    struct usher_engine *e = engine_on_url("memory:", NULL);

    for (size_t i = 0; i < COUNT(wrong); i++) {
        struct usher_reply *reply =
            execute(e, wrong[i].verb, wrong[i].scope, &wrong[i].value, wrong[i].n);

        assert_int_equal(reply->status, USHER_INVALID);
        assert_string_equal(reply->message, wrong[i].message);
        assert_int_equal(reply->n_rows, 0);
        usher_reply_done(reply);
    }
    usher_close(e);
}

/* No scope is of it: other functions take it as a noun that is not known. */
TEST(the_store_as_a_whole_is_no_noun_of_scopes)
{
    struct usher_engine *e = engine_on_url("memory:", NULL);
    struct usher_watcher *watcher;
    char text[64], digest[33];
    size_t length;

    assert_int_equal(usher_digest(e, USHER_STORE, "x", digest), USHER_INVALID);
    assert_int_equal(usher_drop(e, USHER_STORE, "x", NULL), USHER_INVALID);
    assert_int_equal(usher_watch_events(e, USHER_STORE, NULL, 0, 0, NULL, &watcher), USHER_INVALID);
    assert_int_equal(usher_table("store", USHER_TABLE_LUA, text, sizeof text, &length),
                     USHER_INVALID);
    usher_close(e);
}

/* A text of an argument need not end with a NUL, and the longest name is a place, too. */
TEST(longest_name_is_a_cursor_of_scopes)
{
    struct usher_engine *e = engine_on_url("memory:", NULL);
    char name[USHER_NAME_MAX + 1], place[USHER_NAME_MAX + 32], line[USHER_NAME_MAX + 32];
    struct usher_reply *reply;

    memset(name, 'n', USHER_NAME_MAX);
    name[USHER_NAME_MAX] = '\0';
    (void)snprintf(line, sizeof line, "serial rule %s", name);
    done(e, line);
    done(e, "serial rule o");
    reply = said(e, "scopes max=1");
    (void)snprintf(place, sizeof place, "serial/%s", name);
    assert_string_equal(usher_reply_text(reply, USHER_ANSWER, F(AFTER), NULL), place);
    usher_reply_done(reply);
    reply = execute(e, USHER_STORE_SCOPES, NULL, &(struct usher_value)USHER_T(F(AFTER), place), 1);
    assert_int_equal(reply->n_rows, 1);
    usher_reply_done(reply);
    reply = execute(e, USHER_STORE_SERIAL_DIGEST, "",
                    &(struct usher_value){ F(SCOPE), 1, 0, "other" }, 1);
    assert_int_equal(reply->status, USHER_OK);
    assert_non_null(usher_reply_text(reply, USHER_ANSWER, F(DIGEST), NULL));
    usher_reply_done(reply);
    usher_close(e);
}

/* A part of the store did not answer: the rows are there, and the message. */
TEST(a_partial_answer_has_rows_and_a_message)
{
    static const char text[] =
        "{\"status\":\"unavailable\",\"epoch\":\"0000000000000000\","
        "\"version\":0,\"due\":null,\"message\":\"4 of 64 parts\","
        "\"rooms\":[\"hall\"],\"next\":null,\"more\":false,\"partial\":true}";
    static const char failed[] = "{\"status\":\"unavailable\",\"message\":\"4 of 64 parts\"}";
    const struct usher_operation op = { .verb = USHER_STORE_ROOM_LIST };
    const struct usher_store_result_row row = { .name = { "hall", 4 }, .since_ms = 1000 };
    struct usher_result r;
    struct usher_reply *reply;
    char to[512];

    usher__result_init(&r, USHER_STORE, usher__allocator(NULL));
    assert_int_equal(usher_result_add_row(&r, USHER_STORE, &row), USHER_OK);
    r.status = USHER_UNAVAILABLE;
    (void)snprintf(r.message, sizeof r.message, "4 of 64 parts");
    for (int partial = 1; partial >= 0; partial--) {
        r.of.store.partial = partial != 0;
        reply = usher_reply_of(&op, &r);
        assert_non_null(reply);
        assert_int_equal(reply->n_rows, partial);
        assert_int_equal(reply->status, USHER_UNAVAILABLE);
        assert_string_equal(reply->message, "4 of 64 parts");
        assert_in_range(usher_reply_write(reply, USHER_FORM_JSON, to, sizeof to), 1, sizeof to - 1);
        assert_string_equal(to, partial ? text : failed);
        assert_in_range(usher_reply_write(reply, USHER_FORM_RESP3, to, sizeof to), 1,
                        sizeof to - 1);
        assert_int_equal(to[0], partial ? '%' : '-');
        usher_reply_done(reply);
    }
    usher_result_done(&r);
}
