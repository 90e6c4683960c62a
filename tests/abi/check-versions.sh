#!/bin/sh
# SPDX-License-Identifier: MIT
# A program keeps running when the library grows.  tests/abi/versions.c is compiled three times and
# run with this library: against headers in which each struct of the calls lacks its last member, as
# they were before it came; against these; and against later ones, which have one more.
set -eu
: "${top_srcdir:=.}" "${top_builddir:=.}" "${CC:=cc}"
command -v python3 >/dev/null || {
    echo 'no python3'
    exit 77
}
library=$(cd "$top_builddir" && pwd)/.libs/libusher.so
if [ ! -e "$library" ]; then
    echo 'no shared library'
    exit 77
fi
dir=$(mktemp -d "${TMPDIR:-/tmp}/usher-versions.XXXXXX")
trap 'rm -rf "$dir"' EXIT

for version in present older newer; do
    mkdir -p "$dir/$version/usher"
    cp "$top_srcdir"/include/usher/*.h "$dir/$version/usher"
    [ $version = present ] || PYTHONDONTWRITEBYTECODE=1 python3 "$top_srcdir/src/api/gen_calls.py" \
        "$library" "$top_srcdir" --$version "$dir/$version/usher"
    cat "$dir/$version"/usher/*.h >"$dir/$version/all"
    for noun in number queue room serial id; do
        for what in options settings answer row statistics; do
            sed -n "/^struct usher_${noun}_$what {/,/^};/p" "$dir/$version/all"
        done >"$dir/$version/$noun"
        [ -s "$dir/$version/$noun" ]
        [ $version = present ] || ! cmp -s "$dir/present/$noun" "$dir/$version/$noun" || {
            echo "$version: the structs of $noun are the same"
            exit 1
        }
    done
    # CC may be several words.
    # shellcheck disable=SC2086
    $CC -std=c11 -Wall -Wextra -Werror -DVERSION_$version -I"$dir/$version" \
        -o "$dir/$version/run" "$top_srcdir/tests/abi/versions.c" "$library"
    LD_LIBRARY_PATH=$top_builddir/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$dir/$version/run"
done
