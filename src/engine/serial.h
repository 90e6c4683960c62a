/* SPDX-License-Identifier: MIT */
/* What of serials is done where replies are read, for any store. */
#ifndef USHER_ENGINE_SERIAL_H
#define USHER_ENGINE_SERIAL_H

#include <usher/operation.h>

/* The store has answered `parse` with the rule: take the serial apart. */
void usher__serial_parsed(const struct usher_operation *command, struct usher_result *reply);

#endif
