/* SPDX-License-Identifier: MIT */
/*
 * The fields of commands and answers: one name, one type and one unit for the whole library.
 *
 * X(name, code, type, word, help).  Types: INT; BOOL 0 or 1; CODE, see usher_code_word(); MS a
 * duration and TIME a moment, Unix milliseconds; MIN minutes; TOKEN 64 bits, only to be compared
 * (with the bits of the int64_t); TEXT a name, or bytes of UTF-8; BYTES any bytes.  The word is
 * that of usher(1) and of its JSON.
 *
 * ABI: append, never reuse.
 */
#ifndef USHER_FIELDS_H
#define USHER_FIELDS_H

/* clang-format off */
#define USHER_FIELD_MAP(X) \
    X(REQUEST, 1, TEXT, "req", "request id: a repeat returns the first answer") \
    X(NOW, 2, TIME, "now", "time of the command; not given: the engine's clock") \
    X(WAIT, 3, INT, "wait", "number of replicas to wait for, after the command") \
    X(IF_VERSION, 4, INT, "if-version", "only if the scope has this version, else stale") \
    X(MAX, 5, INT, "max", "maximum rows or changes") \
    X(AFTER, 6, TEXT, "after", "the end of a page, where the next one continues") \
    X(MORE, 7, BOOL, "more", "not complete: repeat") \
    X(COUNT, 8, INT, "count", "number of changes") \
    X(OWNER, 9, TEXT, "owner", "the holder") \
    X(TOKEN, 10, TOKEN, "token", "fencing token of the hold; every later hold of the scope has another one") \
    X(STATE, 11, CODE, "state", "the state, after the command") \
    X(WHY, 12, CODE, "why", "reason of a refusal") \
    X(UNTIL, 13, TIME, "until", "when it expires") \
    X(LEASE, 14, MS, "lease", "how long a hold lasts; 0: no expiry") \
    X(REQUESTS, 15, INT, "requests", "maximum results kept for request ids") \
    X(ZONE, 16, MIN, "zone", "local time, minutes east of UTC") \
    X(VERSION, 17, INT, "version", "version of the last change") \
    X(SINCE, 18, TIME, "since", "when it began") \
    X(N, 19, INT, "n", "number of items") \
    X(START, 20, INT, "start", "the first one") \
    X(STEP, 21, INT, "step", "difference from one number to the next; of ids: ids of a segment") \
    X(HIGHEST, 22, INT, "max", "the last number allowed") \
    X(LIMIT, 23, INT, "limit", "upper limit") \
    X(CAPACITY, 24, INT, "capacity", "maximum at a time") \
    X(LOG, 25, INT, "log", "maximum notices kept for later reading") \
    X(NUMBER, 26, TEXT, "number", "a number of the pool") \
    X(GROUP, 27, TEXT, "group", "the group of a number") \
    X(GROUPS, 28, TEXT, "group", "groups, \"A,B,*\": tried in order, * is any") \
    X(STICKY, 29, TEXT, "sticky", "the callee: the number last used for it is preferred, if it is free") \
    X(NODE, 30, TEXT, "node", "the machine that carries the call") \
    X(REST, 31, MS, "rest", "not handed out for this time after a call") \
    X(ORDER, 32, CODE, "order", "which number is taken first") \
    X(DAILY, 33, INT, "daily", "maximum calls of one number in a local day; 0: no limit") \
    X(STRICT, 34, BOOL, "strict", "commands need the token of their subject") \
    X(STICKY_MS, 35, MS, "sticky", "how long the number of a callee is remembered") \
    X(STICKY_MAX, 36, INT, "sticky-max", "maximum callees remembered") \
    X(ALL, 37, BOOL, "all", "every one of them") \
    X(NEXT_FREE, 38, TIME, "next", "no number becomes free by an expiry before this time") \
    X(RESTING, 39, BOOL, "resting", "it rests") \
    X(CAPPED, 40, BOOL, "capped", "it has reached its daily cap") \
    X(CALLS_TODAY, 41, INT, "calls_today", "calls since local midnight") \
    X(USED, 42, TIME, "used", "when the last call began") \
    X(AGE, 43, MS, "age", "age of the hold") \
    X(TOTAL, 44, INT, "total", "numbers") \
    X(IDLE_UP, 45, INT, "idle_up", "free and registered") \
    X(IDLE_DOWN, 46, INT, "idle_down", "free, not registered") \
    X(BUSY_UP, 47, INT, "busy_up", "in a call") \
    X(BUSY_DOWN, 48, INT, "busy_down", "in a call, not registered") \
    X(RESTING_NUMBERS, 49, INT, "resting", "free and registered numbers that rest") \
    X(REFUSED_TODAY, 50, INT, "refused_today", "calls without a number since local midnight") \
    X(LONGEST_HOLD, 51, MS, "longest_hold", "age of the oldest hold") \
    X(CAPPED_NUMBERS, 52, INT, "capped", "free and registered numbers that have reached their daily cap") \
    X(AGENT, 53, TEXT, "agent", "an agent") \
    X(USER, 54, TEXT, "user", "a user that wants an agent") \
    X(ROOM, 55, TEXT, "room", "the room of the user: EPOCH.LOGIN.NO") \
    X(LANE, 56, TEXT, "lane", "lane in which a user waits") \
    X(LANES, 57, TEXT, "lanes", "lanes that an agent serves, \"A,B\", or * for all") \
    X(PRIORITY, 58, INT, "priority", "larger is served first") \
    X(LEVEL, 59, INT, "level", "rank of an agent, smaller first") \
    X(TTL, 60, MS, "ttl", "without a heartbeat for this time: removed, or offline; 0: never") \
    X(TRIGGER, 61, CODE, "trigger", "when users are matched with agents") \
    X(STRATEGY, 62, CODE, "strategy", "which agent comes first") \
    X(OFFER, 63, MS, "offer", "how long an agent may take to accept; 0: without an offer") \
    X(WRAPUP, 64, MS, "wrapup", "wrap-up time of an agent after a visit") \
    X(MAXWAIT, 65, MS, "maxwait", "a user that waits longer times out; 0: never") \
    X(GRACE, 66, MS, "grace", "how long a user or member may come back after a missed heartbeat") \
    X(REQUEUE, 67, CODE, "requeue", "handling of users whose agent is gone") \
    X(HISTORY, 68, INT, "history", "maximum ended visits kept") \
    X(SERVICE, 69, MS, "service", "target time of the service level") \
    X(ARCHIVE, 70, INT, "archive", "maximum ended visits kept for a drain") \
    X(AGENT_STATE, 71, CODE, "state", "state of the agent") \
    X(USER_STATE, 72, CODE, "state", "state of the user") \
    X(PLACE, 73, CODE, "place", "location of the user") \
    X(OUTCOME, 74, CODE, "outcome", "how the visit ended") \
    X(INDEX, 75, INT, "index", "users ahead in the lane") \
    X(WAIT_MS, 76, MS, "wait", "estimated waiting time") \
    X(LOGIN, 77, INT, "login", "version of the agent's login") \
    X(ROOMS, 78, INT, "rooms", "number of rooms of the agent") \
    X(APPLIED, 79, TIME, "applied", "start of the current or last wait") \
    X(MATCHED, 80, TIME, "matched", "when it was matched with the agent") \
    X(WAITED, 81, MS, "wait", "waiting time") \
    X(TALKED, 82, MS, "talk", "time with the agent") \
    X(FINISHED, 83, TIME, "finished", "when the visit ended") \
    X(USED_ROOMS, 84, INT, "used", "rooms in use") \
    X(SERVED, 85, INT, "served", "number of its visits") \
    X(LOGGED_IN, 86, TIME, "logged_in", "when the agent logged in") \
    X(STATE_SINCE, 87, TIME, "since", "start of its state") \
    X(WAITING, 88, INT, "waiting", "waiting users") \
    X(USERS_AWAY, 89, INT, "away", "waiting users that are away") \
    X(OFFERED, 90, INT, "offered", "users offered to an agent") \
    X(SEATED, 91, INT, "seated", "users with an agent") \
    X(AGENTS, 92, INT, "agents", "agents logged in") \
    X(AGENTS_IDLE, 93, INT, "agents_idle", "agents that are free") \
    X(AGENTS_OFFERED, 94, INT, "agents_offered", "agents with an offer") \
    X(AGENTS_BUSY, 95, INT, "agents_busy", "agents with a user") \
    X(AGENTS_WRAPUP, 96, INT, "agents_wrapup", "agents in wrap-up") \
    X(AGENTS_PAUSED, 97, INT, "agents_paused", "agents that are paused") \
    X(LONGEST_WAIT, 98, MS, "longest_wait", "waiting time of the user that has waited longest") \
    X(SEATED_TODAY, 99, INT, "seated_today", "users seated since local midnight") \
    X(ABANDONED_TODAY, 100, INT, "abandoned_today", "users that left without an agent") \
    X(TIMEOUT_TODAY, 101, INT, "timeout_today", "users that waited for maxwait") \
    X(FINISHED_TODAY, 102, INT, "finished_today", "visits that ended") \
    X(DROPPED_TODAY, 103, INT, "dropped_today", "finished visits whose agent was gone, with requeue=drop") \
    X(SERVICE_LEVEL, 104, SHARE, "service_level", "share of today's users that were seated within service, without those that left within service") \
    X(MEAN_WAIT, 105, MS, "wait", "mean waiting time of users seated today") \
    X(MEAN_TALK, 106, MS, "talk", "mean time with the agent of visits that ended today") \
    X(VISITS, 107, INT, "visits", "ended visits that the queue keeps") \
    X(MEMBER, 108, TEXT, "member", "a member of the room") \
    X(ROLE, 109, TEXT, "role", "a role that one member has") \
    X(HOLDER, 110, BYTES, "member", "the member that gets the role; \"\": none") \
    X(SHARE, 111, TEXT, "share", "an item that a member shows") \
    X(FIELD, 112, TEXT, "field", "the name of a value") \
    X(VALUE, 113, BYTES, "value", "a value") \
    X(IF, 114, BYTES, "if", "only if that is the value, or the holder of the role; \"\": none") \
    X(FIELDS, 115, BYTES, "fields", "several fields, packed by usher_fields_pack()") \
    X(AFTER_VERSION, 116, INT, "after", "version at which the last member of the previous page joined") \
    X(SINCE_VERSION, 117, INT, "since", "a version") \
    X(LINGER, 118, MS, "linger", "an empty room closes after this; 0: never") \
    X(AWAY, 119, MS, "away", "without a heartbeat for this time: away; 0: never") \
    X(PRESENCE, 120, MS, "presence", "joins and leaves are coalesced for this time") \
    X(PUSH, 121, BOOL, "push", "Redis publishes new versions") \
    X(BAN, 122, MS, "ban", "duration of the ban") \
    X(KIND, 123, CODE, "kind", "kind of a row") \
    X(NAME, 124, TEXT, "name", "name of the member, share, role or field") \
    X(MEMBER_STATE, 125, CODE, "state", "state of the member") \
    X(MEMBERS, 126, INT, "members", "number of members") \
    X(CREATED, 127, TIME, "created", "time of opening") \
    X(SEEN, 128, TIME, "seen", "time of the last heartbeat") \
    X(MARK, 129, TOKEN, "mark", "mark of the room's history") \
    X(FIRST, 130, INT, "first", "the first id of a range") \
    X(NEXT, 131, INT, "next", "the next id") \
    X(BY, 132, INT, "by", "difference from one id to the next") \
    X(EPOCH, 133, TOKEN, "epoch", "epoch of the scope") \
    X(STEP_MAX, 134, INT, "step-max", "maximum ids of a segment") \
    X(STEP_FIRST, 135, INT, "step_first", "ids of the first segment") \
    X(LIFE, 136, MS, "life", "how long a segment should last") \
    X(MANAGED, 137, BOOL, "managed", "its segments are installed from outside") \
    X(ISSUED, 138, INT, "issued", "ids issued") \
    X(SEGMENTS, 139, INT, "segments", "number of segments until now") \
    X(BEGAN, 140, TIME, "began", "start of the current segment") \
    X(LASTED, 141, MS, "lasted", "life of the previous segment") \
    X(SERIAL, 142, TEXT, "serial", "a serial as printed") \
    X(PREFIX, 143, BYTES, "prefix", "text before the date and number") \
    X(SUFFIX, 144, BYTES, "suffix", "text after the number") \
    X(DATE, 145, BYTES, "date", "the date, a pattern of strftime; of a serial: as printed") \
    X(WIDTH, 146, INT, "width", "minimum digits") \
    X(BASE, 147, INT, "base", "number that serials are added to") \
    X(RADIX, 148, INT, "radix", "base of the digits, 10 to 36") \
    X(CHECK, 149, CODE, "check", "the kind of check digit") \
    X(CRITICAL, 150, INT, "critical", "low-water mark of the stock") \
    X(BATCH, 151, INT, "batch", "maximum numbers made at a time") \
    X(RESET, 152, CODE, "reset", "when numbers begin again at start") \
    X(STAMP, 153, CODE, "stamp", "the event that gives a serial its date") \
    X(MODE, 154, CODE, "mode", "a stock, or gap-free") \
    X(OVERFLOW, 155, CODE, "overflow", "handling of numbers beyond the width") \
    X(RAISE, 156, INT, "step", "raise max by this") \
    X(FROM, 157, INT, "from", "after this number") \
    X(TO, 158, INT, "to", "up to this number") \
    X(PERIOD, 159, INT, "period", "start of the period, in days since 1970") \
    X(AUTHORITY, 160, BOOL, "authority", "numbers are issued only if an authority has granted them") \
    X(DEBT, 161, INT, "debt", "last number that may be issued beyond the grant") \
    X(LEFT, 162, INT, "left", "numbers that may still be made") \
    X(CUR, 163, INT, "cur", "the last number made") \
    X(GRANTED, 164, INT, "granted", "the last number that may be issued") \
    X(NUMBER_MADE, 165, INT, "number", "the number that is printed") \
    X(AT, 166, TIME, "at", "time of the printed date") \
    X(FORM, 167, BYTES, "form", "print format of a row") \
    X(AVAILABLE, 168, INT, "available", "numbers in stock") \
    X(RECENT, 169, INT, "recent", "taken in the last half hour") \
    X(LONGTERM, 170, INT, "longterm", "taken in the last hour") \
    X(TARGET, 171, INT, "target", "stock that a tick would make") \
    X(HELD, 172, INT, "held", "numbers held") \
    X(RETURNED, 173, INT, "returned", "numbers returned") \
    X(TAKEN, 174, INT, "taken", "the highest number ever issued") \
    X(MADE, 175, BOOL, "made", "numbers were made") \
    X(TEXT_VALUE, 176, INT, "value", "the value that is printed") \
    X(CHECK_DIGIT, 177, TEXT, "check", "the check digit") \
    X(VERB, 178, CODE, "verb", "verb of the change") \
    X(SUBJECT, 179, TEXT, "subject", "subject of the change") \
    X(BEFORE, 180, INT, "before", "version before the change") \
    X(DATA, 181, BYTES, "data", "data to make the change in a copy") \
    X(FROM_STATE, 182, INT, "from", "state before the change") \
    X(TO_STATE, 183, INT, "to", "state after it") \
    X(TIME, 184, TIME, "time", "time of the change") \
    X(WAS, 185, TOKEN, "was", "mark before the change") \
    X(GAP, 186, MS, "gap", "minimum time from the start of a call to the next of the same number") \
    X(LEASE_MAX, 187, MS, "lease-max", "a hold ends this long after it began, in spite of renewals; 0: no limit") \
    X(ASK_AGAIN, 188, MS, "again", "an agent that rejected or missed a user is not offered it again before this time") \
    X(DOUBT, 189, INT, "doubt", "numbers in doubt, reserved before another server or file took over the store") \
    X(OUTAGE, 190, MS, "outage", "leases that end in an outage are extended by this time; 0: never") \
    X(LONGEST_SINCE, 191, MS, "longest_since", "since the arrival of the waiting user that came first") \
    X(SCOPE, 192, TEXT, "scope", "a scope; in `scopes`: NOUN/NAME") \
    X(NOUN, 193, CODE, "noun", "the noun of scopes") \
    X(WORKER, 194, TEXT, "worker", "the worker that checks rooms") \
    X(EVERY, 195, MS, "every", "from one patrol of a room to the next") \
    X(RULE, 196, TEXT, "rule", "a rule of serials") \
    X(PARTIAL, 197, BOOL, "partial", "a part of the store did not answer") \
    X(DIGEST, 198, TEXT, "digest", "128 bits, 32 hex digits") \
    X(DUE, 199, TIME, "due", "nothing in the scope expires before this time") \
    X(ITEMS, 200, INT, "items", "number of records in the scope") \
    X(ROW, 201, INT, "row", "position in the journal") \
    X(TWICE, 202, BOOL, "twice", "a number was issued or settled a second time") \
    X(VISIT_TOKEN, 203, TOKEN, "visit_token", "token of the visit; every later visit of the queue has another one") \
    X(SESSION, 204, TEXT, "session", "name of the agent's connection; a new one takes over, and gets a new token") \
    X(VERSIONS, 205, INT, "versions", "1: JSON also has all versions and own fields, the input of the digest") \
    X(SCOPE_MODE, 206, CODE, "mode", "whether calls or users are accepted and served") \
    X(ACTOR, 207, TEXT, "actor", "the person or program that gave the command") \
    X(REASON, 208, TEXT, "reason", "text for people: the reason of the mode or of the pause") \
    X(ARRIVED_TODAY, 209, INT, "arrived_today", "users that applied since local midnight") \
    X(WITHIN_TODAY, 210, INT, "within_today", "users seated within service since local midnight") \
    X(ABANDONED_WITHIN_TODAY, 211, INT, "abandoned_within_today", "users that left without an agent within service") \
    X(SERVICE_SEATED, 212, SHARE, "service_seated", "share of the users seated today that were seated within service") \
    X(ARRIVED_TOTAL, 213, INT, "arrived_total", "users that applied since the queue or lane was created") \
    X(SEATED_TOTAL, 214, INT, "seated_total", "users seated since then") \
    X(WITHIN_TOTAL, 215, INT, "within_total", "users seated within service since then") \
    X(ABANDONED_TOTAL, 216, INT, "abandoned_total", "users that left without an agent since then") \
    X(ABANDONED_WITHIN_TOTAL, 217, INT, "abandoned_within_total", "users that left without an agent within service since then") \
    X(TIMEOUT_TOTAL, 218, INT, "timeout_total", "users that waited for maxwait since then") \
    X(FINISHED_TOTAL, 219, INT, "finished_total", "visits that ended since then") \
    X(DROPPED_TOTAL, 220, INT, "dropped_total", "finished visits whose agent was gone, with requeue=drop, since then") \
    X(WAIT_TOTAL, 221, MS, "wait_total", "sum of the waiting times of users seated since then") \
    X(TALK_TOTAL, 222, MS, "talk_total", "sum of the times with the agent of visits that ended since then") \
    X(QUARTER, 223, TIME, "start", "start of the quarter hour") \
    X(ARRIVED, 224, INT, "arrived", "users that applied in it") \
    X(SEATED_IN, 225, INT, "seated", "users seated in it") \
    X(WITHIN, 226, INT, "within", "users seated in it within service") \
    X(ABANDONED, 227, INT, "abandoned", "users that left in it without an agent") \
    X(TIMEOUT, 228, INT, "timeout", "users that had waited for maxwait in it") \
    X(WAIT_SUM, 229, MS, "wait", "sum of the waiting times of users seated in it") \
    X(TALK_SUM, 230, MS, "talk", "sum of the times with the agent of visits that ended in it") \
    X(UP_TO, 231, MS, "up_to", "bound of the waiting times that are counted") \
    X(CALLS_TOTAL, 232, INT, "calls_total", "calls since the pool was created") \
    X(REFUSED_TOTAL, 233, INT, "refused_total", "calls without a number since then") \
    X(HANGUPS_TOTAL, 234, INT, "hangups_total", "calls that hangup ended since then") \
    X(EXPIRED_TOTAL, 235, INT, "expired_total", "calls that their lease or lease-max ended since then") \
    X(FREED_TOTAL, 236, INT, "freed_total", "calls that free or del ended since then") \
    X(ROLES, 237, INT, "roles", "roles that members have") \
    X(SHARES, 238, INT, "shares", "shares of members") \
    X(JOINED_TOTAL, 239, INT, "joined_total", "members that joined since the room was opened") \
    X(LEFT_TOTAL, 240, INT, "left_total", "members that left since then") \
    X(LOST_TOTAL, 241, INT, "lost_total", "members that were removed without a heartbeat since then") \
    X(KICKED_TOTAL, 242, INT, "kicked_total", "members that were kicked or banned since then") \
    X(CHANGES_TOTAL, 243, INT, "changes_total", "changes of the room since then") \
    X(VISIT, 244, TEXT, "visit", "name of the user's stay with an agent, which no other one has: EPOCH.TOKEN")
/* clang-format on */

enum usher_field {
#define USHER__F(name, code, type, word, help) USHER_FIELD_##name = code,
    USHER_FIELD_MAP(USHER__F)
#undef USHER__F
        USHER_FIELD__WIDE = 0x7fffffff
};

#endif
