/* SPDX-License-Identifier: MIT */
/* Comparison of a server's clock with that of this machine. */
#ifndef USHER_REDIS_CLOCK_H
#define USHER_REDIS_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A larger difference is reported. */
#define USHER__REDIS_CLOCK_US INT64_C(1000000)
#define USHER__REDIS_CLOCK_LINE 192

int64_t usher__redis_wall_us(void); /* CLOCK_REALTIME */

/*
 * Compare the clock of a server.  The query was sent at @sent_us, the server answered @server_us,
 * and the answer arrived at @received_us, in microseconds since 1970, not below 0; the first and
 * the last are by this machine's clock.  The server may have read its clock at any moment in
 * between, so only a difference that no such moment explains counts.  Return false, and @line "",
 * if there is none to report.
 */
bool usher__redis_clock_line(int64_t sent_us, int64_t received_us, int64_t server_us,
                             char line[USHER__REDIS_CLOCK_LINE]);

#endif
