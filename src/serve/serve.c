/* SPDX-License-Identifier: MIT */
/* usher serve: its options, and what is opened and closed. */
#include "config.h"

#include "serve/scrape.h"
#include "serve/serve.h"
#include "serve/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/remote.h"
#include "parse/parse.h"

#define LISTEN_DEFAULT "unix:usher.sock"
#define FILES_BESIDE ((size_t)64) /* descriptors that are no clients: the store, who listens */

/* As many files as clients may come.  Fewer clients, where that is not allowed. */
static void allow_files(struct server *s)
{
    size_t beside = FILES_BESIDE + (s->http != NULL ? s->limits.viewers : 0);
    rlim_t wanted = s->limits.clients + beside;
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= wanted)
        return;
    files.rlim_cur =
        files.rlim_max == RLIM_INFINITY || files.rlim_max > wanted ? wanted : files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
    (void)getrlimit(RLIMIT_NOFILE, &files);
    if (files.rlim_cur >= wanted)
        return;
    s->limits.clients =
        files.rlim_cur > 2 * beside ? (size_t)files.rlim_cur - beside : FILES_BESIDE;
    usher__serve_say("no more than %zu clients, because of the limit of open files",
                     s->limits.clients);
}

/* @word is one of the limits.  False: it is that, and wrong; *@ret_fault says how. */
static bool limit(struct limits *l, const char *word, const char **ret_fault)
{
    const struct {
        const char *key, *fault;
        size_t *at;
        int64_t min, max;
    } limits[] = {
        { "--clients=", "is not a number from 1 to 100000", &l->clients, 1, 100000 },
        { "--command=", "is not a number from 1024 to 16777216", &l->command.bytes, 1024,
          16777216 },
        { "--words=", "is not a number from 8 to 65536", &l->command.words, 8, 65536 },
        { "--out=", "is not a number from 1024 to 1073741824", &l->out, 1024, 1073741824 },
        { "--channels=", "is not a number from 1 to 1000000", &l->channels, 1, 1000000 },
        { "--tended=", "is not a number from 0 to 1000000", &l->tended, 0, 1000000 },
        { "--viewers=", "is not a number from 0 to 10000", &l->viewers, 0, 10000 },
        { "--metrics=", "is not a number from 0 to 1000000", &l->metrics, 0, 1000000 },
    };
    int64_t number;

    *ret_fault = NULL;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        size_t size = strlen(limits[i].key);

        if (strncmp(word, limits[i].key, size) != 0)
            continue;
        if (usher__parse_int(word + size, limits[i].min, limits[i].max, &number))
            *limits[i].at = (size_t)number;
        else
            *ret_fault = limits[i].fault;
        return true;
    }
    if (strncmp(word, "--idle=", 7) != 0 && strncmp(word, "--slow=", 7) != 0)
        return false;
    if (!usher__parse_span(word + 7, 0, USHER_SPAN_MAX, word[2] == 'i' ? &l->idle_ms : &l->slow_ms))
        *ret_fault = "is not a duration in " PARSE_SPANS;
    return true;
}

/* One option.  NULL, or what is wrong with it. */
static const char *option(struct server *s, const char *word, const char **ret_http)
{
    const char *fault;

    if (limit(&s->limits, word, &fault))
        return fault;
    if (strncmp(word, "--listen=", 9) == 0)
        return NULL; /* when the store is open */
    if (strncmp(word, "--auth-file=", 12) == 0)
        return usher__secret_read(word + 12, s->secret);
    if (strncmp(word, "--http=", 7) == 0) {
        *ret_http = word + 7;
        return NULL;
    }
    return "is not an option of `serve`";
}

static int fail(const struct server *s, const char *word, const char *fault)
{
    char quoted[PARSE_QUOTE_MAX];

    return usher__cli_fail(s->cli, USHER_INVALID, "`%s` %s", usher__quote(quoted, word), fault);
}

/* Returns 0, or the exit code when it has said what is wrong. */
static int open_sockets(struct server *s, char *const *words, size_t n, const char *http)
{
    const char *fault = usher__serve_inherit(s);

    if (fault != NULL)
        return usher__cli_fail(s->cli, USHER_INVALID, "%s", fault);
    for (size_t i = 1; i < n; i++)
        if (strncmp(words[i], "--listen=", 9) == 0 &&
            (fault = usher__serve_listen(s, words[i] + 9)) != NULL)
            return fail(s, words[i], fault);
    if (s->n_listeners == 0 && (fault = usher__serve_listen(s, LISTEN_DEFAULT)) != NULL)
        return fail(s, LISTEN_DEFAULT, fault);
    if (http != NULL && (fault = usher__serve_http_open(s, http)) != NULL)
        return fail(s, http, fault);
    return 0;
}

static void greet(const struct server *s)
{
    char address[160];

    for (size_t i = 0; i < s->n_listeners; i++) {
        usher__serve_address(s->listeners[i].fd, address, sizeof address);
        usher__serve_say("serving on %s", address);
    }
}

static void done(struct server *s, int rc)
{
    if (!usher__serve_work_end(s)) {
        usher__serve_say("a check of the store is abandoned");
        (void)fflush(NULL);
        _exit(rc);
    }
    usher__serve_http_close(s);
    usher__serve_deaf(s);
    usher__scrape_free_all(s);
    usher__state_free(s);
    usher__out_done(&s->text);
    usher__serve_tend_done(s);
    (void)usher__cli_resize((void *)s->clients, 0);
    (void)usher__cli_resize(s->polled, 0);
    (void)usher__cli_resize((void *)s->word, 0);
    (void)usher__cli_resize(s->size, 0);
    (void)usher__cli_resize(s, 0);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The words and bytes that a client may send before its password are no more than afterwards: there
 * is room for those alone. */
static void limit_unknown(struct limits *l)
{
    l->unknown.words = least(10, l->command.words);
    l->unknown.bytes = least(16384, l->command.bytes);
}

int usher__cli_serve(struct cli *cli, char *const *words, size_t n)
{
    struct server *s = usher__cli_resize(NULL, sizeof *s);
    const char *http = NULL, *fault;
    int rc = 0;

    memset(s, 0, sizeof *s);
    s->cli = cli;
    cli->serves = true;
    s->limits = (struct limits){ .clients = 1000,
                                 .command = { 1024, 1048576 },
                                 .out = 33554432,
                                 .slow_ms = 30000,
                                 .channels = 10000,
                                 .tended = 10000,
                                 .metrics = 10000,
                                 .viewers = 100 };
    s->figures.began_ms = usher__serve_now_ms();
    for (size_t i = 1; rc == 0 && i < n; i++)
        if ((fault = option(s, words[i], &http)) != NULL)
            rc = fail(s, words[i], fault);
    if (rc == 0 && cli->shell)
        rc = usher__cli_fail(cli, USHER_INVALID, "this is the shell");
    limit_unknown(&s->limits);
    s->word = usher__cli_resize(NULL, s->limits.command.words * sizeof *s->word);
    s->size = usher__cli_resize(NULL, s->limits.command.words * sizeof *s->size);
    if (rc == 0)
        rc = usher__cli_open(cli, CLI_WRITES);
    if (rc == 0)
        rc = open_sockets(s, words, n, http);
    if (rc == 0) {
        allow_files(s);
        greet(s);
        usher__serve_loop(s);
        if (s->gone[0] != '\0') {
            usher__serve_say("the store is gone: %s", s->gone);
            rc = 1;
        }
        usher__serve_say("stopped");
    }
    done(s, rc);
    return rc;
}
