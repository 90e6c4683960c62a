/* SPDX-License-Identifier: MIT */
/*
 * The mode of a scope is among its settings, so each scope of a noun with modes is read: its list
 * page by page, then the settings of a page in batches.
 */
#include "config.h"

#include "cli/modes.h"

#include <string.h>

#include <usher/command.h>

#include "cli/progress.h"
#include "core/verbs.h"

#define EACH_MS 2000 /* timeout of a page, and of a batch */
#define ALL_MS 5000  /* after that no further page is read */
#define BATCH 200

struct reading {
    struct usher_engine *e;
    usher__mode_fn *fn;
    void *payload;
    bool complete;
    size_t left;      /* scopes that may be read */
    int64_t until_us; /* of usher__clock_us() */
};

/* Return the verb of @noun with settings, or 0 if it has no modes. */
static uint32_t verb_of(const struct usher__noun *noun)
{
    if (noun->hidden || noun->n_arg_at <= USHER_FIELD_SCOPE_MODE ||
        noun->arg_at[USHER_FIELD_SCOPE_MODE] == 0)
        return 0;
    return usher_verb_of(noun->word, "set");
}

static void show(const struct reading *r, const struct usher_reply *reply, const char *scope,
                 size_t size)
{
    struct mode_of m = { .scope = { scope, size } };

    if (usher_reply_int(reply, USHER_ANSWER, USHER_FIELD_SCOPE_MODE) == USHER_SCOPE_MODE_OPEN)
        return;
    m.mode = usher_reply_word(reply, USHER_ANSWER, USHER_FIELD_SCOPE_MODE);
    if (m.mode == NULL)
        return;
    if (reply->n_rows > 0)
        m.reason.data = usher_reply_text(reply, 0, USHER_FIELD_REASON, &m.reason.size);
    r->fn(r->payload, &m);
}

/* Read @n scopes from row @from of @page. */
static void batch(struct reading *r, uint32_t verb, const struct usher_reply *page, size_t from,
                  size_t n)
{
    struct usher_command commands[BATCH];
    struct usher_reply *replies[BATCH];

    for (size_t i = 0; i < n; i++) {
        size_t size = 0;
        const char *scope = usher_reply_text(page, from + i, USHER_FIELD_SCOPE, &size);
        const char *name = scope != NULL ? strchr(scope, '/') : NULL;

        name = name != NULL ? name + 1 : "";
        commands[i] = (struct usher_command){ .verb = verb,
                                              .scope = name,
                                              .scope_size = (int32_t)strlen(name) };
    }
    replies[0] = NULL;
    (void)usher_execute(r->e, commands, n, EACH_MS, replies);
    if (replies[0] == NULL) {
        r->complete = false;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        size_t size = 0;
        const char *scope = usher_reply_text(page, from + i, USHER_FIELD_SCOPE, &size);

        if (USHER_IS_DONE(replies[i]->status))
            show(r, replies[i], scope, size);
        else if (replies[i]->status != USHER_MISSING)
            r->complete = false;
        usher_reply_done(replies[i]);
    }
}

static void read_page(struct reading *r, uint32_t verb, const struct usher_reply *page)
{
    size_t n = page->n_rows < r->left ? page->n_rows : r->left;

    r->complete = r->complete && n == page->n_rows;
    r->left -= n;
    for (size_t from = 0; from < n; from += BATCH) {
        if (usher__clock_us() >= r->until_us) {
            r->complete = false;
            return;
        }
        batch(r, verb, page, from, n - from < BATCH ? n - from : BATCH);
    }
}

static void read_noun(struct reading *r, unsigned noun, uint32_t verb)
{
    static const char scopes[] = "scopes";
    struct usher_value values[3] = { USHER_N(USHER_FIELD_MAX, 1000),
                                     USHER_N(USHER_FIELD_NOUN, noun) };
    struct usher_command command = { usher_verb_of(NULL, scopes), 0, "", values, 2, NULL };
    struct usher_reply *page = NULL, *before = NULL;
    bool more = true;

    r->left = MODES_SCOPES_MAX;
    while (more) {
        const char *after = NULL;
        size_t size = 0;

        (void)usher_execute(r->e, &command, 1, EACH_MS, &page);
        usher_reply_done(before);
        before = page;
        if (page == NULL || !USHER_IS_DONE(page->status))
            r->complete = false;
        if (page != NULL) {
            read_page(r, verb, page);
            after = usher_reply_text(page, USHER_ANSWER, USHER_FIELD_AFTER, &size);
        }
        more = after != NULL && r->left > 0 && usher__clock_us() < r->until_us;
        r->complete = r->complete && (after == NULL || more);
        if (more) { /* the text is that of the page */
            values[2] = (struct usher_value){ USHER_FIELD_AFTER, (int32_t)size, 0, after };
            command.n = 3;
        }
    }
    usher_reply_done(before);
}

bool usher__modes(struct usher_engine *e, usher__mode_fn *fn, void *payload)
{
    struct reading r = { .e = e, .fn = fn, .payload = payload, .complete = true };

    r.until_us = usher__clock_us() + ALL_MS * INT64_C(1000);
    for (unsigned noun = 1; noun < USHER__NOUNS; noun++) {
        const struct usher__noun *of = usher__noun(noun);
        uint32_t verb = of != NULL ? verb_of(of) : 0;

        if (verb != 0 && usher__clock_us() < r.until_us)
            read_noun(&r, noun, verb);
        else
            r.complete = r.complete && verb == 0;
    }
    return r.complete;
}
