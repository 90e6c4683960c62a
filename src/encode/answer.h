/* SPDX-License-Identifier: MIT */
/* Fill the structs of a program with results, by tables of their members: src/api. */
#ifndef USHER_ENCODE_ANSWER_H
#define USHER_ENCODE_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <usher/store/operation.h>

enum usher__member_kind {
    USHER__MEMBER_NUMBER, /* int64_t */
    USHER__MEMBER_TOKEN,  /* uint64_t */
    USHER__MEMBER_CODE,   /* an enum, as wide as an int; 0: none */
    USHER__MEMBER_STRING, /* const char * */
    USHER__MEMBER_CHARS,  /* char [] */
    USHER__MEMBER_BYTES   /* struct usher_text */
};

struct usher__member {
    uint32_t field; /* as an argument */
    uint32_t told;  /* in the answer: a step that grows is not the one that was set */
    uint16_t offset, size;
    enum usher__member_kind kind;
};

struct usher__answer;
struct usher__given; /* src/api/calls.c */

/* Clear all members of @a; then set those of the single fields of @r, unless @op is NULL. */
typedef void usher__answer_fill_fields(const struct usher_operation *op,
                                       const struct usher_result *r, struct usher__answer *a);

struct usher__shape {
    const struct usher__member *members;
    size_t n, size;
    /* For options and settings: give the members of @from that are set. */
    void (*give)(const struct usher__given *to, const void *from);
    /* For answers. */
    const uint8_t *at; /* the number of its member, from 1 on, by field */
    size_t n_at;
    usher__answer_fill_fields *tell;
};

/* The beginning of the answers of all nouns. */
struct usher__answer {
    size_t size;
    uint64_t epoch, version;
    int64_t due_ms, now_ms, replicas;
    bool repeated, more;
    char message[USHER_MESSAGE_MAX];
};

/* Return whether the struct of @size has @m: an older program has a shorter one, because new
 * members are appended. */
static inline bool usher__fits(const struct usher__member *m, size_t size)
{
    return (size_t)m->offset + m->size <= size;
}

/* Write the answer @r to @op to @answer, a struct of @shape, which may be NULL; and to
 * usher_message() the reason if it is not done. */
void usher__answer_fill(const struct usher_operation *op, const struct usher_result *r,
                        const struct usher__shape *shape, struct usher__answer *answer);

/* Write the head of an answer, and clear all other members. */
void usher__answer_fill_head(const struct usher__shape *shape, struct usher__answer *answer,
                             const struct usher_reply *reply);

/* A code of settings that is not given is 0, so code 0 is this one. */
#define USHER__CODE_OFF (-1)

/* Write @v, or NULL, to the member @m at @to.  In settings 0 is not given. */
void usher__answer_fill_member(const struct usher__member *m, const struct usher_value *v,
                               bool settings, void *to);

/* Write the message of @reply, which is not done, to usher_message(); @why: 0, or its code. */
void usher__answer_fill_message(const struct usher_reply *reply, int64_t why);

#endif
