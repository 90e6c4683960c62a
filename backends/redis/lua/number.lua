-- SPDX-License-Identifier: MIT
--
-- The verbs of a number pool: the same steps as src/steps/number.c, in its order.
--
-- Fields:  n:NUMBER  state token until order rank calls day used lease <tab> owner <tab> group
--          g:GROUP   total busy+up resting
--          s:PEER    order until <tab> number
-- Lists:   n id                     all numbers
--          i rank order, d until order, h order      idle, due, held; with capital letters
--          the same again after GROUP <tab> (I, D) or OWNER <tab> (H)
--          s, r                     memory of peers and of request ids
local RESTING_, STICKIES, REQUESTS, CALLS, CALLS_DAY, REFUSED, REFUSED_DAY = 5, 6, 7, 8, 9, 10, 11
local EXPIRE_MAX, STEP_MAX, LIST_MAX, DAY_MS = 64, 1000, 10000, 86400000

S.set_order, S.set_lease, S.set_rest, S.set_daily, S.set_zone, S.set_strict, S.sticky_ms, S.sticky_max,
    S.requests = 0, 0, 0, 0, 0, 0, 604800000, 10000, 10000
local settings = S.got[2]
if settings then
    local a, b, c, d, e, f, g, h, i = match(settings,
        '^(%d+) (%d+) (%d+) (%d+) (%-?%d+) (%d+) (%d+) (%d+) (%d+)$')
    if not a then return {'invalid', 'the pool has settings that this library does not know'} end
    S.set_order, S.set_lease, S.set_rest, S.set_daily, S.set_zone, S.set_strict, S.sticky_ms, S.sticky_max,
        S.requests = tonumber(a), tonumber(b), tonumber(c), tonumber(d), tonumber(e),
        tonumber(f), tonumber(g), tonumber(h), tonumber(i)
end

function S.day_of(at) return math.floor((at + S.set_zone * 60000) / DAY_MS) end
function S.day_end(at) return (S.day_of(at) + 1) * DAY_MS - S.set_zone * 60000 end

-- the answer; @why '-': no such question
S.status, S.state, S.why, S.token, S.ends, S.next_at, S.counted, S.more, S.number = 'ok', 0, '-', '0', '0',
    -1, 0, 0, ''

function S.word(code) return match(sub(STATES, code * 10 + 1, code * 10 + 10), '^%S+') end
function S.status_word(code)
    return match(sub(STATUSES, code * 12 + 1, code * 12 + 12), '^%S+')
end

-- what @event does to a number in @from: new state, status word
function S.move(from, event, claim)
    local i = ((from * EVENTS + event) * CLAIMS + claim) * 2 + 1
    return byte(MOVES, i) - 48, S.status_word(byte(MOVES, i + 1) - 65)
end

function S.decode(id, text)
    local state, token, ends, order, rank, calls, day, used, lease, owner, group =
        match(text, '^(%S+) (%d+) (%d+) (%d+) (%d+) (%d+) (%-?%d+) (%d+) (%d+)\t([^\t]*)\t(.*)$')
    return {id = id, state = (find(STATES, state, 1, true) - 1) / 10, token = token, ends = ends,
        order = order, rank = rank, calls = calls, day = day, used = used, lease = lease,
        owner = owner, group = group}
end

function S.encode(r)
    return S.word(r.state) .. ' ' .. r.token .. ' ' .. r.ends .. ' ' .. r.order .. ' ' .. r.rank
        .. ' ' .. r.calls .. ' ' .. r.day .. ' ' .. r.used .. ' ' .. r.lease .. '\t' .. r.owner
        .. '\t' .. r.group
end

function S.find_number(id)
    local text
    if id == S.subject then text = S.got[3] end
    text = text or call('HGET', HASH, 'n:' .. id)
    return text and S.decode(id, text)
end

-- The number that a member of a list stands for: @digits of it are before the id.
function S.at_member(m, prefix, digits)
    return m and S.find_number(sub(m, #prefix + digits + 2))
end

function S.busy(r) return r.state >= BUSY_DOWN end
function S.resting(r) return not S.busy(r) and r.ends ~= '0' end
function S.is_due(r) return r.ends ~= '0' and tonumber(r.ends) <= S.now end
function S.calls_on(r, at) return tonumber(r.day) == S.day_of(at) and tonumber(r.calls) or 0 end
function S.capped(r, at) return S.set_daily > 0 and S.calls_on(r, at) >= S.set_daily end

if S.set_order == 2 then
    -- 32 well mixed bits of a version: draw() in src/core/number.c
    function S.draw(v, salt)
        local function mul(a, b)
            local low, high = a % 65536, math.floor(a / 65536)
            return (high * b % 65536 * 65536 + low * b) % 4294967296
        end
        local function mix(x)
            x = bit.bxor(x, bit.rshift(x, 16)) % 4294967296
            x = mul(x, 2246822507)
            x = bit.bxor(x, bit.rshift(x, 13)) % 4294967296
            x = mul(x, 3266489909)
            return bit.bxor(x, bit.rshift(x, 16)) % 4294967296
        end
        local high = mix((math.floor(v / 4294967296) + salt + 2654435769) % 4294967296)
        return mix(bit.bxor(v % 4294967296, high) % 4294967296)
    end
end

-- Put @r into state @to: all that follows from the state follows here.
function S.settle(r, to, until_ms, v)
    local was = r.state == IDLE_UP and r.ends == '0'
    r.state, r.ends = to, S.int(until_ms)
    if to ~= IDLE_UP or until_ms ~= 0 then
        r.rank = '0'
    elseif not was then
        r.rank = S.set_order == 2 and S.int(S.draw(v, 0)) or QUEUED
        r.order = S.int(v)
    end
    if to < BUSY_DOWN then r.owner = '' end
end

function S.release(r, to, at, rest, v)
    local until_ms = rest > 0 and at + rest or 0
    if S.set_daily > 0 and tonumber(r.calls) >= S.set_daily and tonumber(r.day) == S.day_of(at) then
        until_ms = math.max(until_ms, S.day_end(at))
    end
    S.settle(r, to, until_ms, v)
end

if S.due >= 0 then
    function S.expire(r, v)
        local to = S.move(r.state, EXPIRE, NONE)
        if S.busy(r) then
            S.release(r, to, tonumber(r.ends), S.set_rest, v)
        else
            S.settle(r, to, 0, v)
        end
    end

    function S.expire_one(r)
        local before = S.copy(r)
        S.expire(r, S.version + 1)
        S.save(before, r)
        S.commit('expire', before.state, r.state, r)
    end

    -- Apply up to @max due expiries; returns how many it were and whether there are more.
    function S.expire_due(max)
        local n = 0
        while S.due >= 0 and S.due <= S.now do
            local r = S.at_member(S.walk('d'), 'd', 32)
            if not r then S.due = -1 break end
            if tonumber(r.ends) > S.now then S.due = tonumber(r.ends) break end
            if n >= max then return n, true end
            S.expire_one(r)
            n = n + 1
        end
        return n, false
    end
end

function S.copy(r)
    return {id = r.id, state = r.state, token = r.token, ends = r.ends, order = r.order,
        rank = r.rank, calls = r.calls, day = r.day, used = r.used, lease = r.lease,
        owner = r.owner, group = r.group}
end

-- the members of @r in all lists that follow from its state
function S.places(r, put)
    local order = S.padded(r.order)
    if r.state == IDLE_UP and r.ends == '0' then
        local p = format('%010.0f', r.rank) .. order .. '\t' .. r.id
        put('i' .. p)
        if r.group ~= '' then put('I' .. r.group .. '\t' .. p) end
    end
    if r.ends ~= '0' then
        local p = S.padded(r.ends) .. order .. '\t' .. r.id
        put('d' .. p)
        if r.group ~= '' then put('D' .. r.group .. '\t' .. p) end
    end
    if S.busy(r) then
        local p = order .. '\t' .. r.id
        put('h' .. p)
        if r.owner ~= '' then put('H' .. r.owner .. '\t' .. p) end
    end
end

function S.rests(r) return r.state == IDLE_UP and r.ends ~= '0' and 1 or 0 end
function S.add(i, by) if by ~= 0 then S.count[i] = S.int(S.count[i] + by) end end

-- put the move of a number from @before to @after (either nil: not in the pool) into the change
function S.save(before, after)
    local total, up, rest = 0, 0, 0
    if before then
        S.add(before.state, -1)
        total, up, rest = -1, before.state == BUSY_UP and -1 or 0, -S.rests(before)
        S.places(before, S.leave)
    end
    if after then
        S.add(after.state, 1)
        total, up, rest = total + 1, up + (after.state == BUSY_UP and 1 or 0), rest + S.rests(after)
        S.places(after, S.enter)
        S.set('n:' .. after.id, S.encode(after))
        if not before then S.enter('n' .. after.id) end
        if after.ends ~= '0' and (S.due < 0 or tonumber(after.ends) < S.due) then
            S.due = tonumber(after.ends)
        end
    else
        S.unset('n:' .. before.id)
        S.leave('n' .. before.id)
    end
    S.add(RESTING_, rest)
    local group = (after or before).group
    if group ~= '' and (total ~= 0 or up ~= 0 or rest ~= 0) then
        local t, u, s = match(call('HGET', HASH, 'g:' .. group) or '0 0 0', '^(%d+) (%d+) (%d+)$')
        if t + total == 0 then
            S.unset('g:' .. group)
        else
            S.set('g:' .. group, S.int(t + total) .. ' ' .. S.int(u + up) .. ' ' .. S.int(s + rest))
        end
    end
end

-- write the change and note it for who watches
function S.commit(verb_word, from, to, r)
    S.flush(1)
    if S.arg.watch == '1' then
        S.notices = S.notices or {}
        S.notices[#S.notices + 1] = verb_word .. ' ' .. S.int(S.version) .. ' ' .. from .. ' ' .. to .. ' '
            .. (r and r.token or '0') .. ' ' .. (r and r.ends or '0') .. ' ' .. S.int(S.now) .. '\t'
            .. (r and r.owner or '') .. '\t' .. (r and r.id or '')
    end
end

-- number @id with its own due expiries applied
function S.load(id)
    if not S.exists then return nil end
    local r = S.find_number(id)
    while r and S.is_due(r) do
        S.expire_one(r)
        r = S.find_number(id)
    end
    return r
end

function S.answer(word_, r)
    S.status, S.state, S.token, S.ends, S.number = word_, r.state, r.token, r.ends, r.id
end

function S.answer_nodata(word_)
    S.status, S.state, S.token, S.ends, S.number = word_, NODATA, '0', '0', S.subject
end

-- What follows is made only where it can be needed: to make a function is dear.

if S.arg.req or S.arg.sticky or S.verb == 'set' then
    -- Save @rest as the newest of a bounded memory (fields @field:ID, list @letter in order of
    -- version): at most two of the oldest go when there are more than @limit of them or their
    -- time is over.  @old: what is there now or nil; @v: the version that the change will have.
    function S.remember(letter, field, id, old, v, till, rest, i, limit)
        local n, after, erased = tonumber(S.count[i]), nil, 0
        local mine = old and letter .. S.padded(match(old, '^%d+')) .. '\t' .. id
        if not old then n = n + 1 end
        while erased < 2 do
            local m = S.walk(letter, after)
            if not m then break end
            after = m
            if m ~= mine then
                local other = field .. sub(m, 19)
                if n <= limit and tonumber(match(call('HGET', HASH, other), '^%d+ (%d+)')) > S.now then
                    break
                end
                S.leave(m)
                S.unset(other)
                n, erased = n - 1, erased + 1
            end
        end
        if mine then S.leave(mine) end
        S.enter(letter .. S.padded(v) .. '\t' .. id)
        S.set(field .. id, S.int(v) .. ' ' .. S.int(till) .. '\t' .. rest)
        S.count[i] = S.int(n)
    end

    function S.settings_text()
        return S.int(S.set_order) .. ' ' .. S.int(S.set_lease) .. ' ' .. S.int(S.set_rest) .. ' '
            .. S.int(S.set_daily) .. ' ' .. S.int(S.set_zone) .. ' ' .. S.int(S.set_strict) .. ' '
            .. S.int(S.sticky_ms) .. ' ' .. S.int(S.sticky_max) .. ' ' .. S.int(S.requests)
    end

    -- what a repeat of this command's request id will be told, put into the change; the text is
    -- that of usher__number_reply_write()
    function S.keep_request(v)
        if not S.arg.req then return end
        local why_code = S.why == '-' and 255 or (find(WHYS, S.why, 1, true) - 1) / 8
        local text = match(VERBS, ' ' .. S.verb .. '=(%d+)') .. ' '
            .. S.int((find(STATUSES, S.status .. ' ', 1, true) - 1) / 12) .. ' ' .. S.int(v) .. ' '
            .. S.int(S.state) .. ' ' .. S.int(why_code) .. ' ' .. S.token .. ' ' .. S.ends .. ' '
            .. S.int(S.next_at) .. ' ' .. S.int(S.counted) .. ' ' .. S.more .. ' '
            .. (S.verb == 'set' and S.settings_text() or S.number)
        S.remember('r', 'r:', S.arg.req, S.exists and call('HGET', HASH, 'r:' .. S.arg.req), v,
            S.now + REQUEST_MS, text, REQUESTS, S.requests)
    end
end

function S.finish(before, after, to)
    S.save(before, after)
    if S.arg.req then S.keep_request(S.version + 1) end
    S.commit(S.verb, before and before.state or NODATA, to, after or before)
end

if S.verb == 'add' or S.verb == 'del' or S.verb == 'reg' or S.verb == 'unreg' then
    -- add, del, reg, unreg
    function S.simple(event)
        local r = S.load(S.subject)
        local before = r and S.copy(r)
        if not r then
            r = {id = S.subject, state = NODATA, token = '0', ends = '0', order = '0', rank = '0',
                calls = '0', day = '0', used = '0', lease = '0', owner = '', group = S.arg.group or ''}
        end
        local to, what = S.move(r.state, event, NONE)
        if what ~= 'ok' then return S.answer(what, r) end
        if to == NODATA then
            S.answer_nodata('ok')
            return S.finish(before, nil, to)
        end
        S.settle(r, to, tonumber(r.ends), S.version + 1)
        if not before then r.order = S.int(S.version + 1) end
        S.answer('ok', r)
        S.finish(before, r, to)
    end
end

if S.verb == 'call' then
    -- a call that gets nothing is counted: no change, no version
    function S.count_refusal()
        if not S.exists then return end
        local today = S.int(S.day_of(S.now))
        if S.count[REFUSED_DAY] ~= today then S.count[REFUSED_DAY], S.count[REFUSED] = today, '0' end
        S.add(REFUSED, 1)
        S.flush(0)
    end

    -- when @r may be free; 0: not known
    function S.free_at(r)
        if r.ends == '0' or (r.state ~= BUSY_UP and r.state ~= IDLE_UP) then return 0 end
        local at = tonumber(r.ends)
        if r.state == BUSY_UP then
            local later = S.copy(r)
            S.expire(later, 0)
            if later.ends ~= '0' then at = tonumber(later.ends) end
        end
        return at
    end

    function S.next_free(prefix, best)
        local after
        for _ = 1, EXPIRE_MAX do
            local m = S.walk(prefix, after)
            local r = S.at_member(m, prefix, 32)
            if not r or (best >= 0 and tonumber(r.ends) >= best) then break end
            local at = S.free_at(r)
            if at > 0 and (best < 0 or at < best) then best = at end
            after = m
        end
        return best
    end

    -- nothing is free in the groups asked for: why, and until when
    function S.exhausted()
        local total, up, rest = 0, 0, 0
        local all = not S.arg.group or find(',' .. S.arg.group .. ',', ',*,', 1, true)
        if S.exists and all then
            total = S.count[1] + S.count[2] + S.count[3] + S.count[4]
            up, rest = tonumber(S.count[BUSY_UP]), tonumber(S.count[RESTING_])
            S.next_at = S.next_free('d', -1)
        elseif S.exists then
            for group in string.gmatch(S.arg.group, '[^,]+') do
                local t, u, s = match(call('HGET', HASH, 'g:' .. group) or '', '^(%d+) (%d+) (%d+)$')
                if t then
                    total, up, rest = total + t, up + u, rest + s
                    S.next_at = S.next_free('D' .. group .. '\t', S.next_at)
                end
            end
        end
        S.count_refusal()
        S.status = 'empty'
        S.why = total == 0 and 'none' or up > 0 and 'busy' or rest > 0 and 'resting' or 'down'
    end

    function S.turned_down(r)
        local at = S.free_at(r)
        S.answer('refused', r)
        S.token = '0'
        S.why = S.busy(r) and 'busy' or r.state == IDLE_DOWN and 'down' or 'resting'
        S.next_at = at > 0 and at or -1
        S.count_refusal()
    end

    -- give @r, which is free, to this call
    function S.take(r)
        local before, v, today = S.copy(r), S.version + 1, S.day_of(S.now)
        local lease = S.arg.lease and tonumber(S.arg.lease) or S.set_lease
        r.calls = S.int(S.calls_on(r, S.now) + 1)
        S.settle(r, S.move(r.state, CALL, NONE), lease > 0 and S.now + lease or 0, v)
        r.token, r.order = S.int(v), S.int(v)
        r.day, r.used, r.lease, r.owner = S.int(today), S.int(S.now), S.int(lease), S.arg.owner or ''
        if S.count[CALLS_DAY] ~= r.day then S.count[CALLS_DAY], S.count[CALLS] = r.day, '0' end
        S.add(CALLS, 1)
        S.answer('ok', r)
        if S.arg.sticky and S.sticky_ms > 0 and S.sticky_max > 0 then
            S.remember('s', 's:', S.arg.sticky, call('HGET', HASH, 's:' .. S.arg.sticky), v,
                S.now + S.sticky_ms, r.id, STICKIES, S.sticky_max)
        end
        S.finish(before, r, r.state)
    end

    -- it has had its calls of the day: it rests until tomorrow, a change of its own
    function S.rest_today(r)
        local before = S.copy(r)
        S.settle(r, S.move(r.state, REST, NONE), S.day_end(S.now), S.version + 1)
        S.save(before, r)
        S.commit('rest', before.state, r.state, r)
    end

    -- a fair draw among the numbers of the list @prefix: see draw() in src/steps/number.c
    function S.draw_from(prefix)
        local v = S.version + 1
        local left = S.draw(v, 2097152) % DRAW_STEPS
        local from, turned = '(' .. prefix .. format('%010.0f', S.draw(v, 0)), false
        while true do
            local got_ = call('ZRANGEBYLEX', INDEX, from, '(' .. prefix .. '\255', 'LIMIT', '0', S.int(left + 1))
            local n = #got_
            if n > left then return got_[left + 1] end
            if n == 0 and turned then return nil end
            left, from, turned = left - n, '[' .. prefix, true
        end
    end

    -- the number that the pool's order puts first in the list @prefix; numbers that became idle
    -- under another kind of order go before all others
    function S.head(prefix)
        if S.set_order == 2 then
            return S.at_member(S.walk(prefix, prefix .. QUEUED) or S.draw_from(prefix), prefix, 26)
        end
        local m = S.walk(prefix)
        if m and S.set_order == 1 and sub(m, #prefix + 1, #prefix + 10) == QUEUED then
            m = S.walk(prefix, nil, true)
        end
        return S.at_member(m, prefix, 26)
    end

    -- give the first number of @group (nil: any) to this call; false: there is none
    function S.take_first(group)
        local prefix = group and 'I' .. group .. '\t' or 'i'
        for _ = 1, EXPIRE_MAX do
            local r = S.head(prefix)
            if not r then return false end
            if not S.capped(r, S.now) then
                S.take(r)
                return true
            end
            S.rest_today(r)
        end
        return false
    end

    -- give the number last used for this call's peer; false: not known, or not free
    function S.take_sticky()
        local text = S.arg.sticky and call('HGET', HASH, 's:' .. S.arg.sticky)
        if not text then return false end
        local ends_, id = match(text, '^%d+ (%d+)\t(.*)$')
        if tonumber(ends_) <= S.now then return false end
        local r = S.load(id)
        if not r or r.state ~= IDLE_UP or r.ends ~= '0' or S.capped(r, S.now) then return false end
        if S.arg.group then
            local list = ',' .. S.arg.group .. ','
            if not find(list, ',*,', 1, true) and
                (r.group == '' or not find(list, ',' .. r.group .. ',', 1, true)) then
                return false
            end
        end
        S.take(r)
        return true
    end

    -- the oldest hold of this call's owner
    function S.held()
        local prefix = 'H' .. S.arg.owner .. '\t'
        local r = S.at_member(S.walk(prefix), prefix, 16)
        while r and S.is_due(r) do
            S.expire_one(r)
            r = S.at_member(S.walk(prefix), prefix, 16)
        end
        return r
    end

    function S.call_this()
        local r = S.load(S.subject)
        if not r then return S.answer_nodata('missing') end
        if r.state == IDLE_UP and r.ends == '0' and S.capped(r, S.now) then
            S.rest_today(r)
            r = S.load(S.subject)
        end
        local claim = NONE
        if S.resting(r) then
            claim = RESTING
        elseif S.arg.owner then
            claim = S.busy(r) and S.arg.owner == r.owner and HOLDER or OTHER
        end
        local _, what = S.move(r.state, CALL, claim)
        if what == 'ok' then return S.take(r) end
        if what == 'refused' then return S.turned_down(r) end
        S.answer(what, r)
    end

    function S.call_any()
        if not S.exists then return S.exhausted() end
        local r = S.arg.owner and S.held()
        if r then return S.answer('same', r) end
        if S.take_sticky() then return end
        if not S.arg.group then
            if S.take_first() then return end
        else
            for group in string.gmatch(S.arg.group, '[^,]+') do
                if S.take_first(group ~= '*' and group or nil) then return end
            end
        end
        S.exhausted()
    end
end

if S.verb == 'free' or S.verb == 'sweep' then
    -- commands that make several changes
    function S.several(n, more_)
        S.status = n > 0 and 'ok' or 'same'
        S.counted, S.more = n, more_ and 1 or 0
        if n > 0 and S.arg.req then
            S.keep_request(S.version)
            S.flush(0)
        end
    end

    function S.free_one(r, told)
        local before = S.copy(r)
        S.release(r, S.move(r.state, FREE, NONE), S.now, S.set_rest, S.version + 1)
        if told then S.answer('ok', r) end
        S.save(before, r)
        S.commit('free', before.state, r.state, r)
    end
end

if S.verb == 'show' or S.verb == 'list' or S.verb == 'stats' then
    -- as it is once everything due has happened; nothing is written
    function S.look(r)
        while S.is_due(r) do S.expire(r, 0) end
        return r
    end

    function S.add_row(r)
        S.rows = S.rows or {}
        S.rows[#S.rows + 1] = S.word(r.state) .. ' ' .. r.token .. ' ' .. r.ends .. ' '
            .. S.int(S.calls_on(r, S.now)) .. ' ' .. r.used .. '\t' .. r.group .. '\t' .. r.owner .. '\t'
            .. r.id
    end
end

-- a repeat of a request id gets the first answer
local kept = S.arg.req and S.got[4]
S.repeated = 0

local reads = S.verb == 'show' or S.verb == 'list' or S.verb == 'stats' or S.verb == 'dump'
if kept and not reads then
    local ends_, text = match(kept, '^%d+ (%d+)\t(.*)$')
    if tonumber(ends_) > S.now then
        local c, st, v, s, w, t, e, nx, k, m, rest = match(text,
            '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%-?%d+) (%-?%d+) (%d+) (%d+) (.*)$')
        if match(VERBS, ' ' .. S.verb .. '=(%d+)') ~= c then
            return {'invalid', 'request id was used for `' .. match(VERBS, ' (%l+)=' .. c) .. '`'}
        end
        local code = tonumber(w)
        return S.status_word(tonumber(st)) .. ' ' .. S.epoch .. ' ' .. v .. ' ' .. S.word(tonumber(s))
            .. ' ' .. (code == 255 and '-' or match(sub(WHYS, code * 8 + 1, code * 8 + 8), '^%S+'))
            .. ' ' .. t .. ' ' .. e .. ' ' .. nx .. ' ' .. k .. ' ' .. m .. ' 1 ' .. rest
    end
end

if not reads and S.verb ~= 'sweep' and S.due >= 0 and S.due <= S.now then S.expire_due(EXPIRE_MAX) end

if S.verb == 'call' then
    if S.arg.group and S.subject ~= '' then
        return {'invalid', 'number and group exclude each other'}
    end
    if S.subject ~= '' then S.call_this() else S.call_any() end
elseif S.verb == 'list' then
    local prefix = S.arg.owner and 'H' .. S.arg.owner .. '\t' or 'n'
    local after = S.arg.after and 'n' .. S.arg.after
    local max = tonumber(S.arg.max or '100')
    if not S.exists then
        S.status = 'missing'
    else
        local looked, n = 0, 0
        while true do
            local m = S.walk(prefix, after)
            if not m then S.number = '' break end
            if n == max or looked == LIST_MAX then S.more = 1 break end
            after, looked = m, looked + 1
            local r = S.arg.owner and S.at_member(m, prefix, 16) or S.find_number(sub(m, 2))
            S.number = r.id
            S.look(r)
            if (not S.arg.state or r.state == tonumber(S.arg.state)) and (not S.arg.owner or S.busy(r)) then
                S.add_row(r)
                n = n + 1
            end
        end
    end
elseif S.verb == 'stats' then
    if not S.exists then
        S.status = 'missing'
    else
        local c, after, longest = {}, nil, 0
        for i = 1, 5 do c[i] = tonumber(S.count[i]) end
        while true do
            local m = S.walk('d', after)
            local r = S.at_member(m, 'd', 32)
            if not r or not S.is_due(r) then break end
            after = m
            c[r.state], c[5] = c[r.state] - 1, c[5] - S.rests(r)
            S.look(r)
            c[r.state], c[5] = c[r.state] + 1, c[5] + S.rests(r)
        end
        after = nil
        while true do
            local m = S.walk('h', after)
            local r = S.at_member(m, 'h', 16)
            if not r then break end
            after = m
            if not S.is_due(r) then longest = S.now - r.used break end
        end
        local today = S.int(S.day_of(S.now))
        S.final = S.int(c[1] + c[2] + c[3] + c[4]) .. ' ' .. S.int(c[2]) .. ' ' .. S.int(c[1]) .. ' '
            .. S.int(c[4]) .. ' ' .. S.int(c[3]) .. ' ' .. S.int(c[5]) .. ' '
            .. (S.count[CALLS_DAY] == today and S.count[CALLS] or '0') .. ' '
            .. (S.count[REFUSED_DAY] == today and S.count[REFUSED] or '0') .. ' ' .. S.int(longest)
    end
elseif S.verb == 'set' then
    local function given(key, value)
        if not S.arg[key] then return value, false end
        return tonumber(S.arg[key]), true
    end
    local was, any, one = S.settings_text(), false, nil
    S.set_order, one = given('order', S.set_order) any = any or one
    S.set_lease, one = given('lease', S.set_lease) any = any or one
    S.set_rest, one = given('rest', S.set_rest) any = any or one
    S.set_daily, one = given('daily', S.set_daily) any = any or one
    S.set_zone, one = given('zone', S.set_zone) any = any or one
    S.set_strict, one = given('strict', S.set_strict) any = any or one
    S.sticky_ms, one = given('sticky-ms', S.sticky_ms) any = any or one
    S.sticky_max, one = given('sticky-max', S.sticky_max) any = any or one
    S.requests, one = given('requests', S.requests) any = any or one
    S.final = S.settings_text()
    if S.set_order > 2 or S.set_strict > 1 or S.requests < 1 or math.abs(S.set_zone) > 1440 then
        return {'invalid', 'a setting is out of range'}
    end
    if not any then
        S.status = S.exists and 'ok' or 'missing'
    elseif S.exists and S.final == was then
        S.status = 'same'
    else
        S.set('settings', S.final)
        if S.arg.req then S.keep_request(S.version + 1) end
        S.commit('set', 0, 0, nil)
    end
elseif S.verb == 'sweep' then
    if not S.exists then
        S.status = 'missing'
    else
        if S.due >= 0 then
            S.several(S.expire_due(tonumber(S.arg.max or STEP_MAX)))
        else
            S.several(0, false)
        end
    end
elseif S.verb == 'dump' then
    -- for the audit and the digest: everything, as one moment
    return {S.exists or '', settings or '', call('HGETALL', HASH),
        call('ZRANGE', INDEX, 0, -1)}
elseif S.verb == 'free' then
    if S.subject ~= '' then
        local r = S.load(S.subject)
        if not r then
            S.answer_nodata('missing')
        elseif S.busy(r) and (not S.arg.owner or S.arg.owner == r.owner) then
            S.free_one(r, true)
            S.several(1, false)
        else
            S.answer('same', r)
            S.several(0, false)
        end
    elseif not S.exists then
        S.status = 'missing'
    else
        local prefix = S.arg.owner and 'H' .. S.arg.owner .. '\t' or 'h'
        local n, more_ = 0, false
        while true do
            local r = S.at_member(S.walk(prefix), prefix, 16)
            if not r then break end
            if n == STEP_MAX then more_ = true break end
            S.free_one(r)
            n = n + 1
        end
        S.several(n, more_)
    end
elseif S.subject == '' then
    return {'invalid', 'number is missing, or the verb is not known'}
elseif S.verb == 'hangup' then
    local r = S.load(S.subject)
    if not r then
        S.answer_nodata('missing')
    else
        local claim = NONE
        if S.arg.token then
            claim = S.arg.token == r.token and HOLDER or OTHER
        elseif S.set_strict ~= 0 then
            claim = STRICT
        end
        local to, what = S.move(r.state, HANGUP, claim)
        if what ~= 'ok' then
            S.answer(what, r)
        else
            local before = S.copy(r)
            S.release(r, to, S.now, S.arg.rest and tonumber(S.arg.rest) or S.set_rest, S.version + 1)
            S.answer('ok', r)
            S.finish(before, r, to)
        end
    end
elseif S.verb == 'renew' then
    if not S.arg.token then return {'invalid', 'token is missing'} end
    local r = S.load(S.subject)
    if not r then
        S.answer_nodata('missing')
    else
        local to, what = S.move(r.state, RENEW, S.arg.token == r.token and HOLDER or OTHER)
        if what == 'ok' then
            local before = S.copy(r)
            if S.arg.lease then r.lease = S.int(S.arg.lease) end
            local lease = tonumber(r.lease)
            S.settle(r, to, lease > 0 and S.now + lease or 0, S.version + 1)
            if r.ends == before.ends and r.lease == before.lease then
                S.answer('same', r)
            else
                S.answer('ok', r)
                S.finish(before, r, to)
            end
        else
            S.answer(what, r)
        end
    end
elseif S.verb == 'show' then
    local r = S.exists and S.find_number(S.subject)
    if not r then
        S.answer_nodata('missing')
    else
        S.answer('ok', S.look(r))
        S.add_row(r)
    end
elseif S.verb == 'add' then
    S.simple(ADD)
elseif S.verb == 'del' then
    S.simple(DEL)
elseif S.verb == 'reg' then
    S.simple(REG)
elseif S.verb == 'unreg' then
    S.simple(UNREG)
else
    return {'invalid', 'the verb is not known'}
end

local reply = S.status .. ' ' .. S.epoch .. ' ' .. S.int(S.version) .. ' ' .. S.word(S.state) .. ' ' .. S.why
    .. ' ' .. S.token .. ' ' .. S.ends .. ' ' .. S.int(S.next_at) .. ' ' .. S.int(S.counted) .. ' ' .. S.more
    .. ' ' .. S.repeated .. ' ' .. (S.final or S.number)
local list = S.rows or S.notices
if list then
    table.insert(list, 1, reply)
    return list
end
return reply
