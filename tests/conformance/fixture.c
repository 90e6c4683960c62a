/* SPDX-License-Identifier: MIT */
/* See fixture.h. */
#include "lib/test.h"

#include "conformance/fixture.h"

#include "core/verbs.h"
#include "engine/engine.h"
#include "change/result.h"
#include "lib/util.h"
#include "model/compare.h"

struct usher_engine *suite_open(const char *url, const int64_t *now,
                                const struct usher_options *also)
{
    struct usher_options opt = USHER_OPTIONS_INIT;
    struct usher_engine *e = NULL;

    if (also != NULL)
        opt = *also;
    opt.now_ms = clock_of;
    opt.payload = (void *)(uintptr_t)now;
    opt.drivers = under_test.drivers;
    opt.clock_given = true;
    if (opt.timeout_ms == 0)
        opt.timeout_ms = 60000; /* nothing is to fail because a machine is loaded */
    /* with a short deadline more than once: a machine may be loaded */
    for (int tries = 0; usher_open(url, &opt, &e) != USHER_OK; tries++)
        if (tries == (opt.timeout_ms < 1000 ? 100 : 0))
            fail_msg("%s: %s", url, usher_message());
    return e;
}

void suite_close(struct usher_engine **e)
{
    usher_close(*e);
    *e = NULL;
}

void same_digest(struct usher_engine *here, struct usher_engine *there, enum usher_noun noun,
                 const char *scope)
{
    char a[33], b[33];

    assert_int_equal(usher_digest(here, noun, scope, a), USHER_OK);
    assert_int_equal(usher_digest(there, noun, scope, b), USHER_OK);
    assert_string_equal(a, b);
}

int fixture_begin(void **state, enum usher_noun noun, const char *scope,
                  const struct usher_options *also)
{
    struct fixture *f = calloc(1, sizeof *f);

    assert_non_null(f);
    f->now = MORNING;
    f->noun = noun;
    f->scope = scope;
    assert_true(under_test.fresh(f->url));
    f->e = suite_open(f->url, &f->now, also);
    if (noun != 0)
        f->twin = suite_open("memory:", &f->now, NULL);
    *state = f;
    return 0;
}

int fixture_end(void **state)
{
    struct fixture *f = *state;

    usher_result_done(&f->r);
    audit(f->e);
    if (f->twin != NULL)
        audit(f->twin);
    if (f->scope != NULL)
        digests_agree(f, f->scope);
    usher_close(f->e);
    usher_close(f->twin);
    free(f);
    return 0;
}

struct usher_engine *fixture_open(struct fixture *f)
{
    return suite_open(f->url, &f->now, NULL);
}

void no_twin(struct fixture *f)
{
    suite_close(&f->twin);
}

void digests_agree(struct fixture *f, const char *scope)
{
    char here[33], there[33];
    uint64_t version[2] = { 0, 0 };
    enum usher_status status;

    if (f->twin == NULL)
        return;
    same_digest(f->e, f->twin, f->noun, scope);
    if (f->noun != USHER_ROOM)
        return;
    status = usher_room_digest(f->e, scope, NULL, &version[0], here);
    assert_true(status == USHER_OK || status == USHER_MISSING);
    assert_int_equal(usher_room_digest(f->twin, scope, NULL, &version[1], there), status);
    assert_true(version[0] == version[1]);
    assert_string_equal(here, there);
}

/* To a room with `if-version=` the epoch that it has there, unless @c gives one. */
static enum usher_status operate(struct usher_engine *e, const struct usher_operation *c,
                                 struct usher_result *ret)
{
    struct usher_operation own = *c, show = { .verb = USHER_ROOM_SHOW, .scope = c->scope };
    struct usher_result r;
    char epoch[17];

    if ((unsigned)c->verb >> 8 == USHER_ROOM && (c->given & USHER_GIVEN_ROOM_IF_VERSION) != 0 &&
        c->arg.room.epoch.data == NULL) {
        assert_int_equal(usher_operate(e, &show, &r, 1), USHER_OK);
        (void)snprintf(epoch, sizeof epoch, "%016" PRIx64, r.epoch);
        usher_result_done(&r);
        own.arg.room.epoch = text(epoch);
    }
    return usher_operate(e, &own, ret, 1);
}

enum usher_status execute(struct fixture *f, const struct usher_operation *c)
{
    char scope[USHER_NAME_MAX + 1];
    struct usher_result r;
    enum usher_status status;

    usher_result_done(&f->r);
    status = operate(f->e, c, &f->r);
    assert_int_equal(status, f->r.status == USHER_LOST ? USHER_LOST : USHER_OK);
    if (f->twin == NULL)
        return f->r.status;
    assert_int_equal(operate(f->twin, c, &r), status);
    if (!replies_equal(c->verb, &f->r, &r, stderr))
        fail_msg("that is what %s and memory answer (%s, %s)", under_test.name, f->r.message,
                 r.message);
    if (f->noun == USHER_SERIAL) {
        assert_string_equal(f->r.message, r.message);
        (void)snprintf(scope, sizeof scope, "%.*s", (int)c->scope.size, c->scope.data);
        if (f->r.status < USHER_INVALID)
            digests_agree(f, scope);
    }
    usher_result_done(&r);
    return f->r.status;
}

void expect(struct fixture *f, const char *file, int at, enum usher_status want, const char *format,
            ...)
{
    char line[8192];
    struct said s;
    va_list args;

    va_start(args, format);
    assert_true((size_t)vsnprintf(line, sizeof line, format, args) < sizeof line);
    va_end(args);
    said_line(&s, f->noun, line);
    if (execute(f, &s.c) == want)
        return;
    print_error("%s:%d: %s: %s instead of %s (%s)\n", file, at, line,
                usher_status_word(f->r.status), usher_status_word(want), f->r.message);
    fail();
}

static void argument(struct usher_operation *c, const struct usher__arg *arg, const char *word)
{
    char *at = (char *)c + arg->offset;
    struct usher_text t = text(strcmp(word, "''") == 0 ? "" : word);
    int64_t value = 0;
    uint64_t token;

    c->given |= arg->given;
    switch (arg->type) {
    case USHER__ARG_TOKEN:
        token = strtoull(word, NULL, 10);
        memcpy(at, &token, sizeof token);
        break;
    case USHER__ARG_WORD:
        while (strcmp(arg->words[value], word) != 0)
            assert_true(++value <= arg->max);
        memcpy(at, &value, sizeof value);
        break;
    case USHER__ARG_INT:
    case USHER__ARG_WIDE:
        value = strtoll(word, NULL, 10);
        memcpy(at, &value, sizeof value);
        break;
    default:
        memcpy(at, &t, sizeof t);
    }
}

/* n_args: there is none. */
static unsigned place_of(const struct usher__noun *noun, uint64_t *order)
{
    unsigned i = 0;

    while (i < noun->n_args && (*order >> i & 1u) == 0)
        i++;
    *order &= ~(UINT32_C(1) << i);
    return i;
}

static unsigned key_of(const struct usher__noun *noun, uint64_t keys, const char *word)
{
    unsigned i = 0;

    while (i < noun->n_args && ((keys >> i & 1u) == 0 || strcmp(noun->args[i].word, word) != 0))
        i++;
    return i;
}

void said_line(struct said *s, enum usher_noun noun_code, const char *line)
{
    const struct usher__noun *noun;
    const struct usher__verb *verb = NULL;
    struct usher_text names[40], values[40];
    char *rest = s->line, *word;
    uint64_t order;
    size_t n = 0;

    assert_true(strlen(line) < sizeof s->line);
    memcpy(s->line, line, strlen(line) + 1);
    memset(&s->c, 0, sizeof s->c);
    noun = noun_code != 0 ? usher__noun(noun_code) : usher__noun_by_word(strsep(&rest, " "));
    assert_non_null(noun);
    word = strsep(&rest, " ");
    for (unsigned i = 0; i < noun->n_verbs; i++)
        if (strcmp(noun->verbs[i].word, word) == 0)
            verb = &noun->verbs[i];
    if (verb == NULL)
        fail_msg("no verb %s", word);
    s->c.verb = (enum usher_verb)verb->verb;
    s->c.scope = text(strsep(&rest, " "));
    order = verb->order;
    if ((verb->flags & USHER__PLACED) != 0)
        order |= verb->keys & ~(verb->keys - 1); /* the first of them */
    while ((word = strsep(&rest, " ")) != NULL) {
        char *value = strchr(word, '=');
        unsigned i;

        if (value == NULL) {
            i = place_of(noun, &order);
            value = word;
        } else {
            *value++ = '\0';
            i = key_of(noun, verb->keys, word);
        }
        if (i < noun->n_args) {
            argument(&s->c, &noun->args[i], value);
        } else if (strcmp(word, "req") == 0) {
            s->c.request = text(value);
        } else if (strcmp(word, "now") == 0) {
            s->c.given |= USHER_GIVEN_NOW;
            s->c.now_ms = strtoll(value, NULL, 10);
        } else if (noun->noun == USHER_ROOM && value != word) {
            assert_true(n < 40);
            names[n] = text(word);
            values[n++] = text(value);
        } else {
            fail_msg("%s is not an argument of %s", word, verb->word);
        }
    }
    if (n > 0) {
        s->c.arg.room.fields.data = (const char *)s->fields;
        s->c.arg.room.fields.size =
            usher_fields_pack(names, values, n, s->fields, sizeof s->fields);
        assert_true(s->c.arg.room.fields.size <= sizeof s->fields);
    }
}

void store_answers(struct usher_engine *e, int64_t now, const struct usher_operation *c,
                   struct usher_result *r, size_t n)
{
    struct usher_context context = { .now_ms = now, .skew_ms = USHER_TIME_MAX };
    struct usher_store *store = e->store;
    struct usher_task tasks[64];

    assert_in_range(n, 1, 64);
    memset(tasks, 0, sizeof tasks);
    for (size_t i = 0; i < n; i++) {
        usher__result_init(&r[i], (enum usher_noun)((unsigned)c[i].verb >> 8), e->opt.alloc);
        tasks[i].command = &c[i];
        tasks[i].reply = &r[i];
        if ((store->ops->caps & USHER_CAP_LANES) != 0)
            tasks[i].lane = (uint16_t)store->ops->route(store, &tasks[i]);
    }
    context.deadline_ms = usher__monotonic_ms() + 30000;
    store->ops->execute(store, tasks, n, &context);
}

void in_order(struct usher_engine *e, enum usher_noun noun, const char *const *lines, size_t n)
{
    static struct said said[16];
    struct usher_operation commands[16];
    struct usher_result replies[16];

    assert_true(n <= 16);
    for (size_t i = 0; i < n; i++) {
        said_line(&said[i], noun, lines[i]);
        commands[i] = said[i].c;
    }
    assert_int_equal(usher_operate(e, commands, replies, n), USHER_OK);
    for (size_t i = 0; i < n; i++) {
        if (replies[i].status != USHER_OK)
            fail_msg("%s: %s %s", lines[i], usher_status_word(replies[i].status),
                     replies[i].message);
        usher_result_done(&replies[i]);
    }
}

void in_portions(struct fixture *f, const char *line, unsigned n, enum usher_status want,
                 unsigned portion, unsigned done)
{
    enum { MOST = 256, CALL = 64 };
    static struct said said[MOST];
    static struct usher_operation c[MOST];
    static struct usher_result r[MOST];

    assert_in_range(n, CALL, MOST);
    for (unsigned i = 0; i < n; i++) {
        char words[256];
        const char *at = strstr(line, "%u");

        assert_non_null(at);
        (void)snprintf(words, sizeof words, "%.*s%u%s", (int)(at - line), line, i + 1, at + 2);
        said_line(&said[i], f->noun, words);
        c[i] = said[i].c;
    }
    for (int k = 0; k < (f->twin != NULL ? 2 : 1); k++) {
        struct usher_engine *of = k == 0 ? f->e : f->twin;
        uint64_t first;

        store_answers(of, f->now, c, r, 1); /* applies a portion */
        first = r[0].version;
        usher_result_done(&r[0]);
        store_answers(of, f->now, c + 1, r + 1, CALL - 1);
        assert_int_equal(r[CALL - 1].status, USHER_REFUSED);
        assert_in_range(r[CALL - 1].version - first, portion, portion + done);
        for (unsigned i = 1; i < CALL; i++)
            usher_result_done(&r[i]);
        /* through the engine each is done, and in their order */
        assert_int_equal(usher_operate(of, c, r, n), USHER_OK);
        for (unsigned i = 0; i < n; i++) {
            if (r[i].status != want && !(i < 2 && r[i].status == USHER_SAME))
                fail_msg("%s %u: %s (%s)", line, i + 1, usher_status_word(r[i].status),
                         r[i].message);
            assert_true(i == 0 || r[i].version >= r[i - 1].version);
        }
        for (unsigned i = 0; i < n; i++)
            usher_result_done(&r[i]);
    }
}

void execute_at_store(struct fixture *f, const char *line)
{
    struct usher_result r;
    struct said s;

    said_line(&s, f->noun, line);
    usher_result_done(&f->r);
    store_answers(f->e, f->now, &s.c, &f->r, 1);
    if (f->twin == NULL)
        return;
    store_answers(f->twin, f->now, &s.c, &r, 1);
    assert_true(replies_equal(s.c.verb, &f->r, &r, stderr));
    usher_result_done(&r);
}
