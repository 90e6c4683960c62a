/* SPDX-License-Identifier: MIT */
/*
 * generic -- any command on any store, from values.  No line of it knows a noun: so are bindings
 * and servers written.  examples/any.py is the same in Python, with lines from standard input.
 *
 *     cc generic.c $(pkg-config --cflags --libs usher) -o generic
 *     ./generic sqlite:calls.db number call sales owner=ann lease=60000
 *
 * The exit status is the class of the answer: 0 done, 1 no, 2 wrong, 3 failed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <usher/usher.h>

#define WORDS_MAX 32

/* A code is given by its word, and what is no number as it is: the library says what is wrong. */
static struct usher_value value(uint32_t field, const char *word)
{
    enum usher_type type = usher_about_field(field)->type;
    struct usher_value v = USHER_T(field, word);
    char *end;

    if (type >= USHER_TYPE_TEXT || type == USHER_TYPE_CODE || *word == '\0')
        return v;
    v.number = *word == '-' ? strtoll(word, &end, 10) : (int64_t)strtoull(word, &end, 10);
    if (*end == '\0') {
        v.size = 0;
        v.text = NULL;
    }
    return v;
}

static bool has(const struct usher_value *values, size_t n, uint32_t field)
{
    for (size_t i = 0; i < n; i++)
        if (values[i].field == field)
            return true;
    return false;
}

/* The field of @word if it is KEY=VALUE with a key of @verb; else 0. */
static uint32_t field_of(uint32_t verb, const char *word, const char **ret_value)
{
    const char *equals = strchr(word, '=');
    char key[32];

    if (equals == NULL || (size_t)(equals - word) >= sizeof key)
        return 0;
    memcpy(key, word, (size_t)(equals - word));
    key[equals - word] = '\0';
    *ret_value = equals + 1;
    return usher_field_of(verb, key);
}

/* Words without a key are, in order, the fields that must be given and are missing.  A word too
 * many becomes field 0, which the library refuses. */
static size_t values_of(uint32_t verb, char **words, size_t n_words, struct usher_value *values)
{
    size_t n = 0, place = 0;
    const char *text;
    uint32_t field;
    bool must;

    for (size_t i = 0; i < n_words; i++)
        if ((field = field_of(verb, words[i], &text)) != 0)
            values[n++] = value(field, text);
    for (size_t i = 0; i < n_words; i++) {
        if (field_of(verb, words[i], &text) != 0)
            continue;
        do
            field = usher_verb_takes(verb, place++, &must);
        while (field != 0 && must && has(values, n, field));
        if (field != 0 && must)
            values[n++] = value(field, words[i]);
        else
            values[n++].field = 0;
    }
    return n;
}

/* The verb that @words, which end with NULL, begin with, and how many of them it is. */
static int verb_of(char **words, uint32_t *ret_verb)
{
    *ret_verb = usher_verb_of(NULL, words[0]);
    if (*ret_verb != 0)
        return 1;
    *ret_verb = usher_verb_of(words[0], words[1]);
    return words[1] != NULL ? 2 : 1;
}

static void show(const struct usher_reply *r, size_t row)
{
    size_t n;
    const struct usher_value *v = usher_reply_values(r, row, &n);

    for (size_t i = 0; i < n; i++) {
        const struct usher_field_about *about = usher_about_field(v[i].field);
        const char *word = usher_reply_word(r, row, v[i].field);

        printf(" %s=", about->word);
        if (v[i].text != NULL)
            fwrite(v[i].text, 1, (size_t)v[i].size, stdout);
        else if (about->type == USHER_TYPE_CODE && word != NULL)
            fputs(word, stdout);
        else if (about->type == USHER_TYPE_TOKEN)
            printf("%" PRIu64, (uint64_t)v[i].number);
        else
            printf("%" PRId64, v[i].number);
    }
    puts("");
}

int main(int argc, char **argv)
{
    struct usher_value values[WORDS_MAX] = { { 0 } };
    struct usher_command c = { 0, USHER_TO_NUL, NULL, values, 0, NULL };
    struct usher_verb_about about = { .size = sizeof about };
    struct usher_engine *engine;
    struct usher_reply *r;
    enum usher_status status;
    char **words = argv + 2;

    if (argc < 3 || argc > WORDS_MAX) {
        fputs("usage: generic URL [NOUN] VERB [SCOPE] [ARGUMENT...] [KEY=VALUE...]\n", stderr);
        return USHER_CLASS_WRONG;
    }
    status = usher_open(argv[1], NULL, &engine);
    if (status == USHER_OK) {
        words += verb_of(words, &c.verb);
        if (usher_about_verb(c.verb, &about) && (about.flags & USHER_VERB_WHOLE) == 0)
            c.scope = words < argv + argc ? *words++ : "";
        c.n = values_of(c.verb, words, (size_t)(argv + argc - words), values);
        status = usher_execute(engine, &c, 1, 0, &r);
        if (r == NULL) {
            fprintf(stderr, "generic: %s\n", usher_message());
        } else {
            status = r->status;
            printf("%s version=%" PRIu64, usher_status_word(status), r->version);
            show(r, USHER_ANSWER);
            for (size_t i = 0; i < r->n_rows; i++) {
                fputs(" ", stdout);
                show(r, i);
            }
            if (*r->message != '\0')
                fprintf(stderr, "generic: %s\n", r->message);
            usher_reply_done(r);
        }
        usher_close(engine);
    } else {
        fprintf(stderr, "generic: %s\n", usher_message());
    }
    return (int)USHER_CLASS_OF(status);
}
