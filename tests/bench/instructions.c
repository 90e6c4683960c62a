/* SPDX-License-Identifier: MIT */
/*
 * instructions -- commands for callgrind, which counts what they take on the memory store.
 *
 *     instructions              the names of the commands, one a line
 *     instructions NAME ROUNDS  executes it ROUNDS times
 *
 * tests/yardstick.sh counts the instructions of measured() alone (--toggle-collect), not
 * those of the commands before and after it.
 */
#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <usher/command.h>
#include <usher/number.h>

#define NUMBERS 100 /* in the pool; as many users wait, and as many members are in the room */

static struct usher_engine *engine;

static void die(const char *what)
{
    (void)fprintf(stderr, "instructions: %s: %s\n", what, usher_message());
    exit(1);
}

static void execute(const struct usher_command *command, const char *line)
{
    struct usher_reply *reply;

    if (usher_execute(engine, command, 1, 0, &reply) != USHER_OK || reply->status != USHER_OK)
        die(line);
    usher_reply_done(reply);
}

static void parse(const char *line, struct usher_command *command, char *room, size_t size)
{
    if (usher_command_parse(line, strlen(line), room, size, command) != USHER_OK)
        die(line);
}

static void say(const char *line)
{
    struct usher_command command;
    char room[4096];

    parse(line, &command, room, sizeof room);
    execute(&command, line);
}

/* @format with numbers from 0 up. */
static void say_all(const char *format)
{
    for (unsigned i = 0; i < NUMBERS; i++) {
        const char *at = strchr(format, '#');
        char line[256];

        (void)snprintf(line, sizeof line, "%.*s%u%s", (int)(at - format), format, i, at + 1);
        say(line);
    }
}

enum way { VALUES, CALL, TEXT };

/* A round: the commands `before` and `after` are not counted. */
static const struct row {
    const char *name;
    enum way way;
    const char *before, *line, *after;
} rows[] = {
    { "number-call", VALUES, NULL, "number call p owner=ann lease=60s", "number free p owner=ann" },
    { "number-hangup", VALUES, "number call p number=n7", "number hangup p n7", NULL },
    { "number-list", VALUES, NULL, "number list p max=50", NULL },
    { "number-call-typed", CALL, NULL, "number call p owner=ann lease=60s",
      "number free p owner=ann" },
    { "number-show-text", TEXT, NULL, "number show p n7", NULL },
    { "queue-apply", VALUES, NULL, "queue apply q user lane=b", "queue leave q user" },
    { "queue-leave", VALUES, "queue apply q user lane=b", "queue leave q user", NULL },
    { "queue-seat", VALUES, NULL, "queue apply q user lane=a", "queue leave q user" },
    { "queue-end", VALUES, "queue apply q user lane=a", "queue leave q user", NULL },
    { "room-join", VALUES, NULL, "room join r ann", "room leave r ann" },
    { "room-set", VALUES, "room set r field one", "room set r field two", NULL },
    { "serial-take", VALUES, NULL, "serial take s", NULL },
    { "id-next", VALUES, NULL, "id next i", NULL },
};
#define N_ROWS (sizeof rows / sizeof *rows)

static void prepare(void)
{
    say_all("number add p n#");
    say_all("number reg p n#");
    say("queue set q ttl=0");
    say("queue login q eve lanes=a");
    say("queue login q kim lanes=b");
    say_all("queue apply q u# lane=b");
    say("room open r");
    say_all("room join r m#");
    say("serial rule s critical=100 batch=1000");
    say("serial fill s 1000");
    say("id create i");
}

/* One function for all ways: callgrind counts from its first instruction to its last. */
__attribute__((noinline)) static void measured(const struct row *row,
                                               const struct usher_command *command)
{
    struct usher_number_options opt = USHER_NUMBER_OPTIONS_INIT;
    struct usher_number_answer answer = USHER_NUMBER_ANSWER_INIT;
    struct usher_command parsed;
    struct usher_reply *reply;
    char room[4096], text[4096];

    switch (row->way) {
    case VALUES:
        execute(command, row->line);
        break;
    case CALL:
        opt.lease_ms = 60000;
        if (usher_number_call(engine, "p", "ann", &opt, &answer) != USHER_OK)
            die(row->name);
        break;
    case TEXT:
        parse(row->line, &parsed, room, sizeof room);
        if (usher_execute(engine, &parsed, 1, 0, &reply) != USHER_OK ||
            usher_reply_write(reply, USHER_FORM_JSON, text, sizeof text) == 0)
            die(row->line);
        usher_reply_done(reply);
        break;
    }
}

int main(int argc, char **argv)
{
    struct usher_command command;
    char room[4096];

    for (size_t i = 0; i < N_ROWS; i++) {
        const struct row *row = &rows[i];

        if (argc == 1)
            puts(row->name);
        if (argc != 3 || strcmp(argv[1], row->name) != 0)
            continue;
        if (usher_open("memory:", NULL, &engine) != USHER_OK)
            die("memory:");
        prepare();
        parse(row->line, &command, room, sizeof room);
        for (unsigned long n = strtoul(argv[2], NULL, 10); n > 0; n--) {
            if (row->before != NULL)
                say(row->before);
            measured(row, &command);
            if (row->after != NULL)
                say(row->after);
        }
        usher_close(engine);
        return 0;
    }
    return argc == 1 ? 0 : 2;
}
