#!/bin/sh
# SPDX-License-Identifier: MIT
# The shipped alert rules have the thresholds of src/serve/thresholds.def, which the wallboard and
# `usher top` have, too.
set -eu
: "${top_srcdir:=.}"
cd "$top_srcdir"
rules=contrib/prometheus/usher.rules.yml
table=src/serve/thresholds.def

# THRESHOLD(CODE, "name", UNIT, SIDE, WARNING, ALARM, "…"): CODE WARNING ALARM
values=$(sed -n 's/^THRESHOLD(\([A-Z]*\), "[a-z]*", [A-Z]*, [A-Z]*, \([0-9]*\), \([0-9]*\), .*/\1 \2 \3/p' "$table")
# ALERT(CODE, LEVEL, "Rule", "expression"): CODE LEVEL Rule expression
alerts=$(sed -n 's/^ALERT(\([A-Z]*\), \([A-Z]*\), "\([A-Za-z]*\)", "\(.*\)")$/\1 \2 \3 \4/p' "$table")
for kind in THRESHOLD ALERT; do
    [ "$(grep -c "^$kind(" "$table")" = "$(if [ $kind = ALERT ]; then echo "$alerts"; else echo "$values"; fi | wc -l)" ] || {
        echo "$table: a row of $kind has another form than this test reads"
        exit 1
    }
done
printf '%s\n' "$alerts" | {
    rc=0
    while read -r code level rule expression; do
        case $level in WARNING) field=2 ;; *) field=3 ;; esac
        value=$(printf '%s\n' "$values" | awk -v code="$code" -v field="$field" '$1 == code { print $field }')
        wanted=$(printf '%s\n' "$expression" | sed "s/%lld/$value/")
        if ! sed -n "/- alert: $rule\$/,/- alert:/s/^ *expr: //p" "$rules" | head -n 1 | grep -qF -- "$wanted"; then
            echo "$rules: $rule has not: $wanted ($table)"
            rc=1
        fi
    done
    exit "$rc"
}
