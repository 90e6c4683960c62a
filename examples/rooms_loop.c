/* SPDX-License-Identifier: MIT */
/*
 * rooms_loop -- one event loop with commands, notices of changes, and a copy of a room.  Linux.
 *
 *     cc rooms_loop.c $(pkg-config --cflags --libs usher) -o rooms_loop && ./rooms_loop
 *
 * Commands are posted.  Each change comes as a notice.  A server would send it to the members of
 * the room; this program updates a copy of the room, as a client has one.  If changes were missed,
 * a gap comes instead: the copy then names the query that is needed, and that is posted, too.  Here
 * the gap comes first, because the room keeps only two notices.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <usher/command.h>
#include <usher/replica.h>

#define ROOM "class-7b"

struct host {
    struct usher_engine *e;
    struct usher_replica *copy;
    uint64_t ticket; /* of the question that is under way */
    int asks;        /* there is one */
    int expected;    /* replies to other commands */
    int failed;
};

/* Tags: whose event it is. */
static char a_command, a_question, the_room;

static void post(struct host *h, uint32_t verb, const struct usher_value *values, size_t n,
                 void *tag)
{
    const struct usher_command command = { verb, USHER_TO_NUL, ROOM, values, n, tag };

    if (usher_post(h->e, &command, 1, 0) == USHER_OK) {
        h->expected += tag == &a_command;
        return;
    }
    fprintf(stderr, "rooms_loop: %s\n", usher_message());
    h->failed = 1;
}

static void post_set(struct host *h, const char *field, const char *value)
{
    const struct usher_value values[] = { USHER_T(USHER_FIELD_FIELD, field),
                                          USHER_T(USHER_FIELD_VALUE, value) };

    post(h, USHER_ROOM_SET, values, 2, &a_command);
}

static void post_join(struct host *h, const char *member)
{
    const struct usher_value value = USHER_T(USHER_FIELD_MEMBER, member);

    post(h, USHER_ROOM_JOIN, &value, 1, &a_command);
}

/* Post what the copy has to ask for, if anything. */
static void ask(struct host *h)
{
    struct usher_replica_question q;
    struct usher_value values[2];
    size_t n = 0;

    if (h->asks || usher_replica_current(h->copy))
        return;
    usher_replica_ask(h->copy, &q);
    h->ticket = q.ticket;
    h->asks = 1;
    if (q.since != 0)
        values[n++] = (struct usher_value)USHER_N(USHER_FIELD_SINCE_VERSION, (int64_t)q.since);
    if (q.kind == USHER_REPLICA_REPLAY) {
        post(h, USHER_ROOM_CHANGES, values, n, &a_question);
        return;
    }
    if (q.after != 0)
        values[n++] = (struct usher_value)USHER_N(USHER_FIELD_AFTER, (int64_t)q.after);
    post(h, USHER_ROOM_SNAPSHOT, values, n, &a_question);
}

static void changed(struct host *h, const struct usher_notice *n)
{
    printf("version %" PRIu64 ": %s %s\n", n->version, usher_verb_word(n->verb), n->subject.data);
    (void)usher_replica_notice(h->copy, n);
}

static void missed(struct host *h, const struct usher_notice *n)
{
    printf("missed: the changes after version %" PRIu64 ", up to %" PRIu64 "\n", n->before,
           n->version);
    (void)usher_replica_heartbeat(h->copy, n->epoch, n->version, n->mark);
}

static void answered(struct host *h, const struct usher_event *event)
{
    const struct usher_reply *r = event->reply;

    if (event->tag == &a_question) {
        h->asks = 0;
        (void)usher_replica_answer(h->copy, h->ticket, r);
        return;
    }
    h->expected--;
    if (!USHER_IS_DONE(r->status)) {
        fprintf(stderr, "rooms_loop: %s\n",
                r->message[0] != '\0' ? r->message : usher_status_text(r->status));
        h->failed = 1;
    }
}

/* Until all commands are answered and the copy is what the room is. */
static void loop(struct host *h, int epoll)
{
    const struct usher_event *event;
    struct epoll_event found;

    while (!h->failed && (h->expected > 0 || h->asks || !usher_replica_current(h->copy))) {
        (void)epoll_wait(epoll, &found, 1, (int)usher_timeout(h->e));
        while ((event = usher_collect(h->e, 0)) != NULL) {
            if (event->kind == USHER_EVENT_NOTICE)
                changed(h, event->notice);
            else if (event->kind == USHER_EVENT_GAP)
                missed(h, event->notice);
            else if (event->kind == USHER_EVENT_REPLY)
                answered(h, event);
            usher_event_done(event);
            ask(h);
        }
    }
}

static void run(struct host *h, int epoll)
{
    const struct usher_value two = USHER_N(USHER_FIELD_LOG, 2);
    struct usher_watcher *watcher;

    post(h, USHER_ROOM_OPEN, &two, 1, &a_command);
    post_join(h, "ann");
    post_set(h, "page", "1");
    post_set(h, "page", "2");
    loop(h, epoll);
    /* First the changes after version 1. */
    if (usher_watch_events(h->e, USHER_ROOM, ROOM, USHER_WATCH_SINCE, 1, &the_room, &watcher) !=
        USHER_OK) {
        fprintf(stderr, "rooms_loop: %s\n", usher_message());
        h->failed = 1;
        return;
    }
    post_join(h, "bob");
    loop(h, epoll);
    post_set(h, "page", "3");
    post_set(h, "page", "4");
    loop(h, epoll);
    usher_unwatch(h->e, watcher);
}

static int is_the_room(const struct host *h)
{
    char digest[33], copy[33];
    uint64_t epoch, version;

    return usher_room_digest(h->e, ROOM, &epoch, &version, digest) == USHER_OK &&
           usher_replica_digest(h->copy, copy) == USHER_OK && strcmp(digest, copy) == 0;
}

int main(int argc, char **argv)
{
    struct epoll_event wanted = { .events = EPOLLIN };
    struct host h = { 0 };
    int epoll = epoll_create1(EPOLL_CLOEXEC);

    if (usher_open(argc > 1 ? argv[1] : "memory:", NULL, &h.e) != USHER_OK) {
        fprintf(stderr, "rooms_loop: %s\n", usher_message());
        return 1;
    }
    if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, usher_fd(h.e), &wanted) != 0 ||
        usher_replica_open(ROOM, NULL, &h.copy) != USHER_OK) {
        fprintf(stderr, "rooms_loop: no epoll, or no memory\n");
        usher_close(h.e);
        return 1;
    }
    ask(&h);
    run(&h, epoll);
    if (!h.failed && !is_the_room(&h))
        h.failed = 1;
    puts(h.failed ? "the copy is not the room" : "the copy is the room");
    (void)usher_room_close(h.e, ROOM, NULL, NULL);
    usher_replica_close(h.copy);
    usher_close(h.e);
    (void)close(epoll);
    return h.failed;
}
