/* SPDX-License-Identifier: MIT */
/* The first line of NOUN_verbs.def: rows that the including file does not define expand to nothing.
 */
#ifndef ARG
#define ARG(name, word, type, field, given, min, max, words, standard, help)
#endif
#ifndef VERB
#define VERB(name, word, order, keys, flags, help)
#endif
#ifndef OUT
#define OUT(type, member, field, verbs)
#endif
#ifndef EXTRA
#define EXTRA(verb, type, member, field)
#endif
#ifndef ROW_VIEW
#define ROW_VIEW(type, member, field, verbs)
#endif
#ifndef VIEW
#define VIEW(type, member, field, verbs)
#endif
#ifndef NOTICE_SUBJECT
#define NOTICE_SUBJECT(kind, name, state, owner)
#endif
#ifndef NOTICE_DATA
#define NOTICE_DATA(field)
#endif
#ifndef ROW
#define ROW(type, member, field, verbs)
#endif
#ifndef ECHO
#define ECHO(arg, field, verbs)
#endif
#ifndef KEY
#define KEY(verbs, on, as, field, key, none, when)
#endif
#ifndef KEYS
#define KEYS(verbs, on, ...)
#endif
#ifndef ROW_KEY
#define ROW_KEY(verbs, as, field, key, none, when)
#endif
#ifndef ROW_KEYS
#define ROW_KEYS(verbs, ...)
#endif
