#!/bin/sh
# SPDX-License-Identifier: MIT
# Lists for people: tables with ages on a terminal, one line elsewhere, the same on every store that
# outlives a command.
. "$(dirname "$0")/lib.sh"
redis_too

cat >wanted <<'EOF'
$ number list sales
number  group  owner  state      token  until    calls_today  used       age  node
100     A      ann    busy+up        5  in 60 s            1  30 s ago  30 s  n1
1010                  idle+down
grün           bob    busy+up        7                     1  30 s ago  30 s
$ number list sales max=1
number  group  owner  state    token  until    calls_today  used       age  node
100     A      ann    busy+up      5  in 60 s            1  30 s ago  30 s  n1
more: after=100
$ number list sales owner=nobody
ok: 0 numbers
$ queue agents desk
agent  lanes  capacity  used  served  token  state  logged_in  since
bob    de,en         2     1       1      2  busy   30 s ago   30 s ago
eve    *             1                    3  idle   30 s ago   30 s ago
$ queue lanes desk
lane  seated  seated_today  service_level  arrived_today  within_today
en         1             1       100.00 %              1             1
$ queue list desk
ok: 0 rows
$ queue list desk state=seated
user  agent  lane  state   priority  since     applied   matched   token  visit_token  room                  visit
zed   bob    en    seated         3  30 s ago  30 s ago  30 s ago      5            4  E.2.1  E.5
$ serial holds inv
number  n  token  until     state  owner  serial
     1  1      2  in 4 min  held   ann    A-0001
     2  1      3            held   bob    A-0002
$ scopes id
scope  version
id/d         1
EOF

for store in $STORES; do
    case $store in
    memory:) continue ;;
    *clock=given*) url=$store ;;
    *) url="$store?clock=given" ;;
    esac
    while read -r line; do
        eval "\"\$USHER\" -s '$url' $line now=1000000" >/dev/null || wrong "$line"
    done <<'EOF'
number add sales 100 group=A
number add sales 1010
number add sales grün
number reg sales 100
number call sales number=100 owner=ann lease=90s node=n1
number reg sales grün
number call sales number=grün owner=bob
queue set desk ttl=0
queue login desk bob lanes=de,en capacity=2
queue login desk eve
queue apply desk zed lane=en priority=3
serial rule inv prefix=A- width=4 mode=gapfree
serial reserve inv owner=ann
serial reserve inv owner=bob lease=0
id create d
EOF
    sed -n 's/^\$ //p' wanted | while read -r line; do
        echo "\$ $line"
        case $line in
        scopes*) at= ;;
        *) at=now=1030000 ;;
        esac
        script -qec "\"$USHER\" -s '$url' $line $at" /dev/null </dev/null |
            tr -d '\r' | sed 's/[0-9a-f]\{16\}\./E./g'
    done >said
    number_of_check=$((number_of_check + 1))
    diff -u wanted said || wrong "tables on ${store%%:*}"
    number_of_check=$((number_of_check + 1))
    "$USHER" -s "$url" number list sales now=1030000 >said
    [ "$(wc -l <said)" = 1 ] || wrong 'elsewhere it is one line'
done
# By the real clock: a call that has just begun is not of the future, and a terminal is told how long
# an agent or a user may be silent.
terminal() {
    number_of_check=$((number_of_check + 1))
    script -qec "\"$USHER\" -s sqlite:$dir/now.db $*" /dev/null </dev/null | tr -d '\r' >said
}
if [ "${WITH_SQLITE:-yes}" = yes ]; then
    terminal number add p 1
    terminal number reg p 1
    for i in 1 2 3 4 5; do # a clock of whole seconds is wrong most of the time
        terminal number call p
        terminal number list p
        sed -n 2p said >row
        holds row ' ago'
        grep -q ' in ' row && wrong "nothing of a call without a lease is of the future: $(cat row)"
        terminal number free p all=1
    done
    terminal queue login q ann
    grep -qE '^until 2.*Z, unless `usher queue alive q agent=ann` comes before \(ttl=15s\)$' said ||
        wrong "login says until when: $(cat said)"
    terminal queue apply q zoe
    holds said '`usher queue alive q user=zoe`'
    terminal queue set q ttl=0
    terminal queue login q bob
    grep -q '^until' said && wrong 'without ttl there is no end'
    terminal --json queue login q eve
    grep -q '^until' said && wrong 'JSON is JSON alone'
    "$USHER" -s "sqlite:$dir/now.db" queue login q dan >said
    [ "$(wc -l <said)" = 1 ] || wrong 'elsewhere an answer is one line'
fi
finish
