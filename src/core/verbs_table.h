/* SPDX-License-Identifier: MIT */
/*
 * The tables of one noun, made from its rows.  verbs.c includes this once for each noun with
 * these macros:
 *
 *   NOUN        NUMBER       NOUN_DEF    "number_verbs.def".
 *   NOUN_HIDDEN true for a noun of the engine, or of the whole store.
 *   NOUN_WHOLE  true for the latter.
 *   THE(x)      number_##x   prefix of the generated names.
 *   ARGS(f)     arg.number.f, REPLY(f) of.number.f: in struct usher_operation and usher_result.
 *   ARGS_TYPE   struct usher_number_args.
 *   REPLY_TYPE  struct usher_number_result, ROW_TYPE struct usher_number_result_row.
 *   GIVEN(x)    USHER_GIVEN_##x.
 *   SHARED      arguments that share their field with another one.
 *   FIELD(x)    USHER_FIELD_##x, 0 for a hidden noun.
 *   TYPE(x)     its type, 0 for a hidden noun.
 *
 * and none of them is defined afterwards.
 */

enum THE(arg) {
#define ARG(name, ...) THE(i_##name),
#include NOUN_DEF
    THE(n_args)
};

#define A(name) (UINT64_C(1) << THE(i_##name))
#define IS_TEXT(type) (USHER__ARG_##type < USHER__ARG_INT)

enum {
    THE(texts) = 0
#define ARG(name, word, type, ...) | (IS_TEXT(type) ? A(name) : UINT64_C(0))
#include NOUN_DEF
};

#define ARG(name, word, type, field, given, ...)             \
    _Static_assert(IS_TEXT(type) || GIVEN(given) == A(name), \
                   "USHER_GIVEN_" #given " is not the bit of its row");
#include NOUN_DEF

#define IS_IF_VERSION(name) (FIELD(name) == USHER_FIELD_IF_VERSION)
#define IS_EPOCH(name) (FIELD(name) == USHER_FIELD_EPOCH)

/* Arguments of every verb that writes, if the noun has them. */
enum {
    THE(if_version) = 0
#define ARG(name, ...) | (IS_IF_VERSION(name) ? A(name) : UINT64_C(0))
#include NOUN_DEF
    ,
    THE(if_same) = 0
#define ARG(name, ...) | (IS_IF_VERSION(name) || IS_EPOCH(name) ? A(name) : UINT64_C(0))
#include NOUN_DEF
};
#define TAKEN(keys, flags) ((keys) | (((flags)&WRITES) != 0 ? (uint64_t)THE(if_same) : 0u))

static const struct usher__arg THE(args)[] = {
#define ARG(name, word, type, field, given, min, max, words, standard, help) \
    { word,                                                                  \
      #name,                                                                 \
      USHER__ARG_##type,                                                     \
      (uint16_t)offsetof(struct usher_operation, ARGS(field)),               \
      IS_TEXT(type) ? 0u : A(name),                                          \
      (min),                                                                 \
      (max),                                                                 \
      (words),                                                               \
      FIELD(name),                                                           \
      (standard),                                                            \
      (help) },
#include NOUN_DEF
};

/* No field is that of two arguments: that would not compile. */
static const uint8_t THE(arg_at)[] = {
#define ARG(name, ...) \
    [FIELD(name) != 0 ? FIELD(name) : THE(i_##name)] = (uint8_t)(THE(i_##name) + 1),
#include NOUN_DEF
};

#define EMPTY(mask)                             \
    ((uint64_t)THE(texts) & ~(uint64_t)(mask) & \
     ~((uint64_t)(mask) & (uint64_t)(SHARED) ? (uint64_t)(SHARED) : 0u))

static const struct usher__verb THE(verbs)[] = {
#define VERB(name, word, order, keys, flags, help)                                \
    { VERB_CODE(name),                                                            \
      word,                                                                       \
      order,                                                                      \
      TAKEN(keys, flags),                                                         \
      ((order) | TAKEN(keys, flags)) & (uint64_t)THE(texts),                      \
      EMPTY((order) | TAKEN(keys, flags)),                                        \
      USHER_GIVEN_NOW | (((order) | TAKEN(keys, flags)) & ~(uint64_t)THE(texts)), \
      flags,                                                                      \
      help },
#include NOUN_DEF
};

#define V(name) (1u << ((unsigned)VERB_CODE(name) - ((unsigned)NOUN_CODE << 8) - 1u))
#define ALL_VERBS UINT32_MAX

static const struct usher__field THE(outs)[] = {
#define OUT(type, member, field, verbs)                                                            \
    { USHER__FIELD_##type, TYPE(field), 0, (uint16_t)offsetof(struct usher_result, REPLY(member)), \
      FIELD(field),        verbs },
#include NOUN_DEF
};

enum THE(out) {
#define OUT(type, member, field, verbs) THE(o_##field),
#include NOUN_DEF
    THE(n_outs)
};

/* A field in two of them would not compile. */
static const uint8_t THE(out_at)[] = {
#define OUT(type, member, field, verbs) [FIELD(field)] = (uint8_t)(THE(o_##field) + 1),
#include NOUN_DEF
};

static const struct usher__field THE(extras)[] = {
#define EXTRA(verb, type, member, field)                                           \
    { USHER__FIELD_##type, TYPE(field),                                            \
      VERB_CODE(verb),     (uint16_t)offsetof(struct usher_result, REPLY(member)), \
      FIELD(field),        V(verb) },
#include NOUN_DEF
};

static const struct usher__field THE(row)[] = {
#define ROW(type, member, field, verbs)                                            \
    {                                                                              \
        USHER__FIELD_##type, TYPE(field), 0, (uint16_t)offsetof(ROW_TYPE, member), \
        FIELD(field),        verbs                                                 \
    },
#include NOUN_DEF
};

/* The last one of each is none. */
static const struct usher__field THE(views)[] = {
#define VIEW(type, member, field, verbs)                                                           \
    { USHER__FIELD_##type, TYPE(field), 0, (uint16_t)offsetof(struct usher_result, REPLY(member)), \
      FIELD(field),        verbs },
#include NOUN_DEF
    { 0 }
};

static const struct usher__field THE(row_views)[] = {
#define ROW_VIEW(type, member, field, verbs)                                       \
    {                                                                              \
        USHER__FIELD_##type, TYPE(field), 0, (uint16_t)offsetof(ROW_TYPE, member), \
        FIELD(field),        verbs                                                 \
    },
#include NOUN_DEF
    { 0 }
};

static const struct usher__notice_subject THE(notice_subjects)[] = {
#define NOTICE_SUBJECT(kind, name, state, owner) \
    { USHER_SUBJECT_##kind, FIELD(name), FIELD(state), FIELD(owner) },
#include NOUN_DEF
    { 0 }
};

static const uint16_t THE(notice_data)[] = {
#define NOTICE_DATA(field) FIELD(field),
#include NOUN_DEF
    0
};

static const struct usher__key THE(keys)[] = {
#define KEY(verbs, on, as, field, key, none, when) \
    { verbs, on, FIELD(field), USHER__AS_##as, USHER__NONE_##none, key, when },
#define KEYS(verbs, on, ...) EACH(verbs, on, __VA_ARGS__)
#include NOUN_DEF
    { 0 }
};

static const struct usher__key THE(row_keys)[] = {
#define ROW_KEY(verbs, as, field, key, none, when) \
    { verbs, ALWAYS, FIELD(field), USHER__AS_##as, USHER__NONE_##none, key, when },
#define ROW_KEYS(verbs, ...) EACH(verbs, ALWAYS, __VA_ARGS__)
#include NOUN_DEF
    { 0 }
};

static const struct usher__echo THE(echoes)[] = {
#define ECHO(arg, field, verbs) { verbs, THE(i_##arg), FIELD(field) },
#include NOUN_DEF
    { 0 }
};

static uint64_t THE(texts_given)(const struct usher_operation *command)
{
    const char *at = (const char *)command;
    uint64_t given = 0;

#define ARG(name, word, type, field, ...)                                                          \
    if (IS_TEXT(type) &&                                                                           \
        ((const struct usher_text *)(const void *)(at +                                            \
                                                   offsetof(struct usher_operation, ARGS(field)))) \
                ->data != NULL)                                                                    \
        given |= A(name);
#include NOUN_DEF
    return given;
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const struct usher__noun THE(noun) = {
    .noun = NOUN_CODE,
    .hidden = NOUN_HIDDEN,
    .whole = NOUN_WHOLE,
    .word = NOUN_WORD,
    .scope = NOUN_SCOPE,
    .items = { NOUN_ITEMS },
    .args = THE(args),
    .args_size = sizeof(ARGS_TYPE),
    .n_args = THE(n_args),
    .arg_at = THE(arg_at),
    .n_arg_at = COUNT(THE(arg_at)),
    .texts = THE(texts_given),
    .token = 0u
#define ARG(name, word, type, ...) | (USHER__ARG_##type == USHER__ARG_TOKEN ? A(name) : UINT64_C(0))
#include NOUN_DEF
    ,
    .if_version = THE(if_version),
    .if_version_at = 0u
#define ARG(name, word, type, field, ...) \
    +(IS_IF_VERSION(name) ? offsetof(struct usher_operation, ARGS(field)) : 0u)
#include NOUN_DEF
    ,
    .epoch_at = 0u
#define ARG(name, word, type, field, ...) \
    +(IS_EPOCH(name) ? offsetof(struct usher_operation, ARGS(field)) : 0u)
#include NOUN_DEF
    ,
    .verbs = THE(verbs),
    .n_verbs = COUNT(THE(verbs)),
    .outs = THE(outs),
    .n_outs = COUNT(THE(outs)),
    .out_at = THE(out_at),
    .n_out_at = COUNT(THE(out_at)),
    .more_at = 0u
#define OUT(type, member, field, verbs) \
    +(FIELD(field) == USHER_FIELD_MORE ? offsetof(struct usher_result, REPLY(member)) : 0u)
#include NOUN_DEF
    ,
    .partial_at = 0u
#define OUT(type, member, field, verbs) \
    +(FIELD(field) == USHER_FIELD_PARTIAL ? offsetof(struct usher_result, REPLY(member)) : 0u)
#include NOUN_DEF
    ,
    .extras = THE(extras),
    .n_extras = COUNT(THE(extras)),
    .row = THE(row),
    .n_row = COUNT(THE(row)),
    .extra_verbs = 0u
#define EXTRA(verb, ...) | V(verb)
#include NOUN_DEF
    ,
    .view_verbs = 0u
#define VIEW(type, member, field, verbs) | (verbs)
#include NOUN_DEF
    ,
    .row_verbs = 0u
#define ROW(type, member, field, verbs) | (verbs)
#define ROW_VIEW(type, member, field, verbs) | (verbs)
#include NOUN_DEF
    ,
    .views = THE(views),
    .n_views = COUNT(THE(views)) - 1,
    .row_views = THE(row_views),
    .n_row_views = COUNT(THE(row_views)) - 1,
    .keys = THE(keys),
    .row_keys = THE(row_keys),
    .echoes = THE(echoes),
    .notice_subjects = THE(notice_subjects),
    .notice_data = THE(notice_data),
    .row_size = sizeof(ROW_TYPE),
    .n_rows_at = offsetof(struct usher_result, REPLY(n_rows)),
    .rows_at = offsetof(struct usher_result, REPLY(rows)),
    .reply_size = sizeof(REPLY_TYPE),
};

#undef A
#undef IS_TEXT
#undef EMPTY
#undef COUNT
#undef IS_IF_VERSION
#undef IS_EPOCH
#undef TAKEN
#undef NOUN_CODE
#undef NOUN_WORD
#undef NOUN_SCOPE
#undef NOUN_ITEMS
#undef NOUN_HIDDEN
#undef NOUN_WHOLE
#undef NOUN_DEF
#undef THE
#undef ARGS
#undef ARGS_TYPE
#undef REPLY
#undef REPLY_TYPE
#undef ROW_TYPE
#undef GIVEN
#undef VERB_CODE
#undef SHARED
#undef FIELD
#undef TYPE
#undef V
#undef ALL_VERBS
