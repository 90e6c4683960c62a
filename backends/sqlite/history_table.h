/* SPDX-License-Identifier: MIT */
/*
 * The table of visits that have ended, the same in a store's file and in that of a history: for
 * people and their queries as much as for us, so words, not codes.  The library never deletes a
 * row, and other programs may delete or add rows and indices without harm.
 */
#ifndef USHER_SQLITE_HISTORY_TABLE_H
#define USHER_SQLITE_HISTORY_TABLE_H

#include <sqlite3.h>

#include <usher/store/history.h>
#include <usher/store/store.h>

/* Stored in files: to change it, see file.c; a history (history.c) has its own format. */
/* clang-format off */
#define USHER__VISIT_TABLE                                                                     \
    "CREATE TABLE visit("                                                                      \
    " id INTEGER PRIMARY KEY," /* the order in which they came here */                         \
    " queue TEXT NOT NULL,"                                                                    \
    " epoch TEXT NOT NULL,"                                                                    \
    " version INTEGER NOT NULL," /* of the end of the visit */                                 \
    " user TEXT NOT NULL,"                                                                     \
    " lane TEXT NOT NULL,"                                                                     \
    " priority INTEGER NOT NULL,"                                                              \
    " since_ms INTEGER NOT NULL,"                                                              \
    " applied_ms INTEGER NOT NULL,"                                                            \
    " outcome TEXT NOT NULL,"                                                                  \
    " agent TEXT,"                                                                             \
    " room TEXT,"                                                                              \
    " seated_ms INTEGER,"                                                                      \
    " ended_ms INTEGER NOT NULL,"                                                              \
    " wait_ms INTEGER NOT NULL,"                                                               \
    " talk_ms INTEGER NOT NULL,"                                                               \
    " visit TEXT,"                                                                             \
    " UNIQUE (queue, epoch, version, user, applied_ms));"                                      \
    /* each serves usher__visits_sql() in its order, without sorting */                       \
    "CREATE INDEX visit_by_queue ON visit(queue);" /* and by id */                             \
    "CREATE INDEX visit_by_time ON visit(queue, ended_ms);"                                    \
    "CREATE INDEX visit_by_user ON visit(user, queue, id, ended_ms);"                          \
    "CREATE INDEX visit_by_agent ON visit(agent, queue, id, ended_ms)"                         \
    " WHERE agent IS NOT NULL;"

#define USHER__VISIT_COLUMNS                                                                   \
    "queue, epoch, version, user, lane, priority, since_ms, applied_ms, outcome, agent, room," \
    " seated_ms, ended_ms, wait_ms, talk_ms, visit"

/* One that is there already is not added again. */
#define USHER__VISIT_ADD                                                                       \
    "INSERT INTO visit (" USHER__VISIT_COLUMNS ")"                                             \
    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)"          \
    " ON CONFLICT DO NOTHING"
/* clang-format on */

/* Run @st, prepared of USHER__VISIT_ADD: SQLITE_DONE, or what failed. */
int usher__visit_add(sqlite3_stmt *st, const struct usher_text *queue, uint64_t epoch,
                     const struct usher_queue_result_row *visit);

/* The statement for @query; @ended_ms: the end of the visit at its `before`, or 0.  Only a range of
 * time without user and agent needs that end. */
#define USHER__VISITS_SQL 640
void usher__visits_sql(const struct usher_history_query *query, int64_t ended_ms,
                       char sql[USHER__VISITS_SQL]);

/* Call @fn with each visit of the query: as read() of a history, within a transaction or without
 * one.  The latest row comes first; in a range of time without user and agent, the latest end. */
enum usher_status usher__visits_read(sqlite3 *db, const struct usher_history_query *query,
                                     usher_history_fn *fn, void *payload, char message[192]);

/* The same of the log of a store. */
enum usher_status usher__visits_log(sqlite3 *db, const struct usher_history_query *query,
                                    usher_log_fn *fn, void *payload, char message[192]);

#endif
