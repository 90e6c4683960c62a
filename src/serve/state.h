/* SPDX-License-Identifier: MIT */
/*
 * The state of the scopes, for /state.json and /events.
 *
 * A viewer is a request for it.  Viewers with the same `only` share a view.  The store is read once
 * for all of them, a round each STATE_EVERY_MS, and only while there is one:
 *
 *     viewer -> view --+                    +-- scrape (scrape.c): list, posted commands
 *     viewer -> view --+-- state (a round) -+
 *     viewer --/       +                    +-- entries: a scope each, its parts as JSON
 *
 * A round reads the scopes whose version changed, of which something became due, or whose durations
 * grow.  Parts and the last hour are kept of scopes that are sent: of each noun the STATE_TOP most
 * urgent, and those that a view names.
 *
 * state.c reads; viewer.c has views, viewers and their messages.
 */
#ifndef USHER_SERVE_STATE_H
#define USHER_SERVE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/verbs.h"
#include "serve/hour.h"
#include "serve/output.h"
#include "serve/scrape.h"
#include "serve/serve.h"

#define STATE_EVERY_MS 1000
#define STATE_ONLY_MAX 200 /* words of `only` */
#define STATE_TOP 200      /* scopes of a noun that are sent */
#define STATE_PARTS 3
#define STATE_HOUR STATE_PARTS /* the bit of `dirty` */

/* ---- scopes ------------------------------------------------------------------------------- */

struct entry {
    unsigned noun;
    size_t size;
    uint64_t serial; /* of the entry: another scope with this name has another one */
    uint64_t epoch, version;
    int64_t at_ms;   /* it was read: of the wall clock … */
    int64_t read_ms; /* … and of the loop */
    int64_t due_ms;  /* something of it is due; of the loop.  INT64_MAX: never */
    int64_t score[2];
    int64_t value[HOUR_SERIES];
    bool known;  /* it was read */
    bool listed; /* in this round */
    bool need;   /* has to be read in this round */
    bool again;  /* a command on it failed */
    bool missing;
    bool ages;
    bool top, named; /* it is sent, to views of its noun and to those that name it */
    unsigned dirty;  /* parts that changed in this round, a bit each */
    unsigned more;   /* parts with more rows, a bit each */
    char *part[STATE_PARTS];
    struct hour *hour;
    char name[];
};

/* ---- views -------------------------------------------------------------------------------- */

struct message {
    size_t refs, size, json; /* json: it begins there, up to the last byte */
    char text[];
};

struct named {
    unsigned noun;
    size_t size;
    char name[USHER_NAME_MAX + 1];
};

struct view {
    struct view *next;
    unsigned nouns; /* a bit each */
    struct named *names;
    size_t n_names;
    size_t viewers;
    uint64_t round;        /* the first one that has its scopes */
    uint64_t sum;          /* of what was sent: of the serials */
    int64_t sent_ms;       /* of the last message */
    bool ready;            /* that round is over */
    uint64_t seq;          /* of `state` … */
    struct message *state; /* … NULL: none */
};

struct viewer {
    struct viewer *next;
    struct server *server;
    struct view *view;
    void *connection; /* of HTTP; NULL: none, and the owner looks whether something waits */
    bool once;        /* /state.json, STATE, `usher top` */
    bool has_state;
    bool closed; /* it does not read */
    struct message **queue;
    size_t n, room, at; /* at: bytes of the first message that it has taken */
    size_t waiting;     /* bytes */
    int64_t moved_ms;   /* it took some, or nothing waited */
    /* while the request is read */
    unsigned nouns;
    struct named *names;
    size_t n_names, n_words;
};

struct state {
    struct work work; /* counts nodes */
    struct server *server;
    bool counting, counted;
    unsigned nodes;        /* masters */
    struct scrape *scrape; /* of the round; NULL: there is none */
    uint64_t round, seq, serial;
    bool second;           /* the commands on scopes that are sent now and were not before */
    unsigned nouns, shown; /* of the round; shown: not only by names */
    int64_t began_ms, next_ms, ended_ms, ranked_ms;
    int64_t lag_ms; /* of the last round */
    const char *store;
    size_t failed, read; /* replies of the round */
    uint64_t totals[USHER__NOUNS];
    uint64_t counts[USHER__NOUNS]; /* entries */
    struct entry **entries;        /* by noun and name */
    size_t n;
    struct entry **gone; /* in this round */
    size_t n_gone;
    struct view *views;
    struct viewer *viewers;
};

/* state.c.  Begin a round if it is time. */
void usher__state_round(struct state *st);
void usher__state_free(struct server *s);
/* Append the scope @e: its parts and the hour that are in @which, a bit each. */
void usher__state_scope(struct out *to, const struct entry *e, unsigned which);
/* Append @text as a string of JSON, without quotes. */
void usher__state_text(struct out *to, const char *text, size_t size);
/* Append @number; beyond 2^53 as a string. */
void usher__state_number(struct out *to, uint64_t number);
int64_t usher__state_wall_ms(void);
/* Return the entry, or NULL. */
struct entry *usher__state_find(const struct state *st, unsigned noun, const char *name,
                                size_t size);

/* viewer.c.  A round is over: send what it has changed. */
void usher__views_send(struct state *st);
/* Return the nouns of all views; *@ret_shown are those that a view has, and not only names of. */
unsigned usher__views_nouns(const struct state *st, unsigned *ret_shown);
/* Return the nouns that scopes can be of. */
unsigned usher__views_all_nouns(void);
/* Call @fn for each name of all views. */
void usher__views_names(struct state *st, void (*fn)(struct state *st, const struct named *name));

/* ---- requests (http.c, commands.c, snapshot.c) ---------------------------------------------- */

/* Return a viewer for @connection (NULL: none), which is of no view yet. */
struct viewer *usher__viewer_new(struct server *s, void *connection, bool once);
/* Take the words of `only`.  Return NULL, or the fault in one, which is *@ret_word. */
const char *usher__viewer_only(struct viewer *v, const char *word, size_t size,
                               char ret_word[USHER_NAME_MAX + 1]);
/* Return false if there are as many as may be. */
bool usher__viewer_begin(struct viewer *v);
/* Return whether something waits for it. */
bool usher__viewer_has(const struct viewer *v);
/* Return the object alone, with a newline: the first message is a state. */
const char *usher__viewer_json(const struct viewer *v, size_t *ret_size);
/* Take up to @size bytes of it. */
size_t usher__viewer_take(struct viewer *v, char *to, size_t size);
/* NULL is allowed. */
void usher__viewer_free(struct viewer *v);

/* The work that is due: a round, heartbeats, viewers that do not read. */
void usher__viewers_run(struct server *s);
/* The time until there is some, ms; -1: for ever. */
int usher__viewers_timeout(const struct server *s);

#endif
