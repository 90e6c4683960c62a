/* SPDX-License-Identifier: MIT */
/*
 * Verbs of the store as a whole (core/store_verbs.def): lists, patrols, the journal, digests.  Each
 * is executed alone, by the calls that a program in C has for it, whose commands are operations of
 * their own.
 */
#include "config.h"

#include "engine/scopes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <usher/store/authority.h>
#include <usher/store/operation.h>

#include "core/text.h"
#include "core/verbs.h"
#include "engine/check.h"
#include "engine/engine.h"
#include "nouns/room/room_directory.h"
#include "change/hooks.h"
#include "change/result.h"

/* ---- arguments ------------------------------------------------------------------------------ */

static const char *fault(const struct usher_operation *command, const char **ret_word)
{
    const struct usher_store_args *a = &command->arg.store;
    const struct usher_text *scope = a->rule.data != NULL ? &a->rule : &a->name;

    if (scope->data != NULL) {
        *ret_word = a->rule.data != NULL ? "rule" : "scope";
        return usher__scope_fault(scope->data, scope->size);
    }
    if (a->after.data == NULL)
        return NULL;
    *ret_word = "after";
    if (command->verb != USHER_STORE_SCOPES)
        return usher__scope_fault(a->after.data, a->after.size);
    /* the store reads it: it is a cursor of its own */
    if (memchr(a->after.data, '\0', a->after.size) != NULL)
        return "has a NUL byte";
    return a->after.size == 0                 ? "is empty"
           : a->after.size > USHER_CURSOR_MAX ? "is too long"
                                              : NULL;
}

/* A text that is given, with a NUL; NULL: it is not.  It has been checked. */
static const char *with_nul(char *to, size_t size, const struct usher_text *text)
{
    if (text->data == NULL)
        return NULL;
    (void)snprintf(to, size, "%.*s", (int)text->size, text->data);
    return to;
}

static int64_t given(const struct usher_operation *command, uint64_t bit, int64_t number)
{
    return (command->given & bit) != 0 ? number : 0;
}

/* ---- rows that a function is called with --------------------------------------------------- */

struct listing {
    struct usher_result *reply;
    size_t max; /* rows; 0: any number */
    enum usher_status status;
};

static void add(struct listing *l, const struct usher_store_result_row *row)
{
    if (l->status == USHER_OK && l->max > 0 && l->reply->of.store.n_rows == l->max)
        l->reply->of.store.more = true;
    else if (l->status == USHER_OK)
        l->status = usher_result_add_row(l->reply, USHER_STORE, row);
}

/* The listing has ended with @status; usher_message() has the reason. */
static void end(struct listing *l, enum usher_status status)
{
    char line[192];

    if (l->status != USHER_OK)
        usher_result_fail(l->reply, l->status, "out of memory");
    else if (status == USHER_UNAVAILABLE &&
             (l->reply->of.store.n_rows > 0 || l->reply->of.store.more)) {
        l->reply->status = status;
        l->reply->of.store.partial = true;
        (void)snprintf(l->reply->message, sizeof l->reply->message, "%s", usher_message());
    } else if (status != USHER_OK) {
        (void)snprintf(line, sizeof line, "%s", usher_message());
        usher_result_fail(l->reply, status, line);
    }
}

/* ---- scopes --------------------------------------------------------------------------------- */

static void add_scope(void *payload, const struct usher_scope_info *info)
{
    struct listing *l = payload;
    char place[USHER_CURSOR_MAX + 1];
    struct usher_store_result_row row = { .name.data = place };

    (void)snprintf(place, sizeof place, "%s/%.*s", usher_noun_word(info->noun),
                   (int)info->name.size, info->name.data);
    row.name.size = strlen(place);
    row.epoch = info->epoch;
    row.version = info->version;
    row.due_ms = info->due_ms;
    row.items = info->items;
    add(l, &row);
}

static void scopes(struct usher_engine *e, const struct usher_operation *c, struct usher_result *r)
{
    const struct usher_store_args *a = &c->arg.store;
    struct listing l = { .reply = r };
    struct usher_store_result *to = &r->of.store;
    char after[sizeof to->after], next[sizeof to->after] = "";
    enum usher_status status;
    const struct usher_list_options opt = {
        .size = sizeof opt,
        .noun = (enum usher_noun)given(c, USHER_GIVEN_STORE_NOUN, a->noun),
        .after = with_nul(after, sizeof after, &a->after),
        .max = given(c, USHER_GIVEN_STORE_MAX, a->max),
    };

    status = usher_scopes(e, &opt, add_scope, &l, next);
    to->more = next[0] != '\0';
    to->after_size = strlen(next);
    memcpy(to->after, next, sizeof next);
    end(&l, status);
}

/* ---- rooms ---------------------------------------------------------------------------------- */

static void rooms(struct usher_engine *e, const struct usher_operation *c, struct usher_result *r)
{
    const struct usher_store_args *a = &c->arg.store;
    int64_t now_ms = (c->given & USHER_GIVEN_NOW) != 0 ? c->now_ms : -1;
    struct listing l = { .reply = r };
    struct usher_store_result *to = &r->of.store;
    struct usher_result of;
    char name[USHER_NAME_MAX + 1];

    if (c->verb == USHER_STORE_ROOM_LIST)
        (void)usher__room_list(e, with_nul(name, sizeof name, &a->after),
                               given(c, USHER_GIVEN_STORE_CREATED, a->created_ms),
                               (size_t)given(c, USHER_GIVEN_STORE_MAX, a->max), now_ms, &of);
    else
        (void)usher__room_patrol(e, with_nul(name, sizeof name, &a->worker),
                                 (size_t)given(c, USHER_GIVEN_STORE_BATCH, a->batch),
                                 given(c, USHER_GIVEN_STORE_EVERY, a->every_ms),
                                 given(c, USHER_GIVEN_STORE_LEASE, a->lease_ms), now_ms, &of);
    for (size_t i = 0; i < of.of.room.n_rows; i++) {
        const struct usher_room_result_row *row = &of.of.room.rows[i];

        add(&l, &(struct usher_store_result_row){ .name = row->id, .since_ms = row->since_ms });
    }
    to->partial = of.of.room.partial;
    to->more = of.of.room.more;
    if (to->more) {
        to->created_ms = of.of.room.created_ms;
        to->after_size = of.of.room.name_size;
        memcpy(to->after, of.of.room.name, sizeof of.of.room.name);
    }
    r->status = of.status;
    memcpy(r->message, of.message, sizeof r->message);
    usher_result_done(&of);
    if (l.status != USHER_OK)
        end(&l, l.status);
}

/* ---- rules and the journal ------------------------------------------------------------------ */

struct rules {
    struct listing *listing;
    size_t size; /* of the name of the current scope */
    char name[USHER_NAME_MAX];
};

/* A rule that was deleted has no record of kind 1.  A damaged one is listed, too: a read of it has
 * the error. */
static enum usher_status add_rule(void *payload, const struct usher_item *item)
{
    struct rules *r = payload;

    if (item->scope != NULL && (item->kind == USHER_ITEM_SCOPE || item->kind == USHER_ITEM_FAULT)) {
        r->size = item->scope->name.size;
        memcpy(r->name, item->scope->name.data, r->size);
    }
    if ((item->kind == USHER_ITEM_RECORD && item->record->kind == 1) ||
        (item->kind == USHER_ITEM_FAULT && item->scope != NULL))
        add(r->listing, &(struct usher_store_result_row){ .name = { r->name, r->size } });
    return USHER_OK;
}

static enum usher_status rules(struct usher_engine *e, struct listing *l)
{
    struct rules r = { .listing = l };
    char why[192] = "";
    enum usher_status status = e->store->ops->scan(
        e->store, USHER_SERIAL, NULL, usher__monotonic_ms() + e->timeout_ms, add_rule, &r, why);

    if (status != USHER_OK)
        usher__message_set("serial list: %s: %s", e->store->ops->name,
                           why[0] != '\0' ? why : usher_status_text(status));
    return status;
}

static int by_name(const void *a, const void *b)
{
    const struct usher_text *x = &((const struct usher_store_result_row *)a)->name;
    const struct usher_text *y = &((const struct usher_store_result_row *)b)->name;
    int order = memcmp(x->data, y->data, x->size < y->size ? x->size : y->size);

    return order != 0 ? order : (x->size > y->size) - (x->size < y->size);
}

static void add_event(void *payload, const struct usher_authority_event *event)
{
    const struct usher_store_result_row row = {
        .epoch = event->epoch,
        .version = event->version,
        .row = event->row,
        .time_ms = event->now_ms,
        .verb = (int)event->verb,
        .first = event->first,
        .n = event->n,
        .period = event->period,
        .serial = event->text,
        .owner = event->owner,
        .twice = event->twice,
    };
    struct listing *l = payload;

    add(l, &row);
    if (!l->reply->of.store.more)
        l->reply->of.store.next = event->row;
}

static void serials(struct usher_engine *e, const struct usher_operation *c, struct usher_result *r)
{
    const struct usher_store_args *a = &c->arg.store;
    struct usher_list_options opt = USHER_LIST_OPTIONS_INIT;
    struct listing l = { .reply = r };
    char rule[USHER_NAME_MAX + 1];
    enum usher_status status;

    if (c->verb == USHER_STORE_SERIAL_LIST) {
        status = rules(e, &l);
        if (r->of.store.n_rows > 1) /* every store walks its scopes in another order */
            qsort((struct usher_store_result_row *)(uintptr_t)r->of.store.rows, r->of.store.n_rows,
                  sizeof *r->of.store.rows, by_name);
    } else {
        r->of.store.next = (uint64_t)given(c, USHER_GIVEN_STORE_SINCE, a->since);
        l.max = (size_t)given(c, USHER_GIVEN_STORE_MAX, a->max);
        l.max = l.max != 0 ? l.max : USHER_LIST_DEFAULT;
        opt.row = r->of.store.next;
        opt.max = (int64_t)l.max + 1;
        status =
            usher_serial_journal(e, with_nul(rule, sizeof rule, &a->rule), &opt, add_event, &l);
    }
    if (status != USHER_OK) /* neither has a partial answer */
        usher_result_done(r);
    end(&l, status);
}

/* ---- digests -------------------------------------------------------------------------------- */

/* The verb that shows a scope of @noun as a whole. */
static enum usher_verb shows(const struct usher__noun *noun)
{
    const struct usher__verb *verb = noun->verbs;

    while ((verb->flags & USHER__SHOWS) == 0)
        verb++;
    return (enum usher_verb)verb->verb;
}

/* Epoch and version of the answer are those of the verb that shows the scope, which applies due
 * times first. */
static void digest(struct usher_engine *e, const struct usher_operation *c, struct usher_result *r)
{
    struct usher_operation show = { .given = c->given & USHER_GIVEN_NOW, .now_ms = c->now_ms };
    unsigned noun = (unsigned)c->verb - USHER_STORE_NUMBER_DIGEST + USHER_NUMBER;
    char name[USHER_NAME_MAX + 1];
    struct usher_result of;
    enum usher_status status;

    show.verb = shows(usher__noun(noun));
    show.scope = c->arg.store.name;
    (void)usher__engine_operate(e, &show, &of, 1, 0);
    memcpy(r->message, of.message, sizeof r->message);
    r->status = of.status;
    r->epoch = of.epoch;
    r->version = of.version;
    r->due_ms = of.due_ms;
    r->now_ms = of.now_ms;
    usher_result_done(&of);
    if (r->status >= USHER_INVALID)
        return;
    (void)with_nul(name, sizeof name, &show.scope);
    if (noun == USHER_ROOM)
        status = usher_room_digest(e, name, &r->epoch, &r->version, r->of.store.digest);
    else
        status = usher_digest(e, (enum usher_noun)noun, name, r->of.store.digest);
    if (status >= USHER_INVALID) {
        (void)snprintf(name, sizeof name, "%s", usher_message());
        usher_result_fail(r, status, name);
        return;
    }
    if (noun == USHER_ROOM) /* which has a digest, or is missing, as it is stored */
        r->status = status;
    r->of.store.digest_size = strlen(r->of.store.digest);
}

/* ---- all of them ---------------------------------------------------------------------------- */

static void execute(struct usher_engine *e, const struct usher_operation *commands,
                    struct usher_result *replies, size_t n, int64_t deadline_ms)
{
    (void)deadline_ms; /* each of the commands that it is made of has the engine's timeout */
    for (size_t i = 0; i < n; i++) {
        const struct usher_operation *c = &commands[i];
        struct usher_result *r = &replies[i];

        usher__result_init(r, USHER_STORE, e->opt.alloc);
        if (usher__operation_check(c, NULL, r) != USHER_OK)
            continue;
        switch (c->verb) {
        case USHER_STORE_SCOPES:
            scopes(e, c, r);
            break;
        case USHER_STORE_ROOM_LIST:
        case USHER_STORE_ROOM_PATROL:
            rooms(e, c, r);
            break;
        case USHER_STORE_SERIAL_LIST:
        case USHER_STORE_SERIAL_JOURNAL:
            serials(e, c, r);
            break;
        default:
            digest(e, c, r);
            break;
        }
    }
}

const struct usher__hooks usher__store_hooks = {
    .fault = fault,
    .execute = execute,
};
