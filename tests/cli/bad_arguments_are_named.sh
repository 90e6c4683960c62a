#!/bin/sh
# SPDX-License-Identifier: MIT
# What is wrong with an argument is said with its name, nothing is cut to fit, and nothing
# changes.
. "$(dirname "$0")/lib.sh"
redis_too

long=$(printf '%0256d' 0)
fits=$(printf '%0255d' 0)

for store in $STORES; do
    talk "$store" <<EOF
> number add p 100 now=1
{"status":"ok","epoch":"E","version":1,"due":null,"state":"idle+down"}
> number add a{b}c 1
{"status":"invalid","message":"pool contains a brace"}
> number add $long 1
{"status":"invalid","message":"pool is longer than 255 bytes"}
> number add p $long
{"status":"invalid","message":"number is longer than 255 bytes"}
> number add p $fits now=1
{"status":"ok","epoch":"E","version":2,"due":null,"state":"idle+down"}
> number add
{"status":"invalid","message":"pool is missing"}
> number
{"status":"invalid","message":"verb is missing: usher number VERB POOL …"}
> number add p
{"status":"invalid","message":"number is missing"}
> number add p group=A
{"status":"invalid","message":"number is missing"}
> number add now=5 1
{"status":"invalid","message":"pool is missing"}
> number add p 1 2
{"status":"invalid","message":"\`2\`: too many arguments for \`number add\`"}
> number add p 1 $long
{"status":"invalid","message":"\`000000000000000000000000000000000000000000000000000000000000…\`: too many arguments for \`number add\`"}
> number add p 1 number=2
{"status":"invalid","message":"number is given twice"}
> number add p 1 group=A group=A
{"status":"invalid","message":"group is given twice"}
> number add p 1 wait=0
{"status":"invalid","message":"wait is not a number from 1 to 255"}
> number add p 1 wait=256
{"status":"invalid","message":"wait is not a number from 1 to 255"}
> number add p 1 wait=1 wait=1
{"status":"invalid","message":"wait is given twice"}
> room set r a 1 session=5
{"status":"invalid","message":"session= is reserved; put it after -- to use it as a field"}
> room join r heir=5
{"status":"invalid","message":"heir= is reserved; put it after -- to use it as a field"}
> room set r a 1 sessions=5
{"status":"missing","epoch":"0","version":0,"due":null}
> room set r a 1 -- session=5 if=6
{"status":"missing","epoch":"0","version":0,"due":null}
> room open r session=5
{"status":"invalid","message":"session is not an argument of \`room open\`"}
> room list wait=1
{"status":"invalid","message":"wait is not an argument of \`room list\`"}
> number add p 1 group=A,B
{"status":"invalid","message":"group contains a comma"}
> number add p 1 group=*
{"status":"invalid","message":"group must not be *, which means any"}
> number add p 1 group=
{"status":"invalid","message":"group is empty"}
> number call p group=A,,B
{"status":"invalid","message":"group contains an empty name"}
> number call p group=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17
{"status":"invalid","message":"group has more than 16 names"}
> number call p lease=-1
{"status":"invalid","message":"lease is not a duration from 0 to 3153600000000 ms, or as 90s, 5m, 2h, 1d"}
> number call p lease=3153600000001
{"status":"invalid","message":"lease is not a duration from 0 to 3153600000000 ms, or as 90s, 5m, 2h, 1d"}
> number call p lease=99999999999999999999999999999
{"status":"invalid","message":"lease is not a duration from 0 to 3153600000000 ms, or as 90s, 5m, 2h, 1d"}
> number call p lease=1e3
{"status":"invalid","message":"lease is not a duration from 0 to 3153600000000 ms, or as 90s, 5m, 2h, 1d"}
> number call p lease=+1
{"status":"invalid","message":"lease is not a duration from 0 to 3153600000000 ms, or as 90s, 5m, 2h, 1d"}
> number call p lease=0x10
{"status":"invalid","message":"lease is not a duration from 0 to 3153600000000 ms, or as 90s, 5m, 2h, 1d"}
> number call p "lease= 1"
{"status":"invalid","message":"lease is not a duration from 0 to 3153600000000 ms, or as 90s, 5m, 2h, 1d"}
> number call p lease=
{"status":"invalid","message":"lease is not a duration from 0 to 3153600000000 ms, or as 90s, 5m, 2h, 1d"}
> number call p lease=1S
{"status":"invalid","message":"lease is not a duration from 0 to 3153600000000 ms, or as 90s, 5m, 2h, 1d"}
> number call p lease=1h30m
{"status":"invalid","message":"lease is not a duration from 0 to 3153600000000 ms, or as 90s, 5m, 2h, 1d"}
> number call p lease=1.5s
{"status":"invalid","message":"lease is not a duration from 0 to 3153600000000 ms, or as 90s, 5m, 2h, 1d"}
> number call p lease=s
{"status":"invalid","message":"lease is not a duration from 0 to 3153600000000 ms, or as 90s, 5m, 2h, 1d"}
> number call p lease=36501d
{"status":"invalid","message":"lease is not a duration from 0 to 3153600000000 ms, or as 90s, 5m, 2h, 1d"}
> number call p lease=99999999999999999999d
{"status":"invalid","message":"lease is not a duration from 0 to 3153600000000 ms, or as 90s, 5m, 2h, 1d"}
> room patrol w every=0s
{"status":"invalid","message":"every is not a duration from 1 to 3153600000000 ms, or as 90s, 5m, 2h, 1d"}
> number call p lease=1 lease=1
{"status":"invalid","message":"lease is given twice"}
> number call p now=253402300800000
{"status":"invalid","message":"now is not a number from 0 to 253402300799999"}
> number call p now=-1
{"status":"invalid","message":"now is not a number from 0 to 253402300799999"}
> number call p req=
{"status":"invalid","message":"req is empty"}
> number call p req=$long
{"status":"invalid","message":"req is longer than 255 bytes"}
> number hangup p 100 token=three
{"status":"invalid","message":"token is not a number from 0 to 18446744073709551615"}
> number hangup p 100 token=18446744073709551616
{"status":"invalid","message":"token is not a number from 0 to 18446744073709551615"}
> number hangup p 100 token=-1
{"status":"invalid","message":"token is not a number from 0 to 18446744073709551615"}
> number renew p 100
{"status":"invalid","message":"token is missing"}
> number renew p 100 token=1 node=m
{"status":"invalid","message":"number and node together need owner"}
> number renew p 100 token=1 owner=a after=1
{"status":"invalid","message":"after and number exclude each other"}
> number renew p owner=a node=m
{"status":"invalid","message":"owner needs number"}
> number renew p token=1 node=m
{"status":"invalid","message":"token needs number"}
> number renew p owner=a
{"status":"invalid","message":"number or node is missing"}
> number set p zone=-1441
{"status":"invalid","message":"zone is not a number from -1440 to 1440"}
> number set p strict=2
{"status":"invalid","message":"strict is not a number from 0 to 1"}
> number set p order=fifo
{"status":"invalid","message":"order is none of longest-idle, most-recent, random"}
> number list p state=nodata
{"status":"invalid","message":"state is none of idle+down, idle+up, busy+down, busy+up, busy"}
> number list p max=0
{"status":"invalid","message":"max is not a number from 1 to 10000"}
> number list p onwer=a
{"status":"invalid","message":"onwer is not an argument of \`number list\`; did you mean owner=?"}
> number list p colour=red
{"status":"invalid","message":"colour is not an argument of \`number list\`"}
> number list p $long=red
{"status":"invalid","message":"000000000000000000000000000000000000000000000000000000000000… is not an argument of \`number list\`"}
> number cal p
{"status":"invalid","message":"\`number\` has no verb \`cal\`; did you mean \`call\`?"}
> number dance p
{"status":"invalid","message":"\`number\` has no verb \`dance\`; \`usher help number\` lists them"}
> numbr add p 1
{"status":"invalid","message":"unknown command \`numbr\`; did you mean \`number\`?"}
> bottom
{"status":"invalid","message":"unknown command \`bottom\`; \`usher help\` lists the commands"}
> drp number/p
{"status":"invalid","message":"unknown command \`drp\`; \`usher help\` lists the commands"}
> room clos r
{"status":"invalid","message":"\`room\` has no verb \`clos\`; \`usher help room\` lists them"}
> tango
{"status":"invalid","message":"unknown command \`tango\`; \`usher help\` lists the commands"}
> shell
{"status":"invalid","message":"this is the shell"}
> number stats p now=1
{"status":"ok","epoch":"E","version":2,"due":null,"total":2,"idle_up":0,"idle_down":2,"busy_up":0,"busy_down":0,"resting":0,"calls_today":0,"refused_today":0,"longest_hold":0,"capped":0,"mode":"open","calls_total":0,"refused_total":0,"hangups_total":0,"expired_total":0,"freed_total":0}
EOF
done

# Two that exclude each other, or one that must be there: the library's word.
printf 'number call p number=1 group=A\nnumber list p owner=a node=b\nnumber free p\nnumber renew p\n' >in
lines 0 "$USHER" -s memory: shell <in
holds out.txt '"status":"invalid"'
if grep -qv '"status":"invalid"' out.txt; then
    wrong 'number and group, owner and node exclude each other; nobody is freed or renewed by name'
fi
finish
