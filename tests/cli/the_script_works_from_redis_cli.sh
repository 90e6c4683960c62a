#!/bin/sh
# SPDX-License-Identifier: MIT
# What `usher lua number` prints is complete: loaded by hand, it takes the events of a number
# with the keys of the pool, or with its name as the only one, and `usher' sees the same pool.
. "$(dirname "$0")/lib.sh"
redis_and_client
redis_too
cli() {
    redis-cli -s "$dir/redis.sock" "$@"
}
# From standard input: the text of a noun is longer than one argument of a command may be.
for noun in queue room serial id number; do
    sha=$("$USHER" lua $noun | cli -x SCRIPT LOAD)
    [ ${#sha} -eq 40 ] || wrong "the script of $noun can be loaded: $sha"
    twice=$("$USHER" tables $noun --lua | sed -n 's/^local \([A-Z_0-9]*\) =.*/\1/p' | sort | uniq -d)
    [ -z "$twice" ] || wrong "a constant of $noun has one value: $twice"
done

# event STATUS STATE WORDS...: what the answer has in it.
event() {
    number_of_check=$((number_of_check + 1))
    status=$1
    state=$2
    shift 2
    # $keys is several words
    got=$(cli EVALSHA "$sha" $keys "$@" | tr '\n' ' ')
    case "$got" in
    "status $status epoch "*" state $state "*) ;;
    *) wrong "$* is answered with $status and $state, not: $got" ;;
    esac
}
keys='3 {numpool}:number {numpool}:number:index {numpool}:number:held'
event missing nodata reg 123456
event ok idle+down add 123456
event same idle+down add 123456
event refused idle+down call 123456
event ok idle+up reg 123456
event ok busy+up call 123456
event refused busy+up call 123456
keys='1 {numpool}'
event ok busy+down unreg 123456
event ok idle+down hangup 123456
event refused idle+down hangup 123456
event ok idle+up reg 123456
event ok busy+up call
lines 0 "$USHER" -s "redis+unix://$dir/redis.sock" --json number show numpool 123456 now=1
version=$(sed -n 's/.*"version":\([0-9]*\),.*/\1/p' out.txt)
holds out.txt '"due":null,"number":"123456","state":"busy+up","group":null,"owner":null,"token":"'"$version"'",'
lines 0 "$USHER" -s "redis+unix://$dir/redis.sock" check

# A script with a constant that no table has cannot be made.
for noun in number queue room serial id; do
    number_of_check=$((number_of_check + 1))
    "$USHER" lua $noun >script.txt || wrong "the script of $noun"
done
finish
