/* SPDX-License-Identifier: MIT */
/* The metrics of scopes in a page of /metrics. */
#ifndef USHER_SERVE_SCOPE_METRICS_H
#define USHER_SERVE_SCOPE_METRICS_H

#include "serve/output.h"
#include "serve/scrape.h"

struct page;

/* Return an empty page for @connection.  Its scrape has no scopes yet. */
struct page *usher__page_new(struct server *s, void *connection);
struct scrape *usher__page_scrape(const struct page *g);
/* Append the page, which is complete. */
void usher__page_print(const struct page *g, struct out *to);
/* NULL is allowed. */
void usher__page_free(struct page *g);

#endif
