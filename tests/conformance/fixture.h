/* SPDX-License-Identifier: MIT */
/* fixture -- what the suites of all nouns begin and end with, and commands in words. */
#ifndef USHER_TESTS_FIXTURE_H
#define USHER_TESTS_FIXTURE_H

#include <stdint.h>

#include <usher/operation.h>

#include "conformance/suite.h"

/* On @url, with the clock @now, which must stay; @also (may be NULL): options besides. */
struct usher_engine *suite_open(const struct backend *b, const char *url, const int64_t *now,
                                const struct usher_options *also);

/* *@e is NULL, so that nobody closes it again if what follows fails. */
void suite_close(struct usher_engine **e);

/* The audit finds nothing. */
void audit(struct usher_engine *e);

/* @scope is the same here and there. */
void same_digest(struct usher_engine *here, struct usher_engine *there, enum usher_noun noun,
                 const char *scope);

struct usher_text text(const char *s);

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

#endif
