/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "cli/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WIDTH 30u

int64_t usher__clock_us(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

void usher__progress_begin(struct progress *p, const char *what, const char *unit)
{
    memset(p, 0, sizeof *p);
    p->what = what;
    p->unit = unit;
    p->on = isatty(STDERR_FILENO) == 1;
    p->begin_ms = usher__clock_us() / 1000;
}

const char *usher__progress_line(char to[PROGRESS_LINE], const struct progress *p, uint64_t done,
                                 uint64_t total, int64_t elapsed_ms)
{
    double rate = elapsed_ms >= 1000 ? (double)done * 1000 / (double)elapsed_ms : 0;
    char bar[WIDTH + 1];
    unsigned full;
    int n;

    if (total == 0) {
        n = snprintf(to, PROGRESS_LINE, "%.40s %" PRIu64, p->what, done);
    } else {
        if (done > total)
            done = total;
        full = (unsigned)((double)done / (double)total * WIDTH);
        memset(bar, '.', WIDTH);
        memset(bar, '#', full);
        bar[WIDTH] = '\0';
        n = snprintf(to, PROGRESS_LINE, "%.40s [%s] %3u %%", p->what, bar,
                     (unsigned)((double)done / (double)total * 100));
    }
    if (rate > 0 && p->unit != NULL)
        n += snprintf(to + n, PROGRESS_LINE - (size_t)n, ", %.0f %.20s/s", rate, p->unit);
    if (rate > 0 && total > 0) {
        int64_t left_s = (int64_t)((double)(total - done) / rate + 0.5);

        (void)snprintf(to + n, PROGRESS_LINE - (size_t)n, ", %" PRId64 ":%02" PRId64 " left",
                       left_s / 60, left_s % 60);
    }
    return to;
}

void usher__progress_show(struct progress *p, uint64_t done, uint64_t total)
{
    char line[PROGRESS_LINE];
    int64_t now;

    if (!p->on)
        return;
    now = usher__clock_us() / 1000;
    if (now < p->next_ms)
        return;
    p->next_ms = now + 100;
    p->shown = true;
    fprintf(stderr, "\r%s\x1b[K", usher__progress_line(line, p, done, total, now - p->begin_ms));
    fflush(stderr);
}

void usher__progress_end(struct progress *p)
{
    if (p->shown)
        fputs("\r\x1b[K", stderr);
    p->on = p->shown = false;
}
