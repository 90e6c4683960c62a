-- SPDX-License-Identifier: MIT
--
-- Lists, statistics, history: src/nouns/queue/queue_reads.c.

function S.make_reads()
    -- 'HI.ORDER', where a page ended
    function S.cursor()
        local hi, order = string.match(S.a[K.ARG_AFTER] or '', '^(%d+)%.(%d+)$')
        return tonumber(hi), tonumber(order)
    end

    function S.rows_max()
        local max = S.a[K.ARG_MAX] or K.LIST_DEFAULT
        return max < K.PAGE_MAX and max or K.PAGE_MAX
    end

    function S.list()
        local a = S.a
        local state, lane, max = a[K.ARG_STATE] or K.USER_WAITING, a[K.ARG_LANE] or nil,
            S.rows_max()
        local slot = state == K.USER_WAITING and '0' or state == K.USER_AWAY and '1' or '2'
        local hi, order = S.cursor()
        if not S.exists then S.status = K.MISSING return end
        local looked, n = 0, 0
        while true do
            local r = S.walk(K.KIND_USER, slot, slot ~= '2' and lane or nil, hi, order)
            if not r then return end
            if n == max or looked == K.PAGE_MAX then
                S.more, S.agent = 1, format('%.0f.%.0f', hi or 0, order or 0)
                return
            end
            hi, order, looked = slot == '0' and r.rank or slot == '1' and r.ends or 0, r.order, looked + 1
            if r.state == state and (not lane or lane == r.group) then
                n = n + 1
                S.rows = S.rows or {}
                S.rows[n] = {r.id, r.owner, r.group, '', r.U_NO ~= 0 and (S.find(K.KIND_AGENT, r.owner) or S.damaged()).order
                    or 0, r.U_NO, r.state, r.U_PRIORITY, r.U_SINCE, r.U_APPLIED, r.U_MATCHED, S.shown_until(r), 0, 0, 0, 0, 0, 0, r.order,
                    r.token, ''}
            end
        end
    end

    function S.agents()
        local a = S.a
        local max, from, n = S.rows_max(), '[1n', 0
        if not S.exists then S.status = K.MISSING return end
        if a[K.ARG_AFTER] then from = '(1n' .. a[K.ARG_AFTER] end
        while true do
            local m = call('ZRANGEBYLEX', INDEX, from, '(' .. K.KIND_AGENT .. 'n\255', 'LIMIT', '0', '1')[1]
            if not m then
                S.agent = ''
                return
            end
            if n == max then S.more = 1 return end
            local r = S.agent_read(S.find(K.KIND_AGENT, sub(m, 3)))
            from, n, S.agent = '(' .. m, n + 1, r.id
            S.rows = S.rows or {}
            S.rows[n] = {r.reason, r.id, '', table.concat(r.lanes, ','), r.order, 0, S.shown(r), 0, r.since, 0, r.A_STATE_SINCE,
                r.state == K.AGENT_WRAPUP and r.A_WRAP or 0,
                0, 0, r.A_CAPACITY, S.used(r), r.A_SERVED, r.A_LEVEL, 0, r.login, ''}
        end
    end

    -- Return longest_wait, longest_since and the number of passed users: see longest_waits() in C.
    function S.longest_waits(lane, passed)
        local rank, order, came, longest = nil, nil, 0, 0
        while true do
            local r = S.walk(K.KIND_USER, '0', lane, rank, order)
            if not r then return longest, came, passed end
            if S.place_of(r) ~= r.rank then S.damaged() end
            local since = S.lasted(r.U_SINCE, S.now)
            came, longest = math.max(came, since), math.max(longest, math.min(since, S.lasted(r.U_APPLIED, S.now)))
            if since > longest and passed < K.STEP_MAX then
                rank, order, passed = r.rank, r.order, passed + 1
            else
                if since > longest then passed = K.STEP_MAX + 1 end
                rank, order = (K.PRIORITY_MAX - r.U_PRIORITY) * 8796093022208 + K.PLACE_MAX, 9007199254740991
            end
        end
    end

    -- Count the agent @a, which is paused, in the row of its reason.
    function S.paused_add(a)
        S.agent_read(a)
        S.rows = S.rows or {}
        for _, row in ipairs(S.rows) do
            if row[1] == a.reason then
                row[17] = row[17] + 1
                return
            end
        end
        local row = K.NOTICE_ROW
        row[1], row[17] = a.reason, 1
        S.rows[#S.rows + 1] = row
    end

    -- Count the paused agents of the queue by reason; at most K.STEP_MAX agents are read for it.
    function S.paused_count()
        local left, order, passed = S.cnt(K.AGENT_PAUSED), 0, 0
        while left > 0 do
            local a = S.walk(K.KIND_AGENT, '2', nil, 0, order) or S.damaged()
            if passed == K.STEP_MAX then
                S.more = 1
                return
            end
            if a.state == K.AGENT_PAUSED then
                S.paused_add(a)
                left = left - 1
            end
            order, passed = a.order, passed + 1
        end
    end

    -- Count the agents that serve @lane by state, and paused ones by reason, at most K.STEP_MAX of them.
    function S.servers_count(lane, x)
        local counted = 0
        for _, of in ipairs({lane, '*'}) do
            local r = S.server(of)
            while r do
                if counted == K.STEP_MAX then
                    S.more = 1
                    return
                end
                local a = S.find(K.KIND_AGENT, r.group) or S.damaged()
                x[5 + a.state], counted = x[5 + a.state] + 1, counted + 1
                if a.state == K.AGENT_PAUSED then S.paused_add(a) end
                r = S.server(of, r.order)
            end
        end
    end

    -- Return the first lane after @after, or nil.
    function S.lane_next(after)
        local m = call('ZRANGEBYLEX', INDEX, (after and '(' or '[') .. K.KIND_LANE .. 'n' .. (after or ''),
            '(' .. K.KIND_LANE .. 'n\255', 'LIMIT', '0', '1')[1]
        if m and byte(m, 3) == 44 then return S.lane_next(',:') end -- the comma of earlier figures
        return m and S.find(K.KIND_LANE, sub(m, 3))
    end

    local ALL = '>' .. string.rep('I7', K.FIGURES)

    local function add(to, data)
        local by = {struct.unpack(ALL, data)}
        for i = F_ARRIVED, K.FIGURES do to[i] = to[i] + by[i] end
    end

    -- Add the users of @l to @x, its figures of today to @f, and those of its life to @life.
    function S.lane_add(l, f, x, life)
        if not S.earlier then S.make_figures() end
        x[1], x[2], x[3], x[4] = x[1] + l.L_WAITING, x[2] + l.L_AWAY, x[3] + l.L_OFFERED, x[4] + l.L_SEATED
        if struct.unpack('>I7', l.data) >= S.day_start(S.now) then add(f, l.data) end
        if life then
            add(life, l.data)
            add(life, S.earlier(l.order).data)
        end
    end

    -- Return the figures of lanes that were removed.
    function S.removed()
        if not S.earlier then S.make_figures() end
        return S.earlier(0).data
    end

    function S.zeros()
        local f = {}
        for i = 1, K.FIGURES do f[i] = 0 end
        return f
    end

    local function share(part, whole) return whole > 0 and floor(part * 10000 / whole) or -1 end

    -- Set the statistics of a day that @f has.
    function S.today(f, x)
        x[13], x[14], x[15], x[16] = f[F_SEATED], f[F_ABANDONED], f[F_TIMEOUT], f[F_FINISHED]
        x[17] = share(f[F_WITHIN], f[F_SEATED] + f[F_ABANDONED] + f[F_TIMEOUT] - f[F_ABANDONED_WITHIN])
        x[18] = f[F_SEATED] > 0 and floor(f[F_WAIT] / f[F_SEATED]) or -1
        x[19] = f[F_FINISHED] > 0 and floor(f[F_TALK] / f[F_FINISHED]) or -1
        x[20], x[23], x[24], x[25] = f[F_DROPPED], f[F_ARRIVED], f[F_WITHIN], f[F_ABANDONED_WITHIN]
        x[26] = share(f[F_WITHIN], f[F_SEATED])
    end

    -- Set the statistics of the life of the queue that @f has.
    function S.life(f, x)
        x[27], x[28], x[29], x[30], x[31] = f[F_ARRIVED], f[F_SEATED], f[F_WITHIN], f[F_ABANDONED], f[F_ABANDONED_WITHIN]
        x[32], x[33], x[34], x[35], x[36] = f[F_TIMEOUT], f[F_FINISHED], f[F_DROPPED], f[F_WAIT], f[F_TALK]
    end

    function S.lanes()
        local max, n, l, passed = S.rows_max(), 0, nil, 0
        if not S.exists then S.status = K.MISSING return end
        l = S.lane_next(S.a[K.ARG_AFTER])
        while l do
            if n == max or passed >= K.STEP_MAX then S.more = 1 return end
            local x, f = {0, 0, 0, 0}, S.zeros()
            n, S.agent = n + 1, l.id
            x[11], x[12], passed = S.longest_waits(l.id, passed)
            S.lane_add(l, f, x)
            S.today(f, x)
            S.rows = S.rows or {}
            S.rows[n] = {'', '', l.id, '', x[23], x[17], 0, x[1], x[2], x[3], x[4], x[11], x[18], x[19], x[13], x[14], x[15], x[16], x[24], x[25], ''}
            l = S.lane_next(l.id)
        end
        S.agent = ''
    end

    function S.stats()
        S.extra = {}
        for i = 1, K.STATS do S.extra[i] = 0 end
        if not S.exists then S.status = K.MISSING return end
        local x, f, life, lane, passed = S.extra, S.zeros(), S.zeros(), S.a[K.ARG_LANE] or nil, 0
        local l
        if lane then l = S.find(K.KIND_LANE, lane) else l = S.lane_next() end
        while l do
            S.lane_add(l, f, x, life)
            l = not lane and S.lane_next(l.id)
        end
        if not lane then add(life, S.removed()) end
        if lane and S.cnt(K.COUNT_FOR_ALL) < S.cnt(K.AGENT_IDLE) + S.cnt(K.AGENT_OFFERED) + S.cnt(K.AGENT_BUSY) + S.cnt(K.AGENT_WRAPUP) + S.cnt(K.AGENT_PAUSED) then
            S.servers_count(lane, x)
        else
            for i = 1, 5 do x[5 + i] = S.cnt(i) end
            S.paused_count()
        end
        for i = 6, 10 do x[5] = x[5] + x[i] end
        x[11], x[12], passed = S.longest_waits(lane, 0)
        if passed > K.STEP_MAX then S.more = 1 end
        S.today(f, x)
        S.life(life, x)
        x[21], x[22] = S.cnt(K.COUNT_VISITS), S.set[K.SET_SCOPE_MODE + 1]
        local reason = S.find(K.KIND_REFUSAL, '?mode')
        S.user = reason and reason.data or ''
    end

    -- Return an iterator over the lane of the command, or all.
    local function lanes_of()
        local lane, l, done = S.a[K.ARG_LANE] or nil, nil, false
        if not S.earlier then S.make_figures() end
        return function()
            if not lane then
                l = S.lane_next(l and l.id)
                return l
            end
            l, done = not done and S.find(K.KIND_LANE, lane) or nil, true
            return l
        end
    end

    local PARTS = '>I7I7I7I7I7I7I7I7'

    function S.intervals()
        local rows, day, n = {}, S.day_start(S.now), 0
        local first = math.max(floor((day - K.DAY_SHIFT) / 15), 0)
        if not S.exists then S.status = K.MISSING return end
        for l in lanes_of() do
            if struct.unpack('>I7', l.data) >= day then
                local e, last = S.earlier(l.order).data, {0, 0, 0, 0, 0, 0, 0, 0}
                e = e .. sub(l.data, K.F_QUARTER * 7 - 6, K.F_QUARTER * 7 - 7 + K.QUARTER_BYTES)
                for at = K.FIGURES_BYTES + 1, #e, K.QUARTER_BYTES do
                    local part = {struct.unpack(PARTS, e, at)}
                    local to = rows[part[1] - first] or {0, 0, 0, 0, 0, 0, 0, 0}
                    rows[part[1] - first] = to
                    for i = 2, 8 do to[i] = to[i] + part[i] - last[i] end
                    last = part
                end
            end
        end
        S.rows = {}
        for i = 0, K.QUARTERS_MAX - 1 do
            local f = rows[i]
            if f and f[2] + f[3] + f[4] + f[5] + f[6] + f[7] + f[8] > 0 then
                n = n + 1
                S.rows[n] = {'', '', '', '', 0, 0, 0, f[2], (first + i) * 900000, 0, 0, 0, f[7], f[8], f[3], f[4], f[5], f[6], 0, 0, ''}
            end
        end
    end

    function S.waits()
        local f, sum, n = S.zeros(), 0, 0
        if not S.exists then S.status = K.MISSING return end
        for l in lanes_of() do
            add(f, l.data)
            add(f, S.earlier(l.order).data)
        end
        if not S.a[K.ARG_LANE] then add(f, S.removed()) end
        S.rows = {}
        for bound in string.gmatch(K.WAIT_BOUNDS .. '-0.001', '%S+') do
            sum, n = sum + f[F_WAITS + n], n + 1
            S.rows[n] = {'', '', '', '', 0, 0, 0, 0, 0, 0, 0, bound * 1000, 0, 0, 0, 0, sum, 0, 0, 0, ''}
        end
    end

    -- Return a visit as a row.
    function S.visit_row(r)
        local seated = r.state < 2 or r.state > 4 -- usher__queue_had_room()
        return {r.group, r.owner, r.data, '', r.VISIT_LOGIN, r.VISIT_NO, r.state, r.VISIT_PRIORITY, r.VISIT_SINCE, r.VISIT_APPLIED, r.VISIT_SEATED,
            r.VISIT_END, S.lasted(r.VISIT_APPLIED, seated and r.VISIT_SEATED or r.VISIT_END), seated and S.lasted(r.VISIT_SEATED, r.VISIT_END) or 0, 0, 0, 0, 0,
            r.order, r.VISIT_TOKEN, ''}
    end

    function S.history()
        local a = S.a
        local max, since, till = S.rows_max(), a[K.ARG_SINCE] or nil, a[K.ARG_UNTIL] or nil
        local user, agent = a[K.ARG_USER] or nil, a[K.ARG_AGENT] or nil
        local _, before = S.cursor()
        if not S.exists then S.status = K.MISSING return end
        local looked, n = 0, 0
        while true do
            local r = S.walk(K.KIND_VISIT, '0', user, 0, before, true)
            if not r then return end
            if n == max or looked == K.PAGE_MAX then
                S.more, S.agent = 1, format('0.%.0f', before)
                return
            end
            before, looked = r.order, looked + 1
            if (not agent or agent == r.owner) and (not since or r.VISIT_END >= since)
                and (not till or r.VISIT_END <= till) then
                n = n + 1
                S.rows = S.rows or {}
                S.rows[n] = S.visit_row(r)
            end
        end
    end

    -- Erase the visits that ended up to the given version and time.
    function S.drop_visits(token, till)
        local behind, r, n = nil, nil, 0
        repeat
            n = 0
            while n < K.CHANGE_MAX do
                r = S.walk(K.KIND_VISIT, '0', nil, 0, behind)
                if r and r.order > token then r = nil end
                if not r then break end
                behind = r.order
                if not till or r.VISIT_END <= till then
                    S.erase(r)
                    n = n + 1
                end
            end
            if n > 0 then
                S.add(K.COUNT_VISITS, -n)
                S.apply()
                S.counted = S.counted + n
            end
        until not r or S.counted >= K.LIST_MAX
    end

    function S.drain()
        local a, behind, n = S.a, nil, 0
        local max = S.rows_max()
        if not S.exists then S.status = K.MISSING return end
        if a[K.ARG_TOKEN] then S.drop_visits(a[K.ARG_TOKEN], a[K.ARG_UNTIL] or nil) end
        while true do
            local r = S.walk(K.KIND_VISIT, '0', nil, 0, behind)
            if not r then break end
            if n == max then
                S.more = 1
                break
            end
            behind, n = r.order, n + 1
            S.rows = S.rows or {}
            S.rows[n] = S.visit_row(r)
        end
        S.status = (S.counted > 0 or n > 0) and K.OK or K.SAME
    end
end
