-- SPDX-License-Identifier: MIT
--
-- The library refuses these arguments before it sends a command: see fault() in src/nouns/queue/queue_hooks.c.
function fault_of(a)
    return a[1] == K.V_ALIVE and not a[K.ARG_AGENT] == not a[K.ARG_USER] and 'exactly one of agent and user is required'
end
