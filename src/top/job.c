/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "top/job.h"

#include <stdlib.h>
#include <string.h>

#include "cli/parse.h"
#include "cli/remote.h"
#include "cli/run.h"

struct job *usher__job_new(unsigned id, bool acts)
{
    struct job *j = usher__cli_resize(NULL, sizeof *j);

    memset(j, 0, sizeof *j);
    j->id = id;
    j->acts = acts;
    return j;
}

void usher__job_word(struct job *j, const char *format, ...)
{
    va_list ap;

    if (j->n == JOB_WORDS)
        return;
    va_start(ap, format);
    (void)vsnprintf(j->word[j->n++], JOB_WORD_MAX, format, ap);
    va_end(ap);
}

void usher__job_run(struct job *j, struct cli *cli)
{
    struct usher_operation command;
    unsigned char *block = NULL;
    char *words[JOB_WORDS];

    for (size_t i = 0; i < j->n; i++)
        words[i] = j->word[i];
    if (usher__remote_is(cli->store) && usher__cli_connect(cli, j->message) != USHER_OK)
        return;
    if (usher__parse_command(words, j->n, &command, &block, j->message))
        usher__run_execute(cli, &command, &j->reply, 1);
    free(block);
}

void usher__job_free(struct job *j)
{
    if (j == NULL)
        return;
    usher_reply_done(j->reply);
    (void)usher__cli_resize(j, 0);
}

void usher__jobs_put(struct job_list *l, struct job *j)
{
    j->next = NULL;
    if (l->last != NULL)
        l->last->next = j;
    else
        l->first = j;
    l->last = j;
}

struct job *usher__jobs_take(struct job_list *l)
{
    struct job *j = l->first;

    if (j != NULL && (l->first = j->next) == NULL)
        l->last = NULL;
    return j;
}
