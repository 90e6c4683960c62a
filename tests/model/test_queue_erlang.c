/* SPDX-License-Identifier: MIT */
/*
 * Queues of many users come out as queueing theory says they must.
 *
 * Users arrive as a Poisson process; service and patience are exponential; time is simulated,
 * and every arrival, end of service and hang-up is a command to a real engine on memory.  The
 * measured values are compared with the exact ones of the Erlang models, which recursions give:
 *
 *   B  a user leaves if all agents are busy      blocking.
 *   C  all users wait                            probability and mean of the wait.
 *   A  a waiting user leaves after its patience  the same, and the share that leaves.
 *
 * Waits of neighbours are alike, so a run is cut into batches much longer than that lasts, and
 * the confidence interval is Student's of the batches' means.  One figure in a hundred is outside
 * of its 99 % interval by chance.  The six cells of CI have fixed seeds with which none is.
 * With USHER_LONG=1 there are all cells with a million calls each, and with USHER_SEED other
 * seeds: then one figure in twenty may be out, and none may be outside of an interval so wide
 * that all figures are in it with 99 % (Bonferroni).
 */
#include "lib/test.h"

#include <math.h>

#include "lib/util.h"
#include "model/gen.h"

#define BATCHES 40
/* Student's t with 39 degrees of freedom, two-sided: 99 % for each of 4 figures of 40 cells */
#define T_ONE 2.708
#define T_ALL 4.70
#define AGENTS_MAX 64
#define WAITING_MAX 4096
#define SEED_DEFAULT 1917

/* ---- what must come out -------------------------------------------------------------- */

struct figures {
    double waits;    /* probability of not being served at once (B: of being lost) */
    double mean;     /* wait of all who arrive, in mean service times */
    double abandons; /* probability of hanging up */
    double busy;     /* mean number of busy agents */
};

/* @load erlangs on @n agents; @patience in mean service times, 0: no user waits (B), INFINITY:
 * no user hangs up (C). */
static struct figures exactly(double load, int n, double patience)
{
    struct figures f = { 0, 0, 0, 0 };
    double b = 1;

    for (int i = 1; i <= n; i++)
        b = load * b / (i + load * b);
    if (patience <= 0) {
        f.waits = f.abandons = b;
        f.busy = load * (1 - b);
    } else if (isinf(patience)) {
        f.waits = n * b / (n - load * (1 - b));
        f.mean = f.waits / (n - load);
        f.busy = load;
    } else {
        /* Probabilities of n, n + 1, … users, as multiples of that of n. */
        double p = 1, sum = 1, waiting = 0, total;

        for (int j = 1; p > 1e-18 || j < 1000; j++) {
            p *= load / (n + j / patience);
            sum += p;
            waiting += j * p;
        }
        total = 1 / b + sum - 1; /* of 0 … n - 1 and the rest, as multiples of that of n */
        f.waits = sum / total;
        f.mean = waiting / total / load;
        f.abandons = f.mean / patience;
        f.busy = load * (1 - f.abandons);
    }
    return f;
}

/* ---- a simulation -------------------------------------------------------------------- */

enum what { ARRIVES, HANGS_UP, IS_SERVED };

struct event {
    int64_t at_us; /* µs: of commands only whole ms count */
    enum what what;
    uint32_t user;
};

struct heap {
    struct event *event;
    size_t n, room;
};

static bool earlier(const struct event *a, const struct event *b)
{
    return a->at_us != b->at_us ? a->at_us < b->at_us : a->what > b->what;
}

static void push(struct heap *h, struct event e)
{
    size_t i = h->n++;

    if (h->n > h->room) {
        h->room = h->room * 2 + 256;
        h->event = realloc(h->event, h->room * sizeof *h->event);
        if (h->event == NULL)
            abort();
    }
    for (; i > 0 && earlier(&e, &h->event[(i - 1) / 2]); i = (i - 1) / 2)
        h->event[i] = h->event[(i - 1) / 2];
    h->event[i] = e;
}

static struct event pop(struct heap *h)
{
    struct event top = h->event[0], last = h->event[--h->n];
    size_t i = 0;

    for (size_t child; (child = 2 * i + 1) < h->n; i = child) {
        if (child + 1 < h->n && earlier(&h->event[child + 1], &h->event[child]))
            child++;
        if (!earlier(&h->event[child], &last))
            break;
        h->event[i] = h->event[child];
    }
    h->event[i] = last;
    return top;
}

struct cell {
    double load;
    int agents;
    double patience;
    enum usher_queue_strategy strategy;
};

/* One user, in a ring of those that are there at the same time. */
struct caller {
    uint32_t user; /* 0: free */
    int64_t arrived_us, service_us;
    bool seated;
};

struct batch {
    double arrived, waits, wait, abandons, busy_us;
};

struct run {
    struct usher_engine *e;
    const struct cell *cell;
    struct rng service, patience, arrival;
    struct heap events;
    struct caller callers[WAITING_MAX];
    int64_t now_us, last_us;
    int busy;
    struct batch *batch;
};

/* Mean service is a second: @mean in those. */
static int64_t exponential_us(struct rng *r, double mean)
{
    double u = ((double)(rng_next(r) >> 11) + 0.5) / 9007199254740992.0;

    return (int64_t)(-log(u) * mean * 1e6);
}

static void command_init(struct run *run, struct usher_operation *c, enum usher_verb verb)
{
    memset(c, 0, sizeof *c);
    c->verb = verb;
    c->scope = (struct usher_text){ "q", 1 };
    c->given = USHER_GIVEN_NOW;
    c->now_ms = run->now_us / 1000;
}

static struct usher_result execute(struct run *run, const struct usher_operation *c)
{
    struct usher_result r;

    memset(&r, 0, sizeof r);
    assert_int_equal(usher_operate(run->e, c, &r, 1), USHER_OK);
    return r;
}

/* Note a user that an agent got, by apply or by finish of another. */
static void matched(void *payload, const struct usher_notice *notice)
{
    struct run *run = payload;
    struct caller *c;
    char name[16];
    uint32_t user;

    if (notice->verb != USHER_QUEUE_MATCH)
        return;
    assert_true(notice->subject.size < sizeof name);
    memcpy(name, notice->subject.data, notice->subject.size);
    name[notice->subject.size] = '\0';
    user = (uint32_t)strtoul(name, NULL, 10);
    c = &run->callers[user % WAITING_MAX];
    assert_int_equal(c->user, user);
    assert_false(c->seated);
    c->seated = true;
    run->busy++;
    run->batch->wait += (double)(run->now_us - c->arrived_us);
    push(&run->events, (struct event){ run->now_us + c->service_us, IS_SERVED, user });
}

static struct usher_text name_of(char to[16], uint32_t user)
{
    return (struct usher_text){ to, (size_t)snprintf(to, 16, "%" PRIu32, user) };
}

static void arrives(struct run *run, uint32_t user)
{
    struct caller *c = &run->callers[user % WAITING_MAX];
    struct usher_operation command;
    struct usher_result r;
    char name[16];

    assert_int_equal(c->user, 0); /* else the ring is too small */
    *c = (struct caller){ user, run->now_us, exponential_us(&run->service, 1), false };
    run->batch->arrived++;
    command_init(run, &command, USHER_QUEUE_APPLY);
    command.arg.queue.user = name_of(name, user);
    r = execute(run, &command);
    assert_int_equal(r.status, USHER_OK);
    assert_int_equal(r.of.queue.place,
                     c->seated ? USHER_QUEUE_PLACE_ROOM : USHER_QUEUE_PLACE_QUEUE);
    if (c->seated)
        return;
    run->batch->waits++;
    if (run->cell->patience <= 0) { /* no user waits: gone at once */
        command_init(run, &command, USHER_QUEUE_LEAVE);
        command.arg.queue.user = name_of(name, user);
        r = execute(run, &command);
        assert_int_equal(r.status, USHER_OK);
        run->batch->abandons++;
        c->user = 0;
    } else if (!isinf(run->cell->patience)) {
        int64_t until = run->now_us + exponential_us(&run->patience, run->cell->patience);

        push(&run->events, (struct event){ until, HANGS_UP, user });
    }
}

static void leaves(struct run *run, const struct event *event)
{
    struct caller *c = &run->callers[event->user % WAITING_MAX];
    struct usher_operation command;
    struct usher_result r;
    char name[16];

    if (c->user != event->user || (event->what == HANGS_UP && c->seated))
        return; /* it was served before its patience was over */
    if (event->what == HANGS_UP) {
        run->batch->abandons++;
        run->batch->wait += (double)(run->now_us - c->arrived_us);
    } else {
        run->busy--;
    }
    c->user = 0;
    command_init(run, &command, USHER_QUEUE_LEAVE);
    command.arg.queue.user = name_of(name, event->user);
    r = execute(run, &command);
    assert_int_equal(r.status, USHER_OK);
}

/* @users arrivals, in batches; the first half batch only fills the queue. */
static void simulate(const struct cell *cell, uint64_t seed, uint32_t users,
                     struct batch batches[BATCHES])
{
    static struct run run;
    struct usher_watcher *watch;
    struct usher_operation c;
    struct batch warm;
    uint32_t warm_users = users / BATCHES / 2;

    memset(&run, 0, sizeof run);
    memset(batches, 0, BATCHES * sizeof *batches);
    memset(&warm, 0, sizeof warm);
    run.cell = cell;
    rng_seed(&run.arrival, seed);
    rng_seed(&run.service, seed + 1000003);
    rng_seed(&run.patience, seed + 2000003);
    assert_int_equal(usher_open("memory:", NULL, &run.e), USHER_OK);
    command_init(&run, &c, USHER_QUEUE_SET);
    c.given |= USHER_GIVEN_QUEUE_TTL | USHER_GIVEN_QUEUE_STRATEGY | USHER_GIVEN_QUEUE_HISTORY;
    c.arg.queue.strategy = cell->strategy;
    assert_int_equal(execute(&run, &c).status, USHER_OK);
    for (int i = 1; i <= cell->agents; i++) {
        char name[16];

        command_init(&run, &c, USHER_QUEUE_LOGIN);
        c.arg.queue.agent = name_of(name, (uint32_t)i);
        assert_int_equal(execute(&run, &c).status, USHER_OK);
    }
    assert_int_equal(usher_watch(run.e, USHER_QUEUE, "q", matched, &run, &watch), USHER_OK);
    run.batch = &warm;
    push(&run.events, (struct event){ 0, ARRIVES, 1 });
    while (run.events.n > 0) {
        struct event event = pop(&run.events);

        run.batch->busy_us += (double)run.busy * (double)(event.at_us - run.now_us);
        run.now_us = event.at_us;
        if (event.what != ARRIVES) {
            leaves(&run, &event);
            continue;
        }
        if (event.user > warm_users)
            run.batch = &batches[(uint64_t)(event.user - warm_users - 1) * BATCHES / users];
        arrives(&run, event.user);
        if (event.user < users + warm_users)
            push(&run.events,
                 (struct event){ run.now_us + exponential_us(&run.arrival, 1 / cell->load), ARRIVES,
                                 event.user + 1 });
        else
            break; /* the last batch ends here: those who are left belong to no figure */
    }
    usher_unwatch(run.e, watch);
    audit(run.e);
    usher_close(run.e);
    free(run.events.event);
}

/* ---- does it agree? ------------------------------------------------------------------ */

static unsigned figures, out; /* of 99 % */

static bool agrees(const char *what, const struct cell *cell, const double sample[BATCHES],
                   double wanted, FILE *f)
{
    double mean = 0, square = 0, error;

    for (int i = 0; i < BATCHES; i++)
        mean += sample[i] / BATCHES;
    for (int i = 0; i < BATCHES; i++)
        square += (sample[i] - mean) * (sample[i] - mean) / (BATCHES - 1);
    error = sqrt(square / BATCHES);
    (void)fprintf(f, "%6.2f erlangs, %2d agents, patience %5.2f: %-9s %.5f, is %.5f +- %.5f%s\n",
                  cell->load, cell->agents, cell->patience, what, wanted, mean, T_ONE * error,
                  fabs(mean - wanted) <= T_ONE * error ? "" : "  (out of 99 %)");
    figures++;
    out += fabs(mean - wanted) > T_ONE * error;
    return fabs(mean - wanted) <= T_ALL * error;
}

static bool cell_agrees(const struct cell *cell, uint64_t seed, uint32_t users)
{
    static struct batch batches[BATCHES];
    struct figures wanted = exactly(cell->load, cell->agents, cell->patience);
    double waits[BATCHES], wait[BATCHES], abandons[BATCHES], busy[BATCHES];
    bool good = true;

    simulate(cell, seed, users, batches);
    for (int i = 0; i < BATCHES; i++) {
        const struct batch *b = &batches[i];

        waits[i] = b->waits / b->arrived;
        wait[i] = b->wait / 1e6 / b->arrived;
        abandons[i] = b->abandons / b->arrived;
        /* in terms of the mean time of the same number of arrivals */
        busy[i] = b->busy_us / 1e6 / (b->arrived / cell->load);
    }
    good &= agrees("waits", cell, waits, wanted.waits, stdout);
    if (cell->patience > 0)
        good &= agrees("mean wait", cell, wait, wanted.mean, stdout);
    if (cell->patience > 0 && !isinf(cell->patience))
        good &= agrees("abandons", cell, abandons, wanted.abandons, stdout);
    good &= agrees("busy", cell, busy, wanted.busy, stdout);
    return good;
}

/* The first six in CI: two of each model. */
static const struct cell cells[] = {
    { 3.0, 5, 0, USHER_QUEUE_STRATEGY_LONGEST_IDLE },
    { 20.0, 24, 0, USHER_QUEUE_STRATEGY_RANDOM },
    { 2.0, 3, INFINITY, USHER_QUEUE_STRATEGY_LONGEST_IDLE },
    { 8.0, 10, INFINITY, USHER_QUEUE_STRATEGY_FEWEST_SERVED },
    { 5.0, 5, 1.5, USHER_QUEUE_STRATEGY_ROUND_ROBIN },
    { 20.0, 18, 0.75, USHER_QUEUE_STRATEGY_LONGEST_IDLE },
    /* B */
    { 0.5, 1, 0, USHER_QUEUE_STRATEGY_LONGEST_IDLE },
    { 1.0, 1, 0, USHER_QUEUE_STRATEGY_LEVEL },
    { 4.0, 3, 0, USHER_QUEUE_STRATEGY_ROUND_ROBIN },
    { 10.0, 10, 0, USHER_QUEUE_STRATEGY_LEAST_BUSY },
    { 10.0, 15, 0, USHER_QUEUE_STRATEGY_FEWEST_SERVED },
    { 30.0, 25, 0, USHER_QUEUE_STRATEGY_LONGEST_IDLE },
    { 40.0, 50, 0, USHER_QUEUE_STRATEGY_RANDOM },
    { 60.0, 64, 0, USHER_QUEUE_STRATEGY_LONGEST_IDLE },
    /* C */
    { 0.5, 1, INFINITY, USHER_QUEUE_STRATEGY_LONGEST_IDLE },
    { 0.8, 1, INFINITY, USHER_QUEUE_STRATEGY_LONGEST_IDLE },
    { 1.5, 2, INFINITY, USHER_QUEUE_STRATEGY_ROUND_ROBIN },
    { 4.0, 5, INFINITY, USHER_QUEUE_STRATEGY_RANDOM },
    { 10.0, 12, INFINITY, USHER_QUEUE_STRATEGY_LEAST_BUSY },
    { 10.0, 14, INFINITY, USHER_QUEUE_STRATEGY_LONGEST_IDLE },
    { 20.0, 23, INFINITY, USHER_QUEUE_STRATEGY_LEVEL },
    { 27.083, 34, INFINITY, USHER_QUEUE_STRATEGY_LONGEST_IDLE },
    { 50.0, 56, INFINITY, USHER_QUEUE_STRATEGY_FEWEST_SERVED },
    /* A */
    { 0.9, 1, 2.0, USHER_QUEUE_STRATEGY_LONGEST_IDLE },
    { 2.0, 1, 0.5, USHER_QUEUE_STRATEGY_LONGEST_IDLE },
    { 2.0, 2, 1.0, USHER_QUEUE_STRATEGY_ROUND_ROBIN },
    { 4.0, 5, 0.3, USHER_QUEUE_STRATEGY_RANDOM },
    { 6.0, 4, 2.0, USHER_QUEUE_STRATEGY_LEVEL },
    { 10.0, 10, 1.0, USHER_QUEUE_STRATEGY_LEAST_BUSY },
    { 10.0, 14, 1.6667, USHER_QUEUE_STRATEGY_LONGEST_IDLE },
    { 15.0, 20, 4.0, USHER_QUEUE_STRATEGY_FEWEST_SERVED },
    { 30.0, 28, 2.0, USHER_QUEUE_STRATEGY_LONGEST_IDLE },
    { 50.0, 60, 1.0, USHER_QUEUE_STRATEGY_RANDOM },
    { 60.0, 50, 1.0, USHER_QUEUE_STRATEGY_LONGEST_IDLE },
};

TEST(queues_agree_with_the_erlang_models)
{
    bool all = budget_long(), good = true;
    bool chosen = getenv("USHER_SEED") != NULL;
    uint64_t seed = number_from("USHER_SEED", SEED_DEFAULT);
    size_t n = all ? sizeof cells / sizeof *cells : 6;

    for (size_t i = 0; i < n; i++)
        good &= cell_agrees(&cells[i], seed + i, all ? 1000000 : 200000);
    assert_true(good);
    assert_true(out <= (all || chosen ? (figures + 19) / 20 : 0));
}

static void near(double value, double wanted, double error)
{
    assert_true(fabs(value - wanted) <= error);
}

/* The recursions give what is printed in textbooks. */
TEST(the_recursions_are_right)
{
    /* one agent: B = a / (1 + a); C = a, mean wait a / (1 - a) services */
    near(exactly(0.5, 1, 0).waits, 0.5 / 1.5, 1e-12);
    near(exactly(0.5, 1, INFINITY).waits, 0.5, 1e-12);
    near(exactly(0.5, 1, INFINITY).mean, 0.5 / 0.5, 1e-12);
    /* two agents, one erlang: B = 1/5, C = 1/3 */
    near(exactly(1, 2, 0).waits, 0.2, 1e-12);
    near(exactly(1, 2, INFINITY).waits, 1.0 / 3, 1e-12);
    /* as patient as service is long: the number of users is Poisson, like without a limit */
    near(exactly(2, 2, 1).waits, 1 - 3 * exp(-2), 1e-12);
    /* between B and C, and near them at the ends */
    near(exactly(8, 10, 1e-9).abandons, exactly(8, 10, 0).waits, 1e-6);
    near(exactly(8, 10, 1e7).waits, exactly(8, 10, INFINITY).waits, 1e-4);
}

static int program_begin(void)
{
    print_message("USHER_SEED=%" PRIu64 "\n", number_from("USHER_SEED", SEED_DEFAULT));
    return 0;
}

TEST_PROGRAM(program_begin, NULL);
