-- SPDX-License-Identifier: MIT
--
-- Reads, and the choice of the function for a verb.

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
        S.extra = {'0', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, S.verb == K.V_SHOW and 0 or nil}
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
    if verb == K.V_RENEW then return S.settle_hold(K.SERIAL_E_RENEW) end
    if verb == K.V_VOID then
        if S.a[K.ARG_DOUBT] then return S.void_doubt() end
        return S.settle_hold(K.SERIAL_E_VOID)
    end
    if verb == K.V_SWEEP then return S.sweep() end
    S.answer = {K.INVALID, 'unknown verb'}
end
