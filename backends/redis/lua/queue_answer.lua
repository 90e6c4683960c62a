-- SPDX-License-Identifier: MIT
--
-- The answer about one agent or one user: src/nouns/queue/queue_answer.c.

function S.say_agent(status, r)
    S.status, S.state, S.agent = status, S.shown(r), r.id
    S.login, S.no, S.token = 0, 0, 0
    if r.A_CAPACITY > K.CAPACITY_MAX then S.damaged() end
    if r.state ~= K.AGENT_GONE then S.login, S.no, S.token = r.order, r.A_CAPACITY, S.login_token(r) end
end

function S.no_agent(status) S.status, S.agent = status, S.a[K.ARG_AGENT] end

-- Return when the state of @u ends if its heartbeats continue; 0 if there is no such time.
function S.shown_until(u)
    if u.state == K.USER_WAITING then return u.U_PATIENCE end
    if u.state == K.USER_OFFERED then return u.U_END end
    return u.state == K.USER_AWAY and S.nearer(u.U_END, u.U_PATIENCE) or 0
end

-- Return whether the answer has the lane of a user instead of its name.
function S.answers_lane() return S.verb == K.V_WHERE or S.verb == K.V_ALIVE end

function S.say_user(status, u, login)
    local state = u.state
    S.status, S.index, S.wait, S.user, S.agent, S.counted, S.since = status, -1, -1, S.answers_lane() and u.group or u.id, u.owner, u.order, u.U_SINCE
    S.place = state == K.USER_WAITING and K.PLACE_QUEUE or state == K.USER_OFFERED and K.PLACE_OFFER or state == K.USER_SEATED and K.PLACE_ROOM
        or state == K.USER_AWAY and K.PLACE_AWAY or 0
    if state == K.USER_OFFERED or state == K.USER_SEATED then
        S.token, S.no, S.ends = u.token, u.U_NO, u.U_END
        S.login = login or (S.find(K.KIND_AGENT, u.owner) or S.damaged()).order
    elseif state == K.USER_WAITING then
        local l = S.exists and S.find(K.KIND_LANE, u.group)
        S.index = 0
        if l then
            if S.verb ~= K.V_APPLY and S.verb ~= K.V_MOVE then S.waiting = l.L_WAITING end
            if l.L_WAITING > 0 then S.index = S.rank(K.KIND_USER, u.group, u.rank, u.order) end
            local f = {struct.unpack(FIGURES, l.data)}
            if f[F_PACE] ~= 0 and S.served(u.group) then
                S.wait = math.max(floor((S.index + 1) * f[F_PACE] / 16), S.lasted(f[F_LAST], S.at()))
            end
        end
    end
end

function S.gone(status, user) S.status, S.index, S.wait, S.user = status, -1, -1, S.answers_lane() and '' or user end

-- Return whether the store may have lost changes of the queue.
local function has_lost()
    local gaps = S.all_gaps()
    for i = 1, #gaps, 14 do
        if sunpack('>I7', gaps, i) ~= 0 then return true end -- else the queue had no version before
    end
    return false
end

-- Answer `missing` with the end of the last visit of @user.
function S.ended(user)
    local v = S.exists and S.walk(K.KIND_VISIT, '0', user, nil, nil, true)
    S.gone(K.MISSING, user)
    if v and v.state ~= K.OUTCOME_REQUEUED then -- else the user waited again
        S.outcome, S.ends, S.token, S.agent = v.state, v.VISIT_END, v.VISIT_TOKEN, v.owner
    elseif v or S.exists and has_lost() then
        S.why = K.WHY_LOST
    end
end
