-- SPDX-License-Identifier: MIT
--
-- The beginning of every script; common.lua tells the whole.  What stands in make() are the
-- functions for any command.  They are made when a command needs them, for to make them is
-- dear: those that are asked for most do without (number_fast.lua).
local call, spack, sunpack, munpack, mpack, sub, byte, char = redis.call, struct.pack, struct.unpack,
    cmsgpack.unpack, cmsgpack.pack, string.sub, string.byte, string.char
local HASH, INDEX, HELD = KEYS[1], KEYS[2], KEYS[3]
local S = {}

local function make()
