/* SPDX-License-Identifier: MIT */
/*
 * conn -- one connection to one Redis server: bytes, deadlines, and what a failure means.
 *
 * Requests are appended to a batch, the batch is flushed, and then one reply is read for
 * each request, in order.  Whatever goes wrong, the caller learns for each request whether
 * the server may have seen it: that decides between `unavailable` and `unknown`.
 *
 * A connection belongs to one thread at a time.  Deadlines are CLOCK_MONOTONIC, ms.  One
 * that has passed still lets a call use what has already arrived, without waiting.
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

/* What we ever ask for stays far below; a reply beyond is a protocol error. */
#define USHER__REDIS_MAX_REPLY ((size_t)64 << 20)   /* bytes on the wire */
#define USHER__REDIS_MAX_ELEMENTS ((size_t)1 << 20) /* in all arrays of a reply together */
#define USHER__REDIS_MAX_DEPTH 5                    /* CLUSTER SLOTS needs 4 */
#define USHER__REDIS_MAX_LINE ((size_t)64 << 10)    /* of a status or an error */

#define USHER__REDIS_MESSAGE_SIZE 192

/* Strings stay the caller's and must outlive the connection. */
struct usher__redis_conn_options {
    const char *host;        /* an address or a name */
    const char *ip;          /* its address, if the name cannot be resolved; NULL, "": none */
    const char *unix_path;   /* instead of host and port, if not NULL */
    const char *user;        /* NULL: AUTH with the password alone */
    const char *password;    /* NULL: no AUTH */
    const char *client_name; /* NULL: none; a server that dislikes it is not an error */
    int64_t db;              /* SELECT if not 0 */
    uint16_t port;
    bool over_tls; /* not over a socket file */
    struct usher__redis_tls_options tls;
};

int64_t usher__redis_clock_ms(void); /* CLOCK_MONOTONIC */

/*
 * Makes an unconnected connection.  @alloc and what @opt points to must outlive it.
 * USHER_OK, USHER_NOMEM, or USHER_INVALID: no host, no port, a path too long for a socket,
 * a user without password, db < 0; over TLS no name, one that begins with a dot, a key without
 * certificate, or TLS is not built in.
 */
enum usher_status usher__redis_conn_open(const struct usher_allocator *alloc,
                                         const struct usher__redis_conn_options *opt,
                                         struct usher__redis_conn **ret_conn);
void usher__redis_conn_close(struct usher__redis_conn *c); /* takes NULL */

/*
 * Closes what was open, drops what was appended, connects, over TLS makes sure of the server, and
 * sends AUTH, SELECT, CLIENT SETNAME and PING in one write.  While the server answers LOADING or
 * BUSY it is asked again until the deadline.
 * USHER_OK, USHER_UNAVAILABLE or USHER_NOMEM.
 *
 * No call waits past its deadline, except that getaddrinfo() takes its time for a name;
 * it does not for a numeric address.
 */
enum usher_status usher__redis_conn_connect(struct usher__redis_conn *c, int64_t deadline_ms);
bool usher__redis_conn_is_connected(const struct usher__redis_conn *c);

/* Of what does not wait: it is to be called again when what is wanted is there. */
#define USHER__REDIS_WAITS USHER_STATUS__WIDE

/*
 * The same without waiting, but for the name.  begin: USHER_OK, UNAVAILABLE or NOMEM; then go_on:
 * these, or USHER__REDIS_WAITS.  It fails by itself at @deadline_ms; who has less time gives it up
 * with the message of slow(), and may go on with it later.
 */
enum usher_status usher__redis_conn_begin_connect(struct usher__redis_conn *c, int64_t deadline_ms);
enum usher_status usher__redis_conn_go_on(struct usher__redis_conn *c);
void usher__redis_conn_slow(struct usher__redis_conn *c);
/* The connection is not made, and its message is why the server is not ready for it (LOADING). */
bool usher__redis_conn_said_why(const struct usher__redis_conn *c);

/* What it waits for: for *@ret_events of poll() on the socket it returns (-1: for none), or for the
 * time of until (INT64_MAX: none). */
int usher__redis_conn_wants(const struct usher__redis_conn *c, short *ret_events);
int64_t usher__redis_conn_until(const struct usher__redis_conn *c);

/* Closes the socket.  Requests not yet answered never will be. */
void usher__redis_conn_discard(struct usher__redis_conn *c);

/*
 * A request: begin with the number of arguments, the command's name included, then each
 * argument; bytes are copied.  The first begin after a batch was answered in full, has
 * failed or was discarded starts the next batch.  While replies are outstanding nothing can
 * be appended.  Lack of memory and wrong use are remembered and returned by flush.
 */
void usher__redis_conn_begin(struct usher__redis_conn *c, size_t argc);
void usher__redis_conn_arg(struct usher__redis_conn *c, const void *p, size_t len);
void usher__redis_conn_arg_str(struct usher__redis_conn *c, const char *s);
void usher__redis_conn_arg_i64(struct usher__redis_conn *c, int64_t v);

/*
 * Hands the batch to the kernel as far as it takes it now; read sends the rest.  Never
 * waits, so several connections can be flushed before the first one is read.
 * USHER_OK: under way; read a reply for each request (there may be none).  Otherwise
 * nothing of what was appended was sent, and it is dropped:
 * USHER_INVALID      wrong number of arguments, or replies are outstanding (those stay)
 * USHER_NOMEM        the connection stays usable
 * USHER_UNAVAILABLE  not connected, or the server had gone
 */
enum usher_status usher__redis_conn_flush(struct usher__redis_conn *c);

/*
 * The reply to the oldest request not yet answered; freeReplyObject() frees it.  Errors of
 * the server are replies, too: see usher__redis_classify().  Only types of RESP2 occur;
 * beyond that a reply is what the server likes, within the limits above.
 *
 * USHER_INVALID      no reply is outstanding; nothing changed
 * USHER_UNAVAILABLE  nothing of this request was handed to the kernel: it was not applied
 * USHER_UNKNOWN      some or all of it was: it may have been applied
 * After the latter two the connection is discarded and usher__redis_conn_unsent_from() tells
 * about the requests behind this one.
 */
enum usher_status usher__redis_conn_read(struct usher__redis_conn *c, int64_t deadline_ms,
                                         struct redisReply **ret_reply);

/* The same without waiting: as above, or USHER__REDIS_WAITS.  late() gives up with what read gives
 * up with.  wait() is what read does in between; false: the time was over, *@late, and still is. */
enum usher_status usher__redis_conn_next(struct usher__redis_conn *c,
                                         struct redisReply **ret_reply);
enum usher_status usher__redis_conn_late(struct usher__redis_conn *c);
bool usher__redis_conn_wait(struct usher__redis_conn *c, int64_t deadline_ms, bool *late);

/*
 * The connection, which is connected and has no reply outstanding, is for messages (SUBSCRIBE) from
 * now on.  Requests can then be appended at any time; flush hands them to the kernel as far as it
 * takes them, and next sends the rest.  next returns whatever the server says, in order: OK, WAITS,
 * or UNAVAILABLE, and the connection is discarded.  Longer messages than MAX_MESSAGE, or with more
 * parts than MAX_PARTS, are protocol errors.
 */
#define USHER__REDIS_MAX_MESSAGE ((size_t)64 << 10)
#define USHER__REDIS_MAX_PARTS ((size_t)16)
void usher__redis_conn_listen(struct usher__redis_conn *c);

/*
 * About the batch, until the next begin or connect: how many requests it has, how many were
 * answered, and the first of which no byte was handed to the kernel, over TLS not in a whole
 * record, without which the server can make nothing of it (if there is none: the number of
 * requests).  Those in answered <= k < unsent_from may have been applied.
 */
size_t usher__redis_conn_requests(const struct usher__redis_conn *c);
size_t usher__redis_conn_answered(const struct usher__redis_conn *c);
size_t usher__redis_conn_unsent_from(const struct usher__redis_conn *c);

/*
 * One printable line about the last failure, "redis HOST:PORT: ...", shorter than
 * USHER__REDIS_MESSAGE_SIZE; "" before the first.  Lives until the next call that fails.
 * It has no text of the server that contains the password; a password of less than 6 bytes is left
 * out where it is in quotes.  Arguments of a command that the server repeats are left out, too.
 */
const char *usher__redis_conn_message(const struct usher__redis_conn *c);
/* Makes that line from an error reply. */
const char *usher__redis_conn_explain(struct usher__redis_conn *c, const struct redisReply *reply);
/* Makes it of @why the server is not to be used. */
void usher__redis_conn_refuse(struct usher__redis_conn *c, const char *why);
/* Makes it @line, which names the servers itself. */
void usher__redis_conn_note(struct usher__redis_conn *c, const char *line);

/* What a reply says about its request.  With all but OK and SCRIPT_ERROR it was not
 * applied. */
enum usher__redis_class {
    USHER__REDIS_OK,          /* not an error */
    USHER__REDIS_RETRY,       /* LOADING BUSY TRYAGAIN CLUSTERDOWN MASTERDOWN NOREPLICAS */
    USHER__REDIS_NOSCRIPT,    /* send the script itself */
    USHER__REDIS_MOVED,       /* the slot lives elsewhere */
    USHER__REDIS_ASK,         /* elsewhere, this once */
    USHER__REDIS_REFUSED,     /* READONLY OOM MISCONF NOAUTH NOPERM CROSSSLOT ... */
    USHER__REDIS_SCRIPT_ERROR /* anything else: perhaps applied, perhaps by half */
};

/*
 * Goes by the text, at the places where Redis 6.2 and 7 and Valkey put the code; what may be of a
 * command inside of a script is SCRIPT_ERROR when in doubt.  Scripts must raise the errors of
 * redis.call(), not return those of redis.pcall() once they have written: a returned one looks like
 * a refusal at the door.
 */
enum usher__redis_class usher__redis_classify(const struct redisReply *reply);

#endif
