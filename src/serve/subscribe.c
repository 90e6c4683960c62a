/* SPDX-License-Identifier: MIT */
/*
 * SUBSCRIBE: notices as messages.
 *
 * A channel is named after a scope: number/sales.  All clients that subscribe to this name share
 * one channel, so a notice is written once for all of them.  The name number/sales?since=V is a
 * channel of each client alone.  It begins after version V, and since the position is part of the
 * name, client libraries confirm it, and subscribe to it again after a reconnect.
 *
 * A scope is read once when its channel begins, and the channel follows it from the version of the
 * answer (or from V).  So a scope with a log sends the changes of all processes.  One without a log
 * sends those of this server, and a gap for others.
 *
 * A channel of one client pauses, without a watcher, while half of `--out` waits for its client,
 * and when it has used its share of the round.  It continues in the log after the last version that
 * it sent.  So a client that reads gets a log of any length, and other clients are served in
 * between.
 *
 * Channels are in a table by name.  Those that pause or read their log are in the list `busy`, and
 * a round looks at no others.
 */
#include "config.h"

#include "serve/serve.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <usher/command.h>

#include "core/changes.h"
#include "core/text.h"
#include "core/verbs.h"
#include "parse/parse.h"

#define NAMES 64       /* that are subscribed to together */
#define SILENT_MS 5000 /* after a failure */

/* The last notice that was sent.  0: not known. */
struct place {
    uint64_t epoch, version, mark;
};

struct channel {
    struct channel *next;          /* in its list of the table */
    struct channel *before, *then; /* in `busy` */
    struct usher_watcher *watcher; /* NULL: it pauses */
    char *name;                    /* as clients name it */
    char *scope;                   /* the name of the scope */
    enum usher_noun noun;
    bool alone; /* of one client: it has `since` */
    size_t n, room;
    struct client **of;
    struct place place;
    bool is_busy;
    bool resumed; /* `place` is to be compared with the next event */
    bool behind;  /* of one client: it reads the log, as far as is known */
    size_t told;  /* bytes of this round */
};

/* A subscription that a client requests. */
struct asked {
    const char *name;
    char scope[USHER_NAME_MAX + 1];
    enum usher_noun noun;
    bool has_since;
    uint64_t since, epoch; /* epoch 0: not given */
};

/* ---- the table and the list --------------------------------------------------------------- */

static struct channel **list_of(struct server *s, const char *name)
{
    struct usher_text text = { name, strlen(name) };

    return &s->channels[usher__text_hash(USHER__HASH, &text) % SERVE_CHANNELS];
}

static size_t place_of(const struct channel *ch, const struct client *c)
{
    size_t i = 0;

    while (i < ch->n && ch->of[i] != c)
        i++;
    return i;
}

/* Return the channel @name that all share, or the one of @c alone; NULL if there is none. */
static struct channel *find(struct server *s, const char *name, const struct client *c)
{
    struct channel *ch = *list_of(s, name);

    while (ch != NULL && (strcmp(ch->name, name) != 0 || (ch->alone && ch->of[0] != c)))
        ch = ch->next;
    return ch;
}

static void be_busy(struct server *s, struct channel *ch)
{
    if (ch->is_busy)
        return;
    ch->is_busy = true;
    ch->told = 0;
    ch->before = NULL;
    ch->then = s->busy;
    if (s->busy != NULL)
        s->busy->before = ch;
    s->busy = ch;
}

static void be_idle(struct server *s, struct channel *ch)
{
    if (!ch->is_busy)
        return;
    ch->is_busy = false;
    *(ch->before != NULL ? &ch->before->then : &s->busy) = ch->then;
    if (ch->then != NULL)
        ch->then->before = ch->before;
}

/* ---- the scope of a channel --------------------------------------------------------------- */

static void pause_watch(struct server *s, struct channel *ch)
{
    usher_unwatch(s->cli->engine, ch->watcher);
    ch->watcher = NULL;
}

/* Return false if there is no memory. */
static bool watch(struct server *s, struct channel *ch)
{
    ch->behind = ch->alone;
    if (ch->behind)
        be_busy(s, ch);
    return usher_watch_events(s->cli->engine, ch->noun, ch->scope,
                              USHER_WATCH_SINCE | USHER_WATCH_ALL, ch->place.version, ch,
                              &ch->watcher) == USHER_OK;
}

/* Read the version of each scope.  The oldest notice comes with it: a later `since` could be one
 * that is lost.  After a failure the store is not asked again for SILENT_MS, because other clients
 * wait: channels begin with a gap then. */
static void look(struct server *s, const struct asked *a, struct usher_result *results, size_t n)
{
    struct usher_operation ops[NAMES];

    if (usher__serve_now_ms() < s->silent_until_ms) {
        for (size_t i = 0; i < n; i++) {
            results[i].noun = a[i].noun;
            results[i].status = USHER_UNAVAILABLE;
        }
        return;
    }
    for (size_t i = 0; i < n; i++) {
        struct usher_text scope = { a[i].scope, strlen(a[i].scope) };

        usher__changes_ask(&ops[i], a[i].noun, &scope, 0, 1);
    }
    usher__run_batch(s->cli->engine, ops, results, n);
    for (size_t i = 0; i < n; i++)
        if (results[i].status == USHER_UNAVAILABLE || results[i].status == USHER_UNKNOWN)
            s->silent_until_ms = usher__serve_now_ms() + SILENT_MS;
}

static bool is_there(const struct usher_result *r)
{
    return r->status == USHER_OK || r->status == USHER_STALE || r->status == USHER_REFUSED;
}

static struct place place_in(const struct usher_result *r)
{
    struct usher__changes changes;

    usher__changes_of(r, &changes);
    return (struct place){ r->epoch, r->version, changes.mark };
}

/* ---- channels ----------------------------------------------------------------------------- */

static void add(struct server *s, struct channel *ch, struct client *c)
{
    if (ch->n == ch->room) {
        ch->room = ch->room > 0 ? 2 * ch->room : 1;
        /* an array of pointers */
        /* NOLINTNEXTLINE(bugprone-sizeof-expression) */
        ch->of = usher__cli_resize((void *)ch->of, ch->room * sizeof *ch->of);
    }
    if (c->channels == c->channels_room) {
        c->channels_room = c->channels_room > 0 ? 2 * c->channels_room : 4;
        /* NOLINTNEXTLINE(bugprone-sizeof-expression) */
        c->channel = usher__cli_resize((void *)c->channel, c->channels_room * sizeof *c->channel);
    }
    ch->of[ch->n++] = c;
    c->channel[c->channels++] = ch;
    s->figures.subscriptions++;
}

static char *copy(const char *text)
{
    size_t size = strlen(text) + 1;

    return memcpy(usher__cli_resize(NULL, size), text, size);
}

static struct channel *new_channel(struct server *s, const struct asked *a)
{
    struct channel *ch = usher__cli_resize(NULL, sizeof *ch), **list = list_of(s, a->name);

    memset(ch, 0, sizeof *ch);
    ch->name = copy(a->name);
    ch->scope = copy(a->scope);
    ch->noun = a->noun;
    ch->alone = a->has_since;
    usher__serve_tend_channel(s, ch->noun, ch->scope);
    ch->next = *list;
    *list = ch;
    s->n_channels++;
    return ch;
}

static void free_channel(struct server *s, struct channel *ch)
{
    struct channel **at = list_of(s, ch->name);

    while (*at != ch)
        at = &(*at)->next;
    *at = ch->next;
    be_idle(s, ch);
    s->n_channels--;
    if (ch->watcher != NULL)
        pause_watch(s, ch);
    usher__serve_tend_no_channel(s, ch->noun, ch->scope);
    (void)usher__cli_resize((void *)ch->of, 0);
    (void)usher__cli_resize(ch->name, 0);
    (void)usher__cli_resize(ch->scope, 0);
    (void)usher__cli_resize(ch, 0);
}

/* Unsubscribe @c from its channel @i. */
static void leave(struct server *s, struct client *c, size_t i)
{
    struct channel *ch = c->channel[i];

    c->channel[i] = c->channel[--c->channels];
    ch->of[place_of(ch, c)] = ch->of[ch->n - 1];
    ch->n--;
    s->figures.subscriptions--;
    if (ch->n == 0)
        free_channel(s, ch);
}

void usher__serve_forget(struct server *s, struct client *c)
{
    while (c->channels > 0)
        leave(s, c, c->channels - 1);
    (void)usher__cli_resize((void *)c->channel, 0);
    c->channel = NULL;
    c->channels_room = 0;
}

/* ---- names -------------------------------------------------------------------------------- */

#define NAMED "a channel is NOUN/NAME or NOUN/NAME?since=VERSION, as in number/sales?since=0"

/* since=V and epoch=E, joined by &.  NULL, or what is wrong. */
static const char *read_parameters(const char *text, struct asked *ret)
{
    bool more = *text != '\0';
    int64_t since;

    while (more) {
        size_t size = strcspn(text, "&");
        char value[32];

        if (size < 6 || size >= sizeof value || text[5] != '=')
            return NAMED;
        memcpy(value, text + 6, size - 6);
        value[size - 6] = '\0';
        if (strncmp(text, "since", 5) == 0) {
            if (!usher__parse_int(value, 0, USHER_EXACT_MAX, &since))
                return "since is not a version";
            ret->since = (uint64_t)since;
            ret->has_since = true;
        } else if (strncmp(text, "epoch", 5) == 0) {
            if (usher__epoch_fault(value, size - 6) != NULL)
                return "epoch is not 16 hexadecimal digits";
            ret->epoch = strtoull(value, NULL, 16);
        } else {
            return NAMED;
        }
        more = text[size] == '&';
        text += size + more;
    }
    return ret->epoch != 0 && !ret->has_since ? "epoch is given without since" : NULL;
}

/* NULL, or what is wrong with word @i as a channel.  Its last ? begins the parameters. */
static const char *read_name(const struct resp_command *command, size_t i, struct asked *ret)
{
    const char *word = command->word[i], *slash = strchr(word, '/'), *end;
    const struct usher__noun *noun;
    char of[16];
    size_t size;

    memset(ret, 0, sizeof *ret);
    ret->name = word;
    if (slash == NULL || (size_t)(slash - word) >= sizeof of || strlen(word) != command->size[i])
        return NAMED;
    memcpy(of, word, (size_t)(slash - word));
    of[slash - word] = '\0';
    noun = usher__noun_by_word(of);
    end = strrchr(slash, '?');
    if (noun == NULL || noun->hidden)
        return "a channel is NOUN/NAME: the noun is unknown";
    ret->noun = (enum usher_noun)noun->noun;
    size = (end != NULL ? (size_t)(end - slash) : strlen(slash)) - 1;
    if (usher__scope_fault(slash + 1, size) != NULL)
        return "a channel is NOUN/NAME: the name is invalid";
    memcpy(ret->scope, slash + 1, size);
    ret->scope[size] = '\0';
    return end != NULL ? read_parameters(end + 1, ret) : NULL;
}

/* ---- messages ----------------------------------------------------------------------------- */

static void key_or_null(struct out *to, const char *key, uint64_t number)
{
    if (number != 0)
        usher__out_print(to, ",\"%s\":%" PRIu64, key, number);
    else
        usher__out_print(to, ",\"%s\":null", key);
}

/* Return why notices between @before and @then are missing. */
static const char *reason(uint64_t before, const struct place *then)
{
    if (then->version == 0)
        return then->epoch == 0 ? "gone" : "new";
    return before >= then->version ? "lost" : "log";
}

/* Return the verb that ends scopes of @noun; NULL if there is none. */
static const char *end_of(enum usher_noun noun)
{
    const struct usher__noun *of = usher__noun((unsigned)noun);

    for (unsigned i = 0; i < of->n_verbs; i++)
        if ((of->verbs[i].flags & USHER__ENDS) != 0)
            return of->verbs[i].word;
    return NULL;
}

/* {"scope":"room/r","gap":true,"why":"log","before":7,"epoch":"…","version":9} */
static void write_gap(struct out *to, const struct channel *ch, uint64_t before,
                      const struct place *then)
{
    uint64_t epoch = then->epoch != 0 ? then->epoch : ch->place.epoch;
    const char *end = end_of(ch->noun);
    char piece[USHER__JSON_PIECE];
    size_t size;

    usher__out_print(to, "{\"scope\":\"%s/", usher_noun_word(ch->noun));
    for (size_t i = 0, left; (left = strlen(ch->scope + i)) > 0;) {
        i += usher__json_piece(ch->scope + i, left, piece, &size);
        usher__out_put(to, piece, size);
    }
    usher__out_print(to, "\",\"gap\":true,\"why\":\"%s\"", reason(before, then));
    if (then->epoch == 0 && end != NULL)
        usher__out_print(to, ",\"verb\":\"%s\"", end);
    key_or_null(to, "before", before);
    if (epoch != 0)
        usher__out_print(to, ",\"epoch\":\"%016" PRIx64 "\"", epoch);
    else
        usher__out_print(to, ",\"epoch\":null");
    key_or_null(to, "version", then->version);
    usher__out_print(to, "}");
}

static void write_notice(struct out *to, const struct usher_notice *n)
{
    size_t size = usher_notice_write(n, USHER_FORM_JSON, NULL, 0);

    (void)usher_notice_write(n, USHER_FORM_JSON, usher__out_room(to, size + 1), size + 1);
    to->end += size;
}

/* s->text, to all of @ch. */
static void push(struct server *s, struct channel *ch, uint64_t *count)
{
    for (size_t i = 0; i < ch->n; i++) {
        struct client *c = ch->of[i];
        struct out *o = &c->out;

        if (usher__out_size(o) > s->limits.out)
            usher__serve_write(c);
        c->slow = c->slow || usher__out_size(o) > s->limits.out;
        if (c->slow)
            continue;
        usher__out_push(o, c->resp3, 3);
        usher__out_word(o, "message");
        usher__out_word(o, ch->name);
        usher__out_text(o, s->text.data, s->text.end);
        ++*count;
    }
    ch->told += s->text.end;
}

static void tell_gap(struct server *s, struct channel *ch, uint64_t before,
                     const struct place *then)
{
    s->text.from = s->text.end = 0;
    write_gap(&s->text, ch, before == USHER_EXACT_MAX ? 0 : before, then);
    push(s, ch, &s->figures.gaps);
    ch->place = *then;
}

static void tell_another(struct server *s, struct channel *ch, uint64_t epoch)
{
    struct place begin = { epoch, 0, 0 };

    tell_gap(s, ch, ch->place.version, &begin);
}

/* @epoch at @version does not follow the last notice: the scope was dropped and created again. */
static bool is_another(const struct channel *ch, uint64_t epoch, uint64_t version)
{
    const struct place *p = &ch->place;

    return p->epoch != 0 && epoch != 0 &&
           !usher__changes_go_on(p->epoch, p->version, epoch, version);
}

/* Return whether @event shows another history than that of the last notice before the pause. */
static bool turns(const struct channel *ch, const struct usher_event *event)
{
    const struct usher_notice *n = event->notice;

    return is_another(ch, n->epoch, n->version) ||
           (event->kind == USHER_EVENT_NOTICE && ch->place.mark != 0 && n->was != ch->place.mark);
}

/* @share: how many bytes of its log a channel may read in this round. */
static void tell(struct server *s, const struct usher_event *event, size_t share)
{
    struct channel *ch = event->tag;
    const struct usher_notice *n = event->notice;
    struct place then = { n->epoch, n->version, n->mark };

    if (ch->alone && (usher__serve_is_stuck(s, ch->of[0]) || (ch->behind && ch->told >= share))) {
        pause_watch(s, ch); /* @event comes again */
        be_busy(s, ch);
        return;
    }
    if (ch->resumed && turns(ch, event)) { /* it is sent from its beginning */
        tell_another(s, ch, n->epoch);
        pause_watch(s, ch);
        be_busy(s, ch);
    } else if (event->kind == USHER_EVENT_GAP) {
        tell_gap(s, ch, n->before, &then);
    } else {
        s->text.from = s->text.end = 0;
        write_notice(&s->text, n);
        push(s, ch, &s->figures.notices);
        if (n->verb != USHER_NOTICE_LOST)
            ch->place = then;
    }
    ch->resumed = false;
}

/* It pauses, and its client has read most of what waited. */
static bool can_resume(const struct server *s, const struct channel *ch)
{
    return ch->watcher == NULL &&
           (!ch->alone || usher__out_size(&ch->of[0]->out) < s->limits.out / 4);
}

bool usher__serve_can_resume(const struct server *s)
{
    const struct channel *ch = s->busy;

    while (ch != NULL && !can_resume(s, ch))
        ch = ch->then;
    return ch != NULL;
}

/* Begin a round.  Returns how many bytes each channel may read of its log. */
static size_t resume_all(struct server *s)
{
    size_t n = 0;

    for (struct channel *ch = s->busy; ch != NULL; ch = ch->then) {
        ch->told = 0;
        if (can_resume(s, ch))
            ch->resumed = watch(s, ch);
        n += ch->behind && ch->watcher != NULL;
    }
    return n == 0 || SERVE_FOLLOW / n < SERVE_FOLLOW_LEAST ? SERVE_FOLLOW_LEAST : SERVE_FOLLOW / n;
}

/* There are no more events. */
static void be_current(struct server *s)
{
    struct channel *ch = s->busy, *then;

    for (; ch != NULL; ch = then) {
        then = ch->then;
        if (ch->watcher == NULL)
            continue;
        ch->behind = false;
        be_idle(s, ch);
    }
}

/* Append an event to those that are there now: the reply to a command that is never executed.
 * Returns whether it will come. */
static bool mark_end(struct server *s)
{
    struct usher_command command = { usher_next_verb(0), USHER_TO_NUL, "", NULL, 0, s };

    return usher_post(s->cli->engine, &command, 1, 0) == USHER_OK &&
           usher_cancel(s->cli->engine, s) == USHER_OK;
}

/* Notices of the commands of this round are there already.  To collect them goes on to sweep scopes
 * and to read logs, which may have no end: after SERVE_EVENTS only those are collected that are
 * there by then. */
void usher__serve_tell(struct server *s)
{
    size_t share = resume_all(s), n = 0;
    bool ends = false;

    while (usher__serve_watches(s)) {
        const struct usher_event *event = usher_collect(s->cli->engine, 0);
        bool is_reply = event != NULL && event->kind == USHER_EVENT_REPLY;
        bool last = is_reply && event->tag == s;
        struct scrape *p;

        if (event == NULL) {
            be_current(s);
            return;
        }
        ends = ends || (n++ >= SERVE_EVENTS && mark_end(s));
        if (event->tag != NULL && !is_reply &&
            (event->kind == USHER_EVENT_NOTICE || event->kind == USHER_EVENT_GAP))
            tell(s, event, share);
        p = is_reply && !last ? usher__scrape_reply(event) : NULL;
        usher_event_done(event);
        if (p != NULL)
            usher__serve_scraped(p);
        if (last)
            return;
    }
}

/* ---- commands ----------------------------------------------------------------------------- */

/* Confirm @word of the channel @name (NULL: none) to @c, which has @n channels then. */
static void confirm(struct client *c, const char *word, const char *name, size_t n)
{
    usher__out_push(&c->out, c->resp3, 3);
    usher__out_word(&c->out, word);
    if (name != NULL)
        usher__out_word(&c->out, name);
    else
        usher__out_null(&c->out, c->resp3);
    usher__out_int(&c->out, (int64_t)n);
}

/* Begin @ch, which was confirmed to its client, with @r, the answer of its scope. */
static void begin(struct server *s, struct channel *ch, const struct asked *a,
                  const struct usher_result *r)
{
    struct place now = place_in(r);

    if (a->has_since) {
        ch->place = (struct place){ a->epoch, a->since, 0 };
        if (is_there(r) && is_another(ch, now.epoch, now.version))
            tell_another(s, ch, now.epoch);
        ch->resumed = ch->place.epoch != 0;
    } else if (is_there(r)) {
        ch->place = now;
    } else if (r->status != USHER_MISSING) { /* a gap, when it can be read */
        ch->place.version = USHER_EXACT_MAX;
    }
    if (!watch(s, ch))
        be_busy(s, ch);
}

static void subscribe(struct server *s, struct client *c, const struct asked *a,
                      const struct usher_result *r)
{
    struct channel *ch = find(s, a->name, c);
    bool is_new = ch == NULL;

    if (is_new)
        ch = new_channel(s, a);
    if (place_of(ch, c) == ch->n)
        add(s, ch, c);
    confirm(c, "subscribe", a->name, c->channels);
    if (is_new)
        begin(s, ch, a, r);
}

/* Subscribe to the names from word @i on.  Returns the next word. */
static size_t subscribe_some(struct server *s, struct client *c, const struct resp_command *command,
                             size_t i)
{
    struct asked asked[NAMES];
    struct usher_result results[NAMES];
    bool known = true;
    size_t n = 0;

    for (; i < command->n && n < NAMES; i++, n++) {
        (void)read_name(command, i, &asked[n]);
        known = known && find(s, asked[n].name, c) != NULL;
    }
    memset(results, 0, n * sizeof *results);
    if (!known)
        look(s, asked, results, n);
    for (size_t j = 0; j < n; j++)
        subscribe(s, c, &asked[j], &results[j]);
    for (size_t j = 0; j < n; j++)
        usher_result_done(&results[j]);
    return i;
}

static void too_many(const struct server *s, struct client *c)
{
    char message[160];

    (void)snprintf(message, sizeof message,
                   "this client has %zu channels (limit %zu): UNSUBSCRIBE some, use another "
                   "connection, or start the server with --channels=N",
                   c->channels, s->limits.channels);
    usher__out_error(&c->out, "FULL", message);
}

void usher__serve_subscribe(struct server *s, struct client *c, const struct resp_command *command)
{
    const char *fault = command->n < 2 ? "a channel is missing: NOUN/NAME" : NULL;
    struct asked a;
    size_t n = 0, i;

    for (i = 1; fault == NULL && i < command->n; i++) {
        const struct channel *ch;

        fault = read_name(command, i, &a);
        ch = fault == NULL ? find(s, a.name, c) : NULL;
        n += ch == NULL || place_of(ch, c) == ch->n;
    }
    if (fault != NULL)
        usher__out_error(&c->out, "INVALID", fault);
    else if (c->channels + n > s->limits.channels)
        too_many(s, c);
    for (i = fault == NULL && c->channels + n <= s->limits.channels ? 1 : command->n;
         i < command->n;)
        i = subscribe_some(s, c, command, i);
}

static void unsubscribe(struct server *s, struct client *c, const char *name)
{
    const struct channel *ch = find(s, name, c);
    size_t i = 0;

    while (i < c->channels && c->channel[i] != ch)
        i++;
    if (ch != NULL && i < c->channels)
        leave(s, c, i);
    confirm(c, "unsubscribe", name, c->channels);
}

void usher__serve_unsubscribe(struct server *s, struct client *c,
                              const struct resp_command *command)
{
    if (command->n == 1 && c->channels == 0)
        confirm(c, "unsubscribe", NULL, 0);
    while (command->n == 1 && c->channels > 0) {
        confirm(c, "unsubscribe", c->channel[0]->name, c->channels - 1);
        leave(s, c, 0);
    }
    for (size_t i = 1; i < command->n; i++)
        unsubscribe(s, c, command->word[i]);
}
