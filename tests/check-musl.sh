#!/bin/sh
# SPDX-License-Identifier: MIT
# The library and the program with another C library: musl has no sem_clockwait(). Without the stores
# and the line editor, whose libraries are those of glibc.  Needs musl-gcc (Debian: musl-tools).
set -eu
: "${top_srcdir:=$(cd "$(dirname "$0")/.." && pwd)}" "${MAKE:=make}" "${PKG_CONFIG:=pkg-config}"
command -v musl-gcc >/dev/null || {
    echo 'there is no musl-gcc'
    exit 77
}
dir=$(mktemp -d "${TMPDIR:-/tmp}/usher-musl.XXXXXX")
trap 'rm -rf "$dir"' EXIT
trap 'exit 99' HUP INT TERM
unset MAKEFLAGS MFLAGS MAKELEVEL CFLAGS CPPFLAGS LDFLAGS

# The header alone: beside it are those of glibc.
mkdir "$dir/include"
cp "$($PKG_CONFIG --variable=includedir libxxhash)/xxhash.h" "$dir/include/"
cd "$dir"
{ "$top_srcdir/configure" CC=musl-gcc --enable-werror --disable-shared --without-sqlite --without-redis \
    --without-libedit --without-libmicrohttpd --without-ncurses XXHASH_CFLAGS="-I$dir/include" XXHASH_LIBS=' ' &&
    $MAKE -j 2 usher; } >log 2>&1 || {
    tail -n 40 log
    exit 1
}
if grep -q 'HAVE_SEM_CLOCKWAIT 1' config.h; then
    echo 'musl has sem_clockwait() now: something else is to be tested'
    exit 1
fi
cat >lines <<'END'
number add p 1
number reg p 1
number call p owner=ann
id create i
id next i n=3
END
./usher -s memory: shell -e <lines >said || {
    cat said
    exit 1
}
grep -q '"number":"1","token":"3"' said && grep -q '"first":1,"n":3' said || {
    cat said
    exit 1
}
