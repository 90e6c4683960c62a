-- SPDX-License-Identifier: MIT
--
-- The verbs of a number pool: the same steps as src/nouns/number/number.c, in its order.  The records and the
-- names of their numbers are in src/core/number_records.def.
local find, floor = string.find, math.floor

function S.day_of(at) return floor((at + S.set[K.SET_ZONE + 1] * 60000) / 86400000) end
function S.day_end(at) return (S.day_of(at) + 1) * 86400000 - S.set[K.SET_ZONE + 1] * 60000 end

-- ---- the answer -------------------------------------------------------------------------

function S.begin()
    S.state, S.why, S.token, S.ends, S.next_at, S.counted, S.more, S.number, S.extra = 0, K.WHY_NONE, 0, 0,
        -1, 0, 0, '', nil
end

function S.fields(t, n)
    t[n + 1], t[n + 2], t[n + 3], t[n + 4], t[n + 5], t[n + 6], t[n + 7], t[n + 8] = S.state, S.why, S.token,
        S.ends, S.next_at, S.counted, S.more, S.number
    local extra = S.extra
    if extra then
        for i = 1, #extra do t[n + 8 + i] = extra[i] end
    end
end

function S.hand(out, answer)
    local function int(n) return string.format('%.0f', n) end
    local more = {'number', answer[16], 'state', string.match(sub(K.NUMBER_STATES, answer[9] * 10 + 1,
        answer[9] * 10 + 10), '^%S+'), 'token', int(answer[11]), 'until', int(answer[12]), 'next',
        int(answer[13]), 'count', int(answer[14]), 'more', int(answer[15])}
    if answer[10] ~= K.WHY_NONE then
        more[15], more[16] = 'why', string.match(sub(K.WHYS, answer[10] * 10 + 1, answer[10] * 10 + 10), '^%S+')
    end
    for i = 1, #more do out[10 + i] = more[i] end
end

function S.say(status, r)
    S.status, S.state, S.token, S.ends, S.number = status, r.state, r.token, S.end_of(r), r.id
end

function S.nodata(status)
    S.status, S.state, S.token, S.ends, S.number = status, K.NUMBER_NODATA, 0, 0, S.a[K.ARG_NUMBER]
end

-- ---- one number ---------------------------------------------------------------------------

function S.resting(r) return r.state < K.NUMBER_BUSY_DOWN and r.ends ~= 0 end

function S.rested(r, at, rest)
    local gap = S.set[K.SET_GAP + 1]
    return gap > 0 and math.max(at + rest, r.N_USED + gap) or at + rest
end

-- Return when the rest of @r, a free number, ends by the current settings; n3 contains how its last call
-- ended.  See rest_end().
function S.rest_end(r)
    if r.N_LEASE == -1 then return 0 end
    if r.N_LEASE >= 0 then return S.rested(r, r.N_LEASE, S.set[K.SET_REST + 1]) end
    return S.rested(r, -2 - r.N_LEASE, 0)
end

function S.limit_end(r)
    local at = r.N_USED + S.set[K.SET_LEASE_MAX + 1]
    return r.token > S.count[K.COUNT_LIMITED_AT + 1] and at or math.max(at, S.count[K.COUNT_LIMITED + 1])
end

-- Return the oldest hold after @order, if `lease-max` limits holds.
function S.first_limited(order)
    return S.set[K.SET_LEASE_MAX + 1] ~= 0 and S.walk(K.KIND_NUMBER, '2', nil, 0, order) or nil
end

S.lives = {K.KIND_NUMBER, in_settings = true, from = K.SET_OUTAGE_FROM, to = K.SET_OUTAGE_TO, verb = K.V_OUTAGE}
function S.beat_of() return S.set[K.SET_OUTAGE + 1] end
function S.life_of(r) return r.state >= K.NUMBER_BUSY_DOWN and r.ends or 0 end

-- Read the last outage, so that S.end_of() takes it into account.  @writes: record a new outage as a change.
function S.meet_outage(writes)
    S.gap_to = nil
    if S.set[K.SET_OUTAGE + 1] == 0 then return end
    if not S.outage then S.make_outage() end
    if writes and S.exists and S.due >= 0 and S.due <= S.moment then S.outage() else S.outage_look() end
end

-- Return when the lease of @r, which is held, ends; 0 if it has none.
function S.lease_end(r) return S.outage_end(r.ends) or r.ends end

-- Return when the hold on @r or its rest ends; 0 if it has no end.  See end_of().
function S.end_of(r)
    if r.state < K.NUMBER_BUSY_DOWN then return r.ends end
    local lease = S.gap_to and S.lease_end(r) or r.ends
    if S.set[K.SET_LEASE_MAX + 1] == 0 then return lease end
    local at = S.limit_end(r)
    return lease ~= 0 and lease < at and lease or at
end

function S.is_due(r)
    local at = S.end_of(r)
    return at ~= 0 and at <= S.moment
end

-- Return when the rest of @r, a free number, ends by the current settings; 0 if it does not rest: see
-- rests_until().
function S.rests_until(r)
    local ends = S.rest_end(r)
    return ends > (r.ends ~= 0 and S.moment or S.now) and ends or 0
end

function S.rests_otherwise(r) return r.state < K.NUMBER_BUSY_DOWN and S.rests_until(r) ~= r.ends end

function S.reached_cap(r, at)
    local daily = S.set[K.SET_DAILY + 1]
    return daily > 0 and r.N_DAY >= S.day_of(at) and r.N_CALLS >= daily
end

-- See rank_of() and usher__number_rank_capped().
function S.rank_of(r, drawn)
    if S.reached_cap(r, S.now) then
        return ((r.N_DAY + 8) * 1073741824 + (r.N_CALLS < 1073741823 and r.N_CALLS or 1073741823)) * 2 + (drawn and 1 or 0)
    end
    return drawn and S.draw(r.order, 0) or K.QUEUED
end

-- Assign @r, a free number, its position in the idle list at version @v: see assign_rank().
function S.assign_rank(r, v)
    r.order = v
    r.rank = S.rank_of(r, S.set[K.SET_ORDER + 1] == K.ORDER_RANDOM)
end

-- Put @r into state @to at version @v: see set_state().
function S.set_state(r, to, ends, v)
    local was = r.slots % 2 == 1
    r.state, r.ends, r.slots = to, ends, S.slots(K.NUMBER_LISTS, to, ends)
    if r.slots % 2 == 0 then
        r.rank = 0
    elseif not was then
        S.assign_rank(r, v)
    end
    r.held = nil
    if to < K.NUMBER_BUSY_DOWN then r.owner, r.held = '', r.owner end
end

-- End the call of @r at @at, with a rest of @rest (nil: that of the pool): see release().
function S.release(r, to, at, rest, v)
    r.N_LEASE = rest and -2 - (at + rest) or at
    local ends = S.rest_end(r)
    S.set_state(r, to, ends > at and ends or 0, v)
end

-- Note that something is due at @at: see due_at().
function S.due_at(at)
    local due = S.pdue or S.due
    if due < 0 or at < due then S.pdue = at end
end

-- Add @by to the count of numbers over the cap of @day: see save_day().
function S.put_day(day, by)
    local id = string.format('%.0f', day)
    local of = S.find(K.KIND_DAY, id)
    if not of then
        of = S.fresh(K.KIND_DAY, id)
        of.slots, of.order = 1, (day + 8) * 2147483648
    end
    of.N_CAPPED = of.N_CAPPED + by
    if of.N_CAPPED == 0 then S.erase(of) else S.save(of) end
end

-- Add to the change that a number moves from @state and @ends to its current state.  @state nil: it was not in
-- the pool; @after false: it leaves the pool.  See save().
function S.put(r, state, ends, after)
    if r.data ~= '' and not (after and r.state >= K.NUMBER_BUSY_DOWN) then
        r.data, r.carried = '', r.data
        local of = S.find(K.KIND_NODE, r.id)
        if of then S.erase(of) end
    end
    local total, up, rest, was_aside = 0, 0, 0, false
    if state then
        S.add(state, -1)
        total, up, rest = -1, state == K.NUMBER_BUSY_UP and -1 or 0, state == K.NUMBER_IDLE_UP and ends ~= 0 and -1 or 0
        was_aside = r.old[3] >= K.ASIDE
        if was_aside then S.add(K.COUNT_CAPPED, -1) end
    end
    if after then
        S.add(r.state, 1)
        total = total + 1
        if r.state == K.NUMBER_BUSY_UP then up = up + 1 end
        if r.state == K.NUMBER_IDLE_UP and r.ends ~= 0 then rest = rest + 1 end
        S.save(r)
        if r.rank >= K.ASIDE then
            S.add(K.COUNT_CAPPED, 1)
            S.due_at(S.day_end(S.now))
        end
        if S.set[K.SET_LEASE_MAX + 1] ~= 0 and r.state >= K.NUMBER_BUSY_DOWN then S.due_at(S.limit_end(r)) end
    else
        r.rank = 0
        S.erase(r)
    end
    if was_aside or r.rank >= K.ASIDE then
        local day = r.day or r.N_DAY
        if not (was_aside and r.rank >= K.ASIDE and day == r.N_DAY) then
            if was_aside then S.put_day(day, -1) end
            if r.rank >= K.ASIDE then S.put_day(r.N_DAY, 1) end
        end
    end
    -- See limit_next().
    if S.set[K.SET_LEASE_MAX + 1] ~= 0 and state and state >= K.NUMBER_BUSY_DOWN
        and not (after and r.state >= K.NUMBER_BUSY_DOWN) then
        local first = S.first_limited()
        if first and first.id == r.id then first = S.first_limited(first.order) end
        if first then S.due_at(S.limit_end(first)) end
    end
    S.add(K.COUNT_RESTING, rest)
    if r.group ~= '' and (total ~= 0 or up ~= 0 or rest ~= 0) then
        local g = S.find(K.KIND_GROUP, r.group) or S.fresh(K.KIND_GROUP, r.group)
        g.N_TOTAL, g.N_BUSY_UP, g.N_RESTING = g.N_TOTAL + total, g.N_BUSY_UP + up, g.N_RESTING + rest
        if g.N_TOTAL == 0 then S.erase(g) else S.save(g) end
    end
end

-- Finish the change of the command itself: see finish().
function S.finish(r, state, ends, after, to)
    S.put(r, state, ends, after)
    if S.req then S.keep(S.version + 1) end
    S.tell(S.verb, state or K.NUMBER_NODATA, to, r)
end

-- Return the data of the notice of a change of @r: see add_data() in number.c.
function S.about_number(verb, r)
    if not S.is_told() then return nil end
    local t, node, peer = {}, r.data ~= '' and r.data or r.carried, verb == K.V_CALL and S.a[K.ARG_STICKY]
    if r.group ~= '' then t[1], t[2] = 'group', r.group end
    if node then t[#t + 1], t[#t + 2] = 'node', node end
    if peer then t[#t + 1], t[#t + 2] = 'peer', peer end
    if r.ended then t[#t + 1], t[#t + 2] = 'ended', r.ended end
    return #t > 0 and mpack(t) or nil
end

-- Commit a change of @r.  The notice has the end of its hold as limited by `lease-max`: see commit().
function S.tell(verb, from, to, r)
    local ends, said = r.ends, S.about_number(verb, r)
    r.ends = S.end_of(r)
    S.commit(verb, from, to, r, said)
    r.ends = ends
end

-- ---- expiry -------------------------------------------------------------------------------

function S.make_expiry()
    function S.expire(r, v)
        local to, at = S.move(K.NUMBER_MOVES, r.state, K.NUMBER_E_EXPIRE), S.end_of(r)
        if r.state >= K.NUMBER_BUSY_DOWN then return S.release(r, to, at, nil, v) end
        local ends = S.rest_end(r)
        S.set_state(r, to, ends > at and ends or 0, v)
    end

    -- Apply what is due for @r: it expires, or an outage has moved the end of its lease.
    function S.expire_one(r)
        local state, ends = r.state, r.ends
        if not S.is_due(r) then
            r.ends = S.lease_end(r)
            S.put(r, state, ends, true)
            return S.apply()
        end
        if state >= K.NUMBER_BUSY_DOWN then r.ended = S.end_of(r) ~= S.lease_end(r) and 'lease-max' or 'lease' end
        S.expire(r, S.version + 1)
        S.put(r, state, ends, true)
        S.tell(K.V_EXPIRE, state, r.state, r)
    end

    -- See judge_one(), is_right().
    function S.judge_one(r)
        local idle, state, ends, drawn = r.slots % 2 == 1, r.state, r.ends, nil
        if not idle then
            drawn = S.set[K.SET_ORDER + 1] == K.ORDER_RANDOM
        elseif r.rank >= K.ASIDE then
            drawn = r.rank % 2 == 1
        else
            drawn = r.rank < K.QUEUED
        end
        r.ends = S.rests_until(r)
        r.slots = S.slots(K.NUMBER_LISTS, state, r.ends)
        r.rank = r.slots % 2 == 1 and S.rank_of(r, drawn) or 0
        r.held = nil
        S.put(r, state, ends, true)
        S.apply()
    end

    function S.is_right(r)
        return not S.rests_otherwise(r) and (r.slots % 2 == 0 or (r.rank >= K.ASIDE) == S.reached_cap(r, S.now))
    end

    -- Continue to apply changed limits to the numbers, at most @left of them.  Return the remaining part of
    -- @left.  See judge_next() and judge().
    function S.judge(left)
        local function set_count(i, value) S.add(i, value - S.count[i + 1]) end
        while left > 0 and S.count[K.COUNT_JUDGE + 1] ~= 0 do
            local at = S.count[K.COUNT_JUDGE + 1]
            local lists = at % 4
            local slot = lists == K.JUDGE_RESTS and '1' or '0'
            local r = S.walk(K.KIND_NUMBER, slot, nil, S.count[K.COUNT_JUDGE_HI + 1], (at - lists) / 4)
            if r then
                set_count(K.COUNT_JUDGE, r.order * 4 + lists)
                set_count(K.COUNT_JUDGE_HI, slot == '1' and r.ends or r.rank)
                left = left - 1
                if not S.is_due(r) and not S.is_right(r) then S.judge_one(r) end
            else
                set_count(K.COUNT_JUDGE, lists == K.JUDGE_BOTH and K.JUDGE_RESTS or 0)
                set_count(K.COUNT_JUDGE_HI, 0)
            end
        end
        S.apply()
        return left
    end

    -- Return how many numbers are over the cap today or on a later day.
    function S.count_capped()
        if S.count[K.COUNT_CAPPED + 1] == 0 or S.set[K.SET_DAILY + 1] == 0 then return 0 end
        local n, today = 0, S.day_of(S.now)
        for day = today, today + K.DAYS_AHEAD do
            local of = n < S.count[K.COUNT_CAPPED + 1] and S.find(K.KIND_DAY, string.format('%.0f', day))
            n = n + (of and of.N_CAPPED or 0)
        end
        return n
    end

    -- Return the first number of @group (nil: any) whose lease or rest is over, or the first hold that
    -- `lease-max` ends; otherwise nil, and when something will be due.
    function S.first_due(group)
        local r, limited = S.walk(K.KIND_NUMBER, '1', group), S.first_limited()
        local at = r and r.ends or -1
        if limited and (at < 0 or S.limit_end(limited) < at) then r, at = limited, S.limit_end(limited) end
        if not r or at > S.moment then return nil, at end
        return r
    end

    -- See none_due().  Return whether numbers are left to which changed limits must be applied.
    local function none_due(due, judges)
        S.due = due
        if S.count[K.COUNT_JUDGE + 1] ~= 0 then S.judge(judges) end
        if S.count_capped() ~= 0 then
            local morning = S.day_end(S.now)
            if S.due < 0 or morning < S.due then S.due = morning end
        end
        if S.count[K.COUNT_JUDGE + 1] == 0 then return false end
        if judges == K.JUDGE_MAX then S.behind = true end
        if S.due < 0 or S.moment < S.due then S.due = S.moment end
        return true
    end

    -- Apply up to @max expiries, then changed limits to up to @judges numbers.  Return how many numbers
    -- expired, and whether there are more.
    function S.expire_due(max, judges)
        local n = 0
        while S.due >= 0 and S.due <= S.now do
            local r, due = S.first_due()
            if not r then return n, none_due(due, judges) end
            if max == 0 then
                S.behind = true
                return n, true
            end
            if S.is_due(r) then n = n + 1 end
            S.expire_one(r)
            max = max - 1
        end
        return n, false
    end

    -- Return the first number on the over-cap list that the cap no longer excludes: see first_over_cap().
    function S.first_aside(group)
        if S.count[K.COUNT_CAPPED + 1] == 0 then return nil end
        local r = S.walk(K.KIND_NUMBER, '0', group, K.ASIDE, 0)
        while r and S.reached_cap(r, S.now) do r = S.walk(K.KIND_NUMBER, '0', group, (r.N_DAY + 9) * 2147483648, 0) end
        return r
    end
end

-- Return number @id after its due expiries and changed limits were applied; if it is not in the pool, a new
-- record in state NODATA.
function S.load(id)
    local r = S.exists and S.find(K.KIND_NUMBER, id)
    while r do
        local due = S.is_due(r)
        if not due and not S.rests_otherwise(r) then return r end
        if not S.expire then S.make_expiry() end
        if due then S.expire_one(r) else S.judge_one(r) end
        r = S.find(K.KIND_NUMBER, id)
    end
    r = S.fresh(K.KIND_NUMBER, id)
    r.N_LEASE = -1
    return r
end

-- ---- add, del, reg, unreg -----------------------------------------------------------------

function S.make_past()
    if not S.remember then S.make_memory() end

    -- Remember the calls of the day of @r, which leaves the pool: see past_keep().
    function S.past_keep(r)
        if r.N_CALLS == 0 or r.N_DAY < S.day_of(S.now) then return end
        local past = S.fresh(K.KIND_PAST, r.id)
        past.ends, past.N_CALLS, past.N_DAY, past.N_USED = K.FOREVER, r.N_CALLS, r.N_DAY, r.N_USED
        S.remember(past, K.COUNT_PAST, K.PAST_MAX, S.version + 1)
    end

    -- Give @r, which is new, the calls that it has had today if it was in the pool before: see past_recall().
    function S.past_recall(r)
        local past = S.find(K.KIND_PAST, r.id)
        if not past then return end
        if past.N_DAY >= S.day_of(S.now) then r.N_CALLS, r.N_DAY, r.N_USED = past.N_CALLS, past.N_DAY, past.N_USED end
        S.erase(past)
        S.add(K.COUNT_PAST, -1)
    end
end

function S.simple(event)
    local id = S.a[K.ARG_NUMBER]
    local r = S.load(id)
    local state, ends = r.old and r.state, r.ends
    if not state then r.group = S.a[K.ARG_GROUP] or '' end
    local to, what = S.move(K.NUMBER_MOVES, r.state, event)
    if what ~= K.OK then return S.say(what, r) end
    if to == K.NUMBER_NODATA then
        if not S.past_keep then S.make_past() end
        S.nodata(K.OK)
        S.put(r, state, ends, false)
        S.past_keep(r)
        if S.req then S.keep(S.version + 1) end
        return S.commit(S.verb, state, to, r, S.about_number(S.verb, r))
    end
    S.set_state(r, to, r.ends, S.version + 1)
    if state then
        S.say(K.OK, r)
        return S.finish(r, state, ends, true, to)
    end
    r.order = S.version + 1
    if S.count[K.COUNT_PAST + 1] > 0 then
        if not S.past_keep then S.make_past() end
        S.past_recall(r)
    end
    S.say(K.OK, r)
    S.finish(r, nil, nil, true, to)
end

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
        S.add(K.COUNT_CALLS, -S.count[K.COUNT_CALLS + 1])
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
            S.add(K.COUNT_REFUSED, -S.count[K.COUNT_REFUSED + 1])
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

    function S.turned_down(r)
        local at = S.free_at(r, S.end_of(r))
        S.say(K.REFUSED, r)
        S.token = 0
        S.why = r.state >= K.NUMBER_BUSY_DOWN and K.WHY_BUSY or r.state == K.NUMBER_IDLE_DOWN and K.WHY_DOWN
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
        if what == K.OK then return S.take_number(r, to) end
        if what == K.REFUSED then return S.turned_down(r) end
        S.say(what, r)
    end
end

-- See usher__defer().
function S.defer()
    S.behind, S.status, S.why = true, K.REFUSED, K.WHY_DUE
    S.because = 'too many expiries are pending on this scope: retry'
    if S.verb == K.V_STATS or S.verb == K.V_SET then
        S.extra = {}
        for i = 1, S.verb == K.V_SET and K.SETTINGS or 10 do S.extra[i] = 0 end
    elseif S.verb == K.V_CHANGES then
        S.extra = {0}
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

-- ---- hangup, renew, lift, free ------------------------------------------------------------

-- See token_lost().
function S.token_gone(r)
    local token = S.a[K.ARG_TOKEN]
    return token and S.exists and r.token ~= token and S.of_lost(token)
end

-- See end_rest().
function S.end_rest(r, to)
    r.N_LEASE = -1
    S.set_state(r, to, 0, S.version + 1)
end

-- Answer @what; nothing changes.  `stale` has the owner and the deadline of the hold, but not its token: see
-- say_stale().
function S.answer_only(what, r)
    S.say(what, r)
    if what ~= K.STALE then return end
    S.token = 0
    S.rows = {{r.id, '', r.owner, r.state, 0, 0, S.end_of(r), 0, 0, 0, 0, '', ''}}
end

function S.hangup()
    local a = S.a
    local r, token, rest = S.load(a[K.ARG_NUMBER]), a[K.ARG_TOKEN], a[K.ARG_REST]
    if S.token_gone(r) then return S.say_lost('token') end
    local guard = K.NUMBER_IF_ANY
    if token then
        guard = token == r.token and K.NUMBER_IF_HOLDER or K.NUMBER_IF_OTHER
    elseif S.set[K.SET_STRICT + 1] ~= 0 then
        guard = K.NUMBER_IF_STRICT
    end
    local to, what = S.move(K.NUMBER_MOVES, r.state,
        rest == 0 and S.resting(r) and K.NUMBER_E_UNREST or K.NUMBER_E_HANGUP, guard)
    if what ~= K.OK then return S.answer_only(what, r) end
    local state, ends = r.state, r.ends
    if S.resting(r) then
        S.end_rest(r, to)
    else
        S.release(r, to, S.moment, rest, S.version + 1)
    end
    S.say(K.OK, r)
    S.finish(r, state, ends, true, to)
end

-- Extend the hold on @r.  Return false if it already ends at that time.  See extend().
function S.extend(r, told)
    local state, ends, lease = r.state, r.ends, r.N_LEASE
    r.N_LEASE = S.a[K.ARG_LEASE] or lease
    S.set_state(r, state, r.N_LEASE > 0 and S.moment + r.N_LEASE or 0, S.version + 1)
    if r.ends == ends and r.N_LEASE == lease then return false end
    if told then
        S.say(K.OK, r)
        S.finish(r, state, ends, true, state)
    else
        S.put(r, state, ends, true)
        S.tell(K.V_RENEW, state, state, r)
    end
    return true
end

function S.renew()
    local a = S.a
    -- Only for direct calls: see renew_node().
    local fault = a[K.ARG_AFTER] and 'after and number exclude each other'
        or a[K.ARG_NODE] and not a[K.ARG_OWNER] and 'number and node together need owner'
    if fault then S.answer = {K.INVALID, fault} return end
    local r = S.load(a[K.ARG_NUMBER])
    local guard, to, what = a[K.ARG_TOKEN] == r.token and K.NUMBER_IF_HOLDER or K.NUMBER_IF_OTHER, nil, nil
    if S.token_gone(r) then
        if not a[K.ARG_OWNER] then return S.say_lost('token') end
        guard = r.state >= K.NUMBER_BUSY_DOWN and r.owner == a[K.ARG_OWNER] and K.NUMBER_IF_HOLDER
            or K.NUMBER_IF_OTHER
        to, what = S.move(K.NUMBER_MOVES, r.state, K.NUMBER_E_RETAKE, guard)
        if what == K.OK then return S.take_number(r, to) end
        if what ~= K.SAME then return S.say_lost('token') end
    end
    to, what = S.move(K.NUMBER_MOVES, r.state, K.NUMBER_E_RENEW, guard)
    if what ~= K.OK then return S.answer_only(what, r) end
    if not S.extend(r, true) then S.say(K.SAME, r) end
end

-- Return @text as a token, or nil.
function S.as_token(text)
    local n = find(text, '^%d+$') and #text <= 16 and tonumber(text)
    return n and n < 9007199254740992 and n or nil
end

function S.make_steps()
    -- Return the oldest hold after @order, of @owner or of @node or (both nil) of all: see walk_held().
    function S.walk_held(owner, node, order)
        if not node then return S.walk(K.KIND_NUMBER, '2', owner, 0, order) end
        local of = S.walk(K.KIND_NODE, '2', node, 0, order)
        return of and S.find(K.KIND_NUMBER, of.id)
    end

    function S.lift()
        local r = S.load(S.a[K.ARG_NUMBER])
        local to, what = S.move(K.NUMBER_MOVES, r.state, K.NUMBER_E_LIFT,
            S.resting(r) and K.NUMBER_IF_RESTING or K.NUMBER_IF_ANY)
        if what ~= K.OK then return S.say(what, r) end
        local state, ends = r.state, r.ends
        S.end_rest(r, to)
        S.say(K.OK, r)
        S.finish(r, state, ends, true, to)
    end

    -- Add @n (1 or -1) numbers in the state of @r to the counts of the group @name.
    local function group_has(name, r, n)
        if name == '' then return end
        local g = S.find(K.KIND_GROUP, name) or S.fresh(K.KIND_GROUP, name)
        g.N_TOTAL = g.N_TOTAL + n
        if r.state == K.NUMBER_BUSY_UP then g.N_BUSY_UP = g.N_BUSY_UP + n end
        if r.state == K.NUMBER_IDLE_UP and r.ends ~= 0 then g.N_RESTING = g.N_RESTING + n end
        if g.N_TOTAL == 0 then S.erase(g) else S.save(g) end
    end

    -- Change only the group: see move_group().
    function S.move_group()
        local r, group = S.load(S.a[K.ARG_NUMBER]), S.a[K.ARG_GROUP] or ''
        if not r.old then return S.say(K.MISSING, r) end
        if r.group == group then return S.say(K.SAME, r) end
        group_has(r.group, r, -1)
        group_has(group, r, 1)
        r.group = group
        S.save(r)
        if r.rank >= K.ASIDE then S.due_at(S.day_end(S.now)) end
        S.say(K.OK, r)
        if S.req then S.keep(S.version + 1) end
        S.tell(S.verb, r.state, r.state, r)
    end

    -- Answer a command that makes several changes.
    function S.several(n, more)
        S.status = n > 0 and K.OK or K.SAME
        S.counted, S.more = n, more and 1 or 0
        if n > 0 and S.req then S.keep_last() end
    end

    -- Return the new state of @r and the status when an operator ends its call: see move_by_free().
    function S.move_by_free(r)
        local owner, node = S.a[K.ARG_OWNER], S.a[K.ARG_NODE]
        local other = owner and owner ~= r.owner or node and node ~= r.data
        return S.move(K.NUMBER_MOVES, r.state, K.NUMBER_E_FREE, other and K.NUMBER_IF_OTHER or K.NUMBER_IF_ANY)
    end

    function S.free_one(r, to, told)
        local state, ends = r.state, r.ends
        S.release(r, to, S.moment, nil, S.version + 1)
        if told then S.say(K.OK, r) end
        S.put(r, state, ends, true)
        S.tell(K.V_FREE, state, r.state, r)
    end

    -- Renew all holds of a node: see renew_node().
    function S.renew_node()
        if not S.exists then S.status = K.MISSING return end
        local a = S.a
        local n, looked, order = 0, 0, S.as_token(a[K.ARG_AFTER] or '0')
        -- Only for direct calls: the library has already checked this.
        local fault = not a[K.ARG_NODE] and 'number or node is missing' or not order and 'after is not a token'
            or a[K.ARG_TOKEN] and 'token needs number' or a[K.ARG_OWNER] and 'owner needs number'
        if fault then S.answer = {K.INVALID, fault} return end
        while true do
            local r = S.walk_held(nil, a[K.ARG_NODE], order)
            if not r then break end
            if looked == K.EXPIRE_MAX then
                S.number = string.format('%.0f', order)
                return S.several(n, true)
            end
            looked, order = looked + 1, r.order
            if S.is_due(r) then
                if not S.expire then S.make_expiry() end
                S.expire_one(r)
            else
                local _, what = S.move(K.NUMBER_MOVES, r.state, K.NUMBER_E_RENEW, K.NUMBER_IF_HOLDER)
                if what == K.OK and S.extend(r) then n = n + 1 end
            end
        end
        S.several(n, false)
    end

    function S.free()
        local a = S.a
        local owner, id = a[K.ARG_OWNER], a[K.ARG_NUMBER]
        if not id and not owner and not a[K.ARG_NODE] and not a[K.ARG_ALL] then
            S.answer = {K.INVALID,
                'owner, node or number is missing (or all=1, which ends every call of the pool)'}
            return
        end
        if id then
            local r = S.load(id)
            local to, what = S.move_by_free(r)
            if what ~= K.OK then return S.say(what, r) end
            S.free_one(r, to, true)
            return S.several(1, false)
        end
        if not S.exists then S.status = K.MISSING return end
        local n, more, order = 0, false, nil
        while true do
            local r = S.walk_held(owner, a[K.ARG_NODE], order)
            if not r then break end
            if n == K.EXPIRE_MAX then more = true break end
            order = r.order
            local to, what = S.move_by_free(r)
            if what == K.OK then
                S.free_one(r, to)
                n = n + 1
            end
        end
        S.several(n, more)
    end

    function S.sweep(version)
        if not S.exists then S.status = K.MISSING return end
        if not S.expire then S.make_expiry() end
        S.several(S.expire_due(S.sweep_max(S.a[K.ARG_MAX]), K.JUDGE_MAX))
        -- An outage is also a change with a version.
        if S.status == K.SAME and S.version ~= version then
            S.status = K.OK
            if S.req then S.keep_last() end
        end
    end

    -- Begin to apply changed limits of the settings to all numbers: see settings_reach().
    local function settings_reach(old, new)
        local function both(setting) return old[setting + 1], new[setting + 1] end
        local function set_count(i, value) S.add(i, value - S.count[i + 1]) end
        local cap, cap_new = both(K.SET_DAILY)
        local zone, zone_new = both(K.SET_ZONE)
        local rest, rest_new = both(K.SET_REST)
        local gap, gap_new = both(K.SET_GAP)
        local limit, limit_new = both(K.SET_LEASE_MAX)
        local other_zone = cap_new ~= 0 and zone ~= zone_new
        local rests, longer = rest ~= rest_new or gap ~= gap_new, rest_new > rest or gap_new > gap
        local caps = cap ~= cap_new or other_zone
        if limit ~= limit_new then
            set_count(K.COUNT_LIMITED, S.moment)
            set_count(K.COUNT_LIMITED_AT, S.version + 1)
            S.due_at(S.moment)
        end
        if S.count[K.COUNT_CALLS + 1] == 0 or not (rests or caps) then return end
        local lists = K.JUDGE_RESTS
        if S.count[K.COUNT_JUDGE + 1] ~= 0 then
            lists = K.JUDGE_BOTH
        elseif longer or caps then
            lists = rests and K.JUDGE_BOTH or K.JUDGE_IDLE
        end
        set_count(K.COUNT_JUDGE, lists)
        -- A higher cap concerns only the numbers on the over-cap list.
        set_count(K.COUNT_JUDGE_HI, lists == K.JUDGE_IDLE and not other_zone and
            (cap_new == 0 or cap ~= 0 and cap_new > cap) and K.ASIDE or 0)
        S.due_at(S.moment)
    end

    function S.settings()
        local set, given = {}, false
        for i = 1, #S.set do set[i] = S.set[i] end
        for i, arg in ipairs(K.SETTING_ARGS) do
            if S.a[arg] then set[i], given = S.a[arg], true end
        end
        S.extra = {}
        local same = S.exists
        for i = 1, K.SETTINGS do
            S.extra[i] = set[i]
            same = same and set[i] == S.set[i]
        end
        if not given then
            S.status = S.exists and K.OK or K.MISSING
        elseif same then
            S.status = K.SAME
        else
            S.pset = set
            settings_reach(S.set, set)
            local due = S.pdue or S.due
            local follows = due >= 0 and due <= S.now
            if S.req and not follows then S.keep(S.version + 1) end
            S.commit(S.verb, 0, 0, nil, S.given())
            -- Apply the new settings to the numbers now, as far as one command does.
            if follows then
                if not S.expire then S.make_expiry() end
                S.expire_due(K.EXPIRE_MAX, K.JUDGE_MAX)
                if S.req then S.keep_last() end
            end
        end
    end
end

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
        for i = 1, 5 do c[i] = S.count[i + 1] end
        -- Count @r, which is due, in the state that it has after its expiry.
        local function count_as_it_is(r)
            c[r.state] = c[r.state] - 1
            if r.state == K.NUMBER_IDLE_UP then c[5] = c[5] - 1 end
            S.look(r)
            c[r.state] = c[r.state] + 1
            if r.state == K.NUMBER_IDLE_UP and r.ends ~= 0 then c[5] = c[5] + 1 end
            if r.rank >= K.ASIDE then aside = aside + 1 end
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
        local today = S.day_of(S.now)
        S.extra = {c[1] + c[2] + c[3] + c[4], c[2], c[1], c[4], c[3], c[5],
            S.count[K.COUNT_CALLS_DAY + 1] >= today and S.count[K.COUNT_CALLS + 1] or 0,
            S.count[K.COUNT_REFUSED_DAY + 1] >= today and S.count[K.COUNT_REFUSED + 1] or 0, longest, aside}
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
        if not S.extra then S.extra = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0} end
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
