-- SPDX-License-Identifier: MIT
--
-- The fast path of a plain call by owner and a plain hangup, inside the loop of dispatch.lua, without functions
-- and tables of its own.  Plain commands have no watcher, no request id, no group and no rest (number_fast.c
-- packs them), nothing is due, and the pool has no daily cap and no random order.  All other commands are
-- left to number.lua before anything was written.
--
-- Changes of the lists are collected and written together.  The idle numbers for all calls are fetched at
-- once.  Before any other command the collected changes are written.  Numbers stay the bytes of the record,
-- and a record is compared and built in pieces, because unpacking it takes long.  A step of Lua takes some 40
-- instructions, a function that it calls 600 and more.
if verb < 256 and not done and plain and (due < 0 or due > now) and not (made and (S.set_changed or S.behind)) then
    if not ready then
        -- The tables have space for the first entries, because growing a table takes long.
        if all[2] > 0 then rz, ha, called, of_call, tail = {''}, {'', '', '', ''}, {}, '\1' .. epoch, nil end
        if all[3] > all[2] then hz, ra, of_hangup = {'', ''}, {'', ''}, '\2' .. epoch end
        ready, due_bytes, rn, hn, hm, rm = true, spack('>i7', due), 0, 0, 0, 0
    end
    local v = version + 1
    local low = v % 256
    if answered ~= answered_of then answered_of, answered_bytes = answered, spack('>i7', answered) end
    if v - low ~= high_of then high, high_of = sub(spack('>I7', v), 1, 6), v - low end
    if verb == 1 then
        local owner = all[p + 4]
        if not called[owner] and not call('ZRANGEBYLEX', HELD, all[p + 5], all[p + 6], 'LIMIT', '0', '1')[1] then
            if not idle then
                -- the idle numbers for this and all other calls, with their records
                idle, nth, records = call('ZRANGEBYLEX', INDEX, '[' .. K.KIND_NUMBER .. '0', '(' .. K.KIND_NUMBER .. '0\255', 'LIMIT', '0', all[2]), 1, nil
                local n = #idle
                -- All must have the rank that number.lua gives to numbers in the order of their release.
                if n > 0 and sub(idle[1], 3, 9) == K.QUEUED_BYTES and sub(idle[n], 3, 9) == K.QUEUED_BYTES then
                    fields, ids = {''}, {''}
                    for c = 1, n do
                        local id = sub(idle[c], 17)
                        ids[c], fields[c] = id, K.KIND_NUMBER .. ':' .. id
                    end
                    records = call('HMGET', HASH, unpack(fields, 1, n))
                    for c = 1, n do
                        local known = cache[fields[c]]
                        if known ~= nil then records[c] = known end
                    end
                end
            end
            local record = records and records[nth]
            -- S.take_number() of number_calls.lua: the number is free, has no group, and is listed at its position.
            if record and #record == 70
                and sub(record, 1, 26) == K.HEAD_IDLE_UP .. '\1' .. K.QUEUED_BYTES .. sub(idle[nth], 10, 16) then
                local span = all[p + 3] or lease
                if not tail or moment ~= tail_moment or now ~= tail_now or span ~= tail_span then
                    ends, today = span > 0 and moment + span or 0, math.floor((now + zone * 60000) / 86400000)
                    if count[K.COUNT_CALLS_DAY + 1] < today then
                        count[K.COUNT_CALLS_DAY + 1], count[K.COUNT_CALLS_BEFORE + 1] = today, count[K.COUNT_CALLS + 1] + given
                    end
                    ends_bytes = spack('>I7', ends)
                    if ends > 0 and (due < 0 or ends < due) then due, due_bytes = ends, ends_bytes end
                    tail_now, tail_moment, tail_span, tail, more = now, moment, span, spack('>i7i7', moment, span), {}
                end
                -- the number of calls of its day, with this one, and the day
                local before = sub(record, 41, 54)
                local calls = more[before]
                if not calls then
                    local n, day = sunpack('>i7i7', before)
                    calls = day < today and spack('>i7i7', 1, today) or spack('>i7i7', n + 1, day)
                    more[before] = calls
                end
                local bytes, id, field = high .. char(low), ids[nth], fields[nth]
                record = (ends > 0 and K.HEAD_BUSY_UP .. '\6\0\0\0\0\0\0\0' or K.HEAD_BUSY_UP .. '\4\0\0\0\0\0\0\0')
                    .. bytes .. bytes .. ends_bytes .. calls .. tail .. owner .. '\0\0'
                rn = rn + 1
                rz[rn] = idle[nth]
                ha[hm + 1], ha[hm + 2], ha[hm + 3], ha[hm + 4] = '0', K.KIND_NUMBER .. '2' .. bytes .. id, '0',
                    K.KIND_NUMBER .. 'c' .. owner .. '\0' .. bytes .. id
                hm = hm + 4
                if ends > 0 then
                    ha[hm + 1], ha[hm + 2] = '0', K.KIND_NUMBER .. '1' .. ends_bytes .. bytes .. id
                    hm = hm + 2
                end
                nth, called[owner], given = nth + 1, true, given + 1
                cache[field], set[n_set + 1], set[n_set + 2] = record, field, record
                out[i] = of_call .. bytes .. due_bytes .. answered_bytes .. ends_bytes .. id
                version, n_set, done = v, n_set + 2, true
            end
        end
    elseif rest == 0 then
        local token, place = all[p + 3], all[p + 6]
        local field = args[place]
        local record = cache[field]
        if record == nil then record = got[place] end
        local up = record and string.find(record, '\0', 69, true)
        -- S.release() of number.lua: the number is busy, has no group (it would follow the owner), and has
        -- the token of the command.
        if up and up == #record - 1 then
            local id, held = all[p + 5], all[p + 4]
            if not token and strict == 0 then
                token = sub(record, 27, 33)
                held = K.KIND_NUMBER .. '2' .. token .. id
            end
            local leased = token and sub(record, 1, 33) ~= K.HEAD_BUSY_UP .. '\4\0\0\0\0\0\0\0' .. token .. token
            if token and (not leased or sub(record, 1, 33) == K.HEAD_BUSY_UP .. '\6\0\0\0\0\0\0\0' .. token .. token) then
                local bytes = high .. char(low)
                if moment ~= ended_at then ended_at, ended_bytes = moment, spack('>i7', moment) end
                hn = hn + 1
                hz[hn] = held
                if up > 69 then
                    hn = hn + 1
                    hz[hn] = K.KIND_NUMBER .. 'c' .. sub(record, 69, up) .. token .. id
                end
                if leased then
                    hn = hn + 1
                    hz[hn] = K.KIND_NUMBER .. '1' .. sub(record, 34, 40) .. token .. id
                end
                ra[rm + 1], ra[rm + 2] = '0', K.KIND_NUMBER .. '0' .. K.QUEUED_BYTES .. bytes .. id
                record = K.HEAD_IDLE_UP .. '\1' .. K.QUEUED_BYTES .. bytes .. token .. '\0\0\0\0\0\0\0'
                    .. sub(record, 41, 61) .. ended_bytes .. '\0\0'
                rm, back = rm + 2, back + 1
                cache[field], set[n_set + 1], set[n_set + 2] = record, field, record
                out[i] = of_hangup .. bytes .. due_bytes .. answered_bytes .. token
                version, n_set, done = v, n_set + 2, true
            end
        end
    end
    if done then clock, head_changed = now, true end
end
