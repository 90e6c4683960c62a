/* SPDX-License-Identifier: MIT */
/* The records of the noun with RECORDS_DEF in C: kinds, places in record.n and in scope.counts, and
 * figures.  A noun includes it once, before its own code. */
enum record_name {
#define RECORD(name, code, ...) KIND_##name = (code),
#define N(kind, name, at, ...) name = (at),
#define ALSO(kind, name, at, text) name = (at),
#define FIGURE(name, at, text) name = (at),
#define COUNT(name, at, text) COUNT_##name = (at),
#include RECORDS_DEF
};
