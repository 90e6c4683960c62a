/* SPDX-License-Identifier: MIT */
/*
 * Bytes are lines of the shell, on a memory store.  What must hold:
 *
 *   clean    a word fits into the line it came from
 *   quoted   words quoted with '…' and split again are the same words
 *   object   each answer is one line, and that line is a JSON object
 *   sound    the store has no fault afterwards
 */
#include "fuzz/fuzz.h"

#include "cli/answer.h"
#include "cli/cli.h"
#include "cli/parse.h"
#include "parse/words.h"
#include "core/text.h"

#define LINES_MAX 64

const struct cli_program usher__cli_programs[] = {
    { "shell", NULL, "", "" },
    { NULL, NULL, NULL, NULL },
};
const struct cli_verb usher__cli_verbs[] = {
    { "number", "import", NULL, "", "" },
    { NULL, NULL, NULL, NULL, NULL },
};

static int hex(char c)
{
    const char *digits = "0123456789abcdef", *at = c != '\0' ? strchr(digits, c) : NULL;

    return at != NULL ? (int)(at - digits) : -1;
}

/* ---- JSON, by its grammar --------------------------------------------------------- */

static const char *json_value(const char *p, int depth);

static const char *json_text(const char *p)
{
    if (*p++ != '"')
        return NULL;
    while (*p != '"') {
        size_t n = usher__utf8_length(p, strlen(p));

        if (n == 0 || (unsigned char)*p < 0x20)
            return NULL;
        if (*p == '\\') {
            p++;
            if (*p == 'u') {
                for (int i = 1; i <= 4; i++)
                    if (hex(p[i]) < 0)
                        return NULL;
                n = 5;
            } else if (*p != '"' && *p != '\\') {
                return NULL;
            }
        }
        p += n;
    }
    return p + 1;
}

static const char *json_members(const char *p, char end, int depth)
{
    if (*++p == end)
        return p + 1;
    for (;;) {
        if (end == '}') {
            p = json_text(p);
            if (p == NULL || *p++ != ':')
                return NULL;
        }
        p = json_value(p, depth - 1);
        if (p == NULL)
            return NULL;
        if (*p == end)
            return p + 1;
        if (*p++ != ',')
            return NULL;
    }
}

static const char *json_value(const char *p, int depth)
{
    static const char *const words[] = { "true", "false", "null" };
    size_t n;

    if (depth == 0)
        return NULL;
    if (*p == '"')
        return json_text(p);
    if (*p == '{' || *p == '[')
        return json_members(p, *p == '{' ? '}' : ']', depth);
    for (int i = 0; i < 3; i++)
        if (strncmp(p, words[i], strlen(words[i])) == 0)
            return p + strlen(words[i]);
    n = strspn(p + (*p == '-'), "0123456789");
    return n > 0 ? p + (*p == '-') + n : NULL;
}

/* ---- one line --------------------------------------------------------------------- */

static void quote_again(const struct words *w)
{
    struct words again = { NULL, 0, 0, NULL, 0, NULL, false };
    char *line = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&line, &size);

    if (out == NULL)
        return;
    for (size_t i = 0; i < w->n; i++) {
        fputs(i > 0 ? " '" : "'", out);
        for (const char *p = w->word[i]; *p != '\0'; p++) {
            if (*p == '\'')
                fputs("'\\''", out);
            else
                putc(*p, out);
        }
        putc('\'', out);
    }
    if (fclose(out) != 0)
        return;
    must_hold(usher__words_split(&again, line, size) == NULL, "quoted: no fault");
    must_hold(again.n == w->n, "quoted: as many words");
    for (size_t i = 0; i < w->n; i++)
        must_hold(strcmp(again.word[i], w->word[i]) == 0, "quoted: the same word");
    usher__words_done(&again);
    free(line);
}

static void answer(const struct usher_operation *command, struct usher_result *reply)
{
    char *line = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&line, &size);
    const char *end;

    if (out == NULL)
        return;
    usher__answer_json(out, command, reply);
    if (fclose(out) != 0)
        return;
    must_hold(strlen(line) == size && size > 0, "object: no NUL");
    must_hold(strchr(line, '\n') == line + size - 1, "object: one line");
    end = json_value(line, 8);
    must_hold(*line == '{' && end == line + size - 1, "object: JSON");
    free(line);
}

static void one_line(struct usher_engine *e, struct words *w, const char *line, size_t size)
{
    const char *fault = usher__words_split(w, line, size);
    char message[CLI_MESSAGE_MAX];
    struct usher_operation command;
    struct usher_result reply;
    unsigned char *block = NULL;
    size_t bytes = 0;

    if (fault != NULL) {
        must_hold(w->n == 0 && *fault != '\0', "clean: a fault has a word and no words");
        return;
    }
    for (size_t i = 0; i < w->n; i++)
        bytes += strlen(w->word[i]);
    must_hold(bytes <= size, "clean: words are no longer than their line");
    if (!w->nul) /* which only an escape says */
        quote_again(w);
    if (w->n == 0)
        return;
    message[0] = '\0';
    if (!usher__parse_words(w, &command, &block, message)) {
        must_hold(message[0] != '\0', "a refusal has a message");
        free(block);
        return;
    }
    memset(&reply, 0, sizeof reply);
    (void)usher_operate(e, &command, &reply, 1);
    answer(&command, &reply);
    usher_result_done(&reply);
    free(block);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct words w = { NULL, 0, 0, NULL, 0, NULL, false };
    struct usher_engine *e;
    const char *p = (const char *)data;
    struct usher_check_result found;

    if (usher_open("memory:", NULL, &e) != USHER_OK)
        return 0;
    for (int i = 0; i < LINES_MAX && size > 0; i++) {
        const char *newline = memchr(p, '\n', size);
        size_t length = newline != NULL ? (size_t)(newline - p) : size;

        one_line(e, &w, p, length);
        length += newline != NULL;
        p += length;
        size -= length;
    }
    must_hold(usher_check(e, NULL, NULL, NULL, &found) == USHER_OK && found.faults == 0, "sound");
    usher_close(e);
    usher__words_done(&w);
    return 0;
}
