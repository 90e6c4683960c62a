#!/bin/sh
# SPDX-License-Identifier: MIT
# The shell ends with 0 at the end of its input whatever the lines were, or with -e at the
# first that is not ok, with its code.  It answers a line before it waits for the next.
. "$(dirname "$0")/lib.sh"

cat >in <<'EOF'
number add p 1
number call p
nonsense
number add p 2
EOF
expect 0 "$USHER" -s memory: shell <<'EOF'
{"status":"ok","epoch":"E","version":1,"due":null,"state":"idle+down"}
{"status":"empty","epoch":"E","version":1,"due":null,"why":"down","next":null}
{"status":"invalid","message":"unknown command `nonsense`; `usher help` lists the commands"}
{"status":"ok","epoch":"E","version":2,"due":null,"state":"idle+down"}
EOF
for words in '-e -s memory: shell' '-s memory: shell -e'; do
    # Words on purpose.
    # shellcheck disable=SC2086
    expect 1 "$USHER" $words <<'EOF'
{"status":"ok","epoch":"E","version":1,"due":null,"state":"idle+down"}
{"status":"empty","epoch":"E","version":1,"due":null,"why":"down","next":null}
EOF
done
printf 'number add p 1\nnonsense\nnumber add p 2\n' >in
expect 2 "$USHER" -e -s memory: shell <<'EOF'
{"status":"ok","epoch":"E","version":1,"due":null,"state":"idle+down"}
{"status":"invalid","message":"unknown command `nonsense`; `usher help` lists the commands"}
EOF
: >in
expect 0 "$USHER" -s memory: shell </dev/null

# A talk through two pipes: each answer is there before the next line is sent.
mkfifo there back
"$USHER" -s memory: shell <there >back 2>talk.err &
exec 3>there 4<back
answer() {
    number_of_check=$((number_of_check + 1))
    echo "$1" >&3
    read -r line <&4
    case $line in
    *"$2"*) ;;
    *) wrong "\`$1' is answered with $2, not $line" ;;
    esac
}
answer 'number add p 1' '"version":1'
answer 'number reg p 1' '"version":2'
answer 'help exit' '"status":"ok","text":"  0  ok '
answer 'number call p' '"token":"3"'
printf '# nothing to say to this\n\n' >&3
answer 'number call p' '"why":"busy"'
answer 'version' '"status":"ok","version":"'
answer 'check' '"faults":0'
exec 3>&-
wait $! || wrong 'the shell ends with 0 when its input ends'
exec 4<&-

# Many lines share transactions; the answers are those of one at a time.
if [ "${WITH_SQLITE:-yes}" = yes ]; then
    awk 'BEGIN {
        for (i = 0; i < 700; i++) {
            print "number add p " i " now=1"
            print "number reg p " i " now=1"
            if (i % 3 == 0) print "number call p owner=" i " now=2"
            if (i % 7 == 0) print "bad"
            if (i % 5 == 0) print "number free p owner=" i " now=3"
        }
        print "number digest p"
    }' >in
    "$USHER" -s memory: shell <in | mask >memory.txt
    "$USHER" -s sqlite:a.db shell <in | mask >batch.txt
    cmp memory.txt batch.txt || wrong 'batches make no difference'
    [ "$(wc -l <batch.txt)" -eq 1875 ] || wrong 'there is one answer a line'
fi
finish
