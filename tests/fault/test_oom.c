/* SPDX-License-Identifier: MIT */
/*
 * Every allocation of every public call fails once, then for ever.
 *
 * For n = 1, 2, … the whole scenario runs with the n-th allocation failing, until a run in
 * which none failed: the public calls of numbers, then the script of each noun (lib/script.h).
 * Every call either does what it says or answers NOMEM (or UNAVAILABLE) and has changed nothing,
 * which the digest shows.  Repeated with memory it succeeds, and later commands have their usual
 * answers.  Nothing leaks, every size given back is the size taken, and the audit is clean.
 */
#include "lib/test.h"

#include "lib/budget.h"
#include "lib/calls.h"
#include "lib/script.h"
#include "lib/util.h"

struct faulty {
    unsigned long n;       /* allocations so far */
    unsigned long fail_at; /* 0: never */
    bool for_ever, fired;
    size_t bytes; /* outstanding */
};

static void *faulty_resize(void *payload, void *p, size_t old, size_t size)
{
    struct faulty *f = payload;
    void *q;

    if (size == 0) {
        f->bytes -= old;
        free(p);
        return NULL;
    }
    f->n++;
    if (f->fail_at != 0 && (f->n == f->fail_at || (f->for_ever && f->n > f->fail_at))) {
        f->fired = true;
        return NULL;
    }
    q = realloc(p, size);
    assert_non_null(q);
    f->bytes += size - old;
    return q;
}

static void arm(struct faulty *f, unsigned long after, bool for_ever)
{
    f->fail_at = after != 0 ? f->n + after : 0;
    f->for_ever = for_ever;
    f->fired = false;
}

/* ---- the calls --------------------------------------------------------------------- */

struct world {
    struct usher_engine *e;
    const struct script *script; /* whose commands are run; NULL: calls[] */
    bool at_once;                /* the store writes at once and has no rollback */
    struct ask_number_hold hold;
    unsigned notices;
    char owner[32];
};

static void watcher(void *payload, const struct usher_notice *notice)
{
    (void)notice;
    ++*(unsigned *)payload;
}

typedef enum usher_status call_fn(struct world *w);

static enum usher_status do_set(struct world *w)
{
    struct usher_number_result_settings s = { .lease_ms = 50000, .daily = 5 };

    return ask_number_set(w->e, "p", USHER_GIVEN_LEASE | USHER_GIVEN_DAILY, &s);
}

static enum usher_status do_add(struct world *w)
{
    return ask_number_add(w->e, "p", "n1", NULL);
}

static enum usher_status do_add_grouped(struct world *w)
{
    return ask_number_add(w->e, "p", "n2", "a group with a long name that is longer than small");
}

static enum usher_status do_reg(struct world *w)
{
    return ask_number_reg(w->e, "p", "n1");
}

static enum usher_status do_reg_grouped(struct world *w)
{
    return ask_number_reg(w->e, "p", "n2");
}

static enum usher_status do_call(struct world *w)
{
    return ask_number_call(w->e, "p", "ann", NULL, &w->hold);
}

static enum usher_status do_renew(struct world *w)
{
    return ask_number_renew(w->e, "p", w->hold.number, w->hold.token, 90000, NULL);
}

static enum usher_status do_call_sticky(struct world *w)
{
    struct ask_number_call_options opt = { 0 };
    struct ask_number_hold hold;

    opt.sticky = "peer";
    opt.request = "request 1";
    opt.groups = "none,*";
    return ask_number_call(w->e, "p", "bob", &opt, &hold);
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
    enum usher_status status = ask_number_list(w->e, "p", -1, NULL, NULL, 0, &reply);

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
    return ask_number_hangup(w->e, "p", w->hold.number, w->hold.token, 1000);
}

/* Renew a hold that the store has lost; its record is in the list of a node. */
static enum usher_status do_take_back(struct world *w)
{
    struct ask_number_call_options opt = { 0 };
    struct ask_number_hold hold = { .token = UINT64_C(1) << 52, .number = "n1" };

    opt.node = "a node with a long name: longer than small";
    return ask_number_renew_as(w->e, "p", "carl", &opt, &hold);
}

static enum usher_status do_free(struct world *w)
{
    return ask_number_free(w->e, "p", "bob", NULL, NULL);
}

static enum usher_status do_sweep(struct world *w)
{
    return ask_number_sweep(w->e, "p", NULL);
}

static enum usher_status do_bulk(struct world *w)
{
    static const char *const numbers[] = { "b1", "b2", "b3" };

    return ask_number_bulk(w->e, USHER_NUMBER_ADD, "p", numbers, 3, "g", NULL);
}

static enum usher_status do_del(struct world *w)
{
    return ask_number_del(w->e, "p", "n2");
}

static enum usher_status do_audit(struct world *w)
{
    uint64_t faults = 1;
    enum usher_status status = check_faults(w->e, NULL, NULL, &faults);

    assert_true(status != USHER_OK || faults == 0);
    return status;
}

static const struct {
    const char *name;
    call_fn *fn;
    bool atomic; /* one command: changes nothing unless it succeeds */
} calls[] = {
    { "set", do_set, true },
    { "add", do_add, true },
    { "add with a group", do_add_grouped, true },
    { "reg", do_reg, true },
    { "reg with a group", do_reg_grouped, true },
    { "call", do_call, true },
    { "renew", do_renew, true },
    { "call, sticky, with a request id", do_call_sticky, true },
    { "show", do_show, true },
    { "list", do_list, true },
    { "stats", do_stats, true },
    { "hangup", do_hangup, true },
    { "taken back", do_take_back, true },
    { "free", do_free, false },
    { "sweep", do_sweep, false },
    { "bulk", do_bulk, false },
    { "del", do_del, true },
    { "audit", do_audit, true },
};
#define CALLS (sizeof calls / sizeof *calls)

static bool done(enum usher_status status)
{
    return USHER_IS_DONE(status);
}

static struct script_notes notes; /* of the script of this run */

static size_t calls_of(const struct world *w)
{
    return w->script != NULL ? notes.n : CALLS;
}

static const char *name_of(const struct world *w, size_t i)
{
    return w->script != NULL ? w->script->lines[i] : calls[i].name;
}

/* Return whether @line is a heartbeat of an agent, even if the command fails. */
static bool is_heartbeat(const char *line)
{
    static const char *const verbs[] = { "accept", "reject", "pause", "pull", "ready" };
    bool found = false;

    for (size_t i = 0; i < sizeof verbs / sizeof *verbs && strncmp(line, "queue ", 6) == 0; i++)
        found |= strncmp(line + 6, verbs[i], strlen(verbs[i])) == 0;
    return found;
}

/* Return whether the call changes nothing if it fails.  Expiries and heartbeats are written before
 * the command, and the memory store cannot undo them; the remains of an old room are erased by
 * commands of their own before a room is opened. */
static bool is_atomic(const struct world *w, size_t i)
{
    const char *line = w->script != NULL ? w->script->lines[i] : "";

    if (w->script == NULL)
        return calls[i].atomic;
    return w->at_once ? !notes.ended[i + 1] && !is_heartbeat(line)
                      : !notes.ended[i + 1] || strncmp(line, "room open ", 10) != 0;
}

/* Execute call @i.  @exactly: a script's answer must be the one noted. */
static enum usher_status call(struct world *w, size_t i, bool exactly)
{
    return w->script != NULL ? script_run(w->e, w->script, (unsigned)i, exactly ? &notes : NULL)
                             : calls[i].fn(w);
}

static void digest(const struct world *w, char d[33])
{
    enum usher_noun noun = w->script != NULL ? w->script->noun : USHER_NUMBER;

    assert_int_equal(usher_digest(w->e, noun, w->script != NULL ? w->script->scope : "p", d),
                     USHER_OK);
}

#define STEPS 100 /* of one command, at most */

/* Check command @i, which was done, with too little memory at first.  A store that writes at once
 * may have left matches, or the rest of many changes, to a later command.  Then it may not have
 * cached the answer for the request id (@at_first: its first answer was a success).  Return whether
 * this is so.  All else is as noted. */
static bool left_over(const struct world *w, size_t i, bool at_first)
{
    const char *line = w->script->lines[i];
    bool many = strstr(line, " sweep ") != NULL || strstr(line, " free ") != NULL;
    enum usher_status status = USHER_OK;
    char text[128], d[33];

    digest(w, d);
    /* a step that only moves deadlines may be `same` */
    for (int steps = 0;
         w->at_once && many && done(status) && steps < STEPS && strcmp(d, notes.digest[i + 1]) != 0;
         steps++) {
        status = script_execute(w->e, line);
        digest(w, d);
    }
    if (w->at_once && w->script->noun == USHER_QUEUE && strcmp(d, notes.digest[i + 1]) != 0) {
        (void)snprintf(text, sizeof text, "queue match %s%s", w->script->scope,
                       strstr(line, " now="));
        assert_true(done(script_execute(w->e, text)));
        digest(w, d);
    }
    if (w->at_once && at_first && strstr(line, " req=") != NULL &&
        strcmp(d, notes.digest[i + 1]) != 0)
        return true;
    (void)script_check(w->e, w->script, &notes, (unsigned)i + 1, (unsigned)i + 1);
    return false;
}

/* Run the scenario; the @nth allocation of call @which fails.  Return whether one did. */
static bool scenario(const char *url, const struct script *script, size_t which, unsigned long nth,
                     bool for_ever)
{
    struct faulty f = { 0 };
    struct usher_allocator alloc = { faulty_resize, &f };
    struct usher_options options = USHER_OPTIONS_INIT;
    struct usher_watcher *watch;
    struct world w;
    bool fired = false, forgotten = false;

    memset(&w, 0, sizeof w);
    w.script = script;
    w.at_once = strcmp(url, "memory:") == 0;
    options.alloc = &alloc;
    assert_int_equal(usher_open(url, &options, &w.e), USHER_OK);
    assert_int_equal(usher_watch(w.e, script != NULL ? script->noun : USHER_NUMBER, NULL, watcher,
                                 &w.notices, &watch),
                     USHER_OK);
    for (size_t i = 0; i < calls_of(&w); i++) {
        char before[33], after[33];
        enum usher_status status;

        digest(&w, before);
        if (i == which)
            arm(&f, nth, for_ever);
        status = call(&w, i, i != which);
        if (i == which) {
            bool at_first = done(status);

            fired = f.fired;
            arm(&f, 0, false);
            if (!at_first) {
                assert_true(fired);
                assert_true(status == USHER_NOMEM || status == USHER_UNAVAILABLE);
                assert_string_not_equal(usher_message(), "");
                if (is_atomic(&w, i)) {
                    digest(&w, after);
                    if (strcmp(before, after) != 0)
                        fail_msg("%s: %s after allocation %lu, and is applied", name_of(&w, i),
                                 usher_status_word(status), nth);
                }
                script_audit(w.e);
                status = call(&w, i, false);
            }
            if (script != NULL && fired && done(status))
                forgotten = left_over(&w, i, at_first);
        }
        if (!done(status))
            fail_msg("%s: %s", name_of(&w, i), usher_message());
    }
    usher_unwatch(w.e, watch);
    if (script != NULL && !forgotten)
        (void)script_check(w.e, script, &notes, notes.n, notes.n);
    script_audit(w.e);
    usher_close(w.e);
    assert_true(f.bytes == 0);
    return fired;
}

/* Remove the store. */
static void wipe(const char *file)
{
    static const char *const tails[] = { "", "-wal", "-shm" };
    char path[256];

    for (size_t i = 0; file != NULL && i < sizeof tails / sizeof *tails; i++) {
        (void)snprintf(path, sizeof path, "%s%s", file, tails[i]);
        (void)unlink(path);
    }
}

static void each_call(const char *url, const char *file, const struct script *script)
{
    if (script != NULL) {
        struct usher_engine *e;

        wipe(file);
        assert_int_equal(usher_open(url, NULL, &e), USHER_OK);
        script_record(e, script, &notes);
        usher_close(e);
    }
    for (size_t which = 0; which < (script != NULL ? notes.n : CALLS); which++) {
        for (int for_ever = 0; for_ever <= 1; for_ever++) {
            /* in `make check' every other one fails alone, and the ones between with all after them
             */
            unsigned long step = file != NULL && budget_short() ? 2 : 1;
            unsigned long nth = 1 + (unsigned long)for_ever % step;

            for (wipe(file); scenario(url, script, which, nth, for_ever != 0); wipe(file))
                nth += step;
        }
    }
}

/* The public calls of numbers, then commands of every noun. */
static void all_calls(const char *url, const char *file)
{
    each_call(url, file, NULL);
    for (unsigned i = 0; i < SCRIPTS; i++)
        each_call(url, file, &scripts[i]);
}

static unsigned halves; /* bulk commands that returned OK with fewer changes */

enum { STEP = 64 }; /* changes that one command makes at most */

/* Repeat @c until it has made all @left changes, in full steps. */
static void finish_steps(struct usher_engine *e, struct usher_operation *c, uint64_t left)
{
    struct usher_result r;
    char request[16];

    for (unsigned i = 2;; i++) {
        uint64_t count = left < STEP ? left : STEP;

        c->request.data = request;
        c->request.size = (size_t)snprintf(request, sizeof request, "r%u", i);
        (void)usher_operate(e, c, &r, 1);
        assert_int_equal(r.status, left > 0 ? USHER_OK : USHER_SAME);
        assert_true(r.of.number.count == count && r.of.number.more == (count < left));
        if (left == 0)
            return;
        left -= count;
    }
}

/* A command that makes many changes: on a store without rollback its answer counts those made. */
static bool half_way(const char *url, enum usher_verb verb, unsigned long nth, bool for_ever)
{
    enum { MANY = 300 }; /* more than a step */
    struct faulty f = { 0 };
    struct usher_allocator alloc = { faulty_resize, &f };
    struct usher_options options = USHER_OPTIONS_INIT;
    /* holds without an end are in fewer lists than idle numbers, so the command needs memory */
    struct usher_number_result_settings set = { .lease_ms = verb == USHER_NUMBER_SWEEP ? 1000 : 0 };
    struct usher_operation c, call;
    struct usher_result r;
    struct usher_engine *e;
    char before[33], after[33];
    bool fired;

    options.alloc = &alloc;
    options.clock_given = true;
    assert_int_equal(usher_open(url, &options, &e), USHER_OK);
    assert_true(USHER_IS_DONE(ask_number_set(e, "p", USHER_GIVEN_LEASE, &set)));
    memset(&call, 0, sizeof call);
    call.verb = USHER_NUMBER_CALL;
    call.scope.data = "p";
    call.scope.size = 1;
    call.given = USHER_GIVEN_NOW;
    call.now_ms = INT64_C(4000000000000);
    for (int i = 0; i < MANY; i++) {
        char number[16], group[16];

        (void)snprintf(number, sizeof number, "n%d", i);
        (void)snprintf(group, sizeof group, "g%d", i % 8);
        assert_int_equal(ask_number_add(e, "p", number, group), USHER_OK);
    }
    /* numbers are never idle and up all at once, which would leave spare capacity in a list */
    for (int i = 0; i < MANY; i++) {
        char number[16];

        (void)snprintf(number, sizeof number, "n%d", i);
        assert_int_equal(ask_number_reg(e, "p", number), USHER_OK);
        assert_int_equal(usher_operate(e, &call, &r, 1), USHER_OK);
    }
    assert_int_equal(r.status, USHER_OK);
    c = call;
    c.verb = verb;
    c.request.data = "r";
    c.request.size = 1;
    c.now_ms += verb == USHER_NUMBER_SWEEP ? 5000 : 0;
    if (verb == USHER_NUMBER_FREE) {
        c.given |= USHER_GIVEN_ALL;
        c.arg.number.all = 1;
    }
    assert_int_equal(usher_digest(e, USHER_NUMBER, "p", before), USHER_OK);
    arm(&f, nth, for_ever);
    (void)usher_operate(e, &c, &r, 1);
    fired = f.fired;
    arm(&f, 0, false);
    assert_int_equal(usher_digest(e, USHER_NUMBER, "p", after), USHER_OK);
    if (r.status == USHER_OK) {
        uint64_t count = r.of.number.count;

        assert_true(count > 0 && (fired ? count <= STEP : count == STEP));
        assert_true(r.of.number.more);
        halves += count < STEP;
        finish_steps(e, &c, MANY - count);
    } else {
        assert_true(fired && r.status == USHER_NOMEM);
        assert_string_equal(before, after);
        (void)usher_operate(e, &c, &r, 1);
        assert_true(r.status == USHER_OK && r.of.number.count == STEP && r.of.number.more);
        finish_steps(e, &c, MANY - STEP);
    }
    audit(e);
    usher_close(e);
    assert_true(f.bytes == 0);
    return fired;
}

TEST(a_bulk_command_that_fails_half_way_returns_its_status)
{
    static const enum usher_verb verbs[] = { USHER_NUMBER_FREE, USHER_NUMBER_SWEEP };

    for (size_t i = 0; i < 2; i++)
        for (int for_ever = 0; for_ever <= 1; for_ever++)
            for (unsigned long nth = 1; half_way("memory:", verbs[i], nth, for_ever != 0); nth++)
                ;
    assert_true(halves > 0);
}

static void each_open(const char *url)
{
    for (int for_ever = 0; for_ever <= 1; for_ever++) {
        for (unsigned long nth = 1;; nth++) {
            struct faulty f = { 0 };
            struct usher_allocator alloc = { faulty_resize, &f };
            struct usher_options options = USHER_OPTIONS_INIT;
            struct usher_engine *e = NULL;
            enum usher_status status;

            options.alloc = &alloc;
            arm(&f, nth, for_ever != 0);
            status = usher_open(url, &options, &e);
            if (status == USHER_OK)
                usher_close(e);
            else
                assert_true(status == USHER_NOMEM && f.fired && e == NULL);
            assert_true(f.bytes == 0);
            if (!f.fired)
                break;
        }
    }
}

TEST(memory_survives_the_loss_of_any_allocation)
{
    each_open("memory:");
    all_calls("memory:", NULL);
}

#ifdef USHER_WITH_SQLITE
TEST(sqlite_survives_the_loss_of_any_allocation)
{
    char file[64], url[96];

    (void)snprintf(file, sizeof file, "%s/pool.db", test_dir());
    (void)snprintf(url, sizeof url, "sqlite:%s?sync=off", file);
    each_open(url);
    all_calls(url, file);
    wipe(file);
}
#endif
