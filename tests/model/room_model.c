/* SPDX-License-Identifier: MIT */
/* See room_model.h. */
#include "config.h"

#include "model/room_model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/gen.h"
#include "model/parts.h"
#include "model/packer.h"

#define EXPIRE_MAX 64 /* of a command on its way */
#define SWEEP_MAX 64  /* of a `sweep` */
#define WRITES 24     /* of one step of closing, unless one member has more */
#define OWNED 16      /* roles, or shares, of one member */
#define TOLD_BYTES 8192
#define REQUEST_MS INT64_C(3600000)

enum { CAPACITY, LINGER, TTL, AWAY, GRACE, LOG, REQUESTS, PRESENCE, PUSH };

typedef struct room_model_text text;
typedef struct room_model_fields fields;
typedef struct room_model_room room;
typedef struct room_model_member member;
typedef struct room_model_row row;

struct room_model {
    room *rooms;
    size_t n;
    room_model_notify *notify;
    void *payload;
};

/* One command. */
struct work {
    struct room_model *m;
    room *r;
    const struct usher_operation *c;
    const struct usher_room_args *a;
    struct usher_result *reply;
    int64_t now;    /* orders and stamps */
    int64_t moment; /* ends what is due and begins deadlines: the store's clock, which is given */
    row *rows;
    size_t n_rows;
};

static const struct usher_text none = { NULL, 0 };

/* ---- texts, fields ------------------------------------------------------------------ */

static text *text_new(const void *data, size_t size)
{
    text *t = malloc(sizeof *t + size + 1);

    if (t == NULL)
        abort();
    t->refs = 1;
    t->size = size;
    if (size > 0)
        memcpy(t->data, data, size);
    t->data[size] = '\0';
    return t;
}

static text *text_from(const struct usher_text *t)
{
    return text_new(t->data, t->size);
}

static text *ref(text *t)
{
    if (t != NULL)
        t->refs++;
    return t;
}

static void drop(text *t)
{
    if (t != NULL && --t->refs == 0)
        free(t);
}

static bool same(const struct usher_text *a, const struct usher_text *b)
{
    return a->size == b->size && (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

static struct usher_text out(const text *t)
{
    struct usher_text o = none;

    if (t != NULL && t->size > 0) {
        o.data = t->data;
        o.size = t->size;
    }
    return o;
}

static bool equals(const text *t, const struct usher_text *other)
{
    struct usher_text own = out(t);

    return same(&own, other);
}

static int compare(const text *a, const text *b)
{
    int c = memcmp(a->data, b->data, a->size < b->size ? a->size : b->size);

    return c != 0 ? c : (a->size > b->size) - (a->size < b->size);
}

static void field_remove(fields *f, size_t i)
{
    drop(f->at[i].name);
    drop(f->at[i].value);
    removed(f->at, &f->n, sizeof *f->at, i);
}

static void fields_clear(fields *f)
{
    while (f->n > 0)
        field_remove(f, f->n - 1);
    free(f->at);
    f->at = NULL;
}

static fields fields_copy(const fields *f)
{
    fields to = { copied(f->at, f->n, sizeof *f->at), f->n };

    for (size_t i = 0; i < to.n; i++) {
        (void)ref(to.at[i].name);
        (void)ref(to.at[i].value);
    }
    return to;
}

static struct room_model_field *field_find(const fields *f, const struct usher_text *name)
{
    for (size_t i = 0; i < f->n; i++)
        if (equals(f->at[i].name, name))
            return &f->at[i];
    return NULL;
}

static void field_put(fields *f, const struct usher_text *name, const struct usher_text *value,
                      uint64_t version)
{
    struct room_model_field *at = field_find(f, name);
    text *t = text_from(value);

    if (at == NULL) {
        f->at = grown(f->at, f->n, sizeof *f->at);
        at = &f->at[f->n++];
        at->name = text_from(name);
    } else {
        drop(at->value);
    }
    at->value = t;
    at->version = version;
}

/* ---- packed ------------------------------------------------------------------------- */

static text *packed_text(struct packed *p)
{
    text *t = text_new(p->at, p->n);

    free(p->at);
    return t;
}

static text *fields_packed(const fields *f)
{
    struct packed p = { NULL, 0, 0 };

    if (f->n > 0)
        put_array(&p, 3 * f->n);
    for (size_t i = 0; i < f->n; i++) {
        struct usher_text name = out(f->at[i].name), value = out(f->at[i].value);

        put_text(&p, &name);
        put_text(&p, &value);
        put_uint(&p, f->at[i].version);
    }
    return packed_text(&p);
}

/* The first 13 hex digits of the SHA-1 of @t, by the book: the message padded as a whole. */
static uint64_t sha1_begin(const text *t)
{
    uint32_t h[5] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0 };
    size_t n = (t->size + 8) / 64 * 64 + 64;
    unsigned char *m = calloc(1, n);

    if (m == NULL)
        abort();
    memcpy(m, t->data, t->size);
    m[t->size] = 0x80;
    for (size_t i = 0; i < 8; i++)
        m[n - 8 + i] = (unsigned char)((uint64_t)t->size * 8 >> (56 - 8 * i));
    for (size_t from = 0; from < n; from += 64) {
        uint32_t w[80], v[5];

        for (size_t i = 0; i < 16; i++) {
            const unsigned char *at = m + from + 4 * i;

            w[i] = (uint32_t)at[0] * 0x1000000 + at[1] * 0x10000u + at[2] * 0x100u + at[3];
        }
        for (size_t i = 16; i < 80; i++) {
            uint32_t x = w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16];

            w[i] = x * 2 + x / 0x80000000;
        }
        memcpy(v, h, sizeof v);
        for (size_t i = 0; i < 80; i++) {
            static const uint32_t k[4] = { 0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6 };
            uint32_t f = v[1] ^ v[2] ^ v[3], next;

            if (i < 20)
                f = v[3] ^ (v[1] & (v[2] ^ v[3]));
            else if (i >= 40 && i < 60)
                f = (v[1] & v[2]) | (v[3] & (v[1] | v[2]));
            next = v[0] * 32 + v[0] / 0x8000000 + f + v[4] + k[i / 20] + w[i];
            v[4] = v[3];
            v[3] = v[2];
            v[2] = v[1] * 0x40000000 + v[1] / 4;
            v[1] = v[0];
            v[0] = next;
        }
        for (size_t i = 0; i < 5; i++)
            h[i] += v[i];
    }
    free(m);
    return ((uint64_t)h[0] * 0x100000000 + h[1]) / 0x1000;
}

static text *notice_packed(const struct usher_notice *n)
{
    struct packed p = { NULL, 0, 0 };

    put_notice(&p, n);
    return packed_text(&p);
}

/* The pairs that the command names. */
struct pairs {
    struct usher_text name[USHER_ROOM_GIVEN_FIELDS_MAX + 1], value[USHER_ROOM_GIVEN_FIELDS_MAX + 1];
    size_t n;
};

static void pairs_of(const struct work *w, bool with_field, struct pairs *p)
{
    struct usher_fields f;
    uint64_t version;

    p->n = 0;
    if (with_field) {
        p->name[0] = w->a->field;
        p->value[0] = w->a->value;
        p->n = 1;
    }
    if (w->a->fields.data == NULL)
        return;
    usher_fields_begin(&f, &w->a->fields);
    while (p->n <= USHER_ROOM_GIVEN_FIELDS_MAX &&
           usher_fields_next(&f, &p->name[p->n], &p->value[p->n], &version))
        p->n++;
}

/* As a notice has them. */
static text *pairs_packed(const struct pairs *pairs)
{
    struct packed p = { NULL, 0, 0 };

    if (pairs->n > 0)
        put_array(&p, 2 * pairs->n);
    for (size_t i = 0; i < pairs->n; i++) {
        put_text(&p, &pairs->name[i]);
        put_text(&p, &pairs->value[i]);
    }
    if (p.n > TOLD_BYTES) { /* nil */
        p.n = 0;
        put_byte(&p, 0xc0);
    }
    return packed_text(&p);
}

/* ---- what a room has ---------------------------------------------------------------- */

static void row_drop(row *x)
{
    drop(x->id);
    drop(x->owner);
    drop(x->value);
}

static row *rows_copy(const row *rows, size_t n)
{
    row *to = copied(rows, n, sizeof *rows);

    for (size_t i = 0; i < n; i++) {
        (void)ref(to[i].id);
        (void)ref(to[i].owner);
        (void)ref(to[i].value);
    }
    return to;
}

static void kept_remove(room *r, size_t at)
{
    struct room_model_kept *k = &r->kept[at];

    drop(k->id);
    for (size_t i = 0; i < k->n_rows; i++)
        row_drop(&k->rows[i]);
    free(k->rows);
    removed(r->kept, &r->n_kept, sizeof *k, at);
}

static void member_remove(room *r, size_t i)
{
    drop(r->members[i].id);
    fields_clear(&r->members[i].own);
    removed(r->members, &r->n_members, sizeof *r->members, i);
}

static void role_remove(room *r, size_t i)
{
    drop(r->roles[i].id);
    drop(r->roles[i].holder);
    removed(r->roles, &r->n_roles, sizeof *r->roles, i);
}

static void share_remove(room *r, size_t i)
{
    drop(r->shares[i].id);
    drop(r->shares[i].owner);
    fields_clear(&r->shares[i].own);
    removed(r->shares, &r->n_shares, sizeof *r->shares, i);
}

static void log_remove(room *r, size_t i)
{
    drop(r->log[i].packed);
    removed(r->log, &r->n_log, sizeof *r->log, i);
}

/* There is no such room: only its name and how many there have been are left. */
static void room_vanish(room *r)
{
    text *name = r->name;
    uint64_t epoch = r->epoch;

    fields_clear(&r->fields);
    fields_clear(&r->alls);
    while (r->n_members > 0)
        member_remove(r, r->n_members - 1);
    while (r->n_roles > 0)
        role_remove(r, r->n_roles - 1);
    while (r->n_shares > 0)
        share_remove(r, r->n_shares - 1);
    while (r->n_log > 0)
        log_remove(r, r->n_log - 1);
    while (r->n_kept > 0)
        kept_remove(r, r->n_kept - 1);
    free(r->members);
    free(r->roles);
    free(r->shares);
    free(r->log);
    free(r->kept);
    memset(r, 0, sizeof *r);
    r->name = name;
    r->epoch = epoch;
    r->set[LOG] = 256;
    r->set[REQUESTS] = 10000;
}

static void room_copy(room *r)
{
    (void)ref(r->name);
    r->fields = fields_copy(&r->fields);
    r->alls = fields_copy(&r->alls);
    r->members = copied(r->members, r->n_members, sizeof *r->members);
    r->roles = copied(r->roles, r->n_roles, sizeof *r->roles);
    r->shares = copied(r->shares, r->n_shares, sizeof *r->shares);
    r->log = copied(r->log, r->n_log, sizeof *r->log);
    r->kept = copied(r->kept, r->n_kept, sizeof *r->kept);
    for (size_t i = 0; i < r->n_members; i++) {
        (void)ref(r->members[i].id);
        r->members[i].own = fields_copy(&r->members[i].own);
    }
    for (size_t i = 0; i < r->n_roles; i++) {
        (void)ref(r->roles[i].id);
        (void)ref(r->roles[i].holder);
    }
    for (size_t i = 0; i < r->n_shares; i++) {
        (void)ref(r->shares[i].id);
        (void)ref(r->shares[i].owner);
        r->shares[i].own = fields_copy(&r->shares[i].own);
    }
    for (size_t i = 0; i < r->n_log; i++)
        (void)ref(r->log[i].packed);
    for (size_t i = 0; i < r->n_kept; i++) {
        (void)ref(r->kept[i].id);
        r->kept[i].rows = rows_copy(r->kept[i].rows, r->kept[i].n_rows);
    }
}

struct room_model *room_model_open(room_model_notify *notify, void *payload)
{
    struct room_model *m = calloc(1, sizeof *m);

    if (m == NULL)
        abort();
    m->notify = notify;
    m->payload = payload;
    return m;
}

struct room_model *room_model_copy(const struct room_model *m, room_model_notify *notify,
                                   void *payload)
{
    struct room_model *to = room_model_open(notify, payload);

    to->rooms = copied(m->rooms, m->n, sizeof *m->rooms);
    to->n = m->n;
    for (size_t i = 0; i < to->n; i++)
        room_copy(&to->rooms[i]);
    return to;
}

void room_model_close(struct room_model *m)
{
    for (size_t i = 0; i < m->n; i++) {
        room_vanish(&m->rooms[i]);
        drop(m->rooms[i].name);
    }
    free(m->rooms);
    free(m);
}

const struct room_model_room *room_model_room(const struct room_model *m, const char *name)
{
    struct usher_text t = { name, strlen(name) };

    for (size_t i = 0; i < m->n; i++)
        if (equals(m->rooms[i].name, &t))
            return &m->rooms[i];
    return NULL;
}

/* There is no such room, but bans of its name. */
static bool rests(const room *r)
{
    return r->state == USHER_ROOM_STATE_CLOSED && r->n_members > 0;
}

static bool there(const room *r)
{
    return r->state != USHER_ROOM_STATE_CLOSED;
}

static bool is_open(const room *r)
{
    return r->state == USHER_ROOM_STATE_OPEN || r->state == USHER_ROOM_STATE_LOCKED;
}

static bool is_in(const member *x)
{
    return x->state != USHER_ROOM_MEMBER_ABSENT && x->state != USHER_ROOM_MEMBER_BANNED;
}

static int64_t count_in(const room *r)
{
    int64_t n = 0;

    for (size_t i = 0; i < r->n_members; i++)
        n += is_in(&r->members[i]);
    return n;
}

static member *member_find(const room *r, const struct usher_text *id)
{
    for (size_t i = 0; i < r->n_members; i++)
        if (equals(r->members[i].id, id))
            return &r->members[i];
    return NULL;
}

static struct room_model_role *role_find(const room *r, const struct usher_text *id)
{
    for (size_t i = 0; i < r->n_roles; i++)
        if (equals(r->roles[i].id, id))
            return &r->roles[i];
    return NULL;
}

static struct room_model_share *share_find(const room *r, const struct usher_text *id)
{
    for (size_t i = 0; i < r->n_shares; i++)
        if (equals(r->shares[i].id, id))
            return &r->shares[i];
    return NULL;
}

static size_t roles_of(const room *r, const text *id)
{
    size_t n = 0;

    for (size_t i = 0; i < r->n_roles; i++)
        n += compare(r->roles[i].holder, id) == 0;
    return n;
}

static size_t shares_of(const room *r, const text *id)
{
    size_t n = 0;

    for (size_t i = 0; i < r->n_shares; i++)
        n += compare(r->shares[i].owner, id) == 0;
    return n;
}

static bool absent(const room *r, const text *id)
{
    struct usher_text t = out(id);
    const member *x = member_find(r, &t);

    return x == NULL || !is_in(x);
}

const char *room_model_fault(const struct room_model *m)
{
    for (size_t i = 0; i < m->n; i++) {
        const room *r = &m->rooms[i];

        for (size_t k = 0; k < r->n_roles; k++)
            if (absent(r, r->roles[k].holder))
                return "a role of an absent member";
        for (size_t k = 0; k < r->n_shares; k++)
            if (absent(r, r->shares[k].owner))
                return "a share of an absent member";
        if (r->n_log > r->version)
            return "a log of more than there was";
    }
    return NULL;
}

/* ---- notices ------------------------------------------------------------------------ */

static bool comes_or_goes(enum usher_verb verb)
{
    return verb == USHER_ROOM_JOIN || verb == USHER_ROOM_LEAVE || verb == USHER_ROOM_ALIVE ||
           verb == USHER_ROOM_SWEEP;
}

static struct usher_notice notice_of(const struct work *w, enum usher_verb verb, unsigned from,
                                     unsigned to)
{
    struct usher_notice n;

    memset(&n, 0, sizeof n);
    n.noun = USHER_ROOM;
    n.scope = out(w->r->name);
    n.epoch = w->r->epoch;
    n.now_ms = w->now;
    n.verb = verb;
    n.from = (uint8_t)from;
    n.to = (uint8_t)to;
    return n;
}

/* The change is made: its version, its notice, its place in the log. */
static void changed(struct work *w, struct usher_notice n)
{
    room *r = w->r;

    n.before = r->version != r->base ? r->version : 0;
    n.version = ++r->version;
    r->clock = w->now;
    w->reply->epoch = r->epoch;
    w->reply->version = r->version;
    n.was = r->mark;
    if (r->state != USHER_ROOM_STATE_CLOSING) {
        text *unmarked = notice_packed(&n);

        n.mark = sha1_begin(unmarked);
        drop(unmarked);
        r->changes++;
        n.wait_ms = comes_or_goes(w->c->verb) ? r->set[PRESENCE] : 0;
        r->log = grown(r->log, r->n_log, sizeof *r->log);
        r->log[r->n_log].version = r->version;
        r->log[r->n_log++].packed = notice_packed(&n);
        for (int k = 0; k < 2 && (int64_t)r->n_log > r->set[LOG]; k++)
            log_remove(r, 0);
    }
    r->mark = n.mark;
    if (w->m->notify != NULL)
        w->m->notify(w->m->payload, &n);
}

static void member_changed(struct work *w, enum usher_verb verb, unsigned from, unsigned to,
                           const struct usher_text *id, int64_t until, const struct pairs *pairs)
{
    struct usher_notice n = notice_of(w, verb, from, to);
    text *data = pairs != NULL ? pairs_packed(pairs) : NULL;

    n.subject = *id;
    n.until_ms = until;
    n.data = out(data);
    changed(w, n);
    drop(data);
}

/* ---- answers ------------------------------------------------------------------------ */

static void answer(struct work *w, enum usher_status status)
{
    w->reply->status = status;
    w->reply->of.room.state = w->r->state;
    w->reply->of.room.members = (uint64_t)count_in(w->r);
}

static void answer_name(struct work *w, const struct usher_text *name)
{
    struct usher_room_result *r = &w->reply->of.room;

    r->name_size = name->size;
    if (name->size > 0)
        memcpy(r->name, name->data, name->size);
    r->name[name->size] = '\0';
}

static void answer_member(struct work *w, enum usher_status status, unsigned state, int64_t until)
{
    answer(w, status);
    answer_name(w, &w->a->member);
    w->reply->of.room.member_state = (enum usher_room_member_state)state;
    w->reply->of.room.until_ms = until;
}

/* Takes @value over. */
static row *add_row(struct work *w, int kind, text *id, text *owner, text *value, uint64_t version)
{
    row *x;

    w->rows = grown(w->rows, w->n_rows, sizeof *w->rows);
    x = &w->rows[w->n_rows++];
    x->kind = kind;
    x->id = ref(id);
    x->owner = ref(owner);
    x->value = value;
    x->version = version;
    return x;
}

static void add_field(struct work *w, int kind, const struct room_model_field *f)
{
    (void)add_row(w, kind, f->name, NULL, ref(f->value), f->version);
}

static void add_member(struct work *w, const member *x)
{
    row *to = add_row(w, USHER_ROOM_ROW_MEMBER, x->id, NULL, fields_packed(&x->own), x->version);

    to->state = (int)x->state;
    to->since = x->joined;
    to->seen = x->seen;
}

static int by_id(const void *a, const void *b)
{
    return compare(((const row *)a)->id, ((const row *)b)->id);
}

/* Those from @from on by their names. */
static void sort_rows(struct work *w, size_t from)
{
    if (w->n_rows > from)
        qsort(w->rows + from, w->n_rows - from, sizeof *w->rows, by_id);
}

static void add_fields(struct work *w, int kind, const fields *f)
{
    size_t from = w->n_rows;

    for (size_t i = 0; i < f->n; i++)
        add_field(w, kind, &f->at[i]);
    sort_rows(w, from);
}

/* ---- request ids -------------------------------------------------------------------- */

static size_t kept_find(const struct work *w)
{
    size_t i = 0;

    while (i < w->r->n_kept && !equals(w->r->kept[i].id, &w->c->request))
        i++;
    return i;
}

/* The answer is complete; it is that of @version. */
static void keep(struct work *w, uint64_t version)
{
    room *r = w->r;
    struct room_model_kept *k;
    size_t i;

    if (w->c->request.data == NULL)
        return;
    i = kept_find(w);
    if (i < r->n_kept)
        kept_remove(r, i);
    for (i = 0; i < 2 && r->n_kept > 0; i++)
        if ((int64_t)r->n_kept + 1 > r->set[REQUESTS] || r->kept[0].until <= w->moment)
            kept_remove(r, 0);
    r->kept = grown(r->kept, r->n_kept, sizeof *r->kept);
    k = &r->kept[r->n_kept++];
    k->id = text_from(&w->c->request);
    k->asked = gen_asked(w->c);
    k->until = w->moment + REQUEST_MS;
    k->reply = *w->reply;
    k->reply.version = version;
    k->rows = rows_copy(w->rows, w->n_rows);
    k->n_rows = w->n_rows;
}

/* True: it is answered. */
static bool answer_kept(struct work *w)
{
    const struct room_model_kept *k;
    size_t i;

    if (w->c->request.data == NULL)
        return false;
    i = kept_find(w);
    if (i == w->r->n_kept || w->r->kept[i].until <= w->moment)
        return false;
    k = &w->r->kept[i];
    if (k->asked != gen_asked(w->c)) {
        w->reply->status = USHER_INVALID;
        w->reply->epoch = w->reply->version = 0;
        return true;
    }
    *w->reply = k->reply;
    w->reply->epoch = w->r->epoch;
    w->reply->repeated = true;
    w->rows = rows_copy(k->rows, k->n_rows);
    w->n_rows = k->n_rows;
    return true;
}

/* The command's own change. */
/* The data of a notice that has nothing else. */
static struct usher_text actor_packed(const struct work *w, struct packed *to)
{
    put_given(to, 0, NULL, 0, NULL, &w->a->actor);
    return (struct usher_text){ (const char *)to->at, to->n };
}

static void finish(struct work *w, struct usher_notice n, const struct pairs *pairs)
{
    text *data = pairs != NULL ? pairs_packed(pairs) : NULL;
    struct packed actor = { NULL, 0, 0 };

    if (pairs != NULL)
        n.data = out(data);
    else if (w->a->actor.data != NULL && n.data.size == 0)
        n.data = actor_packed(w, &actor);
    keep(w, w->r->version + 1);
    changed(w, n);
    free(actor.at);
    drop(data);
}

/* ---- members: deadlines ------------------------------------------------------------- */

static bool fades(const room *r)
{
    return r->set[AWAY] > 0 && (r->set[TTL] == 0 || r->set[AWAY] < r->set[TTL]);
}

static int64_t until_of(const room *r, enum usher_room_member_state state, int64_t seen, int64_t at)
{
    if (state == USHER_ROOM_MEMBER_OFFLINE)
        return at + r->set[GRACE];
    if (state == USHER_ROOM_MEMBER_HERE && fades(r))
        return seen + r->set[AWAY];
    return r->set[TTL] > 0 ? seen + r->set[TTL] : 0;
}

/* Return the next state of a present member when its time is over. */
static enum usher_room_member_state next_of(const room *r, const member *x)
{
    if (x->state == USHER_ROOM_MEMBER_HERE && fades(r))
        return USHER_ROOM_MEMBER_AWAY;
    if (x->state != USHER_ROOM_MEMBER_OFFLINE && r->set[GRACE] > 0)
        return USHER_ROOM_MEMBER_OFFLINE;
    return USHER_ROOM_MEMBER_ABSENT;
}

/* Roles and shares of @id go. */
static void owned_go(room *r, const text *id)
{
    for (size_t i = r->n_roles; i-- > 0;)
        if (compare(r->roles[i].holder, id) == 0)
            role_remove(r, i);
    for (size_t i = r->n_shares; i-- > 0;)
        if (compare(r->shares[i].owner, id) == 0)
            share_remove(r, i);
}

static void member_goes(room *r, const member *x, int64_t at)
{
    owned_go(r, x->id);
    if (is_in(x) && count_in(r) == 1)
        r->empty = at;
    member_remove(r, (size_t)(x - r->members));
}

static void member_expires(struct work *w, const member *x, int64_t at)
{
    text *id = ref(x->id);
    struct usher_text name = out(id);
    unsigned from = (unsigned)x->state;
    int64_t until = x->until;

    if (w->c->verb == USHER_ROOM_SWEEP)
        add_member(w, x);
    w->r->lost++;
    member_goes(w->r, x, at);
    member_changed(w, USHER_ROOM_EXPIRE, from, USHER_ROOM_MEMBER_ABSENT, &name, until, NULL);
    drop(id);
}

/* How soon the first sign of life is missed; 0: never. */
static int64_t beat_of(const room *r)
{
    return r->set[AWAY] > 0 && (r->set[TTL] == 0 || r->set[AWAY] < r->set[TTL]) ? r->set[AWAY]
                                                                                : r->set[TTL];
}

static bool in_gap(const room *r, int64_t at)
{
    return beat_of(r) != 0 && at > r->gap_from && at <= r->gap_to;
}

/* Was the store away?  No command for longer than half of that, and two signs of life were due. */
static bool was_away(const struct work *w, int64_t *ret_from)
{
    const room *r = w->r;
    int64_t beat = beat_of(r), last = r->clock;
    int n = 0;

    for (size_t i = 0; i < r->n_members; i++)
        if (is_in(&r->members[i]) && r->members[i].seen > last)
            last = r->members[i].seen;
    if (beat == 0 || !there(r) || w->moment - r->clock <= beat / 2 || w->moment - last <= beat / 2)
        return false;
    if (r->gap_to != 0 && r->gap_to + beat > last)
        last = r->gap_to + beat;
    for (size_t i = 0; i < r->n_members; i++)
        n +=
            is_in(&r->members[i]) && r->members[i].until > last && r->members[i].until <= w->moment;
    *ret_from = last;
    return n >= 2;
}

static void outage(struct work *w)
{
    room *r = w->r;
    struct packed data = { NULL, 0, 0 };
    struct usher_notice n;

    int64_t from;

    if (r->state == USHER_ROOM_STATE_CLOSING || !was_away(w, &from))
        return;
    r->gap_from = from;
    r->gap_to = w->moment;
    n = notice_of(w, USHER_ROOM_OUTAGE, 0, 0);
    {
        const struct said all[] = { { 1, "from", r->gap_from }, { 2, "to", r->gap_to } };

        put_given(&data, 3, all, 2, NULL, NULL);
    }
    n.data = (struct usher_text){ (const char *)data.at, data.n };
    changed(w, n);
    free(data.at);
}

/* With the last one goes what is left of a closed room. */
static void ban_ends(room *r, size_t i)
{
    member_remove(r, i);
    if (r->state == USHER_ROOM_STATE_CLOSED && r->n_members == 0)
        room_vanish(r);
}

static void overdue(struct work *w, member *x)
{
    room *r = w->r;
    unsigned from = (unsigned)x->state;
    int64_t at = x->until;
    struct usher_text id = out(x->id);

    if (x->state == USHER_ROOM_MEMBER_BANNED) { /* it has no notice */
        ban_ends(r, (size_t)(x - r->members));
        return;
    }
    if (in_gap(r, at)) {
        x->until = r->gap_to + beat_of(r);
        return;
    }
    if (next_of(r, x) == USHER_ROOM_MEMBER_ABSENT) {
        member_expires(w, x, at);
        return;
    }
    x->state = next_of(r, x);
    x->until = until_of(r, x->state, x->seen, at);
    member_changed(w, x->state == USHER_ROOM_MEMBER_AWAY ? USHER_ROOM_FADE : USHER_ROOM_DROP, from,
                   (unsigned)x->state, &id, x->until, NULL);
}

static member *first_due(const room *r, int64_t now)
{
    member *first = NULL;

    for (size_t i = 0; i < r->n_members; i++) {
        member *x = &r->members[i];

        if (x->until != 0 && x->until <= now &&
            (first == NULL || x->until < first->until ||
             (x->until == first->until && x->version < first->version)))
            first = x;
    }
    return first;
}

/* ---- closing ------------------------------------------------------------------------ */

static void close_begin(struct work *w, enum usher_verb verb)
{
    struct usher_notice n = notice_of(w, verb, (unsigned)w->r->state, USHER_ROOM_STATE_CLOSING);
    struct packed actor = { NULL, 0, 0 };

    if (verb == w->c->verb && w->a->actor.data != NULL)
        n.data = actor_packed(w, &actor);
    w->r->state = USHER_ROOM_STATE_CLOSING;
    changed(w, n);
    free(actor.at);
}

/* Erase members in the order they joined, each with its shares and fields, as many as *@n allows.
 * Returns false if some remain. */
static bool close_members(room *r, uint64_t *n)
{
    for (;;) {
        size_t first = SIZE_MAX;
        uint64_t its;

        for (size_t i = 0; i < r->n_members; i++)
            if (is_in(&r->members[i]) &&
                (first == SIZE_MAX || r->members[i].version < r->members[first].version))
                first = i;
        if (first == SIZE_MAX)
            return true;
        its = 1 + roles_of(r, r->members[first].id) + shares_of(r, r->members[first].id);
        if (*n > 0 && *n + its > WRITES)
            return false;
        *n += its;
        owned_go(r, r->members[first].id);
        member_remove(r, first);
    }
}

/* `close` with ban=0. */
static bool ends_bans(const struct work *w)
{
    return w->c->verb == USHER_ROOM_CLOSE && (w->c->given & USHER_GIVEN_ROOM_BAN) != 0;
}

/* The bans of a closed room are left, with its clock and its version: the next room has later ones.
 */
static void room_rest(room *r)
{
    struct room_model_member *bans = r->members;
    size_t n = r->n_members;
    int64_t clock = r->clock;
    uint64_t version = r->version;

    r->members = NULL;
    r->n_members = 0;
    room_vanish(r);
    r->members = bans;
    r->n_members = n;
    r->clock = clock;
    r->version = version;
}

static uint64_t close_step(struct work *w)
{
    room *r = w->r;
    uint64_t n = 0;
    size_t left = 0;

    if (!close_members(r, &n))
        return n;
    for (size_t i = r->n_members; n < WRITES && i > 0; i--) /* bans that last are kept */
        if (ends_bans(w) || r->members[i - 1].until <= w->moment) {
            member_remove(r, i - 1);
            n++;
        }
    for (; n < WRITES && r->fields.n > 0; n++)
        field_remove(&r->fields, r->fields.n - 1);
    for (; n < WRITES && r->alls.n > 0; n++)
        field_remove(&r->alls, r->alls.n - 1);
    for (; n < WRITES && r->n_log > 0; n++)
        log_remove(r, r->n_log - 1);
    for (; n < WRITES && r->n_kept > 0; n++)
        kept_remove(r, 0);
    for (size_t i = 0; i < r->n_members; i++)
        left += ends_bans(w) || r->members[i].until <= w->moment;
    if (left + r->fields.n + r->alls.n + r->n_log + r->n_kept > 0)
        return n;
    changed(w, notice_of(w, USHER_ROOM_DONE, USHER_ROOM_STATE_CLOSING, USHER_ROOM_STATE_CLOSED));
    if (r->n_members > 0)
        room_rest(r);
    else
        room_vanish(r);
    return n;
}

/* A read moves the room's clock no further than its expiries. */
static void as_of(struct work *w, int64_t at)
{
    if (w->c->verb == USHER_ROOM_SNAPSHOT)
        w->now = at > w->r->clock ? at : w->r->clock;
}

/* Apply due expiries, at most @max; returns how many. */
static uint64_t all_overdue(struct work *w, uint64_t max, bool *ret_more)
{
    const room *r = w->r;
    int64_t now = w->now;
    uint64_t n = 0;
    member *x;

    *ret_more = false;
    if (w->c->verb == USHER_ROOM_SNAPSHOT)
        w->now = r->clock;
    outage(w);
    while ((x = first_due(r, w->moment)) != NULL) {
        if (n == max) {
            *ret_more = true;
            break;
        }
        as_of(w, x->until);
        overdue(w, x);
        n++;
    }
    if (!*ret_more && is_open(r) && r->set[LINGER] > 0 && count_in(r) == 0 &&
        r->empty + r->set[LINGER] <= w->moment) {
        as_of(w, r->empty + r->set[LINGER]);
        close_begin(w, USHER_ROOM_EMPTY);
        (void)close_step(w);
        n++;
    }
    w->now = now;
    return n;
}

/* The member as it is now; NULL: none. */
static member *load(struct work *w, const struct usher_text *id)
{
    member *x;

    while ((x = member_find(w->r, id)) != NULL && x->until != 0 && x->until <= w->moment)
        overdue(w, x);
    return x;
}

static member *load_in(struct work *w, const struct usher_text *id)
{
    member *x = load(w, id);

    return x != NULL && is_in(x) ? x : NULL;
}

/* Apply the due expiry of member @id. */
static void load_owner(struct work *w, text *id)
{
    struct usher_text t = out(ref(id));

    (void)load(w, &t);
    drop(id);
}

/* ---- verbs -------------------------------------------------------------------------- */

static void do_stale(struct work *w);

/* The command is for one version, or one epoch, alone. */
static bool asks(const struct work *w)
{
    return (w->c->given & USHER_GIVEN_ROOM_IF_VERSION) != 0 || w->a->epoch.data != NULL;
}

/* And the room has another one. */
static bool is_other(const struct work *w)
{
    const struct usher_text *epoch = &w->a->epoch;
    char now[17];

    (void)snprintf(now, sizeof now, "%016" PRIx64, w->r->epoch);
    return ((w->c->given & USHER_GIVEN_ROOM_IF_VERSION) != 0 &&
            (uint64_t)w->a->if_version != w->r->version) ||
           (epoch->data != NULL && memcmp(epoch->data, now, 16) != 0);
}

/* False: it is answered. */
static bool gate(struct work *w)
{
    if (!is_open(w->r))
        answer(w, USHER_MISSING);
    return is_open(w->r);
}

static void settings_out(struct work *w)
{
    struct usher_room_result_settings *s = &w->reply->of.room.settings;
    const int64_t *set = w->r->set;

    s->capacity = set[CAPACITY];
    s->linger_ms = set[LINGER];
    s->ttl_ms = set[TTL];
    s->away_ms = set[AWAY];
    s->grace_ms = set[GRACE];
    s->log = set[LOG];
    s->requests = set[REQUESTS];
    s->presence_ms = set[PRESENCE];
    s->push = set[PUSH];
    w->reply->of.room.created_ms = w->r->created;
}

static void do_open(struct work *w)
{
    const struct usher_room_args *a = w->a;
    const int64_t given[ROOM_MODEL_SETTINGS] = { a->capacity, a->linger_ms,   a->ttl_ms,
                                                 a->away_ms,  a->grace_ms,    a->log,
                                                 a->requests, a->presence_ms, a->push };
    static const uint64_t bits[ROOM_MODEL_SETTINGS] = {
        USHER_GIVEN_ROOM_CAPACITY, USHER_GIVEN_ROOM_LINGER,   USHER_GIVEN_ROOM_TTL,
        USHER_GIVEN_ROOM_AWAY,     USHER_GIVEN_ROOM_GRACE,    USHER_GIVEN_ROOM_LOG,
        USHER_GIVEN_ROOM_REQUESTS, USHER_GIVEN_ROOM_PRESENCE, USHER_GIVEN_ROOM_PUSH
    };
    room *r = w->r;
    bool differs;
    unsigned from;

    while (r->state == USHER_ROOM_STATE_CLOSING) /* nothing of the old one is to be left */
        (void)close_step(w);
    if (!there(r) && !rests(r)) /* nor its time */
        w->now = w->c->now_ms;
    differs = !there(r);
    from = (unsigned)r->state;
    for (int i = 0; i < ROOM_MODEL_SETTINGS; i++)
        if ((w->c->given & bits[i]) != 0 && r->set[i] != given[i]) {
            r->set[i] = given[i];
            differs = true;
        }
    if (!there(r)) {
        r->base = r->version;
        r->state = USHER_ROOM_STATE_OPEN;
        r->created = w->now;
        r->empty = w->moment;
        r->epoch++;
    }
    answer(w, differs ? USHER_OK : USHER_SAME);
    settings_out(w);
    if (differs) { /* which all follow of it know its settings by */
        const struct said all[] = {
            { 1, "capacity", r->set[CAPACITY] },
            { 2, "linger", r->set[LINGER] },
            { 4, "ttl", r->set[TTL] },
            { 8, "away", r->set[AWAY] },
            { 16, "grace", r->set[GRACE] },
            { 32, "log", r->set[LOG] },
            { 64, "requests", r->set[REQUESTS] },
            { 128, "presence", r->set[PRESENCE] },
            { 256, "push", r->set[PUSH] },
        };
        struct packed data = { NULL, 0, 0 };
        struct usher_notice n = notice_of(w, USHER_ROOM_OPEN, from, (unsigned)r->state);

        put_given(&data, 511, all, ROOM_MODEL_SETTINGS, NULL, &w->a->actor);
        n.data = (struct usher_text){ (const char *)data.at, data.n };
        finish(w, n, NULL);
        free(data.at);
    }
}

static void do_close(struct work *w)
{
    if (rests(w->r) && ends_bans(w)) {
        for (; w->reply->of.room.count < WRITES && w->r->n_members > 0; w->reply->of.room.count++)
            ban_ends(w->r, w->r->n_members - 1);
        answer(w, USHER_OK);
        w->reply->of.room.more = w->r->n_members > 0;
        return;
    }
    if (!there(w->r)) {
        answer(w, USHER_SAME);
        return;
    }
    if (w->r->state != USHER_ROOM_STATE_CLOSING)
        close_begin(w, USHER_ROOM_CLOSE);
    w->reply->of.room.count = close_step(w);
    answer(w, USHER_OK);
    w->reply->of.room.more = there(w->r);
}

static void do_lock(struct work *w, enum usher_room_state to)
{
    unsigned from = (unsigned)w->r->state;

    if (!gate(w))
        return;
    w->r->state = to;
    answer(w, from == (unsigned)to ? USHER_SAME : USHER_OK);
    if (from != (unsigned)to)
        finish(w, notice_of(w, w->c->verb, from, (unsigned)to), NULL);
}

/* `if=` against what there is (NULL: nothing).  False: it is answered. */
static bool as_expected(struct work *w, const struct room_model_field *f)
{
    if (w->a->expected.data == NULL ||
        (f != NULL ? equals(f->value, &w->a->expected) : w->a->expected.size == 0))
        return true;
    answer(w, USHER_STALE);
    if (f != NULL)
        add_field(w, w->c->verb == USHER_ROOM_ALL ? USHER_ROOM_ROW_ALL : USHER_ROOM_ROW_FIELD, f);
    return false;
}

static void field_changed(struct work *w, const struct pairs *pairs)
{
    struct usher_notice n = notice_of(w, w->c->verb, 0, 0);

    n.subject = w->a->field;
    answer(w, USHER_OK);
    finish(w, n, pairs);
}

/* Put @pairs into @own; a value of @alls (NULL: none count) that came later stands before it. */
static bool put_pairs(struct work *w, fields *own, const fields *alls, const struct pairs *pairs)
{
    bool any = false;

    for (size_t i = 0; i < pairs->n; i++) {
        const struct room_model_field *f = field_find(own, &pairs->name[i]);
        const struct room_model_field *all =
            alls != NULL ? field_find(alls, &pairs->name[i]) : NULL;

        if (f != NULL && equals(f->value, &pairs->value[i]) &&
            (all == NULL || f->version > all->version))
            continue;
        field_put(own, &pairs->name[i], &pairs->value[i], w->r->version + 1);
        any = true;
    }
    return any;
}

static void do_set(struct work *w)
{
    struct pairs pairs;

    if (!gate(w) || !as_expected(w, field_find(&w->r->fields, &w->a->field)))
        return;
    pairs_of(w, true, &pairs);
    if (put_pairs(w, &w->r->fields, NULL, &pairs))
        field_changed(w, &pairs);
    else
        answer(w, USHER_SAME);
}

static void do_unset(struct work *w)
{
    fields *all = &w->r->fields;
    const struct room_model_field *f = field_find(all, &w->a->field);

    if (!gate(w) || !as_expected(w, f))
        return;
    if (f == NULL) {
        answer(w, USHER_SAME);
        return;
    }
    field_remove(all, (size_t)(f - all->at));
    field_changed(w, NULL);
}

static void do_all(struct work *w)
{
    struct pairs pairs;

    if (!gate(w) || !as_expected(w, field_find(&w->r->alls, &w->a->field)))
        return;
    pairs_of(w, true, &pairs);
    field_put(&w->r->alls, &w->a->field, &w->a->value, w->r->version + 1);
    field_changed(w, &pairs);
}

static void do_member(struct work *w)
{
    const struct room_model_field *all, *f;
    struct usher_notice n;
    struct pairs pairs;
    member *x;

    if (!gate(w))
        return;
    answer_name(w, &w->a->member);
    x = load_in(w, &w->a->member);
    if (x == NULL) {
        answer(w, USHER_MISSING);
        return;
    }
    f = field_find(&x->own, &w->a->field);
    all = field_find(&w->r->alls, &w->a->field);
    if (!as_expected(w, f != NULL && (all == NULL || f->version > all->version) ? f : all))
        return;
    pairs_of(w, true, &pairs);
    if (!put_pairs(w, &x->own, &w->r->alls, &pairs)) {
        answer(w, USHER_SAME);
        return;
    }
    answer(w, USHER_OK);
    n = notice_of(w, USHER_ROOM_MEMBER, (unsigned)x->state, (unsigned)x->state);
    n.subject = w->a->member;
    n.until_ms = x->until;
    finish(w, n, &pairs);
}

static void beat(struct work *w, member *x)
{
    x->seen = w->moment;
    x->state = USHER_ROOM_MEMBER_HERE;
    x->until = until_of(w->r, x->state, x->seen, w->moment);
}

/* Notify that @x is in, by the verb of the command. */
static void came(struct work *w, unsigned from, const member *x, const struct pairs *pairs)
{
    struct usher_notice n = notice_of(w, w->c->verb, from, (unsigned)x->state);

    n.subject = w->a->member;
    n.until_ms = x->until;
    finish(w, n, pairs);
}

static void join_new(struct work *w, const struct pairs *pairs)
{
    room *r = w->r;
    bool place = true, more;
    member *x;

    if (r->state == USHER_ROOM_STATE_LOCKED) {
        answer_member(w, USHER_REFUSED, USHER_ROOM_MEMBER_ABSENT, 0);
        return;
    }
    if (r->set[CAPACITY] > 0 && count_in(r) >= r->set[CAPACITY]) {
        do { /* in portions: the engine gives the command again */
            (void)all_overdue(w, EXPIRE_MAX, &more);
            place = count_in(r) < r->set[CAPACITY];
        } while (!place && more);
    }
    if (!gate(w))
        return;
    if (!place) {
        answer_member(w, USHER_FULL, USHER_ROOM_MEMBER_ABSENT, 0);
        return;
    }
    r->members = grown(r->members, r->n_members, sizeof *r->members);
    x = &r->members[r->n_members++];
    x->id = text_from(&w->a->member);
    x->version = r->version + 1;
    x->joined = w->now;
    (void)put_pairs(w, &x->own, &r->alls, pairs);
    beat(w, x);
    r->joined++;
    answer_member(w, USHER_OK, (unsigned)x->state, x->until);
    came(w, USHER_ROOM_MEMBER_ABSENT, x, pairs);
}

static void do_join(struct work *w)
{
    struct pairs pairs;
    unsigned from;
    bool any;
    member *x;

    if (!gate(w))
        return;
    pairs_of(w, false, &pairs);
    x = load(w, &w->a->member);
    if (x == NULL) {
        join_new(w, &pairs);
        return;
    }
    if (x->state == USHER_ROOM_MEMBER_BANNED) {
        answer_member(w, USHER_REFUSED, USHER_ROOM_MEMBER_BANNED, x->until);
        return;
    }
    from = (unsigned)x->state;
    any = put_pairs(w, &x->own, &w->r->alls, &pairs);
    beat(w, x);
    any = any || from != USHER_ROOM_MEMBER_HERE;
    answer_member(w, any ? USHER_OK : USHER_SAME, (unsigned)x->state, x->until);
    if (any)
        came(w, from, x, &pairs);
}

static void answer_point(struct work *w)
{
    w->reply->of.room.since = w->r->version;
    w->reply->of.room.mark = w->r->mark;
}

static void do_alive(struct work *w)
{
    unsigned from;
    member *x;

    if (!gate(w))
        return;
    x = load(w, &w->a->member);
    if (x == NULL || x->state == USHER_ROOM_MEMBER_BANNED) {
        answer_member(w, USHER_MISSING,
                      x == NULL ? USHER_ROOM_MEMBER_ABSENT : USHER_ROOM_MEMBER_BANNED,
                      x == NULL ? 0 : x->until);
        return;
    }
    from = (unsigned)x->state;
    beat(w, x);
    answer_member(w, USHER_OK, (unsigned)x->state, x->until);
    answer_point(w);
    if (from != USHER_ROOM_MEMBER_HERE) {
        came(w, from, x, NULL);
        answer_point(w);
    }
}

/* leave, kick without and with a ban (> 0), an end of a ban (0). */
static void do_go(struct work *w)
{
    bool has_ban = w->c->verb == USHER_ROOM_KICK && (w->c->given & USHER_GIVEN_ROOM_BAN) != 0;
    bool bans = has_ban && w->a->ban_ms > 0;
    int64_t end = bans ? w->moment + w->a->ban_ms : 0;
    unsigned from = USHER_ROOM_MEMBER_ABSENT;
    unsigned to = bans ? USHER_ROOM_MEMBER_BANNED : USHER_ROOM_MEMBER_ABSENT;
    struct usher_notice n;
    room *r = w->r;
    member *x;

    if (has_ban && !bans && !is_open(r)) { /* of a room that is closed, or about to be */
        if (rests(r) && is_other(w)) {
            do_stale(w);
            return;
        }
        x = load(w, &w->a->member);
        if (x != NULL && x->state == USHER_ROOM_MEMBER_BANNED) {
            ban_ends(r, (size_t)(x - r->members));
            answer_member(w, USHER_OK, to, 0);
            return;
        }
    }
    if (!gate(w))
        return;
    x = load(w, &w->a->member);
    if (x != NULL)
        from = (unsigned)x->state;
    if (bans ? from == USHER_ROOM_MEMBER_BANNED && x->until == end
             : from == USHER_ROOM_MEMBER_ABSENT || (from == USHER_ROOM_MEMBER_BANNED && !has_ban)) {
        answer_member(w, USHER_SAME, from, x != NULL ? x->until : 0);
        return;
    }
    if (x != NULL && is_in(x))
        *(w->c->verb == USHER_ROOM_LEAVE ? &r->left : &r->kicked) += 1;
    if (x != NULL)
        member_goes(r, x, w->moment);
    if (bans) {
        r->members = grown(r->members, r->n_members, sizeof *r->members);
        x = &r->members[r->n_members++];
        x->id = text_from(&w->a->member);
        x->state = USHER_ROOM_MEMBER_BANNED;
        x->until = end;
        x->version = r->version + 1;
    }
    answer_member(w, USHER_OK, to, end);
    n = notice_of(w, w->c->verb, from, to);
    n.subject = w->a->member;
    n.until_ms = end;
    finish(w, n, NULL);
}

static void do_role(struct work *w)
{
    static const char word[] = "holder";
    room *r = w->r;
    struct room_model_role *role;
    struct usher_text to = w->a->member, holder;
    struct usher_notice n;
    struct pairs pairs;

    if (!gate(w))
        return;
    if (to.size > 0 && load_in(w, &to) == NULL) {
        answer(w, USHER_MISSING);
        return;
    }
    role = role_find(r, &w->a->role);
    if (role != NULL)
        load_owner(w, role->holder);
    role = role_find(r, &w->a->role);
    holder = role != NULL ? out(role->holder) : none;
    answer_name(w, &holder);
    if (w->a->expected.data != NULL && !same(&w->a->expected, &holder)) {
        answer(w, USHER_STALE);
        return;
    }
    if (same(&to, &holder)) {
        answer(w, USHER_SAME);
        return;
    }
    if (to.size > 0 && roles_of(r, member_find(r, &to)->id) >= OWNED) {
        answer(w, USHER_FULL);
        return;
    }
    n = notice_of(w, USHER_ROOM_ROLE, 0, 0);
    n.subject = w->a->role;
    n.token = r->version + 1;
    if (to.size == 0) {
        n.token = role->version;
        role_remove(r, (size_t)(role - r->roles));
    } else {
        if (role == NULL) {
            r->roles = grown(r->roles, r->n_roles, sizeof *r->roles);
            role = &r->roles[r->n_roles++];
            role->id = text_from(&w->a->role);
        }
        drop(role->holder);
        role->holder = text_from(&to);
        role->version = r->version + 1;
        n.owner = to;
    }
    pairs.n = 1;
    pairs.name[0].data = word;
    pairs.name[0].size = sizeof word - 1;
    pairs.value[0] = to;
    answer_name(w, &to);
    answer(w, USHER_OK);
    finish(w, n, &pairs);
}

static void do_share(struct work *w)
{
    room *r = w->r;
    struct room_model_share *s;
    struct usher_notice n;
    struct pairs pairs;
    bool changes;
    member *x;

    if (!gate(w))
        return;
    answer_name(w, &w->a->share);
    s = share_find(r, &w->a->share);
    if (s != NULL)
        load_owner(w, s->owner);
    x = load_in(w, &w->a->member);
    if (x == NULL) {
        answer(w, USHER_MISSING);
        return;
    }
    s = share_find(r, &w->a->share);
    if (s != NULL && !equals(s->owner, &w->a->member)) {
        answer(w, USHER_REFUSED);
        return;
    }
    changes = s == NULL;
    if (changes && shares_of(r, x->id) >= OWNED) {
        answer(w, USHER_FULL);
        return;
    }
    if (changes) {
        r->shares = grown(r->shares, r->n_shares, sizeof *r->shares);
        s = &r->shares[r->n_shares++];
        s->id = text_from(&w->a->share);
        s->owner = text_from(&w->a->member);
        s->version = r->version + 1;
    }
    pairs_of(w, false, &pairs);
    if (put_pairs(w, &s->own, NULL, &pairs))
        changes = true;
    answer(w, changes ? USHER_OK : USHER_SAME);
    if (!changes)
        return;
    n = notice_of(w, USHER_ROOM_SHARE, 0, 0);
    n.subject = w->a->share;
    n.owner = w->a->member;
    finish(w, n, &pairs);
}

static void do_unshare(struct work *w)
{
    struct room_model_share *s;
    struct usher_notice n;
    text *owner;

    if (!gate(w))
        return;
    answer_name(w, &w->a->share);
    s = share_find(w->r, &w->a->share);
    answer(w, s != NULL ? USHER_OK : USHER_SAME);
    if (s == NULL)
        return;
    owner = ref(s->owner);
    n = notice_of(w, USHER_ROOM_UNSHARE, 0, 0);
    n.subject = w->a->share;
    n.owner = out(owner);
    share_remove(w->r, (size_t)(s - w->r->shares));
    finish(w, n, NULL);
    drop(owner);
}

static void do_sweep(struct work *w)
{
    struct usher_room_result *reply = &w->reply->of.room;
    room *r = w->r;
    bool fewer = (w->c->given & USHER_GIVEN_ROOM_MAX) != 0 && w->a->max < SWEEP_MAX;
    uint64_t max = fewer ? (uint64_t)w->a->max : SWEEP_MAX;
    uint64_t before = r->version;

    if (!gate(w))
        return;
    reply->count = all_overdue(w, max, &reply->more);
    while ((w->c->given & USHER_GIVEN_ROOM_TTL) != 0 && !reply->more && is_open(r)) {
        const member *first = NULL;

        for (size_t i = 0; i < r->n_members; i++) {
            const member *x = &r->members[i];

            if (is_in(x) && (first == NULL || x->seen < first->seen ||
                             (x->seen == first->seen && x->version < first->version)))
                first = x;
        }
        if (first == NULL || first->seen + w->a->ttl_ms > w->moment)
            break;
        if (reply->count >= max) {
            reply->more = true;
            break;
        }
        member_expires(w, first, w->moment);
        reply->count++;
    }
    answer(w, reply->count > 0 ? USHER_OK : USHER_SAME);
    if (there(r) && r->version != before && w->c->request.data != NULL) {
        keep(w, r->version);
        r->clock = w->now;
    }
}

static void add_shares(struct work *w, const member *x)
{
    const room *r = w->r;
    uint64_t shown = 0;

    for (;;) { /* the next one in the order in which they were made */
        const struct room_model_share *next = NULL;

        for (size_t i = 0; i < r->n_shares; i++) {
            const struct room_model_share *s = &r->shares[i];

            if (compare(s->owner, x->id) == 0 && s->version > shown &&
                (next == NULL || s->version < next->version))
                next = s;
        }
        if (next == NULL)
            return;
        shown = next->version;
        (void)add_row(w, USHER_ROOM_ROW_SHARE, next->id, next->owner, fields_packed(&next->own),
                      next->version);
    }
}

/* Return the member that joined first after @version, or NULL. */
static const member *joined_behind(const room *r, uint64_t version)
{
    const member *next = NULL;

    for (size_t i = 0; i < r->n_members; i++) {
        const member *x = &r->members[i];

        if (is_in(x) && x->version > version && (next == NULL || x->version < next->version))
            next = x;
    }
    return next;
}

/* The log has all changes after this version. */
static uint64_t log_floor(const room *r)
{
    uint64_t version = r->version - r->n_log;

    return version != r->base ? version : 0;
}

/* Add the notices after the command's `since`. */
static void add_changes(struct work *w, size_t max)
{
    const room *r = w->r;
    uint64_t since = (uint64_t)w->a->since;
    size_t n = 0;

    if (since < log_floor(r) || since > r->version) {
        w->reply->status = USHER_STALE;
        return;
    }
    for (size_t i = 0; i < r->n_log; i++) {
        char id[32];
        text *t;

        if (r->log[i].version <= since)
            continue;
        if (n++ == max) {
            w->reply->of.room.more = true;
            break;
        }
        t = text_new(id, (size_t)snprintf(id, sizeof id, "%016" PRIu64, r->log[i].version));
        (void)add_row(w, USHER_ROOM_ROW_NOTICE, t, NULL, ref(r->log[i].packed), r->log[i].version);
        drop(t);
    }
}

static void do_snapshot(struct work *w)
{
    const room *r = w->r;
    uint64_t max = (w->c->given & USHER_GIVEN_ROOM_MAX) != 0 ? (uint64_t)w->a->max : 100;
    struct usher_room_result *reply = &w->reply->of.room;
    const member *x;

    if (!gate(w))
        return;
    answer(w, USHER_OK);
    answer_point(w);
    reply->since = (uint64_t)w->a->after;
    if ((w->c->given & USHER_GIVEN_ROOM_SINCE) != 0) {
        add_changes(w, (size_t)max);
        if (reply->more || w->reply->status != USHER_OK)
            return;
    }
    if (w->a->after == 0) {
        size_t from;

        add_fields(w, USHER_ROOM_ROW_FIELD, &r->fields);
        from = w->n_rows;
        for (size_t i = 0; i < r->n_roles; i++)
            (void)add_row(w, USHER_ROOM_ROW_ROLE, r->roles[i].id, r->roles[i].holder, NULL,
                          r->roles[i].version);
        sort_rows(w, from);
    }
    add_fields(w, USHER_ROOM_ROW_ALL, &r->alls);
    for (; (x = joined_behind(r, reply->since)) != NULL && max > 0; max--) {
        reply->since = x->version;
        add_member(w, x);
        add_shares(w, x);
    }
    reply->more = x != NULL;
}

/* Make the members as reads show them, once all is overdue, which they do not write.  False: no
 * room.  The statistics are those of such members, too. */
static bool look(struct work *w)
{
    const room *r = w->r;
    struct usher_room_result_statistics s = { .lost_total = (int64_t)r->lost };
    uint64_t members = 0;
    int64_t empty = r->empty;
    bool open = is_open(r);
    room seen = *r;

    if (was_away(w, &seen.gap_from))
        seen.gap_to = w->moment;
    else
        seen.gap_from = r->gap_from;
    for (size_t i = 0; open && i < r->n_members; i++) {
        member x = r->members[i];

        while (is_in(&x) && x.until != 0 && x.until <= w->moment) {
            int64_t at = x.until;

            if (in_gap(&seen, at)) {
                x.until = seen.gap_to + beat_of(r);
                continue;
            }
            x.state = next_of(r, &x);
            x.until = until_of(r, x.state, x.seen, at);
            if (x.state == USHER_ROOM_MEMBER_ABSENT && at > empty)
                empty = at;
        }
        members += is_in(&x);
        s.lost_total += is_in(&r->members[i]) && !is_in(&x);
        s.roles += is_in(&x) ? (int64_t)roles_of(r, x.id) : 0;
        s.shares += is_in(&x) ? (int64_t)shares_of(r, x.id) : 0;
    }
    if (open && members == 0 && r->set[LINGER] > 0 && empty + r->set[LINGER] <= w->moment)
        open = false;
    answer(w, open ? USHER_OK : USHER_MISSING);
    w->reply->of.room.members = members;
    if (!open && there(r))
        w->reply->of.room.state = USHER_ROOM_STATE_CLOSING;
    if (open && w->c->verb == USHER_ROOM_STATS) {
        s.capacity = r->set[CAPACITY];
        s.joined_total = (int64_t)r->joined;
        s.left_total = (int64_t)r->left;
        s.kicked_total = (int64_t)r->kicked;
        s.changes_total = (int64_t)r->changes;
        w->reply->of.room.stats = s;
        w->reply->of.room.created_ms = r->created;
    }
    return open;
}

static void do_get(struct work *w)
{
    const struct room_model_field *f;

    if (!look(w))
        return;
    if (w->a->field.data == NULL) {
        add_fields(w, USHER_ROOM_ROW_FIELD, &w->r->fields);
        return;
    }
    f = field_find(&w->r->fields, &w->a->field);
    if (f != NULL)
        add_field(w, USHER_ROOM_ROW_FIELD, f);
    else
        w->reply->status = USHER_MISSING;
}

static void do_changes(struct work *w)
{
    const room *r = w->r;
    struct usher_room_result *reply = &w->reply->of.room;
    size_t max = (w->c->given & USHER_GIVEN_ROOM_MAX) != 0 ? (size_t)w->a->max : 100;

    if (!look(w))
        return;
    reply->count = r->n_log;
    reply->since = log_floor(r);
    reply->mark = r->mark;
    reply->settings.push = r->set[PUSH];
    if (is_other(w))
        w->reply->status = USHER_STALE;
    else
        add_changes(w, max);
}

/* ---- are the arguments right? ------------------------------------------------------- */

enum {
    MEMBER = 1,
    FIELD = 2,
    VALUE = 4,
    IF = 8,
    FIELDS = 16,
    ROLE = 32,
    SHARE = 64,
    EPOCH = 128,
    ACTOR = 256
};

#define G(name) USHER_GIVEN_ROOM_##name
#define V(name, must, may, given)               \
    {                                           \
        USHER_ROOM_##name, (must), (may), given \
    }

static const struct {
    enum usher_verb verb;
    unsigned must, may;
    uint64_t given;
} takes[] = {
    V(OPEN, 0, ACTOR,
      G(IF_VERSION) | G(CAPACITY) | G(LINGER) | G(TTL) | G(AWAY) | G(GRACE) | G(LOG) | G(REQUESTS) |
          G(PRESENCE) | G(PUSH)),
    V(CLOSE, 0, ACTOR, G(BAN) | G(IF_VERSION)),
    V(LOCK, 0, ACTOR, G(IF_VERSION)),
    V(UNLOCK, 0, ACTOR, G(IF_VERSION)),
    V(SET, FIELD | VALUE, IF | FIELDS, G(IF_VERSION)),
    V(UNSET, FIELD, IF, G(IF_VERSION)),
    V(GET, 0, FIELD, 0),
    V(JOIN, MEMBER, FIELDS, G(IF_VERSION)),
    V(LEAVE, MEMBER, 0, G(IF_VERSION)),
    V(KICK, MEMBER, ACTOR, G(BAN) | G(IF_VERSION)),
    V(ALIVE, MEMBER, 0, G(IF_VERSION)),
    V(MEMBER, MEMBER | FIELD | VALUE, IF | FIELDS, G(IF_VERSION)),
    V(ALL, FIELD | VALUE, 0, G(IF_VERSION)),
    V(ROLE, ROLE | MEMBER, IF, G(IF_VERSION)),
    V(SHARE, MEMBER | SHARE, FIELDS, G(IF_VERSION)),
    V(UNSHARE, SHARE, 0, G(IF_VERSION)),
    V(SHOW, 0, 0, 0),
    V(STATS, 0, 0, 0),
    V(SNAPSHOT, 0, 0, G(AFTER) | G(SINCE) | G(MAX) | G(IF_VERSION)),
    V(CHANGES, 0, EPOCH, G(SINCE) | G(MAX)),
    V(SWEEP, 0, 0, G(TTL) | G(MAX) | G(IF_VERSION)),
};

static bool within(const struct usher_operation *c, uint64_t bit, int64_t value, int64_t min,
                   int64_t max)
{
    return (c->given & bit) == 0 || (value >= min && value <= max);
}

static bool numbers_right(const struct usher_operation *c)
{
    const struct usher_room_args *a = &c->arg.room;

    return within(c, USHER_GIVEN_NOW, c->now_ms, 0, USHER_TIME_MAX) &&
           within(c, G(CAPACITY), a->capacity, 0, 1000000000) &&
           within(c, G(LINGER), a->linger_ms, 0, USHER_SPAN_MAX) &&
           within(c, G(TTL), a->ttl_ms, 0, USHER_SPAN_MAX) &&
           within(c, G(AWAY), a->away_ms, 0, USHER_SPAN_MAX) &&
           within(c, G(GRACE), a->grace_ms, 0, USHER_SPAN_MAX) &&
           within(c, G(LOG), a->log, 1, 100000) &&
           within(c, G(REQUESTS), a->requests, 1, 1000000) &&
           within(c, G(PRESENCE), a->presence_ms, 0, USHER_SPAN_MAX) &&
           within(c, G(PUSH), a->push, 0, 1) && within(c, G(AFTER), a->after, 0, USHER_EXACT_MAX) &&
           within(c, G(BAN), a->ban_ms, 0, c->verb == USHER_ROOM_CLOSE ? 0 : USHER_SPAN_MAX) &&
           within(c, G(IF_VERSION), a->if_version, 1, USHER_EXACT_MAX) &&
           within(c, G(SINCE), a->since, 0, USHER_EXACT_MAX) &&
           within(c, G(MAX), a->max, 1, USHER_LIST_MAX);
}

static bool is_epoch(const struct usher_text *t)
{
    bool right = t->size == 16;

    for (size_t i = 0; right && i < 16; i++)
        right = strchr("0123456789abcdef", t->data[i]) != NULL && t->data[i] != '\0';
    return right;
}

/* Return whether a `set` or `member` names a field twice. */
static bool twice(const struct usher_operation *c)
{
    struct usher_fields f;
    struct usher_text seen[USHER_ROOM_GIVEN_FIELDS_MAX + 1], value;
    uint64_t version;
    size_t n = 1;

    if ((c->verb != USHER_ROOM_SET && c->verb != USHER_ROOM_MEMBER) ||
        c->arg.room.fields.data == NULL)
        return false;
    seen[0] = c->arg.room.field;
    usher_fields_begin(&f, &c->arg.room.fields);
    for (; n <= USHER_ROOM_GIVEN_FIELDS_MAX && usher_fields_next(&f, &seen[n], &value, &version);
         n++)
        for (size_t i = 0; i < n; i++)
            if (same(&seen[i], &seen[n]))
                return true;
    return false;
}

static bool right(const struct usher_operation *c)
{
    const struct usher_room_args *a = &c->arg.room;
    const struct {
        unsigned bit;
        const struct usher_text *t;
        bool any_bytes;
    } texts[] = {
        { MEMBER, &a->member, c->verb == USHER_ROOM_ROLE && a->member.size == 0 },
        { FIELD, &a->field, false },
        { VALUE, &a->value, true },
        { IF, &a->expected, true },
        { FIELDS, &a->fields, true },
        { ROLE, &a->role, false },
        { SHARE, &a->share, false },
        { EPOCH, &a->epoch, true },
        { ACTOR, &a->actor, false },
    };
    unsigned may;
    size_t i = 0;

    while (i < sizeof takes / sizeof *takes && takes[i].verb != c->verb)
        i++;
    if (i == sizeof takes / sizeof *takes || c->scope.data == NULL ||
        !is_scope(c->scope.data, c->scope.size) ||
        (c->request.data != NULL && !is_name(c->request.data, c->request.size)) ||
        (c->given & ~(uint64_t)USHER_GIVEN_NOW & ~takes[i].given) != 0 || !numbers_right(c))
        return false;
    may = takes[i].may | ((takes[i].given & G(IF_VERSION)) != 0 ? EPOCH : 0);
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        if (texts[k].t->data == NULL) {
            if ((takes[i].must & texts[k].bit) != 0)
                return false;
            continue;
        }
        if (((takes[i].must | may) & texts[k].bit) == 0 ||
            (!texts[k].any_bytes && !is_name(texts[k].t->data, texts[k].t->size)))
            return false;
    }
    if (a->epoch.data != NULL ? !is_epoch(&a->epoch) : (c->given & G(IF_VERSION)) != 0)
        return false;
    return !twice(c);
}

/* ---- all together ------------------------------------------------------------------- */

/* `if-version=` or `epoch=` is another one: what there is now of that which the command names. */
static void do_stale(struct work *w)
{
    const struct usher_text *field = &w->a->field;
    const struct room_model_field *f = NULL, *all = field_find(&w->r->alls, field);
    struct room_model_role *role;
    struct usher_text holder;
    member *x;

    switch (w->c->verb) {
    case USHER_ROOM_OPEN:
        settings_out(w);
        break;
    case USHER_ROOM_SET:
    case USHER_ROOM_UNSET:
        f = field_find(&w->r->fields, field);
        break;
    case USHER_ROOM_ALL:
        f = all;
        break;
    case USHER_ROOM_ROLE:
        role = role_find(w->r, &w->a->role);
        if (role != NULL)
            load_owner(w, role->holder);
        role = role_find(w->r, &w->a->role);
        holder = role != NULL ? out(role->holder) : none;
        answer_name(w, &holder);
        break;
    case USHER_ROOM_JOIN:
    case USHER_ROOM_LEAVE:
    case USHER_ROOM_KICK:
    case USHER_ROOM_ALIVE:
    case USHER_ROOM_MEMBER:
        x = load(w, &w->a->member);
        answer_member(w, USHER_STALE, x != NULL ? (unsigned)x->state : 0, x != NULL ? x->until : 0);
        if (x == NULL || w->c->verb != USHER_ROOM_MEMBER)
            break;
        f = field_find(&x->own, field);
        f = f != NULL && (all == NULL || f->version > all->version) ? f : all;
        break;
    default:
        break;
    }
    answer(w, USHER_STALE);
    if (f != NULL)
        add_field(w, w->c->verb == USHER_ROOM_ALL ? USHER_ROOM_ROW_ALL : USHER_ROOM_ROW_FIELD, f);
}

static void write_verb(struct work *w)
{
    switch (w->c->verb) {
    case USHER_ROOM_OPEN:
        do_open(w);
        break;
    case USHER_ROOM_CLOSE:
        do_close(w);
        break;
    case USHER_ROOM_LOCK:
        do_lock(w, USHER_ROOM_STATE_LOCKED);
        break;
    case USHER_ROOM_UNLOCK:
        do_lock(w, USHER_ROOM_STATE_OPEN);
        break;
    case USHER_ROOM_SET:
        do_set(w);
        break;
    case USHER_ROOM_UNSET:
        do_unset(w);
        break;
    case USHER_ROOM_ALL:
        do_all(w);
        break;
    case USHER_ROOM_MEMBER:
        do_member(w);
        break;
    case USHER_ROOM_JOIN:
        do_join(w);
        break;
    case USHER_ROOM_ALIVE:
        do_alive(w);
        break;
    case USHER_ROOM_LEAVE:
    case USHER_ROOM_KICK:
        do_go(w);
        break;
    case USHER_ROOM_ROLE:
        do_role(w);
        break;
    case USHER_ROOM_SHARE:
        do_share(w);
        break;
    case USHER_ROOM_UNSHARE:
        do_unshare(w);
        break;
    case USHER_ROOM_SNAPSHOT:
        do_snapshot(w);
        break;
    default:
        do_sweep(w);
        break;
    }
}

static void run(struct work *w)
{
    room *r = w->r;
    enum usher_verb verb = w->c->verb;
    bool more;

    if (verb == USHER_ROOM_GET) {
        do_get(w);
        return;
    }
    if (verb == USHER_ROOM_SHOW) {
        if (look(w))
            settings_out(w);
        return;
    }
    if (verb == USHER_ROOM_STATS) {
        (void)look(w);
        return;
    }
    if (verb == USHER_ROOM_CHANGES) {
        do_changes(w);
        return;
    }
    if (answer_kept(w))
        return;
    if (r->state == USHER_ROOM_STATE_CLOSING && verb != USHER_ROOM_CLOSE)
        (void)close_step(w);
    else if ((is_open(r) && verb != USHER_ROOM_SWEEP) || rests(r))
        (void)all_overdue(w, EXPIRE_MAX, &more);
    while (verb == USHER_ROOM_OPEN && r->state == USHER_ROOM_STATE_CLOSING && asks(w))
        (void)close_step(w); /* the engine asks again until it is gone */
    if (verb == USHER_ROOM_OPEN && r->state == USHER_ROOM_STATE_CLOSED && asks(w)) {
        w->reply->status = USHER_MISSING;
        if (!rests(r))
            w->reply->epoch = w->reply->version = 0;
    } else if (is_open(r) && is_other(w)) {
        do_stale(w);
    } else {
        write_verb(w);
    }
}

static char *put_out(struct usher_text *to, const text *from, char *at)
{
    *to = out(from);
    if (to->size == 0)
        return at;
    memcpy(at, to->data, to->size);
    to->data = at;
    return at + to->size;
}

static void rows_out(struct work *w)
{
    struct usher_room_result_row *rows;
    size_t bytes = 0;
    char *at;

    for (size_t i = 0; i < w->n_rows; i++)
        bytes += out(w->rows[i].id).size + out(w->rows[i].owner).size + out(w->rows[i].value).size;
    rows = calloc(1, w->n_rows * sizeof *rows + bytes + 1);
    if (rows == NULL)
        abort();
    at = (char *)(rows + w->n_rows);
    for (size_t i = 0; i < w->n_rows; i++) {
        at = put_out(&rows[i].id, w->rows[i].id, at);
        at = put_out(&rows[i].owner, w->rows[i].owner, at);
        at = put_out(&rows[i].value, w->rows[i].value, at);
        rows[i].kind = w->rows[i].kind;
        rows[i].state = w->rows[i].state;
        rows[i].version = w->rows[i].version;
        rows[i].since_ms = w->rows[i].since;
        rows[i].seen_ms = w->rows[i].seen;
        row_drop(&w->rows[i]);
    }
    free(w->rows);
    w->reply->block = rows;
    w->reply->of.room.n_rows = w->n_rows;
    w->reply->of.room.rows = w->n_rows > 0 ? rows : NULL;
}

/* When something of @r ends by itself.  0: it goes on closing with each command. */
static int64_t due_of(const room *r)
{
    int64_t due = USHER_NEVER;

    if (r->state == USHER_ROOM_STATE_CLOSING)
        return 0;
    for (size_t i = 0; i < r->n_members; i++)
        if (r->members[i].until != 0 && r->members[i].until < due)
            due = r->members[i].until;
    if (is_open(r) && r->set[LINGER] > 0 && count_in(r) == 0 && r->empty + r->set[LINGER] < due)
        due = r->empty + r->set[LINGER];
    return due;
}

void room_model_execute(struct room_model *m, const struct usher_operation *c,
                        struct usher_result *r)
{
    struct work w;

    memset(r, 0, sizeof *r);
    r->noun = USHER_ROOM;
    if (!right(c)) {
        r->status = USHER_INVALID;
        return;
    }
    memset(&w, 0, sizeof w);
    w.m = m;
    w.c = c;
    w.a = &c->arg.room;
    w.reply = r;
    for (size_t i = 0; i < m->n && w.r == NULL; i++)
        if (equals(m->rooms[i].name, &c->scope))
            w.r = &m->rooms[i];
    if (w.r == NULL) {
        m->rooms = grown(m->rooms, m->n, sizeof *m->rooms);
        w.r = &m->rooms[m->n++];
        w.r->name = text_from(&c->scope);
        room_vanish(w.r);
    }
    w.moment = c->now_ms;
    w.now = c->now_ms > w.r->clock ? c->now_ms : w.r->clock;
    if (there(w.r) || rests(w.r)) {
        r->epoch = w.r->epoch;
        r->version = w.r->version;
    }
    run(&w);
    r->due_ms = due_of(w.r);
    rows_out(&w);
}

void room_model_reply_done(struct usher_result *r)
{
    free(r->block);
    r->block = NULL;
    r->of.room.rows = NULL;
    r->of.room.n_rows = 0;
}
