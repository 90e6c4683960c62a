-- SPDX-License-Identifier: MIT
--
-- The part of direct_json.lua for serials: see src/nouns/serial/serial_hooks.c.
local form, parts_of

-- Return whether the command requests the rule itself.
local function is_rule()
    return S.verb == K.V_RULE or S.verb == K.V_PARSE or S.verb == K.V_SHOW and not S.a[K.ARG_SERIAL]
end

-- Return whether @serial is the printed form of @row.  A row without a date gets that of the serial.
local function names(row, serial)
    local f, first = S.format_of(row[8]), S.big(row[1])
    if not f then return false end
    if S.printed(f, first, row[3]) == serial then return true end
    if row[6] ~= K.SERIAL_FREE and row[6] ~= K.SERIAL_PAST and row[6] ~= K.SERIAL_RETURNED and row[6] ~= K.SERIAL_LOST then
        return false
    end
    local at = S.printed_by(row[8], serial, first, row[3])
    if not at then return false end
    row[3] = at
    return S.printed(f, first, at) == serial
end

-- Return the parts of the serial that `parse` reads; or nil and what is wrong with it.
local function parsed(f, serial)
    local check = f[8] ~= 0 and 1 or 0
    local number, value = S.number_of(f, serial)
    if not number then return nil, 'serial does not match this rule' end
    if not S.date_in(f, serial) then return nil, 'serial does not match this rule: its date does not exist' end
    local last = #serial - #f[2] - check
    local text = sub(serial, #f[1] + 1, last)
    if check == 1 and sub(serial, last + 1, last + 1) ~= S.check_of(f[8], text) then
        return nil, 'serial has a wrong check digit'
    end
    return {number, value, sub(serial, #f[1] + 1, #f[1] + S.date_size(f)), check == 1 and sub(serial, last + 1, last + 1) or ''}
end

function J.prepare()
    local serial, row, status = S.a[K.ARG_SERIAL], answer[8][1], answer[1]
    local all = answer[8]
    S.hand({}, answer) -- defines the functions that print serials
    S.make_print()
    answer[8] = all
    form = is_rule() and row and S.format_of(row[8])
    if status == K.STALE and S.verb ~= K.V_GRANT and serial and #answer[8] == 1 and not names(row, serial) then
        answer[8], answer[9], answer[17] = {}, K.WHY_UNKNOWN, 0
    end
    if status ~= K.OK and (S.verb ~= K.V_RULE or status ~= K.SAME)
        or S.verb ~= K.V_RULE and S.verb ~= K.V_PARSE and S.verb ~= K.V_SHOW then return end
    local f = row and S.format_of(row[8])
    if not f then
        if S.verb == K.V_RULE then return end
        return {K.UNAVAILABLE, 'the store is damaged: a rule'}
    end
    if S.verb == K.V_RULE then
        local set = S.pset or S.set
        local most = S.minus(S.limit(f, {9223372036, 854775807}, K.MODE_QUEUE, 0), S.plus(S.get(set, K.SET_START), -1))
        if answer[9 + K.OUTS + 5] == K.MODE_QUEUE and S.less(most, {0, answer[9 + K.OUTS + 2]}) then
            S.because = string.format('batch=%.0f is more than the %s numbers that width=%.0f allows',
                answer[9 + K.OUTS + 2], S.digits(most), f[6])
        end
        return
    end
    if not serial then return end
    local wrong
    parts_of, wrong = parsed(f, serial)
    if not wrong and S.verb == K.V_SHOW and not names(row, serial) then
        wrong = 'serial is unknown: its number was printed as another serial'
    end
    if not wrong and S.verb == K.V_PARSE and S.less(parts_of[1], S.big(row[1])) then
        wrong = 'serial does not match this rule: its number is below start'
    end
    return wrong and {K.INVALID, wrong}
end

function J.has_extras() return S.verb ~= K.V_SHOW or is_rule() end

function J.own(own)
    if not form then return end
    own[K.F_PREFIX], own[K.F_SUFFIX] = form[1], form[2]
    if S.verb == K.V_PARSE then
        if not parts_of then return end
        own[K.F_NUMBER_MADE], own[K.F_TEXT_VALUE], own[K.F_DATE] = S.digits(parts_of[1]), S.digits(parts_of[2]), parts_of[3]
        if parts_of[4] ~= '' then own[K.F_CHECK_DIGIT] = parts_of[4] end
        return
    end
    own[K.F_DATE], own[K.F_BASE], own[K.F_STEP], own[K.F_WIDTH], own[K.F_RADIX], own[K.F_CHECK], own[K.F_OVERFLOW],
        own[K.F_ZONE] = form[3], form[4], form[5], form[6], form[7], form[8], form[9], form[10]
end

-- Each serial that was taken is a row; of more than 1,000 only the first and the last are printed.
function J.rows()
    if is_rule() then return {} end
    if S.verb ~= K.V_TAKE then return answer[8] end
    local all, n = {}, 0
    local function at(row, i) return {S.digits(S.plus(S.big(row[1]), i)), 1, row[3], row[4], row[5], row[6], row[7], row[8], row[9]} end
    for _, row in ipairs(answer[8]) do n = n + row[2] end
    if n > 1000 then
        local last = answer[8][#answer[8]]
        J.too_many = {J.made(answer[8][1]), J.made(at(last, last[2] - 1))}
        return {}
    end
    for _, row in ipairs(answer[8]) do
        for i = 0, row[2] - 1 do all[#all + 1] = at(row, i) end
    end
    return all
end

function J.made(row)
    local f = row[8] ~= '' and S.format_of(row[8])
    return f and S.printed(f, S.big(row[1]), row[3]) or ''
end

function J.subject() return K.SUBJECT_SERIAL end
