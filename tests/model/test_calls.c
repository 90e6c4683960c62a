/* SPDX-License-Identifier: MIT */
/*
 * The calls of each noun do what the same commands do as values, and their answers say the same.
 *
 * A world is some commands of every noun (random_commands.h), each executed by usher_operate() on
 * an empty store; then as values on another one of that kind; then on a third one by the call that
 * is named as the verb, now and then posted.  Each reply of the third is that of the second, value
 * by value, and each answer is what usher_NOUN_answer_of() makes of it.  Arguments
 * that a call cannot have (a token of 0, a text with a NUL) are given as values there, too.
 *
 * Then what does not depend on worlds: each option and each setting with each verb is taken, or
 * refused by name; structs of programs that are older or newer than the library.
 *
 * World i of a run has the seed USHER_SEED + i.
 */
#include "lib/test.h"

#include <limits.h>

#include "api/calls.h"
#include "core/verbs.h"
#include "lib/stores.h"
#include "model/random_commands.h"
#include "model/gen.h"

#define VALUES_MAX 64
#define COMMANDS_MAX 300

/* ---- a command, as values, and as what a call is given -------------------------------------- */

struct given_values {
    struct usher_value values[VALUES_MAX];
    struct usher_text texts[VALUES_MAX];
    size_t n;
    bool sayable; /* by a call */
};

static const struct usher_value *value_in(const struct given_values *t, uint32_t field)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->values[i].field == field)
            return &t->values[i];
    return NULL;
}

static const char *string_of(const struct given_values *t, uint32_t field)
{
    const struct usher_value *v = value_in(t, field);

    return v != NULL ? v->text : NULL;
}

static const struct usher_text *bytes_of(const struct given_values *t, uint32_t field)
{
    const struct usher_value *v = value_in(t, field);

    return v != NULL ? &t->texts[v - t->values] : NULL;
}

static int64_t number_of(const struct given_values *t, uint32_t field)
{
    const struct usher_value *v = value_in(t, field);

    return v != NULL ? v->number : 0;
}

static uint64_t token_of(const struct given_values *t, uint32_t field)
{
    return (uint64_t)number_of(t, field);
}

#include "model/calls_gen.h"

static void add(struct given_values *t, uint32_t field, const struct usher_text *text,
                int64_t number)
{
    struct usher_value *v = &t->values[t->n];
    static const struct usher_text none = { NULL, 0 };
    char *to = NULL;

    assert_true(t->n < VALUES_MAX);
    if (text != NULL) {
        to = malloc(text->size + 1);
        if (to == NULL)
            abort();
        memcpy(to, text->data, text->size);
        to[text->size] = '\0';
        if (strlen(to) != text->size)
            t->sayable = false;
    }
    *v = (struct usher_value){ field, text != NULL ? (int32_t)text->size : 0, number, to };
    t->texts[t->n] = none;
    if (text != NULL)
        t->texts[t->n] = (struct usher_text){ to, text->size };
    t->n++;
}

static void values_of(const struct usher_operation *c, struct given_values *t)
{
    const struct usher__noun *noun = usher__noun((unsigned)c->verb >> 8);
    const struct usher__verb *verb = usher__verb((unsigned)c->verb);
    uint32_t field;

    t->n = 0;
    t->sayable = has_call((uint32_t)c->verb);
    for (uint64_t bits = verb->order | verb->keys; bits != 0; bits &= bits - 1) {
        const struct usher__arg *arg = &noun->args[__builtin_ctzll(bits)];
        const char *at = (const char *)c + arg->offset;
        struct usher_text text;
        int64_t number;

        if (arg->type < USHER__ARG_INT) {
            memcpy(&text, at, sizeof text);
            if (text.data != NULL && arg->code == USHER_FIELD_EPOCH)
                add(t, arg->code, NULL, (int64_t)strtoull(text.data, NULL, 16));
            else if (text.data != NULL)
                add(t, arg->code, &text, 0);
        } else if ((c->given & arg->given) != 0) {
            memcpy(&number, at, sizeof number);
            add(t, arg->code, NULL, number);
            if (number == USHER_NONE ||
                (usher_about_field(arg->code)->type == USHER_TYPE_CODE &&
                 (number == USHER__CODE_OFF || number < INT_MIN || number > INT_MAX)))
                t->sayable = false;
        }
        if (t->n > 0 && t->values[t->n - 1].number == 0 &&
            usher_about_field(t->values[t->n - 1].field)->type == USHER_TYPE_TOKEN)
            t->sayable = false;
    }
    if (c->request.data != NULL)
        add(t, USHER_FIELD_REQUEST, &c->request, 0);
    if ((c->given & USHER_GIVEN_NOW) != 0) {
        add(t, USHER_FIELD_NOW, NULL, c->now_ms);
        if (c->now_ms == 0 || c->now_ms == USHER_NONE)
            t->sayable = false;
    }
    /* a C string cannot have the part of a name after a NUL */
    if (c->scope.data != NULL && memchr(c->scope.data, '\0', c->scope.size) != NULL)
        t->sayable = false;
    /* a number among the arguments is always given */
    for (size_t i = 0; (field = usher_verb_takes((uint32_t)c->verb, i, NULL)) != 0; i++)
        if (is_given((uint32_t)c->verb, field) && value_in(t, field) == NULL &&
            usher_about_field(field)->type < USHER_TYPE_TOKEN)
            t->sayable = false;
}

static void given_values_done(struct given_values *t)
{
    for (size_t i = 0; i < t->n; i++)
        free((char *)(uintptr_t)t->values[i].text);
}

/* A struct of the program, in memory of its own that ends where it ends. */
static void *new_struct(const struct usher__shape *shape)
{
    void *p = calloc(1, shape->size);

    if (p == NULL)
        abort();
    memcpy(p, &shape->size, sizeof shape->size);
    return p;
}

/* All of @t that has a member in @shape and is not an argument. */
static void *filled(const struct usher__shape *shape, const struct given_values *t, uint32_t verb,
                    const struct usher__shape *but)
{
    char *p = new_struct(shape);

    for (size_t i = 0; i < shape->n; i++) {
        const struct usher__member *m = &shape->members[i];
        const struct usher_value *v = value_in(t, m->field);
        bool there = false;
        int64_t number;
        int code;

        for (size_t k = 0; but != NULL && k < but->n; k++)
            there = there || but->members[k].field == m->field;
        if (v == NULL || there || is_given(verb, m->field))
            continue;
        number = v->number == 0 ? USHER_NONE : v->number;
        code = v->number == 0 ? USHER__CODE_OFF : (int)v->number;
        if (m->kind == USHER__MEMBER_CODE)
            memcpy(p + m->offset, &code, sizeof code);
        else if (m->kind == USHER__MEMBER_STRING)
            memcpy(p + m->offset, &v->text, sizeof v->text);
        else if (m->kind == USHER__MEMBER_BYTES)
            memcpy(p + m->offset, &t->texts[v - t->values], sizeof *t->texts);
        else
            memcpy(p + m->offset, &number, sizeof number);
    }
    return p;
}

/* As the options of every noun begin. */
struct head {
    size_t size;
    void *post;
    int64_t timeout_ms;
    const char *request;
    int64_t now_ms, wait;
};

/* ---- are they the same? ---------------------------------------------------------------------- */

static char why[300];

static bool fault(const char *what, uint32_t field)
{
    (void)snprintf(why, sizeof why, "%s %s", what,
                   field != 0 ? usher_about_field(field)->name : "");
    return false;
}

/* The id of a room of a queue begins with the epoch, which is another one on each store. */
static const char *after_epoch(uint32_t field, const char *text)
{
    return (field == USHER_FIELD_ROOM || field == USHER_FIELD_VISIT) && strchr(text, '.') != NULL
               ? strchr(text, '.')
               : text;
}

static bool values_same(const struct usher_reply *a, const struct usher_reply *b, size_t row)
{
    size_t n, m;
    const struct usher_value *x = usher_reply_values(a, row, &n);
    const struct usher_value *y = usher_reply_values(b, row, &m);

    if (n != m)
        return fault("another number of values", 0);
    for (size_t i = 0; i < n; i++) {
        if (x[i].field != y[i].field || (x[i].text != NULL) != (y[i].text != NULL))
            return fault("another field, not", x[i].field);
        if (x[i].field == USHER_FIELD_EPOCH)
            continue;
        if (x[i].text != NULL
                ? strcmp(after_epoch(x[i].field, x[i].text), after_epoch(y[i].field, y[i].text))
                : x[i].number != y[i].number)
            return fault("otherwise:", x[i].field);
    }
    return true;
}

static bool replies_same(const struct usher_reply *a, const struct usher_reply *b)
{
    if (a->status != b->status || a->version != b->version || a->due_ms != b->due_ms ||
        a->repeated != b->repeated || a->more != b->more || a->replicas != b->replicas ||
        (a->epoch != 0) != (b->epoch != 0) || strcmp(a->message, b->message) != 0)
        return fault("another head", 0);
    if (a->n_rows != b->n_rows)
        return fault("another number of rows", 0);
    for (size_t i = 0; i < a->n_rows; i++)
        if (!values_same(a, b, i))
            return false;
    return values_same(a, b, USHER_ANSWER);
}

static bool answer_same(const struct usher__calls *of, const struct usher_reply *wanted,
                        const char *answer)
{
    char *want = new_struct(&of->answer);
    bool good = true;

    assert_true(usher__call_answer(of, &of->answer, wanted, want));
    for (size_t i = 0; i < of->answer.n && good; i++) {
        const struct usher__member *m = &of->answer.members[i];
        const char *x = want + m->offset, *y = answer + m->offset;

        if (m->field == USHER_FIELD_EPOCH)
            continue;
        good = m->kind == USHER__MEMBER_CHARS
                   ? strcmp(after_epoch(m->field, x), after_epoch(m->field, y)) == 0
                   : memcmp(x, y, m->size) == 0;
        if (!good)
            (void)fault("otherwise:", m->field);
    }
    free(want);
    return good;
}

/* ---- worlds ---------------------------------------------------------------------------------- */

struct world {
    uint64_t seed;
    struct rng rng;
    struct random_command *commands;
    struct usher_reply *replies[COMMANDS_MAX];
    size_t n;
    unsigned calls, posted;
};

static void as_operations(struct world *w, const struct test_store *store)
{
    static const unsigned extremes[] = { 0, 0, 2, 20 };
    struct usher_engine *e = engine_on_store(store);
    struct random_options opt;
    struct random_listener ear;
    struct random_commands *b;

    memset(&ear, 0, sizeof ear);
    memset(&opt, 0, sizeof opt);
    opt.seed = w->seed;
    opt.nouns =
        rng_chance(&w->rng, 40) ? RANDOM_SPOKEN : 1u << (1 + rng_below(&w->rng, USHER_ROOMS - 1));
    opt.requests = (unsigned)rng_below(&w->rng, 3) * 15;
    opt.extremes = extremes[rng_below(&w->rng, 4)];
    opt.wrong = (unsigned)rng_below(&w->rng, 3) * 5;
    opt.presence = rng_chance(&w->rng, 30);
    b = random_open(&opt);
    for (size_t i = 0; i < w->n; i++) {
        struct usher_result r;

        random_next(b, &w->commands[i]);
        random_epoch_mend(&w->commands[i]);
        random_resolve(&w->commands[i], &ear);
        assert_int_not_equal(usher_operate(e, &w->commands[i].c, &r, 1), USHER_INVALID);
        random_listen(&ear, &w->commands[i].c, &r);
        random_learn(b, &w->commands[i].c, &r);
        usher_result_done(&r);
    }
    random_close(b);
    usher_close(e);
}

static struct usher_reply *execute(struct usher_engine *e, const struct usher_operation *c,
                                   const struct given_values *t)
{
    struct usher_command command = {
        (uint32_t)c->verb, (int32_t)c->scope.size, c->scope.data, t->values, t->n, NULL
    };
    struct usher_reply *reply;

    assert_int_not_equal(usher_execute(e, &command, 1, 0, &reply), USHER_INVALID);
    return reply;
}

static void listen(struct random_listener *ear, const struct usher_operation *c, uint64_t epoch)
{
    struct usher_result result;

    memset(&result, 0, sizeof result);
    result.epoch = epoch;
    random_listen(ear, c, &result);
}

static void as_values(struct world *w, const struct test_store *store)
{
    struct usher_engine *e = engine_on_store(store);
    struct random_listener ear;

    memset(&ear, 0, sizeof ear);
    for (size_t i = 0; i < w->n; i++) {
        struct given_values t;

        random_resolve(&w->commands[i], &ear);
        values_of(&w->commands[i].c, &t);
        w->replies[i] = execute(e, &w->commands[i].c, &t);
        listen(&ear, &w->commands[i].c, w->replies[i]->epoch);
        given_values_done(&t);
    }
    usher_close(e);
}

/* One command by its call; false: it is not answered as @wanted. */
static bool called(struct world *w, struct usher_engine *e, const struct usher_operation *c,
                   const struct given_values *t, const struct usher_reply *wanted,
                   uint64_t *ret_epoch)
{
    const struct usher__calls *of = usher__calls_of((enum usher_noun)((unsigned)c->verb >> 8));
    uint32_t verb = (uint32_t)c->verb;
    bool sets = has_settings(verb), posts = rng_chance(&w->rng, 20), good;
    /* the caller asks for no answer, unless it may have a new epoch: later commands give that */
    bool anew = (usher__verb(verb)->flags & USHER__CREATES) != 0 || verb == USHER_SERIAL_SETMAX ||
                verb == USHER_SERIAL_SETMAXCUR;
    bool blind = !anew && !is_reply(verb) && rng_chance(&w->rng, 20);
    void *settings = sets ? filled(&of->settings, t, verb, NULL) : NULL;
    struct head *opt = filled(&of->options, t, verb, sets ? &of->settings : NULL);
    char *answer = new_struct(&of->answer), *name = malloc(c->scope.size + 1);
    const struct usher_event *event = NULL;
    struct usher_reply *reply = NULL;
    enum usher_status status;

    if (name == NULL)
        abort();
    if (c->scope.size != 0)
        memcpy(name, c->scope.data, c->scope.size);
    name[c->scope.size] = '\0';
    opt->request = string_of(t, USHER_FIELD_REQUEST);
    opt->now_ms = number_of(t, USHER_FIELD_NOW);
    opt->post = posts ? w : NULL;
    status = give(e, t, verb, name, settings, opt, blind ? NULL : answer, &reply);
    why[0] = '\0';
    if (posts) {
        event = usher_collect(e, -1);
        good = (status == USHER_OK && event != NULL && event->tag == w &&
                replies_same(event->reply, wanted)) ||
               (why[0] == '\0' && fault("not posted", 0));
        *ret_epoch = event != NULL ? event->reply->epoch : 0;
        w->posted++;
        usher_event_done(event);
    } else {
        good = status == wanted->status || fault("another status", 0);
        if (is_reply(verb)) {
            good = good && reply != NULL && replies_same(reply, wanted);
            *ret_epoch = reply != NULL ? reply->epoch : 0;
        } else if (!blind) {
            good = good && answer_same(of, wanted, answer);
            memcpy(ret_epoch, answer + sizeof(size_t), sizeof *ret_epoch);
        }
        w->calls++;
    }
    usher_reply_done(reply);
    free(settings);
    free(opt);
    free(answer);
    free(name);
    return good;
}

static bool as_calls(struct world *w, const struct test_store *store, size_t *ret_at)
{
    struct usher_engine *e = engine_on_store(store);
    struct random_listener ear;
    bool good = true;

    memset(&ear, 0, sizeof ear);
    for (size_t i = 0; i < w->n && good; i++) {
        const struct usher_operation *c = &w->commands[i].c;
        struct usher_reply *reply;
        uint64_t epoch = 0;
        struct given_values t;

        random_resolve(&w->commands[i], &ear);
        values_of(c, &t);
        *ret_at = i;
        if (t.sayable) {
            good = called(w, e, c, &t, w->replies[i], &epoch);
        } else {
            reply = execute(e, c, &t);
            epoch = reply->epoch;
            usher_reply_done(reply);
        }
        listen(&ear, c, epoch);
        given_values_done(&t);
    }
    usher_close(e);
    return good;
}

TEST(typed_calls_equal_commands_as_values)
{
    uint64_t seed = number_from("USHER_SEED", 1), worlds = budget_of("USHER_WORLDS", 240);
    unsigned calls = 0, posted = 0;
    struct world w;

    memset(&w, 0, sizeof w);
    w.commands = calloc(COMMANDS_MAX, sizeof *w.commands);
    assert_non_null(w.commands);
    for (uint64_t i = 0; i < worlds; i++) {
        const struct test_store *store = &stores[i % n_stores];
        size_t at = 0;

        w.seed = seed + i;
        rng_seed(&w.rng, w.seed);
        w.n = 1 + (size_t)rng_below(&w.rng, COMMANDS_MAX);
        w.calls = w.posted = 0;
        as_operations(&w, store);
        as_values(&w, store);
        if (!as_calls(&w, store, &at))
            fail_msg("USHER_SEED=%" PRIu64
                     " USHER_WORLDS=1 USHER_STORES=%s: command %zu, %s %s: %s",
                     w.seed, store->name, at, usher_noun_word(w.replies[at]->verb >> 8),
                     usher_verb_word(w.commands[at].c.verb), why);
        for (size_t k = 0; k < w.n; k++)
            usher_reply_done(w.replies[k]);
        calls += w.calls;
        posted += w.posted;
    }
    free(w.commands);
    print_message("%u calls, %u posted\n", calls, posted);
    assert_true(calls > 0 && posted > 0);
}

/* ---- each member with each verb ------------------------------------------------------------- */

static bool takes(uint32_t verb, uint32_t field)
{
    uint32_t f;

    for (size_t i = 0; (f = usher_verb_takes(verb, i, NULL)) != 0; i++)
        if (f == field)
            return true;
    return false;
}

TEST(each_option_is_taken_or_refused)
{
    static const char unknown[] = "is not an argument of";
    struct usher_engine *e = engine_on_store(&stores[0]);
    unsigned taken = 0, refused = 0;

    for (uint32_t verb = usher_next_verb(0); verb != 0; verb = usher_next_verb(verb)) {
        const struct usher__calls *of = usher__calls_of((enum usher_noun)(verb >> 8));

        if (verb >> 8 == USHER_STORE || !has_call(verb)) /* its calls have no options */
            continue;
        for (size_t i = 0; i < of->options.n; i++) {
            const struct usher__member *m = &of->options.members[i];
            struct usher_text one = { "1", 1 };
            const char *string = "1", *word = usher_about_field(m->field)->word;
            char *opt = new_struct(&of->options);
            struct given_values none = { .n = 0 };
            struct usher_reply *reply = NULL;
            int64_t number = 1;
            int code = 1;
            bool known = takes(verb, m->field) && !is_given(verb, m->field);
            enum usher_status status;

            if (m->kind == USHER__MEMBER_STRING)
                memcpy(opt + m->offset, &string, sizeof string);
            else if (m->kind == USHER__MEMBER_BYTES)
                memcpy(opt + m->offset, &one, sizeof one);
            else if (m->kind == USHER__MEMBER_CODE)
                memcpy(opt + m->offset, &code, sizeof code);
            else
                memcpy(opt + m->offset, &number, sizeof number);
            status = give(e, &none, verb, "s", NULL, opt, NULL, &reply);
            if (known) {
                taken++;
                if (status == USHER_INVALID && strstr(usher_message(), unknown) != NULL)
                    fail_msg("%s: %s", word, usher_message());
            } else if (!takes(verb, m->field)) {
                refused++;
                if (status != USHER_INVALID || strstr(usher_message(), unknown) == NULL ||
                    strstr(usher_message(), word) == NULL)
                    fail_msg("verb %x with %s: %s", verb, word, usher_message());
            }
            usher_reply_done(reply);
            free(opt);
        }
    }
    usher_close(e);
    print_message("%u taken, %u refused\n", taken, refused);
    assert_true(taken > 90 && refused > 400);
}

/* ---- programs of another time --------------------------------------------------------------- */

TEST(structs_of_an_older_program_are_accepted)
{
    struct usher_engine *e = engine_on_store(&stores[0]);
    struct {
        struct usher_number_options opt;
        char behind[64];
    } in;
    struct {
        struct usher_number_answer answer;
    } out;
    struct usher_number_row row;
    struct usher_reply *reply;
    size_t short_opt = offsetof(struct usher_number_options, after);
    size_t short_answer = offsetof(struct usher_number_answer, after);

    /* the bytes after the end of its options do not belong to them */
    memset(&in, 0x5a, sizeof in);
    memset(&in, 0, short_opt);
    in.opt.size = short_opt;
    in.opt.group = "g";
    memset(&out, 0x5a, sizeof out);
    out.answer.size = short_answer;
    assert_int_equal(usher_number_add(e, "p", "1", &in.opt, &out.answer), USHER_OK);
    assert_int_equal(out.answer.state, USHER_NUMBER_STATE_IDLE_DOWN);
    for (size_t i = short_answer; i < sizeof out.answer; i++)
        assert_int_equal(((char *)&out.answer)[i], 0x5a);
    assert_int_equal(usher_number_show(e, "p", "1", NULL, &reply), USHER_OK);
    memset(&row, 0x5a, sizeof row);
    row.size = offsetof(struct usher_number_row, owner);
    assert_true(usher_number_row_of(reply, 0, &row));
    assert_string_equal(row.group, "g");
    for (size_t i = row.size; i < sizeof row; i++)
        assert_int_equal(((char *)&row)[i], 0x5a);
    usher_reply_done(reply);
    /* one of a later version that says nothing new */
    memset(&in, 0, sizeof in);
    in.opt.size = sizeof in;
    assert_int_equal(usher_number_reg(e, "p", "1", &in.opt, NULL), USHER_OK);
    in.behind[9] = 1;
    assert_int_equal(usher_number_unreg(e, "p", "1", &in.opt, NULL), USHER_INVALID);
    /* and who forgot the size */
    in.opt.size = 0;
    assert_int_equal(usher_number_unreg(e, "p", "1", &in.opt, NULL), USHER_INVALID);
    out.answer.size = 0;
    assert_int_equal(usher_number_unreg(e, "p", "1", NULL, &out.answer), USHER_INVALID);
    assert_int_equal(usher_number_unreg(e, "p", "1", NULL, NULL), USHER_OK);
    usher_close(e);
}

TEST(settings_come_back_as_they_can_be_given)
{
    struct usher_engine *e = engine_on_store(&stores[0]);
    struct usher_number_settings s = USHER_NUMBER_SETTINGS_INIT, back = USHER_NUMBER_SETTINGS_INIT;
    struct usher_serial_settings rule = USHER_SERIAL_SETTINGS_INIT;
    struct usher_id_settings ids = USHER_ID_SETTINGS_INIT;
    struct usher_number_row row = USHER_NUMBER_ROW_INIT;
    struct usher_reply *reply;

    assert_int_equal(usher_number_set(e, "p", NULL, NULL, &reply), USHER_MISSING);
    usher_reply_done(reply);
    s.lease_ms = 30000;
    s.daily = 7;
    assert_int_equal(usher_number_set(e, "p", &s, NULL, &reply), USHER_OK);
    assert_true(usher_number_settings_of(reply, &back));
    usher_reply_done(reply);
    assert_int_equal(back.lease_ms, 30000);
    assert_int_equal(back.daily, 7);
    assert_true(back.rest_ms == USHER_NONE && back.strict == USHER_NONE);
    assert_int_equal(usher_number_set(e, "p", &back, NULL, NULL), USHER_SAME);
    back.daily = USHER_NONE;
    assert_int_equal(usher_number_set(e, "p", &back, NULL, &reply), USHER_OK);
    assert_int_equal(usher_reply_int(reply, USHER_ANSWER, USHER_FIELD_DAILY), 0);
    /* what is not there is not read */
    assert_false(usher_number_row_of(reply, 0, &row));
    assert_false(usher_number_row_of(reply, USHER_ANSWER, &row));
    assert_false(usher_number_settings_of(NULL, &back));
    assert_false(usher_serial_settings_of(reply, &rule));
    back.size = 0;
    assert_false(usher_number_settings_of(reply, &back));
    usher_reply_done(reply);
    /* the step that was set, not the one that it has become */
    assert_int_equal(usher_id_create(e, "d", NULL, NULL, &reply), USHER_OK);
    assert_true(usher_id_settings_of(reply, &ids));
    assert_int_equal(ids.step, USHER_ID_STEP_DEFAULT);
    usher_reply_done(reply);
    rule.prefix = "A";
    rule.width = 3;
    assert_int_equal(usher_serial_set(e, "r", &rule, NULL, NULL), USHER_OK);
    rule.prefix = "";
    rule.width = 0;
    assert_int_equal(usher_serial_set(e, "r", &rule, NULL, &reply), USHER_OK);
    assert_true(usher_serial_settings_of(reply, &rule));
    assert_string_equal(rule.prefix, "");
    assert_int_equal(rule.width, 3);
    /* a code of 0 comes back as one that is given */
    assert_int_equal(rule.check, USHER_SERIAL_CHECK_OFF);
    assert_int_equal(rule.reset, USHER_SERIAL_RESET_OFF);
    assert_int_equal(rule.mode, USHER_SERIAL_MODE_QUEUE);
    rule.check = USHER_SERIAL_CHECK_LUHN;
    assert_int_equal(usher_serial_set(e, "r", &rule, NULL, NULL), USHER_OK);
    rule.check = (enum usher_serial_check_digit)0;
    assert_int_equal(usher_serial_set(e, "r", &rule, NULL, NULL), USHER_SAME);
    rule.check = USHER_SERIAL_CHECK_OFF;
    assert_int_equal(usher_serial_set(e, "r", &rule, NULL, NULL), USHER_OK);
    rule.check = (enum usher_serial_check_digit) - 2;
    assert_int_equal(usher_serial_set(e, "r", &rule, NULL, NULL), USHER_INVALID);
    usher_reply_done(reply); /* it has the texts of the rule */
    usher_close(e);
}

/* ---- lists of rooms ------------------------------------------------------------------------- */

TEST(rooms_are_listed_page_by_page)
{
    for (unsigned k = 0; k < n_stores; k++) {
        struct usher_engine *e = engine_on_store(&stores[k]);
        struct usher_room_options opt = USHER_ROOM_OPTIONS_INIT;
        struct usher_room_answer a = USHER_ROOM_ANSWER_INIT;
        struct usher_room_row row = USHER_ROOM_ROW_INIT;
        struct usher_reply *reply;
        char name[16], after[USHER_NAME_MAX + 1] = "";
        int64_t created = 0;
        int seen = 0, pages = 0;

        assert_int_equal(usher_room_list(e, NULL, NULL), USHER_INVALID);
        assert_int_equal(usher_room_list(e, LIST_OF(.created_ms = -5), &reply), USHER_INVALID);
        assert_non_null(strstr(usher_message(), "created"));
        assert_null(reply);
        for (int i = 0; i < 25; i++) {
            (void)snprintf(name, sizeof name, "room-%02d", i);
            opt.now_ms = 4000000000000 + i;
            assert_int_equal(usher_room_open(e, name, NULL, &opt, NULL), USHER_OK);
        }
        do {
            assert_int_equal(
                usher_room_list(e,
                                LIST_OF(.after = *after != '\0' ? after : NULL,
                                        .created_ms = created, .max = 7, .now_ms = 4000000000100),
                                &reply),
                USHER_OK);
            for (size_t i = 0; usher_room_row_of(reply, i, &row); i++) {
                (void)snprintf(name, sizeof name, "room-%02d", seen);
                assert_string_equal(row.name, name);
                assert_int_equal(row.since_ms, 4000000000000 + seen++);
                assert_int_equal(row.kind, USHER_ROOM_ROW_ROOM);
            }
            assert_true(usher_room_answer_of(reply, &a));
            (void)snprintf(after, sizeof after, "%s", a.name);
            created = a.created_ms != USHER_NONE ? a.created_ms : 0;
            usher_reply_done(reply);
            pages++;
        } while (a.more);
        assert_int_equal(seen, 25);
        assert_int_equal(pages, 4);
        assert_int_equal(
            usher_room_patrol(
                e, "ann", LIST_OF(.max = 10, .every_ms = 1000, .now_ms = 4000000000100), &reply),
            USHER_OK);
        assert_int_equal(reply->n_rows, 10);
        usher_reply_done(reply);
        assert_int_equal(usher_room_patrol(e, NULL, NULL, &reply), USHER_INVALID);
        usher_reply_done(reply);
        usher_close(e);
    }
}

static void scope_ignored(void *payload, const struct usher_scope_info *info)
{
    (void)payload;
    (void)info;
}

static void node_ignored(void *payload, const struct usher_node *node)
{
    (void)payload;
    (void)node;
}

TEST(a_list_refuses_the_options_of_others)
{
    struct usher_engine *e = engine_on_store(&stores[0]);
    const struct usher_list_options shorter = { .size = sizeof(size_t) }, none = { .size = 0 };
    struct {
        struct usher_list_options opt;
        int64_t later;
    } longer = { { .size = sizeof longer }, 0 };
    const struct usher_list_options *const wrong[] = {
        &none,
        &longer.opt,
        LIST_OF(.timeout_ms = -1),
        LIST_OF(.max = -1),
        LIST_OF(.every_ms = 1),
        LIST_OF(.created_ms = 1),
        LIST_OF(.row = 1),
        LIST_OF(.now_ms = 1),
    };
    struct usher_reply *reply;

    assert_int_equal(usher_scopes(e, &longer.opt, scope_ignored, NULL, NULL), USHER_OK);
    longer.later = 1;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(usher_scopes(e, wrong[i], scope_ignored, NULL, NULL), USHER_INVALID);
    assert_int_equal(usher_scopes(e, &shorter, scope_ignored, NULL, NULL), USHER_OK);
    assert_int_equal(usher_scopes(e, LIST_OF(.timeout_ms = 9), scope_ignored, NULL, NULL),
                     USHER_OK);
    assert_int_equal(usher_nodes(e, LIST_OF(.max = 1), node_ignored, NULL), USHER_INVALID);
    assert_int_equal(usher_nodes(e, LIST_OF(.timeout_ms = 9), node_ignored, NULL), USHER_OK);
    assert_int_equal(usher_room_list(e, LIST_OF(.lease_ms = 1), &reply), USHER_INVALID);
    assert_int_equal(usher_room_patrol(e, "w", LIST_OF(.after = "r"), &reply), USHER_INVALID);
    usher_close(e);
}

TEST(redis_takes_part)
{
    if (stores_named("redis") == NULL)
        stores_skip("redis");
}

TEST_PROGRAM(stores_start, stores_stop);
