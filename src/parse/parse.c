/* SPDX-License-Identifier: MIT */
/*
 * NOUN VERB SCOPE, then the arguments that must be given in their order, then the others as
 * key=value.  Every argument may be given by its key.  A word that is KEY=value with a key
 * of the verb is never taken for one in order, so that a forgotten number is found missing.
 * If a verb takes fields, every other KEY=value is one, except a value in its place.
 *
 * PARSE_PLACED has other rules: see parse.h.  There a value in its place is nothing else, whatever
 * bytes it has, because the sender may have it from an untrusted source.
 *
 * A field must never become an option.  So the words that are no field without `--` are a closed
 * list: the arguments that the verbs have today, and those in reserved[].  Any later option needs
 * `--`. (tests/unit/test_parse.c has the list.)
 */
#include "config.h"

#include "parse/parse.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"

bool usher__parse_uint(const char *text, uint64_t *ret_value)
{
    uint64_t value = 0;

    if (*text == '\0')
        return false;
    for (; *text != '\0'; text++) {
        unsigned digit = (unsigned)((unsigned char)*text - '0');

        if (digit > 9 || value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *ret_value = value;
    return true;
}

bool usher__parse_int(const char *text, int64_t min, int64_t max, int64_t *ret_value)
{
    bool minus = min < 0 && *text == '-';
    uint64_t magnitude;
    int64_t value;

    if (!usher__parse_uint(text + minus, &magnitude) || magnitude > (uint64_t)INT64_MAX)
        return false;
    value = minus ? -(int64_t)magnitude : (int64_t)magnitude;
    if (value < min || value > max)
        return false;
    *ret_value = value;
    return true;
}

bool usher__parse_span(const char *text, int64_t min, int64_t max, int64_t *ret_ms)
{
    static const struct {
        const char *word;
        int64_t ms;
    } units[] = {
        { "", 1 }, { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 }, { "d", 86400000 },
    };
    size_t digits = strspn(text, "0123456789");
    char number[20];
    int64_t value;

    if (digits == 0 || digits >= sizeof number)
        return false;
    memcpy(number, text, digits);
    number[digits] = '\0';
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(text + digits, units[i].word) != 0)
            continue;
        if (!usher__parse_int(number, 0, max / units[i].ms, &value) || value * units[i].ms < min)
            return false;
        *ret_ms = value * units[i].ms;
        return true;
    }
    return false;
}

void usher__scope_word(char to[PARSE_SCOPE_MAX], const struct usher__noun *noun)
{
    size_t i = 0;

    for (; i < PARSE_SCOPE_MAX - 1 && noun->scope[i] != '\0'; i++)
        to[i] = (char)(noun->scope[i] - 'A' + 'a');
    to[i] = '\0';
}

const char *usher__quote(char to[PARSE_QUOTE_MAX], const char *word)
{
    size_t size = strlen(word);

    if (size < PARSE_QUOTE_MAX) {
        memcpy(to, word, size + 1);
        return to;
    }
    size = PARSE_QUOTE_MAX - sizeof "…";
    /* not in the middle of a character */
    for (int i = 0; i < 3 && ((unsigned char)word[size] & 0xc0) == 0x80; i++)
        size--;
    (void)snprintf(to, PARSE_QUOTE_MAX, "%.*s…", (int)size, word);
    return to;
}

static bool wrong(char message[PARSE_MESSAGE_MAX], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool wrong(char message[PARSE_MESSAGE_MAX], const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(message, PARSE_MESSAGE_MAX, format, ap);
    va_end(ap);
    return false;
}

const char *usher__key_value(const char *word, const char *key)
{
    for (; *key != '\0'; word++, key++)
        if (*word != *key && !(*word == '_' && *key == '-'))
            return NULL;
    return *word == '=' ? word + 1 : NULL;
}

/* The value of @key, if @word gives it: KEY=value or, with @next, KEY and @next is the value; then
 * *@ret_two.  NULL: it does not. */
static const char *value_of(const char *word, const char *next, const char *key, bool *ret_two)
{
    const char *value = usher__key_value(word, key);

    *ret_two = false;
    if (value != NULL || next == NULL)
        return value;
    for (; *key != '\0'; word++, key++)
        if (*word != *key && !(*word == '_' && *key == '-'))
            return NULL;
    *ret_two = *word == '\0';
    return *ret_two ? next : NULL;
}

/* now=MS, req=ID. */
static bool common(const char *word, const char *next, struct usher_operation *command,
                   bool *ret_taken, bool *ret_two, char message[PARSE_MESSAGE_MAX])
{
    const char *value = value_of(word, next, "now", ret_two);
    const char *fault;

    *ret_taken = true;
    if (value != NULL) {
        if ((command->given & USHER_GIVEN_NOW) != 0)
            return wrong(message, "now is given twice");
        if (!usher__parse_int(value, 0, USHER_TIME_MAX, &command->now_ms))
            return wrong(message, "now is not a number from 0 to %" PRId64, USHER_TIME_MAX);
        command->given |= USHER_GIVEN_NOW;
        return true;
    }
    value = value_of(word, next, "req", ret_two);
    if (value != NULL) {
        if (command->request.data != NULL)
            return wrong(message, "req is given twice");
        command->request.data = value;
        command->request.size = strlen(value);
        fault = usher__name_fault(value, command->request.size);
        return fault == NULL || wrong(message, "req %s", fault);
    }
    *ret_taken = false;
    return true;
}

bool usher__parse_common(const char *word, struct usher_operation *command, bool *ret_taken,
                         char message[PARSE_MESSAGE_MAX])
{
    bool two;

    return common(word, NULL, command, ret_taken, &two, message);
}

/* @word is wait=N.  False: it is that, and wrong. */
static bool wait_key(const char *word, const char *next, struct usher_operation *command,
                     bool *ret_taken, bool *ret_two, char message[PARSE_MESSAGE_MAX])
{
    const char *value = value_of(word, next, "wait", ret_two);
    int64_t replicas;

    if (value == NULL)
        return true;
    *ret_taken = true;
    if (command->wait != 0)
        return wrong(message, "wait is given twice");
    if (!usher__parse_int(value, 1, USHER_WAIT_MAX, &replicas))
        return wrong(message, "wait is not a number from 1 to %d", USHER_WAIT_MAX);
    command->wait = (uint32_t)replicas;
    return true;
}

static bool has_nul(const struct usher_text *text)
{
    return memchr(text->data, '\0', text->size) != NULL;
}

static bool text_argument(const struct usher__arg *arg, struct usher_text text, void *field,
                          char message[PARSE_MESSAGE_MAX])
{
    const char *fault;

    memcpy(field, &text, sizeof text);
    switch (arg->type) {
    case USHER__ARG_GROUP:
        fault = usher__group_fault(text.data, text.size);
        break;
    case USHER__ARG_GROUPS:
        fault = usher__groups_fault(text.data, text.size);
        break;
    case USHER__ARG_VALUE:
        fault = text.size > USHER_VALUE_MAX ? "has more than 65536 bytes" : NULL;
        break;
    case USHER__ARG_MAYBE:
        fault = text.size != 0 ? usher__name_fault(text.data, text.size) : NULL;
        break;
    case USHER__ARG_EPOCH:
        fault = usher__epoch_fault(text.data, text.size);
        break;
    case USHER__ARG_TEXT:
        fault = NULL; /* the engine says */
        break;
    default:
        fault = usher__name_fault(text.data, text.size);
        break;
    }
    return fault == NULL || wrong(message, "%s %s", arg->word, fault);
}

static bool word_argument(const struct usher__arg *arg, const char *value, int64_t *ret,
                          char message[PARSE_MESSAGE_MAX])
{
    size_t n;

    for (int64_t i = arg->min; i <= arg->max; i++) {
        if (strcmp(value, arg->words[i]) == 0) {
            *ret = i;
            return true;
        }
    }
    n = (size_t)snprintf(message, PARSE_MESSAGE_MAX, "%s is none of", arg->word);
    for (int64_t i = arg->min; i <= arg->max && n < PARSE_MESSAGE_MAX; i++)
        n += (size_t)snprintf(message + n, PARSE_MESSAGE_MAX - n, "%s %s", i > arg->min ? "," : "",
                              arg->words[i]);
    return false;
}

static bool is_given(const struct usher_operation *command, const struct usher__arg *arg)
{
    struct usher_text text;

    if (arg->given != 0)
        return (command->given & arg->given) != 0;
    memcpy(&text, (const char *)command + arg->offset, sizeof text);
    return text.data != NULL;
}

static bool argument(struct usher_operation *command, const struct usher__arg *arg,
                     struct usher_text text, char message[PARSE_MESSAGE_MAX])
{
    const char *value = text.data;
    void *field = (char *)command + arg->offset;
    int64_t number, max;
    uint64_t token;

    if (is_given(command, arg))
        return wrong(message, "%s is given twice", arg->word);
    if (arg->type != USHER__ARG_VALUE && has_nul(&text))
        return wrong(message, "%s contains a NUL byte", arg->word);
    command->given |= arg->given;
    switch (arg->type) {
    case USHER__ARG_INT:
    case USHER__ARG_WIDE:
        max = usher__arg_max(usher__verb((unsigned)command->verb), arg);
        if (usher__arg_is_span(arg)) {
            if (!usher__parse_span(value, arg->min, max, &number))
                return wrong(message, PARSE_NO_SPAN, arg->word, arg->min, max);
            break;
        }
        if (!usher__parse_int(value, arg->min, max, &number))
            return wrong(message, "%s is not a number from %" PRId64 " to %" PRId64, arg->word,
                         arg->min, max);
        break;
    case USHER__ARG_TOKEN:
        if (!usher__parse_uint(value, &token))
            return wrong(message, "%s is not a number from 0 to %" PRIu64, arg->word, UINT64_MAX);
        memcpy(field, &token, sizeof token);
        return true;
    case USHER__ARG_WORD:
        if (!word_argument(arg, value, &number, message))
            return false;
        break;
    default:
        return text_argument(arg, text, field, message);
    }
    memcpy(field, &number, sizeof number);
    return true;
}

/* The argument of @verb that @word names by key, and its value, which is @next if *@ret_two. */
static const struct usher__arg *by_key(const struct usher__noun *noun,
                                       const struct usher__verb *verb, const char *word,
                                       const char *next, const char **ret_value, bool *ret_two)
{
    for (unsigned i = 0; i < noun->n_args; i++) {
        if (((verb->order | verb->keys) >> i & 1u) == 0 || noun->args[i].type == USHER__ARG_FIELDS)
            continue;
        *ret_value = value_of(word, next, noun->args[i].word, ret_two);
        if (*ret_value != NULL)
            return &noun->args[i];
    }
    return NULL;
}

/* The first argument in order that is not given yet. */
static const struct usher__arg *missing(const struct usher__noun *noun,
                                        const struct usher__verb *verb,
                                        const struct usher_operation *command)
{
    for (unsigned i = 0; i < noun->n_args; i++)
        if ((verb->order >> i & 1u) != 0 && !is_given(command, &noun->args[i]))
            return &noun->args[i];
    return NULL;
}

/* The argument that a word without a key is for, when there is nothing missing. */
static const struct usher__arg *placed(const struct usher__noun *noun,
                                       const struct usher__verb *verb,
                                       const struct usher_operation *command)
{
    const struct usher__arg *first = NULL;

    for (unsigned i = 0; i < noun->n_args && first == NULL; i++)
        if ((verb->flags & USHER__PLACED) != 0 && (verb->keys >> i & 1u) != 0)
            first = &noun->args[i];
    return first != NULL && !is_given(command, first) ? first : NULL;
}

/* A verb as it is typed.  That of the store as a whole has all of it in its word. */
#define TYPED "%s%s%s"
#define TYPED_OF(noun) (noun)->whole ? "" : (noun)->word, (noun)->whole ? "" : " "

/* @word is no argument of @verb.  @literal: it follows `--`. */
static bool unknown(const struct usher__noun *noun, const struct usher__verb *verb,
                    const char *word, bool literal, char message[PARSE_MESSAGE_MAX])
{
    char quoted[PARSE_QUOTE_MAX], key[2 * PARSE_QUOTE_MAX]; /* long ones are cut by quote */
    struct closest closest = { key, NULL, 0 };
    size_t size = strcspn(word, "=");

    usher__quote(quoted, word);
    if (word[size] == '\0' || size == 0 || literal)
        return wrong(message, "`%s`: too many arguments for `" TYPED "`", quoted, TYPED_OF(noun),
                     verb->word);
    if (size >= sizeof key)
        size = sizeof key - 1;
    memcpy(key, word, size);
    key[size] = '\0';
    for (unsigned i = 0; i < noun->n_args; i++)
        if (((verb->order | verb->keys) >> i & 1u) != 0)
            usher__closest_try(&closest, noun->args[i].word);
    usher__closest_try(&closest, "now");
    usher__closest_try(&closest, "req");
    usher__quote(quoted, key);
    if (closest.best != NULL)
        return wrong(message, "%s is not an argument of `" TYPED "`; did you mean %s=?", quoted,
                     TYPED_OF(noun), verb->word, closest.best);
    return wrong(message, "%s is not an argument of `" TYPED "`", quoted, TYPED_OF(noun),
                 verb->word);
}

/* Is @word in place of a name KEY=…, with a KEY that differs from an argument of @verb in one
 * letter?  Then it is a slip, and no name. */
static bool is_mistyped(const struct usher__noun *noun, const struct usher__verb *verb,
                        const char *word, char message[PARSE_MESSAGE_MAX])
{
    size_t size = strspn(word, "abcdefghijklmnopqrstuvwxyz-_");
    char key[PARSE_QUOTE_MAX];
    struct closest closest = { key, NULL, 0 };

    if (word[size] != '=' || size == 0 || size >= sizeof key)
        return false;
    memcpy(key, word, size);
    key[size] = '\0';
    for (unsigned i = 0; i < noun->n_args; i++)
        if (((verb->order | verb->keys) >> i & 1u) != 0 && strlen(noun->args[i].word) > 2)
            usher__closest_try(&closest, noun->args[i].word);
    usher__closest_try(&closest, "now");
    usher__closest_try(&closest, "req");
    if (closest.best == NULL || closest.distance > 1)
        return false;
    (void)wrong(message,
                "%s is not an argument of `" TYPED "`; did you mean %s=? After `--` it is a name",
                key, TYPED_OF(noun), verb->word, closest.best);
    return true;
}

/* A verb without a scope, and of how many words it is; NULL: it is none. */
static const struct usher__verb *find_whole(const struct parse *p, size_t *ret_words)
{
    const struct usher__verb *verb = NULL;

    if (p->n > 0)
        verb = usher__whole_verb("", p->word[0]);
    *ret_words = verb != NULL ? 1 : 2;
    if (verb == NULL && p->n > 1)
        verb = usher__whole_verb(p->word[0], p->word[1]);
    return verb;
}

static const struct usher__noun *find_noun(const struct parse *p, char message[PARSE_MESSAGE_MAX])
{
    const char *word = p->word[0];
    const struct usher__noun *noun = usher__noun_by_word(word);
    struct closest closest = { word, NULL, 0 };
    char quoted[PARSE_QUOTE_MAX];

    if (noun != NULL && !noun->hidden)
        return noun;
    for (unsigned i = 0; (noun = usher__noun_at(i)) != NULL; i++)
        usher__closest_try(&closest, noun->word);
    if (p->also != NULL)
        p->also(&closest, NULL);
    usher__quote(quoted, word);
    if (closest.best != NULL)
        wrong(message, "unknown command `%s`; did you mean `%s`?", quoted, closest.best);
    else
        wrong(message, "unknown command `%s`; `usher help` lists the commands", quoted);
    return NULL;
}

static const struct usher__verb *find_verb(const struct parse *p, const struct usher__noun *noun,
                                           char message[PARSE_MESSAGE_MAX])
{
    const char *word = p->word[1];
    struct closest closest = { word, NULL, 0 };
    char quoted[PARSE_QUOTE_MAX];

    for (unsigned i = 0; i < noun->n_verbs; i++)
        if (strcmp(noun->verbs[i].word, word) == 0)
            return &noun->verbs[i];
    for (unsigned i = 0; i < noun->n_verbs; i++)
        usher__closest_try(&closest, noun->verbs[i].word);
    if (p->also != NULL)
        p->also(&closest, noun->word);
    usher__quote(quoted, word);
    if (closest.best != NULL)
        wrong(message, "`%s` has no verb `%s`; did you mean `%s`?", noun->word, quoted,
              closest.best);
    else
        wrong(message, "`%s` has no verb `%s`; `usher help %s` lists them", noun->word, quoted,
              noun->word);
    return NULL;
}

/* ---- fields ------------------------------------------------------------------------ */

static void fields_init(struct parse *f, const struct usher__noun *noun,
                        const struct usher__verb *verb)
{
    f->fields = NULL;
    f->n_fields = 0;
    for (unsigned i = 0; i < noun->n_args; i++)
        if ((verb->keys >> i & 1u) != 0 && noun->args[i].type == USHER__ARG_FIELDS)
            f->fields = &noun->args[i];
}

/* Options that a later version may have. */
static const char *const reserved[] = { "session", "hidden", "first", "life",
                                        "alone",   "lobby",  "heir" };

static bool is_reserved(const struct usher_text *name)
{
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (strlen(reserved[i]) == name->size && memcmp(reserved[i], name->data, name->size) == 0)
            return true;
    return false;
}

/* The argument of @verb called @word, if it must be given. */
static const struct usher__arg *in_order(const struct usher__noun *noun,
                                         const struct usher__verb *verb, const char *word)
{
    for (unsigned i = 0; i < noun->n_args; i++)
        if ((verb->order >> i & 1u) != 0 && strcmp(noun->args[i].word, word) == 0)
            return &noun->args[i];
    return NULL;
}

/* Take @word, if it is FIELD=VALUE where @next is the argument in order that is missing. */
static bool fields_take(struct parse *f, const struct usher__noun *noun,
                        const struct usher__verb *verb, const struct usher_text *word,
                        const struct usher__arg *next, bool literal,
                        struct usher_operation *command, bool *ret_taken,
                        char message[PARSE_MESSAGE_MAX])
{
    const struct usher__arg *field = in_order(noun, verb, "field");
    const char *equals = strchr(word->data, '=');
    struct usher_text name = { word->data, equals != NULL ? (size_t)(equals - word->data) : 0 };
    struct usher_text value;
    const char *fault;

    *ret_taken =
        f->fields != NULL && name.size != 0 && (next == NULL || next->type != USHER__ARG_VALUE);
    if (!*ret_taken)
        return true;
    if (!literal && is_reserved(&name))
        return wrong(message, "%.*s= is reserved; put it after -- to use it as a field",
                     (int)name.size, name.data);
    value.data = equals + 1;
    value.size = (size_t)(word->data + word->size - value.data);
    fault = usher__name_fault(name.data, name.size);
    if (fault != NULL)
        return wrong(message, "name of a field %s", fault);
    if (field != NULL && next == field) { /* the first one is the one that must be there */
        const struct usher__arg *of_value = in_order(noun, verb, "value");

        memcpy((char *)command + field->offset, &name, sizeof name);
        memcpy((char *)command + of_value->offset, &value, sizeof value);
        return value.size <= USHER_VALUE_MAX || wrong(message, "value has more than 65536 bytes");
    }
    if (f->n_fields == USHER_FIELDS_MAX)
        return wrong(message, "more than %d fields are given", USHER_FIELDS_MAX);
    f->name[f->n_fields] = name;
    f->value[f->n_fields++] = value;
    return true;
}

size_t usher__parse_fields_size(const struct parse *p)
{
    return p->n_fields > 0 ? usher_fields_pack(p->name, p->value, p->n_fields, NULL, 0) : 0;
}

bool usher__parse_fields(const struct parse *p, struct usher_operation *command, unsigned char *to,
                         char message[PARSE_MESSAGE_MAX])
{
    struct usher_text text = { (const char *)to, usher__parse_fields_size(p) };
    const char *fault;

    if (text.size == 0)
        return true;
    (void)usher_fields_pack(p->name, p->value, p->n_fields, to, text.size);
    memcpy((char *)command + p->fields->offset, &text, sizeof text);
    fault = usher__fields_fault(text.data, text.size);
    return fault == NULL || wrong(message, "fields %s", fault);
}

/* ------------------------------------------------------------------------------------ */

static struct usher_text word_at(const struct parse *p, size_t i)
{
    char *const *words = p->word;
    struct usher_text word = { words[i], 0 };

    if (p->size != NULL)
        word.size = p->size[i];
    else if (p->end == NULL)
        word.size = strlen(words[i]);
    else
        word.size = (size_t)((i + 1 < p->n ? words[i + 1] : p->end) - words[i]) - 1;
    return word;
}

/* Take word @i, which follows SCOPE, and the next one if *@ret_two.  @literal: it follows `--`,
 * so it is no option. */
static bool take(struct parse *p, const struct usher__noun *noun, const struct usher__verb *verb,
                 size_t i, bool literal, struct usher_operation *command, bool *ret_two,
                 char message[PARSE_MESSAGE_MAX])
{
    const struct usher__arg *in_place = missing(noun, verb, command), *arg = NULL;
    bool placed_way = p->way == PARSE_PLACED, taken = false;
    const char *next = placed_way && i + 1 < p->n ? p->word[i + 1] : NULL, *value;
    struct usher_text word = word_at(p, i), text;

    *ret_two = false;
    if (placed_way && in_place != NULL)
        return argument(command, in_place, word, message);
    if (!literal && (!common(p->word[i], next, command, &taken, ret_two, message) ||
                     (!taken && !noun->whole &&
                      !wait_key(p->word[i], next, command, &taken, ret_two, message))))
        return false;
    if (*ret_two)
        word = word_at(p, i + 1);
    if (taken)
        return !has_nul(&word) || wrong(message, "line contains a NUL byte");
    if (!literal)
        arg = by_key(noun, verb, p->word[i], next, &value, ret_two);
    if (*ret_two)
        word = word_at(p, i + 1);
    if (arg == NULL) {
        arg = in_place;
        value = word.data;
        if (!fields_take(p, noun, verb, &word, arg, literal, command, &taken, message))
            return false;
        if (taken)
            return true;
        if (!literal && !placed_way && arg != NULL && arg->type != USHER__ARG_VALUE &&
            is_mistyped(noun, verb, p->word[i], message))
            return false;
    }
    if (arg == NULL)
        arg = placed(noun, verb, command);
    if (arg == NULL)
        return unknown(noun, verb, p->word[i], literal, message);
    text.data = value;
    text.size = (size_t)(word.data + word.size - value);
    return argument(command, arg, text, message);
}

static bool without_nul(const struct parse *p, size_t i, char message[PARSE_MESSAGE_MAX])
{
    struct usher_text word = word_at(p, i);

    return !has_nul(&word) || wrong(message, "line contains a NUL byte");
}

/* Word @i is `--`, and no longer text that begins so. */
static bool is_dashes(const struct parse *p, size_t i)
{
    return word_at(p, i).size == 2 && memcmp(p->word[i], "--", 2) == 0;
}

/* The scope: word *@at, or the next one if that is `--`.  Then *@at is the word after it. */
static bool scope_take(const struct parse *p, const struct usher__noun *noun,
                       const struct usher__verb *verb, size_t *at, bool *ret_literal,
                       struct usher_operation *command, char message[PARSE_MESSAGE_MAX])
{
    char *const *words = p->word;
    char scope[PARSE_SCOPE_MAX];
    const char *fault, *value;
    bool two;

    usher__scope_word(scope, noun);
    if (p->n > *at && p->way == PARSE_TYPED && strcmp(words[*at], "--") == 0) {
        *ret_literal = true;
        ++*at;
        if (*at < p->n && !without_nul(p, *at, message))
            return false;
    }
    if (p->n <= *at || (p->way == PARSE_TYPED && !*ret_literal &&
                        (by_key(noun, verb, words[*at], NULL, &value, &two) != NULL ||
                         usher__key_value(words[*at], "now") != NULL ||
                         usher__key_value(words[*at], "req") != NULL)))
        return wrong(message, "%s is missing", scope);
    if (p->way == PARSE_TYPED && !*ret_literal && is_mistyped(noun, verb, words[*at], message))
        return false;
    command->scope.data = words[*at];
    command->scope.size = strlen(words[*at]);
    fault = usher__scope_fault(words[*at], command->scope.size);
    if (fault != NULL)
        return wrong(message, "%s %s", scope, fault);
    ++*at;
    return true;
}

bool usher__parse(struct parse *p, struct usher_operation *ret_command,
                  char message[PARSE_MESSAGE_MAX])
{
    size_t n = p->n;
    const struct usher__noun *noun;
    const struct usher__verb *verb;
    const struct usher__arg *arg;
    bool two, literal = false;
    size_t at;

    memset(ret_command, 0, sizeof *ret_command);
    for (size_t i = 0; i < n && i < 3; i++)
        if (!without_nul(p, i, message))
            return false;
    verb = find_whole(p, &at);
    noun = verb != NULL ? usher__noun(verb->verb >> 8) : find_noun(p, message);
    if (noun == NULL)
        return false;
    if (n < 2 && verb == NULL)
        return wrong(message, "verb is missing: usher %s VERB %s …", noun->word, noun->scope);
    if (verb == NULL)
        verb = find_verb(p, noun, message);
    if (verb == NULL)
        return false;
    ret_command->verb = (enum usher_verb)verb->verb;
    if (!noun->whole && !scope_take(p, noun, verb, &at, &literal, ret_command, message))
        return false;

    fields_init(p, noun, verb);
    for (size_t i = at; i < n; i += two ? 2 : 1) {
        two = false;
        if (!literal && is_dashes(p, i) &&
            (p->way == PARSE_TYPED ||
             (p->fields != NULL && missing(noun, verb, ret_command) == NULL))) {
            literal = true;
            continue;
        }
        if (!take(p, noun, verb, i, literal, ret_command, &two, message))
            return false;
    }
    arg = missing(noun, verb, ret_command);
    if (arg != NULL)
        return wrong(message, "%s is missing", arg->word);
    if (usher__token_missing(noun, verb, ret_command))
        return wrong(message, "token is missing");
    return true;
}
