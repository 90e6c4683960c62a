/* SPDX-License-Identifier: MIT */
/* The clock of the machine, if a program has set none. */
#ifndef USHER_ENGINE_CLOCK_H
#define USHER_ENGINE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t usher__wall_ms(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_REALTIME, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

#endif
