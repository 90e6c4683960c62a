/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "serve/resp.h"

#include <stdint.h>
#include <string.h>

#include "parse/words.h"

#define NUMBER_MAX 12 /* bytes of a number and its sign */

struct reader {
    char *data;
    size_t size, at;
    size_t need;
    const char *fault;
};

/* The number after @sign, up to the end of its line.  False: it is not complete, or, with a fault,
 * no number. */
static bool number(struct reader *r, char sign, int64_t *ret, const char *fault)
{
    size_t i = r->at + 1, digits;
    bool minus;

    if (r->at == r->size) {
        r->need = r->at + 1;
        return false;
    }
    if (r->data[r->at] != sign) {
        r->fault = fault;
        return false;
    }
    minus = i < r->size && r->data[i] == '-';
    i += minus;
    *ret = 0;
    for (digits = i; i < r->size && r->data[i] >= '0' && r->data[i] <= '9'; i++) {
        if (i - r->at > NUMBER_MAX) {
            r->fault = fault;
            return false;
        }
        *ret = *ret * 10 + (r->data[i] - '0');
    }
    if (minus)
        *ret = -*ret;
    if (i < r->size && (i == digits || r->data[i] != '\r'))
        r->fault = fault;
    else if (i + 1 < r->size && r->data[i + 1] != '\n')
        r->fault = fault;
    r->need = r->size + 1;
    r->at = i + 2;
    return r->fault == NULL && r->at <= r->size;
}

static enum resp_result end_of(const struct reader *r, size_t *ret_size, const char **ret_fault)
{
    *ret_size = r->need;
    *ret_fault = r->fault;
    return r->fault != NULL ? RESP_FAULT : RESP_MORE;
}

static enum resp_result array(struct reader *r, const struct resp_limits *limits,
                              struct resp_command *command, size_t *ret_size,
                              const char **ret_fault)
{
    int64_t n, size;

    if (!number(r, '*', &n, "invalid multibulk length"))
        return end_of(r, ret_size, ret_fault);
    if (n > (int64_t)limits->words)
        r->fault = "too many words in a command";
    command->n = 0;
    for (int64_t i = 0; r->fault == NULL && i < n; i++) {
        if (!number(r, '$', &size, "invalid bulk length"))
            return end_of(r, ret_size, ret_fault);
        if (size < 0)
            r->fault = "invalid bulk length";
        else if ((size_t)size > limits->bytes || r->at + (size_t)size + 2 > limits->bytes)
            r->fault = "command is too long";
        if (r->fault != NULL)
            break;
        r->need = r->at + (size_t)size + 2;
        if (r->need > r->size)
            return end_of(r, ret_size, ret_fault);
        if (memcmp(r->data + r->need - 2, "\r\n", 2) != 0)
            r->fault = "a bulk string does not end in CRLF";
        command->word[i] = r->data + r->at;
        command->size[i] = (size_t)size;
        r->at = r->need;
    }
    if (r->fault != NULL)
        return end_of(r, ret_size, ret_fault);
    for (int64_t i = 0; i < n; i++)
        command->word[i][command->size[i]] = '\0';
    command->n = n > 0 ? (size_t)n : 0;
    *ret_size = r->at;
    return RESP_COMMAND;
}

/* Words are cut next to the line and put back into it: they never take more than it has. */
static enum resp_result line_of(struct reader *r, const struct resp_limits *limits, char *line,
                                struct resp_command *command, size_t *ret_size,
                                const char **ret_fault)
{
    size_t most = limits->bytes < RESP_LINE_MAX ? limits->bytes : RESP_LINE_MAX;
    const char *end = memchr(r->data, '\n', r->size < most ? r->size : most);
    struct words w = { .word = command->word, .room = limits->words, .bytes = line };
    size_t size = end != NULL ? (size_t)(end - r->data) : 0;

    if (end == NULL) {
        r->need = r->size + 1;
        if (r->size >= most)
            r->fault = "too big inline request";
        return end_of(r, ret_size, ret_fault);
    }
    w.size = USHER__WORDS_BYTES(size);
    r->fault = usher__words_cut(&w, r->data, size);
    if (r->fault != NULL)
        return end_of(r, ret_size, ret_fault);
    command->n = w.n;
    for (size_t i = 0; i < w.n; i++) {
        const char *next = i + 1 < w.n ? w.word[i + 1] : w.end;

        command->size[i] = (size_t)(next - w.word[i]) - 1;
    }
    if (w.n > 0)
        memcpy(r->data, line, (size_t)(w.end - line));
    for (size_t i = 0; i < w.n; i++)
        command->word[i] = r->data + (w.word[i] - line);
    *ret_size = size + 1;
    return RESP_COMMAND;
}

enum resp_result usher__resp_parse(char *data /* NOLINT(readability-non-const-parameter) */,
                                   size_t size, const struct resp_limits *limits, char *line,
                                   struct resp_command *command, size_t *ret_size,
                                   const char **ret_fault)
{
    struct reader r = { data, size, 0, 1, NULL };

    *ret_fault = NULL;
    if (size == 0)
        return end_of(&r, ret_size, ret_fault);
    if (*data == '*')
        return array(&r, limits, command, ret_size, ret_fault);
    return line_of(&r, limits, line, command, ret_size, ret_fault);
}
