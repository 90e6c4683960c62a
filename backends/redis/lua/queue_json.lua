-- SPDX-License-Identifier: MIT
--
-- The part of direct_json.lua for queues: see src/nouns/queue/queue_hooks.c.
function J.applies(code)
    local agent = S.a[K.ARG_AGENT] ~= nil
    if code == K.F_ROOM or code == K.F_VISIT then return S.verb ~= K.V_ALIVE or not agent end
    if code == K.F_LOGIN or code == K.F_ROOMS then return agent and answer[17] ~= 0 end
    if code == K.F_AGENT_STATE then return agent or answer[9] ~= K.AGENT_GONE end
    if code == K.F_REASON then return S.verb ~= K.V_ALIVE or agent end
    if code == K.F_INDEX or code == K.F_WAIT_MS or code == K.F_LANE or code == K.F_SINCE then return answer[10] ~= 0 end
    if code == K.F_OUTCOME or code == K.F_ENDED then return answer[24] ~= 0 end
    if code == K.F_UNTIL then return answer[24] == 0 end
    if code == K.F_WAITING then return S.verb == K.V_STATS or answer[10] == K.PLACE_QUEUE end
    return true
end

function J.place(login, no) return no == 0 and '' or string.format('%s.%.0f.%.0f', answer[2], login, no) end

function J.made(of, is_row, code)
    if code == K.F_VISIT then
        local token = of[is_row and 20 or 16]
        return token == 0 and '' or string.format('%s.%.0f', answer[2], token)
    end
    return J.place(of[is_row and 5 or 17], of[is_row and 6 or 18])
end

-- These verbs are about agents.  In other notices an agent has a token and no owner.
function J.subject(n)
    local v = n[1]
    local agent = v == K.V_LOGIN or v == K.V_LOGOUT or v == K.V_PAUSE or v == K.V_READY or n[5] ~= 0 and n[8] == ''
    return agent and K.SUBJECT_AGENT or K.SUBJECT_USER
end

function J.told_value(name, v) return (name == 'room' or name == 'visit') and v ~= '' and answer[2] .. '.' .. v or v end
