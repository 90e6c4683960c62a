/* SPDX-License-Identifier: MIT */
/*
 * A state machine as a table.  A .def file has rows
 *
 *   S(name, code, word, lists, text)         a state; codes are stored and never reused
 *   E(name, code, word, text)                an event
 *   G(name, code, word, text)                a guard: a condition when the event comes; from 1
 *   T(from, event, guard, to, status, why)   what the event does in that state
 *
 * and ends with #undef of the four.  A row for a guard goes before the row for ANY.  A pair without
 * a row cannot occur: a caller that looks it up has a bug (usher__work_move()).  A second row for
 * the same pair does not compile, and `make rows` finds a row that no test takes.  The order of
 * rows has no effect.  The caller decides before which event comes and which guard holds: facts in,
 * a row out.
 *
 * A state names the lists (store.h: slots) that a record is in while it has this state.
 */
#ifndef USHER_CORE_MACHINE_H
#define USHER_CORE_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include <usher/store/operation.h>

/* The guard of a row without one, and of a caller that has none of the facts. */
#define USHER__ANY 0

struct usher__move {
    uint8_t to;     /* a state */
    uint8_t status; /* enum usher_status */
    bool row;       /* false: there is no such row */
};

struct usher__machine_row {
    uint8_t from, event, guard, to, status;
    const char *why;
};

/* A record with a deadline is in list 1, whatever its state names: in order of deadlines. */
#define USHER__LIST_READY 1u
#define USHER__LIST_DUE 2u
#define USHER__LIST_HELD 4u

/* Lists that a state may name: without, and with a deadline. */
#define USHER__LISTS_NONE 0u, USHER__LIST_DUE
#define USHER__LISTS_READY USHER__LIST_READY, USHER__LIST_READY | USHER__LIST_DUE
#define USHER__LISTS_HELD USHER__LIST_HELD, USHER__LIST_HELD | USHER__LIST_DUE
#define USHER__LISTS_BOTH \
    USHER__LIST_READY | USHER__LIST_HELD, USHER__LIST_READY | USHER__LIST_HELD | USHER__LIST_DUE
/* A deadline is the end of a rest: ready after it. */
#define USHER__LISTS_RESTED USHER__LIST_READY, USHER__LIST_DUE

struct usher__machine {
    const char *word; /* "agent" */
    enum usher_noun noun;
    unsigned n_states, n_events, n_guards, n_rows;       /* guards: with ANY */
    const char *const *state_words, *const *state_texts; /* by code; the former up to NULL */
    const char *const *event_words, *const *event_texts;
    const char *const *guard_words, *const *guard_texts;
    const struct usher__machine_row *rows;
    const struct usher__move *moves; /* [(state * n_events + event) * n_guards + guard] */
    const uint8_t (*lists)[2];       /* [state][has a deadline] */
};

/* Return the row of @event in state @from if @guard holds. */
static inline struct usher__move usher__machine_move(const struct usher__machine *m, unsigned from,
                                                     unsigned event, unsigned guard)
{
    const struct usher__move *move = &m->moves[((size_t)from * m->n_events + event) * m->n_guards];

    USHER_ASSERT(from < m->n_states && event < m->n_events && guard < m->n_guards);
    return move[guard].row ? move[guard] : move[USHER__ANY];
}

/* The lists of a record of @m in @state that has the deadline @until_ms (0: none). */
static inline uint8_t usher__machine_lists(const struct usher__machine *m, unsigned state,
                                           int64_t until_ms)
{
    USHER_ASSERT(state < m->n_states);
    return m->lists[state][until_ms != 0];
}

/* All there are, up to NULL. */
extern const struct usher__machine *const usher__machines[];

#endif
