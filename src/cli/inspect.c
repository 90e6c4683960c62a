/* SPDX-License-Identifier: MIT */
/* Commands for inspection: lua, tables, check, version, NOUN digest. */
#include "config.h"

#include "cli/cli.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/answer.h"
#include "parse/suggest.h"
#include "cli/parse.h"
#include "cli/remote.h"
#include "cli/run.h"
#include "core/text.h"

/* ---- lua, tables ------------------------------------------------------------------ */

struct source {
    const char *noun;
    bool table;
    enum usher_table_format format;
};

static enum usher_status fetch(const struct source *s, char *buffer, size_t size,
                               size_t *ret_length)
{
    return s->table ? usher_table(s->noun, s->format, buffer, size, ret_length)
                    : usher_lua(s->noun, buffer, size, ret_length);
}

static int print_text(const struct cli *cli, const struct source *s)
{
    size_t length = 0;
    char *text;
    enum usher_status status = fetch(s, NULL, 0, &length);

    if (status != USHER_OK)
        return usher__cli_fail(cli, status, "%s", usher_message());
    text = usher__cli_resize(NULL, length + 1);
    status = fetch(s, text, length + 1, &length);
    if (status == USHER_OK && cli->json) {
        struct json j = { stdout, false };

        putchar('{');
        usher__json_text(&j, "status", usher_status_word(status));
        usher__json_text(&j, "text", text);
        puts("}");
    } else if (status == USHER_OK) {
        fwrite(text, 1, length, stdout);
        if (length == 0 || text[length - 1] != '\n')
            putchar('\n');
    }
    (void)usher__cli_resize(text, 0);
    if (status != USHER_OK)
        return usher__cli_fail(cli, status, "%s", usher_message());
    return 0;
}

static int one_noun(const struct cli *cli, char *const *words, size_t n, struct source *s)
{
    char quoted[PARSE_QUOTE_MAX];

    for (size_t i = 1; i < n; i++) {
        if (s->table && strcmp(words[i], "--dot") == 0)
            s->format = USHER_TABLE_DOT;
        else if (s->table && strcmp(words[i], "--markdown") == 0)
            s->format = USHER_TABLE_MARKDOWN;
        else if (s->table && strcmp(words[i], "--lua") == 0)
            s->format = USHER_TABLE_LUA_DIRECT;
        else if (words[i][0] == '-' || s->noun != NULL)
            return usher__cli_fail(cli, USHER_INVALID, "`%s` is not an argument of `%s`",
                                   usher__quote(quoted, words[i]), words[0]);
        else
            s->noun = words[i];
    }
    if (s->noun == NULL)
        return usher__cli_fail(cli, USHER_INVALID, "noun is missing: usher %s number", words[0]);
    return print_text(cli, s);
}

int usher__cli_lua(struct cli *cli, char *const *words, size_t n)
{
    struct source s = { NULL, false, USHER_TABLE_LUA };

    return one_noun(cli, words, n, &s);
}

int usher__cli_tables(struct cli *cli, char *const *words, size_t n)
{
    struct source s = { NULL, true, USHER_TABLE_MARKDOWN };

    return one_noun(cli, words, n, &s);
}

/* ---- check ------------------------------------------------------------------------ */

#define FOUND_MAX 100u               /* faults that the object lists */
#define CHECK_MS ((int64_t)86400000) /* deadline of a check by a server */

struct faults {
    bool lines; /* print faults as lines on standard error */
    size_t n;
    char *found[FOUND_MAX];
};

static void fault(void *payload, const char *line)
{
    struct faults *f = payload;

    if (f->lines) {
        fputs("usher: ", stderr);
        usher__plain_text(stderr, line, strlen(line));
        putc('\n', stderr);
    } else if (f->n < FOUND_MAX) {
        size_t size = strlen(line) + 1;

        f->found[f->n++] = memcpy(usher__cli_resize(NULL, size), line, size);
    }
}

static uint64_t count_of(const struct remote_value *v, const char *key)
{
    const struct remote_value *count = usher__remote_get(v, key, REMOTE_INT);

    return count != NULL && count->number > 0 ? (uint64_t)count->number : 0;
}

/* As usher_check(), by the server that has the store. */
static enum usher_status check_remote(const struct cli *cli, const struct usher_check_options *opt,
                                      struct faults *f, struct usher_check_result *ret,
                                      char message[CLI_MESSAGE_MAX])
{
    static const char *const words[] = { "CHECK", "--repair" };
    static const char *const needs[] = { "faults", "repaired", "scopes", "found", "partial", NULL };
    const struct remote_value *list, *partial, *why;
    struct remote_value v;
    enum usher_status status =
        usher__remote_ask(cli->remote, words, opt->repair ? 2 : 1, CHECK_MS, needs, &v, message);

    if (status != USHER_OK)
        return status;
    ret->faults = count_of(&v, "faults");
    ret->repaired = count_of(&v, "repaired");
    ret->scopes = count_of(&v, "scopes");
    list = usher__remote_get(&v, "found", REMOTE_LIST);
    for (size_t i = 0; list != NULL && i < list->n; i++)
        if (list->of[i].type == REMOTE_TEXT)
            fault(f, list->of[i].text.data);
    partial = usher__remote_get(&v, "partial", REMOTE_BOOL);
    ret->partial = partial != NULL && partial->number != 0;
    why = usher__remote_get(&v, "message", REMOTE_TEXT);
    (void)snprintf(message, CLI_MESSAGE_MAX, "%s", why != NULL ? why->text.data : "");
    usher__remote_value_free(&v);
    return ret->partial ? USHER_UNAVAILABLE : USHER_OK;
}

int usher__cli_check(struct cli *cli, char *const *words, size_t n)
{
    struct usher_check_result found;
    struct usher_check_options opt = USHER_CHECK_OPTIONS_INIT;
    char quoted[PARSE_QUOTE_MAX], message[CLI_MESSAGE_MAX];
    struct faults f;
    enum usher_status status;
    struct json j = { stdout, false };
    int rc;

    for (size_t i = 1; i < n; i++) {
        if (strcmp(words[i], "--repair") != 0)
            return usher__cli_fail(cli, USHER_INVALID, "`%s` is not an argument of `check`",
                                   usher__quote(quoted, words[i]));
        opt.repair = true;
    }
    rc = usher__cli_reach(cli, CLI_LOOKS);
    if (rc != 0)
        return rc;
    memset(&f, 0, sizeof f);
    f.lines = !cli->json;
    found.partial = false;
    if (cli->remote != NULL) {
        status = check_remote(cli, &opt, &f, &found, message);
    } else {
        status = usher_check(cli->engine, &opt, fault, &f, &found);
        (void)snprintf(message, sizeof message, "%s", usher_message());
    }
    if (status != USHER_OK && !found.partial) {
        for (size_t i = 0; i < f.n; i++)
            (void)usher__cli_resize(f.found[i], 0);
        return usher__cli_fail(cli, status, "%s", message);
    }
    if (status == USHER_OK && found.faults > found.repaired)
        status = USHER_REFUSED;
    if (f.lines) {
        printf("%s: %" PRIu64 " faults in %" PRIu64 " scopes", usher_status_word(status),
               found.faults, found.scopes);
        if (opt.repair)
            printf(", %" PRIu64 " repaired", found.repaired);
        if (found.partial)
            fputs(", some scopes could not be read", stdout);
        putchar('\n');
        if (found.partial)
            (void)usher__cli_fail(cli, status, "%s", message);
        return usher__cli_exit_code(status);
    }
    putchar('{');
    usher__json_text(&j, "status", usher_status_word(status));
    usher__json_uint(&j, "faults", found.faults);
    usher__json_uint(&j, "repaired", found.repaired);
    usher__json_uint(&j, "scopes", found.scopes);
    usher__json_key(&j, "found");
    putchar('[');
    for (size_t i = 0; i < f.n; i++) {
        if (i > 0)
            putchar(',');
        usher__json_string(stdout, f.found[i], strlen(f.found[i]));
        (void)usher__cli_resize(f.found[i], 0);
    }
    putchar(']');
    usher__json_bool(&j, "partial", found.partial);
    if (found.partial)
        usher__json_text(&j, "message", message);
    puts("}");
    return usher__cli_exit_code(status);
}

/* ---- version ---------------------------------------------------------------------- */

static const char *const stores[] = {
    "memory",
#ifdef USHER_WITH_SQLITE
    "sqlite",
#endif
#ifdef USHER_WITH_REDIS
    "redis",  "redis+cluster", "redis+sentinel",
#endif
#ifdef USHER_WITH_TLS
    "rediss",
#endif
};

int usher__cli_version(struct cli *cli, char *const *words, size_t n)
{
    size_t n_stores = sizeof stores / sizeof *stores;
    struct json j = { stdout, false };

    if (n > 1)
        return usher__cli_fail(cli, USHER_INVALID, "`%s` takes no arguments", words[0]);
    if (cli->json) {
        putchar('{');
        usher__json_text(&j, "status", usher_status_word(USHER_OK));
        usher__json_text(&j, "version", usher_version());
        usher__json_key(&j, "stores");
        for (size_t i = 0; i < n_stores; i++)
            printf("%s\"%s\"", i == 0 ? "[" : ",", stores[i]);
        puts("]}");
        return 0;
    }
    printf("usher %s (stores:", usher_version());
    for (size_t i = 0; i < n_stores; i++)
        printf(" %s", stores[i]);
    puts(")");
    return 0;
}
