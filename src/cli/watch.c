/* SPDX-License-Identifier: MIT */
/*
 * usher watch SCOPE…: print notices as changes happen.
 *
 * In the shell they are the notices of changes by its own commands, on scopes of any noun.
 * Otherwise they are read from the log of the scope, so they may be of any process, on any store.
 * With --every= the log is read at that interval.  Without it a watcher of the library follows the
 * log, and subscribes if the store publishes changes; each of its events makes this code read the
 * log.  A log is bounded: a reader that is too late gets a remark about missing notices.
 */
#include "config.h"

#include "cli/cli.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/answer.h"
#include "cli/csv.h"
#include "cli/parse.h"
#include "cli/progress.h"
#include "cli/remote.h"
#include "cli/run.h"
#include "core/changes.h"
#include "core/pack.h"
#include "core/text.h"

#define SCOPES_MAX 64
#define EVERY_MS 500  /* without --every=, if no watcher can be made */
#define CHECK_MS 5000 /* the log is read at least this often, because the store may have failed */
#define PAGE 100

struct followed {
    const char *scope, *name; /* "room/R", and R in it */
    enum usher_noun noun;
    bool begun; /* epoch and version are known */
    bool there;
    uint64_t epoch, version;
    struct usher_watcher *watcher; /* NULL: none */
    bool due;                      /* read its log */
    bool listens;                  /* to its changes on a server */
};

struct watching {
    struct cli *cli;
    struct followed of[SCOPES_MAX];
    size_t n;
    bool once, has_max, has_since;
    uint64_t left; /* notices to print, with has_max */
    uint64_t since;
    int64_t every_ms; /* 0: when a watcher has an event */
    int64_t for_ms;   /* < 0: for ever */
    int rc;
};

/* ---- one notice ------------------------------------------------------------------- */

/* Print @value, field @name in the data of @n.  Two of the fields of a user in a queue are
 * times. */
static void value_plain(const struct usher_notice *n, const struct usher_text *name,
                        const struct usher_text *value)
{
    static const struct usher_text times[] = { { "since", 5 }, { "agent_until", 11 } };
    char text[CLI_TIME_MAX], digits[24];

    for (size_t i = 0; i < 2 && usher_notice_subject(n) == USHER_SUBJECT_USER; i++)
        if (usher__text_equal(name, &times[i]) && value->size < sizeof digits) {
            memcpy(digits, value->data, value->size);
            digits[value->size] = '\0';
            fputs(usher__time_text(text, strtoll(digits, NULL, 10)), stdout);
            return;
        }
    usher__plain_text(stdout, value->data, value->size);
}

static void notice_plain(const struct usher_notice *n)
{
    struct usher_fields f;
    struct usher_text name, value;
    char text[CLI_TIME_MAX];
    uint64_t version;

    printf("%s/", usher_noun_word(n->noun));
    usher__plain_text(stdout, n->scope.data, n->scope.size);
    printf(" %" PRIu64 ": %s", n->version, usher_verb_word(n->verb));
    if (n->subject.size != 0) {
        putchar(' ');
        usher__plain_text(stdout, n->subject.data, n->subject.size);
    }
    if (n->owner.size != 0) {
        fputs(" owner=", stdout);
        usher__plain_text(stdout, n->owner.data, n->owner.size);
    }
    if (n->until_ms != USHER_NONE && n->mark == 0) /* with a mark it is the heartbeat of a member */
        printf(" until=%s", usher__time_text(text, n->until_ms));
    f = usher__fields(&n->data);
    while (n->data.size > 1 && usher_fields_next(&f, &name, &value, &version)) {
        putchar(' ');
        usher__plain_text(stdout, name.data, name.size);
        putchar('=');
        value_plain(n, &name, &value);
    }
    putchar('\n');
}

static void print(const struct cli *cli, const struct usher_notice *n)
{
    if (cli->json)
        usher__answer_notice(stdout, n);
    else if (cli->csv)
        usher__csv_notice(stdout, n);
    else
        notice_plain(n);
}

/* ---- changes of this process -------------------------------------------------------------- */

static void told(void *payload, const struct usher_notice *n)
{
    print(payload, n);
}

static int listen_to(struct cli *cli, char *const *words, size_t n)
{
    struct usher_watcher *watch; /* closed with the engine */
    struct json j = { stdout, false };

    for (size_t i = 0; i < n; i++) {
        const char *slash = strchr(words[i], '/');
        enum usher_noun noun = (enum usher_noun)0;
        const struct usher__noun *of;
        enum usher_status status;

        for (unsigned k = 0; (of = usher__noun_at(k)) != NULL; k++)
            if (strlen(of->word) == (size_t)(slash - words[i]) &&
                memcmp(of->word, words[i], strlen(of->word)) == 0)
                noun = (enum usher_noun)of->noun;
        status = usher_watch(cli->engine, noun, slash + 1, told, cli, &watch);
        if (status != USHER_OK)
            return usher__cli_fail(cli, status, "%s", usher_message());
    }
    if (!cli->json) {
        printf("ok: %zu scope%s watched\n", n, n == 1 ? "" : "s");
        return 0;
    }
    putchar('{');
    usher__json_text(&j, "status", usher_status_word(USHER_OK));
    usher__json_uint(&j, "watched", n);
    puts("}");
    return 0;
}

/* ---- the log ------------------------------------------------------------------- */

static uint64_t since_of(const struct usher_reply *reply)
{
    int64_t since = usher_reply_int(reply, USHER_ANSWER, USHER_FIELD_SINCE_VERSION);

    return since > 0 ? (uint64_t)since : 0;
}

/* Print a line that is no notice: a gap, a missing scope or log, or a store that lost changes. */
static void remark(struct watching *w, const struct followed *f, enum usher_status status,
                   const struct usher_reply *reply)
{
    struct json j = { stdout, false };

    w->rc = usher__cli_exit_code(status);
    if (!w->cli->json) {
        fprintf(w->cli->csv ? stderr : stdout, "%s: %s\n", f->scope,
                status == USHER_REFUSED ? reply->message
                : status == USHER_STALE
                    ? "notices are missing: the log does not reach back that far"
                : status == USHER_LOST ? "the store has lost the last notices; from the log's "
                                         "beginning:"
                                       : "there is no such scope");
        return;
    }
    if (status == USHER_LOST) { /* without an epoch or a version */
        putchar('{');
        usher__json_text(&j, "status", usher_status_word(status));
    } else {
        usher__answer_begin(&j, status, reply->epoch, reply->version, reply->due_ms, reply->now_ms);
    }
    usher__json_text(&j, "scope", f->scope);
    if (status == USHER_REFUSED)
        usher__json_text(&j, "message", reply->message);
    else if (status == USHER_STALE)
        usher__json_uint(&j, "from", since_of(reply));
    else if (status == USHER_LOST)
        usher__json_uint(&j, "from", reply->version);
    puts("}");
}

/* Print the rows of @reply.  Return whether there are more. */
static bool print_rows(struct watching *w, struct followed *f, const struct usher_reply *reply)
{
    struct usher_text name = { f->name, strlen(f->name) };

    for (size_t i = 0; i < reply->n_rows && (!w->has_max || w->left > 0); i++) {
        struct usher_text value = { "", 0 };
        struct usher_notice n;

        value.data = usher_reply_text(reply, i, USHER_FIELD_VALUE, &value.size);
        if (value.data == NULL ||
            usher_notice_read(f->noun, &name, reply->epoch, &value, &n) != USHER_OK)
            continue;
        print(w->cli, &n);
        f->version = n.version;
        w->left -= w->has_max;
    }
    return reply->more;
}

/* Begin after since=, else after the current version. */
static void begin(const struct watching *w, struct followed *f, const struct usher_reply *reply)
{
    f->begun = f->there = true;
    f->epoch = reply->epoch;
    f->version = w->has_since ? w->since : reply->version;
}

/* Process one answer of the log.  Return false if there is nothing more for now. */
static bool follow(struct watching *w, struct followed *f, const struct usher_reply *reply)
{
    if (reply->status == USHER_LOST &&
        f->version != 0) { /* the first lost notice is not known: read all */
        remark(w, f, USHER_LOST, reply);
        f->version = 0;
        return true;
    }
    switch (reply->status) {
    case USHER_MISSING:
        if (f->there || !f->begun)
            remark(w, f, USHER_MISSING, reply);
        f->begun = true;
        f->there = false;
        f->version = 0; /* print all notices of the next scope of this name */
        return false;
    case USHER_REFUSED: /* no log: there will be no notices */
        remark(w, f, USHER_REFUSED, reply);
        w->once = true;
        return false;
    case USHER_OK:
    case USHER_STALE:
        break;
    default:
        w->rc = usher__cli_fail(w->cli, reply->status, "%s", reply->message);
        w->once = true;
        return false;
    }
    if (!f->begun) {
        begin(w, f, reply);
        return true;
    }
    if (!f->there || !usher__changes_go_on(f->epoch, f->version, reply->epoch, reply->version)) {
        /* another scope: from its beginning */
        f->there = true;
        if (f->version != 0) {
            f->epoch = reply->epoch;
            f->version = 0;
            return true;
        }
    }
    f->epoch = reply->epoch;
    if (reply->status == USHER_STALE) {
        remark(w, f, USHER_STALE, reply);
        f->version = f->version > reply->version ? reply->version : since_of(reply);
        return true;
    }
    return print_rows(w, f, reply);
}

static void poll_one(struct watching *w, struct followed *f)
{
    bool more = true;

    while (more && (!w->has_max || w->left > 0)) {
        struct usher_text name = { f->name, strlen(f->name) };
        struct usher_operation changes;
        struct usher_reply *reply;

        usher__changes_ask(&changes, f->noun, &name, f->begun ? f->version : 0,
                           f->begun ? PAGE : 1);
        usher__run_execute(w->cli, &changes, &reply, 1);
        more = follow(w, f, reply);
        usher_reply_done(reply);
    }
}

/* Without memory for a watcher the log is read every half second. */
static bool watchers_begin(struct watching *w)
{
    bool all = true;

    for (size_t i = 0; i < w->n; i++) {
        struct followed *f = &w->of[i];

        if (f->watcher == NULL)
            (void)usher_watch_events(w->cli->engine, f->noun, f->name,
                                     USHER_WATCH_SINCE | USHER_WATCH_ALL, f->version, f,
                                     &f->watcher);
        all = all && f->watcher != NULL;
    }
    return all;
}

static void watchers_end(struct watching *w)
{
    for (size_t i = 0; i < w->n; i++)
        usher_unwatch(w->cli->engine, w->of[i].watcher);
}

/* The server confirms a subscription and sends the changes of all processes; each time the log is
 * read. */
static void remote_wait(struct watching *w, int64_t ms)
{
    int64_t every_ms = w->every_ms != 0 ? w->every_ms : CHECK_MS;

    for (size_t i = 0; w->every_ms == 0 && i < w->n; i++) {
        struct followed *f = &w->of[i];

        f->listens = f->listens || usher__remote_listen(w->cli->remote, f->scope);
        if (!f->listens)
            every_ms = EVERY_MS;
    }
    if (!usher__remote_wait(w->cli->remote, ms < every_ms ? ms : every_ms))
        for (size_t i = 0; i < w->n; i++)
            w->of[i].listens = false;
}

/* Wait at most @ms until a log has to be read. */
static void wait_for_change(struct watching *w, int64_t ms)
{
    bool watches = w->every_ms == 0 && w->cli->remote == NULL && watchers_begin(w);
    const struct usher_event *event = NULL;

    if (w->cli->remote != NULL) {
        remote_wait(w, ms);
    } else if (watches) {
        event = usher_collect(w->cli->engine, ms < CHECK_MS ? ms : CHECK_MS);
    } else {
        int64_t every_ms = w->every_ms != 0 ? w->every_ms : EVERY_MS;
        struct timespec pause = { (time_t)(every_ms / 1000), (long)(every_ms % 1000) * 1000000 };

        (void)nanosleep(&pause, NULL);
    }
    for (size_t i = 0; i < w->n; i++)
        w->of[i].due = event == NULL;
    for (; event != NULL; event = usher_collect(w->cli->engine, 0)) {
        ((struct followed *)event->tag)->due = true;
        usher_event_done(event);
    }
}

static int poll_all(struct watching *w)
{
    int64_t end = usher__clock_us() / 1000 + w->for_ms;

    for (size_t i = 0; i < w->n; i++)
        w->of[i].due = true;
    for (;;) {
        int64_t left_ms = w->for_ms < 0 ? CHECK_MS : end - usher__clock_us() / 1000;

        for (size_t i = 0; i < w->n; i++)
            if (w->of[i].due)
                poll_one(w, &w->of[i]);
        if (fflush(stdout) != 0 || w->once || (w->has_max && w->left == 0) ||
            (w->for_ms >= 0 && left_ms <= w->every_ms))
            break;
        wait_for_change(w, left_ms);
    }
    watchers_end(w);
    return w->rc;
}

/* ---- words ------------------------------------------------------------------------ */

/* Return NULL, or the fault in the word of a scope. */
static const char *scope_fault(struct followed *f, const char *word)
{
    const char *slash = strchr(word, '/'), *fault;
    const struct usher__noun *of;
    char noun[16];

    if (slash == NULL || (size_t)(slash - word) >= sizeof noun)
        return "is not NOUN/NAME, as in room/R";
    (void)snprintf(noun, sizeof noun, "%.*s", (int)(slash - word), word);
    of = usher__noun_by_word(noun);
    if (of == NULL || of->hidden)
        return "has an unknown noun: write NOUN/NAME, as in room/R";
    fault = usher__scope_fault(slash + 1, strlen(slash + 1));
    if (fault != NULL)
        return fault;
    f->scope = word;
    f->name = slash + 1;
    f->noun = (enum usher_noun)of->noun;
    return NULL;
}

/* Read one option.  Return NULL, or the fault in it. */
static const char *option(struct watching *w, const char *word)
{
    const char *value;
    int64_t n;

    if (strcmp(word, "--once") == 0) {
        w->once = true;
        return NULL;
    }
    value = strchr(word, '=');
    if (value == NULL)
        return "is not an option of `watch`";
    value++;
    if (strncmp(word, "--max=", 6) == 0) {
        if (!usher__parse_int(value, 1, USHER_EXACT_MAX, &n))
            return "is not a number from 1";
        w->has_max = true;
        w->left = (uint64_t)n;
    } else if (strncmp(word, "--since=", 8) == 0) {
        if (!usher__parse_int(value, 0, USHER_EXACT_MAX, &n))
            return "is not a version";
        w->has_since = true;
        w->since = (uint64_t)n;
    } else if (strncmp(word, "--every=", 8) == 0) {
        if (!usher__parse_span(value, 10, 3600000, &w->every_ms))
            return "is not a duration from 10 to 3600000 " PARSE_SPANS;
    } else if (strncmp(word, "--for=", 6) == 0) {
        if (!usher__parse_span(value, 0, USHER_SPAN_MAX, &w->for_ms))
            return "is not a duration in " PARSE_SPANS;
    } else {
        return "is not an option of `watch`";
    }
    return NULL;
}

int usher__cli_watch(struct cli *cli, char *const *words, size_t n)
{
    struct watching w;
    char quoted[PARSE_QUOTE_MAX];
    size_t scopes = 1;
    bool polls;
    int rc;

    memset(&w, 0, sizeof w);
    w.cli = cli;
    w.for_ms = -1;
    while (scopes < n && strncmp(words[scopes], "--", 2) != 0)
        scopes++;
    for (size_t i = scopes; i < n; i++) {
        const char *fault = option(&w, words[i]);

        if (fault != NULL)
            return usher__cli_fail(cli, USHER_INVALID, "`%s` %s", usher__quote(quoted, words[i]),
                                   fault);
    }
    polls = !cli->shell || scopes < n;
    if (polls && cli->shell && !w.once && !w.has_max && w.for_ms < 0)
        return usher__cli_fail(cli, USHER_INVALID,
                               "in the shell, --once, --max= or --for= is required");
    if (scopes == 1)
        return usher__cli_fail(cli, USHER_INVALID, "scope is missing: NOUN/NAME, as in room/R");
    if (scopes - 1 > SCOPES_MAX)
        return usher__cli_fail(cli, USHER_INVALID, "more than %d scopes", SCOPES_MAX);
    for (size_t i = 1; i < scopes; i++) {
        const char *fault = scope_fault(&w.of[w.n], words[i]);

        if (fault != NULL)
            return usher__cli_fail(cli, USHER_INVALID, "scope `%s` %s",
                                   usher__quote(quoted, words[i]), fault);
        w.n++;
    }
    rc = polls ? usher__cli_reach(cli, CLI_LOOKS) : usher__cli_open(cli, CLI_WRITES);
    if (rc != 0)
        return rc;
    if (cli->csv)
        usher__csv_notices(stdout);
    return polls ? poll_all(&w) : listen_to(cli, words + 1, scopes - 1);
}
