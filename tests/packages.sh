#!/bin/sh
# SPDX-License-Identifier: MIT
# Debian packages: built of the tarball by dpkg-buildpackage, checked by lintian, and installed in a Debian
# with nothing but its base.  There a program is compiled and run, the program's help is on its place,
# the server's user exists and no service is enabled, and after a purge no file is left.
#   tests/packages.sh [FOLDER]
# The packages, and the base from one run to the next, are kept in FOLDER.  Needs root, debootstrap,
# debhelper, lintian, and the sources of packages that apt has here.  `./bootstrap check packages' calls
# it.  Exits with 77 and a reason if something of this is missing.
set -eu
: "${top_srcdir:=$(cd "$(dirname "$0")/.." && pwd)}" "${top_builddir:=.}" "${MAKE:=make}"
: "${version:=$(sed -n 's/^AC_INIT(\[usher\], \[\(.*\)\])$/\1/p' "$top_srcdir/configure.ac")}"

die() {
    echo "packages: $*"
    exit 1
}
skip() {
    echo "$*"
    exit 77
}

# Within the base, as root.
if [ "${1-}" = --inside ]; then
    mount -t proc proc /proc
    export DEBIAN_FRONTEND=noninteractive
    find / -xdev ! -type d ! -path '/var/*' ! -path '/tmp/*' ! -path '/etc/*' ! -path '/packages/*' | sort >/tmp/before
    apt-get -q update
    # Not systemd itself: a system without it has the program as well.
    apt-get -q -y --no-install-recommends install systemd-standalone-sysusers gcc libc6-dev pkg-config \
        /packages/*.deb
    cd /tmp
    usher -s sqlite:calls.db number add sales +49301
    usher -s sqlite:calls.db number reg sales +49301
    cc -Wall -Werror /usr/share/doc/libusher-dev/examples/pool.c $(pkg-config --cflags --libs usher) -o pool
    ./pool sqlite:calls.db | grep 'call-1 uses +49301'
    ldd pool | grep 'libusher.so.0 => /'
    bash -c '. /usr/share/bash-completion/completions/usher
        COMP_LINE="usher number ca" COMP_POINT=15
        _usher usher
        [ "${COMPREPLY[*]}" = "call " ]'
    getent passwd usher | grep ':/var/lib/usher:'
    for unit in usher.service usher.socket; do
        [ -f "/lib/systemd/system/$unit" ]
        [ -z "$(find /etc/systemd -name "$unit")" ] || die "$unit is enabled"
    done
    apt-get -q -y purge usher libusher-dev libusher0
    find / -xdev ! -type d ! -path '/var/*' ! -path '/tmp/*' ! -path '/etc/*' ! -path '/packages/*' | sort >/tmp/after
    comm -13 /tmp/before /tmp/after | grep usher && die 'files are left after the purge'
    echo 'the packages work'
    exit 0
fi

[ "$(id -u)" = 0 ] || skip 'a base system is made by root only'
for program in debootstrap unshare dpkg-buildpackage dh lintian; do
    command -v "$program" >/dev/null || skip "there is no $program here"
done
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
    grep '/debian/*$' | head -n 1) || :
release=$(. /etc/os-release && echo "${VERSION_CODENAME-}")
[ -n "$mirror" ] && [ -n "$release" ] || skip 'apt has no source of Debian packages here'

mkdir -p "${1-packages}"
dir=$(cd "${1-packages}" && pwd)
work=$(mktemp -d "${TMPDIR:-/var/tmp}/usher-packages.XXXXXX")
base=
stop() {
    [ -z "$base" ] || { kill "$base" 2>/dev/null || :; wait "$base" 2>/dev/null || :; }
    rm -rf "$work"
}
trap stop EXIT
trap 'exit 99' HUP INT TERM
unset MAKEFLAGS MFLAGS MAKELEVEL

# The base, while the packages are built.
if [ ! -f "$dir/base.tar" ]; then
    (debootstrap --variant=minbase "$release" "$work/root" "$mirror" >"$dir/debootstrap.log" 2>&1 &&
        tar -C "$work/root" -cf "$dir/base.tar.new" . && mv "$dir/base.tar.new" "$dir/base.tar") &
    base=$!
fi

# All tests have run elsewhere.
$MAKE -s -C "$top_builddir" dist distdir="usher-$version" >"$dir/dist.log" 2>&1 || {
    tail -n 20 "$dir/dist.log"
    die 'make dist failed'
}
tar -C "$work" -xzf "$top_builddir/usher-$version.tar.gz"
rm -f "$top_builddir/usher-$version.tar.gz" "$dir"/*.deb
(cd "$work/usher-$version" && DEB_BUILD_OPTIONS="nocheck parallel=$(getconf _NPROCESSORS_ONLN)" \
    dpkg-buildpackage -us -uc) >"$dir/build.log" 2>&1 || {
    tail -n 40 "$dir/build.log"
    die 'dpkg-buildpackage failed'
}
cp "$work"/*.deb "$dir/"
lintian --allow-root --fail-on error,warning "$work"/*.changes >"$dir/lintian.log" 2>&1 || {
    cat "$dir/lintian.log"
    die 'lintian found something'
}

if [ -n "$base" ]; then
    wait "$base" || {
        tail -n 5 "$dir/debootstrap.log"
        skip 'debootstrap cannot make a base system here'
    }
    base=
    rm -rf "$work/root"
fi
mkdir "$work/root"
tar -C "$work/root" -xpf "$dir/base.tar"
echo "deb $mirror $release main" >"$work/root/etc/apt/sources.list"
apt-config dump | grep -E '^Acquire::(http|https|Check)' >"$work/root/etc/apt/apt.conf.d/90here" || :
# Documents are installed, which the configuration of some containers leaves out.
rm -f "$work/root/etc/dpkg/dpkg.cfg.d/"*
cp /etc/resolv.conf /etc/hosts "$work/root/etc/"
mkdir "$work/root/packages"
cp "$dir"/*.deb "$work/root/packages/"
rm -f "$work/root/packages/"*dbgsym*
cp "$0" "$work/root/packages.sh"
chmod 755 "$work" "$work/root"
unshare --mount --pid --fork sh -c 'mount --make-rprivate / && mount --rbind /dev "$1/dev" && mount -t proc proc "$1/proc"' \
    sh "$work/root" 2>/dev/null || skip 'this machine allows no mounts in a namespace'
unshare --mount --pid --fork --kill-child sh -c '
    mount --make-rprivate /
    mount --rbind /dev "$1/dev"
    exec chroot "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin sh -eu /packages.sh --inside' \
    sh "$work/root" </dev/null >"$dir/install.log" 2>&1 || {
    tail -n 40 "$dir/install.log"
    die 'the packages do not work'
}
tail -n 1 "$dir/install.log"
