/* SPDX-License-Identifier: MIT */
/* Extensions of rooms, on memory. */
#include "lib/test.h"

#include <usher/extension.h>

#include "lib/calls.h"
#include "lib/util.h"

struct world {
    struct usher_engine *e;
    struct usher_extension *board, *chat;
    char told[1024]; /* the notices of `board`, in words */
    char other[1024];
};

static void append(char to[1024], const char *word, const struct usher_text *text)
{
    size_t n = strlen(to);

    (void)snprintf(to + n, 1024 - n, "%s%.*s", word, (int)text->size,
                   text->data != NULL ? text->data : "");
}

static void note(char to[1024], const struct usher_extension_event *event)
{
    static const char *const words[] = { "set ",  "unset ", "made ",  "gone ",
                                         "left ", "closed", "untold " };

    append(to, words[event->what], &event->name);
    if (event->what == USHER_EXTENSION_SET)
        append(to, "=", &event->value);
    if (event->what == USHER_EXTENSION_MADE)
        append(to, " of ", &event->owner);
    append(to, ";", &(struct usher_text){ "", 0 });
}

static void board_told(void *payload, const struct usher_extension_event *event)
{
    note(((struct world *)payload)->told, event);
}

static void chat_told(void *payload, const struct usher_extension_event *event)
{
    note(((struct world *)payload)->other, event);
}

static int setup(void **state)
{
    struct world *w = calloc(1, sizeof *w);

    assert_non_null(w);
    assert_int_equal(usher_open("memory:", NULL, &w->e), USHER_OK);
    assert_int_equal(usher_room_extend(w->e, "board", board_told, w, &w->board), USHER_OK);
    assert_int_equal(usher_room_extend(w->e, "chat", chat_told, w, &w->chat), USHER_OK);
    assert_int_equal(ask_room_open(w->e, "r", NULL), USHER_OK);
    assert_int_equal(ask_room_join(w->e, "r", "ann", NULL), USHER_OK);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;

    audit(w->e);
    usher_extension_close(w->board);
    usher_extension_close(w->chat);
    usher_close(w->e);
    free(w);
    return 0;
}

TEST_EACH(setup, teardown);

TEST(names_are_checked)
{
    struct world *w = *state;
    struct usher_extension *x = NULL;
    struct usher_text one = text("1");
    struct usher_reply *reply;
    char name[USHER_NAME_MAX + 1];

    memset(name, 'x', sizeof name);
    name[USHER_EXTENSION_NAME_MAX + 1] = '\0';
    assert_int_equal(usher_room_extend(w->e, name, NULL, NULL, &x), USHER_INVALID);
    assert_int_equal(usher_room_extend(w->e, "", NULL, NULL, &x), USHER_INVALID);
    assert_int_equal(usher_room_extend(w->e, NULL, NULL, NULL, &x), USHER_INVALID);
    assert_int_equal(usher_room_extend(w->e, "a.b", NULL, NULL, &x), USHER_INVALID);
    assert_int_equal(usher_room_extend(w->e, "a", NULL, NULL, NULL), USHER_INVALID);
    assert_int_equal(usher_room_extend(NULL, "a", NULL, NULL, &x), USHER_INVALID);
    assert_null(x);
    memset(name, 'x', sizeof name);
    name[USHER_NAME_MAX - 6 + 1] = '\0'; /* one byte too many after "board." */
    assert_int_equal(usher_extension_set(w->board, "r", name, &one, NULL), USHER_INVALID);
    assert_int_equal(usher_extension_unset(w->board, "r", ""), USHER_INVALID);
    assert_int_equal(usher_extension_get(w->board, "r", NULL, &reply), USHER_INVALID);
    assert_null(reply);
    assert_int_equal(usher_extension_share(w->board, "r", "ann", name, NULL), USHER_INVALID);
    assert_int_equal(usher_extension_unshare(w->board, "r", name), USHER_INVALID);
    name[USHER_NAME_MAX - 6] = '\0';
    assert_int_equal(usher_extension_set(w->board, "r", name, &one, NULL), USHER_OK);
    usher_extension_close(NULL);
}

TEST(fields_have_the_extensions_name)
{
    struct world *w = *state;
    struct usher_text one = text("1"), two = text("2"), name, full;
    struct usher_room_row row = USHER_ROOM_ROW_INIT;
    struct usher_reply *reply;

    assert_int_equal(usher_extension_set(w->board, "r", "page", &one, NULL), USHER_OK);
    assert_int_equal(usher_extension_set(w->chat, "r", "page", &two, NULL), USHER_OK);
    assert_int_equal(usher_extension_get(w->board, "r", "page", &reply), USHER_OK);
    assert_int_equal(reply->n_rows, 1);
    assert_true(usher_room_row_of(reply, 0, &row));
    assert_string_equal(row.name, "board.page");
    assert_int_equal(row.value.size, 1);
    assert_memory_equal(row.value.data, "1", 1);
    full = text(row.name);
    assert_true(usher_extension_owns(w->board, &full, &name));
    assert_int_equal(name.size, 4);
    assert_memory_equal(name.data, "page", 4);
    assert_false(usher_extension_owns(w->chat, &full, &name));
    usher_reply_done(reply);
    /* another client's value is not the expected one */
    assert_int_equal(usher_extension_set(w->board, "r", "page", &one, &two), USHER_STALE);
    assert_int_equal(usher_extension_unset(w->board, "r", "page"), USHER_OK);
    assert_int_equal(usher_extension_unset(w->board, "r", "page"), USHER_SAME);
    assert_int_equal(usher_extension_unset(w->board, "nowhere", "page"), USHER_MISSING);
    assert_string_equal(w->told, "set page=1;unset page;");
    assert_string_equal(w->other, "set page=2;");
}

TEST(fields_of_other_extensions_are_not_notified)
{
    struct world *w = *state;
    struct usher_text one = text("1");

    assert_int_equal(ask_room_set(w->e, "r", "page", &one, NULL), USHER_OK);
    assert_int_equal(ask_room_set(w->e, "r", "boardx", &one, NULL), USHER_OK);
    assert_int_equal(ask_room_set(w->e, "r", "board.", &one, NULL), USHER_OK);
    assert_int_equal(ask_room_share(w->e, "r", "ann", "screen", NULL), USHER_OK);
    assert_int_equal(ask_room_unshare(w->e, "r", "screen"), USHER_OK);
    assert_string_equal(w->told, "");
    /* by whatever way, it is its own */
    assert_int_equal(ask_room_set(w->e, "r", "board.ink", &one, NULL), USHER_OK);
    assert_string_equal(w->told, "set ink=1;");
}

TEST(objects_go_with_their_member)
{
    struct world *w = *state;
    struct usher_result reply;

    assert_int_equal(ask_room_join(w->e, "r", "bob", NULL), USHER_OK);
    assert_int_equal(usher_extension_share(w->board, "r", "bob", "line1", NULL), USHER_OK);
    assert_int_equal(usher_extension_share(w->board, "r", "ann", "line2", NULL), USHER_OK);
    assert_int_equal(usher_extension_share(w->board, "r", "ann", "line1", NULL), USHER_REFUSED);
    assert_int_equal(usher_extension_share(w->board, "r", "ann", "line3", NULL), USHER_OK);
    assert_int_equal(usher_extension_unshare(w->board, "r", "line3"), USHER_OK);
    assert_int_equal(ask_room_leave(w->e, "r", "bob"), USHER_OK);
    assert_string_equal(w->told, "made line1 of bob;made line2 of ann;made line3 of ann;"
                                 "gone line3;left bob;");
    memset(&reply, 0, sizeof reply);
    assert_int_equal(ask_room_snapshot(w->e, "r", 0, 0, 0, &reply), USHER_OK);
    for (size_t i = 0; i < reply.of.room.n_rows; i++)
        if (reply.of.room.rows[i].kind == USHER_ROOM_ROW_SHARE)
            assert_memory_equal(reply.of.room.rows[i].id.data, "board.line2", 11);
    assert_int_equal(reply.of.room.n_rows, 2);
    usher_result_done(&reply);
}

TEST(a_member_banned_by_another_program_did_not_leave)
{
    struct world *w = *state;

    assert_int_equal(ask_room_kick(w->e, "r", "eve", 1000), USHER_OK);
    assert_string_equal(w->told, "");
    assert_int_equal(ask_room_kick(w->e, "r", "ann", -1), USHER_OK);
    assert_string_equal(w->told, "left ann;");
}

TEST(closed_room_has_no_data_of_the_extension)
{
    struct world *w = *state;
    struct usher_text one = text("1");
    struct usher_reply *reply;

    assert_int_equal(usher_extension_set(w->board, "r", "page", &one, NULL), USHER_OK);
    assert_int_equal(usher_extension_share(w->board, "r", "ann", "line", NULL), USHER_OK);
    assert_int_equal(ask_room_close(w->e, "r"), USHER_OK);
    assert_string_equal(w->told, "set page=1;made line of ann;closed;");
    assert_int_equal(ask_room_open(w->e, "r", NULL), USHER_OK);
    assert_int_equal(usher_extension_get(w->board, "r", "page", &reply), USHER_MISSING);
    usher_reply_done(reply);
}

TEST(a_field_too_large_for_a_notice_is_not_notified)
{
    struct world *w = *state;
    static char large[USHER_NOTICE_DATA_MAX + 1];
    struct usher_text value = { large, sizeof large };

    assert_int_equal(usher_extension_set(w->board, "r", "picture", &value, NULL), USHER_OK);
    assert_string_equal(w->told, "untold picture;");
    /* it looks like one of its own */
    assert_int_equal(ask_room_set(w->e, "r", "picture", &value, NULL), USHER_OK);
    assert_string_equal(w->told, "untold picture;untold ;");
}

TEST(notices_of_other_engines_are_received)
{
    struct world *w = *state;
    struct usher_extension *far;
    struct usher_engine *e;
    struct usher_text one = text("1"), room = text("r");
    struct usher_result reply;
    char *told = w->told;

    /* an engine that makes none of these changes itself */
    assert_int_equal(usher_open("memory:", NULL, &e), USHER_OK);
    assert_int_equal(usher_extension_set(w->board, "r", "page", &one, NULL), USHER_OK);
    assert_int_equal(ask_room_leave(w->e, "r", "ann"), USHER_OK);
    *told = '\0';
    assert_int_equal(usher_room_extend(e, "board", board_told, w, &far), USHER_OK);
    memset(&reply, 0, sizeof reply);
    assert_int_equal(ask_room_changes(w->e, "r", 0, 0, &reply), USHER_OK);
    for (size_t i = 0; i < reply.of.room.n_rows; i++) {
        struct usher_notice n;

        assert_int_equal(
            usher_notice_read(USHER_ROOM, &room, reply.epoch, &reply.of.room.rows[i].value, &n),
            USHER_OK);
        usher_extension_hear(far, &n);
    }
    usher_result_done(&reply);
    assert_string_equal(told, "set page=1;left ann;");
    usher_extension_close(far);
    usher_close(e);
}
