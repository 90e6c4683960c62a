/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "cli/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/answer.h"
#include "cli/parse.h"
#include "cli/table.h"
#include "core/verbs.h"

void usher__run_batch(struct usher_engine *e, const struct usher_operation *commands,
                      struct usher_result *replies, size_t n)
{
    memset(replies, 0, n * sizeof *replies);
    if (usher_operate(e, commands, replies, n) != USHER_INVALID)
        return;
    /* the call itself was wrong, and the replies are as they were */
    for (size_t i = 0; i < n; i++) {
        replies[i].status = USHER_INVALID;
        (void)snprintf(replies[i].message, sizeof replies[i].message, "%s", usher_message());
    }
}

enum cli_use usher__run_use(const struct usher_operation *command)
{
    const struct usher__verb *verb = usher__verb((unsigned)command->verb);

    switch (command->verb) {
    /* they write what is due meanwhile, but ask nothing more */
    case USHER_QUEUE_ROOM:
    case USHER_QUEUE_WHERE:
    case USHER_QUEUE_LIST:
    case USHER_QUEUE_AGENTS:
    case USHER_QUEUE_STATS:
    case USHER_QUEUE_HISTORY:
    case USHER_ROOM_SNAPSHOT:
        return CLI_LOOKS;
    default:
        return (verb->flags & USHER__WRITES) != 0 ? CLI_WRITES : CLI_LOOKS;
    }
}

bool usher__run_has_steps(const struct usher_operation *command)
{
    if (command->verb == USHER_ROOM_CLOSE)
        return true;
    if (command->verb == USHER_NUMBER_RENEW)
        return command->arg.number.number.data == NULL && command->request.data == NULL;
    return (command->verb == USHER_NUMBER_FREE || command->verb == USHER_NUMBER_SWEEP) &&
           (command->given & USHER_GIVEN_MAX) == 0 && command->request.data == NULL;
}

void usher__run_steps_begin(struct run_steps *s, const struct usher_operation *command)
{
    memset(s, 0, sizeof *s);
    s->next = *command;
}

/* Until nothing of the room is left. */
static bool room_ends(struct run_steps *s, struct usher_result *reply)
{
    if (reply->status == USHER_SAME && s->has_last) { /* somebody else did the last step */
        *reply = s->last;
        reply->of.room.state = USHER_ROOM_STATE_CLOSED;
        reply->of.room.more = false;
        reply->of.room.count = 0;
    }
    if (reply->status != USHER_OK)
        return true;
    if (!reply->of.room.more) {
        reply->of.room.count += s->total;
        return true;
    }
    s->total += reply->of.room.count;
    s->last = *reply;
    s->has_last = true;
    /* it is closing: the version that it had to have is not asked for any more */
    s->next.given &= ~(uint64_t)USHER_GIVEN_ROOM_IF_VERSION;
    return false;
}

bool usher__run_steps_end(struct run_steps *s, struct usher_result *reply)
{
    if (s->next.verb == USHER_ROOM_CLOSE)
        return room_ends(s, reply);
    if (!USHER_IS_DONE(reply->status))
        return true;
    s->total += reply->of.number.count;
    reply->of.number.count = s->total;
    if (s->total > 0)
        reply->status = USHER_OK;
    if (!reply->of.number.more)
        return true;
    if (s->next.verb == USHER_NUMBER_RENEW) {
        memcpy(s->after, reply->of.number.number, sizeof s->after);
        s->next.arg.number.after.data = s->after;
        s->next.arg.number.after.size = reply->of.number.number_size;
    }
    usher_result_done(reply);
    return false;
}

void usher__run_steps(struct usher_engine *e, const struct usher_operation *command,
                      struct usher_result *ret_reply)
{
    struct run_steps s;

    usher__run_steps_begin(&s, command);
    do
        usher__run_batch(e, &s.next, ret_reply, 1);
    while (!usher__run_steps_end(&s, ret_reply));
}

int usher__run_answer(const struct cli *cli, const struct usher_operation *command,
                      struct usher_result *reply)
{
    int rc = usher__cli_exit_code(reply->status);

    if (cli->json || cli->shell)
        usher__answer_json(stdout, command, reply);
    else if (usher__answer_failed(reply->status))
        (void)usher__cli_fail(cli, reply->status, "%s",
                              reply->message[0] != '\0' ? reply->message
                                                        : usher_status_text(reply->status));
    else if (isatty(STDOUT_FILENO) != 1 || !usher__table_answer(stdout, command, reply))
        usher__answer_plain(stdout, command, reply);
    usher_result_done(reply);
    return rc;
}

int usher__cli_run(struct cli *cli, char *const *words, size_t n)
{
    const struct cli_verb *verb = n >= 2 ? usher__cli_verb(words[0], words[1]) : NULL;
    char message[CLI_MESSAGE_MAX];
    struct usher_operation command;
    struct usher_result reply;
    unsigned char *block;
    int rc;

    if (verb != NULL)
        return verb->run(cli, words, n);
    if (!usher__parse_command(words, n, &command, &block, message)) {
        free(block);
        return usher__cli_fail(cli, USHER_INVALID, "%s", message);
    }
    rc = usher__cli_open(cli, usher__run_use(&command));
    if (rc == 0) {
        if (usher__run_has_steps(&command))
            usher__run_steps(cli->engine, &command, &reply);
        else
            usher__run_batch(cli->engine, &command, &reply, 1);
        rc = usher__run_answer(cli, &command, &reply);
    }
    free(block);
    return rc;
}
