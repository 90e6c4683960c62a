-- SPDX-License-Identifier: MIT
--
-- The beginning of every script; the head comment of common.lua describes the whole script.  make()
-- contains the functions for all commands.  They are made only when a command needs them, because
-- making them takes long; the commonest commands do not need them (number_fast.lua).
local call, spack, sunpack, munpack, mpack, sub, byte, char = redis.call, struct.pack, struct.unpack,
    cmsgpack.unpack, cmsgpack.pack, string.sub, string.byte, string.char
local HASH, INDEX, HELD = KEYS[1], KEYS[2], KEYS[3]
local S = {}

local function make()
