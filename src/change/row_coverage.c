/* SPDX-License-Identifier: MIT */
/*
 * For `make rows` (configure --enable-rows), and in no other build: when a process uses a row for
 * the first time, it writes it as a line to the file that USHER_ROWS names.
 */
#include "config.h"

#include "work.h"

#ifdef USHER_ROWS

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static unsigned number_of(const struct usher__machine *m)
{
    unsigned i = 0;

    while (usher__machines[i] != m)
        i++;
    return i;
}

void usher__row_taken(const struct usher__machine *m, unsigned from, unsigned event, unsigned guard)
{
    static _Atomic unsigned char taken[16][1024];
    unsigned k = (from * m->n_events + event) * m->n_guards;
    const char *path = getenv("USHER_ROWS");
    int before = errno, fd;

    if (!m->moves[k + guard].row)
        guard = USHER__ANY;
    if (path == NULL || atomic_exchange(&taken[number_of(m)][k + guard], 1) != 0)
        return;
    fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (fd >= 0) {
        (void)dprintf(fd, "%s: %s, %s, %s\n", m->word, m->state_words[from], m->event_words[event],
                      m->guard_words[guard]);
        (void)close(fd);
    }
    errno = before;
}

#endif
