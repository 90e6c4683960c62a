#!/bin/sh
# SPDX-License-Identifier: MIT
# Stores use the public headers and their own, nothing from src/: what ours can do, a
# stranger's can.
set -eu
: "${top_srcdir:=.}"
cd "$top_srcdir"

wrong=$(for file in backends/*/*.[ch]; do
    sed -n 's/^[ 	]*#[ 	]*include[ 	]*"\([^"]*\)".*/\1/p' "$file" |
        while IFS= read -r name; do
            case $name in
            */*) echo "$file: \"$name\"" ;;
            config.h) ;;
            *) [ -f "${file%/*}/$name" ] || echo "$file: \"$name\"" ;;
            esac
        done
done)
if [ -n "$wrong" ]; then
    printf 'a store includes <usher/...>, config.h and its own headers, but not:\n%s\n' "$wrong"
    exit 1
fi
