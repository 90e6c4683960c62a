-- SPDX-License-Identifier: MIT
--
-- The index of rooms has no table of keys: its answers have the names that they have without json=1.
J.is_listed = true
