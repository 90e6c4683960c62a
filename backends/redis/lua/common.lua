-- SPDX-License-Identifier: MIT
--
-- What all nouns have in common: arguments, the scope's header, its clock and version,
-- request ids, and the making of changes.  The same steps as src/steps/work.c.
--
-- In front of this stand constants printed from the C tables (`usher tables number --lua`).
-- Everything runs once a command and nothing is kept in between, so: tables are constant
-- strings, texts that are not touched are passed on as they are, functions are few.
--
-- Keys: one hash and one sorted set a scope, both with a member that is never removed, so
-- that neither is ever empty (a key that vanishes and comes back inside a script makes the
-- script fail half-way while its slot migrates).
--   hash   head      format epoch version clock due counts…
--          settings  absent: all default
--          n:ID …    records, one field each (the noun's file says how)
--          r:ID      order until <tab> answer: for request ids
--   index  all scores 0, so that members are ordered as bytes: ! (the permanent one), and
--          for each list a letter, fixed-width numbers, a tab, the id
-- Names have no control characters, so a tab separates.  Numbers in members have 16 digits
-- and are below 2^53, up to where Lua's numbers are exact.
local call, match, find, sub, byte, format = redis.call, string.match, string.find, string.sub,
    string.byte, string.format
local HASH, INDEX = KEYS[1], KEYS[2]
if not INDEX then
    -- by hand: EVALSHA sha 1 {pool} verb …
    HASH, INDEX = HASH .. ':' .. NOUN, HASH .. ':' .. NOUN .. ':index'
end

-- ARGV: verb, subject ('' none), then keys and values
local verb, subject = ARGV[1] or '', ARGV[2] or ''
local arg = {}
if #ARGV > 2 then
    if #ARGV % 2 == 1 then return {'invalid', 'arguments are not in pairs of key and value'} end
    for i = 3, #ARGV, 2 do
        local key, value = ARGV[i], ARGV[i + 1]
        local at = select(2, find(ARGUMENTS, ' ' .. key .. '=', 1, true))
        local kind = at and sub(ARGUMENTS, at + 1, at + 1)
        if not kind then return {'invalid', 'an argument is not known'} end
        if kind == 't' then
            if value == '' or find(value, '%c') or #value > (key == 'group' and 4096 or 255) then
                return {'invalid', key .. ' is not a name'}
            end
        elseif not find(value, kind == 'z' and '^%-?%d+$' or '^%d+$')
            or #value > (kind == 'k' and 20 or 15) then
            return {'invalid', key .. ' is not a number'}
        elseif kind == 'k' then
            value = match(value, '^0*(%d+)$')
        end
        arg[key] = value
    end
end
if #subject > 255 or find(subject, '%c') then return {'invalid', 'number is not a name'} end

local function int(number) return format('%.0f', number) end
local function padded(number) return format('%016.0f', number) end

-- the header; strings unless they are computed with
local got = call('HMGET', HASH, 'head', 'settings', 'n:' .. subject, 'r:' .. (arg.req or ''))
local exists = got[1]
local epoch, version, clock, due = '0000000000000000', 0, '0', -1
local count = {'0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0'}
if exists then
    local v, d
    epoch, v, clock, d, count[1], count[2], count[3], count[4], count[5], count[6], count[7],
        count[8], count[9], count[10], count[11] = match(got[1], '^1 (%x+) (%d+) (%d+) (%-?%d+)'
        .. ' (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%-?%d+) (%d+) (%-?%d+)$')
    if not epoch then return {'invalid', 'the pool has a format that this library does not know'} end
    version, due = tonumber(v), tonumber(d)
end

-- the clock of the application or of this server; never before the scope's last change
local now
if arg.now then
    now = tonumber(arg.now)
else
    local t = call('TIME')
    now = t[1] * 1000 + math.floor(t[2] / 1000)
end
if now < tonumber(clock) then now = tonumber(clock) end

-- A change collects its writes and commits them together: after the first nothing can fail.
local hs, hn, hd, dn, za, zn, zr, rn = {'head', ''}, 2, {}, 0, {}, 0, {}, 0
local notices

local function set(field, value)
    hs[hn + 1], hs[hn + 2] = field, value
    hn = hn + 2
end

local function unset(field)
    dn = dn + 1
    hd[dn] = field
end

local function enter(member)
    za[zn + 1], za[zn + 2] = '0', member
    zn = zn + 2
end

local function leave(member)
    rn = rn + 1
    zr[rn] = member
end

-- Write what has been collected.  @bump 1: a change with a version; 0: without.
local function flush(bump)
    if not exists then
        exists = true
        epoch = match(arg.epoch or '', '^%x+$')
        if not epoch or #epoch ~= 16 then
            local t = call('TIME')
            epoch = sub(redis.sha1hex(t[1] .. ' ' .. t[2] .. HASH), 1, 16)
        end
        enter('!')
    end
    if bump == 1 then
        version = version + 1
        clock = int(now)
    end
    if rn > 0 then call('ZREM', INDEX, unpack(zr, 1, rn)) end
    if zn > 0 then call('ZADD', INDEX, unpack(za, 1, zn)) end
    hs[2] = '1 ' .. epoch .. ' ' .. int(version) .. ' ' .. clock .. ' ' .. int(due) .. ' '
        .. table.concat(count, ' ')
    call('HSET', HASH, unpack(hs, 1, hn))
    if dn > 0 then call('HDEL', HASH, unpack(hd, 1, dn)) end
    hn, dn, zn, rn = 2, 0, 0, 0
    got[3] = nil -- what was read beforehand may have changed
end

-- The first (or with @back the last) member of the list @prefix behind @after; nil: none.
local function walk(prefix, after, back)
    if back then
        return call('ZREVRANGEBYLEX', INDEX, '(' .. prefix .. '\255', '[' .. prefix, 'LIMIT', 0, 1)[1]
    end
    return call('ZRANGEBYLEX', INDEX, after and '(' .. after or '[' .. prefix,
        '(' .. prefix .. '\255', 'LIMIT', 0, 1)[1]
end

-- Save @rest as the newest of a bounded memory (fields @field:ID, list @letter in order of
-- version): at most two of the oldest go when there are more than @limit of them or their
-- time is over.  @old: what is there now or nil; @v: the version that the change will have.
local function remember(letter, field, id, old, v, ends, rest, i, limit)
    local n, after, erased = tonumber(count[i]), nil, 0
    local mine = old and letter .. padded(match(old, '^%d+')) .. '\t' .. id
    if not old then n = n + 1 end
    while erased < 2 do
        local m = walk(letter, after)
        if not m then break end
        after = m
        if m ~= mine then
            local other = field .. sub(m, 19)
            if n <= limit and tonumber(match(call('HGET', HASH, other), '^%d+ (%d+)')) > now then
                break
            end
            leave(m)
            unset(other)
            n, erased = n - 1, erased + 1
        end
    end
    if mine then leave(mine) end
    enter(letter .. padded(v) .. '\t' .. id)
    set(field .. id, int(v) .. ' ' .. int(ends) .. '\t' .. rest)
    count[i] = int(n)
end
