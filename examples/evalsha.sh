#!/bin/sh
# SPDX-License-Identifier: MIT
# evalsha.sh -- numbers of a Redis store from any client of Redis: no library, no server of usher's.
#
#     sh evalsha.sh -s /run/redis.sock      options of redis-cli; $USHER prints the script, else `usher'
#
# It works on the same pools as the library.  Each client does what redis-cli does here: SCRIPT LOAD once, then EVALSHA with the three keys of the pool.
set -eu
redis() { redis-cli "$@"; }
load() { "${USHER:-usher}" lua number | redis "$@" -x SCRIPT LOAD; }
sha=$(load "$@")

# number VERB WORD...: the answer, names and values in turn, one a line.  A server that was started
# anew, or is another one since a failover, has forgotten the script: then it is loaded once more.
number() {
    answer=$(redis $options EVALSHA "$sha" 3 '{sales}:number' '{sales}:number:index' '{sales}:number:held' "$@")
    case $answer in
    NOSCRIPT*) sha=$(load $options) && number "$@" ;;
    *) printf '%s\n' "$answer" ;;
    esac
}

# of NAME: the value behind that name.
of() { awk -v name="$1" 'NR % 2 == 0 && last == name { print; exit } { last = $0 }'; }

options=$* # redis-cli's
redis $options SCRIPT FLUSH >/dev/null # as after a restart
echo "pool: $(number set lease 60000 | of status) $(number add 5550100 | of status) $(number reg 5550100 | of status)"
call=$(number call owner call-17)
token=$(echo "$call" | of token)
echo "call-17: $(echo "$call" | of number)"
echo "call-18: $(number call owner call-18 | of why)"
for i in once late; do # who holds the token ends the hold, and nobody else
    echo "hangup: $(number hangup 5550100 token "$token" | of status)"
done
number call lease soon | of message
