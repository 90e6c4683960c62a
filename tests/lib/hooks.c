/* SPDX-License-Identifier: MIT */
/* See hooks.h. */
#include "config.h"

#include "lib/hooks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/verbs.h"

/* Before each block: how long it is. */
struct head {
    size_t size;
    size_t mark;
};
#define MARK ((size_t)0x5eed5eed)

static void *resize(void *payload, void *p, size_t old, size_t size)
{
    struct hooks *h = payload;
    struct head *head = p != NULL ? (struct head *)p - 1 : NULL;
    unsigned long n = atomic_fetch_add(&h->calls, 1);

    if (head != NULL && (head->mark != MARK || head->size != old)) {
        (void)fprintf(stderr, "a block of %zu bytes is said to have %zu\n", head->size, old);
        abort();
    }
    if (size == 0) {
        if (head != NULL) {
            atomic_fetch_sub(&h->blocks, 1);
            atomic_fetch_sub(&h->bytes, old);
            head->mark = 0;
            memset(p, 0xdd, old);
            free(head);
        }
        return NULL;
    }
    if (h->fail_every != 0 && n * 2654435761u % 1000003 % h->fail_every == 0) {
        atomic_fetch_add(&h->failed, 1);
        return NULL;
    }
    /* always moved: who keeps the old address is found out */
    {
        struct head *to = malloc(sizeof *to + size);

        if (to == NULL)
            abort();
        to->size = size;
        to->mark = MARK;
        memset(to + 1, 0xa5, size);
        if (head != NULL) {
            memcpy(to + 1, p, old < size ? old : size);
            memset(p, 0xdd, old);
            head->mark = 0;
            free(head);
            atomic_fetch_sub(&h->bytes, old);
        } else {
            atomic_fetch_add(&h->blocks, 1);
        }
        atomic_fetch_add(&h->bytes, size);
        return to + 1;
    }
}

static unsigned long read_bytes(const void *data, size_t size)
{
    const unsigned char *at = data;
    unsigned long sum = size;

    for (size_t i = 0; i < size; i++)
        sum = sum * 31 + at[i];
    return sum;
}

static unsigned long read_text(const struct usher_text *t)
{
    return t->data != NULL ? read_bytes(t->data, t->size) : 0;
}

unsigned long hooks_read_notice(const struct usher_notice *n)
{
    return read_text(&n->scope) + read_text(&n->subject) + read_text(&n->owner) +
           read_text(&n->data) + (unsigned long)n->version + (unsigned long)n->epoch +
           (unsigned long)n->now_ms + (unsigned long)n->token + (unsigned long)n->until_ms +
           (unsigned long)n->noun + (unsigned long)n->verb + n->from + n->to;
}

unsigned long hooks_read_command(const struct usher_operation *c)
{
    const struct usher__noun *noun = usher__noun((unsigned)c->verb >> 8);
    unsigned long sum = read_text(&c->scope) + read_text(&c->request) + c->given;

    for (unsigned i = 0; noun != NULL && i < noun->n_args; i++) {
        struct usher_text t;

        if (noun->args[i].given != 0)
            continue; /* a number, which is shorter */
        memcpy(&t, (const char *)c + noun->args[i].offset, sizeof t);
        sum += read_text(&t);
    }
    return sum;
}

static unsigned long read_field(const struct usher__field *f, const char *at)
{
    struct usher_text t;
    size_t size;
    int64_t n;

    at += f->offset;
    switch (f->type) {
    case USHER__FIELD_TEXT:
    case USHER__FIELD_VALUE:
        memcpy(&t, at, sizeof t);
        return read_text(&t);
    case USHER__FIELD_NAME:
        memcpy(&size, at, sizeof size);
        return read_bytes(at + sizeof size, size + 1);
    case USHER__FIELD_BOOL:
    case USHER__FIELD_CODE:
        return *(const unsigned char *)at;
    default:
        memcpy(&n, at, sizeof n);
        return (unsigned long)n;
    }
}

unsigned long hooks_read_reply(const struct usher_operation *c, const struct usher_result *r)
{
    const struct usher__noun *noun = usher__noun((unsigned)c->verb >> 8);
    unsigned long sum = read_bytes(r->message, strlen(r->message) + 1) + (unsigned long)r->epoch;
    const char *rows;
    size_t n;

    if (noun == NULL)
        return sum;
    for (unsigned i = 0; i < noun->n_outs; i++)
        sum += read_field(&noun->outs[i], (const char *)r);
    for (unsigned i = 0; i < noun->n_extras; i++)
        if (noun->extras[i].verb == (unsigned)c->verb)
            sum += read_field(&noun->extras[i], (const char *)r);
    memcpy(&n, (const char *)r + noun->n_rows_at, sizeof n);
    memcpy(&rows, (const char *)r + noun->rows_at, sizeof rows);
    for (size_t i = 0; i < n; i++)
        for (unsigned k = 0; k < noun->n_row; k++)
            sum += read_field(&noun->row[k], rows + i * noun->row_size);
    return sum;
}

static void trace(void *payload, const struct usher_operation *c, const struct usher_result *r)
{
    struct hooks *h = payload;

    atomic_fetch_add(&h->traced, 1);
    h->read += hooks_read_command(c) + hooks_read_reply(c, r);
}

static void log_line(void *payload, enum usher_log_level level, const char *line)
{
    struct hooks *h = payload;

    atomic_fetch_add(&h->logged, 1);
    h->read += read_bytes(line, strlen(line)) + (unsigned long)level;
}

void hooks_alloc(struct hooks *h, struct usher_options *opt)
{
    h->alloc.resize = resize;
    h->alloc.payload = h;
    opt->alloc = &h->alloc;
}

void hooks_trace(struct hooks *h, struct usher_options *opt)
{
    opt->trace = trace;
    opt->payload = h;
}

void hooks_log(struct hooks *h, struct usher_options *opt)
{
    opt->log = log_line;
    opt->payload = h;
}

void hooks_set(struct hooks *h, struct usher_options *opt)
{
    hooks_alloc(h, opt);
    hooks_trace(h, opt);
    hooks_log(h, opt);
}

const char *hooks_fault(const struct hooks *h)
{
    if (atomic_load(&h->blocks) != 0)
        return "blocks were not given back";
    return atomic_load(&h->bytes) != 0 ? "bytes were not given back" : NULL;
}
