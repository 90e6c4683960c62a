/* SPDX-License-Identifier: MIT */
/* The table of serial.def. */
#ifndef USHER_CORE_SERIAL_MACHINE_H
#define USHER_CORE_SERIAL_MACHINE_H

#include "machine.h"

enum usher__serial_event {
#define E(name, code, word, text) USHER__SERIAL_E_##name = code,
#include "serial.def"
};

enum usher__serial_guard {
    USHER__SERIAL_IF_ANY = USHER__ANY,
#define G(name, code, word, text) USHER__SERIAL_IF_##name = code,
#include "serial.def"
};

extern const struct usher__machine usher__serial_machine;

#endif
