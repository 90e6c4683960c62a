/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

int64_t usher__redis_wall_us(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_REALTIME, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

bool usher__redis_clock_line(int64_t sent_us, int64_t received_us, int64_t server_us,
                             char line[USHER__REDIS_CLOCK_LINE])
{
    int64_t ahead = server_us - received_us, behind = sent_us - server_us;
    int64_t off = ahead > behind ? ahead : behind;

    line[0] = '\0';
    /* this machine's clock was set in between: there is no result */
    if (received_us < sent_us || off <= USHER__REDIS_CLOCK_US)
        return false;
    (void)snprintf(line, USHER__REDIS_CLOCK_LINE,
                   "redis: the server's clock is %s this machine's by %" PRId64 ".%" PRId64
                   " s: commands without now= take their time from it, so leases end %s",
                   ahead > behind ? "ahead of" : "behind", off / 1000000, off / 100000 % 10,
                   ahead > behind ? "early" : "late");
    return true;
}
