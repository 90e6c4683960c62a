-- SPDX-License-Identifier: MIT
--
-- The verbs of an id dispenser: the same steps as src/steps/id.c, in its order.
--
-- A number of 64 bits is two, hi and lo, where lo < 10^15: core/segment.h.  Products of a
-- count and `by` are at most 10^15, so all sums are exact.  On the wire it is its digits.
local BASE, format = 1000000000000000, string.format

-- ---- 64 bits in two -----------------------------------------------------------------------

-- @hi, @lo plus @d, which is from -2 * 10^15 to 2 * 10^15
function S.plus(hi, lo, d)
    lo = lo + d
    while lo >= BASE do hi, lo = hi + 1, lo - BASE end
    while lo < 0 do hi, lo = hi - 1, lo + BASE end
    return hi, lo
end

-- -1, 0 or 1
function S.order(ahi, alo, bhi, blo)
    if ahi ~= bhi then return ahi < bhi and -1 or 1 end
    return alo < blo and -1 or alo > blo and 1 or 0
end

function S.digits(hi, lo)
    if hi < 0 then return '-1' end
    if hi == 0 then return format('%.0f', lo) end
    return format('%.0f%015.0f', hi, lo)
end

function S.wide(text)
    local n = #text
    if n <= 15 then return 0, tonumber(text) end
    return tonumber(sub(text, 1, n - 15)), tonumber(sub(text, n - 14))
end

-- ---- the answer ---------------------------------------------------------------------------

function S.begin()
    S.first, S.n, S.next_id, S.max, S.step, S.by, S.token, S.extra = '0', 0, '0', '0', 0, 0, 0, nil
end

function S.fields(t, n)
    t[n + 1], t[n + 2], t[n + 3], t[n + 4], t[n + 5], t[n + 6], t[n + 7] = S.first, S.n, S.next_id, S.max,
        S.step, S.by, S.token
    local extra = S.extra
    if extra then
        for i = 1, #extra do t[n + 7 + i] = extra[i] end
    elseif S.verb == K.V_CREATE or S.verb == K.V_SET then
        t[n + 8], t[n + 9], t[n + 10], t[n + 11], t[n + 12], t[n + 13], t[n + 14], t[n + 15] = '0', 0, 0, '0',
            0, 0, 0, 0
    end
end

function S.hand(out, answer)
    local names = {'first', 'n', 'next', 'max', 'step', 'by', 'token'}
    for i = 1, 7 do
        local v = answer[6 + i]
        out[#out + 1] = names[i]
        out[#out + 1] = type(v) == 'number' and format('%.0f', v) or v
    end
    names = {'next', 'max', 'step', 'start', 'by', 'limit', 'issued', 'segments', 'began', 'lasted',
        'managed'}
    for _, row in ipairs(answer[6]) do
        for i = 4, #names do
            out[#out + 1] = names[i]
            out[#out + 1] = type(row[i]) == 'number' and format('%.0f', row[i]) or row[i]
        end
    end
end

-- ---- the segment --------------------------------------------------------------------------

function S.there() return S.exists and S.count[K.COUNT_THERE + 1] ~= 0 end

-- the count @i becomes @value with this change
function S.put(i, value) S.add(i, value - S.count[i + 1]) end
function S.put_wide(i, hi, lo)
    S.put(i, hi)
    S.put(i + 1, lo)
end
function S.at(i) return S.count[i + 1], S.count[i + 2] end

-- hi, lo of the present segment's max; -1: there is none
function S.max_of(set)
    local hi, lo = S.at(K.COUNT_END)
    if hi == 0 and lo == 0 then return -1, 0 end
    hi, lo = S.plus(hi, lo, -1)
    if S.order(hi, lo, set[K.SET_LIMIT + 1], set[K.SET_LIMIT + 2]) > 0 then
        return set[K.SET_LIMIT + 1], set[K.SET_LIMIT + 2]
    end
    return hi, lo
end

function S.next_of(set)
    local hi, lo = S.at(K.COUNT_NEXT)
    if S.order(hi, lo, set[K.SET_LIMIT + 1], set[K.SET_LIMIT + 2]) > 0 then return '-1' end
    return S.digits(hi, lo)
end

-- see answer(): as it is with what has been collected
function S.say(status)
    local set = S.pset or S.set
    S.status, S.next_id, S.max = status, S.next_of(set), S.digits(S.max_of(set))
    S.step, S.by = S.count[K.COUNT_STEP + 1], set[K.SET_BY + 1]
end

function S.finish(from, to)
    if S.req then S.keep(S.version + 1) end
    S.commit(S.verb, from, to, nil)
end

-- a new segment begins
function S.renew(set)
    local c = S.count
    if c[K.COUNT_SEGMENTS + 1] > 0 then
        local lasted, life = S.now - c[K.COUNT_BEGAN + 1], set[K.SET_LIFE + 1]
        local step, least, most = c[K.COUNT_STEP + 1], set[K.SET_STEP + 1], set[K.SET_STEP_MAX + 1]
        if life > 0 and lasted < life then
            step = step * 2
        elseif life > 0 and math.floor(lasted / 2) >= life then
            step = math.floor(step / 2)
        end
        if step > most then step = most end
        if step < least then step = least end
        S.put(K.COUNT_LASTED, lasted)
        S.put(K.COUNT_STEP, step)
    end
    S.add(K.COUNT_SEGMENTS, 1)
    S.put(K.COUNT_BEGAN, S.now)
end

-- ---- next ---------------------------------------------------------------------------------

function S.next_ids()
    if not S.there() then S.status = K.MISSING return end
    local c, set, n = S.count, S.set, S.a[K.ARG_N] or 1
    local by, nhi, nlo = set[K.SET_BY + 1], c[K.COUNT_NEXT + 1], c[K.COUNT_NEXT + 2]
    local ehi, elo = c[K.COUNT_END + 1], c[K.COUNT_END + 2]
    local lhi, llo = S.plus(nhi, nlo, (n - 1) * by)
    local limit_hi, limit_lo = set[K.SET_LIMIT + 1], set[K.SET_LIMIT + 2]
    if S.order(lhi, llo, limit_hi, limit_lo) > 0 then
        S.first, S.n = S.next_of(set), 0
        if S.first ~= '-1' then
            -- less than n * by, so it is exact
            S.n = math.floor(((limit_hi - nhi) * BASE + (limit_lo - nlo)) / by) + 1
        end
        return S.say(K.FULL)
    end
    if S.order(lhi, llo, ehi, elo) >= 0 then
        if set[K.SET_MANAGED + 1] ~= 0 then return S.say(K.EMPTY) end
        S.renew(set)
        -- see usher__segment_extend()
        local fhi, flo = S.plus(ehi, elo, by)
        if S.order(nhi, nlo, fhi, flo) >= 0 then
            fhi, flo = S.plus(nhi, nlo, 1 - by)
        else
            fhi, flo = ehi, elo
        end
        ehi, elo = S.plus(fhi, flo, (c[K.COUNT_STEP + 1]) * by)
        if S.order(lhi, llo, ehi, elo) >= 0 then ehi, elo = S.plus(lhi, llo, 1) end
        S.put_wide(K.COUNT_END, ehi, elo)
    end
    S.put_wide(K.COUNT_NEXT, S.plus(lhi, llo, by))
    S.put_wide(K.COUNT_ISSUED, S.plus(c[K.COUNT_ISSUED + 1], c[K.COUNT_ISSUED + 2], n))
    S.put(K.COUNT_TOKEN, S.version + 1)
    S.first, S.n, S.token = S.digits(nhi, nlo), n, S.version + 1
    S.say(K.OK)
    S.finish(1, 1)
end

function S.make_steps()
    -- ---- settings -----------------------------------------------------------------------

    function S.settings_from(set)
        S.extra = {S.digits(set[K.SET_START + 1], set[K.SET_START + 2]), set[K.SET_STEP + 1], set[K.SET_BY + 1],
            S.digits(set[K.SET_LIMIT + 1], set[K.SET_LIMIT + 2]), set[K.SET_STEP_MAX + 1],
            set[K.SET_LIFE + 1], set[K.SET_MANAGED + 1], set[K.SET_REQUESTS + 1]}
    end

    -- those given into a copy of @from; whether it differs from what is stored; whether any was
    -- given
    function S.settings_take(from)
        local a, set, given, same = S.a, {}, false, true
        for i = 1, 16 do set[i] = from[i] end
        local function take(i, value)
            if value then set[i + 1], given = value, true end
        end
        local function take_wide(i, text)
            if text then
                set[i + 1], set[i + 2] = S.wide(text)
                given = true
            end
        end
        take_wide(K.SET_START, a[K.ARG_START])
        take(K.SET_STEP, a[K.ARG_STEP])
        take(K.SET_BY, a[K.ARG_BY])
        take_wide(K.SET_LIMIT, a[K.ARG_LIMIT])
        take(K.SET_STEP_MAX, a[K.ARG_STEP_MAX])
        take(K.SET_LIFE, a[K.ARG_LIFE])
        take(K.SET_MANAGED, a[K.ARG_MANAGED])
        take(K.SET_REQUESTS, a[K.ARG_REQUESTS])
        for i = 1, 16 do same = same and set[i] == S.set[i] end
        return set, same, given
    end

    function S.create()
        local asked, same = S.settings_take(K.DEFAULTS)
        if S.there() then
            S.settings_from(S.set)
            return S.say(same and K.SAME or K.REFUSED)
        end
        local nhi, nlo, ehi, elo = asked[K.SET_START + 1], asked[K.SET_START + 2], 0, 0
        S.pset = asked
        S.put(K.COUNT_THERE, 1)
        S.put(K.COUNT_STEP, asked[K.SET_STEP + 1])
        if asked[K.SET_MANAGED + 1] == 0 then
            ehi, elo = S.plus(nhi, nlo, (asked[K.SET_STEP + 1] - 1) * asked[K.SET_BY + 1] + 1)
            S.renew(asked)
        end
        S.put_wide(K.COUNT_NEXT, nhi, nlo)
        S.put_wide(K.COUNT_END, ehi, elo)
        S.settings_from(asked)
        S.say(K.OK)
        S.finish(0, 1)
    end

    function S.settings()
        if not S.there() then S.status = K.MISSING return end
        local new, same, given = S.settings_take(S.set)
        local text, raises = S.a[K.ARG_NEXT], false
        if text then
            given = true
            local hi, lo = S.wide(text)
            local order = S.order(hi, lo, S.at(K.COUNT_NEXT))
            if order < 0 then
                S.settings_from(S.set)
                return S.say(K.REFUSED)
            end
            raises = order > 0
        end
        S.settings_from(new)
        if not raises and same then return S.say(given and K.SAME or K.OK) end
        if new[K.SET_STEP + 1] ~= S.set[K.SET_STEP + 1] then S.put(K.COUNT_STEP, new[K.SET_STEP + 1]) end
        S.pset = new
        if raises then
            S.put_wide(K.COUNT_NEXT, S.wide(text))
            S.put(K.COUNT_TOKEN, 0)
        end
        S.say(K.OK)
        S.finish(1, 1)
    end

    function S.delete()
        if not S.there() then S.status = K.SAME return end
        for i = 0, 15 do
            if i ~= K.COUNT_REQUESTS then S.put(i, 0) end
        end
        S.pset = K.DEFAULTS
        S.finish(1, 0)
    end

    -- ---- return, install ----------------------------------------------------------------

    function S.of_this_epoch()
        local epoch = S.a[K.ARG_EPOCH]
        return not epoch or epoch == S.epoch
    end

    function S.give_back()
        if not S.there() then S.status = K.MISSING return end
        local a, c = S.a, S.count
        local n, token = a[K.ARG_N], a[K.ARG_TOKEN]
        local fhi, flo = S.wide(a[K.ARG_FIRST])
        local ihi, ilo = S.at(K.COUNT_ISSUED)
        local bhi, blo = S.plus(fhi, flo, n * S.set[K.SET_BY + 1])
        S.first, S.n = a[K.ARG_FIRST], n
        if not S.of_this_epoch() or token == 0 or token ~= c[K.COUNT_TOKEN + 1]
            or S.order(0, n, ihi, ilo) > 0 or S.order(bhi, blo, S.at(K.COUNT_NEXT)) ~= 0 then
            S.token = c[K.COUNT_TOKEN + 1]
            return S.say(K.STALE)
        end
        S.put_wide(K.COUNT_NEXT, fhi, flo)
        S.put_wide(K.COUNT_ISSUED, S.plus(ihi, ilo, -n))
        S.put(K.COUNT_TOKEN, 0)
        S.say(K.OK)
        S.finish(1, 1)
    end

    function S.install()
        if not S.there() then S.status = K.MISSING return end
        local a, set = S.a, S.set
        local n, by = a[K.ARG_N], set[K.SET_BY + 1]
        local fhi, flo = S.wide(a[K.ARG_FIRST])
        local nhi, nlo = S.at(K.COUNT_NEXT)
        local ehi, elo = S.at(K.COUNT_END)
        S.first, S.n = a[K.ARG_FIRST], n
        if set[K.SET_MANAGED + 1] == 0 then return S.say(K.REFUSED) end
        if not S.of_this_epoch() or (a[K.ARG_MAX] or '-1') ~= S.digits(S.max_of(set)) then
            return S.say(K.STALE)
        end
        if S.order(fhi, flo, nhi, nlo) < 0 or S.order(fhi, flo, ehi, elo) < 0 then
            return S.say(K.REFUSED)
        end
        S.renew(set)
        if by ~= 1 or S.order(nhi, nlo, ehi, elo) >= 0 or S.order(fhi, flo, ehi, elo) ~= 0 then
            nhi, nlo = fhi, flo
        end
        S.put_wide(K.COUNT_NEXT, nhi, nlo)
        S.put_wide(K.COUNT_END, S.plus(fhi, flo, (n - 1) * by + 1))
        S.say(K.OK)
        S.finish(1, 1)
    end
end

-- ---- show -----------------------------------------------------------------------------------

function S.show()
    if not S.there() then S.status = K.MISSING return end
    S.say(K.OK)
    local c, set = S.count, S.set
    S.rows = {{S.next_id, S.max, S.step, S.digits(set[K.SET_START + 1], set[K.SET_START + 2]), S.by,
        S.digits(set[K.SET_LIMIT + 1], set[K.SET_LIMIT + 2]),
        S.digits(c[K.COUNT_ISSUED + 1], c[K.COUNT_ISSUED + 2]), c[K.COUNT_SEGMENTS + 1],
        c[K.COUNT_BEGAN + 1], c[K.COUNT_LASTED + 1], set[K.SET_MANAGED + 1]}}
end

-- ---- all together -----------------------------------------------------------------------------

function S.run()
    local verb = S.verb
    if verb == K.V_SHOW then return S.show() end
    if S.req then
        S.answer = S.kept()
        if S.answer then return end
    end
    if verb == K.V_NEXT then return S.next_ids() end
    if not S.create then S.make_steps() end
    if verb == K.V_CREATE then return S.create() end
    if verb == K.V_SET then return S.settings() end
    if verb == K.V_DELETE then return S.delete() end
    if verb == K.V_RETURN then return S.give_back() end
    if verb == K.V_INSTALL then return S.install() end
    S.answer = {K.INVALID, 'the verb is not known'}
end
