/* SPDX-License-Identifier: MIT */
/*
 * floor_sqlite -- a pool of numbers as one would write it in SQL for one program: a table, an
 * index for those that are free, one for owners, a row with the version; prepared
 * statements, a write-ahead log, synchronous=FULL.  It keeps the promises of floor_memory.h.
 */
#ifndef USHER_BENCH_FLOOR_SQLITE_H
#define USHER_BENCH_FLOOR_SQLITE_H

#include <stddef.h>

#include "floor_memory.h"

struct floor_sqlite;

/* Make a new file with @n free numbers.  Any error ends the program. */
struct floor_sqlite *floor_sqlite_open(const char *path, size_t n);
void floor_sqlite_close(struct floor_sqlite *f);

/* A transaction around any number of the following. */
void floor_sqlite_begin(struct floor_sqlite *f);
void floor_sqlite_commit(struct floor_sqlite *f);

void floor_sqlite_call(struct floor_sqlite *f, const char *owner, struct floor_hold *ret_hold);
void floor_sqlite_hangup(struct floor_sqlite *f, const char *number, uint64_t token);

#endif
