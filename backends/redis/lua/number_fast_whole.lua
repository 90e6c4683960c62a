-- SPDX-License-Identifier: MIT
--
-- Convert a plain call or hangup (number_fast.h) to the form that number.lua expects.
if a[1] == 1 then
    a = {K.V_CALL, a[2], nil, nil, 0, [K.ARG_OWNER] = a[4], [K.ARG_LEASE] = a[3]}
elseif a[1] == 2 then
    a = {K.V_HANGUP, a[2], nil, nil, 0, [K.ARG_NUMBER] = a[5], [K.ARG_TOKEN] = a[3] and sunpack('>I7', a[3]) or nil}
end
