#!/bin/sh
# SPDX-License-Identifier: MIT
# The order of the folders.  A store includes the public headers and its own, and nothing of src/:
# so a stranger can write one.  A folder of src/ uses only the folders before it, by its includes
# and by the names that its object files need.  So there is no circle of folders.
# The nouns are above the engine, which reaches them by their hooks.  No file is too long to read.
# src/builtin.c lists the nouns and the drivers, and src/main.c the commands of the program: each
# uses everything, and nothing but builtin.h is used of them.
set -eu
: "${top_srcdir:=.}"
: "${top_builddir:=.}"
build=$(cd "$top_builddir" && pwd)
cd "$top_srcdir"
rc=0

# FILE "NAME" a line, of each include in quotes of the files given.
includes() {
    for file; do
        sed -n 's/^[ 	]*#[ 	]*include[ 	]*"\([^"]*\)".*/\1/p' "$file" | sed "s|^|$file |"
    done
}

wrong=$(includes backends/*/*.[ch] | while read -r file name; do
    case $name in
    */*) echo "$file: \"$name\"" ;;
    config.h) ;;
    *) [ -f "${file%/*}/$name" ] || echo "$file: \"$name\"" ;;
    esac
done)
if [ -n "$wrong" ]; then
    printf 'a store includes <usher/...>, config.h and its own headers, but not:\n%s\n' "$wrong"
    rc=1
fi

# The folders that FOLDER may use besides itself.
library='core change encode parse replica engine nouns api ids extension'
allowed() {
    case $1 in
    cli) echo core parse ;;
    lab | serve) echo core parse cli ;;
    top) echo core parse cli serve ;;
    *)
        for each in $library; do
            [ "$each" != "$1" ] || break
            echo "$each"
        done | tr '\n' ' '
        ;;
    esac
}

for folder in src/*/; do
    folder=${folder#src/}
    folder=${folder%/}
    case " $library cli lab serve top " in
    *" $folder "*) ;;
    *)
        echo "src/$folder has no place in the order"
        rc=1
        continue
        ;;
    esac
    may=$(allowed "$folder")
    # shellcheck disable=SC2046 # names without blanks
    wrong=$(includes $(find "src/$folder" -name '*.[ch]' | sort) | while read -r file name; do
        case $name in
        builtin.h) continue ;;
        ../backends/*) ;;
        nouns/*/*) # a noun does not use another one; the verbs of the whole store use all
            case $file in
            "src/${name%/*}"/* | src/nouns/store/*) continue ;;
            esac
            ;;
        */*)
            case " $may $folder " in
            *" ${name%%/*} "*) continue ;;
            esac
            ;;
        *) continue ;; # in its own folder, or config.h
        esac
        echo "    $file: \"$name\""
    done)
    if [ -n "$wrong" ]; then
        printf 'src/%s may use %s, but not:\n%s\n' "$folder" "$may" "$wrong"
        rc=1
    fi
done

# The steps of a noun see a scope and its records (change/work.h), and nothing of the engine.  So a
# file of a noun that uses the engine is none of its steps.
# shellcheck disable=SC2046 # names without blanks
wrong=$(includes $(find src/nouns -name '*.[ch]' | sort) | awk '
    {
        file[NR] = name[NR] = $1
        if ($2 ~ /\//)
            name[NR] = "src/" $2
        else
            sub(/[^\/]*$/, $2, name[NR])
    }
    $2 == "change/work.h" { steps["src/" $2] = steps[$1] = 1 }
    $2 ~ /^(encode|parse|replica|engine)\// { uses[$1] = name[NR] }
    END {
        for (i = 1; i <= NR; i++)
            if (name[i] in steps && file[i] in uses)
                print "    " file[i] ": " name[i] " and " uses[file[i]]
    }')
if [ -n "$wrong" ]; then
    printf 'steps of a noun that use the engine:\n%s\n' "$wrong"
    rc=1
fi

# FOLDER DEFINES|NEEDS NAME a line, of each object file of the library: by folders of src/.
names() {
    (cd "$build" && find src -name '*.o' ! -path '*/.libs/*' ! -name main.o) | sort | while read -r object; do
        file=${object#src/}
        case $file in
        */*) ;;
        *) continue ;; # builtin.c
        esac
        nm -g "$build/$object" 2>/dev/null |
            sed -n "s|^.* \([A-Z]\) \(usher_[A-Za-z0-9_]*\)\$|${file%%/*} \1 \2|p"
    done
}

if command -v nm >/dev/null && [ -f "$build/src/core/text.o" ]; then
    order="$library cli lab serve top"
    wrong=$(names | awk -v order="$order" '
        BEGIN { n = split(order, folder, " "); for (i = 1; i <= n; i++) place[folder[i]] = i }
        { if ($2 == "U") needs[$1 " " $3] = 1; else defines[$3] = $1 }
        END {
            for (each in needs) {
                split(each, part, " ")
                by = defines[part[2]]
                if (by != "" && by != part[1] && place[by] > place[part[1]])
                    print "    src/" part[1] " needs " part[2] " of src/" by
            }
        }' | sort)
    if [ -n "$wrong" ]; then
        printf 'by link, against the order %s:\n%s\n' "$order" "$wrong"
        rc=1
    fi
fi

# A file of the product that is written by hand has at most 900 lines, but for these.
long='
include/usher/store/operation.h
'
lines=$(find include src backends -name '*.[ch]' ! -name '*_gen.h' -o -name '*.def' -o -name '*.lua' | sort |
    grep -v -e '/lua_text\.c$' -e '/wallboard_html\.c$' | while read -r file; do
    n=$(wc -l <"$file")
    case "$n $long" in
    *"
$file
"*) [ "$n" -gt 900 ] || echo "    $file has $n lines, and need not be listed" ;;
    *) [ "$n" -le 900 ] || echo "    $file has $n lines" ;;
    esac
done)
if [ -n "$lines" ]; then
    printf 'files have at most 900 lines (list in tests/check-layers.sh):\n%s\n' "$lines"
    rc=1
fi
exit "$rc"
