/* SPDX-License-Identifier: MIT */
/*
 * A scrape is one reading of many scopes: for a page of /metrics (scope_metrics.c), or for the
 * state in /state.json and /events (state.c).
 *
 * A thread lists the scopes (worker.c), then commands on them are posted, and their replies are
 * collected with notices (subscribe.c).  So no round of the loop waits for a scrape.
 *
 * Its user gives the commands on a scope and takes their replies.
 */
#ifndef USHER_SERVE_SCRAPE_H
#define USHER_SERVE_SCRAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <usher/command.h>

#include "core/verbs.h"
#include "serve/output.h"

#define SCRAPE_COMMANDS 4 /* on one scope */

struct server;
struct scrape;

struct target {
    struct scrape *of;
    enum usher_noun noun;
    uint64_t epoch, version; /* in the list; 0: it was named */
    void *entry;             /* of the user … */
    int64_t number;          /* … and likewise */
    bool failed;             /* a reply has no figures */
    size_t size;
    char name[];
};

struct scrape_user {
    bool each; /* the limit of scopes is for each noun, not for all */
    /* The list is complete and sorted; called in the loop.  NULL: there is nothing to do. */
    void (*listed)(struct scrape *p, void *owner);
    /* Write the commands on @t, at most SCRAPE_COMMANDS, and return their number.  The values live
     * until they are posted.  The scrape adds the scope and the tag. */
    size_t (*commands)(void *owner, const struct target *t, struct usher_command *to);
    /* @reply is one of them. */
    void (*reply)(void *owner, struct target *t, const struct usher_reply *reply);
    /* All replies have come. */
    void (*done)(struct scrape *p, void *owner);
};

/* Return an empty scrape. */
struct scrape *usher__scrape_new(struct server *s, const struct scrape_user *user, void *owner);
/* The scope @word, which is NOUN/NAME, is one of the scrape.  Return NULL, or the fault in it. */
const char *usher__scrape_add(struct scrape *p, const char *word, size_t size);
/* The scopes of the noun @word are listed.  Return NULL, or the fault in it. */
const char *usher__scrape_list(struct scrape *p, const char *word);
/* So are those of @nouns, a bit each. */
void usher__scrape_list_nouns(struct scrape *p, unsigned nouns);
/* Begin to read.  Without a scope and a noun, all scopes of the store are listed. */
void usher__scrape_begin(struct scrape *p);
/* In listed(): all the time is left for commands, whatever the list took. */
void usher__scrape_extend(struct scrape *p);
/* In done(): post commands once more, with as much time.  Return false if there are none. */
bool usher__scrape_again(struct scrape *p);
/* Return whether all replies have come. */
bool usher__scrape_done(const struct scrape *p);
/* Free @p, now or when its last reply has come.  NULL is allowed. */
void usher__scrape_free(struct scrape *p);
/* Free all, at the end: no reply will come. */
void usher__scrape_free_all(struct server *s);

/* @event is a reply that a scrape has posted.  Return the scrape if it is done now. */
struct scrape *usher__scrape_reply(const struct usher_event *event);

/* The scopes in their order, by noun and name; each is there once. */
size_t usher__scrape_n(const struct scrape *p);
struct target *usher__scrape_target(const struct scrape *p, size_t i);
/* Scopes of @noun (0: of all) that are not in it because of the limit. */
uint64_t usher__scrape_omitted(const struct scrape *p, unsigned noun);
/* Commands that were not posted in time. */
size_t usher__scrape_unposted(const struct scrape *p);
/* The list was not read to its end. */
bool usher__scrape_partial(const struct scrape *p);

/* Split @word.  Return NULL if it is not NOUN/NAME with a known noun. */
const struct usher__noun *usher__scrape_split(const char *word, size_t size, const char **ret_name);
/* Order two names. */
int usher__scrape_compare(unsigned noun, const char *name, size_t size, unsigned other_noun,
                          const char *other, size_t other_size);
/* Return the verb of @noun with statistics. */
uint32_t usher__scrape_verb(unsigned noun);
/* Return the number @field of an answer, or of its only row. */
int64_t usher__scrape_value(const struct usher_reply *reply, uint32_t field);

#endif
