/* SPDX-License-Identifier: MIT */
/* MessagePack, written down once more. */
#ifndef USHER_TESTS_PACKER_H
#define USHER_TESTS_PACKER_H

#include <usher/store/operation.h>

/* Begin with zeros; `at` is the caller's, to be given to free(). */
struct packed {
    unsigned char *at;
    size_t n, room;
};

void put_byte(struct packed *p, unsigned b);
void put_uint(struct packed *p, uint64_t value);
void put_text(struct packed *p, const struct usher_text *t);
void put_array(struct packed *p, size_t n);
/* As a log keeps it. */
void put_notice(struct packed *p, const struct usher_notice *n);

/* A name and digits, in an array of twice as many as there are of them. */
void put_said(struct packed *p, const char *name, int64_t value);

/* Such an array of those of @all whose bit is in @given. */
struct said {
    uint64_t bit;
    const char *word;
    int64_t value;
};
/* @reason and @actor may be NULL, or give none. */
void put_given(struct packed *p, uint64_t given, const struct said *all, size_t n,
               const struct usher_text *reason, const struct usher_text *actor);

/* The log of a scope's last changes.  Begin with zeros. */
struct model_log {
    struct model_logged {
        uint64_t version;
        size_t size;
        char packed[1024];
    } * notices;
    size_t n;
    uint64_t since; /* all after this version are in it, or were */
};

/* @n is the newest.  The last @most stay; but of a log that is too long only one less with each
 * change. */
void model_log_keep(struct model_log *log, int64_t most, const struct usher_notice *n);
struct model_log model_log_copy(const struct model_log *log);
void model_log_done(struct model_log *log);
/* `changes`: OK, and *@ret_from is the first one after @since; REFUSED, STALE. */
enum usher_status model_log_read(const struct model_log *log, int64_t most, uint64_t version,
                                 uint64_t since, size_t *ret_from);

#endif
