-- SPDX-License-Identifier: MIT
--
-- The matching of users and agents: src/nouns/queue/queue_match.c.

function S.pace(l, u)
    local f = l.f
    local d = S.lasted(f[F_LAST] > u.U_APPLIED and f[F_LAST] or u.U_APPLIED, S.at())
    if S.at() > u.U_APPLIED then
        if d > 86400000 then d = 86400000 end
        f[F_PACE] = f[F_PACE] == 0 and 16 * d or floor((7 * f[F_PACE] + 16 * d) / 8)
    end
    f[F_LAST], l.dirty = S.at(), true
end

function S.seated(l, u)
    S.pace(l, u)
    S.count_seated(l, S.at(), S.lasted(u.U_APPLIED, S.at()))
    S.change.agent.A_SERVED = S.change.agent.A_SERVED + 1
end

function S.row(u, a, no, ends)
    S.rows = S.rows or {}
    S.rows[#S.rows + 1] = {u.id, a.id, u.group, '', a.order, no, u.state, u.U_PRIORITY, u.U_SINCE, u.U_APPLIED, S.at(), ends, 0, 0,
        0, 0, 0, 0, 0, u.token, ''}
end

function S.give(u, stored)
    local a, offer, no = S.change.agent, S.set[K.SET_OFFER + 1], 1
    S.step()
    while a.rooms[no] ~= '' do no = no + 1 end
    local l = S.lane_hold(u.group)
    if stored and u.data ~= '' then
        if not S.refuse then S.make_refusals() end
        S.refuse_no_more(u, a.id)
    end
    a.rooms[no], a.touched, a.token = u.id, true, S.change.v
    if offer > 0 then
        a.A_OFFERS = a.A_OFFERS + 4
        S.agent_event(a, K.AGENT_E_OFFER, S.at())
        u.U_END = S.moment + offer -- an offer begins now, even if the match was due earlier
    else
        a.A_SEATED = a.A_SEATED + 1
        S.agent_event(a, K.AGENT_E_SEAT, S.at())
        S.seated(l, u)
        u.U_END = 0
    end
    S.user_settle(u, (S.user_move(u, offer > 0 and K.USER_E_OFFER or K.USER_E_SEAT)))
    u.owner, u.token, u.U_MATCHED, u.U_NO = a.id, S.change.v, S.at(), no
    S.user_save(u, stored and K.USER_WAITING or K.USER_GONE)
    S.subject(K.V_MATCH, K.USER_WAITING, u)
    S.n_matched = S.n_matched + 1
    if S.tell_rows then S.row(u, a, no, u.U_END) end
end

function S.link_next(lane, rank, order)
    local one, two = S.walk(K.KIND_LINK, '0', lane, rank, order), S.walk(K.KIND_LINK, '0', '*', rank, order)
    if not one or two and (two.rank < one.rank or two.rank == one.rank and two.order < one.order) then
        return two
    end
    return one
end

-- Return an agent for @u that has not refused it, or nil: see pick_fresh().
function S.pick_fresh(u, v)
    local random, rank, order, left, any = S.set[K.SET_STRATEGY + 1] == K.STRATEGY_RANDOM, 0, 0, 0, false
    local turned, passed = not random, 0
    if random then
        rank = K.STRATEGY_RANDOM * K.RANKS + S.draw(v, 0)
        left = S.draw(v, 2097152) % K.DRAW_STEPS
    end
    while passed < K.STEP_MAX do
        local link = S.link_next(u.group, rank, order)
        if not link then
            if turned and not any then return nil end
            turned, any, rank, order = true, false, 0, 0
        else
            rank, order = link.rank, link.order
            local a = S.find(K.KIND_AGENT, link.owner) or S.damaged()
            if S.due_now(a) then
                passed = passed + 1
            elseif not S.refused(u, a.id) then
                any = random
                if left == 0 then return a end
                left = left - 1
            end
        end
    end
    return nil
end

function S.serves(a, lane)
    for i = 1, #a.lanes do
        if a.lanes[i] == lane or a.lanes[i] == '*' then return true end
    end
    return false
end

-- Return the agent for @u at version @v, or nil: see usher__queue_pick().
function S.pick(u, v)
    if S.cnt(K.AGENT_IDLE) + S.cnt(K.AGENT_OFFERED) + S.cnt(K.AGENT_BUSY) == 0 then return nil end
    local a = S.pick_fresh(u, v)
    if a or u.data == '' then return a end
    if not S.refuse then S.make_refusals() end
    return S.pick_again(u)
end

function S.is_enough() return S.looked >= K.STEP_MAX and not S.whole end

-- Return the first user by position for @a that @a has not refused (@any: refused or not), or nil; and true if
-- the search stopped before the end: see first_user().
function S.first_user(a, any, search)
    local heads, best, i, n = {}, nil, 1, #a.lanes
    while true do
        local k = best or i
        heads[k] = S.walk(K.KIND_USER, '0', a.lanes[k] ~= '*' and a.lanes[k] or nil, search.rank, search.order) or false
        if best or i == n then
            best = nil
            for j = 1, n do
                local h, b = heads[j], best and heads[best]
                if h and (not b or h.rank < b.rank or h.rank == b.rank and h.order < b.order) then best = j end
            end
            if not best then return nil end
            local u = heads[best]
            if not S.due_now(u) and (any or not S.refused(u, a.id)) then return u end
            if S.is_enough() then return nil, true end
            S.looked, search.rank, search.order = S.looked + 1, u.rank, u.order
        end
        i = i + 1
    end
end

-- Make one match of the agent of the transaction.  Return false if there is none; and true if the search stopped
-- before the end.
function S.match_agent_once(search)
    local a, u, full = S.change.agent, nil, nil
    if S.cnt(K.COUNT_USERS + K.USER_WAITING) == 0 or not S.is_open(a) or S.due_now(a) then return false end
    if not search.refusals then u, full = S.first_user(a, false, search) end
    if not u and not full then
        if not search.refusals then search.order = 0 end
        search.refusals = true
        if not S.refuse then S.make_refusals() end
        u, full = S.refused_user(a, search)
    end
    if not u then return false, full end
    S.give(u, true)
    return true
end

-- Make a match of agent @r.  Return false if there is none, or none yet.
function S.match_of(r, search)
    S.change_init()
    S.change.agent = S.agent_read(r)
    local done, full = S.match_agent_once(search)
    if full then
        if not S.refuse then S.make_refusals() end
        S.search_later(r.order, search)
    end
    if done then S.change_commit() end
    return done
end

function S.match_agent(login, max, search)
    for _ = 1, max do
        local r = S.agent_by_login(login)
        if not r or not S.match_of(r, search) then return end
    end
end

function S.match_user(rank, order)
    for _ = 1, K.EXPIRE_MAX do
        local u = S.walk(K.KIND_USER, '0', nil, rank, order - 1)
        if not u or u.rank ~= rank or u.order ~= order or S.due_now(u) then return end
        local a = S.pick(u, S.version + 1)
        if not a or not S.match_of(a, {}) then return end
    end
end

function S.settle()
    local agents, users = S.todo_a, S.todo_u
    if #agents == 0 and #users == 0 then return end
    local again = S.automatic(S.set)
    while again do
        local before = S.n_matched
        S.passed = false
        for i = 1, #agents do S.match_agent(agents[i], K.CAPACITY_MAX, {}) end
        for i = 1, #users do S.match_user(users[i][1], users[i][2]) end
        -- A user may have been left to an agent that has got another user since.
        again = S.passed and S.n_matched ~= before
    end
    S.todo_a, S.todo_u = {}, {}
end
