/* SPDX-License-Identifier: MIT */
/* Functions that all parts of the program use: memory, exit codes, failures. */
#include "config.h"

#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/answer.h"
#include "cli/json.h"

void *usher__cli_resize(void *p, size_t size)
{
    void *more;

    if (size == 0) {
        free(p);
        return NULL;
    }
    more = realloc(p, size);
    if (more == NULL) {
        fputs("usher: nomem: out of memory\n", stderr);
        exit(usher__cli_exit_code(USHER_NOMEM));
    }
    return more;
}

int usher__cli_exit_code(enum usher_status status)
{
    return (int)USHER_CLASS_OF(status);
}

int usher__cli_fail(const struct cli *cli, enum usher_status status, const char *format, ...)
{
    char message[CLI_MESSAGE_MAX];
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(message, sizeof message, format, ap);
    va_end(ap);
    if (cli->json) {
        struct json j = { stdout, false };

        putchar('{');
        usher__json_text(&j, "status", usher_status_word(status));
        usher__json_text(&j, "message", message);
        puts("}");
    } else {
        fprintf(stderr, "usher: %s: ", usher_status_word(status));
        usher__plain_text(stderr, message, strlen(message));
        putc('\n', stderr);
    }
    return usher__cli_exit_code(status);
}

void usher__cli_log(const char *format, va_list ap)
{
    struct timespec t;
    char text[CLI_TIME_MAX];

    (void)clock_gettime(CLOCK_REALTIME, &t);
    (void)usher__time_text(text, (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000);
    flockfile(stderr); /* threads write whole lines */
    fprintf(stderr, "%s usher: ", text);
    (void)vfprintf(stderr, format, ap);
    putc('\n', stderr);
    funlockfile(stderr);
}
