/* SPDX-License-Identifier: MIT */
/* Last of all in NOUN_verbs.def. */
#undef ARG
#undef VERB
#undef OUT
#undef EXTRA
#undef ROW_VIEW
#undef NOTICE_SUBJECT
#undef NOTICE_DATA
#undef VIEW
#undef ROW
#undef ECHO
#undef KEY
#undef KEYS
#undef ROW_KEY
#undef ROW_KEYS
