-- SPDX-License-Identifier: MIT
--
-- Check that no key of the scope is missing.  None of the three keys is ever empty, so if one is missing
-- while others exist, it was lost: by eviction, an incomplete file or an interrupted migration.  No command
-- is answered from the remaining keys.  Each call of any verb checks this.  A check only if a walk finds no
-- member would save one command of the server, but a hangup finds its record and would begin a new list.
if not wrong and call('EXISTS', INDEX, HELD) ~= (head and 2 or 0) then
    local what = 'the hash of the scope is missing, with all its records: `usher check --repair` removes the rest'
    if head then
        local index, held = call('EXISTS', INDEX) == 0, call('EXISTS', HELD) == 0
        what = (index and held and 'the keys :index and :held of the scope are'
            or index and 'the key :index of the scope is' or 'the key :held of the scope is')
            .. ' gone: `usher check --repair` rebuilds its lists'
    end
    wrong = {K.UNAVAILABLE, 'the store is damaged: ' .. what}
end
