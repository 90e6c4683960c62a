/* SPDX-License-Identifier: MIT */
/*
 * tls -- TLS between a connection and its socket, by OpenSSL.
 *
 * An object exists as long as its connection and is used by one thread at a time.  It keeps the
 * contents of files (CAs, the client's certificate and key), and reads them again when a new stream
 * begins and one of them has changed.  No function waits, and nothing is sent at the end of a
 * stream, because after fork() the parent may still use the socket.
 *
 * Memory: the object comes from the allocator; OpenSSL uses its own allocator, one for the process.
 * OpenSSL's error queue of the thread is empty after each call.
 */
#ifndef USHER_BACKENDS_REDIS_TLS_H
#define USHER_BACKENDS_REDIS_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <usher/usher.h>

/* Results of reads and writes other than a number of bytes; the end of the stream is 0. */
#define IO_AGAIN ((ssize_t)-1)
#define IO_FAILED ((ssize_t)-2)

struct usher__redis_tls;

/* Files are PEM.  The strings belong to the caller and must outlive the object. */
struct usher__redis_tls_options {
    const char *ca;   /* a file, or a directory made by `openssl rehash`; NULL: the system's CAs */
    const char *cert; /* the client's certificate with the intermediate ones, or NULL */
    const char *key;  /* its key; NULL: in the same file */
    const char *name; /* the name or address that the server's certificate must have */
};

/* Make an object.  Return NULL without memory. */
struct usher__redis_tls *usher__redis_tls_open(const struct usher_allocator *alloc,
                                               const struct usher__redis_tls_options *opt);
void usher__redis_tls_close(struct usher__redis_tls *t); /* or NULL */

/* Begin a stream on the connected, non-blocking socket @fd, which still belongs to the caller.
 * Returns USHER_OK, USHER_NOMEM, or USHER_UNAVAILABLE: a file cannot be used;
 * usher__redis_tls_text() has the reason. */
enum usher_status usher__redis_tls_begin(struct usher__redis_tls *t, int fd);
void usher__redis_tls_end(struct usher__redis_tls *t);

/*
 * Return a number of bytes (handshake: 1 when it is done), 0, IO_AGAIN or IO_FAILED.
 *
 * The result of write is exact: bytes count when the kernel has their whole record, because a
 * server cannot read a part of one.  After IO_AGAIN call it again with the same bytes.
 */
ssize_t usher__redis_tls_handshake(struct usher__redis_tls *t);
ssize_t usher__redis_tls_read(struct usher__redis_tls *t, void *p, size_t size);
ssize_t usher__redis_tls_write(struct usher__redis_tls *t, const void *p, size_t size);

/* Return whether there are more bytes that were already read from the socket.  If so, read again
 * before waiting. */
bool usher__redis_tls_holds(const struct usher__redis_tls *t);

/* Return the poll() events to wait for after IO_AGAIN of a read, the handshake, or a write. */
short usher__redis_tls_events(const struct usher__redis_tls *t, bool to_write);

/* Return the message of the last failure; "" if the socket failed, with errno in *@ret_errno. */
const char *usher__redis_tls_text(const struct usher__redis_tls *t, int *ret_errno);

#endif
