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
-- Functions and what they share are fields of one table: a function that refers to locals of
-- the script has to look each of them up when it is made, and they are made at every call.
local S = {}
local call, match, find, sub, byte, format = redis.call, string.match, string.find, string.sub,
    string.byte, string.format
local HASH, INDEX = KEYS[1], KEYS[2]
if not INDEX then
    -- by hand: EVALSHA sha 1 {pool} verb …
    HASH, INDEX = HASH .. ':' .. NOUN, HASH .. ':' .. NOUN .. ':index'
end

-- ARGV: verb, subject ('' none), then keys and values
S.verb, S.subject = ARGV[1] or '', ARGV[2] or ''
S.arg = {}
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
        S.arg[key] = value
    end
end
if #S.subject > 255 or find(S.subject, '%c') then return {'invalid', 'number is not a name'} end

-- %d is quicker and as exact where C's long has 64 bits
local wide = format('%d', 4503599627370496) == '4503599627370496'
local plain, digits = wide and '%d' or '%.0f', wide and '%016d' or '%016.0f'
function S.int(number) return format(plain, number) end
function S.padded(number) return format(digits, number) end

-- the header; strings unless they are computed with
S.got = call('HMGET', HASH, 'head', 'settings', 'n:' .. S.subject, 'r:' .. (S.arg.req or ''))
S.exists = S.got[1]
S.epoch, S.version, S.clock, S.due = '0000000000000000', 0, '0', -1
S.count = {'0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0'}
if S.exists then
    local v, d
    S.epoch, v, S.clock, d, S.count[1], S.count[2], S.count[3], S.count[4], S.count[5], S.count[6], S.count[7],
        S.count[8], S.count[9], S.count[10], S.count[11] = match(S.got[1], '^1 (%x+) (%d+) (%d+) (%-?%d+)'
        .. ' (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%-?%d+) (%d+) (%-?%d+)$')
    if not S.epoch then return {'invalid', 'the pool has a format that this library does not know'} end
    S.version, S.due = tonumber(v), tonumber(d)
end

-- the clock of the application or of this server; never before the scope's last change

if S.arg.now then
    S.now = tonumber(S.arg.now)
else
    local t = call('TIME')
    S.now = t[1] * 1000 + math.floor(t[2] / 1000)
end
if S.now < tonumber(S.clock) then S.now = tonumber(S.clock) end

-- A change collects its writes and commits them together: after the first nothing can fail.
S.hs, S.hn, S.hd, S.dn, S.za, S.zn, S.zr, S.rn = {'head', ''}, 2, {}, 0, {}, 0, {}, 0

function S.set(field, value)
    S.hs[S.hn + 1], S.hs[S.hn + 2] = field, value
    S.hn = S.hn + 2
end

function S.unset(field)
    S.dn = S.dn + 1
    S.hd[S.dn] = field
end

function S.enter(member)
    S.za[S.zn + 1], S.za[S.zn + 2] = '0', member
    S.zn = S.zn + 2
end

function S.leave(member)
    S.rn = S.rn + 1
    S.zr[S.rn] = member
end

-- Write what has been collected.  @bump 1: a change with a version; 0: without.
function S.flush(bump)
    if not S.exists then
        S.exists = true
        S.epoch = match(S.arg.epoch or '', '^%x+$')
        if not S.epoch or #S.epoch ~= 16 then
            local t = call('TIME')
            S.epoch = sub(redis.sha1hex(t[1] .. ' ' .. t[2] .. HASH), 1, 16)
        end
        S.enter('!')
    end
    if bump == 1 then
        S.version = S.version + 1
        S.clock = S.int(S.now)
    end
    if S.rn > 0 then call('ZREM', INDEX, unpack(S.zr, 1, S.rn)) end
    if S.zn > 0 then call('ZADD', INDEX, unpack(S.za, 1, S.zn)) end
    S.hs[2] = '1 ' .. S.epoch .. ' ' .. S.int(S.version) .. ' ' .. S.clock .. ' ' .. S.int(S.due) .. ' '
        .. table.concat(S.count, ' ')
    call('HSET', HASH, unpack(S.hs, 1, S.hn))
    if S.dn > 0 then call('HDEL', HASH, unpack(S.hd, 1, S.dn)) end
    S.hn, S.dn, S.zn, S.rn = 2, 0, 0, 0
    S.got[3] = nil -- what was read beforehand may have changed
end

-- The first (or with @back the last) member of the list @prefix behind @after; nil: none.
function S.walk(prefix, after, back)
    if back then
        return call('ZREVRANGEBYLEX', INDEX, '(' .. prefix .. '\255', '[' .. prefix, 'LIMIT', '0', '1')[1]
    end
    return call('ZRANGEBYLEX', INDEX, after and '(' .. after or '[' .. prefix,
        '(' .. prefix .. '\255', 'LIMIT', '0', '1')[1]
end
