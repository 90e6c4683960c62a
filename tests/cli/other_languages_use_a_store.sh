#!/bin/sh
# SPDX-License-Identifier: MIT
# The examples for who does not write C do the same with a store, each from another language and by
# another way: usher serve, usher shell, and the script on Redis.
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
fi
finish
