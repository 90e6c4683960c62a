#!/bin/sh
# SPDX-License-Identifier: MIT
# Each line that tests/mutants.sh changes is there.
set -eu
: "${top_srcdir:=.}"
exec sh "$top_srcdir/tests/mutants.sh" --planted
