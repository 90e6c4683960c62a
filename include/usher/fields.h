/* SPDX-License-Identifier: MIT */
/*
 * The fields of commands and answers: one name, one type and one unit for the whole library.
 *
 * X(name, code, type, word, help).  Types: INT; BOOL 0 or 1; CODE, see usher_code_word(); MS a
 * duration and TIME a moment, Unix milliseconds; MIN minutes; TOKEN 64 bits, to be compared and
 * not counted with (of the same bits as the int64_t); TEXT a name, or bytes of UTF-8; BYTES any
 * bytes.  The word is that of usher(1) and of its JSON.
 *
 * ABI: append, never reuse.
 */
#ifndef USHER_FIELDS_H
#define USHER_FIELDS_H

/* clang-format off */
#define USHER_FIELD_MAP(X) \
    X(REQUEST, 1, TEXT, "req", "request id: a repeat gets the first answer") \
    X(NOW, 2, TIME, "now", "the time of the command; else the engine's clock") \
    X(WAIT, 3, INT, "wait", "replicas to wait for, when it is done") \
    X(IF_VERSION, 4, INT, "if-version", "only if the scope has this version, else it is stale") \
    X(MAX, 5, INT, "max", "rows, or changes, at most") \
    X(AFTER, 6, TEXT, "after", "where the page before ended") \
    X(MORE, 7, BOOL, "more", "there is more: ask again") \
    X(COUNT, 8, INT, "count", "how many were done") \
    X(OWNER, 9, TEXT, "owner", "who holds it") \
    X(TOKEN, 10, TOKEN, "token", "of a hold: another one for every later hold of the scope") \
    X(STATE, 11, CODE, "state", "the state, after the command") \
    X(WHY, 12, CODE, "why", "why not") \
    X(UNTIL, 13, TIME, "until", "when it ends by itself") \
    X(LEASE, 14, MS, "lease", "how long a hold lasts; 0: until it is ended") \
    X(REQUESTS, 15, INT, "requests", "answers kept for request ids") \
    X(ZONE, 16, MIN, "zone", "local time, minutes east of UTC") \
    X(VERSION, 17, INT, "version", "at which this was set") \
    X(SINCE, 18, TIME, "since", "when it began") \
    X(N, 19, INT, "n", "how many") \
    X(START, 20, INT, "start", "the first one") \
    X(STEP, 21, INT, "step", "from one number to the next; of ids: so many in a segment") \
    X(HIGHEST, 22, INT, "max", "the last number there may be") \
    X(LIMIT, 23, INT, "limit", "no more than this") \
    X(CAPACITY, 24, INT, "capacity", "so many at a time") \
    X(LOG, 25, INT, "log", "changes kept for who asks later") \
    X(NUMBER, 26, TEXT, "number", "a number of the pool") \
    X(GROUP, 27, TEXT, "group", "the group of a number") \
    X(GROUPS, 28, TEXT, "group", "groups, \"A,B,*\": tried in order, * is any") \
    X(STICKY, 29, TEXT, "sticky", "the callee: the number last used for it, if that is free") \
    X(NODE, 30, TEXT, "node", "the machine that carries the call") \
    X(REST, 31, MS, "rest", "not offered for this long after a call") \
    X(ORDER, 32, CODE, "order", "which number is given first") \
    X(DAILY, 33, INT, "daily", "calls of one number a local day; 0: any") \
    X(STRICT, 34, BOOL, "strict", "commands need the token of what they are about") \
    X(STICKY_MS, 35, MS, "sticky", "how long the number of a callee is remembered") \
    X(STICKY_MAX, 36, INT, "sticky-max", "callees remembered") \
    X(ALL, 37, BOOL, "all", "every one of them") \
    X(NEXT_FREE, 38, TIME, "next", "no number gets free by itself before this time") \
    X(RESTING, 39, BOOL, "resting", "it rests") \
    X(CAPPED, 40, BOOL, "capped", "it has had its calls of the day") \
    X(CALLS_TODAY, 41, INT, "calls_today", "calls since local midnight") \
    X(USED, 42, TIME, "used", "when the last call began") \
    X(AGE, 43, MS, "age", "how long it is held") \
    X(TOTAL, 44, INT, "total", "numbers") \
    X(IDLE_UP, 45, INT, "idle_up", "free and registered") \
    X(IDLE_DOWN, 46, INT, "idle_down", "free, not registered") \
    X(BUSY_UP, 47, INT, "busy_up", "in a call") \
    X(BUSY_DOWN, 48, INT, "busy_down", "in a call, not registered") \
    X(RESTING_NUMBERS, 49, INT, "resting", "of those free and registered: they rest") \
    X(REFUSED_TODAY, 50, INT, "refused_today", "calls that got nothing since local midnight") \
    X(LONGEST_HOLD, 51, MS, "longest_hold", "age of the oldest hold") \
    X(CAPPED_NUMBERS, 52, INT, "capped", "of those free and registered: they have had their calls of the day") \
    X(AGENT, 53, TEXT, "agent", "an agent") \
    X(USER, 54, TEXT, "user", "a user who wants an agent") \
    X(ROOM, 55, TEXT, "room", "the place of an agent that a user has: EPOCH.LOGIN.NO") \
    X(LANE, 56, TEXT, "lane", "the line in which a user waits") \
    X(LANES, 57, TEXT, "lanes", "lines that an agent serves, \"A,B\", or * for all") \
    X(PRIORITY, 58, INT, "priority", "larger ones are first") \
    X(LEVEL, 59, INT, "level", "rank of an agent, smaller first") \
    X(TTL, 60, MS, "ttl", "silent for so long: gone, or offline; 0: never") \
    X(TRIGGER, 61, CODE, "trigger", "when users are given to agents") \
    X(STRATEGY, 62, CODE, "strategy", "which agent is first") \
    X(OFFER, 63, MS, "offer", "how long an agent may take to accept; 0: no asking") \
    X(WRAPUP, 64, MS, "wrapup", "an agent's time after a visit") \
    X(MAXWAIT, 65, MS, "maxwait", "who waits longer is timed out; 0: never") \
    X(GRACE, 66, MS, "grace", "how long the place of who is silent is kept") \
    X(REQUEUE, 67, CODE, "requeue", "what becomes of users whose agent is gone") \
    X(HISTORY, 68, INT, "history", "ended visits kept") \
    X(SERVICE, 69, MS, "service", "seated within this counts for the service level") \
    X(ARCHIVE, 70, INT, "archive", "ended visits kept for who drains them") \
    X(AGENT_STATE, 71, CODE, "state", "of the agent") \
    X(USER_STATE, 72, CODE, "state", "of the user") \
    X(PLACE, 73, CODE, "place", "where the user is") \
    X(OUTCOME, 74, CODE, "outcome", "how the visit ended") \
    X(INDEX, 75, INT, "index", "users ahead in the lane") \
    X(WAIT_MS, 76, MS, "wait", "how long it will wait, by estimate") \
    X(LOGIN, 77, INT, "login", "version of the login") \
    X(ROOMS, 78, INT, "rooms", "places of the agent") \
    X(APPLIED, 79, TIME, "applied", "since when it waits, or did") \
    X(MATCHED, 80, TIME, "matched", "when it was given to the agent") \
    X(WAITED, 81, MS, "wait", "how long it waited") \
    X(TALKED, 82, MS, "talk", "how long it was with the agent") \
    X(FINISHED, 83, TIME, "finished", "when the visit ended") \
    X(USED_ROOMS, 84, INT, "used", "places taken") \
    X(SERVED, 85, INT, "served", "visits that it has had") \
    X(LOGGED_IN, 86, TIME, "logged_in", "when the agent came") \
    X(STATE_SINCE, 87, TIME, "since", "since when it is in its state") \
    X(WAITING, 88, INT, "waiting", "users who wait") \
    X(USERS_AWAY, 89, INT, "away", "users who wait, and are silent") \
    X(OFFERED, 90, INT, "offered", "users offered to an agent") \
    X(SEATED, 91, INT, "seated", "users with an agent") \
    X(AGENTS, 92, INT, "agents", "agents logged in") \
    X(AGENTS_IDLE, 93, INT, "agents_idle", "of them free") \
    X(AGENTS_OFFERED, 94, INT, "agents_offered", "of them asked to accept") \
    X(AGENTS_BUSY, 95, INT, "agents_busy", "of them with a user") \
    X(AGENTS_WRAPUP, 96, INT, "agents_wrapup", "of them in their time after a visit") \
    X(AGENTS_PAUSED, 97, INT, "agents_paused", "of them paused") \
    X(LONGEST_WAIT, 98, MS, "longest_wait", "of the user that has waited longest") \
    X(SEATED_TODAY, 99, INT, "seated_today", "since local midnight") \
    X(ABANDONED_TODAY, 100, INT, "abandoned_today", "left without an agent") \
    X(TIMEOUT_TODAY, 101, INT, "timeout_today", "waited longer than maxwait") \
    X(FINISHED_TODAY, 102, INT, "finished_today", "visits that ended") \
    X(DROPPED_TODAY, 103, INT, "dropped_today", "of them by force or loss") \
    X(SERVICE_LEVEL, 104, INT, "service_level", "seated within service, of 10,000") \
    X(MEAN_WAIT, 105, MS, "wait", "mean of those seated today") \
    X(MEAN_TALK, 106, MS, "talk", "mean of visits that ended today") \
    X(VISITS, 107, INT, "visits", "ended visits kept") \
    X(MEMBER, 108, TEXT, "member", "a member of the room") \
    X(ROLE, 109, TEXT, "role", "a role that one member has") \
    X(HOLDER, 110, BYTES, "member", "who gets the role; \"\": nobody") \
    X(SHARE, 111, TEXT, "share", "a thing that a member shows") \
    X(FIELD, 112, TEXT, "field", "the name of a value") \
    X(VALUE, 113, BYTES, "value", "a value") \
    X(IF, 114, BYTES, "if", "only if that is the value, or who has the role; \"\": none") \
    X(FIELDS, 115, BYTES, "fields", "several fields, as usher_fields_pack() makes them") \
    X(AFTER_VERSION, 116, INT, "after", "version at which the last member of the page before joined") \
    X(SINCE_VERSION, 117, INT, "since", "a version") \
    X(LINGER, 118, MS, "linger", "an empty room closes after this; 0: never") \
    X(AWAY, 119, MS, "away", "silent for so long: away; 0: never") \
    X(PRESENCE, 120, MS, "presence", "who comes and goes is told together, within this") \
    X(PUSH, 121, BOOL, "push", "Redis publishes new versions") \
    X(BAN, 122, MS, "ban", "kept out for so long") \
    X(KIND, 123, CODE, "kind", "what a row is") \
    X(NAME, 124, TEXT, "name", "of the member, share, role or field") \
    X(MEMBER_STATE, 125, CODE, "state", "of the member") \
    X(MEMBERS, 126, INT, "members", "members there are") \
    X(CREATED, 127, TIME, "created", "when it was opened") \
    X(SEEN, 128, TIME, "seen", "the last sign of life") \
    X(MARK, 129, TOKEN, "mark", "of the room's history") \
    X(FIRST, 130, INT, "first", "the first id of a range") \
    X(NEXT, 131, INT, "next", "the next id") \
    X(BY, 132, INT, "by", "from one id to the next") \
    X(EPOCH, 133, TOKEN, "epoch", "of the scope") \
    X(STEP_MAX, 134, INT, "step-max", "ids in a segment at most") \
    X(STEP_FIRST, 135, INT, "step_first", "ids in the first segment") \
    X(LIFE, 136, MS, "life", "how long a segment should last") \
    X(MANAGED, 137, BOOL, "managed", "its segments are installed from outside") \
    X(ISSUED, 138, INT, "issued", "ids given out") \
    X(SEGMENTS, 139, INT, "segments", "segments there were") \
    X(BEGAN, 140, TIME, "began", "when the present segment began") \
    X(LASTED, 141, MS, "lasted", "how long the one before lasted") \
    X(SERIAL, 142, TEXT, "serial", "a serial, as it is printed") \
    X(PREFIX, 143, BYTES, "prefix", "what stands in front") \
    X(SUFFIX, 144, BYTES, "suffix", "what stands behind") \
    X(DATE, 145, BYTES, "date", "the date, a pattern of strftime; of a serial: as it is printed") \
    X(WIDTH, 146, INT, "width", "digits at least") \
    X(BASE, 147, INT, "base", "what numbers are added to") \
    X(RADIX, 148, INT, "radix", "base of the digits, 10 to 36") \
    X(CHECK, 149, CODE, "check", "the kind of check digit") \
    X(CRITICAL, 150, INT, "critical", "make more when so few are left") \
    X(BATCH, 151, INT, "batch", "make at most so many at a time") \
    X(RESET, 152, CODE, "reset", "when numbers begin anew") \
    X(STAMP, 153, CODE, "stamp", "whose date it has") \
    X(MODE, 154, CODE, "mode", "a stock, or gap-free") \
    X(OVERFLOW, 155, CODE, "overflow", "what happens beyond the width") \
    X(RAISE, 156, INT, "step", "raise max by this") \
    X(FROM, 157, INT, "from", "behind this number") \
    X(TO, 158, INT, "to", "up to this number") \
    X(PERIOD, 159, INT, "period", "days since 1970 on which the period began") \
    X(AUTHORITY, 160, BOOL, "authority", "nothing is given out that an authority has not granted") \
    X(DEBT, 161, INT, "debt", "what was given out beyond the grant") \
    X(LEFT, 162, INT, "left", "numbers that may still be made") \
    X(CUR, 163, INT, "cur", "the last number made") \
    X(GRANTED, 164, INT, "granted", "the last number that may be given out") \
    X(NUMBER_MADE, 165, INT, "number", "the number that is printed") \
    X(AT, 166, TIME, "at", "of the date that is printed") \
    X(FORM, 167, BYTES, "form", "how a row is printed") \
    X(AVAILABLE, 168, INT, "available", "numbers in stock") \
    X(RECENT, 169, INT, "recent", "taken in the last half hour") \
    X(LONGTERM, 170, INT, "longterm", "taken in the half hour before") \
    X(TARGET, 171, INT, "target", "so many are to be in stock") \
    X(HELD, 172, INT, "held", "numbers held") \
    X(RETURNED, 173, INT, "returned", "numbers given back") \
    X(TAKEN, 174, INT, "taken", "numbers taken") \
    X(MADE, 175, BOOL, "made", "numbers were made") \
    X(TEXT_VALUE, 176, INT, "value", "the value that is printed") \
    X(CHECK_DIGIT, 177, TEXT, "check", "the check digit") \
    X(VERB, 178, CODE, "verb", "of a change") \
    X(SUBJECT, 179, TEXT, "subject", "what a change is about") \
    X(BEFORE, 180, INT, "before", "the version before") \
    X(DATA, 181, BYTES, "data", "of a change: what it takes to make it in a copy") \
    X(FROM_STATE, 182, INT, "from", "state before the change") \
    X(TO_STATE, 183, INT, "to", "state after it") \
    X(TIME, 184, TIME, "time", "of the change") \
    X(WAS, 185, TOKEN, "was", "mark before the change") \
    X(GAP, 186, MS, "gap", "from the beginning of a call to the next of the same number") \
    X(LEASE_MAX, 187, MS, "lease-max", "a hold ends this long after it began, however often it is renewed; 0: no limit") \
    X(ASK_AGAIN, 188, MS, "again", "an agent that has refused or missed a user is not offered it again before this time") \
    X(DOUBT, 189, INT, "doubt", "numbers in doubt, which were reserved before the store changed hands") \
    X(OUTAGE, 190, MS, "outage", "leases that end while no command reaches the pool for half of this time end so long after it; 0: none") \
    X(LONGEST_SINCE, 191, MS, "longest_since", "since the arrival of the waiting user that came first") \
    X(SCOPE, 192, TEXT, "scope", "a scope; of `scopes`: NOUN/NAME") \
    X(NOUN, 193, CODE, "noun", "the noun of scopes") \
    X(WORKER, 194, TEXT, "worker", "who looks at rooms") \
    X(EVERY, 195, MS, "every", "from one look at a room to the next") \
    X(RULE, 196, TEXT, "rule", "a rule of serials") \
    X(PARTIAL, 197, BOOL, "partial", "a part of the store did not answer: not all was seen") \
    X(DIGEST, 198, TEXT, "digest", "128 bits, 32 hex digits") \
    X(DUE, 199, TIME, "due", "nothing of the scope changes by itself before this time") \
    X(ITEMS, 200, INT, "items", "how much is in the scope") \
    X(ROW, 201, INT, "row", "place in the journal") \
    X(TWICE, 202, BOOL, "twice", "a number was issued or settled a second time") \
    X(VISIT_TOKEN, 203, TOKEN, "visit_token", "of a visit: another one for every later visit of the queue") \
    X(SESSION, 204, TEXT, "session", "names the connection of the agent; another one takes over, and gets a new token") \
    X(VERSIONS, 205, INT, "versions", "1: JSON has also all versions and own fields, as the digest is computed from these")
/* clang-format on */

enum usher_field {
#define USHER__F(name, code, type, word, help) USHER_FIELD_##name = code,
    USHER_FIELD_MAP(USHER__F)
#undef USHER__F
        USHER_FIELD__WIDE = 0x7fffffff
};

#endif
