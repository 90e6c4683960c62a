/* SPDX-License-Identifier: MIT */
/*
 * Constants for the Lua that writes answers of direct calls as JSON (direct_json.lua): the keys of
 * answers and rows, where their values are in what the script has, and the words of codes.
 *
 * A field is ` code:position:kind:verbs`.  The kind is which values say nothing: T a time (0 and
 * below), N a number below 0, K a number 0, S an empty text, X a text unless there is more; A and V
 * are always there, and M is made of other values.  A key is the members of struct usher__key with
 * the type of its field at the end, and a code that says nothing is empty.
 */
#include "config.h"

#include <string.h>

#include "core/verbs.h"
#include "change/hooks.h"
#include "encode/result_fields.h"
#include "encode/export.h"

static char kind_of(const struct usher__noun *noun, const struct usher__field *f)
{
    switch (f->type) {
    case USHER__FIELD_MADE:
        return 'M';
    case USHER__FIELD_NEXT:
        return 'X';
    case USHER__FIELD_NAME:
    case USHER__FIELD_TEXT:
    case USHER__FIELD_VALUE:
        return f->told == USHER_TYPE_BYTES ? 'V' : 'S';
    case USHER__FIELD_BOOL:
        return 'A';
    default:
        break;
    }
    if (!usher__left_out(f, (enum usher_noun)noun->noun, 0))
        return usher__left_out(f, (enum usher_noun)noun->noun, -1) ? 'N' : 'A';
    return usher__left_out(f, (enum usher_noun)noun->noun, -1) ? 'T' : 'K';
}

static void field_json(struct usher__out *o, const struct usher__noun *noun,
                       const struct usher__field *f, unsigned at, uint32_t verbs)
{
    if (f->code != 0 && verbs != 0)
        usher__print(o, " %u:%u:%c:%u", f->code, at, kind_of(noun, f), (unsigned)verbs);
}

/* The number, from 1 up, of the field of @fields that stands at @offset. */
static unsigned place_of(const struct usher__field *fields, unsigned n, uint16_t offset)
{
    for (unsigned i = 0; i < n; i++)
        if (fields[i].offset == offset)
            return i + 1;
    return 0;
}

/* Positions of the fields of answers and of rows; an answer has 8 values of its own first. */
static void fields_json(struct usher__out *o, const struct usher__noun *noun)
{
    unsigned verb = 0, k = 0, more = 0;

    usher__print(o, "local JSON_FIELDS = '");
    for (unsigned i = 0; i < noun->n_outs; i++) {
        field_json(o, noun, &noun->outs[i], 9 + i, noun->outs[i].verbs);
        if (noun->outs[i].offset == noun->more_at)
            more = 9 + i;
    }
    for (unsigned i = 0; i < noun->n_views; i++)
        field_json(o, noun, &noun->views[i],
                   8 + place_of(noun->outs, noun->n_outs, noun->views[i].offset),
                   noun->views[i].verbs);
    for (unsigned i = 0; i < noun->n_extras; i++) {
        k = noun->extras[i].verb == verb ? k + 1 : 0;
        verb = noun->extras[i].verb;
        field_json(o, noun, &noun->extras[i], 9 + noun->n_outs + k, noun->extras[i].verbs);
    }
    usher__print(o, " '\n");
    usher__print_int(o, "JSON_", "MORE", more);
    usher__print(o, "local JSON_ROW = '");
    for (unsigned i = 0; i < noun->n_row; i++)
        field_json(o, noun, &noun->row[i], i + 1, noun->row[i].verbs);
    for (unsigned i = 0; i < noun->n_row_views; i++)
        field_json(o, noun, &noun->row_views[i],
                   place_of(noun->row, noun->n_row, noun->row_views[i].offset),
                   noun->row_views[i].verbs);
    usher__print(o, " '\n");
}

static char type_of(const struct usher__key *k)
{
    switch (usher_about_field(k->field)->type) {
    case USHER_TYPE_TEXT:
        return 't';
    case USHER_TYPE_BYTES:
        return 'y';
    case USHER_TYPE_TOKEN:
        return 'k';
    case USHER_TYPE_CODE:
        return 'c';
    case USHER_TYPE_BOOL:
        return 'b';
    default:
        return usher__never_zero(k->field) ? 'i' : 'n';
    }
}

static void number_json(struct usher__out *o, unsigned number)
{
    if (number != 0)
        usher__print(o, "%u", number);
    usher__print(o, ",");
}

static void keys_json(struct usher__out *o, const char *name, const struct usher__key *keys)
{
    usher__print(o, "local %s = '", name);
    for (const struct usher__key *k = keys; k != NULL && k->verbs != 0; k++) {
        const char *word = k->key != NULL ? k->key : usher_about_field(k->field)->word;

        number_json(o, (unsigned)k->verbs);
        number_json(o, (unsigned)k->on);
        number_json(o, k->field);
        number_json(o, k->as);
        number_json(o, k->none);
        for (; *word != '\0'; word++)
            usher__print(o, "%c", *word == '-' ? '_' : *word);
        usher__print(o, ",");
        number_json(o, k->when);
        number_json(o, k->when_of);
        number_json(o, k->codes == UINT32_MAX ? 0 : (unsigned)k->codes);
        usher__print(o, "%c;", type_of(k));
    }
    usher__print(o, "'\n");
}

/* The words of the codes of @field from 0 up, each after a slash. */
static void words_json(struct usher__out *o, const struct usher__noun *noun, unsigned field)
{
    const struct usher_field_about *about = usher_about_field(field);
    const char *word;

    if (about == NULL || about->type != USHER_TYPE_CODE)
        return;
    usher__print(o, " %u=", field);
    for (int64_t code = 0; code < 32; code++) {
        word = usher_code_word((enum usher_noun)noun->noun, field, code);
        if (word != NULL || code == 0)
            usher__print(o, "/%s", word != NULL ? word : "");
        else
            break;
    }
}

static bool has_field(const struct usher__key *from, const struct usher__key *to, unsigned field)
{
    for (; from < to; from++)
        if (from->field == field)
            return true;
    return false;
}

static void codes_json(struct usher__out *o, const struct usher__noun *noun)
{
    const struct usher__key *lists[] = { noun->keys, noun->row_keys };
    const struct usher__key *end = noun->keys;

    usher__print(o, "local JSON_CODES = '");
    while (end != NULL && end->verbs != 0)
        end++;
    for (int i = 0; i < 2; i++)
        for (const struct usher__key *k = lists[i]; k != NULL && k->verbs != 0; k++)
            if (!has_field(lists[i], k, k->field) &&
                (i == 0 || !has_field(noun->keys, end, k->field)))
                words_json(o, noun, k->field);
    usher__print(o, " '\nlocal JSON_ECHOES = '");
    for (const struct usher__echo *e = noun->echoes; e != NULL && e->verbs != 0; e++)
        usher__print(o, " %u:%u:%u", e->field, e->arg, (unsigned)e->verbs);
    usher__print(o, " '\n");
}

/* JSON_STATES: the words of states in notices by what they are about; of rooms by verb, because a
 * notice about none of these has the states of the room. */
static void states_json(struct usher__out *o, const struct usher__noun *noun)
{
    const struct usher__hooks *hooks = usher__hooks(noun->noun);
    unsigned written = 0;

    usher__print(o, "local JSON_STATES = '");
    for (unsigned code = noun->noun * 256u + 1; hooks->told_state != NULL && code % 256 != 0;
         code++) {
        struct usher_notice n = { .noun = (enum usher_noun)noun->noun };

        n.verb = (enum usher_verb)code;
        if (strcmp(usher_verb_word(n.verb), "?") == 0)
            continue;
        for (unsigned of = USHER_SUBJECT_NONE; of <= USHER_SUBJECT_SERIAL; of++) {
            const char *word = hooks->told_state(&n, (enum usher_subject)of, 0);

            /* all that do not depend on the verb are written once */
            if (word == NULL || (of != USHER_SUBJECT_NONE && (written >> of & 1u) != 0) ||
                (of > USHER_SUBJECT_MEMBER && of < USHER_SUBJECT_SERIAL))
                continue;
            written |= 1u << of;
            usher__print(o, " %u:%u=", of, of == USHER_SUBJECT_NONE ? code : 0);
            for (unsigned state = 0; state < 16; state++) {
                word = hooks->told_state(&n, (enum usher_subject)of, state);
                if (word == NULL || strcmp(word, "?") == 0)
                    break;
                usher__print(o, "/%s", word);
            }
        }
    }
    usher__print(o, " '\n");
}

void usher__json_lua(struct usher__out *o, const struct usher__noun *noun)
{
    const struct usher__hooks *hooks = usher__hooks(noun->noun);

    fields_json(o, noun);
    keys_json(o, "JSON_KEYS", noun->keys);
    keys_json(o, "JSON_ROW_KEYS", noun->row_keys);
    codes_json(o, noun);
    states_json(o, noun);
    for (int type = USHER__AS_VALUE; type <= USHER__AS_NOTICES; type++) {
        static const char *const words[] = { "VALUE",  "NUMBER", "EPOCH",    "SHARE",
                                             "ECHO",   "FIRST",  "ROOMS",    "LIST",
                                             "ROWS",   "ROW",    "MAP",      "PACKED",
                                             "MERGED", "OWN",    "VERSIONS", "NOTICES" };

        _Static_assert(sizeof words / sizeof *words == USHER__AS_NOTICES + 1, "a word for each");
        usher__print_int(o, "AS_", words[type], type);
    }
    for (int when = USHER__WHEN_EVER; when <= USHER__WHEN_KIND; when++) {
        static const char *const words[] = { "EVER",  "IS",        "NOT",     "ASKED",  "NOT_ASKED",
                                             "AHEAD", "NOT_AHEAD", "ONE_ROW", "NO_ROW", "KIND" };

        _Static_assert(sizeof words / sizeof *words == USHER__WHEN_KIND + 1, "a word for each");
        usher__print_int(o, "WHEN_", words[when], when);
    }
    usher__print(o, "local JSON_MARKS = %s\n", hooks->copied != NULL ? "true" : "false");
    usher__print(o, "local JSON_STALE_HAS_ALL = %s\n", hooks->copied != NULL ? "true" : "false");
    usher__print_int(o, "JSON_", "OF_ALL", hooks->copied != NULL ? hooks->copied->row_of_all : 0);
    usher__print_int(o, "JSON_", "OF_NOTICE",
                     hooks->copied != NULL ? hooks->copied->row_of_notice : 0);
    usher__print_int(o, "SUBJECT_", "NUMBER", USHER_SUBJECT_NUMBER);
    usher__print_int(o, "SUBJECT_", "AGENT", USHER_SUBJECT_AGENT);
    usher__print_int(o, "SUBJECT_", "USER", USHER_SUBJECT_USER);
    usher__print_int(o, "SUBJECT_", "MEMBER", USHER_SUBJECT_MEMBER);
    usher__print_int(o, "SUBJECT_", "FIELD", USHER_SUBJECT_FIELD);
    usher__print_int(o, "SUBJECT_", "SERIAL", USHER_SUBJECT_SERIAL);
    usher__print_int(o, "NONE_", "LEFT_OUT", USHER__NONE_LEFT_OUT);
    usher__print_int(o, "NONE_", "NIL", USHER__NONE_NIL);
    {
        static const struct {
            const char *word;
            unsigned field;
        } fields[] = {
            { "NAME", USHER_FIELD_NAME },
            { "KIND", USHER_FIELD_KIND },
            { "VALUE", USHER_FIELD_VALUE },
            { "VERSION", USHER_FIELD_VERSION },
            { "SERIAL", USHER_FIELD_SERIAL },
            { "ROOM", USHER_FIELD_ROOM },
            { "VISIT", USHER_FIELD_VISIT },
            { "LOGIN", USHER_FIELD_LOGIN },
            { "ROOMS", USHER_FIELD_ROOMS },
            { "INDEX", USHER_FIELD_INDEX },
            { "WAIT_MS", USHER_FIELD_WAIT_MS },
            { "REASON", USHER_FIELD_REASON },
            { "LANE", USHER_FIELD_LANE },
            { "SINCE", USHER_FIELD_SINCE },
            { "WAITING", USHER_FIELD_WAITING },
            { "OUTCOME", USHER_FIELD_OUTCOME },
            { "ENDED", USHER_FIELD_FINISHED },
            { "UNTIL", USHER_FIELD_UNTIL },
            { "PREFIX", USHER_FIELD_PREFIX },
            { "SUFFIX", USHER_FIELD_SUFFIX },
            { "DATE", USHER_FIELD_DATE },
            { "BASE", USHER_FIELD_BASE },
            { "STEP", USHER_FIELD_STEP },
            { "WIDTH", USHER_FIELD_WIDTH },
            { "RADIX", USHER_FIELD_RADIX },
            { "CHECK", USHER_FIELD_CHECK },
            { "OVERFLOW", USHER_FIELD_OVERFLOW },
            { "ZONE", USHER_FIELD_ZONE },
            { "NUMBER_MADE", USHER_FIELD_NUMBER_MADE },
            { "TEXT_VALUE", USHER_FIELD_TEXT_VALUE },
            { "CHECK_DIGIT", USHER_FIELD_CHECK_DIGIT },
            { "AGENT_STATE", USHER_FIELD_AGENT_STATE },
            { "VERSIONS", USHER_FIELD_VERSIONS },
        };

        for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
            usher__print_int(o, "F_", fields[i].word, fields[i].field);
    }
}
