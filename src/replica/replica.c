/* SPDX-License-Identifier: MIT */
/*
 * The state of a replica: its copy, and its doubts.
 *
 * A doubt is one of: a gap (a message had a version that the copy has not reached), a fall (a
 * heartbeat, or an unknown notice, is below the copy's version), a foreign epoch, or a
 * contradiction. `changes` settles gaps and falls; a snapshot settles the others.
 *
 * Equal versions do not prove equal histories: a store that lost changes and continued has other
 * changes under the same versions.  Equal marks do.  So a notice, the rows of `changes` and a page
 * of a snapshot are applied only if the history before them is the copy's, whatever their version;
 * and a heartbeat agrees with the copy only if its mark does.
 *
 * The store answers a question after it was sent, so the answer covers all messages that came
 * before. Therefore, when the caller takes a question, doubts move from `heard` to the question,
 * which is to settle them; a message that comes later is a doubt of its own, checked when the
 * answer is there.
 *
 * If an answer has a lower version than a message that came before its question, the store has lost
 * changes: the answer is right, and data of the lost history are dropped.
 *
 * Pages of a snapshot may be of different versions.  The partial copy always is the room of one
 * version, without the members that joined after the last page.  Each page begins with the changes
 * since the one before, which are applied to the partial copy; its rows are then of the same
 * version.
 */
#include "config.h"

#include <usher/replica.h>
#include <usher/store/store.h>

#include <string.h>

#include "core/text.h"
#include "change/memory.h"
#include "replica/copy.h"

/* A notice kept until those before it are there; texts follow. */
struct early {
    struct early *next; /* by version */
    struct usher_notice notice;
    size_t size;
};

/* The newest versions in messages: while a snapshot is wanted, in those since the question for its
 * first page; with a copy, in all of its epoch. */
struct heard {
    bool any, many;          /* of one course of events, of several */
    uint64_t epoch, version; /* the highest version of that epoch */
    uint64_t mark;           /* at that version; 0: not known */
};

struct usher_replica {
    const struct usher_allocator *alloc;
    size_t name_size;
    char name[USHER_NAME_MAX + 1];

    struct usher__copy copy; /* what is read */
    struct usher__copy page; /* a snapshot, as far as it has come */
    bool paging;

    enum usher_replica_next missing; /* IGNORE: current */
    struct heard heard;
    bool fell;       /* a message was below the copy's version */
    bool fell_asked; /* and no other one since the open question */

    bool asked;        /* a question is under way */
    uint64_t ticket;   /* of the last one */
    uint64_t since;    /* it asks for changes since then */
    uint64_t at_epoch; /* of the copy, or of a message */
    uint64_t at_least; /* the version that the store had reached in it */

    struct early *early;
    size_t n_early, early_bytes;

    /* By version modulo the size: marks of the history that the copy was made with. */
    struct {
        uint64_t version, mark;
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
        return (*at)->notice.mark == n->mark;
    if (r->n_early >= USHER_REPLICA_EARLY_MAX || bytes > USHER_REPLICA_EARLY_BYTES_MAX ||
        r->early_bytes > USHER_REPLICA_EARLY_BYTES_MAX - bytes)
        return true;
    e = usher__resize(r->alloc, NULL, 0, sizeof *e + bytes);
    if (e == NULL)
        return true;
    e->size = sizeof *e + bytes;
    e->notice = *n;
    e->notice.scope.data = NULL;
    e->notice.scope.size = 0;
    text = usher__text_copy(&e->notice.subject, &n->subject, (char *)(e + 1));
    text = usher__text_copy(&e->notice.owner, &n->owner, text);
    (void)usher__text_copy(&e->notice.data, &n->data, text);
    e->next = *at;
    *at = e;
    r->n_early++;
    r->early_bytes += bytes;
    return true;
}

/* ---- beliefs ---------------------------------------------------------------------- */

static void mark_keep(struct usher_replica *r)
{
    size_t i = r->copy.version % USHER_REPLICA_KNOWN_MAX;

    r->known[i].version = r->copy.version;
    r->known[i].mark = r->copy.mark;
}

/* Is it known that the copy had @mark at @version? */
static bool mark_known(const struct usher_replica *r, uint64_t version, uint64_t mark)
{
    size_t i = version % USHER_REPLICA_KNOWN_MAX;

    return r->known[i].version == version && r->known[i].mark == mark;
}

/* Did the copy, at @version, have another mark?  @mark 0: not known, false. */
static bool mark_differs(const struct usher_replica *r, uint64_t version, uint64_t mark)
{
    size_t i = version % USHER_REPLICA_KNOWN_MAX;

    if (mark == 0)
        return false;
    if (version == r->copy.version)
        return mark != r->copy.mark;
    return r->known[i].version == version && r->known[i].mark != mark;
}

static void hear(struct usher_replica *r, uint64_t epoch, uint64_t version, uint64_t mark)
{
    struct heard *h = &r->heard;

    if (!h->any || h->epoch != epoch) {
        h->many = h->any || h->many;
        h->any = true;
        h->epoch = epoch;
        h->version = version;
        h->mark = mark;
    } else if (h->version < version) {
        h->version = version;
        h->mark = mark;
    } else if (h->version == version && h->mark != mark && mark != 0) {
        h->many = h->many || h->mark != 0;
        h->mark = mark;
    }
    if (r->early != NULL && r->early->notice.epoch != epoch)
        early_clear(r);
}

/* The next step for the caller: an open question is not sent again. */
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

/* The version that @n follows; 0 in @n: its sender knew none, so it is the one below. */
static uint64_t before(const struct usher_notice *n)
{
    return n->before != 0 ? n->before : n->version - 1;
}

/* Apply @n, the next one of the copy.  False: the copy is of no use for what follows. */
static bool follow(struct usher_replica *r, const struct usher_notice *n)
{
    enum usher_status status = before(n) == r->copy.version && n->was == r->copy.mark
                                   ? usher__copy_apply(&r->copy, n)
                                   : USHER_INVALID;

    if (status == USHER_OK) {
        mark_keep(r);
        return true;
    }
    if (status == USHER_NOMEM)
        usher__copy_clear(&r->copy);
    return false;
}

/* Apply early notices as far as they go.  False: as follow(). */
static bool follow_early(struct usher_replica *r)
{
    while (r->early != NULL && before(&r->early->notice) <= r->copy.version) {
        if (r->early->notice.version > r->copy.version) {
            if (before(&r->early->notice) != r->copy.version ||
                r->early->notice.was != r->copy.mark) {
                early_clear(r); /* of another history: the doubt about them remains */
                return true;
            }
            if (!follow(r, &r->early->notice))
                return false;
        }
        early_drop(r, &r->early);
    }
    return true;
}

/*
 * The copy is right as far as it goes: complete it with the notices that came early.  Only for a
 * copy of the epoch of those notices.
 */
static enum usher_replica_next settle(struct usher_replica *r)
{
    bool gap = r->heard.any && r->heard.version > r->copy.version;

    if (r->heard.any && mark_differs(r, r->heard.version, r->heard.mark))
        return must_pull(r);
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

/* ---- messages --------------------------------------------------------------------- */

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

/* A hint while a snapshot is wanted, or one of another course. */
static enum usher_replica_next hint_to_pull(struct usher_replica *r, uint64_t epoch,
                                            uint64_t version, uint64_t mark)
{
    enum usher_replica_next next = must_pull(r);

    hear(r, epoch, version, mark);
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

    /* what others changed in between is not among them */
    while (usher_room_presence(range, &at, &n) && n.verb != USHER_ROOM_PRESENCE &&
           n.version > last && n.version <= range->version) {
        last = n.version;
        next = usher_replica_notice(r, &n);
        changed = changed || next == USHER_REPLICA_APPLY;
    }
    if (last != range->version || at != range->data.size) { /* it does not say all */
        if (r->missing == USHER_REPLICA_PULL || range->epoch != r->copy.epoch)
            return hint_to_pull(r, range->epoch, range->version, 0);
        hear(r, range->epoch, range->version, 0);
        return settle(r);
    }
    return next == USHER_REPLICA_IGNORE && changed && r->missing == USHER_REPLICA_IGNORE
               ? USHER_REPLICA_APPLY
               : next;
}

/* A message is below the copy: it is late, or the store has lost changes.  The changes after the
 * copy show which. */
static enum usher_replica_next may_have_fallen(struct usher_replica *r)
{
    r->fell = true;
    r->fell_asked = false;
    return settle(r);
}

enum usher_replica_next usher_replica_notice(struct usher_replica *r, const struct usher_notice *n)
{
    struct usher_text name = { r->name, r->name_size };

    if (n->noun != USHER_ROOM || !usher__text_equal(&n->scope, &name) || n->epoch == 0 ||
        n->version == 0 || n->version > (uint64_t)USHER_EXACT_MAX || n->before >= n->version)
        return USHER_REPLICA_IGNORE;
    if (n->verb == USHER_ROOM_PRESENCE)
        return hear_range(r, n);
    if (r->missing == USHER_REPLICA_PULL || n->epoch != r->copy.epoch) {
        enum usher_replica_next next = hint_to_pull(r, n->epoch, n->version, n->mark);

        if (!early_keep(r, n))
            r->heard.many = true; /* two courses of events under one epoch */
        return next;
    }
    if (n->version <= r->copy.version) {
        if (mark_differs(r, n->version, n->mark))
            return hint_to_pull(r, n->epoch, n->version, n->mark);
        return mark_known(r, n->version, n->mark) ? USHER_REPLICA_IGNORE : may_have_fallen(r);
    }
    hear(r, n->epoch, n->version, n->mark);
    /* While it is not sure that the copy is on the course that is now true, it stays. */
    if (before(n) > r->copy.version || r->fell)
        return early_keep(r, n) ? settle(r) : must_pull(r);
    if (!follow(r, n) || !follow_early(r))
        return must_pull(r);
    return settled(r, true);
}

/* @mark 0: not known. */
static enum usher_replica_next hear_version(struct usher_replica *r, uint64_t epoch,
                                            uint64_t version, uint64_t mark)
{
    early_doubt(r, version);
    if (r->missing == USHER_REPLICA_PULL || epoch != r->copy.epoch ||
        mark_differs(r, version, mark))
        return hint_to_pull(r, epoch, version, mark);
    if (version >= r->copy.version) {
        hear(r, epoch, version, mark);
        return settle(r);
    }
    return may_have_fallen(r);
}

enum usher_replica_next usher_replica_heartbeat(struct usher_replica *r, uint64_t epoch,
                                                uint64_t version, uint64_t mark)
{
    /* an open room has a mark */
    if (mark == 0 && r->copy.mark != 0 && epoch == r->copy.epoch && version == r->copy.version)
        return hint_to_pull(r, epoch, version, mark);
    return hear_version(r, epoch, version, mark);
}

enum usher_replica_next usher_replica_check(struct usher_replica *r, uint64_t epoch,
                                            uint64_t version, const char *digest)
{
    enum usher_replica_next next = hear_version(r, epoch, version, 0);
    char own[33];

    if (r->missing != USHER_REPLICA_IGNORE || version != r->copy.version)
        return next;
    if (usher_replica_digest(r, own) == USHER_OK && strcmp(own, digest) == 0)
        return next;
    return hint_to_pull(r, epoch, version, 0);
}

/* ---- answers as values ---------------------------------------------------------------- */

/* The members of an answer; 0: it is not there. */
struct answer {
    const struct usher_reply *reply;
    enum usher_room_state state;
    uint64_t since, mark;
};

static int64_t answer_int(const struct usher_reply *reply, uint32_t field)
{
    int64_t number = usher_reply_int(reply, USHER_ANSWER, field);

    return number != USHER_NONE ? number : 0;
}

static struct answer answer_read(const struct usher_reply *reply)
{
    return (struct answer){ reply, (enum usher_room_state)answer_int(reply, USHER_FIELD_STATE),
                            (uint64_t)answer_int(reply, USHER_FIELD_SINCE_VERSION),
                            (uint64_t)answer_int(reply, USHER_FIELD_MARK) };
}

static struct usher_room_result_row row_read(const struct usher_reply *reply, size_t i)
{
    struct usher_room_result_row row;
    size_t n = 0;
    const struct usher_value *values = usher_reply_values(reply, i, &n);

    memset(&row, 0, sizeof row);
    for (size_t k = 0; k < n; k++) {
        const struct usher_value *v = &values[k];
        struct usher_text text = { v->text, v->text != NULL ? (size_t)v->size : 0 };

        switch (v->field) {
        case USHER_FIELD_KIND:
            row.kind = (int)v->number;
            break;
        case USHER_FIELD_MEMBER_STATE:
            row.state = (int)v->number;
            break;
        case USHER_FIELD_NAME:
            row.id = text;
            break;
        case USHER_FIELD_OWNER:
            row.owner = text;
            break;
        case USHER_FIELD_VALUE:
            row.value = text;
            break;
        case USHER_FIELD_VERSION:
            row.version = (uint64_t)v->number;
            break;
        case USHER_FIELD_SINCE:
            row.since_ms = v->number;
            break;
        default:
            break;
        }
    }
    return row;
}

/* ---- questions and answers -------------------------------------------------------- */

static void ask_changes(struct usher_replica *r)
{
    r->since = r->copy.version;
    r->fell_asked = r->fell;
    r->at_epoch = r->copy.epoch;
    r->at_least = r->heard.any && r->heard.version > r->since ? r->heard.version : r->since;
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
        ret->after = r->page.after;
        ret->since = r->page.version;
    } else {
        /* Doubts that an earlier question did not settle remain. */
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
    mark_keep(r);
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
static enum usher_replica_next install_none(struct usher_replica *r, const struct answer *a)
{
    const struct usher_reply *reply = a->reply;

    usher__copy_clear(&r->page);
    r->page.known = true;
    r->page.epoch = reply->epoch;
    r->page.version = reply->version;
    r->page.state = reply->epoch != 0 && a->state == USHER_ROOM_STATE_CLOSING
                        ? USHER_ROOM_STATE_CLOSING
                        : USHER_ROOM_STATE_CLOSED;
    return install(r);
}

/* Another page. */
static enum usher_replica_next page_more(struct usher_replica *r)
{
    r->paging = true;
    r->asked = false;
    return wanted(r);
}

/* The notice that @row is. */
static bool notice_of(const struct usher_replica *r, const struct usher_room_result_row *row,
                      uint64_t epoch, struct usher_notice *ret)
{
    struct usher_text name = { r->name, r->name_size };

    return row->kind == USHER_ROOM_ROW_NOTICE && row->value.size != 0 &&
           usher_notice_read(USHER_ROOM, &name, epoch, &row->value, ret) == USHER_OK;
}

/* The changes since the page before, with which @reply begins.  How many they are; -1: they do not
 * follow. */
static int page_follow(struct usher_replica *r, const struct usher_reply *reply)
{
    struct usher__copy *page = &r->page;
    struct usher_notice n;
    int i = 0;

    for (; (size_t)i < reply->n_rows; i++) {
        struct usher_room_result_row row = row_read(reply, (size_t)i);

        if (row.kind != USHER_ROOM_ROW_NOTICE)
            break;
        if (!notice_of(r, &row, page->epoch, &n) || before(&n) != page->version ||
            n.was != page->mark || usher__copy_apply(page, &n) != USHER_OK)
            return -1;
    }
    return i;
}

static enum usher_replica_next answer_snapshot(struct usher_replica *r, const struct answer *a)
{
    const struct usher_reply *reply = a->reply;
    struct usher__copy *page = &r->page;
    uint64_t after;
    int n = 0;

    if (!r->paging) {
        usher__copy_clear(page);
        page->known = page->partial = true;
        page->epoch = reply->epoch;
        page->version = reply->version;
        page->mark = a->mark;
        page->state = a->state;
    }
    if (reply->epoch == 0 || reply->epoch != page->epoch)
        return pull_anew(r);
    after = page->after;
    n = page_follow(r, reply);
    if (n < 0)
        return pull_anew(r);
    if (page->version != reply->version) /* there are more of them than a page holds */
        return n > 0 && (size_t)n == reply->n_rows && reply->more ? page_more(r) : pull_anew(r);
    if (page->mark != a->mark || page->state != a->state ||
        (a->state != USHER_ROOM_STATE_OPEN && a->state != USHER_ROOM_STATE_LOCKED))
        return pull_anew(r);
    for (size_t i = (size_t)n; i < reply->n_rows; i++) {
        struct usher_room_result_row row = row_read(reply, i);

        if (!USHER_IS_DONE(usher__copy_add(page, &row)))
            return pull_anew(r);
    }
    if (!reply->more)
        return usher__copy_finish(page) ? install(r) : pull_anew(r);
    if (a->since != page->after || page->after == after)
        return pull_anew(r); /* it would never end */
    return page_more(r);
}

/* Is a notice of @version kept that is not this one? */
static bool early_differs(const struct usher_replica *r, uint64_t version, uint64_t mark)
{
    const struct early *e = r->early;

    while (e != NULL && e->notice.version < version)
        e = e->next;
    return e != NULL && e->notice.version == version && e->notice.mark != mark;
}

/* One notice of an answer, which follows on version *@last: that and @ret_mark become its own. */
static bool replay(struct usher_replica *r, const struct usher_room_result_row *row, uint64_t *last,
                   uint64_t *ret_mark)
{
    struct usher_notice n;

    if (!notice_of(r, row, r->copy.epoch, &n) || before(&n) != *last)
        return false;
    *last = n.version;
    *ret_mark = n.mark;
    if (n.version <= r->copy.version)
        return !mark_differs(r, n.version, n.mark);
    return !early_differs(r, n.version, n.mark) && follow(r, &n);
}

static enum usher_replica_next answer_changes(struct usher_replica *r, const struct answer *a)
{
    const struct usher_reply *reply = a->reply;
    uint64_t last = r->since, before = r->copy.version, mark = a->mark;

    if (reply->epoch != r->at_epoch || reply->version < r->at_least ||
        (reply->n_rows == 0 && reply->version > r->since))
        return must_pull(r);
    for (size_t i = 0; i < reply->n_rows; i++) {
        struct usher_room_result_row row = row_read(reply, i);

        if (!replay(r, &row, &last, &mark))
            return must_pull(r);
    }
    if (last == reply->version && (mark != a->mark || mark_differs(r, last, mark)))
        return must_pull(r); /* it has come to the same version another way */
    r->asked = false;
    r->fell = r->fell && !r->fell_asked;
    hear(r, reply->epoch, reply->version, a->mark);
    if (!r->fell && !follow_early(r))
        return must_pull(r);
    return settled(r, r->copy.version != before);
}

enum usher_replica_next usher_replica_answer(struct usher_replica *r, uint64_t ticket,
                                             const struct usher_reply *reply)
{
    struct answer a;

    if (reply == NULL || reply->verb >> 8 != USHER_ROOM || !r->asked || ticket != r->ticket)
        return USHER_REPLICA_IGNORE;
    a = answer_read(reply);
    switch (reply->status) {
    case USHER_OK:
    case USHER_SAME:
        return r->missing == USHER_REPLICA_REPLAY ? answer_changes(r, &a) : answer_snapshot(r, &a);
    case USHER_STALE:
    case USHER_LOST:
        return pull_anew(r);
    case USHER_MISSING:
        return install_none(r, &a);
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
    const struct usher_replica_about about = { ret->size,
                                               c->known,
                                               c->state,
                                               c->epoch,
                                               c->version,
                                               c->mark,
                                               c->count[USHER_ROOM_ROW_FIELD],
                                               c->count[USHER_ROOM_ROW_ALL],
                                               c->count[USHER_ROOM_ROW_ROLE],
                                               c->count[USHER_ROOM_ROW_MEMBER],
                                               c->count[USHER_ROOM_ROW_SHARE],
                                               r->n_early };

    memcpy(ret, &about, ret->size < sizeof about ? ret->size : sizeof about);
}

static const struct usher__thing *share_from(const struct usher__thing *t)
{
    while (t != NULL && t->kind != USHER_ROOM_ROW_SHARE)
        t = t->owned_behind;
    return t;
}

static const struct usher__thing *thing_behind(const struct usher__copy *c,
                                               const struct usher__thing *t)
{
    const struct usher__thing *next = NULL;
    unsigned kind = USHER_ROOM_ROW_FIELD;

    if (t != NULL && t->kind >= USHER_ROOM_ROW_MEMBER) {
        next = share_from(t->kind == USHER_ROOM_ROW_MEMBER ? t->owned : t->owned_behind);
        if (next != NULL)
            return next;
        return t->kind == USHER_ROOM_ROW_MEMBER ? t->behind : t->holder->behind;
    }
    if (t != NULL) {
        next = t->behind;
        kind = t->kind + 1u;
    }
    for (; next == NULL && kind <= USHER_ROOM_ROW_MEMBER; kind++)
        next = c->first[kind];
    return next;
}

/* Write @t as far as the row of the program reaches.  False: its size is not set. */
static bool row_write(const struct usher__thing *t, struct usher_room_row *ret)
{
    struct usher_room_result_row from;
    struct usher_room_row row;
    size_t size = ret->size;

    if (size < sizeof size)
        return false;
    usher__copy_row(t, &from);
    memset(&row, 0, sizeof row);
    row.size = size;
    row.kind = (enum usher_room_row_kind)from.kind;
    if (t->kind == USHER_ROOM_ROW_MEMBER)
        row.member_state = (enum usher_room_member_state)from.state;
    row.name = from.id.data;
    row.owner = from.owner.data;
    row.value =
        (struct usher_text){ from.value.data != NULL ? from.value.data : "", from.value.size };
    row.version = (int64_t)from.version;
    row.since_ms = from.since_ms != 0 ? from.since_ms : USHER_NONE;
    row.seen_ms = row.before = row.from_state = row.to_state = USHER_NONE;
    row.time_ms = row.until_ms = USHER_NONE;
    memcpy(ret, &row, size < sizeof row ? size : sizeof row);
    return true;
}

bool usher_replica_walk(const struct usher_replica *r, const void **at,
                        struct usher_room_row *ret_row)
{
    *at = thing_behind(&r->copy, *at);
    return *at != NULL && row_write(*at, ret_row);
}

bool usher_replica_find(const struct usher_replica *r, enum usher_room_row_kind kind,
                        const char *id, struct usher_room_row *ret_row)
{
    const struct usher__thing *t = usher__copy_find(&r->copy, (unsigned)kind, id, strlen(id));

    return t != NULL && row_write(t, ret_row);
}

bool usher_replica_value(const struct usher_replica *r, const char *member, const char *field,
                         struct usher_text *ret_value)
{
    const struct usher__copy *c = &r->copy;
    const struct usher__thing *t =
        usher__copy_find(c, USHER_ROOM_ROW_MEMBER, member, strlen(member));
    const struct usher__thing *all = usher__copy_find(c, USHER_ROOM_ROW_ALL, field, strlen(field));
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
    struct usher_room_result_row row;
    const struct usher__thing *at = NULL;

    if (!c->known || (c->state != USHER_ROOM_STATE_OPEN && c->state != USHER_ROOM_STATE_LOCKED))
        return USHER_MISSING;
    while ((at = thing_behind(c, at)) != NULL) {
        usher__copy_row(at, &row);
        (void)usher__sum_row(&sum, c, &row);
    }
    usher__sum_text(&sum, c->state, c->version, ret_digest);
    return USHER_OK;
}
