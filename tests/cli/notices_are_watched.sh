#!/bin/sh
# SPDX-License-Identifier: MIT
# watch: notices of this process in the shell, and of any process from the log of a scope.
. "$(dirname "$0")/lib.sh"
redis_too

# In the shell: told before the answer to the command that made the change.
for store in $STORES; do
    cat >in <<'EOT'
watch room/R number/P
room open R now=1000
number add P 7 now=1000
room join R ann name=Ann now=2000
room share R ann board now=2000
room close R now=3000
EOT
    expect 0 "$USHER" -s "$store" shell -e <<'EOT'
{"status":"ok","watched":2}
{"scope":"room/R","epoch":"E","version":1,"verb":"open","subject":null,"from":"closed","to":"open","data":{"capacity":"0","linger":"0","ttl":"0","away":"0","grace":"0","log":"256","requests":"10000","presence":"0","push":"0"},"owner":null,"time":1000,"was":0,"mark":3096312045019270}
{"status":"ok","epoch":"E","version":1,"due":null,"state":"open","capacity":0,"linger":0,"ttl":0,"away":0,"grace":0,"log":256,"requests":10000,"presence":0,"push":0}
{"scope":"number/P","epoch":"E","version":1,"verb":"add","subject":"7","from":"nodata","to":"idle+down","data":{},"owner":null,"time":1000}
{"status":"ok","epoch":"E","version":1,"due":null,"state":"idle+down"}
{"scope":"room/R","epoch":"E","version":2,"verb":"join","subject":"ann","from":"absent","to":"here","data":{"name":"Ann"},"owner":null,"time":2000,"was":3096312045019270,"mark":4054659164405782}
{"status":"ok","epoch":"E","version":2,"due":null,"member":"ann","members":1,"state":"here","until":null}
{"scope":"room/R","epoch":"E","version":3,"verb":"share","subject":"board","from":null,"to":null,"data":{},"owner":"ann","time":2000,"was":4054659164405782,"mark":2090071949676932}
{"status":"ok","epoch":"E","version":3,"due":null,"share":"board"}
{"scope":"room/R","epoch":"E","version":4,"verb":"close","subject":null,"from":"open","to":"closing","data":{},"owner":null,"time":3000,"was":2090071949676932,"mark":0}
{"scope":"room/R","epoch":"E","version":5,"verb":"done","subject":null,"from":"closing","to":"closed","data":{},"owner":null,"time":3000,"was":0,"mark":0}
{"status":"ok","epoch":"E","version":5,"due":null,"state":"closed","erased":5,"more":false}
EOT

    # A user and an agent of a queue each have states of their own, also where both just expire.
    # A time without writes is an outage: it ends neither of them, and the next silence does.
    cat >in <<'EOT'
watch queue/Q
queue set Q offer=500 wrapup=100 now=1000
queue login Q ann now=1000
queue apply Q ann now=1000
queue accept Q ann ann now=1100
queue finish Q 2.1 now=2000
queue apply Q bob now=2000
queue sweep Q now=2100
queue sweep Q now=30000
queue sweep Q now=90000
EOT
    lines 0 "$USHER" -s "$store" shell -e <in
    mask <out.txt |
        sed -n 's/.*"verb":\("[a-z]*","subject":.*\),"data":\({[^}]*}\),"owner":\(.*\),"time".*/\1 \2 \3/p' >got.txt
    cat >wanted.txt <<'EOT'
"set","subject":null,"from":null,"to":null {"offer":"500","wrapup":"100"} null
"login","subject":"ann","from":"gone","to":"idle" {"lanes":"*","capacity":"1","level":"0"} null
"apply","subject":"ann","from":"gone","to":"waiting" {"lane":"default","priority":"0","since":"1000"} null
"match","subject":"ann","from":"waiting","to":"offered" {"lane":"default","priority":"0","since":"1000","room":"E.2.1","visit":"E.4","agent_state":"offered"} "ann"
"accept","subject":"ann","from":"offered","to":"seated" {"lane":"default","priority":"0","since":"1000","room":"E.2.1","visit":"E.4","agent_state":"busy"} "ann"
"finish","subject":"ann","from":"seated","to":"gone" {"lane":"default","outcome":"seated","room":"E.2.1","visit":"E.4","agent_state":"wrapup","agent_until":"2100"} "ann"
"apply","subject":"bob","from":"gone","to":"waiting" {"lane":"default","priority":"0","since":"2000"} null
"expire","subject":"ann","from":"wrapup","to":"idle" {} null
"match","subject":"bob","from":"waiting","to":"offered" {"lane":"default","priority":"0","since":"2000","room":"E.2.1","visit":"E.9","agent_state":"offered"} "ann"
"outage","subject":null,"from":null,"to":null {"from":"2100","to":"30000"} null
"expire","subject":"bob","from":"offered","to":"waiting" {"lane":"default","priority":"0","since":"2000","room":"E.2.1","visit":"E.9","agent_state":"idle"} "ann"
"match","subject":"bob","from":"waiting","to":"offered" {"lane":"default","priority":"0","since":"2000","room":"E.2.1","visit":"E.12","agent_state":"offered"} "ann"
"expire","subject":"bob","from":"offered","to":"waiting" {"lane":"default","priority":"0","since":"2000","room":"E.2.1","visit":"E.12","agent_state":"idle"} "ann"
"expire","subject":"ann","from":"idle","to":"gone" {} null
"expire","subject":"bob","from":"waiting","to":"gone" {"lane":"default","outcome":"lost"} null
EOT
    cmp -s wanted.txt got.txt || {
        wrong "states of agents and users, on $store"
        diff -u wanted.txt got.txt
    }

    # Who comes and goes may be told together; the log has it one by one.
    cat >in <<'EOT'
watch room/T
room open T presence=500 now=1000
room join T ann mic=on now=1000
room leave T ann now=1400
room alive T ann now=1499
room leave T ann now=1500
watch room/T --since=2 --once
EOT
    "$USHER" -s "$store" shell <in >out.txt 2>err.txt || wrong "the shell ends with 0 with $store"
    grep '"scope"' out.txt | mask >got.txt
    cat >wanted.txt <<'EOT'
{"scope":"room/T","epoch":"E","version":1,"verb":"open","subject":null,"from":"closed","to":"open","data":{"capacity":"0","linger":"0","ttl":"0","away":"0","grace":"0","log":"256","requests":"10000","presence":"500","push":"0"},"owner":null,"time":1000,"was":0,"mark":2907230781149041}
{"scope":"room/T","epoch":"E","version":3,"before":1,"verb":"presence","subject":null,"from":null,"to":null,"data":[{"scope":"room/T","epoch":"E","version":2,"verb":"join","subject":"ann","from":"absent","to":"here","data":{"mic":"on"},"owner":null,"time":1000,"was":2907230781149041,"mark":2763996296262065},{"scope":"room/T","epoch":"E","version":3,"verb":"leave","subject":"ann","from":"here","to":"absent","data":{},"owner":null,"time":1400,"was":2763996296262065,"mark":4697813690636}],"owner":null,"time":1400,"was":2907230781149041,"mark":4697813690636}
{"scope":"room/T","epoch":"E","version":3,"verb":"leave","subject":"ann","from":"here","to":"absent","data":{},"owner":null,"time":1400,"was":2763996296262065,"mark":4697813690636}
EOT
    cmp -s wanted.txt got.txt || {
        wrong "changes are told together with $store"
        diff -u wanted.txt got.txt | sed 1,2d
    }

    # From the log, within one process.
    cat >in <<'EOT'
room open L log=2 now=1000
room set L f 1 now=1000
watch room/L --since=1 --once
watch room/L --once
room set L f 2 now=1000
room set L f 3 now=1000
watch room/L --since=1 --once
watch room/L --since=9 --once
watch room/L --since=2 --max=1
watch room/nowhere room/L --since=3 --once
EOT
    "$USHER" -s "$store" shell <in >out.txt 2>err.txt || wrong "the shell ends with 0 with $store"
    grep -v '"value"\|"capacity"' out.txt | mask >got.txt
    cat >wanted.txt <<'EOT'
{"scope":"room/L","epoch":"E","version":2,"verb":"set","subject":"f","from":null,"to":null,"data":{"f":"1"},"owner":null,"time":1000,"was":3778557970396799,"mark":771422742777827}
{"status":"stale","epoch":"E","version":4,"due":null,"scope":"room/L","from":2}
{"scope":"room/L","epoch":"E","version":3,"verb":"set","subject":"f","from":null,"to":null,"data":{"f":"2"},"owner":null,"time":1000,"was":771422742777827,"mark":1664833717515401}
{"scope":"room/L","epoch":"E","version":4,"verb":"set","subject":"f","from":null,"to":null,"data":{"f":"3"},"owner":null,"time":1000,"was":1664833717515401,"mark":2168112778356549}
{"status":"stale","epoch":"E","version":4,"due":null,"scope":"room/L","from":2}
{"scope":"room/L","epoch":"E","version":3,"verb":"set","subject":"f","from":null,"to":null,"data":{"f":"2"},"owner":null,"time":1000,"was":771422742777827,"mark":1664833717515401}
{"status":"missing","epoch":"0","version":0,"due":null,"scope":"room/nowhere"}
{"scope":"room/L","epoch":"E","version":4,"verb":"set","subject":"f","from":null,"to":null,"data":{"f":"3"},"owner":null,"time":1000,"was":1664833717515401,"mark":2168112778356549}
EOT
    cmp -s wanted.txt got.txt || {
        wrong "the log is read with $store"
        diff -u wanted.txt got.txt | sed 1,2d
    }

    # Of any noun that keeps a log: whose the hold was that has ended.
    cat >in <<'EOT'
number add V 1 now=1000
watch number/V --once
number set W log=10 now=1000
number add W 7 group=berlin now=1000
number reg W 7 now=1000
number call W owner=ann node=pbx1 sticky=555 lease=1000 now=1000
number sweep W now=2000
watch number/W --since=3 --once
watch queue/W --since=3 --once
watch rooms/W --since=3 --once
queue set Q2 log=5 now=1000
queue login Q2 ann now=1000
queue apply Q2 bob lane=vip now=1000
watch queue/Q2 --since=3 --once
id create I log=5 now=1000
id next I n=7 now=1000
watch id/I --since=1 --once
serial rule S mode=gapfree log=5 now=1000
serial reserve S owner=ann lease=1000 now=1000
serial setmax S 1 now=1000
serial sweep S now=2000
watch serial/S --since=1 --once
EOT
    "$USHER" -s "$store" shell <in >out.txt 2>err.txt
    grep '"scope"' out.txt | mask >got.txt
    cat >wanted.txt <<'EOT'
{"status":"refused","epoch":"E","version":1,"due":null,"scope":"number/V","message":"there is no change log: set log=N to keep the last N changes"}
{"scope":"number/W","epoch":"E","version":4,"verb":"call","subject":"7","from":"idle+up","to":"busy+up","data":{"group":"berlin","node":"pbx1","peer":"555"},"owner":"ann","time":1000,"token":"4","until":2000}
{"scope":"number/W","epoch":"E","version":5,"verb":"expire","subject":"7","from":"busy+up","to":"idle+up","data":{"group":"berlin","node":"pbx1","ended":"lease"},"owner":"ann","time":2000,"token":"4"}
{"status":"missing","epoch":"0","version":0,"due":null,"scope":"queue/W"}
{"scope":"queue/Q2","epoch":"E","version":4,"verb":"match","subject":"bob","from":"waiting","to":"seated","data":{"lane":"vip","priority":"0","since":"1000","room":"E.2.1","visit":"E.4","agent_state":"busy"},"owner":"ann","time":1000,"token":"4"}
{"scope":"id/I","epoch":"E","version":2,"verb":"next","subject":null,"from":null,"to":null,"data":{"first":"1","n":"7"},"owner":null,"time":1000}
{"scope":"serial/S","epoch":"E","version":2,"verb":"reserve","subject":"1","from":"free","to":"held","data":{"number":"1"},"owner":"ann","time":1000,"token":"2","until":2000}
{"scope":"serial/S","epoch":"E","version":3,"verb":"expire","subject":"1","from":"held","to":"returned","data":{"number":"1"},"owner":"ann","time":2000,"token":"2"}
EOT
    cmp -s wanted.txt got.txt || {
        wrong "the log of a pool is read with $store"
        diff -u wanted.txt got.txt | sed 1,2d
    }
    rm -f in

    # And for a person.
    [ "$store" = memory: ] || expect 0 "$USHER" -s "$store" watch number/W queue/Q2 --since=3 --once <<'EOT'
number/W 4: call 7 owner=ann until=1970-01-01T00:00:02.000Z group=berlin node=pbx1 peer=555
number/W 5: expire 7 owner=ann group=berlin node=pbx1 ended=lease
queue/Q2 4: match bob owner=ann lane=vip priority=0 since=1970-01-01T00:00:01.000Z room=2.1 visit=4 agent_state=busy
EOT

    # Of another process: what it does while we look, and a room that comes again.
    [ "$store" != memory: ] || continue
    "$USHER" -s "$store" room open F now=1000 >/dev/null || wrong "a room is opened with $store"
    : >follow.txt
    : >events.txt
    "$USHER" -s "$store" --json watch room/F --since=0 --every=10 --max=4 --for=30000 >follow.txt &
    follower=$!
    "$USHER" -s "$store" --json watch room/F --since=0 --max=4 --for=30000 >events.txt & # of the library
    other=$!
    tries=0
    until { grep -q '"version":1' follow.txt && grep -q '"version":1' events.txt; } || [ $tries -gt 500 ]; do
        tries=$((tries + 1))
        sleep 0.02
    done
    "$USHER" -s "$store" room set F f 1 now=1000 >/dev/null
    until { grep -q '"version":2' follow.txt && grep -q '"version":2' events.txt; } || [ $tries -gt 1000 ]; do
        tries=$((tries + 1))
        sleep 0.02
    done
    "$USHER" -s "$store" room close F >/dev/null
    until { grep -q missing follow.txt && grep -q missing events.txt; } || [ $tries -gt 1500 ]; do
        tries=$((tries + 1))
        sleep 0.02
    done
    "$USHER" -s "$store" room open F now=2000 >/dev/null
    "$USHER" -s "$store" room join F bob now=2000 >/dev/null
    wait "$follower"
    wait "$other"
    cmp -s follow.txt events.txt || wrong "without --every= the same is printed with $store"
    mask <follow.txt | cut -d , -f 1-5 >got.txt
    cat >wanted.txt <<'EOT'
{"scope":"room/F","epoch":"E","version":1,"verb":"open","subject":null
{"scope":"room/F","epoch":"E","version":2,"verb":"set","subject":"f"
{"status":"missing","epoch":"0","version":0,"due":null,"scope":"room/F"}
{"scope":"room/F","epoch":"E","version":1,"verb":"open","subject":null
{"scope":"room/F","epoch":"E","version":2,"verb":"join","subject":"bob"
EOT
    cmp -s wanted.txt got.txt || {
        wrong "another process is followed with $store"
        diff -u wanted.txt got.txt | sed 1,2d
    }
    expect 0 "$USHER" -s "$store" watch room/F --since=0 --once <<'EOT'
room/F 1: open capacity=0 linger=0 ttl=0 away=0 grace=0 log=256 requests=10000 presence=0 push=0
room/F 2: join bob
EOT
    expect 1 "$USHER" -s "$store" watch room/nowhere --once <<'EOT'
room/nowhere: there is no such scope
EOT
    expect 0 "$USHER" -s "$store" watch room/F --for=0 </dev/null
done

# A store that goes back in time under who watches.
if [ "${WITH_SQLITE:-yes}" = yes ]; then
    back="$USHER -s sqlite:back.db"
    $back room open B now=1000 >/dev/null
    $back room set B f 1 now=1000 >/dev/null
    cp back.db copy.db
    $back room set B f 2 now=1000 >/dev/null
    mv copy.db back.db
    $back --json watch room/B --since=3 --once >got.txt
    [ $? = 3 ] || wrong 'a watch ends with 3 where something was lost'
    cut -d , -f 1-2,4- got.txt | mask | sed 's/,"subject.*//' >cut.txt
    cat >wanted.txt <<'EOF2'
{"status":"lost","scope":"room/B"
{"scope":"room/B","epoch":"E","verb":"open"
{"scope":"room/B","epoch":"E","verb":"set"
EOF2
    cmp -s wanted.txt cut.txt || {
        wrong 'what was lost is said, and all is told again'
        diff -u wanted.txt cut.txt | sed 1,2d
    }
    expect 3 $back room changes B since=3 <<'EOF2'
! usher: lost: the version was issued by a history that the store has lost
EOF2
    $back room set B f 3 now=1000 >/dev/null
    $back --json watch room/B --since=2 --once >got.txt
    grep -q '"before":2,' got.txt || wrong 'a notice says what it follows on, where versions jump'
fi

expect 2 "$USHER" -s memory: watch <<'EOF2'
! usher: invalid: scope is missing: NOUN/NAME, as in room/R
EOF2
expect 2 "$USHER" -s memory: watch R <<'EOF2'
! usher: invalid: scope `R` is not NOUN/NAME, as in room/R
EOF2
expect 2 "$USHER" -s memory: watch roon/R <<'EOF2'
! usher: invalid: scope `roon/R` has an unknown noun: write NOUN/NAME, as in room/R
EOF2
expect 2 "$USHER" -s memory: watch rooms/0 <<'EOF2'
! usher: invalid: scope `rooms/0` has an unknown noun: write NOUN/NAME, as in room/R
EOF2
expect 2 "$USHER" -s memory: watch room/ <<'EOF2'
! usher: invalid: scope `room/` is empty
EOF2
expect 2 "$USHER" -s memory: watch room/R --max=0 <<'EOF2'
! usher: invalid: `--max=0` is not a number from 1
EOF2
expect 2 "$USHER" -s memory: watch room/R --every=1 <<'EOF2'
! usher: invalid: `--every=1` is not a duration from 10 to 3600000 ms, or as 90s, 5m, 2h, 1d
EOF2
expect 2 "$USHER" -s memory: watch room/R --since=x <<'EOF2'
! usher: invalid: `--since=x` is not a version
EOF2
expect 2 "$USHER" -s memory: watch room/R --once number/P <<'EOF2'
! usher: invalid: `number/P` is not an option of `watch`
EOF2
finish
