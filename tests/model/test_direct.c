/* SPDX-License-Identifier: MIT */
/*
 * Direct calls of the scripts (EVALSHA) with random arguments, and the same commands through the
 * library on a second set of scopes (random_commands.h).
 *
 * Invariants, by name:
 *   answers   a direct call with json=1 has the answer of the library as JSON.  Epochs differ;
 *             versions and tokens are compared relative to the first version of the scope;
 *             of errors only the status is compared.
 *   hostile   a call with wrong arguments or wrong keys is `invalid`, and changes nothing.
 *   errors    no call is an error of Lua or of Redis.
 *   audit     usher_check() finds no fault with either set of scopes.
 *
 * World i of a run has the seed USHER_SEED + i.  USHER_STEPS is the number of calls, the same of
 * each noun; USHER_NOUNS (bits) are the nouns, and USHER_SHOW=1 prints all calls.
 */
#include "lib/test.h"

#include <usher/command.h>
#include <usher/store/store.h>

#include "core/pack.h"
#include "core/verbs.h"
#include "lib/servers.h"
#include "model/random_commands.h"
#include "model/gen.h"

#define NOUNS 7
#define WORLD 500 /* calls of one world */
#define WORLD_LONG 4000
#define WORDS_MAX 64 /* of one call */
#define EPOCHS 256   /* of one world */
#define BASES 256
#define WINDOW 20000 /* versions of a scope after one that it began with */

static struct redis_server *server;
static redisContext *direct;
static char sha[NOUNS][41];
static bool show;

/* Epochs and first versions of one side, in the order in which they came: the same on both sides.
 */
struct side {
    char epoch[EPOCHS][17];
    uint64_t base[BASES];
    unsigned scope[BASES]; /* whose it is */
    unsigned n_epochs, n_bases;
};

struct world {
    uint64_t seed, step;
    struct rng rng;
    struct random_commands *source;
    struct random_listener ear;
    struct usher_engine *e;
    struct side library, direct;
    unsigned noun;
};

/* The words of a call, with their sizes. */
struct call {
    const char *word[WORDS_MAX];
    size_t size[WORDS_MAX];
    int n;
    char keys[3][300];
    char numbers[WORDS_MAX][24];
};

static uint64_t n_calls[NOUNS], n_hostile[NOUNS], n_invalid[NOUNS];
static uint64_t answered[NOUNS][64][64]; /* by verb and status */

/* ---- what is compared -------------------------------------------------------------------- */

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The number of a base that @v follows, or -1. */
static int base_of(const struct side *s, uint64_t v)
{
    for (int i = (int)s->n_bases - 1; i >= 0; i--)
        if (v > s->base[i] - 1000 && v < s->base[i] + WINDOW)
            return i;
    return -1;
}

static int epoch_of(const struct side *s, const char *text)
{
    for (int i = (int)s->n_epochs - 1; i >= 0; i--)
        if (strncmp(text, s->epoch[i], 16) == 0)
            return i;
    return -1;
}

/* Take the epoch of an answer.  Returns its version, 0: none that is drawn. */
static uint64_t learn(struct side *s, const char *json)
{
    const char *epoch = strstr(json, ",\"epoch\":\""), *version = strstr(json, ",\"version\":");
    uint64_t v;

    if (epoch == NULL || version == NULL)
        return 0;
    epoch += 10;
    if (strncmp(epoch, "0000000000000000", 16) != 0 && epoch_of(s, epoch) < 0) {
        if (s->n_epochs == EPOCHS)
            fail_msg("too many epochs");
        (void)snprintf(s->epoch[s->n_epochs++], 17, "%.16s", epoch);
    }
    v = strtoull(version + 11, NULL, 10);
    return v > UINT64_C(1000000000000) ? v : 0;
}

static void add_base(struct side *s, unsigned scope, uint64_t v)
{
    if (s->n_bases == BASES)
        fail_msg("too many first versions");
    s->scope[s->n_bases] = scope;
    s->base[s->n_bases++] = v;
}

/* Read the epochs and versions of two answers.  Both sides begin new versions at the same time, but
 * for rooms: the library erases the rest of a closed room before it opens the room again, and a
 * direct call does both in one. */
static void learn_both(struct world *w, const char *library, const char *answer, unsigned scope)
{
    uint64_t a = learn(&w->library, library), b = learn(&w->direct, answer);
    bool new_a = a != 0 && base_of(&w->library, a) < 0;
    bool new_b = b != 0 && base_of(&w->direct, b) < 0;

    if (a != 0 && b != 0 && w->noun == USHER_ROOM ? new_a || new_b : new_a && new_b) {
        add_base(&w->library, scope, a);
        add_base(&w->direct, scope, b);
    }
}

/* @json without what is drawn.  The caller frees it. */
static char *normal(const struct side *s, const char *json)
{
    size_t size = strlen(json) * 3 + 64;
    char *to = malloc(size), *at = to;
    bool lost = strncmp(json, "{\"status\":\"lost\"", 16) == 0;

    assert_non_null(to);
    while (*json != '\0') {
        int i = is_hex(*json) && strspn(json, "0123456789abcdef") >= 16 ? epoch_of(s, json) : -1;
        uint64_t v;
        const char *end;

        if (i >= 0) {
            at += sprintf(at, "E%d", i);
            json += 16;
            continue;
        }
        /* a chain of hashes, of versions and epochs as well */
        if (strncmp(json, "\"mark\":", 7) == 0 || strncmp(json, "\"was\":", 6) == 0 ||
            (lost && strncmp(json, "\"from\":", 7) == 0)) {
            json = strchr(json, ':') + 1;
            at += sprintf(at, "%s", *json == '0' ? "none" : "some");
            while (is_digit(*json))
                json++;
            continue;
        }
        if (!is_digit(*json)) {
            *at++ = *json++;
            continue;
        }
        for (end = json; is_digit(*end); end++)
            continue;
        v = strtoull(json, NULL, 10);
        i = end - json < 17 ? base_of(s, v) : -1;
        if (i >= 0)
            at += sprintf(at, "+%d:%" PRId64, i, (int64_t)(v - s->base[i]));
        else
            at += sprintf(at, "%.*s", (int)(end - json), json);
        json = end;
    }
    *at = '\0';
    return to;
}

/* @v of the library, as it is on the other side. */
static uint64_t over(const struct world *w, uint64_t v)
{
    int i = base_of(&w->library, v);

    return i >= 0 && (unsigned)i < w->direct.n_bases ? v - w->library.base[i] + w->direct.base[i]
                                                     : v;
}

/* A number of another scope, or of one of before, could be above or below those of this one: it is
 * another number on both sides. */
static uint64_t own(const struct world *w, unsigned scope, uint64_t v)
{
    int i = base_of(&w->library, v), k = (int)w->library.n_bases - 1;

    if (i < 0)
        return v;
    while (k >= 0 && w->library.scope[k] != scope)
        k--;
    if (k == i)
        return v;
    return k < 0 ? 1 + v % 100 : v - w->library.base[i] + w->library.base[k];
}

/* ---- calls ------------------------------------------------------------------------------- */

static void add(struct call *c, const char *word, size_t size)
{
    assert_true(c->n < WORDS_MAX);
    c->word[c->n] = word;
    c->size[c->n++] = size;
}

static void add_word(struct call *c, const char *word)
{
    add(c, word, strlen(word));
}

static void add_number(struct call *c, int64_t number)
{
    char *to = c->numbers[c->n];

    (void)snprintf(to, sizeof c->numbers[0], "%" PRId64, number);
    add_word(c, to);
}

static const struct usher__noun *noun_of(const struct usher_operation *op)
{
    return usher__noun((unsigned)op->verb >> 8);
}

static unsigned scope_no(const struct usher_operation *op)
{
    for (unsigned i = 0; i < RANDOM_SCOPES; i++) {
        const char *name = random_scope((enum usher_noun)noun_of(op)->noun, i);

        if (op->scope.size == strlen(name) && memcmp(op->scope.data, name, op->scope.size) == 0)
            return i;
    }
    return RANDOM_SCOPES;
}

/* Is @arg a token or a version? */
static bool is_drawn(const struct usher__arg *arg)
{
    return arg->type == USHER__ARG_TOKEN || strstr(arg->name, "VERSION") != NULL ||
           strcmp(arg->name, "BEFORE") == 0 || strcmp(arg->name, "TOKEN") == 0;
}

/* @text, a cursor or a room, with its versions and epochs as @change says; the result is @to. */
static struct usher_text text_with(const struct world *w, const struct usher_text *text, int scope,
                                   char to[600])
{
    struct usher_text all = { to, 0 };

    for (size_t i = 0; i < text->size && text->size < 300;) {
        char digits[24] = "";
        size_t n = 0;
        int epoch = -1;
        uint64_t v;

        if (text->size - i >= 16 && scope < 0) {
            (void)snprintf(digits, sizeof digits, "%.16s", text->data + i);
            epoch = epoch_of(&w->library, digits);
        }
        if (epoch >= 0 && (unsigned)epoch < w->direct.n_epochs) {
            memcpy(to + all.size, w->direct.epoch[epoch], 16);
            all.size += 16;
            i += 16;
            continue;
        }
        while (i + n < text->size && n < 20 && is_digit(text->data[i + n]))
            n++;
        if (n == 0 || (i > 0 && text->data[i - 1] != '.')) {
            to[all.size++] = text->data[i++];
            continue;
        }
        (void)snprintf(digits, sizeof digits, "%.*s", (int)n, text->data + i);
        v = strtoull(digits, NULL, 10);
        if (base_of(&w->library, v) < 0)
            memcpy(to + all.size, text->data + i, n);
        else
            n = (size_t)sprintf(to + all.size, "%" PRIu64,
                                scope >= 0 ? own(w, (unsigned)scope, v) : over(w, v));
        all.size += n;
        i += strlen(digits);
    }
    return text->size < 300 ? all : *text;
}

static char room_for[2][64][600];

/* Take out of @op the arguments that direct calls do not have, and those that mean other things on
 * the two sides. */
static void tame(const struct world *w, struct random_command *b)
{
    const struct usher__noun *noun = noun_of(&b->c);
    unsigned scope = scope_no(&b->c);

    for (unsigned i = 0; i < noun->n_args; i++) {
        const struct usher__arg *arg = &noun->args[i];
        char *at = (char *)&b->c + arg->offset;
        struct usher_text text;
        int64_t number;

        if (arg->given == 0) {
            memcpy(&text, at, sizeof text);
            if (text.data == NULL || arg->type == USHER__ARG_EPOCH ||
                arg->type == USHER__ARG_FIELDS)
                continue;
            text = text_with(w, &text, (int)scope, room_for[0][i]);
            memcpy(at, &text, sizeof text);
        } else if ((b->c.given & arg->given) != 0) {
            memcpy(&number, at, sizeof number);
            if (base_of(&w->library, (uint64_t)number) >= 0)
                number = is_drawn(arg) ? (int64_t)own(w, scope, (uint64_t)number) : number % 1000;
            if (arg->type == USHER__ARG_TOKEN && number < 0) /* a huge one */
                number = INT64_C(1) << 53;
            memcpy(at, &number, sizeof number);
        }
    }
    /* drawn from the version */
    if (b->c.verb == USHER_NUMBER_SET && b->c.arg.number.order == USHER_NUMBER_ORDER_RANDOM)
        b->c.arg.number.order = USHER_NUMBER_ORDER_RANDOM - 1;
    if (b->c.verb == USHER_QUEUE_SET && b->c.arg.queue.strategy == USHER_QUEUE_STRATEGY_RANDOM)
        b->c.arg.queue.strategy = USHER_QUEUE_STRATEGY_RANDOM - 1;
    /* the library makes JSON of all of them */
    if (b->c.verb == USHER_SERIAL_TAKE && b->c.arg.serial.n > 3000)
        b->c.arg.serial.n %= 3000;
    b->c.wait = 0;
}

/* Argument @i of @op as a word; false: it is not given. */
static bool argument(const struct world *w, const struct usher_operation *op, unsigned i,
                     struct call *c)
{
    const struct usher__arg *arg = &noun_of(op)->args[i];
    const char *at = (const char *)op + arg->offset;
    struct usher_text text;
    int64_t number;

    if (arg->given == 0) {
        memcpy(&text, at, sizeof text);
        if (text.data == NULL)
            return false;
        text = text_with(w, &text, -1, room_for[1][i]);
        add(c, text.data, text.size);
        return true;
    }
    if ((op->given & arg->given) == 0)
        return false;
    memcpy(&number, at, sizeof number);
    add_number(c, (int64_t)over(w, (uint64_t)number));
    return true;
}

/* Packed fields as names and values; false: they are none, or too many. */
static bool fields(const struct usher_operation *op, const struct usher__arg *arg, struct call *c)
{
    struct usher_text packed, name, value;
    struct usher_fields f;
    uint64_t version;

    memcpy(&packed, (const char *)op + arg->offset, sizeof packed);
    if (packed.data == NULL)
        return true;
    if (usher__fields_fault(packed.data, packed.size) != NULL)
        return false;
    f = usher__fields(&packed);
    while (usher_fields_next(&f, &name, &value, &version)) {
        if (c->n + 12 > WORDS_MAX)
            return false;
        add(c, name.data, name.size);
        add(c, value.data, value.size);
    }
    return true;
}

/* EVALSHA and the keys of the scope of @op. */
static void call_begin(struct call *c, const struct usher_operation *op)
{
    const struct usher__noun *noun = noun_of(op);

    memset(c, 0, sizeof *c);
    add_word(c, "EVALSHA");
    add_word(c, sha[noun->noun]);
    add_word(c, "3");
    for (int i = 0; i < 3; i++) {
        int n = snprintf(c->keys[i], sizeof c->keys[i], "d:{%.*s}:%s%s", (int)op->scope.size,
                         op->scope.data, noun->word,
                         i == 0   ? ""
                         : i == 1 ? ":index"
                                  : ":held");

        add(c, c->keys[i], (size_t)n);
    }
}

/* The same with all that @op gives; false: a direct call cannot say that. */
static bool call_of(struct world *w, const struct usher_operation *op, bool json, struct call *c)
{
    const struct usher__noun *noun = noun_of(op);
    const struct usher__verb *verb = usher__verb((unsigned)op->verb);
    bool json_first = json && rng_chance(&w->rng, 20);

    if (verb == NULL || op->scope.data == NULL || op->scope.size > 255 ||
        memchr(op->scope.data, '\0', op->scope.size) != NULL)
        return false;
    call_begin(c, op);
    add_word(c, verb->word);
    for (unsigned i = 0; i < noun->n_args; i++)
        if ((verb->order >> i & 1u) != 0 && !argument(w, op, i, c))
            return false;
    if (json_first) {
        add_word(c, "json");
        add_word(c, "1");
    }
    for (unsigned i = 0; i < noun->n_args; i++) {
        int n = c->n;

        if ((verb->keys >> i & 1u) == 0)
            continue;
        if (noun->args[i].type == USHER__ARG_FIELDS) {
            if (!fields(op, &noun->args[i], c))
                return false;
            continue;
        }
        add_word(c, noun->args[i].word);
        if (!argument(w, op, i, c))
            c->n = n;
    }
    if ((op->given & USHER_GIVEN_NOW) != 0) {
        add_word(c, "now");
        add_number(c, op->now_ms);
    }
    if (op->request.data != NULL) {
        add_word(c, "req");
        add(c, op->request.data, op->request.size);
    }
    if (json && !json_first) {
        add_word(c, "json");
        add_word(c, "1");
    }
    return true;
}

static void print_call(FILE *f, const struct call *c)
{
    for (int i = 2; i < c->n; i++) {
        (void)fprintf(f, " '");
        for (size_t k = 0; k < c->size[i] && k < 80; k++)
            (void)fprintf(f,
                          (unsigned char)c->word[i][k] < ' ' || (c->word[i][k] & 0x80) != 0
                              ? "\\x%02x"
                              : "%c",
                          (unsigned char)c->word[i][k]);
        (void)fprintf(f, c->size[i] > 80 ? "' (%zu bytes)" : "'", c->size[i]);
    }
    (void)fprintf(f, "\n");
}

/* Two long answers are printed from 400 bytes before the first difference. */
static void wrong(const struct world *w, const struct call *c, const char *what, const char *a,
                  const char *b)
{
    size_t same = 0;

    while (a[same] == b[same] && a[same] != '\0')
        same++;
    same -= same > 400 ? 400 : same;
    (void)fprintf(stderr, "\nUSHER_SEED=%" PRIu64 " USHER_NOUNS=%u: call %" PRIu64 ": %s:", w->seed,
                  1u << w->noun, w->step, what);
    print_call(stderr, c);
    a += same;
    b += same;
    (void)fprintf(stderr, "direct:  %.2000s\nlibrary: %.2000s\n", a, b);
    fail();
}

static redisReply *run(const struct world *w, struct call *c)
{
    redisReply *reply = redisCommandArgv(direct, c->n, c->word, c->size);

    if (reply == NULL)
        fail_msg("no answer: %s", direct->errstr);
    if (reply->type == REDIS_REPLY_ERROR)
        wrong(w, c, "an error", reply->str, "");
    return reply;
}

/* The status of an answer with or without json=1. */
static const char *status_of(const struct world *w, const struct call *c, const redisReply *reply,
                             char to[24])
{
    static const char begin[] = "{\"status\":\"";

    if (reply->type == REDIS_REPLY_STRING && strncmp(reply->str, begin, sizeof begin - 1) == 0)
        (void)snprintf(to, 24, "%.*s", (int)strcspn(reply->str + sizeof begin - 1, "\""),
                       reply->str + sizeof begin - 1);
    else if (reply->type == REDIS_REPLY_ARRAY && reply->elements >= 4 && reply->elements % 2 == 0 &&
             strcmp(reply->element[0]->str, "status") == 0)
        (void)snprintf(to, 24, "%s", reply->element[1]->str);
    else
        wrong(w, c, "no answer of the script", reply->str != NULL ? reply->str : "?", "");
    return to;
}

/* ---- hostile calls ----------------------------------------------------------------------- */

/* The word at @i is another one. */
static void change(struct call *c, int i, const char *word, size_t size)
{
    c->word[i] = word;
    c->size[i] = size;
}

static char long_word[70000];

/* Make something of @c wrong.  False: there is nothing of that kind. */
static bool spoil(struct world *w, const struct usher_operation *op, struct call *c)
{
    static const char *const numbers[] = {
        "",
        "-1",
        "-0",
        "+5",
        "1e3",
        "0x10",
        " 5",
        "5 ",
        "nan",
        "inf",
        "-inf",
        "1.5",
        "1,5",
        "1_0",
        "0b1",
        "٥",
        "5\n",
        "5ms",
        "5s",
        "many",
        "--1",
        "1-",
        ".5",
        "5.",
        "1e999",
        "99999999999999999999",
        "9223372036854775808",
        "340282366920938463463374607431768211456",
    };
    static const char *const names[] = { "\xff",     "a\xffz", "\xc3",         "\xe2\x82",
                                         "\xc2\x80", "a\x7f",  "\xed\xa0\x80", "\xf4\x90\x80\x80",
                                         "\t",       "a\nb",   "\xc0\x80",     "\xe2\x28\xa1" };
    /* as a call of the library would begin */
    static const char begins_packed[] =
        "\xdb\xdb\xdb\xdb\xdb\xdb\xdb\xdb\xdb\xdb\xdb\xdb\xdb\xdb\xdb\xdb\xdb\xdb\xdb\xdb"
        "\xdb\xdb\xdb\xdb\xdb\xdb\xdb\xdb\xdb\xdb\xdb\xdb\xdb\xdb\xdb\xdb\xdb\xdb\xdb\xdb";
    static const char numbers_packed[] = "\4\4\4\4\4\4\4\4\4\4\4\4\4\4\4\4\4\4\4\4"
                                         "\4\4\4\4\4\4\4\4\4\4\4\4\4\4\4\4\4\4\4\4";
    static const char *const verbs[] = {
        "",     "%a",    "CALL", "call ", "c.ll",        "fly",         "%?",   "-",
        "[",    "%",     "=",    "add=",  " add",        "1",           "json", "now",
        "\xff", "add\n", "^add", "a*",    begins_packed, numbers_packed
    };
    const struct usher__noun *noun = noun_of(op);
    const struct usher__verb *verb = usher__verb((unsigned)op->verb);
    unsigned order = (unsigned)__builtin_popcountll(verb->order);
    struct rng *r = &w->rng;
    int first = 7 + (int)order; /* the first pair */
    bool takes_fields = false;

    for (unsigned i = 0; i < noun->n_args; i++)
        if (noun->args[i].type == USHER__ARG_FIELDS && (verb->keys >> i & 1u) != 0)
            takes_fields = true;

    switch (rng_below(r, 12)) {
    case 0: /* a number that is none; a count is one in any case */
        for (int i = first; i + 1 < c->n; i += 2)
            if (strcmp(c->word[i], "now") == 0 && c->size[i] == 3) {
                const char *n = numbers[rng_below(r, sizeof numbers / sizeof *numbers)];

                if (strcmp(n, "-0") == 0)
                    return false;
                change(c, i + 1, n, strlen(n));
                return true;
            }
        return false;
    case 1: { /* the same of an argument */
        const char *n = numbers[rng_below(r, sizeof numbers / sizeof *numbers)];

        for (unsigned i = 0; i < noun->n_args; i++)
            if (noun->args[i].given != 0 && (verb->keys >> i & 1u) != 0 && rng_chance(r, 40) &&
                (strspn(n, "-0123456789") < strlen(n) || *n == '\0' ||
                 (strlen(n) > 18 && !is_drawn(&noun->args[i])))) {
                for (int k = first; k + 1 < c->n; k += 2)
                    if (c->size[k] == strlen(noun->args[i].word) &&
                        memcmp(c->word[k], noun->args[i].word, c->size[k]) == 0) {
                        change(c, k + 1, n, strlen(n));
                        return true;
                    }
                if (c->n + 2 > WORDS_MAX)
                    return false;
                add_word(c, noun->args[i].word);
                add_word(c, n);
                return true;
            }
        return false;
    }
    case 2: /* a name that is none */
        if (order > 0 && noun->args[__builtin_ctzll(verb->order)].type == USHER__ARG_NAME) {
            const char *name = names[rng_below(r, sizeof names / sizeof *names)];

            if (rng_chance(r, 20))
                change(c, 7, long_word, 256 + (size_t)rng_below(r, 3000));
            else if (rng_chance(r, 20))
                change(c, 7, "", 0);
            else if (rng_chance(r, 20))
                change(c, 7, "a\0b", 3);
            else
                change(c, 7, name, strlen(name));
            return true;
        }
        return false;
    case 3: /* no such verb */
        change(c, 6, verbs[rng_below(r, sizeof verbs / sizeof *verbs)], 0);
        c->size[6] = strlen(c->word[6]);
        return true;
    case 4: /* no such argument, or of another verb */
        if (c->n + 2 > WORDS_MAX || takes_fields)
            return false;
        add_word(c, rng_chance(r, 50) ? "colour" : rng_chance(r, 50) ? "%a" : "NOW");
        add_word(c, "1");
        return true;
    case 5: /* no value */
        if (c->n <= first || (verb->keys & 1u) != 0)
            return false;
        c->n--;
        return true;
    case 6: /* a word is missing */
        if (order == 0)
            return false;
        c->n = 6 + (int)rng_below(r, order + 1);
        return c->n > 6 || rng_chance(r, 50);
    case 7: /* twice */
        if (c->n < first + 2 || c->n + 2 > WORDS_MAX)
            return false;
        add(c, c->word[first], c->size[first]);
        add(c, c->word[first + 1], c->size[first + 1]);
        return true;
    case 8: /* wrong keys */
        switch (rng_below(r, 6)) {
        case 0:
            change(c, 3, "d:number", 8);
            return true;
        case 1:
            change(c, 4, c->word[5], c->size[5]);
            return true;
        case 2:
            change(c, 5, "d:{other}:number:held", 21);
            return true;
        case 3:
            change(c, 2, rng_chance(r, 50) ? "2" : "4", 1);
            return true;
        case 4:
            change(c, 3, "d:{}:number", 11);
            return true;
        default:
            change(c, 2, "0", 1);
            return true;
        }
    case 9: /* words after words */
        if (takes_fields)
            return false;
        for (unsigned i = 0, n = 1 + (unsigned)rng_below(r, 40); i < n && c->n < WORDS_MAX; i++)
            add_word(c, rng_chance(r, 50) ? "x" : "1");
        /* one word alone can be the first argument */
        return c->n < WORDS_MAX && ((verb->keys & 1u) == 0 || c->n != first + 1);
    case 10: /* too long */
        for (unsigned i = 0, k = 7; i < noun->n_args; i++)
            if ((verb->order >> i & 1u) != 0) {
                if (noun->args[i].type == USHER__ARG_VALUE) {
                    change(c, (int)k, long_word, 65537 + (size_t)rng_below(r, 4000));
                    return true;
                }
                k++;
            }
        return false;
    default: /* json itself */
        for (int i = first; i + 1 < c->n; i += 2)
            if (c->size[i] == 4 && memcmp(c->word[i], "json", 4) == 0) {
                const char *n = numbers[rng_below(r, sizeof numbers / sizeof *numbers)];

                change(c, i + 1, n, strlen(n));
                return true;
            }
        return false;
    }
}

/* A call that is wrong is invalid. */
static void hostile(struct world *w, const struct usher_operation *op)
{
    char status[24];
    struct call c;
    redisReply *reply;

    if (!call_of(w, op, rng_chance(&w->rng, 50), &c) || scope_no(op) == RANDOM_SCOPES ||
        !spoil(w, op, &c))
        return;
    n_hostile[w->noun]++;
    reply = run(w, &c);
    if (strcmp(status_of(w, &c, reply, status), "invalid") != 0)
        wrong(w, &c, "a wrong call is applied", status, "");
    freeReplyObject(reply);
}

/* ---- worlds ------------------------------------------------------------------------------ */

/* @reply of the library as JSON.  The caller frees it. */
static char *json_of(const struct usher_operation *op, const struct usher_result *result)
{
    struct usher_reply *reply = usher_reply_of(op, result);
    size_t size;
    char *text;

    assert_non_null(reply);
    size = usher_reply_write(reply, USHER_FORM_JSON, NULL, 0);
    text = malloc(size + 1);
    assert_non_null(text);
    (void)usher_reply_write(reply, USHER_FORM_JSON, text, size + 1);
    usher_reply_done(reply);
    return text;
}

/* As a direct call answers it: of more than 1,000 serials the first and the last. */
static void shorten(char *json)
{
    static const char serials[] = "\"serials\":[";
    char *from = strstr(json, serials), *end = from != NULL ? strchr(from, ']') : NULL, *to = from;
    char first[USHER_SERIAL_TEXT_MAX * 6 + 3], last[sizeof first], *comma;
    size_t n = 1;

    if (end == NULL)
        return;
    from += sizeof serials - 1;
    for (char *at = from; (comma = strstr(at, "\",\"")) != NULL && comma < end; at = comma + 1) {
        if (n++ == 1)
            (void)snprintf(first, sizeof first, "%.*s", (int)(comma + 1 - from), from);
        (void)snprintf(last, sizeof last, "%.*s", (int)(end - comma - 2), comma + 2);
    }
    if (n <= 1000)
        return;
    to += sprintf(to, "\"first\":%s,\"last\":%s", first, last);
    memmove(to, end + 1, strlen(end + 1) + 1);
}

/* The index of rooms is not spoken, and has no JSON of its own: only statuses are compared. */
static void compare(struct world *w, struct call *c, const struct usher_operation *op,
                    const struct usher_result *result, const redisReply *reply)
{
    char *library = json_of(op, result), *a, *b, status[24];
    const char *word = usher_status_word(result->status);

    shorten(library);
    if (reply->type != REDIS_REPLY_STRING)
        wrong(w, c, "no JSON", "", library);
    if (strcmp(status_of(w, c, reply, status), word) != 0)
        wrong(w, c, "another status", reply->str, library);
    if (result->status != USHER_INVALID) {
        learn_both(w, library, reply->str, scope_no(op));
        a = normal(&w->direct, reply->str);
        b = normal(&w->library, library);
        if (w->noun != USHER_ROOMS && strcmp(a, b) != 0)
            wrong(w, c, "another answer", a, b);
        free(a);
        free(b);
    }
    free(library);
}

/* Without json=1 the answer has the same status. */
static void read_again(struct world *w, const struct usher_operation *op, enum usher_status status)
{
    struct call c;
    redisReply *reply;
    char word[24];

    if (!call_of(w, op, false, &c))
        return;
    reply = run(w, &c);
    if (reply->type != REDIS_REPLY_ARRAY ||
        strcmp(status_of(w, &c, reply, word), usher_status_word(status)) != 0)
        wrong(w, &c, "another status without json=1", word, usher_status_word(status));
    freeReplyObject(reply);
}

/* The same command on both sides.  Returns whether a room is still being closed. */
static bool both(struct world *w, const struct random_command *b, struct call *c)
{
    struct usher_result result;
    redisReply *reply;
    bool more;

    (void)usher_operate(w->e, &b->c, &result, 1);
    if (result.status == USHER_UNAVAILABLE || result.status == USHER_UNKNOWN)
        wrong(w, c, "the library fails", result.message, "");
    reply = run(w, c);
    /* The library repeats steps of a close, also before it answers that the epoch is another. */
    for (int i = 0; b->c.verb == USHER_ROOM_OPEN && result.status != USHER_REFUSED && i < 1000 &&
                    reply->type == REDIS_REPLY_STRING &&
                    strstr(reply->str, "\"message\":\"the room is being closed\"") != NULL;
         i++) {
        freeReplyObject(reply);
        reply = run(w, c);
    }
    if (show) {
        print_call(stderr, c);
        (void)fprintf(stderr, "%s\n", reply->str);
    }
    n_calls[w->noun]++;
    n_invalid[w->noun] += result.status == USHER_INVALID;
    answered[w->noun][(unsigned)b->c.verb & 63u][result.status & 63]++;
    compare(w, c, &b->c, &result, reply);
    freeReplyObject(reply);
    if ((usher_operation_flags(&b->c) & USHER_OPERATION_WRITES) == 0 && rng_chance(&w->rng, 25))
        read_again(w, &b->c, result.status);
    random_listen(&w->ear, &b->c, &result);
    random_learn(w->source, &b->c, &result);
    more = b->c.verb == USHER_ROOM_CLOSE && result.status < USHER_INVALID && result.of.room.more;
    usher_result_done(&result);
    return more;
}

static void one(struct world *w)
{
    struct random_command b;
    struct call c;

    random_next(w->source, &b);
    random_resolve(&b, &w->ear);
    tame(w, &b);
    if (rng_chance(&w->rng, 20))
        hostile(w, &b.c);
    if (!call_of(w, &b.c, true, &c))
        return;
    /* the library closes a room to the end before it opens the room again, and then it has other
     * versions */
    while (both(w, &b, &c))
        continue;
}

static void print_fault(void *payload, const char *line)
{
    (void)fprintf(stderr, "%s: %s\n", (const char *)payload, line);
}

/* Neither set of scopes has a fault; a direct call writes a room and not its entry in the index. */
static void audit(const struct world *w, struct usher_engine *e, const char *side)
{
    struct usher_check_result found;

    assert_int_equal(usher_check(e, NULL, w->noun == USHER_ROOM ? NULL : print_fault,
                                 (void *)(uintptr_t)side, &found),
                     USHER_OK);
    if (found.faults != 0 && (w->noun != USHER_ROOM || found.faults > RANDOM_SCOPES))
        fail_msg("USHER_SEED=%" PRIu64 " USHER_NOUNS=%u: %" PRIu64 " faults %s", w->seed,
                 1u << w->noun, found.faults, side);
}

static struct usher_engine *open_with(const char *prefix)
{
    char url[REDIS_URL_MAX], all[REDIS_URL_MAX + 64];
    struct usher_engine *e;

    (void)snprintf(all, sizeof all, "%s?prefix=%s&timeout=60000", redis_server_url(server, url),
                   prefix);
    if (usher_open(all, NULL, &e) != USHER_OK)
        fail_msg("%s", usher_message());
    return e;
}

static void world(uint64_t seed, unsigned noun, uint64_t steps)
{
    static const unsigned extremes[] = { 0, 3, 10, 30 };
    struct random_options opt = { .seed = seed, .nouns = 1u << noun };
    struct world w = { .seed = seed, .noun = noun };
    struct usher_engine *e;

    rng_seed(&w.rng, ~seed);
    opt.requests = (unsigned)rng_below(&w.rng, 3) * 15;
    opt.extremes = extremes[rng_below(&w.rng, 4)];
    opt.wrong = (unsigned)rng_below(&w.rng, 3) * 5;
    opt.least = rng_chance(&w.rng, 20);
    assert_true(redis_do_ok(server, "FLUSHALL", NULL));
    w.e = open_with("l:");
    w.source = random_open(&opt);
    /* a side remembers a limited number of scopes */
    for (; w.step < steps && w.library.n_bases < BASES - 8 && w.library.n_epochs < EPOCHS - 8;
         w.step++)
        one(&w);
    random_close(w.source);
    audit(&w, w.e, "of the library");
    usher_close(w.e);
    e = open_with("d:");
    audit(&w, e, "of direct calls");
    usher_close(e);
}

static void load(unsigned noun)
{
    const char *word = usher__noun(noun)->word;
    size_t size;
    char *text;
    redisReply *reply;

    assert_int_equal(usher_lua(word, NULL, 0, &size), USHER_OK);
    text = malloc(size + 1);
    assert_non_null(text);
    assert_int_equal(usher_lua(word, text, size + 1, &size), USHER_OK);
    reply = redis_do(server, "SCRIPT", "LOAD", text, NULL);
    assert_true(reply != NULL && reply->type == REDIS_REPLY_STRING);
    memcpy(sha[noun], reply->str, 41);
    freeReplyObject(reply);
    free(text);
}

TEST(direct_calls_answer_as_the_library_does)
{
    uint64_t seed = number_from("USHER_SEED", 9001);
    uint64_t most = budget_of("USHER_STEPS", budget_long() ? 6000000 : 18000);
    unsigned nouns = (unsigned)number_from("USHER_NOUNS", RANDOM_ALL) & RANDOM_ALL;

    memset(long_word, 'x', sizeof long_word);
    most /= nouns != 0 ? (uint64_t)__builtin_popcount(nouns) : 1;
    show = number_from("USHER_SHOW", 0) != 0;
    for (unsigned noun = 1; noun < NOUNS; noun++) {
        uint64_t first = seed;

        if ((nouns >> noun & 1u) == 0)
            continue;
        load(noun);
        while (n_calls[noun] + n_hostile[noun] < most)
            world(seed++, noun, most >= 100000 ? WORLD_LONG : WORLD);
        print_message("%s: %" PRIu64 " calls (%" PRIu64 " invalid), %" PRIu64
                      " hostile, seeds %" PRIu64 " to %" PRIu64 "\n",
                      usher__noun(noun)->word, n_calls[noun], n_invalid[noun], n_hostile[noun],
                      first, seed - 1);
        for (unsigned i = 0; most >= 100000 && i < usher__noun(noun)->n_verbs; i++) {
            unsigned verb = usher__noun(noun)->verbs[i].verb;

            /* of no use but to an authority */
            if (verb != USHER_SERIAL_GRANT && answered[noun][verb & 63u][USHER_OK] == 0)
                fail_msg("%s was never answered ok", usher__noun(noun)->verbs[i].word);
        }
    }
}

static int program_begin(void)
{
    server = redis_server_start(NULL);
    if (server == NULL)
        return redis_skip();
    direct = redis_server_connect(server);
    return direct != NULL ? 0 : 1;
}

static void program_end(void)
{
    redisFree(direct);
    redis_server_stop(server);
}

TEST_PROGRAM(program_begin, program_end);
