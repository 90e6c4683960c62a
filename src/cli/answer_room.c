/* SPDX-License-Identifier: MIT */
/* Answers of rooms: objects (keys and order are a public interface) and words for people. */
#include "config.h"

#include "cli/answer.h"

#include <inttypes.h>
#include <string.h>

/* ---- objects ---------------------------------------------------------------------- */

static void key_text(struct json *j, const char *key, const struct usher_text *text)
{
    usher__json_key(j, key);
    usher__json_string(j->out, text->data, text->size);
}

/* The key of a member of an object that is made of data. */
static void data_key(struct json *j, const struct usher_text *key)
{
    if (j->comma)
        putc(',', j->out);
    j->comma = true;
    usher__json_string(j->out, key->data, key->size);
    putc(':', j->out);
}

static void data_pair(struct json *j, const struct usher_text *key, const struct usher_text *value)
{
    data_key(j, key);
    usher__json_string(j->out, value->data, value->size);
}

static struct usher_fields fields_of(const struct usher_text *packed)
{
    struct usher_fields f;

    memset(&f, 0, sizeof f);
    f.at = (const unsigned char *)packed->data;
    f.end = f.at != NULL ? f.at + packed->size : f.at;
    return f;
}

/* @key: the packed fields as an object. */
static void packed(struct json *j, const char *key, const struct usher_text *data)
{
    struct usher_fields f = fields_of(data);
    struct json inner = { j->out, false };
    struct usher_text name, value;
    uint64_t version;

    usher__json_key(j, key);
    if (data->size == 1 && (unsigned char)data->data[0] == 0xc0) { /* too large to be told */
        fputs("null", j->out);
        return;
    }
    putc('{', j->out);
    while (data->size != 0 && usher_fields_next(&f, &name, &value, &version))
        data_pair(&inner, &name, &value);
    putc('}', j->out);
}

static bool same_text(const struct usher_text *a, const struct usher_text *b)
{
    return a->size == b->size && (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

/* The value of all members for @name, set after @version; NULL: there is none. */
static const struct usher_room_result_row *later_of_all(const struct usher_room_result *r,
                                                        const struct usher_text *name,
                                                        uint64_t version)
{
    for (size_t i = 0; i < r->n_rows; i++)
        if (r->rows[i].kind == USHER_ROOM_ROW_ALL && same_text(&r->rows[i].id, name) &&
            r->rows[i].version > version)
            return &r->rows[i];
    return NULL;
}

/* What counts for a member: of its own fields and those of all, what was set last. */
static void effective(struct json *j, const struct usher_room_result *r,
                      const struct usher_room_result_row *member)
{
    struct usher_fields f = fields_of(&member->value);
    struct json inner = { j->out, false };
    struct usher_text name, value;
    uint64_t version;

    usher__json_key(j, "fields");
    putc('{', j->out);
    while (member->value.size != 0 && usher_fields_next(&f, &name, &value, &version)) {
        const struct usher_room_result_row *all = later_of_all(r, &name, version);

        data_pair(&inner, &name, all != NULL ? &all->value : &value);
    }
    for (size_t i = 0; i < r->n_rows; i++) {
        bool own = false;

        if (r->rows[i].kind != USHER_ROOM_ROW_ALL)
            continue;
        f = fields_of(&member->value);
        while (!own && member->value.size != 0 && usher_fields_next(&f, &name, &value, &version))
            own = same_text(&name, &r->rows[i].id);
        if (!own)
            data_pair(&inner, &r->rows[i].id, &r->rows[i].value);
    }
    putc('}', j->out);
}

/* @key: an object of all rows of @kind, id to value or, for roles, to owner. */
static void map(struct json *j, const char *key, const struct usher_room_result *r, int kind)
{
    struct json inner = { j->out, false };

    usher__json_key(j, key);
    putc('{', j->out);
    for (size_t i = 0; i < r->n_rows; i++)
        if (r->rows[i].kind == kind)
            data_pair(&inner, &r->rows[i].id,
                      kind == USHER_ROOM_ROW_ROLE ? &r->rows[i].owner : &r->rows[i].value);
    putc('}', j->out);
}

static void members(struct json *j, const struct usher_room_result *r)
{
    bool first = true;

    usher__json_key(j, "members");
    putc('[', j->out);
    for (size_t i = 0; i < r->n_rows; i++) {
        struct json inner = { j->out, false };

        if (r->rows[i].kind != USHER_ROOM_ROW_MEMBER)
            continue;
        fputs(first ? "{" : ",{", j->out);
        first = false;
        key_text(&inner, "member", &r->rows[i].id);
        usher__json_text(
            &inner, "state",
            usher_room_member_state_word((enum usher_room_member_state)r->rows[i].state));
        usher__json_int(&inner, "since", r->rows[i].since_ms);
        effective(&inner, r, &r->rows[i]);
        putc('}', j->out);
    }
    putc(']', j->out);
}

static void shares(struct json *j, const struct usher_room_result *r)
{
    bool first = true;

    usher__json_key(j, "shares");
    putc('[', j->out);
    for (size_t i = 0; i < r->n_rows; i++) {
        struct json inner = { j->out, false };

        if (r->rows[i].kind != USHER_ROOM_ROW_SHARE)
            continue;
        fputs(first ? "{" : ",{", j->out);
        first = false;
        key_text(&inner, "share", &r->rows[i].id);
        key_text(&inner, "member", &r->rows[i].owner);
        packed(&inner, "fields", &r->rows[i].value);
        putc('}', j->out);
    }
    putc(']', j->out);
}

static const char *state_word(enum usher_verb verb, unsigned state)
{
    switch (verb) {
    case USHER_ROOM_OPEN:
    case USHER_ROOM_CLOSE:
    case USHER_ROOM_LOCK:
    case USHER_ROOM_UNLOCK:
    case USHER_ROOM_EMPTY:
    case USHER_ROOM_DONE:
        return usher_room_state_word((enum usher_room_state)state);
    case USHER_ROOM_JOIN:
    case USHER_ROOM_LEAVE:
    case USHER_ROOM_KICK:
    case USHER_ROOM_ALIVE:
    case USHER_ROOM_MEMBER:
    case USHER_ROOM_FADE:
    case USHER_ROOM_DROP:
    case USHER_ROOM_EXPIRE:
        return usher_room_member_state_word((enum usher_room_member_state)state);
    default:
        return NULL;
    }
}

static void key_state(struct json *j, const char *key, enum usher_verb verb, unsigned state)
{
    const char *word = state_word(verb, state);

    usher__json_key(j, key);
    if (word != NULL)
        usher__json_string(j->out, word, strlen(word));
    else
        fputs("null", j->out);
}

/* @key: what is told together, as objects like the one around. */
static void together(struct json *j, const char *key, const struct usher_notice *n)
{
    struct usher_notice one;
    size_t at = 0;
    bool first = true;

    usher__json_key(j, key);
    putc('[', j->out);
    while (usher_room_presence(n, &at, &one)) {
        struct json inner = { j->out, false };

        if (one.verb == USHER_ROOM_PRESENCE)
            continue;
        fputs(first ? "{" : ",{", j->out);
        first = false;
        usher__answer_room_notice(&inner, &one);
        putc('}', j->out);
    }
    putc(']', j->out);
}

void usher__answer_room_notice(struct json *j, const struct usher_notice *n)
{
    usher__json_key(j, "scope");
    fputs("\"room/", j->out);
    for (size_t i = 0; i < n->scope.size; i++) { /* a name: UTF-8 without controls */
        if (n->scope.data[i] == '"' || n->scope.data[i] == '\\')
            putc('\\', j->out);
        putc(n->scope.data[i], j->out);
    }
    putc('"', j->out);
    usher__json_key(j, "epoch");
    fprintf(j->out, "\"%016" PRIx64 "\"", n->epoch);
    usher__json_uint(j, "version", n->version);
    if (n->before + 1 != n->version) /* of several, or where the store changed hands */
        usher__json_uint(j, "before", n->before);
    usher__json_text(j, "verb", usher_verb_word(n->verb));
    usher__json_name(j, "subject", &n->subject);
    key_state(j, "from", n->verb, n->from);
    key_state(j, "to", n->verb, n->to);
    if (n->verb == USHER_ROOM_PRESENCE)
        together(j, "data", n);
    else
        packed(j, "data", &n->data);
    usher__json_name(j, "owner", &n->owner);
    usher__json_int(j, "time", n->now_ms);
    usher__json_uint(j, "was", n->was);
    usher__json_uint(j, "mark", n->mark);
}

static void notices(struct json *j, const struct usher_operation *command,
                    const struct usher_result *reply)
{
    const struct usher_room_result *r = &reply->of.room;

    usher__json_key(j, "notices");
    putc('[', j->out);
    for (size_t i = 0; i < r->n_rows; i++) {
        struct json inner = { j->out, false };
        struct usher_notice n;

        if (usher_room_notice(&r->rows[i], &command->scope, reply->epoch, &n) != USHER_OK)
            continue;
        fputs(i == 0 ? "{" : ",{", j->out);
        usher__answer_room_notice(&inner, &n);
        putc('}', j->out);
    }
    putc(']', j->out);
    usher__json_bool(j, "more", r->more);
}

/* Is `changes` stale because it was asked for what is still to come? */
static bool ahead(const struct usher_operation *command, const struct usher_result *reply)
{
    return (uint64_t)command->arg.room.since > reply->version;
}

static void key_value(struct json *j, const struct usher_operation *command,
                      const struct usher_result *reply)
{
    const struct usher_room_result *r = &reply->of.room;

    usher__json_key(j, "value");
    if (USHER_IS_DONE(reply->status) && command->verb != USHER_ROOM_GET)
        usher__json_string(j->out, command->arg.room.value.data, command->arg.room.value.size);
    else if (r->n_rows == 1)
        usher__json_string(j->out, r->rows->value.data, r->rows->value.size);
    else
        fputs("null", j->out);
}

static void settings(struct json *j, const struct usher_room_result_settings *s)
{
    usher__json_int(j, "capacity", s->capacity);
    usher__json_int(j, "linger", s->linger_ms);
    usher__json_int(j, "ttl", s->ttl_ms);
    usher__json_int(j, "away", s->away_ms);
    usher__json_int(j, "grace", s->grace_ms);
    usher__json_int(j, "log", s->log);
    usher__json_int(j, "requests", s->requests);
    usher__json_int(j, "presence", s->presence_ms);
    usher__json_int(j, "push", s->push);
}

static void expired(struct json *j, const struct usher_room_result *r)
{
    usher__json_key(j, "expired");
    putc('[', j->out);
    for (size_t i = 0; i < r->n_rows; i++) {
        if (i > 0)
            putc(',', j->out);
        usher__json_string(j->out, r->rows[i].id.data, r->rows[i].id.size);
    }
    putc(']', j->out);
    usher__json_bool(j, "more", r->more);
}

void usher__answer_room_json(struct json *j, const struct usher_operation *command,
                             const struct usher_result *reply)
{
    const struct usher_room_result *r = &reply->of.room;
    struct usher_text name = { r->name, r->name_size }, nobody = { NULL, 0 };
    bool there = reply->status != USHER_MISSING;

    switch (command->verb) {
    case USHER_ROOM_SET:
    case USHER_ROOM_MEMBER:
    case USHER_ROOM_ALL:
        if (there)
            key_value(j, command, reply);
        break;
    case USHER_ROOM_UNSET:
        if (reply->status == USHER_STALE)
            key_value(j, command, reply);
        break;
    case USHER_ROOM_GET:
        if (command->arg.room.field.data != NULL)
            key_value(j, command, reply);
        else if (there)
            map(j, "fields", r, USHER_ROOM_ROW_FIELD);
        break;
    case USHER_ROOM_JOIN:
    case USHER_ROOM_LEAVE:
    case USHER_ROOM_KICK:
    case USHER_ROOM_ALIVE:
        key_text(j, "member", &command->arg.room.member);
        usher__json_uint(j, "members", r->members);
        usher__json_text(j, "state", usher_room_member_state_word(r->member_state));
        usher__json_int(j, "until", r->until_ms);
        if (command->verb == USHER_ROOM_ALIVE && reply->status == USHER_OK) {
            usher__json_uint(j, "told", r->since);
            usher__json_uint(j, "mark", r->mark);
        }
        break;
    case USHER_ROOM_ROLE:
        if (there)
            usher__json_name(j, "holder", &name);
        break;
    case USHER_ROOM_SHARE:
    case USHER_ROOM_UNSHARE:
        key_text(j, "share", &command->arg.room.share);
        if (reply->status == USHER_STALE) /* whose it is */
            usher__json_name(j, "member", r->n_rows == 1 ? &r->rows->owner : &nobody);
        break;
    case USHER_ROOM_SNAPSHOT:
        if (reply->status != USHER_OK)
            break;
        map(j, "fields", r, USHER_ROOM_ROW_FIELD);
        members(j, r);
        map(j, "roles", r, USHER_ROOM_ROW_ROLE);
        shares(j, r);
        usher__json_key(j, "next");
        if (r->more)
            fprintf(j->out, "%" PRIu64, r->since);
        else
            fputs("null", j->out);
        map(j, "all", r, USHER_ROOM_ROW_ALL);
        usher__json_text(j, "state", usher_room_state_word(r->state));
        usher__json_uint(j, "mark", r->mark);
        if ((command->given & USHER_GIVEN_ROOM_SINCE) != 0)
            notices(j, command, reply);
        break;
    case USHER_ROOM_CHANGES:
        if (reply->status == USHER_STALE && ahead(command, reply)) {
            usher__json_key(j, "from"); /* no version of this log would do */
            fputs("null", j->out);
        } else if (reply->status == USHER_STALE)
            usher__json_uint(j, "from", r->since);
        else if (there)
            notices(j, command, reply);
        break;
    case USHER_ROOM_SWEEP:
        if (there)
            expired(j, r);
        break;
    case USHER_ROOM_SHOW:
    case USHER_ROOM_OPEN:
        usher__json_text(j, "state", usher_room_state_word(r->state));
        if (command->verb == USHER_ROOM_SHOW && there) {
            usher__json_uint(j, "members", r->members);
            usher__json_int(j, "created", r->created_ms);
        }
        if (there)
            settings(j, &r->settings);
        break;
    default: /* close, lock, unlock */
        usher__json_text(j, "state", usher_room_state_word(r->state));
        if (command->verb == USHER_ROOM_CLOSE) {
            usher__json_uint(j, "erased", r->count);
            usher__json_bool(j, "more", r->more);
        }
        break;
    }
    if (reply->message[0] != '\0')
        usher__json_text(j, "message", reply->message);
}

/* ---- words ------------------------------------------------------------------------ */

static void name_plain(FILE *out, const char *before, const struct usher_text *text)
{
    fputs(before, out);
    usher__plain_text(out, text->data, text->size);
}

static void fields_plain(FILE *out, const struct usher_text *data)
{
    struct usher_fields f = fields_of(data);
    struct usher_text name, value;
    uint64_t version;

    while (data->size > 1 && usher_fields_next(&f, &name, &value, &version)) {
        name_plain(out, " ", &name);
        name_plain(out, "=", &value);
    }
}

static void row_plain(FILE *out, const struct usher_room_result_row *row)
{
    switch (row->kind) {
    case USHER_ROOM_ROW_FIELD:
        name_plain(out, "; ", &row->id);
        name_plain(out, "=", &row->value);
        break;
    case USHER_ROOM_ROW_ALL:
        name_plain(out, "; all ", &row->id);
        name_plain(out, "=", &row->value);
        break;
    case USHER_ROOM_ROW_ROLE:
        name_plain(out, "; ", &row->id);
        name_plain(out, " is ", &row->owner);
        break;
    case USHER_ROOM_ROW_MEMBER:
        name_plain(out, "; ", &row->id);
        fprintf(out, " %s", usher_room_member_state_word((enum usher_room_member_state)row->state));
        fields_plain(out, &row->value);
        break;
    case USHER_ROOM_ROW_SHARE:
        name_plain(out, "; ", &row->owner);
        name_plain(out, " shares ", &row->id);
        fields_plain(out, &row->value);
        break;
    default:
        break;
    }
}

static void notice_plain(FILE *out, const struct usher_operation *command,
                         const struct usher_result *reply, const struct usher_room_result_row *row)
{
    struct usher_notice n;

    if (usher_room_notice(row, &command->scope, reply->epoch, &n) != USHER_OK)
        return;
    fprintf(out, "; %" PRIu64 " %s", n.version, usher_verb_word(n.verb));
    if (n.subject.size != 0)
        name_plain(out, " ", &n.subject);
    fields_plain(out, &n.data);
}

void usher__answer_room_plain(FILE *out, const struct usher_operation *command,
                              const struct usher_result *reply)
{
    const struct usher_room_result *r = &reply->of.room;
    const struct usher_room_result_settings *s = &r->settings;
    struct usher_text name = { r->name, r->name_size };

    if (reply->message[0] != '\0')
        fprintf(out, ": %s", reply->message);
    switch (command->verb) {
    case USHER_ROOM_JOIN:
    case USHER_ROOM_LEAVE:
    case USHER_ROOM_KICK:
    case USHER_ROOM_ALIVE:
        name_plain(out, ": ", &command->arg.room.member);
        fprintf(out, " is %s, version %" PRIu64 ", %" PRIu64 " member%s",
                usher_room_member_state_word(r->member_state), reply->version, r->members,
                r->members == 1 ? "" : "s");
        break;
    case USHER_ROOM_ROLE:
        name_plain(out, ": ", &command->arg.room.role);
        if (name.size != 0)
            name_plain(out, " is ", &name);
        else if (reply->status != USHER_MISSING)
            fputs(" is nobody", out);
        break;
    case USHER_ROOM_OPEN:
    case USHER_ROOM_SHOW:
        fprintf(out, ": %s, %" PRIu64 " member%s", usher_room_state_word(r->state), r->members,
                r->members == 1 ? "" : "s");
        if (USHER_IS_DONE(reply->status))
            fprintf(out,
                    ", capacity=%" PRId64 " linger=%" PRId64 " ttl=%" PRId64 " away=%" PRId64
                    " grace=%" PRId64 " log=%" PRId64 " requests=%" PRId64 " presence=%" PRId64
                    " push=%" PRId64,
                    s->capacity, s->linger_ms, s->ttl_ms, s->away_ms, s->grace_ms, s->log,
                    s->requests, s->presence_ms, s->push);
        break;
    case USHER_ROOM_CLOSE:
    case USHER_ROOM_LOCK:
    case USHER_ROOM_UNLOCK:
        fprintf(out, ": %s", usher_room_state_word(r->state));
        break;
    case USHER_ROOM_CHANGES:
        if (reply->status == USHER_STALE && ahead(command, reply))
            fprintf(out, ": %s: it is at %" PRIu64, reply->message, reply->version);
        else if (reply->status == USHER_STALE)
            fprintf(out, ": the log begins behind version %" PRIu64, r->since);
        for (size_t i = 0; i < r->n_rows; i++)
            notice_plain(out, command, reply, &r->rows[i]);
        break;
    default:
        fprintf(out, ": version %" PRIu64, reply->version);
        for (size_t i = 0; i < r->n_rows; i++) {
            if (r->rows[i].kind == USHER_ROOM_ROW_NOTICE)
                notice_plain(out, command, reply, &r->rows[i]);
            else
                row_plain(out, &r->rows[i]);
        }
        if (command->verb == USHER_ROOM_SNAPSHOT && r->more)
            fprintf(out, "; more after %" PRIu64, r->since);
        break;
    }
}
