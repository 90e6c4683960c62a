-- SPDX-License-Identifier: MIT
--
-- Answers to direct calls as JSON (json=1), equal to those of usher_reply_write(): see
-- src/encode/encode.c, whose functions have the same names, and src/encode/json_tables.c for the tables.

do
-- A noun adds, in NOUN_json.lua: J.applies(code): whether the field is part of the answer; J.made(of,
-- is_row, code): a text that is composed; J.own(own): fields that are in no table; J.has_extras(); J.prepare():
-- see prepare(); J.rows(): the rows; J.subject(notice).
local J, answer, verb, asked, own, rows = {}, nil, nil, nil, nil, nil
--@json

local function has(mask, i) return bit.band(mask, 2 ^ i) ~= 0 end

local function quoted(text)
    local clean = is_utf8(text)
    text = string.gsub(text, '[%z\1-\31"\\]', function(c)
        return (c == '"' or c == '\\') and '\\' .. c or string.format('\\u%04x', byte(c))
    end)
    if not clean then
        text = string.gsub(text, '[\128-\255]', function(c) return string.format('\\u%04x', byte(c)) end)
    end
    text = string.gsub(text, '\194\133', '\\u0085')
    return '"' .. string.gsub(text, '\226\128[\168\169]', {['\226\128\168'] = '\\u2028', ['\226\128\169'] = '\\u2029'}) .. '"'
end

local function bytes(value)
    if is_utf8(value) then return quoted(value) end
    local digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
    return '{"b64":"' .. string.gsub(value, '..?.?', function(some)
        local a, b, c = byte(some, 1, 3)
        local bits, four = a * 65536 + (b or 0) * 256 + (c or 0), {}
        for k = 0, 3 do
            local digit = math.floor(bits / 64 ^ (3 - k)) % 64 + 1
            four[k + 1] = k > #some and '=' or sub(digits, digit, digit)
        end
        return table.concat(four)
    end) .. '"}'
end

local function number(value)
    local text = type(value) == 'number' and string.format('%.0f', value) or value
    local digits = string.match(text, '%d+') or ''
    if #digits > 16 or #digits == 16 and digits > '9007199254740992' then return '"' .. text .. '"' end
    return text
end

local function text_or_null(value) return value and value ~= '' and quoted(value) or 'null' end

-- Fields of the answer or of the row @of by their codes.
local function values(text, of, is_row, extras)
    local t = {}
    for code, at, kind, verbs in string.gmatch(text, ' (%d+):(%d+):(%u):(%d+)') do
        code, at = tonumber(code), tonumber(at)
        if has(verbs, verb) and t[code] == nil and (is_row or (extras or at <= 8 + K.OUTS)
            and (not J.applies or J.applies(code))) then
            local v = of[at]
            if kind == 'M' then v = J.made(of, is_row, code) end
            local empty = v == '' or kind == 'X' and answer[K.JSON_MORE] == 0
            if kind == 'T' or kind == 'N' or kind == 'K' then
                local n = tonumber(v)
                empty = not n or n < 0 and kind ~= 'K' or n == 0 and kind ~= 'N'
            end
            if kind == 'V' or not empty then t[code] = v end
        end
    end
    return t
end

local function word_of(field, code)
    local words = string.match(K.JSON_CODES, ' ' .. field .. '=(%S*)')
    return words and code_word(words, code) or '?'
end

local function value(k, v)
    if v == nil and k.none ~= 0 then
        return k.none == K.NONE_NIL and 'null' or '""'
    end
    if k.kind == 'y' and v then return bytes(v) end
    if k.kind == 't' or k.kind == 'y' then return text_or_null(v) end
    if k.kind == 'i' and v == nil then return 'null' end
    v = v or 0
    if k.as == K.AS_SHARE then return string.format('%d.%04d', math.floor(v / 10000), v % 10000) end
    if k.as == K.AS_NUMBER then return number(v) end
    if k.kind == 'k' then return '"' .. string.format('%.0f', v) .. '"' end
    if k.kind == 'c' then return quoted(word_of(k.field, tonumber(v))) end
    if k.kind == 'b' then return v ~= 0 and 'true' or 'false' end
    return number(v)
end

-- The keys of the verb.
local function keys(text)
    local t = {}
    for verbs, on, field, as, none, word, when, when_of, codes, kind in string.gmatch(text,
        '(%d*),(%d*),(%d*),(%d*),(%d*),([%l%d_]*),(%d*),(%d*),(%d*),(%l);') do
        if has(tonumber(verbs) or 0, verb) and has(tonumber(on) or 0, answer[1]) then
            t[#t + 1] = {field = tonumber(field), as = tonumber(as) or 0, none = tonumber(none) or 0, word = word,
                when = tonumber(when) or 0, of = tonumber(when_of) or 0, codes = tonumber(codes), kind = kind}
        end
    end
    return t
end

local function among(vals, k)
    local v = vals[k.of]
    return v ~= nil and (type(v) == 'string' or not k.codes or v < 32 and has(k.codes, v))
end

local function applies(vals, k)
    local when = k.when
    if k.as == K.AS_VERSIONS and not asked[K.F_VERSIONS] then return false end
    if when == K.WHEN_IS then return among(vals, k) end
    if when == K.WHEN_NOT then return vals[k.of] == nil end
    if when == K.WHEN_ASKED then return asked[k.of] ~= nil end
    if when == K.WHEN_NOT_ASKED then return asked[k.of] == nil end
    if when == K.WHEN_AHEAD then return (asked[k.of] or 0) > answer[3] end
    if when == K.WHEN_NOT_AHEAD then return (asked[k.of] or 0) <= answer[3] end
    if when == K.WHEN_ONE_ROW then return #rows == 1 end
    if when == K.WHEN_NO_ROW then return #rows ~= 1 end
    if when == K.WHEN_KIND then return vals == own or among(vals, k) end
    return true
end

local function object(parts) return '{' .. table.concat(parts, ',') .. '}' end

local function array(parts) return '[' .. table.concat(parts, ',') .. ']' end

-- Call @fn(name, value, version) for each packed field; false: they are too large for a notice.
local function each_field(packed, fn)
    if packed == '\192' then return false end
    local good, all = pcall(munpack, packed)
    local i = 1
    while packed ~= '' and good and type(all) == 'table' and type(all[i + 1]) == 'string' do
        local version = type(all[i + 2]) == 'number' and all[i + 2]
        fn(all[i], all[i + 1], version or 0)
        i = i + (version and 3 or 2)
    end
    return true
end

local function packed_fields(packed, notice)
    local parts = {}
    local fit = each_field(packed, function(name, v)
        if notice and J.told_value then v = J.told_value(name, v) end
        parts[#parts + 1] = quoted(name) .. ':' .. bytes(v)
    end)
    return fit and object(parts) or 'null'
end

-- The own fields of a member, each with its version.
local function own_fields(packed)
    local parts = {}
    each_field(packed, function(name, v, version)
        parts[#parts + 1] = quoted(name) .. ':{"value":' .. bytes(v) .. ',"version":' .. number(version) .. '}'
    end)
    return object(parts)
end

-- The fields of a member: of its own and of those of all members the one that was set last.
local function merged(packed)
    local parts, seen = {}, {}
    local function of_all(fn)
        for _, row in ipairs(rows) do
            if row[K.F_KIND] == K.JSON_OF_ALL then fn(row[K.F_NAME], row[K.F_VALUE] or '', row[K.F_VERSION] or 0) end
        end
    end
    each_field(packed, function(name, v, version)
        local later
        of_all(function(other, of, at) if not later and other == name and at > version then later = of end end)
        parts[#parts + 1], seen[name] = quoted(name) .. ':' .. bytes(later or v), true
    end)
    of_all(function(name, v) if not seen[name] then parts[#parts + 1] = quoted(name) .. ':' .. bytes(v) end end)
    return object(parts)
end

local function state_of(n, of, state)
    local words = string.match(K.JSON_STATES, ' ' .. string.format('%d:%d', of, of == 0 and n[1] or 0) .. '=(%S*)')
    return not words and 'null' or text_or_null(code_word(words, state) or '?')
end

local function notice(packed)
    local good, n = pcall(munpack, packed)
    if not good or type(n) ~= 'table' or #n < 10 then return nil end
    local version, before = n[2], nil
    if type(version) == 'table' then version, before = version[1], version[2] end
    local of = n[9] ~= '' and J.subject and J.subject(n) or 0
    local parts = {'"scope":' .. quoted(K.NOUN .. '/' .. string.match(HASH, '{(.*)}')), '"epoch":' .. quoted(answer[2]),
        '"version":' .. number(version)}
    if before and before + 1 ~= version then parts[#parts + 1] = '"before":' .. number(before) end
    parts[#parts + 1] = '"verb":' .. quoted(string.match(K.VERBS .. K.NOTICES, ' ([%l-]+)=' .. string.format('%d:', n[1])) or '?')
    parts[#parts + 1] = '"subject":' .. text_or_null(n[9])
    parts[#parts + 1] = '"from":' .. state_of(n, of, n[3])
    parts[#parts + 1] = '"to":' .. state_of(n, of, n[4])
    parts[#parts + 1] = '"data":' .. packed_fields(n[10], true)
    parts[#parts + 1] = '"owner":' .. text_or_null(n[8])
    parts[#parts + 1] = '"time":' .. number(n[7])
    if K.JSON_MARKS then
        parts[#parts + 1] = '"was":' .. number(n[11] or 0)
        parts[#parts + 1] = '"mark":' .. number(n[12] or 0)
    else
        if n[5] ~= 0 then parts[#parts + 1] = '"token":"' .. string.format('%.0f', n[5]) .. '"' end
        if n[6] ~= 0 then parts[#parts + 1] = '"until":' .. number(n[6]) end
    end
    return object(parts)
end

local function notices()
    local parts = {}
    for _, row in ipairs(answer[8]) do
        if K.JSON_OF_NOTICE == 0 or row[1] == K.JSON_OF_NOTICE then parts[#parts + 1] = notice(row[K.NOTICE_AT]) end
    end
    return array(parts)
end

local put

local function put_all(out, list, vals)
    for _, k in ipairs(list) do put(out, vals, k) end
end

local function row_object(row)
    local parts = {}
    put_all(parts, J.row_keys, row)
    return object(parts)
end

-- @fn(row) for each row that @k chooses.
local function of_rows(k, fn)
    local parts = {}
    for _, row in ipairs(rows) do
        if k.when ~= K.WHEN_KIND or among(row, k) then parts[#parts + 1] = fn(row) end
    end
    return parts
end

function put(out, vals, k)
    local v, text = vals[k.field], nil
    if v == nil and k.as == K.AS_ECHO then v = asked[k.field] end
    if not applies(vals, k) or v == nil and k.none == K.NONE_LEFT_OUT then return end
    if k.as == K.AS_ROW then return put_all(out, J.row_keys, rows[1]) end
    if k.as == K.AS_FIRST then
        text = value(k, rows[1] and rows[1][k.field])
    elseif k.as == K.AS_ROOMS then
        local parts = {}
        for i = 1, own[K.F_ROOMS] or 0 do parts[i] = quoted(J.place(own[K.F_LOGIN] or 0, i)) end
        text = array(parts)
    elseif k.as == K.AS_LIST and J.too_many then -- see serial_json.lua
        out[#out + 1] = '"first":' .. quoted(J.too_many[1])
        out[#out + 1] = '"last":' .. quoted(J.too_many[2])
        return
    elseif k.as == K.AS_LIST then
        text = array(of_rows(k, function(row) return value(k, row[k.field]) end))
    elseif k.as == K.AS_ROWS then
        text = array(of_rows(k, row_object))
    elseif k.as == K.AS_MAP or k.as == K.AS_VERSIONS then
        text = object(of_rows(k, function(row)
            local v = row[k.field]
            return quoted(row[K.F_NAME] or '') .. ':' .. (k.as == K.AS_MAP and bytes(v or '') or number(v or 0))
        end))
    elseif k.as == K.AS_OWN then
        text = own_fields(v or '')
    elseif k.as == K.AS_PACKED then
        text = packed_fields(v or '')
    elseif k.as == K.AS_MERGED then
        text = merged(v or '')
    elseif k.as == K.AS_NOTICES then
        text = notices()
    else
        text = value(k, v)
    end
    out[#out + 1] = '"' .. k.word .. '":' .. text
end

-- The command was for another version or epoch, so the answer has no other keys.
local function other_version()
    local v, e = S.a[K.ARG_IF_VERSION], S.a[K.ARG_EPOCH]
    return answer[1] == K.STALE and K.ARG_IF_VERSION ~= 0 and not K.JSON_STALE_HAS_ALL
        and (v and v ~= answer[3] or e and e ~= answer[2])
end

-- An answer without json=1, names and values, as an object.
function listed(list)
    local parts, is_text = {}, {status = true, epoch = true, message = true, token = true, room = true, state = true}
    for i = 1, #list, 2 do
        local name, v = list[i], list[i + 1]
        if type(v) == 'table' then
            local all = {}
            for k, row in ipairs(v) do all[k] = listed(row) end
            v = array(all)
        elseif name == 'more' then
            v = v == '0' and 'false' or 'true'
        elseif is_text[name] then
            v = quoted(v)
        else
            v = name == 'due' and v == '-1' and 'null' or number(v)
        end
        if name ~= 'now' or list[i - 1] ~= '-1' then parts[#parts + 1] = '"' .. name .. '":' .. v end
    end
    return object(parts)
end

-- Change the answer @all as the library does in the client.  Returns nothing, or a status and a message, which
-- are then the answer.
function prepare(all)
    answer = all
    return J.prepare and J.prepare()
end

-- The answer to the command, whose names and values begin with @out, after prepare().
function to_json(out)
    verb, asked = S.verb % 256 - 1, {}
    if J.is_listed then
        S.hand(out, answer)
        return listed(out)
    end
    local parts = {'"status":"' .. out[2] .. '"', '"epoch":"' .. answer[2] .. '"', '"version":' .. number(answer[3])}
    parts[4] = '"due":' .. (answer[4] == -1 and 'null' or number(answer[4]))
    if answer[4] ~= -1 then parts[5] = '"now":' .. number(answer[5]) end
    for field, arg, verbs in string.gmatch(K.JSON_ECHOES, ' (%d+):(%d+):(%d+)') do
        if has(verbs, verb) then asked[tonumber(field)] = S.a[K.ARG + tonumber(arg)] end
    end
    own, rows = {}, {}
    local extras = answer[1] ~= K.MISSING and (not J.has_extras or J.has_extras())
    if answer[1] ~= K.MISSING or answer[2] ~= '0000000000000000' then
        own = values(K.JSON_FIELDS, answer, false, extras)
        if J.own and extras then J.own(own) end
    end
    J.row_keys = keys(K.JSON_ROW_KEYS)
    for i, row in ipairs(J.rows and J.rows() or answer[8]) do rows[i] = values(K.JSON_ROW, row, true) end
    if not other_version() then put_all(parts, keys(K.JSON_KEYS), own) end
    if S.because then parts[#parts + 1] = '"message":' .. quoted(S.because) end
    if answer[6] == 1 then parts[#parts + 1] = '"repeated":true' end
    return object(parts)
end
end
