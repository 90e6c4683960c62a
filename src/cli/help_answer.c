/* SPDX-License-Identifier: MIT */
/* The keys of the answer to a verb, for its help: from the tables of its noun. */
#include "config.h"

#include "cli/help.h"

#include <string.h>

#include <usher/command.h>

#include "core/verbs.h"

#define WIDTH 92
#define TEXT_MAX 512

struct text {
    char data[TEXT_MAX];
    size_t size;
};

static void add(struct text *t, const char *a, const char *b)
{
    int n = snprintf(t->data + t->size, sizeof t->data - t->size, "%s%s", a, b);

    t->size += (size_t)n < sizeof t->data - t->size ? (size_t)n : sizeof t->data - t->size - 1;
}

/* Print @t after a column of @indent bytes with @key, on as many lines as it needs. */
static void print_wrapped(FILE *out, int indent, const char *key, const char *t)
{
    int column = fprintf(out, "%*s%-*s", indent, "", 14, key);
    const int begin = indent + 14;

    while (*t != '\0') {
        int size = (int)strcspn(t, " ");

        if (column + 1 + size > WIDTH && column > begin)
            column = fprintf(out, "\n%*s", begin, "") - 1;
        column += fprintf(out, " %.*s", size, t);
        t += size + (t[size] == ' ');
    }
    putc('\n', out);
}

/* Add the words of @codes, bits of the field @field, or of all its codes. */
static void add_codes(struct text *t, const struct usher__noun *noun, uint16_t field,
                      uint32_t codes)
{
    bool first = true;

    for (int64_t code = 0; code < 32; code++) {
        const char *word = usher_code_word((enum usher_noun)noun->noun, field, code);

        if (word == NULL || strcmp(word, "?") == 0 || (codes >> code & 1u) == 0)
            continue;
        add(t, first ? "" : "|", word);
        first = false;
    }
}

static void add_type(struct text *t, const struct usher__noun *noun, const struct usher__key *k)
{
    enum usher_type type = usher_about_field(k->field)->type;

    switch (k->as) {
    case USHER__AS_NUMBER:
        add(t, "", "number");
        break;
    case USHER__AS_EPOCH:
        add(t, "", "16 hex digits");
        break;
    case USHER__AS_SHARE:
        add(t, "", "0 to 1");
        break;
    case USHER__AS_LIST:
    case USHER__AS_ROOMS:
        add(t, "", "array");
        break;
    case USHER__AS_ROWS:
        add(t, "", "array of objects");
        break;
    case USHER__AS_NOTICES:
        add(t, "", "array of notices");
        break;
    case USHER__AS_MAP:
    case USHER__AS_VERSIONS:
        add(t, "", "object, by name");
        break;
    case USHER__AS_PACKED:
    case USHER__AS_MERGED:
    case USHER__AS_OWN:
        add(t, "", "object of fields");
        break;
    default:
        if (type == USHER_TYPE_CODE)
            add_codes(t, noun, k->field, UINT32_MAX);
        else
            add(t, "",
                type >= USHER_TYPE_TEXT || type == USHER_TYPE_TOKEN ? "string"
                : type == USHER_TYPE_BOOL                           ? "true|false"
                : type == USHER_TYPE_MS                             ? "ms"
                : type == USHER_TYPE_TIME                           ? "time"
                : type == USHER_TYPE_MIN                            ? "minutes"
                                                                    : "number");
        if (k->none == USHER__NONE_NIL ||
            (k->none == USHER__NONE_NULL &&
             (type >= USHER_TYPE_TEXT || (type == USHER_TYPE_TIME && usher__never_zero(k->field)))))
            add(t, " or null", "");
        break;
    }
}

/* Add the statuses @on, or those that are missing among them if these are few. */
static void add_statuses(struct text *t, uint32_t on)
{
    struct text in = { "", 0 }, out = { "", 0 };
    unsigned n_out = 0;

    for (unsigned status = 0; status < 32; status++) {
        const char *word = usher_status_word((enum usher_status)status);
        bool is_in = (on >> status & 1u) != 0;

        if (strcmp(word, "?") == 0 || USHER_CLASS_OF(status) >= USHER_CLASS_WRONG)
            continue;
        add(is_in ? &in : &out, (is_in ? &in : &out)->size > 0 ? ", " : "", word);
        n_out += !is_in;
    }
    if (n_out > 2)
        add(t, "; ", in.data);
    else if (n_out > 0)
        add(t, "; not if ", out.data);
}

static void add_condition(struct text *t, const struct usher__noun *noun,
                          const struct usher__key *k)
{
    const struct usher_field_about *of = usher_about_field(k->when_of);
    bool code = of != NULL && of->type == USHER_TYPE_CODE;
    const char *word = of != NULL ? of->word : "";

    switch (k->when) {
    case USHER__WHEN_IS:
        add(t, "; if there is ", word);
        if (code && k->codes != UINT32_MAX) {
            add(t, ": ", "");
            add_codes(t, noun, k->when_of, k->codes);
        }
        break;
    case USHER__WHEN_NOT:
        add(t, "; without ", word);
        break;
    case USHER__WHEN_ASKED:
        add(t, "; after ", word);
        add(t, "=", "");
        break;
    case USHER__WHEN_NOT_ASKED:
        add(t, "; after no ", word);
        add(t, "=", "");
        break;
    default:
        if (k->none == USHER__NONE_LEFT_OUT)
            add(t, "; if there is one", "");
        break;
    }
}

/* Return the key's name in JSON. */
static const char *name_of(const struct usher__key *k, char to[48])
{
    const char *word = k->key != NULL ? k->key : usher_about_field(k->field)->word;
    size_t n = 0;

    for (; n < 47 && word[n] != '\0'; n++)
        to[n] = word[n] == '-' ? '_' : word[n];
    to[n] = '\0';
    return to;
}

/* The keys of an answer, or of rows of some kinds. */
struct part {
    const struct usher__noun *noun;
    const struct usher__key *keys;
    uint32_t bit, kinds;
};

static bool is_in(const struct part *p, const struct usher__key *k)
{
    return (k->verbs & p->bit) != 0 &&
           (p->keys == p->noun->keys || k->when != USHER__WHEN_KIND || (k->codes & p->kinds) != 0);
}

/* Return how many keys of @p up to @end, or up to the last one, have the name of @k. */
static unsigned same(const struct part *p, const struct usher__key *end, const struct usher__key *k)
{
    char name[48], other[48];
    unsigned n = 0;

    (void)name_of(k, name);
    for (const struct usher__key *each = p->keys; each->verbs != 0 && each != end; each++)
        n += is_in(p, each) && each->as != USHER__AS_ROW && strcmp(name, name_of(each, other)) == 0;
    return n;
}

static void print_keys(FILE *out, int indent, const struct part *p)
{
    for (const struct usher__key *k = p->keys; k->verbs != 0; k++) {
        struct part rows = { p->noun, p->noun->row_keys, p->bit, UINT32_MAX };
        struct text t = { "", 0 };
        char name[48];

        if (!is_in(p, k) || (k->as != USHER__AS_ROW && same(p, k, k) > 0))
            continue;
        if (k->as == USHER__AS_ROW) { /* the keys of the one row are keys of the answer */
            print_keys(out, indent, &rows);
            continue;
        }
        add(&t, usher_about_field(k->field)->help, " (");
        add_type(&t, p->noun, k);
        if (same(p, NULL, k) == 1) { /* else it is there for several reasons */
            if (p->keys == p->noun->keys)
                add_statuses(&t, k->on);
            add_condition(&t, p->noun, k);
        }
        add(&t, ")", "");
        print_wrapped(out, indent, name_of(k, name), t.data);
        rows.kinds = k->when == USHER__WHEN_KIND ? k->codes : UINT32_MAX;
        if (k->as == USHER__AS_ROWS)
            print_keys(out, indent + 2, &rows);
    }
}

void usher__help_answer(FILE *out, const struct usher__noun *noun, const struct usher__verb *verb)
{
    const struct part all = { noun, noun->keys, USHER__VERB_BIT(verb->verb), UINT32_MAX };
    const struct usher__key *k = noun->keys;

    while (k->verbs != 0 && !is_in(&all, k))
        k++;
    if (k->verbs == 0) {
        fputs("\nIts JSON has no keys but those of every answer (`usher help json`).\n", out);
        return;
    }
    fputs("\nJSON, after the keys of every answer (`usher help json`):\n\n", out);
    print_keys(out, 2, &all);
}
