#!/bin/sh
# SPDX-License-Identifier: MIT
# check-coverage.sh SRCDIR, after a run of the tests in a build with --enable-coverage: a
# table by folder, and the gate: src/core has every line and every branch executed, each other
# folder of the library 90 % of its lines.  All counts are left in coverage.info.
set -eu
src=$(cd "$1" && pwd)

# A branch that only the compiler sees, as in sanitizing or initialising code, is marked where
# it stands with LCOV_EXCL_BR_LINE.
lcov --quiet --rc lcov_branch_coverage=1 --capture --directory . --base-directory "$PWD" \
    --output-file coverage.all
lcov --quiet --rc lcov_branch_coverage=1 --output-file coverage.info \
    --extract coverage.all "$src/src/*" "$src/backends/*"
rm -f coverage.all

awk -v src="$src/" '
    function percent(hit, all) { return all ? 100 * hit / all : 100 }
    /^SF:/ {
        file = substr($0, 4)
        sub(src, "", file)
        folder = file
        sub(/\/[^\/]*$/, "", folder)
        folders[folder] = 1
    }
    /^LF:/ { lines[folder] += substr($0, 4) }
    /^LH:/ { lines_hit[folder] += substr($0, 4) }
    /^BRF:/ { branches[folder] += substr($0, 5) }
    /^BRH:/ { branches_hit[folder] += substr($0, 5) }
    /^DA:/ {
        split(substr($0, 4), part, ",")
        if (folder == "src/core" && part[2] == 0)
            missed[++n] = file ":" part[1] ": not executed"
    }
    /^BRDA:/ {
        split(substr($0, 6), part, ",")
        if (folder == "src/core" && (part[4] == "-" || part[4] == 0))
            missed[++n] = file ":" part[1] ": a branch is never taken"
    }
    END {
        for (folder in folders) {
            l = percent(lines_hit[folder], lines[folder])
            b = percent(branches_hit[folder], branches[folder])
            need = folder == "src/core" ? 100 : folder == "src/cli" || folder == "src/lab" ? 0 : 90
            bad = l < need || (folder == "src/core" && b < 100)
            failed += bad
            printf "%-20s lines %6.2f %%  branches %6.2f %%%s\n", folder, l, b,
                   bad ? "  too few" : "" | "sort"
        }
        close("sort")
        for (i = 1; i <= n; i++)
            print missed[i]
        if (!("src/core" in folders)) {
            print "src/core was not measured"
            failed++
        }
        exit failed > 0
    }' coverage.info
