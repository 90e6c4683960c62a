/* SPDX-License-Identifier: MIT */
/* The tables of all machines are total and sound. */
#include "lib/test.h"

#include "core/machine.h"

/* The printed rows of a table are exactly those that are looked up. */
TEST(printed_rows_are_those_that_are_looked_up)
{
    for (size_t i = 0; usher__machines[i] != NULL; i++) {
        const struct usher__machine *m = usher__machines[i];
        unsigned n = 0;

        for (unsigned k = 0; k < m->n_states * m->n_events * m->n_guards; k++)
            n += m->moves[k].row;
        assert_int_equal(n, m->n_rows);
        for (unsigned k = 0; k < m->n_rows; k++) {
            const struct usher__machine_row *row = &m->rows[k];
            struct usher__move move = usher__machine_move(m, row->from, row->event, row->guard);

            assert_true(move.row);
            assert_int_equal(move.to, row->to);
            assert_int_equal(move.status, row->status);
            assert_true(move.to < m->n_states);
            assert_non_null(row->why);
        }
    }
}

/* A row for a guard that says what the one for ANY says stands for nothing. */
TEST(a_guard_makes_a_difference)
{
    for (size_t i = 0; usher__machines[i] != NULL; i++) {
        const struct usher__machine *m = usher__machines[i];

        for (unsigned k = 0; k < m->n_rows; k++) {
            const struct usher__machine_row *row = &m->rows[k];
            struct usher__move any = usher__machine_move(m, row->from, row->event, USHER__ANY);

            if (row->guard != USHER__ANY && any.row && any.to == row->to &&
                any.status == row->status)
                fail_msg("%s: %s, %s, %s", m->word, m->state_words[row->from],
                         m->event_words[row->event], m->guard_words[row->guard]);
        }
    }
}

TEST(every_event_has_a_row)
{
    for (size_t i = 0; usher__machines[i] != NULL; i++) {
        const struct usher__machine *m = usher__machines[i];

        for (unsigned e = 0; e < m->n_events; e++) {
            bool there = false;

            for (unsigned k = 0; k < m->n_rows; k++)
                there = there || m->rows[k].event == e;
            if (!there)
                fail_msg("%s: nothing ever happens by %s", m->word, m->event_words[e]);
        }
    }
}

TEST(only_rows_with_status_ok_change_the_state)
{
    for (size_t i = 0; usher__machines[i] != NULL; i++)
        for (unsigned k = 0; k < usher__machines[i]->n_rows; k++) {
            const struct usher__machine_row *row = &usher__machines[i]->rows[k];

            if (row->status != USHER_OK)
                assert_int_equal(row->from, row->to);
        }
}

TEST(every_state_can_be_reached_from_the_first)
{
    for (size_t i = 0; usher__machines[i] != NULL; i++) {
        const struct usher__machine *m = usher__machines[i];
        bool reached[256] = { true };

        for (unsigned pass = 0; pass < m->n_states; pass++)
            for (unsigned k = 0; k < m->n_rows; k++)
                if (reached[m->rows[k].from])
                    reached[m->rows[k].to] = true;
        for (unsigned s = 0; s < m->n_states; s++)
            if (!reached[s])
                fail_msg("%s: %s cannot be reached", m->word, m->state_words[s]);
    }
}
