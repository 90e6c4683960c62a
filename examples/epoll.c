/* SPDX-License-Identifier: MIT */
/*
 * epoll -- caller IDs for calls, in an event loop: 300 calls share 20 numbers.  Linux.
 *
 *     cc epoll.c $(pkg-config --cflags --libs usher) -o epoll && ./epoll redis://127.0.0.1
 */
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <usher/usher.h>

#define CALLS 300
static struct call {
    struct usher_number_answer held;
    int ticks; /* until it hangs up */
} calls[CALLS + 1];
static int begun, over;

/* Hang up calls, renew the others, begin one.  Each answer is an event with the tag `post`. */
static void tick(struct usher_engine *e)
{
    struct usher_number_options opt = USHER_NUMBER_OPTIONS_INIT;
    char owner[16];

    for (struct call *c = calls; c < calls + begun; c++)
        if (c->ticks > 0 && --c->ticks == 0) {
            opt.post = c;
            (void)usher_number_hangup(e, "sales", c->held.number, c->held.token, &opt, NULL);
        }
    opt.post = &calls[begun];
    opt.node = "host-1";
    opt.lease_ms = 2000;
    if (begun % 16 == 0)
        (void)usher_number_renew(e, "sales", NULL, 0, &opt, NULL);
    (void)snprintf(owner, sizeof owner, "call-%d", begun);
    if (begun < CALLS && usher_number_call(e, "sales", owner, &opt, NULL) == USHER_OK)
        begun++;
}

static void answered(const struct usher_reply *reply, struct call *c)
{
    c->held.size = reply->verb == USHER_NUMBER_CALL ? sizeof c->held : 0;
    if (usher_number_answer_of(reply, &c->held) && USHER_IS_DONE(reply->status))
        c->ticks = 15;
    else
        over += reply->verb != USHER_NUMBER_RENEW; /* hung up, or there was no number for it */
}

int main(int argc, char **argv)
{
    struct epoll_event wanted = { .events = EPOLLIN }, found;
    int loop = epoll_create1(0), timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    const struct usher_event *event;
    struct usher_engine *e;
    char number[16];

    if (usher_open(argc > 1 ? argv[1] : "memory:", NULL, &e) != USHER_OK)
        return fprintf(stderr, "epoll: %s\n", usher_message()), 1;
    for (int i = 100; i < 120; i++) {
        (void)snprintf(number, sizeof number, "+4930%d", i);
        (void)usher_number_add(e, "sales", number, NULL, NULL);
        (void)usher_number_reg(e, "sales", number, NULL, NULL);
    }
    (void)timerfd_settime(timer, 0, &(struct itimerspec){ { 0, 5000000 }, { 0, 5000000 } }, NULL);
    (void)epoll_ctl(loop, EPOLL_CTL_ADD, timer, &wanted);
    (void)epoll_ctl(loop, EPOLL_CTL_ADD, usher_fd(e), &wanted);
    while (over < CALLS) {
        (void)epoll_wait(loop, &found, 1, (int)usher_timeout(e));
        if (read(timer, number, 8) == 8)
            tick(e);
        for (; (event = usher_collect(e, 0)) != NULL; usher_event_done(event))
            answered(event->reply, event->tag);
    }
    printf("%d calls are over\n", over);
    usher_close(e);
    return 0;
}
