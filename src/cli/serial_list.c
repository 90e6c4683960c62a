/* SPDX-License-Identifier: MIT */
/* `usher serial list`: the rules of a store; `usher serial journal`: what became of numbers. */
#include "config.h"

#include <usher/authority.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/answer.h"
#include "cli/cli.h"
#include "cli/parse.h"
#include "core/text.h"

struct names {
    char **name;
    size_t n, room;
};

static void names_add(void *payload, const char *rule)
{
    struct names *names = payload;
    size_t size = strlen(rule) + 1;

    if (names->n == names->room) {
        names->room = names->room * 2 + 64;
        /* NOLINTNEXTLINE(bugprone-sizeof-expression) */
        names->name = usher__cli_resize(names->name, names->room * sizeof *names->name);
    }
    names->name[names->n] = memcpy(usher__cli_resize(NULL, size), rule, size);
    names->n++;
}

static int names_compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int usher__cli_serial_list(struct cli *cli, char *const *words, size_t n)
{
    struct names names = { NULL, 0, 0 };
    struct json j = { stdout, false };
    char quoted[PARSE_QUOTE_MAX], message[CLI_MESSAGE_MAX];
    struct usher_operation command;
    enum usher_status status;
    int rc;

    memset(&command, 0, sizeof command);

    for (size_t i = 2; i < n; i++) { /* every command takes them; here they have no meaning */
        bool taken;

        if (!usher__parse_common(words[i], &command, &taken, message))
            return usher__cli_fail(cli, USHER_INVALID, "%s", message);
        if (!taken)
            return usher__cli_fail(cli, USHER_INVALID,
                                   "`%s` is one word too many for `serial list`",
                                   usher__quote(quoted, words[i]));
    }
    rc = usher__cli_open(cli, CLI_LOOKS);
    if (rc != 0)
        return rc;
    status = usher_serial_rules(cli->engine, names_add, &names);
    if (status != USHER_OK)
        return usher__cli_fail(cli, status, "%s", usher_message());
    if (names.n > 0)
        qsort(names.name, names.n, sizeof *names.name, names_compare);
    if (cli->json || cli->shell) {
        usher__answer_begin(&j, USHER_OK, 0, 0, USHER_NEVER, 0);
        usher__json_key(&j, "rules");
        putchar('[');
    } else {
        printf("ok: %zu rule%s", names.n, names.n == 1 ? "" : "s");
    }
    for (size_t i = 0; i < names.n; i++) {
        if (cli->json || cli->shell) {
            if (i > 0)
                putchar(',');
            usher__json_string(stdout, names.name[i], strlen(names.name[i]));
        } else {
            fputs(i > 0 ? " " : ": ", stdout);
            usher__plain_text(stdout, names.name[i], strlen(names.name[i]));
        }
        (void)usher__cli_resize(names.name[i], 0);
    }
    (void)usher__cli_resize(names.name, 0);
    puts(cli->json || cli->shell ? "]}" : "");
    return 0;
}

/* ---- serial journal ------------------------------------------------------------------ */

struct journal {
    struct json j;
    bool json, more;
    int64_t n, max;
    uint64_t last;
};

static void event_json(struct journal *to, const struct usher_authority_event *event)
{
    struct json *j = &to->j;
    char epoch[17];

    (void)snprintf(epoch, sizeof epoch, "%016" PRIx64, event->epoch);
    usher__json_open(j, NULL);
    usher__json_int(j, "row", (int64_t)event->row);
    usher__json_int(j, "now", event->now_ms);
    usher__json_text(j, "verb", usher_verb_word(event->verb));
    usher__json_int(j, "number", event->first);
    usher__json_int(j, "n", event->n);
    usher__json_name(j, "serial", &event->text);
    usher__json_name(j, "owner", &event->owner);
    usher__json_int(j, "period", event->period);
    usher__json_text(j, "epoch", epoch);
    usher__json_uint(j, "version", event->version);
    usher__json_bool(j, "twice", event->twice);
    usher__json_close(j);
}

static void event_plain(const struct usher_authority_event *event)
{
    char time[CLI_TIME_MAX];

    printf("\n%" PRIu64 " %s %s ", event->row, usher__time_text(time, event->now_ms),
           usher_verb_word(event->verb));
    if (event->text.size != 0)
        usher__plain_text(stdout, event->text.data, event->text.size);
    else
        printf("number %" PRId64, event->first);
    if (event->n > 1)
        printf(" and %" PRId64 " more", event->n - 1);
    if (event->owner.size != 0) {
        fputs(" by ", stdout);
        usher__plain_text(stdout, event->owner.data, event->owner.size);
    }
    printf(", version %" PRIu64 " of epoch %016" PRIx64, event->version, event->epoch);
    if (event->twice)
        fputs(", a second time", stdout);
}

static void journal_add(void *payload, const struct usher_authority_event *event)
{
    struct journal *to = payload;

    if (to->n == to->max) {
        to->more = true;
        return;
    }
    if (to->n++ == 0) { /* not before it is known that there is a journal */
        if (to->json) {
            fputs("{\"status\":\"ok\",\"rows\":[", stdout);
        } else {
            fputs("ok:", stdout);
        }
    }
    to->last = event->row;
    if (to->json)
        event_json(to, event);
    else
        event_plain(event);
}

static bool number_of(const char *word, const char *key, int64_t min, int64_t max, int64_t *ret,
                      bool *ret_taken)
{
    const char *value = usher__key_value(word, key);

    *ret_taken = value != NULL;
    return value == NULL || usher__parse_int(value, min, max, ret);
}

int usher__cli_serial_journal(struct cli *cli, char *const *words, size_t n)
{
    struct journal to;
    char message[CLI_MESSAGE_MAX], quoted[PARSE_QUOTE_MAX];
    struct usher_operation command;
    const char *fault;
    int64_t since = 0;
    enum usher_status status;
    int rc;

    memset(&command, 0, sizeof command);
    memset(&to, 0, sizeof to);
    to.j.out = stdout;
    to.json = cli->json || cli->shell;
    to.max = USHER_LIST_DEFAULT;
    if (n < 3 || strchr(words[2], '=') != NULL)
        return usher__cli_fail(cli, USHER_INVALID, "rule is missing");
    fault = usher__scope_fault(words[2], strlen(words[2]));
    if (fault != NULL)
        return usher__cli_fail(cli, USHER_INVALID, "rule %s", fault);
    for (size_t i = 3; i < n; i++) {
        bool taken;

        if (!usher__parse_common(words[i], &command, &taken, message))
            return usher__cli_fail(cli, USHER_INVALID, "%s", message);
        if (!taken && !number_of(words[i], "since", 0, INT64_MAX, &since, &taken))
            return usher__cli_fail(cli, USHER_INVALID, "since is not a number from 0 to %" PRId64,
                                   INT64_MAX);
        if (!taken && !number_of(words[i], "max", 1, USHER_LIST_MAX, &to.max, &taken))
            return usher__cli_fail(cli, USHER_INVALID, "max is not a number from 1 to %d",
                                   (int)USHER_LIST_MAX);
        if (!taken)
            return usher__cli_fail(cli, USHER_INVALID,
                                   "`%s` is not an argument of `serial journal`",
                                   usher__quote(quoted, words[i]));
    }
    rc = usher__cli_open(cli, CLI_LOOKS);
    if (rc != 0)
        return rc;
    to.last = (uint64_t)since;
    status = usher_serial_journal(cli->engine, words[2], (uint64_t)since, (size_t)to.max + 1,
                                  journal_add, &to);
    if (status != USHER_OK && to.n == 0)
        return usher__cli_fail(cli, status, "%s", usher_message());
    if (to.json && to.n == 0)
        fputs("{\"status\":\"ok\",\"rows\":[", stdout);
    if (to.json) {
        putchar(']');
        to.j.comma = true;
        usher__json_uint(&to.j, "next", to.last);
        usher__json_bool(&to.j, "more", to.more);
        puts("}");
    } else {
        puts(to.n == 0 ? "ok: nothing is in the journal" : to.more ? "\nthere is more" : "");
    }
    return 0;
}
