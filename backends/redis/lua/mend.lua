-- SPDX-License-Identifier: MIT
--
-- A script of its own, for `check --repair`: one step of mending a scope.  The first step puts a mark
-- behind the header, which keeps all other commands out (main.lua); each further one does nothing
-- unless it is still there, and the keys are, so of two who mend only the last one to begin does; the
-- last step takes it off again.  A step is a thousand members at most, so the server is never held up.
--   begin MARK PERMANENT     the two keys are there behind it; which were before, how many members are new
--   put MARK 2|3 ZADD|ZREM MEMBER …   ZADD: with scores
--   end MARK HEAD
--   look                     which keys there are
--   drop                     what is left of a scope that has no hash
local call, op, mark = redis.call, ARGV[1], ARGV[2]
local function there(key) return call('EXISTS', key) end
local head = call('HGET', KEYS[1], 'head')
local marked = head and #head == 201
-- all that is left of one that was dropped
local gone = not head and call('HGET', KEYS[1], 'gone')
if op == 'look' then return {gone and 0 or there(KEYS[1]), there(KEYS[2]), there(KEYS[3]), head and 1 or 0} end
if op == 'drop' then return {(gone or there(KEYS[1]) == 0) and call('DEL', KEYS[2], KEYS[3]) or 0} end
if op == 'begin' then
    if not head or #head ~= 185 and not marked then return {0} end
    local was = {1, there(KEYS[2]), there(KEYS[3])}
    call('HSET', KEYS[1], 'head', string.sub(head, 1, 185) .. mark)
    was[4] = call('ZADD', KEYS[2], '0', '!') + call('ZADD', KEYS[3], '0', ARGV[3])
    return was
end
if not marked or string.sub(head, 186) ~= mark or call('EXISTS', KEYS[2], KEYS[3]) ~= 2 then return {0} end
if op == 'put' then
    call(ARGV[4], KEYS[tonumber(ARGV[3])], unpack(ARGV, 5))
else
    call('HSET', KEYS[1], 'head', ARGV[3])
end
return {1}
