/* SPDX-License-Identifier: MIT */
/* See compare.h. */
#include "config.h"

#include "model/compare.h"

#include <inttypes.h>
#include <string.h>

#include <usher/command.h>

#include "core/verbs.h"

struct diff {
    FILE *f;
    bool equal;
};

static void diff_line(struct diff *d, const char *what, size_t row)
{
    d->equal = false;
    if (d->f == NULL)
        return;
    if (row != SIZE_MAX)
        (void)fprintf(d->f, "    row %zu ", row);
    else
        (void)fputs("    ", d->f);
    (void)fprintf(d->f, "%s: ", what);
}

static void diff_int(struct diff *d, const char *what, size_t row, int64_t a, int64_t b)
{
    if (a == b)
        return;
    diff_line(d, what, row);
    if (d->f != NULL)
        (void)fprintf(d->f, "%" PRId64 " and %" PRId64 "\n", a, b);
}

static void diff_word(struct diff *d, const char *what, size_t row, const char *a, const char *b)
{
    if (strcmp(a, b) == 0)
        return;
    diff_line(d, what, row);
    if (d->f != NULL)
        (void)fprintf(d->f, "%s and %s\n", a, b);
}

static void diff_text(struct diff *d, const char *what, size_t row, struct usher_text a,
                      struct usher_text b)
{
    if (a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0))
        return;
    diff_line(d, what, row);
    if (d->f != NULL)
        (void)fprintf(d->f, "\"%.*s\" and \"%.*s\"\n", (int)a.size, a.data != NULL ? a.data : "",
                      (int)b.size, b.data != NULL ? b.data : "");
}

#define INT(field) diff_int(&d, #field, SIZE_MAX, (int64_t)a->field, (int64_t)b->field)

/* ---- answers by the tables ---------------------------------------------------------- */

/* A NAME in a reply. */
struct name {
    size_t size;
    char text[];
};

static int64_t number_at(const struct usher__field *field, const void *base)
{
    const char *at = (const char *)base + field->offset;
    int64_t number;
    int code;

    if (field->type == USHER__FIELD_BOOL)
        return *(const bool *)at;
    if (field->type == USHER__FIELD_CODE) {
        memcpy(&code, at, sizeof code);
        return code;
    }
    memcpy(&number, at, sizeof number);
    return number;
}

/* Return whether @field is a text, and then the text, with the NUL after a name. */
static bool text_at(const struct usher__field *field, const void *base, struct usher_text *ret)
{
    const void *at = (const char *)base + field->offset;
    const struct name *name = at;

    if (field->type == USHER__FIELD_NAME)
        *ret = (struct usher_text){ name->text, name->size + 1 };
    else if (field->type == USHER__FIELD_TEXT || field->type == USHER__FIELD_VALUE)
        *ret = *(const struct usher_text *)at;
    else
        return false;
    return true;
}

static void diff_field(struct diff *d, const struct usher__field *field, size_t row, const void *a,
                       const void *b)
{
    const char *word = usher_about_field(field->code)->word;
    struct usher_text x, y;

    if (text_at(field, a, &x) && text_at(field, b, &y))
        diff_text(d, word, row, x, y);
    else
        diff_int(d, word, row, number_at(field, a), number_at(field, b));
}

static const char *rows_of(const struct usher__noun *noun, const struct usher_result *r, size_t *n)
{
    const char *rows;

    memcpy(n, (const char *)r + noun->n_rows_at, sizeof *n);
    memcpy(&rows, (const char *)r + noun->rows_at, sizeof rows);
    return rows;
}

/* A store may be early: what was to end may have gone.  It is never late.  A model that does not
 * know says 0. */
static void diff_due(struct diff *d, const struct usher_result *a, const struct usher_result *b)
{
    if (a->due_ms != 0 && b->due_ms > a->due_ms && a->status < USHER_INVALID)
        diff_int(d, "due_ms", SIZE_MAX, a->due_ms, b->due_ms);
}

bool replies_equal(enum usher_verb verb, const struct usher_result *a, const struct usher_result *b,
                   FILE *f)
{
    const struct usher__noun *noun = usher__noun((unsigned)verb >> 8);
    struct diff d = { f, true };
    bool answered = USHER_IS_DONE(a->status) && a->status == b->status;
    /* Watchers may have received fewer changes than there are: the rest waits for `presence=`. */
    bool is_older = verb == USHER_ROOM_ALIVE && b->of.room.since < a->of.room.since;
    const char *p, *q;
    size_t n, m;

    diff_word(&d, "status", SIZE_MAX, usher_status_word(a->status), usher_status_word(b->status));
    INT(repeated);
    INT(version);
    diff_due(&d, a, b);
    diff_word(&d, "epoch", SIZE_MAX, a->epoch != 0 ? "some" : "none",
              b->epoch != 0 ? "some" : "none");
    if (noun == NULL) /* no verb */
        return d.equal;
    p = rows_of(noun, a, &n);
    q = rows_of(noun, b, &m);
    for (unsigned i = 0; i < noun->n_outs; i++)
        if (!is_older || noun->outs[i].code != USHER_FIELD_SINCE_VERSION)
            diff_field(&d, &noun->outs[i], SIZE_MAX, a, b);
    /* a model makes settings and statistics only if there are some */
    for (unsigned i = 0; i < noun->n_extras; i++)
        if (noun->extras[i].verb == (unsigned)verb && !is_older &&
            (answered || noun->noun == USHER_ROOM || noun->extras[i].type != USHER__FIELD_INT))
            diff_field(&d, &noun->extras[i], SIZE_MAX, a, b);
    diff_int(&d, "rows", SIZE_MAX, (int64_t)n, (int64_t)m);
    for (size_t i = 0; i < n && i < m; i++)
        for (unsigned k = 0; k < noun->n_row; k++)
            diff_field(&d, &noun->row[k], i, p + i * noun->row_size, q + i * noun->row_size);
    return d.equal;
}

static void field_print(FILE *f, const struct usher__field *field, const void *base)
{
    const char *word = usher_about_field(field->code)->word;
    struct usher_text t;

    if (!text_at(field, base, &t)) {
        if (number_at(field, base) != 0)
            (void)fprintf(f, " %s %" PRId64, word, number_at(field, base));
    } else if (t.size > (field->type == USHER__FIELD_NAME)) {
        (void)fprintf(f, " %s \"%.*s\"", word, (int)t.size, t.data);
    }
}

void reply_print(FILE *f, enum usher_verb verb, const struct usher_result *r)
{
    const struct usher__noun *noun = usher__noun((unsigned)verb >> 8);
    size_t n;
    const char *rows = rows_of(noun, r, &n);

    (void)fprintf(f, "    %s%s version %" PRIu64, usher_status_word(r->status),
                  r->repeated ? " (repeated)" : "", r->version);
    for (unsigned i = 0; i < noun->n_outs; i++)
        field_print(f, &noun->outs[i], r);
    for (unsigned i = 0; i < noun->n_extras; i++)
        if (noun->extras[i].verb == (unsigned)verb && USHER_IS_DONE(r->status))
            field_print(f, &noun->extras[i], r);
    (void)fprintf(f, r->message[0] != '\0' ? " (%s)\n" : "%s\n", r->message);
    for (size_t i = 0; i < n; i++) {
        (void)fputs("     ", f);
        for (unsigned k = 0; k < noun->n_row; k++)
            field_print(f, &noun->row[k], rows + i * noun->row_size);
        (void)fputc('\n', f);
    }
}

void queue_history_cut(const char *store, const struct usher_operation *c,
                       const struct usher_result *model, struct usher_result *r)
{
    const struct usher_queue_args *g = &c->arg.queue;
    bool by_end = g->user.data == NULL && g->agent.data == NULL &&
                  (((c->given & USHER_GIVEN_QUEUE_SINCE) != 0 && g->since_ms > 0) ||
                   ((c->given & USHER_GIVEN_QUEUE_UNTIL) != 0 && g->until_ms < INT64_MAX));
    const struct usher_queue_result *m = &model->of.queue;
    struct usher_queue_result *q = &r->of.queue;

    if (c->verb != USHER_QUEUE_HISTORY || strcmp(store, "sqlite") != 0 || m->more ||
        q->n_rows < m->n_rows)
        return;
    for (size_t i = m->n_rows > 0 ? m->n_rows : 1; i < q->n_rows; i++)
        if (by_end ? i > m->n_rows && q->rows[i].until_ms > q->rows[i - 1].until_ms
                   : q->rows[i].version >= q->rows[i - 1].version)
            return;
    if (q->n_rows > 0 && r->status == USHER_OK && model->status == USHER_MISSING)
        r->status = USHER_MISSING; /* a queue that was dropped */
    q->n_rows = m->n_rows;
    q->more = false;
    q->agent_size = 0;
    q->agent[0] = '\0';
}

bool notices_equal(const struct usher_notice *a, const struct usher_notice *b, FILE *f)
{
    struct diff d = { f, true };

    INT(noun);
    diff_text(&d, "scope", SIZE_MAX, a->scope, b->scope);
    INT(version);
    INT(now_ms);
    diff_word(&d, "verb", SIZE_MAX, usher_verb_word(a->verb), usher_verb_word(b->verb));
    diff_text(&d, "subject", SIZE_MAX, a->subject, b->subject);
    INT(from);
    INT(to);
    INT(token);
    INT(until_ms);
    diff_text(&d, "owner", SIZE_MAX, a->owner, b->owner);
    diff_text(&d, "data", SIZE_MAX, a->data, b->data);
    INT(was);
    INT(mark);
    return d.equal;
}

static const char *state_word(enum usher_noun noun, unsigned code)
{
    static const char *const digits[] = { "0", "1", "2", "3", "4", "5", "6", "7" };

    if (noun == USHER_NUMBER)
        return usher_number_state_word((enum usher_number_state)code);
    return code < sizeof digits / sizeof *digits ? digits[code] : "?";
}

void notice_print(FILE *f, const struct usher_notice *n)
{
    (void)fprintf(f,
                  "    %.*s version %" PRIu64 " at %" PRId64 ": %s \"%.*s\" %s -> %s token %" PRIu64
                  " until %" PRId64 " owner \"%.*s\"\n",
                  (int)n->scope.size, n->scope.data, n->version, n->now_ms,
                  usher_verb_word(n->verb), (int)n->subject.size,
                  n->subject.data != NULL ? n->subject.data : "", state_word(n->noun, n->from),
                  state_word(n->noun, n->to), n->token, n->until_ms != USHER_NONE ? n->until_ms : 0,
                  (int)n->owner.size, n->owner.data != NULL ? n->owner.data : "");
}
