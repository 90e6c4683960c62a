#!/bin/sh
# SPDX-License-Identifier: MIT
# A store that is broken, absent or not ours: a clear word, an exit code, and no change.
. "$(dirname "$0")/lib.sh"

# fails RC STORE WORDS...: and prints one line on standard error that begins so.
fails() {
    rc=$1
    store=$2
    shift 2
    lines "$rc" "$USHER" -s "$store" "$@" </dev/null
    [ ! -s out.txt ] || wrong "$store: nothing is printed on standard output"
    [ "$(wc -l <err.txt)" -eq 1 ] || {
        wrong "$store: one line says why"
        cat err.txt
    }
    if [ "$rc" = 2 ]; then
        holds err.txt 'usher: invalid: '
    else
        holds err.txt 'usher: unavailable: '
    fi
    lines 0 "$USHER" -s "$store" help
    lines "$rc" "$USHER" -s "$store" --json "$@" </dev/null
    holds out.txt '{"status":"'
    holds out.txt '","message":"'
    lines "$rc" "$USHER" -s "$store" shell </dev/null
    holds out.txt '","message":"'
}

fails 2 '' number stats p
fails 2 usher.db number stats p
fails 2 oracle:x number stats p
fails 2 'memory:?speed=9' number stats p
fails 2 'memory:?timeout=x' number stats p
fails 2 'memory:?timeout' number stats p

# What is a store elsewhere is not called unknown.
"$USHER" -s oracle:x number stats p 2>err.txt
holds err.txt 'unknown store `oracle:`'
without=TLS
[ "${WITH_REDIS:-yes}" = yes ] || without=Redis
for pair in sqlite:SQLite:${WITH_SQLITE:-yes} redis:Redis:${WITH_REDIS:-yes} \
    redis+unix:Redis:${WITH_REDIS:-yes} redis+cluster:Redis:${WITH_REDIS:-yes} \
    redis+sentinel:Redis:${WITH_REDIS:-yes} rediss:$without:${WITH_TLS:-yes} \
    rediss+cluster:$without:${WITH_TLS:-yes} rediss+sentinel:$without:${WITH_TLS:-yes}; do
    scheme=${pair%%:*}
    case $pair in
    *:yes) continue ;;
    esac
    name=${pair#*:}
    fails 2 "$scheme://127.0.0.1:1" number stats p
    "$USHER" -s "$scheme://127.0.0.1:1" number stats p 2>err.txt
    holds err.txt "open: $scheme: this is built without ${name%%:*}"
done

if [ "${WITH_SQLITE:-yes}" = yes ]; then
    fails 2 'sqlite:a.db?sync=never' number stats p
    fails 2 'sqlite:' number stats p
    fails 3 sqlite:nowhere/a.db number stats p
    fails 3 sqlite:. number stats p
    # /proc takes no files, not even from root
    [ ! -d /proc/self ] || lines 3 "$USHER" -s sqlite:/proc/usher.db number add p 1
    if [ "$(id -u)" -ne 0 ]; then
        mkdir shut && chmod 500 shut
        lines 3 "$USHER" -s sqlite:shut/a.db number add p 1
        chmod 700 shut
    fi

    # Garbage, a file of somebody else's, a file cut short, a page overwritten.
    head -c 20000 /dev/urandom >garbage.db
    cp garbage.db copy
    fails 2 sqlite:garbage.db number stats p
    cmp garbage.db copy || wrong 'a file that is not ours stays as it is'

    seq=$(awk 'BEGIN { for (i = 0; i < 3000; i++) print "number-" i }')
    echo "$seq" >numbers
    lines 0 "$USHER" -s sqlite:good.db number import p numbers up=1
    lines 0 "$USHER" -s sqlite:good.db number call p owner=a
    lines 0 "$USHER" -s sqlite:good.db check
    cp good.db torn.db
    size=$(wc -c <good.db)
    # every second page but the first
    i=8192
    while [ "$i" -lt "$size" ]; do
        dd if=/dev/urandom of=torn.db bs=4096 seek=$((i / 4096)) count=1 conv=notrunc 2>/dev/null
        i=$((i + 8192))
    done
    "$USHER" -s sqlite:torn.db --json check >out.txt 2>err.txt
    got=$?
    case $got in
    1 | 3) ;;
    *) wrong "check finds that pages were overwritten, with 1 or 3 (not $got)"
       cat out.txt err.txt ;;
    esac
    head -c $((size / 2)) good.db >short.db
    "$USHER" -s sqlite:short.db check >out.txt 2>err.txt
    got=$?
    case $got in
    1 | 2 | 3) ;;
    *) wrong "check finds that half of the file is missing (not $got)"
       cat out.txt err.txt ;;
    esac
fi

if [ "${WITH_REDIS:-yes}" = yes ]; then
    # Nobody listens on port 1.
    fails 3 redis://127.0.0.1:1 number stats p
    fails 3 redis+unix:///nowhere/socket number stats p
    fails 2 redis://127.0.0.1:99999 number stats p
    fails 2 'redis://127.0.0.1:1?speed=9' number stats p
    fails 2 'redis://127.0.0.1:1?ca=x' number stats p
    fails 3 'redis://127.0.0.1:1,127.0.0.1:2' number stats p
    fails 2 'redis://127.0.0.1:1,' number stats p
    fails 3 redis+sentinel://127.0.0.1:1/calls number stats p
    fails 2 redis+sentinel://127.0.0.1:1 number stats p
    fails 3 redis+cluster://127.0.0.1:1 number stats p
    fails 3 'redis+cluster://127.0.0.1:1,[::1]:1' number stats p
    fails 2 redis+cluster://127.0.0.1:1/2 number stats p
    "$USHER" -s redis+cluster://127.0.0.1:1/2 number stats p 2>err.txt
    holds err.txt 'a cluster has only 0'
fi
finish
