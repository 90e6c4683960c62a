-- SPDX-License-Identifier: MIT
--
-- The end of every script: read the header, run each command, write the hash.

-- ---- by hand ------------------------------------------------------------------------------

local by_hand, commands = not KEYS[2], ARGV

-- verb, the arguments that it must have in their order, then pairs of key and value
local function from_hand()
    local code, order, keys = string.match(K.VERBS, ' ' .. (string.match(ARGV[1] or '', '^[%l-]+$') or '?')
        .. '=(%d+):([%d,]*):([%d,]*)')
    if not code then return nil, 'the verb is not known' end
    local a, at = {tonumber(code)}, 2
    local function argument(i, value)
        local word, kind, min, max = string.match(K.ARGS, ' ' .. i .. '=([%l-]+):(%l):(%-?%d+):(%-?%d+)')
        if kind == 't' then
            if #value > (word == 'group' and 4096 or 255) or value == '' or string.find(value, '%c') then return word .. ' is not a name' end
        elseif kind == 'w' then
            -- digits are compared, for it may be beyond 2^53
            value = string.gsub(value, '^0+(%d)', '%1')
            if string.find(value, '%D') or value == '' or #value > #max or #value == #max and value > max then
                return word .. ' is not a number from ' .. min .. ' to ' .. max
            end
        elseif not string.find(value, '^%-?%d+$') or tonumber(value) < tonumber(min)
            or tonumber(value) > tonumber(max) then
            return word .. ' is not a number from ' .. min .. ' to ' .. max
        else
            value = tonumber(value)
        end
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
    while ARGV[at] do
        local key, value, wrong = ARGV[at], ARGV[at + 1], nil
        local known = not value and 'no value for ' .. key
        if value and (key == 'now' or key == 'req') then
            a[key == 'now' and 2 or 3] = key == 'now' and tonumber(value) or value
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
    for i = 2, K.ARG + 31 do if a[i] == nil then a[i] = false end end
    return a
end

local typed, fault
if by_hand then
    typed, fault = from_hand()
    if not typed then return {'status', 'invalid', 'message', fault} end
    commands = {''}
end

-- ---- the header, with the records that commands begin with --------------------------------

local first = {}
local args = {'head', 'settings'}
for i = 1, #commands do
    local a = typed or munpack(commands[i])
    first[i] = a
    if a[3] then args[#args + 1] = '4:' .. a[3] end
    if a[K.ARG] then args[#args + 1] = K.FIRST .. a[K.ARG] end
end
local got = call('HMGET', HASH, unpack(args))
for i = 3, #args do S.cache[args[i]] = got[i] end
S.exists = got[1] and true or false
if got[1] then
    local h = munpack(got[1])
    if h[1] ~= K.FORMAT then
        local answer = {K.INVALID, 'the scope has a format that this library does not know'}
        if by_hand then return {'status', 'invalid', 'message', answer[2]} end
        local out = {}
        for i = 1, #commands do out[i] = mpack(answer) end
        return out[2] and out or out[1]
    end
    S.epoch, S.version, S.clock, S.due, S.count = h[2], h[3], h[4], h[5], h[6]
else
    S.count = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
end
S.set = got[2] and munpack(got[2]) or K.DEFAULTS

-- ---- the commands -------------------------------------------------------------------------

local out, time = {}, nil
for i = 1, #commands do
    local a = first[i]
    S.a, S.verb, S.req, S.seed, S.watch = a, a[1], a[3], a[4], a[5]
    S.status, S.rows, S.notices, S.answer = K.OK, nil, {}, nil
    local now = a[2]
    if not now then
        if not time then
            local t = call('TIME')
            time = t[1] * 1000 + math.floor(t[2] / 1000)
        end
        now = time
    end
    S.now = now < S.clock and S.clock or now
    S.begin()
    if S.req and not S.keep then S.make_memory() end
    local good, why = pcall(S.run)
    if not good then
        if not S.head_changed then error(why) end -- nothing was written in this call
        S.drop()
        if type(why) == 'table' then why = why.err end
        S.answer = {K.UNAVAILABLE, 'the script failed: ' .. sub(tostring(why), 1, 120)}
    end
    local answer = S.answer
    if not answer then
        answer = {S.status, S.epoch, S.version, 0, S.notices, S.rows or {}}
        S.fields(answer, 6)
    end
    if by_hand then
        local word = string.match(sub(K.STATUSES, answer[1] * 12 + 1, answer[1] * 12 + 12), '^%S+')
        if answer[1] >= K.INVALID then
            out = {'status', word, 'message', answer[2]}
        else
            out = {'status', word, 'epoch', answer[2], 'version', string.format('%.0f', answer[3])}
            S.hand(out, answer)
        end
    else
        out[i] = mpack(answer)
    end
end

-- ---- the hash ---------------------------------------------------------------------------

if S.head_changed then
    local set, n, gone, k, dirty, cache = {}, 2, {}, 0, S.dirty, S.cache
    set[1], set[2] = 'head', mpack({K.FORMAT, S.epoch, S.version, S.clock, S.due, S.count})
    if S.set_changed then set[3], set[4], n = 'settings', mpack(S.set), 4 end
    for i = 1, S.nd do
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
            gone[k] = field
            if k > 3000 then
                call('HDEL', HASH, unpack(gone, 1, k))
                k = 0
            end
        end
    end
    if n > 0 then call('HSET', HASH, unpack(set, 1, n)) end
    if k > 0 then call('HDEL', HASH, unpack(gone, 1, k)) end
end
if by_hand or #commands > 1 then return out end
return out[1]
