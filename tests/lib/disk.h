/* SPDX-License-Identifier: MIT */
/*
 * disk -- a file system in memory for SQLite that can fail and lose power.
 *
 * disk_install() makes it SQLite's default, so that whatever opens a database in this
 * process writes here.  It knows what has been synced: at disk_crash() everything since is
 * lost, kept, or kept in part: writes dropped, torn at sectors, applied in another order.
 * A new file is there for sure only after its first sync.
 *
 * One disk a process, one thread.  All files must be closed at
 * disk_wipe() and disk_crash().
 */
#ifndef USHER_TESTS_DISK_H
#define USHER_TESTS_DISK_H

#include <stdbool.h>
#include <stdint.h>

void disk_install(void);

/* An empty disk, nothing armed. */
void disk_wipe(void);

/* From now on calls are counted (and the armed one fails), or not. */
void disk_count(bool on);

/* The calls counted since disk_wipe(); of these, the writes, truncations and syncs. */
unsigned disk_calls(void);
unsigned disk_writes(void);

/* The @n-th counted call from now fails, or it and all after it; 0: none. */
void disk_fail(unsigned n, bool for_ever);

/* Power goes off instead of the @n-th counted write or sync: from then on every call
 * fails.  0: never. */
void disk_cut(unsigned n);

/* Did the armed thing happen? */
bool disk_fired(void);

enum disk_loss {
    DISK_KEEPS_NOTHING, /* of what was not synced */
    DISK_KEEPS_ALL,
    DISK_KEEPS_SOME, /* whole writes, in another order */
    DISK_TEARS       /* sectors of writes, in another order */
};

/* Set the disk's content to what it holds when power is back. */
void disk_crash(enum disk_loss loss, uint64_t seed);

#endif
