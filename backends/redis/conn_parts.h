/* SPDX-License-Identifier: MIT */
/* The parts of a connection that conn.c (bytes and batches), connect.c, and conn_text.c (messages)
 * share. */
#ifndef USHER_BACKENDS_REDIS_CONN_PARTS_H
#define USHER_BACKENDS_REDIS_CONN_PARTS_H

#include <string.h>

#include <hiredis/hiredis.h>

#include "conn.h"
#include "frame.h"

#define INPUT_SIZE ((size_t)32 << 10)

/* The TLS layer, or NULL.  Without TLS a constant, so that its functions are never called. */
#ifdef USHER_WITH_TLS
#define TLS(c) ((c)->tls)
#else
#define TLS(c) ((struct usher__redis_tls *)NULL)
#endif

/* The stages of making a connection. */
enum stage {
    NOT_CONNECTED,
    CONNECTING, /* to one address after the other */
    SECURING,
    GREETING,
    RESTING, /* the server is not ready yet: the greeting is repeated after a pause */
    CONNECTED
};

enum step { STEP_AUTH, STEP_SELECT, STEP_NAME, STEP_PING, STEPS };

/* The state of a connection that is being made. */
struct connecting {
    struct addrinfo *list, *at; /* addresses, and the next one; NULL with a socket file */
    int64_t n_left;             /* count of addresses from @at on */
    int64_t deadline_ms;        /* of the whole attempt */
    int64_t until_ms;           /* end of the time for this address, or of the pause */
    int64_t delay_ms;           /* length of the next pause */
    enum step steps[STEPS];     /* the steps of the current greeting */
    size_t n_steps;
    enum usher_status verdict;            /* OK, or the first error that answered a step */
    bool again;                           /* that error is temporary */
    char said[USHER__REDIS_MESSAGE_SIZE]; /* its message */
};

enum batch {
    BATCH_OPEN, /* requests are being appended */
    BATCH_SENT, /* flushed; replies are outstanding */
    BATCH_OVER  /* answered or failed; its counts can still be queried */
};

struct usher__redis_conn {
    const struct usher_allocator *alloc;
    struct usher__redis_conn_options opt;
    struct usher__redis_tls *tls; /* or NULL */
    int fd;                       /* or -1 */
    enum stage stage;
    struct connecting to;
    int io_errno;
    redisReader *reader; /* NULL: made when needed */
    size_t reader_peak;  /* size of the longest reply that it has held */
    struct usher__redis_scanner scan;

    enum batch batch;
    enum usher_status failed; /* OK, or the status that flush must return */
    size_t args_left;         /* missing arguments of the request being appended */
    char *out;
    size_t out_len, out_size;
    size_t sent;      /* bytes handed to the kernel; with TLS, in whole records */
    bool send_failed; /* no more can be sent; answers can still be read */
    size_t *start;    /* offset of each request in @out */
    size_t requests, requests_size;
    size_t answered;
    bool listens; /* the connection is for messages: the batch stays open */

    bool hung_up;   /* the stream has ended */
    bool more;      /* the last read filled @in, or TLS has bytes: read again before waiting */
    bool just_sent; /* no answer can have arrived yet */
    size_t in_pos, in_len;
    char in[INPUT_SIZE];
    char message[USHER__REDIS_MESSAGE_SIZE];
};

static inline void *resize(struct usher__redis_conn *c, void *p, size_t old, size_t size)
{
    return c->alloc->resize(c->alloc->payload, p, old, size);
}

/* Write the up to 20 digits of @v before @end.  Not snprintf(), because this runs for each
 * argument. */
static inline char *digits(char *end, uint64_t v)
{
    do
        *--end = (char)('0' + v % 10);
    while ((v /= 10) != 0);
    return end;
}

static inline bool contains(const char *text, size_t len, const char *word, size_t word_len)
{
    for (size_t i = 0; word_len <= len && i <= len - word_len; i++)
        if (memcmp(text + i, word, word_len) == 0)
            return true;
    return false;
}

/* ---- conn_text.c ---- */

/* Set the message: @what, followed by @detail, by the error @e of the system, or by the text of an
 * error reply. */
void usher__redis_conn_say(struct usher__redis_conn *c, const char *what, const char *detail);
void usher__redis_conn_say_errno(struct usher__redis_conn *c, const char *what, int e);
void usher__redis_conn_say_reply(struct usher__redis_conn *c, const char *text, size_t len);

/* ---- conn.c ---- */

/* Wait for @events on @fd (-1: only for the deadline).  Return the events that are ready, 0 if the
 * deadline has passed, or -1 with errno. */
int usher__redis_conn_poll(int fd, short events, int64_t deadline);
/* Write the message for IO_FAILED. */
void usher__redis_conn_say_io(struct usher__redis_conn *c);
/* Wait for the events that the connection wants, until @deadline. */
void usher__redis_conn_wait_on(const struct usher__redis_conn *c, int64_t deadline);
void usher__redis_conn_reset(struct usher__redis_conn *c);

#endif
