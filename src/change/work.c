/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "work.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/pack.h"
#include "core/text.h"
#include "core/verbs.h"
#include "core/wide.h"
#include "request_cache.h"

/* The unit of the time of day as a version, with which the versions of two stores differ that took
 * over the same scope one after the other.  It is 8 µs, because links of queues have sixteen places
 * for each version, and must stay below 2^53.  Two stores that do so at the same time continue at
 * different places, up to 2^34 (a day and a half) later; a scope whose version is years ahead after
 * many takeovers, up to 2^20 later. */
#define UNITS_A_SECOND 125000
#define UNIT_NS 8000
#define FAR_AHEAD (UINT64_C(1) << 45)

void usher__scope_new_writer(struct usher__work *w)
{
    struct usher_scope *s = &w->scope;
    uint64_t first = s->version, today, place;
    struct timespec ts;

    (void)clock_gettime(CLOCK_REALTIME, &ts);
    today = (uint64_t)ts.tv_sec * UNITS_A_SECOND + (uint64_t)ts.tv_nsec / UNIT_NS;
    place = w->identity + (uint64_t)ts.tv_nsec * UINT64_C(0x9e3779b97f4a7c15);
    place = (place ^ (place >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    place = (place ^ (place >> 27)) * UINT64_C(0x94d049bb133111eb);
    place >>= first < today || first - today < FAR_AHEAD ? 30 : 44;
    first = (first < today ? today : first) + USHER__JUMP + place;
    USHER_ASSERT(first > s->version && s->n_gaps <= USHER_GAPS);
    if (s->n_gaps == USHER_GAPS) { /* join the oldest two: versions in between count as lost */
        s->gaps[0].first = s->gaps[1].first;
        memmove(&s->gaps[1], &s->gaps[2], (USHER_GAPS - 2) * sizeof *s->gaps);
        s->n_gaps--;
    }
    s->gaps[s->n_gaps].last = s->version;
    s->gaps[s->n_gaps++].first = first;
    w->stored = s->version;
    s->version = first;
    s->writer = w->identity;
    if (w->steps->taken_over != NULL)
        w->steps->taken_over(s, w->stored);
}

bool usher__scope_version_lost(struct usher__work *w, uint64_t version)
{
    const struct usher_scope *s = &w->scope;

    for (unsigned i = 0; i < s->n_gaps; i++)
        if (version > s->gaps[i].last && version <= s->gaps[i].first) {
            w->lost_behind = s->gaps[i].last;
            return true;
        }
    w->lost_behind = usher__scope_public_version(w);
    return version > s->version;
}

enum usher_status usher__say_lost(struct usher__work *w, const char *what)
{
    char line[64];

    (void)snprintf(line, sizeof line, "the %s was issued by a history that the store has lost",
                   what);
    usher_result_fail(w->reply, USHER_LOST, line);
    w->reply->epoch = w->scope.epoch;
    w->reply->version = w->lost_behind;
    return USHER_OK;
}

uint64_t usher__version_before(const struct usher_scope *s, uint64_t version)
{
    const struct usher_gap *last = &s->gaps[s->n_gaps > 0 ? s->n_gaps - 1 : 0];

    return s->n_gaps > 0 && last->first + 1 == version ? last->last : version - 1;
}

/* Return whether the scope has the epoch of the command, if that has one. */
static bool is_epoch(const struct usher__work *w)
{
    char digits[17];
    struct usher_text text;

    memcpy(&text, (const char *)w->command + usher__noun(w->scope.noun)->epoch_at, sizeof text);
    (void)snprintf(digits, sizeof digits, "%016" PRIx64, w->scope.epoch);
    return text.data == NULL || (text.size == 16 && memcmp(text.data, digits, 16) == 0);
}

bool usher__is_other_version(struct usher__work *w)
{
    const struct usher__noun *noun = usher__noun(w->scope.noun);
    unsigned flags = usher__verb((unsigned)w->command->verb)->flags;
    uint64_t epoch = w->reply->epoch, is = w->reply->version;
    int64_t version;

    if (w->scope.ref == NULL && (flags & USHER__CREATES) == 0)
        return false; /* the verb answers that itself */
    if (w->scope.ref != NULL) {
        memcpy(&version, (const char *)w->command + noun->if_version_at, sizeof version);
        if ((w->command->given & noun->if_version) == 0 ||
            (uint64_t)version == usher__scope_public_version(w)) {
            if (is_epoch(w))
                return false;
        } else if (w->scope.n_gaps > 0 && usher__scope_version_lost(w, (uint64_t)version)) {
            (void)usher__say_lost(w, "version");
            return true;
        }
    }
    if ((flags & USHER__WRITES) == 0) { /* `changes`, whose answer has the beginning of its log */
        w->reply->status = USHER_STALE;
        return true;
    }
    usher_result_fail(w->reply, w->scope.ref != NULL ? USHER_STALE : USHER_MISSING, "");
    if (w->scope.ref == NULL)
        return true; /* a room may be gone only now, or since an earlier step of this command */
    w->reply->epoch = epoch;
    w->reply->version = is;
    return true;
}

void usher__no_row(struct usher__work *w, const struct usher__machine *m, unsigned from,
                   unsigned event)
{
    (void)snprintf(w->trouble, USHER__TROUBLE_MAX, "no row of the table of %s is for %s, %s",
                   m->word, m->state_words[from], m->event_words[event]);
}

static inline enum usher_status put(struct usher__work *w, struct usher_scope *s,
                                    const struct usher_write *writes, size_t n)
{
    bool anew = s->ref == NULL && w->grave != NULL;
    enum usher_status status;

    USHER_ASSERT(n <= USHER_CHANGE_MAX && s->epoch != 0);
    USHER_ASSERT(s->clock_ms <= w->now || n == 0);
    if (w->trouble[0] != '\0')
        return USHER_UNAVAILABLE;
    if (anew)
        s->ref = w->grave;
    status = w->ops->write(w->txn, s, writes, n);
    if (status == USHER_OK) {
        w->due_stored = s->due_ms;
        w->grave = NULL;
    } else if (anew) {
        s->ref = NULL;
    }
    return status;
}

/* Write without a version of its own. */
static enum usher_status put_beside(struct usher__work *w, struct usher_scope *s,
                                    const struct usher_write *writes, size_t n)
{
    struct usher_scope taken;
    enum usher_status status;

    if (w->stored == 0)
        return put(w, s, writes, n);
    USHER_ASSERT(s->n_gaps > 0 && s->gaps[s->n_gaps - 1].last == w->stored);
    taken = *s;
    s->version = w->stored;
    s->n_gaps--;
    s->writer = 0;
    status = put(w, s, writes, n);
    s->version = taken.version;
    s->n_gaps = taken.n_gaps;
    s->gaps[s->n_gaps - 1] = taken.gaps[s->n_gaps - 1];
    s->writer = taken.writer;
    return status;
}

enum usher_status usher__change_write(struct usher__work *w, struct usher__change *c)
{
    return put_beside(w, c->scope, c->writes, c->n);
}

enum usher_status usher__due_store(struct usher__work *w)
{
    return put_beside(w, &w->scope, NULL, 0);
}

/* Copy the texts of @r, because write() may free them. */
static void __attribute__((noinline))
told_make(struct usher__work *w, struct usher__change *c, struct usher__pending_notice *told,
          enum usher_verb verb, unsigned from, unsigned to, const struct usher_record *r)
{
    struct usher_notice *notice = &told->notice;

    USHER_ASSERT(told < c->told + USHER__TOLD_MAX);
    USHER_ASSERT(r == NULL || (r->id.size <= USHER_NAME_MAX && r->owner.size <= USHER_NAME_MAX));
    memset(notice, 0, sizeof *notice);
    notice->noun = (enum usher_noun)c->scope->noun;
    notice->scope = c->scope->name;
    notice->version = c->scope->version;
    notice->before = c->first ? 0 : usher__version_before(c->scope, c->scope->version);
    notice->now_ms = w->now;
    notice->verb = verb;
    notice->from = (uint8_t)from;
    notice->to = (uint8_t)to;
    notice->data = c->data;
    notice->wait_ms = c->wait_ms;
    if (r != NULL) {
        const struct usher_text *owner = r->owner.size != 0 ? &r->owner : &c->owner;

        notice->token = r->token;
        notice->until_ms = r->until_ms;
        notice->subject.data = memcpy(told->subject, r->id.data, r->id.size);
        notice->subject.size = r->id.size;
        if (owner->size != 0) {
            notice->owner.data = memcpy(told->owner, owner->data, owner->size);
            notice->owner.size = owner->size;
        }
    }
}

/* The size of an int64_t in decimal, with a sign and a NUL. */
#define DIGITS 21
#define SAID_MAX 40

enum usher_status usher__change_data(struct usher__work *w, struct usher__change *c,
                                     const struct usher__notice_field *said, size_t n)
{
    struct usher_text names[SAID_MAX], values[SAID_MAX];
    char digits[SAID_MAX][DIGITS];
    unsigned char *to;

    if (!usher__change_observed(w, c))
        return USHER_OK;
    USHER_ASSERT(n <= SAID_MAX);
    for (size_t i = 0; i < n; i++) {
        names[i] = (struct usher_text){ said[i].name, strlen(said[i].name) };
        values[i].data = digits[i];
        if (said[i].text != NULL)
            values[i] = *said[i].text;
        else if (said[i].value >= 0)
            values[i].size = usher__wide_text(said[i].value, digits[i]);
        else
            values[i].size = (size_t)snprintf(digits[i], DIGITS, "%" PRId64, said[i].value);
    }
    c->data.size = usher_fields_pack(names, values, n, NULL, 0);
    to = usher__buffer(w, USHER__SAID_BUFFER + (unsigned)c->n_told, c->data.size);
    if (to == NULL)
        return USHER_NOMEM;
    (void)usher_fields_pack(names, values, n, to, c->data.size);
    c->data.data = (const char *)to;
    return USHER_OK;
}

enum usher_status usher__change_data_settings(struct usher__work *w, struct usher__change *c)
{
    const struct usher__noun *noun = usher__noun(c->scope->noun);
    uint64_t given = w->command->given & ~(noun->if_version | (uint64_t)USHER_GIVEN_NOW);
    struct usher_text texts[SAID_MAX];
    struct usher__notice_field said[SAID_MAX];
    size_t n = 0;

    if (!usher__change_observed(w, c))
        return USHER_OK;
    for (unsigned i = 0; i < noun->n_args; i++) {
        const struct usher__arg *arg = &noun->args[i];
        const char *at = (const char *)w->command + arg->offset;

        said[n].name = arg->word;
        said[n].text = NULL;
        if (arg->type == USHER__ARG_VALUE || arg->type == USHER__ARG_NAME) {
            memcpy(&texts[n], at, sizeof *texts);
            said[n].text = &texts[n];
            n += texts[n].data != NULL;
        } else if ((given & arg->given) != 0) {
            memcpy(&said[n++].value, at, sizeof said->value);
        }
    }
    return n != 0 ? usher__change_data(w, c, said, n) : USHER_OK;
}

void usher__change_split(struct usher__work *w, struct usher__change *c, enum usher_verb verb,
                         unsigned from, unsigned to, const struct usher_record *r)
{
    USHER_ASSERT(c->n_told + 1 < USHER__TOLD_MAX);
    if (usher__change_observed(w, c))
        told_make(w, c, &c->told[c->n_told], verb, from, to, r);
    c->data.size = 0;
    c->n_told++;
    c->scope->version++;
}

enum usher_status usher__change_commit(struct usher__work *w, struct usher__change *c,
                                       enum usher_verb verb, unsigned from, unsigned to,
                                       const struct usher_record *r)
{
    bool tell = w->context->notify != NULL, logs = usher__log_kept(w, c->scope);
    enum usher_status status = USHER_OK;

    if (tell || logs)
        told_make(w, c, &c->told[c->n_told], verb, from, to, r);
    if (logs)
        status = usher__log_add(w, c);
    if (status == USHER_OK)
        status = put(w, c->scope, c->writes, c->n);
    if (status != USHER_OK)
        return status;
    w->stored = 0;
    w->reply->epoch = c->scope->epoch;
    w->reply->version = c->scope->version;
    if (tell)
        for (size_t i = 0; i <= c->n_told; i++) {
            c->told[i].notice.epoch = c->scope->epoch;
            c->told[i].notice.due_ms = c->scope->erase ? USHER_NEVER : c->scope->due_ms;
            w->context->notify(w->context->payload, &c->told[i].notice);
        }
    if (c->scope->erase)
        usher__scope_fresh(w);
    return USHER_OK;
}

uint64_t usher__epoch_next(uint64_t epoch)
{
    uint64_t z = epoch + UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
    return z != 0 ? z : 1;
}

void usher__scope_fresh(struct usher__work *w)
{
    struct usher_scope *s = &w->scope;

    if (s->erase) /* if the same command creates it again */
        s->epoch = usher__epoch_next(s->epoch);
    s->erase = false;
    s->ref = NULL;
    s->writer = w->identity;
    s->n_gaps = 0;
    w->stored = 0;
    s->version = 0;
    s->clock_ms = 0;
    s->due_ms = INT64_MAX;
    w->steps->defaults(s);
}

unsigned char *usher__buffer(struct usher__work *w, unsigned i, size_t size)
{
    USHER_ASSERT(i < sizeof w->buffer / sizeof *w->buffer);
    if (size > w->buffer_size[i]) {
        const struct usher_allocator *alloc = w->reply->alloc;
        unsigned char *buffer =
            alloc->resize(alloc->payload, w->buffer[i], w->buffer_size[i], size);

        if (buffer == NULL)
            return NULL;
        w->buffer[i] = buffer;
        if (w->n_buffers <= i)
            w->n_buffers = i + 1;
        w->buffer_size[i] = size;
    }
    return w->buffer[i];
}

static bool scope_anew(struct usher__work *w)
{
    struct usher_text name = w->scope.name;

    if (w->ops->scope(w->txn, (enum usher_noun)w->scope.noun, &name, &w->scope) != USHER_OK)
        return false;
    w->due_stored = w->scope.due_ms;
    usher__tombstone_loaded(w);
    return true;
}

void usher__scope_reload(struct usher__work *w)
{
    if (scope_anew(w))
        usher__scope_loaded(w);
}

enum usher_status usher__change_remember(struct usher__work *w, struct usher__change *c,
                                         struct usher_record *r, int64_t *count, int64_t limit)
{
    struct usher_record old;
    uint64_t behind = 0;

    if (r->ref == NULL)
        ++*count;
    for (int erased = 0; erased < 2;) {
        enum usher_status status;

        if (*count <= limit && r->until_ms == USHER__FOREVER)
            break;
        status = w->ops->walk(w->txn, &w->scope, r->kind, 0, NULL, 0, behind, false, &old);

        if (status == USHER_MISSING)
            break;
        if (status != USHER_OK)
            return status;
        behind = old.order;
        if (r->ref != NULL && usher__text_equal(&old.id, &r->id))
            continue;
        if (*count <= limit && old.until_ms > w->moment)
            break;
        usher__change_erase(c, &old);
        --*count;
        erased++;
    }
    r->slots = 1u;
    r->rank = 0;
    r->order = c->scope->version;
    usher__change_save(c, r);
    return USHER_OK;
}

/* Pack the answer in w->reply: verb, fingerprint of the arguments, status, version, rows,
 * fields. */
static void answer_pack(struct usher__work *w, uint64_t version, struct usher__packer *p)
{
    const struct usher__noun *noun = usher__noun(w->scope.noun);

    usher__pack_array(p, 5 + usher__fields_count(noun, w->command->verb));
    usher__pack_uint(p, (unsigned)w->command->verb);
    usher__pack_uint(p, usher__operation_fingerprint(w->command));
    usher__pack_uint(p, (unsigned)w->reply->status);
    usher__pack_uint(p, version);
    usher__rows_pack(p, noun, w->reply);
    usher__fields_pack(p, noun, w->command->verb, w->reply);
}

static enum usher_status answer_make(struct usher__work *w, struct usher__change *c,
                                     struct usher_text *ret)
{
    struct usher__packer p = { c->answer, sizeof c->answer, 0 };

    answer_pack(w, c->scope->version, &p);
    if (p.n > sizeof c->answer) {
        const struct usher_allocator *alloc = w->reply->alloc;
        unsigned char *answer = alloc->resize(alloc->payload, w->answer, w->answer_size, p.n);

        if (answer == NULL)
            return USHER_NOMEM;
        w->answer = answer;
        w->answer_size = p.n;
        p.to = answer;
        p.size = p.n;
        p.n = 0;
        answer_pack(w, c->scope->version, &p);
    }
    ret->data = (const char *)p.to;
    ret->size = p.n;
    return USHER_OK;
}

enum usher_status usher__request_save(struct usher__work *w, struct usher__change *c)
{
    struct usher_record r;
    int64_t *count = &c->scope->counts[w->steps->requests];
    enum usher_status status;

    /* It may still be there: too old for an answer, or stored by an earlier step. */
    status = USHER_MISSING;
    if (w->scope.ref != NULL)
        status = w->ops->find(w->txn, &w->scope, USHER_KIND_REQUEST, &w->command->request, &r);
    if (status == USHER_MISSING) {
        memset(&r, 0, sizeof r);
        r.kind = USHER_KIND_REQUEST;
    } else if (status != USHER_OK) {
        return status;
    }
    r.id = w->command->request;
    r.until_ms = w->moment + USHER__REQUEST_MS;
    status = answer_make(w, c, &r.data);
    if (status != USHER_OK)
        return status;
    if (w->scope.ref == NULL) { /* no records to walk over */
        r.slots = 1u;
        r.order = c->scope->version;
        usher__change_save(c, &r);
        ++*count;
        return USHER_OK;
    }
    return usher__change_remember(w, c, &r, count, c->scope->settings[w->steps->requests_max]);
}

enum usher_status usher__request_keep_last(struct usher__work *w)
{
    struct usher__change c;
    enum usher_status status;

    if (w->command->request.data == NULL)
        return USHER_OK;
    usher__change_begin(w, &c);
    c.scope->version--; /* that of the last of them */
    status = usher__request_keep(w, &c);
    if (status == USHER_OK)
        status = usher__change_write(w, &c);
    return usher__work_stops(w, status, 1) ? USHER_OK : status;
}

enum usher_status usher__defer(struct usher__work *w)
{
    w->behind = true;
    usher__say(w->reply, USHER_REFUSED, "too many expiries are pending on this scope: retry");
    return USHER_OK;
}

bool usher__work_stops(struct usher__work *w, enum usher_status status, uint64_t n)
{
    return status == USHER_NOMEM && n > 0 && w->at_once && scope_anew(w);
}

bool usher__cursor(const struct usher_text *text, uint64_t *ret_hi, uint64_t *ret_order)
{
    uint64_t number[2] = { 0, 0 };
    unsigned part = 0, digits = 0;

    for (size_t i = 0; i < text->size; i++) {
        char c = text->data[i];

        if (c == '.' && part == 0 && digits > 0) {
            part = 1;
            digits = 0;
        } else if (c >= '0' && c <= '9' && digits < 16) {
            number[part] = number[part] * 10 + (unsigned)(c - '0');
            digits++;
        } else {
            return false;
        }
    }
    *ret_hi = number[0];
    *ret_order = number[1];
    return part == 1 && digits > 0;
}

/* Read a cached answer.  *@ret_same: it is for the arguments of w->command; else only its verb is
 * read. */
static enum usher_status answer_read(struct usher__work *w, const struct usher_text *kept,
                                     uint64_t *ret_verb, bool *ret_same)
{
    const struct usher__noun *noun = usher__noun(w->scope.noun);
    struct usher_unpacker u = usher__unpacker(kept->data, kept->size);
    uint64_t code, print;
    size_t n;
    enum usher_status status;

    if (!usher_unpack_array(&u, &n) || !usher_unpack_uint(&u, ret_verb) ||
        !usher_unpack_uint(&u, &print))
        return USHER_UNAVAILABLE;
    *ret_same = *ret_verb == (unsigned)w->command->verb &&
                print == usher__operation_fingerprint(w->command);
    if (!*ret_same)
        return USHER_OK;
    if (!usher_unpack_uint(&u, &code) || code >= USHER_INVALID || !usher__is_status(code) ||
        !usher_unpack_uint(&u, &w->reply->version))
        return USHER_UNAVAILABLE;
    w->reply->status = (enum usher_status)code;
    status = usher__rows_unpack(&u, noun, w->reply);
    if (status == USHER_NOMEM)
        return status;
    return status == USHER_OK && usher__fields_unpack(&u, noun, w->command->verb, w->reply)
               ? USHER_OK
               : USHER_UNAVAILABLE;
}

enum usher_status usher__request_check(struct usher__work *w)
{
    struct usher_record r;
    uint64_t verb;
    bool same = false;
    enum usher_status status =
        w->ops->find(w->txn, &w->scope, USHER_KIND_REQUEST, &w->command->request, &r);

    if (status != USHER_OK)
        return status;
    if (r.until_ms <= w->moment)
        return USHER_MISSING;
    status = answer_read(w, &r.data, &verb, &same);
    if (status == USHER_UNAVAILABLE) {
        usher_result_fail(w->reply, status, "a kept result cannot be read");
        return USHER_OK;
    }
    if (status != USHER_OK)
        return status;
    if (!same) {
        char line[64] = "request id was used with other arguments";

        if (verb != (unsigned)w->command->verb)
            (void)snprintf(line, sizeof line, "request id was used for `%s`",
                           usher_verb_word((enum usher_verb)verb));
        usher_result_fail(w->reply, USHER_INVALID, line);
        return USHER_OK;
    }
    w->reply->repeated = true;
    return USHER_OK;
}

enum usher_status usher__say(struct usher_result *reply, enum usher_status status,
                             const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(reply->message, sizeof reply->message, format, ap);
    va_end(ap);
    reply->status = status;
    return status;
}

/* ---- settings --------------------------------------------------------------------- */

void usher__settings_default(unsigned verb, int64_t settings[USHER_SETTINGS])
{
    const struct usher__field *told;
    const struct usher__arg *given;

    memset(settings, 0, USHER_SETTINGS * sizeof *settings);
    for (unsigned i = 0; usher__setting(verb, i, &told, &given); i++)
        settings[i] = given->standard;
}

bool usher__settings_given(const struct usher__work *w, unsigned verb, int64_t to[USHER_SETTINGS])
{
    const struct usher__field *told;
    const struct usher__arg *given;
    bool any = false;

    memcpy(to, w->scope.settings, USHER_SETTINGS * sizeof *to);
    for (unsigned i = 0; usher__setting(verb, i, &told, &given); i++)
        if ((w->command->given & given->given) != 0) {
            memcpy(&to[i], (const char *)w->command + given->offset, sizeof to[i]);
            any = true;
        }
    return any;
}

void usher__settings_tell(struct usher__work *w, unsigned verb,
                          const int64_t settings[USHER_SETTINGS])
{
    const struct usher__field *told;
    const struct usher__arg *given;

    for (unsigned i = 0; usher__setting(verb, i, &told, &given); i++)
        memcpy((char *)w->reply + told->offset, &settings[i], sizeof settings[i]);
}

/* ---- the reason of a mode ------------------------------------------------------------- */

static const struct usher_text reason_id = { "?mode", 5 };

enum usher_status usher__reason_load(struct usher__work *w, uint8_t kind, uint8_t state,
                                     const struct usher_text *given, bool changed,
                                     struct usher__reason *reason)
{
    struct usher_record *r = &reason->r;
    enum usher_status status = USHER_MISSING;

    if (w->scope.ref != NULL)
        status = w->ops->find(w->txn, &w->scope, kind, &reason_id, r);
    if (status == USHER_MISSING) {
        memset(r, 0, sizeof *r);
        r->kind = kind;
        r->state = state;
        r->id = reason_id;
        r->slots = USHER__LIST_READY;
    } else if (status != USHER_OK) {
        return status;
    }
    reason->changes =
        given->data != NULL ? !usher__text_equal(given, &r->data) : changed && r->data.size != 0;
    if (reason->changes)
        r->data = *given;
    return USHER_OK;
}

void usher__reason_save(struct usher__change *c, const struct usher__reason *reason)
{
    struct usher_record r = reason->r;

    r.order = c->scope->version;
    if (reason->changes && r.data.size != 0)
        usher__change_save(c, &r);
    else if (reason->changes)
        usher__change_erase(c, &r);
}

/* ---- outages ------------------------------------------------------------------------ */

/* Add to *@n the number of records of @kind whose deadline is in the gap, up to @most.  The walk
 * begins at the gap, because after an outage many records have one deadline before it. */
static enum usher_status count_in_gap(struct usher__work *w, uint8_t kind, int most, int *n)
{
    const struct usher__lives *lives = w->steps->lives;
    uint64_t hi = (uint64_t)w->gap_from + 1, order = 0;

    for (int i = 0; *n < most; i++) {
        struct usher_record r;
        enum usher_status status =
            w->ops->walk(w->txn, &w->scope, kind, 1, NULL, hi, order, false, &r);
        int64_t at;

        if (status != USHER_OK || r.until_ms > w->moment)
            return status == USHER_MISSING ? USHER_OK : status;
        if (i == USHER__OUTAGE_LOOKS) {
            *n = most;
            break;
        }
        hi = (uint64_t)r.until_ms;
        order = r.order;
        at = lives->deadline(&w->scope, &r);
        *n += at > w->gap_from && at <= w->moment;
    }
    return USHER_OK;
}

enum usher_status usher__outage_check(struct usher__work *w, bool *ret_new)
{
    const struct usher__lives *lives = w->steps->lives;
    const int64_t *kept = lives->in_settings ? w->scope.settings : w->scope.counts;
    int64_t beat = lives->beat(&w->scope), last = w->scope.clock_ms;
    int64_t from = kept[lives->from], to = kept[lives->to];
    int most = w->stored != 0 ? 1 : 2, n = 0;
    enum usher_status status = USHER_OK;

    *ret_new = false;
    w->gap_from = beat != 0 ? from : 0;
    w->gap_to = beat != 0 ? to : 0;
    w->gap_end = to + beat;
    if (beat == 0 || w->scope.ref == NULL || (w->stored == 0 && w->moment - last <= beat / 2))
        return USHER_OK;
    if (lives->last != NULL)
        status = lives->last(w, &last);
    if (status != USHER_OK || (w->stored == 0 && w->moment - last <= beat / 2))
        return status;
    w->gap_from = to != 0 && to + beat > last ? to + beat : last;
    for (int i = 0; i < 2 && lives->kinds[i] != 0 && status == USHER_OK; i++)
        status = count_in_gap(w, lives->kinds[i], most, &n);
    *ret_new = n >= most;
    if (!*ret_new)
        w->gap_from = from;
    else
        w->gap_to = w->moment;
    w->gap_end = w->gap_to + beat;
    return status;
}

enum usher_status usher__outage(struct usher__work *w)
{
    const struct usher__lives *lives = w->steps->lives;
    struct usher__change c;
    int64_t *kept;
    bool new;
    enum usher_status status = usher__outage_check(w, &new);

    if (status != USHER_OK || !new)
        return status;
    usher__change_begin(w, &c);
    kept = lives->in_settings ? c.scope->settings : c.scope->counts;
    kept[lives->from] = w->gap_from;
    kept[lives->to] = w->gap_to;
    {
        const struct usher__notice_field said[] = { { "from", w->gap_from, NULL },
                                                    { "to", w->gap_to, NULL } };

        status = usher__change_data(w, &c, said, 2);
    }
    return status == USHER_OK ? usher__change_commit(w, &c, lives->verb, 0, 0, NULL) : status;
}
