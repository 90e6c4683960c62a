-- SPDX-License-Identifier: MIT
--
-- Reads, and the choice of the function for a verb: src/nouns/number/number_reads.c.

-- ---- reads --------------------------------------------------------------------------------

function S.make_reads()
    S.make_expiry()

    -- Change @r to what it is after all due expiries.  Nothing is written.
    function S.look(r)
        while S.is_due(r) do S.expire(r, r.order) end
        if S.rests_otherwise(r) then S.set_state(r, r.state, S.rests_until(r), r.order) end
        return r
    end

    function S.add_row(r)
        S.rows = S.rows or {}
        S.rows[#S.rows + 1] = {r.id, r.group, r.owner, r.state,
            r.state == K.NUMBER_IDLE_UP and r.ends ~= 0 and 1 or 0, r.token, S.end_of(r),
            r.N_DAY >= S.day_of(S.now) and r.N_CALLS or 0, r.N_USED, r.state == K.NUMBER_IDLE_UP and S.reached_cap(r, S.now) and 1 or 0,
            r.state >= K.NUMBER_BUSY_DOWN and math.max(S.moment - r.N_USED, 0) or 0, r.state >= K.NUMBER_BUSY_DOWN and r.data or '', ''}
    end

    function S.show()
        local r = S.exists and S.find(K.KIND_NUMBER, S.a[K.ARG_NUMBER])
        if not r then return S.nodata(K.MISSING) end
        S.say(K.OK, S.look(r))
        S.add_row(r)
    end

    -- Members are fetched by the hundred, and their records with one HMGET.
    function S.list()
        if not S.exists then S.status = K.MISSING return end
        local a = S.a
        local owner, node, state, max = a[K.ARG_OWNER], a[K.ARG_NODE], a[K.ARG_STATE],
            a[K.ARG_MAX] or K.LIST_DEFAULT
        local holds = owner or node or state and state >= K.NUMBER_BUSY_DOWN
        local key, p, width, from = INDEX, K.KIND_NUMBER .. 'n', 0, a[K.ARG_AFTER]
        if holds then
            key, p, width = HELD, node and K.KIND_NODE .. 'c' .. node .. '\0' or owner and K.KIND_NUMBER .. 'c' .. owner .. '\0' or K.KIND_NUMBER .. '2', 7
            local order = from and S.as_token(from)
            if from and not order then S.answer = {K.INVALID, 'after is not a token; calls are listed by token'} return end
            from = from and '(' .. p .. spack('>I7', order) .. '\255'
        else
            from = from and '(' .. K.KIND_NUMBER .. 'n' .. from
        end
        from = from or '[' .. p
        local looked, n = 0, 0
        while true do
            local members = call('ZRANGEBYLEX', key, from, '(' .. p .. '\255', 'LIMIT', '0', '100')
            local fields = {}
            for i = 1, #members do fields[i] = K.KIND_NUMBER .. ':' .. sub(members[i], #p + width + 1) end
            if #fields > 0 then
                local got = call('HMGET', HASH, unpack(fields))
                for i = 1, #fields do
                    if S.cache[fields[i]] == nil then S.cache[fields[i]] = got[i] end
                end
            end
            for i = 1, #members do
                if n == max or looked == K.PAGE_MAX then
                    S.more = 1
                    return
                end
                local r = S.find(K.KIND_NUMBER, sub(fields[i], 3))
                looked, S.number = looked + 1, holds and string.format('%.0f', r.order) or r.id
                S.look(r)
                if (not state or state == K.BUSY or r.state == state) and (not holds or r.state >= K.NUMBER_BUSY_DOWN) then
                    S.add_row(r)
                    n = n + 1
                end
            end
            if #members < 100 then break end
            from = '(' .. members[100]
        end
        S.number = ''
    end

    function S.stats()
        if not S.exists then S.status = K.MISSING return end
        local c, hi, order, longest, aside, looked = {}, nil, nil, 0, S.count_capped(), 0
        local expired, freed = S.count[K.COUNT_EXPIRED + 1], S.count[K.COUNT_FREED + 1]
        for i = 1, 5 do c[i] = S.count[i + 1] end
        -- Count @r, which is due unless an outage moves its lease, in the state that it has after its expiry.
        local function count_as_it_is(r)
            local held = r.state >= K.NUMBER_BUSY_DOWN
            c[r.state] = c[r.state] - 1
            if r.state == K.NUMBER_IDLE_UP then c[5] = c[5] - 1 end
            S.look(r)
            c[r.state] = c[r.state] + 1
            if r.state == K.NUMBER_IDLE_UP and r.ends ~= 0 then c[5] = c[5] + 1 end
            if r.rank >= K.ASIDE then aside = aside + 1 end
            if held and r.state < K.NUMBER_BUSY_DOWN then expired = expired + 1 end
        end
        while true do
            local r = S.walk(K.KIND_NUMBER, '1', nil, hi, order)
            if not r or r.ends > S.moment or looked == K.PAGE_MAX then break end
            looked, hi, order = looked + 1, r.ends, r.order
            count_as_it_is(r)
        end
        local more = looked == K.PAGE_MAX
        order = nil
        while true do
            local r = S.walk(K.KIND_NUMBER, '2', nil, 0, order)
            if not r then break end
            order = r.order
            if not S.is_due(r) or looked == K.PAGE_MAX then
                longest, more = math.max(S.moment - r.N_USED, 0), looked == K.PAGE_MAX
                break
            end
            looked = looked + 1
            if r.ends == 0 or r.ends > S.moment then count_as_it_is(r) end -- ended by `lease-max`
        end
        S.more = (more or S.count[K.COUNT_JUDGE + 1] ~= 0) and 1 or 0
        local today, calls, refused = S.day_of(S.now), S.count[K.COUNT_CALLS + 1], S.count[K.COUNT_REFUSED + 1]
        S.extra = {c[1] + c[2] + c[3] + c[4], c[2], c[1], c[4], c[3], c[5],
            S.count[K.COUNT_CALLS_DAY + 1] >= today and calls - S.count[K.COUNT_CALLS_BEFORE + 1] or 0,
            S.count[K.COUNT_REFUSED_DAY + 1] >= today and refused - S.count[K.COUNT_REFUSED_BEFORE + 1] or 0, longest,
            aside, S.set[K.SET_SCOPE_MODE + 1], calls, refused, calls - c[4] - c[3] - expired - freed, expired, freed}
        S.reason(K.KIND_REASON, 0, nil, false, 3)
    end
end

-- ---- all together -------------------------------------------------------------------------

function S.run()
    local verb = S.verb
    if S.behind then return S.defer() end
    if S.drop_meet() then return S.defer() end
    if verb == K.V_SHOW or verb == K.V_LIST or verb == K.V_STATS or verb == K.V_CHANGES then
        S.meet_outage(false)
        if not S.look then S.make_reads() end
        if verb == K.V_SHOW then return S.show() end
        if verb == K.V_LIST then return S.list() end
        if verb == K.V_CHANGES then
            if not S.log_add then S.make_log() end
            return S.log_changes()
        end
        S.stats()
        if not S.extra then S.extra = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0} end
        return
    end
    if S.req then
        S.answer = S.kept()
        if S.answer then return end
    end
    if verb == K.V_DROP then
        S.counted = S.drop_scope() or 0
        S.more = S.dropping() and 1 or 0
        return
    end
    local version = S.version
    S.meet_outage(true)
    if verb ~= K.V_SWEEP and S.due >= 0 and S.due <= S.now then
        if not S.expire then S.make_expiry() end
        S.expire_due(K.EXPIRE_MAX, K.JUDGE_ON_WAY)
    end
    if S.other_version() then return end
    if verb == K.V_CALL then
        local id = S.a[K.ARG_NUMBER]
        if not id then return S.call_any() end
        if not S.call_one then S.make_call() end
        return S.call_one(S.load(id))
    end
    if verb == K.V_HANGUP then return S.hangup() end
    if verb == K.V_RENEW and S.a[K.ARG_NUMBER] then return S.renew() end
    if verb == K.V_ADD then return S.simple(K.NUMBER_E_ADD) end
    if verb == K.V_DEL then return S.simple(K.NUMBER_E_DEL) end
    if verb == K.V_REG then return S.simple(K.NUMBER_E_REG) end
    if verb == K.V_UNREG then return S.simple(K.NUMBER_E_UNREG) end
    if not S.several then S.make_steps() end
    if verb == K.V_FREE then return S.free() end
    if verb == K.V_RENEW then return S.renew_node() end
    if verb == K.V_SWEEP then return S.sweep(version) end
    if verb == K.V_LIFT then return S.lift() end
    if verb == K.V_MOVE then return S.move_group() end
    if verb == K.V_SET then return S.settings() end
    S.answer = {K.INVALID, 'unknown verb'}
end
