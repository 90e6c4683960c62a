-- SPDX-License-Identifier: MIT
--
-- The verbs of an id dispenser: the same steps as src/nouns/id/id.c, in its order.
--
-- Products of a count and `by` are at most 10^15, so all sums are exact.
--@wide

-- ---- the answer ---------------------------------------------------------------------------

function S.begin()
    S.first, S.n, S.next_id, S.max, S.step, S.by, S.token, S.more = '0', 0, '0', '0', 0, 0, 0, 0
    S.extra, S.data = nil, nil
end

function S.fields(t, n)
    t[n + 1], t[n + 2], t[n + 3], t[n + 4], t[n + 5], t[n + 6], t[n + 7], t[n + 8] = S.first, S.n, S.next_id,
        S.max, S.step, S.by, S.token, S.more
    local extra, verb = S.extra, S.verb
    if not extra and (verb == K.V_CREATE or verb == K.V_SET) then
        extra = {'0', 0, 0, '0', 0, 0, 0, 0, 0, verb == K.V_SET and 0 or nil}
    elseif not extra and verb == K.V_CHANGES then
        extra = {0}
    end
    if extra then
        for i = 1, #extra do t[n + 8 + i] = extra[i] end
    end
end

function S.hand(out, answer)
    local names = {'first', 'n', 'next', 'max', 'step', 'by', 'token'}
    for i = 1, 7 do
        local v = answer[8 + i]
        out[#out + 1] = names[i]
        out[#out + 1] = type(v) == 'number' and format('%.0f', v) or v
    end
    names = {'next', 'max', 'step', 'start', 'by', 'limit', 'issued', 'segments', 'began', 'lasted',
        'managed'}
    if S.verb ~= K.V_SHOW then return false end
    for _, row in ipairs(answer[8]) do
        for i = 4, #names do
            out[#out + 1] = names[i]
            out[#out + 1] = type(row[i]) == 'number' and format('%.0f', row[i]) or row[i]
        end
    end
    return true
end

-- ---- the segment --------------------------------------------------------------------------

function S.there() return S.exists and S.count[K.COUNT_THERE + 1] ~= 0 end

-- Return the last id of the current segment; nil if there is no segment.
function S.max_of(set)
    local stop, limit = S.get(S.count, K.COUNT_END), S.get(set, K.SET_LIMIT)
    if stop[1] == 0 and stop[2] == 0 then return nil end
    stop = S.plus(stop, -1)
    return S.less(limit, stop) and limit or stop
end

function S.max_text(set)
    local max = S.max_of(set)
    return max and S.digits(max) or '-1'
end

function S.next_of(set)
    local next = S.get(S.count, K.COUNT_NEXT)
    return S.less(S.get(set, K.SET_LIMIT), next) and '-1' or S.digits(next)
end

-- See answer(): the values include the collected writes.
function S.say(status)
    local set = S.pset or S.set
    S.status, S.next_id, S.max = status, S.next_of(set), S.max_text(set)
    S.step, S.by = S.count[K.COUNT_STEP + 1], set[K.SET_BY + 1]
end

function S.finish(from, to)
    if S.req then S.keep(S.version + 1) end
    S.commit(S.verb, from, to, nil, S.data)
end

-- Likewise for ids that were issued, returned or installed; the notice contains them.
function S.finish_ids()
    S.data = S.is_told() and mpack({'first', S.first, 'n', format('%.0f', S.n)}) or nil
    S.finish(1, 1)
end

-- Likewise for settings.
function S.finish_settings(from)
    S.data = S.given()
    S.finish(from, 1)
end

-- Begin a new segment.
function S.renew(set)
    local c = S.count
    if c[K.COUNT_SEGMENTS + 1] > 0 then
        local lasted, life = math.max(S.moment - c[K.COUNT_BEGAN + 1], 0), set[K.SET_LIFE + 1]
        local step, least, most = c[K.COUNT_STEP + 1], set[K.SET_STEP + 1], set[K.SET_STEP_MAX + 1]
        if life > 0 and lasted < life then
            step = step * 2
        elseif life > 0 and floor(lasted / 2) >= life then
            step = floor(step / 2)
        end
        if step > most then step = most end
        if step < least then step = least end
        S.put_count(K.COUNT_LASTED, lasted)
        S.put_count(K.COUNT_STEP, step)
    end
    S.add(K.COUNT_SEGMENTS, 1)
    S.put_count(K.COUNT_BEGAN, S.moment)
end

-- ---- next ---------------------------------------------------------------------------------

function S.next_ids()
    if not S.there() then S.status = K.MISSING return end
    local c, set, n = S.count, S.set, S.a[K.ARG_N] or 1
    local by, next, stop, limit = set[K.SET_BY + 1], S.get(c, K.COUNT_NEXT), S.get(c, K.COUNT_END),
        S.get(set, K.SET_LIMIT)
    local last = S.plus(next, (n - 1) * by)
    if S.less(limit, last) then
        S.first, S.n = S.next_of(set), 0
        -- The difference is less than n * by, so it is exact.
        if S.first ~= '-1' then S.n = floor(S.small(S.minus(limit, next), 1000000000000000) / by) + 1 end
        return S.say(K.FULL)
    end
    local managed = set[K.SET_MANAGED + 1] ~= 0
    if managed and (not S.less(last, stop) or c[K.COUNT_STORE + 1] ~= S.server()) then return S.say(K.EMPTY) end
    if not S.less(last, stop) then
        S.renew(set)
        -- See usher__segment_extend().
        if not S.less(next, S.plus(stop, by)) then stop = S.plus(next, 1 - by) end
        stop = S.plus(stop, c[K.COUNT_STEP + 1] * by)
        if not S.less(last, stop) then stop = S.plus(last, 1) end
        S.put_pair(K.COUNT_END, stop)
    end
    S.put_pair(K.COUNT_NEXT, S.plus(last, by))
    S.put_pair(K.COUNT_ISSUED, S.plus(S.get(c, K.COUNT_ISSUED), n))
    S.put_count(K.COUNT_TOKEN, S.version + 1)
    S.first, S.n, S.token = S.digits(next), n, S.version + 1
    S.say(K.OK)
    S.finish_ids()
end

function S.make_steps()
    -- ---- settings -----------------------------------------------------------------------

    function S.settings_from(set, why)
        S.extra = {S.digits(S.get(set, K.SET_START)), set[K.SET_STEP + 1], set[K.SET_BY + 1],
            S.digits(S.get(set, K.SET_LIMIT)), set[K.SET_STEP_MAX + 1],
            set[K.SET_LIFE + 1], set[K.SET_MANAGED + 1], set[K.SET_REQUESTS + 1], set[K.SET_LOG + 1]}
        if S.verb == K.V_SET then S.extra[10] = why or 0 end
    end

    -- Return a copy of @from with the given settings, whether it is equal to the stored settings, and whether
    -- any setting was given.
    function S.settings_take(from)
        local a, set, given, same = S.a, {}, false, true
        for i = 1, #from do set[i] = from[i] end
        local function take(i, value)
            if value then set[i + 1], given = value, true end
        end
        local function take_wide(i, text)
            if text then
                local b = S.big(text)
                set[i + 1], set[i + 2], given = b[1], b[2], true
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
        take(K.SET_LOG, a[K.ARG_LOG])
        for i = 1, #set do same = same and set[i] == S.set[i] end
        return set, same, given
    end

    function S.create()
        local asked, same = S.settings_take(K.DEFAULTS)
        if S.there() then
            S.settings_from(S.set)
            return S.say(same and K.SAME or K.REFUSED)
        end
        local next, stop = S.get(asked, K.SET_START), {0, 0}
        S.pset = asked
        S.put_count(K.COUNT_THERE, 1)
        S.put_count(K.COUNT_STEP, asked[K.SET_STEP + 1])
        if asked[K.SET_MANAGED + 1] == 0 then
            stop = S.plus(next, (asked[K.SET_STEP + 1] - 1) * asked[K.SET_BY + 1] + 1)
            S.renew(asked)
        end
        S.put_pair(K.COUNT_NEXT, next)
        S.put_pair(K.COUNT_END, stop)
        S.settings_from(asked)
        S.say(K.OK)
        S.finish_settings(0)
    end

    -- Return the first id from @id on that is start + k * by.
    function S.on_grid(id, set)
        local start, by = S.get(set, K.SET_START), set[K.SET_BY + 1]
        local function rest(of) return (of[1] % by * 1000000000 + of[2]) % by end
        local up = (rest(start) + by - rest(id)) % by
        return up > 0 and S.plus(id, up) or id
    end

    function S.set_refused(why)
        S.settings_from(S.set, why)
        S.say(K.REFUSED)
    end

    function S.settings()
        if not S.there() then S.status = K.MISSING return end
        local new, same, given = S.settings_take(S.set)
        local text, by, next = S.a[K.ARG_NEXT], S.set[K.SET_BY + 1], S.get(S.count, K.COUNT_NEXT)
        local to = text and S.big(text) or next
        given = given or text
        if S.less(to, next) then return S.set_refused(K.WHY_BACK) end
        if new[K.SET_BY + 1] % by ~= 0 then return S.set_refused(K.WHY_CLASS) end
        if S.less(next, to) or new[K.SET_BY + 1] ~= by then to = S.on_grid(to, new) end
        local raises = S.less(next, to)
        S.settings_from(new)
        if not raises and same then return S.say(given and K.SAME or K.OK) end
        if new[K.SET_STEP + 1] ~= S.set[K.SET_STEP + 1] then S.put_count(K.COUNT_STEP, new[K.SET_STEP + 1]) end
        S.pset = new
        if raises then S.put_pair(K.COUNT_NEXT, to) end
        if raises or new[K.SET_BY + 1] ~= by then S.put_count(K.COUNT_TOKEN, 0) end
        S.say(K.OK)
        S.finish_settings(1)
    end

    function S.delete()
        if not S.there() then S.status = K.SAME return end
        for i = 0, #S.count - 1 do
            -- The log is kept, like the versions: the next dispenser of this name continues both.
            if i ~= K.COUNT_REQUESTS and i ~= K.COUNT_CHANGES and i ~= K.COUNT_SINCE then S.put_count(i, 0) end
        end
        S.pset = K.DEFAULTS
        S.pset[K.SET_LOG + 1] = S.set[K.SET_LOG + 1]
        S.finish(1, 0)
    end

    -- ---- return, install ----------------------------------------------------------------

    function S.give_back()
        if not S.there() then S.status = K.MISSING return end
        local a, c = S.a, S.count
        local n, token, first = a[K.ARG_N], a[K.ARG_TOKEN], S.big(a[K.ARG_FIRST])
        if not token then
            S.answer = {K.INVALID, 'token is missing'} -- only a direct call: the library checks this itself
            return
        end
        local issued, next = S.get(c, K.COUNT_ISSUED), S.get(c, K.COUNT_NEXT)
        local behind = S.plus(first, n * S.set[K.SET_BY + 1])
        S.first, S.n = a[K.ARG_FIRST], n
        if token == 0 or token ~= c[K.COUNT_TOKEN + 1] or S.less(issued, S.big(n))
            or S.less(behind, next) or S.less(next, behind) then
            if token ~= 0 and token == c[K.COUNT_BACK + 1] and not S.less(first, next) and not S.less(next, first) then
                return S.say(K.SAME)
            end
            if S.of_lost(token) then return S.say_lost('token') end
            return S.say(K.STALE)
        end
        S.put_pair(K.COUNT_NEXT, first)
        S.put_pair(K.COUNT_ISSUED, S.plus(issued, -n))
        S.put_count(K.COUNT_TOKEN, 0)
        S.put_count(K.COUNT_BACK, token)
        S.say(K.OK)
        S.finish_ids()
    end

    function S.install()
        if not S.there() then S.status = K.MISSING return end
        local a, set = S.a, S.set
        local n, by, first = a[K.ARG_N], set[K.SET_BY + 1], S.big(a[K.ARG_FIRST])
        local next, stop = S.get(S.count, K.COUNT_NEXT), S.get(S.count, K.COUNT_END)
        S.first, S.n = a[K.ARG_FIRST], n
        if set[K.SET_MANAGED + 1] == 0 then return S.say(K.REFUSED) end
        if (a[K.ARG_HIGHEST] or '-1') ~= S.max_text(set) then return S.say(K.STALE) end
        if S.less(first, next) or S.less(first, stop) then return S.say(K.REFUSED) end
        local server = S.server()
        S.renew(set)
        -- On another server the rest of the segment may have been issued by the former server.
        if S.count[K.COUNT_STORE + 1] ~= server or by ~= 1 or not S.less(next, stop) or S.less(stop, first) then
            if S.less(next, first) then S.put_count(K.COUNT_TOKEN, 0) end
            next = first
        end
        S.put_count(K.COUNT_STORE, server)
        S.put_pair(K.COUNT_NEXT, next)
        S.put_pair(K.COUNT_END, S.plus(first, (n - 1) * by + 1))
        S.say(K.OK)
        S.finish_ids()
    end
end

-- ---- show -----------------------------------------------------------------------------------

function S.show()
    if not S.there() then S.status = K.MISSING return end
    S.say(K.OK)
    local c, set = S.count, S.set
    S.rows = {{S.next_id, S.max, S.step, S.digits(S.get(set, K.SET_START)), S.by,
        S.digits(S.get(set, K.SET_LIMIT)), S.digits(S.get(c, K.COUNT_ISSUED)),
        c[K.COUNT_SEGMENTS + 1],
        c[K.COUNT_BEGAN + 1], c[K.COUNT_LASTED + 1], set[K.SET_MANAGED + 1], ''}}
end

-- ---- all together -----------------------------------------------------------------------------

function S.run()
    local verb = S.verb
    if verb == K.V_SHOW then return S.show() end
    if verb == K.V_CHANGES then
        if not S.log_add then S.make_log() end
        return S.log_changes()
    end
    if S.req then
        S.answer = S.kept()
        if S.answer then return end
    end
    if S.other_version() then return end
    if verb == K.V_NEXT then return S.next_ids() end
    if not S.create then S.make_steps() end
    if verb == K.V_CREATE then return S.create() end
    if verb == K.V_SET then return S.settings() end
    if verb == K.V_DELETE then return S.delete() end
    if verb == K.V_RETURN then return S.give_back() end
    if verb == K.V_INSTALL then return S.install() end
    S.answer = {K.INVALID, 'unknown verb'}
end
