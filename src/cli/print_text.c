/* SPDX-License-Identifier: MIT */
/*
 * Answers for people: one line, free to change; programs read the other form.
 *
 * A sentence is a template with
 *
 *   {NAME}    a value of the row or of the answer: times as dates, codes as words
 *   {NAME/s}  milliseconds, as "350 ms", "12 s" or "3 min".  {NAME&} packed fields, as "
 * name=value"
 *   {@NAME}   an argument of the command
 *   {=NAME}   settings as word=value, from this one on, in the order of the JSON
 *   {#name}   the number of rows: "1 name", "2 names"
 *   {last}, {total}, {more}, {message}, {version}, {why}, {rooms}: see special()
 *   <…>       this for each row
 *   […|…]     the first part that applies, or nothing.  A part applies if all its values exist and
 *             are neither 0 nor empty ({!NAME}: with any value), and if it has rows where it has
 *             <…>.  A condition can precede a part: NAME?, NAME=value? or NAME=begin*? (@NAME?,
 *             !@NAME?) for a value that exists and is that, done?, or the word of a status and ?.
 *             A [ or < within a part applies or not by itself.
 */
#include "config.h"

#include "cli/answer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <usher/command.h>

#include "core/pack.h"
#include "core/verbs.h"

#define ALWAYS UINT32_MAX
#define DONE 0xffffu
#define OK (1u << USHER_OK)
#define MISSING (1u << USHER_MISSING)
#define REFUSED (1u << USHER_REFUSED)
#define EMPTY (1u << USHER_EMPTY)
#define FULL (1u << USHER_FULL)
#define STALE (1u << USHER_STALE)

#define UNTIL "[STATE=busy*?[, held until {UNTIL}|, held until hangup]|[, rests until {UNTIL}]]"
#define NUMBER                                                          \
    "{NUMBER} {STATE}[, group {GROUP}][, owner {OWNER}][, node {NODE}]" \
    "[STATE=busy*?, token {!TOKEN}, for {!AGE/s}]" UNTIL                \
    "[, {CALLS_TODAY} calls today[CAPPED=1?, no more of them]][, last used {USED}]"
#define SEGMENT                                                                                     \
    "[NEXT?next {!NEXT}|the limit is reached][HIGHEST?, segment up to {!HIGHEST}|, no segment yet]" \
    ", step {STEP}"
#define SETTINGS                                                                               \
    ", start={START} step={STEP_FIRST} by={BY} limit={LIMIT} step-max={STEP_MAX} life={LIFE} " \
    "managed={MANAGED} requests={REQUESTS}"
#define MORE "[MORE=1?, more are to do]"
#define MEMBERS "{MEMBERS} member[MEMBERS=1?|s]"
#define PLACE                                                                               \
    "[WHY=no-agent?: no logged-in agent serves its lane"                                    \
    "|WHY=history?: too many ended visits wait for a history"                               \
    "|WHY=closed?: no new users|WHY=stopped?: no new users"                                 \
    "|WHY=lost?: the store may have lost it, with other changes"                            \
    "|OUTCOME?: {OUTCOME} {FINISHED}[OUTCOME=seated?[, was with {AGENT}]]"                  \
    "|PLACE=room? is in room {ROOM}[ of {AGENT}][, token {TOKEN}]"                          \
    "|PLACE=offer? is offered for room {ROOM}[ of {AGENT}] until {!UNTIL}[, token {TOKEN}]" \
    "|PLACE=queue? waits[ in lane {LANE}], {!INDEX} ahead[, {WAITING} in line]"             \
    "[WAIT_MS?, about {!WAIT_MS/s}]|PLACE=away? is away"                                    \
    "| is not here][, visit token {VISIT_TOKEN}]"
#define AGENT ": [{AGENT}|{@AGENT}] is [{AGENT_STATE}|gone]"
#define HERE "[ ({REASON})][ until {UNTIL}]"
#define LOGIN "[, token {TOKEN}]"
#define ROOMS "<; room {ROOM}[: {USER}| is free]>"
#define USERS                                                           \
    "<; {USER} {USER_STATE}[, lane {LANE}][, with {AGENT}][ in {ROOM}]" \
    "[, token {TOKEN}][, visit token {VISIT_TOKEN}]>"
#define NOTICES "<; {VERSION} {VERB}[ {SUBJECT}]{DATA&}>"
#define ITEMS                                                            \
    "[SCOPE=number/*?, {!ITEMS} number[ITEMS=1?|s]"                      \
    "|SCOPE=queue/*?, {!ITEMS} [ITEMS=1?agent or user|agents and users]" \
    "|SCOPE=room/*?, {!ITEMS} member[ITEMS=1?|s]|SCOPE=serial/*?[, {ITEMS} held]]"
#define LOG_BEGINS ": [{message}: it is at {version}|the log begins after version {SINCE_VERSION}]"

static const struct {
    const char *noun, *verbs; /* NULL: all, all others */
    uint32_t on;
    const char *say;
} sentences[] = {
    { NULL, "changes", STALE, LOG_BEGINS },
    { NULL, "changes", ALWAYS, "[: {message}]" NOTICES },
    { "number", "call", DONE, ": {NUMBER}, token {TOKEN}" UNTIL },
    { "number", "call", EMPTY,
      ": [WHY=none?there are no numbers|WHY=busy?all are busy|WHY=down?none is registered"
      "|WHY=resting?all rest|WHY=capped?all have had their calls of the day"
      "|WHY=closed?the pool is closed|WHY=stopped?the pool is stopped|nothing is free]"
      "[, one may be free at {NEXT_FREE}]" },
    { "number", "call", ALWAYS,
      "[: {@NUMBER}] is [WHY=resting?resting|WHY=capped?idle+up, but has had its calls of the day"
      "|WHY=closed?{STATE}, and the pool is closed|WHY=stopped?{STATE}, and the pool is stopped"
      "|{!STATE}][, may be free at {NEXT_FREE}]" },
    { "number", "free", ~MISSING, ": {COUNT} freed" MORE },
    { "number", "sweep", ~MISSING, ": {COUNT} expired" MORE },
    { "number", "drop", ALWAYS, ": {COUNT} dropped" MORE },
    { "number", "show", ALWAYS, ": [<" NUMBER ">|{@NUMBER}]" },
    { "number", "list", ~MISSING, ": {#number}<; " NUMBER ">[; more after {AFTER}]" },
    { "number", "stats", ~MISSING,
      ": {TOTAL} numbers: {IDLE_UP} idle+up ({RESTING_NUMBERS} resting, {CAPPED_NUMBERS} capped), "
      "{IDLE_DOWN} idle+down, {BUSY_UP} busy+up, {BUSY_DOWN} busy+down; today {CALLS_TODAY} calls, "
      "{REFUSED_TODAY} refused; longest hold {LONGEST_HOLD/s}[SCOPE_MODE=open?|; {SCOPE_MODE}]<: {REASON}>" },
    { "number", "set", ~MISSING, ": {=ORDER}<: {REASON}>" },
    { "number", "free sweep list stats set", ALWAYS, "" },
    { "number", "hangup", ALWAYS,
      ": {@NUMBER} is {STATE}[stale?<[, owner {OWNER}]>]"
      "[STATE=busy*?[refused?[!@TOKEN?, and the pool is strict: token= must be given]]]" UNTIL },
    { "number", "renew", ALWAYS,
      ": [@NUMBER?{@NUMBER} is {!STATE}[stale?<[, owner {OWNER}]>|done?[@OWNER? under token {!TOKEN}]]" UNTIL
      "|done?{!COUNT} renewed[, more after {AFTER}]]" },
    { "number", NULL, ALWAYS, ": {@NUMBER} is {STATE}" },

    { "id", "delete", ALWAYS, "" },
    { "id", "next", OK, ": [N=1?{!FIRST}|{!FIRST} to {last}, {N} ids]" },
    { "id", "next", FULL, ": [{N} are left, from {!FIRST} on|" SEGMENT "]" },
    { "id", "next", EMPTY | REFUSED,
      ": the segment has not enough ids, install the next one: " SEGMENT },
    { "id", "install", EMPTY | REFUSED,
      ": it is not managed, or has given out ids above: " SEGMENT },
    { "id", "show", ALWAYS,
      ": " SEGMENT "<, by {BY}, limit {LIMIT}, {ISSUED} issued, {SEGMENTS} segments"
      "[MANAGED=1?, managed]>" },
    { "id", "create", REFUSED, ": it is there with other settings: " SEGMENT SETTINGS },
    { "id", "set", REFUSED,
      ": [WHY=class?by can only become a multiple of itself, or ids of another start would come"
      "|ids never go back]: " SEGMENT SETTINGS },
    { "id", "create set", ALWAYS, ": " SEGMENT SETTINGS },
    { "id", NULL, ALWAYS, ": " SEGMENT },

    { "queue", "logout pause ready pull", STALE, ": the token is of another login of {@AGENT}" },
    { "queue", "leave where move", STALE, ": the token is of another visit of {@USER}" },
    { "queue", "accept reject", STALE, ": the token is of another offer of {@USER}" },
    { "queue", "alive", STALE,
      ": the token is of another [@AGENT?login of {@AGENT}|visit of {@USER}]" },
    { "queue", "set", ~MISSING, ": {=TTL}<: {REASON}>" },
    { "queue", "stats", ~MISSING,
      ": {WAITING} wait (longest {LONGEST_WAIT/s}), {OFFERED} offered, {SEATED} seated, "
      "{USERS_AWAY} away; agents: {AGENTS_IDLE} idle, {AGENTS_OFFERED} offered, {AGENTS_BUSY} busy, "
      "{AGENTS_WRAPUP} wrapup, {AGENTS_PAUSED} paused[<[ ({AGENTS_PAUSED} {REASON})]>]; today {SEATED_TODAY} seated, "
      "{ABANDONED_TODAY} abandoned, {TIMEOUT_TODAY} timed out"
      "[SERVICE_LEVEL?, service level {!SERVICE_LEVEL%} %][SCOPE_MODE=open?|; {SCOPE_MODE}[: {REASON}]]" },
    { "queue", "login logout pause ready free", ALWAYS, AGENT "{rooms}" LOGIN },
    { "queue", "room", ALWAYS, AGENT HERE LOGIN ROOMS },
    { "queue", "alive", ALWAYS, "[@AGENT?" AGENT HERE LOGIN "|: {@USER}" PLACE "]" ROOMS },
    { "queue", "apply where move", ALWAYS, ": {@USER}" PLACE },
    { "queue", "pull", REFUSED, "[WHY=stopped?: no user is served]" },
    { "queue", "pull match", ALWAYS, ": {#} matched" USERS },
    { "queue", "sweep", ~MISSING, ": {COUNT} expired" MORE USERS },
    { "queue", "drop", ALWAYS, ": {COUNT} dropped" MORE },
    { "queue", "drain", ~MISSING,
      ": {COUNT} moved" MORE "<; {USER} {OUTCOME}, waited {WAITED/s}[, with {AGENT}"
      "[MATCHED? {!TALKED/s}]]>" },
    { "queue", "list", ~MISSING, ": {#row}" USERS "[; more after {AFTER}]" },
    { "queue", "lanes", ~MISSING,
      ": {#lane}<; {LANE}: {WAITING} wait (longest {LONGEST_WAIT/s}), {SEATED} seated, "
      "today {SEATED_TODAY} seated, {ABANDONED_TODAY} abandoned, {TIMEOUT_TODAY} timed out>"
      "[; more after {AFTER}]" },
    { "queue", "intervals", ~MISSING,
      ": {#quarter hour}<; {QUARTER}: {ARRIVED} arrived, {SEATED_IN} seated, {WITHIN} in time, "
      "{ABANDONED} abandoned, {TIMEOUT} timed out>" },
    { "queue", "waits", ~MISSING, "<; [UP_TO?{UP_TO/s}|more]: {SEATED_TOTAL}>" },
    { "queue", "agents", ~MISSING,
      ": {#row}<; {AGENT} {AGENT_STATE}[ ({REASON})], {USED_ROOMS} of {CAPACITY} rooms, served {SERVED}, lanes "
      "{LANES}>[; more after {AFTER}]" },
    { "queue", "history", ~MISSING,
      ": {#row}<; {USER} {OUTCOME}, waited {WAITED/s}[, with {AGENT}[MATCHED? {!TALKED/s}]]>"
      "[; more after {AFTER}]" },
    { "queue", "finish", ALWAYS, "[: user {USER}][, agent {AGENT}][, room {ROOM}]" },
    { "queue", "leave accept reject", ALWAYS,
      "[: user {USER}|: user {@USER}][, agent {AGENT}|, agent {@AGENT}][, room {ROOM}]"
      "[OUTCOME?: {OUTCOME} {FINISHED}|WHY=lost?: the store may have lost it, with other changes]" },

    { "room", "join leave kick alive", ALWAYS,
      "[: {message}]: {@MEMBER} is {MEMBER_STATE}, version {version}, " MEMBERS },
    { "room", "role", ALWAYS, "[: {message}]: {@ROLE}[ is {NAME}|missing?| has no owner]" },
    { "room", "stats", DONE,
      ": {STATE}, " MEMBERS
      ", {ROLES} role[ROLES=1?|s], {SHARES} share[SHARES=1?|s]; in all {JOINED_TOTAL} joined, "
      "{LEFT_TOTAL} left, {LOST_TOTAL} lost, {KICKED_TOTAL} kicked, {CHANGES_TOTAL} changes" },
    { "room", "open show", DONE, "[: {message}]: {STATE}, " MEMBERS ", {=CAPACITY}" },
    { "room", "open show", ALWAYS, "[: {message}]: {STATE}, " MEMBERS },
    { "room", "close lock unlock", ALWAYS, "[: {message}]: {STATE}" },
    { "room", NULL, ALWAYS,
      "[: {message}]: version {version}"
      "<[KIND=field?; {NAME}={!VALUE}|KIND=all?; all {NAME}={!VALUE}|KIND=role?; {NAME} is {OWNER}"
      "|KIND=member?; {NAME} {MEMBER_STATE}{VALUE&}|KIND=share?; {OWNER} shares {NAME}{VALUE&}|KIND=notice?; change {VERSION}]>"
      "[MORE=1?[SINCE_VERSION?; more after {!SINCE_VERSION}|, more are to do]]" },

    { "serial", "show", DONE,
      ": [@SERIAL?<{SERIAL} is {!STATE}[ by {OWNER}][ under token {TOKEN}][ until {UNTIL}]>"
      "|{=PREFIX}]" },
    { "serial", "rule", DONE, ": {=PREFIX}[, {message}]" },
    { "serial", "fill tick", DONE, ": {COUNT} made, [more are possible ({LEFT})|that is all]" },
    { "serial", "take", DONE, ":< {SERIAL}>" },
    { "serial", "check", DONE,
      ": {AVAILABLE} available, {RECENT} taken in the last half hour, {LONGTERM} in the last hour; "
      "critical={CRITICAL} batch={BATCH} cur={CUR} max={HIGHEST}"
      "[; {HELD} held, {!RETURNED} returned|; {!HELD} held, {RETURNED} returned]"
      "[; numbers up to {DEBT} are not granted by the authority yet]" },
    { "serial", "setmax", DONE, ": max is {HIGHEST}" },
    { "serial", "setmaxcur", DONE, ": cur is {CUR}, max is {HIGHEST}" },
    { "serial", "parse", DONE,
      ": number {NUMBER_MADE}, value {TEXT_VALUE}[, date {DATE}][, check digit {CHECK_DIGIT}]" },
    { "serial", "reserve confirm return void renew", DONE,
      ": <{SERIAL} is {!STATE}[STATE=held? under token {!TOKEN}]>[ until {UNTIL}][; {why}]" },
    { "serial", "holds", DONE,
      ": {total} number[total=1?|s]<; {SERIAL}[N=1? is| and {more} after it are] {STATE}"
      "[STATE=lost? under token {!TOKEN}][ by {OWNER}]>[; more after {AFTER}]" },
    { "serial", "sweep", DONE, ": {COUNT} expired" MORE },
    { "serial", "grant", DONE, ": up to {GRANTED}" },
    { "serial", "grant", STALE, ": the period has changed" },
    { "serial", NULL, STALE,
      ": {@SERIAL} is not held under token {@TOKEN}"
      "<: {SERIAL} is {!STATE}[ by {OWNER}][ under token {TOKEN}][ until {UNTIL}]>" },
    { "serial", NULL, ALWAYS, "[: {why}]" },

    { "store", "scopes", ALWAYS,
      ": {#scope}<; {SCOPE}, version {!VERSION}" ITEMS "[, due {DUE}]>[; more after {AFTER}]" },
    { "store", "serial journal", ALWAYS,
      ":[<\n{ROW} {TIME} {VERB} [{SERIAL}|number {!NUMBER_MADE}][N=1?| and {more} more]"
      "[ by {OWNER}], version {!VERSION} of epoch {EPOCH}[TWICE=1?, a second time]>"
      "[MORE=1?\nthere is more]| nothing is in the journal]" },
    { "store", "serial list", ALWAYS, ": {#rule}[:< {NAME}>]" },
    { "store", "room list room patrol", ALWAYS, ": {#room}<; {NAME}>[; more after {AFTER}]" },
    { "store", NULL, ALWAYS, "[: {DIGEST}]" },
};

/* ---- values -------------------------------------------------------------------------------- */

struct saying {
    FILE *out; /* NULL: print nothing, only check whether the part applies */
    const struct usher_operation *command;
    const struct usher_reply *reply;
    size_t row;
};

const char *usher__time_text(char to[CLI_TIME_MAX], int64_t ms)
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm tm;
    char text[24];

    if (gmtime_r(&seconds, &tm) == NULL ||
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm) == 0)
        (void)snprintf(to, CLI_TIME_MAX, "%" PRId64, ms);
    else
        (void)snprintf(to, CLI_TIME_MAX, "%s.%03dZ", text, (int)(ms % 1000));
    return to;
}

const char *usher__span_text(char to[CLI_TIME_MAX], int64_t ms)
{
    if (ms > 0 && ms < 1000)
        (void)snprintf(to, CLI_TIME_MAX, "%" PRId64 " ms", ms);
    else if (ms < 120000)
        (void)snprintf(to, CLI_TIME_MAX, "%" PRId64 " s", ms / 1000);
    else if (ms < 7200000)
        (void)snprintf(to, CLI_TIME_MAX, "%" PRId64 " min", ms / 60000);
    else if (ms < 172800000)
        (void)snprintf(to, CLI_TIME_MAX, "%" PRId64 " h", ms / 3600000);
    else
        (void)snprintf(to, CLI_TIME_MAX, "%" PRId64 " d", ms / 86400000);
    return to;
}

static const struct usher__noun *noun_of(const struct saying *s)
{
    return usher__noun(s->reply->verb >> 8);
}

static uint32_t field_of(const char *name, size_t size)
{
    const struct usher_field_about *about;

    for (uint32_t field = 1; (about = usher_about_field(field)) != NULL; field++)
        if (strlen(about->name) == size && memcmp(about->name, name, size) == 0)
            return field;
    return 0;
}

/* Return whether rows of the answer can have @field. */
static bool of_rows(const struct saying *s, uint32_t field)
{
    const struct usher__noun *noun = noun_of(s);
    uint32_t bit = USHER__VERB_BIT(s->reply->verb);

    for (unsigned i = 0; i < noun->n_row_views; i++)
        if (noun->row_views[i].code == field && (noun->row_views[i].verbs & bit) != 0)
            return true;
    return false;
}

/* Read @field of the row, or of the answer if no row has such a field.  Return whether it exists.
 */
static bool told(const struct saying *s, uint32_t field, struct usher_value *ret)
{
    for (size_t row = s->row;; row = USHER_ANSWER) {
        size_t n;
        const struct usher_value *v = usher_reply_values(s->reply, row, &n);

        for (size_t i = 0; i < n; i++)
            if (v[i].field == field) {
                *ret = v[i];
                return true;
            }
        if (row == USHER_ANSWER || of_rows(s, field))
            return false;
    }
}

static bool asked(const struct saying *s, const char *name, size_t size, struct usher_value *ret)
{
    const struct usher__noun *noun = noun_of(s);

    for (unsigned i = 0; i < noun->n_args; i++) {
        const struct usher__arg *arg = &noun->args[i];
        const char *at = (const char *)s->command + arg->offset;
        struct usher_text text;

        if (strlen(arg->name) != size || memcmp(arg->name, name, size) != 0)
            continue;
        memcpy(&ret->number, at, sizeof ret->number);
        ret->field = arg->code;
        ret->text = NULL;
        if (arg->given != 0)
            return (s->command->given & arg->given) != 0;
        memcpy(&text, at, sizeof text);
        ret->text = text.data;
        ret->size = (int32_t)text.size;
        return text.data != NULL;
    }
    return false;
}

/* Compute the value @name from others.  Return whether there is such a value. */
static bool special(const struct saying *s, const char *name, size_t size, int64_t *ret)
{
    struct usher_value a = { 0 }, b = { 0 }, c = { 0 };

    *ret = 0;
    if (size == 4 && memcmp(name, "last", 4) == 0) {
        (void)(told(s, USHER_FIELD_FIRST, &a) && told(s, USHER_FIELD_N, &b) &&
               told(s, USHER_FIELD_BY, &c));
        *ret = a.number + (b.number - 1) * c.number;
    } else if (size == 4 && memcmp(name, "more", 4) == 0) {
        (void)told(s, USHER_FIELD_N, &a);
        *ret = a.number - 1;
    } else if (size == 5 && memcmp(name, "total", 5) == 0) {
        for (size_t i = 0; i < s->reply->n_rows; i++)
            *ret += usher_reply_int(s->reply, i, USHER_FIELD_N);
    } else if (size == 7 && memcmp(name, "version", 7) == 0) {
        *ret = (int64_t)s->reply->version;
    } else {
        return false;
    }
    return true;
}

/* Return @v as a text: that of @v, or one in @few. */
static struct usher_text text_of(const struct saying *s, const struct usher_value *v, char form,
                                 char few[CLI_TIME_MAX])
{
    enum usher_type type = v->field != 0 ? usher_about_field(v->field)->type : USHER_TYPE_INT;
    struct usher_text t = { few, 0 };

    if (type >= USHER_TYPE_TEXT) {
        t.data = v->text;
        t.size = v->text != NULL ? (size_t)v->size : 0;
        return t;
    }
    if (type == USHER_TYPE_TIME) {
        t.data = usher__time_text(few, v->number);
    } else if (type == USHER_TYPE_CODE) {
        t.data = usher_code_word((enum usher_noun)noun_of(s)->noun, v->field, v->number);
        t.data = t.data != NULL ? t.data : "?";
    } else if (v->field == USHER_FIELD_EPOCH) {
        (void)snprintf(few, CLI_TIME_MAX, "%016" PRIx64, (uint64_t)v->number);
    } else if (form == '%') {
        (void)snprintf(few, CLI_TIME_MAX, "%" PRId64 ".%02" PRId64, v->number / 100,
                       v->number % 100);
    } else if (form == 's') {
        (void)usher__span_text(few, v->number);
    } else {
        (void)snprintf(few, CLI_TIME_MAX, type == USHER_TYPE_TOKEN ? "%" PRIu64 : "%" PRId64,
                       (uint64_t)v->number);
    }
    t.size = strlen(t.data);
    return t;
}

static void say(const struct saying *s, const char *text, size_t size)
{
    if (s->out != NULL && size != 0)
        usher__plain_text(s->out, text, size);
}

static void say_packed(const struct saying *s, const struct usher_text *packed)
{
    struct usher_fields f = usher__fields(packed);
    struct usher_text name, value;
    uint64_t version;

    while (packed->size > 1 && usher_fields_next(&f, &name, &value, &version)) {
        say(s, " ", 1);
        say(s, name.data, name.size);
        say(s, "=", 1);
        say(s, value.data, value.size);
    }
}

/* Print the settings from @field on. */
static void say_settings(const struct saying *s, uint32_t field)
{
    const char *before = "";
    bool begun = false;

    for (const struct usher__key *k = noun_of(s)->keys; k->verbs != 0; k++) {
        struct usher_value v;
        struct usher_text t;
        char few[CLI_TIME_MAX];
        const char *word = usher_about_field(k->field)->word;

        if ((k->verbs & USHER__VERB_BIT(s->reply->verb)) == 0)
            continue;
        begun = begun || k->field == field;
        if (!begun || !told(s, k->field, &v))
            continue;
        t = text_of(s, &v, '\0', few);
        say(s, before, strlen(before));
        say(s, word, strlen(word));
        say(s, "=", 1);
        say(s, t.data, t.size);
        before = " ";
    }
}

static void say_rooms(const struct saying *s)
{
    int64_t n = usher_reply_int(s->reply, USHER_ANSWER, USHER_FIELD_ROOMS);
    int64_t login = usher_reply_int(s->reply, USHER_ANSWER, USHER_FIELD_LOGIN);
    char name[USHER_QUEUE_ROOM_MAX];

    for (int64_t i = 1; i <= n; i++) {
        say(s, i == 1 ? ", rooms " : " ", i == 1 ? 8 : 1);
        (void)usher_queue_room_name(name, s->reply->epoch, (uint64_t)login, i);
        say(s, name, strlen(name));
    }
}

/* ---- sentences ----------------------------------------------------------------------------- */

/* Print the value between { and }.  Return whether it exists and is neither 0 nor empty. */
static bool say_value(const struct saying *s, const char *p, size_t size)
{
    bool whatever = *p == '!';
    struct usher_value v = { 0 };
    struct usher_text t;
    char few[CLI_TIME_MAX], form = '\0';
    bool there;

    p += whatever;
    size -= whatever;
    if (*p == '=') {
        say_settings(s, field_of(p + 1, size - 1));
        return true;
    }
    if (*p == '#') {
        t.size = (size_t)snprintf(few, sizeof few, "%" PRIu32 "%s%.*s%s", s->reply->n_rows,
                                  size > 1 ? " " : "", (int)size - 1, p + 1,
                                  size > 1 && s->reply->n_rows != 1 ? "s" : "");
        say(s, few, t.size);
        return true;
    }
    if (size == 5 && memcmp(p, "rooms", 5) == 0) {
        say_rooms(s);
        return true;
    }
    if (size == 7 && memcmp(p, "message", 7) == 0) {
        say(s, s->reply->message, strlen(s->reply->message));
        return *s->reply->message != '\0';
    }
    if (size == 3 && memcmp(p, "why", 3) == 0) {
        const char *why;

        there = told(s, USHER_FIELD_WHY, &v);
        why = usher_serial_why_text((enum usher_serial_why)v.number);
        say(s, why, strlen(why));
        return there;
    }
    if (p[size - 1] == '&' || p[size - 1] == '%') {
        form = p[--size];
    } else if (size > 2 && p[size - 2] == '/') {
        form = 's';
        size -= 2;
    }
    if (special(s, p, size, &v.number)) {
        there = true;
    } else if (*p == '@') {
        there = asked(s, p + 1, size - 1, &v);
    } else {
        there = told(s, field_of(p, size), &v);
        v.field = field_of(p, size);
    }
    t = text_of(s, &v, form, few);
    if (form == '&') {
        say_packed(s, &t);
        return true;
    }
    say(s, t.data, t.size);
    return whatever || (there && (v.text != NULL ? v.size != 0 : v.number != 0));
}

/* Return whether the condition before a ? is true. */
static bool holds(const struct saying *s, const char *p, size_t size)
{
    bool negated = *p == '!', there;
    const char *equals = memchr(p, '=', size);
    const char *wanted = equals != NULL ? equals + 1 : p + size;
    size_t n = (size_t)(p + size - wanted);
    struct usher_value v = { 0 };
    struct usher_text t;
    char few[CLI_TIME_MAX];

    p += negated;
    size = (size_t)((equals != NULL ? equals : wanted) - p);
    if (*p == '@') {
        there = asked(s, p + 1, size - 1, &v);
    } else if (*p >= 'a' && *p <= 'z' && !special(s, p, size, &v.number)) {
        const char *word = usher_status_word(s->reply->status);

        return (size == 4 && memcmp(p, "done", 4) == 0 && USHER_IS_DONE(s->reply->status)) ||
               (strlen(word) == size && memcmp(p, word, size) == 0);
    } else {
        there = (*p >= 'a' && *p <= 'z') || told(s, field_of(p, size), &v);
    }
    if (!there || equals == NULL)
        return there != negated;
    t = text_of(s, &v, '\0', few);
    if (n > 0 && wanted[n - 1] == '*')
        return t.size >= n - 1 && memcmp(t.data, wanted, n - 1) == 0;
    return t.size == n && memcmp(t.data, wanted, n) == 0;
}

static const char *say_parts(const struct saying *s, const char *p);

/* Print the part at @p and return its end.  Clear *@ret_good if the part does not apply. */
static const char *say_part(const struct saying *s, const char *p, bool *ret_good)
{
    while (*p != '\0' && *p != '|' && *p != ']' && *p != '>') {
        size_t size = strcspn(p, "{[<|]>");

        if (size > 0) {
            say(s, p, size);
            p += size;
        } else if (*p == '{') {
            size = strcspn(p, "}");
            *ret_good &= say_value(s, p + 1, size - 1);
            p += size + 1;
        } else if (*p == '[') {
            p = say_parts(s, p + 1);
        } else {
            struct saying row = *s;
            const char *end;
            bool good = true;

            *ret_good &= s->reply->n_rows > 0;
            row.out = NULL;
            end = say_part(&row, p + 1, &good);
            row.out = s->out;
            for (row.row = 0; row.row < s->reply->n_rows; row.row++)
                (void)say_part(&row, p + 1, &good);
            p = end + 1;
        }
    }
    return p;
}

/* Print the first part that applies after a [, and return the position after its ]. */
static const char *say_parts(const struct saying *s, const char *p)
{
    struct saying quiet = *s;
    bool said = false;

    quiet.out = NULL;
    for (;; p++) {
        size_t size = strcspn(p, "?{[<|]>, ");
        bool good = p[size] != '?' || holds(s, p, size);
        const char *end;

        p += p[size] == '?' ? size + 1 : 0;
        end = say_part(&quiet, p, &good);
        if (good && !said) {
            (void)say_part(s, p, &good);
            said = true;
        }
        p = end;
        if (*p != '|')
            return p + 1;
    }
}

static bool among(const char *words, const char *word)
{
    size_t size = strlen(word);
    const char *at = words;

    for (; at != NULL && (at = strstr(at, word)) != NULL; at += size)
        if ((at == words || at[-1] == ' ') && (at[size] == ' ' || at[size] == '\0'))
            return true;
    return false;
}

static void sentence(const struct saying *s)
{
    static const char *const scopes[] = {
        [USHER_NUMBER] = "pool", [USHER_ID] = "dispenser", [USHER_SERIAL] = "rule"
    };
    const struct usher__noun *noun = noun_of(s);
    const char *verb = usher_verb_word((enum usher_verb)s->reply->verb);

    if (s->reply->status == USHER_MISSING && noun->noun < sizeof scopes / sizeof *scopes &&
        scopes[noun->noun] != NULL && (s->reply->epoch == 0 || noun->noun != USHER_NUMBER)) {
        fprintf(s->out, ": there is no %s ", scopes[noun->noun]);
        say(s, s->command->scope.data, s->command->scope.size);
        return;
    }
    for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++)
        if ((sentences[i].noun == NULL || strcmp(sentences[i].noun, noun->word) == 0) &&
            (sentences[i].verbs == NULL || among(sentences[i].verbs, verb)) &&
            (sentences[i].on == ALWAYS || (sentences[i].on >> s->reply->status & 1u) != 0)) {
            bool good = true;

            (void)say_part(s, sentences[i].say, &good);
            break;
        }
    if (noun->noun == USHER_QUEUE && s->reply->message[0] != '\0') {
        say(s, " (", 2);
        say(s, s->reply->message, strlen(s->reply->message));
        say(s, ")", 1);
    }
}

void usher__answer_plain(FILE *out, const struct usher_operation *command,
                         const struct usher_reply *reply)
{
    struct saying s = { out, command, reply, USHER_ANSWER };
    struct usher_value version, epoch;
    char is[17];

    fputs(usher_status_word(reply->status), out);
    (void)snprintf(is, sizeof is, "%016" PRIx64, reply->epoch);
    if (usher__answer_there(reply)) {
        if (reply->status == USHER_STALE && asked(&s, "IF_VERSION", 10, &version) &&
            (uint64_t)version.number != reply->version)
            fprintf(out, ": it has version %" PRIu64, reply->version);
        else if (reply->status == USHER_STALE && asked(&s, "EPOCH", 5, &epoch) &&
                 epoch.text != NULL && memcmp(epoch.text, is, 16) != 0)
            fprintf(out, ": it has epoch %s", is);
        else
            sentence(&s);
        if (reply->repeated)
            fputs(" (the first answer again)", out);
        if (command->wait != 0)
            fprintf(out, "; %u replica%s", reply->replicas, reply->replicas == 1 ? "" : "s");
    }
    putc('\n', out);
}
