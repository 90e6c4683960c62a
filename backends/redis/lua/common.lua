-- SPDX-License-Identifier: MIT
--
-- The parts that all nouns share: a record store on a hash and two sorted sets, the scope's header,
-- its clock and version, request ids, and the writing of changes.  The steps are those of
-- src/change/work.c, in the same order.
--
-- A script runs once for each call and keeps nothing for the next one.  Making a function takes
-- long, so functions are made only when they are needed.  A function also looks up each local that
-- it uses when it is made, so shared variables are fields of one table, S.  K.NAME is a constant of
-- the C tables (`usher tables NOUN --lua`); the library inserts its value.  Names of records (r.N_CALLS,
-- K.KIND_NUMBER) get theirs when the library is built: see embed-lua.sh.
--
-- ARGV[1] of a call contains one or more commands on one scope, packed one after the other: see
-- pack_call() in pipeline.c.  Each is applied wholly or not at all.  An answer has the form that
-- usher_result_unpack() reads (or that of number_fast.h); several answers are an array.
--
-- Keys: each has a member that is never removed, so that no key is ever empty.  (A key that vanishes
-- and comes back inside a script makes the script fail half-way while its slot migrates.)  Numbers
-- are stored highest byte first: 1 byte for formats, states and slots, 7 bytes for all others.
--   hash   head      format, epoch (16 hex digits), version, clock, due (-1: nothing is due), the server
--                    that wrote it last (12 hex digits of its replication id as a number), counts
--          gaps      pairs of numbers: see struct usher_gap
--          gone      the former head, if the scope was dropped; the other fields are absent then,
--                    except gaps
--          settings  one after the other; absent if all have their defaults
--          KIND:ID   a word for people (K.WORDS: the state, or the kind if the kind has no states;
--                    10 bytes with blanks), state, slots, rank, order, token, until, n0 … n3,
--                    n4 … n7 (only if slots has bit 7), owner, group (each ends with a \0), data.
--   index  all scores are 0, so members are ordered by their bytes: ! (the permanent member), and
--          KIND 0 position ID                 the list of ready records (store.h)
--          KIND a TEXT \0 position ID         the same by group
--          KIND n ID                          all records of a kind that is listed by id.
--   held   likewise for due and held records.  They are often few of many, so their part of the
--          server's memory stays in its caches.  K.PERMANENT is the permanent member; its length
--          keeps the set from being encoded as a list, in which all operations are slow.
--          KIND 1|2 position ID               due, held
--          KIND b|c TEXT \0 position ID       the same by group, owner.
-- A position is hi and order; for held records it is order alone.  Names have no control characters,
-- so a \0 ends them.  They are UTF-8, so no member continues with \255.  Numbers are below 2^53,
-- because Lua is exact up to there.
S.ready = {key = INDEX, zr = {}, rn = 0, za = {}, zn = 0}
S.held = {key = HELD, zr = {}, rn = 0, za = {}, zn = 0}
S.pf, S.pn, S.log, S.ln = {}, 0, {}, 0

function S.damaged() error('the store is damaged', 0) end

-- S.move(K.NOUN_MOVES, from, event, guard): return the new state and the status for @event in state @from
-- if @guard holds (nil: no guard).
function S.move(moves, events, guards, from, event, guard)
    local i = ((from * events + event) * guards + (guard or 0)) * 2 + 1
    local to, status = byte(moves, i, i + 1)
    if to > 57 then error('the table has no row for that', 0) end
    return to - 48, status - 65
end

-- S.slots(K.NOUN_LISTS, state, ends): return the lists that contain a record in @state, as bits.
function S.slots(none, due, state, ends)
    local lists = (ends == 0 and none or due) / 8 ^ state % 8
    return lists - lists % 1
end

-- ---- records -----------------------------------------------------------------------------

-- Return the record @id of @kind (a digit as text), or nil.  Its numbers are n0 to n7; `old` has the
-- stored values.
function S.find(kind, id)
    local field = kind .. ':' .. id
    local text = S.cache[field]
    if text == nil then
        text = call('HGET', HASH, field)
        S.cache[field] = text
    end
    if not text then return nil end
    local state, slots, rank, order, token, ends, n0, n1, n2, n3, owner, group, at
    local n4, n5, n6, n7 = 0, 0, 0, 0
    if byte(text, 12) < 128 then
        state, slots, rank, order, token, ends, n0, n1, n2, n3, owner, group, at = sunpack(
            '>BBI7I7I7I7i7i7i7i7ss', text, 11)
    else
        state, slots, rank, order, token, ends, n0, n1, n2, n3, n4, n5, n6, n7, owner, group, at = sunpack(
            '>BBI7I7I7I7i7i7i7i7i7i7i7i7ss', text, 11)
        slots = slots - 128
    end
    return {kind = kind, id = id, field = field, state = state, slots = slots, rank = rank, order = order,
        token = token, ends = ends, owner = owner, group = group, data = sub(text, at), n0 = n0, n1 = n1,
        n2 = n2, n3 = n3, n4 = n4, n5 = n5, n6 = n6, n7 = n7,
        old = {0, slots, rank, order, 0, ends, owner, group}}
end

-- Return a new record, which is not stored yet.
function S.fresh(kind, id)
    return {kind = kind, id = id, field = kind .. ':' .. id, state = 0, slots = 0, rank = 0, order = 0,
        token = 0, ends = 0, owner = '', group = '', data = '', n0 = 0, n1 = 0, n2 = 0, n3 = 0,
        n4 = 0, n5 = 0, n6 = 0, n7 = 0}
end

-- Return the first record of @kind in list @slot ('0', '1', '2') after (@hi, @order), with @back the last
-- one before it; without @order the first or last of the list.  @by: only records with this group or
-- owner; nil: all.
function S.walk(kind, slot, by, hi, order, back)
    local p = kind .. slot
    if by then p = kind .. (slot == '0' and 'a' or slot == '1' and 'b' or 'c') .. by .. '\0' end
    local at = order and p .. (slot == '2' and spack('>I7', order) or spack('>I7I7', hi, order))
    local m, key = nil, slot == '0' and INDEX or HELD
    if back then
        m = call('ZREVRANGEBYLEX', key, '(' .. (at or p .. '\255'), '[' .. p, 'LIMIT', '0', '1')[1]
    else
        m = call('ZRANGEBYLEX', key, at and '(' .. at .. '\255' or '[' .. p, '(' .. p .. '\255',
            'LIMIT', '0', '1')[1]
    end
    if not m then return nil end
    local r = S.find(kind, sub(m, #p + (slot == '2' and 8 or 15)))
    -- The record must be listed at the position in its fields.  So a walk that continues after it makes
    -- progress, and the record can be removed from the list.
    if r and (sub(m, #p + 1, -#r.id - 1) ~= (slot == '2' and spack('>I7', r.order)
        or spack('>I7I7', slot == '0' and r.rank or r.ends, r.order)) or by and by ~= (slot == '2' and r.owner
        or r.group) or (slot == '0' and r.slots % 2 or slot == '1' and r.slots % 4 - r.slots % 2
        or r.slots - r.slots % 4) == 0) then S.damaged() end
    return r
end

-- Return the number of records of @kind with group @by before (@hi, @order) in list 0.
function S.rank(kind, by, hi, order)
    local p = kind .. 'a' .. by .. '\0'
    return call('ZLEXCOUNT', INDEX, '[' .. p, '(' .. p .. spack('>I7I7', hi, order))
end

-- ---- a change: collected, then committed ------------------------------------------------

-- Remove @tail from the list @all of key @l, and from the list @by after @text …
function S.leave(l, all, by, text, tail)
    local zr, n = l.zr, l.rn + 1
    zr[n] = all .. tail
    if text ~= '' then
        n = n + 1
        zr[n] = by .. text .. '\0' .. tail
    end
    l.rn = n
end

-- … or add it there.
function S.enter(l, all, by, text, tail)
    local za, n = l.za, l.zn + 2
    za[n - 1], za[n] = '0', all .. tail
    if text ~= '' then
        n = n + 2
        za[n - 1], za[n] = '0', by .. text .. '\0' .. tail
    end
    l.zn = n
end

-- Move a record from the lists of its stored values @o to those of its new values @r; both are arrays as
-- `old` of a record, or nil.
function S.lists(kind, id, o, r)
    local os, ns = o and o[2] or 0, r and r[2] or 0
    local was, is = os % 2 == 1, ns % 2 == 1
    if was ~= is or is and (o[3] ~= r[3] or o[4] ~= r[4] or o[8] ~= r[8]) then
        if was then S.leave(S.ready, kind .. '0', kind .. 'a', o[8], spack('>I7I7', o[3], o[4]) .. id) end
        if is then S.enter(S.ready, kind .. '0', kind .. 'a', r[8], spack('>I7I7', r[3], r[4]) .. id) end
    end
    was, is = os % 4 > 1, ns % 4 > 1
    if was ~= is or is and (o[6] ~= r[6] or o[4] ~= r[4] or o[8] ~= r[8]) then
        if was then S.leave(S.held, kind .. '1', kind .. 'b', o[8], spack('>I7I7', o[6], o[4]) .. id) end
        if is then S.enter(S.held, kind .. '1', kind .. 'b', r[8], spack('>I7I7', r[6], r[4]) .. id) end
    end
    was, is = os > 3, ns > 3
    if was ~= is or is and (o[4] ~= r[4] or o[7] ~= r[7]) then
        if was then S.leave(S.held, kind .. '2', kind .. 'c', o[7], spack('>I7', o[4]) .. id) end
        if is then S.enter(S.held, kind .. '2', kind .. 'c', r[7], spack('>I7', r[4]) .. id) end
    end
end

-- Store @r.  Its slots must be set.
function S.save(r)
    local a = {0, r.slots, r.rank, r.order, 0, r.ends, r.owner, r.group}
    local text, word = nil, r.kind * 100 + r.state * 10 - 99
    word = sub(K.WORDS, word, word + 9)
    if r.n4 ~= 0 or r.n5 ~= 0 or r.n6 ~= 0 or r.n7 ~= 0 then
        text = spack('>c10BBI7I7I7I7i7i7i7i7i7i7i7i7ss', word, r.state, r.slots + 128, r.rank, r.order, r.token,
            r.ends, r.n0, r.n1, r.n2, r.n3, r.n4, r.n5, r.n6, r.n7, r.owner, r.group)
    else
        text = spack('>c10BBI7I7I7I7i7i7i7i7ss', word, r.state, r.slots, r.rank, r.order, r.token, r.ends, r.n0,
            r.n1, r.n2, r.n3, r.owner, r.group)
    end
    if r.data ~= '' then text = text .. r.data end
    S.lists(r.kind, r.id, r.old, a)
    if not r.old and string.find(K.LISTED, r.kind, 1, true) then
        S.enter(S.ready, r.kind .. 'n', '', '', r.id)
    end
    if r.slots % 4 > 1 and (S.pdue or S.due) < 0 or r.slots % 4 > 1 and r.ends < (S.pdue or S.due) then
        S.pdue = r.ends
    end
    r.old = a
    local n = S.pn + 2
    S.pf[n - 1], S.pf[n] = r.field, text
    S.pn = n
end

function S.erase(r)
    if not r.old then return end
    S.lists(r.kind, r.id, r.old, nil)
    if string.find(K.LISTED, r.kind, 1, true) then S.leave(S.ready, r.kind .. 'n', '', '', r.id) end
    local n = S.pn + 2
    S.pf[n - 1], S.pf[n] = r.field, false
    S.pn = n
    r.old = nil
end

-- Add @by to count @i of the scope; undone if the change fails.
function S.add(i, by)
    local n, log = S.ln + 2, S.log
    S.count[i + 1] = S.count[i + 1] + by
    log[n - 1], log[n] = i + 1, by
    S.ln = n
end

-- Discard the collected writes.
function S.drop()
    for i = 1, S.ln, 2 do S.count[S.log[i]] = S.count[S.log[i]] - S.log[i + 1] end
    S.ready.rn, S.ready.zn, S.held.rn, S.held.zn = 0, 0, 0, 0
    if S.anew then S.jump_from, S.jump_to = S.anew[1] or nil, S.anew[2] or nil end
    S.pn, S.ln, S.pdue, S.pset, S.anew = 0, 0, nil, nil, nil
end

function S.apply_lists(l)
    if l.rn > 0 then
        call('ZREM', l.key, unpack(l.zr, 1, l.rn))
        S.half = true
    end
    if l.zn > 0 then
        call('ZADD', l.key, unpack(l.za, 1, l.zn))
        S.half = true
    end
    l.rn, l.zn = 0, 0
end

-- With a full memory the server refuses (@why) a script's first write if it needs memory, and no later
-- write.  A command that keeps or gives back a hold (K.FREES) is still applied, after a write that needs no
-- memory.  Returns 'this', and makes that write, if the current command is of this kind; 'other' if one of
-- the @n commands in @all is; otherwise nil.
function S.when_full(why, all, n)
    local p = 7
    local function frees(verb)
        -- 2: a hangup of the fast path
        return verb == 2 or string.find(K.FREES, string.format(' %d ', verb), 1, true)
    end
    if not string.find(why, 'OOM ', 1, true) then return nil end
    if S.verb and frees(S.verb) then
        call('ZREM', HELD, '')
        return 'this'
    end
    for _ = 1, n do
        if frees(all[p + 1]) then return 'other' end
        p = p + all[p] + 1
    end
end

-- Apply the collected writes.  The lists are written at once, because S.walk() reads them from the server.
-- The hash is written at the end of the call, because S.find() reads the cache first.  After the first
-- write nothing can fail, except that the user loses a right at this time: the answer is UNKNOWN then.
function S.apply()
    if S.lacks then
        local why = S.lacks()
        if why then error(why, 0) end
        S.lacks = nil
    end
    local cache, dirty, pf = S.cache, S.dirty, S.pf
    if not S.exists or S.anew then
        S.exists, S.anew = true, nil
        S.epoch = S.seed
        if not S.epoch or #S.epoch ~= 16 or string.find(S.epoch, '%X') then
            local t = redis.pcall('TIME')
            S.epoch = sub(redis.sha1hex((t[1] or S.now) .. ' ' .. (t[2] or S.version) .. HASH), 1, 16)
        end
        S.enter(S.ready, '!', '', '', '')
        S.enter(S.held, K.PERMANENT, '', '', '')
    end
    S.apply_lists(S.ready)
    S.apply_lists(S.held)
    S.half = nil
    for i = 1, S.pn, 2 do
        local field = pf[i]
        cache[field] = pf[i + 1]
        if not dirty[field] then
            dirty[field] = true
            S.nd = S.nd + 1
            dirty[S.nd] = field
        end
    end
    if S.pdue then S.due = S.pdue end
    if S.pset then S.set, S.set_changed = S.pset, true end
    S.pn, S.ln, S.pdue, S.pset = 0, 0, nil, nil
    S.head_changed = true
end

-- Return version @v as notices contain it: with the version before it if that is not @v - 1.
function S.told(v) return v - 1 == S.jump_to and {v, S.jump_from} or v end

-- See usher__version_before() and usher__scope_public_version().
function S.before(v) return v - 1 == S.jump_to and S.jump_from or v - 1 end

function S.version_shown() return S.version == S.jump_to and S.jump_from or S.version end

-- See usher__scope_version_lost() and usher__say_lost().
function S.all_gaps() return S.gaps or call('HGET', HASH, 'gaps') or '' end

-- Return whether version @v is lost, and whether it is in a gap.  Versions of an earlier room of the same
-- name are stale, not lost: a room that was closed leaves no data.
function S.of_lost(v)
    local gaps = S.all_gaps()
    local reopened = K.NOUN == 'room' and sub(gaps, 1, 7) == '\0\0\0\0\0\0\0'
    for i = 1, #gaps, 14 do
        local last, first = sunpack('>I7I7', gaps, i)
        if v > last and v <= first then
            S.lost_behind = last
            return not reopened or i > 1, true
        end
    end
    S.lost_behind = S.version_shown()
    return v > S.version and not (reopened and #gaps == 14)
end

function S.say_lost(what)
    S.answer = {K.LOST, 'the ' .. what .. ' was issued by a history that the store has lost', S.epoch, {}, S.lost_behind}
end

-- Return whether the scope has a log, or notices left from one.  See usher__log_kept().
function S.log_kept()
    return K.LOG_KIND ~= '0' and ((S.pset or S.set)[K.LOG_SET + 1] ~= 0 or S.count[K.LOG_CHANGES + 1] ~= 0)
end

-- Return the notice of the change with version @v, ready to be packed.
function S.notice(v, verb, from, to, r, data)
    return {verb, S.told(v), from, to, r and r.token or 0, r and r.ends or 0, S.now,
        r and (r.owner ~= '' and r.owner or r.held) or '', r and r.id or '', data or '', 0, 0}
end

function S.is_told() return S.watch == 1 or S.log_kept() end

-- Return the settings given by the command, packed for its notice: see usher__change_data_settings().
function S.given()
    if not S.is_told() then return nil end
    local t = {}
    for i, word, kind in string.gmatch(K.ARGS, ' (%d+)=([%l-]+):(%l)') do
        local value = kind ~= 'e' and K.ARG + i ~= K.ARG_IF_VERSION and S.a[K.ARG + i]
        if value then t[#t + 1], t[#t + 2] = word, type(value) == 'string' and value or string.format('%.0f', value) end
    end
    return t[1] and mpack(t) or nil
end

-- Load the reason of the mode, a record of @kind and @state, and apply to it what is given: see
-- usher__reason_load().  The answer has it as a row, in the column @at.  Return it, and whether it changes.
function S.reason(kind, state, given, anew, at)
    local r = S.exists and S.find(kind, '?mode')
    if not r then
        r = S.fresh(kind, '?mode')
        r.state, r.slots = state, 1
    end
    local changes = given and given ~= r.data or not given and anew and r.data ~= ''
    if changes then r.data = given or '' end
    if r.data ~= '' then
        local row = K.NOTICE_ROW
        row[at] = r.data
        S.rows = {row}
    end
    return r, changes
end

-- Add the change of the reason @r to the next change.
function S.reason_save(r)
    r.order = S.version + 1
    if r.data ~= '' then S.save(r) else S.erase(r) end
end

-- Refuse a command that turns `push` on if the user has no right to publish.
function S.must_publish()
    if S.a[K.ARG_PUSH] ~= 1 or not redis.acl_check_cmd then return end
    --@publisher
    if not redis.acl_check_cmd(publisher, HASH, '0') then
        S.refused = true
        error({err = 'NOPERM the user lacks the right to ' .. publisher .. ' on ' .. HASH})
    end
end

-- Commit the change with a version of its own, and make its notice: see usher__change_commit().
function S.commit(verb, from, to, r, data)
    local notice
    if S.pset then S.must_publish() end
    if S.log_kept() then
        if not S.log_add then S.make_log() end
        notice = S.notice(S.version + 1, verb, from, to, r, data)
        S.log_add({notice}, S.version + 1)
    end
    S.apply()
    S.version, S.clock = S.version + 1, S.now
    if S.watch == 1 then
        S.notices = S.notices or {}
        -- preceded by the epoch, if it differs from that of the notice before
        if S.epoch_told and S.epoch_told ~= S.epoch then S.notices[#S.notices + 1] = S.epoch end
        S.epoch_first, S.epoch_told = S.epoch_first or S.epoch, S.epoch
        S.notices[#S.notices + 1] = notice or S.notice(S.version, verb, from, to, r, data)
    end
end

-- The log of a scope: see src/change/log.c.
function S.make_log()
    local format = string.format

    local function set_count(i, value) S.add(i, value - S.count[i + 1]) end

    -- The members of the list contain all that is needed, so the records are not read.
    local function erase_oldest(n)
        if n <= 0 then return end
        local p, order = K.LOG_KIND .. '0', nil
        local old = call('ZRANGEBYLEX', INDEX, '(' .. p .. spack('>I7I7', 0, S.count[K.LOG_SINCE + 1]) .. '\255',
            '(' .. p .. '\255', 'LIMIT', '0', n)
        for k = 1, #old do
            S.leave(S.ready, '', '', '', old[k])
            S.pf[S.pn + 1], S.pf[S.pn + 2] = K.LOG_KIND .. ':' .. sub(old[k], 17), false
            S.pn = S.pn + 2
            order = sunpack('>I7', old[k], 10)
        end
        if order then
            S.add(K.LOG_CHANGES, -#old)
            set_count(K.LOG_SINCE, order)
        end
    end

    local function add(t, v)
        local r = S.fresh(K.LOG_KIND, format('%016.0f', v))
        r.slots, r.order, r.N_BEFORE = 1, v, S.before(v)
        if K.LOG_MARK ~= 0 then
            t[12] = tonumber(sub(redis.sha1hex(mpack(t)), 1, 13), 16)
            set_count(K.LOG_MARK, t[12])
        end
        if S.count[K.LOG_CHANGES + 1] == 0 then set_count(K.LOG_SINCE, r.N_BEFORE) end
        r.data = mpack(t)
        S.save(r)
        S.add(K.LOG_CHANGES, 1)
        if K.LOG_TOTAL ~= 0 then S.add(K.LOG_TOTAL, 1) end
    end

    -- Add the notices @all of the changes that are about to be committed to the log, with their history
    -- hashes.  The first has version @v.
    function S.log_add(all, v)
        local limit, stored = (S.pset or S.set)[K.LOG_SET + 1], S.count[K.LOG_CHANGES + 1]
        local n, gone, come = stored, 0, {}
        if K.LOG_MARK ~= 0 then all[1][11] = S.count[K.LOG_MARK + 1] end
        if S.unlogged then
            if K.LOG_MARK ~= 0 then set_count(K.LOG_MARK, 0) end
            return
        end
        for i = 1, #all do
            if limit == 0 and n <= 2 then
                gone, n = gone + n, 0
            else
                come[#come + 1] = i
                n = n + 1
                for _ = 1, 2 do
                    if n > limit then n, gone = n - 1, gone + 1 end
                end
            end
        end
        erase_oldest(gone < stored and gone or stored)
        for k, i in ipairs(come) do
            if stored + k > gone then add(all[i], v + i - 1) else set_count(K.LOG_SINCE, v + i - 1) end
        end
    end

    -- Call @add for the notices after version @since.  Return their size in bytes, and whether there are more.
    -- See usher__log_read().
    function S.log_read(since, max, page, add)
        local bytes = 0
        if S.other_version() then
            S.blank = nil
            return bytes
        end
        if not S.log_kept() then
            S.status, S.because = K.REFUSED, 'there is no change log: set log=N to keep the last N changes'
            return bytes
        end
        local lost, old = false, false
        if since ~= S.version_shown() and S.all_gaps() ~= '' then lost, old = S.of_lost(since) end
        if lost then
            S.say_lost('version')
            return bytes
        end
        if old or since < S.count[K.LOG_SINCE + 1] or since > S.version_shown() then
            S.status = K.STALE
            if since > S.version_shown() then S.because = 'the version does not exist yet' end
            return bytes
        end
        for n = 0, max do
            local r = S.walk(K.LOG_KIND, '0', nil, 0, since)
            if not r then return bytes end
            if n == max or n == K.PAGE_MAX or n > 0 and bytes >= page then return bytes, true end
            since, bytes = r.order, bytes + #r.data
            add(r)
        end
    end

    -- the verb `changes`: see usher__log_changes()
    function S.log_changes()
        S.extra = {0, S.set[K.SET_PUSH + 1]} -- nil, if the noun has no such setting
        if not S.exists then S.status = K.MISSING return end
        local function add(r)
            local row = K.NOTICE_ROW
            row[K.NOTICE_AT], S.rows = r.data, S.rows or {}
            S.rows[#S.rows + 1] = row
        end
        S.extra[1] = S.count[K.LOG_SINCE + 1]
        local _, more = S.log_read(S.a[K.ARG_SINCE_VERSION] or 0, S.a[K.ARG_MAX] or K.LIST_DEFAULT, math.huge, add)
        S.more = more and 1 or 0
    end
end

-- See usher__work_time(): S.wall is the store's clock.
function S.time(last)
    S.now = S.said > last and S.said or last
    S.moment = S.now < S.wall and S.now or S.wall
end

-- See usher__work_at().
function S.at() return S.now < S.moment and S.now or S.moment end

-- See usher__work_as_of().
function S.as_of(at) S.now = at > S.clock and at or S.clock end

-- Remove the scope, after the change that erased the last of its records.  Its keys are deleted at the end
-- of the call, unless a later command of the call creates it again.
function S.vanish()
    S.exists, S.erased, S.set_changed = false, true, false
    S.set, S.due, S.clock, S.gaps, S.jump_to = K.DEFAULTS, -1, 0, '', nil
    for i = 1, #S.count do S.count[i] = 0 end
end

-- Set the versions of a scope that is created again in the call that erased it.
function S.renumber()
    if S.begins_at_1 then
        S.version = 0
    elseif S.erased and S.version > 0 then
        S.jump_from, S.jump_to, S.gaps = 0, S.version, spack('>I7I7', 0, S.version)
    end
end

-- See usher__sweep_max().
function S.sweep_max(max) return max and max < K.EXPIRE_MAX and max or K.EXPIRE_MAX end

-- See usher__other_version().
function S.other_version()
    local v, e = S.a[K.ARG_IF_VERSION], S.a[K.ARG_EPOCH]
    if not (v or e) or S.exists and (not v or v == S.version_shown()) and (not e or e == S.epoch) then
        return false
    end
    if not S.exists then
        if not string.find(K.CREATES, string.format(' %d ', S.verb), 1, true) then return false end
        S.status = K.MISSING
    elseif v and v ~= S.version_shown() and S.all_gaps() ~= '' and S.of_lost(v) then
        S.say_lost('version')
    else
        S.status = K.STALE
    end
    S.rows, S.because, S.blank = nil, nil, true
    return true
end

-- Outages: see usher__outage_check().  A noun defines S.lives, S.beat_of(), S.life_of(r) and, if heartbeats
-- do not set the scope's clock, S.last_sign().
function S.make_outage()
    local function in_gap(kind, most, from)
        local n, hi, order = 0, from + 1, 0
        for looked = 0, K.OUTAGE_LOOKS do
            local r = n < most and S.walk(kind, '1', nil, hi, order)
            if not r or r.ends > S.moment then break end
            if looked == K.OUTAGE_LOOKS then return most end -- see USHER__OUTAGE_LOOKS
            hi, order = r.ends, r.order
            local at = S.life_of(r)
            if at > from and at <= S.moment then n = n + 1 end
        end
        return n
    end

    -- Return whether there is a new outage.
    function S.outage_look()
        local beat, last, taken = S.beat_of(), S.clock, S.jump_to and S.version == S.jump_to
        local kept = S.lives.in_settings and S.set or S.count
        S.gap_from, S.gap_to = kept[S.lives.from + 1], kept[S.lives.to + 1]
        if beat == 0 or not S.exists then S.gap_from, S.gap_to = 0, 0 end
        if beat == 0 or not S.exists or not taken and S.moment - last <= math.floor(beat / 2) then return false end
        if S.last_sign then last = S.last_sign(last) end
        if not taken and S.moment - last <= math.floor(beat / 2) then return false end
        local n, most, from = 0, taken and 1 or 2, last
        if S.gap_to ~= 0 and S.gap_to + beat > last then from = S.gap_to + beat end
        for i = 1, #S.lives do n = n + in_gap(S.lives[i], most - n, from) end
        if n < most then return false end
        S.gap_from, S.gap_to = from, S.moment
        return true
    end

    function S.outage()
        if not S.outage_look() then return end
        if S.lives.in_settings then
            S.pset = {unpack(S.set)}
            S.pset[S.lives.from + 1], S.pset[S.lives.to + 1] = S.gap_from, S.gap_to
        else
            S.add(S.lives.from, S.gap_from - S.count[S.lives.from + 1])
            S.add(S.lives.to, S.gap_to - S.count[S.lives.to + 1])
        end
        local tell = S.tell_outage or S.commit
        tell(S.lives.verb, 0, 0, nil, S.is_told() and mpack({'from', string.format('%.0f', S.gap_from), 'to',
            string.format('%.0f', S.gap_to)}) or nil)
    end
end

-- Return the new end of a record that would have ended at @at, or nil: see usher__outage_end().
function S.outage_end(at)
    return S.gap_to and at > S.gap_from and at <= S.gap_to and S.gap_to + S.beat_of() or nil
end

-- Dropping: see src/change/drop.c.
function S.dropping() return S.exists and S.count[1] == K.DROPPING end

-- Called before each command.  A command that would create the scope again removes a portion of the old one
-- first.  Return true if the old scope still exists.
function S.drop_meet()
    if S.verb ~= K.DROP_VERB and not S.dropping() then return false end
    if not S.drop_step then S.make_drop() end
    if S.verb == K.DROP_VERB then return false end
    S.drop_step()
    if not S.exists then S.time(0) end -- its clock is gone with it
    return S.exists
end

function S.make_drop()
    -- Erase records of @kind in list @slot ('3': all), of which a step may erase DROP_MAX - @n.  Return the
    -- number of them.  @width: bytes of a member before the id.
    local function erase_some(kind, slot, n)
        local key, p, width = INDEX, kind .. 'n', 0
        if slot ~= '3' then
            key, p, width = slot == '0' and INDEX or HELD, kind .. slot, slot == '2' and 7 or 14
        end
        local members = call('ZRANGEBYLEX', key, '[' .. p, '(' .. p .. '\255', 'LIMIT', '0', K.DROP_MAX - n)
        local fields = {}
        for i = 1, #members do fields[i] = kind .. ':' .. sub(members[i], #p + width + 1) end
        if #fields == 0 then return 0 end
        local got = call('HMGET', HASH, unpack(fields))
        for i = 1, #fields do
            if S.cache[fields[i]] == nil then S.cache[fields[i]] = got[i] end
            local r = S.find(kind, sub(fields[i], 3))
            if not r then S.damaged() end
            S.erase(r)
        end
        S.apply()
        return #fields
    end

    function S.drop_step()
        local n = 0
        for kind, slot in string.gmatch(K.DROPS, '(%d)(%d)') do
            local some
            repeat
                some = erase_some(kind, slot, n)
                n = n + some
                if n == K.DROP_MAX then return n end
            until some == 0
        end
        -- The keys are deleted at the end of the call, unless the scope is created again before.
        S.exists, S.buried, S.head_changed, S.due, S.clock, S.count[1] = false, true, true, -1, 0, 0
        return n
    end

    function S.drop_scope()
        S.status = K.SAME
        if not S.exists or S.other_version() then return end
        S.status = K.OK
        if S.count[1] ~= K.DROPPING then
            for i = 0, #S.count - 1 do S.add(i, -S.count[i + 1]) end
            S.add(0, K.DROPPING)
            S.pset, S.pdue = K.DEFAULTS, -1
            S.commit(S.verb, 0, 0, nil, S.given())
            S.half = true -- in case the step fails
        end
        local n = S.drop_step()
        S.half = nil
        return n
    end
end

-- ---- bounded sets: results of request ids, numbers of peers --------------------------------

function S.make_memory()
    -- See usher__change_remember().  @i is the count of such records, @v the version of the change.
    function S.remember(r, i, limit, v)
        local n, erased, after = S.count[i + 1], 0, nil
        if not r.old then
            n = n + 1
            S.add(i, 1)
        end
        while erased < 2 do
            local other = S.walk(r.kind, '0', nil, 0, after)
            if not other then break end
            after = other.order
            if other.id ~= r.id then
                if n <= limit and other.ends > S.moment then break end
                S.erase(other)
                S.add(i, -1)
                n, erased = n - 1, erased + 1
            end
        end
        r.slots, r.rank, r.order = 1, 0, v
        S.save(r)
    end

    -- See usher__request_keep(); the change will have version @v.
    function S.keep(v)
        local r = S.find(K.KIND_REQUEST, S.req) or S.fresh(K.KIND_REQUEST, S.req)
        local kept = {S.verb, S.print, S.status, v, S.rows or {}}
        S.fields(kept, 5)
        r.ends, r.data = S.moment + K.REQUEST_MS, mpack(kept)
        S.remember(r, K.COUNT_REQUESTS, (S.pset or S.set)[K.SET_REQUESTS + 1], v)
    end

    -- See usher__request_keep_last().
    function S.keep_last()
        S.keep(S.version) -- that of the last change
        S.apply()
        S.clock = S.now
    end

    -- Return the cached result of this command, or nil.
    function S.kept()
        local r = S.exists and S.find(K.KIND_REQUEST, S.req)
        if not r or r.ends <= S.moment then return nil end
        local a = munpack(r.data)
        if a[1] ~= S.verb then
            return {K.INVALID, 'request id was used for `'
                .. (string.match(K.VERBS, ' ([%l-]+)=' .. string.format('%d:', a[1])) or '?') .. '`'}
        end
        -- A direct call has a fingerprint of another kind than a call of the library.  Two of different kinds
        -- cannot be compared, nor can 0, which older direct calls stored.
        if a[2] ~= S.print and a[2] >= K.DIRECT == (S.print >= K.DIRECT) and a[2] ~= 0 then
            return {K.INVALID, 'request id was used with other arguments'}
        end
        local answer = {a[3], S.epoch, a[4], S.due, S.answered, 1, {}}
        for i = 5, #a do answer[i + 3] = a[i] end
        return answer
    end
end

-- A noun defines:
--   S.begin()           called before a command
--   S.run()             executes the command in S.a, whose arguments begin at K.ARG
--   S.fields(array, n)  adds its fields of the answer after index n; S.status and S.rows are the others
--   S.hand(array)       adds its fields to the answer of a direct call
