-- SPDX-License-Identifier: MIT
--
-- The part of direct_json.lua for numbers: see src/engine/number_hooks.c.
function J.subject() return K.SUBJECT_NUMBER end
