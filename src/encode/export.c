/* SPDX-License-Identifier: MIT */
/* The transition tables as text: for people, for pictures, and for the Redis script. */
#include "config.h"

#include <usher/store/operation.h>

#include <stdio.h>
#include <string.h>

#include "builtin.h"
#include "core/changes.h"
#include "core/machine.h"
#include "core/pack.h"
#include "core/verbs.h"
#include "change/thread.h"
#include "change/hooks.h"
#include "change/result.h"
#include "encode/export.h"
#include "change/request_cache.h"
#include "change/work.h"

/* ---- for people -------------------------------------------------------------------- */

static void machine_markdown(struct usher__out *o, const struct usher__machine *m)
{
    usher__print(o, "| state | meaning |\n| --- | --- |\n");
    for (unsigned s = 0; s < m->n_states; s++)
        usher__print(o, "| %s | %s |\n", m->state_words[s], m->state_texts[s]);
    usher__print(o, "\n| event | meaning |\n| --- | --- |\n");
    for (unsigned e = 0; e < m->n_events; e++)
        usher__print(o, "| %s | %s |\n", m->event_words[e], m->event_texts[e]);
    if (m->n_guards > 1)
        usher__print(o, "\n| if | meaning |\n| --- | --- |\n");
    for (unsigned g = 1; g < m->n_guards; g++)
        usher__print(o, "| %s | %s |\n", m->guard_words[g], m->guard_texts[g]);
    usher__print(
        o, "\n| from | event | if | to | status | why |\n| --- | --- | --- | --- | --- | --- |\n");
    for (unsigned i = 0; i < m->n_rows; i++) {
        const struct usher__machine_row *row = &m->rows[i];

        usher__print(o, "| %s | %s | %s | %s | %s | %s |\n", m->state_words[row->from],
                     m->event_words[row->event], m->guard_words[row->guard],
                     m->state_words[row->to], usher_status_word((enum usher_status)row->status),
                     row->why);
    }
}

/* The events that lead from one state to another, on one arrow. */
static void machine_dot(struct usher__out *o, const struct usher__machine *m)
{
    usher__print(o, "digraph %s {\n    rankdir=LR;\n    node [shape=box, style=rounded];\n",
                 m->word);
    for (unsigned s = 0; s < m->n_states; s++)
        usher__print(o, "    \"%s\" [tooltip=\"%s\"];\n", m->state_words[s], m->state_texts[s]);
    for (unsigned k = 0; k < m->n_states * m->n_states; k++) {
        unsigned from = k / m->n_states, to = k % m->n_states, said = m->n_events;

        for (unsigned i = 0; i < m->n_rows; i++) {
            const struct usher__machine_row *row = &m->rows[i];

            if (row->from != from || row->to != to || row->status != USHER_OK || row->event == said)
                continue;
            if (said < m->n_events)
                usher__print(o, ", ");
            else
                usher__print(o, "    \"%s\" -> \"%s\" [label=\"", m->state_words[from],
                             m->state_words[to]);
            usher__print(o, "%s", m->event_words[row->event]);
            said = row->event;
        }
        if (said < m->n_events)
            usher__print(o, "\"];\n");
    }
    usher__print(o, "}\n");
}

/* ---- for Lua ----------------------------------------------------------------------- */

/*
 * Constants by name, each on a line `local NAME = value`.  The Redis script has their values
 * put in for K.NAME, so tables are strings, looked up by position: words stand in columns of
 * fixed width; a move is two characters, the state from '0' and the status from 'A'.
 */

static void print_bits(struct usher__out *o, uint64_t bits)
{
    const char *comma = "";

    for (unsigned i = 0; i < 64; i++) {
        if ((bits >> i & 1u) == 0)
            continue;
        usher__print(o, "%s%u", comma, i);
        comma = ",";
    }
}

/* The index of the first argument in the array of a command: usher_operation_pack(). */
#define FIRST_ARGUMENT 7

/* Write ORDER_RANDOM and similar names: the codes of an argument that is one of several words. */
static void codes_lua(struct usher__out *o, const struct usher__arg *arg)
{
    char prefix[40];

    if (arg->type != USHER__ARG_WORD)
        return;
    (void)snprintf(prefix, sizeof prefix, "%s_", arg->name);
    for (int64_t code = arg->min; code <= arg->max; code++)
        usher__print_int(o, prefix, arg->words[code], (long long)code);
}

/* The fields of an answer without values, as bytes, by verb that writes. */
static void blanks_lua(struct usher__out *o, const struct usher__noun *noun)
{
    struct usher_result blank;
    unsigned char bytes[512];

    usher__result_init(&blank, (enum usher_noun)noun->noun, NULL);
    usher__print(o, "local BLANKS = {");
    for (unsigned i = 0; i < noun->n_verbs; i++) {
        struct usher__packer p = { bytes, sizeof bytes, 0 };

        if ((noun->verbs[i].flags & USHER__WRITES) == 0)
            continue;
        usher__fields_pack(&p, noun, (enum usher_verb)noun->verbs[i].verb, &blank);
        usher__print(o, "%s[%u]='", i > 0 ? "," : "", noun->verbs[i].verb);
        for (size_t k = 0; k < p.n && k < sizeof bytes; k++)
            usher__print(o, "\\%u", bytes[k]);
        usher__print(o, "'");
    }
    usher__print(o, "}\n");
}

/* Write the constants of all nouns. */
static void common_lua(struct usher__out *o, const struct usher__noun *noun)
{
    usher__print(o, "local NOUN = '%s'\nlocal FORMAT = 11\nlocal STATUSES = '", noun->word);
    for (unsigned s = 0; s <= USHER_NOMEM; s++)
        if (usher__is_status(s))
            usher__print(o, " %u=%s", s, usher_status_word((enum usher_status)s));
    usher__print(o, " '\n");
    for (unsigned s = 0; s <= USHER_NOMEM; s++)
        if (usher__is_status(s))
            usher__print_int(o, "", usher_status_word((enum usher_status)s), s);
    usher__print(o, "local VERBS = '");
    for (unsigned i = 0; i < noun->n_verbs; i++) {
        usher__print(o, " %s=%u:", noun->verbs[i].word, noun->verbs[i].verb);
        print_bits(o, noun->verbs[i].order);
        usher__print(o, ":");
        print_bits(o, noun->verbs[i].keys);
    }
    usher__print(o, " '\n");
    for (unsigned i = 0; i < noun->n_verbs; i++)
        usher__print_int(o, "V_", noun->verbs[i].word, noun->verbs[i].verb);
    usher__print(o, "local CREATES = '");
    for (unsigned i = 0; i < noun->n_verbs; i++)
        if ((noun->verbs[i].flags & USHER__CREATES) != 0)
            usher__print(o, " %u ", noun->verbs[i].verb);
    usher__print(o, "'\nlocal FREES = '");
    for (unsigned i = 0; i < noun->n_verbs; i++)
        if ((noun->verbs[i].flags & (USHER__FREES | USHER__READS)) != 0)
            usher__print(o, " %u ", noun->verbs[i].verb);
    usher__print(o, "'\n");
    blanks_lua(o, noun);
    usher__print(o, "local ARGS = '");
    for (unsigned i = 0; i < noun->n_args; i++) {
        const struct usher__arg *arg = &noun->args[i];

        usher__print(o, " %u=%s:%c:%lld:%lld", i, arg->word,
                     arg->type == USHER__ARG_VALUE    ? 'v'
                     : arg->type == USHER__ARG_MAYBE  ? 'm'
                     : arg->type == USHER__ARG_EPOCH  ? 'e'
                     : arg->type == USHER__ARG_FIELDS ? 'f'
                     : arg->given == 0                ? 't'
                     : arg->type == USHER__ARG_WIDE   ? 'w'
                                                      : 'n',
                     (long long)arg->min,
                     arg->type == USHER__ARG_TOKEN ? 9007199254740992LL : (long long)arg->max);
    }
    usher__print(o, " '\nlocal ARG_LISTS = '");
    for (unsigned i = 0; i < noun->n_args; i++)
        if (noun->args[i].type == USHER__ARG_GROUP || noun->args[i].type == USHER__ARG_GROUPS)
            usher__print(o, " %u%c ", i, noun->args[i].type == USHER__ARG_GROUP ? 'g' : 'l');
    usher__print(o, "'\nlocal OWN_ARGS = '");
    for (unsigned i = 0; i < noun->n_args; i++)
        if ((noun->args[i].given & usher__steps(noun->noun)->own) != 0)
            usher__print(o, " %u ", i);
    /* 1: PLACED; else the position of the token */
    usher__print(o, "'\nlocal NEEDS_TOKEN = '");
    for (unsigned i = 0; i < noun->n_verbs; i++)
        for (unsigned k = 0; k < noun->n_args; k++)
            if ((noun->verbs[i].flags & USHER__NEEDS_TOKEN) != 0 && noun->args[k].given != 0 &&
                noun->args[k].given == noun->token)
                usher__print(o, " %u=%d:%u", noun->verbs[i].verb,
                             (noun->verbs[i].flags & USHER__PLACED) != 0, FIRST_ARGUMENT + k);
    usher__print(o, " '\nlocal PERMANENT = '!%064d'\n", 0);
    usher__print_int(o, "", "ARG", FIRST_ARGUMENT);
    usher__print_int(o, "ARG_", "END", FIRST_ARGUMENT + noun->n_args);
    for (unsigned i = 0; i < noun->n_args; i++)
        usher__print_int(o, "ARG_", noun->args[i].name, FIRST_ARGUMENT + i);
    /* there is no such argument */
    if (noun->if_version == 0)
        usher__print_int(o, "ARG_", "IF_VERSION", 0);
    if (noun->epoch_at == 0)
        usher__print_int(o, "ARG_", "EPOCH", 0);
    if (usher__changes_verb((enum usher_noun)noun->noun) == NULL)
        usher__print_int(o, "ARG_", "SINCE_VERSION", 0);
    for (unsigned i = 0; i < noun->n_args; i++)
        codes_lua(o, &noun->args[i]);
    usher__print_int(o, "", "GAPS", USHER_GAPS);
    usher__print_int(o, "", "DIRECT", USHER_EXACT_MAX + 1); /* 2^53 */
    usher__print_int(o, "", "TIME_MAX", USHER_TIME_MAX);
    usher__print_int(o, "", "SKEW_DEFAULT", USHER_SKEW_DEFAULT);
    usher__print_int(o, "", "REQUEST_MS", USHER__REQUEST_MS);
    usher__print_int(o, "", "EXPIRE_MAX", USHER__EXPIRE_MAX);
    usher__print_int(o, "", "OUTAGE_LOOKS", USHER__OUTAGE_LOOKS);
    usher__print_int(o, "", "STEP_MAX", USHER__STEP_MAX);
    usher__print_int(o, "", "LIST_MAX", USHER_LIST_MAX);
    usher__print_int(o, "", "PAGE_MAX", USHER_PAGE_MAX);
    usher__print_int(o, "", "COMMAND_FIELDS_MAX", USHER_FIELDS_MAX);
    usher__print_int(o, "", "LIST_DEFAULT", USHER_LIST_DEFAULT);
}

/* Write the beginnings of stored records, in columns of 10: the word of the state, or of the kind
 * if it has no states.  For each kind from 1 up there is a row of the states from 0 to 9. */
static void words_lua(struct usher__out *o, const struct usher__steps *steps)
{
    usher__print(o, "local WORDS = '");
    for (unsigned kind = 1; kind < USHER_KINDS; kind++)
        for (unsigned state = 0; state < 10; state++) {
            const char *word = steps->state_word(kind, state);

            usher__print(o, "%-10s",
                         word != NULL ? word
                         : state == 0 ? usher__kind_word(steps, kind)
                                      : "?");
        }
    usher__print(o, "'\n");
}

/* Write the positions of settings in scope.settings, and the arguments that change them. */
static void settings_lua(struct usher__out *o, unsigned verb)
{
    const struct usher__noun *noun = usher__noun(verb >> 8);
    const struct usher__field *told;
    const struct usher__arg *given;
    unsigned n = 0;

    for (; usher__setting(verb, n, &told, &given); n++)
        usher__print_int(o, "SET_", given->name, n);
    usher__print_int(o, "", "SETTINGS", n);
    usher__print(o, "local SETTING_ARGS = {");
    for (unsigned i = 0; usher__setting(verb, i, &told, &given); i++)
        usher__print(o, "%s%u", i > 0 ? ", " : "", FIRST_ARGUMENT + (unsigned)(given - noun->args));
    usher__print(o, "}\n");
}

/* Write the packing of the header, its counts and the settings, the size of a header, and counts of
 * zero. */
static void packed_lua(struct usher__out *o)
{
    usher__print(o, "local HEAD_PACKED = '>Bc16I7I7i7I7");
    for (int i = 0; i < USHER_COUNTS; i++)
        usher__print(o, "i7");
    usher__print(o, "'\nlocal COUNTS_PACKED = '>");
    for (int i = 0; i < USHER_COUNTS; i++)
        usher__print(o, "i7");
    usher__print(o, "'\nlocal SETTINGS_PACKED = '>");
    for (int i = 0; i < USHER_SETTINGS; i++)
        usher__print(o, "i7");
    usher__print(o, "'\nlocal NO_COUNTS = {0");
    for (int i = 1; i < USHER_COUNTS; i++)
        usher__print(o, ", 0");
    usher__print(o, "}\n");
    usher__print_int(o, "", "HEAD_SIZE", 1 + 16 + 4 * 7 + USHER_COUNTS * 7);
}

/* Write a row that has a notice, without the notice, and the position of that. */
static void notice_row_lua(struct usher__out *o, const struct usher__noun *noun)
{
    unsigned at = 0;

    usher__print(o, "local NOTICE_ROW = {");
    for (unsigned i = 0; i < noun->n_row; i++) {
        unsigned type = noun->row[i].type;

        usher__print(o, "%s%s", i > 0 ? ", " : "",
                     type >= USHER__FIELD_TEXT   ? "''"
                     : type == USHER__FIELD_WIDE ? "'0'"
                                                 : "0");
        if (noun->row[i].code == USHER_FIELD_VALUE)
            at = i + 1;
    }
    usher__print(o, "}\n");
    usher__print_int(o, "", "NOTICE_AT", at);
}

/* Write the name of a field, and the words of its codes, each after a slash. */
static void field_lua(struct usher__out *o, const struct usher__noun *noun,
                      const struct usher__field *f)
{
    const struct usher_field_about *about = usher_about_field(f->code);

    for (const char *word = about->word; *word != '\0'; word++)
        usher__print(o, "%c", *word == '-' ? '_' : *word);
    if (f->type != USHER__FIELD_CODE)
        return;
    for (int64_t code = 0; code < 16; code++) {
        const char *word = usher_code_word((enum usher_noun)noun->noun, f->code, code);

        usher__print(o, "/%s", word != NULL ? word : "");
    }
}

static void row_lua(struct usher__out *o, const struct usher__noun *noun,
                    const struct usher__field *f, unsigned at)
{
    if (f->code == 0 || f->verbs == 0 || f->type == USHER__FIELD_MADE)
        return;
    usher__print(o, " %u=", at);
    field_lua(o, noun, f);
    usher__print(o, ":.");
    for (unsigned i = 0; i < 32; i++)
        if ((f->verbs >> i & 1u) != 0 && i < noun->n_verbs)
            usher__print(o, "%u.", i + 1);
}

/* Write, for answers to direct calls, the number of fields of all answers, the names of those of
 * one verb, and of the fields of rows with the verbs whose rows have them (the low byte of their
 * codes). */
static void names_lua(struct usher__out *o, const struct usher__noun *noun)
{
    unsigned verb = 0;

    usher__print_int(o, "", "OUTS", noun->n_outs);
    usher__print(o, "local EXTRAS = '");
    for (unsigned i = 0; i < noun->n_extras; i++) {
        const struct usher__field *f = &noun->extras[i];

        if (f->code == 0)
            continue;
        if (f->verb != verb)
            usher__print(o, " %u=", f->verb);
        verb = f->verb;
        field_lua(o, noun, f);
        usher__print(o, ",");
    }
    usher__print(o, " '\nlocal ROW = '");
    for (unsigned i = 0; i < noun->n_row; i++) {
        row_lua(o, noun, &noun->row[i], i + 1);
        for (unsigned k = 0; k < noun->n_row_views; k++)
            if (noun->row_views[k].offset == noun->row[i].offset)
                row_lua(o, noun, &noun->row_views[k], i + 1);
    }
    usher__print(o, " '\nlocal NOTICES = '");
    for (unsigned code = noun->noun * 256u + 1; code % 256 != 0; code++)
        if (usher__verb(code) == NULL && strcmp(usher_verb_word((enum usher_verb)code), "?") != 0)
            usher__print(o, " %s=%u:", usher_verb_word((enum usher_verb)code), code);
    usher__print(o, " '\n");
}

/* Return a noun with steps, or NULL if @word is none. */
static const struct usher__noun *stored(const char *word)
{
    const struct usher__noun *noun = usher__noun_by_word(word);

    return noun != NULL && usher__steps(noun->noun) != NULL ? noun : NULL;
}

/* The position of no setting.  struct.unpack() returns one value after the settings. */
#define NO_SETTING (USHER_SETTINGS + 1)

/* Return the position of the setting `push` in scope.settings, or NO_SETTING. */
static int push_setting(const struct usher__steps *steps)
{
    const struct usher__field *told;
    const struct usher__arg *given;

    for (unsigned i = 0;
         steps->settings_verb != 0 && usher__setting(steps->settings_verb, i, &told, &given); i++)
        if (told->code == USHER_FIELD_PUSH)
            return (int)i;
    for (int i = 0; i < USHER_SETTINGS; i++)
        if (steps->setting_names[i] != NULL && strcmp(steps->setting_names[i], "PUSH") == 0)
            return i;
    return NO_SETTING;
}

/* Write the last byte of that setting among the packed ones.  A noun without it has names of no
 * setting and no argument. */
static void push_lua(struct usher__out *o, const struct usher__steps *steps)
{
    int at = push_setting(steps);

    usher__print_int(o, "PUSH_", "AT", 7LL * (at + 1));
    if (at == NO_SETTING) {
        usher__print_int(o, "SET_", "PUSH", at);
        usher__print_int(o, "ARG_", "PUSH", 0);
    }
}

/* Write constants of the noun's steps: counts, settings, defaults, and its own. */
static void steps_lua(struct usher__out *o, const struct usher__noun *noun, bool direct)
{
    const struct usher__steps *steps = usher__steps(noun->noun);
    struct usher_scope scope;

    packed_lua(o);
    words_lua(o, steps);
    memset(&scope, 0, sizeof scope);
    steps->defaults(&scope);
    usher__print(o, "local DEFAULTS = {");
    for (int i = 0; i < USHER_SETTINGS; i++)
        usher__print(o, "%s%lld", i > 0 ? ", " : "", (long long)scope.settings[i]);
    usher__print(o, "}\nlocal FIRST = '%s'\nlocal LISTED = '%s'\n", steps->first, steps->listed);
    usher__print(o, "local DROPS = '%s'\n", steps->drops != NULL ? steps->drops : "");
    usher__print_int(o, "", "DROP_VERB", steps->drop_verb);
    usher__print_int(o, "", "DROP_MAX", USHER__DROP_MAX);
    usher__print_int(o, "", "DROPPING", USHER__DROPPING);
    notice_row_lua(o, noun);
    names_lua(o, noun);
    usher__print(o, "local LOG_KIND = '%u'\n", steps->log.kind);
    usher__print_int(o, "LOG_", "SET", steps->log.setting);
    usher__print_int(o, "LOG_", "CHANGES", steps->log.changes);
    usher__print_int(o, "LOG_", "SINCE", steps->log.since);
    usher__print_int(o, "LOG_", "MARK", steps->log.mark);
    usher__print_int(o, "LOG_", "TOTAL", steps->log_total);
    for (int i = 0; i < USHER_COUNTS; i++)
        if (steps->count_names[i] != NULL)
            usher__print_int(o, "COUNT_", steps->count_names[i], i);
    for (int i = 0; i < USHER_SETTINGS; i++)
        if (steps->setting_names[i] != NULL)
            usher__print_int(o, "SET_", steps->setting_names[i], i);
    if (steps->settings_verb != 0)
        settings_lua(o, steps->settings_verb);
    push_lua(o, steps);
    for (const struct usher__constant *c = steps->constants; c->name != NULL; c++)
        usher__print_int(o, "", c->name, (long long)c->value);
    if (direct)
        usher__json_lua(o, noun);
}

/*
 * AGENT_IDLE, AGENT_E_LOGIN, AGENT_IF_HOLDER; AGENT_STATES (words); AGENT_MOVES and AGENT_LISTS:
 * the first arguments of S.move() and S.slots() of lua/common.lua.
 */
static void machine_lua(struct usher__out *o, const struct usher__machine *m)
{
    char prefix[40];
    size_t n = strlen(m->word);

    (void)snprintf(prefix, sizeof prefix, "%s_", m->word);
    for (size_t i = 0; i < n; i++)
        prefix[i] = (char)(prefix[i] - 32); /* words of machines are a to z */
    for (unsigned s = 0; s < m->n_states; s++)
        usher__print_int(o, prefix, m->state_words[s], s);
    usher__print(o, "local %sSTATES = '", prefix);
    for (unsigned s = 0; s < m->n_states; s++)
        usher__print(o, "%-10s", m->state_words[s]);
    usher__print(o, "'\nlocal %sMOVES = '", prefix);
    for (unsigned k = 0; k < m->n_states * m->n_events * m->n_guards; k++) {
        unsigned event = k / m->n_guards;
        struct usher__move move =
            usher__machine_move(m, event / m->n_events, event % m->n_events, k % m->n_guards);

        usher__print(o, "%c%c", move.row ? '0' + move.to : '?', 'A' + move.status);
    }
    usher__print(o, "', %u, %u\nlocal %sLISTS = ", m->n_events, m->n_guards, prefix);
    for (int due = 0; due < 2; due++) {
        uint64_t lists = 0; /* a digit to the base of 8 for each state */

        for (unsigned s = m->n_states; s-- > 0;)
            lists = lists * 8 + m->lists[s][due];
        usher__print(o, "%s%llu", due != 0 ? ", " : "", (unsigned long long)lists);
    }
    usher__print(o, "\n");
    (void)snprintf(prefix + n, sizeof prefix - n, "_E_");
    for (unsigned e = 0; e < m->n_events; e++)
        usher__print_int(o, prefix, m->event_words[e], e);
    (void)snprintf(prefix + n, sizeof prefix - n, "_IF_");
    for (unsigned g = 0; g < m->n_guards; g++)
        usher__print_int(o, prefix, m->guard_words[g], g);
}

/* ------------------------------------------------------------------------------------ */

static const struct usher__machine *machine_by_word(const char *word)
{
    for (size_t i = 0; usher__machines[i] != NULL; i++)
        if (strcmp(usher__machines[i]->word, word) == 0)
            return usher__machines[i];
    return NULL;
}

static enum usher_status arguments(const char *call, const char *noun, const char *buffer,
                                   size_t size, const size_t *ret_length)
{
    usher__message_clear();
    if (noun == NULL || ret_length == NULL || (buffer == NULL && size != 0)) {
        usher__message_set("%s: an argument is NULL", call);
        return USHER_INVALID;
    }
    if (stored(noun) == NULL && machine_by_word(noun) == NULL) {
        usher__message_set("%s: unknown noun: %.40s", call, noun);
        return USHER_INVALID;
    }
    return USHER_OK;
}

enum usher_status usher_table(const char *noun, enum usher_table_format format, char *buffer,
                              size_t size, size_t *ret_length)
{
    struct usher__out o = { buffer, size, 0 };
    const struct usher__machine *machine;
    const struct usher__noun *of;
    bool is_lua = format == USHER_TABLE_LUA || format == USHER_TABLE_LUA_DIRECT;
    enum usher_status status = arguments("table", noun, buffer, size, ret_length);

    if (status != USHER_OK)
        return status;
    if (size > 0)
        buffer[0] = '\0';
    machine = machine_by_word(noun);
    of = stored(noun);
    if (is_lua && of != NULL) {
        common_lua(&o, of);
        steps_lua(&o, of, format == USHER_TABLE_LUA_DIRECT);
        if (usher__hooks(of->noun)->lua != NULL)
            usher__hooks(of->noun)->lua(&o);
        for (size_t i = 0; usher__machines[i] != NULL; i++)
            if ((unsigned)usher__machines[i]->noun == of->noun)
                machine_lua(&o, usher__machines[i]);
    } else if (is_lua) {
        machine_lua(&o, machine);
    } else if (format == USHER_TABLE_MARKDOWN || format == USHER_TABLE_DOT) {
        bool dot = format == USHER_TABLE_DOT;

        if (of == NULL)
            (dot ? machine_dot : machine_markdown)(&o, machine);
        for (size_t i = 0; of != NULL && usher__machines[i] != NULL; i++)
            if ((unsigned)usher__machines[i]->noun == of->noun)
                (dot ? machine_dot : machine_markdown)(&o, usher__machines[i]);
    } else {
        usher__message_set("table: unknown format");
        return USHER_INVALID;
    }
    *ret_length = o.length;
    return USHER_OK;
}

enum usher_status usher_lua(const char *noun, char *buffer, size_t size, size_t *ret_length)
{
    enum usher_status status = arguments("lua", noun, buffer, size, ret_length);

    if (status != USHER_OK)
        return status;
    if (usher__builtin_direct_script == NULL) {
        usher__message_set("lua: built without Redis");
        return USHER_INVALID;
    }
    status = usher__builtin_direct_script(noun, buffer, size, ret_length);
    if (status == USHER_INVALID) /* while a noun is being developed */
        usher__message_set("lua: %s has no script, or it names a K.NAME that "
                           "`usher tables %s --lua` does not have",
                           noun, noun);
    return status;
}
