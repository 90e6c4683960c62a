#!/bin/sh
# SPDX-License-Identifier: MIT
# What is wrong in itself, and what needs no store, leaves no database behind.
. "$(dirname "$0")/lib.sh"
[ "${WITH_SQLITE:-yes}" = yes ] || {
    echo 'the program is built without SQLite'
    exit 77
}

printf '1\n' >numbers
for words in '' 'number' 'number add' 'number add p' 'number add p 1 2' 'number ad p 1' \
    'number add {p} 1' 'number call p lease=x' 'number renew p 1' 'number import p' \
    'number import p nowhere' 'number import p numbers up=7' 'number digest' \
    'number digest p now=x' 'tango' 'replay' 'replay nowhere' 'replay numbers' 'trace --x' \
    'tables' 'tables numbr' 'tables number --svg' 'lua' 'lua numbr' 'check now' 'version 2' \
    'help tango' 'shell --fast' '--wrong' '-s'; do
    # Words on purpose.
    # shellcheck disable=SC2086
    lines 2 "$USHER" $words </dev/null
    [ ! -s out.txt ] || wrong "\`$words' prints nothing on standard output"
    [ "$(wc -l <err.txt)" -eq 1 ] || wrong "\`$words' prints one line on standard error"
done
for words in help 'help number' 'help exit' version 'trace --calls=1' 'tables number' \
    'tables number --dot' 'tables number --markdown' -h --help --version; do
    # shellcheck disable=SC2086
    lines 0 "$USHER" $words </dev/null
    [ -s out.txt ] || wrong "\`$words' prints something"
done
set -- *.db*
[ ! -e "$1" ] || wrong "no database was made, but: $*"

# Who only looks makes none, either, and hears that there is none: in the same words wherever it
# is asked.
for words in 'number show p 1' 'number list p' 'number stats p' 'number digest p' 'queue where q u' \
    'queue room q a' 'queue list q' 'queue agents q' 'queue stats q' 'queue lanes q' 'queue history q' 'room get r' \
    'room snapshot r' 'room changes r since=0' 'room digest r' 'room list' 'serial list' \
    'serial check s' 'serial show s' 'serial parse s 1' 'id show i' check 'watch room/r --once'; do
    for store in none.db 'none.db?sync=off' 'none.db?create=0' ''; do
        # shellcheck disable=SC2086
        if [ -n "$store" ]; then
            lines 1 "$USHER" -s "sqlite:$store" $words </dev/null
            name=none.db
        else
            lines 1 "$USHER" $words </dev/null
            name=usher.db
        fi
        [ ! -s out.txt ] || wrong "\`$words' prints nothing on standard output"
        echo "usher: missing: open: sqlite: ./$name: there is no such store" | cmp -s - err.txt || {
            wrong "\`$words' says that there is no store"
            cat err.txt
        }
        # shellcheck disable=SC2086
        lines 1 "$USHER" -s "sqlite:$name" --json $words </dev/null
        answer='{"status":"missing","epoch":"0000000000000000","version":0,"due":null,"message":"open: sqlite: ./'$name': there is no such store"}'
        [ "$(cat out.txt)" = "$answer" ] || wrong "\`$words --json' says it, too"
        # In the shell, where somebody may write later, it is an empty store, as on any other.
        case $words in
        watch*) continue ;;
        esac
        printf '%s\n%s\n' "$words" "$words" >said.txt
        lines 0 "$USHER" -s memory: shell <said.txt
        cp out.txt empty.txt
        lines 0 "$USHER" -s "sqlite:$name" shell <said.txt
        cmp -s empty.txt out.txt || {
            wrong "\`$words' is answered in the shell as on an empty store"
            cat out.txt
        }
    done
done
"$USHER" -s sqlite:none.db shell </dev/null || wrong 'a shell in which nothing is said is one'
set -- *.db*
[ ! -e "$1" ] || wrong "no database was made by looking, but: $*"
lines 2 "$USHER" -s 'sqlite:none.db?create=2' number stats p

# Who says create=0 is told so by every line that writes.
printf 'number stats p\nnumber add p 1\nnumber add p 2\nnumber add p 3\n' >said.txt
lines 0 "$USHER" -s 'sqlite:none.db?create=0' shell <said.txt
[ "$(grep -c 'there is no such store' out.txt)" -ge 3 ] && [ "$(wc -l <out.txt)" -eq 4 ] || {
    wrong 'each line has an answer'
    cat out.txt
}
lines 1 "$USHER" -s 'sqlite:none.db?create=0' -e shell <said.txt
[ ! -e none.db ] || wrong 'no database was made with create=0'

# In the shell, the first line that writes makes it; what was said before stays said.
printf '%s\n' 'number stats p' '# a comment' 'number add p 1' 'number show p 1' 'number add p 2' \
    'room list' >said.txt
"$USHER" -s sqlite:some.db shell <said.txt | sed 's/,.*//' >out.txt
printf '{"status":"%s"\n' missing ok ok ok ok | cmp -s - out.txt || {
    wrong 'the first line that writes makes the store'
    cat out.txt
}
[ -f some.db ] || wrong 'some.db was made'

# And the other way round: the default is usher.db, here.
lines 0 "$USHER" number add p 1 </dev/null
[ -f usher.db ] || wrong 'the store is usher.db where nothing else is said'
finish
