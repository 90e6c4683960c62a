/* SPDX-License-Identifier: MIT */
/*
 * epoll -- numbers for calls in an event loop that waits for nothing else.  Linux.
 *
 *     cc epoll.c $(pkg-config --cflags --libs usher) -o epoll && ./epoll redis://127.0.0.1
 *
 * Five callers share a pool of three numbers.  A real loop watches its sockets with the same
 * epoll_wait(); this one ends when every answer is there.
 */
#include <inttypes.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <usher/command.h>

struct caller {
    const char *name;
};

/* Ask for something of @c; the answer comes with @c as its tag.  The texts are copied. */
static int ask(struct usher_engine *e, struct caller *c, enum usher_verb verb, uint32_t field,
               const char *text)
{
    const struct usher_value value = USHER_T(field, text);
    const struct usher_command command = { (uint32_t)verb, USHER_TO_NUL, "sales", &value, 1, c };

    if (usher_post(e, &command, 1, 0) == USHER_OK)
        return 1;
    /* USHER_FULL: collect first, then post again */
    fprintf(stderr, "epoll: %s\n", usher_message());
    return 0;
}

static void answered(const struct usher_event *event)
{
    const struct caller *c = event->tag;
    const struct usher_reply *r = event->reply;
    const char *number = usher_reply_text(r, USHER_ANSWER, USHER_FIELD_NUMBER, NULL);

    if (!USHER_IS_DONE(r->status))
        printf("%s: %s\n", c->name,
               r->message[0] != '\0' ? r->message : usher_status_text(r->status));
    else if (r->verb == USHER_NUMBER_CALL)
        printf("%s calls from %s, token %" PRId64 "\n", c->name, number,
               usher_reply_int(r, USHER_ANSWER, USHER_FIELD_TOKEN));
    else
        printf("%s: done\n", c->name);
}

int main(int argc, char **argv)
{
    static struct caller callers[] = { { "ann" }, { "bob" }, { "cem" }, { "dan" }, { "eve" } };
    static struct caller setup = { "setup" };
    static const char *const numbers[] = { "+49301", "+49302", "+49303" };
    struct epoll_event wanted = { .events = EPOLLIN }, found;
    const struct usher_event *event;
    struct usher_engine *e;
    int loop = epoll_create1(EPOLL_CLOEXEC), expected = 0;

    if (usher_open(argc > 1 ? argv[1] : "memory:", NULL, &e) != USHER_OK) {
        fprintf(stderr, "epoll: %s\n", usher_message());
        return 1;
    }
    if (loop < 0 || epoll_ctl(loop, EPOLL_CTL_ADD, usher_fd(e), &wanted) != 0) {
        perror("epoll");
        usher_close(e);
        return 1;
    }
    /* Commands are done in this order, so the calls need not wait until the numbers are there. */
    for (int i = 0; i < 3; i++) {
        expected += ask(e, &setup, USHER_NUMBER_ADD, USHER_FIELD_NUMBER, numbers[i]);
        expected += ask(e, &setup, USHER_NUMBER_REG, USHER_FIELD_NUMBER, numbers[i]);
    }
    for (int i = 0; i < 5; i++)
        expected += ask(e, &callers[i], USHER_NUMBER_CALL, USHER_FIELD_OWNER, callers[i].name);

    while (expected > 0) {
        (void)epoll_wait(loop, &found, 1, (int)usher_timeout(e));
        while ((event = usher_collect(e, 0)) != NULL) {
            answered(event);
            expected--;
            usher_event_done(event);
        }
    }
    (void)close(loop);
    usher_close(e);
    return 0;
}
