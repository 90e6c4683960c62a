/* SPDX-License-Identifier: MIT */
/*
 * The scopes that `usher top` shows: what the state (an object of /state.json) has of them, what
 * follows from it, and their order.
 *
 * Rows are in the order of the state, by noun and name.  `order` has them by urgency, or by a
 * column.  It changes at most every ORDER_MS and not soon after a key, so that a row does not move
 * away under the cursor; only for a new alarm it changes at once.
 */
#ifndef USHER_TOP_MODEL_H
#define USHER_TOP_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <usher/usher.h>

#include "core/verbs.h"
#include "serve/thresholds.h"

enum figure {
#define FIGURE(code, key) FIGURE_##code,
#include "top/figures.def"
    FIGURES
};

enum column {
#define COLUMN(code, title, width, kind) COLUMN_##code,
#include "top/figures.def"
    COLUMNS
};

enum column_kind { COUNT, SPAN, SHARE, BAR, LINE, WORDS };

struct column_about {
    const char *title;
    size_t width;
    enum column_kind kind;
};
extern const struct column_about usher__top_columns[COLUMNS];

#define ORDER_URGENCY (-1)
#define ORDER_NAME COLUMNS

#define CELL_EMPTY INT64_MIN      /* it does not apply */
#define CELL_NONE (INT64_MIN + 1) /* there is none */

#define ROW_HOUR 60
#define ROW_WHY 64
#define ROW_RATES 7 /* versions that are kept, one each RATE_MS */

struct row {
    unsigned noun;
    uint64_t epoch, version;
    int64_t at_ms;           /* of the wall clock: it was read */
    int64_t figure[FIGURES]; /* USHER_NONE: not known */
    int64_t cell[COLUMNS];
    enum level level;
    double score;
    int64_t refused; /* in the last 10 minutes */
    int64_t passed;  /* ids issued in the last hour; USHER_NONE: not known */
    char why[ROW_WHY];
    char mode[16]; /* "": open */
    int32_t hour[ROW_HOUR];
    size_t n_hour;
    struct {
        int64_t ms;
        uint64_t version;
    } rate[ROW_RATES]; /* the newest is first */
    size_t n_rate;
    size_t place; /* in the order; SIZE_MAX: it is new */
    size_t name;  /* it begins there in `scope` */
    char scope[]; /* NOUN/NAME */
};

struct model {
    struct thresholds thresholds;
    struct row **rows;
    size_t n;
    struct row **order;
    /* of the state */
    int64_t at_ms;
    int zone;
    int64_t lag_ms;
    uint64_t totals[USHER__NOUNS], total;
    char store[16], kind[64];
    bool read; /* there was one */
    /* of all rows */
    size_t levels[LEVELS];
    /* the order */
    int column; /* ORDER_URGENCY, ORDER_NAME, or a column */
    bool backwards;
    int64_t due_ms; /* it is settled again then … */
    int64_t key_ms; /* … if there was no key since this time */
};

void usher__top_model_begin(struct model *m);
void usher__top_model_done(struct model *m);
/* Take the state @json. */
void usher__top_model_take(struct model *m, const char *json);
/* Compute what follows from the figures at @wall_ms, to which durations have grown; @now_ms is of
 * the monotonic clock. */
void usher__top_model_judge(struct model *m, int64_t wall_ms, int64_t now_ms);
/* Settle the order if it is time; @now: at once. */
void usher__top_model_order(struct model *m, int64_t now_ms, bool now);
/* Return the row of @scope, or NULL. */
struct row *usher__top_model_find(const struct model *m, const char *scope);

/* figures.c */
/* Read the figures of the scope @json into @r. */
void usher__top_read(struct row *r, const char *json);
/* Judge @r, when its durations have grown by @grown_ms. */
void usher__top_judge(struct row *r, const struct thresholds *t, int64_t grown_ms, int64_t now_ms);
/* Write the text of the string of JSON at @json, at most @size bytes with the NUL. */
void usher__top_unquote(char *to, size_t size, const char *json);

#endif
