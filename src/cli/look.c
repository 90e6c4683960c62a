/* SPDX-License-Identifier: MIT */
/* What only looks: lua, tables, check, version, number digest. */
#include "config.h"

#include "cli/cli.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/answer.h"
#include "words/closest.h"
#include "cli/parse.h"
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
    if (status == USHER_OK && (cli->json || cli->shell)) {
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
            s->format = USHER_TABLE_LUA;
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

#define FOUND_MAX 100u /* faults that the object lists */

struct faults {
    bool lines; /* as lines on standard error */
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

int usher__cli_check(struct cli *cli, char *const *words, size_t n)
{
    struct usher_check_result found;
    unsigned flags = 0;
    char quoted[PARSE_QUOTE_MAX];
    struct faults f;
    enum usher_status status;
    struct json j = { stdout, false };
    int rc;

    for (size_t i = 1; i < n; i++) {
        if (strcmp(words[i], "--repair") != 0)
            return usher__cli_fail(cli, USHER_INVALID, "`%s` is not an argument of `check`",
                                   usher__quote(quoted, words[i]));
        flags |= USHER_CHECK_REPAIR;
    }
    rc = usher__cli_open(cli, CLI_LOOKS);
    if (rc != 0)
        return rc;
    memset(&f, 0, sizeof f);
    f.lines = !cli->json && !cli->shell;
    found.partial = false;
    status = usher_check(cli->engine, flags, fault, &f, &found);
    if (status != USHER_OK && !found.partial) {
        for (size_t i = 0; i < f.n; i++)
            (void)usher__cli_resize(f.found[i], 0);
        return usher__cli_fail(cli, status, "%s", usher_message());
    }
    if (status == USHER_OK && found.faults > found.repaired)
        status = USHER_REFUSED;
    if (f.lines) {
        printf("%s: %" PRIu64 " faults in %" PRIu64 " scopes", usher_status_word(status),
               found.faults, found.scopes);
        if (flags != 0)
            printf(", %" PRIu64 " repaired", found.repaired);
        if (found.partial)
            fputs(", not all was seen", stdout);
        putchar('\n');
        if (found.partial)
            (void)usher__cli_fail(cli, status, "%s", usher_message());
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
        usher__json_text(&j, "message", usher_message());
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
    "redis",  "redis+cluster",
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
    if (cli->json || cli->shell) {
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

/* ---- digests ---------------------------------------------------------------- */

static int digest_answer(const struct cli *cli, const struct usher_result *r, const char *digest)
{
    struct json j = { stdout, false };

    if (!cli->json && !cli->shell) {
        printf("%s%s%s\n", usher_status_word(r->status), *digest != '\0' ? ": " : "", digest);
    } else {
        usher__answer_begin(&j, r->status, r->epoch, r->version, r->due_ms);
        if (*digest != '\0') /* a room that is not there has none */
            usher__json_text(&j, "digest", digest);
        puts("}");
    }
    return usher__cli_exit_code(r->status);
}

int usher__cli_digest(struct cli *cli, char *const *words, size_t n)
{
    bool room = strcmp(words[0], usher_noun_word(USHER_ROOM)) == 0;
    bool serial = strcmp(words[0], usher_noun_word(USHER_SERIAL)) == 0;
    bool id = strcmp(words[0], usher_noun_word(USHER_ID)) == 0;
    const char *scope = room ? "room" : serial ? "rule" : id ? "name" : "pool";
    struct usher_operation c;
    struct usher_result r;
    char digest[33], message[CLI_MESSAGE_MAX], quoted[PARSE_QUOTE_MAX];
    const char *wrong;
    enum usher_status status;
    bool taken;
    int rc;

    memset(&c, 0, sizeof c);
    c.verb = room     ? USHER_ROOM_SHOW
             : serial ? USHER_SERIAL_SHOW
             : id     ? USHER_ID_SHOW
                      : USHER_NUMBER_STATS;
    if (n < 3)
        return usher__cli_fail(cli, USHER_INVALID, "%s is missing", scope);
    wrong = usher__scope_fault(words[2], strlen(words[2]));
    if (wrong != NULL)
        return usher__cli_fail(cli, USHER_INVALID, "%s %s", scope, wrong);
    for (size_t i = 3; i < n; i++) {
        if (!usher__parse_common(words[i], &c, &taken, message))
            return usher__cli_fail(cli, USHER_INVALID, "%s", message);
        if (!taken)
            return usher__cli_fail(cli, USHER_INVALID, "`%s` is one word too many for `%s digest`",
                                   usher__quote(quoted, words[i]), words[0]);
    }
    c.scope.data = words[2];
    c.scope.size = strlen(words[2]);
    rc = usher__cli_open(cli, CLI_LOOKS);
    if (rc != 0)
        return rc;
    usher__run_batch(cli->engine, &c, &r, 1);
    if (usher__answer_failed(r.status))
        return usher__run_answer(cli, &c, &r);
    usher_result_done(&r);
    if (room) {
        status = usher_room_digest(cli->engine, words[2], &r.epoch, &r.version, digest);
        if (!usher__answer_failed(status)) {
            r.status = status;
            return digest_answer(cli, &r, digest);
        }
    } else {
        status = usher_digest(cli->engine,
                              serial ? USHER_SERIAL
                              : id   ? USHER_ID
                                     : USHER_NUMBER,
                              words[2], digest);
    }
    if (status != USHER_OK)
        return usher__cli_fail(cli, status, "%s", usher_message());
    return digest_answer(cli, &r, digest);
}

/* ---- room list, room patrol ---------------------------------------------------------- */

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
        usher__answer_begin(&j, r->status, 0, 0, USHER_NEVER);
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
