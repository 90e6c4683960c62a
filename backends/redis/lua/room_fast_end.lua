-- SPDX-License-Identifier: MIT
--
-- A room that is closed keeps its bans.  The keys expire some time after the last ban has ended, in case no
-- sweep removes them; see S.open().  If the user lacks the right to PEXPIREAT, the command still succeeds.
if made and head_changed and exists and count[K.COUNT_STATE + 1] == K.ROOM_CLOSED then
    local last, t = S.walk(K.KIND_MEMBER, '1', nil, nil, nil, true), redis.pcall('TIME')
    local word, at = 'PEXPIRE', last.ends - S.moment + K.BANS_KEPT
    if not t.err then word, at = 'PEXPIREAT', at + t[1] * 1000 + math.floor(t[2] / 1000) end
    for _, key in ipairs({HASH, INDEX, HELD}) do redis.pcall(word, key, string.format('%.0f', at)) end
end
