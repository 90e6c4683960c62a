/* SPDX-License-Identifier: MIT */
/*
 * Commands that need a grant of an authority.
 *
 * A store gives out nothing without a grant: a command that needs more gets an answer that
 * usher__needs_grant.needs() recognises, and has given out nothing.  The engine raises the
 * authority, installs the grant in the store, and sends the command again.  A scope that the store
 * has lost as a whole is made again from its entry in the authority.
 */
#ifndef USHER_ENGINE_GRANT_H
#define USHER_ENGINE_GRANT_H

#include <usher/store/authority.h>

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

/* The functions of a noun whose commands need grants. */
struct usher__needs_grant {
    /* Return whether a command with @verb has to be executed by execute(). */
    bool (*concerns)(enum usher_verb verb);
    /* Execute a->command, whose scope has a valid name. */
    void (*execute)(struct usher__ask *a, struct usher_result *reply);
    /* Return whether a scope can be recreated from its record in an authority. */
    bool (*form_reads)(const char *data, size_t size);
    /* May be NULL.  Return whether @notice is a reservation that has expired, as an event for the
     * journal; its name is that of the scope. */
    bool (*expired)(const struct usher_notice *notice, struct usher_authority_event *ret_event);
    bool (*needs)(const struct usher_result *reply);
    /* The store has no such scope: recreate it if the authority has it, else return MISSING. */
    enum usher_status (*restore)(struct usher__ask *a);
    /* Raise the maximum so that @c, which was answered with @reply, can be done, and install the
     * grant.  FULL: nothing is left, and that is the answer, because there is nothing to
     * install. */
    enum usher_status (*raise)(struct usher__ask *a, const struct usher_operation *c,
                               struct usher_result *reply);
    /* Compare the store with the authority, and bring both up to date. */
    enum usher_status (*verify)(struct usher__ask *a);
    /* The authority is away: do the part of @c, which was answered with @reply, for which earlier
     * grants suffice.  Return true if @reply is the answer.  May be NULL. */
    bool (*less)(struct usher__ask *a, const struct usher_operation *c, struct usher_result *reply);
};

/* The state of an engine for its grants; NULL: no memory.  @forked: in a child, which has no
 * waiting threads of the parent. */
struct usher__asked *usher__asked_open(const struct usher_allocator *alloc);
void usher__asked_close(struct usher__asked *asked, const struct usher_allocator *alloc,
                        bool forked);

/* Note that a reservation expired, if @notice is about that: it is written into the journal after
 * the command that applied it.  Any thread. */
void usher__asked_expired(struct usher__asked *asked, const struct usher_allocator *alloc,
                          const struct usher_notice *notice);
/* Write the noted ones into the journal; after the deadline a later command does it. */
void usher__asked_journal(struct usher_engine *e, int64_t deadline_ms);

/* Return whether an engine with an authority has to execute @command by usher__grant_execute(). */
bool usher__needs_grant(const struct usher_operation *command);
void usher__grant_execute(struct usher_engine *e, const struct usher_operation *command,
                          struct usher_result *reply, int64_t deadline_ms);

/* ---- for the nouns ------------------------------------------------------------------ */

/* The name of a scope at the authority, without a NUL; its size.  A serial rule has a maximum
 * for each of its @period; 0: that of the scope itself. */
size_t usher__authority_name(char to[USHER_AUTHORITY_NAME_MAX + 1], const struct usher_text *scope,
                             int64_t period);
struct usher_text usher__grant_name(struct usher__ask *a, int64_t period);

/* A command on the same scope at the same time. */
struct usher_operation usher__grant_another(const struct usher__ask *a, enum usher_verb verb);

/* Execute one command on the store. */
void usher__grant_run(struct usher__ask *a, const struct usher_operation *c,
                      struct usher_result *reply);

/* Answer that the authority failed, and nothing was issued.  @reply is initialised. */
void usher__grant_fail(const struct usher__ask *a, enum usher_status status,
                       struct usher_result *reply);

/* Check that the authority answers; an unknown name is no failure. */
enum usher_status usher__grant_reachable(struct usher__ask *a);

/* Store @data with the scope in the authority; its maximum is @floor at least. */
enum usher_status usher__grant_keep(struct usher__ask *a, int64_t floor,
                                    const struct usher_text *data);

/* Its maximum for @period of the scope is @floor at least. */
enum usher_status usher__grant_raise_to(struct usher__ask *a, int64_t period, int64_t floor);

/* The authority could not be updated: verify it again later. */
void usher__grant_forget(struct usher__ask *a);

/* Call asks->verify() at the first command of this engine on the scope, or if @again. */
enum usher_status usher__grant_verify(struct usher__ask *a, const struct usher__needs_grant *asks,
                                      bool again);

/*
 * Run @c, with as many grants as it needs.  If many threads need more of one scope, one gets a
 * grant at a time, and the threads that waited for it try again: that only saves work, because the
 * store compares each grant.  If the authority fails, one of them tries again after a pause, up to
 * the deadline of each.
 */
void usher__grant_until_done(struct usher__ask *a, const struct usher__needs_grant *asks,
                             const struct usher_operation *c, struct usher_result *reply);

/* Log @a->why for the application. */
void usher__grant_log(const struct usher__ask *a, enum usher_log_level level, const char *what);

#endif
