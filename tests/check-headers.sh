#!/bin/sh
# SPDX-License-Identifier: MIT
# Each public header stands alone, twice, in strict C99 to C17 and C++11 to C++20, without a warning and
# without knowing how the library was configured; and it says the version of the package.  No header
# of programs includes one for authors of stores (usher/store/).
set -eu
: "${top_srcdir:=.}" "${top_builddir:=.}" "${CC:=cc}" "${CXX=c++}"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
warn='-Wall -Wextra -Wpedantic -Wconversion -Wundef -Werror'
rc=0

for file in "$top_srcdir"/include/usher/*.h "$top_srcdir"/include/usher/store/*.h; do
    name=${file#"$top_srcdir/include/"}
    first=$name
    # A part of usher.h that says so stands behind it.
    if grep -q '^#error "include <usher/usher.h>"' "$top_srcdir/include/$name"; then
        first=usher/usher.h
    fi
    printf '#include <%s>\n#include <%s>\nint main(void) { return 0; }\n' "$first" "$name" \
        >"$dir/alone.c"
    cp "$dir/alone.c" "$dir/alone.cc"
    # The headers in store/ may change: no header of programs includes one.
    case $name in
    usher/store/*) ;;
    *)
        # shellcheck disable=SC2086
        $CC -I"$top_srcdir/include" -M "$dir/alone.c" >"$dir/includes"
        if grep -o 'usher/store/[a-z]*\.h' "$dir/includes" || grep -nE 'MAY CHANGE|with any 0\.x' "$file"; then
            echo "$name: includes a header of store/, or may change as they do"
            rc=1
        fi
        ;;
    esac
    # CC and the warnings are several words.
    for std in c99 c11 c17; do
        # shellcheck disable=SC2086
        if ! $CC -std=$std -pedantic-errors $warn -Wshadow -Wstrict-prototypes \
            -I"$top_srcdir/include" -fsyntax-only "$dir/alone.c"; then
            echo "$name: not clean in strict $std"
            rc=1
        fi
    done
    [ -n "$CXX" ] || continue
    for std in c++11 c++17 c++20; do
        # shellcheck disable=SC2086
        if ! $CXX -std=$std $warn -I"$top_srcdir/include" -fsyntax-only "$dir/alone.cc"; then
            echo "$name: not clean in $std"
            rc=1
        fi
    done
done

package=$(sed -n 's/^#define PACKAGE_VERSION "\(.*\)"/\1/p' "$top_builddir/config.h")
header=$(sed -n 's/^#define USHER_VERSION "\(.*\)"/\1/p' "$top_srcdir/include/usher/usher.h")
if [ "$package" != "$header" ]; then
    echo "version: configure.ac says \"$package\", usher.h says \"$header\""
    rc=1
fi
number=$(sed -n 's/^#define USHER_VERSION_NUMBER \(0x[0-9a-f]*\).*/\1/p' "$top_srcdir/include/usher/usher.h")
if [ "$number" != "$(echo "$header" | awk -F. '{ printf "0x%02x%02x%02x", $1, $2, $3 }')" ]; then
    echo "version: USHER_VERSION_NUMBER $number is not that of $header"
    rc=1
fi

if [ -z "$CXX" ] && [ "$rc" = 0 ]; then
    echo "no C++ compiler: headers were tried as C only"
    exit 77
fi
exit "$rc"
