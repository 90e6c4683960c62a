-- SPDX-License-Identifier: MIT
--
-- None of the three keys is ever empty, so where one is gone while others are there the scope is torn,
-- by eviction, by half a file, by a migration that was cut short: nobody is answered by what is left.
-- Asked in each call, for any verb: to look only where a walk finds nothing would be cheaper by one
-- command of the server, but a hangup finds what it looks for and would begin a new list.
if not wrong and call('EXISTS', INDEX, HELD) ~= (head and 2 or 0) then
    local what = 'the hash of the scope is gone, with all that was in it: `usher check --repair` removes what is left'
    if head then
        local index, held = call('EXISTS', INDEX) == 0, call('EXISTS', HELD) == 0
        what = (index and held and 'the keys :index and :held of the scope are'
            or index and 'the key :index of the scope is' or 'the key :held of the scope is')
            .. ' gone: `usher check --repair` makes its lists anew'
    end
    wrong = {K.UNAVAILABLE, 'the store is damaged: ' .. what}
end
