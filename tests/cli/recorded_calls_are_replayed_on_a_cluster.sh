#!/bin/sh
# SPDX-License-Identifier: MIT
# The other script of this name, with a cluster among the stores: it comes to the same there.
. "$(dirname "$0")/lib.sh"
redis_and_client
top=${top_srcdir:-$OLDPWD}
ln -sf "${USHER_REDIS_SERVER:-$(command -v redis-server || command -v redis-check-rdb)}" redis-server
cat >replay.sh <<'EOF'
"$USHER" --json replay "$2" --agents=12 >cluster.json &&
    USHER_TEST_STORES=$USHER_STORE sh "$1/tests/cli/recorded_calls_are_replayed.sh"
EOF
"$USHER" trace --agents=12 --lambda=240 --mu=20 --theta=15 --calls=2000 --seed=5 >centre.csv
export USHER
lines 0 env REDIS_SERVER="$dir/redis-server" sh "$top/examples/cluster.sh" --replicas=0 \
    sh replay.sh "$top" centre.csv
lines 0 "$USHER" -s memory: --json replay centre.csv --agents=12
for file in cluster.json out.txt; do
    sed -e 's/"seconds":[0-9.]*\(,"per_second":[0-9]*\)*/S/g' $file >$file.timeless
done
cmp cluster.json.timeless out.txt.timeless || wrong 'a cluster answers as memory does'
finish
