-- SPDX-License-Identifier: MIT
--
-- Commands on numbers in a call, and settings: src/nouns/number/number_holds.c.

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
        S.add(K.COUNT_FREED, 1)
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
        local mode = K.SET_SCOPE_MODE + 1
        local reason, changes = S.reason(K.KIND_REASON, 0, S.a[K.ARG_REASON], set[mode] ~= S.set[mode], 3)
        given = given or S.a[K.ARG_REASON]
        S.extra = {}
        local same = S.exists and not changes
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
            if changes then S.reason_save(reason) end
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
