-- SPDX-License-Identifier: MIT
--
-- The library refuses these arguments before it sends a command: see fault() in src/nouns/id/id_hooks.c.
function fault_of(a)
    local start, limit = a[K.ARG_START] or '1', a[K.ARG_LIMIT]
    return a[1] == K.V_CREATE and limit and (#limit < #start or #limit == #start and limit < start) and 'limit is below start'
end
