/* SPDX-License-Identifier: MIT */
/* See expect.h. */
#include "lib/test.h"

#include "lib/expect.h"

#include "lib/command_line.h"

struct usher_result expect_at(const char *file, int at, struct usher_engine *e, int want,
                              const char *format, ...)
{
    struct usher_result r;
    enum usher_status status;
    char text[1024];
    struct line l;
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    line_read(&l, text);
    status = usher_operate(e, &l.c, &r, 1);
    line_done(&l);
    if (status != USHER_OK && status != r.status) {
        print_error("%s: operate returns %s\n", text, usher_status_word(status));
        _fail(file, at);
    }
    if (want == EXPECT_DONE ? !USHER_IS_DONE(r.status) : want >= 0 && (int)r.status != want) {
        print_error("%s: %s instead of %s (%s)\n", text, usher_status_word(r.status),
                    want == EXPECT_DONE ? "done" : usher_status_word((enum usher_status)want),
                    r.message);
        _fail(file, at);
    }
    usher_result_done(&r);
    return r;
}
