/* SPDX-License-Identifier: MIT */
/*
 * The terminal: keys, the size, signals, and one poll() for all.  The main thread never waits for
 * the store (reader.c).
 *
 * Signals come only at the poll.  So the terminal is as it was before the process ends or stops.
 */
#include "config.h"

#include "top/top.h"

#ifdef HAVE_NCURSES

#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "top/app.h"
#include "top/reader.h"

#define ANEW_MS 60000 /* everything is drawn again: a message of another program goes away */
#define ESCAPE_MS 25

/* The signals that came, a bit each; a handler does no more. */
static volatile sig_atomic_t came;

enum { CAME_END = 1, CAME_STOP = 2, CAME_SIZE = 4 };

static void note(int signal)
{
    came |= signal == SIGTSTP ? CAME_STOP : signal == SIGWINCH ? CAME_SIZE : CAME_END;
}

static const int signals[] = { SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGTSTP, SIGWINCH };
#define SIGNALS (sizeof signals / sizeof *signals)

struct live {
    struct app app;
    struct page page;
    struct reader *reader;
    struct sigaction before[SIGNALS];
    sigset_t mask; /* as it was */
    bool colours;
    int64_t drawn_ms; /* all of it */
};

static int64_t clock_ms(clockid_t clock)
{
    struct timespec t;

    (void)clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- signals ------------------------------------------------------------------------------- */

static void signals_begin(struct live *l)
{
    struct sigaction action;
    sigset_t blocked;

    memset(&action, 0, sizeof action);
    action.sa_handler = note;
    (void)sigemptyset(&blocked);
    for (size_t i = 0; i < SIGNALS; i++) {
        (void)sigaction(signals[i], &action, &l->before[i]);
        (void)sigaddset(&blocked, signals[i]);
    }
    (void)pthread_sigmask(SIG_BLOCK, &blocked, &l->mask);
}

static void signals_end(const struct live *l)
{
    for (size_t i = 0; i < SIGNALS; i++)
        (void)sigaction(signals[i], &l->before[i], NULL);
    (void)pthread_sigmask(SIG_SETMASK, &l->mask, NULL);
}

/* Stop the process with the terminal as it was, until it is continued. */
static void stop(struct live *l)
{
    (void)endwin();
    signals_end(l);
    (void)raise(SIGTSTP);
    signals_begin(l);
    came |= CAME_SIZE;
    l->app.redraws = l->app.asks = true;
}

static void take_size(void)
{
    struct winsize size;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0)
        (void)resizeterm(size.ws_row, size.ws_col);
}

static void signalled(struct live *l)
{
    sig_atomic_t now = came;

    came = 0;
    if ((now & CAME_END) != 0)
        l->app.quits = true;
    else if ((now & CAME_STOP) != 0)
        stop(l);
    if (((now | came) & CAME_SIZE) != 0)
        take_size();
}

/* ---- drawing ------------------------------------------------------------------------------- */

static void begin_colours(struct live *l)
{
    const char *no_color = getenv("NO_COLOR");

    l->colours = (no_color == NULL || *no_color == '\0') && has_colors() && start_color() == OK;
    if (!l->colours)
        return;
    (void)use_default_colors(); /* the background stays as it is */
    (void)init_pair(INK_WARNING, COLOR_YELLOW, -1);
    (void)init_pair(INK_ALARM, COLOR_RED, -1);
    (void)init_pair(INK_BUSY, COLOR_BLUE, -1);
    (void)init_pair(INK_REST, COLOR_MAGENTA, -1);
}

static chtype attribute(const struct live *l, unsigned char ink)
{
    chtype plain = ink == INK_BOLD || ink == INK_ALARM ? A_BOLD
                   : ink == INK_DIM || ink == INK_DOWN ? A_DIM
                   : ink == INK_REVERSE                ? A_REVERSE
                                                       : A_NORMAL;

    if (!l->colours || ink < INK_WARNING || ink == INK_DOWN)
        return plain;
    return plain | (ink == INK_ALARM ? A_REVERSE : 0) | (chtype)COLOR_PAIR(ink);
}

static void draw_line(const struct live *l, int y, const struct out *line)
{
    const char *at = line->data + line->from, *end = line->data + line->end, *from;

    (void)move(y, 0);
    (void)attrset(A_NORMAL);
    while (at < end) {
        for (from = at; at < end && (unsigned char)*at >= INKS; at++)
            ;
        if (at > from)
            (void)addnstr(from, (int)(at - from));
        if (at < end)
            (void)attrset((int)attribute(l, (unsigned char)*at++));
    }
}

static void draw(struct live *l)
{
    int height, width;

    getmaxyx(stdscr, height, width);
    if (l->app.redraws || l->app.now_ms - l->drawn_ms >= ANEW_MS) {
        (void)clearok(stdscr, TRUE);
        l->drawn_ms = l->app.now_ms;
        l->app.redraws = false;
    }
    usher__app_draw(&l->app, &l->page, (size_t)width, (size_t)height);
    (void)erase();
    for (int y = 0; y < height && (size_t)y < l->page.n; y++)
        draw_line(l, y, &l->page.lines[y]);
    (void)refresh();
}

/* ---- keys ---------------------------------------------------------------------------------- */

/* Return the key of the program for one of ncurses; 0: there is none. */
static uint32_t key_of(int key)
{
    static const struct {
        int from;
        uint32_t to;
    } keys[] = {
        { KEY_UP, APP_UP },       { KEY_DOWN, APP_DOWN },       { KEY_PPAGE, APP_PAGE_UP },
        { KEY_HOME, APP_HOME },   { KEY_NPAGE, APP_PAGE_DOWN }, { KEY_END, APP_END },
        { KEY_ENTER, APP_ENTER }, { KEY_RIGHT, APP_ENTER },     { KEY_LEFT, APP_BACK },
        { KEY_BTAB, APP_TAB },    { KEY_BACKSPACE, APP_ERASE }, { KEY_F(1), APP_HELP },
        { KEY_F(4), APP_FILTER }, { KEY_F(6), APP_SORT },       { KEY_F(9), APP_FREE },
        { KEY_F(10), APP_QUIT },
    };

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i].from == key)
            return keys[i].to;
    return 0;
}

/* The same for a character. */
static uint32_t character(wint_t c)
{
    switch (c) {
    case '\r':
    case '\n':
        return APP_ENTER;
    case 27:
        return APP_BACK;
    case 8:
    case 127:
        return APP_ERASE;
    case '\t':
        return APP_TAB;
    case 'L' & 31:
        return APP_REDRAW;
    case 'P' & 31:
        return APP_UP;
    case 'N' & 31:
        return APP_DOWN;
    default:
        return c >= 32 ? (uint32_t)c : 0;
    }
}

static void read_keys(struct live *l)
{
    wint_t c;
    int kind;

    while (!l->app.quits && (kind = get_wch(&c)) != ERR) {
        uint32_t key = kind == KEY_CODE_YES ? key_of((int)c) : character(c);

        if (key != 0)
            usher__app_key(&l->app, key);
    }
}

/* ---- the loop ------------------------------------------------------------------------------ */

static void take_state(struct live *l)
{
    struct job *job;
    bool failed;
    char *json = usher__reader_take(l->reader, &failed);

    if (json != NULL || failed)
        usher__app_state(&l->app, json, failed);
    (void)usher__cli_resize(json, 0);
    while ((job = usher__reader_job(l->reader)) != NULL) {
        if (!usher__app_answer(&l->app, job))
            usher__job_free(job);
    }
}

static void loop(struct live *l)
{
    while (!l->app.quits) {
        struct pollfd fds[] = { { STDIN_FILENO, POLLIN, 0 },
                                { usher__reader_fd(l->reader), POLLIN, 0 } };
        struct job *job;
        struct timespec t;
        int wait;

        usher__app_time(&l->app, clock_ms(CLOCK_MONOTONIC), clock_ms(CLOCK_REALTIME));
        if (l->app.asks)
            usher__reader_ask(l->reader);
        l->app.asks = false;
        while ((job = usher__jobs_take(&l->app.jobs)) != NULL)
            usher__reader_execute(l->reader, job);
        draw(l);
        wait = usher__app_timeout(&l->app);
        t = (struct timespec){ wait / 1000, (long)(wait % 1000) * 1000000 };
        if (ppoll(fds, 2, &t, &l->mask) < 0)
            fds[0].revents = fds[1].revents = 0;
        else { /* ppoll() delivers no signal if a descriptor is ready */
            sigset_t blocked;

            (void)pthread_sigmask(SIG_SETMASK, &l->mask, &blocked);
            (void)pthread_sigmask(SIG_SETMASK, &blocked, NULL);
        }
        signalled(l);
        usher__app_time(&l->app, clock_ms(CLOCK_MONOTONIC), clock_ms(CLOCK_REALTIME));
        if ((fds[0].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0)
            break; /* the terminal is gone: it is readable for ever */
        if (fds[0].revents != 0)
            read_keys(l);
        if (fds[1].revents != 0)
            take_state(l);
    }
}

int usher__top_live(struct cli *cli, const struct top_options *o, struct snapshot *sn)
{
    struct live *l = usher__cli_resize(NULL, sizeof *l);
    SCREEN *screen;
    bool ended;
    int rc = 0;

    memset(l, 0, sizeof *l);
    use_env(FALSE);
    use_tioctl(TRUE); /* the terminal's own size, not that of the environment */
    screen = newterm(NULL, stdout, stdin);
    if (screen == NULL) {
        (void)usher__snapshot_free(sn);
        (void)usher__cli_resize(l, 0);
        return usher__cli_fail(cli, USHER_INVALID,
                               "the terminal ($TERM) is not known: use `top --once`");
    }
    signals_begin(l);
    usher__app_begin(&l->app, o, clock_ms(CLOCK_MONOTONIC));
    l->reader = usher__reader_new(cli, sn);
    begin_colours(l);
    (void)cbreak();
    (void)noecho();
    (void)nonl();
    (void)keypad(stdscr, TRUE);
    (void)nodelay(stdscr, TRUE);
    (void)set_escdelay(ESCAPE_MS);
    (void)curs_set(0);
    if (l->reader != NULL)
        loop(l);
    (void)endwin();
    signals_end(l);
    if (l->reader == NULL) {
        rc = usher__cli_fail(cli, USHER_UNAVAILABLE, "no thread can be created");
        (void)usher__snapshot_free(sn);
    }
    ended = usher__reader_free(l->reader);
    usher__app_done(&l->app);
    usher__top_page_done(&l->page);
    if (!ended) { /* the thread waits for the store */
        (void)fflush(NULL);
        _exit(rc);
    }
    delscreen(screen);
    (void)usher__cli_resize(l, 0);
    return rc;
}

#else

int usher__top_live(struct cli *cli, const struct top_options *o, struct snapshot *sn)
{
    (void)o;
    (void)usher__snapshot_free(sn);
    return usher__cli_fail(cli, USHER_INVALID,
                           "this program is built without ncurses: use `top --once`");
}

#endif
