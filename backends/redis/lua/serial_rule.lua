-- SPDX-License-Identifier: MIT
--
-- Commands on the rule: src/nouns/serial/serial_rule.c.

-- ---- the rule ---------------------------------------------------------------------------------

function S.make_rules()
    local MOST = {9223372036, 854775807}

    -- See usher__serial_limit(); @f is the packed format as an array.
    function S.limit(f, max, mode, reset)
        local base, step, width, radix, most = S.big(f[4]), f[5], f[6], f[7], MOST
        if width > K.WIDTH_MAX then S.damaged() end
        if width > 0 and f[9] == K.OVERFLOW_REFUSE then
            local power = {0, 1}
            for _ = 1, width do
                local low = power[2] * radix
                power = {power[1] * radix + floor(low / 1000000000), low % 1000000000}
                if S.less(MOST, power) then break end
            end
            if not S.less(MOST, power) then most = S.plus(power, -1) end
        end
        local limit = {0, 0}
        if not S.less(most, base) then
            local d = S.minus(most, base)
            local rest = d[1] % step
            limit = {floor(d[1] / step), floor((rest * 1000000000 + d[2]) / step)}
        end
        if mode == K.MODE_GAPFREE then
            local ranks = reset ~= 0 and {2, 147483647} or {9007199, 254740991}
            if S.less(ranks, limit) then limit = ranks end
        end
        return S.less(limit, max) and limit or max
    end

    -- See usher__serial_date_finest().
    function S.finest(date)
        local has = {}
        for c in string.gmatch(date, '%%(.)') do has[c] = true end
        if not has.Y and not has.y then return 0 end
        return (has.j or has.m and has.d) and 1 or has.m and 2 or 3
    end

    function S.say_rule(status, set, s)
        S.tell(status, s)
        S.max = S.digits(S.get(set, K.SET_MAX))
        S.extra = {S.digits(S.get(set, K.SET_START)), set[K.SET_CRITICAL + 1], set[K.SET_BATCH + 1],
            set[K.SET_RESET + 1], set[K.SET_STAMP + 1], set[K.SET_MODE + 1], set[K.SET_LEASE + 1],
            set[K.SET_REQUESTS + 1], set[K.SET_AUTHORITY + 1], set[K.SET_LOG + 1], set[K.SET_PUSH + 1]}
        S.add_row(s, {0, 0}, 0, S.now)
    end

    function S.show()
        local s = S.load()
        if not s then
            S.extra = {'0', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, S.verb == K.V_SHOW and 0 or nil}
            -- The engine compares this with the authority: if that has granted more, a rule was lost.
            local past = S.exists and S.set[K.SET_RULE + 1] == 0 and S.find(K.KIND_PAST, 'past')
            if past then S.granted = S.digits({past.N_GRANTED, past.N_GRANTED_LO}) end
            return
        end
        S.say_rule(K.OK, S.set, s)
        if S.verb == K.V_SHOW then
            S.extra[12] = S.made(s.cur) and 1 or 0
            if S.a[K.ARG_SERIAL] then
                S.rows = nil
                if not S.show_number then S.make_holds() end
                S.show_number(s)
            end
        end
    end

    -- Faults that the library refuses before it sends the command.
    function S.affix_fault(arg, word)
        if string.find(S.a[arg] or '', '%', 1, true) then return word .. ' contains a %: dates belong in date=' end
    end

    function S.rule_fault(f, set)
        local check, reset, finest = f[8], set[K.SET_RESET + 1], S.finest(f[3])
        if check ~= 0 and check ~= K.MOD37_2 and f[7] ~= 10 then
            return 'check needs radix=10, unless it is mod37-2'
        end
        if reset ~= 0 and (finest == 0 or finest > reset) then
            return 'reset needs a date that differs between its periods'
        end
    end

    function S.rule()
        local a, old = S.a, S.set
        local exists, made, s, was, used = S.exists and old[K.SET_RULE + 1] ~= 0, false, nil, nil, nil
        local given = not exists
        for i = K.ARG, K.ARG_DEBT do given = given or a[i] end
        given = given or a[K.ARG_LOG] or a[K.ARG_PUSH]
        if not given then return S.show() end
        S.extra = {'0', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
        local open = S.any_open()
        if exists then
            s = S.load()
            if not s then return end
            was = S.format(s)
            made, used = S.made(s.cur), S.used()
        else
            was = {'', '', '', '0', 1, 0, 10, 0, K.OVERFLOW_REFUSE, 0}
            s = {rule = S.fresh(K.KIND_RULE, 'rule'), cur = S.exists and S.get(S.count, K.COUNT_CUR) or {0, 0},
                taken = {0, 0}, limit = {0, 0}, granted = {0, 0}, debt = {0, 0},
                period = S.count[K.COUNT_PERIOD + 1]}
        end
        local f, set = {}, {}
        for i = 1, 10 do f[i] = was[i] end
        for i = 1, #old do set[i] = old[i] end
        if not exists then
            made = s.cur[1] > 0 or s.cur[2] > 0
            used = old[K.SET_RESET + 1] ~= 0 -- kept by `delete`
            set[K.SET_RESET + 1], set[K.SET_ZONE + 1], set[K.SET_LOG + 1], set[K.SET_PUSH + 1] = 0, 0, 0, 0 -- as are those
        end
        local function number(to, i, arg)
            if a[arg] then to[i] = a[arg] end
        end
        number(f, 1, K.ARG_PREFIX)
        number(f, 2, K.ARG_SUFFIX)
        number(f, 3, K.ARG_DATE)
        if a[K.ARG_BASE] then f[4] = S.digits(S.big(a[K.ARG_BASE])) end
        number(f, 5, K.ARG_STEP)
        number(f, 6, K.ARG_WIDTH)
        number(f, 7, K.ARG_RADIX)
        number(f, 8, K.ARG_CHECK)
        number(f, 9, K.ARG_OVERFLOW)
        number(f, 10, K.ARG_ZONE)
        number(set, K.SET_ZONE + 1, K.ARG_ZONE)
        number(set, K.SET_CRITICAL + 1, K.ARG_CRITICAL)
        number(set, K.SET_BATCH + 1, K.ARG_BATCH)
        number(set, K.SET_RESET + 1, K.ARG_RESET)
        number(set, K.SET_STAMP + 1, K.ARG_STAMP)
        number(set, K.SET_MODE + 1, K.ARG_MODE)
        number(set, K.SET_LEASE + 1, K.ARG_LEASE)
        number(set, K.SET_REQUESTS + 1, K.ARG_REQUESTS)
        number(set, K.SET_AUTHORITY + 1, K.ARG_AUTHORITY)
        number(set, K.SET_LOG + 1, K.ARG_LOG)
        number(set, K.SET_PUSH + 1, K.ARG_PUSH)
        local function pair(i, arg)
            if a[arg] then
                local b = S.big(a[arg])
                set[i + 1], set[i + 2] = b[1], b[2]
            end
        end
        pair(K.SET_START, K.ARG_START)
        pair(K.SET_MAX, K.ARG_HIGHEST)
        set[K.SET_RULE + 1] = 1 + (used and K.USED or 0)
        local function differs(i) return set[i + 1] ~= old[i + 1] or set[i + 2] ~= old[i + 2] end
        if made and (differs(K.SET_START) or S.marked()) then set[K.SET_RULE + 1] = set[K.SET_RULE + 1] + K.MADE end
        -- Each period may print the same numbers, so no day may occur twice.
        local function goes_back(zone)
            return S.period_of(1, S.now, zone) < S.period_of(1, S.now, old[K.SET_ZONE + 1])
        end
        -- Without a date the zone has no effect; the zone of the last printed date is kept.
        if f[3] ~= '' then
            set[K.SET_ZONE + 1] = f[10]
        elseif (made or used) and goes_back(f[10]) then
            set[K.SET_ZONE + 1] = old[K.SET_ZONE + 1]
        end
        if made or used then
            local lowest, start = S.low(old), S.get(set, K.SET_START)
            if not S.less(lowest, start) then lowest = {0, 0} end
            set[K.SET_LOW + 1], set[K.SET_LOW + 2] = lowest[1], lowest[2]
        end
        local fault = S.affix_fault(K.ARG_PREFIX, 'prefix') or S.affix_fault(K.ARG_SUFFIX, 'suffix')
            or S.rule_fault(f, set)
        if fault then
            S.answer = {K.INVALID, fault}
            return
        end
        local mode, reset = set[K.SET_MODE + 1], set[K.SET_RESET + 1]
        local zone, zone_was = set[K.SET_ZONE + 1], old[K.SET_ZONE + 1]
        local moved = zone ~= zone_was and f[3] ~= ''
        local lost = exists and S.lost_any()
        -- A coarser reset may return to numbers of earlier periods.
        if exists and (made or used or lost) and (f[4] ~= was[4] or f[5] ~= was[5] or f[7] ~= was[7] or
            (f[8] ~= 0) ~= (was[8] ~= 0)) or exists and (made or lost) and mode ~= old[K.SET_MODE + 1] then
            return S.turned_down(K.REFUSED, K.WHY_KEPT, s)
        end
        if exists and (reset ~= old[K.SET_RESET + 1] or moved) and (open or lost) then
            return S.turned_down(K.REFUSED, K.WHY_HELD, s)
        end
        if moved and (made or used) and goes_back(zone) then return S.turned_down(K.REFUSED, K.WHY_BACK, s) end
        local before = S.plus(S.get(set, K.SET_START), -1)
        local entered = not exists or reset ~= old[K.SET_RESET + 1]
            or moved and S.period_of(reset, S.now, zone) > s.period
        if entered then
            local given = {0, 0}
            if not exists then given = s.cur elseif S.made(s.taken) then given = s.taken end
            local highest = S.enter_period(s, set, given)
            set[K.SET_RULE + 1] = 1 + ((given[1] > 0 or given[2] > 0 or used) and K.USED or 0)
                + ((highest[1] > 0 or highest[2] > 0) and K.MADE or 0)
        elseif not made then
            s.cur, s.taken = before, before
        end
        s.limit = S.limit(f, S.get(set, K.SET_MAX), mode, reset)
        if S.less(s.limit, s.cur) or S.less(s.limit, before) then return S.turned_down(K.REFUSED, K.WHY_ROOM, s) end
        set[K.SET_LIMIT + 1], set[K.SET_LIMIT + 2] = s.limit[1], s.limit[2]
        local packed, same = mpack(f), exists
        for i = 1, #set do same = same and set[i] == old[i] end
        if same and packed == s.rule.data then return S.say_rule(K.SAME, set, s) end

        local restamped = exists and (set[K.SET_STAMP + 1] ~= old[K.SET_STAMP + 1] or moved or entered)
        S.pset = set
        S.put_counters(s)
        if entered then S.put_past(s) end
        s.rule.data = packed
        S.put_rule(s)
        if restamped then S.drop_fills() end
        if restamped and set[K.SET_STAMP + 1] == K.STAMP_FILL and S.less(s.taken, s.cur) then S.add_fill(s.cur) end
        S.say_rule(K.OK, set, s)
        S.data = S.given()
        S.finish(nil, 0, 0)
    end

    function S.delete()
        if not S.exists or S.set[K.SET_RULE + 1] == 0 then
            S.status = K.SAME
            return
        end
        local s = S.load()
        if not s then return end
        if S.any_open() or S.lost_any() then
            return S.turned_down(K.REFUSED, K.WHY_HELD, s)
        end
        local made, set = S.made(s.taken), {}
        for i, value in ipairs(K.DEFAULTS) do set[i] = value end
        if made or S.used() then
            local lowest = S.low(S.set)
            set[K.SET_ZONE + 1], set[K.SET_RESET + 1] = S.set[K.SET_ZONE + 1], 1
            set[K.SET_LOW + 1], set[K.SET_LOW + 2] = lowest[1], lowest[2]
        end
        -- The log is kept, like the versions: the next rule of this name continues both.
        set[K.SET_LOG + 1], set[K.SET_PUSH + 1] = S.set[K.SET_LOG + 1], S.set[K.SET_PUSH + 1]
        S.enter_period(s, set, made and s.taken or {0, 0})
        S.drop_fills()
        S.put_counters(s)
        S.put_past(s)
        S.erase(s.rule)
        S.pset = set
        S.tell(K.OK, s)
        S.finish(nil, 0, 0)
    end

    -- ---- setmax, setmaxcur, grant

    function S.setmax()
        local set, by = S.set, S.big(S.a[K.ARG_RAISE])
        local s = S.load()
        if not s then return end
        local max = S.get(set, K.SET_MAX)
        -- In debt the grant is raised; max may be unlimited.
        local debt = S.a[K.ARG_DEBT] and S.a[K.ARG_DEBT] ~= 0 and set[K.SET_AUTHORITY + 1] ~= 0
        local beyond = S.less(S.minus(MOST, max), by)
        if beyond and not debt then return S.turned_down(K.FULL, K.WHY_EXHAUSTED, s) end
        local function add(x, y)
            local low = x[2] + y[2]
            return {x[1] + y[1] + floor(low / 1000000000), low % 1000000000}
        end
        max = beyond and MOST or add(max, by)
        s.limit = S.limit(S.format(s), max, set[K.SET_MODE + 1], set[K.SET_RESET + 1])
        local top = S.less(s.cur, s.granted) and s.granted or s.cur
        if debt and not S.less(top, s.limit) then return S.turned_down(K.FULL, K.WHY_EXHAUSTED, s) end
        S.pset = {}
        for i = 1, #set do S.pset[i] = set[i] end
        S.pset[K.SET_MAX + 1], S.pset[K.SET_MAX + 2] = max[1], max[2]
        S.pset[K.SET_LIMIT + 1], S.pset[K.SET_LIMIT + 2] = s.limit[1], s.limit[2]
        if debt then
            top = S.less(S.minus(s.limit, top), by) and s.limit or add(top, by)
            s.granted, s.debt = top, top
            S.put_rule(s)
        end
        S.tell(K.OK, s)
        S.finish_max(max, s)
    end

    function S.setmaxcur()
        local set, cur = S.set, S.big(S.a[K.ARG_HIGHEST])
        local s = S.load()
        if not s then return end
        if not S.queued() then return S.turned_down(K.REFUSED, K.WHY_MODE, s) end
        if not S.less(s.cur, cur) then return S.tell(K.SAME, s) end
        local max = S.get(set, K.SET_MAX)
        if S.less(max, cur) then max = cur end
        local limit = S.limit(S.format(s), max, set[K.SET_MODE + 1], set[K.SET_RESET + 1])
        if S.less(limit, cur) then return S.turned_down(K.FULL, K.WHY_ROOM, s) end
        S.pset = {}
        for i = 1, #set do S.pset[i] = set[i] end
        S.pset[K.SET_MAX + 1], S.pset[K.SET_MAX + 2] = max[1], max[2]
        S.pset[K.SET_LIMIT + 1], S.pset[K.SET_LIMIT + 2] = limit[1], limit[2]
        s.limit, s.taken, s.cur = limit, cur, cur
        S.put_counters(s)
        S.drop_fills()
        S.tell(K.OK, s)
        S.finish_max(max, s)
    end

    function S.grant()
        local a = S.a
        local from, to = S.big(a[K.ARG_FROM]), S.big(a[K.ARG_TO])
        local s = S.load()
        if not s then return end
        if S.set[K.SET_AUTHORITY + 1] == 0 then
            S.answer = {K.INVALID, 'the rule has no authority (authority=0)'}
            return
        end
        if S.less(to, from) then
            S.answer = {K.INVALID, 'to is less than from'}
            return
        end
        if a[K.ARG_PERIOD] and a[K.ARG_PERIOD] ~= s.period then return S.tell(K.STALE, s) end
        local top, server = S.less(s.cur, s.granted) and s.granted or s.cur, S.server()
        local lost, bump = s.rule.N_STORE ~= server, false
        local moved = lost and s.rule.N_STORE ~= 0 -- otherwise it is the first grant of the rule
        local behind, free = S.less(top, from), s.debt[1] == 0 and s.debt[2] == 0
        local known = not behind and not S.less(s.granted, to) and (free or S.less(to, s.debt))
            or behind and free and not S.less(s.taken, s.limit) and s.granted[1] == s.limit[1] and s.granted[2] == s.limit[2]
        if known and not lost then return S.tell(K.SAME, s) end
        local beyond = false
        if moved or behind then
            -- The stock of this server may have been issued by the former server.
            local cur = behind and from or top
            beyond = S.less(s.limit, cur)
            if beyond then cur = s.limit end
            if S.less(s.cur, cur) and not S.queued() then
                if not S.lose then S.make_holds() end
                S.counted = S.lose(s, cur)
            end
            s.cur = cur
            s.taken, bump = s.cur, true
            S.raise_line(S.version + 1)
            S.put_counters(s)
            S.drop_fills()
        end
        -- Numbers between the limit and `from` may be granted to other stores: a higher limit needs a new grant.
        if beyond then s.granted = s.limit elseif S.less(s.granted, to) then s.granted = to end
        s.debt, s.rule.N_STORE = {0, 0}, server
        S.put_rule(s)
        S.tell(K.OK, s)
        S.finish_saying('granted', S.digits(s.granted), 'cur', S.digits(s.cur), bump)
    end
end
