#!/bin/sh
# SPDX-License-Identifier: MIT
# Whoever looks at a scope with `redis-cli HGETALL' can read how things are: a field a thing,
# and the word of its state at the beginning of it.
. "$(dirname "$0")/lib.sh"
redis_and_client
redis_too
store=redis+unix://$dir/redis.sock
say() {
    "$USHER" -s "$store" shell >out.txt 2>&1 || wrong "the shell says: $(cat out.txt)"
    grep -v '^{"status":"ok",' out.txt && wrong 'each of the commands is done'
}

# sees KEY FIELD WORD: what HGETALL shows in that field begins so.
sees() {
    number_of_check=$((number_of_check + 1))
    redis-cli -s "$dir/redis.sock" --no-raw HGETALL "$1" >seen.txt
    if ! grep -A1 -F " \"$2\"" seen.txt | tail -1 | grep -qE "^ *[0-9]+\) \"$3 +\\\\x"; then
        wrong "in $1, $2 is shown as $3, not:"
        grep -A1 -F " \"$2\"" seen.txt
    fi
}

say <<'END'
number add desk 5550100 group=A
number add desk 5550101
number reg desk 5550101
number add desk 5550102
number reg desk 5550102
number call desk number=5550102 owner=ann sticky=peer req=r1
number add desk 5550103
number reg desk 5550103
number call desk number=5550103
number unreg desk 5550103
END
sees '{desk}:number' 1:5550100 'idle\+down'
sees '{desk}:number' 1:5550101 'idle\+up'
sees '{desk}:number' 1:5550102 'busy\+up'
sees '{desk}:number' 1:5550103 'busy\+down'
sees '{desk}:number' 2:A group
sees '{desk}:number' 3:peer sticky
sees '{desk}:number' 4:r1 request
# The same states when they came the shortest way.
say <<'END'
number hangup desk 5550102
number call desk owner=bob
END
sees '{desk}:number' 1:5550102 'idle\+up'
sees '{desk}:number' 1:5550101 'busy\+up'
grep -A1 -F '"1:5550101"' seen.txt | grep -q 'bob' || wrong 'the owner can be read'

say <<'END'
queue login desk ann
queue apply desk u1
END
"$USHER" -s "$store" shell >out.txt 2>&1 <<'END'
queue apply desk u2
queue login desk zoe lanes=other
queue pause desk zoe
END
sees '{desk}:queue' 1:ann busy
sees '{desk}:queue' 1:zoe paused
sees '{desk}:queue' 3:u1 seated
sees '{desk}:queue' 3:u2 waiting
sees '{desk}:queue' 6:default lane

say <<'END'
room open hall
room join hall ann name=Ann
room join hall bob
room join hall eve
room kick hall eve ban=100000
room set hall title x
room role hall chair ann
room share hall ann board
room all hall muted 1
END
sees '{hall}:room' 1:ann here
sees '{hall}:room' 1:eve banned
sees '{hall}:room' 2:title field
sees '{hall}:room' 3:chair role
sees '{hall}:room' 5:board share
sees '{hall}:room' 7:muted 'all value'
redis-cli -s "$dir/redis.sock" --no-raw --scan --pattern '*}:rooms' | tr -d '"' >keys.txt
[ "$(wc -l <keys.txt)" -eq 1 ] || wrong 'one partition of the index of rooms is there'
sees "$(cat keys.txt)" 1:hall open

say <<'END'
serial rule inv mode=gapfree width=4
serial reserve inv owner=ann
END
sees '{inv}:serial' 1:rule rule
sees '{inv}:serial' 3:1 held

lines 0 "$USHER" -s "$store" check
# The word and the code beside it belong together.
redis-cli -s "$dir/redis.sock" EVAL \
    "local v = redis.call('HGET', KEYS[1], ARGV[1])
     return redis.call('HSET', KEYS[1], ARGV[1], 'busy+down ' .. string.sub(v, 11))" \
    1 '{desk}:number' 1:5550100 >/dev/null
number_of_check=$((number_of_check + 1))
"$USHER" -s "$store" check >out.txt 2>&1 && wrong 'a wrong word is found'
grep -q desk out.txt || wrong "it is said where: $(cat out.txt)"
finish
