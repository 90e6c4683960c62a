#!/bin/sh
# SPDX-License-Identifier: MIT
# The prose of comments, documents, help, messages and names of tests is plain English: no file has
# more places that tests/prose.py finds than tests/prose.counts allows, and a file that is not named
# there has none.  After a rewrite: `tests/prose.py . --lower tests/prose.counts`.
set -eu
: "${top_srcdir:=.}"
command -v python3 >/dev/null || {
    echo 'no python3'
    exit 77
}
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
dir=$(mktemp -d "${TMPDIR:-/tmp}/usher-prose.XXXXXX")
trap 'rm -rf "$dir"' EXIT
echo '/* Whoever asks is told. */' >"$dir/a.c"
if python3 "$top_srcdir/tests/prose.py" "$dir" --check /dev/null >"$dir/said"; then
    echo 'tests/prose.py finds nothing in "Whoever asks is told."'
    exit 1
fi
python3 "$top_srcdir/tests/prose.py" "$top_srcdir" --check "$top_srcdir/tests/prose.counts"
