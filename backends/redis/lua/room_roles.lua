-- SPDX-License-Identifier: MIT
--
-- Roles and shares: src/nouns/room/room_roles.c.

-- ---- roles and shares ---------------------------------------------------------------------

function S.make_owned()
    -- Return the record @id of @kind after the expiries of its owner were applied, or nil.
    function S.load_owned(kind, id)
        local r = S.find(kind, id)
        if not r then return nil end
        S.load(r.owner)
        return S.find(kind, id)
    end

    function S.recount(id, n, by)
        local r = S.find(K.KIND_MEMBER, id)
        if r then
            r[n] = r[n] + by
            S.save(r)
        end
    end

    function S.set_role()
        if not S.gate(K.ROOM_E_CHANGE) then return end
        local a, member = S.a, nil
        local id, holder = a[K.ARG_ROLE], a[K.ARG_HOLDER]
        if holder ~= '' then
            member = S.load_present(holder)
            if not member then return S.not_in() end
        end
        local r = S.load_owned(K.KIND_ROLE, id)
        S.name = r and r.owner or ''
        if a[K.ARG_IF] and a[K.ARG_IF] ~= S.name then return S.say(K.STALE) end
        if holder == S.name then return S.say(K.SAME) end
        if member and member.N_ROLES >= K.ROLES_MAX then
            S.because = 'the member has too many roles (limit 16)'
            return S.say(K.FULL)
        end
        if not r and S.count[K.COUNT_ROLES + 1] >= K.FIELDS_MAX then
            S.because = 'the room has too many roles (limit 1000)'
            return S.say(K.FULL)
        end
        if r then S.recount(r.owner, K.N_ROLES, -1) end
        if member then S.recount(holder, K.N_ROLES, 1) end
        S.add(K.COUNT_ROLES, (r and 0 or 1) - (member and 0 or 1))
        if member then
            r = r or S.fresh(K.KIND_ROLE, id)
            r.slots, r.order, r.token, r.owner = 4, S.version + 1, S.version + 1, holder
            S.save(r)
        else
            S.erase(r)
        end
        r.owner, S.name = holder, holder
        S.say(K.OK)
        S.finish(0, 0, r, mpack({'holder', holder}))
    end

    function S.share()
        if not S.gate(K.ROOM_E_CHANGE) then return end
        local a = S.a
        local id, owner = a[K.ARG_SHARE], a[K.ARG_MEMBER]
        S.name = id
        S.load_owned(K.KIND_SHARE, id)
        local member = S.load_present(owner)
        if not member then return S.not_in() end
        local r = S.find(K.KIND_SHARE, id)
        if not S.expected(K.ROW_SHARE, r) then return end
        if r and r.owner ~= owner then
            S.because = "the share belongs to another member"
            return S.say(K.REFUSED)
        end
        if not r and member.N_SHARES >= K.SHARES_MAX then
            S.because = 'the member has too many shares (limit 16)'
            return S.say(K.FULL)
        end
        local data, changed, full = S.merge(r and r.data or '', false)
        if full then return S.too_large(S.say) end
        if r and not changed then return S.say(K.SAME) end
        if not r then
            r = S.fresh(K.KIND_SHARE, id)
            r.owner, r.slots, r.order = owner, 4, S.version + 1
            S.add(K.COUNT_SHARES, 1)
            S.recount(owner, K.N_SHARES, 1)
        end
        r.data = data
        S.save(r)
        S.say(K.OK)
        S.finish(0, 0, r, S.told_of())
    end

    function S.unshare()
        if not S.gate(K.ROOM_E_CHANGE) then return end
        S.name = S.a[K.ARG_SHARE]
        local r = S.find(K.KIND_SHARE, S.name)
        if not S.expected(K.ROW_SHARE, r) then return end
        if not r then return S.say(K.SAME) end
        S.erase(r)
        S.add(K.COUNT_SHARES, -1)
        S.recount(r.owner, K.N_SHARES, -1)
        S.say(K.OK)
        S.finish(0, 0, r)
    end
end

-- ---- sweep --------------------------------------------------------------------------------

function S.sweep()
    local max, ttl, version = S.sweep_max(S.a[K.ARG_MAX]), S.a[K.ARG_TTL], S.version
    if not S.gate(K.ROOM_E_CHANGE) then return end
    if not S.expire_due then S.make_due() end
    local n, more = S.expire_due(max)
    while ttl and not more and S.exists and S.n(K.COUNT_STATE) ~= K.ROOM_CLOSING do
        local r = S.walk(K.KIND_MEMBER, '0')
        if not r or r.rank + ttl > S.moment then break end
        if n >= max then more = true break end
        S.remove_one(r, K.V_EXPIRE, S.moment)
        n = n + 1
    end
    S.counted, S.more = n, more and 1 or 0
    S.say(n > 0 and K.OK or K.SAME)
    if S.req and S.exists and S.version ~= version then S.keep_last() end
end
