#!/bin/sh
# SPDX-License-Identifier: MIT
# With SOURCE_DATE_EPOCH, `make dist` gives the same bytes whoever makes it and whenever.
set -eu
: "${top_builddir:=.}" "${MAKE:=make}"
tar --version 2>/dev/null | grep -q 'GNU tar' || {
    echo 'no GNU tar'
    exit 77
}
cd "$top_builddir"
# A make that is called from a test is nobody's child.
unset MAKEFLAGS MFLAGS MAKELEVEL
name=usher-once-more-$$
dir=$(mktemp -d)
trap 'rm -rf "$dir" "$name" "$name.tar.gz"' EXIT
SOURCE_DATE_EPOCH=1700000000
export SOURCE_DATE_EPOCH

for mask in 022 077; do
    (
        umask "$mask"
        $MAKE -s dist distdir="$name"
    ) >"$dir/log" 2>&1 || {
        cat "$dir/log"
        exit 1
    }
    mv "$name.tar.gz" "$dir/$mask.tar.gz"
done
tar -tzf "$dir/022.tar.gz" | grep -q "^$name/README.md\$" || {
    echo 'that is no distribution'
    exit 1
}
cmp "$dir/022.tar.gz" "$dir/077.tar.gz" || {
    for mask in 022 077; do
        gzip -dc "$dir/$mask.tar.gz" | tar -tv --full-time >"$dir/$mask.list"
    done
    diff "$dir/022.list" "$dir/077.list" | head -20
    exit 1
}
