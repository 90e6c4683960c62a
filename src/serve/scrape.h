/* SPDX-License-Identifier: MIT */
/*
 * A scrape: the metrics of many scopes, read for one page of /metrics.
 *
 * A thread lists the scopes (worker.c), then their statistics are posted, and their replies are
 * collected with notices (subscribe.c).  So no round of the loop waits for a scrape.
 */
#ifndef USHER_SERVE_SCRAPE_H
#define USHER_SERVE_SCRAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <usher/command.h>

#include "serve/output.h"

struct server;
struct scrape;

/* Return an empty scrape, for @owner. */
struct scrape *usher__scrape_new(struct server *s, void *owner);
void *usher__scrape_owner(const struct scrape *p);
/* The scope @word, which is NOUN/NAME, is one of the page.  Return NULL, or the fault in it. */
const char *usher__scrape_add(struct scrape *p, const char *word, size_t size);
/* The scopes of the noun @word are listed.  Return NULL, or the fault in it. */
const char *usher__scrape_list(struct scrape *p, const char *word);
/* Begin to read.  Without a scope and a noun, all scopes of the store are listed. */
void usher__scrape_begin(struct scrape *p);
/* Return whether the page is complete. */
bool usher__scrape_done(const struct scrape *p);
/* Append the page. */
void usher__scrape_print(struct scrape *p, struct out *to);
/* Free @p, now or when its last reply has come.  NULL is allowed. */
void usher__scrape_free(struct scrape *p);
/* Free all, at the end: no reply will come. */
void usher__scrape_free_all(struct server *s);

/* @event is a reply that a scrape has posted.  Return the scrape if it is done now. */
struct scrape *usher__scrape_reply(const struct usher_event *event);

#endif
