/* SPDX-License-Identifier: MIT */
/* status: the servers of the store and the scopes that are not open, a line or an object for each.
 */
#include "config.h"

#include "cli/cli.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <usher/store/store.h>

#include "cli/answer.h"
#include "cli/csv.h"
#include "cli/modes.h"
#include "cli/node_keys.h"
#include "cli/remote.h"
#include "core/text.h"

#define EACH_MS 2000 /* timeout of a server, as in usher_nodes() */
#define ADDRESS_MAX 512

struct shown {
    bool lines;
    struct json j, modes;
    bool closed;        /* the store did not open */
    bool read, partial; /* modes: they are known, but not of all scopes */
    size_t answering;   /* servers */
    uint64_t unknown, unavailable;
    char message[512];
};

static void object(struct json *j, const struct usher_node *n)
{
    struct node_value values[NODE_KEYS_MAX];
    size_t n_values = usher__node_values(n, values);

    usher__json_open(j, NULL);
    for (size_t i = 0; i < n_values; i++) {
        const struct node_value *v = &values[i];

        if (v->type == NODE_TEXT)
            usher__json_name(j, v->key, &v->text);
        else if (v->type == NODE_INT)
            usher__json_int(j, v->key, v->number);
        else
            usher__json_bool(j, v->key, v->number != 0);
    }
    usher__json_close(j);
}

static void word(const char *before, const struct usher_text *value)
{
    if (value->size == 0)
        return;
    fputs(before, stdout);
    usher__plain_text(stdout, value->data, value->size);
}

static void line(const struct usher_node *n)
{
    static const char *const durable[] = { NULL,
                                           "nothing survives the process",
                                           "a restart loses all changes since the last snapshot",
                                           "a crash may lose the last second",
                                           "a power cut may lose the last seconds",
                                           "answers are on disk" };

    fputs(n->role == USHER_NODE_UNKNOWN ? "server" : usher_node_role_word(n->role), stdout);
    word(" ", &n->address);
    if (!n->answers)
        word(": does not answer: ", &n->why);
    word(" of ", &n->master);
    word(", ", &n->software);
    if (n->slots >= 0)
        printf(", %" PRId64 " slots", n->slots);
    if (n->replicas >= 0)
        printf(", %" PRId64 " replica%s", n->replicas, n->replicas == 1 ? "" : "s");
    if (n->lag_bytes >= 0)
        printf(", %" PRId64 " bytes behind", n->lag_bytes);
    if (n->lag_ms >= 0)
        printf(", last message %" PRId64 " s ago", n->lag_ms / 1000);
    if ((unsigned)n->durability < sizeof durable / sizeof *durable &&
        durable[n->durability] != NULL)
        printf(", %s", durable[n->durability]);
    if (n->evicts)
        word(", evicts scopes when its memory is full: ", &n->policy);
    if (n->identity == 0 && n->role == USHER_NODE_MASTER)
        fputs(", no identity: losses are not detected", stdout);
    if (n->identity != 0)
        printf(", identity %012" PRIx64, n->identity);
    if (n->ahead_ms != USHER_NONE && (n->ahead_ms >= 1000 || n->ahead_ms <= -1000))
        printf(", its clock is %" PRId64 " ms %s ours",
               n->ahead_ms < 0 ? -n->ahead_ms : n->ahead_ms,
               n->ahead_ms < 0 ? "behind" : "ahead of");
    if (n->own_clocks)
        fputs(", its scripts may not read its clock: each client's clock counts", stdout);
    putchar('\n');
}

static void show(void *payload, const struct usher_node *node)
{
    struct shown *s = payload;

    s->answering += node->answers;
    if (s->lines)
        line(node);
    else
        object(&s->j, node);
}

static void show_mode(void *payload, const struct mode_of *m)
{
    struct shown *s = payload;

    if (!s->lines) {
        usher__json_open(&s->modes, NULL);
        usher__json_name(&s->modes, "scope", &m->scope);
        usher__json_text(&s->modes, "mode", m->mode);
        if (m->reason.size > 0)
            usher__json_name(&s->modes, "reason", &m->reason);
        usher__json_close(&s->modes);
        return;
    }
    usher__plain_text(stdout, m->scope.data, m->scope.size);
    printf(" is %s", m->mode);
    word(": ", &m->reason);
    putchar('\n');
}

/* ---- a store that does not open ------------------------------------------------------------ */

/* Report that the server or file named by the @size bytes at @address of a URL does not answer. */
static void silent(struct shown *s, const char *address, size_t size, bool is_file,
                   const char *message)
{
    char plain[ADDRESS_MAX];
    struct usher_node n;

    usher__node_empty(&n);
    n.role = is_file ? USHER_NODE_ITSELF : USHER_NODE_UNKNOWN;
    if (usher_url_unescape(address, size, plain, sizeof plain) == USHER_OK) {
        n.address.data = plain;
        n.address.size = strlen(plain);
    }
    if (strncmp(message, "open: ", 6) == 0)
        message += 6;
    n.why.data = message;
    n.why.size = strlen(message);
    show(s, &n);
}

/* Query one of several hosts in @url, the @size bytes at @host.  The hosts are the bytes from
 * @hosts to @end. */
static void ask_alone(struct shown *s, const char *url, const char *hosts, const char *end,
                      const char *host, size_t size)
{
    struct usher_options opt = USHER_OPTIONS_INIT;
    struct usher_engine *engine;
    size_t before = (size_t)(hosts - url), after = strlen(end);
    char *one = usher__cli_resize(NULL, before + size + after + 1);

    memcpy(one, url, before);
    memcpy(one + before, host, size);
    memcpy(one + before + size, end, after + 1);
    opt.timeout_ms = EACH_MS;
    if (usher_open(one, &opt, &engine) == USHER_OK) {
        (void)usher_nodes(engine, NULL, show, s);
        usher_close(engine);
    } else {
        silent(s, host, size, false, usher_message());
    }
    (void)usher__cli_resize(one, 0);
}

/* Show each server that @url names, because the store cannot be opened.  Its user and password are
 * not shown. */
static void ask_each(struct shown *s, const char *url)
{
    const char *hosts = strstr(url, "://"), *end = url + strcspn(url, "?"), *at;
    const char *path = strstr(url, "+unix://");
    bool is_file = hosts == NULL || hosts > end;

    hosts = is_file ? url + strcspn(url, ":") + 1 : hosts + 3;
    for (at = hosts; !is_file && at < end; at++)
        if (*at == '@')
            hosts = at + 1;
    if (!is_file && (path == NULL || path > hosts))
        end = hosts + strcspn(hosts, "/?");
    if (is_file || memchr(hosts, ',', (size_t)(end - hosts)) == NULL) {
        silent(s, hosts, (size_t)(end - hosts), is_file, s->message);
        return;
    }
    for (at = hosts; at <= end; at++) {
        size_t size = strcspn(at, ",/?");

        ask_alone(s, url, hosts, end, at, size);
        at += size;
    }
}

/* ------------------------------------------------------------------------------------ */

/* Show the server @map of an answer.  Return false if it is none. */
static bool show_remote(struct shown *s, const struct remote_value *map)
{
    struct usher_node node;

    usher__node_empty(&node);
    if (map->type != REMOTE_MAP)
        return false;
    for (size_t i = 0; i + 1 < map->n; i += 2) {
        const struct remote_value *key = &map->of[i], *value = &map->of[i + 1];
        struct node_value v = { .key = key->text.data, .text = value->text };

        v.number = value->number;
        v.type = value->type == REMOTE_TEXT  ? NODE_TEXT
                 : value->type == REMOTE_INT ? NODE_INT
                                             : NODE_BOOL;
        if (key->type != REMOTE_TEXT ||
            (value->type != REMOTE_TEXT && value->type != REMOTE_INT &&
             value->type != REMOTE_BOOL) ||
            !usher__node_set(&node, &v))
            return false;
    }
    show(s, &node);
    return true;
}

/* Show the scope @map of an answer.  Return false if it is none. */
static bool show_remote_mode(struct shown *s, const struct remote_value *map)
{
    const struct remote_value *scope = usher__remote_get(map, "scope", REMOTE_TEXT);
    const struct remote_value *mode = usher__remote_get(map, "mode", REMOTE_TEXT);
    const struct remote_value *reason = usher__remote_get(map, "reason", REMOTE_TEXT);
    struct mode_of m;

    if (scope == NULL || mode == NULL)
        return false;
    m.scope = scope->text;
    m.mode = mode->text.data;
    m.reason = reason != NULL ? reason->text : (struct usher_text){ "", 0 };
    show_mode(s, &m);
    return true;
}

static uint64_t count_of(const struct remote_value *v, const char *key)
{
    const struct remote_value *count = usher__remote_get(v, key, REMOTE_INT);

    return count != NULL && count->number > 0 ? (uint64_t)count->number : 0;
}

/* Query the server that has the store. */
static enum usher_status ask_remote(struct cli *cli, struct shown *s)
{
    static const char *const words[] = { "STATUS" };
    static const char *const needs[] = { "unknown", "unavailable", "nodes", NULL };
    const struct remote_value *nodes, *modes, *partial, *message;
    struct remote_value v;
    char why[REMOTE_MESSAGE_MAX] = "the server sent a malformed answer";
    enum usher_status status = usher__remote_ask(cli->remote, words, 1, 0, needs, &v, why);

    if (status == USHER_OK) {
        nodes = usher__remote_get(&v, "nodes", REMOTE_LIST);
        modes = usher__remote_get(&v, "modes", REMOTE_LIST);
        partial = usher__remote_get(&v, "modes_partial", REMOTE_BOOL);
        message = usher__remote_get(&v, "message", REMOTE_TEXT);
        s->unknown = count_of(&v, "unknown");
        s->unavailable = count_of(&v, "unavailable");
        if (nodes == NULL || message != NULL)
            status = USHER_UNAVAILABLE;
        if (message != NULL)
            (void)snprintf(why, sizeof why, "%s", message->text.data);
        for (size_t i = 0; nodes != NULL && i < nodes->n; i++)
            if (!show_remote(s, &nodes->of[i]))
                status = USHER_UNAVAILABLE;
        s->read = modes != NULL && partial != NULL;
        s->partial = s->read && partial->number != 0;
        for (size_t i = 0; s->read && i < modes->n; i++)
            if (!show_remote_mode(s, &modes->of[i]))
                status = USHER_UNAVAILABLE;
        usher__remote_value_free(&v);
    }
    if (status != USHER_OK)
        (void)snprintf(s->message, sizeof s->message, "%s", why);
    return status;
}

static enum usher_status ask(struct cli *cli, struct shown *s)
{
    enum usher_status status;

    if (cli->remote != NULL)
        return ask_remote(cli, s);
    if (s->closed) {
        ask_each(s, cli->store);
        return USHER_UNAVAILABLE;
    }
    status = usher_nodes(cli->engine, NULL, show, s);
    if (status != USHER_OK)
        (void)snprintf(s->message, sizeof s->message, "%s", usher_message());
    s->read = s->answering > 0;
    s->partial = s->read && !usher__modes(cli->engine, show_mode, s);
    (void)usher_failures(cli->engine, &s->unknown, &s->unavailable);
    return status;
}

/* Print the objects in @nodes and @modes as rows. */
static void print_csv(const char *nodes, const char *modes)
{
    static const char *const columns[] = {
        "role",       "answers", "address",    "id",       "software", "master",   "why",
        "durability", "policy",  "evicts",     "identity", "slots",    "replicas", "lag_bytes",
        "lag",        "ahead",   "own_clocks", "scope",    "mode",     "reason",   NULL
    };
    size_t size = strlen(nodes) + strlen(modes) + 4;
    char *array = usher__cli_resize(NULL, size);

    (void)snprintf(array, size, "[%s%s%s]", nodes, *nodes != '\0' && *modes != '\0' ? "," : "",
                   modes);
    usher__csv_objects(stdout, columns, array);
    (void)usher__cli_resize(array, 0);
}

static void print_object(const struct shown *s, enum usher_status status, const char *nodes,
                         const char *modes)
{
    struct json j = { stdout, false };

    putchar('{');
    usher__json_text(&j, "status", usher_status_word(status));
    if (status != USHER_OK)
        usher__json_text(&j, "message", s->message);
    usher__json_uint(&j, "unknown", s->unknown);
    usher__json_uint(&j, "unavailable", s->unavailable);
    usher__json_key(&j, "nodes");
    printf("[%s]", nodes);
    if (s->read) {
        usher__json_key(&j, "modes");
        printf("[%s]", modes);
        usher__json_bool(&j, "modes_partial", s->partial);
    }
    puts("}");
}

/* Status and counts are printed first, but are known last. */
static int show_object(struct cli *cli, struct shown *s)
{
    enum usher_status status;
    char *nodes = NULL, *modes = NULL;
    size_t size, modes_size;
    int rc;

    s->j.out = open_memstream(&nodes, &size);
    s->modes.out = open_memstream(&modes, &modes_size);
    if (s->j.out == NULL || s->modes.out == NULL)
        return usher__cli_fail(cli, USHER_NOMEM, "out of memory");
    status = ask(cli, s);
    rc = fclose(s->j.out);
    if (fclose(s->modes.out) != 0 || rc != 0) {
        rc = usher__cli_fail(cli, USHER_NOMEM, "out of memory");
    } else if (cli->csv) {
        print_csv(nodes, modes);
        rc = status == USHER_OK ? 0 : usher__cli_fail(cli, status, "%s", s->message);
    } else {
        print_object(s, status, nodes, modes);
        rc = usher__cli_exit_code(status);
    }
    free(nodes);
    free(modes);
    return rc;
}

static int print(struct cli *cli, struct shown *s)
{
    enum usher_status status;

    s->lines = !cli->json && !cli->csv;
    if (!s->lines)
        return show_object(cli, s);
    status = ask(cli, s);
    if (s->partial)
        puts("the modes of some scopes were not read");
    return status == USHER_OK ? 0 : usher__cli_fail(cli, status, "%s", s->message);
}

int usher__cli_status(struct cli *cli, char *const *words, size_t n)
{
    struct shown shown = { .lines = true };
    enum usher_status status;

    if (n > 1)
        return usher__cli_fail(cli, USHER_INVALID, "`%s` takes no arguments", words[0]);
    if (usher__remote_is(cli->store)) {
        int rc = usher__cli_reach(cli, CLI_LOOKS);

        return rc != 0 ? rc : print(cli, &shown);
    }
    status = usher__cli_try(cli, CLI_LOOKS);
    if (cli->stands_in) /* in the shell: an empty store in place of the missing one */
        return usher__cli_missing(cli, "there is no such store yet: the first command that writes "
                                       "creates it");
    if (status != USHER_OK && status != USHER_UNAVAILABLE)
        return usher__cli_open(cli, CLI_LOOKS); /* reports the reason */
    shown.closed = status != USHER_OK;
    (void)snprintf(shown.message, sizeof shown.message, "%s", shown.closed ? usher_message() : "");
    return print(cli, &shown);
}
