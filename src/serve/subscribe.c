/* SPDX-License-Identifier: MIT */
/*
 * SUBSCRIBE: notices as messages.
 *
 * A channel is a scope (number/sales) with subscribed clients and one watcher; a notice is written
 * once for all of them.  With since=V after a scope that keeps a log it is a channel of this client
 * alone: it begins after that version and has the changes of other processes, too.
 *
 * Such a channel pauses, without a watcher, while half of `--out` waits for its client, and when it
 * has used its share of the round.  It continues in the log after the last version that it sent.
 * So a client that reads gets a log of any length, and other clients are served in between.
 */
#include "config.h"

#include "serve/serve.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <usher/command.h>

#include "core/changes.h"
#include "core/text.h"
#include "parse/parse.h"

/* The last notice that was sent.  0: not known. */
struct place {
    uint64_t epoch, version, mark;
};

struct channel {
    struct channel *next;
    struct usher_watcher *watcher; /* NULL: it pauses */
    char *name;
    enum usher_noun noun;
    bool since; /* it was said: of one client alone */
    size_t n, room;
    struct client **of;
    /* with `since` */
    struct place place;
    bool resumed; /* nothing was sent since it paused */
    bool behind;  /* it reads the log, as far as is known */
    size_t told;  /* bytes of this round */
};

/* A subscription that a client requests. */
struct asked {
    const char *name, *scope;
    enum usher_noun noun;
    bool has_since;
    uint64_t since;
};

/* ---- channels ----------------------------------------------------------------------------- */

static size_t place_of(const struct channel *ch, const struct client *c)
{
    size_t i = 0;

    while (i < ch->n && ch->of[i] != c)
        i++;
    return i;
}

static bool hears(const struct channel *ch, const struct client *c)
{
    return place_of(ch, c) < ch->n;
}

static void add(struct server *s, struct channel *ch, struct client *c)
{
    if (ch->n == ch->room) {
        ch->room = ch->room > 0 ? 2 * ch->room : 1;
        /* an array of pointers */
        /* NOLINTNEXTLINE(bugprone-sizeof-expression) */
        ch->of = usher__cli_resize((void *)ch->of, ch->room * sizeof *ch->of);
    }
    ch->of[ch->n++] = c;
    c->channels++;
    s->figures.subscriptions++;
}

static void pause_watch(struct server *s, struct channel *ch)
{
    usher_unwatch(s->cli->engine, ch->watcher);
    ch->watcher = NULL;
}

/* Unsubscribes @c from the channel at *@at, and frees it without subscribers.  Returns the next
 * place.
 */
static struct channel **leave(struct server *s, struct channel **at, struct client *c)
{
    struct channel *ch = *at;
    size_t i = place_of(ch, c);

    if (i == ch->n)
        return &ch->next;
    ch->of[i] = ch->of[--ch->n];
    c->channels--;
    s->figures.subscriptions--;
    if (ch->n > 0)
        return &ch->next;
    *at = ch->next;
    s->n_channels--;
    if (ch->watcher != NULL)
        pause_watch(s, ch);
    usher__serve_tend_no_channel(s, ch->noun, strchr(ch->name, '/') + 1);
    (void)usher__cli_resize((void *)ch->of, 0);
    (void)usher__cli_resize(ch->name, 0);
    (void)usher__cli_resize(ch, 0);
    return at;
}

static struct channel *find(const struct server *s, const char *name)
{
    struct channel *ch = s->channels;

    while (ch != NULL && (ch->since || strcmp(ch->name, name) != 0))
        ch = ch->next;
    return ch;
}

/* False: as usher_message() says. */
static bool watch(struct server *s, struct channel *ch)
{
    unsigned flags = ch->since ? USHER_WATCH_SINCE | USHER_WATCH_ALL : 0;

    ch->behind = ch->since;
    return usher_watch_events(s->cli->engine, ch->noun, strchr(ch->name, '/') + 1, flags,
                              ch->place.version, ch, &ch->watcher) == USHER_OK;
}

/* NULL: there is none, as usher_message() says. */
static struct channel *new_channel(struct server *s, const struct asked *a)
{
    struct channel *ch = usher__cli_resize(NULL, sizeof *ch);
    size_t size = strlen(a->name) + 1;

    memset(ch, 0, sizeof *ch);
    ch->name = memcpy(usher__cli_resize(NULL, size), a->name, size);
    ch->noun = a->noun;
    ch->since = a->has_since;
    ch->place.version = a->since;
    if (!watch(s, ch)) {
        (void)usher__cli_resize(ch->name, 0);
        (void)usher__cli_resize(ch, 0);
        return NULL;
    }
    usher__serve_tend_channel(s, a->noun, a->scope);
    ch->next = s->channels;
    s->channels = ch;
    s->n_channels++;
    return ch;
}

/* ---- words -------------------------------------------------------------------------------- */

/* NULL, or what is wrong with word @i as a channel. */
static const char *read_channel(const struct resp_command *command, size_t i, struct asked *ret)
{
    const char *word = command->word[i], *slash = strchr(word, '/');
    const struct usher__noun *noun;
    char of[16];
    int64_t since = 0;

    memset(ret, 0, sizeof *ret);
    if (slash == NULL || (size_t)(slash - word) >= sizeof of || strlen(word) != command->size[i])
        return "a channel is NOUN/NAME, as in number/sales";
    memcpy(of, word, (size_t)(slash - word));
    of[slash - word] = '\0';
    noun = usher__noun_by_word(of);
    if (noun == NULL || noun->hidden)
        return "a channel is NOUN/NAME: the noun is unknown";
    if (usher__scope_fault(slash + 1, strlen(slash + 1)) != NULL)
        return "a channel is NOUN/NAME: the name is invalid";
    ret->name = word;
    ret->scope = slash + 1;
    ret->noun = (enum usher_noun)noun->noun;
    ret->has_since = i + 1 < command->n && usher__key_value(command->word[i + 1], "since") != NULL;
    if (ret->has_since && !usher__parse_int(command->word[i + 1] + 6, 0, USHER_EXACT_MAX, &since))
        return "since is not a version";
    ret->since = (uint64_t)since;
    return NULL;
}

/* ---- commands ----------------------------------------------------------------------------- */

static void told(struct client *c, const char *word, const char *name)
{
    usher__out_push(&c->out, c->resp3, 3);
    usher__out_word(&c->out, word);
    if (name != NULL)
        usher__out_word(&c->out, name);
    else
        usher__out_null(&c->out, c->resp3);
    usher__out_int(&c->out, (int64_t)c->channels);
}

/* False: it got an error. */
static bool subscribe(struct server *s, struct client *c, const struct asked *a)
{
    struct channel *ch = a->has_since ? NULL : find(s, a->name);

    if (c->channels >= s->limits.channels) {
        usher__out_error(&c->out, "FULL", "this client has too many channels (limit --channels=)");
        return false;
    }
    if (ch == NULL)
        ch = new_channel(s, a);
    if (ch == NULL) {
        usher__out_error(&c->out, "INVALID", usher_message());
        return false;
    }
    if (!hears(ch, c))
        add(s, ch, c);
    told(c, "subscribe", a->name);
    return true;
}

void usher__serve_subscribe(struct server *s, struct client *c, const struct resp_command *command)
{
    struct asked a;
    const char *fault = command->n < 2 ? "a channel is missing: NOUN/NAME" : NULL;

    for (size_t i = 1; fault == NULL && i < command->n; i += a.has_since ? 2 : 1)
        fault = read_channel(command, i, &a);
    if (fault != NULL) {
        usher__out_error(&c->out, "INVALID", fault);
        return;
    }
    for (size_t i = 1; i < command->n; i += a.has_since ? 2 : 1) {
        if (read_channel(command, i, &a) != NULL || !subscribe(s, c, &a))
            return;
    }
}

/* Those called @name; NULL: all. */
static void unsubscribe(struct server *s, struct client *c, const char *name)
{
    struct channel **at = &s->channels;
    size_t n = 0;

    while (*at != NULL) {
        struct channel *ch = *at;

        if ((name != NULL && strcmp(ch->name, name) != 0) || !hears(ch, c)) {
            at = &ch->next;
            continue;
        }
        n++;
        if (name != NULL) {
            at = leave(s, at, c);
            continue;
        }
        /* the answer has the name, and the number of those that are left */
        c->channels--;
        told(c, "unsubscribe", ch->name);
        c->channels++;
        at = leave(s, at, c);
    }
    if (name != NULL || n == 0)
        told(c, "unsubscribe", name);
}

void usher__serve_unsubscribe(struct server *s, struct client *c,
                              const struct resp_command *command)
{
    if (command->n == 1)
        unsubscribe(s, c, NULL);
    for (size_t i = 1; i < command->n; i++)
        unsubscribe(s, c, command->word[i]);
}

void usher__serve_forget(struct server *s, struct client *c)
{
    struct channel **at = &s->channels;

    while (c->channels > 0 && *at != NULL)
        at = leave(s, at, c);
}

/* ---- messages ----------------------------------------------------------------------------- */

static void key_or_null(struct out *to, const char *key, uint64_t number)
{
    if (number != 0)
        usher__out_print(to, ",\"%s\":%" PRIu64, key, number);
    else
        usher__out_print(to, ",\"%s\":null", key);
}

/* {"scope":"room/r","gap":true,"before":7,"epoch":"…","version":9} */
static void write_gap(struct out *to, const struct channel *ch, uint64_t before,
                      const struct place *then)
{
    char piece[USHER__JSON_PIECE];
    size_t size;

    usher__out_print(to, "{\"scope\":\"");
    for (size_t i = 0, left; (left = strlen(ch->name + i)) > 0;) {
        i += usher__json_piece(ch->name + i, left, piece, &size);
        usher__out_put(to, piece, size);
    }
    usher__out_print(to, "\",\"gap\":true");
    key_or_null(to, "before", before);
    usher__out_print(to, ",\"epoch\":\"%016" PRIx64 "\"", then->epoch);
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
    write_gap(&s->text, ch, before, then);
    push(s, ch, &s->figures.gaps);
    ch->place = *then;
}

/* @n does not follow the last notice before the pause: the scope was dropped and created again. */
static bool is_another(const struct channel *ch, const struct usher_notice *n)
{
    const struct place *p = &ch->place;

    return p->epoch != 0 && (!usher__changes_go_on(p->epoch, p->version, n->epoch, n->version) ||
                             (p->mark != 0 && n->was != p->mark));
}

/* @share: how many bytes of its log a channel may read in this round. */
static void tell(struct server *s, const struct usher_event *event, size_t share)
{
    struct channel *ch = event->tag;
    const struct usher_notice *n = event->notice;
    struct place then = { n->epoch, n->version, n->mark };

    if (ch->since && (usher__serve_is_stuck(s, ch->of[0]) || (ch->behind && ch->told >= share))) {
        pause_watch(s, ch); /* @event comes again */
        return;
    }
    if (event->kind == USHER_EVENT_GAP) {
        tell_gap(s, ch, n->before, &then);
    } else if (ch->resumed && is_another(ch, n)) { /* it is sent from its beginning */
        then.version = then.mark = 0;
        tell_gap(s, ch, ch->place.version, &then);
        pause_watch(s, ch);
    } else {
        s->text.from = s->text.end = 0;
        write_notice(&s->text, n);
        push(s, ch, &s->figures.notices);
        ch->place = then;
    }
    ch->resumed = false;
}

/* It pauses, and its client has read most of what waited. */
static bool can_resume(const struct server *s, const struct channel *ch)
{
    return ch->watcher == NULL && usher__out_size(&ch->of[0]->out) < s->limits.out / 4;
}

bool usher__serve_can_resume(const struct server *s)
{
    const struct channel *ch = s->channels;

    while (ch != NULL && !can_resume(s, ch))
        ch = ch->next;
    return ch != NULL;
}

/* Begin a round.  Returns how many bytes each channel may read of its log. */
static size_t resume_all(struct server *s)
{
    size_t n = 0;

    for (struct channel *ch = s->channels; ch != NULL; ch = ch->next) {
        ch->told = 0;
        if (can_resume(s, ch))
            ch->resumed = watch(s, ch);
        n += ch->behind && ch->watcher != NULL;
    }
    return n == 0 || SERVE_FOLLOW / n < SERVE_FOLLOW_LEAST ? SERVE_FOLLOW_LEAST : SERVE_FOLLOW / n;
}

static void be_current(struct server *s)
{
    for (struct channel *ch = s->channels; ch != NULL; ch = ch->next)
        ch->behind = ch->behind && ch->watcher == NULL;
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
        ends = ends || (n++ == SERVE_EVENTS && mark_end(s));
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
