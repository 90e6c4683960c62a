-- SPDX-License-Identifier: MIT
--
-- One partition of the room directory: the same steps as src/nouns/room/rooms.c, in its order.
-- Its records are in src/core/rooms_records.def.

function S.begin() S.more, S.token = 0, 0 end
function S.fields(t, n)
    t[n + 1] = S.more
    if S.verb == K.V_PUT or S.verb == K.V_LIST then t[n + 2] = S.token end
end
function S.hand(out, answer)
    local rows = {}
    local function int(n) return string.format('%.0f', n) end
    if answer[10] then out[#out + 1], out[#out + 2] = 'token', int(answer[10]) end
    out[#out + 1], out[#out + 2] = 'more', int(answer[9])
    for i, row in ipairs(answer[8]) do
        rows[i] = {'room', row[1], 'state', string.match(sub(K.WORDS, row[2] * 10 + 1, row[2] * 10 + 10), '^%S+'), 'created', int(row[3]), 'token', int(row[4])}
    end
    if rows[1] then out[#out + 1], out[#out + 2] = 'rows', rows end
    return true
end

function S.add_row(r)
    S.rows = S.rows or {}
    S.rows[#S.rows + 1] = {r.id, r.state, r.rank, r.token}
end

function S.find_it() return S.exists and S.find(K.KIND_ENTRY, S.a[K.ARG_ROOM]) end

function S.put()
    local r, created = S.find_it(), S.a[K.ARG_CREATED]
    if r then
        S.add_row(r) -- the entry before the change
    else
        r = S.fresh(K.KIND_ENTRY, S.a[K.ARG_ROOM])
        r.rank, r.ends, r.slots = S.now, S.moment, 3
        if not S.exists then S.renumber() end
        r.order = S.version + 1
        S.add(K.COUNT_ENTRIES, 1)
    end
    if S.a[K.ARG_CLOSED] then -- unless an engine is about to open it again
        if r.state ~= K.OPENING and r.state ~= K.DOUBTED then r.state = K.CLOSED end
    elseif r.state ~= K.DOUBTED then
        r.state = K.OPENING
    end
    if created then r.state, r.rank = K.OPEN, created end
    r.token, r.N_PUT, S.token = S.version + 1, S.moment, S.version + 1
    S.save(r)
    S.commit(S.verb, 0, r.state, r)
end

function S.drop_it()
    local r = S.find_it()
    S.status = K.SAME
    if not r then return end
    S.status = K.STALE
    if S.a[K.ARG_TOKEN] ~= r.token then return end
    local before = r.state
    S.status = K.REFUSED
    if (before == K.OPENING or before == K.DOUBTED) and S.moment < r.N_PUT + K.OPENING_MS then
        if before == K.DOUBTED then return end
        r.state = K.DOUBTED -- the client that is opening the room checks it again
        S.save(r)
        S.commit(S.verb, before, r.state, r)
        return
    end
    S.status = K.OK
    S.erase(r)
    S.add(K.COUNT_ENTRIES, -1)
    S.commit(S.verb, before, 0, r)
    if S.count[K.COUNT_ENTRIES + 1] == 0 then S.vanish() end
end

-- See list().
function S.list()
    local a = S.a
    local max, from, after, rest = a[K.ARG_MAX] or K.LIST_DEFAULT, a[K.ARG_CREATED] or 0, a[K.ARG_AFTER], a[K.ARG_TOKEN]
    local hi, order, n, looked = from, rest or 0, 0, 0
    while S.exists do
        local r = S.walk(K.KIND_ENTRY, '0', nil, hi, order)
        if not r then return end
        local same = r.rank == hi and order > 0
        if looked == K.PAGE_MAX or not same and (n >= max or rest) then
            S.more, S.token = 1, same and order or 0
            return
        end
        looked, hi, order = looked + 1, r.rank, r.order
        if not (after and r.rank == from and r.id <= after) then
            n = n + 1
            S.add_row(r)
        end
    end
end

-- See claim_some().  Return how many entries were changed, and how many more may be claimed.
function S.claim_some(done, left)
    local worker, hi, order, n = S.a[K.ARG_WORKER], nil, nil, 0
    while n < K.SOME and S.steps > 0 and (done or left > 0) do
        local r = S.walk(K.KIND_ENTRY, done and '2' or '1', done and worker or nil, hi, order)
        if not r or not done and r.ends > S.moment then break end
        hi, order = r.ends, r.order
        if done then
            if r.ends > S.moment then r.ends = r.N_CLAIMED + S.a[K.ARG_EVERY] end
            r.owner, r.slots = '', 3
        else
            r.ends, r.N_CLAIMED, r.owner, r.slots = S.moment + S.a[K.ARG_LEASE], S.moment, worker, 7
            left = left - 1
            S.add_row(r)
        end
        S.save(r)
        n, S.steps = n + 1, S.steps - 1
    end
    if n > 0 then S.commit(S.verb, 0, 0, nil) end
    return n, left
end

function S.claim()
    local left, all, n = S.a[K.ARG_MAX] or K.LIST_DEFAULT, 0, nil
    S.status, S.steps = K.SAME, K.CLAIM_MAX
    if not S.exists then return end
    repeat
        n = S.a[K.ARG_TOKEN] and 0 or S.claim_some(true, left)
        all = all + n
    until n == 0
    if S.steps == 0 then S.more = 1 end
    repeat
        n, left = S.claim_some(false, left)
        all = all + n
    until n == 0 or left == 0
    if S.steps == 0 and left > 0 then S.more = 1 end
    if all > 0 then S.status = K.OK end
end

function S.run()
    local verb = S.verb
    if S.req then
        S.answer = S.kept()
        if S.answer then return end
    end
    if verb == K.V_PUT then return S.put() end
    if verb == K.V_DROP then return S.drop_it() end
    if verb == K.V_LIST then return S.list() end
    if verb == K.V_CLAIM then return S.claim() end
    local r = S.find_it()
    S.status = r and K.OK or K.MISSING
    if r then S.add_row(r) end
end
