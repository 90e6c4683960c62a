/* SPDX-License-Identifier: MIT */
/*
 * A password that changes while a program runs: each new connection uses the current one of the
 * application, or of a file.  R18 of the specification of the Redis store.
 */
#include "lib/test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "lib/command_line.h"
#include "lib/expect.h"
#include "lib/servers.h"

#define PATIENCE_MS 20000
#define SHORT_MS 300

static struct redis_server *server;
static char file[512];

/* The application's password; any thread may request it, so there is a lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char secret[600];
static bool has_none;
static unsigned asked;

static bool give_password(void *payload, char *to, size_t size)
{
    bool has;

    assert_ptr_equal(payload, file);
    (void)pthread_mutex_lock(&lock);
    asked++;
    has = !has_none;
    if (strlen(secret) < size)
        memcpy(to, secret, strlen(secret) + 1);
    else
        memcpy(to, secret, size); /* without a NUL, as a careless application would */
    (void)pthread_mutex_unlock(&lock);
    return has;
}

static void have(const char *password)
{
    (void)pthread_mutex_lock(&lock);
    (void)snprintf(secret, sizeof secret, "%s", password);
    (void)pthread_mutex_unlock(&lock);
}

static void have_none(bool none)
{
    (void)pthread_mutex_lock(&lock);
    has_none = none;
    (void)pthread_mutex_unlock(&lock);
}

static void write_file(const char *text, size_t size)
{
    char fresh[sizeof file + 8];
    FILE *f;

    (void)snprintf(fresh, sizeof fresh, "%s.new", file);
    f = fopen(fresh, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(rename(fresh, file), 0);
}

static void file_says(const char *text)
{
    write_file(text, strlen(text));
}

/* Change the server's password and close all connections to it. */
static void server_wants(const char *password)
{
    assert_true(redis_do_ok(server, "CONFIG", "SET", "requirepass", password, NULL));
    assert_true(redis_do_ok(server, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes", NULL));
}

static enum usher_status engine_open(const char *scheme_user, const char *options,
                                     int64_t timeout_ms, bool asks, struct usher_engine **e)
{
    struct usher_options opt = USHER_OPTIONS_INIT;
    char url[2048];

    opt.timeout_ms = timeout_ms;
    opt.payload = file;
    if (asks)
        opt.password = give_password;
    (void)snprintf(url, sizeof url, "redis://%s127.0.0.1:%d%s", scheme_user,
                   redis_server_port(server), options);
    return usher_open(url, &opt, e);
}

static const char *file_option(void)
{
    static char option[600];

    (void)snprintf(option, sizeof option, "?password-file=%s", file);
    return option;
}

static void must(struct usher_engine *e, const char *text, enum usher_status status)
{
    assert_null(strstr(expect(e, status, "%s", text).message, "s3cret"));
}

TEST(the_password_callback_is_called_for_each_connection)
{
    struct usher_engine *e;
    unsigned before;

    server_wants("s3cret1");
    have("s3cret1");
    assert_int_equal(engine_open("", "", PATIENCE_MS, true, &e), USHER_OK);
    must(e, "number add p 1", USHER_OK);
    server_wants("s3cret2");
    have("s3cret2");
    before = asked;
    must(e, "number del p 1", USHER_OK);
    assert_true(asked > before);
    usher_close(e);
    /* with a user name */
    assert_true(
        redis_do_ok(server, "ACL", "SETUSER", "ann", "on", ">s3cret3", "~*", "&*", "+@all", NULL));
    have("s3cret3");
    assert_int_equal(engine_open("ann@", "", PATIENCE_MS, true, &e), USHER_OK);
    must(e, "number add p 1", USHER_OK);
    usher_close(e);
    /* a password in the URL is used as it is */
    before = asked;
    assert_int_equal(engine_open("ann:s3cret3@", "", PATIENCE_MS, true, &e), USHER_OK);
    must(e, "number del p 1", USHER_OK);
    assert_int_equal(asked, before);
    usher_close(e);
}

TEST(a_password_file_is_read_for_each_connection)
{
    struct usher_engine *e;

    server_wants("s3cret4");
    file_says("s3cret4\n");
    assert_int_equal(engine_open("", file_option(), PATIENCE_MS, false, &e), USHER_OK);
    must(e, "number add f 1", USHER_OK);
    server_wants("s3cret5");
    file_says("s3cret5\r\n");
    must(e, "number del f 1", USHER_OK);
    file_says("s3cret6");
    server_wants("s3cret6");
    must(e, "number add f 1", USHER_OK);
    usher_close(e);
}

/* Requests for the slot map use it, too, also on the first connection to a node. */
TEST(each_node_gets_the_current_password)
{
    struct redis_server_options options = { .password = "s3cret0" };
    struct redis_cluster *c = redis_cluster_start(3, 0, &options);
    struct usher_options opt = USHER_OPTIONS_INIT;
    struct usher_engine *e;
    char url[1024];

    assert_non_null(c);
    file_says("s3cret0\n");
    opt.timeout_ms = PATIENCE_MS;
    (void)snprintf(url, sizeof url, "redis+cluster://127.0.0.1:%d%s", redis_server_port(c->node[0]),
                   file_option());
    assert_int_equal(usher_open(url, &opt, &e), USHER_OK);
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < 30; i++) {
            char text[64];

            (void)snprintf(text, sizeof text, "number add pool%u n%u", i, round);
            must(e, text, USHER_OK);
        }
        for (int i = 0; i < c->nodes; i++) {
            assert_true(redis_do_ok(c->node[i], "CONFIG", "SET", "requirepass", "s3cret1", NULL));
            assert_true(redis_do_ok(c->node[i], "CLIENT", "KILL", "TYPE", "normal", NULL));
        }
        file_says("s3cret1\n");
    }
    usher_close(e);
    redis_cluster_stop(c);
}

struct worker {
    struct usher_engine *e;
    unsigned number;
    _Atomic unsigned done;
    _Atomic bool *stop;
    char bad[256];
};

/* Each of its commands may be sent again. */
static void *worker_main(void *payload)
{
    struct worker *w = payload;

    while (!atomic_load(w->stop) && w->bad[0] == '\0') {
        struct usher_result r;
        unsigned n = atomic_load(&w->done);
        enum usher_status status =
            line_execute(w->e, &r, "number %s load%u n req=%u.%u", n % 2 == 0 ? "add" : "del",
                         w->number, w->number, n);

        if (status != USHER_OK)
            (void)snprintf(w->bad, sizeof w->bad, "%u.%u: %s (%s)", w->number, n,
                           usher_status_word(status), r.message);
        usher_result_done(&r);
        atomic_fetch_add(&w->done, 1);
    }
    return NULL;
}

#define WORKERS 8

/* The server's password changes before that of the file: a connection in between is tried again. */
TEST(the_password_changes_under_load)
{
    struct usher_engine *e;
    struct worker w[WORKERS];
    pthread_t thread[WORKERS];
    _Atomic bool stop = false;

    server_wants("s3cret7");
    file_says("s3cret7\n");
    assert_int_equal(engine_open("", file_option(), PATIENCE_MS, false, &e), USHER_OK);
    for (unsigned i = 0; i < WORKERS; i++) {
        w[i] = (struct worker){ .e = e, .number = i, .stop = &stop };
        assert_int_equal(pthread_create(&thread[i], NULL, worker_main, &w[i]), 0);
    }
    for (unsigned round = 0; round < 10; round++) {
        char password[32];
        unsigned from[WORKERS];

        (void)snprintf(password, sizeof password, "s3cret-%u", round);
        server_wants(password);
        file_says(password);
        for (unsigned i = 0; i < WORKERS; i++)
            from[i] = atomic_load(&w[i].done);
        for (unsigned i = 0; i < WORKERS; i++)
            while (atomic_load(&w[i].done) < from[i] + 3 && w[i].bad[0] == '\0')
                (void)usleep(1000);
    }
    atomic_store(&stop, true);
    for (unsigned i = 0; i < WORKERS; i++) {
        (void)pthread_join(thread[i], NULL);
        if (w[i].bad[0] != '\0')
            fail_msg("%s", w[i].bad);
    }
    usher_close(e);
}

static void refused(const char *user, const char *option, bool asks, enum usher_status status,
                    const char *words)
{
    struct usher_engine *e;

    if (engine_open(user, option, SHORT_MS, asks, &e) != status)
        fail_msg("%s%s: %s", user, option, usher_message());
    if (strstr(usher_message(), words) == NULL)
        fail_msg("%s%s: %s", user, option, usher_message());
    assert_null(strstr(usher_message(), "s3cret"));
}

TEST(a_wrong_password_file_is_named)
{
    char long_one[600], longer[1300];

    server_wants("s3cret8");
    file_says("s3cret9\n");
    refused("", file_option(), false, USHER_UNAVAILABLE, "WRONGPASS");
    file_says("");
    refused("", file_option(), false, USHER_UNAVAILABLE, "is empty");
    file_says("\n");
    refused("", file_option(), false, USHER_UNAVAILABLE, "is empty");
    file_says("s3cret8\nand more\n");
    refused("", file_option(), false, USHER_UNAVAILABLE, "more than one line");
    write_file("s3\0cret8", 8);
    refused("", file_option(), false, USHER_UNAVAILABLE, "more than one line");
    memset(long_one, 'x', sizeof long_one - 1);
    long_one[sizeof long_one - 1] = '\0';
    file_says(long_one);
    refused("", file_option(), false, USHER_UNAVAILABLE, "too long");
    assert_int_equal(unlink(file), 0);
    refused("", file_option(), false, USHER_UNAVAILABLE, "cannot be read");
    assert_int_equal(mkfifo(file, 0600), 0);
    refused("", file_option(), false, USHER_UNAVAILABLE, "cannot be read");
    assert_int_equal(unlink(file), 0);
    refused("", "?password-file=/", false, USHER_UNAVAILABLE, "cannot be read");
    refused("", "?password-file=", false, USHER_INVALID, "password-file=");
    refused(":x@", file_option(), false, USHER_INVALID, "there is a password, too");
    (void)snprintf(longer, sizeof longer, "?password-file=/%s%s", long_one, long_one);
    refused("", longer, false, USHER_INVALID, "password-file=");
    have("s3cret9");
    refused("", "", true, USHER_UNAVAILABLE, "WRONGPASS");
    have(long_one);
    refused("", "", true, USHER_UNAVAILABLE, "too long");
    have_none(true);
    refused("", "", true, USHER_UNAVAILABLE, "has no password");
    have_none(false);
}

static int program_begin(void)
{
    struct redis_server_options options = { .password = "s3cret0" };

    server = redis_server_start(&options);
    if (server == NULL)
        return redis_skip();
    (void)snprintf(file, sizeof file, "%s/password", redis_server_dir(server));
    return 0;
}

static void program_end(void)
{
    redis_server_stop(server);
}

TEST_PROGRAM(program_begin, program_end);
