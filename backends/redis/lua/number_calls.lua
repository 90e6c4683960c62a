-- SPDX-License-Identifier: MIT
--
-- Calls: src/nouns/number/number_calls.c.

-- ---- call ---------------------------------------------------------------------------------

-- Return 32 well mixed bits of version @v: draw() in src/core/number.c.
function S.draw(v, salt)
    local function mul(a, b)
        local low, high = a % 65536, floor(a / 65536)
        return (high * b % 65536 * 65536 + low * b) % 4294967296
    end
    local function mix(x)
        x = bit.bxor(x, bit.rshift(x, 16)) % 4294967296
        x = mul(x, 2246822507)
        x = bit.bxor(x, bit.rshift(x, 13)) % 4294967296
        x = mul(x, 3266489909)
        return bit.bxor(x, bit.rshift(x, 16)) % 4294967296
    end
    local high = mix((floor(v / 4294967296) + salt + 2654435769) % 4294967296)
    return mix(bit.bxor(v % 4294967296, high) % 4294967296)
end

-- Return the new state and the status of a call of @r: see move_by_call().
function S.move_by_call(r)
    local owner, guard = S.a[K.ARG_OWNER], K.NUMBER_IF_ANY
    if r.state >= K.NUMBER_BUSY_DOWN then
        if owner then guard = owner == r.owner and K.NUMBER_IF_HOLDER or K.NUMBER_IF_OTHER end
    elseif r.ends ~= 0 or S.reached_cap(r, S.now) then
        guard = K.NUMBER_IF_RESTING
    end
    return S.move(K.NUMBER_MOVES, r.state, K.NUMBER_E_CALL, guard)
end

-- Give @r, which is listed as free, to this call.  Return false if the table does not allow it.
function S.take_free(r)
    local to, what = S.move_by_call(r)
    if what ~= K.OK then return false end
    S.take_number(r, to)
    return true
end

-- Give @r to this call and set its state to @to: see take_number().
function S.take_number(r, to)
    local a, set, v, today, ends = S.a, S.set, S.version + 1, S.day_of(S.now), r.ends
    local state, lease, calls = r.state, a[K.ARG_LEASE] or set[K.SET_LEASE + 1], r.N_DAY >= today and r.N_CALLS or 0
    r.day = r.N_DAY
    S.set_state(r, to, lease > 0 and S.moment + lease or 0, v)
    r.token, r.order = v, v
    r.N_CALLS, r.N_DAY, r.N_USED, r.N_LEASE, r.owner = calls + 1, math.max(r.N_DAY, today), S.moment, lease, a[K.ARG_OWNER] or ''
    if S.count[K.COUNT_CALLS_DAY + 1] < today then
        S.add(K.COUNT_CALLS_DAY, today - S.count[K.COUNT_CALLS_DAY + 1])
        S.add(K.COUNT_CALLS_BEFORE, S.count[K.COUNT_CALLS + 1] - S.count[K.COUNT_CALLS_BEFORE + 1])
    end
    S.add(K.COUNT_CALLS, 1)
    S.say(K.OK, r)
    if a[K.ARG_NODE] then
        local of = S.fresh(K.KIND_NODE, r.id)
        r.data = a[K.ARG_NODE]
        of.owner, of.order, of.token, of.slots = r.data, v, v, 4
        S.save(of)
    end
    local peer = a[K.ARG_STICKY]
    if peer and set[K.SET_STICKY_MS + 1] > 0 and set[K.SET_STICKY_MAX + 1] > 0 then
        local memory = S.find(K.KIND_STICKY, peer) or S.fresh(K.KIND_STICKY, peer)
        memory.owner, memory.ends = r.id, S.moment + set[K.SET_STICKY_MS + 1]
        if not S.remember then S.make_memory() end
        S.remember(memory, K.COUNT_STICKY, set[K.SET_STICKY_MAX + 1], v)
    end
    S.finish(r, state, ends, true, r.state)
end

-- Return the first number in the order of the pool, of @group or of all, without those on the over-cap list:
-- see first_idle().
function S.first_idle(group)
    local order = S.set[K.SET_ORDER + 1]
    local r
    if order == K.ORDER_RANDOM then
        r = S.walk(K.KIND_NUMBER, '0', group, K.QUEUED, 0)
        return r and r.rank < K.ASIDE and r or S.draw_from(group)
    end
    r = S.walk(K.KIND_NUMBER, '0', group)
    if not r or r.rank >= K.ASIDE then return nil end
    if r.rank < K.QUEUED or order == K.ORDER_LONGEST_IDLE then return r end
    return S.walk(K.KIND_NUMBER, '0', group, K.ASIDE, 0, true)
end

-- A fair draw: see draw() in src/nouns/number/number.c.
function S.draw_from(group)
    local v = S.version + 1
    local left, turned = S.draw(v, 2097152) % K.DRAW_STEPS, false
    local p = group and K.KIND_NUMBER .. 'a' .. group .. '\0' or K.KIND_NUMBER .. '0'
    local from, to = '(' .. p .. spack('>I7I7', S.draw(v, 0), 0) .. '\255', '(' .. p .. K.QUEUED_BYTES
    while true do
        local got = call('ZRANGEBYLEX', INDEX, from, to, 'LIMIT', '0', string.format('%d', left + 1))
        local n = #got
        if n > left then return S.find(K.KIND_NUMBER, sub(got[left + 1], #p + 15)) end
        if n == 0 and turned then return nil end
        left, from, turned = left - n, '[' .. p, true
    end
end

function S.make_call()
    -- Count a call that gets no number.  This is not a change and has no version.
    function S.count_refusal()
        if not S.exists then return end
        local today = S.day_of(S.now)
        if S.count[K.COUNT_REFUSED_DAY + 1] < today then
            S.add(K.COUNT_REFUSED_DAY, today - S.count[K.COUNT_REFUSED_DAY + 1])
            S.add(K.COUNT_REFUSED_BEFORE, S.count[K.COUNT_REFUSED + 1] - S.count[K.COUNT_REFUSED_BEFORE + 1])
        end
        S.add(K.COUNT_REFUSED, 1)
        S.apply()
    end

    -- Return when @r may be free if its hold or rest ends at @at; 0 if unknown.
    function S.free_at(r, at)
        if r.state == K.NUMBER_BUSY_UP and at ~= 0 then
            at = S.rested(r, at, S.set[K.SET_REST + 1])
        elseif r.state == K.NUMBER_IDLE_UP and at == 0 then
            at = S.moment
        elseif r.state ~= K.NUMBER_IDLE_UP then
            at = 0
        end
        return at ~= 0 and S.reached_cap(r, at) and S.day_end(at) or at
    end

    -- Return an iterator over holds and rests in the order of their ends; it returns the next number, and when
    -- it ends.  See ends_next().  @e.looked counts the holds that were read, of all groups.
    local function ends(group, e)
        local r = {S.walk(K.KIND_NUMBER, '1', group), S.first_limited()}
        local limit = 0
        e.looked = 1
        return function()
            while r[1] or r[2] do
                local by_limit = r[2] and math.max(S.limit_end(r[2]), limit) -- holds end in their order
                local list = r[2] and (not r[1] or by_limit < r[1].ends) and 2 or 1
                local this = r[list]
                local at = list == 1 and this.ends or by_limit
                if list == 2 then limit = at end
                if list == 2 and e.looked > K.EXPIRE_MAX then return this, at end
                if list == 1 then
                    r[1] = S.walk(K.KIND_NUMBER, '1', group, this.ends, this.order)
                else
                    r[2], e.looked = S.first_limited(this.order), e.looked + 1
                end
                local by_lease = S.end_of(this) == this.ends
                if list == 1 and by_lease or list == 2 and not by_lease and (not group or this.group == group) then
                    return this, at
                end
            end
        end
    end

    -- Return when the next number of @group, of which @rests rest, may become free, or @best if that is
    -- earlier: see next_free().
    function S.next_free(group, rests, best)
        local e, held, n = {}, false, 0
        for r, at_end in ends(group, e) do
            if best >= 0 and at_end >= best or held and rests == 0 then return best end
            if n == K.EXPIRE_MAX or e.looked > K.EXPIRE_MAX then return at_end end
            local at = S.free_at(r, at_end)
            if at > 0 and (best < 0 or at < best) then best = at end
            if r.state == K.NUMBER_IDLE_UP then
                rests = rests - 1
            elseif at == at_end + S.set[K.SET_REST + 1] then
                held = true
            end
            n = n + 1
        end
        return best
    end

    -- See find_shortage().  Return whether the idle list has numbers that are over the cap.
    function S.shortage(group, rests)
        local capped = S.walk(K.KIND_NUMBER, '0', group) ~= nil
        if capped then
            local morning = S.day_end(S.now)
            if S.next_at < 0 or morning < S.next_at then S.next_at = morning end
        end
        S.next_at = S.next_free(group, rests, S.next_at)
        return capped
    end

    -- Answer that no number is free in the requested groups, why, and until when.
    function S.exhausted()
        if not S.expire then S.make_expiry() end
        local total, up, rest, list, count, capped = 0, 0, 0, S.a[K.ARG_GROUPS], S.count, false
        local all = not list or find(',' .. list .. ',', ',*,', 1, true)
        if S.exists and all then
            total = count[2] + count[3] + count[4] + count[5]
            up, rest = count[K.NUMBER_BUSY_UP + 1], count[K.COUNT_RESTING + 1]
            capped = S.shortage(nil, rest)
        elseif S.exists then
            for group in string.gmatch(list, '[^,]+') do
                local g = S.find(K.KIND_GROUP, group)
                if g then
                    total, up, rest = total + g.N_TOTAL, up + g.N_BUSY_UP, rest + g.N_RESTING
                    capped = S.shortage(group, g.N_RESTING) or capped
                end
            end
        end
        S.count_refusal()
        S.status = K.EMPTY
        S.why = total == 0 and K.WHY_NO_NUMBER or up > 0 and K.WHY_BUSY or rest > 0 and K.WHY_RESTING
            or capped and K.WHY_CAPPED or K.WHY_DOWN
    end

    -- Answer that the mode of the pool forbids the call, whatever is free.
    function S.not_accepted()
        S.status, S.why = K.EMPTY, S.forbidden()
        S.count_refusal()
    end

    function S.turned_down(r)
        local why = S.forbidden()
        local at = not why and S.free_at(r, S.end_of(r)) or 0
        S.say(K.REFUSED, r)
        S.token = 0
        S.why = why or r.state >= K.NUMBER_BUSY_DOWN and K.WHY_BUSY or r.state == K.NUMBER_IDLE_DOWN and K.WHY_DOWN
            or r.ends ~= 0 and K.WHY_RESTING or K.WHY_CAPPED
        S.next_at = at > 0 and at or -1
        S.count_refusal()
    end

    -- Give the number last used for this call's peer.  Return false if it is unknown or not free.
    function S.take_sticky()
        local memory = S.find(K.KIND_STICKY, S.a[K.ARG_STICKY])
        if not memory or memory.ends <= S.moment then return false end
        local r, list = S.load(memory.owner), S.a[K.ARG_GROUPS]
        if r.slots % 2 == 0 or S.reached_cap(r, S.now) then return false end
        if list then
            list = ',' .. list .. ','
            if not find(list, ',*,', 1, true) and
                (r.group == '' or not find(list, ',' .. r.group .. ',', 1, true)) then
                return false
            end
        end
        return S.take_free(r)
    end

    -- Give @r to the call if the table allows it; otherwise answer why not.
    function S.call_one(r)
        local to, what = S.move_by_call(r)
        if what == K.REFUSED or what == K.OK and S.forbidden() then return S.turned_down(r) end
        if what == K.OK then return S.take_number(r, to) end
        S.say(what, r)
    end
end

-- Return why the mode of the pool forbids a new call; nil: it does not.
function S.forbidden()
    local mode = S.set[K.SET_SCOPE_MODE + 1]
    return mode == K.SCOPE_MODE_CLOSED and K.WHY_CLOSED or mode == K.SCOPE_MODE_STOPPED and K.WHY_STOPPED or nil
end

-- See usher__defer().
function S.defer()
    S.behind, S.status, S.why = true, K.REFUSED, K.WHY_DUE
    S.because = 'too many expiries are pending on this scope: retry'
    if S.verb == K.V_STATS or S.verb == K.V_SET then
        S.extra = {}
        for i = 1, S.verb == K.V_SET and K.SETTINGS or 16 do S.extra[i] = 0 end
    elseif S.verb == K.V_CHANGES then
        S.extra = {0, 0}
    end
    return true
end

-- Count a step of a call that searches for a number.  Return false if no step is left.
function S.step()
    S.left = S.left - 1
    return S.left >= 0
end

-- Give the first number of @group (nil: any) to this call.  Apply expiries and changed limits to the numbers
-- before it.  Return false if there is none.  See take_first() and find_more().
function S.take_first(group)
    while true do
        local r, judged = S.first_idle(group), S.count[K.COUNT_JUDGE + 1] == 0
        if r and judged then return S.take_free(r) end
        if not S.expire then S.make_expiry() end
        r = r or S.first_aside(group)
        if r then
            if judged or S.is_right(r) then return S.take_free(r) end
            if not S.step() then return S.defer() end
            S.judge_one(r)
        else
            r = S.due >= 0 and S.due <= S.now and S.first_due(group)
            if r then
                if not S.step() then return S.defer() end
                S.expire_one(r)
            else
                if judged then return false end
                if S.left <= 0 then return S.defer() end
                S.left = S.judge(S.left)
            end
        end
    end
end

function S.call_any()
    local a = S.a
    local owner, list = a[K.ARG_OWNER], a[K.ARG_GROUPS]
    S.left = S.left or K.JUDGE_MAX -- shared by all commands of the call
    if S.exists then
        local r = owner and S.walk(K.KIND_NUMBER, '2', owner)
        while r and S.is_due(r) do
            if not S.step() then return S.defer() end
            if not S.expire then S.make_expiry() end
            S.expire_one(r)
            r = S.walk(K.KIND_NUMBER, '2', owner)
        end
        if r then
            if not S.call_one then S.make_call() end
            return S.call_one(r)
        end
        if S.forbidden() then
            if not S.not_accepted then S.make_call() end
            return S.not_accepted()
        end
        if a[K.ARG_STICKY] then
            if not S.take_sticky then S.make_call() end
            if S.take_sticky() then return end
        end
        if not list then
            if S.take_first(nil) then return end
        else
            for group in string.gmatch(list, '[^,]+') do
                if S.take_first(group ~= '*' and group or nil) then return end
            end
        end
    end
    if not S.exhausted then S.make_call() end
    S.exhausted()
end
