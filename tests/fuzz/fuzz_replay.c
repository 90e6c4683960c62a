/* SPDX-License-Identifier: MIT */
/*
 * Bytes are a file of recorded calls, in each format.  What must hold:
 *
 *   sorted   calls are in order of (start, row), and none ends before it begins
 *   lines    each call is on a line, and each line is found by its name
 *   queue    who asks for an agent has a lane, and times that can be
 *   word     a refusal begins with the number of a line and says something
 *
 * The parts of the program are included, for they are in no library.
 */
#include "fuzz/fuzz.h"

#include "lab/calls.c"
#include "cli/util.c"
#include "lab/csv.c"
#include "cli/json.c"
#include "cli/read_lines.c"
#include "lab/technion.c"

/* Lines of a copy of @data, as if all had been read. */
static void open_bytes(struct lines *l, const uint8_t *data, size_t size, size_t max)
{
    usher__lines_open(l, -1, max);
    l->end = true;
    if (size == 0)
        return;
    l->buf = malloc(size);
    if (l->buf == NULL) {
        l->error = ENOMEM;
        return;
    }
    memcpy(l->buf, data, size);
    l->size = l->room = size;
    l->bytes = size;
}

static void read_as(enum calls_format format, const uint8_t *data, size_t size)
{
    char message[CLI_MESSAGE_MAX] = "";
    struct calls calls;
    struct lines lines;

    memset(&calls, 0, sizeof calls);
    open_bytes(&lines, data, size, CALLS_LINE_BYTES);
    if (usher__calls_read(&calls, &lines, format, size % 2 == 0, message)) {
        must_hold(calls.n > 0 && calls.n <= calls.rows, "sorted: there are calls");
        for (size_t i = 0; i < calls.n; i++) {
            const struct call *call = &calls.call[i];

            must_hold(call->start_ms >= 0 && call->start_ms <= call->end_ms, "sorted: times");
            must_hold(call->end_ms <= USHER_TIME_MAX, "sorted: the last time");
            must_hold(call->line < calls.lines.n, "lines: of a call");
            must_hold(i == 0 || calls_compare(call - 1, call) < 0, "sorted");
            must_hold(call->agent == CALLS_NOBODY || call->agent < calls.agents.n, "queue: agent");
            if (call->queue_ms == CALLS_UNKNOWN)
                continue;
            must_hold(calls.services && call->lane < calls.lanes.n, "queue: lane");
            must_hold(call->queue_ms >= 0 && call->priority <= USHER_QUEUE_PRIORITY_MAX,
                      "queue: place");
            must_hold(call->wait_ms >= CALLS_UNKNOWN && call->patience_ms >= CALLS_UNKNOWN &&
                          call->service_ms >= CALLS_UNKNOWN,
                      "queue: times");
            must_hold(!calls.outcomes || call->wait_ms >= 0, "queue: outcome");
        }
        for (size_t i = 0; i < calls.lines.n; i++) {
            const struct usher_text *name = &calls.lines.name[i]->name;

            must_hold(usher__calls_name(&calls.lines, name->data, name->size) ==
                          calls.lines.name[i],
                      "lines: by name");
        }
    } else {
        size_t digits = strspn(message, "0123456789");

        must_hold(digits > 0 && message[digits] == ':' && message[digits + 1] == ' ' &&
                      message[digits + 2] != '\0',
                  "word");
    }
    usher__lines_close(&lines);
    usher__calls_done(&calls);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_as(CALLS_GUESS, data, size);
    read_as(CALLS_CSV, data, size);
    read_as(CALLS_TECHNION, data, size);
    return 0;
}
