/* SPDX-License-Identifier: MIT */
/* Options of the program, and the table of commands by their first word. */
#include "config.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/answer.h"
#include "cli/cli.h"
#include "cli/csv.h"
#include "cli/json.h"
#include "cli/parse.h"
#include "cli/remote.h"
#include "core/verbs.h"
#include "lab/lab.h"
#include "serve/serve.h"
#include "top/top.h"

static int shell_words(struct cli *cli, char *const *words, size_t n)
{
    char quoted[PARSE_QUOTE_MAX];
    int rc;

    if (cli->shell)
        return usher__cli_fail(cli, USHER_INVALID, "this is the shell");
    for (size_t i = 1; i < n; i++) {
        if (strcmp(words[i], "-e") != 0)
            return usher__cli_fail(cli, USHER_INVALID, "`%s` is not an argument of `shell`",
                                   usher__quote(quoted, words[i]));
        cli->strict = true;
    }
    cli->shell = true;
    if (isatty(STDIN_FILENO) != 1)
        cli->json = true;
    rc = usher__cli_reach(cli, CLI_LOOKS);
    return rc != 0 ? rc : usher__cli_shell(cli);
}

const struct cli_program usher__cli_programs[] = {
    { "shell", shell_words, "[-e]",
      "run commands from standard input; -e: stop at the first that is not ok or same" },
    { "check", usher__cli_check, "[--repair]",
      "check all invariants of the store; --repair: repair what can be repaired" },
    { "scopes", usher__cli_run, "[NOUN] [after=NEXT] [max=N]",
      "list the scopes of the store: pools, queues, rooms, rules, dispensers\n"
      "\n"
      "  NOUN        only this noun: number, queue, room, serial, id\n"
      "  after       continue where a page ended: its next\n"
      "  max         one page of at most this number of scopes (1 to 10000); without it all\n"
      "              scopes are listed, in order\n"
      "\n"
      "On Redis the scopes of a page come in no order, and next is a text for that store only.  In\n"
      "a cluster one may be in two pages.  Elsewhere next is NOUN/NAME, and any name can be given.\n"
      "\n"
      "Each scope has its version, the time of its next expiry (due), and a count of its content:\n"
      "numbers, agents and users, members, serials that are held.\n" },
    { "drop", usher__cli_drop, "NOUN/NAME [--yes]",
      "erase a scope with all its content; other scopes stay available\n"
      "\n"
      "  --yes       without a confirmation; required where there is no terminal\n"
      "\n"
      "Commands on its holds are missing from then on.  A queue whose visits wait for the history\n"
      "(archive=) must be drained first; visits in a history stay.  A rule, and with an authority\n"
      "a dispenser, continues after what it has issued if it is created again.\n" },
    { "status", usher__cli_status, "",
      "show the servers of the store, what a crash would lose, and what is closed or stopped" },
    { "tables", usher__cli_tables, "NOUN [--dot|--markdown|--lua]",
      "print the transition table of a noun" },
    { "lua", usher__cli_lua, "NOUN",
      "print the Redis script of a noun, for SCRIPT LOAD\n"
      "Any Redis client can call it, with the three keys of the scope in this order:\n\n"
      "  EVALSHA sha 3 {desk}:number {desk}:number:index {desk}:number:held call owner ann\n"
      "  EVALSHA sha 3 {desk}:queue {desk}:queue:index {desk}:queue:held apply zoe lane sales\n"
      "  EVALSHA sha 3 {hall}:room {hall}:room:index {hall}:room:held join ann\n"
      "  EVALSHA sha 3 {inv}:serial {inv}:serial:index {inv}:serial:held take n 3\n"
      "  EVALSHA sha 3 {orders}:id {orders}:id:index {orders}:id:held next n 5\n\n"
      "sha is the answer of SCRIPT LOAD; each key begins with the prefix= of the store.  The verb is\n"
      "followed by its required arguments, then by pairs of a key and a value.  On a server outside\n"
      "of a cluster one key is enough: EVALSHA sha 1 {desk} call owner ann\n"
      "The answer is a list of names and values; rows are last, each a list of the same kind.  With\n"
      "json 1 it is the JSON that usher --json prints.\n" },
    { "replay", usher__lab,
      "FILE [--format=technion|csv] [--agents=N|recorded] [--patience=recorded|measured] "
      "[--lines=N] [--target=PERCENT/TIME] [--seed=N] [--speed=N] "
      "[--report=text|json|html] [--pool=NAME] "
      "[--batch=N] [--zone=MIN] [--strict]",
      "replay recorded calls through the store in virtual time" },
    { "trace", usher__lab,
      "[--calls=N] [--lambda=PER_HOUR] [--agents=N] [--lines=N] [--service=S | --mu=PER_HOUR] "
      "[--patience=S | --theta=PER_HOUR] [--start=YYYY-MM-DD] [--seed=N]",
      "generate random calls, as CSV: a day, or with --agents a centre with waiting callers" },
    { "watch", usher__cli_watch,
      "NOUN/NAME... [--since=V] [--max=N] [--once] [--every=MS] [--for=MS]",
      "print changes as they happen: of rooms and of other scopes with a log, from any process" },
    { "serve", usher__cli_serve,
      "[--listen=unix:PATH|HOST:PORT]... [--http=HOST:PORT] [--auth-file=FILE] [--clients=N] "
      "[--command=BYTES] [--words=N] [--out=BYTES] [--channels=N] [--tended=N] [--metrics=N] "
      "[--slow=MS] [--idle=MS]",
      "serve the store to Redis clients on this machine" },
    { "top", usher__top,
      "[NOUN | NOUN/NAME] [--every=MS] [--rw] [--once] [--ascii] [THRESHOLD=WARNING,ALARM]...",
      "show the scopes of the store, what is wrong first" },
    { "version", usher__cli_version, "", "print the version and the stores that are built in" },
    { "complete", usher__cli_complete, "LINE",
      "print the words that can stand at the end of a command line; bash calls it for Tab" },
    { "help", usher__cli_help, "[TOPIC [VERB]]", "print this text, or help on a topic" },
    { NULL, NULL, NULL, NULL },
};

const struct cli_verb usher__cli_verbs[] = {
    { "number", "import", usher__cli_import, "POOL FILE [up=0|1] [group=G]",
      "add the numbers in a file, one a line (- is standard input); up=1 also registers them" },
    { "number", "digest", NULL, NULL, NULL },
    { "queue", "digest", NULL, NULL, NULL },
    { "room", "list", NULL, NULL, NULL },
    { "room", "patrol", NULL, NULL, NULL },
    { "room", "digest", NULL, NULL, NULL },
    { "serial", "list", NULL, NULL, NULL },
    { "serial", "journal", NULL, NULL, NULL },
    { "serial", "digest", NULL, NULL, NULL },
    { "id", "digest", NULL, NULL, NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

const struct cli_verb *usher__cli_verb(const char *noun, const char *word)
{
    for (const struct cli_verb *v = usher__cli_verbs; v->word != NULL; v++)
        if (strcmp(v->noun, noun) == 0 && strcmp(v->word, word) == 0)
            return v;
    return NULL;
}

/* Print a line of the library's log to standard error.  Notices are printed only by commands that
 * set @notices, because they would repeat with each command what the user knows. */
static void log_line(void *payload, enum usher_log_level level, const char *line)
{
    const struct cli *cli = payload;

    if (level < (cli->notices ? USHER_LOG_NOTICE : USHER_LOG_WARNING))
        return;
    if (cli->serves)
        usher__serve_say("%s", line);
    else
        fprintf(stderr, "usher: %s\n", line);
}

/* Return the URL @store with create=0 if it is a file, so that a missing file is not created.  The
 * caller frees it. */
static char *as_it_is(const char *store)
{
    static const char option[] = "create=0";
    size_t length = strlen(store);
    char *url = usher__cli_resize(NULL, length + sizeof option + 1);
    const char *query = strchr(store, '?');

    memcpy(url, store, length + 1);
    if (strncmp(store, "sqlite:", 7) != 0 ||
        (query != NULL && (strstr(query, "?create=") != NULL || strstr(query, "&create=") != NULL)))
        return url;
    url[length] = query != NULL ? '&' : '?';
    memcpy(url + length + 1, option, sizeof option);
    return url;
}

static enum usher_status open_url(struct cli *cli, const char *url)
{
    struct usher_options opt = USHER_OPTIONS_INIT;

    opt.log = log_line;
    opt.payload = cli;
    opt.clock_given = cli->clock_given;
    opt.timeout_ms = cli->timeout_ms;
    return usher_open(url, &opt, &cli->engine);
}

static void close_store(struct cli *cli)
{
    usher_close(cli->engine);
    cli->engine = NULL;
    cli->stands_in = false;
    usher__remote_close(cli->remote);
    cli->remote = NULL;
}

int usher__cli_missing(const struct cli *cli, const char *message)
{
    struct json j = { stdout, false };

    if (!cli->json)
        return usher__cli_fail(cli, USHER_MISSING, "%s", message);
    /* a missing store has a version, like any other answer */
    usher__answer_begin(&j, USHER_MISSING, 0, 0, USHER_NEVER, 0);
    usher__json_text(&j, "message", message);
    puts("}");
    return usher__cli_exit_code(USHER_MISSING);
}

static int say_why_not(const struct cli *cli, enum usher_status status)
{
    return status == USHER_MISSING ? usher__cli_missing(cli, usher_message())
                                   : usher__cli_fail(cli, status, "%s", usher_message());
}

enum usher_status usher__cli_try(struct cli *cli, enum cli_use use)
{
    enum usher_status status;
    char *url;

    if (cli->stands_in && use == CLI_WRITES)
        close_store(cli);
    if (cli->engine != NULL)
        return USHER_OK;
    if (use == CLI_WRITES) {
        status = open_url(cli, cli->store);
    } else {
        url = as_it_is(cli->store);
        status = open_url(cli, url);
        (void)usher__cli_resize(url, 0);
        /* In the shell a store that does not exist yet answers as an empty one, because a later
         * line may create it. */
        if (status == USHER_MISSING && cli->shell) {
            status = open_url(cli, "memory:");
            cli->stands_in = true;
        }
    }
    return status;
}

enum usher_status usher__cli_connect(struct cli *cli, char message[CLI_MESSAGE_MAX])
{
    return cli->remote != NULL ? USHER_OK : usher__remote_open(cli->store, &cli->remote, message);
}

int usher__cli_reach(struct cli *cli, enum cli_use use)
{
    char message[CLI_MESSAGE_MAX];
    enum usher_status status;

    if (!usher__remote_is(cli->store))
        return usher__cli_open(cli, use);
    status = usher__cli_connect(cli, message);
    return status == USHER_OK ? 0 : usher__cli_fail(cli, status, "%s", message);
}

int usher__cli_open(struct cli *cli, enum cli_use use)
{
    enum usher_status status;

    if (usher__remote_is(cli->store))
        return usher__cli_fail(cli, USHER_INVALID,
                               "this command needs the store itself, and the URL is of a server");
    status = usher__cli_try(cli, use);
    return status == USHER_OK ? 0 : say_why_not(cli, status);
}

/* Return whether --help is the verb, follows it or follows the scope.  Later it is a value like any
 * other. */
static bool asks_for_help(char *const *words, size_t n)
{
    for (size_t i = 1; i < n && i <= 3; i++)
        if (strcmp(words[i], "--help") == 0 || (i < 3 && strcmp(words[i], "-h") == 0))
            return true;
    return false;
}

static int help(struct cli *cli, char *const *words, size_t n)
{
    char *about[] = { words[0], words[0], n > 1 ? words[1] : NULL };
    bool verb = about[2] != NULL && about[2][0] != '-' && usher__noun_by_word(words[0]) != NULL;

    return usher__cli_help(cli, about, verb ? 3 : 2);
}

static int run(struct cli *cli, char *const *words, size_t n)
{
    const struct cli_program *p = usher__cli_programs;
    int rc;

    if (asks_for_help(words, n))
        return help(cli, words, n);
    while (p->word != NULL && strcmp(p->word, words[0]) != 0)
        p++;
    if (cli->csv && cli->json)
        return usher__cli_fail(cli, USHER_INVALID, "--csv and --json exclude each other");
    if (cli->csv && p->word != NULL && p->run != usher__cli_run && p->run != usher__cli_status &&
        p->run != usher__cli_watch)
        return usher__csv_refuse(cli, p->word);
    cli->notices = p->word != NULL && p->run != usher__cli_status; /* status reports it itself */
    rc = p->word != NULL ? p->run(cli, words, n) : usher__cli_run(cli, words, n);
    close_store(cli);
    return rc;
}

/* Return -1 to continue with the words. */
static int options(struct cli *cli, int argc, char **argv)
{
    static const struct option longs[] = {
        { "store", required_argument, NULL, 's' }, { "json", no_argument, NULL, 'j' },
        { "csv", no_argument, NULL, 'c' },         { "help", no_argument, NULL, 'h' },
        { "version", no_argument, NULL, 'V' },     { NULL, 0, NULL, 0 },
    };
    char quoted[PARSE_QUOTE_MAX];
    char *const help = (char[]){ "help" };
    int c;

    opterr = 0;
    while ((c = getopt_long(argc, argv, "+:s:ehV", longs, NULL)) != -1) {
        switch (c) {
        case 's':
            cli->store = optarg;
            break;
        case 'j':
            cli->json = true;
            break;
        case 'c':
            cli->csv = true;
            break;
        case 'e':
            cli->strict = true;
            break;
        case 'h':
            return usher__cli_help(cli, &help, 1);
        case 'V':
            cli->json = false;
            return usher__cli_version(cli, &help, 1);
        case ':':
            return usher__cli_fail(cli, USHER_INVALID, "option %s needs a value", argv[optind - 1]);
        default:
            if (optopt != 0) /* it can be one of several letters in a word */
                (void)snprintf(quoted, sizeof quoted, "-%c", optopt);
            else
                usher__quote(quoted, argv[optind - 1]);
            return usher__cli_fail(cli, USHER_INVALID,
                                   "unknown option %s; `usher help` lists the options", quoted);
        }
    }
    return -1;
}

/* Read options after the command; all arguments after `--` are words.  Leave *@n words.  Return -1
 * to continue with them. */
static int options_behind(struct cli *cli, char **words, size_t *n)
{
    bool shell = *n > 0 && strcmp(words[0], "shell") == 0;
    size_t left = 0;

    for (size_t i = 0; i < *n; i++) {
        if (strcmp(words[i], "--") == 0) {
            if (usher__noun_by_word(words[0]) == NULL)
                i++;
            for (; i < *n; i++) /* the parser of commands also reads `--` */
                words[left++] = words[i];
        } else if (strcmp(words[i], "--json") == 0) {
            cli->json = true;
        } else if (strcmp(words[i], "--csv") == 0) {
            cli->csv = true;
        } else if (shell && strcmp(words[i], "-e") == 0) {
            cli->strict = true;
        } else if (strncmp(words[i], "--store=", 8) == 0) {
            cli->store = words[i] + 8;
        } else if (strcmp(words[i], "-s") == 0 || strcmp(words[i], "--store") == 0) {
            if (i + 1 == *n)
                return usher__cli_fail(cli, USHER_INVALID, "option %s needs a value", words[i]);
            cli->store = words[++i];
        } else {
            words[left++] = words[i];
        }
    }
    *n = left;
    return -1;
}

int main(int argc, char **argv)
{
    struct cli cli;
    const char *store = getenv("USHER_STORE");
    size_t n;
    int rc;

    memset(&cli, 0, sizeof cli);
    cli.store = store != NULL && *store != '\0' ? store : CLI_STORE_DEFAULT;
    rc = options(&cli, argc, argv);
    n = (size_t)(argc - optind);
    if (rc < 0)
        rc = options_behind(&cli, argv + optind, &n);
    if (rc < 0 && n == 0)
        rc = usher__cli_fail(&cli, USHER_INVALID, "command is missing; try `usher help`");
    else if (rc < 0)
        rc = run(&cli, argv + optind, n);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fputs("usher: unavailable: standard output cannot be written\n", stderr);
        return usher__cli_exit_code(USHER_UNAVAILABLE);
    }
    return rc;
}
