/* SPDX-License-Identifier: MIT */
/* Results as structs of a program, by tables of their members: src/calls. */
#ifndef USHER_ENGINE_TELL_H
#define USHER_ENGINE_TELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <usher/operation.h>

enum usher__member_kind {
    USHER__MEMBER_NUMBER, /* int64_t */
    USHER__MEMBER_TOKEN,  /* uint64_t */
    USHER__MEMBER_STRING, /* const char * */
    USHER__MEMBER_CHARS,  /* char [] */
    USHER__MEMBER_BYTES   /* struct usher_text */
};

struct usher__member {
    uint32_t field; /* as it is given */
    uint32_t told;  /* and comes back: a step that grows is not the one that was set */
    uint16_t offset, size;
    enum usher__member_kind kind;
};

struct usher__answer;
struct usher__given; /* src/calls/calls.c */

/* Set all members of @a to none; then those of the single fields of @r, unless @op is NULL. */
typedef void usher__tell_fields(const struct usher_operation *op, const struct usher_result *r,
                                struct usher__answer *a);

struct usher__shape {
    const struct usher__member *members;
    size_t n, size;
    /* Options and settings: give the members of @from that are set. */
    void (*give)(const struct usher__given *to, const void *from);
    /* Answers. */
    const uint8_t *at; /* by field, the number of its member, from 1 on */
    size_t n_at;
    usher__tell_fields *tell;
};

/* As the answers of all nouns begin. */
struct usher__answer {
    size_t size;
    uint64_t epoch, version;
    int64_t due_ms, now_ms, replicas;
    bool repeated, more;
    char message[USHER_MESSAGE_MAX];
};

/* An older program has a shorter struct, of @size: members that it does not know come after the
 * others. */
static inline bool usher__fits(const struct usher__member *m, size_t size)
{
    return (size_t)m->offset + m->size <= size;
}

/* The answer @r to @op to @answer, a struct of @shape, which may be NULL; and to usher_message()
 * what is not done. */
void usher__tell(const struct usher_operation *op, const struct usher_result *r,
                 const struct usher__shape *shape, struct usher__answer *answer);

/* Write the head of an answer; all other members become none. */
void usher__tell_head(const struct usher__shape *shape, struct usher__answer *answer,
                      const struct usher_reply *reply);

/* Write @v, or NULL, to the member @m at @to.  In settings 0 is not given. */
void usher__tell_member(const struct usher__member *m, const struct usher_value *v, bool settings,
                        void *to);

/* Write the message of @reply, which is not done, to usher_message(); @why: 0, or its code. */
void usher__tell_message(const struct usher_reply *reply, int64_t why);

#endif
