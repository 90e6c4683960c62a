-- SPDX-License-Identifier: MIT
--
-- The library refuses these arguments before it sends a command: see fault() in src/nouns/room/room_hooks.c.
function fault_of(a)
    if a[K.ARG_IF_VERSION] and not a[K.ARG_EPOCH] then return 'if-version needs epoch=, as returned with that version' end
    if a[1] ~= K.V_SET and a[1] ~= K.V_MEMBER then return end
    local fields = a[K.ARG_FIELDS] and munpack(a[K.ARG_FIELDS]) or {}
    for i = 1, #fields, 2 do
        if fields[i] == a[K.ARG_FIELD] then return fields[i] .. ' is given twice' end
    end
end
