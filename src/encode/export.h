/* SPDX-License-Identifier: MIT */
/* Tables as text: see export.c. */
#ifndef USHER_ENCODE_EXPORT_H
#define USHER_ENCODE_EXPORT_H

#include "change/print.h"

struct usher__noun;

/* Constants for the Lua that writes answers to direct calls as JSON: see json_tables.c. */
void usher__json_lua(struct usher__out *o, const struct usher__noun *noun);

#endif
