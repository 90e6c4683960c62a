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
    local extra = S.extra or S.verb == K.V_CHANGES and {0} or S.verb == K.V_HOLDS and {''} or nil
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

-- Return the data of the notice of a hold: its number.
function S.number_told(r) return S.is_told() and mpack({'number', S.digits({r.N_NUMBER, r.N_NUMBER_LO})}) or nil end

function S.finish(r, from, to, bump)
    if S.req then S.keep(S.version + 1) end
    if bump then S.bump_epoch() end
    S.commit(S.verb, from, to, r, r and S.number_told(r) or S.data)
end

-- Likewise for a change of the rule, whose notice has two numbers, as digits.
function S.finish_saying(name, number, name2, number2, bump)
    if S.is_told() then S.data = mpack({name, number, name2, number2}) end
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

-- ---- the rule ---------------------------------------------------------------------------------

function S.make_rules()
    local MOST = {9223372036, 854775807}

    -- See usher__serial_limit(); @f is the packed format as an array.
    function S.limit(f, max, mode, reset)
        local base, step, width, radix, most = S.big(f[4]), f[5], f[6], f[7], MOST
        if width > K.WIDTH_MAX then S.damaged() end
        if width > 0 and f[9] == K.OVERFLOW_REFUSE then
            local power = {0, 1}
            for _ = 1, width do
                local low = power[2] * radix
                power = {power[1] * radix + floor(low / 1000000000), low % 1000000000}
                if S.less(MOST, power) then break end
            end
            if not S.less(MOST, power) then most = S.plus(power, -1) end
        end
        local limit = {0, 0}
        if not S.less(most, base) then
            local d = S.minus(most, base)
            local rest = d[1] % step
            limit = {floor(d[1] / step), floor((rest * 1000000000 + d[2]) / step)}
        end
        if mode == K.MODE_GAPFREE then
            local ranks = reset ~= 0 and {2, 147483647} or {9007199, 254740991}
            if S.less(ranks, limit) then limit = ranks end
        end
        return S.less(limit, max) and limit or max
    end

    -- See usher__serial_date_finest().
    function S.finest(date)
        local has = {}
        for c in string.gmatch(date, '%%(.)') do has[c] = true end
        if not has.Y and not has.y then return 0 end
        return (has.j or has.m and has.d) and 1 or has.m and 2 or 3
    end

    function S.say_rule(status, set, s)
        S.tell(status, s)
        S.max = S.digits(S.get(set, K.SET_MAX))
        S.extra = {S.digits(S.get(set, K.SET_START)), set[K.SET_CRITICAL + 1], set[K.SET_BATCH + 1],
            set[K.SET_RESET + 1], set[K.SET_STAMP + 1], set[K.SET_MODE + 1], set[K.SET_LEASE + 1],
            set[K.SET_REQUESTS + 1], set[K.SET_AUTHORITY + 1], set[K.SET_LOG + 1]}
        S.add_row(s, {0, 0}, 0, S.now)
    end

    function S.show()
        local s = S.load()
        if not s then
            S.extra = {'0', 0, 0, 0, 0, 0, 0, 0, 0, 0, S.verb == K.V_SHOW and 0 or nil}
            -- The engine compares this with the authority: if that has granted more, a rule was lost.
            local past = S.exists and S.set[K.SET_RULE + 1] == 0 and S.find(K.KIND_PAST, 'past')
            if past then S.granted = S.digits({past.N_GRANTED, past.N_GRANTED_LO}) end
            return
        end
        S.say_rule(K.OK, S.set, s)
        if S.verb == K.V_SHOW then
            S.extra[11] = S.made(s.cur) and 1 or 0
            if S.a[K.ARG_SERIAL] then
                S.rows = nil
                if not S.show_number then S.make_holds() end
                S.show_number(s)
            end
        end
    end

    -- Faults that the library refuses before it sends the command.
    function S.affix_fault(arg, word)
        if string.find(S.a[arg] or '', '%', 1, true) then return word .. ' contains a %: dates belong in date=' end
    end

    function S.rule_fault(f, set)
        local check, reset, finest = f[8], set[K.SET_RESET + 1], S.finest(f[3])
        if check ~= 0 and check ~= K.MOD37_2 and f[7] ~= 10 then
            return 'check needs radix=10, unless it is mod37-2'
        end
        if reset ~= 0 and (finest == 0 or finest > reset) then
            return 'reset needs a date that differs between its periods'
        end
    end

    function S.rule()
        local a, old = S.a, S.set
        local exists, made, s, was, used = S.exists and old[K.SET_RULE + 1] ~= 0, false, nil, nil, nil
        local given = not exists
        for i = K.ARG, K.ARG_DEBT do given = given or a[i] end
        given = given or a[K.ARG_LOG]
        if not given then return S.show() end
        S.extra = {'0', 0, 0, 0, 0, 0, 0, 0, 0, 0}
        local open = S.any_open()
        if exists then
            s = S.load()
            if not s then return end
            was = S.format(s)
            made, used = S.made(s.cur), S.used()
        else
            was = {'', '', '', '0', 1, 0, 10, 0, K.OVERFLOW_REFUSE, 0}
            s = {rule = S.fresh(K.KIND_RULE, 'rule'), cur = S.exists and S.get(S.count, K.COUNT_CUR) or {0, 0},
                taken = {0, 0}, limit = {0, 0}, granted = {0, 0}, debt = {0, 0},
                period = S.count[K.COUNT_PERIOD + 1]}
        end
        local f, set = {}, {}
        for i = 1, 10 do f[i] = was[i] end
        for i = 1, #old do set[i] = old[i] end
        if not exists then
            made = s.cur[1] > 0 or s.cur[2] > 0
            used = old[K.SET_RESET + 1] ~= 0 -- kept by `delete`
            set[K.SET_RESET + 1], set[K.SET_ZONE + 1], set[K.SET_LOG + 1] = 0, 0, 0 -- as is the size of the log
        end
        local function number(to, i, arg)
            if a[arg] then to[i] = a[arg] end
        end
        number(f, 1, K.ARG_PREFIX)
        number(f, 2, K.ARG_SUFFIX)
        number(f, 3, K.ARG_DATE)
        if a[K.ARG_BASE] then f[4] = S.digits(S.big(a[K.ARG_BASE])) end
        number(f, 5, K.ARG_STEP)
        number(f, 6, K.ARG_WIDTH)
        number(f, 7, K.ARG_RADIX)
        number(f, 8, K.ARG_CHECK)
        number(f, 9, K.ARG_OVERFLOW)
        number(f, 10, K.ARG_ZONE)
        number(set, K.SET_ZONE + 1, K.ARG_ZONE)
        number(set, K.SET_CRITICAL + 1, K.ARG_CRITICAL)
        number(set, K.SET_BATCH + 1, K.ARG_BATCH)
        number(set, K.SET_RESET + 1, K.ARG_RESET)
        number(set, K.SET_STAMP + 1, K.ARG_STAMP)
        number(set, K.SET_MODE + 1, K.ARG_MODE)
        number(set, K.SET_LEASE + 1, K.ARG_LEASE)
        number(set, K.SET_REQUESTS + 1, K.ARG_REQUESTS)
        number(set, K.SET_AUTHORITY + 1, K.ARG_AUTHORITY)
        number(set, K.SET_LOG + 1, K.ARG_LOG)
        local function pair(i, arg)
            if a[arg] then
                local b = S.big(a[arg])
                set[i + 1], set[i + 2] = b[1], b[2]
            end
        end
        pair(K.SET_START, K.ARG_START)
        pair(K.SET_MAX, K.ARG_HIGHEST)
        set[K.SET_RULE + 1] = 1 + (used and K.USED or 0)
        local function differs(i) return set[i + 1] ~= old[i + 1] or set[i + 2] ~= old[i + 2] end
        if made and (differs(K.SET_START) or S.marked()) then set[K.SET_RULE + 1] = set[K.SET_RULE + 1] + K.MADE end
        -- Each period may print the same numbers, so no day may occur twice.
        local function goes_back(zone)
            return S.period_of(1, S.now, zone) < S.period_of(1, S.now, old[K.SET_ZONE + 1])
        end
        -- Without a date the zone has no effect; the zone of the last printed date is kept.
        if f[3] ~= '' then
            set[K.SET_ZONE + 1] = f[10]
        elseif (made or used) and goes_back(f[10]) then
            set[K.SET_ZONE + 1] = old[K.SET_ZONE + 1]
        end
        if made or used then
            local lowest, start = S.low(old), S.get(set, K.SET_START)
            if not S.less(lowest, start) then lowest = {0, 0} end
            set[K.SET_LOW + 1], set[K.SET_LOW + 2] = lowest[1], lowest[2]
        end
        local fault = S.affix_fault(K.ARG_PREFIX, 'prefix') or S.affix_fault(K.ARG_SUFFIX, 'suffix')
            or S.rule_fault(f, set)
        if fault then
            S.answer = {K.INVALID, fault}
            return
        end
        local mode, reset = set[K.SET_MODE + 1], set[K.SET_RESET + 1]
        local zone, zone_was = set[K.SET_ZONE + 1], old[K.SET_ZONE + 1]
        local moved = zone ~= zone_was and f[3] ~= ''
        local lost = exists and S.lost_any()
        -- A coarser reset may return to numbers of earlier periods.
        if exists and (made or used or lost) and (f[4] ~= was[4] or f[5] ~= was[5] or f[7] ~= was[7] or
            (f[8] ~= 0) ~= (was[8] ~= 0)) or exists and (made or lost) and mode ~= old[K.SET_MODE + 1] then
            return S.turned_down(K.REFUSED, K.WHY_KEPT, s)
        end
        if exists and (reset ~= old[K.SET_RESET + 1] or moved) and (open or lost) then
            return S.turned_down(K.REFUSED, K.WHY_HELD, s)
        end
        if moved and (made or used) and goes_back(zone) then return S.turned_down(K.REFUSED, K.WHY_BACK, s) end
        local before = S.plus(S.get(set, K.SET_START), -1)
        local entered = not exists or reset ~= old[K.SET_RESET + 1]
            or moved and S.period_of(reset, S.now, zone) > s.period
        if entered then
            local given = {0, 0}
            if not exists then given = s.cur elseif S.made(s.taken) then given = s.taken end
            local highest = S.enter_period(s, set, given)
            set[K.SET_RULE + 1] = 1 + ((given[1] > 0 or given[2] > 0 or used) and K.USED or 0)
                + ((highest[1] > 0 or highest[2] > 0) and K.MADE or 0)
        elseif not made then
            s.cur, s.taken = before, before
        end
        s.limit = S.limit(f, S.get(set, K.SET_MAX), mode, reset)
        if S.less(s.limit, s.cur) or S.less(s.limit, before) then return S.turned_down(K.REFUSED, K.WHY_ROOM, s) end
        set[K.SET_LIMIT + 1], set[K.SET_LIMIT + 2] = s.limit[1], s.limit[2]
        local packed, same = mpack(f), exists
        for i = 1, #set do same = same and set[i] == old[i] end
        if same and packed == s.rule.data then return S.say_rule(K.SAME, set, s) end

        local restamped = exists and (set[K.SET_STAMP + 1] ~= old[K.SET_STAMP + 1] or moved or entered)
        S.pset = set
        S.put_counters(s)
        if entered then S.put_past(s) end
        s.rule.data = packed
        S.put_rule(s)
        if restamped then S.drop_fills() end
        if restamped and set[K.SET_STAMP + 1] == K.STAMP_FILL and S.less(s.taken, s.cur) then S.add_fill(s.cur) end
        S.say_rule(K.OK, set, s)
        S.data = S.given()
        S.finish(nil, 0, 0)
    end

    function S.delete()
        if not S.exists or S.set[K.SET_RULE + 1] == 0 then
            S.status = K.SAME
            return
        end
        local s = S.load()
        if not s then return end
        if S.any_open() or S.lost_any() then
            return S.turned_down(K.REFUSED, K.WHY_HELD, s)
        end
        local made, set = S.made(s.taken), {}
        for i, value in ipairs(K.DEFAULTS) do set[i] = value end
        if made or S.used() then
            local lowest = S.low(S.set)
            set[K.SET_ZONE + 1], set[K.SET_RESET + 1] = S.set[K.SET_ZONE + 1], 1
            set[K.SET_LOW + 1], set[K.SET_LOW + 2] = lowest[1], lowest[2]
        end
        -- The log is kept, like the versions: the next rule of this name continues both.
        set[K.SET_LOG + 1] = S.set[K.SET_LOG + 1]
        S.enter_period(s, set, made and s.taken or {0, 0})
        S.drop_fills()
        S.put_counters(s)
        S.put_past(s)
        S.erase(s.rule)
        S.pset = set
        S.tell(K.OK, s)
        S.finish(nil, 0, 0)
    end

    -- ---- setmax, setmaxcur, grant

    function S.setmax()
        local set, by = S.set, S.big(S.a[K.ARG_RAISE])
        local s = S.load()
        if not s then return end
        local max = S.get(set, K.SET_MAX)
        -- In debt the grant is raised; max may be unlimited.
        local debt = S.a[K.ARG_DEBT] and S.a[K.ARG_DEBT] ~= 0 and set[K.SET_AUTHORITY + 1] ~= 0
        local beyond = S.less(S.minus(MOST, max), by)
        if beyond and not debt then return S.turned_down(K.FULL, K.WHY_EXHAUSTED, s) end
        local function add(x, y)
            local low = x[2] + y[2]
            return {x[1] + y[1] + floor(low / 1000000000), low % 1000000000}
        end
        max = beyond and MOST or add(max, by)
        s.limit = S.limit(S.format(s), max, set[K.SET_MODE + 1], set[K.SET_RESET + 1])
        local top = S.less(s.cur, s.granted) and s.granted or s.cur
        if debt and not S.less(top, s.limit) then return S.turned_down(K.FULL, K.WHY_EXHAUSTED, s) end
        S.pset = {}
        for i = 1, #set do S.pset[i] = set[i] end
        S.pset[K.SET_MAX + 1], S.pset[K.SET_MAX + 2] = max[1], max[2]
        S.pset[K.SET_LIMIT + 1], S.pset[K.SET_LIMIT + 2] = s.limit[1], s.limit[2]
        if debt then
            top = S.less(S.minus(s.limit, top), by) and s.limit or add(top, by)
            s.granted, s.debt = top, top
            S.put_rule(s)
        end
        S.tell(K.OK, s)
        S.finish_max(max, s)
    end

    function S.setmaxcur()
        local set, cur = S.set, S.big(S.a[K.ARG_HIGHEST])
        local s = S.load()
        if not s then return end
        if not S.queued() then return S.turned_down(K.REFUSED, K.WHY_MODE, s) end
        if not S.less(s.cur, cur) then return S.tell(K.SAME, s) end
        local max = S.get(set, K.SET_MAX)
        if S.less(max, cur) then max = cur end
        local limit = S.limit(S.format(s), max, set[K.SET_MODE + 1], set[K.SET_RESET + 1])
        if S.less(limit, cur) then return S.turned_down(K.FULL, K.WHY_ROOM, s) end
        S.pset = {}
        for i = 1, #set do S.pset[i] = set[i] end
        S.pset[K.SET_MAX + 1], S.pset[K.SET_MAX + 2] = max[1], max[2]
        S.pset[K.SET_LIMIT + 1], S.pset[K.SET_LIMIT + 2] = limit[1], limit[2]
        s.limit, s.taken, s.cur = limit, cur, cur
        S.put_counters(s)
        S.drop_fills()
        S.tell(K.OK, s)
        S.finish_max(max, s)
    end

    function S.grant()
        local a = S.a
        local from, to = S.big(a[K.ARG_FROM]), S.big(a[K.ARG_TO])
        local s = S.load()
        if not s then return end
        if S.set[K.SET_AUTHORITY + 1] == 0 then
            S.answer = {K.INVALID, 'the rule has no authority (authority=0)'}
            return
        end
        if S.less(to, from) then
            S.answer = {K.INVALID, 'to is less than from'}
            return
        end
        if a[K.ARG_PERIOD] and a[K.ARG_PERIOD] ~= s.period then return S.tell(K.STALE, s) end
        local top, server = S.less(s.cur, s.granted) and s.granted or s.cur, S.server()
        local lost, bump = s.rule.N_STORE ~= server, false
        local moved = lost and s.rule.N_STORE ~= 0 -- otherwise it is the first grant of the rule
        local behind, free = S.less(top, from), s.debt[1] == 0 and s.debt[2] == 0
        local known = not behind and not S.less(s.granted, to) and (free or S.less(to, s.debt))
            or behind and free and not S.less(s.taken, s.limit) and s.granted[1] == s.limit[1] and s.granted[2] == s.limit[2]
        if known and not lost then return S.tell(K.SAME, s) end
        local beyond = false
        if moved or behind then
            -- The stock of this server may have been issued by the former server.
            local cur = behind and from or top
            beyond = S.less(s.limit, cur)
            if beyond then cur = s.limit end
            if S.less(s.cur, cur) and not S.queued() then
                if not S.lose then S.make_holds() end
                S.counted = S.lose(s, cur)
            end
            s.cur = cur
            s.taken, bump = s.cur, true
            S.raise_line(S.version + 1)
            S.put_counters(s)
            S.drop_fills()
        end
        -- Numbers between the limit and `from` may be granted to other stores: a higher limit needs a new grant.
        if beyond then s.granted = s.limit elseif S.less(s.granted, to) then s.granted = to end
        s.debt, s.rule.N_STORE = {0, 0}, server
        S.put_rule(s)
        S.tell(K.OK, s)
        S.finish_saying('granted', S.digits(s.granted), 'cur', S.digits(s.cur), bump)
    end
end

-- ---- gap-free -----------------------------------------------------------------------------------

function S.make_holds()
    local HELD, RETURNED, DOUBT, LOST = K.SERIAL_HELD, K.SERIAL_RETURNED, K.SERIAL_DOUBT, K.SERIAL_LOST

    function S.rank(period, number)
        local n = number[1] * 1000000000 + number[2]
        return S.set[K.SET_RESET + 1] ~= 0 and period * K.RANK_BIT + n or n
    end

    -- See has_rank().
    function S.has_rank(k)
        return not S.less(S.set[K.SET_RESET + 1] ~= 0 and {2, 147483647} or {9007199, 254740991}, k)
    end

    -- Return the count of numbers after @a up to @b: both are of a gap-free rule, so below 2^53.
    function S.many(a, b) return (b[1] - a[1]) * 1000000000 + b[2] - a[2] end

    -- See range_set().
    function S.range_of(rank, period, first, last)
        local r = S.fresh(K.KIND_LOST, format('%.0f', rank))
        r.slots, r.rank, r.state = S.slots(K.SERIAL_LISTS, K.SERIAL_LOST, 0), rank, K.SERIAL_LOST
        r.N_NUMBER, r.N_NUMBER_LO, r.N_PERIOD, r.N_UPTO, r.N_UPTO_LO = first[1], first[2], period, last[1], last[2]
        return r
    end

    -- Mark the numbers after s.cur up to @last as lost.  Return how many they are.  See lose().
    function S.lose(s, last)
        local first = S.plus(s.cur, 1)
        local r = S.range_of(S.rank(s.period, first), s.period, first, last)
        r.state = S.move(K.SERIAL_MOVES, K.SERIAL_FREE, K.SERIAL_E_LOSE)
        r.token, r.order, r.N_STAMP, r.data = S.version + 1, S.version + 1, S.now, s.rule.data
        S.save(r)
        return S.many(s.cur, last)
    end

    -- Return @r if it is a range as S.lose() writes it; otherwise the store is damaged: see record_fault().
    function S.sound_range(r)
        local first, last = {r.N_NUMBER, r.N_NUMBER_LO}, {r.N_UPTO, r.N_UPTO_LO}
        if r.state ~= K.SERIAL_LOST or r.N_NUMBER < 0 or r.N_NUMBER_LO < 0 or r.N_NUMBER_LO > 999999999 or r.N_UPTO_LO < 0 or r.N_UPTO_LO > 999999999
            or r.N_NUMBER + r.N_NUMBER_LO < 1 or S.less(last, first) or not S.has_rank(last) or r.rank ~= S.rank(r.N_PERIOD, first)
            or r.id ~= format('%.0f', r.rank) or S.set[K.SET_RESET + 1] == 0 and r.N_PERIOD ~= 0 then
            S.damaged()
        end
        return r
    end

    -- See hold_of().
    function S.hold_of(k, period)
        return S.has_rank(k) and S.find(K.KIND_HOLD, format('%.0f', S.rank(period, k))) or nil
    end

    -- See state_of().
    function S.state_of(r)
        if r.token >= S.count[K.COUNT_LINE + 1] or r.state ~= HELD and r.state ~= RETURNED then
            return r.state
        end
        return (S.move(K.SERIAL_MOVES, r.state, K.SERIAL_E_LOSE))
    end

    -- See show_state().
    function S.show_state(s, r)
        r.state = S.state_of(r)
        if r.state == DOUBT then
            r.ends = 0
        elseif r.state == LOST and r.kind == K.KIND_HOLD then
            r.N_UPTO, r.N_UPTO_LO, r.token, r.data = r.N_NUMBER, r.N_NUMBER_LO, S.count[K.COUNT_LINE + 1], s.rule.data
        end
        return r
    end

    -- See lost_with().
    function S.lost_with(s, k, period)
        local r = S.has_rank(k) and S.walk(K.KIND_LOST, '0', nil, S.rank(period, k), 9007199254740992, true)
        if r and S.sound_range(r).N_PERIOD == period and not S.less({r.N_UPTO, r.N_UPTO_LO}, k) then return r end
        r = S.hold_of(k, period)
        return r and S.show_state(s, r).state == LOST and r or nil
    end

    function S.tally(state, by)
        if state == HELD then S.add(K.COUNT_HELD, by) end
        if state == RETURNED then S.add(K.COUNT_RETURNED, by) end
        if state == DOUBT then S.add(K.COUNT_DOUBT, by) end
    end

    -- See end_name().
    function S.end_id(number, period)
        local places = S.set[K.SET_REQUESTS + 1]
        local section = floor(places * 618 / 1000)
        section = section + 1 - section % 2
        return format('%.0f', (number[1] % places * (1000000000 % places) + number[2] + period * section) % places)
    end

    function S.keep_end(r, to)
        local id = S.end_id({r.N_NUMBER, r.N_NUMBER_LO}, r.N_PERIOD)
        local e = S.find(K.KIND_END, id) or S.fresh(K.KIND_END, id)
        e.slots, e.rank, e.state, e.token, e.order, e.data = 1, 0, to, r.token, r.token, r.data
        e.N_NUMBER, e.N_NUMBER_LO, e.N_PERIOD, e.N_STAMP, e.N_CLAIM = r.N_NUMBER, r.N_NUMBER_LO, r.N_PERIOD, r.N_STAMP, r.N_CLAIM
        S.save(e)
    end

    -- See save() and settle().
    function S.put(r, from, to)
        S.tally(from, -1)
        S.tally(to, 1)
        if to ~= HELD and to ~= DOUBT then
            if from == DOUBT then r.N_CLAIM = r.token end
            S.keep_end(r, to)
            r.data = ''
        end
        if to ~= HELD and to ~= RETURNED and to ~= DOUBT then return S.erase(r) end
        r.state = to
        if to == RETURNED then
            r.order, r.rank, r.owner, r.held = S.version + 1, S.rank(r.N_PERIOD, {r.N_NUMBER, r.N_NUMBER_LO}), '', r.owner
        else
            r.order, r.rank, r.held = r.token, 0, nil
        end
        if to ~= HELD then r.ends = 0 end
        r.slots = S.slots(K.SERIAL_LISTS, to, r.ends)
        S.save(r)
    end

    -- See due().
    function S.due_now(r) return r.ends ~= 0 and r.ends <= S.moment and S.state_of(r) == HELD end

    function S.expire_one(r)
        local from = S.state_of(r)
        local to = S.move(K.SERIAL_MOVES, from, K.SERIAL_E_EXPIRE)
        S.put(r, from, to)
        S.commit(K.V_EXPIRE, from, to, r, S.number_told(r))
    end

    -- See lose_one().
    function S.lose_one(s, r)
        local k = {r.N_NUMBER, r.N_NUMBER_LO}
        local range = S.range_of(S.rank(r.N_PERIOD, k), r.N_PERIOD, k, k)
        S.erase(r)
        range.state = S.move(K.SERIAL_MOVES, r.state, K.SERIAL_E_LOSE)
        range.token, range.order, range.N_STAMP, range.data = S.count[K.COUNT_LINE + 1], S.version + 1, r.N_STAMP, s.rule.data
        S.save(range)
        S.commit(K.V_EXPIRE, RETURNED, range.state, range, S.number_told(range))
    end

    function S.expire_due(max)
        local n = 0
        while S.due >= 0 and S.due <= S.moment do
            local r = S.walk(K.KIND_HOLD, '1')
            if not r then S.due = -1 break end
            if r.ends > S.moment then S.due = r.ends break end
            if n >= max then return n, true end
            S.expire_one(r)
            n = n + 1
        end
        return n, false
    end

    function S.add_hold(s, r)
        S.rows = S.rows or {}
        local n = r.kind == K.KIND_LOST and S.many({r.N_NUMBER, r.N_NUMBER_LO}, {r.N_UPTO, r.N_UPTO_LO}) + 1 or 1
        local token = (r.state == HELD or r.state == LOST or r.state == DOUBT or
            r.state == RETURNED and r.N_PERIOD < s.period) and r.token or 0
        S.rows[#S.rows + 1] = {S.digits({r.N_NUMBER, r.N_NUMBER_LO}), n, r.N_STAMP, token, r.ends, r.state, r.owner,
            r.data ~= '' and r.data or s.rule.data, ''}
    end

    function S.say_hold(what, s, r)
        S.tell(what, s)
        S.counted, S.token, S.ends = 1, r.token, r.ends
        S.add_hold(s, r)
    end

    -- See lowest().  Return false if there are more lost numbers than one command removes.
    function S.lowest(s)
        local hi, i = s.period > 0 and S.rank(s.period, {0, 0}) or 0, 0
        while true do
            local r = S.walk(K.KIND_HOLD, '0', nil, hi, 0)
            if not r or S.state_of(r) == RETURNED then return r end
            if i == K.EXPIRE_MAX then return false end
            S.lose_one(s, r)
            i = i + 1
        end
    end

    -- See held_by().
    function S.held_by(owner)
        local line = S.count[K.COUNT_LINE + 1]
        while true do
            local r = S.walk(K.KIND_HOLD, '2', owner, 0, line > 0 and line - 1 or nil)
            if not r or not S.due_now(r) then return r end
            S.expire_one(r)
        end
    end

    function S.reserve()
        local a = S.a
        local owner = a[K.ARG_OWNER]
        local s = S.load()
        if not s then return end
        if S.queued() then return S.turned_down(K.REFUSED, K.WHY_MODE, s) end
        if S.lost(s) then return end
        if owner then
            local r = S.held_by(owner)
            s = S.load()
            if r then
                local _, what = S.move(K.SERIAL_MOVES, r.state, K.SERIAL_E_RESERVE)
                return S.say_hold(what, s, r)
            end
        end
        local r = S.lowest(s)
        if r == false then return S.defer() end
        s = S.load()
        if not r then
            if S.room(s, 1) == 0 then
                return S.turned_down(K.EMPTY, S.must_ask(s) and K.WHY_GRANT or K.WHY_EXHAUSTED, s)
            end
            s.cur = S.plus(s.cur, 1)
            s.taken = s.cur
            r = S.fresh(K.KIND_HOLD, format('%.0f', S.rank(s.period, s.cur)))
            r.N_NUMBER, r.N_NUMBER_LO, r.N_PERIOD = s.cur[1], s.cur[2], s.period
        end
        local from = r.state
        S.put_counters(s)
        r.N_STAMP = S.now
        local lease = a[K.ARG_LEASE] or S.set[K.SET_LEASE + 1]
        r.token, r.ends = S.version + 1, lease ~= 0 and S.moment + lease or 0
        if owner then r.owner = owner end
        r.data = s.rule.data
        S.put(r, from, (S.move(K.SERIAL_MOVES, from, K.SERIAL_E_RESERVE)))
        local bucket, use = S.use_now()
        S.use_add(bucket, use, 1)
        S.say_hold(K.OK, s, r)
        S.finish(r, from, r.state)
    end

    -- Return the size of a printed date in bytes.
    function S.date_size(f)
        local pattern, date, i = f[3], 0, 1
        while i <= #pattern do
            local c = sub(pattern, i, i)
            if c == '%' then
                i = i + 1
                c = sub(pattern, i, i)
                date = date + (c == 'Y' and 4 or c == 'j' and 3 or c == '%' and 1 or 2)
            else
                date = date + 1
            end
            i = i + 1
        end
        return date
    end

    -- Return the number of the serial @text and its printed value; nil if it is not a serial.  See
    -- usher__serial_number().
    function S.number_of(f, text)
        local prefix, suffix, date, check = f[1], f[2], S.date_size(f), f[8] ~= 0 and 1 or 0
        local size = #text - #prefix - #suffix - date - check
        if size < 1 or sub(text, 1, #prefix) ~= prefix or sub(text, #text - #suffix + 1) ~= suffix then
            return nil
        end
        local from, width, radix, value = #prefix + date + 1, f[6], f[7], {0, 0}
        if size < width or size > width and size > 1 and sub(text, from, from) == '0' then return nil end
        for k = from, from + size - 1 do
            local c = byte(text, k)
            local digit = c >= 48 and c <= 57 and c - 48 or c >= 65 and c <= 90 and c - 55 or 99
            if digit >= radix then return nil end
            local low = value[2] * radix + digit
            value = {value[1] * radix + floor(low / 1000000000), low % 1000000000}
            if S.less({9223372036, 854775807}, value) then return nil end
        end
        local base, step = S.big(f[4]), f[5]
        if S.less(value, base) then return nil end
        local d = S.minus(value, base)
        local rest = d[1] % step * 1000000000 + d[2]
        if rest % step ~= 0 then return nil end
        return {floor(d[1] / step), floor(rest / step)}, value
    end

    -- Return the number of days from 1970-01-01 to a date: see days_to_year().
    function S.days_to(y, m, d)
        if m <= 2 then y = y - 1 end
        local era = floor(y / 400)
        local of_era = y - era * 400
        local of_march = floor((153 * (m > 2 and m - 3 or m + 9) + 2) / 5) + d - 1
        return era * 146097 + of_era * 365 + floor(of_era / 4) - floor(of_era / 100) + of_march - 719468
    end

    -- Return the printed date of @at.
    function S.date_of(f, at)
        if f[3] == '' then return '' end
        local ms = at + f[10] * 60000
        if ms > K.TIME_MAX then ms = K.TIME_MAX end
        local days = floor(ms / 86400000)
        local second = floor((ms - days * 86400000) / 1000)
        local year, month, day = S.civil(days)
        local has = {Y = format('%04d', year), y = format('%02d', year % 100), m = format('%02d', month),
            d = format('%02d', day), j = format('%03d', days - S.days_to(year, 1, 1) + 1),
            H = format('%02d', floor(second / 3600)), M = format('%02d', floor(second / 60) % 60),
            S = format('%02d', second % 60), ['%'] = '%'}
        return (string.gsub(f[3], '%%(.)', has))
    end

    -- See usher__serial_dated().
    function S.dated(f, text, at)
        local date = S.date_of(f, at)
        return sub(text, #f[1] + 1, #f[1] + #date) == date
    end

    -- Return the parts of the date of @text by the letters of its pattern, 0 for missing parts; nil if it is not
    -- a date.
    function S.date_in(f, text)
        local at, pattern, i = #f[1] + 1, f[3], 1
        local when = {Y = 0, m = 0, d = 0, j = 0, H = 0, M = 0, S = 0}
        local least = {m = 1, d = 1, j = 1, H = 0, M = 0, S = 0}
        local most = {m = 12, d = 31, j = 366, H = 23, M = 59, S = 59}
        while i <= #pattern do
            local c, size = sub(pattern, i, i), 0
            if c == '%' then
                i = i + 1
                c = sub(pattern, i, i)
                size = c == 'Y' and 4 or c == 'j' and 3 or c == '%' and 0 or 2
            end
            if size == 0 then
                if sub(text, at, at) ~= c then return nil end
                at = at + 1
            else
                local part = sub(text, at, at + size - 1)
                if not string.match(part, '^%d+$') then return nil end
                local value = tonumber(part)
                if least[c] and (value < least[c] or value > most[c]) then return nil end
                if c == 'y' then when.Y = 2000 + value else when[c] = value end
                at = at + size
            end
            i = i + 1
        end
        return when
    end

    -- Return the number of days from 1970-01-01 to a date from S.date_in().
    function S.days_of(when)
        if when.j > 0 then return S.days_to(when.Y, 1, 1) + when.j - 1 end
        return S.days_to(when.Y, when.m > 0 and when.m or 1, when.m > 0 and when.d > 0 and when.d or 1)
    end

    -- See date_period().  Return nil if there is no such date.
    function S.period_in(f, text, reset)
        local when = S.date_in(f, text)
        if not when then return nil end
        return reset == 0 and 0 or S.period_of(reset, S.days_of(when) * 86400000, 0)
    end

    -- See printed_by() and usher__serial_time().  Return nil if @text was not printed by the format @data.
    function S.printed_by(data, text, k, near)
        local f = S.format_of(data)
        local number = f and S.number_of(f, text)
        if not number or number[1] ~= k[1] or number[2] ~= k[2] then return nil end
        if S.dated(f, text, near) then return near end
        local when, ms = S.date_in(f, text), near + f[10] * 60000
        if not when then return nil end
        local year, month, day = S.civil(floor((ms > K.TIME_MAX and K.TIME_MAX or ms) / 86400000))
        local any_year = when.Y == 0
        if when.m == 0 and when.j == 0 then
            if any_year and when.d == 0 then when.d = day end
            when.m = any_year and when.d <= 28 and month or 1
        end
        for years = 0, any_year and 8 or 0 do
            if any_year then when.Y = year - years end
            local at = S.days_of(when) * 86400000 + ((when.H * 60 + when.M - f[10]) * 60 + when.S) * 1000
            if at >= 0 and at <= K.TIME_MAX and S.dated(f, text, at) then return at end
        end
    end

    function S.place(f, text)
        local number = S.number_of(f, text)
        local period = number and S.period_in(f, text, S.set[K.SET_RESET + 1])
        if period then return number, period end
    end

    -- See `tells()`.
    function S.tells(r, serial)
        local f = S.format_of(r.data)
        if not f then return false end
        local number = S.number_of(f, serial)
        return number and number[1] == r.N_NUMBER and number[2] == r.N_NUMBER_LO and S.dated(f, serial, r.N_STAMP)
    end

    function S.by_token(kind, slot, token)
        if token <= 0 or token > S.version then return nil end
        local r = S.walk(kind, slot, nil, 0, token - 1)
        return r and r.token == token and r or nil
    end

    -- See end_of().
    function S.end_of(k, period)
        local r = S.find(K.KIND_END, S.end_id(k, period))
        return r and r.N_NUMBER == k[1] and r.N_NUMBER_LO == k[2] and r.N_PERIOD == period and r or nil
    end

    function S.standing(s, k, period)
        local r
        if not S.queued() then
            r = S.hold_of(k, period)
            if r and S.due_now(r) then r.state, r.ends, r.owner = RETURNED, 0, '' end
            if r then S.show_state(s, r) end
            if r and r.state == RETURNED then -- as printed_as()
                local last = r.data == '' and S.end_of(k, period)
                if last then r.data = last.data end
                if r.data ~= '' and not S.tells(r, S.a[K.ARG_SERIAL]) then r.data = '' end
            end
            if not r then
                r = S.end_of(k, period)
                if r and r.state == RETURNED then r = nil end
            end
            if not r then
                r = S.lost_with(s, k, period)
                if r then r.N_NUMBER, r.N_NUMBER_LO, r.N_UPTO, r.N_UPTO_LO = k[1], k[2], k[1], k[2] end
            end
        end
        if r then return r end
        local past = period < s.period or period == s.period and not S.less(s.taken, k)
        return {state = past and K.SERIAL_PAST or K.SERIAL_FREE, N_NUMBER = k[1], N_NUMBER_LO = k[2], N_PERIOD = period, N_STAMP = S.now,
            token = 0, ends = 0, owner = '', data = ''}
    end

    function S.stale(s, event, k, period)
        local r = S.standing(s, k, period)
        local _, what = S.move(K.SERIAL_MOVES, r.state ~= K.SERIAL_PAST and r.state or K.SERIAL_FREE, event,
            K.SERIAL_IF_OTHER)
        S.tell(what, s)
        S.ends, r.token = r.ends, 0
        S.add_hold(s, r)
    end

    -- See void_past().  Return true if the command is answered.
    function S.void_past(s, k, period)
        local token = S.a[K.ARG_TOKEN]
        local r = period < s.period and S.hold_of(k, period)
        if not r or S.state_of(r) ~= RETURNED or r.token ~= token then return false end
        local old, to = S.by_token(K.KIND_END, '0', token), S.move(K.SERIAL_MOVES, RETURNED, K.SERIAL_E_VOID, K.SERIAL_IF_PAST)
        r.data = old and old.data or s.rule.data
        S.tally(RETURNED, -1)
        if old and old.id ~= S.end_id(k, period) then S.erase(old) end
        S.keep_end(r, to)
        S.erase(r)
        r.state = to
        S.say_hold(K.OK, s, r)
        r.data = ''
        S.finish(r, RETURNED, to)
        return true
    end

    -- See not_held().
    function S.not_held(s, event, k, period)
        if event == K.SERIAL_E_VOID and S.void_past(s, k, period) then return end
        S.stale(s, event, k, period)
    end

    -- See lost_by_format().
    function S.lost_by_format(serial, claim)
        local hi, order = 0, nil
        for _ = 1, K.STEP_MAX do
            local r = S.walk(K.KIND_LOST, '0', nil, hi, order)
            if not r then break end
            local f, k, period = S.format_of(S.sound_range(r).data), nil, nil
            if f then k, period = S.place(f, serial) end
            if k and period == r.N_PERIOD and not S.less(k, {r.N_NUMBER, r.N_NUMBER_LO}) and not S.less({r.N_UPTO, r.N_UPTO_LO}, k) then
                return k, period
            end
            hi, order = r.rank, r.order
        end
        order = nil
        for _ = 1, claim and K.STEP_MAX or 0 do
            local r = S.walk(K.KIND_END, '0', nil, 0, order, true)
            if not r then break end
            if r.N_CLAIM ~= 0 and r.N_CLAIM == claim and S.tells(r, serial) then return {r.N_NUMBER, r.N_NUMBER_LO}, r.N_PERIOD end
            order = r.order
        end
    end

    -- See settle_lost().  Return true if the command is answered.
    function S.settle_lost(s, event, k, period, of_lost)
        local a = S.a
        local n, token, to = a[K.ARG_N] or 1, a[K.ARG_TOKEN], (S.move(K.SERIAL_MOVES, K.SERIAL_LOST, event))
        local ended = S.end_of(k, period)
        if ended and ended.N_CLAIM ~= 0 and ended.N_CLAIM == token then
            local _, what = S.move(K.SERIAL_MOVES, ended.state, event, K.SERIAL_IF_CLAIMED)
            if what ~= K.SAME or not S.tells(ended, a[K.ARG_SERIAL]) then return false end
            S.say_hold(K.SAME, s, ended)
            return true
        end
        local all, last = S.lost_with(s, k, period), nil
        if all then
            last = {all.N_UPTO, all.N_UPTO_LO}
            if not of_lost and token ~= all.token then return false end
            if n > S.many(k, last) + 1 then
                S.answer = {K.INVALID, 'n is larger than the count of lost numbers from this serial on'}
                return true
            end
        elseif not of_lost or S.all_gaps() == '' or n > 1 or period ~= s.period or not S.less(s.cur, k)
            or S.less(s.limit, k) or S.many(s.cur, k) > 1048576 then
            return false
        end
        local one, v = S.fresh(K.KIND_LOST, format('%.0f', S.rank(period, k))), S.version + 1
        local data = all and all.data or s.rule.data
        local printed = S.printed_by(data, a[K.ARG_SERIAL], k, all and all.N_STAMP or S.now)
        if not printed then
            data = ended and ended.data or ''
            printed = S.printed_by(data, a[K.ARG_SERIAL], k, all and all.N_STAMP or S.now)
            if not printed then return false end
        end
        one.token, one.N_NUMBER, one.N_NUMBER_LO, one.N_PERIOD, one.N_STAMP, one.N_CLAIM, one.data = v, k[1], k[2], period, printed, token, data
        S.keep_end(one, to)
        if not all then
            local before = S.plus(k, -1)
            if S.less(s.cur, before) then S.lose(s, before) end
            s.taken, s.cur = k, k
            S.put_counters(s)
        else
            local first, up_to = {all.N_NUMBER, all.N_NUMBER_LO}, S.plus(k, n - 1)
            if S.less(up_to, last) then
                local next = S.plus(up_to, 1)
                local behind = S.range_of(S.rank(period, next), period, next, last)
                behind.token, behind.order, behind.N_STAMP, behind.data = all.token, v, all.N_STAMP, all.data
                S.save(behind)
            end
            if S.less(first, k) then
                local before = S.plus(k, -1)
                all.N_UPTO, all.N_UPTO_LO = before[1], before[2]
                S.save(all)
            else
                S.erase(all)
            end
        end
        local up_to = S.plus(k, n - 1)
        one.N_UPTO, one.N_UPTO_LO, one.state = up_to[1], up_to[2], to
        S.say_hold(K.OK, s, one)
        one.data = ''
        S.finish(one, K.SERIAL_LOST, to)
        return true
    end

    -- See by_older_format().
    function S.by_older_format(serial)
        for ended = 0, 1 do
            local hi, order = 0, nil
            for _ = 1, K.STEP_MAX do
                local r = S.walk(ended == 1 and K.KIND_END or K.KIND_HOLD, ended == 1 and '0' or '2', nil, hi, order, ended == 1)
                if not r then break end
                if S.tells(r, serial) then return r end
                order = r.order
            end
        end
    end

    -- See named().  Return nil if S.answer has the failure.
    function S.named(s, claim)
        local serial = S.a[K.ARG_SERIAL]
        local number, period = S.place(S.format(s), serial)
        if number then return number, period end
        local r = not S.queued() and S.by_older_format(serial)
        if r then return {r.N_NUMBER, r.N_NUMBER_LO}, r.N_PERIOD end
        if not S.queued() then number, period = S.lost_by_format(serial, claim) end
        if not number then S.answer = {K.INVALID, 'serial does not match this rule'} end
        return number, period
    end

    function S.settle_hold(event)
        local a = S.a
        local s = S.load()
        if not s then return end
        if S.queued() then return S.turned_down(K.REFUSED, K.WHY_MODE, s) end
        local serial, token = a[K.ARG_SERIAL], a[K.ARG_TOKEN]
        local r, ended = S.by_token(K.KIND_HOLD, '2', token), nil
        if r and S.due_now(r) then
            S.expire_one(r)
            s, r = S.load(), nil
        end
        if r and S.tells(r, serial) then
            if (a[K.ARG_N] or 1) > 1 then
                S.answer = {K.INVALID, 'n is only for lost numbers: this serial is held'}
                return
            end
            local from, data = S.state_of(r), r.data
            local to = S.move(K.SERIAL_MOVES, from, event)
            S.put(r, from, to)
            r.state, r.ends, r.data = to, 0, data
            S.say_hold(K.OK, s, r)
            r.data = ''
            return S.finish(r, from, to)
        end
        if not r then ended = S.by_token(K.KIND_END, '0', token) end
        if ended and S.tells(ended, serial) then
            local _, what = S.move(K.SERIAL_MOVES, ended.state, event,
                ended.N_CLAIM == ended.token and K.SERIAL_IF_CLAIMED or K.SERIAL_IF_ANY)
            if what == K.SAME then return S.say_hold(K.SAME, s, ended) end
            return S.not_held(s, event, {ended.N_NUMBER, ended.N_NUMBER_LO}, ended.N_PERIOD)
        end
        local number, period = S.named(s, token)
        if not number then return end
        if not r then -- the number may be in a lost range
            local of_lost = S.of_lost(token)
            if S.settle_lost(s, event, number, period, of_lost) then return end
            if of_lost then return S.say_lost('token') end
        end
        S.not_held(s, event, number, period)
    end

    function S.show_number(s)
        local number, period = S.named(s)
        if not number then return end
        if S.less(number, S.low(S.set)) then
            S.answer = {K.INVALID, 'serial does not match this rule: its number is below start'}
            return
        end
        local r = S.standing(s, number, period)
        S.token, S.ends = r.token, r.ends
        S.add_hold(s, r)
    end

    function S.sweep()
        if not S.load() then return end
        local n, more = S.expire_due(S.sweep_max(S.a[K.ARG_N]))
        local s = S.load()
        S.tell(n > 0 and K.OK or K.SAME, s)
        S.counted, S.more, S.behind = n, more and 1 or 0, more
        if n > 0 and S.req then S.keep_last() end
    end

    -- See usher__serial_void_doubt().
    function S.void_doubt()
        local s, n, last = S.load(), 0, nil
        if not s then return end
        if S.queued() then return S.turned_down(K.REFUSED, K.WHY_MODE, s) end
        while true do
            local r = S.walk(K.KIND_HOLD, '2')
            if not r or S.state_of(r) ~= DOUBT or r.token > S.a[K.ARG_BEFORE] then break end
            if n == K.VOID_MAX then
                S.more = 1
                break
            end
            local to, data = S.move(K.SERIAL_MOVES, DOUBT, K.SERIAL_E_VOID), r.data
            S.put(r, DOUBT, to)
            r.state, r.ends, r.data = to, 0, data
            S.add_hold(s, r)
            r.data = ''
            S.commit(K.V_VOID, DOUBT, to, r, S.number_told(r))
            n = n + 1
        end
        S.tell(n > 0 and K.OK or K.SAME, S.load())
        S.counted = n
        if n > 0 and S.req then S.keep_last() end
    end

    function S.holds()
        local a, list, lists = S.a, 1, {K.KIND_HOLD .. '2', K.KIND_HOLD .. '1', K.KIND_HOLD .. '0', K.KIND_LOST .. '0'}
        local owner, doubt, after = a[K.ARG_OWNER] or nil, a[K.ARG_DOUBT], a[K.ARG_AFTER]
        local max, hi, order = a[K.ARG_N] or K.LIST_DEFAULT, 0, nil
        local n_lists = (owner or doubt) and 1 or 4
        local s, n, looked = S.load(), 0, 0
        if not s then return end
        if after then
            local i, from, by = string.match(after, '^([0-3])%.(%d+)%.(%d+)$')
            if not i or #from > 16 or #by > 16 or tonumber(i) >= n_lists or i == '0' and tonumber(from) ~= 0 then
                S.answer = {K.INVALID, 'after is not the `next` of a page'}
                return
            end
            list, hi, order = tonumber(i) + 1, tonumber(from), tonumber(by)
        end
        S.tell(K.OK, s)
        while true do
            local r = S.walk(sub(lists[list], 1, 1), sub(lists[list], 2), owner, hi, order)
            if r and (list == 2 and r.ends > S.moment or doubt and r.token >= S.count[K.COUNT_LINE + 1]) then
                r = nil
            end
            if not r then
                if list == n_lists then return end
                list, hi, order = list + 1, 0, nil
            else
                local at, over, shown = list == 1 and 0 or list == 2 and r.ends or r.rank, S.due_now(r), true
                if list == 1 then shown = not over end
                if list == 2 then
                    shown = over
                    if over then r.state, r.ends, r.owner, r.data = RETURNED, 0, '', '' end
                end
                if looked == K.PAGE_MAX or shown and n == max then
                    S.more, S.extra = 1, {format('%d.%.0f.%.0f', list - 1, hi, order or 0)}
                    return
                end
                hi, order, looked = at, r.order, looked + 1
                if shown then
                    if list == 4 then S.sound_range(r) end
                    S.add_hold(s, S.show_state(s, r))
                    n = n + 1
                end
            end
        end
    end

    function S.due_counts()
        local held, returned, hi, order = S.count[K.COUNT_HELD + 1], S.count[K.COUNT_RETURNED + 1], nil, nil
        while held > 0 do
            local r = S.walk(K.KIND_HOLD, '1', nil, hi, order)
            if not r or r.ends > S.moment then break end
            hi, order = r.ends, r.order
            if S.due_now(r) then held, returned = held - 1, returned + 1 end
        end
        return held, returned
    end
end

-- ---- reads ----------------------------------------------------------------------------------------

function S.check()
    local s, set = S.load(), S.set
    if not s then
        S.extra = {'0', 0, 0, 0, 0, 0, 0, 0, '0', '0', 0}
        return
    end
    S.tell(K.OK, s)
    local bucket, use = S.use_now()
    local recent, longterm, held, returned = S.use_sum(bucket, use, 6), S.use_sum(bucket, use, 12), 0, 0
    held, returned = S.count[K.COUNT_HELD + 1], S.count[K.COUNT_RETURNED + 1]
    if held > 0 then
        if not S.due_counts then S.make_holds() end
        held, returned = S.due_counts()
    end
    S.extra = {S.digits(S.minus(s.cur, s.taken)), recent, longterm, set[K.SET_CRITICAL + 1],
        set[K.SET_BATCH + 1], S.target(recent, longterm), held, returned, S.digits(s.taken),
        S.digits(s.debt), S.count[K.COUNT_DOUBT + 1]}
end

-- See usher__serial_come_again().
function S.defer()
    S.behind, S.status, S.why, S.counted, S.rows = true, K.REFUSED, K.WHY_DUE, 0, nil
    S.because = 'too many expiries are pending on this scope: retry'
    if S.verb == K.V_RULE or S.verb == K.V_SHOW then
        S.extra = {'0', 0, 0, 0, 0, 0, 0, 0, 0, 0, S.verb == K.V_SHOW and 0 or nil}
    elseif S.verb == K.V_CHECK then
        S.extra = {'0', 0, 0, 0, 0, 0, 0, 0, '0', '0', 0}
    end
end

function S.parse()
    local s = S.load()
    if not s then return end
    S.tell(K.OK, s)
    S.add_row(s, S.low(S.set), 0, S.now)
end

-- ---- all together -----------------------------------------------------------------------------------

function S.run()
    local verb = S.verb
    if S.behind then return S.defer() end
    if verb == K.V_CHECK then return S.check() end
    if verb == K.V_PARSE then return S.parse() end
    if verb == K.V_CHANGES then
        if not S.log_add then S.make_log() end
        return S.log_changes()
    end
    if verb == K.V_HOLDS then
        S.make_holds()
        return S.holds()
    end
    if verb == K.V_SHOW then
        S.make_rules()
        return S.show()
    end
    if S.req then
        S.answer = S.kept()
        if S.answer then return end
    end
    S.begin_period()
    if S.answer then return end
    if verb ~= K.V_SWEEP and S.due >= 0 and S.due <= S.moment then
        if not S.expire_due then S.make_holds() end
        local _, more = S.expire_due(K.EXPIRE_MAX)
        if more then return S.defer() end
    end
    if S.other_version() then return end
    if verb == K.V_TAKE then return S.take() end
    if verb == K.V_FILL then return S.fill() end
    if verb == K.V_TICK then return S.tick() end
    if verb == K.V_RULE or verb == K.V_DELETE or verb == K.V_SETMAX or verb == K.V_SETMAXCUR or
        verb == K.V_GRANT then
        if not S.rule then S.make_rules() end
        if verb == K.V_RULE then return S.rule() end
        if verb == K.V_DELETE then return S.delete() end
        if verb == K.V_SETMAX then return S.setmax() end
        if verb == K.V_SETMAXCUR then return S.setmaxcur() end
        return S.grant()
    end
    if not S.reserve then S.make_holds() end
    if verb == K.V_RESERVE then return S.reserve() end
    if verb == K.V_CONFIRM then return S.settle_hold(K.SERIAL_E_CONFIRM) end
    if verb == K.V_RETURN then return S.settle_hold(K.SERIAL_E_RETURN) end
    if verb == K.V_VOID then
        if S.a[K.ARG_DOUBT] then return S.void_doubt() end
        return S.settle_hold(K.SERIAL_E_VOID)
    end
    if verb == K.V_SWEEP then return S.sweep() end
    S.answer = {K.INVALID, 'unknown verb'}
end
