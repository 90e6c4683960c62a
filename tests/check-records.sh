#!/bin/sh
# SPDX-License-Identifier: MIT
# The names of records in Lua: their values are those of src/core/NOUN_records.def, and a name that
# no row has stops the build.
set -eu
: "${top_srcdir:=.}"
embed=backends/redis/embed-lua.sh
cd "$top_srcdir"
dir=$(mktemp -d "${TMPDIR:-/tmp}/usher-records.XXXXXX")
trap 'rm -rf "$dir"' EXIT
rc=0

# becomes NAME LINE WANT: LINE of the file NAME.lua becomes WANT.
becomes() {
    printf '%s\n' "$2" >"$dir/$1.lua"
    got=$(sh "$embed" "$dir/$1.lua" | sed -n 's/^     "\(.*\)\\n"$/\1/p')
    [ "$got" = "$3" ] || {
        printf '%s in %s.lua is %s, not %s\n' "$2" "$1" "$got" "$3"
        rc=1
    }
}

# refused NAME LINE TEXT: LINE of NAME.lua is an error with TEXT.
refused() {
    printf 'local one = 1\n%s\n' "$2" >"$dir/$1.lua"
    if sh "$embed" "$dir/$1.lua" >/dev/null 2>"$dir/errors"; then
        echo "$2 in $1.lua is no error"
        rc=1
    elif [ "$(cat "$dir/errors")" != "$dir/$1.lua:2: $3" ]; then
        echo "$2 in $1.lua: $(cat "$dir/errors")"
        rc=1
    fi
}

becomes number 'r.N_CALLS, past.N_DAY = r.N_USED + 1, 0' 'r.n0, past.n1 = r.n2 + 1, 0'
becomes number_x "r[K.N_LEASE] = {N_CALLS = 1}" "r['n3'] = {n0 = 1}"
becomes number "S.find(K.KIND_GROUP, id)" "S.find('2', id)"
becomes number "'(' .. K.KIND_NUMBER .. 'n' .. from" "'(1n' .. from"
becomes number "by .. K.KIND_NUMBER .. to" "by .. '1' .. to"
becomes common "S.find(K.KIND_REQUEST, r.N_BEFORE)" "S.find('4', r.n0)"
becomes number "S.count[K.COUNT_CALLS + 1], HASH, when.Y" "S.count[K.COUNT_CALLS + 1], HASH, when.Y"
refused number 'r.N_CALL = 1' 'no name N_CALL'
refused number 'S.find(K.KIND_AGENT, id)' 'no kind KIND_AGENT'
refused common 'r.N_CALLS = 1' 'no name N_CALLS'
exit $rc
