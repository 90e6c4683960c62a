/* SPDX-License-Identifier: MIT */
/*
 * Serials of a rule whose settings change at random: reset, zone, date, prefix, width, start,
 * stamp, batch, mode, authority, delete and make again, stock, setmaxcur, and a clock that jumps
 * over ends of periods.  The test runs every store in lockstep, with and without an authority and
 * its journal.
 *
 * The oracle is a set of the texts that were printed.  No text is taken twice, and none is reserved
 * again after it was confirmed or voided.  Between two changes of reset, zone or start, and between
 * two deletions, numbers have no gap, in each period from `start` on.  The oracle knows no
 * counters.
 *
 * The date differs in each period of the reset, as `rule` demands, and may differ in shorter ones.
 * Each pattern begins with a letter of its own, so that two patterns never print the same text.
 *
 * A world is USHER_SEED + i; USHER_STEPS is how many serials the test issues in all.
 */
#include "lib/test.h"

#include "lib/calls.h"
#include "lib/fake_authority.h"
#include "lib/stores.h"
#include "model/gen.h"

#define SERIALS_DEFAULT 20000
#define SERIALS_LONG 1000000
#define SEED_DEFAULT 20261127
#define WORLD 160
#define TEXTS 4096 /* a power of two, more than a world prints */
#define HELD_MAX 8
#define HOUR_MS INT64_C(3600000)
#define DAY_MS (24 * HOUR_MS)
#define BEGIN_MS INT64_C(1709208000000) /* 2024-02-29 12:00 UTC */

enum mark { FREE, OPEN, SETTLED };

struct hold {
    char text[USHER_SERIAL_TEXT_MAX + 1];
    int64_t k;
    uint64_t token[STORES_MAX];
};

static struct world {
    struct rng rng;
    struct usher_engine *e[STORES_MAX];
    struct fake_authority authority[STORES_MAX];
    uint64_t seed;
    unsigned step;
    bool with_authority;
    int64_t now_ms, reset, zone_min, start, period;
    bool gap_free;
    int64_t next; /* the next number; 0: any, a setting has changed */
    struct {
        char text[64];
        enum mark mark;
    } of[TEXTS];
    struct hold held[HELD_MAX];
    unsigned n_held;
    int64_t returned[WORLD + 1];
    unsigned n_returned;
    uint64_t serials;
} w;

static int64_t clock_ms(void *payload)
{
    (void)payload;
    return w.now_ms;
}

#define EACH(s) for (unsigned s = 0; s < n_stores; s++)

static void wrong(unsigned s, const char *what, const char *which)
{
    fail_msg("USHER_SEED=%" PRIu64 ", step %u on %s: %s: %s (%s)", w.seed, w.step, stores[s].name,
             what, which, usher_message());
}

static void agree(const char *what, unsigned s, enum usher_status status, enum usher_status want)
{
    if (status != want)
        wrong(s, what, usher_status_word(status));
}

static enum mark *mark_of(const char *text)
{
    uint64_t hash = UINT64_C(14695981039346656037);

    for (const char *c = text; *c != '\0'; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(1099511628211);
    for (;; hash++) {
        size_t i = (size_t)(hash % TEXTS);

        if (w.of[i].text[0] == '\0')
            (void)snprintf(w.of[i].text, sizeof w.of[i].text, "%s", text);
        if (strcmp(w.of[i].text, text) == 0)
            return &w.of[i].mark;
    }
}

/* ---- periods, by the C library ------------------------------------------------------------ */

static int64_t period_now(void)
{
    time_t at = (time_t)((w.now_ms + w.zone_min * 60000) / 1000);
    struct tm tm;

    (void)gmtime_r(&at, &tm);
    switch (w.reset) {
    case USHER_SERIAL_RESET_DAY:
        return tm.tm_year * INT64_C(1000) + tm.tm_yday;
    case USHER_SERIAL_RESET_MONTH:
        return tm.tm_year * INT64_C(1000) + tm.tm_mon;
    case USHER_SERIAL_RESET_YEAR:
        return tm.tm_year;
    default:
        return 0;
    }
}

/* A period that begins by itself begins at start. */
static void pass(void)
{
    if (period_now() == w.period)
        return;
    w.period = period_now();
    w.next = w.start;
}

/* After another setting the next number may be any one. */
static void changed(void)
{
    w.period = period_now();
    w.next = 0;
}

static void is_next(unsigned s, int64_t k, const char *text)
{
    if (w.next != 0 && k != w.next)
        wrong(s, "there is a gap before it", text);
    w.next = k + 1;
}

/* ---- mode queue ---------------------------------------------------------------------------- */

static void take(void)
{
    int64_t n = 1 + (int64_t)rng_below(&w.rng, 5), next = 0;
    bool again = rng_chance(&w.rng, 20);
    char text[USHER_SERIAL_TEXT_MAX + 1], first[5][USHER_SERIAL_TEXT_MAX + 1], request[16];

    (void)snprintf(request, sizeof request, "q%u", w.step);

    EACH(s)
    {
        struct usher_result r;
        int64_t k = w.next;

        agree("take", s, ask_serial_take(w.e[s], "r", n, again ? request : NULL, &r), USHER_OK);
        if (again) { /* the client missed the answer: it gets the same serials */
            usher_result_done(&r);
            agree("take", s, ask_serial_take(w.e[s], "r", n, request, &r), USHER_OK);
            assert_true(r.repeated);
        }
        assert_int_equal(r.of.serial.count, n);
        for (size_t i = 0; i < r.of.serial.n_rows; i++) {
            const struct usher_serial_result_row *row = &r.of.serial.rows[i];

            if (k != 0 && row->first != k)
                wrong(s, "there is a gap in a take", "");
            k = row->first + row->n;
        }
        next = k;
        for (uint64_t i = 0; i < (uint64_t)n; i++) {
            (void)usher_serial_text(&r, i, text, sizeof text);
            if (s > 0 && strcmp(text, first[i]) != 0)
                wrong(s, "prints another serial than the first store", text);
            if (s > 0)
                continue;
            memcpy(first[i], text, sizeof text);
            if (*mark_of(text) != FREE)
                wrong(s, "a serial comes twice", text);
            *mark_of(text) = SETTLED;
            w.serials++;
        }
        usher_result_done(&r);
    }
    w.next = next;
}

static void fill(void)
{
    int64_t n = 1 + (int64_t)rng_below(&w.rng, 20);
    bool tick = rng_chance(&w.rng, 30);

    EACH(s)
    {
        enum usher_status status =
            tick ? ask_serial_tick(w.e[s], "r") : ask_serial_fill(w.e[s], "r", n);

        if (status != USHER_OK && status != USHER_SAME && status != USHER_FULL)
            wrong(s, "fill", usher_status_word(status));
    }
}

static void skip_some(void)
{
    struct usher_serial_stock stock;
    int64_t to;

    assert_int_equal(ask_serial_check(w.e[0], "r", &stock), USHER_OK);
    to = stock.taken + stock.available + 1 + (int64_t)rng_below(&w.rng, 9);
    EACH(s) agree("setmaxcur", s, ask_serial_setmaxcur(w.e[s], "r", to), USHER_OK);
    changed();
}

/* ---- mode gap-free ------------------------------------------------------------------------- */

static void reserve(void)
{
    struct hold *h = &w.held[w.n_held];
    unsigned low = 0;

    EACH(s)
    {
        struct ask_serial_hold got;

        agree("reserve", s, ask_serial_reserve(w.e[s], "r", NULL, -1, NULL, &got), USHER_OK);
        h->token[s] = got.token;
        if (s > 0 && strcmp(got.serial, h->text) != 0)
            wrong(s, "prints another serial than the first store", got.serial);
        memcpy(h->text, got.serial, sizeof h->text);
        h->k = got.number;
    }
    if (*mark_of(h->text) == SETTLED)
        wrong(0, "a serial is reserved after it was settled", h->text);
    for (unsigned i = 0; i < w.n_held; i++)
        if (strcmp(w.held[i].text, h->text) == 0)
            wrong(0, "a serial is reserved twice", h->text);
    *mark_of(h->text) = OPEN;
    w.n_held++;
    if (w.n_returned == 0) {
        is_next(0, h->k, h->text);
        return;
    }
    for (unsigned i = 1; i < w.n_returned; i++)
        if (w.returned[i] < w.returned[low])
            low = i;
    if (w.returned[low] != h->k)
        wrong(0, "a higher number goes out before one that was returned", h->text);
    w.returned[low] = w.returned[--w.n_returned];
}

static void settle(bool for_good)
{
    unsigned i = (unsigned)rng_below(&w.rng, w.n_held);
    struct hold h = w.held[i];
    uint64_t which = rng_below(&w.rng, for_good ? 4 : 6); /* confirm more often than others */

    EACH(s)
    {
        enum usher_status status = which < 3 ? ask_serial_confirm(w.e[s], "r", h.text, h.token[s])
                                   : which == 3
                                       ? ask_serial_void(w.e[s], "r", h.text, h.token[s])
                                       : ask_serial_return(w.e[s], "r", h.text, h.token[s]);

        agree("settle", s, status, USHER_OK);
    }
    w.held[i] = w.held[--w.n_held];
    if (which < 4) {
        *mark_of(h.text) = SETTLED;
        w.serials++;
    } else {
        w.returned[w.n_returned++] = h.k;
    }
}

/* An authority had granted these to an earlier rule of the name, or in an earlier time of the
 * period, and the rule did not take them over: they are voided. */
static void void_lost(unsigned s)
{
    struct usher_result r;

    agree("holds", s, ask_serial_holds(w.e[s], "r", NULL, 100, &r), USHER_OK);
    for (size_t i = 0, before = 0; i < r.of.serial.n_rows; i++) {
        const struct usher_serial_result_row *row = &r.of.serial.rows[i];
        char text[USHER_SERIAL_TEXT_MAX + 1];
        struct usher_operation c;
        struct usher_result done;

        (void)usher_serial_text(&r, before, text, sizeof text);
        before += (size_t)row->n;
        if (row->state != USHER_SERIAL_STATE_LOST)
            continue;
        if (!w.with_authority)
            wrong(s, "is lost without an authority", text);
        memset(&c, 0, sizeof c);
        c.verb = USHER_SERIAL_VOID;
        c.scope = (struct usher_text){ "r", 1 };
        c.given = USHER_GIVEN_SERIAL_TOKEN | USHER_GIVEN_SERIAL_N;
        c.arg.serial.serial = (struct usher_text){ text, strlen(text) };
        c.arg.serial.token = row->token;
        c.arg.serial.n = row->n;
        agree("void of what is lost", s, usher_operate(w.e[s], &c, &done, 1), USHER_OK);
        agree("void of what is lost", s, done.status, USHER_OK);
        usher_result_done(&done);
    }
    usher_result_done(&r);
}

/* No number is held or returned: settings may change, and a period may end. */
static void rest(void)
{
    while (w.n_held > 0 || w.n_returned > 0) {
        if (w.n_returned > 0 && w.n_held < HELD_MAX)
            reserve();
        else
            settle(true);
    }
    if (w.gap_free && w.with_authority)
        EACH(s) void_lost(s);
}

/* ---- settings ------------------------------------------------------------------------------ */

/* A date that differs in each period of the reset. */
static const char *some_date(void)
{
    static const char *const dates[] = { "D%Y%m%d-", "M%Y%m-", "Y%Y-", "N" };
    int64_t coarsest = w.reset != USHER_SERIAL_RESET_NONE ? w.reset : 4;

    return dates[rng_chance(&w.rng, 60) ? (uint64_t)coarsest - 1
                                        : rng_below(&w.rng, (uint64_t)coarsest)];
}

static void rule(bool make)
{
    static const char *const prefixes[] = { "", "A-", "B " };
    struct usher_serial_form form;
    uint64_t given =
        USHER_GIVEN_SERIAL_DATE | USHER_GIVEN_SERIAL_RESET | USHER_GIVEN_SERIAL_OVERFLOW;
    int64_t reset = w.reset, zone = w.zone_min, start = w.start;
    enum usher_status want = USHER_OK;

    memset(&form, 0, sizeof form);
    form.overflow = USHER_SERIAL_OVERFLOW_WIDEN;
    form.authority = w.with_authority;
    given |= USHER_GIVEN_SERIAL_AUTHORITY;
    if (make || rng_chance(&w.rng, 50))
        w.reset = (int64_t)rng_below(&w.rng, 4);
    form.reset = w.reset;
    (void)snprintf(form.date, sizeof form.date, "%s", some_date());
    if (make) {
        given |= USHER_GIVEN_SERIAL_MODE;
        w.gap_free = rng_chance(&w.rng, 50);
        form.mode = w.gap_free ? USHER_SERIAL_MODE_GAPFREE : USHER_SERIAL_MODE_QUEUE;
        w.start = 1;
        w.zone_min = 0;
    }
    if (make || rng_chance(&w.rng, 25)) {
        given |= USHER_GIVEN_SERIAL_ZONE;
        form.zone_min = w.zone_min = (int64_t)rng_below(&w.rng, 49) * 30 - 720;
    }
    if (rng_chance(&w.rng, 20)) {
        given |= USHER_GIVEN_SERIAL_START;
        form.start = w.start = 1 + (int64_t)rng_below(&w.rng, 12);
    }
    if (rng_chance(&w.rng, 30)) {
        given |= USHER_GIVEN_SERIAL_PREFIX;
        (void)snprintf(form.prefix, sizeof form.prefix, "%s", prefixes[rng_below(&w.rng, 3)]);
    }
    if (rng_chance(&w.rng, 20)) {
        given |= USHER_GIVEN_SERIAL_WIDTH;
        form.width = (int64_t)rng_below(&w.rng, 3) * 3;
    }
    if (rng_chance(&w.rng, 30)) {
        given |= USHER_GIVEN_SERIAL_STAMP;
        form.stamp = 1 + (int64_t)rng_below(&w.rng, 2);
    }
    if (rng_chance(&w.rng, 30)) {
        given |= USHER_GIVEN_SERIAL_BATCH | USHER_GIVEN_SERIAL_CRITICAL;
        form.batch = 1 + (int64_t)rng_below(&w.rng, 30);
        form.critical = (int64_t)rng_below(&w.rng, 5);
    }
    EACH(s)
    {
        struct usher_serial_form asked = form;
        enum usher_status status = ask_serial_rule(w.e[s], "r", given, &asked);

        if (s == 0)
            want = status; /* refused: in that zone it is the day before */
        agree("rule", s, status, want);
        if (status != USHER_OK && status != USHER_SAME && status != USHER_REFUSED)
            wrong(s, "rule", usher_status_word(status));
        if (status == USHER_REFUSED && w.zone_min == zone && !make &&
            !(w.gap_free && w.with_authority)) /* the engine found that numbers are lost */
            wrong(s, "rule", "is refused in the same zone");
    }
    if (want == USHER_REFUSED) {
        if (!make)
            rest();
        w.reset = reset;
        w.zone_min = zone;
        w.start = start;
        if (make)
            rule(true);
        return;
    }
    if (make || w.reset != reset || w.zone_min != zone || w.start != start)
        changed();
}

static void make_again(void)
{
    EACH(s) agree("delete", s, ask_serial_delete(w.e[s], "r"), USHER_OK);
    if (rng_chance(&w.rng, 30))
        w.now_ms += (int64_t)rng_below(&w.rng, 40 * 24) * HOUR_MS;
    rule(true);
}

static void wait_some(void)
{
    static const int64_t spans[] = { HOUR_MS, 14 * HOUR_MS, 20 * DAY_MS, 200 * DAY_MS };

    rest();
    w.now_ms += (int64_t)rng_below(&w.rng, (uint64_t)spans[rng_below(&w.rng, 4)]);
}

static void step(void)
{
    uint64_t which = rng_below(&w.rng, 100);

    pass();
    if (which < 8) {
        rest();
        rule(false);
    } else if (which < 10) {
        rest();
        make_again();
    } else if (which < 15) {
        wait_some();
    } else if (w.gap_free) {
        if (w.n_held == 0 || (w.n_held < HELD_MAX && which < 60))
            reserve();
        else
            settle(false);
    } else if (which < 80) {
        take();
    } else if (which < 97) {
        fill();
    } else {
        skip_some();
    }
}

/* ---- worlds -------------------------------------------------------------------------------- */

static void open_world(void)
{
    EACH(s)
    {
        struct usher_options opt = USHER_OPTIONS_INIT;
        char url[STORE_URL_MAX];

        opt.now_ms = clock_ms;
        opt.clock_given = true;
        fake_authority_init(&w.authority[s]);
        if (w.with_authority) {
            opt.authority = &w.authority[s].base;
            opt.journal = true;
        }
        assert_true(stores[s].fresh(url));
        assert_int_equal(usher_open(url, &opt, &w.e[s]), USHER_OK);
    }
}

static void close_world(void)
{
    char digests[STORES_MAX][33];

    EACH(s)
    {
        struct usher_result r;
        struct usher_check_result found;

        agree("holds", s, ask_serial_holds(w.e[s], "r", NULL, 100, &r), USHER_OK);
        if (r.of.serial.n_rows != 0)
            wrong(s, "at rest a number is in no state for good", "");
        usher_result_done(&r);
        assert_int_equal(usher_check(w.e[s], NULL, NULL, NULL, &found), USHER_OK);
        if (found.faults != 0)
            wrong(s, "check finds a fault", "");
        assert_int_equal(usher_digest(w.e[s], USHER_SERIAL, "r", digests[s]), USHER_OK);
        /* memory has no identity, so it needs fewer grants */
        if (s > (w.with_authority ? 1 : 0) && strcmp(digests[s], digests[s - 1]) != 0)
            wrong(s, "the digest is another one", digests[s]);
        for (size_t i = 0; i < w.authority[s].n_events; i++)
            if (w.authority[s].events[i].event.twice)
                wrong(s, "the journal has a number twice", w.authority[s].events[i].text);
        usher_close(w.e[s]);
        fake_authority_done(&w.authority[s]);
    }
}

static uint64_t run_world(uint64_t seed)
{
    memset(&w, 0, sizeof w);
    w.seed = seed;
    rng_seed(&w.rng, seed);
    w.now_ms = BEGIN_MS + (int64_t)rng_below(&w.rng, 366) * DAY_MS;
    w.with_authority = seed % 2 != 0;
    open_world();
    rule(true);
    for (w.step = 0; w.step < WORLD; w.step++)
        step();
    rest();
    close_world();
    return w.serials;
}

TEST(no_serial_comes_twice_when_settings_change)
{
    uint64_t seed = number_from("USHER_SEED", SEED_DEFAULT), serials = 0, worlds = 0;
    uint64_t most = budget_of("USHER_STEPS", budget_long() ? SERIALS_LONG : SERIALS_DEFAULT);

    print_message("USHER_SEED=%" PRIu64 "\n", seed);
    for (; serials < most; worlds++)
        serials += run_world(seed++);
    print_message("%" PRIu64 " serials in %" PRIu64 " worlds on each of %u stores\n", serials,
                  worlds, n_stores);
}

TEST_PROGRAM(stores_start, stores_stop);
