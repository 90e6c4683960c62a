/* SPDX-License-Identifier: MIT */
/*
 * pool -- a pool of caller-ID numbers in a program of one's own.
 *
 *     cc pool.c $(pkg-config --cflags --libs usher) -o pool && ./pool sqlite:calls.db
 */
#include <inttypes.h>
#include <stdio.h>

#include <usher/usher.h>

int main(int argc, char **argv)
{
    static const char *const numbers[] = { "+49301", "+49302", "+49303" };
    struct usher_number_settings settings = USHER_NUMBER_SETTINGS_INIT;
    struct usher_number_options berlin = USHER_NUMBER_OPTIONS_INIT;
    struct usher_number_answer hold = USHER_NUMBER_ANSWER_INIT, again = USHER_NUMBER_ANSWER_INIT;
    struct usher_number_statistics stats = USHER_NUMBER_STATISTICS_INIT;
    struct usher_reply *reply;
    struct usher_engine *engine;

    if (usher_open(argc > 1 ? argv[1] : "memory:", NULL, &engine) != USHER_OK) {
        fprintf(stderr, "pool: %s\n", usher_message());
        return 1;
    }
    /* A hold ends by itself a minute after the last renewal: a crashed caller leaks nothing. */
    settings.lease_ms = 60000;
    settings.rest_ms = 2000;
    usher_number_set(engine, "sales", &settings, NULL, NULL);
    berlin.group = "berlin";
    for (int i = 0; i < 3; i++) {
        usher_number_add(engine, "sales", numbers[i], &berlin, NULL);
        usher_number_reg(engine, "sales", numbers[i], NULL, NULL);
    }

    if (!USHER_IS_DONE(usher_number_call(engine, "sales", "call-1", NULL, &hold))) {
        fprintf(stderr, "pool: %s\n", usher_message());
        usher_close(engine);
        return 1;
    }
    printf("call-1 uses %s, token %" PRIu64 "\n", hold.number, hold.token);

    /* The answer got lost?  Ask again: the same owner holds the same number. */
    if (usher_number_call(engine, "sales", "call-1", NULL, &again) == USHER_SAME)
        printf("asked again: %s, token %" PRIu64 "\n", again.number, again.token);

    if (USHER_IS_DONE(usher_number_renew(engine, "sales", hold.number, hold.token, NULL, NULL)))
        puts("still talking");
    if (usher_number_hangup(engine, "sales", hold.number, hold.token, NULL, NULL) == USHER_OK)
        puts("hung up");
    /* A late or repeated hangup cannot end a later call. */
    printf("hung up twice: %s\n", usher_status_word(usher_number_hangup(
                                      engine, "sales", hold.number, hold.token, NULL, NULL)));

    if (usher_number_stats(engine, "sales", NULL, &reply) == USHER_OK &&
        usher_number_statistics_of(reply, &stats))
        printf("%" PRId64 " numbers, %" PRId64 " resting\n", stats.total, stats.resting_numbers);
    usher_reply_done(reply);
    usher_close(engine);
    return 0;
}
