/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "request_cache.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/wide.h"
#include "core/text.h"
#include "work.h"

/* The maximum size of a row: a larger one is invalid. */
#define ROW_MAX 1024

/* The size of a name, followed by its bytes, as in replies. */
struct name {
    size_t size;
    char text[];
};

static void field_pack(struct usher__packer *p, const struct usher__field *f, const void *base)
{
    const char *at = (const char *)base + f->offset;
    int64_t i;
    uint64_t u;
    int code;

    switch (f->type) {
    case USHER__FIELD_INT:
        memcpy(&i, at, sizeof i);
        usher__pack_int(p, i);
        break;
    case USHER__FIELD_UINT:
        memcpy(&u, at, sizeof u);
        usher__pack_uint(p, u);
        break;
    case USHER__FIELD_CODE:
        memcpy(&code, at, sizeof code);
        usher__pack_int(p, code);
        break;
    case USHER__FIELD_BOOL:
        usher__pack_uint(p, *(const bool *)at);
        break;
    case USHER__FIELD_WIDE: {
        char text[USHER__WIDE_TEXT];

        memcpy(&i, at, sizeof i);
        usher__pack_text(p, text, usher__wide_text(i, text));
        break;
    }
    case USHER__FIELD_NAME: {
        const struct name *name = (const void *)at;

        usher__pack_text(p, name->text, name->size);
        break;
    }
    default: {
        const struct usher_text *text = (const void *)at;

        usher__pack_text(p, text->data, text->size);
        break;
    }
    }
}

static bool field_unpack(struct usher_unpacker *u, const struct usher__field *f, void *base)
{
    char *at = (char *)base + f->offset;
    struct usher_text text;
    int64_t i;
    uint64_t number;
    int code;

    switch (f->type) {
    case USHER__FIELD_INT:
        if (!usher_unpack_int(u, &i))
            return false;
        memcpy(at, &i, sizeof i);
        return true;
    case USHER__FIELD_UINT:
        if (!usher_unpack_uint(u, &number))
            return false;
        memcpy(at, &number, sizeof number);
        return true;
    case USHER__FIELD_CODE:
        if (!usher_unpack_int(u, &i) || i < 0 || i > 255)
            return false;
        code = (int)i;
        memcpy(at, &code, sizeof code);
        return true;
    case USHER__FIELD_BOOL:
        if (!usher_unpack_int(u, &i) || i < 0 || i > 1)
            return false;
        *(bool *)at = i == 1;
        return true;
    case USHER__FIELD_WIDE:
        if (!usher_unpack_text(u, &text) || !usher__wide_read(text.data, text.size, &i))
            return false;
        memcpy(at, &i, sizeof i);
        return true;
    case USHER__FIELD_NAME: {
        struct name *name = (void *)at;

        if (!usher_unpack_text(u, &text) ||
            (text.size != 0 && usher__name_fault(text.data, text.size) != NULL))
            return false;
        memcpy(name->text, text.data, text.size);
        name->text[text.size] = '\0';
        name->size = text.size;
        return true;
    }
    default:
        if (!usher_unpack_text(u, &text) || text.size > USHER_VALUE_MAX ||
            (f->type == USHER__FIELD_TEXT && text.size != 0 &&
             usher__name_fault(text.data, text.size) != NULL))
            return false;
        memcpy(at, &text, sizeof text);
        return true;
    }
}

size_t usher__fields_count(const struct usher__noun *noun, enum usher_verb verb)
{
    size_t n = noun->n_outs;

    for (unsigned i = 0; i < noun->n_extras; i++)
        n += noun->extras[i].verb == (unsigned)verb;
    return n;
}

void usher__fields_pack(struct usher__packer *p, const struct usher__noun *noun,
                        enum usher_verb verb, const struct usher_result *reply)
{
    for (unsigned i = 0; i < noun->n_outs; i++)
        field_pack(p, &noun->outs[i], reply);
    for (unsigned i = 0; i < noun->n_extras; i++)
        if (noun->extras[i].verb == (unsigned)verb)
            field_pack(p, &noun->extras[i], reply);
}

bool usher__fields_unpack(struct usher_unpacker *u, const struct usher__noun *noun,
                          enum usher_verb verb, struct usher_result *reply)
{
    for (unsigned i = 0; i < noun->n_outs; i++)
        if (!field_unpack(u, &noun->outs[i], reply))
            return false;
    for (unsigned i = 0; i < noun->n_extras; i++)
        if (noun->extras[i].verb == (unsigned)verb && !field_unpack(u, &noun->extras[i], reply))
            return false;
    return true;
}

void usher__rows_pack(struct usher__packer *p, const struct usher__noun *noun,
                      const struct usher_result *reply)
{
    const char *rows;
    size_t n;

    memcpy(&n, (const char *)reply + noun->n_rows_at, sizeof n);
    memcpy(&rows, (const char *)reply + noun->rows_at, sizeof rows);
    usher__pack_array(p, n);
    for (size_t i = 0; i < n; i++) {
        usher__pack_array(p, noun->n_row);
        for (unsigned k = 0; k < noun->n_row; k++)
            field_pack(p, &noun->row[k], rows + i * noun->row_size);
    }
}

enum usher_status usher__rows_unpack(struct usher_unpacker *u, const struct usher__noun *noun,
                                     struct usher_result *reply)
{
    _Alignas(max_align_t) char row[ROW_MAX];
    size_t n, fields;

    if (!usher_unpack_array(u, &n))
        return USHER_MISSING;
    for (size_t i = 0; i < n; i++) {
        memset(row, 0, noun->row_size);
        if (noun->row_size > sizeof row || !usher_unpack_array(u, &fields) || fields != noun->n_row)
            return USHER_MISSING;
        for (unsigned k = 0; k < noun->n_row; k++)
            if (!field_unpack(u, &noun->row[k], row))
                return USHER_MISSING;
        if (usher_result_add_row(reply, (enum usher_noun)noun->noun, row) != USHER_OK)
            return USHER_NOMEM;
    }
    return USHER_OK;
}

/* ---- fingerprints of arguments ----------------------------------------------------- */

/* Return a fingerprint of fields that does not depend on their order. */
static uint64_t fields_print(const struct usher_text *packed, uint64_t seed)
{
    struct usher_fields f = usher__fields(packed);
    struct usher_text name, value;
    uint64_t version, sum = 0;

    while (usher_fields_next(&f, &name, &value, &version))
        sum += XXH3_64bits_withSeed(value.data, value.size,
                                    XXH3_64bits_withSeed(name.data, name.size, seed));
    return sum;
}

uint64_t usher__operation_fingerprint(const struct usher_operation *command)
{
    const struct usher__noun *noun = usher__noun((unsigned)command->verb >> 8);
    const struct usher__verb *verb = usher__verb((unsigned)command->verb);
    uint64_t texts = verb->texts & noun->texts(command);
    uint64_t given = command->given & verb->given & ~usher__steps(noun->noun)->own;
    uint64_t sum = 0;

    for (unsigned i = 0; i < noun->n_args; i++) {
        const struct usher__arg *arg = &noun->args[i];
        const char *at = (const char *)command + arg->offset;
        struct usher_text text;

        if (arg->given != 0) {
            if ((given & arg->given) != 0)
                sum += XXH3_64bits_withSeed(at, sizeof(int64_t), i + 1);
            continue;
        }
        /* in a cached answer it is that of the scope, on which a digest must not depend */
        if ((texts >> i & 1u) == 0 || arg->type == USHER__ARG_EPOCH)
            continue;
        memcpy(&text, at, sizeof text);
        sum += arg->type == USHER__ARG_FIELDS ? fields_print(&text, i + 1)
                                              : XXH3_64bits_withSeed(text.data, text.size, i + 1);
    }
    sum = (sum ^ sum >> 53) & ((UINT64_C(1) << 53) - 1);
    return sum != 0 ? sum : 1;
}

/* ---- cached answers ---------------------------------------------------------------- */

const char *usher__kept_fault(const struct usher_text *kept, const struct usher__noun *noun)
{
    static const char fault[] = "has an answer that cannot be read";
    struct usher_unpacker u = usher__unpacker(kept->data, kept->size);
    uint64_t verb, print, status, version, number;
    struct usher_text text;
    int64_t i;
    size_t n, rows, fields;

    if (kept->size == 0 || !usher_unpack_array(&u, &n) || n < 5 || !usher_unpack_uint(&u, &verb) ||
        verb >> 8 != noun->noun || !usher_unpack_uint(&u, &print) ||
        !usher_unpack_uint(&u, &status) || status >= USHER_INVALID || !usher__is_status(status) ||
        !usher_unpack_uint(&u, &version) || !usher_unpack_array(&u, &rows))
        return fault;
    for (n -= 5; rows > 0; rows--) {
        if (!usher_unpack_array(&u, &fields))
            return fault;
        for (; fields > 0; fields--)
            if (!usher_unpack_int(&u, &i) && !usher_unpack_uint(&u, &number) &&
                !usher_unpack_text(&u, &text))
                return fault;
    }
    for (; n > 0; n--)
        if (!usher_unpack_int(&u, &i) && !usher_unpack_uint(&u, &number) &&
            !usher_unpack_text(&u, &text))
            return fault;
    return u.at == u.end ? NULL : fault;
}

/* ---- notices ----------------------------------------------------------------------- */

void usher__notice_pack(struct usher__packer *p, const struct usher_notice *n)
{
    usher__pack_array(p, 12);
    usher__pack_uint(p, (unsigned)n->verb);
    if (n->before + 1 != n->version && n->version != 0) {
        usher__pack_array(p, 2);
        usher__pack_uint(p, n->version);
        usher__pack_uint(p, n->before);
    } else {
        usher__pack_uint(p, n->version);
    }
    usher__pack_uint(p, n->from);
    usher__pack_uint(p, n->to);
    usher__pack_uint(p, n->token);
    usher__pack_int(p, n->until_ms);
    usher__pack_int(p, n->now_ms);
    usher__pack_text(p, n->owner.data, n->owner.size);
    usher__pack_text(p, n->subject.data, n->subject.size);
    usher__pack_text(p, n->data.data, n->data.size);
    usher__pack_uint(p, n->was);
    usher__pack_uint(p, n->mark);
}

/* Read a name, or with size 0 none. */
static bool name_read(struct usher_unpacker *u, struct usher_text *ret)
{
    if (!usher_unpack_text(u, ret) || ret->size > USHER_NAME_MAX)
        return false;
    if (ret->size == 0)
        ret->data = NULL;
    return true;
}

/* Read a version, or two: it and the one before. */
static bool version_read(struct usher_unpacker *u, struct usher_notice *notice)
{
    size_t n;

    if (usher_unpack_array(u, &n))
        return n == 2 && usher_unpack_uint(u, &notice->version) &&
               usher_unpack_uint(u, &notice->before) && notice->before < notice->version;
    if (!usher_unpack_uint(u, &notice->version))
        return false;
    notice->before = notice->version - (notice->version > 0);
    return true;
}

bool usher__notice_unpack(struct usher_unpacker *u, struct usher_notice *notice)
{
    uint64_t verb, from, to;
    size_t n;

    if (!usher_unpack_array(u, &n) || (n != 10 && n != 12 && n != 13) ||
        !usher_unpack_uint(u, &verb) || !version_read(u, notice) || !usher_unpack_uint(u, &from) ||
        !usher_unpack_uint(u, &to) || !usher_unpack_uint(u, &notice->token) ||
        !usher_unpack_int(u, &notice->until_ms) || !usher_unpack_int(u, &notice->now_ms) ||
        !name_read(u, &notice->owner) || !name_read(u, &notice->subject) ||
        !usher_unpack_text(u, &notice->data) || notice->data.size > USHER_NOTICE_DATA_MAX ||
        verb > 0xffff || from > UINT8_MAX || to > UINT8_MAX)
        return false;
    if (n > 10 && (!usher_unpack_uint(u, &notice->was) || !usher_unpack_uint(u, &notice->mark)))
        return false;
    if (n > 12 && (!usher_unpack_int(u, &notice->wait_ms) || notice->wait_ms < 0))
        return false;
    notice->verb = (enum usher_verb)verb;
    notice->from = (uint8_t)from;
    notice->to = (uint8_t)to;
    return true;
}
