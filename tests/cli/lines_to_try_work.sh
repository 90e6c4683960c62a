#!/bin/sh
# SPDX-License-Identifier: MIT
# The lines of `usher help examples` work in their order on an empty store, and README's sessions print
# what README shows.
. "$(dirname "$0")/lib.sh"
[ "${WITH_SQLITE:-yes}" = yes ] || {
    echo 'left out: the lines are for a store on SQLite'
    exit 77
}
mkdir -p build/demo
ln -s "$(command -v "$USHER")" build/demo/usher
PATH=$dir/build/demo:$PATH
printf '5550101\n5550102\n' >numbers.txt

# Each line up to the blanks before its comment; those that need a server or another program are not run.
usher help examples | sed -n 's/^  \(usher .*\)$/\1/p' | sed 's/   .*//' |
    grep -vE 'redis|dot|trace' >examples
for noun in number queue room serial id; do
    [ "$(grep -cE "^usher (--json )?$noun " examples)" -ge 3 ] || wrong "there are examples of $noun"
done
while read -r line; do
    number_of_check=$((number_of_check + 1))
    sh -c "$line" >out.txt 2>&1 </dev/null || wrong "\`$line\` works: $(cat out.txt)"
done <examples
grep -q 'B00001' out.txt && wrong 'the last line is `usher scopes`'
holds out.txt 'queue/support'

# README: a line after `$` (with its here-document), then its answer; … is anything.
sessions=$(sessions "${top_srcdir:-$OLDPWD}/README.md")
[ "$sessions" -ge 15 ] || wrong "README has sessions (found $sessions)"
i=0
while [ "$i" -lt "$sessions" ]; do
    i=$((i + 1))
    number_of_check=$((number_of_check + 1))
    # in this shell, so that an `export` is in force for the following lines
    eval "$(sed "s|/tmp/|$dir/|g" "said.$i")" >got.txt 2>&1 </dev/null
    alike "want.$i" got.txt || {
        wrong "README: $(cat "said.$i")"
        diff "want.$i" got.txt
    }
done
finish
