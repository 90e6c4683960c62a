/* SPDX-License-Identifier: MIT */
/* `usher room list`, `usher room patrol`, and the digest that a copy of a room has, too. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/answer.h"
#include "cli/cli.h"
#include "cli/parse.h"
#include "core/text.h"

/* Rooms as they are listed or handed out; texts live in @r. */
static int rooms_answer(struct cli *cli, struct usher_result *r)
{
    const struct usher_room_result *room = &r->of.room;
    struct usher_text next = { room->name, room->name_size };
    struct json j = { stdout, false };
    int rc = usher__cli_exit_code(r->status);

    if (usher__answer_failed(r->status) && !room->partial) {
        (void)usher__cli_fail(cli, r->status, "%s", r->message);
    } else if (!cli->json && !cli->shell) {
        printf("%s: %zu room%s", usher_status_word(r->status), room->n_rows,
               room->n_rows == 1 ? "" : "s");
        for (size_t i = 0; i < room->n_rows; i++) {
            fputs("; ", stdout);
            usher__plain_text(stdout, room->rows[i].id.data, room->rows[i].id.size);
        }
        if (room->more) {
            fputs("; more after ", stdout);
            usher__plain_text(stdout, next.data, next.size);
        }
        putchar('\n');
        if (room->partial)
            (void)usher__cli_fail(cli, r->status, "%s", r->message);
    } else {
        usher__answer_begin(&j, r->status, 0, 0, USHER_NEVER, 0);
        if (room->partial)
            usher__json_text(&j, "message", r->message);
        usher__json_key(&j, "rooms");
        putchar('[');
        for (size_t i = 0; i < room->n_rows; i++) {
            if (i > 0)
                putchar(',');
            usher__json_string(stdout, room->rows[i].id.data, room->rows[i].id.size);
        }
        putchar(']');
        usher__json_name(&j, "next", &next);
        usher__json_bool(&j, "more", room->more);
        if (room->more)
            usher__json_int(&j, "created", room->created_ms);
        usher__json_bool(&j, "partial", room->partial);
        puts("}");
    }
    usher_result_done(r);
    return rc;
}

/* @word is @key=N within @max.  False: it is that, and wrong. */
static bool number_key(const char *word, const char *key, int64_t min, int64_t max, int64_t *ret,
                       bool *ret_taken, char message[CLI_MESSAGE_MAX])
{
    bool span = max == USHER_SPAN_MAX;
    const char *value = usher__key_value(word, key);

    if (value == NULL)
        return true;
    *ret_taken = true;
    if (span ? usher__parse_span(value, min, max, ret) : usher__parse_int(value, min, max, ret))
        return true;
    (void)snprintf(message, CLI_MESSAGE_MAX,
                   span ? PARSE_NO_SPAN : "%s is not a number from %" PRId64 " to %" PRId64, key,
                   min, max);
    return false;
}

int usher__cli_rooms(struct cli *cli, char *const *words, size_t n)
{
    bool patrol = strcmp(words[1], "patrol") == 0;
    const char *after = NULL, *fault;
    int64_t max = 0, every = 0, lease = 0, created = 0;
    char message[CLI_MESSAGE_MAX], quoted[PARSE_QUOTE_MAX];
    struct usher_operation c;
    struct usher_result r;
    int rc;

    memset(&c, 0, sizeof c);
    if (patrol && (n < 3 || strchr(words[2], '=') != NULL))
        return usher__cli_fail(cli, USHER_INVALID, "worker is missing");
    fault = patrol ? usher__name_fault(words[2], strlen(words[2])) : NULL;
    if (fault != NULL)
        return usher__cli_fail(cli, USHER_INVALID, "worker %s", fault);
    for (size_t i = patrol ? 3 : 2; i < n; i++) {
        const char *value = usher__key_value(words[i], "after");
        bool taken = false;

        if (!usher__parse_common(words[i], &c, &taken, message))
            return usher__cli_fail(cli, USHER_INVALID, "%s", message);
        if (taken)
            continue;
        if (!patrol && value != NULL) {
            after = value;
            fault = usher__scope_fault(after, strlen(after));
            if (fault != NULL)
                return usher__cli_fail(cli, USHER_INVALID, "after %s", fault);
            continue;
        }
        if (!number_key(words[i], patrol ? "batch" : "max", 1, USHER_LIST_MAX, &max, &taken,
                        message) ||
            (!patrol &&
             !number_key(words[i], "created", 0, USHER_TIME_MAX, &created, &taken, message)) ||
            (patrol &&
             (!number_key(words[i], "every", 1, USHER_SPAN_MAX, &every, &taken, message) ||
              !number_key(words[i], "lease", 1, USHER_SPAN_MAX, &lease, &taken, message))))
            return usher__cli_fail(cli, USHER_INVALID, "%s", message);
        if (!taken)
            return usher__cli_fail(cli, USHER_INVALID, "`%s` is not an argument of `room %s`",
                                   usher__quote(quoted, words[i]), words[1]);
    }
    rc = usher__cli_open(cli, patrol ? CLI_WRITES : CLI_LOOKS);
    if (rc != 0)
        return rc;
    if (patrol)
        (void)usher_room_patrol_result(cli->engine, words[2], (size_t)max, every, lease,
                                       (c.given & USHER_GIVEN_NOW) != 0 ? c.now_ms : -1, &r);
    else
        (void)usher_room_list_result(cli->engine, after, created, (size_t)max,
                                     (c.given & USHER_GIVEN_NOW) != 0 ? c.now_ms : -1, &r);
    return rooms_answer(cli, &r);
}

/* ---- room digest --------------------------------------------------------------------- */

static enum usher_status of_the_room(struct usher_engine *e, struct usher_result *r,
                                     const char *room, char digest[33])
{
    enum usher_status status = usher_room_digest(e, room, &r->epoch, &r->version, digest);

    if (usher__answer_failed(status))
        return status;
    r->status = status;
    return USHER_OK;
}

int usher__cli_room_digest(struct cli *cli, char *const *words, size_t n)
{
    return usher__cli_digest_by(cli, words, n, of_the_room);
}
