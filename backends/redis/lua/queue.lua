-- SPDX-License-Identifier: MIT
--
-- The verbs of a queue: the same steps as src/nouns/queue/queue*.c, in files of the same names.
--
-- The records and the names of their numbers are in src/core/queue_records.def.
--
-- S.change is the current queue transaction: its version v, its agent and its lanes.
local find, floor, format = string.find, math.floor, string.format
local FIGURES = '>I7I7I7I7I7I7I7I7I7I7I7I7I7I7' -- those before F_WAITS

-- ---- the answer -------------------------------------------------------------------------

function S.begin()
    S.state, S.place, S.why, S.more, S.index, S.wait, S.ends, S.token, S.login, S.no, S.counted, S.user,
        S.agent, S.since, S.waiting, S.outcome, S.extra, S.tell_rows, S.n_matched = 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, '', '', 0, 0, 0, nil,
        false, 0
    S.todo_a, S.todo_u, S.change, S.whole, S.looked = {}, {}, nil, false, 0
end

function S.fields(t, n)
    t[n + 1], t[n + 2], t[n + 3], t[n + 4], t[n + 5], t[n + 6], t[n + 7], t[n + 8], t[n + 9], t[n + 10],
        t[n + 11], t[n + 12], t[n + 13], t[n + 14], t[n + 15], t[n + 16] = S.state, S.place, S.why, S.more, S.index, S.wait, S.ends,
        S.token, S.login, S.no, S.counted, S.user, S.agent, S.since, S.waiting, S.outcome
    local extra = S.extra
    if extra then
        for i = 1, #extra do t[n + 16 + i] = extra[i] end
    end
end

function S.hand(out, answer)
    -- The room of a row is its login and its number; it has no field of its own.
    function S.hand_row(t, row, answer)
        if S.verb ~= K.V_AGENTS and S.verb ~= K.V_LANES and row[6] > 0 then
            t[1], t[2] = 'room', string.format('%s.%.0f.%.0f', answer[2], row[5], row[6])
            if row[20] ~= 0 then t[3], t[4] = 'visit', string.format('%s.%.0f', answer[2], row[20]) end
        end
    end

    local function int(n) return format('%.0f', n) end
    local words = {'none', 'room', 'offer', 'queue', 'away'}
    local of_user = S.verb == K.V_WHERE or S.verb == K.V_ALIVE and S.a[K.ARG_USER]
    local name = of_user and 'lane' or (S.verb == K.V_STATS or S.verb == K.V_ROOM or S.verb == K.V_ALIVE) and 'reason' or 'user'
    local more = {name, answer[20], 'agent', answer[21], 'state', string.match(sub(K.AGENT_STATES
        .. 'pausing', answer[9] * 10 + 1, answer[9] * 10 + 10), '^%S+'), 'place', words[answer[10] + 1], 'index',
        int(answer[13]), 'wait', int(answer[14]), 'until', int(answer[15]), 'token', int(answer[16]), 'room',
        answer[2] .. '.' .. int(answer[17]) .. '.' .. int(answer[18]), 'count', int(answer[19]), 'more', int(answer[12]), 'visit_token', '0'}
    -- See VIEW() in queue_verbs.def.
    if S.verb == K.V_APPLY or S.verb == K.V_WHERE or S.verb == K.V_MOVE or S.verb == K.V_ALIVE then
        more[20], more[24] = '0', more[20]
    end
    if S.a[K.ARG_USER] and answer[16] ~= 0 then
        more[25], more[26] = 'visit', string.format('%s.%.0f', answer[2], answer[16])
    end
    if of_user then
        more[#more + 1], more[#more + 2], more[#more + 3], more[#more + 4] = 'since', int(answer[22]), 'waiting', int(answer[23])
    end
    if answer[24] ~= 0 then
        more[#more + 1], more[#more + 2] = 'outcome', string.match(sub(K.OUTCOMES, answer[24] * 10 + 1, answer[24] * 10 + 10), '^%S+')
        more[#more + 1], more[#more + 2] = 'finished', int(answer[15])
    end
    for i = 1, #more do out[10 + i] = more[i] end
end

function S.cnt(i) return S.count[i + 1] end
-- See lives in queue.c.
S.lives = {K.KIND_AGENT, K.KIND_USER, from = K.COUNT_OUTAGE_FROM, to = K.COUNT_OUTAGE_TO, verb = K.V_OUTAGE}

function S.beat_of() return S.set[K.SET_TTL + 1] end

function S.life_of(r)
    if r.kind == K.KIND_AGENT then return r.A_BEAT end
    return r.state == K.USER_AWAY and r.U_END or r.U_BEAT
end

-- See lasted() in queue.h.
function S.lasted(from, to) return to > from and to - from or 0 end

function S.due_now(r) return r.ends ~= 0 and r.ends <= S.moment end
function S.nearer(a, b)
    if a == 0 then return b end
    if b == 0 or a < b then return a end
    return b
end

-- ---- all together -------------------------------------------------------------------------

-- Return what is wrong with arguments that depend on the time or the settings, or are in a text; nil if they
-- are valid.  They are checked before anything is applied, so that `invalid` changes nothing.
function S.arguments_fault(verb)
    local since, after = S.a[K.ARG_SINCE], S.a[K.ARG_AFTER]
    if S.set[K.SET_STRICT + 1] ~= 0 or S.a[K.ARG_TOKEN] then
        S.make_tokens()
        if S.token_missing(verb) then return 'token is missing: the queue is strict' end
    end
    if verb == K.V_ALIVE and not S.a[K.ARG_AGENT] == not S.a[K.ARG_USER] then
        return 'exactly one of agent and user is required' -- only a direct call: the library checks this itself
    end
    if (verb == K.V_APPLY or verb == K.V_LOGIN) and S.now > K.PLACE_MAX then
        return 'now is later than a queue can store'
    end
    if (verb == K.V_APPLY or verb == K.V_MOVE) and since and since > S.now then return 'since is in the future' end
    if (verb == K.V_LIST or verb == K.V_HISTORY) and after then
        local hi, order = string.match(after, '^(%d+)%.(%d+)$')
        local state = S.a[K.ARG_STATE]
        if not hi or #hi > 16 or #order > 16 or tonumber(hi) ~= 0 and (verb == K.V_HISTORY
            or state == K.USER_OFFERED or state == K.USER_SEATED) then return 'after is not the `next` of a page' end
    end
    return nil
end

-- Answer that too many expiries are pending on this rule: retry; see src/nouns/queue/queue.c.
function S.defer()
    S.behind, S.status, S.why, S.more = true, K.REFUSED, K.WHY_DUE, 1
    S.because = 'too many expiries are pending on this scope: retry'
    if S.verb == K.V_STATS or S.verb == K.V_SET or S.verb == K.V_CHANGES then
        S.extra = {}
        for i = 1, S.verb == K.V_SET and K.SETTINGS or S.verb == K.V_STATS and K.STATS or 2 do S.extra[i] = 0 end
    end
end

function S.stopped() return S.set[K.SET_SCOPE_MODE + 1] == K.SCOPE_MODE_STOPPED end

-- Return whether a queue with the settings @set matches by itself.
function S.automatic(set)
    return set[K.SET_TRIGGER + 1] == K.TRIGGER_AUTO and set[K.SET_SCOPE_MODE + 1] ~= K.SCOPE_MODE_STOPPED
end

-- Return whether @verb only reads.  Such verbs do not move the clock of the queue.
function S.looks(verb)
    return verb == K.V_WHERE or verb == K.V_ROOM or verb == K.V_LIST or verb == K.V_AGENTS or verb == K.V_STATS
        or verb == K.V_HISTORY or verb == K.V_LANES or verb == K.V_INTERVALS or verb == K.V_WAITS
end

-- Drop the queue.  Refused if ended visits are not in the history yet, because they would be lost.
function S.drop_queue()
    local n = S.exists and S.set[K.SET_ARCHIVE + 1] ~= 0 and S.cnt(K.COUNT_VISITS) or 0
    if n > 0 and not S.other_version() then
        S.status, S.why = K.REFUSED, K.WHY_HISTORY
        S.because = format('%.0f ended visits are not yet in the history: drain them, or set archive=0', n)
        return
    end
    S.counted = S.drop_scope() or 0
    S.more = S.dropping() and 1 or 0
end

function S.run()
    local verb, max = S.verb, K.EXPIRE_MAX
    if S.behind then return S.defer() end
    if S.drop_meet() then return S.defer() end
    if verb == K.V_CHANGES then
        if not S.log_add then S.make_log() end
        return S.log_changes()
    end
    if S.req then
        S.answer = S.kept()
        if S.answer then return end
    end
    local fault = S.arguments_fault(verb)
    if fault then
        S.answer = {K.INVALID, fault}
        return
    end
    if verb == K.V_DROP then return S.drop_queue() end
    if verb == K.V_SWEEP then
        if S.other_version() then return end
        S.tell_rows, max = true, S.sweep_max(S.a[K.ARG_MAX])
    end
    local version, n, more = S.version, 0, false
    if S.cnt(K.COUNT_OLD) ~= 0 and S.reach() then return S.defer() end
    if S.exists and S.due >= 0 and S.due <= S.moment and verb ~= K.V_DRAIN then
        local now = S.now
        if not S.expire_next then S.make_expiry() end
        n, more = S.expire_due(max)
        S.now = now
        if more and verb ~= K.V_SWEEP then return S.defer() end
    end
    if verb ~= K.V_SWEEP and S.other_version() then return end
    if verb == K.V_SWEEP then
        S.status = not S.exists and K.MISSING or S.version ~= version and K.OK or K.SAME
        S.counted, S.more, S.behind = n, more and 1 or 0, more
    else
        version, S.n_matched = S.version, 0
        if S.a[K.ARG_TOKEN] and S.token_check(verb) then return end
        S.alive_first(verb)
        S.dispatch(verb)
        if S.answer then return end
        n = S.n_matched
        S.settle()
        if S.n_matched > n and S.agent ~= '' and (verb == K.V_LOGIN or verb == K.V_READY or verb == K.V_FREE
            or verb == K.V_LEAVE or verb == K.V_FINISH or verb == K.V_REJECT) then
            local r = S.find(K.KIND_AGENT, S.agent)
            if r then S.state = S.shown(r) end
        end
    end
    if S.req and S.status == K.OK and S.version ~= version then S.keep_last() end
end

-- A command of an agent is a heartbeat, even if the command fails.
function S.alive_first(verb)
    if verb == K.V_ACCEPT or verb == K.V_REJECT or verb == K.V_PAUSE or verb == K.V_PULL or verb == K.V_READY then
        local r = S.load(K.KIND_AGENT, S.a[K.ARG_AGENT])
        if r then S.agent_alive(r) end
    end
end

function S.dispatch(verb)
    if verb == K.V_APPLY then return S.apply_verb() end
    if verb == K.V_FINISH then return S.finish() end
    if verb == K.V_ALIVE then
        if S.a[K.ARG_AGENT] then return S.room(true) end
        return S.where(true)
    end
    if verb == K.V_WHERE then return S.where(false) end
    if verb == K.V_ROOM then return S.room(false) end
    if verb == K.V_LEAVE then return S.leave_verb() end
    if verb == K.V_LIST or verb == K.V_AGENTS or verb == K.V_STATS or verb == K.V_HISTORY or verb == K.V_DRAIN
        or verb == K.V_LANES or verb == K.V_INTERVALS or verb == K.V_WAITS then
        if not S.cursor then S.make_reads() end
        if verb == K.V_LIST then return S.list() end
        if verb == K.V_AGENTS then return S.agents() end
        if verb == K.V_STATS then return S.stats() end
        if verb == K.V_LANES then return S.lanes() end
        if verb == K.V_INTERVALS then return S.intervals() end
        if verb == K.V_WAITS then return S.waits() end
        if verb == K.V_DRAIN then return S.drain() end
        return S.history()
    end
    if verb == K.V_ACCEPT or verb == K.V_REJECT or verb == K.V_MOVE or verb == K.V_SET then
        if not S.settings then S.make_steps() end
        if verb == K.V_MOVE then return S.move_user() end
        if verb == K.V_SET then return S.settings() end
        return S.accept_or_reject(verb == K.V_ACCEPT)
    end
    if not S.login_verb then S.make_agents() end
    if verb == K.V_LOGIN then return S.login_verb() end
    if verb == K.V_LOGOUT then return S.logout() end
    if verb == K.V_PAUSE then return S.agent_verb(K.AGENT_E_PAUSE) end
    if verb == K.V_READY then return S.agent_verb(K.AGENT_E_READY) end
    if verb == K.V_FREE then return S.free() end
    if verb == K.V_PULL then
        S.tell_rows = true
        return S.pull()
    end
    if verb == K.V_MATCH and S.stopped() then
        S.status = K.SAME
        return
    end
    if verb == K.V_MATCH then
        S.tell_rows = true
        return S.match()
    end
    S.answer = {K.INVALID, 'unknown verb'}
end
