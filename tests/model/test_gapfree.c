/* SPDX-License-Identifier: MIT */
/*
 * Gap-free serials against a model: the same seeded calls on every store, at times of the test's
 * own.
 *
 * The model is written from include/usher/serial.h.  It has a list of all numbers ever issued, each
 * with its period, state, owner, deadline and last text; it has no ranks, ranges or counters.  It
 * takes tokens from the first store, and checks that they grow with each hold and that the other
 * stores give the same.
 *
 * A world is USHER_SEED + i; USHER_STEPS is how many calls there are in all.
 */
#include "lib/test.h"

#include "lib/calls.h"
#include "lib/stores.h"
#include "lib/util.h"
#include "model/gen.h"

#define STEPS_DEFAULT 12000
#define STEPS_LONG 3000000
#define SEED_DEFAULT 20261124
#define WORLD 600
#define OWNERS 5
#define BEGIN_MS INT64_C(1767225000000) /* the last day of a year, late in the evening (UTC) */
#define HOUR_MS INT64_C(3600000)

static const char *const owners[OWNERS] = { "ann", "bob", "cid", "dot", "eve" };

/* ---- the model ---------------------------------------------------------------------- */

struct number {
    int64_t period, k; /* the period: its first day, since 1970 */
    int64_t date_ms;   /* of the date that it is printed with */
    enum usher_serial_state state;
    uint64_t token; /* of its last hold */
    int64_t until_ms;
    char owner[8]; /* "": none */
    char text[64]; /* as it was printed last */
    struct {
        enum usher_serial_state state;
        uint64_t token;
        char text[64];
    } end; /* of its last hold that is over */
};

static struct world {
    struct rng rng;
    struct usher_engine *e[STORES_MAX];
    int64_t now_ms, cur, max, lease_ms;
    int64_t period; /* in which numbers are made */
    int64_t reset;  /* enum usher_serial_reset */
    char prefix[8], suffix[8];
    bool dashes; /* in dates */
    int width;
    uint64_t token; /* the last one given out */
    struct number of[WORLD + 1];
    unsigned n;
} w;

static struct tm date_of(int64_t ms)
{
    time_t at = (time_t)(ms / 1000);
    struct tm tm;

    (void)gmtime_r(&at, &tm);
    return tm;
}

static int64_t period_of(int64_t ms)
{
    struct tm tm = date_of(ms);

    switch (w.reset) {
    case USHER_SERIAL_RESET_DAY:
        return ms / (24 * HOUR_MS);
    case USHER_SERIAL_RESET_MONTH:
        return ms / (24 * HOUR_MS) - (tm.tm_mday - 1);
    case USHER_SERIAL_RESET_YEAR:
        return ms / (24 * HOUR_MS) - tm.tm_yday;
    default:
        return 0;
    }
}

static void print(struct number *n)
{
    struct tm tm = date_of(n->date_ms);
    char date[16];

    (void)strftime(date, sizeof date, w.dashes ? "%Y-%m-%d" : "%Y%m%d", &tm);
    (void)snprintf(n->text, sizeof n->text, "%s%s%0*" PRId64 "%s", w.prefix, date, w.width, n->k,
                   w.suffix);
}

static void end(struct number *n, enum usher_serial_state to)
{
    n->state = n->end.state = to;
    n->end.token = n->token;
    memcpy(n->end.text, n->text, sizeof n->text);
}

/* Apply the expiries until now. */
static void pass(void)
{
    for (unsigned i = 0; i < w.n; i++) {
        struct number *n = &w.of[i];

        if (n->state == USHER_SERIAL_STATE_HELD && n->until_ms != 0 && n->until_ms <= w.now_ms)
            end(n, USHER_SERIAL_STATE_RETURNED);
    }
    if (period_of(w.now_ms) > w.period) {
        w.period = period_of(w.now_ms);
        w.cur = 0;
    }
}

static bool before(const struct number *a, const struct number *b)
{
    return a->period != b->period ? a->period < b->period : a->k < b->k;
}

static struct number *held_by(const char *owner)
{
    for (unsigned i = 0; owner != NULL && i < w.n; i++)
        if (w.of[i].state == USHER_SERIAL_STATE_HELD && strcmp(w.of[i].owner, owner) == 0)
            return &w.of[i];
    return NULL;
}

/* The lowest number of the present period.  NULL: there is none, and none can be made. */
static struct number *lowest(void)
{
    struct number *best = NULL;

    for (unsigned i = 0; i < w.n; i++)
        if (w.of[i].state == USHER_SERIAL_STATE_RETURNED && w.of[i].period == w.period &&
            (best == NULL || before(&w.of[i], best)))
            best = &w.of[i];
    if (best == NULL && w.cur < w.max) {
        best = &w.of[w.n++];
        memset(best, 0, sizeof *best);
        best->period = w.period;
        best->k = ++w.cur;
    }
    return best;
}

/* A hold that is over still answers for how it ended, under its token and as it was printed. */
static enum usher_status settled(struct number *n, const char *text, uint64_t token,
                                 enum usher_serial_state to)
{
    if (n->state == USHER_SERIAL_STATE_HELD && token == n->token && strcmp(text, n->text) == 0) {
        end(n, to);
        return USHER_OK;
    }
    /* the number of a document that never was: no later period has a use for it */
    if (n->state == USHER_SERIAL_STATE_RETURNED && to == USHER_SERIAL_STATE_VOIDED &&
        n->period < w.period && token == n->token && strcmp(text, n->end.text) == 0) {
        end(n, to);
        return USHER_OK;
    }
    return token == n->end.token && strcmp(text, n->end.text) == 0 && to == n->end.state
               ? USHER_SAME
               : USHER_STALE;
}

/* ---- calls on the model and on the stores -------------------------------------------- */

static int64_t store_clock(void *payload)
{
    (void)payload;
    return w.now_ms;
}

#define EACH(s) for (unsigned s = 0; s < n_stores; s++)

static void agree(const char *what, unsigned s, enum usher_status status, enum usher_status want)
{
    if (status != want)
        fail_msg("%s: %s answers %s, the model %s (%s)", what, stores[s].name,
                 usher_status_word(status), usher_status_word(want), usher_message());
}

static void reserve(void)
{
    const char *owner = rng_chance(&w.rng, 60) ? owners[rng_below(&w.rng, OWNERS)] : NULL;
    int64_t lease = rng_chance(&w.rng, 30)   ? 1 + (int64_t)rng_below(&w.rng, 4000)
                    : rng_chance(&w.rng, 10) ? -1
                                             : 0;
    struct number *n = held_by(owner);
    int64_t span = lease == 0 ? w.lease_ms : lease < 0 ? 0 : lease;
    int64_t until_ms = span != 0 ? w.now_ms + span : 0;
    bool again = n != NULL;
    enum usher_status want = again ? USHER_SAME : USHER_OK;

    if (again) { /* a lease that is given makes the hold longer, never shorter */
        if (lease != 0 && n->until_ms != 0 && (until_ms == 0 || until_ms > n->until_ms)) {
            want = USHER_OK;
            n->until_ms = until_ms;
        }
    } else {
        n = lowest();
        if (n == NULL)
            want = USHER_EMPTY;
    }
    if (want == USHER_OK && !again) {
        n->state = USHER_SERIAL_STATE_HELD;
        n->until_ms = until_ms;
        (void)snprintf(n->owner, sizeof n->owner, "%s", owner != NULL ? owner : "");
        n->date_ms = w.now_ms;
        print(n);
    }
    EACH(s)
    {
        struct ask_serial_hold hold;

        agree("reserve", s, ask_serial_reserve(w.e[s], "inv", owner, lease, NULL, &hold), want);
        if (!USHER_IS_DONE(want))
            continue;
        if (s == 0 && want == USHER_OK && !again) {
            assert_true(hold.token > w.token);
            w.token = n->token = hold.token;
        }
        assert_int_equal(hold.token, n->token);
        assert_int_equal(hold.number, n->k);
        assert_int_equal(hold.until_ms, n->until_ms);
        assert_string_equal(hold.serial, n->text);
    }
}

static struct number *any(void)
{
    /* rather one of the last */
    unsigned from = w.n > 8 && rng_chance(&w.rng, 80) ? w.n - 8 : 0;

    return &w.of[from + rng_below(&w.rng, w.n - from)];
}

static void settle(void)
{
    static const enum usher_serial_state states[] = { USHER_SERIAL_STATE_CONFIRMED,
                                                      USHER_SERIAL_STATE_RETURNED,
                                                      USHER_SERIAL_STATE_VOIDED };
    unsigned which = (unsigned)rng_below(&w.rng, 3);
    struct number *n = any();
    bool before = n->end.token != 0 && rng_chance(&w.rng, 20);
    uint64_t token = rng_chance(&w.rng, 15)             ? 1 + rng_below(&w.rng, n->token)
                     : before || rng_chance(&w.rng, 20) ? n->end.token
                                                        : n->token;
    char text[sizeof n->text];
    enum usher_status want;

    memcpy(text, before ? n->end.text : n->text, sizeof text);
    want = settled(n, text, token, states[which]);
    EACH(s)
    {
        enum usher_status status = which == 0   ? ask_serial_confirm(w.e[s], "inv", text, token)
                                   : which == 1 ? ask_serial_return(w.e[s], "inv", text, token)
                                                : ask_serial_void(w.e[s], "inv", text, token);

        agree(which == 0 ? "confirm" : which == 1 ? "return" : "void", s, status, want);
    }
}

static void renew(void)
{
    struct number *n = any();
    uint64_t token = rng_chance(&w.rng, 15) ? 1 + rng_below(&w.rng, n->token) : n->token;
    int64_t lease = rng_chance(&w.rng, 80) ? 1 + (int64_t)rng_below(&w.rng, 9000) : 0;
    int64_t until_ms = lease != 0 ? w.now_ms + lease : 0;
    enum usher_status want = USHER_STALE;
    char text[sizeof n->text];

    memcpy(text, n->text, sizeof text);
    if (n->state == USHER_SERIAL_STATE_HELD && token == n->token) {
        want = n->until_ms == until_ms ? USHER_SAME : USHER_OK;
        n->until_ms = until_ms;
    }
    EACH(s)
    {
        agree("renew", s, ask_serial_renew(w.e[s], "inv", text, token, lease), want);
    }
}

static void ask(void)
{
    const struct number *n = any();
    int64_t held = 0, returned = 0;

    for (unsigned i = 0; i < w.n; i++) {
        held += w.of[i].state == USHER_SERIAL_STATE_HELD;
        returned += w.of[i].state == USHER_SERIAL_STATE_RETURNED;
    }
    EACH(s)
    {
        struct ask_serial_found found;
        struct usher_serial_stock stock;

        agree("number", s, ask_serial_number(w.e[s], "inv", n->text, &found), USHER_OK);
        assert_int_equal(found.number, n->k);
        assert_int_equal(found.state, n->state);
        assert_int_equal(found.token, n->token);
        if (n->state == USHER_SERIAL_STATE_HELD) {
            assert_string_equal(found.owner, n->owner);
            assert_int_equal(found.until_ms, n->until_ms);
        }
        assert_string_equal(found.serial, n->text);
        agree("check", s, ask_serial_check(w.e[s], "inv", &stock), USHER_OK);
        assert_int_equal(stock.held, held);
        assert_int_equal(stock.returned, returned);
        assert_int_equal(stock.taken, w.cur);
    }
}

static int by_token(const void *a, const void *b)
{
    const struct number *const *x = a, *const *y = b;

    return (*x)->token < (*y)->token ? -1 : (*x)->token > (*y)->token;
}

/* The row of a number that was returned: in a period that is over, void takes the token there. */
static void check_open_row(const struct usher_serial_result_row *row)
{
    bool found = false;

    for (unsigned i = 0; i < w.n && !found; i++)
        found = w.of[i].state == USHER_SERIAL_STATE_RETURNED && w.of[i].k == row->first &&
                row->token == (w.of[i].period < w.period ? w.of[i].token : 0);
    assert_true(found);
}

/* Require the list of held numbers, oldest first, followed by the returned ones unless an @owner is
 * given (NULL: any).  The lowest returned ones come first, after some whose end is not written yet:
 * the model does not know which, but all stores return the same ones. */
static void list(const char *owner)
{
    const struct number *want[WORLD + 1];
    int64_t firsts[WORLD + 1];
    unsigned n = 0, held;

    for (unsigned i = 0; i < w.n; i++)
        if (w.of[i].state == USHER_SERIAL_STATE_HELD &&
            (owner == NULL || strcmp(w.of[i].owner, owner) == 0))
            want[n++] = &w.of[i];
    qsort(want, n, sizeof *want, by_token);
    held = n;
    for (unsigned i = 0; owner == NULL && i < w.n; i++)
        if (w.of[i].state == USHER_SERIAL_STATE_RETURNED)
            want[n++] = &w.of[i];
    EACH(s)
    {
        struct usher_result r;
        char text[USHER_SERIAL_TEXT_MAX + 1];

        agree("holds", s, ask_serial_holds(w.e[s], "inv", owner, WORLD + 1, &r), USHER_OK);
        assert_int_equal(r.of.serial.n_rows, n);
        for (unsigned i = 0; i < n; i++) {
            const struct usher_serial_result_row *row = &r.of.serial.rows[i];

            if (s == 0)
                firsts[i] = row->first;
            assert_int_equal(row->first, firsts[i]);
            if (i >= held) {
                unsigned is = 0, should = 0;

                assert_int_equal(row->state, USHER_SERIAL_STATE_RETURNED);
                assert_int_equal(row->owner.size, 0);
                check_open_row(row);
                for (unsigned k = held; k < n; k++) {
                    is += r.of.serial.rows[k].first == row->first;
                    should += want[k]->k == row->first;
                }
                assert_int_equal(is, should);
                continue;
            }
            assert_int_equal(row->state, USHER_SERIAL_STATE_HELD);
            assert_int_equal(row->first, want[i]->k);
            assert_int_equal(row->token, want[i]->token);
            assert_int_equal(row->until_ms, want[i]->until_ms);
            assert_int_equal(row->owner.size, strlen(want[i]->owner));
            assert_true(usher_serial_text(&r, i, text, sizeof text) > 0);
            assert_string_equal(text, want[i]->text);
        }
        usher_result_done(&r);
    }
}

/* Sweep: ends that are over are written now, and no visible state changes. */
static void sweep(void)
{
    enum usher_status want = USHER_SAME;

    EACH(s)
    {
        enum usher_status status = ask_serial_sweep(w.e[s], "inv");

        if (s == 0 && status == USHER_OK)
            want = status;
        agree("sweep", s, status, want);
    }
}

/* How it is printed, how long a hold lasts, up to where there are any. */
static void rule(void)
{
    static const char *const prefixes[] = { "", "A-", "RE " }, *const suffixes[] = { "", "/x" };
    uint64_t given = 0;
    bool change = false;

    if (rng_chance(&w.rng, 50)) {
        const char *prefix = prefixes[rng_below(&w.rng, 3)];

        given |= USHER_GIVEN_SERIAL_PREFIX;
        change = strcmp(prefix, w.prefix) != 0;
        (void)snprintf(w.prefix, sizeof w.prefix, "%s", prefix);
    }
    if (rng_chance(&w.rng, 20)) {
        const char *suffix = suffixes[rng_below(&w.rng, 2)];

        given |= USHER_GIVEN_SERIAL_SUFFIX;
        change = change || strcmp(suffix, w.suffix) != 0;
        (void)snprintf(w.suffix, sizeof w.suffix, "%s", suffix);
    }
    if (rng_chance(&w.rng, 20)) {
        given |= USHER_GIVEN_SERIAL_WIDTH | USHER_GIVEN_SERIAL_DATE;
        change = true;
        w.width = 10 - w.width;
        w.dashes = !w.dashes;
    }
    if (rng_chance(&w.rng, 30)) {
        given |= USHER_GIVEN_SERIAL_LEASE;
        change = change || w.lease_ms != 2500;
        w.lease_ms = 2500;
    }
    if (rng_chance(&w.rng, 30)) {
        given |= USHER_GIVEN_SERIAL_MAX;
        change = true;
        w.max += 1 + (int64_t)rng_below(&w.rng, 20);
    }
    EACH(s)
    {
        struct usher_serial_form form;

        memset(&form, 0, sizeof form);
        memcpy(form.prefix, w.prefix, sizeof w.prefix);
        memcpy(form.suffix, w.suffix, sizeof w.suffix);
        (void)snprintf(form.date, sizeof form.date, "%s", w.dashes ? "%Y-%m-%d" : "%Y%m%d");
        form.width = w.width;
        form.lease_ms = w.lease_ms;
        form.max = w.max;
        agree("rule", s, ask_serial_rule(w.e[s], "inv", given, &form),
              change || given == 0 ? USHER_OK : USHER_SAME);
        assert_string_equal(form.prefix, w.prefix);
        assert_string_equal(form.suffix, w.suffix);
        assert_int_equal(form.width, w.width);
        assert_int_equal(form.max, w.max);
        assert_int_equal(form.lease_ms, w.lease_ms);
    }
}

static void step(void)
{
    uint64_t which = rng_below(&w.rng, 100);

    if (rng_chance(&w.rng, 30))
        w.now_ms += (int64_t)rng_below(&w.rng, 1500);
    if (rng_chance(&w.rng, 2))
        w.now_ms += (int64_t)rng_below(&w.rng, 30) * HOUR_MS;
    pass();
    if (w.n == 0 || which < 45)
        reserve();
    else if (which < 55)
        renew();
    else if (which < 80)
        settle();
    else if (which < 90)
        ask();
    else if (which < 92)
        sweep();
    else if (which < 97)
        list(rng_chance(&w.rng, 30) ? owners[rng_below(&w.rng, OWNERS)] : NULL);
    else
        rule();
}

/* Require that no number up to the highest issued one of a period is missing. */
static void no_gaps(void)
{
    for (unsigned i = 0; i < w.n; i++) {
        bool found = w.of[i].k == 1;

        for (unsigned k = 0; k < w.n && !found; k++)
            found = w.of[k].period == w.of[i].period && w.of[k].k == w.of[i].k - 1;
        assert_true(found);
    }
}

static void run_world(uint64_t seed)
{
    struct usher_options opt = USHER_OPTIONS_INIT;
    char digests[STORES_MAX][33];

    memset(&w, 0, sizeof w);
    rng_seed(&w.rng, seed);
    opt.now_ms = store_clock;
    opt.clock_given = true;
    w.now_ms = BEGIN_MS;
    w.max = 20 + (int64_t)rng_below(&w.rng, 100);
    w.lease_ms = rng_chance(&w.rng, 20) ? 0 : 1000;
    w.width = 4;
    w.reset = (int64_t)rng_below(&w.rng, 4);
    w.period = period_of(w.now_ms);
    EACH(s)
    {
        struct usher_serial_form form;
        char url[STORE_URL_MAX];

        memset(&form, 0, sizeof form);
        (void)snprintf(form.date, sizeof form.date, "%%Y%%m%%d");
        form.width = w.width;
        form.max = w.max;
        form.reset = w.reset;
        form.mode = USHER_SERIAL_MODE_GAPFREE;
        form.lease_ms = w.lease_ms;
        assert_true(stores[s].fresh(url));
        assert_int_equal(usher_open(url, &opt, &w.e[s]), USHER_OK);
        agree("rule", s,
              ask_serial_rule(w.e[s], "inv",
                              USHER_GIVEN_SERIAL_DATE | USHER_GIVEN_SERIAL_WIDTH |
                                  USHER_GIVEN_SERIAL_MAX | USHER_GIVEN_SERIAL_RESET |
                                  USHER_GIVEN_SERIAL_MODE | USHER_GIVEN_SERIAL_LEASE,
                              &form),
              USHER_OK);
    }
    for (unsigned i = 0; i < WORLD; i++)
        step();
    list(NULL);
    no_gaps();
    EACH(s)
    {
        audit(w.e[s]);
        assert_int_equal(usher_digest(w.e[s], USHER_SERIAL, "inv", digests[s]), USHER_OK);
        assert_string_equal(digests[s], digests[0]);
        usher_close(w.e[s]);
    }
}

TEST(all_stores_answer_like_the_model)
{
    uint64_t seed = number_from("USHER_SEED", SEED_DEFAULT), steps = 0;
    uint64_t most = budget_of("USHER_STEPS", budget_long() ? STEPS_LONG : STEPS_DEFAULT);

    for (; steps < most; steps += WORLD) {
        print_message("USHER_SEED=%" PRIu64 "\n", seed);
        run_world(seed++);
    }
    print_message("%" PRIu64 " calls on each of %u stores\n", steps, n_stores);
}

TEST_PROGRAM(stores_start, stores_stop);
