-- SPDX-License-Identifier: MIT
--
-- The room directory has no table of keys: its answers have the same names as without json=1.
J.is_listed = true
