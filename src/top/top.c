/* SPDX-License-Identifier: MIT */
/* The words of `usher top`, and --once. */
#include "config.h"

#include "top/top.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/json_walk.h"
#include "serve/snapshot.h"
#include "top/draw.h"

#define ONCE_WIDTH 160

/* Read one word.  Return NULL, or the fault in it. */
static const char *option(struct top_options *o, const char *word)
{
    if (strcmp(word, "--once") == 0) {
        o->once = true;
    } else if (strcmp(word, "--rw") == 0) {
        o->writes = true;
    } else if (strcmp(word, "--ascii") == 0) {
        o->ascii = true;
    } else if (strncmp(word, "--every=", 8) == 0) {
        if (!usher__parse_span(word + 8, TOP_EVERY_MIN_MS, TOP_EVERY_MAX_MS, &o->every_ms))
            return "is not a duration from 1s to 60s";
    } else if (usher__thresholds_has(word)) {
        return usher__thresholds_set(&o->thresholds, word);
    } else if (word[0] == '-' || strchr(word, '=') != NULL) {
        return "is not an option of `top`";
    } else if (o->only[0] != '\0') {
        return "is one word too many: a noun, or NOUN/NAME";
    } else {
        o->only = word;
    }
    return NULL;
}

static int fault_in(const struct cli *cli, const char *word, const char *fault)
{
    char quoted[PARSE_QUOTE_MAX];

    return usher__cli_fail(cli, USHER_INVALID, "`%s` %s", usher__quote(quoted, word), fault);
}

static bool is_utf8(void)
{
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

static bool has_terminal(void)
{
    const char *term = getenv("TERM");

    return isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 && term != NULL &&
           *term != '\0' && strcmp(term, "dumb") != 0;
}

static size_t width_of_output(void)
{
    struct winsize size;

    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col
                                                                           : ONCE_WIDTH;
}

/* Print a line without its inks, and without blanks at its end. */
static void print_line(const struct out *line)
{
    size_t size = usher__out_size(line), owed = 0;

    for (size_t i = 0; i < size; i++) {
        char c = line->data[i];

        if (c == ' ') {
            owed++;
        } else if ((unsigned char)c >= INKS) {
            printf("%*s%c", (int)owed, "", c);
            owed = 0;
        }
    }
    putchar('\n');
}

/* Print the overview, or @json.  Return whether there is an alarm. */
static bool print_once(const struct cli *cli, const struct top_options *o, const char *json)
{
    struct view v = { .once = true, .filter = "", .cursor = "", .notice = "", .held_ms = -1 };
    struct page p = { NULL, 0, 0 };
    struct model m;
    bool alarm;

    usher__top_model_begin(&m);
    m.thresholds = o->thresholds;
    v.ascii = o->ascii;
    v.only = o->only[0] != '\0';
    v.width = width_of_output();
    usher__top_model_take(&m, json);
    v.wall_ms = v.clock_ms = m.at_ms;
    usher__top_model_judge(&m, m.at_ms, 0);
    usher__top_model_order(&m, 0, true);
    if (cli->json)
        puts(json);
    else
        (void)usher__top_overview(&p, &m, &v);
    for (size_t i = 0; i < p.n; i++)
        print_line(&p.lines[i]);
    alarm = m.levels[LEVEL_ALARM] > 0;
    usher__top_page_done(&p);
    usher__top_model_done(&m);
    return alarm;
}

/* Print the state once.  An alarm is exit code 1. */
static int once(struct cli *cli, const struct top_options *o, struct snapshot *sn)
{
    char message[CLI_MESSAGE_MAX], store[16];
    const char *json = usher__snapshot_read(sn, message), *at;
    bool alarm;

    if (json == NULL)
        return usher__cli_fail(cli, USHER_UNAVAILABLE, "%s", message);
    at = usher__json_find(json, "store");
    usher__top_unquote(store, sizeof store, at != NULL ? at : "\"\"");
    if (strcmp(store, "unavailable") == 0 && !cli->json)
        return usher__cli_fail(cli, USHER_UNAVAILABLE, "the store does not answer");
    at = usher__json_find(json, "scopes");
    if (strcmp(store, "ok") == 0 && strchr(o->only, '/') != NULL && at != NULL && at[1] == ']')
        return usher__cli_fail(cli, USHER_MISSING, "there is no %s", o->only);
    alarm = print_once(cli, o, json);
    if (strcmp(store, "unavailable") == 0 || (strcmp(store, "partial") == 0 && cli->json))
        return usher__cli_exit_code(USHER_UNAVAILABLE);
    if (strcmp(store, "partial") == 0)
        return usher__cli_fail(cli, USHER_UNAVAILABLE,
                               "a part of the store does not answer: these are not all scopes");
    return alarm ? 1 : 0;
}

int usher__top(struct cli *cli, char *const *words, size_t n)
{
    struct top_options o = { .only = "", .every_ms = TOP_EVERY_MIN_MS };
    char word[USHER_NAME_MAX + 1];
    struct snapshot *sn;
    const char *fault;
    int rc;

    usher__thresholds_begin(&o.thresholds);
    for (size_t i = 1; i < n; i++)
        if ((fault = option(&o, words[i])) != NULL)
            return fault_in(cli, words[i], fault);
    (void)setlocale(LC_CTYPE, "");
    o.ascii = o.ascii || !is_utf8();
    o.once = o.once || cli->json || cli->shell || !has_terminal();
    rc = usher__cli_reach(cli, CLI_LOOKS);
    if (rc != 0)
        return rc;
    sn = usher__snapshot_new(cli, o.only, &fault, word);
    if (sn == NULL)
        return fault_in(cli, word, fault);
    if (!o.once)
        return usher__top_live(cli, &o, sn);
    rc = once(cli, &o, sn);
    if (!usher__snapshot_free(sn)) {
        (void)fflush(NULL);
        _exit(rc);
    }
    return rc;
}
