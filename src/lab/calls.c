/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lab/calls.h"

#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"

/* ---- lines ------------------------------------------------------------------------ */

static int calls_compare_lines(const void *a, const void *b)
{
    const struct calls_line *x = a, *y = b;
    size_t size = x->name.size < y->name.size ? x->name.size : y->name.size;
    int order = memcmp(x->name.data, y->name.data, size);

    if (order != 0)
        return order;
    return x->name.size < y->name.size ? -1 : x->name.size > y->name.size;
}

const struct calls_line *usher__calls_name(const struct calls_names *names, const char *name,
                                           size_t size)
{
    struct calls_line key = { { name, size }, 0 };
    void *const *node = tfind(&key, &names->by_name, calls_compare_lines);

    return node != NULL ? *node : NULL;
}

uint32_t usher__calls_index(struct calls_names *names, const char *name, size_t size)
{
    const struct calls_line *known = usher__calls_name(names, name, size);
    struct calls_line *line;
    char *copy;

    if (known != NULL)
        return known->index;
    if (size > USHER_NAME_MAX) /* a name is not */
        size = USHER_NAME_MAX;
    line = usher__cli_resize(NULL, sizeof *line + size);
    copy = (char *)(line + 1);
    memcpy(copy, name, size);
    line->name.data = copy;
    line->name.size = size;
    line->index = (uint32_t)names->n;
    if (names->n == names->room) {
        names->room = names->room * 2 + 64;
        /* an array of pointers: they stay where they are when it grows */
        /* NOLINTNEXTLINE(bugprone-sizeof-expression) */
        names->name = usher__cli_resize(names->name, names->room * sizeof *names->name);
    }
    names->name[names->n++] = line;
    if (tsearch(line, &names->by_name, calls_compare_lines) == NULL) {
        fputs("usher: nomem: out of memory\n", stderr);
        exit(usher__cli_exit_code(USHER_NOMEM));
    }
    return line->index;
}

static void calls_keep(void *node)
{
    (void)node; /* freed by their array */
}

void usher__calls_names_done(struct calls_names *names)
{
    if (names->by_name != NULL)
        tdestroy(names->by_name, calls_keep);
    for (size_t i = 0; i < names->n; i++)
        (void)usher__cli_resize(names->name[i], 0);
    (void)usher__cli_resize(names->name, 0);
    memset(names, 0, sizeof *names);
}

/* ---- calls ------------------------------------------------------------------------ */

const char *usher__calls_add(struct calls *c, const char *line, size_t size, int64_t start_ms,
                             int64_t end_ms, uint64_t row, struct call **ret_call)
{
    struct call *call;

    if (c->n == CALLS_MAX)
        return "one call too many: at most 5000000 are read";
    if (usher__name_fault(line, size) != NULL)
        return "the line's name is empty, too long or not UTF-8 without control characters";
    if (c->n == c->room) {
        c->room = c->room * 2 + 1024;
        c->call = usher__cli_resize(c->call, c->room * sizeof *c->call);
    }
    call = &c->call[c->n++];
    memset(call, 0, sizeof *call);
    call->queue_ms = call->wait_ms = call->patience_ms = call->service_ms = CALLS_UNKNOWN;
    call->agent = CALLS_NOBODY;
    *ret_call = call;
    call->start_ms = start_ms;
    call->end_ms = end_ms;
    call->line = usher__calls_index(&c->lines, line, size);
    call->row = (uint32_t)row;
    return NULL;
}

static int calls_compare(const void *a, const void *b)
{
    const struct call *x = a, *y = b;

    if (x->start_ms != y->start_ms)
        return x->start_ms < y->start_ms ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

void usher__calls_done(struct calls *c)
{
    usher__calls_names_done(&c->lines);
    usher__calls_names_done(&c->lanes);
    usher__calls_names_done(&c->agents);
    (void)usher__cli_resize(c->call, 0);
    for (size_t i = 0; i < c->n_why; i++)
        (void)usher__cli_resize(c->why[i], 0);
    memset(c, 0, sizeof *c);
}

/* ---- files ------------------------------------------------------------------------ */

size_t usher__calls_split(const char *row, size_t size, char by,
                          struct usher_text fields[CALLS_FIELDS_MAX])
{
    size_t n = 0;

    for (;;) {
        const char *end = memchr(row, by, size);

        if (n == CALLS_FIELDS_MAX)
            return 0;
        fields[n].data = row;
        fields[n].size = end != NULL ? (size_t)(end - row) : size;
        if (end == NULL)
            return n + 1;
        size -= fields[n].size + 1;
        row = end + 1;
        n++;
    }
}

bool usher__calls_day(int64_t year, int64_t month, int64_t day, int64_t *ret_day)
{
    static const int before[] = { 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365 };
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    int64_t last = year - 1;

    if (year < 1970 || year > 9999 || month < 1 || month > 12 || day < 1 ||
        day > before[month] - before[month - 1] + (leap && month == 2))
        return false;
    *ret_day = (year - 1970) * 365 + (last / 4 - last / 100 + last / 400) -
               (1969 / 4 - 1969 / 100 + 1969 / 400) + before[month - 1] + (leap && month > 2) +
               day - 1;
    return true;
}

/* The first line of the file: a format is chosen, columns are found. */
static const char *calls_header(const char *line, size_t size, enum calls_format *format,
                                struct calls_columns *columns)
{
    struct usher_text fields[CALLS_FIELDS_MAX];
    size_t n;

    if (*format == CALLS_GUESS)
        *format = usher__technion_is(line, size) ? CALLS_TECHNION : CALLS_CSV;
    n = usher__calls_split(line, size, *format == CALLS_CSV ? ',' : '\t', fields);
    if (n == 0)
        return "the header has more than 64 columns";
    columns->n = n;
    return *format == CALLS_CSV ? usher__csv_header(columns, fields, n)
                                : usher__technion_header(fields, n);
}

static const char *calls_row(struct calls *c, const char *line, size_t size,
                             enum calls_format format, const struct calls_columns *columns,
                             uint64_t row)
{
    struct usher_text fields[CALLS_FIELDS_MAX];
    size_t n;

    c->rows++;
    if (memchr(line, '\0', size) != NULL)
        return "a NUL byte";
    n = usher__calls_split(line, size, format == CALLS_CSV ? ',' : '\t', fields);
    if (n != columns->n)
        return "not as many fields as the header has";
    return format == CALLS_CSV ? usher__csv_row(c, columns, fields, n, row)
                               : usher__technion_row(c, fields, n, row);
}

/* The first ones with what is wrong with them. */
static void calls_leave_out(struct calls *c, uint64_t row, const char *fault)
{
    char why[CLI_MESSAGE_MAX];
    size_t size;

    c->left_out++;
    if (c->n_why == CALLS_NAMED)
        return;
    size = (size_t)snprintf(why, sizeof why, "%" PRIu64 ": %s", row, fault) + 1;
    c->why[c->n_why++] = memcpy(usher__cli_resize(NULL, size), why, size);
}

bool usher__calls_read(struct calls *c, struct lines *l, enum calls_format format, bool strict,
                       char message[CLI_MESSAGE_MAX])
{
    struct calls_columns columns = { 0 };
    const char *fault = NULL;
    char *line;
    size_t size;

    while (fault == NULL) {
        enum lines_result result = usher__lines_next(l, true, &line, &size);

        if (result == LINES_END)
            break;
        if (result == LINES_ERROR) {
            (void)snprintf(message, CLI_MESSAGE_MAX, "%" PRIu64 ": %s", l->number + 1,
                           strerror(l->error));
            return false;
        }
        if (result == LINES_LONG) {
            fault = "longer than 4096 bytes";
            c->rows += l->number > 1;
        } else {
            if (l->number == 1 && size >= 3 && memcmp(line, "\xef\xbb\xbf", 3) == 0) {
                line += 3; /* a byte order mark */
                size -= 3;
            }
            if (size > 0 && line[size - 1] == '\r')
                size--;
            if (l->number == 1)
                fault = size > 0 && memchr(line, '\0', size) != NULL
                            ? "a NUL byte"
                            : calls_header(line, size, &format, &columns);
            else if (size > 0)
                fault = calls_row(c, line, size, format, &columns, l->number);
        }
        /* a file with too many calls is not one with calls that make no sense */
        if (fault != NULL && l->number > 1 && format == CALLS_CSV && !strict && c->n < CALLS_MAX) {
            calls_leave_out(c, l->number, fault);
            fault = NULL;
        }
    }
    if (fault == NULL && c->n == 0 && c->n_why > 0) {
        (void)snprintf(message, CLI_MESSAGE_MAX, "%s", c->why[0]);
        return false;
    }
    if (fault == NULL && c->n == 0)
        fault = "no calls up to here, where the file ends";
    if (fault != NULL) {
        (void)snprintf(message, CLI_MESSAGE_MAX, "%" PRIu64 ": %s", l->number, fault);
        return false;
    }
    qsort(c->call, c->n, sizeof *c->call, calls_compare);
    return true;
}
