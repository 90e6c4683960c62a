/* SPDX-License-Identifier: MIT */
/* certs -- see certs.h. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "certs.h"

static void must(int is_good, const char *what)
{
    if (is_good)
        return;
    (void)fprintf(stderr, "certs: %s\n", what);
    ERR_print_errors_fp(stderr);
    abort();
}

static void extend(X509 *x509, X509 *by, int nid, const char *value)
{
    X509V3_CTX context;
    X509_EXTENSION *extension;

    X509V3_set_ctx(&context, by, x509, NULL, NULL, 0);
    extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    must(extension != NULL && X509_add_ext(x509, extension, -1) == 1, value);
    X509_EXTENSION_free(extension);
}

struct cert cert_make(const char *name, const struct cert *by, const char *names, long from,
                      long until)
{
    struct cert c = { X509_new(), EVP_EC_gen("P-256") };
    X509_NAME *subject;
    ASN1_INTEGER *serial;
    BIGNUM *number = BN_new();

    must(c.x509 != NULL && c.key != NULL && number != NULL, "a key");
    must(X509_set_version(c.x509, 2) == 1, "version 3");
    /* two of one issuer with one number would be taken for each other */
    must(BN_rand(number, 120, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1, "a number");
    serial = BN_to_ASN1_INTEGER(number, NULL);
    must(serial != NULL && X509_set_serialNumber(c.x509, serial) == 1, "a serial number");
    ASN1_INTEGER_free(serial);
    BN_free(number);
    must(X509_gmtime_adj(X509_getm_notBefore(c.x509), from) != NULL &&
             X509_gmtime_adj(X509_getm_notAfter(c.x509), until) != NULL,
         "dates");
    subject = X509_get_subject_name(c.x509);
    must(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1,
                                    -1, 0) == 1,
         name);
    must(X509_set_issuer_name(c.x509, by != NULL ? X509_get_subject_name(by->x509) : subject) == 1,
         "an issuer");
    must(X509_set_pubkey(c.x509, c.key) == 1, "a public key");
    if (by == NULL)
        extend(c.x509, c.x509, NID_basic_constraints, "critical,CA:TRUE");
    if (names != NULL)
        extend(c.x509, by != NULL ? by->x509 : c.x509, NID_subject_alt_name, names);
    must(X509_sign(c.x509, by != NULL ? by->key : c.key, EVP_sha256()) > 0, "a signature");
    return c;
}

void cert_free(struct cert *c)
{
    X509_free(c->x509);
    EVP_PKEY_free(c->key);
    *c = (struct cert){ NULL, NULL };
}

static void save(const char *path, X509 *x509, EVP_PKEY *key, const char *pass_phrase)
{
    const EVP_CIPHER *cipher = pass_phrase != NULL ? EVP_aes_128_cbc() : NULL;
    char half[4096];
    FILE *f;

    must(snprintf(half, sizeof half, "%s.new", path) < (int)sizeof half, "a short path");
    f = fopen(half, "w");
    must(f != NULL, path);
    must(x509 == NULL || PEM_write_X509(f, x509) == 1, path);
    must(key == NULL ||
             PEM_write_PrivateKey(f, key, cipher, NULL, 0, NULL, (char *)(size_t)pass_phrase) == 1,
         path);
    must(fclose(f) == 0 && rename(half, path) == 0, path);
}

void cert_write(const struct cert *c, const char *path)
{
    save(path, c->x509, NULL, NULL);
}

void cert_write_key(const struct cert *c, const char *path)
{
    save(path, NULL, c->key, NULL);
}

void cert_write_both(const struct cert *c, const char *path)
{
    save(path, c->x509, c->key, NULL);
}

void cert_write_locked_key(const struct cert *c, const char *path)
{
    save(path, NULL, c->key, "secret");
}
