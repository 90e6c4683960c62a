#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs into a temporary folder and uses what is there as a stranger would: examples are
# compiled with pkg-config's words alone, linked with the shared library and the archive, and
# the program runs.  Then all is uninstalled and nothing may be left.
set -eu
: "${top_builddir:=.}" "${MAKE:=make}" "${CC:=cc}" "${PKG_CONFIG:=pkg-config}"
: "${prefix:=/usr/local}"
: "${bindir:=$prefix/bin}" "${libdir:=$prefix/lib}" "${docdir:=$prefix/share/doc/usher}" \
    "${mandir:=$prefix/share/man}"

cd "$top_builddir"
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
# A make that is called from a test is nobody's child.
unset MAKEFLAGS MFLAGS MAKELEVEL

$MAKE -s install DESTDIR="$stage" >"$stage/install.log" 2>&1 || {
    cat "$stage/install.log"
    exit 1
}

# Moved to the folder, as a packager would; requirements stay those of the system.
mkdir "$stage/pc"
sed "s|=/|=$stage/|" "$stage$libdir/pkgconfig/usher.pc" >"$stage/pc/usher.pc"
PKG_CONFIG_PATH=$stage/pc${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
export PKG_CONFIG_PATH
cflags=$($PKG_CONFIG --cflags usher)
libs=$($PKG_CONFIG --libs usher)
# For the archive alone.  --static would ask for all that those libraries are made of, too.
requires=$($PKG_CONFIG --print-requires-private usher)
archive_libs="$stage$libdir/libusher.a -pthread -lm"
if [ -n "$requires" ]; then
    # shellcheck disable=SC2086
    archive_libs="$archive_libs $($PKG_CONFIG --libs $requires)"
fi
# Only the header of libxxhash is used, and a program that links usher does not need it.
if echo "$requires" | grep -q xxhash; then
    echo 'usher.pc requires libxxhash, of which no object uses a function'
    exit 1
fi
LD_LIBRARY_PATH=$stage$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

count=0
for source in "$stage$docdir"/examples/*.c; do
    name=$(basename "$source" .c)
    echo "example $name"
    more=
    if grep -q '<sqlite3\.h>' "$source"; then
        more=$($PKG_CONFIG --cflags --libs sqlite3) || {
            echo "example $name is left out: no sqlite3"
            continue
        }
    fi
    # Several words each.
    # shellcheck disable=SC2086
    $CC -std=gnu11 -Wall -Wextra -Werror $cflags -o "$stage/$name" "$source" $libs $more -pthread
    if [ -f "$stage$libdir/libusher.a" ]; then
        # shellcheck disable=SC2086
        $CC -std=gnu11 $cflags -o "$stage/$name-static" "$source" $archive_libs $more
    fi
    count=$((count + 1))
done
if [ "$count" = 0 ]; then
    echo "no examples in $docdir/examples"
    exit 1
fi

# A project of CMake finds the moved folder, the shared library as well as the archive alone, and no
# other interface.
if command -v cmake >/dev/null; then
    mkdir "$stage/project"
    cat >"$stage/project/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.21)
project(pool C)
find_package(usher ${WANTED} CONFIG REQUIRED)
add_executable(pool pool.c)
target_link_libraries(pool PRIVATE usher::usher)
END
    cp "$stage$docdir/examples/pool.c" "$stage/project/"
    by_cmake() { # FOLDER VERSION
        rm -rf "$stage/by-cmake"
        env CC="${CC%% *}" PKG_CONFIG="$PKG_CONFIG" cmake -S "$stage/project" -B "$stage/by-cmake" -DWANTED="$2" \
            -Dusher_DIR="$1/cmake/usher" >"$stage/cmake.log" 2>&1
    }
    uses_cmake() { # FOLDER
        { by_cmake "$1" 0.1 && cmake --build "$stage/by-cmake"; } >>"$stage/cmake.log" 2>&1 &&
            "$stage/by-cmake/pool" memory: >>"$stage/cmake.log" || {
            cat "$stage/cmake.log"
            echo "CMake cannot use $1"
            exit 1
        }
        echo "a project of CMake uses $1"
    }
    uses_cmake "$stage$libdir"
    for version in 0.2 1.0 0.1.99; do
        if by_cmake "$stage$libdir" "$version"; then
            echo "CMake takes this version for $version"
            exit 1
        fi
    done
    if [ -f "$stage$libdir/libusher.a" ]; then
        mkdir -p "$stage/static/lib"
        cp -R "$stage$libdir/cmake" "$stage$libdir/libusher.a" "$stage/static/lib/"
        cp -R "$stage$prefix/include" "$stage/static/"
        uses_cmake "$stage/static/lib"
    fi
else
    echo 'left out: a project of CMake, because there is no cmake here'
fi

# The program of usher(3).
sed -n '/^\.Bd -literal$/,/^\.Ed$/{/^\./d;s/\\e/\\/g;p;}' "$stage$mandir/man3/usher.3" >"$stage/page.c"
# shellcheck disable=SC2086
$CC -std=gnu11 -Wall -Wextra -Werror $cflags -o "$stage/page" "$stage/page.c" $libs -pthread
"$stage$bindir/usher" version
# Those that need nothing but a store end well, and twice on the same file.
for name in dialer epoll ids invoice pool queue room_server waiting whiteboard workers; do
    [ -x "$stage/$name" ] || continue
    for url in memory: "sqlite:$stage/examples.db" "sqlite:$stage/examples.db"; do
        case $name:$url in
        workers:memory:) continue ;;
        *:sqlite:*) [ "${WITH_SQLITE:-yes}" = yes ] || continue ;;
        esac
        set -- "$stage/$name" "$url"
        [ "$name" != invoice ] || set -- "$@" "$stage/books.$$.db"
        "$@" >"$stage/said" 2>&1 || {
            echo "$name $url ended with $?:"
            cat "$stage/said"
            exit 1
        }
    done
done
if [ "${WITH_SQLITE:-yes}" = yes ]; then
    (cd "$stage" && "$stage$bindir/usher" -s sqlite:calls.db number add sales 100 &&
        "$stage$bindir/usher" -s sqlite:calls.db number reg sales 100 && ./page) >"$stage/said"
    if [ "$(tail -n 1 "$stage/said")" != 'ann calls from 100' ]; then
        echo "the program of usher(3) said: $(cat "$stage/said")"
        exit 1
    fi
fi
said=$("$stage/generic" memory: number add sales 100 group=A)
if [ "$said" != 'ok version=1 state=idle+down' ]; then
    echo "generic said: $said"
    exit 1
fi

$MAKE -s uninstall DESTDIR="$stage" >"$stage/uninstall.log" 2>&1 || {
    cat "$stage/uninstall.log"
    exit 1
}
left=$(find "$stage$prefix" ! -type d)
if [ -n "$left" ]; then
    printf 'left behind by make uninstall:\n%s\n' "$left"
    exit 1
fi
