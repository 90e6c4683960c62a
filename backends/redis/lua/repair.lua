-- SPDX-License-Identifier: MIT
--
-- One step of the repair of a scope (`check --repair`); a script of its own.  The first step appends a lock
-- of 16 bytes, MARK, to the header, so that all other commands on the scope are refused (dispatch.lua).  Each
-- further step does nothing unless the lock and all keys are still there, so if two clients repair the
-- scope, only the one that began last continues.  The last step removes the lock.  A step has at most a
-- thousand members, so it does not block the server.
--   begin MARK PERMANENT     lock the scope and create missing lists.  Returns which keys existed before, and
--                            the number of permanent members added.
--   put MARK 2|3 ZADD|ZREM MEMBER …   write members of a list (with scores for ZADD)
--   end MARK HEAD            write the new header, without the lock
--   look                     return which keys exist
--   drop                     remove the lists of a scope that has no hash
local call, op, mark = redis.call, ARGV[1], ARGV[2]
local SIZE = 213 -- of a header
local function there(key) return call('EXISTS', key) end
local head = call('HGET', KEYS[1], 'head')
local marked = head and #head == SIZE + 16
-- the tombstone of a dropped scope
local gone = not head and call('HGET', KEYS[1], 'gone')
if op == 'look' then return {gone and 0 or there(KEYS[1]), there(KEYS[2]), there(KEYS[3]), head and 1 or 0} end
if op == 'drop' then return {(gone or there(KEYS[1]) == 0) and call('DEL', KEYS[2], KEYS[3]) or 0} end
if op == 'begin' then
    if not head or #head ~= SIZE and not marked then return {0} end
    local was = {1, there(KEYS[2]), there(KEYS[3])}
    call('HSET', KEYS[1], 'head', string.sub(head, 1, SIZE) .. mark)
    was[4] = call('ZADD', KEYS[2], '0', '!') + call('ZADD', KEYS[3], '0', ARGV[3])
    return was
end
if not marked or string.sub(head, SIZE + 1) ~= mark or call('EXISTS', KEYS[2], KEYS[3]) ~= 2 then return {0} end
if op == 'put' then
    call(ARGV[4], KEYS[tonumber(ARGV[3])], unpack(ARGV, 5))
else
    call('HSET', KEYS[1], 'head', ARGV[3])
end
return {1}
