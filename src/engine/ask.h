/* SPDX-License-Identifier: MIT */
/*
 * Commands that need a grant of an authority.
 *
 * A store gives out nothing without a grant: a command that needs more gets an answer that
 * usher__asks.needs() recognises, and has given out nothing.  The engine raises the authority,
 * installs the grant in the store, and sends the command again.  A scope that the store has lost as
 * a whole is made again from its entry in the authority.
 */
#ifndef USHER_ENGINE_ASK_H
#define USHER_ENGINE_ASK_H

#include <usher/authority.h>

#include "engine/engine.h"

/* One command under way. */
struct usher__ask {
    struct usher_engine *e;
    const struct usher_operation *command;
    enum usher_noun noun;
    int64_t deadline_ms;
    char name[USHER_AUTHORITY_NAME_MAX + 1]; /* at the authority */
    char why[192];
};

/* The functions of a noun. */
struct usher__asks {
    bool (*needs)(const struct usher_result *reply);
    /* The store has no such scope: make it again, if the authority keeps it.  MISSING. */
    enum usher_status (*restore)(struct usher__ask *a);
    /* Raise the maximum so that @c, which was answered with @reply, can be done, and install the
     * grant.  FULL: nothing is left, and that is the answer, because there is nothing to install.
     */
    enum usher_status (*raise)(struct usher__ask *a, const struct usher_operation *c,
                               struct usher_result *reply);
    /* Compare the store with the authority, and bring both up to date. */
    enum usher_status (*verify)(struct usher__ask *a);
    /* The authority is away: do what can be done of @c, which was answered with @reply, with what
     * it has granted before.  True: @reply is the answer.  May be NULL. */
    bool (*less)(struct usher__ask *a, const struct usher_operation *c, struct usher_result *reply);
};

/* The state of an engine for its grants; NULL: no memory.  @forked: in a child, where threads of
 * the parent that waited are not. */
struct usher__asked *usher__asked_open(const struct usher_allocator *alloc);
void usher__asked_close(struct usher__asked *asked, const struct usher_allocator *alloc,
                        bool forked);

/* @notice is of a reservation that has ended by itself: for the journal, when the command that
 * met it is done.  Threads: any. */
void usher__asked_expired(struct usher__asked *asked, const struct usher_allocator *alloc,
                          const struct usher_notice *notice);
/* Write those into the journal.  After the deadline they are left to a later command. */
void usher__asked_journal(struct usher_engine *e, int64_t deadline_ms);

/* Is it a command that an engine with an authority has to execute by usher__ask_execute()? */
bool usher__asks(const struct usher_operation *command);
void usher__ask_execute(struct usher_engine *e, const struct usher_operation *command,
                        struct usher_result *reply, int64_t deadline_ms);

/* ---- for the nouns ------------------------------------------------------------------ */

bool usher__serial_asks(enum usher_verb verb);
void usher__serial_execute(struct usher__ask *a, struct usher_result *reply);
bool usher__id_asks(enum usher_verb verb);
void usher__id_execute(struct usher__ask *a, struct usher_result *reply);

/* Can a rule, a dispenser be made again from what an authority keeps of it? */
bool usher__serial_form_reads(const char *data, size_t size);
bool usher__id_form_reads(const char *data, size_t size);

/* The name of a scope at the authority, without a NUL; its size.  A serial rule has a maximum
 * for each of its @period; 0: that of the scope itself. */
size_t usher__authority_name(char to[USHER_AUTHORITY_NAME_MAX + 1], const struct usher_text *scope,
                             int64_t period);
struct usher_text usher__ask_name(struct usher__ask *a, int64_t period);

/* A command on the same scope at the same time. */
struct usher_operation usher__ask_another(const struct usher__ask *a, enum usher_verb verb);

/* One command to the store. */
void usher__ask_run(struct usher__ask *a, const struct usher_operation *c,
                    struct usher_result *reply);

/* The answer: the authority failed, and nothing was given out.  @reply is initialised. */
void usher__ask_fail(const struct usher__ask *a, enum usher_status status,
                     struct usher_result *reply);

/* Is the authority there?  A name that it does not know is fine. */
enum usher_status usher__ask_reachable(struct usher__ask *a);

/* Have the authority keep @data with the scope; its maximum is @floor at least. */
enum usher_status usher__ask_keep(struct usher__ask *a, int64_t floor,
                                  const struct usher_text *data);

/* Its maximum for @period of the scope is @floor at least. */
enum usher_status usher__ask_raise_to(struct usher__ask *a, int64_t period, int64_t floor);

/* The authority could not be updated: verify it again later. */
void usher__ask_forget(struct usher__ask *a);

/* asks->verify(), the first time that this engine meets the scope, or @again. */
enum usher_status usher__ask_verify(struct usher__ask *a, const struct usher__asks *asks,
                                    bool again);

/*
 * Run @c, with as many grants as it needs.  If many threads need more of one scope, one gets a
 * grant at a time, and the threads that waited for it try again: that only saves work, because the
 * store compares each grant.  If the authority fails, one of them tries again after a pause, up to
 * the deadline of each.
 */
void usher__ask_until_done(struct usher__ask *a, const struct usher__asks *asks,
                           const struct usher_operation *c, struct usher_result *reply);

/* A line for the application's log: what @a->why says. */
void usher__ask_log(const struct usher__ask *a, enum usher_log_level level, const char *what);

#endif
