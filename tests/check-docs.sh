#!/bin/sh
# SPDX-License-Identifier: MIT
# HACKING.md and docs/ name only things that exist: each file, function, struct and macro between
# backquotes, and each linked file.  Each step of the tour in HACKING.md names functions of its
# file.  Each record is in the index and has at most 60 lines.  Each document is in Makefile.am.
# Each sentence of README's promises and limits has a row in docs/promises.md that names tests.
set -eu
LC_ALL=C
export LC_ALL
: "${top_srcdir:=.}"
cd "$top_srcdir"
rc=0
docs="HACKING.md $(ls docs/*.md docs/decisions/*.md)"

wrong() {
    echo "$*"
    rc=1
}

# The documents with the word $1 between backquotes.
in_docs() {
    # shellcheck disable=SC2086 # names without blanks
    grep -lF "$1" $docs | tr '\n' ' '
}

# A file, or several of one name; as it is included, or short of the folder of Redis.  NOUN is any.
there() {
    name=$(echo "$1" | sed 's/NOUN/*/g')
    for folder in '' include/ src/ backends/redis/; do
        # shellcheck disable=SC2086 # patterns
        ls -d $folder$name >/dev/null 2>&1 || ls -d $folder$name.* >/dev/null 2>&1 || continue
        return 0
    done
    return 1
}

words=$(for file in $docs; do
    tr '\n' ' ' <"$file" | grep -oE '`[^`]+`' | tr -d '`'
done | sort -u)
files=$(printf '%s\n' "$words" |
    grep -E '^[A-Za-z0-9_.*-]+(/[A-Za-z0-9_.*-]+)+/?$|^[A-Za-z0-9_*-]+\.(c|h|def|lua|sh|py|md|txt)$' || :)
for file in $files; do
    case $file in
    build/* | BUILD/* | config.h) ;; # generated
    */*) there "$file" || wrong "$(in_docs "$file"): there is no $file" ;;
    *)
        find . -name "$(echo "$file" | sed 's/NOUN/*/g')" ! -path './build/*' | grep -q . ||
            wrong "$(in_docs "$file"): there is no $file"
        ;;
    esac
done

code=$(mktemp "${TMPDIR:-/tmp}/usher-docs.XXXXXX")
trap 'rm -f "$code"' EXIT
# shellcheck disable=SC2046 # names without blanks
cat $(find include src backends tests examples -type f \( -name '*.[ch]' -o -name '*.def' -o -name '*.lua' -o -name '*.sh' -o -name '*.py' \)) Makefile.am configure.ac |
    grep -oE '[A-Za-z_][A-Za-z0-9_]*' | sort -u >"$code"
names=$(printf '%s\n' "$words" |
    grep -E '^(S\.)?[A-Za-z_][A-Za-z0-9_]*\(\)$|^(usher|USHER)_[A-Za-z0-9_]*$|^(struct|enum) [a-z_]+$|^[A-Z]+_[A-Z_]+$' |
    sed -E 's/^S\.//; s/^(struct|enum) //; s/\(\)$//' | sort -u)
for name in $names; do
    grep -qx "$(echo "$name" | sed 's/NOUN/.*/')" "$code" || wrong "$(in_docs "$name"): nothing is called $name"
done

for doc in $docs; do
    folder=$(dirname "$doc")
    for link in $(grep -oE '\]\([^)#:]+' "$doc" | sed 's/^](//'); do
        [ -e "$folder/$link" ] || wrong "$doc: there is no $link"
    done
    grep -qE "^[[:space:]]$doc([[:space:]]|\$)" Makefile.am || wrong "Makefile.am: $doc is not listed"
done
for record in docs/decisions/[0-9]*.md; do
    grep -qF "(${record##*/})" docs/decisions/README.md || wrong "docs/decisions/README.md: $record is not listed"
    [ "$(wc -l <"$record")" -le 60 ] || wrong "$record: more than 60 lines"
done

# | n | `file` | `name()`, `name()` | ...
steps=$(grep -cE '^\| [0-9]+ \|' HACKING.md || :)
[ "$steps" -ge 5 ] || wrong 'HACKING.md: the tour has no steps'
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

# A sentence ends with a stop before a capital or a backquote; bold text is the heading of an item.
promises=docs/promises.md
sed -n '/^## Promises/,/^## Map/p' README.md | awk '
    /^([0-9]+\.|-) / { if (item != "") print item; sub(/^([0-9]+\.|-) +/, ""); item = $0; next }
    /^ / { sub(/^ +/, ""); item = item " " $0 }
    END { print item }' |
    sed 's/\*\*[^*]*\*\* *//' | awk '{ while (match($0, /\. [A-Z`]/)) { print substr($0, 1, RSTART); $0 = substr($0, RSTART + 2) } print }' >"$code"
[ "$(wc -l <"$code")" -ge 30 ] || wrong 'README.md: no promises are found'
while IFS= read -r sentence; do
    grep -qF "| $sentence | " $promises || wrong "$promises: no row for: $sentence"
done <"$code"
rows=$(grep -cE '^\| .* \| .* \|$' $promises)
[ "$rows" -eq $(($(wc -l <"$code") + 2)) ] || wrong "$promises: a row is of no sentence in README.md"
grep -E '^\| .* \| .* \|$' $promises | tail -n +3 | sed 's/^| .* | \(.*\) |$/\1/' | while IFS= read -r tests; do
    case $tests in
    'no test: '?* | '`tests/'*) ;;
    *) echo "$promises: neither a test nor a reason: $tests" ;;
    esac
    file=
    for word in $(echo "$tests" | grep -oE '`[^`]+`' | tr -d '`'); do
        case $word in
        */*) file=$word; [ -f "$file" ] || echo "$promises: there is no $file" ;;
        *) grep -qE "^(static void $word\(void |[A-Z_]+\($word\>)" "$file" || echo "$promises: there is no $word in $file" ;;
        esac
    done
done >"$code"
if [ -s "$code" ]; then
    cat "$code"
    rc=1
fi
exit $rc
