-- SPDX-License-Identifier: MIT
--
-- Tokens: src/nouns/queue/queue_token.c.

-- Return the token of the login of the agent @r.
function S.login_token(r)
    if r.lanes then return r.login end
    local d = munpack(r.data)
    return d[4 + d[1] + r.A_CAPACITY] or r.order
end

-- Functions that only a command with a token, or on a strict queue, needs.
function S.make_tokens()
    function S.token_missing(verb)
        return S.set[K.SET_STRICT + 1] ~= 0 and not S.a[K.ARG_TOKEN] and (verb == K.V_LOGOUT or verb == K.V_PAUSE
            or verb == K.V_READY or verb == K.V_PULL or verb == K.V_ALIVE or verb == K.V_LEAVE or verb == K.V_MOVE
            or verb == K.V_ACCEPT or verb == K.V_REJECT or verb == K.V_FINISH)
    end

    -- Return whether the command is answered because its token is lost, or is not @current (nil: there is none).
    function S.token_other(current)
        local token = S.a[K.ARG_TOKEN]
        if not token or token == current then return false end
        if S.exists and S.of_lost(token) then
            S.say_lost('token')
            return true
        end
        if current then S.status = K.STALE end
        return current ~= nil
    end

    -- Likewise for a command about a login, a visit or an offer.
    function S.token_check(verb)
        local g = S.a
        if not g[K.ARG_TOKEN] or verb == K.V_FINISH or verb == K.V_DRAIN then return false end
        local r, current
        if g[K.ARG_USER] then
            r = S.load(K.KIND_USER, g[K.ARG_USER])
            if r then current = (verb == K.V_ACCEPT or verb == K.V_REJECT) and r.token or r.order end
        else
            r = S.load(K.KIND_AGENT, g[K.ARG_AGENT])
            if r then
                current = S.login_token(r)
            elseif verb == K.V_LOGOUT then
                if not S.absent_find then S.make_agents() end
                r = S.absent_find()
                current = r and r.token
            end
        end
        if not S.token_other(current) then return false end
        if S.status == K.STALE then
            S.user, S.agent = not S.answers_lane() and g[K.ARG_USER] or '', g[K.ARG_AGENT] or ''
            if g[K.ARG_USER] then S.index, S.wait = -1, -1 end
        end
        return true
    end
end
