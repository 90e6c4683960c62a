/* SPDX-License-Identifier: MIT */
/*
 * servers -- see servers.h.
 *
 * A server is configured by a file in its directory and nothing else, so a restart needs
 * no memory of the options.  That a server answers on our port is no proof that it is ours:
 * another test may have been quicker.  So the process id in its INFO is compared.
 *
 * A cluster is formed with CLUSTER MEET, ADDSLOTS and REPLICATE; redis-cli is not needed.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sched.h>
#include <sys/prctl.h>
#endif

#include "lib/calls.h"
#include "lib/util.h"
#include "servers.h"

/* Generous: a loaded machine under valgrind must not fail for this. */
#define START_MS 120000
#define MEET_AGAIN_MS 2000
#define REPLY_S 60

/* The user that the tests' own connection is, where "default" may be restricted. */
#define HARNESS_USER "harness"

#define SLOTS 16384

/* Cluster bus ports are 10000 above and must be ports, too.  Both ranges lie below those
 * from which kernels choose ports for outgoing connections. */
#define PORT_FIRST 11000
#define PORT_COUNT 11000
#define BUS_OFFSET 10000

/* Fits sun_path together with a file name. */
#define DIR_MAX 80

/* An IPv4 address. */
#define ADDRESS_MAX 16

struct redis_server {
    pid_t pid;      /* 0: not running */
    bool is_paused; /* by SIGSTOP */
    int port;
    int netns; /* 0: the one in which we are */
    int version;
    bool own_dir;
    bool harness_user;
    bool is_sentinel;
    char *password; /* NULL: none */
    char address[ADDRESS_MAX];
    char dir[DIR_MAX];
    char socket[DIR_MAX + 16];
    char program[4096];
    redisContext *context; /* of redis_do(); NULL: connect first */
    long log_begin;        /* where its log has the life that runs, or ran last */
};

static _Thread_local char reason[512] = "no failure";
static _Thread_local bool is_missing; /* @reason is that there is no server at all */

const char *redis_reason(void)
{
    return reason;
}

static void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void fail(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    vsnprintf(reason, sizeof reason, format, ap);
    va_end(ap);
    is_missing = false;
}

/* A test that only asserts success does not print our reason, so it is printed here. */
static bool reported(bool good)
{
    if (!good)
        fprintf(stderr, "servers: %s\n", reason);
    return good;
}

int redis_skip(void)
{
    const char *no_skip = getenv("USHER_NO_SKIP");

    fprintf(stderr, "%s: %s\n", is_missing ? "skip" : "failed", reason);
    return !is_missing || (no_skip != NULL && strcmp(no_skip, "1") == 0) ? 1 : 77;
}

int redis_needed(void)
{
    struct redis_server *any = redis_server_start(NULL);

    if (any == NULL)
        return redis_skip();
    redis_server_stop(any);
    return 0;
}

/* Wait between two checks of a condition that has no notification. */
static void pause_briefly(void)
{
    struct timespec t = { 0, 2000000 };

    nanosleep(&t, NULL);
}

static void *checked(void *p)
{
    if (p == NULL) {
        perror("servers");
        abort();
    }
    return p;
}

/* ---- finding the program ---- */

static bool is_program(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static bool find_in_path(const char *name, char *buf, size_t size)
{
    const char *path = getenv("PATH"), *end;
    int n;

    for (; path != NULL; path = *end == ':' ? end + 1 : NULL) {
        end = path + strcspn(path, ":");
        n = snprintf(buf, size, "%.*s/%s", (int)(end - path), path, name);
        if (end > path && n > 0 && (size_t)n < size && is_program(buf))
            return true;
    }
    return false;
}

static bool find_server(char *buf, size_t size)
{
    const char *named = getenv("USHER_REDIS_SERVER");

    if (named != NULL && *named != '\0') {
        if (strlen(named) < size && is_program(named)) {
            snprintf(buf, size, "%s", named);
            return true;
        }
        fail("USHER_REDIS_SERVER=%s is not a program", named);
        return false;
    }
    if (find_in_path("redis-server", buf, size) || find_in_path("redis-check-rdb", buf, size))
        return true;
    fail("no Redis server: neither redis-server nor redis-check-rdb is in PATH and "
         "USHER_REDIS_SERVER is not set");
    is_missing = true;
    return false;
}

/* The program becomes a checker when its name says so. */
static const char *run_name(const char *program)
{
    const char *base = strrchr(program, '/');

    base = base != NULL ? base + 1 : program;
    return strcmp(base, "redis-check-rdb") == 0 ? "redis-server" : program;
}

/* The child must not keep our sockets open: a peer would wait for their end. */
static void close_inherited(void)
{
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
}

/* "... v=7.0.15 sha=..." */
static int ask_version(const char *program)
{
    char text[512];
    const char *v;
    size_t have = 0;
    ssize_t n;
    int p[2], status, major, minor, patch;
    pid_t pid;

    if (pipe(p) != 0)
        return 0;
    pid = fork();
    if (pid == 0) {
        if (dup2(p[1], 1) < 0)
            _exit(127);
        close_inherited();
        execl(program, run_name(program), "--version", (char *)NULL);
        _exit(127);
    }
    close(p[1]);
    while (pid > 0 && have < sizeof text - 1 &&
           (n = read(p[0], text + have, sizeof text - 1 - have)) > 0)
        have += (size_t)n;
    text[have] = '\0';
    close(p[0]);
    if (pid > 0)
        waitpid(pid, &status, 0);
    v = strstr(text, " v=");
    if (v == NULL || sscanf(v, " v=%d.%d.%d", &major, &minor, &patch) != 3)
        return 0;
    return major * 10000 + minor * 100 + patch;
}

/* ---- ports ---- */

static bool port_is_free(int port)
{
    struct sockaddr_in a = { .sin_family = AF_INET };
    int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    bool is_free;

    if (fd < 0)
        return false;
    a.sin_port = htons((uint16_t)port);
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    is_free = bind(fd, (struct sockaddr *)&a, sizeof a) == 0 && listen(fd, 1) == 0;
    close(fd);
    return is_free;
}

int redis_free_port(void)
{
    static unsigned calls;
    uint64_t x;
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    x = (uint64_t)t.tv_nsec ^ ((uint64_t)getpid() << 32) ^ (uint64_t)t.tv_sec ^ ++calls;
    for (int tries = 0; tries < 1000; tries++) {
        int port;

        x = x * 6364136223846793005u + 1442695040888963407u;
        port = PORT_FIRST + (int)((x >> 33) % PORT_COUNT);
        if (port_is_free(port) && port_is_free(port + BUS_OFFSET))
            return port;
    }
    fail("no free port from %d to %d", PORT_FIRST, PORT_FIRST + PORT_COUNT - 1);
    return 0;
}

/* ---- directory and configuration ---- */

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

static bool make_dir(struct redis_server *s, const char *given)
{
    const char *tmp = getenv("TMPDIR");
    int n;

    if (given != NULL)
        n = snprintf(s->dir, sizeof s->dir, "%s", given);
    else
        n = snprintf(s->dir, sizeof s->dir, "%s/usher-redis-XXXXXX",
                     tmp != NULL && *tmp != '\0' ? tmp : "/tmp");
    if (n < 0 || (size_t)n >= sizeof s->dir) {
        fail("the directory's name is too long for a socket in it");
        s->dir[0] = '\0';
        return false;
    }
    if (given != NULL)
        return true;
    if (mkdtemp(s->dir) == NULL) {
        fail("%s: %s", s->dir, strerror(errno));
        s->dir[0] = '\0';
        return false;
    }
    s->own_dir = true;
    return true;
}

static void put_quoted(FILE *f, const char *name, const char *value)
{
    fprintf(f, "%s \"", name);
    for (; *value != '\0'; value++) {
        if (*value == '"' || *value == '\\')
            putc('\\', f);
        putc(*value, f);
    }
    fputs("\"\n", f);
}

static bool write_config(const struct redis_server *s, const struct redis_server_options *opt)
{
    const struct redis_server *master = opt->replica_of;
    char path[DIR_MAX + 16];
    bool good;
    FILE *f;

    snprintf(path, sizeof path, "%s/redis.conf", s->dir);
    f = fopen(path, "w");
    if (f == NULL) {
        fail("%s: %s", path, strerror(errno));
        return false;
    }
    fprintf(f, "bind %s\nport %d\nsave \"\"\nlogfile \"\"\n", s->address, s->port);
    /* CLUSTER SLOTS hides a replica until it has received something: a ping, here. */
    fprintf(f, "repl-diskless-sync yes\nrepl-diskless-sync-delay 0\n"
               "repl-ping-replica-period 1\n");
    /* In protected mode Redis accepts clients from 127.0.0.1 only. */
    if (s->netns != 0)
        fprintf(f, "protected-mode no\n");
    if (s->version >= 70000)
        fprintf(f, "enable-debug-command local\nshutdown-timeout 0\n");
    fprintf(f, "appendonly %s\nappendfsync %s\n", opt->aof == REDIS_AOF_OFF ? "no" : "yes",
            opt->aof == REDIS_AOF_ALWAYS ? "always" : "everysec");
    if (opt->unixsocket)
        put_quoted(f, "unixsocket", s->socket);
    if (s->password != NULL) {
        put_quoted(f, "requirepass", s->password);
        if (opt->cluster)
            put_quoted(f, "masterauth", s->password);
    }
    if (s->harness_user)
        fprintf(f, "user " HARNESS_USER " on nopass ~* &* +@all\n");
    for (const char *const *u = opt->users; u != NULL && *u != NULL; u++)
        fprintf(f, "user %s\n", *u);
    if (opt->cluster)
        fprintf(f, "cluster-enabled yes\ncluster-config-file nodes.conf\n"
                   "cluster-node-timeout 1000\ncluster-allow-replica-migration no\n");
    if (master != NULL) {
        fprintf(f, "replicaof %s %d\n", master->address, master->port);
        if (master->harness_user)
            fprintf(f, "masteruser " HARNESS_USER "\nmasterauth any\n");
        else if (master->password != NULL)
            put_quoted(f, "masterauth", master->password);
    }
    for (const char *const *line = opt->config; line != NULL && *line != NULL; line++)
        fprintf(f, "%s\n", *line);
    good = !ferror(f);
    if (fclose(f) != 0 || !good) {
        fail("%s: %s", path, strerror(errno));
        return false;
    }
    return true;
}

/* ---- the process ---- */

/* A socket stays where it was made.  Returns where to go back to, -1: nowhere. */
static int enter_netns(int netns)
{
    int home = -1;

#ifdef __linux__
    if (netns == 0)
        return -1;
    home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    if (home < 0 || setns(netns, CLONE_NEWNET) != 0) {
        perror("servers: network namespace");
        abort();
    }
#else
    (void)netns;
#endif
    return home;
}

static void leave_netns(int home)
{
    if (home < 0)
        return;
#ifdef __linux__
    if (setns(home, CLONE_NEWNET) != 0) {
        perror("servers: network namespace");
        abort();
    }
#endif
    close(home);
}

static bool spawn(struct redis_server *s)
{
    char config[DIR_MAX + 16], log[DIR_MAX + 16];
    const char *name = run_name(s->program);
    pid_t parent = getpid(), pid;
    struct stat st;
    int fd, home;

    snprintf(config, sizeof config, "%s/redis.conf", s->dir);
    snprintf(log, sizeof log, "%s/redis.log", s->dir);
    s->log_begin = stat(log, &st) == 0 ? (long)st.st_size : 0;
    home = enter_netns(s->netns);
    pid = fork();
    if (pid != 0)
        leave_netns(home);
    if (pid < 0) {
        fail("fork: %s", strerror(errno));
        return false;
    }
    if (pid == 0) {
#ifdef __linux__
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
            _exit(126);
#endif
        if (getppid() != parent || chdir(s->dir) != 0)
            _exit(126);
        fd = open("/dev/null", O_RDONLY);
        if (fd < 0 || dup2(fd, 0) < 0)
            _exit(126);
        fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
        if (fd < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0)
            _exit(126);
        close_inherited();
        execl(s->program, name, config, s->is_sentinel ? "--sentinel" : (char *)NULL, (char *)NULL);
        _exit(127);
    }
    s->pid = pid;
    s->is_paused = false;
    return true;
}

static void forget_context(struct redis_server *s)
{
    if (s->context != NULL)
        redisFree(s->context);
    s->context = NULL;
}

/* Did it end by itself? */
static bool has_died(struct redis_server *s)
{
    int status;

    if (s->pid == 0)
        return true;
    if (waitpid(s->pid, &status, WNOHANG) != s->pid)
        return false;
    s->pid = 0;
    return true;
}

int redis_server_kill(struct redis_server *s, int sig)
{
    int64_t until = clock_ms() + START_MS;

    if (s->pid == 0) {
        fail("the server does not run");
        (void)reported(false);
        return -1;
    }
    if (kill(s->pid, sig) != 0) {
        fail("kill: %s", strerror(errno));
        (void)reported(false);
        return -1;
    }
    if (sig == SIGSTOP || sig == SIGCONT)
        s->is_paused = sig == SIGSTOP;
    if (sig != SIGKILL && sig != SIGTERM)
        return 0;
    forget_context(s);
    while (!has_died(s)) {
        if (clock_ms() > until) {
            fail("process %ld outlives signal %d", (long)s->pid, sig);
            (void)reported(false);
            return -1;
        }
        pause_briefly();
    }
    return 0;
}

/* Keeps the last line of the log as the reason.  Returns whether the port was taken. */
static bool explain_death(const struct redis_server *s)
{
    char path[DIR_MAX + 16], line[400], last[400] = "nothing in its log";
    bool taken = false;
    FILE *f;

    snprintf(path, sizeof path, "%s/redis.log", s->dir);
    f = fopen(path, "r");
    if (f != NULL)
        (void)fseek(f, s->log_begin, SEEK_SET);
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] != '\0')
            snprintf(last, sizeof last, "%s", line);
        if (strstr(line, "Address already in use") != NULL ||
            strstr(line, "Failed listening") != NULL)
            taken = true;
    }
    if (f != NULL)
        fclose(f);
    fail("%s does not start: %s", s->program, last);
    return taken;
}

static bool info_has(redisContext *c, const char *section, const char *text)
{
    redisReply *r = redisCommand(c, "INFO %s", section);
    bool has = r != NULL && (r->type == REDIS_REPLY_STRING) && strstr(r->str, text) != NULL;

    freeReplyObject(r);
    return has;
}

/* Ours, answering and loaded? */
static bool is_ready(struct redis_server *s)
{
    redisContext *c = redis_server_connect(s);
    redisReply *r;
    char text[32];
    bool ready;

    if (c == NULL)
        return false;
    snprintf(text, sizeof text, "process_id:%ld\r", (long)s->pid);
    r = redisCommand(c, "PING");
    ready = r != NULL && r->type == REDIS_REPLY_STATUS && info_has(c, "server", text);
    freeReplyObject(r);
    redisFree(c);
    return ready;
}

/* Returns with the process running and ready, or with none. */
static bool spawn_and_wait(struct redis_server *s, bool *ret_taken)
{
    int64_t until = clock_ms() + START_MS;

    *ret_taken = false;
    if (!spawn(s))
        return false;
    while (!is_ready(s)) {
        if (has_died(s)) {
            *ret_taken = explain_death(s);
            return false;
        }
        if (clock_ms() > until) {
            redis_server_kill(s, SIGKILL);
            fail("%s does not answer in %d s", s->program, START_MS / 1000);
            return false;
        }
        pause_briefly();
    }
    return true;
}

struct redis_server *redis_server_start(const struct redis_server_options *opt)
{
    static const struct redis_server_options none;
    struct redis_server *s = checked(calloc(1, sizeof *s));
    bool started = false, taken = true;

    opt = opt != NULL ? opt : &none;
    s->harness_user = opt->users != NULL;
    s->is_sentinel = opt->sentinel;
    s->netns = opt->netns;
    snprintf(s->address, sizeof s->address, "%s",
             opt->address != NULL ? opt->address : "127.0.0.1");
    if (opt->password != NULL)
        s->password = checked(strdup(opt->password));
    if (find_server(s->program, sizeof s->program) && make_dir(s, opt->dir)) {
        s->version = ask_version(s->program);
        if (opt->unixsocket)
            snprintf(s->socket, sizeof s->socket, "%s/redis.sock", s->dir);
        for (int tries = 0; tries < 10 && taken && !started; tries++) {
            s->port = opt->port != 0 ? opt->port : redis_free_port();
            started = s->port != 0 && write_config(s, opt) && spawn_and_wait(s, &taken);
            taken = taken && opt->port == 0 && s->port != 0;
        }
    }
    if (!started) {
        redis_server_stop(s);
        return NULL;
    }
    return s;
}

void redis_server_stop(struct redis_server *s)
{
    char why[sizeof reason];

    if (s == NULL)
        return;
    memcpy(why, reason, sizeof why);
    if (s->pid != 0)
        redis_server_kill(s, SIGKILL);
    forget_context(s);
    if (s->own_dir)
        nftw(s->dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    free(s->password);
    free(s);
    memcpy(reason, why, sizeof reason);
}

bool redis_server_restart(struct redis_server *s)
{
    bool taken;

    if (!has_died(s)) {
        redis_server_kill(s, SIGCONT);
        if (redis_server_kill(s, SIGTERM) != 0)
            return reported(false);
    }
    forget_context(s);
    if (spawn_and_wait(s, &taken))
        return true;
    redis_server_print_log(s);
    return reported(false);
}

/* The bytes of a log's end that are printed. */
#define LOG_END_BYTES 16384

void redis_server_print_log(const struct redis_server *s)
{
    char path[DIR_MAX + 16], line[400];
    FILE *f;

    snprintf(path, sizeof path, "%s/redis.log", s->dir);
    f = fopen(path, "r");
    fprintf(stderr, "---- the end of the server's log (port %d, process %ld):\n", s->port,
            (long)s->pid);
    if (f != NULL && fseek(f, -LOG_END_BYTES, SEEK_END) != 0)
        rewind(f);
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        fputs(line, stderr);
    fputs("----\n", stderr);
    if (f != NULL)
        fclose(f);
}

bool redis_server_logged(const struct redis_server *s, const char *words)
{
    char path[DIR_MAX + 16], line[400];
    bool said = false;
    FILE *f;

    snprintf(path, sizeof path, "%s/redis.log", s->dir);
    f = fopen(path, "r");
    if (f == NULL)
        return false;
    (void)fseek(f, s->log_begin, SEEK_SET);
    while (!said && fgets(line, sizeof line, f) != NULL)
        said = strstr(line, words) != NULL;
    fclose(f);
    return said;
}

int redis_server_port(const struct redis_server *s)
{
    return s->port;
}

pid_t redis_server_pid(const struct redis_server *s)
{
    return s->pid;
}

const char *redis_server_dir(const struct redis_server *s)
{
    return s->dir;
}

const char *redis_server_socket(const struct redis_server *s)
{
    return s->socket[0] != '\0' ? s->socket : NULL;
}

int redis_server_version(const struct redis_server *s)
{
    return s->version;
}

/* ":password@" with everything but letters and digits as %XX */
static size_t put_user_info(const struct redis_server *s, char *buf, size_t size)
{
    size_t n = 0;

    buf[0] = '\0';
    if (s->password == NULL)
        return 0;
    buf[n++] = ':';
    for (const char *p = s->password; *p != '\0' && n + 5 < size; p++) {
        unsigned char ch = (unsigned char)*p;

        if ((ch >= '0' && ch <= '9') || (ch >= 'A' && ch <= 'Z') || (ch >= 'a' && ch <= 'z'))
            buf[n++] = *p;
        else
            n += (size_t)snprintf(buf + n, size - n, "%%%02X", ch);
    }
    buf[n++] = '@';
    buf[n] = '\0';
    return n;
}

const char *redis_server_url(const struct redis_server *s, char buf[REDIS_URL_MAX])
{
    char user[REDIS_URL_MAX / 2];

    put_user_info(s, user, sizeof user);
    snprintf(buf, REDIS_URL_MAX, "redis://%s%s:%d", user, s->address, s->port);
    return buf;
}

/* ---- commands ---- */

redisContext *redis_server_connect(const struct redis_server *s)
{
    struct timeval limit = { REPLY_S, 0 };
    int home = enter_netns(s->netns);
    redisContext *c = redisConnectWithTimeout(s->address, s->port, limit);
    redisReply *r;
    bool good;

    leave_netns(home);
    if (c == NULL || c->err != 0) {
        fail("connect: %s", c != NULL ? c->errstr : "no memory");
        if (c != NULL)
            redisFree(c);
        return NULL;
    }
    fcntl(c->fd, F_SETFD, FD_CLOEXEC);
    redisSetTimeout(c, limit);
    if (s->harness_user)
        r = redisCommand(c, "AUTH " HARNESS_USER " any");
    else if (s->password != NULL)
        r = redisCommand(c, "AUTH %s", s->password);
    else
        return c;
    good = r != NULL && r->type == REDIS_REPLY_STATUS;
    if (!good) {
        fail("AUTH: %s", r != NULL ? r->str : c->errstr);
        redisFree(c);
    }
    freeReplyObject(r);
    return good ? c : NULL;
}

redisReply *redis_do_argv(struct redis_server *s, int argc, const char **argv, const size_t *len)
{
    redisReply *r;

    if (s->context == NULL)
        s->context = redis_server_connect(s);
    if (s->context == NULL)
        return NULL;
    r = redisCommandArgv(s->context, argc, argv, len);
    if (r == NULL) {
        fail("%s: %s", argv[0], s->context->errstr);
        forget_context(s);
    }
    return r;
}

#define WORDS_MAX 64

static redisReply *do_list(struct redis_server *s, va_list ap)
{
    const char *argv[WORDS_MAX];
    int argc = 0;

    while ((argv[argc] = va_arg(ap, const char *)) != NULL) {
        if (++argc == WORDS_MAX) {
            fail("more than %d words; use redis_do_argv()", WORDS_MAX - 1);
            return NULL;
        }
    }
    return redis_do_argv(s, argc, argv, NULL);
}

redisReply *redis_do(struct redis_server *s, ...)
{
    redisReply *r;
    va_list ap;

    va_start(ap, s);
    r = do_list(s, ap);
    va_end(ap);
    return r;
}

/* Takes over @r. */
static bool is_success(redisReply *r)
{
    bool good = r != NULL && r->type != REDIS_REPLY_ERROR;

    if (r != NULL && !good)
        fail("%s", r->str);
    freeReplyObject(r);
    return good;
}

bool redis_do_ok(struct redis_server *s, ...)
{
    redisReply *r;
    va_list ap;

    va_start(ap, s);
    r = do_list(s, ap);
    va_end(ap);
    return reported(is_success(r));
}

/* Takes over @r. */
static bool text_contains(redisReply *r, const char *text)
{
    bool has = r != NULL && r->type == REDIS_REPLY_STRING && strstr(r->str, text) != NULL;

    freeReplyObject(r);
    return has;
}

size_t redis_server_keys(struct redis_server *s)
{
    redisReply *reply = redis_do(s, "DBSIZE", NULL);
    size_t n =
        reply != NULL && reply->type == REDIS_REPLY_INTEGER ? (size_t)reply->integer : SIZE_MAX;

    freeReplyObject(reply);
    return n;
}

bool redis_server_wait_info(struct redis_server *s, const char *section, const char *text,
                            int timeout_ms)
{
    int64_t until = clock_ms() + timeout_ms;

    while (!text_contains(redis_do(s, "INFO", section, NULL), text)) {
        if (clock_ms() > until) {
            fail("INFO %s never had %s", section, text);
            return reported(false);
        }
        pause_briefly();
    }
    return true;
}

/* ---- clusters ---- */

bool redis_node_wait_info(struct redis_server *s, const char *text, int timeout_ms)
{
    int64_t until = clock_ms() + timeout_ms;

    while (!text_contains(redis_do(s, "CLUSTER", "INFO", NULL), text)) {
        if (clock_ms() > until) {
            fail("CLUSTER INFO never had %s", text);
            return reported(false);
        }
        pause_briefly();
    }
    return true;
}

bool redis_node_id(struct redis_server *s, char id[41])
{
    redisReply *r = redis_do(s, "CLUSTER", "MYID", NULL);
    bool good = r != NULL && r->type == REDIS_REPLY_STRING && strlen(r->str) == 40;

    if (good)
        memcpy(id, r->str, 41);
    freeReplyObject(r);
    return good;
}

static bool add_slots(struct redis_server *s, int first, int last)
{
    int n = last - first + 1, argc = 0;
    const char **argv = checked(calloc((size_t)n + 2, sizeof *argv));
    char(*text)[12] = checked(calloc((size_t)n, sizeof *text));
    redisReply *r;

    argv[argc++] = "CLUSTER";
    argv[argc++] = "ADDSLOTS";
    for (int i = 0; i < n; i++) {
        snprintf(text[i], sizeof text[i], "%d", first + i);
        argv[argc++] = text[i];
    }
    r = redis_do_argv(s, argc, argv, NULL);
    free(text);
    free(argv);
    return is_success(r);
}

/* Addresses that @s shows for all slots: one for each primary and each replica. */
static int count_shown(struct redis_server *s)
{
    redisReply *r = redis_do(s, "CLUSTER", "SLOTS", NULL);
    int n = 0;

    if (r != NULL && r->type == REDIS_REPLY_ARRAY)
        for (size_t i = 0; i < r->elements; i++)
            if (r->element[i]->type == REDIS_REPLY_ARRAY)
                n += (int)r->element[i]->elements - 2;
    freeReplyObject(r);
    return n;
}

static bool says_ok(struct redis_server *s)
{
    return text_contains(redis_do(s, "CLUSTER", "INFO", NULL), "cluster_state:ok");
}

/* The deadline for the nodes of a cluster, and the time of the next CLUSTER MEET of missing ones.
 */
struct forming {
    int64_t until, again;
};

static bool is_formed(struct redis_cluster *c, int i)
{
    redisReply *r;

    if (!says_ok(c->node[i]) || count_shown(c->node[i]) != c->nodes)
        return false;
    if (i < c->primaries)
        return true;
    r = redis_do(c->node[i], "INFO", "replication", NULL);
    return text_contains(r, "master_link_status:up");
}

/* Return the first slot of primary @i.  For @i = the number of primaries: the number of slots. */
static int first_slot(const struct redis_cluster *c, int i, bool lopsided)
{
    if (lopsided && i > 0)
        return SLOTS - (c->primaries - i);
    return SLOTS * i / c->primaries;
}

/* Let node 0 meet all others.  A node that does not answer within the node timeout is forgotten. */
static bool meet(struct redis_cluster *c)
{
    char text[16];

    for (int i = 1; i < c->nodes; i++) {
        snprintf(text, sizeof text, "%d", c->node[i]->port);
        if (!redis_do_ok(c->node[0], "CLUSTER", "MEET", c->node[i]->address, text, NULL))
            return false;
    }
    return true;
}

/* Pause while the nodes get to know one another.  Returns false if it takes too long. */
static bool pause_forming(struct redis_cluster *c, int i, struct forming *f)
{
    int64_t t = clock_ms();

    if (t > f->until) {
        fail("node %d is not part of the cluster after %d s", i, START_MS / 1000);
        return reported(false);
    }
    if (t > f->again) {
        if (!meet(c))
            return false;
        f->again = t + MEET_AGAIN_MS;
    }
    pause_briefly();
    return true;
}

/* The node timeout of all nodes; @before: what it was at the first one.  NULL: not asked for. */
static bool set_node_timeout(struct redis_cluster *c, const char *ms, char before[16])
{
    redisReply *r =
        before != NULL ? redis_do(c->node[0], "CONFIG", "GET", "cluster-node-timeout", NULL) : NULL;
    bool good = before == NULL;

    if (r != NULL && r->type == REDIS_REPLY_ARRAY && r->elements == 2) {
        snprintf(before, 16, "%s", r->element[1]->str);
        good = true;
    }
    freeReplyObject(r);
    for (int i = 0; good && i < c->nodes; i++)
        good = redis_do_ok(c->node[i], "CONFIG", "SET", "cluster-node-timeout", ms, NULL);
    return good;
}

/* On a busy machine nodes are late: none is taken for dead while they come together, nor later
 * where no replica could take over. */
static bool cluster_form(struct redis_cluster *c, bool lopsided)
{
    struct forming f = { clock_ms() + START_MS, clock_ms() + MEET_AGAIN_MS };
    char text[16], timeout[16], id[41];

    if (!set_node_timeout(c, "30000", timeout))
        return false;
    for (int i = 0; i < c->nodes; i++) {
        snprintf(text, sizeof text, "%d", i + 1);
        if (!redis_do_ok(c->node[i], "CLUSTER", "SET-CONFIG-EPOCH", text, NULL))
            return false;
    }
    if (!meet(c))
        return false;
    for (int i = 0; i < c->primaries; i++)
        if (!add_slots(c->node[i], first_slot(c, i, lopsided), first_slot(c, i + 1, lopsided) - 1))
            return false;
    for (int i = c->primaries; i < c->nodes; i++) {
        if (!redis_node_id(c->node[i % c->primaries], id))
            return false;
        /* It becomes a replica only after it knows its primary. */
        while (!is_success(redis_do(c->node[i], "CLUSTER", "REPLICATE", id, NULL)))
            if (!pause_forming(c, i, &f))
                return false;
    }
    for (int i = 0; i < c->nodes; i++)
        while (!is_formed(c, i))
            if (!pause_forming(c, i, &f))
                return false;
    return c->nodes == c->primaries || set_node_timeout(c, timeout, NULL);
}

struct redis_cluster *redis_cluster_start(int primaries, int replicas,
                                          const struct redis_server_options *opt)
{
    struct redis_server_options node = { 0 };
    struct redis_cluster *c = checked(calloc(1, sizeof *c));
    bool good = true;

    if (opt != NULL)
        node = *opt;
    node.cluster = true;
    node.replica_of = NULL;
    node.dir = NULL;
    node.port = 0;
    c->primaries = primaries;
    c->nodes = primaries + replicas;
    c->node = checked(calloc((size_t)c->nodes, sizeof(struct redis_server *)));
    for (int i = 0; good && i < c->nodes; i++) {
        c->node[i] = redis_server_start(&node);
        good = c->node[i] != NULL;
    }
    if (!good || !cluster_form(c, false)) {
        redis_cluster_stop(c);
        return NULL;
    }
    return c;
}

struct redis_cluster *redis_cluster_of(int primaries, int replicas, struct redis_server **node,
                                       bool evenly)
{
    struct redis_cluster *c = checked(calloc(1, sizeof *c));
    bool good = true;

    c->primaries = primaries;
    c->nodes = primaries + replicas;
    c->node = checked(calloc((size_t)c->nodes, sizeof(struct redis_server *)));
    for (int i = 0; i < c->nodes; i++) {
        c->node[i] = node[i];
        good = good && node[i] != NULL;
    }
    if (good && cluster_form(c, !evenly))
        return c;
    redis_cluster_stop(c);
    return NULL;
}

void redis_cluster_stop(struct redis_cluster *c)
{
    if (c == NULL)
        return;
    for (int i = 0; i < c->nodes; i++)
        redis_server_stop(c->node[i]);
    free(c->node);
    free(c);
}

bool redis_cluster_wait_ok(struct redis_cluster *c, int timeout_ms)
{
    int64_t until = clock_ms() + timeout_ms;

    for (int i = 0; i < c->nodes; i++) {
        while (!has_died(c->node[i]) && !c->node[i]->is_paused && !says_ok(c->node[i])) {
            if (clock_ms() > until) {
                fail("node %d does not say cluster_state:ok after %d ms", i, timeout_ms);
                return false;
            }
            pause_briefly();
        }
    }
    return true;
}

bool redis_cluster_wait_whole(struct redis_cluster *c, int timeout_ms)
{
    int64_t until = clock_ms() + timeout_ms;

    for (int i = 0; i < c->nodes; i++) {
        while (!says_ok(c->node[i]) || count_shown(c->node[i]) != c->nodes) {
            if (clock_ms() > until) {
                fail("node %d does not see the whole cluster after %d ms", i, timeout_ms);
                return reported(false);
            }
            pause_briefly();
        }
    }
    return true;
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Return the slots and config epoch of each node in the view of @s: a line for each, sorted.  The
 * caller frees it.  NULL if @s does not answer. */
static char *view_of(struct redis_server *s)
{
    enum { FIELD_EPOCH = 6, FIELD_SLOTS = 8, LINES_MAX = 64 };
    redisReply *r = redis_do(s, "CLUSTER", "NODES", NULL);
    char *line[LINES_MAX], *rest, *view = NULL;
    size_t n = 0, len = 0;

    if (r != NULL && r->type == REDIS_REPLY_STRING) {
        view = checked(calloc(r->len + 2, 1));
        for (char *l = strtok_r(r->str, "\n", &rest); l != NULL && n < LINES_MAX;
             l = strtok_r(NULL, "\n", &rest))
            line[n++] = l;
        qsort(line, n, sizeof line[0], compare_lines);
    }
    for (size_t i = 0; i < n; i++) {
        char *inner;
        int field = 0;

        for (char *word = strtok_r(line[i], " ", &inner); word != NULL;
             word = strtok_r(NULL, " ", &inner), field++)
            if (field == 0 || field == FIELD_EPOCH || (field >= FIELD_SLOTS && word[0] != '['))
                len += (size_t)sprintf(view + len, "%s ", word);
        view[len - 1] = '\n';
    }
    freeReplyObject(r);
    return view;
}

bool redis_cluster_wait_agreed(struct redis_cluster *c, int timeout_ms)
{
    int64_t until = clock_ms() + timeout_ms;
    bool agreed;

    do {
        char *first = view_of(c->node[0]);

        agreed = first != NULL;
        for (int i = 1; agreed && i < c->nodes; i++) {
            char *view = view_of(c->node[i]);

            agreed = view != NULL && strcmp(first, view) == 0;
            free(view);
        }
        free(first);
        if (!agreed && clock_ms() > until) {
            fail("the nodes do not agree on their slots after %d ms", timeout_ms);
            return reported(false);
        }
        if (!agreed)
            pause_briefly();
    } while (!agreed);
    return true;
}

static struct redis_server *node_at(struct redis_cluster *c, long long port)
{
    for (int i = 0; i < c->nodes; i++)
        if (c->node[i]->port == port)
            return c->node[i];
    return NULL;
}

int redis_cluster_slot(struct redis_cluster *c, const char *name)
{
    char key[300];
    redisReply *r;
    int slot = -1;

    (void)snprintf(key, sizeof key, "{%s}", name);
    r = redis_do(c->node[0], "CLUSTER", "KEYSLOT", key, NULL);
    if (r != NULL && r->type == REDIS_REPLY_INTEGER)
        slot = (int)r->integer;
    else
        fail("no slot of %s", name);
    freeReplyObject(r);
    return slot;
}

struct redis_server *redis_cluster_owner(struct redis_cluster *c, struct redis_server *asked,
                                         int slot)
{
    redisReply *r = redis_do(asked, "CLUSTER", "SLOTS", NULL);
    struct redis_server *owner = NULL;

    for (size_t i = 0; r != NULL && i < r->elements; i++) {
        redisReply **e = r->element[i]->element;

        if (r->element[i]->elements >= 3 && slot >= e[0]->integer && slot <= e[1]->integer &&
            e[2]->elements >= 2)
            owner = node_at(c, e[2]->element[1]->integer);
    }
    freeReplyObject(r);
    if (owner == NULL)
        fail("nobody serves slot %d", slot);
    return owner;
}

static bool is_master(struct redis_server *s)
{
    return text_contains(redis_do(s, "INFO", "replication", NULL), "role:master");
}

struct redis_server *redis_cluster_replica_of(struct redis_cluster *c,
                                              const struct redis_server *master)
{
    char port[32];

    snprintf(port, sizeof port, "master_port:%d\r", master->port);
    for (int i = 0; i < c->nodes; i++)
        if (redis_server_pid(c->node[i]) != 0 &&
            text_contains(redis_do(c->node[i], "INFO", "replication", NULL), port))
            return c->node[i];
    fail("node %d has no replica", master->port);
    return NULL;
}

static void print_nodes(struct redis_server *s)
{
    redisReply *r = redis_do(s, "CLUSTER", "NODES", NULL);

    if (r != NULL && r->type == REDIS_REPLY_STRING)
        fprintf(stderr, "as %d sees it:\n%s", s->port, r->str);
    freeReplyObject(r);
}

/* One that takes 5 s is given up by the nodes. */
bool redis_cluster_hand_over(struct redis_cluster *c, struct redis_server *master, int timeout_ms)
{
    struct redis_server *to = redis_cluster_replica_of(c, master);
    int64_t until = clock_ms() + timeout_ms, again = 0;

    if (to == NULL)
        return reported(false);
    while (is_master(master)) {
        if (clock_ms() > until) {
            print_nodes(master);
            print_nodes(to);
            fail("node %d is not handed over after %d ms", master->port, timeout_ms);
            return reported(false);
        }
        if (clock_ms() > again && !is_master(to)) {
            freeReplyObject(redis_do(to, "CLUSTER", "FAILOVER", NULL));
            again = clock_ms() + 6000;
        }
        pause_briefly();
    }
    return redis_server_wait_info(to, "replication", "role:master", timeout_ms) &&
           redis_cluster_wait_agreed(c, timeout_ms);
}

/* ---- slots that move ---- */

static bool set_slot(struct redis_server *s, const struct redis_move *m, const char *what,
                     const char *id)
{
    char slot[12];

    snprintf(slot, sizeof slot, "%d", m->slot);
    return redis_do_ok(s, "CLUSTER", "SETSLOT", slot, what, id, NULL);
}

bool redis_move_begin(struct redis_move *m)
{
    return redis_cluster_wait_agreed(m->cluster, START_MS) &&
           redis_node_id(m->source, m->source_id) && redis_node_id(m->target, m->target_id) &&
           set_slot(m->target, m, "IMPORTING", m->source_id) &&
           set_slot(m->source, m, "MIGRATING", m->target_id);
}

bool redis_move_key(const struct redis_move *m, const char *key)
{
    char port[12];
    redisReply *r;
    bool moved;

    snprintf(port, sizeof port, "%d", m->target->port);
    r = redis_do(m->source, "MIGRATE", m->target->address, port, key, "0", "60000", NULL);
    moved = r != NULL && r->type == REDIS_REPLY_STATUS &&
            (strcmp(r->str, "OK") == 0 || strcmp(r->str, "NOKEY") == 0);
    if (!moved)
        fail("MIGRATE %s: %s", key, r != NULL && r->str != NULL ? r->str : "no answer");
    freeReplyObject(r);
    return reported(moved);
}

bool redis_move_end(const struct redis_move *m)
{
    char slot[12];
    redisReply *r;
    bool good;

    snprintf(slot, sizeof slot, "%d", m->slot);
    r = redis_do(m->source, "CLUSTER", "GETKEYSINSLOT", slot, "1000", NULL);
    good = r != NULL && r->type == REDIS_REPLY_ARRAY;
    for (size_t i = 0; good && i < r->elements; i++)
        good = redis_move_key(m, r->element[i]->str);
    freeReplyObject(r);
    good = good && set_slot(m->target, m, "NODE", m->target_id);
    /* the present primaries; a replica learns it from its own */
    for (int i = 0; good && i < m->cluster->nodes; i++)
        if (is_master(m->cluster->node[i]))
            good = set_slot(m->cluster->node[i], m, "NODE", m->target_id);
    return reported(good);
}

const char *redis_cluster_url(const struct redis_cluster *c, char buf[REDIS_URL_MAX])
{
    char user[REDIS_URL_MAX / 2];
    size_t n;

    put_user_info(c->node[0], user, sizeof user);
    n = (size_t)snprintf(buf, REDIS_URL_MAX, "redis+cluster://%s", user);
    for (int i = 0; i < c->nodes && n < REDIS_URL_MAX; i++)
        n += (size_t)snprintf(buf + n, REDIS_URL_MAX - n, "%s%s:%d", i > 0 ? "," : "",
                              c->node[i]->address, c->node[i]->port);
    return buf;
}
