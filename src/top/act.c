/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "top/act.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/verbs.h"

enum answer { YES, NAME };

static const struct act {
    unsigned noun;
    const char *list;
    uint32_t key;
    const char *title;
    enum answer answer;
    const char *command, *question, *name;
} acts[] = {
#define ACT(noun, list, key, title, answer, command, question, name) \
    { USHER_##noun, list, key, title, answer, command, question, name },
#include "top/acts.def"
};

#define ACTS (sizeof acts / sizeof *acts)

static bool is_of(const struct act *act, const struct detail *d)
{
    return act->noun == d->noun &&
           (act->list[0] == '\0' ||
            (strcmp(act->list, usher__detail_verb(d)) == 0 && usher__detail_row(d) >= 0));
}

/* Write the value @name of the row, or of the scope, to @to.  Return false if there is none. */
static bool value(char *to, size_t size, const struct detail *d, const char *name, size_t length)
{
    const struct usher_reply *reply = d->job->reply;
    int64_t at = usher__detail_row(d);
    const struct usher_value *values;
    char span[TOP_TEXT_MAX];
    size_t n = 0;

    to[0] = '\0';
    if (length == 5 && memcmp(name, "scope", 5) == 0)
        (void)snprintf(to, size, "%s", d->name);
    else if (length == 7 && memcmp(name, "version", 7) == 0)
        (void)snprintf(to, size, "%" PRIu64, reply->version);
    else if (length == 5 && memcmp(name, "epoch", 5) == 0)
        (void)snprintf(to, size, "%016" PRIx64, reply->epoch);
    values = to[0] == '\0' && at >= 0 ? usher_reply_values(reply, (size_t)at, &n) : NULL;
    for (size_t i = 0; i < n; i++) {
        const struct usher_field_about *about = usher_about_field(values[i].field);
        const char *word =
            usher_code_word((enum usher_noun)d->noun, values[i].field, values[i].number);

        if (strlen(about->word) != length || memcmp(about->word, name, length) != 0)
            continue;
        if (values[i].text != NULL)
            (void)snprintf(to, size, "%s", values[i].text);
        else if (about->type == USHER_TYPE_CODE && word != NULL)
            (void)snprintf(to, size, "%s", word);
        else if (about->type == USHER_TYPE_MS)
            (void)snprintf(to, size, "%s", usher__top_span(span, values[i].number, true));
        else
            (void)snprintf(to, size, "%" PRIu64, (uint64_t)values[i].number);
    }
    return to[0] != '\0';
}

/* Write @template with its values.  Return false if one is missing. */
static bool fill(char *to, size_t size, const struct detail *d, const char *template, size_t length)
{
    const char *end = template + length;
    size_t n = 0;
    bool all = true;

    while (template <end &&n + 1 < size) {
        const char *close =
            *template == '{' ? memchr(template, '}', (size_t)(end - template)) : NULL;

        if (close == NULL) {
            to[n++] = *template ++;
            continue;
        }
        all = value(to + n, size - n, d, template + 1, (size_t)(close - template) - 1) && all;
        n += strlen(to + n);
        template = close + 1;
    }
    to[n] = '\0';
    return all;
}

/* Append the words of @act to its job.  Return false if a value is missing. */
static bool words(struct job *j, const struct act *act, const struct detail *d)
{
    char word[JOB_WORD_MAX];
    size_t size;

    for (const char *at = act->command; *at != '\0'; at += size + (at[size] == ' ')) {
        size = strcspn(at, " ");
        if (!fill(word, sizeof word, d, at, size))
            return false;
        usher__job_word(j, "%s", word);
    }
    if (act->answer == YES)
        usher__job_word(j, "req=top-%ld-%lld-%u", (long)getpid(), (long long)time(NULL), j->id);
    return true;
}

const char *usher__act_ask(struct question *q, const struct detail *d, uint32_t key, unsigned id)
{
    for (size_t i = 0; i < ACTS; i++) {
        const struct act *act = &acts[i];

        if (act->key != key || !is_of(act, d))
            continue;
        if (d->job == NULL || d->job->reply == NULL)
            return "it has not been read yet";
        q->job = usher__job_new(id, true);
        q->title = act->title;
        if (fill(q->text, sizeof q->text, d, act->question, strlen(act->question)) &&
            fill(q->name, sizeof q->name, d, act->name, strlen(act->name)) && words(q->job, act, d))
            return NULL;
        usher__job_free(q->job);
        q->job = NULL;
        return "there is nothing to do with this row";
    }
    return "";
}

void usher__act_keys(char *to, size_t size, const struct detail *d)
{
    size_t n = strlen(to);

    for (size_t i = 0; i < ACTS && n < size; i++)
        if (is_of(&acts[i], d))
            n += (size_t)snprintf(to + n, size - n, " %c:%s", (char)acts[i].key, acts[i].title);
}
