-- SPDX-License-Identifier: MIT
--
-- Checks the user's rights before the first write, because each command of the script checks its own:
-- a command that is refused in the middle of a change leaves half of the change.
--
-- The first call on a connection names what is checked: the rights to read, or to write as well.  A
-- direct call is checked for reading here, and for writing when something is to be written (S.apply()).
--
-- A question is a whole sample call: servers since the fix of March 2026 reject a sample with the wrong
-- number of arguments.  A question that raises an error is no answer, and the script continues.
-- Redis 6.2 has no such function.  TIME is not among them: dispatch.lua continues without it.
local asked = by_hand and 'read' or ARGV[2] or ''
if asked ~= '' and redis.acl_check_cmd then
    local function lacks(calls)
        for k = 1, #calls do
            local a = calls[k]
            local good, may = pcall(redis.acl_check_cmd, unpack(a))
            if good and not may then
                return 'NOPERM the user lacks the right to ' .. a[1] .. (a[2] and ' on ' .. a[2] or '')
            end
        end
    end
    local to_read = {{'EXISTS', INDEX}, {'EXISTS', HELD}, {'HGET', HASH, 'head'}, {'HMGET', HASH, 'head'},
        {'ZRANGEBYLEX', INDEX, '-', '+'}, {'ZRANGEBYLEX', HELD, '-', '+'}, {'ZREVRANGEBYLEX', INDEX, '+', '-'},
        {'ZREVRANGEBYLEX', HELD, '+', '-'}}
    local to_write = {{'HDEL', HASH, 'head'}, {'HSET', HASH, 'head', ''}, {'ZADD', INDEX, '0', '!'},
        {'ZADD', HELD, '0', '!'}, {'ZREM', INDEX, '!'}, {'ZREM', HELD, '!'}}
    if K.NOUN == 'queue' then
        to_read[9], to_read[10] = {'ZLEXCOUNT', INDEX, '-', '+'}, {'ZLEXCOUNT', HELD, '-', '+'}
    elseif K.NOUN == 'room' or K.NOUN == 'rooms' then
        to_write[7], to_write[8], to_write[9] = {'DEL', HASH}, {'DEL', INDEX}, {'DEL', HELD}
    end
    local why = lacks(to_read) or asked == 'write' and lacks(to_write)
    if why then return {err = why} end
    if by_hand then
        function S.lacks() return lacks(to_write) end
    end
end
