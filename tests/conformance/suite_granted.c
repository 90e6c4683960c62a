/* SPDX-License-Identifier: MIT */
/*
 * Serials and ids with an authority, at random: rules and dispensers are made, changed, filled,
 * taken from, raised and deleted, the authority is away for a time, and the store is lost as a
 * whole now and then.  After each command the audit finds nothing, which compares the store with
 * the authority; and no serial (no number of a gap-free rule that was confirmed) and no id comes
 * twice.
 *
 * USHER_STEPS commands, from USHER_SEED on.
 */
#include "lib/test.h"

#include "conformance/fixture.h"

#include "lib/fake_authority.h"
#include "lib/util.h"

#define CHRISTMAS INT64_C(1703757600000) /* 2023-12-28 10:00 UTC */
#define HOUR INT64_C(3600000)
#define SEEN (1u << 20)

/* Given out so far, as texts: a hash table of prints. */
struct seen {
    uint64_t print[SEEN];
    size_t n;
};

struct granted {
    char url[BACKEND_URL_MAX];
    struct usher_engine *e;
    struct fake_authority authority;
    int64_t now;
    uint64_t seed;
    bool away;
    struct usher_result r;
    struct seen *seen;
    char hold[USHER_SERIAL_TEXT_MAX + 1]; /* the last one of the gap-free rule */
    uint64_t token;
    bool settled; /* it is confirmed */
    int64_t max;  /* of the last answer */
};

static unsigned below(struct granted *f, unsigned n)
{
    f->seed = f->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(f->seed >> 33) % n;
}

static void engine_open(struct granted *f)
{
    struct usher_options opt = USHER_OPTIONS_INIT;

    opt.timeout_ms = 60000;
    opt.authority = &f->authority.base;
    f->e = suite_open(f->url, &f->now, &opt);
}

static int set_up(void **state)
{
    struct granted *f = calloc(1, sizeof *f);

    assert_non_null(f);
    f->seen = calloc(1, sizeof *f->seen);
    assert_non_null(f->seen);
    f->now = CHRISTMAS;
    fake_authority_init(&f->authority);
    assert_true(under_test.fresh(f->url));
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct granted *f = *state;

    usher_result_done(&f->r);
    usher_close(f->e);
    fake_authority_done(&f->authority);
    free(f->seen);
    free(f);
    return 0;
}

/* False: it was there. */
static bool note(struct granted *f, const char *rule, const char *text)
{
    uint64_t print = 1469598103934665603u;

    for (const char *s = rule; *s != '\0'; s++)
        print = (print ^ (unsigned char)*s) * 1099511628211u;
    print = (print ^ 7) * 1099511628211u;
    for (const char *s = text; *s != '\0'; s++)
        print = (print ^ (unsigned char)*s) * 1099511628211u;
    print |= 1;
    for (uint64_t i = print >> 1;; i++) {
        uint64_t *at = &f->seen->print[i % SEEN];

        if (*at == print)
            return false;
        if (*at == 0) {
            assert_true(++f->seen->n < SEEN / 2);
            *at = print;
            return true;
        }
    }
}

static enum usher_status run_line(struct granted *f, enum usher_noun noun, const char *line)
{
    struct said s;

    said_line(&s, noun, line);
    usher_result_done(&f->r);
    (void)usher_operate(f->e, &s.c, &f->r, 1);
    return f->r.status;
}

static void took(struct granted *f, const char *rule, const char *line)
{
    char text[USHER_SERIAL_TEXT_MAX + 1];

    for (int64_t i = 0; i < f->r.of.serial.count && !f->r.repeated; i++) {
        (void)usher_serial_text(&f->r, (uint64_t)i, text, sizeof text);
        if (!note(f, rule, text))
            fail_msg("%s: %s came twice", line, text);
    }
}

static void serial_step(struct granted *f, char line[512])
{
    /* base, step and zone are fixed, and dates contain the day: so texts are unique */
    static const char *const changes[] = {
        "critical=9",  "batch=3",    "max=2000",   "max=100000000", "reset=none", "reset=day",
        "reset=month", "reset=year", "start=50",   "start=3000",    "requests=5", "width=0",
        "width=4",     "stamp=fill", "stamp=take", "max=60"
    };
    static const char *const rules[] = { "q", "r", "g" };
    const char *rule = rules[below(f, 3)];
    bool gapfree = rule[0] == 'g';
    enum usher_status status;
    char req[16] = "";

    if (below(f, 5) == 0)
        (void)snprintf(req, sizeof req, " req=%u", below(f, 9));
    switch (below(f, 16)) {
    case 0:
        (void)snprintf(line, 512, "rule %s prefix=%c date=%%Y%%m%%d- mode=%s", rule, rule[0],
                       gapfree ? "gapfree" : "queue");
        break;
    case 1:
        (void)snprintf(line, 512, "rule %s %s", rule, changes[below(f, 16)]);
        break;
    case 2:
        (void)snprintf(line, 512, "setmaxcur %s %" PRId64, rule, f->max + below(f, 2500));
        break;
    case 3: /* away it would be a debt, which a loss makes come again */
        (void)snprintf(line, 512, f->away ? "check %s" : "setmax %s 500", rule);
        break;
    case 4:
        (void)snprintf(line, 512, "tick %s", rule);
        break;
    case 5:
        (void)snprintf(line, 512, "fill %s %u", rule, 1 + below(f, 300));
        break;
    case 6:
        (void)snprintf(line, 512, below(f, 8) == 0 ? "delete %s" : "show %s", rule);
        break;
    case 7:
    case 8:
    case 9:
        (void)snprintf(line, 512, "reserve g lease=%u%s", 1 + below(f, 7200000), req);
        break;
    case 10:
    case 11:
        (void)snprintf(line, 512, "%s g %s token=%" PRIu64,
                       below(f, 4) == 0   ? "return"
                       : below(f, 5) == 0 ? "void"
                                          : "confirm",
                       f->hold[0] != '\0' ? f->hold : "g20231228-1", f->token);
        break;
    default:
        (void)snprintf(line, 512, "take %s n=%u%s", rule, 1 + below(f, below(f, 10) == 0 ? 900 : 5),
                       req);
        break;
    }
    status = run_line(f, USHER_SERIAL, line);
    if (status < USHER_INVALID)
        f->max = f->r.of.serial.cur;
    if (status != USHER_OK)
        return;
    if (strncmp(line, "take", 4) == 0) {
        took(f, rule, line);
    } else if (strncmp(line, "reserve", 7) == 0) {
        f->token = f->r.of.serial.token;
        (void)usher_serial_text(&f->r, 0, f->hold, sizeof f->hold);
        f->settled = false;
    } else if (strncmp(line, "confirm", 7) == 0 && !f->settled) {
        took(f, "g", line); /* and again by the same, where the store has lost it */
        f->settled = true;
    }
}

static void id_step(struct granted *f, char line[512])
{
    static const char *const names[] = { "a", "b" };
    const char *name = names[below(f, 2)];
    enum usher_status status;

    switch (below(f, 8)) {
    case 0:
        (void)snprintf(line, 512, "create %s start=%u by=2 step=7", name, name[0] == 'a' ? 1u : 2u);
        break;
    case 1:
        (void)snprintf(line, 512, "set %s by=%u", name, 1 + below(f, 8));
        break;
    case 2:
        (void)snprintf(line, 512, "set %s next=%" PRId64, name,
                       f->r.noun == USHER_ID && f->r.of.id.next > 0 &&
                               f->r.of.id.next < INT64_C(1) << 50
                           ? f->r.of.id.next + below(f, 900)
                           : 5);
        break;
    case 3:
        (void)snprintf(line, 512, "set %s limit=%u", name, 1000u << below(f, 20));
        break;
    default:
        (void)snprintf(line, 512, "next %s n=%u", name, 1 + below(f, 20));
        break;
    }
    status = run_line(f, USHER_ID, line);
    if (status == USHER_OK && strncmp(line, "next", 4) == 0)
        for (int64_t i = 0; i < f->r.of.id.n; i++) {
            char text[32];

            (void)snprintf(text, sizeof text, "%" PRId64, f->r.of.id.first + i * f->r.of.id.by);
            if (!note(f, "ids", text)) /* of both: they never meet */
                fail_msg("%s: %s came twice", line, text);
        }
}

/* The name at the authority is the whole rule and the period: nothing is cut. */
TEST_WITH(the_longest_rule_is_granted_day_by_day, set_up, tear_down)
{
    struct granted *f = *state;
    char rule[USHER_NAME_MAX + 1], want[2][USHER_AUTHORITY_NAME_MAX + 1];
    struct usher_serial_settings set = USHER_SERIAL_SETTINGS_INIT;
    int found = 0;

    memset(rule, 'r', USHER_NAME_MAX);
    rule[USHER_NAME_MAX] = '\0';
    set.date = "%Y%m%d-";
    set.reset = USHER_SERIAL_RESET_DAY;
    engine_open(f);
    assert_int_equal(usher_serial_set(f->e, rule, &set, NULL, NULL), USHER_OK);
    for (int day = 0; day < 2; day++, f->now += 24 * HOUR) {
        assert_int_equal(usher_serial_take(f->e, rule, 1, NULL, NULL), USHER_OK);
        (void)snprintf(want[day], sizeof want[day], "%s@%d", rule, 19719 + day);
    }
    for (int i = 0; i < f->authority.n; i++)
        for (int day = 0; day < 2; day++)
            found += f->authority.of[i].name_size == strlen(want[day]) &&
                     memcmp(f->authority.of[i].name, want[day], strlen(want[day])) == 0;
    assert_int_equal(found, 2);
    audit(f->e);
    memset(want[0], 'r', USHER_AUTHORITY_NAME_MAX);
    want[0][USHER_AUTHORITY_NAME_MAX] = '\0';
    assert_int_equal(usher_serial_take(f->e, want[0], 1, NULL, NULL), USHER_INVALID);
    assert_non_null(strstr(usher_message(), "255"));
}

TEST_WITH(no_serial_or_id_comes_twice_after_any_loss, set_up, tear_down)
{
    struct granted *f = *state;
    uint64_t seed = number_from("USHER_SEED", budget_long() ? (uint64_t)time(NULL) : 11);
    /* each takes milliseconds: not as many as of others in check-long */
    uint64_t steps =
        budget_long() ? 100000 : budget_of("USHER_STEPS", under_test.durable ? 1000 : 4000);
    unsigned lost = 0;
    bool met = true;

    print_message("%s: USHER_SEED=%" PRIu64 "\n", under_test.name, seed);
    f->seed = seed;
    engine_open(f);
    for (uint64_t i = 0; i < steps; i++) {
        char line[512] = "";
        uint64_t faults = 1;

        f->now += below(f, 20) == 0 ? below(f, 40) * HOUR : below(f, 60000);
        if (f->away ? below(f, 8) == 0 : below(f, 150) == 0) {
            f->away = !f->away;
            atomic_store(&f->authority.answer, f->away ? USHER_UNAVAILABLE : USHER_OK);
            suite_close(&f->e); /* a short deadline while it is away */
            met = f->away;
            {
                struct usher_options opt = USHER_OPTIONS_INIT;

                opt.timeout_ms = f->away ? 60 : 60000;
                opt.authority = &f->authority.base;
                f->e = suite_open(f->url, &f->now, &opt);
            }
        }
        if (below(f, 120) == 0 && !f->away) {
            suite_close(&f->e);
            if (below(f, 3) != 0) {
                assert_true(under_test.fresh(f->url));
                lost++;
            }
            engine_open(f);
        }
        if (!f->away && !met) { /* it learns of earlier changes with its next use */
            met = true;
            (void)run_line(f, USHER_ID, "next a");
            (void)run_line(f, USHER_ID, "next b");
        }
        if (below(f, 4) == 0)
            id_step(f, line);
        else
            serial_step(f, line);
        if (getenv("USHER_VERBOSE") != NULL)
            print_message("%" PRIu64 " %s: %s %s\n", i, line, usher_status_word(f->r.status),
                          f->r.message);
        if (f->away)
            continue; /* nothing can be compared */
        if (f->r.status == USHER_UNAVAILABLE || f->r.status == USHER_UNKNOWN)
            fail_msg("step %" PRIu64 ": %s: %s", i, line, f->r.message);
        assert_int_equal(check_faults(f->e, NULL, NULL, &faults), USHER_OK);
        if (faults != 0) {
            print_error("step %" PRIu64 ": %s\n", i, line);
            audit(f->e);
        }
    }
    if (steps >= 4000)
        assert_true(lost > 0 && f->seen->n > steps / 2);
}
