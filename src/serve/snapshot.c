/* SPDX-License-Identifier: MIT */
/*
 * A store of its own is read by state.c, with a server that has no socket: one round for each call,
 * and a loop that waits for what the round waits for.
 */
#include "config.h"

#include "serve/snapshot.h"

#include <poll.h>
#include <string.h>

#include <usher/command.h>

#include "cli/remote.h"
#include "serve/serve.h"
#include "serve/state.h"

#define SCOPES_MAX 100000 /* of a noun, that are read */
#define REMOTE_MS 20000   /* timeout of the server: it reads its store first */
#define WAIT_MS 1000

struct snapshot {
    struct cli *cli;
    struct server *server; /* NULL: the store is that of another one */
    const char *only;
    struct out json;
};

struct snapshot *usher__snapshot_new(struct cli *cli, const char *only, const char **ret_fault,
                                     char ret_word[USHER_NAME_MAX + 1])
{
    struct server *s = usher__cli_resize(NULL, sizeof *s);
    struct snapshot *sn;
    struct viewer *v;

    memset(s, 0, sizeof *s);
    s->cli = cli;
    s->limits = (struct limits){ .metrics = SCOPES_MAX, .out = SIZE_MAX, .slow_ms = INT64_MAX };
    v = usher__viewer_new(s, NULL, true);
    *ret_fault = *only != '\0' ? usher__viewer_only(v, only, strlen(only), ret_word) : NULL;
    usher__viewer_free(v);
    if (*ret_fault != NULL || cli->remote != NULL)
        s = usher__cli_resize(s, 0);
    if (*ret_fault != NULL)
        return NULL;
    sn = usher__cli_resize(NULL, sizeof *sn);
    *sn = (struct snapshot){ .cli = cli, .server = s, .only = only };
    return sn;
}

/* Wait until there is something to do, and do it. */
static void step(struct server *s)
{
    struct usher_engine *e = s->cli->engine;
    const struct usher_event *event;
    struct pollfd fds[] = { { usher__serve_work_fd(s), POLLIN, 0 }, { usher_fd(e), POLLIN, 0 } };
    int64_t wait = usher_timeout(e);
    int patience = usher__viewers_timeout(s);

    if (wait < 0 || wait > WAIT_MS)
        wait = WAIT_MS;
    if (patience >= 0 && patience < wait)
        wait = patience;
    (void)poll(fds, 2, (int)wait);
    usher__serve_work_collect(s);
    while ((event = usher_collect(e, 0)) != NULL) {
        struct scrape *p = event->tag != NULL ? usher__scrape_reply(event) : NULL;

        usher_event_done(event);
        if (p != NULL)
            usher__serve_scraped(p);
    }
    usher__viewers_run(s);
}

static void read_store(struct snapshot *sn)
{
    struct viewer *v = usher__viewer_new(sn->server, NULL, true);
    char word[USHER_NAME_MAX + 1];
    const char *json;
    size_t size;

    if (*sn->only != '\0')
        (void)usher__viewer_only(v, sn->only, strlen(sn->only), word);
    (void)usher__viewer_begin(v); /* it is one that is never too many */
    usher__viewers_run(sn->server);
    while (!usher__viewer_has(v))
        step(sn->server);
    json = usher__viewer_json(v, &size);
    usher__out_put(&sn->json, json, size - 1);
    usher__viewer_free(v);
}

static bool read_remote(struct snapshot *sn, char message[CLI_MESSAGE_MAX])
{
    static const char *const needs[] = { "state", NULL };
    const char *words[] = { "STATE", sn->only };
    const struct remote_value *state;
    struct remote_value v;

    if (usher__cli_connect(sn->cli, message) != USHER_OK)
        return false;
    if (usher__remote_ask(sn->cli->remote, words, *sn->only != '\0' ? 2 : 1, REMOTE_MS, needs, &v,
                          message) != USHER_OK) {
        usher__remote_close(sn->cli->remote); /* the next call connects again */
        sn->cli->remote = NULL;
        return false;
    }
    state = usher__remote_get(&v, "state", REMOTE_TEXT);
    if (state != NULL)
        usher__out_put(&sn->json, state->text.data, state->text.size);
    usher__remote_value_free(&v);
    return state != NULL;
}

const char *usher__snapshot_read(struct snapshot *sn, char message[CLI_MESSAGE_MAX])
{
    sn->json.from = sn->json.end = 0;
    message[0] = '\0';
    if (sn->server != NULL)
        read_store(sn);
    else if (!read_remote(sn, message))
        return NULL;
    usher__out_put(&sn->json, "", 1);
    return sn->json.data;
}

bool usher__snapshot_free(struct snapshot *sn)
{
    if (sn == NULL)
        return true;
    if (sn->server != NULL) {
        if (!usher__serve_work_end(sn->server))
            return false;
        usher__scrape_free_all(sn->server);
        usher__state_free(sn->server);
        (void)usher__cli_resize(sn->server, 0);
    }
    usher__out_done(&sn->json);
    (void)usher__cli_resize(sn, 0);
    return true;
}
