#!/bin/sh
# SPDX-License-Identifier: MIT
# Rows are the behaviour: in a copy of the tree a few rows of the tables are changed and nothing else,
# and memory, SQLite and Redis do what they say now, numbers the short way too.  Needs what building
# needs.  Run by `make check-long'.
set -eu
source=$(cd "${top_srcdir:-$(dirname "$0")/..}" && pwd)
copy=$(mktemp -d "${TMPDIR:-/tmp}/usher-rows.XXXXXX")
trap 'rm -rf "$copy"' EXIT
trap 'exit 99' HUP INT TERM
(cd "$source" && tar -cf - --exclude=./build --exclude=./.git .) | (cd "$copy" && tar -xf -)

# change FILE FROM TO: one row of FILE; blanks are as many as there are.
change() {
    sed "s/^$2/$3/" "$copy/src/core/$1.def" >"$copy/changed"
    if cmp -s "$copy/changed" "$copy/src/core/$1.def"; then
        echo "$1.def has no such row: $2"
        exit 1
    fi
    cat "$copy/changed" >"$copy/src/core/$1.def"
}
# a busy number is not unregistered, and after its call it has to register again
change number 'T(BUSY_UP, *UNREG, *ANY, *BUSY_DOWN, *OK,' 'T(BUSY_UP, UNREG, ANY, BUSY_UP, REFUSED,'
change number 'T(BUSY_UP, *HANGUP, *ANY, *IDLE_UP,' 'T(BUSY_UP, HANGUP, ANY, IDLE_DOWN,'
# one that is not registered is called all the same: it stands in the idle list
change number 'S(IDLE_DOWN, *1, *"idle+down", *NONE,' 'S(IDLE_DOWN, 1, "idle+down", RESTED,'
change number 'T(IDLE_DOWN, *CALL, *ANY, *IDLE_DOWN, *REFUSED,' 'T(IDLE_DOWN, CALL, ANY, BUSY_DOWN, OK,'
# an idle agent does not pause; a seated user that leaves waits again
change agent 'T(IDLE, *PAUSE, *ANY, *PAUSED, *OK,' 'T(IDLE, PAUSE, ANY, IDLE, REFUSED,'
change user 'T(SEATED, *LEAVE, *ANY, *GONE,' 'T(SEATED, LEAVE, ANY, WAITING,'
# a locked room is for everybody; who is in does not leave
change room 'T(LOCKED, *JOIN, *ANY, *LOCKED, *REFUSED,' 'T(LOCKED, JOIN, ANY, LOCKED, OK,'
change member 'T(HERE, *LEAVE, *ANY, *ABSENT, *OK,' 'T(HERE, LEAVE, ANY, HERE, REFUSED,'
# what is voided goes out again
change serial 'T(HELD, *VOID, *ANY, *VOIDED,' 'T(HELD, VOID, ANY, RETURNED,'

mkdir "$copy/build"
(cd "$copy/build" && ../configure --disable-shared CFLAGS='-O0' >log 2>&1 &&
    make -s -j "$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)" >>log 2>&1) || {
    tail -n 20 "$copy/build/log"
    echo 'the copy of the tree cannot be built'
    exit 99
}
USHER=$copy/build/usher
export USHER
. "$source/tests/cli/lib.sh"
trap 'gone; rm -rf "$copy"' EXIT
redis_too

cat >commands <<'END'
number add desk n1
number call desk owner=ann
number hangup desk n1 token=2
number reg desk n1
number call desk owner=bob
number unreg desk n1
number hangup desk n1 token=5
number show desk n1
queue login help ann
queue pause help ann
queue set help trigger=timer
queue apply help u1
queue match help
queue leave help u1
queue where help u1
room open hall
room lock hall
room join hall eve
room leave hall eve
serial rule bill mode=gapfree
serial reserve bill
serial void bill 1 token=2
serial reserve bill
END
# Of each answer its status, and the state or place that it tells.
words() {
    "$USHER" -s "$1" --json shell |
        sed -e 's/^{"status":"\([a-z]*\)"/\1 /' -e 's/ .*"state":"\([a-z+]*\)".*/ \1/' \
            -e 's/ .*"place":"\([a-z]*\)".*/ \1/' -e 's/ ,.*//'
}
# the short way is not right for these rows: nobody goes it
expect 0 sh -c '"$USHER" tables number --lua | grep SHORT_WAY' <<'END'
local SHORT_WAY = false
END
cp commands in
for store in $STORES; do
    expect 0 words "$store" <<'END'
ok idle+down
ok busy+down
ok idle+down
ok idle+up
ok busy+up
refused busy+up
ok idle+down
ok idle+down
ok idle
refused idle
ok
ok queue
ok seated
ok idle
ok queue
ok open
ok locked
ok here
refused here
ok
ok held
ok returned
ok held
END
done
finish
