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

local set_order, set_lease, set_rest, set_daily, set_zone, set_strict, sticky_ms, sticky_max,
    requests = 0, 0, 0, 0, 0, 0, 604800000, 10000, 10000
local settings = got[2]
if settings then
    local a, b, c, d, e, f, g, h, i = match(settings,
        '^(%d+) (%d+) (%d+) (%d+) (%-?%d+) (%d+) (%d+) (%d+) (%d+)$')
    if not a then return {'invalid', 'the pool has settings that this library does not know'} end
    set_order, set_lease, set_rest, set_daily, set_zone, set_strict, sticky_ms, sticky_max,
        requests = tonumber(a), tonumber(b), tonumber(c), tonumber(d), tonumber(e),
        tonumber(f), tonumber(g), tonumber(h), tonumber(i)
end

local function day_of(at) return math.floor((at + set_zone * 60000) / DAY_MS) end
local function day_end(at) return (day_of(at) + 1) * DAY_MS - set_zone * 60000 end

-- the answer; @why '-': no such question
local status, state, why, token, ends, next_at, counted, more, number = 'ok', 0, '-', '0', '0',
    -1, 0, 0, ''
local rows

local function word(code) return match(sub(STATES, code * 10 + 1, code * 10 + 10), '^%S+') end
local function status_word(code)
    return match(sub(STATUSES, code * 12 + 1, code * 12 + 12), '^%S+')
end

-- what @event does to a number in @from: new state, status word
local function move(from, event, claim)
    local i = ((from * EVENTS + event) * CLAIMS + claim) * 2 + 1
    return byte(MOVES, i) - 48, status_word(byte(MOVES, i + 1) - 65)
end

local function decode(id, text)
    local r = {id = id}
    local w
    w, r.token, r.ends, r.order, r.rank, r.calls, r.day, r.used, r.lease, r.owner, r.group =
        match(text, '^(%S+) (%d+) (%d+) (%d+) (%d+) (%d+) (%-?%d+) (%d+) (%d+)\t([^\t]*)\t(.*)$')
    r.state = (find(STATES, w, 1, true) - 1) / 10
    return r
end

local function encode(r)
    return word(r.state) .. ' ' .. r.token .. ' ' .. r.ends .. ' ' .. r.order .. ' ' .. r.rank
        .. ' ' .. r.calls .. ' ' .. r.day .. ' ' .. r.used .. ' ' .. r.lease .. '\t' .. r.owner
        .. '\t' .. r.group
end

local function find_number(id)
    local text
    if id == subject then text = got[3] end
    text = text or call('HGET', HASH, 'n:' .. id)
    return text and decode(id, text)
end

-- The number that a member of a list stands for: @digits of it are before the id.
local function at_member(m, prefix, digits)
    return m and find_number(sub(m, #prefix + digits + 2))
end

local function busy(r) return r.state >= BUSY_DOWN end
local function resting(r) return not busy(r) and r.ends ~= '0' end
local function is_due(r) return r.ends ~= '0' and tonumber(r.ends) <= now end
local function calls_on(r, at) return tonumber(r.day) == day_of(at) and tonumber(r.calls) or 0 end
local function capped(r, at) return set_daily > 0 and calls_on(r, at) >= set_daily end

-- 32 well mixed bits of a version: draw() in src/core/number.c
local function draw(v, salt)
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

-- Put @r into state @to: all that follows from the state follows here.
local function settle(r, to, until_ms, v)
    local was = r.state == IDLE_UP and r.ends == '0'
    r.state, r.ends = to, int(until_ms)
    if to ~= IDLE_UP or until_ms ~= 0 then
        r.rank = '0'
    elseif not was then
        r.rank = set_order == 2 and int(draw(v, 0)) or QUEUED
        r.order = int(v)
    end
    if to < BUSY_DOWN then r.owner = '' end
end

local function release(r, to, at, rest, v)
    local until_ms = rest > 0 and at + rest or 0
    if set_daily > 0 and tonumber(r.calls) >= set_daily and tonumber(r.day) == day_of(at) then
        until_ms = math.max(until_ms, day_end(at))
    end
    settle(r, to, until_ms, v)
end

local function expire(r, v)
    local to = move(r.state, EXPIRE, NONE)
    if busy(r) then
        release(r, to, tonumber(r.ends), set_rest, v)
    else
        settle(r, to, 0, v)
    end
end

local function copy(r)
    return {id = r.id, state = r.state, token = r.token, ends = r.ends, order = r.order,
        rank = r.rank, calls = r.calls, day = r.day, used = r.used, lease = r.lease,
        owner = r.owner, group = r.group}
end

-- the members of @r in all lists that follow from its state
local function places(r, put)
    local order = padded(r.order)
    if r.state == IDLE_UP and r.ends == '0' then
        local p = format('%010.0f', r.rank) .. order .. '\t' .. r.id
        put('i' .. p)
        if r.group ~= '' then put('I' .. r.group .. '\t' .. p) end
    end
    if r.ends ~= '0' then
        local p = padded(r.ends) .. order .. '\t' .. r.id
        put('d' .. p)
        if r.group ~= '' then put('D' .. r.group .. '\t' .. p) end
    end
    if busy(r) then
        local p = order .. '\t' .. r.id
        put('h' .. p)
        if r.owner ~= '' then put('H' .. r.owner .. '\t' .. p) end
    end
end

local function rests(r) return r.state == IDLE_UP and r.ends ~= '0' and 1 or 0 end
local function add(i, by) if by ~= 0 then count[i] = int(count[i] + by) end end

-- put the move of a number from @before to @after (either nil: not in the pool) into the change
local function save(before, after)
    local total, up, rest = 0, 0, 0
    if before then
        add(before.state, -1)
        total, up, rest = -1, before.state == BUSY_UP and -1 or 0, -rests(before)
        places(before, leave)
    end
    if after then
        add(after.state, 1)
        total, up, rest = total + 1, up + (after.state == BUSY_UP and 1 or 0), rest + rests(after)
        places(after, enter)
        set('n:' .. after.id, encode(after))
        if not before then enter('n' .. after.id) end
        if after.ends ~= '0' and (due < 0 or tonumber(after.ends) < due) then
            due = tonumber(after.ends)
        end
    else
        unset('n:' .. before.id)
        leave('n' .. before.id)
    end
    add(RESTING_, rest)
    local group = (after or before).group
    if group ~= '' and (total ~= 0 or up ~= 0 or rest ~= 0) then
        local t, u, s = match(call('HGET', HASH, 'g:' .. group) or '0 0 0', '^(%d+) (%d+) (%d+)$')
        if t + total == 0 then
            unset('g:' .. group)
        else
            set('g:' .. group, int(t + total) .. ' ' .. int(u + up) .. ' ' .. int(s + rest))
        end
    end
end

-- write the change and note it for who watches
local function commit(verb_word, from, to, r)
    flush(1)
    if arg.watch == '1' then
        notices = notices or {}
        notices[#notices + 1] = verb_word .. ' ' .. int(version) .. ' ' .. from .. ' ' .. to .. ' '
            .. (r and r.token or '0') .. ' ' .. (r and r.ends or '0') .. ' ' .. int(now) .. '\t'
            .. (r and r.owner or '') .. '\t' .. (r and r.id or '')
    end
end

local function expire_one(r)
    local before = copy(r)
    expire(r, version + 1)
    save(before, r)
    commit('expire', before.state, r.state, r)
end

-- Apply up to @max due expiries; returns how many it were and whether there are more.
local function expire_due(max)
    local n = 0
    while due >= 0 and due <= now do
        local r = at_member(walk('d'), 'd', 32)
        if not r then due = -1 break end
        if tonumber(r.ends) > now then due = tonumber(r.ends) break end
        if n >= max then return n, true end
        expire_one(r)
        n = n + 1
    end
    return n, false
end

-- number @id with its own due expiries applied
local function load(id)
    if not exists then return nil end
    local r = find_number(id)
    while r and is_due(r) do
        expire_one(r)
        r = find_number(id)
    end
    return r
end

local function answer(word_, r)
    status, state, token, ends, number = word_, r.state, r.token, r.ends, r.id
end

local function answer_nodata(word_)
    status, state, token, ends, number = word_, NODATA, '0', '0', subject
end

local function settings_text()
    return int(set_order) .. ' ' .. int(set_lease) .. ' ' .. int(set_rest) .. ' '
        .. int(set_daily) .. ' ' .. int(set_zone) .. ' ' .. int(set_strict) .. ' '
        .. int(sticky_ms) .. ' ' .. int(sticky_max) .. ' ' .. int(requests)
end

-- what a repeat of this command's request id will be told, put into the change; the text is
-- that of usher__number_reply_write()
local function keep_request(v)
    if not arg.req then return end
    local why_code = why == '-' and 255 or (find(WHYS, why, 1, true) - 1) / 8
    local text = match(VERBS, ' ' .. verb .. '=(%d+)') .. ' '
        .. int((find(STATUSES, status .. ' ', 1, true) - 1) / 12) .. ' ' .. int(v) .. ' '
        .. int(state) .. ' ' .. int(why_code) .. ' ' .. token .. ' ' .. ends .. ' '
        .. int(next_at) .. ' ' .. int(counted) .. ' ' .. more .. ' '
        .. (verb == 'set' and settings_text() or number)
    remember('r', 'r:', arg.req, exists and call('HGET', HASH, 'r:' .. arg.req), v,
        now + REQUEST_MS, text, REQUESTS, requests)
end

local function finish(before, after, to)
    save(before, after)
    keep_request(version + 1)
    commit(verb, before and before.state or NODATA, to, after or before)
end

-- add, del, reg, unreg
local function simple(event)
    local r = load(subject)
    local before = r and copy(r)
    if not r then
        r = {id = subject, state = NODATA, token = '0', ends = '0', order = '0', rank = '0',
            calls = '0', day = '0', used = '0', lease = '0', owner = '', group = arg.group or ''}
    end
    local to, what = move(r.state, event, NONE)
    if what ~= 'ok' then return answer(what, r) end
    if to == NODATA then
        answer_nodata('ok')
        return finish(before, nil, to)
    end
    settle(r, to, tonumber(r.ends), version + 1)
    if not before then r.order = int(version + 1) end
    answer('ok', r)
    finish(before, r, to)
end

-- a call that gets nothing is counted: no change, no version
local function count_refusal()
    if not exists then return end
    local today = int(day_of(now))
    if count[REFUSED_DAY] ~= today then count[REFUSED_DAY], count[REFUSED] = today, '0' end
    add(REFUSED, 1)
    flush(0)
end

-- when @r may be free; 0: not known
local function free_at(r)
    if r.ends == '0' or (r.state ~= BUSY_UP and r.state ~= IDLE_UP) then return 0 end
    local at = tonumber(r.ends)
    if r.state == BUSY_UP then
        local later = copy(r)
        expire(later, 0)
        if later.ends ~= '0' then at = tonumber(later.ends) end
    end
    return at
end

local function next_free(prefix, best)
    local after
    for _ = 1, EXPIRE_MAX do
        local m = walk(prefix, after)
        local r = at_member(m, prefix, 32)
        if not r or (best >= 0 and tonumber(r.ends) >= best) then break end
        local at = free_at(r)
        if at > 0 and (best < 0 or at < best) then best = at end
        after = m
    end
    return best
end

-- nothing is free in the groups asked for: why, and until when
local function exhausted()
    local total, up, rest = 0, 0, 0
    local all = not arg.group or find(',' .. arg.group .. ',', ',*,', 1, true)
    if exists and all then
        total = count[1] + count[2] + count[3] + count[4]
        up, rest = tonumber(count[BUSY_UP]), tonumber(count[RESTING_])
        next_at = next_free('d', -1)
    elseif exists then
        for group in string.gmatch(arg.group, '[^,]+') do
            local t, u, s = match(call('HGET', HASH, 'g:' .. group) or '', '^(%d+) (%d+) (%d+)$')
            if t then
                total, up, rest = total + t, up + u, rest + s
                next_at = next_free('D' .. group .. '\t', next_at)
            end
        end
    end
    count_refusal()
    status = 'empty'
    why = total == 0 and 'none' or up > 0 and 'busy' or rest > 0 and 'resting' or 'down'
end

local function turned_down(r)
    local at = free_at(r)
    answer('refused', r)
    token = '0'
    why = busy(r) and 'busy' or r.state == IDLE_DOWN and 'down' or 'resting'
    next_at = at > 0 and at or -1
    count_refusal()
end

-- give @r, which is free, to this call
local function take(r)
    local before, v, today = copy(r), version + 1, day_of(now)
    local lease = arg.lease and tonumber(arg.lease) or set_lease
    r.calls = int(calls_on(r, now) + 1)
    settle(r, move(r.state, CALL, NONE), lease > 0 and now + lease or 0, v)
    r.token, r.order = int(v), int(v)
    r.day, r.used, r.lease, r.owner = int(today), int(now), int(lease), arg.owner or ''
    if count[CALLS_DAY] ~= r.day then count[CALLS_DAY], count[CALLS] = r.day, '0' end
    add(CALLS, 1)
    answer('ok', r)
    if arg.sticky and sticky_ms > 0 and sticky_max > 0 then
        remember('s', 's:', arg.sticky, call('HGET', HASH, 's:' .. arg.sticky), v,
            now + sticky_ms, r.id, STICKIES, sticky_max)
    end
    finish(before, r, r.state)
end

-- it has had its calls of the day: it rests until tomorrow, a change of its own
local function rest_today(r)
    local before = copy(r)
    settle(r, move(r.state, REST, NONE), day_end(now), version + 1)
    save(before, r)
    commit('rest', before.state, r.state, r)
end

-- a fair draw among the numbers of the list @prefix: see draw() in src/steps/number.c
local function draw_from(prefix)
    local v = version + 1
    local left = draw(v, 2097152) % DRAW_STEPS
    local from, turned = '(' .. prefix .. format('%010.0f', draw(v, 0)), false
    while true do
        local got_ = call('ZRANGEBYLEX', INDEX, from, '(' .. prefix .. '\255', 'LIMIT', 0, left + 1)
        local n = #got_
        if n > left then return got_[left + 1] end
        if n == 0 and turned then return nil end
        left, from, turned = left - n, '[' .. prefix, true
    end
end

-- the number that the pool's order puts first in the list @prefix; numbers that became idle
-- under another kind of order go before all others
local function head(prefix)
    if set_order == 2 then
        return at_member(walk(prefix, prefix .. QUEUED) or draw_from(prefix), prefix, 26)
    end
    local m = walk(prefix)
    if m and set_order == 1 and sub(m, #prefix + 1, #prefix + 10) == QUEUED then
        m = walk(prefix, nil, true)
    end
    return at_member(m, prefix, 26)
end

-- give the first number of @group (nil: any) to this call; false: there is none
local function take_first(group)
    local prefix = group and 'I' .. group .. '\t' or 'i'
    for _ = 1, EXPIRE_MAX do
        local r = head(prefix)
        if not r then return false end
        if not capped(r, now) then
            take(r)
            return true
        end
        rest_today(r)
    end
    return false
end

-- give the number last used for this call's peer; false: not known, or not free
local function take_sticky()
    local text = arg.sticky and call('HGET', HASH, 's:' .. arg.sticky)
    if not text then return false end
    local ends_, id = match(text, '^%d+ (%d+)\t(.*)$')
    if tonumber(ends_) <= now then return false end
    local r = load(id)
    if not r or r.state ~= IDLE_UP or r.ends ~= '0' or capped(r, now) then return false end
    if arg.group then
        local list = ',' .. arg.group .. ','
        if not find(list, ',*,', 1, true) and
            (r.group == '' or not find(list, ',' .. r.group .. ',', 1, true)) then
            return false
        end
    end
    take(r)
    return true
end

-- the oldest hold of this call's owner
local function held()
    local prefix = 'H' .. arg.owner .. '\t'
    local r = at_member(walk(prefix), prefix, 16)
    while r and is_due(r) do
        expire_one(r)
        r = at_member(walk(prefix), prefix, 16)
    end
    return r
end

local function call_this()
    local r = load(subject)
    if not r then return answer_nodata('missing') end
    if r.state == IDLE_UP and r.ends == '0' and capped(r, now) then
        rest_today(r)
        r = load(subject)
    end
    local claim = NONE
    if resting(r) then
        claim = RESTING
    elseif arg.owner then
        claim = busy(r) and arg.owner == r.owner and HOLDER or OTHER
    end
    local _, what = move(r.state, CALL, claim)
    if what == 'ok' then return take(r) end
    if what == 'refused' then return turned_down(r) end
    answer(what, r)
end

local function call_any()
    if not exists then return exhausted() end
    local r = arg.owner and held()
    if r then return answer('same', r) end
    if take_sticky() then return end
    if not arg.group then
        if take_first() then return end
    else
        for group in string.gmatch(arg.group, '[^,]+') do
            if take_first(group ~= '*' and group or nil) then return end
        end
    end
    exhausted()
end

-- commands that make several changes
local function several(n, more_)
    status = n > 0 and 'ok' or 'same'
    counted, more = n, more_ and 1 or 0
    if n > 0 and arg.req then
        keep_request(version)
        flush(0)
    end
end

local function free_one(r, told)
    local before = copy(r)
    release(r, move(r.state, FREE, NONE), now, set_rest, version + 1)
    if told then answer('ok', r) end
    save(before, r)
    commit('free', before.state, r.state, r)
end

-- as it is once everything due has happened; nothing is written
local function look(r)
    while is_due(r) do expire(r, 0) end
    return r
end

local function add_row(r)
    rows = rows or {}
    rows[#rows + 1] = word(r.state) .. ' ' .. r.token .. ' ' .. r.ends .. ' '
        .. int(calls_on(r, now)) .. ' ' .. r.used .. '\t' .. r.group .. '\t' .. r.owner .. '\t'
        .. r.id
end

-- a repeat of a request id gets the first answer
local kept = arg.req and got[4]
local repeated = 0
local final
local reads = verb == 'show' or verb == 'list' or verb == 'stats' or verb == 'dump'
if kept and not reads then
    local ends_, text = match(kept, '^%d+ (%d+)\t(.*)$')
    if tonumber(ends_) > now then
        local c, st, v, s, w, t, e, nx, k, m, rest = match(text,
            '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%-?%d+) (%-?%d+) (%d+) (%d+) (.*)$')
        if match(VERBS, ' ' .. verb .. '=(%d+)') ~= c then
            return {'invalid', 'request id was used for `' .. match(VERBS, ' (%l+)=' .. c) .. '`'}
        end
        local code = tonumber(w)
        return status_word(tonumber(st)) .. ' ' .. epoch .. ' ' .. v .. ' ' .. word(tonumber(s))
            .. ' ' .. (code == 255 and '-' or match(sub(WHYS, code * 8 + 1, code * 8 + 8), '^%S+'))
            .. ' ' .. t .. ' ' .. e .. ' ' .. nx .. ' ' .. k .. ' ' .. m .. ' 1 ' .. rest
    end
end

if not reads and verb ~= 'sweep' and due >= 0 and due <= now then expire_due(EXPIRE_MAX) end

if verb == 'call' then
    if arg.group and subject ~= '' then
        return {'invalid', 'number and group exclude each other'}
    end
    if subject ~= '' then call_this() else call_any() end
elseif verb == 'list' then
    local prefix = arg.owner and 'H' .. arg.owner .. '\t' or 'n'
    local after = arg.after and 'n' .. arg.after
    local max = tonumber(arg.max or '100')
    if not exists then
        status = 'missing'
    else
        local looked, n = 0, 0
        while true do
            local m = walk(prefix, after)
            if not m then number = '' break end
            if n == max or looked == LIST_MAX then more = 1 break end
            after, looked = m, looked + 1
            local r = arg.owner and at_member(m, prefix, 16) or find_number(sub(m, 2))
            number = r.id
            look(r)
            if (not arg.state or r.state == tonumber(arg.state)) and (not arg.owner or busy(r)) then
                add_row(r)
                n = n + 1
            end
        end
    end
elseif verb == 'stats' then
    if not exists then
        status = 'missing'
    else
        local c, after, longest = {}, nil, 0
        for i = 1, 5 do c[i] = tonumber(count[i]) end
        while true do
            local m = walk('d', after)
            local r = at_member(m, 'd', 32)
            if not r or not is_due(r) then break end
            after = m
            c[r.state], c[5] = c[r.state] - 1, c[5] - rests(r)
            look(r)
            c[r.state], c[5] = c[r.state] + 1, c[5] + rests(r)
        end
        after = nil
        while true do
            local m = walk('h', after)
            local r = at_member(m, 'h', 16)
            if not r then break end
            after = m
            if not is_due(r) then longest = now - r.used break end
        end
        local today = int(day_of(now))
        final = int(c[1] + c[2] + c[3] + c[4]) .. ' ' .. int(c[2]) .. ' ' .. int(c[1]) .. ' '
            .. int(c[4]) .. ' ' .. int(c[3]) .. ' ' .. int(c[5]) .. ' '
            .. (count[CALLS_DAY] == today and count[CALLS] or '0') .. ' '
            .. (count[REFUSED_DAY] == today and count[REFUSED] or '0') .. ' ' .. int(longest)
    end
elseif verb == 'set' then
    local function given(key, value)
        if not arg[key] then return value, false end
        return tonumber(arg[key]), true
    end
    local was, any, one = settings_text(), false, nil
    set_order, one = given('order', set_order) any = any or one
    set_lease, one = given('lease', set_lease) any = any or one
    set_rest, one = given('rest', set_rest) any = any or one
    set_daily, one = given('daily', set_daily) any = any or one
    set_zone, one = given('zone', set_zone) any = any or one
    set_strict, one = given('strict', set_strict) any = any or one
    sticky_ms, one = given('sticky-ms', sticky_ms) any = any or one
    sticky_max, one = given('sticky-max', sticky_max) any = any or one
    requests, one = given('requests', requests) any = any or one
    final = settings_text()
    if set_order > 2 or set_strict > 1 or requests < 1 or math.abs(set_zone) > 1440 then
        return {'invalid', 'a setting is out of range'}
    end
    if not any then
        status = exists and 'ok' or 'missing'
    elseif exists and final == was then
        status = 'same'
    else
        set('settings', final)
        keep_request(version + 1)
        commit('set', 0, 0, nil)
    end
elseif verb == 'sweep' then
    if not exists then
        status = 'missing'
    else
        several(expire_due(tonumber(arg.max or STEP_MAX)))
    end
elseif verb == 'dump' then
    -- for the audit and the digest: everything, as one moment
    return {exists or '', settings or '', call('HGETALL', HASH),
        call('ZRANGE', INDEX, 0, -1)}
elseif verb == 'free' then
    if subject ~= '' then
        local r = load(subject)
        if not r then
            answer_nodata('missing')
        elseif busy(r) and (not arg.owner or arg.owner == r.owner) then
            free_one(r, true)
            several(1, false)
        else
            answer('same', r)
            several(0, false)
        end
    elseif not exists then
        status = 'missing'
    else
        local prefix = arg.owner and 'H' .. arg.owner .. '\t' or 'h'
        local n, more_ = 0, false
        while true do
            local r = at_member(walk(prefix), prefix, 16)
            if not r then break end
            if n == STEP_MAX then more_ = true break end
            free_one(r)
            n = n + 1
        end
        several(n, more_)
    end
elseif subject == '' then
    return {'invalid', 'number is missing, or the verb is not known'}
elseif verb == 'hangup' then
    local r = load(subject)
    if not r then
        answer_nodata('missing')
    else
        local claim = NONE
        if arg.token then
            claim = arg.token == r.token and HOLDER or OTHER
        elseif set_strict ~= 0 then
            claim = STRICT
        end
        local to, what = move(r.state, HANGUP, claim)
        if what ~= 'ok' then
            answer(what, r)
        else
            local before = copy(r)
            release(r, to, now, arg.rest and tonumber(arg.rest) or set_rest, version + 1)
            answer('ok', r)
            finish(before, r, to)
        end
    end
elseif verb == 'renew' then
    if not arg.token then return {'invalid', 'token is missing'} end
    local r = load(subject)
    if not r then
        answer_nodata('missing')
    else
        local to, what = move(r.state, RENEW, arg.token == r.token and HOLDER or OTHER)
        if what == 'ok' then
            local before = copy(r)
            if arg.lease then r.lease = int(arg.lease) end
            local lease = tonumber(r.lease)
            settle(r, to, lease > 0 and now + lease or 0, version + 1)
            if r.ends == before.ends and r.lease == before.lease then
                answer('same', r)
            else
                answer('ok', r)
                finish(before, r, to)
            end
        else
            answer(what, r)
        end
    end
elseif verb == 'show' then
    local r = exists and find_number(subject)
    if not r then
        answer_nodata('missing')
    else
        answer('ok', look(r))
        add_row(r)
    end
elseif verb == 'add' then
    simple(ADD)
elseif verb == 'del' then
    simple(DEL)
elseif verb == 'reg' then
    simple(REG)
elseif verb == 'unreg' then
    simple(UNREG)
else
    return {'invalid', 'the verb is not known'}
end

local reply = status .. ' ' .. epoch .. ' ' .. int(version) .. ' ' .. word(state) .. ' ' .. why
    .. ' ' .. token .. ' ' .. ends .. ' ' .. int(next_at) .. ' ' .. int(counted) .. ' ' .. more
    .. ' ' .. repeated .. ' ' .. (final or number)
local list = rows or notices
if list then
    table.insert(list, 1, reply)
    return list
end
return reply
