#!/bin/sh
# SPDX-License-Identifier: MIT
# `usher status`: what is behind a store, for people and for programs; it makes nothing.
. "$(dirname "$0")/lib.sh"
redis_too

# What differs from run to run.
steady() {
    steady_of <out.txt
}

steady_of() {
    sed -e 's/"identity":"[0-9a-f]*"/"identity":"I"/' -e 's/identity [0-9a-f]*/identity I/' \
        -e 's/"ahead":-\{0,1\}[0-9]*/"ahead":0/' -e "s|$dir|DIR|g" \
        -e 's/\(SQLite\|Redis\|Valkey\) [0-9][0-9.]*/\1 N/'
}

says() {
    [ "$(steady)" = "$1" ] || wrong "prints: $1 (but prints: $(steady))"
}

lines 0 "$USHER" -s memory: status
says 'itself, memory, nothing survives the process'
lines 0 "$USHER" -s memory: --json status
says '{"status":"ok","unknown":0,"unavailable":0,"nodes":[{"role":"itself","answers":true,"software":"memory","durability":"none"}],"modes":[],"modes_partial":false}'
lines 2 "$USHER" -s memory: status all
holds err.txt 'usher: invalid: `status` takes no arguments'

# scopes that are closed or stopped, with the reason
modes() {
    store=$1
    printf '%s\n' 'number set sales mode=stopped reason="line, \"2\""' 'queue set support mode=closed' \
        'queue set open service=20s' 'number add free 1' 'room open r' \
        'queue login support ann' 'queue pause support ann reason=lunch' >in
    lines 0 "$USHER" -s "$store" shell <in
    lines 0 "$USHER" -s "$store" status
    tail -n 2 out.txt >modes.txt
    [ "$(cat modes.txt)" = 'number/sales is stopped: line, "2"
queue/support is closed' ] || wrong "modes are shown: $(cat out.txt)"
    lines 0 "$USHER" -s "$store" --json status
    holds out.txt ',"modes":[{"scope":"number/sales","mode":"stopped","reason":"line, \"2\""},{"scope":"queue/support","mode":"closed"}],"modes_partial":false}'
    lines 0 "$USHER" -s "$store" --csv status
    [ "$(sed -n '3,$s/^,*//p' out.txt)" = 'number/sales,stopped,"line, ""2"""
queue/support,closed,' ] || wrong "modes are rows: $(cat out.txt)"
    # by a server, too
    "$USHER" -s "$store" serve --listen=unix:"$dir/serve.sock" 2>serve.log &
    serve_pid=$!
    until grep -q 'serving on' serve.log; do
        kill -0 "$serve_pid" || break
        sleep 0.05
    done
    "$USHER" -s "$store" --json status | steady_of >direct.txt
    lines 0 "$USHER" -s "usher+unix:$dir/serve.sock" --json status
    [ "$(steady_of <out.txt)" = "$(cat direct.txt)" ] || wrong "the server answers: $(cat out.txt), not: $(cat direct.txt)"
    lines 0 "$USHER" -s "usher+unix:$dir/serve.sock" status
    [ "$(tail -n 2 out.txt)" = "$(cat modes.txt)" ] || wrong "the server shows modes: $(cat out.txt)"
    kill "$serve_pid"
    wait "$serve_pid"
}

case $STORES in
*sqlite:*)
    modes "sqlite:$dir/modes.db"
    lines 1 "$USHER" -s "sqlite:$dir/none.db" status
    holds err.txt 'usher: missing: '
    [ ! -e "$dir/none.db" ] || wrong 'who looks makes no file'
    # nor does the shell, which has an empty store in its place until a command writes
    printf 'status\nscopes\nnumber add p 1\nstatus\n' >in
    lines 0 "$USHER" -s "sqlite:$dir/two.db" shell <in
    holds out.txt '"due":null,"message":"there is no such store yet: the first command that writes creates it"}'
    holds out.txt '"scopes":[],'
    holds out.txt '"nodes":[{"role":"itself","answers":true,"address":"'"$dir"'/two.db","software":"SQLite '
    "$USHER" -s "sqlite:$dir/one.db" number add p 1 >/dev/null
    lines 0 "$USHER" -s "sqlite:$dir/one.db" status
    says 'itself DIR/one.db, SQLite N, answers are on disk, identity I'
    mkdir "$dir/folder.db"
    lines 3 "$USHER" -s "sqlite:$dir/folder.db" --json status
    says '{"status":"unavailable","message":"open: sqlite: DIR/folder.db: cannot be opened: it is a directory","unknown":0,"unavailable":0,"nodes":[{"role":"itself","answers":false,"address":"DIR/folder.db","why":"sqlite: DIR/folder.db: cannot be opened: it is a directory"}]}'
    lines 0 "$USHER" -s "sqlite:$dir/one.db?sync=normal" --json status
    says '{"status":"ok","unknown":0,"unavailable":0,"nodes":[{"role":"itself","answers":true,"address":"DIR/one.db","software":"SQLite N","durability":"file","identity":"I"}],"modes":[],"modes_partial":false}'
    ;;
esac

case $STORES in
*redis*)
    modes "redis+unix://$dir/redis.sock?prefix=modes"
    lines 0 "$USHER" -s "redis+unix://$dir/redis.sock" status
    says 'master DIR/redis.sock, Redis N, 0 replicas, a power cut may lose the last seconds, identity I'
    lines 0 "$USHER" -s "redis+unix://$dir/redis.sock" --json status
    says '{"status":"ok","unknown":0,"unavailable":0,"nodes":[{"role":"master","answers":true,"address":"DIR/redis.sock","software":"Redis N","durability":"file","policy":"noeviction","evicts":false,"identity":"I","replicas":0,"ahead":0}],"modes":[],"modes_partial":false}'
    # who gives one command is not told each time how the server is set up; who stays is, once
    redis-cli -s redis.sock CONFIG SET appendonly no >/dev/null
    lines 0 "$USHER" -s "redis+unix://$dir/redis.sock" number add p 1
    [ ! -s err.txt ] || wrong "nothing is said of the server with a command: $(cat err.txt)"
    printf 'number add p 2\nnumber add p 3\n' >in
    lines 0 "$USHER" -s "redis+unix://$dir/redis.sock" shell <in
    [ "$(cat err.txt)" = 'usher: redis: appendonly is off: a restart loses commands' ] ||
        wrong "in the shell it is said once: $(cat err.txt)"
    lines 0 "$USHER" -s "redis+unix://$dir/redis.sock" status
    holds out.txt 'a restart loses'
    # a store that cannot be opened has a row of each server that its URL names
    lines 3 "$USHER" -s "redis+unix://:pass@$dir/none.sock" --json status
    says '{"status":"unavailable","message":"open: redis DIR/none.sock: cannot connect: no such socket file (errno 2)","unknown":0,"unavailable":0,"nodes":[{"role":"unknown","answers":false,"address":"DIR/none.sock","why":"redis DIR/none.sock: cannot connect: no such socket file (errno 2)"}]}'
    lines 3 "$USHER" -s "redis+unix://:pass@$dir/none.sock" status
    says 'server DIR/none.sock: does not answer: redis DIR/none.sock: cannot connect: no such socket file (errno 2)'
    holds err.txt 'usher: unavailable: open: redis '
    for scheme in redis redis+cluster; do
        lines 3 "$USHER" -s "$scheme://:pass@127.0.0.1:1,127.0.0.1:2/?timeout=5000" --json status
        holds out.txt '"nodes":[{"role":"unknown","answers":false,"address":"127.0.0.1:1","why":"redis 127.0.0.1:1: cannot connect: connection refused'
        holds out.txt '},{"role":"unknown","answers":false,"address":"127.0.0.1:2","why":"redis 127.0.0.1:2: cannot connect: connection refused'
    done
    kill -STOP "$redis_pid"
    lines 3 "$USHER" -s "redis+unix://$dir/redis.sock?timeout=300" --json status
    kill -CONT "$redis_pid"
    holds out.txt '"nodes":[{"role":"unknown","answers":false,"address":"'"$dir"'/redis.sock","why":"redis '
    ;;
esac
finish
