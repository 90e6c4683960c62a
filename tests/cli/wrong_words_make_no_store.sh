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

# And the other way round: the default is usher.db, here.
lines 0 "$USHER" number add p 1 </dev/null
[ -f usher.db ] || wrong 'the store is usher.db where nothing else is said'
finish
