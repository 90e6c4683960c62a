/* SPDX-License-Identifier: MIT */
/*
 * Views, viewers and their messages.
 *
 * A message is in memory once for all viewers of a view, each of which has a queue of them.  A
 * viewer that has not taken the last message gets no heartbeat, and one for which more than --out
 * waits besides the message that it is taking, or that takes nothing for --slow, is closed: so
 * memory is bounded.
 */
#include "config.h"

#include "serve/state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/text.h"
#include "serve/thresholds.h"

#define TICK_MS (STATE_EVERY_MS * 3 / 2)      /* while a round takes long */
#define SLOW_MS (INT64_C(3) * STATE_EVERY_MS) /* and this long: the store is slow */
#define KEPT_MS 3600000                       /* of the state, without a viewer */

/* ---- messages ----------------------------------------------------------------------------- */

static struct message *message_new(const struct out *text)
{
    size_t size = usher__out_size(text);
    struct message *m = usher__cli_resize(NULL, sizeof *m + size);

    m->refs = 1;
    m->size = size;
    m->json = 0;
    memcpy(m->text, text->data + text->from, size);
    return m;
}

static void message_done(struct message *m)
{
    if (m != NULL && --m->refs == 0)
        (void)usher__cli_resize(m, 0);
}

static void queue_put(struct viewer *v, struct message *m)
{
    if (v->n == v->room) {
        v->room = v->room > 0 ? 2 * v->room : 4;
        /* an array of pointers */
        /* NOLINTNEXTLINE(bugprone-sizeof-expression) */
        v->queue = usher__cli_resize((void *)v->queue, v->room * sizeof *v->queue);
    }
    if (v->n == 0)
        v->moved_ms = usher__serve_now_ms();
    m->refs++;
    v->queue[v->n++] = m;
    v->waiting += m->size;
    if (v->connection != NULL)
        usher__serve_http_resume(v->connection);
}

static void queue_next(struct viewer *v)
{
    message_done(v->queue[0]);
    v->at = 0;
    v->n--;
    /* NOLINTNEXTLINE(bugprone-sizeof-expression) */
    memmove((void *)v->queue, (void *)(v->queue + 1), v->n * sizeof *v->queue);
}

/* ---- what a view has ------------------------------------------------------------------------ */

static int compare(const void *a, const void *b)
{
    const struct named *one = a, *other = b;

    return usher__scrape_compare(one->noun, one->name, one->size, other->noun, other->name,
                                 other->size);
}

static bool names(const struct view *w, const struct entry *e)
{
    size_t low = 0, high = e->named ? w->n_names : 0;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct named *at = &w->names[mid];
        int order = usher__scrape_compare(e->noun, e->name, e->size, at->noun, at->name, at->size);

        if (order == 0)
            return true;
        if (order < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return false;
}

static bool shows(const struct view *w, const struct entry *e)
{
    return e->part[0] != NULL && ((e->top && (w->nouns >> e->noun & 1u) != 0) || names(w, e));
}

/* A number of the set of scopes that has the entry @e: they are added. */
static uint64_t mix(const struct entry *e)
{
    uint64_t x = e->serial * 0x9e3779b97f4a7c15u;

    x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
    return x ^ x >> 32;
}

static uint64_t sum_of(const struct state *st, const struct view *w)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < st->n; i++)
        sum += shows(w, st->entries[i]) ? mix(st->entries[i]) : 0;
    return sum;
}

static const char *store_of(const struct state *st)
{
    bool late = st->scrape != NULL && usher__serve_now_ms() - st->began_ms > SLOW_MS;

    return late && strcmp(st->store, "ok") == 0 ? "slow" : st->store;
}

/* Minutes east of UTC, here and now. */
static int zone(void)
{
    time_t now = time(NULL);
    struct tm local;

    return localtime_r(&now, &local) != NULL ? (int)(local.tm_gmtoff / 60) : 0;
}

static void print_head(const struct state *st, struct out *to)
{
    usher__out_print(to, "\"at\":%" PRId64 ",\"store\":\"%s\",\"lag\":%" PRId64,
                     usher__state_wall_ms(), store_of(st), st->lag_ms);
}

static void print_kind(const struct state *st, struct out *to)
{
    const char *url = st->server->cli->store;

    usher__out_put(to, ",\"kind\":\"", 9);
    usher__state_text(to, url, strcspn(url, ":+"));
    if (st->counted && st->nodes > 1)
        usher__out_print(to, ", %u nodes", st->nodes);
    usher__out_put(to, "\"", 1);
}

/* Append the object `state` of @w. */
static void print_state(const struct state *st, const struct view *w, struct out *to)
{
    uint64_t all = 0, shown = 0;
    char comma = '{';

    usher__out_print(to, "{\"v\":1,\"seq\":%" PRIu64 ",\"zone\":%d,\"every\":%d,", st->seq, zone(),
                     STATE_EVERY_MS);
    print_head(st, to);
    print_kind(st, to);
    usher__out_print(to, ",\"thresholds\":");
    usher__thresholds_json(to);
    usher__out_print(to, ",\"totals\":");
    for (unsigned i = 0; i < USHER__NOUNS; i++) {
        if ((w->nouns >> i & 1u) == 0)
            continue;
        usher__out_print(to, "%c\"%s\":%" PRIu64, comma, usher__noun(i)->word, st->totals[i]);
        comma = ',';
        all += st->totals[i];
    }
    usher__out_put(to, comma == '{' ? "{}" : "}", comma == '{' ? 2 : 1);
    for (size_t i = 0; i < st->n; i++)
        shown += (w->nouns >> st->entries[i]->noun & 1u) != 0 && shows(w, st->entries[i]);
    usher__out_print(to, ",\"more\":%s,\"scopes\":", shown < all ? "true" : "false");
    comma = '[';
    for (size_t i = 0; i < st->n; i++) {
        if (!shows(w, st->entries[i]))
            continue;
        usher__out_put(to, &comma, 1);
        comma = ',';
        usher__state_scope(to, st->entries[i], ~0u);
    }
    usher__out_put(to, comma == '[' ? "[]}" : "]}", comma == '[' ? 3 : 2);
}

/* Append the event `scopes`.  Return false if there is nothing in it. */
static bool print_scopes(const struct state *st, const struct view *w, struct out *to)
{
    bool any = false;
    char comma = '[';

    usher__out_print(to, "id: %" PRIu64 "\nevent: scopes\ndata: {", st->seq);
    print_head(st, to);
    usher__out_print(to, ",\"scopes\":");
    for (size_t i = 0; i < st->n; i++) {
        const struct entry *e = st->entries[i];

        if (e->dirty == 0 || !shows(w, e))
            continue;
        usher__out_put(to, &comma, 1);
        comma = ',';
        usher__state_scope(to, e, e->dirty);
    }
    any = comma == ',';
    usher__out_put(to, any ? "]" : "[]", any ? 1 : 2);
    comma = '[';
    for (size_t i = 0; i < st->n_gone; i++) {
        const struct entry *e = st->gone[i];

        if (!shows(w, e))
            continue;
        usher__out_print(to, "%s%c\"%s/", comma == '[' ? ",\"gone\":" : "", comma,
                         usher__noun(e->noun)->word);
        usher__state_text(to, e->name, e->size);
        usher__out_put(to, "\"", 1);
        comma = ',';
    }
    any = any || comma == ',';
    usher__out_print(to, "%s}\n\n", comma == ',' ? "]" : "");
    return any;
}

static void print_tick(const struct state *st, struct out *to)
{
    usher__out_print(to, "id: %" PRIu64 "\nevent: tick\ndata: {", st->seq);
    print_head(st, to);
    usher__out_print(to, "}\n\n");
}

/* ---- sending ------------------------------------------------------------------------------ */

/* Send @v its first message, or another state. */
static void send_state(struct state *st, struct viewer *v)
{
    struct view *w = v->view;
    struct out text = { NULL, 0, 0, 0 };
    size_t json;

    if (w->state == NULL || w->seq != st->seq) {
        message_done(w->state);
        usher__out_print(&text, "id: %" PRIu64 "\nretry: 1000\nevent: state\ndata: ", st->seq);
        json = usher__out_size(&text);
        print_state(st, w, &text);
        usher__out_put(&text, "\n\n", 2);
        w->state = message_new(&text);
        w->state->json = json;
        w->seq = st->seq;
        usher__out_done(&text);
    }
    v->has_state = true;
    queue_put(v, w->state);
}

/* Send @text to the viewers of @w that have the state; if it is a @tick, to those for which nothing
 * waits. */
static void send_all(struct state *st, struct view *w, const struct out *text, bool tick)
{
    struct message *m = message_new(text);

    for (struct viewer *v = st->viewers; v != NULL; v = v->next)
        if (v->view == w && v->has_state && !v->once && !v->closed && (!tick || v->n == 0))
            queue_put(v, m);
    message_done(m);
    w->sent_ms = usher__serve_now_ms();
}

static void send_tick(struct state *st, struct view *w)
{
    struct out text = { NULL, 0, 0, 0 };

    print_tick(st, &text);
    send_all(st, w, &text, true);
    usher__out_done(&text);
}

static void send_view(struct state *st, struct view *w)
{
    struct out text = { NULL, 0, 0, 0 };
    uint64_t sum = sum_of(st, w), gone = 0;
    bool whole;

    for (size_t i = 0; i < st->n_gone; i++)
        gone += shows(w, st->gone[i]) ? mix(st->gone[i]) : 0;
    whole = !w->ready || sum != w->sum - gone;
    w->ready = true;
    w->sum = sum;
    if (!whole) {
        if (print_scopes(st, w, &text))
            send_all(st, w, &text, false);
        else if (usher__serve_now_ms() - w->sent_ms >= STATE_EVERY_MS / 2)
            send_tick(st, w);
    }
    usher__out_done(&text);
    for (struct viewer *v = st->viewers; v != NULL; v = v->next)
        if (v->view == w && !v->closed && (!v->has_state || (whole && !v->once)))
            send_state(st, v);
    if (whole)
        w->sent_ms = usher__serve_now_ms();
}

void usher__views_send(struct state *st)
{
    st->seq++;
    for (struct view *w = st->views; w != NULL; w = w->next)
        if (w->round <= st->round)
            send_view(st, w);
}

unsigned usher__views_all_nouns(void)
{
    unsigned nouns = 0;

    for (unsigned i = 0; usher__noun_at(i) != NULL; i++)
        if (!usher__noun_at(i)->hidden)
            nouns |= 1u << usher__noun_at(i)->noun;
    return nouns;
}

unsigned usher__views_nouns(const struct state *st, unsigned *ret_shown)
{
    unsigned nouns = 0;

    *ret_shown = 0;
    for (const struct view *w = st->views; w != NULL; w = w->next) {
        *ret_shown |= w->nouns;
        nouns |= w->nouns;
        for (size_t i = 0; i < w->n_names; i++)
            nouns |= 1u << w->names[i].noun;
    }
    return nouns;
}

void usher__views_names(struct state *st, void (*fn)(struct state *st, const struct named *name))
{
    for (const struct view *w = st->views; w != NULL; w = w->next)
        for (size_t i = 0; i < w->n_names; i++)
            fn(st, &w->names[i]);
}

/* ---- requests ----------------------------------------------------------------------------- */

struct viewer *usher__viewer_new(struct server *s, void *connection, bool once)
{
    struct viewer *v = usher__cli_resize(NULL, sizeof *v);

    memset(v, 0, sizeof *v);
    v->server = s;
    v->connection = connection;
    v->once = once;
    return v;
}

/* One word. */
static const char *only(struct viewer *v, const char *word, size_t size)
{
    const char *name = NULL;
    const struct usher__noun *noun = usher__scrape_split(word, size, &name);
    struct named *to;

    if (v->n_words++ == STATE_ONLY_MAX)
        return "is one word too many (limit 200)";
    if (memchr(word, '/', size) == NULL) {
        for (unsigned i = 0; (noun = usher__noun_at(i)) != NULL; i++)
            if (!noun->hidden && strlen(noun->word) == size &&
                memcmp(noun->word, word, size) == 0) {
                v->nouns |= 1u << noun->noun;
                return NULL;
            }
        return "is not a noun";
    }
    if (noun == NULL)
        return "is not a scope: write NOUN/NAME, as in number/sales";
    size -= (size_t)(name - word);
    if (usher__scope_fault(name, size) != NULL)
        return "is not a scope: its name is invalid";
    v->names = usher__cli_resize(v->names, (v->n_names + 1) * sizeof *v->names);
    to = &v->names[v->n_names++];
    memset(to, 0, sizeof *to);
    to->noun = noun->noun;
    to->size = size;
    memcpy(to->name, name, size);
    return NULL;
}

const char *usher__viewer_only(struct viewer *v, const char *word, size_t size,
                               char ret_word[USHER_NAME_MAX + 1])
{
    const char *fault = NULL, *end = word + size;

    for (size_t n; fault == NULL; word += n + 1) {
        const char *comma = memchr(word, ',', (size_t)(end - word));

        n = (size_t)((comma != NULL ? comma : end) - word);
        fault = only(v, word, n);
        if (fault != NULL) {
            n = n < USHER_NAME_MAX ? n : USHER_NAME_MAX;
            memcpy(ret_word, word, n);
            ret_word[n] = '\0';
        }
        if (comma == NULL)
            break;
    }
    return fault;
}

/* Put the names in order, each once, without those of nouns that are shown. */
static void arrange(struct viewer *v)
{
    size_t n = 0;

    if (v->nouns == 0 && v->n_names == 0)
        v->nouns = usher__views_all_nouns();
    if (v->n_names > 1)
        qsort(v->names, v->n_names, sizeof *v->names, compare);
    for (size_t i = 0; i < v->n_names; i++)
        if (n == 0 || compare(&v->names[n - 1], &v->names[i]) != 0)
            v->names[n++] = v->names[i];
    v->n_names = n;
}

static struct view *view_of(struct state *st, struct viewer *v)
{
    struct view *w = st->views;

    while (w != NULL &&
           (w->nouns != v->nouns || w->n_names != v->n_names ||
            (v->n_names > 0 && memcmp(w->names, v->names, v->n_names * sizeof *v->names) != 0)))
        w = w->next;
    if (w != NULL)
        return w;
    w = usher__cli_resize(NULL, sizeof *w);
    memset(w, 0, sizeof *w);
    w->nouns = v->nouns;
    w->names = v->names;
    w->n_names = v->n_names;
    v->names = NULL;
    w->round = st->round + 1;
    /* the last round is a moment ago, and has all of it */
    w->ready = st->scrape == NULL && usher__serve_now_ms() < st->next_ms && w->n_names == 0 &&
               (w->nouns & ~st->shown) == 0;
    w->sum = w->ready ? sum_of(st, w) : 0;
    w->next = st->views;
    st->views = w;
    return w;
}

bool usher__viewer_begin(struct viewer *v)
{
    struct server *s = v->server;
    struct state *st = s->state;

    if (!v->once && s->figures.viewers >= s->limits.viewers)
        return false;
    if (st == NULL) {
        st = s->state = usher__cli_resize(NULL, sizeof *st);
        memset(st, 0, sizeof *st);
        st->server = s;
        st->store = "ok";
    }
    arrange(v);
    v->view = view_of(st, v);
    v->view->viewers++;
    v->next = st->viewers;
    st->viewers = v;
    s->figures.viewers += !v->once;
    v->moved_ms = usher__serve_now_ms();
    if (v->view->ready)
        send_state(st, v);
    return true;
}

bool usher__viewer_has(const struct viewer *v)
{
    return v->n > 0;
}

const char *usher__viewer_json(const struct viewer *v, size_t *ret_size)
{
    const struct message *m = v->queue[0];

    *ret_size = m->size - m->json - 1;
    return m->text + m->json;
}

size_t usher__viewer_take(struct viewer *v, char *to, size_t size)
{
    size_t n = v->n > 0 ? v->queue[0]->size - v->at : 0;

    n = n < size ? n : size;
    if (n == 0)
        return 0;
    memcpy(to, v->queue[0]->text + v->at, n);
    v->at += n;
    v->waiting -= n;
    v->moved_ms = usher__serve_now_ms();
    if (v->at == v->queue[0]->size)
        queue_next(v);
    return n;
}

static void view_leave(struct state *st, struct view *w)
{
    struct view **at = &st->views;

    if (--w->viewers > 0)
        return;
    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
    message_done(w->state);
    (void)usher__cli_resize(w->names, 0);
    (void)usher__cli_resize(w, 0);
}

void usher__viewer_free(struct viewer *v)
{
    struct viewer **at;

    if (v == NULL)
        return;
    if (v->view != NULL) {
        at = &v->server->state->viewers;
        while (*at != v)
            at = &(*at)->next;
        *at = v->next;
        v->server->figures.viewers -= !v->once;
        view_leave(v->server->state, v->view);
    }
    while (v->n > 0)
        queue_next(v);
    /* an array of pointers */
    (void)usher__cli_resize((void *)v->queue, 0);
    (void)usher__cli_resize(v->names, 0);
    (void)usher__cli_resize(v, 0);
}

/* ---- the loop ----------------------------------------------------------------------------- */

static void close_slow(struct state *st, int64_t now_ms)
{
    const struct limits *l = &st->server->limits;

    for (struct viewer *v = st->viewers; v != NULL; v = v->next) {
        if (v->n == 0 || v->closed || v->once ||
            ((v->waiting <= l->out || v->n == 1) && now_ms - v->moved_ms <= l->slow_ms))
            continue;
        usher__serve_say("viewer closed: it does not read, and %zu bytes wait for it", v->waiting);
        st->server->figures.slow++;
        v->closed = true;
        usher__serve_http_shut(v->connection);
    }
}

void usher__viewers_run(struct server *s)
{
    struct state *st = s->state;
    int64_t now_ms = usher__serve_now_ms();

    if (st == NULL)
        return;
    if (st->viewers == NULL) {
        if (st->scrape == NULL && !st->counting && now_ms - st->ended_ms > KEPT_MS)
            usher__state_free(s);
        return;
    }
    close_slow(st, now_ms);
    for (struct view *w = st->views; w != NULL; w = w->next)
        if (w->ready && now_ms - w->sent_ms >= TICK_MS)
            send_tick(st, w);
    if (st->scrape == NULL && now_ms >= st->next_ms)
        usher__state_round(st);
}

int usher__viewers_timeout(const struct server *s)
{
    const struct state *st = s->state;
    int64_t now_ms = usher__serve_now_ms(), until_ms;

    if (st == NULL || st->viewers == NULL)
        return -1;
    until_ms = now_ms + STATE_EVERY_MS / 2;
    if (st->scrape == NULL && st->next_ms < until_ms)
        until_ms = st->next_ms;
    return until_ms > now_ms ? (int)(until_ms - now_ms) : 0;
}
