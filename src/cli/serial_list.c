/* SPDX-License-Identifier: MIT */
/* `usher serial list`: the rules of a store. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/answer.h"
#include "cli/cli.h"
#include "cli/parse.h"

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
    char quoted[CLI_QUOTE_MAX], message[CLI_MESSAGE_MAX];
    struct usher_command command;
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
        return usher__cli_fail(cli, status, "%s", usher_message(cli->engine));
    if (names.n > 0)
        qsort(names.name, names.n, sizeof *names.name, names_compare);
    if (cli->json || cli->shell) {
        usher__answer_begin(&j, USHER_OK, 0, 0);
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
