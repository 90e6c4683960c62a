-- SPDX-License-Identifier: MIT
--
-- Commands of members: src/nouns/room/room_members.c.

-- ---- join, leave, kick, alive -------------------------------------------------------------

-- Save a heartbeat that changes no state.  It has no version.
function S.beat(r, rank, ends)
    local till = S.n(K.COUNT_PUSHED)
    local over, new = till < 0 and S.now >= -till, r.rank ~= rank or r.ends ~= ends
    if over then
        S.put(K.COUNT_PUSHED, 0)
        S.push = S.version_shown()
    end
    if new then S.save(r) end
    if new or over then S.apply() end
end

function S.make_join()
    function S.join_new()
        local set = S.set
        local _, status = S.room(K.ROOM_E_JOIN)
        if status == K.REFUSED then
            S.because = 'the room is locked'
            return S.say_member(status)
        end
        local limit, place = set[K.SET_CAPACITY + 1], true
        if limit > 0 and S.count[K.COUNT_MEMBERS + 1] >= limit then
            local more
            if S.due >= 0 and S.due <= S.moment then
                if not S.expire_due then S.make_due() end
                _, more = S.expire_due(K.EXPIRE_MAX)
            end
            place = S.count[K.COUNT_MEMBERS + 1] < S.set[K.SET_CAPACITY + 1]
            if not place and more then return S.defer() end
        end
        if not S.gate(K.ROOM_E_JOIN) then return end
        if not place then
            S.because = 'the room is full'
            return S.say_member(K.FULL)
        end
        local r = S.fresh(K.KIND_MEMBER, S.a[K.ARG_MEMBER])
        local data, _, full = S.merge('', true)
        r.data = data
        if full then return S.too_large(S.say_member) end
        r.rank, r.order, r.N_JOINED = S.moment, S.version + 1, S.now
        S.settle(r, S.move(K.MEMBER_MOVES, K.MEMBER_ABSENT, K.MEMBER_E_JOIN), S.moment)
        S.add(K.COUNT_MEMBERS, 1)
        S.add(K.COUNT_JOINED, 1)
        S.put(K.COUNT_EMPTY, 0)
        S.save(r)
        S.say_member(K.OK, r)
        S.finish(K.MEMBER_ABSENT, r.state, r, S.told_of())
    end

    function S.join()
        if not S.gate(K.ROOM_E_CHANGE) then return end
        local r = S.load(S.a[K.ARG_MEMBER])
        if not r then return S.join_new() end
        local state, rank, ends, before = r.state, r.rank, r.ends, r.data
        local to, status = S.move(K.MEMBER_MOVES, state, K.MEMBER_E_JOIN)
        if status == K.REFUSED then
            S.because = 'the member is banned'
            return S.say_member(status, r)
        end
        local data, changed, full = S.merge(before, true)
        if full then return S.too_large(S.say_member, r) end
        if changed then r.data = data end
        S.seen(r)
        S.settle(r, to, S.moment)
        if status == K.SAME and not changed then
            S.say_member(K.SAME, r)
            return S.beat(r, rank, ends)
        end
        S.save(r)
        S.say_member(K.OK, r)
        S.finish(state, r.state, r, S.told_of())
    end
end

-- See see() in room_members.c.
function S.seen(r)
    if S.moment > r.rank or r.rank > S.wall then r.rank = S.moment end
end

-- Add the version and history hash that a replica should have; called after the change.
function S.say_point()
    S.since, S.extra = S.version_shown(), {S.count[K.COUNT_MARK + 1]}
end

function S.alive()
    if not S.gate(K.ROOM_E_CHANGE) then return end
    local r = S.load(S.a[K.ARG_MEMBER])
    if not r then
        local _, status = S.move(K.MEMBER_MOVES, K.MEMBER_ABSENT, K.MEMBER_E_BEAT)
        return S.say_member(status)
    end
    local state, rank, ends = r.state, r.rank, r.ends
    local to, status = S.move(K.MEMBER_MOVES, state, K.MEMBER_E_BEAT)
    if status ~= K.OK then return S.say_member(status, r) end
    S.seen(r)
    S.settle(r, to, S.moment)
    S.say_member(K.OK, r)
    S.say_point()
    if state == r.state then return S.beat(r, rank, ends) end
    S.save(r)
    S.finish(state, r.state, r)
    S.say_point()
end

-- See lift_closed().
function S.lift_closed()
    if S.rests() and S.other_version() then return S.stale() end
    local r = S.load(S.a[K.ARG_MEMBER])
    if not r or r.state ~= K.MEMBER_BANNED then return S.gate(K.ROOM_E_CHANGE) end
    S.erase(r)
    S.add(K.COUNT_BANS, -1)
    S.bans_apply()
    r.state, r.ends = S.move(K.MEMBER_MOVES, r.state, K.MEMBER_E_UNBAN), 0
    S.say_member(K.OK, r)
end

function S.go(event)
    if not S.gate(K.ROOM_E_CHANGE) then return end
    local ban, length = event == K.MEMBER_E_BAN, S.a[K.ARG_BAN]
    local r = S.load(S.a[K.ARG_MEMBER]) or S.fresh(K.KIND_MEMBER, S.a[K.ARG_MEMBER])
    local from = r.state
    local to, status = S.move(K.MEMBER_MOVES, from, event)
    -- A ban that already ends at this time does not change.
    if ban and from == K.MEMBER_BANNED and r.ends == S.moment + length then status = K.SAME end
    if status ~= K.OK then return S.say_member(status, r) end
    if ban and from ~= K.MEMBER_BANNED and S.count[K.COUNT_BANS + 1] >= K.BANS_MAX then
        S.because = 'the room has too many bans (limit 1000)'
        return S.say_member(K.FULL, r)
    end
    if not ban then S.erase(r) end
    if S.present(r) then
        if event ~= K.MEMBER_E_LEAVE then S.add(K.COUNT_KICKED, 1) end
        if not S.let_go then S.make_going() end
        S.let_go(r, S.moment)
    end
    if from == K.MEMBER_BANNED then S.add(K.COUNT_BANS, -1) end
    r.state, r.ends = to, 0
    if ban then
        r.ends, r.rank, r.order, r.data = S.moment + length, 0, S.version + 1, ''
        r.slots = S.slots(K.MEMBER_LISTS, to, r.ends)
        r.N_JOINED, r.N_ROLES, r.N_SHARES = 0, 0, 0
        S.add(K.COUNT_BANS, 1)
        S.save(r)
    end
    S.say_member(K.OK, r)
    S.finish(from, to, r)
end
