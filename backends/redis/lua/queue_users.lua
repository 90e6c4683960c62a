-- SPDX-License-Identifier: MIT
--
-- The verbs of users, with set: src/nouns/queue/queue_users.c.

function S.user_alive(u, to, what)
    local at, from = S.beat(), u.state
    if what == K.SAME then
        if u.U_BEAT == at then return end
        u.U_BEAT = at
        S.user_settle(u, from)
        return S.heartbeat(u)
    end
    S.change_init()
    S.step()
    u.U_BEAT, u.U_END = at, 0
    S.user_settle(u, to)
    S.user_save(u, from)
    S.subject(S.verb, from, u)
    S.todo_user(u)
    S.change_commit()
end

function S.tell_user(status) S.say_user(status, S.find(K.KIND_USER, S.a[K.ARG_USER])) end

function S.user_again(u, apply)
    local to, what = S.user_move(u, K.USER_E_APPLY)
    S.user_alive(u, to, what)
    S.settle()
    S.tell_user(apply and what or K.OK)
end

function S.where(alive)
    local id = S.a[K.ARG_USER]
    local u = S.load(K.KIND_USER, id)
    if not u then return S.ended(id) end
    if alive then return S.user_again(u, false) end
    S.say_user(K.OK, u)
end

-- Return whether a logged-in agent serves @lane.
function S.served(lane) return S.cnt(K.COUNT_FOR_ALL) ~= 0 or S.server(lane) ~= nil end

-- Return whether the queue can have @l, which may be a new lane; and a lane that it replaces, or nil.
function S.lane_comes(l)
    if l.old then return true end
    local over = S.lane_over()
    if not over and S.cnt(K.COUNT_LANES) >= K.LANES_MAX then
        S.status, S.because = K.FULL, 'the queue has too many lanes (limit 1000)'
        return false
    end
    if over and not S.turn then S.make_figures() end
    return true, over
end

-- The mode of the queue lets no new user in.
function S.not_accepted(user)
    local closed = S.set[K.SET_SCOPE_MODE + 1] == K.SCOPE_MODE_CLOSED
    S.why = closed and K.WHY_CLOSED or K.WHY_STOPPED
    S.because = closed and 'the queue is closed (mode=)' or 'the queue is stopped (mode=)'
    S.gone(K.REFUSED, user)
end

function S.apply_verb()
    local g, set = S.a, S.set
    local id, since = g[K.ARG_USER], g[K.ARG_SINCE]
    local u = S.load(K.KIND_USER, id)
    if u and u.owner == '' and g[K.ARG_LANE] and g[K.ARG_LANE] ~= u.group then
        S.because = 'the user waits in another lane: move it'
        return S.say_user(K.REFUSED, u)
    end
    if u then return S.user_again(u, true) end
    if set[K.SET_SCOPE_MODE + 1] ~= K.SCOPE_MODE_OPEN then return S.not_accepted(id) end
    S.gone(K.EMPTY, id)
    if S.cnt(K.AGENT_IDLE) + S.cnt(K.AGENT_OFFERED) + S.cnt(K.AGENT_BUSY) + S.cnt(K.AGENT_WRAPUP) + S.cnt(K.AGENT_PAUSED) == 0 then S.why = K.WHY_NO_AGENT return end
    if set[K.SET_ARCHIVE + 1] > 0 and S.cnt(K.COUNT_VISITS) >= set[K.SET_ARCHIVE + 1] then
        S.status, S.why, S.because = K.FULL, 3, 'archive= ended visits wait for the history: drain them first'
        return
    end
    local new = S.fresh(K.KIND_USER, id)
    new.group, new.U_PRIORITY, new.U_SINCE = g[K.ARG_LANE] or 'default', g[K.ARG_PRIORITY] or 0, since or S.now
    new.U_APPLIED, new.U_BEAT, new.U_PATIENCE = S.at(), S.beat(), set[K.SET_MAXWAIT + 1] > 0 and S.moment + set[K.SET_MAXWAIT + 1] or 0
    new.order = S.version + 1
    S.change_init()
    local l, found = S.lane_hold(new.group), nil
    if S.automatic(set) then found = S.pick(new, S.version + 2) end
    if found then S.change.agent = S.agent_read(found) end
    if not found and not S.served(new.group) then S.why = K.WHY_NO_AGENT return end
    local alone, limit = l.L_WAITING == 0, set[K.SET_LIMIT + 1]
    if limit > 0 and not found and S.cnt(K.COUNT_USERS + K.USER_WAITING) + S.cnt(K.COUNT_USERS + K.USER_AWAY) >= limit then
        S.status, S.because = K.FULL, 'the queue is full (limit=)'
        return
    end
    local room, over = S.lane_comes(l)
    if not room then return end
    S.step()
    if over then S.lane_remove(over) end
    S.figures_at(l, S.at())
    l.f[F_ARRIVED], l.dirty = l.f[F_ARRIVED] + 1, true
    S.user_settle(new, (S.user_move(new, K.USER_E_APPLY)))
    S.subject(S.verb, K.USER_GONE, new)
    if found and alone then
        local login = S.change.agent.order
        S.give(new, false)
        S.say_user(K.OK, new, login)
    else
        S.change.agent = nil
        S.user_save(new, K.USER_GONE)
        if found then S.todo_user(new) else S.say_user(K.OK, new) end
    end
    S.change_commit()
    if found and not alone then
        S.settle()
        S.tell_user(K.OK)
    end
end

function S.end_visit(u, outcome, to)
    S.user, S.agent, S.index, S.wait, S.no, S.token = u.id, u.owner, -1, -1, u.U_NO, u.token
    S.change_init()
    local room = u.owner ~= ''
    S.user_leaves(u, to, outcome, false, S.verb, S.at())
    if room then
        S.login = S.change.agent.order
        if S.verb == K.V_FINISH then S.change.agent.A_BEAT = S.beat() end
        if S.automatic(S.set) then
            local _, full = S.match_agent_once({})
            if not full then S.todo_a[#S.todo_a] = nil end
        end
        S.state = S.shown(S.change.agent)
    end
    S.status = K.OK
    S.change_commit()
end

function S.leave_verb()
    local id = S.a[K.ARG_USER]
    local u = S.load(K.KIND_USER, id)
    if not u then return S.ended(id) end
    S.end_visit(u, u.state == K.USER_SEATED and K.OUTCOME_SEATED or K.OUTCOME_LEFT, (S.user_move(u, K.USER_E_LEAVE)))
end

-- Return the user in room @room, or nil and the status.
function S.in_room(room)
    local epoch = #room > 17 and sub(room, 17, 17) == '.' and sub(room, 1, 16)
    if epoch then room = sub(room, 18) end
    local login, no = string.match(room, '^([1-9]%d*)%.([1-9]%d*)$')
    if epoch and epoch ~= S.epoch then return nil, K.MISSING end
    if not S.exists or not login or #login > 16 or #no > 16 then return nil, K.MISSING end
    login, no = tonumber(login), tonumber(no)
    local a = S.agent_by_login(login)
    if not a and S.of_lost(login) then return nil, K.LOST end
    if not a then return nil, K.MISSING end
    S.agent_read(a)
    if no > a.A_CAPACITY then return nil, K.MISSING end
    S.login, S.no, S.agent = login, no, a.id
    if a.rooms[no] == '' then return nil, K.REFUSED end
    return S.find(K.KIND_USER, a.rooms[no]) or S.damaged()
end

function S.finish()
    local g = S.a
    local u, status = S.in_room(g[K.ARG_ROOM])
    if status == K.LOST then return S.say_lost('room') end
    S.index, S.wait = -1, -1
    local other = g[K.ARG_TOKEN] and S.token_other(u and u.token)
    if other and S.status ~= K.STALE then return end
    if not u then
        S.status = status
        if status == K.REFUSED then S.because = 'the room is empty' end
        return
    end
    if other or g[K.ARG_USER] and g[K.ARG_USER] ~= u.id then
        S.status, S.user, S.agent = K.STALE, u.id, u.owner
        return
    end
    local to, what = S.user_move(u, K.USER_E_FINISH)
    if what ~= K.OK then
        S.status, S.user, S.agent, S.because = K.REFUSED, u.id, u.owner, 'the room is empty'
        return
    end
    S.end_visit(u, K.OUTCOME_SEATED, to)
end

function S.make_steps()
    function S.not_offered(status)
        S.status = status
        if status == K.REFUSED then S.because = 'the user is not offered to the agent' end
    end

    function S.accept_or_reject(accept)
        local g = S.a
        local u, a = S.load(K.KIND_USER, g[K.ARG_USER]), nil
        S.user, S.agent, S.index, S.wait = g[K.ARG_USER], g[K.ARG_AGENT], -1, -1
        a = S.load(K.KIND_AGENT, g[K.ARG_AGENT])
        if not a then S.status = K.MISSING return end
        if u then u = S.load(K.KIND_USER, g[K.ARG_USER]) end
        if u then a = S.find(K.KIND_AGENT, g[K.ARG_AGENT]) end
        if not u or not a then S.status = K.MISSING return end
        if u.owner ~= a.id then return S.not_offered(K.REFUSED) end
        S.login, S.no, S.token, S.state = a.order, u.U_NO, u.token, S.shown(a)
        local from = u.state
        local to, what = S.user_move(u, accept and K.USER_E_SEAT or K.USER_E_REJECT)
        if what ~= K.OK then return S.not_offered(what) end
        S.change_init()
        S.change.agent = S.agent_read(a)
        if not accept then
            S.user_leaves(u, to, K.OUTCOME_LEFT, true, S.verb, S.at())
        else
            S.step()
            local l = S.lane_hold(u.group)
            a.A_OFFERS, a.A_SEATED = a.A_OFFERS - 4, a.A_SEATED + 1
            S.agent_event(a, K.AGENT_E_SEAT, S.at())
            u.U_MATCHED, u.U_END = S.at(), 0
            S.seated(l, u)
            a.served = S.set[K.SET_STRATEGY + 1] == K.STRATEGY_FEWEST_SERVED
            S.user_settle(u, to)
            S.user_save(u, from)
            S.subject(S.verb, from, u)
        end
        S.state, S.status = S.shown(a), K.OK
        S.change_commit()
    end

    function S.move_user()
        local g = S.a
        local u = S.load(K.KIND_USER, g[K.ARG_USER])
        if not u then return S.gone(K.MISSING, g[K.ARG_USER]) end
        local _, what = S.user_move(u, K.USER_E_MOVE)
        if what ~= K.OK then return S.say_user(what, u) end
        local lane, place = u.group, S.place_of(u)
        local was1, was0 = u.U_PRIORITY, u.U_SINCE
        u.group, u.U_PRIORITY, u.U_SINCE = g[K.ARG_LANE] or lane, g[K.ARG_PRIORITY] or was1, g[K.ARG_SINCE] or was0
        local key = u.data
        u.data = '' -- a move by an operator cancels the refusals
        if key == '' and u.group == lane and S.place_of(u) == place then
            return S.say_user(K.SAME, u)
        end
        S.change_init()
        local from, to = S.lane_hold(lane), S.lane_hold(u.group)
        local room, over = S.lane_comes(to)
        if not room then return end
        S.step()
        if over then S.lane_remove(over) end
        if key ~= '' then
            if not S.refuse then S.make_refusals() end
            S.forget({data = key}, S.at())
        end
        if u.state == K.USER_WAITING then u.rank = S.place_of(u) end
        S.count_user(from, u.state, -1)
        S.count_user(to, u.state, 1)
        S.save(u)
        S.subject(S.verb, u.state, u)
        S.todo_user(u)
        S.change_commit()
        S.settle()
        S.tell_user(K.OK)
    end

    function S.settings_write(set, reason)
        if set[K.SET_STRATEGY + 1] ~= S.set[K.SET_STRATEGY + 1] and S.cnt(K.COUNT_OLD) % 2 == 0 then
            S.add(K.COUNT_OLD, K.OLD_RANKS)
        end
        S.limits_change(set)
        if reason then S.reason_save(reason) end
        S.pset = set
        S.commit(S.verb, 0, 0, nil, S.given())
    end

    -- See wait_no_more().  Return true if more is left to be done.
    function S.wait_no_more(new)
        local others, differ = {}, false
        for i = 1, #new do
            others[i] = (i == K.SET_TRIGGER + 1 or i == K.SET_SCOPE_MODE + 1) and S.set[i] or new[i]
            differ = differ or others[i] ~= S.set[i]
        end
        if differ then S.settings_write(others) end
        if S.reach() then return true end
        if not S.match then S.make_agents() end
        S.match()
        return S.more == 1
    end

    function S.settings()
        local set, given = {}, false
        for i = 1, #S.set do set[i] = S.set[i] end
        for i, arg in ipairs(K.SETTING_ARGS) do
            if S.a[arg] then set[i], given = S.a[arg], true end
        end
        local mode = K.SET_SCOPE_MODE + 1
        local anew = set[mode] ~= S.set[mode]
        local reason, changes = S.reason(K.KIND_REFUSAL, K.R_REASON, S.a[K.ARG_REASON], anew, 1)
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
            if not S.automatic(S.set) and S.automatic(set) then
                S.rows = nil
                if S.wait_no_more(set) then return S.defer() end
                reason, changes = S.reason(K.KIND_REFUSAL, K.R_REASON, S.a[K.ARG_REASON], anew, 1)
            end
            S.status = K.OK
            S.settings_write(set, changes and reason)
            S.reach() -- later commands continue with the rest
        end
    end
end
