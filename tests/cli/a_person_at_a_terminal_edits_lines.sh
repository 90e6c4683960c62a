#!/bin/sh
# SPDX-License-Identifier: MIT
# On a terminal, which script(1) makes: the shell edits lines, keeps a history, also from one session
# to the next, completes words, names of scopes and values by Tab and lists them by Tab Tab, and
# answers as commands do outside of it; long work shows how far it has come, on standard error alone.
. "$(dirname "$0")/lib.sh"
command -v script >/dev/null || {
    echo 'there is no script(1) to make a terminal'
    exit 77
}
export USHER
# libedit keeps some of its memory for good
ASAN_OPTIONS=detect_leaks=0
export ASAN_OPTIONS
TERM=xterm
export TERM
LC_ALL=C.UTF-8 # letters of two bytes
export LC_ALL
HOME=$dir/home
export HOME
unset XDG_STATE_HOME
mkdir home

# until_said TEXT N: standard output has TEXT at least N times; at most 30 seconds.
until_said() {
    n=0
    while [ "$(grep -aoF -e "$1" talk.txt | wc -l)" -lt "$2" ]; do
        n=$((n + 1))
        if [ $n -gt 600 ]; then
            wrong "the terminal shows \`$1' $2 times within 30 seconds"
            break
        fi
        sleep 0.05
    done
}

if grep -q '^#define HAVE_LIBEDIT 1' "${top_builddir:-.}/config.h" 2>/dev/null; then
    number_of_check=$((number_of_check + 1))
    mkfifo keys
    : >talk.txt
    script -qec '"$USHER" -s memory: shell' /dev/null <keys >talk.txt 2>&1 &
    pid=$!
    exec 3>keys
    # Keys come when the prompt is there: before, the terminal would read them as lines.
    until_said 'usher> ' 1
    printf 'num\tad\tp 1\n' >&3 # Tab
    until_said 'ok: 1 is idle+down' 1
    # to the begin, 12 characters on, one back and away, another, to the end
    printf 'number add q 2\001\006\006\006\006\006\006\006\006\006\006\006\006\177p\005\n' >&3
    until_said 'ok: 2 is idle+down' 1
    printf 'number call p ow\ta\n' >&3
    until_said 'empty: none is registered' 1
    printf '\020\n' >&3 # the line before
    until_said 'empty: none is registered' 2
    printf 'help exit\n' >&3
    until_said '  0  ok           done' 1
    # what goes on from here in more than one way is listed
    printf 'number re\t\t' >&3
    until_said 'renew' 1
    until_said 'reg ' 1
    # and what was typed stays to be finished
    printf 'g p 1\n' >&3
    until_said 'ok: 1 is idle+up' 1
    printf 'quit\n' >&3
    exec 3>&-
    wait "$pid" || wrong 'quit ends the shell with 0'
    grep -q '"status"' talk.txt && wrong 'JSON is not for people'

    # The next session has the lines of this one, and nobody else.
    past=home/.local/state/usher/history
    holds $past 'number add p 2'
    holds $past 'number reg p 1'
    [ "$(stat -c %a $past)" = 600 ] || wrong 'the lines are for their owner alone'
    [ "$(stat -c %a home/.local/state/usher)" = 700 ] || wrong 'and so is their directory'
    session() {
        options=$*
        export options
        : >talk.txt
        script -qec '"$USHER" -s memory: $options shell' /dev/null <keys >talk.txt 2>&1 &
        pid=$!
        exec 3>keys
        until_said 'usher> ' 1
    }
    over() {
        printf 'quit\n' >&3
        exec 3>&-
        wait "$pid" || wrong 'quit ends the shell with 0'
    }
    session
    # back over quit, reg, help, call (twice the same: once), the second add
    printf '\020\020\020\020\020\020\n' >&3
    until_said 'ok: 1 is idle+down' 1
    over

    # Names of scopes come from the store, and a name that another one continues is whole already.
    session
    printf 'number add sales 7\n' >&3
    until_said 'ok: 7 is idle+down' 1
    printf 'number add sales-north 8\n' >&3
    until_said 'ok: 8 is idle+down' 1
    printf 'number add "b\\xc3\\xbcro" 9\n' >&3
    until_said 'ok: 9 is idle+down' 1
    printf 'number add "b\\xc3\\xb6rse" 10\n' >&3
    until_said 'ok: 10 is idle+down' 1
    printf 'number add "two words" 11\n' >&3 # is not offered: it needs quotes
    until_said 'ok: 11 is idle+down' 1
    printf 'number reg sa\t 7\n' >&3
    until_said 'ok: 7 is idle+up' 1
    printf 'number reg sales-\t8\n' >&3
    until_said 'ok: 8 is idle+up' 1
    if [ "$(locale charmap)" = UTF-8 ]; then # no half of a letter
        printf 'number reg b\t\303\274\t9\n' >&3
        until_said 'ok: 9 is idle+up' 1
    fi
    printf 'number list t\t\n' >&3
    until_said 'missing: ' 1
    printf 'number list \t\t' >&3
    until_said 'sales         sales-north' 1
    printf 'sales\n' >&3
    until_said 'number  state' 1
    printf 'number reg sales n6\n' >&3
    until_said 'missing: ' 2
    printf 'watch nu\tsales-\t\n' >&3
    until_said 'ok: 1 scope watched' 1
    printf 'number del sales-\t8\n' >&3
    until_said 'number/sales-north 3: del 8' 1
    printf 'number digest sales-\t\n' >&3
    printf 'queue set desk strat\t\t\t' >&3 # values of codes
    until_said 'longest-idle    round-robin' 1
    grep -qaE '^ok: [0-9a-f]{32}' talk.txt || wrong 'the digest is that of the scope'
    printf 'f\t\n' >&3
    until_said 'strategy=fewest-served offer=0' 1
    printf 'queue login d\tann\n' >&3
    until_said '`usher queue alive desk agent=ann` comes before' 1
    # a confirmation, of which the rest of a long answer is no part
    for answer in xxxxxxxxxxxxxxxy n yes; do
        : >talk.txt
        printf 'drop number/sales-\t\n' >&3
        until_said '[y/N]' 1
        printf '%s\n' "$answer" >&3
        until_said 'usher> ' 1
        case $answer in
        yes) until_said 'ok: number/sales-north is gone' 1 ;;
        *) until_said 'not confirmed: number/sales-north was not erased' 1 ;;
        esac
    done
    over

    # Options, topics and numbers are completed too; .mode chooses the form of answers.
    session
    printf 'check --r\t\n' >&3
    until_said ' scopes, 0 repaired' 1
    printf 'help exi\t\n' >&3
    until_said '  0  ok           done' 1
    printf 'number add p +49301\n' >&3
    until_said 'ok: +49301 is idle+down' 1
    printf 'number reg p \t\n' >&3
    until_said 'ok: +49301 is idle+up' 1
    printf '.m\tj\t\n' >&3
    printf 'number stats p\n' >&3
    until_said '"total":1' 1
    printf '.mode csv\n' >&3
    printf 'number list p\n' >&3
    until_said 'number,state,' 1
    until_said '+49301,idle+up,' 1
    printf 'number unreg p +49301\n' >&3 # no list
    until_said 'ok: +49301 is idle+down' 2
    printf '.mode text\n' >&3
    printf 'number list p\n' >&3
    until_said 'number  state' 1
    printf '.mode box\n' >&3
    until_said '`box` is not a mode: text, json and csv are' 1
    over

    # With --json there are objects on a terminal, too; help stays for people.
    session --json
    printf 'number add p 1\n' >&3
    until_said '"version":1,' 1
    printf 'number show q 1\n' >&3
    until_said '{"status":"missing"' 1
    printf 'help exit\n' >&3
    until_said '  0  ok           done' 1
    over

    # A long file is cut to its newer half.
    awk 'BEGIN { for (i = 0; i < 40000; i++) print "number add p " i }' >$past
    session
    over
    [ "$(wc -c <$past)" -le 262144 ] || wrong 'the file is bounded'
    [ "$(head -n 1 $past | wc -w)" -eq 4 ] || wrong 'it begins with a whole line'
    holds $past 'number add p 39999'
    [ "$(stat -c %a $past)" = 600 ] || wrong 'the lines are for their owner alone, still'
    [ "$(ls home/.local/state/usher)" = history ] || wrong 'nothing else is left there'

    # XDG_STATE_HOME is where it is, if it is one; without a home there is none, and no harm.
    XDG_STATE_HOME=$dir/state
    export XDG_STATE_HOME
    session
    over
    holds state/usher/history quit
    cp $past before
    for home in "" relative "$dir/nowhere" /dev/null; do
        unset XDG_STATE_HOME
        HOME=$home
        session
        over
    done
    cmp before $past || wrong 'without a home nothing is written'
    [ ! -e relative ] && [ ! -e nowhere ] || wrong 'no home is made'
else
    echo 'built without a line editor: that part is left out'
fi

awk 'BEGIN { for (i = 0; i < 3000; i++) print i }' >numbers
number_of_check=$((number_of_check + 1))
script -qec '"$USHER" -s memory: number import p numbers' /dev/null </dev/null >talk.txt
holds talk.txt 'import ['
holds talk.txt 'ok: 3000 added'
script -qec '"$USHER" -s memory: number import p numbers 2>err.txt' /dev/null </dev/null >talk.txt
[ ! -s err.txt ] || wrong 'no progress is shown where standard error is no terminal'
finish
