-- SPDX-License-Identifier: MIT
--
-- The part of direct_json.lua for rooms: see src/nouns/room/room_hooks.c.
function J.has_extras() return S.verb ~= K.V_OPEN or answer[1] == K.OK or answer[1] == K.SAME end

function J.subject(n)
    local v = n[1]
    if v == K.V_JOIN or v == K.V_LEAVE or v == K.V_KICK or v == K.V_ALIVE or v == K.V_MEMBER or v == K.V_FADE
        or v == K.V_DROP or v == K.V_EXPIRE then return K.SUBJECT_MEMBER end
    if v == K.V_SET or v == K.V_UNSET or v == K.V_ALL or v == K.V_ROLE or v == K.V_SHARE or v == K.V_UNSHARE then
        return K.SUBJECT_FIELD
    end
    return 0
end
