/* SPDX-License-Identifier: MIT */
/* Every machine but that of numbers, whose rows have claims (number.c). */
#include "machine.h"

#include <stddef.h>

const struct usher__machine *const usher__machines[] = {
    NULL,
};
