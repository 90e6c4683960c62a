/* SPDX-License-Identifier: MIT */
/*
 * dialer -- threads that each run calls, with numbers of one pool, and one thread that keeps the
 * holds of all of them.
 *
 *     cc dialer.c $(pkg-config --cflags --libs usher) -pthread -o dialer && ./dialer sqlite:d.db
 *
 * The owner is the id of the call, so a repeated command returns the number that the call holds.
 * The node is this machine, so one command renews all of its holds, and one frees them when the
 * machine comes back from a crash.
 */
#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include <usher/usher.h>

#define NODE "dialer-3"
#define THREADS 8
#define CALLS 50 /* of each thread */

struct dialer {
    struct usher_engine *e;
    atomic_bool stop;
    atomic_int done, later;
};

static void pause_ms(long ms)
{
    struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

    (void)nanosleep(&t, NULL);
}

/* false: there is no number for it now. */
static bool one_call(struct dialer *d, const char *id, const char *callee)
{
    struct usher_number_options opt = USHER_NUMBER_OPTIONS_INIT;
    struct usher_number_answer a = USHER_NUMBER_ANSWER_INIT;
    enum usher_status status;

    opt.groups = "berlin,*";
    opt.sticky = callee;
    opt.node = NODE;
    opt.lease_ms = 30000;
    opt.timeout_ms = 2000; /* no caller waits longer */
    status = usher_number_call(d->e, "sales", id, &opt, &a);
    switch (USHER_CLASS_OF(status)) {
    case USHER_CLASS_DONE:
        pause_ms(1); /* the call */
        status = usher_number_hangup(d->e, "sales", a.number, a.token, NULL, NULL);
        if (status == USHER_STALE)
            printf("the lease of %s had ended, and another call has it\n", a.number);
        return true;
    case USHER_CLASS_NO: /* why, and before when there is none, are numbers, not a sentence */
        if (a.why == USHER_NUMBER_WHY_DOWN)
            fprintf(stderr, "all numbers are unregistered\n");
        return false;
    default: /* unknown: ask again with the same owner; else the store is away */
        fprintf(stderr, "%s: %s\n", id, a.message);
        return false;
    }
}

static void *calls(void *payload)
{
    struct dialer *d = payload;
    char id[64], callee[32];

    for (int i = 0; i < CALLS; i++) {
        (void)snprintf(id, sizeof id, "call-%p-%d", (void *)&id, i);
        (void)snprintf(callee, sizeof callee, "+4930%d", i % 10);
        while (!one_call(d, id, callee)) {
            atomic_fetch_add(&d->later, 1);
            pause_ms(1);
        }
        atomic_fetch_add(&d->done, 1);
    }
    return NULL;
}

/* All holds of this machine, however many, in pages. */
static void *keep(void *payload)
{
    struct dialer *d = payload;

    for (; !atomic_load(&d->stop); pause_ms(10)) {
        struct usher_number_options opt = USHER_NUMBER_OPTIONS_INIT;
        struct usher_number_answer a = USHER_NUMBER_ANSWER_INIT;

        opt.node = NODE;
        opt.lease_ms = 30000;
        while (USHER_IS_DONE(usher_number_renew(d->e, "sales", NULL, 0, &opt, &a)) && a.more)
            opt.after = a.after;
    }
    return NULL;
}

/* Frees the holds that a machine of this name left when it crashed. */
static void free_all(struct dialer *d)
{
    struct usher_number_options opt = USHER_NUMBER_OPTIONS_INIT;
    struct usher_number_answer a = USHER_NUMBER_ANSWER_INIT;

    opt.node = NODE;
    while (USHER_IS_DONE(usher_number_free(d->e, "sales", &opt, &a)) && a.more)
        ;
}

int main(int argc, char **argv)
{
    struct usher_number_options berlin = USHER_NUMBER_OPTIONS_INIT;
    struct usher_number_statistics now = USHER_NUMBER_STATISTICS_INIT;
    struct dialer d = { .e = NULL };
    pthread_t threads[THREADS], keeper;
    struct usher_reply *reply;
    char number[32];

    if (usher_open(argc > 1 ? argv[1] : "memory:", NULL, &d.e) != USHER_OK) {
        fprintf(stderr, "dialer: %s\n", usher_message());
        return 1;
    }
    berlin.group = "berlin";
    for (int i = 0; i < THREADS / 2; i++) { /* fewer than threads: some have to wait */
        (void)snprintf(number, sizeof number, "+4930%d", 1000 + i);
        (void)usher_number_add(d.e, "sales", number, &berlin, NULL);
        (void)usher_number_reg(d.e, "sales", number, NULL, NULL);
    }
    free_all(&d);
    if (pthread_create(&keeper, NULL, keep, &d) != 0)
        return 1;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, calls, &d) != 0)
            return 1;
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    atomic_store(&d.stop, true);
    (void)pthread_join(keeper, NULL);
    if (usher_number_stats(d.e, "sales", NULL, &reply) == USHER_OK &&
        usher_number_statistics_of(reply, &now))
        printf("%d calls, %lld of %lld numbers in use\n", atomic_load(&d.done),
               (long long)(now.busy_up + now.busy_down), (long long)now.total);
    usher_reply_done(reply);
    usher_close(d.e);
    return now.busy_up == 0 && atomic_load(&d.done) == THREADS * CALLS ? 0 : 1;
}
