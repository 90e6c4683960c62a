#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   servers.sh DIR    unpacks the Redis, Valkey and Redict servers of Debian's suites into DIR and prints a
#                     line "NAME PROGRAM" for each, as "valkey-8.1.1 DIR/bin/valkey-8.1.1"
#
# A test runs on the server that USHER_REDIS_SERVER=PROGRAM names.  `./bootstrap check servers` does this
# for all of them.
#
# Nothing is installed, and an ordinary user can run it: apt-get gets lists, a cache and a status file
# of its own in DIR.  The status file is empty, so that apt-get downloads the libraries of the suite as
# well, the C library included: a server does not depend on what this machine has.  PROGRAM is a script that
# starts the server with the dynamic linker of its suite.
#
# DIR is kept: a suite that is complete is not downloaded again.  What cannot be had is a line
# "left out: ..." on standard error, and no failure.  Each wait for the network is bounded.
set -u
[ $# -eq 1 ] || {
    echo 'usage: servers.sh DIR' >&2
    exit 2
}
mkdir -p "$1/bin" || exit 1
top=$(cd "$1" && pwd)
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

left_out() { echo "left out: $*" >&2; }

# The first mirror of Debian that this machine is configured for; "" if there is none.
find_mirror() {
    cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
        sed -n 's/^URIs: *//p; s/^deb  *\(\[[^]]*\]  *\)\{0,1\}//p' |
        sed 's/ .*//' | grep -E '/debian/*$' | head -n 1
}

# Does the mirror answer, and does it have the suite?  In 20 seconds, however it fails.
has_suite() {
    LC_ALL=C timeout -k 5 20 /usr/lib/apt/apt-helper -o APT::Sandbox::User="$(id -un)" -o Acquire::Retries=0 \
        download-file "${mirror%/}/dists/$1/InRelease" "$top/$1/InRelease" >>"$top/$1/log" 2>&1
}

# apt_get SUITE ARGUMENTS...
apt_get() (
    at=$top/$1
    shift
    LC_ALL=C timeout -k 5 300 apt-get -qq -y \
        -o Dir::Etc::sourcelist="$at/sources.list" -o Dir::Etc::sourceparts=/dev/null \
        -o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts=/dev/null \
        -o Dir::State::lists="$at/lists" -o Dir::State::status="$at/status" \
        -o Dir::Cache="$at/cache" -o Dir::Cache::pkgcache=pkgcache.bin \
        -o Dir::Log="$at" -o APT::Sandbox::User="$(id -un)" \
        -o Acquire::Languages=none -o Acquire::Retries=1 \
        -o Acquire::http::Timeout=10 -o Acquire::https::Timeout=10 "$@" >>"$at/log" 2>&1
)

# download SUITE PACKAGE...: into SUITE/root.
download() (
    suite=$1
    at=$top/$suite
    shift
    [ ! -e "$at/complete" ] || return 0
    rm -rf "$at"
    mkdir -p "$at/lists/partial" "$at/cache/archives/partial" "$at/root" || return 1
    : >"$at/status"
    # backports need the suite below them
    for each in "$suite" "${suite%-backports}"; do
        echo "deb [arch=$(dpkg --print-architecture) signed-by=$keyring] $mirror $each main"
    done | sort -u >"$at/sources.list"
    if ! has_suite "$suite"; then
        rm -rf "$at/root"
        left_out "$suite: the mirror does not answer, or does not have it (see $at/log)"
        return 1
    fi
    apt_get "$suite" update
    # one by one where the suite does not have all of them
    apt_get "$suite" --download-only --no-install-recommends install "$@" ||
        for package; do
            apt_get "$suite" --download-only --no-install-recommends install "$package"
        done
    for archive in "$at"/cache/archives/*.deb; do
        [ ! -f "$archive" ] || dpkg-deb -x "$archive" "$at/root" || return 1
    done
    rm -rf "$at/lists" "$at/cache"
    for package; do
        [ -e "$at/root/usr/bin/${package%-tools}-check-rdb" ] || return 0 # to be tried again
    done
    : >"$at/complete"
)

# The server is in the package of the tools: PRODUCT-check-rdb is the same program under another name.
show() { # SUITE PACKAGE...
    suite=$1
    shift
    root=$top/$suite/root
    [ -d "$root" ] || return 0
    linker=$(find "$root" -type f \( -name 'ld-linux*.so.*' -o -name 'ld64.so.*' \) | head -n 1)
    libraries=$(find "$root" -name '*.so.*' -exec dirname {} \; | sort -u | paste -sd: -)
    for package; do
        product=${package%-tools}
        program=$root/usr/bin/$product-check-rdb
        if [ ! -e "$program" ]; then
            left_out "$suite: it has no $package, or it cannot be had (see $top/$suite/log)"
            continue
        fi
        start=$top/bin/$suite-$product
        printf '#!/bin/sh\nexec "%s" --argv0 "%s-server" --library-path "%s" "%s" "$@"\n' \
            "$linker" "$product" "$libraries" "$program" >"$start"
        chmod +x "$start"
        version=$("$start" --version 2>/dev/null | sed -n 's/.* v=\([0-9.]*\) .*/\1/p')
        if [ -z "$version" ]; then
            left_out "$suite: its $product does not start here"
            continue
        fi
        mv -f "$start" "$top/bin/$product-$version"
        echo "$product-$version $top/bin/$product-$version"
    done
}

# each WHAT: `WHAT SUITE PACKAGE...` for each suite; all of them at once.
each() {
    "$1" trixie redis-tools valkey-tools &
    "$1" bookworm-backports valkey-tools redict-tools &
    "$1" sid redis-tools valkey-tools &
    wait
}

mirror=$(find_mirror)
if ! command -v apt-get >/dev/null 2>&1 || ! command -v dpkg-deb >/dev/null 2>&1; then
    left_out 'all servers of Debian: apt-get or dpkg-deb is not here'
elif [ ! -e "$keyring" ]; then
    left_out "all servers of Debian: $keyring is not here"
elif [ -z "$mirror" ]; then
    left_out 'all servers of Debian: /etc/apt has no mirror of Debian'
else
    each download
fi
each show | sort -u -V
