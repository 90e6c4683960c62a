-- SPDX-License-Identifier: MIT
--
-- Numbers of gap-free rules: src/nouns/serial/serial_holds.c.

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

    function S.end_of_lease()
        local lease = S.a[K.ARG_LEASE] or S.set[K.SET_LEASE + 1]
        return lease ~= 0 and S.moment + lease or 0
    end

    -- See renew().
    function S.renew(s, r, ends, why)
        local from = S.state_of(r)
        local to, what = S.move(K.SERIAL_MOVES, from, K.SERIAL_E_RENEW)
        if what ~= K.OK or r.ends == ends then return S.say_hold(K.SAME, s, S.show_state(s, r)) end
        r.ends = ends
        S.put(r, from, to)
        S.say_hold(K.OK, s, r)
        S.why = why
        if S.req then S.keep(S.version + 1) end
        S.commit(K.V_RENEW, from, to, r, S.number_told(r))
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
                local ends = S.end_of_lease()
                if a[K.ARG_LEASE] and r.ends ~= 0 and (ends == 0 or ends > r.ends) then
                    return S.renew(s, r, ends, K.WHY_RENEWED)
                end
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
        r.token, r.ends = S.version + 1, S.end_of_lease()
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
            if event == K.SERIAL_E_RENEW then return S.renew(s, r, S.end_of_lease(), 0) end
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
            if event ~= K.SERIAL_E_RENEW and S.settle_lost(s, event, number, period, of_lost) then return end
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
            S.commit(K.V_VOID, DOUBT, to, r, S.number_told(r, true))
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
