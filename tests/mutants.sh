#!/bin/sh
# SPDX-License-Identifier: MIT
# Planted bugs: each is put into a copy of the tree, and a test that is named beside it must fail.
#   tests/mutants.sh [REGEX]     only those whose name it matches
#   tests/mutants.sh --planted   only whether the lines that they change are there (seconds)
#   tests/mutants.sh --list      only which there are
# Prints a table; the last line says how many were not caught.  Needs what building needs, and a
# Redis server.  Run by `make check-long', some half an hour.
#
# A renaming keeps the planted bugs.  The words of a pattern are whole words of the code, so
# `git grep -lw OLD | xargs sed -i 's/\bOLD\b/NEW/g'` changes them here, too.  A statement that is
# wrapped otherwise is tried on one line.  Code that moved to another file is found there.
set -u
: "${top_srcdir:=$(cd "$(dirname "$0")/.." && pwd)}"
wanted=${1-}
n=0
bad=0
clean=' '

prepare() {
    dir=$(mktemp -d "${TMPDIR:-/tmp}/usher-mutants.XXXXXX") || exit 99
    trap 'rm -rf "$dir"' EXIT
    trap 'exit 99' HUP INT TERM
    jobs=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)

    (cd "$top_srcdir" && tar -cf - --exclude=./build --exclude=./.git .) | (cd "$dir" && tar -xf -) || exit 99
    mkdir "$dir/build"
    cd "$dir/build" || exit 99
    ../configure --disable-shared CFLAGS='-O0' >configure.log 2>&1 &&
        make -s -j "$jobs" >make.log 2>&1 || {
        tail -n 20 configure.log make.log
        echo 'the copy of the tree cannot be built'
        exit 99
    }
}

# try PROGRAM FILTER: as `make check' would; the program's exit status.
try() {
    case $1 in
    *.sh) USHER=$dir/build/usher WITH_LIBMICROHTTPD=yes top_srcdir=$dir top_builddir=$dir/build \
        timeout -k 5 120 sh "$dir/$1" ;;
    *.py) USHER=$dir/build/usher timeout -k 5 120 python3 -B "$dir/$1" ;;
    *) USHER_STEPS=15000 timeout -k 5 120 "./$1" ${2:+"$2"} ;;
    esac >try.log 2>&1
}

build() {
    case $1 in
    *.sh | *.py) make -s -j "$jobs" usher ;;
    *) make -s -j "$jobs" "$1" ;;
    esac >make.log 2>&1
}

# unwrapped FILE: C code with each statement on one line.
unwrapped() {
    awk '
        /^[ \t]*#/ || directive {
            if (held != "") print held
            held = ""
            directive = /\\$/
            print
            next
        }
        {
            text = $0
            if (held != "") {
                sub(/^[ \t]+/, "", text)
                text = held (held ~ /[([]$/ ? "" : " ") text
            }
            held = ""
            if (text ~ /^[ \t]*(\/?\*|$)/ || text ~ /([;{}:]|\*\/)$/ || text ~ /\/\*[^\/]*$/)
                print text
            else
                held = text
        }
        END { if (held != "") print held }' "$1"
}

# plant FILE SED: prints the changed file; 1: nothing was changed.
plant() {
    [ -e "$1" ] || return 1
    if ! sed "$2" "$1" | cmp -s - "$1"; then
        sed "$2" "$1"
        return
    fi
    case $1 in *.[ch]) ;; *) return 1 ;; esac
    # Most patterns are there, so this is seldom needed.
    joined=$(unwrapped "$1" && echo .)
    changed=$(printf '%s' "${joined%.}" | sed "$2" && echo .)
    [ "$joined" != "$changed" ] && printf '%s' "${changed%.}"
}

# place TOP FILE SED: the file to change, which is FILE or the only other one with the line.
place() {
    if plant "$1/$2" "$3" >/dev/null; then
        echo "$2"
        return
    fi
    found=
    for other in $(cd "$1" && find include src backends -name "*.${2##*.}" ! -name lua_text.c); do
        if ! sed "$3" "$1/$other" | cmp -s - "$1/$other"; then
            [ -z "$found" ] || return 1
            found=$other
        fi
    done
    [ -n "$found" ] && echo "$found"
}

# mutant NAME FILE SED PROGRAM [FILTER]: SED plants NAME in FILE, and PROGRAM finds it.
mutant() {
    if [ "$wanted" = --list ]; then
        n=$((n + 1))
        printf '| %s | `%s` | `%s%s` |\n' "$1" "$2" "${4#tests/}" "${5:+ $5}"
        return
    fi
    if [ "$wanted" = --planted ]; then
        n=$((n + 1))
        if ! place "$top_srcdir" "$2" "$3" >/dev/null; then
            bad=$((bad + 1))
            echo "not planted, the line is not there: $1 ($2)"
        fi
        return
    fi
    printf '%s\n' "$1" | grep -qE -e "$wanted" || return 0
    n=$((n + 1))
    began=$(date +%s)
    # on the tree as it is, the test passes
    case $clean in
    *" $4:${5-} "*) ;;
    *)
        if build "$4" && try "$4" "${5-}"; then
            clean="$clean$4:${5-} "
        else
            verdict='NOT TRIED: the test fails without it'
            report "$@"
            return
        fi
        ;;
    esac
    if ! at=$(place "$dir" "$2" "$3"); then
        verdict='NOT PLANTED: the line is not there'
        report "$@"
        return
    fi
    saved=saved.${at##*.}
    cp "$dir/$at" "$saved"
    plant "$saved" "$3" >"$dir/$at"
    if ! build "$4"; then
        verdict='NOT PLANTED: it does not compile'
    elif try "$4" "${5-}"; then
        verdict='NOT CAUGHT'
    else
        verdict=caught
    fi
    cp "$saved" "$dir/$at"
    report "$@"
}

report() {
    [ "$verdict" = caught ] || bad=$((bad + 1))
    filter=${5-}
    printf '| %s | `%s` | `%s%s` | %s | %s s |\n' "$1" "$2" "${4#tests/}" "${filter:+ $filter}" \
        "$verdict" "$(($(date +%s) - began))"
}
case $wanted in
--planted) ;;
--list) printf '| planted | in | caught by |\n| --- | --- | --- |\n' ;;
*)
    prepare
    printf '| planted | in | test | | |\n| --- | --- | --- | --- | --- |\n'
    ;;
esac

memory=tests/conformance/on_memory
sqlite=tests/conformance/on_sqlite
redis=tests/conformance/on_redis
same=tests/model/test_differential

# ---- the tables and the core ----
mutant 'a resting number is offered' src/core/number.def \
    's/^T(IDLE_UP,   CALL,   RESTING, IDLE_UP,   REFUSED,/T(IDLE_UP,   CALL,   RESTING, BUSY_UP,   OK,/' \
    tests/unit/test_number
mutant 'a busy number is given to another owner' src/core/number.def \
    's/^T(BUSY_UP,   CALL,   ANY,     BUSY_UP,   REFUSED,/T(BUSY_UP,   CALL,   ANY,     BUSY_UP,   OK,/' \
    tests/unit/test_number
mutant 'a hold without a deadline is due' src/core/machine.h 's/lists\[state\]\[until_ms != 0\]/lists[state][1]/' \
    $same
mutant 'days round toward zero' src/core/number.c 's/return local % DAY_MS < 0 ? day - 1 : day;/return day;/' \
    tests/unit/test_number
mutant 'the cap of a day is off by one' src/core/number.c 's/calls >= daily \&\&/calls > daily \&\&/' \
    $memory 'a_number_has*'
mutant 'MessagePack of 128 is one byte' src/core/pack.c 's/if (value <= 0x7f)/if (value <= 0x80)/' \
    tests/unit/test_pack
mutant 'an array is longer than its text' src/core/pack.c 's/ || n > (size_t)(copy.end - copy.at))$/)/' \
    tests/unit/test_pack

# ---- the steps ----
mutant 'a token is used twice' src/nouns/number/number_calls.c \
    's/    r->token = r->order = w->scope.version;/    r->token = (r->order = w->scope.version) - 1;/' \
    $memory 'a_call_gives*'
mutant 'a hangup does not look at the token' src/nouns/number/number_holds.c \
    's/guard = a->token == r->token ? USHER__NUMBER_IF_HOLDER : USHER__NUMBER_IF_OTHER;/guard = USHER__NUMBER_IF_HOLDER;/' \
    $memory 'a_token*'
mutant 'a version is skipped' src/change/work.h 's/    c->scope->version++;/    c->scope->version += 2;/' \
    $memory 'each_change*'
mutant 'calls of a group are not counted' src/nouns/number/number_parts.h '/n\[N_BUSY_UP\] += by;/s/by;/0;/' \
    $memory 'group_without*'
mutant 'a number of a record may have any value' src/change/record_ranges.h \
    's/    if (r->kind == KIND_##kind_name \&\&/    if (r->kind == 255 \&\&/' tests/unit/test_records
mutant 'a name of a record that no row has stays in the script' backends/redis/embed-lua.sh \
    's/fail(FILENAME ":" FNR ": no name " word)/word = word/' tests/check-records.sh
mutant 'an expiry is timed by its discovery' src/nouns/number/number_parts.h \
    's/release(w, r, to, at, BY_POOL, version);/release(w, r, to, w->moment, BY_POOL, version);/' $same
mutant 'a hold ends a moment late' src/nouns/number/number_parts.h 's/at != 0 \&\& at <= w->moment;/at != 0 \&\& at < w->moment;/' $same
mutant 'the next due time is not kept' src/change/work.h 's/r->until_ms < c->scope->due_ms)/r->until_ms > c->scope->due_ms)/' \
    $memory 'a_hold_that_is_not*'
mutant 'a number that a lowered cap keeps ends the search' src/nouns/number/number_calls.c '/^static enum usher_status take_first(/,/^}/s/status = usher__number_judge_one(w, m);/return USHER_MISSING;/' \
    $memory 'fresh_number*'
mutant 'a call says that none is free before all are judged' src/nouns/number/number_calls.c 's/    if (status != USHER_MISSING || is_judged(w))/    if (status != USHER_REFUSED)/' \
    $memory 'a_shorter_gap_frees*'
mutant 'script: a call says that none is free before all are judged' backends/redis/lua/number_calls.lua 's/if judged then return false end/if S.version then return false end/' \
    $redis 'a_shorter_gap_frees*'
mutant 'a limit ends the holds with a lease alone' src/nouns/number/number.c 's/    by_limit = usher__number_first_limited(w, 0, &limited);/    by_limit = USHER_MISSING;/' \
    $memory 'a_longest_hold_that*'
mutant 'a limit ends a hold before it was set' src/nouns/number/number_parts.h 's/return later || at > s->counts\[COUNT_LIMITED\] ? at : s->counts\[COUNT_LIMITED\];/return at;/' \
    $memory 'a_longest_hold_that*'
mutant 'script: a limit ends a hold before it was set' backends/redis/lua/number.lua 's/ and at or math.max(at, S.count\[K.COUNT_LIMITED + 1\])/ and at or at/' \
    $redis 'a_longest_hold_that*'
mutant 'a longer rest reaches those that its own hangup made rest' src/nouns/number/number_parts.h 's/    return rested(s, r, RESTED - 1 - ended, 0);/    return rested(s, r, RESTED - 1 - ended, s->settings[USHER__SET_REST]);/' \
    $memory 'rests_follow*'
mutant 'a lifted rest comes back with another gap' src/nouns/number/number_holds.c '/^static void end_rest/,/^}/s/    r->n\[N_LEASE\] = RESTED;//' \
    $memory 'rests_follow*'
mutant 'script: the short way forgets when a call ended' backends/redis/lua/number_fast.lua 's/ sub(record, 41, 61) .. ended_bytes .. / sub(record, 41, 68) .. /' \
    $redis 'rests_follow*'
mutant 'stale tells the token of the hold' src/nouns/number/number_holds.c '/^static enum usher_status say_stale/,/^}/s/    w->reply->of.number.token = 0;//' \
    $memory 'a_token_that_is*'
mutant 'script: stale tells the token of the hold' backends/redis/lua/number_holds.lua '/^function S.answer_only/,/^end/s/    S.token = 0//' \
    $redis 'a_token_that_is*'
mutant 'what is due and more than a command applies is not there' src/nouns/number/number_calls.c \
    '/^static enum usher_status find_more(/,/^}/s/    if (w->scope.due_ms <= w->now)/    if (false)/' $memory 'due_holds*'
mutant 'nothing is said of what frees none' src/nouns/number/number_calls.c 's/            \*best = end;/            ;/' \
    $memory 'next_free_is*'
mutant 'another cap frees later' src/nouns/number/number_holds.c '/a higher cap only frees/,/^}/s/    usher__number_due_at(w, w->moment);/    ;/' $same
mutant 'capped numbers stand in order of version' src/core/number.c 's/ + (uint64_t)(calls < most ? calls : most)) \*/) */' \
    tests/unit/test_number
mutant 'calls of the day go with the number' src/nouns/number/number.c 's/    if (calls_on(&w->scope, r, w->now) == 0)/    if (r->id.size != 0)/' \
    $memory 'calls_of_the_day*'
mutant 'anybody ends a rest' src/core/number.def 's/^T(IDLE_UP,   UNREST, OTHER,   IDLE_UP,   STALE, /T(IDLE_UP,   UNREST, OTHER,   IDLE_UP,   OK, /' \
    $memory 'a_second_hangup*'
mutant 'a call that is over stays with its node' src/nouns/number/number.c 's/return status == USHER_OK \&\& left ? /return status == USHER_OK \&\& false ? /' \
    $memory 'calls_of_a_node*'
mutant 'a page of calls begins anew' src/nouns/number/number_reads.c 's/    if (holds \&\& a->after.data != NULL)/    if (false)/' \
    $memory 'calls_are_listed*'
mutant 'calls are looked for among all numbers' src/nouns/number/number.h 's/a->state >= USHER_NUMBER_STATE_BUSY_DOWN)/false)/' \
    $memory 'a_call_among*'
mutant 'Redis: the last outage moves with each setting of numbers' src/nouns/number/number.h \
    's/USHER__SET_OUTAGE_FROM = USHER_SETTINGS - 2,/USHER__SET_OUTAGE_FROM = USHER__SETTINGS,/' \
    tests/unit/test_redis_script 'every_setting*'
mutant 'a whole pool is freed unasked' src/nouns/number/number_hooks.c 's/    if (!given \&\& (command->given/    if (false \&\& (command->given/' \
    $memory 'wrong_arguments*'
mutant 'a draw takes the first behind the point' src/nouns/number/number_calls.c 's/left-- == 0)/left-- >= 0)/' $same
mutant 'an operator frees holds of others' src/nouns/number/number_holds.c \
    's/owner->data != NULL ? owner : NULL, 0, order, false, r);/NULL, 0, order, false, r);/' \
    $memory 'an_operator*'
mutant 'a callee gets its number from any group' src/nouns/number/number_calls.c 's/reached_cap(&w->scope, r, w->now) \&\& group_fits(w, r))/reached_cap(\&w->scope, r, w->now))/' \
    $memory 'a_known_number*'
mutant 'one callee too few is remembered' src/change/work.c 's/if (\*count <= limit \&\&/if (*count < limit \&\&/' \
    $memory 'at_most_sticky_max_callees_are_remembered'
mutant 'a kept answer never grows old' src/change/work.c 's/    if (r.until_ms <= w->moment)/    if (r.until_ms < 0)/' \
    $memory 'results_are*'
mutant 'a request id is for any verb' src/change/work.c 's/\*ret_verb == (unsigned)w->command->verb \&\&$/true \&\&/' \
    $memory 'a_request_id*'
mutant 'a request id is for any arguments' src/change/work.c 's/^ *print == usher__operation_fingerprint(w->command);$/true;/' \
    $memory 'a_request_id*'
mutant 'who is behind is not told what there is' src/nouns/room/room_fields.c \
    's/return now->id.size != 0 ? usher__room_add_row/return now->id.size > 999 ? usher__room_add_row/' \
    $memory 'outdated_version*'
mutant 'a number that moves is in its old group, too' src/nouns/number/number_holds.c 's/    if (status == USHER_OK \&\& left.size != 0)/    if (status == USHER_OK \&\& left.size > 99)/' \
    $memory 'a_number_*'
mutant 'Redis: a number that moves is in its old group, too' backends/redis/lua/number_holds.lua "s/^        group_has(r.group, r, -1)\$//" \
    tests/conformance/on_redis 'a_number_*'
mutant 'Redis: a pool that is made anew goes on at the time of the old one' backends/redis/lua/common.lua 's/^    if not S.exists then S.time(0) end.*//' \
    tests/conformance/on_redis 'recreated_pool*'
mutant 'rooms: any version will do' src/nouns/room/room.c 's/if (!over \&\& usher__other_version(w))/if (false)/' \
    $memory 'outdated_version*'
mutant 'a member that goes is taken for a ban as well' src/nouns/room/room_close.c 's/if (phase == 1 \&\& present(&r)) /if (phase == 9 \&\& present(\&r)) /' \
    $memory 'a_name_whose*'
mutant 'a name is refused while its old room is erased' src/nouns/room/room_plan.c 's/        else if (closing)$/        else if (false)/' \
    $memory 'a_name_whose*'
mutant 'an open with a request id is not waited for while its old room is erased' src/nouns/room/room_plan.c \
    's/ \&\& p->replies\[i\].status != USHER_REFUSED \&\&$/ \&\&/' $memory 'a_name_whose*'
mutant 'an open that makes no room puts an entry' src/nouns/room/room_plan.c \
    's/^        else if (p->commands\[i\].arg.room.epoch.data == NULL)/        else/' \
    tests/conformance/on_memory 'an_open_that_is_refused*'
mutant 'a version of a closed room is one of the next room' src/change/work.c \
    's/^            if (is_epoch(w))/            if (is_epoch(w) || true)/' \
    tests/conformance/on_memory 'a_version_of_a_closed*'
mutant 'a room takes a version without an epoch' src/nouns/room/room_hooks.c \
    's/ && a->epoch.data == NULL)/ \&\& false)/' tests/conformance/on_memory 'a_version_of_a_closed*'
mutant 'a digest depends on epochs' src/change/request_cache.c \
    's/ || arg->type == USHER__ARG_EPOCH)/)/' tests/model/test_room_differential
mutant 'on Redis a version of a closed room is one of the next room' \
    backends/redis/lua/common.lua 's/ and (not e or e == S.epoch) then/ then/' \
    tests/conformance/on_redis 'a_version_of_a_closed*'
mutant 'a long life of a number makes its return slow' backends/sqlite/authority.c \
    's/is_settled(is_end(events\[i\].verb) ? own->confirmed : own->settled,/is_settled(own->settled,/' \
    tests/fault/test_duplicate_issue 'a_return_costs*'
mutant 'what is stale by its version says nothing' src/nouns/room/room.c \
    's/ return w->reply->status == USHER_STALE ? usher__room_stale(w) : USHER_OK;/ return USHER_OK;/' \
    tests/conformance/on_memory 'outdated_version*'
mutant 'what is not open is listed' src/nouns/room/room_directory.c 's/} else if (status == USHER_OK \&\& r->status == USHER_OK) {/} else if (status == USHER_OK) {/' \
    $memory 'only_rooms*'
mutant 'a page goes on behind what a partition has told' src/nouns/room/room_directory.c 's/for (; rows\[n - 1\]->created_ms > end; n--)/for (; n > 1 \&\& end < 0; n--)/' \
    $memory 'only_rooms*'
mutant 'a check does not look at rooms that are not in the index' src/nouns/room/room_directory.c 's/    if (first.there \&\& then.there \&\& !then.entry/    if (first.there \&\& !then.there \&\& !then.entry/' \
    $memory 'room_directory*'
mutant 'a check does not look at entries without a room' src/nouns/room/room_hooks.c 's/return r->state == USHER_ROOMS_OPEN;/return r->state > USHER_ROOMS_OPEN;/' \
    $memory 'room_directory*'
mutant 'who opened a room does not look when its entry is doubted' src/nouns/room/room_plan.c 's/return r->n_rows == 0 || r->rows->state == USHER_ROOMS_DOUBTED ?/return r->n_rows == 0 ?/' \
    tests/model/test_room_directory 'rooms*sqlite'
mutant 'who opened a room does not look when its entry is gone' src/nouns/room/room_plan.c 's/return r->n_rows == 0 || r->rows->state/return r->n_rows > 0 \&\& r->rows->state/' \
    tests/model/test_room_directory 'rooms*sqlite'
mutant 'an entry that was put since is left' src/nouns/room/room_plan.c 's/#define TIDY_TRIES 16/#define TIDY_TRIES 0/' \
    tests/model/test_room_directory 'rooms*sqlite'
mutant 'a value ends at its first NUL' src/parse/parse.c 's/^    else if (p->end == NULL)/    else if (p->end != words[i])/' \
    tests/cli/words_are_quoted_as_in_a_shell.sh
mutant 'the order of fields is an argument' src/change/request_cache.c 's/        sum += XXH3_64bits_withSeed(value.data/        sum = sum * 3 + XXH3_64bits_withSeed(value.data/' \
    $memory 'a_repeat_with*'
mutant 'a page repeats its last row' src/nouns/number/number_reads.c 's/if (n->n_rows == max ||/if (n->n_rows > max ||/' \
    $memory 'lists_come*'
mutant 'what was done without memory is forgotten' src/change/work.c 's/    return status == USHER_NOMEM \&\& n > 0 /    return status == USHER_NOMEM \&\& n > 1000 /' \
    tests/fault/test_oom 'a_bulk_command_that_fails_half_way_returns_its_status'

# ---- queues ----
world() { # of the exhaustive walk: the tests behind it take only that one
    USHER_WORLD=$1
    export USHER_WORLD
}
mutant 'a room of an earlier login is that of a later one' src/nouns/queue/queue_change.c \
    's/return status == USHER_OK \&\& r->order != login ? USHER_MISSING : status;/return status;/' \
    $memory 'finish_of*'
mutant 'a pull is sent again' src/core/queue_verbs.def \
    '/^VERB(PULL,/s/WRITES,/WRITES | AGAIN,/' tests/fault/test_redis_faults 'a_lost_answer*'
world 'grace and patience'
mutant 'who has waited too long is lost instead' src/nouns/queue/queue_due.c \
    's/if (waits \&\& n\[U_PATIENCE\] != 0 \&\& n\[U_PATIENCE\] <= at)/if (waits \&\& n[U_PATIENCE] != 0 \&\& n[U_PATIENCE] <= at \&\& n[U_BEAT] != at)/' \
    tests/model/test_queue_exhaustive every_state_in_memory
world 'lanes'
mutant 'users of an agent that is gone come back in the order of rooms' src/nouns/queue/queue_due.c \
    's/if (!found || place(&r) < rank || .*/if (!found) {/' \
    tests/model/test_queue_exhaustive every_state_in_memory
unset USHER_WORLD
mutant 'a talk uses up patience' src/nouns/queue/queue_change.c \
    's/            n\[U_PATIENCE\] =$/            left =/' $memory 'a_user_that_comes_back*'
mutant 'patience ends in the middle of an offer' src/nouns/queue/queue_change.c \
    's/    } else if (n\[U_PATIENCE\] != 0 \&\& n\[U_PATIENCE\] < at) {/    } else if (false) {/' \
    $memory 'maxwait_is*'
mutant 'a stay with an agent that went is no visit' src/nouns/queue/queue_change.c \
    's/        if (status == USHER_OK \&\& from == USHER_QUEUE_USER_SEATED)/        if (status == USHER_OK \&\& from == USHER_QUEUE_USER_GONE)/' \
    $memory 'hour_of*'
mutant 'a wait goes on from before the talk' src/nouns/queue/queue_change.c 's/        n\[U_APPLIED\] = at;/        ;/' \
    $memory 'hour_of*'
mutant 'what is due is left when there is much of it' src/nouns/queue/queue.c \
    's/        if (more \&\& v != USHER_QUEUE_SWEEP)/        if (false)/' $memory 'queue_statistics_are_right*'
mutant 'script: what is due is left when there is much of it' backends/redis/lua/queue.lua \
    's/        if more and verb ~= K.V_SWEEP then/        if false then/' $redis 'queue_statistics_are_right*'
mutant 'a command overtakes one that is to come again' src/nouns/queue/queue.c 's/    if (w->behind)/    if (false)/' \
    $memory 'a_batch_keeps*'
mutant 'who looks moves the clock of a queue' src/nouns/queue/queue_due.c \
    's/    if (usher__queue_reads(w->command->verb))/    if (false)/' $memory 'read_moves*'
mutant 'an offer that a look makes began long ago' src/nouns/queue/queue_match.c \
    's/        u->n\[U_END\] = w->moment + offer;/        u->n[U_END] = w->now + offer;/' $memory 'offer_made*'
mutant 'a room of another queue is one of this' src/nouns/queue/queue_users.c \
    's/        if (memcmp(text->data, epoch, 16) != 0)/        if (false)/' $memory 'no_two_rooms*'
mutant 'a room does not tell the token' src/nouns/queue/queue_answer.c 's/        .token = u->token,/        .token = 0,/' \
    $memory 'each_answer_with_a_match_has_its_token'
mutant 'an old token of a visit will do' src/nouns/queue/queue_token.c \
    's/            current = offer ? u.token : u.order;/            current = offer ? u.token : g->token;/' \
    $memory 'a_late_leave*'
mutant 'an offer is known by its visit' src/nouns/queue/queue_token.c \
    's/            current = offer ? u.token : u.order;/            current = offer \&\& false ? u.token : u.order;/' \
    $memory 'an_offer_is_accepted*'
mutant 'a replaced session goes on' src/nouns/queue/queue_agents.c \
    's/^    a->token = qc->c.scope->version;$/    (void)0;/' $memory 'a_session_that_was*'
mutant 'another session is the same' src/nouns/queue/queue_agents.c \
    's/: g->session.data != NULL \&\& /: false \&\& /' $memory 'a_session_that_was*'
mutant 'a stale command of an agent is a heartbeat' src/nouns/queue/queue.c \
    's/        status = usher__queue_token_check(&run, &other);/        status = alive_first(\&run);\n        if (status == USHER_OK)\n            status = usher__queue_token_check(\&run, \&other);/' \
    $memory 'a_stale_command*'
mutant 'a late logout ends any pause' src/nouns/queue/queue_due.c \
    's/^        absent.token = qc.agent.token;$/        absent.token = 0;/' $memory 'a_late_logout*'
mutant 'a strict queue wants no tokens' src/nouns/queue/queue_token.c \
    's/    return w->scope.settings\[SET_STRICT\] != 0 \&\& /    return false \&\& /' $memory 'strict_queue*'
mutant 'script: an old token of a visit will do' backends/redis/lua/queue_token.lua \
    's/ and r.token or r.order end$/ and r.token or g[K.ARG_TOKEN] end/' $redis 'a_late_leave*'
mutant 'script: a replaced session goes on' backends/redis/lua/queue_agents.lua \
    's/S.a\[K.ARG_SESSION\], S.change.v, S.beat()/S.a[K.ARG_SESSION], a.login, S.beat()/' $redis 'a_session_that_was*'
mutant 'script: a late logout ends any pause' backends/redis/lua/queue_due.lua \
    's/absent.token, absent.data = K.FOREVER - 1, a.login, paused/absent.data = K.FOREVER - 1, paused/' $redis 'a_late_logout*'
mutant 'script: a strict queue wants no tokens' backends/redis/lua/queue_token.lua \
    's/    return S.set\[K.SET_STRICT + 1\] ~= 0 and /    return false and /' $redis 'strict_queue*'
mutant 'whom all have refused nobody has' src/nouns/queue/queue_match.c \
    's/ == USHER_MISSING \&\& u->data.size != 0 ? pick_again/ == USHER_MISSING \&\& false ? pick_again/' \
    $memory 'user_refused*'
mutant 'script: whom all have refused nobody has' backends/redis/lua/queue_match.lua \
    "s/ or u.data == '' then return a end/ or u then return a end/" $redis 'user_refused*'
mutant 'an agent has first the user that it has refused' src/nouns/queue/queue_match.c \
    's/    if (!search->refusals)$/    if (false)/' $memory 'a_refusal_delays_no*'
mutant 'script: an agent has first the user that it has refused' backends/redis/lua/queue_match.lua \
    's/    if not search.refusals then u, full/    if false then u, full/' $redis 'a_refusal_delays_no*'
mutant 'a refused user is offered again at once' src/nouns/queue/queue_refuse.c \
    's/    r.until_ms = at + w->scope.settings\[SET_ASK_AGAIN\];/    r.until_ms = at > 0 ? at : 1;/' \
    $memory 'a_thousand_refusals*'
mutant 'the end of a refusal is counted' src/nouns/queue/queue_due.c \
    's/            \*ret_n += run->w->scope.version != version;/            ++*ret_n;/' $memory 'a_sweep_that_makes*'
mutant 'script: the end of a refusal is counted' backends/redis/lua/queue_due.lua \
    's/                if S.version ~= version then counted/                if true then counted/' $redis 'a_sweep_that_makes*'
mutant 'a sweep that changes nothing is ok' src/nouns/queue/queue.c \
    's/: w->scope.version != version ? USHER_OK/: true ? USHER_OK/' $memory 'a_sweep_that_makes*'
mutant 'a search ends where it has to stop' src/nouns/queue/queue_match.c \
    's/    if (status == USHER_FULL) {/    if (false) {/' $memory 'search_past*'
mutant 'script: a search ends where it has to stop' backends/redis/lua/queue_match.lua \
    's/^    if full then$/    if false then/' $redis 'search_past*'
mutant 'a new scope in memory keeps no order by name' backends/memory/write.c \
    's/s->noun = scope->noun; .*/(void)0;/' tests/model/test_walks
mutant 'a lane that is in use is walked past' src/nouns/queue/queue_change.c \
    's/!= 0 ? LANE_IN_USE/!= 0 ? 0/' tests/unit/test_walks
mutant 'who is left to another agent waits for the next event' src/nouns/queue/queue_match.c \
    's/        again = run->passed \&\& .*/        again = false;/' \
    $memory 'a_user_passed_over_goes_to_the_next_agent'
mutant 'pull respects refusals' src/nouns/queue/queue_match.c \
    's/    status = first_user(run, \&qc->agent, true,/    status = first_user(run, \&qc->agent, false,/' \
    $memory 'pull_and_move*'
mutant 'a dead agent has missed nothing' src/nouns/queue/queue_due.c \
    's/USHER_QUEUE_OUTCOME_DROPPED, offered,/USHER_QUEUE_OUTCOME_DROPPED, false,/' \
    $memory 'user_of*'
mutant 'who is offered is dropped with its agent' src/nouns/queue/queue_due.c \
    's/bool back = offered || w->scope/bool back = w->scope/' $memory 'users_only_offered*'
mutant 'a pause is lost with the connection' src/nouns/queue/queue_due.c \
    's/    paused = event == USHER__AGENT_LOST \&\&$/    paused = event == USHER__AGENT_DONE \&\&/' $memory 'a_pause_outlives*'
mutant 'a wrap-up is lost with the connection' src/nouns/queue/queue_due.c \
    's/ (paused || qc.agent.r.n\[A_WRAP\] > at)) {/ paused) {/' $memory 'a_wrap_up_outlives*'
mutant 'an offer is a seating for the estimate' src/nouns/queue/queue_match.c \
    's/    if (offer > 0) {$/    pace(w, l, u);\n    if (offer > 0) {/' $memory 'an_estimate_counts*'
mutant 'only heartbeats are signs of life' src/nouns/queue/queue.c \
    's/        status = usher__queue_agent_alive(run, &r);/        ;/' $memory 'each_command_of*'
mutant 'an agent on its way out has asked for a pause' src/nouns/queue/queue_due.c \
    's/        qc.agent.r.n\[A_OFFERS\] += goes(r) ? 0 : 2;/        qc.agent.r.n[A_OFFERS] |= 3;/' \
    $memory 'an_agent_without_a_pause_is_idle_after_silence'
mutant 'agents stand where another strategy put them' src/nouns/queue/queue.c \
    's/        c.scope->counts\[COUNT_OLD\] |= OLD_RANKS;/        ;/' $memory 'levels_count*'
mutant 'another ttl does not reach the agents that are there' src/nouns/queue/queue_limits.c \
    's/    if (list == AGENTS) {/    if (list == LISTS) {/' $memory 'another_ttl*'
mutant 'a lowered maxwait ends a user in the past' src/nouns/queue/queue_limits.c \
    's/    return waits \&\& at <= limits->n\[L_AT\] ?/    return waits \&\& at < 0 ?/' $memory 'a_lower_maxwait*'
mutant 'script: a bounded step of limits is all of it' backends/redis/lua/queue_limits.lua \
    's/            if l.L_LIST == #lists then/            if true then/' $redis 'new_limits*'
mutant 'a bounded step of ranking is all of it' src/nouns/queue/queue.c \
    's/        if (w->scope.counts\[COUNT_OLD\] != 0)$/        if (false)/' $memory '*_however_many'
mutant 'script: a bounded step of ranking is all of it' backends/redis/lua/queue.lua \
    's/and S.reach() then return S.defer() end/then S.reach() end/' $redis '*_however_many'
mutant 'who accepts has not served yet' src/nouns/queue/queue_users.c \
    's/        qc.agent.served = .*/        qc.agent.served = false;/' \
    $memory 'an_accepted_offer*'
mutant 'a lane that nobody serves is waited in' src/nouns/queue/queue_users.c \
    's/^    if (!found) {$/    if (false) {/' $memory 'a_user_in_a_lane_without_agents_is_refused'
mutant 'agents of all lanes are in no lane' src/nouns/queue/queue_reads.c 's/    for (int i = 0; i < 2; i++) {/    for (int i = 0; i < 1; i++) {/' \
    $memory 'lane_statistics*'
mutant 'a lane that an agent names is over' src/nouns/queue/queue_change.c \
    's/            status = usher__queue_server(w, \&r->id, 0, \&server);/            status = USHER_MISSING;/' \
    $memory 'unused_lanes*'
mutant 'a lane with figures of today is over' src/nouns/queue/queue_change.c 's/ \&\& r->rank >= today)/ \&\& r->rank > today)/' \
    $memory 'unused_lanes*'

# ---- rooms ----
world 'speakers'
mutant 'a role is left to a member that is gone' src/nouns/room/room_members.c \
    's/    if (r->n\[N_ROLES\] > 0)/    if (r->n[N_ROLES] > 1)/' \
    tests/model/test_room_exhaustive every_state_in_memory
unset USHER_WORLD
mutant 'who is away is so from the last look on' src/nouns/room/room_members.c \
    's/        return seen + set\[SET_AWAY\];/        return at + set[SET_AWAY];/' \
    tests/model/test_room_differential
mutant 'what waits to be told is not told before what cannot' src/engine/watch.c \
    's/        (n->wait_ms == 0 || (\*at)->all.epoch/        ((*at)->all.epoch/' \
    $memory 'joins_and_leaves_are_coalesced'
mutant 'what waits to be told is more than a notice may have' src/engine/watch.c \
    's/data.size + p.n > USHER_NOTICE_DATA_MAX/data.size > USHER_NOTICE_DATA_MAX/' \
    $memory 'coalesced_notices_are_bounded'
mutant 'a number that must be given may be left out' src/engine/check.c 's/    uint64_t missing = verb->order \& ~(.*/    uint64_t missing = verb->order \& verb->texts \& ~given;/' \
    tests/fault/test_hooks 'an_argument*'
mutant 'a hook may call its engine' src/engine/engine.c 's/^    if (usher__is_inside(t, e)) {/    if (false) {/' \
    tests/fault/test_hooks 'hooks_that*'
mutant 'an authority may call its engine' src/engine/callout.c \
    's/    usher__callout_begin(here, callout_of(a)->e);/    usher__callout_begin(here, NULL);/' \
    tests/fault/test_hooks 'callouts_that*'
mutant 'one call puts aside all that have had their calls' src/nouns/number/number_calls.c \
    's/^    int left = JUDGE_MAX;/    int left = 1 << 30;/' $memory 'no_command_caps_all_numbers_over_a_lowered_cap'
mutant 'script: one call puts aside all that have had their calls' backends/redis/lua/number_calls.lua \
    's/^    S.left = S.left or K.JUDGE_MAX.*/    S.left = math.huge/' $redis 'no_command_caps_all_numbers_over_a_lowered_cap'
mutant 'each command of a transaction applies a portion of expiries' src/nouns/number/number.c \
    's/\*ret_more = w->behind = true;/*ret_more = true;/' $memory 'commands_of_a_call*'
mutant 'script: each command of a call applies a portion of expiries' backends/redis/lua/number.lua \
    '/^    function S.expire_due/,/^    end/s/S.behind = true/S.behind = S.behind/' $redis 'commands_of_a_call*'
mutant 'each command of a transaction removes a portion of members' src/nouns/room/room_close.c \
    's/\*ret_more = w->behind = true;/*ret_more = true;/' $memory 'commands_of_a_call*'
mutant 'script: each command of a call removes a portion of members' backends/redis/lua/room.lua \
    '/^    function S.expire_until/,/^    end/s/S.behind = true/S.behind = S.behind/' $redis 'commands_of_a_call*'
mutant 'script: the first command of a call applies a portion for each' backends/redis/lua/queue.lua \
    's/local verb, max = S.verb, K.EXPIRE_MAX$/local verb, max = S.verb, K.EXPIRE_MAX * 64/' $redis 'commands_of_a_call*'
mutant 'Redis: a call overtakes the one before it on its scope' backends/redis/pipeline.c \
    's/bool follows = follows_another(b, call, &before_ms);/bool follows = false;/' $redis 'commands_of_a_call*'
mutant 'a command of a room overtakes one that is to come again' src/nouns/room/room_hooks.c \
    's/    return reply->of.room.more;/    return false;/' $memory 'commands_of_a_call*'
mutant 'a snapshot applies a thousand departures' src/nouns/room/room.c \
    's/usher__room_expire_due(w, USHER__EXPIRE_MAX,/usher__room_expire_due(w, USHER__STEP_MAX,/' $memory 'a_snapshot_applies*'
mutant 'a room is full, though members are due' src/nouns/room/room_members.c \
    's/    if (!place \&\& more)/    if (false)/' $memory 'join_of*'
mutant 'a read of a room looks at all who are due' src/nouns/room/room_close.c \
    's/ \&\& n++ < USHER_PAGE_MAX//' $memory 'read_checks*'
mutant 'one claim takes all rooms that are due' src/nouns/room/rooms.c 's/int steps = CLAIM_MAX;/int steps = 1 << 30;/' \
    $memory 'rooms_of_one_time*'
mutant 'a patrol ends after its first claim' src/nouns/room/room_directory.c 's/more = page.of.rooms.more;/more = false;/' \
    $memory 'rooms_of_one_time*'
mutant 'a page of rooms ends between rooms of one time' src/nouns/room/room_directory.c \
    's/(r->token != 0 || r->n_rows == 0)/false/' $memory 'rooms_of_one_time*'
mutant 'script: a page of rooms has all of one time' backends/redis/lua/rooms.lua 's/looked == K.PAGE_MAX or //' \
    $redis 'rooms_of_one_time*'
mutant 'stats look at all holds that ended' src/nouns/number/number_reads.c 's/ \&\& looked < USHER_PAGE_MAX) {/) {/' \
    $memory 'pending_expiries*'
mutant 'others overtake a call that comes again' src/nouns/queue/queue.c '/^static enum usher_status run(/,/^}/s/    if (w->behind)/    if (false)/' \
    $memory 'no_command_caps_all_numbers_over_a_lowered_cap'
mutant 'trigger=auto leaves waiting whom one command does not match' src/nouns/queue/queue.c \
    's/^        \*ret_left = reply_of(w)->more;/        reply_of(w)->more = false;/' $memory 'trigger_auto*'
mutant 'stats: a lease that an outage moves has expired' src/nouns/number/number_reads.c \
    's/    counts\[COUNT_EXPIRED\] += held \&\& !busy(r->state);/    counts[COUNT_EXPIRED] += held;/' \
    $memory 'statistics_*'
mutant 'script: a lease that an outage moves has expired' backends/redis/lua/number_reads.lua \
    's/            if held and r.state < K.NUMBER_BUSY_DOWN then expired/            if held then expired/' \
    $redis 'statistics_*'
mutant 'del ends no call' src/nouns/number/number.c 's/^        w->scope.counts\[COUNT_FREED\] += busy(m.from);//' \
    $memory 'statistics_*'
mutant 'script: the fast path begins the life of a pool with its day' backends/redis/lua/number_fast.lua \
    's/count\[K.COUNT_CALLS_BEFORE + 1\] = today, count\[K.COUNT_CALLS + 1\] + given/count[K.COUNT_CALLS + 1] = today, -given/' \
    $redis 'statistics_*'
mutant 'an expiry of a member has the actor of the command' src/nouns/room/room.c \
    's/^    if (verb == w->command->verb \&\& c->data.size == 0) {/    if (c->data.size == 0) {/' \
    $memory 'notices_of_rooms*'
mutant 'script: open has no actor' backends/redis/lua/room.lua \
    "s/^        if a\[K.ARG_ACTOR\] then told.*//" $redis 'notices_of_rooms*'
mutant 'an expiry of a serial has the actor of the command' src/nouns/serial/serial.c \
    's/^    if (verb == w->command->verb \&\& c->data.size == 0)$/    if (c->data.size == 0)/' \
    $memory 'notices_of_serials*'
mutant 'script: an expiry of a serial has the actor of the command' backends/redis/lua/serial.lua \
    's/^    return own and S.with_actor(t) or mpack(t)$/    return S.with_actor(t)/' $redis 'notices_of_serials*'
mutant 'room stats: a member that is due has its roles' src/nouns/room/room_close.c \
    's/^            ret->roles -= r.n\[N_ROLES\];//' $memory 'statistics_*'
mutant 'room stats: the end of a ban is a kick' src/nouns/room/room_members.c \
    's/+= present(&r) \&\& event != USHER__MEMBER_LEAVE;/+= event != USHER__MEMBER_LEAVE;/' $memory 'statistics_*'
mutant 'script: room stats count who left as kicked' backends/redis/lua/room_members.lua \
    's/        if event ~= K.MEMBER_E_LEAVE then S.add(K.COUNT_KICKED, 1) end/        S.add(K.COUNT_KICKED, 1)/' \
    $redis 'statistics_*'
mutant 'the reason of a mode outlives it' src/change/work.c 's/ : changed \&\& r->data.size != 0;/ : false;/' \
    $memory 'reason_of*'
mutant 'a reason alone changes nothing' src/nouns/queue/queue.c 's/w->scope.ref != NULL \&\& !reason.changes \&\&$/w->scope.ref != NULL \&\&/' \
    $memory 'reason_of*'
mutant 'script: the reason of a mode outlives it' backends/redis/lua/common.lua \
    "s/ or not given and anew and r.data ~= ''$/ or false/" $redis 'reason_of*'
mutant 'the reason of a pause ends with the silence of its agent' src/nouns/queue/queue_due.c \
    's/^            absent.data = qc.agent.reason;$/            ;/' $memory 'reason_of_a_pause*'
mutant 'another reason for a pause is the same' src/nouns/queue/queue_agents.c \
    's/^    other = !ready/    other = from != USHER_QUEUE_AGENT_PAUSED \&\& !ready/' $memory 'reason_of_a_pause*'
mutant 'an agent that is ready keeps the reason of its pause' src/nouns/queue/queue_agents.c \
    '/^        a->reason.size = 0;$/d' $memory 'reason_of_a_pause*'
mutant 'the search for reasons has no end' src/nouns/queue/queue_reads.c \
    's/status == USHER_OK \&\& passed == PASS_MAX/status == USHER_OK \&\& passed == -1/' $memory 'at_most_a_thousand_agents*'
mutant 'the notice of a pause has no reason' src/nouns/queue/queue_change.c \
    's/subject.verb == USHER_QUEUE_PAUSE \&\& /subject.verb == USHER_QUEUE_SET \&\& /' $memory 'notices_of_pauses*'
mutant 'script: the reason of a pause ends with the silence of its agent' backends/redis/lua/queue_due.lua \
    "s/absent.token, absent.data = K.FOREVER - 1, a.login, paused and a.reason or ''/absent.token = K.FOREVER - 1, a.login/" $redis 'reason_of_a_pause*'
mutant 'script: an agent that is ready keeps the reason of its pause' backends/redis/lua/queue_agents.lua \
    "s/^        if ready then a.reason = '' end\$//" $redis 'reason_of_a_pause*'
mutant 'script: the search for reasons has no end' backends/redis/lua/queue_reads.lua \
    's/if passed == K.STEP_MAX then/if passed == -1 then/' $redis 'at_most_a_thousand_agents*'
mutant 'a visit that has ended has no name' src/nouns/queue/queue_change.c \
    '/^    v.n\[VISIT_TOKEN\] = (int64_t)u->token;$/d' $memory 'stay_with_an_agent*'
mutant 'script: a visit that has ended has no name' backends/redis/lua/queue_change.lua \
    's/v.VISIT_LOGIN, v.VISIT_NO, v.VISIT_TOKEN = S.change.agent.order, u.U_NO, u.token end/v.VISIT_LOGIN, v.VISIT_NO = S.change.agent.order, u.U_NO end/' $redis 'stay_with_an_agent*'
mutant 'the name of a visit in a notice has no epoch' src/nouns/queue/queue_hooks.c \
    's/^    if (!(room || visit) || value->size == 0)/    if (!room || value->size == 0)/' $memory 'stay_with_an_agent*'
mutant 'SQLite: a visit in the history has no name' backends/sqlite/history_table.c \
    's/^    name_of(st, 14, .*$/    (void)row;/' tests/fault/test_visits
mutant 'a heartbeat of a user has no number of waiting users' src/nouns/queue/queue_answer.c \
    's/->verb != USHER_QUEUE_APPLY \&\& w->command->verb != USHER_QUEUE_MOVE)/->verb == USHER_QUEUE_WHERE)/' $memory 'heartbeat_of_a_user*'
mutant 'a heartbeat of a user has its lane as a reason' src/nouns/queue/queue_hooks.c \
    's/^        return op->verb != USHER_QUEUE_ALIVE || agent;$/        return true;/' $memory 'heartbeat_of_a_user*'
mutant 'the rooms of an agent have no end of its wrap-up' src/nouns/queue/queue_agents.c \
    '/^    reply_of(w)->until_ms = usher__queue_agent_until(&r);$/d' $memory 'room_has*'
mutant 'script: the rooms of an agent have no lanes' backends/redis/lua/queue_agents.lua \
    "s/^        if i == 1 then row\[4\] = .*\$//" $redis 'room_has*'
mutant 'the first visit of a user counts, not the last' src/nouns/queue/queue_answer.c \
    's/KIND_VISIT, 0, user, UINT64_MAX, UINT64_MAX, true,/KIND_VISIT, 0, user, 0, 0, false,/' $memory 'user_whose_visit*'
mutant 'an ended visit is that of any user' src/nouns/queue/queue_answer.c \
    's/KIND_VISIT, 0, user, UINT64_MAX/KIND_VISIT, 0, NULL, UINT64_MAX/' $memory 'end_of_a_visit*'
mutant 'a lost store says that a user was never here' src/nouns/queue/queue_answer.c \
    's/status == USHER_MISSING \&\& has_lost(w)/status != USHER_MISSING \&\& has_lost(w)/' tests/fault/test_rollback 'a_rollback_of_a_file*'
mutant 'script: an ended visit is that of any user' backends/redis/lua/queue_answer.lua \
    "s/S.walk(K.KIND_VISIT, '0', user, nil/S.walk(K.KIND_VISIT, '0', nil, nil/" $redis 'end_of_a_visit*'
mutant 'the answer to apply has the lane in the place of the user' src/nouns/queue/queue_answer.c \
    's/usher__queue_answers_lane(w) ? \&u->group : \&u->id/\&u->group/' tests/model/test_queue_differential
mutant 'a visit that was requeued has ended' src/nouns/queue/queue_history.c \
    's/visit->state == USHER_QUEUE_OUTCOME_REQUEUED/visit->state == USHER_QUEUE_OUTCOME_NONE/' tests/fault/test_visits 'a_history_answers*'
mutant 'the history does not know how a visit ended' src/nouns/queue/queue_history.c \
    '/^        end_find(e, &commands\[i\], r, deadline_ms);$/d' tests/fault/test_visits 'a_history_answers*'
mutant 'an expiry before the command has its actor' src/nouns/number/number.c \
    's/^    if (verb == w->command->verb \&\& actor->data != NULL)/    if (actor->data != NULL)/' $memory 'notices_of_numbers*'
mutant 'a match has the actor of the command before it' src/nouns/queue/queue_change.c \
    's/^    if (!own || actor->data == NULL)/    if ((!own \&\& verb != USHER_QUEUE_MATCH) || actor->data == NULL)/' \
    $memory 'notices_of_queues*'
mutant 'script: the end of free has no actor' backends/redis/lua/queue_change.lua \
    's/ or verb == K.V_READY and S.verb == K.V_FREE) and/) and/' $redis 'notices_of_queues*'
mutant 'an agent whose room gets empty has the next user of a stopped queue' src/nouns/queue/queue_users.c \
    's/^    if (!automatic(run->w->scope.settings))/    if (run->w->scope.settings[SET_TRIGGER] != USHER_QUEUE_TRIGGER_AUTO)/' \
    $memory 'stopped_queue*'
mutant 'script: an agent whose room gets empty has the next user of a stopped queue' backends/redis/lua/queue_users.lua \
    's/^        if S.automatic(S.set) then$/        if S.set[K.SET_TRIGGER + 1] == K.TRIGGER_AUTO then/' $redis 'stopped_queue*'
mutant 'match works in a stopped queue' src/nouns/queue/queue.c \
    's/^        if (w->scope.settings\[SET_SCOPE_MODE\] == USHER_SCOPE_MODE_STOPPED) {/        if (false) {/' $memory 'stopped_queue*'
mutant 'users wait for the next command when a stop ends' src/nouns/queue/queue.c \
    's/^    if (!automatic(w->scope.settings) \&\& automatic(new))/    if (w->scope.settings[SET_TRIGGER] != new[SET_TRIGGER] \&\& automatic(new))/' \
    $memory 'waiting_users_are_matched_when_a_stop*'
mutant 'a holder has no answer in a closed pool' src/nouns/number/number_calls.c \
    's/^        (to.status == USHER_OK \&\& forbidden(w) != USHER_NUMBER_WHY_NONE))/        forbidden(w) != USHER_NUMBER_WHY_NONE)/' \
    $memory 'closed_pool*'
mutant 'script: the fast path gives numbers of a closed pool' backends/redis/lua/number_fast_begin.lua \
    's/plain = plain and usual and order/plain = plain and order/' $redis 'closed_pool*'
mutant 'a match ends when nobody is left' src/nouns/queue/queue_match.c \
    's/(status != USHER_OK || run->n_matched >= USHER__EXPIRE_MAX)/(status != USHER_OK)/' $memory 'a_match_ends*'
mutant 'script: a match ends when nobody is left' backends/redis/lua/queue_agents.lua \
    's/if not link or S.n_matched >= most then/if not link then/' $redis 'a_match_ends*'
mutant 'a return that is repeated is stale' src/nouns/id/id.c 's/^    counts\[COUNT_BACK\] = (int64_t)args->token;$//' \
    $memory 'a_range_comes*'
mutant 'script: a return that is repeated is stale' backends/redis/lua/id.lua 's/S.put_count(K.COUNT_BACK, token)//' \
    $redis 'a_range_comes*'
mutant 'a return reaches below a segment' src/nouns/id/id.c 's/^            counts\[COUNT_TOKEN\] = 0; .*$/            ;/' \
    $memory 'no_range_reaches*'
mutant 'script: a return reaches below a segment' backends/redis/lua/id.lua 's/if S.less(next, first) then S.put_count(K.COUNT_TOKEN, 0) end//' \
    $redis 'no_range_reaches*'
mutant 'a mistyped key is a name' src/parse/parse.c 's/closest.best == NULL || closest.distance > 1)/true)/' \
    tests/unit/test_text 'wrong_lines*'
mutant 'an option after a dash is one' src/parse/parse.c 's/    if (!literal)$/    if (true)/' \
    tests/unit/test_text 'words_after*'
mutant 'sqlite: a quota leaves a commit in doubt' backends/sqlite/file.c 's/ || error == EFBIG//' \
    tests/fault/test_hostile_host 'sqlite_a_file_that*'
mutant 'sqlite: a long log stays long' backends/sqlite/file.c 's/"PRAGMA cell_size_check = ON;" USHER__SQLITE_LOG_LIMIT/"PRAGMA cell_size_check = ON;"/' \
    tests/unit/test_sqlite 'a_long_reader*'
mutant 'an engine is closed by its watcher' src/engine/engine.c 's/usher__is_inside(&usher__this_thread, e) || usher__watches_on(&e->watches, NULL)/usher__is_inside(\&usher__this_thread, e)/' \
    tests/fault/test_hooks 'an_engine*'
mutant 'a cursor of one list is that of another' src/nouns/queue/queue.c 's/         (hi != 0 /         (false /' \
    $memory 'lists_come_in_pages'
mutant 'a change that gets its version late is half made' src/change/work.h \
    '/usher__change_begin_quietly(struct/,/^}/s/    c->n_told = 0;//' \
    $memory 'patrol_runs*'
mutant 'what waits stays when nobody listens any more' src/engine/watch.c \
    's/        gathered_clear(w); .*/        ;/' \
    $memory 'new_watcher*'
mutant 'a notice is applied whatever history it follows' src/replica/replica.c \
    's/before(n) == r->copy.version && n->was == r->copy.mark/n->was != 0/' \
    tests/model/test_replica_random 'no_small_world*'
mutant 'a heartbeat agrees by its version alone' src/replica/replica.c \
    's/    if (mark == 0)$/    if (version != 0)/' \
    tests/model/test_replica_random 'no_small_world*'
mutant 'who goes between two pages leaves his roles' src/replica/copy.c \
    's/            vacate(c, &n->subject);/            ;/' \
    tests/model/test_replica_random 'pages_with*'
mutant 'a page does not begin with what was changed since the one before' src/nouns/room/room_queries.c \
    's/{ (uint64_t)a->since, max, PAGE_BYTES/{ w->scope.version, max, PAGE_BYTES/' \
    $memory 'a_room_is_copied*'
mutant 'Redis: a change has the mark of the one before' backends/redis/lua/common.lua \
    's/set_count(K.LOG_MARK, t\[12\])/set_count(K.LOG_MARK, t[11])/' \
    $redis 'history_hashes*'
mutant 'script: an end of a ban has a kept answer' backends/redis/lua/room_roles.lua \
    's/if S.req and S.exists and S.version ~= version then/if S.req and S.exists and n > 0 then/' \
    $redis 'a_sweep_of_bans*'

mutant 'memory: a lock that is taken is not waited for' backends/memory/memory.c \
    '/lock_taken(struct shard/,/^}/s/    (void)pthread_mutex_lock(&shard->lock);/    (void)shard;/' \
    tests/fault/test_history 'sixteen_threads*'
mutant 'SQLite: a command is not one transaction' backends/sqlite/statements.h \
    's/X(BEGIN_WRITE, "BEGIN IMMEDIATE",/X(BEGIN_WRITE, "PRAGMA optimize=0",/; s/X(COMMIT, "COMMIT",/X(COMMIT, "PRAGMA optimize=0",/' \
    tests/crash/test_kill '*sqlite*'

# ---- the engine ----
mutant 'notices are told before the commit' src/engine/local.c 's/        inner.notify = pending_add;/        ;/; s/        inner.payload = &pending;/        ;/' \
    tests/fault/test_disk 'any_call_of_the_file_system_may*'
mutant 'time goes back in a pool' src/change/work.h 's/    w->now = w->said > last ? w->said : last;/    w->now = w->said;/' \
    $memory 'time_does*'
mutant 'fields of an answer may be missing' src/encode/operation_codec.c 's/n != 8 + usher__fields_count(noun, command->verb)/n < 8/' \
    tests/unit/test_operation_codec

mutant 'due: not told of a command that fails to find' src/engine/local.c 's/if (status == USHER_OK \&\& w->reply->status < USHER_INVALID)/if (status == USHER_OK \&\& w->reply->status == USHER_OK)/' \
    $memory 'reply_has*'
mutant 'what a command is told with is not given back' src/change/work.c \
    's/            w->n_buffers = i + 1;/            w->n_buffers = 1;/' tests/fault/test_oom
mutant 'due: what was found is not stored' src/change/work.h 's/    return w->scope.ref != NULL \&\& w->scope.due_ms != w->due_stored;/    return w->due_stored == 1;/' \
    $memory 'reply_has*'
mutant 'script: what was found due is not stored' backends/redis/lua/dispatch.lua 's/if S.exists and S.due ~= due then S.head_changed = true end//' \
    $redis 'reply_has*'
mutant 'script: a kept answer says what was due then' backends/redis/lua/common.lua 's/S.epoch, a\[4\], S.due, S/S.epoch, a[4], -1, S/' \
    $redis 'reply_has*'
mutant 'script: the short way tells the first deadline of all' backends/redis/lua/number_fast.lua 's/then due, due_bytes = ends, ends_bytes end/then due = ends end/' \
    $redis 'each_reply*'

mutant 'scopes: a page begins after the first one of the next' src/engine/local.c \
    's/^    if (l->n++ == l->page->max) {/    if (l->n++ > l->page->max) {/' $memory 'scopes_are*'
mutant 'scopes: a page of the store with too few scopes is enough' src/engine/scopes.c \
    's/^    } while (status == USHER_OK \&\& rows->n < max .*/    } while (false \&\&/' $redis 'closed_rooms_take*'
mutant 'memory: a scope that was erased stays in the list' backends/memory/write.c \
    's/^    (void)usher__tree_erase(&order->names.*/    (void)name;/' $memory 'pages_of_scopes*'
mutant 'SQLite: a page of scopes begins with the last one of the page before' backends/sqlite/statements.h \
    's/WHERE noun = ?1 AND name > ?2 ORDER BY name/WHERE noun = ?1 AND name >= ?2 ORDER BY name/' \
    tests/conformance/on_sqlite 'scopes_are*'
mutant 'scopes: the list begins anew' src/engine/scopes.c 's/        \*ret_noun = noun->noun;/        *ret_noun = 0;/' \
    $memory 'scopes_are*'

mutant 'whole: a verb without a scope takes its neighbours along' src/engine/execute.c \
    's/            \*n = i > 0 ? i : 1;/            ;/' tests/unit/test_whole 'each_verb*'
mutant 'whole: a page of the journal goes on one row late' src/nouns/store/store.c \
    's/    if (!l->reply->of.store.more)/    if (true)/' tests/unit/test_whole 'the_journal*'
mutant 'write: an answer in part is only a failure' src/encode/encode.c \
    's/>= USHER_CLASS_WRONG \&\& !partial;/>= USHER_CLASS_WRONG;/' tests/unit/test_whole 'a_partial*'

# ---- memory ----
mutant 'memory: a record does not join the list of its group' backends/memory/write.c \
    's/must(usher__tree_insert(list, &shard->pool, key, r) == USHER__TREE_PUT);/must(true);/' $memory 'groups*'
mutant 'memory: a record does not leave a list' backends/memory/write.c \
    's/    p->leaves = slots & r->slots;/    p->leaves = slots \& r->slots \& ~4u;/' $memory

mutant 'memory: the first who goes is still counted' backends/memory/tree.c \
    's/        slot(p, COUNTED, 0)\[COUNT_WORD\].u--;/        ;/' tests/unit/test_tree
mutant 'a store is told of what it is asked for at once' src/engine/local.c \
    's/expect(&w, tasks\[done + AHEAD\].command);/expect(\&w, tasks[done].command);/' tests/unit/test_local

# ---- SQLite ----
mutant 'SQLite: answers before the disk has them' backends/sqlite/file.c 's/PRAGMA synchronous = FULL/PRAGMA synchronous = NORMAL/' \
    tests/fault/test_disk 'power*'
mutant 'SQLite: headers are not written' backends/sqlite/write.c 's/    h->changed = !is_new;/    h->changed = false;/' \
    $sqlite 'answered_changes_are*'
mutant 'SQLite: changes by others are not seen' backends/sqlite/sqlite.c 's/    if (pages_now(t) != t->pages)/    if (t->generation == 1)/' \
    $sqlite 'two_engines*'
mutant 'SQLite: who leaves a list is still counted' backends/sqlite/write.c 's/    if (left)$/    if (false)/' \
    tests/unit/test_sqlite 'rank_in*'
mutant 'SQLite: a visit that its queue does not keep is no row' src/nouns/queue/queue_change.c 's/    if (w->ops->append != NULL) {$/    if (w->ops->append != NULL \&\& history != 0) {/' \
    tests/fault/test_visits 'a_visit_is_a_row_of_its*'
mutant 'SQLite: a visit that is kept is told of twice' src/nouns/queue/queue_history.c 's/        query.version = q->rows\[q->n_rows - 1\].version;/        query.version = 0;/' \
    $sqlite 'store_with*'
mutant 'SQLite: the row of a visit says another time' backends/sqlite/history_table.c 's/sqlite3_bind_int64(st, 14, v->wait_ms)/sqlite3_bind_int64(st, 14, v->talk_ms)/' \
    tests/model/test_queue_differential
mutant 'SQLite: who is taken stays the first of those remembered' backends/sqlite/lists.c 's/f->records\[i\].record.ref = NULL;/f->at += 0;/' \
    tests/unit/test_sqlite 'the_cached_first_record_is_the_first'
mutant 'SQLite: who has just called holds nothing' backends/sqlite/lists.c 's/        o->n++;/        o->n += 0;/' \
    tests/unit/test_sqlite 'the_cached_first_record_is_the_first'
mutant 'SQLite: what is due stays where it was due' backends/sqlite/write.c 's/ && due_of(was) == due_of(to) ? / ? /' \
    tests/unit/test_sqlite 'two_connections_agree_with_an_array'
mutant 'SQLite: a failed commit is said to be undone' backends/sqlite/sqlite.c 's/return no_space ? status : USHER_UNKNOWN;/return status;/' \
    tests/fault/test_disk 'power*'

# ---- Redis: the store ----
mutant 'Redis: everything is sent again' backends/redis/pipeline.c 's/    if ((flags \& USHER_OPERATION_REPEATABLE) == 0)/    if (flags == 0)/' \
    tests/fault/test_redis_faults 'a_lost_answer*'
mutant 'Redis: a lost answer is one that was not sent' backends/redis/conn.c '/^size_t usher__redis_conn_unsent_from(/,/^}/s/    return lo;/    return 0;/' \
    tests/fault/test_redis_faults 'a_lost_answer*'
mutant 'Redis: a refused command overtakes others' backends/redis/pipeline.c 's/        if (passed) {/        if (false) {/' \
    tests/fault/test_redis_faults 'a_refused_command_is_not*'
mutant 'Redis: a server that takes no writes is kept' backends/redis/pipeline.c 's/            atomic_fetch_add(&r->node->demotions, 1);/            atomic_fetch_add(\&r->node->demotions, 0);/' \
    tests/fault/test_redis_roles 'a_name*'
mutant 'Redis: replicas are read from' backends/redis/handshake.c 's/    if (role.size > 0 \&\& !usher__redis_info_is(&role, "master")) {/    if (false) {/' \
    tests/fault/test_redis_roles 'a_replica*'
mutant 'Redis: a scope without rights ends a list' backends/redis/read.c 's/^        if (usher__redis_lacks_keys(\*ret_reply)) {/        if (false) {/' \
    tests/fault/test_redis_roles 'a_user*'
mutant 'Redis: a list trusts a reply of a table that was resized' backends/redis/list.c \
    's/^    bool again = c->count != 0, same = again .*/    bool again = c->count != 0, same = again;/' \
    tests/unit/test_redis_script 'pages_of_scopes_are*'
mutant 'Redis: a list goes on with the cursor of another process' backends/redis/list.c \
    's/^        if (l->at.identity != 0 \&\& r->server != 0/        if (false \&\& r->server != 0/' \
    tests/unit/test_redis_script 'pages_of_scopes_begin*'
mutant 'Redis: the next page repeats those of a reply that was cut' backends/redis/list.c \
    's/^        while (same \&\& from < n/        while (false \&\& from < n/' $redis 'scopes_are*'
mutant 'cluster: a list does not notice that slots moved' backends/redis/list.c \
    's/^    if (slots == 0 || (l->at.slots != 0 .*/    if (false)/' \
    tests/cluster/test_cluster_scopes 'a_scope_*'
mutant 'cluster: a list does not notice a slot that is moving' backends/redis/list.c \
    's/^    if (strstr(text, "->-") != NULL .*/    if (false)/' \
    tests/cluster/test_cluster_scopes 'a_scope_in*'
mutant 'Redis: of two masters the first is used' backends/redis/hosts.c 's/^        if (master < s->n \&\& !same_server/        if (false \&\& !same_server/' \
    tests/fault/test_redis_roles 'neither*'
mutant 'Redis: two names of one server are two masters' backends/redis/hosts.c 's/^    return one.size > 0 \&\& one.size == other.size/    return false \&\& one.size == other.size/' \
    tests/fault/test_redis_roles 'one_server*'
mutant 'Redis: a silent host has the whole deadline' backends/redis/handshake.c 's/^#define SEARCH_SHARE 4/#define SEARCH_SHARE 1/' \
    tests/fault/test_redis_roles 'a_silent*'
mutant 'Redis: the first Sentinel decides' backends/redis/hosts.c 's/^        if (votes(s, i) > votes(s, best))/        if (votes(s, i) > votes(s, best) + s->n)/' \
    tests/fault/test_redis_sentinel 'the_majority*'
mutant 'Redis: a silent Sentinel is waited for' backends/redis/hosts.c 's/^        return votes(s, most_votes(s)) > s->n/        return votes(s, most_votes(s)) > 2 * s->n/' \
    tests/fault/test_redis_sentinel 'a_silent*'
mutant 'Redis: a proxy that closes at SCRIPT is not used' backends/redis/handshake.c 's/^        if (r->asks == USHER__REDIS_ASKS_SCRIPT \&\&/        if (false \&\&/' \
    tests/fault/test_redis_refused 'a_proxy*'
mutant 'Redis: Sentinels are asked without TLS' backends/redis/hosts.c 's/^        o.db = 0;/        o.over_tls = false;/' \
    tests/fault/test_redis_sentinel_tls 'sentinels*'
mutant 'Redis: each Sentinel gets the password' backends/redis/hosts.c 's/^        if (!h->with_password)/        if (false)/' \
    tests/fault/test_redis_sentinel 'the_password*'
mutant 'Redis: a read without answer is in doubt' backends/redis/pipeline.c 's/^    return b->doubt\[i\] \&\& !reads(b->tasks\[i\].command)/    return b->doubt[i]/' \
    tests/fault/test_redis_roles 'a_read*'
mutant 'Redis: the name of a node is needed' backends/redis/connect.c 's/ \&\& c->opt.ip != NULL \&\& / \&\& c->opt.ip == NULL \&\& /' \
    tests/cluster/test_cluster_hosts 'an_unresolved*'
mutant 'Redis: a short password hides other words' backends/redis/conn_text.c 's/^#define SHORT_PASSWORD 6/#define SHORT_PASSWORD 1/' \
    tests/unit/test_redis_conn 'words*'
mutant 'Redis: a short password is shown' backends/redis/conn_text.c 's/^            i += n;/            l->len -= 3;/' \
    tests/unit/test_redis_conn 'arguments*'
mutant 'Redis: the network delivers what was given up' backends/redis/connect.c \
    's/^        forget_unsent(c->fd);/        (void)forget_unsent;/' \
    tests/fault/test_redis_faults 'a_request_past_its_deadline_never_arrives_later'
mutant 'Redis: the role is asked at connect only' backends/redis/handshake.c 's/^#define ROLE_MS 1000 /#define ROLE_MS 1000000 /' \
    tests/fault/test_redis_roles 'a_demoted*'
mutant 'Redis: who writes is asked for rights to read' backends/redis/pipeline.c 's/        return "write";/        return "read";/' \
    tests/unit/test_redis_script 'a_right_that_is_missing*'
mutant 'Redis: rights are asked with each call' backends/redis/pipeline.c 's/        script->may = USHER__REDIS_MAY_WRITE;/        script->may = USHER__REDIS_MAY_READ;/' \
    tests/unit/test_redis_script 'rights_are_checked_once*'
mutant 'Redis: who reads is refused with who writes' backends/redis/pipeline.c 's/        if (!apart || /        if (true || /' \
    tests/unit/test_redis_script 'reads_are_answered_in_a_batch_with_refused_writes'
mutant 'script: nobody asks for the right to take out of a list' backends/redis/lua/rights.lua "s/, {'ZREM', INDEX, '!'}, {'ZREM', HELD, '!'}//" \
    tests/unit/test_redis_script 'a_right_that_is_missing*'
mutant 'script: nobody asks whoever types' backends/redis/lua/common.lua 's/        if why then error(why, 0) end//' \
    tests/unit/test_redis_script 'a_direct_call_needs_the_same_rights'
mutant 'Redis: what is not permitted inside of a script was refused at the door' backends/redis/classify.c 's/           holds_one_of(t, ours, .*;/           true;/' \
    tests/unit/test_redis_texts 'errors_*'
mutant 'Redis: 6.2 cannot have failed to flush its file in the middle of a script' backends/redis/classify.c 's/? raised_62(&t)/? classify_62(\&t)/' \
    tests/unit/test_redis_texts 'errors_*'
mutant 'TLS: any certificate will do' backends/redis/tls.c \
    's/SSL_VERIFY_PEER, look_at_certificate/SSL_VERIFY_NONE, look_at_certificate/' tests/fault/test_redis_tls 'a_wrong_server*'
mutant 'TLS: a certificate may be for anybody' backends/redis/tls.c \
    's/return SSL_set1_host(ssl, name) == 1 \&\& /return /' tests/fault/test_redis_tls 'a_wrong_certificate*'
mutant 'TLS: a server is not told its name' backends/redis/tls.c \
    's/ \&\& SSL_set_tlsext_host_name(ssl, name) == 1//' tests/fault/test_redis_tls 'the_server_receives*'
mutant 'TLS: files are read once' backends/redis/tls.c \
    's/t->context == NULL || memcmp(.*) {/t->context == NULL) {/' tests/fault/test_redis_tls 'files_that_change*'
mutant 'TLS: a key asks for its pass phrase' backends/redis/tls.c \
    's/    t->locked = true;//' tests/fault/test_redis_tls 'a_file*'
mutant 'TLS: what it holds is waited for' backends/redis/tls.c \
    's/return SSL_has_pending(t->ssl) == 1 .*;/return false;/' tests/fault/test_redis_tls 'a_reply_in_the_tls_buffer_is_read_without_a_wait'
mutant 'TLS: records without data are read without end' backends/redis/tls.c \
    's/    SSL_CTX_clear_mode(context, SSL_MODE_AUTO_RETRY);//' tests/fault/test_redis_tls 'a_read_takes*'
mutant 'TLS: the handshake has a deadline of its own' backends/redis/connect.c \
    '/^static enum usher_status securing/,/^}/s/c->to.deadline_ms/c->to.deadline_ms + 20000/' \
    tests/fault/test_redis_tls 'no_handshake*'
mutant 'TLS: bytes count when OpenSSL has them' backends/redis/tls.c \
    's/^    if (t->owing > 0)$/    if (false)/' tests/fault/test_redis_tls 'bytes_count*'
mutant 'TLS: OpenSSL has half a record to write' backends/redis/tls.c \
    's/    if (rest > HELD_SIZE - t->n_held) {/    if (rest > 0) {/' tests/fault/test_redis_tls 'keys*'
mutant 'TLS: a server that is gone raises a signal' backends/redis/tls.c \
    's/send(t->fd, p, size, MSG_NOSIGNAL)/send(t->fd, p, size, 0)/' tests/fault/test_redis_tls 'a_write_to_a_closed*'
mutant 'TLS: errors of others are ours' backends/redis/tls.c \
    '/^static void attempt(/,/^}/s/    ERR_clear_error();//' tests/fault/test_redis_tls 'openssl_errors*'
mutant 'TLS: a stream is ended in a child' backends/redis/tls.c \
    's/^    SSL_free(t->ssl);/    if (t->ssl != NULL) (void)SSL_shutdown(t->ssl);\n&/' tests/fault/test_redis_tls 'a_child*'
mutant 'TLS: options of `rediss:` are taken by all' backends/redis/url.c \
    's/} else if (o->over_tls \&\& usher__redis_is_tls_option/} else if (usher__redis_is_tls_option/' tests/fault/test_redis_tls 'options*'
mutant 'Redis: who collects waits for the server' src/engine/post.c \
    's/^            run(e, p, l, p->fd\[USHER__LOOP\] >= 0);/            run(e, p, l, false);/' tests/fault/test_post_loop 'a_slow*'
mutant 'Redis: a connection is given up with its batch' backends/redis/handshake.c \
    's/^    if (share < least || /    if (share < 0 || /' tests/fault/test_post_loop 'a_connection_completes*'
mutant 'Redis: who calls waits for what was posted' src/engine/execute.c \
    's/^        usher__post_settle(e, commands, n, deadline_ms);/        (void)watched;/' tests/fault/test_post_loop 'a_call_completes_posted_batches_of_its_scope'
mutant 'cluster: a call waits for every posted command' src/engine/post_settle.c \
    's/^    return i < USHER_UNITS \/ 64;/    return true;/' \
    tests/cluster/test_cluster_posted 'a_call_does*'
mutant 'posted: a call drives the first batch of its slots alone' src/engine/post_settle.c \
    's/^        found = found || units_meet(\&of, units);/        if (found) { continue; } found = true;/' \
    tests/model/test_hear_random '*on_redis'
mutant 'cluster: a call compares scopes and not their slots' src/engine/post_settle.c \
    's/^    return ops->unit != NULL ? ops->unit(.*/    return (unsigned)(XXH3_64bits(text.data, text.size) % USHER_UNITS);/' \
    tests/cluster/test_cluster_posted 'a_call_completes*'
mutant 'serve: before its password a client has limits of its own' src/serve/serve.c \
    's/^    l->unknown.words = least(10, l->command.words);/    l->unknown.words = 10;/' tests/cli/whatever_comes_serve_goes_on.sh
mutant 'SQLite: only the file itself is looked for' backends/sqlite/file.c \
    's/^    for (unsigned i = 1; i < USHER__SQLITE_PARTS \&\& status/    for (unsigned i = 9; i < USHER__SQLITE_PARTS \&\& status/' \
    tests/unit/test_sqlite 'no_number*'
mutant 'SQLite: names are looked at but once' backends/sqlite/intact.c \
    's/^    if (known \&\& in->settled \&\& /    if (known \&\& in->inode != 0 || in->settled \&\& /' \
    tests/unit/test_sqlite 'a_store_notices_that*'
mutant 'SQLite: a checkpoint passes for another program' backends/sqlite/intact.c \
    's/^    over = in->idle \&\& !same \&\& .*/    over = in->idle \&\& !same;/' tests/unit/test_sqlite 'a_store_notices_a_copy_w*'
mutant 'SQLite: versions may fall' backends/sqlite/cache.c \
    's/^    return h->generation != 0 \&\& h->scope.noun/    return h->generation == 1 \&\& h->scope.noun/' \
    tests/unit/test_sqlite 'a_store_notices_a_copy_r*'
mutant 'SQLite: the second page of a range shows what the queue keeps' src/nouns/queue/queue_history.c \
    's/reading.last, query.version)$/reading.last, (uint64_t)0)/' tests/fault/test_visits 'a_range*'
mutant 'SQLite: visits of an agent are looked for by time' backends/sqlite/history_table.h \
    's/visit_by_agent ON visit(agent, queue, id, ended_ms)/visit_by_agent ON visit(agent, ended_ms)/' \
    tests/fault/test_visits 'queries_of_visits*'
mutant 'engine: a batch takes the time of its commands' src/engine/group_commit.c \
    's/^    return (last - now_ms) \/ 2 <= first - now_ms;/    return now_ms > 0;/' tests/unit/test_batch 'a_batch*'
mutant 'engine: a caller leaves the queue only where there are lanes' src/engine/group_commit.c \
    's/^    while (e->waits \&\& error/    while (e->routes \&\& error/' tests/unit/test_batch 'a_caller*'
mutant 'Redis: what is due before what was posted is done but once' src/engine/flight.c \
    's/^        if (!usher__engine_unfinished(f->e/        if (f->at != f->n_tasks || !usher__engine_unfinished(f->e/' \
    tests/conformance/on_redis 'a_posted_command_comes_after_due_expiries'
mutant 'Redis: what was posted has no deadline' backends/redis/pipeline.c \
    's/^    t->b.lost = usher__redis_conn_late(t->r->conn);/    return false;/' \
    tests/cluster/test_cluster_posted 'a_silent_node_delays_only*'
mutant 'redis: each call of a pipeline carries the text' backends/redis/pipeline.c \
    's/script->missing && (b->texts >> noun_of(c) & 1) == 0/script->missing/' \
    tests/fault/test_redis_refused 'without_script_a_call*'
mutant 'redis: a server without TIME is asked until the deadline' backends/redis/pipeline.c \
    's/^    r->no_time = true;/    r->no_time = false;/' \
    tests/fault/test_redis_refused 'without_time*'
mutant 'script: the clock is read where each command has its time' backends/redis/lua/dispatch.lua \
    's/^local needs_time = .*/local needs_time = true/' \
    tests/fault/test_redis_refused 'with_given_times*'
mutant 'redis: a script is sent with each connection' backends/redis/handshake.c \
    's/^        memcpy(r->script\[i\].sha, s->script.*/        r->script[i].sha[0] = 0 * s->n_nodes;/' \
    tests/fault/test_redis_faults 'a_script_is*'
mutant 'redis: a long scan fails when it asks who the server is' backends/redis/scan.c \
    's/^    if (until_ms < now_ms + w->patience_ms \/ 2)/    if (until_ms < now_ms - w->patience_ms * 99)/' \
    tests/fault/test_redis_faults 'many_scopes*'
mutant 'redis: who waits for replicas holds up the others' src/engine/execute.c \
    's/^    while (i < n \&\& tasks\[i\].command->wait == 0)/    while (i < n)/' tests/fault/test_redis_wait 'wait_delays_no_other_command'
mutant 'redis: scopes stay taken while replicas are waited for' backends/redis/batch.c \
    's/^    if (answered) .*/    if (over)/; s/^    else if (some && b->claimed).*/    else if (false)/' tests/fault/test_redis_wait 'wait_delays_no_other_command'
mutant 'redis: replicas are waited for beyond the deadline' backends/redis/batch.c \
    's/^    return left - (back < left \/ 2/    return left + (back < left \/ 2/' \
    tests/fault/test_redis_wait 'wait_ends_at_the_deadline'
mutant 'script: a change is not published' backends/redis/lua/dispatch.lua 's/^    if push > 0 then/    if false then/' \
    tests/fault/test_redis_push 'each_change*'
mutant 'script: a change of a scope with push is not published' backends/redis/lua/dispatch.lua \
    's/(settings and byte(settings, K.PUSH_AT) == 1 or /(/' tests/fault/test_redis_push 'each_change_of*'
mutant 'script: that push begins is not published' backends/redis/lua/dispatch.lua \
    's/ or S.set_changed and S.set\[K.SET_PUSH + 1\] == 1) then/) then/' tests/fault/test_redis_push 'each_change_of*'
mutant 'script: a repeated command is published' backends/redis/lua/dispatch.lua \
    's/ or version ~= begun and version ~= last and version or 0/ or version/' tests/fault/test_redis_push 'each_change_of*'
mutant 'script: a heartbeat after a takeover is published' backends/redis/lua/dispatch.lua \
    's/ and version ~= last and version or 0/ and version or 0/' tests/fault/test_redis_push 'a_takeover*'
mutant 'script: one command without the right to publish refuses all' backends/redis/lua/dispatch.lua \
    's/ and not (S.refused and n_commands > 1) then/ then/' tests/fault/test_redis_push 'a_user_without*'
mutant 'script: a cluster without INFO is one server' backends/redis/lua/publisher.lua \
    's/slots and not slots.err or //' tests/fault/test_redis_push 'a_channel*'
mutant 'script: push turns the fast path off' backends/redis/lua/number_fast_begin.lua \
    's/ or later == K.SETTINGS_PUSH$//' tests/fault/test_redis_push 'each_change_of_a_pool*'
mutant 'script: that push ends is not published' backends/redis/lua/room.lua 's/ and S.set\[K.SET_PUSH + 1\] ~= 1 then return end/ then return end/' \
    tests/fault/test_redis_push 'each_change*'
mutant 'script: each join of an interval is published' backends/redis/lua/room.lua 's/^    if wait > 0 and S.now < math.abs(till) then/    if false then/' \
    tests/fault/test_redis_push 'joins_are*'
mutant 'script: the end of an interval is not published' backends/redis/lua/room_members.lua 's/^        S.push = S.version_shown()/        S.push = nil/' \
    tests/fault/test_redis_push 'joins_are*'
mutant 'script: a fast heartbeat does not end an interval' backends/redis/lua/room_fast.lua 's/^    and (count\[K.COUNT_PUSHED + 1\] >= 0 or .*/    then/' \
    tests/fault/test_redis_push 'joins_are*'
mutant 'a follower does not subscribe' src/engine/hear.c 's/^    if (!h->may_listen || h->listens == on)/    if (true)/' \
    tests/fault/test_redis_listen 'a_message*'
mutant 'a published version is not read' src/engine/hear.c 's/^        if (again || version > h->place.version)/        if (again)/' \
    tests/fault/test_redis_listen 'a_message*'
mutant 'a follower does not notice that push ends' src/engine/hear.c 's/^        if (may_change_push(h, n))/        if (false)/' \
    tests/fault/test_redis_listen 'push_can*'
mutant 'a follower does not notice that its scope is dropped' src/engine/hear.c \
    's/n->verb == usher__steps((unsigned)n->noun)->drop_verb/false/' tests/fault/test_redis_listen 'a_scope_without*'
mutant 'a follower does not subscribe without a log' src/engine/hear.c 's/ || r->status == USHER_REFUSED) \&\&/) \&\&/' \
    tests/fault/test_redis_listen 'a_scope_without*'
mutant 'the log is not read when a subscription begins' src/engine/hear.c 's/^        if (h->subscribed)$/        if (false)/' \
    tests/fault/test_redis_listen 'a_change_before*'
mutant 'a follower without a subscription reads the log seldom' src/engine/hear.c 's/^        h->subscribed = event == USHER_LISTEN_ON;/        h->subscribed = true;/' \
    tests/fault/test_redis_listen 'a_follower_reads_the_log_while_it_is_not_subscribed'
mutant 'redis: a connection that has failed is not made again' backends/redis/listen.c 's/^        channel_out(l, e->channels, 0);/        channel_part(e->channels);/' \
    tests/fault/test_redis_listen 'a_killed_connection*'
mutant 'redis: a slot that moves is not followed' backends/redis/listen.c \
    '/the slot moves \*\//,/return/s/channel_out(l, c, 0);/c->moves = 0;/' tests/fault/test_redis_listen 'any_message*'
mutant 'redis: a refused subscription is not logged' backends/redis/listen.c 's/^    refused(l, e, reply);//' \
    tests/fault/test_redis_listen 'a_user*'
mutant 'redis: a long message is taken' backends/redis/conn.c 's/^        if (c->listens \&\&$/        if (false \&\&/' \
    tests/fault/test_redis_listen 'any_message*'
mutant 'script: who may not publish is not told' backends/redis/lua/common.lua 's/^    if S.pset then S.must_publish() end//' \
    tests/fault/test_redis_push 'a_user_without_publish_gets_an_error'
mutant 'script: a cluster is told as one server is' backends/redis/lua/publisher.lua "s/ and 'SPUBLISH' or 'PUBLISH'/ and 'PUBLISH' or 'PUBLISH'/" \
    tests/fault/test_redis_push 'a_channel*'
mutant 'usher: how a server is set up is told with each command' src/main.c 's/^    cli->notices = p->word != NULL.*/    cli->notices = true;/' \
    tests/cli/the_servers_behind_a_store_are_told_of.sh
mutant 'redis: the password is that of the beginning' backends/redis/password.c \
    's/^    if (r->password_file\[0\] != .*/    if (r->password_file[0] != 0 \&\& r->password[0] == 0)/' tests/fault/test_redis_password 'a_password_file*'
mutant 'cluster: the map is asked for with the password of the beginning' backends/redis/cluster.c \
    's/^    status = usher__redis_password(l->r);/    status = USHER_OK;/' \
    tests/fault/test_redis_password 'each_node*'
mutant 'cluster: each scope of a node that is silent is waited for' src/nouns/room/room_directory.c \
    's/^    if (u->lanes < SILENT_MAX)/    if (u->lanes > SILENT_MAX)/' tests/cluster/test_cluster_apart
mutant 'cluster: large scopes are not told of' backends/redis/scan.c 's/^    if (n <= LARGE + NO_RECORDS)/    if (n <= 10 * LARGE)/' \
    tests/fault/test_redis_status 'a_check*'
mutant 'TLS: a reset in the handshake has no hint' backends/redis/connect.c \
    's/(n == IO_FAILED \&\& c->io_errno == ECONNRESET)/false/' tests/fault/test_redis_tls 'no_handshake*'
mutant 'status: Redict is Redis' backends/redis/info.c 's/"redict_version" }/"no_version" }/' \
    tests/unit/test_redis_info 'a_server*'
mutant 'Sentinels: a silent master has all of the time' backends/redis/handshake.c 's/r->named ? 2 : 1/1/' \
    tests/fault/test_redis_sentinel 'a_silent_master*'
mutant 'status: a server that does not answer is left out' backends/redis/status.c \
    's/^    node->why = text(usher__redis_conn_message(r->conn));/    return;/' \
    tests/fault/test_redis_status 'status_has_all*'
mutant 'status: a replica is never behind' backends/redis/info.c 's/? of_master - has : USHER_NONE;/? 0 * of_master : USHER_NONE;/' \
    tests/fault/test_redis_status 'status_has_a_master*'
mutant 'status: what failed is not counted' src/engine/execute.c \
    's/^        atomic_fetch_add_explicit(&e->unavailable, 1/        atomic_fetch_add_explicit(\&e->unavailable, 0/' \
    tests/fault/test_redis_status 'status_counts_failed_commands'
mutant 'cluster: ASKING is left out' backends/redis/pipeline.c \
    's/    if (b->asks\[call\]) { \/\* holds.*/    if (false) {/' tests/cluster/test_cluster_cases 'ask_redirects*'
mutant 'cluster: MOVED is not remembered' backends/redis/cluster.c 's/^        if (!asks)$/        if (false)/' \
    tests/cluster/test_cluster_cases 'moved_is_followed*'
mutant 'cluster: ASK is remembered' backends/redis/cluster.c 's/^        if (!asks)$/        if (true)/' \
    tests/cluster/test_cluster_cases 'ask_redirects*'
mutant 'cluster: the map is asked for with each redirect' backends/redis/cluster.c \
    's/ now_ms + LOOK_MS + .*/ now_ms);/' tests/cluster/test_cluster_cases 'many_redirects*'
mutant 'cluster: whoever has the address is the node' backends/redis/handshake.c \
    's/ \&\& strcmp(reply->str, r->expects) != 0) {/ \&\& r->expects[0] == 0) {/' \
    tests/cluster/test_cluster_cases 'another_cluster*'
mutant 'cluster: the first of those who are asked for the map has all the time' backends/redis/cluster.c \
    's/^    l->until_ms = .*/    l->until_ms = now_ms + 60000;/' tests/cluster/test_cluster_cases 'a_map_request_leaves_time_for_the_command'
mutant 'cluster: nodes are asked one after the other' backends/redis/batch.c \
    's/^            node_batch_continue(l, b->context->deadline_ms);/            over ? node_batch_continue(l, b->context->deadline_ms) : (void)(l->wait.fd = -1, l->wait.until_ms = 0);/' \
    tests/cluster/test_cluster_cases 'nodes_may*'
mutant 'cluster: what was posted is waited for together' src/engine/post.c \
    's/ < USHER__POST_QUEUES ? (unsigned)e->n_lanes : USHER__POST_QUEUES;/ < 1 ? 2 : 1;/' \
    tests/cluster/test_cluster_posted 'a_silent_node_delays_only*'
mutant 'cluster: all logs are read in one lane' src/engine/hear.c \
    's/^    h->lane = lane_of(h);/    h->lane = lane_of(h) != NULL ? h->p->lane : NULL;/' tests/cluster/test_cluster_posted 'a_silent_node_delays_no_log*'
mutant 'cluster: an open waits among the commands of its node' src/core/room_verbs.def \
    's/WRITES | BEYOND | AGAIN/WRITES | AGAIN/; s/WRITES | BEYOND/WRITES/' tests/cluster/test_cluster_posted 'a_silent_node_delays_no_log*'
mutant 'Redis: the entry of a room is put behind it alone' src/nouns/room/room_plan.c \
    's/^    if (opens == 0) {.*/    if (opens != 77) {/' tests/fault/test_post_loop 'an_open_room*'
mutant 'cluster: what was posted goes where its scope is' src/engine/post.c \
    's/^    if (home->n++ == 0) {$/    if (home->n++ + 1 > 0) {/' tests/cluster/test_cluster_posted 'a_scope_that_moves*'
mutant 'cluster: where a scope is at home is for ever' src/engine/post.c \
    's/^        p->homes\[c->home\].n--;/        (void)c;/' tests/cluster/test_cluster_posted 'a_scope_that_moves*'
mutant 'cluster: what was posted is not tried elsewhere' src/engine/flight.c \
    's/^    if (!f->e->routes)$/    if (f->e->routes)/' tests/cluster/test_cluster_posted 'moved_is_followed*'
mutant 'cluster: what was posted never looks for its scope' backends/redis/batch.c \
    's/^    if (s->map != NULL)$/    if (s == NULL)/' tests/cluster/test_cluster_posted 'moved_requests*'
mutant 'cluster: who leaves a look keeps others from it' backends/redis/cluster.c \
    's/^    s->map->asked_until_ms = 0;/    s->map->asked_until_ms = INT64_MAX;/' tests/cluster/test_cluster_cases 'moved_requests*'
mutant 'engine: what was refused is sent behind what came after it' src/engine/again.c \
    's/if (t->again != 0 \&\& passed(a->tasks, i, a->n))/if (false)/' \
    tests/cluster/test_cluster_cases 'a_refused_command_is_not_executed_after_its_successor'
mutant 'engine: who tries again does not wait' src/engine/again.c 's/    if (later || tries > 2)$/    if (false)/' \
    tests/cluster/test_cluster_cases 'two_nodes_that*'
mutant 'engine: one lane for all nodes' src/engine/execute.c \
    's/ usher__group_commit(e, &e->lanes\[tasks\[0\].lane\], tasks/ usher__group_commit(e, \&e->lanes[0], tasks/' \
    tests/cluster/test_cluster_apart
mutant 'engine: who leaves the queue takes those behind him along' src/engine/group_commit.c \
    's/^    \*(before != NULL ? \&before->next : \&l->first) = w->next;/    *(before != NULL ? \&before->next : \&l->first) = NULL;/' \
    tests/unit/test_lanes 'a_caller_leaves_the_middle_of_the_queue'
mutant 'engine: who leaves the queue is its end still' src/engine/group_commit.c \
    's/^    if (l->last == w)$/    if (false)/' tests/unit/test_lanes 'a_caller_leaves_the_end_of_the_queue'
mutant 'engine: who was taken out of the queue leaves it' src/engine/group_commit.c \
    's/^        left = queue_leave(l, me);/        left = queue_leave(l, me) || true;/' \
    tests/unit/test_lanes 'a_caller_that_left_has_executed_nothing'
mutant 'what a store has lost is called stale' src/change/work.c \
    's/version > s->gaps\[i\].last && version <= s->gaps\[i\].first/false/' \
    tests/fault/test_rollback 'an_older_copy*'
mutant 'versions go on behind a loss' src/change/work.c \
    's/^    s->version = first;/    s->gaps[s->n_gaps - 1].first = s->version;/' \
    tests/fault/test_rollback 'an_older_copy*'
mutant 'a copy passes for the file in whose place it is' backends/sqlite/file.c \
    's/if (statx(/if (false \&\& statx(/' \
    tests/fault/test_rollback 'an_older_copy*'
mutant 'nine gaps: the oldest is forgotten' src/change/work.c \
    's/^        s->gaps\[0\].first = s->gaps\[1\].first;/        s->gaps[0] = s->gaps[1];/' \
    tests/fault/test_rollback 'a_complete_copy*'
mutant 'the first notice behind a loss tells no gap' src/change/work.c \
    's/last->first + 1 == version ? last->last/false ? last->last/' \
    tests/fault/test_rollback 'an_older_copy*'
mutant 'who has the last version before a jump has lost it' src/change/work.c \
    's/version > s->gaps\[i\].last/version >= s->gaps[i].last/' \
    tests/model/test_lost_exhaustive
mutant 'no version is beyond what the store has' src/change/work.c \
    's/    return version > s->version;/    return false;/' \
    tests/model/test_lost_exhaustive
mutant 'audit: gaps that cannot be' src/engine/audit.c \
    's/    if (!gaps_are_sane(s))/    if (false)/' \
    tests/fault/test_corrupt 'impossible_gaps*'
mutant 'a replica takes no change behind a jump' src/replica/replica.c \
    's/return n->before != 0 ? n->before : n->version - 1;/return n->version - 1;/' \
    tests/model/test_replica_random 'without_loss*'
mutant 'a room forgets since when its log has all' src/change/log.c \
    '/counts\[log->since\] = (int64_t)old.order;/d' \
    tests/model/test_replica_random 'replicas_follow*'
mutant 'two that take a scope over go on at one place' src/change/work.c \
    's/USHER__JUMP + place;/USHER__JUMP;/' \
    tests/fault/test_rollback 'engines_that_take_over_at_once_use_different_tokens'
mutant 'a room has what it lost' src/change/log.c \
    's/if (w->scope.n_gaps > 0 \&\& usher__scope_version_lost(w, since))/if (false)/' \
    tests/fault/test_rollback 'an_older_copy*'
mutant 'if-version of what was lost is stale' src/change/work.c \
    's/n_gaps > 0 \&\& usher__scope_version_lost(w, (uint64_t)version))/n_gaps > USHER_GAPS)/' \
    tests/fault/test_rollback 'an_older_copy*'
mutant 'a heartbeat tells of what waits and was lost' src/engine/watch.c \
    's/>= USHER__JUMP/> UINT64_MAX - 1/' \
    tests/fault/test_rollback 'a_heartbeat_leaves_out_coalesced_notices_that_are_lost'
mutant 'on Redis what is lost is called stale' backends/redis/lua/common.lua \
    's/if v > last and v <= first then/if false then/' \
    tests/fault/test_rollback 'an_older_dump*'
mutant 'numbers that a lost store gave out are a hole' src/nouns/serial/serial_holds.c \
    's/if (queued(w) || last <= s->cur)/if (queued(w) || last >= s->cur)/' \
    tests/conformance/on_memory 'serials_of_a_lost_store_are_in_doubt'
mutant 'any token settles a number that is lost' src/nouns/serial/serial_holds.c \
    's/if (!of_lost && a->token != all.token)/if (!of_lost \&\& a->token > w->scope.version)/' \
    tests/conformance/on_memory 'serials_of_a_lost_store_are_in_doubt'
mutant 'on Redis numbers that a lost server gave out are a hole' backends/redis/lua/serial_rule.lua \
    's/if S.less(s.cur, cur) and not S.queued() then/if S.less(cur, s.cur) then/' \
    tests/conformance/on_redis 'serials_of_a_lost_store_are_in_doubt'
mutant 'on Redis nobody settles what he has lost' backends/redis/lua/serial_holds.lua \
    's/elseif not of_lost or S.all_gaps/elseif of_lost or S.all_gaps/' \
    tests/fault/test_rollback 'a_failover_of_a_server_leaves_no_gap_in_serials'
gapfree=tests/model/test_gapfree
mutant 'serial: a number 1 of any day is that of today' src/nouns/serial/serial_holds.c \
    's/usher__serial_dated(&f, serial, r->n\[N_STAMP\]);/r->n[N_STAMP] >= 0;/' $gapfree
mutant 'script: a number 1 of any day is that of today' backends/redis/lua/serial_holds.lua \
    's/ and S.dated(f, serial, r.N_STAMP)$//' $gapfree
mutant 'serial: how a number 1 ended is forgotten with the next number 1' src/nouns/serial/serial_holds.c \
    's/period % places \* section) % places/period % places * section * 0) % places/' $gapfree
mutant 'serial: what was printed before is named by its own token only' src/nouns/serial/serial_holds.c \
    's/    status = queued(w) ? USHER_MISSING : by_older_format(w, serial, &r);/    status = queued(w) ? by_older_format(w, serial, \&r) : USHER_MISSING;/' $gapfree
mutant 'script: what was printed before is named by its own token only' backends/redis/lua/serial_holds.lua \
    's/        local r = not S.queued() and S.by_older_format(serial)$/        local r = nil/' $gapfree
mutant 'serial: what is over is listed as held' src/nouns/serial/serial_lists.c \
    's/    if (i == 0 \&\& over)/    if (i > 9 \&\& over)/' $gapfree
mutant 'serial: a clock ends a number in doubt' src/core/serial.def \
    's/^T(DOUBT,     EXPIRE,  ANY,     DOUBT, /T(DOUBT,     EXPIRE,  ANY,     RETURNED, /' \
    $memory 'a_number_held_before*'
mutant 'serial: an owner gets its number in doubt again' src/nouns/serial/serial_holds.c \
    's/line > 0 ? (uint64_t)line - 1 : 0, false, r);/(uint64_t)(line \& 0), false, r);/' \
    $memory 'a_number_held_before*'
mutant 'script: an owner gets its number in doubt again' backends/redis/lua/serial_holds.lua \
    "s/owner, 0, line > 0 and line - 1 or nil)/owner, 0, nil)/" $redis 'a_number_held_before*'
mutant 'serial: what was returned before a loss goes out again' src/nouns/serial/serial_holds.c \
    's/        if (status != USHER_OK || state_of(&w->scope, r) == USHER_SERIAL_STATE_RETURNED)/        if (status != USHER_OK || r->state == USHER_SERIAL_STATE_RETURNED)/' \
    $memory 'a_number_held_before*'
mutant 'script: what was returned before a loss goes out again' backends/redis/lua/serial_holds.lua \
    's/            if not r or S.state_of(r) == RETURNED then return r end/            if true then return r end/' \
    $redis 'a_number_held_before*'
mutant 'serial: a number that has ended is known by any date' src/nouns/serial/serial_hooks.c \
    '/    case USHER_SERIAL_STATE_LOST:/{n;n;s/    default:/    default: if (row->state > 2 \&\& row->state < 5) return true;/}' \
    $memory 'a_number_that_has_ended*'
mutant 'serial: a lost number was printed when it was settled' src/nouns/serial/serial_holds.c \
    's/^    one.n\[N_STAMP\] = printed;/    one.n[N_STAMP] = w->now;/' $memory 'settled_lost*'
mutant 'serial: a token alone says that a lost number is settled' src/nouns/serial/serial_holds.c \
    's/^        return usher__serial_tells(&one, &a->serial) \&\&$/        return true \&\&/' $memory 'settled_lost*'
mutant 'script: a lost number was printed when it was settled' backends/redis/lua/serial_holds.lua \
    's/ = v, k\[1\], k\[2\], period, printed, token, data/ = v, k[1], k[2], period, S.now, token, data/' \
    $redis 'settled_lost*'
mutant 'script: a lost number was printed in this year' backends/redis/lua/serial_holds.lua \
    's/        for years = 0, any_year and 8 or 0 do/        for years = 0, 0 do/' $redis 'settled_lost*'
mutant 'serial: what was printed before a loss is forgotten' src/nouns/serial/serial_holds.c \
    's/    else if (!usher__serial_printed_by(&format, /    else if (true || !usher__serial_printed_by(\&format, /' $memory 'settled_lost*'
mutant 'serial: a page of holds looks at any number of them' src/nouns/serial/serial_lists.c \
    's/        if (looked == USHER_PAGE_MAX || (shown/        if ((shown/' $memory 'holds_are_listed_in_pages*'
mutant 'script: a page of holds looks at any number of them' backends/redis/lua/serial_holds.lua \
    's/                if looked == K.PAGE_MAX or shown and n == max then/                if shown and n == max then/' \
    $redis 'holds_are_listed_in_pages*'
mutant 'serial: the next page of holds skips one' src/nouns/serial/serial_lists.c \
    's/^        at = i == 0 ? 0 : i == 1/        order += n->n_rows == max; &/' \
    $memory 'holds_are_listed_in_pages*'
mutant 'script: a page of holds begins its list again' backends/redis/lua/serial_holds.lua \
    's/            list, hi, order = tonumber(i) + 1, tonumber(from), tonumber(by)/            list = tonumber(i) + 1/' \
    $redis 'pages_of_holds*'
mutant 'serial: a page of holds by owner goes on in any list' src/nouns/serial/serial_lists.c \
    's/    unsigned n_lists = owner != NULL || doubt ? 1 : HOLD_LISTS;/    unsigned n_lists = HOLD_LISTS;/' \
    $memory 'holds_are_listed_in_pages*'
mutant 'serial: a row names another serial' src/nouns/serial/serial_hooks.c \
    's/        !usher__serial_time(&f, serial, row->at_ms, &row->at_ms))/        false)/' \
    $memory 'a_serial_is_shown*'
mutant 'serial: a number of a past period goes out' src/nouns/serial/serial_holds.c \
    's/    uint64_t hi = s->period > 0 ? .*/    uint64_t hi = 0;/' $memory 'a_number_of_a_past*'
mutant 'serial: one hold has two ends' src/nouns/serial/serial_holds.c \
    's/        if (status == USHER_OK \&\& !usher__text_equal(&old.id, &name))/        if (status == USHER_NOMEM)/' \
    $memory 'a_number_of_a_past*'
mutant 'journal: a renewal ends a hold' backends/sqlite/authority.c \
    's/ || b->verb == USHER_SERIAL_RENEW$//' tests/fault/test_duplicate_issue 'a_journal_distinguishes*'
mutant 'serial: a lease that is given makes a hold shorter' src/nouns/serial/serial_holds.c \
    's/if (until_ms == 0 || until_ms > r.until_ms)/if (true)/' $memory 'an_owner_that_reserves*'
mutant 'redis: a lease that is given makes a hold shorter' backends/redis/lua/serial_holds.lua \
    's/ and (ends == 0 or ends > r.ends) then/ then/' $redis 'an_owner_that_reserves*'
mutant 'serial: a hold that never ends is journaled as ended' src/nouns/serial/serial_authority.c \
    's/rows\[k\].until_ms == 0 ? USHER_NEVER/rows[k].until_ms == 0 ? 0/' \
    tests/fault/test_duplicate_issue 'holds_without_a_lease*'
mutant 'journal: a second confirm is no error' backends/sqlite/authority.c \
    's/        return before == USHER_SERIAL_CONFIRM;/        return false;/' \
    tests/fault/test_duplicate_issue 'a_journal_distinguishes*'
mutant 'journal: the next epoch may end what is confirmed' backends/sqlite/authority.c \
    's/    return a - b + .*/    return a == b;/' tests/fault/test_duplicate_issue 'a_journal*'
mutant 'journal: another master may end what is confirmed' backends/sqlite/authority.c \
    's/    return before == USHER_SERIAL_CONFIRM \&\& version < event->version;/    return false;/' \
    tests/fault/test_duplicate_issue 'a_journal_distinguishes*'
mutant 'serial: numbers go out in the order in which they came back' src/nouns/serial/serial_holds.c \
    's/        r->rank = (uint64_t)rank_of(w, r->n\[N_PERIOD\], .*/        r->rank = 0;/' $gapfree
mutant 'on Redis versions go on behind a loss' backends/redis/lua/dispatch.lua \
    's/^    version = first$/    first = version/' \
    tests/fault/test_rollback 'two_masters_never_accept_tokens_of_each_other'
mutant 'on Redis gaps are not kept' backends/redis/lua/dispatch.lua \
    "s/set\[n + 1\], set\[n + 2\] = 'gaps', gaps/set[n + 1], set[n + 2] = 'gaps', ''/" \
    tests/fault/test_rollback 'two_masters_never_accept_tokens_of_each_other'
mutant 'on Redis nobody asks for whoever types' backends/redis/lua/dispatch.lua \
    's/^    own = id$/    own = own < 0 and writer or id/' \
    tests/fault/test_rollback 'a_direct_script_call_notices_a_rollback'
mutant 'on Redis who has the last version before a jump has lost it' backends/redis/lua/common.lua \
    's/if v > last and v <= first then/if v >= last and v <= first then/' \
    tests/crash/test_rollback_oracle 'slots_move*'
mutant 'on Redis a jump is within what the other one may reach' backends/redis/lua/dispatch.lua \
    's/^    last, first = version, math.max(version, today) + 1048576 + place/    last, first = version, version + 1/' \
    tests/crash/test_rollback_oracle 'a_master_is_cut_off'
mutant 'script: a heartbeat on the fast path leaves the deadline' backends/redis/lua/room_fast.lua \
    "s/spack('>I7c7c7I7', at, order, token, till)/spack('>I7c7c7I7', at, order, token, ends)/" \
    tests/model/test_room_differential
mutant 'script: a full log keeps the members of its list' backends/redis/lua/common.lua \
    "s/            S.leave(S.ready, '', '', '', old\[k\])//" \
    tests/model/test_room_differential
mutant 'script: a page of a snapshot takes as long as it likes' backends/redis/lua/room_queries.lua \
    's/bytes + K.ROW_WORK + #r.data/bytes + #r.data/' \
    $redis 'a_page_of*'
mutant 'script: a page of a list takes as long as it likes' backends/redis/lua/number_reads.lua \
    's/looked == K.PAGE_MAX/looked == K.LIST_MAX/' \
    $redis 'a_page_of*'
mutant 'script: with a full memory a holder is refused' backends/redis/lua/common.lua \
    "s/if S.verb and frees(S.verb) then/if false then/" \
    tests/unit/test_redis_script 'holders_continue*'
mutant 'script: with a full memory a caller refuses the holders beside it' backends/redis/lua/dispatch.lua \
    's/            elseif full then/            elseif false then/' \
    tests/unit/test_redis_script 'a_full_memory*'
mutant 'on Redis a store that was emptied begins at 1' backends/redis/lua/dispatch.lua \
    's/^local jumps = not header and skew.*/local jumps = false/' \
    tests/crash/test_rollback_oracle 'a_wiped*'
mutant 'on Redis the first notice behind a loss tells no gap' backends/redis/lua/common.lua \
    's/^function S.told(v) return .*/function S.told(v) return v end/' \
    tests/fault/test_rollback_concurrent 'watchers*'
mutant 'Redis: who comes back is taken for the server of before' backends/redis/handshake.c \
    's/^        r->server = server_of/        r->server = r->server != 0 ? r->server : server_of/' \
    tests/fault/test_rollback_concurrent 'callers*'
mutant 'script: a scope that is being mended is served' backends/redis/lua/dispatch.lua \
    's/#header ~= K.HEAD_SIZE then/#header < K.HEAD_SIZE then/' \
    tests/fault/test_rollback_concurrent 'a_failover_during_a_repair_leaves_the_scope_unserved'
mutant 'presence is told by who stood before it in the batch' src/engine/watch.c \
    's/(\*at)->all.epoch != reply->epoch || reply->version < (\*at)->all.token/false/' \
    $memory 'earlier_command*'
mutant 'Redis: numbers of a scope are not audited by id' backends/redis/scan.c 's/(!there || !same ||/(!there ||/; s/ids->at != ids->records->n))/false))/' \
    tests/fault/test_redis_faults 'a_damaged_index*'

mutant 'Redis: who is far away has a wrong clock' backends/redis/clock.c 's/behind = sent_us - server_us/behind = received_us - server_us/' \
    tests/fault/test_redis_roles 'a_slow_connection*'
mutant 'Redis: a clock is told of with each connection' backends/redis/handshake.c 's/    return other ? ask_settings/    return other || (asked == USHER__REDIS_ASKS_ROLE \&\& r->tells) ? ask_settings/' \
    tests/fault/test_redis_roles 'a_clock_that_is_ahead*'

# ---- Redis: the scripts ----
mutant 'script: rooms of an agent as many as its record says' backends/redis/lua/queue_change.lua 's/    if d\[1\] > #d or r.A_CAPACITY > #d then S.damaged() end//' \
    tests/fault/test_corrupt 'an_impossible_number*'
mutant 'script: a record stays in the list of due ones' backends/redis/lua/common.lua "s/        if was then S.leave(S.held, kind .. '1', /        if false then S.leave(S.held, kind .. '1', /" \
    $redis 'a_hold_that_is_not*'
mutant 'script: a record does not join the list of its group' backends/redis/lua/common.lua "s/^        za\[n - 1\], za\[n\] = '0', by/        za[n - 1], za[n] = '0', 'x' .. by/" \
    $redis 'groups*'
mutant 'script: a token is used twice' backends/redis/lua/number_calls.lua 's/    r.token, r.order = v, v/    r.token, r.order = v - v % 2, v/' \
    $redis 'tokens_only_grow'
mutant 'number: who is somebody else takes it back' src/nouns/number/number_holds.c 's/guard = busy(r->state) && .* ? USHER__NUMBER_IF_HOLDER/guard = busy(r->state) ? USHER__NUMBER_IF_HOLDER/' \
    tests/fault/test_rollback 'an_older_copy*'
mutant 'script: who is somebody else takes it back' backends/redis/lua/number_holds.lua 's/ and r.owner == a\[K.ARG_OWNER\] and K.NUMBER_IF_HOLDER/ and K.NUMBER_IF_HOLDER/' \
    tests/fault/test_rollback 'two_masters_never_accept_tokens_of_each_other'
mutant 'script: who has taken it back may not ask again' backends/redis/lua/number_holds.lua 's/if what ~= K.SAME then return S.say_lost/if true then return S.say_lost/' \
    tests/fault/test_rollback_concurrent 'a_repeat*'
mutant 'script: what somebody else has is taken back all the same' backends/redis/lua/number_holds.lua '/NUMBER_E_RETAKE/,/say_lost/s/if what == K.OK then/if true then/' \
    tests/fault/test_rollback_concurrent 'one_of_two_owners_takes_a_lost_number_back'
mutant 'number: a number that is not registered is not taken back' src/core/number.def 's/^T(IDLE_DOWN, RETAKE, ANY,     BUSY_DOWN, OK, /T(IDLE_DOWN, RETAKE, ANY,     IDLE_DOWN, LOST, /' \
    tests/fault/test_rollback 'a_call_keeps*'
mutant 'number: what is taken back is not in the list of its node' src/nouns/number/number_calls.c 's/status == USHER_OK && a->node.data != NULL)/status == USHER_OK \&\& a->node.data != NULL \&\& w->command->verb == USHER_NUMBER_CALL)/' \
    tests/model/test_lost_exhaustive
mutant 'number: a hold that is there gets the node of who renews it' src/nouns/number/number_holds.c 's/^        status = extend(w, &m);$/        status = extend(w, \&m), r->data = a->node.size != 0 ? a->node : r->data;/' \
    $memory 'a_number_that_is_taken*'
mutant 'number: all of the node that one is renewed for' src/nouns/number/number_reads.c 's/number.number.data != NULL ? usher__number_renew(w)/number.node.data == NULL ? usher__number_renew(w)/' \
    $memory 'a_number_that_is_taken*'
mutant 'script: what is taken back is of no node' backends/redis/lua/number_calls.lua 's/^    if a\[K.ARG_NODE\] then$/    if a[K.ARG_NODE] and S.verb == K.V_CALL then/' \
    $redis 'a_number_that_is_taken*'
mutant 'number: a number that is moved takes another place' src/nouns/number/number_holds.c 's/^    r->group = group;$/    r->group = group; r->order = w->scope.version;/' \
    tests/model/test_exhaustive every_state_in_memory
mutant 'script: a setting that a library does not know is gone with the next one' backends/redis/lua/number_holds.lua 's/^        for i = 1, #S.set do set\[i\] = S.set\[i\] end$/        for i = 1, #S.set do set[i] = i ~= K.SETTINGS and S.set[i] or 0 end/' \
    tests/fault/test_two_versions
mutant 'posted: who waits for replicas holds up the others' src/engine/post.c 's/if (p->replicas != 0 \&\& waits_for_replicas/if (p->replicas == 1000 \&\& waits_for_replicas/' \
    tests/fault/test_redis_wait 'posted*'
mutant 'Redis: the scopes of a node that has answered wait for the others' backends/redis/batch.c 's/    else if (some && b->claimed)/    else if (false \&\& some)/' \
    tests/cluster/test_cluster_cases 'an_answered_scope_is_released_before_other_nodes_answer'
mutant 'what is due while its scope is swept is not swept again' src/engine/hear_sweep.c 's/    if (h->sweeps || (h->follows/    if ((h->follows/' \
    tests/cluster/test_cluster_rooms 'a_room*'
mutant 'authority: a rule that is made again has no log' src/nouns/serial/serial_authority.c 's/        !usher_unpack_int(&u, &s->log) || !usher_unpack_int/        !usher_unpack_int(\&u, \&s->log) || (s->log = 0) != 0 || !usher_unpack_int/' \
    tests/fault/test_rollback 'followers_receive_a_rollback_and_what_is_granted_again'
mutant 'script: those of another day hide behind the capped' backends/redis/lua/number.lua 's/(r.N_DAY + 9)/(r.N_DAY + 99)/' \
    $redis 'a_number_of_another_day_is_found_after_1000_capped'
mutant 'script: any keys are taken by hand' backends/redis/lua/direct.lua 's/if KEYS\[i\] ~= keys\[i\] then/if false then/' \
    tests/cluster/test_by_hand 'keys_that*'
mutant 'script: direct calls with one request id are not compared' backends/redis/lua/common.lua 's/a\[2\] >= K.DIRECT == (S.print >= K.DIRECT)/a[2] < K.DIRECT and S.print < K.DIRECT/' \
    tests/cluster/test_by_hand 'a_request_id_belongs*'
mutant 'script: a direct call is compared with one of the library' backends/redis/lua/common.lua 's/a\[2\] >= K.DIRECT == (S.print >= K.DIRECT) and //' \
    tests/cluster/test_by_hand 'a_request_id_of*'
mutant 'script: a check digit is over all letters' backends/redis/lua/serial.lua 's/return digit < radix and digit or nil/return digit/' \
    tests/cluster/test_by_hand 'serials*'
mutant 'script: the last of many serials is that of the first row' backends/redis/lua/serial.lua 's/printed(rows\[#rows\], rows\[#rows\]\[2\] - 1)/printed(rows[1], rows[1][2] - 1)/' \
    tests/cluster/test_by_hand 'single_serials*'
mutant 'script: bytes that are no UTF-8 are answered as they are' backends/redis/lua/direct.lua "s/if not is_utf8(value) then/if false then/" \
    tests/cluster/test_by_hand 'rows_of*'
mutant 'script: what was between two bytes does not part them' backends/redis/lua/direct.lua "s/191\]', ' ')/191]', '')/" \
    tests/cluster/test_by_hand 'rows_of*'
mutant 'script: the fields of an answer are named from the second one on' src/encode/export.c 's/"OUTS", noun->n_outs/"OUTS", noun->n_outs + 1/' \
    tests/cluster/test_by_hand 'rows_of*'
mutant 'script: the entry of a room belongs to another partition' backends/redis/lua/room.lua 's/hash \* 403) % 4294967296/hash * 401) % 4294967296/' \
    tests/cluster/test_by_hand 'a_room_is*'
mutant 'script: a damaged record ends the script between two writes' backends/redis/lua/dispatch.lua 's/local good, text = pcall(function()/local good, text = true, (function()/;s/^                end)$/                end)()/' \
    tests/cluster/test_by_hand 'a_damaged*'
mutant 'direct: of more than forty values the last are not read' backends/redis/lua/direct.lua 's/unpack(typed, 1, K.ARG_END - 1)/unpack(typed, 1, 40)/' \
    tests/cluster/test_by_hand 'each_noun*'
mutant 'direct: the second field of a member is dropped' backends/redis/lua/direct.lua 's/fields\[#fields + 1\], fields\[#fields + 2\], known = key, value, nil/fields[1], fields[2], known = key, value, nil/' \
    tests/model/test_direct
mutant 'direct: a field may be given twice' backends/redis/lua/room_direct_fault.lua "s/if fields\\[i\\] == a\\[K.ARG_FIELD\\] then/if false then/" \
    tests/model/test_direct
mutant 'direct: a large number may be below the least' backends/redis/lua/direct.lua 's/ or #value < #min or #value == #min and value < min then/ then/' \
    tests/cluster/test_by_hand 'each_noun*'
mutant 'direct: the last of two values counts' backends/redis/lua/direct.lua "s/if a\\[K.ARG + i\\] then return word .. ' is given twice' end//" \
    tests/cluster/test_by_hand 'wrong_calls*'
mutant 'direct: what begins as a call of the library ends in an error' backends/redis/lua/dispatch.lua 's/{select(2, pcall(munpack, packed))}/{munpack(packed)}/' \
    tests/model/test_direct
mutant 'direct: a group may have any name' backends/redis/lua/direct.lua 's/^                if wrong then return wrong end//' \
    tests/model/test_direct
mutant 'direct: a token may be missing' backends/redis/lua/direct.lua "s/and (placed == '0' or a\\[K.ARG\\]) then/and false then/" \
    tests/model/test_direct
mutant 'direct: a request id belongs to what the library adds' backends/redis/lua/direct.lua "s/not string.find(K.OWN_ARGS, ' ' .. i .. ' ', 1, true) and//" \
    tests/model/test_direct
mutant 'direct: a name may have control characters' backends/redis/lua/direct.lua "s/and not string.find(value, '.194\\[.128-.159\\]')//" \
    tests/model/test_direct
mutant 'direct: calls may be of an owner and a node' backends/redis/lua/number_direct_fault.lua 's/if owner and node then/if false then/' \
    tests/cluster/test_by_hand 'each_noun*'
mutant 'JSON of a script: numbers of any size' backends/redis/lua/direct_json.lua 's/^    if #digits > 16 or .*//' \
    tests/cluster/test_by_hand 'json_is*'
mutant 'JSON of a script: 2^53 is a text' backends/redis/lua/direct_json.lua "s/digits > '9007199254740992'/digits >= '9007199254740992'/" \
    tests/cluster/test_by_hand 'json_is*'
mutant 'JSON of a script: base64 without its end' backends/redis/lua/direct_json.lua 's/k > #some and/k > #some + 1 and/' \
    tests/cluster/test_by_hand 'json_is*'
mutant 'JSON of a script: ends of lines as they are' backends/redis/lua/direct_json.lua "s/^    text = string.gsub(text, '.194.133', .*//" \
    tests/cluster/test_by_hand 'json_is*'
mutant 'JSON of a script: a field of all members counts' backends/redis/lua/direct_json.lua 's/ and at > version then/ then/' \
    tests/cluster/test_by_hand 'json_is*'
mutant 'JSON of a script: a key is there for every status' backends/redis/lua/direct_json.lua 's/ and has(tonumber(on) or 0, answer\[1\]) then/ then/' \
    tests/model/test_direct
mutant 'JSON of a script: below 0 is a duration' src/encode/json_tables.c "s/? 'N' : 'A'/? 'A' : 'A'/" \
    tests/cluster/test_by_hand 'json_is*'
mutant 'JSON of a script: an agent is a user' backends/redis/lua/queue_json.lua "s/n\\[5\\] ~= 0 and n\\[8\\] == ''/false/" \
    tests/cluster/test_by_hand 'json_is*'
mutant 'JSON of a script: a late logout is of a user' backends/redis/lua/queue_json.lua 's/v == K.V_LOGOUT or//' \
    tests/cluster/test_by_hand 'json_is*'
mutant 'JSON of a script: a wrong call is answered as a list' backends/redis/lua/direct.lua "s/ do json = json or ARGV\\[i\\] == 'json'/ do json = json or false/" \
    tests/cluster/test_by_hand 'wrong_calls*'
mutant 'script: one key is taken on a cluster' backends/redis/lua/dispatch.lua 's/^if one_key then/if false then/' \
    tests/cluster/test_by_hand 'a_scope_is_not_created*'
mutant 'script: a right is asked without its arguments' backends/redis/lua/rights.lua "s/{'HGET', HASH, 'head'}/{'HGET', HASH}/" \
    tests/unit/test_redis_script 'rights_are_checked_with*'
mutant 'script: a right that cannot be asked is missing' backends/redis/lua/rights.lua 's/if good and not may then/if not (good and may) then/' \
    tests/unit/test_redis_script 'failed_check*'
mutant 'script: a user without INFO is on a cluster' backends/redis/lua/dispatch.lua "s/redis.pcall('CLUSTER', 'INFO')/nil/" \
    tests/cluster/test_by_hand 'a_cluster_is*'
mutant 'script: what is no verb is the first one' backends/redis/lua/direct.lua "s/(word or '%?')/(word or '?')/" \
    tests/cluster/test_by_hand 'keys_that*'
mutant 'script: the short way forgets a count' backends/redis/lua/number_fast_flush.lua 's/count\[K.NUMBER_BUSY_UP + 1\] + given - back/count[K.NUMBER_BUSY_UP + 1]/' \
    $redis 'a_call_gives*'
mutant 'script: the short way forgets the deadline' backends/redis/lua/number_fast.lua 's/then due, due_bytes = ends, ends_bytes end/then due_bytes = ends_bytes end/' \
    $same
mutant 'script: the short way asks for an owner before it has written' backends/redis/lua/number_fast.lua 's/if not called\[owner\] and not call/if not call/' \
    $redis 'commands_of_a_batch*'
mutant 'script: the short way does not know what it did to a number' backends/redis/lua/number_fast.lua 's/local record = cache\[field\]$/local record/' \
    $redis 'commands_of_a_batch*'
mutant 'script: the short way ends calls of others' backends/redis/lua/number_fast.lua 's/ \.\. token \.\. token/ .. sub(record, 20, 33)/' \
    $redis 'commands_of_a_batch*'
mutant 'script: others look before the short way has written' backends/redis/lua/dispatch.lua 's/^        --@fast_flush$//' \
    $same
mutant 'Redis: a token loses its first byte' backends/redis/number_fast.c 's/a->token >> 56 == 0/true/' \
    $redis 'commands_of_a_batch*'
mutant 'script: a walk trusts a record that stands elsewhere' backends/redis/lua/common.lua 's/ then S.damaged() end$/ then end/' \
    tests/fault/test_redis_faults 'a_record_with*'
mutant 'script: the word before a record is that of another state' backends/redis/lua/common.lua 's/r.state \* 10 - 99/r.state * 10 - 89/' \
    tests/cli/a_person_sees_states_with_redis_cli.sh
mutant 'script: one kept answer too few' backends/redis/lua/common.lua 's/if n <= limit and/if n < limit and/' \
    $redis 'results_are*'
mutant 'script: time goes back' backends/redis/lua/dispatch.lua 's/if now < clock then now = clock end/if now < 0 then now = clock end/' \
    $redis 'time_does*'
mutant 'script: a repeat is not known' backends/redis/lua/common.lua "s/if not r or r.ends <= S.moment then return nil end/if r then return nil end/" \
    $redis 'a_repeat_gets*'
mutant 'script: an invalid answer forgets what ended before it' backends/redis/lua/dispatch.lua 's/^        elseif S.notices then/        elseif false then/' \
    $redis 'an_expiry_before_an_invalid_command_is_notified'
mutant 'script: what ended is told under the epoch of what follows it' backends/redis/lua/dispatch.lua 's/if S.epoch_first and S.epoch_first ~= shown then/if false then/' \
    $redis 'notice_has*'
mutant 'script: the end of a room has the epoch of none' backends/redis/lua/dispatch.lua 's/S.epoch_first ~= shown then/S.epoch_first ~= epoch then/' \
    $redis 'the_end_of_a_room*'
mutant 'script: an unknown format is used' backends/redis/lua/dispatch.lua 's/if format ~= K.FORMAT or #header ~= K.HEAD_SIZE then/if #header ~= K.HEAD_SIZE then/' \
    tests/fault/test_redis_faults 'an_unknown_format*'
mutant 'script: a failed command spoils the call' backends/redis/lua/dispatch.lua 's/        local good, why = pcall(S.run)/        local good, why = true; S.run()/' \
    tests/fault/test_redis_faults 'a_damaged_record*'
mutant 'script: a pool is made upon the lists of a lost one' backends/redis/lua/keys.lua "s/(head and 2 or 0)/(head and 2 or call('EXISTS', INDEX, HELD))/" \
    tests/fault/test_missing_keys 'no_verb*'
mutant 'script: a mark of who mends is any format' backends/redis/lua/dispatch.lua 's/if format == K.FORMAT and #head == K.HEAD_SIZE + 16 then/if false then/' \
    tests/fault/test_missing_keys 'a_repair_is_repeated_after_its_process_was_killed'
mutant 'Redis: what no record stands for stays when lists are mended' backends/redis/repair.c 's/out\[n_out++\] = there\[k\];/(void)0;/' \
    tests/fault/test_missing_keys 'wrong_lists*'
mutant 'check: counts are not mended' src/engine/audit.c 's/^            scope->counts\[i\] = a->tally.counts\[i\];/            (void)scope;/' \
    tests/fault/test_missing_keys 'wrong_lists*'

# ---- the door ----
mutant 'open: what came with a URL that is wrong is kept' src/engine/engine.c 's/^        usher_history_close(history);/        (void)history;/' \
    tests/fault/test_hostile_host '*an_open_that_fails*'
mutant 'program: who only looks makes a store' src/cli/run.c 's/(verb->flags \& (USHER__WRITES | USHER__READS)) == USHER__WRITES ?/verb != NULL ?/' \
    tests/cli/wrong_words_make_no_store.sh
mutant 'completion: a name in bash creates the store' src/cli/complete.c 's/usher__cli_try(g->cli, CLI_LOOKS)/usher__cli_try(g->cli, CLI_WRITES)/' \
    tests/cli/bash_completes_words.sh
mutant 'completion: each argument has the names of the first' src/cli/complete.c 's/ \&\& at++ == place \&\&/ \&\& at++ == 0 \&\&/' \
    tests/cli/bash_completes_words.sh
mutant 'completion: a name with a dollar is offered as it is' src/cli/complete.c 's/\\\\$`;&|/`;\&|/' \
    tests/cli/bash_completes_words.sh
mutant 'replay: a row that is left out leaves its line behind' src/lab/csv.c 's/^    if (!csv_time(&fields\[columns->start\], &start))/    (void)usher__calls_index(\&c->lines, line->data, line->size);\n&/' \
    tests/cli/recorded_calls_are_replayed.sh
mutant 'replay: measured patience forgets the wait in the record' src/lab/patience.c 's/left \* survival_left(s, wait_ms)/left/' \
    tests/unit/test_lab 'patience_is_longer*'
mutant 'replay: a caller without a line asks for an agent' src/lab/replay_plan.c 's/ && !has_no_line(r, i))/)/' \
    tests/cli/a_replay_says_how_many_agents.sh
mutant 'replay: its own speed is that of the store' src/lab/replay_queue.c 's/^    if (pace->speed == 0)/    if (pace->speed >= 0)/' \
    tests/cli/a_replay_says_how_many_agents.sh
mutant 'report: a name is markup' src/lab/page.c 's/fputs("&lt;", out);/fputs("<", out);/' \
    tests/cli/a_replay_says_how_many_agents.sh
mutant 'series: at one moment the next begins first' src/lab/series.c 's/return x->by < y->by ? -1 : x->by > y->by;/return x->by > y->by ? -1 : x->by < y->by;/' \
    tests/cli/a_replay_says_how_many_agents.sh
mutant 'Erlang A: callers in front do not hang up' src/lab/erlang.c 's/^            w \*= (c + j \* theta) \/ next;/            w *= c \/ next;/' \
    tests/unit/test_lab 'erlang_a_agrees*'
mutant 'header: its functions are C++ to a C++ compiler' include/usher/queue.h 's/^#ifdef __cplusplus/#ifdef NO_SUCH_COMPILER/' \
    tests/check-cxx.sh

# ---- posted commands ----
posts=tests/unit/test_post
mutant 'post: the descriptor stays readable' src/engine/post_descriptors.c 's/^        usher__descriptor_lower(p->fd\[d\]);/        (void)usher__descriptor_lower;/' \
    $posts 'the_descriptor*'
mutant 'post: who has little time takes it from all' src/engine/post.c 's/ \&\& most \/ 2 > least)/ \&\& most < 0)/' \
    $posts 'a_long_deadline_is_not_cut_by_a_short_one'
mutant 'post: a worker keeps nobody else from executing' src/engine/post.c 's/ \&\& p->workers == 0 ? work_of(p)/ ? work_of(p)/' \
    $posts 'worker_executes*'

# ---- notices that are collected ----
hears=tests/unit/test_hear
mutant 'hear: what another engine holds is not tended' src/engine/hear.c \
    '/h->tends && r->status < USHER_INVALID/,/}/s/tend(h, r->due_ms, 0);/(void)tend;/' $hears 'hold_of*'
mutant 'hear: the log is read for what is told together' src/engine/hear.c '/version = one.version;/d' \
    $hears 'joins_without_a_hole*'
mutant 'hear: what there is no room for is not missed' src/engine/hear.c 's/^        miss(h, n);$/        return;/' \
    $hears 'notices_beyond_the_limit_become_one_gap'
mutant 'hear: a gap is told as often as there is room' src/engine/hear.c 's/p->n_notices <= p->limit \/ 2/p->n_notices < p->limit/' \
    $hears 'notices_beyond_the_limit_become_one_gap'
mutant 'hear: notices go on while a gap is to be told' src/engine/hear.c 's/(h->missed || !usher__heard_append(h, n))/!usher__heard_append(h, n)/' \
    $hears 'notices_beyond_the_limit_become_one_gap'
mutant 'hear: events of who does not watch any more are collected' src/engine/hear.c 's/^    ready_without(p, h);/    (void)ready_without;/' \
    $hears 'removed_watcher*'
mutant 'hear: a notice is told whatever it follows on' src/engine/hear.c 's/if (follows_on(&h->place, n) \&\& /if ((follows_on(\&h->place, n) || true) \&\& /' \
    $hears 'changes_of_other_engines_are_notified'
mutant 'hear: an answer that is older than a notice is used' src/engine/hear.c 's/then = h->ahead ? pass_over(h, r)/then = h->dead ? pass_over(h, r)/' \
    $hears 'a_change_of_a_pool_during_a_read_is_no_gap'
mutant 'hear: what came while the log was read is forgotten' src/engine/hear.c 's/    if (then == CURRENT \&\& h->newer \&\&/    if (then == LATER \&\& h->newer \&\&/' \
    $hears 'a_change_during_a_read_of_the_log_is_notified'
mutant 'hear: what is told together has no holes' src/engine/hear.c 's/^        if (one.before != version)/        if (one.before == 0)/' \
    $hears 'a_change_between_coalesced_joins_comes_in_order'
mutant 'hear: a log that does not reach back is no gap' src/engine/hear.c 's/        return skip(h, r->epoch, r->version, changes.mark) ? CURRENT : LATER;/        return read_rows(h, r);/' \
    $hears 'a_log_that*'
mutant 'hear: another room of the name goes on with the one before' src/core/changes.c 's/return epoch == from_epoch || /return true || /' \
    $hears 'changes_of_other_engines_are_notified'
mutant 'hear: another epoch is always another history' src/core/changes.c 's/return epoch == from_epoch || .*/return epoch == from_epoch \&\& (version > from || version <= from);/' \
    $memory 'each_noun_is_followed'
mutant 'hear: a store without memory for a notice keeps it to itself' src/engine/local.c 's/^        p->context->notify(p->context->payload, &any);/        (void)any;/' \
    $hears 'a_watcher_without_memory_gets_a_gap'
mutant 'hear: nothing is collected' src/engine/watch.c 's/^            usher__heard_notice(watch->heard, n);/            (void)n;/' \
    $hears 'a_notice_comes*'
mutant 'a log keeps one notice more than it should' src/change/log.c 's/k < ERASED_MAX \&\& n > limit; k++/k < ERASED_MAX \&\& n > limit + 1; k++/' \
    $memory 'a_log_has*'
mutant 'a log that is not wanted has a hole' src/change/log.c 's/if (limit == 0 \&\& n <= ERASED_MAX) {/if (limit == 0) {/' \
    $memory 'log_is_removed_in*'
mutant 'a log keeps the first of two notices that come at once, whatever is wanted' src/change/log.c 's/if (stored + (int64_t)i >= gone)/if (true)/' \
    $memory 'log_may*'
mutant 'script: a log keeps the first of two notices that come at once, whatever is wanted' backends/redis/lua/common.lua 's/if stored + k > gone then/if true then/' \
    tests/conformance/on_redis 'log_may*'
mutant 'drop: the log of a queue stays' src/nouns/queue/queue.c 's/"1323303132405063" "70809091"/"1323303132405063" "709091"/' \
    $memory 'log_is_removed_with*'
mutant 'a dispenser that is deleted takes its log with it' src/nouns/id/id.c '/counts\[COUNT_CHANGES\] = was/d' \
    tests/model/test_ids_differential 'all_stores*'
mutant 'script: a rule that is deleted takes its log with it' backends/redis/lua/serial_rule.lua '/set\[K.SET_LOG + 1\] = S.set\[K.SET_LOG + 1\]/d' \
    $redis 'a_recreated_scope_continues_its_log'
mutant 'a user that leaves has no room' src/nouns/queue/queue_change.c 's/r->owner.size != 0 \&\& qc->has_agent ? qc->agent.r.order : 0;/0;/' \
    tests/model/test_queue_differential 'all_stores*'
mutant 'the notice of a missed offer has no agent' src/nouns/queue/queue_change.c 's/^        qc->subject.r.owner = agent;/        ;/' \
    $memory 'each_change_of_a_queue*'
mutant 'the notice of a user has no outcome' src/nouns/queue/queue_change.c 's/^    qc->subject.outcome = outcome;/    ;/' \
    $memory 'each_change_of_a_queue*'
mutant 'the notice of a requeued user has no outcome' src/nouns/queue/queue_change.c 's/subject.outcome = USHER_QUEUE_OUTCOME_REQUEUED;/subject.outcome = USHER_QUEUE_OUTCOME_NONE;/' \
    $memory 'each_change_of_a_queue*'
mutant 'the notice of a user has the deadline of a heartbeat' src/nouns/queue/queue_change.c 's/: r->kind == KIND_USER ? usher__queue_user_until(r)/: r->kind == KIND_USER ? r->until_ms/' \
    $memory 'each_change_of_a_queue*'
mutant 'the notice of a logout of an absent agent is one of a user' src/nouns/queue/queue_hooks.c '/^    case USHER_QUEUE_LOGOUT:/d' \
    $memory 'each_change_of_a_queue*'
mutant 'the notice of a call that has ended has no node' src/nouns/number/number.c 's/^    m->node = r->data;/    m->node.size = 0;/' \
    $memory 'each_change_of_a_number*'
mutant 'lease-max is said to end each hold' src/nouns/number/number.c '/^        if (m->limited)$/d' \
    $memory 'each_change_of_a_number*'
mutant 'script: the notice of a missed offer has no agent' backends/redis/lua/queue_change.lua '/^    if was then subject\[5\], subject\[8\]/d' \
    $redis 'each_change_of_a_queue*'
mutant 'script: the notice of a user has the deadline of a heartbeat' backends/redis/lua/queue_change.lua '/^    subject\[6\] = ends$/d' \
    $redis 'each_change_of_a_queue*'
mutant 'script: the notice of a call that has ended has no node' backends/redis/lua/number.lua "s/r.data, r.carried = '', r.data/r.data = ''/" \
    $redis 'each_change_of_a_number*'
mutant 'nobody is told whose hold has ended' src/nouns/number/number.c '/^    m->c.owner = r->owner;/d' \
    $memory 'a_notice_of_an_end_names_the_owner'
mutant 'script: nobody is told whose hold has ended' backends/redis/lua/number.lua "s/r.owner, r.held = '', r.owner end/r.owner = '' end/" \
    $redis 'a_notice_of_an_end_names_the_owner'
mutant 'drop: a log stays' src/nouns/number/number_audit.c 's/"132330405062708090"/"1323304050628090"/' \
    $memory 'log_is_removed_with*'
mutant 'hear: what a scope without a log told is thought to be all' src/engine/hear.c 's/h->place.version == r->version \&\& r->status == USHER_REFUSED/r->status == USHER_REFUSED/' \
    $hears 'pool_without*'
mutant 'hear: what is due in a scope that is tended stays' src/engine/hear.c \
    's/^                h->sweeps = true;/                h->sweeps = false;/' \
    $hears 'a_swept_scope_changes_without_commands'
mutant 'hear: the clock is not looked at again' src/engine/hear_sweep.c \
    's/    if (left_ms > LOOK_MS)$/    if (left_ms == -1)/' $hears 'a_clock_that*'
mutant 'hear: a sweep is followed by one for what it has told of' src/engine/hear_sweep.c \
    's/h->told <= r->version)/h->told < r->version)/' \
    $hears 'many_scopes*'
mutant 'hear: a change does not say what is due' src/change/work.c \
    's/notice.due_ms = .*/notice.due_ms = USHER_NEVER;/' \
    $hears 'a_swept_scope_changes_without_commands'
mutant 'hear: of two that are due the later comes up' src/engine/timers.c \
    's/l->heap\[child + 1\].ms < l->heap\[child\].ms/l->heap[child + 1].ms > l->heap[child].ms/' \
    tests/unit/test_timers 'the_earliest_timer_is_first'
mutant 'hear: what goes leaves its place to one that belongs elsewhere' src/engine/timers.c \
    's/^        settle(l, last, due->at);/        put(l, last, due->at);/' \
    tests/unit/test_timers 'the_earliest_timer_is_first'
mutant 'hear: lists of watchers grow while these are called' src/engine/watch.c \
    's/ || (w->delivering \&\& n != 0)//' \
    $hears 'each_of_many*'
mutant 'hear: nobody looks at what others change' src/engine/hear.c 's/USHER_WATCH_ALL) != 0 \&\& (p->e/USHER_WATCH_ALL) == 8 \&\& (p->e/' \
    $hears 'changes_of_other_engines_are_notified'
mutant 'replica: a reply says nothing of members' src/replica/replica.c 's/^        case USHER_FIELD_MEMBER_STATE:/        case USHER_FIELD_LANE:/' \
    tests/model/test_hear_random '*on_memory'

# ---- authorities ----
mutant 'authority: any server is the one that a grant was put on' backends/redis/lua/wide.lua 's/    return id > 0 and id or error.*/    return 1/' \
    tests/fault/test_authority 'no_id*'
mutant 'authority: another server goes on with the segment' backends/redis/lua/id.lua 's/if S.count\[K.COUNT_STORE + 1\] ~= server or by ~= 1/if by ~= 1/' \
    tests/fault/test_authority 'no_id*'
mutant 'serial: another zone makes a day come twice' src/nouns/serial/serial_rule.c 's/(m->made || m->used) \&\& day_goes_back/false \&\& day_goes_back/' \
    $memory 'no_day_comes_twice*'
mutant 'serial: a coarser reset continues after the last period only' src/nouns/serial/serial.c 's/        if (unit != old \&\& pair(past_of(s, reset)) > highest)/        if (unit == 9)/' \
    $memory 'no_serial_comes_twice*'
mutant 'serial: a zone that moves to the next day does not begin it' src/nouns/serial/serial_rule.c 's/\(status = usher__serial_enter(w, s, set, m->given, \&highest)\);/\1, s->cur = s->taken = m->given > s->cur ? m->given : s->cur;/' \
    $memory 'a_zone_that_moves*'
mutant 'serial: a take gets fewer than it asked for' src/nouns/serial/serial.c 's/    if (stock + made < n \&\& !must_ask(w, \&s)) {/    if (n < 0) {/' \
    $memory 'a_take_gets_all*'
mutant 'serial: a grant takes all of a period' src/nouns/serial/serial_authority.c 's/    if (\*ret_n > most)/    if (n > most)/' \
    tests/fault/test_authority 'a_loss_leaves*'
mutant 'a grant is installed before an earlier one' src/nouns/serial/serial_authority.c \
    's/if (range.from > want.floor \&\& store->why/if (false \&\& store->why/' \
    tests/fault/test_authority 'no_number_is_lost_when*'
mutant 'serial: a number below start is parsed' src/nouns/serial/serial.c 's/usher__serial_add_row(w, \&s, low(w->scope.settings), 0, w->now)/usher__serial_add_row(w, \&s, 0, 0, w->now)/' \
    $memory 'no_number_below*'
mutant 'digest: the identity of the store is in it' src/nouns/serial/serial_audit.c 's/    .store_kind = KIND_RULE,/    .store_kind = 0,/' \
    tests/conformance/on_redis 'a_rule_with_a_grant*'
mutant 'serial: a new period takes over the number before' src/nouns/serial/serial.c 's/highest > before ? highest : before/s->cur > highest ? s->cur : before/' \
    tests/model/test_serial_settings
mutant 'serial: stock is lost when a rule is deleted' src/nouns/serial/serial_rule.c 's/made ? s.taken : 0, \&highest/made ? s.cur : 0, \&highest/' \
    $memory 'a_rule_made_again_gap_free*'
mutant 'script: a coarser reset continues after the last period only' backends/redis/lua/serial.lua 's/if unit ~= old and S.less(highest, past\[i\]) then/if unit == 9 then/' \
    tests/conformance/on_redis 'no_serial_comes_twice*'
mutant 'serial: another start makes numbers come again' src/nouns/serial/serial_rule.c 's/        set\[SET_RULE\] += MADE;/        set[SET_RULE] += 0;/' \
    $memory 'another_start*'
mutant 'authority: all who need more ask' src/engine/grant.c 's/(t->taken || (pauses \&\& now < t->try_ms))/(pauses \&\& now < t->try_ms)/' \
    $memory 'sixty_four*'
mutant 'authority: a grant on its way is a loss' src/engine/grant.c 's/        status = turn_begin(a, t, times, false);/        status = USHER_OK;/' \
    tests/fault/test_authority_rollback 'clients*memory*'
mutant 'authority: power loss takes back what was granted' backends/sqlite/aux_db.c 's/PRAGMA synchronous = FULL/PRAGMA synchronous = NORMAL/' \
    tests/fault/test_authority_disk 'power*'
mutant 'authority: a store is not compared with it' src/engine/grant.c 's/    status = asks->verify(a);/    status = USHER_OK;/' \
    tests/fault/test_authority 'an_audit_compares*'
mutant 'authority: what was given out before it is not told' src/nouns/serial/serial_authority.c \
    's/    return store->granted > cur ? store->granted : cur;/    return store->granted + 0 * cur;/' \
    tests/fault/test_authority 'an_authority_gets_numbers_that_were_issued_without_it'
mutant 'authority: ids skipped by hand are not told' src/nouns/id/id_authority.c \
    's/next < 0 ? s->limit : next > 0 ? next - 1 : 0/s->start > 0 ? s->start - 1 : 0 * next/' \
    $memory 'ids_skipped*'
mutant 'authority: a lost rule changes its period unseen' src/nouns/serial/serial_authority.c \
    's/        status = usher__grant_verify(a, \&usher__serial_grants, true);/        status = USHER_OK;/' \
    tests/fault/test_authority 'a_lost_rule_is_compared*'
mutant 'serial: a grant makes more than the limit' src/nouns/serial/serial.c \
    's/top < s.limit ? top : s.limit/top/' \
    $memory 'a_grant_beyond*'
mutant 'serial: a number is printed as the rule prints now' src/nouns/serial/serial_holds.c \
    's/    row.format = r->data.size != 0 ? r->data : s->rule.data;/    row.format = s->rule.data;/' \
    $memory 'a_number_keeps*'
mutant 'serial: how a hold ended is forgotten' src/nouns/serial/serial_holds.c \
    's/    end.state = (uint8_t)to;/    end.state = (uint8_t)(to != 0 ? USHER_SERIAL_STATE_RETURNED : 0);/' \
    $memory 'a_settled_serial_is_reported_when_settled_again'
mutant 'serial: a hold without a deadline stands among what is due' src/nouns/serial/serial_holds.c \
    's/    r->slots = usher__machine_lists(&usher__serial_machine, to, r->until_ms);/    r->slots = usher__machine_lists(\&usher__serial_machine, to, 1);/' \
    $memory 'a_hold_without*'
mutant 'serial: a hold without a deadline is due' src/nouns/serial/serial.h \
    's/    return r->until_ms != 0 \&\& r->until_ms <= w->moment/    return r->until_ms <= w->moment/' \
    $memory 'a_hold_without*'
mutant 'script: a serial held without a deadline is due' backends/redis/lua/serial_holds.lua \
    's/return r.ends ~= 0 and r.ends <= S.moment and/return r.ends <= S.moment and/' \
    $redis 'a_hold_without*'
mutant 'id: another by leaves the class of start' src/nouns/id/id.c \
    's/    return id + (start % by + by - id % by) % by;/    return id + (start % by) * 0;/' \
    $memory 'sites_stay*'
mutant 'journal: a repeat is another event' backends/sqlite/authority.c \
    's/epoch = ?6 OR ?7)/epoch = ?6 OR ?7 > 1)/' \
    tests/fault/test_authority 'the_journal_keeps*'
mutant 'guard: a state out of a file is not looked at' src/change/validate.c \
    's/^    return what == NULL ? USHER_OK : damaged(g, scope, r, what);/    return (void)what, USHER_OK;/' \
    tests/fault/test_corrupt 'an_edit*'
mutant 'SQLite: a blob is a name' backends/sqlite/connection.c 's/(size != 0 \&\& !is)/(size != 0 \&\& !is \&\& i != 12)/' \
    tests/fault/test_corrupt 'an_edit*'
mutant 'serial: settings of a file are taken' src/nouns/serial/serial_audit.c 's/return "a setting";/return NULL;/' \
    tests/fault/test_corrupt 'an_edit*'
mutant 'queue: a store that fails is asked without end' src/nouns/queue/queue_due.c \
    's/        if (status == USHER_MISSING \&\& run->w->scope.due_ms/        if (run->w->scope.due_ms/' \
    tests/fault/test_corrupt 'an_edit*'
mutant 'time: any time is taken' src/engine/local.c \
    's/    if (w->said - w->clock > w->context->skew_ms .*{/    if (false) {/' \
    $memory 'queue_continues*'
mutant 'time: a clock that is ahead ends what is not due' src/change/work.h \
    's/    w->moment = w->now < w->clock ? .*/    w->moment = w->now;/' $memory 'clock_that_is_ahead*'
mutant 'script: a clock that is ahead ends what is not due' backends/redis/lua/dispatch.lua \
    's/    local moment, answered = now < wall and now or wall,/    local moment, answered = now,/' $redis 'clock_that_is_ahead*'
mutant 'time: a clock that was ahead freezes leases' src/engine/local.c \
    's/ ? wall_of(w) : w->said;/ ? wall_of(w) : INT64_MAX;/' $memory 'clock_that_is_set_back*'
mutant 'script: a clock that was ahead freezes leases' backends/redis/lua/dispatch.lua \
    's/    if skew >= K.TIME_MAX then wall = now end/    if skew >= K.TIME_MAX then wall = math.huge end/' \
    $redis 'clock_that_is_set_back*'
mutant 'time: rests hide an outage' src/change/work.c 's/^            \*n = most;$/            ;/' $memory 'rests_hide*'
mutant 'script: rests hide an outage' backends/redis/lua/common.lua 's/if looked == K.OUTAGE_LOOKS then return most end/if looked == K.OUTAGE_LOOKS then break end/' \
    $redis 'rests_hide*'
mutant 'clock: a watcher believes its own' src/engine/hear_sweep.c 's/    if (now_ms != 0)$/    if (now_ms < 0)/' \
    tests/unit/test_hear '*busy_loop'
mutant 'clock: an answer has the last time of its scope' src/change/work.h \
    's/    return w->said < w->clock ? w->said : w->clock;/    return w->moment;/' \
    tests/conformance/on_sqlite 'an_answer_has_the_clock*'
mutant 'clock: a check is silent of a time that is ahead' src/engine/audit.c 's/    if (ahead_ms > AHEAD_MS \&\& /    if (ahead_ms < 0 \&\& /' \
    tests/conformance/on_sqlite 'check_names*'
mutant 'script, clock: an answer has the last time of its scope' backends/redis/lua/dispatch.lua \
    's/said < wall and said or wall/now < wall and now or wall/' \
    tests/conformance/on_redis 'an_answer_has_the_clock*'
mutant 'short way, clock: an answer has a time that is ahead' backends/redis/lua/number_fast.lua \
    "s/answered_of, answered_bytes = answered, spack('>i7', answered)/answered_of, answered_bytes = answered, spack('>i7', now)/" \
    tests/conformance/on_redis 'an_answer_has_the_clock*'
mutant 'time: an outage ends heartbeats' src/change/work.c 's/    \*ret_new = n >= most;/    *ret_new = false;/' \
    $memory 'store_that_was_away*'
mutant 'time: the silence of one is an outage' src/change/work.c \
    's/    int most = w->stored != 0 ? 1 : 2, n = 0;/    int most = 1, n = 0;/' $memory 'silence_of_clients*'
mutant 'time: an outage moves a deadline again and again' src/change/work.c \
    's/    w->gap_from = to != 0 .*/    w->gap_from = last;/' $memory 'users_that_left_do_not_count_for_the_limit'
mutant 'script: an outage ends heartbeats' backends/redis/lua/common.lua \
    's/        if n < most then return false end/        do return false end/' $redis 'store_that_was_away*'
mutant 'queue: a notice has another name for a room' src/nouns/queue/queue_hooks.c \
    's/    if (size > 0 && size < USHER__TOLD_VALUE)/    if (size < 0)/' tests/cli/notices_are_watched.sh
mutant 'a sweep does all that it is asked for' src/change/work.h \
    's/    return given \&\& max < USHER__EXPIRE_MAX ? max : USHER__EXPIRE_MAX;/    return given ? max : USHER__EXPIRE_MAX;/' \
    $memory 'a_sweep_makes*'
mutant 'pool: an outage ends leases' src/nouns/number/number_parts.h \
    's/    return later != 0 ? later : r->until_ms;/    return r->until_ms;/' $memory 'lease_that_ends*'
mutant 'pool: a lease is put off again and again' src/nouns/number/number.c \
    's/^    r->until_ms = lease_end(w, r);/    r->until_ms = w->moment + 1;/' $memory 'lease_that_ends*'
mutant 'pool: a sweep counts what goes on' src/nouns/number/number.c \
    's/        \*ret_n += over;/        ++*ret_n, (void)over;/' $memory 'lease_that_ends*'
mutant 'script: an outage ends leases' backends/redis/lua/number.lua \
    's/^function S.lease_end(r) .*/function S.lease_end(r) return r.ends end/' $redis 'lease_that_ends*'
mutant 'script: any time is taken' backends/redis/lua/dispatch.lua \
    's/if now > time + skew and now > clock then/if false then/' \
    $redis 'queue_continues*'
mutant 'script: the short way takes any time' backends/redis/lua/number_fast.lua \
    's/^if verb < 256 and not done and plain/if verb < 256 and plain/' \
    $redis 'wrong_clock_in*'
mutant 'rooms: who looks moves the clock' src/nouns/room/room_close.c \
    's/bool reads = w->command->verb == USHER_ROOM_SNAPSHOT;/bool reads = false;/' \
    $memory 'a_read_of_a_room_does_not_move_its_clock'
mutant 'authority: the audit does not ask it' src/engine/audit.c 's/ \&\& granted > entry.max)/ \&\& granted < 0)/' \
    tests/fault/test_authority 'an_audit*'
twice=tests/fault/test_duplicate_issue
mutant 'serial: a copy goes on with the grant' src/nouns/serial/serial.h \
    's/return w->identity != 0 \&\& s->rule.n\[N_STORE\].*/return w->identity == 1 \&\& s->debt < 0;/' \
    $twice 'a_store_put*'
mutant 'id: a copy goes on with the segment' src/nouns/id/id.c \
    's/(status == USHER_EMPTY || is_another(w))/status == USHER_EMPTY/' $twice 'a_store_put*'
mutant 'journal: the same version is the same issue' backends/sqlite/authority.c \
    's/(now_ms = ?8 OR NOT ?9)/(?8 <> 0 OR NOT ?9)/' $twice 'the_journal_reports_an_issue_that_a_store_repeats'
mutant 'journal: nothing was issued before' backends/sqlite/authority.c \
    's/    if (!is_issue(event) || !b->there /    if (event->n > 0 || !b->there /' $twice 'the_journal_reports_an_issue_that_a_store_repeats'
mutant 'journal: a range hides the one that it is in' backends/sqlite/authority.c \
    's/        reach = b->reach;/        reach = last_of(event);/' $twice 'a_journal*'
mutant 'journal: a range does not cover those in it' backends/sqlite/authority.c \
    's/if (b->there \&\& b->first > event->first)/if (b->there \&\& b->first > INT64_MAX - 1)/' $twice 'both_journals*'
mutant 'journal: what is over has to be told' backends/sqlite/authority.c \
    's/? b->until_ms > event->now_ms/? b->until_ms > 0/' $twice 'the_journal_reports_nothing_without_a_fault'
mutant 'journal: a late end changes nothing' backends/sqlite/authority.c \
    's/SET twice = 0 WHERE/SET twice = 1 WHERE/' $twice 'a_late_end*'
mutant 'journal: a number of yesterday is of today' src/nouns/serial/serial_authority.c \
    's/period_of(a, n, \&n->rows\[k\])/n->period + 0 * period_of(a, n, \&n->rows[k])/' $twice 'the_journal_reports_nothing_without_a_fault'
mutant 'journal: a second issue is not logged' src/nouns/serial/serial_authority.c \
    's/        if (events\[i\].twice)/        if (events[i].twice \&\& events[i].n == 0)/' $twice 'the_journal_reports_an_issue_that_a_store_repeats'
mutant 'authority: another form is not told' src/engine/audit.c \
    's/^        tell(a, "differs from its entry/        tell(a, "is as its entry/' $twice 'a_check*'
mutant 'authority: a form that was changed without it stays' src/nouns/serial/serial_authority.c \
    's/^    if (behind \&\& entry.data_size != 0)/    if (behind <= 1 \&\& entry.data_size != 0)/' $twice 'a_check*'
mutant 'authority: what the store has lost is not told' src/engine/audit.c \
    's/^    if ((l->n == 0 || bsearch/    if (l->n > SIZE_MAX - 1 \&\& (l->n == 0 || bsearch/' $twice 'a_check_lists_lost_rules_without_a_fault'
mutant 'drop: a pool made anew begins at 1' src/change/drop.c 's/^    s->clock_ms = 0;/    s->clock_ms = 0, s->version = 0;/' \
    $memory 'a_token_from_before_a_drop_never_becomes_valid'
mutant 'drop: half of a pool is there' src/change/drop.c 's/if ((usher__verb((unsigned)w->command->verb)->flags \& USHER__CREATES) == 0)/if (w->command == NULL)/' \
    $memory 'a_large_pool*'
mutant 'drop: a step is the last one' src/change/drop.c 's/if (\*ret_n == USHER__DROP_MAX)/if (*ret_n > USHER__DROP_MAX)/' \
    $memory 'a_large_pool*'
mutant 'drop: another pool will do as well' src/change/work.c 's/ (uint64_t)version == usher__scope_public_version(w))/ (uint64_t)version <= usher__scope_public_version(w))/' \
    $memory 'pool_can*'
mutant 'drop: what is left is shown' src/engine/local.c 's/t->dropped = usher__scope_dropped(item->scope);/t->dropped = false;/' \
    $memory 'a_dropped_pool_leaves_nothing'
mutant 'drop: visits are lost with the queue' src/nouns/queue/queue.c 's/settings\[SET_ARCHIVE\] != 0 \&\& n > 0/settings[SET_ARCHIVE] < 0 \&\& n > 0/' \
    $memory 'visits_that_wait*'
mutant 'if-version: what is due comes behind it' src/nouns/number/number_reads.c \
    's/if (w->scope.due_ms <= w->now \&\& w->command->verb != USHER_NUMBER_SWEEP)/if (w->scope.due_ms <= w->now \&\& (w->command->given \& USHER_GIVEN_IF_VERSION) == 0)/' \
    $memory 'a_command_for*'
mutant 'if-version: a command with it is short' backends/redis/number_fast.c 's/(c->given \& USHER_GIVEN_IF_VERSION) != 0 ||/c == NULL ||/' \
    $redis 'a_command_for*'
mutant 'program: nobody is asked' src/cli/drop.c 's/^    if (!yes \&\& (isatty/    if (cli == NULL \&\& (isatty/' \
    tests/cli/what_is_dropped_is_gone.sh
mutant 'script: a pool made anew begins at 1' backends/redis/lua/dispatch.lua "s/^local gone = not head.*/local gone = false/" \
    $redis 'a_token_from_before_a_drop_never_becomes_valid'
mutant 'script: half of a pool is there' backends/redis/lua/dispatch.lua "s/and verb ~= K.DROP_VERB\$/and false/" \
    $redis 'a_large_pool*'
command=tests/unit/test_command
mutant 'door: a word is known by its beginning' src/encode/bind.c \
    's/strlen(arg->words\[i\]) == size \&\& //' $command 'wrong_values*'
mutant 'door: an agent is in a room' src/nouns/queue/queue_hooks.c \
    's/return op->verb != USHER_QUEUE_ALIVE || !agent;/return op->verb != 0 || !agent;/' $command 'answer_has*'
mutant 'door: an answer that has no room is empty' src/encode/reply.c \
    's/^        to->status = USHER_UNKNOWN;/        to->n_rows = 0;/' $command 'reply_is*'
mutant 'door: a call has the time of its engine' src/engine/door.c \
    's/status = slice(e, &s, s.entries, k, left_ms(until_ms));/status = slice(e, \&s, s.entries, k, 0);/' $command 'a_timeout*'
mutant 'door: a row has the values of the one before' src/encode/reply.c \
    's/^        row_at\[i\] = g->n;/        row_at[i] = i > 1 ? row_at[i - 1] : g->n;/' tests/model/test_door

# ---- calls of nouns ----
mutant 'calls: none is not given' src/api/calls.c 's/^            v.number = 0;/            return;/' \
    tests/model/test_calls
mutant 'calls: a shorter answer is written beyond its end' src/encode/answer.h \
    's/return (size_t)m->offset + m->size <= size;/return size != 0;/' tests/model/test_calls
mutant 'calls: a shorter row is written beyond its end' src/api/calls.c \
    's/^        if (!usher__fits(m, size))/        if (size == 0)/' tests/model/test_calls
mutant 'calls: an answer that nobody wants is always ok' src/api/calls.c \
    's/^    status = a.r.status;/    status = answer == NULL \&\& USHER_IS_DONE(a.r.status) ? USHER_OK : a.r.status;/' tests/model/test_calls
mutant 'calls: what a later version says is left out' src/change/memory.c \
    's/^        if (((const char \*)from)\[i\] != 0)/        if (i == 0)/' tests/model/test_calls
mutant 'calls: one that is posted waits' src/api/calls.c 's/^    if (command.tag != NULL || ret_reply == NULL)/    if (command.tag == \&command)/' \
    tests/model/test_calls
mutant 'queue: the longest wait counts from the arrival' src/nouns/queue/queue_reads.c \
    's/waited = lasted(r.n\[U_APPLIED\], w->now);/waited = since;/' $memory 'the_longest_wait*'
mutant 'queue: a search for the longest wait ends at the first user' src/nouns/queue/queue_reads.c \
    's/since > s->longest_wait_ms \&\& \*passed < PASS_MAX/false/' $memory 'given_arrival*'
mutant 'redis: an arrival that is later than the wait is not seen' backends/redis/lua/queue_reads.lua \
    's/math.min(since, S.lasted(r.U_APPLIED, S.now))/S.lasted(r.U_APPLIED, S.now)/' $redis 'given_arrival*'
mutant 'redis: agents of a lane are counted without an end' backends/redis/lua/queue_reads.lua \
    's/if counted == K.STEP_MAX then/if counted == -1 then/' $redis 'lane_statistics*'
mutant 'number: calls of a later day do not count today' src/core/number.c \
    's/day >= usher__day(now_ms, zone_min)/day == usher__day(now_ms, zone_min)/' $memory 'a_day_that*'
mutant 'redis: calls of a later day do not count today' backends/redis/lua/number.lua \
    's/r.N_DAY >= S.day_of(at) and r.N_CALLS >= daily/r.N_DAY == S.day_of(at) and r.N_CALLS >= daily/' $redis 'a_day_that*'
mutant 'number: a notice has the end of a lease before its outage' src/nouns/number/number.c \
    's/(w->gap_to != 0 && r->until_ms <= w->gap_to)/false/' $memory 'lease_that_ends*'
mutant 'room: an open in a batch does not wait for members to go' src/nouns/room/room_plan.c \
    's/ || r->of.room.more)/)/' $memory 'an_open_in*'
mutant 'room: a room that is gone has a version' src/change/work.c \
    's/^        return true; .. a room may be gone only now.*/        ;/' $memory 'a_version_of_a_closed*'
mutant 'room: an open that erased the old room leaves its entry' src/nouns/room/room_plan.c \
    's/    return command->verb == USHER_ROOM_OPEN || gone ||/    return open || gone ||/' $memory 'a_version_of_a_closed*'
mutant 'redis: a room that is gone has a version' backends/redis/lua/dispatch.lua \
    's/(not was or dropping or S.blank)/(not was or dropping)/' $redis 'a_version_of_a_closed*'
mutant 'serial: a read overtakes a command of its batch' src/nouns/serial/serial.c \
    's/^    if (w->behind)/    if (w->behind \&\& w->command->verb != USHER_SERIAL_CHECK)/' $memory 'reads_of_a_batch*'
mutant 'redis: a read of a rule overtakes a command of its batch' backends/redis/lua/serial_reads.lua \
    's/if S.behind then return S.defer() end/if S.behind and verb ~= K.V_SHOW then return S.defer() end/' \
    $redis 'reads_of_a_batch*'
mutant 'redis: a call does not know the times of the calls before it' backends/redis/pipeline.c \
    's/\*ret_ms = before->now_ms;/*ret_ms = 1;/' $redis 'a_long_batch_with*'
mutant 'redis: an answer of figures that come again is too short' backends/redis/lua/queue.lua \
    's/S.verb == K.V_STATS and K.STATS or 2/S.verb == K.V_STATS and 20 or 2/' $redis 'reads_of_a_batch_of_applies*'
text=tests/unit/test_text
mutant 'text: readers count beyond 2^53' src/encode/forms.c 's/size > EXACT_MAX ?/size > EXACT_MAX + 1 ?/' \
    $text 'each_type*'
mutant 'text: a part is a byte too long' src/encode/encode.c \
    's/w->to.n < w->to.size ? w->to.n : w->to.size - 1/w->to.n < w->to.size ? w->to.n : w->to.size/' \
    $text 'reply_is*'
mutant 'text: a count moves more than there is room for' src/core/pack.c \
    's/there - at < p->size - at - size ? there - at : p->size - at - size/there - at/' $text 'reply_is*'
mutant 'text: a token is packed as its digits' src/encode/forms.c \
    's/^    usher__pack_uint(&w->to, token);/    json_token(w, token);/' $text 'each_type_is_packed'
mutant 'text: any bytes are packed as a text' src/core/pack.c 's/put_code(p, 0xc4, size, 1)/put_code(p, 0xd9, size, 1)/' \
    $text 'each_type_is_packed'
mutant 'a gap is over with the rest' src/nouns/number/number_parts.h \
    's/ == 0 || at + rest_ms > gap ? at + rest_ms : gap;/ >= 0 ? at + rest_ms : gap;/' $memory '*with_a_gap'
mutant 'a gap is not awaited' src/nouns/number/number_calls.c \
    's/        at = rested(&w->scope, r, at, set\[USHER__SET_REST\]);/        at += set[USHER__SET_REST];/' \
    $memory '*with_a_gap'
mutant 'arguments: a default is told that is none' src/encode/info.c \
    's/!= 0 ? arg->standard : USHER_NONE;/!= 0 ? arg->min : USHER_NONE;/' tests/unit/test_command 'settings_have*'
mutant 'arguments: the range is that of another verb' src/encode/info.c \
    's/a.max = usher__arg_max(v, arg);/a.max = arg->max;/' tests/unit/test_command 'arguments_have*'
mutant 'text: a map of RESP2 has half of its elements' src/encode/forms.c \
    's/n \* (map ? 2 : 1)/n/' $text 'every_verb*'
mutant 'serve: what a round leaves is forgotten' src/serve/round.c \
    's/c->ready = !c->closing \&\& c->end - c->from >= c->need;/c->ready = false;/' tests/cli/whatever_comes_serve_goes_on.sh
mutant 'serve: a scope is tended for its channels alone' src/serve/round.c \
    's/^            usher__serve_tend(s, &s->ops\[i\], &s->results\[i\]);/            (void)i;/' tests/cli/what_is_asked_of_serve_is_answered.sh
mutant 'serve: a follower never waits for its reader' src/serve/subscribe.c \
    's/^    if (ch->alone \&\& (usher__serve_is_stuck/    if (n == NULL \&\& (usher__serve_is_stuck/' tests/cli/whatever_comes_serve_goes_on.sh
mutant 'serve: another room goes on where the last one was' src/serve/subscribe.c \
    's/^    return p->epoch != 0 \&\& epoch != 0 \&\&/    return p->epoch == 0 \&\& epoch != 0 \&\&/' tests/cli/changes_are_sent_to_subscribers.sh
mutant 'serve: changes of other processes are not sent' src/serve/subscribe.c \
    's/^\( *\)USHER_WATCH_SINCE | USHER_WATCH_ALL, ch->place.version/\1USHER_WATCH_SINCE, ch->place.version/' tests/cli/changes_are_sent_to_subscribers.sh
mutant 'serve: two clients share a position' src/serve/subscribe.c \
    's/(ch->alone \&\& ch->of\[0\] != c)))/(ch->alone \&\& ch->of == NULL)))/' tests/cli/changes_are_sent_to_subscribers.sh
mutant 'serve: a round has answers of any size' src/serve/round.c \
    's/^    return usher__out_size(&c->out) + c->answers >= s->limits.out \/ 2;/    return false \&\& c == NULL \&\& s == NULL;/' tests/cli/whatever_comes_serve_goes_on.sh
mutant 'serve: a client that reads is idle' src/serve/loop.c \
    's/c->seen_ms = c->moved_ms = usher__serve_now_ms();$/c->moved_ms = usher__serve_now_ms();/' tests/cli/whatever_comes_serve_goes_on.sh
mutant 'serve: the commands of a client that closed are left out' src/serve/loop.c \
    's/ | POLLNVAL)) != 0 \&\& !c->ready)/ | POLLNVAL)) != 0)/' tests/cli/whatever_comes_serve_goes_on.sh
mutant 'serve: a transaction that is refused is executed' src/serve/commands.c \
    's/^    return !c->known || c->multi ||/    return !c->known ||/' tests/cli/what_is_asked_of_serve_is_answered.sh
mutant 'serve: HTTP hears of no connection after many' src/serve/http.c \
    's/^    } while (connections(s->http) < before);/    } while (connections(s->http) > before);/' tests/cli/what_is_asked_of_serve_is_answered.sh
mutant 'serve: HTTP answers requests for any host' src/serve/http.c \
    's/^    if (!is_host_of(s->http,/    if (s == NULL \&\& !is_host_of(s->http,/' tests/cli/what_is_asked_of_serve_is_answered.sh
mutant 'serve: scopes that are too many are left out' src/serve/scrape.c \
    's/^        return "is one scope too many (limit 1000)";/        return NULL;/' tests/cli/what_is_asked_of_serve_is_answered.sh
mutant 'serve: a client goes on while a thread has its command' src/serve/round.c \
    's/ \&\& !c->waits \&\& !usher__serve_is_stuck(s, c))/ \&\& !usher__serve_is_stuck(s, c))/' tests/cli/what_is_asked_of_serve_is_answered.sh
mutant 'serve: the name of what is dropped has small letters' src/serve/tasks.c \
    's/^    usher__serve_lower(command, 1);/    usher__serve_lower(command, 2);/' tests/cli/what_is_asked_of_serve_is_answered.sh
mutant 'serve: a drop needs no confirmation' src/serve/tasks.c \
    's/^    return command->n == 3 \&\& strcasecmp(command->word\[2\], "--yes") == 0/    return command->n >= 2/' tests/cli/what_is_asked_of_serve_is_answered.sh
mutant 'serve: lines of the log have no time' src/cli/util.c \
    's/^    fprintf(stderr, "%s usher: ", text);/    fprintf(stderr, "usher: ");/' tests/cli/what_is_asked_of_serve_is_answered.sh
mutant 'remote: an answer to another command is taken' src/cli/remote.c \
    's/^    if (reply->verb == (uint32_t)op->verb)/    if (reply->verb != 0)/' tests/cli/a_server_is_a_store.sh
mutant 'remote: a check without an answer is good' src/cli/remote.c \
    's/^    } else if (!has_keys(ret, needs)) {/    } else if (ret->type != REMOTE_MAP) {/' tests/cli/a_server_is_a_store.sh
mutant 'remote: a command that was sent is not executed' src/cli/remote.c \
    's/failure(op, r->sent ? USHER_UNKNOWN : USHER_UNAVAILABLE, r->message)/failure(op, USHER_UNAVAILABLE, r->message)/' tests/cli/a_server_is_a_store.sh
mutant 'remote: a name with a ? is not watched' src/cli/remote.c \
    's/^    usher__bytes_put(&out, "?\\r\\n");/    usher__bytes_put(\&out, "\\r\\n");/' tests/cli/a_server_is_a_store.sh
mutant 'metrics: scopes beyond the limit are not counted' src/serve/scrape.c \
    's/^        p->omitted\[noun->noun\]++;/        (void)p->omitted;/' tests/cli/metrics_are_those_of_prometheus.sh
mutant 'metrics: the list ends with its first page' src/serve/scrape.c \
    's/^        more = after != NULL;/        more = false;/' tests/cli/metrics_are_those_of_prometheus.sh
mutant 'metrics: a scope named twice is there twice' src/serve/scrape.c \
    's/^        if (n > 0 && compare/        if (n > p->n \&\& compare/' tests/cli/metrics_are_those_of_prometheus.sh
mutant 'metrics: milliseconds are called seconds' src/serve/scope_metrics.c \
    's/^    if (scale == SECONDS || scale == TIME)/    if (scale == TIME)/' tests/cli/metrics_are_those_of_prometheus.sh
mutant 'metrics: a lane beyond the limit is missed without a word' src/serve/scope_metrics.c \
    's/USHER_FIELD_AFTER, NULL) == NULL, NULL);/USHER_FIELD_AFTER, NULL) != g, NULL);/' tests/cli/metrics_are_those_of_prometheus.sh
mutant 'metrics: the count of waits is not that of the last bucket' src/serve/scope_metrics.c \
    's/^        count = usher_reply_int(reply, i, h->count);/        count += usher_reply_int(reply, i, h->count);/' tests/cli/metrics_are_those_of_prometheus.sh
mutant 'metrics: a scope that was not read is missing' src/serve/scope_metrics.c \
    's/^    if (!USHER_IS_DONE(reply->status) \&\& reply->status != USHER_MISSING) {/    if (g == NULL) {/' tests/cli/metrics_are_those_of_prometheus.sh
mutant 'status: a scope that is open is listed' src/cli/modes.c \
    's/^    if (usher_reply_int(reply, USHER_ANSWER, USHER_FIELD_SCOPE_MODE) == USHER_SCOPE_MODE_OPEN)/    if (reply->n_rows > 9)/' tests/cli/the_servers_behind_a_store_are_told_of.sh
mutant 'state: a scope that has not changed is read again' src/serve/state.c \
    's/^    return !e->known || e->again ||/    return e != NULL || t != NULL ||/' tests/cli/viewers_see_the_state.sh
mutant 'state: a part that has not changed is sent' src/serve/viewer.c \
    's/^        usher__state_scope(to, e, e->dirty);/        usher__state_scope(to, e, ~0u);/' tests/cli/viewers_see_the_state.sh
mutant 'state: a scope is shown to views that do not have it' src/serve/viewer.c \
    's/^    return e->part\[0\] != NULL .*/    return e->part[0] != NULL \&\& (e->top || names(w, e));/' tests/cli/viewers_see_the_state.sh
mutant 'state: the least urgent scopes are sent' src/serve/state.c \
    's/one->score\[i\] > other->score\[i\] ? -1 : 1/one->score[i] < other->score[i] ? -1 : 1/' tests/cli/viewers_see_the_state.sh
mutant 'state: what is urgent now has no parts' src/serve/state.c \
    's/^        if ((st->read > 0 || st->failed == 0) \&\& lacks(st)/        if (st->failed > 0 \&\& lacks(st)/' tests/cli/viewers_see_the_state.sh
mutant 'state: a scope that is gone stays' src/serve/state.c \
    's/^    append(&st->gone, &st->n_gone, e);$/    append(to, n, e);/' tests/cli/viewers_see_the_state.sh
mutant 'serve: a client waits for a state that is read' src/serve/loop.c \
    's/^    answer_viewers(s);$/    (void)answer_viewers;/' tests/cli/what_is_wrong_is_shown_first.sh
mutant 'top: a pool without a free number is no alarm' src/top/figures.c \
    's/reason(j, level(j, THRESHOLD_FREE, left, up), text);/reason(j, level(j, THRESHOLD_FREE, up, up), text);/' tests/cli/what_is_wrong_is_shown_first.sh
mutant 'top: a name changes the direction of a line' src/top/text.c \
    's/code >= 0x2028/code >= 0x202f/' tests/cli/what_is_wrong_is_shown_first.sh
mutant 'top: durations grow while the store is silent' src/top/app.c \
    's/if (a->view.silent_ms > 0 || a->held_ms != 0)/if (a->held_ms != 0)/' tests/terminal.py
mutant 'top: the order changes soon after a key' src/top/model.c \
    's/if (m->key_ms + KEY_MS > due_ms)/if (m->key_ms > now_ms)/' tests/terminal.py
mutant 'top: any key is a yes' src/top/app.c \
    's/end_question(a, key == .y.);/end_question(a, key != 0);/' tests/terminal.py
mutant 'top: a command has no token' src/top/acts.def \
    's/number hangup {scope} {number} token={token}/number hangup {scope} {number}/' tests/terminal.py
mutant 'top: commands need no --rw' src/top/app.c \
    's/why == NULL \&\& a->writes \&\& a->view.silent_ms == 0/why == NULL \&\& a->view.silent_ms == 0/' tests/terminal.py
mutant 'top: an alarm is no exit code' src/top/top.c \
    's/alarm = m.levels\[LEVEL_ALARM\] > 0;/alarm = m.levels[LEVEL_ALARM] > m.n;/' tests/cli/what_is_wrong_is_shown_first.sh
mutant 'events: a viewer that does not read stays' src/serve/viewer.c \
    's/^        if (v->n == 0 || v->closed ||/        if (v->n != 0 || v->closed ||/' tests/cli/viewers_see_the_state.sh
mutant 'events: there is no heartbeat while the store is silent' src/serve/viewer.c \
    's/^        if (w->ready \&\& now_ms - w->sent_ms >= TICK_MS)/        if (w->ready \&\& st->scrape == NULL \&\& now_ms - w->sent_ms >= TICK_MS)/' tests/cli/viewers_see_the_state.sh
mutant 'hour: a count of a minute has those of the minutes before' src/serve/hour.c \
    's/^        h->base\[i\] = over == 1 ? h->last\[i\] : USHER_NONE;/        (void)over;/' tests/unit/test_hour
mutant 'hour: a minute without a sample is that of an hour before' src/serve/hour.c \
    's/^            \*place(h, i, h->minute + m) = HOUR_UNKNOWN;/            (void)m;/' tests/unit/test_hour
mutant 'serve: a store that is gone is served' src/serve/loop.c \
    's/^    while (!told_to_stop \&\& s->gone.*/    while (!told_to_stop)/' tests/cli/what_is_asked_of_serve_is_answered.sh
mutant 'serve: a value in its place is an option' src/parse/parse.c \
    's/if (placed_way \&\& in_place != NULL)/if (placed_way \&\& in_place != NULL \&\& next == NULL)/' \
    tests/cli/what_is_asked_of_serve_is_answered.sh
mutant 'text: what the command said is not told' src/encode/reply.c \
    's/if (text.data != NULL)/if (text.data == NULL)/' $text 'each_type*'
mutant 'text: an epoch has any number of digits' src/engine/command.c \
    's/return text->size == 16;/return true;/' $text 'wrong_lines*'
mutant 'rooms: bans go with the room that is closed' src/nouns/room/room_close.c \
    's/c.scope->erase = c.scope->counts\[COUNT_BANS\] == 0;/c.scope->erase = true;/' $memory 'a_ban_lasts*'
mutant 'rooms: a ban that has not ended is erased' src/nouns/room/room_close.c \
    's/if (phase == 1 \&\& !ends_bans(w) \&\& /if (phase == 9 \&\& /' $memory 'a_ban_lasts*'
mutant 'rooms: the next room has the epoch of the old one' src/nouns/room/room.c \
    's/w->scope.epoch = usher__epoch_next(w->scope.epoch);/;/' $memory 'a_ban_lasts*'
mutant 'rooms: open with an epoch makes a room where bans are' src/nouns/room/room.c \
    's/        return gone(w);/        w->now += 0;/' $memory 'a_ban_lasts*'
mutant 'rooms: a header stays when the last ban has ended' src/nouns/room/room_close.c \
    's/c->scope->erase = usher__room_rests(c->scope) /c->scope->erase = false /' $memory 'bans_of_a*'
mutant 'rooms: a sweep leaves bans of a closed room' src/nouns/room/room.c \
    's/w->command->verb != USHER_ROOM_SWEEP || usher__room_rests/w->command->verb != USHER_ROOM_SWEEP || !usher__room_rests/' \
    $memory 'a_patrol_removes*'
mutant 'rooms: a ban of a closed room cannot be lifted' src/nouns/room/room_members.c \
    's/if (args(w)->ban_ms == 0 \&\& /if (args(w)->ban_ms < 0 \&\& /' $memory 'a_ban_is_lifted*'
mutant 'rooms: drop leaves the bans' src/nouns/room/room_hooks.c \
    's/c->given = USHER_GIVEN_ROOM_BAN;/c->given = 0;/' $memory 'close_and_drop*'
mutant 'rooms: the notice of open has no settings' src/nouns/room/room.c \
    's/    status = tell_settings(w, \&c);/    status = (void)tell_settings, USHER_OK;/' $memory 'the_notice_of*'
mutant 'rooms: JSON has no versions of own fields' src/encode/encode.c \
    's/        uint_put(w, version);/        uint_put(w, 0);/' $memory 'the_digest_can*'
mutant 'redis: bans of a closed room have no time to live' backends/redis/lua/room_fast_end.lua \
    "s/redis.pcall(word, key, /redis.pcall('EXISTS', key, /" tests/cluster/test_by_hand 'keys_of_bans*'
mutant 'redis: a room that is opened again expires' backends/redis/lua/room.lua \
    "s/do call('PERSIST', key) end/do call('EXISTS', key) end/" tests/cluster/test_by_hand 'keys_of_bans*'
mutant 'a reserved word is a field' src/parse/parse.c \
    's/if (!literal \&\& is_reserved(&name))/if (literal \&\& !literal \&\& is_reserved(\&name))/' \
    tests/unit/test_command 'reserved_words*'
mutant 'serve: fields cannot be put after --' src/parse/parse.c \
    's/if (!literal \&\& is_dashes(p, i) \&\&/if (p->way == PARSE_TYPED \&\& !literal \&\& is_dashes(p, i) \&\&/' \
    tests/cli/what_is_asked_of_serve_is_answered.sh
mutant 'reply: rows of a reply in bytes may have more values than there are' src/encode/reply.c \
    's/                 row_at\[n\] == g.n) {/                 row_at[n] != SIZE_MAX) {/' tests/unit/test_hear 'replies*'
mutant 'reply: bytes after a reply are ignored' src/encode/reply.c \
    's/if (values_unpack(u, \&g, UINT16_MAX) \&\& u->at == u->end) {/if (true) {/' tests/unit/test_hear 'replies*'
mutant 'reply: a notice has no row under the name of its subject' src/encode/result_fields.c \
    's/        if (s->name != 0)/        if (s->name > UINT16_MAX - 1)/' $memory 'a_notice_of*'
mutant 'encode: a match at the time 0 is none' src/core/verbs.h \
    's/    return field == USHER_FIELD_UNTIL || field == USHER_FIELD_USED;/    return field == USHER_FIELD_UNTIL || field == USHER_FIELD_USED || field == USHER_FIELD_MATCHED;/' \
    tests/cli/an_agent_serves_a_queue.sh

mutant 'queue: the figures of a lane that goes are lost' src/nouns/queue/queue_figures.c \
    's/    usher__change_save(&qc->c, &sums->r);/    (void)sums;/' $memory 'totals_never*'
mutant 'script: a new day loses the figures of the one before' backends/redis/lua/queue_figures.lua \
    's/            S.day_add(e, S.figures_pack(l))/            local _ = e/' $redis 'totals_never*'
mutant 'queue: a user that timed out does not lower the service level' src/nouns/queue/queue_reads.c \
    's/ + f\[F_TIMEOUT\] -/ -/' $memory 'service_level*'
mutant 'queue: a user that is lost at once lowers the service level' src/nouns/queue/queue_figures.c \
    's/figure_add(l, F_ABANDONED_WITHIN, 1)/figure_add(l, F_ABANDONED_WITHIN, 0)/' $memory 'service_level*'
mutant 'queue: a quarter hour has the figures of those before it' src/nouns/queue/queue_reads.c \
    's/        last = l->earlier.data + n;/        last = NULL;/' $memory 'quarter_hours*'
mutant 'script: the end of a quarter hour is not kept' backends/redis/lua/queue_figures.lua \
    's/            e.data = e.data .. sub(S.figures_pack(l)/            local _ = sub(S.figures_pack(l)/' $redis 'quarter_hours*'

case $wanted in
--planted) ;;
--list) printf '\n%s planted\n' "$n" ;;
*) printf '\n%s planted, %s caught, %s not\n' "$n" "$((n - bad))" "$bad" ;;
esac
[ "$bad" = 0 ]
