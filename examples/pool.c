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
    struct usher_number_settings settings = { .lease_ms = 60000, .rest_ms = 2000 };
    struct usher_engine *engine;
    struct usher_number_hold hold, again;
    struct usher_number_statistics stats;
    int64_t until;

    if (usher_open(argc > 1 ? argv[1] : "memory:", NULL, &engine) != USHER_OK) {
        fprintf(stderr, "pool: %s\n", usher_message());
        return 1;
    }
    /* A hold ends by itself a minute after the last renewal: a crashed caller leaks nothing. */
    usher_number_set(engine, "sales", USHER_GIVEN_LEASE | USHER_GIVEN_REST, &settings);
    usher_number_bulk(engine, USHER_NUMBER_ADD, "sales", numbers, 3, "berlin", NULL);
    usher_number_bulk(engine, USHER_NUMBER_REG, "sales", numbers, 3, NULL, NULL);

    if (!USHER_IS_DONE(usher_number_call(engine, "sales", "call-1", NULL, &hold))) {
        fprintf(stderr, "pool: %s\n", usher_message());
        usher_close(engine);
        return 1;
    }
    printf("call-1 uses %s, token %" PRIu64 "\n", hold.number, hold.token);

    /* The answer got lost?  Ask again: the same owner holds the same number. */
    if (usher_number_call(engine, "sales", "call-1", NULL, &again) == USHER_SAME)
        printf("asked again: %s, token %" PRIu64 "\n", again.number, again.token);

    if (USHER_IS_DONE(usher_number_renew(engine, "sales", hold.number, hold.token, 0, &until)))
        puts("still talking");
    if (usher_number_hangup(engine, "sales", hold.number, hold.token, -1) == USHER_OK)
        puts("hung up");
    /* A late or repeated hangup cannot end somebody else's call. */
    printf("hung up twice: %s\n",
           usher_status_word(usher_number_hangup(engine, "sales", hold.number, hold.token, -1)));

    if (usher_number_stats(engine, "sales", &stats) == USHER_OK)
        printf("%" PRId64 " numbers, %" PRId64 " resting\n", stats.total, stats.resting);
    usher_close(engine);
    return 0;
}
