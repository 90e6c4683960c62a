/* SPDX-License-Identifier: MIT */
/*
 * A state machine as a table.  A noun's .def file has rows
 *
 *   S(name, code, word, text)              a state; codes are stored and never reused
 *   E(name, code, word, text)              an event
 *   T(from, event, to, status, why)        what the event does in that state
 *
 * and ends with #undef of the three.  Every (state, event) has exactly one row: a second one
 * does not compile, a missing one fails tests/unit/test_machines.c.  The order of rows means
 * nothing.  What an event means and who may send it is decided before: facts in, event out.
 */
#ifndef USHER_CORE_MACHINE_H
#define USHER_CORE_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include <usher/operation.h>

struct usher__move {
    uint8_t to;     /* a state */
    uint8_t status; /* enum usher_status */
    bool row;       /* false: the table has no such row (never; the tests see to it) */
};

struct usher__machine_row {
    uint8_t from, event, to, status;
    const char *why;
};

struct usher__machine {
    const char *word; /* "agent" */
    enum usher_noun noun;
    unsigned n_states, n_events, n_rows;
    const char *const *state_words, *const *state_texts; /* by code; the former up to NULL */
    const char *const *event_words, *const *event_texts;
    const struct usher__machine_row *rows;
    const struct usher__move *moves; /* [state * n_events + event] */
};

/* What @event does in state @from.  Total for valid arguments. */
static inline struct usher__move usher__machine_move(const struct usher__machine *m, unsigned from,
                                                     unsigned event)
{
    USHER_ASSERT(from < m->n_states && event < m->n_events);
    USHER_ASSERT(m->moves[from * m->n_events + event].row);
    return m->moves[from * m->n_events + event];
}

/* All there are, up to NULL. */
extern const struct usher__machine *const usher__machines[];

#endif
