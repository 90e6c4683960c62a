/* SPDX-License-Identifier: MIT */
/*
 * What a replica believes.
 *
 * A doubt is one of: a gap (a version was heard of that the copy has not reached), a fall (a
 * heartbeat below the copy's version), a foreign epoch, or something that cannot be so.  Gaps
 * and falls are settled by `changes`, the others by a snapshot.
 *
 * An answer was made after its question was sent, and so knows of all that was heard before.
 * Hence, when a question is handed out, doubts are moved from `heard` to what the question is
 * to settle; what is heard from then on is a doubt of its own, and is looked at when the answer
 * is there.
 *
 * An answer that knows less than was heard before its question was sent comes from a store that
 * fell: it is the truth of now, and what was kept of the other course of events is dropped.
 */
#include "config.h"

#include <usher/replica.h>
#include <usher/store.h>

#include <string.h>

#include "core/text.h"
#include "engine/memory.h"
#include "replica/copy.h"

/* A notice kept until those before it are there; texts follow. */
struct early {
    struct early *next; /* by version */
    struct usher_notice notice;
    uint64_t print;
    size_t size;
};

/* What hints said: while a snapshot is wanted, those since the question for its first page;
 * with a copy to go on from, all of its epoch. */
struct heard {
    bool any, many;          /* of one epoch, of several */
    uint64_t epoch, version; /* the highest version of that epoch */
};

struct usher_replica {
    const struct usher_allocator *alloc;
    size_t name_size;
    char name[USHER_NAME_MAX + 1];

    struct usher__copy copy; /* what is read */
    struct usher__copy page; /* a snapshot, as far as it has come */
    bool paging;
    size_t after_size;
    char after[USHER_NAME_MAX + 1];

    enum usher_replica_next missing; /* IGNORE: current */
    struct heard heard;
    bool fell;       /* a heartbeat was below the copy's version: compare from there on */
    bool fell_asked; /* and no other one since the question under way */
    uint64_t fell_to;

    bool asked;        /* a question is under way */
    uint64_t ticket;   /* of the last one */
    uint64_t since;    /* it asks for changes since then */
    uint64_t had;      /* the copy's version then */
    uint64_t at_epoch; /* of the copy, or that was heard of */
    uint64_t at_least; /* the version that the store had reached in it */

    struct early *early;
    size_t n_early, early_bytes;

    /* By version modulo the size: prints of notices that the copy was made with. */
    struct {
        uint64_t version, print;
    } known[USHER_REPLICA_KNOWN_MAX];
};

/* ---- early notices ---------------------------------------------------------------- */

static void early_drop(struct usher_replica *r, struct early **at)
{
    struct early *e = *at;

    *at = e->next;
    r->n_early--;
    r->early_bytes -= e->size - sizeof *e;
    (void)usher__resize(r->alloc, e, e->size, 0);
}

static void early_clear(struct usher_replica *r)
{
    while (r->early != NULL)
        early_drop(r, &r->early);
}

/* A heartbeat says @version: it is late, or those above are of a course that is no more.  They
 * are asked for again. */
static void early_doubt(struct usher_replica *r, uint64_t version)
{
    struct early **at = &r->early;

    while (*at != NULL && (*at)->notice.version <= version)
        at = &(*at)->next;
    while (*at != NULL)
        early_drop(r, at);
}

static char *copy_text(struct usher_text *to, const struct usher_text *from, char *at)
{
    to->data = at;
    to->size = from->size;
    if (from->size != 0)
        memcpy(at, from->data, from->size);
    return at + from->size;
}

/* Keep @n if there is room; what is not kept will be asked for.  False: there is another one of
 * the same version, which is not the same. */
static bool early_keep(struct usher_replica *r, const struct usher_notice *n)
{
    size_t bytes = n->subject.size + n->owner.size + n->data.size;
    struct early **at = &r->early, *e;
    char *text;

    while (*at != NULL && (*at)->notice.version < n->version)
        at = &(*at)->next;
    if (*at != NULL && (*at)->notice.version == n->version)
        return (*at)->print == usher__notice_print(n);
    if (r->n_early >= USHER_REPLICA_EARLY_MAX || bytes > USHER_REPLICA_EARLY_BYTES_MAX ||
        r->early_bytes > USHER_REPLICA_EARLY_BYTES_MAX - bytes)
        return true;
    e = usher__resize(r->alloc, NULL, 0, sizeof *e + bytes);
    if (e == NULL)
        return true;
    e->size = sizeof *e + bytes;
    e->print = usher__notice_print(n);
    e->notice = *n;
    e->notice.scope.data = NULL;
    e->notice.scope.size = 0;
    text = copy_text(&e->notice.subject, &n->subject, (char *)(e + 1));
    text = copy_text(&e->notice.owner, &n->owner, text);
    (void)copy_text(&e->notice.data, &n->data, text);
    e->next = *at;
    *at = e;
    r->n_early++;
    r->early_bytes += bytes;
    return true;
}

/* ---- beliefs ---------------------------------------------------------------------- */

static bool print_known(const struct usher_replica *r, uint64_t version, uint64_t *ret_print)
{
    size_t i = version % USHER_REPLICA_KNOWN_MAX;

    *ret_print = r->known[i].print;
    return r->known[i].version == version && r->known[i].print != 0;
}

static void print_keep(struct usher_replica *r, uint64_t version, uint64_t print)
{
    size_t i = version % USHER_REPLICA_KNOWN_MAX;

    r->known[i].version = version;
    r->known[i].print = print;
}

/* Are those of @version and all up to the copy's known? */
static bool prints_reach(const struct usher_replica *r, uint64_t version)
{
    uint64_t print;

    if (r->copy.version - version >= USHER_REPLICA_KNOWN_MAX)
        return false;
    for (; version <= r->copy.version; version++)
        if (!print_known(r, version, &print))
            return false;
    return true;
}

static void hear(struct usher_replica *r, uint64_t epoch, uint64_t version)
{
    struct heard *h = &r->heard;

    if (!h->any || h->epoch != epoch) {
        h->many = h->any || h->many;
        h->any = true;
        h->epoch = epoch;
        h->version = version;
    } else if (h->version < version) {
        h->version = version;
    }
    if (r->early != NULL && r->early->notice.epoch != epoch)
        early_clear(r);
}

/* What to tell the caller: a question under way is not to be asked again. */
static enum usher_replica_next wanted(const struct usher_replica *r)
{
    return r->asked ? USHER_REPLICA_IGNORE : r->missing;
}

/* Only a snapshot helps.  An answer under way that is none is not waited for. */
static enum usher_replica_next must_pull(struct usher_replica *r)
{
    if (r->missing != USHER_REPLICA_PULL) {
        r->missing = USHER_REPLICA_PULL;
        r->asked = r->paging = r->fell = false;
    }
    return wanted(r);
}

static enum usher_replica_next pull_anew(struct usher_replica *r)
{
    r->missing = USHER_REPLICA_PULL;
    r->asked = r->paging = r->fell = false;
    usher__copy_clear(&r->page);
    return wanted(r);
}

/* Apply @n, the next one of the copy.  False: the copy is of no use for what follows. */
static bool follow(struct usher_replica *r, const struct usher_notice *n, uint64_t print)
{
    enum usher_status status = usher__copy_apply(&r->copy, n);

    if (status == USHER_OK) {
        print_keep(r, n->version, print);
        return true;
    }
    if (status == USHER_NOMEM)
        usher__copy_clear(&r->copy);
    return false;
}

/* Apply early notices as far as they go.  False: as follow(). */
static bool follow_early(struct usher_replica *r)
{
    while (r->early != NULL && r->early->notice.version <= r->copy.version + 1) {
        if (r->early->notice.version == r->copy.version + 1 &&
            !follow(r, &r->early->notice, r->early->print))
            return false;
        early_drop(r, &r->early);
    }
    return true;
}

/*
 * The copy is sound, as far as it goes: settle what is missing by what was heard.  Only with a
 * copy of the epoch that was heard.
 */
static enum usher_replica_next settle(struct usher_replica *r)
{
    bool gap = r->heard.any && r->heard.version > r->copy.version;

    r->missing = gap || r->fell ? USHER_REPLICA_REPLAY : USHER_REPLICA_IGNORE;
    if (r->missing == USHER_REPLICA_IGNORE)
        r->asked = false; /* the answer has nothing to say any more */
    return wanted(r);
}

static enum usher_replica_next settled(struct usher_replica *r, bool changed)
{
    enum usher_replica_next next = settle(r);

    return next == USHER_REPLICA_IGNORE && changed ? USHER_REPLICA_APPLY : next;
}

/* ---- what is heard ---------------------------------------------------------------- */

enum usher_status usher_replica_open(const char *room, const struct usher_allocator *alloc,
                                     struct usher_replica **ret_replica)
{
    struct usher_replica *r;

    if (room == NULL || ret_replica == NULL || usher__scope_fault(room, strlen(room)) != NULL)
        return USHER_INVALID;
    alloc = usher__allocator(alloc);
    r = usher__resize(alloc, NULL, 0, sizeof *r);
    if (r == NULL)
        return USHER_NOMEM;
    memset(r, 0, sizeof *r);
    r->alloc = alloc;
    r->name_size = strlen(room);
    memcpy(r->name, room, r->name_size);
    usher__copy_init(&r->copy, alloc);
    usher__copy_init(&r->page, alloc);
    r->missing = USHER_REPLICA_PULL;
    *ret_replica = r;
    return USHER_OK;
}

void usher_replica_close(struct usher_replica *r)
{
    if (r == NULL)
        return;
    early_clear(r);
    usher__copy_clear(&r->copy);
    usher__copy_clear(&r->page);
    (void)usher__resize(r->alloc, r, sizeof *r, 0);
}

/* A hint while a snapshot is wanted, or one of another epoch. */
static enum usher_replica_next hint_to_pull(struct usher_replica *r, uint64_t epoch,
                                            uint64_t version)
{
    enum usher_replica_next next = must_pull(r);

    hear(r, epoch, version);
    return next;
}

/* Several in one: as if they had come one by one. */
static enum usher_replica_next hear_range(struct usher_replica *r, const struct usher_notice *range)
{
    enum usher_replica_next next = USHER_REPLICA_IGNORE;
    bool changed = false;
    struct usher_notice n;
    uint64_t last = range->token - 1;
    size_t at = 0;

    while (usher_room_presence(range, &at, &n) && n.verb != USHER_ROOM_PRESENCE &&
           n.version == last + 1 && n.version <= range->version) {
        last = n.version;
        next = usher_replica_notice(r, &n);
        changed = changed || next == USHER_REPLICA_APPLY;
    }
    if (last != range->version || at != range->data.size) { /* it does not say all */
        if (r->missing == USHER_REPLICA_PULL || range->epoch != r->copy.epoch)
            return hint_to_pull(r, range->epoch, range->version);
        hear(r, range->epoch, range->version);
        return settle(r);
    }
    return next == USHER_REPLICA_IGNORE && changed ? USHER_REPLICA_APPLY : next;
}

enum usher_replica_next usher_replica_notice(struct usher_replica *r, const struct usher_notice *n)
{
    struct usher_text name = { r->name, r->name_size };
    uint64_t print, was;

    if (n->noun != USHER_ROOM || !usher__text_equal(&n->scope, &name) || n->epoch == 0 ||
        n->version == 0 || n->version > (uint64_t)USHER_EXACT_MAX)
        return USHER_REPLICA_IGNORE;
    if (n->verb == USHER_ROOM_PRESENCE)
        return hear_range(r, n);
    print = usher__notice_print(n);
    if (r->missing == USHER_REPLICA_PULL || n->epoch != r->copy.epoch) {
        enum usher_replica_next next = hint_to_pull(r, n->epoch, n->version);

        if (!early_keep(r, n))
            r->heard.many = true; /* two courses of events under one epoch */
        return next;
    }
    if (n->version <= r->copy.version) {
        if (print_known(r, n->version, &was) && was != print)
            return hint_to_pull(r, n->epoch, n->version);
        return USHER_REPLICA_IGNORE;
    }
    hear(r, n->epoch, n->version);
    /* While it is not sure that the copy is on the course that is now true, it stays. */
    if (n->version > r->copy.version + 1 || r->fell)
        return early_keep(r, n) ? settle(r) : must_pull(r);
    if (!follow(r, n, print) || !follow_early(r))
        return must_pull(r);
    return settled(r, true);
}

enum usher_replica_next usher_replica_heartbeat(struct usher_replica *r, uint64_t epoch,
                                                uint64_t version)
{
    early_doubt(r, version);
    if (r->missing == USHER_REPLICA_PULL || epoch != r->copy.epoch) {
        enum usher_replica_next next = hint_to_pull(r, epoch, version);

        /* A page behind a fall could have the same version and be of another course. */
        return r->paging && epoch == r->page.epoch && version < r->page.version ? pull_anew(r)
                                                                                : next;
    }
    if (version >= r->copy.version) {
        hear(r, epoch, version);
        return settle(r);
    }
    /* Late, or the store fell.  What it has behind that version tells. */
    if (!prints_reach(r, version + 1))
        return hint_to_pull(r, epoch, version);
    if (!r->fell || version < r->fell_to)
        r->fell_to = version;
    r->fell = true;
    r->fell_asked = false;
    return settle(r);
}

enum usher_replica_next usher_replica_check(struct usher_replica *r, uint64_t epoch,
                                            uint64_t version, const char *digest)
{
    enum usher_replica_next next = usher_replica_heartbeat(r, epoch, version);
    char own[33];

    if (r->missing != USHER_REPLICA_IGNORE || version != r->copy.version)
        return next;
    if (usher_replica_digest(r, own) == USHER_OK && strcmp(own, digest) == 0)
        return next;
    return hint_to_pull(r, epoch, version);
}

/* ---- questions and answers -------------------------------------------------------- */

static void ask_changes(struct usher_replica *r)
{
    uint64_t print;

    r->since = r->had = r->copy.version;
    /* With the last one in the answer again, it shows that it goes on from there. */
    if (r->since > 0 && print_known(r, r->since, &print))
        r->since--;
    if (r->fell && r->fell_to < r->since)
        r->since = r->fell_to;
    r->fell_asked = r->fell;
    r->at_epoch = r->copy.epoch;
    r->at_least = r->heard.any && r->heard.version > r->had ? r->heard.version : r->had;
}

void usher_replica_ask(struct usher_replica *r, struct usher_replica_question *ret)
{
    memset(ret, 0, sizeof *ret);
    ret->kind = r->missing;
    r->asked = r->missing != USHER_REPLICA_IGNORE;
    if (!r->asked)
        return;
    ret->ticket = ++r->ticket;
    if (r->missing == USHER_REPLICA_REPLAY) {
        ask_changes(r);
        ret->since = r->since;
    } else if (r->paging) {
        ret->after = r->after;
        ret->version = r->page.version;
    } else {
        /* What an earlier question was to settle, and did not, still is. */
        if (r->heard.any && (r->heard.epoch != r->at_epoch || r->heard.version > r->at_least)) {
            r->at_epoch = r->heard.epoch;
            r->at_least = r->heard.version;
        }
        memset(&r->heard, 0, sizeof r->heard);
    }
}

/* The snapshot in r->page is whole: it is the copy from now on. */
static enum usher_replica_next install(struct usher_replica *r)
{
    struct usher__copy old = r->copy;
    bool sure = !r->heard.many && (!r->heard.any || r->heard.epoch == r->page.epoch);
    bool fell = r->at_epoch == r->page.epoch && r->page.version < r->at_least;

    r->copy = r->page;
    r->page = old;
    usher__copy_clear(&r->page);
    memset(r->known, 0, sizeof r->known);
    r->asked = r->paging = r->fell = false;
    r->at_epoch = r->at_least = 0;
    if (fell || (r->early != NULL && r->early->notice.epoch != r->copy.epoch))
        early_clear(r);
    if (!sure)
        return r->missing; /* a pull: there is another epoch, since this was asked for */
    r->missing = USHER_REPLICA_IGNORE;
    if (!follow_early(r))
        return must_pull(r);
    return settled(r, true);
}

/* There is no room, or none any more. */
static enum usher_replica_next install_none(struct usher_replica *r,
                                            const struct usher_reply *reply)
{
    usher__copy_clear(&r->page);
    r->page.known = true;
    r->page.epoch = reply->epoch;
    r->page.version = reply->version;
    r->page.state = reply->epoch != 0 && reply->of.room.state == USHER_ROOM_CLOSING
                        ? USHER_ROOM_CLOSING
                        : USHER_ROOM_CLOSED;
    return install(r);
}

static enum usher_replica_next answer_snapshot(struct usher_replica *r,
                                               const struct usher_reply *reply)
{
    const struct usher_room_reply *room = &reply->of.room;
    struct usher__copy *page = &r->page;

    if (!r->paging) {
        usher__copy_clear(page);
        page->known = true;
        page->epoch = reply->epoch;
        page->version = reply->version;
        page->state = room->state;
    }
    if (reply->epoch == 0 || reply->epoch != page->epoch || reply->version != page->version ||
        room->state != page->state ||
        (room->state != USHER_ROOM_OPENED && room->state != USHER_ROOM_LOCKED))
        return pull_anew(r);
    for (size_t i = 0; i < room->n_rows; i++) {
        enum usher_status status = usher__copy_add(page, &room->rows[i]);

        if (status != USHER_OK && status != USHER_SAME)
            return pull_anew(r);
    }
    if (!room->more)
        return usher__copy_finish(page) ? install(r) : pull_anew(r);
    if (room->name_size == 0 || room->name_size > USHER_NAME_MAX ||
        (r->paging && room->name_size == r->after_size &&
         memcmp(room->name, r->after, r->after_size) == 0))
        return pull_anew(r); /* it would never end */
    memcpy(r->after, room->name, room->name_size);
    r->after[room->name_size] = '\0';
    r->after_size = room->name_size;
    r->paging = true;
    r->asked = false;
    return wanted(r);
}

/* Is a notice of @version kept that is not this one? */
static bool early_differs(const struct usher_replica *r, uint64_t version, uint64_t print)
{
    const struct early *e = r->early;

    while (e != NULL && e->notice.version < version)
        e = e->next;
    return e != NULL && e->notice.version == version && e->print != print;
}

/* One notice of an answer, of the version behind @last. */
static bool replay(struct usher_replica *r, const struct usher_room_row *row, uint64_t last)
{
    struct usher_text name = { r->name, r->name_size };
    struct usher_notice n;
    uint64_t print, was;

    if (row->kind != USHER_ROOM_NOTICE_ROW || row->value.size == 0 ||
        usher_room_notice(row, &name, r->copy.epoch, &n) != USHER_OK || n.version != last + 1)
        return false;
    print = usher__notice_print(&n);
    if (n.version <= r->copy.version)
        return !print_known(r, n.version, &was) || was == print;
    return !early_differs(r, n.version, print) && follow(r, &n, print);
}

static enum usher_replica_next answer_changes(struct usher_replica *r,
                                              const struct usher_reply *reply)
{
    const struct usher_room_reply *room = &reply->of.room;
    uint64_t last = r->since, before = r->copy.version;

    if (reply->epoch != r->at_epoch || reply->version < r->at_least ||
        (room->n_rows == 0 && reply->version > r->since))
        return must_pull(r);
    for (size_t i = 0; i < room->n_rows; i++, last++)
        if (!replay(r, &room->rows[i], last))
            return must_pull(r);
    r->asked = false;
    if (r->fell_asked) {
        r->fell = last < r->had; /* as far as it has been compared, it is the same */
        r->fell_to = last;
    }
    hear(r, reply->epoch, reply->version);
    if (!r->fell && !follow_early(r))
        return must_pull(r);
    return settled(r, r->copy.version != before);
}

enum usher_replica_next usher_replica_answer(struct usher_replica *r, uint64_t ticket,
                                             const struct usher_reply *reply)
{
    bool replays = r->missing == USHER_REPLICA_REPLAY;

    if (!r->asked || ticket != r->ticket)
        return USHER_REPLICA_IGNORE;
    switch (reply->status) {
    case USHER_OK:
    case USHER_SAME:
        return replays ? answer_changes(r, reply) : answer_snapshot(r, reply);
    case USHER_STALE:
        return pull_anew(r);
    case USHER_MISSING:
        return install_none(r, reply);
    default:
        r->asked = false;
        return r->missing;
    }
}

/* ---- looking at it ---------------------------------------------------------------- */

bool usher_replica_current(const struct usher_replica *r)
{
    return r->missing == USHER_REPLICA_IGNORE;
}

enum usher_replica_next usher_replica_missing(const struct usher_replica *r)
{
    return r->missing;
}

void usher_replica_show(const struct usher_replica *r, struct usher_replica_about *ret)
{
    const struct usher__copy *c = &r->copy;

    ret->known = c->known;
    ret->state = c->state;
    ret->epoch = c->epoch;
    ret->version = c->version;
    ret->fields = c->count[USHER_ROOM_FIELD_ROW];
    ret->alls = c->count[USHER_ROOM_ALL_ROW];
    ret->roles = c->count[USHER_ROOM_ROLE_ROW];
    ret->members = c->count[USHER_ROOM_MEMBER_ROW];
    ret->shares = c->count[USHER_ROOM_SHARE_ROW];
    ret->early = r->n_early;
}

static const struct usher__thing *share_from(const struct usher__thing *t)
{
    while (t != NULL && t->kind != USHER_ROOM_SHARE_ROW)
        t = t->owned_behind;
    return t;
}

static const struct usher__thing *thing_behind(const struct usher__copy *c,
                                               const struct usher__thing *t)
{
    const struct usher__thing *next = NULL;
    unsigned kind = USHER_ROOM_FIELD_ROW;

    if (t != NULL && t->kind >= USHER_ROOM_MEMBER_ROW) {
        next = share_from(t->kind == USHER_ROOM_MEMBER_ROW ? t->owned : t->owned_behind);
        if (next != NULL)
            return next;
        return t->kind == USHER_ROOM_MEMBER_ROW ? t->behind : t->holder->behind;
    }
    if (t != NULL) {
        next = t->behind;
        kind = t->kind + 1u;
    }
    for (; next == NULL && kind <= USHER_ROOM_MEMBER_ROW; kind++)
        next = c->first[kind];
    return next;
}

bool usher_replica_walk(const struct usher_replica *r, const void **at,
                        struct usher_room_row *ret_row)
{
    const struct usher__thing *t = thing_behind(&r->copy, *at);

    *at = t;
    if (t == NULL)
        return false;
    usher__copy_row(t, ret_row);
    return true;
}

bool usher_replica_find(const struct usher_replica *r, enum usher_room_item kind, const char *id,
                        struct usher_room_row *ret_row)
{
    const struct usher__thing *t = usher__copy_find(&r->copy, (unsigned)kind, id, strlen(id));

    if (t == NULL)
        return false;
    usher__copy_row(t, ret_row);
    return true;
}

bool usher_replica_value(const struct usher_replica *r, const char *member, const char *field,
                         struct usher_text *ret_value)
{
    const struct usher__copy *c = &r->copy;
    const struct usher__thing *t =
        usher__copy_find(c, USHER_ROOM_MEMBER_ROW, member, strlen(member));
    const struct usher__thing *all = usher__copy_find(c, USHER_ROOM_ALL_ROW, field, strlen(field));
    struct usher_text wanted_name = { field, strlen(field) }, packed, name, value;
    struct usher_unpacker u = { NULL, NULL };
    uint64_t version;
    size_t n;

    if (t == NULL)
        return false;
    packed.data = (const char *)t->value;
    packed.size = t->value_size;
    (void)usher__own_begin(&packed, true, &u, &n);
    while (n-- > 0 && usher__own_next(&u, &name, &value, &version))
        if (usher__text_equal(&name, &wanted_name) && (all == NULL || version >= all->version)) {
            *ret_value = value;
            return true;
        }
    if (all == NULL)
        return false;
    ret_value->data = (const char *)all->value;
    ret_value->size = all->value_size;
    return true;
}

enum usher_status usher_replica_digest(const struct usher_replica *r, char ret_digest[33])
{
    const struct usher__copy *c = &r->copy;
    struct usher__sum sum = { 0, 0, 0 };
    struct usher_room_row row;
    const void *at = NULL;

    if (!c->known || (c->state != USHER_ROOM_OPENED && c->state != USHER_ROOM_LOCKED))
        return USHER_MISSING;
    while (usher_replica_walk(r, &at, &row))
        (void)usher__sum_row(&sum, c, &row);
    usher__sum_text(&sum, c->state, c->version, ret_digest);
    return USHER_OK;
}
