/* SPDX-License-Identifier: MIT */
/* fixture -- what the suites of all nouns begin and end with, and commands in words. */
#ifndef USHER_TESTS_FIXTURE_H
#define USHER_TESTS_FIXTURE_H

#include <stdint.h>

#include <usher/store/operation.h>

#include "conformance/suite.h"
#include "lib/util.h"

/* On @url, with the clock @now, which must stay; @also (may be NULL): options besides. */
struct usher_engine *suite_open(const char *url, const int64_t *now,
                                const struct usher_options *also);

/* *@e is NULL, so that nobody closes it again if what follows fails. */
void suite_close(struct usher_engine **e);

/* @scope is the same here and there. */
void same_digest(struct usher_engine *here, struct usher_engine *there, enum usher_noun noun,
                 const char *scope);

/* A command with what its texts point to. */
struct said {
    struct usher_operation c;
    char line[8192];
    unsigned char fields[2048];
};

/*
 * "verb scope positional… key=value…", with one blank between: an empty word is an empty text, and
 * so is ''.  Unlike on the command line nothing is checked, but that verb and keys are there.  To
 * verbs with fields, keys that are no arguments are fields.
 */
void said_line(struct said *s, enum usher_noun noun, const char *line);

/* The store's own answers to @n commands on one scope at @now, 64 at most, some of which the engine
 * would give again. */
void store_answers(struct usher_engine *e, int64_t now, const struct usher_operation *c,
                   struct usher_result *r, size_t n);

/* The @n @lines, at most 16, executed together on @e where more is due than one command applies.
 * Each is answered with OK, as if they were executed one by one. */
void in_order(struct usher_engine *e, enum usher_noun noun, const char *const *lines, size_t n);

/*
 * @n commands, as @line with %u for 1 to @n, executed together on @e and on @twin (may be NULL),
 * where more is due than one command applies.  Each is answered with @want.  The store itself first
 * answers 64 of them; it applies @portion changes, and those that it executed by then get at most
 * @done more.
 */
void in_portions(struct usher_engine *e, struct usher_engine *twin, int64_t now,
                 enum usher_noun noun, const char *line, unsigned n, enum usher_status want,
                 unsigned portion, unsigned done);

#endif
