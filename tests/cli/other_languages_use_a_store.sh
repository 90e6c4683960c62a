#!/bin/sh
# SPDX-License-Identifier: MIT
# The examples in other languages do the same with a store, each in another way: usher serve, usher
# shell, and direct calls of the scripts on Redis.
examples=$(cd "$(dirname "$0")/../../examples" && pwd)
. "$(dirname "$0")/lib.sh"
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE

cat >same.txt <<'EOT'
pool: ok ok ok
call-17: 5550100
call-18: busy
hangup: ok
hangup: refused
zoe: ann
INVALID lease is not a duration from 0 to 3153600000000 ms, or as 90s, 5m, 2h, 1d
EOT

# there PROGRAM: if not, that is said, and it is a failure where nothing may be skipped.
there() {
    command -v "$1" >/dev/null && return 0
    echo "SKIPPED, for there is no $1"
    [ "${USHER_NO_SKIP-}" != 1 ] || exit 1
    return 1
}

# served COMMAND...: with a server of its own; the socket is its last argument.
served() {
    rm -f s.sock
    "$USHER" -s memory: serve --listen=unix:s.sock >serve.log 2>&1 &
    redis_pid=$! # ended with us
    tries=0
    until [ -S s.sock ] || [ $tries -gt 600 ]; do
        tries=$((tries + 1))
        sleep 0.05
    done
    expect 0 "$@" s.sock <same.txt
    kill "$redis_pid"
    wait "$redis_pid" || wrong "serve ends well: $(cat serve.log)"
    redis_pid=
}

if there python3; then served python3 "$examples/serve.py"; fi
if there node; then
    served node "$examples/serve.js"
    expect 0 node "$examples/shell.js" memory: <same.txt
    lines 1 env USHER=/nowhere/usher node "$examples/shell.js" memory:
    holds err.txt ENOENT
    lines 1 node "$examples/serve.js" "$dir/nothing"
    holds err.txt ENOENT
fi
if have_redis && there redis-cli; then
    redis_too
    expect 0 sh "$examples/evalsha.sh" -s redis.sock <<'EOT'
pool: ok ok ok
call-17: 5550100
call-18: busy
hangup: ok
hangup: refused
lease is not a number from 0 to 3153600000000
EOT
    lines 0 "$USHER" -s "redis+unix://$dir/redis.sock" --json number show sales 5550100
    holds out.txt '"state":"idle+up"'

    # direct calls with json=1: on a server, which forgets the scripts, and on a cluster
    sed 's/^INVALID .*/lease is not a number from 0 to 3153600000000/' same.txt >direct.txt
    ln -sf "${USHER_REDIS_SERVER:-$(command -v redis-server || command -v redis-check-rdb)}" redis-server
    echo '"$@" "$(echo "$USHER_STORE" | sed "s,.*//,,;s/[,?].*//")"' >node.sh
    direct() {
        redis-cli -s redis.sock FLUSHALL >/dev/null && redis-cli -s redis.sock SCRIPT FLUSH >/dev/null
        expect 0 env USHER="$USHER" "$@" "$dir/redis.sock" <direct.txt
        lines 0 "$USHER" -s "redis+unix://$dir/redis.sock" --json queue where desk zoe
        holds out.txt '"place":"room"'
        cp direct.txt again.txt
        REDIS_SERVER=$dir/redis-server USHER=$USHER \
            expect 0 sh "$examples/cluster.sh" --replicas=0 sh node.sh "$@" <again.txt
    }
    if there python3; then direct python3 "$examples/direct.py"; fi
    if there node; then
        direct node "$examples/direct.js"
        lines 1 env USHER="$USHER" node "$examples/direct.js" "$dir/nothing"
        holds err.txt ENOENT
    fi
fi
finish
