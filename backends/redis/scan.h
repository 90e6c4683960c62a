/* SPDX-License-Identifier: MIT */
/* Shared by the files that read whole scopes: decode.c, read.c, scan.c and repair.c. */
#ifndef USHER_REDIS_SCAN_H
#define USHER_REDIS_SCAN_H

#include <hiredis/hiredis.h>

#include "script.h"
#include "store.h"

/* ---- decode.c ---- */

#define USHER__REDIS_NUMBER 7 /* bytes */
/* A header is MARK bytes longer during a repair of the scope. */
#define USHER__REDIS_HEAD (45 + USHER__REDIS_NUMBER * USHER_COUNTS)
#define USHER__REDIS_MARK 16

/* Size of the first word of a record, and the number of words of a kind, as in usher_table(). */
#define USHER__REDIS_WORD 10u
#define USHER__REDIS_STATES 10u

struct usher_text usher__redis_text_of(const struct redisReply *reply);

/* Return the scope to which @key belongs: prefix{scope}:noun, perhaps with :index or :held. */
bool usher__redis_scope_of(const struct usher__redis *r, enum usher_noun noun,
                           const struct redisReply *key, struct usher_text *ret);

bool usher__redis_is_marked(const struct usher_text *head);

/* @known: the format. */
bool usher__redis_head_read(struct usher_text text, int64_t known, struct usher_scope *s);

/* An empty text has no gaps. */
bool usher__redis_gaps_read(struct usher_text text, struct usher_scope *s);

/* Read {a, b, …}: the settings of a scope without stored settings. */
bool usher__redis_defaults_read(const char *text, struct usher_scope *s);
bool usher__redis_settings_read(struct usher_text text, struct usher_scope *s);

/* Read a field of the hash as a record. */
bool usher__redis_record_read(const char *words, const struct redisReply *field,
                              const struct redisReply *value, struct usher_record *r);

/* Read a member of a sorted set as an entry of a list: KIND, list, position, id. */
bool usher__redis_entry_read(struct usher_text text, struct usher_entry *e);

/* ---- read.c ---- */

struct usher__redis_names {
    struct usher_text *text; /* each owns its bytes */
    size_t n, room;
};

void usher__redis_names_done(const struct usher_allocator *alloc, struct usher__redis_names *names);
bool usher__redis_names_add(const struct usher_allocator *alloc, struct usher__redis_names *names,
                            const struct usher_text *name);
int usher__redis_compare_text(const struct usher_text *a, const struct usher_text *b);
int usher__redis_compare_names(const void *a, const void *b);

/* Return the answer to the oldest open command, which must be an array.  Each answer has its own
 * deadline, because the number of pages is unknown.  REFUSED: the user lacks the right to its keys,
 * and the answers to other commands can still be read. */
enum usher_status usher__redis_ask(struct usher__redis *r, struct redisReply **ret_reply,
                                   char message[192]);

/* Replies that are kept, because the reported texts point into them. */
struct usher__redis_pages {
    struct redisReply **page;
    size_t n, room;
};

/* The replies of which a scope consists. */
struct usher__redis_dump {
    enum usher_noun noun;
    const struct usher_text *name;
    struct usher__redis_pages header; /* two: read before and after the other pages */
    struct usher__redis_pages fields, index, held;
};

void usher__redis_dump_done(const struct usher__redis *r, struct usher__redis_dump *d);

/* Return whether @reply refuses a command because the user lacks the right to its keys. */
bool usher__redis_lacks_keys(const struct redisReply *reply);

/* Take a connection for this scan, so that other threads can continue to execute commands.  The
 * server is queried for its role first, which also shows whether an idle connection still works.
 * After a failure, too, *@ret must be given back. */
enum usher_status usher__redis_own_open(struct usher__redis_store *s,
                                        struct usher__redis_node *node, int64_t deadline_ms,
                                        struct usher__redis **ret, char message[192]);
/* Give it back; @own may be NULL.  A connection with outstanding replies is closed. */
void usher__redis_own_close(struct usher__redis *own);

/* Read a scope consistently.  Read it again while other clients write and there is time.  REFUSED:
 * the user lacks the right to its keys. */
enum usher_status usher__redis_read_scope(struct usher__redis *r, struct usher__redis_dump *d,
                                          int64_t deadline_ms, char message[192]);
/* Request all of a scope, and read the answers.  Several can be requested first and read then, in
 * the same order.  *@ret_whole: that was all of it, and it did not change; if not, it must be read
 * with usher__redis_read_scope().  UNAVAILABLE, NOMEM: other answers are outstanding. */
void usher__redis_scope_ask(struct usher__redis *r, const struct usher__redis_dump *d);
enum usher_status usher__redis_scope_take(struct usher__redis *r, struct usher__redis_dump *d,
                                          bool *ret_whole, char message[192]);
/* Return whether the header that was taken is missing. */
bool usher__redis_head_missing(const struct usher__redis_dump *d);
/* Read only the header.  MISSING: there is none.  REFUSED: as above. */
enum usher_status usher__redis_read_head(struct usher__redis *r, struct usher__redis_dump *d,
                                         char message[192]);

struct usher__redis_records {
    struct usher_record *record;        /* in any order */
    const struct usher_record **sorted; /* in order of kind and id, each once */
    size_t n, room;
    size_t odd; /* count of fields that are not understood */
};

void usher__redis_records_done(const struct usher__redis *r, struct usher__redis_records *all);

enum usher_status usher__redis_not_understood(const struct usher__redis_dump *d, const char *what,
                                              char message[192]);

/* The input and the result of reading a scope. */
struct usher__redis_reading {
    struct usher_scope scope;
    struct usher__redis_records records;
    const char *listed, *permanent; /* from the tables of the connection */
};

/* Return the tables of @noun, which the connection keeps; NULL without memory.  If they are
 * unknown, their noun is another one. */
const struct usher__redis_tables *usher__redis_tables(struct usher__redis *r, enum usher_noun noun);

/* Make the records of @d.  After OK they must be freed. */
enum usher_status usher__redis_reading_make(struct usher__redis *r,
                                            const struct usher__redis_dump *d,
                                            struct usher__redis_reading *to, char message[192]);

/* ---- scan.c ---- */

/* Write the pattern of the keys of all scopes up to the noun, prefix{*}: with the prefix escaped.
 * Return its size. */
size_t usher__redis_pattern(const struct usher__redis *r, char *to, size_t size);

/* The connections of a scan or list to the nodes, and the parts that it could not read. */
struct usher__redis_walk {
    struct usher__redis_store *store;
    int64_t patience_ms, deadline_ms;
    int64_t spare_ms; /* of a cluster: time for scopes that have moved or cannot be read */
    struct usher__redis *r[USHER__REDIS_NODES_MAX];
    bool silent[USHER__REDIS_NODES_MAX];
    bool asked[USHER__REDIS_NODES_MAX]; /* requests wait for the flush */
    size_t n_silent, n_scopes;          /* silent nodes; unread scopes of other nodes */
    char why[192];                      /* the reason of the first failure */
    char *message;
};

void usher__redis_walk_open(struct usher__redis_walk *w, struct usher__redis_store *s,
                            int64_t deadline_ms, char message[192]);
/* Give the connections back. */
void usher__redis_walk_close(struct usher__redis_walk *w);
/* Return a connection to node @number.  UNAVAILABLE: the node does not answer, and in a cluster is
 * counted and not tried again, unless its slots have another owner now. */
enum usher_status usher__redis_walk_node(struct usher__redis_walk *w, unsigned number,
                                         struct usher__redis **ret);
/* Read a scope at its current node, or without @records its header.  UNAVAILABLE in a cluster, and
 * where the user lacks the right: it could not be read, and was counted. */
enum usher_status usher__redis_walk_read(struct usher__redis_walk *w, struct usher__redis_dump *d,
                                         bool records, struct usher__redis **ret);
/* Count a scope, or a node, that was not read; the message has the reason. */
void usher__redis_walk_unread(struct usher__redis_walk *w);
void usher__redis_walk_silent(struct usher__redis_walk *w, unsigned number);
/* Return whether any was counted. */
bool usher__redis_walk_missed(const struct usher__redis_walk *w);
/* Return OK, or UNAVAILABLE with a message if any was counted.  @one: of one scope only. */
enum usher_status usher__redis_walk_end(const struct usher__redis_walk *w, bool one);

enum usher_status usher__redis_show_records(const struct usher__redis_reading *from,
                                            usher_scan_fn *fn, void *payload);

/* ---- repair.c ---- */

/* Report what is left of a scope without a header.  A script reads it, so all three keys are
 * consistent. */
enum usher_status usher__redis_show_rest(struct usher__redis *r, const struct usher__redis_dump *d,
                                         usher_scan_fn *fn, void *payload, char message[192]);

#endif
