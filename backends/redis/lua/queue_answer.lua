-- SPDX-License-Identifier: MIT
--
-- The answer about one agent or one user: src/nouns/queue/queue_answer.c.

function S.say_agent(status, r)
    S.status, S.state, S.agent = status, S.shown(r), r.id
    S.login, S.no, S.token = 0, 0, 0
    if r.n0 > K.CAPACITY_MAX then S.damaged() end
    if r.state ~= K.AGENT_GONE then S.login, S.no, S.token = r.order, r.n0, S.login_token(r) end
end

function S.no_agent(status) S.status, S.agent = status, S.a[K.ARG_AGENT] end

-- Return when the state of @u ends if its heartbeats continue; 0 if there is no such time.
function S.shown_until(u)
    if u.state == K.USER_WAITING then return u.n7 end
    if u.state == K.USER_OFFERED then return u.n6 end
    return u.state == K.USER_AWAY and S.nearer(u.n6, u.n7) or 0
end

function S.say_user(status, u, login)
    local state = u.state
    S.status, S.index, S.wait, S.user, S.agent, S.counted = status, -1, -1, u.id, u.owner, u.order
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
            local f = S.figures(l.data)
            if f[10] ~= 0 and S.served(u.group) then
                S.wait = math.max(floor((S.index + 1) * f[10] / 16), S.lasted(f[11], S.at()))
            end
        end
    end
end

function S.gone(status, user) S.status, S.index, S.wait, S.user = status, -1, -1, user end
