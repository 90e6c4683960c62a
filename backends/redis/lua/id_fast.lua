-- SPDX-License-Identifier: MIT
--
-- The fast path of `next`, inside the loop of dispatch.lua.  It calls no function of id.lua.  It runs when
-- the command has no watcher, no request id and no log, stays within the segment, and all numbers are
-- below 10^15.  All other commands are left to id.lua.
if verb == K.V_NEXT and not done and not made and not by_hand and exists and all[p] < K.ARG_IF_VERSION
    and not all[p + 3] and all[p + 5] ~= 1 and count[K.COUNT_CHANGES + 1] == 0 then
    sets = sets or settings and {sunpack(K.SETTINGS_PACKED, settings)} or K.DEFAULTS
    local n, by, top, stop_top = all[p] >= K.ARG_N and all[p + K.ARG_N] or 1, sets[K.SET_BY + 1],
        count[K.COUNT_NEXT + 1], count[K.COUNT_END + 1]
    if count[K.COUNT_THERE + 1] ~= 0 and sets[K.SET_LOG + 1] == 0 and sets[K.SET_MANAGED + 1] == 0
        and top < 1000000 and stop_top < 1000000 and count[K.COUNT_ISSUED + 1] < 1000000 then
        local next, stop = top * 1000000000 + count[K.COUNT_NEXT + 2], stop_top * 1000000000 + count[K.COUNT_END + 2]
        local behind, limit_top = next + n * by, sets[K.SET_LIMIT + 1]
        local limit = limit_top < 1000000 and limit_top * 1000000000 + sets[K.SET_LIMIT + 2] or 2000000000000000
        if behind - by < stop and behind <= limit and behind < 1000000000000000 then
            local issued = count[K.COUNT_ISSUED + 1] * 1000000000 + count[K.COUNT_ISSUED + 2] + n
            if stop_of ~= stop then stop_of, stop_text = stop, string.format('%.0f', stop - 1 < limit and stop - 1 or limit) end
            version, clock, head_changed, done = version + 1, now, true, true
            top = behind - behind % 1000000000
            count[K.COUNT_NEXT + 1], count[K.COUNT_NEXT + 2] = top / 1000000000, behind - top
            top = issued - issued % 1000000000
            count[K.COUNT_ISSUED + 1], count[K.COUNT_ISSUED + 2], count[K.COUNT_TOKEN + 1] = top / 1000000000,
                issued - top, version
            out[i] = mpack({K.OK, epoch, version, due, answered, 0, {}, {}, string.format('%.0f', next), n,
                string.format('%.0f', behind), stop_text, count[K.COUNT_STEP + 1], by, version, 0})
        end
    end
end
