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

void usher__progress_begin(struct progress *p, const char *what)
{
    memset(p, 0, sizeof *p);
    p->what = what;
    p->on = isatty(STDERR_FILENO) == 1;
}

void usher__progress_show(struct progress *p, uint64_t done, uint64_t total)
{
    int64_t now;

    if (!p->on)
        return;
    now = usher__clock_us() / 1000;
    if (now < p->next_ms)
        return;
    p->next_ms = now + 100;
    p->shown = true;
    if (total == 0) {
        fprintf(stderr, "\r%s %" PRIu64 "\x1b[K", p->what, done);
    } else {
        char bar[WIDTH + 1];
        unsigned full;

        if (done > total)
            done = total;
        full = (unsigned)((double)done / (double)total * WIDTH);
        memset(bar, '.', WIDTH);
        memset(bar, '#', full);
        bar[WIDTH] = '\0';
        fprintf(stderr, "\r%s [%s] %3u %%\x1b[K", p->what, bar,
                (unsigned)((double)done / (double)total * 100));
    }
    fflush(stderr);
}

void usher__progress_end(struct progress *p)
{
    if (p->shown)
        fputs("\r\x1b[K", stderr);
    p->on = p->shown = false;
}
