#!/bin/sh
# SPDX-License-Identifier: MIT
# Who includes what.  Stores use the public headers and their own, nothing from src/: what ours can
# do, a stranger's can.  Each folder of src/ uses those that are named for it; of the laboratory
# the program uses one header.
set -eu
: "${top_srcdir:=.}"
cd "$top_srcdir"
rc=0

# FILE "NAME" a line, of each include in quotes of the files given.
includes() {
    for file; do
        sed -n 's/^[ 	]*#[ 	]*include[ 	]*"\([^"]*\)".*/\1/p' "$file" | sed "s|^|$file |"
    done
}

wrong=$(includes backends/*/*.[ch] | while read -r file name; do
    case $name in
    */*) echo "$file: \"$name\"" ;;
    config.h) ;;
    *) [ -f "${file%/*}/$name" ] || echo "$file: \"$name\"" ;;
    esac
done)
if [ -n "$wrong" ]; then
    printf 'a store includes <usher/...>, config.h and its own headers, but not:\n%s\n' "$wrong"
    rc=1
fi

# Folders that FOLDER of src/ may use, and single headers.
allowed() {
    case $1 in
    core) echo core ;;
    steps) echo core steps ;;
    replica) echo core replica engine/engine.h change/memory.h ;;
    words) echo core words ;;
    engine) echo core steps replica words engine ;;
    calls) echo core engine calls ;;
    cli) echo core words cli lab/lab.h ;;
    lab) echo core words cli lab ;;
    serve) echo core words cli serve ;;
    esac
}

for folder in src/*/; do
    folder=${folder#src/}
    folder=${folder%/}
    may=$(allowed "$folder")
    if [ -z "$may" ]; then
        echo "src/$folder: who may it use?"
        rc=1
        continue
    fi
    wrong=$(includes src/"$folder"/*.[ch] | while read -r file name; do
        case $name in
        ../backends/*) [ "$folder" = engine ] && continue ;;
        */*)
            case " $may " in
            *" ${name%%/*} "* | *" $name "*) continue ;;
            esac
            ;;
        *) continue ;; # its own, or config.h
        esac
        echo "    $file: \"$name\""
    done)
    if [ -n "$wrong" ]; then
        printf 'src/%s may use %s, but not:\n%s\n' "$folder" "$may" "$wrong"
        rc=1
    fi
done
exit "$rc"
