-- SPDX-License-Identifier: MIT
--
-- The fast path's settings, and whether the cache has the records that came with the header.
local sets, cached
