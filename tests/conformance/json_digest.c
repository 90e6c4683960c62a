/* SPDX-License-Identifier: MIT */
/* See json_digest.h. */
#include "config.h"

#include "conformance/json_digest.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* ---- JSON -------------------------------------------------------------------------------------
 */

struct node {
    char type;        /* { [ " or the first character of a number or word */
    char *key, *text; /* decoded; text: of a string, or a number or word as it is written */
    size_t key_size, size;
    struct node *child, *next;
};

struct reader {
    const char *at;
    bool wrong;
};

static void node_free(struct node *n)
{
    while (n != NULL) {
        struct node *next = n->next;

        node_free(n->child);
        free(n->key);
        free(n->text);
        free(n);
        n = next;
    }
}

static void blanks(struct reader *r)
{
    while (isspace((unsigned char)*r->at))
        r->at++;
}

static bool takes(struct reader *r, char c)
{
    blanks(r);
    if (*r->at != c)
        return false;
    r->at++;
    return true;
}

static void must(struct reader *r, char c)
{
    r->wrong = !takes(r, c) || r->wrong;
}

static unsigned four_digits(struct reader *r)
{
    unsigned value = 0;

    for (int i = 0; i < 4; i++, r->at++) {
        if (!isxdigit((unsigned char)*r->at)) {
            r->wrong = true;
            return 0;
        }
        value = value * 16 + (unsigned)(isdigit((unsigned char)*r->at)
                                            ? *r->at - '0'
                                            : tolower((unsigned char)*r->at) - 'a' + 10);
    }
    return value;
}

static size_t utf8(char *to, unsigned c)
{
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        to[0] = (char)(0xc0 | c >> 6);
        to[1] = (char)(0x80 | (c & 63));
        return 2;
    }
    if (c < 0x10000) {
        to[0] = (char)(0xe0 | c >> 12);
        to[1] = (char)(0x80 | (c >> 6 & 63));
        to[2] = (char)(0x80 | (c & 63));
        return 3;
    }
    to[0] = (char)(0xf0 | c >> 18);
    to[1] = (char)(0x80 | (c >> 12 & 63));
    to[2] = (char)(0x80 | (c >> 6 & 63));
    to[3] = (char)(0x80 | (c & 63));
    return 4;
}

static size_t escape(struct reader *r, char *to)
{
    static const char from[] = "\"\\/bfnrt", is[] = "\"\\/\b\f\n\r\t";
    const char *known = *r->at != '\0' ? strchr(from, *r->at) : NULL;
    unsigned c;

    if (known != NULL) {
        r->at++;
        *to = is[known - from];
        return 1;
    }
    if (*r->at != 'u') {
        r->wrong = true;
        return 0;
    }
    r->at++;
    c = four_digits(r);
    if (c >= 0xd800 && c < 0xdc00 && r->at[0] == '\\' && r->at[1] == 'u') {
        r->at += 2;
        c = 0x10000 + ((c & 0x3ff) << 10) + (four_digits(r) & 0x3ff);
    }
    return utf8(to, c);
}

static char *string(struct reader *r, size_t *ret_size)
{
    char *to;

    *ret_size = 0;
    must(r, '"');
    to = r->wrong ? NULL : malloc(strlen(r->at) + 4);
    if (to == NULL)
        return NULL;
    while (*r->at != '"' && !r->wrong) {
        if (*r->at == '\0')
            r->wrong = true;
        else if (*r->at == '\\' && r->at++ != NULL)
            *ret_size += escape(r, to + *ret_size);
        else
            to[(*ret_size)++] = *r->at++;
    }
    must(r, '"');
    return to;
}

static struct node *value(struct reader *r, int depth)
{
    struct node *n = calloc(1, sizeof *n), **last;
    size_t size;

    if (n == NULL || depth > 8) {
        r->wrong = true;
        return n;
    }
    blanks(r);
    n->type = *r->at;
    last = &n->child;
    if (n->type == '"') {
        n->text = string(r, &n->size);
    } else if (n->type == '{' || n->type == '[') {
        char end = n->type == '{' ? '}' : ']';

        r->at++;
        for (bool more = !takes(r, end); more && !r->wrong; more = !takes(r, end)) {
            char *key = NULL;

            if (n->child != NULL)
                must(r, ',');
            size = 0;
            if (n->type == '{') {
                key = string(r, &size);
                must(r, ':');
            }
            *last = value(r, depth + 1);
            if (*last == NULL) {
                free(key);
                break;
            }
            (*last)->key = key;
            (*last)->key_size = size;
            last = &(*last)->next;
        }
    } else {
        n->size = strcspn(r->at, ",]} \n");
        n->text = calloc(1, n->size + 1);
        r->wrong = r->wrong || n->size == 0 || n->text == NULL;
        if (!r->wrong)
            memcpy(n->text, r->at, n->size);
        r->at += n->size;
    }
    return n;
}

static const struct node *of(const struct node *n, const char *key)
{
    for (n = n != NULL ? n->child : NULL; n != NULL; n = n->next)
        if (n->key != NULL && n->key_size == strlen(key) && memcmp(n->key, key, n->key_size) == 0)
            return n;
    return NULL;
}

static const struct node *of_same(const struct node *n, const struct node *name)
{
    for (n = n != NULL ? n->child : NULL; n != NULL; n = n->next)
        if (n->key_size == name->key_size && memcmp(n->key, name->key, n->key_size) == 0)
            return n;
    return NULL;
}

/* ---- the digest -------------------------------------------------------------------------------
 */

struct bytes {
    unsigned char *at;
    size_t size;
};

struct sum {
    uint64_t low, high, n;
    bool wrong;
};

static void add(struct bytes *b, const void *data, size_t size)
{
    unsigned char *to = realloc(b->at, b->size + size + 1);

    if (to == NULL)
        abort();
    b->at = to;
    if (size > 0)
        memcpy(to + b->size, data, size);
    b->size += size;
}

static void add_int(struct bytes *b, uint64_t v)
{
    unsigned char bytes[8];

    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(v >> (8 * i));
    add(b, bytes, 8);
}

static void add_text(struct bytes *b, const void *data, size_t size)
{
    add_int(b, size);
    add(b, data, size);
}

/* A value is a string or, where it is not UTF-8, {"b64": string}. */
static void add_value(struct bytes *b, const struct node *v, bool *wrong)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const struct node *b64 = v != NULL && v->type == '{' ? of(v, "b64") : NULL;
    struct bytes bytes = { NULL, 0 };
    unsigned bits = 0, n = 0;

    if (v != NULL && v->type == '"') {
        add_text(b, v->text, v->size);
        return;
    }
    *wrong = *wrong || b64 == NULL || b64->type != '"';
    for (size_t i = 0; b64 != NULL && i < b64->size && b64->text[i] != '='; i++) {
        const char *digit = strchr(digits, b64->text[i]);

        *wrong = *wrong || digit == NULL;
        bits = bits << 6 | (digit != NULL ? (unsigned)(digit - digits) : 0u);
        n += 6;
        if (n >= 8) {
            n -= 8;
            add(&bytes, &(unsigned char){ (unsigned char)(bits >> n) }, 1);
        }
    }
    add_text(b, bytes.at, bytes.size);
    free(bytes.at);
}

static uint64_t number(const struct node *n, bool *wrong)
{
    *wrong = *wrong || n == NULL || !isdigit((unsigned char)n->type);
    return *wrong ? 0 : strtoull(n->text, NULL, 10);
}

static unsigned code(const struct node *n, const char *const *words, bool *wrong)
{
    for (unsigned i = 0; n != NULL && n->type == '"' && words[i] != NULL; i++)
        if (strlen(words[i]) == n->size && memcmp(words[i], n->text, n->size) == 0)
            return i + 1;
    *wrong = true;
    return 0;
}

struct thing {
    unsigned kind, state;
    const char *id, *owner;
    size_t id_size, owner_size;
    uint64_t version;
    const struct node *value; /* NULL: of no bytes */
};

static void thing(struct sum *s, const struct thing *t)
{
    struct bytes b = { NULL, 0 };
    XXH128_hash_t hash;

    add_int(&b, t->kind);
    add_text(&b, t->id, t->id_size);
    add_text(&b, t->owner, t->owner_size);
    add_int(&b, t->state);
    add_int(&b, t->version);
    if (t->value != NULL)
        add_value(&b, t->value, &s->wrong);
    else
        add_int(&b, 0);
    hash = XXH3_128bits(b.at, b.size);
    free(b.at);
    s->low += hash.low64;
    s->high += hash.high64 + (s->low < hash.low64);
    s->n++;
}

static void values(struct sum *s, const struct node *page, unsigned kind, const char *map,
                   const char *versions)
{
    const struct node *all = of(page, map);

    s->wrong = s->wrong || all == NULL;
    for (const struct node *v = all != NULL ? all->child : NULL; v != NULL; v = v->next)
        thing(s, &(struct thing){ .kind = kind,
                                  .id = v->key,
                                  .id_size = v->key_size,
                                  .version = number(of_same(of(page, versions), v), &s->wrong),
                                  .value = v });
}

/* @alls: their versions; NULL: what all members have does not count. */
static void own(struct sum *s, const struct node *row, unsigned kind, const struct node *id,
                const struct node *alls)
{
    const struct node *fields = of(row, "own");

    s->wrong = s->wrong || fields == NULL;
    for (const struct node *v = fields != NULL ? fields->child : NULL; v != NULL; v = v->next) {
        uint64_t version = number(of(v, "version"), &s->wrong);
        const struct node *all = of_same(alls, v);

        if (all == NULL || number(all, &s->wrong) <= version)
            thing(s, &(struct thing){ .kind = kind,
                                      .id = id->text,
                                      .id_size = id->size,
                                      .owner = v->key,
                                      .owner_size = v->key_size,
                                      .version = version,
                                      .value = of(v, "value") });
    }
}

static void page_sum(struct sum *s, const struct node *page, bool first)
{
    static const char *const states[] = { "here", "away", "offline", NULL };
    const struct node *roles = of(page, "roles"), *members = of(page, "members");
    const struct node *shares = of(page, "shares");

    if (first) { /* the values of all members are on each page */
        values(s, page, 1, "fields", "field_versions");
        values(s, page, 2, "all", "all_versions");
    }
    for (const struct node *v = roles != NULL ? roles->child : NULL; v != NULL; v = v->next)
        thing(s, &(struct thing){ .kind = 3,
                                  .id = v->key,
                                  .id_size = v->key_size,
                                  .owner = v->text,
                                  .owner_size = v->size,
                                  .version =
                                      number(of_same(of(page, "role_versions"), v), &s->wrong) });
    for (const struct node *v = members != NULL ? members->child : NULL; v != NULL; v = v->next) {
        const struct node *id = of(v, "member");

        s->wrong = s->wrong || id == NULL || id->type != '"';
        if (s->wrong)
            return;
        thing(s, &(struct thing){ .kind = 4,
                                  .id = id->text,
                                  .id_size = id->size,
                                  .state = code(of(v, "state"), states, &s->wrong),
                                  .version = number(of(v, "version"), &s->wrong) });
        own(s, v, 20, id, of(page, "all_versions"));
    }
    for (const struct node *v = shares != NULL ? shares->child : NULL; v != NULL; v = v->next) {
        const struct node *id = of(v, "share"), *owner = of(v, "member");

        s->wrong = s->wrong || id == NULL || id->type != '"' || owner == NULL || owner->type != '"';
        if (s->wrong)
            return;
        thing(s, &(struct thing){ .kind = 5,
                                  .id = id->text,
                                  .id_size = id->size,
                                  .owner = owner->text,
                                  .owner_size = owner->size,
                                  .version = number(of(v, "version"), &s->wrong) });
        own(s, v, 21, id, NULL);
    }
}

bool json_digest(char *const *pages, size_t n, char ret_digest[33])
{
    static const char *const states[] = { "open", "locked", NULL };
    struct sum s = { 0, 0, 0, false };
    struct bytes b = { NULL, 0 };
    uint64_t state = 0, version = 0;
    XXH128_hash_t hash;

    for (size_t i = 0; i < n && !s.wrong; i++) {
        struct reader r = { pages[i], false };
        struct node *page = value(&r, 0);

        blanks(&r);
        s.wrong = r.wrong || *r.at != '\0';
        state = code(of(page, "state"), states, &s.wrong);
        version = number(of(page, "version"), &s.wrong);
        if (!s.wrong)
            page_sum(&s, page, i == 0);
        node_free(page);
    }
    add_int(&b, state);
    add_int(&b, version);
    add_int(&b, s.n);
    add_int(&b, s.low);
    add_int(&b, s.high);
    hash = XXH3_128bits(b.at, b.size);
    free(b.at);
    (void)snprintf(ret_digest, 33, "%016llx%016llx", (unsigned long long)hash.high64,
                   (unsigned long long)hash.low64);
    return !s.wrong;
}
