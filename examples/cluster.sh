#!/bin/sh
# SPDX-License-Identifier: MIT
# A Redis Cluster to try things with: three masters and three replicas on free ports of this machine,
# in a directory of their own.  Nothing of it outlives the script.
set -eu

usage() {
    cat <<EOF
usage: cluster.sh [--dir=DIR] [--masters=N] [--replicas=N] [COMMAND [ARGUMENT...]]

Starts a Redis Cluster of N masters (3) with N replicas (3) on free ports of 127.0.0.1, runs
COMMAND with USHER_STORE set to its URL, and ends with its exit code; without one it prints the
URL and waits until you press ctrl-C.  In the end all servers are stopped, and their directory is
removed, unless --dir says which one to use, new or empty.

  sh examples/cluster.sh usher number stats desk
  sh examples/cluster.sh sh     # a shell: try usher, and redis-cli -c -p PORT cluster failover

The server is \$REDIS_SERVER, else redis-server or valkey-server of the PATH, else the server in
Debian's package redis-tools; the client is \$REDIS_CLI, else redis-cli or valkey-cli.
EOF
}

die() {
    echo "cluster.sh: $*" >&2
    exit 1
}

# The first of these programs that there is.
first_of() {
    for program; do
        if command -v "$program" >/dev/null; then
            command -v "$program"
            return
        fi
    done
    return 1
}

number() {
    case $2 in
    '' | *[!0-9]* | ????*) die "$1 is not a number up to 999" ;;
    esac
}

dir=
masters=3
replicas=3
while [ $# -gt 0 ]; do
    case $1 in
    --help | -h) usage && exit ;;
    --dir=*) dir=${1#*=} ;;
    --masters=*) masters=${1#*=} && number --masters "$masters" ;;
    --replicas=*) replicas=${1#*=} && number --replicas "$replicas" ;;
    --) shift && break ;;
    -*) usage >&2 && exit 2 ;;
    *) break ;;
    esac
    shift
done
[ "$masters" -ge 3 ] || die "a cluster has at least 3 masters"

# redis-check-rdb is the same program under another name.
server=${REDIS_SERVER:-$(first_of redis-server valkey-server redis-check-rdb)} ||
    die "there is no redis-server; on Debian: apt-get install redis-tools"
client=${REDIS_CLI:-$(first_of redis-cli valkey-cli)} ||
    die "there is no redis-cli; on Debian: apt-get install redis-tools"
command -v "$server" >/dev/null || die "there is no $server"

pids=
own_dir=
stop() {
    trap '' HUP INT TERM
    for pid in $pids; do
        kill -9 "$pid" 2>/dev/null || :
        wait "$pid" 2>/dev/null || :
    done
    [ -z "$own_dir" ] || rm -rf "$own_dir"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' HUP TERM

if [ -z "$dir" ]; then
    own_dir=$(mktemp -d "${TMPDIR:-/tmp}/usher-cluster.XXXXXX")
    dir=$own_dir
fi
mkdir -p "$dir"
[ -z "$(ls -A "$dir")" ] || die "$dir is not empty"
dir=$(cd "$dir" && pwd)
case $server in
*/redis-check-rdb)
    ln -s "$server" "$dir/redis-server"
    server=$dir/redis-server
    ;;
esac

# ask PORT WORD...: what the server says; errors are no success.
ask() {
    at=$1
    shift
    said=$("$client" -h 127.0.0.1 -p "$at" "$@" 2>&1) || return 1
    case $said in
    ERR* | *'Could not connect'*) return 1 ;;
    esac
    printf '%s\n' "$said"
}

# They die with us even if we are killed, where there is setpriv.
with=
if command -v setpriv >/dev/null; then
    with='setpriv --pdeathsig KILL'
fi

# A port of which nobody has the one that is 10000 above, where the nodes talk to each other.
port=$((12000 + $$ % 9000))
urls=
ports=
n=0
while [ "$n" -lt $((masters + replicas)) ]; do
    port=$((port + 1))
    [ "$port" -lt 32000 ] || die "no ports are free"
    mkdir -p "$dir/$port"
    $with "$server" --port "$port" --bind 127.0.0.1 --dir "$dir/$port" --cluster-enabled yes \
        --cluster-config-file nodes.conf --cluster-node-timeout 3000 --appendonly yes \
        --save '' >"$dir/$port/log" 2>&1 &
    pid=$!
    tries=0
    until ask "$port" INFO server | grep -q "^process_id:${pid}[^0-9]*\$"; do
        tries=$((tries + 1))
        if ! kill -0 "$pid" 2>/dev/null; then # somebody has the port
            pid=
            break
        fi
        [ "$tries" -lt 200 ] || die "the server on port $port does not answer; see $dir/$port/log"
        sleep 0.05
    done
    if [ -z "$pid" ]; then
        rm -rf "${dir:?}/$port"
        continue
    fi
    pids="$pids $pid"
    ports="$ports $port"
    urls="$urls${urls:+,}127.0.0.1:$port"
    n=$((n + 1))
done

# The first one meets all.  Who does not answer in time is forgotten, so waiting meets again.
meet() {
    for other; do
        ask "$1" CLUSTER MEET 127.0.0.1 "$other" >/dev/null
    done
}

# One more of $1 tries, of which 20 take a second; the rest: what to say if they were too many.
try_again() {
    tries=$((tries + 1))
    [ "$tries" -lt "$1" ] || die "$2"
    # shellcheck disable=SC2086 # a list of ports
    [ $((tries % 60)) -gt 0 ] || meet $ports
    sleep 0.05
}

# They meet, the first ones share the slots, the others follow them in turn.
set_up() {
    meet "$@"
    n=0
    for port; do
        if [ "$n" -lt "$masters" ]; then
            ask "$port" CLUSTER ADDSLOTSRANGE $((16384 * n / masters)) \
                $((16384 * (n + 1) / masters - 1)) >/dev/null ||
                die "the server is too old: it has no CLUSTER ADDSLOTSRANGE (Redis 7.0)"
        fi
        n=$((n + 1))
    done
    n=0
    for port; do
        if [ "$n" -ge "$masters" ]; then
            of=$(((n - masters) % masters + 1))
            id=
            eval "id=\$(ask \"\${$of}\" CLUSTER MYID)"
            tries=0
            until ask "$port" CLUSTER REPLICATE "$id" | grep -q OK; do # until it has heard of it
                try_again 600 "the server on port $port follows nobody"
            done
        fi
        n=$((n + 1))
    done
    for port; do
        tries=0
        until ask "$port" CLUSTER INFO | grep -q 'cluster_state:ok' &&
            [ "$(ask "$port" CLUSTER SLOTS | grep -c '^[0-9a-f]\{40\}')" -eq $((masters + replicas)) ]; do
            try_again 600 "the cluster does not come together; see $dir/*/log"
        done
    done
}
# shellcheck disable=SC2086 # a list of ports
(set_up $ports) || exit 1

USHER_STORE="redis+cluster://$urls"
export USHER_STORE
if [ $# -gt 0 ]; then
    rc=0
    "$@" || rc=$?
    exit "$rc"
fi
failover=
if [ "$replicas" -gt 0 ]; then
    failover="
  $client -p ${ports##* } cluster failover     # a replica takes over"
fi
cat <<EOF
$USHER_STORE

$masters masters and $replicas replicas run in $dir.  In another terminal:

  export USHER_STORE='$USHER_STORE'
  usher number add desk 5550001
  usher number reg desk 5550001
  usher number call desk owner=ann
  usher status$failover
  usher number show desk 5550001

Press ctrl-C to stop them.
EOF
while :; do sleep 1; done
