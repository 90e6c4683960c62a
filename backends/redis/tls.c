/* SPDX-License-Identifier: MIT */
/*
 * tls -- see tls.h.
 *
 * OpenSSL's own BIO for sockets would raise SIGPIPE, so this file has its own.  The mode is chosen
 * so that each call does a bounded amount of work: the deadline also applies to a server that sends
 * only session tickets and key updates.  Sessions are not resumed, so every connection checks the
 * server's certificate.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#include <arpa/inet.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "tls.h"

#define TEXT_SIZE 176
#define NAMES_SIZE 72 /* bytes for the names of a certificate in a message */

/* A record with its header and trailer is less than 17 KiB; the rest is for answers to key updates.
 */
#define HELD_SIZE ((size_t)20 << 10)
#define INPUT_SIZE ((size_t)20 << 10)

/* The files: the CAs of the system can be in a file and a directory. */
enum { FILE_CA, FILE_CA_DIR, FILE_CERT, FILE_KEY, FILES };

/* All zero: the file does not exist. */
struct stamp {
    dev_t dev;
    ino_t ino;
    off_t size;
    struct timespec modified, changed;
};

struct usher__redis_tls {
    const struct usher_allocator *alloc;
    struct usher__redis_tls_options opt;
    BIO_METHOD *method;
    SSL_CTX *context; /* made of the files with these stamps; or NULL */
    struct stamp stamp[FILES];
    SSL *ssl; /* the current stream, or NULL */
    int fd;
    int io_errno; /* of the socket, or 0 */
    bool ended;   /* the stream of the socket has ended */
    bool drained; /* the socket was empty in this call */
    bool got;     /* the last read returned bytes */
    bool locked;  /* the key has a pass phrase */
    short reading;
    size_t written; /* bytes of a record that write() has not reported yet */
    size_t owing;   /* bytes of @held that belong to that record */
    size_t n_held, in_pos, in_len;
    char held[HELD_SIZE];
    char in[INPUT_SIZE]; /* read ahead */
    char text[TEXT_SIZE];
};

static void say(struct usher__redis_tls *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void say(struct usher__redis_tls *t, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(t->text, sizeof t->text, format, args);
    va_end(args);
}

const char *usher__redis_tls_text(const struct usher__redis_tls *t, int *ret_errno)
{
    *ret_errno = t->io_errno;
    return t->text;
}

/* ---- the socket ---------------------------------------------------------------------- */

/* OpenSSL reads a record in two pieces, header and body, so read ahead here: if OpenSSL reads ahead
 * itself, one call processes all of it, and continues for as long as more comes. */
static int socket_read(BIO *bio, char *p, int size)
{
    struct usher__redis_tls *t = BIO_get_data(bio);
    size_t n;

    BIO_clear_retry_flags(bio);
    if (t->in_pos == t->in_len) {
        ssize_t got;

        do
            got = recv(t->fd, t->in, sizeof t->in, 0);
        while (got < 0 && errno == EINTR);
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            t->drained = true;
            BIO_set_retry_read(bio);
        } else if (got < 0) {
            t->io_errno = errno;
        } else if (got == 0) {
            t->ended = true;
        }
        if (got <= 0)
            return (int)got;
        t->in_pos = 0;
        t->in_len = (size_t)got;
    }
    n = t->in_len - t->in_pos < (size_t)size ? t->in_len - t->in_pos : (size_t)size;
    memcpy(p, t->in + t->in_pos, n);
    t->in_pos += n;
    return (int)n;
}

/* Send bytes.  Return how many the kernel accepts now, or -1 with io_errno. */
static ssize_t socket_send(struct usher__redis_tls *t, const char *p, size_t size)
{
    ssize_t n;

    do
        n = send(t->fd, p, size, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n >= 0)
        return n;
    if (errno == EAGAIN || errno == EWOULDBLOCK)
        return 0;
    t->io_errno = errno;
    return -1;
}

/* Bytes that the kernel does not accept are kept, so that OpenSSL never has half a record to write:
 * a request for new keys would then be an error. */
static int socket_write(BIO *bio, const char *p, int size)
{
    struct usher__redis_tls *t = BIO_get_data(bio);
    ssize_t done = 0;
    size_t rest;

    BIO_clear_retry_flags(bio);
    if (t->n_held == 0)
        done = socket_send(t, p, (size_t)size);
    if (done < 0)
        return -1;
    rest = (size_t)size - (size_t)done;
    if (rest > HELD_SIZE - t->n_held) {
        /* only answers to a server that sends requests and does not read */
        BIO_set_retry_write(bio);
        return done > 0 ? (int)done : -1;
    }
    memcpy(t->held + t->n_held, p + done, rest);
    t->n_held += rest;
    return size;
}

/* Send the kept bytes. */
static void send_held(struct usher__redis_tls *t)
{
    ssize_t n = t->n_held > 0 ? socket_send(t, t->held, t->n_held) : 0;

    if (n <= 0)
        return;
    t->n_held -= (size_t)n;
    memmove(t->held, t->held + n, t->n_held);
    t->owing = t->owing > (size_t)n ? t->owing - (size_t)n : 0;
}

static long socket_control(BIO *bio, int what, long number, void *p)
{
    (void)bio;
    (void)number;
    (void)p;
    return what == BIO_CTRL_FLUSH ? 1 : 0; /* there is no buffer to flush */
}

/* ---- files --------------------------------------------------------------------------- */

/* Get the names of the files; NULL for those not used.  The environment can name the system's CAs,
 * as for OpenSSL. */
static void name_files(const struct usher__redis_tls *t, const char *file[FILES])
{
    file[FILE_CA] = t->opt.ca;
    file[FILE_CA_DIR] = NULL;
    if (t->opt.ca == NULL) {
        file[FILE_CA] = secure_getenv(X509_get_default_cert_file_env());
        file[FILE_CA_DIR] = secure_getenv(X509_get_default_cert_dir_env());
        if (file[FILE_CA] == NULL)
            file[FILE_CA] = X509_get_default_cert_file();
        if (file[FILE_CA_DIR] == NULL)
            file[FILE_CA_DIR] = X509_get_default_cert_dir();
    }
    file[FILE_CERT] = t->opt.cert;
    file[FILE_KEY] = t->opt.key != NULL ? t->opt.key : t->opt.cert;
}

static void look_at_files(const struct usher__redis_tls *t, struct stamp stamp[FILES])
{
    const char *file[FILES];
    struct stat st;

    name_files(t, file);
    memset(stamp, 0, FILES * sizeof *stamp);
    for (size_t i = 0; i < FILES; i++) {
        if (file[i] == NULL || stat(file[i], &st) != 0)
            continue;
        stamp[i].dev = st.st_dev;
        stamp[i].ino = st.st_ino;
        stamp[i].size = st.st_size;
        stamp[i].modified = st.st_mtim;
        stamp[i].changed = st.st_ctim;
    }
}

/* Return the error of a file from the error queue. */
static const char *file_fault(void)
{
    unsigned long e = ERR_peek_error();

    if (ERR_SYSTEM_ERROR(e))
        return ERR_GET_REASON(e) == EACCES ? "permission denied" : "cannot be read";
    if (ERR_GET_LIB(e) == ERR_LIB_X509 && ERR_GET_REASON(e) == X509_R_KEY_VALUES_MISMATCH)
        return "is not the key of the certificate in cert=";
    return "has no PEM block of the required kind";
}

/* Return whether the file exists and is of a kind that can be read to its end. */
static bool is_file(struct usher__redis_tls *t, const char *option, const char *path,
                    bool *ret_is_dir)
{
    struct stat st;

    if (stat(path, &st) != 0) {
        say(t, "TLS: %s=%.80s: %s", option, path,
            errno == ENOENT || errno == ENOTDIR ? "no such file"
            : errno == EACCES                   ? "permission denied"
                                                : "cannot be read");
        return false;
    }
    if (ret_is_dir != NULL)
        *ret_is_dir = S_ISDIR(st.st_mode);
    if (S_ISREG(st.st_mode) || (ret_is_dir != NULL && S_ISDIR(st.st_mode)))
        return true;
    say(t, "TLS: %s=%.80s: no file", option, path);
    return false;
}

/* Prevent OpenSSL from asking for a pass phrase at the terminal. */
/* OpenSSL gives the type.  NOLINTNEXTLINE(readability-non-const-parameter) */
static int no_pass_phrase(char *to, int size, int to_write, void *payload)
{
    struct usher__redis_tls *t = payload;

    (void)to;
    (void)size;
    (void)to_write;
    t->locked = true;
    return -1;
}

static bool read_files(struct usher__redis_tls *t, SSL_CTX *context)
{
    const char *ca = t->opt.ca, *cert = t->opt.cert;
    const char *key = t->opt.key != NULL ? t->opt.key : cert;
    bool is_dir = false;

    if (ca == NULL) {
        /* it fails only without memory; a system without CAs trusts no server */
        if (SSL_CTX_set_default_verify_paths(context) != 1) {
            say(t, "TLS: the system's CAs cannot be read");
            return false;
        }
    } else if (!is_file(t, "ca", ca, &is_dir)) {
        return false;
    } else if ((is_dir ? SSL_CTX_load_verify_dir(context, ca)
                       : SSL_CTX_load_verify_file(context, ca)) != 1) {
        say(t, "TLS: ca=%.80s: %s", ca, file_fault());
        return false;
    }
    if (cert == NULL)
        return true;
    if (!is_file(t, "cert", cert, NULL) || !is_file(t, "key", key, NULL))
        return false;
    t->locked = false;
    SSL_CTX_set_default_passwd_cb(context, no_pass_phrase);
    SSL_CTX_set_default_passwd_cb_userdata(context, t);
    if (SSL_CTX_use_certificate_chain_file(context, cert) != 1) {
        say(t, "TLS: cert=%.80s: %s", cert, file_fault());
        return false;
    }
    if (SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1) {
        say(t, "TLS: key=%.80s: %s", key,
            t->locked ? "is encrypted with a pass phrase: use a key without one" : file_fault());
        return false;
    }
    /* a key of another type than the certificate's has not been compared yet */
    if (SSL_CTX_check_private_key(context) != 1) {
        say(t, "TLS: key=%.80s: is not the key of the certificate in cert=", key);
        return false;
    }
    return true;
}

/* ---- certificates -------------------------------------------------------------------- */

static void add_name(char names[NAMES_SIZE], const void *text, int size)
{
    size_t n = strlen(names);

    (void)snprintf(names + n, NAMES_SIZE - n, "%s%.*s", n > 0 ? ", " : "", size,
                   (const char *)text);
}

/* Get the names in a certificate.  They are hostile input: the function that prints them must
 * handle any bytes. */
static void name_certificate(X509 *cert, char names[NAMES_SIZE])
{
    GENERAL_NAMES *list = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
    char text[INET6_ADDRSTRLEN];

    names[0] = '\0';
    for (int i = 0; i < sk_GENERAL_NAME_num(list); i++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(list, i);
        int family = AF_UNSPEC; /* an address of an impossible size */

        if (name->type == GEN_IPADD && ASN1_STRING_length(name->d.iPAddress) == 4)
            family = AF_INET;
        if (name->type == GEN_IPADD && ASN1_STRING_length(name->d.iPAddress) == 16)
            family = AF_INET6;
        if (name->type == GEN_DNS)
            add_name(names, ASN1_STRING_get0_data(name->d.dNSName),
                     ASN1_STRING_length(name->d.dNSName));
        if (family != AF_UNSPEC &&
            inet_ntop(family, ASN1_STRING_get0_data(name->d.iPAddress), text, sizeof text) != NULL)
            add_name(names, text, (int)strlen(text));
    }
    GENERAL_NAMES_free(list);
    if (names[0] == '\0' && X509_NAME_get_text_by_NID(X509_get_subject_name(cert), NID_commonName,
                                                      names, NAMES_SIZE) < 0)
        memcpy(names, "nobody", 7);
}

/* Write the message for a bad certificate; the result is not changed. */
static int look_at_certificate(int is_good, X509_STORE_CTX *store)
{
    SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    struct usher__redis_tls *t = SSL_get_app_data(ssl);
    const char *whose =
        X509_STORE_CTX_get_error_depth(store) == 0 ? "the server's certificate" : "a CA";
    int e = X509_STORE_CTX_get_error(store);
    char names[NAMES_SIZE];

    if (is_good == 1)
        return 1;
    switch (e) {
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
    case X509_V_ERR_CERT_UNTRUSTED:
        say(t, "TLS: the server's certificate is %s",
            t->opt.ca != NULL ? "not from the CA in ca="
                              : "from an unknown CA: add the CA with ca=");
        break;
    case X509_V_ERR_CERT_HAS_EXPIRED:
        say(t, "TLS: %s has expired", whose);
        break;
    case X509_V_ERR_CERT_NOT_YET_VALID:
        say(t, "TLS: %s is not valid yet: is the clock right?", whose);
        break;
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        name_certificate(X509_STORE_CTX_get_current_cert(store), names);
        say(t, "TLS: the certificate is for %s, not for %.60s (set another name with tls-name=)",
            names, t->opt.name);
        break;
    default:
        say(t, "TLS: %s is not accepted: %s", whose, X509_verify_cert_error_string(e));
    }
    return 0;
}

/* ---- what went wrong ------------------------------------------------------------------- */

/* Write the message from the error queue. */
static void explain(struct usher__redis_tls *t)
{
    unsigned long e = ERR_peek_error();
    const char *why = NULL;

    if (t->text[0] != '\0')
        return; /* look_at_certificate() has a better message */
    /* clang-format off */
    if (ERR_GET_LIB(e) == ERR_LIB_SSL) switch (ERR_GET_REASON(e)) {
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_UNKNOWN_PROTOCOL:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
        why = "the server does not speak TLS at this port: check the port, or use `redis:`";
        break;
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
        why = "the server has no TLS 1.2 or later";
        break;
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
        why = "the server requires a client certificate: add cert= and key=";
        break;
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
        why = t->opt.cert == NULL
                  ? "the server refused the connection: perhaps it requires a client certificate (cert= and key=)"
                  : "the server refused the connection without a reason";
        break;
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
        why = "the server does not know the CA of the certificate in cert=";
        break;
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
        why = "the server reports that the certificate in cert= has expired";
        break;
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
        why = "the server does not accept the certificate in cert=";
        break;
    default:
        break;
    }
    /* clang-format on */
    if (why == NULL)
        why = ERR_reason_error_string(e);
    say(t, "TLS: %s", why != NULL ? why : "broken");
}

/* Return the result of a call that returned @n. */
static ssize_t outcome(struct usher__redis_tls *t, int n)
{
    ssize_t is = n;

    if (n <= 0) {
        int e = SSL_get_error(t->ssl, n);

        if (e == SSL_ERROR_WANT_READ || e == SSL_ERROR_WANT_WRITE) {
            t->reading = e == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT;
            is = IO_AGAIN;
        } else if (e == SSL_ERROR_ZERO_RETURN || t->ended) {
            is = 0;
        } else {
            is = IO_FAILED;
            if (t->io_errno == 0)
                explain(t);
        }
    }
    ERR_clear_error();
    return is;
}

/* Begin a call: clear former errors. */
static void attempt(struct usher__redis_tls *t)
{
    ERR_clear_error();
    t->io_errno = 0;
    t->drained = false;
    t->text[0] = '\0';
}

/* ---- the stream ------------------------------------------------------------------------ */

ssize_t usher__redis_tls_handshake(struct usher__redis_tls *t)
{
    attempt(t);
    send_held(t);
    return outcome(t, SSL_connect(t->ssl));
}

ssize_t usher__redis_tls_read(struct usher__redis_tls *t, void *p, size_t size)
{
    ssize_t is;

    attempt(t);
    if (t->written == 0) /* a call that sends bytes of the caller must report them */
        send_held(t);
    t->io_errno = 0; /* bytes before the end can still be read */
    t->reading = POLLIN;
    is = outcome(t, SSL_read(t->ssl, p, size > INT_MAX ? INT_MAX : (int)size));
    t->got = is > 0;
    return is;
}

ssize_t usher__redis_tls_write(struct usher__redis_tls *t, const void *p, size_t size)
{
    ssize_t is;

    attempt(t);
    send_held(t);
    if (t->written == 0) {
        if (t->n_held > 0)
            return t->io_errno != 0 ? IO_FAILED : IO_AGAIN;
        is = outcome(t, SSL_write(t->ssl, p, size > INT_MAX ? INT_MAX : (int)size));
        if (is == 0) {
            t->io_errno = EPIPE; /* a read reports the end of the stream; a write fails */
            return IO_FAILED;
        }
        if (is < 0)
            return is;
        t->written = (size_t)is;
        t->owing = t->n_held;
    }
    if (t->owing > 0)
        return t->io_errno != 0 ? IO_FAILED : IO_AGAIN;
    is = (ssize_t)t->written;
    t->written = 0;
    return is;
}

/* If a read returned no bytes although the socket was not empty, it has read a record without data:
 * read again.  If it has emptied the socket, a part of a record may be left, which cannot be read
 * yet. */
bool usher__redis_tls_holds(const struct usher__redis_tls *t)
{
    if (t->got)
        return SSL_has_pending(t->ssl) == 1 || t->in_pos < t->in_len;
    return !t->drained && t->reading == POLLIN;
}

short usher__redis_tls_events(const struct usher__redis_tls *t, bool to_write)
{
    if (to_write)
        return POLLOUT;
    return t->n_held > 0 && t->written == 0 ? (short)(t->reading | POLLOUT) : t->reading;
}

/* Make the context.  Return NULL with the reason in the text, which is empty without memory. */
static SSL_CTX *context_make(struct usher__redis_tls *t)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());

    if (context == NULL)
        return NULL;
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, look_at_certificate);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    /* A call handles one record.  With AUTO_RETRY a call would continue for as long as records
     * without data arrive. */
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_clear_mode(context, SSL_MODE_AUTO_RETRY);
    if (SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1 && read_files(t, context))
        return context;
    SSL_CTX_free(context);
    return NULL;
}

/* Require that the server proves to be @name. */
static bool expect_name(SSL *ssl, const char *name)
{
    X509_VERIFY_PARAM *param = SSL_get0_param(ssl);

    if (X509_VERIFY_PARAM_set1_ip_asc(param, name) == 1)
        return true; /* SNI cannot contain an address */
    X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set1_host(ssl, name) == 1 && SSL_set_tlsext_host_name(ssl, name) == 1;
}

enum usher_status usher__redis_tls_begin(struct usher__redis_tls *t, int fd)
{
    struct stamp stamp[FILES];
    BIO *bio;

    usher__redis_tls_end(t);
    attempt(t);
    t->ended = t->got = false;
    t->reading = POLLIN;
    t->written = t->owing = t->n_held = t->in_pos = t->in_len = 0;
    t->fd = fd;
    /* A file that changes while it is read is read again the next time. */
    look_at_files(t, stamp);
    if (t->context == NULL || memcmp(stamp, t->stamp, sizeof stamp) != 0) {
        SSL_CTX_free(t->context);
        t->context = context_make(t);
        memcpy(t->stamp, stamp, sizeof stamp);
    }
    if (t->context != NULL)
        t->ssl = SSL_new(t->context);
    if (t->ssl != NULL) {
        bio = BIO_new(t->method);
        if (bio != NULL) {
            BIO_set_data(bio, t);
            BIO_set_init(bio, 1);
            SSL_set_bio(t->ssl, bio, bio);
        }
        if (bio == NULL || SSL_set_app_data(t->ssl, t) != 1 || !expect_name(t->ssl, t->opt.name))
            usher__redis_tls_end(t);
    }
    ERR_clear_error();
    if (t->ssl != NULL)
        return USHER_OK;
    if (t->text[0] != '\0')
        return USHER_UNAVAILABLE;
    say(t, "TLS: out of memory");
    return USHER_NOMEM;
}

void usher__redis_tls_end(struct usher__redis_tls *t)
{
    SSL_free(t->ssl);
    t->ssl = NULL;
    t->fd = -1;
}

struct usher__redis_tls *usher__redis_tls_open(const struct usher_allocator *alloc,
                                               const struct usher__redis_tls_options *opt)
{
    struct usher__redis_tls *t = alloc->resize(alloc->payload, NULL, 0, sizeof *t);

    if (t == NULL)
        return NULL;
    memset(t, 0, sizeof *t);
    t->alloc = alloc;
    t->opt = *opt;
    t->fd = -1;
    /* no own type: a process has only 127 types */
    t->method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "usher socket");
    if (t->method != NULL && BIO_meth_set_read(t->method, socket_read) == 1 &&
        BIO_meth_set_write(t->method, socket_write) == 1 &&
        BIO_meth_set_ctrl(t->method, socket_control) == 1)
        return t;
    usher__redis_tls_close(t);
    return NULL;
}

void usher__redis_tls_close(struct usher__redis_tls *t)
{
    if (t == NULL)
        return;
    usher__redis_tls_end(t);
    SSL_CTX_free(t->context);
    BIO_meth_free(t->method);
    (void)t->alloc->resize(t->alloc->payload, t, sizeof *t, 0);
}
