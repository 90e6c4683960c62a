/* SPDX-License-Identifier: MIT */
/*
 * Hostile conditions: the library runs in a process that it does not own.
 *
 * Small stacks, forks, a locale with a decimal comma, no file descriptors left, a disk that
 * is full or read-only, clocks that go back, a server that is gone while it is written to,
 * wrong options.  Each test runs on every store to which it applies; the store is the first word
 * of the test's name.
 *
 * Changes of the whole process (limits, user, mounts) are made in a child.  A child does not use
 * cmocka: MUST() prints the failure, and the parent checks the exit status.
 */
#include "lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <dirent.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <usher/store/store.h>

#include "lib/calls.h"

#ifdef USHER_WITH_REDIS
#include "lib/left_out.h"
#include "lib/servers.h"
#endif
#include "lib/util.h"
#include "model/compare.h"
#include "model/gen.h"
#include "model/model.h"

#define URL_MAX 1024
#define CHILD_SECONDS 300 /* ends only a child that hangs: a loaded machine is slow */

#ifdef USHER_WITH_REDIS
static struct redis_server *server;
#endif

/* ---- a store for each test ---------------------------------------------------------- */

enum kind { MEMORY = 1, SQLITE = 2, REDIS = 4, ALL = 7 };

struct place {
    enum kind kind;
    char url[URL_MAX];
    char file[128]; /* of SQLite */
};

static unsigned places;

/* Seconds added to the time of day in this process. */
static _Atomic int64_t skew_s;

/* An empty store of the kind that is the test's initial state. */
static int place_setup(void **state)
{
    const enum kind *kind = *state;
    struct place *p = calloc(1, sizeof *p);

    if (p == NULL)
        return -1;
    p->kind = *kind;
    switch (p->kind) {
    case MEMORY:
        (void)snprintf(p->url, sizeof p->url, "memory:");
        break;
    case SQLITE:
        (void)snprintf(p->file, sizeof p->file, "%s/%u.db", test_dir(), places++);
        (void)snprintf(p->url, sizeof p->url, "sqlite:%s?sync=off", p->file);
        break;
    case REDIS:
#ifdef USHER_WITH_REDIS
        (void)redis_server_url(server, p->url);
        /* versions begin at 1, as on the other stores */
        (void)snprintf(p->url + strlen(p->url), sizeof p->url - strlen(p->url), "?clock=given");
        /* a test may have closed the connection to the server */
        if (!redis_do_ok(server, "FLUSHALL", NULL) && !redis_do_ok(server, "FLUSHALL", NULL))
            return -1;
#endif
        break;
    case ALL:
        break;
    }
    *state = p;
    return 0;
}

static int place_teardown(void **state)
{
    atomic_store(&skew_s, 0);
    free(*state);
    return 0;
}

/* Add a test for each store of @kinds that this build has, such as sqlite_NAME. */
static void add_on(unsigned kinds, struct test t)
{
    static const struct {
        enum kind kind;
        const char *name;
    } all[] = {
        { MEMORY, "memory" },
#ifdef USHER_WITH_SQLITE
        { SQLITE, "sqlite" },
#endif
#ifdef USHER_WITH_REDIS
        { REDIS, "redis" },
#endif
    };
    static struct test rows[80];
    static char names[80][100];
    static size_t n;

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if ((kinds & all[i].kind) != 0) {
            if (n == sizeof rows / sizeof *rows)
                abort();
            (void)snprintf(names[n], sizeof names[n], "%s_%s", all[i].name, t.unit.name);
            rows[n] = t;
            rows[n].unit.name = names[n];
            rows[n].unit.initial_state = (void *)(uintptr_t)&all[i].kind;
            test_add(&rows[n++]);
        }
}

/* Define the test @name of each store of @kinds. */
#define ON(name, kinds)                                                                          \
    static void name(void **state);                                                              \
    TEST_AT_START(name)                                                                          \
    {                                                                                            \
        add_on(kinds, (struct test){ .unit = { #name, name, place_setup, place_teardown, NULL }, \
                                     .file = __FILE__,                                           \
                                     .line = __LINE__ });                                        \
    }                                                                                            \
    static void name(__attribute__((unused)) void **state)

static uint64_t version_of(struct usher_engine *e, const char *pool)
{
    struct usher_operation c;
    struct usher_result reply;

    memset(&c, 0, sizeof c);
    c.verb = USHER_NUMBER_STATS;
    c.scope.data = pool;
    c.scope.size = strlen(pool);
    if (usher_operate(e, &c, &reply, 1) != USHER_OK || reply.status != USHER_OK)
        return 0;
    return reply.version;
}

/* ---- children ----------------------------------------------------------------------- */

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (void)fprintf(stderr, "%s:%d: in the child: %s: %s\n", __FILE__, __LINE__, #condition, \
                          usher_message());                                                        \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

#define CHILD_SKIPS 77

typedef void child_fn(const struct place *p, void *payload);

static pid_t child_start(child_fn *fn, const struct place *p, void *payload)
{
    pid_t pid;

    (void)fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)alarm(CHILD_SECONDS);
        fn(p, payload);
        _exit(0);
    }
    return pid;
}

/* Return the child's exit status; a signal is a failure. */
static int child_end(pid_t pid)
{
    int status;

    assert_true(waitpid(pid, &status, 0) == pid);
    if (WIFSIGNALED(status))
        fail_msg("the child was ended by signal %d", WTERMSIG(status));
    return WEXITSTATUS(status);
}

static void in_child(child_fn *fn, const struct place *p, void *payload)
{
    assert_int_equal(child_end(child_start(fn, p, payload)), 0);
}

/* ---- every public call --------------------------------------------------------------- */

struct world {
    const char *url;
    struct usher_engine *e;
    struct ask_number_hold hold;
    struct usher_watcher *watch;
    unsigned notices;
};

static void watcher(void *payload, const struct usher_notice *notice)
{
    (void)notice;
    ++*(unsigned *)payload;
}

static enum usher_status do_open(struct world *w)
{
    return usher_open(w->url, NULL, &w->e);
}

static enum usher_status do_watch(struct world *w)
{
    return usher_watch(w->e, USHER_NUMBER, NULL, watcher, &w->notices, &w->watch);
}

static enum usher_status do_set(struct world *w)
{
    struct usher_number_result_settings s = { .lease_ms = 50000, .daily = 500 };

    return ask_number_set(w->e, "p", USHER_GIVEN_LEASE | USHER_GIVEN_DAILY, &s);
}

static enum usher_status do_add(struct world *w)
{
    return ask_number_add(w->e, "p", "n1", "g");
}

static enum usher_status do_reg(struct world *w)
{
    return ask_number_reg(w->e, "p", "n1");
}

static enum usher_status do_bulk(struct world *w)
{
    static const char *const numbers[] = { "b1", "b2", "b3" };

    return ask_number_bulk(w->e, USHER_NUMBER_ADD, "p", numbers, 3, "g", NULL);
}

/* More than the engine or the store processes in one step. */
#define MANY 600

static enum usher_status do_execute(struct world *w)
{
    static struct usher_operation commands[MANY];
    static struct usher_result replies[MANY];
    static char names[MANY][16];
    enum usher_status status;

    for (size_t i = 0; i < MANY; i++) {
        memset(&commands[i], 0, sizeof commands[i]);
        (void)snprintf(names[i], sizeof names[i], "m%zu", i / 2);
        commands[i].verb = i % 2 == 0 ? USHER_NUMBER_ADD : USHER_NUMBER_DEL;
        commands[i].scope.data = "p";
        commands[i].scope.size = 1;
        commands[i].arg.number.number.data = names[i];
        commands[i].arg.number.number.size = strlen(names[i]);
    }
    status = usher_operate(w->e, commands, replies, MANY);
    for (size_t i = 0; i < MANY && status == USHER_OK; i++)
        status = replies[i].status;
    return status;
}

static enum usher_status do_call(struct world *w)
{
    struct ask_number_call_options opt = { 0 };

    opt.groups = "x,g,*";
    opt.sticky = "peer";
    opt.request = "request";
    return ask_number_call(w->e, "p", "ann", &opt, &w->hold);
}

static enum usher_status do_renew(struct world *w)
{
    return ask_number_renew(w->e, "p", "n1", w->hold.token, 90000, NULL);
}

static enum usher_status do_show(struct world *w)
{
    struct usher_result reply;
    enum usher_status status = ask_number_show(w->e, "p", "n1", &reply);

    if (status == USHER_OK)
        usher_result_done(&reply);
    return status;
}

static enum usher_status do_list(struct world *w)
{
    struct usher_result reply;
    enum usher_status status = ask_number_list(w->e, "p", -1, NULL, NULL, USHER_LIST_MAX, &reply);

    if (status == USHER_OK)
        usher_result_done(&reply);
    return status;
}

static enum usher_status do_stats(struct world *w)
{
    struct usher_number_result_statistics stats;

    return ask_number_stats(w->e, "p", &stats);
}

static enum usher_status do_hangup(struct world *w)
{
    return ask_number_hangup(w->e, "p", "n1", w->hold.token, 1);
}

static enum usher_status do_free(struct world *w)
{
    return ask_number_free(w->e, "p", "ann", NULL, NULL);
}

static enum usher_status do_sweep(struct world *w)
{
    return ask_number_sweep(w->e, "p", NULL);
}

static enum usher_status do_unreg(struct world *w)
{
    return ask_number_unreg(w->e, "p", "n1");
}

static enum usher_status do_del(struct world *w)
{
    return ask_number_del(w->e, "p", "b1");
}

static enum usher_status do_audit(struct world *w)
{
    uint64_t faults = 1;
    enum usher_status status = check_faults(w->e, NULL, NULL, &faults);

    return status == USHER_OK && faults != 0 ? USHER_LOST : status;
}

static enum usher_status do_digest(struct world *w)
{
    char digest[33];

    return usher_digest(w->e, USHER_NUMBER, "p", digest);
}

static enum usher_status do_table(struct world *w)
{
    static char text[65536];
    size_t length;

    (void)w;
    return usher_table("number", USHER_TABLE_MARKDOWN, text, sizeof text, &length);
}

static enum usher_status do_unwatch(struct world *w)
{
    usher_unwatch(w->e, w->watch);
    return USHER_OK;
}

static enum usher_status do_close(struct world *w)
{
    usher_close(w->e);
    return USHER_OK;
}

static const struct {
    const char *name;
    enum usher_status (*fn)(struct world *w);
    bool of_engine; /* uses an engine, and returns the status */
} calls[] = {
    { "open", do_open, false },    { "watch", do_watch, true },  { "set", do_set, true },
    { "add", do_add, true },       { "reg", do_reg, true },      { "bulk", do_bulk, true },
    { "call", do_call, true },     { "renew", do_renew, true },  { "show", do_show, true },
    { "list", do_list, true },     { "stats", do_stats, true },  { "hangup", do_hangup, true },
    { "free", do_free, true },     { "sweep", do_sweep, true },  { "execute", do_execute, true },
    { "unreg", do_unreg, true },   { "del", do_del, true },      { "audit", do_audit, true },
    { "digest", do_digest, true }, { "table", do_table, false }, { "unwatch", do_unwatch, false },
    { "close", do_close, false },
};
#define CALLS (sizeof calls / sizeof *calls)

static bool done(enum usher_status status)
{
    return USHER_IS_DONE(status);
}

/* ---- small stacks --------------------------------------------------------------------- */

#define STACK ((size_t)65536)
#define FILLER 0xa5

struct on_stack {
    struct world *world;
    size_t call;
    enum usher_status status;
    char message[256];
};

static void *call_on_stack(void *payload)
{
    struct on_stack *s = payload;

    s->status = calls[s->call].fn(s->world);
    if (!done(s->status))
        (void)snprintf(s->message, sizeof s->message, "%s", usher_message());
    return NULL;
}

static size_t stack_size(void)
{
    long least = sysconf(_SC_THREAD_STACK_MIN);

    if (SANITIZED)
        return 16 * STACK; /* their frames are several times as large */
    return least > (long)STACK ? (size_t)least : STACK;
}

/* Return the number of stack bytes that the call has written; 0: unknown. */
static size_t call_on_small_stack(struct on_stack *s)
{
    size_t size = stack_size(), page = (size_t)sysconf(_SC_PAGESIZE), untouched = 0;
    unsigned char *stack = mmap(NULL, size + page, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    pthread_attr_t attr;
    pthread_t thread;

    assert_true(stack != MAP_FAILED);
    assert_int_equal(mprotect(stack, page, PROT_NONE), 0); /* to overflow is to crash */
    memset(stack + page, FILLER, size);
    assert_int_equal(pthread_attr_init(&attr), 0);
    assert_int_equal(pthread_attr_setstack(&attr, stack + page, size), 0);
    assert_int_equal(pthread_create(&thread, &attr, call_on_stack, s), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    (void)pthread_attr_destroy(&attr);
    if (!SANITIZED)
        while (untouched < size && stack[page + untouched] == FILLER)
            untouched++;
    else
        untouched = size;
    (void)munmap(stack, size + page);
    return size - untouched;
}

ON(any_call_can_be_made_on_a_stack_of_64_kib, ALL)
{
    const struct place *p = *state;
    struct world w = { .url = p->url };
    size_t most = 0, which = 0;

    for (size_t i = 0; i < CALLS; i++) {
        struct on_stack s = { .world = &w, .call = i };
        size_t used = call_on_small_stack(&s);

        if (!done(s.status))
            fail_msg("%s: %s", calls[i].name, s.message);
        if (used > most) {
            most = used;
            which = i;
        }
    }
    if (most > 0)
        print_message("most: %zu bytes, by %s\n", most, calls[which].name);
}

/* ---- locale --------------------------------------------------------------------------- */

/* A locale like "C" but for its decimal comma. */
static const char comma_source[] = "comment_char %\nescape_char /\n"
                                   "LC_CTYPE\ncopy \"POSIX\"\nEND LC_CTYPE\n"
                                   "LC_COLLATE\ncopy \"POSIX\"\nEND LC_COLLATE\n"
                                   "LC_MONETARY\ncopy \"POSIX\"\nEND LC_MONETARY\n"
                                   "LC_TIME\ncopy \"POSIX\"\nEND LC_TIME\n"
                                   "LC_MESSAGES\ncopy \"POSIX\"\nEND LC_MESSAGES\n"
                                   "LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \".\"\n"
                                   "grouping 3;3\nEND LC_NUMERIC\n";

/* Set a locale with a decimal comma: an installed one, or else one made here. */
static bool set_comma_locale(void)
{
    static const char *const installed[] = { "de_DE.UTF-8", "de_DE.utf8",  "fr_FR.UTF-8",
                                             "es_ES.UTF-8", "ru_RU.UTF-8", "tr_TR.UTF-8" };
    char path[160], command[512];
    FILE *f;

    for (size_t i = 0; i < sizeof installed / sizeof *installed; i++)
        if (setlocale(LC_ALL, installed[i]) != NULL && localeconv()->decimal_point[0] == ',')
            return true;
    (void)snprintf(path, sizeof path, "%s/locale", test_dir());
    if (mkdir(path, 0755) == 0) {
        (void)snprintf(path, sizeof path, "%s/locale/source", test_dir());
        f = fopen(path, "w");
        if (f == NULL || fputs(comma_source, f) < 0 || fclose(f) != 0)
            return false;
        /* it warns of missing definitions, and makes the locale anyway */
        (void)snprintf(command, sizeof command,
                       "cd %s/locale && localedef -c -i source -f ANSI_X3.4-1968 ./de_COMMA "
                       ">log 2>&1",
                       test_dir());
        if (system(command) == -1)
            return false;
    }
    (void)snprintf(path, sizeof path, "%s/locale", test_dir());
    (void)setenv("LOCPATH", path, 1);
    return setlocale(LC_ALL, "de_COMMA") != NULL && localeconv()->decimal_point[0] == ',';
}

#define LOCALE_STEPS 1500

/* Run the model and @e in lockstep. */
static void like_the_model(struct usher_engine *e, struct gen *g)
{
    struct model *m = model_open();

    for (int i = 0; i < LOCALE_STEPS; i++) {
        struct gen_command gc;
        struct usher_operation c;
        struct usher_result a, b;

        gen_next(g, &gc);
        c = gen_resolve(&gc, m);
        model_execute(m, &c, &a);
        (void)usher_operate(e, &c, &b, 1);
        if (a.status != b.status ||
            (a.status != USHER_INVALID && !replies_equal(c.verb, &a, &b, stderr)))
            fail_msg("step %d: model and store differ", i);
        model_reply_done(&a);
        usher_result_done(&b);
    }
    model_close(m);
}

ON(a_locale_with_a_decimal_comma_changes_nothing, ALL)
{
    const struct place *p = *state;
    struct gen *g = gen_open(7, 20);
    struct usher_engine *twin = engine_on_url("memory:", NULL), *e;
    char before[33], after[33], why[256], set[256];

    like_the_model(twin, g); /* in the locale "C" */
    assert_int_equal(usher_digest(twin, USHER_NUMBER, gen_pool(g, 0), before), USHER_OK);
    assert_int_equal(ask_number_hangup(twin, gen_pool(g, 0), "", 0, -1), USHER_INVALID);
    (void)snprintf(why, sizeof why, "%s", usher_message());
    usher_close(twin);
    gen_close(g);
    if (!set_comma_locale()) {
        (void)setlocale(LC_ALL, "C");
        print_message("no locale with a decimal comma is installed or can be made\n");
        if (getenv("USHER_NO_SKIP") != NULL)
            fail();
        skip();
    }
    (void)snprintf(set, sizeof set, "%s", setlocale(LC_ALL, NULL));
    print_message("%.60s: %.1f\n", set, 1.5);
    g = gen_open(7, 20);
    e = engine_on_url(p->url, NULL);
    like_the_model(e, g);
    assert_int_equal(usher_digest(e, USHER_NUMBER, gen_pool(g, 0), after), USHER_OK);
    assert_string_equal(after, before);
    assert_int_equal(ask_number_hangup(e, gen_pool(g, 0), "", 0, -1), USHER_INVALID);
    assert_string_equal(usher_message(), why);
    audit(e);
    usher_close(e);
    gen_close(g);
    assert_string_equal(setlocale(LC_ALL, NULL), set); /* the host's, still */
    assert_non_null(setlocale(LC_ALL, "C"));
}

/* ---- fork ----------------------------------------------------------------------------- */

static void use_inherited(const struct place *p, void *payload)
{
    struct world *w = payload;

    (void)p;
    for (size_t i = 0; i < CALLS; i++) {
        if (!calls[i].of_engine)
            continue;
        if (calls[i].fn(w) != USHER_INVALID || usher_message()[0] == '\0') {
            (void)fprintf(stderr, "%s: %s\n", calls[i].name, usher_message());
            _exit(1);
        }
    }
    usher_unwatch(w->e, w->watch);
    usher_close(w->e);
}

ON(a_child_must_open_its_own_engine, ALL)
{
    const struct place *p = *state;
    struct world w = { .url = p->url };
    char before[33], after[33];

    for (size_t i = 0; i < CALLS && calls[i].fn != do_hangup; i++)
        if (!done(calls[i].fn(&w)))
            fail_msg("%s: %s", calls[i].name, usher_message());
    assert_int_equal(usher_digest(w.e, USHER_NUMBER, "p", before), USHER_OK);
    for (int i = 0; i < 3; i++) {
        in_child(use_inherited, p, &w);
        assert_int_equal(usher_digest(w.e, USHER_NUMBER, "p", after), USHER_OK);
        assert_string_equal(before, after);
    }
    assert_int_equal(do_hangup(&w), USHER_OK);
    audit(w.e);
    assert_true(w.notices > 0);
    usher_unwatch(w.e, w.watch);
    usher_close(w.e);
}

static void open_own(const struct place *p, void *payload)
{
    struct usher_engine *own = NULL;
    struct ask_number_hold hold;

    usher_close(payload); /* the inherited one */
    MUST(usher_open(p->url, NULL, &own) == USHER_OK);
    if (p->kind == MEMORY) {
        MUST(ask_number_add(own, "p", "n1", NULL) == USHER_OK); /* another memory */
        MUST(ask_number_reg(own, "p", "n1") == USHER_OK);
    }
    MUST(ask_number_call(own, "p", "child", NULL, &hold) == USHER_OK);
    MUST(strcmp(hold.number, "n1") == 0);
    usher_close(own);
}

ON(a_child_and_its_parent_share_the_store_each_with_its_engine, ALL)
{
    const struct place *p = *state;
    struct usher_engine *e = engine_on_url(p->url, NULL);
    struct usher_result show;

    assert_int_equal(ask_number_add(e, "p", "n1", NULL), USHER_OK);
    assert_int_equal(ask_number_reg(e, "p", "n1"), USHER_OK);
    in_child(open_own, p, e);
    assert_int_equal(ask_number_show(e, "p", "n1", &show), USHER_OK);
    assert_int_equal(show.of.number.state,
                     p->kind == MEMORY ? USHER_NUMBER_STATE_IDLE_UP : USHER_NUMBER_STATE_BUSY_UP);
    usher_result_done(&show);
    assert_int_equal(ask_number_add(e, "p", "n2", NULL), USHER_OK);
    audit(e);
    usher_close(e);
}

#if defined(USHER_WITH_SQLITE) || defined(USHER_WITH_REDIS)
/* Pipes between a parent and its child: one byte is one step.  Each closes the ends of the other,
 * so that a read fails when the other process has died. */
struct steps {
    int to_child[2], to_parent[2];
};

static void steps_open(struct steps *s)
{
    assert_int_equal(pipe(s->to_child), 0);
    assert_int_equal(pipe(s->to_parent), 0);
}

static void steps_keep(struct steps *s, bool parent)
{
    (void)close(parent ? s->to_child[0] : s->to_child[1]);
    (void)close(parent ? s->to_parent[1] : s->to_parent[0]);
}

static void steps_close(struct steps *s)
{
    (void)close(s->to_child[1]);
    (void)close(s->to_parent[0]);
}

static bool step(int fd)
{
    return write(fd, "", 1) == 1;
}

static bool await(int fd)
{
    char c;

    return read(fd, &c, 1) == 1;
}

struct orphan {
    struct usher_engine *inherited;
    struct steps steps;
};

/* Open an engine while the parent's is open, and write when the parent's is closed. */
static void outlive_the_parents_engine(const struct place *p, void *payload)
{
    struct orphan *o = payload;
    struct usher_engine *own = NULL;

    steps_keep(&o->steps, false);
    usher_close(o->inherited); /* first, as a child must */
    MUST(usher_open(p->url, NULL, &own) == USHER_OK);
    MUST(ask_number_add(own, "p", "first", NULL) == USHER_OK);
    MUST(step(o->steps.to_parent[1]));
    MUST(await(o->steps.to_child[0]));
    MUST(ask_number_add(own, "p", "second", NULL) == USHER_OK);
    MUST(step(o->steps.to_parent[1]));
    MUST(await(o->steps.to_child[0]));
    MUST(ask_number_add(own, "p", "third", NULL) == USHER_OK);
    /* ends without closing: acknowledged writes must be kept */
}

ON(a_child_keeps_its_writes_when_its_parent_closes_first, SQLITE | REDIS)
{
    const struct place *p = *state;
    struct orphan o = { .inherited = engine_on_url(p->url, NULL) };
    struct usher_number_result_statistics stats;
    struct usher_engine *e;
    pid_t pid;

    steps_open(&o.steps);
    assert_int_equal(ask_number_add(o.inherited, "p", "before", NULL), USHER_OK);
    pid = child_start(outlive_the_parents_engine, p, &o);
    steps_keep(&o.steps, true);
    assert_true(await(o.steps.to_parent[0]));
    usher_close(o.inherited);
    assert_true(step(o.steps.to_child[1]));
    assert_true(await(o.steps.to_parent[0]));
    e = engine_on_url(p->url, NULL); /* and others come and go */
    assert_int_equal(ask_number_stats(e, "p", &stats), USHER_OK);
    assert_int_equal(stats.total, 3);
    audit(e);
    usher_close(e);
    assert_true(step(o.steps.to_child[1]));
    assert_int_equal(child_end(pid), 0);
    e = engine_on_url(p->url, NULL);
    assert_int_equal(ask_number_stats(e, "p", &stats), USHER_OK);
    assert_int_equal(stats.total, 4);
    audit(e);
    usher_close(e);
    steps_close(&o.steps);
}

/* Two children write while their parent keeps its engine. */
struct child {
    struct usher_engine *inherited;
    const char *prefix;
};

static void write_a_hundred(const struct place *p, void *payload)
{
    const struct child *c = payload;
    struct usher_engine *own = NULL;

    usher_close(c->inherited);
    MUST(usher_open(p->url, NULL, &own) == USHER_OK);
    for (int i = 0; i < 100; i++) {
        char number[16];

        (void)snprintf(number, sizeof number, "%s%d", c->prefix, i);
        MUST(ask_number_add(own, "p", number, NULL) == USHER_OK);
    }
    usher_close(own);
}

ON(children_that_write_at_the_same_time_lose_nothing, SQLITE | REDIS)
{
    const struct place *p = *state;
    struct usher_engine *e = engine_on_url(p->url, NULL);
    struct child a = { e, "a" }, b = { e, "b" };
    struct usher_number_result_statistics stats;
    pid_t first, second;

    assert_int_equal(ask_number_add(e, "p", "before", NULL), USHER_OK);
    first = child_start(write_a_hundred, p, &a);
    second = child_start(write_a_hundred, p, &b);
    for (int i = 0; i < 100; i++) {
        char number[16];

        (void)snprintf(number, sizeof number, "c%d", i);
        assert_int_equal(ask_number_add(e, "p", number, NULL), USHER_OK);
    }
    assert_int_equal(child_end(first), 0);
    assert_int_equal(child_end(second), 0);
    assert_int_equal(ask_number_stats(e, "p", &stats), USHER_OK);
    assert_int_equal(stats.total, 301);
    assert_true(version_of(e, "p") == 301);
    audit(e);
    usher_close(e);
}
#endif

/* ---- file descriptors ------------------------------------------------------------------ */

static int fds_open(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = 0;

    if (d == NULL)
        return -1;
    while (readdir(d) != NULL)
        n++;
    (void)closedir(d);
    return n;
}

static void run_out_of_descriptors(const struct place *p, void *payload)
{
    struct usher_options options = USHER_OPTIONS_INIT;
    struct usher_engine *e = NULL, *other = NULL;
    struct rlimit limit = { 64, 64 };
    enum usher_status status;
    uint64_t faults = 1;
    int fds[64], n = 0;

    (void)payload;
    options.timeout_ms = 3000;
    MUST(usher_open(p->url, &options, &e) == USHER_OK);
    MUST(ask_number_add(e, "p", "n1", NULL) == USHER_OK);
    MUST(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    while (n < 64 && (fds[n] = dup(0)) >= 0)
        n++;
    MUST(errno == EMFILE);

    MUST(ask_number_add(e, "p", "n2", NULL) == USHER_OK); /* it has its descriptors */
    status = usher_open(p->url, &options, &other);
    if (p->kind == MEMORY) {
        MUST(status == USHER_OK);
        usher_close(other);
    } else {
        MUST(status == USHER_UNAVAILABLE && other == NULL);
        MUST(strstr(usher_message(), "descriptor") != NULL ||
             strstr(usher_message(), "open files") != NULL);
    }
    status = check_faults(e, NULL, NULL, &faults);
    MUST(status == USHER_OK || status == USHER_UNAVAILABLE);
    MUST(status == USHER_OK || usher_message()[0] != '\0');
    MUST(ask_number_add(e, "p", "n3", NULL) == USHER_OK);

    while (n > 0)
        (void)close(fds[--n]);
    MUST(usher_open(p->url, &options, &other) == USHER_OK);
    usher_close(other);
    MUST(check_faults(e, NULL, NULL, &faults) == USHER_OK && faults == 0);
    MUST(version_of(e, "p") == 3);
    usher_close(e);
}

ON(open_engines_work_without_free_descriptors, ALL)
{
    in_child(run_out_of_descriptors, *state, NULL);
}

#ifdef USHER_WITH_REDIS
/* The connection is lost, and no descriptor is free for a new one. */
static void reconnect_without_descriptors(const struct place *p, void *payload)
{
    struct usher_options options = USHER_OPTIONS_INIT;
    struct usher_engine *e = NULL;
    struct rlimit limit = { 64, 64 };
    redisContext *c = redis_server_connect(server);
    redisReply *reply;
    int fds[64], n = 0;

    (void)payload;
    options.timeout_ms = 1500;
    MUST(c != NULL);
    MUST(usher_open(p->url, &options, &e) == USHER_OK);
    MUST(ask_number_add(e, "p", "n1", NULL) == USHER_OK);
    reply = redisCommand(c, "CLIENT KILL TYPE normal SKIPME yes");
    MUST(reply != NULL && reply->type == REDIS_REPLY_INTEGER && reply->integer >= 1);
    freeReplyObject(reply);
    redisFree(c);
    MUST(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    while (n < 64 && (fds[n] = dup(0)) >= 0)
        n++;
    /* The first discards the dead connection, which may leave one descriptor free. */
    (void)ask_number_add(e, "p", "n2", NULL);
    while (n < 64 && (fds[n] = dup(0)) >= 0)
        n++;
    reply = NULL;
    MUST(ask_number_add(e, "p", "n3", NULL) != USHER_INVALID);
    while (n > 0)
        (void)close(fds[--n]);
    MUST(done(ask_number_add(e, "p", "n2", NULL)));
    MUST(done(ask_number_add(e, "p", "n3", NULL)));
    MUST(version_of(e, "p") == 3);
    usher_close(e);
}

ON(a_connection_lost_without_descriptors_is_restored, REDIS)
{
    in_child(reconnect_without_descriptors, *state, NULL);
}
#endif

/* ---- signals ------------------------------------------------------------------------------ */

#ifdef USHER_WITH_REDIS
/* A server that is killed in the middle of a request larger than any socket buffer. */
struct victim {
    int fd; /* the library's socket */
    struct redis_server *server;
};

/* The socket that usher_open() made: the last descriptor. */
static int newest_socket(void)
{
    for (int fd = 255; fd > 2; fd--) {
        struct stat st;

        if (fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode))
            return fd;
    }
    return -1;
}

static void *kill_when_stuck(void *payload)
{
    const struct victim *v = payload;
    int waiting = 0;

    /* the server is stopped, so that nothing leaves the queue any more */
    while (ioctl(v->fd, SIOCOUTQ, &waiting) == 0 && waiting < 100000)
        (void)sched_yield();
    (void)kill(redis_server_pid(v->server), SIGKILL);
    return NULL;
}

#define GROUPS_SIZE (15 * 256 - 1)

static void write_to_a_dying_server(const struct place *p, void *payload)
{
    static struct usher_operation commands[200];
    static struct usher_result replies[200];
    static char groups[GROUPS_SIZE];
    struct victim *v = payload;
    struct usher_options options = USHER_OPTIONS_INIT;
    struct usher_engine *e = NULL;
    char url[URL_MAX];
    pthread_t thread;

    (void)p;
    (void)signal(SIGPIPE, SIG_DFL);
    options.timeout_ms = 1500;
    (void)snprintf(url, sizeof url, "redis+unix://%s", redis_server_socket(v->server));
    MUST(usher_open(url, &options, &e) == USHER_OK);
    MUST(ask_number_add(e, "p", "n1", NULL) == USHER_OK);
    v->fd = newest_socket();
    for (size_t i = 0; i < GROUPS_SIZE; i++) /* 15 of the longest names */
        groups[i] = i % 256 == 255 ? ',' : 'g';
    for (size_t i = 0; i < 200; i++) {
        commands[i].verb = USHER_NUMBER_CALL;
        commands[i].scope.data = "p";
        commands[i].scope.size = 1;
        commands[i].arg.number.group.data = groups;
        commands[i].arg.number.group.size = GROUPS_SIZE;
    }
    MUST(kill(redis_server_pid(v->server), SIGSTOP) == 0);
    MUST(pthread_create(&thread, NULL, kill_when_stuck, v) == 0);
    MUST(usher_operate(e, commands, replies, 200) == USHER_UNKNOWN);
    MUST(pthread_join(thread, NULL) == 0);
    MUST(ask_number_add(e, "p", "n2", NULL) == USHER_UNAVAILABLE);
    usher_close(e);
}

ON(a_server_that_dies_while_it_is_written_to_raises_no_signal, REDIS)
{
    struct redis_server_options options = { .unixsocket = true };
    struct victim v = { .fd = -1 };

    v.server = redis_server_start(&options);
    if (v.server == NULL)
        fail_msg("%s", redis_reason());
    in_child(write_to_a_dying_server, *state, &v);
    redis_server_stop(v.server);
}
#endif

/* ---- full and read-only disks ----------------------------------------------------------- */

#ifdef USHER_WITH_SQLITE
/* Add numbers until the disk is full, then free space by @make_room. */
static void fill(const struct place *p, void (*make_room)(void *payload), void *payload)
{
    struct usher_engine *e = NULL;
    struct usher_number_result_statistics stats;
    char number[240], digest[33], again[33];
    enum usher_status status = USHER_OK;
    uint64_t faults = 1;
    int added = 0;

    MUST(usher_open(p->url, NULL, &e) == USHER_OK);
    while (status == USHER_OK) {
        MUST(added < 100000);
        (void)snprintf(number, sizeof number, "%0200d", added);
        status = ask_number_add(e, "p", number, NULL);
        added += status == USHER_OK;
    }
    MUST(status == USHER_UNAVAILABLE); /* nothing was applied, and this is known */
    MUST(strstr(usher_message(), "no space left") != NULL);
    MUST(ask_number_stats(e, "p", &stats) == USHER_OK); /* can be read */
    MUST(stats.total == added);
    MUST(usher_digest(e, USHER_NUMBER, "p", digest) == USHER_OK);
    for (int i = 0; i < 5; i++) {
        status = ask_number_reg(e, "p", number);
        MUST(status == USHER_UNAVAILABLE || status == USHER_UNKNOWN || status == USHER_MISSING ||
             status == USHER_OK);
        if (status == USHER_UNAVAILABLE || status == USHER_MISSING) {
            MUST(usher_digest(e, USHER_NUMBER, "p", again) == USHER_OK);
            MUST(strcmp(digest, again) == 0);
        } else {
            MUST(usher_digest(e, USHER_NUMBER, "p", digest) == USHER_OK);
        }
    }
    make_room(payload);
    MUST(done(ask_number_add(e, "p", "after", NULL)));
    MUST(ask_number_stats(e, "p", &stats) == USHER_OK && stats.total == added + 1);
    MUST(check_faults(e, NULL, NULL, &faults) == USHER_OK && faults == 0);
    usher_close(e);
    MUST(usher_open(p->url, NULL, &e) == USHER_OK);
    MUST(ask_number_stats(e, "p", &stats) == USHER_OK && stats.total == added + 1);
    MUST(check_faults(e, NULL, NULL, &faults) == USHER_OK && faults == 0);
    usher_close(e);
}

static void raise_limit(void *payload)
{
    struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };

    (void)payload;
    MUST(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    limit.rlim_cur = limit.rlim_max;
    MUST(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

static void fill_up_to_the_limit(const struct place *p, void *payload)
{
    struct rlimit limit;

    (void)payload;
    (void)signal(SIGXFSZ, SIG_IGN);
    MUST(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    limit.rlim_cur = 300000;
    MUST(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    fill(p, raise_limit, NULL);
}

ON(a_file_that_may_not_grow_loses_nothing, SQLITE)
{
    in_child(fill_up_to_the_limit, *state, NULL);
}

static void remove_ballast(void *payload)
{
    MUST(unlink(payload) == 0);
}

static bool put(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY);
    bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

    if (fd >= 0)
        (void)close(fd);
    return good;
}

/* Enter new namespaces, in which the files belong to the process. */
static bool become_root(void)
{
    char users[32], groups[32];

    (void)snprintf(users, sizeof users, "0 %u 1", (unsigned)getuid());
    (void)snprintf(groups, sizeof groups, "0 %u 1", (unsigned)getgid());
    return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && put("/proc/self/setgroups", "deny") &&
           put("/proc/self/uid_map", users) && put("/proc/self/gid_map", groups);
}

/* Mount a file system of 400 KiB for this process only. */
static void fill_a_small_disk(const struct place *p, void *payload)
{
    struct place small = *p;
    char mounted[160], ballast[200];
    static char zeros[65536];
    int fd;

    (void)payload;
    (void)snprintf(mounted, sizeof mounted, "%s/disk", test_dir());
    (void)mkdir(mounted, 0700);
    if (unshare(CLONE_NEWNS) != 0 && !become_root())
        _exit(CHILD_SKIPS);
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", mounted, "tmpfs", 0, "size=400k") != 0)
        _exit(CHILD_SKIPS);
    (void)snprintf(ballast, sizeof ballast, "%s/ballast", mounted);
    fd = open(ballast, O_WRONLY | O_CREAT, 0600);
    MUST(fd >= 0 && write(fd, zeros, sizeof zeros) == (ssize_t)sizeof zeros);
    (void)close(fd);
    (void)snprintf(small.url, sizeof small.url, "sqlite:%s/pool.db", mounted);
    fill(&small, remove_ballast, ballast);
}

ON(a_full_disk_loses_nothing, SQLITE)
{
    int status = child_end(child_start(fill_a_small_disk, *state, NULL));

    if (status == CHILD_SKIPS)
        left_out("no file system can be mounted here");
    assert_int_equal(status, 0);
}

/* Permissions do not apply to root. */
static void become_nobody(void)
{
    if (geteuid() == 0)
        MUST(setgid(65534) == 0 && setuid(65534) == 0);
}

static off_t size_of(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 ? st.st_size : -1;
}

struct read_only {
    char folder[160], file[200];
    off_t size;
};

static void open_read_only(const struct place *p, void *payload)
{
    struct read_only *r = payload;
    struct usher_options options = USHER_OPTIONS_INIT;
    struct usher_engine *e = NULL;
    char url[URL_MAX], side[240];

    (void)p;
    become_nobody();
    options.timeout_ms = 500;
    (void)snprintf(url, sizeof url, "sqlite:%s", r->file);
    MUST(usher_open(url, &options, &e) == USHER_UNAVAILABLE && e == NULL);
    MUST(strstr(usher_message(), "read-only") != NULL ||
         strstr(usher_message(), "permission") != NULL ||
         strstr(usher_message(), "no right") != NULL);
    MUST(size_of(r->file) == r->size);
    (void)snprintf(side, sizeof side, "%s-wal", r->file);
    MUST(size_of(side) < 0);
}

static void read_only_case(mode_t folder, mode_t file, bool exists)
{
    struct read_only r;
    struct usher_engine *e;
    char url[URL_MAX];

    (void)snprintf(r.folder, sizeof r.folder, "%s/ro%u", test_dir(), places++);
    (void)snprintf(r.file, sizeof r.file, "%s/pool.db", r.folder);
    assert_int_equal(mkdir(r.folder, 0755), 0);
    if (exists) {
        (void)snprintf(url, sizeof url, "sqlite:%s", r.file);
        e = engine_on_url(url, NULL);
        assert_int_equal(ask_number_add(e, "p", "n", NULL), USHER_OK);
        usher_close(e);
        assert_int_equal(chmod(r.file, file), 0);
    }
    if (geteuid() == 0)
        assert_int_equal(chown(r.folder, 65534, 65534), 0);
    assert_int_equal(chmod(r.folder, folder), 0);
    r.size = size_of(r.file);
    in_child(open_read_only, NULL, &r);
    assert_int_equal(chmod(r.folder, 0755), 0);
    if (exists) {
        assert_int_equal(chmod(r.file, 0644), 0);
        (void)snprintf(url, sizeof url, "sqlite:%s", r.file);
        e = engine_on_url(url, NULL);
        assert_true(version_of(e, "p") == 1);
        audit(e);
        usher_close(e);
    }
}

ON(a_read_only_file_or_folder_is_refused_with_the_reason, SQLITE)
{
    read_only_case(0755, 0444, true);
    read_only_case(0555, 0666, true);
    read_only_case(0555, 0444, true);
    read_only_case(0555, 0, false);
    read_only_case(0755, 0000, true);
}

/* The file is deleted or made read-only while it is open for writing. */
ON(a_file_that_is_deleted_under_the_engine_is_noticed, SQLITE)
{
    const struct place *p = *state;
    struct usher_engine *e = engine_on_url(p->url, NULL);
    uint64_t faults;

    assert_int_equal(ask_number_add(e, "p", "n1", NULL), USHER_OK);
    assert_int_equal(unlink(p->file), 0);
    assert_int_equal(ask_number_add(e, "p", "n2", NULL), USHER_UNAVAILABLE);
    assert_string_not_equal(usher_message(), "");
    assert_int_equal(check_faults(e, NULL, NULL, &faults), USHER_UNAVAILABLE);
    usher_close(e);
}
#endif

/* ---- clocks ------------------------------------------------------------------------------ */

static _Atomic int64_t fake_now;

static int64_t fake_clock(void *payload)
{
    (void)payload;
    return atomic_load(&fake_now);
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
    int rc = (int)syscall(SYS_clock_gettime, id, ts);

    if (rc == 0 && id == CLOCK_REALTIME)
        ts->tv_sec += (time_t)atomic_load(&skew_s);
    return rc;
}

#define T0 INT64_C(1700000000000)

static struct ask_number_hold call_of(struct usher_engine *e, const char *owner,
                                      enum usher_status expected)
{
    struct ask_number_hold hold;
    enum usher_status status;

    memset(&hold, 0, sizeof hold);
    status = ask_number_call(e, "p", owner, NULL, &hold);
    if (status != expected)
        fail_msg("call of %s: %s, not %s", owner, usher_status_word(status),
                 usher_status_word(expected));
    return hold;
}

/* Open the place with the clock of the store itself. */
static struct usher_engine *open_own_clock(const struct place *p,
                                           const struct usher_options *options)
{
    char url[URL_MAX];

    (void)snprintf(url, sizeof url, "%s", p->url);
    if (p->kind == REDIS)
        url[strcspn(url, "?")] = '\0';
    return engine_on_url(url, options);
}

/* A clock of the application that was set back stands still for the pool. */
static void day_of_an_application_set_back(struct usher_engine *e, char digest[33])
{
    struct usher_number_result_settings set = { .lease_ms = 1000 };
    struct ask_number_hold ann, bob, carl;
    struct usher_number_result_statistics stats;
    struct usher_result list;
    uint64_t expired = 0;

    atomic_store(&fake_now, T0);
    assert_int_equal(ask_number_set(e, "p", USHER_GIVEN_LEASE, &set), USHER_OK);
    assert_int_equal(ask_number_add(e, "p", "n1", NULL), USHER_OK);
    assert_int_equal(ask_number_add(e, "p", "n2", NULL), USHER_OK);
    assert_int_equal(ask_number_reg(e, "p", "n1"), USHER_OK);
    assert_int_equal(ask_number_reg(e, "p", "n2"), USHER_OK);
    ann = call_of(e, "ann", USHER_OK);
    assert_string_equal(ann.number, "n1");
    assert_true(ann.until_ms == T0 + 1000);

    atomic_store(&fake_now, T0 - 500000);
    bob = call_of(e, "bob", USHER_OK);
    assert_string_equal(bob.number, "n2");
    assert_true(bob.until_ms == T0 + 1000);
    assert_true(bob.version == ann.version + 1 && bob.token > ann.token);
    assert_int_equal(ask_number_renew(e, "p", "n1", ann.token, 0, NULL), USHER_SAME);
    (void)call_of(e, "carl", USHER_EMPTY);
    assert_int_equal(ask_number_stats(e, "p", &stats), USHER_OK);
    assert_true(stats.longest_hold_ms == 0 && stats.calls_today == 2);
    assert_int_equal(ask_number_list(e, "p", -1, NULL, NULL, 0, &list), USHER_OK);
    assert_int_equal(list.of.number.n_rows, 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(list.of.number.rows[i].calls_today, 1);
        assert_true(list.of.number.rows[i].used_ms == T0);
    }
    usher_result_done(&list);
    assert_int_equal(ask_number_hangup(e, "p", "n2", bob.token, 100), USHER_OK);
    (void)call_of(e, "carl", USHER_EMPTY);

    atomic_store(&fake_now, T0 + 100); /* the rest is over, the hold is not */
    carl = call_of(e, "carl", USHER_OK);
    assert_string_equal(carl.number, "n2");
    atomic_store(&fake_now, T0 + 99);
    assert_int_equal(ask_number_sweep(e, "p", &expired), USHER_SAME);
    atomic_store(&fake_now, T0 + 1000);
    assert_int_equal(ask_number_sweep(e, "p", &expired), USHER_OK);
    assert_true(expired == 1);
    atomic_store(&fake_now, 1); /* what has expired does not come back */
    assert_int_equal(ask_number_renew(e, "p", "n1", ann.token, 0, NULL), USHER_REFUSED);
    assert_int_equal(usher_digest(e, USHER_NUMBER, "p", digest), USHER_OK);
    audit(e);
}

ON(an_application_clock_set_back_stands_still, ALL)
{
    const struct place *p = *state;
    struct usher_options options = USHER_OPTIONS_INIT;
    struct usher_engine *e, *twin;
    char a[33], b[33];

    options.now_ms = fake_clock;
    e = open_own_clock(p, &options);
    twin = engine_on_url("memory:", &options);
    day_of_an_application_set_back(e, a);
    day_of_an_application_set_back(twin, b);
    if (p->kind != REDIS) /* its versions begin at the time of day */
        assert_string_equal(a, b);
    usher_close(twin);
    usher_close(e);
}

/* A clock of the store that was set back by two days: a new lease ends by that clock, an old one
 * when it was to end, and neither days nor the order go back. */
static void day_of_a_store_set_back(struct usher_engine *e, char digest[33])
{
    const int64_t back = T0 - INT64_C(2) * 24 * 3600 * 1000;
    struct usher_number_result_settings set = { .lease_ms = 1000 };
    struct ask_number_hold ann, bob, carl, dora;
    struct usher_number_result_statistics stats;
    struct usher_result list;
    uint64_t expired = 0;

    atomic_store(&fake_now, T0);
    assert_int_equal(ask_number_set(e, "p", USHER_GIVEN_LEASE, &set), USHER_OK);
    assert_int_equal(ask_number_add(e, "p", "n1", NULL), USHER_OK);
    assert_int_equal(ask_number_add(e, "p", "n2", NULL), USHER_OK);
    assert_int_equal(ask_number_reg(e, "p", "n1"), USHER_OK);
    assert_int_equal(ask_number_reg(e, "p", "n2"), USHER_OK);
    ann = call_of(e, "ann", USHER_OK);
    assert_string_equal(ann.number, "n1");
    assert_true(ann.until_ms == T0 + 1000);

    atomic_store(&fake_now, back);
    bob = call_of(e, "bob", USHER_OK);
    assert_string_equal(bob.number, "n2");
    assert_true(bob.until_ms == back + 1000);
    assert_true(bob.version == ann.version + 1 && bob.token > ann.token);
    assert_int_equal(ask_number_stats(e, "p", &stats), USHER_OK);
    assert_true(stats.longest_hold_ms == 0 && stats.calls_today == 2);
    assert_int_equal(ask_number_list(e, "p", -1, NULL, NULL, 0, &list), USHER_OK);
    assert_int_equal(list.of.number.n_rows, 2);
    for (int i = 0; i < 2; i++)
        assert_int_equal(list.of.number.rows[i].calls_today, 1);
    usher_result_done(&list);

    atomic_store(&fake_now, back + 999);
    assert_int_equal(ask_number_sweep(e, "p", &expired), USHER_SAME);
    (void)call_of(e, "carl", USHER_EMPTY);
    atomic_store(&fake_now, back + 1000);
    assert_int_equal(ask_number_sweep(e, "p", &expired), USHER_OK);
    assert_true(expired == 1);
    carl = call_of(e, "carl", USHER_OK);
    assert_string_equal(carl.number, "n2");
    assert_true(carl.until_ms == back + 2000);
    assert_int_equal(ask_number_hangup(e, "p", "n2", carl.token, 100), USHER_OK);
    atomic_store(&fake_now, back + 1099);
    (void)call_of(e, "dora", USHER_EMPTY);
    atomic_store(&fake_now, back + 1100); /* the rest is over */
    dora = call_of(e, "dora", USHER_OK);
    assert_string_equal(dora.number, "n2");
    assert_int_equal(ask_number_stats(e, "p", &stats), USHER_OK);
    assert_true(stats.calls_today == 4);

    atomic_store(&fake_now, T0 + 999);
    assert_int_equal(ask_number_sweep(e, "p", &expired), USHER_OK);
    assert_true(expired == 1);
    assert_int_equal(ask_number_renew(e, "p", "n2", dora.token, 0, NULL), USHER_REFUSED);
    atomic_store(&fake_now, T0 + 1000);
    assert_int_equal(ask_number_sweep(e, "p", &expired), USHER_OK);
    assert_true(expired == 1);
    atomic_store(&fake_now, 1); /* what has expired does not come back */
    assert_int_equal(ask_number_renew(e, "p", "n1", ann.token, 0, NULL), USHER_REFUSED);
    assert_int_equal(usher_digest(e, USHER_NUMBER, "p", digest), USHER_OK);
    audit(e);
}

ON(a_store_clock_set_back_freezes_no_lease, ALL)
{
    const struct place *p = *state;
    struct usher_options options = USHER_OPTIONS_INIT;
    struct usher_engine *e, *twin;
    char a[33], b[33];

    options.now_ms = fake_clock;
    options.clock_given = true;
    e = engine_on_url(p->url, &options);
    twin = engine_on_url("memory:", &options);
    day_of_a_store_set_back(e, a);
    day_of_a_store_set_back(twin, b);
    assert_string_equal(a, b);
    usher_close(twin);
    usher_close(e);
}

/* The clock of a memory store and of a file is this machine's.  That of a server is another one. */
ON(the_time_of_day_may_be_set_back, ALL)
{
    const struct place *p = *state;
    struct usher_engine *e = open_own_clock(p, NULL);
    struct usher_number_result_settings set = { .lease_ms = 3600000 };
    struct ask_number_hold ann, bob, carl;

    assert_int_equal(ask_number_set(e, "p", USHER_GIVEN_LEASE, &set), USHER_OK);
    assert_int_equal(ask_number_add(e, "p", "n1", NULL), USHER_OK);
    assert_int_equal(ask_number_add(e, "p", "n2", NULL), USHER_OK);
    assert_int_equal(ask_number_reg(e, "p", "n1"), USHER_OK);
    assert_int_equal(ask_number_reg(e, "p", "n2"), USHER_OK);
    ann = call_of(e, "ann", USHER_OK);
    atomic_store(&skew_s, -100000);
    bob = call_of(e, "bob", USHER_OK);
    assert_true(bob.version == ann.version + 1);
    (void)call_of(e, "carl", USHER_EMPTY);
    if (p->kind == REDIS) {
        assert_true(bob.until_ms >= ann.until_ms);
    } else {
        struct timespec ts;

        assert_int_equal(clock_gettime(CLOCK_REALTIME, &ts), 0);
        assert_true(bob.until_ms >= ann.until_ms - 100000 * INT64_C(1000));
        assert_true(bob.until_ms <= (int64_t)(ts.tv_sec + 1) * 1000 + 3600000);
    }
    atomic_store(&skew_s, -100000 + 3600); /* an hour later the new lease is over */
    carl = call_of(e, "carl", p->kind == REDIS ? USHER_EMPTY : USHER_OK);
    if (p->kind != REDIS)
        assert_string_equal(carl.number, "n2");
    atomic_store(&skew_s, 7200);
    if (p->kind == REDIS)
        assert_true(done(ask_number_renew(e, "p", "n1", ann.token, 0, NULL)));
    else
        assert_int_equal(ask_number_renew(e, "p", "n1", ann.token, 0, NULL), USHER_REFUSED);
    atomic_store(&skew_s, 0);
    audit(e);
    usher_close(e);
}

ON(a_clock_with_impossible_times_harms_no_store, ALL)
{
    static const int64_t times[] = { -1, INT64_MIN,        INT64_MAX,      USHER_TIME_MAX + 1,
                                     0,  INT64_C(1) << 53, -USHER_SPAN_MAX };
    const struct place *p = *state;
    struct usher_options options = USHER_OPTIONS_INIT;
    struct usher_engine *e;
    struct ask_number_hold hold;

    options.now_ms = fake_clock;
    e = open_own_clock(p, &options);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        struct usher_number_result_settings set = { .lease_ms = USHER_SPAN_MAX, .rest_ms = 1 };
        struct usher_number_result_statistics stats;
        char pool[32];
        enum usher_status status;

        (void)snprintf(pool, sizeof pool, "p%zu", i);
        for (int old = 0; old < 2; old++) { /* a pool that is new, and one that is not */
            atomic_store(&fake_now, times[i]);
            (void)ask_number_set(e, pool, USHER_GIVEN_LEASE | USHER_GIVEN_REST, &set);
            (void)ask_number_add(e, pool, "n1", NULL);
            (void)ask_number_reg(e, pool, "n1");
            (void)ask_number_call(e, pool, "ann", NULL, &hold);
            (void)ask_number_stats(e, pool, &stats);
            (void)ask_number_hangup(e, pool, "n1", 0, -1);
            (void)ask_number_sweep(e, pool, NULL);
            atomic_store(&fake_now, T0);
            status = ask_number_add(e, pool, "n2", NULL);
            if (!done(status))
                fail_msg("after %" PRId64 ": %s", times[i], usher_message());
        }
        audit(e);
    }
    usher_close(e);
    e = open_own_clock(p, &options); /* and after it was written and read again */
    audit(e);
    if (p->kind != MEMORY)
        assert_true(done(ask_number_add(e, "p0", "n3", NULL)));
    usher_close(e);
}

/* ---- reads during commands ---------------------------------------------------------------- */

struct toil {
    struct usher_engine *e;
    unsigned index;
    char fault[256];
};

static void *toil(void *payload)
{
    struct toil *t = payload;
    enum usher_status status = USHER_OK;

    for (int i = 0; i < 60 && status == USHER_OK; i++) {
        char pool[16], number[16];

        (void)snprintf(pool, sizeof pool, "p%u", t->index % 2);
        (void)snprintf(number, sizeof number, "n%u-%d", t->index, i % 7);
        if (t->index < 3) {
            status = ask_number_add(t->e, pool, number, NULL);
            if (status == USHER_OK)
                status = ask_number_del(t->e, pool, number);
        } else if (t->index == 3) {
            uint64_t faults = 1;

            status = check_faults(t->e, NULL, NULL, &faults);
            if (status == USHER_OK && faults != 0)
                (void)snprintf(t->fault, sizeof t->fault, "the audit found a fault");
        } else {
            char digest[33];

            status = usher_digest(t->e, USHER_NUMBER, pool, digest);
        }
    }
    if (status != USHER_OK)
        (void)snprintf(t->fault, sizeof t->fault, "thread %u: %s", t->index, usher_message());
    return NULL;
}

ON(audit_and_digest_may_run_while_others_work, ALL)
{
    const struct place *p = *state;
    struct usher_engine *e = engine_on_url(p->url, NULL);
    struct toil toils[6];
    pthread_t threads[6];

    for (unsigned i = 0; i < 6; i++) {
        toils[i] = (struct toil){ e, i, "" };
        assert_int_equal(pthread_create(&threads[i], NULL, toil, &toils[i]), 0);
    }
    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (unsigned i = 0; i < 6; i++)
        if (toils[i].fault[0] != '\0')
            fail_msg("%s", toils[i].fault);
    audit(e);
    usher_close(e);
}

/* ---- a thousand opens --------------------------------------------------------------------- */

struct counted {
    size_t bytes;
    unsigned long allocations;
};

static void *counted_resize(void *payload, void *p, size_t old, size_t size)
{
    struct counted *c = payload;
    void *q;

    if (size == 0) {
        c->bytes -= old;
        free(p);
        return NULL;
    }
    q = realloc(p, size);
    if (q != NULL) {
        c->bytes += size - old;
        c->allocations++;
    }
    return q;
}

static size_t maps(void)
{
    FILE *f = fopen("/proc/self/maps", "r");
    size_t n = 0;
    int c;

    while (f != NULL && (c = getc(f)) != EOF)
        n += c == '\n';
    if (f != NULL)
        (void)fclose(f);
    return n;
}

#define OPENS 1000

ON(a_thousand_opens_and_closes_leak_nothing, ALL)
{
    const struct place *p = *state;
    struct counted counted = { 0, 0 };
    struct usher_allocator alloc = { counted_resize, &counted };
    struct usher_options options = USHER_OPTIONS_INIT;
    size_t heap = 0, mapped = 0;
    int fds = 0;
    char wrong[URL_MAX + 32];

    (void)snprintf(wrong, sizeof wrong, "%s%cnosuch=1", p->url,
                   strchr(p->url, '?') != NULL ? '&' : '?');
    options.alloc = &alloc;
    for (int i = 0; i < OPENS; i++) {
        struct usher_engine *e = NULL;

        if (i == OPENS / 10) { /* permanent allocations have been made by now */
            fds = fds_open();
            mapped = maps();
            heap = mallinfo2().uordblks;
        }
        e = engine_on_url(p->url, &options);
        if (i % 10 == 0)
            assert_true(done(ask_number_add(e, "p", "n1", NULL)));
        usher_close(e);
        assert_true(counted.bytes == 0);
        e = NULL;
        if (i % 10 == 0) { /* one that fails at the very end */
            assert_int_equal(usher_open(wrong, &options, &e), USHER_INVALID);
            assert_null(e);
            assert_true(counted.bytes == 0);
        }
    }
    assert_true(counted.allocations > OPENS);
    assert_int_equal(fds_open(), fds);
    assert_true(maps() <=
                mapped + OPENS / 10); /* malloc may map some memory, but not some for each open */
    assert_true(mallinfo2().uordblks <= heap + 65536);
}

/* Files named in the URL are already open when another part of it is found to be wrong. */
ON(an_open_that_fails_leaks_nothing, ALL)
{
    static const char *const wrong[][2] = {
        { "history=sqlite:", "/h.db&journal=1" }, /* no authority */
        { "history=sqlite:", "/h.db&nosuch=1" },
        { "history=sqlite:", "/h.db&timeout=x" },
        { "history=sqlite:", "/h.db&authority=nosuch:a" },
        { "authority=sqlite:", "/a.db&nosuch=1" },
        { "authority=sqlite:", "/a.db&journal=2" },
        { "authority=sqlite:", "/a.db&history=nosuch:h" },
    };
    static const char *const none[] = { "nosuch:", "rediss://h?key=k", "redis+cluster://h" };
    const struct place *p = *state;
    struct counted counted = { 0, 0 };
    struct usher_allocator alloc = { counted_resize, &counted };
    struct usher_options options = USHER_OPTIONS_INIT;
    int fds = fds_open();
    char url[2 * URL_MAX];

    options.alloc = &alloc;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        for (size_t k = 0; k <= sizeof none / sizeof *none; k++) {
            const char *store = k > 0 ? none[k - 1] : p->url;
            struct usher_engine *e = NULL;

            (void)snprintf(url, sizeof url, "%s%c%s%s%s", store,
                           strchr(store, '?') != NULL ? '&' : '?', wrong[i][0], test_dir(),
                           wrong[i][1]);
            assert_int_equal(usher_open(url, &options, &e), USHER_INVALID);
            assert_null(e);
            if (counted.bytes != 0)
                fail_msg("%s keeps %zu bytes", url, counted.bytes);
            assert_int_equal(fds_open(), fds);
        }
    }
}

/* ---- wrong options ------------------------------------------------------------------------- */

static unsigned files_in(const char *path)
{
    DIR *d = opendir(path);
    unsigned n = 0;

    assert_non_null(d);
    while (readdir(d) != NULL)
        n++;
    (void)closedir(d);
    return n;
}

/* Check that the text is one printable line. */
static void assert_is_a_line(const char *message)
{
    assert_string_not_equal(message, "");
    for (const char *m = message; *m != '\0'; m++)
        if ((unsigned char)*m < 0x20 || *m == 0x7f)
            fail_msg("a control character is in: %s", message);
}

ON(a_url_that_is_wrong_opens_nothing, MEMORY)
{
    static const char long_option[] = "memory:?timeout=0000000000000000000000000000001";
    static const struct {
        const char *url;
        enum usher_status status;
    } urls[] = {
        { NULL, USHER_INVALID },
        { "", USHER_INVALID },
        { ":", USHER_INVALID },
        { "?", USHER_INVALID },
        { "memory", USHER_INVALID },
        { " memory:", USHER_INVALID },
        { "Memory:", USHER_INVALID },
        { "memory:x", USHER_INVALID },
        { "memory://", USHER_INVALID },
        { "memory:?", USHER_INVALID },
        { "memory:?timeout", USHER_INVALID },
        { "memory:?timeout=", USHER_INVALID },
        { "memory:?=5", USHER_INVALID },
        { "memory:?timeout=0", USHER_INVALID },
        { "memory:?timeout=-1", USHER_INVALID },
        { "memory:?timeout=+1", USHER_INVALID },
        { "memory:?timeout= 1", USHER_INVALID },
        { "memory:?timeout=1e3", USHER_INVALID },
        { "memory:?timeout=0x10", USHER_INVALID },
        { "memory:?timeout=9223372036854775808", USHER_INVALID },
        { "memory:?timeout=99999999999999999999999999", USHER_INVALID },
        { "memory:?timeout=5&timeout=6", USHER_INVALID },
        { "memory:?timeout=5&", USHER_INVALID },
        { "memory:?timeout=5&&nosuch=1", USHER_INVALID },
        { "memory:?nosuch=1", USHER_INVALID },
        { "memory:?sync=full", USHER_INVALID },
        { "memory:?timeout=%3", USHER_INVALID },
        { "memory:?timeout=%zz", USHER_INVALID },
        { "memory:?timeout=%00", USHER_INVALID },
        { "memory:?timeout=5%00", USHER_INVALID },
        { "memory:?a=1&b=2&c=3&d=4&e=5&f=6&g=7&h=8&i=9&j=1&k=2&l=3&m=4&n=5&o=6&p=7&q=8",
          USHER_INVALID },
        { "mem\nory:", USHER_INVALID },
        { "\033[2Jred:", USHER_INVALID },
        { "%s%n%x:", USHER_INVALID },
        { "memory:?%s%n=1", USHER_INVALID },
        { "memory:?a\rb=1", USHER_INVALID },
        { "http://127.0.0.1/", USHER_INVALID },
        { "file:///etc/passwd", USHER_INVALID },
        { "redis:127.0.0.1", USHER_INVALID },
#ifdef USHER_WITH_SQLITE
        { "sqlite:", USHER_INVALID },
        { "sqlite:?sync=full", USHER_INVALID },
        { "sqlite:new.db?sync=", USHER_INVALID },
        { "sqlite:new.db?sync=FULL", USHER_INVALID },
        { "sqlite:new.db?sync=full&sync=off", USHER_INVALID },
        { "sqlite:new.db?mode=memory", USHER_INVALID },
        { "sqlite:new.db?timeout=1&timout=2", USHER_INVALID },
        { "sqlite:new.db?db=1", USHER_INVALID },
        { "sqlite:new%00.db", USHER_INVALID },
        { "sqlite:new%.db", USHER_INVALID },
        { "sqlite:nowhere/new.db", USHER_UNAVAILABLE },
        { "sqlite:nowhere%0a/new.db", USHER_UNAVAILABLE },
        { "sqlite:.", USHER_UNAVAILABLE },
        { "sqlite:text?sync=off", USHER_INVALID },
        { "sqlite:text/new.db", USHER_UNAVAILABLE },
#endif
#ifdef USHER_WITH_REDIS
        { "redis:/", USHER_INVALID },
        { "redis://127.0.0.1:0", USHER_INVALID },
        { "redis://127.0.0.1:65536", USHER_INVALID },
        { "redis://127.0.0.1:99999999999999999999", USHER_INVALID },
        { "redis://127.0.0.1:-1", USHER_INVALID },
        { "redis://127.0.0.1:1x", USHER_INVALID },
        { "redis://127.0.0.1:1:2", USHER_INVALID },
        { "redis://127.0.0.1:1/x", USHER_INVALID },
        { "redis://127.0.0.1:1/-1", USHER_INVALID },
        { "redis://127.0.0.1:1/1/2", USHER_INVALID },
        { "redis://127.0.0.1:1/99999999999999999999", USHER_INVALID },
        { "redis://127.0.0.1:1/1?db=2", USHER_INVALID },
        { "redis://127.0.0.1:1?db=", USHER_INVALID },
        { "redis://127.0.0.1:1?db=-1", USHER_INVALID },
        { "redis://127.0.0.1:1?sync=full", USHER_INVALID },
        { "redis://:secret%zz@127.0.0.1:1", USHER_INVALID },
        { "redis://:secret%00@127.0.0.1:1", USHER_INVALID },
        { "redis://[::1:1", USHER_INVALID },
        { "redis://[::1]1", USHER_INVALID },
        { "redis://[]:1", USHER_INVALID },
        { "redis://127.0.0.1%0a:1", USHER_INVALID },
        { "redis://127.0.0.1:1?prefix={}", USHER_INVALID },
        { "redis://127.0.0.1:1?prefix=a%0ab", USHER_INVALID },
        { "redis://127.0.0.1:1?timeout=200", USHER_UNAVAILABLE },
        { "redis://someone:secret@127.0.0.1:1?timeout=200", USHER_UNAVAILABLE },
        { "redis+unix:", USHER_INVALID },
        { "redis+unix://", USHER_INVALID },
        { "redis+unix:///nowhere/socket?timeout=200", USHER_UNAVAILABLE },
        { "redis+unix:///0123456789012345678901234567890123456789012345678901234567890123456789"
          "0123456789012345678901234567890123456789012345678901234567890123456789?timeout=200",
          USHER_INVALID },
#endif
    };
    struct usher_engine *e = NULL;
    char *huge = malloc(1 << 20), here[512], empty[64];
    unsigned files;
    int fds = fds_open();
    FILE *f;

    assert_non_null(huge);
    assert_non_null(getcwd(here, sizeof here));
    (void)snprintf(empty, sizeof empty, "%s/urls", test_dir());
    assert_int_equal(mkdir(empty, 0700), 0);
    assert_int_equal(chdir(empty), 0);
    f = fopen("text", "w");
    assert_non_null(f);
    for (int i = 0; i < 500; i++)
        (void)fprintf(f, "not a database, line %d\n", i);
    assert_int_equal(fclose(f), 0);
    files = files_in(empty);
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        enum usher_status status = usher_open(urls[i].url, NULL, &e);

        if (status != urls[i].status)
            fail_msg("%s: %s, not %s: %s", urls[i].url, usher_status_word(status),
                     usher_status_word(urls[i].status), usher_message());
        assert_null(e);
        assert_is_a_line(usher_message());
        assert_null(strstr(usher_message(), "secret"));
        if (files_in(empty) != files)
            fail_msg("%s: made a file", urls[i].url);
    }
    memset(huge, 'x', (1 << 20) - 1);
    huge[(1 << 20) - 1] = '\0';
    assert_int_equal(usher_open(huge, NULL, &e), USHER_INVALID);
    memcpy(huge, "memory:", 7);
    assert_int_equal(usher_open(huge, NULL, &e), USHER_INVALID);
    memcpy(huge, "sqlite:", 7);
    assert_int_not_equal(usher_open(huge, NULL, &e), USHER_OK);
    huge[4000] = '\0'; /* a path longer than the limit */
    assert_int_not_equal(usher_open(huge, NULL, &e), USHER_OK);
    assert_null(e);
    assert_is_a_line(usher_message());
    assert_int_equal(usher_open("memory:", NULL, NULL), USHER_INVALID);
    assert_int_equal(usher_open(long_option, NULL, &e), USHER_OK); /* unusual, not wrong */
    assert_string_equal(usher_message(), "");
    usher_close(e);
    assert_int_equal(fds_open(), fds);
    assert_int_equal(chdir(here), 0);
    free(huge);
}

ON(options_that_are_wrong_open_nothing, ALL)
{
    static const struct usher_allocator none = { NULL, NULL };
    const struct place *p = *state;
    struct usher_engine *e = NULL;
    struct usher_options o;
    const struct usher_options init = USHER_OPTIONS_INIT;

#define WRONG(change)                                                \
    do {                                                             \
        o = init;                                                    \
        change;                                                      \
        assert_int_equal(usher_open(p->url, &o, &e), USHER_INVALID); \
        assert_null(e);                                              \
        assert_is_a_line(usher_message());                           \
    } while (0)
    WRONG(o.size = 0);
    WRONG(o.size = 1);
    WRONG(o.size = SIZE_MAX);
    WRONG(memset(&o, 0xff, sizeof o));
    WRONG(memset(&o, 0, sizeof o));
    WRONG(o.timeout_ms = -1);
    WRONG(o.timeout_ms = INT64_MIN);
    WRONG(o.timeout_ms = INT64_MAX);
    WRONG(o.timeout_ms = USHER_SPAN_MAX + 1);
    WRONG(o.alloc = &none);
#undef WRONG
    o = init;
    o.timeout_ms = USHER_SPAN_MAX;
    assert_int_equal(usher_open(p->url, &o, &e), USHER_OK);
    assert_int_equal(ask_number_add(e, "p", "n1", NULL), USHER_OK);
    usher_close(e);
}

ON(arguments_that_are_wrong_change_nothing, ALL)
{
    const struct place *p = *state;
    struct usher_engine *e = engine_on_url(p->url, NULL);
    struct ask_number_call_options o = { 0 };
    struct usher_number_result_settings set = { 0 };
    struct ask_number_hold hold = { .token = 1, .number = "n1" };
    struct usher_operation c;
    struct usher_result reply;
    struct usher_watcher *watch;
    char digest[33], before[33], name[300];
    uint64_t faults;

    memset(&c, 0, sizeof c);
    memset(name, 'x', sizeof name);
    name[256] = '\0';
    assert_int_equal(ask_number_add(e, "p", "n1", NULL), USHER_OK);
    assert_int_equal(ask_number_reg(e, "p", "n1"), USHER_OK);
    assert_int_equal(usher_digest(e, USHER_NUMBER, "p", before), USHER_OK);
#define WRONG(call)                            \
    do {                                       \
        assert_int_equal(call, USHER_INVALID); \
        assert_is_a_line(usher_message());     \
    } while (0)
    WRONG(ask_number_add(NULL, "p", "n", NULL));
    WRONG(ask_number_add(e, NULL, "n", NULL));
    WRONG(ask_number_add(e, "p", NULL, NULL));
    WRONG(ask_number_add(e, "", "n", NULL));
    WRONG(ask_number_add(e, "p", "", NULL));
    WRONG(ask_number_add(e, "p", "n", ""));
    WRONG(ask_number_add(e, "p{", "n", NULL));
    WRONG(ask_number_add(e, "p", name, NULL));
    WRONG(ask_number_add(e, name, "n", NULL));
    WRONG(ask_number_add(e, "p", "\xff", NULL));
    WRONG(ask_number_add(e, "p", "a\nb", NULL));
    o.groups = ",";
    WRONG(ask_number_call(e, "p", NULL, &o, &hold));
    o.groups = NULL;
    o.lease_ms = INT64_MAX;
    WRONG(ask_number_call(e, "p", NULL, &o, &hold));
    WRONG(ask_number_hangup(e, "p", "n1", 1, INT64_MAX));
    WRONG(ask_number_renew(e, "p", "n1", 1, INT64_MAX, NULL));
    WRONG(ask_number_renew_as(e, "p", "ann", &o, &hold)); /* its lease, too */
    o.lease_ms = 0;
    o.node = "";
    WRONG(ask_number_renew_as(e, "p", "ann", &o, &hold));
    o.node = NULL;
    WRONG(ask_number_list(e, "p", 9, NULL, NULL, 0, &reply));
    WRONG(ask_number_list(e, "p", -1, NULL, NULL, SIZE_MAX, &reply));
    WRONG(ask_number_list(e, "p", -1, "ann", "n1", 0, &reply));
    WRONG(ask_number_set(e, "p", 0xffffffff, &set));
    WRONG(usher_operate(e, NULL, &reply, 1));
    WRONG(usher_operate(e, &c, NULL, 1));
    WRONG(usher_operate(e, &c, &reply, 0));
    WRONG(usher_operate(e, &c, &reply, (size_t)USHER_BATCH_MAX + 1));
    WRONG(usher_operate(NULL, &c, &reply, 1));
    WRONG(usher_watch(e, USHER_NUMBER, NULL, NULL, NULL, &watch));
    WRONG(usher_watch(e, USHER_NUMBER, NULL, watcher, NULL, NULL));
    WRONG(usher_watch(e, (enum usher_noun)99, "p", watcher, NULL, &watch));
    WRONG(usher_watch(e, USHER_NUMBER, "{}", watcher, NULL, &watch));
    WRONG(usher_check(e, NULL, NULL, NULL, NULL));
    WRONG(check_faults(NULL, NULL, NULL, &faults));
    WRONG(usher_digest(e, (enum usher_noun)99, "p", digest));
    WRONG(usher_digest(e, USHER_NUMBER, NULL, digest));
    WRONG(usher_digest(e, USHER_NUMBER, "p", NULL));
#undef WRONG
    usher_close(NULL);
    usher_unwatch(e, NULL);
    usher_result_done(NULL);
    /* a command with every bit set, and an empty one */
    assert_int_equal(usher_operate(e, &c, &reply, 1), USHER_OK);
    assert_int_equal(reply.status, USHER_INVALID);
    c.verb = USHER_NUMBER_CALL;
    c.given = 0xffffffff;
    assert_int_equal(usher_operate(e, &c, &reply, 1), USHER_OK);
    assert_int_equal(reply.status, USHER_INVALID);
    for (unsigned verb = 0; verb < 0x400; verb++) {
        c.verb = (enum usher_verb)verb;
        assert_int_equal(usher_operate(e, &c, &reply, 1), USHER_OK);
        assert_int_equal(reply.status, USHER_INVALID);
        assert_is_a_line(reply.message);
    }
    assert_int_equal(usher_digest(e, USHER_NUMBER, "p", digest), USHER_OK);
    assert_string_equal(digest, before);
    usher_close(e);
}

/* ---- before and after -------------------------------------------------------------------- */

static int program_begin(void)
{
    if (chmod(test_dir(), 0755) != 0)
        return 1;
#ifdef USHER_WITH_REDIS
    server = redis_server_start(NULL);
    if (server == NULL)
        return redis_skip();
#endif
    return 0;
}

static void program_end(void)
{
#ifdef USHER_WITH_REDIS
    redis_server_stop(server);
#endif
}

TEST_PROGRAM(program_begin, program_end);
