/* SPDX-License-Identifier: MIT */
/*
 * The metrics of scopes.  Each reply of the scrape is printed when it comes, into the text of its
 * family, because a page has the metrics of a family together.
 */
#include "config.h"

#include "serve/scope_metrics.h"

#include <inttypes.h>
#include <string.h>

#include "core/text.h"
#include "serve/serve.h"

enum scale { AS_IS, SECONDS, TIME, RATIO, WORD };

enum family_code {
#define FAMILY(code, name, type, help) FAMILY_##code,
#include "serve/scope_metrics.def"
    FAMILIES,
    FAMILY_NONE
};

static const struct family {
    const char *name, *type, *help;
} families[FAMILIES] = {
#define FAMILY(code, name, type, help) { name, type, help },
#include "serve/scope_metrics.def"
};

static const struct metric {
    enum usher_noun noun;
    uint32_t field;
    enum family_code family;
    enum scale scale;
    const char *label, *value; /* NULL: none; of a WORD the value is that of the field */
} metrics[] = {
#define METRIC(noun, field, family, scale, label, value) \
    { USHER_##noun, USHER_FIELD_##field, FAMILY_##family, scale, label, value },
#include "serve/scope_metrics.def"
};

static const struct {
    enum usher_noun noun;
    const char *label;
} labels[] = {
#define LABEL(noun, label) { USHER_##noun, label },
#include "serve/scope_metrics.def"
};

/* Verbs whose rows are metrics. */
static const struct rows {
    enum usher_noun noun;
    uint32_t verb;
    const char *label;
    uint32_t field;
    enum family_code family;
    struct usher_value most;
} row_verbs[] = {
#define ROWS(noun, verb, label, field, max, family)      \
    { USHER_##noun,        USHER_##noun##_##verb, label, \
      USHER_FIELD_##field, FAMILY_##family,       USHER_N(USHER_FIELD_MAX, max) },
#include "serve/scope_metrics.def"
};

static const struct row_metric {
    uint32_t verb;
    struct metric metric;
} row_metrics[] = {
#define ROW(noun, verb, field, family, scale, label, value) \
    { USHER_##noun##_##verb,                                \
      { USHER_##noun, USHER_FIELD_##field, FAMILY_##family, scale, label, value } },
#include "serve/scope_metrics.def"
};

static const struct histogram {
    enum usher_noun noun;
    uint32_t verb, bound, count, sum;
    enum family_code family;
} histograms[] = {
#define HISTOGRAM(noun, verb, bound, count, sum, family)               \
    { USHER_##noun,        USHER_##noun##_##verb, USHER_FIELD_##bound, \
      USHER_FIELD_##count, USHER_FIELD_##sum,     FAMILY_##family },
#include "serve/scope_metrics.def"
};

#define N_OF(array) (sizeof(array) / sizeof *(array))

struct page {
    struct scrape *scrape;
    void *connection;
    size_t missing, failed;
    struct out exists, texts[FAMILIES];
};

/* ---- printing ----------------------------------------------------------------------------- */

/* As JSON escapes it; Prometheus has no \u, so the text is that of the escape. */
static void print_text(struct out *to, const char *text, size_t size)
{
    char piece[USHER__JSON_PIECE];
    size_t n;

    for (size_t i = 0; i < size;) {
        i += usher__json_piece(text + i, size - i, piece, &n);
        if (n == USHER__JSON_PIECE)
            usher__out_put(to, "\\", 1);
        usher__out_put(to, piece, n);
    }
}

static void print_label(struct out *to, const struct target *t)
{
    const char *label = "";

    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
        if (labels[i].noun == t->noun)
            label = labels[i].label;
    usher__out_print(to, "{%s=\"", label);
    print_text(to, t->name, t->size);
    usher__out_put(to, "\"", 1);
}

static void print_number(struct out *to, enum scale scale, int64_t number)
{
    if (scale == SECONDS || scale == TIME)
        usher__out_print(to, "%" PRId64 ".%03d\n", number / 1000, (int)(number % 1000));
    else if (scale == RATIO)
        usher__out_print(to, "%.4f\n", (double)number / 10000);
    else
        usher__out_print(to, "%" PRId64 "\n", scale == WORD ? 1 : number);
}

/* The row of a lane: its label and its value. */
struct row_label {
    const char *label, *value;
    size_t size;
};

/* @row NULL: the number is the scope's. */
static void print_metric(struct page *g, const struct metric *m, const struct target *t,
                         int64_t number, const struct row_label *row)
{
    struct out *to = &g->texts[m->family];
    const char *value = m->value;

    if (number == USHER_NONE)
        return;
    if (m->scale == WORD)
        value = usher_code_word(t->noun, m->field, number);
    usher__out_print(to, "usher_%s", families[m->family].name);
    print_label(to, t);
    if (row != NULL) {
        usher__out_print(to, ",%s=\"", row->label);
        print_text(to, row->value, row->size);
        usher__out_put(to, "\"", 1);
    }
    if (m->label != NULL)
        usher__out_print(to, ",%s=\"%s\"", m->label, value != NULL ? value : "");
    usher__out_print(to, "} ");
    print_number(to, m->scale, number);
}

static void print_rows(struct page *g, const struct rows *r, const struct target *t,
                       const struct usher_reply *reply)
{
    const struct metric complete = { .noun = r->noun, .family = r->family, .scale = AS_IS };

    if (r->family != FAMILY_NONE)
        print_metric(g, &complete, t,
                     usher_reply_text(reply, USHER_ANSWER, USHER_FIELD_AFTER, NULL) == NULL, NULL);
    for (size_t i = 0; i < reply->n_rows; i++) {
        struct row_label row = { .label = r->label };

        row.value = usher_reply_text(reply, i, r->field, &row.size);
        for (size_t k = 0; row.value != NULL && k < N_OF(row_metrics); k++)
            if (row_metrics[k].verb == r->verb)
                print_metric(g, &row_metrics[k].metric, t,
                             usher_reply_int(reply, i, row_metrics[k].metric.field), &row);
    }
}

static void print_histogram(struct page *g, const struct histogram *h, const struct target *t,
                            const struct usher_reply *reply)
{
    struct out *to = &g->texts[h->family];
    const char *name = families[h->family].name;
    int64_t count = 0;

    if (t->number == USHER_NONE)
        return;
    for (size_t i = 0; i < reply->n_rows; i++) {
        int64_t bound = usher_reply_int(reply, i, h->bound);

        count = usher_reply_int(reply, i, h->count);
        usher__out_print(to, "usher_%s_bucket", name);
        print_label(to, t);
        if (bound == USHER_NONE)
            usher__out_print(to, ",le=\"+Inf\"} %" PRId64 "\n", count);
        else
            usher__out_print(to, ",le=\"%g\"} %" PRId64 "\n", (double)bound / 1000, count);
    }
    usher__out_print(to, "usher_%s_sum", name);
    print_label(to, t);
    usher__out_print(to, "} ");
    print_number(to, SECONDS, t->number);
    usher__out_print(to, "usher_%s_count", name);
    print_label(to, t);
    usher__out_print(to, "} %" PRId64 "\n", count);
}

/* ---- replies ------------------------------------------------------------------------------ */

static size_t commands(void *owner, const struct target *t, struct usher_command *to)
{
    size_t n = 0;

    (void)owner;
    to[n++] = (struct usher_command){ .verb = usher__scrape_verb(t->noun) };
    for (size_t i = 0; i < N_OF(histograms); i++)
        if (histograms[i].noun == t->noun)
            to[n++] = (struct usher_command){ .verb = histograms[i].verb };
    for (size_t i = 0; i < N_OF(row_verbs); i++)
        if (row_verbs[i].noun == t->noun && row_verbs[i].verb != to[0].verb) {
            to[n] = (struct usher_command){ .verb = row_verbs[i].verb, .n = 1 };
            to[n].values = &row_verbs[i].most;
            n++;
        }
    return n;
}

static void print_figures(struct page *g, struct target *t, const struct usher_reply *reply)
{
    bool done = USHER_IS_DONE(reply->status);

    g->missing += !done;
    usher__out_print(&g->exists, "usher_scope_exists");
    print_label(&g->exists, t);
    usher__out_print(&g->exists, "} %d\n", done);
    for (size_t i = 0; done && i < N_OF(metrics); i++)
        if (metrics[i].noun == t->noun)
            print_metric(g, &metrics[i], t, usher__scrape_value(reply, metrics[i].field), NULL);
    t->number = USHER_NONE;
    for (size_t i = 0; done && i < N_OF(histograms); i++)
        if (histograms[i].noun == t->noun)
            t->number = usher__scrape_value(reply, histograms[i].sum);
}

/* The first reply is that of the figures. */
static void reply(void *owner, struct target *t, const struct usher_reply *reply)
{
    struct page *g = owner;

    if (!USHER_IS_DONE(reply->status) && reply->status != USHER_MISSING) {
        g->failed += !t->failed;
        t->failed = true;
        return;
    }
    if (reply->verb == usher__scrape_verb(t->noun))
        print_figures(g, t, reply);
    for (size_t i = 0; USHER_IS_DONE(reply->status) && i < N_OF(histograms); i++)
        if (histograms[i].verb == reply->verb)
            print_histogram(g, &histograms[i], t, reply);
    for (size_t i = 0; USHER_IS_DONE(reply->status) && i < N_OF(row_verbs); i++)
        if (row_verbs[i].verb == reply->verb)
            print_rows(g, &row_verbs[i], t, reply);
}

static void done(struct scrape *p, void *owner)
{
    struct page *g = owner;

    (void)p;
    usher__serve_http_resume(g->connection);
}

static const struct scrape_user user = { .commands = commands, .reply = reply, .done = done };

struct page *usher__page_new(struct server *s, void *connection)
{
    struct page *g = usher__cli_resize(NULL, sizeof *g);

    memset(g, 0, sizeof *g);
    g->connection = connection;
    g->scrape = usher__scrape_new(s, &user, g);
    return g;
}

struct scrape *usher__page_scrape(const struct page *g)
{
    return g->scrape;
}

void usher__page_free(struct page *g)
{
    if (g == NULL)
        return;
    usher__scrape_free(g->scrape);
    usher__out_done(&g->exists);
    for (size_t i = 0; i < FAMILIES; i++)
        usher__out_done(&g->texts[i]);
    (void)usher__cli_resize(g, 0);
}

static void print_family(struct out *to, const char *name, const char *type, const char *help)
{
    usher__out_print(to, "# HELP usher_%s %s\n# TYPE usher_%s %s\n", name, help, name, type);
}

static void print_out(struct out *to, const struct out *from)
{
    usher__out_put(to, from->data, usher__out_size(from));
}

void usher__page_print(const struct page *g, struct out *to)
{
    size_t failed = g->failed + usher__scrape_unposted(g->scrape);

    print_family(to, "scopes", "gauge", "Scopes of this page, by state.");
    usher__out_print(to,
                     "usher_scopes{state=\"read\"} %zu\nusher_scopes{state=\"missing\"} %zu\n"
                     "usher_scopes{state=\"failed\"} %zu\n",
                     usher__scrape_n(g->scrape) - g->missing - failed, g->missing, failed);
    print_family(to, "scopes_omitted", "gauge",
                 "Scopes of the store that are not in this page, because of the limit --metrics.");
    usher__out_print(to, "usher_scopes_omitted %" PRIu64 "\n", usher__scrape_omitted(g->scrape, 0));
    print_family(to, "scopes_list_complete", "gauge",
                 "1 if the list of scopes was read to its end.");
    usher__out_print(to, "usher_scopes_list_complete %d\n", !usher__scrape_partial(g->scrape));
    if (usher__out_size(&g->exists) > 0) {
        print_family(to, "scope_exists", "gauge", "1 if the scope exists, 0 if not.");
        print_out(to, &g->exists);
    }
    for (size_t i = 0; i < FAMILIES; i++)
        if (usher__out_size(&g->texts[i]) > 0) {
            print_family(to, families[i].name, families[i].type, families[i].help);
            print_out(to, &g->texts[i]);
        }
}
