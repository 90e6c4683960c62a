-- SPDX-License-Identifier: MIT
--
-- The end of every script: read the header, run each command, write the hash.
end -- of make()

-- In a call of the library all[4] is the index of the field names (pack_call()), the first of which is
-- `head`.  The verb of a direct call is shorter than 39 bytes, or unpacks to numbers.
local packed = ARGV[1] or ''
local all = HELD and #packed > 38 and {select(2, pcall(munpack, packed))} or {}
local by_hand, one_key, add_rest, refuse = all[all[4]] ~= 'head', nil, nil, nil
local json, to_json, listed, prepare = false, nil, nil, nil -- see direct_json.lua
if by_hand then
    --@direct
    if not refuse then
        return {'status', 'invalid', 'message', 'this script is the library\'s: load that of `usher lua ' .. K.NOUN .. '`'}
    end
end
--@rights
if one_key then
    -- While a slot moves, a call with a key that does not exist is redirected to the target node, and a second
    -- scope would begin there.  The script does not use keys of two slots as a test: after that error a node of
    -- Valkey 9.1 fails each later script call until it is restarted.
    local info = redis.pcall('INFO', 'cluster')
    local single = type(info) == 'string' and string.find(info, 'cluster_enabled:0', 1, true)
    if type(info) ~= 'string' then
        info = redis.pcall('CLUSTER', 'INFO')
        single = type(info) == 'table' and string.find(info.err or '', 'cluster support disabled', 1, true)
    end
    if not single then return refuse(K.INVALID, one_key) end
end

-- ---- the header, and the records that commands read first ---------------------------------

local n_commands, p = all[1], 7
local n_args = 2 + all[3] - all[2]
local args = {unpack(all, all[4], all[4] + n_args - 1)}
for _ = 1, all[3] < n_commands and n_commands or 0 do
    if all[p + 1] > 255 then
        if all[p + 3] then
            n_args = n_args + 1
            args[n_args] = K.KIND_REQUEST .. ':' .. all[p + 3]
        end
        if all[p + K.ARG] then
            n_args = n_args + 1
            args[n_args] = K.FIRST .. all[p + K.ARG]
        end
    end
    p = p + all[p] + 1
end
local got = call('HMGET', HASH, unpack(args))
local cache = {}
local head, settings = got[1], got[2]
-- the tombstone of a dropped scope: a new scope continues after its version
local gone = not head and K.DROPS ~= '' and call('HGET', HASH, 'gone')
local header = head or gone
local exists, epoch, version, clock, due, count = head and true or false, '0000000000000000', 0, 0, -1, nil
local own, writer = all[6], 0
-- If another server wrote the scope last: the version of the scope, the last version that is never issued,
-- and all such pairs.  See usher__scope_loaded().
local last, first, gaps
local wrong
if header then
    local format
    format, epoch, version, clock, due, writer = sunpack('>Bc16I7I7i7I7', header)
    if format ~= K.FORMAT or #header ~= K.HEAD_SIZE then
        wrong = {K.INVALID, 'the scope has a format that this library does not know'}
        -- a repair is under way: see repair.lua
        if format == K.FORMAT and #head == K.HEAD_SIZE + 16 then
            wrong = {K.UNAVAILABLE, 'the store is damaged: `usher check --repair` has begun to repair the scope'}
        end
    elseif head then
        count = {sunpack(K.COUNTS_PACKED, head, 46)}
    end
end
if not head then epoch, clock, due = '0000000000000000', 0, -1 end
count = count or K.NO_COUNTS
--@keys
if wrong then
    if by_hand then return refuse(wrong[1], wrong[2]) end
    local out = {}
    for i = 1, n_commands do out[i] = mpack(wrong) end
    return out[2] and out or out[1]
end
-- The store's clock in milliseconds and in microseconds, read before the first write.  It is not read with
-- clock=given if each command has its time.  If the server refuses TIME to scripts, the client sends the time
-- of its own clock as ARGV[4]; for a direct call now= is then the clock.
local skew, time, micros = all[5], nil, nil
local needs_time = skew < K.TIME_MAX or not by_hand and ARGV[3] == '0'
p = 7
for _ = 1, needs_time and 0 or n_commands do
    needs_time = needs_time or not all[p + 2]
    p = p + all[p] + 1
end
p = 7
if needs_time and not by_hand and ARGV[4] then
    micros = tonumber(ARGV[4])
    time = math.floor(micros / 1000)
elseif needs_time then
    local t = redis.pcall('TIME')
    if not t.err then
        time, micros = t[1] * 1000 + math.floor(t[2] / 1000), t[1] * 1000000 + t[2]
    elseif not by_hand then
        return {err = 'NOTIME scripts may not read the clock: ' .. t.err}
    elseif all[p + 2] then
        time = all[p + 2]
    else
        return refuse(K.UNAVAILABLE, 'scripts may not read the clock of this server: give now=')
    end
end
-- A new scope begins at a version that no earlier scope can have had, as after a change of the server: the
-- store may have been emptied, and an earlier token must not be valid again.  The gap begins at 0 then.
local jumps = not header and skew < K.TIME_MAX
if own ~= writer and own ~= 0 and (header or own < 0) then
    -- The id that the client sent may be old, and a direct call sends none.
    --@identity
    own = id
    jumps = jumps or header and own ~= writer and own ~= 0
end
if jumps then
    -- If no clock was read, use the time of the command, which may be beyond 2^53 microseconds.
    micros = micros or math.min(all[p + 2], 9007199254740) * 1000
    local today = math.floor(micros / 8)
    local place = tonumber(sub(redis.sha1hex(own .. ' ' .. micros % 1000000 .. HASH), 1, 9), 16)
    place = math.floor(place / (version - today < 35184372088832 and 4 or 65536))
    last, first = version, math.max(version, today) + 1048576 + place
    gaps = header and call('HGET', HASH, 'gaps') or ''
    -- Merge the two oldest gaps, except the one that the scope began with.
    local k = sub(gaps, 1, 7) == '\0\0\0\0\0\0\0' and 14 or 0
    if #gaps >= 14 * K.GAPS then gaps = sub(gaps, 1, k + 7) .. sub(gaps, k + 22) end
    gaps = gaps .. spack('>I7I7', last, first)
    version = first
end

-- ---- the commands -------------------------------------------------------------------------

local begun = version
local out, dirty, n_dirty, head_changed, made = {false}, {}, 0, false, false
local set, n_set = {'head', '', '', ''}, 2
-- A call before this one in the pipeline may have left expiries that are due, by the server's clock or with
-- clock=given by the latest time of its commands, ARGV[3].  Its commands are then deferred.  To keep the order
-- all commands of this call are deferred as well.
local held = false
if not by_hand and (ARGV[3] or '') ~= '' and due >= 0 then
    held = due <= ((ARGV[3] == '0' or skew < K.TIME_MAX) and time or tonumber(ARGV[3]))
end
--@fast_begin
p = 7
for i = 1, n_commands do
    local verb, now, wall, done = all[p + 1], all[p + 2], nil, false
    if made and S.erased and not exists then epoch, first = '0000000000000000', nil end
    if made and S.buried and not exists then epoch, first = '0000000000000000', nil end
    if not now or skew < K.TIME_MAX then
        now, wall = now or time, time
        if now > time + skew and now > clock then
            local why = string.format("now is %.0f ms ahead of the store's clock and may be %.0f "
                .. '(skew=; for virtual time: clock=given)', now - time, skew)
            done, out[i] = true, mpack({K.INVALID, why})
            if by_hand then out = refuse(K.INVALID, why) end
        end
    end
    -- With clock=given the time of the command is that of the store's clock.  The following is usher__work_time().
    local said = now
    if skew >= K.TIME_MAX then wall = now end
    if now < clock then now = clock end
    local moment, answered = now < wall and now or wall, said < wall and said or wall
    --@fast
    if not done then
        --@fast_flush
        local a = {unpack(all, p + 1, p + all[p])}
        --@fast_whole
        if not made then
            made = true
            make()
            for c = 3, n_args do
                if cache[args[c]] == nil then cache[args[c]] = got[c] end
            end
            S.cache, S.count, S.behind = cache, count, held
            S.jump_from, S.jump_to, S.gaps, S.begins_at_1 = last, first, gaps, skew >= K.TIME_MAX
            S.set = settings and {sunpack(K.SETTINGS_PACKED, settings)} or K.DEFAULTS
        end
        S.exists, S.epoch, S.version, S.clock, S.due, S.now, S.dirty, S.nd, S.head_changed = exists, epoch,
            version, clock, due, now, dirty, n_dirty, head_changed
        -- A scope that is being dropped exists only for commands that continue the drop or create the scope.
        local was, hidden = exists, false
        local dropping = K.DROPS ~= '' and exists and count[1] == K.DROPPING and verb ~= K.DROP_VERB
        if dropping and not string.find(K.CREATES, string.format(' %d ', verb), 1, true) then
            was, hidden, S.exists, S.epoch, S.due = false, true, false, '0000000000000000', -1
        end
        S.said, S.wall, S.moment, S.answered, S.gap_to = said, wall, moment, answered, nil
        S.a, S.verb, S.req, S.seed, S.watch, S.print = a, a[1], a[3], a[4], a[5], a[6] or 0
        S.status, S.rows, S.notices, S.answer, S.because = K.OK, nil, nil, nil, nil
        S.epoch_first, S.epoch_told, S.blank = nil, nil, nil
        S.begin()
        if S.req and not S.keep then S.make_memory() end
        local good, why = pcall(S.run)
        if not good then
            why = type(why) == 'table' and why.err or tostring(why)
            local full = not S.head_changed and not S.half and S.when_full(why, all, n_commands)
            if full == 'this' then
                S.drop()
                S.status, S.rows, S.notices, S.answer, S.because = K.OK, nil, nil, nil, nil
                S.epoch_first, S.epoch_told, S.blank = nil, nil, nil
                S.begin()
                good, why = pcall(S.run)
                why = not good and (type(why) == 'table' and why.err or tostring(why))
            elseif full then
                S.drop()
                S.answer, good = {K.UNAVAILABLE, why}, true
            end
        end
        if not good then
            -- Nothing was written in this call, so return the server's own error.
            if not S.head_changed and not S.half and not (S.refused and n_commands > 1) then return {err = why} end
            S.drop()
            S.answer = {S.half and K.UNKNOWN or K.UNAVAILABLE, 'the script failed: ' .. sub(why, 1, 120)}
            S.half, S.refused = nil, nil
        end
        -- See usher__due_store().
        if S.exists and S.due ~= due then S.head_changed = true end
        if not hidden then
            exists, epoch, version, clock, due, n_dirty, head_changed = S.exists, S.epoch, S.version, S.clock,
                S.due, S.nd, S.head_changed
            if S.erased then last, first, gaps = S.jump_from, S.jump_to, S.gaps ~= '' and S.gaps or nil end
        end
        -- The epoch, version and due of the answer are those of a scope that exists, or did before the command.
        local shown, shown_version, shown_due = epoch, version == first and last or version, due
        if not S.exists and (not was or dropping or S.blank) then
            shown, shown_version, shown_due = '0000000000000000', 0, -1
        end
        if S.epoch_first and S.epoch_first ~= shown then table.insert(S.notices, 1, S.epoch_first) end
        local answer = S.answer
        if not answer then
            answer = {S.status, shown, shown_version, shown_due, answered, 0, S.notices or {}, S.rows or {}}
            if S.blank then
                local blanks = K.BLANKS
                local blank = {munpack(blanks[verb])}
                for k = 1, #blank do answer[8 + k] = blank[k] end
            else
                S.fields(answer, 8)
            end
            if S.because and not by_hand then answer[#answer + 1] = S.because end
        elseif S.notices then
            answer[3], answer[4] = shown, S.notices -- the command failed, but expiries before it were applied
        end
        if by_hand then
            local word = string.match(K.STATUSES, ' ' .. answer[1] .. '=(%l+)')
            if answer[1] >= K.INVALID then
                out = {'status', word, 'message', answer[2]}
                if answer[5] then out[5], out[6] = 'from', string.format('%.0f', answer[5]) end
                out = json and listed(out) or out
            else
                out = {'status', word, 'epoch', answer[2], 'version', string.format('%.0f', answer[3]), 'due',
                    string.format('%.0f', answer[4]), 'now', string.format('%.0f', answer[5])}
                -- A damaged record must not end the script here, between two writes.
                local good, text = pcall(function()
                    local fault = prepare and prepare(answer)
                    if fault then return refuse(fault[1], fault[2]) end
                    if json then return to_json({unpack(out)}) end
                    if not S.hand(out, answer) then add_rest(out, answer) end
                end)
                if not good then S.because = 'the store is damaged: a record of this answer' end
                if S.because then out[#out + 1], out[#out + 2] = 'message', S.because end
                if json and not good then out = listed(out) elseif good and text then out = text end
            end
        else
            out[i] = mpack(answer)
        end
    end
    p = p + all[p] + 1
end

--@fast_flush

-- ---- the hash ---------------------------------------------------------------------------

if head_changed and not exists and not S.buried then
    call('DEL', HASH, INDEX, HELD) -- only head, settings and the permanent members are left
elseif head_changed then
    local n, left, k = n_set, {}, 0
    -- A new server takes over the scope with the first change that has a version.
    if version == first then version, writer, gaps = last, 0, nil elseif own ~= 0 then writer = own end
    set[2] = spack(K.HEAD_PACKED, K.FORMAT, epoch, version, clock, due, writer,
        unpack(count))
    if not exists then set[1] = 'gone' end
    if gaps then
        set[n + 1], set[n + 2] = 'gaps', gaps
        n = n + 2
    end
    if S.set_changed and exists then
        set[n + 1], set[n + 2] = 'settings', spack(K.SETTINGS_PACKED, unpack(S.set))
        n = n + 2
    end
    if S.erased then
        if not S.set_changed then left[1], k = 'settings', 1 end
        if not gaps then left[k + 1], k = 'gaps', k + 1 end
    end
    if not exists then
        left[1], left[2] = 'head', 'settings'
        k = 2
    elseif gone or S.buried then
        k = k + 1
        left[k] = 'gone'
    end
    for i = 1, n_dirty do
        local field = dirty[i]
        local text = cache[field]
        if text then
            set[n + 1], set[n + 2] = field, text
            n = n + 2
            if n > 3000 then
                call('HSET', HASH, unpack(set, 1, n))
                n = 0
            end
        else
            k = k + 1
            left[k] = field
            if k > 3000 then
                call('HDEL', HASH, unpack(left, 1, k))
                k = 0
            end
        end
    end
    local refused = n > 0 and redis.pcall('HSET', HASH, unpack(set, 1, n))
    if type(refused) == 'table' then
        if string.find(refused.err, 'READONLY ', 1, true) then return refused end
        if not made then make() end
        if S.when_full(refused.err, all, n_commands) == 'other' then call('ZREM', HELD, '') end
        call('HSET', HASH, unpack(set, 1, n))
    end
    if k > 0 then call('HDEL', HASH, unpack(left, 1, k)) end
    -- Without their permanent members the lists are deleted.
    if not exists then
        call('ZREM', INDEX, '!')
        call('ZREM', HELD, K.PERMANENT)
    end
end
-- Publish the version (setting `push`) after the last write, so that an error does not affect the change.  The
-- commands of a call share a message.  The change that turns `push` off is published, too.  S.push: this version
-- instead, or 0 for none (S.publish() of rooms).
if head_changed and (settings and byte(settings, K.PUSH_AT) == 1 or S.set_changed and S.set[K.SET_PUSH + 1] == 1) then
    local push = S.push or version ~= begun and version ~= last and version or 0
    if push > 0 then
        --@publisher
        redis.pcall(publisher, HASH, string.format('%.0f', push))
    end
end
--@fast_end
if by_hand or n_commands > 1 then return out end
return out[1]
