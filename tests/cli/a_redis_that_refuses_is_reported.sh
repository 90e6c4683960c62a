#!/bin/sh
# SPDX-License-Identifier: MIT
# A Redis server that wants another password, or has gone: a clear word, exit 3, no change, and
# the password is not shown.
. "$(dirname "$0")/lib.sh"
[ "${WITH_REDIS:-yes}" = yes ] || {
    echo 'the program is built without Redis'
    exit 77
}
have_redis || exit 77

# A port that is free; in the range where nobody is sent by chance.
port=$((15000 + $$ % 10000))
until start_redis --bind 127.0.0.1 --port "$port" --requirepass 'open sesame'; do
    port=$((port + 37))
    [ "$port" -lt 30000 ] || {
        echo 'no port is free'
        exit 1
    }
done
at=127.0.0.1:$port
right=redis://:open%20sesame@$at

lines 0 "$USHER" -s "$right" --json number add p 1 now=1
holds out.txt '"due":null,"state":"idle+down"'
for wrong_one in "redis://$at" "redis://:open%20barley@$at" "redis://ann:open%20barley@$at"; do
    lines 3 "$USHER" -s "$wrong_one" number add p 2
    holds err.txt 'usher: unavailable: '
    [ "$(wc -l <err.txt)" -eq 1 ] || wrong 'one line says why'
    if grep -q barley err.txt; then
        wrong 'the password is not shown'
    fi
    [ ! -s out.txt ] || wrong 'nothing is printed on standard output'
    lines 3 "$USHER" -s "$wrong_one" shell </dev/null
    holds out.txt '{"status":"unavailable","message":"'
done
lines 0 "$USHER" -s "$right" --json number stats p
holds out.txt '"due":null,"total":1,'

# Gone in the middle of a talk: what was answered stands, the rest is said to have failed.
mkfifo there back
"$USHER" -s "$right" shell <there >back 2>talk.err &
talk_pid=$!
exec 3>there 4<back
echo 'number add p 2' >&3
read -r line <&4
case $line in
'{"status":"ok",'*'"state":"idle+down"}') ;;
*) wrong "a number is added, not: $line" ;;
esac
kill "$redis_pid"
wait "$redis_pid"
redis_pid=
echo 'number add p 3' >&3
read -r line <&4
case $line in
'{"status":"unavailable","message":"'*) ;;
*) wrong "there is no store any more, not: $line" ;;
esac
exec 3>&- 4<&-
wait "$talk_pid" || wrong 'the shell ends with 0 all the same'
finish
