/* SPDX-License-Identifier: MIT */
/*
 * certs -- throw-away CAs and certificates for tests, in files of their own.
 *
 * Keys are of curve P-256 and new each time.  All functions end the program with a message if
 * something does not work.
 */
#ifndef USHER_TESTS_CERTS_H
#define USHER_TESTS_CERTS_H

#include <stddef.h>

#include <openssl/evp.h>
#include <openssl/x509.h>

/* A certificate with its key. */
struct cert {
    X509 *x509;
    EVP_PKEY *key;
};

/* "CN=@name", good from @from to @until seconds from now.  @by NULL: signed by itself, a CA.
 * @names: as in openssl.cnf, "DNS:a.example,IP:10.0.0.1"; NULL: none but @name. */
struct cert cert_make(const char *name, const struct cert *by, const char *names, long from,
                      long until);
void cert_free(struct cert *c);

/* Write PEM files.  Each is renamed into place, so a reader never gets half of one. */
void cert_write(const struct cert *c, const char *path);
void cert_write_key(const struct cert *c, const char *path);
void cert_write_both(const struct cert *c, const char *path);
void cert_write_locked_key(const struct cert *c, const char *path); /* by a pass phrase */

#endif
