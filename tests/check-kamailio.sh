#!/bin/sh
# SPDX-License-Identifier: MIT
# examples/kamailio with the library that was built: usher for Lua says what is wrong and throws
# nothing; calls through Kamailio on SQLite, on Redis and through `usher serve`, beside each other.
# Not part of `make check': see `make check-kamailio'.
set -eu
: "${top_srcdir:=.}" "${top_builddir:=.}" "${CC:=cc}"
here=$(cd "$top_srcdir" && pwd)/examples/kamailio
build=$(cd "$top_builddir" && pwd)
missing=
for need in kamailio:kamailio sipp:sip-tester lua5.1:lua5.1; do
    command -v "${need%:*}" >/dev/null || missing="$missing ${need#*:}"
done
pkg-config --exists lua5.1 || missing="$missing liblua5.1-0-dev"
if [ -n "$missing" ]; then
    echo "not installed; on Debian: apt-get install$missing"
    exit 77
fi
dir=$(mktemp -d "${TMPDIR:-/tmp}/usher-kamailio-check.XXXXXX")
trap 'rm -rf "$dir"' EXIT
USHER=$build/usher
USHER_CFLAGS=-I$(cd "$top_srcdir" && pwd)/include
USHER_LIBS="-L$build/.libs -lusher"
LD_LIBRARY_PATH=$build/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export CC USHER USHER_CFLAGS USHER_LIBS LD_LIBRARY_PATH
rc=0
wrong() {
    rc=1
    echo "not so: $*"
}

# ---- two calls with one number are found ---------------------------------------------------------

cat >"$dir/callee" <<'END_OF_LOG'
CALL 2026-01-01 00:00:01 1000000001.000000 a 100 100
CALL 2026-01-01 00:00:02 1000000002.000000 b 200 200
CALL 2026-01-01 00:00:03 1000000003.000001 c 100 100
END_OF_LOG
cat >"$dir/caller" <<'END_OF_LOG'
END 2026-01-01 00:00:03 1000000003.000000 a
END 2026-01-01 00:00:04 1000000004.000000 b
END 2026-01-01 00:00:05 1000000005.000000 c
REFUSED 2026-01-01 00:00:05 1000000005.000000 d
END_OF_LOG
said=$(sh "$here/check" "$dir/callee" "$dir/caller") || wrong 'one after the other may be'
[ "$said" = '3 calls with 2 numbers, 1 refused; twice at once: 0' ] || wrong "check: $said"
changed() { # WHICH SED-SCRIPT WHAT: with that line changed it is not well
    cp "$dir/callee" "$dir/callee2"
    cp "$dir/caller" "$dir/caller2"
    sed -i "$2" "$dir/${1}2"
    ! sh "$here/check" "$dir/callee2" "$dir/caller2" >"$dir/said" || wrong "$3"
}
changed caller 's/3.000000 a/3.000002 a/' 'an overlap of a microsecond is found'
changed caller 's/5.000000 c/1.500000 c/; s/3.000000 a/9.000000 a/' 'a call within another is found'
changed caller '/ b$/d' 'a call without an end is found'
changed callee 's/200 200/200 201/' 'two numbers in one call are found'

# ---- usher for Lua -------------------------------------------------------------------------------

# Several words each.
# shellcheck disable=SC2046,SC2086
$CC -std=gnu11 -Wall -Wextra -Werror -shared -fPIC -o "$dir/usher.so" "$here/lua_usher.c" \
    $(pkg-config --cflags lua5.1) $USHER_CFLAGS $USHER_LIBS
cat >"$dir/try.lua" <<'END'
local usher, url = require "usher", arg[1]
local e = usher.open(url, { timeout = 300 })

local function is(what, got, wanted)
    if got ~= wanted then
        print("not so: " .. what .. " is " .. tostring(wanted) .. " (but " .. tostring(got) .. ")")
        os.exit(1)
    end
end
local function no(status, message, ...)
    local answer, got, why = ...
    is(message, answer, nil)
    is(message, got, status)
    if not why:find(message, 1, true) then is("what is said", why, message) end
end

is("an answer", e:call("number", "add", "lines", { number = "+1" }).status, "ok")
is("words in capitals", e:call("NUMBER", "REG", "lines", { number = "+1" }).state, "idle+up")
local a = e:call("number", "call", "lines", { owner = "x", lease = 60000, node = "n" })
is("the number", a.number, "+1")
is("the token", a.token, "3")
is("the version", a.version, 3)
is("the time of the end", a.due, a["until"])
is("a number as a text", e:call("number", "renew", "lines", { number = "+1", token = a.token, lease = "90000" }).status, "ok")
local row = e:call("number", "list", "lines", { state = "busy" })[1]
is("the owner in a row", row.owner, "x")
is("a truth in a row", row.resting, false)
local none, status, why, more = e:call("number", "call", "lines", { owner = "y" })
is("no answer", none, nil)
is("its status", status, "empty")
is("why", more.why, "busy")

no("invalid", "owner must be a text", e:call("number", "call", "lines", { owner = 17 }))
no("invalid", "lease is not a whole number", e:call("number", "call", "lines", { lease = 1.5 }))
no("invalid", "lease is not a whole number", e:call("number", "call", "lines", { lease = 1e300 }))
no("invalid", "lease is not a whole number", e:call("number", "call", "lines", { lease = 0 / 0 }))
no("invalid", "lease must be a number", e:call("number", "call", "lines", { lease = "soon" }))
no("invalid", "onwer is not an argument", e:call("number", "call", "lines", { onwer = "x" }))
no("invalid", "a list is not an argument", e:call("number", "call", "lines", { "x" }))
no("invalid", "owner must be a text or a number", e:call("number", "call", "lines", { owner = {} }))
no("invalid", "owner is longer", e:call("number", "call", "lines", { owner = ("x"):rep(256) }))
no("invalid", "owner is too long", e:call("number", "call", "lines", { owner = ("x"):rep(100000) }))
no("invalid", "the scope contains invalid UTF-8", e:call("number", "call", "lines\0", {}))
no("invalid", "the scope is too long", e:call("number", "call", ("x"):rep(256), {}))
no("invalid", "owner contains", e:call("number", "call", "lines", { owner = "a\0b" }))
no("invalid", "must be a table", e:call("number", "call", "lines", "x"))
no("invalid", "the scope must be a text", e:call("number", "call"))
no("invalid", "unknown command", e:call("number", "dial", "lines"))
no("invalid", "unknown command", e:call(("x"):rep(1000), "call", "lines"))
no("invalid", "unknown command", e:call())
no("invalid", "no engine", e.call())
no("invalid", "no engine", e.call(io.stdout, "number", "call", "lines"))
no("invalid", "the URL must be a text", usher.open())
no("invalid", "timeout is", usher.open(url, { timeout = 0 }))
no("invalid", "timeout is", usher.open(url, { timeout = "soon" }))
no("invalid", "unknown store", usher.open("nothing:"):call("number", "stats", "lines"))
no("unavailable", "cannot be opened", usher.open("sqlite:/nowhere/at/all"):call("number", "stats", "lines"))
e:close()
is("figures of one that is opened again", e:call("number", "stats", "lines").busy_up, 1)
for _ = 1, 20 do
    usher.open(url):call("number", "stats", "lines")
end
collectgarbage()
END
LUA_CPATH="$dir/?.so" lua5.1 "$dir/try.lua" "sqlite:$dir/lua.db" || rc=1

# ---- calls ---------------------------------------------------------------------------------------

# A lease of 2 s in calls of 3: they go on because somebody renews.
sh "$here/run" --calls=100 --rate=25 --kill=20 sqlite >"$dir/sqlite" 2>&1 &
sqlite=$!
sh "$here/run" --calls=100 --rate=25 --kill=20 serve >"$dir/serve" 2>&1 &
serve=$!
sh "$here/run" --calls=100 --rate=25 --kill=20 redis >"$dir/redis" 2>&1 || wrong 'all is well on redis'
# Its lease is longer than Redis stands still, or others may have the numbers.
sh "$here/run" --calls=125 --rate=25 --talk=1500 --lease=6000 --pause=2000 redis >"$dir/pause" 2>&1 ||
    wrong 'all is well while Redis stands still'
# A store that takes 0.1 s: those who cancel at once do so while it is asked.
mkdir "$dir/slow-one"
cp "$here"/* "$dir/slow-one"
sed -i 's/^local function take(owner)$/&\n    os.execute("sleep 0.1")/' "$dir/slow-one/calls.lua"
! cmp -s "$here/calls.lua" "$dir/slow-one/calls.lua" || wrong 'the script is slowed down'
sh "$dir/slow-one/run" --calls=40 --rate=8 --talk=500 sqlite >"$dir/slow" 2>&1 ||
    wrong 'all is well with a slow store'
wait "$sqlite" || wrong 'all is well on sqlite'
wait "$serve" || wrong 'all is well through serve'
for run in sqlite redis serve pause slow; do
    sed "s/^/$run: /" "$dir/$run"
done
exit "$rc"
