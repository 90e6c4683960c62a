/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "cli/node_keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <usher/store/store.h>

enum kind { TEXT, ROLE, DURABILITY, HEX, COUNT, SIGNED, BOOL, BOOL_OF_POLICY, BOOL_IF_TRUE };

static const struct node_row {
    const char *key;
    enum kind kind;
    size_t offset;
} rows[] = {
#define ROW(key, kind, member)                         \
    {                                                  \
        key, kind, offsetof(struct usher_node, member) \
    }
    ROW("role", ROLE, role),
    ROW("answers", BOOL, answers),
    ROW("address", TEXT, address),
    ROW("id", TEXT, id),
    ROW("software", TEXT, software),
    ROW("master", TEXT, master),
    ROW("why", TEXT, why),
    ROW("durability", DURABILITY, durability),
    ROW("policy", TEXT, policy),
    ROW("evicts", BOOL_OF_POLICY, evicts),
    ROW("identity", HEX, identity),
    ROW("slots", COUNT, slots),
    ROW("replicas", COUNT, replicas),
    ROW("lag_bytes", COUNT, lag_bytes),
    ROW("lag", COUNT, lag_ms),
    ROW("ahead", SIGNED, ahead_ms),
    ROW("own_clocks", BOOL_IF_TRUE, own_clocks),
};
#define ROWS (sizeof rows / sizeof *rows)
_Static_assert(ROWS <= NODE_KEYS_MAX, "there is space for each key");

static void word(struct node_value *v, const char *text)
{
    v->type = NODE_TEXT;
    v->text.data = text;
    v->text.size = strlen(text);
}

/* Return false if the value is not known. */
static bool value_of(const struct usher_node *n, const struct node_row *row, struct node_value *v)
{
    const char *at = (const char *)n + row->offset;
    uint64_t identity;
    bool yes;

    v->key = row->key;
    switch (row->kind) {
    case TEXT:
        v->type = NODE_TEXT;
        memcpy(&v->text, at, sizeof v->text);
        return v->text.size > 0;
    case ROLE:
        word(v, usher_node_role_word(n->role));
        return true;
    case DURABILITY:
        word(v, usher_durability_word(n->durability));
        return n->durability != USHER_DURABILITY_UNKNOWN;
    case HEX:
        memcpy(&identity, at, sizeof identity);
        (void)snprintf(v->hex, sizeof v->hex, "%012" PRIx64, identity);
        word(v, v->hex);
        return identity != 0;
    case COUNT:
    case SIGNED:
        v->type = NODE_INT;
        memcpy(&v->number, at, sizeof v->number);
        return row->kind == COUNT ? v->number >= 0 : v->number != USHER_NONE;
    default:
        v->type = NODE_BOOL;
        memcpy(&yes, at, sizeof yes);
        v->number = yes;
        return row->kind == BOOL || (row->kind == BOOL_OF_POLICY ? n->policy.size > 0 : yes);
    }
}

size_t usher__node_values(const struct usher_node *node, struct node_value to[NODE_KEYS_MAX])
{
    size_t n = 0;

    for (size_t i = 0; i < ROWS; i++)
        n += value_of(node, &rows[i], &to[n]);
    return n;
}

void usher__node_empty(struct usher_node *node)
{
    memset(node, 0, sizeof *node);
    node->size = sizeof *node;
    for (size_t i = 0; i < ROWS; i++) {
        const int64_t none = USHER_NONE;

        if (rows[i].kind == COUNT || rows[i].kind == SIGNED)
            memcpy((char *)node + rows[i].offset, &none, sizeof none);
        else if (rows[i].kind == TEXT)
            memcpy((char *)node + rows[i].offset, &(struct usher_text){ "", 0 },
                   sizeof(struct usher_text));
    }
}

static bool is_word(const struct usher_text *text, const char *is)
{
    return is != NULL && strlen(is) == text->size && memcmp(is, text->data, text->size) == 0;
}

#define CODES 64 /* more than there are roles, and levels of durability */

bool usher__node_set(struct usher_node *node, const struct node_value *v)
{
    const struct node_row *row = rows;
    char *at, hex[NODE_HEX_MAX], *end;
    uint64_t identity;
    bool yes = v->number != 0;

    while (row < rows + ROWS && strcmp(row->key, v->key) != 0)
        row++;
    if (row == rows + ROWS)
        return true;
    at = (char *)node + row->offset;
    switch (row->kind) {
    case TEXT:
        memcpy(at, &v->text, sizeof v->text);
        return v->type == NODE_TEXT;
    case ROLE:
    case DURABILITY:
        for (int code = 0; v->type == NODE_TEXT && code < CODES; code++)
            if (is_word(&v->text, row->kind == ROLE
                                      ? usher_node_role_word((enum usher_node_role)code)
                                      : usher_durability_word((enum usher_durability)code))) {
                if (row->kind == ROLE)
                    node->role = (enum usher_node_role)code;
                else
                    node->durability = (enum usher_durability)code;
                return true;
            }
        return false;
    case HEX:
        if (v->type != NODE_TEXT || v->text.size != NODE_HEX_MAX - 1)
            return false;
        memcpy(hex, v->text.data, v->text.size);
        hex[v->text.size] = '\0';
        identity = strtoull(hex, &end, 16);
        memcpy(at, &identity, sizeof identity);
        return *end == '\0';
    case COUNT:
    case SIGNED:
        memcpy(at, &v->number, sizeof v->number);
        return v->type == NODE_INT;
    default:
        memcpy(at, &yes, sizeof yes);
        return v->type != NODE_TEXT;
    }
}
