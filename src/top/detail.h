/* SPDX-License-Identifier: MIT */
/* The screen of one scope: its state, and a list of it, which is read again as long as it is shown.
 */
#ifndef USHER_TOP_DETAIL_H
#define USHER_TOP_DETAIL_H

#include "cli/table.h"
#include "top/draw.h"
#include "top/job.h"

#define DETAIL_SCOPE_MAX (USHER_NAME_MAX + 16)

struct detail {
    char scope[DETAIL_SCOPE_MAX]; /* "": none is open */
    unsigned noun;
    const char *name; /* in `scope` */
    unsigned tab;     /* of the noun, from 0 */
    unsigned asked;   /* the id of the last job; 0: none */
    bool waits;       /* for its reply */
    struct job *job;  /* the last one that was answered; NULL: none */
    struct table table;
    char cursor[JOB_WORD_MAX]; /* the cell that identifies its row */
    size_t place, first, rows; /* as of the overview */
};

/* Open the screen of @scope. */
void usher__detail_open(struct detail *d, const char *scope);
void usher__detail_close(struct detail *d);
/* Show tab @tab, from 0; false: there is none. */
bool usher__detail_tab(struct detail *d, unsigned tab);
/* Return the job that reads the list, with @id; NULL: the last one has no reply yet. */
struct job *usher__detail_read(struct detail *d, unsigned id);
/* Take @job with its reply.  Return false, and take nothing, if it is not the last one. */
bool usher__detail_take(struct detail *d, struct job *job);
/* Move the cursor by @by rows. */
void usher__detail_move(struct detail *d, int64_t by);
/* Return the row of the reply under the cursor; -1: none. */
int64_t usher__detail_row(const struct detail *d);
/* Return the verb of the tab. */
const char *usher__detail_verb(const struct detail *d);
void usher__detail_draw(struct page *p, struct detail *d, const struct model *m,
                        const struct view *v);

#endif
