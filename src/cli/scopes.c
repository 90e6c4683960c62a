/* SPDX-License-Identifier: MIT */
/* usher scopes: what is in a store. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/answer.h"
#include "cli/cli.h"
#include "cli/json.h"
#include "cli/parse.h"
#include "cli/table.h"
#include "core/verbs.h"

struct scope {
    enum usher_noun noun;
    char name[USHER_NAME_MAX + 1];
    uint64_t epoch, version;
    int64_t due_ms, items;
};

struct scopes {
    struct scope *row;
    size_t n;
};

static void keep(void *payload, const struct usher_scope_info *info)
{
    struct scopes *s = payload;
    struct scope *row;

    if (s->n % 64 == 0)
        s->row = usher__cli_resize(s->row, (s->n + 64) * sizeof *s->row);
    row = &s->row[s->n++];
    row->noun = info->noun;
    memcpy(row->name, info->name.data, info->name.size);
    row->name[info->name.size] = '\0';
    row->epoch = info->epoch;
    row->version = info->version;
    row->due_ms = info->due_ms;
    row->items = info->items;
}

/* "number/sales" as it goes behind after=. */
static void place(FILE *out, const struct scope *row)
{
    char text[USHER_NAME_MAX + 16];

    (void)snprintf(text, sizeof text, "%s/%s", usher_noun_word(row->noun), row->name);
    usher__json_string(out, text, strlen(text));
}

static void print_object(const struct scopes *s, enum usher_status status, bool more)
{
    struct json j = { stdout, false };

    usher__answer_begin(&j, status, 0, 0, USHER_NEVER, 0);
    if (status != USHER_OK)
        usher__json_text(&j, "message", usher_message());
    usher__json_key(&j, "scopes");
    putchar('[');
    for (size_t i = 0; i < s->n; i++) {
        const struct scope *row = &s->row[i];

        printf("%s{\"scope\":", i > 0 ? "," : "");
        place(stdout, row);
        printf(",\"epoch\":\"%016" PRIx64 "\",\"version\":%" PRIu64 ",\"due\":", row->epoch,
               row->version);
        if (row->due_ms != USHER_NEVER)
            printf("%" PRId64, row->due_ms);
        else
            fputs("null", stdout);
        printf(",\"items\":%" PRId64 "}", row->items);
    }
    fputs("],\"next\":", stdout);
    if (more && s->n > 0)
        place(stdout, &s->row[s->n - 1]);
    else
        fputs("null", stdout);
    printf(",\"partial\":%s}\n", status != USHER_OK ? "true" : "false");
}

static void print_row(const struct scope *row)
{
    char time[CLI_TIME_MAX];
    const char *items = usher__noun(row->noun)->items[row->items < 2 ? row->items : 2];

    printf("%s/", usher_noun_word(row->noun));
    usher__plain_text(stdout, row->name, strlen(row->name));
    printf(", version %" PRIu64, row->version);
    if (items != NULL)
        printf(", %" PRId64 " %s", row->items, items);
    if (row->due_ms != USHER_NEVER)
        printf(", due %s", usher__time_text(time, row->due_ms));
}

static void print_table(const struct scopes *s)
{
    int64_t now_ms = (int64_t)time(NULL) * 1000;
    struct table t = { .n_columns = 0 };

    usher__table_column(&t, "scope", false);
    usher__table_column(&t, "version", true);
    usher__table_column(&t, "items", true);
    usher__table_column(&t, "due", false);
    for (size_t i = 0; i < s->n; i++) {
        const struct scope *row = &s->row[i];
        char name[USHER_NAME_MAX + 16];
        int size = snprintf(name, sizeof name, "%s/%s", usher_noun_word(row->noun), row->name);

        usher__table_text(&t, name, (size_t)size);
        usher__table_number(&t, (int64_t)row->version);
        if (usher__noun(row->noun)->items[1] != NULL)
            usher__table_number(&t, row->items);
        else
            usher__table_text(&t, NULL, 0);
        if (row->due_ms != USHER_NEVER)
            usher__table_moment(&t, row->due_ms, now_ms);
        else
            usher__table_text(&t, NULL, 0);
    }
    usher__table_print(&t, stdout);
}

/* On one line, or on a terminal a table. */
static void print_plain(const struct scopes *s, enum usher_status status, bool more)
{
    bool table = isatty(STDOUT_FILENO) == 1 && s->n > 0;

    if (table) {
        print_table(s);
    } else {
        printf("%s: %zu scope%s", usher_status_word(status), s->n, s->n == 1 ? "" : "s");
        for (size_t i = 0; i < s->n; i++) {
            fputs("; ", stdout);
            print_row(&s->row[i]);
        }
    }
    if (more && s->n > 0) {
        const struct scope *last = &s->row[s->n - 1];

        printf("%s%s/", table ? "more: after=" : "; more after ", usher_noun_word(last->noun));
        usher__plain_text(stdout, last->name, strlen(last->name));
    }
    if (!table || more)
        putchar('\n');
}

int usher__cli_scopes(struct cli *cli, char *const *words, size_t n)
{
    const struct usher__noun *noun = NULL;
    struct scopes s = { NULL, 0 };
    const char *after = NULL, *value;
    char quoted[PARSE_QUOTE_MAX];
    enum usher_status status;
    int64_t max = 0;
    bool more;
    int rc;

    for (size_t i = 1; i < n; i++) {
        if ((value = usher__key_value(words[i], "after")) != NULL) {
            after = value;
        } else if ((value = usher__key_value(words[i], "max")) != NULL) {
            if (!usher__parse_int(value, 1, USHER_LIST_MAX, &max))
                return usher__cli_fail(cli, USHER_INVALID, "max is not a number from 1 to %d",
                                       USHER_LIST_MAX);
        } else if (noun == NULL && (noun = usher__noun_by_word(words[i])) != NULL &&
                   !noun->hidden) {
            continue;
        } else {
            return usher__cli_fail(cli, USHER_INVALID, "`%s` is not a noun, after= or max=",
                                   usher__quote(quoted, words[i]));
        }
    }
    rc = usher__cli_open(cli, CLI_LOOKS);
    if (rc != 0)
        return rc;
    status =
        usher_scopes(cli->engine, noun != NULL ? (enum usher_noun)noun->noun : (enum usher_noun)0,
                     after, (size_t)max, keep, &s, &more);
    rc = usher__cli_exit_code(status);
    if (status != USHER_OK && s.n == 0) {
        rc = usher__cli_fail(cli, status, "%s", usher_message());
    } else if (cli->json || cli->shell) {
        print_object(&s, status, more);
    } else {
        char message[CLI_MESSAGE_MAX];

        (void)snprintf(message, sizeof message, "%s", usher_message());
        print_plain(&s, status, more);
        if (status != USHER_OK)
            (void)usher__cli_fail(cli, status, "%s", message);
    }
    (void)usher__cli_resize(s.row, 0);
    return rc;
}
