#!/bin/sh
# SPDX-License-Identifier: MIT
# Sizes and offsets of every public struct are those in tests/abi/layout.txt (of 64-bit systems).
# Who changes them on purpose writes the file anew, with the library's version in mind:
#   tests/abi/check-layout.sh --update
# --print prints them, and compares nothing.
set -eu
: "${top_srcdir:=$(dirname "$0")/../..}"
: "${CLANG:=clang}"
command -v "$CLANG" >/dev/null || {
    echo "no clang to ask for the layout"
    exit 77
}
[ "$(getconf LONG_BIT)" = 64 ] || {
    echo 'layout.txt is for 64-bit systems'
    exit 77
}
dir=$(mktemp -d "${TMPDIR:-/tmp}/usher-layout.XXXXXX")
trap 'rm -rf "$dir"' EXIT

for header in "$top_srcdir"/include/usher/*.h "$top_srcdir"/include/usher/store/*.h; do
    echo "#include <${header#"$top_srcdir/include/"}>"
done >"$dir/all.c"
"$CLANG" -std=c11 -I"$top_srcdir/include" -fsyntax-only -Xclang -fdump-record-layouts-complete \
    "$dir/all.c" >"$dir/dump.txt"
# Each record begins with a line of stars and ends with an empty one.  Paths of unnamed unions and
# what differs between versions of clang are left out.
sed 's/usher_[a-z_]*::(anonymous[^)]*)//; s/usher_[a-z_]*::(unnamed[^)]*)//; s/_Bool/bool/; s/ *$//' "$dir/dump.txt" | awk '
    /^\*\*\* Dumping/ { n = 0; wanted = 0; next }
    NF == 0 { if (wanted) { for (i = 1; i <= n; i++) print line[i]; print "" } n = wanted = 0; next }
    {
        line[++n] = $0
        if (n == 1 && $0 ~ /\| struct usher_[a-z_]*$/) wanted = 1
    }
    END { if (wanted) for (i = 1; i <= n; i++) print line[i] }
' >"$dir/layout.txt"

# Every struct of the headers is there: a dump that is not understood is no success.
for name in $(sed -n 's/^struct \(usher_[a-z_]*\) {$/\1/p' "$top_srcdir"/include/usher/*.h \
    "$top_srcdir"/include/usher/store/*.h); do
    grep -q "| struct $name\$" "$dir/layout.txt" || {
        echo "clang does not tell of struct $name"
        exit 1
    }
done
if [ "${1-}" = --update ]; then
    cp "$dir/layout.txt" "$top_srcdir/tests/abi/layout.txt"
    exit 0
elif [ "${1-}" = --print ]; then
    cat "$dir/layout.txt"
    exit 0
fi
diff -u "$top_srcdir/tests/abi/layout.txt" "$dir/layout.txt" || {
    echo 'the layout of a public struct changed (what was -, what is +): see tests/abi/check-layout.sh'
    exit 1
}
