/* SPDX-License-Identifier: MIT */
/* Commands of the server's own: what clients of Redis say before and beside their commands. */
#include "config.h"

#include "serve/serve.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/help.h"
#include "parse/parse.h"
#include "serve/state.h"

#define OWN_USER "default"

static bool is(const struct resp_command *command, size_t i, const char *word)
{
    return i < command->n && strcasecmp(command->word[i], word) == 0;
}

static void error(struct client *c, const char *message)
{
    usher__out_error(&c->out, "ERR", message);
}

static void bad_count(struct client *c, const struct resp_command *command)
{
    char message[80];

    (void)snprintf(message, sizeof message, "wrong number of arguments for '%.20s' command",
                   command->word[0]);
    error(c, message);
}

/* ---- who it is ---------------------------------------------------------------------------- */

/* Compares in a time that does not depend on how much of it is right. */
static bool is_secret(const struct server *s, const char *word, size_t size)
{
    size_t secret = strlen(s->secret);
    unsigned char differs = (unsigned char)(size != secret);

    for (size_t i = 0; i < SERVE_SECRET_MAX; i++) {
        unsigned char theirs = (unsigned char)(i < size ? word[i] : 0);

        differs |= (unsigned char)(theirs ^ (unsigned char)(i < secret ? s->secret[i] : 0));
    }
    return differs == 0;
}

/* Word @i is the password of @user (NULL: not given).  False: it got an error. */
static bool says_who(struct server *s, struct client *c, const struct resp_command *command,
                     const char *user, size_t i)
{
    if (s->secret[0] == '\0') {
        error(c, "no password is set: usher serve --auth-file=FILE");
        return false;
    }
    if ((user != NULL && strcmp(user, OWN_USER) != 0) ||
        !is_secret(s, command->word[i], command->size[i])) {
        usher__out_error(&c->out, "WRONGPASS", "invalid username-password pair");
        s->figures.unwanted++;
        return false;
    }
    c->known = true;
    return true;
}

static void auth(struct server *s, struct client *c, const struct resp_command *command)
{
    if (command->n != 2 && command->n != 3)
        bad_count(c, command);
    else if (says_who(s, c, command, command->n == 3 ? command->word[1] : NULL, command->n - 1))
        usher__out_simple(&c->out, "OK");
}

static void set_name(struct client *c, const char *name)
{
    (void)snprintf(c->name, sizeof c->name, "%s", name);
}

static void greet(struct client *c)
{
    struct out *o = &c->out;

    usher__out_map(o, c->resp3, 7);
    usher__out_word(o, "server");
    usher__out_word(o, "usher");
    usher__out_word(o, "version");
    usher__out_word(o, usher_version());
    usher__out_word(o, "proto");
    usher__out_int(o, c->resp3 ? 3 : 2);
    usher__out_word(o, "id");
    usher__out_int(o, (int64_t)c->id);
    usher__out_word(o, "mode");
    usher__out_word(o, "standalone");
    usher__out_word(o, "role");
    usher__out_word(o, "master");
    usher__out_word(o, "modules");
    usher__out_array(o, 0);
}

/* HELLO [2|3 [AUTH USER PASSWORD] [SETNAME NAME]] */
static void hello(struct server *s, struct client *c, const struct resp_command *command)
{
    bool resp3 = c->resp3;
    const char *name = NULL;
    size_t i = 1;

    if (i < command->n) {
        if (!is(command, i, "2") && !is(command, i, "3")) {
            usher__out_error(&c->out, "NOPROTO", "unsupported protocol version");
            return;
        }
        resp3 = is(command, i++, "3");
    }
    while (i < command->n) {
        if (is(command, i, "AUTH") && i + 2 < command->n) {
            if (!says_who(s, c, command, command->word[i + 1], i + 2))
                return;
            i += 3;
        } else if (is(command, i, "SETNAME") && i + 1 < command->n) {
            name = command->word[i + 1];
            i += 2;
        } else {
            error(c, "syntax error in HELLO");
            return;
        }
    }
    if (!c->known) {
        usher__out_error(&c->out, "NOAUTH",
                         "HELLO must be called with the client already authenticated, otherwise "
                         "HELLO <proto> AUTH <user> <password>");
        return;
    }
    c->resp3 = resp3;
    if (name != NULL)
        set_name(c, name);
    greet(c);
}

/* Answers as bytes, which only a program with the same version of the library can read. */
static void packed(struct client *c, const char *version)
{
    char message[80];

    if (strcmp(version, usher_version()) == 0) {
        c->packed = true;
        usher__out_simple(&c->out, "OK");
        return;
    }
    (void)snprintf(message, sizeof message,
                   "the server is usher %s: packed answers are for clients of this version",
                   usher_version());
    usher__out_error(&c->out, "NOPROTO", message);
}

static void client(struct server *s, struct client *c, const struct resp_command *command)
{
    (void)s;
    if (is(command, 1, "ID") && command->n == 2) {
        usher__out_int(&c->out, (int64_t)c->id);
    } else if (is(command, 1, "SETNAME") && command->n == 3) {
        set_name(c, command->word[2]);
        usher__out_simple(&c->out, "OK");
    } else if (is(command, 1, "GETNAME") && command->n == 2) {
        if (c->name[0] != '\0')
            usher__out_word(&c->out, c->name);
        else
            usher__out_null(&c->out, c->resp3);
    } else if (is(command, 1, "SETINFO") && command->n == 4) {
        usher__out_simple(&c->out, "OK");
    } else if (is(command, 1, "PACKED") && command->n == 3) {
        packed(c, command->word[2]);
    } else {
        error(c, "CLIENT has ID, SETNAME NAME, GETNAME and SETINFO KEY VALUE here");
    }
}

/* ---- the rest ----------------------------------------------------------------------------- */

static void ping(struct server *s, struct client *c, const struct resp_command *command)
{
    (void)s;
    if (command->n > 2) {
        bad_count(c, command);
    } else if (!c->resp3 && c->channels > 0) { /* an answer of another form than messages have */
        usher__out_array(&c->out, 2);
        usher__out_word(&c->out, "pong");
        usher__out_text(&c->out, command->n > 1 ? command->word[1] : "",
                        command->n > 1 ? command->size[1] : 0);
    } else if (command->n > 1) {
        usher__out_text(&c->out, command->word[1], command->size[1]);
    } else {
        usher__out_put(&c->out, "+PONG\r\n", 7);
    }
}

static void echo(struct server *s, struct client *c, const struct resp_command *command)
{
    (void)s;
    if (command->n != 2)
        bad_count(c, command);
    else
        usher__out_text(&c->out, command->word[1], command->size[1]);
}

static void info(struct server *s, struct client *c, const struct resp_command *command)
{
    struct out text = { NULL, 0, 0, 0 };

    (void)command;
    usher__figures_info(&s->figures, usher__serve_now_ms(), s->limits.clients, &text);
    usher__out_text(&c->out, text.data, usher__out_size(&text));
    usher__out_done(&text);
}

/* HELP [TOPIC [VERB]]: the lines of `usher help`. */
static void help(struct server *s, struct client *c, const struct resp_command *command)
{
    char *text = NULL;
    size_t size = 0, lines = 0;
    enum usher_status status =
        usher__help_text((const char *const *)command->word + 1, command->n - 1, &text, &size);

    (void)s;
    if (status == USHER_MISSING)
        error(c, "no help on this: HELP lists the topics");
    else if (status != USHER_OK)
        error(c, usher_status_text(status));
    if (status != USHER_OK)
        return;
    for (const char *at = text; at < text + size; at += strcspn(at, "\n") + 1)
        lines++;
    usher__out_array(&c->out, lines);
    for (const char *at = text; at < text + size; at += strcspn(at, "\n") + 1)
        usher__out_text(&c->out, at, strcspn(at, "\n"));
    free(text);
}

/* An empty table of commands: clients that read Redis' table work without it. */
static void command_table(struct server *s, struct client *c, const struct resp_command *command)
{
    (void)s;
    if (is(command, 1, "COUNT"))
        usher__out_int(&c->out, 0);
    else if (is(command, 1, "DOCS"))
        usher__out_map(&c->out, c->resp3, 0);
    else
        usher__out_array(&c->out, 0);
}

/* Settings that Redis has: there are none of them.  redis-benchmark asks. */
static void config(struct server *s, struct client *c, const struct resp_command *command)
{
    (void)s;
    if (is(command, 1, "GET") && command->n > 2)
        usher__out_map(&c->out, c->resp3, 0);
    else
        error(c, "no settings can be changed: see `usher help serve`");
}

/* STATE [ONLY]: the object of /state.json.  The client waits for it. */
static void state(struct server *s, struct client *c, const struct resp_command *command)
{
    struct viewer *v = usher__viewer_new(s, NULL, true);
    char wrong[USHER_NAME_MAX + 1], quoted[PARSE_QUOTE_MAX], message[PARSE_QUOTE_MAX + 80];
    const char *fault = NULL;

    if (command->n > 2) {
        bad_count(c, command);
    } else if (command->n == 2 &&
               (fault = usher__viewer_only(v, command->word[1], command->size[1], wrong)) != NULL) {
        (void)snprintf(message, sizeof message, "`%s` %s", usher__quote(quoted, wrong), fault);
        usher__out_error(&c->out, "INVALID", message);
    } else if (usher__viewer_begin(v)) {
        c->viewer = v;
        c->waits = true;
        return;
    }
    usher__viewer_free(v);
}

static void select_db(struct server *s, struct client *c, const struct resp_command *command)
{
    (void)s;
    if (command->n == 2 && strcmp(command->word[1], "0") == 0)
        usher__out_simple(&c->out, "OK");
    else
        error(c, "DB index is out of range: there is only 0");
}

static void quit(struct server *s, struct client *c, const struct resp_command *command)
{
    (void)s;
    (void)command;
    usher__out_simple(&c->out, "OK");
    c->closing = true;
}

static void patterns(struct server *s, struct client *c, const struct resp_command *command)
{
    (void)s;
    (void)command;
    error(c, "only names of scopes are supported: SUBSCRIBE NOUN/NAME ...");
}

#define NO_MULTI "transactions are not supported: commands up to EXEC or DISCARD are not executed"

/* A library's transaction is refused as a whole, as Redis does after a fault in one: if its
 * commands were executed and EXEC failed, its caller would not know of what they changed. */
static void multi(struct server *s, struct client *c, const struct resp_command *command)
{
    (void)s;
    (void)command;
    error(c, c->multi ? "MULTI calls can not be nested" : "MULTI: " NO_MULTI);
    c->multi = true;
}

static void multi_ends(struct server *s, struct client *c, const struct resp_command *command)
{
    bool discard = is(command, 0, "DISCARD");

    (void)s;
    if (!c->multi)
        error(c, discard ? "DISCARD without MULTI" : "EXEC without MULTI");
    else if (discard)
        usher__out_simple(&c->out, "OK");
    else
        usher__out_error(&c->out, "EXECABORT", "MULTI was refused: nothing was executed");
    c->multi = false;
}

static void reset(struct server *s, struct client *c, const struct resp_command *command)
{
    (void)command;
    usher__serve_forget(s, c);
    c->resp3 = c->multi = c->packed = false;
    c->known = s->secret[0] == '\0';
    c->name[0] = '\0';
    usher__out_simple(&c->out, "RESET");
}

/* ---- which -------------------------------------------------------------------------------- */

enum {
    OWN_STRANGE = 1, /* also before AUTH */
    OWN_HEARING = 2, /* allowed with channels by RESP2 */
    OWN_MULTI = 4    /* also after a MULTI that was refused */
};

static const struct own {
    const char *word;
    void (*run)(struct server *s, struct client *c, const struct resp_command *command);
    unsigned flags;
} owns[] = {
    { "PING", ping, OWN_HEARING },
    { "ECHO", echo, 0 },
    { "HELLO", hello, OWN_STRANGE },
    { "AUTH", auth, OWN_STRANGE },
    { "CLIENT", client, 0 },
    { "INFO", info, 0 },
    { "HELP", help, 0 },
    { "COMMAND", command_table, 0 },
    { "CONFIG", config, 0 },
    { "SELECT", select_db, 0 },
    { "STATE", state, 0 },
    { "SUBSCRIBE", usher__serve_subscribe, OWN_HEARING },
    { "UNSUBSCRIBE", usher__serve_unsubscribe, OWN_HEARING },
    { "PSUBSCRIBE", patterns, OWN_HEARING },
    { "PUNSUBSCRIBE", patterns, OWN_HEARING },
    { "SSUBSCRIBE", patterns, OWN_HEARING },
    { "SUNSUBSCRIBE", patterns, OWN_HEARING },
    { "MULTI", multi, OWN_MULTI },
    { "EXEC", multi_ends, OWN_MULTI },
    { "DISCARD", multi_ends, OWN_MULTI },
    { "QUIT", quit, OWN_STRANGE | OWN_HEARING | OWN_MULTI },
    { "RESET", reset, OWN_STRANGE | OWN_HEARING | OWN_MULTI },
};

static const struct own *find(const struct resp_command *command)
{
    char first = command->word[0][0];

    for (size_t i = 0; i < sizeof owns / sizeof *owns; i++)
        if ((first & ~0x20) == owns[i].word[0] && is(command, 0, owns[i].word))
            return &owns[i];
    return NULL;
}

bool usher__serve_is_own(const struct client *c, const struct resp_command *command)
{
    return !c->known || c->multi || (!c->resp3 && c->channels > 0) || find(command) != NULL ||
           usher__serve_is_task(command);
}

void usher__serve_own(struct server *s, struct client *c, const struct resp_command *command)
{
    const struct own *own = find(command);

    if (!c->known && (own == NULL || (own->flags & OWN_STRANGE) == 0))
        usher__out_error(&c->out, "NOAUTH", "Authentication required.");
    else if (!c->resp3 && c->channels > 0 && (own == NULL || (own->flags & OWN_HEARING) == 0))
        error(c, "only SUBSCRIBE, UNSUBSCRIBE, PING, QUIT and RESET with subscriptions by "
                 "RESP2; by RESP3 (HELLO 3) all is allowed");
    else if (c->multi && (own == NULL || (own->flags & OWN_MULTI) == 0))
        error(c, "not executed: MULTI was refused, and so is all up to EXEC or DISCARD");
    else if (own != NULL)
        own->run(s, c, command);
    else
        usher__serve_task(s, c, command);
}
