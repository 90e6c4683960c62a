#!/bin/sh
# SPDX-License-Identifier: MIT
# examples/kamailio, on SQLite and on Redis beside each other, with the library that was built.  Not
# part of `make check': see `make check-kamailio'.
set -eu
: "${top_srcdir:=.}" "${top_builddir:=.}" "${CC:=cc}"
for program in kamailio sipp python3; do
    command -v $program >/dev/null || {
        echo "there is no $program (Debian: apt-get install kamailio kamailio-lua-modules sip-tester liblua5.1-0-dev)"
        exit 77
    }
done
src=$(cd "$top_srcdir" && pwd)
build=$(cd "$top_builddir" && pwd)
dir=$(mktemp -d "${TMPDIR:-/tmp}/usher-kamailio-lua.XXXXXX")
trap 'rm -rf "$dir"' EXIT
# shellcheck disable=SC2046 # flags are words
$CC -std=c11 -Wall -Wextra -Werror -shared -fPIC "$src/examples/kamailio/lua_usher.c" -I"$src/include" \
    $(pkg-config --cflags --libs lua5.1) -L"$build/.libs" -lusher -Wl,-rpath,"$build/.libs" -o "$dir/usher.so"
USHER=$build/usher
LUA_CPATH="$dir/?.so"
PYTHONDONTWRITEBYTECODE=1
export USHER LUA_CPATH PYTHONDONTWRITEBYTECODE
try() { python3 "$src/examples/kamailio/try.py" --calls=150 --numbers=70 --lease=1500 "$@"; }
try --store=sqlite load long killed &
sqlite=$!
rc=0
try --store=redis || rc=1
wait "$sqlite" || rc=1
exit $rc
