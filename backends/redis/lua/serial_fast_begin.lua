-- SPDX-License-Identifier: MIT
--
-- Variables of the fast path: the settings, the rule, and texts that are the same for many commands.
local sets, limit, rule, format_of, granted, max_text, left_text, cur_text, cur_of
