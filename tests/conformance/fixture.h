/* SPDX-License-Identifier: MIT */
/* fixture -- what the suites of all nouns begin and end with, and commands in words. */
#ifndef USHER_TESTS_FIXTURE_H
#define USHER_TESTS_FIXTURE_H

#include <stdint.h>

#include <usher/store/operation.h>

#include "conformance/suite.h"
#include "lib/util.h"

#define MORNING INT64_C(1699956000000) /* 2023-11-14 10:00 UTC */
#define AGENTS_MAX 64

/* The fixture of every test of the suites. */
struct fixture {
    char url[BACKEND_URL_MAX];
    struct usher_engine *e;
    struct usher_engine *twin; /* a memory store that executes the same commands; NULL: none */
    int64_t now;               /* the clock of both */
    enum usher_noun noun;      /* of lines that begin with a verb; 0: a line begins with its noun */
    const char *scope;         /* its digests here and there are compared at the end; NULL: none */
    struct usher_result r;     /* the last answer */
    /* of single suites */
    char said[2048];                        /* queues: the last answer in short */
    char serial[USHER_SERIAL_TEXT_MAX + 1]; /* serials */
    struct fake_authority *authority;       /* ids; NULL: no authority */
    int64_t timeout_ms;
    int64_t bytes; /* rooms: allocated by the engine under test */
    struct usher_allocator alloc;
    struct {
        char name[32];
        uint64_t login;
    } agents[AGENTS_MAX]; /* queues */
    unsigned n_agents;
};

/* The setup of a test: an empty store with the clock at MORNING, with the options @also (may be
 * NULL), and with a twin if there is a @noun. */
int fixture_begin(void **state, enum usher_noun noun, const char *scope,
                  const struct usher_options *also);

/* The teardown: the audit of both finds nothing, and the digests agree. */
int fixture_end(void **state);

/* Another engine on its store, with its clock. */
struct usher_engine *fixture_open(struct fixture *f);

/* For tests that do not execute all on the twin. */
void no_twin(struct fixture *f);

/* Both have the same digest of @scope.  Nothing to do without a twin. */
void digests_agree(struct fixture *f, const char *scope);

/* Execute @c here and there.  The answer is f->r, and the twin's is the same. */
enum usher_status execute(struct fixture *f, const struct usher_operation *c);

/* The test fails if the line (said_line()) is not answered with @want. */
void expect(struct fixture *f, const char *file, int at, enum usher_status want, const char *format,
            ...) __attribute__((format(printf, 5, 6)));

#define ok(f, ...) expect(f, __FILE__, __LINE__, USHER_OK, __VA_ARGS__)
#define same(f, ...) expect(f, __FILE__, __LINE__, USHER_SAME, __VA_ARGS__)
#define missing(f, ...) expect(f, __FILE__, __LINE__, USHER_MISSING, __VA_ARGS__)
#define refused(f, ...) expect(f, __FILE__, __LINE__, USHER_REFUSED, __VA_ARGS__)
#define empty(f, ...) expect(f, __FILE__, __LINE__, USHER_EMPTY, __VA_ARGS__)
#define full(f, ...) expect(f, __FILE__, __LINE__, USHER_FULL, __VA_ARGS__)
#define stale(f, ...) expect(f, __FILE__, __LINE__, USHER_STALE, __VA_ARGS__)
#define lost(f, ...) expect(f, __FILE__, __LINE__, USHER_LOST, __VA_ARGS__)
#define invalid(f, ...) expect(f, __FILE__, __LINE__, USHER_INVALID, __VA_ARGS__)
#define expected(f, want, ...) expect(f, __FILE__, __LINE__, want, __VA_ARGS__)

/* On @url, with the clock @now, which must stay; @also (may be NULL): options besides. */
struct usher_engine *suite_open(const char *url, const int64_t *now,
                                const struct usher_options *also);

/* Close *@e and set it to NULL, so that the teardown of a test that fails does not close it. */
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
 * so is ''.  With @noun 0 the noun comes first.  Unlike on the command line nothing is checked, but
 * that verb and keys are there.  To verbs with fields, keys that are no arguments are fields.
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
 * @n commands, as @line with %u for 1 to @n, executed together on the engine and its twin, where
 * more is due than one command applies.  Each is answered with @want.  The store itself first
 * answers 64 of them; it applies @portion changes, and those that it executed by then get at most
 * @done more.
 */
void in_portions(struct fixture *f, const char *line, unsigned n, enum usher_status want,
                 unsigned portion, unsigned done);

/* Execute the line here and there by the store itself, as store_answers(). */
void execute_at_store(struct fixture *f, const char *line);

#endif
