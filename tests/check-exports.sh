#!/bin/sh
# SPDX-License-Identifier: MIT
# One list of names, three times: what the public headers declare with USHER_API, what
# src/libusher.map lets out, and what the built library exports.  `--list' prints the first.
#
# A build that leaves out a store may lack the names that begin with the store's.
set -eu
LC_ALL=C
export LC_ALL
: "${top_srcdir:=.}" "${top_builddir:=.}" "${NM:=nm}"

# Without comments and directives, each USHER_API up to its `;' is a declaration, and the
# name is the first usher_ word before a parenthesis, a bracket or the end.
headers() {
    for file in "$top_srcdir"/include/usher/*.h "$top_srcdir"/include/usher/store/*.h; do
        awk '
            /^[ \t]*#/ || directive { directive = /\\$/; next }
            { text = text " " $0 }
            END {
                out = ""
                while ((i = index(text, "/*")) > 0) {
                    out = out substr(text, 1, i - 1) " "
                    text = substr(text, i + 2)
                    text = substr(text, index(text, "*/") + 2)
                }
                n = split(out text, part, /USHER_API/)
                for (i = 2; i <= n; i++) {
                    s = part[i]
                    sub(/[;{].*/, "", s)
                    if (match(s, /usher_[A-Za-z0-9_]+[ \t]*[(\[]/) ||
                        match(s, /usher_[A-Za-z0-9_]+[ \t]*$/)) {
                        s = substr(s, RSTART, RLENGTH)
                        gsub(/[^A-Za-z0-9_]/, "", s)
                        print s
                    } else {
                        print "cannot read: " s
                    }
                }
            }' "$file"
    done | sort
}

map() {
    sed -e 's,/\*.*\*/,,' -e 's/#.*//' "$top_srcdir/src/libusher.map" |
        awk '/local:/ { exit } inside { print } /global:/ { inside = 1 }' |
        tr -d ' \t' | tr ';' '\n' | sed '/^$/d' | sort
}

library() {
    $NM -D "$1" | awk 'NF == 3 && $2 ~ /^[TDRBVW]$/ { sub(/@.*/, "", $3); print $3 }' | sort
}

if [ "${1-}" = --list ]; then
    headers
    exit
fi

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
headers >"$dir/headers"
map >"$dir/map"
rc=0

compare() {
    if ! diff "$dir/$1" "$dir/$2" >"$dir/diff"; then
        echo "only in $3 (<) or in $4 (>):"
        grep '^[<>]' "$dir/diff" || :
        rc=1
    fi
}

compare headers map "include/usher" "src/libusher.map"
# From shell patterns one would export what is not meant to be.
if grep -n '[*?]' "$dir/map"; then
    echo "src/libusher.map must name each function"
    rc=1
fi

so=$top_builddir/.libs/libusher.so
if [ -e "$so" ]; then
    left_out='^$'
    [ "${WITH_SQLITE:-yes}" = yes ] || left_out="$left_out|^usher_sqlite_"
    [ "${WITH_REDIS:-yes}" = yes ] || left_out="$left_out|^usher_redis_"
    grep -vE "$left_out" "$dir/map" >"$dir/expected" || :
    library "$so" >"$dir/library"
    compare expected library "src/libusher.map" "libusher.so"
else
    echo "libusher.so was not built: only headers and map are compared"
fi
exit "$rc"
