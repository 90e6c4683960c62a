/* SPDX-License-Identifier: MIT */
/* What a program sees in an answer besides what the tables of the core name. */
#ifndef USHER_ENGINE_DOOR_H
#define USHER_ENGINE_DOOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The @i-th field of an answer to @verb, or of its rows, that is in no table; 0: no more. */
uint32_t usher__seen_more(uint32_t verb, bool rows, size_t i);

#endif
