/* SPDX-License-Identifier: MIT */
/*
 * room_model -- what rooms have to do, said once more in the plainest way: arrays that are
 * searched from end to end, and deadlines that are looked for before each command.  Nothing of the
 * library is in it but the public headers.  Limits of size (fields, bytes, bans) are not modelled.
 *
 * Each change makes one notice.  Coalescing (`presence`) is only marked in it: wait_ms.
 */
#ifndef USHER_TESTS_ROOM_MODEL_H
#define USHER_TESTS_ROOM_MODEL_H

#include <usher/store/operation.h>

#define ROOM_MODEL_SETTINGS 9 /* in the order of struct usher_room_result_settings */

/* A text that several may have; never changed. */
struct room_model_text {
    unsigned refs;
    size_t size;
    char data[];
};

struct room_model_field {
    struct room_model_text *name, *value;
    uint64_t version;
};

struct room_model_fields {
    struct room_model_field *at;
    size_t n;
};

struct room_model_member {
    struct room_model_text *id;
    enum usher_room_member_state state;
    int64_t joined, seen, until; /* until 0: no deadline */
    uint64_t version;            /* of joining, or of the ban */
    struct room_model_fields own;
};

struct room_model_role {
    struct room_model_text *id, *holder;
    uint64_t version;
};

struct room_model_share {
    struct room_model_text *id, *owner;
    uint64_t version;
    struct room_model_fields own;
};

struct room_model_logged {
    uint64_t version;
    struct room_model_text *packed;
};

struct room_model_row {
    struct room_model_text *id, *owner, *value;
    int kind, state;
    uint64_t version;
    int64_t since, seen;
};

struct room_model_kept {
    struct room_model_text *id;
    uint64_t asked; /* gen_asked() */
    int64_t until;
    struct usher_result reply;
    struct room_model_row *rows;
    size_t n_rows;
};

struct room_model_room {
    struct room_model_text *name;
    enum usher_room_state state;
    uint64_t epoch; /* which one of this name it is, from 1 */
    uint64_t version;
    uint64_t base; /* versions up to this one are of an earlier room, whose bans stayed */
    int64_t clock, created, empty;
    int64_t set[ROOM_MODEL_SETTINGS];
    struct room_model_fields fields, alls;
    struct room_model_member *members; /* with those banned */
    struct room_model_role *roles;
    struct room_model_share *shares;
    struct room_model_logged *log;
    struct room_model_kept *kept; /* by version */
    size_t n_members, n_roles, n_shares, n_log, n_kept;
    uint64_t mark;
    int64_t gap_from, gap_to; /* the last outage */
    uint64_t joined, left, lost, kicked, changes;
};

struct room_model;
typedef void room_model_notify(void *payload, const struct usher_notice *notice);

struct room_model *room_model_open(room_model_notify *notify, void *payload);
struct room_model *room_model_copy(const struct room_model *m, room_model_notify *notify,
                                   void *payload);
void room_model_close(struct room_model *m);
void room_model_execute(struct room_model *m, const struct usher_operation *c,
                        struct usher_result *r);
void room_model_reply_done(struct usher_result *r);
/* Return NULL, or an impossible state: a role or share of an absent member, … */
const char *room_model_fault(const struct room_model *m);
/* NULL: no command has named it yet. */
const struct room_model_room *room_model_room(const struct room_model *m, const char *name);

#endif
