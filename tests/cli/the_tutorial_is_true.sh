#!/bin/sh
# SPDX-License-Identifier: MIT
# docs/tutorial: each page, in a new folder and on a terminal, prints what it shows.  Its C programs are
# compiled with the headers and the library of this build.
. "$(dirname "$0")/lib.sh"
: "${top_srcdir:=.}" "${top_builddir:=.}" "${CC:=cc}" "${PKG_CONFIG:=pkg-config}"
[ "${WITH_SQLITE:-yes}" = yes ] || {
    echo 'left out: the pages use SQLite'
    exit 77
}
[ -e "$top_builddir/.libs/libusher.so" ] || {
    echo 'no shared library'
    exit 77
}

# `usher`, `cc`, `pkg-config` and `usher.pc` as if the build were installed.
mkdir bin
ln -s "$(command -v "$USHER")" bin/usher
printf '#!/bin/sh\nPATH=%s\nexec %s -std=gnu11 -Wall -Wextra -Werror "$@"\n' "'$PATH'" "$CC" >bin/cc
printf '#!/bin/sh\nPATH=%s\nexec %s "$@"\n' "'$PATH'" "$PKG_CONFIG" >bin/pkg-config
chmod +x bin/cc bin/pkg-config
sed -e "s|^libdir=.*|libdir=$top_builddir/.libs|" -e "s|^includedir=.*|includedir=$top_srcdir/include|" \
    "$top_builddir/usher.pc" >bin/usher.pc
PATH=$dir/bin:$PATH
PKG_CONFIG_PATH=$dir/bin${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
LD_LIBRARY_PATH=$top_builddir/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PATH PKG_CONFIG_PATH LD_LIBRARY_PATH

# What differs from run to run: moments of today, durations, epochs; and with a duration the width of
# a column.
steady() {
    sed -E -e 's/20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z/MOMENT/g' \
        -e 's/(^|[^0-9A-Za-z])[0-9]+ (ms|s|min|h|d)([^0-9A-Za-z]|$)/\1DURATION\3/g' \
        -e 's/(^|[^0-9a-f])[0-9a-f]{16}([^0-9a-f]|$)/\1EPOCH\2/g' -e 's/  +/ /g' -e 's/ +$//'
}

# A program stands between ```c and ```; its first line is a comment with the name of its file.
programs() {
    awk -v to="$2" '
        /^```/ { open = $0 == "```c"; next }
        open == 1 { file = to "/" $2; open = 2; n++ }
        open { print >file }
        END { print n + 0 }' "$1"
}

pages=0
for page in "$top_srcdir"/docs/tutorial/*.md; do
    name=$(basename "$page" .md)
    pages=$((pages + 1))
    rm -f said.* want.* got.*
    mkdir "$name"
    n=$(sessions "$page")
    c=$(programs "$page" "$name")
    number_of_check=$((number_of_check + 1))
    case $name in
    README) [ "$n" -ge 1 ] ;;
    6-web) [ "$n" -ge 10 ] ;;
    *) [ "$n" -ge 20 ] && [ "$c" -ge 1 ] ;;
    esac || wrong "$name has commands and a program (found $n and $c)"
    i=0
    while [ "$i" -lt "$n" ]; do
        i=$((i + 1))
        echo "echo '@@@ $i'"
        cat "said.$i"
    done >page.sh
    (cd "$name" && script -qec 'sh ../page.sh' /dev/null </dev/null) |
        sed -e 's/\r$//' -e 's/.*\x1b\[K//' |
        awk -v dir="$dir" '/^@@@ / { n = $2; printf "" >(dir "/got." n); next } { print >(dir "/got." n) }'
    i=0
    while [ "$i" -lt "$n" ]; do
        i=$((i + 1))
        number_of_check=$((number_of_check + 1))
        steady <"want.$i" >want.txt
        steady <"got.$i" >got.txt
        alike want.txt got.txt || {
            wrong "$name: $(cat "said.$i")"
            diff "want.$i" "got.$i"
        }
    done
done
[ "$pages" -ge 7 ] || wrong "the tutorial has an index and six pages (found $pages)"
finish
