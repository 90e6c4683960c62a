-- SPDX-License-Identifier: MIT
--
-- The command that publishes (setting `push`).  Since Redis 7, which also has acl_check_cmd, a channel on a
-- cluster has a slot, that of the scope.  Without the right to INFO: clients of a cluster have that to CLUSTER SLOTS.
local info = redis.acl_check_cmd and redis.pcall('INFO', 'cluster')
local slots = type(info) == 'table' and redis.pcall('CLUSTER', 'SLOTS')
local publisher = (slots and not slots.err or type(info) == 'string' and string.find(info, 'cluster_enabled:1', 1, true))
    and 'SPUBLISH' or 'PUBLISH'
