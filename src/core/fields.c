/* SPDX-License-Identifier: MIT */
/* Packed fields: room.h. */
#include "pack.h"
#include "text.h"
#include "verbs.h"

#include <string.h>

void usher_fields_begin(struct usher_fields *fields, const struct usher_text *packed)
{
    *fields = usher__fields(packed);
}

bool usher_fields_next(struct usher_fields *fields, struct usher_text *ret_name,
                       struct usher_text *ret_value, uint64_t *ret_version)
{
    struct usher_unpacker u = { fields->at, fields->end };
    uint64_t version = 0;
    size_t taken = 2;

    if (!fields->begun) {
        if (fields->at == fields->end || !usher_unpack_array(&u, &fields->left))
            return false;
        fields->begun = true;
    }
    if (fields->left < 2 || !usher_unpack_text(&u, ret_name) || !usher_unpack_text(&u, ret_value))
        return false;
    if (fields->left > 2 && usher_unpack_uint(&u, &version))
        taken = 3;
    fields->left -= taken;
    fields->at = u.at;
    *ret_version = version;
    return true;
}

size_t usher_fields_pack(const struct usher_text *names, const struct usher_text *values, size_t n,
                         unsigned char *to /* NOLINT(readability-non-const-parameter) */,
                         size_t size)
{
    struct usher__packer p = { to, size, 0 };

    usher__pack_array(&p, 2 * n);
    for (size_t i = 0; i < n; i++) {
        usher__pack_text(&p, names[i].data, names[i].size);
        usher__pack_text(&p, values[i].data, values[i].size);
    }
    return p.n;
}

const char *usher__fields_fault(const char *data, size_t size)
{
    struct usher_text names[USHER_FIELDS_MAX], value;
    struct usher_unpacker u = usher__unpacker(data, size);
    size_t n;

    if (size > USHER_VALUE_MAX)
        return "have more than 65536 bytes";
    if (!usher_unpack_array(&u, &n) || n % 2 != 0)
        return "are not packed fields";
    if (n / 2 > USHER_FIELDS_MAX)
        return "are more than 32";
    for (size_t i = 0; i < n / 2; i++) {
        const char *fault;

        if (!usher_unpack_text(&u, &names[i]) || !usher_unpack_text(&u, &value))
            return "are not packed fields";
        fault = usher__name_fault(names[i].data, names[i].size);
        if (fault != NULL)
            return fault;
        for (size_t k = 0; k < i; k++)
            if (usher__text_equal(&names[k], &names[i]))
                return "have a name twice";
    }
    return u.at == u.end ? NULL : "are not packed fields";
}
