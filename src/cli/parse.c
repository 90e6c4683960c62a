/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "cli/parse.h"

#include <stdlib.h>
#include <string.h>

const char *usher__words_split(struct words *w, const char *line, size_t size)
{
    size_t n = usher__words_count(line, size);

    if (w->room < n) {
        /* an array of pointers: the words do not move when it grows */
        /* NOLINTNEXTLINE(bugprone-sizeof-expression) */
        char **more = realloc(w->word, n * sizeof *more);

        if (more == NULL)
            return "is too long for the available memory";
        w->word = more;
        w->room = n;
    }
    if (w->size < USHER__WORDS_BYTES(size)) {
        char *bytes = realloc(w->bytes, USHER__WORDS_BYTES(size));

        if (bytes == NULL)
            return "is too long for the available memory";
        w->bytes = bytes;
        w->size = USHER__WORDS_BYTES(size);
    }
    return usher__words_cut(w, line, size);
}

void usher__words_done(struct words *w)
{
    free(w->word);
    free(w->bytes);
    memset(w, 0, sizeof *w);
}

/* Try the commands of the program that are not commands of a store. */
static void also(struct closest *closest, const char *noun)
{
    if (noun == NULL)
        for (const struct cli_program *p = usher__cli_programs; p->word != NULL; p++)
            usher__closest_try(closest, p->word);
    else
        for (const struct cli_verb *v = usher__cli_verbs; v->word != NULL; v++)
            if (strcmp(v->noun, noun) == 0)
                usher__closest_try(closest, v->word);
}

static bool parse(struct parse *p, struct usher_operation *ret_command, unsigned char **ret_block,
                  char message[CLI_MESSAGE_MAX])
{
    size_t size;

    *ret_block = NULL;
    p->also = also;
    if (!usher__parse(p, ret_command, message))
        return false;
    size = usher__parse_fields_size(p);
    if (size > 0 && (*ret_block = malloc(size)) == NULL) {
        (void)snprintf(message, CLI_MESSAGE_MAX, "out of memory");
        return false;
    }
    return usher__parse_fields(p, ret_command, *ret_block, message);
}

bool usher__parse_command(char *const *words, size_t n, struct usher_operation *ret_command,
                          unsigned char **ret_block, char message[CLI_MESSAGE_MAX])
{
    struct parse p = { .word = words, .n = n };

    return parse(&p, ret_command, ret_block, message);
}

bool usher__parse_words(const struct words *w, struct usher_operation *ret_command,
                        unsigned char **ret_block, char message[CLI_MESSAGE_MAX])
{
    struct parse p = { .word = w->word, .n = w->n, .end = w->nul ? w->end : NULL };

    return parse(&p, ret_command, ret_block, message);
}
