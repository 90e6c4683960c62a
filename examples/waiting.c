/* SPDX-License-Identifier: MIT */
/*
 * waiting -- a waiting room: 40 users, three agents, and nothing that polls.
 *
 *     cc waiting.c $(pkg-config --cflags --libs usher) -o waiting && ./waiting sqlite:w.db
 *
 * Each change comes as an event, whichever program made it.  TEND applies what ends by time, such
 * as the wrap-up of an agent, after which it gets the next user.
 */
#include <stdio.h>

#include <usher/usher.h>

#define QUEUE "help"
#define USERS 40

static int served;

static void changed(struct usher_engine *e, const struct usher_queue_row *change)
{
    struct usher_queue_options opt = USHER_QUEUE_OPTIONS_INIT;

    opt.post = &served; /* returns at once */
    if (change->user_state == USHER_QUEUE_USER_SEATED) {
        printf("%s is with %s in %s\n", change->user, change->agent, change->room);
        (void)usher_queue_finish(e, QUEUE, change->room, change->token, &opt, NULL);
    } else if (change->outcome == USHER_QUEUE_OUTCOME_SEATED) {
        served++;
    }
}

int main(int argc, char **argv)
{
    static const char *const agents[] = { "ann", "bob", "cem" };
    struct usher_queue_settings settings = USHER_QUEUE_SETTINGS_INIT;
    struct usher_queue_row change = USHER_QUEUE_ROW_INIT;
    const struct usher_event *event;
    struct usher_watcher *watcher;
    struct usher_reply *row;
    struct usher_engine *e;
    char user[16];

    settings.wrapup_ms = 50;
    settings.log = 1000;
    if (usher_open(argc > 1 ? argv[1] : "memory:", NULL, &e) != USHER_OK ||
        usher_drop(e, USHER_QUEUE, QUEUE, NULL) >= USHER_INVALID ||
        usher_queue_set(e, QUEUE, &settings, NULL, &row) != USHER_OK ||
        usher_watch_events(e, USHER_QUEUE, QUEUE,
                           USHER_WATCH_SINCE | USHER_WATCH_ALL | USHER_WATCH_TEND, row->version,
                           NULL, &watcher) != USHER_OK)
        return fprintf(stderr, "waiting: %s\n", usher_message()), 1;
    usher_reply_done(row);
    for (int i = 0; i < 3; i++)
        (void)usher_queue_login(e, QUEUE, agents[i], NULL, NULL);
    for (int i = 0; i < USERS; i++) {
        (void)snprintf(user, sizeof user, "user-%d", i);
        (void)usher_queue_apply(e, QUEUE, user, NULL, NULL);
    }
    while (served < USERS && (event = usher_collect(e, 10000)) != NULL) {
        row = usher_notice_reply(event->notice); /* NULL for a reply */
        if (usher_queue_row_of(row, 0, &change))
            changed(e, &change);
        usher_reply_done(row);
        usher_event_done(event);
    }
    printf("%d of %d users were served\n", served, USERS);
    usher_close(e);
    return served != USERS;
}
