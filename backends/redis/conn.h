/* SPDX-License-Identifier: MIT */
/*
 * conn -- one connection to one Redis server: bytes, deadlines, and what a failure means.
 *
 * Requests are appended to a batch, the batch is flushed, and then one reply is read for each
 * request, in order.  After any failure the caller can determine for each request whether the
 * server may have received it: this decides between `unavailable` and `unknown`.
 *
 * A connection belongs to one thread at a time.  Deadlines are CLOCK_MONOTONIC, ms.  After its
 * deadline a call still uses bytes that have already arrived, without waiting.
 */
#ifndef USHER_BACKENDS_REDIS_CONN_H
#define USHER_BACKENDS_REDIS_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <usher/usher.h>

#include "tls.h"

struct redisReply; /* <hiredis/hiredis.h> */
struct usher__redis_conn;

/* A larger reply is a protocol error.  The store never requests one. */
#define USHER__REDIS_MAX_REPLY ((size_t)64 << 20)   /* bytes on the wire */
#define USHER__REDIS_MAX_ELEMENTS ((size_t)1 << 20) /* in all arrays of a reply together */
#define USHER__REDIS_MAX_DEPTH 5                    /* CLUSTER SLOTS needs 4 */
#define USHER__REDIS_MAX_LINE ((size_t)64 << 10)    /* bytes of a status or an error */

#define USHER__REDIS_MESSAGE_SIZE 192

/* The strings belong to the caller and must outlive the connection. */
struct usher__redis_conn_options {
    const char *host;        /* an address or a name */
    const char *ip;          /* used if the name cannot be resolved; NULL or "": unknown */
    const char *unix_path;   /* used instead of host and port if not NULL */
    const char *user;        /* NULL: AUTH has only the password */
    const char *password;    /* NULL: no AUTH */
    const char *client_name; /* or NULL; the server may refuse it without an error */
    int64_t db;              /* for SELECT, if not 0 */
    uint16_t port;
    bool over_tls; /* false with a socket file */
    struct usher__redis_tls_options tls;
};

int64_t usher__redis_clock_ms(void); /* CLOCK_MONOTONIC */

/*
 * Make a connection object, not connected yet.  @alloc and the strings of @opt must outlive it.
 * Returns USHER_OK, USHER_NOMEM, or USHER_INVALID: no host, no port, a path too long for a socket,
 * a user without password, db < 0; with TLS also no name, a name that begins with a dot, a key
 * without certificate, or TLS is not built in.
 */
enum usher_status usher__redis_conn_open(const struct usher_allocator *alloc,
                                         const struct usher__redis_conn_options *opt,
                                         struct usher__redis_conn **ret_conn);
void usher__redis_conn_close(struct usher__redis_conn *c); /* or NULL */

/*
 * Close the former socket, drop appended requests, and connect.  With TLS, verify the server.  Then
 * send AUTH, SELECT, CLIENT SETNAME and PING in one write.  While the server answers LOADING or
 * BUSY, repeat them until the deadline. Returns USHER_OK, USHER_UNAVAILABLE or USHER_NOMEM.
 *
 * No call waits past its deadline, except in getaddrinfo() for a name, which has no deadline.  For
 * a numeric address it does not wait.
 */
enum usher_status usher__redis_conn_connect(struct usher__redis_conn *c, int64_t deadline_ms);
bool usher__redis_conn_is_connected(const struct usher__redis_conn *c);

/* Returned by functions that do not wait: call again when the wanted event has occurred. */
#define USHER__REDIS_WAITS USHER_STATUS__WIDE

/*
 * Connect without waiting, except for the resolution of a name.  begin returns USHER_OK,
 * UNAVAILABLE or NOMEM; go_on then returns one of these or USHER__REDIS_WAITS.  The attempt fails
 * at
 * @deadline_ms.  A caller with less time stops with the message of slow(), and may continue later.
 */
enum usher_status usher__redis_conn_begin_connect(struct usher__redis_conn *c, int64_t deadline_ms);
enum usher_status usher__redis_conn_go_on(struct usher__redis_conn *c);
void usher__redis_conn_slow(struct usher__redis_conn *c);
/* Return whether the connection could not be made because the server is not ready (LOADING).  Its
 * message contains the reason. */
bool usher__redis_conn_said_why(const struct usher__redis_conn *c);

/* Return the socket to wait on, or -1, and the poll() events in *@ret_events; until returns the
 * time to wait for, or INT64_MAX. */
int usher__redis_conn_wants(const struct usher__redis_conn *c, short *ret_events);
int64_t usher__redis_conn_until(const struct usher__redis_conn *c);

/* Close the socket.  Open requests get no answer. */
void usher__redis_conn_discard(struct usher__redis_conn *c);

/*
 * Append a request: begin with the number of arguments, including the name of the command, then
 * each argument.  Bytes are copied.  The first begin after a batch was answered completely, has
 * failed or was discarded starts the next batch.  While replies are outstanding nothing can be
 * appended.  Lack of memory and wrong use are returned by flush.
 */
void usher__redis_conn_begin(struct usher__redis_conn *c, size_t argc);
void usher__redis_conn_arg(struct usher__redis_conn *c, const void *p, size_t len);
void usher__redis_conn_arg_str(struct usher__redis_conn *c, const char *s);
void usher__redis_conn_arg_i64(struct usher__redis_conn *c, int64_t v);

/*
 * Pass as much of the batch to the kernel as it accepts now; read sends the rest.  Never waits, so
 * several connections can be flushed before the first one is read.
 * USHER_OK: a reply must be read for each request (there may be none).  Otherwise no appended
 * request was sent, and all are dropped: USHER_INVALID      wrong number of arguments, or replies
 * are outstanding (those stay) USHER_NOMEM        the connection stays usable USHER_UNAVAILABLE not
 * connected, or the server had gone
 */
enum usher_status usher__redis_conn_flush(struct usher__redis_conn *c);

/*
 * Return the reply to the oldest open request; freeReplyObject() frees it.  Errors of the server
 * are replies, too: see usher__redis_classify().  A reply has only types of RESP2 and is within the
 * limits above; its contents are not checked.
 *
 * USHER_INVALID      no reply is outstanding; nothing changed
 * USHER_UNAVAILABLE  no byte of this request was passed to the kernel: it was not applied
 * USHER_UNKNOWN      a part or all of it was: it may have been applied
 * After the latter two the connection is discarded, and usher__redis_conn_unsent_from() returns
 * which of the following requests were not sent.
 */
enum usher_status usher__redis_conn_read(struct usher__redis_conn *c, int64_t deadline_ms,
                                         struct redisReply **ret_reply);

/* Read without waiting: returns the statuses of read, or USHER__REDIS_WAITS.  late() ends the batch
 * as read does at its deadline.  wait() waits between two calls of next, and sets *@late when the
 * deadline has passed; it returns false if *@late was already set. */
enum usher_status usher__redis_conn_next(struct usher__redis_conn *c,
                                         struct redisReply **ret_reply);
enum usher_status usher__redis_conn_late(struct usher__redis_conn *c);
bool usher__redis_conn_wait(struct usher__redis_conn *c, int64_t deadline_ms, bool *late);

/*
 * Use the connection for messages (SUBSCRIBE) from now on.  It must be connected and have no reply
 * outstanding.  Requests can then be appended at any time; flush passes as much to the kernel as it
 * accepts, and next sends the rest.  next returns replies and messages of the server, in order: OK,
 * WAITS, or UNAVAILABLE, and then the connection is discarded.  Messages longer than MAX_MESSAGE,
 * or with more than MAX_PARTS parts, are protocol errors.
 */
#define USHER__REDIS_MAX_MESSAGE ((size_t)64 << 10)
#define USHER__REDIS_MAX_PARTS ((size_t)16)
void usher__redis_conn_listen(struct usher__redis_conn *c);

/*
 * Counts of the batch, valid until the next begin or connect: its requests; the requests that were
 * answered; and the index of the first unsent request, or else the number of requests.  A request
 * is unsent if no byte of it was passed to the kernel; with TLS, if no byte was in a complete
 * record, because a server cannot read a part of one.  Requests with answered <= k < unsent_from
 * may have been applied.
 */
size_t usher__redis_conn_requests(const struct usher__redis_conn *c);
size_t usher__redis_conn_answered(const struct usher__redis_conn *c);
size_t usher__redis_conn_unsent_from(const struct usher__redis_conn *c);

/*
 * Return one printable line about the last failure, "redis HOST:PORT: ...", shorter than
 * USHER__REDIS_MESSAGE_SIZE; "" if there was none.  Valid until the next call that fails.  A text
 * of the server that contains the password is not shown; a password of less than 6 bytes is left
 * out where it is in quotes.  Arguments of a command that the server repeats are left out, too.
 */
const char *usher__redis_conn_message(const struct usher__redis_conn *c);
/* Set that line from an error reply. */
const char *usher__redis_conn_explain(struct usher__redis_conn *c, const struct redisReply *reply);
/* Set it to @why, the reason why the server cannot be used. */
void usher__redis_conn_refuse(struct usher__redis_conn *c, const char *why);
/* Set it to @line, which contains the names of the servers. */
void usher__redis_conn_note(struct usher__redis_conn *c, const char *line);

/* The kinds of replies.  A request was not applied unless its reply is OK or SCRIPT_ERROR. */
enum usher__redis_class {
    USHER__REDIS_OK,          /* not an error */
    USHER__REDIS_RETRY,       /* LOADING BUSY TRYAGAIN CLUSTERDOWN MASTERDOWN NOREPLICAS */
    USHER__REDIS_NOSCRIPT,    /* the text of the script must be sent */
    USHER__REDIS_MOVED,       /* another node has the slot */
    USHER__REDIS_ASK,         /* another node has the key; the owner of the slot stays */
    USHER__REDIS_REFUSED,     /* READONLY OOM MISCONF NOAUTH NOPERM CROSSSLOT ... */
    USHER__REDIS_SCRIPT_ERROR /* any other: perhaps applied, perhaps half-way */
};

/*
 * Classify @reply by its text, at the places where Redis 6.2 and 7 and Valkey put the code.  An
 * error that may be from a command inside a script is SCRIPT_ERROR.  After a write a script must
 * raise the errors of redis.call(), and not return those of redis.pcall(): a returned error looks
 * like a refusal before the script ran.
 */
enum usher__redis_class usher__redis_classify(const struct redisReply *reply);

#endif
