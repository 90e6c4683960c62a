/* SPDX-License-Identifier: MIT */
/*
 * Every statement: X(NAME, text, via).
 *
 * `via` is what serves it: the index, "rowid", "primary key", or NULL if it reads no table.
 * INDEXED BY makes SQLite refuse a statement rather than serve it otherwise, and test_sqlite.c
 * looks at the plans.  A query of a list repeats the condition of its partial index; SQLite then
 * does not look at `slots` itself, so sqlite.c does.
 */
#ifndef USHER_SQLITE_STATEMENTS_H
#define USHER_SQLITE_STATEMENTS_H

#include "history_table.h"

/* clang-format off */
/* Texts are made of parts.  NOLINTBEGIN(bugprone-suspicious-missing-comma) */

#define SCOPE_COLUMNS                                                                          \
    "ref, noun, name, epoch, version, clock_ms, due_ms,"                                       \
    " c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16, c17, c18, c19," \
    " c20, c21, c22, c23,"                                                                     \
    " s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11, s12, s13, s14, s15, s16, s17, s18, s19," \
    " writer, gaps"
#define RECORD_COLUMNS                                                                         \
    "ref, list, state, slots, rank, ord, token, until_ms, n0, n1, n2, n3, id, owner, grp, data," \
    " n4, n5, n6, n7, due"

/* ?1 list, ?3 after_hi, ?4 after_order, ?5 by */
#define WALK(index, conditions, bound, hi, ord, way)                                           \
    "SELECT " RECORD_COLUMNS " FROM record INDEXED BY " index                                  \
    " WHERE list = ?1 AND " conditions bound " ORDER BY " hi way ", " ord way

/* Walks of a list in order of (hi, ord): onward and back, the same from either end, which needs no
 * comparison and is what calls do most; and again by @by. */
#define WALKS_OF(X, NAME, index, conditions, hi, ord)                                          \
    X(NAME, WALK(index, conditions, " AND (" hi ", " ord ") > (?3, ?4)", hi, ord, ""), index)  \
    X(NAME##_BACK,                                                                             \
      WALK(index, conditions, " AND (" hi ", " ord ") < (?3, ?4)", hi, ord, " DESC"), index)   \
    X(NAME##_FIRST, WALK(index, conditions, "", hi, ord, ""), index)                           \
    X(NAME##_LAST, WALK(index, conditions, "", hi, ord, " DESC"), index)
#define WALKS(X, NAME, index, condition, hi, ord, by)                                          \
    WALKS_OF(X, NAME, index, condition, hi, ord)                                               \
    WALKS_OF(X, NAME##_BY, index "_by", condition " AND " by " = ?5", hi, ord)

/* Walks of a list whose hi is 0: ?3 is not used. */
#define WALK_HELD(index, conditions, than, way)                                                \
    "SELECT " RECORD_COLUMNS " FROM record INDEXED BY " index                                  \
    " WHERE list = ?1 AND " conditions " AND ord " than " ?4 ORDER BY ord" way
#define WALKS_HELD(X, NAME, index, conditions)                                                 \
    X(NAME, WALK_HELD(index, conditions, ">", ""), index)                                      \
    X(NAME##_BACK, WALK_HELD(index, conditions, "<", " DESC"), index)

/* An index as it is: list, hi, ord, id, by. */
#define ENTRIES(index, conditions, hi, ord, by)                                                \
    "SELECT list, " hi ", " ord ", id, " by " FROM record INDEXED BY " index                       \
    " WHERE list BETWEEN ?1 AND ?2 AND " conditions

#define STATEMENTS(X)                                                                          \
    X(BEGIN_READ, "BEGIN", NULL)                                                               \
    X(BEGIN_WRITE, "BEGIN IMMEDIATE", NULL)                                                    \
    X(LOOK, "SELECT 1 FROM scope", "scope_name")                                               \
    X(COMMIT, "COMMIT", NULL)                                                                  \
    X(ROLLBACK, "ROLLBACK", NULL)                                                              \
                                                                                               \
    X(SCOPE_FIND,                                                                              \
      "SELECT " SCOPE_COLUMNS " FROM scope INDEXED BY scope_name"                              \
      " WHERE noun = ?1 AND name = ?2", "scope_name")                                          \
    X(SCOPE_ADD,                                                                               \
      "INSERT INTO scope(" SCOPE_COLUMNS ") VALUES(NULL, ?2, ?3, ?4, ?5, ?6, ?7,"              \
      " ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23,"         \
      " ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35, ?36, ?37, ?38, ?39,"       \
      " ?40, ?41, ?42, ?43, ?44, ?45, ?46, ?47, ?48, ?49, ?50, ?51, ?52, NULL)", NULL)         \
    X(SCOPE_CHANGE,                                                                            \
      "UPDATE scope SET epoch = ?4, version = ?5, clock_ms = ?6, due_ms = ?7,"                 \
      " c0 = ?8, c1 = ?9, c2 = ?10, c3 = ?11, c4 = ?12, c5 = ?13, c6 = ?14, c7 = ?15,"         \
      " c8 = ?16, c9 = ?17, c10 = ?18, c11 = ?19, c12 = ?20, c13 = ?21, c14 = ?22, c15 = ?23,"  \
      " c16 = ?24, c17 = ?25, c18 = ?26, c19 = ?27, c20 = ?28, c21 = ?29, c22 = ?30, c23 = ?31" \
      " WHERE ref = ?1", "rowid")                                                              \
    X(SCOPE_SET,                                                                               \
      "UPDATE scope SET s0 = ?32, s1 = ?33, s2 = ?34, s3 = ?35, s4 = ?36, s5 = ?37, s6 = ?38,"  \
      " s7 = ?39, s8 = ?40, s9 = ?41, s10 = ?42, s11 = ?43, s12 = ?44, s13 = ?45, s14 = ?46,"   \
      " s15 = ?47, s16 = ?48, s17 = ?49, s18 = ?50, s19 = ?51 WHERE ref = ?1", "rowid")        \
    X(SCOPE_TAKE, "UPDATE scope SET writer = ?2, gaps = ?3 WHERE ref = ?1", "rowid")           \
    X(SCOPE_ERASE, "DELETE FROM scope WHERE ref = ?1", "rowid")                                \
    X(SCOPE_EACH,                                                                              \
      "SELECT " SCOPE_COLUMNS " FROM scope INDEXED BY scope_name"                              \
      " WHERE noun BETWEEN ?1 AND ?2 ORDER BY noun, name", "scope_name")                       \
    X(SCOPE_AFTER,                                                                             \
      "SELECT " SCOPE_COLUMNS " FROM scope INDEXED BY scope_name"                              \
      " WHERE noun = ?1 AND name > ?2 ORDER BY name", "scope_name")                            \
                                                                                               \
    X(FIND,                                                                                    \
      "SELECT " RECORD_COLUMNS " FROM record INDEXED BY record_id"                             \
      " WHERE list = ?1 AND id = ?3", "record_id")                              \
    X(NEXT,                                                                                    \
      "SELECT " RECORD_COLUMNS " FROM record INDEXED BY record_id"                             \
      " WHERE list = ?1 AND id > ?3 ORDER BY id", "record_id")                  \
    X(EACH,                                                                                    \
      "SELECT " RECORD_COLUMNS " FROM record INDEXED BY record_id"                             \
      " WHERE list BETWEEN ?1 AND ?2 ORDER BY list, id", "record_id")                                      \
                                                                                               \
    WALKS(X, READY, "record_ready", "slots & 1", "rank", "ord", "grp")                         \
    WALKS(X, DUE, "record_due", "due IS NOT NULL", "until_ms", "due", "grp")                   \
    WALKS_HELD(X, HELD, "record_held", "slots & 4")                                            \
    WALKS_HELD(X, HELD_BY, "record_held_by", "slots & 4 AND owner = ?5")                       \
                                                                                               \
    /* of a list of ready records by group, those from (?6, ?7) to before (?3, ?4) */           \
    X(RANK,                                                                                    \
      "SELECT 1 FROM record INDEXED BY record_ready_by WHERE list = ?1 AND slots & 1"          \
      " AND grp = ?5 AND (rank, ord) >= (?6, ?7) AND (rank, ord) < (?3, ?4)",                  \
      "record_ready_by")                                                                       \
    X(RANK_FROM,                                                                               \
      "SELECT rank, ord FROM record INDEXED BY record_ready_by WHERE list = ?1 AND slots & 1"  \
      " AND grp = ?5 AND (rank, ord) >= (?6, ?7) ORDER BY rank, ord", "record_ready_by")       \
    X(READ, "SELECT " RECORD_COLUMNS " FROM record WHERE ref = ?1", "rowid")                   \
    X(PLACES,                                                                                  \
      "SELECT hi, ord, n FROM place WHERE list = ?1 AND grp = ?5 AND (hi, ord) <= (?3, ?4)"    \
      " ORDER BY hi, ord", "primary key")                                                      \
    X(PLACE,                                                                                   \
      "SELECT hi, ord, n FROM place WHERE list = ?1 AND grp = ?5 AND (hi, ord) <= (?3, ?4)"    \
      " ORDER BY hi DESC, ord DESC", "primary key")                                            \
    X(PLACE_EACH,                                                                              \
      "SELECT grp, hi, ord, n FROM place WHERE list = ?1 ORDER BY grp, hi, ord",               \
      "primary key")                                                                           \
    X(PLACE_ADD, "INSERT INTO place VALUES(?1, ?5, ?3, ?4, ?6)", NULL)                         \
    X(PLACE_CHANGE,                                                                            \
      "UPDATE place SET n = ?6 WHERE list = ?1 AND grp = ?5 AND hi = ?3 AND ord = ?4",         \
      "primary key")                                                                           \
    X(PLACE_ERASE,                                                                             \
      "DELETE FROM place WHERE list = ?1 AND grp = ?5 AND hi = ?3 AND ord = ?4", "primary key") \
                                                                                               \
    /* in the order of (slot, by) */                                                           \
    X(READY_ENTRIES, ENTRIES("record_ready", "slots & 1", "rank", "ord", "NULL"), "record_ready")     \
    X(READY_BY_ENTRIES,                                                                        \
      ENTRIES("record_ready_by", "slots & 1 AND grp IS NOT NULL", "rank", "ord", "grp"),              \
      "record_ready_by")                                                                       \
    X(DUE_ENTRIES, ENTRIES("record_due", "due IS NOT NULL", "until_ms", "due", "NULL"), "record_due")       \
    X(DUE_BY_ENTRIES,                                                                          \
      ENTRIES("record_due_by", "due IS NOT NULL AND grp IS NOT NULL", "until_ms", "due", "grp"),            \
      "record_due_by")                                                                         \
    X(HELD_ENTRIES, ENTRIES("record_held", "slots & 4", "0", "ord", "NULL"), "record_held")           \
    X(HELD_BY_ENTRIES,                                                                         \
      ENTRIES("record_held_by", "slots & 4 AND owner IS NOT NULL", "0", "ord", "owner"),              \
      "record_held_by")                                                                        \
                                                                                               \
    X(VISIT_ADD, USHER__VISIT_ADD, NULL)                                                       \
    /* of a queue, ?2 name and ?3 epoch, the visits that it keeps, ?1, whose rows say otherwise */\
    X(VISITS_DIFFER,                                                                           \
      "SELECT 1 FROM record r INDEXED BY record_ready CROSS JOIN visit v"                      \
      " WHERE r.list = ?1 AND r.slots & 1 AND v.queue = ?2 AND v.epoch = printf('%016x', ?3)"  \
      " AND v.version = r.ord AND"                                                             \
      " (v.user, v.lane, v.priority, v.since_ms, v.applied_ms, v.outcome, v.agent, v.room,"    \
      " v.seated_ms, v.ended_ms, v.wait_ms, v.talk_ms) IS NOT"                                 \
      " (r.grp, CAST(r.data AS TEXT), r.n0, r.n1, r.n2,"                                       \
      " CASE r.state WHEN 1 THEN 'seated' WHEN 2 THEN 'left' WHEN 3 THEN 'lost'"               \
      " WHEN 4 THEN 'timeout' WHEN 5 THEN 'dropped' WHEN 6 THEN 'cut' WHEN 7 THEN 'freed'"  \
      " WHEN 8 THEN 'requeued' END, r.owner,"                                                  \
      " CASE WHEN r.n6 <> 0 THEN v.epoch || '.' || r.n5 || '.' || r.n6 END,"                    \
      " CASE WHEN r.state IN (2, 3, 4) THEN NULL ELSE r.n3 END, r.n4,"                         \
      " max(CASE WHEN r.state IN (2, 3, 4) THEN r.n4 ELSE r.n3 END - r.n2, 0),"                \
      " CASE WHEN r.state IN (2, 3, 4) THEN 0 ELSE max(r.n4 - r.n3, 0) END)",                  \
      "record_ready, and sqlite_autoindex_visit_1")                                            \
                                                                                               \
    X(ADD,                                                                                     \
      "INSERT INTO record(" RECORD_COLUMNS ")"                                                 \
      " VALUES(NULL, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)", NULL) \
    X(ERASE, "DELETE FROM record WHERE ref = ?1", "rowid")                                     \
    /* Naming an indexed column has its price even where it stays as it is: a change takes     \
     * the shortest of these that says it. */                                                  \
    X(CHANGE_PLAIN,                                                                            \
      "UPDATE record SET state = ?3, token = ?7, n0 = ?9, n1 = ?10, n2 = ?11, n3 = ?12,"       \
      " n4 = ?17, n5 = ?18, n6 = ?19, n7 = ?20 WHERE ref = ?1", "rowid")                                                              \
    X(CHANGE_UNTIL,                                                                            \
      "UPDATE record SET state = ?3, token = ?7, until_ms = ?8, n0 = ?9, n1 = ?10, n2 = ?11,"  \
      " n3 = ?12, n4 = ?17, n5 = ?18, n6 = ?19, n7 = ?20 WHERE ref = ?1", "rowid")                                                     \
    X(CHANGE_LISTS,                                                                            \
      "UPDATE record SET state = ?3, slots = ?4, rank = ?5, ord = ?6, token = ?7,"             \
      " n0 = ?9, n1 = ?10, n2 = ?11, n3 = ?12, n4 = ?17, n5 = ?18,"                            \
      " n6 = ?19, n7 = ?20, owner = ?14 WHERE ref = ?1", "rowid")                              \
    X(CHANGE_LISTS_DUE,                                                                        \
      "UPDATE record SET state = ?3, slots = ?4, rank = ?5, ord = ?6, token = ?7,"             \
      " until_ms = ?8, due = ?21, n0 = ?9, n1 = ?10, n2 = ?11, n3 = ?12, n4 = ?17, n5 = ?18,"  \
      " n6 = ?19, n7 = ?20, owner = ?14 WHERE ref = ?1", "rowid")                              \
    X(CHANGE_ALL,                                                                              \
      "UPDATE record SET state = ?3, slots = ?4, rank = ?5, ord = ?6, token = ?7,"             \
      " until_ms = ?8, due = ?21, n0 = ?9, n1 = ?10, n2 = ?11, n3 = ?12, n4 = ?17, n5 = ?18,"  \
      " n6 = ?19, n7 = ?20, owner = ?14, grp = ?15, data = ?16 WHERE ref = ?1", "rowid")

/* NOLINTEND(bugprone-suspicious-missing-comma) */
/* clang-format on */

#endif
