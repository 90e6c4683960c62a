/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "top/app.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/cli.h"
#include "cli/json_walk.h"

#define SILENT_MS 3000 /* without a state for this time, or three readings, the store is silent */
#define NOTICE_MS 10000

void usher__app_begin(struct app *a, const struct top_options *o, int64_t now_ms)
{
    memset(a, 0, sizeof *a);
    usher__top_model_begin(&a->model);
    a->model.thresholds = o->thresholds;
    a->ascii = o->ascii;
    a->only = o->only[0] != '\0';
    a->writes = o->writes;
    a->every_ms = o->every_ms;
    a->now_ms = a->good_ms = now_ms;
    a->asked_ms = now_ms - o->every_ms;
    a->asks = true;
}

void usher__app_done(struct app *a)
{
    usher__top_model_done(&a->model);
    (void)usher__cli_resize(a->pending, 0);
    (void)usher__cli_resize((void *)a->shown, 0);
    usher__detail_close(&a->detail);
    usher__job_free(a->question.job);
    while (a->jobs.first != NULL)
        usher__job_free(usher__jobs_take(&a->jobs));
}

static void say(struct app *a, const char *text)
{
    (void)snprintf(a->notice, sizeof a->notice, "%s", text);
    a->notice_ms = a->now_ms;
}

/* ---- the cursor ---------------------------------------------------------------------------- */

/* Collect the rows that are shown, in their order.  Return their number. */
static size_t shown(struct app *a)
{
    size_t n = 0;

    /* an array of pointers */
    /* NOLINTNEXTLINE(bugprone-sizeof-expression) */
    a->shown = usher__cli_resize((void *)a->shown, (a->model.n + 1) * sizeof *a->shown);
    a->view.filter = a->filter;
    for (size_t i = 0; i < a->model.n; i++)
        if (usher__top_shows(&a->view, a->model.order[i]))
            a->shown[n++] = a->model.order[i];
    return n;
}

/* Move to one of the rows that are shown. */
static void move_to(struct app *a, size_t place)
{
    a->place = place;
    (void)snprintf(a->cursor, sizeof a->cursor, "%s", a->shown[place]->scope);
}

/* The cursor stays on its scope.  If that is gone, it stays at its place. */
static void follow(struct app *a)
{
    size_t n = shown(a);

    for (size_t i = 0; i < n; i++)
        if (strcmp(a->shown[i]->scope, a->cursor) == 0) {
            a->place = i;
            return;
        }
    if (n > 0)
        move_to(a, a->place < n ? a->place : n - 1);
}

static void move(struct app *a, uint32_t key)
{
    size_t n = shown(a), page = a->rows > 1 ? a->rows - 1 : 1, at = a->place;

    if (n == 0)
        return;
    if (key == APP_UP)
        at -= at > 0;
    else if (key == APP_DOWN)
        at++;
    else if (key == APP_PAGE_UP)
        at -= at < page ? at : page;
    else if (key == APP_PAGE_DOWN)
        at += page;
    else
        at = key == APP_HOME ? 0 : n - 1;
    move_to(a, at < n ? at : n - 1);
}

/* Go to the next row with the text of `find`, from @from on; @step is 1 or -1. */
static void find(struct app *a, size_t from, int step)
{
    size_t n = shown(a);

    for (size_t i = 0; i < n && a->find[0] != '\0'; i++) {
        size_t at = (from + n + (step > 0 ? i : n - i)) % n;

        if (strcasestr(a->shown[at]->scope, a->find) != NULL) {
            move_to(a, at);
            return;
        }
    }
    if (a->find[0] != '\0')
        say(a, "not found");
}

/* ---- typing ----------------------------------------------------------------------------- */

/* Append the character @key. */
static void type(char *text, size_t size, uint32_t key)
{
    size_t n = strlen(text);

    if (n + 5 > size)
        return;
    if (key < 0x80) {
        text[n++] = (char)key;
    } else if (key < 0x800) {
        text[n++] = (char)(0xc0u | key >> 6);
        text[n++] = (char)(0x80u | (key & 0x3fu));
    } else if (key < 0x10000) {
        text[n++] = (char)(0xe0u | key >> 12);
        text[n++] = (char)(0x80u | (key >> 6 & 0x3fu));
        text[n++] = (char)(0x80u | (key & 0x3fu));
    } else {
        text[n++] = (char)(0xf0u | key >> 18);
        text[n++] = (char)(0x80u | (key >> 12 & 0x3fu));
        text[n++] = (char)(0x80u | (key >> 6 & 0x3fu));
        text[n++] = (char)(0x80u | (key & 0x3fu));
    }
    text[n] = '\0';
}

static void erase(char *text)
{
    size_t n = strlen(text);

    while (n > 0 && (text[n - 1] & 0xc0) == 0x80)
        n--;
    text[n > 0 ? n - 1 : 0] = '\0';
}

/* ---- the screen of a scope ------------------------------------------------------------------ */

static bool has_detail(const struct app *a)
{
    return a->detail.scope[0] != '\0';
}

/* Read the list of the screen again. */
static void read_detail(struct app *a)
{
    struct job *job;

    if (!has_detail(a) || (a->held_ms != 0 && a->detail.job != NULL))
        return;
    job = usher__detail_read(&a->detail, ++a->last_id);
    if (job != NULL)
        usher__jobs_put(&a->jobs, job);
}

static void open_detail(struct app *a)
{
    if (a->cursor[0] == '\0' || usher__top_model_find(&a->model, a->cursor) == NULL)
        return;
    usher__detail_open(&a->detail, a->cursor);
    read_detail(a);
}

static void show_tab(struct app *a, unsigned tab)
{
    if (usher__detail_tab(&a->detail, tab))
        read_detail(a);
}

/* ---- commands ------------------------------------------------------------------------------ */

/* A question for @key, if it has a command here. */
static void ask(struct app *a, uint32_t key)
{
    const char *why = usher__act_ask(&a->question, &a->detail, key, ++a->last_id);

    if (why == NULL && a->writes && a->view.silent_ms == 0 && a->view.height > 3) {
        a->mode = APP_ASKS;
        a->answer[0] = '\0';
        return;
    }
    usher__job_free(a->question.job);
    a->question.job = NULL;
    say(a, why != NULL           ? why
           : a->view.height <= 3 ? "the screen is too small for a question"
           : a->writes           ? "the store does not answer: nothing was done"
                                 : "nothing is changed without --rw");
}

static void end_question(struct app *a, bool yes)
{
    a->mode = APP_ROWS;
    yes = yes && a->view.height > 3; /* it can be read */
    if (yes && a->view.silent_ms == 0) {
        usher__jobs_put(&a->jobs, a->question.job);
        a->unanswered++;
        say(a, "sent");
    } else {
        usher__job_free(a->question.job);
        say(a, yes ? "the store does not answer: nothing was done" : "nothing was done");
    }
    a->question.job = NULL;
    a->warned = false;
}

static void question_key(struct app *a, uint32_t key)
{
    if (a->question.name[0] == '\0')
        end_question(a, key == 'y');
    else if (key == APP_ENTER)
        end_question(a, strcmp(a->answer, a->question.name) == 0);
    else if (key == APP_BACK)
        end_question(a, false);
    else if (key == APP_ERASE)
        erase(a->answer);
    else if (key >= 0x20 && key < 0x110000)
        type(a->answer, sizeof a->answer, key);
}

/* The reply to a command.  One that may have been executed is sent again, with its request id. */
static bool acted(struct app *a, struct job *job)
{
    const struct usher_reply *reply = job->reply;
    char text[sizeof a->notice];

    if (reply != NULL && reply->status == USHER_UNKNOWN && !job->again &&
        strncmp(job->word[job->n - 1], "req=", 4) == 0) {
        usher_reply_done(job->reply);
        job->reply = NULL;
        job->again = true;
        usher__jobs_put(&a->jobs, job);
        return true;
    }
    a->unanswered--;
    if (reply == NULL)
        (void)snprintf(text, sizeof text, "not done: %.120s", job->message);
    else if (reply->status == USHER_STALE)
        (void)snprintf(text, sizeof text,
                       "stale: it has changed since it was read, nothing was done");
    else
        (void)snprintf(text, sizeof text, "%.12s: %.8s %.12s %.40s%s%.60s",
                       usher_status_word(reply->status), job->word[0], job->word[1], job->word[2],
                       reply->message[0] != '\0' ? ": " : "", reply->message);
    say(a, text);
    a->asks = true;
    read_detail(a);
    return false;
}

bool usher__app_answer(struct app *a, struct job *job)
{
    return job->acts ? acted(a, job) : usher__detail_take(&a->detail, job);
}

static void detail_key(struct app *a, uint32_t key)
{
    struct detail *d = &a->detail;
    int64_t page = d->rows > 1 ? (int64_t)d->rows - 1 : 1;

    switch (key) {
    case APP_BACK:
    case APP_ERASE:
        usher__detail_close(d);
        break;
    case APP_UP:
    case APP_DOWN:
        usher__detail_move(d, key == APP_UP ? -1 : 1);
        break;
    case APP_PAGE_UP:
    case APP_PAGE_DOWN:
        usher__detail_move(d, key == APP_PAGE_UP ? -page : page);
        break;
    case APP_HOME:
    case APP_END:
        usher__detail_move(d, key == APP_HOME ? INT32_MIN : INT32_MAX);
        break;
    case APP_TAB:
        if (!usher__detail_tab(d, d->tab + 1))
            (void)usher__detail_tab(d, 0);
        read_detail(a);
        break;
    default:
        if (key >= '1' && key <= '9')
            show_tab(a, key - '1');
        else if (key < 0x80 || key == APP_FREE)
            ask(a, key == APP_FREE ? 'k' : key);
        break;
    }
}

/* ---- states -------------------------------------------------------------------------------- */

static void take(struct app *a, const char *json)
{
    usher__top_model_take(&a->model, json);
    usher__top_model_judge(&a->model, a->view.wall_ms, a->now_ms);
    usher__top_model_order(&a->model, a->now_ms, false);
    follow(a);
}

void usher__app_state(struct app *a, const char *json, bool failed)
{
    const char *store = json != NULL ? usher__json_find(json, "store") : NULL;
    bool silent = a->now_ms - a->good_ms >= SILENT_MS;
    char text[64], span[TOP_TEXT_MAX];

    if (failed || store == NULL || strncmp(store, "\"unavailable\"", 13) == 0)
        return;
    if (silent && a->model.read) {
        (void)snprintf(text, sizeof text, "back after %s",
                       usher__top_span(span, a->now_ms - a->good_ms, a->ascii));
        say(a, text);
    }
    a->good_ms = a->now_ms;
    if (a->held_ms == 0) {
        take(a, json);
        return;
    }
    a->pending = usher__cli_resize(a->pending, strlen(json) + 1);
    memcpy(a->pending, json, strlen(json) + 1);
}

void usher__app_time(struct app *a, int64_t now_ms, int64_t wall_ms)
{
    int64_t limit = 3 * a->every_ms > SILENT_MS ? 3 * a->every_ms : SILENT_MS;

    a->now_ms = now_ms;
    a->view.silent_ms = now_ms - a->good_ms > limit ? now_ms - a->good_ms : 0;
    if (now_ms - a->notice_ms > NOTICE_MS)
        a->notice[0] = '\0';
    if (now_ms - a->asked_ms >= a->every_ms) {
        a->asked_ms = now_ms;
        a->asks = true;
        read_detail(a);
    }
    a->view.clock_ms = wall_ms;
    if (a->view.silent_ms > 0 || a->held_ms != 0) /* durations do not grow */
        return;
    a->view.wall_ms = wall_ms;
    if (a->model.read) {
        usher__top_model_judge(&a->model, wall_ms, now_ms);
        usher__top_model_order(&a->model, now_ms, false);
    }
    follow(a);
}

int usher__app_timeout(const struct app *a)
{
    int64_t left = a->asked_ms + a->every_ms - a->now_ms;

    return left < 0 ? 0 : left < 1000 ? (int)left : 1000;
}

/* ---- keys ---------------------------------------------------------------------------------- */

static void hold(struct app *a)
{
    if (a->held_ms == 0) {
        a->held_ms = a->now_ms;
        return;
    }
    a->held_ms = 0;
    if (a->pending != NULL)
        take(a, a->pending);
    a->pending = usher__cli_resize(a->pending, 0);
}

static void sort_next(struct app *a)
{
    struct model *m = &a->model;
    char text[64];

    do
        m->column = m->column == ORDER_NAME ? ORDER_URGENCY : m->column + 1;
    while (m->column >= 0 && m->column < COLUMNS && usher__top_columns[m->column].kind >= LINE);
    usher__top_model_order(m, a->now_ms, true);
    (void)snprintf(text, sizeof text, "sorted by %s",
                   m->column == ORDER_URGENCY ? "urgency"
                   : m->column == ORDER_NAME  ? "name"
                                              : usher__top_columns[m->column].title);
    say(a, text);
}

static void noun_of(struct app *a, uint32_t key)
{
    static const unsigned nouns[] = { 0,          USHER_QUEUE,  USHER_NUMBER,
                                      USHER_ROOM, USHER_SERIAL, USHER_ID };

    a->view.noun = nouns[key - '1'];
    a->view.first = 0;
    follow(a);
}

static void every(struct app *a, bool slower)
{
    char text[64], span[TOP_TEXT_MAX];

    a->every_ms = slower ? 2 * a->every_ms : a->every_ms / 2;
    if (a->every_ms < TOP_EVERY_MIN_MS)
        a->every_ms = TOP_EVERY_MIN_MS;
    if (a->every_ms > TOP_EVERY_MAX_MS)
        a->every_ms = TOP_EVERY_MAX_MS;
    (void)snprintf(text, sizeof text, "every %s", usher__top_span(span, a->every_ms, a->ascii));
    say(a, text);
}

static void begin_text(struct app *a, enum app_mode mode)
{
    a->mode = mode;
    (mode == APP_FIND ? a->find : a->filter)[0] = '\0';
    a->view.first = 0;
    follow(a);
}

/* A command that was sent may wait for the thread: it would be lost. */
static void quit(struct app *a)
{
    a->quits = a->unanswered == 0 || a->warned;
    a->warned = true;
    if (!a->quits)
        say(a, "a command has no answer yet; q again ends without it");
}

static void row_key(struct app *a, uint32_t key)
{
    switch (key) {
    case 'q':
        quit(a);
        break;
    case '?':
        a->mode = APP_HELPS;
        break;
    case '/':
        begin_text(a, APP_FIND);
        break;
    case 'n':
        find(a, a->place + 1, 1);
        break;
    case 'N':
        find(a, a->place + shown(a) - 1, -1);
        break;
    case 'f':
    case '\\':
        begin_text(a, APP_FILTERS);
        break;
    case 's':
        sort_next(a);
        break;
    case 'S':
        a->model.backwards = !a->model.backwards;
        usher__top_model_order(&a->model, a->now_ms, true);
        break;
    case 'p':
    case ' ':
        hold(a);
        break;
    case 'u':
        a->asks = true;
        a->asked_ms = a->now_ms;
        read_detail(a);
        break;
    case '+':
    case '-':
        every(a, key == '-');
        break;
    case '<':
        a->view.skip -= a->view.skip > 0;
        break;
    case '>':
        a->view.skip += a->view.skip + 1 < COLUMNS;
        break;
    default:
        if (key >= '1' && key <= '6')
            noun_of(a, key);
        break;
    }
}

/* A key while a text is typed. */
static void text_key(struct app *a, uint32_t key)
{
    char *text = a->mode == APP_FIND ? a->find : a->filter;

    if (key == APP_ENTER || key == APP_BACK) {
        if (key == APP_BACK)
            text[0] = '\0';
        a->mode = APP_ROWS;
    } else if (key == APP_ERASE) {
        erase(text);
    } else if (key >= 0x20 && key < 0x110000 && key != 0x7f) {
        type(text, APP_TEXT_MAX, key);
    }
    if (a->mode == APP_FIND)
        find(a, a->place, 1);
    follow(a);
}

void usher__app_key(struct app *a, uint32_t key)
{
    a->model.key_ms = a->now_ms;
    a->notice[0] = '\0';
    if (key == APP_REDRAW) {
        a->redraws = a->asks = true;
        return;
    }
    if (key == APP_QUIT) {
        quit(a);
        return;
    }
    if (a->mode == APP_HELPS) {
        a->mode = APP_ROWS;
        return;
    }
    if (a->mode == APP_ASKS) {
        question_key(a, key);
        return;
    }
    if (a->mode != APP_ROWS) {
        text_key(a, key);
        return;
    }
    if (has_detail(a) && key != '?' && key != APP_HELP && key != 'p' && key != ' ' && key != 'u' &&
        key != 'q') {
        detail_key(a, key);
    } else if (key == APP_ENTER) {
        open_detail(a);
    } else if (key >= APP_UP && key <= APP_END) {
        move(a, key);
    } else if (key == APP_BACK || key == APP_ERASE) {
        a->filter[0] = '\0';
        follow(a);
    } else {
        row_key(a, key == APP_HELP ? '?' : key == APP_FILTER ? 'f' : key == APP_SORT ? 's' : key);
    }
}

/* ---- drawing ------------------------------------------------------------------------------- */

static void help(struct app *a, struct page *p)
{
    static const char *const lines[] = {
        "keys of `usher top`",
        "",
        "  up down PgUp PgDn Home End   move        /  find; n and N: next and before",
        "  1 all  2 queues  3 numbers  4 rooms      f  filter, and Esc: all",
        "  5 serials  6 ids                         s  sort by the next column; S: backwards",
        "  p  hold the figures and the order        u  read now",
        "  < >  columns at the left                 + -  read more often, less often",
        "  Enter  open the scope; Esc: back         Tab, 1-9  its lists",
        "  Ctrl-L  draw again                       q  quit",
        "  with --rw, in a scope; each asks first:",
        "  k  free, take out, kick, return          K  free the calls of a node",
        "  P r  pause an agent, make it ready       c o  close, open the scope",
        "",
    };
    char text[160];

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        usher__top_cell(usher__top_page_line(p), lines[i], a->view.width, false, a->ascii);
    (void)snprintf(text, sizeof text,
                   "  %s alarm  %s warning    %s busy  %s wrap-up, resting  %s "
                   "calls used up  %s paused, down  %s free",
                   usher__top_sign(SIGN_ALARM, a->ascii), usher__top_sign(SIGN_WARNING, a->ascii),
                   usher__top_sign(SIGN_BUSY, a->ascii), usher__top_sign(SIGN_REST, a->ascii),
                   usher__top_sign(SIGN_CAPPED, a->ascii), usher__top_sign(SIGN_DOWN, a->ascii),
                   usher__top_sign(SIGN_FREE, a->ascii));
    usher__top_cell(usher__top_page_line(p), text, a->view.width, false, a->ascii);
    usher__top_cell(usher__top_page_line(p), "", a->view.width, false, a->ascii);
    usher__top_cell(usher__top_page_line(p), "  `usher help top` explains columns and thresholds.",
                    a->view.width, false, a->ascii);
}

/* The question, in the middle of the screen. */
static void draw_question(struct app *a, struct page *p, size_t height)
{
    const struct question *q = &a->question;
    char text[2 * JOB_WORD_MAX + 80];
    size_t at = height / 2 > 3 ? height / 2 - 3 : 0;

    while (p->n + 1 < height)
        (void)usher__top_page_line(p);
    if (q->name[0] == '\0')
        (void)snprintf(text, sizeof text, "y: yes   any other key: no");
    else
        (void)snprintf(text, sizeof text, "Type %.255s and Enter (Esc: no): %.255s_", q->name,
                       a->answer);
    for (size_t i = 0; i < 5 && at + i < p->n; i++) {
        struct out *to = &p->lines[at + i];

        to->from = to->end = 0;
        usher__top_ink(to, i == 0 ? INK_REVERSE : i == 3 ? INK_BOLD : INK_PLAIN);
        usher__top_put(to, "  ");
        usher__top_cell(to,
                        i == 0   ? q->title
                        : i == 1 ? q->text
                        : i == 3 ? text
                                 : "",
                        a->view.width > 2 ? a->view.width - 2 : 0, false, a->ascii);
        usher__top_ink(to, INK_PLAIN);
    }
}

static const char *last_line(const struct app *a, char *text, size_t size)
{
    if (a->mode == APP_ASKS)
        return a->question.name[0] == '\0' ? "y: yes   any other key: no" : "Enter: yes   Esc: no";
    if (a->mode == APP_HELPS)
        return "any key: back";
    if (a->mode == APP_ROWS && has_detail(a)) {
        (void)snprintf(text, size, "Esc:back Tab 1-9:list p:hold ?help q:quit");
        if (a->writes)
            usher__act_keys(text, size, &a->detail);
        return text;
    }
    if (a->mode == APP_ROWS && a->model.n == 0)
        return "?help q:quit";
    if (a->mode == APP_ROWS)
        return "?help /find f:filter s:sort Enter:open 1-6:noun p:hold u:read q:quit";
    (void)snprintf(text, size, "%s: %s_", a->mode == APP_FIND ? "find" : "filter",
                   a->mode == APP_FIND ? a->find : a->filter);
    return text;
}

void usher__app_draw(struct app *a, struct page *p, size_t width, size_t height)
{
    char text[240];
    struct view *v = &a->view;

    usher__top_page_clear(p);
    v->width = width;
    v->height = height;
    v->ascii = a->ascii;
    v->only = a->only;
    v->cursor = a->cursor;
    v->filter = a->filter;
    v->notice = a->notice;
    v->held_ms = a->held_ms != 0 ? a->now_ms - a->held_ms : -1;
    if (a->mode == APP_HELPS)
        help(a, p);
    else if (has_detail(a))
        usher__detail_draw(p, &a->detail, &a->model, v);
    else
        a->rows = usher__top_overview(p, &a->model, v);
    if (height <= 3)
        return;
    if (a->mode == APP_ASKS)
        draw_question(a, p, height);
    while (p->n + 1 + (a->notice[0] != '\0') < height)
        (void)usher__top_page_line(p);
    if (a->notice[0] != '\0' && p->n + 1 < height)
        usher__top_cell(usher__top_page_line(p), a->notice, width, false, a->ascii);
    if (p->n >= height)
        p->n = height - 1;
    usher__top_cell(usher__top_page_line(p), last_line(a, text, sizeof text), width, false,
                    a->ascii);
}
