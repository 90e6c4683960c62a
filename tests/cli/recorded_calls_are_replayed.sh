#!/bin/sh
# SPDX-License-Identifier: MIT
# replay: what a small record comes to, on every store and in batches of any size; what is
# wrong with a file is said with its line; and, where it is, the month of a real call centre.
. "$(dirname "$0")/lib.sh"
redis_too

# Without what depends on the machine, and without series (replay_series.py).
timeless() {
    sed -e 's/"seconds":[0-9.]*,"per_second":[0-9]*/"seconds":S/g' -e 's/,"series":{.*/}/'
}
replayed() {
    number_of_check=$((number_of_check + 1))
    cat >wanted.txt
    "$USHER" "$@" >out.txt 2>err.txt
    got=$?
    timeless <out.txt >got.txt
    cat err.txt >>got.txt
    [ "$got" = 0 ] || wrong "check $number_of_check ends with 0 (but with $got): $*"
    cmp -s wanted.txt got.txt || {
        wrong "check $number_of_check prints the line marked - (not that marked +): $*"
        diff -u wanted.txt got.txt | sed 1,2d
    }
}

# A's second call begins when the first ends; one call has no length; the rows are not in
# order; D's two calls overlap, which no line can do.
cat >calls.csv <<'EOF'
lane,line,call,release_ms,arrival_ms
x,B,1,5000,1000
x,A,2,2000,1000
x,A,3,9000,2000
y,C,4,3000,3000
y,C,5,3000,3000
x,D,6,9000,4000
x,D,7,8000,5000
EOF
cat >wanted.json <<'EOF'
{"status":"ok","file":"calls.csv","rows":7,"calls":7,"left_out":0,"backwards":0,"midnight":0,"lines":4,"first":1000,"last":9000,"passes":[{"name":"own line","calls":7,"refused":1,"doubles":0,"peak":3,"transitions":12,"least":1,"most":2,"seconds":S},{"name":"any line","calls":7,"refused":0,"doubles":0,"peak":3,"transitions":14,"least":1,"most":3,"seconds":S}],"ids":{"ids":7,"first":1,"last":7,"doubles":0,"seconds":S},"tickets":null}
EOF
for store in $STORES; do
    for batch in 1 2 3 256; do
        replayed -s "$store" replay calls.csv --report=json --batch=$batch --pool=r$batch <wanted.json
        # and again: it leaves no number behind
        replayed -s "$store" --json replay --format=csv calls.csv --pool=r$batch <wanted.json
    done
    if [ "$store" != memory: ]; then
        lines 0 "$USHER" -s "$store" --json number add r-own 1
        expect 1 "$USHER" -s "$store" replay calls.csv --pool=r <<'EOF'
! usher: refused: pool r-own has numbers in it; choose another with --pool=NAME
EOF
        lines 0 "$USHER" -s "$store" --json number del r-own 1
        lines 0 "$USHER" -s "$store" check
    fi
done
printf 'replay calls.csv\n' >in
lines 0 "$USHER" -s memory: shell <in
timeless <out.txt | cmp - wanted.json || wrong 'the shell prints the object'

lines 0 "$USHER" -s memory: replay calls.csv
holds out.txt 'Replay of calls.csv on the memory store'
holds out.txt '  7 calls on 4 lines, 1970-01-01T00:00 to 1970-01-01T00:00'
holds out.txt '  refused                                       1            0'
holds out.txt '  busy at once, at most                         3            3'

# ---- the other format: a phantom, an exit before its entry, one past midnight
tab=$(printf '\t')
header='vru+line call_id customer_id priority type date vru_entry vru_exit vru_time q_start q_exit q_time outcome ser_start ser_exit ser_time server'
{
    echo "$header"
    echo 'L1 1 0 0 PS 990201 7:00:00 7:00:10 10 0:00:00 0:00:00 0 AGENT 7:00:10 7:05:00 290 ANN'
    echo 'L1 2 0 0 PS 990201 7:00:10 7:00:05 -5 7:00:05 7:03:00 175 HANG 0:00:00 0:00:00 0 NO_SERVER'
    echo 'L1 3 0 0 PS 990201 7:02:00 7:02:10 10 0:00:00 0:00:00 0 PHANTOM 0:00:00 0:00:00 0 NO_SERVER'
    echo 'L2 1 0 2 NW 990228 23:59:50 0:00:10 20 0:00:00 0:00:00 0 AGENT 0:00:10 0:00:20 10 BOB'
} | sed "s/ /$tab/g; s/\$/$(printf '\r')/" >bank.tsv
replayed -s memory: --json replay bank.tsv <<'EOF'
{"status":"ok","file":"bank.tsv","rows":4,"calls":3,"left_out":1,"backwards":1,"midnight":1,"lines":2,"first":917852400000,"last":920246410000,"passes":[{"name":"own line","calls":3,"refused":0,"doubles":0,"peak":1,"transitions":6,"least":1,"most":2,"seconds":S},{"name":"any line","calls":3,"refused":0,"doubles":0,"peak":1,"transitions":6,"least":1,"most":2,"seconds":S}],"ids":{"ids":3,"first":1,"last":3,"doubles":0,"seconds":S},"tickets":{"tickets":3,"first":"TK-19990201-000001","last":"TK-19990301-000001","days":2,"most":2,"doubles":0,"seconds":S},"queue":{"agents":2,"on_duty":1,"doubles":0,"transitions":18,"seconds":S,"patience":"recorded","within":20000,"recorded":{"calls":3,"served":2,"abandoned":1,"before_queue":0,"no_line":0,"turned_away":0,"found_nobody":0,"queued":1,"wait":null,"wait_abandoned":175000,"wait_all":0,"wait_90":0,"in_time":2,"longest_queue":1},"replayed":{"calls":3,"served":3,"abandoned":0,"before_queue":0,"no_line":0,"turned_away":0,"found_nobody":0,"queued":2,"wait":147500,"wait_abandoned":null,"wait_all":98333,"wait_90":290000,"in_time":2,"longest_queue":1}},"rooms":{"rooms":3,"open":1,"transitions":21,"seconds":S}}
EOF

# ---- ids and tickets: three before midnight and two after it, where the record was made; the ids of a
# second replay are the same ones, its tickets go on behind those of the last day
cat >days.csv <<'EOF'
line,arrival_ms,release_ms,service_ms,patience_ms
A,1078009200000,1078009210000,1000,5000
A,1078012799000,1078012800000,1000,5000
B,1078012799999,1078012810000,1000,5000
A,1078012800000,1078012810000,1000,5000
C,1078023600000,1078023610000,1000,5000
EOF
for store in $STORES; do
    lines 0 "$USHER" -s "$store" --json replay days.csv --pool=d
    holds out.txt '"ids":{"ids":5,"first":1,"last":5,"doubles":0,'
    holds out.txt '"tickets":{"tickets":5,"first":"TK-20040228-000001","last":"TK-20040229-000002","days":2,"most":3,"doubles":0,'
    # one hour east of there all are of 29 February, ten hours west none is
    lines 0 "$USHER" -s "$store" --json replay days.csv --pool=e --zone=60
    holds out.txt '"first":"TK-20040229-000001","last":"TK-20040229-000005","days":1,"most":5,"doubles":0,'
    lines 0 "$USHER" -s "$store" --json replay days.csv --pool=w --zone=-600
    holds out.txt '"first":"TK-20040228-000001","last":"TK-20040228-000005","days":1,"most":5,"doubles":0,'
    if [ "$store" != memory: ]; then
        lines 0 "$USHER" -s "$store" --json replay days.csv --pool=d
        holds out.txt '"ids":{"ids":5,"first":1,"last":5,"doubles":0,'
        holds out.txt '"first":"TK-20040229-0000'
        holds out.txt '"days":1,'
        holds out.txt '"doubles":0,'
        lines 0 "$USHER" -s "$store" check
    fi
done
lines 0 "$USHER" -s memory: replay days.csv
holds out.txt '  each call one, each caller one                5            5'
holds out.txt '  TK-20040228-000001 to TK-20040229-000002, 2 days, at most 3 a day'
expect 2 "$USHER" -s memory: replay days.csv --zone=1441 <<'EOF'
! usher: invalid: zone is not a number from -1440 to 1440
EOF

# ---- the queue: two agents, and callers one after another.  3 waits for 1 to end; 4 hangs up; 5 has
# priority and goes before it could; 6 is served at once, long after.
cat >queue.csv <<'EOF'
line,call,arrival_ms,release_ms,service_ms,patience_ms,priority,lane,wait_ms,agent
A,1,1000,61000,60000,5000,0,x,0,ann
B,2,2000,62000,60000,5000,0,y,0,bob
C,3,3000,71000,10000,99000,0,x,58000,ann
D,4,4000,44000,10000,40000,0,x,40000,
E,5,5000,72000,10000,99000,1,y,57000,bob
F,6,90000,95000,5000,99000,0,x,0,ann
EOF
wanted='"recorded":{"calls":6,"served":5,"abandoned":1,"before_queue":0,"no_line":0,"turned_away":0,"found_nobody":0,"queued":3,"wait":57500,"wait_abandoned":40000,"wait_all":23000,"wait_90":58000,"in_time":3,"longest_queue":3}'
# the one with priority is served first: 56 s and 59 s
replayed='"replayed":{"calls":6,"served":5,"abandoned":1,"before_queue":0,"no_line":0,"turned_away":0,"found_nobody":0,"queued":3,"wait":57500,"wait_abandoned":40000,"wait_all":23000,"wait_90":59000,"in_time":3,"longest_queue":3}'
for store in $STORES; do
    for options in --agents=2 --agents=recorded --batch=1; do
        lines 0 "$USHER" -s "$store" --json replay queue.csv $options --pool=q
        holds out.txt "$wanted"
        holds out.txt "$replayed"
        holds out.txt '"rooms":{"rooms":5,"open":2,"transitions":35,'
    done
    if [ "$store" != memory: ]; then
        expect 0 "$USHER" -s "$store" --json room list <<'EOF'
{"status":"ok","epoch":"0","version":0,"due":null,"rooms":[],"next":null,"more":false,"partial":false}
EOF
        lines 0 "$USHER" -s "$store" room open q-room-4
        expect 1 "$USHER" -s "$store" replay queue.csv --pool=q <<'EOF'
! usher: refused: another program uses room q-room-4; choose others with --pool=NAME
EOF
        # it was not touched, and none of ours is left
        lines 0 "$USHER" -s "$store" --json room show q-room-4
        holds out.txt '"version":1,'
        expect 0 "$USHER" -s "$store" --json room list <<'EOF'
{"status":"ok","epoch":"0","version":0,"due":null,"rooms":["q-room-4"],"next":null,"more":false,"partial":false}
EOF
        lines 0 "$USHER" -s "$store" room close q-room-4
        lines 0 "$USHER" -s "$store" id create q-ids
        expect 1 "$USHER" -s "$store" replay queue.csv --pool=q <<'EOF'
! usher: refused: q-ids: there is one already; choose another with --pool=NAME
EOF
        lines 0 "$USHER" -s "$store" id delete q-ids
        lines 0 "$USHER" -s "$store" serial rule q-tickets prefix=X
        expect 1 "$USHER" -s "$store" replay queue.csv --pool=q <<'EOF'
! usher: refused: q-tickets: there is one already; choose another with --pool=NAME
EOF
        holds_rule=$("$USHER" -s "$store" serial show q-tickets)
        case $holds_rule in
        *prefix=X*) ;;
        *) wrong "somebody's rule stays as it was: $holds_rule" ;;
        esac
        lines 0 "$USHER" -s "$store" serial delete q-tickets
        lines 0 "$USHER" -s "$store" queue login q-queue eve
        expect 1 "$USHER" -s "$store" replay queue.csv --pool=q <<'EOF'
! usher: refused: queue q-queue is not empty; choose another with --pool=NAME
EOF
        lines 0 "$USHER" -s "$store" queue logout q-queue eve
        # one that refuses callers half-way: all of them leave it, and the agents
        for batch in 1 7 256; do
            lines 0 "$USHER" -s "$store" queue set a$batch-queue archive=2
            lines 1 "$USHER" -s "$store" replay queue.csv --pool=a$batch --batch=$batch
            lines 0 "$USHER" -s "$store" --json queue stats a$batch-queue
            holds out.txt '"waiting":0,"seated":0,"agents":0,'
            holds out.txt '"offered":0,"away":0,'
        done
        lines 0 "$USHER" -s "$store" check
    fi
done
lines 0 "$USHER" -s memory: replay queue.csv
holds out.txt '  served                                        5            5'
holds out.txt '  hung up                                       1            1'
holds out.txt '  nine in ten served within                58.0 s       59.0 s'
holds out.txt '  of the served, within 20 s               60.0 %       60.0 %'
holds out.txt '  of those that asked, within 20 s         50.0 %       50.0 %'
# Without what became of the callers, and without agents.
cut -d, -f1-8 <queue.csv >callers.csv
lines 0 "$USHER" -s memory: --json replay callers.csv --agents=2
holds out.txt '"recorded":null,'"$replayed"
lines 0 "$USHER" -s memory: replay callers.csv
holds out.txt 'No queue: the record names no agents; say how many with --agents=N'

# One who asks two hours before anybody is logged in, and does so again then; one who hangs up before, and
# one for whom nobody comes.
cat >early.csv <<'EOF'
line,arrival_ms,release_ms,service_ms,patience_ms,priority,lane,wait_ms,agent
A,1000,10006000,5000,99000000,0,x,10000000,ann
B,2000,5000,5000,3000,0,x,3000,
C,3000,10011000,5000,99000000,0,x,10003000,ann
D,20000000,20004000,5000,4000,0,x,4000,
EOF
for store in $STORES; do
    for batch in 1 256; do
        lines 0 "$USHER" -s "$store" --json replay early.csv --pool=e --batch=$batch
        holds out.txt '"replayed":{"calls":4,"served":2,"abandoned":2,"before_queue":0,"no_line":0,"turned_away":0,"found_nobody":4,"queued":4,"wait":10001500,"wait_abandoned":3500,"wait_all":10001500,"wait_90":10003000,"in_time":0,"longest_queue":3}'
        holds out.txt '"rooms":{"rooms":2,'
    done
    [ "$store" = memory: ] || lines 0 "$USHER" -s "$store" check
done
lines 0 "$USHER" -s memory: replay early.csv
holds out.txt '  calls                                         4            4'
holds out.txt '  found no agent on duty at first               -            4'

# The store refuses in the middle: all that the replay brought into it goes.
if [ -n "$redis_pid" ]; then
    redis-cli -s redis.sock ACL SETUSER part on '>x' +@all '&*' '~{q*' '~{p08}*' '~{p29}*' '~{p41}*' \
        '~{p50}*' >acl.txt
    for batch in 1 3 256; do
        lines 3 "$USHER" -s "redis+unix://part:x@$dir/redis.sock" replay queue.csv --pool=q --batch=$batch
        holds err.txt 'usher: unavailable: the index of rooms cannot be written'
        redis-cli -s redis.sock --scan --pattern '*room*' | grep -v ':number\|:queue' >left.txt
        [ ! -s left.txt ] || wrong "no room is left: $(cat left.txt)"
    done
    redis-cli -s redis.sock ACL SETUSER part resetkeys '~{q-own}*' '~{q-any}*' '~{q-ids}*' \
        '~{q-tickets}*' >acl.txt
    lines 3 "$USHER" -s "redis+unix://part:x@$dir/redis.sock" replay queue.csv --pool=q
    for pool in q-own q-any; do
        lines 0 "$USHER" -s "redis+unix://$dir/redis.sock" --json number stats $pool
        holds out.txt '"total":0,'
    done
fi

# A made-up centre comes to the same in the queue as where it was made up.
"$USHER" trace --agents=12 --lambda=240 --mu=20 --theta=15 --calls=2000 --seed=5 >centre.csv
for store in $STORES; do
    lines 0 "$USHER" -s "$store" --json replay centre.csv --agents=12 --pool=c
    timeless <out.txt | sed 's/.*"recorded":\(.*\),"replayed":.*/\1/' >recorded.txt
    timeless <out.txt | sed 's/.*"replayed":\(.*\)},"rooms":.*/\1/' >replayed.txt
    cmp -s recorded.txt replayed.txt || wrong "a made-up centre is replayed as it was, on $store"
    holds out.txt '"doubles":0,'
done

# ---- what is wrong, and where
bad() {
    printf '%b' "$2" >bad.csv
    for strict in '' --strict; do
        # shellcheck disable=SC2086
        expect 2 "$USHER" -s memory: replay bad.csv $strict <<EOF
! usher: invalid: bad.csv:$1
EOF
    done
}
head='line,arrival_ms,release_ms'
bad '0: no calls up to here, where the file ends' ''
bad '1: no calls up to here, where the file ends' "$head\n"
bad '1: the header has no column line' 'a,b\n1,2\n'
bad '1: the header has no column release_ms' 'line,arrival_ms\n1,2\n'
bad '1: the header has a column twice' "$head,line\n"
bad '2: not as many fields as the header has' "$head\n1,2\n"
bad '2: arrival_ms is not a number from 0 to 253402300799999' "$head\n1,x,3\n"
bad '2: release_ms is not a number from 0 to 253402300799999' "$head\n1,2,253402300800000\n"
bad '2: release_ms is before arrival_ms' "$head\n1,3,2\n"
bad "2: the line's name is empty, too long or not UTF-8 without control characters" \
    "$head\n,2,3\n"
bad '2: a NUL byte' "$head\n1\0000,2,3\n"
bad '2: longer than 4096 bytes' "$head\n$(printf '%05000d' 1),2,3\n"
bad '1: the header has more than 64 columns' "$(printf '%0100d' 0 | sed 's/0/a,/g')\n"
tsv=$(echo "$header" | sed 's/ /\\t/g')
queue_head="$head,service_ms,patience_ms"

# Among rows that make sense, those that do not are left out, the first five by name; a lane, an agent
# or a line of which nothing else is known is not there at all.
{
    printf '%b' "$queue_head,lane,wait_ms,agent\n1,1000,3000,1000,9000,a,0,ann\n2,x,3000,1,1,b,0,bob\n" \
        "3,3000,2000,1,1,b,0,bob\n4,2000\n5,1000,2000,1,1,*,0,bob\n6,1000,2000,1,1,b,x,bob\n" \
        "7,1000,2000,-1,1,b,0,bob\n8\0000,1,2,1,1,b,0,bob\n"
    printf '%05000d\n1,4000,6000,1000,9000,a,0,ann\n' 1
} >some.csv
lines 0 "$USHER" -s memory: --json replay some.csv
holds out.txt '"rows":10,"calls":2,"left_out":8,"left_out_rows":["3: arrival_ms is not a number from 0'
holds out.txt '","4: release_ms is before arrival_ms","5: not as many fields as the header has","6: lane '
holds out.txt '","7: wait_ms is not a number from 0 to 31536000000"],"backwards":0,"midnight":0,"lines":1,'
holds out.txt '"recorded":{"calls":2,"served":2,'
lines 0 "$USHER" -s memory: replay some.csv
holds out.txt '  8 rows left out: they are not calls'
holds out.txt '    line 3: arrival_ms is not a number from 0 to 253402300799999'
holds out.txt '    line 7: wait_ms is not a number from 0 to 31536000000'
[ "$(grep -c '^    line ' out.txt)" = 5 ] || wrong 'five are named'
expect 2 "$USHER" -s memory: replay some.csv --strict <<'EOF'
! usher: invalid: some.csv:3: arrival_ms is not a number from 0 to 253402300799999
EOF
sed -n '1,2p;$p' some.csv >good.csv
masked() {
    sed -e 's/"seconds":[0-9.]*\(,"per_second":[0-9]*\)*/S/g' -e 's/.*"backwards"//' out.txt
}
lines 0 "$USHER" -s memory: --json replay good.csv
masked >good.txt
lines 0 "$USHER" -s memory: --json replay some.csv
masked | diff good.txt - || wrong 'what is left out leaves no trace'

bad '2: service_ms is not a number from 0 to 31536000000' "$queue_head\n1,2,3,x,5\n"
bad '2: patience_ms is not a number from 0 to 31536000000' "$queue_head\n1,2,3,4,31536000001\n"
bad '2: priority is not a number from 0 to 1000' "$queue_head,priority\n1,2,3,4,5,1001\n"
bad '2: lane is not the name of one lane' "$queue_head,lane\n1,2,3,4,5,*\n"
bad '2: wait_ms is not a number from 0 to 31536000000' "$queue_head,wait_ms,agent\n1,2,3,4,5,,A\n"
bad '1: the header has not the columns of a Technion file' \
    "$(echo "$tsv" | sed 's/server/agent/')\n"
row='L1\t1\t0\t0\tPS\tDATE\tENTRY\t7:00:10\t10\t0:00:00\t0:00:00\t0\tOUTCOME\t0\t0\t0\tANN\n'
bad '2: date is not yymmdd' "$tsv\n$(echo "$row" | sed 's/DATE/990229/; s/OUTCOME/HANG/')"
bad '2: vru_entry is not h:mm:ss' \
    "$tsv\n$(echo "$row" | sed 's/DATE/990228/; s/OUTCOME/HANG/; s/ENTRY/24:00:00/')"
bad '2: outcome is none of AGENT, HANG, PHANTOM' "$tsv\n$row"

row='L1\t1\t0\tPRIORITY\tPS\t990201\t7:00:00\t7:00:10\t10\tSTART\t0:00:00\t0\tHANG\t0\t0\tTIME\tNO_SERVER\n'
bad '2: priority is not a number from 0 to 1000' "$tsv\n$(echo "$row" | sed 's/PRIORITY/1001/')"
bad '2: q_start is not h:mm:ss' "$tsv\n$(echo "$row" | sed 's/PRIORITY/1/; s/START/7:60:00/')"
bad '2: ser_time is not a number' "$tsv\n$(echo "$row" | sed 's/PRIORITY/1/; s/START/7:00:10/')"

expect 2 "$USHER" -s memory: replay nowhere.csv <<'EOF'
! usher: invalid: file nowhere.csv: No such file or directory
EOF
expect 2 "$USHER" -s memory: replay . <<'EOF'
! usher: invalid: .:1: Is a directory
EOF
expect 2 "$USHER" -s memory: replay <<'EOF'
! usher: invalid: file is missing: usher replay FILE
EOF
expect 2 "$USHER" -s memory: replay calls.csv --format=xml <<'EOF'
! usher: invalid: format is not technion or csv
EOF
expect 2 "$USHER" -s memory: replay calls.csv --batch=257 <<'EOF'
! usher: invalid: batch is not a number from 1 to 256
EOF
expect 2 "$USHER" -s memory: replay calls.csv --pool='{x}' <<'EOF'
! usher: invalid: pool contains a brace
EOF
expect 2 "$USHER" -s memory: replay calls.csv --agents=0 <<'EOF'
! usher: invalid: agents is not `recorded` or a number from 1 to 10000
EOF
expect 2 "$USHER" -s memory: replay calls.csv --agent=3 <<'EOF'
! usher: invalid: --agent=3 is not an argument of `replay`
EOF

# ---- the real month
month=${top_srcdir:-.}/../shared/data/technion_bank_feb1999.tsv
if [ -f "$month" ]; then
    for store in $STORES; do
        lines 0 "$USHER" -s "$store" --json replay "$month" --format=technion
        timeless <out.txt | sed 's/"file":"[^"]*"/"file":F/' >got.txt
        holds got.txt '"rows":33344,"calls":33066,"left_out":278,"backwards":23,"midnight":4,"lines":27,'
        holds got.txt '{"name":"own line","calls":33066,"refused":0,"doubles":0,"peak":22,"transitions":66132,"least":147,"most":1654,'
        holds got.txt '{"name":"any line","calls":33066,"refused":0,"doubles":0,"peak":22,"transitions":66132,'
        # all but the 1,941 who hung up before they asked; 1,788 of them on 2 February
        holds got.txt '"ids":{"ids":33066,"first":1,"last":33066,"doubles":0,'
        holds got.txt '"tickets":{"tickets":31125,"first":"TK-19990201-000001","last":"TK-19990228-001330","days":28,"most":1788,"doubles":0,'
        holds got.txt '"recorded":{"calls":33066,"served":27162,"abandoned":5904,"before_queue":1941,"no_line":0,"turned_away":0,"found_nobody":0,"queued":18058,"wait":78572,"wait_abandoned":65529,"wait_all":40773,"wait_90":131000,"in_time":16210,"longest_queue":17}'
        holds got.txt '"replayed":{"calls":33066,"served":30001,"abandoned":3065,"before_queue":1941,"no_line":0,"turned_away":0,"found_nobody":1,"queued":6233,"wait":74144,"wait_abandoned":52585,"wait_all":12626,"wait_90":25000,"in_time":26704,"longest_queue":21}'
    done
else
    echo "SKIPPED, for it is not there: $month"
fi
finish
