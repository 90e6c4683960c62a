-- SPDX-License-Identifier: MIT
--[[
calls.lua -- caller-ID numbers from a pool, for calls through Kamailio (its routes, by KEMI).

An INVITE takes a number, which goes on as P-Asserted-Identity; BYE, CANCEL and whatever ends the
call before it began give it back.  The owner of the number is the Call-ID: so an INVITE that comes
again gets the number that it has, and nothing has to be remembered here.

Each number is held under a lease, and one process of Kamailio's renews the leases of this node.
When the node dies, nobody does, and the numbers come back.  What the store could not be told at the
end of a call that process tells it later.  A call that ends without a BYE is not noticed here: see
README.md.

  USHER_STORE   where the numbers are          USHER_POOL    the pool (sales)
  USHER_NODE    name of this node (its own)    USHER_LEASE   ms (30000)
  USHER_NEXT    where calls go, HOST:PORT
]]
local usher = require "usher"

local url = os.getenv("USHER_STORE")
local pool = os.getenv("USHER_POOL") or "sales"
local node = os.getenv("USHER_NODE") or "kamailio"
local lease = tonumber(os.getenv("USHER_LEASE") or 30000)
local next_hop = "sip:" .. os.getenv("USHER_NEXT")
local DEADLINE = 400 -- ms that a command may take: below the 500 after which SIP asks again

-- One store a process, opened when it is needed: who is forked later has its own.
local store

-- When the store could last not be reached.  For the rest of that second nobody waits for it: else
-- the processes would wait in turn, and calls behind them for longer than any deadline.
local away = 0

local function asked(verb, keys)
    local why
    if away == os.time() then return { status = "unavailable", message = "as just before" } end
    if not store then
        store, why = usher.open(url, DEADLINE)
        if not store then return { status = "unavailable", message = why } end
    end
    return store:call("number", verb, pool, keys)
end

local DONE = { ok = true, same = true, missing = true, empty = true }

-- The answer, and whether it is what may be expected.
local function ask(verb, keys)
    local answer = asked(verb, keys)
    local done = DONE[answer.status] or false
    if answer.status == "unavailable" or answer.status == "unknown" then away = os.time() end
    if not done then
        KSR.err(string.format("usher: number %s: %s %s\n", verb, answer.status, answer.message or ""))
    end
    return answer, done
end

-- Until it is done: while this node lives, its leases are renewed.
local function free(call)
    local _, done = ask("free", { owner = call })
    if not done then KSR.mqueue.mq_add("late", call, "") end
    return done
end

local function give_back()
    free(KSR.pv.get("$ci"))
end

local function relay()
    if KSR.tm.t_relay() < 0 then KSR.sl.sl_reply_error() end
end

local function invite()
    -- From here on the same INVITE once more is no news: also one that comes while we ask, or later.
    if KSR.tm.t_newtran() <= 0 then return end
    local answer = ask("call", { owner = KSR.pv.get("$ci"), node = node, lease = lease })
    local number = answer.number
    if answer.status == "unknown" then -- it may have been given
        KSR.mqueue.mq_add("late", KSR.pv.get("$ci"), "")
    end
    if not number then
        KSR.tm.t_reply(503, "No Number Is Free")
        return
    end
    KSR.rr.record_route()
    KSR.hdr.append("P-Asserted-Identity: <sip:" .. number .. "@" .. KSR.pv.get("$Ri") .. ">\r\n")
    KSR.pv.sets("$du", next_hop)
    KSR.tm.t_on_failure("ksr_failure_call")
    if KSR.tm.t_relay() < 0 then
        give_back()
        KSR.tm.t_reply(500, "Not Relayed")
    end
end

local function in_dialog(method)
    if KSR.rr.loose_route() > 0 then
        if method == "BYE" then give_back() end
        relay()
    elseif method == "ACK" then -- of an answer that was not 2xx: it ends here
        if KSR.tm.t_check_trans() > 0 then relay() end
    else
        KSR.sl.sl_send_reply(404, "Not Here")
    end
end

function ksr_request_route()
    local method = KSR.pv.get("$rm")
    if KSR.maxfwd.process_maxfwd(10) < 0 then
        KSR.sl.sl_send_reply(483, "Too Many Hops")
    elseif method == "CANCEL" then
        if KSR.tm.t_check_trans() > 0 then KSR.tm.t_relay_cancel() end
    elseif KSR.siputils.has_totag() > 0 then
        in_dialog(method)
    elseif KSR.tm.t_check_trans() == 0 then -- it came again
        return 1
    elseif method == "INVITE" then
        invite()
    elseif method == "OPTIONS" then
        KSR.sl.sl_send_reply(200, "OK")
    elseif method ~= "ACK" then
        KSR.sl.sl_send_reply(405, "Calls Only")
    end
    return 1
end

-- Refused, cancelled, or nobody answers.
function ksr_failure_call()
    give_back()
    return 1
end

-- In a process of its own, every second.
local renewed = 0

function ksr_rtimer_renew()
    local now, after = os.time(), nil
    while KSR.mqueue.mq_fetch("late") > 0 do
        if not free(KSR.pv.get("$mqk(late)")) then return 1 end
    end
    if now - renewed < lease / 3000 then return 1 end
    renewed = now
    repeat -- a page of holds at a time
        local answer, done = ask("renew", { node = node, lease = lease, after = after })
        if not done then
            renewed = 0 -- again in a second
            return 1
        end
        after = answer.after
    until not answer.more
    return 1
end
