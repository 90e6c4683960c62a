/* SPDX-License-Identifier: MIT */
/* Shared by the files that read whole scopes: decode.c, read.c, scan.c and mend.c. */
#ifndef USHER_REDIS_SCAN_H
#define USHER_REDIS_SCAN_H

#include <hiredis/hiredis.h>

#include "script.h"
#include "store.h"

/* ---- decode.c ---- */

#define USHER__REDIS_NUMBER 7 /* bytes */
/* A header is MARK bytes longer while the scope is being mended. */
#define USHER__REDIS_HEAD (45 + USHER__REDIS_NUMBER * USHER_COUNTS)
#define USHER__REDIS_MARK 16

/* Size of the word that a record begins with, and the words of a kind: as in usher_table(). */
#define USHER__REDIS_WORD 10u
#define USHER__REDIS_STATES 10u

struct usher_text usher__redis_text_of(const struct redisReply *reply);

/* The scope that @key is one of the keys of: prefix{scope}:noun, and :index or :held. */
bool usher__redis_scope_of(const struct usher__redis *r, enum usher_noun noun,
                           const struct redisReply *key, struct usher_text *ret);

bool usher__redis_is_marked(const struct usher_text *head);

/* @known: the format. */
bool usher__redis_head_read(struct usher_text text, int64_t known, struct usher_scope *s);

/* size 0: none. */
bool usher__redis_gaps_read(struct usher_text text, struct usher_scope *s);

/* {a, b, …}: the settings of a scope that has none stored. */
bool usher__redis_defaults_read(const char *text, struct usher_scope *s);
bool usher__redis_settings_read(struct usher_text text, struct usher_scope *s);

/* A field of the hash as a record. */
bool usher__redis_record_read(const char *words, const struct redisReply *field,
                              const struct redisReply *value, struct usher_record *r);

/* A member of the sorted set that stands for a record: KIND, list, position, id. */
bool usher__redis_entry_read(struct usher_text text, struct usher_entry *e);

/* ---- read.c ---- */

struct usher__redis_names {
    struct usher_text *text; /* each with bytes of its own */
    size_t n, room;
};

void usher__redis_names_done(const struct usher_allocator *alloc, struct usher__redis_names *names);
bool usher__redis_names_add(const struct usher_allocator *alloc, struct usher__redis_names *names,
                            const struct usher_text *name);
int usher__redis_compare_text(const struct usher_text *a, const struct usher_text *b);
int usher__redis_compare_names(const void *a, const void *b);

/* The answer to the oldest open command: an array.  Each has its own deadline, because the number
 * of pages is not known. */
enum usher_status usher__redis_ask(struct usher__redis *r, struct redisReply **ret_reply,
                                   char message[192]);

/* Replies that are kept, because what is shown points into them. */
struct usher__redis_pages {
    struct redisReply **page;
    size_t n, room;
};

/* A scope as it was read. */
struct usher__redis_dump {
    enum usher_noun noun;
    const struct usher_text *name;
    struct usher__redis_pages header; /* two: before and after the rest */
    struct usher__redis_pages fields, index, held;
};

void usher__redis_dump_done(const struct usher__redis *r, struct usher__redis_dump *d);

/* A connection of its own, so other threads go on executing commands. */
enum usher_status usher__redis_own_open(struct usher__redis_store *s,
                                        struct usher__redis_node *node, int64_t deadline_ms,
                                        struct usher__redis **ret, char message[192]);

/* One moment of a scope.  It reads again while other clients write and there is time. */
enum usher_status usher__redis_read_scope(struct usher__redis *r, struct usher__redis_dump *d,
                                          int64_t deadline_ms, char message[192]);
/* Ask for the header of @d, and take the answer: of several that are asked for together in their
 * order. */
void usher__redis_head_ask(struct usher__redis *r, const struct usher__redis_dump *d);
enum usher_status usher__redis_head_take(struct usher__redis *r, struct usher__redis_dump *d,
                                         char message[192]);
/* Return whether the header that was taken is missing. */
bool usher__redis_head_missing(const struct usher__redis_dump *d);
/* The header alone.  MISSING: there is none. */
enum usher_status usher__redis_read_head(struct usher__redis *r, struct usher__redis_dump *d,
                                         char message[192]);

struct usher__redis_records {
    struct usher_record *record;        /* in any order */
    const struct usher_record **sorted; /* in order of kind and id, each once */
    size_t n, room;
    size_t odd; /* fields that are not understood */
};

void usher__redis_records_done(const struct usher__redis *r, struct usher__redis_records *all);

enum usher_status usher__redis_not_understood(const struct usher__redis_dump *d, const char *what,
                                              char message[192]);

/* The input and the result of reading a scope. */
struct usher__redis_reading {
    struct usher_scope scope;
    struct usher__redis_records records;
    const char *listed, *permanent; /* of the tables of the connection */
};

/* The tables of @noun, kept with the connection; their noun is another one if they are not known.
 * NULL: no memory. */
const struct usher__redis_tables *usher__redis_tables(struct usher__redis *r, enum usher_noun noun);

/* With OK there are records to be given back. */
enum usher_status usher__redis_reading_make(struct usher__redis *r,
                                            const struct usher__redis_dump *d,
                                            struct usher__redis_reading *to, char message[192]);

/* ---- scan.c ---- */

enum usher_status usher__redis_show_records(const struct usher__redis_reading *from,
                                            usher_scan_fn *fn, void *payload);

/* ---- mend.c ---- */

/* There is no header.  Asked by a script: for one moment of all three keys. */
enum usher_status usher__redis_show_rest(struct usher__redis *r, const struct usher__redis_dump *d,
                                         usher_scan_fn *fn, void *payload, char message[192]);

#endif
