/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "cli/answer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <usher/command.h>

#include "core/verbs.h"

bool usher__answer_failed(enum usher_status status)
{
    return USHER_CLASS_OF(status) >= USHER_CLASS_WRONG;
}

bool usher__answer_there(const struct usher_reply *reply)
{
    return !usher__answer_failed(reply->status) ||
           usher_reply_int(reply, USHER_ANSWER, USHER_FIELD_PARTIAL) == 1;
}

void usher__answer_begin(struct json *j, enum usher_status status, uint64_t epoch, uint64_t version,
                         int64_t due_ms, int64_t now_ms)
{
    usher__json_open(j, NULL);
    usher__json_text(j, "status", usher_status_word(status));
    usher__json_key(j, "epoch");
    fprintf(j->out, "\"%016" PRIx64 "\"", epoch);
    usher__json_uint(j, "version", version);
    usher__json_key(j, "due");
    if (due_ms != USHER_NEVER)
        fprintf(j->out, "%" PRId64 ",\"now\":%" PRId64, due_ms, now_ms);
    else
        fputs("null", j->out);
}

static size_t write_reply(const void *reply, char *to, size_t size)
{
    return usher_reply_write(reply, USHER_FORM_JSON, to, size);
}

static size_t write_notice(const void *notice, char *to, size_t size)
{
    return usher_notice_write(notice, USHER_FORM_JSON, to, size);
}

static void print(FILE *out, size_t write(const void *of, char *to, size_t size), const void *of)
{
    char few[2048], *text = few;
    size_t n = of != NULL ? write(of, few, sizeof few) : 0;

    if (n >= sizeof few) {
        text = malloc(n + 1);
        if (text != NULL)
            (void)write(of, text, n + 1);
    }
    if (of == NULL || text == NULL) {
        fputs("usher: nomem: out of memory\n", stderr);
        exit((int)USHER_CLASS_OF(USHER_NOMEM));
    }
    fwrite(text, 1, n, out);
    putc('\n', out);
    if (text != few)
        free(text);
}

void usher__answer_json(FILE *out, const struct usher_operation *command,
                        const struct usher_result *reply)
{
    struct usher_reply *told = usher_reply_of(command, reply);

    print(out, write_reply, told);
    usher_reply_done(told);
}

void usher__answer_reply(FILE *out, const struct usher_reply *reply)
{
    print(out, write_reply, reply);
}

void usher__answer_notice(FILE *out, const struct usher_notice *notice)
{
    print(out, write_notice, notice);
}
