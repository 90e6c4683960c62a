#!/bin/sh
# SPDX-License-Identifier: MIT
# What ./bootstrap does around the builds, in a folder where every program that it calls is a stand-in.
set -eu
: "${top_srcdir:=$(cd "$(dirname "$0")/.." && pwd)}"
dir=$(mktemp -d "${TMPDIR:-/tmp}/usher-bootstrap.XXXXXX")
trap 'rm -rf "$dir"' EXIT
trap 'exit 99' HUP INT TERM

die() {
    echo "check-bootstrap: $*"
    cat "$dir/out" "$dir/err" 2>/dev/null
    exit 1
}

mkdir "$dir/tree"
cp "$top_srcdir/bootstrap" "$dir/tree/"

# bootstrap ARGUMENT...: its output is in out and err, its exit code in $rc.
bootstrap() {
    rc=0
    (cd "$dir/tree" && sh ./bootstrap "$@") >"$dir/out" 2>"$dir/err" || rc=$?
}

# The sources are configured: both commands report it, and what to do, before they install or build anything.
: >"$dir/tree/config.status"
for command in demo check; do
    bootstrap "$command"
    [ "$rc" = 1 ] || die "$command: exit code $rc in a configured source folder"
    grep -q 'make distclean' "$dir/err" || die "$command does not report that make distclean is needed"
    grep -q 'mkdir -p build/mine' "$dir/err" || die "$command does not report how to build elsewhere"
    [ ! -d "$dir/tree/build" ] || die "$command began to build"
done
rm "$dir/tree/config.status"
