#!/bin/sh
# SPDX-License-Identifier: MIT
# A day of 5000 made-up calls, replayed on a SQLite file: who waited, who was served, what the
# numbers, queues, rooms, serials and ids did.  The same seed gives the same day.
#
#   sh examples/demo.sh          in a temporary folder, which is gone afterwards
#   sh examples/demo.sh FOLDER   keeps the calls and the store there: FOLDER/day.db
#
# The program is $USHER, else `usher' of the PATH.
set -eu
usher=${USHER:-usher}
case $usher in
/*) ;;
*/*) usher=$PWD/$usher ;;
esac

if [ $# != 0 ]; then
    dir=$1
    mkdir -p "$dir"
    rm -f "$dir/day.db" "$dir/day.db-wal" "$dir/day.db-shm"
else
    dir=$(mktemp -d "${TMPDIR:-/tmp}/usher-demo.XXXXXX")
    trap 'rm -rf "$dir"' EXIT
    trap 'exit 1' HUP INT TERM
fi

cd "$dir"

"$usher" trace --seed=1 --calls=5000 >day.csv
echo "A day of $(($(wc -l <day.csv) - 1)) calls, made by: usher trace --seed=1 --calls=5000"
echo "Replayed by: usher -s sqlite:day.db replay day.csv --format=csv"
echo
"$usher" -s sqlite:day.db replay day.csv --format=csv

echo
"$usher" trace --seed=1 --calls=5000 --agents=22 --lambda=400 >centre.csv
echo "A call centre whose callers wait, made by: usher trace --calls=5000 --agents=22 --lambda=400"
echo "The same callers and agents in a queue: usher -s sqlite:day.db replay centre.csv --agents=22 --pool=centre"
echo
"$usher" -s sqlite:day.db replay centre.csv --agents=22 --pool=centre | sed -n '/given out/,$p'
