-- SPDX-License-Identifier: MIT
--
-- Reads: src/nouns/room/room_queries.c; and the choice of the function for a verb.

-- ---- reads --------------------------------------------------------------------------------

function S.make_reads()
    if not S.due_event then S.make_due() end

    -- Return whether the room exists after all due expiries, and the roles, shares and lost members that it has
    -- then: see usher__room_check() and read_begin().
    function S.read()
        local state = S.exists and S.count[K.COUNT_STATE + 1] or K.ROOM_CLOSED
        local members, empty = S.count[K.COUNT_MEMBERS + 1], S.count[K.COUNT_EMPTY + 1]
        local roles, shares, lost = S.count[K.COUNT_ROLES + 1], S.count[K.COUNT_SHARES + 1], S.count[K.COUNT_LOST + 1]
        local open = state ~= K.ROOM_CLOSED and state ~= K.ROOM_CLOSING
        if open then
            local hi, order, n = nil, nil, 0
            if S.due >= 0 and S.due <= S.moment then
                if not S.outage then S.make_outage() end
                S.outage_look()
            end
            while n < K.PAGE_MAX and S.due >= 0 and S.due <= S.moment do
                local r = S.walk(K.KIND_MEMBER, '1', nil, hi, order)
                if not r or r.ends > S.moment then break end
                n = n + 1
                hi, order = r.ends, r.order
                while S.present(r) and r.ends ~= 0 and r.ends <= S.moment do
                    local to, later = S.move(K.MEMBER_MOVES, r.state, S.due_event(r)), S.outage_end(r.ends)
                    if later then
                        r.ends = later
                    elseif to ~= K.MEMBER_ABSENT then
                        S.settle(r, to, r.ends)
                    else
                        r.state, members = to, members - 1
                        roles, shares, lost = roles - r.N_ROLES, shares - r.N_SHARES, lost + 1
                        if r.ends > empty then empty = r.ends end
                    end
                end
            end
            local span = S.set[K.SET_LINGER + 1]
            open = members > 0 or span == 0 or empty + span > S.moment
        else
            members = 0
        end
        S.say(open and K.OK or K.MISSING)
        S.members = members
        if not open and state ~= K.ROOM_CLOSED then S.state = K.ROOM_CLOSING end
        return open, roles, shares, lost
    end

    function S.get()
        if not S.read() then return end
        local field = S.a[K.ARG_FIELD]
        if not field then return S.add_rows(K.KIND_FIELD, K.ROW_FIELD) end
        local r = S.find(K.KIND_FIELD, field)
        if r then return S.add_row(K.ROW_FIELD, r) end
        S.status = K.MISSING
    end

    function S.show()
        if not S.read() then return end
        for i = 1, K.SETTINGS do S.extra[i] = S.set[i] end
        S.created = S.count[K.COUNT_CREATED + 1]
    end

    function S.stats()
        local open, roles, shares, lost = S.read()
        if not open then return end
        local joined, kicked = S.count[K.COUNT_JOINED + 1], S.count[K.COUNT_KICKED + 1]
        S.created = S.count[K.COUNT_CREATED + 1]
        S.extra = {S.set[K.SET_CAPACITY + 1], roles, shares, joined, joined - S.members - lost - kicked, lost, kicked,
            S.count[K.COUNT_LOGGED + 1]}
    end

    function S.changes()
        if not S.read() then return end
        local max, since = S.a[K.ARG_MAX] or K.LIST_DEFAULT, S.a[K.ARG_SINCE_VERSION] or 0
        S.counted = S.count[K.COUNT_CHANGES + 1]
        S.since, S.extra = S.count[K.COUNT_SINCE + 1], {S.count[K.COUNT_MARK + 1], S.set[K.SET_PUSH + 1]}
        S.add_changes(since, max, math.huge)
    end
end

-- Add rows of all records of @kind, by id.
function S.add_rows(kind, row)
    local r
    while true do
        r = S.next(kind, r and r.id)
        if not r then return end
        S.add_row(row, r)
    end
end

-- Add the notices after version @since.  Return their size in bytes.
function S.add_changes(since, max, page)
    local function add(r) S.add_row(K.ROW_NOTICE, r) end
    if not S.log_add then S.make_log() end
    local bytes, more = S.log_read(since, max, page, add)
    S.more = more and 1 or 0
    return bytes
end

function S.snapshot()
    if not S.gate(K.ROOM_E_CHANGE) then return end
    local max, after, since = S.a[K.ARG_MAX] or K.LIST_DEFAULT, S.a[K.ARG_AFTER_VERSION] or 0, S.a[K.ARG_SINCE_VERSION]
    local bytes, n = 0, 0
    S.say(K.OK)
    S.say_point()
    S.since = after
    if since then
        bytes = S.add_changes(since, max, K.PAGE_BYTES)
        if S.answer or S.status ~= K.OK or S.more == 1 then return end
    end
    if after == 0 then
        S.add_rows(K.KIND_FIELD, K.ROW_FIELD)
        S.add_rows(K.KIND_ROLE, K.ROW_ROLE)
    end
    S.add_rows(K.KIND_ALL, K.ROW_ALL)
    while true do
        local r = S.walk(K.KIND_MEMBER, '2', nil, 0, S.since)
        if not r then return end
        if n == max or n > 0 and bytes >= K.PAGE_BYTES then
            S.more = 1
            return
        end
        n, S.since, bytes = n + 1, r.order, bytes + K.ROW_WORK + #r.data
        S.add_row(K.ROW_MEMBER, r)
        local at
        while r.N_SHARES > 0 do
            local share = S.walk(K.KIND_SHARE, '2', r.id, 0, at)
            if not share then break end
            at, bytes = share.order, bytes + K.ROW_WORK + #share.data
            S.add_row(K.ROW_SHARE, share)
        end
    end
end

-- ---- stale --------------------------------------------------------------------------------

-- See usher__room_stale().
function S.stale()
    if S.status ~= K.STALE then return end
    local verb, a, r = S.verb, S.a, nil
    S.blank = nil
    if verb == K.V_SET or verb == K.V_UNSET or verb == K.V_ALL then
        r = S.find(verb == K.V_ALL and K.KIND_ALL or K.KIND_FIELD, a[K.ARG_FIELD])
        if r then S.add_row(verb == K.V_ALL and K.ROW_ALL or K.ROW_FIELD, r) end
    elseif verb == K.V_ROLE then
        if not S.set_role then S.make_owned() end
        r = S.load_owned(K.KIND_ROLE, a[K.ARG_ROLE])
        S.name = r and r.owner or ''
    elseif verb == K.V_JOIN or verb == K.V_LEAVE or verb == K.V_KICK or verb == K.V_ALIVE or verb == K.V_MEMBER then
        r = S.load(a[K.ARG_MEMBER])
        S.say_member(K.STALE, r)
        if verb == K.V_MEMBER and r then
            r = S.value_of(r, a[K.ARG_FIELD])
            if r then S.add_row(K.ROW_FIELD, r) end
        end
    elseif verb == K.V_OPEN then
        for i = 1, K.SETTINGS do S.extra[i] = S.set[i] end
        S.created = S.n(K.COUNT_CREATED)
    end
    S.say(K.STALE)
end

-- ---- all together -------------------------------------------------------------------------

-- See usher__room_come_again().
function S.defer()
    S.behind, S.status, S.more = true, K.REFUSED, 1
    S.because = 'too many expiries are pending on this scope: retry'
end

function S.run()
    local verb = S.verb
    if S.behind then return S.defer() end
    if verb == K.V_GET or verb == K.V_SHOW or verb == K.V_STATS or verb == K.V_CHANGES then
        if not S.read then S.make_reads() end
        if verb == K.V_GET then return S.get() end
        if verb == K.V_SHOW then return S.show() end
        if verb == K.V_STATS then return S.stats() end
        return S.changes()
    end
    if verb == K.V_CLOSE and (S.a[K.ARG_BAN] or 0) > 0 then -- only a direct call
        S.answer = {K.INVALID, 'ban is not 0: `close` can only end bans'}
        return
    end
    if S.req then
        S.answer = S.kept()
        if S.answer then return end
    end
    if S.exists and S.count[K.COUNT_STATE + 1] == K.ROOM_CLOSING then
        if not S.close_step then S.make_close() end
        if verb ~= K.V_CLOSE then S.close_step() end
    elseif S.due >= 0 and S.due <= S.moment and (verb ~= K.V_SWEEP or S.rests()) then
        if not S.expire_due then S.make_due() end
        S.expire_due(K.EXPIRE_MAX)
    end
    if S.rests() and verb == K.V_OPEN and S.a[K.ARG_EPOCH] then
        S.status, S.blank = K.MISSING, true
        return
    end
    -- A room that is being closed is only erased; its version is not compared.
    if not (S.exists and S.count[K.COUNT_STATE + 1] == K.ROOM_CLOSING) and not S.rests() and S.other_version() then
        return S.stale()
    end
    if verb == K.V_ALIVE then return S.alive() end
    if verb == K.V_JOIN then
        if not S.join then S.make_join() end
        return S.join()
    end
    if verb == K.V_LEAVE then return S.go(K.MEMBER_E_LEAVE) end
    if verb == K.V_KICK then
        local ban, state = S.a[K.ARG_BAN], S.count[K.COUNT_STATE + 1]
        if ban == 0 and S.exists and (state == K.ROOM_CLOSED or state == K.ROOM_CLOSING) then return S.lift_closed() end
        return S.go(not ban and K.MEMBER_E_KICK or ban > 0 and K.MEMBER_E_BAN or K.MEMBER_E_UNBAN)
    end
    if verb == K.V_SNAPSHOT then return S.snapshot() end
    if verb == K.V_SWEEP then return S.sweep() end
    if verb == K.V_ROLE or verb == K.V_SHARE or verb == K.V_UNSHARE then
        if not S.set_role then S.make_owned() end
        if verb == K.V_ROLE then return S.set_role() end
        if verb == K.V_SHARE then return S.share() end
        return S.unshare()
    end
    if verb == K.V_SET or verb == K.V_MEMBER or verb == K.V_ALL or verb == K.V_UNSET then
        if not S.all then S.make_fields() end
        if verb == K.V_SET then return S.set_fields() end
        if verb == K.V_MEMBER then return S.set_member() end
        if verb == K.V_ALL then return S.all() end
        return S.unset()
    end
    if verb == K.V_CLOSE then
        if not S.close_step then S.make_close() end
        return S.close()
    end
    if not S.open then S.make_room() end
    if verb == K.V_OPEN then return S.open() end
    if verb == K.V_LOCK then return S.lock(K.ROOM_E_LOCK) end
    if verb == K.V_UNLOCK then return S.lock(K.ROOM_E_UNLOCK) end
    S.answer = {K.INVALID, 'unknown verb'}
end
