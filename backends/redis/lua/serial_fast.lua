-- SPDX-License-Identifier: MIT
--
-- The fast path of `take` for rules in mode queue, inside the loop of dispatch.lua.  It calls no function of
-- serial.lua.  It runs when the stock stays above `critical`, the command has no watcher and no request
-- id, the rule has no log, no authority and no reset, and all numbers are below 10^15.  A rule without a
-- reset enters no period, so the counters of record 8 stay as they are.  All other commands are left to
-- serial.lua.
if verb == K.V_TAKE and not done and not made and not by_hand and not held and exists and all[p] <= K.ARG_N
    and not all[p + 3] and all[p + 5] ~= 1 and count[K.COUNT_CHANGES + 1] == 0 then
    if not sets then
        sets = settings and {sunpack(K.SETTINGS_PACKED, settings)} or K.DEFAULTS
        local text = sets[K.SET_RULE + 1] ~= 0 and sets[K.SET_MODE + 1] == K.MODE_QUEUE
            and sets[K.SET_STAMP + 1] == K.STAMP_TAKE and sets[K.SET_AUTHORITY + 1] == 0 and sets[K.SET_RESET + 1] == 0
            and sets[K.SET_LOG + 1] == 0 and call('HGET', HASH, K.KIND_RULE .. ':rule')
        if text and byte(text, 12) < 128 and sub(text, 69, 70) == '\0\0' then
            rule = text
            cache[K.KIND_RULE .. ':rule'] = text
            format_of = sub(text, 71)
            local a, b = sunpack('>i7i7', text, 41)
            granted = a > 0 and string.format('%.0f%09.0f', a, b) or string.format('%.0f', b)
            a, b = sets[K.SET_MAX + 1], sets[K.SET_MAX + 2]
            max_text = a > 0 and string.format('%.0f%09.0f', a, b) or string.format('%.0f', b)
            limit = sets[K.SET_LIMIT + 1]
            limit = limit < 1000000 and limit * 1000000000 + sets[K.SET_LIMIT + 2] or nil
        end
    end
    local bucket = count[K.COUNT_BUCKET + 1]
    local at = bucket % 12
    local half = K.COUNT_USE + 1 + (at - at % 2) / 2
    if rule and bucket == (now - now % K.USE_MS) / K.USE_MS and count[K.COUNT_TAKEN + 1] < 1000000
        and count[K.COUNT_CUR + 1] < 1000000 and count[half] >= 0 then
        local n = all[p] >= K.ARG_N and all[p + K.ARG_N] or 1
        local taken = count[K.COUNT_TAKEN + 1] * 1000000000 + count[K.COUNT_TAKEN + 2]
        local cur = count[K.COUNT_CUR + 1] * 1000000000 + count[K.COUNT_CUR + 2]
        local low = count[half] % K.USE_BIT
        local use = at % 2 == 0 and low or (count[half] - low) / K.USE_BIT
        if cur - taken - n > sets[K.SET_CRITICAL + 1] and cur < 1000000000000000 and use + n < K.USE_BIT - 1 then
            if cur ~= cur_of then
                cur_of, cur_text = cur, string.format('%.0f', cur)
                local high, rest = sets[K.SET_LIMIT + 1] - count[K.COUNT_CUR + 1],
                    sets[K.SET_LIMIT + 2] - count[K.COUNT_CUR + 2]
                if rest < 0 then high, rest = high - 1, rest + 1000000000 end
                left_text = limit and limit <= cur and '0' or high > 0 and string.format('%.0f%09.0f', high, rest)
                    or string.format('%.0f', rest)
            end
            version, clock, head_changed, done = version + 1, now, true, true
            count[half] = count[half] + (at % 2 == 0 and n or n * K.USE_BIT)
            local first = string.format('%.0f', taken + 1)
            taken = taken + n
            low = taken % 1000000000
            count[K.COUNT_TAKEN + 1], count[K.COUNT_TAKEN + 2] = (taken - low) / 1000000000, low
            out[i] = mpack({K.OK, epoch, version, due, answered, 0, {}, {{first, n, now, 0, 0, 0, '', format_of, ''}}, 0, n,
                left_text, cur_text, max_text, granted, count[K.COUNT_PERIOD + 1], 0, 0, 0})
        end
    end
end
