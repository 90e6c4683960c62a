/* SPDX-License-Identifier: MIT */
/*
 * whiteboard -- an extension of rooms, outside the library, and a client that follows.
 *
 *     cc whiteboard.c $(pkg-config --cflags --libs usher) -o whiteboard && ./whiteboard
 *
 * Strokes are objects: each belongs to the member that drew it and goes with that member.  The page
 * that is shown is a field: it stays.  No client has to remove either of them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <usher/extension.h>
#include <usher/replica.h>

#define ROOM "class-7b"

static struct usher_text text(const char *s)
{
    struct usher_text t = { s, strlen(s) };

    return t;
}

static void say(const char *what, const struct usher_text *name)
{
    printf("whiteboard: %s %.*s\n", what, (int)name->size, name->data != NULL ? name->data : "");
}

/* Prints an event of the module, on the thread that made the change. */
static void told(void *payload, const struct usher_extension_event *event)
{
    static const char *const words[] = {
        "field",           "no more field",     "stroke",
        "no more stroke",  "all strokes go of", "the room is closed",
        "something large:"
    };

    (void)payload;
    say(words[event->what], &event->name);
}

/* The board's server: one stroke as an object with two fields. */
static int draw(struct usher_extension *board, const char *who, const char *stroke,
                const char *color)
{
    struct usher_text names[2] = { text("color"), text("path") };
    struct usher_text values[2] = { text(color), text("M 1 1 L 9 9") };
    unsigned char bytes[128];
    struct usher_text fields = { (const char *)bytes, 0 };

    fields.size = usher_fields_pack(names, values, 2, bytes, sizeof bytes);
    return usher_extension_share(board, ROOM, who, stroke, &fields) == USHER_OK;
}

/* The client's side: ask as long as the replica has questions. */
static void catch_up(struct usher_engine *e, struct usher_replica *r)
{
    struct usher_replica_question q;

    for (int i = 0; i < 100 && !usher_replica_current(r); i++) {
        struct usher_room_options opt = USHER_ROOM_OPTIONS_INIT;
        struct usher_reply *reply;

        usher_replica_ask(r, &q);
        opt.since_version = (int64_t)q.since;
        if (q.kind == USHER_REPLICA_PULL) {
            opt.after_version = (int64_t)q.after;
            (void)usher_room_snapshot(e, ROOM, &opt, &reply);
        } else {
            (void)usher_room_changes(e, ROOM, &opt, &reply);
        }
        (void)usher_replica_answer(r, q.ticket, reply);
        usher_reply_done(reply);
    }
}

static void show(const struct usher_replica *r, const struct usher_extension *board)
{
    struct usher_room_row row = USHER_ROOM_ROW_INIT;
    struct usher_text id, name;
    const void *at = NULL;

    while (usher_replica_walk(r, &at, &row)) {
        id = text(row.name);
        if (!usher_extension_owns(board, &id, &name))
            continue;
        if (row.owner != NULL)
            printf("client: %s by %s\n", name.data, row.owner);
        else
            printf("client: %s = %.*s\n", name.data, (int)row.value.size, row.value.data);
    }
}

static int run(struct usher_engine *e)
{
    struct usher_text page = text("3");
    struct usher_extension *board;
    struct usher_replica *client;
    struct usher_room_answer room = USHER_ROOM_ANSWER_INIT;
    uint64_t epoch = 0, version = 0;
    char digest[33], copy[33];
    int good;

    if (usher_replica_open(ROOM, NULL, &client) != USHER_OK)
        return 0;
    if (usher_room_extend(e, "board", told, NULL, &board) != USHER_OK) {
        usher_replica_close(client);
        return 0;
    }
    (void)usher_room_open(e, ROOM, NULL, NULL, NULL);
    (void)usher_room_join(e, ROOM, "ann", NULL, NULL);
    (void)usher_room_join(e, ROOM, "bob", NULL, NULL);
    good = USHER_IS_DONE(usher_extension_set(board, ROOM, "page", &page, NULL)) &&
           draw(board, "ann", "stroke-1", "red") && draw(board, "bob", "stroke-2", "blue");
    catch_up(e, client);
    show(client, board);

    (void)usher_room_leave(e, ROOM, "bob", NULL, NULL); /* removes bob's stroke, too */
    good = good && usher_room_alive(e, ROOM, "ann", NULL, &room) == USHER_OK;
    (void)usher_replica_heartbeat(client, room.epoch, (uint64_t)room.since_version, room.mark);
    catch_up(e, client);
    show(client, board);
    good = good && usher_room_digest(e, ROOM, &epoch, &version, digest) == USHER_OK &&
           usher_replica_digest(client, copy) == USHER_OK && strcmp(digest, copy) == 0;
    puts(good ? "the copy is the room" : "the copy is not the room");
    (void)usher_room_close(e, ROOM, NULL, NULL);
    usher_extension_close(board);
    usher_replica_close(client);
    return good;
}

int main(int argc, char **argv)
{
    struct usher_engine *e;
    int good;

    if (usher_open(argc > 1 ? argv[1] : "memory:", NULL, &e) != USHER_OK) {
        fprintf(stderr, "whiteboard: %s\n", usher_message());
        return 1;
    }
    good = run(e);
    if (!good)
        fprintf(stderr, "whiteboard: %s\n", usher_message());
    usher_close(e);
    return good ? 0 : 1;
}
