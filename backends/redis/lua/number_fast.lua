-- SPDX-License-Identifier: MIT
--
-- In the loop of main.lua: a call by owner and a hangup as nearly all are (no request id, nobody
-- watches, nothing is due, no group, no daily cap, not in random order), without functions and
-- tables.  Whatever else comes up is left to number.lua, before anything was written.
if exists and not a[3] and a[5] == 0 and (due < 0 or due > now) then
    local order_, lease, rest, strict = 0, 0, 0, 0
    local plain = true
    if settings then
        local daily, _
        order_, lease, rest, daily, _, strict = sunpack('>i7i7i7i7i7i7', settings)
        plain = daily == 0 and order_ == 0
    end
    if S.set_changed then plain = false end
    local verb, field, text, id, state, to, was, is, ends, v = a[1], nil, nil, nil, nil, nil, nil, nil, 0,
        version + 1
    local slots, rank, order, token, calls, day, used, held, owner, group
    if plain and verb == K.V_CALL and a[K.ARG_OWNER] and not a[K.ARG_NUMBER] and not a[K.ARG_GROUPS]
        and not a[K.ARG_STICKY] then
        owner = a[K.ARG_OWNER]
        local mine = '1c' .. owner .. '\0'
        local m = not call('ZRANGEBYLEX', INDEX, '[' .. mine, '(' .. mine .. '\255', 'LIMIT', '0', '1')[1]
            and call('ZRANGEBYLEX', INDEX, '[10', '(10\255', 'LIMIT', '0', '1')[1]
        if m then
            id = sub(m, 17)
            field = '1:' .. id
            text = cache[field] or call('HGET', HASH, field)
            local good, _
            good, state, slots, rank, order, token, _, calls, day, _, _, _, group = pcall(sunpack,
                '>BBI7I7I7I7i7i7i7i7ss', text)
            -- what number.lua calls take()
            if good and group == '' and state == K.IDLE_UP and slots == 1 and rank == K.QUEUED then
                lease = a[K.ARG_LEASE] or lease
                ends = lease > 0 and now + lease or 0
                local today = math.floor((now + (settings and sunpack('>i7', settings, 29) or 0) * 60000) / 86400000)
                if count[K.COUNT_CALLS_DAY + 1] ~= today then
                    count[K.COUNT_CALLS_DAY + 1], count[K.COUNT_CALLS + 1] = today, 0
                end
                count[K.COUNT_CALLS + 1] = count[K.COUNT_CALLS + 1] + 1
                calls = day == today and calls + 1 or 1
                to, was, is, token, held, day, used, rank = K.BUSY_UP, m, mine, v, lease, today, now, 0
                slots = ends > 0 and 6 or 4
            end
        end
    elseif plain and verb == K.V_HANGUP then
        id = a[K.ARG_NUMBER]
        field = '1:' .. id
        text = cache[field]
        if text then
            local good
            good, state, slots, rank, order, token, ends, calls, day, used, held, owner, group = pcall(sunpack,
                '>BBI7I7I7I7i7i7i7i7ss', text)
            local given = a[K.ARG_TOKEN]
            rest = a[K.ARG_REST] or rest
            -- what number.lua calls release()
            if good and group == '' and state == K.BUSY_UP and slots < 8 and rest == 0 and (given == token or not given and strict == 0) then
                to = K.IDLE_UP
            end
        end
    end
    if to then
        if to == K.BUSY_UP then
            local p = spack('>I7', v) .. id
            call('ZREM', INDEX, was)
            if ends > 0 then
                call('ZADD', INDEX, '0', '12' .. p, '0', is .. p, '0', '11' .. spack('>I7', ends) .. p)
                if due < 0 or ends < due then due = ends end
            else
                call('ZADD', INDEX, '0', '12' .. p, '0', is .. p)
            end
            order = v
        else
            local p = spack('>I7', order) .. id
            if ends > 0 then
                call('ZREM', INDEX, '12' .. p, owner ~= '' and '1c' .. owner .. '\0' .. p or '12' .. p,
                    '11' .. spack('>I7', ends) .. p)
            elseif owner ~= '' then
                call('ZREM', INDEX, '12' .. p, '1c' .. owner .. '\0' .. p)
            else
                call('ZREM', INDEX, '12' .. p)
            end
            ends, owner, rank, order, slots = 0, '', K.QUEUED, v, 1
            call('ZADD', INDEX, '0', '10' .. spack('>I7I7', rank, v) .. id)
        end
        count[state + 1] = count[state + 1] - 1
        count[to + 1] = count[to + 1] + 1
        version, clock, head_changed, done = v, now, true, true
        cache[field] = spack('>BBI7I7I7I7i7i7i7i7ss', to, slots, rank, order, token, ends, calls, day, used, held,
            owner, '')
        if not dirty[field] then
            n_dirty = n_dirty + 1
            dirty[field], dirty[n_dirty] = true, field
        end
        -- the answer as MessagePack: 14 values
        out[i] = spack('>BBBc16BI8BBBBBBBI8BI8BBBBBc0', 158, K.OK, 176, epoch, 207, v, 0, 144, 144, to, 204,
            K.WHY_GIVEN, 207, token, 207, ends, 255, 0, 0, 217, #id, id)
    end
end
