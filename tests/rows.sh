#!/bin/sh
# SPDX-License-Identifier: MIT
# rows.sh USHER FILE: which rows of the tables no line of FILE has; see src/change/row_coverage.c.  How many
# processes took each of the others is printed with -v.
set -eu
verbose=no
[ "$1" != -v ] || { verbose=yes && shift; }
usher=$1 file=$2 rc=0

for machine in number agent user room member serial; do
    # The table of a noun that has several machines is all of theirs.
    case $machine in
    agent | user) noun=queue ;;
    member) noun=room ;;
    *) noun=$machine ;;
    esac
    "$usher" tables "$noun" --markdown | awk -v machine="$machine" -v noun="$noun" '
        /^\| state / { n++; rows = 0 }
        /^\| from / { rows = 1; next }
        !/^\|/ { rows = 0 }
        rows && $2 != "---" { split($0, c, / *\| */); print n ": " c[2] ", " c[3] ", " c[4] }' |
        case $machine in
        user | member) sed -n "s/^2/$machine/p" ;;
        *) sed -n "s/^1/$machine/p" ;;
        esac
done | while IFS= read -r row; do
    n=$(grep -cxF -e "$row" "$file" || :)
    if [ "$n" = 0 ]; then
        printf 'never: %s\n' "$row"
    elif [ $verbose = yes ]; then
        printf '%5d  %s\n' "$n" "$row"
    fi
done >"$file.report"
cat "$file.report"
! grep -q '^never' "$file.report" || rc=1
exit $rc
