/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "cli/table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <usher/command.h>

#include "cli/answer.h"
#include "cli/cli.h"
#include "cli/json.h"
#include "core/verbs.h"

#define GAP 2 /* between columns */

void usher__cli_table_column(struct table *t, const char *head, bool right)
{
    if (t->n_columns == TABLE_COLUMNS_MAX)
        return;
    t->head[t->n_columns] = head;
    t->right[t->n_columns++] = right;
}

static void add(struct table *t, char *cell)
{
    if (t->n == t->room) {
        t->room = t->room != 0 ? t->room * 2 : 64;
        t->cell = usher__cli_resize(t->cell, t->room * sizeof *t->cell);
    }
    t->cell[t->n++] = cell;
}

void usher__cli_table_text(struct table *t, const char *text, size_t size)
{
    char *cell = NULL;
    size_t length;
    FILE *to = size != 0 ? open_memstream(&cell, &length) : NULL;

    if (to != NULL) {
        usher__plain_text(to, text, size);
        if (fclose(to) != 0) {
            free(cell);
            cell = NULL;
        }
    }
    add(t, cell);
}

static void add_words(struct table *t, const char *text)
{
    size_t size = strlen(text) + 1;

    add(t, size > 1 ? memcpy(usher__cli_resize(NULL, size), text, size) : NULL);
}

void usher__cli_table_number(struct table *t, int64_t number)
{
    char text[24];

    (void)snprintf(text, sizeof text, "%" PRId64, number);
    add_words(t, text);
}

static void share(struct table *t, int64_t number)
{
    char text[32];

    (void)snprintf(text, sizeof text, "%" PRId64 ".%02" PRId64 " %%", number / 100, number % 100);
    add_words(t, text);
}

void usher__cli_table_span(struct table *t, int64_t ms)
{
    char text[CLI_TIME_MAX];

    add_words(t, usher__span_text(text, ms));
}

void usher__cli_table_moment(struct table *t, int64_t ms, int64_t now_ms)
{
    char text[CLI_TIME_MAX], all[CLI_TIME_MAX + 8];

    (void)usher__span_text(text, ms > now_ms ? ms - now_ms : now_ms - ms);
    (void)snprintf(all, sizeof all, ms > now_ms ? "in %s" : "%s ago", text);
    add_words(t, all);
}

/* Return the number of UTF-8 characters. */
static size_t width(const char *text)
{
    size_t n = 0;

    for (; text != NULL && *text != '\0'; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static void print_row(const struct table *t, FILE *out, const char *const *cells,
                      const size_t *widths)
{
    size_t owed = 0; /* blanks to print before the next cell; a line does not end with blanks */

    for (size_t c = 0; c < t->n_columns; c++) {
        const char *text = cells[c] != NULL ? cells[c] : "";
        size_t left = widths[c] - (width(text) < widths[c] ? width(text) : widths[c]);

        if (widths[c] == 0)
            continue;
        owed += t->right[c] ? left : 0;
        if (*text != '\0') {
            fprintf(out, "%*s%s", (int)owed, "", text);
            owed = 0;
        }
        owed += (t->right[c] ? 0 : left) + GAP;
    }
    putc('\n', out);
}

void usher__cli_table_print(struct table *t, FILE *out)
{
    size_t widths[TABLE_COLUMNS_MAX] = { 0 };

    if (t->n_columns == 0)
        return;
    for (size_t i = 0; i < t->n; i++) {
        size_t *w = &widths[i % t->n_columns], cell = width(t->cell[i]);

        *w = cell > *w ? cell : *w;
    }
    for (size_t c = 0; c < t->n_columns; c++)
        if (widths[c] != 0 && widths[c] < width(t->head[c]))
            widths[c] = width(t->head[c]);
    print_row(t, out, t->head, widths);
    for (size_t i = 0; i < t->n; i += t->n_columns)
        print_row(t, out, (const char *const *)t->cell + i, widths);
    usher__cli_table_done(t);
}

/* ---- answers ------------------------------------------------------------------------------- */

/* @v: NULL if there is none. */
static void cell(struct table *t, enum usher_noun noun, const struct usher_value *v, int64_t now_ms)
{
    enum usher_type type = v != NULL ? usher_about_field(v->field)->type : USHER_TYPE_INT;
    const char *word = v != NULL ? usher_code_word(noun, v->field, v->number) : NULL;

    if (v != NULL && v->text != NULL)
        usher__cli_table_text(t, v->text, (size_t)v->size);
    else if (type == USHER_TYPE_CODE)
        add_words(t, word != NULL ? word : "");
    else if (type == USHER_TYPE_BOOL)
        add_words(t, v->number != 0 ? "yes" : "");
    else if (v == NULL || v->number == 0)
        add(t, NULL);
    else if (type == USHER_TYPE_MS)
        usher__cli_table_span(t, v->number);
    else if (type == USHER_TYPE_SHARE)
        share(t, v->number);
    else if (type == USHER_TYPE_TIME)
        usher__cli_table_moment(t, v->number, now_ms);
    else
        usher__cli_table_number(t, v->number);
}

/* Return whether people need the column.  The version is needed only in a list of scopes. */
static bool is_told(uint32_t verb, uint32_t field)
{
    return (field != USHER_FIELD_VERSION || usher__noun(verb >> 8)->whole) &&
           field != USHER_FIELD_LOGIN && field != USHER_FIELD_AT && field != USHER_FIELD_EPOCH;
}

static void row(struct table *t, const struct usher_reply *reply, size_t i, int64_t now_ms)
{
    size_t n, at = 0;
    const struct usher_value *values = usher_reply_values(reply, i, &n);
    uint32_t field;

    for (size_t k = 0; (field = usher_verb_tells(reply->verb, true, k)) != 0; k++)
        if (is_told(reply->verb, field)) {
            for (at = 0; at < n && values[at].field != field;)
                at++;
            cell(t, (enum usher_noun)(reply->verb >> 8), at < n ? &values[at] : NULL, now_ms);
        }
}

void usher__cli_table_rows(struct table *t, const struct usher_reply *reply, int64_t now_ms)
{
    uint32_t field;

    for (size_t k = 0; (field = usher_verb_tells(reply->verb, true, k)) != 0; k++)
        if (is_told(reply->verb, field)) {
            const struct usher_field_about *about = usher_about_field(field);

            usher__cli_table_column(
                t, about->word,
                about->type == USHER_TYPE_INT || about->type == USHER_TYPE_TOKEN ||
                    about->type == USHER_TYPE_MS || about->type == USHER_TYPE_SHARE);
        }
    for (size_t i = 0; i < reply->n_rows; i++)
        row(t, reply, i, now_ms);
}

/* Append the values of @row by their names. */
static void add_values(struct table *t, const struct usher_reply *reply, size_t row, int64_t now_ms)
{
    size_t n;
    const struct usher_value *values = usher_reply_values(reply, row, &n);

    for (size_t i = 0; i < n; i++) {
        if (values[i].field == USHER_FIELD_MORE)
            continue;
        add_words(t, usher_about_field(values[i].field)->word);
        cell(t, (enum usher_noun)(reply->verb >> 8), &values[i], now_ms);
        if (t->cell[t->n - 1] == NULL) { /* in a list it is a gap */
            t->n--;
            add_words(t, "0");
        }
    }
}

void usher__cli_table_values(struct table *t, const struct usher_reply *reply, int64_t now_ms)
{
    usher__cli_table_column(t, "name", false);
    usher__cli_table_column(t, "value", false);
    add_values(t, reply, USHER_ANSWER, now_ms);
    if (reply->n_rows == 1)
        add_values(t, reply, 0, now_ms);
}

void usher__cli_table_done(struct table *t)
{
    for (size_t i = 0; i < t->n; i++)
        free(t->cell[i]);
    (void)usher__cli_resize(t->cell, 0);
    memset(t, 0, sizeof *t);
}

bool usher__cli_table_answer(FILE *out, const struct usher_operation *command,
                             const struct usher_reply *reply)
{
    int64_t here_ms = reply->now_ms != 0 ? reply->now_ms : (int64_t)time(NULL) * 1000;
    int64_t now_ms = (command->given & USHER_GIVEN_NOW) != 0 ? command->now_ms : here_ms;
    bool list = reply->status == USHER_OK &&
                (usher__verb((unsigned)command->verb)->flags & USHER__LISTS) != 0;
    struct table t = { .n_columns = 0 };
    const char *after;
    size_t size;

    if (!list || reply->n_rows == 0)
        return false;
    usher__cli_table_rows(&t, reply, now_ms);
    usher__cli_table_print(&t, out);
    after = usher_reply_text(reply, USHER_ANSWER, USHER_FIELD_AFTER, &size);
    if (after != NULL) {
        fputs("more: after=", out);
        usher__plain_text(out, after, size);
        putc('\n', out);
    }
    return true;
}
