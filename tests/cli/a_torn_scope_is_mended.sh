#!/bin/sh
# SPDX-License-Identifier: MIT
# A key of a scope in Redis is gone: commands say so, and what to do; `check` finds it and ends with 1;
# `check --repair` says what it did and ends with 0; then all is as before.
. "$(dirname "$0")/lib.sh"
redis_and_client

# A port that is free; in the range where nobody is sent by chance.
port=$((15000 + $$ % 10000))
until start_redis --bind 127.0.0.1 --port "$port"; do
    port=$((port + 37))
    [ "$port" -lt 30000 ] || {
        echo 'no port is free'
        exit 1
    }
done
at=redis://127.0.0.1:$port
take_away() {
    [ "$(redis-cli -p "$port" del "$1")" = 1 ] || wrong "there was no $1"
}

printf 'number add p %s\nnumber reg p %s\n' 101 101 102 102 | "$USHER" -s "$at" shell >/dev/null 2>&1
lines 0 "$USHER" -s "$at" number call p owner=ann
"$USHER" -s "$at" number digest p >before.txt

for list in index held; do
    take_away "{p}:number:$list"
    for verb in 'number call p owner=bob' 'number stats p' 'number hangup p 101' 'number add p 103'; do
        # shellcheck disable=SC2086
        lines 3 "$USHER" -s "$at" $verb
        holds err.txt "unavailable: the store is damaged: the key :$list of the scope is gone: \`usher check --repair\`"
    done
    lines 1 "$USHER" -s "$at" check
    holds err.txt "number/p: its key :$list is gone"
    lines 0 "$USHER" -s "$at" check --repair
    holds err.txt "number/p: repaired, :$list was missing: "
    holds out.txt ' repaired'
    lines 0 "$USHER" -s "$at" check
    holds out.txt 'ok: 0 faults in 1 scopes'
    "$USHER" -s "$at" number digest p >after.txt
    cmp before.txt after.txt || wrong 'the digest is another one'
done
lines 0 "$USHER" -s "$at" number call p owner=bob
holds out.txt 'ok: 102,'

take_away '{p}:number'
lines 3 "$USHER" -s "$at" number add p 101
holds err.txt 'unavailable: the store is damaged: the hash of the scope is missing'
lines 1 "$USHER" -s "$at" check
lines 0 "$USHER" -s "$at" --json check --repair
holds out.txt '"faults":1,"repaired":1,'
holds out.txt 'number/p: the scope is lost: its hash is missing'
lines 0 "$USHER" -s "$at" check
holds out.txt 'ok: 0 faults in 0 scopes'
lines 0 "$USHER" -s "$at" number add p 101
finish
