/* SPDX-License-Identifier: MIT */
/* Made by src/api/gen_fields.py: the records as views, for people.  See docs/sqlite-file.md. */
#ifndef USHER_SQLITE_VIEWS_H
#define USHER_SQLITE_VIEWS_H

/* clang-format off */
#define USHER__RECORD_VIEWS                                                                    \
    "CREATE VIEW number_number AS SELECT s.name AS \"pool\", r.id AS \"number\", CASE r.state" \
    " WHEN 0 THEN 'nodata' WHEN 1 THEN 'idle+down' WHEN 2 THEN 'idle+up' WHEN 3 THEN "         \
    "'busy+down' WHEN 4 THEN 'busy+up' END AS \"state\", r.grp AS \"group\", r.owner AS "      \
    "\"owner\", CAST(r.data AS TEXT) AS \"node\", r.ord AS \"order\", r.token AS \"token\", "  \
    "strftime('%Y-%m-%d %H:%M:%f', nullif(r.until_ms, 0) / 1000.0, 'unixepoch') AS \"until\"," \
    " r.n0 AS \"calls\", date(nullif(r.n1, 0) * 86400, 'unixepoch') AS \"calls_day\", "        \
    "strftime('%Y-%m-%d %H:%M:%f', nullif(r.n2, 0) / 1000.0, 'unixepoch') AS \"used\", r.n3 "  \
    "AS \"lease\" FROM scope s JOIN record r ON r.list = s.ref * 16 + 1 WHERE s.noun = 1;"     \
    "CREATE VIEW number_group AS SELECT s.name AS \"pool\", r.id AS \"group\", r.ord AS "      \
    "\"order\", r.token AS \"token\", strftime('%Y-%m-%d %H:%M:%f', nullif(r.until_ms, 0) / "  \
    "1000.0, 'unixepoch') AS \"until\", r.n0 AS \"total\", r.n1 AS \"busy_up\", r.n2 AS "      \
    "\"resting\" FROM scope s JOIN record r ON r.list = s.ref * 16 + 2 WHERE s.noun = 1;"      \
    "CREATE VIEW number_sticky AS SELECT s.name AS \"pool\", r.id AS \"peer\", r.owner AS "    \
    "\"number\", r.ord AS \"order\", r.token AS \"token\", strftime('%Y-%m-%d %H:%M:%f', "     \
    "nullif(r.until_ms, 0) / 1000.0, 'unixepoch') AS \"until\" FROM scope s JOIN record r ON " \
    "r.list = s.ref * 16 + 3 WHERE s.noun = 1;"                                                \
    "CREATE VIEW number_past AS SELECT s.name AS \"pool\", r.id AS \"number\", r.ord AS "      \
    "\"order\", r.token AS \"token\", strftime('%Y-%m-%d %H:%M:%f', nullif(r.until_ms, 0) / "  \
    "1000.0, 'unixepoch') AS \"until\", r.n0 AS \"calls\", date(nullif(r.n1, 0) * 86400, "     \
    "'unixepoch') AS \"calls_day\", strftime('%Y-%m-%d %H:%M:%f', nullif(r.n2, 0) / 1000.0, "  \
    "'unixepoch') AS \"used\" FROM scope s JOIN record r ON r.list = s.ref * 16 + 5 WHERE "    \
    "s.noun = 1;"                                                                              \
    "CREATE VIEW number_node AS SELECT s.name AS \"pool\", r.id AS \"number\", r.owner AS "    \
    "\"node\", r.ord AS \"order\", r.token AS \"token\", strftime('%Y-%m-%d %H:%M:%f', "       \
    "nullif(r.until_ms, 0) / 1000.0, 'unixepoch') AS \"until\" FROM scope s JOIN record r ON " \
    "r.list = s.ref * 16 + 6 WHERE s.noun = 1;"                                                \
    "CREATE VIEW number_day AS SELECT s.name AS \"pool\", r.id AS \"day\", r.ord AS "          \
    "\"order\", r.token AS \"token\", strftime('%Y-%m-%d %H:%M:%f', nullif(r.until_ms, 0) / "  \
    "1000.0, 'unixepoch') AS \"until\", r.n0 AS \"capped\" FROM scope s JOIN record r ON "     \
    "r.list = s.ref * 16 + 8 WHERE s.noun = 1;"                                                \
    "CREATE VIEW request AS SELECT CASE s.noun WHEN 1 THEN 'number' END AS noun, s.name AS "   \
    "name, r.id AS request, CAST(r.data AS TEXT) AS answer, strftime('%Y-%m-%d %H:%M:%f', "    \
    "nullif(r.until_ms, 0) / 1000.0, 'unixepoch') AS until FROM scope s JOIN record r ON "     \
    "r.list = s.ref * 16 + 4;"                                                                 \
    "CREATE VIEW change AS SELECT CASE s.noun WHEN 1 THEN 'number' END AS noun, s.name AS "    \
    "name, CAST(r.id AS INTEGER) AS version, r.n0 AS before, r.data AS notice FROM scope s "   \
    "JOIN record r ON r.list = s.ref * 16 + CASE s.noun WHEN 1 THEN 7 END;"
/* clang-format on */

#endif
