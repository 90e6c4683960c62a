/* SPDX-License-Identifier: MIT */
/*
 * The metrics of scopes.  A scrape has three stages: its scopes are listed, in pages, on the thread
 * of lists; their statistics are posted, at most POSTED at a time; each reply is printed when it
 * comes, into the text of its family, because a page has the metrics of a family together.
 *
 * The scrape belongs to the thread of lists while it lists, then to the loop.  After SCRAPE_MS
 * nothing more is posted: the scopes that are left count as failed, and the page reports it.
 */
#include "config.h"

#include "serve/scrape.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "core/verbs.h"
#include "serve/serve.h"

#define SCRAPE_MS 8000 /* below the 10 s that Prometheus waits */
#ifdef USHER_HOSTILE
#define PAGE 2
#define POSTED 3
#else
#define PAGE 1000
#define POSTED ((size_t)1024) /* commands of one scrape that have no reply yet */
#endif

enum scale { AS_IS, SECONDS, TIME, RATIO, WORD };

enum family_code {
#define FAMILY(code, name, type, help) FAMILY_##code,
#include "serve/scope_metrics.def"
    FAMILIES
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

struct target {
    struct scrape *of;
    enum usher_noun noun;
    size_t size;
    char name[];
};

struct scrape {
    struct work work; /* the list */
    struct server *server;
    struct scrape *next; /* of the server's */
    void *owner;
    unsigned nouns; /* that are listed, a bit each; 0: all */
    bool lists, listing, freed;
    bool partial; /* the list is not complete */
    int64_t end_ms;
    struct target **targets;
    size_t n, room, max;
    uint64_t omitted;
    size_t posted, waiting, missing, failed;
    struct out exists, texts[FAMILIES];
};

/* ---- scopes ------------------------------------------------------------------------------- */

/* Split @word.  Return NULL if it is not NOUN/NAME with a known noun. */
static const struct usher__noun *noun_of(const char *word, size_t size, const char **ret_name)
{
    const char *slash = memchr(word, '/', size);
    const struct usher__noun *noun;

    for (unsigned i = 0; slash != NULL && (noun = usher__noun_at(i)) != NULL; i++)
        if (!noun->hidden && strlen(noun->word) == (size_t)(slash - word) &&
            memcmp(noun->word, word, (size_t)(slash - word)) == 0) {
            *ret_name = slash + 1;
            return noun;
        }
    return NULL;
}

static void add(struct scrape *p, enum usher_noun noun, const char *name, size_t size)
{
    struct target *t = usher__cli_resize(NULL, sizeof *t + size + 1);

    t->of = p;
    t->noun = noun;
    t->size = size;
    memcpy(t->name, name, size);
    t->name[size] = '\0';
    if (p->n == p->room) {
        p->room = p->room > 0 ? 2 * p->room : 16;
        /* an array of pointers */
        /* NOLINTNEXTLINE(bugprone-sizeof-expression) */
        p->targets = usher__cli_resize((void *)p->targets, p->room * sizeof *p->targets);
    }
    p->targets[p->n++] = t;
}

static int compare(const void *a, const void *b)
{
    const struct target *one = *(const struct target *const *)a;
    const struct target *other = *(const struct target *const *)b;
    size_t size = one->size < other->size ? one->size : other->size;
    int order;

    if (one->noun != other->noun)
        return one->noun < other->noun ? -1 : 1;
    order = memcmp(one->name, other->name, size);
    return order != 0 ? order : (one->size > other->size) - (one->size < other->size);
}

/* A scope that is named twice, or that comes in two pages of the list, is in the page once. */
static void sort(struct scrape *p)
{
    size_t n = 0;

    if (p->n > 1)
        /* NOLINTNEXTLINE(bugprone-sizeof-expression) */
        qsort((void *)p->targets, p->n, sizeof *p->targets, compare);
    for (size_t i = 0; i < p->n; i++)
        if (n > 0 && compare(&p->targets[n - 1], &p->targets[i]) == 0)
            (void)usher__cli_resize(p->targets[i], 0);
        else
            p->targets[n++] = p->targets[i];
    p->n = n;
}

struct scrape *usher__scrape_new(struct server *s, void *owner)
{
    struct scrape *p = usher__cli_resize(NULL, sizeof *p);

    memset(p, 0, sizeof *p);
    p->server = s;
    p->owner = owner;
    p->max = s->limits.metrics;
    p->lists = p->max > 0;
    p->next = s->scrapes;
    s->scrapes = p;
    return p;
}

void *usher__scrape_owner(const struct scrape *p)
{
    return p->owner;
}

const char *usher__scrape_add(struct scrape *p, const char *word, size_t size)
{
    const char *name = NULL;
    const struct usher__noun *noun = noun_of(word, size, &name);

    if (noun == NULL)
        return "is not a scope: write NOUN/NAME, as in number/sales";
    if (strlen(word) != size || usher__scope_fault(name, strlen(name)) != NULL)
        return "is not a scope: its name is invalid";
    if (p->n == SERVE_SCOPES_MAX)
        return "is one scope too many (limit 1000)";
    p->lists = p->nouns != 0;
    add(p, (enum usher_noun)noun->noun, name, strlen(name));
    return NULL;
}

const char *usher__scrape_list(struct scrape *p, const char *word)
{
    const struct usher__noun *noun = usher__noun_by_word(word);

    if (noun == NULL || noun->hidden)
        return "is not a noun";
    p->nouns |= 1u << noun->noun;
    p->lists = true;
    return NULL;
}

/* ---- the list ----------------------------------------------------------------------------- */

static void add_row(struct scrape *p, const struct usher_reply *reply, size_t i)
{
    size_t size = 0;
    const char *word = usher_reply_text(reply, i, USHER_FIELD_SCOPE, &size), *name;
    const struct usher__noun *noun = word != NULL ? noun_of(word, size, &name) : NULL;

    if (noun == NULL)
        return;
    if (p->n < p->max)
        add(p, (enum usher_noun)noun->noun, name, size - (size_t)(name - word));
    else
        p->omitted++;
}

/* List the scopes of @noun, or with 0 all. */
static void list(struct scrape *p, unsigned noun)
{
    static const char scopes[] = "scopes";
    struct usher_value values[3] = { USHER_N(USHER_FIELD_MAX, PAGE) };
    struct usher_command command = { usher_verb_of(NULL, scopes), 0, "", values, 1, NULL };
    struct usher_reply *reply = NULL, *before = NULL;
    bool more = true;

    if (noun != 0)
        values[command.n++] = (struct usher_value)USHER_N(USHER_FIELD_NOUN, noun);
    while (more) {
        const char *after;
        size_t size = 0, last = command.n;

        if (usher__serve_now_ms() >= p->end_ms) {
            p->partial = true;
            break;
        }
        (void)usher_execute(p->server->cli->engine, &command, 1, 0, &reply);
        usher_reply_done(before);
        before = reply;
        if (reply == NULL || !USHER_IS_DONE(reply->status))
            p->partial = true;
        for (size_t i = 0; reply != NULL && i < reply->n_rows; i++)
            add_row(p, reply, i);
        after =
            reply != NULL ? usher_reply_text(reply, USHER_ANSWER, USHER_FIELD_AFTER, &size) : NULL;
        more = after != NULL; /* also after a page that is not complete */
        if (values[last - 1].field == USHER_FIELD_AFTER)
            last--;
        if (more) { /* the text is that of the last page */
            values[last] = (struct usher_value){ USHER_FIELD_AFTER, (int32_t)size, 0, after };
            command.n = last + 1;
        }
    }
    usher_reply_done(before);
}

static void run(struct work *w)
{
    struct scrape *p = (struct scrape *)(void *)w;

    if (p->nouns == 0)
        list(p, 0);
    for (unsigned noun = 1; noun < USHER__NOUNS; noun++)
        if ((p->nouns >> noun & 1u) != 0)
            list(p, noun);
}

/* ---- reading ------------------------------------------------------------------------------ */

/* Return the verb of @noun with statistics. */
static uint32_t verb_of(enum usher_noun noun)
{
    const struct usher__noun *of = usher__noun((unsigned)noun);

    for (unsigned i = 0; i < of->n_verbs; i++)
        if ((of->verbs[i].flags & USHER__FIGURES) != 0)
            return of->verbs[i].verb;
    return 0;
}

static void post(struct scrape *p)
{
    struct usher_command commands[POSTED];
    int64_t left_ms = p->end_ms - usher__serve_now_ms();
    enum usher_status status;
    size_t n = 0;

    if (p->posted == p->n || p->waiting > POSTED / 2)
        return;
    while (n < POSTED - p->waiting && p->posted + n < p->n) {
        struct target *t = p->targets[p->posted + n];

        commands[n++] =
            (struct usher_command){ verb_of(t->noun), (int32_t)t->size, t->name, NULL, 0, t };
    }
    status =
        left_ms > 0 ? usher_post(p->server->cli->engine, commands, n, left_ms) : USHER_UNAVAILABLE;
    if (status == USHER_OK) {
        p->posted += n;
        p->waiting += n;
    } else if (status != USHER_FULL || p->waiting == 0) {
        p->failed += p->n - p->posted;
        p->posted = p->n;
    }
}

static void listed(struct server *s, struct work *w)
{
    struct scrape *p = (struct scrape *)(void *)w;

    (void)s;
    p->listing = false;
    p->partial = p->partial || !w->ran;
    if (p->freed) {
        usher__scrape_free(p);
        return;
    }
    sort(p);
    post(p);
    s->figures.scrapes += p->waiting > 0;
    if (usher__scrape_done(p))
        usher__serve_scraped(p);
}

void usher__scrape_begin(struct scrape *p)
{
    p->end_ms = usher__serve_now_ms() + SCRAPE_MS;
    p->work.run = run;
    p->work.done = listed;
    p->listing = p->lists && usher__serve_work(p->server, SERVE_LISTS, &p->work);
    p->partial = p->lists && !p->listing;
    if (p->listing)
        return;
    sort(p);
    post(p);
    p->server->figures.scrapes += p->waiting > 0;
}

bool usher__scrape_done(const struct scrape *p)
{
    return !p->listing && p->waiting == 0;
}

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

static bool value_of(const struct usher_reply *reply, uint32_t field, int64_t *ret)
{
    *ret = usher_reply_int(reply, USHER_ANSWER, field);
    if (*ret == USHER_NONE && reply->n_rows == 1)
        *ret = usher_reply_int(reply, 0, field);
    return *ret != USHER_NONE;
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

static void print_metric(struct scrape *p, const struct metric *m, const struct target *t,
                         const struct usher_reply *reply)
{
    struct out *to = &p->texts[m->family];
    const char *value = m->value;
    int64_t number;

    if (!value_of(reply, m->field, &number))
        return;
    if (m->scale == WORD)
        value = usher_code_word(t->noun, m->field, number);
    usher__out_print(to, "usher_%s", families[m->family].name);
    print_label(to, t);
    if (m->label != NULL)
        usher__out_print(to, ",%s=\"%s\"", m->label, value != NULL ? value : "");
    usher__out_print(to, "} ");
    print_number(to, m->scale, number);
}

static void print_reply(struct scrape *p, const struct target *t, const struct usher_reply *reply)
{
    bool done = USHER_IS_DONE(reply->status);

    if (!done && reply->status != USHER_MISSING) {
        usher__serve_failure(p->server, reply->status, reply->message);
        p->failed++;
        return;
    }
    p->missing += !done;
    usher__out_print(&p->exists, "usher_scope_exists");
    print_label(&p->exists, t);
    usher__out_print(&p->exists, "} %d\n", done);
    for (size_t i = 0; done && i < sizeof metrics / sizeof *metrics; i++)
        if (metrics[i].noun == t->noun)
            print_metric(p, &metrics[i], t, reply);
}

struct scrape *usher__scrape_reply(const struct usher_event *event)
{
    const struct target *t = event->tag;
    struct scrape *p = t->of;

    p->waiting--;
    if (!p->freed) {
        print_reply(p, t, event->reply);
        post(p);
    }
    if (p->waiting > 0)
        return NULL;
    p->server->figures.scrapes--;
    if (!p->freed)
        return p;
    usher__scrape_free(p);
    return NULL;
}

static void print_family(struct out *to, const char *name, const char *type, const char *help)
{
    usher__out_print(to, "# HELP usher_%s %s\n# TYPE usher_%s %s\n", name, help, name, type);
}

static void print_out(struct out *to, const struct out *from)
{
    usher__out_put(to, from->data, usher__out_size(from));
}

void usher__scrape_print(struct scrape *p, struct out *to)
{
    print_family(to, "scopes", "gauge", "Scopes of this page, by state.");
    usher__out_print(to,
                     "usher_scopes{state=\"read\"} %zu\nusher_scopes{state=\"missing\"} %zu\n"
                     "usher_scopes{state=\"failed\"} %zu\n",
                     p->n - p->missing - p->failed, p->missing, p->failed);
    print_family(to, "scopes_omitted", "gauge",
                 "Scopes of the store that are not in this page, because of the limit --metrics.");
    usher__out_print(to, "usher_scopes_omitted %" PRIu64 "\n", p->omitted);
    print_family(to, "scopes_list_complete", "gauge",
                 "1 if the list of scopes was read to its end.");
    usher__out_print(to, "usher_scopes_list_complete %d\n", !p->partial);
    if (usher__out_size(&p->exists) > 0) {
        print_family(to, "scope_exists", "gauge", "1 if the scope exists, 0 if not.");
        print_out(to, &p->exists);
    }
    for (size_t i = 0; i < FAMILIES; i++)
        if (usher__out_size(&p->texts[i]) > 0) {
            print_family(to, families[i].name, families[i].type, families[i].help);
            print_out(to, &p->texts[i]);
        }
}

static void free_now(struct scrape *p)
{
    struct scrape **at = &p->server->scrapes;

    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    for (size_t i = 0; i < p->n; i++)
        (void)usher__cli_resize(p->targets[i], 0);
    (void)usher__cli_resize((void *)p->targets, 0);
    usher__out_done(&p->exists);
    for (size_t i = 0; i < FAMILIES; i++)
        usher__out_done(&p->texts[i]);
    (void)usher__cli_resize(p, 0);
}

void usher__scrape_free(struct scrape *p)
{
    if (p == NULL)
        return;
    p->freed = true;
    if (usher__scrape_done(p))
        free_now(p);
}

void usher__scrape_free_all(struct server *s)
{
    while (s->scrapes != NULL)
        free_now(s->scrapes);
}
