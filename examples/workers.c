/* SPDX-License-Identifier: MIT */
/*
 * workers -- processes that a server has forked, each with an engine of its own; a script gives any
 * command as a line.
 *
 *     cc workers.c $(pkg-config --cflags --libs usher) -o workers && ./workers sqlite:w.db
 *
 * The engine is opened after the fork, so a child inherits nothing that it must close.  A node that
 * starts again first frees the holds of its last run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <usher/usher.h>

#define WORKERS 4
#define CALLS 25 /* of each worker */

/* The answer to @line as JSON; false: it was not done. */
static bool script(struct usher_engine *e, const char *line, char *answer, size_t size)
{
    char room[4096];
    struct usher_command command;
    struct usher_reply *reply = NULL;
    bool done = false;

    if (usher_command_parse(line, strlen(line), room, sizeof room, &command) != USHER_OK ||
        usher_execute(e, &command, 1, 0, &reply) == USHER_INVALID) {
        (void)snprintf(answer, size, "%s", usher_message());
        return false;
    }
    if (reply != NULL) { /* there is none without memory */
        done = USHER_IS_DONE(reply->status);
        (void)usher_reply_write(reply, USHER_FORM_JSON, answer, size);
        usher_reply_done(reply);
    }
    return done;
}

/* Does the work of the script of a server, call by call. */
static int worker(const char *url, int rank)
{
    struct usher_options opt = USHER_OPTIONS_INIT;
    struct usher_engine *e;
    char line[400], answer[1024];
    int left = CALLS;

    opt.timeout_ms = 2000; /* no worker stands longer than that */
    if (usher_open(url, &opt, &e) != USHER_OK) {
        fprintf(stderr, "worker %d: %s\n", rank, usher_message());
        return 1;
    }
    while (left > 0) {
        struct usher_number_answer a = USHER_NUMBER_ANSWER_INIT;
        struct usher_number_options node = USHER_NUMBER_OPTIONS_INIT;
        enum usher_status status;

        (void)snprintf(line, sizeof line, "call-%d-%d", rank, left);
        node.node = "sip-1";
        status = usher_number_call(e, "lines", line, &node, &a);
        if (USHER_CLASS_OF(status) == USHER_CLASS_NO) {
            (void)usleep(2000); /* all are busy, with other workers' calls */
            continue;
        }
        if (!USHER_IS_DONE(status)) {
            fprintf(stderr, "worker %d: %s\n", rank, a.message);
            break;
        }
        (void)snprintf(line, sizeof line, "number hangup lines %s token=%llu", a.number,
                       (unsigned long long)a.token);
        if (!script(e, line, answer, sizeof answer)) {
            fprintf(stderr, "worker %d: %s\n", rank, answer);
            break;
        }
        left--;
    }
    usher_close(e);
    return left > 0;
}

int main(int argc, char **argv)
{
    static const char *const start[] = { "number add lines +49301", "number reg lines +49301",
                                         "number add lines +49302", "number reg lines +49302",
                                         "number free lines node=sip-1" };
    char answer[1024] = "";
    struct usher_engine *e;
    int failed = 0, status;

    if (argc < 2 || strncmp(argv[1], "memory:", 7) == 0) {
        fprintf(stderr, "workers: a store that processes share, as in `workers sqlite:w.db`\n");
        return 2;
    }
    /* before the others, because it frees all holds of the node */
    if (fork() == 0) {
        if (usher_open(argv[1], NULL, &e) != USHER_OK)
            _exit(1);
        for (size_t k = 0; k < sizeof start / sizeof *start; k++)
            (void)script(e, start[k], answer, sizeof answer);
        usher_close(e);
        _exit(0);
    }
    if (wait(&status) < 0 || status != 0) {
        fprintf(stderr, "workers: the pool could not be made\n");
        return 1;
    }
    for (int i = 0; i < WORKERS; i++)
        if (fork() == 0)
            _exit(worker(argv[1], i));
    while (wait(&status) > 0)
        failed += status != 0;
    if (usher_open(argv[1], NULL, &e) == USHER_OK) {
        (void)script(e, "number stats lines", answer, sizeof answer);
        usher_close(e);
    }
    puts(answer);
    return failed != 0 || strstr(answer, "\"busy_up\":0,") == NULL;
}
