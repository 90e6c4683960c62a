#!/bin/sh
# SPDX-License-Identifier: MIT
# The calls in the headers are what src/api/gen_calls.py makes of the library's own tables.
set -eu
: "${top_srcdir:=.}" "${top_builddir:=.}"
command -v python3 >/dev/null || {
    echo 'no python3'
    exit 77
}
library=$(cd "$top_builddir" && pwd)/.libs/libusher.so
if [ ! -e "$library" ]; then
    echo 'no shared library'
    exit 77
fi
PYTHONDONTWRITEBYTECODE=1 exec python3 "$top_srcdir/src/api/gen_calls.py" "$library" "$top_srcdir" --check
