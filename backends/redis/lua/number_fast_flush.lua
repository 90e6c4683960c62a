-- SPDX-License-Identifier: MIT
--
-- Write the changes of the lists that the fast path has collected.  Members are added first and removed then,
-- so a member that was both added and removed is out of the list.  A removed member is never added again,
-- because members contain their version.
if ready then
    local refused = hm > 0 and redis.pcall('ZADD', HELD, unpack(ha, 1, hm))
    if type(refused) == 'table' then
        -- Do not repeat the write on a replica.
        if string.find(refused.err, 'READONLY ', 1, true) then return refused end
        if not made then make() end
        if S.when_full(refused.err, all, n_commands) then call('ZREM', HELD, '') end
        call('ZADD', HELD, unpack(ha, 1, hm))
    end
    if hn > 0 then call('ZREM', HELD, unpack(hz, 1, hn)) end
    if rm > 0 then call('ZADD', INDEX, unpack(ra, 1, rm)) end
    if rn > 0 then call('ZREM', INDEX, unpack(rz, 1, rn)) end
    count[K.NUMBER_IDLE_UP + 1], count[K.NUMBER_BUSY_UP + 1] = count[K.NUMBER_IDLE_UP + 1] + back - given,
        count[K.NUMBER_BUSY_UP + 1] + given - back
    if given > 0 then count[K.COUNT_CALLS + 1] = count[K.COUNT_CALLS + 1] + given end
    ready, idle, given, back = false, nil, 0, 0
end
