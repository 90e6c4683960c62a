-- SPDX-License-Identifier: MIT
--
-- Figures of lanes: src/nouns/queue/queue_figures.c.  l.f has the figures before F_WAITS; l.waits has those from
-- F_WAITS on as they are stored, because most changes leave them.
local BOUNDS = {}
for bound in string.gmatch(K.WAIT_BOUNDS, '%d+') do BOUNDS[#BOUNDS + 1] = bound * 1000 end

function S.figures_of(l)
    l.f, l.waits = {struct.unpack(FIGURES, l.data)}, sub(l.data, K.F_WAITS * 7 - 6)
end

function S.figures_pack(l) return spack(FIGURES, unpack(l.f)) .. l.waits end

-- See usher__queue_day().
function S.day_start(at)
    local zone = S.set[K.SET_ZONE + 1]
    return floor((at + zone * 60000) / 86400000) * 1440 - zone + K.DAY_SHIFT
end

function S.make_figures()
    local ALL = '>' .. string.rep('I7', K.FIGURES)

    function S.earlier(order)
        local id = ',' .. format('%.0f', order)
        local e = S.find(K.KIND_LANE, id)
        if not e then
            e = S.fresh(K.KIND_LANE, id)
            e.state, e.data = K.LANE_EARLIER, string.rep('\0', K.FIGURES_BYTES)
        end
        return e
    end

    -- Add @data, figures of a lane, to the sums of @e.
    function S.day_add(e, data)
        local sums, by = {struct.unpack(ALL, e.data)}, {struct.unpack(ALL, data)}
        sums[K.FIGURES + 1] = nil
        for i = F_ARRIVED, K.FIGURES do sums[i] = sums[i] + by[i] end
        e.data = spack(ALL, unpack(sums))
    end

    function S.turn(l, new_day)
        if l.f[F_DAY] == 0 then return end
        l.earlier = l.earlier or S.earlier(l.order)
        local e = l.earlier
        if new_day then
            S.day_add(e, S.figures_pack(l))
            for i = F_ARRIVED, F_DROPPED do l.f[i] = 0 end
            l.waits = string.rep('\0', #l.waits)
        elseif #e.data < K.FIGURES_BYTES + K.QUARTERS_MAX * K.QUARTER_BYTES then
            local at = K.F_QUARTER * 7 - 6
            e.data = e.data .. sub(S.figures_pack(l), at, at + K.QUARTER_BYTES - 1)
        end
    end

    function S.lane_remove(over)
        local e, sums = S.earlier(over.order), S.earlier(0)
        S.day_add(sums, over.data)
        S.day_add(sums, e.data)
        S.save(sums)
        S.erase(e)
        S.erase(over)
        S.add(K.COUNT_LANES, -1)
    end
end

function S.figures_at(l, at)
    local day, quarter, f = S.day_start(at), floor(at / 900000), l.f
    local new_day = day > f[F_DAY]
    if not new_day and quarter <= f[F_QUARTER] then return end
    if not S.turn then S.make_figures() end
    S.turn(l, new_day)
    if new_day then f[F_DAY] = day end
    f[F_QUARTER], l.dirty = quarter, true
end

function S.count_seated(l, at, wait)
    local f, i = l.f, 0
    S.figures_at(l, at)
    while i < #BOUNDS and wait > BOUNDS[i + 1] do i = i + 1 end
    i = i * 7
    l.waits = sub(l.waits, 1, i) .. spack('>I7', struct.unpack('>I7', l.waits, i + 1) + 1) .. sub(l.waits, i + 8)
    f[F_SEATED], f[F_WAIT], l.dirty = f[F_SEATED] + 1, f[F_WAIT] + wait, true
    if wait <= S.set[K.SET_SERVICE + 1] then f[F_WITHIN] = f[F_WITHIN] + 1 end
end

function S.count_ended(l, u, outcome, at)
    local f = l.f
    S.figures_at(l, at)
    l.dirty = true
    if u.state == K.USER_SEATED then
        f[F_FINISHED], f[F_TALK] = f[F_FINISHED] + 1, f[F_TALK] + S.lasted(u.U_MATCHED, at)
    elseif outcome == K.OUTCOME_TIMEOUT then
        f[F_TIMEOUT] = f[F_TIMEOUT] + 1
    else
        f[F_ABANDONED] = f[F_ABANDONED] + 1
        if S.lasted(u.U_APPLIED, at) <= S.set[K.SET_SERVICE + 1] then
            f[F_ABANDONED_WITHIN] = f[F_ABANDONED_WITHIN] + 1
        end
    end
    if outcome == K.OUTCOME_DROPPED then f[F_DROPPED] = f[F_DROPPED] + 1 end
end
