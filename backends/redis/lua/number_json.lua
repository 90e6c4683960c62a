-- SPDX-License-Identifier: MIT
--
-- The part of direct_json.lua for numbers: see src/nouns/number/number_hooks.c.
function J.subject() return K.SUBJECT_NUMBER end
