-- SPDX-License-Identifier: MIT
--
-- Variables of the fast path: members to be added to and removed from the lists of held and ready records,
-- and owners; idle numbers with their records, and the next of them; counts of numbers given and released;
-- values that are the same for many commands; the settings.
local ready, called, rz, rn, hz, hn, ha, hm, ra, rm = false
local idle, fields, ids, records, nth
local given, back = 0, 0
local of_call, of_hangup, high, high_of, due_bytes, ends, ends_bytes, today, tail, tail_now, tail_moment, tail_span, more
local ended_at, ended_bytes, answered_of, answered_bytes
local plain, lease, rest, zone, strict = K.SHORT_WAY and exists and not held and count[1] ~= K.DROPPING, 0, 0, 0, 0
if settings and all[3] > 0 then
    local order, daily
    order, lease, rest, daily, zone, strict = sunpack('>i7i7i7i7i7i7', settings)
    -- All settings after sticky=, sticky-max= and requests= must have their defaults, except outage=, push= and
    -- the last outage.
    local later = sub(settings, 64, K.OUTAGE_FIRST - 1) .. sub(settings, K.OUTAGE_LAST + 1, K.OUTAGE_FROM - 1)
    local usual = later == K.SETTINGS_OFF or later == K.SETTINGS_PUSH
    plain = plain and usual and order == K.ORDER_LONGEST_IDLE and daily == 0 and
        count[K.COUNT_CHANGES + 1] == 0 and count[K.COUNT_JUDGE + 1] == 0
end
