/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/trail.h"

#include <inttypes.h>
#include <stdarg.h>
#include <time.h>

#include <usher/store/operation.h>

void trail_add(struct trail *t, const char *format, ...)
{
    struct timespec ts;
    unsigned at;
    va_list ap;

    if (atomic_load(&t->kept))
        return;
    at = atomic_fetch_add(&t->n, 1) % TRAIL_LINES;
    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    t->line[at].us = (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
    va_start(ap, format);
    (void)vsnprintf(t->line[at].text, sizeof t->line[at].text, format, ap);
    va_end(ap);
}

static void trace(void *payload, const struct usher_operation *c, const struct usher_result *r)
{
    trail_add(payload, "%s/%.*s %s: %s, version %" PRIu64 "%s%.100s",
              usher_noun_word((enum usher_noun)((unsigned)c->verb >> 8)),
              c->scope.size < 40 ? (int)c->scope.size : 40, c->scope.data, usher_verb_word(c->verb),
              usher_status_word(r->status), r->version, r->message[0] != '\0' ? ", " : "",
              r->message);
}

static void log_line(void *payload, enum usher_log_level level, const char *line)
{
    trail_add(payload, "log %d: %.200s", (int)level, line);
}

void trail_hooks(struct trail *t, struct usher_options *opt)
{
    opt->trace = trace;
    opt->log = log_line;
    opt->payload = t;
}

void trail_keep(struct trail *t)
{
    atomic_store(&t->kept, true);
}

void trail_print(const struct trail *t, FILE *out)
{
    unsigned n = atomic_load(&t->n), from = n > TRAIL_LINES ? n - TRAIL_LINES : 0;
    int64_t last_us = n > 0 ? t->line[(n - 1) % TRAIL_LINES].us : 0;

    for (unsigned i = from; i < n; i++) {
        int64_t before_us = last_us - t->line[i % TRAIL_LINES].us;

        fprintf(out, "%8" PRId64 ".%03u ms before: %s\n", before_us / 1000,
                (unsigned)(before_us > 0 ? before_us % 1000 : 0), t->line[i % TRAIL_LINES].text);
    }
}
