/* SPDX-License-Identifier: MIT */
/* Answers of rooms, for people. */
#include "config.h"

#include "cli/answer.h"

#include <inttypes.h>
#include <string.h>

static struct usher_fields fields_of(const struct usher_text *packed)
{
    struct usher_fields f;

    memset(&f, 0, sizeof f);
    f.at = (const unsigned char *)packed->data;
    f.end = f.at != NULL ? f.at + packed->size : f.at;
    return f;
}

/* Is `changes` stale because it was asked for what is still to come? */
static bool ahead(const struct usher_operation *command, const struct usher_result *reply)
{
    return (uint64_t)command->arg.room.since > reply->version;
}

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

static void row_plain(FILE *out, const struct usher_room_row *row)
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
                         const struct usher_result *reply, const struct usher_room_row *row)
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
    const struct usher_room_settings *s = &r->settings;
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
