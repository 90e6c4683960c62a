-- SPDX-License-Identifier: MIT
--
-- Refusals: src/nouns/queue/queue_refuse.c.

-- Return the record of the refusal of @u by @agent, or of a missed offer; nil if there is none.
function S.refused(u, agent)
    return u.data ~= '' and S.find(K.KIND_REFUSAL, u.data .. '.' .. sub(redis.sha1hex(agent), 1, 13)) or nil
end

function S.make_refusals()
    function S.refuse(u, agent, at)
        local r = S.refused(u, agent)
        if u.data == '' then u.data = format('%.0f', S.change.v) end
        if not r then
            r = S.fresh(K.KIND_REFUSAL, u.data .. '.' .. sub(redis.sha1hex(agent), 1, 13))
            r.group, r.owner, r.data = u.data, agent, u.id
        end
        r.order, r.R_AT, r.ends, r.rank, r.slots = S.change.v, at, at + S.set[K.SET_ASK_AGAIN + 1], 0, 6
        S.save(r)
    end

    function S.refuse_no_more(u, agent)
        local r = S.refused(u, agent)
        if r then S.erase(r) end
    end

    -- Erase up to @max refusals of @key.  Return true if there are more.
    function S.refusals_erase(key, max)
        local n = 0
        for slot = 0, 1 do
            local hi, order
            while true do
                local r = S.walk(K.KIND_REFUSAL, slot == 0 and '0' or '1', key, hi, order)
                if not r then break end
                if n == max then return true end
                hi, order, n = slot == 0 and r.rank or r.ends, r.order, n + 1
                S.erase(r)
            end
        end
        return false
    end

    function S.forget(u, at)
        if S.refusals_erase(u.data, K.FORGET_AT_ONCE) then
            local r = S.fresh(K.KIND_REFUSAL, u.data)
            r.state, r.order, r.ends, r.slots = K.R_FORGOTTEN, S.change.v, at > 0 and at or 1, 2
            S.save(r)
        end
    end

    function S.search_later(login, search)
        local id = format('?%.0f', login)
        local r = S.find(K.KIND_REFUSAL, id)
        if not r then
            r = S.fresh(K.KIND_REFUSAL, id)
            r.state, r.token, r.order = K.R_SEARCH, login, login
        end
        r.R_AT, r.R_ORDER, r.R_REFUSALS, r.ends, r.slots = search.rank or 0, search.order or 0, search.refusals and 1 or 0,
            S.moment > 0 and S.moment or 1, 2
        S.save(r)
        S.apply()
    end

    -- Apply the expiry of @r, a refusal.
    function S.expire_refusal(r)
        if r.state == K.R_REFUSED then -- the user may be offered to the agent again
            r.rank, r.ends, r.slots = r.R_AT, 0, 5
            S.save(r)
            local u = S.find(K.KIND_USER, r.data)
            if u and u.data == r.group then S.todo_user(u) end
            return S.apply()
        elseif r.state == K.R_FORGOTTEN then
            if not S.refusals_erase(r.id, K.FORGET_MAX) then S.erase(r) end
            return S.apply()
        end
        S.erase(r)
        S.apply()
        if S.automatic(S.set) then
            S.match_agent(r.token, K.CAPACITY_MAX, {refusals = r.R_REFUSALS ~= 0, rank = r.R_AT, order = r.R_ORDER})
        end
    end

    -- Return an agent that has refused @u and to which @u may be offered again: see pick_again().
    function S.pick_again(u, self)
        local rank, order
        while true do
            local r = S.walk(K.KIND_REFUSAL, '0', u.data, rank, order)
            if not r then return nil end
            rank, order = r.rank, r.order
            if r.owner == self then return {id = self} end
            local a = S.find(K.KIND_AGENT, r.owner)
            if a and S.is_open(a) and not S.due_now(a) and S.serves(S.agent_read(a), u.group) then return a end
        end
    end

    -- Return the user whose refusal by @a is the oldest, if no other agent can get it, or nil; and true if the
    -- search stopped before the end: see refused_user().
    function S.refused_user(a, search)
        while true do
            local r = S.walk(K.KIND_REFUSAL, '2', a.id, 0, search.order)
            if not r then return nil end
            if S.is_enough() then return nil, true end
            search.order = r.order
            local u = r.ends == 0 and S.find(K.KIND_USER, r.data)
            if u and u.state == K.USER_WAITING and not S.due_now(u) and u.data == r.group and S.serves(a, u.group) then
                if not S.pick_fresh(u, (S.change.v or S.version) + 1) and S.pick_again(u, a.id).id == a.id then return u end
                S.passed = true
            end
            S.looked = S.looked + 1
        end
    end
end
