#!/bin/sh
# SPDX-License-Identifier: MIT
# Who names a noun.  The generic part of the engine, of the steps, of the stores and of the program
# knows none: what a noun has of its own stands in its tables and its steps.  Below are the files
# that are about a noun, and, with how many lines each, those generic ones that name one still.
# Neither a file nor a line may come to the latter, and one that needs less must say so here.
# `--list' prints them as they are.
set -eu
LC_ALL=C
export LC_ALL
: "${top_srcdir:=.}"
cd "$top_srcdir"

# Of one noun each, or of the two that have an authority.
of_nouns='
backends/sqlite/history.c
backends/sqlite/history.h
backends/sqlite/visits.c
backends/sqlite/visits.h
src/engine/ask.c
src/engine/ask.h
src/engine/history.c
src/engine/history.h
src/engine/id_authority.c
src/engine/id_hooks.c
src/engine/ids.c
src/engine/extension.c
src/engine/nouns.c
src/engine/nouns.h
src/engine/number_hooks.c
src/engine/queue_hooks.c
src/engine/room_hooks.c
src/engine/room_index.c
src/engine/room_index.h
src/engine/room_notice.c
src/engine/room_notice.h
src/engine/room_plan.c
src/engine/room_plan.h
src/engine/serial.c
src/engine/serial_authority.c
src/cli/answer_plain.c
src/cli/import.c
src/cli/room_list.c
src/cli/serial_list.c
'

still='
src/engine/about.c 4
src/engine/audit.c 13
src/engine/door.c 4
src/engine/enter.c 1
src/engine/hear.c 4
src/engine/reply.c 9
src/engine/see.c 22
src/engine/see.h 8
src/engine/sides.c 1
src/engine/tables.c 14
src/engine/tell.c 1
src/engine/watch.c 10
src/engine/write.c 22
src/steps/work.c 12
src/steps/work.h 15
src/steps/kept.c 1
backends/redis/brief.c 12
backends/redis/trip.c 2
backends/sqlite/authority.c 5
'

nouns='number|queue|rooms?|serial|id'
upper='NUMBER|QUEUE|ROOMS?|SERIAL|ID'

# Without comments and texts, lines with a name of a noun's: "file count".
named() {
    for file in src/engine/*.[ch] src/cli/*.[ch] src/words/*.[ch] src/steps/work.[ch] \
        src/steps/kept.[ch] src/steps/drop.c backends/*/*.[ch] include/usher/store.h; do
        n=$(awk '
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
                print
            }' "$file" | grep -cE "\<USHER_+($upper)(_|\>)|\<usher_+($nouns)_|\<(of|arg)(\.|->)($nouns)\>" || :)
        [ "$n" -eq 0 ] || echo "$file $n"
    done
}

found=$(named | while read -r file n; do
    case $of_nouns in
    *"
$file
"*) ;;
    *) echo "$file $n" ;;
    esac
done)
if [ "${1-}" = --list ]; then
    printf '%s\n' "$found"
    exit 0
fi
wrong=$({
    printf '%s\n' "$still" | sed -n '/./s/^/may /p'
    printf '%s\n' "$found" | sed -n '/./s/^/has /p'
} | awk '
    { files[$2]; n[$1, $2] = $3 + 0 }
    END {
        for (file in files)
            if (n["has", file] != n["may", file])
                printf "    %s: %d lines name a noun, %d may\n", file, n["has", file], n["may", file]
    }' | sort)
if [ -n "$wrong" ]; then
    printf 'generic files that name more or fewer nouns than tests/check-nouns.sh says:\n%s\n' "$wrong"
    exit 1
fi
