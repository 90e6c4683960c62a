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

-- Return the command that publishes (setting `push`).  Since Redis 7, which also has acl_check_cmd, a channel on
-- a cluster has a slot, that of the room.
function S.publisher()
    local info = redis.acl_check_cmd and redis.pcall('INFO', 'cluster')
    return type(info) == 'string' and string.find(info, 'cluster_enabled:1', 1, true) and 'SPUBLISH' or 'PUBLISH'
end

-- Refuse the command before the first write if the user has no right to publish.
function S.must_publish()
    local word = S.publisher()
    if redis.acl_check_cmd and not redis.acl_check_cmd(word, HASH, '0') then
        error({err = 'NOPERM the user lacks the right to ' .. word .. ' on ' .. HASH})
    end
end

-- Publish the version of the current change at the end of the call.  A change that may wait (for @wait ms) begins
-- an interval if there is none.  Further changes within the interval are published by the first heartbeat after
-- it (S.beat()), or by the next change that may not wait.  The change that turns `push` off is published, too.
function S.publish(wait)
    local set, till = S.pset or S.set, S.n(K.COUNT_PUSHED)
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
        if set[K.SET_PUSH + 1] == 1 and (from == K.ROOM_CLOSED or S.set[K.SET_PUSH + 1] == 0) then
            S.must_publish()
        end
        if from == K.ROOM_CLOSED then
            if S.rests() then
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

-- ---- fields -------------------------------------------------------------------------------

-- Return the data of a notice: see tell_fields().
function S.told_of(field, value)
    local t = {field, value}
    if S.a[K.ARG_FIELDS] then
        local f = munpack(S.a[K.ARG_FIELDS])
        for i = 1, #f do t[#t + 1] = f[i] end
    end
    if #t == 0 then return '' end
    local text = mpack(t)
    return #text > K.DATA_MAX and '\192' or text
end

-- Add the fields of the command to @data.  Return the new text, whether anything changed, and whether there are
-- too many.  See merge().
function S.merge(data, of_member, field)
    local a, t, v, changed, full = S.a, data ~= '' and munpack(data) or {}, S.version + 1, false, false
    if not S.exists then v = 1 end
    local function set(name, value)
        local all = of_member and S.find(K.KIND_ALL, name)
        local at
        for i = 1, #t, 3 do
            if t[i] == name then at = i break end
        end
        if at and t[at + 2] > (all and all.order or 0) and t[at + 1] == value then return end
        if not at then
            if #t / 3 == K.OWN_FIELDS_MAX then
                full = true
                return
            end
            at = #t + 1
            t[at] = name
        end
        t[at + 1], t[at + 2], changed = value, v, true
    end
    if field then set(field, a[K.ARG_VALUE]) end
    if a[K.ARG_FIELDS] then
        local f = munpack(a[K.ARG_FIELDS])
        for i = 1, #f, 2 do set(f[i], f[i + 1]) end
    end
    local text = #t > 0 and mpack(t) or ''
    return text, changed, full or #text > K.VALUE_MAX
end

-- Return whether the value of @now (nil: none) is that of `if=`; otherwise answer `stale`.
function S.expected(kind, now)
    local must = S.a[K.ARG_IF]
    if not must or must == (now and now.data or '') then return true end
    S.say(K.STALE)
    if now then S.add_row(kind, now) end
    return false
end

-- Return the current value of @field for member @r: its own, or that of all if it was set later.
function S.value_of(r, field)
    local now, t = S.find(K.KIND_ALL, field), r.data ~= '' and munpack(r.data) or {}
    for i = 1, #t, 3 do
        if t[i] == field and t[i + 2] > (now and now.order or 0) then
            return {id = field, owner = '', data = t[i + 1], order = t[i + 2]}
        end
    end
    return now
end

function S.make_fields()
    -- Store @value.  Return the record, or nil if the fields are too many or too large.
    function S.put_value(r, kind, field, value)
        local count = kind == K.KIND_FIELD and K.COUNT_FIELDS or K.COUNT_ALLS
        if r then
            S.add(K.COUNT_BYTES, -(#r.id + #r.data))
        else
            S.add(count, 1)
            r = S.fresh(kind, field)
        end
        r.data, r.order = value, S.version + 1
        S.add(K.COUNT_BYTES, #r.id + #r.data)
        if S.n(count) > K.FIELDS_MAX or S.n(K.COUNT_BYTES) > K.BYTES_MAX then return nil end
        S.save(r)
        return r
    end

    function S.set_one(field, value)
        local r = S.find(K.KIND_FIELD, field)
        return r and r.data == value or S.put_value(r, K.KIND_FIELD, field, value)
    end

    function S.set_fields()
        if not S.gate(K.ROOM_E_CHANGE) then return end
        local a = S.a
        local field, value = a[K.ARG_FIELD], a[K.ARG_VALUE]
        if not S.expected(K.ROW_FIELD, S.find(K.KIND_FIELD, field)) then return end
        local fits = S.set_one(field, value)
        if a[K.ARG_FIELDS] then
            local f = munpack(a[K.ARG_FIELDS])
            for i = 1, #f, 2 do fits = fits and S.set_one(f[i], f[i + 1]) end
        end
        if not fits or S.pn == 0 then
            S.drop()
            if not fits then return S.too_many() end
            return S.say(K.SAME)
        end
        S.say(K.OK)
        S.finish(0, 0, {token = 0, ends = 0, owner = '', id = field}, S.told_of(field, value))
    end

    function S.unset()
        if not S.gate(K.ROOM_E_CHANGE) then return end
        local r = S.find(K.KIND_FIELD, S.a[K.ARG_FIELD])
        if not S.expected(K.ROW_FIELD, r) then return end
        if not r then return S.say(K.SAME) end
        S.erase(r)
        S.add(K.COUNT_FIELDS, -1)
        S.add(K.COUNT_BYTES, -(#r.id + #r.data))
        S.say(K.OK)
        S.finish(0, 0, r)
    end

    function S.all()
        if not S.gate(K.ROOM_E_CHANGE) then return end
        local field, value = S.a[K.ARG_FIELD], S.a[K.ARG_VALUE]
        local r = S.find(K.KIND_ALL, field)
        if not S.expected(K.ROW_ALL, r) then return end
        r = S.put_value(r, K.KIND_ALL, field, value)
        if not r then
            S.drop()
            return S.too_many()
        end
        S.say(K.OK)
        S.finish(0, 0, r, S.told_of(field, value))
    end

    function S.set_member()
        if not S.gate(K.ROOM_E_CHANGE) then return end
        local a = S.a
        local field = a[K.ARG_FIELD]
        S.name = a[K.ARG_MEMBER]
        local r = S.load_present(S.name)
        if not r then return S.not_in() end
        if a[K.ARG_IF] and not S.expected(K.ROW_FIELD, S.value_of(r, field)) then return end
        local data, changed, full = S.merge(r.data, true, field)
        if full then return S.too_large(S.say) end
        if not changed then return S.say(K.SAME) end
        r.data = data
        S.save(r)
        S.say(K.OK)
        S.finish(r.state, r.state, r, S.told_of(field, a[K.ARG_VALUE]))
    end
end

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

-- ---- roles and shares ---------------------------------------------------------------------

function S.make_owned()
    -- Return the record @id of @kind after the expiries of its owner were applied, or nil.
    function S.load_owned(kind, id)
        local r = S.find(kind, id)
        if not r then return nil end
        S.load(r.owner)
        return S.find(kind, id)
    end

    function S.recount(id, n, by)
        local r = S.find(K.KIND_MEMBER, id)
        if r then
            r[n] = r[n] + by
            S.save(r)
        end
    end

    function S.set_role()
        if not S.gate(K.ROOM_E_CHANGE) then return end
        local a, member = S.a, nil
        local id, holder = a[K.ARG_ROLE], a[K.ARG_HOLDER]
        if holder ~= '' then
            member = S.load_present(holder)
            if not member then return S.not_in() end
        end
        local r = S.load_owned(K.KIND_ROLE, id)
        S.name = r and r.owner or ''
        if a[K.ARG_IF] and a[K.ARG_IF] ~= S.name then return S.say(K.STALE) end
        if holder == S.name then return S.say(K.SAME) end
        if member and member.N_ROLES >= K.ROLES_MAX then
            S.because = 'the member has too many roles (limit 16)'
            return S.say(K.FULL)
        end
        if not r and S.count[K.COUNT_ROLES + 1] >= K.FIELDS_MAX then
            S.because = 'the room has too many roles (limit 1000)'
            return S.say(K.FULL)
        end
        if r then S.recount(r.owner, K.N_ROLES, -1) end
        if member then S.recount(holder, K.N_ROLES, 1) end
        S.add(K.COUNT_ROLES, (r and 0 or 1) - (member and 0 or 1))
        if member then
            r = r or S.fresh(K.KIND_ROLE, id)
            r.slots, r.order, r.token, r.owner = 4, S.version + 1, S.version + 1, holder
            S.save(r)
        else
            S.erase(r)
        end
        r.owner, S.name = holder, holder
        S.say(K.OK)
        S.finish(0, 0, r, mpack({'holder', holder}))
    end

    function S.share()
        if not S.gate(K.ROOM_E_CHANGE) then return end
        local a = S.a
        local id, owner = a[K.ARG_SHARE], a[K.ARG_MEMBER]
        S.name = id
        S.load_owned(K.KIND_SHARE, id)
        local member = S.load_present(owner)
        if not member then return S.not_in() end
        local r = S.find(K.KIND_SHARE, id)
        if not S.expected(K.ROW_SHARE, r) then return end
        if r and r.owner ~= owner then
            S.because = "the share belongs to another member"
            return S.say(K.REFUSED)
        end
        if not r and member.N_SHARES >= K.SHARES_MAX then
            S.because = 'the member has too many shares (limit 16)'
            return S.say(K.FULL)
        end
        local data, changed, full = S.merge(r and r.data or '', false)
        if full then return S.too_large(S.say) end
        if r and not changed then return S.say(K.SAME) end
        if not r then
            r = S.fresh(K.KIND_SHARE, id)
            r.owner, r.slots, r.order = owner, 4, S.version + 1
            S.add(K.COUNT_SHARES, 1)
            S.recount(owner, K.N_SHARES, 1)
        end
        r.data = data
        S.save(r)
        S.say(K.OK)
        S.finish(0, 0, r, S.told_of())
    end

    function S.unshare()
        if not S.gate(K.ROOM_E_CHANGE) then return end
        S.name = S.a[K.ARG_SHARE]
        local r = S.find(K.KIND_SHARE, S.name)
        if not S.expected(K.ROW_SHARE, r) then return end
        if not r then return S.say(K.SAME) end
        S.erase(r)
        S.add(K.COUNT_SHARES, -1)
        S.recount(r.owner, K.N_SHARES, -1)
        S.say(K.OK)
        S.finish(0, 0, r)
    end
end

-- ---- sweep --------------------------------------------------------------------------------

function S.sweep()
    local max, ttl, version = S.sweep_max(S.a[K.ARG_MAX]), S.a[K.ARG_TTL], S.version
    if not S.gate(K.ROOM_E_CHANGE) then return end
    if not S.expire_due then S.make_due() end
    local n, more = S.expire_due(max)
    while ttl and not more and S.exists and S.n(K.COUNT_STATE) ~= K.ROOM_CLOSING do
        local r = S.walk(K.KIND_MEMBER, '0')
        if not r or r.rank + ttl > S.moment then break end
        if n >= max then more = true break end
        S.remove_one(r, K.V_EXPIRE, S.moment)
        n = n + 1
    end
    S.counted, S.more = n, more and 1 or 0
    S.say(n > 0 and K.OK or K.SAME)
    if S.req and S.exists and S.version ~= version then S.keep_last() end
end

-- ---- reads --------------------------------------------------------------------------------

function S.make_reads()
    if not S.due_event then S.make_due() end

    -- Return whether the room exists after all due expiries: see usher__room_check() and read_begin().
    function S.read()
        local state = S.exists and S.count[K.COUNT_STATE + 1] or K.ROOM_CLOSED
        local members, empty = S.count[K.COUNT_MEMBERS + 1], S.count[K.COUNT_EMPTY + 1]
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
        return open
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
    if verb == K.V_GET or verb == K.V_SHOW or verb == K.V_CHANGES then
        if not S.read then S.make_reads() end
        if verb == K.V_GET then return S.get() end
        if verb == K.V_SHOW then return S.show() end
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
