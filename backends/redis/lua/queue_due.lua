-- SPDX-License-Identifier: MIT
--
-- Expiries: src/nouns/queue/queue_due.c.

function S.make_expiry()
    function S.first_in_rooms(a)
        local best
        for i = 1, a.A_CAPACITY do
            if a.rooms[i] ~= '' then
                local r = S.find(K.KIND_USER, a.rooms[i])
                if not r or r.owner ~= a.id then S.damaged() end
                local p = S.place_of(r)
                if not best or p < S.place_of(best) or p == S.place_of(best) and r.order < best.order then
                    best = r
                end
            end
        end
        return best
    end

    -- Make one of the changes by which an agent leaves.  Return true if it has left.
    function S.agent_leave(r, event, verb, at)
        local from = S.shown(r)
        S.change_init()
        local a = S.agent_read(r)
        S.change.agent = a
        a.leaving = true
        local u = S.first_in_rooms(a)
        if u then
            local offered = u.state == K.USER_OFFERED -- the agent has missed the offer
            local back = offered or S.set[K.SET_REQUEUE + 1] == K.REQUEUE_FRONT
            if a.A_OFFERS % 4 < 2 then a.A_OFFERS = a.A_OFFERS + 2 end
            local to = S.user_move(u, back and K.USER_E_BACK or K.USER_E_DROP)
            S.user_leaves(u, to, K.OUTCOME_DROPPED, offered, K.V_REQUEUE, at)
            S.change_commit()
            return false
        end
        S.step()
        S.agent_event(a, event, at)
        S.subject(verb, from, a)
        for i = 1, #a.lanes do
            local id = format('%.0f.%d', a.order, i - 1)
            S.erase(S.find(K.KIND_LINK, id) or S.damaged())
            S.erase(S.find(K.KIND_LINK, id .. 's') or S.damaged())
        end
        if a.lanes[1] == '*' then S.add(K.COUNT_FOR_ALL, -1) end
        local paused = event == K.AGENT_E_LOST and (from == K.AGENT_PAUSED or from == K.AGENT_PAUSING)
        if paused or a.A_WRAP > at then
            local absent = S.fresh(K.KIND_ABSENT, a.id)
            absent.ends, absent.token, absent.data = K.FOREVER - 1, a.login, paused and a.reason or ''
            if not paused then absent.ends, absent.ABSENT_UNTIL = a.A_WRAP, a.A_WRAP end
            if not S.remember then S.make_memory() end
            S.remember(absent, K.COUNT_ABSENT, K.ABSENT_MAX, S.change.v)
        end
        S.erase(a)
        a.dirty = false
        S.change_commit()
        return true
    end

    function S.expire_agent(r)
        local at, from = r.ends, S.shown(r)
        local later = r.A_BEAT ~= 0 and r.A_BEAT <= at and S.outage_end(r.A_BEAT)
        if later then
            r.A_BEAT = later
            S.agent_settle(r)
            S.todo_agent(r.order) -- while it was due, matches passed over it
            return S.heartbeat(r)
        end
        if r.A_BEAT ~= 0 and r.A_BEAT <= at then return S.agent_leave(r, K.AGENT_E_LOST, K.V_EXPIRE, at) end
        S.change_init()
        local a = S.agent_read(r)
        S.change.agent = a
        S.step()
        a.A_WRAP, a.touched = 0, true
        S.agent_event(a, K.AGENT_E_DONE, at)
        a.ends = a.A_BEAT
        S.subject(K.V_EXPIRE, from, a)
        S.todo_agent(a.order)
        S.change_commit()
    end

    function S.expire_user(u)
        local at, state = u.ends, u.state
        local event, outcome = K.USER_E_BACK, state == K.USER_SEATED and K.OUTCOME_CUT or K.OUTCOME_LOST -- the agent has missed it
        if (state == K.USER_WAITING or state == K.USER_AWAY) and u.U_PATIENCE ~= 0 and u.U_PATIENCE <= at then
            event, outcome = K.USER_E_TIMEOUT, K.OUTCOME_TIMEOUT
        elseif state == K.USER_AWAY or u.U_BEAT ~= 0 and u.U_BEAT <= at then
            event = K.USER_E_DROP
        end
        local later = event == K.USER_E_DROP and S.outage_end(state == K.USER_AWAY and u.U_END or u.U_BEAT)
        if later then
            u[state == K.USER_AWAY and K.U_END or K.U_BEAT] = later
            S.user_settle(u, state)
            if state == K.USER_WAITING then S.todo_user(u) end
            return S.heartbeat(u)
        end
        S.change_init()
        S.user_leaves(u, (S.user_move(u, event)), outcome, event == K.USER_E_BACK, K.V_EXPIRE, at)
        S.change_commit()
    end

    -- Apply the next expiry that is due.  Return false if none is.
    function S.expire_next()
        if S.due < 0 or S.due > S.moment then return false end
        local a, u, r = S.walk(K.KIND_AGENT, '1'), S.walk(K.KIND_USER, '1'), S.walk(K.KIND_REFUSAL, '1')
        S.due = -1
        if a then S.due = a.ends end
        if u and (S.due < 0 or u.ends < S.due) then S.due = u.ends end
        if r and (S.due < 0 or r.ends < S.due) then S.due = r.ends end
        if S.due < 0 or S.due > S.moment then return false end
        if S.looks(S.verb) then S.now = S.due > S.clock and S.due or S.clock end
        if a and a.ends == S.due then
            S.expire_agent(a)
        elseif u and u.ends == S.due then
            S.expire_user(u)
        else
            if not S.refuse then S.make_refusals() end
            S.expire_refusal(r)
        end
        return true
    end

    -- Apply up to @max expiries, and the matches that follow.  Return how many made a version, and whether there
    -- are more.
    function S.expire_due(max)
        local n, counted = 0, 0
        if S.looks(S.verb) then S.as_of(0) end
        if not S.outage then S.make_outage() end
        S.outage()
        while true do
            local more = true
            while n < max do
                local version = S.version
                more = S.expire_next()
                if not more then break end
                n = n + 1
                if S.version ~= version then counted = counted + 1 end
            end
            S.settle()
            if S.due >= 0 and S.due <= S.moment then more = true end -- a search is unfinished
            if not more then return counted, false end
            if n >= max or S.looked >= K.STEP_MAX then
                -- S.due is only a lower bound.
                local a, u, r = S.walk(K.KIND_AGENT, '1'), S.walk(K.KIND_USER, '1'), S.walk(K.KIND_REFUSAL, '1')
                return counted, a and S.due_now(a) or u and S.due_now(u) or r and S.due_now(r) or false
            end
        end
    end
end

-- Return the record of an agent ('1') or a user ('3'), or nil.
function S.load(kind, id) return S.exists and S.find(kind, id) or nil end
