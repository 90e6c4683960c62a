/* SPDX-License-Identifier: MIT */
/*
 * A scrape has three stages: its scopes are listed, in pages, on the thread of lists; commands on
 * them are posted, at most POSTED at a time; each reply goes to the user when it comes.
 *
 * The scrape belongs to the thread of lists while it lists, then to the loop.  After SCRAPE_MS,
 * with the list, nothing more is posted, and the user learns how much is left.
 */
#include "config.h"

#include "serve/scrape.h"

#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "core/verbs.h"
#include "serve/serve.h"

#define SCRAPE_MS 8000 /* below the 10 s that Prometheus waits */
#ifdef USHER_HOSTILE
#define PAGE 2
#define POSTED ((size_t)SCRAPE_COMMANDS + 1)
#else
#define PAGE 1000
#define POSTED ((size_t)1024) /* commands of one scrape that have no reply yet */
#endif

struct scrape {
    struct work work; /* the list */
    struct server *server;
    struct scrape *next; /* of the server's */
    const struct scrape_user *user;
    void *owner;
    unsigned nouns; /* that are listed, a bit each; 0: all */
    bool lists, listing, freed;
    bool partial; /* the list is not complete */
    int64_t end_ms;
    struct target **targets;
    size_t n, room, max;
    size_t counts[USHER__NOUNS];
    uint64_t omitted[USHER__NOUNS];
    size_t posted, waiting, unposted; /* posted: targets; the others: commands, targets */
};

/* ---- scopes ------------------------------------------------------------------------------- */

const struct usher__noun *usher__scrape_split(const char *word, size_t size, const char **ret_name)
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

static struct target *add(struct scrape *p, enum usher_noun noun, const char *name, size_t size)
{
    struct target *t = usher__cli_resize(NULL, sizeof *t + size + 1);

    memset(t, 0, sizeof *t);
    t->number = USHER_NONE;
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
    p->counts[noun]++;
    p->targets[p->n++] = t;
    return t;
}

int usher__scrape_compare(unsigned noun, const char *name, size_t size, unsigned other_noun,
                          const char *other, size_t other_size)
{
    int order;

    if (noun != other_noun)
        return noun < other_noun ? -1 : 1;
    order = memcmp(name, other, size < other_size ? size : other_size);
    return order != 0 ? order : (size > other_size) - (size < other_size);
}

static int compare(const void *a, const void *b)
{
    const struct target *one = *(const struct target *const *)a;
    const struct target *other = *(const struct target *const *)b;

    return usher__scrape_compare(one->noun, one->name, one->size, other->noun, other->name,
                                 other->size);
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

struct scrape *usher__scrape_new(struct server *s, const struct scrape_user *user, void *owner)
{
    struct scrape *p = usher__cli_resize(NULL, sizeof *p);

    memset(p, 0, sizeof *p);
    p->server = s;
    p->user = user;
    p->owner = owner;
    p->max = s->limits.metrics;
    p->lists = p->max > 0;
    p->next = s->scrapes;
    s->scrapes = p;
    return p;
}

const char *usher__scrape_add(struct scrape *p, const char *word, size_t size)
{
    const char *name = NULL;
    const struct usher__noun *noun = usher__scrape_split(word, size, &name);

    if (noun == NULL)
        return "is not a scope: write NOUN/NAME, as in number/sales";
    if (strlen(word) != size || usher__scope_fault(name, strlen(name)) != NULL)
        return "is not a scope: its name is invalid";
    if (p->n == SERVE_SCOPES_MAX)
        return "is one scope too many (limit 1000)";
    p->lists = p->nouns != 0;
    (void)add(p, (enum usher_noun)noun->noun, name, strlen(name));
    return NULL;
}

const char *usher__scrape_list(struct scrape *p, const char *word)
{
    const struct usher__noun *noun = usher__noun_by_word(word);

    if (noun == NULL || noun->hidden)
        return "is not a noun";
    usher__scrape_list_nouns(p, 1u << noun->noun);
    return NULL;
}

void usher__scrape_list_nouns(struct scrape *p, unsigned nouns)
{
    p->nouns |= nouns;
    p->lists = true;
}

/* ---- the list ----------------------------------------------------------------------------- */

static void add_row(struct scrape *p, const struct usher_reply *reply, size_t i)
{
    size_t size = 0;
    const char *word = usher_reply_text(reply, i, USHER_FIELD_SCOPE, &size), *name;
    const struct usher__noun *noun = word != NULL ? usher__scrape_split(word, size, &name) : NULL;
    struct target *t;

    if (noun == NULL)
        return;
    if ((p->user->each ? p->counts[noun->noun] : p->n) >= p->max) {
        p->omitted[noun->noun]++;
        return;
    }
    t = add(p, (enum usher_noun)noun->noun, name, size - (size_t)(name - word));
    t->epoch = (uint64_t)usher_reply_int(reply, i, USHER_FIELD_EPOCH);
    t->version = (uint64_t)usher_reply_int(reply, i, USHER_FIELD_VERSION);
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

uint32_t usher__scrape_verb(unsigned noun)
{
    const struct usher__noun *of = usher__noun(noun);

    for (unsigned i = 0; i < of->n_verbs; i++)
        if ((of->verbs[i].flags & USHER__FIGURES) != 0)
            return of->verbs[i].verb;
    return 0;
}

int64_t usher__scrape_value(const struct usher_reply *reply, uint32_t field)
{
    int64_t number = usher_reply_int(reply, USHER_ANSWER, field);

    return number == USHER_NONE && reply->n_rows == 1 ? usher_reply_int(reply, 0, field) : number;
}

static void post(struct scrape *p)
{
    struct usher_command commands[POSTED];
    int64_t left_ms = p->end_ms - usher__serve_now_ms();
    enum usher_status status;
    size_t n = 0, at = p->posted;

    if (p->posted == p->n || p->waiting > POSTED / 2)
        return;
    while (n + SCRAPE_COMMANDS <= POSTED - p->waiting && at < p->n) {
        struct target *t = p->targets[at++];
        size_t of = p->user->commands(p->owner, t, commands + n);

        for (; of > 0; of--, n++) {
            commands[n].scope = t->name;
            commands[n].scope_size = (int32_t)t->size;
            commands[n].tag = t;
        }
    }
    if (n == 0) {
        p->posted = at;
        return;
    }
    status =
        left_ms > 0 ? usher_post(p->server->cli->engine, commands, n, left_ms) : USHER_UNAVAILABLE;
    if (status == USHER_OK) {
        p->posted = at;
        p->waiting += n;
    } else if (status != USHER_FULL || p->waiting == 0) {
        p->unposted += p->n - p->posted;
        p->posted = p->n;
    }
}

static void begin(struct scrape *p)
{
    post(p);
    p->server->figures.scrapes += p->waiting > 0;
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
    if (p->user->listed != NULL)
        p->user->listed(p, p->owner);
    begin(p);
    if (usher__scrape_done(p))
        usher__serve_scraped(p);
}

void usher__scrape_extend(struct scrape *p)
{
    p->end_ms = usher__serve_now_ms() + SCRAPE_MS;
}

void usher__scrape_begin(struct scrape *p)
{
    usher__scrape_extend(p);
    p->work.run = run;
    p->work.done = listed;
    p->listing = p->lists && usher__serve_work(p->server, SERVE_LISTS, &p->work);
    p->partial = p->lists && !p->listing;
    if (p->listing)
        return;
    sort(p);
    if (p->user->listed != NULL)
        p->user->listed(p, p->owner);
    begin(p);
}

bool usher__scrape_again(struct scrape *p)
{
    usher__scrape_extend(p);
    p->posted = 0;
    begin(p);
    return p->waiting > 0;
}

bool usher__scrape_done(const struct scrape *p)
{
    return !p->listing && p->waiting == 0;
}

void usher__serve_scraped(struct scrape *p)
{
    p->user->done(p, p->owner);
}

struct scrape *usher__scrape_reply(const struct usher_event *event)
{
    struct target *t = event->tag;
    struct scrape *p = t->of;

    p->waiting--;
    if (!p->freed) {
        if (!USHER_IS_DONE(event->reply->status) && event->reply->status != USHER_MISSING)
            usher__serve_failure(p->server, event->reply->status, event->reply->message);
        p->user->reply(p->owner, t, event->reply);
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

/* ---- what is in it ------------------------------------------------------------------------ */

size_t usher__scrape_n(const struct scrape *p)
{
    return p->n;
}

struct target *usher__scrape_target(const struct scrape *p, size_t i)
{
    return p->targets[i];
}

uint64_t usher__scrape_omitted(const struct scrape *p, unsigned noun)
{
    uint64_t all = 0;

    if (noun != 0)
        return p->omitted[noun];
    for (unsigned i = 0; i < USHER__NOUNS; i++)
        all += p->omitted[i];
    return all;
}

size_t usher__scrape_unposted(const struct scrape *p)
{
    return p->unposted;
}

bool usher__scrape_partial(const struct scrape *p)
{
    return p->partial;
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
