#!/bin/sh
# SPDX-License-Identifier: MIT
# Measures a build, so that two commits can be compared.  See --help.
set -eu
LC_ALL=C
export LC_ALL
PARTS='json digests lua instructions abi objects'

help() {
    cat <<'END'
usage: tests/yardstick.sh [--build=BUILD] [--steps=N] DIR [PART...]
       tests/yardstick.sh --compare DIR DIR

Writes what a build does to files in DIR.  Two runs on one commit write the same.  Measure before a
change and after it, with the same compiler:

    tests/yardstick.sh /tmp/before
    (change, and make -C build/gcc)
    tests/yardstick.sh /tmp/after
    tests/yardstick.sh --compare /tmp/before /tmp/after

  json          the answers of every verb, with typical and wrong arguments, on every store
  digests       hashes of random commands of each noun, and of their answers, notices and states
  lua           the Redis script of each noun
  instructions  instructions of twelve commands on the memory store (needs valgrind)
  abi           layouts of public structs (needs clang), and the exported names
  objects       a hash of the code of each object file, without strings, constant tables and names
  mutants       the verdict on each planted bug (half an hour; only if it is named)

Without PART all of them but mutants are written.  A part that needs a missing program is one line
with its name.  --compare prints each part that differs, and ends with 1.  Counts within 1 % are
equal, and so is an object file with another name and the same code.

  --build=BUILD  the build tree (default build/gcc); it is brought up to date
  --steps=N      random commands of each noun (default 10000; in a long run 1000000)
END
}

fail() {
    printf 'yardstick: %s\n' "$1" >&2
    exit 2
}

# ---- comparing -------------------------------------------------------------------------

# show FILE DIR DIR: the first lines that differ; both are in $dir.
show() {
    differs=1
    diff "$dir/a" "$dir/b" >"$dir/diff" || :
    printf '%s differs, %s lines:\n' "$1" "$(grep -c '^[<>]' "$dir/diff")"
    cut -c1-400 "$dir/diff" | sed -n '1,30s/^/    /p'
    [ "$(wc -l <"$dir/diff")" -le 30 ] || printf '    ... (diff %s %s)\n' "$2/$1" "$3/$1"
}

# only PART FILE OTHER: the lines of FILE that have no equal in OTHER.
only() {
    case $1 in
    instructions) # NAME COUNT
        awk 'NR == FNR { was[$1] = $2; next }
             !($1 in was) || ($2 - was[$1]) ^ 2 * 10000 > was[$1] ^ 2' "$3" "$2"
        ;;
    objects) # HASH FILE
        awk 'NR == FNR { has[$1] = 1; next } !($1 in has)' "$3" "$2"
        ;;
    *) cat "$2" ;;
    esac
}

compare() {
    [ -d "$1" ] || fail "$1 is no directory"
    [ -d "$2" ] || fail "$2 is no directory"
    differs=0
    (cd "$1" && find . -type f; cd "$2" && find . -type f) | sed 's,^\./,,' | sort -u >"$dir/files"
    while IFS= read -r file; do
        if [ ! -e "$1/$file" ] || [ ! -e "$2/$file" ]; then
            differs=1
            [ -e "$1/$file" ] && where=$1 || where=$2
            printf '%s is only in %s\n' "$file" "$where"
            continue
        fi
        only "$file" "$1/$file" "$2/$file" >"$dir/a"
        only "$file" "$2/$file" "$1/$file" >"$dir/b"
        cmp -s "$dir/a" "$dir/b" || show "$file" "$1" "$2"
    done <"$dir/files"
    [ "$differs" = 1 ] || echo equal
    return "$differs"
}

# ---- measuring -------------------------------------------------------------------------

nouns() {
    "$build/usher" help |
        awk '/^Other commands:/ { exit } /^  [a-z]+  / && $1 != "usher" { print $1 }'
}

json() {
    (
        top=$top build=$build
        USHER=$build/usher
        export USHER PYTHONDONTWRITEBYTECODE=1
        set +e
        . "$top/tests/cli/lib.sh"
        redis_too >&2
        urls=
        for url in $STORES; do
            case $url in
            *clock=given*) ;;
            sqlite:*) url="$url?clock=given&sync=off" ;;
            *) url="$url?clock=given" ;;
            esac
            urls="$urls $url"
        done
        # $dir has no blanks if $TMPDIR has none.
        python3 "$top/tests/yardstick.py" "$build/.libs/libusher.so" "$USHER" $urls
    )
}

digests() {
    (cd "$build" && USHER_NO_SKIP= USHER_STEPS=$steps USHER_DIGESTS=$dir/digests \
        ./tests/model/test_stores_differential >"$dir/log" 2>&1) || {
        cat "$dir/log" >&2
        fail 'the stores do not answer the same'
    }
    cat "$dir/digests"
}

instructions() {
    command -v valgrind >/dev/null || {
        echo 'left out: no valgrind'
        return
    }
    for name in $("$build/tests/bench/instructions"); do
        valgrind --tool=callgrind --toggle-collect=measured --callgrind-out-file=/dev/null \
            "$build/tests/bench/instructions" "$name" 500 >"$dir/log" 2>&1 || {
            cat "$dir/log" >&2
            fail "$name cannot be counted"
        }
        awk -v name="$name" '/Collected :/ { printf "%s %d\n", name, $4 / 500 }' "$dir/log"
    done
}

abi() {
    top_srcdir=$top sh "$top/tests/abi/check-layout.sh" --print || [ $? = 77 ]
    nm -D --defined-only "$build/.libs/libusher.so" | awk '{ print $2, $3 }' | sort
}

# The code of an object file.  Names are replaced by numbers in the order of their appearance, so
# another order of calls is another code, and other names are not.
code() {
    objdump -dr --no-show-raw-insn --no-addresses "$1" | awk '
        function number(name) { if (!(name in of)) of[name] = ++n; return of[name] }
        NR <= 3 || /^Disassembly/ || NF == 0 { next }
        /^<.*>:$/ { print "function", number(substr($0, 2, length($0) - 3)); next }
        $1 ~ /^R_/ {
            name = $2
            sub(/[-+]0x[0-9a-f]+$/, "", name)
            print $1, name ~ /^\./ ? name : number(name)
            next
        }
        {
            sub(/[ \t]*#.*/, "")
            if (match($0, /<[^>]*>/)) {
                name = substr($0, RSTART + 1, RLENGTH - 2)
                at = ""
                if (match(name, /\+0x[0-9a-f]+$/)) {
                    at = substr(name, RSTART)
                    name = substr(name, 1, RSTART - 1)
                }
                sub(/<[^>]*>/, "<" number(name) at ">")
            }
            print
        }'
}

objects() {
    (cd "$build" && find src backends -name '*.o' | sort) | while IFS= read -r object; do
        # libtool compiles a file twice: that of the shared library will do.
        [ ! -e "$build/${object%/*}/.libs/${object##*/}" ] || continue
        hash=$(code "$build/$object" | cksum | tr ' ' -)
        printf '%s %s\n' "$hash" "$(echo "$object" | sed 's,/\.libs/,/,')"
    done
}

measure() {
    out=$1
    shift
    [ $# -gt 0 ] || set -- $PARTS
    for part in "$@"; do
        case " $PARTS mutants " in
        *" $part "*) ;;
        *) fail "$part is no part: $PARTS mutants" ;;
        esac
    done
    [ -x "$build/config.status" ] || fail "$build is no build tree (./configure, or --build=)"
    make -s -C "$build" all tests/model/test_stores_differential tests/bench/instructions \
        >"$dir/log" 2>&1 || {
        tail -20 "$dir/log" >&2
        fail 'it does not build'
    }
    mkdir -p "$out"
    out=$(cd "$out" && pwd)
    for part in "$@"; do
        case $part in
        lua)
            mkdir -p "$out/lua"
            for noun in $(nouns); do
                "$build/usher" lua "$noun" >"$out/lua/$noun.lua"
            done
            ;;
        mutants)
            # Without the seconds that each took.
            { top_srcdir=$top sh "$top/tests/mutants.sh" || :; } |
                sed 's/ [0-9]* s |$//' >"$out/mutants"
            ;;
        *) "$part" >"$dir/part" && mv "$dir/part" "$out/$part" ;;
        esac
    done
}

top=$(cd "$(dirname "$0")/.." && pwd)
build=$top/build/gcc
steps=10000
compares=
while [ $# -gt 0 ]; do
    case $1 in
    --build=*) build=$(cd "${1#*=}" && pwd) ;;
    --steps=*) steps=${1#*=} ;;
    --compare) compares=yes ;;
    -h | --help)
        help
        exit
        ;;
    -*) fail "there is no option $1 (see --help)" ;;
    *) break ;;
    esac
    shift
done
dir=$(mktemp -d "${TMPDIR:-/tmp}/usher-yardstick.XXXXXX")
trap 'rm -rf "$dir"' EXIT
trap 'exit 99' HUP INT TERM
if [ "$compares" = yes ]; then
    [ $# = 2 ] || fail '--compare takes two directories'
    compare "$1" "$2"
else
    [ $# -gt 0 ] || fail 'a directory is missing (see --help)'
    measure "$@"
fi
