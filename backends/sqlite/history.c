/* SPDX-License-Identifier: MIT */
/*
 * One table of visits, for people and their queries as much as for us: words, not codes.  Nothing
 * is ever deleted by us; whoever deletes or adds rows or indices with other programs does no harm.
 */
#include "config.h"

#include "history.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "side.h"

struct history {
    struct usher_history base;
    struct usher__sqlite_side side;
};

/* The view `visit` of a store's file (file.c) has the same columns. */
/* clang-format off */
static const char schema[] =
    "CREATE TABLE visit("
    " id INTEGER PRIMARY KEY," /* the order in which they came here */
    " queue TEXT NOT NULL,"
    " epoch TEXT NOT NULL,"
    " version INTEGER NOT NULL," /* of the end of the visit */
    " user TEXT NOT NULL,"
    " lane TEXT NOT NULL,"
    " priority INTEGER NOT NULL,"
    " since_ms INTEGER NOT NULL,"
    " applied_ms INTEGER NOT NULL,"
    " outcome TEXT NOT NULL,"
    " agent TEXT,"
    " room TEXT,"
    " seated_ms INTEGER,"
    " ended_ms INTEGER NOT NULL,"
    " wait_ms INTEGER NOT NULL,"
    " talk_ms INTEGER NOT NULL,"
    " UNIQUE (queue, epoch, version, user, applied_ms));"
    "CREATE INDEX visit_by_queue ON visit(queue);" /* and by id */
    "CREATE INDEX visit_by_time ON visit(queue, ended_ms);"
    "CREATE INDEX visit_by_user ON visit(user, ended_ms);"
    "CREATE INDEX visit_by_agent ON visit(agent, ended_ms) WHERE agent IS NOT NULL;";
/* clang-format on */

static const struct usher__sqlite_side_kind kind = {
    .what = "a history",
    .application = 0x75736868, /* "ushh" */
    .format = 1,
    .schema = schema,
};

#define EPOCH_TEXT 17 /* 16 hex digits and a NUL */

static void bind_text(sqlite3_stmt *st, int i, const struct usher_text *text)
{
    if (text->size != 0)
        (void)sqlite3_bind_text64(st, i, text->data, text->size, SQLITE_STATIC, SQLITE_UTF8);
    else
        (void)sqlite3_bind_null(st, i);
}

static void epoch_text(char to[EPOCH_TEXT], uint64_t epoch)
{
    (void)snprintf(to, EPOCH_TEXT, "%016" PRIx64, epoch);
}

/* ---- put ---------------------------------------------------------------------------- */

static int add(sqlite3_stmt *st, const struct usher_queue_row *v)
{
    char room[USHER_ROOM_MAX];
    int n = snprintf(room, sizeof room, "%" PRIu64 ".%" PRId64, v->login, v->no);

    (void)sqlite3_reset(st);
    (void)sqlite3_bind_int64(st, 3, (int64_t)v->version);
    bind_text(st, 4, &v->user);
    bind_text(st, 5, &v->lane);
    (void)sqlite3_bind_int64(st, 6, v->priority);
    (void)sqlite3_bind_int64(st, 7, v->since_ms);
    (void)sqlite3_bind_int64(st, 8, v->applied_ms);
    (void)sqlite3_bind_text(st, 9, usher_outcome_word((enum usher_outcome)v->state), -1,
                            SQLITE_STATIC);
    bind_text(st, 10, &v->agent);
    if (v->no != 0)
        (void)sqlite3_bind_text(st, 11, room, n, SQLITE_STATIC);
    else
        (void)sqlite3_bind_null(st, 11);
    if (v->matched_ms != 0)
        (void)sqlite3_bind_int64(st, 12, v->matched_ms);
    else
        (void)sqlite3_bind_null(st, 12);
    (void)sqlite3_bind_int64(st, 13, v->until_ms);
    (void)sqlite3_bind_int64(st, 14, v->wait_ms);
    (void)sqlite3_bind_int64(st, 15, v->talk_ms);
    return sqlite3_step(st);
}

static enum usher_status put(struct usher_history *base, const struct usher_text *queue,
                             uint64_t epoch, const struct usher_queue_row *visits, size_t n,
                             int64_t deadline_ms, char message[192])
{
    struct usher__sqlite_side *s = &((struct history *)base)->side;
    char text[EPOCH_TEXT];
    sqlite3_stmt *st = NULL;
    int rc = SQLITE_DONE;
    enum usher_status status = usher__sqlite_side_begin(s, true, deadline_ms, message);

    epoch_text(text, epoch);
    if (status == USHER_OK)
        status = usher__sqlite_side_prepare(
            s,
            "INSERT INTO visit (queue, epoch, version, user, lane, priority, since_ms, applied_ms,"
            " outcome, agent, room, seated_ms, ended_ms, wait_ms, talk_ms)"
            " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)"
            " ON CONFLICT DO NOTHING",
            &st, message);
    if (status == USHER_OK) {
        bind_text(st, 1, queue);
        (void)sqlite3_bind_text(st, 2, text, EPOCH_TEXT - 1, SQLITE_STATIC);
        for (size_t i = 0; i < n && rc == SQLITE_DONE; i++)
            rc = add(st, &visits[i]);
        status = usher__sqlite_side_finish(s, st, rc, message);
    }
    return usher__sqlite_side_end(s, status, message);
}

/* ---- read --------------------------------------------------------------------------- */

static struct usher_text column(sqlite3_stmt *st, int i)
{
    struct usher_text text = { (const char *)sqlite3_column_text(st, i),
                               (size_t)sqlite3_column_bytes(st, i) };

    return text;
}

static int outcome_of(sqlite3_stmt *st, int i)
{
    const char *word = (const char *)sqlite3_column_text(st, i);

    for (int code = 1; word != NULL && code <= USHER_OUTCOME_FREED; code++)
        if (strcmp(word, usher_outcome_word((enum usher_outcome)code)) == 0)
            return code;
    return USHER_OUTCOME_NONE;
}

static void room_of(sqlite3_stmt *st, int i, struct usher_queue_row *row)
{
    const char *text = (const char *)sqlite3_column_text(st, i);
    char *end;

    if (text == NULL)
        return;
    row->login = strtoull(text, &end, 10);
    if (*end == '.')
        row->no = strtoll(end + 1, NULL, 10);
}

static void row_of(sqlite3_stmt *st, struct usher_queue_row *row)
{
    memset(row, 0, sizeof *row);
    row->version = (uint64_t)sqlite3_column_int64(st, 1);
    row->user = column(st, 2);
    row->lane = column(st, 3);
    row->priority = sqlite3_column_int64(st, 4);
    row->since_ms = sqlite3_column_int64(st, 5);
    row->applied_ms = sqlite3_column_int64(st, 6);
    row->state = outcome_of(st, 7);
    row->agent = column(st, 8);
    room_of(st, 9, row);
    row->matched_ms = sqlite3_column_int64(st, 10);
    row->until_ms = sqlite3_column_int64(st, 11);
    row->wait_ms = sqlite3_column_int64(st, 12);
    row->talk_ms = sqlite3_column_int64(st, 13);
}

static enum usher_status read_visits(struct usher_history *base,
                                     const struct usher_history_query *query, int64_t deadline_ms,
                                     usher_history_fn *fn, void *payload, char message[192])
{
    struct usher__sqlite_side *s = &((struct history *)base)->side;
    char text[EPOCH_TEXT], sql[640];
    sqlite3_stmt *st = NULL;
    int rc = SQLITE_DONE;
    enum usher_status told = USHER_OK,
                      status = usher__sqlite_side_begin(s, false, deadline_ms, message);

    epoch_text(text, query->epoch);
    (void)snprintf(
        sql, sizeof sql,
        "SELECT id, version, user, lane, priority, since_ms, applied_ms, outcome, agent,"
        " room, seated_ms, ended_ms, wait_ms, talk_ms FROM visit"
        " WHERE queue = ?1%s%s%s%s%s ORDER BY id DESC LIMIT ?6",
        query->user.data != NULL ? " AND user = ?2" : "",
        query->agent.data != NULL ? " AND agent = ?3" : "",
        query->since_ms > 0 || query->until_ms < INT64_MAX ? " AND ended_ms BETWEEN ?4 AND ?5" : "",
        query->before != 0 ? " AND id < ?7" : "",
        query->version != 0 ? " AND NOT (epoch = ?8 AND version >= ?9)" : "");
    if (status == USHER_OK)
        status = usher__sqlite_side_prepare(s, sql, &st, message);
    if (status == USHER_OK) {
        bind_text(st, 1, &query->queue);
        bind_text(st, 2, &query->user);
        bind_text(st, 3, &query->agent);
        (void)sqlite3_bind_int64(st, 4, query->since_ms);
        (void)sqlite3_bind_int64(st, 5, query->until_ms);
        (void)sqlite3_bind_int64(st, 6, (int64_t)query->max);
        (void)sqlite3_bind_int64(st, 7, query->before);
        (void)sqlite3_bind_text(st, 8, text, EPOCH_TEXT - 1, SQLITE_STATIC);
        (void)sqlite3_bind_int64(st, 9, (int64_t)query->version);
        while (told == USHER_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
            struct usher_queue_row row;

            row_of(st, &row);
            told = fn(payload, &row, sqlite3_column_int64(st, 0));
        }
        status = usher__sqlite_side_finish(s, st, rc, message);
    }
    status = usher__sqlite_side_end(s, status, message);
    return status == USHER_OK ? told : status;
}

/* ---- the interface ------------------------------------------------------------------ */

static void close_history(struct usher_history *base)
{
    struct history *h = (struct history *)base;

    usher__sqlite_side_close(&h->side, h, sizeof *h, false);
}

static void forget_history(struct usher_history *base)
{
    struct history *h = (struct history *)base;

    usher__sqlite_side_close(&h->side, h, sizeof *h, true);
}

static const struct usher_history_ops ops = {
    .size = sizeof(struct usher_history_ops),
    .name = "sqlite",
    .put = put,
    .read = read_visits,
    .close = close_history,
    .forget = forget_history,
};

enum usher_status usher__sqlite_history(const char *path, const struct usher_allocator *alloc,
                                        struct usher_history **ret_history, char message[192])
{
    enum usher_status status;
    struct history *h = usher__sqlite_side_new(&kind, path, alloc, sizeof *h,
                                               offsetof(struct history, side), &status, message);

    if (h != NULL) {
        h->base.ops = &ops;
        *ret_history = &h->base;
    }
    return status;
}
