/* SPDX-License-Identifier: MIT */
/*
 * room_server -- a room, and a client in another process, without an engine, that has a copy of it.
 * Each seventh event is lost on the way, so the client asks for the changes that it misses.
 *     cc room_server.c $(pkg-config --cflags --libs usher) -o room_server && ./room_server
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <usher/replica.h>

#define ROOM "class-7b"

static struct message {
    int64_t kind; /* the ticket of the question that it answers, or -1: an event; 0: the digest */
    unsigned char bytes[1 << 16];
} m;

static void send_message(int to, int64_t kind, size_t size)
{
    m.kind = kind;
    (void)send(to, &m, sizeof m.kind + size, 0);
}

static int client(int server)
{
    enum usher_replica_next next = USHER_REPLICA_PULL;
    char digest[33] = "", mine[33] = "";
    struct usher_replica_question question;
    struct usher_reply *reply = NULL;
    struct usher_replica *copy;
    struct usher_notice notice;
    ssize_t n;
    uint32_t kind;

    if (usher_replica_open(ROOM, NULL, &copy) != USHER_OK)
        return 1;
    for (; digest[0] == '\0' || !usher_replica_current(copy); usher_reply_done(reply)) {
        if (next == USHER_REPLICA_REPLAY || next == USHER_REPLICA_PULL) {
            usher_replica_ask(copy, &question);
            (void)send(server, &question, sizeof question, 0);
        }
        next = USHER_REPLICA_IGNORE;
        reply = NULL;
        n = recv(server, &m, sizeof m, 0) - (ssize_t)sizeof m.kind;
        if (n <= 0)
            break;
        if (m.kind == 0)
            memcpy(digest, m.bytes, sizeof digest);
        else if (m.kind > 0 && usher_reply_unpack(m.bytes, (size_t)n, &reply) == USHER_OK)
            next = usher_replica_answer(copy, (uint64_t)m.kind, reply);
        else if (m.kind < 0 && usher_event_unpack(m.bytes, (size_t)n, &kind, &notice) == USHER_OK)
            next = usher_replica_notice(copy, &notice);
    }
    (void)usher_replica_digest(copy, mine);
    usher_replica_close(copy);
    return printf("the copy is %sthe room\n", strcmp(mine, digest) == 0 ? "" : "not ") < 0 ||
           fflush(stdout) != 0 || strcmp(mine, digest) != 0;
}

static void answer(struct usher_engine *e, int to, int flags)
{
    struct usher_room_options opt = USHER_ROOM_OPTIONS_INIT;
    struct usher_replica_question q;
    struct usher_reply *reply;

    while (recv(to, &q, sizeof q, flags) == sizeof q) {
        opt.since_version = (int64_t)q.since;
        opt.after_version = (int64_t)q.after;
        (void)(q.kind == USHER_REPLICA_PULL ? usher_room_snapshot
                                            : usher_room_changes)(e, ROOM, &opt, &reply);
        send_message(to, (int64_t)q.ticket, usher_reply_pack(reply, m.bytes, sizeof m.bytes));
        usher_reply_done(reply);
    }
}

int main(int argc, char **argv)
{
    const struct usher_event *event;
    struct usher_watcher *watcher;
    struct usher_engine *e;
    int pair[2], status = 1;
    char page[16];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) != 0 || fork() == 0)
        _exit(close(pair[0]) != 0 || client(pair[1]) != 0);
    (void)close(pair[1]);
    if (usher_open(argc > 1 ? argv[1] : "memory:", NULL, &e) != USHER_OK ||
        usher_watch_events(e, USHER_ROOM, ROOM, 0, 0, NULL, &watcher) != USHER_OK)
        return fprintf(stderr, "room_server: %s\n", usher_message()), 1;
    (void)usher_room_open(e, ROOM, NULL, NULL, NULL);
    for (int i = 1; i <= 400; i++) {
        struct usher_text value = { page, (size_t)snprintf(page, sizeof page, "%d", i) };

        (void)usher_room_set(e, ROOM, i % 3 == 0 ? "slide" : "page", &value, NULL, NULL);
        for (; (event = usher_collect(e, 0)) != NULL; usher_event_done(event))
            if (i % 7 != 0) /* else it is lost */
                send_message(pair[0], -1, usher_event_pack(event, m.bytes, sizeof m.bytes));
        answer(e, pair[0], MSG_DONTWAIT);
    }
    (void)usher_room_digest(e, ROOM, NULL, NULL, (char *)m.bytes);
    send_message(pair[0], 0, 33);
    answer(e, pair[0], 0);
    (void)usher_room_close(e, ROOM, NULL, NULL);
    usher_close(e);
    return wait(&status) < 0 || status != 0;
}
