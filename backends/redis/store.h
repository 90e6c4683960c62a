/* SPDX-License-Identifier: MIT */
/* What the files of the Redis store share. */
#ifndef USHER_REDIS_STORE_H
#define USHER_REDIS_STORE_H

#include <usher/store.h>

#include <pthread.h>
#include <stdatomic.h>

#include "conn.h"

#define USHER__REDIS_PREFIX_MAX 64
/* prefix{pool}:number:index */
#define USHER__REDIS_KEY_MAX (USHER__REDIS_PREFIX_MAX + USHER_NAME_MAX + 32)

/* KIND, list, text, NUL, position, id; and some */
#define USHER__REDIS_MEMBER_MAX (2 * USHER_NAME_MAX + 32)
#define USHER__REDIS_NOUNS 8
#define USHER__REDIS_FILE_MAX 1024 /* a path in the URL, with its end */

/* The script of a noun, and what the server calls it. */
struct usher__redis_script {
    char *text; /* NULL: not asked for yet */
    size_t size;
    char sha[41]; /* "": to be loaded */
    /* What the user of the connection was found to have the rights to, by lua/rights.lua */
    enum { USHER__REDIS_MAY_NOTHING, USHER__REDIS_MAY_READ, USHER__REDIS_MAY_WRITE } may;
};

/* A connection and what goes with it: one thread at a time. */
struct usher__redis {
    const struct usher_allocator *alloc;
    struct usher__redis_conn *conn;
    struct usher__redis_conn_options options; /* its texts are those below */
    struct usher__redis_script script[USHER__REDIS_NOUNS];
    unsigned char *packed; /* the commands of a call */
    size_t packed_size;
    size_t packed_n; /* of them in use */
    uint64_t random;
    int64_t patience_ms; /* of a scan: with one answer */
    void (*log)(void *payload, enum usher_log_level level, const char *line);
    void *log_payload;
    /* Which master answers, "": not known; when it was asked; does this one tell of its settings?
     */
    char identity[48];
    uint64_t server; /* it as the scripts have it: identity() of store.h */
    int64_t asked_ms;
    bool tells;
    /* How often a server of the store said that it is no master (any more): what is connected since
     * before that connects anew.  NULL: it looks for itself. */
    _Atomic unsigned *demotions;
    unsigned demotions_seen;
    char prefix[USHER__REDIS_PREFIX_MAX + 1];
    /* of the connection */
    char host[256], user[256], password[512], client_name[256];
    char ca[USHER__REDIS_FILE_MAX], cert[USHER__REDIS_FILE_MAX], key[USHER__REDIS_FILE_MAX];
    char tls_name[256];
};

/* The store: two of them, so that the server has one batch while the other one is made. */
struct usher__redis_store {
    struct usher_store base;
    const struct usher_allocator *alloc;
    struct usher__redis *lane[2]; /* the second connects when it is first needed */
    pthread_mutex_t lock;         /* of which is taken */
    /* Notices are told in order of version, so when somebody listens one batch goes at a
     * time: then it is locked for writing, else for reading. */
    pthread_rwlock_t order;
    bool locks; /* both are initialised */
    bool taken[2];
    _Atomic unsigned demotions;
};

/* What the URL says goes into @r, which is all zero, and its options.  NULL, or what in it is
 * wrong; options that are not known stay unused. */
const char *usher__redis_parse(struct usher__redis *r, struct usher_url *url);

/* A key of @scope; "", ":index" or ":held" is @suffix.  Returns its size. */
size_t usher__redis_key(const struct usher__redis *r, enum usher_noun noun,
                        const struct usher_text *scope, const char *suffix,
                        char key[USHER__REDIS_KEY_MAX]);

/* Connect to a master, if that is not so.  UNAVAILABLE, NOMEM: message in
 * usher__redis_conn_message(). */
enum usher_status usher__redis_ready(struct usher__redis *r, int64_t deadline_ms);

/* Wait a little before trying again, longer each time; false when the deadline is near. */
bool usher__redis_pause(struct usher__redis *r, unsigned tries, int64_t deadline_ms);

/* scan.c, mend.c */
enum usher_status usher__redis_scan(struct usher_store *s, enum usher_noun noun,
                                    const struct usher_text *scope, int64_t deadline_ms,
                                    usher_scan_fn *fn, void *payload, char message[192]);
enum usher_status usher__redis_mend(struct usher_store *s, enum usher_noun noun,
                                    const struct usher_text *scope, int64_t deadline_ms,
                                    usher_scan_fn *fn, usher_mend_fn *header, void *payload,
                                    char message[192]);

#endif
