#!/bin/sh
# SPDX-License-Identifier: MIT
# replay: the number of agents for a service level, beside Erlang's models; measured patience; and
# another number of lines; the speed of the record.
. "$(dirname "$0")/lib.sh"

# The figures that do not depend on the machine.
timeless() {
    sed -e 's/"seconds":[0-9.]*,"per_second":[0-9]*/"seconds":S/g' out.txt
}
# number KEY: the value of KEY in the target.
number() {
    sed 's/.*"target":{//; s/"tried".*//; s/.*"'"$1"'":\([0-9a-z]*\).*/\1/' out.txt
}
# in_time AGENTS: the callers served in time with so many agents.
in_time() {
    sed 's/.*"tried"://; s/.*"agents":'"$1"',"in_time":\([0-9]*\).*/\1/' out.txt
}

# ---- one caller each 10 s, served for 25 s: two agents are not enough, and with three none waits
awk 'BEGIN {
    print "line,arrival_ms,release_ms,service_ms,patience_ms"
    for (i = 0; i < 360; i++)
        print "L" i % 4 "," 10000 * i "," 10000 * i + 25000 ",25000,"
}' >steady.csv
for target in 90/20s 100/0s; do
    lines 0 "$USHER" -s memory: --json replay steady.csv --target=$target
    [ "$(number asked) $(number agents)" = '360 3' ] || wrong "3 agents are enough for $target: $(number agents)"
done
holds out.txt '"tried":[{"agents":1,"in_time":1,"abandoned":0,"wait_90":'
holds out.txt '{"agents":2,"in_time":2,'
holds out.txt '{"agents":3,"in_time":360,"abandoned":0,"wait_90":0,"share":1.0000,'
# no agents are named, so there is nothing else in the queue
holds out.txt '"target":{"percent":100,"within":0,'
grep -q '"queue"' out.txt && wrong 'without agents the queue is not played'
lines 0 "$USHER" -s memory: replay steady.csv --target=90/20s
holds out.txt '  agents for 90 % of those that ask within 20 s'
holds out.txt '  with 2                       2.8 %'
holds out.txt '  with 3                     100.0 %'

# ---- lines: with two of them each third call finds none, and does not ask for an agent
lines 0 "$USHER" -s memory: --json replay steady.csv --agents=2 --lines=2
holds out.txt '{"name":"any line","calls":360,"lines":2,"erlang_b":0.4717,"refused":120,"doubles":0,"peak":2,'
holds out.txt '"replayed":{"calls":360,"served":240,"abandoned":0,"before_queue":0,"no_line":120,'
lines 0 "$USHER" -s memory: replay steady.csv --agents=2 --lines=2
holds out.txt '  lines                                         4            2'
holds out.txt '    by Erlang B, hour by hour                   -       47.2 %'
holds out.txt '  got no line                                   -          120'
lines 0 "$USHER" -s memory: --json replay steady.csv --lines=50 --target=100/0s
holds out.txt '"lines":50,"erlang_b":0.0000,"refused":0,"doubles":0,"peak":3,'
[ "$(number agents)" = 3 ] || wrong 'lines that are free change nothing'
lines 0 "$USHER" -s memory: --json replay steady.csv --lines=2 --target=100/0s
[ "$(number asked) $(number agents)" = '240 2' ] || wrong "240 calls are served by 2 agents"

# ---- a made-up centre of 12 agents, of which only the patience of those that hang up is kept
"$USHER" trace --agents=12 --lambda=240 --mu=20 --theta=15 --calls=2000 --seed=5 >known.csv
awk -F, -v OFS=, 'NR > 1 && $10 != "" { $4 = "" } 1' known.csv >unknown.csv
for patience in recorded measured; do
    lines 0 "$USHER" -s memory: --json replay known.csv --agents=12 --target=80/20s --patience=$patience
    timeless | sed 's/"patience":"[a-z]*"/P/' >known.$patience
    [ "$(number agents) $(number erlang_a) $(number erlang_c)" = '14 14 16' ] ||
        wrong "14 agents are enough, by Erlang A, too: $(number agents) $(number erlang_a)"
done
cmp known.recorded known.measured || wrong 'a patience that is known stays as it is'
known=$(in_time 11)
lines 0 "$USHER" -s memory: --json replay unknown.csv --agents=12 --target=80/20s --patience=measured
[ "$(number agents)" = 14 ] || wrong "measured patience gives the same answer: $(number agents)"
measured=$(in_time 11)
timeless >once.txt
lines 0 "$USHER" -s memory: --json replay unknown.csv --agents=12 --target=80/20s --patience=measured
timeless | cmp - once.txt || wrong 'the same input gives the same report'
lines 0 "$USHER" -s memory: --json replay unknown.csv --agents=12 --target=80/20s --patience=measured --seed=2
timeless | cmp -s - once.txt && wrong 'another seed gives other callers'
# 12 agents are those of the record: patience longer than the recorded wait changes nothing
sed 's/,"series":.*//; s/.*"recorded":\({.*\),"replayed":.*/\1/' out.txt >recorded.txt
sed 's/,"series":.*//; s/.*"replayed":\({.*\)},"rooms":.*/\1/' out.txt >replayed.txt
cmp recorded.txt replayed.txt || wrong 'the centre of the record is played as it was'
lines 0 "$USHER" -s memory: --json replay unknown.csv --agents=12 --target=80/20s
recorded=$(in_time 11)
# without a limit to their patience they wait for each other
[ "$known" -gt 950 ] && [ "$measured" -gt $((known - 100)) ] && [ "$measured" -lt $((known + 100)) ] &&
    [ "$recorded" -lt $((known - 300)) ] ||
    wrong "in time with 11 agents: $known as it was, $measured measured, $recorded as recorded"

# ---- series: those of a centre that is replayed as it was, on two days
"$USHER" trace --agents=3 --lambda=60 --calls=600 --seed=3 >days.csv
for zone in 0 -300; do
    lines 0 "$USHER" -s memory: --json replay days.csv --agents=3 --zone=$zone --target=80/30s
    number_of_check=$((number_of_check + 1))
    python3 "$(dirname "$test_file")/replay_series.py" days.csv out.txt $zone || wrong "the series are those of the record, zone $zone"
done
holds out.txt '"days":[{"day":"2023-12-31",'

# ---- many days, and none in which a caller asks
awk 'BEGIN {
    print "line,arrival_ms,release_ms,service_ms,patience_ms"
    for (i = 0; i < 410; i++)
        printf "L,%.0f,%.0f,25000,\n", 86400000 * (i + 1), 86400000 * (i + 1) + 25000
}' >years.csv
lines 0 "$USHER" -s memory: --json replay years.csv --agents=1 --zone=-60
holds out.txt '"days":[{"day":"1970-01-01","calls":1,'
holds out.txt '"days_left_out":10,'
tab=$(printf '\t')
printf '%s\n' 'vru+line call_id customer_id priority type date vru_entry vru_exit vru_time q_start q_exit q_time outcome ser_start ser_exit ser_time server' \
    'L 1 0 0 PS 990201 7:00:00 7:00:10 10 0:00:00 0:00:00 0 HANG 0:00:00 0:00:00 0 NO_SERVER' | sed "s/ /$tab/g" >none.tsv
lines 0 "$USHER" -s memory: --json replay none.tsv --target=80/20s
holds out.txt '"target":{"percent":80,"within":20000,"asked":0,"agents":null,"erlang_a":null,"erlang_c":null,"tried":[]}'

# ---- at the speed of the record times 40: its 90 seconds begin now
cat >slow.csv <<'EOF'
line,arrival_ms,release_ms,service_ms,patience_ms,wait_ms,agent
A,1000,61000,60000,,0,ann
B,2000,71000,10000,,58000,ann
C,3000,43000,10000,40000,40000,
D,81000,91000,10000,,0,ann
EOF
for store in $STORES; do
    lines 0 "$USHER" -s "$store" --json replay slow.csv --pool=fast
    timeless | sed 's/,"series".*//' >wanted.txt
    begin=$(date +%s%N)
    lines 0 "$USHER" -s "$store" --json replay slow.csv --pool=slow --speed=40
    elapsed=$((($(date +%s%N) - begin) / 1000000))
    timeless | sed 's/,"series".*//' | cmp - wanted.txt || wrong "the result does not depend on the speed, on $store"
    [ $elapsed -ge 2200 ] || wrong "90 seconds at 40 times the speed take 2.2 s: $elapsed ms"
    [ "$store" != memory: ] || continue
    # its last callers are of tomorrow
    case $(date -u +%H:%M) in 23:5*) continue ;; esac
    # what happened has the time of this day, and otherwise that of the record
    lines 0 "$USHER" -s "$store" --json queue stats slow-queue
    holds out.txt '"seated_today":3,"abandoned_today":1,'
    lines 0 "$USHER" -s "$store" --json queue stats fast-queue
    holds out.txt '"seated_today":0,"abandoned_today":0,'
done

# ---- a page: the same bytes, names are text, and it needs nothing from elsewhere
name=$(printf '<b>&"\001\377.csv')
cp days.csv "$name"
for i in 1 2; do
    lines 0 "$USHER" -s memory: replay "$name" --agents=3 --report=html --target=80/30s
    mv out.txt page$i.html
done
cmp page1.html page2.html || wrong 'the same record gives the same page'
holds page1.html '<title>Replay of &lt;b&gt;&amp;&quot;\x01\xff.csv</title>'
# the command in it makes the same page
lines 0 "$USHER" -s memory: replay days.csv --report=html --target=80/20s --lines=5 --agents=3 --patience=measured --seed=7
mv out.txt page.html
words=$(sed -n 's/.*<code>usher replay days.csv \([^<]*\)<.*/\1/p' page.html)
# shellcheck disable=SC2086
lines 0 "$USHER" -s memory: replay days.csv $words
cmp page.html out.txt || wrong "the command of a page makes it again: $words"
grep -q '<b>&\|<script\|src=\|https*:' page1.html && wrong 'a page has no script and no address'
python3 - page1.html <<'EOF' || wrong 'each element of the page ends'
import html.parser, sys

class Page(html.parser.HTMLParser):
    open = []

    def handle_starttag(self, tag, attributes):
        self.open += [tag] * (tag not in ("meta", "link"))

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

page = Page()
page.feed(open(sys.argv[1], encoding="utf-8").read())
assert page.open == [], page.open
EOF

# ---- what is wrong
refused() {
    expect 2 "$USHER" -s memory: replay steady.csv "$1" <<END
! usher: invalid: $2
END
}
for target in 80 80/ 80/20 /20s 0/20s 101/20s 8x/20s 80/20x 0080/20s 80/-1; do
    refused --target=$target 'target is not PERCENT/TIME with a unit, as 80/20s'
done
refused --patience=none 'patience is not recorded or measured'
refused --lines=0 'lines is not a number from 1 to 100000'
refused --lines=100001 'lines is not a number from 1 to 100000'
refused --speed=0 'speed is not a number from 1 to 1000000'
refused --seed=-1 'seed is not a number from 0 to 18446744073709551615'
expect 2 "$USHER" -s memory: replay steady.csv --agents=2 --patience=measured <<'EOF'
! usher: invalid: patience=measured needs the outcome of callers
EOF

# ---- the real month
month=${top_srcdir:-.}/../shared/data/technion_bank_feb1999.tsv
if [ -f "$month" ]; then
    for patience in recorded measured; do
        lines 0 "$USHER" -s memory: --json replay "$month" --target=80/20s --patience=$patience
        [ "$(number agents) $(number erlang_a) $(number erlang_c)" = '7 8 8' ] ||
            wrong "the month needs 7 agents, patience as $patience"
    done
    holds out.txt '"erlang_a":0.7919,'
else
    echo "SKIPPED, for it is not there: $month"
fi
finish
