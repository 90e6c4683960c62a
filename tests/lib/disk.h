/* SPDX-License-Identifier: MIT */
/*
 * disk -- a file system in memory for SQLite that can fail and lose power.
 *
 * disk_install() makes it SQLite's default, so that every database that this process opens is
 * here.  The disk records syncs.  At disk_crash() all later writes are lost, kept, or kept in part:
 * dropped, torn at sectors, applied in another order.  A new file is certain to exist only after
 * its first sync.
 *
 * A process has one disk, which one thread uses.  All files must be closed at disk_wipe() and
 * disk_crash().
 */
#ifndef USHER_TESTS_DISK_H
#define USHER_TESTS_DISK_H

#include <stdbool.h>
#include <stdint.h>

void disk_install(void);

/* Make the disk empty, with no fault armed. */
void disk_wipe(void);

/* Begin or stop to count calls; the armed fault hits counted calls only. */
void disk_count(bool on);

/* Return the calls counted since disk_wipe(), and the writes, truncations and syncs among them. */
unsigned disk_calls(void);
unsigned disk_writes(void);

/* Let the @n-th counted call from now fail, or it and all after it; 0: none. */
void disk_fail(unsigned n, bool for_ever);

/* Lose power instead of the @n-th counted write or sync: from then on every call fails.  0: never.
 */
void disk_cut(unsigned n);

/* Return whether the armed fault has hit. */
bool disk_fired(void);

enum disk_loss {
    DISK_KEEPS_NOTHING, /* of unsynced writes */
    DISK_KEEPS_ALL,
    DISK_KEEPS_SOME, /* whole writes, in another order */
    DISK_TEARS       /* sectors of writes, in another order */
};

/* Set the disk's content to what it holds when power is back. */
void disk_crash(enum disk_loss loss, uint64_t seed);

#endif
