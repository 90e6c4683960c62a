#!/bin/sh
# SPDX-License-Identifier: MIT
# Generic files name no noun: those of the engine, of changes, of encoding, of the stores, of the
# program and of the server.  What only one noun needs is in its tables and in src/nouns/NOUN.
# Below are the files that are about one noun.
set -eu
LC_ALL=C
export LC_ALL
: "${top_srcdir:=.}"
cd "$top_srcdir"

# Of one noun each, or of those that have an authority or a history.
of_nouns='
backends/redis/number_fast.c
backends/redis/number_fast.h
backends/sqlite/authority.c
backends/sqlite/history.c
backends/sqlite/history_table.c
backends/sqlite/history_table.h
src/builtin.c
src/change/hooks.h
src/cli/import.c
src/cli/print_text.c
src/cli/silence.c
'

nouns='number|queue|rooms?|serial|id'
upper='NUMBER|QUEUE|ROOMS?|SERIAL|ID'

# Files that name one, without comments and texts.
named() {
    for file in src/builtin.[ch] src/change/*.[ch] src/encode/*.[ch] src/parse/*.[ch] src/engine/*.[ch] \
        src/cli/*.[ch] src/serve/*.[ch] backends/*/*.[ch] include/usher/store/store.h; do
        ! awk '
            {
                gsub(/"([^"\\]|\\.)*"/, "\"\"")
                if (inside) {
                    if (!sub(/^.*\*\//, ""))
                        next
                    inside = 0
                }
                gsub(/\/\*([^*]|\*[^\/])*\*\//, "")
                if (sub(/\/\*.*/, ""))
                    inside = 1
                print FILENAME ":" FNR ": " $0
            }' "$file" |
            grep -E "\<USHER_+($upper)(_|\>)|\<usher_+($nouns)_|\<(of|arg)(\.|->)($nouns)\>" ||
            echo "$file" >>"$names"
    done
}

names=$(mktemp "${TMPDIR:-/tmp}/usher-nouns.XXXXXX")
trap 'rm -f "$names"' EXIT
wrong=$(named | while IFS=: read -r file line; do
    case $of_nouns in
    *"
$file
"*) ;;
    *) echo "$file:$line" ;;
    esac
done)
rc=0
if [ -n "$wrong" ]; then
    printf 'generic files that name a noun:\n%s\n' "$wrong"
    rc=1
fi
for file in $of_nouns; do
    grep -qx "$file" "$names" || {
        echo "$file names no noun, and need not be listed in tests/check-nouns.sh"
        rc=1
    }
done

# The hooks are few.  What only one noun needs is a part of its own, or a function of its folder.
hooks=$(awk '
    /^struct usher__hooks \{/ { inside = 1 }
    /^};/ { inside = 0 }
    inside && /^    [a-z]/ { n++ }
    END { print n + 0 }' src/change/hooks.h)
if [ "$hooks" -eq 0 ] || [ "$hooks" -gt 24 ]; then
    echo "struct usher__hooks in src/change/hooks.h has $hooks members (1 to 24)"
    rc=1
fi
exit $rc
