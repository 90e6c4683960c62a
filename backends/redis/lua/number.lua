-- SPDX-License-Identifier: MIT
--
-- The verbs of a number pool: the same steps as src/nouns/number/number*.c, in their order.  The records
-- and the names of their numbers are in src/core/number_records.def.
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
    if verb == S.verb and S.a[K.ARG_ACTOR] then t[#t + 1], t[#t + 2] = 'actor', S.a[K.ARG_ACTOR] end
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
        if state >= K.NUMBER_BUSY_DOWN then
            r.ended = S.end_of(r) ~= S.lease_end(r) and 'lease-max' or 'lease'
            S.add(K.COUNT_EXPIRED, 1)
        end
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
        if state >= K.NUMBER_BUSY_DOWN then S.add(K.COUNT_FREED, 1) end
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
