/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "cli/table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "cli/json.h"
#include "core/verbs.h"

#define GAP 2 /* between columns */

void usher__table_column(struct table *t, const char *head, bool right)
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

void usher__table_text(struct table *t, const char *text, size_t size)
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

void usher__table_number(struct table *t, int64_t number)
{
    char text[24];

    (void)snprintf(text, sizeof text, "%" PRId64, number);
    add_words(t, text);
}

static void span_text(char *to, size_t size, int64_t ms)
{
    if (ms < 1000)
        (void)snprintf(to, size, "%" PRId64 " ms", ms);
    else if (ms < 120000)
        (void)snprintf(to, size, "%" PRId64 " s", ms / 1000);
    else if (ms < 7200000)
        (void)snprintf(to, size, "%" PRId64 " min", ms / 60000);
    else if (ms < 172800000)
        (void)snprintf(to, size, "%" PRId64 " h", ms / 3600000);
    else
        (void)snprintf(to, size, "%" PRId64 " d", ms / 86400000);
}

void usher__table_span(struct table *t, int64_t ms)
{
    char text[40];

    span_text(text, sizeof text, ms);
    add_words(t, text);
}

void usher__table_moment(struct table *t, int64_t ms, int64_t now_ms)
{
    char text[40], all[48];

    span_text(text, sizeof text, ms > now_ms ? ms - now_ms : now_ms - ms);
    (void)snprintf(all, sizeof all, ms > now_ms ? "in %s" : "%s ago", text);
    add_words(t, all);
}

/* Characters of UTF-8. */
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
    size_t owed = 0; /* blanks, which a line does not end with */

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

void usher__table_print(struct table *t, FILE *out)
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
    for (size_t i = 0; i < t->n; i++)
        free(t->cell[i]);
    (void)usher__cli_resize(t->cell, 0);
    memset(t, 0, sizeof *t);
}

/* ---- answers ------------------------------------------------------------------------------- */

static void cell_number(struct table *t, const struct usher_field_about *about,
                        enum usher_noun noun, int64_t number, int64_t now_ms)
{
    const char *word = usher_code_word(noun, about->field, number);

    if (about->type == USHER_TYPE_CODE)
        add_words(t, word != NULL ? word : "");
    else if (about->type == USHER_TYPE_BOOL)
        add_words(t, number != 0 ? "yes" : "");
    else if (number == 0 || number == USHER_NEVER || number == -1)
        add(t, NULL);
    else if (about->type == USHER_TYPE_MS)
        usher__table_span(t, number);
    else if (about->type == USHER_TYPE_TIME)
        usher__table_moment(t, number, now_ms);
    else
        usher__table_number(t, number);
}

static void cell(struct table *t, const struct usher_result *r, const struct usher__field *f,
                 const char *row, uint64_t serial, int64_t now_ms)
{
    const struct usher_field_about *about = usher_about_field(f->code);
    const struct usher_queue_result_row *q =
        (const struct usher_queue_result_row *)(const void *)row;
    const char *at = row + f->offset;
    char name[USHER_QUEUE_ROOM_MAX], printed[USHER_SERIAL_TEXT_MAX + 1];
    struct usher_text text;
    int64_t number;
    int code;
    bool yes;

    switch (f->type) {
    case USHER__FIELD_TEXT:
    case USHER__FIELD_VALUE:
        memcpy(&text, at, sizeof text);
        usher__table_text(t, text.data, text.size);
        break;
    case USHER__FIELD_ROOM:
        (void)usher_queue_room_name(name, q->epoch != 0 ? q->epoch : r->epoch, q->login, q->no);
        add_words(t, name);
        break;
    case USHER__FIELD_SERIAL:
        usher__table_text(t, printed, usher_serial_text(r, serial, printed, sizeof printed));
        break;
    case USHER__FIELD_CODE:
        memcpy(&code, at, sizeof code);
        cell_number(t, about, r->noun, code, now_ms);
        break;
    case USHER__FIELD_BOOL:
        memcpy(&yes, at, sizeof yes);
        cell_number(t, about, r->noun, yes, now_ms);
        break;
    default:
        memcpy(&number, at, sizeof number);
        cell_number(t, about, r->noun, number, now_ms);
        break;
    }
}

/* Lists of things that are alike. */
static bool is_list(enum usher_verb verb)
{
    switch (verb) {
    case USHER_NUMBER_LIST:
    case USHER_QUEUE_LIST:
    case USHER_QUEUE_AGENTS:
    case USHER_QUEUE_HISTORY:
    case USHER_SERIAL_HOLDS:
        return true;
    default:
        return false;
    }
}

/* What is printed with each row, and nobody asks for. */
static bool is_told(uint16_t field)
{
    return field != USHER_FIELD_VERSION && field != USHER_FIELD_LOGIN && field != USHER_FIELD_AT;
}

bool usher__table_answer(FILE *out, const struct usher_operation *command,
                         const struct usher_result *reply)
{
    const struct usher__noun *noun = usher__noun((unsigned)reply->noun);
    int64_t now_ms =
        (command->given & USHER_GIVEN_NOW) != 0 ? command->now_ms : (int64_t)time(NULL) * 1000;
    const struct usher__field *f;
    struct usher__seen seen;
    struct table t = { .n_columns = 0 };
    uint64_t serial = 0;
    const char *rows;
    size_t n;

    if (reply->status != USHER_OK || !is_list(command->verb))
        return false;
    memcpy(&n, (const char *)reply + noun->n_rows_at, sizeof n);
    memcpy(&rows, (const char *)reply + noun->rows_at, sizeof rows);
    if (n == 0)
        return false;
    usher__seen_begin(&seen, noun, (uint32_t)command->verb, true);
    while ((f = usher__seen_next(&seen)) != NULL)
        if (is_told(f->code)) {
            const struct usher_field_about *about = usher_about_field(f->code);

            usher__table_column(&t, about->word,
                                about->type == USHER_TYPE_INT || about->type == USHER_TYPE_TOKEN ||
                                    about->type == USHER_TYPE_MS);
        }
    for (size_t i = 0; i < n; i++) {
        usher__seen_begin(&seen, noun, (uint32_t)command->verb, true);
        while ((f = usher__seen_next(&seen)) != NULL)
            if (is_told(f->code))
                cell(&t, reply, f, rows + i * noun->row_size, serial, now_ms);
        if (reply->noun == USHER_SERIAL)
            serial += (uint64_t)reply->of.serial.rows[i].n;
    }
    usher__table_print(&t, out);
    usher__seen_begin(&seen, noun, (uint32_t)command->verb, false);
    while ((f = usher__seen_next(&seen)) != NULL)
        if (f->type == USHER__FIELD_NEXT) {
            const char *at = (const char *)reply + f->offset;

            memcpy(&n, at, sizeof n);
            if (n != 0) {
                fputs("more: after=", out);
                usher__plain_text(out, at + sizeof n, n);
                putc('\n', out);
            }
        } else if (f->code == USHER_FIELD_MORE && reply->noun == USHER_SERIAL &&
                   reply->of.serial.more) {
            fputs("there are more: n=\n", out);
        }
    return true;
}
