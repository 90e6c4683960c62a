-- SPDX-License-Identifier: MIT
--
-- The fast path of a heartbeat, inside the loop of dispatch.lua, without functions.  It runs when the member is
-- present and stays so, in the same lists, and the command has no request id, nothing is due and nothing is to
-- be published.  All other heartbeats are left to room.lua.  The old member of a list is removed before the new
-- one is added, because a server with a full memory accepts only this order.
if verb == K.V_ALIVE and not done and not made and not by_hand and not held and exists and all[p] < K.ARG_IF_VERSION
    and not all[p + 3] and (due < 0 or due > moment) and count[K.COUNT_STATE + 1] < K.ROOM_CLOSING
    and (count[K.COUNT_PUSHED + 1] >= 0 or now < -count[K.COUNT_PUSHED + 1]) then
    sets = sets or settings and {sunpack(K.SETTINGS_PACKED, settings)} or K.DEFAULTS
    if not cached then
        cached = true
        for c = 3, n_args do
            if cache[args[c]] == nil then cache[args[c]] = got[c] end
        end
    end
    local member = all[p + K.ARG_MEMBER]
    local field = K.KIND_MEMBER .. ':' .. member
    local text = cache[field]
    if text and byte(text, 11) == K.MEMBER_HERE and byte(text, 12) < 128 and sub(text, 69, 70) == '\0\0' then
        local slots, rank, order, token, ends = sunpack('>BI7c7c7I7', text, 12)
        local ttl, away, lists, with_due = sets[K.SET_TTL + 1], sets[K.SET_AWAY + 1], K.MEMBER_LISTS
        local at = (moment > rank or rank > wall) and moment or rank
        local till = ttl > 0 and at + ttl or 0
        if away > 0 and (ttl == 0 or away < ttl) then till = at + away end
        lists = (till > 0 and with_due or lists) / 8 ^ K.MEMBER_HERE % 8
        if (ends == 0 or ends > moment) and slots == lists - lists % 1 then
            if at ~= rank or till ~= ends then
                local behind = order .. member
                if slots % 2 == 1 and at ~= rank then
                    call('ZREM', INDEX, K.KIND_MEMBER .. '0' .. sub(text, 13, 19) .. behind)
                    call('ZADD', INDEX, '0', K.KIND_MEMBER .. '0' .. spack('>I7', at) .. behind)
                end
                if slots % 4 > 1 and till ~= ends then
                    call('ZREM', HELD, K.KIND_MEMBER .. '1' .. sub(text, 34, 40) .. behind)
                    call('ZADD', HELD, '0', K.KIND_MEMBER .. '1' .. spack('>I7', till) .. behind)
                end
                cache[field] = sub(text, 1, 12) .. spack('>I7c7c7I7', at, order, token, till) .. sub(text, 41)
                if not dirty[field] then
                    n_dirty = n_dirty + 1
                    dirty[field], dirty[n_dirty] = true, field
                end
                if slots % 4 > 1 and (due < 0 or till < due) then due = till end
                head_changed = true
            end
            local shown = version == first and last or version
            done, out[i] = true, mpack({K.OK, epoch, shown, due, answered, 0, {}, {}, count[K.COUNT_STATE + 1],
                K.MEMBER_HERE, count[K.COUNT_MEMBERS + 1], 0, shown, till, 0, 0, member, count[K.COUNT_MARK + 1]})
        end
    end
end
