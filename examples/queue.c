/* SPDX-License-Identifier: MIT */
/*
 * queue -- an agent and three users, one step after the other.
 *
 *     cc queue.c $(pkg-config --cflags --libs usher) -o queue && ./queue sqlite:q.db
 *
 * waiting.c does it with events and many users.
 */
#include <inttypes.h>
#include <stdio.h>

#include <usher/usher.h>

#define QUEUE "support"

static int fail(const char *what)
{
    fprintf(stderr, "queue: %s: %s\n", what, usher_message());
    return 1;
}

static void print_place(const char *user, const struct usher_queue_answer *a)
{
    if (a->place == USHER_QUEUE_PLACE_ROOM)
        printf("%s is with %s in %s\n", user, a->agent, a->room);
    else if (a->place == USHER_QUEUE_PLACE_QUEUE)
        printf("%s waits, %" PRId64 " ahead\n", user, a->index);
    else
        printf("%s is not here\n", user);
}

static int run(struct usher_engine *e)
{
    static const char *const users[] = { "max", "zoe", "lea" };
    struct usher_queue_settings settings = USHER_QUEUE_SETTINGS_INIT;
    struct usher_queue_answer login = USHER_QUEUE_ANSWER_INIT, place = USHER_QUEUE_ANSWER_INIT;
    struct usher_queue_options opt = USHER_QUEUE_OPTIONS_INIT;
    struct usher_queue_statistics stats = USHER_QUEUE_STATISTICS_INIT;
    struct usher_reply *reply = NULL;

    /* Agents and users that send no usher_queue_alive() for this time are removed. */
    settings.ttl_ms = 60000;
    if (!USHER_IS_DONE(usher_queue_set(e, QUEUE, &settings, NULL, NULL)))
        return fail("set");
    if (!USHER_IS_DONE(usher_queue_login(e, QUEUE, "ann", NULL, &login)))
        return fail("login");
    for (int i = 0; i < 3; i++) {
        opt.priority = i == 2; /* lea is before zoe, and interrupts no one */
        if (!USHER_IS_DONE(usher_queue_apply(e, QUEUE, users[i], &opt, &place)))
            return fail("apply");
        print_place(users[i], &place);
    }

    /* Each user that leaves makes place for the next one; its `where` finds the seat. */
    for (int i = 0; i < 3; i++) {
        const char *user = users[i == 0 ? 0 : 3 - i];

        if (usher_queue_where(e, QUEUE, user, NULL, &place) != USHER_OK ||
            place.place != USHER_QUEUE_PLACE_ROOM)
            return fail("where");
        print_place(user, &place);
        /* The visit token: a late repeat cannot end a later visit of the same user. */
        opt = (struct usher_queue_options)USHER_QUEUE_OPTIONS_INIT;
        opt.token = place.visit_token;
        if (usher_queue_leave(e, QUEUE, user, &opt, NULL) != USHER_OK)
            return fail("leave");
    }
    opt.token = login.token;
    if (usher_queue_logout(e, QUEUE, "ann", &opt, NULL) != USHER_OK)
        return fail("logout");
    if (usher_queue_stats(e, QUEUE, NULL, &reply) == USHER_OK &&
        usher_queue_statistics_of(reply, &stats))
        printf("%" PRId64 " users were served today\n", stats.seated_today);
    usher_reply_done(reply);
    return 0;
}

int main(int argc, char **argv)
{
    struct usher_engine *e;
    int rc;

    if (usher_open(argc > 1 ? argv[1] : "memory:", NULL, &e) != USHER_OK)
        return fail("open");
    rc = run(e);
    usher_close(e);
    return rc;
}
