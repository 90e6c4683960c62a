#!/bin/sh
# SPDX-License-Identifier: MIT
# Commands of every noun as values, from other languages: examples/any.py, in Python, gives them to
# memory and to SQLite and prints what is expected below.  examples/generic.c, in C, prints the same
# on SQLite, one command a process.  The shared library is the one that was built.
set -eu
: "${top_srcdir:=.}" "${top_builddir:=.}" "${CC:=cc}" "${WITH_SQLITE:=yes}"
command -v python3 >/dev/null || {
    echo 'no python3'
    exit 77
}
libs=$(cd "$top_builddir" && pwd)/.libs
USHER_LIBRARY=$libs/libusher.so.0
if [ ! -e "$USHER_LIBRARY" ]; then
    echo 'no shared library'
    exit 77
fi
LD_LIBRARY_PATH=$libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
PYTHONDONTWRITEBYTECODE=1
export USHER_LIBRARY LD_LIBRARY_PATH PYTHONDONTWRITEBYTECODE
dir=$(mktemp -d "${TMPDIR:-/tmp}/usher-binding.XXXXXX")
trap 'rm -rf "$dir"' EXIT
rc=0

any() { python3 "$top_srcdir/examples/any.py" "$@"; }

# Moments, ages, epochs and marks differ from run to run.
steady() {
    sed -E 's/=1[0-9]{12}( |$)/=TIME\1/g; s/(age|longest_hold|wait|wait_total)=[0-9]+/\1=MS/g; s/mark=[0-9]+/mark=M/; s/(room|visit)=[0-9a-f]+\./\1=EPOCH./g
        s/ epoch=[0-9]+/ epoch=E/; s/digest=[0-9a-f]{32}/digest=D/
        s/(order=.* sticky-max=[0-9]+ requests=[0-9]+).*/\1/' "$1"
}

same() {
    steady "$2" | diff "$dir/expected" - || {
        echo "$1: not as expected (what is <)"
        rc=1
    }
}

cat >"$dir/commands" <<'END_OF_COMMANDS'
number add sales 100 group=A
number reg sales 100
number set sales order=random rest=2000 strict=1
number call sales owner=ann lease=60000 group=A,*
number call sales owner=ann
number call sales owner=bob
number list sales state=busy
number hangup sales 100 token=3
number hangup sales token=4 number=100
number call sales owner=eve number=101
number hangup sales 100 token=none
number set sales order=best
number add sales 100 101
number add sales
number dial sales 100
queue login desk bob capacity=1
queue apply desk ann
queue stats desk
room open hall capacity=10
room join hall ann
room set hall topic "hello there"
room snapshot hall
serial rule inv prefix=R- width=4 check=luhn
serial fill inv n=3
serial take inv n=2
id create orders step=100
id next orders n=5
id show missing
room list
room list max=0
room patrol w1 every=1
number digest sales
serial list
serial journal inv
scopes
scopes noun=number
END_OF_COMMANDS
cat >"$dir/expected" <<'END_OF_EXPECTED'
ok version=1 state=idle+down
ok version=2 state=idle+up
ok version=3 order=random lease=0 rest=2000 daily=0 zone=0 strict=1 sticky=604800000 sticky-max=10000 requests=10000
ok version=4 state=busy+up token=4 until=TIME number=100
same version=4 state=busy+up token=4 until=TIME number=100
empty version=4 state=nodata why=busy next=TIME
ok version=4 more=0
  number=100 group=A owner=ann state=busy+up resting=0 token=4 until=TIME calls_today=1 used=TIME capped=0 age=MS
stale version=4 state=busy+up until=TIME
  number=100 owner=ann state=busy+up until=TIME
ok version=5 state=idle+up token=4 until=TIME
missing version=5 state=nodata number=101
invalid version=0
invalid version=0
invalid version=0
invalid version=0
invalid version=0
ok version=1 state=idle token=1 login=1 rooms=1 agent=bob
ok version=3 place=room token=3 agent=bob room=EPOCH.1.1 visit=EPOCH.3 visit_token=2
ok version=3 more=0 waiting=0 away=0 offered=0 seated=1 agents=1 agents_idle=0 agents_offered=0 agents_busy=1 agents_wrapup=0 agents_paused=0 longest_wait=MS longest_since=0 seated_today=1 abandoned_today=0 timeout_today=0 finished_today=0 service_level=10000 wait=MS dropped_today=0 visits=0 mode=open arrived_today=1 within_today=1 abandoned_within_today=0 service_seated=10000 arrived_total=1 seated_total=1 within_total=1 abandoned_total=0 abandoned_within_total=0 timeout_total=0 finished_total=0 dropped_total=0 wait_total=MS talk_total=0
ok version=1 state=open members=0 created=TIME capacity=10 linger=0 ttl=0 away=0 grace=0 log=256 requests=10000 presence=0 push=0
ok version=2 state=open state=here members=1 name=ann
ok version=3
ok version=3 state=open members=1 since=2 more=0 mark=M
  kind=field state=absent name=topic value=hello there version=3
  kind=member state=here name=ann value= version=2 since=TIME seen=TIME
ok version=1 cur=0 max=9223372036854775807 period=0 start=1 critical=0 batch=1000 reset=none stamp=take mode=queue lease=300000 requests=10000 authority=0 log=0 push=0 prefix=R- suffix= date= width=4 base=0 step=1 radix=10 check=luhn zone=0 overflow=refuse
ok version=2 count=3 left=9996
ok version=3 count=2 left=9996
  number=1 at=TIME serial=R-00018
  number=2 at=TIME serial=R-00026
ok version=1 next=1 max=100 step=100 start=1 step_first=100 by=1 limit=9223372036854775807 step-max=1000000 life=0 managed=0 requests=10000 log=0
ok version=2 first=1 n=5 next=6 max=100 step=100 by=1 token=2
missing version=0
ok version=0 more=0 partial=0
  since=TIME name=hall
invalid version=0
ok version=0 more=0 partial=0
  since=TIME name=hall
ok version=5 digest=D
ok version=0
  name=inv
invalid version=0
ok version=0 more=0 partial=0
  scope=number/sales items=1 due=TIME epoch=E version=5
  scope=queue/desk items=2 due=TIME epoch=E version=3
  scope=room/hall items=1 epoch=E version=3
  scope=serial/inv items=0 epoch=E version=3
  scope=id/orders items=0 epoch=E version=2
ok version=0 more=0 partial=0
  scope=number/sales items=1 due=TIME epoch=E version=5
END_OF_EXPECTED

status=0
any memory: <"$dir/commands" >"$dir/memory" 2>"$dir/memory.errors" || status=$?
same 'any.py on memory:' "$dir/memory"
if [ "$status" != 2 ]; then
    echo "any.py: exit status $status for commands of which the worst is wrong"
    rc=1
fi
grep -q 'token must be a number, not a text' "$dir/memory.errors" || {
    echo 'any.py does not say what is wrong:'
    cat "$dir/memory.errors"
    rc=1
}

# The exit status is the class of the status.
class() {
    expected=$1
    shift
    status=0
    any "$@" >/dev/null 2>&1 || status=$?
    if [ "$status" != "$expected" ]; then
        echo "any.py $*: exit status $status, not $expected"
        rc=1
    fi
}
class 0 memory: number add sales 100
class 1 memory: number call sales
class 2 memory: number add sales
class 3 sqlite:/nowhere/at/all.db number stats sales
class 2 nothing:

if [ "$WITH_SQLITE" = yes ]; then
    any "sqlite:$dir/any.db" <"$dir/commands" >"$dir/sqlite" 2>"$dir/sqlite.errors" || :
    same 'any.py on sqlite:' "$dir/sqlite"

    # CC may be several words.
    # shellcheck disable=SC2086
    $CC -std=gnu11 -I"$top_srcdir/include" -o "$dir/generic" "$top_srcdir/examples/generic.c" "$USHER_LIBRARY"
    while read -r line; do
        # The words of a line are quoted as in a shell.
        eval "set -- $line"
        "$dir/generic" "sqlite:$dir/generic.db" "$@" || :
    done <"$dir/commands" >"$dir/c" 2>"$dir/c.errors"
    same generic "$dir/c"
fi
exit "$rc"
