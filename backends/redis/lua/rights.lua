-- SPDX-License-Identifier: MIT
--
-- Rights are asked before the first write, for each command looks at them for itself: one that is
-- refused in the middle of a change leaves half of it.  The first calls on a connection say what is to
-- be asked: what a call that reads needs, or one that writes.  Whoever types is asked as for a read,
-- and for the rest when something is to be written (S.apply()).  Redis 6.2 cannot be asked.
local asked = by_hand and 'read' or ARGV[2]
if asked and redis.acl_check_cmd then
    local keys = {D = {HASH, INDEX, HELD}, E = {INDEX, HELD}, H = {HASH}, T = {''}, Z = {INDEX, HELD}}
    local function lacks(commands)
        for word in string.gmatch(commands, '%u+') do
            for _, key in ipairs(keys[sub(word, 1, 1)]) do
                if not redis.acl_check_cmd(word, key) then
                    return 'NOPERM the user lacks the right to ' .. word .. (key == '' and '' or ' on ' .. key)
                end
            end
        end
    end
    local to_read = 'EXISTS HGET HMGET TIME ZRANGEBYLEX ZREVRANGEBYLEX' .. (K.NOUN == 'queue' and ' ZLEXCOUNT' or '')
    local to_write = 'HDEL HSET ZADD ZREM' .. ((K.NOUN == 'room' or K.NOUN == 'rooms') and ' DEL' or '')
    local why = lacks(to_read) or asked == 'write' and lacks(to_write)
    if why then return {err = why} end
    if by_hand then
        function S.lacks() return lacks(to_write) end
    end
end
