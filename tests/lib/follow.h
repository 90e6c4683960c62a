/* SPDX-License-Identifier: MIT */
/*
 * follow -- followers of scopes on engines that share a Redis server, for tests that stop the
 * clock.
 *
 * Such a test is linked with -Wl,--wrap=clock_gettime (Makefile.am).  While its CLOCK_MONOTONIC
 * stands still no follower reads a log because time has passed: what one receives came by a
 * message.
 */
#ifndef USHER_TESTS_FOLLOW_H
#define USHER_TESTS_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include <usher/command.h>

#include "servers.h"

#define FOLLOW_PATIENCE_MS 60000 /* a test fails that waits longer */

void follow_stop_clock(bool stop);
void follow_move_clock(int64_t ms); /* of one that is stopped */
int64_t follow_real_ms(void);       /* whether it is stopped or not */

/* Count of log lines about a refused subscription. */
extern int follow_refused;

struct usher_engine *follow_open(const char *url);

/* Watch @scope from its first version on, with USHER_WATCH_ALL. */
struct usher_watcher *follow_scope(struct usher_engine *e, enum usher_noun noun, const char *scope);
struct usher_watcher *follow_room(struct usher_engine *e, const char *room);

/* Require that the next event of @e is the change with @version. */
void follow_expect_change(struct usher_engine *e, uint64_t version);

/* Drive @e, which has no event, until it waits. */
void follow_drive(struct usher_engine *e);

/* Drive @e until @n clients subscribe to @channel, by `PUBSUB @how` of @s. */
void follow_until_subscribed(struct usher_engine *e, struct redis_server *s, const char *how,
                             const char *channel, long long n);

#endif
