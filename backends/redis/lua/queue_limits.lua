-- SPDX-License-Identifier: MIT
--
-- Apply a changed ttl or maxwait to the deadlines of agents and users: src/nouns/queue/queue_limits.c.
-- n0 to n5 of the record of the change: when the limits were set, the current list, rank and order of the last
-- record of it that was changed, what changed (1 ttl, 2 maxwait), the former ttl.

-- Begin the change if the settings @new have other limits.
function S.limits_change(new)
    local changed = (new[K.SET_TTL + 1] ~= S.set[K.SET_TTL + 1] and 1 or 0)
        + (new[K.SET_MAXWAIT + 1] ~= S.set[K.SET_MAXWAIT + 1] and 2 or 0)
    local there = 0
    for i = 1, K.COUNT_LANES - 1 do there = there + S.cnt(i) end
    if changed == 0 or there == 0 then return end
    local r = S.fresh('9', '?')
    r.state, r.order, r.ends, r.slots = 3, S.version + 1, S.moment > 0 and S.moment or 1, 2
    r.n0, r.n4, r.n5 = S.moment, changed, S.set[K.SET_TTL + 1]
    S.save(r)
    if S.cnt(K.COUNT_OLD) < K.OLD_LIMITS then S.add(K.COUNT_OLD, K.OLD_LIMITS) end
end

function S.make_limits()
    local lists = {{'1', '2'}, {'3', '0'}, {'3', '2'}, {'3', '1'}}

    local function beat_anew(l, beat)
        local ttl, before = S.set[K.SET_TTL + 1], l.n5
        if l.n4 % 2 == 0 then return beat end
        if ttl == 0 then return 0 end
        return beat ~= 0 and ttl > before and beat + ttl - before or l.n0 + ttl
    end

    local function patience_anew(l, u)
        local maxwait = S.set[K.SET_MAXWAIT + 1]
        local at = u.n2 + maxwait
        if l.n4 < 2 then return u.n7 end
        if maxwait == 0 then return 0 end
        local waits = u.state == K.USER_WAITING or u.state == K.USER_AWAY
        return waits and at <= l.n0 and l.n0 + 1 or at
    end

    local function next_of(l)
        local list = lists[l.n1 + 1]
        if l.n1 == 0 and l.n4 % 2 == 0 or l.n1 == 3 and (l.n4 < 2 or S.cnt(5 + K.USER_AWAY) == 0) then
            return nil
        end
        return S.walk(list[1], list[2], nil, l.n2, l.n3)
    end

    local function limit(l, r)
        l.n2, l.n3 = l.n1 == 1 and r.rank or l.n1 == 3 and r.ends or 0, r.order
        if l.n1 == 0 then
            r.n2 = beat_anew(l, r.n2)
            S.agent_settle(r)
        elseif (l.n1 == 3) ~= (r.state == K.USER_AWAY) then
            return
        else
            if l.n1 ~= 3 then r.n3 = beat_anew(l, r.n3) end
            r.n7 = patience_anew(l, r)
            S.user_settle(r, r.state)
        end
        S.save(r)
    end

    -- Change the deadlines of up to @max records.
    function S.limits_reach(max)
        while max > 0 and S.cnt(K.COUNT_OLD) >= K.OLD_LIMITS do
            local l, n = S.find('9', '?') or S.damaged(), K.CHANGE_MAX - 1
            while max > 0 and n > 0 and l.n1 < #lists do
                local r = next_of(l)
                if r then
                    limit(l, r)
                    max, n = max - 1, n - 1
                else
                    l.n1, l.n2, l.n3 = l.n1 + 1, 0, 0
                end
            end
            if l.n1 == #lists then
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
