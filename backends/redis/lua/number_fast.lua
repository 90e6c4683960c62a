-- SPDX-License-Identifier: MIT
--
-- In the loop of main.lua: a call by owner and a hangup as nearly all are (no request id, nobody
-- watches, nothing is due, no group, no daily cap, not in random order), without functions and
-- tables.  Whatever else comes up is left to number.lua, before anything was written.
--
-- Of several commands, the lists' changes are collected and written together; numbers that are
-- idle are fetched for all calls at once.  Who looks at a list in between writes first: any
-- other command, and one of an owner or a number that a change is collected for.
if exists and not a[3] and a[5] == 0 and (due < 0 or due > now) then
    local order_, lease, rest, strict = 0, 0, 0, 0
    local plain = true
    if settings then
        local daily, _
        order_, lease, rest, daily, _, strict = sunpack('>i7i7i7i7i7i7', settings)
        plain = daily == 0 and order_ == 0
    end
    if S.set_changed then plain = false end
    -- Numbers stay the bytes that they are in the record.
    local verb, v, zero, free = a[1], version + 1, '\0\0\0\0\0\0\0', K.HEAD_IDLE_UP .. '\1' .. K.QUEUED_BYTES
    local bytes, id, field, text, from, to, token, ends, after, idle, held, owned, leased
    local is_call = plain and verb == K.V_CALL and a[K.ARG_OWNER] and not a[K.ARG_NUMBER] and not a[K.ARG_GROUPS]
        and not a[K.ARG_STICKY]
    if n_commands > 1 and not short and (is_call or plain and verb == K.V_HANGUP) then
        local s = {touched = {}, idle = {}, at = 1, rz = {}, rn = 0, hz = {}, hn = 0, ha = {}, hm = 0, ra = {}, rm = 0}
        function s.flush()
            if s.rn > 0 then call('ZREM', INDEX, unpack(s.rz, 1, s.rn)) end
            if s.hn > 0 then call('ZREM', HELD, unpack(s.hz, 1, s.hn)) end
            if s.hm > 0 then call('ZADD', HELD, unpack(s.ha, 1, s.hm)) end
            if s.rm > 0 then call('ZADD', INDEX, unpack(s.ra, 1, s.rm)) end
            s.rn, s.hn, s.hm, s.rm, s.touched = 0, 0, 0, 0, {}
        end
        short = s
    end
    if is_call then
        local owner = a[K.ARG_OWNER]
        local mine = '1c' .. owner .. '\0'
        if short and short.touched[owner] then short.flush() end
        if not call('ZRANGEBYLEX', HELD, '[' .. mine, '(' .. mine .. '\255', 'LIMIT', '0', '1')[1] then
            idle = short and short.idle[short.at]
            if not short then
                idle = call('ZRANGEBYLEX', INDEX, '[10', '(10\255', 'LIMIT', '0', '1')[1]
                if idle then cache['1:' .. sub(idle, 17)] = call('HGET', HASH, '1:' .. sub(idle, 17)) end
            elseif not idle then
                -- those for this and all other calls, with their records
                local n, fields, k = 0, {}, 0
                for c = i, n_commands do
                    if first[c][1] == K.V_CALL then n = n + 1 end
                end
                short.flush()
                local all = call('ZRANGEBYLEX', INDEX, '[10', '(10\255', 'LIMIT', '0', n)
                for c = 1, #all do
                    local name = '1:' .. sub(all[c], 17)
                    if cache[name] == nil then
                        k = k + 1
                        fields[k] = name
                    end
                end
                if k > 0 then
                    local texts = call('HMGET', HASH, unpack(fields, 1, k))
                    for c = 1, k do cache[fields[c]] = texts[c] end
                end
                short.idle, short.at, idle = all, 1, all[1]
            end
        end
        if idle then
            id = sub(idle, 17)
            field = '1:' .. id
            text = cache[field]
            -- what number.lua calls take(): free, never with an owner or group, and standing where it says
            if text and #text == 70 and sub(text, 1, 19) == free and sub(text, 20, 26) == sub(idle, 10, 16)
                and sub(text, 69) == '\0\0' then
                lease = a[K.ARG_LEASE] or lease
                local at = lease > 0 and now + lease or 0
                local today = math.floor((now + (settings and sunpack('>i7', settings, 29) or 0) * 60000) / 86400000)
                if count[K.COUNT_CALLS_DAY + 1] ~= today then
                    count[K.COUNT_CALLS_DAY + 1], count[K.COUNT_CALLS + 1] = today, 0
                end
                count[K.COUNT_CALLS + 1] = count[K.COUNT_CALLS + 1] + 1
                local calls, day = sunpack('>i7i7', text, 41)
                calls = day == today and calls + 1 or 1
                bytes, ends = spack('>I7', v), spack('>I7', at)
                from, to, token = K.IDLE_UP, K.BUSY_UP, bytes
                after = K.HEAD_BUSY_UP .. (at > 0 and '\6' or '\4') .. zero .. bytes .. bytes
                    .. spack('>I7i7i7i7i7', at, calls, today, now, lease) .. owner .. '\0\0'
                held = '12' .. bytes .. id
                owned = mine .. bytes .. id
                if at > 0 then
                    leased = '11' .. ends .. bytes .. id
                    if due < 0 or at < due then due = at end
                end
                if short then short.at, short.touched[owner] = short.at + 1, true end
            end
        end
    elseif plain and verb == K.V_HANGUP then
        id = a[K.ARG_NUMBER]
        field = '1:' .. id
        text = cache[field]
        local given, up = a[K.ARG_TOKEN], text and string.find(text, '\0', 69, true)
        -- what number.lua calls release(): busy, in no group
        if up and sub(text, up) == '\0\0' and sub(text, 1, 11) == K.HEAD_BUSY_UP and string.byte(text, 12) < 8
            and (a[K.ARG_REST] or rest) == 0
            and (given == sunpack('>I7', text, 27) or not given and strict == 0) then
            if short and short.touched[field] then short.flush() end
            bytes, token, ends = spack('>I7', v), sub(text, 27, 33), zero
            from, to = K.BUSY_UP, K.IDLE_UP
            after = free .. bytes .. token .. zero .. sub(text, 41, 68) .. '\0\0'
            local p = sub(text, 20, 26) .. id
            held, idle = '12' .. p, '10' .. K.QUEUED_BYTES .. bytes .. id
            if up > 69 then
                owned = '1c' .. sub(text, 69, up) .. p
                if short then short.touched[sub(text, 69, up - 1)] = true end
            end
            if sub(text, 34, 40) ~= zero then leased = '11' .. sub(text, 34, 40) .. p end
        end
    end
    if to then
        count[from + 1] = count[from + 1] - 1
        count[to + 1] = count[to + 1] + 1
        version, clock, head_changed, done = v, now, true, true
        cache[field] = after
        if short then
            short.touched[field] = true
            if to == K.BUSY_UP then
                local rn, ha, hm = short.rn + 1, short.ha, short.hm + 4
                short.rz[rn], short.rn = idle, rn
                ha[hm - 3], ha[hm - 2], ha[hm - 1], ha[hm] = '0', held, '0', owned
                if leased then
                    hm = hm + 2
                    ha[hm - 1], ha[hm] = '0', leased
                end
                short.hm = hm
            else
                local hz, hn, rm = short.hz, short.hn + 2, short.rm + 2
                hz[hn - 1], hz[hn] = held, owned or held
                if leased then
                    hn = hn + 1
                    hz[hn] = leased
                end
                short.hn, short.ra[rm - 1], short.ra[rm], short.rm = hn, '0', idle, rm
            end
        elseif to == K.BUSY_UP then
            call('ZREM', INDEX, idle)
            if leased then
                call('ZADD', HELD, '0', held, '0', owned, '0', leased)
            else
                call('ZADD', HELD, '0', held, '0', owned)
            end
        else
            if leased then
                call('ZREM', HELD, held, owned or held, leased)
            else
                call('ZREM', HELD, held, owned or held)
            end
            call('ZADD', INDEX, '0', idle)
        end
        if not dirty[field] then
            n_dirty = n_dirty + 1
            dirty[field], dirty[n_dirty] = true, field
        end
        -- the answer as MessagePack: 14 values
        out[i] = char(158, K.OK, 176) .. epoch .. '\207\0' .. bytes .. char(0, 144, 144, to, 204, K.WHY_GIVEN, 207, 0)
            .. token .. '\207\0' .. ends .. char(255, 0, 0, 217, #id) .. id
    end
end
