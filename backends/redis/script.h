/* SPDX-License-Identifier: MIT */
#ifndef USHER_REDIS_SCRIPT_H
#define USHER_REDIS_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>

#include <usher/usher.h>

/* The whole script of @noun, in the way of usher_lua(). */
enum usher_status usher__redis_script(const char *noun, char *buffer, size_t size,
                                      size_t *ret_length);

/* The value of a constant of its tables, without quotes; false: there is none, or it is too
 * long. */
#define USHER__REDIS_CONSTANT_MAX 1024
bool usher__redis_constant(const char *noun, const char *name,
                           char value[USHER__REDIS_CONSTANT_MAX]);

#endif
