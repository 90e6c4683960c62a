-- SPDX-License-Identifier: MIT
--
-- The verbs of a room: the same steps as src/nouns/room/room*.c, in their order.  The records and the
-- names of their numbers are in src/core/room_records.def.
local format = string.format

-- ---- the answer -------------------------------------------------------------------------

function S.begin()
    S.state, S.mstate, S.members, S.counted, S.since, S.ends, S.created, S.more, S.name, S.extra = 0, 0, 0, 0,
        0, 0, 0, 0, '', nil
    local verb = S.verb
    if verb == K.V_OPEN or verb == K.V_SHOW then
        S.extra = {0, 0, 0, 0, 0, 0, 0, 0, 0}
    elseif verb == K.V_STATS then
        S.extra = {0, 0, 0, 0, 0, 0, 0, 0}
    elseif verb == K.V_CHANGES then
        S.extra = {0, 0}
    elseif verb == K.V_ALIVE or verb == K.V_SNAPSHOT then
        S.extra = {0}
    end
end

function S.fields(t, n)
    t[n + 1], t[n + 2], t[n + 3], t[n + 4], t[n + 5], t[n + 6], t[n + 7], t[n + 8], t[n + 9] = S.state, S.mstate,
        S.members, S.counted, S.since, S.ends, S.created, S.more, S.name
    local extra = S.extra
    if extra then
        for i = 1, #extra do t[n + 9 + i] = extra[i] end
    end
end

function S.hand(out, answer)
    -- Return the kind of value that a row has: see add_rest() in direct.lua.
    function S.value_kind(row)
        return row[1] == K.ROW_NOTICE and 'notice' or (row[1] == K.ROW_MEMBER or row[1] == K.ROW_SHARE) and 'packed' or ''
    end

    local function int(n) return format('%.0f', n) end
    local more = {'state', string.match(sub(K.ROOM_STATES, answer[9] * 10 + 1, answer[9] * 10 + 10), '^%S+'),
        'member', string.match(sub(K.MEMBER_STATES, answer[10] * 10 + 1, answer[10] * 10 + 10), '^%S+'),
        'members', int(answer[11]), 'count', int(answer[12]), 'since', int(answer[13]), 'until', int(answer[14]),
        'created', int(answer[15]), 'more', int(answer[16]), 'name', answer[17]}
    -- The partition of the room directory is in another slot: see usher__room_partition().
    if S.verb == K.V_OPEN or S.verb == K.V_SHOW then
        local prefix, name = string.match(HASH, '^([^{]*){(.*)}')
        local hash = 2166136261
        for i = 1, #name do
            hash = hash - hash % 256 + bit.bxor(hash % 256, byte(name, i))
            -- multiply by 2^24 + 403, in parts below 2^53
            hash = (hash % 256 * 16777216 + hash * 403) % 4294967296
        end
        more[#more + 1] = 'index'
        more[#more + 1] = format('%s{p%02d}:rooms', prefix, bit.bxor(hash % 64, math.floor(hash / 65536) % 64))
    end
    for i = 1, #more do out[10 + i] = more[i] end
end

function S.n(i) return S.count[i + 1] end
function S.put(i, value) S.add(i, value - S.n(i)) end

function S.say(status) S.status, S.state, S.members = status, S.n(K.COUNT_STATE), S.n(K.COUNT_MEMBERS) end

function S.say_member(status, r)
    S.say(status)
    S.name, S.mstate, S.ends = S.a[K.ARG_MEMBER], r and r.state or 0, r and r.ends or 0
end

function S.too_many()
    S.because = 'the room has too many fields (limit 1000), or too large ones'
    return S.say(K.FULL)
end

function S.too_large(say, r)
    S.because = 'the member or share has too many fields, or too large ones'
    return say(K.FULL, r)
end

function S.not_in()
    S.because = 'the member is not in the room'
    return S.say(K.MISSING)
end

function S.add_row(kind, r)
    S.rows = S.rows or {}
    local member = kind == K.ROW_MEMBER
    S.rows[#S.rows + 1] = {kind, member and r.state or 0, r.id, r.owner, r.data, r.order, member and r.N_JOINED or 0,
        member and r.rank or 0}
end

-- ---- the room as a whole ------------------------------------------------------------------

-- Return whether the room is closed and only its bans are left: see src/nouns/room/room.h.
function S.rests() return S.exists and S.count[K.COUNT_STATE + 1] == K.ROOM_CLOSED end

-- Return the new state of the room after @event, and the status.
function S.room(event)
    local state = S.exists and S.count[K.COUNT_STATE + 1] or 0
    return S.move(K.ROOM_MOVES, state, event)
end

function S.gate(event)
    local _, status = S.room(event)
    if status == K.OK or status == K.SAME then return true end
    S.say(status)
    return false
end

-- Set when an empty room closes: see usher__room_linger().
function S.linger()
    local span = (S.pset or S.set)[K.SET_LINGER + 1]
    if span > 0 and S.n(K.COUNT_MEMBERS) == 0 then
        local at, before = S.n(K.COUNT_EMPTY) + span, S.pdue or S.due
        if before < 0 or at < before then S.pdue = at end
    end
end

-- ---- changes and their log ----------------------------------------------------------------

-- Return whether the notices of the command may be coalesced.
function S.of_presence()
    local verb = S.verb
    return verb == K.V_ALIVE or verb == K.V_JOIN or verb == K.V_LEAVE or verb == K.V_SWEEP
end

-- Publish the version of the current change at the end of the call, unless it may wait (for @wait ms).  A change
-- that may wait begins an interval if there is none.  Further changes within the interval are published by the
-- first heartbeat after it (S.beat()), or by the next change that may not wait.
function S.publish(wait)
    local set, till = S.pset or S.set, S.n(K.COUNT_PUSHED)
    S.push = S.push or 0
    if set[K.SET_PUSH + 1] ~= 1 and S.set[K.SET_PUSH + 1] ~= 1 then return end
    if wait > 0 and S.now < math.abs(till) then
        S.put(K.COUNT_PUSHED, -math.abs(till))
    else
        S.push = S.version + 1
        S.put(K.COUNT_PUSHED, wait > 0 and S.now + wait or 0)
    end
end

-- Commit the change: see commit().
function S.tell(verb, from, to, r, data)
    S.unlogged = S.n(K.COUNT_STATE) == K.ROOM_CLOSING
    if verb == S.verb and S.a[K.ARG_ACTOR] and not data and S.is_told() then data = mpack({'actor', S.a[K.ARG_ACTOR]}) end
    local wait = not S.unlogged and S.of_presence() and (S.pset or S.set)[K.SET_PRESENCE + 1] or 0
    S.publish(wait)
    S.commit(verb, from, to, r, data)
    if S.watch == 1 then S.notices[#S.notices][13] = wait end
end

-- Commit an outage.  Its notice is not delayed, unlike those of joins and leaves.
function S.tell_outage(...)
    S.publish(0)
    S.commit(...)
    if S.watch == 1 then S.notices[#S.notices][13] = 0 end
end

function S.finish(from, to, r, data)
    if S.req then S.keep(S.version + 1) end
    S.tell(S.verb, from, to, r, data)
end

-- ---- members ------------------------------------------------------------------------------

function S.present(r) return r.state >= K.MEMBER_HERE and r.state <= K.MEMBER_OFFLINE end

function S.fades()
    local away, ttl = S.set[K.SET_AWAY + 1], S.set[K.SET_TTL + 1]
    return away > 0 and (ttl == 0 or away < ttl)
end

-- See lives in room_audit.c.
S.lives = {K.KIND_MEMBER, from = K.COUNT_OUTAGE_FROM, to = K.COUNT_OUTAGE_TO, verb = K.V_OUTAGE}

function S.beat_of() return S.set[(S.fades() and K.SET_AWAY or K.SET_TTL) + 1] end

function S.life_of(r) return S.present(r) and r.ends or 0 end

function S.last_sign(last)
    local r = S.walk(K.KIND_MEMBER, '0', nil, nil, nil, true)
    return r and r.rank > last and r.rank or last
end

-- Put @r, which is present, into state @to at the time @at.
function S.settle(r, to, at)
    r.state = to
    if to == K.MEMBER_OFFLINE then
        r.ends = at + S.set[K.SET_GRACE + 1]
    elseif to == K.MEMBER_HERE and S.fades() then
        r.ends = r.rank + S.set[K.SET_AWAY + 1]
    else
        local ttl = S.set[K.SET_TTL + 1]
        r.ends = ttl > 0 and r.rank + ttl or 0
    end
    r.slots = S.slots(K.MEMBER_LISTS, to, r.ends)
end

function S.make_due()
    function S.due_event(r)
        if r.state == K.MEMBER_BANNED then return K.MEMBER_E_UNBAN end
        if r.state == K.MEMBER_HERE and S.fades() then return K.MEMBER_E_FADE end
        if r.state ~= K.MEMBER_OFFLINE and S.set[K.SET_GRACE + 1] > 0 then return K.MEMBER_E_DROP end
        return K.MEMBER_E_EXPIRE
    end

    function S.expire_one(r)
        local event, from = S.due_event(r), r.state
        if event == K.MEMBER_E_UNBAN then
            S.erase(r)
            S.add(K.COUNT_BANS, -1)
            return S.bans_apply()
        end
        local to, later = S.move(K.MEMBER_MOVES, from, event), S.outage_end(r.ends)
        if later then
            r.ends = later
            S.save(r)
            return S.apply()
        end
        if to == K.MEMBER_ABSENT then return S.remove_one(r, K.V_EXPIRE, r.ends) end
        S.settle(r, to, r.ends)
        S.save(r)
        S.tell(event == K.MEMBER_E_FADE and K.V_FADE or K.V_DROP, from, r.state, r)
    end

    function S.remove_one(r, verb, at)
        if S.verb == K.V_SWEEP then S.add_row(K.ROW_MEMBER, r) end
        if not S.let_go then S.make_going() end
        S.erase(r)
        S.add(K.COUNT_LOST, 1)
        S.let_go(r, at)
        S.tell(verb, r.state, K.MEMBER_ABSENT, r)
    end

    -- Apply up to @max expiries that are due at @now.  Return how many, and whether there are more.
    function S.expire_until(now, max)
        local n, reads = 0, S.verb == K.V_SNAPSHOT
        if S.due >= 0 and S.due <= now then
            if reads then S.as_of(0) end
            if not S.outage then S.make_outage() end
            S.outage()
        end
        while S.due >= 0 and S.due <= now do
            local r = S.walk(K.KIND_MEMBER, '1')
            if r and r.ends <= now then
                if n >= max then
                    S.behind = true
                    return n, true
                end
                if reads then S.as_of(r.ends) end
                S.expire_one(r)
                n = n + 1
            else
                S.due = r and r.ends or -1
                S.linger()
                if S.pdue then S.due, S.pdue = S.pdue, nil end
                if S.due < 0 or S.due > now then break end
                if reads then S.as_of(S.due) end
                if not S.close_begin then S.make_close() end
                local to = S.room(K.ROOM_E_EMPTY)
                S.close_begin(to, K.V_EMPTY)
                S.close_step()
                return n + 1, false
            end
        end
        return n, false
    end

    function S.expire_due(max)
        local now = S.now
        local n, more = S.expire_until(S.moment, max)
        S.now = now
        return n, more
    end
end

-- See usher__room_bans_write().
function S.bans_apply()
    local last = S.rests() and S.n(K.COUNT_BANS) == 0
    S.apply()
    if last then S.vanish() end
end

-- Return member @id after its expiries were applied, or nil.
function S.load(id)
    while true do
        local r = S.exists and S.find(K.KIND_MEMBER, id)
        if not r then return nil end
        if r.ends == 0 or r.ends > S.moment then return r end
        if not S.expire_one then S.make_due() end
        S.expire_one(r)
    end
end

function S.load_present(id)
    local r = S.load(id)
    return r and S.present(r) and r
end

function S.make_going()
    local function owned(kind, owner, count)
        local order
        while true do
            local r = S.walk(kind, '2', owner, 0, order)
            if not r then return end
            order = r.order
            S.erase(r)
            S.add(count, -1)
        end
    end

    -- Remove what belongs to member @r, which left at @at: see drop().
    function S.let_go(r, at)
        if r.N_ROLES > 0 then owned(K.KIND_ROLE, r.id, K.COUNT_ROLES) end
        if r.N_SHARES > 0 then owned(K.KIND_SHARE, r.id, K.COUNT_SHARES) end
        S.add(K.COUNT_MEMBERS, -1)
        if S.n(K.COUNT_MEMBERS) == 0 then
            S.put(K.COUNT_EMPTY, at)
            S.linger()
        end
    end
end

-- ---- closing ------------------------------------------------------------------------------

-- Return the record of @kind with the smallest id greater than @after, or nil.
function S.next(kind, after)
    local m = call('ZRANGEBYLEX', INDEX, after and '(' .. kind .. 'n' .. after or '[' .. kind .. 'n', '('
        .. kind .. 'n\255', 'LIMIT', '0', '1')[1]
    return m and S.find(kind, sub(m, 3))
end

function S.make_close()
    if not S.let_go then S.make_going() end
    local kinds, slots = {K.KIND_MEMBER, K.KIND_MEMBER, K.KIND_FIELD, K.KIND_ALL, K.KIND_CHANGE, K.KIND_REQUEST}, {'2', '1', 'n', 'n', '0', '0'}

    function S.close_begin(to, verb)
        local from = S.n(K.COUNT_STATE)
        S.put(K.COUNT_STATE, to)
        S.tell(verb, from, to)
    end

    function S.count_out(r)
        local kind = r.kind
        if kind == K.KIND_MEMBER then
            S.add(K.COUNT_BANS, -1)
        elseif kind == K.KIND_CHANGE then
            S.add(K.COUNT_CHANGES, -1)
        elseif kind == K.KIND_REQUEST then
            S.add(K.COUNT_REQUESTS, -1)
        else
            S.add(kind == K.KIND_FIELD and K.COUNT_FIELDS or K.COUNT_ALLS, -1)
            S.add(K.COUNT_BYTES, -(#r.id + #r.data))
        end
    end

    -- Return whether the command also ends the bans: `close` with ban=0.
    local function ends_bans() return S.verb == K.V_CLOSE and S.a[K.ARG_BAN] end

    -- Reset the scope, of which only the bans are left.  Settings have their defaults for the next room.
    local function rest()
        local bans, clock, r = S.count[K.COUNT_BANS + 1], S.clock, S.walk(K.KIND_MEMBER, '1')
        S.vanish()
        S.exists, S.due, S.clock, S.count[K.COUNT_BANS + 1] = true, r.ends, clock, bans
    end

    -- End a portion of the bans of a room that is closed.
    local function end_bans()
        local r, n = nil, 0
        while n < K.CLOSE_MAX do
            r = S.walk(K.KIND_MEMBER, '1', nil, r and r.ends, r and r.order)
            if not r then break end
            S.erase(r)
            S.add(K.COUNT_BANS, -1)
            n = n + 1
        end
        S.bans_apply()
        S.counted = n
        S.say(K.OK)
        S.more = S.exists and 1 or 0
    end

    -- Erase a portion of the room; return whether that was all.  See closing_some().
    local function some()
        for phase = 1, #kinds do
            local r
            while true do
                if slots[phase] == 'n' then
                    r = S.next(kinds[phase], r and r.id)
                else
                    r = S.walk(kinds[phase], slots[phase], nil, slots[phase] == '1' and r and r.ends or 0,
                        r and r.order)
                end
                if not r or phase == 2 and not S.present(r) and not ends_bans() and r.ends > S.moment then break end
                if phase ~= 2 or not S.present(r) then -- else the first phase erases it
                    local each = phase == 1 and 1 + r.N_ROLES + r.N_SHARES or 1
                    if S.pn > 0 and S.pn / 2 + each > K.CLOSE_MAX then return false end
                    S.erase(r)
                    if phase > 1 then S.count_out(r) else S.let_go(r, S.at()) end
                end
            end
        end
        return true
    end

    function S.close_step()
        local all, n = some(), S.pn / 2
        if n > 0 then S.apply() end
        if all then
            S.unlogged = true
            S.commit(K.V_DONE, K.ROOM_CLOSING, K.ROOM_CLOSED)
            if S.count[K.COUNT_BANS + 1] > 0 then rest() else S.vanish() end
        end
        return n
    end

    function S.close()
        local to, status = S.room(K.ROOM_E_CLOSE)
        if S.rests() and ends_bans() then return end_bans() end
        if status ~= K.OK then return S.say(status) end
        if S.n(K.COUNT_STATE) ~= to then S.close_begin(to, S.verb) end
        S.counted = S.close_step()
        S.say(K.OK)
        S.more = S.exists and not S.rests() and 1 or 0
    end
end

-- ---- open, lock, unlock -------------------------------------------------------------------

function S.make_room()
    function S.open()
        local a, set, event, changed = S.a, {}, K.ROOM_E_OPEN, false
        for i = 1, #S.set do set[i] = S.set[i] end
        for i, arg in ipairs(K.SETTING_ARGS) do
            changed = changed or a[arg] and a[arg] ~= set[i]
            set[i] = a[arg] or set[i]
        end
        local from = S.exists and S.n(K.COUNT_STATE) or 0
        -- A new room begins with its own clock, whichever command has erased the old one.
        if not S.exists then S.time(0) end
        if from ~= K.ROOM_CLOSED and changed then event = K.ROOM_E_TUNE end
        local to, status = S.room(event)
        if status ~= K.OK then
            for i = 1, K.SETTINGS do S.extra[i] = S.set[i] end
            S.created = S.n(K.COUNT_CREATED)
            if status == K.REFUSED then S.because = 'the room is being closed' end
            return S.say(status)
        end
        if changed then S.pset = set end
        if from == K.ROOM_CLOSED then
            if S.rests() then
                S.must_publish()
                -- This comes before the first write: without this right the new room would expire.
                for _, key in ipairs({HASH, INDEX, HELD}) do call('PERSIST', key) end
                -- The first change has no version before it.
                S.anew = {S.jump_from or false, S.jump_to or false}
                S.jump_from, S.jump_to = 0, S.version
            else
                S.renumber()
            end
        end
        S.put(K.COUNT_STATE, to)
        if from == K.ROOM_CLOSED then
            S.put(K.COUNT_CREATED, S.now)
            S.put(K.COUNT_EMPTY, S.moment)
        end
        S.linger()
        S.say(K.OK)
        for i = 1, K.SETTINGS do S.extra[i] = set[i] end
        S.created = S.n(K.COUNT_CREATED)
        local told = {}
        for i, arg in ipairs(K.SETTING_ARGS) do
            told[2 * i - 1] = string.match(K.ARGS, ' ' .. format('%d', arg - K.ARG) .. '=([%l-]+)')
            told[2 * i] = format('%.0f', set[i])
        end
        if a[K.ARG_ACTOR] then told[#told + 1], told[#told + 2] = 'actor', a[K.ARG_ACTOR] end
        S.finish(from, to, nil, S.is_told() and mpack(told) or nil)
    end

    function S.lock(event)
        local from, to, status = S.exists and S.n(K.COUNT_STATE) or 0, S.room(event)
        if not S.gate(event) then return end
        if status ~= K.OK then return S.say(status) end
        S.put(K.COUNT_STATE, to)
        S.say(K.OK)
        S.finish(from, to)
    end
end
