/* SPDX-License-Identifier: MIT */
/* See budget.h. */
#include "config.h"

#include "lib/budget.h"

#include <stdlib.h>

uint64_t number_from(const char *variable, uint64_t otherwise)
{
    const char *value = getenv(variable);

    return value != NULL && *value != '\0' ? strtoull(value, NULL, 0) : otherwise;
}

bool budget_wrapped(void)
{
    const char *wrapper = getenv("USHER_WRAPPER");

    return wrapper != NULL && *wrapper != '\0';
}

bool budget_slow(void)
{
    return SANITIZED || budget_wrapped();
}

uint64_t budget_of(const char *variable, uint64_t n)
{
    return number_from(variable, budget_slow() ? (n + 3) / 4 : budget_short() ? (n + 1) / 2 : n);
}

bool budget_short(void)
{
    return !budget_long() && number_from("USHER_EACH", 1) < 2;
}

bool budget_long(void)
{
    return number_from("USHER_LONG", 0) != 0;
}

uint64_t budget_rounds(void)
{
    return budget_long() ? 200 : number_from("USHER_ROUNDS", number_from("USHER_EACH", 1));
}
