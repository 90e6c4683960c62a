-- SPDX-License-Identifier: MIT
--
-- None of the three keys is ever empty, so where one is gone while others are there the scope is torn:
-- by eviction, by half a file, by a migration that was cut short.  Nobody is told anything by what is
-- left of it.  Asked once a call, for any verb: that is dearer than to look where a walk finds nothing,
-- by a quarter of a microsecond, and nothing can be forgotten.
if not wrong and call('EXISTS', INDEX, HELD) ~= (head and 2 or 0) then
    local gone = not head and 'the hash of the scope is gone, with what was in it, and `usher check --repair` '
        .. 'removes what is left'
    if not gone then
        local index, held = call('EXISTS', INDEX) == 0, call('EXISTS', HELD) == 0
        gone = (index and held and 'the keys :index and :held of the scope are' or index and 'the key :index of the scope is'
            or 'the key :held of the scope is') .. ' gone: `usher check --repair` makes it anew'
    end
    wrong = {K.UNAVAILABLE, 'the store is damaged: ' .. gone}
end
