-- SPDX-License-Identifier: MIT
-- A number of a pool for each call: taken with the INVITE, given back with its end.
--
--   USHER_STORE    the store, as usher takes it (sqlite:PATH, redis://…), or serve: (kamailio.cfg, SERVE)
--   USHER_POOL     the pool; lines
--   USHER_NODE     this machine; sip-1
--   USHER_LEASE    ms after which the number of a dead node comes back; 30000
--   USHER_TIMEOUT  ms that a worker waits for the store; 500
--   SIP_NEXT       where calls go: sip:HOST:PORT
--
-- The owner of a number is the call; the node is this machine.  One process renews all holds of the
-- node, so a call may last longer than the lease.  The holds of a node that died are not renewed.

local env = os.getenv
local STORE = env("USHER_STORE") or ""
local POOL = env("USHER_POOL") or "lines"
local LEASE = tonumber(env("USHER_LEASE") or 30000)
local TIMEOUT = tonumber(env("USHER_TIMEOUT") or 500)
local NEXT = env("SIP_NEXT") or "sip:127.0.0.1:5070"
local NODE = env("USHER_NODE") or "sip-1"

-- The name has the time of the start: without it, a restarted Kamailio would renew the holds of the
-- one before.  The time is not known while the script is loaded.
local function node()
    return NODE .. "@" .. KSR.pv.get("$Tb")
end

-- ---- the store ------------------------------------------------------------------------------
-- ask(verb, {key = value, …}) returns a table, or nil, the status word, the reason, and a table if the
-- answer has one.

local ask

-- `usher serve` speaks Redis' protocol, so Kamailio's own client can talk to it.  That client takes up to
-- three texts.  Never write a text into the command itself: a Call-ID could then be several words.
local function ask_serve(verb, args)
    local words, texts = { "NUMBER", verb, POOL }, {}
    if args.number then
        words[4], texts[1] = "%s", args.number
    end
    for key, value in pairs(args) do
        if type(value) == "number" then
            words[#words + 1] = ("%s %d"):format(key, value)
        elseif key ~= "number" then
            words[#words + 1] = key .. " %s"
            texts[#texts + 1] = value
        end
    end
    local redis = KSR.ndb_redis
    local give = ({ redis.redis_cmd_p1, redis.redis_cmd_p2, redis.redis_cmd_p3 })[#texts]
    texts[#texts + 1] = "r"
    if give("usher", table.concat(words, " "), unpack(texts)) < 0 then
        return nil, "unknown", "no answer"
    end
    local answer, size = {}, KSR.pv.get("$redis(r=>size)") or 0
    for i = 0, size - 2, 2 do -- keys and values in turn
        answer[KSR.pv.get("$redis(r=>value[" .. i .. "])")] =
            KSR.pv.get("$redis(r=>value[" .. (i + 1) .. "])")
    end
    local line = tostring(KSR.pv.get("$redis(r=>value)")) -- of an error
    redis.redis_free("r")
    if size == 0 then
        local status, why = line:match("^(%S+)%s*(.*)$")
        return nil, (status or "unknown"):lower(), why
    elseif answer.status == "ok" or answer.status == "same" then
        return answer
    end
    return nil, answer.status, "", answer
end

if STORE:match("^serve:") then
    ask = ask_serve
else
    -- The first call of each process opens the store, because processes are forked with this script.
    local engine = assert(require("usher").open(STORE, { timeout = TIMEOUT }))
    ask = function(verb, args)
        return engine:call("number", verb, POOL, args)
    end
end

local FAILED = { unavailable = true, unknown = true, nomem = true }

-- The second in which the store last failed.  For the rest of it no call waits for the store: otherwise
-- the waiting calls would time out one after another, long after the store is back.
local away = 0

local function ask_unless_away(verb, args)
    if away == os.time() then
        return nil, "unavailable", "as just before"
    end
    local answer, status, why, more = ask(verb, args)
    if FAILED[status] then
        away = os.time()
    end
    return answer, status, why, more
end

-- Owners whose calls are over, though the store may not know: as the node's, their holds would be
-- renewed for ever.  usher_renew() sees to them.
local function owe(owner)
    KSR.htable.sht_seti("owed", owner, 0)
end

-- ---- calls ----------------------------------------------------------------------------------

-- A number for the call; nil: it has been answered.
local function take(owner)
    local answer, status, why, more = ask_unless_away("call", { owner = owner, node = node(), lease = LEASE })
    if answer then
        return answer
    end
    if FAILED[status] then
        if status == "unknown" then
            owe(owner) -- it may have one
        end
        KSR.log("err", "usher: no number: " .. status .. ": " .. why .. "\n")
        KSR.tm.t_reply(503, "No Number")
    elseif status == "empty" then
        local next = tonumber(more and more.next or nil)
        local seconds = next and math.ceil(next / 1000) - tonumber(KSR.pv.get("$TS")) or 1
        KSR.hdr.append_to_reply("Retry-After: " .. math.max(1, seconds) .. "\r\n")
        KSR.tm.t_reply(503, "All Numbers Busy")
    else
        KSR.log("err", "usher: no number: " .. status .. ": " .. why .. "\n")
        KSR.tm.t_reply(status == "invalid" and 400 or 503, "No Number")
    end
    return nil
end

-- was_up: the call was answered, so it should still have the number.  A call that was never answered may
-- return its number twice.
local function give_back(number, token, owner, was_up)
    local answer, status, why = ask_unless_away("hangup", { number = number, token = token })
    if answer then
        return
    end
    if FAILED[status] then
        owe(owner)
    elseif not was_up then
        return
    end
    -- stale, refused, lost: the lease ended before the call, and another call may have the number
    KSR.log("warn", "usher: hangup of " .. number .. ": " .. status .. ": " .. why .. "\n")
end

local function begin_call()
    if KSR.tm.t_newtran() <= 0 then
        return -- a retransmission; the first one is in work
    end
    KSR.tm.t_reply(100, "Trying") -- stops retransmissions while we wait for the store
    -- One for each try: one that is over may be owed while the caller tries again.
    local owner = KSR.pv.get("$ci") .. ";" .. KSR.pv.get("$cs")
    local hold = take(owner)
    if hold == nil then
        return
    end
    if KSR.dialog.dlg_manage() < 0 then
        give_back(hold.number, hold.token, owner)
        KSR.tm.t_reply(500, "No Dialog")
        return
    end
    -- From here on the end of the dialog gives it back, whatever ends it.
    KSR.pv.sets("$dlg_var(number)", hold.number)
    KSR.pv.sets("$dlg_var(token)", hold.token)
    KSR.pv.sets("$dlg_var(owner)", owner)

    local uri = "sip:" .. hold.number .. "@" .. KSR.pv.get("$Ri")
    KSR.uac.uac_replace_from("", uri)
    KSR.hdr.remove("P-Asserted-Identity")
    KSR.hdr.append("P-Asserted-Identity: <" .. uri .. ">\r\n")
    KSR.rr.record_route()
    KSR.pv.sets("$du", NEXT)
    if KSR.tm.t_relay() < 0 then
        -- Usually the caller cancelled while we waited for the store.  Then the INVITE is answered
        -- already, and the dialog may get no event of its end.
        give_back(hold.number, hold.token, owner)
        KSR.tm.t_reply(500, "Cannot Be Sent On")
    end
end

local function go_on()
    if KSR.rr.loose_route() > 0 then
        KSR.tm.t_relay()
    elseif KSR.is_ACK() then
        if KSR.tm.t_check_trans() > 0 then
            KSR.tm.t_relay()
        end
    else
        KSR.sl.sl_send_reply(404, "Not Here")
    end
end

function ksr_request_route()
    if KSR.maxfwd.process_maxfwd(10) < 0 then
        KSR.sl.sl_send_reply(483, "Too Many Hops")
    elseif KSR.siputils.has_totag() > 0 then
        go_on()
    elseif KSR.is_CANCEL() then
        if KSR.tm.t_check_trans() > 0 then
            KSR.tm.t_relay()
        end
    elseif KSR.is_ACK() then
        KSR.tm.t_check_trans()
    elseif KSR.is_INVITE() then
        begin_call()
    elseif KSR.is_OPTIONS() then
        KSR.sl.sl_send_reply(200, "OK")
    else
        KSR.sl.sl_send_reply(405, "Calls Only")
    end
end

function ksr_dialog_event(name)
    if name == "dialog:end" or name == "dialog:failed" then
        local number = KSR.pv.get("$dlg_var(number)")
        if number then
            give_back(number, KSR.pv.get("$dlg_var(token)"), KSR.pv.get("$dlg_var(owner)"),
                name == "dialog:end")
        end
    end
end

-- ---- the timer process ----------------------------------------------------------------------

-- Frees the numbers of owners in `owed`; false: the store does not answer.  An owner is removed after two
-- rounds: a call whose answer was lost may reach the store after the first round.
local function pay()
    local owed = {}
    KSR.htable.sht_iterator_start("it", "owed")
    while KSR.htable.sht_iterator_next("it") > 0 do
        owed[KSR.pv.get("$shtitkey(it)")] = KSR.pv.get("$shtitval(it)")
    end
    KSR.htable.sht_iterator_end("it")
    for owner, rounds in pairs(owed) do
        local answer, status = ask("free", { owner = owner })
        if not answer and FAILED[status] then
            return false
        elseif rounds == 0 then
            KSR.htable.sht_seti("owed", owner, 1)
        else
            KSR.htable.sht_rm("owed", owner)
        end
    end
    return true
end

-- Several times within a lease (kamailio.cfg, RENEW).
function usher_renew()
    local after
    if not pay() then
        return -- nor would it renew
    end
    repeat
        local answer, status, why = ask("renew", { node = node(), after = after })
        if not answer then
            if status ~= "missing" then
                KSR.log("err", "usher: the holds are not renewed: " .. status .. ": " .. why .. "\n")
            end
            return
        end
        after = (answer.more == true or answer.more == 1) and answer.after or nil
    until after == nil
end
