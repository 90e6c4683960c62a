#!/bin/sh
# SPDX-License-Identifier: MIT
# Every source, test, script and example is named in Makefile.am: what is not is neither built
# nor run nor shipped.
set -eu
: "${top_srcdir:=.}"
cd "$top_srcdir"

files=$(find include src backends tests examples -type f \
    \( -name '*.[ch]' -o -name '*.def' -o -name '*.lua' -o -name '*.sh' -o -name '*.py' -o -name '*.supp' \) \
    ! -path '*/data/*' ! -path '*/corpus/*' ! -name lua_text.c ! -name wallboard_html.c | sort)
missing=$(printf '%s\n' "$files" | while IFS= read -r file; do
    # A test program is listed without its suffix.
    case $file in
    tests/*.c) word=${file%.c} ;;
    *) word=$file ;;
    esac
    # Dots may match anything: the names are ours.
    grep -qE "(^|[[:space:]/])$word(\.c)?([[:space:]]|\$)" Makefile.am || echo "    $file"
done)
if [ -n "$missing" ]; then
    printf 'not listed in Makefile.am:\n%s\n' "$missing"
    exit 1
fi
