-- SPDX-License-Identifier: MIT
--
-- The verbs of a serial rule: the same steps as src/nouns/serial/serial*.c, in their order.  The records
-- and the names of their numbers are in src/core/serial_records.def.  The id of an end is one of as many places
-- as ends are remembered.
--
-- For the library the script does not print serials: rows have numbers and times, and the client prints them.
--@wide

-- ---- the answer -------------------------------------------------------------------------

function S.begin()
    S.why, S.counted, S.left, S.cur, S.max, S.granted, S.period = 0, 0, '0', '0', '0', '0', 0
    S.token, S.ends, S.more, S.extra, S.data = 0, 0, 0, nil, nil
    -- See taken_over().
    if S.jump_from and S.exists and S.set[K.SET_RULE + 1] ~= 0 then
        S.raise_line(S.jump_from + 1)
        S.ln = 0 -- these counts stay even if the command fails
    end
end

-- See raise_line().
function S.raise_line(line)
    if line <= S.count[K.COUNT_LINE + 1] then return end
    local held = S.count[K.COUNT_HELD + 1]
    S.put_count(K.COUNT_LINE, line)
    S.add(K.COUNT_DOUBT, held)
    S.add(K.COUNT_HELD, -held)
    S.put_count(K.COUNT_RETURNED, 0)
end

function S.fields(t, n)
    t[n + 1], t[n + 2], t[n + 3], t[n + 4], t[n + 5], t[n + 6], t[n + 7], t[n + 8], t[n + 9], t[n + 10] =
        S.why, S.counted, S.left, S.cur, S.max, S.granted, S.period, S.token, S.ends, S.more
    local extra = S.extra or S.verb == K.V_CHANGES and {0, 0} or S.verb == K.V_HOLDS and {''} or nil
    if extra then
        for i = 1, #extra do t[n + 10 + i] = extra[i] end
    end
end

function S.hand(out, answer)
    -- Print serials as core/serial.c does.
    function S.make_print()
        if not S.date_of then S.make_holds() end

        local function digit_of(c, radix)
            local digit = c >= 48 and c <= 57 and c - 48 or c >= 65 and c <= 90 and c - 55 or 99
            return digit < radix and digit or nil
        end

        local function iso7064(text, modulus, radix, alphabet)
            local p = 0
            for i = 1, #text do
                local digit = digit_of(byte(text, i), radix)
                if digit then p = (p + digit) * 2 % modulus end
            end
            p = (modulus + 1 - p) % modulus + 1
            return sub(alphabet, p, p)
        end

        local function luhn(text)
            local sum, twice = 0, true
            for i = #text, 1, -1 do
                local digit = digit_of(byte(text, i), 10)
                if digit then
                    sum = sum + (twice and digit * 2 - (digit > 4 and 9 or 0) or digit)
                    twice = not twice
                end
            end
            return format('%d', (10 - sum % 10) % 10)
        end

        local function damm(text)
            local rows, state = '0317598642' .. '7092154863' .. '4206871359' .. '1750983426' .. '6123045978'
                .. '3674209581' .. '5869720134' .. '8945362017' .. '9438617205' .. '2581436790', 0
            for i = 1, #text do
                local digit = digit_of(byte(text, i), 10)
                if digit then state = byte(rows, state * 10 + digit + 1) - 48 end
            end
            return format('%d', state)
        end

        -- The multiplication of the dihedral group of order ten, and the powers of the permutation, are computed.
        local function verhoeff(text)
            local state, place = 0, 1
            for i = #text, 1, -1 do
                local digit = digit_of(byte(text, i), 10)
                if digit then
                    for _ = 1, place % 8 do digit = byte('1576283094', digit + 1) - 48 end
                    place = place + 1
                    if state < 5 then
                        state = digit < 5 and (state + digit) % 5 or (state + digit) % 5 + 5
                    else
                        state = digit < 5 and (state - digit) % 5 + 5 or (state - digit) % 5
                    end
                end
            end
            return format('%d', state < 5 and -state % 5 or state)
        end

        local function check_of(check, text)
            local alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ*'
            if check == K.CHECK_LUHN then return luhn(text) end
            if check == K.CHECK_MOD11_2 then return iso7064(text, 11, 10, '0123456789X') end
            if check == K.CHECK_MOD37_2 then return iso7064(text, 37, 36, alphabet) end
            if check == K.CHECK_DAMM then return damm(text) end
            if check == K.CHECK_VERHOEFF then return verhoeff(text) end
            return ''
        end
        S.check_of = check_of

        -- Return the serial with number @k, a pair, and the time @at by the format @f.
        function S.printed(f, k, at)
            -- With other numbers, or NaN, the loop below would not end.
            if not (f[5] <= 1000000 and f[6] >= 0 and f[6] <= K.WIDTH_MAX) then S.damaged() end
            local low, radix, text = k[2] * f[5], f[7], ''
            local value = {k[1] * f[5] + floor(low / 1000000000), low % 1000000000}
            local base = S.big(f[4])
            low = value[2] + base[2]
            local high = value[1] + base[1] + floor(low / 1000000000)
            low = low % 1000000000
            repeat
                low = high % radix * 1000000000 + low
                high = floor(high / radix)
                local digit = low % radix
                text = char(digit < 10 and digit + 48 or digit + 55) .. text
                low = floor(low / radix)
                -- The quotient of the lower part is below 10^9 again.
            until high == 0 and low == 0
            if #text < f[6] then text = string.rep('0', f[6] - #text) .. text end
            text = S.date_of(f, at) .. text
            return f[1] .. text .. check_of(f[8], text) .. f[2]
        end
    end

    function S.hand_row(t, row)
        if row[8] == '' then return end
        local f, first = S.format_of(row[8]) or S.damaged(), S.big(row[1])
        S.make_print()
        t[1], t[2] = 'serial', S.printed(f, first, row[3])
        if row[2] > 1 then t[3], t[4] = 'last', S.printed(f, S.plus(first, row[2] - 1), row[3]) end
    end

    -- Add the serials of @rows as `serial` or `serials`; of more than 1,000 the first and the last one.
    local function add_serials(rows)
        local n, all = 0, {}
        for _, row in ipairs(rows) do n = n + (row[8] ~= '' and row[2] or 0) end
        if n == 0 then return end
        S.make_print()
        local function printed(row, i) return S.printed(S.format_of(row[8]) or S.damaged(), S.plus(S.big(row[1]), i), row[3]) end
        if n > 1000 then
            out[#out + 1], out[#out + 2] = 'first', printed(rows[1], 0)
            out[#out + 1], out[#out + 2] = 'last', printed(rows[#rows], rows[#rows][2] - 1)
            return
        end
        for _, row in ipairs(rows) do
            for i = 0, row[2] - 1 do all[#all + 1] = printed(row, i) end
        end
        if n == 1 then out[#out + 1], out[#out + 2] = 'serial', all[1] end
        if S.verb == K.V_TAKE then out[#out + 1], out[#out + 2] = 'serials', all end
    end

    local function text(v) return type(v) == 'number' and format('%.0f', v) or v end
    local names = {'why', 'count', 'left', 'cur', 'max', 'granted', 'period', 'token', 'until', 'more'}
    for i = 1, 10 do out[9 + 2 * i], out[10 + 2 * i] = names[i], text(answer[8 + i]) end
    if S.verb ~= K.V_CHANGES and S.verb ~= K.V_HOLDS then add_serials(answer[8]) end
    local row = answer[8][1]
    if row and (S.verb == K.V_RULE or S.verb == K.V_PARSE or S.verb == K.V_SHOW and row[2] == 0) then
        local f = S.format_of(row[8]) or S.damaged()
        names = {'prefix', 'suffix', 'date', 'base', 'step', 'width', 'radix', 'check', 'overflow', 'zone'}
        for i = 1, 10 do out[#out + 1], out[#out + 2] = names[i], text(f[i]) end
        answer[8] = {}
    end
end

function S.counting(i) return S.count[i + 1] end

function S.tell(status, s)
    local set = S.pset or S.set
    S.status, S.cur, S.max = status, S.digits(s.cur), S.digits(S.get(set, K.SET_MAX))
    S.left = S.less(s.cur, s.limit) and S.digits(S.minus(s.limit, s.cur)) or '0'
    S.granted, S.period = S.digits(s.granted), s.period
end

function S.turned_down(status, why, s)
    S.tell(status, s)
    S.why = why
end

-- ---- the stored rule ----------------------------------------------------------------------

-- Return the period of @now in local time: see usher__serial_period().
function S.period_of(reset, now, zone)
    if reset == 0 then return 0 end
    local ms = now + zone * 60000
    if ms > K.TIME_MAX then ms = K.TIME_MAX end
    local days = floor(ms / 86400000)
    if reset == 1 then return days end
    local year, month = S.civil(days)
    return reset == 2 and year * 12 + month - 1 or year
end

-- Return the year, month and day that are @days days after 1970-01-01: see civil().
function S.civil(days)
    local z = days + 719468
    local era = floor(z / 146097)
    local of_era = z - era * 146097
    local year = floor((of_era - floor(of_era / 1460) + floor(of_era / 36524) - floor(of_era / 146096)) / 365)
    local of_year = of_era - (365 * year + floor(year / 4) - floor(year / 100))
    local month = floor((5 * of_year + 2) / 153)
    local day = of_year - floor((153 * month + 2) / 5) + 1
    month = month < 10 and month + 3 or month - 9
    return year + era * 400 + (month <= 2 and 1 or 0), month, day
end

-- Begin a period; no other function does: see begin().
function S.begin_at(s, set, period, highest)
    local before = S.plus(S.get(set, K.SET_START), -1)
    s.period, s.cur = period, S.less(before, highest) and highest or before
    s.taken, s.granted, s.debt = s.cur, {0, 0}, {0, 0}
end

-- See usher__serial_period_within().
function S.within(reset, period, of)
    if of == 0 then return 0 end
    if of == reset then return period end
    if reset == 2 then return floor(period / 12) end
    local year, month = S.civil(period)
    return of == 2 and year * 12 + month - 1 or year
end

-- Return the highest number issued in the period that begins: see usher__serial_enter().
function S.enter_period(s, set, made)
    local old, period, to = S.set[K.SET_RESET + 1], S.count[K.COUNT_PERIOD + 1], set[K.SET_RESET + 1]
    local r, found = S.find(K.KIND_PAST, 'past') or S.fresh(K.KIND_PAST, 'past'), {0, 0}
    local past = {[2] = {r.N_MONTH, r.N_MONTH_LO}, [3] = {r.N_YEAR, r.N_YEAR_LO}, [4] = {r.N_EVER, r.N_EVER_LO}}
    local function coarseness(reset) return reset ~= 0 and reset or 4 end
    for i = 1, 4 do
        local unit, highest = i > coarseness(old) and i % 4 or old, made
        if unit ~= old and S.less(highest, past[i]) then highest = past[i] end
        if S.period_of(unit, S.now, set[K.SET_ZONE + 1]) ~= S.within(old, period, unit) then highest = {0, 0} end
        if i == coarseness(to) then found = highest end
        past[i] = i > coarseness(to) and highest or {0, 0}
    end
    local granted = {s.rule.N_GRANT, s.rule.N_GRANT_LO}
    if S.less(granted, made) then granted = made end
    if S.less({r.N_GRANTED, r.N_GRANTED_LO}, granted) then r.N_GRANTED, r.N_GRANTED_LO = granted[1], granted[2] end
    r.N_MONTH, r.N_MONTH_LO, r.N_YEAR, r.N_YEAR_LO, r.N_EVER, r.N_EVER_LO = past[2][1], past[2][2], past[3][1], past[3][2], past[4][1], past[4][2]
    s.past = r
    S.begin_at(s, set, S.period_of(to, S.now, set[K.SET_ZONE + 1]), found)
    return found
end

function S.put_past(s)
    local r = s.past
    if r.old or r.N_MONTH ~= 0 or r.N_MONTH_LO ~= 0 or r.N_YEAR ~= 0 or r.N_YEAR_LO ~= 0 or r.N_EVER ~= 0 or r.N_EVER_LO ~= 0 or r.N_GRANTED ~= 0
        or r.N_GRANTED_LO ~= 0 then S.save(r) end
end

-- Return the rule; nil if S.status or S.answer has a failure.
function S.load()
    local set, count = S.set, S.count
    if not S.exists or set[K.SET_RULE + 1] == 0 then
        S.status = K.MISSING
        return nil
    end
    local r = S.find(K.KIND_RULE, 'rule')
    if not r then
        S.answer = {K.UNAVAILABLE, 'the store is damaged: a rule'}
        return nil
    end
    local s = {rule = r, limit = S.get(set, K.SET_LIMIT), taken = S.get(count, K.COUNT_TAKEN),
        cur = S.get(count, K.COUNT_CUR), granted = {r.N_GRANT, r.N_GRANT_LO}, debt = {r.N_DEBT, r.N_DEBT_LO},
        period = count[K.COUNT_PERIOD + 1]}
    local period = S.period_of(set[K.SET_RESET + 1], S.now, set[K.SET_ZONE + 1])
    if period > s.period then S.begin_at(s, set, period, {0, 0}) end
    return s
end

function S.ceiling(s)
    return S.set[K.SET_AUTHORITY + 1] ~= 0 and S.less(s.granted, s.limit) and s.granted or s.limit
end

-- Return how many numbers can be made, at most @most.
function S.room(s, most)
    local c = S.ceiling(s)
    return S.less(s.cur, c) and S.small(S.minus(c, s.cur), most) or 0
end

function S.must_ask(s) return S.less(S.ceiling(s), s.limit) end

-- Return whether the store may have gone back in time, so that no number may be issued before a grant.
function S.lost(s)
    if S.set[K.SET_AUTHORITY + 1] ~= 0 and s.rule.N_STORE ~= S.server() then
        S.turned_down(K.EMPTY, K.WHY_LOST, s)
        return true
    end
    return false
end

function S.put_counters(s)
    S.put_pair(K.COUNT_TAKEN, s.taken)
    S.put_pair(K.COUNT_CUR, s.cur)
    S.put_count(K.COUNT_PERIOD, s.period)
end

function S.put_rule(s)
    local r = s.rule
    r.N_GRANT, r.N_GRANT_LO, r.N_DEBT, r.N_DEBT_LO = s.granted[1], s.granted[2], s.debt[1], s.debt[2]
    S.save(r)
end

function S.bump_epoch()
    local high, low = tonumber(sub(S.epoch, 1, 8), 16), tonumber(sub(S.epoch, 9), 16) + 1
    if low == 4294967296 then high, low = high + 1, 0 end
    if high == 4294967296 then high, low = 0, 1 end
    local function hex(n) return format('%04x%04x', floor(n / 65536), n % 65536) end
    S.epoch = hex(high) .. hex(low)
end

function S.drop_fills()
    local order
    while S.counting(K.COUNT_FILLS) > 0 do
        local r = S.walk(K.KIND_FILL, '0', nil, 0, order)
        if not r then return end
        order = r.order
        S.erase(r)
        S.add(K.COUNT_FILLS, -1)
    end
end

function S.add_fill(last)
    local r = S.fresh(K.KIND_FILL, format('%.0f', S.version + 1))
    r.slots, r.order, r.N_LAST, r.N_LAST_LO, r.N_AT = 1, S.version + 1, last[1], last[2], S.now
    S.add(K.COUNT_FILLS, 1)
    S.save(r)
end

-- Return the parts of SET_RULE about earlier numbers.
function S.used() return (S.set[K.SET_RULE + 1] - 1) % K.MADE == K.USED end

function S.marked() return S.set[K.SET_RULE + 1] - 1 >= K.MADE end

-- See any_open().
function S.any_open()
    return S.counting(K.COUNT_HELD) + S.counting(K.COUNT_DOUBT) + S.counting(K.COUNT_RETURNED) > 0
end

-- Return the lowest number that the rule can have made.
function S.low(set)
    local lowest = S.get(set, K.SET_LOW)
    return (lowest[1] > 0 or lowest[2] > 0) and lowest or S.get(set, K.SET_START)
end

-- Return whether numbers were made in the current period.
function S.made(cur)
    local before = S.plus(S.get(S.set, K.SET_START), -1)
    return S.less(cur, before) or S.less(before, cur) or S.marked() or S.any_open()
end

-- Return the format of a rule, packed in @data, as an array; nil if it is not valid.
function S.format_of(data)
    local good, f = pcall(munpack, data)
    if not good or type(f) ~= 'table' or #f ~= 10 then return nil end
    for i = 1, 10 do
        if type(f[i]) ~= (i <= 4 and 'string' or 'number') then return nil end
    end
    if not string.find(f[4], '^%d+$') or f[5] < 1 or f[7] < 10 or f[7] > 36 then return nil end
    return f
end

-- Return the format of the rule itself, which must be valid.
function S.format(s) return S.format_of(s.rule.data) or S.damaged() end

function S.begin_period()
    local set = S.set
    if not S.exists or set[K.SET_RULE + 1] == 0 or set[K.SET_RESET + 1] == 0 or
        S.period_of(set[K.SET_RESET + 1], S.now, set[K.SET_ZONE + 1]) <= S.count[K.COUNT_PERIOD + 1] then
        return
    end
    local s, taken = S.load(), S.get(S.count, K.COUNT_TAKEN)
    if not s then return end
    local made = S.made(taken)
    S.enter_period(s, set, made and taken or {0, 0})
    if made then
        S.pset = {}
        for i = 1, #set do S.pset[i] = set[i] end
        S.pset[K.SET_RULE + 1] = 1 + K.USED
    end
    S.put_counters(s)
    S.put_past(s)
    local r = s.rule
    if r.N_GRANT ~= 0 or r.N_GRANT_LO ~= 0 or r.N_DEBT ~= 0 or r.N_DEBT_LO ~= 0 then S.put_rule(s) end
    S.drop_fills()
    S.commit(K.V_RESET, 0, 0, nil)
end

function S.add_row(s, first, n, at)
    S.rows = S.rows or {}
    S.rows[#S.rows + 1] = {S.digits(first), n, at, 0, 0, 0, '', s.rule.data, ''}
end

-- Return @t, the data of a notice, packed, with the actor of the command.
function S.with_actor(t)
    local actor = S.a[K.ARG_ACTOR]
    if actor then t[#t + 1], t[#t + 2] = 'actor', actor end
    return t[1] and mpack(t) or nil
end

-- Return the data of the notice of a hold: its number; and if the change is the command's @own, its actor.
function S.number_told(r, own)
    if not S.is_told() then return nil end
    local t = {'number', S.digits({r.N_NUMBER, r.N_NUMBER_LO})}
    return own and S.with_actor(t) or mpack(t)
end

function S.finish(r, from, to, bump)
    if S.req then S.keep(S.version + 1) end
    if bump then S.bump_epoch() end
    local data = r and S.number_told(r, true) or S.data
    S.commit(S.verb, from, to, r, data or S.is_told() and S.with_actor({}) or nil)
end

-- Likewise for a change of the rule, whose notice has two numbers, as digits.
function S.finish_saying(name, number, name2, number2, bump)
    if S.is_told() then S.data = S.with_actor({name, number, name2, number2}) end
    S.finish(nil, 0, 0, bump)
end

-- Likewise for numbers that were made or taken, the last @n up to @last.
function S.finish_numbers(last, n)
    if not S.is_told() then return S.finish(nil, 0, 0) end
    S.finish_saying('first', S.digits(S.plus(S.plus(last, -n), 1)), 'n', format('%.0f', n))
end

-- Likewise for a new maximum.
function S.finish_max(max, s) S.finish_saying('max', S.digits(max), 'cur', S.digits(s.cur), true) end

function S.queued() return S.set[K.SET_MODE + 1] == K.MODE_QUEUE end

-- See usher__serial_lost_any().
function S.lost_any()
    return not S.queued() and (S.walk(K.KIND_LOST, '0') ~= nil or S.counting(K.COUNT_LINE) ~= 0 and
        S.counting(K.COUNT_RETURNED) == 0 and S.walk(K.KIND_HOLD, '0') ~= nil)
end

-- ---- fill, tick, take -----------------------------------------------------------------------

function S.make(s, n)
    s.cur = S.plus(s.cur, n)
    S.put_counters(s)
    if S.set[K.SET_STAMP + 1] == K.STAMP_FILL then S.add_fill(s.cur) end
    S.tell(K.OK, s)
    S.counted = n
    S.finish_numbers(s.cur, n)
end

function S.fills_full()
    return S.set[K.SET_STAMP + 1] == K.STAMP_FILL and S.counting(K.COUNT_FILLS) >= K.FILLS_MAX
end

function S.make_some(s, n)
    local most = S.room(s, n)
    if most < n and S.must_ask(s) then return S.turned_down(K.EMPTY, K.WHY_GRANT, s) end
    if most == 0 then return S.turned_down(K.FULL, K.WHY_EXHAUSTED, s) end
    if S.fills_full() then return S.turned_down(K.FULL, K.WHY_FILLS, s) end
    S.make(s, most)
end

function S.fill()
    local s = S.load()
    if not s then return end
    if not S.queued() then return S.turned_down(K.REFUSED, K.WHY_MODE, s) end
    if S.lost(s) then return end
    S.make_some(s, S.a[K.ARG_N])
end

-- Return the newest interval of the usage counts, and the twelve counts at the current time.
function S.use_now()
    local bucket, now, use = S.count[K.COUNT_BUCKET + 1], floor(S.moment / K.USE_MS), {}
    if bucket < 0 or bucket > floor(S.now / K.USE_MS) then S.damaged() end -- beyond 2^53 a loop down does not end
    for i = 0, 5 do
        local two = S.count[K.COUNT_USE + 1 + i]
        if two < 0 then S.damaged() end
        use[2 * i], use[2 * i + 1] = two % K.USE_BIT, floor(two / K.USE_BIT)
    end
    if now - bucket >= 12 then
        for i = 0, 11 do use[i] = 0 end
        bucket = now
    end
    while bucket < now do
        bucket = bucket + 1
        use[bucket % 12] = 0
    end
    return bucket, use
end

function S.use_add(bucket, use, n)
    local i = bucket % 12
    use[i] = use[i] + n
    if use[i] >= K.USE_BIT then use[i] = K.USE_BIT - 1 end
    S.put_count(K.COUNT_BUCKET, bucket)
    for k = 0, 5 do S.put_count(K.COUNT_USE + k, use[2 * k] + use[2 * k + 1] * K.USE_BIT) end
end

function S.use_sum(bucket, use, periods)
    local sum = 0
    for i = bucket, bucket - periods + 1, -1 do
        if i < 0 then break end
        sum = sum + use[i % 12]
    end
    return sum
end

function S.target(recent, longterm)
    local before = longterm - recent
    local next = recent > before and recent + (recent - before) or recent
    return S.set[K.SET_CRITICAL + 1] + (next > 1 and next or 1)
end

function S.tick()
    local s = S.load()
    if not s then return end
    if not S.queued() then return S.turned_down(K.REFUSED, K.WHY_MODE, s) end
    if S.lost(s) then return end
    local bucket, use = S.use_now()
    local want = S.target(S.use_sum(bucket, use, 6), S.use_sum(bucket, use, 12))
    local stock = S.small(S.minus(s.cur, s.taken), want)
    if want <= stock then return S.tell(K.SAME, s) end
    want = want - stock
    local batch = S.set[K.SET_BATCH + 1]
    S.make_some(s, want < batch and want or batch)
end

function S.take_fills(s, n)
    local order, first = nil, S.plus(s.taken, 1)
    while n > 0 do
        local r = S.walk(K.KIND_FILL, '0', nil, 0, order)
        if not r then error('a fill is missing') end
        order = r.order
        local last = {r.N_LAST, r.N_LAST_LO}
        if S.less(last, first) then error('a fill is of numbers that were taken') end
        local k = S.small(S.plus(S.minus(last, first), 1), n)
        S.add_row(s, first, k, r.N_AT)
        first = S.plus(first, k)
        if S.less(last, first) then
            S.erase(r)
            S.add(K.COUNT_FILLS, -1)
        end
        n = n - k
    end
end

function S.take()
    local a, set = S.a, S.set
    local n = a[K.ARG_N] or 1
    local s = S.load()
    if not s then return end
    if not S.queued() then return S.turned_down(K.REFUSED, K.WHY_MODE, s) end
    if S.lost(s) then return end
    local stock = S.small(S.minus(s.cur, s.taken), n)
    local made = S.room(s, n - stock)
    -- debt: the authority is unreachable, and only numbers that it granted before can be issued.
    if stock + made < n and S.must_ask(s) and (stock + made == 0 or (a[K.ARG_DEBT] or 0) == 0) then
        return S.turned_down(K.EMPTY, K.WHY_GRANT, s)
    end
    if stock + made == 0 then return S.turned_down(K.EMPTY, K.WHY_EXHAUSTED, s) end
    if stock + made < n and not S.must_ask(s) then
        S.turned_down(K.FULL, K.WHY_EXHAUSTED, s)
        S.left = format('%.0f', stock + made)
        return
    end
    n = stock + made

    local bucket, use = S.use_now()
    S.use_add(bucket, use, n)
    local recent, longterm = S.use_sum(bucket, use, 6), S.use_sum(bucket, use, 12)
    local dated = set[K.SET_STAMP + 1] == K.STAMP_FILL
    if not dated then
        S.add_row(s, S.plus(s.taken, 1), n, S.now)
    elseif stock > 0 then
        S.take_fills(s, stock)
    end
    if dated and made > 0 then S.add_row(s, S.plus(s.cur, 1), made, S.now) end
    s.taken, s.cur = S.plus(s.taken, n), S.plus(s.cur, made)
    local critical = set[K.SET_CRITICAL + 1]
    local left = S.small(S.minus(s.cur, s.taken), critical + 1)
    if left <= critical and not S.fills_full() then
        local extra = S.target(recent, longterm) - left
        if extra > set[K.SET_BATCH + 1] then extra = set[K.SET_BATCH + 1] end
        extra = S.room(s, extra)
        s.cur = S.plus(s.cur, extra)
        if dated and extra > 0 then S.add_fill(s.cur) end
    end
    S.put_counters(s)
    S.tell(K.OK, s)
    S.counted = n
    S.finish_numbers(s.taken, n)
end
