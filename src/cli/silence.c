/* SPDX-License-Identifier: MIT */
/*
 * The deadline for the next heartbeat of an agent or user of a queue.  The answers to `login` and
 * `apply` do not contain it, so the settings are read.
 */
#include "config.h"

#include "cli/silence.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/answer.h"
#include "cli/json.h"
#include "cli/run.h"

void usher__cli_silence(struct cli *cli, const struct usher_operation *command)
{
    bool agent = command->verb == USHER_QUEUE_LOGIN;
    const struct usher_text *name = agent ? &command->arg.queue.agent : &command->arg.queue.user;
    struct usher_operation settings = { .verb = USHER_QUEUE_SET,
                                        .scope = command->scope,
                                        .given = command->given & USHER_GIVEN_NOW,
                                        .now_ms = command->now_ms };
    struct usher_reply *r;
    char until[CLI_TIME_MAX];
    int64_t ttl_ms;

    if (cli->json || isatty(STDOUT_FILENO) != 1 || (!agent && command->verb != USHER_QUEUE_APPLY))
        return;
    usher__run_execute(cli, &settings, &r, 1);
    ttl_ms = USHER_IS_DONE(r->status) ? usher_reply_int(r, USHER_ANSWER, USHER_FIELD_TTL) : 0;
    if (ttl_ms > 0) {
        printf("until %s, unless `usher queue alive ", usher__time_text(until, r->now_ms + ttl_ms));
        usher__plain_text(stdout, command->scope.data, command->scope.size);
        fputs(agent ? " agent=" : " user=", stdout);
        usher__plain_text(stdout, name->data, name->size);
        printf("` comes before (ttl=%" PRId64 "%s)\n", ttl_ms % 1000 == 0 ? ttl_ms / 1000 : ttl_ms,
               ttl_ms % 1000 == 0 ? "s" : "");
    }
    usher_reply_done(r);
}
