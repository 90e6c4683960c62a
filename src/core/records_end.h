/* SPDX-License-Identifier: MIT */
/* Last of all in NOUN_records.def. */
#undef SCOPE
#undef RECORD
#undef N
#undef AS
#undef ALSO
#undef COUNT
#undef FIGURE
