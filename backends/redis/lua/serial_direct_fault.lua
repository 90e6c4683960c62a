-- SPDX-License-Identifier: MIT
--
-- The library refuses these arguments before it sends a command: see fault_of() in src/nouns/serial/serial_hooks.c.
function fault_of(a)
    if a[1] == K.V_TAKE and (a[K.ARG_N] or 0) > K.TAKE_MAX then
        return string.format('n is not a number from 1 to %.0f', K.TAKE_MAX)
    end
    if (a[1] == K.V_HOLDS or a[1] == K.V_SWEEP) and (a[K.ARG_N] or 0) > K.LIST_MAX then
        return string.format('n is not a number from 1 to %.0f', K.LIST_MAX)
    end
    if a[1] == K.V_VOID then
        if not a[K.ARG_DOUBT] then
            return a[K.ARG_BEFORE] and 'before needs doubt=1' or not a[K.ARG_SERIAL] and 'serial is missing'
        end
        if a[K.ARG_SERIAL] or a[K.ARG_TOKEN] or a[K.ARG_N] then return 'doubt=1 excludes serial, token and n' end
        return not a[K.ARG_BEFORE] and 'before is missing: the version that `holds` returned'
    end
    if a[1] ~= K.V_RULE then return end
    for word, text in pairs({prefix = a[K.ARG_PREFIX] or '', suffix = a[K.ARG_SUFFIX] or '', date = a[K.ARG_DATE] or ''}) do
        if text ~= '' and not is_name(text, 48) then
            return word .. ' has more than 48 bytes, or contains invalid UTF-8 or a control character'
        end
        if word ~= 'date' and string.find(text, '%', 1, true) then return word .. ' contains a %: dates belong in date=' end
        if word == 'date' and string.find(string.gsub(text, '%%[YymdHMSj%%]', ''), '%', 1, true) then
            return 'date has a % that is not %Y, %y, %m, %d, %j, %H, %M, %S or %%'
        end
    end
end
