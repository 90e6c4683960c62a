/* SPDX-License-Identifier: MIT */
/*
 * Lists as CSV: a row of names and one for each object that --json has in the array of the answer.
 *
 * The columns are the row keys of the verb (core/NOUN_verbs.def), so that an empty list and each
 * page have the same.  The values are read from the JSON of the answer.  The encoder of JSON is
 * thus the only place that knows forms of values, and no other mechanism is needed for notices and
 * servers.
 *
 * A value is written as it is, also one that begins with = + - or @.  A program that computes
 * formulas in text is the one that must not do so: an apostrophe in front would change the data for
 * all others.
 */
#include "config.h"

#include "cli/csv.h"

#include <stdlib.h>
#include <string.h>

#include "cli/answer.h"
#include "cli/json_walk.h"
#include "cli/parse.h"
#include "cli/run.h"
#include "core/verbs.h"

/* ---- cells ---------------------------------------------------------------------------------- */

/* The text of a cell. */
struct text {
    char *data;
    size_t n, room;
};

static void put(struct text *t, const char *data, size_t size)
{
    if (t->n + size > t->room) {
        t->room = t->room * 2 + size + 64;
        t->data = usher__cli_resize(t->data, t->room);
    }
    if (size > 0)
        memcpy(t->data + t->n, data, size);
    t->n += size;
}

static void put_code(struct text *t, unsigned code)
{
    char utf8[3];

    if (code < 0x80) {
        utf8[0] = (char)code;
        put(t, utf8, 1);
    } else if (code < 0x800) {
        utf8[0] = (char)(0xc0 | code >> 6);
        utf8[1] = (char)(0x80 | (code & 0x3f));
        put(t, utf8, 2);
    } else {
        utf8[0] = (char)(0xe0 | code >> 12);
        utf8[1] = (char)(0x80 | (code >> 6 & 0x3f));
        utf8[2] = (char)(0x80 | (code & 0x3f));
        put(t, utf8, 3);
    }
}

/* Append the string at @at without its escapes. */
static void put_string(struct text *t, const char *at)
{
    const char *end = usher__json_value_end(at) - 1;

    for (at++; at < end; at++) {
        static const char *const plain = "\"\\/bfnrt", *const means = "\"\\/\b\f\n\r\t";
        char digits[5] = "";
        const char *which;

        if (*at != '\\') {
            put(t, at, 1);
        } else if (*++at == 'u') {
            memcpy(digits, at + 1, strnlen(at + 1, 4));
            put_code(t, (unsigned)strtoul(digits, NULL, 16));
            at += strlen(digits);
        } else if ((which = strchr(plain, *at)) != NULL && *at != '\0') {
            put(t, means + (which - plain), 1);
        }
    }
}

static void put_value(struct text *t, const char *at, bool within);

/* Append an array as A,B and an object as a=1 b=2; what is within these stays JSON. */
static void put_list(struct text *t, const char *at)
{
    bool map = *at == '{', begun = false;

    for (at = usher__json_first(at); at != NULL;
         at = map ? usher__json_next_member(at) : usher__json_next(at)) {
        if (begun)
            put(t, map ? " " : ",", 1);
        begun = true;
        if (map) {
            put_string(t, at);
            put(t, "=", 1);
        }
        put_value(t, map ? usher__json_member(at) : at, true);
    }
}

static void put_value(struct text *t, const char *at, bool within)
{
    const char *bytes = *at == '{' ? usher__json_find(at, "b64") : NULL;

    if (*at == '"') {
        put_string(t, at);
    } else if (bytes != NULL &&
               usher__json_next_member(at + 1) == NULL) { /* a value that is not UTF-8 */
        put(t, "base64:", 7);
        put_string(t, bytes);
    } else if (!within && (*at == '{' || *at == '[')) {
        put_list(t, at);
    } else if (strncmp(at, "null", 4) != 0) {
        put(t, at, (size_t)(usher__json_value_end(at) - at));
    }
}

static void print_cell(FILE *out, const char *data, size_t size)
{
    bool quoted = false;

    for (size_t i = 0; i < size && !quoted; i++)
        quoted = strchr(",\"\r\n", data[i]) != NULL;
    if (!quoted) {
        if (size > 0)
            fwrite(data, 1, size, out);
        return;
    }
    putc('"', out);
    for (size_t i = 0; i < size; i++) {
        if (data[i] == '"')
            putc('"', out);
        putc(data[i], out);
    }
    putc('"', out);
}

/* Print the value at @at; NULL: an empty cell. */
static void print_value(FILE *out, struct text *t, const char *at)
{
    t->n = 0;
    if (at != NULL)
        put_value(t, at, false);
    print_cell(out, t->data, t->n);
}

/* ---- columns -------------------------------------------------------------------------------- */

#define COLUMNS_MAX 48
#define COLUMN_SIZE 40

/* The lists of a verb, and the columns of its rows. */
struct lists {
    const struct usher_operation *command;
    const struct usher__noun *noun;
    uint32_t verb; /* its bit */
    size_t n;      /* lists; with several the first column is their key */
    size_t n_columns;
    char column[COLUMNS_MAX][COLUMN_SIZE];
};

static const char *const notice_columns[] = { "scope", "epoch",   "version", "before",
                                              "verb",  "subject", "from",    "to",
                                              "data",  "owner",   "time",    "token",
                                              "until", "was",     "mark",    NULL };

/* Add a column once, with _ for - as in JSON. */
static void add_column(struct lists *l, const char *word)
{
    char *to = l->column[l->n_columns];
    size_t size = 0;

    for (; word[size] != '\0' && size + 1 < COLUMN_SIZE; size++)
        to[size] = word[size] == '-' ? '_' : word[size];
    to[size] = '\0';
    for (size_t i = 0; i < l->n_columns; i++)
        if (strcmp(l->column[i], to) == 0)
            return;
    l->n_columns += l->n_columns + 1 < COLUMNS_MAX;
}

static const char *word_of(const struct usher__key *k)
{
    return k->key != NULL ? k->key : usher_about_field(k->field)->word;
}

/* Return whether the command has the argument @field. */
static bool asked(const struct lists *l, unsigned field)
{
    const struct usher__arg *arg = &l->noun->args[l->noun->arg_at[field] - 1];
    struct usher_text text;

    if (arg->given != 0)
        return (l->command->given & arg->given) != 0;
    memcpy(&text, (const char *)l->command + arg->offset, sizeof text);
    return text.data != NULL;
}

static bool is_list(const struct lists *l, const struct usher__key *k)
{
    if ((k->verbs & l->verb) == 0 || (k->when == USHER__WHEN_ASKED && !asked(l, k->when_of)) ||
        (k->when == USHER__WHEN_NOT_ASKED && asked(l, k->when_of)))
        return false;
    return k->as == USHER__AS_LIST || k->as == USHER__AS_ROWS || k->as == USHER__AS_MAP ||
           k->as == USHER__AS_NOTICES;
}

static void add_columns(struct lists *l, const struct usher__key *k)
{
    if (k->as == USHER__AS_LIST) {
        add_column(l, usher_about_field(k->field)->word);
    } else if (k->as == USHER__AS_MAP) {
        add_column(l, usher_about_field(USHER_FIELD_NAME)->word);
        add_column(l, usher_about_field(USHER_FIELD_VALUE)->word);
    } else if (k->as == USHER__AS_NOTICES) {
        for (const char *const *word = notice_columns; *word != NULL; word++)
            add_column(l, *word);
    } else {
        for (const struct usher__key *row = l->noun->row_keys; row->verbs != 0; row++)
            if ((row->verbs & l->verb) != 0)
                add_column(l, word_of(row));
    }
}

/* Find the lists in the answer to @command.  Return false if there are none.  Figures are none,
 * though some are rows. */
static bool lists_of(const struct usher_operation *command, struct lists *l)
{
    unsigned verb = (unsigned)command->verb;
    bool kinds = false;

    memset(l, 0, sizeof *l);
    l->command = command;
    l->noun = usher__noun(verb >> 8);
    l->verb = USHER__VERB_BIT(verb);
    for (const struct usher__key *k = l->noun->keys; k->verbs != 0; k++)
        l->n += is_list(l, k);
    for (const struct usher__key *k = l->noun->keys; k->verbs != 0; k++) {
        if (!is_list(l, k))
            continue;
        if (l->n > 1 && !kinds)
            add_column(l, "kind");
        kinds = true;
        add_columns(l, k);
    }
    return l->n > 0 && (usher__verb(verb)->flags & USHER__FIGURES) == 0;
}

bool usher__csv_has_rows(const struct usher_operation *command)
{
    struct lists l;

    return lists_of(command, &l);
}

static void print_columns(FILE *out, const struct lists *l)
{
    for (size_t i = 0; i < l->n_columns; i++) {
        if (i > 0)
            putc(',', out);
        print_cell(out, l->column[i], strlen(l->column[i]));
    }
    putc('\n', out);
}

/* Print a row of @list: the members of the object @at, or its @name and the value at @at. */
static void print_row(FILE *out, struct text *t, const struct lists *l,
                      const struct usher__key *list, const char *name, const char *at)
{
    for (size_t i = 0; i < l->n_columns; i++) {
        const char *column = l->column[i], *value = NULL;

        if (i > 0)
            putc(',', out);
        if (i == 0 && l->n > 1) {
            print_cell(out, word_of(list), strlen(word_of(list)));
            continue;
        }
        if (list->as == USHER__AS_MAP)
            value = strcmp(column, "name") == 0 ? name : strcmp(column, "value") == 0 ? at : NULL;
        else if (list->as == USHER__AS_LIST)
            value = strcmp(column, usher_about_field(list->field)->word) == 0 ? at : NULL;
        else
            value = usher__json_find(at, column);
        print_value(out, t, value);
    }
    putc('\n', out);
}

/* Print the rows of the answer @json.  Return its last row, or NULL. */
static const char *print_rows(FILE *out, struct text *t, const struct lists *l, const char *json)
{
    const char *last = NULL;

    for (const struct usher__key *k = l->noun->keys; k->verbs != 0; k++) {
        char word[COLUMN_SIZE];
        const char *at;

        if (!is_list(l, k))
            continue;
        (void)snprintf(word, sizeof word, "%s", word_of(k));
        for (char *p = word; *p != '\0'; p++)
            *p = *p == '-' ? '_' : *p;
        at = usher__json_find(json, word);
        at = at != NULL ? usher__json_first(at) : NULL;
        for (; at != NULL;
             at = k->as == USHER__AS_MAP ? usher__json_next_member(at) : usher__json_next(at)) {
            last = k->as == USHER__AS_MAP ? usher__json_member(at) : at;
            print_row(out, t, l, k, at, last);
        }
    }
    return last;
}

/* ---- pages ---------------------------------------------------------------------------------- */

static bool begins(const char *word, const char *with)
{
    return strncmp(word, with, strlen(with)) == 0;
}

static bool has_word(char *const *words, size_t n, const char *with)
{
    for (size_t i = 0; i < n; i++)
        if (begins(words[i], with))
            return true;
    return false;
}

static const struct usher__arg *takes(const struct lists *l, const struct usher__verb *verb,
                                      const char *word)
{
    for (unsigned i = 0; i < l->noun->n_args; i++)
        if ((verb->keys >> i & 1u) != 0 && strcmp(l->noun->args[i].word, word) == 0)
            return &l->noun->args[i];
    return NULL;
}

/* Set @to to KEY= and the value at @at. */
static void set_word(struct text *to, const char *key, const char *at)
{
    to->n = 0;
    put(to, key, strlen(key));
    if (at != NULL)
        put_value(to, at, false);
    put(to, "", 1);
}

#define PAGE "max=1000"

/* The words of a page: those of the command, and its place. */
struct page {
    char **words;
    size_t n, given; /* given: without those that change */
    struct text after, created;
};

/* Make the words of the page after the one with @json and the last row @last.  Return false if
 * there is none. */
static bool next_page(struct page *p, const struct lists *l, const struct usher__verb *verb,
                      const char *json, const char *last)
{
    const char *at = usher__json_find(json, "next"), *more = usher__json_find(json, "more"),
               *created;
    bool by_name = takes(l, verb, "after") != NULL && !has_word(p->words, p->n, "since=");

    if (more != NULL ? !begins(more, "true") : at == NULL || begins(at, "null"))
        return false;
    if (!by_name && takes(l, verb, "since") == NULL)
        return false;
    if (at == NULL && last != NULL)
        at = usher__json_find(last, "version");
    if (at == NULL)
        return false;
    set_word(&p->after, by_name ? "after=" : "since=", at);
    created = usher__json_find(json, "created");
    p->n = p->given;
    for (size_t i = 0; i < p->n;) { /* the next place instead of the one that was given */
        if (!begins(p->words[i], "after=") && !begins(p->words[i], "since=") &&
            !begins(p->words[i], "created=")) {
            i++;
            continue;
        }
        memmove(p->words + i, p->words + i + 1, (p->n - i - 1) * sizeof(char *));
        p->n--;
    }
    p->given = p->n;
    p->words[p->n++] = p->after.data;
    if (by_name && created != NULL && takes(l, verb, "created") != NULL) {
        set_word(&p->created, "created=", created);
        p->words[p->n++] = p->created.data;
    }
    if (takes(l, verb, "max") != NULL)
        p->words[p->n++] = (char *)(uintptr_t)PAGE;
    return true;
}

/* Return the JSON of the answer, which the caller frees. */
static char *json_of(const struct usher_reply *reply)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (out == NULL)
        return NULL;
    usher__answer_reply(out, reply);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

/* Execute one page and print its rows.  *@ret_more: @p has the words of the next one. */
static int run_page(struct cli *cli, struct page *p, bool paged, bool *begun, bool *ret_more)
{
    struct usher_operation command;
    struct usher_reply *reply;
    char message[CLI_MESSAGE_MAX], *json;
    unsigned char *block = NULL;
    struct text t = { NULL, 0, 0 };
    struct lists l;
    int rc;

    *ret_more = false;
    if (!usher__parse_command(p->words, p->n, &command, &block, message)) {
        free(block);
        return usher__cli_fail(cli, USHER_INVALID, "%s", message);
    }
    (void)lists_of(&command, &l);
    usher__run_execute(cli, &command, &reply, 1);
    rc = usher__cli_exit_code(reply->status);
    if (usher__answer_there(reply) && (json = json_of(reply)) != NULL) {
        const char *last;

        if (!*begun)
            print_columns(stdout, &l);
        *begun = true;
        last = print_rows(stdout, &t, &l, json);
        if (paged)
            *ret_more = next_page(p, &l, usher__verb((unsigned)command.verb), json, last);
        free(json);
    }
    if (rc != 0)
        (void)usher__cli_fail(cli, reply->status, "%s",
                              reply->message[0] != '\0' ? reply->message
                                                        : usher_status_text(reply->status));
    usher_reply_done(reply);
    (void)usher__cli_resize(t.data, 0);
    free(block);
    return rc;
}

int usher__csv_refuse(const struct cli *cli, const char *what)
{
    char quoted[PARSE_QUOTE_MAX];

    return usher__cli_fail(cli, USHER_INVALID,
                           "`%s` has no rows: --csv is for lists, see `usher help csv`",
                           usher__quote(quoted, what));
}

/* Check that the answer has rows, before anything is done.  *@ret_max: the verb takes max=, and
 * without it has a page only. */
static int check(struct cli *cli, char *const *words, size_t n, bool *ret_max)
{
    struct usher_operation command;
    char message[CLI_MESSAGE_MAX], what[80];
    unsigned char *block = NULL;
    struct lists l;
    int rc;

    if (!usher__parse_command(words, n, &command, &block, message)) {
        free(block);
        return usher__cli_fail(cli, USHER_INVALID, "%s", message);
    }
    if (lists_of(&command, &l)) {
        *ret_max = takes(&l, usher__verb((unsigned)command.verb), "max") != NULL &&
                   !usher__run_has_steps(&command);
        rc = usher__cli_reach(cli, usher__run_use(&command));
    } else {
        (void)snprintf(what, sizeof what, "%s%s%s", l.noun->whole ? "" : l.noun->word,
                       l.noun->whole ? "" : " ", usher__verb((unsigned)command.verb)->word);
        rc = usher__csv_refuse(cli, what);
    }
    free(block);
    return rc;
}

int usher__csv_run(struct cli *cli, char *const *words, size_t n)
{
    bool has_max = false, begun = false, more;
    bool paged = !has_word(words, n, "max=") && !has_word(words, n, "n=");
    struct page p = { .n = n };
    int rc = check(cli, words, n, &has_max);

    if (rc != 0)
        return rc;
    p.words = usher__cli_resize(NULL, (n + 4) * sizeof(char *));
    memcpy(p.words, words, n * sizeof(char *));
    p.given = n;
    if (paged && has_max)
        p.words[p.n++] = (char *)(uintptr_t)PAGE;
    do {
        int page_rc = run_page(cli, &p, paged, &begun, &more);

        rc = page_rc > rc ? page_rc : rc;
    } while (more);
    (void)usher__cli_resize(p.words, 0);
    (void)usher__cli_resize(p.after.data, 0);
    (void)usher__cli_resize(p.created.data, 0);
    return rc;
}

/* ---- notices and servers -------------------------------------------------------------------- */

static void print_object(FILE *out, struct text *t, const char *const *columns, const char *object)
{
    for (size_t i = 0; columns[i] != NULL; i++) {
        if (i > 0)
            putc(',', out);
        print_value(out, t, usher__json_find(object, columns[i]));
    }
    putc('\n', out);
}

static void print_names(FILE *out, const char *const *columns)
{
    for (size_t i = 0; columns[i] != NULL; i++)
        fprintf(out, i > 0 ? ",%s" : "%s", columns[i]);
    putc('\n', out);
}

void usher__csv_notices(FILE *out)
{
    print_names(out, notice_columns);
}

void usher__csv_notice(FILE *out, const struct usher_notice *notice)
{
    size_t size = usher_notice_write(notice, USHER_FORM_JSON, NULL, 0);
    char *json = usher__cli_resize(NULL, size + 1);
    struct text t = { NULL, 0, 0 };

    (void)usher_notice_write(notice, USHER_FORM_JSON, json, size + 1);
    print_object(out, &t, notice_columns, json);
    (void)usher__cli_resize(t.data, 0);
    (void)usher__cli_resize(json, 0);
}

void usher__csv_objects(FILE *out, const char *const *columns, const char *array)
{
    struct text t = { NULL, 0, 0 };

    print_names(out, columns);
    for (const char *at = usher__json_first(array); at != NULL; at = usher__json_next(at))
        print_object(out, &t, columns, at);
    (void)usher__cli_resize(t.data, 0);
}
