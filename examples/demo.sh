#!/bin/sh
# SPDX-License-Identifier: MIT
# A day of 5000 made-up calls, replayed on a SQLite file: who waited, who was served, what the
# numbers, queues, rooms, serials and ids did.  The same seed gives the same day.
#
# The program is $USHER, else `usher' of the PATH.
set -eu
usher=${USHER:-usher}
case $usher in
/*) ;;
*/*) usher=$PWD/$usher ;;
esac

dir=$(mktemp -d "${TMPDIR:-/tmp}/usher-demo.XXXXXX")
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

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
