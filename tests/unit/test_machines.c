/* SPDX-License-Identifier: MIT */
/* The tables of all machines are total and sound. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/machine.h"

static void every_state_has_a_row_for_every_event(void **state)
{
    (void)state;
    for (size_t i = 0; usher__machines[i] != NULL; i++) {
        const struct usher__machine *m = usher__machines[i];

        assert_int_equal(m->n_rows, m->n_states * m->n_events);
        for (unsigned k = 0; k < m->n_states * m->n_events; k++) {
            if (!m->moves[k].row)
                fail_msg("%s: %s, %s: there is no row", m->word, m->state_words[k / m->n_events],
                         m->event_words[k % m->n_events]);
            assert_true(m->moves[k].to < m->n_states);
        }
    }
}

static void only_rows_that_are_ok_lead_elsewhere(void **state)
{
    (void)state;
    for (size_t i = 0; usher__machines[i] != NULL; i++)
        for (unsigned k = 0; k < usher__machines[i]->n_rows; k++) {
            const struct usher__machine_row *row = &usher__machines[i]->rows[k];

            if (row->status != USHER_OK)
                assert_int_equal(row->from, row->to);
        }
}

static void every_state_can_be_reached_from_the_first(void **state)
{
    (void)state;
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

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_state_has_a_row_for_every_event),
        cmocka_unit_test(only_rows_that_are_ok_lead_elsewhere),
        cmocka_unit_test(every_state_can_be_reached_from_the_first),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
