-- SPDX-License-Identifier: MIT
--
-- The parts that ids and serials share.
--
-- A number of 63 bits and a little more is a pair {high, low} with low below 10^9, as in the
-- store (core/wide.h); as text it is decimal digits.
local floor, format = math.floor, string.format

function S.big(text)
    if type(text) == 'number' then text = format('%.0f', text) end
    return {tonumber(sub(text, 1, -10)) or 0, tonumber(sub(text, -9))}
end

function S.digits(b)
    if b[1] > 0 then return format('%.0f%09.0f', b[1], b[2]) end
    return format('%.0f', b[2])
end

function S.less(a, b) return a[1] < b[1] or a[1] == b[1] and a[2] < b[2] end

-- Return @a + @n; @n is from -10^15 to 10^15, and the sum must not be negative.
function S.plus(a, n)
    local low = a[2] + n
    local carry = floor(low / 1000000000)
    return {a[1] + carry, low - carry * 1000000000}
end

function S.minus(a, b)
    local high, low = a[1] - b[1], a[2] - b[2]
    if low < 0 then high, low = high - 1, low + 1000000000 end
    return {high, low}
end

-- Return @b as a number, at most @most (which is at most 10^15).
function S.small(b, most)
    if b[1] > 1000000 then return most end
    local n = b[1] * 1000000000 + b[2]
    return n < most and n or most
end

function S.get(t, i) return {t[i + 1], t[i + 2]} end

-- Set count @i to @value with this change.
function S.put_count(i, value)
    if value ~= S.count[i + 1] then S.add(i, value - S.count[i + 1]) end
end

function S.put_pair(i, b)
    S.put_count(i, b[1])
    S.put_count(i + 1, b[2])
end

-- Return the identity of this server.  A grant that was installed on another server may not be used here,
-- because this server may lack later changes; the client requests a new grant.  The identity is read each
-- time, because the one that the client knows may be out of date.
function S.server()
    --@identity
    return id > 0 and id or error('NOPERM the user lacks the right to INFO', 0)
end
