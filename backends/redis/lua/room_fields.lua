-- SPDX-License-Identifier: MIT
--
-- Fields and values of all members: src/nouns/room/room_fields.c.

-- ---- fields -------------------------------------------------------------------------------

-- Return the data of a notice: see tell_fields().
function S.told_of(field, value)
    local t = {field, value}
    if S.a[K.ARG_FIELDS] then
        local f = munpack(S.a[K.ARG_FIELDS])
        for i = 1, #f do t[#t + 1] = f[i] end
    end
    if #t == 0 then return '' end
    local text = mpack(t)
    return #text > K.DATA_MAX and '\192' or text
end

-- Add the fields of the command to @data.  Return the new text, whether anything changed, and whether there are
-- too many.  See merge().
function S.merge(data, of_member, field)
    local a, t, v, changed, full = S.a, data ~= '' and munpack(data) or {}, S.version + 1, false, false
    if not S.exists then v = 1 end
    local function set(name, value)
        local all = of_member and S.find(K.KIND_ALL, name)
        local at
        for i = 1, #t, 3 do
            if t[i] == name then at = i break end
        end
        if at and t[at + 2] > (all and all.order or 0) and t[at + 1] == value then return end
        if not at then
            if #t / 3 == K.OWN_FIELDS_MAX then
                full = true
                return
            end
            at = #t + 1
            t[at] = name
        end
        t[at + 1], t[at + 2], changed = value, v, true
    end
    if field then set(field, a[K.ARG_VALUE]) end
    if a[K.ARG_FIELDS] then
        local f = munpack(a[K.ARG_FIELDS])
        for i = 1, #f, 2 do set(f[i], f[i + 1]) end
    end
    local text = #t > 0 and mpack(t) or ''
    return text, changed, full or #text > K.VALUE_MAX
end

-- Return whether the value of @now (nil: none) is that of `if=`; otherwise answer `stale`.
function S.expected(kind, now)
    local must = S.a[K.ARG_IF]
    if not must or must == (now and now.data or '') then return true end
    S.say(K.STALE)
    if now then S.add_row(kind, now) end
    return false
end

-- Return the current value of @field for member @r: its own, or that of all if it was set later.
function S.value_of(r, field)
    local now, t = S.find(K.KIND_ALL, field), r.data ~= '' and munpack(r.data) or {}
    for i = 1, #t, 3 do
        if t[i] == field and t[i + 2] > (now and now.order or 0) then
            return {id = field, owner = '', data = t[i + 1], order = t[i + 2]}
        end
    end
    return now
end

function S.make_fields()
    -- Store @value.  Return the record, or nil if the fields are too many or too large.
    function S.put_value(r, kind, field, value)
        local count = kind == K.KIND_FIELD and K.COUNT_FIELDS or K.COUNT_ALLS
        if r then
            S.add(K.COUNT_BYTES, -(#r.id + #r.data))
        else
            S.add(count, 1)
            r = S.fresh(kind, field)
        end
        r.data, r.order = value, S.version + 1
        S.add(K.COUNT_BYTES, #r.id + #r.data)
        if S.n(count) > K.FIELDS_MAX or S.n(K.COUNT_BYTES) > K.BYTES_MAX then return nil end
        S.save(r)
        return r
    end

    function S.set_one(field, value)
        local r = S.find(K.KIND_FIELD, field)
        return r and r.data == value or S.put_value(r, K.KIND_FIELD, field, value)
    end

    function S.set_fields()
        if not S.gate(K.ROOM_E_CHANGE) then return end
        local a = S.a
        local field, value = a[K.ARG_FIELD], a[K.ARG_VALUE]
        if not S.expected(K.ROW_FIELD, S.find(K.KIND_FIELD, field)) then return end
        local fits = S.set_one(field, value)
        if a[K.ARG_FIELDS] then
            local f = munpack(a[K.ARG_FIELDS])
            for i = 1, #f, 2 do fits = fits and S.set_one(f[i], f[i + 1]) end
        end
        if not fits or S.pn == 0 then
            S.drop()
            if not fits then return S.too_many() end
            return S.say(K.SAME)
        end
        S.say(K.OK)
        S.finish(0, 0, {token = 0, ends = 0, owner = '', id = field}, S.told_of(field, value))
    end

    function S.unset()
        if not S.gate(K.ROOM_E_CHANGE) then return end
        local r = S.find(K.KIND_FIELD, S.a[K.ARG_FIELD])
        if not S.expected(K.ROW_FIELD, r) then return end
        if not r then return S.say(K.SAME) end
        S.erase(r)
        S.add(K.COUNT_FIELDS, -1)
        S.add(K.COUNT_BYTES, -(#r.id + #r.data))
        S.say(K.OK)
        S.finish(0, 0, r)
    end

    function S.all()
        if not S.gate(K.ROOM_E_CHANGE) then return end
        local field, value = S.a[K.ARG_FIELD], S.a[K.ARG_VALUE]
        local r = S.find(K.KIND_ALL, field)
        if not S.expected(K.ROW_ALL, r) then return end
        r = S.put_value(r, K.KIND_ALL, field, value)
        if not r then
            S.drop()
            return S.too_many()
        end
        S.say(K.OK)
        S.finish(0, 0, r, S.told_of(field, value))
    end

    function S.set_member()
        if not S.gate(K.ROOM_E_CHANGE) then return end
        local a = S.a
        local field = a[K.ARG_FIELD]
        S.name = a[K.ARG_MEMBER]
        local r = S.load_present(S.name)
        if not r then return S.not_in() end
        if a[K.ARG_IF] and not S.expected(K.ROW_FIELD, S.value_of(r, field)) then return end
        local data, changed, full = S.merge(r.data, true, field)
        if full then return S.too_large(S.say) end
        if not changed then return S.say(K.SAME) end
        r.data = data
        S.save(r)
        S.say(K.OK)
        S.finish(r.state, r.state, r, S.told_of(field, a[K.ARG_VALUE]))
    end
end
