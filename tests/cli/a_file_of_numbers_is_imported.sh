#!/bin/sh
# SPDX-License-Identifier: MIT
# number import: one number a line; bad lines are told of and left out; a repeat is harmless.
. "$(dirname "$0")/lib.sh"
redis_too

long=$(printf '%0256d' 0)
printf '# numbers\n100\n  101\t\r\n\n100\n"102"\nb\001d\n%s\n+49 30 1\nlast' "$long" >numbers
printf '' >empty
head -c 100000 /dev/urandom | tr '\0-\037\177\n' '\001' >garbage
awk 'BEGIN { for (i = 0; i < 5000; i++) print "n" i }' >many

for store in $STORES; do
    printf 'number import p numbers group=A now=1\nnumber import p numbers up=1 now=2\n' >in
    printf 'number import p numbers up=1 now=2 req=x\nnumber list p now=2\n' >>in
    expect 0 "$USHER" -s "$store" shell <<'EOF'
{"status":"ok","epoch":"E","version":5,"due":null,"added":5,"same":1,"bad":2}
{"status":"ok","epoch":"E","version":10,"due":null,"added":0,"same":6,"bad":2}
{"status":"same","epoch":"E","version":10,"due":null,"added":0,"same":6,"bad":2}
{"status":"ok","epoch":"E","version":10,"due":null,"numbers":[{"number":"\"102\"","state":"idle+up","group":"A","owner":null,"token":"0","until":null,"calls_today":0,"used":null,"resting":false,"capped":false,"age":0,"node":null},{"number":"+49 30 1","state":"idle+up","group":"A","owner":null,"token":"0","until":null,"calls_today":0,"used":null,"resting":false,"capped":false,"age":0,"node":null},{"number":"100","state":"idle+up","group":"A","owner":null,"token":"0","until":null,"calls_today":0,"used":null,"resting":false,"capped":false,"age":0,"node":null},{"number":"101","state":"idle+up","group":"A","owner":null,"token":"0","until":null,"calls_today":0,"used":null,"resting":false,"capped":false,"age":0,"node":null},{"number":"last","state":"idle+up","group":"A","owner":null,"token":"0","until":null,"calls_today":0,"used":null,"resting":false,"capped":false,"age":0,"node":null}],"next":null}
! usher: numbers:7: contains invalid UTF-8 or a control character
! usher: numbers:8: is longer than 255 bytes
! usher: numbers:7: contains invalid UTF-8 or a control character
! usher: numbers:8: is longer than 255 bytes
! usher: numbers:7: contains invalid UTF-8 or a control character
! usher: numbers:8: is longer than 255 bytes
EOF
    cp many in
    expect 0 "$USHER" -s "$store" --json number import q - up=1 now=1 <<'EOF'
{"status":"ok","epoch":"E","version":10000,"due":null,"added":5000,"same":0,"bad":0}
EOF
    : >in
    if [ "$store" != memory: ]; then
        expect 0 "$USHER" -s "$store" number import q many <<'EOF'
same: 0 added, 5000 there already, 0 bad lines
EOF
        expect 0 "$USHER" -s "$store" --json number import q empty <<'EOF'
{"status":"same","epoch":"E","version":10000,"due":null,"added":0,"same":0,"bad":0}
EOF
        expect 0 "$USHER" -s "$store" check <<'EOF'
ok: 0 faults in 2 scopes
EOF
    fi
    expect 0 "$USHER" -s "$store" --json number import r empty <<'EOF'
{"status":"same","epoch":"0","version":0,"due":null,"added":0,"same":0,"bad":0}
EOF
done

# A sentence and a row of a table are no numbers, and are named by their lines.
printf 'bad number\n+493,berlin\n+49 (30) 1-2\nsip:ann@example.org\n' >table
expect 0 "$USHER" -s memory: number import p table <<'EOF'
ok: 2 added, 0 there already, 2 bad lines
! usher: table:1: contains a blank and is not a phone number
! usher: table:2: contains a comma: the file has one number a line
EOF

lines 2 "$USHER" -s memory: --json number import p garbage </dev/null
holds out.txt '{"status":"invalid","message":"no line of the file is a number: '
holds err.txt 'usher: garbage:1: is '
if grep -q "$(printf '[\001\377]')" err.txt; then
    wrong 'garbage is not shown as it is'
fi
awk 'BEGIN { for (i = 0; i < 30; i++) print "a\001" i; print "good" }' >bad
lines 0 "$USHER" -s memory: number import p bad </dev/null
holds out.txt 'ok: 1 added, 0 there already, 30 bad lines'
holds err.txt 'usher: … and 20 more bad lines'
[ "$(wc -l <err.txt)" -eq 11 ] || wrong 'ten bad lines are told of one by one'
head -c 3000000 /dev/zero | tr '\0' 7 >one
printf '\n1\n' >>one
lines 0 "$USHER" -s memory: number import p one </dev/null
holds out.txt 'ok: 1 added, 0 there already, 1 bad lines'
holds err.txt 'usher: one:1: is longer than 255 bytes'

# As an editor on Windows writes it: a mark at the beginning, CR LF, no end of the last line.
printf '\357\273\277100\r\n\r\n  200\r\n100' >windows
printf 'number import p windows now=1\nnumber show p 100 now=1\n' >in
expect 0 "$USHER" -s memory: shell <<'EOF'
{"status":"ok","epoch":"E","version":2,"due":null,"added":2,"same":1,"bad":0}
{"status":"ok","epoch":"E","version":2,"due":null,"number":"100","state":"idle+down","group":null,"owner":null,"token":"0","until":null,"calls_today":0,"used":null,"resting":false,"capped":false,"age":0,"node":null}
EOF
: >in

expect 2 "$USHER" -s memory: number import p nowhere <<'EOF'
! usher: invalid: file nowhere: No such file or directory
EOF
expect 2 "$USHER" -s memory: number import p . <<'EOF'
! usher: invalid: .: Is a directory (0 numbers were added before)
EOF
expect 2 "$USHER" -s memory: number import 'a{b}c' numbers <<'EOF'
! usher: invalid: pool contains a brace
EOF
expect 2 "$USHER" -s memory: number import p <<'EOF'
! usher: invalid: file is missing
EOF
expect 2 "$USHER" -s memory: number import p numbers up=2 <<'EOF'
! usher: invalid: up is not a number from 0 to 1
EOF
expect 2 "$USHER" -s memory: number import p numbers group=A,B <<'EOF'
! usher: invalid: group contains a comma
EOF
expect 2 "$USHER" -s memory: number import p numbers owner=a <<'EOF'
! usher: invalid: `owner=a` is not an argument of `number import`
EOF
expect 2 "$USHER" -s memory: number import p numbers now=x <<'EOF'
! usher: invalid: now is not a number from 0 to 253402300799999
EOF
# What some programs put before UTF-8 is part of no number, command or column.
printf '\357\273\2771\r\n2\n' >marked.txt
printf '\357\273\277number import m marked.txt\nnumber list m max=1\n' >in
lines 0 "$USHER" -s memory: shell -e <in
holds out.txt '"added":2,"same":0,"bad":0}'
holds out.txt '"numbers":[{"number":"1",'
# Both notices of a number have the actor.
printf 'number set m log=9\nnumber import m marked.txt up=1 actor=op\nnumber changes m since=1 max=2\n' >in
lines 0 "$USHER" -s memory: shell -e <in
holds out.txt '"verb":"reg","subject":"1","from":"idle+down","to":"idle+up","data":{"actor":"op"}'
printf '\357\273\277line,arrival_ms,release_ms\n1,2,3\n' >marked.csv
lines 0 "$USHER" -s memory: replay marked.csv
finish
