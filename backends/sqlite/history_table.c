/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "history_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"

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

/* Return whether a visit that ended with @outcome had a room; VISITS_DIFFER says the same. */
static bool had_room(int outcome)
{
    return outcome != USHER_QUEUE_OUTCOME_LEFT && outcome != USHER_QUEUE_OUTCOME_LOST &&
           outcome != USHER_QUEUE_OUTCOME_TIMEOUT;
}

/* ---- add ---------------------------------------------------------------------------- */

int usher__visit_add(sqlite3_stmt *st, const struct usher_text *queue, uint64_t epoch,
                     const struct usher_queue_result_row *v)
{
    char room[USHER_QUEUE_ROOM_MAX], visit[USHER_QUEUE_ROOM_MAX], text[EPOCH_TEXT];
    int rc;

    epoch_text(text, epoch);
    bind_text(st, 1, queue);
    (void)sqlite3_bind_text(st, 2, text, EPOCH_TEXT - 1, SQLITE_STATIC);
    (void)sqlite3_bind_int64(st, 3, (int64_t)v->version);
    bind_text(st, 4, &v->user);
    bind_text(st, 5, &v->lane);
    (void)sqlite3_bind_int64(st, 6, v->priority);
    (void)sqlite3_bind_int64(st, 7, v->since_ms);
    (void)sqlite3_bind_int64(st, 8, v->applied_ms);
    (void)sqlite3_bind_text(st, 9, usher_queue_outcome_word((enum usher_queue_outcome)v->state), -1,
                            SQLITE_STATIC);
    bind_text(st, 10, &v->agent);
    if (v->no != 0)
        (void)sqlite3_bind_text(st, 11, usher_queue_room_name(room, epoch, v->login, v->no), -1,
                                SQLITE_STATIC);
    else
        (void)sqlite3_bind_null(st, 11);
    if (had_room(v->state))
        (void)sqlite3_bind_int64(st, 12, v->matched_ms);
    else
        (void)sqlite3_bind_null(st, 12);
    (void)sqlite3_bind_int64(st, 13, v->until_ms);
    (void)sqlite3_bind_int64(st, 14, v->wait_ms);
    (void)sqlite3_bind_int64(st, 15, v->talk_ms);
    (void)snprintf(visit, sizeof visit, "%s.%" PRIu64, text, v->token);
    if (v->token != 0)
        (void)sqlite3_bind_text(st, 16, visit, -1, SQLITE_STATIC);
    else
        (void)sqlite3_bind_null(st, 16);
    rc = sqlite3_step(st);
    (void)sqlite3_reset(st); /* the texts go */
    return rc;
}

/* ---- read --------------------------------------------------------------------------- */

/* A name, or with @none perhaps none.  False: it is not one, or there was no memory. */
static bool read_name(sqlite3_stmt *st, int i, bool none, struct usher_text *ret)
{
    ret->data = (const char *)sqlite3_column_text(st, i);
    ret->size = (size_t)sqlite3_column_bytes(st, i);
    return ret->size <= USHER_NAME_MAX && (none || ret->size != 0);
}

static int outcome_of(sqlite3_stmt *st, int i)
{
    const char *word = (const char *)sqlite3_column_text(st, i);

    for (int code = 1; word != NULL && code <= USHER_QUEUE_OUTCOME_REQUEUED; code++)
        if (strcmp(word, usher_queue_outcome_word((enum usher_queue_outcome)code)) == 0)
            return code;
    return USHER_QUEUE_OUTCOME_NONE;
}

/* Read "EPOCH.FIRST.SECOND", or "EPOCH.FIRST" with @ret_second NULL. */
static void name_of(sqlite3_stmt *st, int i, uint64_t *ret_epoch, uint64_t *ret_first,
                    int64_t *ret_second)
{
    const char *text = (const char *)sqlite3_column_text(st, i);
    char *end;

    if (text == NULL)
        return;
    *ret_epoch = strtoull(text, &end, 16);
    if (*end == '.')
        *ret_first = strtoull(end + 1, &end, 10);
    if (*end == '.' && ret_second != NULL)
        *ret_second = strtoll(end + 1, NULL, 10);
}

static bool row_of(sqlite3_stmt *st, struct usher_queue_result_row *row)
{
    memset(row, 0, sizeof *row);
    row->version = (uint64_t)sqlite3_column_int64(st, 1);
    row->priority = sqlite3_column_int64(st, 4);
    row->since_ms = sqlite3_column_int64(st, 5);
    row->applied_ms = sqlite3_column_int64(st, 6);
    row->state = outcome_of(st, 7);
    name_of(st, 9, &row->epoch, &row->login, &row->no);
    row->matched_ms = sqlite3_column_int64(st, 10);
    row->until_ms = sqlite3_column_int64(st, 11);
    row->wait_ms = sqlite3_column_int64(st, 12);
    row->talk_ms = sqlite3_column_int64(st, 13);
    name_of(st, 14, &row->epoch, &row->token, NULL);
    return read_name(st, 2, false, &row->user) && read_name(st, 3, false, &row->lane) &&
           read_name(st, 8, true, &row->agent);
}

/* The end of the visit at @place; 0: there is none. */
static int ended_at(sqlite3 *db, int64_t place, int64_t *ret_ms)
{
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(db, "SELECT ended_ms FROM visit WHERE id = ?1", -1, &st, NULL);

    *ret_ms = 0;
    if (rc != SQLITE_OK)
        return rc;
    (void)sqlite3_bind_int64(st, 1, place);
    rc = sqlite3_step(st);
    if (rc == SQLITE_ROW)
        *ret_ms = sqlite3_column_int64(st, 0);
    (void)sqlite3_finalize(st);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* A range of time alone goes along the times: in any other order the whole range would be sorted.
 */
static bool by_end(const struct usher_history_query *query)
{
    return (query->since_ms > 0 || query->until_ms < INT64_MAX) && query->user.data == NULL &&
           query->agent.data == NULL;
}

void usher__visits_sql(const struct usher_history_query *query, int64_t ended_ms,
                       char sql[USHER__VISITS_SQL])
{
    bool within = query->since_ms > 0 || query->until_ms < INT64_MAX;
    const char *before = "";

    /* a page goes on within the same end; a row that was deleted since is found by its place */
    if (query->before != 0)
        before = ended_ms != 0 ? " AND NOT (ended_ms = ?10 AND id >= ?7)" : " AND id < ?7";
    (void)snprintf(sql, USHER__VISITS_SQL,
                   "SELECT id, version, user, lane, priority, since_ms, applied_ms, outcome, agent,"
                   " room, seated_ms, ended_ms, wait_ms, talk_ms, visit FROM visit"
                   " WHERE queue = ?1%s%s%s%s%s ORDER BY %sid DESC LIMIT ?6",
                   query->user.data != NULL ? " AND user = ?2" : "",
                   query->agent.data != NULL ? " AND agent = ?3" : "",
                   !within         ? ""
                   : by_end(query) ? " AND ended_ms BETWEEN ?4 AND ?5"
                                   : " AND +ended_ms BETWEEN ?4 AND ?5", /* not by time */
                   before, query->version != 0 ? " AND NOT (epoch = ?8 AND version >= ?9)" : "",
                   by_end(query) ? "ended_ms DESC, " : "");
}

static void bind_query(sqlite3_stmt *st, const struct usher_history_query *query, int64_t ended_ms,
                       const char epoch[EPOCH_TEXT])
{
    bool within = ended_ms != 0 && ended_ms < query->until_ms;

    bind_text(st, 1, &query->queue);
    bind_text(st, 2, &query->user);
    bind_text(st, 3, &query->agent);
    (void)sqlite3_bind_int64(st, 4, query->since_ms);
    (void)sqlite3_bind_int64(st, 5, within ? ended_ms : query->until_ms);
    (void)sqlite3_bind_int64(st, 6, (int64_t)query->max);
    (void)sqlite3_bind_int64(st, 7, query->before);
    (void)sqlite3_bind_text(st, 8, epoch, EPOCH_TEXT - 1, SQLITE_STATIC);
    (void)sqlite3_bind_int64(st, 9, (int64_t)query->version);
    (void)sqlite3_bind_int64(st, 10, ended_ms);
}

enum usher_status usher__visits_read(sqlite3 *db, const struct usher_history_query *query,
                                     usher_history_fn *fn, void *payload, char message[192])
{
    char epoch[EPOCH_TEXT], sql[USHER__VISITS_SQL];
    sqlite3_stmt *st = NULL;
    enum usher_status status = USHER_OK;
    int64_t ended_ms = 0;
    int rc = SQLITE_OK;

    if (query->before != 0 && by_end(query))
        rc = ended_at(db, query->before, &ended_ms);
    epoch_text(epoch, query->epoch);
    usher__visits_sql(query, ended_ms, sql);
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(db, sql, -1, &st, NULL);
    if (rc == SQLITE_OK)
        bind_query(st, query, ended_ms, epoch);
    while (rc == SQLITE_OK && status == USHER_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        struct usher_queue_result_row row;

        if (row_of(st, &row)) {
            status = fn(payload, &row, sqlite3_column_int64(st, 0));
            rc = SQLITE_OK;
        } else if (sqlite3_errcode(db) == SQLITE_NOMEM) {
            rc = SQLITE_NOMEM;
        } else {
            usher__sqlite_say(message, "corrupt file: a visit");
            status = USHER_UNAVAILABLE;
        }
    }
    if (rc != SQLITE_OK && rc != SQLITE_ROW && rc != SQLITE_DONE)
        status = usher__sqlite_failed(db, rc, message);
    (void)sqlite3_finalize(st);
    return status;
}

struct log {
    usher_log_fn *fn;
    void *payload;
};

static enum usher_status tell(void *payload, const struct usher_queue_result_row *visit,
                              int64_t place)
{
    const struct log *log = payload;

    return log->fn(log->payload, visit, place);
}

enum usher_status usher__visits_log(sqlite3 *db, const struct usher_history_query *query,
                                    usher_log_fn *fn, void *payload, char message[192])
{
    struct log log = { fn, payload };

    return usher__visits_read(db, query, tell, &log, message);
}
