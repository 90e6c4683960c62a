/* SPDX-License-Identifier: MIT */
#include "verbs.h"

#include <string.h>

#define WRITES USHER__WRITES
#define CREATES USHER__CREATES
#define AGAIN USHER__AGAIN
#define IF_OWNER USHER__IF_OWNER
#define NEEDS_TOKEN USHER__NEEDS_TOKEN
#define COMMUTES USHER__COMMUTES
#define PLACED USHER__PLACED
#define READS USHER__READS
#define NOTICES USHER__NOTICES
#define BEYOND USHER__BEYOND
#define STEPS USHER__STEPS
#define ENDS USHER__ENDS
#define LISTS USHER__LISTS
#define SHOWS USHER__SHOWS
#define FIGURES USHER__FIGURES
#define FREES USHER__FREES

enum {
#define F(name, code, type, ...) TYPE_OF_##name = USHER_TYPE_##type,
    USHER_FIELD_MAP(F)
#undef F
};

#define ON_OK (1u << USHER_OK)
#define ON_DONE (ON_OK | 1u << USHER_SAME)
#define ON_MISSING (1u << USHER_MISSING)
#define ON_REFUSED (1u << USHER_REFUSED)
#define ON_EMPTY (1u << USHER_EMPTY)
#define ON_FULL (1u << USHER_FULL)
#define ON_STALE (1u << USHER_STALE)
#define THERE (~ON_MISSING)
#define ALWAYS UINT32_MAX
#define EVER USHER__WHEN_EVER, 0, 0
#define WITH(field) USHER__WHEN_IS, FIELD(field), UINT32_MAX
#define IS(field, codes) USHER__WHEN_IS, FIELD(field), codes
#define WITHOUT(field) USHER__WHEN_NOT, FIELD(field), 0
#define ASKED(field) USHER__WHEN_ASKED, FIELD(field), 0
#define NOT_ASKED(field) USHER__WHEN_NOT_ASKED, FIELD(field), 0
#define AHEAD(field) USHER__WHEN_AHEAD, FIELD(field), 0
#define NOT_AHEAD(field) USHER__WHEN_NOT_AHEAD, FIELD(field), 0
#define ONE_ROW USHER__WHEN_ONE_ROW, 0, 0
#define NO_ROW USHER__WHEN_NO_ROW, 0, 0
#define NO_DEFAULT USHER_NONE
#define USHER_FIELD_NOTHING 0 /* of a row NOTICE_SUBJECT */
#define OF_KIND(kind) USHER__WHEN_KIND, USHER_FIELD_KIND, 1u << USHER_ROOM_ROW_##kind

/* KEYS: several rows that are but for the field the same. */
#define ONE(verbs, on, field) \
    { verbs, on, FIELD(field), USHER__AS_VALUE, USHER__NONE_NULL, NULL, EVER },
#define EACH_2(verbs, on, field, ...) ONE(verbs, on, field) ONE(verbs, on, __VA_ARGS__)
#define EACH_3(verbs, on, field, ...) ONE(verbs, on, field) EACH_2(verbs, on, __VA_ARGS__)
#define EACH_4(verbs, on, field, ...) ONE(verbs, on, field) EACH_3(verbs, on, __VA_ARGS__)
#define EACH_5(verbs, on, field, ...) ONE(verbs, on, field) EACH_4(verbs, on, __VA_ARGS__)
#define EACH_6(verbs, on, field, ...) ONE(verbs, on, field) EACH_5(verbs, on, __VA_ARGS__)
#define EACH_7(verbs, on, field, ...) ONE(verbs, on, field) EACH_6(verbs, on, __VA_ARGS__)
#define EACH_8(verbs, on, field, ...) ONE(verbs, on, field) EACH_7(verbs, on, __VA_ARGS__)
#define EACH_OF(a, b, c, d, e, f, g, h, each, ...) each
#define EACH(verbs, on, ...)                                                             \
    EACH_OF(__VA_ARGS__, EACH_8, EACH_7, EACH_6, EACH_5, EACH_4, EACH_3, EACH_2, ONE, 0) \
    (verbs, on, __VA_ARGS__)

/* Codes that are given begin at 1, for 0 is what is not given. */
const char *const usher__noun_words[] = { "?", "number", "queue", "room", "serial", "id", NULL };
const char *const usher__order_words[] = { "?", "longest-idle", "most-recent", "random", NULL };
const char *const usher__scope_mode_words[] = { "?", "open", "closed", "stopped", NULL };

const char *const usher__check_words[] = { "none", "luhn",     "mod11-2", "mod37-2",
                                           "damm", "verhoeff", NULL };
const char *const usher__reset_words[] = { "none", "day", "month", "year", NULL };
const char *const usher__stamp_words[] = { "?", "take", "fill", NULL };
const char *const usher__mode_words[] = { "?", "queue", "gapfree", NULL };
const char *const usher__overflow_words[] = { "?", "refuse", "widen", NULL };

#define USHER_GIVEN_0 0 /* texts have no bit */
#define USHER_GIVEN_ROOM_0 0
#define USHER_GIVEN_SERIAL_0 0
const char *const usher__trigger_words[] = { "?", "auto", "timer", "pull", NULL };
const char *const usher__strategy_words[] = {
    "?", "longest-idle", "round-robin", "fewest-served", "least-busy", "level", "random", NULL
};
const char *const usher__requeue_words[] = { "?", "front", "drop", NULL };
const char *const usher__user_state_words[] = {
#define S(name, code, word, lists, text) [code] = word,
#include "user.def"
    NULL,
};

#define USHER_GIVEN_QUEUE_0 0

#define NOUN_CODE USHER_NUMBER
#define NOUN_WORD "number"
#define NOUN_SCOPE "POOL"
#define NOUN_ITEMS "numbers", "number", "numbers"
#define NOUN_HIDDEN false
#define NOUN_WHOLE false
#define NOUN_DEF "number_verbs.def"
#define THE(x) number_##x
#define ARGS(f) arg.number.f
#define ARGS_TYPE struct usher_number_args
#define REPLY(f) of.number.f
#define REPLY_TYPE struct usher_number_result
#define ROW_TYPE struct usher_number_result_row
#define GIVEN(x) USHER_GIVEN_##x
#define VERB_CODE(x) USHER_NUMBER_##x
#define FIELD(x) USHER_FIELD_##x
#define TYPE(x) TYPE_OF_##x
#define SHARED A(GROUP) | A(GROUPS)
#include "verbs_table.h"

#define USHER_GIVEN_ID_0 0

#define NOUN_CODE USHER_ID
#define NOUN_WORD "id"
#define NOUN_SCOPE "NAME"
#define NOUN_ITEMS NULL
#define NOUN_HIDDEN false
#define NOUN_WHOLE false
#define NOUN_DEF "id_verbs.def"
#define THE(x) id_##x
#define ARGS(f) arg.id.f
#define ARGS_TYPE struct usher_id_args
#define REPLY(f) of.id.f
#define REPLY_TYPE struct usher_id_result
#define ROW_TYPE struct usher_id_result_row
#define GIVEN(x) USHER_GIVEN_ID_##x
#define VERB_CODE(x) USHER_ID_##x
#define FIELD(x) USHER_FIELD_##x
#define TYPE(x) TYPE_OF_##x
#define SHARED 0
#include "verbs_table.h"

#define NOUN_CODE USHER_ROOM
#define NOUN_WORD "room"
#define NOUN_SCOPE "ROOM"
#define NOUN_ITEMS "members", "member", "members"
#define NOUN_HIDDEN false
#define NOUN_WHOLE false
#define NOUN_DEF "room_verbs.def"
#define THE(x) room_##x
#define ARGS(f) arg.room.f
#define ARGS_TYPE struct usher_room_args
#define REPLY(f) of.room.f
#define REPLY_TYPE struct usher_room_result
#define ROW_TYPE struct usher_room_result_row
#define GIVEN(x) USHER_GIVEN_ROOM_##x
#define VERB_CODE(x) USHER_ROOM_##x
#define FIELD(x) USHER_FIELD_##x
#define TYPE(x) TYPE_OF_##x
#define SHARED A(MEMBER) | A(HOLDER)
#include "verbs_table.h"

#define NOUN_CODE USHER_SERIAL
#define NOUN_WORD "serial"
#define NOUN_SCOPE "RULE"
#define NOUN_ITEMS NULL, "held", "held"
#define NOUN_HIDDEN false
#define NOUN_WHOLE false
#define NOUN_DEF "serial_verbs.def"
#define THE(x) serial_##x
#define ARGS(f) arg.serial.f
#define ARGS_TYPE struct usher_serial_args
#define REPLY(f) of.serial.f
#define REPLY_TYPE struct usher_serial_result
#define ROW_TYPE struct usher_serial_result_row
#define GIVEN(x) USHER_GIVEN_SERIAL_##x
#define VERB_CODE(x) USHER_SERIAL_##x
#define FIELD(x) USHER_FIELD_##x
#define TYPE(x) TYPE_OF_##x
#define SHARED 0u
#include "verbs_table.h"

#define NOUN_CODE USHER_QUEUE
#define NOUN_WORD "queue"
#define NOUN_SCOPE "Q"
#define NOUN_ITEMS "agents and users", "agent or user", "agents and users"
#define NOUN_HIDDEN false
#define NOUN_WHOLE false
#define NOUN_DEF "queue_verbs.def"
#define THE(x) queue_##x
#define ARGS(f) arg.queue.f
#define ARGS_TYPE struct usher_queue_args
#define REPLY(f) of.queue.f
#define REPLY_TYPE struct usher_queue_result
#define ROW_TYPE struct usher_queue_result_row
#define GIVEN(x) USHER_GIVEN_QUEUE_##x
#define VERB_CODE(x) USHER_QUEUE_##x
#define FIELD(x) USHER_FIELD_##x
#define TYPE(x) TYPE_OF_##x
#define SHARED 0
#include "verbs_table.h"

#define USHER_GIVEN_ROOMS_0 0

#define NOUN_CODE USHER_ROOMS
#define NOUN_WORD "rooms"
#define NOUN_SCOPE "PARTITION"
#define NOUN_ITEMS NULL
#define NOUN_HIDDEN true
#define NOUN_WHOLE false
#define NOUN_DEF "rooms_verbs.def"
#define THE(x) rooms_##x
#define ARGS(f) arg.rooms.f
#define ARGS_TYPE struct usher_rooms_args
#define REPLY(f) of.rooms.f
#define REPLY_TYPE struct usher_rooms_result
#define ROW_TYPE struct usher_rooms_row
#define GIVEN(x) USHER_GIVEN_ROOMS_##x
#define VERB_CODE(x) USHER_ROOMS_##x
#define FIELD(x) 0
#define TYPE(x) 0
#define SHARED 0
#include "verbs_table.h"

#define USHER_GIVEN_STORE_0 0

#define NOUN_CODE USHER_STORE
#define NOUN_WORD "store"
#define NOUN_SCOPE ""
#define NOUN_ITEMS NULL
#define NOUN_HIDDEN true
#define NOUN_WHOLE true
#define NOUN_DEF "store_verbs.def"
#define THE(x) store_##x
#define ARGS(f) arg.store.f
#define ARGS_TYPE struct usher_store_args
#define REPLY(f) of.store.f
#define REPLY_TYPE struct usher_store_result
#define ROW_TYPE struct usher_store_result_row
#define GIVEN(x) USHER_GIVEN_STORE_##x
#define VERB_CODE(x) USHER_STORE_##x
#define FIELD(x) USHER_FIELD_##x
#define TYPE(x) TYPE_OF_##x
#define SHARED 0
#include "verbs_table.h"

const struct usher__noun *const usher__nouns[USHER__NOUNS] = {
    [USHER_NUMBER] = &number_noun, [USHER_QUEUE] = &queue_noun, [USHER_ROOM] = &room_noun,
    [USHER_SERIAL] = &serial_noun, [USHER_ID] = &id_noun,       [USHER_ROOMS] = &rooms_noun,
    [USHER_STORE] = &store_noun,
};

bool usher__operation_number(const struct usher_operation *command, unsigned field,
                             int64_t *ret_number)
{
    const struct usher__noun *noun = usher__noun((unsigned)command->verb >> 8);
    unsigned at = field < noun->n_arg_at ? noun->arg_at[field] : 0;

    if (at == 0 || (command->given & noun->args[at - 1].given) == 0)
        return false;
    memcpy(ret_number, (const char *)command + noun->args[at - 1].offset, sizeof *ret_number);
    return true;
}

const struct usher__noun *usher__noun_at(unsigned i)
{
    for (unsigned noun = 0; noun < USHER__NOUNS; noun++)
        if (usher__nouns[noun] != NULL && !usher__nouns[noun]->hidden && i-- == 0)
            return usher__nouns[noun];
    return NULL;
}

const struct usher__noun *usher__noun_by_word(const char *word)
{
    for (unsigned noun = 0; noun < USHER__NOUNS; noun++)
        if (usher__nouns[noun] != NULL && strcmp(usher__nouns[noun]->word, word) == 0)
            return usher__nouns[noun];
    return NULL;
}

const struct usher__verb *usher__whole_verb(const char *noun, const char *word)
{
    size_t size = strlen(noun);

    for (unsigned i = 0; i < store_noun.n_verbs; i++) {
        const struct usher__verb *v = &store_noun.verbs[i];

        if (size == 0 ? strcmp(v->word, word) == 0
                      : strncmp(v->word, noun, size) == 0 && v->word[size] == ' ' &&
                            strcmp(v->word + size + 1, word) == 0)
            return v;
    }
    return NULL;
}

bool usher__token_missing(const struct usher__noun *noun, const struct usher__verb *verb,
                          const struct usher_operation *command)
{
    if ((verb->flags & USHER__NEEDS_TOKEN) == 0 || (command->given & noun->token) != 0)
        return false;
    return (verb->flags & USHER__PLACED) == 0 || (noun->texts(command) & 1u) != 0;
}

/* How many: `n` is one argument of several verbs. */
int64_t usher__arg_max(const struct usher__verb *verb, const struct usher__arg *arg)
{
    bool n = verb->verb >> 8 == USHER_SERIAL && arg->given == USHER_GIVEN_SERIAL_N;

    if (n && verb->verb == USHER_SERIAL_TAKE)
        return USHER_SERIAL_TAKE_MAX;
    if (n && (verb->verb == USHER_SERIAL_HOLDS || verb->verb == USHER_SERIAL_SWEEP))
        return USHER_LIST_MAX;
    return arg->max;
}

static const struct usher__arg *arg_of(const struct usher__noun *noun, uint16_t field)
{
    for (unsigned i = 0; i < noun->n_args; i++)
        if (noun->args[i].code == field)
            return &noun->args[i];
    return NULL;
}

bool usher__setting(unsigned verb, unsigned i, const struct usher__field **ret_told,
                    const struct usher__arg **ret_given)
{
    const struct usher__noun *noun = usher__noun(verb >> 8);

    for (unsigned k = 0; k < noun->n_extras; k++) {
        *ret_told = &noun->extras[k];
        if ((*ret_told)->verb == verb && i-- == 0)
            return (*ret_given = arg_of(noun, (*ret_told)->code)) != NULL;
    }
    return false;
}

bool usher__arg_is_span(const struct usher__arg *arg)
{
    return arg->type == USHER__ARG_INT && arg->max == USHER_SPAN_MAX;
}

/* Verbs that occur in notices only. */
static const struct {
    enum usher_verb verb;
    const char *word;
} told[] = {
    { USHER_NUMBER_EXPIRE, "expire" }, { USHER_NUMBER_OUTAGE, "outage" },
    { USHER_ROOM_FADE, "fade" },       { USHER_ROOM_DROP, "drop" },
    { USHER_ROOM_EXPIRE, "expire" },   { USHER_ROOM_EMPTY, "empty" },
    { USHER_ROOM_DONE, "done" },       { USHER_ROOM_PRESENCE, "presence" },
    { USHER_SERIAL_EXPIRE, "expire" }, { USHER_SERIAL_RESET, "reset" },
    { USHER_QUEUE_EXPIRE, "expire" },  { USHER_QUEUE_REQUEUE, "requeue" },
    { USHER_QUEUE_OUTAGE, "outage" },  { USHER_ROOM_OUTAGE, "outage" },
    { USHER_NOTICE_LOST, "lost" },
};

const char *usher_verb_word(enum usher_verb verb)
{
    const struct usher__verb *v = usher__verb((unsigned)verb);

    for (size_t i = 0; v == NULL && i < sizeof told / sizeof *told; i++)
        if (told[i].verb == verb)
            return told[i].word;
    return v != NULL ? v->word : "?";
}

const char *usher_noun_word(enum usher_noun noun)
{
    const struct usher__noun *n = usher__noun((unsigned)noun);

    return n != NULL ? n->word : "?";
}

static const char *const status_words[] = {
#define X(name, code, word, text) [code] = word,
    USHER_STATUS_MAP(X)
#undef X
};
static const char *const status_texts[] = {
#define X(name, code, word, text) [code] = text,
    USHER_STATUS_MAP(X)
#undef X
};
static const char *const why_words[] = { "?",      "none", "busy",   "down",   "resting",
                                         "capped", "due",  "closed", "stopped" };

#define WORD(words, i) ((unsigned)(i) < sizeof(words) / sizeof *(words) ? (words)[i] : "?")
#define LISTED(words, i) /* up to NULL */ \
    ((unsigned)(i) < sizeof(words) / sizeof *(words)-1 ? (words)[i] : "?")

/* Between the classes there are gaps. */
static const char *or_none(const char *word)
{
    return word != NULL ? word : "?";
}

const char *usher_status_word(enum usher_status status)
{
    return or_none(WORD(status_words, status));
}

const char *usher_status_text(enum usher_status status)
{
    return or_none(WORD(status_texts, status));
}

bool usher__is_status(uint64_t code)
{
    return code < sizeof status_words / sizeof *status_words && status_words[code] != NULL;
}

const char *usher_scope_mode_word(enum usher_scope_mode mode)
{
    return (unsigned)mode <= USHER_SCOPE_MODE_STOPPED ? usher__scope_mode_words[mode] : "?";
}

const char *usher_number_why_word(enum usher_number_why why)
{
    return WORD(why_words, why);
}

const char *usher_number_order_word(enum usher_number_order order)
{
    return (unsigned)order <= USHER_NUMBER_ORDER_RANDOM ? usher__order_words[order] : "?";
}

const char *const usher__agent_state_words[] = {
#define S(name, code, word, lists, text) [code] = word,
#include "agent.def"
    [USHER_QUEUE_AGENT_PAUSING] = "pausing",
    NULL,
};
const char *const usher__place_words[] = { "none", "room", "offer", "queue", "away", NULL };
static const char *const queue_why_words[] = { "none", "no-agent", "no-user", "history",
                                               "due",  "closed",   "stopped", "lost" };
const char *const usher__outcome_words[] = { "none",    "seated", "left",  "lost",     "timeout",
                                             "dropped", "cut",    "freed", "requeued", NULL };

const char *usher_queue_agent_state_word(enum usher_queue_agent_state state)
{
    return LISTED(usher__agent_state_words, state);
}

const char *usher_queue_user_state_word(enum usher_queue_user_state state)
{
    return (unsigned)state <= USHER_QUEUE_USER_AWAY ? usher__user_state_words[state] : "?";
}

const char *usher_queue_place_word(enum usher_queue_place place)
{
    return LISTED(usher__place_words, place);
}

const char *usher_queue_why_word(enum usher_queue_why why)
{
    return WORD(queue_why_words, why);
}

const char *usher_queue_outcome_word(enum usher_queue_outcome outcome)
{
    return LISTED(usher__outcome_words, outcome);
}

const char *usher_queue_trigger_word(enum usher_queue_trigger trigger)
{
    return (unsigned)trigger <= USHER_QUEUE_TRIGGER_PULL ? usher__trigger_words[trigger] : "?";
}

const char *usher_queue_strategy_word(enum usher_queue_strategy strategy)
{
    return (unsigned)strategy <= USHER_QUEUE_STRATEGY_RANDOM ? usher__strategy_words[strategy]
                                                             : "?";
}

const char *usher_queue_requeue_word(enum usher_queue_requeue requeue)
{
    return (unsigned)requeue <= USHER_QUEUE_REQUEUE_DROP ? usher__requeue_words[requeue] : "?";
}

static const char *const id_why_words[] = { "none", "back", "class" };

const char *usher_id_why_word(enum usher_id_why why)
{
    return WORD(id_why_words, why);
}
