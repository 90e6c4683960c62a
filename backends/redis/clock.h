/* SPDX-License-Identifier: MIT */
/* Does a server have the time that this machine has? */
#ifndef USHER_REDIS_CLOCK_H
#define USHER_REDIS_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* From where on it is said. */
#define USHER__REDIS_CLOCK_US INT64_C(1000000)
#define USHER__REDIS_CLOCK_LINE 192

int64_t usher__redis_wall_us(void); /* CLOCK_REALTIME */

/*
 * Compare the clock of a server that got the query at @sent_us, answered @server_us, and whose
 * answer came at @received_us: microseconds since 1970, none below 0, the first and the last by
 * this machine's clock.  The moment of its reading is not known, so the round trip counts in its
 * favour. False: there is no difference to report, and @line is "".
 */
bool usher__redis_clock_line(int64_t sent_us, int64_t received_us, int64_t server_us,
                             char line[USHER__REDIS_CLOCK_LINE]);

#endif
