/* SPDX-License-Identifier: MIT */
/*
 * Rounds of the state: which scopes are read, what is kept of them, and which are sent.
 *
 * The entries are in the order of the list, by noun and name, so a list is merged with those of the
 * round before.  All that a scope has besides its parts is some 150 bytes and its name.
 */
#include "config.h"

#include "serve/state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/json_walk.h"
#include "core/text.h"

#define AGES_MS 10000  /* a scope whose durations grow is read again after this time */
#define AGAIN_MS 60000 /* any other one that is sent: the day may be over */
#define RANK_MS 10000  /* the most urgent scopes are found again after this time */
#define EXACT_MAX ((uint64_t)1 << 53)
#define COMMON " status epoch version due now " /* keys of each answer */

enum series_kind { GAUGE, COUNT };
enum score_kind { PLUS, MINUS, SINCE };

static const struct part {
    unsigned noun, slot;
    const char *key;
    uint32_t verb;
    const char *keys, *rows;
    int64_t max;
} parts[] = {
#define PART(noun, slot, key, verb, keys, rows, max) \
    { USHER_##noun, slot, key, USHER_##noun##_##verb, " " keys " ", rows, max },
#include "serve/state.def"
};

static const struct series {
    unsigned noun, series;
    const char *key;
    enum series_kind kind;
    uint32_t field;
} series[] = {
#define HOUR(noun, series, key, kind, field) \
    { USHER_##noun, series, key, kind, USHER_FIELD_##field },
#include "serve/state.def"
};

static const struct score {
    unsigned noun, level;
    enum score_kind kind;
    uint32_t field;
} scores[] = {
#define SCORE(noun, level, kind, field) { USHER_##noun, level, kind, USHER_FIELD_##field },
#include "serve/state.def"
};

static const struct age {
    unsigned noun;
    uint32_t field;
} ages[] = {
#define AGE(noun, field) { USHER_##noun, USHER_FIELD_##field },
#include "serve/state.def"
};

#define N_OF(array) (sizeof(array) / sizeof *(array))

int64_t usher__state_wall_ms(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- entries ------------------------------------------------------------------------------ */

static struct entry *entry_new(struct state *st, const struct target *t)
{
    struct entry *e = usher__cli_resize(NULL, sizeof *e + t->size + 1);

    memset(e, 0, sizeof *e);
    e->noun = (unsigned)t->noun;
    e->size = t->size;
    e->serial = ++st->serial;
    memcpy(e->name, t->name, t->size + 1);
    return e;
}

/* Forget what is kept of scopes that are sent. */
static void entry_empty(struct entry *e)
{
    for (unsigned i = 0; i < STATE_PARTS; i++) {
        (void)usher__cli_resize(e->part[i], 0);
        e->part[i] = NULL;
    }
    (void)usher__cli_resize(e->hour, 0);
    e->hour = NULL;
    e->more = 0;
}

static void entry_free(struct entry *e)
{
    entry_empty(e);
    (void)usher__cli_resize(e, 0);
}

static bool is_sent(const struct entry *e)
{
    return e->top || e->named;
}

struct entry *usher__state_find(const struct state *st, unsigned noun, const char *name,
                                size_t size)
{
    size_t low = 0, high = st->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        struct entry *e = st->entries[mid];
        int order = usher__scrape_compare(noun, name, size, e->noun, e->name, e->size);

        if (order == 0)
            return e;
        if (order < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return NULL;
}

static void append(struct entry ***list, size_t *n, struct entry *e)
{
    if ((*n & (*n - 1)) == 0) /* 0 or a power of 2 */
        /* an array of pointers */
        /* NOLINTNEXTLINE(bugprone-sizeof-expression) */
        *list = usher__cli_resize((void *)*list, (*n > 0 ? 2 * *n : 1) * sizeof **list);
    (*list)[(*n)++] = e;
}

/* ---- the list ----------------------------------------------------------------------------- */

/* @e is not in the list: it is gone, or the list is not complete. */
static void unlisted(struct state *st, const struct scrape *p, struct entry *e, struct entry ***to,
                     size_t *n)
{
    /* one that no view has now stays for the next view */
    if ((st->nouns >> e->noun & 1u) == 0 ||
        (usher__scrape_partial(p) && st->counts[e->noun] < st->server->limits.metrics)) {
        e->listed = false;
        st->counts[e->noun]++;
        append(to, n, e);
        return;
    }
    append(&st->gone, &st->n_gone, e);
}

static bool has_changed(const struct entry *e, const struct target *t)
{
    return !e->known || e->again || e->epoch != t->epoch || e->version != t->version;
}

static bool is_due(const struct entry *e, int64_t now_ms)
{
    if (now_ms >= e->due_ms)
        return true;
    return is_sent(e) &&
           (e->part[0] == NULL || now_ms - e->read_ms >= (e->ages ? AGES_MS : AGAIN_MS));
}

/* A view has the noun of @e. */
static bool is_shown(const struct state *st, const struct entry *e)
{
    return (st->shown >> e->noun & 1u) != 0;
}

/* A view of this round shows @e. */
static bool is_wanted(const struct state *st, const struct entry *e)
{
    return (is_shown(st, e) && e->top) || e->named;
}

static void name(struct state *st, const struct named *named)
{
    struct entry *e = usher__state_find(st, named->noun, named->name, named->size);

    if (e != NULL)
        e->named = true;
}

/* Merge the list with the entries. */
static void merge(struct state *st, struct scrape *p)
{
    struct entry **old = st->entries, **to = NULL;
    size_t n_old = st->n, n = 0, at = 0;

    for (size_t i = 0; i < usher__scrape_n(p); i++) {
        struct target *t = usher__scrape_target(p, i);
        int order = 1;

        while (at < n_old &&
               (order = usher__scrape_compare(old[at]->noun, old[at]->name, old[at]->size,
                                              (unsigned)t->noun, t->name, t->size)) < 0)
            unlisted(st, p, old[at++], &to, &n);
        t->entry = at < n_old && order == 0 ? old[at++] : entry_new(st, t);
        st->counts[t->noun]++;
        append(&to, &n, t->entry);
    }
    while (at < n_old)
        unlisted(st, p, old[at++], &to, &n);
    (void)usher__cli_resize((void *)old, 0);
    st->entries = to;
    st->n = n;
}

static void listed(struct scrape *p, void *owner)
{
    struct state *st = owner;
    int64_t now_ms = usher__serve_now_ms();

    usher__scrape_extend(p);
    memset(st->counts, 0, sizeof st->counts);
    merge(st, p);
    for (unsigned i = 0; i < USHER__NOUNS; i++) {
        uint64_t total = st->counts[i] + usher__scrape_omitted(p, i);

        if ((st->nouns >> i & 1u) != 0 && (!usher__scrape_partial(p) || total > st->totals[i]))
            st->totals[i] = total;
    }
    for (size_t i = 0; i < st->n; i++) {
        struct entry *e = st->entries[i];

        e->named = false;
        e->top = e->top || (is_shown(st, e) && st->counts[e->noun] <= STATE_TOP);
    }
    usher__views_names(st, name);
    for (size_t i = 0; i < usher__scrape_n(p); i++) {
        struct target *t = usher__scrape_target(p, i);
        struct entry *e = t->entry;

        e->listed = true;
        e->need = (is_shown(st, e) || e->named) && (has_changed(e, t) || is_due(e, now_ms));
    }
}

/* ---- replies ------------------------------------------------------------------------------ */

static size_t commands(void *owner, const struct target *t, struct usher_command *to)
{
    static const struct usher_value most[N_OF(parts)] = {
#define PART(noun, slot, key, verb, keys, rows, max) USHER_N(USHER_FIELD_MAX, max),
#include "serve/state.def"
    };
    const struct entry *e = t->entry;
    size_t n = 0;

    (void)owner;
    if (!e->need)
        return 0;
    to[n++] = (struct usher_command){ .verb = usher__scrape_verb(e->noun) };
    for (size_t i = 0; is_sent(e) && i < N_OF(parts); i++)
        if (parts[i].noun == e->noun) {
            to[n] = (struct usher_command){ .verb = parts[i].verb, .n = parts[i].max > 0 };
            to[n].values = &most[i];
            n++;
        }
    return n;
}

static bool has_key(const char *keys, const char *at)
{
    size_t size = (size_t)(usher__json_value_end(at) - at) - 2; /* without quotes */
    const char *key = at + 1;

    for (keys = strchr(keys, ' '); keys != NULL && keys[1] != '\0'; keys = strchr(keys + 1, ' '))
        if (strncmp(keys + 1, key, size) == 0 && keys[1 + size] == ' ')
            return true;
    return false;
}

/* Append the object at @at, with @keys only, or without the common ones (NULL). */
static void filter(struct out *to, const char *at, const char *keys)
{
    char comma = '{';

    for (at = usher__json_first(at); at != NULL; at = usher__json_next_member(at)) {
        if (keys != NULL ? !has_key(keys, at) : has_key(COMMON, at))
            continue;
        usher__out_put(to, &comma, 1);
        comma = ',';
        usher__out_put(to, at, (size_t)(usher__json_value_end(usher__json_member(at)) - at));
    }
    usher__out_put(to, comma == '{' ? "{}" : "}", comma == '{' ? 2 : 1);
}

static void filter_rows(struct out *to, const char *at, const char *keys)
{
    char comma = '[';

    for (at = at != NULL ? usher__json_first(at) : NULL; at != NULL; at = usher__json_next(at)) {
        usher__out_put(to, &comma, 1);
        comma = ',';
        filter(to, at, keys);
    }
    usher__out_put(to, comma == '[' ? "[]" : "]", comma == '[' ? 2 : 1);
}

/* Keep the part @slot of the answer @json. */
static void keep(struct entry *e, unsigned slot, const char *json, const struct part *part)
{
    struct out text = { NULL, 0, 0, 0 };
    size_t size;

    if (part == NULL || part->rows == NULL)
        filter(&text, json, part != NULL ? part->keys : NULL);
    else
        filter_rows(&text, usher__json_find(json, part->rows), part->keys);
    usher__out_put(&text, "", 1);
    size = usher__out_size(&text);
    if (e->part[slot] == NULL || strcmp(e->part[slot], text.data) != 0) {
        e->part[slot] = memcpy(usher__cli_resize(e->part[slot], size), text.data, size);
        e->dirty |= 1u << slot;
    }
    usher__out_done(&text);
}

static int64_t value_of(const struct usher_reply *reply, uint32_t field)
{
    int64_t number = usher__scrape_value(reply, field);

    return number != USHER_NONE ? number : 0;
}

static void rate(struct entry *e, const struct usher_reply *reply)
{
    e->score[0] = e->score[1] = 0;
    for (size_t i = 0; i < N_OF(scores); i++) {
        int64_t number;

        if (scores[i].noun != e->noun)
            continue;
        number = value_of(reply, scores[i].field);
        if (scores[i].kind == SINCE) /* of what begins now it is 1 */
            number = number > 0 ? INT64_MAX / 2 - (e->at_ms - number) : 0;
        e->score[scores[i].level] += scores[i].kind == MINUS ? -number : number;
    }
    e->ages = false;
    for (size_t i = 0; i < N_OF(ages); i++)
        e->ages = e->ages || (ages[i].noun == e->noun && value_of(reply, ages[i].field) > 0);
    for (unsigned i = 0; i < HOUR_SERIES; i++)
        e->value[i] = USHER_NONE;
    for (size_t i = 0; i < N_OF(series); i++) {
        int64_t *value = &e->value[series[i].series];
        int64_t number;

        if (series[i].noun != e->noun)
            continue;
        number = usher__scrape_value(reply, series[i].field);
        if (number != USHER_NONE)
            *value = *value == USHER_NONE ? number : *value + number;
    }
}

static void read_figures(struct entry *e, const struct usher_reply *reply)
{
    if (e->epoch != reply->epoch || e->version != reply->version)
        e->dirty |= 1u;
    e->known = true;
    e->epoch = reply->epoch;
    e->version = reply->version;
    e->at_ms = usher__state_wall_ms();
    e->read_ms = usher__serve_now_ms();
    e->due_ms =
        reply->due_ms == USHER_NEVER ? INT64_MAX : e->read_ms + (reply->due_ms - reply->now_ms);
    rate(e, reply);
}

static void read_reply(void *owner, struct target *t, const struct usher_reply *reply)
{
    struct state *st = owner;
    struct entry *e = t->entry;
    bool figures = reply->verb == usher__scrape_verb(e->noun);
    const struct part *part = NULL;
    size_t size;
    char *json;

    if (!USHER_IS_DONE(reply->status) && reply->status != USHER_MISSING) {
        st->failed++;
        e->again = true;
        return;
    }
    st->read++;
    e->missing = e->missing || reply->status == USHER_MISSING;
    if (e->missing)
        return;
    if (figures) {
        e->need = e->again = false;
        read_figures(e, reply);
    }
    for (size_t i = 0; !figures && i < N_OF(parts); i++)
        if (parts[i].noun == e->noun && parts[i].verb == reply->verb)
            part = &parts[i];
    if (!is_sent(e) || (!figures && part == NULL))
        return;
    size = usher_reply_write(reply, USHER_FORM_JSON, NULL, 0) + 1;
    json = usher__cli_resize(NULL, size);
    (void)usher_reply_write(reply, USHER_FORM_JSON, json, size);
    keep(e, part != NULL ? part->slot : 0, json, part);
    if (part != NULL && part->rows != NULL) {
        const char *next = usher__json_find(json, "next");
        unsigned bit = 1u << part->slot;

        e->more = next != NULL && *next == '"' ? e->more | bit : e->more & ~bit;
    }
    (void)usher__cli_resize(json, 0);
}

/* ---- the most urgent ---------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const struct entry *one = *(const struct entry *const *)a;
    const struct entry *other = *(const struct entry *const *)b;

    for (unsigned i = 0; i < N_OF(one->score); i++)
        if (one->score[i] != other->score[i])
            return one->score[i] > other->score[i] ? -1 : 1;
    return one->serial < other->serial ? -1 : one->serial > other->serial;
}

static bool is_there(const struct entry *e)
{
    return e->known && !e->missing;
}

/* Find the most urgent of the @n entries of a noun at @of. */
static void rank_noun(struct entry **of, size_t n)
{
    struct entry **all = NULL;
    size_t n_all = 0;

    for (size_t i = 0; i < n; i++) {
        of[i]->top = false;
        if (is_there(of[i]))
            append(&all, &n_all, of[i]);
    }
    if (n_all > 1)
        /* NOLINTNEXTLINE(bugprone-sizeof-expression) */
        qsort((void *)all, n_all, sizeof *all, compare);
    for (size_t i = 0; i < n_all && i < STATE_TOP; i++)
        all[i]->top = true;
    (void)usher__cli_resize((void *)all, 0);
}

/* Return how many of the @n entries at @of are sent because they are urgent. */
static size_t tops(struct entry *const *of, size_t n)
{
    size_t top = 0;

    for (size_t i = 0; i < n; i++)
        top += of[i]->top && is_there(of[i]);
    return top;
}

static void rank(struct state *st, int64_t now_ms)
{
    bool all = now_ms - st->ranked_ms >= RANK_MS;

    for (size_t from = 0, n; from < st->n; from += n) {
        n = (size_t)st->counts[st->entries[from]->noun];
        if (n > STATE_TOP && is_shown(st, st->entries[from]) &&
            (all || tops(st->entries + from, n) != STATE_TOP))
            rank_noun(st->entries + from, n);
    }
    if (all)
        st->ranked_ms = now_ms;
}

/* ---- the last hour ------------------------------------------------------------------------- */

static unsigned counts_of(unsigned noun)
{
    unsigned counts = 0;

    for (size_t i = 0; i < N_OF(series); i++)
        if (series[i].noun == noun && series[i].kind == COUNT)
            counts |= 1u << series[i].series;
    return counts;
}

static void sample(struct entry *e, int64_t minute)
{
    if (e->hour == NULL) {
        e->hour = usher__cli_resize(NULL, sizeof *e->hour);
        usher__hour_begin(e->hour, minute);
    }
    if (minute >= e->hour->minute && /* the clock may have been set back */
        usher__hour_sample(e->hour, e->value, counts_of(e->noun), minute) > 0)
        e->dirty |= 1u << STATE_HOUR;
}

static void print_hour(struct out *to, const struct entry *e)
{
    const struct hour *h = e->hour;
    int last = -1;

    usher__out_print(to, ",\"hour\":{\"step\":60000,\"end\":%" PRId64, h->minute * 60000);
    for (size_t i = 0; i < N_OF(series); i++) {
        char comma = '[';

        if (series[i].noun != e->noun || (int)series[i].series == last)
            continue;
        last = (int)series[i].series;
        usher__out_print(to, ",\"%s\":", series[i].key);
        for (size_t k = h->n; k > 0; k--) {
            int32_t number = usher__hour_value(h, (unsigned)last, k);

            if (number == HOUR_UNKNOWN)
                usher__out_print(to, "%cnull", comma);
            else
                usher__out_print(to, "%c%" PRId32, comma, number);
            comma = ',';
        }
        usher__out_put(to, comma == '[' ? "[]" : "]", comma == '[' ? 2 : 1);
    }
    usher__out_put(to, "}", 1);
}

/* ---- JSON --------------------------------------------------------------------------------- */

void usher__state_text(struct out *to, const char *text, size_t size)
{
    char piece[USHER__JSON_PIECE];
    size_t n;

    for (size_t i = 0; i < size;) {
        i += usher__json_piece(text + i, size - i, piece, &n);
        usher__out_put(to, piece, n);
    }
}

void usher__state_number(struct out *to, uint64_t number)
{
    usher__out_print(to, number > EXACT_MAX ? "\"%" PRIu64 "\"" : "%" PRIu64, number);
}

void usher__state_scope(struct out *to, const struct entry *e, unsigned which)
{
    usher__out_print(to, "{\"scope\":\"%s/", usher__noun(e->noun)->word);
    usher__state_text(to, e->name, e->size);
    usher__out_print(to, "\",\"epoch\":\"%016" PRIx64 "\",\"version\":", e->epoch);
    usher__state_number(to, e->version);
    usher__out_print(to, ",\"at\":%" PRId64, e->at_ms);
    if ((which & 1u) != 0)
        usher__out_print(to, ",\"stats\":%s", e->part[0]);
    if ((which & 2u) != 0 && e->part[1] == NULL)
        usher__out_print(to, ",\"set\":{}");
    for (size_t i = 0; i < N_OF(parts); i++) {
        const struct part *part = &parts[i];

        if (part->noun != e->noun || (which >> part->slot & 1u) == 0 || e->part[part->slot] == NULL)
            continue;
        usher__out_print(to, ",\"%s\":%s", part->key, e->part[part->slot]);
        if ((e->more >> part->slot & 1u) != 0)
            usher__out_print(to, ",\"%s_more\":true", part->key);
    }
    if ((which >> STATE_HOUR & 1u) != 0 && e->hour != NULL)
        print_hour(to, e);
    usher__out_put(to, "}", 1);
}

/* ---- rounds ------------------------------------------------------------------------------- */

/* Prepare a second pass for scopes that are sent and of which only the statistics were read. */
static bool lacks(struct state *st)
{
    bool any = false;

    for (size_t i = 0; i < st->n; i++) {
        struct entry *e = st->entries[i];

        e->need = e->listed && is_there(e) && is_wanted(st, e) && e->part[0] == NULL;
        any = any || e->need;
    }
    return any;
}

static void judge(struct state *st, const struct scrape *p)
{
    bool partial = usher__scrape_partial(p), lists = st->nouns != 0 && !partial;
    bool failed = st->failed > 0 || usher__scrape_unposted(p) > 0;

    if ((partial && usher__scrape_n(p) == 0) || (st->read == 0 && failed && !lists))
        st->store = "unavailable";
    else if (partial || failed)
        st->store = "partial";
    else
        st->store = st->lag_ms > STATE_EVERY_MS ? "slow" : "ok";
}

/* Forget the entries that are gone, and what is kept of those that are not sent. */
static void clean(struct state *st)
{
    for (size_t i = 0; i < st->n_gone; i++)
        entry_free(st->gone[i]);
    st->gone = usher__cli_resize((void *)st->gone, 0);
    st->n_gone = 0;
    for (size_t i = 0; i < st->n; i++) {
        struct entry *e = st->entries[i];

        e->dirty = 0;
        if (!is_sent(e))
            entry_empty(e);
    }
}

/* Move those that were dropped since the list to the ones that are gone. */
static void drop_missing(struct state *st)
{
    struct entry **of = st->entries;
    size_t n = 0;

    st->entries = NULL;
    for (size_t i = 0; i < st->n; i++)
        if (of[i]->missing)
            append(&st->gone, &st->n_gone, of[i]);
        else
            append(&st->entries, &n, of[i]);
    st->n = n;
    (void)usher__cli_resize((void *)of, 0);
}

static void done(struct scrape *p, void *owner)
{
    struct state *st = owner;
    int64_t now_ms = usher__serve_now_ms(), minute = usher__state_wall_ms() / 60000;

    if (!st->second) {
        rank(st, now_ms);
        st->second = true;
        if ((st->read > 0 || st->failed == 0) && lacks(st) && usher__scrape_again(p))
            return;
    }
    drop_missing(st);
    st->lag_ms = now_ms - st->began_ms;
    st->next_ms =
        now_ms + (st->lag_ms < STATE_EVERY_MS / 2 ? STATE_EVERY_MS - st->lag_ms : st->lag_ms);
    st->ended_ms = now_ms;
    judge(st, p);
    for (size_t i = 0; i < st->n; i++)
        if (st->entries[i]->listed && is_wanted(st, st->entries[i]) &&
            st->entries[i]->part[0] != NULL && strcmp(st->store, "unavailable") != 0)
            sample(st->entries[i], minute);
    usher__scrape_free(p);
    st->scrape = NULL;
    usher__views_send(st);
    clean(st);
}

static const struct scrape_user user = {
    .each = true, .listed = listed, .commands = commands, .reply = read_reply, .done = done
};

static void count_node(void *payload, const struct usher_node *node)
{
    struct state *st = payload;

    st->nodes += node->role == USHER_NODE_MASTER;
}

static void count_nodes(struct work *w)
{
    struct state *st = (struct state *)(void *)w;

    st->nodes = 0;
    (void)usher_nodes(st->server->cli->engine, NULL, count_node, st);
}

static void counted(struct server *s, struct work *w)
{
    struct state *st = (struct state *)(void *)w;

    (void)s;
    st->counting = false;
    st->counted = w->ran && st->nodes > 0;
}

void usher__state_round(struct state *st)
{
    struct scrape *p = usher__scrape_new(st->server, &user, st);

    if (!st->counted && !st->counting) {
        st->work.run = count_nodes;
        st->work.done = counted;
        st->counting = usher__serve_work(st->server, SERVE_CHECKS, &st->work);
    }
    st->scrape = p;
    st->round++;
    st->second = false;
    st->failed = st->read = 0;
    st->nouns = usher__views_nouns(st, &st->shown);
    st->began_ms = usher__serve_now_ms();
    if (st->nouns != usher__views_all_nouns())
        usher__scrape_list_nouns(p, st->nouns);
    usher__scrape_begin(p);
    if (usher__scrape_done(p))
        done(p, st);
}

void usher__state_free(struct server *s)
{
    struct state *st = s->state;

    if (st == NULL)
        return;
    for (size_t i = 0; i < st->n; i++)
        entry_free(st->entries[i]);
    for (size_t i = 0; i < st->n_gone; i++)
        entry_free(st->gone[i]);
    (void)usher__cli_resize((void *)st->entries, 0);
    (void)usher__cli_resize((void *)st->gone, 0);
    s->state = usher__cli_resize(st, 0);
}
