#!/bin/sh
# SPDX-License-Identifier: MIT
# `make dist` gives the same bytes whoever makes it and whenever: its date is SOURCE_DATE_EPOCH, or that of
# the commit.
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
unset SOURCE_DATE_EPOCH

dist() { # MASK
    (
        umask "$1"
        $MAKE -s dist distdir="$name"
    ) >"$dir/log" 2>&1 || {
        cat "$dir/log"
        exit 1
    }
    mv "$name.tar.gz" "$dir/$1.tar.gz"
}
dist 022
dist 077
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
SOURCE_DATE_EPOCH=1700000000
export SOURCE_DATE_EPOCH
dist 022
if tar -tvzf "$dir/022.tar.gz" --full-time --utc | grep -v ' 2023-11-14 22:13:20 '; then
    echo 'these have not the date of SOURCE_DATE_EPOCH'
    exit 1
fi
