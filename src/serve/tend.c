/* SPDX-License-Identifier: MIT */
/*
 * Scopes that change in time though no client sends a command: a lease ends, a wrap-up is over and
 * the next user is seated, a room without members closes.
 *
 * The library sweeps a scope with a watcher (USHER_WATCH_TEND) when something of it is due.  The
 * server keeps one watcher for each scope of a channel, and one for each scope whose last answer
 * had a time at which something is due; a scope where nothing is due needs none, because the answer
 * to the command that changes this has the time.  At most `tended` scopes without a channel have a
 * watcher, about 2 KiB each: the scope whose last such answer is the oldest is forgotten, until a
 * command or SUBSCRIBE names it again.
 *
 * A table by name, and a list by age of the scopes that may be forgotten.
 */
#include "config.h"

#include "serve/serve.h"

#include <string.h>

#include <usher/command.h>

struct tended {
    struct tended *next;          /* in its place of the table */
    struct tended *older, *newer; /* in the list, if it has no channels */
    struct usher_watcher *watcher;
    enum usher_noun noun;
    size_t channels; /* of this scope */
    size_t size;
    char scope[];
};

/* FNV-1a. */
static struct tended **place_of(struct tendeds *t, enum usher_noun noun,
                                const struct usher_text *scope)
{
    uint64_t hash = 14695981039346656037u ^ (uint64_t)noun;

    for (size_t i = 0; i < scope->size; i++)
        hash = (hash ^ (unsigned char)scope->data[i]) * 1099511628211u;
    return &t->places[hash % t->n_places];
}

static struct tended *find(struct tendeds *t, enum usher_noun noun, const struct usher_text *scope)
{
    struct tended *one = *place_of(t, noun, scope);

    while (one != NULL && (one->noun != noun || one->size != scope->size ||
                           memcmp(one->scope, scope->data, scope->size) != 0))
        one = one->next;
    return one;
}

static void list_append(struct tendeds *t, struct tended *one)
{
    one->older = t->newest;
    one->newer = NULL;
    *(t->newest != NULL ? &t->newest->newer : &t->oldest) = one;
    t->newest = one;
    t->n_listed++;
}

static void list_without(struct tendeds *t, struct tended *one)
{
    *(one->older != NULL ? &one->older->newer : &t->oldest) = one->newer;
    *(one->newer != NULL ? &one->newer->older : &t->newest) = one->older;
    t->n_listed--;
}

/* @one is not in the list. */
static void forget(struct server *s, struct tended *one)
{
    struct usher_text scope = { one->scope, one->size };
    struct tended **at = place_of(&s->tendeds, one->noun, &scope);

    while (*at != one)
        at = &(*at)->next;
    *at = one->next;
    usher_unwatch(s->cli->engine, one->watcher);
    s->figures.tended--;
    (void)usher__cli_resize(one, 0);
}

static void forget_oldest(struct server *s, size_t most)
{
    struct tendeds *t = &s->tendeds;

    while (t->n_listed > most) {
        struct tended *one = t->oldest;

        list_without(t, one);
        forget(s, one);
    }
}

/* NULL: nothing of such a scope is ever due, or times are given; or there is no memory. */
static struct tended *tend(struct server *s, enum usher_noun noun, const struct usher_text *scope)
{
    struct tendeds *t = &s->tendeds;
    struct tended *one = usher__cli_resize(NULL, sizeof *one + scope->size + 1), **at;

    memset(one, 0, sizeof *one);
    one->noun = noun;
    one->size = scope->size;
    memcpy(one->scope, scope->data, scope->size);
    one->scope[one->size] = '\0';
    /* tag NULL: its notices are of no channel */
    if (usher_watch_events(s->cli->engine, noun, one->scope, USHER_WATCH_TEND, 0, NULL,
                           &one->watcher) != USHER_OK) {
        (void)usher__cli_resize(one, 0);
        return NULL;
    }
    if (t->places == NULL) {
        t->n_places = s->limits.tended > 1024 ? s->limits.tended : 1024;
        /* an array of pointers */
        /* NOLINTNEXTLINE(bugprone-sizeof-expression) */
        t->places = usher__cli_resize(NULL, t->n_places * sizeof *t->places);
        /* NOLINTNEXTLINE(bugprone-sizeof-expression) */
        memset((void *)t->places, 0, t->n_places * sizeof *t->places);
    }
    at = place_of(t, noun, scope);
    one->next = *at;
    *at = one;
    s->figures.tended++;
    return one;
}

static struct tended *find_any(struct server *s, enum usher_noun noun,
                               const struct usher_text *scope)
{
    return s->tendeds.places != NULL ? find(&s->tendeds, noun, scope) : NULL;
}

void usher__serve_tend(struct server *s, const struct usher_operation *op,
                       const struct usher_result *result)
{
    struct tendeds *t = &s->tendeds;
    enum usher_noun noun = (enum usher_noun)((unsigned)op->verb >> 8);
    struct tended *one;

    /* after UNKNOWN the change may have been made, and be due */
    if (result->status != USHER_UNKNOWN &&
        (result->status >= USHER_INVALID || result->due_ms == USHER_NEVER))
        return;
    if (s->limits.tended == 0)
        return;
    one = find_any(s, noun, &op->scope);
    if (one != NULL && one->channels > 0)
        return;
    if (one != NULL) {
        list_without(t, one);
    } else {
        forget_oldest(s, s->limits.tended - 1);
        one = tend(s, noun, &op->scope);
        if (one == NULL)
            return;
    }
    list_append(t, one);
}

void usher__serve_tend_channel(struct server *s, enum usher_noun noun, const char *name)
{
    struct usher_text scope = { name, strlen(name) };
    struct tended *one = find_any(s, noun, &scope);

    if (one == NULL)
        one = tend(s, noun, &scope);
    else if (one->channels == 0)
        list_without(&s->tendeds, one);
    if (one != NULL)
        one->channels++;
}

void usher__serve_tend_no_channel(struct server *s, enum usher_noun noun, const char *name)
{
    struct usher_text scope = { name, strlen(name) };
    struct tended *one = find_any(s, noun, &scope);

    if (one == NULL || --one->channels > 0)
        return;
    list_append(&s->tendeds, one);
    forget_oldest(s, s->limits.tended);
}

void usher__serve_tend_done(struct server *s)
{
    struct tendeds *t = &s->tendeds;

    forget_oldest(s, 0);
    (void)usher__cli_resize((void *)t->places, 0);
    memset(t, 0, sizeof *t);
}
