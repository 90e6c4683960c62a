-- SPDX-License-Identifier: MIT
--
-- The verbs of agents, with match and pull: src/nouns/queue/queue_agents.c.

function S.beat()
    local ttl = S.set[K.SET_TTL + 1]
    return ttl > 0 and S.moment + ttl or 0
end

-- Save a heartbeat.  It has no version and no notice.
function S.heartbeat(r)
    S.save(r)
    S.apply()
    S.clock = S.now
end

function S.make_agents()
    function S.lanes_of()
        local list, n, seen = S.a[K.ARG_LANES], 0, {}
        if not list or find(',' .. list .. ',', ',*,', 1, true) then return {'*'} end
        for one in string.gmatch(list, '[^,]+') do
            local new = true
            for i = 1, n do new = new and seen[i] ~= one end
            if new then
                n = n + 1
                seen[n] = one
            end
        end
        return seen
    end

    function S.same_login(a)
        local g = S.a
        if g[K.ARG_CAPACITY] and g[K.ARG_CAPACITY] ~= a.A_CAPACITY or g[K.ARG_LEVEL] and g[K.ARG_LEVEL] ~= a.A_LEVEL then
            return false
        end
        if not g[K.ARG_LANES] then return true end
        local lanes = S.lanes_of()
        if #lanes ~= #a.lanes then return false end
        local there = {} -- lanes may be in any order; none is given twice
        for i = 1, #lanes do there[a.lanes[i]] = true end
        for i = 1, #lanes do
            if not there[lanes[i]] then return false end
        end
        return true
    end

    -- Return the record of the pause or wrap-up in which the agent of the command was lost.
    function S.absent_find()
        return S.exists and S.cnt(K.COUNT_ABSENT) > 0 and S.find(K.KIND_ABSENT, S.a[K.ARG_AGENT]) or nil
    end

    function S.absent_erase(r)
        S.erase(r)
        S.add(K.COUNT_ABSENT, -1)
    end

    -- Let another session take over @a.
    function S.session_replace(a)
        local from = S.shown(a)
        S.change.agent = a
        S.step()
        a.session, a.login, a.A_BEAT = S.a[K.ARG_SESSION], S.change.v, S.beat()
        S.agent_settle(a)
        S.agent_event(a, K.AGENT_E_LOGIN, S.at())
        S.subject(S.verb, from, a)
        S.change_commit()
        S.say_agent(K.OK, a)
        if S.is_open(a) then S.todo_agent(a.order) end
    end

    function S.login_verb()
        local g = S.a
        local r = S.load(K.KIND_AGENT, g[K.ARG_AGENT])
        S.change_init()
        if r then
            S.agent_read(r)
            local guard = not S.same_login(r) and K.AGENT_IF_OTHER
                or g[K.ARG_SESSION] and g[K.ARG_SESSION] ~= r.session and K.AGENT_IF_SESSION or K.AGENT_IF_ANY
            local _, what = S.move(K.AGENT_MOVES, r.state, K.AGENT_E_LOGIN, guard)
            if what == K.OK then return S.session_replace(r) end
            S.say_agent(what, r)
            if what == K.SAME then return S.agent_alive(r) end
            S.because = 'the agent is logged in with a different capacity, level or lanes: log out first'
            return
        end
        S.step()
        local a = S.fresh(K.KIND_AGENT, g[K.ARG_AGENT])
        a.order, a.token = S.change.v, S.change.v
        a.A_CAPACITY, a.A_LEVEL, a.A_BEAT = g[K.ARG_CAPACITY] or 1, g[K.ARG_LEVEL] or 0, S.beat()
        a.lanes, a.rooms, a.was_open, a.touched, a.since = S.lanes_of(), {}, false, false, S.at()
        a.session, a.login, a.reason = g[K.ARG_SESSION] or '', a.order, ''
        for i = 1, a.A_CAPACITY do a.rooms[i] = '' end
        S.agent_event(a, K.AGENT_E_LOGIN, S.at())
        local absent = S.absent_find()
        if absent then
            S.absent_erase(absent)
            if absent.ABSENT_UNTIL == 0 then
                a.reason = absent.data
                S.agent_event(a, K.AGENT_E_PAUSE, S.at())
            elseif absent.ABSENT_UNTIL > S.moment then
                a.A_WRAP = absent.ABSENT_UNTIL
                S.agent_event(a, K.AGENT_E_WRAP, S.at())
            end
        end
        S.say_agent(K.OK, a)
        S.agent_save(a, true)
        S.subject(S.verb, K.AGENT_GONE, a)
        S.change_commit()
        S.todo_agent(a.order)
    end

    -- Answer @event for an agent that is not logged in, as the table has it.
    function S.not_there(event)
        local _, what = S.move(K.AGENT_MOVES, K.AGENT_GONE, event)
        S.no_agent(what)
    end

    -- Log out an agent that is not logged in: this ends its pause.
    function S.logout_absent()
        local r = S.absent_find()
        if not r or r.ABSENT_UNTIL ~= 0 then return S.not_there(K.AGENT_E_LOGOUT) end
        S.change_init()
        S.step()
        S.absent_erase(r)
        r.ends, r.token = 0, 0
        S.subject(S.verb, K.AGENT_PAUSED, r)
        S.no_agent(K.OK)
        S.change_commit()
    end

    function S.logout()
        local id = S.a[K.ARG_AGENT]
        if not S.agent_leave then S.make_expiry() end
        while true do
            local r = S.load(K.KIND_AGENT, id)
            if not r then return S.logout_absent() end
            if S.agent_leave(r, K.AGENT_E_LOGOUT, S.verb, S.at()) then return S.no_agent(K.OK) end
        end
    end

    function S.pause_or_ready(r, event, verb)
        local from, ready, asked = S.shown(r), event == K.AGENT_E_READY, r.A_OFFERS % 2 == 1
        local pends = not ready and asked and S.used(r) > 0
        if ready then pends = r.A_OFFERS % 4 ~= 0 or r.A_WRAP ~= 0 end
        local a, reason = S.agent_read(r), S.a[K.ARG_REASON]
        local other = not ready and reason and reason ~= a.reason
        local _, what = S.move(K.AGENT_MOVES, r.state, event, other and K.AGENT_IF_REASON or pends and K.AGENT_IF_PENDING
            or K.AGENT_IF_ANY)
        if what ~= K.OK then return S.say_agent(what, r) end
        S.change_init()
        S.change.agent = a
        S.step()
        a.touched = true
        if other then a.reason = reason end
        if ready then a.reason = '' end
        if ready or S.used(a) == 0 then a.A_WRAP = 0 end
        if ready then
            a.A_OFFERS = a.A_OFFERS - a.A_OFFERS % 4
        elseif not asked and S.used(a) > 0 then
            a.A_OFFERS = a.A_OFFERS + 1
        end
        S.agent_event(a, event, S.at())
        a.ends = S.nearer(a.A_BEAT, a.A_WRAP)
        S.subject(verb, from, a)
        S.say_agent(K.OK, a)
        S.todo_agent(a.order)
        S.change_commit()
    end

    function S.agent_verb(event)
        local r = S.load(K.KIND_AGENT, S.a[K.ARG_AGENT])
        if not r then return S.not_there(event) end
        S.pause_or_ready(r, event, S.verb)
    end

    function S.free()
        local n = 0
        if not S.first_in_rooms then S.make_expiry() end
        while true do
            local r = S.load(K.KIND_AGENT, S.a[K.ARG_AGENT])
            if not r then return S.no_agent(K.MISSING) end
            S.change_init()
            S.change.agent = S.agent_read(r)
            local u = S.first_in_rooms(r)
            if not u then
                S.counted = n
                S.pause_or_ready(r, K.AGENT_E_READY, K.V_READY)
                if n > 0 then S.status = K.OK end
                return
            end
            local to = S.user_move(u, u.state == K.USER_SEATED and K.USER_E_FINISH or K.USER_E_BACK)
            S.user_leaves(u, to, K.OUTCOME_FREED, true, S.verb, S.at())
            S.change_commit()
            n = n + 1
        end
    end

    function S.pull()
        local r = S.load(K.KIND_AGENT, S.a[K.ARG_AGENT])
        if not r then return S.no_agent(K.MISSING) end
        S.say_agent(K.OK, r)
        S.token = 0 -- the token of the match is in the row
        if S.stopped() then
            S.status, S.why, S.because = K.REFUSED, K.WHY_STOPPED, 'the queue is stopped (mode=)'
            return
        end
        if not S.is_open(r) then
            S.status, S.because = K.REFUSED, 'the agent is not open: full, paused or in wrap-up'
            return
        end
        S.change_init()
        S.change.agent = S.agent_read(r)
        S.whole = true
        local u = S.first_user(S.change.agent, true, {})
        if u then S.give(u, true) end
        if not u then
            S.status, S.why = K.EMPTY, K.WHY_NO_USER
            return
        end
        S.state = S.shown(S.change.agent)
        S.change_commit()
    end

    function S.match()
        local before, most = -1, K.EXPIRE_MAX
        S.whole = true
        while S.n_matched ~= before and S.n_matched < most do
            local rank, order = 0, 0
            before = S.n_matched
            while S.cnt(K.COUNT_USERS + K.USER_WAITING) > 0 do
                local link = S.walk(K.KIND_LINK, '0', nil, rank, order)
                if not link or S.n_matched >= most then break end
                rank, order = link.rank, link.order
                S.match_agent((S.find(K.KIND_AGENT, link.owner) or S.damaged()).order, 1, {})
            end
        end
        S.status = not S.exists and K.MISSING or S.n_matched > 0 and K.OK or K.SAME
        S.more = S.n_matched >= most and S.cnt(K.COUNT_USERS + K.USER_WAITING) > 0 and 1 or 0
    end
end

function S.agent_alive(r)
    local at = S.beat()
    if S.is_open(r) then S.todo_agent(r.order) end
    if r.A_BEAT == at then return end
    r.A_BEAT = at
    S.agent_settle(r)
    S.heartbeat(r)
end

function S.room(alive)
    local id = S.a[K.ARG_AGENT]
    local r = S.load(K.KIND_AGENT, id)
    if not r then return S.no_agent(K.MISSING) end
    if alive then
        S.agent_alive(r)
        S.settle()
        r = S.find(K.KIND_AGENT, id)
    end
    S.agent_read(r)
    S.say_agent(K.OK, r)
    S.ends, S.user, S.rows = S.agent_until(r), r.reason, {}
    for i = 1, r.A_CAPACITY do
        local row = {r.rooms[i], '', '', '', r.order, i, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ''}
        if r.rooms[i] ~= '' then
            local u = S.find(K.KIND_USER, r.rooms[i]) or S.damaged()
            row[3], row[7], row[8], row[9], row[10], row[11], row[12], row[20] = u.group, u.state, u.U_PRIORITY, u.U_SINCE, u.U_APPLIED,
                u.U_MATCHED, S.shown_until(u), u.token
        end
        if i == 1 then row[4] = table.concat(r.lanes, ',') end
        S.rows[i] = row
    end
end
