-- SPDX-License-Identifier: MIT
--
-- The library refuses these arguments before it sends a command: see fault() in
-- src/nouns/number/number_hooks.c.
function fault_of(a)
    local number, owner, node, after = a[K.ARG_NUMBER], a[K.ARG_OWNER], a[K.ARG_NODE], a[K.ARG_AFTER]
    local function is_token(text) return #text <= 16 and string.find(text, '^%d+$') and tonumber(text) < K.DIRECT end
    if a[1] == K.V_CALL then return number and a[K.ARG_GROUPS] and 'number and group exclude each other' end
    if a[1] == K.V_RENEW then
        if number and after then return 'after and number exclude each other' end
        if number then return node and not owner and 'number and node together need owner' end
        if not node then return 'number or node is missing' end
        if a[K.ARG_TOKEN] then return 'token needs number' end
        if owner then return 'owner needs number' end
        return after and not is_token(after) and 'after is not a token'
    end
    if a[1] == K.V_FREE then
        if owner and node then return 'owner and node exclude each other' end
        local given = owner or node or number
        if given and a[K.ARG_ALL] then return 'all=1 excludes the other arguments' end
        return not given and not a[K.ARG_ALL]
            and 'owner, node or number is missing (or all=1, which ends every call of the pool)'
    end
    if a[1] == K.V_LIST then
        if owner and node then return 'owner and node exclude each other' end
        return after and (owner or node or (a[K.ARG_STATE] or 0) >= K.STATE_BUSY_DOWN) and not is_token(after)
            and 'after is not a token; calls are listed by token'
    end
end
