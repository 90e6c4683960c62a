/* SPDX-License-Identifier: MIT */
/*
 * The tables of one machine, made from its rows.  machines.c includes this once for each with
 *
 *   MACHINE_DEF  "agent.def"         THE(x)   agent_##x     prefix of the generated names
 *   STATE(x)     USHER_QUEUE_AGENT_##x     EVENT(x) USHER__AGENT_##x   the enums of the codes
 *   GUARD(x)     USHER__AGENT_IF_##x       the same for its guards; any prefix if it has none
 *   MACHINE_WORD "agent"             MACHINE_NOUN USHER_QUEUE
 *   MACHINE_NAME usher__agent_machine
 *
 * and none of them is defined afterwards.
 */

#define S(name, code, word, lists, text) \
    _Static_assert(STATE(name) == (code), "the public enum and the .def file agree");
#define E(name, code, word, text) \
    _Static_assert(EVENT(name) == (code), "the enum of events and the .def file agree");
#define G(name, code, word, text) \
    _Static_assert(GUARD(name) == (code), "the enum of guards and the .def file agree");
#include MACHINE_DEF

enum {
    THE(n_states) = 0
#define S(name, code, word, lists, text) +1
#include MACHINE_DEF
    ,
    THE(n_events) = 0
#define E(name, code, word, text) +1
#include MACHINE_DEF
    ,
    THE(n_guards) = 1
#define G(name, code, word, text) +1
#include MACHINE_DEF
};

static const char *const THE(state_words)[] = {
#define S(name, code, word, lists, text) [code] = word,
#include MACHINE_DEF
    [THE(n_states)] = NULL,
};
static const char *const THE(state_texts)[] = {
#define S(name, code, word, lists, text) [code] = text,
#include MACHINE_DEF
};
static const char *const THE(event_words)[] = {
#define E(name, code, word, text) [code] = word,
#include MACHINE_DEF
    [THE(n_events)] = NULL,
};
static const char *const THE(event_texts)[] = {
#define E(name, code, word, text) [code] = text,
#include MACHINE_DEF
};
static const char *const THE(guard_words)[] = {
    "any",
#define G(name, code, word, text) [code] = word,
#include MACHINE_DEF
};
static const char *const THE(guard_texts)[] = {
    "whatever else is so",
#define G(name, code, word, text) [code] = text,
#include MACHINE_DEF
};
static const uint8_t THE(lists)[][2] = {
#define S(name, code, word, lists, text) [code] = { USHER__LISTS_##lists },
#include MACHINE_DEF
};
#define KEY(from, event, guard) \
    ((STATE(from) * THE(n_events) + EVENT(event)) * THE(n_guards) + GUARD(guard))

static const struct usher__machine_row THE(rows)[] = {
#define T(from, event, guard, to, status, why) \
    { STATE(from), EVENT(event), GUARD(guard), STATE(to), USHER_##status, why },
#include MACHINE_DEF
};
static const struct usher__move THE(moves)[THE(n_states) * THE(n_events) * THE(n_guards)] = {
#define T(from, event, guard, to, status, why) \
    [KEY(from, event, guard)] = { STATE(to), USHER_##status, true },
#include MACHINE_DEF
};

/* Never called: two rows for the same case do not compile. */
static inline int THE(once)(unsigned key)
{
    switch (key) {
#define T(from, event, guard, to, status, why) case (unsigned)KEY(from, event, guard):
#include MACHINE_DEF
        return 1;
    default:
        return 0;
    }
}

const struct usher__machine MACHINE_NAME = {
    .word = MACHINE_WORD,
    .noun = MACHINE_NOUN,
    .n_states = THE(n_states),
    .n_events = THE(n_events),
    .n_guards = THE(n_guards),
    .n_rows = sizeof THE(rows) / sizeof *THE(rows),
    .state_words = THE(state_words),
    .state_texts = THE(state_texts),
    .event_words = THE(event_words),
    .event_texts = THE(event_texts),
    .guard_words = THE(guard_words),
    .guard_texts = THE(guard_texts),
    .rows = THE(rows),
    .moves = THE(moves),
    .lists = THE(lists),
};

#undef MACHINE_DEF
#undef MACHINE_NAME
#undef MACHINE_WORD
#undef MACHINE_NOUN
#undef THE
#undef STATE
#undef EVENT
#undef GUARD
#undef KEY
