-- SPDX-License-Identifier: MIT
--
-- The verbs of a queue: the same steps as src/steps/queue.c, in its order.  Kinds: 1 an agent (n0
-- to n7: capacity, seated, beat, served, wrap, level, offers * 2 + asked, in its state since), 2 a
-- link, 3 a user (since, priority, applied, beat, matched, room, end, patience), 4 request, 6 a lane
-- (users by state), 7 a visit.
--
-- S.act is the write under way: v its version, agent and lanes what it holds.
local byte, find, floor, format = string.byte, string.find, math.floor, string.format
local FIGURES = '>I7I7I7I7I7I7I7I7I7I7'

function S.day_of(at) return floor((at + S.set[K.SET_ZONE + 1] * 60000) / 86400000) end

-- ---- the answer -------------------------------------------------------------------------

function S.begin()
    S.state, S.place, S.why, S.more, S.index, S.wait, S.ends, S.token, S.login, S.no, S.counted, S.user,
        S.agent, S.extra, S.tell_rows, S.n_matched = 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, '', '', nil, false, 0
    S.todo_a, S.todo_u, S.act = {}, {}, nil
end

function S.fields(t, n)
    t[n + 1], t[n + 2], t[n + 3], t[n + 4], t[n + 5], t[n + 6], t[n + 7], t[n + 8], t[n + 9], t[n + 10],
        t[n + 11], t[n + 12], t[n + 13] = S.state, S.place, S.why, S.more, S.index, S.wait, S.ends, S.token,
        S.login, S.no, S.counted, S.user, S.agent
    local extra = S.extra
    if extra then
        for i = 1, #extra do t[n + 13 + i] = extra[i] end
    end
end

function S.hand(out, answer)
    local function int(n) return format('%.0f', n) end
    local words = {'none', 'room', 'offer', 'queue', 'away'}
    local more = {'user', answer[18], 'agent', answer[19], 'state', string.match(sub(K.AGENT_STATES,
        answer[7] * 10 + 1, answer[7] * 10 + 10), '^%S+'), 'place', words[answer[8] + 1], 'index',
        int(answer[11]), 'wait', int(answer[12]), 'until', int(answer[13]), 'token', int(answer[14]), 'room',
        int(answer[15]) .. '.' .. int(answer[16]), 'count', int(answer[17]), 'more', int(answer[10])}
    for i = 20, #answer do more[#more + 1] = int(answer[i]) end
    for _, row in ipairs(answer[6]) do more[#more + 1] = table.concat(row, ' ') end
    for i = 1, #more do out[6 + i] = more[i] end
end

function S.cnt(i) return S.count[i + 1] end
function S.due_now(r) return r.ends ~= 0 and r.ends <= S.now end
function S.nearer(a, b)
    if a == 0 then return b end
    if b == 0 or a < b then return a end
    return b
end
function S.damaged() error('the store is damaged: an agent cannot be read', 0) end

-- ---- agents -----------------------------------------------------------------------------

function S.used(a) return a.n1 + floor(a.n6 / 2) end

function S.is_open(a)
    return a.state >= K.AGENT_IDLE and a.state <= K.AGENT_BUSY and a.n6 % 2 == 0 and a.n4 == 0
        and S.used(a) < a.n0
end

-- @r with what its data say: lanes, rooms ('' for nobody)
function S.agent_read(r)
    local d = munpack(r.data)
    r.lanes, r.rooms = {}, {}
    for i = 1, d[1] do r.lanes[i] = d[1 + i] end
    for i = 1, r.n0 do r.rooms[i] = d[1 + d[1] + i] end
    r.dirty, r.touched, r.leaving, r.was_open = false, false, false, S.is_open(r)
    return r
end

function S.agent_by_login(login)
    if login == 0 or login >= 9007199254740992 then return nil end
    local r = S.walk('1', '2', nil, 0, login - 1)
    return r and r.order == login and r or nil
end

-- the agent that the act holds: it is read once
function S.agent_hold(id)
    local a = S.act.agent
    if not a then
        a = S.agent_read(S.find('1', id) or S.damaged())
        S.act.agent = a
    end
    return a
end

function S.agent_move(a, event, at)
    local to = byte(K.AGENT_MOVES, (a.state * K.AGENT_EVENTS + event) * 2 + 1) - 48
    if to ~= a.state then
        if a.state ~= K.AGENT_GONE then S.add(a.state, -1) end
        if to ~= K.AGENT_GONE then S.add(to, 1) end
        a.n7 = at
    end
    a.state, a.dirty = to, true
end

-- 32 well mixed bits of a version: draw() in src/core/number.c
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

-- the strategies: by number, as in enum usher_strategy
function S.link_rank(a, v)
    local strategy = S.set[K.SET_STRATEGY + 1]
    if strategy == 0 then return S.used(a) > 0 and 1 or 0 end
    if strategy == 2 then return a.n3 end
    if strategy == 3 then return S.used(a) end
    if strategy == 4 then return a.n5 end
    if strategy == 5 then return S.draw(v, 0) end
    return 0
end

function S.links_save(a, fresh)
    local open, v = S.is_open(a), S.act.v
    local base = S.set[K.SET_STRATEGY + 1] == 1 and a.token or v
    if not fresh and open == a.was_open and not (open and a.touched) then return end
    for i = 1, #a.lanes do
        local id, r = format('%.0f.%d', a.order, i - 1), nil
        if fresh then
            r = S.fresh('2', id)
            r.group, r.owner = a.lanes[i], a.id
        else
            r = S.find('2', id) or S.damaged()
        end
        r.slots, r.rank = open and 1 or 0, open and S.link_rank(a, v) or 0
        if open or fresh then r.order = base * 16 + i - 1 end
        S.save(r)
    end
end

function S.agent_save(a, fresh)
    local d = {#a.lanes}
    for i = 1, #a.lanes do d[#d + 1] = a.lanes[i] end
    for i = 1, a.n0 do d[#d + 1] = a.rooms[i] end
    a.data = mpack(d)
    a.ends = S.nearer(a.n2, a.n4)
    a.slots = a.ends ~= 0 and 6 or 4
    S.save(a)
    S.links_save(a, fresh)
end

-- ---- lanes: figures f: day, seated, within, wait, abandoned, timeout, finished, talk, pace, last

function S.lane_hold(id)
    local lanes = S.act.lanes
    for i = 1, #lanes do
        if lanes[i].id == id then return lanes[i] end
    end
    local l = S.exists and S.find('6', id)
    if l then
        l.f = {struct.unpack(FIGURES, l.data)}
    else
        l = S.fresh('6', id)
        l.f = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
    end
    lanes[#lanes + 1] = l
    return l
end

function S.figure(l, at, i, by)
    local day, f = S.day_of(at) + K.DAY_SHIFT, l.f
    l.dirty = true
    if day > f[1] then
        for k = 2, 8 do f[k] = 0 end
        f[1] = day
    end
    if day == f[1] then f[i] = f[i] + by end
end

function S.count_user(l, state, by)
    local n = 'n' .. (state - 1)
    S.add(5 + state, by)
    l[n], l.dirty = l[n] + by, true
end

-- ---- acts -------------------------------------------------------------------------------

function S.act_init() S.act = {lanes = {}, told = {}} end

function S.step()
    local act = S.act
    if not act.v then
        act.v = S.version + 1
    else
        act.told[#act.told + 1] = act.about
        act.v = act.v + 1
    end
end

function S.about(verb, from, r)
    S.act.about = {verb, S.act.v, from, r.state, r.token, r.ends, S.now, r.owner, r.id, ''}
end

function S.act_commit()
    local act = S.act
    if not act.v then return end
    if act.agent and act.agent.dirty then S.agent_save(act.agent, false) end
    for _, l in ipairs(act.lanes) do
        if l.dirty then
            if not l.old then S.add(K.COUNT_LANES, 1) end
            l.data = spack(FIGURES, unpack(l.f))
            S.save(l)
        end
    end
    S.apply()
    S.version, S.clock = act.v, S.now
    if S.watch == 1 then
        S.notices = S.notices or {}
        for _, about in ipairs(act.told) do S.notices[#S.notices + 1] = about end
        S.notices[#S.notices + 1] = act.about
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

function S.place_of(r) return (K.PRIORITY_MAX - r.n1) * 8796093022208 + r.n0 end

function S.user_settle(r, to)
    r.state, r.rank, r.slots = to, 0, 4
    if to == K.USER_WAITING then
        r.ends, r.slots, r.rank = S.nearer(r.n3, r.n7), 1, S.place_of(r)
    elseif to == K.USER_AWAY then
        r.ends, r.slots = S.nearer(r.n6, r.n7), 0
    elseif to == K.USER_OFFERED then
        r.ends = S.nearer(r.n3, r.n6)
    else
        r.ends = r.n3
    end
    if r.slots ~= 4 then r.owner, r.token, r.n4, r.n5 = '', 0, 0, 0 end
    if r.ends ~= 0 then r.slots = r.slots + 2 end
end

-- what @event does to a user in @from: new state, status
function S.user_move(from, event)
    local to, status = byte(K.USER_MOVES, (from * K.USER_EVENTS + event) * 2 + 1,
        (from * K.USER_EVENTS + event) * 2 + 2)
    return to - 48, status - 65
end

function S.rejects(u, agent)
    if u.data == '' then return false end
    local d = munpack(u.data)
    for i = 1, #d do
        if d[i] == agent then return true end
    end
    return false
end

function S.reject_add(u, agent)
    if S.rejects(u, agent) then return end
    local d = u.data ~= '' and munpack(u.data) or {}
    if #d >= K.REJECTS_MAX then table.remove(d, 1) end
    d[#d + 1] = agent
    u.data = mpack(d)
end

function S.room_empty(u, at)
    local a, seated, wrapup = S.agent_hold(u.owner), u.state == K.USER_SEATED, S.set[K.SET_WRAPUP + 1]
    a.rooms[u.n5] = ''
    if seated then a.n1 = a.n1 - 1 else a.n6 = a.n6 - 2 end
    a.dirty = true
    if a.leaving then return end
    a.touched = true
    if seated and wrapup > 0 then a.n4 = at + wrapup end
    if S.used(a) == 0 then
        if a.n6 % 2 == 1 then
            a.n6, a.n4 = 0, 0
            S.agent_move(a, K.AGENT_E_REST, at)
        else
            S.agent_move(a, a.n4 ~= 0 and K.AGENT_E_WRAP or K.AGENT_E_CLEAR, at)
        end
    elseif seated and a.n1 == 0 then
        S.agent_move(a, K.AGENT_E_KEEP, at)
    end
    S.todo_agent(a.order)
end

function S.visit_end(u, outcome, at)
    local l, seated, history = S.lane_hold(u.group), u.state == K.USER_SEATED, S.set[K.SET_HISTORY + 1]
    S.count_user(l, u.state, -1)
    if seated then
        S.figure(l, at, 7, 1)
        S.figure(l, at, 8, at - u.n4)
    else
        S.figure(l, at, outcome == 4 and 6 or 5, 1)
    end
    S.erase(u)
    if history == 0 then
        local behind = nil
        if S.cnt(K.COUNT_VISITS) == 0 then return end
        for _ = 1, 2 do
            local old = S.walk('7', '0', nil, 0, behind)
            if not old then break end
            behind = old.order
            S.erase(old)
            S.add(K.COUNT_VISITS, -1)
        end
        return
    end
    local v = S.fresh('7', format('%.0f', S.act.v))
    v.state, v.ends, v.owner = outcome, K.FOREVER, u.owner
    v.n0, v.n1, v.n2, v.n3, v.n4 = u.n1, u.n0, u.n2, seated and u.n4 or 0, at
    if u.n5 ~= 0 then v.n5, v.n6 = S.act.agent.order, u.n5 end
    v.data = mpack({u.id, u.group})
    if not S.remember then S.make_memory() end
    S.remember(v, K.COUNT_VISITS, history, S.act.v)
end

function S.user_gone(u, outcome, event, verb, at)
    local from = u.state
    S.step()
    if u.owner ~= '' then S.room_empty(u, at) end
    S.visit_end(u, outcome, at)
    S.about(verb, from, {state = S.user_move(from, event), token = u.token, ends = 0, owner = u.owner, id = u.id})
end

function S.user_save(u, from)
    local l = S.lane_hold(u.group)
    if from ~= K.USER_GONE then S.count_user(l, from, -1) end
    S.count_user(l, u.state, 1)
    S.save(u)
end

function S.user_back(u, event, reject, verb, at)
    local from = u.state
    S.step()
    if u.owner ~= '' then
        S.room_empty(u, at)
        if reject then S.reject_add(u, S.act.agent.id) end
    end
    u.n6 = 0
    if event == K.USER_E_AWAY then u.n6, u.n3 = at + S.set[K.SET_GRACE + 1], 0 end
    S.user_settle(u, (S.user_move(from, event)))
    S.user_save(u, from)
    S.about(verb, from, u)
    if event == K.USER_E_BACK then S.todo_user(u) end
end

-- ---- matching ---------------------------------------------------------------------------

function S.seated(l, u)
    local wait = S.now - u.n2
    S.figure(l, S.now, 2, 1)
    S.figure(l, S.now, 4, wait)
    if wait <= S.set[K.SET_SERVICE + 1] then S.figure(l, S.now, 3, 1) end
    S.act.agent.n3 = S.act.agent.n3 + 1
end

function S.pace(l, u)
    local f = l.f
    local d = S.now - (f[10] > u.n2 and f[10] or u.n2)
    if S.now > u.n2 then
        if d > 86400000 then d = 86400000 end
        f[9] = f[9] == 0 and 16 * d or floor((7 * f[9] + 16 * d) / 8)
    end
    f[10], l.dirty = S.now, true
end

function S.row(u, a, no, ends)
    S.rows = S.rows or {}
    S.rows[#S.rows + 1] = {u.id, a.id, u.group, '', a.order, no, u.state, u.n1, u.n0, u.n2, S.now, ends, 0, 0,
        0, 0, 0, 0}
end

function S.give(u, stored)
    local a, offer, no = S.act.agent, S.set[K.SET_OFFER + 1], 1
    S.step()
    while a.rooms[no] ~= '' do no = no + 1 end
    local l = S.lane_hold(u.group)
    a.rooms[no], a.touched, a.token = u.id, true, S.act.v
    S.pace(l, u)
    if offer > 0 then
        a.n6 = a.n6 + 2
        S.agent_move(a, K.AGENT_E_OFFER, S.now)
        u.n6 = S.now + offer
    else
        a.n1 = a.n1 + 1
        S.agent_move(a, K.AGENT_E_SEAT, S.now)
        S.seated(l, u)
        u.n6 = 0
    end
    S.user_settle(u, (S.user_move(u.state, offer > 0 and K.USER_E_OFFER or K.USER_E_SEAT)))
    u.owner, u.token, u.n4, u.n5 = a.id, S.act.v, S.now, no
    S.user_save(u, stored and K.USER_WAITING or K.USER_GONE)
    S.about(K.V_MATCH, K.USER_WAITING, u)
    S.n_matched = S.n_matched + 1
    if S.tell_rows then S.row(u, a, no, u.n6) end
end

-- the first user of @lane (nil: of all) whom @agent may have
function S.head(lane, agent)
    local rank, order
    for _ = 1, K.STEP_MAX do
        local r = S.walk('3', '0', lane, rank, order)
        if not r or not S.due_now(r) and not S.rejects(r, agent) then return r end
        rank, order = r.rank, r.order
    end
end

-- one match of the agent of the act; false: there is none to be had
function S.match_agent_once()
    local a, best = S.act.agent, nil
    if S.cnt(5 + K.USER_WAITING) == 0 or not S.is_open(a) or S.due_now(a) then return false end
    for i = 1, #a.lanes do
        local r = S.head(a.lanes[i] ~= '*' and a.lanes[i] or nil, a.id)
        if r and (not best or r.rank < best.rank or r.rank == best.rank and r.order < best.order) then best = r end
    end
    if not best then return false end
    S.give(best, true)
    return true
end

function S.match_agent(login, max)
    for _ = 1, max do
        local r = S.agent_by_login(login)
        if not r then return end
        S.act_init()
        S.act.agent = S.agent_read(r)
        if not S.match_agent_once() then return end
        S.act_commit()
    end
end

function S.link_next(lane, rank, order)
    local one, two = S.walk('2', '0', lane, rank, order), S.walk('2', '0', '*', rank, order)
    if not one or two and (two.rank < one.rank or two.rank == one.rank and two.order < one.order) then
        return two
    end
    return one
end

-- the agent that @u is given to at version @v, held by the act; false: none
function S.pick(u, v)
    if S.cnt(K.AGENT_IDLE) + S.cnt(K.AGENT_OFFERED) + S.cnt(K.AGENT_BUSY) == 0 then return false end
    local random, rank, order, left, any = S.set[K.SET_STRATEGY + 1] == 5, 0, 0, 0, false
    local turned = not random
    if random then
        rank = S.draw(v, 0)
        left = S.draw(v, 2097152) % K.DRAW_STEPS
    end
    for _ = 1, K.STEP_MAX do
        local link = S.link_next(u.group, rank, order)
        if not link then
            if turned and not any then return false end
            turned, any, rank, order = true, false, 0, 0
        else
            rank, order = link.rank, link.order
            local a = S.find('1', link.owner) or S.damaged()
            if not S.due_now(a) and not S.rejects(u, a.id) then
                any = random
                if left == 0 then
                    S.act.agent = S.agent_read(a)
                    return true
                end
                left = left - 1
            end
        end
    end
    return false
end

function S.match_user(rank, order)
    for _ = 1, K.EXPIRE_MAX do
        local u = S.walk('3', '0', nil, rank, order - 1)
        if not u or u.rank ~= rank or u.order ~= order or S.due_now(u) then return end
        S.act_init()
        if not S.pick(u, S.version + 1) or not S.match_agent_once() then return end
        S.act_commit()
    end
end

function S.settle()
    local agents, users = S.todo_a, S.todo_u
    if #agents == 0 and #users == 0 then return end
    if S.set[K.SET_TRIGGER + 1] == 0 then
        for i = 1, #agents do S.match_agent(agents[i], K.CAPACITY_MAX) end
        for i = 1, #users do S.match_user(users[i][1], users[i][2]) end
    end
    S.todo_a, S.todo_u = {}, {}
end

-- ---- agents go, deadlines -----------------------------------------------------------------

function S.make_expiry()
    function S.first_in_rooms(a)
        local best
        for i = 1, a.n0 do
            if a.rooms[i] ~= '' then
                local r = S.find('3', a.rooms[i]) or S.damaged()
                local p = S.place_of(r)
                if not best or p < S.place_of(best) or p == S.place_of(best) and r.order < best.order then
                    best = r
                end
            end
        end
        return best
    end

    -- one change on the way of an agent that goes; true: it is gone
    function S.agent_leave(r, event, verb, at)
        local from = r.state
        S.act_init()
        local a = S.agent_read(r)
        S.act.agent = a
        a.leaving = true
        local u = S.first_in_rooms(a)
        if u then
            if a.n6 % 2 == 0 then a.n6 = a.n6 + 1 end
            if S.set[K.SET_REQUEUE + 1] == 0 then
                S.user_back(u, K.USER_E_BACK, false, K.V_REQUEUE, at)
            else
                S.user_gone(u, 5, K.USER_E_DROP, K.V_REQUEUE, at)
            end
            S.act_commit()
            return false
        end
        S.step()
        S.agent_move(a, event, at)
        S.about(verb, from, a)
        for i = 1, #a.lanes do S.erase(S.find('2', format('%.0f.%d', a.order, i - 1)) or S.damaged()) end
        S.erase(a)
        a.dirty = false
        S.act_commit()
        return true
    end

    function S.expire_agent(r)
        local at, from = r.ends, r.state
        if r.n2 ~= 0 and r.n2 <= at then return S.agent_leave(r, K.AGENT_E_LOST, K.V_EXPIRE, at) end
        S.act_init()
        local a = S.agent_read(r)
        S.act.agent = a
        S.step()
        a.n4, a.touched = 0, true
        S.agent_move(a, K.AGENT_E_DONE, at)
        a.ends = a.n2
        S.about(K.V_EXPIRE, from, a)
        S.todo_agent(a.order)
        S.act_commit()
    end

    function S.expire_user(u)
        local at, state = u.ends, u.state
        S.act_init()
        if (state == K.USER_WAITING or state == K.USER_AWAY) and u.n7 ~= 0 and u.n7 <= at then
            S.user_gone(u, 4, K.USER_E_TIMEOUT, K.V_EXPIRE, at)
        elseif state == K.USER_AWAY then
            S.user_gone(u, 3, K.USER_E_DROP, K.V_EXPIRE, at)
        elseif u.n3 ~= 0 and u.n3 <= at and state ~= K.USER_SEATED and S.set[K.SET_GRACE + 1] > 0 then
            S.user_back(u, K.USER_E_AWAY, false, K.V_EXPIRE, at)
        elseif u.n3 ~= 0 and u.n3 <= at then
            S.user_gone(u, state == K.USER_SEATED and 6 or 3, K.USER_E_DROP, K.V_EXPIRE, at)
        else
            S.user_back(u, K.USER_E_BACK, true, K.V_EXPIRE, at)
        end
        S.act_commit()
    end

    -- one change that is due; false: nothing is
    function S.expire_next()
        if S.due < 0 or S.due > S.now then return false end
        local a, u = S.walk('1', '1'), S.walk('3', '1')
        S.due = -1
        if a then S.due = a.ends end
        if u and (not a or u.ends < S.due) then S.due = u.ends end
        if S.due < 0 or S.due > S.now then return false end
        if a and (not u or a.ends <= u.ends) then
            S.expire_agent(a)
        else
            S.expire_user(u)
        end
        return true
    end

    -- up to @max of them, and the matches that follow; how many, and whether there are more
    function S.expire_due(max)
        local n = 0
        while true do
            local portion, more = max - n < K.EXPIRE_MAX and max - n or K.EXPIRE_MAX, true
            while portion > 0 do
                more = S.expire_next()
                if not more then break end
                n, portion = n + 1, portion - 1
            end
            S.settle()
            if not more then return n, false end
            if n >= max then
                -- S.due is only a bound
                local a, u = S.walk('1', '1'), S.walk('3', '1')
                return n, a and S.due_now(a) or u and S.due_now(u) or false
            end
        end
    end
end

-- The record of an agent ('1') or a user ('3') with its own deadlines applied.
function S.load(kind, id)
    if not S.exists then return nil end
    local r = S.find(kind, id)
    while r and S.due_now(r) do
        if not S.expire_next then S.make_expiry() end
        if kind == '1' then S.expire_agent(r) else S.expire_user(r) end
        r = S.find(kind, id)
    end
    return r
end

-- ---- answers ----------------------------------------------------------------------------

function S.say_agent(status, r)
    S.status, S.state, S.agent = status, r.state, r.id
    S.login, S.no = 0, 0
    if r.state ~= K.AGENT_GONE then S.login, S.no = r.order, r.n0 end
end

function S.no_agent(status) S.status, S.agent = status, S.a[K.ARG_AGENT] end

function S.say_user(status, u, login)
    local state = u.state
    S.status, S.index, S.wait, S.user, S.agent = status, -1, -1, u.id, u.owner
    S.place = state == K.USER_WAITING and 3 or state == K.USER_OFFERED and 2 or state == K.USER_SEATED and 1
        or state == K.USER_AWAY and 4 or 0
    if state == K.USER_OFFERED or state == K.USER_SEATED then
        S.token, S.no, S.ends = u.token, u.n5, u.n6
        S.login = login or (S.find('1', u.owner) or S.damaged()).order
    elseif state == K.USER_WAITING then
        local l = S.exists and S.find('6', u.group)
        S.index = 0
        if l then
            if l.n0 > 0 then S.index = S.rank('3', u.group, u.rank, u.order) end
            local pace = struct.unpack('>I7', sub(l.data, 57, 63))
            if pace ~= 0 then S.wait = floor((S.index + 1) * pace / 16) end
        end
    end
end

function S.gone(status, user) S.status, S.index, S.wait, S.user = status, -1, -1, user end

function S.beat()
    local ttl = S.set[K.SET_TTL + 1]
    return ttl > 0 and S.now + ttl or 0
end

-- without a version: a sign of life is no change to be told of
function S.heartbeat(r)
    S.save(r)
    S.apply()
    S.clock = S.now
end

-- ---- verbs of agents --------------------------------------------------------------------

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
        if g[K.ARG_CAPACITY] and g[K.ARG_CAPACITY] ~= a.n0 or g[K.ARG_LEVEL] and g[K.ARG_LEVEL] ~= a.n5 then
            return false
        end
        if not g[K.ARG_LANES] then return true end
        local lanes = S.lanes_of()
        if #lanes ~= #a.lanes then return false end
        for i = 1, #lanes do
            if lanes[i] ~= a.lanes[i] then return false end
        end
        return true
    end

    function S.login_verb()
        local g = S.a
        local r = S.load('1', g[K.ARG_AGENT])
        S.act_init()
        if r then
            S.agent_read(r)
            if not S.same_login(r) then return S.say_agent(K.REFUSED, r) end
            S.say_agent(K.SAME, r)
            return S.agent_alive(r)
        end
        S.step()
        local a = S.fresh('1', g[K.ARG_AGENT])
        a.order, a.token = S.act.v, S.act.v
        a.n0, a.n5, a.n2 = g[K.ARG_CAPACITY] or 1, g[K.ARG_LEVEL] or 0, S.beat()
        a.lanes, a.rooms, a.was_open, a.touched = S.lanes_of(), {}, false, false
        for i = 1, a.n0 do a.rooms[i] = '' end
        S.agent_move(a, K.AGENT_E_LOGIN, S.now)
        S.say_agent(K.OK, a)
        S.agent_save(a, true)
        S.about(S.verb, K.AGENT_GONE, a)
        S.act_commit()
        S.todo_agent(a.order)
    end

    function S.logout()
        local id = S.a[K.ARG_AGENT]
        if not S.agent_leave then S.make_expiry() end
        while true do
            local r = S.load('1', id)
            if not r then return S.no_agent(K.SAME) end
            if S.agent_leave(r, K.AGENT_E_LOGOUT, S.verb, S.now) then return S.no_agent(K.OK) end
        end
    end

    function S.pause_or_ready(r, event, verb)
        local from, ready, at = r.state, event == K.AGENT_E_READY, (r.state * K.AGENT_EVENTS + event) * 2 + 2
        local what, asked = byte(K.AGENT_MOVES, at) - 65, r.n6 % 2 == 1
        if what == K.OK and S.used(r) > 0 then
            if ready and not asked and r.n4 == 0 or not ready and asked then what = K.SAME end
        end
        if what ~= K.OK then return S.say_agent(what, r) end
        S.act_init()
        local a = S.agent_read(r)
        S.act.agent = a
        S.step()
        a.touched = true
        if ready or S.used(a) == 0 then a.n4 = 0 end
        if asked == ready then a.n6 = a.n6 + (ready and -1 or S.used(a) > 0 and 1 or 0) end
        S.agent_move(a, event, S.now)
        a.ends = S.nearer(a.n2, a.n4)
        S.about(verb, from, a)
        S.say_agent(K.OK, a)
        S.todo_agent(a.order)
        S.act_commit()
    end

    function S.agent_verb(event)
        local r = S.load('1', S.a[K.ARG_AGENT])
        if not r then return S.no_agent(K.MISSING) end
        S.pause_or_ready(r, event, S.verb)
    end

    function S.free()
        local n = 0
        if not S.first_in_rooms then S.make_expiry() end
        while true do
            local r = S.load('1', S.a[K.ARG_AGENT])
            if not r then return S.no_agent(K.MISSING) end
            S.act_init()
            S.act.agent = S.agent_read(r)
            local u = S.first_in_rooms(r)
            if not u then
                S.counted = n
                S.pause_or_ready(r, K.AGENT_E_READY, K.V_READY)
                if n > 0 then S.status = K.OK end
                return
            end
            if u.state == K.USER_SEATED then
                S.user_gone(u, 7, K.USER_E_FINISH, S.verb, S.now)
            else
                S.user_back(u, K.USER_E_BACK, true, S.verb, S.now)
            end
            S.act_commit()
            n = n + 1
        end
    end

    function S.pull()
        local r = S.load('1', S.a[K.ARG_AGENT])
        if not r then return S.no_agent(K.MISSING) end
        S.say_agent(K.OK, r)
        if not S.is_open(r) then S.status = K.REFUSED return end
        S.act_init()
        S.act.agent = S.agent_read(r)
        if not S.match_agent_once() then
            S.status, S.why = K.EMPTY, 2
            return
        end
        S.state = S.act.agent.state
        S.act_commit()
    end

    function S.match()
        local before = -1
        while S.n_matched ~= before and S.n_matched < K.STEP_MAX do
            local rank, order = 0, 0
            before = S.n_matched
            while S.cnt(5 + K.USER_WAITING) > 0 do
                local link = S.walk('2', '0', nil, rank, order)
                if link and S.n_matched >= K.STEP_MAX then S.more = 1 end
                if not link or S.n_matched >= K.STEP_MAX then break end
                rank, order = link.rank, link.order
                S.match_agent((S.find('1', link.owner) or S.damaged()).order, 1)
            end
        end
        S.status = S.n_matched > 0 and K.OK or K.SAME
    end
end

function S.agent_alive(r)
    local at = S.beat()
    if r.n2 == at then return end
    r.n2 = at
    r.ends = S.nearer(at, r.n4)
    r.slots = r.ends ~= 0 and 6 or 4
    S.heartbeat(r)
end

function S.room(alive)
    local id = S.a[K.ARG_AGENT]
    local r = S.load('1', id)
    if not r then return S.no_agent(K.MISSING) end
    if alive then
        S.agent_alive(r)
        if S.is_open(r) then
            S.todo_agent(r.order)
            S.settle()
        end
        r = S.find('1', id)
    end
    S.say_agent(K.OK, r)
    S.agent_read(r)
    S.rows = {}
    for i = 1, r.n0 do
        local row = {r.rooms[i], '', '', '', r.order, i, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
        if r.rooms[i] ~= '' then
            local u = S.find('3', r.rooms[i]) or S.damaged()
            row[3], row[7], row[8], row[9], row[10], row[11], row[12] = u.group, u.state, u.n1, u.n0, u.n2, u.n4,
                u.ends
        end
        S.rows[i] = row
    end
end

-- ---- verbs of users ---------------------------------------------------------------------

function S.user_alive(u)
    local at, from = S.beat(), u.state
    if from ~= K.USER_AWAY then
        if u.n3 == at then return end
        u.n3 = at
        u.ends = from == K.USER_WAITING and S.nearer(at, u.n7) or from == K.USER_OFFERED
            and S.nearer(at, u.n6) or at
        u.slots = u.slots - (u.slots % 4 > 1 and 2 or 0) + (u.ends ~= 0 and 2 or 0)
        return S.heartbeat(u)
    end
    S.act_init()
    S.step()
    u.n3, u.n6 = at, 0
    S.user_settle(u, (S.user_move(from, K.USER_E_APPLY)))
    S.user_save(u, from)
    S.about(S.verb, from, u)
    S.todo_user(u)
    S.act_commit()
end

function S.tell_user(status) S.say_user(status, S.find('3', S.a[K.ARG_USER])) end

function S.user_again(u, apply)
    local back = u.state == K.USER_AWAY
    S.user_alive(u)
    S.settle()
    S.tell_user(apply and not back and K.SAME or K.OK)
end

function S.where(alive)
    local id = S.a[K.ARG_USER]
    local u = S.load('3', id)
    if not u then return S.gone(K.MISSING, id) end
    if alive then return S.user_again(u, false) end
    S.say_user(K.OK, u)
end

function S.apply_verb()
    local g, set = S.a, S.set
    local id, since = g[K.ARG_USER], g[K.ARG_SINCE]
    local u = S.load('3', id)
    if u then return S.user_again(u, true) end
    S.gone(K.EMPTY, id)
    if S.cnt(1) + S.cnt(2) + S.cnt(3) + S.cnt(4) + S.cnt(5) == 0 then S.why = 1 return end
    local new = S.fresh('3', id)
    new.group, new.n1, new.n0 = g[K.ARG_LANE] or 'default', g[K.ARG_PRIORITY] or 0, since or S.now
    new.n2, new.n3, new.n7 = S.now, S.beat(), set[K.SET_MAXWAIT + 1] > 0 and S.now + set[K.SET_MAXWAIT + 1] or 0
    new.order = S.version + 1
    S.act_init()
    local l, found = S.lane_hold(new.group), false
    if set[K.SET_TRIGGER + 1] == 0 then found = S.pick(new, S.version + 2) end
    local alone, limit = l.n0 == 0, set[K.SET_LIMIT + 1]
    if limit > 0 and not found and S.cnt(5 + K.USER_WAITING) + S.cnt(5 + K.USER_AWAY) >= limit then
        S.status = K.FULL
        return
    end
    if not l.old and S.cnt(K.COUNT_LANES) >= K.LANES_MAX then S.status = K.FULL return end
    S.step()
    S.user_settle(new, (S.user_move(K.USER_GONE, K.USER_E_APPLY)))
    S.about(S.verb, K.USER_GONE, new)
    if found and alone then
        local login = S.act.agent.order
        S.give(new, false)
        S.say_user(K.OK, new, login)
    else
        S.act.agent = nil
        S.user_save(new, K.USER_GONE)
        if found then S.todo_user(new) else S.say_user(K.OK, new) end
    end
    S.act_commit()
    if found and not alone then
        S.settle()
        S.tell_user(K.OK)
    end
end

function S.end_visit(u, outcome, event)
    S.user, S.agent, S.index, S.wait, S.no, S.token = u.id, u.owner, -1, -1, u.n5, u.token
    S.act_init()
    S.user_gone(u, outcome, event, S.verb, S.now)
    if u.owner ~= '' then
        S.login = S.act.agent.order
        if S.set[K.SET_TRIGGER + 1] == 0 then
            S.match_agent_once()
            S.todo_a[#S.todo_a] = nil
        end
    end
    S.status = K.OK
    S.act_commit()
end

function S.leave_verb()
    local id = S.a[K.ARG_USER]
    local u = S.load('3', id)
    if not u then return S.gone(K.MISSING, id) end
    S.end_visit(u, u.state == K.USER_SEATED and 1 or 2, K.USER_E_LEAVE)
end

-- the user in room @room; or nil and the status
function S.in_room(room)
    local login, no = string.match(room, '^([1-9]%d*)%.([1-9]%d*)$')
    if not S.exists or not login or #login > 16 or #no > 16 then return nil, K.MISSING end
    login, no = tonumber(login), tonumber(no)
    while true do
        local a = S.agent_by_login(login)
        if not a then return nil, K.MISSING end
        if S.due_now(a) then
            if not S.expire_next then S.make_expiry() end
            S.expire_agent(a)
        else
            S.agent_read(a)
            if no > a.n0 then return nil, K.MISSING end
            S.login, S.no, S.agent = login, no, a.id
            if a.rooms[no] == '' then return nil, K.REFUSED end
            local u = S.find('3', a.rooms[no]) or S.damaged()
            if not S.due_now(u) then return u end
            if not S.expire_next then S.make_expiry() end
            S.expire_user(u)
        end
    end
end

function S.finish()
    local g = S.a
    local u, status = S.in_room(g[K.ARG_ROOM])
    S.index, S.wait = -1, -1
    if not u then
        S.status = status
        return
    end
    if g[K.ARG_USER] and g[K.ARG_USER] ~= u.id or g[K.ARG_TOKEN] and g[K.ARG_TOKEN] ~= u.token then
        S.status, S.user, S.agent, S.token = K.STALE, u.id, u.owner, u.token
        return
    end
    local _, what = S.user_move(u.state, K.USER_E_FINISH)
    if what ~= K.OK then
        S.status, S.user, S.agent = K.REFUSED, u.id, u.owner
        return
    end
    S.end_visit(u, 1, K.USER_E_FINISH)
end

function S.make_steps()
    function S.accept_or_reject(accept)
        local g = S.a
        local u, a = S.load('3', g[K.ARG_USER]), nil
        S.user, S.agent, S.index, S.wait = g[K.ARG_USER], g[K.ARG_AGENT], -1, -1
        a = S.load('1', g[K.ARG_AGENT])
        if not a then S.status = K.MISSING return end
        if u then u = S.load('3', g[K.ARG_USER]) end
        if u then a = S.find('1', g[K.ARG_AGENT]) end
        if not u or not a then S.status = K.MISSING return end
        if u.owner ~= a.id then S.status = K.REFUSED return end
        S.login, S.no, S.token, S.state = a.order, u.n5, u.token, a.state
        local from = u.state
        local to, what = S.user_move(from, accept and K.USER_E_SEAT or K.USER_E_BACK)
        if not accept and from == K.USER_SEATED then what = K.REFUSED end
        if what ~= K.OK then S.status = what return end
        S.act_init()
        S.act.agent = S.agent_read(a)
        if not accept then
            S.user_back(u, K.USER_E_BACK, true, S.verb, S.now)
        else
            S.step()
            local l = S.lane_hold(u.group)
            a.n6, a.n1 = a.n6 - 2, a.n1 + 1
            S.agent_move(a, K.AGENT_E_SEAT, S.now)
            u.n4, u.n6 = S.now, 0
            S.seated(l, u)
            u.state, u.ends = to, u.n3
            u.slots = u.ends ~= 0 and 6 or 4
            S.user_save(u, from)
            S.about(S.verb, from, u)
        end
        S.state, S.status = a.state, K.OK
        S.act_commit()
    end

    function S.move_user()
        local g = S.a
        local u = S.load('3', g[K.ARG_USER])
        if not u then return S.gone(K.MISSING, g[K.ARG_USER]) end
        local _, what = S.user_move(u.state, K.USER_E_MOVE)
        if what ~= K.OK then return S.say_user(what, u) end
        local lane, place = u.group, S.place_of(u)
        local was1, was0 = u.n1, u.n0
        u.group, u.n1, u.n0 = g[K.ARG_LANE] or lane, g[K.ARG_PRIORITY] or was1, g[K.ARG_SINCE] or was0
        if u.group == lane and S.place_of(u) == place then
            return S.say_user(K.SAME, u)
        end
        S.act_init()
        local from, to = S.lane_hold(lane), S.lane_hold(u.group)
        if not to.old and S.cnt(K.COUNT_LANES) >= K.LANES_MAX then S.status = K.FULL return end
        S.step()
        if u.state == K.USER_WAITING then u.rank = S.place_of(u) end
        S.count_user(from, u.state, -1)
        S.count_user(to, u.state, 1)
        S.save(u)
        S.about(S.verb, u.state, u)
        S.todo_user(u)
        S.act_commit()
        S.settle()
        S.tell_user(K.OK)
    end

    function S.settings()
        local a, set, given = S.a, {}, false
        for i = 1, 16 do set[i] = S.set[i] end
        local function take(i, value)
            if value then set[i + 1], given = value, true end
        end
        take(K.SET_TTL, a[K.ARG_TTL])
        take(K.SET_TRIGGER, a[K.ARG_TRIGGER])
        take(K.SET_STRATEGY, a[K.ARG_STRATEGY])
        take(K.SET_OFFER, a[K.ARG_OFFER])
        take(K.SET_WRAPUP, a[K.ARG_WRAPUP])
        take(K.SET_LIMIT, a[K.ARG_LIMIT])
        take(K.SET_MAXWAIT, a[K.ARG_MAXWAIT])
        take(K.SET_GRACE, a[K.ARG_GRACE])
        take(K.SET_REQUEUE, a[K.ARG_REQUEUE])
        take(K.SET_HISTORY, a[K.ARG_HISTORY])
        take(K.SET_ZONE, a[K.ARG_ZONE])
        take(K.SET_SERVICE, a[K.ARG_SERVICE])
        take(K.SET_REQUESTS, a[K.ARG_REQUESTS])
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
            local waited = S.set[K.SET_TRIGGER + 1] ~= 0
            S.pset = set
            S.commit(S.verb, 0, 0, nil)
            if waited and S.set[K.SET_TRIGGER + 1] == 0 then
                if not S.match then S.make_agents() end
                S.match()
                S.status = K.OK
            end
        end
    end
end

-- ---- lists and figures --------------------------------------------------------------------

function S.make_reads()
    -- 'HI.ORDER', where a page ended
    function S.cursor()
        local hi, order = string.match(S.a[K.ARG_AFTER] or '', '^(%d+)%.(%d+)$')
        return tonumber(hi), tonumber(order)
    end

    function S.list()
        local a = S.a
        local state, lane, max = a[K.ARG_STATE] or K.USER_WAITING, a[K.ARG_LANE] or nil,
            a[K.ARG_MAX] or K.LIST_DEFAULT
        local slot = state == K.USER_WAITING and '0' or state == K.USER_AWAY and '1' or '2'
        local hi, order = S.cursor()
        if not S.exists then S.status = K.MISSING return end
        local looked, n = 0, 0
        while true do
            local r = S.walk('3', slot, slot ~= '2' and lane or nil, hi, order)
            if not r then return end
            if n == max or looked == K.LIST_MAX then
                S.more, S.agent = 1, format('%.0f.%.0f', hi or 0, order or 0)
                return
            end
            hi, order, looked = slot == '0' and r.rank or slot == '1' and r.ends or 0, r.order, looked + 1
            if r.state == state and (not lane or lane == r.group) then
                n = n + 1
                S.rows = S.rows or {}
                S.rows[n] = {r.id, r.owner, r.group, '', r.n5 ~= 0 and (S.find('1', r.owner) or S.damaged()).order
                    or 0, r.n5, r.state, r.n1, r.n0, r.n2, r.n4, r.ends, 0, 0, 0, 0, 0, 0}
            end
        end
    end

    function S.agents()
        local a = S.a
        local max, from, n = a[K.ARG_MAX] or K.LIST_DEFAULT, '[1n', 0
        if not S.exists then S.status = K.MISSING return end
        if a[K.ARG_AFTER] then from = '(1n' .. a[K.ARG_AFTER] end
        while true do
            local m = call('ZRANGEBYLEX', INDEX, from, '(1n\255', 'LIMIT', '0', '1')[1]
            if not m then
                S.agent = ''
                return
            end
            if n == max then S.more = 1 return end
            local r = S.agent_read(S.find('1', sub(m, 3)))
            from, n, S.agent = '(' .. m, n + 1, r.id
            S.rows = S.rows or {}
            S.rows[n] = {'', r.id, '', table.concat(r.lanes, ','), r.order, 0, r.state, 0, 0, 0, r.n7, r.ends, 0, 0,
                r.n0, S.used(r), r.n3, r.n5}
        end
    end

    function S.longest_wait(lane)
        local rank, order, longest = nil, nil, 0
        while true do
            local r = S.walk('3', '0', lane, rank, order)
            if not r then return longest end
            if S.now - r.n0 > longest then longest = S.now - r.n0 end
            rank, order = (K.PRIORITY_MAX - r.n1) * 8796093022208 + K.PLACE_MAX, 9007199254740991
        end
    end

    function S.stats()
        S.extra = {}
        for i = 1, 18 do S.extra[i] = 0 end
        if not S.exists then S.status = K.MISSING return end
        local x, f, day, lane, from = S.extra, {0, 0, 0, 0, 0, 0, 0, 0}, S.day_of(S.now) + K.DAY_SHIFT, S.a[K.ARG_LANE] or nil, '[6n'
        while true do
            local l
            if lane then
                l = S.find('6', lane)
            else
                local m = call('ZRANGEBYLEX', INDEX, from, '(6n\255', 'LIMIT', '0', '1')[1]
                if not m then break end
                from = '(' .. m
                l = S.find('6', sub(m, 3))
            end
            if l then
                local g = {struct.unpack(FIGURES, l.data)}
                x[1], x[2], x[3], x[4] = x[1] + l.n0, x[2] + l.n3, x[3] + l.n1, x[4] + l.n2
                if g[1] == day then
                    for i = 2, 8 do f[i] = f[i] + g[i] end
                end
            end
            if lane then break end
        end
        for i = 1, 5 do
            x[5 + i] = S.cnt(i)
            x[5] = x[5] + x[5 + i]
        end
        x[11] = S.longest_wait(lane)
        x[12], x[13], x[14], x[15] = f[2], f[5], f[6], f[7]
        x[16] = f[2] > 0 and floor(f[3] * 10000 / f[2]) or -1
        x[17] = f[2] > 0 and floor(f[4] / f[2]) or -1
        x[18] = f[7] > 0 and floor(f[8] / f[7]) or -1
    end

    function S.history()
        local a = S.a
        local max, since = a[K.ARG_MAX] or K.LIST_DEFAULT, a[K.ARG_SINCE] or nil
        local _, before = S.cursor()
        if not S.exists then S.status = K.MISSING return end
        local looked, n = 0, 0
        while true do
            local r = S.walk('7', '0', nil, 0, before, true)
            if not r then return end
            if n == max or looked == K.LIST_MAX then
                S.more, S.agent = 1, format('0.%.0f', before)
                return
            end
            before, looked = r.order, looked + 1
            if not since or r.n4 >= since then
                local d = munpack(r.data)
                n = n + 1
                S.rows = S.rows or {}
                S.rows[n] = {d[1], r.owner, d[2], '', r.n5, r.n6, r.state, r.n0, r.n1, r.n2, r.n3, r.n4,
                    (r.n3 ~= 0 and r.n3 or r.n4) - r.n2, r.n3 ~= 0 and r.n4 - r.n3 or 0, 0, 0, 0, 0}
            end
        end
    end
end

-- ---- all together -------------------------------------------------------------------------

-- What is wrong with the arguments that only the time, or the form of a text, tells; nil: nothing.
-- Asked before anything is applied, so that `invalid` changes nothing.
function S.arguments_fault(verb)
    local since, after = S.a[K.ARG_SINCE], S.a[K.ARG_AFTER]
    if (verb == K.V_APPLY or verb == K.V_LOGIN) and S.now > K.PLACE_MAX then
        return 'now is later than a queue can tell'
    end
    if (verb == K.V_APPLY or verb == K.V_MOVE) and since and since > S.now then return 'since is in the future' end
    if (verb == K.V_LIST or verb == K.V_HISTORY) and after then
        local hi, order = string.match(after, '^(%d+)%.(%d+)$')
        if not hi or #hi > 16 or #order > 16 then return 'after is not where a page ended' end
    end
    return nil
end

function S.run()
    local verb, max = S.verb, K.EXPIRE_MAX
    if S.req then
        S.answer = S.kept()
        if S.answer then return end
    end
    local fault = S.arguments_fault(verb)
    if fault then
        S.answer = {K.INVALID, fault}
        return
    end
    if verb == K.V_WHERE or verb == K.V_ROOM or verb == K.V_LIST or verb == K.V_AGENTS or verb == K.V_STATS
        or verb == K.V_HISTORY then
        max = K.STEP_MAX
    elseif verb == K.V_SWEEP then
        S.tell_rows, max = true, S.a[K.ARG_MAX] or K.STEP_MAX
    end
    local version, n, more = S.version, 0, false
    if S.exists and S.due >= 0 and S.due <= S.now then
        if not S.expire_next then S.make_expiry() end
        n, more = S.expire_due(max)
    end
    if verb == K.V_SWEEP then
        S.status = not S.exists and K.MISSING or n > 0 and K.OK or K.SAME
        S.counted, S.more = n, more and 1 or 0
    else
        version, S.n_matched = S.version, 0
        S.dispatch(verb)
        if S.answer then return end
        S.settle()
        if S.n_matched > 0 and (verb == K.V_LOGIN or verb == K.V_READY or verb == K.V_FREE or verb == K.V_REJECT) then
            local r = S.find('1', S.a[K.ARG_AGENT])
            if r then S.state = r.state end
        end
    end
    if S.req and S.status == K.OK and S.version ~= version then S.keep_last() end
end

function S.dispatch(verb)
    if verb == K.V_APPLY then return S.apply_verb() end
    if verb == K.V_FINISH then return S.finish() end
    if verb == K.V_ALIVE then
        if S.a[K.ARG_AGENT] then return S.room(true) end
        return S.where(true)
    end
    if verb == K.V_WHERE then return S.where(false) end
    if verb == K.V_ROOM then return S.room(false) end
    if verb == K.V_LEAVE then return S.leave_verb() end
    if verb == K.V_LIST or verb == K.V_AGENTS or verb == K.V_STATS or verb == K.V_HISTORY then
        if not S.cursor then S.make_reads() end
        if verb == K.V_LIST then return S.list() end
        if verb == K.V_AGENTS then return S.agents() end
        if verb == K.V_STATS then return S.stats() end
        return S.history()
    end
    if verb == K.V_ACCEPT or verb == K.V_REJECT or verb == K.V_MOVE or verb == K.V_SET then
        if not S.settings then S.make_steps() end
        if verb == K.V_MOVE then return S.move_user() end
        if verb == K.V_SET then return S.settings() end
        return S.accept_or_reject(verb == K.V_ACCEPT)
    end
    if not S.login_verb then S.make_agents() end
    if verb == K.V_LOGIN then return S.login_verb() end
    if verb == K.V_LOGOUT then return S.logout() end
    if verb == K.V_PAUSE then return S.agent_verb(K.AGENT_E_PAUSE) end
    if verb == K.V_READY then return S.agent_verb(K.AGENT_E_READY) end
    if verb == K.V_FREE then return S.free() end
    if verb == K.V_PULL then
        S.tell_rows = true
        return S.pull()
    end
    if verb == K.V_MATCH then
        S.tell_rows = true
        return S.match()
    end
    S.answer = {K.INVALID, 'the verb is not known'}
end
