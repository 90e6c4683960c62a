#!/bin/sh
# SPDX-License-Identifier: MIT
# src/core is pure: it includes nothing but itself (tables by the names NOUN_DEF and MACHINE_DEF),
# four headers of the language and the public types, and its objects call nothing but
# themselves and memory and string functions that do not allocate and do not look at the locale.
set -eu
: "${top_srcdir:=.}" "${top_builddir:=.}" "${NM:=nm}"
rc=0

includes=$(grep -nE '^[[:space:]]*#[[:space:]]*include' "$top_srcdir"/src/core/*)
wrong=$(printf '%s\n' "$includes" | while IFS= read -r line; do
    name=${line#*include}
    name=${name#"${name%%[![:space:]]*}"}
    case $name in
    '<stddef.h>'* | '<stdint.h>'* | '<stdbool.h>'* | '<string.h>'*) ;;
    '<usher/usher.h>'* | '<usher/store/operation.h>'* | '<usher/store/store.h>'*) ;;
    NOUN_DEF | MACHINE_DEF) ;;
    '"config.h"'*) ;;
    '"'*'/'*) printf '%s\n' "$line" ;;
    '"'*)
        file=${name#\"}
        [ -f "$top_srcdir/src/core/${file%%\"*}" ] || printf '%s\n' "$line"
        ;;
    *) printf '%s\n' "$line" ;;
    esac
done)
if [ -n "$wrong" ]; then
    printf 'src/core must not include these:\n%s\n' "$wrong"
    rc=1
fi

archive=$top_builddir/.libs/libusher-core.a
[ -f "$archive" ] || archive=$top_builddir/libusher-core.a
symbols=$($NM "$archive")
defined=$(printf '%s\n' "$symbols" | awk 'NF == 3 && $2 ~ /^[A-TV-Z]$/ { print $3 }' | sort -u)
if [ -z "$defined" ]; then
    echo "no symbols in $archive"
    exit 1
fi
wrong=$(printf '%s\n' "$symbols" | awk 'NF == 2 && $1 == "U" { print $2 }' | sort -u |
    while IFS= read -r name; do
        case $name in
        memchr | memcmp | memcpy | memmove | memset) continue ;;
        strchr | strcmp | strcspn | strlen | strncmp | strnlen) continue ;;
        strpbrk | strrchr | strspn | strstr) continue ;;
        # What the compiler adds.
        # And USHER_ASSERT(), in builds that check.
        __assert_fail | __assert) continue ;;
        _GLOBAL_OFFSET_TABLE_ | __stack_chk_fail | __mem*_chk | __str*_chk) continue ;;
        esac
        printf '%s\n' "$defined" | grep -qxF -e "$name" || printf '    %s\n' "$name"
    done)
if [ -n "$wrong" ]; then
    printf 'src/core must not use these functions:\n%s\n' "$wrong"
    rc=1
fi
exit "$rc"
