-- SPDX-License-Identifier: MIT
--
-- Read a direct call, and name the fields of its answer: see dispatch.lua.  Like direct_*.lua this part
-- is in the text that usher_lua() gives, and not in the scripts that the library loads.
    -- EVALSHA sha 3 {scope}:noun {scope}:noun:index {scope}:noun:held verb …
    -- or, on a server that is not a node of a cluster, EVALSHA sha 1 {scope} verb …
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
            if not is_name(name, 255) then return word .. ' contains an empty name, or one of more than 255 bytes' end
            if string.find(name, ':', 1, true) or #name > 1 and sub(name, -1) == '*' then
                return word .. ' contains a colon, or ends in *; both are reserved'
            end
            most = most and most - 1
            if most and most < 0 then return word .. ' has more than 16 names' end
        end
    end

    -- Returns what is wrong with the keys, or nothing.  Keys of several scopes would mix these, and keys
    -- without braces would lie in several slots.
    local function wrong_keys()
        if KEYS[1] and not stem then return 'key 1 has no name in braces, as in ' .. hash .. ': ' .. KEYS[1] end
        if stem and not is_name(string.match(stem, '{(.*)}'), 255) then return 'the part in braces is not a name' end
        if #KEYS == 1 and KEYS[1] == stem then
            one_key = 'one key is enough only if the server is known not to be a cluster node: ' .. form
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
        if not code then return nil, 'unknown verb' end
        local a, at, asked, fields, packed = {tonumber(code)}, 2, false, {}, nil
        for i in string.gmatch(keys, '%d+') do
            if string.find(K.ARGS, ' ' .. i .. '=[%l-]+:f:') then packed = K.ARG + i end
        end
        local function is_number(value, min, max)
            return string.find(value, '^%-?%d+$') and tonumber(value) >= tonumber(min)
                and tonumber(value) <= tonumber(max)
        end
        local function argument(i, value)
            local word, kind, min, max = string.match(K.ARGS, ' ' .. i
                .. '=([%l-]+):(%l):(%-?%d+):(%-?%d+)')
            if kind == 'v' then
                if #value > 65536 then return word .. ' has more than 65536 bytes' end
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
                -- it can be beyond 2^53, so digits are compared
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
                    if string.match(K.ARGS, ' ' .. i .. '=([%l-]+)') == key and K.ARG + i ~= packed then
                        wrong, known = argument(i, value), nil
                        break
                    end
                end
            end
            if known and value and packed then
                -- a field of a room or of a member
                if not is_name(key, 255) then return nil, 'the name of a field is not a name' end
                for i = 1, #fields, 2 do wrong = wrong or fields[i] == key and key .. ' is given twice' end
                fields[#fields + 1], fields[#fields + 2], known = key, value, nil
            end
            if known or wrong then return nil, known or wrong end
            at = at + 2
        end
        if fields[1] then
            a[packed] = mpack(fields)
            if #fields > 2 * K.COMMAND_FIELDS_MAX then return nil, 'more than ' .. K.COMMAND_FIELDS_MAX .. ' fields are given' end
            if #a[packed] > 65536 then return nil, 'the fields have more than 65536 bytes' end
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
            -- usher__operation_fingerprint() are below: see S.kept().  As there, epoch= is no part of it,
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
    -- in the order in which they come packed
    all = {1, 0, 0, K.ARG_END + 7, K.SKEW_DEFAULT, -1, K.ARG_END - 1, unpack(typed, 1, K.ARG_END - 1)}
    all[K.ARG_END + 7], all[K.ARG_END + 8] = 'head', 'settings'
