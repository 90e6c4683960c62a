-- SPDX-License-Identifier: MIT
--
-- The end of every script: read the header, run each command, write the hash.
end -- of make()

-- A call of the library says where the names of fields are (pack_call()), and the first is the header.
-- What is typed unpacks to numbers, if it is as long as that at all.
local packed = ARGV[1] or ''
local all = HELD and #packed > 38 and {select(2, pcall(munpack, packed))} or {}
local by_hand, one_key, add_rest, refuse = all[all[4]] ~= 'head', nil, nil, nil
local json, to_json, listed, prepare = false, nil, nil, nil -- with json=1: see direct_json.lua
if by_hand then
    -- EVALSHA sha 3 {scope}:noun {scope}:noun:index {scope}:noun:held verb …
    -- or, where no slot can move away from below it, EVALSHA sha 1 {scope} verb …
    local stem = string.match(KEYS[1] or '', '^[^{}]*{[^{}]+}')
    local hash = (stem or '{desk}') .. ':' .. K.NOUN
    local keys = {hash, hash .. ':index', hash .. ':held'}
    local form = 'EVALSHA sha 3 ' .. table.concat(keys, ' ') .. ' ' .. (ARGV[1] or 'verb')

    local function is_utf8(value)
        if not string.find(value, '[\128-\255]') then return true end
        local rest = string.gsub(value, '[\194-\223][\128-\191]', ' ')
        rest = string.gsub(rest, '\224[\160-\191][\128-\191]', ' ')
        rest = string.gsub(rest, '\237[\128-\159][\128-\191]', ' ')
        rest = string.gsub(rest, '[\225-\236\238\239][\128-\191][\128-\191]', ' ')
        rest = string.gsub(rest, '\240[\144-\191][\128-\191][\128-\191]', ' ')
        rest = string.gsub(rest, '[\241-\243][\128-\191][\128-\191][\128-\191]', ' ')
        rest = string.gsub(rest, '\244[\128-\143][\128-\191][\128-\191]', ' ')
        return not string.find(rest, '[\128-\255]')
    end

    -- UTF-8 without control characters: U+0000 to U+001F and U+007F to U+009F.
    local function is_name(value, size)
        return #value > 0 and #value <= size and not string.find(value, '%c') and is_utf8(value)
            and not string.find(value, '\194[\128-\159]')
    end

    -- Returns what the library would refuse of the noun, or nothing.
    local fault_of
    --@direct_fault

    -- The names of a group, a lane, or with @most of a list of these.
    local function groups_fault(word, value, most)
        if not is_name(value, most and 4096 or 255) then return word .. ' is not a name' end
        for name in string.gmatch(most and value .. ',' or value, most and '([^,]*),' or '.+') do
            if not is_name(name, 255) then return word .. ' has an empty name in it, or one of more than 255 bytes' end
            if string.find(name, ':', 1, true) or #name > 1 and sub(name, -1) == '*' then
                return word .. ' has a colon in it, or ends in *; both are reserved'
            end
            most = most and most - 1
            if most and most < 0 then return word .. ' has more than 16 names' end
        end
    end

    -- What is wrong with the keys.  Those of several scopes would be mixed, and without braces they
    -- would lie in several slots, and nobody would find them.
    local function wrong_keys()
        if KEYS[1] and not stem then return 'key 1 has no name in braces, as in ' .. hash .. ': ' .. KEYS[1] end
        if stem and not is_name(string.match(stem, '{(.*)}'), 255) then return 'what is in braces is not a name' end
        if #KEYS == 1 and KEYS[1] == stem then
            one_key = 'one key is enough only where the server is known to be no node of a cluster: ' .. form
            return
        end
        if #KEYS ~= 3 then return 'a scope has 3 keys, not ' .. #KEYS .. ': ' .. table.concat(keys, ' ') end
        for i = 1, 3 do
            if KEYS[i] ~= keys[i] then return 'key ' .. i .. ' is ' .. KEYS[i] .. ', not ' .. keys[i] end
        end
    end

    -- verb, the arguments that it must have in their order (or the noun's first one, where the
    -- verb takes it), then pairs of key and value
    local function read()
        local word = string.match(ARGV[1] or '', '^%l+$') -- nothing that means something in a pattern
        local code, order, keys = string.match(K.VERBS, ' ' .. (word or '%?') .. '=(%d+):([%d,]*):([%d,]*)')
        if not code then return nil, 'the verb is not known' end
        local a, at, asked = {tonumber(code)}, 2, false
        local function is_number(value, min, max)
            return string.find(value, '^%-?%d+$') and tonumber(value) >= tonumber(min)
                and tonumber(value) <= tonumber(max)
        end
        local function argument(i, value)
            local word, kind, min, max = string.match(K.ARGS, ' ' .. i
                .. '=([%l-]+):(%l):(%-?%d+):(%-?%d+)')
            if kind == 'v' then
                if #value > 65536 then return word .. ' has more than 65536 bytes' end
            elseif kind == 'f' then
                return word .. ' is packed: not by hand'
            elseif string.find(K.ARG_LISTS, ' ' .. i .. '[gl] ') then
                local wrong = groups_fault(word, value, string.find(K.ARG_LISTS, ' ' .. i .. 'l ') and 16)
                if wrong then return wrong end
            elseif kind == 't' or kind == 'm' and value ~= '' then
                if not is_name(value, 255) then return word .. ' is not a name' end
            elseif kind == 'e' then
                if #value ~= 16 or string.find(value, '[^%da-f]') then return word .. ' is not 16 hex digits' end
            elseif kind == 'm' then
                value = ''
            elseif kind == 'w' then
                -- digits are compared, for it may be beyond 2^53
                value = string.gsub(value, '^0+(%d)', '%1')
                if string.find(value, '%D') or value == '' or #value > #max or #value == #max and value > max
                    or #value < #min or #value == #min and value < min then
                    return word .. ' is not a number from ' .. min .. ' to ' .. max
                end
            elseif max == '9007199254740992' and string.find(value, '^%d+$') then
                value = math.min(tonumber(value), K.DIRECT) -- no token is beyond
            elseif not is_number(value, min, max) then
                return word .. ' is not a number from ' .. min .. ' to ' .. max
            else
                value = tonumber(value) + 0 -- no -0
            end
            if a[K.ARG + i] then return word .. ' is given twice' end
            a[K.ARG + i] = value
        end
        for i in string.gmatch(order, '%d+') do
            if not ARGV[at] then
                return nil, string.match(K.ARGS, ' ' .. i .. '=([%l-]+)') .. ' is missing'
            end
            local wrong = argument(i, ARGV[at])
            if wrong then return nil, wrong end
            at = at + 1
        end
        -- `call 123456': one word too many for pairs is the first argument
        if (#ARGV - at) % 2 == 0 and string.find(',' .. keys .. ',', ',0,', 1, true) then
            local wrong = argument(0, ARGV[at])
            if wrong then return nil, wrong end
            at = at + 1
        end
        while ARGV[at] do
            local key, value, wrong = ARGV[at], ARGV[at + 1], nil
            local known = not value and 'no value for ' .. key
            if value and key == 'now' then
                if not is_number(value, 0, K.TIME_MAX) then
                    return nil, string.format('now is not a number from 0 to %.0f', K.TIME_MAX)
                end
                if a[2] then return nil, 'now is given twice' end
                a[2] = tonumber(value) + 0
            elseif value and key == 'json' and to_json then
                if value ~= '0' and value ~= '1' then return nil, 'json is not a number from 0 to 1' end
                if asked then return nil, 'json is given twice' end
                json, asked = value == '1', true
            elseif value and key == 'req' then
                if a[3] then return nil, 'req is given twice' end
                if not is_name(value, 255) then return nil, 'req is not a name' end
                a[3] = value
            elseif value then
                known = key .. ' is not an argument of `' .. ARGV[1] .. '`'
                for i in string.gmatch(keys, '%d+') do
                    if string.match(K.ARGS, ' ' .. i .. '=([%l-]+)') == key then
                        wrong, known = argument(i, value), nil
                        break
                    end
                end
            end
            if known or wrong then return nil, known or wrong end
            at = at + 2
        end
        if K.NOUN == 'room' and a[K.ARG_IF_VERSION] and not a[K.ARG_EPOCH] then
            return nil, 'if-version needs epoch=, as answered with that version'
        end
        local placed = string.match(K.NEEDS_TOKEN, ' ' .. code .. '=(%d):') -- 1: without its first argument it has none
        if placed and not a[string.match(K.NEEDS_TOKEN, ' ' .. code .. '=%d:(%d+)') + 0]
            and (placed == '0' or a[K.ARG]) then
            return nil, 'token is missing'
        end
        local wrong = fault_of and fault_of(a)
        if wrong then return nil, wrong end
        if a[3] then
            -- The fingerprint of the arguments, in their order.  It is even and at least 2^53, and those of
            -- usher__operation_print() are below: see S.kept().  As there, epoch= is no part of it,
            -- nor is what the library itself gives.
            local given = {}
            for i, kind in string.gmatch(K.ARGS, ' (%d+)=[%l-]+:(%l)') do
                local value = kind ~= 'e' and not string.find(K.OWN_ARGS, ' ' .. i .. ' ', 1, true) and a[K.ARG + i]
                if value then
                    value = kind == 'n' and string.format('%.0f', value) or value
                    given[#given + 1] = i .. ':' .. #value .. ':' .. value
                end
            end
            a[6] = K.DIRECT + 2 * tonumber(sub(redis.sha1hex(table.concat(given)), 1, 13), 16)
        end
        return a
    end

    -- @name and @value to @t.  Bytes that are not UTF-8 are written as hex digits, and the name says so.
    local function add(t, name, value)
        if type(value) == 'number' then
            value = string.format('%.0f', value)
        else
            if not is_utf8(value) then
                name = name .. '_hex'
                value = string.gsub(value, '.', function(c) return string.format('%02x', byte(c)) end)
            end
        end
        t[#t + 1], t[#t + 2] = name, value
    end

    -- The word of code @v in '/word/word'.
    local function code_word(words, v)
        for word in string.gmatch(words, '/([^/]*)') do
            if v == 0 then return word ~= '' and word or nil end
            v = v - 1
        end
    end

    -- Packed fields as an array of names and values; nil: they are none.  A version can follow a value.
    local function pairs_of(packed)
        local good, all = pcall(munpack, packed)
        local t, i = {}, 1
        if packed == '' then return t end
        if not good or type(all) ~= 'table' then return nil end
        while all[i] ~= nil do
            if type(all[i]) ~= 'string' or type(all[i + 1]) ~= 'string' then return nil end
            add(t, all[i], all[i + 1])
            i = i + (type(all[i + 2]) == 'number' and 3 or 2)
        end
        return t
    end

    local function add_packed(t, name, packed)
        if packed == '\192' then return end -- too large for a notice
        local all = pairs_of(packed)
        if not all then return add(t, name, packed) end
        t[#t + 1], t[#t + 2] = name, all
    end

    local function add_notice(t, packed)
        local n = munpack(packed)
        local version, before = n[2], nil
        if type(version) == 'table' then version, before = version[1], version[2] end
        add(t, 'version', version)
        if before then add(t, 'before', before) end
        add(t, 'verb', string.match(K.VERBS .. K.NOTICES, ' ([%l-]+)=' .. string.format('%d:', n[1])) or n[1])
        add(t, 'subject', n[9])
        add(t, 'from', n[3])
        add(t, 'to', n[4])
        add_packed(t, 'data', n[10])
        add(t, 'owner', n[8])
        add(t, 'time', n[7])
        if n[5] ~= 0 then add(t, 'token', n[5]) end
        if n[6] ~= 0 then add(t, 'until', n[6]) end
        if n[12] and n[12] ~= 0 then
            add(t, 'was', n[11])
            add(t, 'mark', n[12])
        end
    end

    -- To the end of an answer: the fields of its verb by their names, and `rows`, each an array of names
    -- and values.
    function add_rest(out, answer)
        local code, i = S.verb % 256, 9 + K.OUTS
        local names = string.match(K.EXTRAS, ' ' .. string.format('%d', S.verb) .. '=(%S*)') or ''
        for name, words in string.gmatch(names, '([%l%d_]+)([^,]*),') do
            if answer[i] == nil then break end
            add(out, name == 'after' and 'next' or name, words ~= '' and code_word(words, answer[i]) or answer[i])
            i = i + 1
        end
        local rows, columns = {}, {}
        for at, name, words, verbs in string.gmatch(K.ROW, ' (%d+)=([%l%d_]+)([^:]*):(%S+)') do
            if string.find(verbs, '.' .. string.format('%d', code) .. '.', 1, true) then
                columns[#columns + 1] = {tonumber(at), name, words}
            end
        end
        for k, row in ipairs(answer[8]) do
            local t = {}
            local value = row[K.NOTICE_AT] or ''
            local kind = value ~= '' and (not S.value_kind and 'notice' or S.value_kind(row))
            if S.hand_row then S.hand_row(t, row, answer) end
            if kind == 'notice' then
                add_notice(t, value)
            end
            for _, c in ipairs(kind == 'notice' and {} or columns) do
                local v = row[c[1]]
                if kind == 'packed' and c[1] == K.NOTICE_AT then
                    add_packed(t, c[2], v)
                else
                    add(t, c[2], c[3] ~= '' and code_word(c[3], v) or v)
                end
            end
            rows[k] = t
        end
        if rows[1] then out[#out + 1], out[#out + 2] = 'rows', rows end
    end

    --@direct_json
    -- The answer to a call that is not applied.
    function refuse(status, message)
        if not is_utf8(message) then message = string.gsub(message, '[\128-\255]', '?') end
        local out = {'status', string.match(K.STATUSES, ' ' .. status .. '=(%l+)'), 'message', message}
        return json and listed(out) or out
    end

    local typed, fault = nil, wrong_keys()
    if not fault then typed, fault = read() end
    if not typed then
        -- what is wrong may stand before json=1
        for i = 2, to_json and #ARGV - 1 or 0 do json = json or ARGV[i] == 'json' and ARGV[i + 1] == '1' end
        return refuse(K.INVALID, fault)
    end
    HASH, INDEX, HELD = keys[1], keys[2], keys[3]
    -- behind one another, as they come packed
    all = {1, 0, 0, K.ARG_END + 7, K.SKEW_DEFAULT, -1, K.ARG_END - 1, unpack(typed, 1, K.ARG_END - 1)}
    all[K.ARG_END + 7], all[K.ARG_END + 8] = 'head', 'settings'
end
--@rights
if one_key then
    -- While a slot moves, a key that no node has leads to the node that takes the slot, and a second scope
    -- would begin there.  No script names keys of two slots to find out: after that error a node of Valkey 9.1
    -- fails each later script call until it is restarted.
    local info = redis.pcall('INFO', 'cluster')
    local single = type(info) == 'string' and string.find(info, 'cluster_enabled:0', 1, true)
    if type(info) ~= 'string' then
        info = redis.pcall('CLUSTER', 'INFO')
        single = type(info) == 'table' and string.find(info.err or '', 'cluster support disabled', 1, true)
    end
    if not single then return refuse(K.INVALID, one_key) end
end

-- ---- the header, with the records that commands begin with --------------------------------

local n_commands, p = all[1], 7
local n_args = 2 + all[3] - all[2]
local args = {unpack(all, all[4], all[4] + n_args - 1)}
for _ = 1, all[3] < n_commands and n_commands or 0 do
    if all[p + 1] > 255 then
        if all[p + 3] then
            n_args = n_args + 1
            args[n_args] = '4:' .. all[p + 3]
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
-- what is left of one that was dropped: the next one goes on behind its version
local gone = not head and K.DROPS ~= '' and call('HGET', HASH, 'gone')
local header = head or gone
local exists, epoch, version, clock, due, count = head and true or false, '0000000000000000', 0, 0, -1, nil
local own, writer = all[6], 0
-- where the server is another one than that which wrote the scope: the version that the scope has,
-- the last one that nobody may be given, and all such pairs.  See usher__scope_loaded().
local last, first, gaps
local wrong
if header then
    local format
    format, epoch, version, clock, due, writer = sunpack('>Bc16I7I7i7I7', header)
    if format ~= K.FORMAT or #header ~= K.HEAD_SIZE then
        wrong = {K.INVALID, 'the scope has a format that this library does not know'}
        -- mend.lua
        if format == K.FORMAT and #head == K.HEAD_SIZE + 16 then
            wrong = {K.UNAVAILABLE, 'the store is damaged: `usher check --repair` has begun to mend the scope'}
        end
    elseif head then
        count = {sunpack(K.COUNTS_PACKED, head, 46)}
    end
end
if not head then epoch, clock, due = '0000000000000000', 0, -1 end
count = count or K.NO_COUNTS
--@torn
if wrong then
    if by_hand then return refuse(wrong[1], wrong[2]) end
    local out = {}
    for i = 1, n_commands do out[i] = mpack(wrong) end
    return out[2] and out or out[1]
end
-- The store's clock in milliseconds and in microseconds, read before anything is written.  It is not read if
-- each command has its time and no other counts (clock=given).  A server can refuse TIME to scripts: the
-- client then sends the time of its own clock as ARGV[4].  For a direct call now= is the clock then.
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
-- A scope that is new begins where no scope before it can have been, as after a change of the server: the
-- store may have been emptied, and a token of before must not be one of now.  The gap begins at 0 then.
local jumps = not header and skew < K.TIME_MAX
if own ~= writer and own ~= 0 and (header or own < 0) then
    -- the client's knowledge may be old, and a direct call has none
    --@identity
    own = id
    jumps = jumps or header and own ~= writer and own ~= 0
end
if jumps then
    -- without a clock by the time that the command has, which may be beyond 2^53 microseconds
    micros = micros or math.min(all[p + 2], 9007199254740) * 1000
    local today = math.floor(micros / 8)
    local place = tonumber(sub(redis.sha1hex(own .. ' ' .. micros % 1000000 .. HASH), 1, 9), 16)
    place = math.floor(place / (version - today < 35184372088832 and 4 or 65536))
    last, first = version, math.max(version, today) + 1048576 + place
    gaps = header and call('HGET', HASH, 'gaps') or ''
    -- the oldest two as one, but for the one that the scope began with
    local k = sub(gaps, 1, 7) == '\0\0\0\0\0\0\0' and 14 or 0
    if #gaps >= 14 * K.GAPS then gaps = sub(gaps, 1, k + 7) .. sub(gaps, k + 22) end
    gaps = gaps .. spack('>I7I7', last, first)
    version = first
end

-- ---- the commands -------------------------------------------------------------------------

local out, dirty, n_dirty, head_changed, made = {false}, {}, 0, false, false
local set, n_set = {'head', '', '', ''}, 2
-- A call before this one in the pipeline may have left something due: by the server's clock, or with
-- clock=given by the latest time of its commands, ARGV[3].  Its commands come first, so all of this call
-- come again.
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
    -- with `clock=given' the command's time is that of the store's clock; the rest is usher__work_time()
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
        -- what is being dropped is there only for who goes on with it, or makes it anew
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
            -- nothing was written in this call: as if the server had refused it, by its own words
            if not S.head_changed and not S.half then return {err = why} end
            S.drop()
            S.answer = {S.half and K.UNKNOWN or K.UNAVAILABLE, 'the script failed: ' .. sub(why, 1, 120)}
            S.half = nil
        end
        -- see usher__due_store()
        if S.exists and S.due ~= due then S.head_changed = true end
        if not hidden then
            exists, epoch, version, clock, due, n_dirty, head_changed = S.exists, S.epoch, S.version, S.clock,
                S.due, S.nd, S.head_changed
            if S.erased then last, first, gaps = S.jump_from, S.jump_to, S.gaps ~= '' and S.gaps or nil end
        end
        -- as they are shown: those of one that is there, or was
        local shown, shown_version, shown_due = epoch, version == first and last or version, due
        if not S.exists and (not was or dropping or S.blank) then
            shown, shown_version, shown_due = '0000000000000000', 0, -1
        end
        if S.epoch_first and S.epoch_first ~= epoch then table.insert(S.notices, 1, S.epoch_first) end
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
            answer[3], answer[4] = shown, S.notices -- a failure, but what ended by itself before it has
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
                -- A record that is damaged must not end the script here, between two writes.
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
    call('DEL', HASH, INDEX, HELD) -- head, settings and the permanent members: not to come back in this call
elseif head_changed then
    local n, left, k = n_set, {}, 0
    -- taken over with the first change that has a version
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
    -- their permanent members go, so they do
    if not exists then
        call('ZREM', INDEX, '!')
        call('ZREM', HELD, K.PERMANENT)
    end
end
--@fast_end
if by_hand or n_commands > 1 then return out end
return out[1]
