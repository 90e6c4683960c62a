#!/bin/sh
# SPDX-License-Identifier: MIT
# --csv: a line of names and a line for each row, quoted as in RFC 4180, of all pages, alike on every
# store that outlives a command.
. "$(dirname "$0")/lib.sh"
redis_too

# A reader of CSV that is not ours, and JSON of the same list: names and values are equal.
cat >same.py <<'EOF'
import csv, json, sys

def cell(value):
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(map(cell, value))
    if isinstance(value, dict):
        return " ".join(f"{k}={cell(v)}" for k, v in value.items())
    return str(value)

rows = list(csv.reader(open(sys.argv[1], newline="", encoding="utf-8"), strict=True))
want = json.loads(open(sys.argv[2], encoding="utf-8").readline())[sys.argv[3]]
names = rows.pop(0)
assert len(rows) == len(want), (len(rows), len(want))
for row, object in zip(rows, want):
    assert len(row) == len(names), row
    assert set(object) <= set(names), set(object) - set(names)
    for name, text in zip(names, row):
        assert text == cell(object.get(name)), (name, text, object.get(name))
EOF

# same KEY COMMAND...: --csv has what the array KEY of --json has.
same() {
    number_of_check=$((number_of_check + 1))
    key=$1
    shift
    "$USHER" -s "$store" "$@" --csv >got.csv && "$USHER" -s "$store" "$@" --json >got.json ||
        wrong "check $number_of_check ends well: $*"
    python3 same.py got.csv got.json "$key" || wrong "check $number_of_check is alike in both forms: $*"
}

for store in $STORES; do
    case $store in
    memory:) continue ;;
    *clock=given*) ;;
    *) store="$store?clock=given" ;;
    esac
    "$USHER" -s "$store" shell >setup.txt <<'EOF'
number set sales log=100 now=1000
number add sales 100 group=A now=1000
number reg sales 100 now=1000
number call sales number=100 owner='ann, "the" first' lease=60000 node=n1 now=2000
number add sales '=1+1' now=2000
number add sales 'a,b' now=2000
number add sales 'say "x"' now=2000
number add sales grün now=2000
queue set desk log=20 now=1000
queue login desk bob lanes=de,en now=1000
queue apply desk zed lane=en now=1000
queue apply desk amy lane=en now=2000
room open hall log=50 now=1000
room join hall ann name=Ann text='1,2' now=2000
room set hall topic "two\x0alines, \"quoted\"" now=3000
room set hall raw "\xff\xfe" now=4000
serial rule inv prefix=A- width=4 mode=gapfree now=1000
serial reserve inv owner=ann lease=300000 now=2000
id create orders now=1000
EOF
    ! grep -v '"status":"ok"' setup.txt || wrong 'the store is set up'
    for line in 'numbers number list sales' 'users queue list desk' 'agents queue agents desk' \
        'visits queue history desk' 'holds serial holds inv' 'notices number changes sales since=0' \
        'notices queue changes desk since=0' 'scopes scopes' 'scopes scopes number'; do
        # shellcheck disable=SC2086
        same $line now=5000
    done

    expect 0 "$USHER" -s "$store" number list sales now=5000 --csv <<'EOF'
number,state,group,owner,token,until,calls_today,used,resting,capped,age,node
100,busy+up,A,"ann, ""the"" first",4,62000,1,2000,false,false,3000,n1
=1+1,idle+down,,,0,,0,,false,false,0,
"a,b",idle+down,,,0,,0,,false,false,0,
grün,idle+down,,,0,,0,,false,false,0,
"say ""x""",idle+down,,,0,,0,,false,false,0,
EOF
    # an empty list has its names, also one that JSON has no row of
    expect 0 "$USHER" --csv -s "$store" number list sales owner=nobody <<'EOF'
number,state,group,owner,token,until,calls_today,used,resting,capped,age,node
EOF
    expect 0 "$USHER" --csv -s "$store" queue agents desk now=5000 <<'EOF'
agent,state,lanes,capacity,used,served,level,since,until,login,logged_in,token,reason
bob,busy,"de,en",1,1,1,0,1000,,2,1000,2,
EOF
    expect 0 "$USHER" --csv -s "$store" room snapshot hall now=5000 <<'EOF'
kind,name,value,member,state,since,fields,share,version,own
fields,raw,base64://4=,,,,,,,
fields,topic,"two
lines, ""quoted""",,,,,,,
members,,,ann,here,2000,"name=Ann text=1,2",,,
EOF
    expect 0 "$USHER" --csv -s "$store" serial list <<'EOF'
name
inv
EOF
    # of one page, and of all
    i=0
    while [ $i -lt 1100 ]; do
        echo "number add big n$i now=1000"
        i=$((i + 1))
    done | "$USHER" -s "$store" shell >/dev/null
    lines 0 "$USHER" --csv -s "$store" number list big now=5000
    [ "$(sort -u out.txt | wc -l)" = 1101 ] || wrong 'all pages of numbers are written'
    lines 0 "$USHER" --csv -s "$store" number list big now=5000 max=7
    [ "$(wc -l <out.txt)" = 8 ] || wrong 'max= is a page'
    lines 0 "$USHER" --csv -s "$store" number list big now=5000 after=n998
    [ "$(wc -l <out.txt)" = 2 ] || wrong 'pages begin where after= says'
    lines 0 "$USHER" --csv -s "$store" scopes
    [ "$(cut -d/ -f1 out.txt | sort | uniq -c | tr -s ' \n' ' ')" = \
        ' 1 id 2 number 1 queue 1 room 1 scope,epoch,version,due,items 1 serial ' ] ||
        wrong "all scopes are written: $(cat out.txt)"
    # notices as they come, and the servers
    lines 0 "$USHER" --csv -s "$store" watch number/sales --since=0 --once
    [ "$(head -n 1 out.txt)" = \
        'scope,epoch,version,before,verb,subject,from,to,data,owner,time,token,until,was,mark' ] ||
        wrong 'watch has the names of notices'
    [ "$(grep -c '^number/sales,' out.txt)" = 8 ] || wrong 'watch writes notices'
    lines 0 "$USHER" --csv -s "$store" status
    [ "$(wc -l <out.txt)" = 2 ] || wrong 'there is one server'
    holds out.txt 'role,answers,address,'
    # a list of a store that lacks it
    expect 1 "$USHER" --csv -s "$store" number list nowhere <<'EOF'
number,state,group,owner,token,until,calls_today,used,resting,capped,age,node
! usher: missing: no such thing in this scope
EOF
    # a verb without rows does nothing
    version=$("$USHER" --json -s "$store" number stats sales now=5000)
    for line in 'number add sales 7' 'number call sales' 'number stats sales' 'queue stats desk' 'id next orders' \
        'room get hall topic' 'number digest sales' 'number import sales file'; do
        # shellcheck disable=SC2086
        lines 2 "$USHER" --csv -s "$store" $line
        holds err.txt 'has no rows: --csv is for lists'
        [ ! -s out.txt ] || wrong "nothing is printed: $line"
    done
    [ "$version" = "$("$USHER" --json -s "$store" number stats sales now=5000)" ] ||
        wrong 'nothing was done'
done
# In the shell .mode csv is for lists, and other answers are words; a batch keeps its order.
number_of_check=$((number_of_check + 1))
printf '7\n8\n' >numbers
"$USHER" -s memory: shell >got.txt <<'END'
.mode csv
number add p 7
number add p 8
scopes number
number import q numbers
.mode json
number show p 9
.mode tango
END
holds got.txt 'ok: 7 is idle+down'
[ "$(sed -n 3p got.txt | cut -d, -f1-3)" = 'scope,epoch,version' ] || wrong "scopes are CSV: $(cat got.txt)"
[ "$(sed -n 4p got.txt | cut -d, -f1)" = number/p ] || wrong "the batch keeps its order: $(cat got.txt)"
holds got.txt 'ok: 2 added'
holds got.txt '{"status":"missing"'
holds got.txt '{"status":"invalid","message":"`tango` is not a mode: text, json and csv are"}'

for word in check shell version lua serve; do
    lines 2 "$USHER" --csv -s memory: $word number
    holds err.txt "\`$word\` has no rows"
done
expect 2 "$USHER" --csv --json -s memory: scopes <<'EOF'
{"status":"invalid","message":"--csv and --json exclude each other"}
EOF
finish
