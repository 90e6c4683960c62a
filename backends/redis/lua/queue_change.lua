-- SPDX-License-Identifier: MIT
--
-- A queue transaction: src/nouns/queue/queue_change.c.

-- ---- agents -----------------------------------------------------------------------------

function S.used(a) return a.A_SEATED + floor(a.A_OFFERS / 4) end

-- Return the state of an agent as answers and notices contain it.
function S.shown(a)
    if (a.state == K.AGENT_OFFERED or a.state == K.AGENT_BUSY) and a.A_OFFERS % 2 == 1 then return K.AGENT_PAUSING end
    return a.state
end

function S.is_open(a)
    return a.state >= K.AGENT_IDLE and a.state <= K.AGENT_BUSY and a.A_OFFERS % 4 == 0 and a.A_WRAP == 0
        and S.used(a) < a.A_CAPACITY
end

-- Add to @r the contents of its data: lanes, rooms ('' if free), …
function S.agent_read(r)
    local d, n = munpack(r.data), 0
    r.lanes, r.rooms = {}, {}
    if d[1] > #d or r.A_CAPACITY > #d then S.damaged() end
    for i = 1, d[1] do r.lanes[i] = d[1 + i] end
    for i = 1, r.A_CAPACITY do
        r.rooms[i] = d[1 + d[1] + i]
        if r.rooms[i] ~= '' then n = n + 1 end
    end
    if n ~= S.used(r) then S.damaged() end
    local at = 2 + d[1] + r.A_CAPACITY
    r.since, r.session, r.login, r.reason = d[at] or 0, d[at + 1] or '', d[at + 2] or r.order, d[at + 3] or ''
    r.dirty, r.touched, r.served, r.leaving, r.was_open = false, false, false, false, S.is_open(r)
    return r
end

function S.agent_by_login(login)
    if login == 0 or login >= 9007199254740992 then return nil end
    local r = S.walk(K.KIND_AGENT, '2', nil, 0, login - 1)
    return r and r.order == login and r or nil
end

-- Return the agent of the transaction; it is read once.
function S.agent_hold(id)
    local a = S.change.agent
    if not a then
        a = S.agent_read(S.find(K.KIND_AGENT, id) or S.damaged())
        S.change.agent = a
    end
    return a
end

function S.agent_event(a, event, at)
    local to = S.move(K.AGENT_MOVES, a.state, event)
    if to ~= a.state then
        if a.state ~= K.AGENT_GONE then S.add(a.state, -1) end
        if to ~= K.AGENT_GONE then S.add(to, 1) end
        a.A_STATE_SINCE = at
    end
    a.state, a.dirty = to, true
end

-- Return 32 well mixed bits of version @v: draw() in src/core/number.c.
function S.draw(v, salt)
    local function mul(a, b)
        local low, high = a % 65536, floor(a / 65536)
        return (high * b % 65536 * 65536 + low * b) % 4294967296
    end
    local function mix(x)
        x = bit.bxor(x, bit.rshift(x, 16)) % 4294967296
        x = mul(x, 0x85ebca6b)
        x = bit.bxor(x, bit.rshift(x, 13)) % 4294967296
        x = mul(x, 0xc2b2ae35)
        return bit.bxor(x, bit.rshift(x, 16)) % 4294967296
    end
    local high = mix((floor(v / 4294967296) + salt + 0x9e3779b9) % 4294967296)
    return mix(bit.bxor(v % 4294967296, high) % 4294967296)
end

-- Set the position of the link @r of @a, an open agent: see enum usher_queue_strategy.
function S.link_place(a, r)
    local strategy, rank, base = S.set[K.SET_STRATEGY + 1], 0, r.token
    if strategy == K.STRATEGY_LONGEST_IDLE then
        rank = S.used(a) > 0 and 1 or 0
    elseif strategy == K.STRATEGY_FEWEST_SERVED then
        rank = a.A_SERVED
    elseif strategy == K.STRATEGY_LEAST_BUSY then
        rank = S.used(a)
    elseif strategy == K.STRATEGY_LEVEL then
        rank = a.A_LEVEL
    elseif strategy == K.STRATEGY_RANDOM then
        rank = S.draw(r.token, 0)
    else
        base = a.token
    end
    r.rank, r.order = strategy * K.RANKS + rank % K.RANKS, base * 16 + r.order % 16
end

function S.links_save(a, fresh)
    local open = S.is_open(a)
    if not fresh and open == a.was_open and not (open and (a.touched or a.served)) then return end
    for i = 1, #a.lanes do
        local id, r = format('%.0f.%d', a.order, i - 1), nil
        if fresh then
            r = S.fresh(K.KIND_LINK, id)
            r.group, r.owner, r.order = a.lanes[i], a.id, a.order * 16 + i - 1
        else
            r = S.find(K.KIND_LINK, id) or S.damaged()
        end
        r.slots, r.rank = open and 1 or 0, 0
        if open and (a.touched or not a.was_open) then r.token = S.change.v end
        if open then S.link_place(a, r) end
        S.save(r)
    end
end

-- Save which lanes the agent @a serves: see servers_save().
function S.servers_save(a)
    for i = 1, #a.lanes do
        local r = S.fresh(K.KIND_LINK, format('%.0f.%ds', a.order, i - 1))
        r.slots, r.owner, r.group, r.order = 4, a.lanes[i], a.id, a.order * 16 + i - 1
        S.save(r)
    end
    if a.lanes[1] == '*' then S.add(K.COUNT_FOR_ALL, 1) end
end

-- Return the first agent after @order that names @lane, or nil.
function S.server(lane, order) return S.walk(K.KIND_LINK, '2', lane, 0, order) end

-- See usher__queue_rank_anew().
function S.rank_anew(max)
    local strategy, rank, order = S.set[K.SET_STRATEGY + 1], 0, 0
    if strategy < K.STRATEGY_LONGEST_IDLE or strategy > K.STRATEGY_RANDOM then S.damaged() end
    while max > 0 and S.cnt(K.COUNT_OLD) % 2 == K.OLD_RANKS do
        local n = 0
        while max > 0 and n < K.CHANGE_MAX do
            local r = S.walk(K.KIND_LINK, '0', nil, rank, order)
            if not r then
                S.add(K.COUNT_OLD, -K.OLD_RANKS)
                break
            end
            if floor(r.rank / K.RANKS) == strategy then
                rank, order = (strategy + 1) * K.RANKS - 1, 9007199254740991 -- after all links of this strategy
            else
                rank, order = r.rank, r.order
                S.link_place(S.find(K.KIND_AGENT, r.owner) or S.damaged(), r)
                S.save(r)
                max, n = max - 1, n + 1
            end
        end
        S.apply()
    end
end

function S.agent_save(a, fresh)
    local d = {#a.lanes}
    for i = 1, #a.lanes do d[#d + 1] = a.lanes[i] end
    for i = 1, a.A_CAPACITY do d[#d + 1] = a.rooms[i] end
    d[#d + 1] = a.since
    if a.session .. a.reason ~= '' then d[#d + 1], d[#d + 2] = a.session, a.login end
    if a.reason ~= '' then d[#d + 1] = a.reason end
    a.data = mpack(d)
    S.agent_settle(a)
    S.save(a)
    if fresh then S.servers_save(a) end
    S.links_save(a, fresh)
end

-- ---- lanes: statistics f: day, seated, within, wait, abandoned, timeout, finished, talk, dropped,
-- ---- pace, last

function S.lane_hold(id)
    local lanes = S.change.lanes
    for i = 1, #lanes do
        if lanes[i].id == id then return lanes[i] end
    end
    local l = S.exists and S.find(K.KIND_LANE, id)
    if not l then
        l = S.fresh(K.KIND_LANE, id)
        l.data = string.rep('\0', K.FIGURES_BYTES)
    end
    S.figures_of(l)
    lanes[#lanes + 1] = l
    return l
end

-- Return a lane without users and agents that a new lane can replace: see usher__queue_lane_over().
function S.lane_over()
    if not S.exists then return nil end
    local today, rank, order = S.day_start(S.now), 0, 0
    while true do
        local r = S.walk(K.KIND_LANE, '0', nil, rank, order)
        if not r or r.rank >= today then return nil end
        if r.L_WAITING == 0 and r.L_OFFERED == 0 and r.L_SEATED == 0 and r.L_AWAY == 0 and not S.server(r.id) then return r end
        rank, order = r.rank, r.order
    end
end

function S.count_user(l, state, by)
    local n = 'n' .. (state - 1)
    S.add(K.COUNT_USERS + state, by)
    l[n], l.dirty = l[n] + by, true
end

-- ---- transactions -----------------------------------------------------------------------

function S.change_init() S.change = {lanes = {}, told = {}} end

function S.step()
    local qc = S.change
    if not qc.v then
        qc.v = S.version + 1
    else
        qc.told[#qc.told + 1] = qc.subject
        qc.v = qc.v + 1
    end
end

-- Return the word for @state of an agent, which is from S.shown().
function S.agent_word(state)
    return string.match(sub(K.AGENT_STATES .. 'pausing', state * 10 + 1, state * 10 + 10), '^%S+') or '?'
end

-- Return when the state of the agent @a expires: see usher__queue_agent_until().
function S.agent_until(a) return a.state == K.AGENT_WRAPUP and a.A_WRAP or 0 end

-- Return the actor of the command, if a change with @verb is one of its own: see add_actor().
function S.actor_of(verb)
    return (verb == S.verb or verb == K.V_READY and S.verb == K.V_FREE) and S.a[K.ARG_ACTOR] or nil
end

-- Return the data of a notice of @u: see add_user_data().
function S.user_data(u, to, outcome, no, token, actor)
    local t, a, n = {'lane', u.group}, no > 0 and S.change.agent, 2
    if to ~= K.USER_GONE then
        t[3], t[4], t[5], t[6], n = 'priority', format('%.0f', u.U_PRIORITY), 'since', format('%.0f', u.U_SINCE), 6
    end
    if outcome then
        t[n + 1], t[n + 2] = 'outcome', string.match(sub(K.OUTCOMES, outcome * 10 + 1, outcome * 10 + 10), '^%S+')
        n = n + 2
    end
    if a then
        t[n + 1], t[n + 2], t[n + 3], t[n + 4] = 'room', format('%.0f.%.0f', a.order, no), 'visit', format('%.0f', token)
        t[n + 5], t[n + 6] = 'agent_state', S.agent_word(S.shown(a))
        if S.agent_until(a) ~= 0 then t[n + 7], t[n + 8] = 'agent_until', format('%.0f', S.agent_until(a)) end
    end
    if actor then t[#t + 1], t[#t + 2] = 'actor', actor end
    return mpack(t)
end

-- Make the notice of a change of @r, an agent or a user.  @outcome of its visit, if that has ended; @was: the
-- agent, token and room that it had until now.  See usher__queue_change_subject().
function S.subject(verb, from, r, outcome, was)
    local agent, user, data = r.kind == K.KIND_AGENT, r.kind == K.KIND_USER, nil
    local to, ends = agent and S.shown(r) or r.state, agent and S.agent_until(r) or user and S.shown_until(r) or 0
    S.change.subject = nil
    if not S.is_told() then return end
    if user then
        data = S.user_data(r, to, outcome, was and was[3] or r.U_NO, was and was[2] or r.token, S.actor_of(verb))
    else
        local t = verb == K.V_LOGIN and {'lanes', table.concat(r.lanes, ','), 'capacity', format('%.0f', r.A_CAPACITY),
            'level', format('%.0f', r.A_LEVEL)} or {}
        if (verb == K.V_LOGIN or verb == K.V_PAUSE) and r.reason ~= '' then t[#t + 1], t[#t + 2] = 'reason', r.reason end
        if S.actor_of(verb) then t[#t + 1], t[#t + 2] = 'actor', S.actor_of(verb) end
        data = t[1] and mpack(t)
    end
    local subject = S.notice(S.change.v, verb, from, to, r, data)
    subject[6] = ends
    if was then subject[5], subject[8] = was[2], was[1] end
    S.change.subject = subject
end

function S.change_commit()
    local qc = S.change
    if not qc.v then return end
    if qc.agent and qc.agent.dirty then S.agent_save(qc.agent, false) end
    for _, l in ipairs(qc.lanes) do
        if l.dirty then
            if not l.old then
                S.add(K.COUNT_LANES, 1)
                l.order = qc.v
            end
            l.slots, l.rank = 1, (l.L_WAITING > 0 or l.L_OFFERED > 0 or l.L_SEATED > 0 or l.L_AWAY > 0) and 4503599627370496 or l.f[F_DAY]
            l.data = S.figures_pack(l)
            S.save(l)
            if l.earlier then S.save(l.earlier) end
        end
    end
    qc.told[#qc.told + 1] = qc.subject
    if S.log_kept() then
        if not S.log_add then S.make_log() end
        S.log_add(qc.told, qc.v - #qc.told + 1)
    end
    S.apply()
    S.version, S.clock = qc.v, S.now
    if S.watch == 1 then
        S.notices = S.notices or {}
        for _, subject in ipairs(qc.told) do S.notices[#S.notices + 1] = subject end
    end
end

function S.todo_agent(login)
    local t = S.todo_a
    for i = 1, #t do
        if t[i] == login then return end
    end
    t[#t + 1] = login
end

function S.todo_user(r)
    local t = S.todo_u
    if r.state ~= K.USER_WAITING then return end
    local i = #t
    while i > 0 and (t[i][1] > r.rank or t[i][1] == r.rank and t[i][2] > r.order) do
        t[i + 1] = t[i]
        i = i - 1
    end
    t[i + 1] = {r.rank, r.order}
end

-- ---- users ------------------------------------------------------------------------------

function S.place_of(r) return (K.PRIORITY_MAX - r.U_PRIORITY) * 8796093022208 + r.U_SINCE end

function S.agent_settle(r)
    r.ends = S.nearer(r.A_BEAT, r.A_WRAP)
    r.slots = S.slots(K.AGENT_LISTS, r.state, r.ends)
end

function S.user_settle(r, to)
    r.state = to
    if to == K.USER_WAITING then
        r.ends = S.nearer(r.U_BEAT, r.U_PATIENCE)
    elseif to == K.USER_AWAY then
        r.ends = S.nearer(r.U_END, r.U_PATIENCE)
    elseif to == K.USER_OFFERED then
        r.ends = S.nearer(r.U_BEAT, r.U_END)
    else
        r.ends = r.U_BEAT
    end
    r.slots = S.slots(K.USER_LISTS, to, r.ends)
    r.rank = r.slots % 2 == 1 and S.place_of(r) or 0
    if r.slots < 4 then r.owner, r.token, r.U_MATCHED, r.U_NO = '', 0, 0, 0 end
end

-- Return the new state of @u after @event, and the status.
function S.user_move(u, event)
    return S.move(K.USER_MOVES, u.state, event, S.set[K.SET_GRACE + 1] > 0 and K.USER_IF_GRACE or K.USER_IF_ANY)
end

function S.room_empty(u, at)
    local a, seated, wrapup = S.agent_hold(u.owner), u.state == K.USER_SEATED, S.set[K.SET_WRAPUP + 1]
    if a.rooms[u.U_NO] ~= u.id then S.damaged() end
    a.rooms[u.U_NO] = ''
    if seated then a.A_SEATED = a.A_SEATED - 1 else a.A_OFFERS = a.A_OFFERS - 4 end
    a.dirty = true
    if a.leaving then return end
    a.touched = true
    if seated and wrapup > 0 then a.A_WRAP = at + wrapup end
    local event = K.AGENT_E_KEEP
    if S.used(a) == 0 then
        event = a.A_OFFERS ~= 0 and K.AGENT_E_REST or a.A_WRAP ~= 0 and K.AGENT_E_WRAP or K.AGENT_E_CLEAR
    end
    if event == K.AGENT_E_REST then a.A_OFFERS, a.A_WRAP = 0, 0 end
    if event ~= K.AGENT_E_KEEP or seated and a.A_SEATED == 0 then S.agent_event(a, event, at) end
    S.todo_agent(a.order)
end

-- End the visit of @u, or its stay with an agent that left.
function S.visit_end(u, outcome, at)
    local l, seated, history, archive = S.lane_hold(u.group), u.state == K.USER_SEATED, S.set[K.SET_HISTORY + 1],
        S.set[K.SET_ARCHIVE + 1]
    S.count_ended(l, u, outcome, at)
    if archive == 0 and history == 0 then
        local behind = nil
        if S.cnt(K.COUNT_VISITS) == 0 then return end
        for _ = 1, 2 do
            local old = S.walk(K.KIND_VISIT, '0', nil, 0, behind)
            if not old then break end
            behind = old.order
            S.erase(old)
            S.add(K.COUNT_VISITS, -1)
        end
        return
    end
    local v = S.fresh(K.KIND_VISIT, format('%.0f', S.change.v))
    v.state, v.ends, v.owner = outcome, K.FOREVER, u.owner
    v.VISIT_PRIORITY, v.VISIT_SINCE, v.VISIT_APPLIED, v.VISIT_SEATED, v.VISIT_END = u.U_PRIORITY, u.U_SINCE, u.U_APPLIED, seated and u.U_MATCHED or 0, at
    if u.U_NO ~= 0 then v.VISIT_LOGIN, v.VISIT_NO, v.VISIT_TOKEN = S.change.agent.order, u.U_NO, u.token end
    v.group, v.data = u.id, u.group
    if archive > 0 then
        -- Visits stay until they are in a history: see drain.
        v.slots, v.order = 1, S.change.v
        S.add(K.COUNT_VISITS, 1)
        S.save(v)
        return
    end
    if not S.remember then S.make_memory() end
    S.remember(v, K.COUNT_VISITS, history, S.change.v)
end

local function user_gone(u, outcome, verb, at)
    local from = u.state
    S.step()
    if u.owner ~= '' then S.room_empty(u, at) end
    S.visit_end(u, outcome, at)
    if u.data ~= '' then
        if not S.refuse then S.make_refusals() end
        S.forget(u, at)
    end
    S.count_user(S.lane_hold(u.group), from, -1)
    S.erase(u)
    S.subject(verb, from, {kind = K.KIND_USER, state = K.USER_GONE, token = u.token, ends = 0, owner = u.owner, id = u.id,
        group = u.group, U_NO = u.U_NO}, outcome)
end

function S.user_save(u, from)
    local l = S.lane_hold(u.group)
    if from ~= K.USER_GONE then S.count_user(l, from, -1) end
    S.count_user(l, u.state, 1)
    S.save(u)
end

-- Set the time and patience of @u, which waits again.  Time in a room is not waiting time; time in an offer
-- is, but does not end the offer: see src/nouns/queue/queue_change.c.
function S.patience_back(u, at)
    local left = u.U_PATIENCE - u.U_MATCHED
    if u.state == K.USER_SEATED then
        u.U_APPLIED = at
        if u.U_PATIENCE ~= 0 then u.U_PATIENCE = at + (left > K.PATIENCE_LEFT and left or K.PATIENCE_LEFT) end
    elseif u.U_PATIENCE ~= 0 and u.U_PATIENCE < at then
        u.U_PATIENCE = at
    end
end

local function user_back(u, to, reject, verb, at)
    local from, was = u.state, u.owner ~= '' and {u.owner, u.token, u.U_NO} or nil
    S.step()
    if was then
        S.room_empty(u, at)
        if reject then
            if not S.refuse then S.make_refusals() end
            S.refuse(u, S.change.agent.id, at)
        end
        if from == K.USER_SEATED then S.visit_end(u, 8, at) end
    end
    S.patience_back(u, at)
    u.U_END = 0
    if to == K.USER_AWAY then u.U_END, u.U_BEAT = at + S.set[K.SET_GRACE + 1], 0 end
    S.user_settle(u, to)
    S.user_save(u, from)
    S.subject(verb, from, u, from == K.USER_SEATED and 8 or nil, was)
    S.todo_user(u)
end

-- See usher__queue_user_leaves().
function S.user_leaves(u, to, outcome, reject, verb, at)
    if to == K.USER_GONE then return user_gone(u, outcome, verb, at) end
    user_back(u, to, reject, verb, at)
end
