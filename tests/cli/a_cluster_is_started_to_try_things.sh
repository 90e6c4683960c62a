#!/bin/sh
# SPDX-License-Identifier: MIT
# examples/cluster.sh, as README shows it: a cluster comes up, each noun works on it, a replica
# takes over by hand, and nothing is left of it.
. "$(dirname "$0")/lib.sh"
export USHER
redis_and_client
cluster=${top_srcdir:-$OLDPWD}/examples/cluster.sh

lines 0 sh "$cluster" --help
holds out.txt 'usage: cluster.sh'
lines 1 sh "$cluster" --masters=two true
holds err.txt 'cluster.sh: --masters is not a number'
lines 1 sh "$cluster" --masters=2 true
holds err.txt 'at least 3 masters'
lines 1 env REDIS_SERVER="$dir/none" REDIS_CLI=true sh "$cluster" true
holds err.txt "there is no $dir/none"

mkdir full && : >full/file
lines 1 env REDIS_SERVER=true REDIS_CLI=true sh "$cluster" --dir="$dir/full" true
holds err.txt 'is not empty'

ln -sf "${USHER_REDIS_SERVER:-$(command -v redis-server || command -v redis-check-rdb)}" redis-server

# With the package redis-tools alone the server has another name.
mkdir only
ln -s /usr/bin/* only/
rm -f only/redis-server only/valkey-server only/redis-check-rdb only/redis-cli
ln -s "$(readlink redis-server)" only/redis-check-rdb
ln -s "$(command -v redis-cli)" only/redis-cli
lines 0 env -u REDIS_SERVER PATH="$dir/only" sh "$cluster" --replicas=0 true

REDIS_SERVER=$dir/redis-server
export REDIS_SERVER
cat >things.sh <<'EOF'
set -eu
"$USHER" number add desk 100 && "$USHER" number reg desk 100
"$USHER" number call desk owner=ann
"$USHER" queue login help bob
"$USHER" room open hall
"$USHER" serial rule inv prefix=INV- width=4 && "$USHER" serial take inv
"$USHER" id create orders && "$USHER" id next orders
"$USHER" status >before
# each replica takes over
sed -n 's/^replica 127.0.0.1:\([0-9]*\) of.*/\1/p' before >replicas
while read -r port; do
    redis-cli -p "$port" cluster failover >/dev/null
    until redis-cli -p "$port" role | grep -q master; do sleep 0.05; done
done <replicas
"$USHER" number call desk owner=ann
"$USHER" status >after
"$USHER" room list
"$USHER" check
exit 9
EOF
lines 9 sh "$cluster" --dir="$dir/nodes" sh things.sh
for text in 'ok: 100, token' 'INV-0001' 'ok: 1 room; hall' 'ok: 0 faults in'; do
    holds out.txt "$text"
done
holds out.txt 'same: 100, token'
[ "$(wc -l <replicas)" -eq 3 ] || wrong 'there are three replicas'
while read -r port; do
    holds after "master 127.0.0.1:$port"
done <replicas
# the processes are named by their directory
for file in /proc/[0-9]*/cmdline; do
    if [ -r "$file" ] && tr '\0' ' ' <"$file" 2>/dev/null | grep -qF "$dir/nodes"; then
        wrong "it is still there: $(tr '\0' ' ' <"$file")"
    fi
done
finish
