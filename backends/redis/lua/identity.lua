-- SPDX-License-Identifier: MIT
--
-- Which server this is, as a number: the beginning of its replication id, which is another one after
-- each start and each promotion.  0: the user may not ask.
local info = redis.pcall('INFO', 'replication')
local id = tonumber(sub(type(info) == 'string' and string.match(info, 'master_replid:(%x+)') or '0', 1, 12), 16)
