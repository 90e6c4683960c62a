/* SPDX-License-Identifier: MIT */
/*
 * The first line of NOUN_records.def: the records of a noun, with the names that C, Lua, SQL and
 * the documents use.  Rows that the including file does not define expand to nothing.
 *
 * SCOPE(word)
 *     The name of a scope's column in the views of SQLite.
 * RECORD(name, code, word, states, id, group, owner, data, text)
 *     A kind, KIND_NAME.  @states is a table of src/core, or words by code; @id to @data are what
 *     these texts are ("": always empty, or packed).
 * N(kind, name, at, type, word, min, max, text)
 *     A number of a record: record.n[at].  usher__record_n_valid() has the types.
 * AS(kind, name, at, type, word, min, max, text)
 *     The same number in another kind.
 * ALSO(kind, name, at, text)
 *     Another name of the place, for records of @kind in some states.
 * COUNT(name, at, text)
 *     scope.counts[at] is COUNT_NAME, K.COUNT_NAME in Lua.  A state's count has no row.
 * FIGURE(name, at, text)
 *     A number of packed data; Lua counts them from 1.
 *
 * backends/redis/embed-lua.sh and src/api/gen_fields.py read the rows as text: each begins a line.
 */
#ifndef SCOPE
#define SCOPE(word)
#endif
#ifndef RECORD
#define RECORD(name, code, word, states, id, group, owner, data, text)
#endif
#ifndef N
#define N(kind, name, at, type, word, min, max, text)
#endif
#ifndef AS
#define AS(kind, name, at, type, word, min, max, text)
#endif
#ifndef ALSO
#define ALSO(kind, name, at, text)
#endif
#ifndef COUNT
#define COUNT(name, at, text)
#endif
#ifndef FIGURE
#define FIGURE(name, at, text)
#endif
