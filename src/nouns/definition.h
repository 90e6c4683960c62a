/* SPDX-License-Identifier: MIT */
/* Parts of the engine for one noun: the packed record of a rule or a dispenser in an authority
 * (engine/grant.h), and the history of visits (engine/history.h).  The functions that pack return
 * the size of a record, which may exceed the buffer. */
#ifndef USHER_NOUNS_DEFINITION_H
#define USHER_NOUNS_DEFINITION_H

#include "change/hooks.h"

#define USHER__SERIAL_FORM 2 /* the format; raised when it changes */
#define USHER__ID_FORM 1
size_t usher__serial_form_pack(const struct usher_serial_result_settings *set, int64_t max,
                               const struct usher_text *format, unsigned char to[USHER__FORM_MAX]);
size_t usher__id_form_pack(const struct usher_id_result_settings *set,
                           unsigned char to[USHER__FORM_MAX]);

/* Unpack it as the arguments of `create`.  Return false if it is not such a record. */
bool usher__id_form_unpack(const char *data, size_t size, struct usher_operation *c);

extern const struct usher__needs_grant usher__serial_grants, usher__id_grants;
extern const struct usher__archive_ops usher__queue_archive;

#endif
