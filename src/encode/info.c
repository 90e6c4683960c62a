/* SPDX-License-Identifier: MIT */
/* The fields, verbs and words of the tables of the core, for programs. */
#include "config.h"

#include <usher/store/operation.h>

#include <string.h>

#include "core/room.h"
#include "core/verbs.h"
#include "change/hooks.h"
#include "encode/reply.h"

static const struct usher_field_about fields[] = {
#define F(name, code, type, word, help) { code, USHER_TYPE_##type, #name, word, help },
    USHER_FIELD_MAP(F)
#undef F
};
#define N_FIELDS (sizeof fields / sizeof *fields)

/* The fields of every verb. */
static const uint32_t common[] = { USHER_FIELD_REQUEST, USHER_FIELD_NOW, USHER_FIELD_WAIT };
#define N_COMMON (sizeof common / sizeof *common)
#define WHOLE_COMMON (N_COMMON - 1) /* a command without a scope does not wait for replicas */

static const char *const kind_words[] = { "?",      "field", "all",    "role",
                                          "member", "share", "notice", "room" };

/* Codes of fields are dense. */
const struct usher_field_about *usher_about_field(uint32_t field)
{
    return field >= 1 && field <= N_FIELDS ? &fields[field - 1] : NULL;
}

/* Return NULL if there is none, or if its noun is the engine's own. */
static const struct usher__verb *verb_of(uint32_t code)
{
    const struct usher__noun *noun = usher__noun(code >> 8);

    return noun != NULL && (!noun->hidden || noun->whole) ? usher__verb(code) : NULL;
}

/* Split "room list", a verb of the store as a whole, or "scopes" into words. */
static void words_of(const char *typed, const char **ret_noun, const char **ret_word)
{
    const char *space = strchr(typed, ' ');
    const struct usher__noun *noun = NULL;

    for (unsigned i = 0; space != NULL && (noun = usher__noun_at(i)) != NULL; i++)
        if (strlen(noun->word) == (size_t)(space - typed) &&
            memcmp(noun->word, typed, (size_t)(space - typed)) == 0)
            break;
    *ret_noun = noun != NULL ? noun->word : "";
    *ret_word = space != NULL ? space + 1 : typed;
}

bool usher_about_verb(uint32_t verb, struct usher_verb_about *ret_about)
{
    const struct usher__verb *v = verb_of(verb);
    struct usher_verb_about a = { .size = sizeof a, .verb = verb };
    size_t size;

    if (v == NULL || ret_about == NULL || ret_about->size < sizeof a.size)
        return false;
    a.noun = usher__noun(verb >> 8)->word;
    a.word = v->word;
    if (usher__noun(verb >> 8)->whole) {
        words_of(v->word, &a.noun, &a.word);
        a.flags |= USHER_VERB_WHOLE;
    }
    a.help = v->help;
    if ((v->flags & USHER__WRITES) != 0)
        a.flags |= USHER_VERB_WRITES;
    if ((v->flags & USHER__CREATES) != 0)
        a.flags |= USHER_VERB_CREATES;
    if ((v->flags & USHER__AGAIN) != 0)
        a.flags |= USHER_VERB_REPEATABLE;
    size = ret_about->size < sizeof a ? ret_about->size : sizeof a;
    a.size = size;
    memcpy(ret_about, &a, size);
    return true;
}

uint32_t usher_next_verb(uint32_t verb)
{
    for (unsigned noun = verb >> 8; noun < USHER__NOUNS; noun++) {
        uint32_t next = noun == verb >> 8 ? verb + 1 : noun << 8 | 1u;

        if (verb_of(next) != NULL)
            return next;
    }
    return 0;
}

uint32_t usher_verb_of(const char *noun, const char *word)
{
    const char *of = noun != NULL ? noun : "";
    const struct usher__noun *n = word != NULL ? usher__noun_by_word(of) : NULL;
    const struct usher__verb *whole;

    for (unsigned i = 0; n != NULL && !n->hidden && i < n->n_verbs; i++)
        if (strcmp(n->verbs[i].word, word) == 0)
            return n->verbs[i].verb;
    whole = word != NULL && strchr(word, ' ') == NULL ? usher__whole_verb(of, word) : NULL;
    return whole != NULL ? whole->verb : 0;
}

uint32_t usher_verb_takes(uint32_t verb, size_t i, bool *ret_must)
{
    const struct usher__verb *v = verb_of(verb);
    const struct usher__noun *n = usher__noun(verb >> 8);

    if (v == NULL)
        return 0;
    for (unsigned must = 1; must <= 1; must--) {
        uint64_t bits = must != 0 ? v->order : v->keys & ~v->order;

        if (ret_must != NULL)
            *ret_must = must != 0;
        for (; bits != 0; bits &= bits - 1)
            if (i-- == 0)
                return n->args[__builtin_ctzll(bits)].code;
    }
    return i < (n->whole ? WHOLE_COMMON : N_COMMON) ? common[i] : 0;
}

bool usher_about_argument(uint32_t verb, uint32_t field, struct usher_argument_about *ret_about)
{
    const struct usher__verb *v = verb_of(verb);
    const struct usher__noun *n = usher__noun(verb >> 8);
    struct usher_argument_about a = { .size = sizeof a, .field = field };
    const struct usher__arg *arg;
    size_t size;

    if (v == NULL || ret_about == NULL || ret_about->size < sizeof a.size)
        return false;
    for (uint64_t bits = v->order | v->keys; bits != 0; bits &= bits - 1) {
        arg = &n->args[__builtin_ctzll(bits)];
        if (arg->code != field)
            continue;
        a.must = (v->order & bits & -bits) != 0;
        a.min = arg->min;
        a.max = usher__arg_max(v, arg);
        a.standard = (v->flags & USHER__CREATES) != 0 ? arg->standard : USHER_NONE;
        a.help = arg->help != NULL ? arg->help : fields[field - 1].help;
        size = ret_about->size < sizeof a ? ret_about->size : sizeof a;
        a.size = size;
        memcpy(ret_about, &a, size);
        return true;
    }
    return false;
}

uint32_t usher_field_of(uint32_t verb, const char *word)
{
    uint32_t field;

    for (size_t i = 0; word != NULL && (field = usher_verb_takes(verb, i, NULL)) != 0; i++)
        if (strcmp(fields[field - 1].word, word) == 0)
            return field;
    return 0;
}

uint32_t usher_verb_tells(uint32_t verb, bool rows, size_t i)
{
    const struct usher__noun *n = usher__noun(verb >> 8);
    struct usher__result_walk seen;
    const struct usher__field *f;

    if (verb_of(verb) == NULL)
        return 0;
    usher__result_walk_begin(&seen, n, USHER__VERB_BIT(verb), rows);
    while ((f = usher__result_walk_next(&seen)) != NULL)
        if (i-- == 0)
            return f->code;
    return usher__result_extra(verb, rows, i);
}

static const char *at(const char *const *words, size_t n, int64_t code)
{
    const char *word = code >= 0 && (uint64_t)code < n ? words[code] : NULL;

    return word != NULL && strcmp(word, "?") != 0 ? word : NULL;
}

/* Return the word of @code in a NULL-terminated list. */
static const char *in(const char *const *words, int64_t code)
{
    size_t n = 0;

    while (words[n] != NULL)
        n++;
    return at(words, n, code);
}

static const char *known(const char *word)
{
    return strcmp(word, "?") != 0 ? word : NULL;
}

const char *usher_code_word(enum usher_noun noun, uint32_t field, int64_t code)
{
    const struct usher__hooks *hooks = usher__hooks((unsigned)noun);

    if (code < 0 || code > UINT16_MAX)
        return NULL;
    switch (field) {
    case USHER_FIELD_STATE:
        return hooks->state_word != NULL ? known(hooks->state_word((unsigned)code)) : NULL;
    case USHER_FIELD_WHY:
        return hooks->why_word != NULL ? known(hooks->why_word((unsigned)code)) : NULL;
    case USHER_FIELD_ORDER:
        return in(usher__order_words, code);
    case USHER_FIELD_SCOPE_MODE:
        return in(usher__scope_mode_words, code);
    case USHER_FIELD_TRIGGER:
        return in(usher__trigger_words, code);
    case USHER_FIELD_STRATEGY:
        return in(usher__strategy_words, code);
    case USHER_FIELD_REQUEUE:
        return in(usher__requeue_words, code);
    case USHER_FIELD_AGENT_STATE:
        return in(usher__agent_state_words, code);
    case USHER_FIELD_USER_STATE:
        return in(usher__user_state_words, code);
    case USHER_FIELD_PLACE:
        return in(usher__place_words, code);
    case USHER_FIELD_OUTCOME:
        return in(usher__outcome_words, code);
    case USHER_FIELD_MEMBER_STATE:
        return at(usher__member_machine.state_words, usher__member_machine.n_states, code);
    case USHER_FIELD_KIND:
        return at(kind_words, sizeof kind_words / sizeof *kind_words, code);
    case USHER_FIELD_CHECK:
        return in(usher__check_words, code);
    case USHER_FIELD_RESET:
        return in(usher__reset_words, code);
    case USHER_FIELD_STAMP:
        return in(usher__stamp_words, code);
    case USHER_FIELD_MODE:
        return in(usher__mode_words, code);
    case USHER_FIELD_OVERFLOW:
        return in(usher__overflow_words, code);
    case USHER_FIELD_NOUN:
        return in(usher__noun_words, code);
    case USHER_FIELD_VERB:
        return known(usher_verb_word((enum usher_verb)code));
    default:
        return NULL;
    }
}
