/* SPDX-License-Identifier: MIT */
/*
 * tls -- TLS between a connection and its socket, by OpenSSL.
 *
 * An object of it lives as long as its connection and is used by one thread at a time.  It keeps
 * the content of files (CAs, the client's certificate and key), and reads them again when a new
 * stream begins and one of them has changed.  Nothing here waits, and nothing is sent at the
 * end of a stream: after fork() the parent may still use the socket.
 *
 * Memory: the object comes from the allocator; OpenSSL uses its own allocator, one a
 * process.  The error queue that OpenSSL keeps for each thread is empty after each call.
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

/* Files are PEM.  Strings stay the caller's and must outlive the object. */
struct usher__redis_tls_options {
    const char *ca;   /* a file, or a directory made by `openssl rehash`; NULL: the system's CAs */
    const char *cert; /* the client's certificate and those between it and its CA; NULL: none */
    const char *key;  /* of the certificate; NULL: in the same file */
    const char *name; /* what the server's certificate must be for: a host's name or an address */
};

/* NULL: no memory. */
struct usher__redis_tls *usher__redis_tls_open(const struct usher_allocator *alloc,
                                               const struct usher__redis_tls_options *opt);
void usher__redis_tls_close(struct usher__redis_tls *t); /* takes NULL */

/* A new stream on the connected, non-blocking socket @fd, which stays the caller's.  USHER_OK,
 * USHER_NOMEM, or USHER_UNAVAILABLE: a file cannot be used; usher__redis_tls_text() says why. */
enum usher_status usher__redis_tls_begin(struct usher__redis_tls *t, int fd);
void usher__redis_tls_end(struct usher__redis_tls *t);

/*
 * A number of bytes (of the handshake: 1, it is done), 0, IO_AGAIN or IO_FAILED.
 *
 * The result of write is exact: bytes count when the kernel has their whole record, because a
 * server cannot read a part of one.  After IO_AGAIN call it with the same bytes again.
 */
ssize_t usher__redis_tls_handshake(struct usher__redis_tls *t);
ssize_t usher__redis_tls_read(struct usher__redis_tls *t, void *p, size_t size);
ssize_t usher__redis_tls_write(struct usher__redis_tls *t, const void *p, size_t size);

/* After a read: are there bytes that came from the socket already?  Then nothing is to be waited
 * for before the next one. */
bool usher__redis_tls_holds(const struct usher__redis_tls *t);

/* The poll events to wait for after IO_AGAIN: of a read or the handshake, or of a write. */
short usher__redis_tls_events(const struct usher__redis_tls *t, bool to_write);

/* Why something failed, "" if it was the socket: then errno is in *@ret_errno. */
const char *usher__redis_tls_text(const struct usher__redis_tls *t, int *ret_errno);

#endif
