/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "change/print.h"

#include <stdarg.h>
#include <stdio.h>

void usher__print(struct usher__out *o, const char *format, ...)
{
    size_t used = o->length < o->size ? o->length : o->size;
    va_list ap;
    int n;

    va_start(ap, format);
    n = vsnprintf(o->size > used ? o->to + used : NULL, o->size - used, format, ap);
    va_end(ap);
    if (n > 0)
        o->length += (size_t)n;
}

void usher__print_name(struct usher__out *o, const char *before, const char *word)
{
    usher__print(o, "local %s", before);
    for (; *word != '\0'; word++)
        usher__print(o, "%c",
                     *word == '+' || *word == '-'   ? '_'
                     : *word >= 'a' && *word <= 'z' ? *word - 32
                                                    : *word);
}

void usher__print_int(struct usher__out *o, const char *before, const char *word, long long value)
{
    usher__print_name(o, before, word);
    usher__print(o, " = %lld\n", value);
}
