#!/bin/sh
# SPDX-License-Identifier: MIT
# trace: the same options give the same bytes, on this machine and on any other; and what it
# makes is what it says.
. "$(dirname "$0")/lib.sh"

# sum CKSUM WORDS...: the POSIX cksum of what is printed.
sum() {
    number_of_check=$((number_of_check + 1))
    wanted=$1
    shift
    got=$("$USHER" trace "$@" 2>/dev/null | cksum)
    [ "$got" = "$wanted" ] || wrong "the sum of usher trace $* is $wanted (but it is $got)"
}
sum '481421329 147305'
sum '1646657302 313057' --calls=5000
sum '663917753 44596' --seed=2 --lambda=60 --lines=5 --service=300 --patience=30 --start=2000-02-29
sum '463949579 129' --seed=18446744073709551615 --calls=1

lines 0 "$USHER" trace --calls=3
cat >wanted.txt <<'EOF'
call,line,arrival_ms,patience_ms,service_ms,priority,lane,release_ms
1,L00001,1704114532373,56507,162109,0,sales,1704114694482
2,L00001,1704130476698,83686,197773,0,service,1704130674471
3,L00001,1704139939901,622203,5028,0,service,1704139944929
EOF
cmp wanted.txt out.txt || {
    wrong 'three calls are these'
    diff -u wanted.txt out.txt | sed 1,2d
}

# 20,000 calls: as many rows, in order, each line one call at a time, means as asked for
# (three times the standard error), peak hour 220 % of the mean.
lines 0 "$USHER" trace --calls=20000 --lines=500 --service=100 --patience=50 --seed=7
[ ! -s err.txt ] || wrong 'with 500 lines no call is left out'
awk -F, '
    function bad(what) { print "not so: " what; wrong = 1 }
    NR == 1 { if (NF != 8) bad("there are 8 columns"); next }
    {
        if ($1 != NR - 1) bad("calls are numbered")
        if ($3 < last) bad("arrivals are in order")
        last = $3
        if ($3 < busy[$2]) bad("a line has one call at a time: " $2)
        busy[$2] = $8
        if ($8 - $3 != $5) bad("a line is held for the service time")
        if ($3 < 1704067200000 || $3 >= 1704153600000) bad("all is on the day")
        n++; patience += $4; service += $5; priority += $6; lane[$7]++
        hour[int(($3 - 1704067200000) / 3600000)]++
    }
    function near(what, value, wanted, error) {
        if (value < wanted - 3 * error || value > wanted + 3 * error)
            bad(what " is near " wanted ", not " value)
    }
    END {
        if (n != 20000) bad("there are 20000 calls")
        near("service", service / n, 100000, 100000 / sqrt(n))
        near("patience", patience / n, 50000, 50000 / sqrt(n))
        near("priority", priority / n, .15, sqrt(.15 * .85 / n))
        near("lane service", lane["service"] / n, .7, sqrt(.7 * .3 / n))
        near("lane support", lane["support"] / n, .1, sqrt(.1 * .9 / n))
        near("the peak hour", hour[10], n * 220 / 2400, sqrt(n * 220 / 2400))
        near("the first hour", hour[0], n * 10 / 2400, sqrt(n * 10 / 2400))
        exit wrong
    }' out.txt || wrong 'a made-up day is as it says'

# A Poisson process has about as many as its rate says.
lines 0 "$USHER" trace --lambda=500 --lines=1000
rows=$(($(wc -l <out.txt) - 1))
if [ "$rows" -lt 11672 ] || [ "$rows" -gt 12328 ]; then
    wrong "500 an hour are about 12000 a day, not $rows"
fi
# One line cannot take them all.
lines 0 "$USHER" trace --lambda=500 --lines=1
holds err.txt 'calls found all lines busy and were left out'
mv out.txt day.csv
lines 0 "$USHER" -s memory: --json replay day.csv
holds out.txt '"refused":0,"doubles":0,"peak":1,'

# Callers who wait: as many as asked for, means and shares as the Erlang A model has them (14
# agents, 10 erlangs, patience 5/3 of the service time: 14.53 % wait, 1.40 % hang up; within
# four times what a hundred runs differ by).
lines 0 "$USHER" trace --agents=14 --lambda=200 --mu=20 --theta=12 --calls=50000 --seed=3
awk -F, '
    function bad(what) { print "not so: " what; wrong = 1 }
    NR == 1 { if ($0 !~ /,release_ms,wait_ms,agent$/) bad("the last columns tell what became of it"); next }
    {
        n++; waited += $9 > 0; gone += $10 == ""; sum += $9
        if ($10 == "" && $9 != $4) bad("who hangs up does so after its patience")
        if ($10 == "" && $8 != $3 + $9) bad("and gives back its line")
        if ($10 != "" && $8 != $3 + $9 + $5) bad("a line is held for wait and service: " $0)
        if ($10 != "" && $9 > $4) bad("nobody waits longer than its patience")
    }
    function near(what, value, wanted, error) {
        if (value < wanted - error || value > wanted + error)
            bad(what " is near " wanted ", not " value)
    }
    END {
        if (n != 50000) bad("there are 50000 calls")
        near("share that waits", waited / n, .14526, .02)
        near("share that hangs up", gone / n, .013984, .004)
        near("mean wait", sum / n, 4195, 1000)
        exit wrong
    }' out.txt || wrong 'a made-up centre is as it says'
awk -F, 'NR > 1 && $10 != "" { printf "%s %.0f %.0f\n", $10, $3 + $9, $8 }' out.txt | sort -k1,1 -k2,2n |
    awk '$1 == agent && $2 < end { exit 1 }
         { agents += $1 != agent; agent = $1; end = $3 }
         END { if (agents != 14) exit 1 }' || wrong 'each of 14 agents has one caller at a time'
sum '3332988101 7091' --agents=3 --lambda=60 --calls=100 --mu=15 --theta=30
sum '3332988101 7091' --agents=3 --lambda=60 --calls=100 --service=240 --patience=120

bad() {
    expect 2 "$USHER" trace "$1" <<EOF
! usher: invalid: $2
EOF
}
bad --calls=0 'calls is not a number from 1 to 5000000'
bad --lines=100001 'lines is not a number from 1 to 100000'
bad --lambda=x 'lambda is not a number from 1 to 200000'
bad --service=-1 'service is not a number from 1 to 86400'
bad --agents=10001 'agents is not a number from 1 to 10000'
bad --mu=0 'mu is not a number from 1 to 3600000'
bad --theta=0 'theta is not a number from 1 to 3600000'
bad --seed=18446744073709551616 'seed is not a number from 0 to 18446744073709551615'
bad --start=2023-02-29 'start is not a day YYYY-MM-DD since 1970'
bad --start=2023-2-9 'start is not a day YYYY-MM-DD since 1970'
bad --stort=2023-02-09 '`--stort=2023-02-09` is not an argument of `trace`'
expect 2 "$USHER" trace --calls=5 --lambda=5 <<'EOF'
! usher: invalid: calls and lambda exclude each other
EOF
expect 2 "$USHER" trace --service=5 --mu=5 <<'EOF'
! usher: invalid: service and mu exclude each other
EOF
expect 2 "$USHER" trace --patience=5 --theta=5 <<'EOF'
! usher: invalid: patience and theta exclude each other
EOF
expect 2 "$USHER" trace --agents=1 --lambda=1 --calls=1000000 <<'EOF'
! usher: invalid: these calls take more than 100 years at this lambda: fewer calls, or a larger lambda
EOF
finish
