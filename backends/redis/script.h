/* SPDX-License-Identifier: MIT */
#ifndef USHER_REDIS_SCRIPT_H
#define USHER_REDIS_SCRIPT_H

#include <usher/usher.h>

/* The whole script of @noun, in the way of usher_lua(). */
enum usher_status usher__redis_script(const char *noun, char *buffer, size_t size,
                                      size_t *ret_length);

#endif
