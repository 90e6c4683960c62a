#!/bin/sh
# SPDX-License-Identifier: MIT
# HACKING.md names what is there: each file and each name of the code that stands in it between
# backquotes.  Of a step of its tour, `name()` in `file`, the file has that name.
set -eu
LC_ALL=C
export LC_ALL
: "${top_srcdir:=.}"
cd "$top_srcdir"
rc=0

wrong() {
    echo "HACKING.md: $*"
    rc=1
}

# A file, or those of one name; as it is included, or short of the folder of Redis.  NOUN is any.
there() {
    name=$(echo "$1" | sed 's/NOUN/*/g')
    for folder in '' include/ src/ backends/redis/; do
        # shellcheck disable=SC2086 # patterns
        ls -d $folder$name >/dev/null 2>&1 || ls -d $folder$name.* >/dev/null 2>&1 || continue
        return 0
    done
    return 1
}

words=$(tr '\n' ' ' <HACKING.md | grep -oE '`[^`]+`' | tr -d '`' | sort -u)
files=$(printf '%s\n' "$words" |
    grep -E '^[A-Za-z0-9_.*-]+(/[A-Za-z0-9_.*-]+)+/?$|^[A-Za-z0-9_*-]+\.(c|h|def|lua|sh|py|md|txt)$' || :)
for file in $files; do
    case $file in
    build/* | BUILD/* | config.h) ;; # made
    */*) there "$file" || wrong "there is no $file" ;;
    *)
        find . -name "$(echo "$file" | sed 's/NOUN/*/g')" ! -path './build/*' | grep -q . ||
            wrong "there is no $file"
        ;;
    esac
done

code=$(mktemp "${TMPDIR:-/tmp}/usher-recipes.XXXXXX")
trap 'rm -f "$code"' EXIT
cat $(find include src backends tests examples -type f \( -name '*.[ch]' -o -name '*.def' -o -name '*.lua' -o -name '*.sh' -o -name '*.py' \)) Makefile.am configure.ac |
    grep -oE '[A-Za-z_][A-Za-z0-9_]*' | sort -u >"$code"
names=$(printf '%s\n' "$words" |
    grep -E '^(S\.)?[A-Za-z_][A-Za-z0-9_]*\(\)$|^(usher|USHER)_[A-Za-z0-9_]*$|^[A-Z]+_[A-Z_]+$' | sed 's/^S\.//; s/()$//' | sort -u)
for name in $names; do
    grep -qx "$(echo "$name" | sed 's/NOUN/.*/')" "$code" || wrong "nothing is called $name"
done

# | n | `file` | `name()`, `name()` | ...
steps=$(grep -cE '^\| [0-9]+ \|' HACKING.md || :)
[ "$steps" -ge 5 ] || wrong 'the tour has no steps'
grep -E '^\| [0-9]+ \|' HACKING.md | while IFS='|' read -r _ n file called _; do
    file=$(echo "$file" | tr -d '` ')
    for name in $(echo "$called" | grep -oE '`[^`]+`' | tr -d '`' | sed 's/^S\.//; s/()$//'); do
        grep -qE "(^|[^A-Za-z0-9_])$name([^A-Za-z0-9_]|\$)" "$file" || echo "HACKING.md: step $n: there is no $name in $file"
    done
done >"$code"
if [ -s "$code" ]; then
    cat "$code"
    rc=1
fi
exit $rc
