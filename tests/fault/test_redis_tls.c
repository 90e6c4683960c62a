/* SPDX-License-Identifier: MIT */
/*
 * Redis over TLS: which certificates a connection trusts, and its messages about others. Deadlines,
 * big pipelines and the number of unsent bytes are as they are without TLS.
 *
 * The servers are a real one, whose certificate each test chooses, and a peer of ours, which breaks
 * the protocol.  All certificates are made here.
 */
#include "lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <hiredis/hiredis.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <usher/command.h>

#include "conn.h"
#include "lib/calls.h"
#include "lib/certs.h"
#include "lib/servers.h"

#define DAY 86400L
#define LONG 60000 /* ms; a deadline that is not reached */
#define SHORT 80   /* ms; of waits that must end by their deadline */
#define SLACK 5000 /* ms; how late a loaded machine may be */

#define GREETING "*1\r\n$4\r\nPING\r\n"
#define GET "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"

static char dir[64];
static struct redis_server *server;
static int tls_port;
static struct cert ca, other_ca, good, client;

/* ---- memory that is counted and can fail ---- */

struct counted {
    size_t bytes, calls, fails_at; /* from 1; 0: never */
};

static void *counted_resize(void *payload, void *p, size_t old, size_t size)
{
    struct counted *counted = payload;

    if (size == 0) {
        counted->bytes -= old;
        free(p);
        return NULL;
    }
    if (++counted->calls == counted->fails_at)
        return NULL;
    counted->bytes += size - old;
    return realloc(p, size);
}

static void *plain_resize(void *payload, void *p, size_t old, size_t size)
{
    (void)payload;
    (void)old;
    if (size != 0)
        return realloc(p, size);
    free(p);
    return NULL;
}

static const struct usher_allocator plain_memory = { plain_resize, NULL };

/* ---- the server and its certificates ---- */

/* Return the path of a file in the directory; valid for four calls. */
static const char *file(const char *name)
{
    static char path[4][128];
    static unsigned next;
    char *p = path[next++ % 4];

    (void)snprintf(p, sizeof path[0], "%s/%s", dir, name);
    return p;
}

static int64_t clock_ms(void)
{
    return usher__redis_clock_ms();
}

/* The real server presents @c from now on. */
static void present(const struct cert *c)
{
    cert_write_both(c, file("server.pem"));
    assert_true(redis_do_ok(server, "CONFIG", "SET", "tls-cert-file", file("server.pem"), NULL));
}

static void set(const char *name, const char *value)
{
    assert_true(redis_do_ok(server, "CONFIG", "SET", name, value, NULL));
}

/* Return a URL, valid until the next call. */
static const char *url(const char *format, ...) __attribute__((format(printf, 1, 2)));
static const char *url(const char *format, ...)
{
    static char text[1024];
    int n = snprintf(text, sizeof text, "rediss://127.0.0.1:%d?timeout=%d&", tls_port, LONG);
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text + n, sizeof text - (size_t)n, format, args);
    va_end(args);
    return text;
}

static const char *trusting(const char *format, ...) __attribute__((format(printf, 1, 2)));
static const char *trusting(const char *format, ...)
{
    char more[512];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(more, sizeof more, format, args);
    va_end(args);
    return url("ca=%s%s", file("ca.pem"), more);
}

static struct usher_engine *opens(const char *where)
{
    struct usher_engine *e = NULL;

    if (usher_open(where, NULL, &e) != USHER_OK)
        fail_msg("%s: %s", where, usher_message());
    assert_int_equal(ERR_peek_error(), 0);
    return e;
}

static void opens_once(const char *where)
{
    struct usher_engine *e = opens(where);

    assert_true(USHER_IS_DONE(ask_number_add(e, "once", "1", NULL)));
    usher_close(e);
}

/* Opening @where fails with @status, and the message has @why. */
static void refuses(const char *where, enum usher_status status, const char *why)
{
    struct usher_engine *e = NULL;
    enum usher_status is = usher_open(where, NULL, &e);
    const char *said = usher_message();

    assert_null(e);
    if (is != status || strstr(said, why) == NULL || strstr(said, "s3cret") != NULL)
        fail_msg("%s: %s: %s (not: %s)", where, usher_status_word(is), said, why);
    for (const char *p = said; *p != '\0'; p++)
        assert_true(*p >= 0x20 && *p < 0x7f);
    assert_int_equal(ERR_peek_error(), 0);
}

static void unavailable(const char *where, const char *why)
{
    refuses(where, USHER_UNAVAILABLE, why);
}

/* ---- trust -------------------------------------------------------------------------------- */

TEST(a_server_is_verified_by_its_ca_and_its_name)
{
    char name[64], link[80];

    present(&good);
    opens_once(trusting("%s", ""));
    opens_once(trusting("&tls-name=redis.test"));
    opens_once(trusting("&tls-name=127.0.0.1"));
    opens_once(trusting("&tls-name=sub.wild.test"));
    unavailable(trusting("&tls-name=a.b.wild.test"), "not for a.b.wild.test");
    /* a directory as `openssl rehash` makes it */
    assert_int_equal(mkdir(file("cas"), 0700), 0);
    unavailable(url("ca=%s", file("cas")), "not from the CA in ca=");
    (void)snprintf(name, sizeof name, "cas/%08lx.0", X509_subject_name_hash(ca.x509));
    (void)snprintf(link, sizeof link, "%s/ca.pem", dir);
    assert_int_equal(symlink(link, file(name)), 0);
    opens_once(url("ca=%s", file("cas")));
    assert_int_equal(unlink(file(name)) + rmdir(file("cas")), 0);
    /* the system's */
    unavailable(url("db=1"), "from an unknown CA: add the CA with ca=");
    assert_int_equal(setenv("SSL_CERT_FILE", file("ca.pem"), 1), 0);
    opens_once(url("db=1"));
    assert_int_equal(unsetenv("SSL_CERT_FILE"), 0);
}

/* Open a server that presents @c; the message must have @why, or with NULL there is none. */
static void shows(struct cert c, const char *options, const char *why)
{
    present(&c);
    if (why == NULL)
        opens_once(trusting("%s", options));
    else
        unavailable(trusting("%s", options), why);
    cert_free(&c);
}

TEST(a_wrong_certificate_is_refused_with_the_reason)
{
    struct cert old_ca = cert_make("the CA", NULL, NULL, -9 * DAY, -DAY);

    shows(cert_make("x", &other_ca, "IP:127.0.0.1", -60, DAY), "", "not from the CA in ca=");
    shows(cert_make("x", NULL, "IP:127.0.0.1", -60, DAY), "", "not from the CA in ca=");
    shows(cert_make("x", &good, "IP:127.0.0.1", -60, DAY), "", "not from the CA in ca=");
    shows(cert_make("x", &ca, "IP:127.0.0.1", -9 * DAY, -60), "",
          "the server's certificate has expired");
    shows(cert_make("x", &ca, "IP:127.0.0.1", DAY, 9 * DAY), "", "not valid yet");
    shows(
        cert_make("x", &ca, "DNS:a.test,IP:10.0.0.1", -60, DAY), "",
        "the certificate is for a.test, 10.0.0.1, not for 127.0.0.1 (set another name with tls-name=");
    shows(cert_make("x", &ca, "DNS:127.0.0.1", -60, DAY), "", "not for 127.0.0.1");
    /* an address of one byte is invalid */
    shows(cert_make("x", &ca, "DER:30:03:87:01:0A", -60, DAY), "", "is for x, not for 127.0.0.1");
    shows(cert_make("x", &ca, "DNS:a.test", -60, DAY), "&tls-name=b.test", "not for b.test");
    shows(cert_make("x", &ca, "DNS:a.test", -60, DAY), "&tls-name=a.test", NULL);
    shows(cert_make("x", &ca, "DNS:a*.test", -60, DAY), "&tls-name=ab.test", "not for ab.test");
    shows(cert_make("by.name", &ca, NULL, -60, DAY), "", "is for by.name, not for");
    shows(cert_make("by.name", &ca, NULL, -60, DAY), "&tls-name=by.name", NULL);
    shows(cert_make("x", &ca, "IP:::1", -60, DAY), "&tls-name=::1", NULL);
    shows(cert_make("x\x1b[2J\ny", &ca, NULL, -60, DAY), "", "is for x?[2J y, not for");
    /* an expired CA */
    cert_write(&old_ca, file("old.pem"));
    present(&good);
    shows(cert_make("x", &old_ca, "IP:127.0.0.1", -60, DAY), "", "not from the CA in ca=");
    {
        struct cert c = cert_make("x", &old_ca, "IP:127.0.0.1", -60, DAY);

        present(&c);
        unavailable(url("ca=%s", file("old.pem")), "a CA has expired");
        cert_free(&c);
    }
    cert_free(&old_ca);
    present(&good);
}

TEST(a_server_may_require_a_certificate)
{
    struct cert stranger = cert_make("stranger", &other_ca, NULL, -60, DAY);

    present(&good);
    set("tls-auth-clients", "yes");
    for (int old = 0; old < 2; old++) {
        set("tls-protocols", old != 0 ? "TLSv1.2" : "TLSv1.2 TLSv1.3");
        unavailable(trusting("%s", ""), "requires a client certificate");
        cert_write(&client, file("c.pem"));
        cert_write_key(&client, file("k.pem"));
        opens_once(trusting("&cert=%s&key=%s", file("c.pem"), file("k.pem")));
        cert_write_both(&client, file("c.pem"));
        opens_once(trusting("&cert=%s", file("c.pem")));
        cert_write_both(&stranger, file("c.pem"));
        unavailable(trusting("&cert=%s", file("c.pem")),
                    "does not know the CA of the certificate in cert=");
    }
    set("tls-protocols", "");
    set("tls-auth-clients", "no");
    cert_free(&stranger);
}

TEST(a_file_that_cannot_be_used_is_named)
{
    struct cert rsa = cert_make("rsa", &ca, NULL, -60, DAY);

    present(&good);
    unavailable(url("ca=%s", file("nosuch")), "nosuch: no such file");
    unavailable(url("ca=/dev/zero"), "ca=/dev/zero: no file");
    assert_int_equal(mkfifo(file("fifo"), 0600), 0);
    unavailable(url("ca=%s", file("fifo")), "fifo: no file");
    unavailable(trusting("&cert=%s", dir), ": no file");
    assert_int_equal(unlink(file("fifo")), 0);
    fclose(fopen(file("c.pem"), "w"));
    unavailable(url("ca=%s", file("c.pem")), "c.pem: has no PEM block of the required kind");
    unavailable(trusting("&cert=%s", file("c.pem")), "has no PEM block of the required kind");
    cert_write(&client, file("c.pem"));
    unavailable(trusting("&cert=%s", file("c.pem")), "key=");
    cert_write_key(&good, file("k.pem"));
    unavailable(trusting("&cert=%s&key=%s", file("c.pem"), file("k.pem")),
                "is not the key of the certificate in cert=");
    EVP_PKEY_free(rsa.key);
    rsa.key = EVP_RSA_gen(2048);
    cert_write_key(&rsa, file("k.pem"));
    unavailable(trusting("&cert=%s&key=%s", file("c.pem"), file("k.pem")),
                "is not the key of the certificate in cert=");
    /* OpenSSL would ask for the pass phrase at the terminal */
    cert_write_locked_key(&client, file("k.pem"));
    unavailable(trusting("&cert=%s&key=%s", file("c.pem"), file("k.pem")),
                "is encrypted with a pass phrase");
    cert_free(&rsa);
}

TEST(options_that_are_wrong_are_invalid)
{
    static const char *const wrong[][2] = {
        { "redis://h?ca=/x", "option `ca` is for `rediss:`" },
        { "redis://h?tls-name=x", "option `tls-name` is for `rediss:`" },
        { "redis+unix:///x?cert=/x", "option `cert` is for `rediss:`" },
        { "rediss://h?key=/x", "key= without cert=" },
        { "rediss://h?ca=", "ca=" },
        { "rediss://h?cert=", "cert=" },
        { "rediss://h?cert=/x&key=", "key=" },
        { "rediss://h?tls-name=", "tls-name=" },
        { "rediss://h?tls-name=.test", "tls-name=" },
        { "rediss://h?tls-name=a%20b", "tls-name=" },
        { "rediss://.test", "host" },
        { "rediss:h", "//" },
        { "rediss://h?verify=no", "has no option `verify`" },
    };
    char path[1200] = "rediss://h?ca=";

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refuses(wrong[i][0], USHER_INVALID, wrong[i][1]);
    memset(path + strlen(path), 'x', 1100);
    refuses(path, USHER_INVALID, "ca=");
}

/* ---- rotation ------------------------------------------------------------------------------ */

static enum usher_status call_and_end(struct usher_engine *e)
{
    struct ask_number_hold hold;
    enum usher_status status = ask_number_call(e, "p", "ann", NULL, &hold);

    if (status != USHER_OK)
        return status;
    return ask_number_hangup(e, "p", hold.number, hold.token, 0);
}

static void must_call(struct usher_engine *e)
{
    enum usher_status status = call_and_end(e);

    if (status != USHER_OK)
        fail_msg("%s: %s", usher_status_word(status), usher_message());
}

static struct usher_engine *with_a_number(const char *where)
{
    struct usher_engine *e;

    assert_true(redis_do_ok(server, "FLUSHALL", NULL));
    e = opens(where);
    assert_int_equal(ask_number_add(e, "p", "100", NULL), USHER_OK);
    assert_int_equal(ask_number_reg(e, "p", "100"), USHER_OK);
    return e;
}

/* Close all connections but the test's own. */
static void hang_up(void)
{
    assert_true(redis_do_ok(server, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes", NULL));
}

/* Programs are not restarted for them. */
TEST(files_that_change_are_read_again)
{
    struct cert newer = cert_make("newer", &other_ca, "IP:127.0.0.1", -60, DAY);
    struct cert stranger = cert_make("stranger", &other_ca, NULL, -60, DAY);
    struct usher_engine *e;
    char where[512];
    FILE *f;

    present(&good);
    cert_write(&ca, file("turn.pem"));
    cert_write_both(&client, file("c.pem"));
    set("tls-auth-clients", "yes");
    (void)snprintf(where, sizeof where, "rediss://127.0.0.1:%d?timeout=2000&ca=%s&cert=%s",
                   tls_port, file("ca.pem"), file("c.pem"));
    e = with_a_number(url("ca=%s&cert=%s", file("turn.pem"), file("c.pem")));
    must_call(e);
    /* the server's CA: open connections stay, new ones need the new file */
    present(&newer);
    must_call(e);
    cert_write(&other_ca, file("turn.pem"));
    hang_up();
    must_call(e);
    /* back again; the file is overwritten, not replaced */
    present(&good);
    f = fopen(file("turn.pem"), "w");
    assert_non_null(f);
    assert_int_equal(PEM_write_X509(f, ca.x509), 1);
    assert_int_equal(fclose(f), 0);
    hang_up();
    must_call(e);
    usher_close(e);
    /* the client's certificate: with a wrong one connecting fails, with a right one it succeeds */
    e = opens(where);
    must_call(e);
    cert_write_both(&stranger, file("c.pem"));
    hang_up();
    assert_int_equal(call_and_end(e), USHER_UNAVAILABLE);
    assert_non_null(strstr(usher_message(), "does not know the CA"));
    cert_write_both(&client, file("c.pem"));
    must_call(e);
    assert_int_equal(unlink(file("c.pem")), 0);
    must_call(e);
    hang_up();
    assert_int_equal(call_and_end(e), USHER_UNAVAILABLE);
    assert_non_null(strstr(usher_message(), "c.pem: no such file"));
    usher_close(e);
    set("tls-auth-clients", "no");
    cert_free(&newer);
    cert_free(&stranger);
}

/* ---- the real server, at work -------------------------------------------------------------- */

TEST(a_killed_server_is_reported_and_used_after_its_restart)
{
    struct usher_engine *e;
    char where[512];

    present(&good);
    /* long enough for a loaded machine; a call to the stopped server takes all of it */
    (void)snprintf(where, sizeof where, "rediss://127.0.0.1:%d?timeout=4000&ca=%s", tls_port,
                   file("ca.pem"));
    e = with_a_number(where);
    must_call(e);
    assert_int_equal(redis_server_kill(server, SIGKILL), 0);
    assert_int_equal(call_and_end(e), USHER_UNAVAILABLE);
    assert_non_null(strstr(usher_message(), "connection refused"));
    assert_true(redis_server_restart(server));
    assert_int_equal(ask_number_add(e, "p", "100", NULL), USHER_OK);
    /* a stopped server may have executed the command */
    assert_int_equal(redis_server_kill(server, SIGSTOP), 0);
    assert_int_equal(ask_number_reg(e, "p", "100"), USHER_UNKNOWN);
    assert_int_equal(redis_server_kill(server, SIGCONT), 0);
    usher_close(e);
}

#define CALLERS 64
#define CALLS 6
#define ROWS USHER_PAGE_MAX

static void *calls_and_lists(void *payload)
{
    struct usher_engine *e = payload;
    char owner[32];

    (void)snprintf(owner, sizeof owner, "t%p", (void *)owner);
    for (int i = 0; i < CALLS; i++) {
        struct usher_result reply;
        struct ask_number_hold hold;
        enum usher_status status = ask_number_call(e, "p", owner, NULL, &hold);

        if (status == USHER_OK)
            status = ask_number_hangup(e, "p", hold.number, hold.token, 0);
        if (status != USHER_OK)
            return (void *)usher_status_word(status);
        /* more than a record */
        status = ask_number_list(e, "p", -1, NULL, NULL, ROWS, &reply);
        if (status != USHER_OK || reply.of.number.n_rows != ROWS)
            return (void *)"a list that is not whole";
        usher_result_done(&reply);
    }
    return NULL;
}

TEST(many_callers_and_long_answers)
{
    struct usher_engine *e;
    pthread_t thread[CALLERS];
    char number[64];

    present(&good);
    e = with_a_number(trusting("%s", ""));
    for (int i = 0; i < ROWS; i++) {
        (void)snprintf(number, sizeof number, "number-%026d", i);
        assert_int_equal(ask_number_add(e, "p", number, NULL), USHER_OK);
        if (i < CALLERS)
            assert_int_equal(ask_number_reg(e, "p", number), USHER_OK);
    }
    for (int i = 0; i < CALLERS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, calls_and_lists, e), 0);
    for (int i = 0; i < CALLERS; i++) {
        void *fault;

        assert_int_equal(pthread_join(thread[i], &fault), 0);
        if (fault != NULL)
            fail_msg("%s", (const char *)fault);
    }
    usher_close(e);
}

static struct usher__redis_conn *conn_to(int port, const char *name)
{
    static char ca_path[128];
    struct usher__redis_conn_options options = { .host = "127.0.0.1", .over_tls = true };
    struct usher__redis_conn *c = NULL;

    (void)snprintf(ca_path, sizeof ca_path, "%s", file("ca.pem"));
    options.port = (uint16_t)port;
    options.tls.ca = ca_path;
    options.tls.name = name;
    assert_int_equal(usher__redis_conn_open(&plain_memory, &options, &c), USHER_OK);
    return c;
}

static void connects(struct usher__redis_conn *c)
{
    if (usher__redis_conn_connect(c, clock_ms() + LONG) != USHER_OK)
        fail_msg("%s", usher__redis_conn_message(c));
}

static void add_echo(struct usher__redis_conn *c, const char *text, size_t size)
{
    usher__redis_conn_begin(c, 2);
    usher__redis_conn_arg_str(c, "ECHO");
    usher__redis_conn_arg(c, text, size);
}

/* More than both socket buffers hold, and answers around the length of a record. */
TEST(large_pipelines_are_sent_and_received)
{
    static const size_t sizes[] = { 0,     1,     16300, 16360, 16384, 16385,  32760,
                                    32768, 40000, 65536, 99999, 7,     1000000 };
    enum { ROUNDS = 12, N = sizeof sizes / sizeof *sizes };
    struct usher__redis_conn *c;
    char *text = malloc(1000000);

    assert_non_null(text);
    for (size_t i = 0; i < 1000000; i++)
        text[i] = (char)(i * 31 + i / 251);
    present(&good);
    c = conn_to(tls_port, "127.0.0.1");
    connects(c);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < ROUNDS * N; i++)
            add_echo(c, text + i, i + sizes[i % N] > 1000000 ? 1000000 - i : sizes[i % N]);
        assert_int_equal(usher__redis_conn_flush(c), USHER_OK);
        for (size_t i = 0; i < ROUNDS * N; i++) {
            size_t size = i + sizes[i % N] > 1000000 ? 1000000 - i : sizes[i % N];
            redisReply *reply = NULL;

            if (usher__redis_conn_read(c, clock_ms() + LONG, &reply) != USHER_OK)
                fail_msg("%zu: %s", i, usher__redis_conn_message(c));
            assert_int_equal(reply->type, REDIS_REPLY_STRING);
            assert_int_equal(reply->len, size);
            assert_memory_equal(reply->str, text + i, size);
            freeReplyObject(reply);
        }
    }
    usher__redis_conn_close(c);
    free(text);
}

/* A child closes only its own copies: the server receives nothing. */
TEST(a_child_closes_no_connection_of_its_parent)
{
    struct usher_engine *e;
    redisReply *before, *after;
    int status = 0;
    pid_t pid;

    present(&good);
    e = with_a_number(trusting("%s", ""));
    must_call(e);
    before = redis_do(server, "CLIENT", "LIST", "TYPE", "normal", NULL);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        usher_close(e);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    must_call(e);
    after = redis_do(server, "CLIENT", "LIST", "TYPE", "normal", NULL);
    assert_true(before != NULL && after != NULL);
    /* "id=7 addr=...", of the harness and of the engine */
    for (char *line = strtok(before->str, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        char id[32];

        assert_int_equal(sscanf(line, "%31s", id), 1);
        if (strstr(after->str, id) == NULL)
            fail_msg("%s is gone", id);
    }
    freeReplyObject(before);
    freeReplyObject(after);
    usher_close(e);
}

/* Errors that the application left in OpenSSL's queue are not taken for ours. */
TEST(openssl_errors_of_the_application_are_ignored)
{
    struct usher__redis_conn *c = conn_to(tls_port, "127.0.0.1");

    present(&good);
    ERR_raise(ERR_LIB_USER, 1);
    connects(c);
    for (int i = 0; i < 3; i++) {
        redisReply *reply = NULL;

        add_echo(c, "x", 1);
        ERR_raise(ERR_LIB_USER, 1);
        assert_int_equal(usher__redis_conn_flush(c), USHER_OK);
        ERR_raise(ERR_LIB_USER, 1);
        assert_int_equal(usher__redis_conn_read(c, clock_ms() + LONG, &reply), USHER_OK);
        assert_int_equal(ERR_peek_error(), 0);
        freeReplyObject(reply);
    }
    usher__redis_conn_close(c);
}

/* ---- a peer of ours ------------------------------------------------------------------------ */

struct peer {
    void (*play)(struct peer *p);
    const struct cert *shows;
    int version; /* no other; 0: any */
    bool slowly; /* a byte at a time */
    int listener, port;
    int fd; /* given, or 0: accepted */
    pthread_t thread;
    SSL *ssl; /* bytes are moved by carry_in() and carry_out() */
    BIO *in, *out;
    int go[2];
    size_t received;
    bool trusted; /* the handshake was done */
    char server_name[64];
    char problem[96];
};

static void problem(struct peer *p, const char *what)
{
    if (p->problem[0] == '\0')
        (void)snprintf(p->problem, sizeof p->problem, "%s", what);
}

static bool put(struct peer *p, const void *from, size_t n)
{
    const char *text = from;

    for (size_t i = 0; i < n;) {
        ssize_t done = send(p->fd, text + i, p->slowly ? 1 : n - i, MSG_NOSIGNAL);

        if (done <= 0)
            return false;
        i += (size_t)done;
    }
    return true;
}

/* Send the output of TLS.  Return false if the connection is closed. */
static bool carry_out(struct peer *p)
{
    char buf[4096];
    int n;

    while ((n = BIO_read(p->out, buf, sizeof buf)) > 0)
        if (!put(p, buf, (size_t)n))
            return false;
    return true;
}

/* A call of TLS that returned @n has to wait: receive its input.  Return false if it has failed. */
static bool carry_in(struct peer *p, int n)
{
    char buf[4096];
    ssize_t got;

    if (!carry_out(p) || SSL_get_error(p->ssl, n) != SSL_ERROR_WANT_READ)
        return false;
    got = recv(p->fd, buf, sizeof buf, 0);
    return got > 0 && BIO_write(p->in, buf, (int)got) == (int)got;
}

static bool peer_accept(struct peer *p)
{
    const char *name;
    int n;

    while ((n = SSL_accept(p->ssl)) != 1)
        if (!carry_in(p, n))
            return false;
    p->trusted = true;
    name = SSL_get_servername(p->ssl, TLSEXT_NAMETYPE_host_name);
    (void)snprintf(p->server_name, sizeof p->server_name, "%s", name != NULL ? name : "");
    return carry_out(p);
}

static bool peer_send(struct peer *p, const char *text)
{
    int size = (int)strlen(text);

    return SSL_write(p->ssl, text, size) == size && carry_out(p);
}

/* Receive at most @most bytes; return their number. */
static int peer_receive(struct peer *p, char *buf, int most)
{
    int n;

    while ((n = SSL_read(p->ssl, buf, most)) <= 0)
        if (!carry_in(p, n))
            return 0;
    return n;
}

static bool peer_expect(struct peer *p, const char *text)
{
    size_t size = strlen(text), got = 0;
    char buf[256];

    while (got < size) {
        int n = peer_receive(p, buf, (int)(size - got < sizeof buf ? size - got : sizeof buf));

        if (n <= 0 || memcmp(buf, text + got, (size_t)n) != 0) {
            problem(p, "not what should come");
            return false;
        }
        got += (size_t)n;
    }
    return true;
}

static bool peer_greet(struct peer *p)
{
    return peer_accept(p) && peer_expect(p, GREETING) && peer_send(p, "+PONG\r\n");
}

/* Wait until the test calls peer_go(). */
static void peer_wait(struct peer *p)
{
    char byte;

    if (read(p->go[0], &byte, 1) != 1)
        problem(p, "no call of peer_go()");
}

static void peer_go(struct peer *p)
{
    assert_int_equal(write(p->go[1], "", 1), 1);
}

static void *peer_run(void *payload)
{
    struct peer *p = payload;
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    int one = 1;

    if (p->fd == 0)
        p->fd = accept(p->listener, NULL, NULL);
    (void)setsockopt(p->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (p->version != 0) {
        SSL_CTX_set_security_level(context, 0);
        SSL_CTX_set_min_proto_version(context, p->version);
        SSL_CTX_set_max_proto_version(context, p->version);
    }
    if (SSL_CTX_use_certificate(context, p->shows->x509) != 1 ||
        SSL_CTX_use_PrivateKey(context, p->shows->key) != 1)
        problem(p, "its certificate");
    p->ssl = SSL_new(context);
    p->in = BIO_new(BIO_s_mem());
    p->out = BIO_new(BIO_s_mem());
    SSL_set_bio(p->ssl, p->in, p->out);
    if (p->fd >= 0)
        p->play(p);
    if (p->fd >= 0)
        (void)close(p->fd);
    SSL_free(p->ssl);
    SSL_CTX_free(context);
    ERR_clear_error();
    return NULL;
}

static void peer_start(struct peer *p, void (*play)(struct peer *p))
{
    struct sockaddr_in at = { .sin_family = AF_INET };
    socklen_t size = sizeof at;
    int few = 4096;

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    p->play = play;
    if (p->shows == NULL)
        p->shows = &good;
    p->listener = socket(AF_INET, SOCK_STREAM, 0);
    (void)setsockopt(p->listener, SOL_SOCKET, SO_RCVBUF, &few, sizeof few);
    assert_int_equal(bind(p->listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(p->listener, 1), 0);
    assert_int_equal(getsockname(p->listener, (struct sockaddr *)&at, &size), 0);
    p->port = ntohs(at.sin_port);
    assert_int_equal(pipe(p->go), 0);
    assert_int_equal(pthread_create(&p->thread, NULL, peer_run, p), 0);
}

static void peer_stop(struct peer *p)
{
    assert_int_equal(pthread_join(p->thread, NULL), 0);
    (void)close(p->listener);
    (void)close(p->go[0]);
    (void)close(p->go[1]);
    if (p->problem[0] != '\0')
        fail_msg("the peer: %s", p->problem);
}

/* Connecting to a peer that plays @play is unavailable, and the message has @why. */
static void unavailable_at(struct peer *p, void (*play)(struct peer *p), const char *name,
                           const char *why)
{
    bool is_late = strstr(why, "in time") != NULL;
    struct usher__redis_conn *c;
    enum usher_status status;
    int64_t began;

    peer_start(p, play);
    c = conn_to(p->port, name);
    began = clock_ms();
    status = usher__redis_conn_connect(c, began + (is_late ? SHORT : LONG));
    if (status != USHER_UNAVAILABLE || strstr(usher__redis_conn_message(c), why) == NULL)
        fail_msg("%s: %s (not: %s)", usher_status_word(status), usher__redis_conn_message(c), why);
    assert_true(!is_late || clock_ms() - began < SHORT + SLACK);
    assert_false(usher__redis_conn_is_connected(c));
    assert_int_equal(ERR_peek_error(), 0);
    usher__redis_conn_close(c);
    peer_go(p);
    peer_stop(p);
}

static void play_greet(struct peer *p)
{
    if (!peer_greet(p))
        problem(p, "no greeting");
}

TEST(the_server_receives_a_host_name_but_no_address)
{
    static const char *const names[][2] = { { "redis.test", "redis.test" }, { "127.0.0.1", "" } };

    for (int old = 0; old < 2; old++) {
        for (size_t i = 0; i < 2; i++) {
            struct peer p = { .version = old != 0 ? TLS1_2_VERSION : TLS1_3_VERSION };
            struct usher__redis_conn *c;

            peer_start(&p, play_greet);
            c = conn_to(p.port, names[i][0]);
            connects(c);
            usher__redis_conn_close(c);
            peer_stop(&p);
            assert_string_equal(p.server_name, names[i][1]);
        }
    }
}

static void play_accept(struct peer *p)
{
    if (peer_accept(p))
        p->received = (size_t)peer_receive(p, (char[16]){ 0 }, 16);
}

TEST(a_wrong_server_receives_no_data)
{
    struct cert wrong = cert_make("x", &other_ca, "IP:127.0.0.1", -60, DAY);

    for (int old = 0; old < 2; old++) {
        struct peer p = { .version = old != 0 ? TLS1_2_VERSION : TLS1_3_VERSION, .shows = &wrong };

        unavailable_at(&p, play_accept, "127.0.0.1", "not from the CA in ca=");
        assert_false(p.trusted);
        assert_int_equal(p.received, 0);
    }
    cert_free(&wrong);
}

static void play_silence(struct peer *p)
{
    peer_wait(p);
}

static void play_half_a_handshake(struct peer *p)
{
    char buf[4096];
    ssize_t n = recv(p->fd, buf, sizeof buf, 0);

    if (n <= 0 || BIO_write(p->in, buf, (int)n) != n || SSL_accept(p->ssl) == 1) {
        problem(p, "no hello");
        return;
    }
    n = BIO_read(p->out, buf, sizeof buf);
    (void)put(p, buf, n > 0 ? (size_t)n / 2 : 0);
    peer_wait(p);
}

/* A record that is never whole, a byte every millisecond. */
static void play_drip(struct peer *p)
{
    static const char header[] = { 0x16, 3, 3, 0x3f, 0x00 };
    const struct timespec pause = { 0, 1000000 };

    for (int i = 0; i < 20000 && send(p->fd, header + (i < 5 ? i : 0), 1, MSG_NOSIGNAL) == 1; i++)
        (void)nanosleep(&pause, NULL);
}

static void play_hang_up(struct peer *p)
{
    char byte;

    (void)recv(p->fd, &byte, 1, MSG_PEEK);
    while (recv(p->fd, (char[4096]){ 0 }, 4096, MSG_DONTWAIT) > 0)
        ;
}

/* Close without reading the received bytes, so the kernel resets the connection. */
static void play_reset(struct peer *p)
{
    char byte;

    (void)recv(p->fd, &byte, 1, MSG_PEEK);
}

static const char *sent_text;
static size_t sent_size;

static void play_text(struct peer *p)
{
    (void)put(p, sent_text, sent_size);
    (void)recv(p->fd, (char[4096]){ 0 }, 4096, 0);
    peer_wait(p);
}

TEST(no_handshake_outlasts_the_deadline)
{
    unavailable_at(&(struct peer){ 0 }, play_silence, "x", "TLS: no handshake in time");
    unavailable_at(&(struct peer){ 0 }, play_half_a_handshake, "x", "TLS: no handshake in time");
    unavailable_at(&(struct peer){ 0 }, play_drip, "x", "TLS: no handshake in time");
    unavailable_at(&(struct peer){ 0 }, play_hang_up, "x",
                   "closed by the server in the handshake: if it does not speak TLS, use `redis:`");
    unavailable_at(&(struct peer){ 0 }, play_reset, "x",
                   "closed by the server in the handshake: if it does not speak TLS, use `redis:`");
}

TEST(a_server_without_tls_is_reported)
{
#define SAYS(string) string, sizeof string - 1
    static const struct {
        const char *text;
        size_t size;
        const char *why;
    } texts[] = {
        { SAYS("HTTP/1.1 400 Bad Request\r\n\r\n"), "does not speak TLS at this port" },
        { SAYS("-ERR unknown command\r\n"), "does not speak TLS at this port" },
        { SAYS("SSH-2.0-OpenSSH_9.2\r\n"), "does not speak TLS at this port" },
        { SAYS("\0\0\0\0\0\0\0\0\0\0\0\0"), "does not speak TLS at this port" },
        { SAYS("\x15\x03\x03\x00\x02\x02\x28"), "perhaps it requires a client certificate" },
        { SAYS("\x15\x03\x01\x00\x02\x02\x46"), "no TLS 1.2 or later" },
        { SAYS("\x16\x03\x03\x00\x04\xff\xff\xff\xff"), "TLS: " },
        { SAYS("\x17\x03\x03\x00\x04\xff\xff\xff\xff"), "TLS: " },
    };
    struct peer p = { 0 };
    char where[128];

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        sent_text = texts[i].text;
        sent_size = texts[i].size;
        unavailable_at(&(struct peer){ 0 }, play_text, "x", texts[i].why);
    }
    unavailable_at(&(struct peer){ .version = TLS1_1_VERSION }, play_accept, "127.0.0.1",
                   "no TLS 1.2 or later");
    /* the port for TLS and the one without, exchanged */
    present(&good);
    (void)snprintf(where, sizeof where, "rediss://u:s3cret@127.0.0.1:%d?timeout=%d",
                   redis_server_port(server), 4 * SHORT);
    unavailable(where, "no handshake in time: does the server speak TLS at this port?");
    (void)snprintf(where, sizeof where, "redis://u:s3cret@127.0.0.1:%d?timeout=%d", tls_port, LONG);
    unavailable(where, "use `rediss:`");
    sent_text = texts[5].text;
    sent_size = texts[5].size;
    peer_start(&p, play_text);
    (void)snprintf(where, sizeof where, "redis://u:s3cret@127.0.0.1:%d?timeout=%d", p.port, LONG);
    unavailable(where, "the server speaks TLS: use `rediss:`");
    peer_go(&p);
    peer_stop(&p);
}

/* Send records without data, endlessly. */
static void play_tickets(struct peer *p)
{
    if (!peer_greet(p) || !peer_expect(p, GET))
        return;
    while (SSL_new_session_ticket(p->ssl) == 1 && SSL_do_handshake(p->ssl) == 1 && carry_out(p))
        ;
}

TEST(records_without_data_do_not_move_the_deadline)
{
    struct peer p = { .version = TLS1_3_VERSION };
    struct usher__redis_conn *c;
    redisReply *reply = NULL;
    int64_t began;

    peer_start(&p, play_tickets);
    c = conn_to(p.port, "redis.test");
    connects(c);
    usher__redis_conn_begin(c, 2);
    usher__redis_conn_arg_str(c, "GET");
    usher__redis_conn_arg_str(c, "k");
    assert_int_equal(usher__redis_conn_flush(c), USHER_OK);
    began = clock_ms();
    assert_int_equal(usher__redis_conn_read(c, began + SHORT, &reply), USHER_UNKNOWN);
    assert_true(clock_ms() - began < SHORT + SLACK);
    usher__redis_conn_close(c);
    peer_stop(&p);
}

enum { TICKETS = 20 };

static void play_some_tickets(struct peer *p)
{
    if (!peer_accept(p))
        return;
    for (int i = 0; i < TICKETS; i++)
        if (SSL_new_session_ticket(p->ssl) != 1 || SSL_do_handshake(p->ssl) != 1)
            problem(p, "no tickets");
    (void)peer_send(p, "+OK\r\n");
    peer_wait(p);
}

/* A stream to the peer, which plays at the other end of a pair of sockets. */
static struct usher__redis_tls *pair_with(struct peer *p, void (*play)(struct peer *p), int *ret_fd)
{
    struct usher__redis_tls_options options = { .ca = file("ca.pem"), .name = "redis.test" };
    struct usher__redis_tls *t = usher__redis_tls_open(&plain_memory, &options);
    int fd[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    p->fd = fd[1];
    peer_start(p, play);
    assert_non_null(t);
    assert_int_equal(usher__redis_tls_begin(t, fd[0]), USHER_OK);
    assert_int_equal(usher__redis_tls_handshake(t), 1); /* the socket is blocking */
    *ret_fd = fd[0];
    return t;
}

/* OpenSSL returns after each record, because only our code checks the deadline. */
TEST(a_read_takes_one_record)
{
    struct peer p = { .version = TLS1_3_VERSION };
    struct usher__redis_tls *t;
    unsigned without = 0;
    char buf[64];
    ssize_t n;
    int fd;

    t = pair_with(&p, play_some_tickets, &fd);
    while ((n = usher__redis_tls_read(t, buf, sizeof buf)) == IO_AGAIN) {
        assert_true(usher__redis_tls_holds(t));
        without++;
    }
    assert_int_equal(n, 5);
    assert_in_range(without, TICKETS, TICKETS + 2); /* two come with every handshake */
    usher__redis_tls_close(t);
    (void)close(fd);
    peer_go(&p);
    peer_stop(&p);
}

static void play_accept_and_go(struct peer *p)
{
    if (!peer_accept(p))
        problem(p, "no handshake");
}

TEST(a_write_to_a_closed_connection_raises_no_signal)
{
    struct peer p = { .version = TLS1_3_VERSION };
    struct usher__redis_tls *t;
    int fd, e = 0;

    t = pair_with(&p, play_accept_and_go, &fd);
    peer_stop(&p);
    assert_int_equal(usher__redis_tls_write(t, "x", 1), IO_FAILED);
    assert_string_equal(usher__redis_tls_text(t, &e), "");
    assert_int_equal(e, EPIPE);
    assert_int_equal(ERR_peek_error(), 0);
    usher__redis_tls_close(t);
    (void)close(fd);
}

/* Answer with new keys each time, byte by byte; the client has to send new keys, too. */
static void play_new_keys(struct peer *p)
{
    if (!peer_greet(p))
        return;
    for (int i = 0; i < 50; i++) {
        if (!peer_expect(p, GET))
            return;
        if (SSL_version(p->ssl) == TLS1_3_VERSION &&
            (SSL_key_update(p->ssl, SSL_KEY_UPDATE_REQUESTED) != 1 ||
             SSL_do_handshake(p->ssl) != 1))
            problem(p, "no new keys");
        if (!peer_send(p, "$1\r\nv\r\n"))
            return;
    }
}

TEST(keys_may_change_and_bytes_arrive_one_by_one)
{
    for (int old = 0; old < 2; old++) {
        struct peer p = { .version = old != 0 ? TLS1_2_VERSION : TLS1_3_VERSION, .slowly = true };
        struct usher__redis_conn *c;

        peer_start(&p, play_new_keys);
        c = conn_to(p.port, "redis.test");
        connects(c);
        for (int i = 0; i < 50; i++) {
            redisReply *reply = NULL;

            usher__redis_conn_begin(c, 2);
            usher__redis_conn_arg_str(c, "GET");
            usher__redis_conn_arg_str(c, "k");
            assert_int_equal(usher__redis_conn_flush(c), USHER_OK);
            if (usher__redis_conn_read(c, clock_ms() + LONG, &reply) != USHER_OK)
                fail_msg("%d: %s", i, usher__redis_conn_message(c));
            assert_string_equal(reply->str, "v");
            freeReplyObject(reply);
        }
        usher__redis_conn_close(c);
        peer_stop(&p);
    }
}

enum { PILED = 200, PILED_TEXT = 40000 };

/* Send new keys, which the client has to answer, and read nothing. */
static void play_new_keys_unread(struct peer *p)
{
    const size_t request = strlen("*2\r\n$4\r\nECHO\r\n$40000\r\n") + PILED_TEXT + 2;
    char buf[16384];
    int n = 1;

    if (!peer_greet(p))
        return;
    peer_wait(p);
    for (int i = 0; i < PILED; i++) {
        while (i == 10 && p->received < PILED * request && n > 0) {
            n = peer_receive(p, buf, sizeof buf);
            p->received += (size_t)n;
        }
        if (SSL_key_update(p->ssl, SSL_KEY_UPDATE_REQUESTED) != 1 ||
            SSL_do_handshake(p->ssl) != 1 || !peer_send(p, "+OK\r\n"))
            problem(p, "no new keys");
    }
    if (p->received != PILED * request)
        problem(p, "not all came");
    peer_wait(p); /* unread answers would reset the connection */
}

TEST(keys_may_change_while_the_socket_is_full)
{
    struct peer p = { .version = TLS1_3_VERSION };
    char *text = calloc(1, PILED_TEXT);
    struct usher__redis_conn *c;

    peer_start(&p, play_new_keys_unread);
    c = conn_to(p.port, "redis.test");
    connects(c);
    for (int i = 0; i < PILED; i++)
        add_echo(c, text, PILED_TEXT);
    assert_int_equal(usher__redis_conn_flush(c), USHER_OK);
    assert_in_range(usher__redis_conn_unsent_from(c), 10, PILED - 1);
    peer_go(&p);
    for (int i = 0; i < PILED; i++) {
        redisReply *reply = NULL;

        if (usher__redis_conn_read(c, clock_ms() + LONG, &reply) != USHER_OK)
            fail_msg("%d: %s", i, usher__redis_conn_message(c));
        assert_string_equal(reply->str, "OK");
        freeReplyObject(reply);
    }
    usher__redis_conn_close(c);
    peer_go(&p);
    peer_stop(&p);
    free(text);
}

/* Send two records together, and a part of a third. */
static void play_answers_together(struct peer *p)
{
    char buf[256];
    int n;

    if (!peer_greet(p) || !peer_expect(p, GET GET GET))
        return;
    for (const char *answer = "abc"; *answer != '\0'; answer++) {
        (void)snprintf(buf, sizeof buf, "$1\r\n%c\r\n", *answer);
        (void)SSL_write(p->ssl, buf, 4); /* in two records */
        (void)SSL_write(p->ssl, buf + 4, 3);
    }
    n = BIO_read(p->out, buf, sizeof buf);
    (void)put(p, buf, (size_t)n - 5);
    peer_wait(p);
    (void)put(p, buf + n - 5, 5);
    peer_wait(p);
}

/* The second answer is read without polling, because the socket is empty. */
TEST(a_reply_in_the_tls_buffer_is_read_without_a_wait)
{
    struct peer p = { .version = TLS1_3_VERSION };
    struct usher__redis_conn *c;
    redisReply *reply = NULL;

    peer_start(&p, play_answers_together);
    c = conn_to(p.port, "redis.test");
    connects(c);
    for (int i = 0; i < 3; i++) {
        usher__redis_conn_begin(c, 2);
        usher__redis_conn_arg_str(c, "GET");
        usher__redis_conn_arg_str(c, "k");
    }
    assert_int_equal(usher__redis_conn_flush(c), USHER_OK);
    for (int i = 0; i < 3; i++) {
        if (i == 2)
            peer_go(&p);
        assert_int_equal(usher__redis_conn_read(c, clock_ms() + LONG, &reply), USHER_OK);
        assert_int_equal(reply->str[0], 'a' + i);
        freeReplyObject(reply);
    }
    usher__redis_conn_close(c);
    peer_go(&p);
    peer_stop(&p);
}

/* Read when the client has sent everything. */
static void read_late(struct peer *p)
{
    char buf[16384];
    int n;

    peer_wait(p);
    while ((n = peer_receive(p, buf, sizeof buf)) > 0)
        p->received += (size_t)n;
}

static void play_accept_and_read_late(struct peer *p)
{
    if (peer_accept(p))
        read_late(p);
}

/* A server has a record wholly or not at all, and has all bytes that the writes returned. */
TEST(bytes_count_when_their_record_is_sent)
{
    enum { SMALL = 1000, MANY = 40000 };
    char *text = calloc(1, MANY);
    int few = 4096;

    for (int i = 0; i < 4; i++) {
        struct peer p = { .version = i % 2 != 0 ? TLS1_2_VERSION : TLS1_3_VERSION };
        bool by_halves = i >= 2; /* a record is larger than the socket buffer, or fits in */
        struct usher__redis_tls *t;
        size_t written = 0;
        ssize_t n;
        int fd;

        t = pair_with(&p, play_accept_and_read_late, &fd);
        assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
        if (by_halves)
            assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &few, sizeof few), 0);
        while ((n = usher__redis_tls_write(t, text, by_halves ? MANY : SMALL)) > 0)
            written += (size_t)n;
        assert_int_equal(n, IO_AGAIN);
        assert_true(by_halves || written > 0);
        assert_int_equal(shutdown(fd, SHUT_WR), 0);
        peer_go(&p);
        peer_stop(&p);
        assert_int_equal(p.received, written);
        usher__redis_tls_close(t);
        (void)close(fd);
    }
    free(text);
}

static void play_greet_and_read_late(struct peer *p)
{
    if (peer_greet(p))
        read_late(p);
}

/* The server can read only the requests before unsent_from, the last one perhaps in part; requests
 * that had not arrived at the deadline never arrive. */
TEST(a_server_receives_no_unsent_request)
{
    enum { REQUESTS = 4000, TEXT = 4000 };
    size_t request = strlen("*2\r\n$4\r\nECHO\r\n$4000\r\n") + TEXT + 2;
    char *text = calloc(1, TEXT);

    for (int old = 0; old < 2; old++) {
        struct peer p = { .version = old != 0 ? TLS1_2_VERSION : TLS1_3_VERSION };
        struct usher__redis_conn *c;
        redisReply *reply = NULL;
        size_t unsent;

        peer_start(&p, play_greet_and_read_late);
        c = conn_to(p.port, "redis.test");
        connects(c);
        for (int i = 0; i < REQUESTS; i++)
            add_echo(c, text, TEXT);
        assert_int_equal(usher__redis_conn_flush(c), USHER_OK);
        assert_int_equal(usher__redis_conn_read(c, clock_ms() + SHORT, &reply), USHER_UNKNOWN);
        unsent = usher__redis_conn_unsent_from(c);
        assert_true(unsent > 0 && unsent < REQUESTS);
        assert_false(usher__redis_conn_is_connected(c));
        peer_go(&p);
        peer_stop(&p);
        assert_true((p.received + request - 1) / request <= unsent);
        usher__redis_conn_close(c);
    }
    free(text);
}

static void play_greet_and_reset(struct peer *p)
{
    struct linger now = { 1, 0 };

    if (!peer_greet(p))
        return;
    (void)setsockopt(p->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    (void)close(p->fd);
    p->fd = -1;
}

/* Nothing was sent, so the status is unavailable, not unknown; and no signal is raised. */
TEST(a_lost_server_raises_no_signal)
{
    struct sigaction before, after;

    assert_int_equal(sigaction(SIGPIPE, NULL, &before), 0);
    assert_true(before.sa_handler == SIG_DFL);
    for (int i = 0; i < 5; i++) {
        struct peer p = { 0 };
        struct usher__redis_conn *c;

        peer_start(&p, play_greet_and_reset);
        c = conn_to(p.port, "redis.test");
        connects(c);
        peer_stop(&p);
        add_echo(c, "x", 1);
        assert_int_equal(usher__redis_conn_flush(c), USHER_UNAVAILABLE);
        assert_false(usher__redis_conn_is_connected(c));
        assert_non_null(strstr(usher__redis_conn_message(c), "reset"));
        usher__redis_conn_close(c);
    }
    assert_int_equal(sigaction(SIGPIPE, NULL, &after), 0);
    assert_true(after.sa_handler == before.sa_handler);
}

/* Close the connection when half a batch is in the socket. */
static void play_greet_wait_and_go(struct peer *p)
{
    if (peer_greet(p))
        peer_wait(p);
}

TEST(a_server_lost_during_a_write_raises_no_signal)
{
    char *text = calloc(1, 1 << 20);
    struct usher__redis_conn *c;
    struct peer p = { 0 };
    redisReply *reply = NULL;

    peer_start(&p, play_greet_wait_and_go);
    c = conn_to(p.port, "redis.test");
    connects(c);
    for (int i = 0; i < 8; i++)
        add_echo(c, text, 1 << 20);
    assert_int_equal(usher__redis_conn_flush(c), USHER_OK);
    peer_go(&p);
    assert_int_equal(usher__redis_conn_read(c, clock_ms() + LONG, &reply), USHER_UNKNOWN);
    assert_true(usher__redis_conn_unsent_from(c) < 8);
    usher__redis_conn_close(c);
    peer_stop(&p);
    free(text);
}

/* ---- memory -------------------------------------------------------------------------------- */

TEST(a_failed_allocation_is_nomem)
{
    struct usher__redis_conn_options options = { .host = "h", .port = 1, .over_tls = true };
    struct usher__redis_conn *c = NULL;

    options.tls.name = "h";
    for (size_t at = 1; at <= 2; at++) {
        struct counted counted = { 0, 0, at };
        struct usher_allocator alloc = { counted_resize, &counted };

        assert_int_equal(usher__redis_conn_open(&alloc, &options, &c), USHER_NOMEM);
        assert_int_equal(counted.bytes, 0);
    }
    options.tls.name = ".h";
    assert_int_equal(usher__redis_conn_open(&plain_memory, &options, &c), USHER_INVALID);
    options.tls.name = "h";
    options.tls.key = "k";
    assert_int_equal(usher__redis_conn_open(&plain_memory, &options, &c), USHER_INVALID);
    assert_null(c);
}

/* ---- a cluster ----------------------------------------------------------------------------- */

#define MASTERS 2 /* each with a replica */
#define POOLS 8

/* A node that speaks TLS with all but this test.  Its bus has the port that the others expect. */
static struct redis_server *tls_node(int *ret_tls_port)
{
    char port[32], bus[32], cert[160], key[160], of[160];
    const char *const config[] = { port, bus, cert, key, of, "tls-auth-clients no",
                                   "tls-cluster yes", "tls-replication yes",
                                   /* no node is replaced while a replica is stopped */
                                   "cluster-node-timeout 60000", NULL };
    struct redis_server_options options = { .config = config, .cluster = true };

    options.port = redis_free_port();
    *ret_tls_port = redis_free_port();
    (void)snprintf(port, sizeof port, "tls-port %d", *ret_tls_port);
    (void)snprintf(bus, sizeof bus, "cluster-port %d", options.port + 10000);
    (void)snprintf(cert, sizeof cert, "tls-cert-file %s", file("server.pem"));
    (void)snprintf(key, sizeof key, "tls-key-file %s", file("server.pem"));
    (void)snprintf(of, sizeof of, "tls-ca-cert-file %s", file("ca.pem"));
    return redis_server_start(&options);
}

static struct redis_cluster *cluster;
static int tls_port_of_first;

/* Write the name of pool @i: the first half of the pools are on the first master. */
static void pool_name(unsigned i, char name[16])
{
    for (unsigned k = 0, n = i % (POOLS / MASTERS);; k++) {
        int slot;

        (void)snprintf(name, 16, "w%u", k);
        slot = redis_cluster_slot(cluster, name);
        assert_true(slot >= 0);
        if ((unsigned)(slot * MASTERS / 16384) == i / (POOLS / MASTERS) && n-- == 0)
            break;
    }
}

/* Add @number to each pool, in one batch. */
static void post_to_all(struct usher_engine *e, const char *number, int64_t wait,
                        int64_t timeout_ms)
{
    const struct usher_value v[] = { USHER_T(USHER_FIELD_NUMBER, number),
                                     USHER_N(USHER_FIELD_WAIT, wait) };
    struct usher_command c[POOLS];
    char name[POOLS][16];

    for (uintptr_t i = 0; i < POOLS; i++) {
        pool_name((unsigned)i, name[i]);
        c[i] = (struct usher_command){ USHER_NUMBER_ADD, USHER_TO_NUL, name[i], v,
                                       wait > 0 ? 2 : 1, (void *)i };
    }
    assert_int_equal(usher_post(e, c, POOLS, timeout_ms), USHER_OK);
}

/* Return the pool of the next answer, which was done; store the number of its replicas. */
static unsigned next_done(struct usher_engine *e, unsigned replicas[POOLS])
{
    const struct usher_event *event = usher_collect(e, LONG);
    unsigned i;

    assert_non_null(event);
    assert_int_equal(event->kind, USHER_EVENT_REPLY);
    i = (unsigned)(uintptr_t)event->tag;
    if (event->reply->status != USHER_OK)
        fail_msg("%u: %s (%s)", i, usher_status_word(event->reply->status), event->reply->message);
    replicas[i] = event->reply->replicas;
    usher_event_done(event);
    return i;
}

static int cluster_start(void **state)
{
    struct redis_server *node[2 * MASTERS];
    int port;

    (void)state;
    cert_write_both(&good, file("server.pem"));
    for (int i = 0; i < 2 * MASTERS; i++)
        node[i] = tls_node(i == 0 ? &tls_port_of_first : &port);
    cluster = redis_cluster_of(MASTERS, MASTERS, node, true);
    return cluster != NULL ? 0 : -1;
}

static int cluster_stop(void **state)
{
    (void)state;
    if (cluster != NULL)
        (void)redis_server_kill(cluster->node[MASTERS], SIGCONT);
    redis_cluster_stop(cluster);
    cluster = NULL;
    return 0;
}

/* A posted batch over TLS: each node waits for its own replicas, and a node with a stopped replica
 * does not delay answers of the other. */
TEST_WITH(nodes_of_a_cluster_wait_for_their_replicas, cluster_start, cluster_stop)
{
    const int64_t timeout_ms = budget_slow() ? 8000 : 2000;
    unsigned replicas[POOLS];
    struct usher_engine *e;
    char at[512];
    int64_t from;

    (void)snprintf(at, sizeof at, "rediss+cluster://127.0.0.1:%d?ca=%s&timeout=%d",
                   tls_port_of_first, file("ca.pem"), LONG);
    e = opens(at);
    post_to_all(e, "1", 1, 0);
    for (unsigned i = 0; i < POOLS; i++)
        (void)next_done(e, replicas);
    for (unsigned i = 0; i < POOLS; i++)
        assert_int_equal(replicas[i], 1);
    assert_int_equal(redis_server_kill(cluster->node[MASTERS], SIGSTOP), 0); /* of the first */
    from = clock_ms();
    post_to_all(e, "2", 1, timeout_ms);
    post_to_all(e, "3", 0, 0);
    for (unsigned i = 0; i < POOLS; i++) { /* the half of either number */
        unsigned pool = next_done(e, replicas);

        assert_in_range(pool, POOLS / MASTERS, POOLS - 1);
        assert_int_equal(replicas[pool], i < POOLS / MASTERS);
    }
    assert_true(clock_ms() - from < timeout_ms / 2);
    for (unsigned i = 0; i < POOLS; i++) {
        unsigned pool = next_done(e, replicas);

        assert_in_range(pool, 0, POOLS / MASTERS - 1);
        assert_int_equal(replicas[pool], 0);
    }
    assert_in_range(clock_ms() - from, timeout_ms * 8 / 10, timeout_ms + SLACK);
    usher_close(e);
}

/* ---- all of them --------------------------------------------------------------------------- */

static bool begin(void)
{
    char port[32], cert[160], key[160], of[160];
    const char *const config[] = { port, cert, key, of, "tls-auth-clients no", NULL };
    struct redis_server_options options = { .config = config };
    const char *tmp = getenv("TMPDIR");

    (void)snprintf(dir, sizeof dir, "%.40s/usher-tls-XXXXXX", tmp != NULL ? tmp : "/tmp");
    if (mkdtemp(dir) == NULL)
        return false;
    ca = cert_make("the CA", NULL, NULL, -60, DAY);
    other_ca = cert_make("another CA", NULL, NULL, -60, DAY);
    good = cert_make("good", &ca, "DNS:redis.test,DNS:*.wild.test,IP:127.0.0.1", -60, DAY);
    client = cert_make("client", &ca, NULL, -60, DAY);
    cert_write(&ca, file("ca.pem"));
    cert_write_both(&good, file("server.pem"));
    tls_port = redis_free_port();
    (void)snprintf(port, sizeof port, "tls-port %d", tls_port);
    (void)snprintf(cert, sizeof cert, "tls-cert-file %s", file("server.pem"));
    (void)snprintf(key, sizeof key, "tls-key-file %s", file("server.pem"));
    (void)snprintf(of, sizeof of, "tls-ca-cert-file %s", file("ca.pem"));
    server = redis_server_start(&options);
    return server != NULL;
}

static void end(void)
{
    static const char *const files[] = { "ca.pem",     "old.pem", "turn.pem",
                                         "server.pem", "c.pem",   "k.pem" };

    redis_server_stop(server);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        (void)unlink(file(files[i]));
    (void)rmdir(dir);
    cert_free(&ca);
    cert_free(&other_ca);
    cert_free(&good);
    cert_free(&client);
}

static int program_begin(void)
{
    return begin() ? 0 : redis_skip();
}

TEST_PROGRAM(program_begin, end);
