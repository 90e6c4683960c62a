-- SPDX-License-Identifier: MIT
--
-- Apply a changed ttl or maxwait to the deadlines of agents and users: src/nouns/queue/queue_limits.c.
-- L_CHANGED has what changed: 1 ttl, 2 maxwait.

-- Begin the change if the settings @new have other limits.
function S.limits_change(new)
    local changed = (new[K.SET_TTL + 1] ~= S.set[K.SET_TTL + 1] and 1 or 0)
        + (new[K.SET_MAXWAIT + 1] ~= S.set[K.SET_MAXWAIT + 1] and 2 or 0)
    local there = 0
    for i = 1, K.COUNT_LANES - 1 do there = there + S.cnt(i) end
    if changed == 0 or there == 0 then return end
    local r = S.fresh(K.KIND_REFUSAL, '?')
    r.state, r.order, r.ends, r.slots = K.R_LIMITS, S.version + 1, S.moment > 0 and S.moment or 1, 2
    r.L_AT, r.L_CHANGED, r.L_TTL = S.moment, changed, S.set[K.SET_TTL + 1]
    S.save(r)
    if S.cnt(K.COUNT_OLD) < K.OLD_LIMITS then S.add(K.COUNT_OLD, K.OLD_LIMITS) end
end

function S.make_limits()
    local lists = {{K.KIND_AGENT, '2'}, {K.KIND_USER, '0'}, {K.KIND_USER, '2'}, {K.KIND_USER, '1'}}

    local function beat_anew(l, beat)
        local ttl, before = S.set[K.SET_TTL + 1], l.L_TTL
        if l.L_CHANGED % 2 == 0 then return beat end
        if ttl == 0 then return 0 end
        return beat ~= 0 and ttl > before and beat + ttl - before or l.L_AT + ttl
    end

    local function patience_anew(l, u)
        local maxwait = S.set[K.SET_MAXWAIT + 1]
        local at = u.U_APPLIED + maxwait
        if l.L_CHANGED < 2 then return u.U_PATIENCE end
        if maxwait == 0 then return 0 end
        local waits = u.state == K.USER_WAITING or u.state == K.USER_AWAY
        return waits and at <= l.L_AT and l.L_AT + 1 or at
    end

    local function next_of(l)
        local list = lists[l.L_LIST + 1]
        if l.L_LIST == 0 and l.L_CHANGED % 2 == 0 or l.L_LIST == 3 and (l.L_CHANGED < 2 or S.cnt(K.COUNT_USERS + K.USER_AWAY) == 0) then
            return nil
        end
        return S.walk(list[1], list[2], nil, l.L_RANK, l.L_ORDER)
    end

    local function limit(l, r)
        l.L_RANK, l.L_ORDER = l.L_LIST == 1 and r.rank or l.L_LIST == 3 and r.ends or 0, r.order
        if l.L_LIST == 0 then
            r.A_BEAT = beat_anew(l, r.A_BEAT)
            S.agent_settle(r)
        elseif (l.L_LIST == 3) ~= (r.state == K.USER_AWAY) then
            return
        else
            if l.L_LIST ~= 3 then r.U_BEAT = beat_anew(l, r.U_BEAT) end
            r.U_PATIENCE = patience_anew(l, r)
            S.user_settle(r, r.state)
        end
        S.save(r)
    end

    -- Change the deadlines of up to @max records.
    function S.limits_reach(max)
        while max > 0 and S.cnt(K.COUNT_OLD) >= K.OLD_LIMITS do
            local l, n = S.find(K.KIND_REFUSAL, '?') or S.damaged(), K.CHANGE_MAX - 1
            while max > 0 and n > 0 and l.L_LIST < #lists do
                local r = next_of(l)
                if r then
                    limit(l, r)
                    max, n = max - 1, n - 1
                else
                    l.L_LIST, l.L_RANK, l.L_ORDER = l.L_LIST + 1, 0, 0
                end
            end
            if l.L_LIST == #lists then
                S.erase(l)
                S.add(K.COUNT_OLD, -K.OLD_LIMITS)
            else
                S.save(l)
            end
            S.apply()
        end
    end
end

-- Apply changed settings to some records.  Return true if records are left.
function S.reach()
    if S.cnt(K.COUNT_OLD) % 2 == 1 then S.rank_anew(K.RANKED_MAX) end
    if S.cnt(K.COUNT_OLD) >= K.OLD_LIMITS then
        if not S.limits_reach then S.make_limits() end
        S.limits_reach(K.RANKED_MAX)
    end
    return S.cnt(K.COUNT_OLD) ~= 0
end
