/* SPDX-License-Identifier: MIT */
/* usher drop: erase a scope with all its content. */
#include "config.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cli/answer.h"
#include "cli/cli.h"
#include "cli/json.h"
#include "cli/parse.h"
#include "cli/remote.h"
#include "core/text.h"
#include "core/verbs.h"

/* Split a word such as "number/sales"; a name may have a slash.  Return NULL if it is none. */
static const struct usher__noun *scope_of(const char *word, const char **ret_name)
{
    const char *slash = strchr(word, '/');

    for (unsigned i = 0; slash != NULL && usher__noun_at(i) != NULL; i++) {
        const struct usher__noun *noun = usher__noun_at(i);
        size_t size = (size_t)(slash - word);

        if (strlen(noun->word) == size && memcmp(noun->word, word, size) == 0) {
            *ret_name = slash + 1;
            return usher__scope_fault(slash + 1, strlen(slash + 1)) == NULL ? noun : NULL;
        }
    }
    return NULL;
}

static bool asked(const char *scope)
{
    char line[16] = "";
    bool yes;

    fputs("drop ", stderr);
    usher__plain_text(stderr, scope, strlen(scope));
    fputs(" with all that is in it? [y/N] ", stderr);
    (void)fflush(stderr);
    if (fgets(line, sizeof line, stdin) == NULL)
        return false;
    yes = strcmp(line, "y\n") == 0 || strcmp(line, "yes\n") == 0;
    while (strchr(line, '\n') == NULL && fgets(line, sizeof line, stdin) != NULL)
        ; /* the rest of a long line is no answer to a later question of the shell */
    return yes;
}

static enum usher_status drop_remote(const struct cli *cli, const char *scope, int64_t *ret_items,
                                     char message[REMOTE_MESSAGE_MAX])
{
    const char *const words[] = { "DROP", scope, "--yes" };
    const struct remote_value *items, *same;
    struct remote_value v;
    static const char *const needs[] = { "status", "dropped", NULL };
    enum usher_status status = usher__remote_ask(cli->remote, words, 3, 0, needs, &v, message);

    if (status != USHER_OK)
        return status;
    items = usher__remote_get(&v, "dropped", REMOTE_INT);
    same = usher__remote_get(&v, "status", REMOTE_TEXT);
    *ret_items = items != NULL ? items->number : 0;
    status = same != NULL && strcmp(same->text.data, "same") == 0 ? USHER_SAME : USHER_OK;
    usher__remote_value_free(&v);
    return status;
}

int usher__cli_drop(struct cli *cli, char *const *words, size_t n)
{
    const struct usher__noun *noun = NULL;
    const char *scope = NULL, *name = NULL;
    char quoted[PARSE_QUOTE_MAX], message[REMOTE_MESSAGE_MAX];
    bool yes = false;
    int64_t items = 0;
    enum usher_status status;
    int rc;

    for (size_t i = 1; i < n; i++) {
        if (strcmp(words[i], "--yes") == 0) {
            yes = true;
        } else if (scope == NULL) {
            scope = words[i];
            noun = scope_of(scope, &name);
            if (noun == NULL)
                return usher__cli_fail(cli, USHER_INVALID, "`%s` is not NOUN/NAME",
                                       usher__quote(quoted, scope));
        } else {
            return usher__cli_fail(cli, USHER_INVALID, "`%s` is not an argument of `drop`",
                                   usher__quote(quoted, words[i]));
        }
    }
    if (noun == NULL)
        return usher__cli_fail(cli, USHER_INVALID, "NOUN/NAME is missing");
    rc = usher__cli_reach(cli, CLI_LOOKS);
    if (rc != 0)
        return rc;
    if (!yes && (isatty(STDIN_FILENO) != 1 || isatty(STDERR_FILENO) != 1))
        return usher__cli_fail(cli, USHER_REFUSED, "not a terminal: to erase %s, add --yes",
                               usher__quote(quoted, scope));
    if (!yes && !asked(scope))
        return usher__cli_fail(cli, USHER_REFUSED, "not confirmed: %s was not erased",
                               usher__quote(quoted, scope));
    status = cli->remote != NULL
                 ? drop_remote(cli, scope, &items, message)
                 : usher_drop(cli->engine, (enum usher_noun)noun->noun, name, &items);
    if (status != USHER_OK && status != USHER_SAME)
        return usher__cli_fail(cli, status, "%s", cli->remote != NULL ? message : usher_message());
    if (cli->json) {
        struct json j = { stdout, false };

        usher__answer_begin(&j, status, 0, 0, USHER_NEVER, 0);
        usher__json_int(&j, "dropped", items);
        puts("}");
    } else {
        printf("%s: ", usher_status_word(status));
        usher__plain_text(stdout, scope, strlen(scope));
        if (status == USHER_SAME)
            puts(" is not there");
        else
            printf(" is gone, with %" PRId64 " record%s\n", items, items == 1 ? "" : "s");
    }
    return usher__cli_exit_code(status);
}
