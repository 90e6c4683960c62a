/* SPDX-License-Identifier: MIT */
/*
 * Keys and states of `usher top`, without a terminal: live.c has that.
 *
 *     key, state, time -> struct app -> lines of a page
 */
#ifndef USHER_TOP_APP_H
#define USHER_TOP_APP_H

#include "top/act.h"
#include "top/detail.h"
#include "top/draw.h"
#include "top/top.h"

/* Keys that are no characters. */
enum app_key {
    APP_UP = 0x200000,
    APP_DOWN,
    APP_PAGE_UP,
    APP_PAGE_DOWN,
    APP_HOME,
    APP_END,
    APP_ENTER,
    APP_BACK, /* Esc, left */
    APP_ERASE,
    APP_TAB,
    APP_HELP,
    APP_FILTER,
    APP_SORT,
    APP_FREE,
    APP_QUIT,
    APP_REDRAW
};

enum app_mode { APP_ROWS, APP_FIND, APP_FILTERS, APP_HELPS, APP_ASKS };

#define APP_TEXT_MAX 128
#define APP_SCOPE_MAX (USHER_NAME_MAX + 16)

struct app {
    struct model model;
    struct view view;
    enum app_mode mode;
    bool ascii, only, writes;
    int64_t every_ms, now_ms;
    int64_t good_ms;  /* the last state came, or the beginning */
    int64_t asked_ms; /* a state was wanted */
    int64_t held_ms;  /* the figures stand still since then; 0: they do not */
    char cursor[APP_SCOPE_MAX];
    size_t place; /* of the cursor among the rows that are shown */
    size_t rows;  /* of a screen */
    struct row **shown;
    char filter[APP_TEXT_MAX], find[APP_TEXT_MAX];
    char notice[160];
    int64_t notice_ms;
    char *pending; /* a state that came while the figures are held */
    struct detail detail;
    struct question question; /* that waits for an answer */
    char answer[JOB_WORD_MAX];
    struct job_list jobs; /* to be executed */
    unsigned last_id;     /* of a job */
    unsigned unanswered;  /* commands that were sent */
    bool warned;          /* that one has no answer */
    bool quits, redraws, asks;
};

void usher__app_begin(struct app *a, const struct top_options *o, int64_t now_ms);
void usher__app_done(struct app *a);
/* Time has come to @now_ms of the monotonic clock and @wall_ms. */
void usher__app_time(struct app *a, int64_t now_ms, int64_t wall_ms);
/* Return the time until there is something to do, ms. */
int usher__app_timeout(const struct app *a);
/* Take the state @json; or @failed: the server did not answer. */
void usher__app_state(struct app *a, const char *json, bool failed);
/* @job was executed.  It is taken if usher__app_answer() returns true. */
bool usher__app_answer(struct app *a, struct job *job);
/* A character, or an app_key, was typed. */
void usher__app_key(struct app *a, uint32_t key);
/* Draw all lines of a terminal of this size. */
void usher__app_draw(struct app *a, struct page *p, size_t width, size_t height);

#endif
