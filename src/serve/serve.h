/* SPDX-License-Identifier: MIT */
/*
 * usher serve: the library in a loop, for any client of Redis' protocol.
 *
 * One thread, one round after the other: read what has come (loop.c), take whole commands from it
 * (resp.c, round.c), execute all of them as one batch, send notices (subscribe.c), answer, write.
 * So commands of clients that come at the same time share a transaction or a pipeline, and no
 * client waits for another one: only for the store.
 *
 * A command of the server itself (PING, HELLO, SUBSCRIBE, …: commands.c) is executed when no other
 * command of the client is before it in the batch, so that answers stay in order.
 */
#ifndef USHER_SERVE_SERVE_H
#define USHER_SERVE_SERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <usher/store/operation.h>

#include "cli/cli.h"
#include "cli/remote.h"
#include "cli/run.h"
#include "serve/metrics.h"
#include "serve/output.h"
#include "serve/resp.h"
#include "serve/scrape.h"

#define SERVE_LISTEN_MAX 16
#define SERVE_NAME_MAX 64     /* of a client */
#define SERVE_SECRET_MAX 512  /* of a password */
#define SERVE_SCOPES_MAX 1000 /* that a request for metrics names */
#define SERVE_CHANNELS 8192   /* lists of the table of channels */
#ifdef USHER_HOSTILE
#define SERVE_BATCH 3
#define SERVE_READ 64u
#define SERVE_ANSWER 1u
#define SERVE_ROUND 4096u
#define SERVE_EVENTS 3
#define SERVE_FOLLOW 2048u
#else
#define SERVE_BATCH 1024      /* commands of one round */
#define SERVE_READ 65536u     /* bytes of one read */
#define SERVE_ANSWER 512u     /* bytes of most answers */
#define SERVE_ROUND 33554432u /* bytes of all answers of one round */
#define SERVE_EVENTS 1024     /* of watchers, in one round */
#define SERVE_FOLLOW 1048576u /* bytes of logs that channels read in one round */
#endif
#define SERVE_FOLLOW_LEAST 32768u /* for one of them */

/* The limits of a client.  `usher help serve` has them with their defaults. */
struct limits {
    size_t clients;
    struct resp_limits command;
    struct resp_limits unknown; /* of a client before its password; within `command` */
    size_t out;                 /* bytes that wait for one reader */
    int64_t slow_ms;            /* a reader with half of `out` waiting takes some in this time */
    size_t channels;            /* of one client */
    size_t tended;              /* scopes without a channel that change in time */
    size_t metrics;             /* scopes that a page of metrics lists; of a noun in the state */
    size_t viewers;             /* streams of /events */
    int64_t idle_ms;            /* 0: any time */
};

struct client {
    int fd;
    uint64_t id;
    bool resp3, known; /* known: the password was right, or there is none */
    bool ready;        /* there may be a whole command that was not taken yet */
    bool hung_up;      /* will send no more */
    bool deaf;         /* takes nothing any more; what it has sent is done all the same */
    bool multi;        /* MULTI was refused, and so is all up to EXEC or DISCARD */
    bool closing;      /* what is to be written is, then it ends */
    bool slow;         /* a message was left out, because more waits for it than may: it ends */
    bool gone;         /* ends at the end of the round */
    bool waits;        /* a thread executes its command (tasks.c), or the state is read */
    bool packed; /* answers and messages are bytes of usher_reply_pack(), usher_event_pack() */
    char name[SERVE_NAME_MAX];
    char *in; /* read: from `from` to `end` */
    size_t in_room, from, end, need;
    struct out out;
    struct viewer *viewer;    /* of STATE, until it is answered; NULL: none */
    struct run_steps *steps;  /* of a command that is done in steps; `in` stays where it is */
    struct channel **channel; /* those that it subscribes to */
    size_t channels, channels_room;
    size_t answers;   /* bytes of the answers of this round, at most */
    int64_t seen_ms;  /* it sent something, or took some of what waited for it */
    int64_t moved_ms; /* less than half of `out` waited for it, or it took some */
};

/* A command of a round. */
struct job {
    struct client *client;
    enum { JOB_STORE, JOB_STEP, JOB_WRONG, JOB_OWN } kind;
    size_t op;               /* of the store: in the batch */
    unsigned char *block;    /* its fields */
    char *fault;             /* it is wrong: why */
    struct resp_command own; /* the server's own, which waits for the answers before it */
};

struct listener {
    int fd;
    char *path; /* of a socket file that is ours, and its number; NULL: none */
    uint64_t device, inode;
};

struct channel;
struct http;
struct state;
struct tended;
struct viewer;
struct workers;

/* Work of a thread (worker.c).  It is in the memory of its owner, which does not touch that until
 * done(). */
struct work {
    struct work *next;
    bool ran; /* false in done(): the server ends */
    void (*run)(struct work *w);
    void (*done)(struct server *s, struct work *w); /* in the loop */
};
enum serve_worker { SERVE_LISTS, SERVE_CHECKS, SERVE_WORKERS };

/* Scopes that change in time (tend.c). */
struct tendeds {
    struct tended **places; /* NULL: there was none yet */
    size_t n_places;
    struct tended *oldest, *newest; /* of those without a channel */
    size_t n_listed;
};

struct server {
    struct cli *cli;
    struct limits limits;
    struct listener listeners[SERVE_LISTEN_MAX];
    size_t n_listeners;
    char secret[SERVE_SECRET_MAX]; /* "": none */
    struct client **clients;
    size_t n_clients, clients_room;
    struct pollfd *polled;
    size_t polled_room;
    uint64_t last_id;
    size_t first;            /* the client whose turn is first */
    int64_t accept_again_ms; /* no descriptors were left; until then no client is accepted */
    int64_t silent_until_ms; /* the store did not answer; until then new channels do not read it */
    /* of a round */
    struct job jobs[SERVE_BATCH];
    struct usher_operation ops[SERVE_BATCH];
    struct usher_result results[SERVE_BATCH];
    size_t n_jobs, n_ops, answers; /* answers: bytes of them, at most */
    char line[RESP_LINE_MAX + 1];
    char **word;
    size_t *size;
    struct channel *channels[SERVE_CHANNELS]; /* a table by name */
    struct channel *busy;                     /* see subscribe.c */
    size_t n_channels;
    struct tendeds tendeds;
    struct out text; /* a notice */
    struct figures figures;
    struct http *http;       /* NULL: none */
    struct state *state;     /* for viewers; NULL: there was none for a long time */
    struct workers *workers; /* NULL: none yet */
    struct scrape *scrapes;
    char gone[192]; /* the store has to be opened again: its message; "": it has not */
};

/* A line of the log, on standard error. */
void usher__serve_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

int64_t usher__serve_now_ms(void);
int64_t usher__serve_now_us(void);

/* loop.c: until a signal, or until the store is gone.  Then commands that were read are answered.
 */
void usher__serve_loop(struct server *s);

/* round.c: what clients have sent, as far as one batch goes.  @began_us: when it was read. */
void usher__serve_round(struct server *s, int64_t began_us);

/* commands.c: commands of the server's own, and all those of a client that must not give others. */
bool usher__serve_is_own(const struct client *c, const struct resp_command *command);
void usher__serve_own(struct server *s, struct client *c, const struct resp_command *command);

/* tasks.c: commands that a thread executes. */
bool usher__serve_is_task(const struct resp_command *command);
void usher__serve_task(struct server *s, struct client *c, const struct resp_command *command);

/* round.c: append the answer @result to @op. */
void usher__serve_answer(struct out *o, bool resp3, bool packed, const struct usher_operation *op,
                         const struct usher_result *result);
/* A command has this status: the server ends if the store is gone for good. */
void usher__serve_failure(struct server *s, enum usher_status status, const char *message);
/* Small letters for the first @n words. */
void usher__serve_lower(const struct resp_command *command, size_t n);

/* listen.c.  @where: unix:PATH, or HOST:PORT of this machine.  NULL, or what is wrong. */
const char *usher__serve_listen(struct server *s, const char *where);
/* Sockets that were opened for us (LISTEN_FDS). */
const char *usher__serve_inherit(struct server *s);
void usher__serve_deaf(struct server *s);
/* A listening socket on HOST:PORT.  NULL, or what is wrong. */
const char *usher__serve_bind(const char *where, int *ret_fd);
/* It, as clients find it. */
void usher__serve_address(int fd, char *to, size_t size);

/* Half of `out` waits for @c: no more of its commands are done until it has read some. */
static inline bool usher__serve_is_stuck(const struct server *s, const struct client *c)
{
    return usher__out_size(&c->out) >= s->limits.out / 2;
}

/* loop.c: as much as @c takes now. */
void usher__serve_write(struct client *c);

/* The library may have something to hand out, or scopes to sweep. */
static inline bool usher__serve_watches(const struct server *s)
{
    return s->n_channels > 0 || s->figures.tended > 0 || s->figures.scrapes > 0;
}

/* subscribe.c */
void usher__serve_subscribe(struct server *s, struct client *c, const struct resp_command *command);
/* Without words: from all. */
void usher__serve_unsubscribe(struct server *s, struct client *c,
                              const struct resp_command *command);
void usher__serve_forget(struct server *s, struct client *c);
void usher__serve_tell(struct server *s);
/* A channel that waits for its reader can go on. */
bool usher__serve_can_resume(const struct server *s);

/* tend.c.  @result answers @op: the scope is tended if something of it is due. */
void usher__serve_tend(struct server *s, const struct usher_operation *op,
                       const struct usher_result *result);
/* A channel of scope @name begins: the scope is tended until the last one ends. */
void usher__serve_tend_channel(struct server *s, enum usher_noun noun, const char *name);
void usher__serve_tend_no_channel(struct server *s, enum usher_noun noun, const char *name);
/* When there are no channels any more. */
void usher__serve_tend_done(struct server *s);

/* worker.c.  Append @w to the work of thread @which.  Return false if there is no thread. */
bool usher__serve_work(struct server *s, enum serve_worker which, struct work *w);
/* Return a descriptor that is readable while work is done, or -1. */
int usher__serve_work_fd(const struct server *s);
/* Call done() of all work that is done. */
void usher__serve_work_collect(struct server *s);
/* End the threads.  Return false if one of them is still at work: the process has to end then. */
bool usher__serve_work_end(struct server *s);

/* http.c.  NULL, or what is wrong. */
const char *usher__serve_http_open(struct server *s, const char *where);
void usher__serve_http_close(struct server *s);
/* A descriptor to be polled for reading, -1: none; and how long that may take, ms, -1: for ever. */
int usher__serve_http_fd(const struct server *s);
int usher__serve_http_timeout(const struct server *s);
void usher__serve_http_run(struct server *s);
/* The connection @owner has an answer, or more of one. */
void usher__serve_http_resume(void *owner);
/* Close the connection @owner, which does not read. */
void usher__serve_http_shut(void *owner);

/* scrape.c: all replies to @p have come. */
void usher__serve_scraped(struct scrape *p);

#endif
