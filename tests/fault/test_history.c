/* SPDX-License-Identifier: MIT */
/*
 * Sixteen clients, threads and processes, on one scope: their answers are those that they would
 * have got one after the other.
 *
 * Each client records its calls: the call's interval in time, and the answer with the version at
 * which it took effect.  Afterwards the whole history is put in the order of versions, and
 *
 *   - replayed in that order on an independent model (numbers, queues) or on a twin in memory
 *     (rooms, serials, ids), every answer is the same, word by word.  The model checks after each
 *     command that no number is held twice, no user is in two rooms, no room has two users, no user
 *     is overtaken or lost, and no number is issued again;
 *   - no version is missing, and none is made twice;
 *   - the order respects real time: a command that ended before another one began comes first.
 *     Together that is linearizability.
 *
 * Only sweeps advance the time: all other commands are given a time long past, and so use that of
 * the scope.  A client that is killed, or whose server is, leaves a command that may have been
 * applied or not.  If a version is missing, one of those commands must explain it, and all that
 * follows.  A command that can be sent again may have been, if it was under way when the server was
 * killed: it may explain one version besides its own answer.
 *
 * A history has 20,000 commands at most; USHER_OPS is the number of commands of a test.
 */
#include "lib/test.h"

#include <usher/store/store.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "lib/workload.h"
#include "lib/command_line.h"
#ifdef USHER_WITH_REDIS
#include "lib/servers.h"
#endif
#include "lib/util.h"
#include "model/nouns.h"

#define CLIENTS 16
#define HISTORY 20000 /* commands of one */
#define ANSWER 1600   /* bytes that are kept */
#define KILLS_MAX 8
#define MODELLED 2 /* of the scopes of workload.h */
#define PATIENT 120000
#define CHOICES                                                                                   \
    1000 /* events that are explained without another command, but may also be explained with one \
          */
#define SEARCH 60 /* seconds of processor time, so other load is not counted */

enum { UNUSED, BEGUN, ENDED };

struct event {
    _Atomic int done; /* UNUSED … */
    bool changer;     /* made its version */
    bool again;       /* may be sent again though it may have been applied */
    char line[WORKLOAD_LINE];
    char answer[ANSWER];
    enum usher_status status;
    enum usher_verb verb;
    uint64_t version;
    int64_t began_ns, ended_ns;
};

/* Shared by all processes. */
struct history {
    _Atomic int64_t clock;
    size_t each; /* events of one client, those of client i from i * each on */
    const struct workload_scope *scope;
    struct workload known[CLIENTS];
    struct event events[];
};

static int64_t worked_ns(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* ---- clients ------------------------------------------------------------------------- */

struct client {
    struct usher_engine *engine;
    struct history *h;
    unsigned i;
    uint64_t random;
    bool failed;
};

static void event_make(struct history *h, struct event *e, const struct workload *known,
                       uint64_t *random)
{
    bool ticks = h->scope->noun == USHER_NUMBER || h->scope->noun == USHER_QUEUE;

    e->line[0] = '\0';
    if (ticks && workload_below(random, 12) == 0) {
        workload_put(e->line, "%s sweep %s now=%" PRId64, usher_noun_word(h->scope->noun),
                     h->scope->name, atomic_fetch_add(&h->clock, 40) + 40);
        return;
    }
    do { /* a closed scope would begin at version 1 again */
        e->line[0] = '\0';
        h->scope->line(e->line, known, random);
    } while (strstr(e->line, " close ") != NULL);
    workload_put(e->line, " now=%" PRId64, WORKLOAD_T0);
}

/* Copy the kept part of an answer, without the reason of a refusal, which models do not have.
 * Heartbeats make no version, so two reads at one version may have any order, and deadlines, which
 * heartbeats change, are left out. */
static void keep_answer(char to[ANSWER], const struct usher_operation *c,
                        const struct usher_result *r)
{
    static const char key[] = "\"until\":";
    struct usher_result copy = *r;
    char *answer, *at;

    if (copy.status < USHER_INVALID)
        copy.message[0] = '\0';
    answer = at = line_answer(c, &copy);
    while ((c->verb == USHER_QUEUE_ROOM ||
            (c->verb == USHER_QUEUE_ALIVE && c->arg.queue.agent.data != NULL)) &&
           (at = strstr(at, key)) != NULL) {
        char *from = at + strlen(key), *end = from + strspn(from, "0123456789");

        memmove(from, end, strlen(end) + 1);
        at = from;
    }
    if (snprintf(to, ANSWER, "%s", answer) >= ANSWER && (at = strrchr(to, ',')) != NULL)
        at[1] = '\0';
    free(answer);
}

/* Compare @kept, the kept part of an answer, with @should.  A long answer was cut and ends with a
 * comma; the place of the cut depends on the length of its versions before close_gaps(). */
static bool same_answer(const char *kept, const char *should)
{
    size_t n = strlen(kept);

    if (n == 0 || kept[n - 1] != ',')
        return strcmp(kept, should) == 0;
    for (size_t i = 0; i < n; i++)
        if (kept[i] != should[i])
            return should[i] == '\0' && i > 0 && should[i - 1] == ',';
    return true;
}

/* Return false if the store failed. */
static bool event_execute(struct usher_engine *engine, struct event *e, struct workload *known)
{
    struct line line;
    struct usher_result reply;

    line_read(&line, e->line);
    e->verb = line.c.verb;
    e->again = (usher_operation_flags(&line.c) & USHER_OPERATION_REPEATABLE) != 0;
    e->began_ns = clock_ns();
    atomic_store(&e->done, BEGUN);
    (void)usher_operate(engine, &line.c, &reply, 1);
    if (reply.status == USHER_UNKNOWN || reply.status == USHER_UNAVAILABLE) {
        line_done(&line);
        return false;
    }
    e->ended_ns = clock_ns();
    keep_answer(e->answer, &line.c, &reply);
    e->status = reply.status;
    e->version = reply.version;
    workload_learn(known, &line.c, &reply);
    usher_result_done(&reply);
    line_done(&line);
    atomic_store(&e->done, ENDED);
    return true;
}

/* Execute the remaining commands of a client. */
static void *client(void *payload)
{
    struct client *c = payload;
    struct history *h = c->h;

    for (size_t i = 0; i < h->each; i++) {
        struct event *e = &h->events[c->i * h->each + i];

        if (atomic_load(&e->done) != UNUSED)
            continue;
        event_make(h, e, &h->known[c->i], &c->random);
        if (!event_execute(c->engine, e, &h->known[c->i]))
            c->failed = true; /* the event is as that of a killed client */
    }
    return NULL;
}

/* One process; @engine NULL: opens one. */
static bool process(struct history *h, const char *url, struct usher_engine *engine, unsigned from,
                    unsigned n, uint64_t seed)
{
    struct client clients[CLIENTS];
    pthread_t threads[CLIENTS];
    struct usher_engine *own = NULL;
    bool failed = false;

    if (engine == NULL) {
        struct usher_options options = USHER_OPTIONS_INIT;

        options.timeout_ms = PATIENT;
        options.clock_given = true; /* versions begin at 1, as in the model */
        if (usher_open(url, &options, &own) != USHER_OK) {
            (void)fprintf(stderr, "history: %s\n", usher_message());
            return false;
        }
        engine = own;
    }
    for (unsigned i = 0; i < n; i++) {
        clients[i] = (struct client){ engine, h, from + i, seed + i, false };
        if (pthread_create(&threads[i], NULL, client, &clients[i]) != 0)
            abort();
    }
    for (unsigned i = 0; i < n; i++) {
        (void)pthread_join(threads[i], NULL);
        failed |= clients[i].failed;
    }
    usher_close(own);
    return !failed;
}

/* ---- the replay ------------------------------------------------------------------------ */

/* Verbs that change nothing although their status is `ok`. */
static bool only_looks(enum usher_verb verb)
{
    switch (verb) {
    case USHER_NUMBER_SHOW:
    case USHER_NUMBER_LIST:
    case USHER_NUMBER_STATS:
    case USHER_QUEUE_ALIVE:
    case USHER_QUEUE_WHERE:
    case USHER_QUEUE_ROOM:
    case USHER_QUEUE_LIST:
    case USHER_QUEUE_AGENTS:
    case USHER_QUEUE_STATS:
    case USHER_QUEUE_LANES:
    case USHER_QUEUE_INTERVALS:
    case USHER_QUEUE_WAITS:
    case USHER_QUEUE_HISTORY:
    case USHER_ROOM_GET:
    case USHER_ROOM_SHOW:
    case USHER_ROOM_STATS:
    case USHER_ROOM_ALIVE:
    case USHER_ROOM_SNAPSHOT:
    case USHER_SERIAL_CHECK:
    case USHER_SERIAL_HOLDS:
    case USHER_ID_SHOW:
        return true;
    default:
        return false;
    }
}

/* Order by version; at one version the change comes first, then its reads. */
static int by_version(const void *a, const void *b)
{
    const struct event *x = *(struct event *const *)a, *y = *(struct event *const *)b;

    if (x->version != y->version)
        return x->version < y->version ? -1 : 1;
    if (x->changer != y->changer)
        return x->changer ? -1 : 1;
    return x->began_ns < y->began_ns ? -1 : x->began_ns > y->began_ns;
}

struct interval {
    int64_t began_ns, ended_ns;
};

/* A command that may have been applied without an answer, or once more after its answer. */
struct ghost {
    const struct event *e;
    int64_t last_ns; /* applied before this, when the server was gone; INT64_MAX: unknown */
    bool used;
};

/* Order commands without an answer by their begin: most likely they were applied in that order,
 * which is their order in a batch. */
static int by_begin(const void *a, const void *b)
{
    const struct ghost *x = a, *y = b;

    return x->e->began_ns < y->e->began_ns ? -1 : x->e->began_ns > y->e->began_ns;
}

struct replay {
    const struct noun_model *model; /* NULL: a twin */
    struct event **events;          /* in order */
    size_t n;
    int64_t *began_max; /* of the events up to that one */
    struct ghost ghosts[CLIENTS * KILLS_MAX * 16];
    size_t n_ghosts, explained, choices;
    int64_t end; /* of the search */
    /* The event at which the furthest try ended, and the answer that it should have. */
    size_t worst;
    char should[ANSWER];
};

static void *state_open(const struct replay *r)
{
    struct usher_engine *e = NULL;

    if (r->model != NULL)
        return r->model->open(NULL, NULL);
    assert_int_equal(usher_open("memory:", NULL, &e), USHER_OK);
    return e;
}

static void state_close(const struct replay *r, void *state)
{
    if (r->model != NULL)
        r->model->close(state);
    else
        usher_close(state);
}

/* Execute @text on @state; return the version and store its answer in @answer. */
static uint64_t state_execute(const struct replay *r, void *state, const char *text,
                              char answer[ANSWER])
{
    struct line line;
    struct usher_result reply;
    uint64_t version;

    line_read(&line, text);
    if (r->model != NULL)
        r->model->execute(state, &line.c, &reply);
    else
        (void)usher_operate(state, &line.c, &reply, 1);
    version = reply.version;
    keep_answer(answer, &line.c, &reply);
    if (r->model != NULL)
        r->model->reply_done(&reply);
    else
        usher_result_done(&reply);
    line_done(&line);
    return version;
}

/* Return whether @g may have been applied just before event @i. */
static bool may_be(const struct replay *r, const struct ghost *g, size_t i)
{
    return !g->used && g->e->began_ns <= r->events[i]->ended_ns &&
           (i == 0 || r->began_max[i - 1] <= g->last_ns);
}

static bool any_may_be(const struct replay *r, size_t i)
{
    for (size_t k = 0; k < r->n_ghosts; k++)
        if (may_be(r, &r->ghosts[k], i))
            return true;
    return false;
}

static bool explains(struct replay *r, void *state, uint64_t at, size_t i);

/* Return whether all events from @i on are explained if one more command was applied before, to
 * @before at version @at. */
static bool one_more_explains(struct replay *r, const void *before, uint64_t at, size_t i)
{
    char answer[ANSWER];

    for (size_t k = 0; k < r->n_ghosts && worked_ns() <= r->end; k++) {
        struct ghost *g = &r->ghosts[k];
        void *after;
        uint64_t then;

        if (!may_be(r, g, i))
            continue;
        after = r->model->copy(before, NULL, NULL);
        then = state_execute(r, after, g->e->line, answer);
        if (then > r->events[i]->version ||
            then <= at) { /* it does not explain the missing version */
            r->model->close(after);
            continue;
        }
        g->used = true;
        r->explained++;
        if (explains(r, after, then, i))
            return true;
        g->used = false;
        r->explained--;
    }
    return false;
}

/* Return whether all events from @i on are explained by @state at version @at.  Close @state.
 * Return false if there is no time left. */
static bool explains(struct replay *r, void *state, uint64_t at, size_t i)
{
    char answer[ANSWER];

    for (; i < r->n; i++) {
        const struct event *e = r->events[i];
        void *before = any_may_be(r, i) ? r->model->copy(state, NULL, NULL) : NULL;
        uint64_t version = state_execute(r, state, e->line, answer);
        const char *fault = r->model != NULL ? r->model->fault(state) : NULL;
        bool good = version == e->version && same_answer(e->answer, answer) && fault == NULL;

        if (!good && i >= r->worst) {
            r->worst = i;
            (void)snprintf(r->should, sizeof r->should, "%s%s", fault != NULL ? fault : "", answer);
        }
        /* If it made one version, no other command can have been applied before it. */
        if (good && (before == NULL || version - at < 2 || r->choices == CHOICES)) {
            if (before != NULL)
                r->model->close(before);
            at = version;
            continue;
        }
        if (good) {
            r->choices++;
            good = explains(r, state, version, i + 1);
            r->choices--;
        } else {
            state_close(r, state);
        }
        if (!good && before != NULL)
            good = one_more_explains(r, before, at, i);
        if (before != NULL)
            r->model->close(before);
        return good;
    }
    state_close(r, state);
    return true;
}

static void replay(struct history *h, size_t n, const char *const *first, size_t n_first,
                   const struct interval *kills, unsigned n_kills)
{
    struct replay r;
    void *state;
    const struct event *latest = NULL; /* began last, of those up to a version */
    uint64_t at = 0;

    memset(&r, 0, sizeof r);
    r.model = h->scope->noun == USHER_NUMBER  ? &number_noun
              : h->scope->noun == USHER_QUEUE ? &queue_noun
                                              : NULL;
    r.events = calloc(n, sizeof *r.events);
    r.began_max = calloc(n, sizeof *r.began_max);
    assert_non_null(r.events);
    assert_non_null(r.began_max);
    for (size_t i = 0; i < n; i++) {
        struct event *e = &h->events[i];
        bool ended = atomic_load(&e->done) == ENDED;
        struct ghost ghost = { e, INT64_MAX, false };

        for (unsigned k = 0; k < n_kills; k++)
            if (e->began_ns <= kills[k].ended_ns && (!ended || e->ended_ns >= kills[k].began_ns) &&
                ghost.last_ns == INT64_MAX)
                ghost.last_ns = kills[k].ended_ns;
        if (e->line[0] != '\0' && !only_looks(e->verb) &&
            (!ended || (e->again && ghost.last_ns != INT64_MAX))) {
            assert_true(r.n_ghosts < sizeof r.ghosts / sizeof *r.ghosts);
            r.ghosts[r.n_ghosts++] = ghost;
        }
        if (!ended || e->status == USHER_LOST) /* changes nothing; models do not have it */
            continue;
        e->changer = e->status == USHER_OK && !only_looks(e->verb);
        r.events[r.n++] = e;
    }
    if (n_kills == 0)
        assert_int_equal(r.n_ghosts, 0);
    qsort(r.ghosts, r.n_ghosts, sizeof *r.ghosts, by_begin);
    qsort(r.events, r.n, sizeof *r.events, by_version);
    for (size_t i = 0; i < r.n; i++) {
        const struct event *e = r.events[i];

        if (latest == NULL || e->began_ns > latest->began_ns)
            latest = e;
        if (e->ended_ns < latest->began_ns)
            fail_msg("%s -> %s: ended at version %" PRIu64 " before this began: %s -> %s", e->line,
                     e->answer, e->version, latest->line, latest->answer);
        r.began_max[i] = latest->began_ns;
    }
    r.end = worked_ns() + SEARCH * INT64_C(1000000000);
    state = state_open(&r);
    for (size_t i = 0; i < n_first; i++) {
        char answer[ANSWER];

        at = state_execute(&r, state, first[i], answer);
    }
    if (!explains(&r, state, at, 0)) {
        for (size_t i = r.worst > 12 ? r.worst - 12 : 0; i <= r.worst; i++)
            print_error("%s -> %s", r.events[i]->line, r.events[i]->answer);
        fail_msg("%sthe answer to the last one should have been %s",
                 worked_ns() > r.end ? "no more time; " : "", r.should);
    }
    if (n_kills > 0)
        print_message("%s: %zu without answer, %zu of them applied\n",
                      usher_noun_word(h->scope->noun), r.n_ghosts, r.explained);
    free(r.began_max);
    free(r.events);
}

/* ---- a history --------------------------------------------------------------------------- */

static size_t operations(size_t usual)
{
    return (size_t)budget_of("USHER_OPS", usual);
}

static uint64_t seed_of_run(void)
{
    const char *given = getenv("USHER_SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : (uint64_t)clock_ns();

    print_message("USHER_SEED=%" PRIu64 "\n", seed);
    return seed;
}

struct plan {
    unsigned processes; /* 1: this one */
    unsigned kills;
    bool (*fresh)(char *url, size_t size);
    /* Kill the server and start it again; store the time when it was certainly gone.  NULL: clients
     * are killed. */
    bool (*kill_server)(int64_t *ret_gone_ns);
    /* Store the jumps of versions in @gaps, oldest first; return their number.  A jump means that
     * the store was another one from then on. */
    unsigned (*gaps)(const struct workload_scope *scope, struct usher_gap gaps[USHER_GAPS]);
};

/* Change the versions in @text, and the tokens named by one, as if none had jumped: models have no
 * jumps.  Versions after a gap are greater than any time. */
static void text_close_gaps(char *text, const struct usher_gap *gaps, unsigned n)
{
    char *to = text;

    for (const char *at = text; *at != '\0';) {
        size_t digits = strspn(at, "0123456789");
        uint64_t value = digits > 0 && digits < 17 ? strtoull(at, NULL, 10) : 0, by = 0;

        for (unsigned i = 0; i < n; i++)
            if (value > gaps[i].first)
                by += gaps[i].first - gaps[i].last;
        if (by > 0) {
            to += sprintf(to, "%" PRIu64, value - by);
            at += digits;
            continue;
        }
        for (digits += digits == 0; digits > 0; digits--)
            *to++ = *at++;
    }
    *to = '\0';
}

static void close_gaps(struct history *h, size_t n, const struct plan *plan)
{
    struct usher_gap gaps[USHER_GAPS];
    unsigned n_gaps = plan->gaps != NULL ? plan->gaps(h->scope, gaps) : 0;

    for (size_t i = 0; i < n; i++) {
        struct event *e = &h->events[i];
        uint64_t by = 0;

        for (unsigned k = 0; k < n_gaps; k++)
            if (e->version > gaps[k].first)
                by += gaps[k].first - gaps[k].last;
        e->version -= by;
        text_close_gaps(e->line, gaps, n_gaps);
        text_close_gaps(e->answer, gaps, n_gaps);
    }
    if (plan->gaps != NULL)
        print_message("%s: versions jumped %u times\n", usher_noun_word(h->scope->noun), n_gaps);
}

static size_t progress(const struct history *h, size_t n)
{
    size_t done = 0;

    for (size_t i = 0; i < n; i++)
        done += atomic_load(&h->events[i].done) == ENDED;
    return done;
}

static pid_t process_new(struct history *h, const char *url, unsigned i, unsigned clients,
                         uint64_t seed)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(process(h, url, NULL, i * clients, clients, seed) ? 0 : 1);
    }
    return pid;
}

/* Run all processes.  Return the number of kills. */
static unsigned run_processes(struct history *h, const char *url, const struct plan *plan,
                              uint64_t seed, struct interval kills[KILLS_MAX])
{
    unsigned clients = CLIENTS / plan->processes, n_kills = 0;
    pid_t children[CLIENTS];
    uint64_t random = seed;

    for (unsigned i = 0; i < plan->processes; i++)
        children[i] = process_new(h, url, i, clients, seed + 1000 * (uint64_t)i);
    while (n_kills < plan->kills) {
        size_t n = h->each * CLIENTS, until = n * (n_kills + 1) / (plan->kills + 1);
        unsigned who = workload_below(&random, plan->processes);
        int64_t end = clock_ns() + PATIENT * INT64_C(1000000);

        while (progress(h, n) < until) {
            assert_true(clock_ns() < end);
            (void)usleep(500);
        }
        for (volatile uint64_t spin = next_random(&random) % 100000; spin > 0; spin = spin - 1) {
        }
        if (plan->kill_server != NULL) {
            kills[n_kills].began_ns = clock_ns();
            assert_true(plan->kill_server(&kills[n_kills].ended_ns));
            n_kills++;
            continue;
        }
        assert_int_equal(kill(children[who], SIGKILL), 0);
        assert_true(waitpid(children[who], NULL, 0) == children[who]);
        n_kills++;
        children[who] = process_new(h, url, who, clients, seed + 77777 * (uint64_t)n_kills);
    }
    for (unsigned i = 0; i < plan->processes; i++) {
        int status;

        assert_true(waitpid(children[i], &status, 0) == children[i]);
        assert_true(WIFEXITED(status));
        if (plan->kills == 0)
            assert_int_equal(WEXITSTATUS(status), 0);
    }
    return n_kills;
}

/* Return whether @line, "NOUN VERB NAME …", is a command on @scope. */
static bool is_of(const struct workload_scope *scope, const char *line)
{
    const char *noun = usher_noun_word(scope->noun), *name = strchr(line, ' ');
    size_t n = strlen(scope->name);

    name = name != NULL ? strchr(name + 1, ' ') : NULL;
    return name != NULL && strncmp(line, noun, strlen(noun)) == 0 &&
           strncmp(name + 1, scope->name, n) == 0 && (name[n + 1] == ' ' || name[n + 1] == '\0');
}

/* These reads at the end belong to the history. */
static const char *const last_looks[] = {
    "number list p",      "queue list desk",   "queue list desk state=seated",
    "queue agents desk",  "queue stats desk",  "room get lounge",
    "serial check order", "serial holds bill", "id show ids",
};
#define LOOKS (sizeof last_looks / sizeof *last_looks)

static void one_history(const struct plan *plan, const struct workload_scope *scope, uint64_t seed,
                        size_t commands)
{
    size_t each = commands / CLIENTS, n = each * CLIENTS;
    size_t size = sizeof(struct history) + (n + LOOKS) * sizeof(struct event);
    struct history *h = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct usher_options options = USHER_OPTIONS_INIT;
    struct usher_engine *engine;
    char url[1200], lines[16][WORKLOAD_LINE];
    const char *first[16];
    size_t n_first = 0;
    struct interval kills[KILLS_MAX] = { { 0, 0 } }; /* of the server */
    unsigned n_kills = 0;

    assert_true(h != MAP_FAILED);
    h->each = each;
    h->scope = scope;
    atomic_store(&h->clock, WORKLOAD_T0);
    assert_true(plan->fresh(url, sizeof url));
    options.clock_given = true; /* versions begin at 1, as in the model */
    if (usher_open(url, &options, &engine) != USHER_OK)
        fail_msg("%s", usher_message());
    for (unsigned i = 0; i < workload_n_begin; i++) {
        struct event e;
        struct workload known;

        lines[n_first][0] = '\0';
        workload_put(lines[n_first], "%s now=%" PRId64, workload_begin[i], WORKLOAD_T0);
        /* A user that is away would come back by a heartbeat.  A heartbeat makes no version, so one
         * without an answer could not be found by its version.  The end of a refusal makes no
         * version, either, so with kills none ends. */
        if (strstr(lines[n_first], " desk ") != NULL)
            (void)snprintf(lines[n_first], WORKLOAD_LINE,
                           "queue set desk ttl=%d again=%d history=20 now=%" PRId64,
                           plan->kills > 0 ? 0 : 4000, plan->kills > 0 ? 3600000 : 1000,
                           WORKLOAD_T0);
        memset(&e, 0, sizeof e);
        memcpy(e.line, lines[n_first], sizeof e.line);
        assert_true(event_execute(engine, &e, &known));
        if (is_of(scope, lines[n_first])) {
            first[n_first] = lines[n_first];
            n_first++;
        }
    }
    if (plan->processes == 1) {
        assert_true(process(h, url, engine, 0, CLIENTS, seed));
    } else {
        usher_close(engine);
        n_kills = run_processes(h, url, plan, seed, kills);
        assert_int_equal(usher_open(url, &options, &engine), USHER_OK);
    }
    for (size_t i = 0; i < LOOKS; i++) {
        struct event *e = &h->events[n];
        struct workload known;

        if (!is_of(scope, last_looks[i]))
            continue;
        (void)snprintf(e->line, sizeof e->line, "%s now=%" PRId64, last_looks[i], WORKLOAD_T0);
        assert_true(event_execute(engine, e, &known));
        n++;
    }
    close_gaps(h, n, plan);
    replay(h, n, first, n_first, kills, n_kills);
    audit(engine);
    usher_close(engine);
    (void)munmap(h, size);
}

/* @commands in all, in histories of the nouns in turn; with kills, of those that have models. */
static void histories(const struct plan *plan, size_t commands)
{
    uint64_t seed = seed_of_run();
    size_t all = operations(commands) / (plan->kills > 0 ? MODELLED : WORKLOAD_SCOPES);

    for (unsigned k = 0; k < WORKLOAD_SCOPES; k++) {
        const struct workload_scope *scope = &workload_scopes[k];

        if (plan->kills > 0 && scope->noun != USHER_NUMBER && scope->noun != USHER_QUEUE)
            continue;
        for (size_t done = 0; done < all; done += HISTORY, seed++)
            one_history(plan, scope, seed, all - done < HISTORY ? all - done : HISTORY);
    }
}

/* ---- stores -------------------------------------------------------------------------------- */

static bool memory_fresh(char *url, size_t size)
{
    return snprintf(url, size, "memory:") > 0;
}

TEST(sixteen_threads_in_memory)
{
    static const struct plan plan = { 1, 0, memory_fresh, NULL, NULL };

    histories(&plan, 240000);
}

#ifdef USHER_WITH_SQLITE
static unsigned files;

static bool sqlite_fresh(char *url, size_t size)
{
    return snprintf(url, size, "sqlite:%s/%u.db?sync=normal", test_dir(), files++) > 0;
}

TEST_WITH(sixteen_clients_in_processes_on_one_file, NULL, test_dir_remove)
{
    static const struct plan plan = { 4, 0, sqlite_fresh, NULL, NULL };

    histories(&plan, 120000);
}

TEST_WITH(clients_that_are_killed_on_one_file, NULL, test_dir_remove)
{
    static const struct plan plan = { 4, 5, sqlite_fresh, NULL, NULL };

    histories(&plan, 16000);
}
#endif

#ifdef USHER_WITH_REDIS
static struct redis_server *server;

static bool redis_fresh(char *url, size_t size)
{
    char of_server[REDIS_URL_MAX];

    if (!redis_do_ok(server, "FLUSHALL", NULL))
        return false;
    return snprintf(url, size, "%s", redis_server_url(server, of_server)) > 0;
}

static bool redis_killed(int64_t *ret_gone_ns)
{
    bool killed = redis_server_kill(server, SIGKILL) == 0;

    *ret_gone_ns = clock_ns();
    return killed && redis_server_restart(server);
}

static unsigned redis_gaps(const struct workload_scope *scope, struct usher_gap gaps[USHER_GAPS])
{
    char key[128];
    redisReply *reply;
    unsigned n = 0;

    (void)snprintf(key, sizeof key, "{%s}:%s", scope->name, usher_noun_word(scope->noun));
    reply = redis_do(server, "HGET", key, "gaps", NULL);
    assert_non_null(reply);
    for (; reply->type == REDIS_REPLY_STRING && 14 * n < reply->len; n++) {
        uint64_t value[2] = { 0, 0 };

        assert_true(n < USHER_GAPS);
        for (unsigned i = 0; i < 14; i++)
            value[i / 7] = value[i / 7] << 8 | (unsigned char)reply->str[14 * n + i];
        gaps[n].last = value[0];
        gaps[n].first = value[1];
    }
    freeReplyObject(reply);
    return n;
}

TEST(sixteen_clients_in_processes_on_one_redis)
{
    static const struct plan plan = { 4, 0, redis_fresh, NULL, NULL };

    assert_true(redis_do_ok(server, "CONFIG", "SET", "appendfsync", "no", NULL));
    histories(&plan, 120000);
    assert_true(redis_do_ok(server, "CONFIG", "SET", "appendfsync", "always", NULL));
}

TEST(clients_that_are_killed_on_one_redis)
{
    static const struct plan plan = { 4, 5, redis_fresh, NULL, NULL };

    histories(&plan, 16000);
}

TEST(clients_of_a_redis_that_is_killed)
{
    static const struct plan plan = { 4, 3, redis_fresh, redis_killed, redis_gaps };

    histories(&plan, 16000);
}
#endif

#ifdef USHER_WITH_REDIS
static int program_begin(void)
{
    struct redis_server_options options = { .aof = REDIS_AOF_ALWAYS };

    server = redis_server_start(&options);
    return server != NULL ? 0 : redis_skip();
}

static void program_end(void)
{
    redis_server_stop(server);
}

TEST_PROGRAM(program_begin, program_end);
#endif
