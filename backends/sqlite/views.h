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
    "CREATE VIEW number_reason AS SELECT s.name AS \"pool\", r.id AS \"mode\", CAST(r.data AS" \
    " TEXT) AS \"text\", r.ord AS \"order\", r.token AS \"token\", strftime('%Y-%m-%d "        \
    "%H:%M:%f', nullif(r.until_ms, 0) / 1000.0, 'unixepoch') AS \"until\" FROM scope s JOIN "  \
    "record r ON r.list = s.ref * 16 + 9 WHERE s.noun = 1;"                                    \
    "CREATE VIEW queue_agent AS SELECT s.name AS \"queue\", r.id AS \"agent\", CASE r.state "  \
    "WHEN 0 THEN 'gone' WHEN 1 THEN 'idle' WHEN 2 THEN 'offered' WHEN 3 THEN 'busy' WHEN 4 "   \
    "THEN 'wrapup' WHEN 5 THEN 'paused' END AS \"state\", r.ord AS \"order\", r.token AS "     \
    "\"token\", strftime('%Y-%m-%d %H:%M:%f', nullif(r.until_ms, 0) / 1000.0, 'unixepoch') AS" \
    " \"until\", r.n0 AS \"capacity\", r.n1 AS \"seated\", strftime('%Y-%m-%d %H:%M:%f', "     \
    "nullif(r.n2, 0) / 1000.0, 'unixepoch') AS \"beat\", r.n3 AS \"served\", "                 \
    "strftime('%Y-%m-%d %H:%M:%f', nullif(r.n4, 0) / 1000.0, 'unixepoch') AS \"wrapup\", r.n5" \
    " AS \"level\", r.n6 AS \"offers\", strftime('%Y-%m-%d %H:%M:%f', nullif(r.n7, 0) / "      \
    "1000.0, 'unixepoch') AS \"state_since\" FROM scope s JOIN record r ON r.list = s.ref * "  \
    "16 + 1 WHERE s.noun = 2;"                                                                 \
    "CREATE VIEW queue_link AS SELECT s.name AS \"queue\", r.id AS \"link\", r.grp AS "        \
    "\"lane\", r.owner AS \"agent\", r.ord AS \"order\", r.token AS \"token\", "               \
    "strftime('%Y-%m-%d %H:%M:%f', nullif(r.until_ms, 0) / 1000.0, 'unixepoch') AS \"until\" " \
    "FROM scope s JOIN record r ON r.list = s.ref * 16 + 2 WHERE s.noun = 2;"                  \
    "CREATE VIEW queue_user AS SELECT s.name AS \"queue\", r.id AS \"user\", CASE r.state "    \
    "WHEN 0 THEN 'gone' WHEN 1 THEN 'waiting' WHEN 2 THEN 'offered' WHEN 3 THEN 'seated' WHEN" \
    " 4 THEN 'away' END AS \"state\", r.grp AS \"lane\", r.owner AS \"agent\", CAST(r.data AS" \
    " TEXT) AS \"refusals\", r.ord AS \"order\", r.token AS \"token\", strftime('%Y-%m-%d "    \
    "%H:%M:%f', nullif(r.until_ms, 0) / 1000.0, 'unixepoch') AS \"until\", strftime('%Y-%m-%d" \
    " %H:%M:%f', nullif(r.n0, 0) / 1000.0, 'unixepoch') AS \"since\", r.n1 AS \"priority\", "  \
    "strftime('%Y-%m-%d %H:%M:%f', nullif(r.n2, 0) / 1000.0, 'unixepoch') AS \"applied\", "    \
    "strftime('%Y-%m-%d %H:%M:%f', nullif(r.n3, 0) / 1000.0, 'unixepoch') AS \"beat\", "       \
    "strftime('%Y-%m-%d %H:%M:%f', nullif(r.n4, 0) / 1000.0, 'unixepoch') AS \"matched\", "    \
    "r.n5 AS \"room\", strftime('%Y-%m-%d %H:%M:%f', nullif(r.n6, 0) / 1000.0, 'unixepoch') "  \
    "AS \"ends\", strftime('%Y-%m-%d %H:%M:%f', nullif(r.n7, 0) / 1000.0, 'unixepoch') AS "    \
    "\"patience\" FROM scope s JOIN record r ON r.list = s.ref * 16 + 3 WHERE s.noun = 2;"     \
    "CREATE VIEW queue_absent AS SELECT s.name AS \"queue\", r.id AS \"agent\", CAST(r.data "  \
    "AS TEXT) AS \"reason\", r.ord AS \"order\", r.token AS \"token\", strftime('%Y-%m-%d "    \
    "%H:%M:%f', nullif(r.until_ms, 0) / 1000.0, 'unixepoch') AS \"until\", strftime('%Y-%m-%d" \
    " %H:%M:%f', nullif(r.n0, 0) / 1000.0, 'unixepoch') AS \"wrapup\" FROM scope s JOIN "      \
    "record r ON r.list = s.ref * 16 + 5 WHERE s.noun = 2;"                                    \
    "CREATE VIEW queue_lane AS SELECT s.name AS \"queue\", r.id AS \"lane\", CASE r.state "    \
    "WHEN 0 THEN 'lane' WHEN 1 THEN 'earlier' END AS \"state\", r.ord AS \"order\", r.token "  \
    "AS \"token\", strftime('%Y-%m-%d %H:%M:%f', nullif(r.until_ms, 0) / 1000.0, 'unixepoch')" \
    " AS \"until\", r.n0 AS \"waiting\", r.n1 AS \"offered\", r.n2 AS \"seated\", r.n3 AS "    \
    "\"away\" FROM scope s JOIN record r ON r.list = s.ref * 16 + 6 WHERE s.noun = 2;"         \
    "CREATE VIEW queue_visit AS SELECT s.name AS \"queue\", r.id AS \"version\", CASE r.state" \
    " WHEN 0 THEN 'none' WHEN 1 THEN 'seated' WHEN 2 THEN 'left' WHEN 3 THEN 'lost' WHEN 4 "   \
    "THEN 'timeout' WHEN 5 THEN 'dropped' WHEN 6 THEN 'cut' WHEN 7 THEN 'freed' WHEN 8 THEN "  \
    "'requeued' END AS \"state\", r.grp AS \"user\", r.owner AS \"agent\", CAST(r.data AS "    \
    "TEXT) AS \"lane\", r.ord AS \"order\", r.token AS \"token\", strftime('%Y-%m-%d "         \
    "%H:%M:%f', nullif(r.until_ms, 0) / 1000.0, 'unixepoch') AS \"until\", r.n0 AS "           \
    "\"priority\", strftime('%Y-%m-%d %H:%M:%f', nullif(r.n1, 0) / 1000.0, 'unixepoch') AS "   \
    "\"since\", strftime('%Y-%m-%d %H:%M:%f', nullif(r.n2, 0) / 1000.0, 'unixepoch') AS "      \
    "\"applied\", strftime('%Y-%m-%d %H:%M:%f', nullif(r.n3, 0) / 1000.0, 'unixepoch') AS "    \
    "\"seated\", strftime('%Y-%m-%d %H:%M:%f', nullif(r.n4, 0) / 1000.0, 'unixepoch') AS "     \
    "\"ended\", r.n5 AS \"login\", r.n6 AS \"room\", r.n7 AS \"token\" FROM scope s JOIN "     \
    "record r ON r.list = s.ref * 16 + 7 WHERE s.noun = 2;"                                    \
    "CREATE VIEW queue_refusal AS SELECT s.name AS \"queue\", r.id AS \"refusal\", CASE "      \
    "r.state WHEN 0 THEN 'refused' WHEN 1 THEN 'forgotten' WHEN 2 THEN 'search' WHEN 3 THEN "  \
    "'limits' WHEN 4 THEN 'reason' END AS \"state\", r.grp AS \"key\", r.owner AS \"agent\", " \
    "CAST(r.data AS TEXT) AS \"user\", r.ord AS \"order\", r.token AS \"token\", "             \
    "strftime('%Y-%m-%d %H:%M:%f', nullif(r.until_ms, 0) / 1000.0, 'unixepoch') AS \"until\"," \
    " strftime('%Y-%m-%d %H:%M:%f', nullif(r.n0, 0) / 1000.0, 'unixepoch') AS \"at\", r.n1 AS" \
    " \"search_order\", r.n2 AS \"search_refusals\" FROM scope s JOIN record r ON r.list = "   \
    "s.ref * 16 + 9 WHERE s.noun = 2;"                                                         \
    "CREATE VIEW room_member AS SELECT s.name AS \"room\", r.id AS \"member\", CASE r.state "  \
    "WHEN 0 THEN 'absent' WHEN 1 THEN 'here' WHEN 2 THEN 'away' WHEN 3 THEN 'offline' WHEN 4 " \
    "THEN 'banned' END AS \"state\", r.ord AS \"order\", r.token AS \"token\", "               \
    "strftime('%Y-%m-%d %H:%M:%f', nullif(r.until_ms, 0) / 1000.0, 'unixepoch') AS \"until\"," \
    " strftime('%Y-%m-%d %H:%M:%f', nullif(r.n0, 0) / 1000.0, 'unixepoch') AS \"joined\", "    \
    "r.n1 AS \"roles\", r.n2 AS \"shares\" FROM scope s JOIN record r ON r.list = s.ref * 16 " \
    "+ 1 WHERE s.noun = 3;"                                                                    \
    "CREATE VIEW room_field AS SELECT s.name AS \"room\", r.id AS \"field\", CAST(r.data AS "  \
    "TEXT) AS \"value\", r.ord AS \"order\", r.token AS \"token\", strftime('%Y-%m-%d "        \
    "%H:%M:%f', nullif(r.until_ms, 0) / 1000.0, 'unixepoch') AS \"until\" FROM scope s JOIN "  \
    "record r ON r.list = s.ref * 16 + 2 WHERE s.noun = 3;"                                    \
    "CREATE VIEW room_role AS SELECT s.name AS \"room\", r.id AS \"role\", r.owner AS "        \
    "\"member\", r.ord AS \"order\", r.token AS \"token\", strftime('%Y-%m-%d %H:%M:%f', "     \
    "nullif(r.until_ms, 0) / 1000.0, 'unixepoch') AS \"until\" FROM scope s JOIN record r ON " \
    "r.list = s.ref * 16 + 3 WHERE s.noun = 3;"                                                \
    "CREATE VIEW room_share AS SELECT s.name AS \"room\", r.id AS \"share\", r.owner AS "      \
    "\"member\", r.ord AS \"order\", r.token AS \"token\", strftime('%Y-%m-%d %H:%M:%f', "     \
    "nullif(r.until_ms, 0) / 1000.0, 'unixepoch') AS \"until\" FROM scope s JOIN record r ON " \
    "r.list = s.ref * 16 + 5 WHERE s.noun = 3;"                                                \
    "CREATE VIEW room_all_value AS SELECT s.name AS \"room\", r.id AS \"field\", CAST(r.data " \
    "AS TEXT) AS \"value\", r.ord AS \"order\", r.token AS \"token\", strftime('%Y-%m-%d "     \
    "%H:%M:%f', nullif(r.until_ms, 0) / 1000.0, 'unixepoch') AS \"until\" FROM scope s JOIN "  \
    "record r ON r.list = s.ref * 16 + 7 WHERE s.noun = 3;"                                    \
    "CREATE VIEW serial_rule AS SELECT s.name AS \"rule\", r.id AS \"rule\", r.ord AS "        \
    "\"order\", r.token AS \"token\", strftime('%Y-%m-%d %H:%M:%f', nullif(r.until_ms, 0) / "  \
    "1000.0, 'unixepoch') AS \"until\", r.n0 * 1000000000 + r.n1 AS \"granted\", r.n2 * "      \
    "1000000000 + r.n3 AS \"debt\", r.n5 AS \"store\" FROM scope s JOIN record r ON r.list = " \
    "s.ref * 16 + 1 WHERE s.noun = 4;"                                                         \
    "CREATE VIEW serial_fill AS SELECT s.name AS \"rule\", r.id AS \"fill\", r.ord AS "        \
    "\"order\", r.token AS \"token\", strftime('%Y-%m-%d %H:%M:%f', nullif(r.until_ms, 0) / "  \
    "1000.0, 'unixepoch') AS \"until\", r.n0 * 1000000000 + r.n1 AS \"last\", "                \
    "strftime('%Y-%m-%d %H:%M:%f', nullif(r.n2, 0) / 1000.0, 'unixepoch') AS \"filled\" FROM " \
    "scope s JOIN record r ON r.list = s.ref * 16 + 2 WHERE s.noun = 4;"                       \
    "CREATE VIEW serial_hold AS SELECT s.name AS \"rule\", r.id AS \"hold\", CASE r.state "    \
    "WHEN 0 THEN 'free' WHEN 1 THEN 'held' WHEN 2 THEN 'returned' WHEN 3 THEN 'confirmed' "    \
    "WHEN 4 THEN 'voided' WHEN 5 THEN 'lost' WHEN 6 THEN 'doubt' END AS \"state\", r.owner AS" \
    " \"owner\", r.ord AS \"order\", r.token AS \"token\", strftime('%Y-%m-%d %H:%M:%f', "     \
    "nullif(r.until_ms, 0) / 1000.0, 'unixepoch') AS \"until\", r.n0 * 1000000000 + r.n1 AS "  \
    "\"number\", r.n2 AS \"period\", strftime('%Y-%m-%d %H:%M:%f', nullif(r.n3, 0) / 1000.0, " \
    "'unixepoch') AS \"stamped\", r.n4 AS \"claim\" FROM scope s JOIN record r ON r.list = "   \
    "s.ref * 16 + 3 WHERE s.noun = 4;"                                                         \
    "CREATE VIEW serial_end AS SELECT s.name AS \"rule\", r.id AS \"place\", CASE r.state "    \
    "WHEN 0 THEN 'free' WHEN 1 THEN 'held' WHEN 2 THEN 'returned' WHEN 3 THEN 'confirmed' "    \
    "WHEN 4 THEN 'voided' WHEN 5 THEN 'lost' WHEN 6 THEN 'doubt' END AS \"state\", r.ord AS "  \
    "\"order\", r.token AS \"token\", strftime('%Y-%m-%d %H:%M:%f', nullif(r.until_ms, 0) / "  \
    "1000.0, 'unixepoch') AS \"until\", r.n0 * 1000000000 + r.n1 AS \"number\", r.n2 AS "      \
    "\"period\", strftime('%Y-%m-%d %H:%M:%f', nullif(r.n3, 0) / 1000.0, 'unixepoch') AS "     \
    "\"stamped\", r.n4 AS \"claim\" FROM scope s JOIN record r ON r.list = s.ref * 16 + 5 "    \
    "WHERE s.noun = 4;"                                                                        \
    "CREATE VIEW serial_lost AS SELECT s.name AS \"rule\", r.id AS \"lost\", CASE r.state "    \
    "WHEN 0 THEN 'free' WHEN 1 THEN 'held' WHEN 2 THEN 'returned' WHEN 3 THEN 'confirmed' "    \
    "WHEN 4 THEN 'voided' WHEN 5 THEN 'lost' WHEN 6 THEN 'doubt' END AS \"state\", r.ord AS "  \
    "\"order\", r.token AS \"token\", strftime('%Y-%m-%d %H:%M:%f', nullif(r.until_ms, 0) / "  \
    "1000.0, 'unixepoch') AS \"until\", r.n0 * 1000000000 + r.n1 AS \"first\", r.n2 AS "       \
    "\"period\", strftime('%Y-%m-%d %H:%M:%f', nullif(r.n3, 0) / 1000.0, 'unixepoch') AS "     \
    "\"stamped\", r.n4 * 1000000000 + r.n5 AS \"last\" FROM scope s JOIN record r ON r.list =" \
    " s.ref * 16 + 6 WHERE s.noun = 4;"                                                        \
    "CREATE VIEW serial_past AS SELECT s.name AS \"rule\", r.id AS \"past\", r.ord AS "        \
    "\"order\", r.token AS \"token\", strftime('%Y-%m-%d %H:%M:%f', nullif(r.until_ms, 0) / "  \
    "1000.0, 'unixepoch') AS \"until\", r.n0 * 1000000000 + r.n1 AS \"month\", r.n2 * "        \
    "1000000000 + r.n3 AS \"year\", r.n4 * 1000000000 + r.n5 AS \"ever\", r.n6 * 1000000000 +" \
    " r.n7 AS \"granted\" FROM scope s JOIN record r ON r.list = s.ref * 16 + 8 WHERE s.noun " \
    "= 4;"                                                                                     \
    "CREATE VIEW rooms_entry AS SELECT s.name AS \"partition\", r.id AS \"room\", CASE "       \
    "r.state WHEN 0 THEN '?' WHEN 1 THEN 'opening' WHEN 2 THEN 'open' WHEN 3 THEN 'doubted' "  \
    "WHEN 4 THEN 'closed' END AS \"state\", r.owner AS \"worker\", r.ord AS \"order\", "       \
    "r.token AS \"token\", strftime('%Y-%m-%d %H:%M:%f', nullif(r.until_ms, 0) / 1000.0, "     \
    "'unixepoch') AS \"until\", strftime('%Y-%m-%d %H:%M:%f', nullif(r.n0, 0) / 1000.0, "      \
    "'unixepoch') AS \"put\", strftime('%Y-%m-%d %H:%M:%f', nullif(r.n1, 0) / 1000.0, "        \
    "'unixepoch') AS \"claimed\" FROM scope s JOIN record r ON r.list = s.ref * 16 + 1 WHERE " \
    "s.noun = 6;"                                                                              \
    "CREATE VIEW request AS SELECT CASE s.noun WHEN 1 THEN 'number' WHEN 2 THEN 'queue' WHEN " \
    "3 THEN 'room' WHEN 4 THEN 'serial' WHEN 5 THEN 'id' WHEN 6 THEN 'rooms' END AS noun, "    \
    "s.name AS name, r.id AS request, CAST(r.data AS TEXT) AS answer, strftime('%Y-%m-%d "     \
    "%H:%M:%f', nullif(r.until_ms, 0) / 1000.0, 'unixepoch') AS until FROM scope s JOIN "      \
    "record r ON r.list = s.ref * 16 + 4;"                                                     \
    "CREATE VIEW change AS SELECT CASE s.noun WHEN 1 THEN 'number' WHEN 2 THEN 'queue' WHEN 3" \
    " THEN 'room' WHEN 4 THEN 'serial' WHEN 5 THEN 'id' WHEN 6 THEN 'rooms' END AS noun, "     \
    "s.name AS name, CAST(r.id AS INTEGER) AS version, r.n0 AS before, r.data AS notice FROM " \
    "scope s JOIN record r ON r.list = s.ref * 16 + CASE s.noun WHEN 1 THEN 7 WHEN 2 THEN 8 "  \
    "WHEN 3 THEN 6 WHEN 4 THEN 7 WHEN 5 THEN 7 END;"
/* clang-format on */

#endif
