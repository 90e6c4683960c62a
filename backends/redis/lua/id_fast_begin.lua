-- SPDX-License-Identifier: MIT
--
-- Variables of the fast path: the settings, and texts that are the same for many commands.
local sets, stop_text, stop_of
