/* SPDX-License-Identifier: MIT */
/*
 * Bytes are requests of Redis' protocol, all there at once and one by one.  What must hold:
 *
 *   same       both ways come to the same commands, or to the same fault at the same place
 *   inside     a word lies within its command and ends with a NUL; a command within the bytes
 *   untouched  bytes that are not a whole command are as they were
 *   bounded    no command is longer than it may be, and none has more words
 */
#include "fuzz/fuzz.h"

#include "serve/resp.h"

#define WORDS 8
#define BYTES 200
#define INPUT 2048

/* What came of the input, as text. */
struct log {
    char text[8 * INPUT];
    size_t size;
};

static void add(struct log *l, const char *bytes, size_t size)
{
    must_hold(size <= sizeof l->text - l->size, "inside: the log has room");
    if (size > 0)
        memcpy(l->text + l->size, bytes, size);
    l->size += size;
}

/* One command of the @n bytes at @data.  False: there is none, for now or for ever. */
static bool one(char *data, size_t n, struct log *l, size_t *ret_size, bool *ret_fault)
{
    static const struct resp_limits limits = { WORDS, BYTES };
    static char line[RESP_LINE_MAX + 1];
    char before[INPUT], *word[WORDS];
    size_t sizes[WORDS];
    struct resp_command c = { word, sizes, 0 };
    const char *fault;
    enum resp_result result;

    memcpy(before, data, n);
    result = usher__resp_parse(data, n, &limits, line, &c, ret_size, &fault);
    *ret_fault = result == RESP_FAULT;
    if (result != RESP_COMMAND) {
        must_hold(memcmp(before, data, n) == 0, "untouched");
        must_hold(result == RESP_FAULT || *ret_size > n, "bounded: more is needed than there is");
        must_hold(result == RESP_FAULT || *ret_size <= BYTES + 32, "bounded: it may still come");
        must_hold((result == RESP_FAULT) == (fault != NULL), "same: a fault has a reason");
        return false;
    }
    must_hold(*ret_size > 0 && *ret_size <= n && *ret_size <= BYTES + 16, "bounded: bytes");
    must_hold(c.n <= WORDS, "bounded: words");
    for (size_t i = 0; i < c.n; i++) {
        must_hold(word[i] >= data && word[i] + sizes[i] < data + *ret_size, "inside");
        must_hold(word[i][sizes[i]] == '\0', "inside: ends with a NUL");
        add(l, word[i], sizes[i]);
        add(l, "|", 1);
    }
    add(l, "\n", 1);
    return true;
}

static void at_once(const char *input, size_t n, struct log *l)
{
    char data[INPUT];
    size_t at = 0, size;
    bool fault = false;

    memcpy(data, input, n);
    while (at < n && one(data + at, n - at, l, &size, &fault))
        at += size;
    add(l, fault ? "fault" : "more", fault ? 5 : 4);
}

/* The bytes come one at a time; it is asked only when there are as many as were needed. */
static void one_by_one(const char *input, size_t n, struct log *l)
{
    char data[INPUT];
    size_t at = 0, need = 1, size;
    bool fault = false;

    for (size_t i = 1; i <= n && !fault; i++) {
        data[i - 1] = input[i - 1];
        if (i - at < need)
            continue;
        if (one(data + at, i - at, l, &size, &fault)) {
            at += size;
            need = 1;
        } else {
            need = size;
        }
    }
    add(l, fault ? "fault" : "more", fault ? 5 : 4);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct log whole, parts;
    size_t n = size < INPUT ? size : INPUT;

    whole.size = parts.size = 0;
    at_once((const char *)data, n, &whole);
    one_by_one((const char *)data, n, &parts);
    must_hold(whole.size == parts.size && memcmp(whole.text, parts.text, whole.size) == 0, "same");
    return 0;
}
