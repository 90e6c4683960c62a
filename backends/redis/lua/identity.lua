-- SPDX-License-Identifier: MIT
--
-- The identity of this server as a number: the first 12 digits of its replication id, which changes with each
-- start and each promotion.  0 if the user has no right to INFO.
local info = redis.pcall('INFO', 'replication')
local id = tonumber(sub(type(info) == 'string' and string.match(info, 'master_replid:(%x+)') or '0', 1, 12), 16)
