/* SPDX-License-Identifier: MIT */
/* The screens of `usher top` as lines of text (text.h): for a terminal, or printed once. */
#ifndef USHER_TOP_DRAW_H
#define USHER_TOP_DRAW_H

#include "top/model.h"
#include "top/text.h"

struct page {
    struct out *lines;
    size_t n, room;
};

/* Return the next line of @p, which is empty. */
struct out *usher__top_page_line(struct page *p);
/* Make it empty again. */
void usher__top_page_clear(struct page *p);
void usher__top_page_done(struct page *p);

struct view {
    size_t width, height;
    bool ascii, only;   /* only: the state is of some scopes */
    bool once;          /* printed: without keys and cursor, with all rows */
    size_t skip;        /* columns that are left out at the left */
    const char *filter; /* only scopes that contain it; "": all */
    unsigned noun;      /* only this noun; 0: all */
    const char *cursor; /* its scope */
    size_t first;       /* the row at the top; draw moves it so that the cursor is seen */
    const char *notice; /* the last line but one; "": none */
    int64_t clock_ms;   /* of the wall clock */
    int64_t wall_ms;    /* the same, or when the figures were true */
    int64_t silent_ms;  /* the store has not answered for this time; 0: it does */
    int64_t held_ms;    /* the figures stand still for this time; -1: they do not */
};

/* Return whether @v shows @r. */
bool usher__top_shows(const struct view *v, const struct row *r);
/* Draw the overview.  Return the number of rows that it has at a time. */
size_t usher__top_overview(struct page *p, const struct model *m, struct view *v);
/* Append @left, and @right at the right edge. */
void usher__top_ends(struct out *to, const struct view *v, const char *left, const char *right);
/* Append the clock, and the zone if @zone. */
void usher__top_time(char to[TOP_TEXT_MAX], const struct view *v, const struct model *m, bool zone);

#endif
